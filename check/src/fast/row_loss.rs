//! Rule 6 for normalised rows, in floats.

use super::loss::FastLosses;
use super::menu::{FloatMenu, MenuPart, RowFlips, largest, limits, lost_by_rows};
use super::row::Rows;
use crate::number::{Interval, RowSlopes, Stored, Up, step};

/// Steps for a row, and for an attribute that is looked at besides its inner product.
const ROW: u64 = 256;
const LOOK: u64 = 16;

impl FastLosses<'_> {
    /// Rule 6 for normalised rows: not below what an admissible set of free flips loses.
    pub(super) fn of_rows(&self, rows: &Rows) -> Up {
        let left = self.decided.left_in_all(self.budget).unwrap_or(0);
        let steep: Vec<_> = (0..self.lines.len()).map(|m| self.steep(m)).collect();
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        let mut menus = Vec::new();
        for row in self.places(&steep) {
            let slopes = self.convex_slopes(row.place, &steep);
            let attributes = self.network.exact.graph.attributes.row(row.node as usize);
            attributes.iter().for_each(|&d| present[d as usize] = true);
            let additions = self.additions(&slopes, row.node, row.left, &present);
            attributes.iter().for_each(|&d| present[d as usize] = false);
            let free = |d: u32| {
                self.budget.permits((row.node, d), true) && self.decided.fixed.binary_search(&(row.node, d)).is_err()
            };
            let removals = attributes.iter().filter(|&&d| free(d)).map(|&d| slopes.loss_of(self.network.row(d), true));
            let (own, sums) = rows.base(row.node, self.decided);
            let whole = [false, true].map(|present| slopes.loss_of_sums(&sums, present));
            let (removals, limits) = (largest(removals.collect(), row.left), limits(self.decided, row.node));
            let flips = RowFlips { additions, removals, whole, limits };
            step(ROW + 4 * ((flips.additions.len() + 1) * (flips.removals.len() + 1)) as u64);
            let menu = FloatMenu::new(own, &flips, row.left, |count| self.network.exact.entry(count));
            menus.push((menu, self.decided.least(row.node)));
        }
        let parts = menus.iter().map(|(menu, reserved)| {
            let (factor, reserved) = (Stored::ONE, *reserved);
            MenuPart { factor, menu, left: usize::MAX, reserved, forced: reserved > 0 }
        });
        let parts: Vec<MenuPart> = parts.collect();
        // Flips that must be made elsewhere lose nothing.
        let reserved = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.reserved));
        lost_by_rows(&parts, left.saturating_sub(reserved)).unwrap_or(Interval::ANY.upper)
    }

    /// What adding attributes to a row loses, the largest first: as many as may be made together. What gains counts as
    /// 0.
    fn additions(&self, slopes: &RowSlopes, node: u32, left: usize, present: &[bool]) -> Vec<Up> {
        if !self.budget.adds() {
            return Vec::new();
        }
        let width = self.network.columns.len().max(1);
        let mut found = vec![Up::ZERO; left.min(self.network.by_norm.len())];
        let mut looked_at = 0;
        for (weights, &(d, norm)) in self.network.by_norm_weights.chunks_exact(width).zip(&self.network.by_norm) {
            let Some(&least) = found.last() else { break };
            // Cauchy and Schwarz: no attribute from here on loses more than the least of those found.
            if slopes.losing.times_up(norm).order(least).is_le() {
                break;
            }
            looked_at += 1;
            let Some(loss) = slopes.loss_over(weights, norm, least).filter(|_| !present[d as usize]) else { continue };
            if self.budget.permits((node, d), false) && self.decided.fixed.binary_search(&(node, d)).is_err() {
                let at = found.partition_point(|more| more.order(loss).is_ge());
                found.insert(at, loss);
                found.pop();
            }
        }
        step(looked_at * (LOOK + width as u64));
        found
    }
}
