//! The optimum `m̂` of the paper's relaxation by column generation (docs/math.md §6), with a proof on both sides.
//!
//! From below the bound at the best `Ω`, over all flips; from above the relaxed network at the attacker's fractional
//! point.

use std::collections::BTreeMap;

use crate::bound::backward::{Located, UnitPlace};
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::prepared::Prepared;
use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::number::rounding::{Account, error_of};
use crate::problem::budget::{Budget, Decided};
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

use super::column_generation::{Master, Pricing, generate, unknown};
use super::layered::master::LayeredMaster;
use super::layered::network::Layers;
use super::limits::Stop;
use super::master::{AllowedLines, Envelopes, LinearObjective, SimplexMaster, Suggestion};
use super::point::{bounds_in, feasible_margin, point};

/// Masters solved before giving up; a handful is usual.
const MASTERS: usize = 200;

/// Both sides have met when they are this close, relative to the optimum.
const CLOSE: f64 = 1e-10;

/// The optimum of the paper's relaxation of one class pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// `g` at the best `Ω` found: rigorous, from below.
    pub lower: f64,
    /// The relaxed margin at the attacker's point: rigorous, from above.
    pub upper: f64,
    /// Restricted masters solved.
    pub masters: usize,
    /// The best `Ω` of the units of representation 2, by their places in the slice; of use where a unit is undecided
    /// and its coefficient is positive.
    pub omega: Vec<f64>,
    /// The same of the units of representations 3 and up.
    pub above: Vec<Vec<f64>>,
    /// How much of each flip the relaxed attacker makes.
    pub flips: Vec<(Flip, f64)>,
}

impl Optimum {
    /// Is the search for it over?
    fn is_met(&self) -> bool {
        self.upper - self.lower <= CLOSE * (1.0 + self.lower.abs()) || self.masters >= MASTERS
    }
}

/// The pricing of the paper's relaxation; `bounds` are those of the slice's units.
struct RelaxedPricing<'a> {
    prepared: &'a Prepared,
    objective: Objective<'a>,
    bounds: &'a [LayerBounds],
    workspace: &'a mut Workspace,
    best: Optimum,
    stop: &'a Stop,
}

impl RelaxedPricing<'_> {
    /// The flips whose columns are added next: those of the last selection.
    fn selected(&self, master: &impl Master) -> Vec<Move> {
        if self.best.is_met() || self.stop.is_set() {
            return Vec::new();
        }
        unknown(master, self.workspace.selection.flips().iter().map(|loss| loss.flip.into()))
    }
}

impl Pricing<SimplexMaster<'_>> for RelaxedPricing<'_> {
    fn slice(&self) -> &Slice {
        &self.workspace.slice
    }

    fn price(&mut self, master: &mut SimplexMaster, suggestion: Suggestion) -> Vec<Move> {
        let RelaxedPricing { prepared, workspace, best, .. } = self;
        best.masters += 1;
        let shares = within_budget(prepared.budget(), suggestion.flips);
        let upper = relaxed_margin(prepared, &shares, workspace);
        if upper < best.upper {
            best.upper = upper;
        }
        let Workspace { backward, relaxed, hidden, .. } = &mut **workspace;
        relaxed.mixed(backward, hidden, &suggestion.weights, None);
        let lower = prepared.worst(workspace, &Decided::default()).lower();
        if best.masters == 1 || lower > best.lower {
            best.lower = best.lower.max(lower);
            best.omega = suggestion.weights;
            best.flips = shares;
        }
        self.selected(master)
    }
}

impl Pricing<LayeredMaster<'_>> for RelaxedPricing<'_> {
    fn slice(&self) -> &Slice {
        &self.workspace.slice
    }

    fn price(&mut self, master: &mut LayeredMaster, _: f64) -> Vec<Move> {
        let RelaxedPricing { prepared, objective, bounds, workspace, best, .. } = self;
        best.masters += 1;
        let shares = within_budget(prepared.budget(), master.flips());
        best.upper = best.upper.min(feasible_margin(prepared, objective, &shares, master, bounds, workspace));
        let slopes = master.slopes();
        let Workspace { backward, relaxed, hidden, slice, .. } = &mut **workspace;
        let mut above: Vec<Vec<f64>> = bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
        backward.run_with(prepared.network(), slice, Located::Slice(bounds), objective, |l, at, (a, ..)| {
            let place = UnitPlace { l, at };
            above[l - 3][at] = slopes.omega(place, a).unwrap_or(0.0);
            slopes.slope(place, a)
        });
        relaxed.sloped(backward, hidden, |at, a| slopes.slope(UnitPlace { l: 2, at }, a).unwrap_or(0.0));
        let coefficients = backward.coefficients().0.iter().enumerate();
        let omega = coefficients.map(|(at, &a)| slopes.omega(UnitPlace { l: 2, at }, a).unwrap_or(0.0)).collect();
        let lower = prepared.worst(workspace, &Decided::default()).lower();
        if best.masters == 1 || lower > best.lower {
            (best.lower, best.omega, best.above, best.flips) = (best.lower.max(lower), omega, above, shares);
        }
        self.selected(master)
    }
}

/// `m̂` of a class pair.
pub fn relaxed_optimum(
    prepared: &Prepared,
    node: usize,
    reference: usize,
    class: usize,
    workspace: &mut Workspace,
) -> Optimum {
    relaxed_optimum_until(&Stop::default(), prepared, node, reference, class, workspace)
}

/// The same, as far as it is known when `stop` is set.
pub fn relaxed_optimum_until(
    stop: &Stop,
    prepared: &Prepared,
    node: usize,
    reference: usize,
    class: usize,
    workspace: &mut Workspace,
) -> Optimum {
    let first = prepared.pair_bound(node, reference, class, Relaxation::Paper, workspace);
    let best = Optimum {
        lower: first.lower(),
        upper: f64::INFINITY,
        masters: 0,
        omega: Vec::new(),
        above: Vec::new(),
        flips: Vec::new(),
    };
    // The relaxed network is not evaluated at shares of moves: nothing is known from above.
    if prepared.graph().normalisation().is_some() {
        return best;
    }
    let Some(bounds) = prepared.activation_bounds().first() else {
        // A linear model has nothing to relax.
        return Optimum { upper: first.upper(), ..best };
    };
    workspace.hidden.load(&workspace.slice, &prepared.unperturbed()[0], bounds);
    let decided = Decided::default();
    let space = prepared.search_space(&decided);
    let (network, global) = (prepared.network(), prepared.budget().global());
    let objective = &[(reference, 1.0), (class, -1.0)];
    if network.depth() > 3 {
        let bounds = &bounds_in(prepared, &workspace.slice);
        let (slice, hidden) = (&workspace.slice, &workspace.hidden);
        let layers = Layers::new(network, hidden, bounds, objective, &[], AllowedLines::Chord, None);
        let mut master = LayeredMaster::new(layers, slice, bounds, global, None);
        let mut pricing = RelaxedPricing { prepared, objective, bounds, workspace, best, stop };
        let start = pricing.selected(&master);
        generate(&mut master, &space, start, &mut pricing);
        return pricing.best;
    }
    let coefficients = workspace.backward.coefficients().0.to_vec();
    let constant = workspace.backward.constant().close().value;
    let mut master = SimplexMaster::new(
        &network.layers()[0],
        &workspace.hidden,
        LinearObjective { coefficients: &coefficients, constant },
        global,
        None,
        AllowedLines::Chord,
        Envelopes::default(),
    );
    let mut pricing = RelaxedPricing { prepared, objective, bounds: &[], workspace, best, stop };
    let start = pricing.selected(&master);
    generate(&mut master, &space, start, &mut pricing);
    pricing.best
}

/// Shares that a solver has exceeded by a rounding, brought back into the budgets.
fn within_budget(budget: &Budget, mut shares: Vec<(Flip, f64)>) -> Vec<(Flip, f64)> {
    let mut spent: BTreeMap<u32, f64> = BTreeMap::new();
    for (flip, share) in &mut shares {
        *share = share.clamp(0.0, 1.0);
        *spent.entry(flip.node).or_default() += *share;
    }
    let room = |budget: usize, spent: f64| if spent > budget as f64 { budget as f64 / spent } else { 1.0 };
    let global = room(budget.global(), spent.values().sum());
    for (flip, share) in &mut shares {
        let local = room(budget.local(flip.node as usize), spent[&flip.node]);
        if global.min(local) < 1.0 {
            *share *= global.min(local) * (1.0 - 1e-13);
        }
    }
    shares
}

/// The margin of the paper's relaxed network, one hidden layer, where the attacker makes shares of flips: rounded up
/// (docs/math.md (6.3)).
fn relaxed_margin(prepared: &Prepared, shares: &[(Flip, f64)], workspace: &Workspace) -> f64 {
    let Workspace { hidden, slice, backward, .. } = workspace;
    let (change, _) = point(prepared, shares, workspace);
    let layer = &prepared.network().layers()[0];
    let mut size = vec![0.0; hidden.count()];
    let mut sizes = Vec::new();
    for &(flip, share) in shares {
        for (_, m, entries) in slice.rows_of(flip) {
            layer.change_sizes(entries, flip.attribute as usize, &mut sizes);
            for (size, change) in size[m * hidden.width..].iter_mut().zip(&sizes) {
                *size += share * change;
            }
        }
    }
    let (coefficients, errors) = backward.coefficients();
    let mut margin = backward.constant();
    for at in 0..hidden.count() {
        let (a, r, s) = (coefficients[at], hidden.lower[at], hidden.upper[at]);
        let z = hidden.value[at] + change[at];
        let away = hidden.value[at].abs() + size[at];
        let error = hidden.error[at] + error_of(layer.passing.terms() * shares.len() + 4, away);
        let active = if s <= 0.0 {
            0.0
        } else if r >= 0.0 {
            z
        } else if a > 0.0 {
            z.max(0.0)
        } else {
            s * (z - r) / (s - r)
        };
        margin.add(a * active);
        margin.allow(a.abs() * error + errors[at] * (active.abs() + error) + error_of(8, a.abs() * (away - r + s)));
    }
    Account::close(margin).upper()
}
