//! One attack for the whole graph: how many predictions can a single perturbation break? Its brute force, and two
//! programs that bound the number.
//!
//! | number | program | built by |
//! |---|---|---|
//! | the truth | none | [`truth`] |
//! | bound by counts | `max Σ a_n` where node `n` falls by `r_n` flips of its sources | [`CountInstance::program`] |
//! | bound by shares | `max Σ a_n` where node `n` falls by flips whose shares sum to one | [`FlipInstance::program`] |
//!
//! Each program is an LP or, with integers, an ILP or a MILP: truth ≤ integers ≤ LP, for any counts and shares that are
//! valid. The first is that of J. Schuchardt, A. Bojchevski, J. Gasteiger and S. Günnemann, *Collective Robustness
//! Certificates*, ICLR 2021.

mod counts;
mod enumeration;
mod flips;

pub use counts::{CountInstance, CountModel, CountNode};
pub use enumeration::{Truth, truth};
pub use flips::FlipInstance;

use crate::program::Program;

/// What the attacker may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attacker {
    /// `Q`: flips in all.
    pub global: usize,
    /// `q_m`: flips of each source, no more than it has.
    pub local: Vec<usize>,
    /// `M`: sources that are attacked, if limited.
    pub attacked: Option<usize>,
}

impl Attacker {
    /// Flips of a source at most.
    fn most(&self, source: usize) -> usize {
        self.local[source].min(self.global)
    }

    /// Adds `Σ columns ≤ Q`, `Σ columns of m ≤ q_m`, and where attacked sources are limited, the binaries that say
    /// which are. `columns` has the flips of each source as variables.
    fn limit(&self, program: &mut Program, columns: &[Vec<usize>], integral: bool) {
        let none = f64::NEG_INFINITY;
        let ones = |columns: &[usize]| columns.iter().map(|&column| (column, 1.0)).collect::<Vec<_>>();
        program.add_row("global", none, self.global as f64, ones(&columns.concat()));
        let mut attacked = Vec::new();
        for (source, columns) in columns.iter().enumerate() {
            let most = self.most(source) as f64;
            let mut row = ones(columns);
            if self.attacked.is_none() {
                program.add_row(format!("local_{source}"), none, most, row);
                continue;
            }
            let t = program.add_variable(format!("t_{source}"), 0.0, 1.0);
            program.variables[t].integer = integral;
            attacked.push(t);
            row.push((t, -most));
            program.add_row(format!("local_{source}"), none, 0.0, row);
            for &column in columns {
                let upper = program.variables[column].upper;
                program.add_row(format!("attacked_{column}"), none, 0.0, [(column, 1.0), (t, -upper)]);
            }
        }
        if let Some(most) = self.attacked {
            program.add_row("attacked", none, most as f64, ones(&attacked));
        }
    }
}

/// Adds a node that falls or does not, and counts if it does.
fn add_node(program: &mut Program, node: usize, integral: bool) -> usize {
    let a = program.add_variable(format!("a_{node}"), 0.0, 1.0);
    program.variables[a].integer = integral;
    program.variables[a].objective = -1.0;
    a
}
