//! Terms that read the attributes: 0 and 1, which flips change (docs/math.md (19.3)), or which are categories
//! (docs/math.md (19.7)), rows that are divided by their sums (docs/math.md (19.6)), or numbers, which are moved within
//! ranges (docs/math.md (25.6)).

use gcnproof_files::DescribedLayer;
use rayon::prelude::*;

use crate::deployed::row::up;
use crate::deployed::term::TermWeights;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::matrix::PatternRows;

/// What the terms of one layer that read the attributes have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeTerms {
    /// Which of the layer's terms they are.
    pub(super) terms: Vec<usize>,
    /// No attribute is larger, whatever is changed.
    pub(super) size: f64,
    outputs: usize,
    largest: Vec<LargestWeights>,
    /// `Σ_d |x_d| |W_dj|` by term, node and unit, from above; empty where the forward pass has it.
    sent: Vec<Vec<f64>>,
}

/// What the attributes that a row reads may do: counts and sums over the nodes of its entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// For every term and attribute, the last row that has seen it.
    stamps: Vec<u32>,
    now: u32,
    /// Flips that the nodes of the row allow, and how many of them allow any.
    flips: usize,
    open: usize,
    /// By term, the largest entry at a node that may be flipped; where rows are divided, times the largest quotient.
    farthest: Vec<f64>,
    /// By unit, what other quotients of the attributes that rows have may change; empty where rows are not divided.
    rescaled: Vec<f64>,
    /// `Σ_k |A_k| |X| |W_k|` by unit.
    magnitude: Vec<f64>,
    /// Additions behind it.
    additions: usize,
}

/// What flips do to a row.
pub(super) struct RowSpread {
    spread: Spread,
    flips: usize,
    /// Flips that add an attribute.
    pub(super) added: usize,
    /// May magnitudes be larger after flips? Not where they only take away.
    pub(super) raises: bool,
}

impl AttributeTerms {
    /// `summed`: are the magnitudes of what nodes send needed?
    pub(super) fn new(problem: &Problem, layer: &DescribedLayer, summed: bool) -> AttributeTerms {
        let reads = |&term: &usize| layer.terms[term].source.is_none();
        let terms: Vec<usize> = (0..layer.terms.len()).filter(reads).collect();
        let weights = |&term: &usize| TermWeights::new(problem.network(), layer, term);
        let outputs = layer.outputs;
        let largest = terms.iter().map(|term| LargestWeights::new(weights(term), outputs, problem)).collect();
        let send = |term: &usize| {
            let weights = weights(term);
            let mut sent = vec![0.0; problem.graph().node_count() * outputs];
            sent.par_chunks_mut(outputs.max(1)).enumerate().for_each(|(n, sums)| {
                let row = problem.graph().row_values(n);
                for &(d, x) in &row {
                    sums.iter_mut().zip(weights.sized(d as usize)).for_each(|(sum, (_, size))| *sum += x.abs() * size);
                }
                sums.iter_mut().for_each(|sum| *sum = up(*sum, row.len()));
            });
            sent
        };
        let sent = if summed { terms.iter().map(send).collect() } else { Vec::new() };
        let size = if terms.is_empty() { 0.0 } else { largest_input(problem) };
        AttributeTerms { terms, size, outputs, largest, sent }
    }

    /// Does the layer read attributes at all?
    pub(super) fn any(&self) -> bool {
        !self.terms.is_empty()
    }

    /// Room for rows.
    pub(super) fn seen(&self, problem: &Problem) -> Seen {
        let (count, summed) = (self.terms.len(), !self.sent.is_empty());
        Seen {
            stamps: vec![0; count * problem.network().width(1)],
            farthest: vec![0.0; count],
            magnitude: vec![0.0; if summed { self.outputs } else { 0 }],
            rescaled: vec![0.0; if problem.graph().normalisation().is_some() { self.outputs } else { 0 }],
            ..Seen::default()
        }
    }

    /// A node of the row with the entry of one of these terms, by its place among them. Returns how many attributes the
    /// row has not seen in this term before.
    pub(super) fn read(&self, seen: &mut Seen, problem: &Problem, of: usize, n: usize, entry: f64) -> usize {
        let first = of * problem.network().width(1);
        let mut fresh = 0;
        for &d in problem.graph().row_attributes(n) {
            let stamp = &mut seen.stamps[first + d as usize];
            fresh += usize::from(*stamp != seen.now);
            *stamp = seen.now;
        }
        let scales = RowScales::of(problem, n);
        if problem.budget().local(n) > 0 {
            seen.farthest[of] = seen.farthest[of].max(entry.abs() * scales.largest);
        }
        if let Some(sent) = self.sent.get(of) {
            let row = &sent[n * self.outputs..][..self.outputs];
            seen.magnitude.iter_mut().zip(row).for_each(|(sum, size)| *sum += entry.abs() * size);
            seen.rescaled.iter_mut().zip(row).for_each(|(sum, size)| *sum += entry.abs() * scales.change * size);
            seen.additions += 1;
        }
        fresh
    }

    /// By how much flips move a unit, at most: (19.3).
    pub(super) fn moved(&self, seen: &Seen, changes: &RowSpread, unit: usize) -> f64 {
        let terms = self.largest.iter().zip(&seen.farthest);
        let moved: f64 = terms.map(|(largest, a)| a * largest.sum(unit, changes.spread)).sum();
        let rescaled = seen.rescaled.get(unit).map_or(0.0, |sum| up(*sum, seen.additions));
        up(moved + rescaled, self.terms.len() + changes.flips.min(1 << 20))
    }
}

impl Seen {
    /// Begins a row.
    pub(super) fn begin(&mut self) {
        self.now += 1;
        (self.flips, self.open, self.additions) = (0, 0, 0);
        self.farthest.fill(0.0);
        self.magnitude.fill(0.0);
        self.rescaled.fill(0.0);
    }

    /// A node that some term reads the attributes of: once for all of them.
    pub(super) fn node(&mut self, local: usize) {
        self.flips = self.flips.saturating_add(local);
        self.open += usize::from(local > 0);
    }

    /// `Σ_k |A_k| |X| |W_k|` of a unit.
    pub(super) fn magnitude(&self, unit: usize) -> f64 {
        up(self.magnitude[unit], self.additions)
    }

    /// What flips do.
    pub(super) fn changes(&self, budget: &Budget) -> RowSpread {
        let flips = self.flips.min(budget.global());
        let added = if budget.direction().adds() { flips } else { 0 };
        let spread = Spread { nodes: self.open, each: flips / self.open.max(1), rest: flips % self.open.max(1) };
        RowSpread { spread, flips, added, raises: added > 0 || !self.rescaled.is_empty() }
    }
}

/// What the entries of a row that is divided by its sum may be after flips.
struct RowScales {
    largest: f64,
    /// How far they may be from what they are, at most, relative to that.
    change: f64,
}

impl RowScales {
    /// 1 and 0 where rows are not divided.
    fn of(problem: &Problem, n: usize) -> RowScales {
        let (graph, budget) = (problem.graph(), problem.budget());
        let normalisation = graph.normalisation();
        if !normalisation.is_some() || budget.ranges().is_some() {
            return RowScales { largest: 1.0, change: 0.0 };
        }
        let count = graph.attributes().row(n).len();
        let flips = budget.local(n).min(budget.global());
        let [added, removed] =
            [budget.direction().adds(), budget.direction().removes()].map(|may| if may { flips } else { 0 });
        let own = normalisation.entry(count);
        let (largest, least) =
            (normalisation.entry(count - removed.min(count)), normalisation.entry(count.saturating_add(added)));
        RowScales { largest, change: ((largest - own).max(own - least) / own).next_up().next_up() }
    }
}

/// Attributes are 0 and 1; numbers are no larger than the largest of them and the farthest move together.
fn largest_input(problem: &Problem) -> f64 {
    let (graph, Some(ranges)) = (problem.graph(), problem.budget().ranges()) else { return 1.0 };
    let values = (0..graph.node_count()).flat_map(|n| graph.row_values(n));
    let own = values.map(|(_, x)| x.abs()).fold(0.0, f64::max);
    (own + (0..problem.network().width(1)).map(|d| ranges.farthest(d)).fold(0.0, f64::max)).next_up()
}

/// What one change can do by way of the weights of every unit: the largest sizes, each times how far the attribute is
/// moved, in falling order, and what the first so many sum up to. Of a group of categories only one counts.
#[derive(Clone, Debug)]
struct LargestWeights(Vec<(Vec<f64>, Vec<f64>)>);

impl LargestWeights {
    fn new(weights: TermWeights, outputs: usize, problem: &Problem) -> LargestWeights {
        let (budget, inputs) = (problem.budget(), problem.network().width(1));
        let options = problem.graph().categories().map(|categories| categories.options(budget.frozen_attributes()));
        let most = budget.locals().iter().max().map_or(0, |&q| q as usize).min(budget.global()).min(inputs);
        let of_unit = |unit: usize| {
            let mut weights: Vec<f64> = match &options {
                Some(options) => options.iter().map(|of_group| spread(weights, of_group, unit)).collect(),
                None => {
                    let free = (0..inputs).filter(|&d| !budget.is_frozen(d));
                    let moved = |d: usize| budget.ranges().map_or(1.0, |ranges| ranges.farthest(d));
                    free.map(|d| weights.size(d, unit) * moved(d)).collect()
                }
            };
            if weights.len() > most + 1 {
                weights.select_nth_unstable_by(most, |x, y| y.total_cmp(x));
                weights.truncate(most + 1);
            }
            weights.sort_unstable_by(|x, y| y.total_cmp(x));
            let mut sums = vec![0.0];
            for w in &weights {
                sums.push(sums[sums.len() - 1] + w);
            }
            (weights, sums)
        };
        LargestWeights((0..outputs).into_par_iter().map(of_unit).collect())
    }

    /// Of flips spread over nodes, from above but for rounding: each weight counts at most once for each node.
    fn sum(&self, unit: usize, spread: Spread) -> f64 {
        let (weights, sums) = &self.0[unit];
        let next = weights.get(spread.each).copied().unwrap_or(0.0);
        spread.nodes as f64 * sums[spread.each.min(weights.len())] + spread.rest as f64 * next
    }
}

/// How far a change from one of these categories to another moves a unit or raises the magnitude of its sum, at most
/// (docs/math.md (19.7)). None of them sends nothing.
fn spread(weights: TermWeights, options: &[Option<u32>], unit: usize) -> f64 {
    let widest = |of: &dyn Fn(usize) -> f64| {
        let values = || options.iter().map(|option| option.map_or(0.0, |d| of(d as usize)));
        (values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)).next_up().max(0.0)
    };
    widest(&|d| weights.row(d)[unit]).max(widest(&|d| weights.size(d, unit)))
}

/// Flips at some nodes: so many at each of them, and one more at some. None where there are no nodes.
#[derive(Clone, Copy)]
struct Spread {
    nodes: usize,
    each: usize,
    rest: usize,
}
