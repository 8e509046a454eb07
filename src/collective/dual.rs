//! The evaluated bound: from any multipliers to a number of predictions that no perturbation exceeds (docs/math.md
//! (20.3)). In integers, so that nothing is rounded.

use crate::collective::program::{Program, Source};
use crate::collective::row::ONE;
use crate::problem::flip::Flip;

/// A bound in multiples of `1/ONE²`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value(pub u128);

impl Value {
    const UNIT: u128 = (ONE as u128) * (ONE as u128);

    /// The largest whole number that is not above it: a count of nodes is whole.
    pub fn floor(self) -> usize {
        usize::try_from(self.0 / Self::UNIT).unwrap_or(usize::MAX)
    }

    /// As a float, for comparisons that decide nothing.
    pub fn approximate(self) -> f64 {
        self.0 as f64 / Self::UNIT as f64
    }
}

/// Multipliers of rows on the grid of the bound: at most `ONE` for the rows of a node together.
pub fn on_grid(program: &Program, multipliers: &[f64]) -> Vec<u32> {
    let mut grid: Vec<u32> = multipliers.iter().map(|&x| (x.clamp(0.0, 1.0) * f64::from(ONE)).round() as u32).collect();
    for node in 0..program.node_count() {
        let rows = &mut grid[program.rows_of(node)];
        let excess = rows.iter().map(|&x| u64::from(x)).sum::<u64>().saturating_sub(u64::from(ONE));
        let mut excess = excess as u32;
        for x in rows {
            let less = excess.min(*x);
            *x -= less;
            excess -= less;
        }
    }
    grid
}

/// What every flip is worth under multipliers, in multiples of `1/ONE²`: of the named flips, and of the others by
/// source.
pub(crate) fn worth(program: &Program, multipliers: &[u32]) -> (Vec<u128>, Vec<u128>) {
    let sum = |entries: &[(u32, u32)]| -> u128 {
        entries.iter().map(|&(row, share)| u128::from(u64::from(multipliers[row as usize]) * u64::from(share))).sum()
    };
    let defaults: Vec<u128> = (0..program.sources.len()).map(|source| sum(program.defaults_of(source))).collect();
    let named = (0..program.flips.len())
        .map(|flip| defaults[program.source_of[flip] as usize] + sum(program.entries_of(flip)))
        .collect();
    let cap = |source: &Source| u128::from(source.cap) * u128::from(ONE);
    (named, defaults.into_iter().zip(&program.sources).map(|(of, source)| of + cap(source)).collect())
}

/// The bound at some multipliers: `Σ_n (1 − Σ_i μ_ni) + max over admissible δ of Σ_f v_f δ_f`.
///
/// # Panics
/// If the multipliers of a node sum to more than one.
pub fn evaluate(program: &Program, multipliers: &[u32]) -> Value {
    let mut constant = 0u128;
    for node in 0..program.node_count() {
        let used: u64 = multipliers[program.rows_of(node)].iter().map(|&x| u64::from(x)).sum();
        let rest = u64::from(ONE).checked_sub(used).unwrap_or_else(|| panic!("multipliers of a node beyond one"));
        constant += u128::from(rest) * u128::from(ONE);
    }
    // T(v) of (20.3), with the cap of (20.8) for flips that no row names.
    let (named, others) = worth(program, multipliers);
    Value(constant + most(program, &named, &others))
}

/// The largest sum of worths within the budget (docs/math.md (1.6)).
fn most(program: &Program, named: &[u128], others: &[u128]) -> u128 {
    let kept = kept(program, named, others);
    if program.attacked_nodes < program.sources.len() {
        return at_price(program, &kept, best_price(program, &kept));
    }
    let mut all: Vec<u128> = kept.into_iter().flatten().collect();
    sum_of_largest(&mut all, program.global)
}

/// The worths that a source can contribute, falling: at most its local budget, and positive.
fn kept(program: &Program, named: &[u128], others: &[u128]) -> Vec<Vec<u128>> {
    // What so many named flips are worth at least: others below it are in no best set.
    let mut ranked = named.to_vec();
    let least = match program.global.checked_sub(1).filter(|_| program.attacked_nodes >= program.sources.len()) {
        Some(last) if last < ranked.len() && program.sources.iter().all(|source| source.local >= program.global) => {
            *ranked.select_nth_unstable_by(last, |x, y| y.cmp(x)).1
        }
        _ => 0,
    };
    every(program, named, others, least)
}

/// The same, without flips outside the named ones that are worth at most `least`.
fn every(program: &Program, named: &[u128], others: &[u128], least: u128) -> Vec<Vec<u128>> {
    let of = |at: usize| {
        let source = &program.sources[at];
        let mut values: Vec<u128> = named[source.first..source.end].iter().copied().filter(|&v| v > 0).collect();
        if others[at] > least {
            values.extend(std::iter::repeat_n(others[at], source.others.min(source.local)));
        }
        values.sort_unstable_by(|x, y| y.cmp(x));
        values.truncate(source.local);
        values
    };
    (0..program.sources.len()).map(of).collect()
}

fn sum_of_largest(values: &mut Vec<u128>, count: usize) -> u128 {
    if values.len() > count {
        if count == 0 {
            return 0;
        }
        values.select_nth_unstable_by(count - 1, |x, y| y.cmp(x));
        values.truncate(count);
    }
    values.iter().sum()
}

/// What a bound adds up, in multiples of `1/ONE²`.
pub(crate) struct Worths {
    /// `1 − Σ_i μ_ni`, by node.
    pub(crate) constants: Vec<u128>,
    /// What the flips of a source node are worth, by source, as many as may be made there.
    pub(crate) by_source: Vec<Vec<u128>>,
}

/// What the bound at some multipliers adds up; `None` if only some nodes may be attacked.
pub(crate) fn worths(program: &Program, multipliers: &[u32]) -> Option<Worths> {
    if program.attacked_nodes < program.sources.len() {
        return None;
    }
    let rest = |node: usize| {
        let used: u128 = multipliers[program.rows_of(node)].iter().map(|&x| u128::from(x)).sum();
        u128::from(ONE).saturating_sub(used) * u128::from(ONE)
    };
    let (named, others) = worth(program, multipliers);
    let constants = (0..program.node_count()).map(rest).collect();
    Some(Worths { constants, by_source: every(program, &named, &others, 0) })
}

/// What a price `θ` of every flip leaves where only some source nodes may be attacked: `Qθ` and the largest of what the
/// sources have beyond it (docs/math.md (20.4)).
fn at_price(program: &Program, kept: &[Vec<u128>], price: u128) -> u128 {
    let beyond = |values: &Vec<u128>| -> u128 { values.iter().take_while(|&&v| v > price).map(|&v| v - price).sum() };
    let mut sums: Vec<u128> = kept.iter().map(beyond).collect();
    sums.sort_unstable_by(|x, y| y.cmp(x));
    price * program.global as u128 + sums.iter().take(program.attacked_nodes).sum::<u128>()
}

/// The rows and shares of the flips that (20.4) counts at its best price: those above it, of the nodes with most.
pub(super) fn attack_at_best_price(program: &Program, multipliers: &[u32]) -> Vec<(u32, u32)> {
    let (named, others) = worth(program, multipliers);
    let kept = kept(program, &named, &others);
    let price = best_price(program, &kept);
    let beyond = |values: &Vec<u128>| -> u128 { values.iter().take_while(|&&v| v > price).map(|&v| v - price).sum() };
    let mut ranked: Vec<(u128, usize)> = kept.iter().map(beyond).zip(0..).filter(|of| of.0 > 0).collect();
    ranked.sort_unstable_by(|x, y| y.cmp(x));
    let mut shares = Vec::new();
    for (_, at) in ranked.into_iter().take(program.attacked_nodes) {
        let source = &program.sources[at];
        let mut flips: Vec<usize> = (source.first..source.end).filter(|&flip| named[flip] > price).collect();
        flips.sort_unstable_by_key(|&flip| std::cmp::Reverse(named[flip]));
        flips.truncate(source.local);
        let more = if others[at] > price { (source.local - flips.len()).min(source.others) } else { 0 };
        for _ in 0..flips.len() + more {
            shares.extend_from_slice(program.defaults_of(at));
        }
        flips.iter().for_each(|&flip| shares.extend_from_slice(program.entries_of(flip)));
    }
    shares
}

/// The price that leaves least.
fn best_price(program: &Program, kept: &[Vec<u128>]) -> u128 {
    // Convex in the price: what is not above its neighbour is not on the way down.
    let (mut low, mut high) = (0, kept.iter().flatten().copied().max().unwrap_or(0));
    while low < high {
        let middle = low + (high - low) / 2;
        if at_price(program, kept, middle) <= at_price(program, kept, middle + 1) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl Program {
    /// What the last flip of the best attack is worth, in multiples of `1/ONE²`, of those that are named.
    pub(crate) fn price(&self, multipliers: &[u32]) -> u128 {
        let (mut named, _) = worth(self, multipliers);
        match self.global.checked_sub(1) {
            Some(last) if last < named.len() => *named.select_nth_unstable_by(last, |x, y| y.cmp(x)).1,
            _ => 0,
        }
    }

    /// The named flips that are worth at least a quarter of that, the best first as long as they have no more than so
    /// many entries together.
    pub(crate) fn best_flips(&self, multipliers: &[u32], entries: usize) -> impl Iterator<Item = Flip> {
        let least = self.price(multipliers) / 4;
        let worth = worth(self, multipliers).0.into_iter().enumerate();
        let mut ranked: Vec<(u128, usize)> =
            worth.map(|(flip, worth)| (worth, flip)).filter(|of| of.0 >= least).collect();
        ranked.sort_unstable_by(|x, y| y.cmp(x));
        let mut left = entries;
        let fits = move |(_, flip): &(u128, usize)| {
            let count = self.entries_of(*flip).len();
            left = left.saturating_sub(count);
            left > 0
        };
        ranked.into_iter().take_while(fits).map(|(_, flip)| self.flips[flip])
    }
}

/// Prices that attain the bound of [`evaluate`], in multiples of `1/ONE²`: of every flip, and of the flips of some
/// nodes (docs/math.md (1.8)).
pub fn prices(program: &Program, multipliers: &[u32]) -> (u64, Vec<(u32, u64)>) {
    let (named, others) = worth(program, multipliers);
    let kept = kept(program, &named, &others);
    let whole = |price: u128| u64::try_from(price).unwrap_or(u64::MAX);
    if program.attacked_nodes < program.sources.len() {
        return (whole(best_price(program, &kept)), Vec::new());
    }
    let mut all: Vec<u128> = kept.iter().flatten().copied().collect();
    all.sort_unstable_by(|x, y| y.cmp(x));
    let price = program.global.checked_sub(1).and_then(|last| all.get(last)).copied().unwrap_or(0);
    let of_row = |(source, kept): (&Source, &Vec<u128>)| {
        let least = *kept.get(source.local.checked_sub(1)?)?;
        // Where the budget of all flips is the smaller one, a row needs no price of its own.
        (least > price).then(|| (source.node, whole(least - price)))
    };
    (whole(price), program.sources.iter().zip(&kept).filter_map(of_row).collect())
}
