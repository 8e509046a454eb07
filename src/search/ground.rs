//! Where a branch of the search stands: its hidden units after the flips that it has fixed, under what it
//! assumes, and their envelopes.

use std::sync::Arc;

use crate::bounds::{self, LayerBounds};
use crate::budget::Restriction;
use crate::cascade::Pair;
use crate::certifier::Workspace;
use crate::dual::{Located, Sign};
use crate::envelope::Left;
use crate::hidden::Assumption;

use super::prover::Prover;
use super::tree::Branch;

/// Bounds of the hidden units after some flips are fixed.
pub(super) struct Ground {
    restriction: Restriction,
    bounds: LayerBounds,
}

/// What is left of a unit's bounds on one side of zero.
fn cut(bounds: &mut LayerBounds, unit: usize, active: bool) {
    if active {
        bounds.lower[unit] = bounds.lower[unit].max(0.0);
    } else {
        bounds.upper[unit] = bounds.upper[unit].min(0.0);
    }
}

impl Prover<'_, '_> {
    /// Puts the hidden units where the branch's flips take them. False if its assumptions cannot hold.
    pub(super) fn anchor(&mut self, branch: &Branch, at: usize, pairs: &[Pair], workspace: &mut Workspace) -> bool {
        let certifier = self.certifier;
        let Workspace { slice, hidden, evaluator, backward, local_bounds, multipliers, .. } = workspace;
        hidden.load(slice, &certifier.unperturbed()[0], &certifier.activation_bounds()[0]);
        let fixed = !branch.restriction.made.is_empty() || !branch.restriction.spared.is_empty();
        if fixed {
            hidden.anchor_at(evaluator);
            // Fixed flips shrink the budget; R and S follow.
            if self.ground.as_ref().is_none_or(|ground| ground.restriction != branch.restriction) {
                let means = (certifier.budget(), &branch.restriction);
                let around = (&hidden.value[..], &hidden.error[..]);
                let (graph, columns) = (certifier.graph(), certifier.columns());
                let bounds = bounds::first_hidden_in_branch(graph, columns, means, slice, around);
                self.ground = Some(Ground { restriction: branch.restriction.clone(), bounds });
            }
            if let Some(Ground { bounds, .. }) = &self.ground {
                for unit in 0..hidden.count() {
                    hidden.lower[unit] = hidden.lower[unit].max(bounds.lower[unit]);
                    hidden.upper[unit] = hidden.upper[unit].min(bounds.upper[unit]);
                }
                hidden.cap.clone_from(&bounds.caps);
            }
        }
        if let Some(envelope) = &branch.envelope {
            let left = Left::new(envelope, certifier.budget(), &branch.restriction);
            hidden.envelope = Some((Arc::clone(envelope), left));
        }
        for &(unit, assumption) in &branch.units {
            let impossible = match assumption {
                Assumption::Active => hidden.upper[unit] < 0.0,
                Assumption::Inactive => hidden.lower[unit] > 0.0,
                Assumption::Free => false,
            };
            if impossible {
                return false;
            }
            hidden.assumption[unit] = assumption;
        }
        if certifier.gcn().depth() > 3 {
            let objective = [(self.reference, 1.0), (pairs[at].class, -1.0)];
            local_bounds.clear();
            let mut first = LayerBounds {
                width: hidden.width,
                lower: hidden.lower.clone(),
                upper: hidden.upper.clone(),
                caps: Vec::new(),
            };
            for &(unit, assumption) in &branch.units {
                cut(&mut first, unit, assumption == Assumption::Active);
            }
            local_bounds.push(first);
            for l in 2..certifier.gcn().depth() - 1 {
                let layer = &certifier.gcn().layers()[l - 1];
                let mut next = bounds::propagate_in_slice(layer, slice, l, &local_bounds[l - 2]);
                let whole = &certifier.activation_bounds()[l - 1];
                for (n, &node) in slice.nodes(l + 1).iter().enumerate() {
                    for j in 0..next.width {
                        let unit = n * next.width + j;
                        next.lower[unit] = next.lower[unit].max(whole.lower(node as usize)[j]);
                        next.upper[unit] = next.upper[unit].min(whole.upper(node as usize)[j]);
                    }
                }
                for &((_, unit), active) in branch.above.iter().filter(|sign| sign.0.0 == l + 1) {
                    if if active { next.upper[unit] < 0.0 } else { next.lower[unit] > 0.0 } {
                        return false;
                    }
                    cut(&mut next, unit, active);
                }
                local_bounds.push(next);
            }
            multipliers.start(slice, certifier.unperturbed());
            let signs = branch.above.iter().map(|&(place, active)| Sign { place, active, beta: 0.0 });
            multipliers.signs.extend(signs);
            let lines = (&multipliers.omega[..], &multipliers.signs[..]);
            backward.run_signed(certifier.gcn(), slice, Located::Slice(local_bounds), &objective, lines);
        }
        true
    }
}
