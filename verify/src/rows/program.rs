//! The MILP of changed rows, whose optimum is the smallest margin itself.
//!
//! A binary says of each change whether it is made (`c_n_i`). Where entries depend on how many ones a row has, a binary
//! says of each number whether it is that (`y_n_k`), and what the row sends along a column of weights is split by these
//! cases: the sum of weights in case `k` (`t_n_j_k`) is between its bounds times that binary, and counts with the entry
//! of that case.

use crate::matrix::Dense;
use crate::mixed::{Boxes, FirstLayer, MixedModel};
use crate::program::Program;

use super::instance::RowInstance;

/// The program, and where the changes are in it.
#[derive(Clone, Debug)]
pub struct RowModel {
    /// The program.
    pub mixed: MixedModel,
    /// The variables of the changes that may be made, by their places.
    changes: Vec<(usize, usize)>,
}

impl RowModel {
    /// The changes that a point makes.
    pub fn made(&self, values: &[f64]) -> Vec<usize> {
        self.changes.iter().filter(|(_, variable)| values[*variable] > 0.5).map(|change| change.0).collect()
    }
}

/// A number as a constant and terms in variables, and its bounds.
#[derive(Clone, Debug, Default)]
struct Affine {
    constant: f64,
    terms: Vec<(usize, f64)>,
    bounds: [f64; 2],
}

/// The smallest margin as a program.
pub fn mixed_program(instance: &RowInstance) -> RowModel {
    let mut program = Program::default();
    let changes = changes(instance, &mut program);
    let layer = &instance.layers[0];
    let columns: Vec<(usize, usize)> =
        (0..layer.terms.len()).flat_map(|term| (0..layer.units()).map(move |unit| (term, unit))).collect();
    let sent: Vec<Vec<Affine>> =
        (0..instance.bits.rows).map(|node| send(instance, &mut program, &changes, &columns, node)).collect();
    let constant = layer.pre_activations(&Dense::zeros(layer.columns(), layer.inputs()));
    let (lower, upper) = (constant.clone(), constant.clone());
    let mut first = FirstLayer { constant, terms: Vec::new(), boxes: Boxes { lower, upper } };
    for (row, links) in layer.links().iter().enumerate() {
        for unit in 0..layer.units() {
            let mut terms = Vec::new();
            for (node, &(term, a)) in links.iter().flat_map(|link| link.entries.iter().map(|entry| (link.node, entry)))
            {
                let of = &sent[node][term * layer.units() + unit];
                *first.constant.at_mut(row, unit) += a * of.constant;
                terms.extend(of.terms.iter().map(|&(variable, c)| (variable, a * c)));
                let [least, most] = of.bounds.map(|bound| a * bound);
                *first.boxes.lower.at_mut(row, unit) += least.min(most);
                *first.boxes.upper.at_mut(row, unit) += least.max(most);
            }
            first.terms.push(terms);
        }
    }
    let mut mixed = MixedModel::new(program, &instance.layers, first);
    mixed.set_objective(&instance.objective);
    RowModel { mixed, changes }
}

/// Which changes are made; groups and budgets.
fn changes(instance: &RowInstance, program: &mut Program) -> Vec<(usize, usize)> {
    let mut made = Vec::new();
    for (at, change) in instance.changes.iter().enumerate() {
        if instance.local_budget[change.node].min(instance.global_budget) > 0 {
            let variable = program.add_variable(format!("c_{}_{at}", change.node), 0.0, 1.0);
            program.variables[variable].integer = true;
            made.push((at, variable));
        }
    }
    let mut most = |name: String, of: Vec<usize>, most: usize| {
        if of.len() > most {
            program.add_row(name, f64::NEG_INFINITY, most as f64, of.into_iter().map(|variable| (variable, 1.0)));
        }
    };
    let which = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
        made.iter().filter(|(at, _)| wanted(*at)).map(|change| change.1).collect()
    };
    for node in 0..instance.bits.rows {
        let own = |at: usize| instance.changes[at].node == node;
        most(format!("local_{node}"), which(&own), instance.local_budget[node]);
        let mut groups: Vec<usize> =
            made.iter().filter(|(at, _)| own(*at)).filter_map(|(at, _)| instance.changes[*at].group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let of_group = which(&|at| own(at) && instance.changes[at].group == Some(group));
            most(format!("group_{node}_{group}"), of_group, 1);
        }
    }
    most("global".into(), which(&|_| true), instance.global_budget);
    made
}

/// What a row sends along columns of weights.
fn send(
    instance: &RowInstance,
    program: &mut Program,
    changes: &[(usize, usize)],
    columns: &[(usize, usize)],
    node: usize,
) -> Vec<Affine> {
    let own: Vec<(usize, usize)> = changes.iter().copied().filter(|of| instance.changes[of.0].node == node).collect();
    let most = instance.local_budget[node].min(instance.global_budget);
    let summed = columns.iter().map(|&(term, unit)| {
        let weight = |d: usize| instance.layers[0].terms[term].weight.at(d, unit);
        let bits = instance.bits.row(node).iter().enumerate();
        let constant: f64 = bits.map(|(d, bit)| bit * weight(d)).sum();
        let change = |&(at, variable): &(usize, usize)| {
            (variable, instance.changes[at].parts().map(|(d, by)| by * weight(d)).sum::<f64>())
        };
        let terms: Vec<(usize, f64)> = own.iter().map(change).collect();
        let reach = |sign: f64| {
            let mut gains: Vec<f64> = terms.iter().map(|term| (sign * term.1).max(0.0)).collect();
            gains.sort_by(|x, y| y.total_cmp(x));
            gains.iter().take(most).sum::<f64>()
        };
        Affine { constant, bounds: [constant - reach(-1.0), constant + reach(1.0)], terms }
    });
    let summed: Vec<Affine> = summed.collect();
    let count = instance.count(node);
    if instance.scales.is_empty() || own.is_empty() {
        let scale = instance.scale(count);
        let scaled = |of: Affine| Affine {
            constant: scale * of.constant,
            terms: of.terms.iter().map(|&(variable, c)| (variable, scale * c)).collect(),
            bounds: of.bounds.map(|bound| scale * bound),
        };
        return summed.into_iter().map(scaled).collect();
    }
    let more = |wanted: i64| own.iter().filter(|of| instance.changes[of.0].more() == wanted).count().min(most);
    let cases: Vec<(usize, usize)> = (count - more(-1).min(count)..=count + more(1))
        .map(|k| {
            let variable = program.add_variable(format!("y_{node}_{k}"), 0.0, 1.0);
            program.variables[variable].integer = true;
            (k, variable)
        })
        .collect();
    program.add_row(format!("case_{node}"), 1.0, 1.0, cases.iter().map(|case| (case.1, 1.0)));
    let counted = cases.iter().map(|&(k, variable)| (variable, k as f64));
    let moved = own.iter().map(|&(at, variable)| (variable, -instance.changes[at].more() as f64));
    program.add_row(format!("count_{node}"), count as f64, count as f64, counted.chain(moved));
    let split = summed.into_iter().enumerate().map(|(j, of)| {
        let [least, most] = of.bounds;
        // Far more than the solvers' tolerance: sums that cannot change have boxes, too.
        let room = 1e-6 * (1.0 + least.abs().max(most.abs()));
        let (least, most) = (least - room, most + room);
        let (mut whole, mut sent) =
            (Vec::new(), Affine { bounds: [f64::INFINITY, f64::NEG_INFINITY], ..Affine::default() });
        for &(k, case) in &cases {
            let name = format!("{node}_{j}_{k}");
            let t = program.add_variable(format!("t_{name}"), least.min(0.0), most.max(0.0));
            program.add_row(format!("most_{name}"), f64::NEG_INFINITY, 0.0, [(t, 1.0), (case, -most)]);
            program.add_row(format!("least_{name}"), 0.0, f64::INFINITY, [(t, 1.0), (case, -least)]);
            whole.push((t, 1.0));
            sent.terms.push((t, instance.scale(k)));
            sent.bounds[0] = sent.bounds[0].min(instance.scale(k) * least);
            sent.bounds[1] = sent.bounds[1].max(instance.scale(k) * most);
        }
        whole.extend(of.terms.iter().map(|&(variable, c)| (variable, -c)));
        program.add_row(format!("whole_{node}_{j}"), of.constant, of.constant, whole);
        sent
    });
    split.collect()
}
