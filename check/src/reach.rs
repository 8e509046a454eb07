//! Reach: the largest changes that the free flips of a node's neighbours cause in its units.

use std::borrow::Cow;

use crate::number::{Number, keep_largest};

/// The largest amounts by which flips of one node change what it sends to each unit, largest first.
#[derive(Clone, Default)]
pub(crate) struct Gains {
    pub(crate) values: Vec<f64>,
    /// Where the falls and then the rises of each unit end.
    pub(crate) ends: Vec<u32>,
}

impl Gains {
    fn of(&self, unit: usize, upward: bool) -> &[f64] {
        let at = 2 * unit + usize::from(upward);
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.values[start as usize..self.ends[at] as usize]
    }
}

/// A neighbour.
pub(crate) struct Column<'a> {
    pub(crate) gains: Cow<'a, Gains>,
    /// What is left of its budget: `min(q'_n, Q')`.
    pub(crate) left: usize,
    /// The entry of `A(1)`.
    pub(crate) entry: f64,
}

/// The neighbours of a node, and what is left of the budget in all.
pub(crate) struct Reach<'a> {
    pub(crate) columns: Vec<Column<'a>>,
    /// `Q'`.
    pub(crate) total: usize,
}

impl Reach<'_> {
    /// The changes that raise (or lower) a unit furthest.
    pub(crate) fn largest<N: Number>(&self, unit: usize, upward: bool, pool: &mut Vec<N>) {
        pool.clear();
        for Column { gains, left, entry } in &self.columns {
            // A negative entry turns a rise of what is sent into a fall of what arrives.
            let gains = gains.of(unit, upward == (*entry > 0.0));
            pool.extend(gains.iter().take(*left).map(|&gain| N::from_f64(gain).scaled(entry.abs())));
        }
        keep_largest(pool, self.total);
    }
}
