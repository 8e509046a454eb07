//! The problem of one target, and the referee who judges proofs of it.

use std::cmp::Ordering;
use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use crate::activation::Activations;
use crate::budget::{Budget, Decided, Flip};
use crate::dyadic::Dyadic;
use crate::format::{Claim, Convention, EXPONENTS, Header, NodeProof, OLDEST_VERSION, Step, VERSION, Witness};
use crate::interval::Interval;
use crate::line::Unit;
use crate::network::Network;
use crate::number::Number;
use crate::reason::Reason;
use crate::replay::Replay;
use crate::slice::Slice;
use crate::tree;

/// What an accepted proof shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No admissible perturbation makes another class as large.
    Robust,
    /// An admissible perturbation makes another class larger.
    NonRobust,
    /// An admissible perturbation makes another class exactly as large.
    Tie,
}

/// Where a proof is wrong, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The class whose proof is wrong, if it is about one.
    pub class: Option<u32>,
    /// The node of that class's tree, counted from 0, if it is about one.
    pub step: Option<usize>,
    /// What is wrong.
    pub reason: Reason,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Fault {
        Fault { class: None, step: None, reason }
    }
}

/// The network and the budget that a header speaks of.
pub struct Statement<'a> {
    network: Network<'a>,
    budget: Budget<'a>,
    classes: Convention,
}

impl<'a> Statement<'a> {
    /// Checks that header, graph and model belong together. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If they do not.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<Statement<'a>, Reason> {
        if !(OLDEST_VERSION..=VERSION).contains(&header.version) {
            let known = format!("this checker reads {OLDEST_VERSION} to {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        for (what, stated, given) in [("graph", &header.graph, &graph.digest), ("model", &header.model, &model.digest)]
        {
            if stated != given {
                // A stranger's digest may be as long as a header.
                let stated: String = stated.chars().take(64).collect();
                return Err(Reason::Header(format!(
                    "the proofs are about another {what}: its digest is {stated}, the {what} given has {given}"
                )));
            }
        }
        Ok(Statement {
            network: Network::new(graph, model, header, matrices)?,
            budget: Budget::new(&header.budget, graph)?,
            classes: header.classes,
        })
    }
}

/// Judges the proofs of a statement. Shared by all threads.
pub struct Checker<'a> {
    statement: &'a Statement<'a>,
    rounded: Activations<'a, Interval>,
    exact: Activations<'a, Dyadic>,
    exact_only: bool,
}

impl<'a> Checker<'a> {
    /// `exact_only` leaves the intervals out: slow, and for tests.
    pub fn new(statement: &'a Statement<'a>, exact_only: bool) -> Checker<'a> {
        let Statement { network, budget, .. } = statement;
        let rounded = Activations::new(network, budget, false);
        Checker { statement, rounded, exact: Activations::new(network, budget, exact_only), exact_only }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        let network = &self.statement.network;
        if proof.id as usize >= network.graph.attributes.rows {
            return Err(Reason::Node.into());
        }
        if proof.class as usize >= network.classes() {
            return Err(Reason::Class(proof.class).into());
        }
        let slice = Slice::new(network, network.depth(), proof.id);
        let mut problem = Problem::new(self, &slice);
        if self.statement.classes == Convention::Labels {
            let label = network.graph.labels.as_ref().and_then(|labels| labels[proof.id as usize]);
            if label != Some(proof.class) {
                return Err(Reason::Reference("label").into());
            }
        }
        match &proof.claim {
            Claim::Robust(trees) => {
                // Every other class, ascending. That all margins are positive without a flip is part of what is proved,
                // so the reference class is the predicted one.
                let mut others = (0..network.classes() as u32).filter(|&class| class != proof.class);
                for one in trees {
                    if others.next() != Some(one.class) {
                        return Err(Reason::Classes(one.class).into());
                    }
                    tree::check(&mut problem, proof.class, one.class, &one.tree).map_err(|(at, reason)| Fault {
                        class: Some(one.class),
                        step: Some(at),
                        reason,
                    })?;
                    // A leaf without multipliers does not use its exponent; out of range it is not of this format.
                    for (at, step) in one.tree.iter().enumerate() {
                        if let Step::Leaf(leaf) = step
                            && !EXPONENTS.contains(&leaf.exponent)
                        {
                            let reason = Reason::Exponent(leaf.exponent);
                            return Err(Fault { class: Some(one.class), step: Some(at), reason });
                        }
                    }
                }
                match others.next() {
                    Some(missing) => Err(Reason::Classes(missing).into()),
                    None => Ok(Verdict::Robust),
                }
            }
            Claim::NonRobust(witness) => {
                if self.statement.classes == Convention::Predicted {
                    problem.check_predicted(proof.class)?;
                }
                let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
                problem.check_witness(proof.class, witness).map_err(at_class)
            }
        }
    }
}

/// One target, rounded and, if that does not suffice, exactly.
pub(crate) struct Problem<'a> {
    checker: &'a Checker<'a>,
    slice: &'a Slice,
    pub(crate) rounded: Replay<'a, Interval>,
    exact: Option<Replay<'a, Dyadic>>,
    pub(crate) exact_only: bool,
}

impl<'a> Problem<'a> {
    fn new(checker: &'a Checker<'a>, slice: &'a Slice) -> Problem<'a> {
        let rounded = Replay::new(&checker.rounded, slice);
        Problem { checker, slice, rounded, exact: None, exact_only: checker.exact_only }
    }

    /// The exact replay.
    pub(crate) fn exact(&mut self) -> &mut Replay<'a, Dyadic> {
        self.exact.get_or_insert_with(|| Replay::new(&self.checker.exact, self.slice))
    }

    /// Refuses what is no hidden unit of the slice.
    pub(crate) fn unit(&self, unit: Unit) -> Result<Unit, Reason> {
        let network = &self.checker.statement.network;
        let (layer, node, place) = (unit.0 as usize, unit.1, unit.2 as usize);
        let known = (2..network.depth()).contains(&layer)
            && place < network.width(layer)
            && self.slice.place(layer, node).is_some();
        if known { Ok(unit) } else { Err(Reason::Unit(unit)) }
    }

    /// Refuses what is no hidden representation.
    pub(crate) fn hidden(&self, layer: u32) -> Result<(), Reason> {
        let known = (2..self.checker.statement.network.depth()).contains(&(layer as usize));
        if known { Ok(()) } else { Err(Reason::Layer(layer)) }
    }

    /// Refuses what is no permitted flip of the slice.
    pub(crate) fn flip(&self, flip: Flip) -> Result<Flip, Reason> {
        self.checker.statement.budget.require(flip)?;
        self.slice.place(1, flip.0).map(|_| flip).ok_or(Reason::Outside(flip))
    }

    /// Do the logits of the target depend on the attributes of this node?
    pub(crate) fn concerns(&self, node: u32) -> bool {
        self.slice.place(1, node).is_some()
    }

    /// The sign of a margin, and floats around it; exactly where the rounded logits do not tell.
    fn margin(
        &mut self,
        reference: u32,
        class: u32,
        flips: &Decided,
        rounded: Option<&[Interval]>,
    ) -> (Ordering, Interval) {
        let difference = |logits: &[Interval]| logits[reference as usize].minus(&logits[class as usize]);
        if let Some(margin) = rounded.map(difference)
            && let Some(sign) = margin.sign()
        {
            return (sign, margin);
        }
        let logits = self.exact().logits(flips);
        let margin = logits[reference as usize].minus(&logits[class as usize]);
        // The sign of an exact number is always known; were it not, `Greater` would prove nothing.
        (margin.sign().unwrap_or(Ordering::Greater), margin.enclosure())
    }

    /// The logits in intervals, unless only exact numbers are wanted.
    fn rounded_logits(&self, flips: &Decided) -> Option<Arc<Vec<Interval>>> {
        (!self.exact_only).then(|| self.rounded.logits(flips))
    }

    /// Has the class the largest logit without flips, and the smallest number among equals?
    fn check_predicted(&mut self, class: u32) -> Result<(), Reason> {
        let classes = self.checker.statement.network.classes() as u32;
        let none = Decided::default();
        let logits = self.rounded_logits(&none);
        for other in (0..classes).filter(|&other| other != class) {
            let (sign, _) = self.margin(class, other, &none, logits.as_ref().map(|logits| logits.as_slice()));
            if sign == Ordering::Less || (sign == Ordering::Equal && other < class) {
                return Err(Reason::Reference("predicted class"));
            }
        }
        Ok(())
    }

    fn check_witness(&mut self, reference: u32, witness: &Witness) -> Result<Verdict, Reason> {
        let Statement { network, budget, .. } = self.checker.statement;
        if witness.class as usize >= network.classes() || witness.class == reference {
            return Err(Reason::Class(witness.class));
        }
        for (at, &flip) in witness.flips.iter().enumerate() {
            budget.require(flip)?;
            if at > 0 && witness.flips[at - 1] >= flip {
                return Err(Reason::FlipOrder(flip));
            }
            if at >= budget.global {
                return Err(Reason::Budget);
            }
        }
        let made = Decided::made(&witness.flips);
        if made.overspent(budget) {
            return Err(Reason::Budget);
        }
        let logits = self.rounded_logits(&made);
        match self.margin(reference, witness.class, &made, logits.as_ref().map(|logits| logits.as_slice())) {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) => Ok(Verdict::Tie),
            (Ordering::Greater, margin) => Err(Reason::Margin(margin)),
        }
    }
}
