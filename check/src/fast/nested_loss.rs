//! What bends of layer 3 take from flips: slopes that overstate it, and the sums themselves.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::network::FastNetwork;
use super::prices::FloatPrices;
use super::row::NodeUnits;
use crate::ids::Flip;
use crate::number::{
    DirectedBend, Interval, NestedChanges, NestedSums, Stored, SupportLine, Up, excess_share, kept_share,
};
use crate::statement::{Link, Slice, pairs};

/// The level of a bend of layer 3.
#[derive(Clone, Debug)]
pub(crate) struct NestedLevel {
    /// `T`.
    pub(crate) level: Stored,
    pub(crate) prices: FloatPrices,
    /// Not below `A`.
    pub(crate) base: Up,
    /// Is `B` surely below 0, and not surely not?
    pub(crate) below: bool,
    /// Not below any change towards zero by a free flip.
    pub(crate) largest: Up,
}

/// By unit of a node of layer 3: its level, if it is unstable and rounding does not hide the sign of `B`.
pub(crate) type NestedRow = Vec<Option<NestedLevel>>;

/// A bend of layer 3 in a leaf.
#[derive(Clone, Debug)]
pub(crate) struct NestedUse {
    /// Place in `V(3)`.
    pub(crate) place: usize,
    pub(crate) unit: usize,
    /// `c`.
    pub(crate) weight: Stored,
    /// The levels of the node.
    pub(crate) row: Arc<NestedRow>,
}

impl NestedUse {
    /// Its level.
    pub(crate) fn level(&self) -> Option<&NestedLevel> {
        self.row[self.unit].as_ref()
    }
}

/// A unit of layer 2: its lines, and numbers around them.
struct UnitSupports {
    line: SupportLine,
    /// Around `z'`.
    value: Interval,
    /// Around `a`.
    upper: Interval,
    /// `p ≤ rise·g` for a rise, and `p ≤ fall·g` for a fall.
    rise: Stored,
    fall: Stored,
}

impl UnitSupports {
    /// Is `ω` 1?
    fn follows(&self) -> bool {
        match self.line {
            SupportLine::Linear => true,
            SupportLine::Level { follows, .. } => follows,
        }
    }

    /// Does the upper line fall no more than the unit itself, and not only not at all?
    fn falls(&self) -> bool {
        match self.line {
            SupportLine::Linear => true,
            SupportLine::Level { below, .. } => !below,
        }
    }
}

/// Numbers that the changes of flips may consist of while they are remembered.
const REMEMBERED: usize = 1 << 22;

/// The lines of layer 2 that bends rest on, in a slice.
pub(crate) struct Supports {
    units: Vec<Vec<UnitSupports>>,
    sums: NestedSums,
    /// What flips change, by place of their node: no bend and no leaf changes it.
    known: RefCell<HashMap<Flip, Rc<NestedChanges>>>,
}

/// What a flip loses by the affine bound of a unit of layer 3.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// By a bend.
    Bend {
        /// `c`.
        weight: Stored,
        /// `T`.
        level: Stored,
        /// Is `B < 0`?
        below: bool,
        /// Not below any change towards zero.
        largest: Up,
    },
    /// By how much it raises the bound.
    Rise,
    /// By how much it lowers it.
    Fall,
}

impl Supports {
    /// The lines that are exact at the path's perturbation, by levels.
    pub(crate) fn new(network: &FastNetwork, slice: &Slice, rows: &[Arc<NodeUnits>]) -> Supports {
        let unit = |row: &Arc<NodeUnits>, unit: usize| {
            let value = row.value[unit];
            if network.exact.is_linear(2, unit) {
                let (rise, fall) = (Stored::ONE, Stored::ONE);
                return UnitSupports { line: SupportLine::Linear, value, upper: value, rise, fall };
            }
            let known = &row.levels()[unit];
            let (level, largest) = (known.level, known.largest);
            match known.below {
                Some(below) => UnitSupports {
                    line: SupportLine::Level { follows: !below, level, below },
                    value,
                    upper: Interval { lower: value.positive_part().lower, upper: known.base },
                    rise: if below { excess_share(level.into(), largest) } else { Stored::ONE },
                    fall: if below { Stored::ZERO } else { kept_share(level.into(), largest) },
                },
                // Where rounding hides the sign, the level is 0.
                None => UnitSupports {
                    line: SupportLine::Level { follows: false, level: Stored::ZERO, below: true },
                    value,
                    upper: value.positive_part(),
                    rise: Stored::ONE,
                    fall: Stored::ZERO,
                },
            }
        };
        let width = network.width();
        let units: Vec<Vec<UnitSupports>> =
            rows.iter().map(|row| (0..width).map(|at| unit(row, at)).collect()).collect();
        let lines = units.iter().flatten().map(|unit| unit.line).collect();
        let weights: Vec<&[Stored]> = (0..width).map(|i| network.weights(2, i)).collect();
        let link = |link: &Link| (link.place(), link.term as usize, link.entry);
        let passing: Vec<Vec<(usize, usize, Stored)>> =
            slice.passing(2).iter().map(|row| row.iter().map(link).collect()).collect();
        let sums = NestedSums::new(lines, [width, network.exact.widths[3]], &weights, &passing);
        Supports { units, sums, known: RefCell::default() }
    }

    /// Every unit of layer 2 that a unit of the node at a place of `V(3)` receives from, with its weight.
    fn received(
        &self,
        network: &FastNetwork,
        slice: &Slice,
        place: usize,
        unit: usize,
        mut each: impl FnMut(usize, usize, &UnitSupports, Interval),
    ) {
        let width = network.exact.widths[3];
        for pair in pairs(&slice.passing(2)[place]) {
            let m = pair[0].place();
            for (i, support) in self.units[m].iter().enumerate() {
                let weight = |link: &Link| network.weights(2, i)[link.part(width).start + unit];
                let w = match pair {
                    [link] => Interval::from(weight(link)).scaled(link.entry),
                    _ => Interval::inner(pair.iter().map(|link| (link.entry, weight(link)))),
                };
                if w != Interval::ZERO {
                    each(m, i, support, w);
                }
            }
        }
    }

    /// What a flip of the node at a place of `V(1)` changes, given how it changes the units of layer 2.
    fn changes(&self, flip: Flip, links: &[Link], change: impl Fn(usize, &[Link]) -> Interval) -> Rc<NestedChanges> {
        if let Some(known) = self.known.borrow().get(&flip) {
            return known.clone();
        }
        let width = self.units.first().map_or(0, Vec::len);
        let reached = pairs(links)
            .map(|pair| (pair[0].place(), (0..width).map(|unit| change(unit, pair)).collect::<Vec<Interval>>()));
        let changes = Rc::new(self.sums.changes(reached));
        let mut known = self.known.borrow_mut();
        if (known.len() + 1) * self.sums.count() <= REMEMBERED {
            known.insert(flip, changes.clone());
        }
        changes
    }

    /// Around `B` of a unit of the node at a place of `V(3)`.
    pub(crate) fn base(&self, network: &FastNetwork, slice: &Slice, place: usize, unit: usize) -> Interval {
        let mut base: Interval = network.bias(2, slice.nodes(3)[place])[unit].into();
        self.received(network, slice, place, unit, |_, _, support, w| {
            let low = || if support.follows() { w.times(support.value) } else { Interval::ZERO };
            base = base.plus(match w.sign() {
                Some(std::cmp::Ordering::Greater) => w.times(support.upper),
                Some(_) => low(),
                None => w.times(support.upper).hull(low()),
            });
        });
        base
    }
}

/// What bends of layer 3 take from the flips of a slice.
pub(crate) struct NestedLosses {
    supports: Rc<Supports>,
    /// By number of the unit in `V(3)`.
    bends: Vec<(usize, DirectedBend)>,
    /// The same where a bound itself is taken.
    bounds: Vec<(usize, Taken)>,
    /// By place in `V(2)` and unit: not below what a rise and what a fall lose, for each unit of change.
    pub(crate) slopes: Vec<Vec<[Up; 2]>>,
}

impl NestedLosses {
    pub(crate) fn new(
        network: &FastNetwork,
        slice: &Slice,
        supports: Rc<Supports>,
        taken: Vec<(usize, Taken)>,
    ) -> NestedLosses {
        let width = network.exact.widths[3];
        let mut slopes = vec![vec![[Up::ZERO; 2]; network.width()]; supports.units.len()];
        for &(at, taken) in &taken {
            // A rise of the bound loses `most` of it, a fall gains `least`; but what adds up to it may cancel.
            let (weight, most, least) = match taken {
                Taken::Bend { weight, level, below: true, largest } => {
                    (weight, excess_share(level.into(), largest), Stored::ZERO)
                }
                Taken::Bend { weight, level, below: false, largest } => {
                    (weight, Stored::ONE, kept_share(level.into(), largest))
                }
                Taken::Rise | Taken::Fall => (Stored::ONE, Stored::ONE, Stored::ONE),
            };
            supports.received(network, slice, at / width, at % width, |m, i, support, w| {
                let [up, down] = &mut slopes[m][i];
                let size = w.upper.most(-w.lower);
                let sure = w.sign();
                let (rise, fall) = match (taken, sure) {
                    // `−p ≤ −g`, or `−p ≤ 0` where the upper line does not fall.
                    (Taken::Fall, Some(std::cmp::Ordering::Greater)) if support.falls() => (-w.lower, w.upper),
                    (Taken::Fall, Some(std::cmp::Ordering::Greater)) => (Up::ZERO, Up::ZERO),
                    (Taken::Fall, Some(_)) if support.follows() => (-w.lower, w.upper),
                    (Taken::Fall, Some(_)) => (Up::ZERO, Up::ZERO),
                    (Taken::Fall, None) => (size, size),
                    (_, Some(std::cmp::Ordering::Greater)) => {
                        let gained = w.lower.times(weight).times(least).times(support.fall);
                        (w.upper.times(weight).times(most).times(support.rise), -gained)
                    }
                    (_, Some(_)) if support.follows() => {
                        let gained = (-w.upper).times(weight).times(least);
                        (-gained, (-w.lower).times(weight).times(most))
                    }
                    (_, Some(_)) => (Up::ZERO, Up::ZERO),
                    (_, None) => (size.times(weight), size.times(weight)),
                };
                (*up, *down) = (up.plus(rise), down.plus(fall));
            });
        }
        let bend = |&(at, taken): &(usize, Taken)| match taken {
            Taken::Bend { weight, level, below, .. } => Some((at, DirectedBend::new(weight, level, below))),
            Taken::Rise | Taken::Fall => None,
        };
        let bends = taken.iter().filter_map(bend).collect();
        let bounds = taken.into_iter().filter(|one| matches!(one.1, Taken::Rise | Taken::Fall)).collect();
        NestedLosses { supports, bends, bounds, slopes }
    }

    /// Is a unit of the node at a place of `V(2)` linear?
    pub(crate) fn is_linear(&self, m: usize, unit: usize) -> bool {
        matches!(self.supports.units[m][unit].line, SupportLine::Linear)
    }

    /// Not below what a flip of the node at a place of `V(1)` loses, given how it changes the units of layer 2.
    pub(crate) fn loss(&self, flip: Flip, links: &[Link], change: impl Fn(usize, &[Link]) -> Interval) -> Up {
        let changes = self.supports.changes(flip, links, change);
        self.bounds.iter().fold(changes.taken(&self.bends), |total, &(at, taken)| {
            let g = changes.of(at);
            total.plus(if matches!(taken, Taken::Rise) { g.upper } else { -g.lower })
        })
    }
}
