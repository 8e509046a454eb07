//! Ranges: to which values an attacker may move attributes that are numbers.

use thiserror::Error;

use crate::number::dyadic::Dyadic;
use crate::number::span::{Span, down, up};
use crate::problem::graph::Graph;

/// The values that entries may take (docs/math.md (25.1)).
#[derive(Clone, Debug, PartialEq)]
pub enum Ranges {
    /// Those at most so far from their own.
    Ball(f64),
    /// Those between two numbers for each attribute, among which their own is.
    Between {
        /// By attribute.
        low: Vec<f64>,
        /// By attribute.
        high: Vec<f64>,
    },
}

/// Ranges that are none, or not those of a graph.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A radius that is none.
    #[error("epsilon is {0}: it must be a finite number that is not negative")]
    Radius(f64),
    /// Limits that are none.
    #[error("the range of attribute {attribute} goes from {low} to {high}")]
    Limits {
        /// The attribute.
        attribute: usize,
        /// Its lower limit.
        low: f64,
        /// Its upper limit.
        high: f64,
    },
    /// Another number of ranges than of attributes.
    #[error("{given} ranges were given for {attributes} attributes")]
    Length {
        /// Ranges given.
        given: usize,
        /// Attributes of the graph.
        attributes: usize,
    },
    /// A value that its range does not contain.
    #[error("attribute {attribute} of node {node} is {value}, which its range from {low} to {high} does not contain")]
    Outside {
        /// The node.
        node: usize,
        /// The attribute.
        attribute: u32,
        /// Its value.
        value: f64,
        /// The lower limit.
        low: f64,
        /// The upper limit.
        high: f64,
    },
}

impl Ranges {
    /// From the smallest to the largest value that each attribute has somewhere in a graph, or in the graph that it is
    /// a part of.
    pub fn observed(graph: &Graph) -> Ranges {
        let observed = graph.observed();
        Ranges::Between { low: observed.low.clone(), high: observed.high.clone() }
    }

    /// Are they ranges of the attributes of this graph, each with the values that it has?
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self, graph: &Graph) -> Result<(), RangeError> {
        let attributes = graph.own_attribute_count();
        let (low, high) = match self {
            Ranges::Ball(radius) if radius.is_finite() && *radius >= 0.0 => return Ok(()),
            Ranges::Ball(radius) => return Err(RangeError::Radius(*radius)),
            Ranges::Between { low, high } => (low, high),
        };
        if let Some(given) = [low.len(), high.len()].into_iter().find(|&given| given != attributes) {
            return Err(RangeError::Length { given, attributes });
        }
        for (attribute, (&low, &high)) in low.iter().zip(high).enumerate() {
            if !(low <= high && low.is_finite() && high.is_finite()) {
                return Err(RangeError::Limits { attribute, low, high });
            }
        }
        for node in 0..graph.node_count() {
            // What is not stored is 0.
            let row = graph.row_values(node);
            let mut stored = row.iter().peekable();
            for attribute in 0..attributes as u32 {
                let value = stored.next_if(|entry| entry.0 == attribute).map_or(0.0, |entry| entry.1);
                let (low, high) = (low[attribute as usize], high[attribute as usize]);
                if !(low..=high).contains(&value) {
                    return Err(RangeError::Outside { node, attribute, value, low, high });
                }
            }
        }
        Ok(())
    }

    /// How far an entry may be moved, or a little farther.
    pub(crate) fn moves(&self, attribute: usize, value: f64) -> Span {
        match self {
            Ranges::Ball(radius) => Span { lo: -radius, hi: *radius },
            Ranges::Between { low, high } => {
                let (least, most) = (low[attribute] - value, high[attribute] - value);
                // A difference that is 0 is exact.
                let lo = if least == 0.0 { 0.0 } else { down(least) };
                Span { lo, hi: if most == 0.0 { 0.0 } else { up(most) } }
            }
        }
    }

    /// How far any entry of an attribute may be moved, at most.
    pub(crate) fn farthest(&self, attribute: usize) -> f64 {
        match self {
            Ranges::Ball(radius) => *radius,
            Ranges::Between { low, high } if low[attribute] == high[attribute] => 0.0,
            Ranges::Between { low, high } => up(high[attribute] - low[attribute]),
        }
    }

    /// May an entry with this value get that one?
    pub(crate) fn permit(&self, attribute: usize, value: f64, new: f64) -> bool {
        match self {
            Ranges::Between { low, high } => (low[attribute]..=high[attribute]).contains(&new),
            Ranges::Ball(_) if !new.is_finite() => false,
            Ranges::Ball(radius) => {
                let (distance, radius) = (&Dyadic::from(new) - &Dyadic::from(value), Dyadic::from(*radius));
                distance <= radius && &Dyadic::ZERO - &distance <= radius
            }
        }
    }

    /// Floats between which all values of an entry lie.
    pub(crate) fn limits(&self, attribute: usize, value: f64) -> [f64; 2] {
        match self {
            Ranges::Between { low, high } => [low[attribute], high[attribute]],
            Ranges::Ball(radius) => {
                let (centre, radius) = (Dyadic::from(value), Dyadic::from(*radius));
                [(&centre - &radius).floor_f64(), (&centre + &radius).ceil_f64()]
            }
        }
    }

    /// The smallest and the largest float that an entry may get.
    pub(crate) fn ends(&self, attribute: usize, value: f64) -> [f64; 2] {
        match self {
            Ranges::Between { low, high } => [low[attribute], high[attribute]],
            Ranges::Ball(radius) => {
                let (centre, radius) = (Dyadic::from(value), Dyadic::from(*radius));
                [(&centre - &radius).ceil_f64(), (&centre + &radius).floor_f64()]
            }
        }
    }
}
