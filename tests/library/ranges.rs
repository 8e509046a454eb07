//! Attributes within ranges: verdicts against all perturbations to the ends of ranges, and many between them.

use std::time::Duration;

use gcnproof::{Certifier, Effort, Limits, Problem, RangeError, Ranges, Verdict};

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
