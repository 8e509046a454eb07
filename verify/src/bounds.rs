//! Activation bounds `R ≤ Ĥ ≤ S` of all hidden units, computed in the most naive way there is.
//!
//! They exist so that this crate can test itself and can doubt the bounds that somebody else computed. Plain f64, rounded
//! to nearest: a bound may be wrong in its last digits, which tests grant as a tolerance.

use crate::instance::{Dense, Instance, Sparse};
use crate::validity::InstanceError;

impl Instance {
    /// Computes `R` and `S` (the sound form: with bias, clipping and the split by signs) and stores them.
    pub fn fill_bounds(&mut self) -> Result<(), InstanceError> {
        let (lower, upper) = self.naive_bounds()?;
        (self.lower, self.upper) = (lower, upper);
        Ok(())
    }

    /// `R` and `S` of the hidden representations `2 … L-1`; the bounds stored in the instance are not looked at.
    pub fn naive_bounds(&self) -> Result<(Vec<Dense>, Vec<Dense>), InstanceError> {
        self.validate_network()?;
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for index in 0..self.weights.len() - 1 {
            let (r, s) = match (lower.last(), upper.last()) {
                (Some(r), Some(s)) => {
                    let (r, s) = (clipped(r), clipped(s));
                    interval_layer(&self.message_passing[index], &r, &s, &self.weights[index], &self.biases[index])
                }
                _ => first_layer(self),
            };
            lower.push(r);
            upper.push(s);
        }
        Ok((lower, upper))
    }
}

/// Bounds of `Ĥ(2)`, the tightest possible: the unperturbed value plus the `Q` largest gains, of each node at most `q_n`
/// (docs/math.md (3.1)).
pub(crate) fn first_layer(instance: &Instance) -> (Dense, Dense) {
    let base = instance.pre_activations(&[]).swap_remove(0);
    let (mut lower, mut upper) = (base.clone(), base);
    let flippable: Vec<_> = (0..instance.nodes()).map(|node| instance.flippable(node)).collect();
    let (a, w) = (&instance.message_passing[0], &instance.weights[0]);
    for row in 0..a.rows {
        for unit in 0..w.columns {
            let (mut down, mut up) = (Vec::new(), Vec::new());
            for &(_, node, value) in a.entries.iter().filter(|entry| entry.0 == row) {
                // The change of the pre-activation that each flip of this node causes.
                let changes = flippable[node].iter().map(|&attribute| {
                    let sign = if instance.has(node, attribute) { -1.0 } else { 1.0 };
                    sign * value * w.at(attribute as usize, unit)
                });
                let changes: Vec<f64> = changes.collect();
                let budget = instance.local_budget[node];
                up.extend(largest(changes.iter().copied(), budget));
                down.extend(largest(changes.iter().map(|change| -change), budget));
            }
            *upper.at_mut(row, unit) += largest(up, instance.global_budget).iter().sum::<f64>();
            *lower.at_mut(row, unit) -= largest(down, instance.global_budget).iter().sum::<f64>();
        }
    }
    (lower, upper)
}

/// Bounds of `A H W + b` when `lower ≤ H ≤ upper`, by interval arithmetic (docs/math.md (3.2)).
pub(crate) fn interval_layer(a: &Sparse, lower: &Dense, upper: &Dense, w: &Dense, b: &[f64]) -> (Dense, Dense) {
    let (mut low, mut high) = (Dense::zeros(lower.rows, w.columns), Dense::zeros(lower.rows, w.columns));
    for node in 0..lower.rows {
        for input in 0..w.rows {
            let (r, s) = (lower.at(node, input), upper.at(node, input));
            for unit in 0..w.columns {
                let weight = w.at(input, unit);
                *low.at_mut(node, unit) += if weight > 0.0 { weight * r } else { weight * s };
                *high.at_mut(node, unit) += if weight > 0.0 { weight * s } else { weight * r };
            }
        }
    }
    let (mut next_low, mut next_high) = (Dense::zeros(a.rows, w.columns), Dense::zeros(a.rows, w.columns));
    for row in 0..a.rows {
        for (unit, &bias) in b.iter().enumerate() {
            *next_low.at_mut(row, unit) = bias;
            *next_high.at_mut(row, unit) = bias;
        }
    }
    for &(row, node, value) in &a.entries {
        for unit in 0..w.columns {
            let (r, s) = (low.at(node, unit), high.at(node, unit));
            *next_low.at_mut(row, unit) += if value > 0.0 { value * r } else { value * s };
            *next_high.at_mut(row, unit) += if value > 0.0 { value * s } else { value * r };
        }
    }
    (next_low, next_high)
}

/// The `count` largest of the positive values, largest first.
fn largest(values: impl IntoIterator<Item = f64>, count: usize) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|&value| value > 0.0).collect();
    values.sort_by(|left, right| right.total_cmp(left));
    values.truncate(count);
    values
}

fn clipped(matrix: &Dense) -> Dense {
    let mut result = matrix.clone();
    result.values.iter_mut().for_each(|value| *value = value.max(0.0));
    result
}
