//! The menu of a normalised row: by how much a linear functional of what the row sends can fall with `1, 2, …` flips of
//! the row (docs/math.md §21).
//!
//! A flip changes the number of ones, and with it all entries of the row: the largest losses are not sums of the losses
//! of single flips. With `a` additions and `r` removals the entry becomes `σ' = σ(c + a − r)`, and the loss is at most
//!
//! ```text
//! (σ − σ')·B + |σ − σ'|·B̄ + σ'·(the a largest losses of additions + the r largest of removals)
//! ```
//!
//! where `B` is the functional of the whole row without its entry, and `B̄` its radius.

use std::collections::HashMap;

use gcnproof_files::Normalisation;

use crate::number::rounding::{FLOOR, error_of};

/// A row as a bound sees it: what single flips lose where the entry is 1, each list falling and not rounded below.
#[derive(Clone, Copy, Debug)]
pub struct RowLosses<'a> {
    /// How entries follow from that number.
    pub normalisation: Normalisation,
    /// Number of ones.
    pub count: usize,
    /// The largest losses of additions, as many as may be made, negative ones included.
    pub additions: &'a [f64],
    /// The same of removals.
    pub removals: &'a [f64],
    /// The functional of all ones together, `B`.
    pub whole: f64,
    /// Its radius `B̄`, what rounding may have hidden in `B` included.
    pub radius: f64,
    /// How many attributes are added, at least and at most, where the row is changed, and how many removed.
    pub limits: [[usize; 2]; 2],
}

/// What flips may do to the entries of a row.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// By how much one flip changes the entry on average, at most.
    pub shift: f64,
    /// The largest entry that it may get.
    pub largest: f64,
}

impl Scale {
    /// Of a row with `count` ones in which `capacity` may be flipped.
    fn new(normalisation: Normalisation, count: usize, capacity: usize) -> Scale {
        let entry = normalisation.entry(count);
        let scaled = |k: usize| {
            let up = (entry - normalisation.entry(count + k)).abs();
            up.max((normalisation.entry(count.saturating_sub(k)) - entry).abs()) / k as f64
        };
        let shift = (1..=capacity).map(scaled).fold(0.0, f64::max);
        Scale { shift, largest: normalisation.entry(count.saturating_sub(capacity)).max(entry) }
    }
}

/// The same by number of ones and of flips.
#[derive(Debug, Default)]
pub struct Scales {
    known: HashMap<(Normalisation, usize, usize), Scale>,
}

impl Scales {
    /// Of a row with `count` ones in which `capacity` may be flipped.
    pub fn of(&mut self, normalisation: Normalisation, count: usize, capacity: usize) -> Scale {
        let made = || Scale::new(normalisation, count, capacity);
        *self.known.entry((normalisation, count, capacity)).or_insert_with(made)
    }
}

/// The losses of a row by the number of its flips, under their concave hull.
#[derive(Debug, Default)]
pub struct Menu {
    /// How much one more flip adds: positive, not rising; the sum of the first `k` is not below the largest loss of
    /// `k`.
    pub steps: Vec<f64>,
    /// What the flips lose that must be made; 0 where none must.
    pub base: f64,
    /// How many of the best `k` flips are additions, from `k = 0` on.
    pub additions: Vec<usize>,
    losses: Vec<f64>,
    /// The numbers of flips at which the hull has its corners, counted from those that must be made.
    pub hull: Vec<usize>,
    sums: [Vec<f64>; 4],
    /// The entries of the row, from the smallest number of ones on.
    entries: Vec<f64>,
}

impl Menu {
    /// The menu of a row with up to `capacity` flips (docs/math.md (21.4)).
    pub fn fill(&mut self, row: RowLosses, capacity: usize) {
        self.fill_from(row, 0, capacity);
    }

    /// The same with at least so many flips, the fewest that the limits allow: [`Menu::base`] is what these lose, and
    /// the steps are those beyond.
    pub fn fill_from(&mut self, row: RowLosses, least: usize, capacity: usize) {
        let RowLosses { normalisation, count, additions, removals, whole, radius, limits } = row;
        for (sums, (list, sized)) in
            self.sums.iter_mut().zip([(additions, false), (removals, false), (additions, true), (removals, true)])
        {
            sums.clear();
            sums.push(0.0);
            let mut sum = 0.0;
            sums.extend(list.iter().map(|loss| {
                sum += if sized { loss.abs() } else { *loss };
                sum
            }));
        }
        let [added, removed, added_size, removed_size] = &self.sums;
        let entry = normalisation.entry(count);
        let fewest = count.saturating_sub(removals.len());
        self.entries.clear();
        self.entries.extend((fewest..=count + additions.len()).map(|ones| normalisation.entry(ones)));
        self.losses.clear();
        self.losses.push(0.0);
        self.additions.clear();
        self.additions.push(0);
        for k in 1..=capacity.min(additions.len() + removals.len()) {
            let (mut most, mut best) = (f64::NEG_INFINITY, 0);
            for a in k.saturating_sub(removals.len())..=k.min(additions.len()) {
                let r = k - a;
                if !(limits[0][0]..=limits[0][1]).contains(&a) || !(limits[1][0]..=limits[1][1]).contains(&r) {
                    continue;
                }
                let after = self.entries[count + a - r - fewest];
                let fall = entry - after;
                let loss = fall * whole + fall.abs() * radius + after * (added[a] + removed[r]);
                let size = fall.abs() * (whole.abs() + radius) + after * (added_size[a] + removed_size[r]) + FLOOR;
                let loss = loss + error_of(k + 8, size);
                // What is not a number is not known: it may be anything.
                let loss = if loss.is_nan() { f64::INFINITY } else { loss };
                if loss > most {
                    (most, best) = (loss, a);
                }
            }
            self.losses.push(most);
            self.additions.push(best);
        }
        self.base = 0.0;
        if least > 0 {
            // Where so many flips cannot be made, there is nothing to lose.
            self.base = self.losses.get(least).copied().unwrap_or(f64::NEG_INFINITY);
            self.losses.drain(..least.min(self.losses.len()));
            let possible = self.losses.iter_mut().filter(|loss| **loss > f64::NEG_INFINITY);
            possible.for_each(|loss| *loss = (*loss - self.base).next_up());
            self.losses.truncate(if self.base.is_finite() { usize::MAX } else { 0 });
            match self.losses.first_mut() {
                Some(first) => *first = 0.0,
                None => self.losses.push(0.0),
            }
        }
        self.envelop();
    }

    /// The steps of a menu whose losses are known, from that of no flip on.
    pub fn steps_of(&mut self, losses: impl Iterator<Item = f64>) -> &[f64] {
        self.losses.clear();
        self.losses.extend(losses);
        self.envelop();
        &self.steps
    }

    /// The steps of the concave hull of the losses, as long as they rise.
    fn envelop(&mut self) {
        let Menu { steps, losses, hull, .. } = self;
        let slope = |from: usize, to: usize| (losses[to] - losses[from]) / (to - from) as f64;
        hull.clear();
        hull.push(0);
        for k in (1..losses.len()).filter(|&k| losses[k] > f64::NEG_INFINITY) {
            while let [.., before, last] = hull[..]
                && slope(before, last) <= slope(last, k)
            {
                hull.pop();
            }
            hull.push(k);
        }
        steps.clear();
        for pair in hull.windows(2) {
            let step = slope(pair[0], pair[1]).next_up().next_up();
            // Without a number, as after an overflow, nothing is known.
            let step = if step.is_nan() { f64::INFINITY } else { step };
            if step <= 0.0 {
                break;
            }
            steps.extend(std::iter::repeat_n(step, pair[1] - pair[0]));
        }
        // Whatever rounding did to slopes and to their comparison: no loss exceeds the sum of its steps.
        let (mut sum, mut missing) = (0.0, 0.0f64);
        for (k, loss) in losses.iter().enumerate().skip(1) {
            sum += steps.get(k - 1).copied().unwrap_or(0.0);
            missing = missing.max(loss - sum * (1.0 - 1e-14));
        }
        if missing > 0.0 {
            match steps.first_mut() {
                Some(first) => *first += missing.next_up(),
                None => steps.push(missing.next_up()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fall_and_cover_every_loss() {
        let mut menu = Menu::default();
        for (count, whole) in [(0, 0.0), (1, 2.0), (3, -4.0), (5, 1.0)] {
            let (additions, removals) = ([3.0, 2.5, -1.0, -4.0], [1.0, 0.5, -2.0]);
            let removals = &removals[..count.min(3)];
            let row = RowLosses {
                normalisation: Normalisation::Float32,
                count,
                additions: &additions,
                removals,
                whole,
                radius: 0.25,
                limits: [[0, usize::MAX]; 2],
            };
            menu.fill(row, 5);
            assert!(menu.steps.windows(2).all(|pair| pair[0] >= pair[1]) && menu.steps.iter().all(|&step| step > 0.0));
            for k in 1..menu.losses.len() {
                let sum: f64 = menu.steps.iter().take(k).sum();
                assert!(sum >= menu.losses[k] - 1e-12, "{k}: {sum} {:?}", menu.losses);
            }
        }
    }

    #[test]
    fn dilution_alone_is_a_loss() {
        // Ten ones whose functional is 1: an addition that weighs nothing lowers all entries.
        let row = RowLosses {
            normalisation: Normalisation::Float64,
            count: 10,
            additions: &[0.0],
            removals: &[],
            whole: 1.0,
            radius: 0.0,
            limits: [[0, usize::MAX]; 2],
        };
        let mut menu = Menu::default();
        menu.fill(row, 3);
        assert_eq!((menu.steps.len(), &menu.additions[..]), (1, &[0, 1][..]));
        assert!((menu.steps[0] - (0.1 - 1.0 / 11.0)).abs() < 1e-12);
    }
}
