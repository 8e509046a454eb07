//! Rows as figures and table need them, whatever the attacker.

use gcnproof::edges::{Edge, Edges, Joint};
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::Verdict;
use gcnproof::internals::problem::flip::Flip;
use gcnproof::{Flips, Grounded};
use gcnproof_results::record::MarginRecord;
use gcnproof_results::record::node::{Record, Tabled};
use gcnproof_results::record::radius::RadiusRow;

/// An attacker that a report can show.
pub trait Pictured: Tabled {
    /// Its changes; `own` are the columns of a row of verdicts.
    fn witness(changes: Vec<Self::Change>, own: Option<&Self::Own>) -> Witness;

    /// Do the paper's and the anchored bound alone certify a node, where they were evaluated?
    fn alone(_: &Self::Own) -> [Option<bool>; 2] {
        [None, None]
    }

    /// The verdict for the network as it runs, where it was asked for.
    fn deployed(_: &Self::Own) -> Option<DeployedVerdict> {
        None
    }

    /// How many nodes a node depends on, if rows say it; else the graph does.
    fn neighbourhood(relevant: u64) -> u64;
}

/// The changes of an attack.
#[derive(Clone, Debug, PartialEq)]
pub enum Witness {
    /// Flipped attributes, or entries that are moved and whose values rows of radii do not have.
    Flips(Vec<Flip>),
    /// Entries that are moved, and the values that they get.
    Moves(Vec<Flip>, Vec<f64>),
    /// Changed edges.
    Edges(Vec<Edge>),
    /// Flipped attributes, and edges that are changed at the same time.
    Both(Vec<Flip>, Vec<Edge>),
}

/// What is said of a node under one budget.
#[derive(Clone, Debug)]
pub struct NodeVerdict {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// The class that is certified.
    pub reference: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Nodes that its logits depend on.
    pub neighbourhood: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on, as files have it.
    pub reason: &'static str,
    /// Does the paper's bound alone certify it? Nothing if it was not evaluated.
    pub paper_certifies: Option<bool>,
    /// The same for the anchored bound.
    pub anchored_certifies: Option<bool>,
    /// Nodes of the search tree.
    pub search_nodes: u64,
    /// The class pairs.
    pub margins: Vec<MarginRecord>,
    /// The changes that break it.
    pub witness: Witness,
    /// The verdict for the network as it runs, where it was asked for.
    pub deployed: Option<DeployedVerdict>,
    /// Time spent on it.
    pub seconds: f64,
}

/// How many changes a node withstands.
#[derive(Clone, Debug)]
pub struct NodeRadius {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Nodes that its logits depend on.
    pub neighbourhood: u64,
    /// The largest global budget that is certified.
    pub certified: Option<u64>,
    /// The smallest global budget with a witness.
    pub attacked: Option<u64>,
    /// That witness.
    pub witness: Witness,
}

impl Pictured for Flips {
    fn witness(flips: Vec<Flip>, own: Option<&Self::Own>) -> Witness {
        let values = own.and_then(|own| own.witness_values.as_ref());
        let values: Option<Vec<f64>> =
            values.and_then(|list| list.split_whitespace().map(|value| value.parse().ok()).collect());
        match values.filter(|values| values.len() == flips.len()) {
            Some(values) => Witness::Moves(flips, values),
            None => Witness::Flips(flips),
        }
    }

    fn alone(own: &Self::Own) -> [Option<bool>; 2] {
        [own.paper_certifies, own.anchored_certifies]
    }

    fn deployed(own: &Self::Own) -> Option<DeployedVerdict> {
        own.deployed
    }

    fn neighbourhood(relevant: u64) -> u64 {
        relevant
    }
}

impl Pictured for Edges {
    fn witness(edges: Vec<Edge>, _: Option<&Self::Own>) -> Witness {
        Witness::Edges(edges)
    }

    fn neighbourhood(_: u64) -> u64 {
        0
    }
}

impl Pictured for Joint {
    fn witness(flips: Vec<Flip>, own: Option<&Self::Own>) -> Witness {
        Witness::Both(flips, own.map_or_else(Vec::new, |own| own.witness_edges.clone()))
    }

    fn neighbourhood(_: u64) -> u64 {
        0
    }
}

impl Witness {
    /// How much of the global budget it takes: of both budgets that of flips, because `E` stays as it is.
    pub fn cost(&self) -> u64 {
        match self {
            Witness::Both(flips, _) => flips.len() as u64,
            _ => self.len() as u64,
        }
    }

    /// How many changes.
    pub fn len(&self) -> usize {
        self.flips().len() + self.edges().len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of the attributes that it changes.
    pub fn flips(&self) -> &[Flip] {
        if let Witness::Flips(flips) | Witness::Moves(flips, _) | Witness::Both(flips, _) = self { flips } else { &[] }
    }

    /// The values that moved entries get, where they are known.
    pub fn values(&self) -> &[f64] {
        if let Witness::Moves(_, values) = self { values } else { &[] }
    }

    /// The edges that it changes.
    pub fn edges(&self) -> &[Edge] {
        if let Witness::Edges(edges) | Witness::Both(_, edges) = self { edges } else { &[] }
    }
}

impl NodeVerdict {
    /// The smallest lower bound over the classes: how far the node is known to be from changing.
    pub fn worst_lower(&self) -> Option<f64> {
        self.margins.iter().map(|m| m.lower).reduce(|x, y| Some(x?.min(y?))).flatten()
    }
}

impl<A: Pictured> From<Record<A>> for NodeVerdict {
    fn from(row: Record<A>) -> NodeVerdict {
        let [paper_certifies, anchored_certifies] = A::alone(&row.own);
        NodeVerdict {
            node: row.node,
            label: row.label,
            predicted: row.predicted,
            reference: row.reference,
            degree: row.degree,
            neighbourhood: A::neighbourhood(row.relevant),
            verdict: row.verdict,
            reason: row.reason.name(),
            paper_certifies,
            anchored_certifies,
            search_nodes: row.search_nodes,
            margins: row.margins,
            witness: A::witness(row.witness, Some(&row.own)),
            deployed: A::deployed(&row.own),
            seconds: row.seconds,
        }
    }
}

impl<A: Pictured> From<RadiusRow<A>> for NodeRadius {
    fn from(row: RadiusRow<A>) -> NodeRadius {
        NodeRadius {
            node: row.node,
            label: row.label,
            predicted: row.predicted,
            degree: row.degree,
            neighbourhood: A::neighbourhood(row.relevant),
            certified: row.certified,
            attacked: row.attacked,
            witness: A::witness(row.witness, None),
        }
    }
}
