//! Checks one proof against removed edges: with floats rounded outward first, and exactly where these do not accept it.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::Edge;
use super::anchor::Anchors;
use super::bound::bound;
use super::format::{Claim, ClassProof, NodeProof, Prices, Step, Witness};
use super::ground::Ground;
use super::margin::{Margins, margin};
use super::network::Pair;
use super::scene::Scene;
use super::state::State;
use super::statement::Statement;
use super::tree::{free, walk};
use crate::checker::{Fault, Verdict};
use crate::core::dyadic::Dyadic;
use crate::directed::Interval;
use crate::format::Convention;
use crate::reason::Reason;
use crate::work::Work;

/// The anchors of a node where nothing is decided: most trees are one leaf, and they are the same for all classes.
type Root<'n> = OnceCell<Option<Anchors<'n, Interval>>>;

/// Judges the proofs of a statement. Shared by all threads.
pub struct Checker<'a> {
    statement: &'a Statement<'a>,
    exact_only: bool,
    /// What lines may cost.
    work: Arc<Work>,
}

impl<'a> Checker<'a> {
    /// With `exact_only` exact numbers alone judge.
    pub fn new(statement: &'a Statement<'a>, exact_only: bool) -> Checker<'a> {
        Checker { statement, exact_only, work: Work::lines() }
    }

    /// The same within other limits.
    #[must_use]
    pub fn within(self, work: Arc<Work>) -> Checker<'a> {
        Checker { work, ..self }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        let Statement { graph, network, .. } = self.statement;
        if proof.id as usize >= graph.attributes.rows {
            return Err(Reason::Node.into());
        }
        if proof.class as usize >= network.classes {
            return Err(Reason::Class(proof.class).into());
        }
        if self.statement.classes == Convention::Labels {
            let label = graph.labels.as_ref().and_then(|labels| labels[proof.id as usize]);
            if label != Some(proof.class) {
                return Err(Reason::Reference("label").into());
            }
        }
        let meter = self.work.line();
        meter.look()?;
        let ground = Ground::new(self.statement, proof.id);
        match &proof.claim {
            Claim::Robust(trees) => self.robust(&ground, proof, trees),
            Claim::NonRobust(witness) => self.witness(&ground, proof, witness),
        }
    }

    /// The bound of a leaf with prices behind some splits, `true` for the second subtree: for those who write proofs, and for tests. Classes and
    /// node must exist.
    ///
    /// # Errors
    /// If a split is on an edge that is not free, or the hints are not admissible.
    pub fn bound(
        &self,
        node: u32,
        (reference, class): (u32, u32),
        splits: &[(Edge, bool)],
        hints: &Prices,
    ) -> Result<Interval, Reason> {
        let ground = Ground::new(self.statement, node);
        let mut state = State::new(&ground, self.statement.budget.global);
        for &(edge, second) in splits {
            let place = free(&state, edge)?;
            if second {
                state.remove(place);
            } else {
                state.keep(&state.group(place), true);
            }
        }
        let scene = Scene::new(&self.statement.network, &state);
        if self.exact_only {
            let exact: Dyadic = bound(&scene, &Pair::new(scene.network, node, reference, class), hints, None)?;
            return Ok(Interval::around(&exact));
        }
        bound(&scene, &Pair::new(scene.network, node, reference, class), hints, None)
    }

    /// Every other class, ascending. That all margins are positive without a removal is part of what is proved, so the reference class is
    /// the predicted one.
    fn robust(&self, ground: &Ground, proof: &NodeProof, trees: &[ClassProof]) -> Result<Verdict, Fault> {
        let root = Root::default();
        let mut others = (0..self.statement.network.classes as u32).filter(|&class| class != proof.class);
        for one in trees {
            if others.next() != Some(one.class) {
                return Err(Reason::Classes(one.class).into());
            }
            let judged = walk(ground, self.statement.budget.global, &one.tree, |state, step| {
                self.leaf(state, (proof.id, proof.class, one.class), step, &root)
            });
            judged.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
        }
        match others.next() {
            Some(missing) => Err(Reason::Classes(missing).into()),
            None => Ok(Verdict::Robust),
        }
    }

    fn witness(&self, ground: &Ground, proof: &NodeProof, witness: &Witness) -> Result<Verdict, Fault> {
        let Statement { graph, network, budget, .. } = self.statement;
        let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
        let start = State::new(ground, budget.global);
        if self.statement.classes == Convention::Predicted {
            // The smallest number among equals.
            let ahead = |class: u32| match self.sign(&start, (proof.id, proof.class, class)).0 {
                Ordering::Greater => true,
                Ordering::Equal => proof.class < class,
                Ordering::Less => false,
            };
            if !(0..network.classes as u32).all(|class| class == proof.class || ahead(class)) {
                return Err(Reason::Reference("predicted class").into());
            }
        }
        if witness.class as usize >= network.classes || witness.class == proof.class {
            return Err(at_class(Reason::Class(witness.class)));
        }
        budget.require(&graph.adjacency, &witness.edges).map_err(at_class)?;
        let mut state = start;
        // Others change nothing about the node.
        witness.edges.iter().filter_map(|&edge| ground.edge(edge)).for_each(|edge| state.remove(edge));
        match self.sign(&state, (proof.id, proof.class, witness.class)) {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) => Ok(Verdict::Tie),
            (Ordering::Greater, margin) => Err(at_class(Reason::Margin(margin))),
        }
    }

    /// The sign of the margin of a class over another on a path, and floats around it.
    fn sign(&self, state: &State, (node, reference, class): (u32, u32, u32)) -> (Ordering, Interval) {
        let network = &self.statement.network;
        if !self.exact_only {
            let rounded: Interval = margin(network, state, &Pair::new(network, node, reference, class));
            if let Some(sign) = rounded.sign() {
                return (sign, rounded);
            }
        }
        let exact: Dyadic = margin(network, state, &Pair::new(network, node, reference, class));
        (exact.sign(), Interval::around(&exact))
    }

    fn leaf(&self, state: &State, classes: (u32, u32, u32), step: &Step, root: &Root<'a>) -> Result<(), Reason> {
        let scene = Scene::new(&self.statement.network, state);
        match step {
            Step::Singles(_) => self.singles(&scene, classes),
            Step::Prices(hints) => self.prices(&scene, classes, hints, root),
            Step::Edge(..) => Err(Reason::Incomplete),
        }
    }

    fn prices(
        &self,
        scene: &Scene<'a, '_>,
        (node, reference, class): (u32, u32, u32),
        hints: &Prices,
        root: &Root<'a>,
    ) -> Result<(), Reason> {
        if !self.exact_only {
            let cached = if scene.state.is_start() { root.get_or_init(|| Anchors::new(scene)).as_ref() } else { None };
            let rounded: Interval = bound(scene, &Pair::new(scene.network, node, reference, class), hints, cached)?;
            if rounded.sign() == Some(Ordering::Greater) {
                return Ok(());
            }
        }
        let exact: Dyadic = bound(scene, &Pair::new(scene.network, node, reference, class), hints, None)?;
        if exact.is_positive() { Ok(()) } else { Err(Reason::Bound(Interval::around(&exact))) }
    }

    fn singles(&self, scene: &Scene, (node, reference, class): (u32, u32, u32)) -> Result<(), Reason> {
        if scene.budget > 1 {
            return Err(Reason::Singles(scene.budget));
        }
        let ground = scene.state.ground;
        let pairs =
            (Pair::new(scene.network, node, reference, class), Pair::new(scene.network, node, reference, class));
        let rounded: Option<Margins<Interval>> = (!self.exact_only).then(|| Margins::new(scene, &pairs.0));
        let exact: OnceCell<Margins<Dyadic>> = OnceCell::new();
        let positive = |extra: Option<usize>| {
            if rounded.as_ref().is_some_and(|margins| margins.margin(extra).sign() == Some(Ordering::Greater)) {
                return Ok(());
            }
            let margin = exact.get_or_init(|| Margins::new(scene, &pairs.1)).margin(extra);
            if margin.is_positive() { Ok(()) } else { Err(Reason::Bound(Interval::around(&margin))) }
        };
        positive(None)?;
        let mut alike = vec![false; ground.ids.len()];
        for edge in (0..ground.edges.len()).filter(|&edge| scene.free[edge]) {
            // Where nothing depends on one end, only the other matters.
            let [i, j] = ground.edges[edge];
            let outer = [(i, j), (j, i)].into_iter().find(|ends| !ground.inner[ends.1]);
            if outer.is_some_and(|(end, _)| std::mem::replace(&mut alike[end], true)) {
                continue;
            }
            positive(Some(edge))?;
        }
        Ok(())
    }
}
