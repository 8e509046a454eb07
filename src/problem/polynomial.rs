//! Polynomials of an operator, `poly(RULE;c0,c1,…)`: how they are written, and which floats they are.
//!
//! The network that is certified has the floats that are computed here, so their order is part of the definition: row
//! `i` of `M_{k+1}` is the sum of `A_ij · row j of M_k` over the entries of row `i` of `A` in rising order of `j`, the
//! result is the sum of `c_k M_k` in rising order of `k`. Products and sums are rounded one by one; entries that come
//! out as 0 are left out. A network whose framework multiplies by `A` again and again instead computes the same real
//! function up to rounding (docs/math.md §16.3).

use rayon::prelude::*;

use crate::problem::matrix::{MatrixRows, SparseMatrix};

/// The rule of `RULE;c0,c1,…`, as `read` reads it, and the coefficients.
///
/// # Errors
/// If the rule is none, is a polynomial itself, or a coefficient is no finite number.
pub fn parse<R>(text: &str, read: impl Fn(&str) -> Result<R, String>) -> Result<(R, Vec<f64>), String> {
    let (rule, numbers) = text.rsplit_once(';').ok_or("a polynomial is written poly(RULE;c0,c1,…)")?;
    if rule.starts_with("poly(") {
        return Err("a polynomial of a polynomial is not read: multiply it out".into());
    }
    let coefficient = |number: &str| match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("'{number}' in poly({text}) is no finite number")),
    };
    Ok((read(rule)?, numbers.split(',').map(coefficient).collect::<Result<_, _>>()?))
}

/// Entries of an operator, at most: beyond this its matrices would not fit into the memory of most machines.
pub const MOST_ENTRIES: usize = 1 << 29;

/// Not below the number of entries of any power `A^k` up to the last with a coefficient: a row of a power has at most
/// those of the rows below it together, and at most one for each node.
pub fn most_entries(matrix: &SparseMatrix, coefficients: &[f64]) -> usize {
    let nodes = matrix.rows();
    let mut rows: Vec<usize> = vec![1; nodes];
    let mut most = nodes;
    for _ in 0..coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0) {
        let row =
            |i: usize| matrix.row(i).0.iter().fold(0usize, |sum, &j| sum.saturating_add(rows[j as usize])).min(nodes);
        let next: Vec<usize> = (0..nodes).map(row).collect();
        // From here on nothing changes.
        if next == rows {
            break;
        }
        rows = next;
        most = most.max(rows.iter().fold(0, |sum, &row| sum.saturating_add(row)));
        if most > MOST_ENTRIES {
            break;
        }
    }
    most
}

/// `Σ c_k A^k`.
pub fn evaluate(matrix: &SparseMatrix, coefficients: &[f64]) -> SparseMatrix {
    let nodes = matrix.rows();
    let identity = |i: usize| vec![(i as u32, 1.0)];
    let mut power: Vec<Vec<(u32, f64)>> = (0..nodes).map(identity).collect();
    let mut sums: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes];
    // What has no weight at the end need not be computed.
    let count = coefficients.iter().rposition(|&c| c != 0.0).map_or(0, |last| last + 1);
    for (k, &c) in coefficients[..count].iter().enumerate() {
        if k > 0 {
            let row = |sum: &mut RowSum, i: usize| {
                let (columns, values) = matrix.row(i);
                columns.iter().zip(values).for_each(|(&j, &a)| sum.add(a, &power[j as usize]));
                sum.take()
            };
            power = (0..nodes).into_par_iter().map_init(|| RowSum::new(nodes), row).collect();
        }
        if c != 0.0 {
            let row = |sum: &mut RowSum, (i, before): (usize, Vec<(u32, f64)>)| {
                sum.add(1.0, &before);
                sum.add(c, &power[i]);
                sum.take()
            };
            sums = sums.into_par_iter().enumerate().map_init(|| RowSum::new(nodes), row).collect();
        }
    }
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in sums {
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1));
        offsets.push(columns.len());
    }
    SparseMatrix::new((nodes, nodes), offsets, columns, values)
}

/// A row that is added up: every sum in the order of the calls. What comes out as 0 is left out, and adding to it later
/// is adding to 0.
struct RowSum {
    values: Vec<f64>,
    touched: Vec<bool>,
    columns: Vec<u32>,
}

impl RowSum {
    fn new(nodes: usize) -> RowSum {
        RowSum { values: vec![0.0; nodes], touched: vec![false; nodes], columns: Vec::new() }
    }

    fn add(&mut self, factor: f64, row: &[(u32, f64)]) {
        for &(column, value) in row {
            if !self.touched[column as usize] {
                self.touched[column as usize] = true;
                self.columns.push(column);
            }
            self.values[column as usize] += factor * value;
        }
    }

    fn take(&mut self) -> Vec<(u32, f64)> {
        self.columns.sort_unstable();
        let mut row = Vec::with_capacity(self.columns.len());
        for column in self.columns.drain(..) {
            let value = std::mem::take(&mut self.values[column as usize]);
            self.touched[column as usize] = false;
            if value != 0.0 {
                row.push((column, value));
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[u32]]) -> SparseMatrix {
        let offsets = rows.iter().scan(0, |sum, row| {
            *sum += row.len();
            Some(*sum)
        });
        let columns: Vec<u32> = rows.concat();
        let values = vec![1.0; columns.len()];
        SparseMatrix::new((rows.len(), rows.len()), std::iter::once(0).chain(offsets).collect(), columns, values)
    }

    #[test]
    fn entries_are_counted_before_they_are_made() {
        // A path of five nodes with loops: its powers widen by one step each.
        let path = matrix(&[&[0, 1], &[0, 1, 2], &[1, 2, 3], &[2, 3, 4], &[3, 4]]);
        for coefficients in [&[1.0][..], &[0.0, 1.0], &[1.0, 0.5, 0.25], &[0.0, 0.0, 0.0, 0.0, 1.0]] {
            let (most, found) = (most_entries(&path, coefficients), evaluate(&path, coefficients));
            assert!((0..5).map(|i| found.row(i).0.len()).sum::<usize>() <= most, "{coefficients:?}");
        }
        assert_eq!(most_entries(&path, &[1.0, 2.0, 0.0]), 13);
        assert_eq!(most_entries(&path, &[0.0, 0.0, 0.0, 0.0, 1.0]), 25);
        // A star has an entry of its square for every pair.
        let rays: Vec<u32> = (0..200).collect();
        let star: Vec<&[u32]> = (0..200).map(|i| if i == 0 { &rays[..] } else { &rays[..1] }).collect();
        assert_eq!(most_entries(&matrix(&star), &[0.0, 0.0, 1.0]), 200 * 200);
        // The number of powers does not matter where nothing changes any more.
        assert_eq!(most_entries(&matrix(&[&[0], &[1]]), &[1.0; 1_000_000]), 2);
    }
}
