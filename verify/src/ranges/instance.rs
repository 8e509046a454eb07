//! `RangeInstance`: the problem as plain data, the naive forward pass on it, and naive bounds of its units.

use crate::layer::Layer;
use crate::matrix::Dense;
use crate::mixed::Boxes;

/// One target and one pair of classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeInstance {
    /// The layers; the last makes one row of logits.
    pub layers: Vec<Layer>,
    /// The attributes, a row for each node.
    pub values: Dense,
    /// The smallest value that each entry may get; not above its own.
    pub low: Dense,
    /// The largest one; not below its own.
    pub high: Dense,
    /// How many entries of each row may be moved.
    pub local_budget: Vec<usize>,
    /// How many in all.
    pub global_budget: usize,
    /// The coefficients of the logits in the margin.
    pub objective: Vec<f64>,
}

impl RangeInstance {
    /// May an entry be moved at all?
    pub fn may_move(&self, node: usize, attribute: usize) -> bool {
        let range = [self.low.at(node, attribute), self.high.at(node, attribute)];
        self.local_budget[node].min(self.global_budget) > 0 && range[0] < range[1]
    }

    /// Are these the attributes after admissible moves?
    pub fn admits(&self, moved: &Dense) -> bool {
        let inside = |at: usize| (self.low.values[at]..=self.high.values[at]).contains(&moved.values[at]);
        let changes = |node: usize| {
            let pairs = self.values.row(node).iter().zip(moved.row(node));
            pairs.filter(|(old, new)| old != new).count()
        };
        let counts: Vec<usize> = (0..self.values.rows).map(changes).collect();
        (0..moved.values.len()).all(inside)
            && counts.iter().zip(&self.local_budget).all(|(count, budget)| count <= budget)
            && counts.iter().sum::<usize>() <= self.global_budget
    }

    /// The margin with these attributes, in plain f64.
    pub fn forward(&self, attributes: &Dense) -> f64 {
        let mut hidden = attributes.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            let next = layer.pre_activations(&hidden);
            hidden = if index + 1 < self.layers.len() { layer.activated(&next) } else { next };
        }
        self.objective.iter().zip(&hidden.values).map(|(c, logit)| c * logit).sum()
    }

    /// The tightest bounds of the first pre-activations (docs/math.md (25.2)), in plain f64.
    pub(super) fn first(&self) -> Boxes {
        let layer = &self.layers[0];
        let base = layer.pre_activations(&self.values);
        let (mut lower, mut upper) = (base.clone(), base);
        for (row, links) in layer.links().iter().enumerate() {
            for unit in 0..layer.units() {
                for (bound, sign) in [(&mut upper, 1.0), (&mut lower, -1.0)] {
                    let mut gains = Vec::new();
                    for link in links {
                        let gain = |attribute: usize| {
                            let slope = sign * layer.coefficient(link, attribute, unit);
                            let [x, low, high] =
                                [&self.values, &self.low, &self.high].map(|of| of.at(link.node, attribute));
                            (slope * (high - x)).max(slope * (low - x))
                        };
                        let own = (0..self.values.columns).filter(|&d| self.may_move(link.node, d)).map(gain);
                        gains.extend(largest(own.collect(), self.local_budget[link.node]));
                    }
                    *bound.at_mut(row, unit) += sign * largest(gains, self.global_budget).iter().sum::<f64>();
                }
            }
        }
        Boxes { lower, upper }
    }
}

/// The largest so many of some numbers.
fn largest(mut numbers: Vec<f64>, count: usize) -> Vec<f64> {
    numbers.sort_by(|x, y| y.total_cmp(x));
    numbers.truncate(count);
    numbers
}
