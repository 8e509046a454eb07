//! All perturbations of a small problem, one by one: how many predictions the worst of them breaks, exactly.

use std::collections::BTreeSet;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::replay::breaks;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::problem::slice::Slice;

/// The perturbation that breaks most, and how many; `None` if there are more perturbations than `most`.
pub(crate) fn worst(
    prepared: &Prepared,
    nodes: &[(usize, usize)],
    attacked_nodes: Option<usize>,
    most: usize,
) -> Option<(usize, Vec<Flip>)> {
    let flips = permitted(prepared, nodes, most)?;
    let mut listing = Listing {
        prepared,
        nodes,
        flips: &flips,
        attacked_nodes: attacked_nodes.unwrap_or(usize::MAX),
        left: most,
        best: (0, Vec::new()),
        made: Vec::new(),
        workspace: Workspace::default(),
    };
    listing.go(0).then_some(listing.best)
}

/// All flips that these nodes depend on, if they are not more than `most`.
fn permitted(prepared: &Prepared, nodes: &[(usize, usize)], most: usize) -> Option<Vec<Flip>> {
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

struct Listing<'a> {
    prepared: &'a Prepared,
    nodes: &'a [(usize, usize)],
    flips: &'a [Flip],
    attacked_nodes: usize,
    left: usize,
    best: (usize, Vec<Flip>),
    made: Vec<Flip>,
    workspace: Workspace,
}

impl Listing<'_> {
    /// Looks at the present set, and at all that add flips from `first` on. False if there are too many.
    fn go(&mut self, first: usize) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let Listing { prepared, nodes, made, workspace, .. } = self;
        let count = nodes.iter().filter(|&&node| breaks(prepared, node, made, workspace)).count();
        if count > self.best.0 {
            self.best = (count, self.made.clone());
        }
        for at in first..self.flips.len() {
            if self.fits(self.flips[at]) {
                self.made.push(self.flips[at]);
                let whole = self.go(at + 1);
                self.made.pop();
                if !whole {
                    return false;
                }
            }
        }
        true
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
