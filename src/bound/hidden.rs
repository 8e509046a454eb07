//! The hidden units of representation 2 in one slice, at the point where bounds are anchored.
//!
//! The anchor is the unperturbed graph, or in a branch of a search the graph with the flips that the branch has fixed.
//! Activation bounds of the whole budget stay valid there: what is still admissible in the branch was admissible
//! before.

use std::sync::Arc;

use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::capped::{Cap, change as capped_change};
use crate::bound::line::envelope::{Envelope, ListedBudgets};
use crate::problem::evaluator::Evaluator;
use crate::problem::forward::Representation;
use crate::problem::rows::UnitChange;
use crate::problem::slice::Slice;

/// What a branch of a search assumes of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// No assumption: `z` may have either sign.
    #[default]
    Free,
    /// `z ≥ 0`.
    Active,
    /// `z ≤ 0`.
    Inactive,
}

/// Slopes of a bound from above that is exact at the anchor, for the rise and the fall of the unit's input.
#[derive(Clone, Copy, Debug)]
pub struct Kink {
    /// Per unit of a rise.
    pub rise: f64,
    /// Per unit of a fall.
    pub fall: f64,
}

/// Values, errors and bounds of the units, nodes × units; unit `j` of the slice's `m`-th node is entry `m·width + j`.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Units per node.
    pub width: usize,
    /// Pre-activations at the anchor.
    pub value: Vec<f64>,
    /// How far each may be from its exact value; not negative.
    pub error: Vec<f64>,
    /// `R`.
    pub lower: Vec<f64>,
    /// `S`.
    pub upper: Vec<f64>,
    /// Caps at the anchor.
    pub cap: Vec<Cap>,
    /// Envelopes of units, with what is left of their budgets, where the search has found some.
    pub envelope: Option<(Arc<Envelope>, ListedBudgets)>,
    /// What the branch assumes of each unit's sign.
    pub assumption: Vec<Assumption>,
    /// Which units of a node have no activation; empty if none.
    pub linear: Vec<bool>,
}

impl Hidden {
    /// The units at the unperturbed graph.
    pub fn load(&mut self, slice: &Slice, unperturbed: &Representation, bounds: &LayerBounds) {
        self.width = unperturbed.width;
        self.linear.clone_from(&bounds.linear);
        for buffer in [&mut self.value, &mut self.error, &mut self.lower, &mut self.upper] {
            buffer.clear();
        }
        self.cap.clear();
        self.envelope = None;
        for &node in slice.nodes(2) {
            let node = node as usize;
            self.value.extend_from_slice(unperturbed.row(node));
            self.error.extend_from_slice(unperturbed.errors(node));
            self.lower.extend_from_slice(bounds.lower(node));
            self.upper.extend_from_slice(bounds.upper(node));
            self.cap.extend_from_slice(bounds.caps(node));
        }
        self.assumption.clear();
        self.assumption.resize(self.value.len(), Assumption::Free);
    }

    /// Moves the anchor to the last perturbation that was evaluated.
    pub fn anchor_at(&mut self, evaluator: &Evaluator) {
        self.value.copy_from_slice(evaluator.preactivations(2));
        self.error.copy_from_slice(evaluator.errors(2));
    }

    /// Has this unit no activation?
    #[inline]
    pub fn is_linear(&self, at: usize) -> bool {
        !self.linear.is_empty() && self.linear[at % self.width]
    }

    /// The slopes of the anchored bound, in place of the capped one, where no level is known (docs/math.md (5.3)); as a
    /// suggestion.
    pub fn kink(&self, at: usize) -> Option<Kink> {
        let (z, r, s) = (self.value[at], self.lower[at], self.upper[at]);
        (self.cap[at] == Cap { level: 0.0, largest: f64::INFINITY }).then_some(match z < 0.0 {
            true => Kink { rise: s / (s - z), fall: 0.0 },
            false => Kink { rise: 1.0, fall: z / (z - r) },
        })
    }

    /// By how much the bound on an activation from above that is exact at the anchor changes with the unit's input; as
    /// a suggestion.
    pub fn capped_change(&self, at: usize, change: UnitChange) -> f64 {
        match self.kink(at) {
            Some(Kink { rise, fall }) => rise * change.rise - fall * change.fall,
            None => capped_change(self.cap[at].level, self.value[at], change.total()),
        }
    }

    /// Number of units.
    pub fn count(&self) -> usize {
        self.value.len()
    }
}
