//! The weights of the attributes, those of all terms side by side, in falling order of their norm, and the losses of
//! flips, which are inner products with them.
//!
//! The loss of a flip is an inner product with a row of `W(1)`, so finding the worst flips is a maximum-inner-product
//! search. With rows ordered by norm, `‖u‖·‖W_d‖` tells when no later row can matter.

use pulp::{Arch, Simd, WithSimd};

use crate::number::rounding::norm_above;
use crate::problem::budget::Budget;
use crate::problem::network::Layer;

/// Attributes scored together: unit by unit, one lane per attribute, so that no sum runs across lanes.
const LANES: usize = 8;

/// Marks an attribute that cannot be flipped.
const FROZEN: u32 = u32::MAX;

/// The rows of `W(1)` of all attributes that may be flipped.
#[derive(Debug)]
pub struct Attributes {
    width: usize,
    order: Vec<u32>,
    slot: Vec<u32>,
    norms: Vec<f64>,
    /// The largest norm of all attributes, frozen ones included.
    largest: f64,
    /// Groups of [`LANES`] rows, each group unit-major; the last one padded with zeros.
    groups: Vec<f64>,
    /// The same rows one by one, for single flips.
    rows: Vec<f64>,
    arch: Arch,
}

impl Attributes {
    /// Orders the rows by their norm (docs/math.md (4.8)).
    pub fn new(layer: &Layer, budget: &Budget) -> Attributes {
        let width = layer.outputs() * layer.passing.terms();
        let mut ranked: Vec<(f64, u32)> =
            (0..layer.inputs() as u32).map(|d| (norm_above(layer.weights_of(d as usize)), d)).collect();
        let largest = ranked.iter().fold(0.0, |largest: f64, of| largest.max(of.0));
        ranked.retain(|of| !budget.is_frozen(of.1 as usize));
        ranked.sort_by(|x, y| y.0.total_cmp(&x.0));
        let mut attributes = Attributes {
            width,
            order: ranked.iter().map(|r| r.1).collect(),
            slot: vec![FROZEN; layer.inputs()],
            norms: ranked.iter().map(|r| r.0).collect(),
            largest,
            groups: vec![0.0; ranked.len().div_ceil(LANES) * LANES * width],
            rows: vec![0.0; ranked.len() * width],
            arch: Arch::new(),
        };
        for (slot, &d) in attributes.order.iter().enumerate() {
            attributes.slot[d as usize] = slot as u32;
            let group = &mut attributes.groups[slot / LANES * LANES * width..][..LANES * width];
            for (unit, w) in layer.weights_of(d as usize).enumerate() {
                attributes.rows[slot * width + unit] = w;
                group[unit * LANES + slot % LANES] = w;
            }
        }
        attributes
    }

    /// Weights of an attribute: units of representation 2 times terms.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of attributes that may be flipped.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// Which attribute stands at a place of the order.
    pub fn attribute(&self, slot: usize) -> u32 {
        self.order[slot]
    }

    /// Where an attribute stands in the order; `None` if it cannot be flipped.
    pub fn slot(&self, attribute: u32) -> Option<usize> {
        let slot = self.slot[attribute as usize];
        (slot != FROZEN).then_some(slot as usize)
    }

    /// The weights of the attribute at a place.
    pub fn row(&self, slot: usize) -> &[f64] {
        &self.rows[slot * self.width..][..self.width]
    }

    /// `‖W_d‖`, not rounded below, falling along the order; 0 past the end (docs/math.md (4.8)).
    pub fn norm(&self, slot: usize) -> f64 {
        self.norms.get(slot).copied().unwrap_or(0.0)
    }

    /// The largest `‖W_d‖` of all attributes, whether they may be flipped or not.
    pub fn largest_norm(&self) -> f64 {
        self.largest
    }

    /// The losses of adding the attributes from place `first` (a multiple of 8) on: `radius·|w| − centre·w`; without a
    /// radius (the plain dual) `−centre·w`. `out` is a multiple of 8 long; what lies past the end is zero
    /// (docs/math.md (5.5)).
    pub fn losses(&self, first: usize, centre: &[f64], radius: Option<&[f64]>, out: &mut [f64]) {
        debug_assert!(first.is_multiple_of(LANES) && out.len().is_multiple_of(LANES));
        let groups = &self.groups[first * self.width..][..out.len() * self.width];
        self.arch.dispatch(Scores { groups, width: self.width, centre, radius, out });
    }

    /// How many places [`Attributes::losses`] covers, the padding of the last group included.
    pub fn padded_count(&self) -> usize {
        self.order.len().next_multiple_of(LANES)
    }

    /// The loss of flipping the attribute at one place; `sign` is `+1` for an addition and `−1` for a removal
    /// (docs/math.md (5.5)).
    pub fn loss(&self, slot: usize, sign: f64, centre: &[f64], radius: Option<&[f64]>) -> f64 {
        let row = self.row(slot);
        // Several sums, because one would wait for each addition in turn.
        let mut sums = [0.0; 4];
        let split = self.width / 4 * 4;
        let mut add = |lane: usize, unit: usize| {
            sums[lane] -= sign * centre[unit] * row[unit];
            if let Some(radius) = radius {
                sums[lane] += radius[unit] * row[unit].abs();
            }
        };
        for unit in (0..split).step_by(4) {
            for lane in 0..4 {
                add(lane, unit + lane);
            }
        }
        for unit in split..self.width {
            add(unit - split, unit);
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }
}

/// The inner loop, compiled for the widest vectors of the machine it runs on.
struct Scores<'a> {
    groups: &'a [f64],
    width: usize,
    centre: &'a [f64],
    radius: Option<&'a [f64]>,
    out: &'a mut [f64],
}

impl WithSimd for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let groups = self.groups.chunks_exact(LANES * self.width).zip(self.out.chunks_exact_mut(LANES));
        match self.radius {
            None => {
                for (group, out) in groups {
                    let mut sums = [0.0; LANES];
                    for (w, &c) in group.chunks_exact(LANES).zip(self.centre) {
                        for lane in 0..LANES {
                            sums[lane] -= c * w[lane];
                        }
                    }
                    out.copy_from_slice(&sums);
                }
            }
            Some(radius) => {
                for (group, out) in groups {
                    let mut sums = [0.0; LANES];
                    for (w, (&c, &r)) in group.chunks_exact(LANES).zip(self.centre.iter().zip(radius)) {
                        for lane in 0..LANES {
                            sums[lane] += r * w[lane].abs() - c * w[lane];
                        }
                    }
                    out.copy_from_slice(&sums);
                }
            }
        }
    }
}
