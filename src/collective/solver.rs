//! A source of multipliers: a first-order method for the linear program of rows, on the flips that matter. Its answers
//! are proposals: the bound is what [`evaluate`](crate::collective::dual::evaluate) makes of them (docs/math.md §20.4).

use crate::collective::columns::{Active, Matrix};
use crate::collective::dual::{Value, evaluate, on_grid};
use crate::collective::polytope::simplex;
use crate::collective::program::Program;
use crate::collective::row::ONE;
use crate::problem::flip::Flip;
use crate::search::limits::Stop;

/// What the method found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The best multipliers, on the grid.
    pub multipliers: Vec<u32>,
    /// The bound that they give.
    pub value: Value,
    /// What an attacker with fractional flips reaches: the optimum of the program lies between.
    pub reached: f64,
    /// The named flips that were among the best under some multipliers.
    pub columns: Vec<Flip>,
    /// The fractional attack: named flips, and how much of each is made.
    pub flips: Vec<(Flip, f64)>,
    /// What it cost: entries of the program, times steps.
    pub work: u64,
}

impl Solution {
    /// A warm start for another program, given multipliers for its rows.
    pub fn start<'a>(&'a self, multipliers: &'a [u32]) -> Start<'a> {
        Start { multipliers: Some(multipliers), columns: &self.columns, flips: &self.flips }
    }
}

/// Looks at all flips.
const ROUNDS: usize = 30;

/// Steps between two looks at the gap.
const STEPS: usize = 40;

/// Steps of a round at most.
const MOST: usize = 1200;

/// What a program before this one left: multipliers of the rows of this one, and flips of the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start<'a> {
    /// Multipliers; all rows of a node the same if there are none.
    pub multipliers: Option<&'a [u32]>,
    /// Flips with a column at work.
    pub columns: &'a [Flip],
    /// The fractional attack.
    pub flips: &'a [(Flip, f64)],
}

/// When the method ends.
#[derive(Clone, Copy, Debug)]
pub struct SolverLimits {
    /// At a gap of this relative width.
    pub accuracy: f64,
    /// After so much work: entries of the program, times steps.
    pub work: u64,
}

/// Finds multipliers.
pub fn solve(program: &Program, start: Start, limits: SolverLimits, stop: &Stop) -> Solution {
    let accuracy = limits.accuracy;
    let multipliers = start.multipliers.map_or_else(|| equal(program), <[u32]>::to_vec);
    let mut best = Solution {
        value: evaluate(program, &multipliers),
        multipliers,
        reached: 0.0,
        columns: Vec::new(),
        flips: Vec::new(),
        work: 0,
    };
    if program.row_count() == 0 || program.global == 0 {
        return best;
    }
    let mut active = Active::default();
    let column = |flip: &Flip| program.flips.binary_search(flip).ok().map(|at| at as u32);
    active.named.extend(start.columns.iter().filter_map(column));
    let mut state = PrimalDual::new(program, &best.multipliers);
    for (flip, made) in start.flips {
        if let Some(column) = column(flip) {
            state.columns.push((true, column));
            state.x.push(*made);
        }
    }
    // Column generation: only the flips that some multipliers found worth most have a column.
    for round in 0..ROUNDS {
        let grown = active.grow(program, &on_grid(program, &state.y));
        if grown == 0 && round > 0 || state.work > limits.work || stop.is_set() {
            break;
        }
        let matrix = Matrix::new(program, &active);
        state.enlarge(&matrix);
        let (value, reached) = state.run(program, &matrix, limits, stop);
        let multipliers = on_grid(program, &state.y);
        let bound = evaluate(program, &multipliers);
        best.reached = best.reached.max(reached);
        if bound <= best.value {
            (best.value, best.multipliers) = (bound, multipliers);
        }
        // What flips outside add is below what the method leaves open, which is little.
        let open = accuracy * value.max(1.0);
        if bound.approximate() <= value + open && value - reached <= 2.0 * open {
            break;
        }
    }
    // Without any row every node may break.
    let none = vec![0; program.row_count()];
    let all = evaluate(program, &none);
    if all < best.value {
        (best.value, best.multipliers) = (all, none);
    }
    let named = state.columns.iter().zip(&state.x).filter(|((is_named, _), made)| *is_named && **made > 1e-6);
    best.flips = named.map(|((_, flip), made)| (program.flips[*flip as usize], *made)).collect();
    best.work = state.work;
    best.columns = active.named.into_iter().map(|flip| program.flips[flip as usize]).collect();
    best
}

/// All rows of a node the same.
fn equal(program: &Program) -> Vec<u32> {
    let mut multipliers = vec![0; program.row_count()];
    for node in 0..program.node_count() {
        let rows = program.rows_of(node);
        let share = ONE / u32::try_from(rows.len()).unwrap_or(u32::MAX).max(1);
        multipliers[rows].fill(share);
    }
    multipliers
}

/// Where the method stands: an attack `x` and multipliers `y`.
struct PrimalDual {
    columns: Vec<(bool, u32)>,
    x: Vec<f64>,
    y: Vec<f64>,
    /// How long steps of `x` are against those of `y`.
    balance: f64,
    work: u64,
}

impl PrimalDual {
    fn new(program: &Program, multipliers: &[u32]) -> PrimalDual {
        assert_eq!(multipliers.len(), program.row_count(), "a multiplier for every row");
        let y = multipliers.iter().map(|&x| f64::from(x) / f64::from(ONE)).collect();
        PrimalDual { columns: Vec::new(), x: Vec::new(), y, balance: 1.0, work: 0 }
    }

    /// Takes new columns in; what is known of the others stays.
    fn enlarge(&mut self, matrix: &Matrix) {
        let columns: Vec<(bool, u32)> =
            matrix.named.iter().map(|&c| (true, c)).chain(matrix.others.iter().map(|&c| (false, c))).collect();
        let before: std::collections::BTreeMap<(bool, u32), f64> =
            self.columns.iter().copied().zip(self.x.iter().copied()).collect();
        self.x = columns.iter().map(|column| before.get(column).copied().unwrap_or(0.0)).collect();
        self.columns = columns;
    }

    /// Steps until the gap is closed. Returns the bound on these columns and what the attack reaches.
    fn run(&mut self, program: &Program, matrix: &Matrix, limits: SolverLimits, stop: &Stop) -> (f64, f64) {
        let (columns, rows) = (self.x.len(), self.y.len());
        let mut average = (vec![0.0; columns], vec![0.0; rows]);
        let mut since = 0.0;
        let (mut worths, mut ahead, mut reached) = (vec![0.0; columns], vec![0.0; columns], vec![0.0; rows]);
        let (mut last_gap, mut price) = (f64::INFINITY, 0.0);
        let mut restarted = (self.x.clone(), self.y.clone());
        let (mut best_dual, mut best_primal) = (f64::INFINITY, 0.0f64);
        let mut best_y = self.y.clone();
        let mut best_x = self.x.clone();
        let mut steps_since = 0;
        for step in 1..=MOST {
            self.work += matrix.entries() as u64;
            // One step of the primal-dual hybrid gradient method on the saddle point of §20.4, with diagonal step
            // sizes: first the attack moves up along `πᵀμ` and is projected onto P (1.9) …
            matrix.backward(&self.y, &mut worths);
            for (column, slot) in ahead.iter_mut().enumerate() {
                *slot = self.x[column] + self.balance * matrix.column_step[column] * worths[column];
            }
            matrix.polytope.project(&mut ahead, &matrix.column_step, &mut price);
            for (column, slot) in ahead.iter_mut().enumerate() {
                let next = *slot;
                // The multipliers see the attack one step ahead, which makes the method converge.
                *slot = 2.0 * next - self.x[column];
                self.x[column] = next;
                average.0[column] += next;
            }
            // … then the multipliers move down where the attack has more than one in their row, and are projected onto
            // `Σ_i μ_ni ≤ 1`.
            matrix.forward(&ahead, &mut reached);
            for (row, y) in self.y.iter_mut().enumerate() {
                *y += matrix.row_step[row] / self.balance * (1.0 - reached[row]);
            }
            for node in 0..program.node_count() {
                let range = program.rows_of(node);
                simplex(&mut self.y[range.clone()], &matrix.row_step[range]);
            }
            for (sum, y) in average.1.iter_mut().zip(&self.y) {
                *sum += y;
            }
            since += 1.0;
            steps_since += 1;
            if step % STEPS != 0 {
                continue;
            }
            let mean = (
                average.0.iter().map(|x| x / since).collect::<Vec<_>>(),
                average.1.iter().map(|y| y / since).collect::<Vec<_>>(),
            );
            let mut measure = |x: &[f64], y: &[f64]| {
                matrix.backward(y, &mut worths);
                let dual = y_constant(program, y) + matrix.polytope.largest(&worths);
                matrix.forward(x, &mut reached);
                let primal = primal(program, &reached);
                if dual < best_dual {
                    best_dual = dual;
                    best_y.copy_from_slice(y);
                }
                if primal > best_primal {
                    best_primal = primal;
                    best_x.copy_from_slice(x);
                }
                dual - primal
            };
            // Averages converge where iterates may circle, so both are measured.
            let (gap_now, gap_mean) = (measure(&self.x, &self.y), measure(&mean.0, &mean.1));
            let closed = best_dual - best_primal <= limits.accuracy * best_primal.max(1.0);
            if closed || self.work > limits.work || stop.is_set() {
                break;
            }
            let gap = gap_now.min(gap_mean);
            // Restarts from the better of the two make the convergence linear on linear programs (Applegate et al.).
            if gap <= 0.4 * last_gap || steps_since >= 10 * STEPS && gap <= 0.9 * last_gap || steps_since >= 20 * STEPS
            {
                if gap_mean < gap_now {
                    (self.x, self.y) = mean;
                }
                self.rebalance(matrix, &restarted.0, &restarted.1);
                restarted = (self.x.clone(), self.y.clone());
                average.0.fill(0.0);
                average.1.fill(0.0);
                since = 0.0;
                steps_since = 0;
                last_gap = gap;
            }
        }
        self.x = best_x;
        self.y = best_y;
        (best_dual, best_primal)
    }

    /// Makes both sides move about equally far.
    fn rebalance(&mut self, matrix: &Matrix, before_x: &[f64], before_y: &[f64]) {
        let moved = |now: &[f64], then: &[f64], step: &[f64]| -> f64 {
            let squares = now.iter().zip(then).zip(step).filter(|(_, s)| **s > 0.0);
            squares.map(|((a, b), s)| (a - b) * (a - b) / s).sum::<f64>().sqrt()
        };
        let x = moved(&self.x, before_x, &matrix.column_step);
        let y = moved(&self.y, before_y, &matrix.row_step);
        // The geometric mean of the old ratio and the one just seen: a single odd stretch does not throw the steps off.
        if x > 1e-12 && y > 1e-12 {
            self.balance = (0.5 * (x / y).ln() + 0.5 * self.balance.ln()).exp().clamp(1e-4, 1e4);
        }
    }
}

/// `Σ_n (1 − Σ_i y_ni)`.
fn y_constant(program: &Program, y: &[f64]) -> f64 {
    (0..program.node_count()).map(|node| (1.0 - y[program.rows_of(node)].iter().sum::<f64>()).max(0.0)).sum()
}

/// What an attack reaches: for each node the least of its rows, at most one.
fn primal(program: &Program, reached: &[f64]) -> f64 {
    (0..program.node_count())
        .map(|node| reached[program.rows_of(node)].iter().fold(1.0f64, |least, &row| least.min(row)))
        .sum()
}
