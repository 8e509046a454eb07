//! What admissible changes can do at most to a linear function of the attributes: of the changes of a row the `q`
//! largest, of those the `Q` largest (docs/math.md (25.2)).

use crate::number::rounding::{FLOOR, error_of};
use crate::number::span::{Span, down, up};
use crate::problem::network::Layer;
use crate::ranges::backward::{RangeBranch, sum_above};
use crate::ranges::forward::Shift;
use crate::ranges::scene::RangeScene;

/// A coefficient of what a node sends: which weights it goes with, its middle, and how far it may be from that.
struct Coefficient {
    term: usize,
    unit: usize,
    middle: f64,
    radius: f64,
}

/// A change and what it takes from the function at most.
struct Gain {
    loss: f64,
    place: usize,
    attribute: u32,
    old: f64,
    /// Is it to the upper end of its range?
    rises: bool,
}

fn coefficients(on_messages: &[Span], outputs: usize) -> Vec<Coefficient> {
    let nonzero = on_messages.iter().enumerate().filter(|entry| !entry.1.is_zero());
    let coefficient = |(at, v): (usize, &Span)| {
        let middle = v.lo / 2.0 + v.hi / 2.0;
        let radius = if v.lo == v.hi { 0.0 } else { up((v.hi - middle).max(middle - v.lo)) };
        Coefficient { term: at / outputs, unit: at % outputs, middle, radius }
    };
    nonzero.map(coefficient).collect()
}

impl RangeScene<'_> {
    /// The largest sum of losses of admissible changes, or a little more, and the changes.
    pub(crate) fn select(&self, branch: &RangeBranch, on_messages: &[Span]) -> (f64, Vec<Shift>) {
        let (budget, changed) = (self.problem.budget(), &branch.changed);
        let Some(global) = budget.global().checked_sub(changed.len()) else {
            // Nothing is admissible here.
            return (f64::NEG_INFINITY, Vec::new());
        };
        let mut open: Vec<Gain> = Vec::new();
        let (mut loss, mut moves) = (0.0, Vec::new());
        let width = on_messages.len() / self.slice.nodes(1).len().max(1);
        for (place, &node) in self.slice.nodes(1).iter().enumerate() {
            let own = changed.range((place, 0)..(place + 1, 0));
            let Some(local) = budget.local(node as usize).checked_sub(own.clone().count()) else {
                return (f64::NEG_INFINITY, Vec::new());
            };
            let on_messages = &on_messages[place * width..][..width];
            for (&(_, attribute), &[low, high]) in own {
                let old = self.value(place, attribute);
                let (slope, from) = (self.slope(attribute as usize, on_messages), Span::of(old));
                let moved = Span { lo: Span::of(low).minus(from).lo, hi: Span::of(high).minus(from).hi };
                loss = up(loss + slope.times(moved).negated().hi);
                let [least, most] = self.problem.ranges().ends(attribute as usize, old);
                let new = if slope.lo + slope.hi > 0.0 { low.max(least) } else { high.min(most) };
                moves.push(Shift { place, attribute, old, new });
            }
            if local == 0 || global == 0 {
                continue;
            }
            let start = open.len();
            let free = |gain: &Gain| {
                let entry = (place, gain.attribute);
                !changed.contains_key(&entry) && !branch.kept.contains(&entry)
            };
            open.extend(self.gains(place, on_messages).into_iter().filter(free));
            largest(&mut open, start, local);
        }
        largest(&mut open, 0, global);
        loss = up(loss + sum_above(open.iter().map(|gain| gain.loss)));
        moves.extend(open.iter().map(|gain| {
            let &Gain { place, attribute, old, rises, .. } = gain;
            Shift {
                place,
                attribute,
                old,
                new: self.problem.ranges().ends(attribute as usize, old)[usize::from(rises)],
            }
        }));
        (loss, moves)
    }

    /// The coefficient of an entry of a row.
    fn slope(&self, attribute: usize, on_messages: &[Span]) -> Span {
        slope(self.problem.layer(1), attribute, &coefficients(on_messages, self.problem.layer(1).outputs()))
    }

    /// The changes of a row that lose anything.
    fn gains(&self, place: usize, on_messages: &[Span]) -> Vec<Gain> {
        let layer = self.problem.layer(1);
        let (inputs, outputs) = (layer.inputs(), layer.outputs());
        let coefficients = coefficients(on_messages, outputs);
        let mut gains = Vec::new();
        if coefficients.is_empty() {
            return gains;
        }
        let (budget, ranges) = (self.problem.budget(), self.problem.ranges());
        let mut stored = self.rows[place].iter().peekable();
        for attribute in 0..inputs {
            let old = stored.next_if(|entry| entry.0 as usize == attribute).map_or(0.0, |entry| entry.1);
            if budget.is_frozen(attribute) {
                continue;
            }
            let slope = slope(layer, attribute, &coefficients);
            let moves = ranges.moves(attribute, old);
            // A slope that is no number loses everything.
            let loss = |product: f64| if product.is_nan() { f64::INFINITY } else { product.next_up().max(0.0) };
            let rise = if moves.hi == 0.0 { 0.0 } else { loss(-slope.lo * moves.hi) };
            let fall = if moves.lo == 0.0 { 0.0 } else { loss(-slope.hi * moves.lo) };
            let most = rise.max(fall);
            if most > 0.0 {
                gains.push(Gain { loss: most, place, attribute: attribute as u32, old, rises: rise >= fall });
            }
        }
        gains
    }
}

/// The coefficient of an attribute in a row: between these floats.
fn slope(layer: &Layer, attribute: usize, coefficients: &[Coefficient]) -> Span {
    let inputs = layer.inputs();
    let (mut sum, mut size, mut radius) = (0.0, FLOOR, 0.0);
    for of in coefficients {
        let w = layer.weight.get(of.term * inputs + attribute, of.unit);
        sum += of.middle * w;
        size += (of.middle * w).abs();
        radius += of.radius * w.abs();
    }
    let operations = coefficients.len() + 2;
    let error = error_of(operations, size) + error_of(operations, radius) + radius;
    Span { lo: down((sum - error).next_down()), hi: up((sum + error).next_up()) }
}

/// Leaves the largest so many of those from a place on.
fn largest(gains: &mut Vec<Gain>, start: usize, count: usize) {
    let own = &mut gains[start..];
    if own.len() > count {
        if count > 0 {
            own.select_nth_unstable_by(count - 1, |x, y| y.loss.total_cmp(&x.loss));
        }
        gains.truncate(start + count);
    }
}
