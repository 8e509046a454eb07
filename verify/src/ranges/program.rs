//! The MILP of moved attributes, whose optimum is the smallest margin itself.
//!
//! A binary says of each entry whether it is changed (`c_n_d`); by how much (`d_n_d`) is a number between the ends of
//! its range times that binary. A unit that may be on either side of 0 has an indicator with the big-M of its bounds.
//! Without integrality the indicators leave the triangle of the unit: that is the LP.

use crate::matrix::Dense;
use crate::program::Program;

use super::instance::RangeInstance;

/// An entry that may be moved.
#[derive(Clone, Copy, Debug)]
struct Entry {
    node: usize,
    attribute: usize,
    shift: usize,
    changed: usize,
}

/// The program, and where the moves are in it.
#[derive(Clone, Debug)]
pub struct RangeModel {
    /// Minimise the margin.
    pub program: Program,
    entries: Vec<Entry>,
    /// The variables of the logits.
    logits: Vec<usize>,
}

impl RangeModel {
    /// The attributes at a point, inside their ranges.
    pub fn moved(&self, instance: &RangeInstance, values: &[f64]) -> Dense {
        let mut moved = instance.values.clone();
        for of in self.entries.iter().filter(|of| values[of.changed] > 0.5) {
            let [low, high] = [&instance.low, &instance.high].map(|limits| limits.at(of.node, of.attribute));
            let x = moved.at_mut(of.node, of.attribute);
            *x = (*x + values[of.shift]).clamp(low, high);
        }
        moved
    }

    /// The same program without integrality: the LP.
    pub fn relaxed(&self) -> RangeModel {
        let mut relaxed = self.clone();
        relaxed.program.variables.iter_mut().for_each(|variable| variable.integer = false);
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

/// What a number of a representation is in the program: a variable, or nothing where it is always 0.
type Inputs = Vec<Option<usize>>;

/// The smallest margin as a program.
pub fn mixed_program(instance: &RangeInstance) -> RangeModel {
    let mut program = Program::default();
    let entries = moves(instance, &mut program);
    let columns = instance.values.columns;
    // What entries contribute beyond their own values.
    let mut inputs: Inputs = vec![None; instance.values.rows * columns];
    entries.iter().for_each(|of| inputs[of.node * columns + of.attribute] = Some(of.shift));
    let mut logits = Vec::new();
    for (index, (layer, boxes)) in instance.layers.iter().zip(instance.bounds()).enumerate() {
        let constant = match index {
            0 => layer.pre_activations(&instance.values),
            _ => layer.pre_activations(&Dense::zeros(layer.columns(), layer.inputs())),
        };
        let last = index + 1 == instance.layers.len();
        let mut next: Inputs = Vec::new();
        for (row, links) in layer.links().iter().enumerate() {
            for unit in 0..layer.units() {
                let (lower, upper) = (boxes.lower.at(row, unit), boxes.upper.at(row, unit));
                let name = format!("{}_{row}_{unit}", index + 2);
                // Wider than what can be, so that no optimum touches them.
                let room = 1e-3 * (1.0 + lower.abs() + upper.abs());
                let z = program.add_variable(format!("z_{name}"), lower - room, upper + room);
                let mut terms = vec![(z, 1.0)];
                for link in links {
                    for input in 0..layer.inputs() {
                        let variable = inputs[link.node * layer.inputs() + input];
                        terms.extend(variable.map(|at| (at, -layer.coefficient(link, input, unit))));
                    }
                }
                let constant = constant.at(row, unit);
                program.add_row(format!("pre_{name}"), constant, constant, terms);
                next.push(match () {
                    () if last || layer.is_linear(unit) || lower >= 0.0 => Some(z),
                    () if upper <= 0.0 => None,
                    () => Some(activated(&mut program, z, [lower, upper], &name)),
                });
                logits.extend(last.then_some(z));
            }
        }
        inputs = next;
    }
    let mut model = RangeModel { program, entries, logits };
    model.set_objective(&instance.objective);
    model
}

/// Which entries are changed, and by how much; the budgets.
fn moves(instance: &RangeInstance, program: &mut Program) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for node in 0..instance.values.rows {
        let start = entries.len();
        for attribute in (0..instance.values.columns).filter(|&d| instance.may_move(node, d)) {
            let x = instance.values.at(node, attribute);
            let (low, high) = (instance.low.at(node, attribute) - x, instance.high.at(node, attribute) - x);
            let name = format!("{node}_{attribute}");
            let shift = program.add_variable(format!("d_{name}"), low, high);
            let changed = program.add_variable(format!("c_{name}"), 0.0, 1.0);
            program.variables[changed].integer = true;
            let none = f64::NEG_INFINITY;
            program.add_row(format!("rise_{name}"), none, 0.0, [(shift, 1.0), (changed, -high)]);
            program.add_row(format!("fall_{name}"), none, 0.0, [(shift, -1.0), (changed, low)]);
            entries.push(Entry { node, attribute, shift, changed });
        }
        budget(program, format!("local_{node}"), &entries[start..], instance.local_budget[node]);
    }
    budget(program, "global".into(), &entries, instance.global_budget);
    entries
}

fn budget(program: &mut Program, name: String, entries: &[Entry], most: usize) {
    if entries.len() > most {
        program.add_row(name, f64::NEG_INFINITY, most as f64, entries.iter().map(|of| (of.changed, 1.0)));
    }
}

/// A unit that may be on either side of 0.
fn activated(program: &mut Program, z: usize, [lower, upper]: [f64; 2], name: &str) -> usize {
    let h = program.add_variable(format!("h_{name}"), 0.0, upper);
    let on = program.add_variable(format!("on_{name}"), 0.0, 1.0);
    program.variables[on].integer = true;
    program.add_row(format!("above_{name}"), 0.0, f64::INFINITY, [(h, 1.0), (z, -1.0)]);
    program.add_row(format!("off_{name}"), f64::NEG_INFINITY, 0.0, [(h, 1.0), (on, -upper)]);
    program.add_row(format!("linear_{name}"), f64::NEG_INFINITY, -lower, [(h, 1.0), (z, -1.0), (on, -lower)]);
    h
}
