//! The LP of the paper's appendix (optimum `m̂`), the ILP with a binary `X̃` (`m̃`), and the Ω of the LP's duals.

use crate::formulation::{self, Form, Model, Unit};
use crate::instance::Instance;
use crate::matrix::Dense;
use crate::solver::Answer;
use crate::validity::InstanceError;

/// The LP, in [`Form::Appendix`] exactly as in the appendix; every row is named after its dual (see
/// [`crate::formulation`]).
pub fn linear_program(instance: &Instance, form: Form) -> Result<Model, InstanceError> {
    relaxed(instance, form, false)
}

/// The same with binary `X̃`: the optimum that the paper's integrality theorem wrongly equates with the LP's.
pub fn integer_program(instance: &Instance, form: Form) -> Result<Model, InstanceError> {
    relaxed(instance, form, true)
}

fn relaxed(instance: &Instance, form: Form, integer: bool) -> Result<Model, InstanceError> {
    let mut model = formulation::build(instance, form, integer)?;
    let unstable: Vec<_> = model.units().collect();
    for (representation, node, unit, kind) in unstable {
        if let Unit::Unstable { pre, post, .. } = kind {
            let r = instance.lower[representation - 2].at(node, unit);
            let s = instance.upper[representation - 2].at(node, unit);
            // λ: H (S - R) ≤ S (Ĥ - R), divided by S - R so that a solver's absolute tolerance means the same for every
            // unit. The paper's λ is this row's dual over S - R.
            let slope = s / (s - r);
            let name = format!("lambda_{representation}_{node}_{unit}");
            model.program.add_row(name, f64::NEG_INFINITY, -slope * r, [(post, 1.0), (pre, -slope)]);
        }
    }
    Ok(model)
}

/// The best Ω, read off an answer's duals: one matrix per hidden representation, 1 on `I₊` and at linear
/// units, 0 on `I₋`.
///
/// On `I` it is `μ / (μ + τ)`, but with care. At a corner `Ĥ = S` (or `R`) the two upper and lower sides of the
/// triangle meet, and a solver may pay with λ *and* μ (or τ), which amounts to a multiplier on `Ĥ ≤ S` (or `Ĥ ≥ R`).
/// The paper's dual has no such multiplier and needs none, for those inequalities follow from the layers below, there
/// by way of `0 ≤ H ≤ S`. So the backward pass is redone without them, and what its `Φ̂` has less than the solver's is
/// charged to τ.
///
/// `None` when the answer has no duals. The result lies in `[0, 1]` whatever the solver said, so weak duality holds for
/// it.
pub fn optimal_slopes(model: &Model, instance: &Instance, answer: &Answer) -> Option<Vec<Dense>> {
    let (row_duals, reduced_costs) = (answer.row_duals.as_ref()?, answer.reduced_costs.as_ref()?);
    let mut slopes: Vec<Dense> = instance.upper.iter().map(|s| Dense::zeros(s.rows, s.columns)).collect();
    let mut phi = Dense::zeros(1, instance.objective.len());
    phi.values = instance.objective.iter().map(|c| -c).collect();
    for representation in (2..instance.representations()).rev() {
        // Φ of the layer above as the solver has it; its rows are written with the opposite sign.
        let first = model.first_equation(representation + 1);
        let mut solvers = phi.clone();
        for (at, value) in solvers.values.iter_mut().enumerate() {
            *value = -row_duals[first + at];
        }
        let (mut next, theirs) =
            (backward(instance, representation, &phi), backward(instance, representation, &solvers));
        for node in 0..next.rows {
            for unit in 0..next.columns {
                let r = instance.lower[representation - 2].at(node, unit);
                let s = instance.upper[representation - 2].at(node, unit);
                let hat = next.at(node, unit);
                let (slope, value) = match model.unit(representation, node, unit) {
                    Unit::Off => (0.0, 0.0),
                    Unit::Active { .. } | Unit::Linear { .. } => (1.0, hat),
                    Unit::Unstable { post, mu, .. } => {
                        let missing = (theirs.at(node, unit) - hat).max(0.0);
                        let (mu, tau) = (row_duals[mu].max(0.0), reduced_costs[post].max(0.0) + missing);
                        // Where both vanish Φ̂ is not negative and Ω does not matter; the paper's default then.
                        let ratio = mu / (mu + tau);
                        let slope = if ratio.is_finite() { ratio } else { s / (s - r) };
                        (slope, s / (s - r) * hat.max(0.0) + slope * hat.min(0.0))
                    }
                };
                *slopes[representation - 2].at_mut(node, unit) = slope;
                *next.at_mut(node, unit) = value;
            }
        }
        phi = next;
    }
    Some(slopes)
}

/// `Φ̂(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ`.
fn backward(instance: &Instance, representation: usize, phi: &Dense) -> Dense {
    let layer = &instance.layers[representation - 1];
    let mut hat = Dense::zeros(layer.columns(), layer.inputs());
    for term in &layer.terms {
        for &(row, column, value) in &term.passing.entries {
            for input in 0..hat.columns {
                let product: f64 = phi.row(row).iter().zip(term.weight.row(input)).map(|(phi, w)| phi * w).sum();
                *hat.at_mut(column, input) += value * product;
            }
        }
    }
    hat
}
