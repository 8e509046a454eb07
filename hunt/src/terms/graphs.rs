//! Makes cases in which whole graphs are classified: a few small graphs in one batch, layers on their nodes, one
//! readout or several, and layers on graphs behind them.
//!
//! All graphs of a batch are one component: brute force lists sets of flips of all of them, of which those elsewhere
//! change nothing.

use crate::case::grouped;
use crate::generate::skeleton;
use crate::network::Source;
use crate::numbers::{STYLES, Style};
use crate::random::Random;
use crate::terms::case::TermCase;
use crate::terms::description::{Description, Layer, Passing, Term};
use crate::terms::generate::{Numbers, label, network, one_hot, tie};

/// Admissible sets of a graph, at most (about), by the number of graphs in the batch.
const SETS: [f64; 3] = [120.0, 24.0, 9.0];

/// Layers on nodes, at most.
const MOST_LAYERS: usize = 3;

/// The case of a seed and a number.
///
/// # Errors
/// If the program refuses the description.
pub fn generate(seed: u64, number: u64) -> Result<TermCase, String> {
    let mut random = Random::new(seed ^ 0x96af, number);
    let random = &mut random;
    let attributes = 1 + random.below(4);
    let global = random.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 1_000_000]);
    let graphs = 1 + random.below(SETS.len());
    let mut base = skeleton(attributes, global, SETS[graphs - 1], graphs, random);
    let batch = (0..).zip(&base.components).flat_map(|(of, range)| range.clone().map(move |_| of)).collect();
    base.graph.batch = Some(batch);
    base.components = std::iter::once(0..base.nodes()).collect();
    let groups = random.percent(25).then(|| one_hot(&mut base, random));
    base.labels = random.percent(15);
    let classes = random.pick(&[2, 2, 3]);
    let width = 1 + random.below(3);
    let mut on_nodes = network(&base, width, Numbers::Any, random);
    while on_nodes.layers.len() > MOST_LAYERS {
        on_nodes = network(&base, width, Numbers::Any, random);
    }
    let mut network = with_readouts(on_nodes, RowCounts { nodes: base.nodes(), graphs }, classes, random);
    if random.percent(50) {
        tie(&base, &mut network, random);
    }
    base.origin = format!("seed {seed}, number {number}, graphs");
    let mut case = TermCase::described(base, network)?;
    if let Some(groups) = groups {
        case.base.graph = grouped(&case.base.graph, &groups);
    }
    if case.base.labels {
        label(&mut case, random);
    }
    Ok(case)
}

/// How many rows a matrix has, and how many of them are those of graphs behind a readout.
#[derive(Clone, Copy, Debug)]
struct RowCounts {
    nodes: usize,
    graphs: usize,
}

/// The same layers on nodes, then readouts and layers on graphs; `rows` are all, and those of graphs.
fn with_readouts(mut network: Description, rows: RowCounts, classes: usize, random: &mut Random) -> Description {
    let nodes = network.layers.len();
    if random.percent(60) {
        // Otherwise what the last convolution gives is pooled as it is.
        network.layers[nodes - 1].linear.iter_mut().for_each(|linear| *linear = false);
    }
    let style = random.pick(&STYLES);
    let readouts = random.pick(&[1, 1, 1, 2]);
    let heads = random.pick(&[0, 1, 1, 2]);
    let layer = |sources: Vec<(Source, &'static str)>, last: bool, network: &Description, random: &mut Random| {
        let outputs = if last { classes } else { 1 + random.below(3) };
        let mut terms = Vec::new();
        for (source, rule) in sources {
            let term = Term { source, passing: Passing::Named(rule), weight: None };
            let inputs = network.inputs(&term);
            let passes_on = source != Source::Attributes && inputs == outputs && random.percent(15);
            let weight = (0..inputs * outputs).map(|_| style.draw(random)).collect();
            terms.push(Term { weight: (!passes_on).then_some(weight), ..term });
        }
        Layer {
            terms,
            bias: bias(rows, outputs, style, random),
            linear: vec![last || random.percent(30); outputs],
            outputs,
        }
    };
    let pool = |random: &mut Random| random.pick(&["pool-sum", "pool-mean"]);
    for readout in 0..readouts {
        let mut sources = vec![(Source::Layer(nodes - 1), pool(random))];
        if readout > 0 || random.percent(30) {
            let of = random.below(nodes + 1);
            sources.push((if of == nodes { Source::Attributes } else { Source::Layer(of) }, pool(random)));
        }
        let last = heads == 0 && readouts == 1;
        let made = layer(sources, last, &network, random);
        network.layers.push(made);
    }
    // Layers on graphs read the readouts and each other; the last reads whatever is still unread.
    let behind = if readouts > 1 { heads.max(1) } else { heads };
    for head in 0..behind {
        let (last, at) = (head + 1 == behind, network.layers.len());
        let read = |of: usize| {
            network.layers.iter().flat_map(|layer| &layer.terms).any(|term| term.source == Source::Layer(of))
        };
        let mut sources = vec![(Source::Layer(at - 1), "identity")];
        sources.extend((nodes..at - 1).filter(|&of| last && !read(of)).map(|of| (Source::Layer(of), "identity")));
        if random.percent(25) {
            sources.push((Source::Layer(nodes - 1), pool(random)));
        }
        let made = layer(sources, last, &network, random);
        network.layers.push(made);
    }
    network
}

/// No bias, one for all graphs, or one for each.
fn bias(rows: RowCounts, outputs: usize, style: Style, random: &mut Random) -> Option<Vec<f64>> {
    match random.below(10) {
        0 | 1 => None,
        2 => Some(
            (0..rows.nodes * outputs)
                .map(|at| if at < rows.graphs * outputs { style.draw(random) } else { 0.0 })
                .collect(),
        ),
        _ => Some((0..outputs).map(|_| style.draw(random)).collect()),
    }
}
