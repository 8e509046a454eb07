//! One class pair to the end: is its margin positive for every admissible set of removals? Branch and bound over edges
//! (docs/math.md §18.4).

use std::collections::BTreeSet;

use crate::edges::anchors::Anchors;
use crate::edges::bound::{Bounded, Goal, anchors, bound, even_suffices, meets};
use crate::edges::budget::Edge;
use crate::edges::changes::prices::ChangePrices;
use crate::edges::ground::{EdgeTarget, Ground, Path};
use crate::edges::judge::{Attack, Judge, Single};
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::share::EVEN;
use crate::problem::pace::Pace;

/// An element of a tree, in preorder.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A split: first what keeps the edge (and its group), then what removes it.
    Edge(Edge),
    /// All sets are listed: none, and each single removal.
    Singles,
    /// A bound by prices.
    Prices(Prices),
    /// All sets of changes are listed.
    Listed,
    /// A bound by what changes can do, carried from layer to layer, and by prices.
    Carried(ChangePrices),
}

/// The hints of a bound: prices by number of edges removed at the target, and weights of views `(m, n, cut, elsewhere)`
/// where they are not 1 and 1.
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
pub(crate) const DEPTH: usize = 1000;

/// The search of one pair.
pub(crate) struct Search<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a EdgeTarget,
    pub(crate) pair: &'a Pair,
    pub(crate) pace: &'a Pace,
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
        if self.visited >= self.nodes || self.pace.is_late() || path.splits > DEPTH {
            return Err(Halt::Limit);
        }
        self.visited += 1;
        let Some(ground) = Ground::new(self.target, self.problem.budget().global(), path) else {
            return Ok(Vec::new());
        };
        let scene = Scene::new(self.problem, ground, self.pace).ok_or(Halt::Limit)?;
        let mut judge = Judge::new(&scene, self.pair, path);
        let base = judge.margin(&[]);
        if let Some(attack) = judge.attack(&[], base) {
            return Err(Halt::Attack(attack));
        }
        if scene.ground.free_edges().next().is_none() {
            self.lower = self.lower.min(base.lower().max(0.0));
            return Ok(vec![Step::Singles]);
        }
        let anchors = anchors(&scene).ok_or(Halt::Limit)?;
        let mut bounded = bound(&scene, self.pair, &anchors, 0.0).ok_or(Halt::Limit)?;
        if bounded.clears(0.0) {
            self.lower = self.lower.min(bounded.lower());
            if self.proofs {
                even_suffices(&scene, self.pair, &anchors, &mut bounded);
            }
            return Ok(vec![Step::Prices(prices(&scene, &bounded))]);
        }
        let edge = match self.open(&mut judge, &anchors, &mut bounded)? {
            Open::Closed(leaf) => return Ok(vec![leaf]),
            Open::Split(edge) => edge,
        };
        drop(anchors);
        let [kept, removed] = children(path, &scene.ground, edge);
        let split = Step::Edge(self.target.edge(edge));
        drop(judge);
        drop(scene);
        // What removes the edge is nearer to an attack.
        let second = self.explore(&removed)?;
        let first = self.explore(&kept)?;
        Ok(std::iter::once(split).chain(first).chain(second).collect())
    }

    /// A branch that its bound leaves open: single removals close it, or exact arithmetic does, or it is split.
    fn open(&mut self, judge: &mut Judge, anchors: &[Anchors], bounded: &mut Bounded) -> Result<Open, Halt> {
        let singles = judge.singles().ok_or(Halt::Limit)?;
        for single in &singles {
            if single.margin.lower() > 0.0 {
                // They come in rising order, but errors differ.
                continue;
            }
            if self.pace.is_late() {
                return Err(Halt::Limit);
            }
            if let Some(attack) = judge.attack(&[single.edge], single.margin) {
                return Err(Halt::Attack(attack));
            }
        }
        if judge.scene.ground.budget == 1 {
            let base = judge.margin(&[]).lower();
            let least = singles.iter().map(|single| single.margin.lower()).fold(base, f64::min);
            self.lower = self.lower.min(least.max(0.0));
            return Ok(Open::Closed(Step::Singles));
        }
        let together = judge.together(&singles, &bounded.used);
        let margin = judge.margin(&together);
        if let Some(attack) = judge.attack(&together, margin) {
            return Err(Halt::Attack(attack));
        }
        if meets(judge.scene, self.pair, anchors, bounded, Goal::Positive).ok_or(Halt::Limit)? {
            self.lower = self.lower.min(bounded.lower().max(0.0));
            return Ok(Open::Closed(Step::Prices(prices(judge.scene, bounded))));
        }
        let (problem, target, pair) = (self.problem, self.target, self.pair);
        let branches = Branches { problem, target, pair, enough: 0.0, careful: self.visited > EASY };
        Ok(Open::Split(branches.split(judge, &singles, bounded)))
    }
}

/// What becomes of a branch that floats leave open.
enum Open {
    /// It is closed, by this leaf.
    Closed(Step),
    /// It is split on this edge.
    Split(u32),
}

/// Edges whose branches are bounded before one is split on.
const CANDIDATES: usize = 8;

/// Branches after which a search is careful: most are over before.
pub(crate) const EASY: usize = 24;

/// Chooses the edge to split on.
pub(crate) struct Branches<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a EdgeTarget,
    pub(crate) pair: &'a Pair,
    /// Bounds above this are as good as this.
    pub(crate) enough: f64,
    /// Are branches to be bounded before one edge is chosen?
    pub(crate) careful: bool,
}

impl Branches<'_> {
    /// Of the edges that the bound's minimiser removes, the most harmful one; in a careful search the one whose
    /// branches have the best bounds: both count, so the product of what they gain is compared. By the harm that an
    /// edge does alone a search stalls at edges that the bound takes for worse than they are.
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
            let scene = Scene::new(self.problem, ground, judge.scene.pace)?;
            let below = bound(&scene, self.pair, &anchors(&scene)?, self.enough)?;
            Some((below.lower().min(self.enough) - bounded.lower()).max(1e-9))
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
    let mut mu = bounded.prices();
    while mu.len() > 1 && mu[mu.len() - 1] == mu[mu.len() - 2] {
        mu.pop();
    }
    Prices { mu, views }
}
