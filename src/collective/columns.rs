//! The columns at work in the linear program of rows, and their matrix in plain numbers.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::collective::dual::worth;
use crate::collective::polytope::Polytope;
use crate::collective::program::Program;
use crate::collective::row::ONE;

/// Columns that are added after each look at all flips, beside those of one attack.
const MORE: usize = 400;

/// New columns of a source node that has none yet.
const NEW_OF_SOURCE: usize = 8;

/// The columns at work: named flips, and sources for the flips that no row names.
#[derive(Default)]
pub(super) struct Active {
    pub(super) named: BTreeSet<u32>,
    pub(super) others: BTreeSet<u32>,
}

impl Active {
    /// Adds the flips of the best attack under these multipliers, and some more. Returns how many are new.
    pub(super) fn grow(&mut self, program: &Program, multipliers: &[u32]) -> usize {
        let (named, others) = worth(program, multipliers);
        let mut ranked: Vec<(u128, bool, u32)> = Vec::new();
        for (at, source) in program.sources.iter().enumerate() {
            let mut of: Vec<(u128, bool, u32)> =
                (source.first..source.end).map(|flip| (named[flip], true, flip as u32)).collect();
            if source.others > 0 {
                of.push((others[at], false, at as u32));
            }
            of.retain(|column| column.0 > 0);
            of.sort_unstable_by(|x, y| y.cmp(x));
            // Few new ones at a time: flips of a node often do the same.
            let at_work = self.named.range(source.first as u32..source.end as u32).count();
            let mut new = 0;
            of.retain(|&(_, is_named, column)| {
                new += usize::from(is_named && !self.named.contains(&column));
                new <= at_work + NEW_OF_SOURCE
            });
            ranked.extend(of);
        }
        ranked.sort_unstable_by(|x, y| y.cmp(x));
        let (mut flips, mut fresh) = (0usize, 0);
        for (_, is_named, column) in ranked {
            if flips >= program.global && fresh >= MORE {
                break;
            }
            let new = if is_named {
                flips += 1;
                self.named.insert(column)
            } else {
                let source = &program.sources[column as usize];
                flips = flips.saturating_add(source.local.min(source.others));
                self.others.insert(column)
            };
            fresh += usize::from(new);
        }
        fresh
    }
}

/// A sparse matrix by its lines: the rows of the program, or its columns.
#[derive(Default)]
struct Sparse {
    /// Line `i` has the entries `offsets[i] .. offsets[i + 1]`.
    offsets: Vec<usize>,
    /// By entry: its place in the line.
    places: Vec<u32>,
    shares: Vec<f64>,
}

/// Entries from which several threads are worth their coordination.
const MANY: usize = 100_000;

impl Sparse {
    /// The same entries by the other lines, of which there are `count`.
    fn transposed(&self, count: usize) -> Sparse {
        let mut offsets = vec![0usize; count + 1];
        for &row in &self.places {
            offsets[row as usize + 1] += 1;
        }
        for row in 0..count {
            offsets[row + 1] += offsets[row];
        }
        let (entries, mut next) = (self.places.len(), offsets.clone());
        let mut transposed = Sparse { offsets, places: vec![0; entries], shares: vec![0.0; entries] };
        for column in 0..self.offsets.len() - 1 {
            for at in self.offsets[column]..self.offsets[column + 1] {
                let slot = &mut next[self.places[at] as usize];
                transposed.places[*slot] = column as u32;
                transposed.shares[*slot] = self.shares[at];
                *slot += 1;
            }
        }
        transposed
    }

    /// Inner products of a vector with the lines.
    fn products(&self, with: &[f64], into: &mut [f64]) {
        let Sparse { offsets, places, shares } = self;
        let product = |at: usize| -> f64 {
            let range = offsets[at]..offsets[at + 1];
            places[range.clone()].iter().zip(&shares[range]).map(|(&place, share)| with[place as usize] * share).sum()
        };
        if shares.len() < MANY {
            into.iter_mut().enumerate().for_each(|(at, slot)| *slot = product(at));
        } else {
            into.par_iter_mut().with_min_len(64).enumerate().for_each(|(at, slot)| *slot = product(at));
        }
    }
}

/// The program on its active columns, by columns, with plain numbers.
pub(super) struct Matrix {
    /// Named flips, then sources.
    pub(super) named: Vec<u32>,
    pub(super) others: Vec<u32>,
    by_columns: Sparse,
    by_rows: Sparse,
    /// `1/Σ` of a column and of a row.
    pub(super) column_step: Vec<f64>,
    pub(super) row_step: Vec<f64>,
    pub(super) polytope: Polytope,
}

impl Matrix {
    pub(super) fn new(program: &Program, active: &Active) -> Matrix {
        let unit = 1.0 / f64::from(ONE);
        let named: Vec<u32> = active.named.iter().copied().collect();
        let others: Vec<u32> = active.others.iter().copied().collect();
        let count = named.len() + others.len();
        let mut matrix = Matrix {
            named,
            others,
            by_columns: Sparse { offsets: vec![0], ..Sparse::default() },
            by_rows: Sparse::default(),
            column_step: vec![0.0; count],
            row_step: vec![0.0; program.row_count()],
            polytope: Polytope { global: program.global as f64, ..Polytope::default() },
        };
        let mut sources: Vec<u32> = Vec::with_capacity(count);
        let entries = &mut matrix.by_columns;
        for &flip in &matrix.named {
            let source = program.source_of[flip as usize];
            sources.push(source);
            matrix.polytope.upper.push(1.0);
            let (defaults, beyond) = (program.defaults_of(source as usize), program.entries_of(flip as usize));
            let mut at = 0;
            // Both are in the order of rows.
            for &(row, share) in defaults {
                while at < beyond.len() && beyond[at].0 < row {
                    entries.places.push(beyond[at].0);
                    entries.shares.push(f64::from(beyond[at].1) * unit);
                    at += 1;
                }
                let more = if at < beyond.len() && beyond[at].0 == row {
                    at += 1;
                    beyond[at - 1].1
                } else {
                    0
                };
                if share + more > 0 {
                    entries.places.push(row);
                    entries.shares.push(f64::from(share + more) * unit);
                }
            }
            for &(row, share) in &beyond[at..] {
                entries.places.push(row);
                entries.shares.push(f64::from(share) * unit);
            }
            entries.offsets.push(entries.places.len());
        }
        for &source in &matrix.others {
            sources.push(source);
            let of = &program.sources[source as usize];
            matrix.polytope.upper.push(of.others.min(of.local) as f64);
            for &(row, share) in program.defaults_of(source as usize).iter().filter(|default| default.1 > 0) {
                entries.places.push(row);
                entries.shares.push(f64::from(share) * unit);
            }
            entries.offsets.push(entries.places.len());
        }
        for column in 0..count {
            for at in entries.offsets[column]..entries.offsets[column + 1] {
                matrix.column_step[column] += entries.shares[at];
                matrix.row_step[entries.places[at] as usize] += entries.shares[at];
            }
        }
        // Diagonal preconditioning (T. Pock, A. Chambolle): with inverse sums of columns and rows as step lengths,
        // `‖Σ^½ A T^½‖ ≤ 1`, and the method converges.
        for step in matrix.column_step.iter_mut().chain(&mut matrix.row_step) {
            *step = if *step > 0.0 { 1.0 / *step } else { 0.0 };
        }
        matrix.by_rows = entries.transposed(program.row_count());
        matrix.polytope.group(&sources, |source| program.sources[source as usize].local as f64);
        matrix
    }

    /// How many shares there are.
    pub(super) fn entries(&self) -> usize {
        self.by_columns.shares.len()
    }

    /// `A x`.
    pub(super) fn forward(&self, x: &[f64], into: &mut [f64]) {
        self.by_rows.products(x, into);
    }

    /// `Aᵀ y`.
    pub(super) fn backward(&self, y: &[f64], into: &mut [f64]) {
        self.by_columns.products(y, into);
    }
}
