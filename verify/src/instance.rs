//! `Instance`: one target and one pair of classes as plain data, and the naive forward pass on it.

use std::collections::BTreeSet;

use crate::layer::Layer;
use crate::matrix::Dense;

/// One flip of the attacker: the node (its place in representation 1) and the attribute.
pub type Flip = (usize, u32);

/// The sliced robustness problem of one target and one pair of classes (the paper's Eq. 4–6 after slicing).
///
/// `Ĥ(l+1) = Σ_k A_k(l) H(l) W_k(l) + b(l)`, `H(1) = X̃`, and `H(l) = max(Ĥ(l), 0)` for `l = 2 … L-1`, except for
/// linear units, where `H(l) = Ĥ(l)`; asked is the minimum of `cᵀ Ĥ(L)` over all admissible `X̃`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The weight layers `l = 1 … L-1`. Rows of a layer's operators are the nodes of representation `l+1` kept in the
    /// slice, columns those of representation `l`. The last one has one row, the target.
    pub layers: Vec<Layer>,
    /// `D`, the number of attributes.
    pub dimension: usize,
    /// The present attributes of each node of representation 1, ascending: the rows of `X`.
    pub attributes: Vec<Vec<u32>>,
    /// `R(l)` for the hidden representations `l = 2 … L-1`: no admissible `X̃` takes `Ĥ(l)` below. Empty when `L = 2`.
    /// Linear units have theirs too, of either sign.
    pub lower: Vec<Dense>,
    /// `S(l)`, the same from above.
    pub upper: Vec<Dense>,
    /// `q_n` for each node of representation 1; 0 freezes the node.
    pub local_budget: Vec<usize>,
    /// `Q`, for all nodes together.
    pub global_budget: usize,
    /// Whether the attacker may set an absent attribute.
    pub may_add: bool,
    /// Whether the attacker may clear a present attribute.
    pub may_remove: bool,
    /// Frozen attributes, one flag each; empty means none.
    pub frozen_attributes: Vec<bool>,
    /// `c` over the logits, one per class, usually `e_{y*} - e_y`.
    pub objective: Vec<f64>,
}

impl Instance {
    /// `L`, the number of representations (one more than weight layers).
    pub fn representations(&self) -> usize {
        self.layers.len() + 1
    }

    /// Number of nodes of representation 1, the ones whose attributes matter.
    pub fn nodes(&self) -> usize {
        self.attributes.len()
    }

    /// Whether `X` has the attribute.
    pub fn has(&self, node: usize, attribute: u32) -> bool {
        self.attributes[node].binary_search(&attribute).is_ok()
    }

    /// Whether the attacker may flip this entry at all, budgets of more than zero granted.
    pub fn may_flip(&self, node: usize, attribute: u32) -> bool {
        let frozen = self.frozen_attributes.get(attribute as usize) == Some(&true);
        let direction = if self.has(node, attribute) { self.may_remove } else { self.may_add };
        !frozen && direction && self.local_budget[node] > 0 && self.global_budget > 0
    }

    /// The attributes of a node that may be flipped, ascending.
    pub fn flippable(&self, node: usize) -> Vec<u32> {
        let all = 0..self.dimension as u32;
        all.filter(|&attribute| self.may_flip(node, attribute)).collect()
    }

    /// Whether the flips are distinct, allowed, and within the budgets.
    pub fn admits(&self, flips: &[Flip]) -> bool {
        let distinct: BTreeSet<_> = flips.iter().collect();
        let mut per_node = vec![0; self.nodes()];
        distinct.len() == flips.len()
            && flips.len() <= self.global_budget
            && flips.iter().all(|&(node, attribute)| {
                if node >= self.nodes() || attribute as usize >= self.dimension {
                    return false;
                }
                per_node[node] += 1;
                per_node[node] <= self.local_budget[node] && self.may_flip(node, attribute)
            })
    }

    /// `cᵀ Ĥ(L)` after the flips, in plain f64. Whether they are admissible is not asked; a flip listed twice is
    /// undone. Panics if the instance is not valid or a flip lies outside it.
    pub fn forward(&self, flips: &[Flip]) -> f64 {
        let representations = self.pre_activations(flips);
        let logits = representations.last().expect("a valid instance has a layer");
        self.objective.iter().zip(logits.row(0)).map(|(c, logit)| c * logit).sum()
    }

    /// `Ĥ(2) … Ĥ(L)` after the flips, under the terms of [`Instance::forward`].
    pub fn pre_activations(&self, flips: &[Flip]) -> Vec<Dense> {
        let mut present =
            self.attributes.iter().map(|row| row.iter().copied().collect()).collect::<Vec<BTreeSet<u32>>>();
        for &(node, attribute) in flips {
            assert!((attribute as usize) < self.dimension, "flip outside the dimension");
            if !present[node].remove(&attribute) {
                present[node].insert(attribute);
            }
        }
        let mut hidden = Dense::zeros(self.nodes(), self.dimension);
        for (node, row) in present.iter().enumerate() {
            for &attribute in row {
                *hidden.at_mut(node, attribute as usize) = 1.0;
            }
        }
        let mut result = Vec::new();
        for layer in &self.layers {
            let next = layer.pre_activations(&hidden);
            hidden = layer.activated(&next);
            result.push(next);
        }
        result
    }
}
