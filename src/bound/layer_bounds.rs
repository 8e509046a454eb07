//! `LayerBounds`: `R` and `S` of one representation, for all nodes or for those that are needed.

use crate::bound::line::capped::Cap;
use crate::problem::network::Layer;
use crate::problem::places::Places;

/// `R` and `S` of one representation, row-major over all nodes, or over those that were asked for.
///
/// Lines know three kinds of units by their bounds: never active, always active, undecided. A unit without activation
/// is always active, whatever its sign; so its `R` is 0 here and its `S` the largest size of its value, and what its
/// value really may be stands in `interval`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerBounds {
    /// Units per node.
    pub width: usize,
    /// `R`.
    pub lower: Vec<f64>,
    /// `S`.
    pub upper: Vec<f64>,
    /// Caps of the units, where they are known: at layer 2.
    pub caps: Vec<Cap>,
    /// Which units of a node have no activation; empty if none.
    pub linear: Vec<bool>,
    /// The values that units may take, nodes × units, where some have no activation; else empty.
    pub interval: Vec<(f64, f64)>,
    /// The row of each node.
    pub rows: Places,
}

/// `R`, `S` and the cap of one unit.
pub(super) struct UnitBounds {
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) cap: Cap,
}

impl LayerBounds {
    /// Room for the bounds of some nodes.
    pub(super) fn unknown(width: usize, nodes: usize) -> LayerBounds {
        let count = width * nodes;
        let (lower, upper, caps) = (vec![0.0; count], vec![0.0; count], vec![Cap::default(); count]);
        LayerBounds { width, lower, upper, caps, linear: Vec::new(), interval: Vec::new(), rows: Places::Own }
    }

    /// Says whose bounds these are: row by row those of some nodes.
    pub(super) fn of_nodes(mut self, nodes: &[u32], count: usize) -> LayerBounds {
        self.rows = Places::of(nodes, count);
        self
    }

    /// Makes units without activation count as active, and remembers their values.
    pub(super) fn straighten(mut self, layer: &Layer) -> LayerBounds {
        if layer.linear.iter().any(|&linear| linear) {
            self.linear.clone_from(&layer.linear);
            self.interval = self.lower.iter().copied().zip(self.upper.iter().copied()).collect();
            for at in (0..self.lower.len()).filter(|at| layer.is_linear(at % self.width)) {
                let (r, s) = self.interval[at];
                self.lower[at] = 0.0;
                self.upper[at] = r.abs().max(s.abs()).max(f64::MIN_POSITIVE);
                if let Some(cap) = self.caps.get_mut(at) {
                    *cap = Cap::default();
                }
            }
        }
        self
    }

    /// Has this unit no activation?
    #[inline]
    pub fn is_linear(&self, unit: usize) -> bool {
        self.linear.get(unit).copied().unwrap_or(false)
    }

    /// The least and the most that a unit of a row may send: its value, cut at zero where it has an activation.
    pub(super) fn sent(&self, row: usize, unit: usize) -> (f64, f64) {
        let at = row * self.width + unit;
        if self.is_linear(unit) { self.interval[at] } else { (self.lower[at].max(0.0), self.upper[at].max(0.0)) }
    }

    pub(super) fn put(&mut self, at: usize, unit: UnitBounds) {
        (self.lower[at], self.upper[at], self.caps[at]) = (unit.lower, unit.upper, unit.cap);
    }

    /// The row of a node.
    ///
    /// # Panics
    /// If its bounds were not asked for.
    #[inline]
    pub(super) fn row(&self, node: usize) -> usize {
        self.rows.get(node)
    }

    /// `R` of a node.
    pub fn lower(&self, node: usize) -> &[f64] {
        &self.lower[self.row(node) * self.width..][..self.width]
    }

    /// `S` of a node.
    pub fn upper(&self, node: usize) -> &[f64] {
        &self.upper[self.row(node) * self.width..][..self.width]
    }

    /// The least and the most that the pre-activations of a node may be.
    pub fn true_bounds(&self, node: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        let first = self.row(node) * self.width;
        (0..self.width).map(move |unit| {
            if self.is_linear(unit) {
                self.interval[first + unit]
            } else {
                (self.lower[first + unit], self.upper[first + unit])
            }
        })
    }

    /// The values that the units of a node may take, where some have no activation.
    pub fn intervals(&self, node: usize) -> &[(f64, f64)] {
        &self.interval[self.row(node) * self.width..][..self.width]
    }

    /// Caps of the units of a node; only at representation 2.
    pub fn caps(&self, node: usize) -> &[Cap] {
        &self.caps[self.row(node) * self.width..][..self.width]
    }
}
