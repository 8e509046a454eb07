//! Networks of quantised weights and entries: integers, halves, tenths, powers of two, few different values. Ties
//! abound.

use gcnproof_verify::random::Stream;

use super::case::{Case, attributes, dense, hidden_widths, links, local_budgets, matrix};
use super::certifier::{Budget, Operator};
use super::common;

/// The styles of quantised networks start here.
const QUANTISED: usize = 400;

fn number(stream: &mut Stream, kind: usize) -> f64 {
    match kind {
        0 => stream.below(5) as f64 - 2.0,
        1 => stream.below(7) as f64 / 2.0 - 1.5,
        2 => (stream.below(9) as f64 - 4.0) / 10.0,
        3 => [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.25, 4.0][stream.below(8)],
        _ => [0.0, 0.0, 1.0, -1.0, 0.1, -0.3][stream.below(6)],
    }
}

fn rule(stream: &mut Stream, nodes: usize, kind: usize) -> Operator {
    match stream.below(7) {
        0 => Operator::Identity,
        1 => Operator::Sum,
        2 => Operator::SumWithSelf,
        3 => Operator::Mean,
        4 => Operator::MeanWithSelf,
        5 => Operator::Gcn,
        _ => matrix(nodes, || Some(number(stream, kind))),
    }
}

/// A network of depth 2 to 5 on up to three nodes.
pub fn quantised(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x4242);
    let kind = stream.below(5);
    let depth = 2 + stream.below(4);
    let nodes = 1 + stream.below(3);
    let dimension = 1 + stream.below(4);
    let adjacency = links(stream, nodes, 20, 50);
    let graph = common::graph(adjacency, attributes(stream, nodes, dimension), dimension);
    let hidden = hidden_widths(stream, depth, 5, 3);
    let widths = [vec![dimension], hidden, vec![2 + stream.below(2)]].concat();
    let layer = |pair: &[usize]| {
        let weight = dense(pair[0], pair[1], |_| number(stream, kind));
        (weight, (0..pair[1]).map(|_| number(stream, kind)).collect())
    };
    let layers = widths.windows(2).map(layer).collect();
    let rules: Vec<Operator> = (1..depth).map(|_| rule(stream, nodes, kind)).collect();
    let local = local_budgets(stream, nodes, dimension + 3);
    let global = [0, 1, 2, 3, 4, 1 << 40][stream.below(6)];
    let budget = Budget::per_node(&graph, global, &local).unwrap();
    Case::new(graph, layers, &rules, budget, QUANTISED + kind)
}
