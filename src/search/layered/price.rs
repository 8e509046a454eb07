//! Branches of networks with more than one hidden layer: column generation with the rows of all layers in the master,
//! and splits on units of every layer.

use crate::bound::backward::{Located, UnitPlace, bent};
use crate::bound::mixture::Multipliers;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::objective::Objective;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;
use crate::search::branching::{SPREAD, choose_split, few_left, row_split};
use crate::search::column_generation::{Pricing, generate, unknown};
use crate::search::finish::finish;
use crate::search::master::{AllowedLines, Suggestion, flip_shares};
use crate::search::pair_search::PairSearch;
use crate::search::tree::{Branch, BranchResult, SearchGoal, Split};

use super::master::LayeredMaster;
use super::network::Layers;

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

/// The pricing of one branch.
struct LayeredPricing<'s, 'a, 'p> {
    search: &'s mut PairSearch<'a, 'p>,
    branch: &'s Branch,
    objective: [(usize, f64); 2],
    /// The best bound so far.
    best: f64,
    rounds: usize,
    last: Option<Suggestion>,
}

impl Pricing<LayeredMaster<'_>> for LayeredPricing<'_, '_, '_> {
    fn slice(&self) -> &Slice {
        &self.search.workspace.slice
    }

    /// Masters suggest `Ω`, `β` and weights for all layers.
    fn price(&mut self, master: &mut LayeredMaster, value: f64) -> Vec<Move> {
        let LayeredPricing { search, branch, .. } = self;
        self.rounds += 1;
        // Against the flips known alone the relaxation has no bound that is large enough: more flips do not raise it.
        let low = value <= search.pair().goal() && !search.is_near(value);
        let hopeless = search.goal == SearchGoal::Decide && branch.origin.is_some() && low;
        let weights = if hopeless { Vec::new() } else { suggested(search, master, &self.objective) };
        let suggestion = self.last.insert(match search.prepared.graph().normalisation().is_some() {
            false => Suggestion { weights, value, flips: master.flips(), moves: Vec::new() },
            true => {
                let moves = master.moves();
                Suggestion { weights, value, flips: flip_shares(&moves), moves }
            }
        });
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
        new.iter().for_each(|column| search.remember(column));
        new
    }
}

/// Bounds a branch by column generation; closes it, or says where to split it.
pub(in crate::search) fn price_layers(
    search: &mut PairSearch,
    branch: &Branch,
    made: Enclosure,
    global: usize,
) -> BranchResult {
    let prepared = search.prepared;
    let objective = search.pairs.objective(search.at);
    // The capped bounds of representation 3 are anchored at the unperturbed graph.
    let fixed = !branch.decided.flipped.is_empty() || !branch.decided.kept.is_empty();
    let nested = if fixed { None } else { prepared.nested(search.workspace) };
    let Workspace { slice, hidden, local_bounds, multipliers, .. } = &*search.workspace;
    let (signs, lines) = (&multipliers.signs, AllowedLines::All);
    let layers = Layers::new(prepared.network(), hidden, local_bounds, &objective, signs, lines, nested);
    let resting = branch.warm_start.as_deref();
    let mut master = LayeredMaster::new(layers, slice, local_bounds, global, resting);
    master.until(search.clock.clone());
    let known = search.latest(global, &branch.decided);
    let mut pricing =
        LayeredPricing { search: &mut *search, branch, objective, best: f64::NEG_INFINITY, rounds: 0, last: None };
    generate(&mut master, &prepared.search_space(&branch.decided), known, &mut pricing);
    let LayeredPricing { best, last, .. } = pricing;
    let Some(suggestion) = last else { return search.closed(best) };
    if search.settled(best) {
        return search.closed(best);
    }
    search.remember_made(&suggestion);
    let found = match suggestion.weights.is_empty() {
        true => None,
        false => finish(search, branch, best, &suggestion.weights),
    };
    if let Some(found) = found {
        return found;
    }
    let loosest = if few_left(search, branch) { None } else { master.loosest(1e-9 * search.size.min(1.0)) };
    let unit = loosest.map(|place| if place.l == 2 { Split::Unit(place.at) } else { Split::Above(place) });
    let unit = row_split(search, branch, &suggestion, SPREAD).or(unit);
    let coefficients = search.workspace.backward.coefficients().0.to_vec();
    match unit.or_else(|| choose_split(search, branch, &coefficients, &suggestion)) {
        Some(split) => BranchResult::Open { bound: best, split, warm_start: master.resting(), envelope: None },
        // Nothing is left that changes anything: the branch is the single perturbation that it has made.
        None => search.single(branch, made),
    }
}

/// Takes over a master's multipliers above representation 2, runs the backward pass with them, and returns the weights
/// of the units of representation 2.
fn suggested(search: &mut PairSearch, master: &LayeredMaster, objective: Objective) -> Vec<f64> {
    let slopes = master.slopes();
    let Workspace { slice, local_bounds, backward, multipliers, .. } = &mut *search.workspace;
    let network = search.prepared.network();
    multipliers.signs.iter_mut().for_each(|sign| sign.beta = slopes.beta(sign.place));
    let Multipliers { last_omega: omega, chords, .. } = &mut *multipliers;
    chords.clear();
    if master.has_nested() {
        chords.resize(local_bounds[1].lower.len(), 0.0);
    }
    *omega = local_bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
    // From the top down: a layer's coefficients depend on the multipliers above it, and its Ω on its coefficients.
    let Multipliers { last_omega: omega, chords, signs, .. } = &mut *multipliers;
    let slope = |l: usize, at: usize, (a, ..): (f64, f64, f64)| {
        let place = UnitPlace { l, at };
        if let Some(sign) = signs.iter().find(|sign| sign.place == place) {
            return Some(sign.slope(a));
        }
        let chosen = slopes.omega(place, a)?;
        omega[l - 3][at] = chosen;
        Some(a * chosen)
    };
    let bend = |at: usize, a: f64| {
        if let Some(chord) = chords.get_mut(at) {
            *chord = slopes.chord(UnitPlace { l: 3, at }, a);
        }
        bent(chords, at, a)
    };
    backward.run_nested(network, slice, Located::Slice(local_bounds), objective, slope, bend);
    let coefficients = backward.coefficients().0.iter().enumerate();
    coefficients.map(|(unit, &a)| slopes.weight(unit, a)).collect()
}
