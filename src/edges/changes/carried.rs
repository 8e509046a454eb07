//! What every open change can do to every unit, at least and at most, carried from layer to layer (docs/math.md §22.3). All floats are rounded so that
//! the claim holds: for every admissible set of open changes, the change of a unit lies between the sums of what its members can do.

use std::collections::{BTreeSet, HashMap};

use crate::edges::changes::entries::Entries;
use crate::edges::changes::menu::Menu;
use crate::edges::changes::span::{Span, down, up};
use crate::edges::pace::Pace;
use crate::edges::rule::Rule;

/// What a node sends in a layer.
struct Sent {
    /// The changes that do something, ascending, and what each does: by change, term and output.
    flips: Vec<u32>,
    change: Vec<Span>,
    /// As it is on the path.
    base: Vec<Span>,
    /// How far all changes together move it.
    all: Vec<Span>,
    /// How far all changes but one do.
    others: Vec<Span>,
}

/// The units of a node.
struct Units {
    flips: Vec<u32>,
    /// By change and unit.
    change: Vec<Span>,
    base: Vec<Span>,
    all: Vec<Span>,
}

/// The last hidden representation, from which the margins of all class pairs are bounded.
pub(crate) struct Carried<'a> {
    entries: Entries<'a>,
    units: HashMap<u32, Units>,
    /// Where there is no hidden layer, what nodes have.
    layers: usize,
}

/// A bound of one class pair: the margin on the path, and what each change takes from it at most.
pub(crate) struct PairBound {
    pub(crate) base: Span,
    /// By open change: the margin after a set of them is not below `base` and the sum of these.
    pub(crate) effect: Vec<f64>,
}

/// Sums of the `count` largest positive numbers, rounded up.
fn largest(numbers: impl Iterator<Item = f64>, count: usize) -> [f64; 2] {
    let mut top: Vec<f64> = Vec::with_capacity(count + 1);
    for x in numbers.filter(|&x| x > 0.0) {
        if top.len() == count && top.last().is_none_or(|&least| x <= least) {
            continue;
        }
        let place = top.partition_point(|&y| y >= x);
        top.insert(place, x);
        top.truncate(count);
    }
    let sum = |top: &[f64]| top.iter().fold(0.0, |sum, &x| if sum == 0.0 { x } else { up(sum + x) });
    [sum(&top), sum(&top[..top.len().min(count.saturating_sub(1))])]
}

/// The weights of a layer or of a margin: by term, input and output.
struct Weights {
    terms: usize,
    inputs: usize,
    outputs: usize,
    values: Vec<Span>,
}

impl<'a> Carried<'a> {
    /// `None` if it is late.
    pub(crate) fn new(menu: &'a Menu<'a>, pace: &Pace) -> Option<Carried<'a>> {
        let stack = menu.setting.stack;
        let layers = stack.rules.len();
        let entries = Entries::new(menu);
        // Nodes of which a representation is needed, by representation.
        let mut needed: Vec<BTreeSet<u32>> = vec![BTreeSet::from([menu.target])];
        for rules in stack.rules.iter().rev() {
            let above = &needed[needed.len() - 1];
            let mut below = above.clone();
            if rules.iter().any(|rule| !rule.is_identity()) {
                for &v in above {
                    below.extend(menu.world.row(v));
                    below.extend(entries.at(v).iter().map(|of| of.1));
                }
            }
            needed.push(below);
        }
        needed.reverse();
        let mut carried = Carried { entries, units: HashMap::new(), layers };
        for layer in 0..layers - 1 {
            let of = &stack.network.layers()[layer];
            let (terms, inputs, outputs) = (stack.rules[layer].len(), of.inputs(), of.outputs());
            let weight = |at: usize| Span::of(of.weight.get(at / outputs, at % outputs));
            let values = if layer == 0 { Vec::new() } else { (0..terms * inputs * outputs).map(weight).collect() };
            let weights = Weights { terms, inputs, outputs, values };
            let sent = carried.all_sent(layer, &needed[layer], &weights, pace)?;
            let mut units = HashMap::new();
            for &v in &needed[layer + 1] {
                let (flips, change) = carried.row(&stack.rules[layer], v, &sent, outputs, pace)?;
                let base = stack.unit_sums(layer, v, &menu.world, |n| &sent[&n].base);
                units.insert(v, activated(flips, change, base, menu.budget, |unit| of.is_linear(unit)));
            }
            carried.units = units;
        }
        Some(carried)
    }

    /// What each change can take from the margin of a class over another.
    pub(crate) fn pair(&self, reference: usize, other: usize, pace: &Pace) -> Option<PairBound> {
        let menu = self.entries.menu;
        let (stack, last, target) = (menu.setting.stack, self.layers - 1, menu.target);
        let of = &stack.network.layers()[last];
        let (terms, inputs) = (stack.rules[last].len(), of.inputs());
        let weight = |row: usize| Span::of(of.weight.get(row, reference)).minus(Span::of(of.weight.get(row, other)));
        let weights = Weights { terms, inputs, outputs: 1, values: (0..terms * inputs).map(weight).collect() };
        let mut needed = BTreeSet::from([target]);
        needed.extend(menu.world.row(target));
        needed.extend(self.entries.at(target).iter().map(|of| of.1));
        let sent = self.all_sent(last, &needed, &weights, pace)?;
        let (flips, change) = self.row(&stack.rules[last], target, &sent, 1, pace)?;
        let mut effect = vec![0.0; menu.flips.len()];
        flips.iter().zip(&change).for_each(|(&flip, change)| effect[flip as usize] = change.lo);
        let logits: Vec<Span> = stack.values(target, &menu.world, last);
        Some(PairBound { base: logits[reference].minus(logits[other]), effect })
    }

    fn all_sent(
        &self,
        layer: usize,
        nodes: &BTreeSet<u32>,
        weights: &Weights,
        pace: &Pace,
    ) -> Option<HashMap<u32, Sent>> {
        let mut all = HashMap::new();
        for &u in nodes {
            let sent = match self.units.get(&u) {
                Some(units) => {
                    let work = 8 * (units.flips.len() + 3) * weights.terms * weights.inputs * weights.outputs;
                    if pace.is_late_for(work) {
                        return None;
                    }
                    sent(units, weights, self.entries.menu.budget)
                }
                None => self.constant(layer, u, weights),
            };
            all.insert(u, sent);
        }
        Some(all)
    }

    /// What a node sends in the first layer, which no change moves.
    fn constant(&self, layer: usize, node: u32, weights: &Weights) -> Sent {
        debug_assert_eq!(layer, 0);
        let stack = self.entries.menu.setting.stack;
        let base = if weights.values.is_empty() {
            stack.sent::<Span>(layer, node).to_vec()
        } else {
            use crate::problem::matrix::PatternRows;
            let present = stack.graph.attributes().row(node as usize);
            let sum = |k: usize| {
                let weight = |&d: &u32| weights.values[k * weights.inputs + d as usize];
                present.iter().map(weight).fold(Span::ZERO, Span::plus)
            };
            (0..weights.terms).map(sum).collect()
        };
        let none = vec![Span::ZERO; base.len()];
        Sent { flips: Vec::new(), change: Vec::new(), base, all: none.clone(), others: none }
    }

    /// What each change can do to the pre-activations of a node, by change and output.
    fn row(
        &self,
        rules: &[Rule],
        node: u32,
        sent: &HashMap<u32, Sent>,
        outputs: usize,
        pace: &Pace,
    ) -> Option<(Vec<u32>, Vec<Span>)> {
        let (entries, menu) = (&self.entries, self.entries.menu);
        let passing = rules.iter().any(|rule| !rule.is_identity());
        let reads = rules.iter().any(|rule| rule.reads_sender());
        let senders: Vec<u32> = if passing { menu.world.row(node).collect() } else { Vec::new() };
        let mut flips: Vec<u32> = sent[&node].flips.clone();
        for u in &senders {
            flips.extend(&sent[u].flips);
            if reads {
                flips.extend(entries.at(*u).iter().map(|of| of.0));
            }
        }
        let at_node: &[(u32, u32)] = if passing { entries.at(node) } else { &[] };
        flips.extend(at_node.iter().map(|of| of.0));
        flips.sort_unstable();
        flips.dedup();
        let mut change = vec![Span::ZERO; flips.len() * outputs];
        let place = |flip: u32| flips.partition_point(|&other| other < flip) * outputs;
        let degree = menu.world.degree(node);
        let mut work = flips.len();
        for (k, &rule) in rules.iter().enumerate() {
            let mut add = |a: f64, u: u32| {
                let sent = &sent[&u];
                for (at, &flip) in sent.flips.iter().enumerate().filter(|_| a != 0.0) {
                    let of_term = &sent.change[at * rules.len() * outputs + k * outputs..][..outputs];
                    let slots = &mut change[place(flip)..][..outputs];
                    slots.iter_mut().zip(of_term).for_each(|(slot, &x)| *slot = slot.plus(x.scaled(a)));
                }
                work += 8 * sent.flips.len() * outputs;
            };
            add(rule.own_entry(degree, menu.setting.stack.looped(node)), node);
            if rule.is_identity() {
                continue;
            }
            for &u in &senders {
                let there = entries.size(rule, u, 0);
                add(rule.entry(entries.size(rule, node, 0), there), u);
            }
        }
        for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_sender()) {
            for &u in &senders {
                for &(flip, _) in entries.at(u) {
                    let charge = entries.sent(rule, node, u, flip).scaled(entries.sign(flip) as f64);
                    let slots = &mut change[place(flip)..][..outputs];
                    for (j, slot) in slots.iter_mut().enumerate() {
                        *slot = slot.plus(charge.times(sent[&u].after(flip, k * outputs + j)));
                    }
                }
                work += 16 * entries.at(u).len() * outputs;
            }
        }
        if pace.is_late_for(work + 16 * at_node.len() * outputs) {
            return None;
        }
        self.rows(rules, node, &senders, sent, outputs, at_node, |flip, j, charge| {
            let slot = &mut change[place(flip) + j];
            *slot = slot.plus(charge);
        });
        Some((flips, change))
    }

    /// What each change of a node's row is charged there: its own message, and its part of what the size of the node does to all entries.
    #[expect(clippy::too_many_arguments)]
    fn rows(
        &self,
        rules: &[Rule],
        node: u32,
        senders: &[u32],
        sent: &HashMap<u32, Sent>,
        outputs: usize,
        at_node: &[(u32, u32)],
        mut charge: impl FnMut(u32, usize, Span),
    ) {
        let entries = &self.entries;
        if at_node.is_empty() {
            return;
        }
        let sized = rules.iter().any(|rule| rule.reads_size());
        // What one more edge does to all other entries, by change of size.
        let mut shifts: HashMap<i64, Vec<Span>> = HashMap::new();
        for net in entries.any(node).filter(|&net| net != 0 && sized) {
            let mut shift = vec![Span::ZERO; outputs];
            for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_size()) {
                let own = entries.own(rule, node, net);
                for (j, slot) in shift.iter_mut().enumerate() {
                    *slot = slot.plus(own.times(sent[&node].any(k * outputs + j)));
                }
                for &u in senders {
                    let share = entries.received(rule, node, net, u);
                    for (j, slot) in shift.iter_mut().enumerate() {
                        *slot = slot.plus(share.times(sent[&u].any(k * outputs + j)));
                    }
                }
            }
            shifts.insert(net, shift);
        }
        let none = vec![Span::ZERO; outputs];
        for &(flip, u) in at_node {
            let sign = entries.sign(flip) as f64;
            let nets = if sized { entries.given(node, flip) } else { 0..=0 };
            let mut total: Vec<Option<Span>> = vec![None; outputs];
            for net in nets {
                // Where changes cancel, their shares do, whatever they are.
                let shift = match net {
                    0 => shifts.get(&1).or(shifts.get(&-1)).unwrap_or(&none),
                    net => shifts.get(&net).unwrap_or(&none),
                };
                for (j, total) in total.iter_mut().enumerate() {
                    let mut sum = shift[j];
                    for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| !rule.is_identity()) {
                        let entry = entries.entry(rule, entries.size(rule, node, net), u, entries.given(u, flip));
                        sum = sum.plus(entry.times(sent[&u].after(flip, k * outputs + j)));
                    }
                    let sum = sum.scaled(sign);
                    *total = Some(total.map_or(sum, |before| before.hull(sum)));
                }
            }
            for (j, total) in total.into_iter().enumerate() {
                charge(flip, j, total.unwrap_or(Span::ZERO));
            }
        }
    }
}

impl Sent {
    /// Whatever is changed.
    fn any(&self, at: usize) -> Span {
        self.base[at].plus(self.all[at])
    }

    /// Whatever is changed together with one change.
    fn after(&self, flip: u32, at: usize) -> Span {
        let own = match self.flips.binary_search(&flip) {
            Ok(place) => self.change[place * self.base.len() + at],
            Err(_) => Span::ZERO,
        };
        let (with, all) = (own.plus(self.others[at]), self.all[at]);
        self.base[at].plus(Span { lo: with.lo.max(all.lo), hi: with.hi.min(all.hi) })
    }
}

/// What a node sends whose units are known.
fn sent(units: &Units, weights: &Weights, budget: usize) -> Sent {
    let Weights { terms, inputs, outputs, values } = weights;
    let width = terms * outputs;
    let image = |of: &[Span]| {
        let mut sums = vec![Span::ZERO; width];
        for (i, &x) in of.iter().enumerate().filter(|(_, x)| !x.is_zero()) {
            for k in 0..*terms {
                for j in 0..*outputs {
                    let sum = &mut sums[k * outputs + j];
                    *sum = sum.plus(x.times(values[(k * inputs + i) * outputs + j]));
                }
            }
        }
        sums
    };
    let change: Vec<Span> = units.change.chunks_exact(*inputs).flat_map(image).collect();
    let base = image(&units.base);
    let (mut all, mut others) = (image(&units.all), vec![Span::ZERO; width]);
    for at in 0..width {
        let column = || change.iter().skip(at).step_by(width);
        let [rise, other_rise] = largest(column().map(|x| x.hi), budget);
        let [fall, other_fall] = largest(column().map(|x| -x.lo), budget);
        all[at] = Span { lo: all[at].lo.max(-fall), hi: all[at].hi.min(rise) };
        others[at] = Span { lo: -other_fall, hi: other_rise };
    }
    Sent { flips: units.flips.clone(), change, base, all, others }
}

/// Units behind their activations (docs/math.md (22.5)).
fn activated(
    flips: Vec<u32>,
    mut change: Vec<Span>,
    mut base: Vec<Span>,
    budget: usize,
    linear: impl Fn(usize) -> bool,
) -> Units {
    let width = base.len();
    let mut all = vec![Span::ZERO; width];
    for unit in 0..width {
        let column = || change.iter().skip(unit).step_by(width);
        let [rise, _] = largest(column().map(|x| x.hi), budget);
        let [drop, _] = largest(column().map(|x| -x.hi), budget);
        let [_, lift] = largest(column().map(|x| x.lo), budget);
        let [fall, other_fall] = largest(column().map(|x| -x.lo), budget);
        let z = base[unit];
        if linear(unit) {
            all[unit] = Span { lo: -fall, hi: rise };
            continue;
        }
        let relu = |x: f64| x.max(0.0);
        all[unit] = Span { lo: down(relu(down(z.lo - fall)) - relu(z.hi)), hi: up(relu(up(z.hi + rise)) - relu(z.lo)) };
        // What a line above the unit gains and loses.
        let gain = if z.hi > 0.0 {
            1.0
        } else if up(z.hi + rise) <= 0.0 {
            0.0
        } else {
            up(up(z.hi + rise) / rise).min(1.0)
        };
        let loss = if z.lo <= 0.0 {
            0.0
        } else if z.lo >= drop {
            1.0
        } else {
            down(z.lo / drop).max(0.0)
        };
        let floor = down(-z.hi - lift);
        for x in change.iter_mut().skip(unit).step_by(width) {
            let active = x.lo.max(floor);
            let inactive = relu(down(down(z.lo + x.lo) - other_fall));
            let lo = if z.lo > 0.0 {
                active
            } else if z.hi <= 0.0 {
                inactive
            } else {
                active.min(inactive)
            };
            let times = |slope: f64, x: f64| {
                if slope == 1.0 {
                    x
                } else if slope == 0.0 {
                    0.0
                } else {
                    up(slope * x)
                }
            };
            let hi = if x.hi > 0.0 { times(gain, x.hi) } else { times(loss, x.hi) };
            *x = Span { lo, hi: hi.max(lo) };
        }
        base[unit] = Span { lo: relu(z.lo), hi: relu(z.hi) };
    }
    Units { flips, change, base, all }
}
