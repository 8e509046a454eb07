//! Problems whose smallest margin is one MILP: what solvers say of its class pairs, of the LP and of the ILP that relax
//! it.

use std::time::Instant;

use gcnproof_results::record::pair::{Measured, PairRecord};
use gcnproof_verify::MixedModel;
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver};

use crate::settings::{Settings, measured, refuse, status};

/// Fills in the numbers of some class pairs. `margin` is that of the network at a point of the program, for an
/// objective; nothing where the point is no attack.
pub(crate) fn ask_solvers(
    model: &MixedModel,
    settings: &Settings,
    rows: &mut [PairRecord],
    classes: usize,
    margin: impl Fn(&[f64], &[f64]) -> Option<f64>,
) {
    let mut model = model.clone();
    for row in rows {
        row.cells = model.program.nonzeros() as u64;
        if model.program.nonzeros() > settings.max_cells {
            refuse(row, "too_large");
            continue;
        }
        row.form = Some("compact".into());
        let mut objective = vec![0.0; classes];
        objective[row.reference as usize] += 1.0;
        objective[row.class as usize] -= 1.0;
        model.set_objective(&objective);
        pair(&model, settings, row, |values| margin(&objective, values));
    }
}

fn pair(model: &MixedModel, settings: &Settings, row: &mut PairRecord, margin: impl Fn(&[f64]) -> Option<f64>) {
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
        row.set_ilp(Measured::refused("too_large"));
        row.set_milp(Measured::refused("too_large"));
        return;
    }
    row.set_ilp(measured(&Highs.solve(&model.with_relaxed_units().program, &limits)));
    let start = Instant::now();
    let answer = Highs.solve(&model.program, &Limits { seconds: settings.milp_seconds });
    let margin = answer.values.as_ref().and_then(|values| margin(values));
    row.milp_bound = answer.dual_bound.filter(|bound| bound.is_finite());
    let value = answer.optimum().and(margin);
    row.set_milp(Measured::new(value, status(answer.status), start.elapsed().as_secs_f64()));
}
