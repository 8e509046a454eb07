//! What the caller of the checker requires a file of proofs to state and to prove (`--expect-Q` and the like).
//!
//! A file states its own budget, so "everything is accepted" may mean little. A statement is as expected if it covers at least
//! the perturbations asked for: what is robust under more of them is robust under fewer. (A non-robust node is so under the
//! budget that the file states.)

use std::fmt;
use std::str::FromStr;

use gcnproof_files::GraphFile;

use crate::checker::Verdict;
use crate::collective;
use crate::edges;
use crate::format::{BudgetStatement, Convention, Deployed, Direction, Header, Local};
use crate::report::shown_rules;
use crate::summary::Collective;

/// What a file must state and prove. Nothing is expected by default.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// These rules as a header names them, one for all layers or one per layer; none: any.
    pub message_passing: Vec<String>,
    /// `Q` must be at least this, and the local budgets must leave room for so many flips.
    pub global: Option<u64>,
    /// `q_n` of every node must be at least this, and `Q` must leave room for so many flips.
    pub local: Option<u64>,
    /// Flips in this direction must be permitted. Where a budget is expected the default is [`Direction::Both`].
    pub direction: Option<Direction>,
    /// May attributes or edges be frozen although a budget or direction is expected?
    pub allow_frozen: bool,
    /// `E` of removed edges must be at least this, and the local budgets must leave room for so many removals.
    pub removals: Option<u64>,
    /// `e` of every node must be at least this, and `E` must leave room for so many removals.
    pub removals_at_node: Option<u64>,
    /// Must nodes be able to lose their last edge?
    pub last_edges: bool,
    /// The convention must be this one.
    pub classes: Option<Convention>,
    /// The statement must be about every execution in float32 (true), or about the exact network (false).
    pub deployed: Option<bool>,
    /// These nodes must have accepted proofs; or, of one attack for the whole graph, their predictions must count.
    pub nodes: Option<Nodes>,
    /// The file must be about one attack for the whole graph, which breaks at most so many predictions.
    pub bound: Option<u64>,
    /// The attack must be able to change the attributes of at least so many nodes. Where a budget is expected the default is all.
    pub attacked_nodes: Option<u64>,
}

/// How the two kinds of statements about flips are called.
const OF_NODES: &str = "proofs about single nodes";
const OF_ALL: &str = "one attack for the whole graph";

impl Expectations {
    /// What the header states otherwise, in words. A flip more than there are attributes means nothing, so that `Q` need not
    /// be above `N·D`, nor `q` above `D`.
    pub fn unmet(&self, header: &Header, graph: &GraphFile) -> Vec<String> {
        let mut unmet = self.unmet_by_both(&header.message_passing, header.classes);
        let mut expect = |holds: bool, expected: String, stated: String| {
            if !holds {
                unmet.push(format!("expected {expected}, stated {stated}"));
            }
        };
        let removals = self.removals.is_some() || self.removals_at_node.is_some() || self.last_edges;
        expect(!removals, "removed edges".into(), "flips of attributes".into());
        let one_attack = self.bound.is_some() || self.attacked_nodes.is_some();
        expect(!one_attack, OF_ALL.into(), OF_NODES.into());
        unmet.extend(self.unmet_budget(&header.budget, graph));
        let mut expect = |holds: bool, expected: String, stated: String| {
            if !holds {
                unmet.push(format!("expected {expected}, stated {stated}"));
            }
        };
        if let Some(expected) = self.deployed {
            // Fewer bits mean larger errors: what holds for them holds for float32.
            let stated = header.deployed.as_ref().is_some_and(|deployed| deployed.precision <= 24);
            let words = |deployed: bool| if deployed { "every execution in float32" } else { "the exact network" };
            let holds = if expected { stated } else { header.deployed.is_none() };
            let found = header.deployed.as_ref().map_or_else(|| words(false).into(), ToString::to_string);
            expect(holds, words(expected).into(), found.clone());
            let exact =
                header.deployed.as_ref().filter(|_| expected).and_then(|d| too_exact(d, &header.message_passing));
            if let Some((rule, least)) = exact {
                expect(false, format!("operator entries of {rule} within {least} units or more"), found);
            }
        }
        unmet
    }

    /// What a header about one attack states otherwise. Without an expected bound it meets no expectation: all others are then about single nodes.
    pub fn unmet_collective(&self, header: &collective::format::Header, graph: &GraphFile) -> Vec<String> {
        let mut unmet = self.unmet_by_both(&header.message_passing, header.classes);
        let mut expect = |holds: bool, expected: String, stated: String| {
            if !holds {
                unmet.push(format!("expected {expected}, stated {stated}"));
            }
        };
        let removals = self.removals.is_some() || self.removals_at_node.is_some() || self.last_edges;
        expect(!removals, "removed edges".into(), "flips of attributes".into());
        let budget = self.global.is_some() || self.local.is_some() || self.direction.is_some();
        let other = budget || self.classes.is_some() || self.nodes.is_some() || self.deployed.is_some();
        expect(self.bound.is_some() || !other, OF_NODES.into(), OF_ALL.into());
        expect(self.deployed != Some(true), "every execution in float32".into(), "the exact network".into());
        let count = graph.attributes.rows;
        let most = header.attacked_nodes.filter(|&most| most < count as u64);
        if let (Some(most), true) = (most, budget || self.attacked_nodes.is_some()) {
            let expected = self
                .attacked_nodes
                .map_or("flips in all nodes".into(), |least| format!("flips in {least} nodes or more"));
            let holds = self.attacked_nodes.is_some_and(|least| most >= least);
            expect(holds, expected, format!("flips in at most {most}"));
        }
        if let (Some(expected), Some(stated)) = (&self.nodes, &header.nodes) {
            let absent = expected.of(count).find(|&node| stated.binary_search(&(node as u32)).is_err());
            if let Some(node) = absent {
                expect(false, format!("that nodes {expected} count"), format!("that node {node} does not"));
            }
        }
        unmet.extend(self.unmet_budget(&header.budget, graph));
        unmet
    }

    /// What a proof about one attack shows otherwise, in words.
    pub(crate) fn exceeded(&self, claim: Option<&Collective>) -> Option<String> {
        let most = self.bound?;
        let expected = format!("expected that at most {most} predictions are broken");
        match claim.filter(|claim| claim.proved) {
            None => Some(format!("{expected}, nothing is proved")),
            Some(claim) => (claim.claimed > most).then(|| format!("{expected}, proved at most {}", claim.claimed)),
        }
    }

    /// What a budget of flips states otherwise.
    fn unmet_budget(&self, budget: &BudgetStatement, graph: &GraphFile) -> Vec<String> {
        let mut unmet = Vec::new();
        let mut expect = |holds: bool, expected: String, stated: String| {
            if !holds {
                unmet.push(format!("expected {expected}, stated {stated}"));
            }
        };
        let (nodes, attributes) = (graph.attributes.rows as u64, graph.attributes.columns as u64);
        let room = Room::new(budget, nodes, attributes);
        if let Some(global) = self.global {
            let needed = global.min(nodes.saturating_mul(attributes));
            let expected = format!("Q = {global} or more");
            expect(budget.global >= needed, expected.clone(), format!("Q = {}", budget.global));
            let stated = format!("local budgets for only {} flips in all", room.sum);
            expect(room.sum >= u128::from(needed), expected, stated);
        }
        if let Some(local) = self.local {
            let needed = local.min(attributes);
            let expected = format!("q = {local} or more for every node");
            if let Some((node, smallest)) = room.smallest {
                expect(smallest >= needed, expected.clone(), format!("q = {smallest} for node {node}"));
            }
            expect(budget.global >= needed, expected, format!("Q = {}", budget.global));
        }
        if self.global.is_some() || self.local.is_some() || self.direction.is_some() {
            let direction = self.direction.unwrap_or(Direction::Both);
            let covers = budget.direction == Direction::Both || budget.direction == direction;
            expect(covers, format!("direction {direction}"), format!("direction {}", budget.direction));
            let frozen = budget.frozen_attributes.len();
            let any = self.global.unwrap_or(0) > 0 || self.local.unwrap_or(0) > 0;
            if !self.allow_frozen {
                expect(frozen == 0, "no frozen attributes".into(), format!("{frozen}"));
            } else if any {
                let all = frozen as u64 >= attributes;
                expect(!all, "attributes that can be flipped".into(), format!("that all {frozen} are frozen"));
            }
        }
        unmet
    }

    /// What the header of any file states otherwise.
    fn unmet_by_both(&self, stated: &Vec<String>, of_classes: Convention) -> Vec<String> {
        let mut unmet = Vec::new();
        let rules = &self.message_passing;
        let same = rules.is_empty() || rules == stated || (rules.len() == 1 && stated.iter().all(|s| *s == rules[0]));
        if !same {
            let [rules, stated] = [rules, stated].map(|rules| shown_rules(rules));
            unmet.push(format!("expected message passing {rules}, stated message passing {stated}"));
        }
        if let Some(classes) = self.classes.filter(|&classes| classes != of_classes) {
            unmet.push(format!("expected classes {classes}, stated classes {of_classes}"));
        }
        unmet
    }

    /// What a header about removed edges states otherwise. More removals than a node has edges mean nothing, so that `e` need not be above that, nor `E`
    /// above the number of edges.
    pub fn unmet_removals(&self, header: &edges::format::Header, graph: &GraphFile) -> Vec<String> {
        let mut unmet = self.unmet_by_both(&header.message_passing, header.classes);
        let mut expect = |holds: bool, expected: String, stated: String| {
            if !holds {
                unmet.push(format!("expected {expected}, stated {stated}"));
            }
        };
        let flips = self.global.is_some() || self.local.is_some() || self.direction.is_some();
        expect(!flips, "flips of attributes".into(), "removed edges".into());
        let one_attack = self.bound.is_some() || self.attacked_nodes.is_some();
        expect(!one_attack, OF_ALL.into(), "removed edges".into());
        expect(self.deployed != Some(true), "every execution in float32".into(), "the exact network".into());
        let removals = &header.edges;
        let degree = |node: usize| {
            let row = graph.adjacency.row(node);
            (row.len() - usize::from(row.contains(&(node as u32)))) as u64
        };
        let degrees: Vec<u64> = (0..graph.adjacency.rows).map(degree).collect();
        let local = |node: usize| match &removals.local {
            Local::Uniform(e) => *e,
            Local::PerNode(list) => list.get(node).copied().unwrap_or(0),
        };
        let all = degrees.iter().sum::<u64>() / 2;
        if let Some(global) = self.removals {
            let needed = global.min(all);
            let stated = format!("E = {}", removals.global);
            expect(removals.global >= needed, format!("E = {global} or more"), stated);
            let room =
                degrees.iter().enumerate().map(|(node, &degree)| u128::from(local(node).min(degree))).sum::<u128>() / 2;
            let stated = format!("local budgets for only {room} removals in all");
            expect(room >= u128::from(needed), format!("E = {global} or more"), stated);
        }
        if let Some(least) = self.removals_at_node {
            let expected = format!("e = {least} or more for every node");
            let short = |&node: &usize| local(node) < least.min(degrees[node]);
            if let Some(node) = (0..degrees.len()).find(short) {
                expect(false, expected.clone(), format!("e = {} for node {node}", local(node)));
            }
            let needed = least.min(degrees.iter().copied().max().unwrap_or(0));
            expect(removals.global >= needed, expected, format!("E = {}", removals.global));
        }
        if self.last_edges {
            let expected = "that nodes can lose their last edge".into();
            expect(!removals.keep_one, expected, "that every node keeps one".into());
        }
        if (self.removals.is_some() || self.removals_at_node.is_some() || self.last_edges) && !self.allow_frozen {
            let frozen = removals.frozen.len();
            expect(frozen == 0, "no frozen edges".into(), format!("{frozen}"));
        } else if self.removals.unwrap_or(0) > 0 || self.removals_at_node.unwrap_or(0) > 0 {
            let frozen = removals.frozen.len() as u64;
            expect(
                all == 0 || frozen < all,
                "edges that can be removed".into(),
                format!("that all {frozen} are frozen"),
            );
        }
        unmet
    }

    /// The expected nodes without verdict, in words.
    pub fn missing(&self, verdicts: &[Option<Verdict>]) -> Option<String> {
        let mut missing = self.nodes.as_ref()?.of(verdicts.len()).filter(|&node| verdicts[node].is_none()).peekable();
        missing.peek()?;
        let (mut count, mut first) = (0, Vec::new());
        for node in missing {
            count += 1;
            if first.len() < 10 {
                first.push(node.to_string());
            }
        }
        let more = if count > first.len() { ", …" } else { "" };
        let expected = self.nodes.as_ref().map(ToString::to_string).unwrap_or_default();
        let first = first.join(", ");
        Some(format!("expected proofs of nodes {expected}, without accepted proof are {count} of them: {first}{more}"))
    }
}

/// Units of float32 by which entries that a framework computes at run time may differ from the stored ones.
const RULE_ERROR: u64 = 8;

/// The first rule whose entries are stated to be closer to the stored ones than what a framework computes in float32, and how close they may be.
/// A statement about such entries is about no execution. Those of `sum` and `identity` are exact; matrices are read from a file.
fn too_exact(deployed: &Deployed, rules: &[String]) -> Option<(String, u64)> {
    let computed = |rule: &str| ["gcn", "mean", "poly(gcn", "poly(mean"].iter().any(|name| rule.starts_with(name));
    // In units of fewer bits, which are larger.
    let least = (RULE_ERROR << deployed.precision.min(24)).div_ceil(1 << 24);
    let terms = rules.iter().zip(&deployed.operator_error).flat_map(|(rules, errors)| rules.split(" & ").zip(errors));
    let mut short = terms.filter(|(rule, error)| computed(rule) && u64::from(**error) < least);
    short.next().map(|(rule, _)| (rule.chars().take(100).collect(), least))
}

/// How many flips the local budgets leave room for.
pub(crate) struct Room {
    /// The node with the smallest budget, and that; `None` if the graph has no nodes.
    pub(crate) smallest: Option<(u64, u64)>,
    /// The largest budget, 0 if the graph has no nodes.
    pub(crate) largest: u64,
    /// `Σ min(q_n, D)`.
    pub(crate) sum: u128,
}

impl Room {
    /// Of a header that may not fit the graph.
    pub(crate) fn new(budget: &BudgetStatement, nodes: u64, attributes: u64) -> Room {
        match &budget.local {
            Local::Uniform(q) => Room {
                smallest: (nodes > 0).then_some((0, *q)),
                largest: if nodes > 0 { *q } else { 0 },
                sum: u128::from(nodes) * u128::from((*q).min(attributes)),
            },
            Local::PerNode(list) => Room {
                smallest: (0..).zip(list.iter().copied()).min_by_key(|&(node, q)| (q, node)),
                largest: list.iter().copied().max().unwrap_or(0),
                sum: list.iter().map(|&q| u128::from(q.min(attributes))).sum(),
            },
        }
    }
}

/// Nodes of a graph: all, or a list of ids and ranges such as `0-99,204`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Every node.
    All,
    /// First and last of each range, as they were given.
    Ranges(Vec<(u32, u32)>),
}

impl Nodes {
    /// The first id that a graph of so many nodes does not have.
    pub fn beyond(&self, nodes: usize) -> Option<u32> {
        match self {
            Nodes::All => None,
            Nodes::Ranges(ranges) => {
                let last = ranges.iter().map(|range| range.1).find(|&last| last as usize >= nodes)?;
                Some(last)
            }
        }
    }

    /// The nodes that the graph has, in rising order, each once.
    fn of(&self, nodes: usize) -> impl Iterator<Item = usize> {
        let mut ranges = match self {
            Nodes::All => vec![(0, u32::MAX)],
            Nodes::Ranges(ranges) => ranges.clone(),
        };
        ranges.sort_unstable();
        let mut next = 0;
        ranges.into_iter().flat_map(move |(first, last)| {
            let start = next.max(first as usize);
            let end = nodes.min((last as usize).saturating_add(1));
            next = next.max(end);
            start..end
        })
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Nodes::Ranges(ranges) = self else { return f.write_str("all") };
        for (at, (first, last)) in ranges.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Nodes {
    type Err = String;
    fn from_str(list: &str) -> Result<Nodes, String> {
        if list == "all" {
            return Ok(Nodes::All);
        }
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some((first, last))
        };
        let ranges: Option<Vec<(u32, u32)>> = list.split(',').map(range).collect();
        ranges.map(Nodes::Ranges).ok_or_else(|| "expected all, or ids and ranges such as 0-99,204".into())
    }
}
