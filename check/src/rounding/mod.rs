//! What rounding may do to a margin of the network as it runs (`FORMAT.md` §9), in dyadic integers: over the layers
//! that the model describes.

mod changes;
mod layer;
mod usual;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use changes::ChangeCounts;
use gcnproof_files::{Described, DescribedLayer, DescribedTerm};
use layer::{Facts, SummedRow};
pub use usual::usual_error;

use crate::format::Deployed;
use crate::number::Dyadic;
use crate::statement::{
    Budget, Decided, DescribedWeights, Link, Network, attributes, bias, bias_sizes, pairs, require_deployed,
};
use crate::verdict::Reason;

/// Errors are rounded up to multiples of this power of two, so that numbers stay short.
const GRID: i64 = -240;

/// A unit: its value without flips, how far flips move it, and its activation: how large and how wrong it may be,
/// computed.
#[derive(Clone, Default)]
struct ComputedUnit {
    value: Dyadic,
    reach: Dyadic,
    size: Dyadic,
    error: Dyadic,
}

/// The units of a row; none where a number may leave the range.
type KnownRow = Option<Arc<Vec<ComputedUnit>>>;

/// The largest steps of a unit, falling, and the sums of the first of them.
type Falling = (Vec<Dyadic>, Vec<Dyadic>);

/// Error bounds of a statement about the network as it runs.
pub struct Rounding<'a, B = Budget<'a>> {
    network: &'a Network<'a>,
    budget: &'a B,
    /// No attribute is larger, whatever is changed.
    largest: Arc<Dyadic>,
    described: Arc<Described>,
    /// By described layer.
    facts: Arc<Vec<Facts>>,
    /// By described layer, term and unit; empty for terms that do not read the attributes.
    falling: Arc<Vec<Vec<Vec<Falling>>>>,
    /// Where these flips are made and no others.
    made: Option<Decided>,
    /// Rows that were asked for, by described layer and node; none where a number may leave the range.
    rows: Mutex<HashMap<(usize, u32), KnownRow>>,
}

/// What a row of a layer receives.
struct Received {
    /// By term and input, `Σ_n A H` of terms that read layers, with errors, sizes and reaches.
    units: Vec<Vec<ComputedUnit>>,
    /// By unit, what the attributes add to its value and to the magnitude of its sum.
    attributes: Vec<(Dyadic, Dyadic)>,
    /// By term that reads attributes, the largest entry at a node that may be flipped; where rows are divided, times
    /// the largest quotient.
    farthest: Vec<Dyadic>,
    /// By unit, what other quotients of the attributes that rows have may change.
    rescaled: Vec<Dyadic>,
    /// Nodes whose attributes are read and may be flipped, and the flips that they allow.
    open: usize,
    flips: usize,
    row: SummedRow,
}

/// What is summed into a unit.
struct Summed {
    value: Dyadic,
    moved: Dyadic,
    wrong: Dyadic,
}

fn sum(numbers: impl Iterator<Item = Dyadic>) -> Dyadic {
    numbers.fold(Dyadic::ZERO, |sum, x| &sum + &x)
}

impl<'a, B: ChangeCounts> Rounding<'a, B> {
    /// Refuses a header whose operator errors are not one number for each term, and a model that is not what it
    /// describes.
    pub fn new(network: &'a Network<'a>, budget: &'a B, deployed: &Deployed) -> Result<Rounding<'a, B>, Reason> {
        let described = require_deployed(network, deployed)?;
        let (facts, products) = (described.layers.iter(), budget.products(network));
        let facts = facts.map(|layer| Facts::new(network, &described, layer, deployed, products)).collect();
        let nodes = network.graph.attributes.rows as u32;
        let most = (0..nodes).map(|n| budget.local(n)).max().unwrap_or(0).min(budget.global());
        let column = |term: DescribedWeights, unit: usize| {
            let mut sizes = budget.steps(network, &term, unit);
            sizes.sort_by(|x, y| y.cmp(x));
            sizes.truncate(most.saturating_add(1));
            let mut sums = vec![Dyadic::ZERO];
            sizes.iter().for_each(|size| sums.push(&sums[sums.len() - 1] + size));
            (sizes, sums)
        };
        let of_layer = |layer: &DescribedLayer| {
            let of_term = |of: &DescribedTerm| {
                let units = if of.source.is_none() { layer.outputs } else { 0 };
                (0..units).map(|unit| column(DescribedWeights::new(network, layer, of), unit)).collect()
            };
            layer.terms.iter().map(of_term).collect()
        };
        let falling = Arc::new(described.layers.iter().map(of_layer).collect());
        let (described, facts, largest) = (Arc::new(described), Arc::new(facts), Arc::new(budget.largest(network)));
        Ok(Rounding { network, budget, largest, described, facts, falling, made: None, rows: Mutex::default() })
    }

    /// The same after some flips, and without any others.
    pub fn after(&self, flips: &Decided) -> Rounding<'a, B> {
        let (facts, falling, described) = (self.facts.clone(), self.falling.clone(), self.described.clone());
        let (made, largest) = (Some(flips.clone()), self.largest.clone());
        Rounding { made, largest, described, facts, falling, rows: Mutex::default(), ..*self }
    }

    /// The attributes of a node that are not 0, and what they are; none: 1.
    fn attributes(&self, node: u32) -> Vec<(u32, Option<Dyadic>)> {
        let mut present = self.budget.row(self.network, node, self.made.as_ref());
        if self.budget.divides(self.network) {
            let scale = self.network.scale(present.len());
            present.iter_mut().for_each(|(_, x)| *x = Some(scale.clone()));
        }
        present
    }

    /// Where rows are divided: the largest quotient of a row after flips, and how far quotients may be from what they
    /// are.
    fn scales(&self, node: u32) -> Option<[Dyadic; 2]> {
        let (network, flips) = (self.network, self.local(node).min(self.budget.global()));
        let count = network.graph.attributes.row(node as usize).len();
        if !self.budget.divides(network) || flips == 0 {
            return None;
        }
        let [added, removed] = [self.budget.adds(), self.budget.removes()].map(|may| if may { flips } else { 0 });
        let (own, least) = (network.scale(count), network.scale(count.saturating_add(added)));
        let largest = network.scale(count - removed.min(count));
        let change = (&largest - &own).max(&own - &least);
        Some([largest, change])
    }

    /// Flips that are still allowed at a node.
    fn local(&self, node: u32) -> usize {
        if self.made.is_some() { 0 } else { self.budget.local(node) }
    }

    /// By how much a computed margin may differ from the exact one, at most; none where nothing is known.
    pub fn margin_error(&self, node: u32, reference: u32, class: u32) -> Option<Dyadic> {
        let (last, pair) = (self.described.layers.len() - 1, [reference as usize, class as usize]);
        let layer = &self.described.layers[last];
        let chain = &self.network.layers[layer.layer];
        let received = self.receive(last, node)?;
        let sizes = bias_sizes(chain, layer, node);
        let relative = self.facts[last].relative(&received.row, bias(chain, layer, node), &sizes)?;
        let (mut magnitude, mut inherited) = (sum(pair.iter().map(|&unit| sizes[unit].clone())), Dyadic::ZERO);
        for (of, units) in layer.terms.iter().zip(&received.units) {
            let term = DescribedWeights::new(self.network, layer, of);
            for (input, unit) in units.iter().enumerate() {
                let [w, v] = pair.map(|unit| term.weight(input, unit));
                inherited += &(&unit.error * &(w - v).size());
                magnitude += &(&unit.size * &sum(pair.iter().map(|&unit| term.size(input, unit))));
            }
        }
        for &unit in &pair {
            magnitude += &received.attributes[unit].1;
            magnitude += &self.raised(last, &received, unit);
        }
        let underflow = self.facts[last].underflow(&received.row);
        Some(&(&inherited + &(&relative * &magnitude)) + &(&underflow + &underflow))
    }

    /// The units of a node in a described layer that is not the last.
    fn row(&self, at: usize, node: u32) -> Option<Arc<Vec<ComputedUnit>>> {
        let known = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = known().get(&(at, node)) {
            return row.clone();
        }
        let row = self.hidden(at, node).map(Arc::new);
        known().insert((at, node), row.clone());
        row
    }

    /// The same, computed.
    fn hidden(&self, at: usize, m: u32) -> Option<Vec<ComputedUnit>> {
        let layer = &self.described.layers[at];
        let chain = &self.network.layers[layer.layer];
        let received = self.receive(at, m)?;
        let (biases, sizes) = (bias(chain, layer, m), bias_sizes(chain, layer, m));
        let relative = self.facts[at].relative(&received.row, biases, &sizes)?;
        let underflow = self.facts[at].underflow(&received.row);
        let unit = |j: usize| {
            let (mut value, mut magnitude) = (biases[j].clone(), sizes[j].clone());
            let (mut inherited, mut moved) = (Dyadic::ZERO, self.moved(at, &received, j));
            value += &received.attributes[j].0;
            magnitude += &received.attributes[j].1;
            magnitude += &self.raised(at, &received, j);
            for (of, units) in layer.terms.iter().zip(&received.units) {
                let term = DescribedWeights::new(self.network, layer, of);
                for (input, unit) in units.iter().enumerate() {
                    let w = term.weight(input, j);
                    value += &(&unit.value * w);
                    inherited += &(&unit.error * &w.size());
                    magnitude += &(&unit.size * &term.size(input, j));
                    moved += &(&unit.reach * &w.size());
                }
            }
            let wrong = &(&inherited + &(&relative * &magnitude)) + &underflow;
            activation(Summed { value, moved, wrong }, self.is_linear(at, j))
        };
        Some((0..layer.outputs).map(unit).collect())
    }

    /// Has a unit of a hidden layer no activation?
    fn is_linear(&self, at: usize, unit: usize) -> bool {
        let layer = &self.described.layers[at];
        self.network.is_linear(layer.layer + 2, layer.first + unit)
    }

    /// By how much flips move a unit by way of the attributes that its own layer reads.
    fn moved(&self, at: usize, received: &Received, unit: usize) -> Dyadic {
        let flips = received.flips.min(self.budget.global());
        if received.open == 0 {
            return Dyadic::ZERO;
        }
        let (whole, rest) = (flips / received.open, flips % received.open);
        let term = |(falling, a): (&Vec<Falling>, &Dyadic)| {
            let Some((sizes, sums)) = falling.get(unit) else { return Dyadic::ZERO };
            let next = sizes.get(whole).cloned().unwrap_or_default();
            let all = &Dyadic::from(received.open) * &sums[whole.min(sizes.len())];
            a * &(&all + &(&Dyadic::from(rest) * &next))
        };
        &sum(self.falling[at].iter().zip(&received.farthest).map(term)) + &received.rescaled[unit]
    }

    /// By how much flips raise the magnitude of a unit's sum in this way: not at all if they only remove, and rows are
    /// not divided.
    fn raised(&self, at: usize, received: &Received, unit: usize) -> Dyadic {
        if self.budget.adds() || self.budget.divides(self.network) {
            self.moved(at, received, unit)
        } else {
            Dyadic::ZERO
        }
    }

    /// What a node receives in a layer.
    fn receive(&self, at: usize, m: u32) -> Option<Received> {
        let (network, layer, facts) = (self.network, &self.described.layers[at], &self.facts[at]);
        let count = layer.terms.len();
        let width = |source: Option<usize>| source.map_or(0, |source| self.described.layers[source].outputs);
        let reads = layer.terms.iter().any(|of| of.source.is_none());
        let mut received = Received {
            units: layer.terms.iter().map(|of| vec![ComputedUnit::default(); width(of.source)]).collect(),
            attributes: vec![(Dyadic::ZERO, Dyadic::ZERO); layer.outputs],
            farthest: vec![Dyadic::ZERO; count],
            rescaled: vec![Dyadic::ZERO; layer.outputs],
            open: 0,
            flips: 0,
            row: SummedRow::new(count, if reads { (*self.largest).clone() } else { Dyadic::ZERO }),
        };
        let mut seen = vec![BTreeSet::new(); count];
        for pair in pairs(network.layers[layer.layer].links.row(m)) {
            let (n, local) = (pair[0].at, self.local(pair[0].at));
            let mut read = false;
            for (k, of) in layer.terms.iter().enumerate() {
                let entry = |link: &&Link| link.term as usize == of.operator && !link.entry.is_zero();
                let Some(a) = pair.iter().find(entry).map(|link| link.entry.exact()) else { continue };
                facts.count(&mut received.row, k, &a);
                match of.source {
                    Some(source) => self.read(&mut received, k, source, n, &a)?,
                    None => {
                        read = true;
                        let scales = self.scales(n);
                        if local > 0 {
                            let largest = scales.as_ref().map_or_else(|| a.size(), |[largest, _]| &a.size() * largest);
                            received.farthest[k] = received.farthest[k].clone().max(largest);
                        }
                        let term = DescribedWeights::new(network, layer, of);
                        let mut sent = vec![(Dyadic::ZERO, Dyadic::ZERO); layer.outputs];
                        for (d, x) in self.attributes(n) {
                            seen[k].insert(d);
                            for (j, (value, magnitude)) in sent.iter_mut().enumerate() {
                                let (w, size) = (term.weight(d as usize, j), term.size(d as usize, j));
                                match &x {
                                    None => (*value += w, *magnitude += &size),
                                    Some(x) => (*value += &(x * w), *magnitude += &(&x.size() * &size)),
                                };
                            }
                        }
                        for (sum, (value, magnitude)) in received.attributes.iter_mut().zip(&sent) {
                            sum.0 += &(&a * value);
                            sum.1 += &(&a.size() * magnitude);
                        }
                        let Some([_, change]) = scales else { continue };
                        for (j, sum) in received.rescaled.iter_mut().enumerate() {
                            let sizes = self.attributes(n).into_iter().map(|(d, _)| term.size(d as usize, j));
                            *sum += &(&(&a.size() * &change) * &self::sum(sizes));
                        }
                    }
                }
            }
            if read {
                received.open += usize::from(local > 0);
                received.flips = received.flips.saturating_add(local);
            }
        }
        let added = if self.budget.adds() { received.flips.min(self.budget.global()) } else { 0 };
        for (k, of) in layer.terms.iter().enumerate() {
            received.row.inputs[k] = match of.source {
                None => seen[k].len().saturating_add(added).min(attributes(network)),
                Some(_) => received.units[k].iter().filter(|unit| !unit.size.is_zero()).count(),
            };
        }
        Some(received)
    }

    /// Adds what a term reads of a node in an earlier layer.
    fn read(&self, received: &mut Received, term: usize, source: usize, n: u32, a: &Dyadic) -> Option<()> {
        let below = self.row(source, n)?;
        for (i, (sum, unit)) in received.units[term].iter_mut().zip(below.iter()).enumerate() {
            let active = if self.is_linear(source, i) { unit.value.clone() } else { unit.value.positive_part() };
            sum.value += &(a * &active);
            sum.reach += &(&a.size() * &unit.reach);
            sum.size += &(&a.size() * &unit.size);
            sum.error += &(&a.size() * &unit.error);
            received.row.size = received.row.size.clone().max(unit.size.clone());
        }
        Some(())
    }
}

/// A unit whose activation is surely zero, computed or exact, is not wrong.
fn activation(Summed { value, moved, wrong }: Summed, linear: bool) -> ComputedUnit {
    let (highest, lowest) = (&value + &moved, &value - &moved);
    let up = |x: Dyadic| x.rounded_up(GRID);
    if !linear && (&highest + &wrong).is_negative() {
        return ComputedUnit { value, reach: Dyadic::ZERO, size: Dyadic::ZERO, error: Dyadic::ZERO };
    }
    let size = if linear { highest.size().max(lowest.size()) } else { highest.positive_part() };
    let reach = if !linear && highest.is_negative() { Dyadic::ZERO } else { moved };
    ComputedUnit { value, reach: up(reach), size: up(&size + &wrong), error: up(wrong) }
}
