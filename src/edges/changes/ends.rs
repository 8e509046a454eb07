//! Intervals of many numbers, in plain floats.

use crate::problem::layer::Layer;

/// The least and the most that numbers are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
}

impl Ends {
    pub(crate) fn zeros(count: usize) -> Ends {
        Ends { lo: vec![0.0; count], hi: vec![0.0; count] }
    }

    pub(crate) fn of(numbers: &[f64]) -> Ends {
        Ends { lo: numbers.to_vec(), hi: numbers.to_vec() }
    }

    /// Zeros again.
    pub(crate) fn clear(&mut self, count: usize) {
        for of in [&mut self.lo, &mut self.hi] {
            of.clear();
            of.resize(count, 0.0);
        }
    }

    /// Adds `a` times other intervals, from a place on.
    pub(crate) fn add(&mut self, other: &Ends, first: usize, a: f64) {
        let width = self.lo.len();
        let (mut lo, mut hi) = (&other.lo[first..first + width], &other.hi[first..first + width]);
        if a < 0.0 {
            (lo, hi) = (hi, lo);
        }
        self.lo.iter_mut().zip(lo).for_each(|(slot, x)| *slot += a * x);
        self.hi.iter_mut().zip(hi).for_each(|(slot, x)| *slot += a * x);
    }

    /// Moves both ends.
    pub(crate) fn shift(&mut self, by: &[f64], a: f64) {
        self.lo.iter_mut().zip(by).for_each(|(slot, x)| *slot += a * x);
        self.hi.iter_mut().zip(by).for_each(|(slot, x)| *slot += a * x);
    }

    /// The smallest intervals around both.
    pub(crate) fn include(&mut self, other: &Ends) {
        self.lo.iter_mut().zip(&other.lo).for_each(|(slot, x)| *slot = slot.min(*x));
        self.hi.iter_mut().zip(&other.hi).for_each(|(slot, x)| *slot = slot.max(*x));
    }

    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f64 {
        self.lo.iter().chain(&self.hi).fold(0.0, |most: f64, x| most.max(x.abs()))
    }

    /// What units rise by if their pre-activations do so, from `z` or from there by one of `moved`: it rises with the
    /// first, and with the second it rises or falls as the first is positive or negative.
    pub(crate) fn activated(&self, z: &[f64], moved: &Ends, linear: impl Fn(usize) -> bool, into: &mut Ends) {
        into.clear(z.len());
        for (unit, &z) in z.iter().enumerate() {
            let (lo, hi) = (self.lo[unit], self.hi[unit]);
            if linear(unit) {
                (into.lo[unit], into.hi[unit]) = (lo, hi);
                continue;
            }
            let rise = |from: f64, by: f64| (from + by).max(0.0) - from.max(0.0);
            let [least, most] = [moved.lo[unit], moved.hi[unit]].map(|by| z + by);
            into.lo[unit] = rise(if lo > 0.0 { least } else { most }, lo);
            into.hi[unit] = rise(if hi > 0.0 { most } else { least }, hi);
        }
    }

    /// What units send in a layer if they change so: appended by term and output.
    pub(crate) fn image(&self, of: &Layer, terms: usize, into: &mut Ends) {
        let (inputs, outputs) = (of.inputs(), of.outputs());
        let first = into.lo.len();
        // The middle stands in `lo` and the radius in `hi` until both are known.
        into.lo.resize(first + terms * outputs, 0.0);
        into.hi.resize(first + terms * outputs, 0.0);
        for unit in 0..inputs {
            let (x, r) = ((self.lo[unit] + self.hi[unit]) / 2.0, (self.hi[unit] - self.lo[unit]) / 2.0);
            if x == 0.0 && r == 0.0 {
                continue;
            }
            for k in 0..terms {
                let row = &of.weight.row(k * inputs + unit)[..outputs];
                let part = first + k * outputs;
                into.lo[part..part + outputs].iter_mut().zip(row).for_each(|(slot, w)| *slot += x * w);
                if r != 0.0 {
                    into.hi[part..part + outputs].iter_mut().zip(row).for_each(|(slot, w)| *slot += r * w.abs());
                }
            }
        }
        for at in first..into.lo.len() {
            let (x, r) = (into.lo[at], into.hi[at]);
            (into.lo[at], into.hi[at]) = (x - r, x + r);
        }
    }
}
