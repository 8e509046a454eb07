//! A case whose network is described: graph and budget as elsewhere, and the network as its model file has it.

use std::ops::Range;
use std::sync::Arc;

use gcnproof_files::SparseMatrix;

use crate::case::{Case, matrix};
use crate::network::{Network, NumericLayer, NumericTerm, RowScale};
use crate::terms::description::{Description, Passing, Term};
use crate::terms::operator::rows;
use crate::truth::Oracle;

/// A case with a described network.
#[derive(Clone, Debug)]
pub struct TermCase {
    /// Graph, budget and components; its model is the chain that the program makes of the description, and it has no
    /// rules.
    pub base: Case,
    pub network: Description,
}

impl TermCase {
    /// The case with the chain of its description.
    ///
    /// # Errors
    /// If the program refuses the description.
    pub fn described(mut base: Case, network: Description) -> Result<TermCase, String> {
        base.model = network.model().map_err(|error| error.to_string())?;
        base.rules.clear();
        Ok(TermCase { base, network })
    }

    /// The network in floats, with the entries of every operator.
    pub fn floats(&self) -> Network<f64> {
        let layers = self.network.layers.iter().map(|layer| {
            let term = |term: &Term| NumericTerm {
                source: term.source,
                entries: rows(&self.base, &term.passing),
                weight: term.weight.clone().unwrap_or_else(|| identity(layer.outputs)),
                inputs: self.network.inputs(term),
            };
            NumericLayer {
                terms: layer.terms.iter().map(term).collect(),
                bias: layer.bias.clone().unwrap_or_else(|| vec![0.0; layer.outputs]),
                linear: layer.linear.clone(),
                outputs: layer.outputs,
            }
        });
        Network { layers: layers.collect(), exponent: 0, rows: RowScale::of(&self.base) }
    }

    /// What the network reads of rows (nodes × attributes): 1, or quotients where rows are divided by their sums.
    pub fn numbers(&self, attributes: &[bool]) -> Vec<f64> {
        let rows = attributes.chunks(self.base.attributes().max(1));
        let entry = |row: &[bool]| self.base.graph.normalisation.entry(row.iter().filter(|x| **x).count());
        let numbers = |row: &[bool]| {
            let entry = entry(row);
            row.iter().map(|&present| if present { entry } else { 0.0 }).collect::<Vec<f64>>()
        };
        rows.flat_map(numbers).collect()
    }

    /// Brute force over this case, from the description alone.
    pub fn oracle(&self) -> Oracle<'_> {
        Oracle::with(&self.base, self.floats())
    }

    /// The case that has only one component.
    ///
    /// # Errors
    /// If the program refuses its description.
    pub fn part(&self, range: Range<usize>) -> Result<TermCase, String> {
        let nodes = self.base.nodes();
        let mut network = self.network.clone();
        let cut = |one: &SparseMatrix| {
            let row = |n: usize| {
                let (columns, values) = one.row(n);
                columns.iter().zip(values).map(|(&m, &a)| (m - range.start as u32, a)).collect()
            };
            Arc::new(matrix(&range.clone().map(row).collect::<Vec<Vec<(u32, f64)>>>()))
        };
        let known: Vec<(Arc<SparseMatrix>, Arc<SparseMatrix>)> =
            self.network.matrices().into_iter().map(|one| (one.clone(), cut(&one))).collect();
        let replace = |passing: &mut Passing| {
            let base = match passing {
                Passing::Polynomial(base, _) => base.as_mut(),
                other => other,
            };
            if let Passing::Matrix(of) = base
                && let Some((_, part)) = known.iter().find(|(whole, _)| Arc::ptr_eq(whole, of))
            {
                *of = part.clone();
            }
        };
        for layer in &mut network.layers {
            layer.terms.iter_mut().for_each(|term| replace(&mut term.passing));
            if let Some(bias) = &mut layer.bias
                && bias.len() == nodes * layer.outputs
                && nodes > 1
            {
                *bias = bias[range.start * layer.outputs..range.end * layer.outputs].to_vec();
            }
        }
        TermCase::described(self.base.part(range), network)
    }
}

/// The weights of a term that passes on what it reads.
fn identity(width: usize) -> Vec<f64> {
    (0..width * width).map(|at| f64::from(u8::from(at / width == at % width))).collect()
}
