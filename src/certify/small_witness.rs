//! Small witnesses without any bound, from linearisations of the true network: where searches for a radius begin.

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::{Certifier, Target};
use crate::problem::flip::Flip;
use crate::search::limits::Watch;
use crate::search::local::steepest;
use crate::search::pair::Pairs;
use crate::search::pair_search::Cost;

/// Flips that are looked for at first, and by how much more each time that these break nothing.
const FIRST: usize = 16;
const MORE: usize = 4;

/// Classes that are attacked: those that the fewest flips should break.
const CLASSES: usize = 2;

/// A target and the classes that it may be taken for, while a witness is looked for.
struct SmallAttack<'a> {
    target: Target,
    others: &'a [usize],
    workspace: &'a mut Workspace,
}

impl Certifier {
    /// A witness of at most `limit` flips, of which none can be left out. None if the first attempts find none, or if
    /// there is a tie without any.
    pub(super) fn small_witness(&self, node: usize, limit: usize, workspace: &mut Workspace) -> Option<Vec<Flip>> {
        let predicted = self.predicted(node);
        let target = Target { node, reference: predicted, predicted };
        let others = self.others(predicted);
        self.prepared.set_target(node, workspace);
        workspace.linearised.selection.forget();
        workspace.watch = Watch::new(self.clock(1));
        let mut attack = SmallAttack { target, others: &others, workspace: &mut *workspace };
        let mut most = FIRST.min(limit);
        let flips = loop {
            match attack.breaking(&self.prepared.at_global(most)) {
                Some(flips) => break Some(flips),
                None if most == limit || attack.workspace.watch.is_late() => break None,
                None => most = most.saturating_mul(MORE).min(limit),
            }
        };
        let found = flips.and_then(|flips| self.replayed(target, &others, flips, workspace));
        workspace.watch = Watch::default();
        found
    }

    /// A set of flips that breaks the target in exact arithmetic, without those that it does not need.
    fn replayed(
        &self,
        target: Target,
        others: &[usize],
        flips: Vec<Flip>,
        workspace: &mut Workspace,
    ) -> Option<Vec<Flip>> {
        let certifier = self.at_global(flips.len());
        let mut pairs = Pairs::new(&certifier.prepared, target.node, target.reference, others, false, workspace);
        pairs.attack(flips, workspace);
        if !pairs.any_broken() {
            return None;
        }
        let (result, _) = certifier.conclude(target, &pairs, Cost::default(), workspace);
        let result = certifier.finished(result, &pairs, workspace);
        Some(result.witness).filter(|witness| !witness.is_empty() && result.contradiction.is_none())
    }
}

impl SmallAttack<'_> {
    /// A set of flips within a budget that breaks the target as far as floats can tell, small if linearisations are
    /// right.
    fn breaking(&mut self, prepared: &Prepared) -> Option<Vec<Flip>> {
        let mut classes: Vec<(usize, usize, Vec<Flip>)> = Vec::new();
        for &class in self.others {
            let objective = self.objective(class);
            let losses = steepest(prepared, &objective, &[], self.workspace);
            let mut left = self.margins(prepared, &[])[class];
            let enough = |loss: &f64| {
                left -= loss;
                left > 0.0
            };
            let count = losses.iter().map(|loss| loss.loss).take_while(enough).count() + 1;
            classes.push((count, class, losses.iter().map(|loss| loss.flip).collect()));
        }
        classes.sort_by_key(|&(count, class, _)| (count, class));
        let mut best: Option<Vec<Flip>> = None;
        for (mut count, class, mut flips) in classes.into_iter().take(CLASSES) {
            // At the attacked point other flips are steeper.
            while let Some(fewer) = self.shortest(prepared, &flips, count, best.as_ref().map(Vec::len)) {
                count = fewer.len().saturating_sub(1);
                let within = prepared.at_global(count);
                let steepest = steepest(&within, &self.objective(class), &fewer, self.workspace);
                flips = steepest.iter().map(|loss| loss.flip).collect();
                best = Some(fewer);
            }
        }
        best
    }

    /// The shortest beginning of a list of flips that breaks the target, if it is shorter than `known`; `guess` flips
    /// may be about right.
    fn shortest(
        &mut self,
        prepared: &Prepared,
        flips: &[Flip],
        guess: usize,
        known: Option<usize>,
    ) -> Option<Vec<Flip>> {
        let most = flips.len().min(known.map_or(usize::MAX, |known| known.saturating_sub(1)));
        let mut breaks = |count: usize| {
            let margins = self.margins(prepared, &flips[..count]);
            self.others.iter().any(|&class| margins[class] <= 0.0)
        };
        let (mut low, mut high) = (0, guess.clamp(1, most.max(1)));
        while high <= most && !breaks(high) {
            low = high;
            high = if high == most { most + 1 } else { (high + (high / 4).max(1)).min(most) };
        }
        if high > most {
            return None;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if breaks(middle) { high = middle } else { low = middle }
        }
        Some(flips[..high].to_vec())
    }

    /// The margins over all classes when some flips are made, by class.
    fn margins(&mut self, prepared: &Prepared, flips: &[Flip]) -> Vec<f64> {
        let flips = prepared.budget().compatible(flips.to_vec());
        let logits: Vec<f64> = prepared.logits(&flips, self.workspace).map(|logit| logit.value).collect();
        logits.iter().map(|logit| logits[self.target.reference] - logit).collect()
    }

    fn objective(&self, class: usize) -> [(usize, f64); 2] {
        [(self.target.reference, 1.0), (class, -1.0)]
    }
}
