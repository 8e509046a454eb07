//! Trees over flips for a changed graph, from the tree for the graph of a leaf: as it is, without what the node no
//! longer depends on, or found by splits on flips. Nothing here has to be right: trees are judged by whoever reads
//! them.

use std::cell::Cell;

use crate::checker::Session;
use crate::core::path::Path;
use crate::core::scope::Scope;
use crate::format::{Envelope, Leaf, Step, UnitPrices};
use crate::verdict::Reason;

/// Leaves that are tried for one tree, at most.
const MOST_TRIED: usize = 64;

/// A tree that is accepted of two classes, and the same with its short leaves written out; none if none was found, or
/// if `left` says that no more leaves are to be tried.
pub(super) fn fitted(
    session: &mut Session,
    classes: [u32; 2],
    tree: &[Step],
    left: &Cell<usize>,
) -> Option<(Vec<Step>, Vec<Step>)> {
    if let Ok(written) = session.written_out(classes, tree) {
        return Some((tree.to_vec(), written));
    }
    let within = within(&session.scope(), tree)?;
    if within != tree {
        session.meter.restart();
        if let Ok(written) = session.written_out(classes, &within) {
            return Some((within, written));
        }
    }
    let deep = session.scope().network.depth() > 3;
    for cap in [false, true] {
        let leaf = Leaf { cap, dual: deep.then_some(3), ..Leaf::default() };
        let Some(found) = found(session, classes, &leaf, left) else { continue };
        session.meter.restart();
        if let Ok(written) = session.written_out(classes, &found) {
            return Some((found, written));
        }
    }
    None
}

/// The tree without splits on units and flips that the node does not depend on, and without their multipliers; none if
/// it is no tree.
pub(super) fn within(scope: &Scope, tree: &[Step]) -> Option<Vec<Step>> {
    let mut kept = Vec::with_capacity(tree.len());
    // Subtrees that follow, the next one last, and whether they are kept.
    let mut open = vec![true];
    let mut steps = tree.iter();
    while let Some(keep) = open.pop() {
        let step = steps.next()?;
        let inside = match *step {
            Step::Leaf(_) | Step::Hints(_) => {
                if keep {
                    kept.push(leaf_within(scope, step));
                }
                continue;
            }
            Step::Unit(layer, node, unit) => scope.unit((layer, node, unit)).is_ok(),
            Step::Flip(node, attribute) => scope.flip((node, attribute)).is_ok(),
            Step::Row(..) => true,
        };
        // Where nothing depends on a flip, the tree for sets without it is about all sets.
        open.extend([keep && inside, keep]);
        if keep && inside {
            kept.push(step.clone());
        }
    }
    Some(kept)
}

fn leaf_within(scope: &Scope, step: &Step) -> Step {
    let Step::Leaf(leaf) = step else { return step.clone() };
    let mut leaf = leaf.clone();
    for list in [&mut leaf.weight, &mut leaf.slope, &mut leaf.beta] {
        list.retain(|&(layer, node, unit, _)| scope.unit((layer, node, unit)).is_ok());
    }
    // Its prices are listed by place.
    let fits = |Envelope { nodes, flips, units, .. }: &Envelope| {
        nodes.iter().all(|&node| scope.node(node).is_ok())
            && flips.iter().all(|&flip| scope.flip(flip).is_ok())
            && units.iter().all(|&UnitPrices(node, unit, ..)| scope.unit((2, node, unit)).is_ok())
    };
    leaf.envelope = leaf.envelope.take().filter(|envelope| fits(envelope));
    Step::Leaf(leaf)
}

/// A tree whose leaves are all alike, by splits on the flips that lose most.
fn found(session: &mut Session, [reference, class]: [u32; 2], leaf: &Leaf, left: &Cell<usize>) -> Option<Vec<Step>> {
    let step = Step::Leaf(Box::new(leaf.clone()));
    let (mut tree, mut open) = (Vec::new(), vec![Path::default()]);
    for _ in 0..MOST_TRIED {
        let Some(path) = open.pop() else { return Some(tree) };
        left.set(left.get().checked_sub(1)?);
        match session.leaf(reference, class, &path, &step) {
            Ok(()) => tree.push(step.clone()),
            Err(Reason::Bound(_)) => {
                let (node, attribute) = session.worst_flip(reference, class, &path, leaf)?;
                let split = Step::Flip(node, attribute);
                open.extend([true, false].map(|made| session.below(&path, &split, made)));
                tree.push(split);
            }
            // Not admissible, or too expensive.
            Err(_) => return None,
        }
    }
    open.is_empty().then_some(tree)
}
