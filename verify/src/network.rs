//! The room of the true network: the MILP whose optimum is the worst case `m` itself.

use crate::formulation::{self, Form, Model, Unit};
use crate::instance::{Flip, Instance};
use crate::solver::Answer;
use crate::validity::InstanceError;

/// Binary `X̃` and, for each unstable unit, an indicator `z` (`on_l_n_j`) with the tight big-M that `R` and `S` allow:
/// `H ≤ S z` (`off_…`) and `H ≤ Ĥ - R (1 - z)` (`linear_…`) beside `H ≥ 0` and `H ≥ Ĥ`.
///
/// With wrong `R` and `S` this is the wrong program: compare them with [`Instance::naive_bounds`] if you doubt them.
pub fn mixed_program(instance: &Instance, form: Form) -> Result<Model, InstanceError> {
    let mut model = formulation::build(instance, form, true)?;
    add_indicators(&mut model, instance);
    Ok(model)
}

/// Adds the indicators to a model with binary `X̃`. The chords of the relaxation may stay: they hold for the network too.
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
