//! What flips lose of the constant of a leaf, in shares of it: what proofs about one attack count.

use super::loss::{FastLosses, Found, Places, RoundedSlopes};
use super::rising_price::RisingPrice;
use super::row_bound::RowBound;
use crate::ids::Flip;
use crate::number::{Down, Up, step};

impl FastLosses<'_> {
    /// What flips lose at most, by rows with flips to make. Of rows that are left out they lose nothing.
    pub(crate) fn row_bounds(&self) -> Vec<(u32, RowBound)> {
        let shape = self.shape();
        let bound = |row: Places| {
            let RoundedSlopes { plus, minus } = self.steep_slopes(row.place, row.node, &shape.steep).stepped(self.step);
            (row.node, RowBound::new(row.norm, &plus, &minus))
        };
        self.places(&shape.steep).into_iter().map(bound).collect()
    }

    /// Free flips with shares of a constant, in units of 2⁻²⁴ and not below `loss / constant`, and a share. The others
    /// have no larger one than that, but where their row has no budget left beside those that are listed.
    pub(crate) fn largest_shares(&self, constant: Down) -> (Vec<(Flip, u32)>, u32) {
        let count = self.decided.left_in_all(self.budget).unwrap_or(0);
        let shape = self.shape();
        let mut places = self.places(&shape.steep);
        if count == 0 || places.is_empty() {
            return (Vec::new(), 0);
        }
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        let mut price = RisingPrice::new(count);
        let found = self.collect(&mut price, &shape, &mut places, &mut present);
        let share = |(at, d, loss): Found| ((places[at].node, d), loss.share_of(constant));
        (found.into_iter().map(share).collect(), Up::from(price.price).share_of(constant))
    }

    /// Raises the shares that free flips of some rows have of a constant, in units of 2⁻²⁴, to numbers not below
    /// `loss / constant`. The rows are of nodes with flips to make, each with the shares of all attributes; of a row
    /// those attributes are looked at that `looked_at` lists by their places among the falling norms, or all.
    pub(crate) fn raise_shares<'l>(
        &self,
        constant: Down,
        rows: &mut [(u32, Vec<u32>)],
        looked_at: impl Fn(u32) -> Option<&'l [u32]>,
    ) {
        let shape = self.shape();
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        let width = self.network.columns.len().max(1);
        for (node, shares) in rows {
            let Some(place) = self.slice.place(1, *node) else { continue };
            let (most, lines) = self.slopes(place, *node, &shape.steep);
            let attributes = self.network.exact.graph.attributes.row(*node as usize);
            attributes.iter().for_each(|&d| present[d as usize] = true);
            let listed = looked_at(*node);
            let count = listed.map_or(self.network.by_norm.len(), <[u32]>::len);
            step((count * width) as u64);
            for at in 0..count {
                let at = listed.map_or(at, |listed| listed[at] as usize);
                let (weights, (d, norm)) =
                    (&self.network.by_norm_weights[at * width..][..width], self.network.by_norm[at]);
                // Cauchy and Schwarz.
                let largest = most.losing.times_up(norm);
                if largest.is_zero() {
                    break;
                }
                let (share, is_present) = (&mut shares[d as usize], present[d as usize]);
                if largest.share_of(constant) <= *share || !self.budget.permits((*node, d), is_present) {
                    continue;
                }
                let mut loss = most.loss(weights, norm, is_present);
                if let Some(lines) = lines.as_ref().filter(|_| loss.is_positive()) {
                    let bent = self.bent(&shape, place, (*node, d), is_present);
                    loss = loss.least(lines.loss(weights, norm, is_present).plus(bent));
                }
                if loss.is_positive() {
                    *share = loss.share_of(constant).max(*share);
                }
            }
            attributes.iter().for_each(|&d| present[d as usize] = false);
        }
    }
}
