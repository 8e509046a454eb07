//! The bounds of a branch of the search: its hidden units after the flips that it has fixed, with the signs
//! that it assumes, and their envelopes.

use std::sync::Arc;

use crate::bound::activation as bounds;
use crate::bound::backward::{AboveSecond, Located, Sign, UnitPlace};
use crate::bound::hidden::Assumption;
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::envelope::ListedBudgets;
use crate::bound::mixture::Multipliers;
use crate::bound::workspace::Workspace;
use crate::problem::budget::Decided;
use crate::problem::places::Places;

use super::pair_search::{BranchBounds, PairSearch};
use super::tree::Branch;

/// What is left of a unit's bounds on one side of zero.
fn cut(bounds: &mut LayerBounds, unit: usize, active: bool) {
    if active {
        bounds.lower[unit] = bounds.lower[unit].max(0.0);
    } else {
        bounds.upper[unit] = bounds.upper[unit].min(0.0);
    }
}

/// Sets the hidden units to their bounds and anchors in the branch (docs/math.md §7.2). False if its assumptions cannot
/// hold; none once the deadline has passed.
pub(super) fn anchor(search: &mut PairSearch, branch: &Branch) -> Option<bool> {
    let prepared = search.prepared;
    let Workspace { slice, hidden, evaluator, backward, local_bounds, multipliers, known_steps, watch, .. } =
        &mut *search.workspace;
    hidden.load(slice, &prepared.unperturbed()[0], &prepared.activation_bounds()[0]);
    let Decided { flipped, kept, rows } = &branch.decided;
    let fixed = !flipped.is_empty() || !kept.is_empty() || !rows.is_empty();
    if fixed {
        hidden.anchor_at(evaluator);
        // Fixed flips shrink the budget; R and S follow.
        if search.bounds.as_ref().is_none_or(|ground| ground.decided != branch.decided) {
            let (problem, columns) = (prepared.problem(), prepared.columns());
            let decided = &branch.decided;
            let bounds = bounds::first_hidden_in_branch(problem, columns, decided, slice, hidden, known_steps, watch)?;
            search.bounds = Some(BranchBounds { decided: branch.decided.clone(), bounds });
        }
        if let Some(BranchBounds { bounds, .. }) = &search.bounds {
            for unit in 0..hidden.count() {
                hidden.lower[unit] = hidden.lower[unit].max(bounds.lower[unit]);
                hidden.upper[unit] = hidden.upper[unit].min(bounds.upper[unit]);
            }
            hidden.cap.clone_from(&bounds.caps);
        }
    }
    if let Some(envelope) = &branch.envelope {
        let left = ListedBudgets::new(envelope, prepared.budget(), &branch.decided);
        hidden.envelope = Some((Arc::clone(envelope), left));
    }
    for &(unit, assumption) in &branch.units {
        let impossible = match assumption {
            Assumption::Active => hidden.upper[unit] < 0.0,
            Assumption::Inactive => hidden.lower[unit] > 0.0,
            Assumption::Free => false,
        };
        if impossible {
            return Some(false);
        }
        // Where the bounds already rule the sign out, the branch is empty; otherwise it may be assumed.
        hidden.assumption[unit] = assumption;
    }
    if prepared.network().depth() > 3 {
        let objective = search.pairs.objective(search.at);
        local_bounds.clear();
        let whole = &prepared.activation_bounds()[0];
        let interval = match &search.bounds {
            _ if hidden.linear.is_empty() => Vec::new(),
            Some(BranchBounds { bounds, .. }) if fixed => bounds.interval.clone(),
            _ => slice.nodes(2).iter().flat_map(|&node| whole.intervals(node as usize).to_vec()).collect(),
        };
        let mut first = LayerBounds {
            width: hidden.width,
            lower: hidden.lower.clone(),
            upper: hidden.upper.clone(),
            caps: Vec::new(),
            linear: hidden.linear.clone(),
            interval,
            rows: Places::Own,
        };
        for &(unit, assumption) in &branch.units {
            cut(&mut first, unit, assumption == Assumption::Active);
        }
        local_bounds.push(first);
        for l in 2..prepared.network().depth() - 1 {
            let layer = &prepared.network().layers()[l - 1];
            let mut next = bounds::propagate_in_slice(layer, slice, l, &local_bounds[l - 2]);
            let whole = &prepared.activation_bounds()[l - 1];
            for (n, &node) in slice.nodes(l + 1).iter().enumerate() {
                for j in 0..next.width {
                    let unit = n * next.width + j;
                    next.lower[unit] = next.lower[unit].max(whole.lower(node as usize)[j]);
                    next.upper[unit] = next.upper[unit].min(whole.upper(node as usize)[j]);
                }
            }
            for &(UnitPlace { at: unit, .. }, active) in branch.above.iter().filter(|sign| sign.0.l == l + 1) {
                if if active { next.upper[unit] < 0.0 } else { next.lower[unit] > 0.0 } {
                    return Some(false);
                }
                cut(&mut next, unit, active);
            }
            local_bounds.push(next);
        }
        multipliers.start(slice, prepared.unperturbed());
        let signs = branch.above.iter().map(|&(place, active)| Sign { place, active, beta: 0.0 });
        multipliers.signs.extend(signs);
        let Multipliers { omega, signs, chords, .. } = &*multipliers;
        let above = AboveSecond { omega, signs, chords };
        backward.run_signed(prepared.network(), slice, Located::Slice(local_bounds), &objective, above);
    }
    Some(true)
}
