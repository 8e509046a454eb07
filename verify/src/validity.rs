//! `InstanceError`: what may be wrong with an instance, and the checks.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

use crate::instance::Instance;
use crate::layer::Layer;
use crate::matrix::{Dense, Sparse};

/// Where in the network something is wrong; both numbers count from 1, layers as the paper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The weight layer, or the representation for bounds.
    pub layer: usize,
    /// The term, where the layer has several and it lies in one of them.
    pub term: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.term {
            Some(term) => write!(formatter, "layer {}, term {term}", self.layer),
            None => write!(formatter, "layer {}", self.layer),
        }
    }
}

/// What is wrong with an [`Instance`].
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum InstanceError {
    /// There is no weight layer at all.
    #[error("the network has no weight layer")]
    NoLayer,
    /// A layer is a sum of nothing.
    #[error("layer {layer} has no term; it needs one even if all its numbers are 0")]
    NoTerm {
        /// The weight layer.
        layer: usize,
    },
    /// Two parts that have to fit do not.
    #[error("{what} ({place}): expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: &'static str,
        /// Where.
        place: Place,
        /// The size that the rest of the instance asks for.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} ({place}) contains a number that is not finite")]
    NotFinite {
        /// The objective, weights, biases or message passing.
        what: &'static str,
        /// Where.
        place: Place,
    },
    /// A message-passing entry lies outside its matrix.
    #[error("message passing ({place}) has an entry at ({row}, {column}), outside the matrix")]
    EntryOutside {
        /// Where.
        place: Place,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
    },
    /// A message-passing position is given twice in one operator.
    #[error("message passing ({place}) has the position ({row}, {column}) twice")]
    EntryTwice {
        /// Where.
        place: Place,
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
        /// By its place in the slice.
        node: usize,
        /// From 0, below the width of the representation.
        unit: usize,
    },
}

impl Instance {
    /// Checks that shapes chain, numbers are finite, indices are in range and `R ≤ S`.
    pub fn validate(&self) -> Result<(), InstanceError> {
        self.validate_network()?;
        let hidden = self.representations() - 2;
        size("lower bounds, layers of", whole(2), hidden, self.lower.len())?;
        size("upper bounds, layers of", whole(2), hidden, self.upper.len())?;
        for (index, (lower, upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            let layer = index + 2;
            for (what, bound) in [("lower bounds", lower), ("upper bounds", upper)] {
                size(what, whole(layer), self.layers[index].rows(), bound.rows)?;
                size(what, whole(layer), self.layers[index].units(), bound.columns)?;
                dense(what, whole(layer), bound)?;
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
        if self.layers.is_empty() {
            return Err(InstanceError::NoLayer);
        }
        let (mut nodes, mut width) = (self.nodes(), self.dimension);
        for (index, layer) in self.layers.iter().enumerate() {
            validate_layer(layer, index + 1, nodes, width)?;
            (nodes, width) = (layer.rows(), layer.units());
        }
        let last = whole(self.layers.len());
        size("targets", last, 1, nodes)?;
        size("objective", last, width, self.objective.len())?;
        finite("objective", last, &self.objective)?;
        size("local budgets", whole(1), self.nodes(), self.local_budget.len())?;
        if !self.frozen_attributes.is_empty() {
            size("frozen attributes", whole(1), self.dimension, self.frozen_attributes.len())?;
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

/// Checks a layer that reads `inputs` numbers of each of `nodes` nodes. The first term says what the layer makes.
fn validate_layer(layer: &Layer, number: usize, nodes: usize, inputs: usize) -> Result<(), InstanceError> {
    if layer.terms.is_empty() {
        return Err(InstanceError::NoTerm { layer: number });
    }
    for (index, term) in layer.terms.iter().enumerate() {
        let place = Place { layer: number, term: (layer.terms.len() > 1).then_some(index + 1) };
        size("columns of the message passing", place, nodes, term.passing.columns)?;
        size("rows of the message passing", place, layer.rows(), term.passing.rows)?;
        size("rows of the weights", place, inputs, term.weight.rows)?;
        size("columns of the weights", place, layer.units(), term.weight.columns)?;
        dense("weights", place, &term.weight)?;
        sparse(place, &term.passing)?;
    }
    let place = whole(number);
    size("biases, units of", place, layer.units(), layer.bias.columns)?;
    if layer.bias.rows != 1 {
        size("biases, one row for all nodes or one for each of", place, layer.rows(), layer.bias.rows)?;
    }
    dense("biases", place, &layer.bias)?;
    if !layer.linear.is_empty() {
        size("flags of linear units", place, layer.units(), layer.linear.len())?;
    }
    Ok(())
}

fn whole(layer: usize) -> Place {
    Place { layer, term: None }
}

fn size(what: &'static str, place: Place, expected: usize, found: usize) -> Result<(), InstanceError> {
    if expected == found { Ok(()) } else { Err(InstanceError::Shape { what, place, expected, found }) }
}

fn finite(what: &'static str, place: Place, values: &[f64]) -> Result<(), InstanceError> {
    if values.iter().all(|value| value.is_finite()) { Ok(()) } else { Err(InstanceError::NotFinite { what, place }) }
}

fn dense(what: &'static str, place: Place, matrix: &Dense) -> Result<(), InstanceError> {
    // A product that overflows cannot be the length of a vector either.
    size(what, place, matrix.rows.saturating_mul(matrix.columns), matrix.values.len())?;
    finite(what, place, &matrix.values)
}

fn sparse(place: Place, matrix: &Sparse) -> Result<(), InstanceError> {
    let mut seen = BTreeSet::new();
    for &(row, column, value) in &matrix.entries {
        if row >= matrix.rows || column >= matrix.columns {
            return Err(InstanceError::EntryOutside { place, row, column });
        }
        if !seen.insert((row, column)) {
            return Err(InstanceError::EntryTwice { place, row, column });
        }
        finite("message passing", place, &[value])?;
    }
    Ok(())
}
