//! The best flips of one node for one unit: the front of `(1−X_n)∘[W_:j]₊ + X_n∘[W_:j]₋` in falling order (math §3).
//!
//! Nearly all of a node's best additions are the unit's own largest weights, so a few leaders per unit serve every node;
//! one look at the node's attributes tells which leaders it has already.

use std::cell::OnceCell;

use gcnproof_files::Pattern;

use crate::budget::Budget;

/// Leaders per side: the two sides share the bits of a mask.
const LEADERS: usize = 64;

/// Marks an attribute that leads on neither side.
const NONE: u8 = u8::MAX;

/// A flip that moves a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// By how much, as a positive number.
    pub gain: f64,
    /// Which attribute.
    pub attribute: u32,
    /// `+1` for an addition, `−1` for a removal.
    pub sign: i8,
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The unit is raised.
    Rise,
    /// The unit is lowered.
    Fall,
}

impl Side {
    fn sign(self) -> f64 {
        if self == Side::Rise { 1.0 } else { -1.0 }
    }
}

/// One unit: its weights and their order.
pub struct Unit<'a> {
    column: Vec<f64>,
    budget: &'a Budget,
    attributes: &'a Pattern,
    rank: Vec<u8>,
    leaders: [Vec<Item>; 2],
    /// All attributes by falling weight, for nodes that the leaders do not serve.
    order: OnceCell<Vec<u32>>,
}

/// Where a node's best flips stand.
#[derive(Clone, Copy, Debug)]
pub enum List {
    /// So many of the unit's leaders.
    Leaders(u32),
    /// A range of the nodes' own lists.
    Own(u32, u32),
}

/// What one look at a node's attributes tells.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    present: u128,
    lowest: f64,
    highest: f64,
}

impl<'a> Unit<'a> {
    /// Finds the leaders of a column of `W(1)`.
    pub fn new(column: Vec<f64>, budget: &'a Budget, attributes: &'a Pattern) -> Unit<'a> {
        let mut rank = vec![NONE; column.len()];
        let mut first = 0;
        let leaders = [Side::Rise, Side::Fall].map(|side| {
            let gain = |d: u32| side.sign() * column[d as usize];
            let mut best: Vec<u32> =
                (0..column.len() as u32).filter(|&d| gain(d) > 0.0 && !budget.is_frozen(d as usize)).collect();
            let falling = |x: &u32, y: &u32| gain(*y).total_cmp(&gain(*x)).then(x.cmp(y));
            if best.len() > LEADERS {
                best.select_nth_unstable_by(LEADERS, falling);
                // One more than is used tells whether there are more.
                best.truncate(LEADERS + 1);
            }
            best.sort_unstable_by(falling);
            for (place, &d) in best.iter().take(LEADERS).enumerate() {
                rank[d as usize] = first + place as u8;
            }
            first += LEADERS as u8;
            best.iter().map(|&d| Item { gain: gain(d), attribute: d, sign: 1 }).collect()
        });
        Unit { column, budget, attributes, rank, leaders, order: OnceCell::new() }
    }

    /// The weights of the unit.
    pub fn column(&self) -> &[f64] {
        &self.column
    }

    /// Looks at a node once for both sides.
    pub fn look(&self, node: usize) -> Look {
        let mut look = Look { present: 0, lowest: 0.0, highest: 0.0 };
        for &d in self.attributes.row(node) {
            let w = self.column[d as usize];
            look.lowest = look.lowest.min(w);
            look.highest = look.highest.max(w);
            let rank = self.rank[d as usize];
            if rank != NONE {
                look.present |= 1 << rank;
            }
        }
        look
    }

    /// The best flips of a node, at most `capacity`, in falling order: the leaders themselves where the node has none of
    /// them, else a list of its own, appended to `own`.
    pub fn best(&self, side: Side, node: usize, look: Look, capacity: usize, own: &mut Vec<Item>) -> List {
        let leaders = &self.leaders[side as usize];
        let present = (look.present >> (LEADERS * side as usize)) as u64;
        let best_removal = if side == Side::Rise { -look.lowest } else { look.highest };
        let untouched = present.trailing_zeros() as usize >= capacity.min(LEADERS);
        if self.budget.direction().adds() && untouched && capacity <= leaders.len().min(LEADERS) {
            let floor = leaders[..capacity].last().map_or(f64::INFINITY, |item| item.gain);
            // Nearly always every removal gains less than the last addition.
            if best_removal <= floor || !self.budget.direction().removes() {
                return List::Leaders(capacity as u32);
            }
        }
        let start = own.len();
        if self.budget.direction().adds() {
            self.additions(side, node, present, capacity, own);
        }
        let full = own.len() - start == capacity;
        let floor = if full { own.last().map_or(f64::INFINITY, |item| item.gain) } else { 0.0 };
        if self.budget.direction().removes() && best_removal > floor {
            for &d in self.attributes.row(node) {
                let gain = -side.sign() * self.column[d as usize];
                if gain > floor && !self.budget.is_frozen(d as usize) {
                    own.push(Item { gain, attribute: d, sign: -1 });
                }
            }
            own[start..].sort_unstable_by(|x, y| y.gain.total_cmp(&x.gain));
            own.truncate(start + capacity);
        }
        List::Own(start as u32, own.len() as u32)
    }

    fn additions(&self, side: Side, node: usize, present: u64, capacity: usize, own: &mut Vec<Item>) {
        let start = own.len();
        let leaders = &self.leaders[side as usize];
        let leading = leaders.iter().take(LEADERS).enumerate().filter(|&(place, _)| present >> place & 1 == 0);
        own.extend(leading.map(|(_, item)| *item).take(capacity));
        if own.len() - start < capacity && leaders.len() > LEADERS {
            own.truncate(start);
            let row = self.attributes.row(node);
            let order = self.order.get_or_init(|| self.sorted());
            let order: &mut dyn Iterator<Item = &u32> = match side {
                Side::Rise => &mut order.iter(),
                Side::Fall => &mut order.iter().rev(),
            };
            let gain = |d: u32| side.sign() * self.column[d as usize];
            let additions = order.map(|&d| Item { gain: gain(d), attribute: d, sign: 1 });
            let additions = additions.take_while(|item| item.gain > 0.0);
            own.extend(additions.filter(|item| row.binary_search(&item.attribute).is_err()).take(capacity));
        }
    }

    /// A list that [`Unit::best`] has found.
    #[inline]
    pub fn items<'b>(&'b self, side: Side, list: List, own: &'b [Item]) -> &'b [Item] {
        match list {
            List::Leaders(count) => &self.leaders[side as usize][..count as usize],
            List::Own(start, end) => &own[start as usize..end as usize],
        }
    }

    fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..self.column.len() as u32).filter(|&d| !self.budget.is_frozen(d as usize)).collect();
        order.sort_by(|&x, &y| self.column[y as usize].total_cmp(&self.column[x as usize]));
        order
    }
}
