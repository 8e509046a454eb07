//! Bugs of the search that once were: each test is the smallest problem that showed one.

use std::time::Duration;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Budget, Effort, Limits, Network, NodeResult, Operator, Verdict};
use gcnproof_files::DenseMatrix;
use gcnproof_verify::random::Stream;

use crate::common::{certifier_of, graph, model};

const BIG: f64 = 9_007_199_254_740_992.0; // 2^53

/// One node without edges: attributes present, then (weights, bias) of the two layers row by row.
fn one_node(
    present: Vec<u32>,
    dimension: usize,
    (first, first_bias): (&[f64], &[f64]),
    (second, second_bias): (&[f64], &[f64]),
    global: usize,
    effort: Effort,
) -> NodeResult {
    let graph = graph(vec![vec![]], vec![present], dimension);
    let width = first_bias.len();
    let layers = vec![
        (DenseMatrix { rows: dimension, columns: width, values: first.to_vec() }, first_bias.to_vec()),
        (DenseMatrix { rows: width, columns: second_bias.len(), values: second.to_vec() }, second_bias.to_vec()),
    ];
    let gcn = Network::from_file(model(layers), &[Operator::Identity, Operator::Identity], &graph).unwrap();
    let budget = Budget::uniform(&graph, global, dimension);
    certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(effort).certify_node(0, &mut Workspace::default())
}

/// Exact margins: no flip ½, attribute 0: 1, attribute 1: 0 (a tie). The tie is proved first; then the search evaluates
/// "no flip" in f64, gets −½ ± 72, keeps it as the better attack, and `conclude` reports *its* flips as the witness:
/// none at all.
#[test]
fn a_witness_is_not_replaced_by_one_that_was_never_proved() {
    let minimise = Effort::Minimize { limits: Limits::default(), gap: 1e-9 };
    let result = one_node(
        vec![],
        2,
        (&[1.0, 0.5, 3.0, 2.0, 0.5, 0.0, 0.5, 0.5], &[-1.0, BIG, -1.0, BIG]),
        (&[0.0, 0.5, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0], &[1.0, 0.5]),
        1,
        minimise,
    );
    assert_eq!(result.verdict, Verdict::NonRobust);
    assert!(!result.witness.is_empty(), "without any flip the margin is +½: {result:?}");
    assert!(result.margins[0].upper <= 0.5, "a margin of 0 was known exactly: {result:?}");
}

/// All margins are positive integers or halves, the search has no limit, and yet it gives up after the first f64 margin
/// that lies inside its own error, although exact arithmetic then says that this margin is positive.
#[test]
fn the_search_goes_on_when_exact_arithmetic_acquits_the_attack() {
    let result = one_node(
        vec![],
        3,
        (&[BIG, 3.0, 0.0, BIG, 0.0, BIG, 3.0, 0.5, 2.0, -1.0, 1.0, -1.0], &[-1.0, 1.0, 0.0, -1.0]),
        (&[1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0], &[0.5, 0.0]),
        1,
        Effort::Complete(Limits::default()),
    );
    assert_ne!(result.verdict, Verdict::Undecided, "{result:?}");
}

/// The worst case is a tie, which some perturbation reaches. Another one only looks worse in f64 and takes its place;
/// exact arithmetic acquits it, and the tie is forgotten.
#[test]
fn a_tie_is_not_forgotten() {
    let result = one_node(
        vec![],
        4,
        (
            &[3.0, -1.0, 2.0, -1.0, BIG, 0.0, 0.5, 0.0, -1.0, BIG, 0.5, 2.0, 2.0, -1.0, 1.0, 3.0, BIG, 3.0, 1.0, 3.0],
            &[0.0, 0.0, BIG, BIG, BIG],
        ),
        (&[1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.5], &[0.0, 0.5]),
        2,
        Effort::Complete(Limits::default()),
    );
    assert_eq!(result.verdict, Verdict::NonRobust, "{result:?}");
}

#[test]
fn any_time_limit_is_accepted() {
    let limits = Limits { time: Duration::MAX, ..Limits::default() };
    one_node(vec![], 1, (&[1.0], &[0.0]), (&[1.0, 0.0], &[1.0, 0.0]), 1, Effort::Complete(limits));
}

/// The same net twice, the second with its last layer scaled by 2^`shift`: the same tree should do. Most attributes
/// weigh nothing, so every split on one of them gives two branches that are as good as their parent.
fn tree_sizes(shift: i32, dimension: usize, global: usize) -> Vec<usize> {
    let mut r = Stream::new(5);
    let width = 6;
    let first: Vec<f64> = (0..dimension * width).map(|i| if i < 4 * width { r.real() } else { 0.0 }).collect();
    let bias: Vec<f64> = (0..width).map(|_| r.real()).collect();
    let second: Vec<f64> = (0..width * 2).map(|_| r.real()).collect();
    [1.0, 2f64.powi(shift)]
        .iter()
        .map(|scale| {
            let limits = Limits { nodes: 20_000, ..Limits::default() };
            let second: Vec<f64> = second.iter().map(|w| w * scale).collect();
            let effort = Effort::Minimize { limits, gap: 1e-9 };
            let result = one_node(vec![1], dimension, (&first, &bias), (&second, &[0.0, 0.0]), global, effort);
            println!("{shift} {dimension} {global} {scale} {result:?}");
            result.search_nodes
        })
        .collect()
}

#[test]
fn the_gap_does_not_drown_in_rounding() {
    for (shift, dimension, global) in [(24, 12, 6), (24, 24, 8), (40, 24, 8)] {
        let nodes = tree_sizes(shift, dimension, global);
        // The gap is the same and so, measured by the scaled margins, narrower: the first net may end at its root.
        assert!(nodes[1] <= 2 * nodes[0] + 20, "{nodes:?}");
    }
}

/// A net of two hidden layers, then the same with attributes that weigh nothing put in front: the tree should not grow.
#[test]
fn attributes_without_weight_do_not_grow_the_tree() {
    let mut worst = (0, 0, 0);
    for seed in 0..400 {
        let sizes: Vec<usize> = [0usize, 12]
            .iter()
            .map(|&idle| {
                let mut r = Stream::new(seed * 7 + 1);
                let (live, hidden) = (4, [5, 4]);
                let real: Vec<f64> = (0..live * hidden[0]).map(|_| r.real()).collect();
                let mut first = vec![0.0; idle * hidden[0]];
                first.extend(real);
                let graph = graph(vec![vec![]], vec![vec![idle as u32]], live + idle);
                let mut layer = |rows: usize, columns: usize, values: Option<Vec<f64>>| {
                    let values = values.unwrap_or_else(|| (0..rows * columns).map(|_| r.real()).collect());
                    let bias = (0..columns).map(|_| r.real()).collect();
                    (DenseMatrix { rows, columns, values }, bias)
                };
                let layers = vec![
                    layer(live + idle, hidden[0], Some(first)),
                    layer(hidden[0], hidden[1], None),
                    layer(hidden[1], 2, None),
                ];
                let rules = [Operator::Identity, Operator::Identity, Operator::Identity];
                let gcn = Network::from_file(model(layers), &rules, &graph).unwrap();
                let budget = Budget::uniform(&graph, 5, 8);
                let effort = Effort::Complete(Limits { nodes: 5_000, ..Limits::default() });
                let certifier = certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(effort);
                certifier.certify_node(0, &mut Workspace::default()).search_nodes
            })
            .collect();
        if sizes[1] > worst.1 {
            worst = (seed, sizes[1], sizes[0]);
        }
    }
    println!("seed {}: {} tree nodes, {} without the idle attributes", worst.0, worst.1, worst.2);
    assert!(worst.1 <= 2 * worst.2 + 10, "{worst:?}");
}

/// Hubs of the embedded graph just below their radius: without envelopes their trees had no end.
#[test]
fn hubs_are_decided_near_the_root() {
    let (graph, gcn) = gcnproof::embedded::cora();
    for (node, global, most) in [(565, 51, 10), (747, 44, 10), (552, 43, 10)] {
        let budget = Budget::uniform(&graph, global, 14);
        let limits = Limits { nodes: most, time: Duration::from_secs(600) };
        let certifier = certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(Effort::Complete(limits));
        let result = certifier.certify_node(node, &mut Workspace::default());
        assert_eq!(result.verdict, Verdict::Robust, "node {node}: {:?}", result.margins);
    }
}
