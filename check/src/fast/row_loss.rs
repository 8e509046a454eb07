//! Rule 6 for normalised rows in floats: a price for the largest loss of whole rows, and the bound that it gives.

use super::loss::{FastLosses, Places, RoundedSlopes, Steep};
use super::menu::{FastMenu, FastPart, RowFlips, largest, rows_lose};
use super::prices::FloatPrices;
use crate::ids::Flip;
use crate::number::{Interval, RowSlopes, Stored, Up, step};
use crate::statement::pairs;

/// Steps for a flip that is looked at, besides its inner product.
const LOOK: u64 = 16;

/// A row that may lose something.
struct RowLoss {
    left: usize,
    menu: FastMenu,
    /// Its flip that loses most alone.
    worst: Option<(Up, Flip)>,
}

impl FastLosses<'_> {
    /// A price for the largest loss, not below what it gives, and the flip that alone loses most.
    pub(crate) fn row_price(&self) -> (FloatPrices, Up, Option<Flip>) {
        let steep: Vec<Vec<Steep>> = (0..self.lines.len()).map(|m| self.steep(m)).collect();
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        let rows: Vec<RowLoss> =
            self.places(&steep).iter().map(|row| self.row_loss(row, &steep, &mut present)).collect();
        let parts = rows.iter().map(|row| FastPart { menu: &row.menu, factor: Stored::ONE, left: row.left });
        let parts: Vec<FastPart> = parts.collect();
        let (every, given) = rows_lose(&parts, self.decided.left_in_all(self.budget).unwrap_or(0));
        let worst = rows.iter().filter_map(|row| row.worst).max_by(|a, b| a.0.order(b.0));
        (FloatPrices { every, nodes: Vec::new() }, given, worst.map(|(_, flip)| flip))
    }

    fn row_loss(&self, row: &Places, steep: &[Vec<Steep>], present: &mut [bool]) -> RowLoss {
        let Places { node, place, left, .. } = *row;
        let (network, width) = (self.network, self.network.columns.len().max(1));
        let mut most = RoundedSlopes::new(network.columns.len());
        for pair in pairs(self.slice.reached(place)) {
            for (unit, up, down) in &steep[pair[0].place()] {
                self.add(&mut most, pair, *unit, *up, *down);
            }
        }
        let most = most.convex(self.step);
        let largest_norm = network.by_norm.first().map_or(Up::ZERO, |of| of.1);
        let slopes = RowSlopes::new(&most.plus, &most.minus, largest_norm);
        let attributes = network.exact.graph.attributes.row(node as usize);
        let is_free = |d: u32, is_present: bool| {
            self.budget.permits((node, d), is_present) && self.decided.fixed.binary_search(&(node, d)).is_err()
        };
        let mut worst: Option<(Up, Flip)> = None;
        let mut note = |loss: Up, d: u32| {
            if worst.is_none_or(|(known, _)| loss.order(known).is_gt()) {
                worst = Some((loss, (node, d)));
            }
        };
        let removals = attributes.iter().filter(|&&d| is_free(d, true)).map(|&d| {
            let loss = slopes.loss(network.row(d), network.norms[d as usize], true);
            note(loss, d);
            loss
        });
        let removals = largest(removals.collect(), left);
        let mut additions: Vec<Up> = Vec::new();
        if self.budget.adds() {
            attributes.iter().for_each(|&d| present[d as usize] = true);
            // Attributes that are not looked at lose no more than this.
            let (mut least, mut looked_at) = (None, 0);
            for (weights, &(d, norm)) in network.by_norm_weights.chunks_exact(width).zip(&network.by_norm) {
                // Cauchy and Schwarz.
                if least.is_some_and(|least| slopes.losing.times_up(norm).order(least).is_le()) {
                    break;
                }
                looked_at += 1;
                if present[d as usize] || !is_free(d, false) {
                    continue;
                }
                let loss = slopes.loss(weights, norm, false);
                if least.is_some_and(|least| loss.order(least).is_le()) {
                    continue;
                }
                note(loss, d);
                additions.push(loss);
                if additions.len() >= 2 * left + 16 {
                    additions = largest(additions, left);
                    least = additions.last().copied();
                }
            }
            step(looked_at * (LOOK + width as u64));
            attributes.iter().for_each(|&d| present[d as usize] = false);
            additions = largest(additions, left);
        }
        let (count, sums) = self.shared.base(node, self.decided);
        let whole = [false, true].map(|turned| {
            let terms = (0..network.columns.len()).map(|at| {
                let x = sums.interval(at);
                most.loss(at, if turned { -x } else { x })
            });
            terms.fold(Up::ZERO, Up::plus)
        });
        let menu = FastMenu::new(network.exact, count, &RowFlips { additions, removals, whole }, left);
        RowLoss { left, menu, worst }
    }
}

impl RoundedSlopes {
    /// Rounded as the core does, and with `minus` not below `plus`.
    fn convex(mut self, step: Stored) -> RoundedSlopes {
        self.plus.iter_mut().for_each(|x| *x = x.minus(step.into()));
        for (minus, plus) in self.minus.iter_mut().zip(&self.plus) {
            *minus = minus.plus(step.into()).at_least(*plus);
        }
        self
    }

    /// Not below what a change of what is sent loses in one place: that is convex, so most at an end.
    fn loss(&self, at: usize, change: Interval) -> Up {
        let end = |x: Stored| match x.is_negative() {
            true => self.minus[at].times(-x),
            false => (-self.plus[at]).times(x),
        };
        match change.ends() {
            Some(ends) => end(ends[0]).most(end(ends[1])),
            None => Interval::ANY.upper,
        }
    }
}
