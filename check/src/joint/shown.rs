//! A proof written out for a checker that lists sets of changes: trees over flips for the graphs after some of
//! them. The rules hold for any hints, so nothing here has to be right.

use std::cell::Cell;

use super::JointChecker;
use super::fit::{fitted, within};
use crate::checker::{Checker, Session};
use crate::edges::changes::{ChangePath, OpenChange, walk};
use crate::edges::{Edge, EdgeClaim, EdgeClassProof, EdgeNodeProof, EdgeStep, FlippedLeaf};
use crate::format::{BoundsLine, Claim, ClassProof, NodeProof, Step};
use crate::number::Dyadic;
use crate::verdict::Reason;
use crate::work::Meter;

/// Sets of changes of a leaf that have trees of their own, at most: first, and where a proof is refused with so few.
/// Few proofs need more, and writing them takes long.
pub(crate) const MOST_SETS: [usize; 2] = [200, 4_000];

/// Leaves that are tried for a proof where its own do not suit changed graphs, at most.
const MOST_TRIED: usize = 1_000;

/// Classes whose trees have the same splits on edges.
pub(crate) struct ShownGroup {
    pub(crate) classes: Vec<u32>,
    pub(crate) steps: Vec<ShownStep>,
}

/// An element of a tree over edges.
pub(crate) enum ShownStep {
    Edge(Edge),
    /// The graphs after some sets of open changes, the largest sets first and the empty one last.
    Sets(Vec<ShownSet>),
}

/// What trees over flips say of the graph after some changes.
pub(crate) struct ShownSet {
    pub(crate) changes: Vec<Edge>,
    pub(crate) bounds: Vec<BoundsLine>,
    /// All leaves are hints.
    pub(crate) trees: Vec<ShownTree>,
}

/// One class, with the places of the leaves that were short.
pub(crate) struct ShownTree {
    pub(crate) of: ClassProof,
    pub(crate) expanded: Vec<usize>,
}

impl JointChecker<'_> {
    /// What is shown of a robust node, at most so many sets of each leaf; nothing of others.
    ///
    /// # Errors
    /// If a tree is none, or it takes too long.
    pub(crate) fn shown(&self, proof: &EdgeNodeProof, most: usize) -> Result<Vec<ShownGroup>, Reason> {
        let EdgeClaim::Robust(proofs) = &proof.claim else { return Ok(Vec::new()) };
        let changes = &self.statement.changes;
        proof.require_reference(changes.graph, changes.network.classes, changes.classes)?;
        let mut groups: Vec<Vec<&EdgeClassProof>> = Vec::new();
        for one in proofs {
            if one.class as usize >= changes.network.classes || one.class == proof.class {
                return Err(Reason::Class(one.class));
            }
            match groups.iter_mut().find(|group| has_splits_of(group[0], one)) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        let left = Cell::new(MOST_TRIED);
        groups.iter().map(|group| self.group(proof, group, most, &left)).collect()
    }

    fn group(
        &self,
        proof: &EdgeNodeProof,
        group: &[&EdgeClassProof],
        most: usize,
        left: &Cell<usize>,
    ) -> Result<ShownGroup, Reason> {
        let changes = &self.statement.changes;
        let meter = self.work.line();
        let mut path = ChangePath::new(&changes.network, &changes.budget);
        let splits = |step: &EdgeStep| matches!(step, EdgeStep::Edge(..));
        let mut places = (0..group[0].tree.len()).filter(|&at| !splits(&group[0].tree[at]));
        let mut sets = Vec::new();
        walk(&mut path, &group[0].tree, &meter, |path, _| {
            meter.restart();
            let at = places.next().ok_or(Reason::Incomplete)?;
            let leaves: Result<Vec<_>, Reason> = group.iter().map(|one| leaf(one, at)).collect();
            sets.push(self.sets(proof, path, &leaves?, most, left, &meter)?);
            Ok(())
        })
        .map_err(|(_, reason)| reason)?;
        let mut sets = sets.into_iter();
        let steps = group[0].tree.iter().filter_map(|step| match step {
            &EdgeStep::Edge(i, j) => Some(ShownStep::Edge((i, j))),
            _ => sets.next().map(ShownStep::Sets),
        });
        Ok(ShownGroup { classes: group.iter().map(|one| one.class).collect(), steps: steps.collect() })
    }

    /// Of a leaf the graphs after no open change, after one, and so on, as many as are worth it.
    fn sets(
        &self,
        proof: &EdgeNodeProof,
        path: &ChangePath,
        leaves: &[(u32, &FlippedLeaf)],
        most: usize,
        left: &Cell<usize>,
        meter: &Meter,
    ) -> Result<Vec<ShownSet>, Reason> {
        let open = path.every_open(proof.id, meter)?;
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while next < all.len() && all.len() < most {
            let from = all[next].last().map_or(0, |last| last + 1);
            for more in from..open.len() {
                let larger = [all[next].as_slice(), &[more]].concat();
                if all.len() < most && path.admits(&set(&open, &larger)) {
                    all.push(larger);
                }
            }
            next += 1;
        }
        let of = |chosen: &Vec<usize>| {
            meter.restart();
            let changes = set(&open, chosen);
            self.on(&path.graph(&changes), meter, |checker| Ok(after(checker, proof, &changes, leaves, left, meter)))
        };
        all.iter().rev().map(of).collect()
    }
}

fn set(open: &[OpenChange], chosen: &[usize]) -> Vec<OpenChange> {
    chosen.iter().map(|&at| open[at]).collect()
}

fn has_splits_of(one: &EdgeClassProof, other: &EdgeClassProof) -> bool {
    let split = |step: &EdgeStep| match step {
        &EdgeStep::Edge(i, j) => Some((i, j)),
        _ => None,
    };
    one.tree.iter().map(split).eq(other.tree.iter().map(split))
}

fn leaf(of: &EdgeClassProof, at: usize) -> Result<(u32, &FlippedLeaf), Reason> {
    match of.tree.get(at) {
        Some(EdgeStep::Flips(leaf)) => Ok((of.class, leaf)),
        _ => Err(Reason::Leaf("changed edges alone")),
    }
}

/// The trees of a leaf, or of its part about one more change, with the hints that suit a changed graph.
fn after(
    checker: &Checker,
    proof: &EdgeNodeProof,
    changes: &[OpenChange],
    leaves: &[(u32, &FlippedLeaf)],
    left: &Cell<usize>,
    meter: &Meter,
) -> ShownSet {
    let mut trees = Vec::new();
    for &(class, leaf) in leaves {
        let own = leaf.after.iter().find(|after| changes.len() == 1 && changes[0].edge == after.edge);
        let tree = own.map_or(&leaf.tree, |after| &after.tree);
        trees.extend(expanded(checker, [proof.class, class], proof.id, tree, left, meter));
    }
    let short = trees.iter().any(|tree| !tree.expanded.is_empty());
    let bounds = if short { checker.expanded_bounds(proof.id) } else { Vec::new() };
    ShownSet { changes: changes.iter().map(|change| change.edge).collect(), bounds, trees }
}

/// A tree whose short leaves are written out: one that the checker accepts, or, where none is found, the tree of the
/// leaf with any hints.
fn expanded(
    checker: &Checker,
    classes: [u32; 2],
    node: u32,
    tree: &[Step],
    left: &Cell<usize>,
    meter: &Meter,
) -> Option<ShownTree> {
    let accepted = checker
        .about(node, Dyadic::ZERO, meter, |session| fitted(session, classes, tree, left).ok_or(Reason::Incomplete));
    let (tree, written) = accepted.ok().or_else(|| {
        let within = |session: &mut Session| within(&session.scope(), tree).ok_or(Reason::Incomplete);
        let tree = checker.about(node, Dyadic::ZERO, meter, within).ok()?;
        let one = ClassProof { class: classes[1], tree: tree.clone() };
        let alone = NodeProof { id: node, class: classes[0], claim: Claim::Robust(vec![one]) };
        match checker.expand_unjudged(&alone).ok()?.claim {
            Claim::Robust(mut trees) => trees.pop().map(|one| (tree, one.tree)),
            Claim::NonRobust(_) => None,
        }
    })?;
    let expanded = (0..tree.len()).filter(|&at| matches!(tree[at], Step::Leaf(_))).collect();
    Some(ShownTree { of: ClassProof { class: classes[1], tree: written }, expanded })
}
