//! Which rows a node gets, and what all flips of the graph are worth in them.

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::base::Base;
use crate::collective::named::Named;
use crate::collective::row::{ONE, ShareRow};
use crate::collective::sums::ShareSums;
use crate::collective::weights::{Common, FlipShares, named_row};
use crate::problem::flip::Flip;
use crate::problem::slice::Slice;
use crate::search::limits::{Clock, Stop};

/// What a row rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// Any set that breaks the node has at least so many flips.
    Count(usize),
    /// Shares of the margin, from the bound that is linear in the flips (docs/math.md (20.2)).
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
    /// Those of its weights and covers of them: what a proof can state.
    Provable,
    /// Those of its weights alone, rounded as a whole.
    Weights,
}

impl Rows {
    /// Are fractional attacks cut down by covers, and components rounded by themselves?
    pub(crate) fn are_sharpened(self) -> bool {
        matches!(self, Rows::All | Rows::Provable)
    }
}

/// The inequalities of one node: each holds for every perturbation that breaks it.
#[derive(Clone, Debug, Default)]
pub struct NodeRows {
    /// What each rests on.
    pub kinds: Vec<RowKind>,
    /// As many as there are kinds.
    pub rows: Vec<ShareRow>,
    /// The flips that each row of the kind [`RowKind::Cover`] takes as made.
    pub covers: Vec<Vec<Flip>>,
}

impl NodeRows {
    fn one(kind: RowKind, row: ShareRow) -> NodeRows {
        NodeRows { kinds: vec![kind], rows: vec![row], covers: Vec::new() }
    }

    /// The row of weights, if there is one.
    pub(crate) fn weights(&self) -> Option<&ShareRow> {
        self.rows.first().filter(|_| self.kinds.first() == Some(&RowKind::Weight))
    }

    /// Adds the row of what remains once some flips are taken as made (docs/math.md (20.7)).
    pub(crate) fn cover(&mut self, flips: Vec<Flip>) {
        let Some(weights) = self.weights() else { return };
        let row = weights.without(&flips);
        self.kinds.push(RowKind::Cover);
        self.rows.push(row);
        self.covers.push(flips);
    }
}

impl NodeRows {
    /// Drops the covers whose multiplier is 0, and their multipliers.
    pub(crate) fn drop_unused_covers(&mut self, multipliers: &mut Vec<u32>) {
        let first = self.rows.len() - self.covers.len();
        let is_used: Vec<bool> = multipliers.iter().enumerate().map(|(row, &by)| row < first || by > 0).collect();
        let mut of_row = is_used.iter();
        self.rows.retain(|_| *of_row.next().unwrap_or(&true));
        let mut of_row = is_used.iter();
        self.kinds.retain(|_| *of_row.next().unwrap_or(&true));
        let mut of_cover = is_used[first..].iter();
        self.covers.retain(|_| *of_cover.next().unwrap_or(&true));
        let mut of_row = is_used.iter();
        multipliers.retain(|_| *of_row.next().unwrap_or(&true));
    }
}

/// What kind of rows a node has before covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Weight,
    Count,
    /// No admissible perturbation has weights that sum to one.
    Safe,
    None,
}

/// The rows of some nodes at a budget.
pub(crate) struct Families<'a> {
    prepared: Prepared,
    common: Common,
    nodes: &'a [(&'a Base, usize)],
    families: Vec<Family>,
    stop: &'a Stop,
}

impl<'a> Families<'a> {
    /// Finds out which rows nodes get, each node given with the class that it is to keep, and what all flips have in
    /// the rows of weights together. Where `stop` was set there are none.
    pub(crate) fn new(
        prepared: &Prepared,
        nodes: &'a [(&'a Base, usize)],
        rows: Rows,
        stop: &'a Stop,
    ) -> (Families<'a>, ShareSums) {
        let sums = ShareSums::new(prepared.graph().node_count(), nodes.len());
        let common = Common::new(prepared);
        if rows == Rows::Count {
            let families = vec![Family::Count; nodes.len()];
            return (Families { prepared: prepared.clone(), common, nodes, families, stop }, sums);
        }
        let targets: Vec<usize> = nodes.iter().map(|(base, _)| base.node).collect();
        let prepared = prepared.for_targets(&targets, &Clock { deadline: None, stop: stop.clone() });
        let budget = prepared.budget();
        let without = if rows == Rows::All { Family::Count } else { Family::None };
        let find = |(weights, workspace): &mut (FlipShares, Workspace), &(base, reference): &(&Base, usize)| {
            if stop.is_set() || !weights.find(&prepared, &common, base.node, reference, workspace) {
                return without;
            }
            if !weights.suffice(|source| budget.local(source as usize), budget.global()) {
                return Family::Safe;
            }
            for (source, shares) in weights.sources() {
                sums.add(source, shares.iter().copied());
            }
            Family::Weight
        };
        let families = nodes.par_iter().map_init(Default::default, find).collect();
        (Families { prepared, common, nodes, families, stop }, sums)
    }

    /// The rows, at named flips.
    pub(crate) fn rows(&self, named: &Named) -> Vec<NodeRows> {
        let row = |(workspace, slice): &mut (Workspace, Slice),
                   (&(base, reference), family): (&(&Base, usize), &Family)| {
            match family {
                _ if self.stop.is_set() => NodeRows::default(),
                Family::Weight => named_row(&self.prepared, base.node, reference, named, workspace)
                    .map_or_else(NodeRows::default, |row| NodeRows::one(RowKind::Weight, row)),
                Family::Count => NodeRows::one(RowKind::Count(base.needed), self.count_row(base, slice)),
                Family::Safe => NodeRows::one(RowKind::Size, ShareRow::default()),
                Family::None => NodeRows::default(),
            }
        };
        self.nodes.par_iter().zip(&self.families).map_init(Default::default, row).collect()
    }

    /// What all flips are worth under multipliers of the rows, given node by node, in the rows of weights and those
    /// that rest on them: `sums` says what they have in the rows of weights.
    pub(crate) fn worth(&self, rows: &[NodeRows], multipliers: &[&[u32]], sums: &ShareSums) -> ShareSums {
        let sums = sums.clone();
        self.nodes.par_iter().zip(rows).zip(multipliers).for_each_init(
            <(FlipShares, Workspace)>::default,
            |(weights, workspace), ((&(base, reference), rows), multipliers)| {
                let Some(row) = rows.weights() else { return };
                // What it has there is what it is worth.
                if *multipliers == [ONE] || self.stop.is_set() {
                    return;
                }
                let found = weights.find(&self.prepared, &self.common, base.node, reference, workspace);
                assert!(found, "the shares of node {} were found before", base.node);
                let one = f64::from(ONE);
                // Cut at one, a share is divided by what its cover leaves: in floats, and a little more than it can be.
                let rests = rows.covers.iter().map(|cover| one / f64::from(row.rest(cover)) * (1.0 + 1e-12));
                let of_covers: Vec<(f64, f64)> =
                    multipliers[1..].iter().map(|&by| f64::from(by)).zip(rests).filter(|of| of.0 > 0.0).collect();
                let multiplier = f64::from(multipliers[0]);
                // In the units of shares, rounded up; at most one, because the multipliers of a node are.
                let worth = |share: u32| {
                    let share = f64::from(share);
                    let covers = of_covers.iter().map(|(by, scale)| by * (share * scale + 1.0).min(one));
                    let sum = (multiplier * share + covers.sum::<f64>()) * (1.0 + 1e-12) / one;
                    if share > 0.0 { (sum as u32).saturating_add(1).min(ONE) } else { 0 }
                };
                for (source, shares) in weights.sources() {
                    sums.change(source, shares.iter().map(|&share| (share, worth(share))));
                }
            },
        );
        sums
    }

    fn count_row(&self, base: &Base, slice: &mut Slice) -> ShareRow {
        let network = self.prepared.network();
        slice.cut(network, network.depth(), base.node);
        let mut sources: Vec<u32> = slice.nodes(1).to_vec();
        sources.retain(|&source| self.prepared.budget().local(source as usize) > 0);
        sources.sort_unstable();
        ShareRow::count(sources.into_iter(), base.needed)
    }
}
