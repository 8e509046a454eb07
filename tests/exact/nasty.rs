//! Small networks of any numbers at all: ties, cancellation, huge and tiny values, subnormals, the end of the range.

use gcnproof_verify::random::Stream;

use super::case::{Case, attributes, dense, hidden_widths, links, local_budgets, matrix, restrained};
use super::certifier::{Budget, Operator};
use super::common;

/// How many kinds of numbers [`number`] knows.
pub const STYLES: usize = 10;

/// A number of a kind.
pub fn number(stream: &mut Stream, style: usize) -> f64 {
    let sign = if stream.chance(50) { 1.0 } else { -1.0 };
    let small = |stream: &mut Stream| stream.below(9) as f64 / 4.0 - 1.0;
    match style {
        // dyadic with ties and -0.0
        0 => match stream.below(6) {
            0 => -0.0,
            1 => 0.0,
            _ => small(stream),
        },
        // plain
        1 => stream.real(),
        // cancellation at 1e8: exactly representable, small remainder
        2 => match stream.below(3) {
            0 => sign * 1e8,
            1 => sign * (1e8 + small(stream)),
            _ => stream.real(),
        },
        // cancellation beyond f64
        3 => match stream.below(4) {
            0 => sign * 1e16,
            1 => sign * (1e16 + 2.0),
            2 => sign,
            _ => stream.real() * 1e-17,
        },
        // huge and small
        4 => sign * [1e150, 1e-150, 1.0, 0.5, 1e-17][stream.below(5)],
        5 => sign * [1e300, 1e-300, 1.0, 1e-8, 3e-308][stream.below(5)],
        // subnormals
        6 => sign * [f64::from_bits(1), f64::from_bits(3), 2.3e-308, 1e-310, 1.0, 0.25][stream.below(6)],
        // the end of the range
        7 => sign * [f64::MAX, 1e308, 1.0, 0.5, 1e-308, 9e307][stream.below(6)],
        // anything at all
        8 => loop {
            let value = f64::from_bits(stream.bits());
            if value.is_finite() {
                break value;
            }
        },
        // mixture of small and awkward
        _ => match stream.below(8) {
            0 => sign * 1e16,
            1 => sign * 1e-300,
            2 => sign * f64::from_bits(1),
            3 => 0.0,
            4 => sign * 1e200,
            _ => small(stream),
        },
    }
}

/// A network of depth 2 to 5 on up to three nodes.
pub fn nasty(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0x1234_5678_9abc_def1) ^ 0x5555);
    let style = stream.below(STYLES);
    let depth = 2 + stream.below(4);
    let nodes = 1 + stream.below(3);
    let dimension = 1 + stream.below(5);
    let adjacency = links(stream, nodes, 10, 60);
    let graph = common::graph(adjacency, attributes(stream, nodes, dimension), dimension);
    let classes = 2 + stream.below(2);
    let widths = [vec![dimension], hidden_widths(stream, depth, 7, 3), vec![classes]].concat();
    // One style for all layers, or another one now and then.
    let styles: Vec<usize> = (1..depth)
        .map(|_| if stream.chance(60) { style } else { [0, 1, style, stream.below(STYLES)][stream.below(4)] })
        .collect();
    let layer = |(pair, &style): (&[usize], &usize)| {
        let weight = dense(pair[0], pair[1], |_| number(stream, style));
        let bias = (0..pair[1]).map(|_| match stream.below(4) {
            0 => 0.0,
            1 => number(stream, 0),
            _ => number(stream, style),
        });
        let bias = bias.collect();
        (weight, bias)
    };
    let layers = widths.windows(2).zip(&styles).map(layer).collect();
    let rules: Vec<Operator> = (1..depth).map(|_| rule(stream, nodes, style)).collect();
    let local = local_budgets(stream, nodes, dimension + 2);
    let mut global = [0, 1, 1, 2, 2, 3, usize::MAX][stream.below(7)];
    if global == usize::MAX && nodes * dimension > 6 {
        global = 2;
    }
    let budget = restrained(stream, &graph, Budget::per_node(&graph, global, &local).unwrap());
    Case::new(graph, layers, &rules, budget, style)
}

/// One of the rules, or a matrix of the style's numbers.
fn rule(stream: &mut Stream, nodes: usize, style: usize) -> Operator {
    match stream.below(6) {
        0 => Operator::Identity,
        1 => Operator::SumWithSelf,
        2 => Operator::Gcn,
        3 => Operator::Mean,
        _ => {
            let style = if stream.chance(50) { 0 } else { style };
            matrix(nodes, || stream.chance(60).then(|| number(stream, style)))
        }
    }
}
