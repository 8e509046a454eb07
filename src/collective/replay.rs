//! A perturbation on the true network for all nodes that count: which are broken, exactly.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
use crate::search::pair::difference;

/// The nodes that a perturbation breaks, of those that are given with the class that each is to keep, in rising order.
/// A node is broken if another class is at least as large.
pub fn broken(prepared: &Prepared, nodes: &[(usize, usize)], flips: &[Flip]) -> Vec<usize> {
    let reached = reached(prepared, flips);
    let is_broken = |workspace: &mut Workspace, &(node, reference): &(usize, usize)| {
        let flips = if reached.contains(&(node as u32)) { flips } else { &[] };
        breaks(prepared, node, reference, flips, workspace).then_some(node)
    };
    let mut nodes: Vec<usize> = nodes.par_iter().map_init(Workspace::default, is_broken).flatten().collect();
    nodes.sort_unstable();
    nodes
}

/// Does a perturbation break this node?
pub fn breaks(prepared: &Prepared, node: usize, reference: usize, flips: &[Flip], workspace: &mut Workspace) -> bool {
    let last = prepared.unperturbed_logits();
    let logits: Vec<Enclosure> = if flips.is_empty() {
        (0..prepared.network().class_count()).map(|class| last.entry(node, class)).collect()
    } else {
        prepared.set_target(node, workspace);
        prepared.logits(flips, workspace).collect()
    };
    let mut open = Vec::new();
    for class in (0..logits.len()).filter(|&class| class != reference) {
        let margin = difference(logits[reference], logits[class]);
        if margin.upper() < 0.0 {
            return true;
        }
        // A comparison with NaN is false: then exact arithmetic decides.
        let ahead = margin.lower() > 0.0;
        if !ahead {
            open.push(class);
        }
    }
    if open.is_empty() {
        return false;
    }
    prepared.set_target(node, workspace);
    let mut exact = prepared.exact(&workspace.slice, &mut workspace.exact);
    open.into_iter().any(|class| exact.objective(&[(reference, 1.0), (class, -1.0)], flips).sign() != Ordering::Greater)
}

/// The nodes whose logits depend on a flipped entry.
fn reached(prepared: &Prepared, flips: &[Flip]) -> BTreeSet<u32> {
    let mut nodes: BTreeSet<u32> = flips.iter().map(|flip| flip.node).collect();
    for layer in prepared.network().layers() {
        let receives = |&m: &usize| layer.passing.row(m).any(|(n, _)| nodes.contains(&(n as u32)));
        nodes = (0..prepared.graph().node_count()).filter(receives).map(|m| m as u32).collect();
    }
    nodes
}
