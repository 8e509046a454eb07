//! The program of shares: a node falls only if the shares of the flips that are made sum to one, in each of its rows.

use super::{Attacker, add_node};
use crate::program::Program;

/// Flips, rows of nodes, and budgets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlipInstance {
    /// What the attacker may do.
    pub attacker: Attacker,
    /// The source of every flip.
    pub sources: Vec<usize>,
    /// By node, and by row: flips with their shares.
    pub rows: Vec<Vec<Vec<(usize, f64)>>>,
}

impl FlipInstance {
    /// `max Σ a_n` subject to `Σ_f π_{n,f} x_f ≥ a_n` for every row of `n`, `Σ x ≤ Q`, `Σ_{f of m} x_f ≤ q_m`,
    /// `0 ≤ x ≤ 1`, `0 ≤ a ≤ 1`, as the minimum of `−Σ a_n`; with `integral`, `a` and `x` are integers. Where attacked
    /// sources are limited, `x_f ≤ t_m`, `Σ_{f of m} x_f ≤ q_m t_m` and `Σ t ≤ M`.
    pub fn program(&self, integral: bool) -> Program {
        let mut program = Program::default();
        let mut columns = vec![Vec::new(); self.attacker.local.len()];
        for (flip, &source) in self.sources.iter().enumerate() {
            let x = program.add_variable(format!("x_{flip}"), 0.0, 1.0);
            program.variables[x].integer = integral;
            columns[source].push(x);
        }
        self.attacker.limit(&mut program, &columns, integral);
        for (n, rows) in self.rows.iter().enumerate() {
            let a = add_node(&mut program, n, integral);
            for (i, row) in rows.iter().enumerate() {
                // Flips were added first: the place of a flip is its variable.
                let row = row.iter().copied().chain([(a, -1.0)]);
                program.add_row(format!("row_{n}_{i}"), 0.0, f64::INFINITY, row);
            }
        }
        program
    }
}
