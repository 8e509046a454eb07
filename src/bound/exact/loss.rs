//! The largest loss that the budget allows, exactly: floats rule out what surely is not selected, the rest is
//! evaluated.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::number::dyadic::Dyadic;
use crate::number::rounding::{FLOOR, error_of, norm_above};
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;

use crate::problem::exact::{ExactMatrix, ExactProblem, sum};

use super::line::{ExactKink, Line};
use super::{BranchLines, Permitted, exact_change};

/// Attributes between two looks at the clock.
const LOOK: usize = 64;

/// A flip of the slice's `n`-th node: `sign` is `+1` if it adds the attribute, `−1` if it removes it.
#[derive(Clone, Copy)]
struct SignedFlip {
    n: usize,
    attribute: usize,
    sign: f64,
}

impl ExactProblem<'_> {
    /// The exact sum of the largest losses that the budget allows, and the flips, the largest loss first. `units` holds
    /// the lines of the units of representation 2; none where a unit does not count (docs/math.md (1.6)). None once the
    /// deadline has passed.
    pub(super) fn largest_loss(
        &self,
        budget: &Budget,
        lines: &BranchLines,
        units: &[Option<Line>],
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let decided = lines.decided;
        let global = decided.global(budget).unwrap_or(0);
        if global == 0 {
            return Some((Dyadic::ZERO, Vec::new()));
        }
        let rows = 0..self.slice.nodes(1).len();
        let slopes: Option<Vec<Option<NodeSlopes>>> =
            rows.map(|n| self.look().map(|()| self.slopes(n, units))).collect();
        let slopes = slopes?;
        let mut least = self.surely_selected(budget, lines, units, lines.hint);
        if least <= 0.0 {
            let promising = self.promising(budget, lines, &slopes, global)?;
            least = self.surely_selected(budget, lines, units, &promising);
        }
        let rounded = Rounded::all(units);
        // A comparison with NaN is false: nothing is ruled out.
        let hopeless = |most: f64| most <= 0.0 || most < least;
        let mut found: Vec<(Dyadic, SignedFlip)> = Vec::new();
        self.flips(
            budget,
            lines,
            &slopes,
            |_| least,
            |candidate, most| {
                if hopeless(most) || rounded.as_ref().is_some_and(|units| hopeless(self.rounded_loss(candidate, units)))
                {
                    return;
                }
                let loss = self.loss(candidate, units);
                if loss.sign() == Ordering::Greater {
                    found.push((loss, candidate));
                }
            },
        )?;
        found.sort_by(|x, y| y.0.cmp(&x.0));
        let nodes = self.slice.nodes(1);
        let mut left: Vec<usize> = nodes.iter().map(|&node| decided.local(budget, node).unwrap_or(0)).collect();
        let mut total = Dyadic::ZERO;
        let mut flips = Vec::new();
        for (loss, SignedFlip { n, attribute, .. }) in found {
            if flips.len() == global {
                break;
            }
            if left[n] > 0 {
                left[n] -= 1;
                total += &loss;
                flips.push(Flip { node: nodes[n], attribute: attribute as u32 });
            }
        }
        Some((total, flips))
    }

    /// Calls `each` with every flip that may be made and counts, and with a float that is not below its loss. Flips
    /// whose loss is surely below `least` at their node are left out. None once the deadline has passed.
    fn flips(
        &self,
        budget: &Budget,
        lines: &BranchLines,
        slopes: &[Option<NodeSlopes>],
        least: impl Fn(usize) -> f64,
        mut each: impl FnMut(SignedFlip, f64),
    ) -> Option<()> {
        let layer = &self.network.layers()[0];
        let mut row = Vec::new();
        for (n, slopes) in slopes.iter().enumerate() {
            let Some(slopes) = slopes else { continue };
            let permitted = Permitted::new(self, budget, lines.decided, n);
            let least = least(n);
            for (at, &(norm, attribute)) in self.sums.norms(self.network).iter().enumerate() {
                if at % LOOK == 0 {
                    self.look()?;
                }
                // Norms fall; a comparison with NaN is false.
                if slopes.norm * norm < least {
                    break;
                }
                if let Some(sign) = permitted.sign(attribute) {
                    row.clear();
                    row.extend(layer.weights_of(attribute));
                    each(SignedFlip { n, attribute, sign }, slopes.most(&row, sign));
                }
            }
        }
        Some(())
    }

    /// The selection that the floats would make: no more than a guess. None once the deadline has passed.
    fn promising(
        &self,
        budget: &Budget,
        lines: &BranchLines,
        slopes: &[Option<NodeSlopes>],
        global: usize,
    ) -> Option<Vec<Flip>> {
        let nodes = self.slice.nodes(1);
        // The smallest estimate among the best so far, once there are enough.
        let floor = Cell::new(0.0);
        let (mut kept, mut row, mut at) = (Vec::new(), Vec::new(), 0);
        let mut close_row = |row: &mut Vec<(f64, Flip)>, node: u32| {
            keep_largest(row, lines.decided.local(budget, node).unwrap_or(0));
            kept.append(row);
            keep_largest(&mut kept, global);
            if kept.len() == global {
                floor.set(kept.iter().map(|flip| flip.0).fold(f64::INFINITY, f64::min));
            }
        };
        self.flips(
            budget,
            lines,
            slopes,
            |_| floor.get(),
            |SignedFlip { n, attribute, .. }, most| {
                if n != at {
                    close_row(&mut row, nodes[at]);
                    at = n;
                }
                if most > floor.get() {
                    row.push((most, Flip { node: nodes[n], attribute: attribute as u32 }));
                }
            },
        )?;
        if let Some(&node) = nodes.get(at) {
            close_row(&mut row, node);
        }
        Some(kept.into_iter().map(|(_, flip)| flip).collect())
    }

    /// A value that `Q` losses of an admissible selection surely reach, so that nothing below it is ever needed: the
    /// smallest loss of these flips if they are such a selection, else 0.
    fn surely_selected(&self, budget: &Budget, lines: &BranchLines, units: &[Option<Line>], flips: &[Flip]) -> f64 {
        let mut together = lines.decided.clone();
        if together.global(budget) != Some(flips.len()) {
            return 0.0;
        }
        let mut least = f64::INFINITY;
        for &flip in flips {
            let Some(n) = self.slice.position(flip.node) else { return 0.0 };
            let present = self.graph.attributes().contains(flip.node as usize, flip.attribute);
            let (node, attribute) = (flip.node as usize, flip.attribute as usize);
            if together.fixes(budget, flip) || !budget.permits(node, attribute, present) {
                return 0.0;
            }
            let sign = if present { -1.0 } else { 1.0 };
            let loss = self.loss(SignedFlip { n, attribute, sign }, units);
            if loss.sign() != Ordering::Greater {
                return 0.0;
            }
            least = least.min(loss.floor_f64());
            together.flipped.push(flip);
        }
        if together.admissible(budget) { least } else { 0.0 }
    }

    /// By how much the bound falls with a flip.
    fn loss(&self, SignedFlip { n, attribute, sign }: SignedFlip, units: &[Option<Line>]) -> Dyadic {
        let layer = &self.network.layers()[0];
        let width = layer.outputs();
        sum(self.slice.reaching(n).flat_map(|(_, m, entries)| {
            let lines = units[m * width..][..width].iter().enumerate();
            lines.filter_map(move |(j, line)| {
                let change = exact_change(layer, sign, entries, attribute, j);
                let line = line.as_ref().filter(|_| change.sign() != Ordering::Equal)?;
                Some(-line.change(&change))
            })
        }))
    }

    /// A float that is not below the loss of a flip, kinks included.
    fn rounded_loss(&self, SignedFlip { n, attribute, sign }: SignedFlip, units: &[Rounded]) -> f64 {
        let layer = &self.network.layers()[0];
        let width = layer.outputs();
        let (mut value, mut size, mut terms) = (0.0, 0.0, 0);
        let (mut gains, mut sizes) = (Vec::new(), Vec::new());
        for (_, m, entries) in self.slice.reaching(n) {
            layer.changes(sign, entries, attribute, &mut gains);
            layer.change_sizes(entries, attribute, &mut sizes);
            for ((unit, &g), &of_gain) in units[m * width..][..width].iter().zip(&gains).zip(&sizes) {
                let (change, magnitude) = unit.change(g, of_gain);
                value -= change;
                size += magnitude;
            }
            terms += width + entries.len();
        }
        value + error_of(4 * terms + 16, size)
    }

    /// Slopes of the rise and the fall of `w` at a node; a negative entry of `A` swaps them. `None` if nothing counts
    /// there.
    fn slopes(&self, n: usize, units: &[Option<Line>]) -> Option<NodeSlopes> {
        let layer = &self.network.layers()[0];
        let (width, all) = (layer.outputs(), layer.outputs() * layer.passing.terms());
        let (mut up, mut down) = (ExactMatrix::zeros(1, all), ExactMatrix::zeros(1, all));
        let mut counts = false;
        // Where terms meet, a change is the sum of theirs; the lines are concave, so it loses no more than they do one
        // by one.
        for (_, m, entries) in self.slice.reaching(n) {
            for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                let exact = Dyadic::from(a);
                for (j, line) in units[m * width..][..width].iter().enumerate() {
                    let Some(line) = line else { continue };
                    counts |= !matches!(line.kink, ExactKink::None);
                    let (rise, fall) = line.slopes();
                    let (rise, fall) = if a > 0.0 { (rise, fall) } else { (fall, rise) };
                    up.add(0, k * width + j, &(&rise * &exact));
                    down.add(0, k * width + j, &(&fall * &exact));
                }
            }
        }
        counts |= up.values.iter().chain(&down.values).any(|slope| slope.sign() != Ordering::Equal);
        counts.then(|| NodeSlopes::new(&up.values, &down.values))
    }
}

/// Drops all but the `count` largest.
fn keep_largest(flips: &mut Vec<(f64, Flip)>, count: usize) {
    if count == 0 {
        flips.clear();
    } else if flips.len() > count {
        flips.select_nth_unstable_by(count - 1, |x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        flips.truncate(count);
    }
}

/// A line in floats; all zeros for a unit that does not count.
#[derive(Clone, Copy, Default)]
struct Rounded {
    rise: f64,
    fall: f64,
    /// The weight of the kink.
    weight: f64,
    /// The level of a capped bound, or the anchor of the unit itself.
    place: f64,
    kind: KinkKind,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum KinkKind {
    #[default]
    None,
    CappedBelow,
    CappedAbove,
    Itself,
}

impl Rounded {
    /// All lines, if some have kinks and floats can judge them at all.
    fn all(units: &[Option<Line>]) -> Option<Vec<Rounded>> {
        if units.iter().flatten().all(|line| matches!(line.kink, ExactKink::None)) {
            return None;
        }
        let rounded: Vec<Rounded> =
            units.iter().map(|line| line.as_ref().map_or_else(Rounded::default, Rounded::of)).collect();
        let far = |x: f64| x.abs() > 1e300;
        let beyond = |line: &Rounded| far(line.rise) || far(line.fall) || far(line.weight) || far(line.place);
        (!rounded.iter().any(beyond)).then_some(rounded)
    }

    fn of(line: &Line) -> Rounded {
        let (kind, weight, place) = match &line.kink {
            ExactKink::None => (KinkKind::None, 0.0, 0.0),
            ExactKink::Capped { weight, level, below: true } => {
                (KinkKind::CappedBelow, weight.approximate(), level.approximate())
            }
            ExactKink::Capped { weight, level, .. } => {
                (KinkKind::CappedAbove, weight.approximate(), level.approximate())
            }
            ExactKink::Itself { weight, anchor } => (KinkKind::Itself, weight.approximate(), anchor.approximate()),
        };
        Rounded { rise: line.rise.approximate(), fall: line.fall.approximate(), weight, place, kind }
    }

    /// `φ(g)`, and the size of what was summed for it; the floors stand for what underflows.
    #[inline]
    fn change(&self, g: f64, of_gain: f64) -> (f64, f64) {
        let slope = if g > 0.0 { self.rise } else { self.fall };
        let moved = match self.kind {
            KinkKind::None => 0.0,
            KinkKind::CappedBelow => (g - self.place).max(0.0),
            KinkKind::CappedAbove => g.max(-self.place),
            KinkKind::Itself => (self.place + g).max(0.0) - self.place.max(0.0),
        };
        // Where rounding loses the sign of a change, the other slope may be the right one.
        let steepest = if of_gain > g.abs() { self.rise.abs().max(self.fall.abs()) } else { slope.abs() };
        let size =
            (steepest + FLOOR) * (of_gain + FLOOR) + (self.weight.abs() + FLOOR) * (of_gain + self.place.abs() + FLOOR);
        (slope * g + self.weight * moved, size)
    }
}

/// Rounded slopes of one node.
struct NodeSlopes {
    /// Slopes of rise and fall, by unit; units that do not count are left out.
    units: Vec<(u32, f64, f64)>,
    /// Of the larger slope of each unit, rounded up: with the norm of a flip's weights it bounds its loss.
    norm: f64,
    /// Is a slope so near the end of the range that f64 cannot bound a loss?
    beyond: bool,
}

impl NodeSlopes {
    fn new(up: &[Dyadic], down: &[Dyadic]) -> NodeSlopes {
        let counts = |slope: &Dyadic| slope.sign() != Ordering::Equal;
        let units = up.iter().zip(down).enumerate().filter(|(_, (up, down))| counts(up) || counts(down));
        let units: Vec<_> = units.map(|(j, (up, down))| (j as u32, up.approximate(), down.approximate())).collect();
        let beyond = units.iter().any(|(_, up, down)| up.abs() > 1e300 || down.abs() > 1e300);
        let largest = units.iter().map(|(_, up, down)| (up.abs().max(down.abs()) + FLOOR) * (1.0 + 1e-9));
        let norm = if beyond { f64::INFINITY } else { norm_above(largest) };
        NodeSlopes { units, norm, beyond }
    }

    /// A float that is not below the loss of a flip; NaN if there is none.
    fn most(&self, row: &[f64], sign: f64) -> f64 {
        // Several sums, because one would wait for each addition in turn.
        let (mut value, mut size) = ([0.0; 4], [0.0; 4]);
        for (i, &(j, up, down)) in self.units.iter().enumerate() {
            let w = sign * row[j as usize];
            let slope = if w > 0.0 { up } else { down };
            value[i % 4] -= slope * w;
            // The floor stands for slopes that underflow.
            size[i % 4] += (slope.abs() + FLOOR) * w.abs();
        }
        let (value, size): (f64, f64) = (value.iter().sum(), size.iter().sum());
        if self.beyond { f64::INFINITY } else { value + error_of(4 * self.units.len() + 8, size) }
    }
}
