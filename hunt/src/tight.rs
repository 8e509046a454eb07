//! Deep networks of ordinary numbers whose worst-case margin at some node is small and positive: bounds have to be good
//! there.

use gcnproof_files::{DenseMatrix, LayerFile};

use crate::case::Case;
use crate::generate::{SETS, model, rules, skeleton};
use crate::numbers::Style;
use crate::random::Random;
use crate::truth::Oracle;

const STYLES: [Style; 6] = [Style::Integers, Style::Halves, Style::Tenths, Style::Single, Style::Single, Style::Double];

/// The case of a seed and a number, with so many components and one of these numbers of weight layers.
pub fn generate(seed: u64, number: u64, components: usize, counts: &[usize]) -> Case {
    let mut random = Random::new(seed ^ 0x7163, number);
    let random = &mut random;
    let (attributes, classes) = (2 + random.below(4), random.pick(&[2, 2, 3]));
    let weight_layers = counts[random.below(counts.len())];
    let global = random.pick(&[1, 2, 2, 3, 3, 4]);
    let mut case = skeleton(attributes, global, SETS, components, random);
    let style = random.pick(&STYLES);
    let mut inputs = attributes;
    let layers = (0..weight_layers).map(|at| {
        let outputs = if at + 1 == weight_layers { classes } else { 2 + random.below(5) };
        let values = (0..inputs * outputs).map(|_| style.draw(random)).collect();
        let weight = DenseMatrix { rows: inputs, columns: outputs, values };
        inputs = outputs;
        LayerFile {
            weight,
            bias: (0..outputs).map(|_| style.draw(random)).collect(),
            operators: Vec::new(),
            linear: Vec::new(),
            weight_name: format!("weight {at}"),
            bias_name: None,
        }
    });
    case.model = model(layers.collect());
    case.rules = rules(&case, weight_layers, random);
    let share = shift(&mut case, random);
    case.origin = format!("seed {seed}, number {number}: tight by {share}, {style:?}");
    case
}

/// Moves the bias of a class so that the smallest margin of some node over it becomes a small share of what it was.
fn shift(case: &mut Case, random: &mut Random) -> f64 {
    let share = random.pick(&[0.001, 0.01, 0.05, 0.1, 0.2, 0.4]);
    let range = case.components[random.below(case.components.len())].clone();
    let truths = Oracle::new(case).component(range);
    let truth = &truths[random.below(truths.len())];
    let margins: Vec<(usize, f64)> = truth
        .margins
        .iter()
        .enumerate()
        .filter_map(|(class, margin)| Some((class, margin.as_ref()?.approximate())))
        .collect();
    if margins.is_empty() {
        return 0.0;
    }
    let (class, margin) = margins[random.below(margins.len())];
    let last = case.model.layers.len() - 1;
    let bias = &mut case.model.layers[last].bias[class];
    let moved = *bias + margin - share * margin.abs();
    if moved.is_finite() {
        *bias = moved;
    }
    share
}
