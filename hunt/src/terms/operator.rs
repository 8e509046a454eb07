//! The entries of a described operator, from the table and the sentence about polynomials in `docs/model-format.md`.

use std::collections::BTreeMap;

use crate::case::Case;
use crate::operator::Rows;
use crate::terms::description::Passing;

/// The entries on the graph of a case.
pub fn rows(case: &Case, passing: &Passing) -> Rows {
    match passing {
        Passing::Named("gcn-self") => {
            let row = |i: usize| case.graph.adjacency.row(i).iter().map(|&j| j as usize).collect::<Vec<usize>>();
            let size = |i: usize| case.graph.adjacency.row(i).len() as f64;
            (0..case.nodes())
                .map(|i| row(i).into_iter().map(|j| (j, 1.0 / (size(i) * size(j)).sqrt())).collect())
                .collect()
        }
        Passing::Named(name) => crate::operator::rows(case, &crate::case::Rule::Named(name)),
        Passing::Matrix(matrix) => crate::operator::rows(case, &crate::case::Rule::Matrix(matrix.clone())),
        Passing::Polynomial(base, coefficients) => {
            let coefficients: Vec<f64> = coefficients.iter().map(|(number, _)| *number).collect();
            polynomial(&rows(case, base), &coefficients)
        }
    }
}

/// Row i of the power k+1 is the sum of RULE[i, j] times row j of the power k, in rising order of j; the result is the
/// sum of c_k times the power k in rising order of k, every product and sum rounded, zeros left out.
fn polynomial(base: &Rows, coefficients: &[f64]) -> Rows {
    let nodes = base.len();
    let mut power: Vec<BTreeMap<usize, f64>> = (0..nodes).map(|i| BTreeMap::from([(i, 1.0)])).collect();
    let mut sums: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); nodes];
    for (k, &c) in coefficients.iter().enumerate() {
        if k > 0 {
            let row = |i: usize| {
                let mut sum = BTreeMap::new();
                for &(j, a) in &base[i] {
                    power[j].iter().for_each(|(&n, &p)| *sum.entry(n).or_insert(0.0) += a * p);
                }
                sum.retain(|_, value| *value != 0.0);
                sum
            };
            power = (0..nodes).map(row).collect();
        }
        if c != 0.0 {
            for (sum, power) in sums.iter_mut().zip(&power) {
                power.iter().for_each(|(&n, &p)| *sum.entry(n).or_insert(0.0) += c * p);
            }
        }
    }
    sums.into_iter().map(|row| row.into_iter().filter(|entry| entry.1 != 0.0).collect()).collect()
}
