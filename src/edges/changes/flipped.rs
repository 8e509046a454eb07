//! How far flips of attributes can move what nodes send in the first layer, and the first pre-activations (docs/math.md (26.2)).

use std::sync::{Arc, OnceLock};

use crate::edges::changes::span::{Span, down, up};
use crate::edges::changes::stack::Stack;
use crate::edges::changes::units::Weights;
use crate::edges::changes::world::World;
use crate::problem::budget::Budget;
use crate::problem::matrix::PatternRows;

/// The largest rises and falls of messages by single flips; found when they are first asked for.
#[derive(Debug)]
pub(crate) struct FlippedMessages {
    stack: Arc<Stack>,
    budget: Budget,
    nodes: Vec<OnceLock<Vec<Moves>>>,
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
        FlippedMessages { stack, budget, nodes }
    }

    /// Flips at a node, at most.
    fn most(&self, node: u32) -> usize {
        self.budget.local(node as usize).min(self.budget.global())
    }

    /// Each attribute of a node that may be flipped, and the sign of what that adds.
    fn each(&self, node: u32, mut take: impl FnMut(usize, f64)) {
        let graph = &self.stack.graph;
        for attribute in 0..graph.attribute_count() {
            let present = graph.attributes().contains(node as usize, attribute as u32);
            if self.budget.permits(node as usize, attribute, present) {
                take(attribute, if present { -1.0 } else { 1.0 });
            }
        }
    }

    /// By term and output.
    fn moves(&self, node: u32) -> &[Moves] {
        self.nodes[node as usize].get_or_init(|| {
            let layer = &self.stack.network.layers()[0];
            let (terms, inputs, outputs) = (self.stack.rules[0].len(), layer.inputs(), layer.outputs());
            let mut moves = vec![Moves::default(); terms * outputs];
            let most = self.most(node);
            if most > 0 {
                self.each(node, |attribute, sign| {
                    for k in 0..terms {
                        let row = layer.weight.row(k * inputs + attribute);
                        for (moves, &w) in moves[k * outputs..][..outputs].iter_mut().zip(row) {
                            moves.take(Span::of(sign * w), most);
                        }
                    }
                });
            }
            moves
        })
    }

    /// How far flips move what a node sends, by term and output.
    pub(crate) fn sent(&self, node: u32) -> Vec<Span> {
        self.moves(node).iter().map(Moves::span).collect()
    }

    /// The same of what it sends through other weights, by term.
    pub(crate) fn sent_through(&self, node: u32, weights: &Weights) -> Vec<Span> {
        let mut moves = vec![Moves::default(); weights.terms];
        let most = self.most(node);
        if most > 0 {
            self.each(node, |attribute, sign| {
                for (k, moves) in moves.iter_mut().enumerate() {
                    moves.take(weights.values[k * weights.inputs + attribute].scaled(sign), most);
                }
            });
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
