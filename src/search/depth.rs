//! Branches of networks with more than one hidden layer: column generation with the rows of all layers in the master, and
//! splits on units of every layer.

use crate::cascade::Pair;
use crate::certifier::Workspace;
use crate::dual::Located;
use crate::rounding::Enclosure;
use crate::selection::Flip;

use super::deep::LayeredMaster;
use super::master::{Lines, Suggestion};
use super::prover::Prover;
use super::tree::{Branch, Finding, Goal, Split};

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

impl Prover<'_, '_> {
    /// Masters suggest `Ω`, `β` and weights for all layers; one pass over all flips says what they are worth.
    pub(super) fn price_layers(
        &mut self,
        branch: &Branch,
        (at, made): (usize, Enclosure),
        global: usize,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) -> Finding {
        let certifier = self.certifier;
        let field = certifier.problem().field(&branch.restriction);
        let objective = [(self.reference, 1.0), (pairs[at].class, -1.0)];
        let Workspace { slice, hidden, local_bounds, multipliers, .. } = workspace;
        let lines = (&objective[..], &multipliers.signs[..]);
        let mut master = LayeredMaster::new((certifier.gcn(), slice), hidden, local_bounds, lines, global, Lines::Both);
        master.until(self.clock);
        for flip in self.latest(global, &branch.restriction) {
            master.add(&field, slice, flip);
        }
        let mut best = f64::NEG_INFINITY;
        let mut suggestion;
        let mut round = 0;
        loop {
            round += 1;
            let value = master.solve(&field, &workspace.slice);
            // Against the flips known alone the relaxation has no positive bound: more flips do not raise it.
            let hopeless = self.goal == Goal::Decide
                && branch.origin.is_some()
                && value <= 0.0
                && !self.is_near(value, &pairs[at]);
            let weights = if hopeless { Vec::new() } else { self.suggested(&master, &objective, workspace) };
            suggestion = Suggestion { weights, value, flips: master.flips() };
            if hopeless {
                self.masters += 1;
                self.round_to_attack(branch, at, &suggestion, pairs, workspace);
                if pairs[at].attack.succeeds() {
                    return self.closed(best, &pairs[at]);
                }
                break;
            }
            let (bound, selected) = self.try_multipliers(branch, at, &suggestion, pairs, workspace);
            // `max` takes the number where there is one.
            best = best.max(bound);
            if self.settled(best, &pairs[at]) {
                return self.closed(best, &pairs[at]);
            }
            if self.meets_attack(branch, best, &pairs[at]) {
                break;
            }
            let new: Vec<Flip> = selected.into_iter().filter(|flip| !master.knows(*flip)).collect();
            if new.is_empty() || round >= MASTERS || value - best <= self.close_to(best) {
                break;
            }
            for flip in new {
                self.remember(flip);
                master.add(&field, &workspace.slice, flip);
            }
        }
        for &(flip, _) in suggestion.flips.iter().filter(|flip| flip.1 > 0.0) {
            self.remember(flip);
        }
        let found = match suggestion.weights.is_empty() {
            true => None,
            false => self.finish(branch, at, (best, &suggestion.weights), pairs, workspace),
        };
        if let Some(found) = found {
            return found;
        }
        let loosest = if self.few_left(branch, workspace) { None } else { master.loosest(1e-9 * self.size.min(1.0)) };
        let unit = loosest.map(|(l, unit)| if l == 2 { Split::Unit(unit) } else { Split::Above((l, unit)) });
        let coefficients = workspace.backward.coefficients().0.to_vec();
        match unit.or_else(|| self.choose_split(branch, &coefficients, &suggestion, workspace)) {
            Some(split) => Finding::Open { bound: best, split, near: Vec::new(), envelope: None },
            // Nothing is left that changes anything: the branch is the single perturbation that it has made.
            None => self.single(branch, &pairs[at], made, workspace),
        }
    }

    /// Takes over a master's multipliers above representation 2, runs the backward pass with them, and returns the weights
    /// of the units of representation 2.
    fn suggested(&self, master: &LayeredMaster, objective: &[(usize, f64)], workspace: &mut Workspace) -> Vec<f64> {
        let slopes = master.slopes();
        let Workspace { slice, local_bounds, backward, multipliers, .. } = workspace;
        let gcn = self.certifier.gcn();
        multipliers.signs.iter_mut().for_each(|sign| sign.beta = slopes.beta(sign.place));
        let omega = &mut multipliers.played;
        *omega = local_bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
        // From the top down: a layer's coefficients depend on the multipliers above it, and its Ω on its coefficients.
        let signs = &multipliers.signs;
        backward.run_with(gcn, slice, Located::Slice(local_bounds), objective, |l, unit, (a, ..)| {
            let place = (l, unit);
            if let Some(sign) = signs.iter().find(|sign| sign.place == place) {
                return Some(sign.slope(a));
            }
            let chosen = slopes.omega(place, a)?;
            omega[l - 3][unit] = chosen;
            Some(a * chosen)
        });
        let coefficients = backward.coefficients().0.iter().enumerate();
        coefficients.map(|(unit, &a)| slopes.weight(unit, a)).collect()
    }
}
