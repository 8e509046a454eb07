//! Sets of removals on the true network: margins in f64, decided exactly where rounding hides their sign; attacks by
//! beam search.

use crate::edges::budget::Edge;
use crate::edges::ground::Path;
use crate::edges::pair::{Pair, PairEvaluator};
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::number::dyadic::Dyadic;
use crate::number::rounding::Enclosure;

/// A set of removals that changes the class, or ties.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attack {
    pub(crate) edges: Vec<Edge>,
    /// Is the margin exactly zero?
    pub(crate) tie: bool,
    /// The margin, rounded up.
    pub(crate) upper: f64,
}

/// The margins of one class pair on one path.
pub(crate) struct Judge<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) pair: &'a Pair,
    path: &'a Path,
    evaluator: PairEvaluator,
}

/// The margin after one removal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single {
    pub(crate) edge: u32,
    pub(crate) margin: Enclosure,
}

/// Sets that a beam search goes on with, and edges that it adds.
const WIDTH: usize = 8;
const CANDIDATES: usize = 32;

impl<'a> Judge<'a> {
    pub(crate) fn new(scene: &'a Scene<'a>, pair: &'a Pair, path: &'a Path) -> Judge<'a> {
        let mut evaluator = PairEvaluator::default();
        if scene.problem.messages().safe {
            evaluator.aim(scene, pair);
        }
        Judge { scene, pair, path, evaluator }
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    /// The margin when these free edges are removed beside those of the path.
    pub(crate) fn margin(&mut self, edges: &[u32]) -> Enclosure {
        self.evaluator.margin(self.scene, self.pair, edges)
    }

    /// All edges that are then removed, ascending.
    pub(crate) fn removed(&self, edges: &[u32]) -> Vec<Edge> {
        let target = self.scene.ground.target;
        let mut all: Vec<Edge> = self.path.removed.iter().chain(edges).map(|&edge| target.edge(edge)).collect();
        all.sort_unstable();
        all
    }

    /// The same margin, exactly.
    pub(crate) fn exact(&self, edges: &[u32]) -> Dyadic {
        exact(self.scene.problem, self.scene.ground.target.ids[0], self.pair, &self.removed(edges))
    }

    /// The attack that these edges are, if they are one.
    pub(crate) fn attack(&self, edges: &[u32], margin: Enclosure) -> Option<Attack> {
        if margin.lower() > 0.0 {
            return None;
        }
        if margin.upper() < 0.0 {
            return Some(Attack { edges: self.removed(edges), tie: false, upper: margin.upper() });
        }
        let exact = self.exact(edges);
        let tie = exact.sign().is_eq();
        let attack = || Attack { edges: self.removed(edges), tie, upper: exact.ceil_f64() };
        exact.sign().is_le().then(attack)
    }

    /// The margins after each single removal, smallest first; `None` if it is late. Edges whose other end matters to
    /// nobody are alike at one node: one of them stands for all.
    pub(crate) fn singles(&mut self) -> Option<Vec<Single>> {
        let (ground, target) = (&self.scene.ground, self.scene.ground.target);
        let mut alike: Vec<Option<Enclosure>> = vec![None; target.middle];
        let free: Vec<u32> = ground.free_edges().collect();
        let mut singles: Vec<Single> = Vec::with_capacity(free.len());
        for edge in free {
            let [n, x] = target.edges[edge as usize];
            let outer = (x as usize) >= target.middle;
            let margin = match alike.get(n as usize).copied().flatten().filter(|_| outer) {
                Some(margin) => margin,
                None if self.is_late() => return None,
                None => self.margin(&[edge]),
            };
            if outer {
                alike[n as usize] = Some(margin);
            }
            singles.push(Single { edge, margin });
        }
        singles.sort_by(|x, y| x.margin.value.total_cmp(&y.margin.value).then(x.edge.cmp(&y.edge)));
        Some(singles)
    }

    /// Is it late, one more margin before us? At worst all neighbours of the target are summed anew.
    fn is_late(&self) -> bool {
        self.scene.pace.is_late_for(self.scene.around.len() * (2 * self.scene.problem.messages().width + 8))
    }

    /// The best set of up to the whole budget that a beam search finds from single removals, smallest first, and its
    /// margin; it ends early where `stop` says so, and when it is late.
    pub(crate) fn beam(&mut self, singles: &[Single], stop: impl Fn(&Enclosure) -> bool) -> (Vec<u32>, Enclosure) {
        let candidates: Vec<u32> = singles.iter().take(CANDIDATES).map(|single| single.edge).collect();
        let mut beam: Vec<(Vec<u32>, Enclosure)> =
            singles.iter().take(WIDTH).map(|single| (vec![single.edge], single.margin)).collect();
        let mut best = (Vec::new(), self.margin(&[]));
        let mut stale = 0;
        for size in 1..=self.scene.ground.budget {
            match beam.first() {
                Some(first) if first.1.value < best.1.value => (best, stale) = (first.clone(), 0),
                Some(_) => stale += 1,
                None => break,
            }
            if stop(&best.1) || stale > 2 || size == self.scene.ground.budget || self.scene.pace.is_late() {
                break;
            }
            let mut sets: Vec<Vec<u32>> = Vec::new();
            for (set, _) in beam.iter().take_while(|_| !self.scene.pace.is_late()) {
                for &edge in candidates.iter().filter(|edge| !set.contains(edge)) {
                    let mut larger = set.clone();
                    larger.push(edge);
                    larger.sort_unstable();
                    if self.scene.ground.admits(&larger) {
                        sets.push(larger);
                    }
                }
            }
            sets.sort_unstable();
            sets.dedup();
            beam.clear();
            for set in sets {
                if self.is_late() {
                    break;
                }
                let margin = self.margin(&set);
                beam.push((set, margin));
            }
            beam.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
            beam.truncate(WIDTH);
        }
        best
    }

    /// As many of these edges as may be removed together, those with the smallest margins first.
    pub(crate) fn together(&self, singles: &[Single], edges: &[u32]) -> Vec<u32> {
        let mut set: Vec<u32> = Vec::new();
        for single in singles.iter().filter(|single| edges.binary_search(&single.edge).is_ok()) {
            set.push(single.edge);
            if !self.scene.ground.admits(&set) {
                set.pop();
            }
        }
        set
    }
}

/// The exact margin of a pair when these edges are removed.
pub(crate) fn exact(problem: &EdgeProblem, node: u32, pair: &Pair, removed: &[Edge]) -> Dyadic {
    problem.exact_margin(node, pair.reference, pair.other, removed)
}
