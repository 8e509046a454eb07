//! `Layer`: a sum of terms with its biases and its linear units, and what a naive forward pass asks of it.

use crate::matrix::{Dense, Sparse};

/// One term `A H W` of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term {
    /// `A`: rows are the nodes of the representation that the layer makes, columns those of the one that it reads.
    /// Entries of either sign; a zero may be stored or left out.
    pub passing: Sparse,
    /// `W`, `[in, out]`.
    pub weight: Dense,
}

/// One weight layer `Ĥ = Σ_k A_k H W_k + b`; then every unit that is not linear is clipped at 0, unless the layer is
/// the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// The terms, at least one, all of the same shape. Their operators may have entries at the same places: an input
    /// then acts on a unit by the sum of its coefficients.
    pub terms: Vec<Term>,
    /// `b`: one row for all nodes, or one row for each.
    pub bias: Dense,
    /// The units without activation, one flag each; empty means none. The last layer makes the logits, which have no
    /// activation whatever stands here.
    pub linear: Vec<bool>,
}

impl Layer {
    /// A layer of one term with a bias per unit and an activation everywhere: `max(A H W + b, 0)`.
    pub fn convolution(passing: Sparse, weight: Dense, bias: Vec<f64>) -> Self {
        let bias = Dense { rows: 1, columns: bias.len(), values: bias };
        Self { terms: vec![Term { passing, weight }], bias, linear: Vec::new() }
    }

    /// Number of nodes of the representation that the layer makes; 0 for a layer without terms, which is not valid.
    pub fn rows(&self) -> usize {
        self.terms.first().map_or(0, |term| term.passing.rows)
    }

    /// Number of nodes of the representation that it reads.
    pub fn columns(&self) -> usize {
        self.terms.first().map_or(0, |term| term.passing.columns)
    }

    /// Number of inputs of each node.
    pub fn inputs(&self) -> usize {
        self.terms.first().map_or(0, |term| term.weight.rows)
    }

    /// Number of units of each node.
    pub fn units(&self) -> usize {
        self.terms.first().map_or(0, |term| term.weight.columns)
    }

    /// The biases of a node. Panics outside the layer.
    pub fn bias_of(&self, node: usize) -> &[f64] {
        self.bias.row(if self.bias.rows == 1 { 0 } else { node })
    }

    /// Whether a unit of a hidden layer has no activation.
    pub fn is_linear(&self, unit: usize) -> bool {
        self.linear.get(unit) == Some(&true)
    }

    /// `Σ_k A_k H W_k + b`, by the definition.
    pub(crate) fn pre_activations(&self, hidden: &Dense) -> Dense {
        let mut next = Dense::zeros(self.rows(), self.units());
        for Term { passing, weight } in &self.terms {
            let mut product = Dense::zeros(hidden.rows, weight.columns);
            for node in 0..hidden.rows {
                for (input, &value) in hidden.row(node).iter().enumerate() {
                    if value != 0.0 {
                        for unit in 0..weight.columns {
                            *product.at_mut(node, unit) += value * weight.at(input, unit);
                        }
                    }
                }
            }
            for &(row, column, value) in &passing.entries {
                for unit in 0..weight.columns {
                    *next.at_mut(row, unit) += value * product.at(column, unit);
                }
            }
        }
        for row in 0..next.rows {
            for (unit, bias) in self.bias_of(row).iter().enumerate() {
                *next.at_mut(row, unit) += bias;
            }
        }
        next
    }

    /// What the activation of this layer makes of a matrix over its nodes and units.
    pub(crate) fn activated(&self, matrix: &Dense) -> Dense {
        let mut result = matrix.clone();
        for (at, value) in result.values.iter_mut().enumerate() {
            if !self.is_linear(at % matrix.columns) {
                *value = value.max(0.0);
            }
        }
        result
    }

    /// For each row, the nodes that it reads by any term, ascending.
    pub(crate) fn links(&self) -> Vec<Vec<Link>> {
        let mut rows = vec![Vec::new(); self.rows()];
        for (number, term) in self.terms.iter().enumerate() {
            for &(row, node, value) in &term.passing.entries {
                rows[row].push((node, number, value));
            }
        }
        let grouped = |mut entries: Vec<(usize, usize, f64)>| {
            entries.sort_by_key(|&(node, number, _)| (node, number));
            let same = entries.chunk_by(|left, right| left.0 == right.0);
            same.map(|part| Link { node: part[0].0, entries: part.iter().map(|entry| (entry.1, entry.2)).collect() })
                .collect()
        };
        rows.into_iter().map(grouped).collect()
    }

    /// By how much an input of the link's node counts in a unit of the row: `Σ_k A_k W_k`, one number however many
    /// terms there are, for signs and sides are those of the sum.
    pub(crate) fn coefficient(&self, link: &Link, input: usize, unit: usize) -> f64 {
        link.entries.iter().map(|&(term, value)| value * self.terms[term].weight.at(input, unit)).sum()
    }
}

/// A node that a row reads.
pub(crate) struct Link {
    /// The node, a column of the operators.
    pub node: usize,
    /// The terms whose operators have an entry there, and the entry.
    pub entries: Vec<(usize, f64)>,
}
