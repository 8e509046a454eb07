//! Branches of networks with one hidden layer: column generation, and what follows from it.

use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

use super::branching::choose_split;
use super::column_generation::{Pricing, generate, unknown};
use super::cuts::{inherited_envelope, tighten_by_envelopes};
use super::finish::finish;
use super::layered::price::price_layers;
use super::master::{AllowedLines, Envelopes, LinearObjective, SimplexMaster, Suggestion};
use super::pair_search::PairSearch;
use super::tree::{Branch, BranchResult, SearchGoal};

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

/// Evaluates multipliers in one branch, and keeps the best bound.
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

    fn price(&mut self, master: &mut SimplexMaster, suggestion: Suggestion) -> Vec<Move> {
        let BranchPricing { search, branch, .. } = self;
        self.rounds += 1;
        let (bound, selected) = search.try_multipliers(branch, &suggestion);
        self.best = self.best.max(bound);
        let (best, value) = (self.best, suggestion.value);
        self.last = Some(suggestion);
        // Both sides have met, or the relaxation's optimum is known not to close the branch.
        let hopeless = search.goal == SearchGoal::Decide && !branch.units.is_empty() && value <= search.pair().goal();
        let over = search.settled(best) || search.meets_attack(branch, best) || search.clock.is_late();
        if over || hopeless || self.rounds >= MASTERS || value - best <= search.close_to(best) {
            return Vec::new();
        }
        let new = unknown(master, selected);
        new.iter().for_each(|column| search.remember(column));
        new
    }
}

/// Bounds a branch by column generation, then by envelopes; closes it, or says where to split it. `global` flips may be
/// made in it, and `made` is the margin of those that it has fixed (docs/math.md (6.2), §7.2).
pub(super) fn price(search: &mut PairSearch, branch: &Branch, made: Enclosure, global: usize) -> BranchResult {
    let prepared = search.prepared;
    if prepared.network().depth() > 3 {
        return price_layers(search, branch, made, global);
    }
    let Workspace { backward, hidden, .. } = &*search.workspace;
    let layer = &prepared.network().layers()[0];
    let constant = backward.constant().close().value;
    let coefficients = backward.coefficients().0.to_vec();
    let start = branch.warm_start.as_deref().filter(|warm_start| !warm_start.is_empty());
    let inherited = hidden.envelope.clone();
    let envelopes =
        Envelopes { known: inherited.as_ref().map(|(known, left)| (&**known, left)), ..Envelopes::default() };
    let objective = LinearObjective { coefficients: &coefficients, constant };
    let mut master = SimplexMaster::new(layer, hidden, objective, global, start, AllowedLines::All, envelopes);
    master.until(search.clock.clone());
    let known = search.latest(global, &branch.decided);
    let mut pricing = BranchPricing { search: &mut *search, branch, best: f64::NEG_INFINITY, rounds: 0, last: None };
    generate(&mut master, &prepared.search_space(&branch.decided), known, &mut pricing);
    let BranchPricing { mut best, last, .. } = pricing;
    let Some(mut suggestion) = last else { return search.closed(best) };
    if search.settled(best) {
        return search.closed(best);
    }
    search.remember_made(&suggestion);
    // Envelopes are made of single flips.
    if !search.is_near(best) && suggestion.moves.is_empty() {
        best = tighten_by_envelopes(search, branch, global, &coefficients, best, &mut suggestion);
    }
    if search.settled(best) {
        return search.closed(best);
    }
    if let Some(found) = finish(search, branch, best, &suggestion.weights) {
        return found;
    }
    match choose_split(search, branch, &coefficients, &suggestion) {
        Some(split) => {
            let warm_start = suggestion.weights.iter().map(|w| *w > 0.5).collect();
            BranchResult::Open { bound: best, split, warm_start, envelope: inherited_envelope(search, branch) }
        }
        // Nothing is left that changes anything: the branch is the single perturbation that it has made.
        None => search.single(branch, made),
    }
}
