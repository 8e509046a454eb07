//! Polynomials of an operator, `poly(RULE;c0,c1,…)`: how they are written, and which floats they are.
//!
//! The network that is certified has the floats that are computed here, so their order is part of the definition: row `i` of
//! `M_{k+1}` is the sum of `A_ij · row j of M_k` over the entries of row `i` of `A` in rising order of `j`, the result is the sum of
//! `c_k M_k` in rising order of `k`. Products and sums are rounded one by one; entries that come out as 0 are left out. A network whose
//! framework multiplies by `A` again and again instead computes the same real function up to rounding (docs/math.md §13).

use std::collections::BTreeMap;

use crate::problem::matrix::{MatrixRows, SparseMatrix};
use crate::problem::network::Operator;

/// The operator of `RULE;c0,c1,…`.
///
/// # Errors
/// If the rule is none, is a polynomial itself, or a coefficient is no finite number.
pub fn parse(text: &str) -> Result<Operator, String> {
    let (rule, numbers) = text.split_once(';').ok_or("a polynomial is written poly(RULE;c0,c1,…)")?;
    let rule: Operator = rule.parse()?;
    if matches!(rule, Operator::Polynomial(..)) {
        return Err("a polynomial of a polynomial is not read: multiply it out".into());
    }
    let coefficient = |number: &str| match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("'{number}' in poly({text}) is no finite number")),
    };
    Ok(Operator::Polynomial(Box::new(rule), numbers.split(',').map(coefficient).collect::<Result<_, _>>()?))
}

/// `Σ c_k A^k`.
pub fn evaluate(matrix: &SparseMatrix, coefficients: &[f64]) -> SparseMatrix {
    let nodes = matrix.rows();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut power: Vec<BTreeMap<u32, f64>> = (0..nodes as u32).map(|i| BTreeMap::from([(i, 1.0)])).collect();
    let mut sums: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); nodes];
    for (k, &c) in coefficients.iter().enumerate() {
        if k > 0 {
            power = times(matrix, &power);
        }
        if c != 0.0 {
            for (sum, row) in sums.iter_mut().zip(&power) {
                for (&column, &value) in row {
                    *sum.entry(column).or_insert(0.0) += c * value;
                }
            }
        }
    }
    for row in sums {
        for (column, value) in row.into_iter().filter(|entry| entry.1 != 0.0) {
            columns.push(column);
            values.push(value);
        }
        offsets.push(columns.len());
    }
    SparseMatrix::new((nodes, nodes), offsets, columns, values)
}

/// `A M`, row by row.
fn times(matrix: &SparseMatrix, power: &[BTreeMap<u32, f64>]) -> Vec<BTreeMap<u32, f64>> {
    let row = |i: usize| {
        let (columns, values) = matrix.row(i);
        let mut sum: BTreeMap<u32, f64> = BTreeMap::new();
        for (&j, &a) in columns.iter().zip(values) {
            for (&column, &value) in &power[j as usize] {
                *sum.entry(column).or_insert(0.0) += a * value;
            }
        }
        sum.retain(|_, value| *value != 0.0);
        sum
    };
    (0..matrix.rows()).map(row).collect()
}
