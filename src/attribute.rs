//! The attributes as columns to search: rows of `W(1)` in falling order of their norm.
//!
//! The loss of a flip is an inner product with a row of `W(1)`, so finding the worst flips is a maximum-inner-product
//! search. With rows ordered by norm, `‖u‖·‖W_d‖` tells when no later row can matter.

use gcnproof_files::DenseMatrix;
use pulp::Arch;

use crate::budget::Budget;
use crate::rounding::norm_above;

/// Rows are padded to a multiple of this, so that the inner loop has no remainder.
const LANES: usize = 8;

/// Marks an attribute that cannot be flipped.
const FROZEN: u32 = u32::MAX;

/// The rows of `W(1)` of all attributes that may be flipped.
#[derive(Debug)]
pub struct Attributes {
    stride: usize,
    order: Vec<u32>,
    slot: Vec<u32>,
    rows: Vec<f64>,
    norms: Vec<f64>,
    arch: Arch,
}

impl Attributes {
    /// Orders the rows.
    pub fn new(weight: &DenseMatrix, budget: &Budget) -> Attributes {
        let stride = weight.columns.next_multiple_of(LANES);
        let norm = |d: u32| norm_above(weight.row(d as usize).iter().copied());
        let mut ranked: Vec<(f64, u32)> =
            (0..weight.rows as u32).filter(|&d| !budget.is_frozen(d as usize)).map(|d| (norm(d), d)).collect();
        ranked.sort_by(|x, y| y.0.total_cmp(&x.0));
        let mut attributes = Attributes {
            stride,
            order: ranked.iter().map(|r| r.1).collect(),
            slot: vec![FROZEN; weight.rows],
            rows: vec![0.0; ranked.len() * stride],
            norms: ranked.iter().map(|r| r.0).collect(),
            arch: Arch::new(),
        };
        for (slot, &d) in attributes.order.iter().enumerate() {
            attributes.slot[d as usize] = slot as u32;
            attributes.rows[slot * stride..][..weight.columns].copy_from_slice(weight.row(d as usize));
        }
        attributes
    }

    /// Length of a padded row.
    pub fn stride(&self) -> usize {
        self.stride
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

    /// `‖W_d‖`, not rounded below, falling along the order; 0 past the end.
    pub fn norm(&self, slot: usize) -> f64 {
        self.norms.get(slot).copied().unwrap_or(0.0)
    }

    /// The padded row at a place of the order.
    pub fn row(&self, slot: usize) -> &[f64] {
        &self.rows[slot * self.stride..][..self.stride]
    }

    /// The loss of adding each attribute of the places `first .. first + out.len()`: `radius·|w| − centre·w`.
    /// Without a radius (the plain dual) it is `−centre·w`.
    pub fn losses(&self, first: usize, centre: &[f64], radius: Option<&[f64]>, out: &mut [f64]) {
        let rows = &self.rows[first * self.stride..][..out.len() * self.stride];
        // Compiled for the widest vectors of the machine it runs on.
        match radius {
            Some(radius) => self.arch.dispatch(
                #[inline(always)]
                || {
                    for (row, out) in rows.chunks_exact(self.stride).zip(out.iter_mut()) {
                        *out = two_slopes(row, centre, radius);
                    }
                },
            ),
            None => self.arch.dispatch(
                #[inline(always)]
                || {
                    for (row, out) in rows.chunks_exact(self.stride).zip(out.iter_mut()) {
                        *out = one_slope(row, centre);
                    }
                },
            ),
        }
    }

    /// The loss of removing the attribute at a place: `radius·|w| + centre·w`.
    pub fn removal_loss(&self, slot: usize, centre: &[f64], radius: Option<&[f64]>) -> f64 {
        let mut loss = 0.0;
        for (&w, &c) in self.row(slot).iter().zip(centre) {
            loss += c * w;
        }
        if let Some(radius) = radius {
            for (&w, &r) in self.row(slot).iter().zip(radius) {
                loss += r * w.abs();
            }
        }
        loss
    }
}

#[inline(always)]
fn one_slope(row: &[f64], centre: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (w, c) in row.chunks_exact(LANES).zip(centre.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] -= c[lane] * w[lane];
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn two_slopes(row: &[f64], centre: &[f64], radius: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let slopes = centre.chunks_exact(LANES).zip(radius.chunks_exact(LANES));
    for (w, (c, r)) in row.chunks_exact(LANES).zip(slopes) {
        for lane in 0..LANES {
            sums[lane] += r[lane] * w[lane].abs() - c[lane] * w[lane];
        }
    }
    sums.iter().sum()
}
