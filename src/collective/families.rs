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

/// Flips that no row names are worth at most this share of a node together, so that they are never among the best.
const UNNAMED: u32 = ONE / 3;

/// Flips with a larger share than this are always named.
const LARGE: u32 = ONE / 10;

/// The rows of nodes at the budget of `prepared`, each node with the class that it is to keep. Nodes without rows have none where `stop` was set.
pub fn rows(prepared: &Prepared, nodes: &[(&Base, usize)], rows: Rows, stop: &Stop) -> Vec<NodeRows> {
    let mut found: Vec<NodeRows> =
        nodes.par_iter().map_init(Slice::default, |slice, (base, _)| count_row(prepared, base, slice)).collect();
    if rows == Rows::Count {
        return found;
    }
    // How many nodes depend on each source node.
    let mut dependents: BTreeMap<u32, u32> = BTreeMap::new();
    for (source, _) in found.iter().flat_map(|of| &of.rows).flat_map(|row| &row.defaults) {
        *dependents.entry(*source).or_default() += 1;
    }
    let threshold = |source: u32| (UNNAMED / dependents.get(&source).copied().unwrap_or(1).max(1)).clamp(1, LARGE);
    let targets: Vec<usize> = nodes.iter().map(|(base, _)| base.node).collect();
    let at_targets = prepared.for_targets(&targets);
    found.par_iter_mut().zip(nodes).for_each_init(Workspace::default, |workspace, (found, (base, reference))| {
        if stop.is_set() {
            return;
        }
        // The row of sizes is nowhere above that of counts.
        match weight_rows(&at_targets, (base, rows), *reference, threshold, workspace) {
            Some(better) => *found = better,
            None if rows == Rows::Provable => *found = NodeRows::default(),
            None => {}
        }
    });
    found
}

fn count_row(prepared: &Prepared, base: &Base, slice: &mut Slice) -> NodeRows {
    slice.cut(prepared.network(), prepared.network().depth(), base.node);
    let mut sources: Vec<u32> = slice.nodes(1).to_vec();
    sources.retain(|&source| prepared.budget().local(source as usize) > 0);
    sources.sort_unstable();
    NodeRows { kinds: vec![Kind::Count(base.needed)], rows: vec![Row::count(sources.into_iter(), base.needed)] }
}

/// The rows of weights at the budget of `prepared`.
fn weight_rows(
    prepared: &Prepared,
    (base, rows): (&Base, Rows),
    reference: usize,
    threshold: impl Fn(u32) -> u32,
    workspace: &mut Workspace,
) -> Option<NodeRows> {
    let weights = Weights::new(prepared, (base.node, reference), threshold, workspace)?;
    let local = |source: u32| prepared.budget().local(source as usize);
    let provable = rows == Rows::Provable;
    let needed = if provable { 1 } else { base.needed };
    let by_size = weights.size_row(local, needed, prepared.budget().global(), !provable);
    // No perturbation has weights that sum to one: the node is safe, by a row without shares.
    if by_size.entries.is_empty() && by_size.defaults.iter().all(|default| default.1 == 0) {
        return Some(NodeRows { kinds: vec![Kind::Size], rows: vec![Row::default()] });
    }
    Some(NodeRows { kinds: vec![Kind::Weight, Kind::Size], rows: vec![weights.row(), by_size] })
}
