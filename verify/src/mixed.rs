//! The MILP of a network above its first layer: a unit that may be on either side of 0 has an indicator with the big-M
//! of its bounds. Without integrality the indicators leave the triangle of the unit.

use crate::bounds::interval_layer;
use crate::layer::Layer;
use crate::matrix::Dense;
use crate::program::Program;

/// The smallest and the largest value of each number of a representation.
pub(crate) struct Boxes {
    pub(crate) lower: Dense,
    pub(crate) upper: Dense,
}

/// The pre-activations of the first layer: constants and terms in variables, by node and unit, and their bounds.
pub(crate) struct FirstLayer {
    pub(crate) constant: Dense,
    pub(crate) terms: Vec<Vec<(usize, f64)>>,
    pub(crate) boxes: Boxes,
}

/// The smallest margin as a program.
#[derive(Clone, Debug)]
pub struct MixedModel {
    /// Minimise the margin.
    pub program: Program,
    /// The variables of the logits.
    logits: Vec<usize>,
    indicators: Vec<usize>,
}

impl MixedModel {
    /// The network on its first layer, in a program that has the variables of the attacker.
    pub(crate) fn new(mut program: Program, layers: &[Layer], first: FirstLayer) -> MixedModel {
        let (mut logits, mut indicators) = (Vec::new(), Vec::new());
        let FirstLayer { mut constant, mut terms, mut boxes } = first;
        for (index, layer) in layers.iter().enumerate() {
            let last = index + 1 == layers.len();
            // What a unit sends on: a variable, or nothing where it is always 0.
            let mut sent: Vec<Option<usize>> = Vec::new();
            boxes = boxes.with_room();
            for (at, mut terms) in terms.into_iter().enumerate() {
                let (row, unit) = (at / layer.units(), at % layer.units());
                let (lower, upper) = (boxes.lower.at(row, unit), boxes.upper.at(row, unit));
                let name = format!("{}_{row}_{unit}", index + 2);
                // Wider than what can be, so that no optimum touches them.
                let room = 1e-3 * (1.0 + lower.abs() + upper.abs());
                let z = program.add_variable(format!("z_{name}"), lower - room, upper + room);
                terms.iter_mut().for_each(|term| term.1 = -term.1);
                terms.push((z, 1.0));
                let constant = constant.at(row, unit);
                program.add_row(format!("pre_{name}"), constant, constant, terms);
                sent.push(match () {
                    () if last || layer.is_linear(unit) || lower >= 0.0 => Some(z),
                    () if upper <= 0.0 => None,
                    () => {
                        let unit = activated(&mut program, z, [lower, upper], &name);
                        indicators.push(unit.indicator);
                        Some(unit.value)
                    }
                });
                logits.extend(last.then_some(z));
            }
            let Some(next) = layers.get(index + 1) else { break };
            constant = next.pre_activations(&Dense::zeros(next.columns(), next.inputs()));
            let (lower, upper) = interval_layer(next, &layer.activated(&boxes.lower), &layer.activated(&boxes.upper));
            boxes = Boxes { lower, upper };
            terms = unit_terms(next, &sent);
        }
        MixedModel { program, logits, indicators }
    }

    /// The same program without integrality: the LP.
    pub fn relaxed(&self) -> MixedModel {
        let mut relaxed = self.clone();
        relaxed.program.variables.iter_mut().for_each(|variable| variable.integer = false);
        relaxed
    }

    /// The same program with relaxed units: the ILP.
    pub fn with_relaxed_units(&self) -> MixedModel {
        let mut relaxed = self.clone();
        self.indicators.iter().for_each(|&at| relaxed.program.variables[at].integer = false);
        relaxed
    }

    /// Asks about another pair of classes.
    pub fn set_objective(&mut self, objective: &[f64]) {
        for (&variable, &c) in self.logits.iter().zip(objective) {
            self.program.variables[variable].objective = c;
        }
    }

    /// How many variables have to be integers.
    pub fn integers(&self) -> usize {
        self.program.variables.iter().filter(|variable| variable.integer).count()
    }
}

/// The terms of the units of a layer in the variables of its inputs, by node and unit.
pub(crate) fn unit_terms(layer: &Layer, inputs: &[Option<usize>]) -> Vec<Vec<(usize, f64)>> {
    let mut all = Vec::new();
    for links in layer.links() {
        for unit in 0..layer.units() {
            let mut terms = Vec::new();
            for link in &links {
                for input in 0..layer.inputs() {
                    let variable = inputs[link.node * layer.inputs() + input];
                    terms.extend(variable.map(|at| (at, layer.coefficient(link, input, unit))));
                }
            }
            all.push(terms);
        }
    }
    all
}

impl Boxes {
    /// Plain f64, with room for its rounding.
    fn with_room(mut self) -> Boxes {
        let room = |x: f64| 1e-9 * (1.0 + x.abs());
        self.lower.values.iter_mut().for_each(|x| *x -= room(*x));
        self.upper.values.iter_mut().for_each(|x| *x += room(*x));
        self
    }
}

/// An activation in the program.
struct Activated {
    value: usize,
    indicator: usize,
}

/// A unit that may be on either side of 0.
fn activated(program: &mut Program, z: usize, [lower, upper]: [f64; 2], name: &str) -> Activated {
    let value = program.add_variable(format!("h_{name}"), 0.0, upper);
    let indicator = program.add_variable(format!("on_{name}"), 0.0, 1.0);
    program.variables[indicator].integer = true;
    program.add_row(format!("above_{name}"), 0.0, f64::INFINITY, [(value, 1.0), (z, -1.0)]);
    program.add_row(format!("off_{name}"), f64::NEG_INFINITY, 0.0, [(value, 1.0), (indicator, -upper)]);
    let rest = [(value, 1.0), (z, -1.0), (indicator, -lower)];
    program.add_row(format!("linear_{name}"), f64::NEG_INFINITY, -lower, rest);
    Activated { value, indicator }
}
