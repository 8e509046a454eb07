//! The program of counts: a node falls only if its sources have as many flips as it takes to break it by itself.

use super::{Attacker, add_node};
use crate::program::Program;

/// A node whose prediction counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountNode {
    /// `r_n`: fewer flips break it by no means.
    pub needed: usize,
    /// The sources that it depends on.
    pub sources: Vec<usize>,
}

/// Nodes, sources and budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountInstance {
    /// What the attacker may do.
    pub attacker: Attacker,
    /// The nodes whose broken predictions are counted.
    pub nodes: Vec<CountNode>,
}

/// The program, and the row of each node.
#[derive(Clone, Debug)]
pub struct CountModel {
    /// Minimise `−Σ a_n`.
    pub program: Program,
    /// By node: `Σ b_m − r_n a_n ≥ 0`.
    pub rows: Vec<usize>,
}

impl CountInstance {
    /// `max Σ a_n` subject to `Σ_{m ∈ sources of n} b_m ≥ r_n a_n`, `Σ b ≤ Q`, `0 ≤ b_m ≤ q_m`, `0 ≤ a ≤ 1`; with
    /// `integral`, `a` and `b` are integers. Where attacked sources are limited, `b_m ≤ q_m t_m` and `Σ t ≤ M`.
    pub fn program(&self, integral: bool) -> CountModel {
        let mut program = Program::default();
        let source = |m: usize| {
            let b = program.add_variable(format!("b_{m}"), 0.0, self.attacker.most(m) as f64);
            program.variables[b].integer = integral;
            b
        };
        let flips: Vec<usize> = (0..self.attacker.local.len()).map(source).collect();
        let columns: Vec<Vec<usize>> = flips.iter().map(|&b| vec![b]).collect();
        self.attacker.limit(&mut program, &columns, integral);
        let mut rows = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            let a = add_node(&mut program, n, integral);
            let made = node.sources.iter().map(|&m| (flips[m], 1.0));
            let row: Vec<(usize, f64)> = made.chain([(a, -(node.needed as f64))]).collect();
            rows.push(program.add_row(format!("needed_{n}"), 0.0, f64::INFINITY, row));
        }
        CountModel { program, rows }
    }
}

impl CountModel {
    /// From duals of all rows, the multiplier of every node: that of `Σ b_m / r_n ≥ a_n`. Between 0 and 1 where the
    /// duals are optimal.
    pub fn multipliers(&self, instance: &CountInstance, row_duals: &[f64]) -> Vec<f64> {
        self.rows.iter().zip(&instance.nodes).map(|(&row, node)| row_duals[row] * node.needed as f64).collect()
    }
}
