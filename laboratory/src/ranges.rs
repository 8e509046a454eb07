//! Attributes that are moved within ranges: the problem of one target as plain data for `gcnproof-verify`, and the
//! numbers of its class pairs.

use std::time::Instant;

use gcnproof::Ranges;
use gcnproof::internals::bound::prepared::Prepared;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::problem::slice::Slice;
use gcnproof_results::record::pair::{Measured, PairRecord};
use gcnproof_run::ours;
use gcnproof_verify::Dense;
use gcnproof_verify::ranges::{RangeInstance, RangeModel, mixed_program};
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver};

use crate::instance::plain_layer;
use crate::settings::{Settings, measured, refuse, status};

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
        layers: (1..network.depth())
            .zip(network.own_layers())
            .map(|(l, layer)| plain_layer(&slice, l, layer))
            .collect(),
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
    let mut instance = range_instance(certifier.prepared(), node)?;
    let mut rows = ours::range_numbers(certifier, node, classes);
    let model = mixed_program(&instance);
    for row in &mut rows {
        row.cells = model.program.nonzeros() as u64;
        if model.program.nonzeros() > settings.max_cells {
            refuse(row, "too_large");
            continue;
        }
        row.form = Some("compact".into());
        instance.objective.fill(0.0);
        instance.objective[row.reference as usize] += 1.0;
        instance.objective[row.class as usize] -= 1.0;
        let mut model = model.clone();
        model.set_objective(&instance.objective);
        ask_solvers(&instance, &model, settings, row);
    }
    Some(rows)
}

fn ask_solvers(instance: &RangeInstance, model: &RangeModel, settings: &Settings, row: &mut PairRecord) {
    let (lp, limits) = (model.relaxed().program, Limits { seconds: settings.seconds });
    let answer = Highs.solve(&lp, &limits);
    row.set_lp_highs(measured(&answer));
    if let Some(bound) = answer.review.safe_bound {
        row.set_lp_safe_bound(Measured::new(Some(bound), "proved", answer.seconds));
    }
    if lp.nonzeros() <= settings.full_cells {
        row.set_lp_good_lp(measured(&GoodLp.solve(&lp, &limits)));
        row.set_lp_minilp(measured(&Minilp::default().solve(&lp, &limits)));
        row.set_lp_clarabel(measured(&Clarabel::default().solve(&lp, &limits)));
    }
    if model.integers() > settings.max_integers {
        row.set_milp(Measured::refused("too_large"));
        return;
    }
    let start = Instant::now();
    let answer = Highs.solve(&model.program, &Limits { seconds: settings.milp_seconds });
    let moved = answer.values.as_ref().map(|values| model.moved(instance, values));
    let margin = moved.filter(|moved| instance.admits(moved)).map(|moved| instance.forward(&moved));
    row.milp_bound = answer.dual_bound.filter(|bound| bound.is_finite());
    let value = answer.optimum().and(margin);
    row.set_milp(Measured::new(value, status(answer.status), start.elapsed().as_secs_f64()));
}
