//! Branches of networks with one hidden layer: column generation, and what follows from it.

use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
use crate::problem::slice::Slice;

use super::column_generation::{Pricing, generate, unknown};
use super::master::{Envelopes, Lines, SimplexMaster, Suggestion};
use super::pair_search::PairSearch;
use super::tree::{Branch, Finding, Goal};

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

/// The pricing of one branch.
struct BranchPricing<'s, 'a, 'p> {
    search: &'s mut PairSearch<'a, 'p>,
    branch: &'s Branch,
    /// The best bound so far.
    best: f64,
    rounds: usize,
    last: Option<Suggestion>,
}

impl Pricing<SimplexMaster<'_>> for BranchPricing<'_, '_, '_> {
    fn slice(&self) -> &Slice {
        &self.search.workspace.slice
    }

    fn price(&mut self, master: &mut SimplexMaster, suggestion: Suggestion) -> Vec<Flip> {
        let BranchPricing { search, branch, .. } = self;
        self.rounds += 1;
        let (bound, selected) = search.try_multipliers(branch, &suggestion);
        self.best = self.best.max(bound);
        let (best, value) = (self.best, suggestion.value);
        self.last = Some(suggestion);
        // Both sides have met, or the relaxation's optimum is known not to close the branch.
        let hopeless = search.goal == Goal::Decide && !branch.units.is_empty() && value <= search.pair().goal();
        let over = search.settled(best) || search.meets_attack(branch, best) || search.clock.is_late();
        if over || hopeless || self.rounds >= MASTERS || value - best <= search.close_to(best) {
            return Vec::new();
        }
        let new = unknown(master, selected);
        new.iter().for_each(|flip| search.remember(*flip));
        new
    }
}

impl PairSearch<'_, '_> {
    /// Bounds a branch by column generation, then by envelopes; closes it, or says where to split it. `global` flips may be made in it, and
    /// `made` is the margin of those that it has fixed (docs/math.md (6.2), §7.2).
    pub(super) fn price(&mut self, branch: &Branch, made: Enclosure, global: usize) -> Finding {
        let prepared = self.prepared;
        if prepared.network().depth() > 3 {
            return self.price_layers(branch, made, global);
        }
        let Workspace { backward, hidden, .. } = &*self.workspace;
        let layer = &prepared.network().layers()[0];
        let constant = backward.constant().close().value;
        let coefficients = backward.coefficients().0.to_vec();
        let start = branch.near.as_deref().filter(|near| !near.is_empty());
        let inherited = hidden.envelope.clone();
        let envelopes =
            Envelopes { known: inherited.as_ref().map(|(known, left)| (&**known, left)), ..Envelopes::default() };
        let mut master =
            SimplexMaster::new(layer, hidden, (&coefficients, constant), global, start, Lines::All, envelopes);
        master.until(self.clock.clone());
        let known = self.latest(global, &branch.decided);
        let mut pricing = BranchPricing { search: self, branch, best: f64::NEG_INFINITY, rounds: 0, last: None };
        generate(&mut master, &prepared.field(&branch.decided), known, &mut pricing);
        let BranchPricing { mut best, last, .. } = pricing;
        let Some(mut suggestion) = last else { return self.closed(best) };
        if self.settled(best) {
            return self.closed(best);
        }
        for &(flip, share) in &suggestion.flips {
            if share > 0.0 {
                self.remember(flip);
            }
        }
        if !self.is_near(best) {
            best = self.take_envelopes(branch, global, &coefficients, best, &mut suggestion);
        }
        if self.settled(best) {
            return self.closed(best);
        }
        if let Some(found) = self.finish(branch, best, &suggestion.weights) {
            return found;
        }
        match self.choose_split(branch, &coefficients, &suggestion) {
            Some(split) => {
                let near = suggestion.weights.iter().map(|w| *w > 0.5).collect();
                Finding::Open { bound: best, split, near, envelope: self.passed_on(branch) }
            }
            // Nothing is left that changes anything: the branch is the single perturbation that it has made.
            None => self.single(branch, made),
        }
    }
}
