//! What a path has decided, and which changes it leaves open that matter to a target.

use std::collections::{BTreeMap, BTreeSet};

use gcnproof_files::Pattern;

use super::budget::{ChangeBudget, is_there, within};
use super::graph::ChangedGraph;
use super::network::ChangeNetwork;
use crate::edges::line::{Candidates, ChangeKind};
use crate::ids::Edge;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps of [`crate::work`] for every pair of nodes that is looked at.
const PAIR: u64 = 64;

/// Open changes of a leaf, at most.
const MOST: usize = 1 << 22;

/// A change that a path leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenChange {
    pub edge: Edge,
    pub inserts: bool,
}

/// The edges that a path changes and those that it leaves alone.
pub struct ChangePath<'a> {
    network: &'a ChangeNetwork<'a>,
    budget: &'a ChangeBudget,
    changed: BTreeSet<Edge>,
    kept: BTreeSet<Edge>,
    /// Changes and removals at nodes, made by the path.
    made: BTreeMap<u32, [usize; 2]>,
}

impl<'a> ChangePath<'a> {
    pub fn new(network: &'a ChangeNetwork<'a>, budget: &'a ChangeBudget) -> ChangePath<'a> {
        ChangePath { network, budget, changed: BTreeSet::new(), kept: BTreeSet::new(), made: BTreeMap::new() }
    }

    fn adjacency(&self) -> &'a Pattern {
        &self.network.graph.adjacency
    }

    /// Is nothing decided?
    pub fn is_start(&self) -> bool {
        self.changed.is_empty() && self.kept.is_empty()
    }

    /// May all edges that are not there be inserted, and nothing be removed?
    pub fn inserts_all(&self) -> bool {
        self.budget.kind == ChangeKind::Insert && self.budget.candidates.is_none()
    }

    /// `E'`: so many more changes.
    pub fn left(&self) -> usize {
        self.budget.global.saturating_sub(self.changed.len())
    }

    /// More changes at a node, and more removals.
    pub fn room(&self, node: u32) -> [usize; 2] {
        let (most, made) = (self.budget.at(node), self.made.get(&node).copied().unwrap_or_default());
        [most[0].saturating_sub(made[0]), most[1].saturating_sub(made[1])]
    }

    /// `k`: changes at a node, at most.
    pub fn cap(&self, node: u32) -> usize {
        self.room(node)[0].min(self.left())
    }

    /// The same of an id that need not exist.
    pub fn checked_cap(&self, node: u32) -> usize {
        if (node as usize) < self.adjacency().rows { self.cap(node) } else { self.left() }
    }

    /// The nodes at which a change counts.
    pub fn counted(&self, edge: Edge) -> impl Iterator<Item = u32> + use<> {
        self.budget.counted(edge)
    }

    fn has_room(&self, edge: Edge, inserts: bool) -> bool {
        let undecided = !self.changed.contains(&edge) && !self.kept.contains(&edge);
        let room = |node: u32| self.room(node)[0] > 0 && (inserts || self.room(node)[1] > 0);
        undecided && self.left() > 0 && self.counted(edge).all(room)
    }

    /// May an edge still be changed?
    pub fn is_free(&self, edge: Edge) -> bool {
        self.budget.permits(self.network.graph, edge) && self.has_room(edge, !is_there(self.adjacency(), edge))
    }

    pub fn keep(&mut self, edge: Edge) {
        self.kept.insert(edge);
    }

    /// Changes an edge that was kept.
    pub fn change_kept(&mut self, edge: Edge) {
        self.kept.remove(&edge);
        self.changed.insert(edge);
        self.count(edge, |count| *count += 1);
    }

    /// Undoes a change.
    pub fn restore(&mut self, edge: Edge) {
        self.changed.remove(&edge);
        self.count(edge, |count| *count -= 1);
    }

    fn count(&mut self, edge: Edge, by: impl Fn(&mut usize)) {
        let removal = is_there(self.adjacency(), edge);
        for node in self.budget.counted(edge) {
            let made = self.made.entry(node).or_default();
            by(&mut made[0]);
            if removal {
                by(&mut made[1]);
            }
        }
    }

    /// The graph with these changes beside those of the path.
    pub fn graph(&self, more: &[OpenChange]) -> ChangedGraph<'a> {
        let edges = self.changed.iter().chain(more.iter().map(|change| &change.edge));
        ChangedGraph::new(self.adjacency(), self.budget.directed, edges)
    }

    /// May these open changes, each of them free, be made together?
    pub fn admits(&self, set: &[OpenChange]) -> bool {
        let at = |node: u32, of: &dyn Fn(&OpenChange) -> bool| {
            set.iter().filter(|change| of(change) && self.counted(change.edge).any(|end| end == node)).count()
        };
        let fits = |node: u32| {
            let [changes, removals] = self.room(node);
            at(node, &|_| true) <= changes && at(node, &|change| !change.inserts) <= removals
        };
        set.len() <= self.left() && set.iter().all(|change| self.counted(change.edge).all(fits))
    }

    /// Whom a node could come to receive from by an insertion, and perhaps already does.
    fn insertable(&self, node: u32) -> Vec<u32> {
        match &self.budget.candidates {
            _ if !self.budget.kind.inserts() => Vec::new(),
            None => self.network.companions(node).filter(|&other| other != node).collect(),
            Some(Candidates::Within(hops)) => {
                let mut near = within(self.adjacency(), node, *hops);
                near.retain(|&other| other != node);
                near
            }
            Some(Candidates::Listed(listed)) => {
                let other = |&(from, to): &Edge| match (to == node, from == node && !self.budget.directed) {
                    (true, _) => Some(from),
                    (_, true) => Some(to),
                    _ => None,
                };
                listed.iter().filter_map(other).collect()
            }
        }
    }

    /// The nodes of which a row or a size is read, with their distance, whatever open changes are made but the last.
    fn near(
        &self,
        target: u32,
        graph: &ChangedGraph,
        meter: &Meter,
        lists: bool,
    ) -> Result<BTreeMap<u32, usize>, Reason> {
        let mut found = BTreeMap::from([(target, 0)]);
        let Some(farthest) = self.network.farthest() else { return Ok(BTreeMap::new()) };
        if self.network.graph.batch.is_some() {
            // A readout reads every node of its graph, and nothing of others (§8.6).
            return Ok(self.network.members(target).map(|node| (node, 0)).collect());
        }
        let grows = self.left() >= 2 && self.budget.kind.inserts() && !lists;
        let mut ring = vec![target];
        for distance in 1..=farthest {
            let mut next = Vec::new();
            for &node in &ring {
                let mut senders = graph.row(node);
                // Where everybody may be linked to the target, everybody is near already.
                if grows && (distance == 1 || self.budget.candidates.is_some()) {
                    senders.extend(self.insertable(node));
                }
                meter.spend(PAIR.saturating_mul(1 + senders.len() as u64))?;
                for other in senders {
                    found.entry(other).or_insert_with(|| {
                        next.push(other);
                        distance
                    });
                }
            }
            ring = next;
        }
        Ok(found)
    }

    /// The open changes that matter to a target, ascending. Where one more change is left, of those that are alike only
    /// one is named (§8.3).
    ///
    /// # Errors
    /// If there are too many.
    pub fn open(&self, target: u32, meter: &Meter) -> Result<Vec<OpenChange>, Reason> {
        Ok(self.open_near(target, meter, false)?.0)
    }

    /// The same without leaving out any that are alike, or that weights of 0 keep from the target.
    ///
    /// # Errors
    /// If there are too many.
    pub fn every_open(&self, target: u32, meter: &Meter) -> Result<Vec<OpenChange>, Reason> {
        if self.network.graph.batch.is_none() {
            return Ok(self.find_open(target, meter, false, false)?.0);
        }
        let mut all = Vec::new();
        for graph in 0..self.network.graph.targets() as u32 {
            all.extend(self.find_open(graph, meter, false, false)?.0);
        }
        all.sort_unstable_by_key(|change| change.edge);
        all.dedup();
        Ok(all)
    }

    /// The same, and the nodes that are near; with `lists` without those that insertions bring near, whose changes are
    /// then not named.
    ///
    /// # Errors
    /// If there are too many.
    pub fn open_near(
        &self,
        target: u32,
        meter: &Meter,
        lists: bool,
    ) -> Result<(Vec<OpenChange>, BTreeSet<u32>), Reason> {
        self.find_open(target, meter, lists, true)
    }

    fn find_open(
        &self,
        target: u32,
        meter: &Meter,
        lists: bool,
        one_of_alike: bool,
    ) -> Result<(Vec<OpenChange>, BTreeSet<u32>), Reason> {
        let graph = self.graph(&[]);
        let mut open: Vec<OpenChange> = Vec::new();
        if self.left() == 0 {
            return Ok((open, BTreeSet::new()));
        }
        let near = self.near(target, &graph, meter, lists)?;
        for (&node, &distance) in &near {
            let of_nodes = self.network.graph.batch.is_none();
            let only_size = of_nodes && self.left() == 1 && self.network.reads_sender && distance == self.network.hops;
            let row = graph.row(node);
            let insertable = self.insertable(node);
            meter.spend(PAIR.saturating_mul((row.len() + insertable.len()) as u64))?;
            let missing = insertable.iter().filter(|other| row.binary_search(other).is_err());
            let mut named = [false; 2];
            for (&other, inserts) in row.iter().map(|u| (u, false)).chain(missing.map(|u| (u, true))) {
                let (directed, other_is_near) = (self.budget.directed, near.contains_key(&other));
                let alike = one_of_alike && only_size && (directed || !other_is_near);
                let twice = !directed && other_is_near && other < node;
                if twice || alike && named[usize::from(inserts)] {
                    continue;
                }
                let edge = if directed { (other, node) } else { (node.min(other), node.max(other)) };
                let permitted = inserts || self.budget.permits(self.network.graph, edge);
                if permitted && self.has_room(edge, inserts) {
                    named[usize::from(inserts)] |= alike;
                    open.push(OpenChange { edge, inserts });
                }
            }
            if open.len() > MOST {
                return Err(Reason::TooLarge(format!("more than {MOST} open changes")));
            }
        }
        open.sort_unstable_by_key(|change| change.edge);
        Ok((open, near.into_keys().collect()))
    }
}
