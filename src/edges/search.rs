//! One class pair to the end: is its margin positive for every admissible set of removals? Branch and bound over edges (docs/math.md §18.4).

use std::collections::BTreeSet;

use crate::edges::bound::{Bounded, Goal, anchors, bound, clear_of, even_suffices};
use crate::edges::budget::Edge;
use crate::edges::ground::{Ground, Path, Target};
use crate::edges::judge::{Attack, Judge, Single};
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::share::EVEN;
use crate::search::limits::Clock;

/// An element of a tree, in preorder.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A split: first what keeps the edge (and its group), then what removes it.
    Edge(Edge),
    /// All sets are listed: none, and each single removal.
    Singles,
    /// A bound by prices.
    Prices(Prices),
}

/// The hints of a bound: prices by number of edges removed at the target, and weights of views `(m, n, cut, elsewhere)` where they are not 1 and 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// `μ`.
    pub mu: Vec<f64>,
    /// Ascending by `m` and `n`.
    pub views: Vec<(u32, u32, u32, u32)>,
}

/// Why a search ended without closing every branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Halt {
    Attack(Attack),
    Limit,
}

/// Splits on one path at most; no format holds more.
const DEPTH: usize = 1000;

/// The search of one pair.
pub(crate) struct Search<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a Target,
    pub(crate) pair: &'a Pair,
    pub(crate) clock: &'a Clock,
    /// Branches that may still be looked at.
    pub(crate) nodes: usize,
    /// Branches that were.
    pub(crate) visited: usize,
    /// Are the trees to be kept?
    pub(crate) proofs: bool,
    /// Not above the margin of any set in a branch that is closed.
    pub(crate) lower: f64,
}

impl Search<'_> {
    /// Closes all branches below a path, or says why not.
    ///
    /// # Errors
    /// With an attack, or when a limit is hit.
    pub(crate) fn explore(&mut self, path: &Path) -> Result<Vec<Step>, Halt> {
        if self.visited >= self.nodes || self.clock.is_late() || path.splits > DEPTH {
            return Err(Halt::Limit);
        }
        self.visited += 1;
        let Some(ground) = Ground::new(self.target, self.problem.budget().global(), path) else {
            return Ok(Vec::new());
        };
        let scene = Scene::new(self.problem, ground);
        let mut judge = Judge::new(&scene, self.pair, path);
        let base = judge.margin(&[]);
        if let Some(attack) = judge.attack(&[], base) {
            return Err(Halt::Attack(attack));
        }
        if scene.ground.free_edges().next().is_none() {
            self.lower = self.lower.min(base.lower().max(0.0));
            return Ok(vec![Step::Singles]);
        }
        let anchors = anchors(&scene);
        let mut bounded = bound(&scene, self.pair, &anchors, Goal { enough: 0.0, base: None });
        if clear_of(&bounded, 0.0) {
            self.lower = self.lower.min(bounded.lower);
            if self.proofs {
                even_suffices(&scene, self.pair, &anchors, &mut bounded);
            }
            return Ok(vec![Step::Prices(prices(&scene, &bounded))]);
        }
        drop(anchors);
        let (edge, done) = self.open(&mut judge, &bounded)?;
        if done {
            return Ok(vec![Step::Singles]);
        }
        let [kept, removed] = children(path, &scene.ground, edge);
        let split = Step::Edge(self.target.edge(edge));
        drop(judge);
        drop(scene);
        // What removes the edge is nearer to an attack.
        let second = self.explore(&removed)?;
        let first = self.explore(&kept)?;
        Ok(std::iter::once(split).chain(first).chain(second).collect())
    }

    /// A branch that its bound leaves open: the edge to split on, and whether single removals already close it.
    fn open(&mut self, judge: &mut Judge, bounded: &Bounded) -> Result<(u32, bool), Halt> {
        let singles = judge.singles();
        for single in &singles {
            if single.margin.lower() > 0.0 {
                // They come in rising order, but errors differ.
                continue;
            }
            if let Some(attack) = judge.attack(&[single.edge], single.margin) {
                return Err(Halt::Attack(attack));
            }
        }
        if judge.scene.ground.budget == 1 {
            let base = judge.margin(&[]).lower();
            let least = singles.iter().map(|single| single.margin.lower()).fold(base, f64::min);
            self.lower = self.lower.min(least.max(0.0));
            return Ok((0, true));
        }
        let together = judge.together(&singles, &bounded.used);
        let margin = judge.margin(&together);
        if let Some(attack) = judge.attack(&together, margin) {
            return Err(Halt::Attack(attack));
        }
        let (problem, target, pair) = (self.problem, self.target, self.pair);
        let branches = Branches { problem, target, pair, enough: 0.0, careful: self.visited > EASY };
        Ok((branches.split(judge, &singles, bounded), false))
    }
}

/// Edges whose branches are bounded before one is split on.
const CANDIDATES: usize = 8;

/// Branches after which a search is careful: most are over before.
pub(crate) const EASY: usize = 24;

/// Chooses the edge to split on.
pub(crate) struct Branches<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a Target,
    pub(crate) pair: &'a Pair,
    /// Bounds above this are as good as this.
    pub(crate) enough: f64,
    /// Are branches to be bounded before one edge is chosen?
    pub(crate) careful: bool,
}

impl Branches<'_> {
    /// Of the edges that the bound's minimiser removes, the most harmful one; in a careful search the one whose branches have the best bounds: both count, so
    /// the product of what they gain is compared. By the harm that an edge does alone a search stalls at edges that the bound takes for worse than they are.
    pub(crate) fn split(&self, judge: &Judge, singles: &[Single], bounded: &Bounded) -> u32 {
        let ground = &judge.scene.ground;
        let mut candidates: Vec<u32> = Vec::new();
        let mut alike: BTreeSet<u32> = BTreeSet::new();
        for single in singles.iter().filter(|single| bounded.used.binary_search(&single.edge).is_ok()) {
            // One of a group stands for all.
            if alike.insert(ground.group(single.edge).into_iter().min().unwrap_or(single.edge)) {
                candidates.push(single.edge);
            }
            if candidates.len() == CANDIDATES {
                break;
            }
        }
        let first = candidates.first().copied().or(singles.first().map(|single| single.edge)).unwrap_or(0);
        if candidates.len() < 2 || !self.careful {
            return first;
        }
        let gain = |path: Path| {
            let ground = Ground::new(self.target, self.problem.budget().global(), &path)?;
            let scene = Scene::new(self.problem, ground);
            let below = bound(&scene, self.pair, &anchors(&scene), Goal { enough: self.enough, base: None });
            Some((below.lower.min(self.enough) - bounded.lower).max(1e-9))
        };
        let score = |edge: u32| {
            let [kept, removed] = children(judge.path(), ground, edge);
            gain(kept).unwrap_or(f64::MAX) * gain(removed).unwrap_or(f64::MAX)
        };
        let scored = candidates.into_iter().map(|edge| (edge, score(edge)));
        scored.reduce(|best, next| if next.1 > best.1 { next } else { best }).map_or(first, |best| best.0)
    }
}

/// The branches of a split: the edge and its group are kept; it is removed.
pub(crate) fn children(path: &Path, ground: &Ground, edge: u32) -> [Path; 2] {
    let (mut kept, mut removed) = (path.clone(), path.clone());
    kept.kept.extend(ground.group(edge));
    removed.removed.push(edge);
    kept.splits += 1;
    removed.splits += 1;
    [kept, removed]
}

/// The hints of a bound.
pub(crate) fn prices(scene: &Scene, bounded: &Bounded) -> Prices {
    let ids = &scene.ground.target.ids;
    let mut views = Vec::new();
    for (of, weights) in scene.around.iter().zip(&bounded.weights) {
        for (link, weight) in of.links.iter().zip(weights).filter(|(_, weight)| **weight != EVEN) {
            views.push((ids[of.node as usize], ids[link.node as usize], weight.cut, weight.other));
        }
    }
    views.sort_unstable();
    let mut mu = bounded.prices.clone();
    while mu.len() > 1 && mu[mu.len() - 1] == mu[mu.len() - 2] {
        mu.pop();
    }
    Prices { mu, views }
}
