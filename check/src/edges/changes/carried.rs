//! The bound of a leaf with prices (`FORMAT-EDGES.md` §8.4): what each open change can do to each unit, carried to the
//! margin.

use std::collections::{BTreeMap, BTreeSet};

use super::flipped::FlipMoves;
use super::lists::{Lists, linked};
use super::margin::Evaluation;
use super::moved::{Image, Moved, UnitBend, behind};
use super::path::{ChangePath, OpenChange};
use super::sizes::Sizes;
use crate::edges::line::CarriedPrices;
use crate::edges::rule::EdgeRule;
use crate::number::{Dyadic, Interval, Stored, Up};
use crate::verdict::Reason;
use crate::work::Meter;

/// What is carried about all nodes that are needed, by representation; of attributes nothing.
struct Levels<'a> {
    sizes: &'a Sizes<'a>,
    meter: &'a Meter<'a>,
    target: u32,
    units: Vec<BTreeMap<u32, Moved>>,
    /// Where nodes that insertions link to the target are found by lists.
    lists: Option<(&'a Lists, &'a ChangePath<'a>)>,
    flips: Option<&'a FlipMoves<'a>>,
}

/// What counts beside the open changes that are named.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// Insertions away from the target, by lists of messages.
    pub lists: Option<&'a Lists>,
    /// Flips of attributes: what is carried holds whatever is flipped.
    pub flips: Option<&'a FlipMoves<'a>>,
}

/// The bound of a class pair on a path, by prices; with lists if the leaf has them.
///
/// # Errors
/// If prices are out of order or negative, or it takes too long.
pub fn bound<'a>(
    path: &'a ChangePath<'a>,
    sizes: &'a Sizes<'a>,
    target: u32,
    [reference, class]: [u32; 2],
    prices: &CarriedPrices,
    beside: Beside<'a>,
    meter: &'a Meter<'a>,
) -> Result<Interval, Reason> {
    let network = sizes.network;
    let last = network.layers.len() - 1;
    let effects = effects(path, sizes, target, [reference, class], prices.back, beside, meter)?;
    let mut evaluation = Evaluation::<Interval>::new(network, sizes.graph, meter)?;
    let logits = evaluation.sums(last, target)?;
    let base = logits[reference as usize].minus(logits[class as usize]);
    Ok(base.minus(paid(path, sizes.open, &effects, prices)?))
}

/// By open change: not above what it does to the margin, in the sense of all sets.
pub type Effects = BTreeMap<usize, Interval>;

/// What each open change does to the margin of a class pair, handed back from there or not.
///
/// # Errors
/// If it takes too long.
pub fn effects<'a>(
    path: &'a ChangePath<'a>,
    sizes: &'a Sizes<'a>,
    target: u32,
    [reference, class]: [u32; 2],
    back: bool,
    beside: Beside<'a>,
    meter: &'a Meter<'a>,
) -> Result<Effects, Reason> {
    let layers = &sizes.network.layers;
    let lists = beside.lists.map(|lists| (lists, path));
    let levels = Levels::new(sizes, target, lists, beside.flips, meter)?;
    let head = Image::of_pair(&layers[layers.len() - 1], reference, class);
    if back { levels.back(head) } else { levels.forward(head) }
}

impl<'a> Levels<'a> {
    fn new(
        sizes: &'a Sizes<'a>,
        target: u32,
        lists: Option<(&'a Lists, &'a ChangePath<'a>)>,
        flips: Option<&'a FlipMoves<'a>>,
        meter: &'a Meter<'a>,
    ) -> Result<Levels<'a>, Reason> {
        let layers = &sizes.network.layers;
        // Nodes of which a representation is needed, from the last to the first.
        let mut needed = vec![BTreeSet::from([target])];
        for layer in layers.iter().rev() {
            let above = &needed[needed.len() - 1];
            let mut below = above.clone();
            if layer.passes() {
                for &node in above {
                    meter.spend(64 * (1 + sizes.at(node).len() as u64 + sizes.graph.degree(node) as u64))?;
                    below.extend(sizes.graph.row(node));
                    // What is linked to the target is not carried, but found by lists.
                    let carried = lists.is_none() || needed.len() > 1;
                    below.extend(sizes.at(node).iter().map(|of| of.1).filter(|_| carried));
                }
            }
            for (&node, &rule) in above.iter().flat_map(|node| layer.rules.iter().map(move |rule| (node, rule))) {
                let nodes = sizes.network.pooled(rule, node).0;
                meter.spend(64 * nodes.len() as u64)?;
                below.extend(nodes);
            }
            needed.push(below);
        }
        needed.reverse();
        let mut levels = Levels { sizes, meter, target, units: vec![BTreeMap::new()], lists, flips };
        for (at, layer) in layers.iter().enumerate().take(layers.len() - 1) {
            let image = Image::of_layer(layer);
            let messages = levels.messages(at, &needed[at], &image)?;
            let mut next = BTreeMap::new();
            for &node in &needed[at + 1] {
                let mut received = received(sizes, &layer.rules, image.outputs, node, &messages, true, meter)?;
                if let Some(flips) = flips.filter(|_| at == 0) {
                    // `Q` flips in all say more than as many at every sender.
                    received.base = flips.received(sizes, node, meter)?;
                }
                next.insert(node, behind(layer, node, received, sizes.budget, meter)?);
            }
            levels.units.push(next);
        }
        Ok(levels)
    }

    /// What nodes send through weights of a layer.
    fn messages(&self, at: usize, nodes: &BTreeSet<u32>, image: &Image) -> Result<BTreeMap<u32, Moved>, Reason> {
        let (network, meter) = (self.sizes.network, self.meter);
        let mut messages: BTreeMap<u32, Moved> = BTreeMap::new();
        for &node in nodes {
            let moved = match self.units[at].get(&node) {
                Some(units) => {
                    let columns = (units.by.len() + 2) as u64;
                    meter.spend(4 * columns * (image.weights.len() + 8 * image.width()) as u64)?;
                    image.sent(units, self.sizes.budget)
                }
                None if at > 0 => {
                    let Some((lists, path)) = self.lists else { return Err(Reason::Incomplete) };
                    Moved::within(linked(self.sizes, path, lists, [self.target, node], image, meter)?)
                }
                None => {
                    // The first layer: no change of an edge moves attributes.
                    let present = network.graph.attributes.row(node as usize);
                    let divided = network.graph.normalisation;
                    let entry = Stored::new(divided.entry(present.len()));
                    meter.spend(4 * (present.len() * image.width()) as u64)?;
                    let (inputs, outputs) = (network.layers[at].inputs, image.outputs);
                    let sum = |number: usize| {
                        let (term, output) = (number / outputs, number % outputs);
                        let weight = |&d: &u32| image.weights[(term * inputs + d as usize) * outputs + output];
                        let sum = present.iter().map(weight).fold(Interval::ZERO, Interval::plus);
                        if divided.is_some() { sum.scaled(entry) } else { sum }
                    };
                    let clean = (0..image.width()).map(sum);
                    let base = match self.flips {
                        None => clean.collect(),
                        Some(flips) => {
                            // Without a hidden layer these are no weights of a layer, but differences of two classes.
                            let hidden = network.layers.len() > 1;
                            let moved = if hidden {
                                flips.sent(node, meter)?
                            } else {
                                flips.sent_through(node, image, meter)?
                            };
                            clean.zip(moved).map(|(x, moved)| x.plus(moved)).collect()
                        }
                    };
                    Moved::fixed(base)
                }
            };
            messages.insert(node, moved);
        }
        Ok(messages)
    }

    /// Who may send to a node in a layer, itself among them.
    fn senders(&self, at: usize, node: u32) -> BTreeSet<u32> {
        let (network, mut senders) = (self.sizes.network, BTreeSet::from([node]));
        if network.layers[at].passes() {
            senders.extend(self.sizes.graph.row(node));
            senders.extend(self.sizes.at(node).iter().map(|of| of.1));
        }
        senders.extend(network.layers[at].rules.iter().flat_map(|&rule| network.pooled(rule, node).0));
        senders
    }

    /// The margin as one more unit.
    fn forward(&self, head: Image) -> Result<Effects, Reason> {
        let last = self.units.len() - 1;
        let messages = self.messages(last, &self.senders(last, self.target), &head)?;
        let rules = &self.sizes.network.layers[last].rules;
        let margin = received(self.sizes, rules, 1, self.target, &messages, true, self.meter)?;
        Ok(margin.by.into_iter().map(|(place, by)| (place, by[0])).collect())
    }

    /// The margin handed back: from node to node as long as units pass it on.
    fn back(&self, head: Image) -> Result<Effects, Reason> {
        let (sizes, meter) = (self.sizes, self.meter);
        let network = sizes.network;
        let mut effects = Effects::new();
        let mut add = |place: usize, x: Interval| {
            let slot = effects.entry(place).or_insert(Interval::ZERO);
            *slot = slot.plus(x);
        };
        // Nodes whose pre-activations count, with the weights of what they receive.
        let mut passing: Vec<(u32, Image)> = vec![(self.target, head)];
        for (at, layer) in network.layers.iter().enumerate().rev() {
            let mut counting: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
            for (node, image) in &passing {
                let messages = self.messages(at, &self.senders(at, *node), image)?;
                let received = received(sizes, &layer.rules, 1, *node, &messages, false, meter)?;
                received.by.iter().for_each(|(&place, by)| add(place, by[0]));
                if at == 0 {
                    continue;
                }
                let row = if layer.passes() { sizes.graph.row(*node) } else { Vec::new() };
                meter.spend(4 * ((row.len() + 1) * image.weights.len()) as u64)?;
                for (term, &rule) in layer.rules.iter().enumerate() {
                    let own = network.own_entry(rule, *node, sizes.graph.degree(*node));
                    let along = row.iter().filter(|_| rule.has_edges()).map(|&other| {
                        let there = if rule.reads_sender() { sizes.size(rule, other, 0) } else { 1 };
                        (other, rule.entry(sizes.size(rule, *node, 0), there))
                    });
                    let (nodes, pooled) = network.pooled(rule, *node);
                    meter.spend(4 * (nodes.len() * layer.inputs) as u64)?;
                    let pooled = nodes.map(|other| (other, pooled));
                    let own = std::iter::once((*node, own));
                    for (other, entry) in own.chain(along).chain(pooled).filter(|of| !of.1.is_zero()) {
                        let slots = counting.entry(other).or_insert_with(|| vec![Interval::ZERO; layer.inputs]);
                        let weights = &image.weights[term * layer.inputs..][..layer.inputs];
                        slots.iter_mut().zip(weights).for_each(|(slot, w)| *slot = slot.plus(w.scaled(entry)));
                    }
                }
            }
            passing.clear();
            for (node, counts) in counting {
                let Some(units) = self.units[at].get(&node) else { return Err(Reason::Incomplete) };
                meter.spend(8 * (counts.len() * (1 + units.by.len())) as u64)?;
                let goes_on = |unit: usize| match units.bends[unit] {
                    UnitBend::Straight => at > 1,
                    UnitBend::Active => at > 1 && !counts[unit].lower.is_negative(),
                    UnitBend::Unknown => false,
                };
                for (&place, by) in &units.by {
                    let stopped = by.iter().enumerate().filter(|(unit, _)| !goes_on(*unit));
                    let sum = stopped.fold(Interval::ZERO, |sum, (unit, x)| sum.plus(counts[unit].times(*x)));
                    add(place, sum);
                }
                if (0..counts.len()).any(goes_on) {
                    let below = &network.layers[at - 1];
                    meter.spend(4 * (below.rules.len() * below.inputs * counts.len()) as u64)?;
                    let weight = |row: usize| {
                        let (term, input) = (row / below.inputs, row % below.inputs);
                        let on = counts.iter().enumerate().filter(|(unit, _)| goes_on(*unit));
                        on.fold(Interval::ZERO, |sum, (unit, count)| {
                            sum.plus(count.scaled(below.weight(term, input, unit)))
                        })
                    };
                    let weights = (0..below.rules.len() * below.inputs).map(weight).collect();
                    passing.push((node, Image { terms: below.rules.len(), outputs: 1, weights }));
                }
            }
        }
        Ok(effects)
    }
}

/// What all that a node receives does to it: base values, and by change, without biases; or only what changes of
/// entries do.
fn received(
    sizes: &Sizes,
    rules: &[EdgeRule],
    outputs: usize,
    node: u32,
    messages: &BTreeMap<u32, Moved>,
    carry: bool,
    meter: &Meter,
) -> Result<Moved, Reason> {
    let network = sizes.network;
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
    for (term, &rule) in rules.iter().enumerate().filter(|_| carry) {
        add(&mut sum, network.own_entry(rule, node, degree), term, &messages[&node])?;
        for other in row.iter().filter(|_| rule.has_edges()) {
            let there = if rule.reads_sender() { sizes.size(rule, *other, 0) } else { 1 };
            add(&mut sum, rule.entry(sizes.size(rule, node, 0), there), term, &messages[other])?;
        }
        let (nodes, entry) = network.pooled(rule, node);
        for other in nodes {
            add(&mut sum, entry, term, &messages[&other])?;
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
            let mut totals = share.cloned().unwrap_or_else(|| vec![Interval::ZERO; outputs]);
            for (term, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.has_edges()) {
                let size = sizes.size(rule, node, shift);
                let entry = sizes.entry(rule, size, other, sizes.shifts_with(other, place));
                for (output, total) in totals.iter_mut().enumerate() {
                    *total = total.plus(entry.times(messages[&other].after(place, term * outputs + output)));
                }
            }
            for (worst, total) in worst.iter_mut().zip(totals) {
                *worst = Some(worst.map_or(total, |before| before.hull(total)));
            }
        }
        for (output, worst) in worst.into_iter().enumerate() {
            charge(place, output, signed(place, worst.unwrap_or(Interval::ZERO)));
        }
    }
    Ok(sum)
}

/// What a set of changes can take from the margin at most: `μ B + Σ ν k + Σ (loss − μ − ν − ν)⁺`.
///
/// # Errors
/// If prices are out of order or negative.
pub fn paid(
    path: &ChangePath,
    open: &[OpenChange],
    effects: &Effects,
    prices: &CarriedPrices,
) -> Result<Interval, Reason> {
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
    for (&place, effect) in effects {
        let mut rest = Interval { lower: -Up::ZERO, upper: -effect.lower }.minus(mu);
        for node in path.counted(open[place].edge) {
            rest = nu.get(&node).map_or(rest, |price| rest.minus(*price));
        }
        sum = sum.plus(Interval { lower: -Up::ZERO, upper: rest.upper.positive_part() });
    }
    Ok(sum)
}
