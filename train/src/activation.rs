//! Activation bounds `R ≤ Ĥ ≤ S` for training, with their derivatives (docs/math.md §3).
//!
//! Layer 2 is a sum of selected flips, `S = z⁰ + Σ A_mn·(±W_dj)`: only the selected entries of `W(1)` carry gradient.
//! Which entries are selected is constant between kinks; at a tie one of them is taken, always the same one. Deeper
//! layers are propagated intervals (the certifier tightens them afterwards; training does not).

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::MatrixRows;
use gcnproof::internals::problem::network::{Layer, Network};
use rayon::prelude::*;

use super::gradient::{Gradient, add_scaled};
use super::pass::{Dropout, Pass, Transposed};
use super::receptive_field::ReceptiveField;
use super::top_flips::{Look, Pick, Side, Unit, keep_best};

/// Lists of picks, one per row of the reach in representation 2.
#[derive(Debug, Default)]
struct Picks {
    offsets: Vec<u32>,
    picks: Vec<Pick>,
}

impl Picks {
    fn row(&self, row: usize) -> &[Pick] {
        &self.picks[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// What was selected for one unit of representation 2.
#[derive(Debug)]
struct UnitBounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
    rise: Picks,
    fall: Picks,
}

/// One number for `R` and one for `S` of every unit of representations `2 … L−1`: `lower[l − 2]`, nodes × units.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// For `R`.
    pub lower: Vec<Vec<f64>>,
    /// For `S`.
    pub upper: Vec<Vec<f64>>,
}

impl Intervals {
    /// Zeros of the same shape: for derivatives.
    pub fn zeros(&self) -> Intervals {
        let zeros = |layers: &[Vec<f64>]| layers.iter().map(|layer| vec![0.0; layer.len()]).collect();
        Intervals { lower: zeros(&self.lower), upper: zeros(&self.upper) }
    }
}

/// The bounds of a reach, and what they were made of.
#[derive(Debug)]
pub struct ActivationBounds {
    /// The bounds; rows outside the reach are zero.
    pub intervals: Intervals,
    units: Vec<UnitBounds>,
    dropout: Option<Dropout>,
}

impl ActivationBounds {
    /// Bounds every unit that the reach needs, in the network without the hidden units that are dropped.
    pub fn new(
        graph: &Graph,
        network: &Network,
        budget: &Budget,
        reach: &ReceptiveField,
        pass: &Pass,
        dropout: Option<Dropout>,
    ) -> ActivationBounds {
        let mut bounds = ActivationBounds { intervals: Intervals::default(), units: Vec::new(), dropout };
        if network.depth() == 2 {
            return bounds;
        }
        let width = network.width(2);
        let rows = Rows::new(graph, network, budget, reach);
        bounds.units = (0..width)
            .into_par_iter()
            .map(|unit| first_hidden(graph, network, budget, reach, &rows, pass, unit))
            .collect();
        let mut lower = vec![0.0; graph.node_count() * width];
        let mut upper = lower.clone();
        for (row, &m) in reach.nodes(2).iter().enumerate() {
            for (unit, found) in bounds.units.iter().enumerate() {
                lower[m as usize * width + unit] = found.lower[row];
                upper[m as usize * width + unit] = found.upper[row];
            }
        }
        bounds.intervals.lower.push(lower);
        bounds.intervals.upper.push(upper);
        for l in 2..network.depth() - 1 {
            bounds.propagate(&network.layers()[l - 1], reach, l);
        }
        bounds
    }

    /// `R(l+1) = A([R]₊[W]₊ − [S]₊[W]₋) + b`, signs of `A` split, and `S` the other way round (docs/math.md (3.2)).
    fn propagate(&mut self, layer: &Layer, reach: &ReceptiveField, l: usize) {
        let (inputs, width) = (layer.weight.rows(), layer.weight.columns());
        let (r, s) = (&self.intervals.lower[l - 2], &self.intervals.upper[l - 2]);
        let sent: Vec<(Vec<f64>, Vec<f64>)> = (0..r.len() / inputs)
            .into_par_iter()
            .map(|n| {
                if !reach.needs(l, n) {
                    return (Vec::new(), Vec::new());
                }
                let (mut least, mut most) = (vec![0.0; width], vec![0.0; width]);
                for i in 0..inputs {
                    let factor = self.factor(l, n, i);
                    let (r, s) = (factor * r[n * inputs + i].max(0.0), factor * s[n * inputs + i].max(0.0));
                    for (j, &w) in layer.weight.row(i).iter().enumerate() {
                        let (low, high) = if w > 0.0 { (r, s) } else { (s, r) };
                        least[j] += low * w;
                        most[j] += high * w;
                    }
                }
                (least, most)
            })
            .collect();
        let (mut lower, mut upper) = (vec![0.0; sent.len() * width], vec![0.0; sent.len() * width]);
        for &m in reach.nodes(l + 1) {
            let at = m as usize * width;
            let (lower, upper) = (&mut lower[at..][..width], &mut upper[at..][..width]);
            lower.copy_from_slice(layer.bias.values());
            upper.copy_from_slice(layer.bias.values());
            let (columns, entries) = layer.passing.single_row(m as usize);
            for (&n, &a) in columns.iter().zip(entries) {
                let (least, most) = &sent[n as usize];
                let (low, high) = if a > 0.0 { (least, most) } else { (most, least) };
                add_scaled(lower, a, low);
                add_scaled(upper, a, high);
            }
        }
        self.intervals.lower.push(lower);
        self.intervals.upper.push(upper);
    }

    /// Takes `∂loss/∂R` and `∂loss/∂S` to the parameters and to `∂loss/∂Ĥ(2)`.
    pub fn reverse(
        &self,
        network: &Network,
        transposed: &Transposed,
        reach: &ReceptiveField,
        mut by: Intervals,
        hidden: &mut [f64],
        gradient: &mut Gradient,
    ) {
        for l in (2..network.depth() - 1).rev() {
            self.propagate_reverse(network, transposed, reach, l, &mut by, gradient);
        }
        let (Some(by_lower), Some(by_upper)) = (by.lower.first(), by.upper.first()) else { return };
        let width = network.width(2);
        add_scaled(hidden, 1.0, by_lower);
        add_scaled(hidden, 1.0, by_upper);
        let columns: Vec<Vec<f64>> = self
            .units
            .par_iter()
            .enumerate()
            .map(|(unit, found)| {
                let mut column = vec![0.0; network.width(1)];
                for (row, &m) in reach.nodes(2).iter().enumerate() {
                    let at = m as usize * width + unit;
                    for (by, picks) in [(by_upper[at], &found.rise), (by_lower[at], &found.fall)] {
                        if by != 0.0 {
                            for pick in picks.row(row) {
                                column[pick.attribute as usize] += by * pick.change;
                            }
                        }
                    }
                }
                column
            })
            .collect();
        gradient.weight[0].par_chunks_mut(width).enumerate().for_each(|(d, row)| {
            row.iter_mut().zip(&columns).for_each(|(slot, column)| *slot += column[d]);
        });
    }

    fn factor(&self, l: usize, node: usize, unit: usize) -> f64 {
        self.dropout.map_or(1.0, |dropout| dropout.factor(l, node, unit))
    }

    fn propagate_reverse(
        &self,
        network: &Network,
        transposed: &Transposed,
        reach: &ReceptiveField,
        l: usize,
        by: &mut Intervals,
        gradient: &mut Gradient,
    ) {
        let layer = &network.layers()[l - 1];
        let (inputs, width) = (layer.weight.rows(), layer.weight.columns());
        let (above_lower, above_upper) = (std::mem::take(&mut by.lower[l - 1]), std::mem::take(&mut by.upper[l - 1]));
        for &m in reach.nodes(l + 1) {
            for above in [&above_lower, &above_upper] {
                add_scaled(&mut gradient.bias[l - 1], 1.0, &above[m as usize * width..][..width]);
            }
        }
        for &n in reach.nodes(l) {
            let n = n as usize;
            let (mut least, mut most) = (vec![0.0; width], vec![0.0; width]);
            let (rows, entries) = transposed.passing(l).row(n);
            for (&m, &a) in rows.iter().zip(entries) {
                let at = m as usize * width;
                let (low, high) = if a > 0.0 { (&above_lower, &above_upper) } else { (&above_upper, &above_lower) };
                add_scaled(&mut least, a, &low[at..][..width]);
                add_scaled(&mut most, a, &high[at..][..width]);
            }
            for i in 0..inputs {
                let at = n * inputs + i;
                let (r, s) = (self.intervals.lower[l - 2][at], self.intervals.upper[l - 2][at]);
                let factor = self.factor(l, n, i);
                let (mut by_r, mut by_s) = (0.0, 0.0);
                for (j, &w) in layer.weight.row(i).iter().enumerate() {
                    let (to_r, to_s) = if w > 0.0 { (least[j], most[j]) } else { (most[j], least[j]) };
                    gradient.weight[l - 1][i * width + j] += factor * (to_r * r.max(0.0) + to_s * s.max(0.0));
                    by_r += factor * w * to_r;
                    by_s += factor * w * to_s;
                }
                by.lower[l - 2][at] += if r > 0.0 { by_r } else { 0.0 };
                by.upper[l - 2][at] += if s > 0.0 { by_s } else { 0.0 };
            }
        }
    }
}

/// The rows of `A(1)` that a reach needs, over the places of its nodes; nodes without a budget are left out.
struct Rows {
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
    /// How many neighbours fill the global budget, if each uses what it has.
    needed: Vec<usize>,
    /// Flips that a node may contribute to a row.
    capacity: Vec<usize>,
}

impl Rows {
    fn new(graph: &Graph, network: &Network, budget: &Budget, reach: &ReceptiveField) -> Rows {
        let mut place = vec![0u32; graph.node_count()];
        reach.nodes(1).iter().enumerate().for_each(|(at, &n)| place[n as usize] = at as u32);
        let capacity = reach.nodes(1).iter().map(|&n| budget.local(n as usize).min(budget.global())).collect();
        let mut rows = Rows { offsets: vec![0], entries: Vec::new(), needed: Vec::new(), capacity };
        for &m in reach.nodes(2) {
            let (columns, values) = network.layers()[0].passing.single_row(m as usize);
            let places = columns.iter().map(|&n| place[n as usize]).zip(values.iter().copied());
            let start = rows.entries.len();
            rows.entries.extend(places.filter(|&(n, _)| rows.capacity[n as usize] > 0));
            let least = rows.entries[start..].iter().map(|&(n, _)| rows.capacity[n as usize]).min().unwrap_or(1);
            rows.needed.push(budget.global().div_ceil(least));
            rows.offsets.push(rows.entries.len() as u32);
        }
        rows
    }

    fn row(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Layer 2, one unit (docs/math.md (3.1)). Cost: a look at each node's attributes, and per row a walk along its
/// neighbours.
fn first_hidden(
    graph: &Graph,
    network: &Network,
    budget: &Budget,
    reach: &ReceptiveField,
    rows: &Rows,
    pass: &Pass,
    unit: usize,
) -> UnitBounds {
    let weight = &network.layers()[0].weight;
    let column = weight.values()[unit..].iter().step_by(weight.columns()).copied().collect();
    let weights = Unit::new(column, budget, graph.attributes());
    let looks: Vec<Look> = reach.nodes(1).iter().map(|&n| weights.look(n as usize)).collect();
    // What the flips of a node surely reach and surely do not exceed, on both sides.
    let range = |side: Side| -> Vec<(f64, f64)> {
        let ends = |(&look, &capacity)| (weights.surely(side, look, capacity), weights.at_most(side, look));
        looks.iter().zip(&rows.capacity).map(ends).collect()
    };
    let ranges = [range(Side::Rise), range(Side::Fall)];
    let count = reach.nodes(2).len();
    let mut found = UnitBounds {
        lower: Vec::with_capacity(count),
        upper: Vec::with_capacity(count),
        rise: Picks { offsets: vec![0], picks: Vec::new() },
        fall: Picks { offsets: vec![0], picks: Vec::new() },
    };
    let (mut best, mut sure) = (Vec::new(), Vec::new());
    for (row, &m) in reach.nodes(2).iter().enumerate() {
        let z = pass.row(2, m as usize)[unit];
        for (rising, kept) in [(true, &mut found.rise), (false, &mut found.fall)] {
            // A negative entry of A swaps the two roles.
            let side = |a: f64| if (a > 0.0) == rising { Side::Rise } else { Side::Fall };
            let range = |n: u32, a: f64| ranges[side(a) as usize][n as usize];
            sure.clear();
            sure.extend(rows.row(row).iter().map(|&(n, a)| a.abs() * range(n, a).0));
            // So many neighbours surely fill the global budget with gains of at least this: smaller ones are not
            // selected.
            let floor = largest(&mut sure, rows.needed[row]);
            best.clear();
            for &(n, a) in rows.row(row) {
                if a.abs() * range(n, a).1 >= floor {
                    let place = n as usize;
                    weights.list(side(a), looks[place], a, floor, rows.capacity[place], &mut best);
                }
            }
            keep_best(&mut best, 0, budget.global());
            kept.picks.extend(best.iter().map(|b: &(f64, Pick)| b.1));
            kept.offsets.push(kept.picks.len() as u32);
            let moved: f64 = best.iter().map(|(_, pick)| pick.change * weights.column()[pick.attribute as usize]).sum();
            if rising { found.upper.push(z + moved) } else { found.lower.push(z + moved) }
        }
    }
    found
}

/// The `rank`-th largest value; 0 if there are fewer.
fn largest(values: &mut [f64], rank: usize) -> f64 {
    match rank {
        0 => 0.0,
        1 => values.iter().copied().fold(0.0, f64::max),
        rank if rank > values.len() => 0.0,
        rank => *values.select_nth_unstable_by(rank - 1, |x, y| y.total_cmp(x)).1,
    }
}
