//! The buffers that one thread reuses from target to target.

use std::sync::Arc;

use crate::bound::activation::KnownSteps;
use crate::bound::backward::Backward;
use crate::bound::hidden::Hidden;
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::mixture::Multipliers;
use crate::bound::nested::Nested;
use crate::bound::path::PathBuffers;
use crate::bound::relaxed::Relaxed;
use crate::bound::selection::{Selection, Slopes};
use crate::problem::evaluator::Evaluator;
use crate::problem::exact::ExactUnits;
use crate::problem::limits::Watch;
use crate::problem::slice::Slice;

/// The buffers of one thread: nothing is allocated per target once they have grown.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) slice: Slice,
    pub(crate) backward: Backward,
    pub(crate) relaxed: Relaxed,
    pub(crate) selection: Selection,
    pub(crate) evaluator: Evaluator,
    pub(crate) hidden: Hidden,
    pub(crate) multipliers: Multipliers,
    /// Activation bounds of the slice in a branch of a search.
    pub(crate) local_bounds: Vec<LayerBounds>,
    /// What normalised rows do to units in branches of a search.
    pub(crate) known_steps: KnownSteps,
    pub(crate) slopes: Slopes,
    /// How far the losses of the last bound may be from their exact values.
    pub(crate) loss_error: f64,
    /// The affine bounds of representation 3 in the target's slice, where they are in use.
    pub(crate) nested: Option<Arc<Nested>>,
    pub(crate) reached: PathBuffers,
    /// For linearisations of the true network, beside the bound of a pair.
    pub(crate) linearised: Linearised,
    /// Exact pre-activations of the target's units, as far as they were needed.
    pub(crate) exact: ExactUnits,
    /// When the work on the target must end. Bounds that are cut short by it are −∞.
    pub(crate) watch: Watch,
}

/// The true network, linearised at a perturbation.
#[derive(Debug, Default)]
pub(crate) struct Linearised {
    pub(crate) relaxed: Relaxed,
    pub(crate) slopes: Slopes,
    pub(crate) selection: Selection,
}
