//! The flips that change one unit most: the first entries of `(1−X_n)∘[W_:j]₊ + X_n∘[W_:j]₋` (docs/math.md §3).
//!
//! Nearly all of a node's best additions are the unit's own largest weights, so a few leaders per unit serve every
//! node. One look at a node's attributes tells which leaders it has already and what its best removal gains; flips are
//! only listed where they can still be among the best of a row.

use std::cell::OnceCell;

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::matrix::{Pattern, PatternRows};

/// Leaders per side: the two sides share the bits of a mask.
const LEADERS: usize = 64;

/// Marks an attribute that leads on neither side.
const NONE: u8 = u8::MAX;

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

/// A selected flip: the unit changes by `factor · Σ_k A_k,mn W_k,dj`.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The attribute `d`.
    pub attribute: u32,
    /// Where the entries `A_k,mn` stand among those of all rows.
    pub entry: u32,
    /// `+1` for an addition, `−1` for a removal; where rows are normalised, the change of the row's entry.
    pub factor: f64,
}

/// A flip that may be selected, and what it gains.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// By how much it moves the unit the way that is asked for.
    pub gain: f64,
    /// The flip.
    pub pick: Pick,
}

/// One entry of an operator: which, its value, and the side of the unit that is asked for through it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where it stands among those of all rows.
    pub place: u32,
    /// `A_mn`.
    pub value: f64,
    /// A negative value swaps the two.
    pub side: Side,
}

/// One unit of one term: its weights and their order.
pub struct Unit<'a> {
    column: Vec<f64>,
    budget: &'a Budget,
    attributes: &'a Pattern,
    rank: Vec<u8>,
    /// Attributes by falling gain, at most [`LEADERS`]; and whether there are more.
    leaders: [(Vec<u32>, bool); 2],
    /// All attributes by falling weight, for the rare node that the leaders do not serve.
    order: OnceCell<Vec<u32>>,
}

/// What one look at a node's attributes tells.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The node.
    pub node: usize,
    present: u128,
    lowest: f64,
    highest: f64,
}

impl Look {
    fn leaders(self, side: Side) -> u64 {
        (self.present >> (LEADERS * side as usize)) as u64
    }
}

impl<'a> Unit<'a> {
    /// Finds the leaders of a column of `W(1)`.
    pub fn new(column: Vec<f64>, budget: &'a Budget, attributes: &'a Pattern) -> Unit<'a> {
        let mut rank = vec![NONE; column.len()];
        let leaders = [Side::Rise, Side::Fall].map(|side| {
            let gain = |d: u32| side.sign() * column[d as usize];
            let mut best: Vec<u32> =
                (0..column.len() as u32).filter(|&d| gain(d) > 0.0 && !budget.is_frozen(d as usize)).collect();
            let falling = |x: &u32, y: &u32| gain(*y).total_cmp(&gain(*x)).then(x.cmp(y));
            let more = best.len() > LEADERS;
            if more {
                best.select_nth_unstable_by(LEADERS - 1, falling);
                best.truncate(LEADERS);
            }
            best.sort_unstable_by(falling);
            for (place, &d) in best.iter().enumerate() {
                rank[d as usize] = (LEADERS * side as usize + place) as u8;
            }
            (best, more)
        });
        Unit { column, budget, attributes, rank, leaders, order: OnceCell::new() }
    }

    /// The weights of the unit.
    pub fn column(&self) -> &[f64] {
        &self.column
    }

    fn gain(&self, side: Side, attribute: u32) -> f64 {
        side.sign() * self.column[attribute as usize]
    }

    /// Looks at a node once for both sides.
    pub fn look(&self, node: usize) -> Look {
        let mut look = Look { node, present: 0, lowest: 0.0, highest: 0.0 };
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

    /// What the node's `capacity` best flips surely gain, each: 0 if that is not known at once.
    #[inline]
    pub fn surely(&self, side: Side, look: Look, capacity: usize) -> f64 {
        let place = capacity.saturating_sub(1) + look.leaders(side).count_ones() as usize;
        let adds = self.budget.direction().adds();
        self.leaders[side as usize].0.get(place).filter(|_| adds).map_or(0.0, |&d| self.gain(side, d))
    }

    /// What no flip of the node gains more than.
    #[inline]
    pub fn at_most(&self, side: Side, look: Look) -> f64 {
        let removal = if side == Side::Rise { -look.lowest } else { look.highest };
        // A leader that the node has already only makes this a weaker bound.
        self.leaders[side as usize].0.first().map_or(removal, |&d| removal.max(self.gain(side, d)))
    }

    /// Appends the flips of a node whose gain times `|A_mn|` reaches the floor: the `capacity` best of them.
    pub fn list(&self, look: Look, at: Entry, floor: f64, capacity: usize, list: &mut Vec<Candidate>) {
        let (start, side) = (list.len(), at.side);
        let size = at.value.abs();
        let most = start + capacity;
        if self.budget.direction().adds() {
            let present = look.leaders(side);
            let (leaders, more) = &self.leaders[side as usize];
            let mut add = |d: u32, present: bool| {
                let gain = size * self.gain(side, d);
                if gain <= 0.0 || gain < floor || list.len() == most {
                    return false;
                }
                if !present {
                    list.push(Candidate { gain, pick: Pick { attribute: d, entry: at.place, factor: 1.0 } });
                }
                true
            };
            let open = leaders.iter().enumerate().all(|(place, &d)| add(d, present >> place & 1 == 1));
            if open && *more {
                let row = self.attributes.row(look.node);
                let order = self.order.get_or_init(|| self.sorted());
                let mut further = |d: &u32| add(*d, row.binary_search(d).is_ok());
                match side {
                    Side::Rise => order[LEADERS..].iter().all(&mut further),
                    Side::Fall => order[..order.len() - LEADERS].iter().rev().all(&mut further),
                };
            }
        }
        let best_removal = size * if side == Side::Rise { -look.lowest } else { look.highest };
        if self.budget.direction().removes() && best_removal > 0.0 && best_removal >= floor {
            for &d in self.attributes.row(look.node) {
                let gain = -size * self.gain(side, d);
                if gain > 0.0 && gain >= floor && !self.budget.is_frozen(d as usize) {
                    list.push(Candidate { gain, pick: Pick { attribute: d, entry: at.place, factor: -1.0 } });
                }
            }
            keep_best(list, start, capacity);
        }
    }

    /// The order of both sides: the falling side ends with its leaders.
    fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..self.column.len() as u32).filter(|&d| !self.budget.is_frozen(d as usize)).collect();
        // Among equals the leaders stand outside on both sides: rising ones by falling number at the end.
        let tie = |w: f64, x: u32, y: u32| if w > 0.0 { x.cmp(&y) } else { y.cmp(&x) };
        let weight = |d: u32| self.column[d as usize];
        order.sort_unstable_by(|&x, &y| weight(y).total_cmp(&weight(x)).then_with(|| tie(weight(x), x, y)));
        order
    }
}

/// Drops all but the `count` largest of what stands from `start` on.
pub fn keep_best(list: &mut Vec<Candidate>, start: usize, count: usize) {
    if list.len() - start > count {
        if count > 0 {
            list[start..].select_nth_unstable_by(count - 1, |x, y| y.gain.total_cmp(&x.gain));
        }
        list.truncate(start + count);
    }
}
