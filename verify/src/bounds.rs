//! Activation bounds `R ≤ Ĥ ≤ S` of all hidden units, computed in the most naive way there is.
//!
//! They exist so that this crate can test itself and can question bounds that were computed elsewhere. Plain f64,
//! rounded to nearest: a bound may be wrong in its last digits, which tests grant as a tolerance.

use crate::instance::Instance;
use crate::layer::Layer;
use crate::matrix::Dense;
use crate::validity::InstanceError;

impl Instance {
    /// Computes `R` and `S` (the sound form: with bias, clipping of what is clipped and the split by signs) and stores
    /// them.
    pub fn fill_bounds(&mut self) -> Result<(), InstanceError> {
        let (lower, upper) = self.naive_bounds()?;
        (self.lower, self.upper) = (lower, upper);
        Ok(())
    }

    /// `R` and `S` of the hidden representations `2 … L-1`; the bounds stored in the instance are not looked at.
    pub fn naive_bounds(&self) -> Result<(Vec<Dense>, Vec<Dense>), InstanceError> {
        self.validate_network()?;
        let (mut lower, mut upper): (Vec<Dense>, Vec<Dense>) = (Vec::new(), Vec::new());
        for index in 0..self.layers.len() - 1 {
            let (r, s) = match (lower.last(), upper.last()) {
                (Some(r), Some(s)) => {
                    let below = &self.layers[index - 1];
                    interval_layer(&self.layers[index], &below.activated(r), &below.activated(s))
                }
                _ => first_layer(self),
            };
            lower.push(r);
            upper.push(s);
        }
        Ok((lower, upper))
    }
}

/// Bounds of `Ĥ(2)`, the tightest possible: the unperturbed value plus the `Q` largest gains, of each node at most
/// `q_n` (docs/math.md (3.1)).
pub(crate) fn first_layer(instance: &Instance) -> (Dense, Dense) {
    let base = instance.pre_activations(&[]).swap_remove(0);
    let (mut lower, mut upper) = (base.clone(), base);
    let flippable: Vec<_> = (0..instance.nodes()).map(|node| instance.flippable(node)).collect();
    let layer = &instance.layers[0];
    for (row, links) in layer.links().iter().enumerate() {
        for unit in 0..layer.units() {
            let (mut down, mut up) = (Vec::new(), Vec::new());
            for link in links {
                // The change of the pre-activation that each flip of this node causes, by all terms together.
                let changes = flippable[link.node].iter().map(|&attribute| {
                    let sign = if instance.has(link.node, attribute) { -1.0 } else { 1.0 };
                    sign * layer.coefficient(link, attribute as usize, unit)
                });
                let changes: Vec<f64> = changes.collect();
                let budget = instance.local_budget[link.node];
                up.extend(largest(changes.iter().copied(), budget));
                down.extend(largest(changes.iter().map(|change| -change), budget));
            }
            *upper.at_mut(row, unit) += largest(up, instance.global_budget).iter().sum::<f64>();
            *lower.at_mut(row, unit) -= largest(down, instance.global_budget).iter().sum::<f64>();
        }
    }
    (lower, upper)
}

/// Bounds of `Σ_k A_k H W_k + b` when `lower ≤ H ≤ upper`, by interval arithmetic (docs/math.md (3.2)). Where several
/// terms read the same node, an input counts by the sum of its coefficients, so these are the tightest that the box
/// allows.
pub(crate) fn interval_layer(layer: &Layer, lower: &Dense, upper: &Dense) -> (Dense, Dense) {
    let products: Vec<_> = layer.terms.iter().map(|term| interval_product(lower, upper, &term.weight)).collect();
    let (mut low, mut high) = (Dense::zeros(layer.rows(), layer.units()), Dense::zeros(layer.rows(), layer.units()));
    for (row, links) in layer.links().iter().enumerate() {
        for (unit, &bias) in layer.bias_of(row).iter().enumerate() {
            let (mut least, mut most) = (bias, bias);
            let mut add = |(r, s): (f64, f64)| (least, most) = (least + r, most + s);
            for link in links {
                match link.entries[..] {
                    [(term, value)] => {
                        let (r, s) = &products[term];
                        add(scaled(value, r.at(link.node, unit), s.at(link.node, unit)));
                    }
                    _ => (0..layer.inputs()).for_each(|input| {
                        let (r, s) = (lower.at(link.node, input), upper.at(link.node, input));
                        add(scaled(layer.coefficient(link, input, unit), r, s));
                    }),
                }
            }
            (*low.at_mut(row, unit), *high.at_mut(row, unit)) = (least, most);
        }
    }
    (low, high)
}

/// Bounds of `H W` when `lower ≤ H ≤ upper`.
fn interval_product(lower: &Dense, upper: &Dense, weight: &Dense) -> (Dense, Dense) {
    let (mut low, mut high) = (Dense::zeros(lower.rows, weight.columns), Dense::zeros(lower.rows, weight.columns));
    for node in 0..lower.rows {
        for input in 0..weight.rows {
            for unit in 0..weight.columns {
                let (r, s) = scaled(weight.at(input, unit), lower.at(node, input), upper.at(node, input));
                *low.at_mut(node, unit) += r;
                *high.at_mut(node, unit) += s;
            }
        }
    }
    (low, high)
}

/// What `factor · h` lies between when `lower ≤ h ≤ upper`.
fn scaled(factor: f64, lower: f64, upper: f64) -> (f64, f64) {
    if factor > 0.0 { (factor * lower, factor * upper) } else { (factor * upper, factor * lower) }
}

/// The `count` largest of the positive values, largest first.
fn largest(values: impl IntoIterator<Item = f64>, count: usize) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|&value| value > 0.0).collect();
    values.sort_by(|left, right| right.total_cmp(left));
    values.truncate(count);
    values
}
