//! Brute force on the network itself: every admissible perturbation, and the nodes that it breaks.

use std::collections::{BTreeMap, BTreeSet};

use crate::enumeration::{TooMany, visit};
use crate::instance::{Flip, Instance};

/// What trying everything finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// The most predictions that one perturbation breaks.
    pub most: usize,
    /// The first perturbation that does.
    pub flips: Vec<Flip>,
    /// By node: the smallest number of flips that breaks it, if some admissible perturbation does.
    pub needed: Vec<Option<usize>>,
    /// By node: for every flip of its sources that takes part in breaking it, the smallest number of flips of its
    /// sources that does, with this one among them.
    pub sizes: Vec<BTreeMap<Flip, usize>>,
    /// By node: the nodes whose attributes it depends on.
    pub sources: Vec<BTreeSet<usize>>,
    /// The margin nearest to zero, over all perturbations and nodes: what is as small as a rounding error decides
    /// nothing.
    pub nearest: f64,
}

/// Tries every admissible perturbation of a whole graph, if there are at most `limit`; those of more than `attacked`
/// nodes are passed over. The last layer of the instance has a row for every node; `nodes` are those that count, each
/// with the class that it is to keep. It is broken if another class is at least as large.
///
/// # Errors
/// If there are more.
///
/// # Panics
/// If the instance is not valid but for its last layer, or a node is outside it.
pub fn truth(
    instance: &Instance,
    nodes: &[(usize, usize)],
    attacked: Option<usize>,
    limit: u128,
) -> Result<Truth, TooMany> {
    let sources: Vec<BTreeSet<usize>> = nodes.iter().map(|&(node, _)| sources_of(instance, node)).collect();
    let (count, nearest) = (nodes.len(), f64::INFINITY);
    let (needed, sizes) = (vec![None; count], vec![BTreeMap::new(); count]);
    let mut truth = Truth { needed, sizes, sources, nearest, ..Truth::default() };
    visit(instance, limit, |flips| {
        let rows: BTreeSet<usize> = flips.iter().map(|flip| flip.0).collect();
        if attacked.is_some_and(|most| rows.len() > most) {
            return;
        }
        let representations = instance.pre_activations(flips);
        let logits = representations.last().expect("a valid instance has a layer");
        let mut broken = 0;
        for (at, &(node, class)) in nodes.iter().enumerate() {
            let row = logits.row(node);
            let others = row.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, &logit)| logit);
            let margin = row[class] - others.fold(f64::NEG_INFINITY, f64::max);
            truth.nearest = truth.nearest.min(margin.abs());
            if margin > 0.0 {
                continue;
            }
            broken += 1;
            let own: Vec<Flip> = flips.iter().copied().filter(|flip| truth.sources[at].contains(&flip.0)).collect();
            let least = truth.needed[at].get_or_insert(own.len());
            *least = own.len().min(*least);
            for flip in &own {
                let size = truth.sizes[at].entry(*flip).or_insert(own.len());
                *size = own.len().min(*size);
            }
        }
        if broken > truth.most {
            truth.most = broken;
            truth.flips = flips.to_vec();
        }
    })?;
    Ok(truth)
}

/// The nodes whose attributes a node's logits read.
fn sources_of(instance: &Instance, node: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::from([node]);
    for layer in instance.layers.iter().rev() {
        let entries = layer.terms.iter().flat_map(|term| &term.passing.entries);
        let read = entries.filter(|entry| reached.contains(&entry.0)).map(|entry| entry.1);
        reached = read.collect();
    }
    reached
}
