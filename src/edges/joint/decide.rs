//! The steps of a verdict about joint attacks: flips of the graph as it is, flips after promising changes of edges, and
//! the search, class pair by class pair.

use std::rc::Rc;

use gcnproof_check::edges::format::Step;

use crate::certify::contradiction::Contradiction;
use crate::certify::settings::Effort;
use crate::certify::verdict::Margin;
use crate::edges::budget::Edge;
use crate::edges::changes::carried::Carried;
use crate::edges::changes::decide::predicted;
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
use crate::edges::changes::search::{ChangeJudge, margin};
use crate::edges::changes::span::Span;
use crate::edges::joint::attack::{JointAttack, Replay};
use crate::edges::joint::problem::JointProblem;
use crate::edges::joint::search::{Flipped, JointHalt, JointSearch, PairQuestion};
use crate::problem::limits::Clock;
use crate::problem::pace::Pace;

/// Sets of changed edges that are tried together with flips before a search, for each class.
const TRIED: usize = 6;

/// What became of a target.
pub(super) struct JointDecision {
    pub(super) reference: usize,
    pub(super) predicted: usize,
    pub(super) relevant: usize,
    pub(super) known: Vec<JointKnown>,
    pub(super) attack: Option<JointAttack>,
    pub(super) visited: usize,
    pub(super) branched: bool,
    pub(super) limit: bool,
    pub(super) contradiction: Option<Contradiction>,
}

/// What is known of a class pair.
pub(super) struct JointKnown {
    pub(super) margin: Margin,
    pub(super) open: bool,
    /// Why it is not open, if that is kept.
    pub(super) tree: Option<Vec<Step>>,
}

/// A question about a target, for a class or for its predicted one.
pub(super) struct Question<'a> {
    pub(super) problem: &'a JointProblem,
    pub(super) node: u32,
    pub(super) reference: Option<usize>,
    pub(super) effort: Effort,
    /// Branches of a tree.
    pub(super) nodes: usize,
    pub(super) clock: &'a Clock,
    /// Is what a verdict rests on to be kept?
    pub(super) proofs: bool,
}

/// Decides a target.
pub(super) fn decide(question: &Question) -> JointDecision {
    let Question { problem, node, clock, .. } = *question;
    let stack = &*problem.stack;
    let logits: Vec<Span> = stack.spans(node, &[]);
    let predicted = predicted(stack, node, &logits);
    let reference = question.reference.unwrap_or(predicted);
    let pace = Pace::new(clock.clone());
    let nodes = match question.effort {
        Effort::Bounds | Effort::Optimal => 0,
        _ => question.nodes,
    };
    let replay = Replay { stack, node, reference };
    let asked = PairQuestion { problem, replay, clock, pace: &pace, nodes, proofs: question.proofs };
    let known = |class: usize| {
        let margin = Margin { class, lower: f64::NEG_INFINITY, upper: margin(&logits, reference, class).hi };
        JointKnown { margin, open: true, tree: None }
    };
    let known = (0..logits.len()).filter(|&class| class != reference).map(known).collect();
    let mut decided = JointDecision {
        reference,
        predicted,
        relevant: 0,
        known,
        attack: replay.attack(&[], &[]),
        visited: 0,
        branched: false,
        limit: false,
        contradiction: None,
    };
    let root = ChangePath::default();
    let one = problem.budget().edges.with_global(problem.budget().edges.global().min(1));
    let singles = ChangeMenu::new(Setting::new(stack, &one, 0), node, &root, &pace);
    decided.relevant = singles.as_ref().map_or(usize::MAX >> 1, |menu| menu.flips.len());
    if decided.attack.is_none()
        && let Err(halt) = decided.steps(&asked, singles.as_ref())
    {
        decided.halted(halt, &pace);
    }
    if let Some(attack) = decided.attack.take() {
        let attack = replay.shortened(&attack).unwrap_or(attack);
        for known in decided.known.iter_mut().filter(|known| known.margin.class == attack.class) {
            known.margin.upper = known.margin.upper.min(attack.upper);
        }
        decided.attack = Some(attack);
    }
    decided
}

impl JointDecision {
    fn halted(&mut self, halt: JointHalt, pace: &Pace) {
        match halt {
            JointHalt::Attack(attack) => self.attack = Some(attack),
            JointHalt::Contradiction(contradiction) => self.contradiction = Some(contradiction),
            JointHalt::Limit => self.limit |= pace.is_late(),
        }
    }

    fn steps(&mut self, asked: &PairQuestion, singles: Option<&ChangeMenu>) -> Result<(), JointHalt> {
        let others: Vec<usize> = self.known.iter().map(|known| known.margin.class).collect();
        let root = Rc::new(asked.flipped(Vec::new(), &others)?);
        for (known, margin) in self.known.iter_mut().zip(&root.margins) {
            known.margin.upper = known.margin.upper.min(margin.upper);
        }
        let mut order: Vec<usize> = (0..others.len()).collect();
        order.sort_by(|&x, &y| root.margins[x].lower.total_cmp(&root.margins[y].lower));
        if let Some(menu) = singles {
            self.by_attacks(asked, menu, &root, &order)?;
        }
        let start = ChangePath::default();
        // Too many changes are not a question of time.
        let menu =
            ChangeMenu::new(asked.problem.setting(), asked.replay.node, &start, asked.pace).ok_or(JointHalt::Limit)?;
        let carried = Carried::new(&menu, asked.pace).ok_or(JointHalt::Limit)?;
        for at in order {
            self.by_search(asked, &carried, &root, at)?;
        }
        Ok(())
    }

    /// Flips after those changes of edges that leave the smallest margins by themselves.
    fn by_attacks(
        &mut self,
        asked: &PairQuestion,
        menu: &ChangeMenu,
        root: &Flipped,
        order: &[usize],
    ) -> Result<(), JointHalt> {
        let PairQuestion { problem, replay, pace, .. } = *asked;
        let Replay { stack, node, reference } = replay;
        let mut margins: Vec<Vec<(EdgeFlip, f64)>> = vec![Vec::with_capacity(menu.flips.len()); self.known.len()];
        for &flip in &menu.flips {
            if pace.is_late_for(1 << 12) {
                return Err(JointHalt::Limit);
            }
            let logits: Vec<Span> = stack.spans(node, &[flip.edge]);
            for (known, list) in self.known.iter_mut().zip(&mut margins) {
                let found = margin(&logits, reference, known.margin.class);
                if found.lo <= 0.0
                    && let Some(attack) = replay.attack(&[flip.edge], &[])
                {
                    return Err(JointHalt::Attack(attack));
                }
                known.margin.upper = known.margin.upper.min(found.hi);
                list.push((flip, found.hi));
            }
        }
        let start = ChangePath::default();
        let setting = problem.setting();
        let whole = ChangeMenu::bare(setting, node, &start);
        for &at in order {
            let list = &mut margins[at];
            list.sort_by(|x, y| x.1.total_cmp(&y.1).then(x.0.edge.cmp(&y.0.edge)));
            let other = self.known[at].margin.class;
            let judge = ChangeJudge { setting, target: node, reference, other };
            let beam = judge.beam(&whole, list, pace);
            if let Some(attack) = beam.attack.and_then(|attack| replay.attack(&attack.edges, &[])) {
                return Err(JointHalt::Attack(attack));
            }
            let single = || list.iter().map(|(flip, _)| vec![flip.edge]).collect();
            let sets: Vec<Vec<Edge>> = if beam.sets.is_empty() { single() } else { beam.sets };
            for edges in sets.into_iter().take(TRIED) {
                if pace.is_late() {
                    return Err(JointHalt::Limit);
                }
                let found = asked.flipped(edges, &[other])?.margins[0];
                self.known[at].margin.upper = self.known[at].margin.upper.min(found.upper);
                // Far from an attack the next best sets are no better.
                if found.lower > 0.5 * root.margins[at].upper {
                    break;
                }
            }
        }
        Ok(())
    }

    fn by_search(
        &mut self,
        asked: &PairQuestion,
        root: &Carried,
        flipped: &Rc<Flipped>,
        at: usize,
    ) -> Result<(), JointHalt> {
        let known = &mut self.known[at];
        let (other, lower) = (known.margin.class, f64::INFINITY);
        let mut search = JointSearch { asked: *asked, other, visited: 0, branched: false, lower, root };
        let outcome = search.explore(flipped, at);
        self.visited += if asked.nodes == 0 { 0 } else { search.visited };
        self.branched |= search.branched;
        match outcome {
            Ok(tree) => {
                (known.open, known.tree) = (false, tree);
                known.margin.lower = search.lower.max(0.0);
            }
            Err(JointHalt::Limit) => {
                self.limit |= asked.nodes > 0 || asked.pace.is_late();
                if !self.limit && search.lower.is_finite() {
                    known.margin.lower = search.lower.min(0.0);
                }
            }
            Err(halt) => return Err(halt),
        }
        Ok(())
    }
}
