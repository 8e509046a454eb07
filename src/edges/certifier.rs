//! `EdgeCertifier`: from an edge problem to a verdict for every node.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::certify::decide::Decide;
use crate::certify::minimal::minimal;
use crate::certify::settings::Effort;
use crate::certify::verdict::Verdict;
use crate::edges::bound::anchors;
use crate::edges::changes::decide::{Asked, ChangeDecision, decide};
use crate::edges::ground::{EdgeTarget, Ground, Path};
use crate::edges::judge::{Attack, Judge};
use crate::edges::pair::Pair;
use crate::edges::problem::{EdgeError, EdgeProblem};
use crate::edges::scene::Scene;
use crate::edges::search::Step;
use crate::edges::steps::{Course, Known, Table, by_nothing};
use crate::edges::verdict::{EdgeClaim, EdgeReason, EdgeResult, Edges};
use crate::problem::graph::Graph;
use crate::problem::pace::Pace;
use crate::search::limits::{Clock, Limits, Stop};

/// Decides nodes of one edge problem: does any admissible set of changed edges change their class?
#[derive(Clone, Debug)]
pub struct EdgeCertifier {
    pub(super) problem: EdgeProblem,
    pub(super) effort: Effort,
    pub(super) proofs: bool,
    stop: Stop,
    /// Work is over then, where several questions share one time limit.
    until: Option<Instant>,
    /// So many sets of changes are listed rather than bounded.
    listed: usize,
}

/// Below about so many sets, a list is cheaper than a bound.
const LISTED: usize = 1500;

impl EdgeCertifier {
    /// A certifier of a problem: bounds and attacks only.
    pub fn new(problem: EdgeProblem) -> EdgeCertifier {
        EdgeCertifier {
            problem,
            effort: Effort::Bounds,
            proofs: false,
            stop: Stop::default(),
            until: None,
            listed: LISTED,
        }
    }

    /// How far to go.
    pub fn effort(mut self, effort: Effort) -> EdgeCertifier {
        self.effort = effort;
        self
    }

    /// Is what each verdict rests on to be kept ([`NodeResult::evidence`](crate::NodeResult::evidence))?
    pub fn proofs(mut self, proofs: bool) -> EdgeCertifier {
        self.proofs = proofs;
        self
    }

    /// So many sets of changes are listed rather than bounded, where not just undirected edges are removed with one
    /// hidden layer. For tests: fewer show what bounds do.
    #[doc(hidden)]
    pub fn listing(mut self, most: usize) -> EdgeCertifier {
        self.listed = most;
        self
    }

    /// Searches give up as soon as `asked` says so.
    pub fn stop(mut self, asked: impl Fn() -> bool + Send + Sync + 'static) -> EdgeCertifier {
        self.stop = Stop::when(asked);
        self
    }

    /// The same certifier with another `E`.
    pub fn at_global(&self, global: usize) -> EdgeCertifier {
        EdgeCertifier { problem: self.problem.at_global(global), ..self.clone() }
    }

    /// The problem.
    pub fn problem(&self) -> &EdgeProblem {
        &self.problem
    }

    /// Certifies nodes for their predicted classes, in parallel.
    ///
    /// # Errors
    /// If the graph has no such node, or a result contradicts itself.
    pub fn certify(&self, nodes: &[usize]) -> Result<Vec<EdgeResult>, EdgeError> {
        self.problem.check_nodes(nodes)?;
        nodes.par_iter().with_max_len(1).map(|&node| sound(self.decided(node, None))).collect()
    }

    /// Certifies one node for its predicted class.
    ///
    /// # Errors
    /// If the graph has no such node, or the result contradicts itself.
    pub fn one(&self, node: usize) -> Result<EdgeResult, EdgeError> {
        self.problem.check_nodes(&[node])?;
        sound(self.decided(node, None))
    }

    /// Certifies that a node keeps a class of the network.
    ///
    /// # Errors
    /// If the graph has no such node, or the result contradicts itself.
    pub fn for_class(&self, node: usize, reference: usize) -> Result<EdgeResult, EdgeError> {
        self.problem.check_nodes(&[node])?;
        sound(self.decided(node, Some(reference)))
    }

    /// The class with the largest exact logit; the smallest number among equals.
    fn predicted(&self, scene: &Scene, root: &Path) -> usize {
        let node = scene.ground.target.ids[0];
        let mut best = 0;
        for class in 1..self.problem.network().class_count() {
            let pair = Pair::new(&self.problem, node, best, class);
            let mut judge = Judge::new(scene, &pair, root);
            let margin = judge.margin(&[]);
            let loses = margin.upper() < 0.0
                || (margin.lower() <= 0.0 || margin.lower().is_nan()) && judge.exact(&[]).sign().is_lt();
            if loses {
                best = class;
            }
        }
        best
    }

    fn limits(&self) -> Limits {
        match self.effort {
            Effort::Complete(limits) | Effort::Minimize { limits, .. } => limits,
            _ => Limits { nodes: 0, time: Duration::MAX },
        }
    }

    /// The clock of a node whose work begins now.
    pub(super) fn clock(&self) -> Clock {
        Clock { deadline: self.until.or(Instant::now().checked_add(self.limits().time)), stop: self.stop.clone() }
    }

    /// The same certifier with one time limit for all that it is asked from now on.
    fn timed_together(&self) -> EdgeCertifier {
        EdgeCertifier { until: self.clock().deadline, ..self.clone() }
    }

    /// Decides a node; if the result contradicts itself, it says so.
    fn decided(&self, node: usize, reference: Option<usize>) -> EdgeResult {
        let problem = &self.problem;
        if let Some(stack) = problem.stack() {
            let pace = Pace::new(self.clock());
            let (effort, nodes, budget) = (self.effort, self.limits().nodes, problem.budget());
            let (node_id, proofs) = (node as u32, self.proofs);
            let asked = Asked {
                stack,
                budget,
                node: node_id,
                reference,
                effort,
                proofs,
                nodes,
                listed: self.listed,
                pace: &pace,
            };
            let ChangeDecision { reference, predicted, relevant, known, course } = decide(&asked);
            let mut result = self.conclude([node, reference, predicted], relevant, known, course);
            result.contradiction = result.disagreement(problem);
            return result;
        }
        let (pace, endless) = (Pace::new(self.clock()), Pace::endless());
        let root = Path::default();
        let target = EdgeTarget::new(problem, node as u32);
        let scene = |global: usize, pace| Scene::new(problem, Ground::new(&target, global, &root)?, pace);
        let whole = scene(problem.budget().global(), &pace);
        let anchors = whole.as_ref().and_then(anchors);
        // Whatever the time, the graph as it is has a class; without removals that takes no time.
        let Some(scene) = whole.or_else(|| scene(0, &endless)) else { unreachable!("nothing is removed at the root") };
        let predicted = self.predicted(&scene, &root);
        let reference = reference.unwrap_or(predicted);
        let others: Vec<usize> = (0..problem.network().class_count()).filter(|&class| class != reference).collect();
        let pairs: Vec<Pair> = others.iter().map(|&class| Pair::new(problem, node as u32, reference, class)).collect();
        let mut course = Course::default();
        let known = match &anchors {
            Some(anchors) => {
                let nodes = self.limits().nodes;
                let table = Table {
                    problem,
                    effort: self.effort,
                    proofs: self.proofs,
                    target: &target,
                    scene: &scene,
                    anchors,
                    pace: &pace,
                    nodes,
                    root: &root,
                };
                table.steps(&pairs, &mut course)
            }
            None => {
                course.limit = true;
                pairs.iter().map(|pair| by_nothing(&scene, pair, &root, &mut course)).collect()
            }
        };
        if let Some((class, attack)) = course.attack.take() {
            course.attack = Some(shortened(&scene, &pairs, &root, attack.clone()).unwrap_or((class, attack)));
        }
        let mut result = self.conclude([node, reference, predicted], target.edges.len(), known, course);
        result.contradiction = result.disagreement(problem);
        result
    }

    fn conclude(
        &self,
        [node, reference, predicted]: [usize; 3],
        relevant: usize,
        known: Vec<Known>,
        course: Course,
    ) -> EdgeResult {
        let robust = known.iter().all(|pair| !pair.open);
        let (verdict, reason) = match &course.attack {
            Some((_, attack)) if attack.tie => (Verdict::NonRobust, EdgeReason::Tie),
            Some(_) => (Verdict::NonRobust, EdgeReason::Witness),
            None if robust && course.branched => (Verdict::Robust, EdgeReason::BranchAndBound),
            None if robust && known.iter().any(|pair| pair.listed) => (Verdict::Robust, EdgeReason::Listed),
            None if robust => (Verdict::Robust, EdgeReason::PricedBound),
            None if course.limit => (Verdict::Undecided, EdgeReason::Limit),
            None => (Verdict::Undecided, EdgeReason::BoundNotPositive),
        };
        let evidence = match (&course.attack, verdict) {
            _ if !self.proofs => None,
            (Some((class, attack)), _) => Some(EdgeClaim::NonRobust(*class, attack.edges.clone())),
            (None, Verdict::Robust) => {
                let trees: Option<Vec<(usize, Vec<Step>)>> =
                    known.iter().map(|pair| Some((pair.margin.class, pair.tree.clone()?))).collect();
                trees.map(EdgeClaim::Robust)
            }
            _ => None,
        };
        EdgeResult {
            node,
            reference,
            predicted,
            relevant,
            verdict,
            reason,
            search_nodes: course.visited,
            limit_hit: course.limit,
            witness: course.attack.map_or_else(Vec::new, |(_, attack)| attack.edges),
            deployed: None,
            evidence,
            details: (),
            contradiction: None,
            minima: known.iter().map(|pair| pair.minimum.clone()).collect(),
            margins: known.into_iter().map(|pair| pair.margin).collect(),
        }
    }
}

/// An attack from which no edge can be left out, and the class that it breaks: a negative margin stays negative, a tie
/// stays a tie.
fn shortened(scene: &Scene, pairs: &[Pair], root: &Path, attack: Attack) -> Option<(usize, Attack)> {
    let target = scene.ground.target;
    let known = (0..target.edges.len() as u32).filter(|&edge| attack.edges.contains(&target.edge(edge)));
    let mut judges: Vec<Judge> = pairs.iter().map(|pair| Judge::new(scene, pair, root)).collect();
    let mut least =
        |edge: u32| judges.iter_mut().map(|judge| judge.margin(&[edge]).value).fold(f64::INFINITY, f64::min);
    let mut alone: Vec<(f64, u32)> = known.map(|edge| (least(edge), edge)).collect();
    alone.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
    let edges: Vec<u32> = alone.into_iter().map(|(_, edge)| edge).collect();
    let breaks = |edges: &[u32]| {
        let attacks = judges.iter_mut().filter_map(|judge| {
            let margin = judge.margin(edges);
            Some((judge.pair.other, judge.attack(edges, margin)?))
        });
        // A class that is larger says more than one that is as large.
        attacks.min_by_key(|(_, attack)| attack.tie).filter(|(_, found)| found.tie == attack.tie)
    };
    minimal(&edges, breaks).map(|(_, broken)| broken)
}

/// A result that does not contradict itself.
fn sound(result: EdgeResult) -> Result<EdgeResult, EdgeError> {
    match result.contradiction {
        Some(contradiction) => Err(contradiction.into()),
        None => Ok(result),
    }
}

impl Decide<Edges> for EdgeCertifier {
    type Buffers = ();

    /// An attack was looked for at the undecided budget.
    const SEEKS_ABOVE: bool = false;

    fn graph(&self) -> &Graph {
        self.problem.graph()
    }

    fn global(&self) -> usize {
        self.problem.budget().global()
    }

    fn at_global(&self, global: usize, _: &[usize]) -> EdgeCertifier {
        EdgeCertifier::at_global(self, global)
    }

    /// One time limit for all questions about a node.
    fn for_questions(&self) -> EdgeCertifier {
        self.timed_together()
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn decide(&self, node: usize, reference: Option<usize>, (): &mut ()) -> EdgeResult {
        self.decided(node, reference)
    }

    /// Whoever withstands the removal of everything that matters withstands all.
    fn holds_up_to(&self, result: &EdgeResult, limit: usize) -> usize {
        let global = self.global();
        // Insertions make other changes relevant.
        if global >= result.relevant && self.problem.stack().is_none() { limit } else { global }
    }
}
