//! How far flips of attributes can move what nodes send and receive in the first layer (`FORMAT-EDGES.md` §9.3).

use std::sync::OnceLock;

use super::margin::sent;
use super::moved::Image;
use super::network::ChangeNetwork;
use super::sizes::Sizes;
use crate::number::{Interval, Stored, Up};
use crate::statement::Budget;
use crate::verdict::Reason;
use crate::work::Meter;

/// What single flips can do to a number, the largest first: how far they raise it, and how far they lower it.
type Moves = [Vec<Up>; 2];

/// What flips of a budget can do to messages of the first layer; found when it is first asked for.
pub struct FlipMoves<'a> {
    network: &'a ChangeNetwork<'a>,
    budget: &'a Budget<'a>,
    first: Image,
    /// By node, then by term and output.
    nodes: Vec<OnceLock<Vec<Moves>>>,
}

/// Takes in a number that may be among the `most` largest positive ones.
fn keep(list: &mut Vec<Up>, x: Up, most: usize) {
    if !x.is_positive() || list.len() == most && list.last().is_none_or(|least| x.order(*least).is_le()) {
        return;
    }
    let place = list.partition_point(|y| y.order(x).is_ge());
    list.insert(place, x);
    list.truncate(most);
}

/// Where a number can be moved by all of some flips together.
fn range([rises, falls]: &Moves) -> Interval {
    let sum = |list: &[Up]| list.iter().fold(Up::ZERO, |sum, x| sum.plus(*x));
    Interval { lower: -sum(falls), upper: sum(rises) }
}

impl<'a> FlipMoves<'a> {
    pub fn new(network: &'a ChangeNetwork<'a>, budget: &'a Budget<'a>) -> FlipMoves<'a> {
        let nodes = (0..network.graph.attributes.rows).map(|_| OnceLock::new()).collect();
        FlipMoves { network, budget, first: Image::of_layer(&network.layers[0]), nodes }
    }

    /// By term and output: the largest moves by single flips of a node, as many as may be made there.
    fn through(&self, node: u32, image: &Image, meter: &Meter) -> Result<Vec<Moves>, Reason> {
        let most = self.budget.local(node).min(self.budget.global);
        let mut moves: Vec<Moves> = vec![Moves::default(); image.width()];
        let inputs = self.network.layers[0].inputs;
        meter.spend(8 * (inputs * image.width()) as u64)?;
        for attribute in (0..inputs as u32).filter(|_| most > 0) {
            let present = self.network.graph.attributes.contains(node as usize, attribute);
            if !self.budget.permits((node, attribute), present) {
                continue;
            }
            for (at, [rises, falls]) in moves.iter_mut().enumerate() {
                let (term, output) = (at / image.outputs, at % image.outputs);
                let weight = image.weights[(term * inputs + attribute as usize) * image.outputs + output];
                let change = if present { -weight } else { weight };
                keep(rises, change.upper, most);
                keep(falls, -change.lower, most);
            }
        }
        Ok(moves)
    }

    fn moves(&self, node: u32, meter: &Meter) -> Result<&[Moves], Reason> {
        let place = &self.nodes[node as usize];
        if let Some(known) = place.get() {
            return Ok(known);
        }
        let found = self.through(node, &self.first, meter)?;
        Ok(place.get_or_init(|| found))
    }

    /// How far flips move what a node sends through the weights of the first layer, by term and output.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn sent(&self, node: u32, meter: &Meter) -> Result<Vec<Interval>, Reason> {
        Ok(self.moves(node, meter)?.iter().map(range).collect())
    }

    /// The same through other weights.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn sent_through(&self, node: u32, image: &Image, meter: &Meter) -> Result<Vec<Interval>, Reason> {
        Ok(self.through(node, image, meter)?.iter().map(range).collect())
    }

    /// What a node receives in the first layer on the graph of the path, whatever is flipped, without biases.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn received(&self, sizes: &Sizes, node: u32, meter: &Meter) -> Result<Vec<Interval>, Reason> {
        let network = self.network;
        let layer = &network.layers[0];
        let row = if layer.passes() { sizes.graph.row(node) } else { Vec::new() };
        let mut entries: Vec<(usize, Stored, u32)> = Vec::new();
        for (term, &rule) in layer.rules.iter().enumerate() {
            entries.push((term, network.own_entry(rule, node, sizes.graph.degree(node)), node));
            let here = sizes.size(rule, node, 0);
            entries.extend(row.iter().filter(|_| rule.has_edges()).map(|&other| {
                let there = if rule.reads_sender() { sizes.size(rule, other, 0) } else { 1 };
                (term, rule.entry(here, there), other)
            }));
            let (nodes, entry) = network.pooled(rule, node);
            entries.extend(nodes.map(|other| (term, entry, other)));
        }
        entries.retain(|(_, entry, _)| !entry.is_zero());
        let (outputs, most) = (layer.outputs, self.budget.global);
        meter.spend(32 * (entries.len() * outputs) as u64)?;
        let mut sums = vec![Interval::ZERO; outputs];
        let mut moves: Vec<Moves> = vec![Moves::default(); layer.rules.len() * outputs];
        for (term, entry, sender) in entries {
            let messages: &[Interval] = sent(network, 0, sender, meter)?;
            let single = self.moves(sender, meter)?;
            for (output, sum) in sums.iter_mut().enumerate() {
                let at = term * outputs + output;
                *sum = sum.plus(messages[at].scaled(entry));
                let [rises, falls] = &mut moves[at];
                let both = if entry.is_positive() { [rises, falls] } else { [falls, rises] };
                for (list, amounts) in both.into_iter().zip(&single[at]) {
                    amounts.iter().for_each(|x| keep(list, x.times(entry.size()), most));
                }
            }
        }
        // A flip moves all terms at once: the largest of each term together are not less.
        for (at, of_term) in moves.iter().enumerate() {
            sums[at % outputs] = sums[at % outputs].plus(range(of_term));
        }
        Ok(sums)
    }
}
