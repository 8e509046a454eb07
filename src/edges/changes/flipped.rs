//! How far flips of attributes can move what nodes send in the first layer, and the first pre-activations (docs/math.md
//! (26.2)).

use std::sync::{Arc, OnceLock};

use crate::edges::changes::span::{Span, down, up};
use crate::edges::changes::stack::Stack;
use crate::edges::changes::units::UnitWeights;
use crate::edges::changes::world::World;
use crate::problem::budget::Budget;
use crate::problem::matrix::PatternRows;

/// The largest rises and falls of messages by single flips; found when they are first asked for.
#[derive(Debug)]
pub(crate) struct FlippedMessages {
    stack: Arc<Stack>,
    budget: Budget,
    nodes: Vec<OnceLock<Vec<Moves>>>,
    /// By term and output: attributes by their weights.
    orders: OnceLock<Vec<Vec<u32>>>,
}

/// What single flips of a node's attributes do to a number, by size: as many as may be made at the node.
#[derive(Clone, Debug, Default)]
struct Moves {
    rises: Vec<f64>,
    falls: Vec<f64>,
}

/// Keeps the `most` largest numbers, descending.
fn keep(numbers: &mut Vec<f64>, x: f64, most: usize) {
    if x <= 0.0 || numbers.len() == most && numbers.last().is_none_or(|&least| x <= least) {
        return;
    }
    let place = numbers.partition_point(|&y| y >= x);
    numbers.insert(place, x);
    numbers.truncate(most);
}

/// A sum, rounded up.
fn total(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |sum, &x| if sum == 0.0 { x } else { up(sum + x) })
}

impl Moves {
    /// Takes in what a flip adds to the number.
    fn take(&mut self, change: Span, most: usize) {
        keep(&mut self.rises, change.hi, most);
        keep(&mut self.falls, -change.lo, most);
    }

    fn span(&self) -> Span {
        Span { lo: -total(&self.falls), hi: total(&self.rises) }
    }
}

impl FlippedMessages {
    pub(crate) fn new(stack: Arc<Stack>, budget: Budget) -> FlippedMessages {
        let nodes = (0..stack.graph.node_count()).map(|_| OnceLock::new()).collect();
        FlippedMessages { stack, budget, nodes, orders: OnceLock::new() }
    }

    /// Flips at a node, at most.
    fn most(&self, node: u32) -> usize {
        self.budget.local(node as usize).min(self.budget.global())
    }

    /// What flipping an attribute of a node adds to a number that it has with a weight, if it may be flipped.
    fn change(&self, node: u32, attribute: usize, present: bool, weight: Span) -> Option<Span> {
        let permitted = self.budget.permits(node as usize, attribute, present);
        permitted.then(|| if present { weight.negated() } else { weight })
    }

    /// By term and output.
    fn moves(&self, node: u32) -> &[Moves] {
        self.nodes[node as usize].get_or_init(|| {
            let orders = self.orders.get_or_init(|| self.sorted());
            let present = self.stack.graph.attributes().row(node as usize);
            let most = self.most(node);
            let of = |(at, order): (usize, &Vec<u32>)| {
                let mut moves = Moves::default();
                if most == 0 {
                    return moves;
                }
                let weight = |attribute: u32| self.weight(at, attribute as usize);
                let change = |attribute: u32, present: bool| {
                    self.change(node, attribute as usize, present, Span::of(weight(attribute)))
                };
                present.iter().filter_map(|&d| change(d, true)).for_each(|change| moves.take(change, most));
                // Of attributes that the node does not have, those with the largest weights and those with the
                // smallest.
                let added = |d: u32| present.binary_search(&d).is_err().then(|| change(d, false)).flatten();
                let rises = order.iter().copied().take_while(|&d| weight(d) > 0.0);
                rises.filter_map(added).take(most).for_each(|change| moves.take(change, most));
                let falls = order.iter().rev().copied().take_while(|&d| weight(d) < 0.0);
                falls.filter_map(added).take(most).for_each(|change| moves.take(change, most));
                moves
            };
            orders.iter().enumerate().map(of).collect()
        })
    }

    /// The weight of an attribute in a term and output of the first layer.
    fn weight(&self, at: usize, attribute: usize) -> f64 {
        let layer = &self.stack.network.layers()[0];
        let outputs = layer.outputs();
        layer.weight.get(at / outputs * layer.inputs() + attribute, at % outputs)
    }

    /// By term and output: all attributes, largest weights first.
    fn sorted(&self) -> Vec<Vec<u32>> {
        let layer = &self.stack.network.layers()[0];
        let order = |at: usize| {
            let mut all: Vec<u32> = (0..layer.inputs() as u32).collect();
            all.sort_by(|&x, &y| self.weight(at, y as usize).total_cmp(&self.weight(at, x as usize)));
            all
        };
        (0..self.stack.rules[0].len() * layer.outputs()).map(order).collect()
    }

    /// How far flips move what a node sends, by term and output.
    pub(crate) fn sent(&self, node: u32) -> Vec<Span> {
        self.moves(node).iter().map(Moves::span).collect()
    }

    /// The same of what it sends through other weights, by term.
    pub(crate) fn sent_through(&self, node: u32, weights: &UnitWeights) -> Vec<Span> {
        let mut moves = vec![Moves::default(); weights.terms];
        let (most, graph) = (self.most(node), &self.stack.graph);
        for attribute in (0..weights.inputs).filter(|_| most > 0) {
            let present = graph.attributes().contains(node as usize, attribute as u32);
            for (k, moves) in moves.iter_mut().enumerate() {
                let weight = weights.values[k * weights.inputs + attribute];
                self.change(node, attribute, present, weight).into_iter().for_each(|change| moves.take(change, most));
            }
        }
        moves.iter().map(Moves::span).collect()
    }

    /// How far flips move the pre-activations of a node in the first layer: `Q` of them in all.
    pub(crate) fn received(&self, node: u32, world: &World) -> Vec<Span> {
        let outputs = self.stack.network.layers()[0].outputs();
        let terms = self.stack.rules[0].len();
        let mut moves = vec![Moves::default(); terms * outputs];
        let most = self.budget.global();
        if most > 0 {
            self.stack.each_entry(0, node, world, |k, a, sender| {
                for (of, sent) in moves[k * outputs..][..outputs].iter_mut().zip(&self.moves(sender)[k * outputs..]) {
                    let (rises, falls) = if a > 0.0 { (&sent.rises, &sent.falls) } else { (&sent.falls, &sent.rises) };
                    rises.iter().for_each(|&x| keep(&mut of.rises, up(a.abs() * x), most));
                    falls.iter().for_each(|&x| keep(&mut of.falls, up(a.abs() * x), most));
                }
            });
        }
        let of_unit = |unit: usize| {
            // A flip moves all terms at once: the sum of the largest of each is not smaller.
            let terms = (0..terms).map(|k| moves[k * outputs + unit].span());
            terms.reduce(|x, y| Span { lo: down(x.lo + y.lo), hi: up(x.hi + y.hi) }).unwrap_or(Span::ZERO)
        };
        (0..outputs).map(of_unit).collect()
    }
}
