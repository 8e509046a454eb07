//! Rows that are divided by their sums, and categories: the problem of one target as plain data for `gcnproof-verify`,
//! and the numbers of its class pairs.

use gcnproof::internals::bound::prepared::Prepared;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof_results::record::pair::PairRecord;
use gcnproof_run::ours;
use gcnproof_verify::Dense;
use gcnproof_verify::rows::{RowChange, RowInstance, mixed_program};

use crate::instance::plain_layers;
use crate::mixed::ask_solvers;
use crate::settings::Settings;

/// The problem of a node; its objective is that of no pair. Nothing where a flip changes one entry and no other.
pub fn row_instance(prepared: &Prepared, node: usize) -> Option<RowInstance> {
    let (network, graph, budget) = (prepared.network(), prepared.graph(), prepared.budget());
    let (categories, normalisation) = (graph.categories(), graph.normalisation());
    if categories.is_none() && !normalisation.is_some() {
        return None;
    }
    let mut slice = Slice::default();
    slice.cut(network, network.depth(), node);
    let mut bits = Dense::zeros(slice.nodes(1).len(), graph.own_attribute_count());
    let mut changes = Vec::new();
    for (place, &n) in slice.nodes(1).iter().enumerate() {
        let present = graph.attributes().row(n as usize);
        present.iter().for_each(|&d| *bits.at_mut(place, d as usize) = 1.0);
        for d in 0..graph.attribute_count() as u32 {
            let is_present = present.binary_search(&d).is_ok();
            if !budget.permits(n as usize, d as usize, is_present) {
                continue;
            }
            let own = Some(d as usize);
            let flip = |added, removed| RowChange { node: place, added, removed, group: None };
            let changed = categories.and_then(|categories| categories.change(d));
            changes.push(match changed {
                Some(change) => {
                    let [added, removed] = [change.new, change.old].map(|of| of.map(|of| of as usize));
                    RowChange { group: Some(change.group as usize), ..flip(added, removed) }
                }
                None if is_present => flip(None, own),
                None => flip(own, None),
            });
        }
    }
    let counts = 0..=if normalisation.is_some() { bits.columns } else { 0 };
    Some(RowInstance {
        layers: plain_layers(&slice, network),
        bits,
        scales: counts.filter(|_| normalisation.is_some()).map(|count| normalisation.entry(count)).collect(),
        changes,
        local_budget: slice.nodes(1).iter().map(|&n| budget.local(n as usize)).collect(),
        global_budget: budget.global(),
        objective: vec![0.0; network.class_count()],
    })
}

/// The numbers of some class pairs of a node, for its predicted class.
pub(crate) fn pairs(
    certifier: &Certifier,
    settings: &Settings,
    node: usize,
    classes: &[usize],
) -> Option<Vec<PairRecord>> {
    let instance = row_instance(certifier.prepared(), node)?;
    let mut rows = ours::row_numbers(certifier, node, classes);
    let model = mixed_program(&instance);
    let margin = |objective: &[f64], values: &[f64]| {
        let (instance, made) = (RowInstance { objective: objective.to_vec(), ..instance.clone() }, model.made(values));
        instance.admits(&made).then(|| instance.forward(&made))
    };
    ask_solvers(&model.mixed, settings, &mut rows, instance.objective.len(), margin);
    Some(rows)
}
