//! The search for one perturbation that breaks many predictions: greedy, then annealing by swaps. It looks at the
//! network in f64; what it finds is replayed exactly before it counts.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use crate::collective::state::PerturbedGraph;
use crate::number::random::SplitMix64;
use crate::problem::Problem;
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::search::limits::Stop;

/// A candidate in the queue, with the gain that it had when `tried` flips were made.
#[derive(Clone, Copy)]
struct RankedFlip {
    gain: f64,
    at: usize,
    tried: usize,
}

impl PartialEq for RankedFlip {
    fn eq(&self, other: &RankedFlip) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RankedFlip {}

impl PartialOrd for RankedFlip {
    fn partial_cmp(&self, other: &RankedFlip) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RankedFlip {
    fn cmp(&self, other: &RankedFlip) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.at.cmp(&self.at))
    }
}

/// What a node that is not broken is worth at most: the nearer to breaking, the more.
const NEAR: f64 = 0.3;

/// Temperatures of the annealing, at first and at last.
const TEMPERATURE: (f64, f64) = (0.3, 0.03);

/// Numbers of the network that swaps change at most: where flips reach many nodes, fewer are tried.
const WORK: f64 = 6e8;

/// The search: a set of flips, and how near each counted node is to breaking under it.
struct AttackSearch<'a> {
    state: PerturbedGraph<'a>,
    problem: &'a Problem,
    /// By node: the class to keep, if the node counts, and its margin without flips.
    classes: Vec<Option<(usize, f64)>>,
    worth: Vec<f64>,
    broken: Vec<bool>,
    count: usize,
    total: f64,
    candidates: Vec<Flip>,
    chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    used: BTreeMap<u32, usize>,
    attacked_nodes: usize,
}

/// How far the search for an attack goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttackLimits {
    /// Swaps that are tried, at most.
    pub(crate) swaps: usize,
    /// Nodes whose attributes one attacker may change, at most.
    pub(crate) attacked_nodes: Option<usize>,
}

/// Finds a perturbation among the candidates that breaks many of the nodes that count, each given with the class that
/// it is to keep.
pub(crate) fn attack(
    problem: &Problem,
    unperturbed: &[Representation],
    nodes: &[(usize, usize)],
    candidates: Vec<Flip>,
    limits: AttackLimits,
    stop: &Stop,
) -> Vec<Flip> {
    let mut search = AttackSearch::new(problem, unperturbed, nodes, candidates, limits.attacked_nodes);
    search.fill(stop);
    let found = search.anneal(limits.swaps, stop);
    search.minimal(found)
}

impl<'a> AttackSearch<'a> {
    fn new(
        problem: &'a Problem,
        unperturbed: &[Representation],
        nodes: &[(usize, usize)],
        mut candidates: Vec<Flip>,
        attacked_nodes: Option<usize>,
    ) -> AttackSearch<'a> {
        candidates.sort_unstable();
        candidates.dedup();
        let state = PerturbedGraph::new(problem, unperturbed);
        let count = problem.graph().node_count();
        let mut search = AttackSearch {
            problem,
            classes: vec![None; count],
            worth: vec![0.0; count],
            broken: vec![false; count],
            count: 0,
            total: 0.0,
            is_chosen: vec![false; candidates.len()],
            candidates,
            chosen: Vec::new(),
            used: BTreeMap::new(),
            attacked_nodes: attacked_nodes.unwrap_or(usize::MAX),
            state,
        };
        for &(node, reference) in nodes {
            let margin = margin(search.state.logits(node), reference);
            search.classes[node] = Some((reference, margin.max(f64::MIN_POSITIVE)));
            search.look(node);
        }
        search
    }

    /// Takes in how a node stands now. Returns what it gained.
    fn look(&mut self, node: usize) -> f64 {
        let Some((reference, before)) = self.classes[node] else { return 0.0 };
        let margin = margin(self.state.logits(node), reference);
        let broken = margin <= 0.0;
        let worth = if broken {
            1.0
        } else {
            // The potential of docs/math.md §20.5.
            let near = (1.0 - margin / before).max(0.0);
            NEAR * near * near
        };
        let gain = worth - self.worth[node];
        self.worth[node] = worth;
        self.count = self.count + usize::from(broken) - usize::from(self.broken[node]);
        self.broken[node] = broken;
        self.total += gain;
        gain
    }

    /// Makes a candidate's flip or takes it back. Returns what is gained.
    fn change(&mut self, flip: Flip, make: bool) -> f64 {
        self.state.change(flip, make);
        let changed = self.state.changed().to_vec();
        changed.into_iter().map(|node| self.look(node as usize)).sum()
    }

    /// Is there room for this flip?
    fn fits(&self, flip: Flip) -> bool {
        let budget = self.problem.budget();
        let used = self.used.get(&flip.node).copied().unwrap_or(0);
        self.chosen.len() < budget.global()
            && used < budget.local(flip.node as usize)
            && (used > 0 || self.used.len() < self.attacked_nodes)
    }

    fn make(&mut self, at: usize) -> f64 {
        let flip = self.candidates[at];
        self.is_chosen[at] = true;
        self.chosen.push(at);
        *self.used.entry(flip.node).or_default() += 1;
        self.change(flip, true)
    }

    fn unmake(&mut self, place: usize) -> f64 {
        let at = self.chosen.swap_remove(place);
        self.is_chosen[at] = false;
        let flip = self.candidates[at];
        if let Some(used) = self.used.get_mut(&flip.node) {
            *used -= 1;
            if *used == 0 {
                self.used.remove(&flip.node);
            }
        }
        self.change(flip, false)
    }

    /// Adds the best candidates until nothing fits or gains. What a candidate gained when it was last tried is taken
    /// for what it gains now, until it comes first.
    fn fill(&mut self, stop: &Stop) {
        let mut waiting: BinaryHeap<RankedFlip> = BinaryHeap::new();
        for at in 0..self.candidates.len() {
            if !self.is_chosen[at] {
                waiting.push(RankedFlip { gain: self.gain(at), at, tried: self.chosen.len() });
            }
        }
        while let Some(first) = waiting.pop() {
            if self.chosen.len() >= self.problem.budget().global() || stop.is_set() {
                return;
            }
            if !self.fits(self.candidates[first.at]) {
                continue;
            }
            // Lazy greedy: a gain is only computed again when it comes first in the queue.
            if first.tried < self.chosen.len() {
                waiting.push(RankedFlip { gain: self.gain(first.at), tried: self.chosen.len(), ..first });
            } else if first.gain > 0.0 {
                self.make(first.at);
            } else {
                return;
            }
        }
    }

    fn gain(&mut self, at: usize) -> f64 {
        let flip = self.candidates[at];
        let gain = self.change(flip, true);
        self.change(flip, false);
        gain
    }

    /// Simulated annealing: swaps chosen flips for others. Returns the best set seen.
    fn anneal(&mut self, swaps: usize, stop: &Stop) -> Vec<Flip> {
        let flips =
            |search: &AttackSearch| -> Vec<Flip> { search.chosen.iter().map(|&at| search.candidates[at]).collect() };
        let (mut best, mut most) = (flips(self), self.count);
        if self.chosen.is_empty() || self.chosen.len() == self.candidates.len() {
            return best;
        }
        let mut by_node: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for (at, flip) in self.candidates.iter().enumerate() {
            by_node.entry(flip.node).or_insert((at, at)).1 = at + 1;
        }
        let mut random = SplitMix64::new(1);
        let before = self.state.work();
        for swap in 0..swaps {
            let done = (swap as f64 / swaps as f64).max((self.state.work() - before) as f64 / WORK);
            if done >= 1.0 || swap % 1024 == 0 && stop.is_set() {
                break;
            }
            let temperature = TEMPERATURE.0 * (TEMPERATURE.1 / TEMPERATURE.0).powf(done);
            let out = random.below(self.chosen.len());
            let into = if random.share() < 0.5 {
                random.below(self.candidates.len())
            } else {
                // Near a flip that is made: what works there often works better with more of it.
                let near = random.below(self.chosen.len());
                let mut node = self.candidates[self.chosen[near]].node;
                for _ in 0..random.below(3) {
                    let neighbours = self.state.neighbours(node);
                    if !neighbours.is_empty() {
                        node = neighbours[random.below(neighbours.len())];
                    }
                }
                match by_node.get(&node) {
                    Some(&(first, end)) => first + random.below(end - first),
                    None => continue,
                }
            };
            if self.is_chosen[into] {
                continue;
            }
            if self.fits(self.candidates[into]) {
                if self.make(into) < 0.0 {
                    self.unmake(self.chosen.len() - 1);
                } else if self.count > most {
                    (best, most) = (flips(self), self.count);
                }
                continue;
            }
            let leaving = self.chosen[out];
            let mut gain = self.unmake(out);
            if !self.fits(self.candidates[into]) {
                self.make(leaving);
                continue;
            }
            gain += self.make(into);
            // The Metropolis rule.
            if gain >= 0.0 || random.share() < (gain / temperature).exp() {
                if self.count > most {
                    (best, most) = (flips(self), self.count);
                }
            } else {
                self.unmake(self.chosen.len() - 1);
                self.make(leaving);
            }
        }
        best
    }

    /// The same without flips that break nothing.
    fn minimal(&mut self, flips: Vec<Flip>) -> Vec<Flip> {
        while !self.chosen.is_empty() {
            self.unmake(self.chosen.len() - 1);
        }
        for flip in &flips {
            if let Ok(at) = self.candidates.binary_search(flip) {
                self.make(at);
            }
        }
        let mut place = self.chosen.len();
        while place > 0 {
            place -= 1;
            let (at, before) = (self.chosen[place], self.count);
            self.unmake(place);
            if self.count < before {
                self.make(at);
                // The flip is last now, and the one that was last took its place: it has been looked at.
                let last = self.chosen.len() - 1;
                self.chosen.swap(place, last);
            }
        }
        let mut flips: Vec<Flip> = self.chosen.iter().map(|&at| self.candidates[at]).collect();
        flips.sort_unstable();
        flips
    }
}

/// By how much the class is ahead of all others.
fn margin(logits: &[f64], reference: usize) -> f64 {
    let others = logits.iter().enumerate().filter(|(class, _)| *class != reference);
    logits[reference] - others.map(|(_, &logit)| logit).fold(f64::NEG_INFINITY, f64::max)
}
