//! The steps of a verdict about ranges: class pair by class pair, the closest first.

use gcnproof_check::format::{RangeClaim, RangeClassProof, RangeWitness};

use crate::problem::flip::Flip;
use crate::ranges::attack::RangeAttack;
use crate::ranges::forward::Shift;
use crate::ranges::pairs::TargetPairs;
use crate::ranges::proof::number;
use crate::ranges::question::{RangeQuestion, RunVerdict};
use crate::ranges::search::RangeHalt;

/// Relative widths below this are not asked for: smallest margins of real attributes need not be floats.
const NARROWEST: f64 = 1e-6;

/// An entry of a witness, and the value that it gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewValue {
    pub(crate) entry: Flip,
    pub(crate) value: f64,
}

/// Changes that break a class.
pub(crate) struct Broken {
    pub(crate) changes: Vec<NewValue>,
    pub(crate) tie: bool,
}

/// What became of it.
pub(crate) struct RangeDecision {
    /// By other class: a lower bound of the worst margin, and the margin of the best perturbation found.
    pub(crate) margins: Vec<[f64; 2]>,
    pub(crate) broken: Option<Broken>,
    /// Has some class no positive bound?
    pub(crate) open: bool,
    /// Is some smallest margin that was asked for not known up to the width?
    pub(crate) wide: bool,
    /// Was more than one branch visited?
    pub(crate) branched: bool,
    pub(crate) visited: usize,
    /// What the verdict rests on, if it was asked for and there is one.
    pub(crate) claim: Option<RangeClaim>,
    /// What holds for the network as it runs, if that was asked for.
    pub(crate) run: Option<RunVerdict>,
}

impl RangeQuestion<'_> {
    /// Decides it.
    pub(crate) fn decide(&self) -> RangeDecision {
        let (mut trees, mut beyond) = (Vec::new(), vec![false; self.others.len()]);
        let mut pairs = TargetPairs::new(self);
        let (mut attack, mut open, mut branched) = (None, false, false);
        for at in pairs.closest() {
            let found = pairs.decide(at);
            branched |= found.visited > 1;
            match found.outcome {
                Ok(tree) => {
                    beyond[at] = found.beyond_error;
                    trees.push(RangeClassProof { class: self.others[at] as u32, tree });
                }
                Err(RangeHalt::Attack(found)) => {
                    attack = Some(found);
                    break;
                }
                Err(RangeHalt::Limit) => open = true,
            }
        }
        let mut wide = false;
        if let Some(gap) = self.gap {
            for at in 0..self.others.len() {
                let (narrow, found) = pairs.minimize(at, gap.max(NARROWEST));
                wide |= !narrow;
                // A margin below 0 says more than a tie, which the search for the sign may have ended with.
                if let Some(found) = found
                    && attack.as_ref().is_none_or(|known| known.tie && !found.tie)
                {
                    attack = Some(found);
                }
            }
            // Minima may close what the search for the sign has left open, and open nothing.
            open &= attack.is_none() && pairs.margins.iter().any(|margin| margin[0] <= 0.0);
        }
        let run = self.run.map(|run| match &mut attack {
            _ if !run.errors.iter().all(|error| error.is_finite()) => RunVerdict::Open,
            Some(attack) => pairs.fool(run, attack),
            None if open => RunVerdict::Open,
            None => {
                let of = |at: usize| (pairs.margins[at], run.errors[at]);
                let mut all = (0..self.others.len()).map(of);
                if (0..self.others.len()).all(|at| beyond[at] || of(at).0[0] > of(at).1) {
                    RunVerdict::Robust
                } else if all.any(|([_, upper], error)| upper <= error) {
                    RunVerdict::Rounding
                } else {
                    RunVerdict::Open
                }
            }
        });
        if let Some(found) = &mut attack {
            pairs.shorten(found, self.run.filter(|_| run == Some(RunVerdict::NonRobust)));
        }
        let class = attack.as_ref().map(|attack| attack.class);
        let broken = attack.map(|RangeAttack { moves, tie, .. }| {
            let nodes = pairs.scene.slice.nodes(1);
            let change =
                |of: &Shift| NewValue { entry: Flip { node: nodes[of.place], attribute: of.attribute }, value: of.new };
            let mut changes: Vec<NewValue> = moves.iter().map(change).collect();
            changes.sort_by_key(|change| change.entry);
            Broken { changes, tie }
        });
        trees.sort_by_key(|tree| tree.class);
        let claim = match (&broken, class) {
            _ if !self.proofs || matches!(run, Some(RunVerdict::Rounding | RunVerdict::Open)) => None,
            (Some(broken), Some(class)) => {
                let entry = |of: &NewValue| (of.entry.node, of.entry.attribute, number(of.value));
                let entries = broken.changes.iter().map(entry).collect();
                Some(RangeClaim::NonRobust(RangeWitness { class: class as u32, entries }))
            }
            _ if open || trees.len() < self.others.len() => None,
            _ => Some(RangeClaim::Robust(trees)),
        };
        let TargetPairs { margins, visited, .. } = pairs;
        RangeDecision { margins, broken, open, wide, branched, visited, claim, run }
    }
}
