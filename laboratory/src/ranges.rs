//! Attributes that are moved within ranges: the problem of one target as plain data for `gcnproof-verify`, and the
//! numbers of its class pairs.

use gcnproof::Ranges;
use gcnproof::internals::bound::prepared::Prepared;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::problem::slice::Slice;
use gcnproof_results::record::pair::PairRecord;
use gcnproof_run::ours;
use gcnproof_verify::Dense;
use gcnproof_verify::ranges::{RangeInstance, mixed_program};

use crate::instance::plain_layers;
use crate::mixed::ask_solvers;
use crate::settings::Settings;

/// The problem of a node; its objective is that of no pair. Nothing where attributes are flipped.
pub fn range_instance(prepared: &Prepared, node: usize) -> Option<RangeInstance> {
    let (network, graph, budget) = (prepared.network(), prepared.graph(), prepared.budget());
    let ranges = budget.ranges()?;
    let mut slice = Slice::default();
    slice.cut(network, network.depth(), node);
    let mut values = Dense::zeros(slice.nodes(1).len(), graph.own_attribute_count());
    for (place, &n) in slice.nodes(1).iter().enumerate() {
        graph.row_values(n as usize).into_iter().for_each(|(d, x)| *values.at_mut(place, d as usize) = x);
    }
    let (mut low, mut high) = (values.clone(), values.clone());
    for at in (0..values.values.len()).filter(|at| !budget.is_frozen(at % values.columns)) {
        let x = values.values[at];
        (low.values[at], high.values[at]) = match ranges {
            Ranges::Ball(radius) => (x - radius, x + radius),
            Ranges::Between { low, high } => (low[at % values.columns], high[at % values.columns]),
        };
    }
    Some(RangeInstance {
        layers: plain_layers(&slice, network),
        values,
        low,
        high,
        local_budget: slice.nodes(1).iter().map(|&n| budget.local(n as usize)).collect(),
        global_budget: budget.global(),
        objective: vec![0.0; network.class_count()],
    })
}

/// The numbers of some class pairs of a node whose attributes are moved, for its predicted class.
pub(crate) fn pairs(
    certifier: &Certifier,
    settings: &Settings,
    node: usize,
    classes: &[usize],
) -> Option<Vec<PairRecord>> {
    let instance = range_instance(certifier.prepared(), node)?;
    let mut rows = ours::range_numbers(certifier, node, classes);
    let model = mixed_program(&instance);
    let margin = |objective: &[f64], values: &[f64]| {
        let moved = model.moved(&instance, values);
        let instance = RangeInstance { objective: objective.to_vec(), ..instance.clone() };
        instance.admits(&moved).then(|| instance.forward(&moved))
    };
    ask_solvers(&model.mixed, settings, &mut rows, instance.objective.len(), margin);
    Some(rows)
}
