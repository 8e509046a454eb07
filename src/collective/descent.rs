//! Better multipliers where only some nodes may be attacked: steps along subgradients of the bound itself (docs/math.md
//! (20.4)). The linear program does not have that limit.

use crate::collective::dual::{attack_at_best_price, evaluate, on_grid};
use crate::collective::polytope::simplex;
use crate::collective::program::Program;
use crate::collective::row::ONE;
use crate::collective::solver::Solution;
use crate::search::limits::Stop;

/// Steps.
const STEPS: usize = 60;

/// The part of the bound that a step tries to take away, at first; half of it after so many steps without success.
const FIRST_AIM: f64 = 0.1;
const PATIENCE: usize = 8;

/// Improves a solution, if there is such a limit. Its value is that of the named flips.
pub(super) fn descend(program: &Program, best: &mut Solution, stop: &Stop) {
    if program.attacked_nodes >= program.sources.len() {
        return;
    }
    let mut y: Vec<f64> = best.multipliers.iter().map(|&by| f64::from(by) / f64::from(ONE)).collect();
    let ones = vec![1.0; y.len()];
    let (mut aim, mut without) = (FIRST_AIM, 0);
    for _ in 0..STEPS {
        if stop.is_set() {
            return;
        }
        let now = on_grid(program, &y);
        let value = evaluate(program, &now);
        if value < best.value {
            (best.value, best.multipliers) = (value, now.clone());
            without = 0;
        } else {
            without += 1;
        }
        if without == PATIENCE {
            (aim, without) = (aim / 2.0, 0);
            y = best.multipliers.iter().map(|&by| f64::from(by) / f64::from(ONE)).collect();
            continue;
        }
        // The bound falls by what a row's multiplier gains, less what the attack has in the row.
        let mut slopes = vec![-1.0; y.len()];
        for (row, share) in attack_at_best_price(program, &now) {
            slopes[row as usize] += f64::from(share) / f64::from(ONE);
        }
        let square: f64 = slopes.iter().map(|slope| slope * slope).sum();
        let step = (value.approximate() - best.value.approximate() * (1.0 - aim)) / square.max(f64::MIN_POSITIVE);
        for (y, slope) in y.iter_mut().zip(&slopes) {
            *y -= step * slope;
        }
        for node in 0..program.node_count() {
            let rows = program.rows_of(node);
            simplex(&mut y[rows.clone()], &ones[rows]);
        }
    }
}
