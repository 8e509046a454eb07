//! Makes cases: many small components with one model, drawn so that the hard numbers occur often.

use std::sync::Arc;

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile};

use crate::case::{Allowance, Case, Rule, Way, bare, matrix, pattern};
use crate::numbers::{STYLES, Style};
use crate::random::Random;
use crate::shapes::shape;
use crate::ties;

/// Admissible sets of a component, at most (about): brute force visits all of them.
pub(crate) const SETS: f64 = 350.0;

/// Weight layers, each number as often as it is drawn.
pub const LAYERS: [usize; 9] = [1, 2, 2, 2, 2, 2, 3, 3, 4];

const NAMES: [&str; 6] = ["gcn", "mean", "mean+self", "sum", "sum+self", "identity"];

/// The case of a seed and a number, with so many components.
pub fn generate(seed: u64, number: u64, components: usize) -> Case {
    generate_deep(seed, number, components, &LAYERS)
}

/// The same with one of these numbers of weight layers, each as often as it is listed.
pub fn generate_deep(seed: u64, number: u64, components: usize, counts: &[usize]) -> Case {
    let mut random = Random::new(seed, number);
    let random = &mut random;
    let attributes = 1 + random.below(6);
    let classes = random.pick(&[2, 2, 2, 3, 3, 4]);
    let weight_layers = counts[random.below(counts.len())];
    let global = random.pick(&[0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 1_000_000]);
    let mut case = skeleton(attributes, global, SETS, components, random);
    let (layers, styles) = layers(attributes, classes, weight_layers, random);
    case.model = model(layers);
    case.labels = random.percent(20);
    let rescaled = random.percent(20);
    case.rules = rules(&case, weight_layers, random);
    if rescaled && random.percent(60) {
        case.rules[0] = Rule::Matrix(Arc::new(operator(&case, random)));
    }
    let tied = random.percent(55);
    if tied {
        ties::tie(&mut case, random);
    }
    if random.percent(15) {
        ties::equal_classes(&mut case, random);
    }
    if rescaled {
        ties::rescale(&mut case, random);
    }
    if case.labels {
        ties::label(&mut case, random);
    }
    case.origin = format!(
        "seed {seed}, number {number}: {styles}{}{}",
        if tied { ", ties" } else { "" },
        if rescaled { ", rescaled" } else { "" }
    );
    case
}

/// Graph and budget of a case, without a model: components with at most so many admissible sets (about).
pub fn skeleton(attributes: usize, global: u64, sets: f64, components: usize, random: &mut Random) -> Case {
    let uniform = random.percent(60).then(|| random.pick(&[0, 1, 1, 1, 2, 2, 3, 3, 1_000_000]));
    let loops = random.percent(25);
    let density = random.pick(&[10, 30, 50, 70, 100]);
    let most = largest_component(attributes, global, sets);

    let mut adjacency: Vec<Vec<u32>> = Vec::new();
    let mut ranges = Vec::with_capacity(components);
    for _ in 0..components {
        let first = adjacency.len();
        let shape = shape(most, loops, random);
        adjacency.extend(shape.rows(first));
        ranges.push(first..adjacency.len());
    }
    let nodes = adjacency.len();
    let rows: Vec<Vec<u32>> =
        (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.percent(density)).collect()).collect();
    let local = (0..nodes).map(|_| uniform.unwrap_or_else(|| random.pick(&[0, 1, 1, 2, 3]))).collect();
    let frozen = random.percent(15);
    let budget = Allowance {
        global,
        local,
        way: random.pick(&[Way::Both, Way::Both, Way::Both, Way::Add, Way::Remove]),
        frozen: (0..attributes).map(|_| frozen && random.percent(30)).collect(),
    };
    Case {
        origin: String::new(),
        graph: GraphFile { adjacency: pattern(nodes, &adjacency), attributes: pattern(attributes, &rows), ..bare() },
        model: model(Vec::new()),
        rules: Vec::new(),
        budget,
        labels: false,
        components: ranges,
    }
}

/// A model of these layers.
pub fn model(layers: Vec<LayerFile>) -> ModelFile {
    ModelFile { layers, digest: "model".into(), ..ModelFile::default() }
}

/// How many nodes a component may have so that brute force stays cheap.
fn largest_component(attributes: usize, global: u64, most: f64) -> usize {
    let sets = |flips: usize| -> f64 {
        let mut term = 1.0;
        let mut sum = 1.0;
        for k in 1..=flips.min(global as usize) {
            term *= (flips + 1 - k) as f64 / k as f64;
            sum += term;
        }
        sum
    };
    (1..=13).rev().find(|nodes| sets(nodes * attributes) <= most).unwrap_or(1)
}

/// Random layers, and what kinds of numbers they have.
fn layers(attributes: usize, classes: usize, count: usize, random: &mut Random) -> (Vec<LayerFile>, String) {
    let same = random.percent(60).then(|| random.pick(&STYLES));
    let bias_style = random.percent(40).then(|| random.pick(&STYLES));
    let zeros = random.pick(&[0, 0, 0, 20, 50]);
    let mut names = Vec::new();
    let mut inputs = attributes;
    let mut layers = Vec::new();
    for number in 0..count {
        let outputs = if number + 1 == count { classes } else { 1 + random.below(4) };
        let style = same.unwrap_or_else(|| random.pick(&STYLES));
        names.push(format!("{style:?}"));
        let mut draw = |style: Style, zeros: u64| if random.percent(zeros) { 0.0 } else { style.draw(random) };
        let values = (0..inputs * outputs).map(|_| draw(style, zeros)).collect();
        let bias = (0..outputs).map(|_| draw(bias_style.unwrap_or(style), 30)).collect();
        layers.push(LayerFile {
            weight: DenseMatrix { rows: inputs, columns: outputs, values },
            bias,
            weight_name: format!("weight {number}"),
            ..LayerFile::default()
        });
        inputs = outputs;
    }
    let bias = bias_style.map_or(String::new(), |style| format!(" bias {style:?}"));
    (layers, format!("{}{bias}", names.join(" ")))
}

/// Message passing: one rule for all layers, or another for each.
pub(crate) fn rules(case: &Case, count: usize, random: &mut Random) -> Vec<Rule> {
    let one = |random: &mut Random| {
        if random.percent(25) {
            Rule::Matrix(Arc::new(operator(case, random)))
        } else {
            Rule::Named(random.pick(&NAMES))
        }
    };
    if random.percent(65) { vec![one(random); count] } else { (0..count).map(|_| one(random)).collect() }
}

/// A matrix of either sign, with entries only within components.
pub fn operator(case: &Case, random: &mut Random) -> gcnproof_files::SparseMatrix {
    let style = random.pick(&STYLES);
    let signed = random.percent(70);
    let share = random.pick(&[30, 60, 100]);
    let along_edges = random.percent(50);
    let mut rows = Vec::with_capacity(case.nodes());
    for range in &case.components {
        for i in range.clone() {
            let mut row = Vec::new();
            for j in range.clone() {
                let linked = i == j || !along_edges || case.graph.adjacency.contains(i, j as u32);
                if linked && random.percent(share) {
                    let value = style.draw(random);
                    let value = if signed { value } else { value.abs() };
                    if value != 0.0 {
                        row.push((j as u32, value));
                    }
                }
            }
            rows.push(row);
        }
    }
    matrix(&rows)
}
