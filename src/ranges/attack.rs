//! Attacks: perturbations that the exact network confirms, and a local search for them.

use std::cmp::Ordering;

use crate::number::dyadic::Dyadic;
use crate::number::span::{Span, down};
use crate::ranges::backward::{LeafBound, RangeBranch};
use crate::ranges::forward::Shift;
use crate::ranges::lines::{HiddenUnit, UnitLines};
use crate::ranges::scene::RangeScene;

/// Steps of a local search, at most.
const STEPS: usize = 20;

/// Entries whose values are improved one by one, at most, and how often the interval of each is made smaller by a
/// third.
const POLISHED: usize = 32;
const THIRDS: usize = 40;

/// A perturbation that takes a margin to what it has to be above, or below that.
#[derive(Clone, Debug)]
pub(crate) struct RangeAttack {
    pub(crate) class: usize,
    pub(crate) moves: Vec<Shift>,
    /// Is the margin just that?
    pub(crate) tie: bool,
    /// The margin that it leaves, rounded up.
    pub(crate) upper: f64,
}

/// A class pair of a target.
pub(crate) struct RangePair<'a> {
    pub(crate) scene: &'a RangeScene<'a>,
    pub(crate) reference: usize,
    pub(crate) other: usize,
    /// What the margin has to be above: 0, or what rounding may take from it or add to it.
    pub(crate) beyond: f64,
    /// Where attacks consist of numbers of a format: bits of their significands, with exponents of binary32.
    pub(crate) precision: Option<u32>,
}

impl RangePair<'_> {
    /// The margin as a linear function of the logits.
    pub(crate) fn top(&self) -> Vec<Span> {
        let mut top = vec![Span::ZERO; self.scene.width(self.scene.slice.top())];
        (top[self.reference], top[self.other]) = (Span::of(1.0), Span::of(-1.0));
        top
    }

    /// A bound of how far the margin is above what it has to be above.
    pub(crate) fn bound(&self, lines: &UnitLines, branch: &RangeBranch) -> LeafBound {
        let bound = self.scene.bound(lines, branch, &self.top());
        LeafBound { lower: self.above(bound.lower), ..bound }
    }

    /// How far a lower bound of the margin is above what that has to be above, rounded down.
    pub(crate) fn above(&self, lower: f64) -> f64 {
        if self.beyond == 0.0 { lower } else { down(lower - self.beyond) }
    }

    /// All pre-activations after some changes, in floats.
    pub(crate) fn forward(&self, moves: &[Shift]) -> Vec<Vec<f64>> {
        self.scene.forward(moves, |node| self.scene.problem.sent(node).to_vec())
    }

    /// How far the margin is above what it has to be above, from all pre-activations.
    pub(crate) fn margin(&self, z: &[Vec<f64>]) -> f64 {
        let logits = &z[z.len() - 1];
        logits[self.reference] - logits[self.other] - self.beyond
    }

    /// Is this an attack? The exact network decides.
    pub(crate) fn attack(&self, moves: &[Shift]) -> Option<RangeAttack> {
        let moves = self.admissible(&self.in_format(moves))?;
        let exact = self.scene.forward::<Dyadic>(&moves, |node| self.scene.problem.sum(node));
        let logits = &exact[exact.len() - 1];
        let margin = &logits[self.reference] - &logits[self.other];
        let above = &margin - &Dyadic::from(self.beyond);
        let tie = above.sign() == Ordering::Equal;
        (above.sign() != Ordering::Greater).then(|| RangeAttack {
            class: self.other,
            moves,
            tie,
            upper: margin.ceil_f64(),
        })
    }

    /// Not below the margin that some changes leave; infinite where they are not admissible.
    pub(crate) fn upper(&self, moves: &[Shift]) -> f64 {
        let Some(moves) = self.admissible(moves) else { return f64::INFINITY };
        let spans = self.scene.forward::<Span>(&moves, |node| self.scene.problem.enclosed(node).to_vec());
        let logits = &spans[spans.len() - 1];
        logits[self.reference].minus(logits[self.other]).hi
    }

    /// The changes to the nearest numbers of the format on the side of the old values, so that none leaves its range.
    fn in_format(&self, moves: &[Shift]) -> Vec<Shift> {
        let Some(precision) = self.precision else { return moves.to_vec() };
        let rounded = |of: &Shift| match of.new > of.old {
            true => format_below(of.new, precision).max(of.old),
            false => (-format_below(-of.new, precision)).min(of.old),
        };
        moves.iter().map(|of| Shift { new: rounded(of), ..*of }).collect()
    }

    /// The changes that change something, if they are admissible together.
    fn admissible(&self, moves: &[Shift]) -> Option<Vec<Shift>> {
        let budget = self.scene.problem.budget();
        let mut moves: Vec<Shift> = moves.iter().filter(|of| of.new != of.old).copied().collect();
        moves.sort_by_key(|of| (of.place, of.attribute));
        let nodes = self.scene.slice.nodes(1);
        let node = |of: &Shift| nodes[of.place] as usize;
        let once = moves.windows(2).all(|two| (two[0].place, two[0].attribute) != (two[1].place, two[1].attribute));
        let few = moves.chunk_by(|x, y| x.place == y.place).all(|row| row.len() <= budget.local(node(&row[0])));
        let permitted = |of: &Shift| {
            of.old == self.scene.value(of.place, of.attribute)
                && !budget.is_frozen(of.attribute as usize)
                && self.scene.problem.ranges().permit(of.attribute as usize, of.old, of.new)
        };
        (once && few && moves.len() <= budget.global() && moves.iter().all(permitted)).then_some(moves)
    }

    /// Lowers the margin by one changed entry after the other, each within its range.
    pub(crate) fn polish(&self, moves: &mut [Shift]) {
        let mut margin = self.margin(&self.forward(moves));
        for at in 0..moves.len().min(POLISHED) {
            let Shift { attribute, old, .. } = moves[at];
            let [mut low, mut high] = self.scene.problem.ranges().ends(attribute as usize, old);
            for _ in 0..THIRDS {
                let tried = [low + (high - low) / 3.0, high - (high - low) / 3.0];
                let found = tried.map(|value| {
                    let before = std::mem::replace(&mut moves[at].new, value);
                    let found = self.margin(&self.forward(moves));
                    if found < margin {
                        margin = found;
                    } else {
                        moves[at].new = before;
                    }
                    found
                });
                if found[0] < found[1] { high = tried[1] } else { low = tried[0] }
            }
        }
    }

    /// Follows the margin's slope from some changes on, as long as it falls: the best changes seen, and the margin.
    pub(crate) fn descend(&self, lines: &UnitLines, start: &[Shift]) -> (Vec<Shift>, f64) {
        let mut best = start.to_vec();
        let mut z = self.forward(&best);
        let mut margin = self.margin(&z);
        for _ in 0..STEPS {
            let mut here = RangeBranch::default();
            for (l, units) in (2..).zip(&z[..z.len() - 1]) {
                let width = self.scene.width(l);
                for (at, &z) in units.iter().enumerate() {
                    here.signs.insert(HiddenUnit { l, place: at / width, unit: at % width }, z >= 0.0);
                }
            }
            let unpriced =
                UnitLines { prices: lines.prices.iter().map(|of| vec![0.0; of.len()]).collect(), ..lines.clone() };
            let next = self.bound(&unpriced, &here).moves;
            let after = self.forward(&next);
            let found = self.margin(&after);
            if found >= margin || found.is_nan() {
                break;
            }
            (best, z, margin) = (next, after, found);
        }
        for at in 0..best.len().min(32) {
            let change = best[at];
            for share in [0.25, 0.5, 0.75] {
                let mut other = best.clone();
                other[at].new = change.old + share * (change.new - change.old);
                let found = self.margin(&self.forward(&other));
                if found < margin {
                    (best, margin) = (other, found);
                }
            }
        }
        (best, margin)
    }
}

/// The largest number that is not above `x` and has a significand of so many bits, with the exponents of binary32.
fn format_below(x: f64, precision: u32) -> f64 {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let unit = 2f64.powi(exponent.max(-126) + 1 - precision as i32);
    (x / unit).floor() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_binary32_are_the_nearest_below() {
        for x in [
            0.0,
            0.1,
            -0.1,
            1.0,
            -1.0,
            1e-40,
            -1e-40,
            3e-46,
            -3e-46,
            16_777_217.0,
            -16_777_217.0,
            1.5e30,
            0.1f32 as f64,
        ] {
            let near = x as f32;
            let expected = if f64::from(near) > x { near.next_down() } else { near };
            assert_eq!(format_below(x, 24), f64::from(expected), "{x}");
            assert!(x.abs() < 1e-37 || format_below(x, 53) == x, "{x}");
        }
    }
}
