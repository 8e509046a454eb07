//! What the LP, the ILP and the MILP have in common: variables `X̃`, `ε̂`, `Ĥ`, `H` and the rows between them.
//!
//! The names are those of the paper's appendix; `n` is the place of a node in the instance, from 0. Rows: `Phi_l_n_j`
//! (the layer's equation), `gamma_plus_n_d`, `gamma_minus_n_d` (`ε̂ ≥ |X̃ - X|`), `local_eta_n`, `global_rho` (the
//! budgets), `mu_l_n_j` (`H ≥ Ĥ`). Three families of constraints are boxes, so their duals are reduced costs: ε⁺
//! (`X̃ ≤ 1`), ε⁻ (`X̃ ≥ 0`), τ (`H ≥ 0`). Units that are never or always active are eliminated, as the appendix says,
//! and so are linear ones, which have no activation: `H = Ĥ`, no relaxation and no binary. A layer of several terms has
//! one equation per unit like any other, its coefficients summed. All other boxes are wide enough never to bind: they
//! cut nothing off the paper's program and carry no dual.

use crate::bounds::{first_layer, interval_layer};
use crate::instance::{Flip, Instance};
use crate::matrix::Dense;
use crate::program::Program;
use crate::validity::InstanceError;

/// Two ways to write the attacker, with the same optimum of the LP, of the ILP and of the MILP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As the paper's appendix does: `X̃` and `ε̂ ≥ |X̃ - X|`, with the rows γ⁺ and γ⁻.
    #[default]
    Appendix,
    /// Without `ε̂`: as `X` is binary and `0 ≤ X̃ ≤ 1`, `|X̃ - X|` is linear (`X̃` or `1 - X̃`) and goes into the
    /// budgets itself. Half the variables, next to no rows, much faster to solve: for problems of real size.
    Compact,
}

/// What became of a hidden unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `S ≤ 0` (the paper's `I₋`): `H = 0`, no variable.
    Off,
    /// `0 ≤ R` (`I₊`): `H = Ĥ`, one variable for both. A unit with `R = 0 < S` is here.
    Active {
        /// The variable.
        pre: usize,
    },
    /// No activation: `H = Ĥ` of either sign, one variable for both, exactly, whatever `R` and `S` are.
    Linear {
        /// The variable.
        pre: usize,
    },
    /// `R < 0 < S` (`I`).
    Unstable {
        /// The variable `Ĥ`.
        pre: usize,
        /// The variable `H`, with `τ` as its lower side.
        post: usize,
        /// The row `H - Ĥ ≥ 0`.
        mu: usize,
    },
}

/// A program together with the meaning of its variables.
#[derive(Clone, Debug)]
pub struct Model {
    /// The program itself.
    pub program: Program,
    dimension: usize,
    /// Per hidden representation, row-major over nodes and units.
    hidden: Vec<Vec<Unit>>,
    widths: Vec<usize>,
    /// The first row `Phi` of each representation `2 … L`; the others follow, row-major.
    equations: Vec<usize>,
    /// The variables `Ĥ(L)`.
    logits: std::ops::Range<usize>,
}

impl Model {
    /// Everything but the program.
    pub(crate) fn without_program(&self) -> Model {
        Model {
            program: Program::default(),
            dimension: self.dimension,
            hidden: self.hidden.clone(),
            widths: self.widths.clone(),
            equations: self.equations.clone(),
            logits: self.logits.clone(),
        }
    }

    /// The variables `Ĥ(L)`, one per class: a model serves every class pair of its target, for only the objective
    /// differs.
    pub fn logits(&self) -> std::ops::Range<usize> {
        self.logits.clone()
    }

    /// The variable `X̃_nd`.
    pub fn attribute(&self, node: usize, attribute: u32) -> usize {
        node * self.dimension + attribute as usize
    }

    /// What became of unit `unit` of node `node` in representation `representation` (2 … L-1).
    pub fn unit(&self, representation: usize, node: usize, unit: usize) -> Unit {
        self.hidden[representation - 2][node * self.widths[representation - 2] + unit]
    }

    /// The first of the rows `Phi` of a representation (2 … L); the others follow it, row-major over nodes and units.
    pub fn first_equation(&self, representation: usize) -> usize {
        self.equations[representation - 2]
    }

    /// All hidden units as `(representation, node, unit, what became of it)`.
    pub fn units(&self) -> impl Iterator<Item = (usize, usize, usize, Unit)> + '_ {
        self.hidden.iter().zip(&self.widths).enumerate().flat_map(|(index, (units, &width))| {
            units.iter().enumerate().map(move |(at, &unit)| (index + 2, at / width, at % width, unit))
        })
    }

    /// The flips of a point, `X̃` rounded to the nearer of 0 and 1.
    pub fn flips(&self, instance: &Instance, values: &[f64]) -> Vec<Flip> {
        let mut flips = Vec::new();
        for node in 0..instance.nodes() {
            for attribute in 0..self.dimension as u32 {
                if (values[self.attribute(node, attribute)] > 0.5) != instance.has(node, attribute) {
                    flips.push((node, attribute));
                }
            }
        }
        flips
    }

    /// How many entries of `X̃` are further than `tolerance` from 0 and from 1.
    pub fn fractional(&self, instance: &Instance, values: &[f64], tolerance: f64) -> usize {
        let entries = &values[..instance.nodes() * self.dimension];
        entries.iter().filter(|&&value| value.min(1.0 - value) > tolerance).count()
    }
}

/// How many coefficients the rows `Phi` of all layers have, at most: ask before building, it is `O(|A|·D·h)` for each
/// term. Fewer where several terms read the same node.
pub fn predicted_nonzeros(instance: &Instance) -> usize {
    let terms = instance.layers.iter().flat_map(|layer| &layer.terms);
    terms.fold(0, |sum, term| {
        let block = term.weight.rows.saturating_mul(term.weight.columns);
        sum.saturating_add(term.passing.entries.len().saturating_mul(block))
    })
}

/// Builds the common part; `integer` makes `X̃` binary.
pub(crate) fn build(instance: &Instance, form: Form, integer: bool) -> Result<Model, InstanceError> {
    instance.validate()?;
    let mut model = Model {
        program: Program::default(),
        dimension: instance.dimension,
        hidden: Vec::new(),
        widths: Vec::new(),
        equations: Vec::new(),
        logits: 0..0,
    };
    perturbation(instance, form, integer, &mut model.program);

    // Boxes of Ĥ: what the relaxation's own constraints imply, and then one more. They do not come from R and S, which
    // may be tighter than the relaxation is.
    let (mut lower, mut upper) = first_layer(instance);
    for (index, layer) in instance.layers.iter().enumerate() {
        let representation = index + 2;
        let first = model.program.variables.len();
        for node in 0..layer.rows() {
            for unit in 0..layer.units() {
                let (low, high) = (widened_down(lower.at(node, unit)), widened_up(upper.at(node, unit)));
                model.program.add_variable(format!("hhat_{representation}_{node}_{unit}"), low, high);
            }
        }
        model.equations.push(model.program.rows.len());
        equations(instance, index, first, &mut model);
        if let Some(next) = instance.layers.get(index + 1) {
            (lower, upper) = hidden(instance, index, first, &lower, &upper, &mut model);
            (lower, upper) = interval_layer(next, &lower, &upper);
        } else {
            model.logits = first..first + layer.units();
            for (class, &c) in instance.objective.iter().enumerate() {
                model.program.variables[first + class].objective = c;
            }
        }
    }
    Ok(model)
}

/// `X̃`, `ε̂` and the rows γ⁺, γ⁻, η, ρ. An entry that may not be flipped is fixed by its box and has no rows.
fn perturbation(instance: &Instance, form: Form, integer: bool, program: &mut Program) {
    let entries = || (0..instance.nodes()).flat_map(|n| (0..instance.dimension as u32).map(move |d| (n, d)));
    for (node, attribute) in entries() {
        let x = f64::from(u8::from(instance.has(node, attribute)));
        let (low, high) = if instance.may_flip(node, attribute) { (0.0, 1.0) } else { (x, x) };
        let at = program.add_variable(format!("x_{node}_{attribute}"), low, high);
        program.variables[at].integer = integer;
    }
    // Per node how |X̃ - X| is written, `constant + Σ coefficient · variable`, and how many entries may be flipped.
    let mut distances = vec![(0.0, Vec::new(), 0); instance.nodes()];
    for (at, (node, attribute)) in entries().enumerate() {
        let (present, free) = (instance.has(node, attribute), instance.may_flip(node, attribute));
        let (constant, terms, count) = &mut distances[node];
        *count += usize::from(free);
        match form {
            Form::Appendix => terms.extend(change(program, at, present, free, &format!("{node}_{attribute}"))),
            Form::Compact if free => {
                *constant += if present { 1.0 } else { 0.0 };
                terms.push((at, if present { -1.0 } else { 1.0 }));
            }
            Form::Compact => {}
        }
    }
    let (mut constant, mut terms, mut count) = (0.0, Vec::new(), 0);
    for (node, (row_constant, row_terms, row_count)) in distances.into_iter().enumerate() {
        constant += row_constant;
        terms.extend(row_terms.iter().copied());
        count += row_count;
        if row_count > 0 {
            let budget = instance.local_budget[node].min(row_count) as f64;
            program.add_row(format!("local_eta_{node}"), f64::NEG_INFINITY, budget - row_constant, row_terms);
        }
    }
    if count > 0 {
        let budget = instance.global_budget.min(count) as f64;
        program.add_row("global_rho", f64::NEG_INFINITY, budget - constant, terms);
    }
}

/// `ε̂` of one entry with its rows γ⁺ and γ⁻; its term in the budgets, if it may be flipped.
fn change(program: &mut Program, entry: usize, present: bool, free: bool, name: &str) -> Option<(usize, f64)> {
    // In the paper ε̂ has no upper side. Any number above 1 never binds, and so never takes a dual away from ε⁺ or ε⁻.
    let change = program.add_variable(format!("change_{name}"), 0.0, if free { 2.0 } else { 0.0 });
    let x = if present { 1.0 } else { 0.0 };
    free.then(|| {
        program.add_row(format!("gamma_plus_{name}"), f64::NEG_INFINITY, x, [(entry, 1.0), (change, -1.0)]);
        program.add_row(format!("gamma_minus_{name}"), x, f64::INFINITY, [(entry, 1.0), (change, 1.0)]);
        (change, 1.0)
    })
}

/// The rows Φ: `Ĥ(l+1) - Σ_k A_k(l) H(l) W_k(l) = b(l)`.
fn equations(instance: &Instance, index: usize, first: usize, model: &mut Model) {
    let layer = &instance.layers[index];
    for (row, links) in layer.links().iter().enumerate() {
        for (unit, &bias) in layer.bias_of(row).iter().enumerate() {
            let mut terms = vec![(first + row * layer.units() + unit, 1.0)];
            for link in links {
                for input in 0..layer.inputs() {
                    let variable = match index {
                        0 => Some(model.attribute(link.node, input as u32)),
                        _ => match model.unit(index + 1, link.node, input) {
                            Unit::Off => None,
                            Unit::Active { pre } | Unit::Linear { pre } => Some(pre),
                            Unit::Unstable { post, .. } => Some(post),
                        },
                    };
                    terms.extend(variable.map(|variable| (variable, -layer.coefficient(link, input, unit))));
                }
            }
            model.program.add_row(format!("Phi_{}_{row}_{unit}", index + 2), bias, bias, terms);
        }
    }
}

/// Sorts the units of a hidden representation, adds `H` and the rows μ, and returns what `H` may be.
fn hidden(
    instance: &Instance,
    index: usize,
    first: usize,
    lower: &Dense,
    upper: &Dense,
    model: &mut Model,
) -> (Dense, Dense) {
    let representation = index + 2;
    let (r, s) = (&instance.lower[index], &instance.upper[index]);
    let (mut low, mut high) = (lower.clone(), upper.clone());
    let mut units = Vec::with_capacity(r.values.len());
    for (at, (&r, &s)) in r.values.iter().zip(&s.values).enumerate() {
        let pre = first + at;
        let unit = if instance.layers[index].is_linear(at % upper.columns) {
            Unit::Linear { pre }
        } else if s <= 0.0 {
            (low.values[at], high.values[at]) = (0.0, 0.0);
            Unit::Off
        } else if r >= 0.0 {
            Unit::Active { pre }
        } else {
            let (node, unit) = (at / upper.columns, at % upper.columns);
            // The chord at the largest Ĥ that the constraints allow.
            let top = (s * (upper.values[at] - r) / (s - r)).max(upper.values[at]).max(0.0);
            (low.values[at], high.values[at]) = (0.0, top);
            let name = format!("{representation}_{node}_{unit}");
            let post = model.program.add_variable(format!("h_{name}"), 0.0, widened_up(top));
            let mu = model.program.add_row(format!("mu_{name}"), 0.0, f64::INFINITY, [(post, 1.0), (pre, -1.0)]);
            Unit::Unstable { pre, post, mu }
        };
        units.push(unit);
    }
    model.hidden.push(units);
    model.widths.push(upper.columns);
    (low, high)
}

fn widened_up(value: f64) -> f64 {
    value + 1.0 + 1e-6 * value.abs()
}

fn widened_down(value: f64) -> f64 {
    value - 1.0 - 1e-6 * value.abs()
}
