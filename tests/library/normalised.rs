//! Rows of attributes that are divided by their sums.

use gcnproof::internals::problem::rows::{Move, Sent};
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Budget, Certifier, Effort, Flip, Graph, Limits, Network, Problem, Reason, Verdict};
use gcnproof_files::Normalisation;

use crate::common;

/// A random problem with one hidden layer whose rows are normalised.
fn normalised(seed: u64) -> (Graph, Network, Budget) {
    let common::Problem { graph, gcn, budget, .. } = common::problem(8_800_000 + seed, 3);
    let normalisation = [Normalisation::Float32, Normalisation::Float64][(seed % 2) as usize];
    (Graph::from_file(graph.file().normalised(normalisation)), gcn, budget)
}

/// Path bounds decide a node only if its exact minima are positive, and state no margin above them.
#[test]
fn path_bounds_of_normalised_rows_stay_below_exact_minima() {
    let mut decided = 0;
    for seed in 0..3_000 {
        let (graph, network, budget) = normalised(seed);
        let problem = Problem::new(graph.clone(), network, budget).unwrap();
        let complete = Effort::Complete(Limits::default());
        let fast = Certifier::builder(problem.clone()).effort(complete).build();
        let effort = Effort::Minimize { limits: Limits::default(), gap: 0.0 };
        let exact = Certifier::builder(problem).effort(effort).build();
        let nodes = 0..graph.node_count();
        for (quick, full) in fast.certify(nodes.clone()).unwrap().zip(exact.certify(nodes).unwrap()) {
            assert_eq!(quick.verdict, full.verdict, "seed {seed}: {quick:?} {full:?}");
            if quick.reason != Reason::PathBound {
                continue;
            }
            decided += 1;
            assert_eq!(full.verdict, Verdict::Robust, "seed {seed}");
            for (margin, minimum) in quick.margins.iter().zip(&full.minima) {
                let minimum = minimum.as_ref().expect("a search without limits finds the minimum");
                assert!(margin.lower <= minimum.margin.ceil_f64(), "seed {seed}: {margin:?} {minimum:?}");
            }
        }
    }
    assert!(decided > 100, "{decided}");
}

/// What a move changes in a unit, its parts together, is what the row sends after it less what it sent before.
#[test]
fn parts_of_a_move_add_up_to_its_change() {
    for seed in 0..2_000 {
        let (graph, network, _) = normalised(seed);
        let layer = &network.layers()[0];
        let (node, count) = ((seed % graph.node_count() as u64) as u32, graph.attribute_count() as u32);
        let flips = |bits: u64| -> Vec<Flip> {
            let chosen = (0..count).filter(|d| (bits >> d) & 1 == 1);
            chosen.map(|attribute| Flip { node, attribute }).collect()
        };
        let base = flips((seed / 3) & (seed / 5));
        let moved: Vec<Flip> = flips(seed / 7).into_iter().filter(|flip| !base.contains(flip)).collect();
        let mut slice = Slice::default();
        slice.cut(&network, 3, node as usize);
        let (mut before, mut after) = (Sent::default(), Sent::default());
        before.fill(&graph, layer, node, &base);
        let both: Vec<Flip> = base.iter().chain(&moved).copied().collect();
        after.fill(&graph, layer, node, &both);
        for column in Move::all(&graph, &moved) {
            for (m, changes) in column.reached(&graph, layer, &slice, &base) {
                let entry = slice.passing(1).row(m).find(|&(n, _)| slice.nodes(1)[n] == node).unwrap().1[0];
                for (j, change) in changes.iter().enumerate() {
                    assert!(change.rise >= 0.0 && change.fall >= 0.0);
                    let expected = entry * (after.value[j] - before.value[j]);
                    assert!((change.total() - expected).abs() < 1e-9, "seed {seed}: {change:?} {expected}");
                }
            }
        }
    }
}
