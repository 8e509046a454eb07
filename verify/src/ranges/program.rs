//! The MILP of moved attributes, whose optimum is the smallest margin itself.
//!
//! A binary says of each entry whether it is changed (`c_n_d`); by how much (`d_n_d`) is a number between the ends of
//! its range times that binary.

use crate::matrix::Dense;
use crate::mixed::{FirstLayer, MixedModel, unit_terms};
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
    /// The program.
    pub mixed: MixedModel,
    entries: Vec<Entry>,
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
}

/// The smallest margin as a program.
pub fn mixed_program(instance: &RangeInstance) -> RangeModel {
    let mut program = Program::default();
    let entries = moves(instance, &mut program);
    let (layer, columns) = (&instance.layers[0], instance.values.columns);
    // What entries contribute beyond their own values.
    let mut inputs = vec![None; instance.values.rows * columns];
    entries.iter().for_each(|of| inputs[of.node * columns + of.attribute] = Some(of.shift));
    let constant = layer.pre_activations(&instance.values);
    let first = FirstLayer { constant, terms: unit_terms(layer, &inputs), boxes: instance.first() };
    let mut mixed = MixedModel::new(program, &instance.layers, first);
    mixed.set_objective(&instance.objective);
    RangeModel { mixed, entries }
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
