//! The optimum `m̂` of the paper's relaxation by column generation (math §6), with a proof on both sides.
//!
//! From below the bound at the best `Ω`, over all flips; from above the relaxed network at the attacker's fractional point.

use std::collections::BTreeMap;

use crate::budget::Restriction;
use crate::certifier::{Certifier, Workspace};
use crate::dual::{Located, Objective};
use crate::exact::Relaxation;
use crate::mixture::reached;
use crate::rounding::{Account, error_of};
use crate::selection::Flip;

use super::deep::LayeredMaster;
use super::master::{Envelopes, Lines, Master, SimplexMaster};
use super::prover::point;

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
    /// The best `Ω` of the units of representation 2, by their places in the slice; of use where a unit is undecided and
    /// its coefficient is positive.
    pub omega: Vec<f64>,
    /// The same of the units of representations 3 and up.
    pub above: Vec<Vec<f64>>,
    /// How much of each flip the relaxed attacker makes.
    pub flips: Vec<(Flip, f64)>,
}

impl Certifier<'_> {
    /// `m̂` of a class pair.
    pub fn relaxed_optimum(
        &self,
        node: usize,
        (reference, class): (usize, usize),
        workspace: &mut Workspace,
    ) -> Optimum {
        let first = self.bound_alone(node, (reference, class), Relaxation::Paper, workspace);
        let mut best = Optimum {
            lower: first.lower(),
            upper: f64::INFINITY,
            masters: 0,
            omega: Vec::new(),
            above: Vec::new(),
            flips: Vec::new(),
        };
        let Some(bounds) = self.activation_bounds().first() else {
            // A linear model has nothing to relax.
            return Optimum { upper: first.upper(), ..best };
        };
        workspace.hidden.load(&workspace.slice, &self.unperturbed()[0], bounds);
        if self.gcn().depth() > 3 {
            return self.layered_optimum(&[(reference, 1.0), (class, -1.0)], best, workspace);
        }
        let restriction = Restriction::default();
        let field = self.problem().field(&restriction);
        let coefficients = workspace.backward.coefficients().0.to_vec();
        let constant = workspace.backward.constant().close().value;
        let weight = &self.gcn().layers()[0].weight;
        let global = self.budget().global();
        let mut master = SimplexMaster::new(
            weight,
            &workspace.hidden,
            (&coefficients, constant),
            global,
            None,
            Lines::Chord,
            Envelopes::default(),
        );
        loop {
            let new: Vec<Flip> =
                workspace.selection.flips().iter().map(|l| l.flip).filter(|flip| !master.knows(*flip)).collect();
            let met = best.upper - best.lower <= CLOSE * (1.0 + best.lower.abs());
            if met || best.masters >= MASTERS || (new.is_empty() && best.masters > 0) {
                return best;
            }
            new.into_iter().for_each(|flip| master.add(&field, &workspace.slice, flip));
            let suggestion = master.solve();
            best.masters += 1;
            let shares = self.within_budget(suggestion.flips);
            let upper = self.relaxed_margin(&shares, workspace);
            if upper < best.upper {
                best.upper = upper;
            }
            let Workspace { backward, relaxed, hidden, .. } = workspace;
            relaxed.mixed(backward, hidden, &suggestion.weights);
            let lower = self.worst(workspace, &restriction).lower();
            if best.masters == 1 || lower > best.lower {
                best.lower = best.lower.max(lower);
                best.omega = suggestion.weights;
                best.flips = shares;
            }
        }
    }

    /// The same with the rows of all layers in the master. `best` is what the default multipliers are worth, and the workspace
    /// holds the flips that they select.
    fn layered_optimum(&self, objective: Objective, mut best: Optimum, workspace: &mut Workspace) -> Optimum {
        let restriction = Restriction::default();
        let field = self.problem().field(&restriction);
        let bounds = self.bounds_in(&workspace.slice);
        let place = (self.gcn(), &workspace.slice);
        let global = self.budget().global();
        let mut master = LayeredMaster::new(place, &workspace.hidden, &bounds, (objective, &[]), global, Lines::Chord);
        loop {
            let selected = workspace.selection.flips().iter().map(|loss| loss.flip);
            let new: Vec<Flip> = selected.filter(|flip| !master.knows(*flip)).collect();
            let met = best.upper - best.lower <= CLOSE * (1.0 + best.lower.abs());
            if met || best.masters >= MASTERS || (new.is_empty() && best.masters > 0) {
                return best;
            }
            new.into_iter().for_each(|flip| master.add(&field, &workspace.slice, flip));
            master.solve(&field, &workspace.slice);
            best.masters += 1;
            let shares = self.within_budget(master.flips());
            best.upper = best.upper.min(self.feasible_margin(objective, &shares, &master, &bounds, workspace));
            let slopes = master.slopes();
            let Workspace { backward, relaxed, hidden, slice, .. } = workspace;
            let mut above: Vec<Vec<f64>> = bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
            backward.run_with(self.gcn(), slice, Located::Slice(&bounds), objective, |l, at, (a, ..)| {
                above[l - 3][at] = slopes.omega((l, at), a).unwrap_or(0.0);
                slopes.slope((l, at), a)
            });
            relaxed.sloped(backward, hidden, |at, a| slopes.slope((2, at), a).unwrap_or(0.0));
            let coefficients = backward.coefficients().0.iter().enumerate();
            let omega = coefficients.map(|(at, &a)| slopes.omega((2, at), a).unwrap_or(0.0)).collect();
            let lower = self.worst(workspace, &restriction).lower();
            if best.masters == 1 || lower > best.lower {
                best = Optimum { lower: best.lower.max(lower), omega, above, flips: shares, ..best };
            }
        }
    }

    /// Shares that a solver has exceeded by a rounding, brought back into the budgets.
    fn within_budget(&self, mut shares: Vec<(Flip, f64)>) -> Vec<(Flip, f64)> {
        let mut spent: BTreeMap<u32, f64> = BTreeMap::new();
        for (flip, share) in &mut shares {
            *share = share.clamp(0.0, 1.0);
            *spent.entry(flip.node).or_default() += *share;
        }
        let room = |budget: usize, spent: f64| if spent > budget as f64 { budget as f64 / spent } else { 1.0 };
        let global = room(self.budget().global(), spent.values().sum());
        for (flip, share) in &mut shares {
            let local = room(self.budget().local(flip.node as usize), spent[&flip.node]);
            if global.min(local) < 1.0 {
                *share *= global.min(local) * (1.0 - 1e-13);
            }
        }
        shares
    }

    /// The margin of the paper's relaxed network, one hidden layer, where the attacker makes shares of flips: rounded up.
    fn relaxed_margin(&self, shares: &[(Flip, f64)], workspace: &Workspace) -> f64 {
        let Workspace { hidden, slice, backward, .. } = workspace;
        let (change, _) = point(self, shares, workspace);
        let weight = &self.gcn().layers()[0].weight;
        let mut size = vec![0.0; hidden.count()];
        for &(flip, share) in shares {
            for (_, m, a) in reached(slice, flip) {
                for (j, w) in weight.row(flip.attribute as usize).iter().enumerate() {
                    size[m * hidden.width + j] += share * (a * w).abs();
                }
            }
        }
        let (coefficients, errors) = backward.coefficients();
        let mut margin = backward.constant();
        for at in 0..hidden.count() {
            let (a, r, s) = (coefficients[at], hidden.lower[at], hidden.upper[at]);
            let z = hidden.value[at] + change[at];
            let away = hidden.value[at].abs() + size[at];
            let error = hidden.error[at] + error_of(shares.len() + 4, away);
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
}
