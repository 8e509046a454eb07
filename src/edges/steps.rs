//! The steps of a verdict, class pair by class pair: bound, attack, search, minimum.

use crate::certify::settings::Effort;
use crate::certify::verdict::Margin;
use crate::edges::anchors::Anchors;
use crate::edges::bound::{Bounded, bound, even_suffices};
use crate::edges::ground::{EdgeTarget, Path};
use crate::edges::judge::{Attack, Judge, Single, exact};
use crate::edges::minimum::{EdgeMinimum, Minimize};
use crate::edges::pair::Pair;
use crate::edges::problem::EdgeProblem;
use crate::edges::scene::Scene;
use crate::edges::search::{Halt, Search, Step, prices};
use crate::problem::pace::Pace;

/// What is known of a class pair.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) margin: Margin,
    pub(super) minimum: Option<EdgeMinimum>,
    pub(super) tree: Option<Vec<Step>>,
    pub(super) open: bool,
    pub(super) listed: bool,
}

/// Everything of one target that its class pairs share.
pub(super) struct Table<'a> {
    pub(super) problem: &'a EdgeProblem,
    pub(super) effort: Effort,
    /// Are trees to be kept?
    pub(super) proofs: bool,
    pub(super) target: &'a EdgeTarget,
    pub(super) scene: &'a Scene<'a>,
    pub(super) anchors: &'a [Anchors],
    pub(super) pace: &'a Pace,
    pub(super) nodes: usize,
    pub(super) root: &'a Path,
}

/// What happened on the way.
#[derive(Default)]
pub(super) struct Course {
    pub(super) attack: Option<(usize, Attack)>,
    pub(super) visited: usize,
    pub(super) branched: bool,
    pub(super) limit: bool,
}

/// What the graph as it is says, whatever may be removed from it.
pub(super) fn by_nothing(scene: &Scene, pair: &Pair, root: &Path, course: &mut Course) -> Known {
    let mut judge = Judge::new(scene, pair, root);
    let base = judge.margin(&[]);
    let margin = Margin { class: pair.other, lower: f64::NEG_INFINITY, upper: base.upper() };
    let mut known = Known { margin, minimum: None, tree: None, open: true, listed: false };
    if let Some(attack) = judge.attack(&[], base) {
        known.margin.upper = attack.upper;
        course.attack.get_or_insert((pair.other, attack));
    }
    known
}

impl Table<'_> {
    /// All steps, each for the class pairs that are still open.
    pub(super) fn steps(&self, pairs: &[Pair], course: &mut Course) -> Vec<Known> {
        let mut known: Vec<Known> = pairs.iter().map(|pair| self.by_bound(pair, course)).collect();
        let mut order: Vec<usize> = (0..pairs.len()).filter(|&at| known[at].open).collect();
        order.sort_by(|&x, &y| known[x].margin.lower.total_cmp(&known[y].margin.lower));
        match self.effort {
            Effort::Minimize { gap, .. } => {
                for at in 0..pairs.len() {
                    self.minimize(&pairs[at], gap, &mut known[at], course);
                }
            }
            _ => {
                for &at in &order {
                    if course.attack.is_none() {
                        self.by_attack(&pairs[at], &mut known[at], course);
                    }
                }
                for &at in &order {
                    if course.attack.is_none() && known[at].open && matches!(self.effort, Effort::Complete(_)) {
                        self.by_search(&pairs[at], &mut known[at], course);
                    }
                }
            }
        }
        known
    }

    /// What the bound at the root says.
    fn by_bound(&self, pair: &Pair, course: &mut Course) -> Known {
        let scene = self.scene;
        let mut known = by_nothing(scene, pair, self.root, course);
        if known.margin.upper > 0.0 && scene.ground.free_edges().next().is_none() {
            (known.open, known.listed, known.tree) = (false, true, Some(vec![Step::Singles]));
            known.margin.lower = Judge::new(scene, pair, self.root).margin(&[]).lower().max(0.0);
        }
        if !known.open || course.attack.is_some() && !matches!(self.effort, Effort::Minimize { .. }) {
            return known;
        }
        let Some(mut bounded) = bound(scene, pair, self.anchors, 0.0) else {
            course.limit = true;
            return known;
        };
        known.margin.lower = bounded.lower();
        if bounded.clears(0.0) {
            known.open = false;
            known.tree = self.proofs.then(|| vec![self.leaf(pair, &mut bounded)]);
        }
        known
    }

    fn leaf(&self, pair: &Pair, bounded: &mut Bounded) -> Step {
        even_suffices(self.scene, pair, self.anchors, bounded);
        Step::Prices(prices(self.scene, bounded))
    }

    /// Attacks of one edge, all of them, and of more by beam search.
    fn by_attack(&self, pair: &Pair, known: &mut Known, course: &mut Course) {
        let mut judge = Judge::new(self.scene, pair, self.root);
        let Some(singles) = judge.singles() else {
            course.limit = true;
            return;
        };
        let (edges, margin) = judge.beam(&singles, |margin| margin.upper() < 0.0);
        known.margin.upper = known.margin.upper.min(margin.upper());
        if let Some(attack) = judge.attack(&edges, margin) {
            known.margin.upper = attack.upper;
            course.attack = Some((pair.other, attack));
            return;
        }
        let one = |single: &Single| judge.attack(&[single.edge], single.margin);
        if let Some(attack) = singles.iter().find_map(one) {
            known.margin.upper = known.margin.upper.min(attack.upper);
            course.attack = Some((pair.other, attack));
        } else if self.scene.ground.budget == 1 {
            let base = judge.margin(&[]).lower();
            let least = singles.iter().map(|single| single.margin.lower()).fold(base, f64::min);
            known.margin.lower = known.margin.lower.max(least.max(0.0));
            (known.open, known.listed, known.tree) = (false, true, Some(vec![Step::Singles]));
        }
    }

    /// Branch and bound.
    fn by_search(&self, pair: &Pair, known: &mut Known, course: &mut Course) {
        self.by_search_of(self.nodes, pair, known, course);
    }

    fn by_search_of(&self, nodes: usize, pair: &Pair, known: &mut Known, course: &mut Course) {
        let mut search = Search {
            problem: self.problem,
            target: self.target,
            pair,
            pace: self.pace,
            nodes,
            visited: 0,
            proofs: self.proofs,
            lower: f64::INFINITY,
        };
        let outcome = search.explore(self.root);
        course.visited += search.visited;
        course.branched = true;
        match outcome {
            Ok(tree) => {
                (known.open, known.tree) = (false, Some(tree));
                known.margin.lower = known.margin.lower.max(search.lower);
            }
            Err(Halt::Attack(attack)) => {
                known.margin.upper = known.margin.upper.min(attack.upper);
                course.attack = Some((pair.other, attack));
            }
            Err(Halt::Limit) => course.limit = true,
        }
    }

    /// The exact minimum, and the tree of its sign where proofs are asked for.
    fn minimize(&self, pair: &Pair, gap: f64, known: &mut Known, course: &mut Course) {
        let node = self.target.ids[0];
        let base = exact(self.problem, node, pair, &[]);
        let mut search = Minimize {
            problem: self.problem,
            target: self.target,
            pair,
            pace: self.pace,
            nodes: self.nodes,
            visited: 0,
            gap,
            scale: base.approximate().abs(),
            best: EdgeMinimum { margin: base, changes: Vec::new() },
            lower: f64::INFINITY,
            halted: false,
        };
        search.explore(self.root, known.margin.lower);
        course.visited += search.visited;
        course.branched |= search.visited > 1;
        course.limit |= search.halted;
        let Minimize { best, lower, halted, .. } = search;
        known.margin.upper = best.margin.ceil_f64();
        // Nothing that was left can be below what was attained.
        let complete = !halted && lower >= known.margin.upper;
        known.margin.lower = match complete {
            true => best.margin.floor_f64(),
            false => known.margin.lower.max(lower.min(best.margin.floor_f64())),
        };
        known.open = !(best.margin.sign().is_gt() && (complete || known.margin.lower > 0.0));
        if best.margin.sign().is_le() && course.attack.as_ref().is_none_or(|attack| attack.1.upper > known.margin.upper)
        {
            let attack =
                Attack { edges: best.changes.clone(), tie: best.margin.sign().is_eq(), upper: known.margin.upper };
            course.attack = Some((pair.other, attack));
        }
        known.minimum = complete.then_some(best);
        if self.proofs && !known.open && known.tree.is_none() {
            // The sign is known, so that the search for it ends.
            let mut again = Course::default();
            self.by_search_of(usize::MAX, pair, known, &mut again);
            course.visited += again.visited;
            // An attack on what is robust: the result contradicts itself, and will be told to.
            course.attack = course.attack.take().or(again.attack);
        }
    }
}
