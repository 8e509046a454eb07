//! What a node sends to the target that an insertion links to it, whatever else is inserted (docs/math.md §24.5).
//! Sorted lists of messages give the most that further insertions at the node can do, so that of thousands of
//! candidates only the best few are looked at.

use crate::edges::changes::entries::Entries;
use crate::edges::changes::sorted::{Reached, Sorted};
use crate::edges::changes::span::{Span, down, up};
use crate::edges::changes::stack::Stack;
use crate::edges::changes::units::UnitWeights;
use crate::edges::rule::Rule;

/// Not below any float entry over the product of the two parts, nor below these.
const SLACK: f64 = 1.0 + 1e-12;

/// The sender's part of an entry, its size being at least this.
fn sender_part(rule: Rule, size: usize) -> f64 {
    if rule.reads_sender() { SLACK / (size.max(1) as f64).sqrt() } else { 1.0 }
}

/// The receiver's part.
fn receiver_part(rule: Rule, size: usize) -> f64 {
    if rule.reads_sender() { SLACK / (size.max(1) as f64).sqrt() } else { rule.entry(size, 1) }
}

/// Sorts all nodes for every unit.
fn sorted(stack: &Stack) -> Sorted {
    let outputs = stack.network.layers()[0].outputs();
    let nodes = stack.graph.node_count() as u32;
    let mut lists = Vec::new();
    for (k, &rule) in stack.rules[0].iter().enumerate() {
        for unit in 0..outputs {
            let reached = |sign: f64| {
                let of = |node: u32| {
                    let message = stack.sent::<Span>(0, node)[k * outputs + unit].scaled(sign);
                    let size = stack.size(rule, node, stack.graph.degree(node as usize) + 1);
                    Reached { node, most: up(message.hi * sender_part(rule, size)) }
                };
                let mut all: Vec<Reached> = (0..nodes).map(of).filter(|of| of.most > 0.0).collect();
                all.sort_by(|x, y| y.most.total_cmp(&x.most));
                all
            };
            lists.push(if rule.has_edges() { [reached(1.0), reached(-1.0)] } else { [Vec::new(), Vec::new()] });
        }
    }
    Sorted { lists }
}

/// What `node` sends in the second layer, through these weights, if an insertion links it to the target and at most
/// `budget − 1` others are made, in the sets that are asked about.
pub(crate) fn linked(entries: &Entries, node: u32, weights: &UnitWeights) -> Vec<Span> {
    let menu = entries.menu;
    let (stack, target) = (menu.setting.stack, menu.target);
    let lists = stack.sorted.get_or_init(|| sorted(stack));
    let layer = &stack.network.layers()[0];
    let outputs = layer.outputs();
    let row: Vec<u32> = menu.world.row(node).collect();
    let degree = menu.world.degree(node);
    let others = menu.budget.saturating_sub(1);
    let mut messages: Option<Vec<Span>> = None;
    // So many further insertions at the node; the others change sizes of who sends to it.
    let here = if entries.chained() { others.min(menu.cap(node).saturating_sub(1)) } else { 0 };
    let linking = entries.linking();
    for more in 0..=here {
        let left = others - more;
        let mut z: Vec<Span> = layer.bias.row(node as usize).iter().map(|&b| Span::of(b)).collect();
        for (k, &rule) in stack.rules[0].iter().enumerate() {
            let part = |n: u32| &stack.sent::<Span>(0, n)[k * outputs..][..outputs];
            let own = rule.own_entry(degree + 1 + more, stack.looped(node));
            z.iter_mut().zip(part(node)).for_each(|(z, m)| *z = z.plus(m.scaled(own)));
            if !rule.has_edges() {
                continue;
            }
            let size = stack.size(rule, node, degree + 1 + more);
            // How far one more edge of a sender moves each unit, at most.
            let mut moved = vec![Span::ZERO; outputs];
            for &n in &row {
                let entry = |more: i64| rule.entry(size, entries.size(rule, n, more));
                let here = entry(0);
                z.iter_mut().zip(part(n)).for_each(|(z, m)| *z = z.plus(m.scaled(here)));
                if rule.reads_sender() && left > 0 {
                    // Entries are convex in the size: no further step is longer than the first, up to their rounding.
                    let step = Span { lo: down(down(entry(1) - here) - 1e-14 * here), hi: 1e-14 * here };
                    for (moved, m) in moved.iter_mut().zip(part(n)) {
                        *moved = moved.hull(step.times(*m));
                    }
                }
            }
            let most = left.min(stack.graph.node_count());
            let along = entries.entry(rule, size, target, 1..=1 + most as i64);
            let reach = receiver_part(rule, size);
            for (unit, z) in z.iter_mut().enumerate() {
                let at = k * outputs + unit;
                let sides = [1, 0].map(|side| up(up(lists.top(at, side, more, &row, node) * reach) * SLACK));
                let new = if more == 0 { Span::ZERO } else { Span { lo: -sides[0], hi: sides[1] } };
                // An insertion gives one more edge to two senders, at most, and to one if it is at the target.
                let sizes = moved[unit].scaled(2.0 * left as f64 - linking.min(left) as f64);
                *z = z.plus(along.times(part(target)[unit])).plus(new).plus(sizes);
            }
        }
        let relu = |(unit, z): (usize, &Span)| match layer.is_linear(unit) {
            true => *z,
            false => Span { lo: z.lo.max(0.0), hi: z.hi.max(0.0) },
        };
        let units: Vec<Span> = z.iter().enumerate().map(relu).collect();
        let sent = weights.image(&units);
        messages = Some(match messages {
            None => sent,
            Some(before) => before.into_iter().zip(sent).map(|(x, y)| x.hull(y)).collect(),
        });
    }
    messages.unwrap_or_default()
}
