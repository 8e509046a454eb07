//! Which rows a node gets.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::base::Base;
use crate::collective::row::{ONE, Row};
use crate::collective::weights::Weights;
use crate::problem::slice::Slice;
use crate::search::limits::Stop;

/// What a row rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Any set that breaks the node has so many flips.
    Count(usize),
    /// Weights.
    Weight,
    /// Sizes of breaking sets, by weights.
    Size,
    /// Weights, once some flips are taken as made.
    Cover,
}

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// One per node, by its radius.
    Count,
    /// And those of its weights.
    #[default]
    All,
    /// Those of its weights alone: what a proof can state.
    Provable,
}

/// The rows of one node.
#[derive(Clone, Debug, Default)]
pub struct NodeRows {
    /// What each rests on.
    pub kinds: Vec<Kind>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// What flips that no row names are worth at most, and what rows that do not name a flip add to it: a small part of a node, and less where the best flips of
/// many are worth less.
fn unnamed(global: usize) -> u32 {
    (f64::from(ONE / 8) * (12.0 / (global.max(1) as f64).sqrt()).min(1.0)) as u32
}

/// The rows of nodes at the budget of `prepared`, each node with the class that it is to keep. Nodes without rows have none where `stop` was set.
pub fn rows(prepared: &Prepared, nodes: &[(&Base, usize)], rows: Rows, stop: &Stop) -> Vec<NodeRows> {
    let mut found: Vec<NodeRows> =
        nodes.par_iter().map_init(Slice::default, |slice, (base, _)| count_row(prepared, base, slice)).collect();
    if rows == Rows::Count {
        return found;
    }
    let targets: Vec<usize> = nodes.iter().map(|(base, _)| base.node).collect();
    let at_targets = prepared.for_targets(&targets);
    let largest = |workspace: &mut Workspace, &(base, reference): &(&Base, usize)| {
        if stop.is_set() { None } else { Weights::largest(&at_targets, (base.node, reference), workspace) }
    };
    // What the flips of each source node are worth at most, all nodes together.
    let largest: Vec<Option<Vec<(u32, u32)>>> = nodes.par_iter().map_init(Workspace::default, largest).collect();
    let mut worth: BTreeMap<u32, u64> = BTreeMap::new();
    for &(source, share) in largest.iter().flatten().flatten() {
        *worth.entry(source).or_default() += u64::from(share);
    }
    // Flips that are not named are worth at most this together: each node leaves its part of it unnamed.
    let unnamed = u64::from(unnamed(prepared.budget().global()));
    let part = |&(source, share): &(u32, u32)| {
        let all = worth.get(&source).copied().unwrap_or(0).max(unnamed);
        // At most the share itself, which fits.
        (source, (u64::from(share) * unnamed / all) as u32)
    };
    found.par_iter_mut().zip(nodes).enumerate().for_each_init(
        Workspace::default,
        |workspace, (at, (found, (base, reference)))| {
            if stop.is_set() {
                return;
            }
            if rows == Rows::Provable {
                *found = NodeRows::default();
            }
            // In rising order of the sources.
            let Some(largest) = &largest[at] else { return };
            let parts: Vec<(u32, u32)> = largest.iter().map(part).collect();
            let threshold = |source: u32| {
                let place = parts.binary_search_by_key(&source, |part| part.0);
                place.map_or(ONE, |place| parts[place].1)
            };
            weight_rows(&at_targets, (base, rows), *reference, threshold, (found, workspace));
        },
    );
    found
}

fn count_row(prepared: &Prepared, base: &Base, slice: &mut Slice) -> NodeRows {
    slice.cut(prepared.network(), prepared.network().depth(), base.node);
    let mut sources: Vec<u32> = slice.nodes(1).to_vec();
    sources.retain(|&source| prepared.budget().local(source as usize) > 0);
    sources.sort_unstable();
    NodeRows { kinds: vec![Kind::Count(base.needed)], rows: vec![Row::count(sources.into_iter(), base.needed)] }
}

/// Adds the rows of weights at the budget of `prepared`.
fn weight_rows(
    prepared: &Prepared,
    (base, rows): (&Base, Rows),
    reference: usize,
    threshold: impl Fn(u32) -> u32,
    (found, workspace): (&mut NodeRows, &mut Workspace),
) {
    let Some(weights) = Weights::new(prepared, (base.node, reference), threshold, workspace) else { return };
    let local = |source: u32| prepared.budget().local(source as usize);
    let global = prepared.budget().global();
    // No perturbation has weights that sum to one: the node is safe, by a row of sizes without shares.
    if !weights.suffice(local, global) {
        *found = NodeRows { kinds: vec![Kind::Size], rows: vec![Row::default()] };
        return;
    }
    found.kinds.push(Kind::Weight);
    found.rows.push(weights.row());
    if rows == Rows::Provable {
        found.kinds.push(Kind::Size);
        found.rows.push(weights.size_row(local, 1, global, false));
    }
}
