//! Which changes a path leaves open, of those on which the logits of a target depend (docs/math.md §24.1).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::edges::budget::{Candidates, Edge, EdgeBudget, EdgeKind};
use crate::edges::changes::flipped::FlippedMessages;
use crate::edges::changes::stack::Stack;
use crate::edges::changes::world::{Arc, World, arcs};
use crate::problem::pace::Pace;

/// A network and what may be done to the edges of its graph.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) budget: &'a EdgeBudget,
    /// So many sets are listed rather than bounded.
    pub(crate) listed: usize,
    /// Are insertions away from the target bounded by lists of messages, instead of one by one (docs/math.md §24.5)?
    pub(crate) by_lists: bool,
    /// What flips of attributes can do at the same time, if they can be made.
    pub(crate) flipped: Option<&'a FlippedMessages>,
}

/// What a path through a tree has decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangePath {
    /// Edges that are changed.
    pub(crate) changed: Vec<Edge>,
    /// Edges that are not.
    pub(crate) locked: BTreeSet<Edge>,
    pub(crate) splits: usize,
}

/// A change that a path leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeFlip {
    pub(crate) edge: Edge,
    pub(crate) inserts: bool,
}

/// The changes that a path leaves open.
pub(crate) struct ChangeMenu<'a> {
    pub(crate) setting: Setting<'a>,
    pub(crate) target: u32,
    pub(crate) path: &'a ChangePath,
    pub(crate) world: World<'a>,
    /// So many more changes.
    pub(crate) budget: usize,
    /// Ascending by edge. Where one more change is left, of those that are alike only one.
    pub(crate) flips: Vec<EdgeFlip>,
    /// The nodes that something is read of, where insertions elsewhere are bounded by lists.
    pub(crate) near: Option<HashSet<u32>>,
    /// Insertions that also stand for others: of those that raise the size of a node and do nothing else, only so many
    /// are named as can be made.
    pub(crate) standing: HashSet<Edge>,
    /// What the path has used, of changes and of removals.
    used: BTreeMap<u32, [usize; 2]>,
}

/// Changes that are looked at, at most.
const MOST: usize = 1 << 20;

/// The same where insertions elsewhere are bounded by lists: more take longer than their bound is worth.
const MOST_BESIDE_LISTS: usize = 40_000;

/// The same where some stand for all that are alike.
const MOST_STANDING: usize = 1 << 17;

/// From so many pairs of nodes on, insertions away from the target are not looked at one by one.
const PAIRS: usize = 20_000;

impl<'a> Setting<'a> {
    pub(crate) fn new(stack: &'a Stack, budget: &'a EdgeBudget, listed: usize) -> Setting<'a> {
        let nodes = stack.graph.node_count();
        let possible = stack.rules.len() == 2
            && stack.graph.batch().is_none()
            && budget.changes() == EdgeKind::Insert
            && !budget.is_directed()
            && *budget.candidates() == Candidates::All;
        let by_lists = possible && (nodes.saturating_mul(nodes) / 2 > PAIRS || listed == 0);
        Setting { stack, budget, listed, by_lists, flipped: None }
    }

    /// The same where attributes may be flipped as well, which lists of messages say nothing about.
    pub(crate) fn under(self, flipped: &'a FlippedMessages) -> Setting<'a> {
        Setting { flipped: Some(flipped), by_lists: false, ..self }
    }

    pub(crate) fn arcs(self, edge: Edge) -> impl Iterator<Item = Arc> {
        arcs(edge, self.stack.directed)
    }

    /// The edge whose change is one of what a node receives.
    fn into(self, to: u32, from: u32) -> Edge {
        if self.stack.directed { Edge(from, to) } else { Edge::between(from, to) }
    }

    /// Who a node could be linked to by an insertion, among others.
    fn insertable(self, node: u32) -> Vec<u32> {
        let graph = &self.stack.graph;
        match self.budget.candidates() {
            _ if !self.budget.changes().inserts() => Vec::new(),
            Candidates::All => graph.companions(node).filter(|&other| other != node).collect(),
            Candidates::Within(hops) => graph.rings(node).skip(1).take(*hops).flatten().collect(),
            Candidates::Listed(edges) => {
                let other = |edge: &Edge| self.arcs(*edge).find(|arc| arc.to == node).map(|arc| arc.from);
                edges.iter().filter_map(other).collect()
            }
        }
    }
}

impl<'a> ChangeMenu<'a> {
    /// `None` if there are too many, or it is late.
    pub(crate) fn new(setting: Setting<'a>, target: u32, path: &'a ChangePath, pace: &Pace) -> Option<ChangeMenu<'a>> {
        let mut menu = ChangeMenu::bare(setting, target, path);
        menu.fill(pace, false)?;
        Some(menu)
    }

    /// The same where insertions elsewhere are bounded by lists; of insertions that do nothing but raise the size of a
    /// node, some stand for all.
    pub(crate) fn standing(
        setting: Setting<'a>,
        target: u32,
        path: &'a ChangePath,
        pace: &Pace,
    ) -> Option<ChangeMenu<'a>> {
        let mut menu = ChangeMenu::bare(setting, target, path);
        menu.fill(pace, true)?;
        Some(menu)
    }

    /// Without a list of the changes.
    pub(crate) fn bare(setting: Setting<'a>, target: u32, path: &'a ChangePath) -> ChangeMenu<'a> {
        let graph = &setting.stack.graph;
        let world = World::new(graph, setting.stack.directed, &path.changed);
        let mut used: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
        for &edge in &path.changed {
            let removal = usize::from(setting.budget.is_there(graph, edge));
            for node in setting.budget.counted(edge) {
                let count = used.entry(node).or_default();
                *count = [count[0] + 1, count[1] + removal];
            }
        }
        let budget = setting.budget.global().saturating_sub(path.changed.len());
        ChangeMenu {
            setting,
            target,
            path,
            world,
            budget,
            flips: Vec::new(),
            near: None,
            standing: HashSet::new(),
            used,
        }
    }

    /// The changes and the removals that a node has room for.
    fn room(&self, node: u32) -> [usize; 2] {
        let [changes, removals] = self.used.get(&node).copied().unwrap_or_default();
        let (budget, graph) = (self.setting.budget, &self.setting.stack.graph);
        let losable = budget.losable(graph, node as usize);
        [budget.local(node as usize).saturating_sub(changes), losable.saturating_sub(removals)]
    }

    /// Changes at a node, at most.
    pub(crate) fn cap(&self, node: u32) -> usize {
        self.room(node)[0].min(self.budget)
    }

    /// May an edge still be changed, that is there or can be inserted?
    fn is_free(&self, edge: Edge, inserts: bool) -> bool {
        let room = |node: u32| {
            let [changes, removals] = self.room(node);
            changes >= 1 && (inserts || removals >= 1)
        };
        let (budget, path) = (self.setting.budget, self.path);
        (inserts || budget.changes().removes() && !budget.frozen().contains(&edge))
            && !path.locked.contains(&edge)
            && !path.changed.contains(&edge)
            && budget.counted(edge).all(room)
    }

    /// How far from the target nodes are of which something is read; `further` where other insertions may bring them
    /// nearer.
    fn distances(&self, farthest: usize, further: bool) -> HashMap<u32, usize> {
        if self.setting.stack.graph.batch().is_some() {
            // A readout reads every node of its graph, and nothing of others (docs/math.md §24.4).
            return self.setting.stack.graph.nodes_of(self.target as usize).map(|node| (node as u32, 0)).collect();
        }
        let everyone = further && *self.setting.budget.candidates() == Candidates::All && farthest > 0;
        let mut found = HashMap::from([(self.target, 0)]);
        if everyone {
            let nodes = self.setting.stack.graph.node_count() as u32;
            found.extend((0..nodes).filter(|&node| node != self.target).map(|node| (node, 1)));
            return found;
        }
        let mut ring = vec![self.target];
        for distance in 1..=farthest {
            let mut next = Vec::new();
            for &v in &ring {
                let new = if further { self.setting.insertable(v) } else { Vec::new() };
                for u in self.world.row(v).chain(new) {
                    found.entry(u).or_insert_with(|| {
                        next.push(u);
                        distance
                    });
                }
            }
            ring = next;
        }
        found
    }

    fn fill(&mut self, pace: &Pace, standing: bool) -> Option<()> {
        let stack = self.setting.stack;
        let Some(farthest) = stack.farthest().filter(|_| self.budget > 0) else { return Some(()) };
        let last = self.budget == 1;
        let by_lists = self.setting.by_lists && !last;
        let near = self.distances(farthest, !last && !by_lists && self.setting.budget.changes().inserts());
        self.near = by_lists.then(|| near.keys().copied().collect());
        let standing = standing && by_lists;
        let most = match (standing, by_lists) {
            (true, _) => MOST_STANDING,
            (false, true) => MOST_BESIDE_LISTS,
            (false, false) => MOST,
        };
        // So many of those that are alike are named.
        let named = if last { 1 } else { self.budget };
        let mut ends: Vec<u32> = near.keys().copied().collect();
        ends.sort_unstable();
        let mut flips: Vec<EdgeFlip> = Vec::new();
        for &v in &ends {
            // Of such a node nothing matters but its size.
            let outer =
                (last || standing) && stack.reads_sender && near[&v] == farthest && stack.graph.batch().is_none();
            let row: Vec<u32> = self.world.row(v).collect();
            let insertable = self.setting.insertable(v);
            if pace.is_late_for(64 * insertable.len()) {
                return None;
            }
            let there = row.iter().map(|&u| (u, false));
            let missing = insertable.into_iter().filter(|u| row.binary_search(u).is_err()).map(|u| (u, true));
            let mut alike = [0; 2];
            for (u, inserts) in there.chain(missing) {
                let both = !stack.directed && near.contains_key(&u);
                let same = outer && (stack.directed || !near.contains_key(&u));
                if both && u < v || same && alike[usize::from(inserts)] == named {
                    continue;
                }
                let edge = self.setting.into(v, u);
                if self.is_free(edge, inserts) {
                    alike[usize::from(inserts)] += usize::from(same);
                    if same && standing {
                        self.standing.insert(edge);
                    }
                    flips.push(EdgeFlip { edge, inserts });
                    if flips.len() > most {
                        return None;
                    }
                }
            }
        }
        flips.sort_unstable_by_key(|flip| flip.edge);
        self.flips = flips;
        Some(())
    }

    /// Are the sets so few that they are listed?
    pub(crate) fn is_listed(&self) -> bool {
        self.near.is_none()
            && (self.flips.is_empty()
                || self.sets() <= self.setting.listed.max(1)
                || self.budget <= 1 && self.setting.listed > 0)
    }

    /// Sets of at most so many open changes as there may be, the empty one too.
    pub(crate) fn sets(&self) -> usize {
        let n = self.flips.len();
        let (mut sum, mut product) = (1usize, 1usize);
        for j in 1..=self.budget.min(n) {
            product = product.saturating_mul(n - j + 1) / j;
            sum = sum.saturating_add(product);
        }
        sum
    }

    /// May these open changes be made together?
    pub(crate) fn admits(&self, set: &[EdgeFlip]) -> bool {
        if set.len() > self.budget {
            return false;
        }
        let within = |node: u32| {
            let at = || set.iter().filter(|flip| self.setting.budget.counted(flip.edge).any(|end| end == node));
            let [changes, removals] = self.room(node);
            at().count() <= changes && at().filter(|flip| !flip.inserts).count() <= removals
        };
        set.iter().all(|flip| self.setting.budget.counted(flip.edge).all(within))
    }

    /// All edges that are changed with these, ascending.
    pub(crate) fn with(&self, set: &[EdgeFlip]) -> Vec<Edge> {
        let mut all: Vec<Edge> = self.path.changed.iter().copied().chain(set.iter().map(|flip| flip.edge)).collect();
        all.sort_unstable();
        all
    }
}
