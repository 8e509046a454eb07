//! Networks as sums of terms against brute force: several operators per layer that may meet, skips as units without
//! activation, biases by node. All numbers are small multiples of 1/4, so that plain f64 is exact and ties are ties.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::{header, model_file};
use gcnproof::{Bound, Certifier, Effort, Limits, Margins, Operator, Reason, Verdict};
use gcnproof_check::format::{Convention, Line};
use gcnproof_check::{Checker, Statement, Verdict as Judgement};

use crate::common::terms::{Shape, case};

#[test]
fn verdicts_margins_and_bounds_are_those_of_brute_force() {
    let count = std::env::var("GCNPROOF_TERMS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000u64);
    compare(0..count, Shape::Any);
}

/// Only the last layer passes messages, as in APPNP.
#[test]
fn nodes_by_themselves_before_one_step_of_message_passing() {
    let count = std::env::var("GCNPROOF_TERMS").ok().and_then(|count| count.parse().ok()).unwrap_or(4_000u64);
    compare(700_000..700_000 + count, Shape::PerNode);
}

/// Path bounds decide first what is robust by far.
#[test]
fn nodes_that_are_robust_by_far() {
    compare(900_000..904_000, Shape::Single);
}

fn compare(seeds: std::ops::Range<u64>, shape: Shape) {
    let mut workspace = Workspace::default();
    let (mut robust, mut broken, mut pairs, mut tree_nodes, mut attained, mut units, mut proved, mut by_paths) =
        (0, 0, 0, 0, 0, 0, 0, 0);
    let mut surplus = 0;
    let count = seeds.clone().count();
    for seed in seeds {
        let case = case(seed, shape);
        let limits = Limits { nodes: 20_000, ..Limits::default() };
        let certifier = Certifier::builder(case.problem.clone()).bound(Bound::Best).build();
        // Every pre-activation lies within its bounds, and at the first layer the bounds are attained.
        let bounds = certifier.prepared().activation_bounds();
        let mut reached = vec![Vec::new(); bounds.len()];
        for (of, bounds) in reached.iter_mut().zip(bounds) {
            *of = vec![(f64::INFINITY, f64::NEG_INFINITY); bounds.lower.len()];
        }
        let logits = case.dense.forward(&case.attributes).pop().unwrap();
        let classes = logits.ncols();
        let mut least = vec![vec![f64::INFINITY; classes * classes]; logits.nrows()];
        case.visit(&mut |attributes| {
            let mut all = case.dense.forward(attributes);
            let logits = all.pop().unwrap();
            for (n, least) in least.iter_mut().enumerate() {
                for (c, k) in (0..classes).flat_map(|c| (0..classes).map(move |k| (c, k))) {
                    least[c * classes + k] = least[c * classes + k].min(logits[(n, c)] - logits[(n, k)]);
                }
            }
            for (of, z) in reached.iter_mut().zip(&all) {
                for (n, j) in (0..z.nrows()).flat_map(|n| (0..z.ncols()).map(move |j| (n, j))) {
                    let slot = &mut of[n * z.ncols() + j];
                    *slot = (slot.0.min(z[(n, j)]), slot.1.max(z[(n, j)]));
                }
            }
        });
        for (l, (of, bounds)) in reached.iter().zip(bounds).enumerate() {
            for (at, &(low, high)) in of.iter().enumerate() {
                let (r, s) = match bounds.interval.get(at) {
                    Some(&interval) if bounds.is_linear(at % bounds.width) => interval,
                    _ => (bounds.lower[at], bounds.upper[at]),
                };
                assert!(r <= low && high <= s, "seed {seed}: layer {l}, unit {at}: [{low}, {high}] outside [{r}, {s}]");
                units += 1;
                if l == 0 {
                    let tight = |x: f64, y: f64| (x - y).abs() <= 1e-9;
                    assert!(tight(r, low) && tight(s, high), "seed {seed}: unit {at}: [{low}, {high}] in [{r}, {s}]");
                    attained += 1;
                }
            }
        }
        let network = case.problem.network();
        // The rules count only where the network is a plain one.
        let rules: Vec<Operator> = network.layers().iter().map(|layer| layer.operators[0].clone()).collect();
        let digests = (case.problem.graph().digest(), "");
        let header = header(digests, (network, &rules), case.problem.budget(), Convention::Predicted);
        let (graph, model) = (case.problem.graph().file(), model_file(network, ""));
        let statement = Statement::new(&graph, &model, &header, &network.own_matrices()).unwrap();
        let checker = Checker::new(&statement, seed % 2 == 0);
        for effort in [Effort::Complete(limits), Effort::Minimize { limits, gap: 1e-10 }] {
            let exact = matches!(effort, Effort::Minimize { .. });
            // Without proofs the table of the nodes comes before the search.
            let proofs = shape == Shape::Any || seed % 3 == 0;
            let margins = if shape == Shape::Single { Margins::Fast } else { Margins::Tight };
            let builder = Certifier::builder(case.problem.clone()).bound(Bound::Best);
            let certifier = builder.margins(margins).effort(effort).build();
            let certifier = if proofs { certifier.with_proofs() } else { certifier };
            for (node, least) in least.iter().enumerate() {
                let result = certifier.certify_node(node, &mut workspace);
                tree_nodes += result.search_nodes;
                by_paths += usize::from(result.reason == Reason::PathBound);
                let mut all = f64::INFINITY;
                for margin in &result.margins {
                    let truth = least[result.reference * classes + margin.class];
                    all = all.min(truth);
                    pairs += 1;
                    assert!(
                        margin.lower <= truth && truth <= margin.upper,
                        "seed {seed}, node {node}: {truth} {margin:?}"
                    );
                    let gap = margin.upper - margin.lower;
                    assert!(
                        !exact || gap <= 1e-8 * (1.0 + truth.abs()),
                        "seed {seed}, node {node}: {truth} {margin:?}"
                    );
                }
                match result.proof_line(&checker).into_line() {
                    _ if !proofs => {}
                    Line::Node(proof) => {
                        let judged = checker.check(&proof).unwrap();
                        let robust = result.verdict == Verdict::Robust;
                        assert_eq!(judged == Judgement::Robust, robust, "seed {seed}, node {node}: {result:?}");
                        proved += 1;
                    }
                    other => panic!("seed {seed}, node {node}: no proof: {other:?} {result:?}"),
                }
                match result.verdict {
                    Verdict::Robust => {
                        robust += 1;
                        assert!(all > 0.0, "seed {seed}, node {node}: {all} {result:?}");
                    }
                    Verdict::NonRobust => {
                        broken += 1;
                        assert!(all <= 0.0, "seed {seed}, node {node}: {all} {result:?}");
                        let margin_without = |left_out: Option<usize>| {
                            let mut attributes = case.attributes.clone();
                            for (_, flip) in result.witness.iter().enumerate().filter(|(at, _)| Some(*at) != left_out) {
                                let slot = &mut attributes[(flip.node as usize, flip.attribute as usize)];
                                *slot = 1.0 - *slot;
                            }
                            let logits = case.dense.forward(&attributes).pop().unwrap();
                            let reference = logits[(node, result.reference)];
                            let others = (0..classes).filter(|&k| k != result.reference);
                            others.map(|k| reference - logits[(node, k)]).fold(f64::INFINITY, f64::min)
                        };
                        let margin = margin_without(None);
                        assert!(margin <= 0.0, "seed {seed}, node {node}: the witness leaves {margin}");
                        // No flip can be left out: a negative margin would no longer be negative, a tie no longer one.
                        for at in 0..result.witness.len() {
                            let left = margin_without(Some(at));
                            let needed = if result.reason == Reason::Tie { left != 0.0 } else { left >= 0.0 };
                            assert!(needed, "seed {seed}, node {node}: {left} without flip {at} of {result:?}");
                        }
                        surplus += (case.problem.budget().global() > result.witness.len()) as usize;
                    }
                    Verdict::Undecided => panic!("seed {seed}, node {node}: {result:?}"),
                }
            }
        }
    }
    println!(
        "{count} networks, {robust} robust, {broken} non-robust, {pairs} pairs, {tree_nodes} tree nodes, {proved} proofs; {units} units, {attained} attained; \
         {by_paths} by path bounds; {surplus} witnesses smaller than the budget"
    );
    assert!(shape != Shape::Single || by_paths > robust / 8, "path bounds decide next to nothing");
}
