//! The weights of flips by a share line (`FORMAT-COLLECTIVE.md` (1)): exactly, or not below that from floats rounded
//! outward.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use dashu_int::IBig;

use super::ONE;
use super::line::{Cover, Share, ShareLeaf};
use super::size::{LargestWeights, room};
use crate::checker::Session;
use crate::core::leaf::Target;
use crate::core::path::Path;
use crate::expand::{Short, exact_hints};
use crate::fast::RowBound;
use crate::format::Step;
use crate::format::exact::{ExactHints, ExactPrices};
use crate::ids::Flip;
use crate::number::{Dyadic, Interval};
use crate::statement::{Budget, Statement};
use crate::verdict::{Fault, Reason};

/// The weights of the free flips of a node's neighbourhood, in units of 2⁻²⁴: 0 for those that never cost it anything,
/// and for what is no free flip.
pub(super) struct Weights {
    /// Nodes of `V(1)` with free flips, ascending, with the weights of all attributes.
    pub(super) rows: Vec<(u32, Vec<u32>)>,
    /// Are they (1) itself, and not only not below it?
    pub(super) exact: bool,
}

impl Weights {
    /// What the weights of the flips of each cover of a share line leave of one.
    ///
    /// # Errors
    /// If it is nothing.
    pub(super) fn rests(&self, share: &Share) -> Result<Vec<u32>, Reason> {
        let weight = |&(node, attribute): &Flip| -> u64 {
            let at = self.rows.binary_search_by_key(&node, |row| row.0);
            at.map_or(0, |at| u64::from(self.rows[at].1[attribute as usize]))
        };
        let rest = |cover: &Cover| {
            let taken = cover.made.iter().map(weight).fold(0, u64::saturating_add);
            u64::from(ONE).checked_sub(taken).and_then(|rest| u32::try_from(rest).ok()).filter(|&rest| rest > 0)
        };
        share.covers.iter().map(|cover| rest(cover).ok_or(Reason::Cover)).collect()
    }

    /// Those that are not 0.
    pub(super) fn largest(&self, budget: &Budget) -> LargestWeights {
        let rows = self.rows.iter().map(|(node, row)| (*node, row.iter().copied().filter(|&w| w > 0).collect()));
        LargestWeights { rows: rows.collect(), floor: 0, room: room(self.rows.iter().map(|row| row.0), budget) }
    }

    fn raise(&mut self, flip: Flip, weight: u32) {
        if let Ok(at) = self.rows.binary_search_by_key(&flip.0, |row| row.0) {
            let known = &mut self.rows[at].1[flip.1 as usize];
            *known = weight.min(ONE).max(*known);
        }
    }
}

/// What is known of the weights of a share line before any flip is looked at closely.
pub(super) struct WeightBounds {
    /// By node, in units of 1.
    pub(super) rows: BTreeMap<u32, RowBound>,
    /// Where the line has a size.
    pub(super) largest: Option<LargestWeights>,
}

/// How closely weights are looked at.
#[derive(Clone, Copy)]
pub(super) enum Look<'l> {
    /// By the core alone.
    Exact,
    /// From floats where they suffice.
    Rounded,
    /// The same, of the attributes of each node that are listed by their places among the falling norms, ascending.
    /// There are no weights of others.
    Within(&'l [Vec<u32>]),
}

impl<'l> Look<'l> {
    fn listed(&self, node: u32) -> Option<&'l [u32]> {
        match self {
            Look::Exact | Look::Rounded => None,
            Look::Within(listed) => Some(&listed[node as usize]),
        }
    }
}

impl Session<'_> {
    /// What the weights of a share line are at most, by node and in units of 1, and where it has a size the largest, if
    /// floats suffice for its constants.
    pub(super) fn weight_bounds(&mut self, share: &Share) -> Option<WeightBounds> {
        let network = &self.checker.statement().network;
        let (classes, usual) = (network.classes() as u32, ShareLeaf::usual(network.depth()));
        if self.checker.has_stated_bounds() {
            return None;
        }
        let mut rows: BTreeMap<u32, RowBound> = BTreeMap::new();
        let (mut flips, mut floor): (BTreeMap<Flip, u32>, u32) = Default::default();
        let mut listed = share.leaves.iter().peekable();
        for class in (0..classes).filter(|&class| class != share.class) {
            let leaf = listed.next_if(|entry| entry.0 == class).map_or(&usual, |entry| &entry.1);
            let (ShareLeaf::Leaf(leaf), path) = (leaf, Path::default()) else { return None };
            let short = self.scope().short(&path, leaf).ok()?;
            let (hints, constant, step) = self.target.relaxed(&[(share.class, 1), (class, -1)], &path, &short)?;
            self.checker.work().afforded().ok()?;
            if !constant.is_positive() {
                return None;
            }
            let losses = self.target.losses(&hints, &path.decided, step);
            for (node, bound) in losses.row_bounds() {
                let bound = bound.over(constant);
                match rows.entry(node) {
                    Entry::Vacant(none) => drop(none.insert(bound)),
                    Entry::Occupied(mut known) => known.get_mut().raise(&bound),
                }
            }
            if share.size > 0 {
                let (shares, most) = losses.largest_shares(constant);
                floor = floor.max(most);
                for (flip, share) in shares {
                    let known = flips.entry(flip).or_insert(0);
                    *known = share.max(*known);
                }
            }
        }
        let largest = (share.size > 0).then(|| self.largest(flips, floor));
        Some(WeightBounds { rows, largest })
    }

    /// Weights by node and attribute, beside which no other is larger than the floor.
    fn largest(&self, flips: BTreeMap<Flip, u32>, floor: u32) -> LargestWeights {
        let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
        for ((node, _), weight) in flips {
            match rows.last_mut().filter(|row| row.0 == node) {
                Some((_, row)) => row.push(weight),
                None => rows.push((node, vec![weight])),
            }
        }
        let room = room(self.slice.nodes(1).iter().copied(), &self.checker.statement().budget);
        LargestWeights { rows, floor, room }
    }

    /// What the weights of the flips of each cover leave of one, from floats where they suffice.
    ///
    /// # Errors
    /// If a leaf is not admissible, or nothing is left.
    pub(super) fn cover_rests(&mut self, share: &Share) -> Result<Vec<u32>, Fault> {
        if share.covers.is_empty() {
            return Ok(Vec::new());
        }
        let mut listed = vec![Vec::new(); self.checker.statement().network.graph.attributes.rows];
        for (node, attribute) in share.covers.iter().flat_map(|cover| &cover.made) {
            let by_norm = (0u32..).zip(&self.checker.weights().by_norm);
            listed[*node as usize].extend(by_norm.filter(|entry| entry.1.0 == *attribute).map(|entry| entry.0));
        }
        listed.iter_mut().for_each(|places| {
            places.sort_unstable();
            places.dedup();
        });
        Ok(self.weights(share, Look::Within(&listed))?.rests(share)?)
    }

    /// The weights of a share line, whose class must be the predicted one.
    ///
    /// # Errors
    /// If a leaf is not admissible, or its constant is not above 0.
    pub(super) fn weights(&mut self, share: &Share, look: Look) -> Result<Weights, Fault> {
        let Statement { network, budget, .. } = self.checker.statement();
        let (classes, depth) = (network.classes() as u32, network.depth());
        let free = self.slice.nodes(1).iter().filter(|&&node| budget.local(node).min(budget.global) > 0);
        let free = free.filter(|&&node| look.listed(node).is_none_or(|listed| !listed.is_empty()));
        let rows = free.map(|&node| (node, vec![0; network.graph.attributes.columns])).collect();
        let mut weights = Weights { rows, exact: true };
        let mut listed = share.leaves.iter().peekable();
        let usual = ShareLeaf::usual(depth);
        for class in (0..classes).filter(|&class| class != share.class) {
            let leaf = listed.next_if(|entry| entry.0 == class).map_or(&usual, |entry| &entry.1);
            let judged = self.leaf_weights(share.class, class, leaf.clone().into(), look, &mut weights);
            judged.map_err(|reason| Fault { class: Some(class), step: None, reason })?;
        }
        Ok(weights)
    }

    /// The weights by one class.
    fn leaf_weights(
        &mut self,
        reference: u32,
        class: u32,
        leaf: Step,
        look: Look,
        weights: &mut Weights,
    ) -> Result<(), Reason> {
        let Statement { network, budget, .. } = self.checker.statement();
        let (objective, path) = ([(reference, 1), (class, -1)], Path::default());
        let short = match leaf {
            Step::Hints(stated) => {
                let whole = |l: usize, node: u32| Ok(self.checker.stated_bounds(l, node));
                let (slice, reaches, meter) = (self.slice, &self.reaches, self.meter);
                let target = Target { network, budget, slice, whole: &whole, reaches, meter };
                return exactly(&target, &objective, &stated.hints()?, weights);
            }
            Step::Leaf(leaf) => self.scope().short(&path, &leaf)?,
            Step::Unit(..) | Step::Flip(..) | Step::Row(..) => return Err(Reason::Incomplete),
        };
        // Without splits every perturbation takes the path.
        let Some((hints, constant, step)) = self.target.relaxed(&objective, &path, &short) else {
            return Err(Reason::Bound(Interval::ANY));
        };
        self.checker.work().afforded()?;
        // The fast path knows only the bounds that the expansion makes.
        if !matches!(look, Look::Exact) && constant.is_positive() && !self.checker.has_stated_bounds() {
            weights.exact = false;
            let losses = self.target.losses(&hints, &path.decided, step);
            losses.raise_shares(constant, &mut weights.rows, |node| look.listed(node));
            return Ok(());
        }
        self.exact_leaf(&objective, &short, hints.exact(self.slice), weights).map(drop)
    }

    /// The weights by one class in exact numbers, and the hints that they follow from: these, or better ones.
    pub(super) fn exact_leaf(
        &self,
        objective: &[(u32, i8)],
        short: &Short,
        hints: ExactHints,
        weights: &mut Weights,
    ) -> Result<ExactHints, Reason> {
        let Statement { network, budget, .. } = self.checker.statement();
        let (checker, meter) = (self.checker, self.meter);
        let whole = |l: usize, node: u32| checker.whole(l, node, meter);
        let target = Target { network, budget, slice: self.slice, whole: &whole, reaches: &self.reaches, meter };
        if exactly(&target, objective, &hints, weights).is_ok() {
            return Ok(hints);
        }
        // Floats may have been too coarse for the hints.
        let hints = meter.while_held(|| exact_hints(&target, objective, &Path::default(), short, &hints.price))?;
        exactly(&target, objective, &hints, weights).map(|()| hints)
    }
}

/// The weights by one class from hints, by the core.
fn exactly(target: &Target, objective: &[(u32, i8)], hints: &ExactHints, weights: &mut Weights) -> Result<(), Reason> {
    let mut problem = Some(Interval::ANY);
    target.relaxed(objective, &Path::default(), hints, |constant, losses| {
        if !constant.is_positive() {
            problem = Some(Interval::around(constant));
            return Ok(());
        }
        problem = None;
        losses.exceeding(&ExactPrices::default(), |flip, loss| weights.raise(flip, share_of(&loss, constant)))
    })?;
    problem.map_or(Ok(()), |constant| Err(Reason::Bound(constant)))
}

/// `min(2²⁴, ⌈2²⁴ · loss / constant⌉)` of positive numbers.
fn share_of(loss: &Dyadic, constant: &Dyadic) -> u32 {
    if loss >= constant {
        return ONE;
    }
    let exponent = loss.parts().1.min(constant.parts().1);
    let (loss, constant): (IBig, IBig) = (loss.at(exponent) * ONE, constant.at(exponent));
    let share = (loss + &constant - IBig::ONE) / constant;
    u32::try_from(&share).unwrap_or(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up() {
        let number = |mantissa: i64, exponent: i64| Dyadic::new(mantissa.into(), exponent);
        assert_eq!(share_of(&number(1, 0), &number(1, 1)), ONE / 2);
        assert_eq!(share_of(&number(1, 0), &number(3, 0)), ONE / 3 + 1);
        assert_eq!(share_of(&number(1, -2000), &number(1, 900)), 1);
        assert_eq!(share_of(&number(1, 900), &number(1, -2000)), ONE);
        assert_eq!(share_of(&number(5, 7), &number(5, 7)), ONE);
        assert_eq!(share_of(&number((1 << 40) - 1, 0), &number(1 << 40, 0)), ONE);
        assert_eq!(share_of(&number(1, -24), &number(1, 0)), 1);
        assert_eq!(share_of(&number((1 << 30) + 1, -54), &number(1, 0)), 2);
    }
}
