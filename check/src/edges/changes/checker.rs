//! Checks one proof against changed edges.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::OnceLock;

use gcnproof_files::{GraphFile, ModelFile};

use super::budget::{ChangeBudget, share_graph};
use super::carried::{Beside, bound};
use super::graph::ChangedGraph;
use super::lists::{self, Lists};
use super::margin::Evaluation;
use super::network::{ChangeNetwork, KeptScalar};
use super::path::{ChangePath, OpenChange};
use super::sizes::Sizes;
use super::tree::walk;
use crate::edges::budget::neighbours;
use crate::edges::line::{
    CHANGES_VERSION, CarriedPrices, Changes, EdgeClaim, EdgeClassProof, EdgeHeader, EdgeNodeProof, EdgeStep,
    EdgeWitness, JOINT_VERSION,
};
use crate::format::Convention;
use crate::number::{Dyadic, Interval};
use crate::statement::require_digests;
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::Meter;

/// The network and the budget that a header speaks of.
pub struct ChangeStatement<'a> {
    pub(crate) graph: &'a GraphFile,
    pub(crate) network: ChangeNetwork<'a>,
    pub(crate) budget: ChangeBudget,
    pub(crate) classes: Convention,
    lists: OnceLock<Lists>,
}

impl<'a> ChangeStatement<'a> {
    /// Checks that header, graph and model belong together.
    ///
    /// # Errors
    /// If they do not, or if the model has no proofs against changed edges.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &EdgeHeader,
        changes: &Changes,
    ) -> Result<ChangeStatement<'a>, Reason> {
        let expected = if header.flips.is_some() { JOINT_VERSION } else { CHANGES_VERSION };
        if header.version != expected {
            let known = format!("proofs against such changes of edges have version {expected}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        if graph.categories.is_some() {
            return Err(Reason::Categories("proofs against changed edges"));
        }
        // Values of graphs are not taken for values of nodes (§8.6).
        model.check_levels().map_err(Reason::Files)?;
        let network = ChangeNetwork::new(graph, model, &header.message_passing, changes.directed)?;
        let nodes = graph.adjacency.rows as u32;
        for node in 0..nodes {
            let alone =
                |&other: &u32| other >= nodes || !changes.directed && !graph.adjacency.contains(other as usize, node);
            if let Some(other) = neighbours(&graph.adjacency, node).find(alone) {
                return Err(Reason::Files(format!("the graph has an edge from {node} to {other}, but none back")));
            }
            let elsewhere = |other: &u32| !share_graph(graph, (node, *other));
            if let Some(other) = neighbours(&graph.adjacency, node).find(elsewhere) {
                return Err(Reason::Files(format!("an edge leads from node {other} to node {node} of another graph")));
            }
        }
        let budget = ChangeBudget::new(&header.edges, changes, graph)?;
        Ok(ChangeStatement { graph, network, budget, classes: header.classes, lists: OnceLock::new() })
    }

    /// Who raises or lowers units of the first layer most; sorted when it is first asked for.
    fn lists(&self, meter: &Meter) -> Result<&Lists, Reason> {
        if let Some(lists) = self.lists.get() {
            return Ok(lists);
        }
        let found = Lists::new(&self.network, meter)?;
        Ok(self.lists.get_or_init(|| found))
    }

    /// What the attacker may do.
    pub(crate) fn budget(&self) -> &ChangeBudget {
        &self.budget
    }
}

/// Judges proofs about changes.
pub struct ChangeChecker<'a> {
    statement: &'a ChangeStatement<'a>,
    exact_only: bool,
}

/// One class against another at a node.
#[derive(Clone, Copy)]
struct AskedPair {
    node: u32,
    reference: u32,
    class: u32,
}

/// What is listed where nothing is decided, for all classes: those whose margins are all positive, as floats say.
type Listed = OnceCell<Vec<bool>>;

impl<'a> ChangeChecker<'a> {
    pub fn new(statement: &'a ChangeStatement<'a>, exact_only: bool) -> ChangeChecker<'a> {
        ChangeChecker { statement, exact_only }
    }

    /// Accepts or rejects the proof of one node.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, proof: &EdgeNodeProof, meter: &Meter) -> Result<Verdict, Fault> {
        let ChangeStatement { graph, network, .. } = self.statement;
        proof.require_reference(graph, network.classes, self.statement.classes)?;
        meter.look()?;
        match &proof.claim {
            EdgeClaim::Robust(trees) => self.robust(proof, trees, meter),
            EdgeClaim::NonRobust(witness) => self.witness(proof, witness, meter),
        }
    }

    /// Every other class, ascending. That all margins are positive without a change is part of what is proved.
    fn robust(&self, proof: &EdgeNodeProof, trees: &[EdgeClassProof], meter: &Meter) -> Result<Verdict, Fault> {
        let ChangeStatement { network, budget, .. } = self.statement;
        let listed = Listed::new();
        let mut others = (0..network.classes as u32).filter(|&class| class != proof.class);
        for one in trees {
            if others.next() != Some(one.class) {
                return Err(Reason::Classes(one.class).into());
            }
            let pair = AskedPair { node: proof.id, reference: proof.class, class: one.class };
            let mut path = ChangePath::new(network, budget);
            let judged = walk(&mut path, &one.tree, meter, |path, step| match step {
                EdgeStep::Listed(_) => self.listed(path, pair, &listed, meter),
                EdgeStep::Carried(prices) => self.carried(path, pair, prices, meter),
                EdgeStep::Edge(..) => Err(Reason::Incomplete),
                EdgeStep::Singles(_) | EdgeStep::Prices(_) => Err(Reason::Leaf("removals with one hidden layer")),
                EdgeStep::Flips(_) => Err(Reason::Leaf("flips")),
            });
            judged.map_err(|(step, reason)| Fault { class: Some(one.class), step: Some(step), reason })?;
        }
        match others.next() {
            Some(missing) => Err(Reason::Classes(missing).into()),
            None => Ok(Verdict::Robust),
        }
    }

    fn witness(&self, proof: &EdgeNodeProof, witness: &EdgeWitness, meter: &Meter) -> Result<Verdict, Fault> {
        let ChangeStatement { graph, network, budget, classes, .. } = self.statement;
        let at_class = |reason| Fault { class: Some(witness.class), step: None, reason };
        let adjacency = &graph.adjacency;
        let start = ChangedGraph::new(adjacency, budget.directed, std::iter::empty());
        let against = |class: u32| AskedPair { node: proof.id, reference: proof.class, class };
        if *classes == Convention::Predicted {
            for class in (0..network.classes as u32).filter(|&class| class != proof.class) {
                // The smallest number among equals.
                let ahead = match self.sign(&start, against(class), meter)?.0 {
                    Ordering::Greater => true,
                    Ordering::Equal => proof.class < class,
                    Ordering::Less => false,
                };
                if !ahead {
                    return Err(Reason::Reference("predicted class").into());
                }
            }
        }
        if witness.class as usize >= network.classes || witness.class == proof.class {
            return Err(at_class(Reason::Class(witness.class)));
        }
        witness.require_no_flips().map_err(at_class)?;
        budget.require(graph, &witness.edges).map_err(at_class)?;
        let changed = ChangedGraph::new(adjacency, budget.directed, witness.edges.iter());
        match self.sign(&changed, against(witness.class), meter)? {
            (Ordering::Less, _) => Ok(Verdict::NonRobust),
            (Ordering::Equal, _) => Ok(Verdict::Tie),
            (Ordering::Greater, margin) => Err(at_class(Reason::Margin(margin))),
        }
    }

    /// What the last layer gives a node on a changed graph.
    fn logits<N: KeptScalar>(&self, graph: &ChangedGraph, node: u32, meter: &Meter) -> Result<Vec<N>, Reason> {
        let network = &self.statement.network;
        Evaluation::<N>::new(network, graph, meter)?.sums(network.layers.len() - 1, node)
    }

    /// The sign of a margin on a changed graph, and floats around it.
    fn sign(&self, graph: &ChangedGraph, pair: AskedPair, meter: &Meter) -> Result<(Ordering, Interval), Reason> {
        let (reference, class) = (pair.reference as usize, pair.class as usize);
        if !self.exact_only {
            let logits: Vec<Interval> = self.logits(graph, pair.node, meter)?;
            let margin = logits[reference].minus(logits[class]);
            if let Some(sign) = margin.sign() {
                return Ok((sign, margin));
            }
        }
        let logits: Vec<Dyadic> = self.logits(graph, pair.node, meter)?;
        let margin = &logits[reference] - &logits[class];
        Ok((margin.sign(), Interval::around(&margin)))
    }

    /// All sets of open changes have a positive margin.
    fn listed(&self, path: &ChangePath, pair: AskedPair, listed: &Listed, meter: &Meter) -> Result<(), Reason> {
        if path.is_start() && !self.exact_only {
            if listed.get().is_none() {
                // Nobody else can have set it.
                let _ = listed.set(self.positive(path, pair, meter)?);
            }
            if listed.get().is_some_and(|positive| positive[pair.class as usize]) {
                return Ok(());
            }
        }
        each_set(path, &path.open(pair.node, meter)?, meter, |set| match self.sign(&path.graph(set), pair, meter)? {
            (Ordering::Greater, _) => Ok(()),
            (_, margin) => Err(Reason::Bound(margin)),
        })
    }

    /// For all classes: are all listed margins positive, as floats say?
    fn positive(&self, path: &ChangePath, pair: AskedPair, meter: &Meter) -> Result<Vec<bool>, Reason> {
        let mut positive = vec![true; self.statement.network.classes];
        each_set(path, &path.open(pair.node, meter)?, meter, |set| {
            let logits: Vec<Interval> = self.logits(&path.graph(set), pair.node, meter)?;
            for (class, positive) in positive.iter_mut().enumerate() {
                let margin = logits[pair.reference as usize].minus(logits[class]);
                *positive &= margin.sign() == Some(Ordering::Greater);
            }
            Ok(())
        })?;
        Ok(positive)
    }

    fn carried(&self, path: &ChangePath, pair: AskedPair, prices: &CarriedPrices, meter: &Meter) -> Result<(), Reason> {
        let network = &self.statement.network;
        if prices.lists && !lists::apply(path, network) {
            return Err(Reason::Leaf("insertions of any edges with one hidden layer"));
        }
        let (open, near) = path.open_near(pair.node, meter, prices.lists)?;
        let graph = path.graph(&[]);
        let sizes = Sizes::new(network, &graph, path, &open, prices.lists.then_some(&near));
        let lists = if prices.lists { Some(self.statement.lists(meter)?) } else { None };
        let beside = Beside { lists, flips: None };
        let bound = bound(path, &sizes, pair.node, [pair.reference, pair.class], prices, beside, meter)?;
        if bound.lower.is_positive() { Ok(()) } else { Err(Reason::Bound(bound)) }
    }
}

/// Changes of a set that is listed, at most.
const DEEPEST: usize = 64;

/// All admissible sets of open changes.
fn each_set(
    path: &ChangePath,
    open: &[OpenChange],
    meter: &Meter,
    mut look: impl FnMut(&[OpenChange]) -> Result<(), Reason>,
) -> Result<(), Reason> {
    fn below(
        path: &ChangePath,
        open: &[OpenChange],
        set: &mut Vec<OpenChange>,
        meter: &Meter,
        look: &mut dyn FnMut(&[OpenChange]) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        look(set)?;
        if set.len() == path.left() {
            return Ok(());
        }
        for (at, &change) in open.iter().enumerate() {
            meter.spend(64)?;
            set.push(change);
            if path.admits(set) {
                below(path, &open[at + 1..], set, meter, look)?;
            }
            set.pop();
        }
        Ok(())
    }
    if path.left().min(open.len()) > DEEPEST {
        return Err(Reason::TooLarge(format!("sets of more than {DEEPEST} changes are not listed")));
    }
    below(path, open, &mut Vec::new(), meter, &mut look)
}
