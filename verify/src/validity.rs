//! `InstanceError`: what may be wrong with an instance, and the checks.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::instance::{Dense, Instance, Sparse};

/// What is wrong with an [`Instance`]. `layer` counts from 1 as the paper does.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum InstanceError {
    /// There is no weight layer at all.
    #[error("the network has no weight layer")]
    NoLayer,
    /// Two parts that have to fit do not.
    #[error("{what} (layer {layer}): expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: &'static str,
        /// The weight layer, or the representation for bounds.
        layer: usize,
        /// The size that the rest of the instance asks for.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} (layer {layer}) contains a number that is not finite")]
    NotFinite {
        /// Where.
        what: &'static str,
        /// The weight layer, or the representation for bounds.
        layer: usize,
    },
    /// A message-passing entry lies outside its matrix.
    #[error("message passing (layer {layer}) has an entry at ({row}, {column}), outside the matrix")]
    EntryOutside {
        /// The weight layer.
        layer: usize,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
    },
    /// A message-passing position is given twice.
    #[error("message passing (layer {layer}) has the position ({row}, {column}) twice")]
    EntryTwice {
        /// The weight layer.
        layer: usize,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
    },
    /// The attributes of a node do not ascend strictly, or go beyond `D`.
    #[error("the attributes of node {node} are not strictly ascending numbers below the dimension")]
    Attributes {
        /// The node of representation 1.
        node: usize,
    },
    /// `R > S` somewhere.
    #[error("unit {unit} of node {node} in representation {layer} has a lower bound above its upper bound")]
    CrossedBounds {
        /// The representation.
        layer: usize,
        /// The node.
        node: usize,
        /// The unit.
        unit: usize,
    },
}

impl Instance {
    /// Checks that shapes chain, numbers are finite, indices are in range and `R ≤ S`.
    pub fn validate(&self) -> Result<(), InstanceError> {
        self.validate_network()?;
        let hidden = self.representations() - 2;
        size("lower bounds, layers of", 2, hidden, self.lower.len())?;
        size("upper bounds, layers of", 2, hidden, self.upper.len())?;
        for (index, (lower, upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            let layer = index + 2;
            for (what, bound) in [("lower bounds", lower), ("upper bounds", upper)] {
                size(what, layer, self.message_passing[index].rows, bound.rows)?;
                size(what, layer, self.weights[index].columns, bound.columns)?;
                dense(what, layer, bound)?;
            }
            if let Some(at) = lower.values.iter().zip(&upper.values).position(|(r, s)| r > s) {
                let (node, unit) = (at / lower.columns, at % lower.columns);
                return Err(InstanceError::CrossedBounds { layer, node, unit });
            }
        }
        Ok(())
    }

    /// Everything of [`Instance::validate`] but the bounds, which may not be there yet.
    pub(crate) fn validate_network(&self) -> Result<(), InstanceError> {
        let layers = self.weights.len();
        if layers == 0 {
            return Err(InstanceError::NoLayer);
        }
        size("message passing, layers of", 1, layers, self.message_passing.len())?;
        size("biases, layers of", 1, layers, self.biases.len())?;
        let (mut nodes, mut width) = (self.nodes(), self.dimension);
        for (index, w) in self.weights.iter().enumerate() {
            let layer = index + 1;
            let a = &self.message_passing[index];
            size("columns of the message passing", layer, nodes, a.columns)?;
            size("rows of the weights", layer, width, w.rows)?;
            size("biases", layer, w.columns, self.biases[index].len())?;
            dense("weights", layer, w)?;
            finite("biases", layer, &self.biases[index])?;
            sparse(layer, a)?;
            (nodes, width) = (a.rows, w.columns);
        }
        size("targets", layers, 1, nodes)?;
        size("objective", layers, width, self.objective.len())?;
        finite("objective", layers, &self.objective)?;
        size("local budgets", 1, self.nodes(), self.local_budget.len())?;
        if !self.frozen_attributes.is_empty() {
            size("frozen attributes", 1, self.dimension, self.frozen_attributes.len())?;
        }
        for (node, row) in self.attributes.iter().enumerate() {
            let ascending = row.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascending || row.last().is_some_and(|&last| last as usize >= self.dimension) {
                return Err(InstanceError::Attributes { node });
            }
        }
        Ok(())
    }
}

fn size(what: &'static str, layer: usize, expected: usize, found: usize) -> Result<(), InstanceError> {
    if expected == found { Ok(()) } else { Err(InstanceError::Shape { what, layer, expected, found }) }
}

fn finite(what: &'static str, layer: usize, values: &[f64]) -> Result<(), InstanceError> {
    if values.iter().all(|value| value.is_finite()) { Ok(()) } else { Err(InstanceError::NotFinite { what, layer }) }
}

fn dense(what: &'static str, layer: usize, matrix: &Dense) -> Result<(), InstanceError> {
    // A product that overflows cannot be the length of a vector either.
    size(what, layer, matrix.rows.saturating_mul(matrix.columns), matrix.values.len())?;
    finite(what, layer, &matrix.values)
}

fn sparse(layer: usize, matrix: &Sparse) -> Result<(), InstanceError> {
    let mut seen = BTreeSet::new();
    for &(row, column, value) in &matrix.entries {
        if row >= matrix.rows || column >= matrix.columns {
            return Err(InstanceError::EntryOutside { layer, row, column });
        }
        if !seen.insert((row, column)) {
            return Err(InstanceError::EntryTwice { layer, row, column });
        }
        finite("message passing", layer, &[value])?;
    }
    Ok(())
}
