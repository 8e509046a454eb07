//! The largest loss `T`: the sum of the `q'_n` worst free flips of each row, of those the `Q'` worst.
//!
//! A flip changes what node `n` sends to unit `j` by `v_j = ±W_dj` and so loses `−Σ_j slope_j v_j`, where the slope is
//! `plus` for `v_j > 0` and `minus` for `v_j < 0`; capped units and envelopes give back what these slopes overstate. Floats with an error bound rule out what is surely not among the worst,
//! and Cauchy and Schwarz bound what was not looked at: as soon as `T` surely is small enough, the rest is left alone.

use std::cmp::Ordering;

use crate::budget::{Budget, Decided};
use crate::envelope::{Envelope, Place};
use crate::interval::Interval;
use crate::line::{Bend, Line};
use crate::network::{Network, norm_above};
use crate::number::{Number, keep_largest, sum};
use crate::relief::{self, Relief};
use crate::slice::Slice;

/// Slopes of one row of attributes: what the objective changes by, at least, per unit of change in what is sent.
struct Slopes<N> {
    /// For a rise.
    plus: Vec<N>,
    /// For a fall.
    minus: Vec<N>,
}

impl<N: Number> Slopes<N> {
    /// Adds those of a unit that is reached through an entry of `A(1)`.
    fn add(&mut self, unit: usize, entry: f64, rise: &N, fall: &N) {
        // Through a negative entry a rise of what is sent arrives as a fall.
        let Slopes { plus, minus } = self;
        let (rises, falls) = if entry > 0.0 { (plus, minus) } else { (minus, plus) };
        rises[unit].add(&rise.scaled(entry));
        falls[unit].add(&fall.scaled(entry));
    }
}

/// Everything that the losses of one target depend on.
pub struct Losses<'a, N> {
    /// The network.
    pub network: &'a Network<'a>,
    /// The budget.
    pub budget: &'a Budget<'a>,
    /// The target's slice.
    pub slice: &'a Slice,
    /// The path.
    pub decided: &'a Decided,
    /// For each node of representation 2 its units with their lines; a unit that is left out has no slope.
    pub lines: &'a [Vec<(usize, Line<N>)>],
    /// Whose prices some of the lines have.
    pub envelope: Option<&'a Envelope>,
    /// Evaluate every flip rather than those that floats do not rule out.
    pub all: bool,
}

/// A row of attributes.
#[derive(Clone, Copy)]
struct Row {
    node: u32,
    place: usize,
    /// How many of its flips the budget allows.
    left: usize,
    /// Not below the norm of the larger of its slopes.
    norm: f64,
}

/// Free flips of one row that may be needed for `T`: attributes, each with floats around its loss.
struct Found<'a, N> {
    row: Row,
    slopes: Slopes<N>,
    relief: Relief<'a, N>,
    flips: Vec<(u32, Interval)>,
}

impl<'a, N: Number> Losses<'a, N> {
    /// `T`; `None` if it surely is less than `total`, if that is given.
    pub fn largest(&self, total: Option<&N>) -> Option<N> {
        let mut worst: Vec<N> = Vec::new();
        for Found { row, slopes, relief, flips } in self.candidates(total.map(|total| total.enclosure()).as_ref())? {
            let present = self.network.graph.attributes.row(row.node as usize);
            let mut losses: Vec<N> = flips
                .into_iter()
                .map(|(d, _)| self.loss((row.place, d), present.binary_search(&d).is_ok(), &slopes, &relief))
                .filter(|loss| loss.enclosure().upper > 0.0)
                .collect();
            keep_largest(&mut losses, row.left);
            worst.append(&mut losses);
        }
        keep_largest(&mut worst, self.decided.left_in_all(self.budget).unwrap_or(0));
        Some(sum(&worst))
    }

    /// The loss of one flip.
    fn loss(&self, (place, attribute): (usize, u32), present: bool, slopes: &Slopes<N>, relief: &Relief<N>) -> N {
        let mut loss = N::zero();
        let weights = self.network.layers[0].weight.row(attribute as usize);
        let change = |unit: usize| if present { -weights[unit] } else { weights[unit] };
        for unit in 0..weights.len() {
            let slope = if change(unit) > 0.0 { &slopes.plus[unit] } else { &slopes.minus[unit] };
            loss.add(&slope.scaled(-change(unit)));
        }
        for (unit, entry, bend) in self.bends(place) {
            // The sign of a product of floats is that of its factors.
            let towards = if bend.up { change(unit) } else { -change(unit) };
            if (towards > 0.0) == (entry > 0.0) && towards != 0.0 {
                let x = N::from_f64(towards).scaled(entry);
                let kink = x.minus(&bend.cap.level).positive_part();
                loss.add(&bend.weight.times(&kink.minus(&x.scaled(bend.cap.slope))));
            }
        }
        if relief.is_empty() { loss } else { loss.minus(&relief.of(attribute, change)) }
    }

    /// The capped units that a row of attributes reaches, with the entries of `A(1)`.
    fn bends(&self, place: usize) -> impl Iterator<Item = (usize, f64, &Bend<N>)> {
        self.slice.reached(place).iter().flat_map(|&(m, entry)| {
            self.lines[m].iter().filter_map(move |(unit, line)| Some((*unit, entry, line.bend.as_ref()?)))
        })
    }

    /// The rows that have flips to make, by what their slopes may be at most: a sum over the nodes that they reach.
    fn rows(&self) -> Vec<Row> {
        let size = |unit: usize, line: &Line<N>, entry: f64| {
            let (rise, fall) = (line.rise.enclosure(), line.fall.enclosure());
            let size = rise.lower.abs().max(rise.upper.abs()).max(fall.lower.abs()).max(fall.upper.abs());
            let Some(arch) = &line.arch else { return size };
            // An envelope takes so much of a rise, and of a fall nothing; other prices only lower it.
            let levels = arch.prices.levels::<N>(Place::default());
            let (up, _) = relief::slopes(&levels, (entry * self.network.largest_weight(unit)).next_up());
            // Without `0·∞`, which is no number.
            if up > 0.0 { (size + (arch.weight.enclosure().upper * up).next_up()).next_up() } else { size }
        };
        let mut sums = vec![0.0; self.slice.nodes(1).len()];
        for (lines, row) in self.lines.iter().zip(self.slice.passing(1)) {
            let largest = row.iter().fold(0.0, |largest, &(_, a)| f64::max(largest, a.abs()));
            let norm = norm_above(&lines.iter().map(|(unit, line)| size(*unit, line, largest)).collect::<Vec<f64>>());
            for &(n, a) in row.iter().filter(|_| norm > 0.0) {
                sums[n] = f64::next_up(sums[n] + (a.abs() * norm).next_up());
            }
        }
        let rows = self.slice.nodes(1).iter().zip(sums).enumerate().map(|(place, (&node, norm))| {
            let left = self.decided.left(self.budget, node).unwrap_or(0);
            Row { node, place, left, norm }
        });
        // A norm that is no number rules nothing out.
        rows.filter(|row| row.left > 0 && (self.all || row.norm > 0.0 || row.norm.is_nan())).collect()
    }

    /// The slopes of one row.
    fn slopes(&self, row: Row, relief: &Relief<N>) -> Slopes<N> {
        let width = self.network.width(2);
        let mut slopes = Slopes { plus: vec![N::zero(); width], minus: vec![N::zero(); width] };
        for &(m, entry) in self.slice.reached(row.place) {
            for (unit, line) in &self.lines[m] {
                slopes.add(*unit, entry, &line.rise, &line.fall);
            }
        }
        relief.slopes().for_each(|(unit, entry, rise, fall)| slopes.add(unit, entry, &rise, &fall));
        slopes
    }

    /// For each row its free flips, without some that surely are not needed for `T`; `None` if `T < total` already.
    fn candidates(&self, total: Option<&Interval>) -> Option<Vec<Found<'a, N>>> {
        let flips = self.decided.left_in_all(self.budget).unwrap_or(0);
        let mut rows = self.rows();
        // The rows that matter most first, so that the threshold soon rules out the others.
        rows.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        let largest_norm = self.network.by_norm.first().map_or(0.0, |first| first.1);
        let mut found = Vec::new();
        // What each flip of an admissible choice of `flips` flips surely loses at least: one that surely loses less is
        // not needed.
        let (mut threshold, mut surely) = (0.0, Vec::new());
        // The largest losses so far, from above.
        let mut most: Vec<f64> = Vec::new();
        let mut is_present = vec![false; self.network.graph.attributes.columns];
        for (at, &row) in rows.iter().enumerate() {
            if !self.all {
                if (row.norm * largest_norm).next_up() < threshold {
                    break;
                }
                // Asked before each of the first rows and then now and then.
                if (at < 8 || at % 8 == 0) && self.is_below(total, flips, &most, &rows[at..]) {
                    return None;
                }
            }
            let one = self.row_candidates(row, &mut threshold, (flips, &mut surely), &mut is_present);
            most.extend(one.flips.iter().map(|flip| flip.1.upper));
            found.push(one);
        }
        if !self.all && self.is_below(total, flips, &most, &[]) { None } else { Some(found) }
    }

    /// Is `T` surely less than `total`, if rows that were not looked at lose as much as Cauchy and Schwarz allow?
    fn is_below(&self, total: Option<&Interval>, flips: usize, most: &[f64], rest: &[Row]) -> bool {
        let Some(total) = total else { return false };
        let mut losses: Vec<f64> = most.to_vec();
        // A row's largest loss is not below that of a later row: no more rows than flips take part.
        for row in rest.iter().take(flips) {
            let norms = self.network.by_norm.iter().take(row.left);
            losses.extend(norms.map(|attribute| (row.norm * attribute.1).next_up()));
        }
        losses.sort_unstable_by(|a, b| b.total_cmp(a));
        losses.truncate(flips);
        let losses: Vec<Interval> = losses.iter().map(|&upper| Interval { lower: 0.0, upper }).collect();
        total.minus(&sum(&losses)).sign() == Some(Ordering::Greater)
    }

    /// The free flips of one row that may be needed. `surely` holds what the worst flips surely lose.
    fn row_candidates(
        &self,
        row: Row,
        threshold: &mut f64,
        (flips, surely): (usize, &mut Vec<f64>),
        is_present: &mut [bool],
    ) -> Found<'a, N> {
        let relief = Relief::new(self.envelope, self.lines, (self.network, self.slice), row.place);
        let slopes = self.slopes(row, &relief);
        let judge = Judge::new(&slopes);
        let kinks: Vec<Kink> = self.bends(row.place).map(Kink::new).collect();
        let given = (!relief.is_empty()).then(|| relief.rounded());
        let Row { node, left: count, .. } = row;
        let present = self.network.graph.attributes.row(node as usize);
        present.iter().for_each(|&d| is_present[d as usize] = true);
        let fixed: Vec<u32> = self.decided.fixed_in(node).collect();
        let mut kept: Vec<(u32, Interval)> = Vec::new();
        // The threshold of this row and its `count` flips.
        let (mut own, mut least_needed): (Vec<f64>, f64) = (Vec::new(), *threshold);
        let width = self.network.width(2).max(1);
        for (weights, &(d, norm)) in self.network.by_norm_weights.chunks_exact(width).zip(&self.network.by_norm) {
            // Cauchy and Schwarz.
            if !self.all && (norm <= 0.0 || (judge.norm * norm).next_up() < least_needed) {
                break;
            }
            let is_present = is_present[d as usize];
            let mut loss = judge.loss(weights, is_present, norm);
            let ruled_out = |loss: &Interval| loss.upper <= 0.0 || loss.upper < least_needed;
            if !kinks.is_empty() && !ruled_out(&loss) {
                loss = loss.minus(&excess(&kinks, weights, is_present));
            }
            if let Some(given) = given.as_ref().filter(|_| !ruled_out(&loss)) {
                loss = loss.minus(&given.of(weights, is_present));
            }
            if (ruled_out(&loss) && !self.all) || !self.budget.permits((node, d), is_present) || fixed.contains(&d) {
                continue;
            }
            if !self.all && relief.listed(d).is_some() {
                // So far without the price of the flip itself, which makes the loss smaller.
                loss = self.loss((row.place, d), is_present, &slopes, &relief).enclosure();
                if ruled_out(&loss) {
                    continue;
                }
            }
            kept.push((d, loss));
            if loss.lower > least_needed {
                own.insert(own.partition_point(|other| *other > loss.lower), loss.lower);
                own.truncate(count);
                if own.len() == count {
                    least_needed = own[count - 1];
                }
            }
        }
        present.iter().for_each(|&d| is_present[d as usize] = false);
        if !self.all {
            kept.retain(|(_, loss)| loss.upper >= least_needed);
            surely.append(&mut own);
            if surely.len() >= flips {
                surely.sort_unstable_by(|a: &f64, b| b.total_cmp(a));
                surely.truncate(flips);
                *threshold = surely.last().copied().unwrap_or(0.0);
            }
        }
        Found { row, slopes, relief, flips: kept }
    }
}

/// A capped unit in floats.
struct Kink {
    unit: usize,
    /// The entry of `A(1)`, negated where falling is towards zero.
    entry: f64,
    weight: Interval,
    slope: f64,
    level: Interval,
}

impl Kink {
    fn new<N: Number>((unit, entry, bend): (usize, f64, &Bend<N>)) -> Kink {
        let entry = if bend.up { entry } else { -entry };
        Kink { unit, entry, weight: bend.weight.enclosure(), slope: bend.cap.slope, level: bend.cap.level.enclosure() }
    }
}

/// Floats around what the slopes overstate of a flip.
fn excess(kinks: &[Kink], weights: &[f64], present: bool) -> Interval {
    let (mut least, mut most, mut size) = (0.0, 0.0, 0.0);
    for kink in kinks {
        let x = kink.entry * if present { -weights[kink.unit] } else { weights[kink.unit] };
        if x > 0.0 {
            let along = kink.slope * x;
            least += kink.weight.lower * (along - (x - kink.level.lower).max(0.0));
            most += kink.weight.upper * (along - (x - kink.level.upper).max(0.0));
            // The addend stands for what `x` lost by underflow, which a large weight would make visible.
            size += kink.weight.upper * (x + 1e-290);
        }
    }
    // Each term is a few roundings from `weight·x` times a factor of at most 2.
    let error = error(4 * kinks.len() + 16, 2.0 * size);
    let (lower, upper) = (least - error, most + error);
    if lower.is_nan() || upper.is_nan() {
        return Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    }
    Interval { lower: lower.next_down(), upper: upper.next_up() }
}

/// The slopes of a row in floats. With `κ = (plus + minus)/2` and `ρ = (minus − plus)/2` a change `v` loses
/// `Σ |v|ρ − Σ vκ`.
struct Judge {
    /// Not below the norm of the larger slopes, `|κ| + |ρ|`.
    norm: f64,
    centre: Vec<f64>,
    radius: Vec<f64>,
    /// Not below the norm of what rounding and the widths of the slopes leave open in `κ` and `ρ`.
    slack: f64,
}

impl Judge {
    fn new<N: Number>(slopes: &Slopes<N>) -> Judge {
        let count = slopes.plus.len();
        let (mut centre, mut radius) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut largest, mut open) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (plus, minus) in slopes.plus.iter().zip(&slopes.minus) {
            let (plus, minus) = (plus.enclosure(), minus.enclosure());
            let size = plus.lower.abs().max(plus.upper.abs()).max(minus.lower.abs()).max(minus.upper.abs());
            centre.push(0.5 * (plus.lower + minus.lower));
            radius.push(0.5 * (minus.lower - plus.lower));
            largest.push(size);
            // Twice what is needed: half an ulp for each of three operations, and both widths.
            open.push((plus.upper - plus.lower) + (minus.upper - minus.lower) + 4.0 * f64::EPSILON * size + 1e-323);
        }
        Judge { norm: norm_above(&largest), centre, radius, slack: norm_above(&open) }
    }

    /// Floats around the loss; `norm` is not below that of the weights.
    fn loss(&self, weights: &[f64], present: bool, norm: f64) -> Interval {
        let (linear, spread) = dot(weights, &self.centre, &self.radius);
        let value = spread + if present { linear } else { -linear };
        // Terms: two a unit, and one more sum. Twice the slack covers the rounding of this bound.
        let error = error(2 * weights.len() + 1, (self.norm * norm).next_up()) + 2.0 * self.slack * norm;
        let (lower, upper) = (value - error, value + error);
        if lower.is_nan() || upper.is_nan() {
            // An overflow decides nothing.
            return Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        Interval { lower: lower.next_down(), upper: upper.next_up() }
    }
}

/// `Σ wκ` and `Σ |w|ρ`, rounded.
fn dot(weights: &[f64], centre: &[f64], radius: &[f64]) -> (f64, f64) {
    const LANES: usize = 4;
    let (mut linear, mut spread) = ([0.0; LANES], [0.0; LANES]);
    let chunks = weights.chunks_exact(LANES).zip(centre.chunks_exact(LANES).zip(radius.chunks_exact(LANES)));
    for (w, (c, r)) in chunks {
        for lane in 0..LANES {
            linear[lane] += w[lane] * c[lane];
            spread[lane] += w[lane].abs() * r[lane];
        }
    }
    for at in weights.len() / LANES * LANES..weights.len() {
        linear[0] += weights[at] * centre[at];
        spread[0] += weights[at].abs() * radius[at];
    }
    let total = |sums: [f64; LANES]| (sums[0] + sums[1]) + (sums[2] + sums[3]);
    (total(linear), total(spread))
}

/// How far a sum of `k` products may be off. Summed in any order the error is at most `γ_k Σ|t| + k·2⁻¹⁰⁷⁵`, and `Σ|t|` is at
/// most the product of the norms; twice that, for `k < 2²⁰`, covers the rounding of this bound itself.
pub(crate) fn error(terms: usize, product: f64) -> f64 {
    let terms = terms as f64 + 2.0;
    if terms < 1e6 { terms * (f64::EPSILON * product + 1e-323) } else { f64::INFINITY }
}
