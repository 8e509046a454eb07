//! What rounding may do to a margin of the network as it runs (`FORMAT.md` §9), in dyadic integers.

mod layer;
mod usual;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use layer::{Counts, Facts, power};
pub use usual::usual_error;

use crate::core::dyadic::Dyadic;
use crate::format::Deployed;
use crate::reason::Reason;
use crate::statement::{Budget, Decided, Network, pairs};

/// Errors are rounded up to multiples of this power of two, so that numbers stay short.
const GRID: i64 = -240;

/// A unit: its value without flips, how far flips move it, and its activation: how large and how wrong it may be, computed.
#[derive(Clone)]
struct Unit {
    value: Dyadic,
    reach: Dyadic,
    size: Dyadic,
    error: Dyadic,
}

/// The units of a row; none where a number may leave the range.
type Known = Option<Arc<Vec<Unit>>>;

/// Error bounds of a statement about the network as it runs.
pub struct Rounding<'a> {
    network: &'a Network<'a>,
    budget: &'a Budget<'a>,
    facts: Arc<Vec<Facts>>,
    /// For every unit of representation 2, of one term after the other: the largest sizes of weights, falling, and the sums of the first of them.
    falling: Arc<Vec<(Vec<Dyadic>, Vec<Dyadic>)>>,
    /// Where these flips are made and no others.
    made: Option<Decided>,
    /// Rows that were asked for, by representation and node; none where a number may leave the range.
    rows: Mutex<HashMap<(usize, u32), Known>>,
}

fn sum(numbers: impl Iterator<Item = Dyadic>) -> Dyadic {
    numbers.fold(Dyadic::ZERO, |sum, x| &sum + &x)
}

impl<'a> Rounding<'a> {
    /// Refuses a header whose operator errors are not one number for each term.
    pub fn new(network: &'a Network<'a>, budget: &'a Budget<'a>, deployed: &Deployed) -> Result<Rounding<'a>, Reason> {
        let wrong = |problem: &str| Err(Reason::Header(format!("deployed: {problem}")));
        if !(2..=53).contains(&deployed.precision) {
            return wrong("the precision is not between 2 and 53");
        }
        let stated = deployed.operator_error.iter().map(Vec::len);
        if !stated.eq(network.terms[1..].iter().copied()) {
            return wrong("the operator errors are not one number for each term of each layer");
        }
        let nodes = network.graph.attributes.rows as u32;
        let facts = network.layers.iter().zip(&deployed.operator_error);
        let facts = Arc::new(facts.map(|(layer, errors)| Facts::new(layer, nodes, deployed, errors)).collect());
        let most = (0..nodes).map(|n| budget.local(n)).max().unwrap_or(0).min(budget.global);
        let column = |unit: usize| {
            let weights = network.layers[0].weight.iter().enumerate().filter(|(d, _)| !budget.is_frozen(*d as u32));
            let mut sizes: Vec<Dyadic> = weights.map(|(_, row)| row[unit].size()).collect();
            sizes.sort_by(|x, y| y.cmp(x));
            sizes.truncate(most + 1);
            let mut sums = vec![Dyadic::ZERO];
            sizes.iter().for_each(|size| sums.push(&sums[sums.len() - 1] + size));
            (sizes, sums)
        };
        let falling = Arc::new((0..network.terms[1] * network.widths[2]).map(column).collect());
        Ok(Rounding { network, budget, facts, falling, made: None, rows: Mutex::default() })
    }

    /// The same after some flips, and without any others.
    pub fn after(&self, flips: &Decided) -> Rounding<'a> {
        let (facts, falling) = (self.facts.clone(), self.falling.clone());
        Rounding { made: Some(flips.clone()), facts, falling, rows: Mutex::default(), ..*self }
    }

    /// The attributes of a node.
    fn attributes(&self, node: u32) -> Vec<u32> {
        let present = self.network.graph.attributes.row(node as usize);
        let Some(made) = &self.made else { return present.to_vec() };
        let kept = present.iter().copied().filter(|&d| !made.flipped_in(node).any(|flip| flip == d));
        kept.chain(made.flipped_in(node).filter(|&d| !self.network.has(node, d))).collect()
    }

    /// By how much a computed margin may differ from the exact one, at most; none where nothing is known.
    pub fn margin_error(&self, node: u32, reference: u32, class: u32) -> Option<Dyadic> {
        let (l, pair) = (self.network.depth(), [reference as usize, class as usize]);
        if l == 2 {
            let row = self.row(2, node)?;
            return Some(&row[pair[0]].error + &row[pair[1]].error);
        }
        let layer = &self.network.layers[l - 2];
        let (received, counts, size) = self.receive(l, node)?;
        let relative = self.facts[l - 2].relative(&counts, 2)?;
        let mut magnitude = sum(pair.iter().map(|&unit| layer.bias(node)[unit].size()));
        let mut inherited = Dyadic::ZERO;
        let width = self.network.widths[l];
        for (at, unit) in received.iter().enumerate() {
            let (term, input) = (at / self.network.widths[l - 1], at % self.network.widths[l - 1]);
            let [w, v] = pair.map(|unit| &layer.weight[input][term * width + unit]);
            inherited += &(&unit.error * &(w - v).size());
            magnitude += &(&unit.size * &(&w.size() + &v.size()));
        }
        let underflow = self.facts[l - 2].underflow(&counts, &size);
        let underflow = &underflow + &underflow;
        Some(&(&inherited + &(&relative * &magnitude)) + &underflow)
    }

    /// The units of a node.
    fn row(&self, l: usize, node: u32) -> Option<Arc<Vec<Unit>>> {
        let known = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = known().get(&(l, node)) {
            return row.clone();
        }
        let row = if l == 2 { self.first(node) } else { self.hidden(l, node) }.map(Arc::new);
        known().insert((l, node), row.clone());
        row
    }

    /// Representation 2.
    fn first(&self, m: u32) -> Option<Vec<Unit>> {
        let (network, layer) = (self.network, &self.network.layers[0]);
        let (width, terms) = (network.widths[2], network.terms[1]);
        let mut counts = Counts { inputs: vec![0; terms], entries: vec![0; terms] };
        let mut seen = vec![BTreeSet::new(); terms];
        let mut farthest = vec![Dyadic::ZERO; terms];
        let (mut flips, mut open) = (0usize, 0usize);
        let mut value = layer.bias(m).to_vec();
        let mut magnitude: Vec<Dyadic> = value.iter().map(Dyadic::size).collect();
        for pair in pairs(layer.links.row(m)) {
            let n = pair[0].at;
            let local = if self.made.is_some() { 0 } else { self.budget.local(n) };
            flips = flips.saturating_add(local);
            open += usize::from(local > 0);
            for link in pair.iter().filter(|link| !link.entry.is_zero()) {
                let (a, k) = (link.entry.exact(), link.term as usize);
                counts.entries[k] += 1;
                if local > 0 {
                    farthest[k] = farthest[k].clone().max(a.size());
                }
                let mut sent = vec![(Dyadic::ZERO, Dyadic::ZERO); width];
                for d in self.attributes(n) {
                    seen[k].insert(d);
                    let weights = &layer.weight[d as usize][link.part(width)];
                    sent.iter_mut().zip(weights).for_each(|(sent, w)| {
                        sent.0 += w;
                        sent.1 += &w.size();
                    });
                }
                for (j, (x, size)) in sent.iter().enumerate() {
                    value[j] += &(&a * x);
                    magnitude[j] += &(&a.size() * size);
                }
            }
        }
        let flips = flips.min(self.budget.global);
        let added = if self.budget.adds() { flips } else { 0 };
        for (inputs, seen) in counts.inputs.iter_mut().zip(&seen) {
            *inputs = seen.len().saturating_add(added).min(layer.weight.len());
        }
        let one = power(0);
        self.facts[0].stays_in_range(&counts, &one)?;
        let relative = self.facts[0].relative(&counts, 1)?;
        let underflow = self.facts[0].underflow(&counts, &one);
        let unit = |j: usize| {
            let moved = sum(farthest.iter().enumerate().map(|(k, a)| a * &self.changes(k * width + j, open, flips)));
            let most = if added > 0 { &magnitude[j] + &moved } else { magnitude[j].clone() };
            let wrong = &(&relative * &most) + &underflow;
            let linear = network.depth() == 2 || network.is_linear(2, j);
            activation(value[j].clone(), moved, wrong, linear)
        };
        Some((0..width).map(unit).collect())
    }

    /// What so many flips at so many nodes change at most, in a unit of layer 2 that sees them with entries of size 1.
    fn changes(&self, unit: usize, nodes: usize, flips: usize) -> Dyadic {
        if nodes == 0 {
            return Dyadic::ZERO;
        }
        let (sizes, sums) = &self.falling[unit];
        let (whole, rest) = (flips / nodes, flips % nodes);
        let next = sizes.get(whole).cloned().unwrap_or_default();
        &(&Dyadic::from(nodes) * &sums[whole.min(sizes.len())]) + &(&Dyadic::from(rest) * &next)
    }

    /// Representations above 2.
    fn hidden(&self, l: usize, m: u32) -> Option<Vec<Unit>> {
        let (network, layer) = (self.network, &self.network.layers[l - 2]);
        let (received, counts, size) = self.receive(l, m)?;
        let relative = self.facts[l - 2].relative(&counts, 2)?;
        let underflow = self.facts[l - 2].underflow(&counts, &size);
        let (inputs, width) = (network.widths[l - 1], network.widths[l]);
        let unit = |j: usize| {
            let bias = &layer.bias(m)[j];
            let (mut value, mut magnitude) = (bias.clone(), bias.size());
            let (mut inherited, mut moved) = (Dyadic::ZERO, Dyadic::ZERO);
            for (at, unit) in received.iter().enumerate() {
                let w = &layer.weight[at % inputs][at / inputs * width + j];
                value += &(&unit.value * w);
                inherited += &(&unit.error * &w.size());
                magnitude += &(&unit.size * &w.size());
                moved += &(&unit.reach * &w.size());
            }
            let wrong = &(&inherited + &(&relative * &magnitude)) + &underflow;
            activation(value, moved, wrong, network.is_linear(l, j))
        };
        Some((0..width).map(unit).collect())
    }

    /// `Σ_n A_k H` of all terms one after the other, with errors, sizes and reaches; and the largest size of any input.
    fn receive(&self, l: usize, m: u32) -> Option<(Vec<Unit>, Counts, Dyadic)> {
        let (terms, inputs) = (self.network.terms[l - 1], self.network.widths[l - 1]);
        let zero = || Dyadic::ZERO;
        let unit = Unit { value: zero(), reach: zero(), size: zero(), error: zero() };
        let mut received = vec![unit; terms * inputs];
        let (mut counts, mut size) = (Counts { inputs: vec![0; terms], entries: vec![0; terms] }, Dyadic::ZERO);
        for link in self.network.layers[l - 2].links.row(m).iter().filter(|link| !link.entry.is_zero()) {
            counts.entries[link.term as usize] += 1;
            let (a, below) = (link.entry.exact(), self.row(l - 1, link.at)?);
            for (i, (sum, unit)) in received[link.part(inputs)].iter_mut().zip(below.iter()).enumerate() {
                let linear = self.network.is_linear(l - 1, i);
                let active = if linear { unit.value.clone() } else { unit.value.positive_part() };
                sum.value += &(&a * &active);
                sum.reach += &(&a.size() * &unit.reach);
                sum.size += &(&a.size() * &unit.size);
                sum.error += &(&a.size() * &unit.error);
                size = size.max(unit.size.clone());
            }
        }
        for (k, count) in counts.inputs.iter_mut().enumerate() {
            *count = received[k * inputs..][..inputs].iter().filter(|unit| !unit.size.is_zero()).count();
        }
        self.facts[l - 2].stays_in_range(&counts, &size)?;
        Some((received, counts, size))
    }
}

/// A unit whose activation is surely zero, computed or exact, is not wrong.
fn activation(value: Dyadic, moved: Dyadic, wrong: Dyadic, linear: bool) -> Unit {
    let (highest, lowest) = (&value + &moved, &value - &moved);
    let up = |x: Dyadic| x.rounded_up(GRID);
    if !linear && (&highest + &wrong).is_negative() {
        return Unit { value, reach: Dyadic::ZERO, size: Dyadic::ZERO, error: Dyadic::ZERO };
    }
    let size = if linear { highest.size().max(lowest.size()) } else { highest.positive_part() };
    let reach = if !linear && highest.is_negative() { Dyadic::ZERO } else { moved };
    Unit { value, reach: up(reach), size: up(&size + &wrong), error: up(wrong) }
}
