//! The worst-case margin of a class pair over all admissible sets of removals, exactly or up to a gap.

use std::collections::BTreeSet;

use crate::edges::bound::{Goal, anchors, bound};
use crate::edges::budget::Edge;
use crate::edges::ground::{Ground, Path, Target};
use crate::edges::judge::Judge;
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::search::{Branches, EASY, children};
use crate::number::dyadic::Dyadic;
use crate::number::rounding::Enclosure;
use crate::search::limits::Clock;

/// The worst-case margin of a class pair, exactly, and edges whose removal attains it.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeMinimum {
    /// The margin.
    pub margin: Dyadic,
    /// The edges.
    pub edges: Vec<Edge>,
}

/// The search for a minimum.
pub(crate) struct Minimize<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a Target,
    pub(crate) pair: &'a Pair,
    pub(crate) clock: &'a Clock,
    pub(crate) nodes: usize,
    pub(crate) visited: usize,
    /// Relative width of the interval that is enough.
    pub(crate) gap: f64,
    /// The margin without removals, for the gap.
    pub(crate) scale: f64,
    /// The best set so far.
    pub(crate) best: EdgeMinimum,
    /// Not above the margin of any set in a branch that is closed without being exhausted.
    pub(crate) lower: f64,
    /// Was a limit hit?
    pub(crate) halted: bool,
}

impl Minimize<'_> {
    /// Looks at a set of removals.
    fn offer(&mut self, judge: &Judge, edges: &[u32], margin: Enclosure) {
        if margin.lower() >= self.best.margin.ceil_f64() {
            return;
        }
        let exact = judge.exact(edges);
        if exact < self.best.margin {
            self.best = EdgeMinimum { margin: exact, edges: judge.removed(edges) };
        }
    }

    /// Is nothing in a branch with this lower bound of interest?
    fn closes(&self, lower: f64) -> bool {
        let best = self.best.margin.ceil_f64();
        let width = self.gap * self.scale.max(best.abs());
        // Whatever the gap, the sign is decided.
        lower >= best || lower >= best - width && (lower > 0.0 || self.best.margin.sign().is_le())
    }

    /// Looks at everything below a path.
    pub(crate) fn explore(&mut self, path: &Path) {
        if self.visited >= self.nodes || self.clock.is_late() {
            self.halted = true;
            return;
        }
        self.visited += 1;
        let Some(ground) = Ground::new(self.target, self.problem.budget().global(), path) else { return };
        let scene = Scene::new(self.problem, ground);
        let mut judge = Judge::new(&scene, self.pair, path);
        let base = judge.margin(&[]);
        self.offer(&judge, &[], base);
        if scene.ground.free_edges().next().is_none() {
            return;
        }
        let mut singles = None;
        if path.splits == 0 {
            let all = judge.singles();
            let (edges, margin) = judge.beam(&all, |_| false);
            self.offer(&judge, &edges, margin);
            singles = Some(all);
        }
        let enough = self.best.margin.ceil_f64();
        let bounded = bound(&scene, self.pair, &anchors(&scene), Goal { enough, base: Some(base.upper()) });
        if bounded.harmless {
            return;
        }
        if self.closes(bounded.lower) {
            self.lower = self.lower.min(bounded.lower);
            return;
        }
        // Most branches end before: they cost as much as a bound.
        let singles = singles.unwrap_or_else(|| judge.singles());
        let mut alike = BTreeSet::new();
        for single in &singles {
            let [n, x] = self.target.edges[single.edge as usize];
            // Edges to nodes that matter to nobody are alike at one node.
            if (x as usize) < self.target.middle || alike.insert(n) {
                self.offer(&judge, &[single.edge], single.margin);
            }
        }
        if scene.ground.budget == 1 {
            return;
        }
        let together = judge.together(&singles, &bounded.used);
        let margin = judge.margin(&together);
        self.offer(&judge, &together, margin);
        let enough = self.best.margin.ceil_f64();
        let (problem, target, pair) = (self.problem, self.target, self.pair);
        let branches = Branches { problem, target, pair, enough, careful: self.visited > EASY };
        let [kept, removed] = children(path, &scene.ground, branches.split(&judge, &singles, &bounded));
        let lower = bounded.lower;
        drop(judge);
        drop(scene);
        let before = self.halted;
        self.explore(&removed);
        self.explore(&kept);
        if self.halted && !before {
            self.lower = self.lower.min(lower);
        }
    }
}
