//! `JointCertifier`: from a joint problem to a verdict for every node.

use std::time::{Duration, Instant};

use gcnproof_check::edges::format::{Claim, ClassProof, Witness};
use rayon::prelude::*;

use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::decide::Decide;
use crate::certify::settings::Effort;
use crate::certify::verdict::Verdict;
use crate::edges::changes::world::World;
use crate::edges::joint::budget::JointBudget;
use crate::edges::joint::decide::{JointDecision, JointKnown, Question, decide};
use crate::edges::joint::problem::JointProblem;
use crate::edges::joint::verdict::{Joint, JointDetails, JointResult};
use crate::edges::problem::EdgeError;
use crate::edges::verdict::EdgeReason;
use crate::number::dyadic::Dyadic;
use crate::problem::check_targets;
use crate::problem::graph::Graph;
use crate::problem::limits::{Clock, Limits, Stop};

/// Decides nodes of one joint problem: do any flips and changes of edges, made together, change their class?
#[derive(Clone, Debug)]
pub struct JointCertifier {
    problem: JointProblem,
    effort: Effort,
    proofs: bool,
    stop: Stop,
    /// Work is over then, where several questions share one time limit.
    until: Option<Instant>,
}

impl JointCertifier {
    /// A certifier of a problem: bounds and attacks only.
    pub fn new(problem: JointProblem) -> JointCertifier {
        JointCertifier { problem, effort: Effort::Bounds, proofs: false, stop: Stop::default(), until: None }
    }

    /// How far to go. Exact minima are not found for joint attacks: who asks for them gets verdicts.
    pub fn effort(mut self, effort: Effort) -> JointCertifier {
        self.effort = effort;
        self
    }

    /// Is what each verdict rests on to be kept ([`NodeResult::evidence`](crate::NodeResult::evidence))?
    pub fn proofs(mut self, proofs: bool) -> JointCertifier {
        self.proofs = proofs;
        self
    }

    /// Searches give up as soon as `asked` says so.
    pub fn stop(mut self, asked: impl Fn() -> bool + Send + Sync + 'static) -> JointCertifier {
        self.stop = Stop::when(asked);
        self
    }

    pub(super) fn keeps_proofs(&self) -> bool {
        self.proofs
    }

    /// The problem.
    pub fn problem(&self) -> &JointProblem {
        &self.problem
    }

    /// Certifies nodes for their predicted classes, in parallel.
    ///
    /// # Errors
    /// If the graph has no such node, or a result contradicts itself.
    pub fn certify(&self, nodes: &[usize]) -> Result<Vec<JointResult>, EdgeError> {
        check_targets(self.problem.graph(), nodes)?;
        nodes.par_iter().with_max_len(1).map(|&node| self.one(node)).collect()
    }

    /// Certifies one node for its predicted class.
    ///
    /// # Errors
    /// If the graph has no such node, or the result contradicts itself.
    pub fn one(&self, node: usize) -> Result<JointResult, EdgeError> {
        check_targets(self.problem.graph(), &[node])?;
        let result = self.decided(node, None);
        match result.contradiction {
            Some(contradiction) => Err(contradiction.into()),
            None => Ok(result),
        }
    }

    fn limits(&self) -> Limits {
        match self.effort {
            Effort::Complete(limits) | Effort::Minimize { limits, .. } => limits,
            _ => Limits { nodes: 0, time: Duration::MAX },
        }
    }

    fn clock(&self) -> Clock {
        Clock { deadline: self.until.or(Instant::now().checked_add(self.limits().time)), stop: self.stop.clone() }
    }

    fn decided(&self, node: usize, reference: Option<usize>) -> JointResult {
        let clock = self.clock();
        let (problem, effort, nodes) = (&self.problem, self.effort, self.limits().nodes);
        let proofs = self.proofs;
        let question = Question { problem, node: node as u32, reference, effort, nodes, clock: &clock, proofs };
        let mut result = conclude(node, decide(&question), proofs);
        result.contradiction = result.contradiction.take().or_else(|| self.refuted(&result));
        result
    }

    /// What is wrong with a result: its witness is replayed exactly.
    fn refuted(&self, result: &JointResult) -> Option<Contradiction> {
        let node = Subject::Node(result.node);
        let (flips, edges) = (&result.witness, &result.details.edges);
        // Whichever class an attack breaks: no bound of a pair is above what some changes leave of it.
        if let Some(margin) = result.margins.iter().find(|margin| margin.lower > margin.upper) {
            let subject = Subject::Pair { node: result.node, reference: result.reference, class: margin.class };
            let bound = format!("a lower bound of {:e}", margin.lower);
            return Some(Contradiction::new(subject, bound, format!("changes with a margin of {:e}", margin.upper)));
        }
        if result.verdict != Verdict::NonRobust {
            let broken = result.margins.iter().find(|margin| margin.upper <= 0.0)?;
            let margin = format!("changes with a margin of {}", broken.upper);
            return Some(Contradiction::new(node, format!("the verdict {}", result.verdict.name()), margin));
        }
        let contradicts = |what: &str| {
            let witness = format!("the witness of flips {flips:?} and edges {edges:?}");
            Some(Contradiction::new(node, witness, what))
        };
        let JointBudget { flips: of_flips, edges: of_edges } = self.problem.budget();
        let graph = self.problem.graph();
        if !of_flips.admits(graph, flips) || !of_edges.admits(graph, edges) {
            return contradicts("the budget, which does not admit it");
        }
        let stack = &self.problem.stack;
        let world = World::new(&stack.graph, stack.directed, edges).flipped(flips);
        let logits: Vec<Dyadic> = stack.values(result.node as u32, &world, stack.rules.len() - 1);
        let sign = |class: usize| (&logits[result.reference] - &logits[class]).sign();
        let breaks = |class: usize| match result.reason {
            EdgeReason::Tie => sign(class).is_eq(),
            _ => sign(class).is_lt(),
        };
        let broken = (0..logits.len()).any(|class| class != result.reference && breaks(class));
        if broken { None } else { contradicts("its exact margins, which keep the class") }
    }
}

fn conclude(node: usize, mut decided: JointDecision, proofs: bool) -> JointResult {
    let robust = decided.known.iter().all(|known| !known.open);
    let (verdict, reason) = match &decided.attack {
        Some(attack) if attack.tie => (Verdict::NonRobust, EdgeReason::Tie),
        Some(_) => (Verdict::NonRobust, EdgeReason::Witness),
        None if robust && decided.branched => (Verdict::Robust, EdgeReason::BranchAndBound),
        None if robust => (Verdict::Robust, EdgeReason::PricedBound),
        None if decided.limit => (Verdict::Undecided, EdgeReason::Limit),
        None => (Verdict::Undecided, EdgeReason::BoundNotPositive),
    };
    let evidence = if proofs { evidence(&mut decided, robust) } else { None };
    let (witness, edges) = decided.attack.map_or_else(Default::default, |attack| (attack.flips, attack.edges));
    JointResult {
        node,
        reference: decided.reference,
        predicted: decided.predicted,
        relevant: decided.relevant,
        verdict,
        reason,
        minima: vec![None; decided.known.len()],
        margins: decided.known.into_iter().map(|known| known.margin).collect(),
        search_nodes: decided.visited,
        limit_hit: decided.limit,
        witness,
        deployed: None,
        evidence,
        details: JointDetails { edges },
        contradiction: decided.contradiction,
    }
}

/// What a verdict rests on, if all of it was kept.
fn evidence(decided: &mut JointDecision, robust: bool) -> Option<Claim> {
    match &decided.attack {
        Some(attack) => Some(Claim::NonRobust(Witness {
            class: attack.class as u32,
            edges: attack.edges.iter().map(|edge| (edge.0, edge.1)).collect(),
            flips: attack.flips.iter().map(|&flip| flip.into()).collect(),
        })),
        None if robust => {
            let tree = |known: &mut JointKnown| {
                known.tree.take().map(|tree| ClassProof { class: known.margin.class as u32, tree })
            };
            decided.known.iter_mut().map(tree).collect::<Option<Vec<_>>>().map(Claim::Robust)
        }
        None => None,
    }
}

impl Decide<Joint> for JointCertifier {
    type Buffers = ();

    const SEEKS_ABOVE: bool = false;

    fn graph(&self) -> &Graph {
        self.problem.graph()
    }

    fn global(&self) -> usize {
        self.problem.budget().flips.global()
    }

    /// Another `Q`; `E` stays.
    fn at_global(&self, global: usize, _: &[usize]) -> JointCertifier {
        JointCertifier { problem: self.problem.at_global(global), ..self.clone() }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn decide(&self, node: usize, reference: Option<usize>, (): &mut ()) -> JointResult {
        self.decided(node, reference)
    }
}
