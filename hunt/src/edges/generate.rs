//! Makes cases of removed edges: small dense components, numbers on a grid, and biases for which something is nearly 0.

use std::ops::Range;

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile};

use crate::case::{bare, pattern};
use crate::edges::case::{Edge, EdgeCase, Removable};
use crate::edges::network::{EdgeNetwork, EdgeScale, Remaining};
use crate::generate::model;
use crate::numbers::{STYLES, Style, step};
use crate::random::Random;
use crate::shapes::{Shape, shape};
use crate::ties::labels;

const NAMES: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];

/// Numbers on a grid: with the entries of rules they cancel up to a few units in the last place.
const GRIDS: [Style; 6] = [Style::Signs, Style::Integers, Style::Halves, Style::Halves, Style::Tenths, Style::Powers];

/// The case of a seed and a number, with so many components.
pub fn generate(seed: u64, number: u64, components: usize) -> EdgeCase {
    let mut random = Random::new(seed ^ 0xed6e, number);
    let random = &mut random;
    let attributes = 1 + random.below(5);
    let classes = random.pick(&[2, 2, 2, 3, 3, 4]);
    let cancelled = random.percent(40);
    let hidden = if cancelled { 1 + random.below(2) } else { 1 + random.below(4) };
    let global = random.pick(&[0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 1_000_000]);
    let loops = random.percent(20);
    let (most_nodes, most_edges) = match global {
        0..=2 => (9, 24),
        3 => (8, 12),
        _ => (7, 8),
    };
    let mut adjacency: Vec<Vec<u32>> = Vec::new();
    let mut ranges = Vec::with_capacity(components);
    for _ in 0..components {
        let first = adjacency.len();
        adjacency.extend(thinned(drawn(most_nodes, loops, cancelled, random), most_edges, random).rows(first));
        ranges.push(first..adjacency.len());
    }
    let nodes = adjacency.len();
    let density = random.pick(&[30, 50, 70, 100]);
    let rows: Vec<Vec<u32>> =
        (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.percent(density)).collect()).collect();
    let uniform = random.percent(60).then(|| random.pick(&[0, 1, 1, 2, 2, 3, 1_000_000]));
    let local = (0..nodes).map(|_| uniform.unwrap_or_else(|| random.pick(&[0, 1, 1, 2, 3]))).collect();
    let mut case = EdgeCase {
        origin: String::new(),
        graph: GraphFile { adjacency: pattern(nodes, &adjacency), attributes: pattern(attributes, &rows), ..bare() },
        model: model(Vec::new()),
        rules: Vec::new(),
        budget: Removable { global, local, keep_one: random.percent(50), frozen: Default::default() },
        labels: random.percent(20),
        components: ranges,
    };
    if random.percent(20) {
        let share = random.pick(&[5, 20, 50]);
        case.budget.frozen = case.edges(0..nodes).into_iter().filter(|_| random.percent(share)).collect();
    }
    let styles = layers(&mut case, [attributes, hidden, classes], random);
    let tied = random.percent(50);
    if cancelled {
        cancel(&mut case, random);
    } else if tied {
        tie(&mut case, random);
    }
    if random.percent(12) {
        equal_classes(&mut case, random);
    }
    if case.labels {
        label(&mut case, random);
    }
    case.origin = format!(
        "seed {seed}, number {number}: {styles}{}",
        match (cancelled, tied) {
            (true, _) => ", cancelled",
            (_, true) => ", ties",
            _ => "",
        }
    );
    case
}

/// A shape; half of the time nearly everyone is linked to everyone, more seldom where `sparse` ones are asked for.
fn drawn(most: usize, loops: bool, sparse: bool, random: &mut Random) -> Shape {
    if random.percent(if sparse { 80 } else { 50 }) {
        return shape(most, loops, random);
    }
    let nodes = 2 + random.below(most.min(6) - 1);
    let share = random.pick(&[50, 70, 90, 100]);
    let pairs = (0..nodes).flat_map(|m| (0..m).map(move |n| (n, m)));
    let mut edges: Vec<(usize, usize)> = pairs.filter(|_| random.percent(share)).collect();
    if loops {
        edges.extend((0..nodes).filter(|_| random.percent(30)).map(|n| (n, n)).collect::<Vec<_>>());
    }
    Shape { nodes, edges }
}

/// The shape with at most so many edges.
fn thinned(mut shape: Shape, most: usize, random: &mut Random) -> Shape {
    while shape.edges.iter().filter(|edge| edge.0 != edge.1).count() > most {
        shape.edges.remove(random.below(shape.edges.len()));
    }
    shape
}

/// Two layers, in half of the cases sums of terms; returns what kinds of numbers they have.
fn layers(case: &mut EdgeCase, [attributes, hidden, classes]: [usize; 3], random: &mut Random) -> String {
    let style = |random: &mut Random| if random.percent(80) { random.pick(&GRIDS) } else { random.pick(&STYLES) };
    let same = random.percent(70).then(|| style(random));
    let named = random.percent(50);
    let rule = |random: &mut Random| random.pick(&NAMES).to_string();
    let mut operators: Vec<Vec<String>> = vec![vec![rule(random)], vec![rule(random)]];
    if random.percent(50) {
        operators[1] = operators[0].clone();
    }
    if named {
        let extra = random.below(2);
        operators[0].extend((0..extra).map(|_| "identity".to_string()));
        let extra = random.below(3);
        operators[1].extend((0..extra).map(|_| rule(random)));
    }
    let zeros = random.pick(&[0, 0, 20, 50]);
    let mut styles = Vec::new();
    for (number, [inputs, outputs]) in [[attributes, hidden], [hidden, classes]].into_iter().enumerate() {
        let style = same.unwrap_or_else(|| style(random));
        styles.push(format!("{style:?}"));
        let terms = operators[number].len();
        let mut draw = |zeros: u64| if random.percent(zeros) { 0.0 } else { style.draw(random) };
        let values: Vec<f64> = (0..terms * inputs * outputs).map(|_| draw(zeros)).collect();
        let mut bias: Vec<f64> = (0..outputs).map(|_| draw(30)).collect();
        if named && random.percent(10) {
            bias = (0..case.nodes() * outputs).map(|_| style.draw(random)).collect();
        }
        let linear = named && number == 0 && random.percent(25);
        case.model.layers.push(LayerFile {
            weight: DenseMatrix { rows: terms * inputs, columns: outputs, values },
            bias,
            operators: if named { operators[number].clone() } else { Vec::new() },
            linear: if linear { (0..outputs).map(|_| random.percent(40)).collect() } else { Vec::new() },
            weight_name: format!("weight {number}"),
            bias_name: None,
        });
        if linear && !case.model.layers[0].linear.contains(&true) {
            case.model.layers[0].linear.clear();
        }
    }
    case.rules = operators.into_iter().map(|terms| terms[0].clone()).collect();
    styles.join(" ")
}

/// Some removals of a component, admissible or not.
fn some_removals(case: &EdgeCase, range: Range<usize>, random: &mut Random) -> Vec<Edge> {
    let edges = case.edges(range);
    let count = random.below(case.budget.global.min(3) as usize + 1).min(edges.len());
    (0..count).map(|_| edges[random.below(edges.len())]).collect()
}

/// Chooses biases such that some pre-activations and margins are (nearly) 0 after some removals of some component.
fn tie(case: &mut EdgeCase, random: &mut Random) {
    for layer in 0..2 {
        let width = case.model.layers[layer].weight.columns;
        if case.model.layers[layer].bias.len() > width {
            continue;
        }
        for unit in 0..width {
            if random.percent(50) {
                continue;
            }
            let range = case.components[random.below(case.components.len())].clone();
            let at = random.below(range.len());
            let left = Remaining::new(case, &range, &some_removals(case, range.clone(), random));
            let network = EdgeNetwork::<f64>::new(case, &EdgeScale::new(case));
            let messages = network.messages(case, &range);
            let sums = match layer {
                0 => network.hidden(&left, range.start, &messages),
                _ => network.logits(&left, range.start, &messages),
            };
            let row = &sums[at * width..][..width];
            // A hidden unit is 0; a logit is that of class 0.
            let wanted = if layer == 1 && unit > 0 { row[0] } else { 0.0 };
            let mut bias = case.model.layers[layer].bias[unit] + (wanted - row[unit]);
            if random.percent(40) {
                // On the grid: what is left is the rounding of entries.
                bias = (bias * 4.0).round() / 4.0;
            }
            if bias.is_finite() {
                case.model.layers[layer].bias[unit] = step(bias, random.pick(&[0, 0, 0, 0, 1, -1]));
            }
        }
    }
}

/// Numbers on a grid of quarters, and a bias for every node and unit that cancels what it gets after some removals but
/// for the rounding of entries: pre-activations are 0 or some 1e-17 at many nodes at once. Classes have the same bias,
/// so that these decide.
fn cancel(case: &mut EdgeCase, random: &mut Random) {
    let rule = random.pick(&["gcn", "gcn", "gcn-self", "mean", "mean+self"]);
    let grid = random.pick(&[1.0, 2.0, 4.0]);
    for number in 0..2 {
        let layer = &mut case.model.layers[number];
        if layer.operators.is_empty() {
            layer.operators = vec![case.rules[number].clone()];
        }
        if number == 0 {
            layer.operators[0] = rule.into();
        }
    }
    case.rules[0] = rule.into();
    if random.percent(40) {
        case.model.layers[1].operators[0] = "identity".into();
        case.rules[1] = "identity".into();
    }
    if random.percent(50) {
        // Targets whose own edges stay.
        case.budget.local.iter_mut().for_each(|e| *e = random.pick(&[0, 0, 1, 2, 1_000_000]));
    }
    let quantised = random.percent(70);
    for (number, layer) in case.model.layers.iter_mut().enumerate() {
        if number == 0 || quantised {
            layer.weight.values.iter_mut().for_each(|w| *w = random.between(-4, 4) as f64 / grid);
        }
    }
    let width = case.model.layers[0].weight.columns;
    case.model.layers[0].bias = vec![0.0; case.nodes() * width];
    let network = EdgeNetwork::<f64>::new(case, &EdgeScale::new(case));
    let share = random.pick(&[30, 60, 90]);
    let mut bias = Vec::with_capacity(case.nodes() * width);
    for range in &case.components {
        let removed = if random.percent(60) { Vec::new() } else { some_removals(case, range.clone(), random) };
        let left = Remaining::new(case, range, &removed);
        for z in network.hidden(&left, range.start, &network.messages(case, range)) {
            let near = (z * grid).round() / grid;
            let cancels = (z - near).abs() < 1e-9 && random.percent(share);
            bias.push(if cancels { -near } else { random.between(-4, 4) as f64 / grid });
        }
    }
    case.model.layers[0].bias = bias;
    if random.percent(70) {
        let classes = case.classes();
        let same = random.between(-1, 1) as f64;
        case.model.layers[1].bias = vec![same; classes];
    }
}

/// Makes two classes equal, or equal but for an ulp of a bias.
fn equal_classes(case: &mut EdgeCase, random: &mut Random) {
    let classes = case.classes();
    let (from, to) = (random.below(classes), random.below(classes));
    let layer = &mut case.model.layers[1];
    for row in layer.weight.values.chunks_exact_mut(classes) {
        row[to] = row[from];
    }
    for row in layer.bias.chunks_exact_mut(classes) {
        row[to] = step(row[from], random.between(-1, 1));
    }
}

/// Gives most nodes the class as label that floats predict, and the others any or none.
fn label(case: &mut EdgeCase, random: &mut Random) {
    let network = EdgeNetwork::<f64>::new(case, &EdgeScale::new(case));
    let logits = |range: &Range<usize>| {
        network.logits(&Remaining::new(case, range, &[]), range.start, &network.messages(case, range))
    };
    let labels = case.components.iter().flat_map(|range| labels(&logits(range), case.classes(), random));
    case.graph.labels = Some(labels.collect());
}
