//! A small simplex method with bounded variables: the pure-Rust solver of restricted masters and of relaxations.
//!
//! Maximises `c·x` subject to equations, `0 ≤ x ≤ upper`. Rows can be added while the basis is kept. Dense tableau:
//! masters have a few dozen rows. Its answer is a suggestion only, so it may stop early: every basis it visits is
//! feasible, and that is all that its user needs.

use pulp::{Arch, Simd, WithSimd};

use crate::problem::limits::Clock;

/// A variable of the tableau.
#[derive(Clone, Debug)]
struct Variable {
    upper: f64,
    /// Non-basic variables rest at one of their bounds.
    at_upper: bool,
    /// The row in which it is basic.
    row: Option<usize>,
    /// Its entries: this column, or minus this column.
    column: usize,
    negative: bool,
    /// Its Devex weight: about the squared length of the edge along which it enters.
    weight: f64,
}

impl Variable {
    /// A variable that rests at zero.
    fn new(upper: f64, column: usize) -> Variable {
        Variable { upper, at_upper: false, row: None, column, negative: false, weight: 1.0 }
    }

    /// Its entry in a row.
    #[inline]
    fn entry(&self, row: &[f64]) -> f64 {
        if self.negative { -row[self.column] } else { row[self.column] }
    }
}

/// The tableau.
#[derive(Clone, Debug, Default)]
pub struct Simplex {
    variables: Vec<Variable>,
    /// `c_j − c_B B⁻¹ A_j`.
    reduced: Vec<f64>,
    /// `B⁻¹ A`, one entry per column: a variable and its opposite share one.
    rows: Vec<Vec<f64>>,
    columns: usize,
    basis: Vec<usize>,
    /// Values of the basic variables.
    values: Vec<f64>,
    objective: f64,
    /// Is the entering variable chosen by Devex weights?
    weighted: bool,
    clock: Option<Clock>,
    arch: Arch,
}

/// Entries below this are taken for zero.
const TINY: f64 = 1e-11;

/// Devex weights beyond this begin again.
const LARGEST_WEIGHT: f64 = 1e8;

/// Entries of a tableau whose steps take about a millisecond.
const LARGE: usize = 1 << 20;

impl Simplex {
    /// An empty tableau whose entering variables are chosen by Devex weights (Harris 1973): fewer steps where columns
    /// are of different sizes.
    pub fn weighted() -> Simplex {
        Simplex { weighted: true, ..Simplex::default() }
    }

    /// An empty tableau with the same choice of entering variables and the same deadline.
    pub fn emptied(&self) -> Simplex {
        Simplex { weighted: self.weighted, clock: self.clock.clone(), ..Simplex::default() }
    }

    /// Stops improving once the deadline has passed: its answers are suggestions at any time.
    pub fn until(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Adds a variable with cost `cost` that no row has yet, resting at zero.
    pub fn add_variable(&mut self, cost: f64, upper: f64) -> usize {
        self.variables.push(Variable::new(upper, self.columns));
        self.columns += 1;
        self.reduced.push(cost);
        for row in &mut self.rows {
            row.push(0.0);
        }
        self.variables.len() - 1
    }

    /// Adds a variable without an upper bound that enters every row as minus another one, which is new, resting at
    /// zero.
    pub fn add_opposite(&mut self, other: usize, cost: f64) -> usize {
        let column = self.variables[other].column;
        self.variables.push(Variable { negative: true, ..Variable::new(f64::INFINITY, column) });
        self.reduced.push(cost);
        self.variables.len() - 1
    }

    /// Adds a variable to rows that are there already, resting at one of its bounds, whose effect there is part of the
    /// current values. `column` has one coefficient per row, `plus` names the variable that each row was added with.
    pub fn add_column(&mut self, cost: f64, upper: f64, at_upper: bool, column: &[f64], plus: &[usize]) -> usize {
        // The columns of the rows' own variables hold the inverse of the basis.
        let entries = column.iter().zip(plus).filter(|(coefficient, _)| **coefficient != 0.0);
        let entries: Vec<(f64, usize)> = entries.map(|(&coefficient, &own)| (coefficient, own)).collect();
        let mut reduced = cost;
        for &(coefficient, own) in &entries {
            reduced += (1.0 + self.reduced[own]) * coefficient;
        }
        let places: Vec<(f64, usize)> =
            entries.iter().map(|&(coefficient, own)| (coefficient, self.variables[own].column)).collect();
        for row in &mut self.rows {
            row.push(places.iter().map(|&(coefficient, own)| row[own] * coefficient).sum());
        }
        self.variables.push(Variable { at_upper, ..Variable::new(upper, self.columns) });
        self.columns += 1;
        self.reduced.push(reduced);
        if at_upper {
            self.objective += cost * upper;
        }
        self.variables.len() - 1
    }

    /// Adds the equation `Σ coefficient·x = right`, whose variable `plus` (coefficient `+1`) or `minus`, its opposite,
    /// becomes basic, whichever makes it feasible. Both must be new, unbounded above, and have the costs given.
    pub fn add_row(&mut self, coefficients: &[(usize, f64)], right: f64, plus: usize, minus: usize) {
        let mut row = vec![0.0; self.columns];
        for &(j, coefficient) in coefficients {
            row[self.variables[j].column] += coefficient;
        }
        row[self.variables[plus].column] = 1.0;
        let own = self.variables.iter().enumerate().filter(|(_, variable)| !variable.negative);
        let residual = right - own.map(|(j, variable)| row[variable.column] * self.value(j)).sum::<f64>();
        // Express the row in the non-basic variables.
        for (other, &basic) in self.rows.iter().zip(&self.basis) {
            let factor = self.variables[basic].entry(&row);
            if factor != 0.0 {
                for (entry, other) in row.iter_mut().zip(other) {
                    *entry -= factor * other;
                }
            }
        }
        let entering = if residual >= 0.0 { plus } else { minus };
        if entering == minus {
            row.iter_mut().for_each(|entry| *entry = -*entry);
        }
        let cost = self.reduced[entering];
        for (reduced, variable) in self.reduced.iter_mut().zip(&self.variables) {
            *reduced -= cost * variable.entry(&row);
        }
        self.objective += cost * residual.abs();
        self.variables[entering].row = Some(self.rows.len());
        self.basis.push(entering);
        self.values.push(residual.abs());
        self.rows.push(row);
    }

    /// The current value of a variable.
    pub fn value(&self, j: usize) -> f64 {
        match &self.variables[j] {
            Variable { row: Some(i), .. } => self.values[*i],
            Variable { at_upper: true, upper, .. } => *upper,
            _ => 0.0,
        }
    }

    /// The reduced cost of a variable.
    pub fn reduced(&self, j: usize) -> f64 {
        self.reduced[j]
    }

    /// The objective at the current basis.
    pub fn objective(&self) -> f64 {
        self.objective
    }

    /// Improves until optimal, or until `limit` steps are done. Returns whether it is optimal.
    pub fn maximise(&mut self, limit: usize) -> bool {
        let mut stalled = 0;
        let large = self.rows.len().saturating_mul(self.columns) > LARGE;
        for step in 0..limit {
            // A step costs microseconds in small tableaus and milliseconds in large ones.
            if (large || step % 16 == 15) && self.is_late() {
                return false;
            }
            let Some(entering) = self.entering(stalled > 50) else { return true };
            let before = self.objective;
            if !self.step(entering) {
                // Unbounded: cannot happen with the masters' boxes; give up with what is there.
                return false;
            }
            stalled = if self.objective > before + TINY { 0 } else { stalled + 1 };
        }
        false
    }

    /// Has the deadline passed?
    pub fn is_late(&self) -> bool {
        self.clock.as_ref().is_some_and(Clock::is_late)
    }

    /// The non-basic variable to move: the steepest, or the first (Bland) when the objective does not move.
    fn entering(&self, first: bool) -> Option<usize> {
        let improvement = |j: usize| {
            let variable = &self.variables[j];
            match variable.row {
                Some(_) => 0.0,
                None if variable.upper <= 0.0 => 0.0,
                None if variable.at_upper => -self.reduced[j],
                None => self.reduced[j],
            }
        };
        let candidates = (0..self.variables.len()).map(|j| (improvement(j), j)).filter(|c| c.0 > 1e-9);
        if self.weighted && !first {
            let steepness = |(improvement, j): (f64, usize)| (improvement * improvement / self.variables[j].weight, j);
            return candidates.map(steepness).max_by(|x, y| x.0.total_cmp(&y.0)).map(|c| c.1);
        }
        if first { candidates.map(|c| c.1).next() } else { candidates.max_by(|x, y| x.0.total_cmp(&y.0)).map(|c| c.1) }
    }

    /// Moves a non-basic variable as far as it goes: to its other bound, or into the basis.
    fn step(&mut self, entering: usize) -> bool {
        let direction = if self.variables[entering].at_upper { -1.0 } else { 1.0 };
        let mut longest = self.variables[entering].upper;
        let mut leaving: Option<(usize, bool)> = None;
        let column: Vec<f64> = self.rows.iter().map(|row| self.variables[entering].entry(row)).collect();
        for (i, entry) in column.iter().enumerate() {
            let change = -entry * direction;
            let (room, to_upper) = if change < -TINY {
                (self.values[i].max(0.0) / -change, false)
            } else if change > TINY {
                ((self.variables[self.basis[i]].upper - self.values[i]).max(0.0) / change, true)
            } else {
                continue;
            };
            // Among equals the larger pivot is the safer one.
            let better = leaving.is_none_or(|(l, _)| entry.abs() > column[l].abs());
            if room < longest - TINY || (room <= longest && better) {
                longest = room.min(longest);
                leaving = Some((i, to_upper));
            }
        }
        if !longest.is_finite() {
            return false;
        }
        let start = if direction < 0.0 { self.variables[entering].upper } else { 0.0 };
        for (value, entry) in self.values.iter_mut().zip(&column) {
            *value -= entry * direction * longest;
        }
        self.objective += self.reduced[entering] * direction * longest;
        match leaving {
            None => self.variables[entering].at_upper = direction > 0.0,
            Some((i, to_upper)) => self.pivot(i, entering, &column, start + direction * longest, to_upper),
        }
        true
    }

    /// Makes a variable basic in row `i`; `column` has its entries.
    fn pivot(&mut self, i: usize, entering: usize, column: &[f64], value: f64, to_upper: bool) {
        let mut row = std::mem::take(&mut self.rows[i]);
        row.iter_mut().for_each(|entry| *entry /= column[i]);
        self.arch.dispatch(Elimination { rows: &mut self.rows, row: &row, column });
        let factor = self.reduced[entering];
        for (reduced, variable) in self.reduced.iter_mut().zip(&self.variables) {
            *reduced -= factor * variable.entry(&row);
        }
        let leaving = std::mem::replace(&mut self.basis[i], entering);
        if self.weighted {
            self.reweigh(&row, entering, leaving, column[i]);
        }
        self.rows[i] = row;
        self.variables[leaving].row = None;
        self.variables[leaving].at_upper = to_upper;
        self.variables[entering].row = Some(i);
        self.values[i] = value;
    }

    /// Updates the Devex weights after a pivot with this row; all begin again once one is too large.
    fn reweigh(&mut self, row: &[f64], entering: usize, leaving: usize, pivot: f64) {
        let own = self.variables[entering].weight;
        for variable in self.variables.iter_mut() {
            let entry = row[variable.column];
            if entry != 0.0 {
                variable.weight = variable.weight.max(entry * entry * own);
            }
        }
        let weight = (own / (pivot * pivot)).max(1.0);
        self.variables[leaving].weight = weight;
        if weight > LARGEST_WEIGHT {
            self.variables.iter_mut().for_each(|variable| variable.weight = 1.0);
        }
    }
}

/// Subtracts the row of a pivot from all others, each with its factor, compiled for the widest vectors of the machine
/// it runs on. The row that was taken out is empty.
struct Elimination<'a> {
    rows: &'a mut [Vec<f64>],
    row: &'a [f64],
    column: &'a [f64],
}

impl WithSimd for Elimination<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let others =
            self.rows.iter_mut().zip(self.column).filter(|(other, factor)| **factor != 0.0 && !other.is_empty());
        let entries: Vec<(usize, f64)> = self.row.iter().copied().enumerate().filter(|one| one.1 != 0.0).collect();
        // Where most entries are zero, the others are few enough to be looked up.
        if 8 * entries.len() < self.row.len() {
            for (other, &factor) in others {
                entries.iter().for_each(|&(at, unit)| other[at] -= factor * unit);
            }
            return;
        }
        for (other, &factor) in others {
            for (entry, unit) in other.iter_mut().zip(self.row) {
                *entry -= factor * unit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// max x − s with x ≤ 1, s ≥ 2x − 1: at x = ½ nothing is lost, at x = 1 one gains ½ and loses 1 − ½.
    #[test]
    fn a_kink_is_found() {
        let mut simplex = Simplex::default();
        let x = simplex.add_variable(1.0, 1.0);
        let s = simplex.add_variable(-3.0, f64::INFINITY);
        let t = simplex.add_opposite(s, 0.0);
        simplex.add_row(&[(x, -2.0)], -1.0, s, t);
        assert!(simplex.maximise(100));
        assert!((simplex.value(x) - 0.5).abs() < 1e-12 && (simplex.objective() - 0.5).abs() < 1e-12);
    }

    /// A master that began again forgot its deadline: steps went on for many times the limit.
    #[test]
    fn a_tableau_that_begins_again_keeps_its_deadline() {
        let mut simplex = Simplex::weighted();
        simplex.until(Clock { deadline: Some(std::time::Instant::now()), ..Clock::default() });
        let again = simplex.emptied();
        assert!(simplex.is_late() && again.is_late() && again.weighted);
    }

    #[test]
    fn rows_can_be_added_later() {
        grow(Simplex::default());
        grow(Simplex::weighted());
    }

    fn grow(mut simplex: Simplex) {
        let x = simplex.add_variable(2.0, 1.0);
        let y = simplex.add_variable(1.0, 1.0);
        assert!(simplex.maximise(10));
        assert_eq!((simplex.value(x), simplex.value(y), simplex.objective()), (1.0, 1.0, 3.0));
        for right in [1.5, 0.5] {
            let s = simplex.add_variable(-10.0, f64::INFINITY);
            let t = simplex.add_opposite(s, 0.0);
            // s − t − x − y = −right: s pays for every bit that x + y exceeds the right side.
            simplex.add_row(&[(x, -1.0), (y, -1.0)], -right, s, t);
            assert!(simplex.maximise(100));
            let expected = if right == 1.5 { 2.5 } else { 1.0 };
            assert!((simplex.objective() - expected).abs() < 1e-12, "{}", simplex.objective());
        }
    }
}
