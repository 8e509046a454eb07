//! The worst-case margin of a class pair over all admissible sets of removals, exactly or up to a gap.

use std::collections::BTreeSet;

use crate::certify::verdict::Minimum;
use crate::edges::bound::{Goal, anchors, bound, meets};
use crate::edges::ground::{EdgeTarget, Ground, Path};
use crate::edges::judge::Judge;
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::search::{Branches, DEPTH, EASY, children};
use crate::edges::verdict::Edges;
use crate::number::rounding::Enclosure;
use crate::problem::pace::Pace;

/// The worst-case margin of a class pair, exactly, and edges whose removal attains it.
pub type EdgeMinimum = Minimum<Edges>;

/// The search for a minimum. A branch is closed by listing its sets, or by a bound that holds in exact arithmetic and
/// is not below a margin that was attained: then what is attained in the end is the minimum, with no tolerance.
pub(crate) struct Minimize<'a> {
    pub(crate) problem: &'a EdgeProblem,
    pub(crate) target: &'a EdgeTarget,
    pub(crate) pair: &'a Pair,
    pub(crate) pace: &'a Pace,
    pub(crate) nodes: usize,
    pub(crate) visited: usize,
    /// Relative width of the interval that is enough.
    pub(crate) gap: f64,
    /// The margin without removals, for the gap.
    pub(crate) scale: f64,
    /// The best set so far, with its exact margin.
    pub(crate) best: EdgeMinimum,
    /// Not above the margin of any set in a branch that is left although something below the best margin may be in it.
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
            self.best = EdgeMinimum { margin: exact, changes: judge.removed(edges) };
        }
    }

    /// Is a branch with this lower bound narrow enough to be left? Whatever the gap, the sign is decided.
    fn is_narrow(&self, lower: f64) -> bool {
        let best = self.best.margin.ceil_f64();
        let width = self.gap * self.scale.max(best.abs());
        self.gap > 0.0 && lower >= best - width && (lower > 0.0 || self.best.margin.sign().is_le())
    }

    /// Looks at everything below a path; `above` is not above the margin of any of its sets.
    pub(crate) fn explore(&mut self, path: &Path, above: f64) {
        if self.visited >= self.nodes || path.splits > DEPTH || self.pace.is_late() {
            return self.halt(above);
        }
        self.visited += 1;
        if self.branch(path, above).is_none() {
            self.halt(above);
        }
    }

    fn halt(&mut self, lower: f64) {
        self.halted = true;
        self.lower = self.lower.min(lower);
    }

    /// One branch; `None` if it is late.
    fn branch(&mut self, path: &Path, above: f64) -> Option<()> {
        let Some(ground) = Ground::new(self.target, self.problem.budget().global(), path) else { return Some(()) };
        let scene = Scene::new(self.problem, ground, self.pace)?;
        let mut judge = Judge::new(&scene, self.pair, path);
        let base = judge.margin(&[]);
        self.offer(&judge, &[], base);
        if scene.ground.free_edges().next().is_none() {
            return Some(());
        }
        let mut singles = None;
        if path.splits == 0 {
            let all = judge.singles()?;
            let (edges, margin) = judge.beam(&all, |_| false);
            self.offer(&judge, &edges, margin);
            singles = Some(all);
        }
        let anchors = anchors(&scene)?;
        let enough = self.best.margin.ceil_f64();
        let mut bounded = bound(&scene, self.pair, &anchors, enough)?;
        let lower = bounded.lower().max(above);
        if lower >= enough {
            return Some(());
        }
        if self.is_narrow(lower) {
            self.lower = self.lower.min(lower);
            return Some(());
        }
        if meets(&scene, self.pair, &anchors, &mut bounded, Goal::AtLeast(&self.best.margin))? {
            return Some(());
        }
        drop(anchors);
        // Most branches end before: they cost as much as a bound.
        let singles = match singles {
            Some(singles) => singles,
            None => judge.singles()?,
        };
        let mut alike = BTreeSet::new();
        for single in &singles {
            let [n, x] = self.target.edges[single.edge as usize];
            // Edges to nodes that matter to nobody are alike at one node.
            if (x as usize) < self.target.middle || alike.insert(n) {
                if self.pace.is_late() {
                    return None;
                }
                self.offer(&judge, &[single.edge], single.margin);
            }
        }
        if scene.ground.budget == 1 {
            return Some(());
        }
        let together = judge.together(&singles, &bounded.used);
        let margin = judge.margin(&together);
        self.offer(&judge, &together, margin);
        let enough = self.best.margin.ceil_f64();
        let (problem, target, pair) = (self.problem, self.target, self.pair);
        let branches = Branches { problem, target, pair, enough, careful: self.visited > EASY };
        let [kept, removed] = children(path, &scene.ground, branches.split(&judge, &singles, &bounded));
        drop((judge, singles, bounded));
        drop(scene);
        self.explore(&removed, lower);
        self.explore(&kept, lower);
        Some(())
    }
}
