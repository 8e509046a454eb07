//! All perturbations of a small problem, one by one: how many predictions the worst of them breaks, exactly. Where
//! shares of the flips are known, perturbations that cannot break more than one that is known are passed over
//! (docs/math.md §20.6).

use std::collections::BTreeSet;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::replay::breaks;
use crate::collective::row::ONE;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::problem::slice::Slice;
use crate::search::limits::Stop;

/// What is known before a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// By node: a share of every flip, in their order. A perturbation whose shares do not sum to one does not break the
    /// node. None for nodes of which nothing is known.
    pub(crate) shares: Vec<Option<Vec<u32>>>,
    /// A perturbation, and how many predictions it breaks.
    pub(crate) best: (usize, Vec<Flip>),
}

/// The perturbation that breaks most, and how many; `None` if there are more than `most` perturbations to look at, or
/// `stop` is set.
pub(crate) fn worst(
    prepared: &Prepared,
    nodes: &[(usize, usize)],
    attacked_nodes: Option<usize>,
    most: usize,
    flips: &[Flip],
    hints: Hints,
    stop: &Stop,
) -> Option<(usize, Vec<Flip>)> {
    let mut listing = SubsetListing {
        prepared,
        nodes,
        flips,
        attacked_nodes: attacked_nodes.unwrap_or(usize::MAX),
        left: most,
        best: hints.best,
        made: Vec::new(),
        sums: vec![0; hints.shares.len()],
        shares: hints.shares,
        workspace: Workspace::default(),
        stop,
    };
    listing.visit(0).then_some(listing.best)
}

/// All flips that these nodes depend on, if they are not more than `most`.
pub(crate) fn permitted(prepared: &Prepared, nodes: &[(usize, usize)], most: usize) -> Option<Vec<Flip>> {
    let (graph, budget) = (prepared.graph(), prepared.budget());
    let mut slice = Slice::default();
    let mut sources = BTreeSet::new();
    for &(node, _) in nodes {
        slice.cut(prepared.network(), prepared.network().depth(), node);
        sources.extend(slice.nodes(1).iter().copied().filter(|&source| budget.local(source as usize) > 0));
        if sources.len() > most {
            return None;
        }
    }
    let mut flips = Vec::new();
    for node in sources {
        for attribute in 0..graph.attribute_count() as u32 {
            let present = graph.attributes().contains(node as usize, attribute);
            if budget.permits(node as usize, attribute as usize, present) {
                flips.push(Flip { node, attribute });
            }
        }
        if flips.len() > most {
            return None;
        }
    }
    Some(flips)
}

struct SubsetListing<'a> {
    prepared: &'a Prepared,
    nodes: &'a [(usize, usize)],
    flips: &'a [Flip],
    attacked_nodes: usize,
    left: usize,
    best: (usize, Vec<Flip>),
    made: Vec<Flip>,
    /// By node: shares of all flips, and the sum of those that are made.
    shares: Vec<Option<Vec<u32>>>,
    sums: Vec<u64>,
    workspace: Workspace,
    stop: &'a Stop,
}

impl SubsetListing<'_> {
    /// Looks at the present set, and at all that add flips from `first` on. False if there are too many.
    fn visit(&mut self, first: usize) -> bool {
        let Some(left) = self.left.checked_sub(1).filter(|_| !self.stop.is_set()) else { return false };
        self.left = left;
        let SubsetListing { prepared, nodes, made, workspace, .. } = self;
        let count =
            nodes.iter().filter(|&&(node, reference)| breaks(prepared, node, reference, made, workspace)).count();
        if count > self.best.0 {
            self.best = (count, self.made.clone());
        }
        for at in first..self.flips.len() {
            if self.fits(self.flips[at]) {
                // Flips are added in their order, so all that is left uses flips from `at` on; no later start can do
                // more.
                if self.possible(at) <= self.best.0 {
                    return true;
                }
                self.make(at);
                let whole = self.visit(at + 1);
                self.undo(at);
                if !whole {
                    return false;
                }
            }
        }
        true
    }

    fn make(&mut self, at: usize) {
        self.made.push(self.flips[at]);
        for (sum, shares) in self.sums.iter_mut().zip(&self.shares) {
            *sum += shares.as_ref().map_or(0, |shares| u64::from(shares[at]));
        }
    }

    fn undo(&mut self, at: usize) {
        self.made.pop();
        for (sum, shares) in self.sums.iter_mut().zip(&self.shares) {
            *sum -= shares.as_ref().map_or(0, |shares| u64::from(shares[at]));
        }
    }

    /// How many nodes may break if only flips from `first` on are added.
    fn possible(&self, first: usize) -> usize {
        let left = self.prepared.budget().global().saturating_sub(self.made.len());
        let may_break = |(sum, shares): &(&u64, &Option<Vec<u32>>)| {
            let Some(shares) = shares else { return true };
            let mut open: Vec<u32> = shares[first..].to_vec();
            open.sort_unstable_by(|x, y| y.cmp(x));
            *sum + open.into_iter().take(left).map(u64::from).sum::<u64>() >= u64::from(ONE)
        };
        if self.shares.is_empty() { usize::MAX } else { self.sums.iter().zip(&self.shares).filter(may_break).count() }
    }

    fn fits(&self, flip: Flip) -> bool {
        let budget = self.prepared.budget();
        let used = self.made.iter().filter(|made| made.node == flip.node).count();
        let mut nodes: Vec<u32> = self.made.iter().map(|made| made.node).chain([flip.node]).collect();
        nodes.dedup();
        self.made.len() < budget.global()
            && used < budget.local(flip.node as usize)
            && nodes.len() <= self.attacked_nodes
    }
}
