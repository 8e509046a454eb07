//! Branches of networks with more than one hidden layer: column generation with the rows of all layers in the master, and
//! splits on units of every layer.

use crate::bound::backward::Located;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;
use crate::problem::slice::Slice;
use crate::search::column_generation::{Pricing, generate, unknown};
use crate::search::master::{Lines, Suggestion};
use crate::search::pair_search::PairSearch;
use crate::search::tree::{Branch, Finding, Goal, Split};

use super::master::LayeredMaster;

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

/// The pricing of one branch.
struct BranchPricing<'s, 'a, 'p> {
    search: &'s mut PairSearch<'a, 'p>,
    branch: &'s Branch,
    objective: [(usize, f64); 2],
    /// The best bound so far.
    best: f64,
    rounds: usize,
    last: Option<Suggestion>,
}

impl Pricing<LayeredMaster<'_>> for BranchPricing<'_, '_, '_> {
    fn slice(&self) -> &Slice {
        &self.search.workspace.slice
    }

    /// Masters suggest `Ω`, `β` and weights for all layers.
    fn price(&mut self, master: &mut LayeredMaster, value: f64) -> Vec<Flip> {
        let BranchPricing { search, branch, .. } = self;
        self.rounds += 1;
        // Against the flips known alone the relaxation has no bound that is large enough: more flips do not raise it.
        let low = value <= search.pair().goal() && !search.is_near(value);
        let hopeless = search.goal == Goal::Decide && branch.origin.is_some() && low;
        let weights = if hopeless { Vec::new() } else { search.suggested(master, &self.objective) };
        let suggestion = self.last.insert(Suggestion { weights, value, flips: master.flips() });
        if hopeless {
            search.masters += 1;
            search.round_to_attack(branch, suggestion);
            return Vec::new();
        }
        let (bound, selected) = search.try_multipliers(branch, suggestion);
        // `max` takes the number where there is one.
        self.best = self.best.max(bound);
        let best = self.best;
        let over = search.settled(best) || search.meets_attack(branch, best) || search.clock.is_late();
        if over || self.rounds >= MASTERS || value - best <= search.close_to(best) {
            return Vec::new();
        }
        let new = unknown(master, selected);
        new.iter().for_each(|flip| search.remember(*flip));
        new
    }
}

impl PairSearch<'_, '_> {
    /// Bounds a branch by column generation; closes it, or says where to split it.
    pub(in crate::search) fn price_layers(&mut self, branch: &Branch, made: Enclosure, global: usize) -> Finding {
        let prepared = self.prepared;
        let objective = self.pairs.objective(self.at);
        let Workspace { slice, hidden, local_bounds, multipliers, .. } = &*self.workspace;
        let lines = (&objective[..], &multipliers.signs[..]);
        let mut master =
            LayeredMaster::new((prepared.network(), slice), hidden, local_bounds, lines, global, Lines::All);
        master.until(self.clock.clone());
        let known = self.latest(global, &branch.decided);
        let mut pricing =
            BranchPricing { search: self, branch, objective, best: f64::NEG_INFINITY, rounds: 0, last: None };
        generate(&mut master, &prepared.field(&branch.decided), known, &mut pricing);
        let BranchPricing { best, last, .. } = pricing;
        let Some(suggestion) = last else { return self.closed(best) };
        if self.settled(best) {
            return self.closed(best);
        }
        for &(flip, _) in suggestion.flips.iter().filter(|flip| flip.1 > 0.0) {
            self.remember(flip);
        }
        let found = match suggestion.weights.is_empty() {
            true => None,
            false => self.finish(branch, best, &suggestion.weights),
        };
        if let Some(found) = found {
            return found;
        }
        let loosest = if self.few_left(branch) { None } else { master.loosest(1e-9 * self.size.min(1.0)) };
        let unit = loosest.map(|(l, unit)| if l == 2 { Split::Unit(unit) } else { Split::Above((l, unit)) });
        let coefficients = self.workspace.backward.coefficients().0.to_vec();
        match unit.or_else(|| self.choose_split(branch, &coefficients, &suggestion)) {
            Some(split) => Finding::Open { bound: best, split, near: Vec::new(), envelope: None },
            // Nothing is left that changes anything: the branch is the single perturbation that it has made.
            None => self.single(branch, made),
        }
    }

    /// Takes over a master's multipliers above representation 2, runs the backward pass with them, and returns the weights
    /// of the units of representation 2.
    fn suggested(&mut self, master: &LayeredMaster, objective: Objective) -> Vec<f64> {
        let slopes = master.slopes();
        let Workspace { slice, local_bounds, backward, multipliers, .. } = &mut *self.workspace;
        let network = self.prepared.network();
        multipliers.signs.iter_mut().for_each(|sign| sign.beta = slopes.beta(sign.place));
        let omega = &mut multipliers.played;
        *omega = local_bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
        // From the top down: a layer's coefficients depend on the multipliers above it, and its Ω on its coefficients.
        let signs = &multipliers.signs;
        backward.run_with(network, slice, Located::Slice(local_bounds), objective, |l, unit, (a, ..)| {
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
