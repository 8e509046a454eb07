//! Makes cases with described networks: sums of terms, skips, linear units, concatenations, polynomials, matrices.

use std::ops::Range;
use std::sync::Arc;

use gcnproof_files::Normalisation;

use crate::case::{Case, Flip, Way, grouped, pattern};
use crate::generate::{operator, skeleton};
use crate::network::Source;
use crate::numbers::{STYLES, Style, step};
use crate::random::Random;
use crate::terms::case::TermCase;
use crate::terms::description::{Description, Layer, Passing, Term};
use crate::ties::labels;

/// Admissible sets of a component, at most (about).
const SETS: f64 = 120.0;

const NAMES: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];

/// What kinds of numbers a network has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Any kind.
    Any,
    /// Kinds with which executions in float32 are compared: neither huge nor tiny, some such that small summands get
    /// lost.
    Float32,
}

/// The case of a seed and a number, with so many components.
///
/// # Errors
/// If the program refuses the description.
pub fn generate(
    seed: u64,
    number: u64,
    components: usize,
    numbers: Numbers,
    normalisation: Normalisation,
    categories: bool,
) -> Result<TermCase, String> {
    let mut random = Random::new(seed ^ 0x7e43, number);
    let random = &mut random;
    let profile = match numbers {
        // Hubs have all attributes, and rows one of a group.
        _ if categories => Profile::Usual,
        Numbers::Float32 if random.percent(20) => Profile::Lost,
        Numbers::Float32 if random.percent(25) => Profile::Cancelled,
        _ => Profile::Usual,
    };
    let attributes = if profile == Profile::Usual { 1 + random.below(5) } else { 2 + random.below(2) };
    let usual = profile == Profile::Usual;
    let global = if usual { random.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 1_000_000]) } else { random.pick(&[0, 0, 1]) };
    let mut base = skeleton(attributes, global, SETS, components, random);
    base.graph.normalisation = normalisation;
    let groups = categories.then(|| one_hot(&mut base, random));
    if !usual {
        hubs(&mut base, random);
    }
    base.labels = random.percent(15);
    let classes = random.pick(&[2, 2, 3]);
    let mut network = network(&base, classes, numbers, random);
    match profile {
        Profile::Usual => {}
        Profile::Lost => lost(&mut network, random),
        Profile::Cancelled => cancelled(&mut network, random),
    }
    if random.percent(50) && numbers == Numbers::Any {
        tie(&base, &mut network, random);
    }
    base.origin = format!("seed {seed}, number {number}, a described network");
    let mut case = TermCase::described(base, network)?;
    if let Some(groups) = groups {
        case.base.graph = grouped(&case.base.graph, &groups);
    }
    if case.base.labels {
        label(&mut case, random);
    }
    Ok(case)
}

/// Gives every row one attribute of each of some groups, or sometimes none; some attributes are in no group.
pub fn one_hot(base: &mut Case, random: &mut Random) -> Vec<Option<u32>> {
    let count = base.attributes();
    let kinds = 1 + random.below(3) as u32;
    let mut groups: Vec<Option<u32>> =
        (0..count).map(|_| (!random.percent(10)).then(|| random.below(kinds as usize) as u32)).collect();
    groups[0] = groups[0].or(Some(0));
    let empty = random.pick(&[0, 0, 10, 40]);
    let mut row = |_| {
        let mut own: Vec<u32> = Vec::new();
        for kind in 0..kinds {
            let members: Vec<u32> = (0..count as u32).filter(|&d| groups[d as usize] == Some(kind)).collect();
            if !members.is_empty() && !random.percent(empty) {
                own.push(random.pick(&members));
            }
        }
        own.extend((0..count as u32).filter(|&d| groups[d as usize].is_none() && random.percent(50)));
        own.sort_unstable();
        own
    };
    let rows: Vec<Vec<u32>> = (0..base.nodes()).map(&mut row).collect();
    base.graph.attributes = pattern(count, &rows);
    base.budget.way = Way::Both;
    groups
}

/// What a case for executions is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// Anything.
    Usual,
    /// Long sums of several terms in which small summands get lost beside a large one.
    Lost,
    /// Products that cancel if weights come first, and not if messages do.
    Cancelled,
}

/// Makes every component a hub with leaves, whose attributes are all there; few may be flipped.
fn hubs(base: &mut Case, random: &mut Random) {
    let count = base.components.len().min(12);
    let (mut rows, mut ranges) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let first = rows.len();
        let leaves = 4 + random.below(14);
        rows.push((1..=leaves).map(|leaf| (first + leaf) as u32).collect::<Vec<u32>>());
        rows.extend((0..leaves).map(|_| vec![first as u32]));
        ranges.push(first..rows.len());
    }
    let attributes: Vec<Vec<u32>> =
        rows.iter().map(|_| (0..base.attributes() as u32).filter(|_| random.percent(95)).collect()).collect();
    let local = rows.iter().map(|_| random.below(2) as u64).collect();
    base.graph.attributes = pattern(base.attributes(), &attributes);
    base.graph.adjacency = pattern(rows.len(), &rows);
    base.budget.local = local;
    base.components = ranges;
}

/// One operator for all; the output sums up several layers with small weights beside a bias of 1.
fn lost(network: &mut Description, random: &mut Random) {
    let last = network.layers.len() - 1;
    let passing = Passing::Named(random.pick(&["sum", "sum+self", "mean", "sum"]));
    let outputs = network.layers[last].outputs;
    let mut sources: Vec<Source> = (0..last).map(Source::Layer).collect();
    sources.push(Source::Attributes);
    for (at, layer) in network.layers.iter_mut().enumerate().take(last) {
        // Numbers around 1, whatever is read.
        for term in &mut layer.terms {
            term.weight.iter_mut().flatten().for_each(|w| *w = random.pick(&[0.0, 0.0, 0.25, 0.125]));
            term.passing = Passing::Named(if at == 0 { "identity" } else { random.pick(&["identity", "mean"]) });
        }
        layer.bias = Some((0..layer.outputs).map(|_| random.pick(&[1.0, 1.0, 0.75])).collect());
    }
    network.layers[last].terms.clear();
    for source in sources {
        let term = Term { source, passing: passing.clone(), weight: None };
        let inputs = network.inputs(&term);
        let weight = (0..inputs * outputs).map(|_| {
            let small = (1.0 - 2f64.powi(-(2 + random.below(9) as i32))) * 2f64.powi(-24);
            if random.percent(10) { 0.0 } else { small }
        });
        let term = Term { weight: Some(weight.collect()), ..term };
        network.layers[last].terms.push(term);
    }
    network.layers[last].bias = Some((0..outputs).map(|_| random.pick(&[1.0, 1.0, 0.0])).collect());
}

/// A layer above the first reads x by an average, with rows of weights that cancel.
fn cancelled(network: &mut Description, random: &mut Random) {
    let last = network.layers.len() - 1;
    let (outputs, attributes) = (network.layers[last].outputs, network.attributes);
    let big = random.pick(&[1.0, 100.0, 3000.0]);
    let mut weight = vec![0.0; attributes * outputs];
    for j in 0..outputs {
        weight[j] = big * random.pick(&[1.0, 0.75, 0.3, -0.5]);
        weight[outputs + j] = -weight[j];
    }
    let passing = Passing::Named(random.pick(&["mean", "mean+self", "gcn"]));
    network.layers[last].terms.push(Term { source: Source::Attributes, passing, weight: Some(weight) });
}

/// One number.
fn draw(style: Option<Style>, numbers: Numbers, random: &mut Random) -> f64 {
    match (style, numbers) {
        (Some(style), _) => style.draw(random),
        // A summand that is lost beside a sum of about 1, or one that is not.
        (None, _) => {
            let sign = if random.percent(85) { 1.0 } else { -1.0 };
            let small = (1.0 - 2f64.powi(-(2 + random.below(9) as i32))) * 2f64.powi(-24);
            sign * random.pick(&[1.0, 1.0, small, small, small, 2.0 * small, 64.0 * small])
        }
    }
}

/// A network of one to five layers.
pub(super) fn network(base: &Case, classes: usize, numbers: Numbers, random: &mut Random) -> Description {
    let attributes = base.attributes();
    let plain =
        [Style::Signs, Style::Integers, Style::Halves, Style::Tenths, Style::Powers, Style::Single, Style::Double];
    let style = |random: &mut Random| match numbers {
        Numbers::Any => Some(random.pick(&STYLES)),
        Numbers::Float32 => random.percent(65).then(|| random.pick(&plain)),
    };
    let same = random.percent(70).then(|| style(random));
    // Hidden layers; the profiles of executions need one.
    let count = if numbers == Numbers::Any { random.below(5) } else { 1 + random.below(4) };
    let width = 1 + random.below(3);
    let zeros = random.pick(&[0, 0, 20, 50]);
    // Few operators, so that terms with the same one are common.
    let matrices: Vec<Arc<gcnproof_files::SparseMatrix>> = match random.percent(15) && numbers == Numbers::Any {
        true => vec![Arc::new(operator(base, random))],
        false => Vec::new(),
    };
    let palette: Vec<Passing> = (0..1 + random.below(3)).map(|_| passing(&matrices, numbers, random)).collect();
    let mut layers: Vec<Layer> = Vec::new();
    for at in 0..=count {
        let last = at == count;
        let outputs = if last {
            classes
        } else if random.percent(60) {
            width
        } else {
            1 + random.below(3)
        };
        let style = same.unwrap_or_else(|| style(random));
        let mut terms = Vec::new();
        let mut sources: Vec<Source> = Vec::new();
        for _ in 0..random.pick(&[1, 1, 2, 2, 3]) {
            // Mostly the layer before; skips from any earlier one and from x.
            sources.push(match at {
                0 => Source::Attributes,
                _ if random.percent(55) => Source::Layer(at - 1),
                _ => match random.below(at + 1) {
                    0 => Source::Attributes,
                    of => Source::Layer(of - 1),
                },
            });
        }
        if last {
            // Every layer must be read by somebody.
            let read = |of: usize, layers: &[Layer]| {
                layers.iter().flat_map(|layer| &layer.terms).any(|term| term.source == Source::Layer(of))
            };
            let unread: Vec<usize> =
                (0..at).filter(|&of| !read(of, &layers) && !sources.contains(&Source::Layer(of))).collect();
            sources.extend(unread.into_iter().map(Source::Layer));
        }
        for source in sources {
            let inputs = match source {
                Source::Attributes => attributes,
                Source::Layer(of) => layers[of].outputs,
            };
            let mut weight: Vec<f64> = (0..inputs * outputs)
                .map(|_| if random.percent(zeros) { 0.0 } else { draw(style, numbers, random) })
                .collect();
            if numbers == Numbers::Float32 && random.percent(25) && inputs > 1 {
                // Rows that cancel: what one order of the products makes small, the other does not.
                let big = random.pick(&[1.0, 100.0, 3000.0]);
                weight[..outputs].iter_mut().for_each(|w| *w *= big);
                for j in 0..outputs {
                    weight[outputs + j] = -weight[j];
                }
            }
            let passes_on = source != Source::Attributes && inputs == outputs && random.percent(15);
            let passing = palette[random.below(palette.len())].clone();
            terms.push(Term { source, passing, weight: (!passes_on).then_some(weight) });
        }
        let bias = match random.below(10) {
            0 | 1 => None,
            2 => Some((0..base.nodes() * outputs).map(|_| draw(style, numbers, random)).collect()),
            _ => Some((0..outputs).map(|_| draw(style, numbers, random)).collect()),
        };
        let linear = match random.below(10) {
            _ if last => vec![true; outputs],
            0 => vec![true; outputs],
            1 | 2 => (0..outputs).map(|_| random.percent(50)).collect(),
            _ => vec![false; outputs],
        };
        layers.push(Layer { terms, bias, linear, outputs });
    }
    Description { attributes, layers }
}

/// An operator: a rule, a matrix, or a polynomial of one.
fn passing(matrices: &[Arc<gcnproof_files::SparseMatrix>], numbers: Numbers, random: &mut Random) -> Passing {
    let base = match matrices {
        [one] if random.percent(50) => Passing::Matrix(one.clone()),
        _ => Passing::Named(random.pick(&NAMES)),
    };
    if random.percent(80) {
        return base;
    }
    let signed = numbers == Numbers::Any && random.percent(40);
    let coefficients = (0..1 + random.below(3)).map(|_| {
        let sign = if signed && random.percent(50) { -1.0 } else { 1.0 };
        let number = sign * random.pick(&[0.0, 1.0, 0.5, 0.1, 0.25, 2.0]);
        // The same number in several spellings.
        let text = match random.below(3) {
            0 => format!("{number}"),
            1 => format!("{number:?}"),
            _ => format!("{number:e}"),
        };
        (number, text)
    });
    Passing::Polynomial(Box::new(base), coefficients.collect())
}

/// Chooses biases such that some values are (nearly) 0, or some classes (nearly) tied, after some flips.
pub(super) fn tie(base: &Case, network: &mut Description, random: &mut Random) {
    for at in 0..network.layers.len() {
        let outputs = network.layers[at].outputs;
        if network.layers[at].bias.as_ref().is_none_or(|bias| bias.len() > outputs) {
            continue;
        }
        let case = TermCase { base: base.clone(), network: network.clone() };
        let values = case.floats();
        for unit in 0..outputs {
            if random.percent(55) {
                continue;
            }
            let range = base.components[random.below(base.components.len())].clone();
            let flips: Vec<Flip> = (0..random.below(base.budget.global.min(3) as usize + 1))
                .map(|_| (range.start + random.below(range.len()), random.below(base.attributes())))
                .collect();
            let sums = values.sums(&range, &base.attributes_after(&range, &flips), at);
            let row = &sums[random.below(range.len()) * outputs..][..outputs];
            let last = at + 1 == case.network.layers.len();
            let wanted = if last && unit > 0 { row[0] } else { 0.0 };
            if let Some(bias) = &mut network.layers[at].bias {
                let moved = bias[unit] + (wanted - row[unit]);
                if moved.is_finite() {
                    bias[unit] = step(moved, random.pick(&[0, 0, 0, 0, 1, -1]));
                }
            }
        }
    }
}

/// Gives most nodes the class as label that floats predict, and the others any or none.
pub(super) fn label(case: &mut TermCase, random: &mut Random) {
    let network = case.floats();
    let logits = |range: &Range<usize>| network.logits(range, &case.base.attributes_after(range, &[]));
    let labels = case.base.components.iter().flat_map(|range| labels(&logits(range), case.base.classes(), random));
    case.base.graph.labels = Some(labels.collect());
}
