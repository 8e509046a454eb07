//! Nodes that an insertion links to the target, by lists of messages (`FORMAT-EDGES.md` §8.5).

use super::margin::sent;
use super::moved::Image;
use super::network::ChangeNetwork;
use super::path::ChangePath;
use super::sizes::Sizes;
use crate::number::{Interval, Stored, Up, root_part};
use crate::verdict::Reason;
use crate::work::Meter;

/// By term and unit of the first layer: the nodes that raise it most, and those that lower it most, each with a number
/// not below what it does to a receiver whose part of the entry is 1.
pub struct Lists {
    order: Vec<[Vec<(u32, Up)>; 2]>,
}

impl Lists {
    /// Sorts all nodes for every unit.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn new(network: &ChangeNetwork, meter: &Meter) -> Result<Lists, Reason> {
        let layer = &network.layers[0];
        let nodes = network.graph.adjacency.rows as u32;
        meter.spend(u64::from(nodes).saturating_mul((256 * layer.rules.len() * layer.outputs) as u64))?;
        let messages = (0..nodes).map(|node| sent::<Interval>(network, 0, node, meter));
        let messages: Vec<&[Interval]> = messages.collect::<Result<_, _>>()?;
        let mut order = Vec::new();
        for (term, &rule) in layer.rules.iter().enumerate() {
            for unit in 0..layer.outputs {
                let mut both = [Vec::new(), Vec::new()];
                for node in (0..nodes).filter(|_| rule.has_edges()) {
                    let degree = network.graph.adjacency.row(node as usize).len()
                        - usize::from(network.graph.adjacency.contains(node as usize, node));
                    let share =
                        if rule.reads_sender() { root_part(network.size(rule, node, degree + 1)) } else { Stored::ONE };
                    let sent = messages[node as usize][term * layer.outputs + unit];
                    for (list, x) in both.iter_mut().zip([sent.upper, -sent.lower]) {
                        if x.is_positive() {
                            list.push((node, x.times(share)));
                        }
                    }
                }
                both.iter_mut().for_each(|list| list.sort_by(|x, y| y.1.order(x.1)));
                order.push(both);
            }
        }
        Ok(Lists { order })
    }

    /// Not below the sum of the `count` largest of nodes that are not in a row.
    fn top(&self, at: usize, side: usize, count: usize, row: &[u32], node: u32) -> Up {
        let others = self.order[at][side].iter().filter(|of| of.0 != node && row.binary_search(&of.0).is_err());
        others.take(count).fold(Up::ZERO, |sum, of| sum.plus(of.1))
    }
}

/// What a node sends to the target through weights of the second layer, after any set of at most `B` insertions that
/// links both.
///
/// # Errors
/// If it takes too long.
pub fn linked(
    sizes: &Sizes,
    path: &ChangePath,
    lists: &Lists,
    [target, node]: [u32; 2],
    image: &Image,
    meter: &Meter,
) -> Result<Vec<Interval>, Reason> {
    let (network, graph) = (sizes.network, sizes.graph);
    let layer = &network.layers[0];
    let (row, degree) = (graph.row(node), graph.degree(node));
    let messages = |n: u32| sent::<Interval>(network, 0, n, meter);
    let (own, there) = (messages(node)?, messages(target)?);
    let around: Vec<&[Interval]> = row.iter().map(|&n| messages(n)).collect::<Result<_, _>>()?;
    let (others, nodes) = (path.left().saturating_sub(1), network.graph.adjacency.rows);
    let mut found: Option<Vec<Interval>> = None;
    for more in 0..=others.min(path.cap(node).saturating_sub(1)) {
        let left = others - more;
        let senders = 2 * row.len() + 4 + more.min(nodes) + left.min(nodes);
        meter.spend((16 * senders * layer.rules.len() * layer.outputs + 4 * image.weights.len()) as u64)?;
        let mut units = Vec::with_capacity(layer.outputs);
        for unit in 0..layer.outputs {
            let mut z = Interval::from(layer.bias(node, unit));
            for (term, &rule) in layer.rules.iter().enumerate() {
                let of = |messages: &[Interval]| messages[term * layer.outputs + unit];
                z = z.plus(of(own).scaled(network.own_entry(rule, node, degree + 1 + more)));
                if !rule.has_edges() {
                    continue;
                }
                let here = network.size(rule, node, degree + 1 + more);
                // One more edge of a sender: no further one does more, since entries are convex in sizes.
                let mut step = Interval::ZERO;
                for (&n, messages) in row.iter().zip(&around) {
                    let there = |shift: i64| if rule.reads_sender() { sizes.size(rule, n, shift) } else { 1 };
                    let entry = |shift: i64| rule.entry(here, there(shift));
                    z = z.plus(of(messages).scaled(entry(0)));
                    if rule.reads_sender() && left > 0 {
                        let slack = Interval::from(entry(0)).times(Interval::from(Stored::new(1e-14)));
                        let fall = Interval::from(entry(1)).minus(entry(0).into()).minus(slack);
                        let fall = Interval { lower: fall.lower, upper: slack.upper };
                        step = step.hull(fall.times(of(messages)));
                    }
                }
                let along = sizes.entry(rule, here, target, 1..=1 + left.min(nodes) as i64);
                z = z.plus(along.times(of(there)));
                // An insertion gives one more edge to two senders, at most.
                z = z.plus(step.scaled(Stored::count(2 * left)));
                if more > 0 {
                    let share = if rule.reads_sender() { root_part(here) } else { rule.entry(here, 1) };
                    let at = term * layer.outputs + unit;
                    let [rise, fall] = [0, 1].map(|side| lists.top(at, side, more, &row, node).times(share));
                    z = z.plus(Interval { lower: -fall, upper: rise });
                }
            }
            units.push(if layer.is_linear(unit) { z } else { z.positive_part() });
        }
        let sums = image.apply(&units);
        found = Some(match found {
            None => sums,
            Some(before) => before.into_iter().zip(sums).map(|(x, y)| x.hull(y)).collect(),
        });
    }
    Ok(found.unwrap_or_default())
}

/// May the leaf use lists: one hidden layer, insertions of undirected edges, all pairs of nodes candidates?
pub fn apply(path: &ChangePath, network: &ChangeNetwork) -> bool {
    network.layers.len() == 2 && network.graph.batch.is_none() && !network.directed && path.inserts_all()
}
