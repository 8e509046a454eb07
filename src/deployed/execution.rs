//! What an execution is: the format of its numbers, how far its operator entries may be from ours, what happens to
//! subnormals.
//!
//! A described layer `Σ_k A_k H_k W_k + b` is computed from the numbers `H_k` that the layers it reads have given, in
//! the given precision and the exponent range of binary32, rounding to nearest. Entry by entry and term by term an
//! execution chooses: `A_k H_k` first or `H_k W_k` first; any binary tree for each sum, the terms and the bias anywhere
//! in it; a fused or a separate multiply-add at every product; operator entries within the stated error of ours.
//! Weights, biases and matrices that are no numbers of the format are rounded to it first.

use serde::{Deserialize, Serialize};

use crate::problem::graph::Graph;
use crate::problem::network::{Layer, Network, Operator};

/// Units by which entries of a rule that frameworks compute at run time may differ from ours: `deg.pow(-0.5)` and two
/// products.
pub const RULE_ERROR: u32 = 8;

/// What an execution may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Bits of a significand: the unit roundoff is `2^−precision`. 24 for float32.
    pub precision: u32,
    /// By how many unit roundoffs operator entries may differ from ours, relatively; none: what is usual for each
    /// operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_error: Option<u32>,
    /// May subnormal numbers be taken for zero, wherever they occur?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush_subnormals: bool,
}

impl Execution {
    /// Any execution in binary32, subnormals kept.
    pub const FLOAT32: Execution = Execution { precision: 24, operator_error: None, flush_subnormals: false };

    /// `u`.
    pub fn unit_roundoff(&self) -> f64 {
        0.5f64.powi(self.precision as i32)
    }

    /// What a result that underflows is wrong by, at most: half the smallest subnormal, or the smallest normal number
    /// where flushed.
    pub(crate) fn underflow(&self) -> f64 {
        // The smallest subnormal is 2^(1 − 126 − precision).
        0.5f64.powi(if self.flush_subnormals { 126 } else { 126 + self.precision as i32 })
    }

    /// By how many unit roundoffs the entries of each operator may differ from ours: layer by layer, term by term, as
    /// the model has them.
    pub fn operator_errors(&self, graph: &Graph, network: &Network) -> Vec<Vec<u32>> {
        let of_layer = |layer: &Layer| {
            let of_term = |operator: &Operator| self.operator_error.unwrap_or_else(|| self.usual(operator, graph));
            layer.operators.iter().map(of_term).collect()
        };
        network.own_layers().map(of_layer).collect()
    }

    fn usual(&self, operator: &Operator, graph: &Graph) -> u32 {
        match operator {
            Operator::Identity | Operator::Sum | Operator::SumWithSelf | Operator::PoolSum => 0,
            Operator::Matrix(matrix) if matrix.data().iter().all(|&a| self.holds(a)) => 0,
            Operator::Polynomial(rule, coefficients) => {
                if operator.is_signed() {
                    // Entries may cancel: nothing relative can be said.
                    return u32::MAX;
                }
                // Hop by hop: each multiplies by an entry, adds a row, and by a coefficient, and adds the next power.
                let longest = u32::try_from(rule.longest_row(graph)).unwrap_or(u32::MAX);
                let hops = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0) as u32;
                let hop = self.usual(rule, graph).saturating_add(longest).saturating_add(4);
                hops.saturating_mul(hop).saturating_add(4)
            }
            _ => RULE_ERROR,
        }
    }

    /// Has the significand of a number so few bits that it is not rounded?
    pub(crate) fn holds(&self, x: f64) -> bool {
        let bits = x.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let significand = if bits >> 52 & 0x7ff == 0 { fraction } else { fraction | 1 << 52 };
        significand == 0 || 64 - significand.leading_zeros() - significand.trailing_zeros() <= self.precision
    }

    /// Layers (from 1) with weights, biases or matrices that are rounded when the network is deployed.
    pub fn rounded_layers(&self, network: &Network) -> Vec<usize> {
        let rounds = |layer: &&Layer| !layer.weight.values().iter().chain(layer.bias.values()).all(|&x| self.holds(x));
        let layers = (1..).zip(network.layers());
        layers.filter(|(_, layer)| rounds(layer)).map(|(number, _)| number).collect()
    }
}

/// `2^-24`, or the number.
///
/// # Errors
/// If it is no power of two between `2^-53` and `2^-2`.
pub fn precision(text: &str) -> Result<u32, String> {
    let wrong =
        || format!("'{text}' is no unit roundoff: give a power of two such as 2^-24 (float32) or 2^-8 (bfloat16)");
    let bits = match text.strip_prefix("2^-") {
        Some(power) => power.parse().map_err(|_| wrong())?,
        None => {
            let value: f64 = text.parse().map_err(|_| wrong())?;
            (2..=53).find(|&bits| 0.5f64.powi(bits as i32) == value).ok_or_else(wrong)?
        }
    };
    if (2..=53).contains(&bits) { Ok(bits) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_float32_holds_is_what_it_gives_back() {
        for x in [0.0, -0.1, 0.1f32 as f64, 1.0 + f64::EPSILON, 16_777_217.0, 3e-310, 1e-40f32 as f64] {
            let same = (x as f32) as f64 == x;
            assert!(!same || Execution::FLOAT32.holds(x), "{x}");
        }
        assert!(!Execution::FLOAT32.holds(0.1) && !Execution::FLOAT32.holds(16_777_217.0));
    }

    #[test]
    fn unit_roundoffs_are_powers_of_two() {
        assert_eq!(precision("2^-24"), Ok(24));
        assert_eq!(precision("0.00390625"), Ok(8));
        for wrong in ["", "1", "2^-1", "2^-54", "0.3", "2^24"] {
            assert!(precision(wrong).unwrap_err().contains("power of two"), "{wrong}");
        }
    }
}
