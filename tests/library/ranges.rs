//! Attributes within ranges: verdicts against all perturbations to the ends of ranges, and many between them.

use std::time::Duration;

use gcnproof::{Budget, Certifier, Effort, Graph, Limits, Network, Problem, RangeError, Ranges, Verdict};
use gcnproof_files::{DenseMatrix, LayerFile, ModelFile};

use crate::common::ranges::{Random, case, graph_of, pattern, seeds};

#[test]
fn verdicts_hold_against_many_perturbations() {
    let (mut robust, mut broken, mut open) = (0, 0, 0);
    for seed in seeds(300) {
        let case = case(seed);
        let problem = Problem::new(case.graph.clone(), case.network.clone(), case.budget.clone()).unwrap();
        let limits = Limits { nodes: 3000, time: Duration::from_secs(5) };
        let certifier = Certifier::builder(problem).effort(Effort::Complete(limits)).build();
        let results: Vec<_> = certifier.certify(0..case.graph.node_count()).unwrap().collect();
        let references: Vec<usize> = results.iter().map(|result| result.reference).collect();
        let least = case.least(&references, &mut Random(seed));
        for (result, least) in results.iter().zip(least) {
            let about = format!("seed {seed}, node {}: {result:?}, least {least}", result.node);
            assert!(result.contradiction.is_none(), "{about}");
            match result.verdict {
                Verdict::Robust => {
                    robust += 1;
                    assert!(least > -1e-9, "{about}");
                    let lower = result.margins.iter().map(|margin| margin.lower).fold(f64::INFINITY, f64::min);
                    assert!(lower <= least + 1e-9, "{about}");
                }
                Verdict::NonRobust => {
                    broken += 1;
                    let mut values = case.values.clone();
                    for (flip, &value) in
                        result.witness.iter().zip(result.details.values.as_deref().unwrap_or_default())
                    {
                        values[flip.node as usize][flip.attribute as usize] = value;
                        let [low, high] = case.range(flip.node as usize, flip.attribute as usize);
                        assert!((low - 1e-12..=high + 1e-12).contains(&value), "{about}");
                    }
                    let logits = &case.logits(&values)[result.node];
                    let mut others = (0..logits.len()).filter(|&class| class != result.reference);
                    assert!(others.any(|class| logits[result.reference] - logits[class] < 1e-9), "{about}");
                    let count = |n: usize| result.witness.iter().filter(|flip| flip.node as usize == n).count();
                    assert!(result.witness.len() <= case.budget.global(), "{about}");
                    assert!((0..case.values.len()).all(|n| count(n) <= case.budget.local(n)), "{about}");
                }
                Verdict::Undecided => {
                    open += 1;
                    println!("open: {about}");
                }
            }
        }
    }
    println!("{robust} robust, {broken} non-robust, {open} open");
    assert!(robust > 100 && broken > 50 && open * 100 <= robust + broken, "{robust} {broken} {open}");
}

/// Units, bias, operators and which units have no activation, layer by layer; weights row by row.
type Layers<'a> = &'a [(&'a [f64], &'a [f64], &'a [&'a str], &'a [bool])];

fn network(graph: &Graph, layers: Layers) -> Network {
    let layer = |&(weight, bias, operators, linear): &(&[f64], &[f64], &[&str], &[bool])| LayerFile {
        weight: DenseMatrix { rows: weight.len() / bias.len(), columns: bias.len(), values: weight.to_vec() },
        bias: bias.to_vec(),
        operators: operators.iter().map(|&name| name.into()).collect(),
        linear: linear.to_vec(),
        weight_name: "weight".into(),
        bias_name: None,
    };
    let model = ModelFile { layers: layers.iter().map(layer).collect(), ..ModelFile::default() };
    Network::from_file(model, &[], graph).unwrap()
}

/// Ascents of the lines of branches in which all signs were chosen ended far from the bound, and the search with them.
#[test]
fn branches_with_all_signs_chosen_are_closed() {
    let alone = graph_of(pattern(&[vec![]], 1), &[vec![0.0, 0.1]], 2);
    let deep = network(
        &alone,
        &[
            (&[4.0, 1.0, 4.0, 3.0, 3.0, 2.0], &[3.0, 1.0, 0.0], &["identity"], &[false, false, true]),
            (&[1.0, 3.0, 4.0, -4.0, -1.0, 4.0, 3.0, 3.0, 1.0], &[-4.0, 4.0, -2.0], &["identity"], &[]),
            (&[-2.0, 1.0, -3.0], &[-1.0], &["identity"], &[false]),
            (&[1.0, 3.0], &[-1.0, 2.0], &["identity"], &[]),
            (&[-2.5, -1.25, 3.75, 3.75, 2.5, 0.0], &[-4.0, 4.0, 1.0], &["identity"], &[]),
        ],
    );
    let limits = Ranges::Between { low: vec![-1.6, -1.5], high: vec![0.25, 0.6] };
    let values = [vec![0.051615365879265074, 0.0, 0.4244037677723478], vec![0.0, 0.2338713345332697, 0.0]];
    let pair = graph_of(pattern(&[vec![1], vec![0]], 2), &values, 3);
    let terms = network(
        &pair,
        &[
            (&[1.0, 0.0, -0.5, 1.0, 0.0, 0.0, -1.5, -2.0, 2.0], &[-1.5, 0.5, 1.0], &["sum+self"], &[]),
            (
                &[-2.0, -2.0, -1.5, 0.5, -1.0, 0.5, 0.0, -2.0, -0.5, 1.5, 1.5, -1.0],
                &[1.0, 0.5],
                &["gcn-self", "sum"],
                &[],
            ),
            (&[-1.0, 2.0, -0.5, -1.0, -1.0, 1.5, -2.0, 0.5], &[0.0, -1.5], &["gcn-self", "gcn-self"], &[]),
        ],
    );
    for (graph, network, budget) in [
        (&alone, deep, Budget::uniform(&alone, 1, 2).with_ranges(limits)),
        (&pair, terms, Budget::per_node(&pair, 2, &[2, 1]).unwrap().with_ranges(Ranges::Ball(1.0))),
    ] {
        let problem = Problem::new(graph.clone(), network, budget).unwrap();
        let limits = Limits { nodes: 2_000, time: Duration::from_secs(60) };
        let certifier = Certifier::builder(problem).effort(Effort::Complete(limits)).proofs(true).build();
        for node in 0..graph.node_count() {
            let result = certifier.one(node).unwrap();
            assert_eq!((result.verdict, result.details.claim.is_some()), (Verdict::Robust, true), "{result:?}");
        }
    }
}

#[test]
fn ranges_that_do_not_fit_are_refused() {
    let graph = graph_of(pattern(&[vec![]], 1), &[vec![0.5, 0.0]], 2);
    let new = |ranges: Ranges| ranges.check(&graph);
    assert!(matches!(new(Ranges::Ball(-1.0)), Err(RangeError::Radius(_))));
    assert!(matches!(new(Ranges::Ball(f64::NAN)), Err(RangeError::Radius(_))));
    let between = |low: [f64; 2], high: [f64; 2]| Ranges::Between { low: low.to_vec(), high: high.to_vec() };
    assert!(new(between([0.0, 0.0], [1.0, 1.0])).is_ok());
    assert!(matches!(new(between([0.6, 0.0], [1.0, 1.0])), Err(RangeError::Outside { attribute: 0, .. })));
    assert!(matches!(new(between([0.0, 0.1], [1.0, 1.0])), Err(RangeError::Outside { attribute: 1, .. })));
    assert!(matches!(new(between([0.0, 1.0], [1.0, 0.0])), Err(RangeError::Limits { attribute: 1, .. })));
    let short = Ranges::Between { low: vec![0.0], high: vec![1.0] };
    assert!(matches!(new(short), Err(RangeError::Length { given: 1, attributes: 2 })));
}
