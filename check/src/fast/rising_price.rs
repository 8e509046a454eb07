//! A price that rises while the flips with the largest losses are looked for.

use crate::number::{Down, Rough, Stored, Up};

/// Losses of a row that are found before the price is raised.
const BATCH: usize = 16;

/// A price that rises while flips are found: in the end it is about the smallest of the largest losses that may be made
/// together. Within a row it is not below the largest loss that the row has no budget left for.
pub(super) struct RisingPrice {
    pub(super) price: Stored,
    /// Flips that may be made in all; 0 for a price that does not rise.
    count: usize,
    /// The largest losses of the rows before that may be made together.
    kept: Vec<Up>,
    /// The largest losses of this row, one more than may be made.
    row: Vec<Up>,
    /// Flips that may be made in this row.
    left: usize,
    /// The price in this row.
    own: Stored,
    /// Losses of this row that the price does not depend on yet.
    waiting: usize,
}

impl RisingPrice {
    pub(super) fn fixed(price: Stored) -> RisingPrice {
        RisingPrice { price, count: 0, kept: Vec::new(), row: Vec::new(), left: 0, own: price, waiting: 0 }
    }

    pub(super) fn new(count: usize) -> RisingPrice {
        RisingPrice { count, ..RisingPrice::fixed(Stored::ZERO) }
    }

    pub(super) fn begin(&mut self, left: usize) -> Down {
        (self.left, self.own, self.waiting) = (left, self.price, 0);
        self.own.into()
    }

    /// Takes a loss above the price in the row, and returns the price from here on.
    pub(super) fn add(&mut self, loss: Up) -> Down {
        if self.count > 0 {
            self.row.push(loss);
            self.waiting += 1;
            if self.waiting >= BATCH {
                self.rise();
            }
        }
        self.own.into()
    }

    fn rise(&mut self) {
        self.waiting = 0;
        let raised = |price: Stored, loss: Up| Rough::from(price).most(loss.rough()).price();
        self.row.sort_unstable_by(|a, b| b.order(*a));
        self.row.truncate(self.left.saturating_add(1));
        if self.kept.len() + self.row.len().min(self.left) >= self.count {
            let mut all = self.kept.clone();
            all.extend(self.row.iter().take(self.left));
            let (_, smallest, _) = all.select_nth_unstable_by(self.count - 1, |a, b| b.order(*a));
            // A little lower, so that the smallest is found, too.
            let smallest = (smallest.rough() * Rough::NEARLY_ONE).price();
            self.price = raised(self.price, smallest.into());
            self.own = raised(self.own, smallest.into());
        }
        if let Some(&beyond) = self.row.get(self.left) {
            self.own = raised(self.own, beyond);
        }
    }

    pub(super) fn end(&mut self) {
        if self.waiting > 0 {
            self.rise();
        }
        self.row.truncate(self.left);
        self.kept.append(&mut self.row);
        if self.kept.len() > self.count {
            self.kept.sort_unstable_by(|a, b| b.order(*a));
            self.kept.truncate(self.count);
        }
    }
}
