//! Checks one proof: a tree over changes of edges, whose leaves are trees over flips.

use std::cmp::Ordering;
use std::sync::Arc;

use gcnproof_files::{GraphFile, Pattern};

use super::statement::JointStatement;
use crate::accepted::{Accepted, Refused};
use crate::checker::{Checker, Session};
use crate::edges::changes::{Beside, ChangePath, ChangedGraph, FlipMoves, OpenChange, Sizes, effects, paid, walk};
use crate::edges::{
    CarriedPrices, Edge, EdgeClaim, EdgeClassProof, EdgeLine, EdgeNodeProof, EdgeStep, EdgeWitness, FlippedLeaf,
};
use crate::format::{Convention, Number, Step};
use crate::number::{Dyadic, Interval};
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::{Meter, Work};

/// Judges the proofs of a statement. Shared by all threads.
pub struct JointChecker<'a> {
    pub(super) statement: &'a JointStatement<'a>,
    /// Flips on the graph of the file.
    flips: Checker<'a>,
    moves: FlipMoves<'a>,
    /// What lines may cost.
    pub(super) work: Arc<Work>,
}

/// One class against another at a node.
#[derive(Clone, Copy)]
struct JointPair {
    node: u32,
    classes: [u32; 2],
}

/// Looks at a tree over flips of a changed graph, whose margins must stay above a number.
type JudgeFlips<'j> = dyn FnMut(&Checker, &[Step], Dyadic) -> Result<(), Reason> + 'j;

/// Steps of [`crate::work`] for a node, an edge or an attribute of a graph that is copied.
const COPIED: u64 = 4;

impl<'a> JointChecker<'a> {
    /// With `exact_only` flips are judged by exact numbers alone. What changes of edges can take is found in floats
    /// rounded outward, in all modes.
    pub fn new(statement: &'a JointStatement<'a>, exact_only: bool) -> JointChecker<'a> {
        let flips = Checker::new(&statement.flips, exact_only);
        let moves = FlipMoves::new(&statement.changes.network, &statement.flips.budget);
        JointChecker { statement, flips, moves, work: Work::lines() }
    }

    /// The same within other limits.
    #[must_use]
    pub fn within(self, work: Arc<Work>) -> JointChecker<'a> {
        JointChecker { flips: self.flips.within(work.clone()), work, ..self }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &EdgeNodeProof) -> Result<Verdict, Fault> {
        let meter = self.work.line();
        let changes = &self.statement.changes;
        proof.require_reference(changes.graph, changes.network.classes, changes.classes)?;
        meter.look()?;
        match &proof.claim {
            EdgeClaim::Robust(trees) => self.robust(proof, trees, &meter),
            EdgeClaim::NonRobust(witness) => self.witness(proof, witness, &meter),
        }
    }

    /// The line of a proof, if it is accepted; otherwise the proof comes back.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn accept(&self, proof: EdgeNodeProof) -> Result<Accepted<EdgeLine>, Box<Refused<EdgeNodeProof>>> {
        match self.check(&proof) {
            Ok(_) => Ok(Accepted::new(EdgeLine::Node(proof))),
            Err(fault) => Err(Box::new(Refused { proof, fault })),
        }
    }

    /// Every other class, ascending. That all margins are positive without a change is part of what is proved.
    fn robust(&self, proof: &EdgeNodeProof, trees: &[EdgeClassProof], meter: &Meter) -> Result<Verdict, Fault> {
        let changes = &self.statement.changes;
        let mut others = (0..changes.network.classes as u32).filter(|&class| class != proof.class);
        for one in trees {
            if others.next() != Some(one.class) {
                return Err(Reason::Classes(one.class).into());
            }
            let pair = JointPair { node: proof.id, classes: [proof.class, one.class] };
            let mut path = ChangePath::new(&changes.network, &changes.budget);
            let judged = walk(&mut path, &one.tree, meter, |path, step| {
                self.leaf(path, pair, flipped(step)?, meter, &mut |checker, tree, above| {
                    checker.exceeds(pair.node, pair.classes, tree, above, meter)
                })
            });
            judged.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
        }
        match others.next() {
            Some(missing) => Err(Reason::Classes(missing).into()),
            None => Ok(Verdict::Robust),
        }
    }

    /// The same proof of a robust node with its trees over flips written anew, each by `mend`, which is told about the
    /// node on the changed graph and about two classes.
    ///
    /// # Errors
    /// If a tree over edges is none, or `mend` fails.
    pub fn mended(
        &self,
        proof: EdgeNodeProof,
        mut mend: impl FnMut(&mut Session, [u32; 2], Vec<Step>) -> Result<Vec<Step>, Reason>,
    ) -> Result<EdgeNodeProof, Reason> {
        let changes = &self.statement.changes;
        proof.require_reference(changes.graph, changes.network.classes, changes.classes)?;
        let mut proof = proof;
        let EdgeClaim::Robust(trees) = &mut proof.claim else { return Ok(proof) };
        for one in trees.iter_mut() {
            if one.class as usize >= changes.network.classes {
                return Err(Reason::Class(one.class));
            }
            let meter = self.work.line();
            let pair = JointPair { node: proof.id, classes: [proof.class, one.class] };
            let mut path = ChangePath::new(&changes.network, &changes.budget);
            let mut written = Vec::new();
            walk(&mut path, &one.tree, &meter, |path, step| {
                meter.restart();
                let leaf = flipped(step)?;
                let mut trees = Vec::new();
                self.leaf(path, pair, leaf, &meter, &mut |checker, tree, above| {
                    let tree =
                        checker.about(pair.node, above, &meter, |session| mend(session, pair.classes, tree.to_vec()));
                    tree.map(|tree| trees.push(tree))
                })?;
                let mut leaf = leaf.clone();
                leaf.tree = trees.pop().unwrap_or_default();
                leaf.after.iter_mut().zip(trees).for_each(|(after, tree)| after.tree = tree);
                written.push(leaf);
                Ok(())
            })
            .map_err(|(_, reason)| reason)?;
            let leaves = one.tree.iter_mut().filter(|step| !matches!(step, EdgeStep::Edge(..)));
            leaves.zip(written).for_each(|(step, leaf)| *step = EdgeStep::Flips(Box::new(leaf)));
        }
        Ok(proof)
    }

    fn witness(&self, proof: &EdgeNodeProof, witness: &EdgeWitness, meter: &Meter) -> Result<Verdict, Fault> {
        let changes = &self.statement.changes;
        let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
        if changes.classes == Convention::Predicted && !self.flips.predicts(proof.id, proof.class, meter)? {
            return Err(Reason::Reference("predicted class").into());
        }
        if witness.class as usize >= changes.network.classes || witness.class == proof.class {
            return Err(at_class(Reason::Class(witness.class)));
        }
        changes.budget.require(changes.graph, &witness.edges).map_err(at_class)?;
        let graph = ChangedGraph::new(&changes.graph.adjacency, changes.budget.directed, witness.edges.iter());
        let classes = [proof.class, witness.class];
        let margin = self.on(&graph, meter, |checker| checker.margin_after(proof.id, classes, &witness.flips, meter));
        match margin.map_err(at_class)? {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) => Ok(Verdict::Tie),
            (Ordering::Greater, margin) => Err(at_class(Reason::Margin(margin))),
        }
    }

    /// Asks about flips on a changed graph.
    pub(super) fn on<T>(
        &self,
        changed: &ChangedGraph,
        meter: &Meter,
        ask: impl FnOnce(&Checker) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        if changed.changed().next().is_none() {
            return ask(&self.flips);
        }
        let file = self.statement.changes.graph;
        let size = file.adjacency.indices.len() + file.attributes.indices.len() + file.attributes.columns;
        meter.spend(COPIED * (size + 8 * file.adjacency.rows) as u64)?;
        let graph = copied(file, changed);
        let statement = self.statement.flips.on(&graph, &self.statement.stated, meter)?;
        ask(&self.flips.on(&statement))
    }

    /// Flips on the graph of the path leave more than open changes can take, and where single changes are looked at
    /// apart, flips after these leave something.
    fn leaf(
        &self,
        path: &ChangePath,
        pair: JointPair,
        leaf: &FlippedLeaf,
        meter: &Meter,
        judge: &mut JudgeFlips,
    ) -> Result<(), Reason> {
        let open = path.open(pair.node, meter)?;
        let graph = path.graph(&[]);
        let mut apart: Vec<Edge> = Vec::with_capacity(leaf.after.len());
        for after in &leaf.after {
            if path.left() != 1 {
                return Err(Reason::Singles(path.left()));
            }
            if apart.last().is_some_and(|&before| before >= after.edge) {
                return Err(Reason::EdgeOrder(after.edge));
            }
            let place = open.binary_search_by_key(&after.edge, |change| change.edge);
            let change = open[place.map_err(|_| Reason::NotFree(after.edge))?];
            apart.push(after.edge);
            self.on(&path.graph(&[change]), meter, |checker| judge(checker, &after.tree, Dyadic::ZERO))?;
        }
        let lost = self.lost(path, &graph, &open, &apart, pair, leaf.carried.as_ref(), meter)?;
        self.on(&graph, meter, |checker| judge(checker, &leaf.tree, lost))
    }

    /// What sets of open changes, none of which is looked at apart, can take from the margin, whatever is flipped.
    #[expect(clippy::too_many_arguments)]
    fn lost(
        &self,
        path: &ChangePath,
        graph: &ChangedGraph,
        open: &[OpenChange],
        apart: &[Edge],
        pair: JointPair,
        prices: Option<&CarriedPrices>,
        meter: &Meter,
    ) -> Result<Dyadic, Reason> {
        if prices.is_some_and(|prices| prices.lists) {
            return Err(Reason::Leaf("changed edges alone"));
        }
        if open.len() == apart.len() {
            return Ok(Dyadic::ZERO);
        }
        let free = CarriedPrices { mu: Number(Dyadic::ZERO), nu: Vec::new(), back: false, lists: false };
        let prices = prices.unwrap_or(&free);
        let network = &self.statement.changes.network;
        let sizes = Sizes::new(network, graph, path, open, None);
        let beside = Beside { lists: None, flips: Some(&self.moves) };
        let mut effects = effects(path, &sizes, pair.node, pair.classes, prices.back, beside, meter)?;
        effects.retain(|&place, _| apart.binary_search(&open[place].edge).is_err());
        let lost = paid(path, open, &effects, prices)?;
        lost.upper.exact().ok_or(Reason::Bound(Interval { lower: -lost.upper, upper: -lost.lower }))
    }
}

/// The leaf that an element of a tree is.
fn flipped(step: &EdgeStep) -> Result<&FlippedLeaf, Reason> {
    match step {
        EdgeStep::Flips(leaf) => Ok(leaf),
        EdgeStep::Edge(..) => Err(Reason::Incomplete),
        EdgeStep::Singles(_) | EdgeStep::Prices(_) | EdgeStep::Listed(_) | EdgeStep::Carried(_) => {
            Err(Reason::Leaf("changed edges alone"))
        }
    }
}

/// A graph file with other edges.
fn copied(file: &GraphFile, changed: &ChangedGraph) -> GraphFile {
    let adjacency = &file.adjacency;
    let (mut offsets, mut indices) = (vec![0], Vec::with_capacity(adjacency.indices.len() + 2));
    for node in 0..adjacency.rows as u32 {
        let start = indices.len();
        indices.extend(changed.row(node));
        // Self-loops are no edges, and stay.
        if adjacency.contains(node as usize, node) {
            let place = indices[start..].partition_point(|&other| other < node);
            indices.insert(start + place, node);
        }
        offsets.push(indices.len());
    }
    let adjacency = Pattern { rows: adjacency.rows, columns: adjacency.columns, offsets, indices };
    GraphFile {
        adjacency,
        attributes: file.attributes.clone(),
        batch: file.batch.clone(),
        labels: file.labels.clone(),
        ..GraphFile::default()
    }
}
