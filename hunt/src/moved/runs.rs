//! A case made ready: its exact logits, and executions, on moved attributes.

use crate::deployed::execution::{Aim, Deployment};
use crate::exact::{Exact, Number};
use crate::joint::case::Entry;
use crate::moved::case::MovedCase;
use crate::moved::moves::Moves;
use crate::network::Network;
use crate::random::Random;
use crate::scale::Scale;

/// A case made ready.
pub struct Runs<'a> {
    case: &'a MovedCase,
    exact: Network<Exact>,
    deployment: Deployment<'a>,
}

impl<'a> Runs<'a> {
    pub fn new(case: &'a MovedCase) -> Runs<'a> {
        let floats = case.network.floats();
        let exact = floats.scaled(&Scale::new(&floats));
        Runs { case, exact, deployment: Deployment::new(&case.network, case.execution) }
    }

    /// The exact logits of all nodes, or graphs.
    pub fn exact(&self, moves: &[(Entry, Exact)]) -> Vec<Vec<Exact>> {
        let mut rows: Vec<Exact> = self.case.ranges.values.iter().flatten().map(|&x| Exact::scaled(x, 0)).collect();
        let columns = rows.len() / self.case.ranges.values.len().max(1);
        for ((node, attribute), value) in moves {
            rows[*node as usize * columns + *attribute as usize] = value.clone();
        }
        let logits = self.exact.values_on(&(0..self.case.network.base.nodes()), &rows).pop().unwrap_or_default();
        logits.chunks(self.case.classes()).take(self.case.targets()).map(<[Exact]>::to_vec).collect()
    }

    /// The logits as some execution computes them.
    pub fn run(&self, moves: &Moves, aim: Option<Aim>, random: &mut Random) -> Vec<Vec<f64>> {
        let mut rows = self.case.ranges.values.clone();
        for ((node, attribute), value) in moves {
            rows[*node as usize][*attribute as usize] = *value;
        }
        let computed = self.deployment.run(&(0..self.case.network.base.nodes()), &rows.concat(), aim, random);
        computed.chunks(self.case.classes()).take(self.case.targets()).map(<[f64]>::to_vec).collect()
    }
}

/// Moves in exact numbers.
pub fn exactly(moves: &Moves) -> Vec<(Entry, Exact)> {
    moves.iter().map(|&(entry, x)| (entry, Exact::from_f64(x))).collect()
}
