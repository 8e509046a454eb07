//! The bound of a leaf with prices (`FORMAT-EDGES.md` §8.4): what each open change can do to each unit, carried to the margin.

use std::collections::{BTreeMap, BTreeSet};

use super::margin::{Evaluation, sent};
use super::network::ChangeLayer;
use super::path::{ChangePath, OpenChange};
use super::sizes::Sizes;
use crate::edges::line::CarriedPrices;
use crate::edges::rule::EdgeRule;
use crate::number::{Dyadic, Interval, Stored, Up, activate, together};
use crate::verdict::Reason;
use crate::work::Meter;

/// Numbers of a node that open changes move. `base` is on the path, `all` what all changes can do together, `others` all
/// but one.
struct Moved {
    base: Vec<Interval>,
    all: Vec<Interval>,
    others: Vec<Interval>,
    /// By open change that does something: what it does to each number.
    by: BTreeMap<usize, Vec<Interval>>,
}

impl Moved {
    fn fixed(base: Vec<Interval>) -> Moved {
        let zeros = vec![Interval::ZERO; base.len()];
        Moved { base, all: zeros.clone(), others: zeros, by: BTreeMap::new() }
    }

    /// A number after any set.
    fn after_any(&self, at: usize) -> Interval {
        self.base[at].plus(self.all[at])
    }

    /// A number after a set that holds a change.
    fn after(&self, place: usize, at: usize) -> Interval {
        let own = self.by.get(&place).map_or(Interval::ZERO, |by| by[at]);
        self.base[at].plus(own.plus(self.others[at]).meet(self.all[at]))
    }

    fn column(&self, at: usize) -> Vec<Interval> {
        self.by.values().map(|by| by[at]).collect()
    }
}

/// What weights turn numbers into: by term, input and output.
struct Image {
    terms: usize,
    outputs: usize,
    weights: Vec<Interval>,
}

impl Image {
    fn of_layer(layer: &ChangeLayer) -> Image {
        let (terms, outputs) = (layer.rules.len(), layer.outputs);
        let weight = |at: usize| {
            let (row, output) = (at / outputs, at % outputs);
            layer.weight(row / layer.inputs, row % layer.inputs, output).into()
        };
        Image { terms, outputs, weights: (0..terms * layer.inputs * outputs).map(weight).collect() }
    }

    /// Of the difference of two classes.
    fn of_pair(layer: &ChangeLayer, reference: u32, class: u32) -> Image {
        let weight = |row: usize| {
            let of = |class: u32| layer.weight(row / layer.inputs, row % layer.inputs, class as usize);
            Interval::around(&(&of(reference).exact() - &of(class).exact()))
        };
        let terms = layer.rules.len();
        Image { terms, outputs: 1, weights: (0..terms * layer.inputs).map(weight).collect() }
    }

    fn width(&self) -> usize {
        self.terms * self.outputs
    }

    fn apply(&self, numbers: &[Interval]) -> Vec<Interval> {
        let mut sums = vec![Interval::ZERO; self.width()];
        let is_zero = |x: &Interval| x.lower.is_zero() && x.upper.is_zero();
        for (input, x) in numbers.iter().enumerate().filter(|(_, x)| !is_zero(x)) {
            for term in 0..self.terms {
                for output in 0..self.outputs {
                    let slot = &mut sums[term * self.outputs + output];
                    *slot = slot.plus(x.times(self.weights[(term * numbers.len() + input) * self.outputs + output]));
                }
            }
        }
        sums
    }

    /// What a node sends whose units are these.
    fn sent(&self, units: &Moved, budget: usize) -> Moved {
        let mut sent = Moved::fixed(self.apply(&units.base));
        sent.all = self.apply(&units.all);
        sent.by = units.by.iter().map(|(&place, by)| (place, self.apply(by))).collect();
        for at in 0..self.width() {
            let [all, others] = together(&sent.column(at), budget);
            sent.all[at] = sent.all[at].meet(all);
            sent.others[at] = others;
        }
        sent
    }
}

/// The bound of a class pair on a path, by prices.
///
/// # Errors
/// If prices are out of order or negative, or it takes too long.
pub fn bound(
    path: &ChangePath,
    sizes: &Sizes,
    target: u32,
    [reference, class]: [u32; 2],
    prices: &CarriedPrices,
    meter: &Meter,
) -> Result<Interval, Reason> {
    let network = sizes.network;
    let layers = &network.layers;
    let last = layers.len() - 1;
    // Nodes of which a representation is needed.
    let mut needed = vec![BTreeSet::from([target])];
    for layer in layers.iter().rev() {
        let above = &needed[needed.len() - 1];
        let mut below = above.clone();
        if layer.passes() {
            for &node in above {
                meter.spend(64 * (1 + sizes.at(node).len() as u64 + sizes.graph.degree(node) as u64))?;
                below.extend(sizes.graph.row(node));
                below.extend(sizes.at(node).iter().map(|of| of.1));
            }
        }
        needed.push(below);
    }
    needed.reverse();
    let mut units: BTreeMap<u32, Moved> = BTreeMap::new();
    for (at, layer) in layers.iter().enumerate() {
        let image = match at == last {
            true => Image::of_pair(layer, reference, class),
            false => Image::of_layer(layer),
        };
        let mut messages: BTreeMap<u32, Moved> = BTreeMap::new();
        for &node in &needed[at] {
            let moved = match units.get(&node) {
                Some(units) => {
                    let columns = (units.by.len() + 2) as u64;
                    meter.spend(4 * columns * (image.weights.len() + 8 * image.width()) as u64)?;
                    image.sent(units, sizes.budget)
                }
                None if at == last => {
                    // No hidden layer: attributes are not changed.
                    let present = network.graph.attributes.row(node as usize);
                    meter.spend(4 * (present.len() * image.terms) as u64)?;
                    let weight = |term: usize, d: u32| image.weights[term * layer.inputs + d as usize];
                    let sum = |term| present.iter().fold(Interval::ZERO, |sum, &d| sum.plus(weight(term, d)));
                    Moved::fixed((0..image.terms).map(sum).collect())
                }
                None => Moved::fixed(sent::<Interval>(network, at, node, meter)?.to_vec()),
            };
            messages.insert(node, moved);
        }
        let mut next = BTreeMap::new();
        for &node in &needed[at + 1] {
            let received = received(sizes, &layer.rules, &image, node, &messages, meter)?;
            next.insert(node, if at == last { received } else { behind(layer, node, received, sizes.budget, meter)? });
        }
        units = next;
    }
    let Some(margin) = units.remove(&target) else { return Err(Reason::Incomplete) };
    let mut evaluation = Evaluation::<Interval>::new(network, sizes.graph, meter)?;
    let logits = evaluation.sums(last, target)?;
    let base = logits[reference as usize].minus(logits[class as usize]);
    Ok(base.minus(paid(path, sizes.open, &margin, prices)?))
}

/// What all that a node receives does to it: base values, and by change. Biases are not in.
fn received(
    sizes: &Sizes,
    rules: &[EdgeRule],
    image: &Image,
    node: u32,
    messages: &BTreeMap<u32, Moved>,
    meter: &Meter,
) -> Result<Moved, Reason> {
    let (network, outputs) = (sizes.network, image.outputs);
    let passes = rules.iter().any(|rule| rule.has_edges());
    let row = if passes { sizes.graph.row(node) } else { Vec::new() };
    let degree = sizes.graph.degree(node);
    let mut sum = Moved::fixed(vec![Interval::ZERO; outputs]);
    let add = |sum: &mut Moved, entry: Stored, term: usize, of: &Moved| -> Result<(), Reason> {
        if entry.is_zero() {
            return Ok(());
        }
        meter.spend(4 * ((of.by.len() + 1) * outputs) as u64)?;
        for output in 0..outputs {
            sum.base[output] = sum.base[output].plus(of.base[term * outputs + output].scaled(entry));
        }
        for (&place, by) in &of.by {
            let slots = sum.by.entry(place).or_insert_with(|| vec![Interval::ZERO; outputs]);
            let by = &by[term * outputs..][..outputs];
            slots.iter_mut().zip(by).for_each(|(slot, x)| *slot = slot.plus(x.scaled(entry)));
        }
        Ok(())
    };
    for (term, &rule) in rules.iter().enumerate() {
        add(&mut sum, network.own_entry(rule, node, degree), term, &messages[&node])?;
        for other in row.iter().filter(|_| rule.has_edges()) {
            let there = if rule.reads_sender() { sizes.size(rule, *other, 0) } else { 1 };
            add(&mut sum, rule.entry(sizes.size(rule, node, 0), there), term, &messages[other])?;
        }
    }
    let mut charge = |place: usize, output: usize, x: Interval| {
        let slot = &mut sum.by.entry(place).or_insert_with(|| vec![Interval::ZERO; outputs])[output];
        *slot = slot.plus(x);
    };
    let signed = |place: usize, x: Interval| if sizes.inserts(place) { x } else { -x };
    // Sizes of senders.
    for (term, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_sender()) {
        for &other in &row {
            meter.spend(8 * (sizes.at(other).len() * (outputs + 2 * sizes.budget.min(1 << 20))) as u64)?;
            for &(place, _) in sizes.at(other) {
                let share = sizes.borne_by_sender(rule, node, other, place);
                for output in 0..outputs {
                    let message = messages[&other].after(place, term * outputs + output);
                    charge(place, output, signed(place, share.times(message)));
                }
            }
        }
    }
    if !passes || sizes.at(node).is_empty() {
        return Ok(sum);
    }
    // The row itself: what its size does to all entries, and the message of each change.
    let sized = rules.iter().any(|rule| rule.reads_size());
    let mut shares: BTreeMap<i64, Vec<Interval>> = BTreeMap::new();
    for shift in sizes.all_shifts(node).filter(|&shift| shift != 0 && sized) {
        meter.spend(8 * ((row.len() + 1) * rules.len() * (outputs + 2 * sizes.budget.min(1 << 20))) as u64)?;
        let mut of_shift = vec![Interval::ZERO; outputs];
        for (term, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_size()) {
            let own = sizes.borne_by_own(rule, node, shift);
            let others = row.iter().map(|&other| (other, sizes.borne_by_receiver(rule, node, shift, other)));
            for (other, share) in std::iter::once((node, own)).chain(others) {
                for (output, slot) in of_shift.iter_mut().enumerate() {
                    *slot = slot.plus(share.times(messages[&other].after_any(term * outputs + output)));
                }
            }
        }
        shares.insert(shift, of_shift);
    }
    for &(place, other) in sizes.at(node) {
        let shifts = if sized { sizes.shifts_with(node, place) } else { 0..=0 };
        meter.spend(
            8 * (rules.len() * outputs * (1 + 2 * sizes.budget.min(1 << 20)) * if sized { 3 } else { 1 }) as u64,
        )?;
        let mut worst: Vec<Option<Interval>> = vec![None; outputs];
        for shift in shifts {
            // Where the changes of the row cancel, so do their shares: any will do.
            let share = shares.get(if shift == 0 { &1 } else { &shift }).or(shares.get(&-1).filter(|_| shift == 0));
            for (output, worst) in worst.iter_mut().enumerate() {
                let mut total = share.map_or(Interval::ZERO, |share| share[output]);
                for (term, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.has_edges()) {
                    let size = sizes.size(rule, node, shift);
                    let entry = sizes.entry(rule, size, other, sizes.shifts_with(other, place));
                    total = total.plus(entry.times(messages[&other].after(place, term * outputs + output)));
                }
                *worst = Some(worst.map_or(total, |before| before.hull(total)));
            }
        }
        for (output, worst) in worst.into_iter().enumerate() {
            charge(place, output, signed(place, worst.unwrap_or(Interval::ZERO)));
        }
    }
    Ok(sum)
}

/// Units behind their activations.
fn behind(layer: &ChangeLayer, node: u32, mut z: Moved, budget: usize, meter: &Meter) -> Result<Moved, Reason> {
    meter.spend(64 * (1 + z.by.len() * z.base.len()) as u64)?;
    for output in 0..layer.outputs {
        let base = z.base[output].plus(layer.bias(node, output).into());
        let column = z.column(output);
        if layer.is_linear(output) {
            let [all, _] = together(&column, budget);
            (z.base[output], z.all[output]) = (base, all);
            continue;
        }
        let (moved, all) = activate(base, &column, budget);
        (z.base[output], z.all[output]) = (base.positive_part(), all);
        z.by.values_mut().zip(moved).for_each(|(by, moved)| by[output] = moved);
    }
    Ok(z)
}

/// What a set of changes can take from the margin at most: `μ B + Σ ν k + Σ (loss − μ − ν − ν)⁺`.
fn paid(path: &ChangePath, open: &[OpenChange], margin: &Moved, prices: &CarriedPrices) -> Result<Interval, Reason> {
    if prices.mu.0.is_negative() || prices.nu.iter().any(|of| of.1.0.is_negative()) {
        return Err(Reason::HintSign("prices"));
    }
    if !prices.nu.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return Err(Reason::HintOrder("nu"));
    }
    let count = |count: usize| Interval::around(&Dyadic::from(count));
    let mu = Interval::around(&prices.mu.0);
    let nu: BTreeMap<u32, Interval> = prices.nu.iter().map(|(node, x)| (*node, Interval::around(&x.0))).collect();
    let mut sum = mu.times(count(path.left()));
    for (&node, price) in &nu {
        // A node at which nothing counts has nothing to pay for, but may be named.
        sum = sum.plus(price.times(count(path.checked_cap(node))));
    }
    for (&place, by) in &margin.by {
        let loss = Interval { lower: -Up::ZERO, upper: -by[0].lower };
        let mut rest = Interval { lower: loss.lower, upper: loss.upper }.minus(mu);
        for node in path.counted(open[place].edge) {
            rest = nu.get(&node).map_or(rest, |price| rest.minus(*price));
        }
        sum = sum.plus(Interval { lower: -Up::ZERO, upper: rest.upper.positive_part() });
    }
    Ok(sum)
}
