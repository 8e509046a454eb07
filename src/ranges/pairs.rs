//! The class pairs of a target: whether their margins stay above 0, and above or below what rounding may do to them.

use crate::number::span::{Span, down};
use crate::problem::minimal::minimal;
use crate::ranges::attack::{RangeAttack, RangePair};
use crate::ranges::backward::RangeBranch;
use crate::ranges::forward::Shift;
use crate::ranges::lines::UnitLines;
use crate::ranges::question::{RangeQuestion, RangeRun, RunVerdict};
use crate::ranges::scene::RangeScene;
use crate::ranges::search::{RangeGoal, RangeHalt, RangeSearch, RangeTree};

/// Witnesses of more changes are not made minimal.
const MOST_SHORTENED: usize = 64;

/// What is known of the class pairs of a target.
pub(super) struct TargetPairs<'a> {
    question: &'a RangeQuestion<'a>,
    pub(super) scene: RangeScene<'a>,
    lines: UnitLines,
    /// The logits without any change.
    logits: Vec<Span>,
    /// By other class: a lower bound of the worst margin, and the margin of the best perturbation found.
    pub(super) margins: Vec<[f64; 2]>,
    /// Branches of all searches.
    pub(super) visited: usize,
}

/// What a search has found.
pub(super) struct Explored {
    pub(super) outcome: Result<RangeTree, RangeHalt>,
    pub(super) visited: usize,
    /// Is the margin above its error, and not only above 0?
    pub(super) beyond_error: bool,
}

impl<'a> TargetPairs<'a> {
    pub(super) fn new(question: &'a RangeQuestion<'a>) -> TargetPairs<'a> {
        let RangeQuestion { problem, target, reference, others, .. } = *question;
        let scene = RangeScene::new(problem, problem.network().depth(), target);
        let lines = UnitLines::new(&scene);
        let mut clean = scene.forward::<Span>(&[], |node| problem.enclosed(node).to_vec());
        let logits = clean.pop().unwrap_or_default();
        let margin = |&class: &usize| [f64::NEG_INFINITY, logits[reference].minus(logits[class]).hi];
        let margins = others.iter().map(margin).collect();
        TargetPairs { question, scene, lines, logits, margins, visited: 0 }
    }

    /// The pairs by their margins, the smallest first.
    pub(super) fn closest(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.margins.len()).collect();
        order.sort_by(|&x, &y| self.margins[x][1].total_cmp(&self.margins[y][1]));
        order
    }

    fn pair(&self, at: usize, beyond: f64, precision: Option<u32>) -> RangePair<'_> {
        let RangeQuestion { reference, others, .. } = *self.question;
        RangePair { scene: &self.scene, reference, other: others[at], beyond, precision }
    }

    /// The margin of a pair without any change.
    fn clean(&self, at: usize) -> Span {
        self.logits[self.question.reference].minus(self.logits[self.question.others[at]])
    }

    fn search<'s>(&self, pair: &'s RangePair<'s>, upper: f64, proofs: bool, goal: RangeGoal) -> RangeSearch<'s>
    where
        'a: 's,
    {
        let RangeQuestion { pace, nodes, .. } = *self.question;
        RangeSearch { pair, pace, nodes: nodes.max(1), visited: 0, lower: f64::INFINITY, upper, proofs, goal }
    }

    /// Is the margin of a pair always above a number?
    fn explore(&mut self, at: usize, beyond: f64, precision: Option<u32>) -> Explored {
        let pair = self.pair(at, beyond, precision);
        let proofs = self.question.proofs && precision.is_none();
        let mut search = self.search(&pair, self.margins[at][1], proofs, RangeGoal::Sign);
        let outcome = match pair.attack(&[]) {
            Some(found) => Err(RangeHalt::Attack(found)),
            // The margin is above it, and nothing can be changed.
            None if self.scene.is_fixed() => {
                search.lower = pair.above(self.clean(at).lo);
                Ok(search.leaf(&self.lines, &RangeBranch::default()))
            }
            None => search.explore(self.lines.clone(), &RangeBranch::default(), 0),
        };
        let (lower, visited) = (search.lower, search.visited);
        // Where nothing was bounded `lower` is infinite, and the number below it would be a finite bound.
        let lower = if beyond == 0.0 || !lower.is_finite() { lower } else { down(lower + beyond) };
        let margin = &mut self.margins[at];
        match &outcome {
            Ok(_) => margin[0] = margin[0].max(lower).max(beyond),
            Err(RangeHalt::Attack(found)) => margin[1] = margin[1].min(found.upper),
            Err(RangeHalt::Limit) if visited == 1 && lower.is_finite() => margin[0] = margin[0].max(lower),
            Err(RangeHalt::Limit) => {}
        }
        self.visited += visited;
        Explored { outcome, visited, beyond_error: beyond > 0.0 }
    }

    /// Is the margin of a pair always above its error, or at least above 0?
    pub(super) fn decide(&mut self, at: usize) -> Explored {
        let error = self.question.error(at);
        let found = self.explore(at, error, None);
        let known = match &found.outcome {
            _ if error == 0.0 => return found,
            Ok(_) => return found,
            Err(RangeHalt::Attack(near)) => self.pair(at, 0.0, None).attack(&near.moves),
            Err(RangeHalt::Limit) => None,
        };
        match known {
            Some(attack) => Explored { outcome: Err(RangeHalt::Attack(attack)), ..found },
            None => self.explore(at, 0.0, None),
        }
    }

    /// The smallest margin of a pair: is it known up to the width, and an attack if one was met.
    pub(super) fn minimize(&mut self, at: usize, gap: f64) -> (bool, Option<RangeAttack>) {
        let clean = self.clean(at);
        if self.scene.is_fixed() {
            self.margins[at][0] = self.margins[at][0].max(clean.lo);
            return (true, None);
        }
        let size = self.logits.iter().map(|logit| logit.hi.abs()).sum();
        let pair = self.pair(at, 0.0, None);
        let goal = RangeGoal::Minimum { gap, clean: clean.hi.abs(), size, attack: None };
        let mut search = self.search(&pair, self.margins[at][1], false, goal);
        let narrow = search.minimize(self.lines.clone());
        let RangeSearch { lower, upper, visited, goal, .. } = search;
        self.margins[at] = [self.margins[at][0].max(lower), upper];
        self.visited += visited;
        let RangeGoal::Minimum { attack, .. } = goal else { return (narrow, None) };
        if let Some(found) = &attack {
            // Against a positive bound of the search for the sign, this is a contradiction that is reported.
            self.margins[at][1] = self.margins[at][1].min(found.upper);
        }
        (narrow, attack)
    }

    /// Looks for an attack that takes a margin below minus its error, with values that are numbers of the format, and
    /// puts it in the place of the one known.
    pub(super) fn fool(&mut self, run: RangeRun, attack: &mut RangeAttack) -> RunVerdict {
        let precision = Some(run.precision);
        for at in 0..self.margins.len() {
            let fooled = self.pair(at, -run.errors[at], precision).attack(&attack.moves);
            if let Some(found) = fooled.filter(|found| !found.tie) {
                self.margins[at][1] = self.margins[at][1].min(found.upper);
                *attack = found;
                return RunVerdict::NonRobust;
            }
        }
        let mut verdict = RunVerdict::Rounding;
        for at in self.closest() {
            if self.margins[at][0] > -run.errors[at] {
                continue;
            }
            match self.explore(at, -run.errors[at], precision).outcome {
                Ok(_) => {}
                Err(RangeHalt::Attack(found)) if !found.tie => {
                    *attack = found;
                    return RunVerdict::NonRobust;
                }
                Err(_) => verdict = RunVerdict::Open,
            }
        }
        verdict
    }

    /// Leaves out of an attack what it does not need. A negative margin stays negative, and one below minus its error
    /// stays so.
    pub(super) fn shorten(&self, attack: &mut RangeAttack, run: Option<RangeRun>) {
        if attack.moves.len() > MOST_SHORTENED {
            return;
        }
        let tie = attack.tie;
        let pair = |at: usize| match run {
            Some(run) => self.pair(at, -run.errors[at], Some(run.precision)),
            None => self.pair(at, 0.0, None),
        };
        let breaks = |moves: &[Shift]| {
            let attacks = (0..self.margins.len()).filter_map(|at| pair(at).attack(moves));
            attacks.min_by_key(|attack| attack.tie).filter(|found| found.tie == tie)
        };
        let own = self.question.others.iter().position(|&other| other == attack.class).unwrap_or(0);
        let harm = |of: &Shift| pair(own).margin(&pair(own).forward(&[*of]));
        let mut moves: Vec<(f64, Shift)> = attack.moves.iter().map(|of| (harm(of), *of)).collect();
        moves.sort_by(|x, y| x.0.total_cmp(&y.0));
        let moves: Vec<Shift> = moves.into_iter().map(|entry| entry.1).collect();
        if let Some((_, found)) = minimal(&moves, breaks) {
            *attack = found;
        }
    }
}
