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
        let mut rows: Vec<Judge> = Vec::new();
        for (place, slopes) in slopes.iter().enumerate() {
            let judge = Judge::new(place, slopes);
            if self.all || judge.norm > 0.0 {
                rows.push(judge);
            }
        }
        // The rows that matter most first, so that the threshold soon rules out the others.
        rows.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        let mut found = Vec::new();
        // What an admissible choice of `total` flips surely loses at least, each.
        let (mut threshold, mut surely) = (0.0, Vec::new());
        for row in rows {
            let node = self.slice.nodes(1)[row.place];
            let count = self.decided.left(self.budget, node).unwrap_or(0);
            if count == 0 || (!self.all && row.beyond(self.network.by_norm.first().map_or(0.0, |a| a.1), threshold)) {
                continue;
            }
            let present = self.network.graph.attributes.row(node as usize);
            let fixed: Vec<u32> = self.decided.fixed_in(node).collect();
            let mut kept: Vec<(u32, f64)> = Vec::new();
            let mut own: Vec<f64> = Vec::new();
            for &(d, norm) in &self.network.by_norm {
                if !self.all && row.beyond(norm, threshold) {
                    break;
                }
                let weights = self.network.layers[0].weight.row(d as usize);
                let is_present = present.binary_search(&d).is_ok();
                let most = row.most(weights, is_present);
                // A NaN is never ruled out.
                let ruled_out = most <= 0.0 || most < threshold;
                if (ruled_out && !self.all) || !self.budget.permits((node, d), is_present) || fixed.contains(&d) {
                    continue;
                }
                kept.push((d, most));
                own.push(row.least(weights, is_present));
            }
            if kept.is_empty() {
                continue;
            }
            if !self.all {
                own.retain(|least| *least > 0.0);
                own.sort_unstable_by(|a, b| b.total_cmp(a));
                own.truncate(count);
                if own.len() == count {
                    // Enough flips of this row surely lose so much.
                    let enough = own[count - 1];
                    kept.retain(|&(_, most)| !(most < enough));
                }
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
    plus: (Vec<f64>, Vec<f64>),
    minus: (Vec<f64>, Vec<f64>),
}

impl Judge {
    fn new<N: Number>(place: usize, slopes: &Slopes<N>) -> Judge {
        let ends = |slopes: &[N]| slopes.iter().map(|slope| (slope.enclosure().lower, slope.enclosure().upper)).unzip();
        let (plus, minus): ((Vec<f64>, Vec<f64>), (Vec<f64>, Vec<f64>)) = (ends(&slopes.plus), ends(&slopes.minus));
        let largest: Vec<f64> = (0..plus.0.len())
            .map(|j| [plus.0[j], plus.1[j], minus.0[j], minus.1[j]].iter().fold(0.0, |most: f64, x| most.max(x.abs())))
            .collect();
        Judge { place, norm: norm_above(&largest), plus, minus }
    }

    /// Can no flip of an attribute with weights of this norm lose more than 0 and as much as the threshold? (Cauchy and
    /// Schwarz.)
    fn beyond(&self, norm: f64, threshold: f64) -> bool {
        let most = (self.norm * norm).next_up();
        most < threshold || (norm <= 0.0 || self.norm <= 0.0)
    }

    /// A float not below the loss.
    fn most(&self, weights: &[f64], present: bool) -> f64 {
        let (value, error) = if present {
            dot(weights, &self.minus.1, &self.plus.0)
        } else {
            let (value, error) = dot(weights, &self.plus.0, &self.minus.1);
            (-value, error)
        };
        (value + error).next_up()
    }

    /// A float not above the loss.
    fn least(&self, weights: &[f64], present: bool) -> f64 {
        let (value, error) = if present {
            dot(weights, &self.minus.0, &self.plus.1)
        } else {
            let (value, error) = dot(weights, &self.plus.1, &self.minus.0);
            (-value, error)
        };
        (value - error).next_down()
    }
}

/// `Σ w · (plus if w > 0, else minus)`, and a bound on its error. With `k` terms of `|t|` summed in any order the error
/// is at most `γ_k Σ|t| + k·2⁻¹⁰⁷⁵`; twice that, for `k < 2²⁰`, covers the rounding of the bound itself.
fn dot(weights: &[f64], plus: &[f64], minus: &[f64]) -> (f64, f64) {
    const LANES: usize = 4;
    let (mut sums, mut sizes) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, w: f64, plus: f64, minus: f64| {
        let term = w * if w > 0.0 { plus } else { minus };
        sums[lane] += term;
        sizes[lane] += term.abs();
    };
    let chunks = weights.chunks_exact(LANES).zip(plus.chunks_exact(LANES).zip(minus.chunks_exact(LANES)));
    for (w, (p, m)) in chunks {
        for lane in 0..LANES {
            add(lane, w[lane], p[lane], m[lane]);
        }
    }
    for at in weights.len() / LANES * LANES..weights.len() {
        add(0, weights[at], plus[at], minus[at]);
    }
    let (value, size): (f64, f64) = (sums.iter().sum(), sizes.iter().sum());
    let terms = weights.len() as f64 + 2.0;
    let error = if terms < 1e6 { terms * (f64::EPSILON * size + 1e-323) } else { f64::INFINITY };
    (value, error)
}
