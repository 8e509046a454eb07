//! Changes a case so that exact zeros and ties occur: pre-activations and margins that are 0 or an ulp away from it.

use std::ops::Range;
use std::sync::Arc;

use gcnproof_files::SparseMatrix;

use crate::case::{Case, Rule};
use crate::numbers::step;
use crate::operator::{Rows, rows};
use crate::random::Random;

/// Chooses biases such that some pre-activations and margins are (nearly) 0 after some flips of some component.
pub fn tie(case: &mut Case, random: &mut Random) {
    let operators: Vec<Rows> = case.rules.iter().map(|rule| rows(case, rule)).collect();
    let last = case.layers().len() - 1;
    for layer in 0..=last {
        for unit in 0..case.layers()[layer].bias.len() {
            if random.percent(if layer == last { 50 } else { 40 }) {
                let range = case.components[random.below(case.components.len())].clone();
                let node = range.start + random.below(range.len());
                let flips = some_flips(case, range.clone(), random);
                let z = pre_activations(case, &operators, range.clone(), &flips, layer);
                let row = &z[node - range.start];
                // A hidden unit is 0; a logit is that of class 0.
                let wanted = if layer == last && unit > 0 { row[0] } else { 0.0 };
                let bias = case.layers()[layer].bias[unit] + (wanted - row[unit]);
                if bias.is_finite() {
                    let units = random.pick(&[0, 0, 0, 0, 1, -1]);
                    case.model.layers[layer].bias[unit] = step(bias, units);
                }
            }
        }
    }
}

/// Makes two classes equal, or equal but for an ulp of a bias.
pub fn equal_classes(case: &mut Case, random: &mut Random) {
    let classes = case.classes();
    let (from, to) = (random.below(classes), random.below(classes));
    let Some(layer) = case.model.layers.last_mut() else { return };
    for i in 0..layer.weight.rows {
        layer.weight.values[i * classes + to] = layer.weight.values[i * classes + from];
    }
    layer.bias[to] = step(layer.bias[from], random.between(-1, 1));
}

/// Multiplies layers and matrices by powers of two: the same network but for a factor in exact arithmetic, while floats
/// on the way underflow or overflow. A bias that would not be a finite number becomes 0, a weight or an entry stays as
/// it is.
pub fn rescale(case: &mut Case, random: &mut Random) {
    let mut total = 0;
    let widest = random.pick(&[60, 300, 540, 1000]);
    // In half of the cases the products of the first layer lie where floats end.
    let edge = random
        .percent(50)
        .then(|| random.pick(&[-1140, -1100, -1074, -1060, -1022, 960, 1020]) + random.between(-12, 12));
    for number in 0..case.model.layers.len() {
        let (weight, entry) = match edge {
            Some(edge) if number == 0 => {
                let part = edge * random.between(20, 80) / 100;
                (part as i32, (edge - part) as i32)
            }
            Some(_) if random.percent(80) => ((-total).clamp(-990, 990), 0),
            _ => {
                let back = random.percent(50);
                let weight = if back { (-total).clamp(-990, 990) } else { random.between(-widest, widest) as i32 };
                (weight, random.between(-widest, widest) as i32)
            }
        };
        if let Rule::Matrix(matrix) = &case.rules[number] {
            let scaled: Vec<f64> = matrix.values.iter().map(|&a| power(a, entry)).collect();
            if scaled.iter().all(|a| a.is_finite() && *a != 0.0) {
                let values = SparseMatrix { values: scaled, ..(**matrix).clone() };
                case.rules[number] = Rule::Matrix(Arc::new(values));
                total += entry;
            }
        }
        let layer = &mut case.model.layers[number];
        let scaled: Vec<f64> = layer.weight.values.iter().map(|&w| power(w, weight)).collect();
        if scaled.iter().all(|w| w.is_finite()) {
            layer.weight.values = scaled;
            total += weight;
        }
        for bias in &mut layer.bias {
            let scaled = power(*bias, total);
            *bias = if scaled.is_finite() { scaled } else { 0.0 };
        }
    }
}

/// `x · 2^exponent`, in steps that underflow or overflow only where the result does.
fn power(x: f64, exponent: i32) -> f64 {
    let mut left = exponent.clamp(-4000, 4000);
    let mut result = x;
    while left != 0 {
        let step = left.clamp(-500, 500);
        result *= 2f64.powi(step);
        left -= step;
    }
    result
}

/// Gives most nodes the class as label that floats predict, and the others any or none.
pub fn label(case: &mut Case, random: &mut Random) {
    let operators: Vec<Rows> = case.rules.iter().map(|rule| rows(case, rule)).collect();
    let last = case.layers().len() - 1;
    let logits = |range: &Range<usize>| pre_activations(case, &operators, range.clone(), &[], last).concat();
    let labels = case.components.iter().flat_map(|range| labels(&logits(range), case.classes(), random));
    case.graph.labels = Some(labels.collect());
}

/// Labels of nodes with these logits: of most the class that is predicted, of the others any or none.
pub fn labels(logits: &[f64], classes: usize, random: &mut Random) -> Vec<Option<u32>> {
    let one = |row: &[f64]| {
        let best = (1..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
        match random.below(10) {
            0 => None,
            1 | 2 => Some(random.below(classes) as u32),
            _ => Some(best as u32),
        }
    };
    logits.chunks_exact(classes).map(one).collect()
}

/// A few flips, admissible or not.
fn some_flips(case: &Case, range: Range<usize>, random: &mut Random) -> Vec<(usize, usize)> {
    let count = random.below(case.budget.global.min(4) as usize + 1);
    let mut flips: Vec<(usize, usize)> =
        (0..count).map(|_| (range.start + random.below(range.len()), random.below(case.attributes()))).collect();
    flips.sort_unstable();
    flips.dedup();
    flips
}

/// The pre-activations that a layer gives, in floats, for every node of a component.
fn pre_activations(
    case: &Case,
    operators: &[Rows],
    range: Range<usize>,
    flips: &[(usize, usize)],
    upto: usize,
) -> Vec<Vec<f64>> {
    let attribute = |n: usize, d: usize| {
        let flipped = flips.contains(&(n, d));
        f64::from(u8::from(case.graph.attributes.contains(n, d as u32) != flipped))
    };
    let mut now: Vec<Vec<f64>> =
        range.clone().map(|n| (0..case.attributes()).map(|d| attribute(n, d)).collect()).collect();
    for (number, layer) in case.layers().iter().enumerate().take(upto + 1) {
        if number > 0 {
            now.iter_mut().flatten().for_each(|h| *h = h.max(0.0));
        }
        let row = |m: usize| -> Vec<f64> {
            let mut sums = layer.bias.clone();
            for &(n, a) in &operators[number][m] {
                for (i, h) in now[n - range.start].iter().enumerate().filter(|(_, h)| **h != 0.0) {
                    for (sum, w) in sums.iter_mut().zip(layer.weight.row(i)) {
                        *sum += a * h * w;
                    }
                }
            }
            sums
        };
        now = range.clone().map(row).collect();
    }
    now
}
