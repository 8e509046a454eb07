//! What is true of a case, as far as it is known: least margins by brute force where the network is a chain, and of
//! moves by chance everywhere; and which classes executions have broken.

use crate::deployed::execution::Aim;
use crate::exact::Exact;
use crate::finding::{AreaCounts, Counts};
use crate::moved::case::MovedCase;
use crate::moved::moves::{Moves, draw};
use crate::moved::runs::{Runs, exactly};
use crate::random::Random;
use crate::ranges::truth::{Quotient, RangeTruth, truths};

/// Moves by chance.
const MOVES: usize = 20;

/// Executions that are to go wrong, each at one node.
const AIMED: usize = 10;

/// What is known.
pub struct Known<'a> {
    pub case: &'a MovedCase,
    pub runs: Runs<'a>,
    /// Of a network that is no chain, least margins are those of the moves below: the true ones may be less.
    pub truths: Vec<RangeTruth>,
    /// Are these least margins those of all moves?
    pub is_all: bool,
    /// No move, given ones, and some by chance, with their exact logits.
    pub tried: Vec<(Moves, Vec<Vec<Exact>>)>,
    /// By node, or graph: has an execution on an admissible move let another class reach the predicted one?
    pub broken: Vec<bool>,
}

impl<'a> Known<'a> {
    /// Tries some moves, these among them. Nothing where the truth takes too long.
    pub fn new(case: &'a MovedCase, given: Vec<Moves>, random: &mut Random) -> Option<Known<'a>> {
        let runs = Runs::new(case);
        let moves = std::iter::once(Moves::new()).chain(given);
        let moves: Vec<Moves> = moves.chain((0..MOVES).map(|_| draw(&case.ranges, random))).collect();
        let tried: Vec<(Moves, Vec<Vec<Exact>>)> = moves
            .into_iter()
            .map(|moves| {
                let logits = runs.exact(&exactly(&moves));
                (moves, logits)
            })
            .collect();
        let is_all = case.is_chain();
        let truths = if is_all { truths(&case.ranges)? } else { tried_truths(&tried) };
        let broken = vec![false; truths.len()];
        Some(Known { case, runs, truths, is_all, tried, broken })
    }

    /// The tried move with the least margin of a node over a class.
    pub fn worst(&self, node: usize, class: usize) -> &Moves {
        let predicted = self.truths[node].predicted;
        let margin = |logits: &[Vec<Exact>]| logits[node][predicted].plus(&logits[node][class].negated());
        let least = self.tried.iter().min_by(|x, y| margin(&x.1).compare(&margin(&y.1)));
        &least.unwrap_or(&self.tried[0]).0
    }

    /// Runs executions that are to let another class reach the predicted one.
    pub fn attack(&mut self, random: &mut Random, counts: &AreaCounts) {
        let classes = self.case.classes();
        for _ in 0..AIMED {
            let node = random.below(self.truths.len());
            let reference = self.truths[node].predicted;
            let class = (reference + 1 + random.below(classes - 1)) % classes;
            let moves = match random.percent(75) {
                true => self.worst(node, class).clone(),
                false => draw(&self.case.ranges, random),
            };
            let aim = Aim { node, reference, class, side: -1.0 };
            let computed = self.runs.run(&moves, Some(aim), random);
            Counts::add(&counts.executions, 1);
            for (broken, (logits, truth)) in self.broken.iter_mut().zip(computed.iter().zip(&self.truths)) {
                let own = logits[truth.predicted];
                *broken |= (0..classes).any(|class| class != truth.predicted && own <= logits[class]);
            }
        }
    }

    /// Is nothing known that contradicts that a node keeps its class in every execution?
    pub fn may_be_robust(&self, node: usize) -> bool {
        self.truths[node].robust() && !self.broken[node]
    }

    /// Do all executions that are tried have another class after a move that is admissible?
    pub fn fools(&self, node: usize, class: usize, moves: &Moves, random: &mut Random, counts: &AreaCounts) -> bool {
        let reference = self.truths[node].predicted;
        let aim = Aim { node, reference, class, side: 1.0 };
        (0..3).all(|_| {
            Counts::add(&counts.executions, 1);
            let computed = self.runs.run(moves, Some(aim), random);
            computed[node][reference] < computed[node][class]
        })
    }
}

/// Least margins of the moves that were tried.
fn tried_truths(tried: &[(Moves, Vec<Vec<Exact>>)]) -> Vec<RangeTruth> {
    let best = |logits: &Vec<Exact>| {
        (1..logits.len()).fold(0, |best, k| if logits[k].compare(&logits[best]).is_gt() { k } else { best })
    };
    let truth = |node: usize| {
        let predicted = best(&tried[0].1[node]);
        let margin = |class: usize| {
            let margins = tried.iter().map(|(_, all)| all[node][predicted].plus(&all[node][class].negated()));
            margins.min_by(|x, y| x.compare(y)).filter(|_| class != predicted).map(Quotient::from)
        };
        RangeTruth { predicted, margins: (0..tried[0].1[node].len()).map(margin).collect() }
    };
    (0..tried[0].1.len()).map(truth).collect()
}
