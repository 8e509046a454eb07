//! The largest loss `T`: the sum of the `q'_n` worst free flips of each row, of those the `Q'` worst.
//!
//! A flip changes what node `n` sends to unit `j` by `v_j = ±W_dj` and so loses `−Σ_j slope_j v_j`, where the slope is
//! `plus` for `v_j > 0` and `minus` for `v_j < 0`. Floats with an error bound rule out what is surely not among the worst.

use crate::budget::{Budget, Decided};
use crate::network::{Network, norm_above};
use crate::number::{Number, keep_largest, sum};
use crate::slice::Slice;

/// Slopes of one row of attributes: what the objective changes by, at least, per unit of change in what is sent.
pub struct Slopes<N> {
    /// For a rise.
    pub plus: Vec<N>,
    /// For a fall.
    pub minus: Vec<N>,
}

/// Everything that the losses of one target depend on.
pub struct Losses<'a> {
    /// The network.
    pub network: &'a Network<'a>,
    /// The budget.
    pub budget: &'a Budget<'a>,
    /// The target's slice.
    pub slice: &'a Slice,
    /// The path.
    pub decided: &'a Decided,
    /// Evaluate every flip rather than those that floats do not rule out.
    pub all: bool,
}

impl Losses<'_> {
    /// `T`, given the slopes of every node of representation 1.
    pub fn largest<N: Number>(&self, slopes: &[Slopes<N>]) -> N {
        let mut worst: Vec<N> = Vec::new();
        for (place, attributes) in self.candidates(slopes) {
            let node = self.slice.nodes(1)[place];
            let present = self.network.graph.attributes.row(node as usize);
            let mut losses: Vec<N> = attributes
                .into_iter()
                .map(|d| self.loss(d, present.binary_search(&d).is_ok(), &slopes[place]))
                .filter(|loss| loss.enclosure().upper > 0.0)
                .collect();
            keep_largest(&mut losses, self.decided.left(self.budget, node).unwrap_or(0));
            worst.append(&mut losses);
        }
        keep_largest(&mut worst, self.decided.left_in_all(self.budget).unwrap_or(0));
        sum(&worst)
    }

    /// The loss of one flip.
    fn loss<N: Number>(&self, attribute: u32, present: bool, slopes: &Slopes<N>) -> N {
        let mut loss = N::zero();
        for (unit, &w) in self.network.layers[0].weight.row(attribute as usize).iter().enumerate() {
            let change = if present { -w } else { w };
            let slope = if change > 0.0 { &slopes.plus[unit] } else { &slopes.minus[unit] };
            loss.add(&slope.scaled(-change));
        }
        loss
    }

    /// For each row its free flips, without some that surely are not needed for `T`.
    fn candidates<N: Number>(&self, slopes: &[Slopes<N>]) -> Vec<(usize, Vec<u32>)> {
        let total = self.decided.left_in_all(self.budget).unwrap_or(0);
        let mut rows: Vec<Judge> = slopes.iter().enumerate().map(|(place, slopes)| Judge::new(place, slopes)).collect();
        // The rows that matter most first, so that the threshold soon rules out the others.
        rows.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        let mut found = Vec::new();
        // What each flip of an admissible choice of `total` flips surely loses at least: one that surely loses less is
        // not needed.
        let (mut threshold, mut surely) = (0.0, Vec::new());
        let mut is_present = vec![false; self.network.graph.attributes.columns];
        for row in rows {
            let node = self.slice.nodes(1)[row.place];
            let count = self.decided.left(self.budget, node).unwrap_or(0);
            if count == 0 {
                continue;
            }
            let present = self.network.graph.attributes.row(node as usize);
            present.iter().for_each(|&d| is_present[d as usize] = true);
            let fixed: Vec<u32> = self.decided.fixed_in(node).collect();
            let mut kept: Vec<(u32, f64)> = Vec::new();
            // The same for this row and its `count` flips.
            let (mut own, mut least_needed): (Vec<f64>, f64) = (Vec::new(), threshold);
            let width = self.network.width(2).max(1);
            for (weights, &(d, norm)) in self.network.by_norm_weights.chunks_exact(width).zip(&self.network.by_norm) {
                // Cauchy and Schwarz.
                let product = (row.norm * norm).next_up();
                if !self.all && (norm <= 0.0 || row.norm <= 0.0 || product < least_needed) {
                    break;
                }
                let is_present = is_present[d as usize];
                let most = row.most(weights, is_present, product);
                // A NaN is never ruled out.
                let ruled_out = most <= 0.0 || most < least_needed;
                if (ruled_out && !self.all) || !self.budget.permits((node, d), is_present) || fixed.contains(&d) {
                    continue;
                }
                kept.push((d, most));
                let least = row.least(weights, is_present, product);
                if least > least_needed {
                    own.insert(own.partition_point(|other| *other > least), least);
                    own.truncate(count);
                    if own.len() == count {
                        least_needed = own[count - 1];
                    }
                }
            }
            present.iter().for_each(|&d| is_present[d as usize] = false);
            if !self.all {
                kept.retain(|&(_, most)| most >= least_needed || most.is_nan());
                surely.append(&mut own);
                if surely.len() >= total {
                    surely.sort_unstable_by(|a: &f64, b| b.total_cmp(a));
                    surely.truncate(total);
                    threshold = surely.last().copied().unwrap_or(0.0);
                }
            }
            found.push((row.place, kept.into_iter().map(|flip| flip.0).collect()));
        }
        found
    }
}

/// The slopes of a row in floats.
struct Judge {
    place: usize,
    /// Not below the norm of the larger slopes.
    norm: f64,
    plus: Ends,
    minus: Ends,
}

/// Lower and upper ends.
type Ends = (Vec<f64>, Vec<f64>);

impl Judge {
    fn new<N: Number>(place: usize, slopes: &Slopes<N>) -> Judge {
        let ends = |slopes: &[N]| -> Ends {
            slopes.iter().map(|slope| slope.enclosure()).map(|ends| (ends.lower, ends.upper)).unzip()
        };
        let (plus, minus) = (ends(&slopes.plus), ends(&slopes.minus));
        let largest: Vec<f64> = (0..plus.0.len())
            .map(|j| [plus.0[j], plus.1[j], minus.0[j], minus.1[j]].iter().fold(0.0, |most: f64, x| most.max(x.abs())))
            .collect();
        Judge { place, norm: norm_above(&largest), plus, minus }
    }

    /// A float not below the loss; `product` is not below the product of the norms.
    fn most(&self, weights: &[f64], present: bool, product: f64) -> f64 {
        let value = if present {
            dot(weights, &self.minus.1, &self.plus.0)
        } else {
            -dot(weights, &self.plus.0, &self.minus.1)
        };
        (value + error(weights.len(), product)).next_up()
    }

    /// A float not above the loss.
    fn least(&self, weights: &[f64], present: bool, product: f64) -> f64 {
        let value = if present {
            dot(weights, &self.minus.0, &self.plus.1)
        } else {
            -dot(weights, &self.plus.1, &self.minus.0)
        };
        (value - error(weights.len(), product)).next_down()
    }
}

/// `Σ w · (plus if w > 0, else minus)`, rounded.
fn dot(weights: &[f64], plus: &[f64], minus: &[f64]) -> f64 {
    const LANES: usize = 4;
    let mut sums = [0.0; LANES];
    // One of the two products is zero. No branches: signs are unpredictable, and this compiles to vector instructions.
    let term = |w: f64, plus: f64, minus: f64| {
        let (up, down) = (if w > 0.0 { w } else { 0.0 }, if w < 0.0 { w } else { 0.0 });
        up * plus + down * minus
    };
    let chunks = weights.chunks_exact(LANES).zip(plus.chunks_exact(LANES).zip(minus.chunks_exact(LANES)));
    for (w, (p, m)) in chunks {
        for lane in 0..LANES {
            sums[lane] += term(w[lane], p[lane], m[lane]);
        }
    }
    for at in weights.len() / LANES * LANES..weights.len() {
        sums[0] += term(weights[at], plus[at], minus[at]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// How far [`dot`] may be off. With `k` terms `t` summed in any order the error is at most `γ_k Σ|t| + k·2⁻¹⁰⁷⁵`, and
/// `Σ|t|` is at most the product of the norms; twice that, for `k < 2²⁰`, covers the rounding of this bound itself.
fn error(terms: usize, product: f64) -> f64 {
    let terms = terms as f64 + 2.0;
    if terms < 1e6 { terms * (f64::EPSILON * product + 1e-323) } else { f64::INFINITY }
}
