//! What a leaf with hints is worth: rules 4 and 6 of section 4 of `check/FORMAT.md` (version 2), and all rules
//! together.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use crate::exact::Exact;
use crate::hints::{Hints, Refusal};
use crate::rules::{Amounts, Left, Path, Rules, larger, positive, smaller, zero};

/// Whole bounds of the units of a node, by layer and node.
pub type Whole = BTreeMap<(usize, usize), Vec<(Exact, Exact)>>;

/// What a leaf is worth.
#[derive(Clone, Debug)]
pub enum Worth {
    /// No perturbation takes the path.
    Empty,
    /// `C − T`, and what it was made from.
    Bound(Exact, Box<Details>),
}

/// Numbers on the way to a bound: for those who want better hints.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Coefficients of hidden units by layer, node, unit.
    pub coefficients: BTreeMap<(usize, usize, usize), Exact>,
    /// Bounds of hidden units by layer, node, unit.
    pub bounds: BTreeMap<(usize, usize, usize), (Exact, Exact)>,
    /// Pre-activations of layer 2 by node and unit.
    pub values: BTreeMap<(usize, usize), Exact>,
    /// The loss of every free flip.
    pub losses: Amounts,
}

impl Rules<'_> {
    /// The worth of a leaf: `objective` are units of representation `top` of the target with their coefficients.
    ///
    /// # Errors
    /// If the hints are about something that is not there.
    pub fn worth(
        &self,
        top: usize,
        target: usize,
        objective: &[(usize, i64)],
        path: &Path,
        hints: &Hints,
        known: &Whole,
    ) -> Result<Worth, Refusal> {
        let slice = self.slice(top, target);
        self.validate(&slice, top, hints)?;
        let Some(left) = self.left(path) else { return Ok(Worth::Empty) };
        let mut details = Details::default();
        // Rules 2 and 3.
        let mut rectangles: BTreeMap<(usize, usize), (Exact, Exact)> = BTreeMap::new();
        let mut changes: BTreeMap<(usize, usize), Amounts> = BTreeMap::new();
        for &node in slice.get(2).into_iter().flatten() {
            for unit in 0..self.width(2) {
                let z = self.value(node, unit, path);
                if top > 2 {
                    let own = self.changes(node, unit, &left, path);
                    let (rise, fall) = self.rectangle(&own, hints.reach.get(&(node, unit)), &left);
                    let mut bounds = (z.plus(&fall.negated()), z.plus(&rise));
                    if !clip(&mut bounds, path.units.get(&(2, node, unit))) {
                        return Ok(Worth::Empty);
                    }
                    details.bounds.insert((2, node, unit), bounds);
                    rectangles.insert((node, unit), (rise, fall));
                    changes.insert((node, unit), own);
                }
                details.values.insert((node, unit), z);
            }
        }
        for (l, nodes) in slice.iter().enumerate().take(top).skip(3) {
            for &node in nodes {
                for unit in 0..self.width(l) {
                    let below = |n: usize, i: usize| details.bounds[&(l - 1, n, i)].clone();
                    let mut bounds = self.propagate(l - 1, node, unit, &below);
                    if let Some(units) = known.get(&(l, node)) {
                        bounds = (larger(bounds.0, units[unit].0.clone()), smaller(bounds.1, units[unit].1.clone()));
                    }
                    if !clip(&mut bounds, path.units.get(&(l, node, unit))) {
                        return Ok(Worth::Empty);
                    }
                    details.bounds.insert((l, node, unit), bounds);
                }
            }
        }
        // Rule 4.
        let mut constant = zero();
        let mut phi: BTreeMap<(usize, usize), Exact> = BTreeMap::new();
        for &(unit, coefficient) in objective {
            phi.insert((target, unit), Exact { integer: BigInt::from(coefficient), exponent: 0 });
        }
        for l in (2..top).rev() {
            let coefficients = self.pull(l, &phi, &mut constant);
            phi = BTreeMap::new();
            for &node in &slice[l] {
                for unit in 0..self.width(l) {
                    let k = coefficients.get(&(node, unit)).cloned().unwrap_or_else(zero);
                    details.coefficients.insert((l, node, unit), k.clone());
                    if l == 2 {
                        continue;
                    }
                    let bend = hints.nested.get(&(node, unit)).filter(|_| l == 3);
                    let k = k.plus(bend.map_or(&zero(), |bend| &bend.weight));
                    let s = hints.slopes.get(&(l, node, unit)).cloned().unwrap_or_else(zero);
                    let (lower, upper) = &details.bounds[&(l, node, unit)];
                    let at = |x: &Exact| k.times(&positive(x)).plus(&s.times(x).negated());
                    let mut least = smaller(at(lower), at(upper));
                    if lower.sign() == Ordering::Less && upper.sign() == Ordering::Greater {
                        least = smaller(least, zero());
                    }
                    constant = constant.plus(&least);
                    phi.insert((node, unit), s);
                }
            }
        }
        let mut slopes: BTreeMap<(usize, usize), (Exact, Exact)> = BTreeMap::new();
        if top == 2 {
            for ((node, unit), phi) in &phi {
                constant = constant.plus(&phi.times(&details.values[&(*node, *unit)]));
                slopes.insert((*node, *unit), (phi.clone(), phi.clone()));
            }
        }
        for (&(node, unit), (rise_most, fall_most)) in &rectangles {
            let mut k = details.coefficients[&(2, node, unit)].clone();
            for weight in [
                hints.levels.get(&(node, unit)).map(|bend| &bend.weight),
                hints.envelopes.get(&(node, unit)).map(|bend| &bend.weight),
            ] {
                k = k.plus(weight.unwrap_or(&zero()));
            }
            let (rise, fall) = hints.lines.get(&(node, unit)).cloned().unwrap_or_else(|| (zero(), zero()));
            let z = &details.values[&(node, unit)];
            let split = path.units.get(&(2, node, unit)).copied();
            match least(&k, &rise, &fall, z, rise_most, fall_most, split) {
                None => return Ok(Worth::Empty),
                Some(least) => constant = constant.plus(&least),
            }
            slopes.insert((node, unit), (rise, fall));
        }
        // Rules 5 and 6.
        let mut losses = self.losses(&slice[1], &slopes, hints.grid, &left, path);
        self.bends(hints, &details, &changes, (&slice[1], &left, path), &mut constant, &mut losses);
        self.nested(hints, &details, &changes, &left, &mut constant, &mut losses);
        let lost = self.select(&losses, &hints.price, &left);
        details.losses = losses;
        Ok(Worth::Bound(constant.plus(&lost.negated()), Box::new(details)))
    }

    /// Coefficients of `H(l)` from those of `Ĥ(l+1)`.
    fn pull(
        &self,
        l: usize,
        phi: &BTreeMap<(usize, usize), Exact>,
        constant: &mut Exact,
    ) -> BTreeMap<(usize, usize), Exact> {
        let mut below: BTreeMap<(usize, usize), Exact> = BTreeMap::new();
        for ((m, j), phi) in phi {
            *constant = constant.plus(&phi.times(&self.biases[l - 1][*j]));
            for &(n, a) in &self.operators[l - 1][*m] {
                let scaled = phi.times(&Exact::from_f64(a));
                for i in 0..self.width(l) {
                    let sum = below.entry((n, i)).or_insert_with(zero);
                    *sum = sum.plus(&scaled.times(self.weight(l, i, *j)));
                }
            }
        }
        below
    }

    /// Rule 6 without bends.
    fn losses(
        &self,
        rows: &BTreeSet<usize>,
        slopes: &BTreeMap<(usize, usize), (Exact, Exact)>,
        grid: Option<i32>,
        left: &Left,
        path: &Path,
    ) -> Amounts {
        let mut losses = Vec::new();
        for &n in rows {
            let mut sums = vec![(zero(), zero()); self.width(2)];
            for (&(m, unit), (rise, fall)) in slopes {
                for &(_, a) in self.operators[0][m].iter().filter(|entry| entry.0 == n) {
                    let (first, second) = if a > 0.0 { (rise, fall) } else { (fall, rise) };
                    let a = Exact::from_f64(a);
                    sums[unit].0 = sums[unit].0.plus(&a.times(first));
                    sums[unit].1 = sums[unit].1.plus(&a.times(second));
                }
            }
            if let Some(grid) = grid {
                for (plus, minus) in &mut sums {
                    *plus = floor(plus, grid);
                    *minus = floor(&minus.negated(), grid).negated();
                }
            }
            for flip in self.free(n, left, path) {
                let mut loss = zero();
                for (unit, (plus, minus)) in sums.iter().enumerate() {
                    let sent = self.sent(flip.0, flip.1, unit);
                    let slope = if sent.sign() == Ordering::Greater { plus } else { minus };
                    loss = loss.plus(&sent.times(slope).negated());
                }
                losses.push((flip, loss));
            }
        }
        losses
    }

    /// Is everything that the hints name there?
    fn validate(&self, slice: &[BTreeSet<usize>], top: usize, hints: &Hints) -> Result<(), Refusal> {
        let unit = |layer: usize, node: usize, unit: usize| -> Result<(), Refusal> {
            let known = (2..top).contains(&layer) && unit < self.width(layer) && slice[layer].contains(&node);
            if known { Ok(()) } else { Err(format!("no hidden unit ({layer}, {node}, {unit})")) }
        };
        let node = |node: &usize| -> Result<(), Refusal> {
            if slice[1].contains(node) { Ok(()) } else { Err(format!("a price of node {node}, which does not matter")) }
        };
        for &(layer, n, j) in hints.slopes.keys() {
            unit(layer, n, j)?;
            if layer < 3 {
                return Err("a slope at layer 2".into());
            }
        }
        let second =
            hints.lines.keys().chain(hints.reach.keys()).chain(hints.levels.keys()).chain(hints.envelopes.keys());
        for &(n, j) in second.chain(hints.supports.keys()) {
            unit(2, n, j)?;
        }
        for &(n, j) in hints.nested.keys() {
            unit(3, n, j)?;
        }
        let one = Exact { integer: BigInt::from(1), exponent: 0 };
        if hints.supports.values().any(|line| line.weight.compare(&one) == Ordering::Greater) {
            return Err("a support with ω above 1".into());
        }
        let reach = hints.reach.values().flat_map(|pair| [&pair.0, &pair.1]);
        let bends = hints.levels.values().chain(hints.supports.values()).chain(hints.nested.values());
        let levels = bends.map(|bend| &bend.prices);
        for prices in reach.chain(levels).chain([&hints.price]) {
            prices.nodes.keys().try_for_each(node)?;
        }
        for bend in hints.envelopes.values() {
            bend.nodes.keys().try_for_each(node)?;
            for flip in bend.flips.keys() {
                node(&flip.0)?;
                if !self.permits(flip.0, flip.1) {
                    return Err(format!("a price of flip {flip:?}, which is not permitted"));
                }
            }
        }
        Ok(())
    }
}

/// Clips bounds by the side of a split; false if nothing is left.
fn clip(bounds: &mut (Exact, Exact), side: Option<&bool>) -> bool {
    match side {
        Some(true) => bounds.0 = positive(&bounds.0),
        Some(false) => bounds.1 = positive(&bounds.1.negated()).negated(),
        // Only bounds of units that the path splits are asked.
        None => return true,
    }
    bounds.0.compare(&bounds.1) != Ordering::Greater
}

/// The least value of `f` over the points of rule 4; `None` if no point is left.
fn least(
    k: &Exact,
    rise: &Exact,
    fall: &Exact,
    z: &Exact,
    most_up: &Exact,
    most_down: &Exact,
    split: Option<bool>,
) -> Option<Exact> {
    let corners = [
        (zero(), zero()),
        (zero(), most_down.clone()),
        (most_up.clone(), zero()),
        (most_up.clone(), most_down.clone()),
    ];
    let crossings = [
        (zero(), z.clone()),
        (z.negated(), zero()),
        (most_up.clone(), z.plus(most_up)),
        (most_down.plus(&z.negated()), most_down.clone()),
    ];
    let inside = |(u, v): &(Exact, Exact)| {
        u.sign().is_ge() && v.sign().is_ge() && u.compare(most_up).is_le() && v.compare(most_down).is_le()
    };
    let mut least: Option<Exact> = None;
    for (u, v) in corners.into_iter().chain(crossings.into_iter().filter(inside)) {
        let x = z.plus(&u).plus(&v.negated());
        match split {
            Some(true) if x.sign() == Ordering::Less => continue,
            Some(false) if x.sign() == Ordering::Greater => continue,
            _ => {}
        }
        let f = k.times(&positive(&x)).plus(&rise.times(&u).negated()).plus(&fall.times(&v));
        least = Some(match least {
            None => f,
            Some(other) => smaller(other, f),
        });
    }
    least
}

/// The largest multiple of `2^grid` that is not larger.
fn floor(x: &Exact, grid: i32) -> Exact {
    if x.exponent >= grid {
        return x.clone();
    }
    // A shift of a big integer to the right rounds down, negative numbers too.
    Exact { integer: &x.integer >> (grid - x.exponent), exponent: grid }
}
