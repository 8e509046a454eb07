//! Which rows a node gets.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::base::Base;
use crate::collective::row::{ONE, Row};
use crate::collective::sums::Sums;
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

/// What the defaults of a source node sum to at most, over all nodes: a small part of a node, and less where the best flips of many are worth less.
fn unnamed(global: usize) -> u32 {
    (f64::from(ONE / 16) * (12.0 / (global.max(1) as f64).sqrt()).min(1.0)) as u32
}

/// How many flips are named: those that are worth most, and far more than a perturbation makes.
fn named(global: usize) -> usize {
    global.saturating_mul(50).saturating_add(20_000)
}

/// The rows of nodes at the budget of `prepared`, each node with the class that it is to keep, and what a flip that no row names has at most beside the
/// defaults, in the rows of all nodes together (docs/math.md (20.8)). Nodes without rows have none where `stop` was set.
pub fn rows(prepared: &Prepared, nodes: &[(&Base, usize)], rows: Rows, stop: &Stop) -> (Vec<NodeRows>, u64) {
    let count = |slice: &mut Slice, (base, _): &(&Base, usize)| count_row(prepared, base, slice);
    let mut found: Vec<NodeRows> = nodes.par_iter().map_init(Slice::default, count).collect();
    if rows == Rows::Count {
        return (found, 0);
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
    let unnamed = u64::from(unnamed(prepared.budget().global()));
    let part = |&(source, share): &(u32, u32)| {
        let all = worth.get(&source).copied().unwrap_or(0).max(unnamed);
        // At most the share itself, which fits.
        (source, (u64::from(share) * unnamed / all) as u32)
    };
    let parts: Vec<Option<Vec<(u32, u32)>>> =
        largest.iter().map(|of| of.as_ref().map(|of| of.iter().map(part).collect())).collect();
    // The part of a source node in the rows of the `at`-th node.
    let threshold = |at: usize, source: u32| -> u32 {
        let parts: &[(u32, u32)] = parts[at].as_deref().unwrap_or_default();
        parts.binary_search_by_key(&source, |part| part.0).map_or(ONE, |place| parts[place].1)
    };
    // First what every flip has in all rows together; then the rows, of the flips that have most.
    let sums = Sums::new(worth.keys().copied().collect(), prepared.graph().attribute_count());
    let local = |source: u32| prepared.budget().local(source as usize);
    let global = prepared.budget().global();
    found.par_iter_mut().zip(nodes).enumerate().for_each_init(
        Workspace::default,
        |workspace, (at, (found, (base, reference)))| {
            if rows == Rows::Provable {
                *found = NodeRows::default();
            }
            if stop.is_set() || largest[at].is_none() {
                return;
            }
            let weights = Weights::new(&at_targets, (base.node, *reference), |source| threshold(at, source), workspace);
            let Some(weights) = weights else { return };
            // No perturbation has weights that sum to one: the node is safe, by a row of sizes without shares.
            if !weights.suffice(local, global) {
                *found = NodeRows { kinds: vec![Kind::Size], rows: vec![Row::default()] };
                return;
            }
            sums.add(&weights);
            *found = NodeRows { kinds: vec![Kind::Weight], rows: Vec::new() };
        },
    );
    let (cap, listed) = sums.best(named(global));
    let of_source = |source: u32| listed.get(&source).cloned().unwrap_or_default();
    found.par_iter_mut().zip(nodes).enumerate().for_each_init(
        Workspace::default,
        |workspace, (at, (found, (base, reference)))| {
            if found.kinds != [Kind::Weight] {
                return;
            }
            let target = (base.node, *reference);
            let weights = Weights::listed(&at_targets, target, |source| threshold(at, source), &of_source, workspace);
            match weights.filter(|_| !stop.is_set()) {
                Some(weights) => found.rows.push(weights.row()),
                None => *found = NodeRows::default(),
            }
        },
    );
    (found, cap)
}

fn count_row(prepared: &Prepared, base: &Base, slice: &mut Slice) -> NodeRows {
    slice.cut(prepared.network(), prepared.network().depth(), base.node);
    let mut sources: Vec<u32> = slice.nodes(1).to_vec();
    sources.retain(|&source| prepared.budget().local(source as usize) > 0);
    sources.sort_unstable();
    NodeRows { kinds: vec![Kind::Count(base.needed)], rows: vec![Row::count(sources.into_iter(), base.needed)] }
}
