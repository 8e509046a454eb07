//! What is known of the units of one representation as it is computed: errors, sizes, and how far flips move them.

use rayon::prelude::*;

use crate::deployed::row::up;
use crate::number::rounding::Enclosure;

/// What is known of the units of one representation, node after node.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitErrors {
    pub(super) width: usize,
    /// How far computed activations may be from the exact ones.
    pub(super) error: Vec<f32>,
    /// How large they may be, computed.
    pub(super) size: Vec<f32>,
    /// How far flips can move them, exactly. Empty where no layer above needs it.
    pub(super) reach: Vec<f32>,
    /// The largest of the sizes of each node.
    pub(super) peak: Vec<f32>,
}

impl UnitErrors {
    pub(super) fn row<'a>(&self, of: &'a [f32], node: usize) -> &'a [f32] {
        &of[node * self.width..][..self.width]
    }
}

/// Not below `x`, in half the memory.
fn stored(x: f64) -> f32 {
    (x as f32).next_up()
}

/// One unit: its exact value without flips, how far flips move it, and what computing it is wrong by.
pub(super) struct ComputedUnit {
    pub(super) value: Enclosure,
    pub(super) moved: f64,
    pub(super) wrong: f64,
}

impl ComputedUnit {
    /// Error, size and reach of the activation.
    pub(super) fn put(&self, linear: bool, error: &mut f32, size: &mut f32, reach: Option<&mut f32>) {
        let highest = (self.value.upper() + self.moved).next_up();
        let lowest = (self.value.lower() - self.moved).next_down();
        if !(self.wrong + highest.abs() + lowest.abs()).is_finite() {
            // Nothing is known. Infinities stay so, whatever they are multiplied by or compared with, or become NaN and
            // are found here.
            (*error, *size) = (f32::INFINITY, f32::INFINITY);
            return reach.into_iter().for_each(|reach| *reach = f32::INFINITY);
        }
        let farthest = if linear { highest.abs().max(lowest.abs()) } else { highest.max(0.0) };
        // Surely inactive, computed or exact: zero, and nothing is wrong with it. A comparison with NaN is false.
        let dead = !linear && (highest + 1.01 * self.wrong).next_up() < 0.0;
        (*error, *size) = if dead { (0.0, 0.0) } else { (stored(self.wrong), stored(up(farthest + self.wrong, 2))) };
        if let Some(reach) = reach {
            *reach = if !linear && highest < 0.0 { 0.0 } else { stored(self.moved) };
        }
    }
}

/// A row of errors, of sizes and of reaches.
pub(super) type UnitRows<'a> = (&'a mut [f32], &'a mut [f32], &'a mut [f32]);

impl UnitErrors {
    pub(super) fn zeros(width: usize, nodes: usize, reaches: bool) -> UnitErrors {
        let zeros = || vec![0.0; width * nodes];
        let reach = if reaches { zeros() } else { Vec::new() };
        UnitErrors { width, error: zeros(), size: zeros(), reach, peak: Vec::new() }
    }

    pub(super) fn rows(&mut self) -> impl IndexedParallelIterator<Item = UnitRows<'_>> {
        let width = self.width;
        let nodes = self.error.len() / width.max(1);
        let mut reaches: Vec<&mut [f32]> = self.reach.chunks_mut(width).collect();
        reaches.resize_with(nodes, Default::default);
        let rows = self.error.par_chunks_mut(width).zip(self.size.par_chunks_mut(width));
        rows.zip(reaches).map(|((error, size), reach)| (error, size, reach))
    }

    pub(super) fn close(mut self) -> UnitErrors {
        let largest = |row: &[f32]| row.iter().copied().fold(0.0, f32::max);
        self.peak = self.size.chunks(self.width.max(1)).map(largest).collect();
        self
    }
}
