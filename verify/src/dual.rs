//! The paper's dual `g(Ω, η, ρ)` by its definition, slow and plain, to judge the fast ones.

use crate::instance::Instance;
use crate::layer::{Layer, Term};
use crate::matrix::Dense;

/// What the attributes see of the dual at some Ω: everything but the budgets' multipliers (docs/math.md (4.7)).
#[derive(Clone, Debug, PartialEq)]
pub struct Textbook {
    /// `Σ_{l≥2} Σ_I (S R/(S-R)) [Φ̂]₊ − Σ_l ⟨Φ(l+1), b(l)⟩ − ⟨X, Φ̂(1)⟩`: the dual before anything is flipped.
    pub constant: f64,
    /// `Φ̂(1)`, nodes × attributes.
    pub hat: Dense,
    /// `Φ̂(l)` of the hidden representations `2 … L-1`; minus it is the coefficient of a unit in the objective.
    pub hidden: Vec<Dense>,
}

/// The multipliers of the budgets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Multipliers {
    /// `η_n ≥ 0`, one per node.
    pub eta: Vec<f64>,
    /// `ρ ≥ 0`.
    pub rho: f64,
}

impl Textbook {
    /// Runs backwards from `Φ(L) = -c`: `Φ̂(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ`, and `Φ` of it by the kinds of units; a
    /// linear one has `Φ = Φ̂`. `slopes` is Ω, one matrix per hidden representation. Panics if the instance is not
    /// valid.
    pub fn new(instance: &Instance, slopes: &[Dense]) -> Self {
        let values: Vec<f64> = instance.objective.iter().map(|c| -c).collect();
        let mut phi = Dense { rows: 1, columns: values.len(), values };
        let (mut constant, mut hidden) = (0.0, Vec::new());
        for l in (1..instance.representations()).rev() {
            let layer = &instance.layers[l - 1];
            for row in 0..phi.rows {
                constant -= phi.row(row).iter().zip(layer.bias_of(row)).map(|(phi, b)| phi * b).sum::<f64>();
            }
            let mut hat = Dense::zeros(layer.columns(), layer.inputs());
            for Term { passing, weight } in &layer.terms {
                // Aᵀ Φ first: the product with W is the expensive one.
                let mut gathered = Dense::zeros(passing.columns, weight.columns);
                for &(row, column, value) in &passing.entries {
                    for unit in 0..weight.columns {
                        *gathered.at_mut(column, unit) += value * phi.at(row, unit);
                    }
                }
                for node in 0..passing.columns {
                    for input in 0..weight.rows {
                        let product = gathered.row(node).iter().zip(weight.row(input)).map(|(g, w)| g * w);
                        *hat.at_mut(node, input) += product.sum::<f64>();
                    }
                }
            }
            if l == 1 {
                for (node, row) in instance.attributes.iter().enumerate() {
                    constant -= row.iter().map(|&attribute| hat.at(node, attribute as usize)).sum::<f64>();
                }
                hidden.reverse();
                return Self { constant, hat, hidden };
            }
            hidden.push(hat.clone());
            for at in (0..hat.values.len()).filter(|at| !instance.layers[l - 2].is_linear(at % hat.columns)) {
                let (r, s) = (instance.lower[l - 2].values[at], instance.upper[l - 2].values[at]);
                let hat = &mut hat.values[at];
                if s <= 0.0 {
                    *hat = 0.0;
                } else if r < 0.0 {
                    constant += s * r / (s - r) * hat.max(0.0);
                    *hat = s / (s - r) * hat.max(0.0) + slopes[l - 2].values[at] * hat.min(0.0);
                }
            }
            phi = hat;
        }
        unreachable!("a valid instance has a layer, and the loop ends with layer 1")
    }

    /// `Δ_nd` of every entry that may be flipped, row by row: what flipping it takes from the relaxed margin, at least
    /// 0.
    pub fn losses(&self, instance: &Instance) -> Vec<Vec<(u32, f64)>> {
        let loss = |node: usize, attribute: u32| {
            let value = self.hat.at(node, attribute as usize);
            (attribute, if instance.has(node, attribute) { -value } else { value }.max(0.0))
        };
        (0..instance.nodes()).map(|n| instance.flippable(n).into_iter().map(|d| loss(n, d)).collect()).collect()
    }

    /// `g` at any `η, ρ ≥ 0`: `constant − Σ [Δ_nd − η_n − ρ]₊ − Σ q_n η_n − Q ρ` (docs/math.md (1.7); the paper's dual
    /// before Theorem 4).
    pub fn at(&self, instance: &Instance, multipliers: &Multipliers) -> f64 {
        let mut value = self.constant;
        for (node, row) in self.losses(instance).iter().enumerate() {
            let eta = multipliers.eta[node];
            value -= row.iter().map(|&(_, loss)| (loss - eta - multipliers.rho).max(0.0)).sum::<f64>();
            // A budget above the number of entries is that number; 0 · ∞ and usize::MAX · 0 have no place here.
            value -= eta * instance.local_budget[node].min(instance.dimension) as f64;
        }
        value - multipliers.rho * instance.global_budget.min(instance.nodes() * instance.dimension) as f64
    }

    /// The best `η, ρ` (the paper's Theorem 4): `ρ` is the `Q`-th largest of the values that the rows keep, or 0 when
    /// they keep fewer, and `η_n = max(0, q_n-th largest of row n − ρ)` (docs/math.md (1.8)).
    pub fn multipliers(&self, instance: &Instance) -> Multipliers {
        let rows: Vec<Vec<f64>> = self.sorted(instance);
        let mut kept: Vec<f64> = Vec::new();
        for (row, &budget) in rows.iter().zip(&instance.local_budget) {
            kept.extend(row.iter().take(budget));
        }
        kept.sort_by(|left, right| right.total_cmp(left));
        let place = |values: &[f64], count: usize| count.checked_sub(1).and_then(|at| values.get(at)).copied();
        // Without a global budget nothing may be flipped, and no loss exists that ρ would have to pay for.
        let rho = place(&kept, instance.global_budget).unwrap_or(0.0);
        let eta =
            rows.iter().zip(&instance.local_budget).map(|(row, &q)| (place(row, q).unwrap_or(0.0) - rho).max(0.0));
        Multipliers { eta: eta.collect(), rho }
    }

    /// `g(Ω)` in its closed form: `constant −` the largest sum of Δ that the budgets allow.
    pub fn value(&self, instance: &Instance) -> f64 {
        let mut kept: Vec<f64> = Vec::new();
        for (row, &budget) in self.sorted(instance).iter().zip(&instance.local_budget) {
            kept.extend(row.iter().take(budget));
        }
        kept.sort_by(|left, right| right.total_cmp(left));
        self.constant - kept.into_iter().take(instance.global_budget).sum::<f64>()
    }

    fn sorted(&self, instance: &Instance) -> Vec<Vec<f64>> {
        let falling = |row: &Vec<(u32, f64)>| {
            let mut values: Vec<f64> = row.iter().map(|entry| entry.1).collect();
            values.sort_by(|left, right| right.total_cmp(left));
            values
        };
        self.losses(instance).iter().map(falling).collect()
    }
}

/// The paper's default Ω: `S/(S-R)` on `I`, 1 on `I₊` and at linear units, 0 on `I₋`.
pub fn default_slopes(instance: &Instance) -> Vec<Dense> {
    let slope = |linear: bool, r: f64, s: f64| match (r, s) {
        _ if linear => 1.0,
        (_, s) if s <= 0.0 => 0.0,
        (r, _) if r >= 0.0 => 1.0,
        (r, s) => s / (s - r),
    };
    let bounds = instance.lower.iter().zip(&instance.upper);
    let matrix = |((r, s), layer): ((&Dense, &Dense), &Layer)| {
        let mut slopes = Dense::zeros(r.rows, r.columns);
        for (at, value) in slopes.values.iter_mut().enumerate() {
            *value = slope(layer.is_linear(at % r.columns), r.values[at], s.values[at]);
        }
        slopes
    };
    bounds.zip(&instance.layers).map(matrix).collect()
}
