//! `Instance`: one target and one pair of classes as plain data, and the naive forward pass on it.

use std::collections::BTreeSet;

/// A matrix kept as a list of its non-zero entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `(row, column, value)`, each position at most once, in any order.
    pub entries: Vec<(usize, usize, f64)>,
}

/// A matrix kept whole, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dense {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `rows × columns` values, row-major.
    pub values: Vec<f64>,
}

impl Dense {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let values = vec![0.0; rows * columns];
        Self { rows, columns, values }
    }

    /// The value at `(row, column)`. Panics outside the matrix.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// The value at `(row, column)`, to be written. Panics outside the matrix.
    pub fn at_mut(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.columns..(row + 1) * self.columns][column]
    }

    /// One row. Panics outside the matrix.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

/// One flip of the attacker: the node (its place in representation 1) and the attribute.
pub type Flip = (usize, u32);

/// The sliced robustness problem of one target and one pair of classes (the paper's Eq. 4–6 after slicing).
///
/// `Ĥ(l+1) = A(l) H(l) W(l) + b(l)`, `H(l) = max(Ĥ(l), 0)` for `l = 2 … L-1`, `H(1) = X̃`; asked is the minimum of
/// `cᵀ Ĥ(L)` over all admissible `X̃`. Vectors over weight layers start with `l = 1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// `A(l)`, one per weight layer `l = 1 … L-1`: rows are the nodes of representation `l+1` kept in the slice, columns
    /// those of representation `l`. Entries of either sign. The last one has one row, the target.
    pub message_passing: Vec<Sparse>,
    /// `D`, the number of attributes.
    pub dimension: usize,
    /// The present attributes of each node of representation 1, ascending: the rows of `X`.
    pub attributes: Vec<Vec<u32>>,
    /// `W(l)`, `[in, out]`.
    pub weights: Vec<Dense>,
    /// `b(l)`.
    pub biases: Vec<Vec<f64>>,
    /// `R(l)` for the hidden representations `l = 2 … L-1`: no admissible `X̃` takes `Ĥ(l)` below. Empty when `L = 2`.
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
    /// Attributes that nobody may touch, one flag each; empty means none.
    pub frozen_attributes: Vec<bool>,
    /// `c` over the `K` logits, usually `e_{y*} - e_y`.
    pub objective: Vec<f64>,
}

impl Instance {
    /// `L`, the number of representations (one more than weight layers).
    pub fn representations(&self) -> usize {
        self.weights.len() + 1
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

    /// `cᵀ Ĥ(L)` after the flips, in plain f64. Whether they are admissible is not asked; a flip listed twice is undone.
    /// Panics if the instance is not valid or a flip lies outside it.
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
        for ((a, w), b) in self.message_passing.iter().zip(&self.weights).zip(&self.biases) {
            let next = layer(a, &hidden, w, b);
            hidden = next.clone();
            hidden.values.iter_mut().for_each(|value| *value = value.max(0.0));
            result.push(next);
        }
        result
    }
}

/// `A H W + b`, by the definition.
fn layer(a: &Sparse, hidden: &Dense, w: &Dense, b: &[f64]) -> Dense {
    let mut product = Dense::zeros(hidden.rows, w.columns);
    for node in 0..hidden.rows {
        for (input, &value) in hidden.row(node).iter().enumerate() {
            if value != 0.0 {
                for unit in 0..w.columns {
                    *product.at_mut(node, unit) += value * w.at(input, unit);
                }
            }
        }
    }
    let mut next = Dense::zeros(a.rows, w.columns);
    for &(row, column, value) in &a.entries {
        for unit in 0..w.columns {
            *next.at_mut(row, unit) += value * product.at(column, unit);
        }
    }
    for row in 0..a.rows {
        for (unit, bias) in b.iter().enumerate() {
            *next.at_mut(row, unit) += bias;
        }
    }
    next
}
