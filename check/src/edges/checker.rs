//! Checks one proof against removed edges: with floats rounded outward first, and exactly where these do not accept it.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::anchor::Anchors;
use super::bound::bound;
use super::changes::ChangeChecker;
use super::cost;
use super::cost::LeafCost;
use super::ground::Ground;
use super::line::{EdgeClaim, EdgeClassProof, EdgeLine, EdgeNodeProof, EdgePrices, EdgeStep, EdgeWitness};
use super::margin::{Margins, margin};
use super::network::{EdgeNetwork, Pair};
use super::number::Scalar;
use super::scene::Scene;
use super::state::State;
use super::statement::{EdgeStatement, RemovalStatement};
use super::tree::{free, walk};
use crate::accepted::{Accepted, Refused};
use crate::format::Convention;
use crate::ids::Edge;
use crate::number::{Dyadic, Interval};
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::{Meter, Work};

/// The anchors of a node where nothing is decided: most trees are one leaf, and they are the same for all classes.
#[derive(Default)]
struct Root(OnceCell<Option<Anchors<Interval>>>);

impl Root {
    fn get(&self, scene: &Scene, cost: &LeafCost, meter: &Meter) -> Result<Option<&Anchors<Interval>>, Reason> {
        if self.0.get().is_none() {
            // Nobody else can have set it.
            let _ = self.0.set(Anchors::new(scene, cost, meter)?);
        }
        Ok(self.0.get().and_then(Option::as_ref))
    }
}

/// One class against the reference class of a node. All three must exist.
#[derive(Clone, Copy)]
struct Classes {
    node: u32,
    reference: u32,
    class: u32,
}

impl Classes {
    fn pair<N: Scalar>(self, network: &EdgeNetwork) -> Pair<N> {
        Pair::new(network, self.node, self.reference, self.class)
    }
}

impl EdgeNodeProof {
    fn against(&self, class: u32) -> Classes {
        Classes { node: self.id, reference: self.class, class }
    }
}

/// Judges the proofs of a statement. Shared by all threads.
pub struct EdgeChecker<'a> {
    judge: EdgeJudge<'a>,
    /// What lines may cost.
    work: Arc<Work>,
}

/// The rules that apply.
enum EdgeJudge<'a> {
    Removals(RemovalChecker<'a>),
    Changes(ChangeChecker<'a>),
}

impl<'a> EdgeChecker<'a> {
    /// With `exact_only` exact numbers alone judge, wherever the format is about them.
    pub fn new(statement: &'a EdgeStatement<'a>, exact_only: bool) -> EdgeChecker<'a> {
        let judge = match statement {
            EdgeStatement::Removals(statement) => EdgeJudge::Removals(RemovalChecker { statement, exact_only }),
            EdgeStatement::Changes(statement) => EdgeJudge::Changes(ChangeChecker::new(statement, exact_only)),
        };
        EdgeChecker { judge, work: Work::lines() }
    }

    /// The same within other limits.
    #[must_use]
    pub fn within(self, work: Arc<Work>) -> EdgeChecker<'a> {
        EdgeChecker { work, ..self }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &EdgeNodeProof) -> Result<Verdict, Fault> {
        let meter = self.work.line();
        match &self.judge {
            EdgeJudge::Removals(checker) => checker.check(proof, &meter),
            EdgeJudge::Changes(checker) => checker.check(proof, &meter),
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

    /// The bound of a leaf with prices behind some splits, `true` for the second subtree: for those who write proofs
    /// about removals, and for tests. Classes and node must exist.
    ///
    /// # Errors
    /// If a split is on an edge that is not free, or the hints are not admissible.
    pub fn bound(
        &self,
        node: u32,
        reference: u32,
        class: u32,
        splits: &[(Edge, bool)],
        hints: &EdgePrices,
    ) -> Result<Interval, Reason> {
        match &self.judge {
            EdgeJudge::Removals(checker) => {
                checker.bound(Classes { node, reference, class }, splits, hints, &self.work.line())
            }
            EdgeJudge::Changes(_) => Err(Reason::Order("prices are about removals with one hidden layer".into())),
        }
    }
}

/// Judges proofs about removals with one hidden layer.
struct RemovalChecker<'a> {
    statement: &'a RemovalStatement<'a>,
    exact_only: bool,
}

impl RemovalChecker<'_> {
    /// Accepts or rejects the proof of one node.
    fn check(&self, proof: &EdgeNodeProof, meter: &Meter) -> Result<Verdict, Fault> {
        let RemovalStatement { graph, network, .. } = self.statement;
        proof.require_reference(graph, network.classes, self.statement.classes)?;
        meter.look()?;
        let ground = Ground::new(self.statement, proof.id);
        match &proof.claim {
            EdgeClaim::Robust(trees) => self.robust(&ground, proof, trees, meter),
            EdgeClaim::NonRobust(witness) => self.witness(&ground, proof, witness, meter),
        }
    }

    fn bound(
        &self,
        classes: Classes,
        splits: &[(Edge, bool)],
        hints: &EdgePrices,
        meter: &Meter,
    ) -> Result<Interval, Reason> {
        let ground = Ground::new(self.statement, classes.node);
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
        let cost = LeafCost::new(&scene);
        if self.exact_only {
            let exact: Dyadic = bound(&scene, &classes.pair(scene.network), hints, None, &cost, meter)?;
            return Ok(Interval::around(&exact));
        }
        bound(&scene, &classes.pair(scene.network), hints, None, &cost, meter)
    }

    /// Every other class, ascending. That all margins are positive without a removal is part of what is proved, so the
    /// reference class is the predicted one.
    fn robust(
        &self,
        ground: &Ground,
        proof: &EdgeNodeProof,
        trees: &[EdgeClassProof],
        meter: &Meter,
    ) -> Result<Verdict, Fault> {
        let root = Root::default();
        let mut others = (0..self.statement.network.classes as u32).filter(|&class| class != proof.class);
        for one in trees {
            if others.next() != Some(one.class) {
                return Err(Reason::Classes(one.class).into());
            }
            let judged = walk(ground, self.statement.budget.global, &one.tree, meter, |state, step| {
                self.leaf(state, proof.against(one.class), step, &root, meter)
            });
            judged.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
        }
        match others.next() {
            Some(missing) => Err(Reason::Classes(missing).into()),
            None => Ok(Verdict::Robust),
        }
    }

    fn witness(
        &self,
        ground: &Ground,
        proof: &EdgeNodeProof,
        witness: &EdgeWitness,
        meter: &Meter,
    ) -> Result<Verdict, Fault> {
        let RemovalStatement { graph, network, budget, .. } = self.statement;
        let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
        let start = State::new(ground, budget.global);
        let margins = if self.statement.classes == Convention::Predicted { network.classes } else { 1 };
        let operations = cost::margin(&Scene::new(network, &start)).saturating_mul(margins as u64);
        meter.spend(Interval::steps(operations))?;
        meter.ahead(operations.saturating_mul(if self.exact_only { Dyadic::STEPS } else { 0 }))?;
        if self.statement.classes == Convention::Predicted {
            // The smallest number among equals.
            let ahead = |class: u32| match self.sign(&start, proof.against(class)).0 {
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
        witness.require_no_flips().map_err(at_class)?;
        budget.require(&graph.adjacency, &witness.edges).map_err(at_class)?;
        let mut state = start;
        // Others change nothing about the node.
        witness.edges.iter().filter_map(|&edge| ground.edge(edge)).for_each(|edge| state.remove(edge));
        match self.sign(&state, proof.against(witness.class)) {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) => Ok(Verdict::Tie),
            (Ordering::Greater, margin) => Err(at_class(Reason::Margin(margin))),
        }
    }

    /// The sign of the margin of a class over another on a path, and floats around it.
    fn sign(&self, state: &State, classes: Classes) -> (Ordering, Interval) {
        let network = &self.statement.network;
        if !self.exact_only {
            let rounded: Interval = margin(network, state, &classes.pair(network));
            if let Some(sign) = rounded.sign() {
                return (sign, rounded);
            }
        }
        let exact: Dyadic = margin(network, state, &classes.pair(network));
        (exact.sign(), Interval::around(&exact))
    }

    fn leaf(&self, state: &State, classes: Classes, step: &EdgeStep, root: &Root, meter: &Meter) -> Result<(), Reason> {
        let scene = Scene::new(&self.statement.network, state);
        match step {
            EdgeStep::Singles(_) => self.singles(&scene, classes, meter),
            EdgeStep::Prices(hints) => self.prices(&scene, classes, hints, root, meter),
            EdgeStep::Edge(..) => Err(Reason::Incomplete),
            EdgeStep::Listed(_) | EdgeStep::Carried(_) => Err(Reason::Leaf("changes")),
            EdgeStep::Flips(_) => Err(Reason::Leaf("flips")),
        }
    }

    fn prices(
        &self,
        scene: &Scene,
        classes: Classes,
        hints: &EdgePrices,
        root: &Root,
        meter: &Meter,
    ) -> Result<(), Reason> {
        let cost = LeafCost::new(scene);
        if !self.exact_only {
            let pair = classes.pair(scene.network);
            let rounded: Interval = meter.while_held(|| {
                meter.hold(cost.bytes::<Interval>())?;
                meter.ahead(cost.operations().saturating_mul(Interval::STEPS))?;
                let cached = if scene.state.is_start() { root.get(scene, &cost, meter)? } else { None };
                bound(scene, &pair, hints, cached, &cost, meter)
            })?;
            match rounded.sign() {
                Some(Ordering::Greater) => return Ok(()),
                Some(_) => return Err(Reason::Bound(rounded)),
                None => {}
            }
        }
        let pair = classes.pair(scene.network);
        let exact: Dyadic = meter.while_held(|| {
            meter.hold(cost.bytes::<Dyadic>())?;
            bound(scene, &pair, hints, None, &cost, meter)
        })?;
        if exact.is_positive() { Ok(()) } else { Err(Reason::Bound(Interval::around(&exact))) }
    }

    fn singles(&self, scene: &Scene, classes: Classes, meter: &Meter) -> Result<(), Reason> {
        if scene.budget > 1 {
            return Err(Reason::Singles(scene.budget));
        }
        let (listed, operations) = (scene.listed(), cost::singles(scene));
        meter.ahead(operations.saturating_mul(if self.exact_only { Dyadic::STEPS } else { Interval::STEPS }))?;
        // Each margin is as expensive as any other.
        let each = Interval::steps(operations / (listed.len() as u64 + 1));
        let pairs = (classes.pair(scene.network), classes.pair(scene.network));
        let rounded: Option<Margins<Interval>> = (!self.exact_only).then(|| Margins::new(scene, &pairs.0));
        let exact: OnceCell<Margins<Dyadic>> = OnceCell::new();
        let positive = |extra: Option<usize>| {
            if rounded.as_ref().is_some_and(|margins| margins.margin(extra).sign() == Some(Ordering::Greater)) {
                return Ok(());
            }
            let margin = exact.get_or_init(|| Margins::new(scene, &pairs.1)).margin(extra);
            if margin.is_positive() { Ok(()) } else { Err(Reason::Bound(Interval::around(&margin))) }
        };
        for extra in std::iter::once(None).chain(listed.into_iter().map(Some)) {
            meter.spend(each)?;
            positive(extra)?;
        }
        Ok(())
    }
}
