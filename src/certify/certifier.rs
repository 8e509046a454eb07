//! `Certifier` and its builder: from a problem to a verdict for every node, and the iterator over the results.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::bound::layer_bounds::LayerBounds;
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::certify::settings::{Bound, CertifierSettings, Effort, Margins, Progress};
use crate::certify::verdict::NodeResult;
use crate::deployed::error_table::ErrorTable;
use crate::deployed::execution::Execution;
use crate::problem::budget::Budget;
use crate::problem::forward::Representation;
use crate::problem::graph::Graph;
use crate::problem::network::Network;
use crate::problem::{Problem, ProblemError};
use crate::ranges::problem::RangeProblem;
use crate::search::limits::Stop;

/// Perturbations of a whole graph up to which all are tried: about as many as bounds of its units take the time of.
const FEW: usize = 1024;

/// Decides nodes of one problem: a graph, a network and a budget, with everything that all targets share. It owns what
/// it needs, and threads share it.
#[derive(Clone, Debug)]
pub struct Certifier {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) settings: CertifierSettings,
    /// What targets share where attributes are moved within ranges.
    pub(super) ranges: Option<RangeProblem>,
    /// Error bounds of the network as it runs, made when they are first asked for.
    pub(super) errors: Arc<OnceLock<ErrorTable>>,
    /// The same where no attribute is moved.
    pub(super) still: Arc<OnceLock<ErrorTable>>,
}

/// A certifier that is being set up: see [`Certifier::builder`].
#[derive(Clone, Debug)]
pub struct CertifierBuilder {
    problem: Problem,
    settings: CertifierSettings,
}

impl CertifierBuilder {
    /// Which bounds are evaluated; [`Bound::Best`] by default.
    pub fn bound(mut self, bound: Bound) -> CertifierBuilder {
        self.settings.bound = bound;
        self
    }

    /// How far to go; [`Effort::Bounds`] by default.
    pub fn effort(mut self, effort: Effort) -> CertifierBuilder {
        self.settings.effort = effort;
        self
    }

    /// How tight margins are where a node is robust by far; [`Margins::Fast`] by default. Exact minima need the tight
    /// ones.
    pub fn margins(mut self, margins: Margins) -> CertifierBuilder {
        self.settings.margins = margins;
        self
    }

    /// Up to how many perturbations of a whole graph all are tried at once; 1,024 by default. Where a short search
    /// leaves a network with several hidden layers open, 32 times as many are tried, and 4 times where proofs are asked
    /// for.
    pub fn listing(mut self, most: usize) -> CertifierBuilder {
        self.settings.listing = most;
        self
    }

    /// Also decides what holds for every execution of this kind ([`NodeResult::deployed`]). Not by default. Evidence is
    /// then that of the verdict as deployed.
    pub fn deployed(mut self, execution: Execution) -> CertifierBuilder {
        self.settings.deployed = Some(execution);
        self
    }

    /// Is what each verdict rests on to be kept ([`NodeResult::evidence`])? Not by default.
    pub fn proofs(mut self, proofs: bool) -> CertifierBuilder {
        self.settings.proofs = proofs;
        self
    }

    /// Searches give up as soon as `asked` says so: the node is then undecided at a limit, and not to be taken for a
    /// result.
    pub fn stop(mut self, asked: impl Fn() -> bool + Send + Sync + 'static) -> CertifierBuilder {
        self.settings.stop = Stop::when(asked);
        self
    }

    /// Tells `told` of every node that [`Certifier::certify`] has decided, as soon as it is: from any thread, in any
    /// order.
    pub fn progress(mut self, told: impl Fn(&NodeResult) + Send + Sync + 'static) -> CertifierBuilder {
        self.settings.progress = Progress(Some(Arc::new(told)));
        self
    }

    /// Does all the work that does not depend on a target.
    pub fn build(self) -> Certifier {
        let prepared = Arc::new(Prepared::new(self.problem));
        // Error bounds are made of all nodes at once: those of the nodes that a few targets depend on will not do.
        if self.settings.deployed.is_some() {
            prepared.unperturbed();
        }
        let ranges = RangeProblem::of(prepared.problem());
        Certifier { prepared, settings: self.settings, ranges, errors: Arc::default(), still: Arc::default() }
    }
}

/// Who is looked at, and for which class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) node: usize,
    /// The class that is to be kept.
    pub(crate) reference: usize,
    /// The class predicted on the unperturbed graph.
    pub(crate) predicted: usize,
}

impl Certifier {
    /// A certifier of a problem, to be set up.
    pub fn builder(problem: Problem) -> CertifierBuilder {
        CertifierBuilder { problem, settings: CertifierSettings { listing: FEW, ..CertifierSettings::default() } }
    }

    /// When searches give up besides their limits.
    #[doc(hidden)]
    pub fn stop(&self) -> &Stop {
        &self.settings.stop
    }

    /// The same certifier with another effort.
    pub fn with_effort(mut self, effort: Effort) -> Certifier {
        self.settings.effort = effort;
        self
    }

    /// The same certifier with other margins.
    pub fn with_margins(mut self, margins: Margins) -> Certifier {
        self.settings.margins = margins;
        self
    }

    /// The same certifier, which also keeps what each verdict rests on ([`NodeResult::evidence`]).
    pub fn with_proofs(mut self) -> Certifier {
        self.settings.proofs = true;
        self
    }

    /// The same problem under another global budget; what does not depend on it is shared.
    pub fn at_global(&self, global: usize) -> Certifier {
        let prepared = Arc::new(self.prepared.at_global(global));
        let ranges = RangeProblem::of(prepared.problem());
        Certifier { prepared, ranges, errors: Arc::default(), ..self.clone() }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        self.prepared.graph()
    }

    /// The network.
    pub fn network(&self) -> &Network {
        self.prepared.network()
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        self.prepared.budget()
    }

    /// What all targets share.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// `R` and `S` of representations `2 … L−1`.
    pub fn activation_bounds(&self) -> &[LayerBounds] {
        self.prepared.activation_bounds()
    }

    /// `Ĥ(2) … Ĥ(L)` without perturbation.
    pub fn unperturbed(&self) -> &[Representation] {
        self.prepared.unperturbed()
    }

    /// The class with the largest exact logit; the smallest number among equals.
    pub fn predicted(&self, node: usize) -> usize {
        self.prepared.predicted(node)
    }

    /// How many nodes' attributes the logits of a node depend on.
    pub fn neighbourhood(&self, node: usize) -> usize {
        self.prepared.neighbourhood(node)
    }

    /// Certifies nodes for their predicted classes: in parallel inside, in the order of `nodes` outside.
    /// The iterator ends early if the certifier is stopped; a node whose search was cut short is not among the results.
    ///
    /// # Errors
    /// If the graph has no such node.
    ///
    /// # Panics
    /// The iterator does if two steps contradict each other ([`NodeResult::contradiction`]), which is a bug.
    pub fn certify(&self, nodes: impl IntoIterator<Item = usize>) -> Result<Results<'_>, ProblemError> {
        let nodes: Vec<usize> = nodes.into_iter().collect();
        self.prepared.problem().check_nodes(&nodes)?;
        Ok(Results { certifier: self, nodes: nodes.into_iter(), together: FIRST, ready: Vec::new().into_iter() })
    }

    /// Certifies one node for its predicted class.
    ///
    /// # Errors
    /// If the graph has no such node.
    ///
    /// # Panics
    /// If two steps contradict each other ([`NodeResult::contradiction`]), which is a bug.
    pub fn one(&self, node: usize) -> Result<NodeResult, ProblemError> {
        self.prepared.problem().check_nodes(&[node])?;
        Ok(sound(self.certify_node(node, &mut Workspace::default())))
    }

    /// The same with the buffers of a thread.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn certify_node(&self, node: usize, workspace: &mut Workspace) -> NodeResult {
        let predicted = self.predicted(node);
        self.certify_class(node, predicted, predicted, workspace)
    }

    /// Certifies that a node keeps the class `reference`.
    pub fn certify_class(
        &self,
        node: usize,
        reference: usize,
        predicted: usize,
        workspace: &mut Workspace,
    ) -> NodeResult {
        self.decide(Target { node, reference, predicted }, &self.others(reference), workspace)
    }

    /// All classes but one.
    pub(super) fn others(&self, reference: usize) -> Vec<usize> {
        (0..self.network().class_count()).filter(|&class| class != reference).collect()
    }

    /// Certifies that a node keeps its predicted class against some of the other classes only: the verdict speaks of
    /// these.
    pub fn certify_against(
        &self,
        node: usize,
        reference: usize,
        others: &[usize],
        workspace: &mut Workspace,
    ) -> NodeResult {
        self.decide(Target { node, reference, predicted: self.predicted(node) }, others, workspace)
    }
}

/// The results of [`Certifier::certify`], in the order in which the nodes were given.
#[derive(Debug)]
pub struct Results<'a> {
    certifier: &'a Certifier,
    nodes: std::vec::IntoIter<usize>,
    together: usize,
    ready: std::vec::IntoIter<NodeResult>,
}

/// Nodes that are decided before the next results are handed out: few at first, so that those who ask for little need
/// not wait.
const FIRST: usize = 64;

impl Iterator for Results<'_> {
    type Item = NodeResult;

    fn next(&mut self) -> Option<NodeResult> {
        if let Some(result) = self.ready.next() {
            return Some(sound(result));
        }
        let nodes: Vec<usize> = self.nodes.by_ref().take(self.together).collect();
        self.together = (2 * self.together).min(1 << 14);
        let results: Mutex<BTreeMap<usize, NodeResult>> = Mutex::default();
        self.certifier.each(
            &nodes,
            |_| None,
            |result, _| {
                if let Progress(Some(told)) = &self.certifier.settings.progress {
                    told(&result);
                }
                results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(result.node, result);
            },
        );
        let results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A node may have been asked for twice.
        let results: Vec<NodeResult> = nodes.iter().map_while(|node| results.get(node).cloned()).collect();
        self.ready = results.into_iter();
        self.ready.next().map(sound)
    }
}

/// A result that no two steps contradict each other about.
pub(crate) fn sound(result: NodeResult) -> NodeResult {
    match &result.contradiction {
        Some(contradiction) => panic!("this is a bug of gcnproof: {contradiction}"),
        None => result,
    }
}
