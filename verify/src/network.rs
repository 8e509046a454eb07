//! The MILP of the true network, whose optimum is the worst case `m` itself, and the check of its perturbation.

use crate::formulation::{self, Form, Model, Unit};
use crate::instance::{Flip, Instance};
use crate::solver::Answer;
use crate::validity::InstanceError;

/// Binary `X̃` and, for each unstable unit, an indicator `z` (`on_l_n_j`) with the tight big-M that `R` and `S` allow:
/// `H ≤ S z` (`off_…`) and `H ≤ Ĥ - R (1 - z)` (`linear_…`) beside `H ≥ 0` and `H ≥ Ĥ`. Linear units need neither.
///
/// With wrong `R` and `S` this is the wrong program: compare them with [`Instance::naive_bounds`] if you doubt them.
pub fn mixed_program(instance: &Instance, form: Form) -> Result<Model, InstanceError> {
    let mut model = formulation::build(instance, form, true)?;
    add_indicators(&mut model, instance);
    Ok(model)
}

/// Adds the indicators to a model with binary `X̃`. The chords of the relaxation may stay: they hold for the network
/// too (docs/math.md §14).
pub fn add_indicators(model: &mut Model, instance: &Instance) {
    let units: Vec<_> = model.units().collect();
    for (representation, node, unit, kind) in units {
        if let Unit::Unstable { pre, post, .. } = kind {
            let r = instance.lower[representation - 2].at(node, unit);
            let s = instance.upper[representation - 2].at(node, unit);
            let name = format!("{representation}_{node}_{unit}");
            let program = &mut model.program;
            let on = program.add_variable(format!("on_{name}"), 0.0, 1.0);
            program.variables[on].integer = true;
            program.add_row(format!("off_{name}"), f64::NEG_INFINITY, 0.0, [(post, 1.0), (on, -s)]);
            let linear = [(post, 1.0), (pre, -1.0), (on, -r)];
            program.add_row(format!("linear_{name}"), f64::NEG_INFINITY, -r, linear);
        }
    }
}

/// Adds to each unstable unit of representation 2 a second upper side, exact at the unperturbed graph (`anchor_2_n_j`)
/// (docs/math.md (5.3)).
///
/// With `z⁰` the unperturbed pre-activation and `g_i` the change by flip `i` (by all terms together),
/// `u = Σ [g_i]₊ δ_i`, `v = Σ [g_i]₋ δ_i`: `relu(z⁰ + u − v) ≤ relu(z⁰) + α u − θ v`, where
/// `z⁰ ≥ 0: α = 1, θ = z⁰/(z⁰−R)` and `z⁰ < 0: α = S/(S−z⁰), θ = 0`. For subsets of admissible flips are admissible, so
/// `z⁰ − v ≥ R` and `z⁰ + u ≤ S`; relu is 1-Lipschitz in the rise, and under its chord in the rest. The network obeys
/// these rows, the paper's relaxation does not: they make the MILP's tree small. They widen nothing, but a model with
/// them no longer is the paper's LP.
pub fn add_anchors(model: &mut Model, instance: &Instance) {
    let Some((lower, upper)) = instance.lower.first().zip(instance.upper.first()) else {
        return;
    };
    let base = instance.pre_activations(&[]).swap_remove(0);
    let layer = &instance.layers[0];
    let flippable: Vec<Vec<u32>> = (0..instance.nodes()).map(|node| instance.flippable(node)).collect();
    let links = layer.links();
    let units: Vec<_> = model.units().filter(|unit| unit.0 == 2).collect();
    for (_, node, unit, kind) in units {
        let Unit::Unstable { post, .. } = kind else {
            continue;
        };
        let (z, r, s) = (base.at(node, unit), lower.at(node, unit), upper.at(node, unit));
        let (alpha, theta) = if z >= 0.0 { (1.0, z / (z - r)) } else { (s / (s - z), 0.0) };
        let (mut terms, mut side) = (vec![(post, 1.0)], z.max(0.0));
        for link in &links[node] {
            for &attribute in &flippable[link.node] {
                let coefficient = layer.coefficient(link, attribute as usize, unit);
                let present = instance.has(link.node, attribute);
                let change = if present { -coefficient } else { coefficient };
                let slope = if change > 0.0 { alpha * change } else { theta * change };
                // δ is X̃ where the attribute is absent and 1 − X̃ where it is present.
                let variable = model.attribute(link.node, attribute);
                terms.push((variable, if present { slope } else { -slope }));
                side += if present { slope } else { 0.0 };
            }
        }
        // What the sums above may be off by, so that no honest point is cut off.
        let rounding = 1e-12 * (1.0 + z.abs() + s - r);
        model.program.add_row(format!("anchor_2_{node}_{unit}"), f64::NEG_INFINITY, side + rounding, terms);
    }
}

/// The perturbation in a solver's answer, judged by us: the solver's own objective value plays no part.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The flips read off `X̃`.
    pub flips: Vec<Flip>,
    /// Whether they keep to the budgets and the frozen entries.
    pub admissible: bool,
    /// The margin of the true network after them, by [`Instance::forward`]. An upper bound of `m` if admissible.
    pub margin: f64,
}

/// Reads the incumbent of an answer to any of the models; `None` when the answer has no point.
pub fn incumbent(model: &Model, instance: &Instance, answer: &Answer) -> Option<Incumbent> {
    let flips = model.flips(instance, answer.values.as_ref()?);
    let admissible = instance.admits(&flips);
    let margin = instance.forward(&flips);
    Some(Incumbent { flips, admissible, margin })
}
