//! Small instances and comparisons that several test files share.
#![allow(dead_code, reason = "not every test file uses every piece")]

use gcnproof_verify::{Dense, Instance, Layer, Sparse};

pub fn dense(rows: &[&[f64]]) -> Dense {
    Dense { rows: rows.len(), columns: rows[0].len(), values: rows.concat() }
}

pub fn one() -> Sparse {
    Sparse { rows: 1, columns: 1, entries: vec![(0, 0, 1.0)] }
}

/// A chain of plain layers of one node that reads itself, each given by its weights and biases.
pub fn chain<const N: usize>(layers: [(Dense, Vec<f64>); N]) -> Vec<Layer> {
    layers.into_iter().map(|(weight, bias)| Layer::convolution(one(), weight, bias)).collect()
}

/// The smallest counterexample to the paper's integrality theorem: the margin is `relu(x - ½) + relu(½ - x) - ¼`.
pub fn counterexample() -> Instance {
    let mut instance = Instance {
        layers: chain([
            (dense(&[&[1.0, -1.0]]), vec![-0.5, 0.5]),
            (dense(&[&[1.0, 0.0], &[1.0, 0.0]]), vec![-0.25, 0.0]),
        ]),
        dimension: 1,
        attributes: vec![vec![]],
        local_budget: vec![1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0, -1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    instance
}

/// Two nodes, three attributes, no hidden layer: the margin is `x_00 - 2 x_01 + x_02 + ½ (x_10 - 2 x_11 + x_12) + 1`.
pub fn linear() -> Instance {
    Instance {
        layers: vec![Layer::convolution(
            Sparse { rows: 1, columns: 2, entries: vec![(0, 0, 1.0), (0, 1, 0.5)] },
            dense(&[&[1.0, 0.0], &[0.0, 2.0], &[1.0, 0.0]]),
            vec![1.0, 0.0],
        )],
        dimension: 3,
        attributes: vec![vec![0], vec![0, 2]],
        local_budget: vec![1, 2],
        global_budget: 2,
        may_add: true,
        may_remove: true,
        objective: vec![1.0, -1.0],
        ..Instance::default()
    }
}

#[track_caller]
pub fn close(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance, "{left} and {right} differ by more than {tolerance}");
}
