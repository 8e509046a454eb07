//! What every open change can do to every unit, at least and at most, carried from layer to layer (docs/math.md §24.3).
//! All floats are rounded so that the claim holds: for every admissible set of open changes, the change of a unit lies
//! between the sums of what its members can do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::edges::changes::entries::{Case, Entries};
use crate::edges::changes::lists::linked;
use crate::edges::changes::menu::ChangeMenu;
use crate::edges::changes::span::{Span, down};
use crate::edges::changes::units::{SentMessages, Side, UnitWeights, Units, activated, sent};
use crate::edges::rule::Rule;
use crate::problem::pace::Pace;

/// The hidden representations, from which the margins of all class pairs are bounded.
pub(crate) struct Carried<'a> {
    entries: Entries<'a>,
    /// By representation; of attributes, which no change moves, there is nothing.
    levels: Vec<HashMap<u32, Units>>,
}

/// A bound of one class pair: the margin on the path, and what each change takes from it at most.
pub(crate) struct PairBound {
    pub(crate) base: Span,
    /// By open change: the margin after a set of them is not below `base` and the sum of these.
    pub(crate) effect: Vec<f64>,
}

impl<'a> Carried<'a> {
    /// `None` if it is late.
    pub(crate) fn new(menu: &'a ChangeMenu<'a>, pace: &Pace) -> Option<Carried<'a>> {
        Carried::within(menu, None, pace)
    }

    /// The same for some of the sets.
    pub(crate) fn within(menu: &'a ChangeMenu<'a>, case: Option<Case>, pace: &Pace) -> Option<Carried<'a>> {
        let stack = menu.setting.stack;
        let layers = stack.rules.len();
        let entries = Entries::new(menu, case);
        // Nodes of which a representation is needed, by representation.
        let mut needed: Vec<BTreeSet<u32>> = vec![BTreeSet::from([menu.target])];
        for rules in stack.rules.iter().rev() {
            let above = &needed[needed.len() - 1];
            let mut below = above.clone();
            for &v in above {
                if rules.iter().any(|rule| rule.has_edges()) {
                    below.extend(menu.world.row(v));
                    // What is linked to the target is found by lists, where there are any.
                    let named = menu.near.is_none() || needed.len() > 1;
                    below.extend(entries.at(v).iter().map(|of| of.1).filter(|_| named));
                }
                below.extend(rules.iter().flat_map(|&rule| stack.pooled(rule, v).0));
            }
            needed.push(below);
        }
        needed.reverse();
        let mut carried = Carried { entries, levels: vec![HashMap::new()] };
        for layer in 0..layers - 1 {
            let of = &stack.network.layers()[layer];
            let (terms, inputs, outputs) = (stack.rules[layer].len(), of.inputs(), of.outputs());
            let weight = |at: usize| Span::of(of.weight.get(at / outputs, at % outputs));
            let values = if layer == 0 { Vec::new() } else { (0..terms * inputs * outputs).map(weight).collect() };
            let weights = UnitWeights { terms, inputs, outputs, values };
            let sent = carried.all_sent(layer, &needed[layer], &weights, pace)?;
            let mut units = HashMap::new();
            for &v in &needed[layer + 1] {
                let (flips, change) = carried.row(&stack.rules[layer], v, &sent, outputs, true, pace)?;
                let base = match menu.setting.flipped.filter(|_| layer == 0) {
                    None => stack.unit_sums(layer, v, &menu.world, |n| &sent[&n].base),
                    Some(flipped) => {
                        let as_it_is: Vec<Span> = stack.unit_sums(0, v, &menu.world, |n| stack.sent(0, n));
                        let moved = flipped.received(v, &menu.world);
                        as_it_is.into_iter().zip(moved).map(|(z, moved)| z.plus(moved)).collect()
                    }
                };
                units.insert(v, activated(flips, change, base, menu.budget, |unit| of.is_linear(unit)));
            }
            carried.levels.push(units);
        }
        Some(carried)
    }

    /// What each change can take from the margin of a class over another; `back` says in which of two ways that is
    /// found.
    pub(crate) fn pair(&self, reference: usize, other: usize, back: bool, pace: &Pace) -> Option<PairBound> {
        let menu = self.entries.menu;
        let (stack, target) = (menu.setting.stack, menu.target);
        let last = stack.rules.len() - 1;
        let of = &stack.network.layers()[last];
        let (terms, inputs) = (stack.rules[last].len(), of.inputs());
        let weight = |row: usize| Span::of(of.weight.get(row, reference)).minus(Span::of(of.weight.get(row, other)));
        let weights = UnitWeights { terms, inputs, outputs: 1, values: (0..terms * inputs).map(weight).collect() };
        let mut effect = vec![0.0; menu.flips.len()];
        if back {
            self.back(weights, &mut effect, pace)?;
        } else {
            let sent = self.all_sent(last, &self.senders(last, target), &weights, pace)?;
            let (flips, change) = self.row(&stack.rules[last], target, &sent, 1, true, pace)?;
            flips.iter().zip(&change).for_each(|(&flip, change)| effect[flip as usize] = change.lo);
        }
        let logits: Vec<Span> = stack.values(target, &menu.world, last);
        Some(PairBound { base: logits[reference].minus(logits[other]), effect })
    }

    /// Who may send to a node in a layer, itself among them.
    fn senders(&self, layer: usize, node: u32) -> BTreeSet<u32> {
        let menu = self.entries.menu;
        let (stack, mut senders) = (menu.setting.stack, BTreeSet::from([node]));
        if stack.rules[layer].iter().any(|rule| rule.has_edges()) {
            senders.extend(menu.world.row(node));
            senders.extend(self.entries.at(node).iter().map(|of| of.1));
        }
        senders.extend(stack.rules[layer].iter().flat_map(|&rule| stack.pooled(rule, node).0));
        senders
    }

    /// The same from the margin back (docs/math.md (24.7)): a unit that passes, or is active and wanted large, hands
    /// its coefficient to what it receives, so that what cancels there cancels; every other one takes what is carried.
    fn back(&self, head: UnitWeights, effect: &mut [f64], pace: &Pace) -> Option<()> {
        let menu = self.entries.menu;
        let stack = menu.setting.stack;
        let mut take = |flip: u32, x: f64| {
            if x != 0.0 {
                let slot = &mut effect[flip as usize];
                *slot = down(*slot + x);
            }
        };
        // Nodes with the weights of what they receive, term after term.
        let mut passed: Vec<(u32, UnitWeights)> = vec![(menu.target, head)];
        for layer in (0..stack.rules.len()).rev() {
            let rules = &stack.rules[layer];
            let inputs = stack.network.layers()[layer].inputs();
            let mut wanted: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
            for (v, weights) in &passed {
                let sent = self.all_sent(layer, &self.senders(layer, *v), weights, pace)?;
                let (flips, change) = self.row(rules, *v, &sent, 1, false, pace)?;
                flips.iter().zip(&change).for_each(|(&flip, change)| take(flip, change.lo));
                if layer == 0 {
                    continue;
                }
                let degree = menu.world.degree(*v);
                for (k, &rule) in rules.iter().enumerate() {
                    let mut want = |u: u32, a: f64| {
                        if a != 0.0 {
                            let slots = wanted.entry(u).or_insert_with(|| vec![Span::ZERO; inputs]);
                            let of_term = &weights.values[k * inputs..][..inputs];
                            slots.iter_mut().zip(of_term).for_each(|(slot, w)| *slot = slot.plus(w.scaled(a)));
                        }
                    };
                    want(*v, rule.own_entry(degree, stack.looped(*v)));
                    if rule.has_edges() {
                        for u in menu.world.row(*v) {
                            want(u, self.entries.along(rule, *v, u));
                        }
                    }
                    let (nodes, entry) = stack.pooled(rule, *v);
                    nodes.for_each(|u| want(u, entry));
                }
            }
            passed.clear();
            for (u, wanted) in wanted {
                let units = &self.levels[layer][&u];
                let mut through: Vec<(usize, Span)> = Vec::new();
                for (unit, &w) in wanted.iter().enumerate().filter(|(_, w)| !w.is_zero()) {
                    let passes = match units.side[unit] {
                        Side::Passes => true,
                        Side::Active => w.lo >= 0.0,
                        Side::Other => false,
                    };
                    // What is carried behind the first activations is not looser than what they receive.
                    if passes && layer > 1 {
                        through.push((unit, w));
                        continue;
                    }
                    for (at, &flip) in units.flips.iter().enumerate() {
                        take(flip, w.times(units.change[at * inputs + unit]).lo);
                    }
                }
                if !through.is_empty() {
                    let of = &stack.network.layers()[layer - 1];
                    let rows = stack.rules[layer - 1].len() * of.inputs();
                    let value = |row: usize| {
                        let terms = through.iter().map(|&(unit, w)| w.scaled(of.weight.get(row, unit)));
                        terms.fold(Span::ZERO, Span::plus)
                    };
                    let values = (0..rows).map(value).collect();
                    let (terms, inputs) = (stack.rules[layer - 1].len(), of.inputs());
                    passed.push((u, UnitWeights { terms, inputs, outputs: 1, values }));
                }
            }
        }
        Some(())
    }

    fn all_sent(
        &self,
        layer: usize,
        nodes: &BTreeSet<u32>,
        weights: &UnitWeights,
        pace: &Pace,
    ) -> Option<HashMap<u32, SentMessages>> {
        let mut all = HashMap::new();
        for &u in nodes {
            let sent = match self.levels.get(layer).and_then(|units| units.get(&u)) {
                Some(units) => {
                    let work = 8 * (units.flips.len() + 3) * weights.terms * weights.inputs * weights.outputs;
                    if pace.is_late_for(work) {
                        return None;
                    }
                    sent(units, weights, self.entries.menu.budget)
                }
                None if layer == 1 => {
                    let work = 64 * self.entries.menu.budget * weights.inputs * (4 + self.entries.menu.world.degree(u));
                    if pace.is_late_for(work) {
                        return None;
                    }
                    SentMessages::within(linked(&self.entries, u, weights))
                }
                None => self.constant(layer, u, weights),
            };
            all.insert(u, sent);
        }
        Some(all)
    }

    /// What a node sends in the first layer, which no change of an edge moves.
    fn constant(&self, layer: usize, node: u32, weights: &UnitWeights) -> SentMessages {
        debug_assert_eq!(layer, 0);
        let stack = self.entries.menu.setting.stack;
        let base = if weights.values.is_empty() {
            stack.sent::<Span>(layer, node).to_vec()
        } else {
            use crate::problem::matrix::PatternRows;
            let (present, entry) = (stack.graph.attributes().row(node as usize), stack.graph.entry(node as usize));
            let sum = |k: usize| {
                let weight = |&d: &u32| weights.values[k * weights.inputs + d as usize];
                let sum = present.iter().map(weight).fold(Span::ZERO, Span::plus);
                if stack.graph.normalisation().is_some() { sum.scaled(entry) } else { sum }
            };
            (0..weights.terms).map(sum).collect()
        };
        let base = match self.entries.menu.setting.flipped {
            None => base,
            Some(flipped) => {
                let own = weights.values.is_empty();
                let moved = if own { flipped.sent(node) } else { flipped.sent_through(node, weights) };
                base.into_iter().zip(moved).map(|(x, moved)| x.plus(moved)).collect()
            }
        };
        let none = vec![Span::ZERO; base.len()];
        SentMessages { flips: Vec::new(), change: Vec::new(), base, all: none.clone(), others: none }
    }

    /// What each change can do to the pre-activations of a node, by change and output; without `messages`, only by
    /// changes of entries.
    fn row(
        &self,
        rules: &[Rule],
        node: u32,
        sent: &HashMap<u32, SentMessages>,
        outputs: usize,
        messages: bool,
        pace: &Pace,
    ) -> Option<(Vec<u32>, Vec<Span>)> {
        let (entries, menu) = (&self.entries, self.entries.menu);
        let passing = rules.iter().any(|rule| rule.has_edges());
        let reads = rules.iter().any(|rule| rule.reads_sender());
        let senders: Vec<u32> = if passing { menu.world.row(node).collect() } else { Vec::new() };
        let mut flips: Vec<u32> = if messages { sent[&node].flips.clone() } else { Vec::new() };
        for u in &senders {
            if messages {
                flips.extend(&sent[u].flips);
            }
            if reads {
                flips.extend(entries.at(*u).iter().map(|of| of.0));
            }
        }
        let stack = menu.setting.stack;
        if messages {
            let pooled = rules.iter().flat_map(|&rule| stack.pooled(rule, node).0);
            flips.extend(pooled.flat_map(|u| sent[&u].flips.iter().copied()));
        }
        let at_node: &[(u32, u32)] = if passing { entries.at(node) } else { &[] };
        flips.extend(at_node.iter().map(|of| of.0));
        flips.sort_unstable();
        flips.dedup();
        let mut change = vec![Span::ZERO; flips.len() * outputs];
        let place = |flip: u32| flips.partition_point(|&other| other < flip) * outputs;
        let degree = menu.world.degree(node);
        let mut work = flips.len();
        for (k, &rule) in rules.iter().enumerate().filter(|_| messages) {
            let mut add = |a: f64, u: u32| {
                let sent = &sent[&u];
                for (at, &flip) in sent.flips.iter().enumerate().filter(|_| a != 0.0) {
                    let of_term = &sent.change[at * rules.len() * outputs + k * outputs..][..outputs];
                    let slots = &mut change[place(flip)..][..outputs];
                    slots.iter_mut().zip(of_term).for_each(|(slot, &x)| *slot = slot.plus(x.scaled(a)));
                }
                work += 8 * sent.flips.len() * outputs;
            };
            add(rule.own_entry(degree, stack.looped(node)), node);
            for &u in senders.iter().filter(|_| rule.has_edges()) {
                add(entries.along(rule, node, u), u);
            }
            let (nodes, entry) = stack.pooled(rule, node);
            nodes.for_each(|u| add(entry, u));
        }
        for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_sender()) {
            for &u in &senders {
                // All insertions at a sender are charged alike, and all removals.
                let (mut charges, of) = ([None; 2], &sent[&u]);
                for &(flip, _) in entries.at(u) {
                    let sign = entries.sign(flip);
                    let charge = charges[usize::from(sign > 0)]
                        .get_or_insert_with(|| entries.sent(rule, node, u, flip).scaled(sign as f64));
                    let slots = &mut change[place(flip)..][..outputs];
                    for (slot, message) in slots.iter_mut().zip(of.after(flip, k * outputs, outputs)) {
                        *slot = slot.plus(charge.times(message));
                    }
                }
                work += 8 * entries.at(u).len() * outputs;
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

    /// What each change of a node's row is charged there: its own message, and its part of what the size of the node
    /// does to all entries.
    #[expect(clippy::too_many_arguments)]
    fn rows(
        &self,
        rules: &[Rule],
        node: u32,
        senders: &[u32],
        sent: &HashMap<u32, SentMessages>,
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
            let passing = || rules.iter().enumerate().filter(|(_, rule)| rule.has_edges());
            let messages: Vec<Vec<Span>> =
                passing().map(|(k, _)| sent[&u].after(flip, k * outputs, outputs).collect()).collect();
            let mut total: Vec<Option<Span>> = vec![None; outputs];
            for net in nets {
                // Where changes cancel, their shares do, whatever they are.
                let shift = match net {
                    0 => shifts.get(&1).or(shifts.get(&-1)).unwrap_or(&none),
                    net => shifts.get(&net).unwrap_or(&none),
                };
                let entry = |(_, rule): (usize, &Rule)| {
                    entries.entry(*rule, entries.size(*rule, node, net), u, entries.given(u, flip))
                };
                let along: Vec<Span> = passing().map(entry).collect();
                for (j, total) in total.iter_mut().enumerate() {
                    let own = along.iter().zip(&messages).map(|(entry, message)| entry.times(message[j]));
                    let sum = own.fold(shift[j], Span::plus).scaled(sign);
                    *total = Some(total.map_or(sum, |before| before.hull(sum)));
                }
            }
            for (j, total) in total.into_iter().enumerate() {
                charge(flip, j, total.unwrap_or(Span::ZERO));
            }
        }
    }
}
