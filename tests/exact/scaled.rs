//! Ordinary small networks whose layers are scaled by powers of two that cancel in the logits: the verdicts are those
//! of an ordinary network, but the products in between lie at the ends of the range.

use gcnproof_verify::random::Stream;

use super::case::{Case, Layers, attributes, dense, hidden_widths, local_budgets, matrix};
use super::certifier::{Budget, Operator};
use super::common;
use super::nasty::number;

/// `value · 2^power`, rounded once if it becomes subnormal.
fn scaled_number(mut value: f64, mut power: i32) -> f64 {
    while power > 0 {
        let step = power.min(1000);
        value *= 2f64.powi(step);
        power -= step;
    }
    if power < 0 {
        // Down in one go where possible, so that nothing is rounded twice.
        if power < -1000 {
            value *= 2f64.powi(-500);
            power += 500;
        }
        value *= 2f64.powi(power.max(-1022));
    }
    value
}

/// A power of two, often at an end of the range.
fn power(stream: &mut Stream) -> i32 {
    match stream.below(6) {
        0 => -1060 + stream.below(60) as i32,
        1 => 960 + stream.below(50) as i32,
        2 => stream.below(2000) as i32 - 1000,
        3 => stream.below(80) as i32 - 40,
        _ => 0,
    }
}

/// A network of depth 2 to 4 on up to three nodes.
pub fn scaled(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0x9876_5432_1fed_cba9) ^ 0x77);
    let style = [0, 1, 2][stream.below(3)];
    let depth = 2 + stream.below(3);
    let nodes = 1 + stream.below(3);
    let dimension = 1 + stream.below(4);
    let graph = common::graph(vec![vec![]; nodes], attributes(stream, nodes, dimension), dimension);
    let classes = 2 + stream.below(2);
    let widths = [vec![dimension], hidden_widths(stream, depth, 6, 3), vec![classes]].concat();
    let (mut layers, mut rules): (Layers, Vec<Operator>) = (Vec::new(), Vec::new());
    let mut scale_before = 0i32;
    for pair in widths.windows(2) {
        // Scale of A, of the result, and hence of W. Bad luck with the range is clamped away.
        let of_passing = power(stream);
        let wanted = power(stream).clamp(-1070, 1000);
        let of_weight = (wanted - scale_before - of_passing).clamp(-1068, 1005);
        let scale = scale_before + of_passing + of_weight;
        let weight = dense(pair[0], pair[1], |_| scaled_number(number(stream, style), of_weight));
        let bias = (0..pair[1]).map(|_| {
            let value = scaled_number(number(stream, style), scale.clamp(-1074, 1010));
            if value.is_finite() { value } else { 0.0 }
        });
        layers.push((weight, bias.collect()));
        rules.push(matrix(nodes, || {
            let value = scaled_number(number(stream, if style == 2 { 0 } else { style }), of_passing);
            (stream.chance(70) && value.is_finite()).then_some(value)
        }));
        scale_before = scale;
    }
    for (weight, bias) in &mut layers {
        for value in weight.values.iter_mut().chain(bias) {
            if !value.is_finite() {
                *value = 1.0;
            }
        }
    }
    let local = local_budgets(stream, nodes, dimension + 2);
    let budget = Budget::per_node(&graph, 1 + stream.below(3), &local).unwrap();
    Case::new(graph, layers, &rules, budget, 100 + style)
}
