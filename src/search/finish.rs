//! The end of a search: what lies inside the rounding error of a bound is decided in exact arithmetic.
//!
//! A bound in f64 never reaches the exact minimum from below, however tight its relaxation is, and it says nothing
//! about a margin that is smaller than its error. In such a branch the lines are evaluated exactly. If that does not
//! close it, it is split on the flips of the best perturbation known: a perturbation without one of them is usually far
//! worse, and with all of them made a single perturbation is left. So every search ends, and no verdict rests on a
//! tolerance.

use crate::bound::backward::Located;
use crate::bound::exact::{BranchLines, First};
use crate::bound::workspace::Workspace;
use crate::number::dyadic::Dyadic;
use crate::problem::flip::Flip;

use super::cuts::inherited_envelope;
use super::pair_search::PairSearch;
use super::tree::{Branch, BranchResult, SearchGoal, Split};

/// The flip to split on where the parent's bound has already met the best perturbation.
pub(super) fn follow_attack(search: &PairSearch, branch: &Branch) -> Option<Flip> {
    let inherited = branch.origin.is_some() && search.meets_attack(branch, branch.bound);
    if inherited { search.next_of_attack(branch) } else { None }
}

/// The branch is split on a flip; its children start with what it started with.
pub(super) fn split_on(branch: &Branch, bound: f64, flip: Flip) -> BranchResult {
    let warm_start = branch.warm_start.as_ref().map_or_else(Vec::new, |warm_start| warm_start.to_vec());
    BranchResult::Open { bound, split: Split::Flip(flip), warm_start, envelope: branch.envelope.clone() }
}

/// Evaluates a branch exactly, if its bound is near enough, with the multipliers that gave the bound. Closes it, or
/// splits it on a flip; `None` if it is not near, or if nothing came of it.
pub(super) fn finish(search: &mut PairSearch, branch: &Branch, bound: f64, weights: &[f64]) -> Option<BranchResult> {
    if !search.is_near(bound) || search.clock.is_late() {
        return None;
    }
    if search.goal != SearchGoal::Decide {
        search.pairs.settle(search.at, search.workspace);
    }
    if let Some(found) = all_but_one(search, branch, weights) {
        return Some(found);
    }
    let budget = search.prepared.budget();
    let global = branch.decided.global(budget).unwrap_or(0);
    let locals = search.workspace.slice.nodes(1).iter().map(|&n| branch.decided.local(budget, n).unwrap_or(0));
    // A proof has no lines for a single flip: there the search continues down to single perturbations.
    // Nor has a normalised row.
    let flips = !search.prepared.graph().normalisation().is_some();
    let single = global.min(locals.sum()) == 1 && search.trace.is_none() && flips;
    let mut flips = Vec::new();
    let tries: &[Option<&[f64]>] = if single { &[None] } else { &[Some(weights), None] };
    for &multipliers in tries {
        let Some((exact, selected)) = exact_bound(search, branch, multipliers, single) else {
            continue;
        };
        if closes(search, &exact) {
            let class = search.pair().class;
            if exact > Dyadic::from_f64(search.pair().goal()) {
                record_exact_leaf(search, branch, class, multipliers);
            }
            return Some(BranchResult::Closed { bound: exact.floor_f64(), proved: true });
        }
        let attack: Vec<Flip> = branch.decided.flipped.iter().chain(&selected).copied().collect();
        search.pairs.try_flips(search.at, attack, search.workspace);
        if search.is_idle() {
            return Some(search.closed(bound));
        }
        if search.goal != SearchGoal::Decide {
            search.pairs.settle(search.at, search.workspace);
        }
        flips = selected;
    }
    let flip = search.next_of_attack(branch).or(flips.first().copied())?;
    let warm_start = weights.iter().map(|w| *w > 0.5).collect();
    Some(BranchResult::Open {
        bound,
        split: Split::Flip(flip),
        warm_start,
        envelope: inherited_envelope(search, branch),
    })
}

/// Does an exact bound close a branch? The margin of the best perturbation is known exactly where the minimum is
/// searched for.
pub(super) fn closes(search: &PairSearch, exact: &Dyadic) -> bool {
    match (search.goal, &search.pair().attack.exact) {
        (SearchGoal::Decide, _) => *exact > Dyadic::from_f64(search.pair().goal()),
        (_, Some(best)) => exact >= best,
        _ => false,
    }
}

/// Closes a branch whose bound is attained by a single perturbation, if that perturbation is not what the search is
/// for, and if the bound of all others closes the branch. (A proof has no such step.) See docs/math.md (12.2).
fn all_but_one(search: &mut PairSearch, branch: &Branch, weights: &[f64]) -> Option<BranchResult> {
    if search.trace.is_some() {
        return None;
    }
    search.prepared.mix(weights, search.workspace);
    let bound = search.prepared.worst(search.workspace, &branch.decided).lower();
    let selected = search.workspace.selection.flips().iter().map(|loss| loss.flip);
    let one: Vec<Flip> = branch.decided.flipped.iter().copied().chain(selected).collect();
    if search.prepared.budget().compatible(one.clone()).len() < one.len() {
        return None;
    }
    let margin = search.pairs.try_flips(search.at, one.clone(), search.workspace);
    let enough = search.cutoff();
    let others = search.prepared.worst_of_others(search.workspace, &branch.decided, enough)?;
    // The one may not have been compared with the best one known.
    if search.workspace.watch.was_late() {
        return None;
    }
    let pair = search.pair();
    if search.goal != SearchGoal::Decide {
        // The one has been compared with the best one known.
        let bound = others.min(pair.attack.lower());
        return Some(BranchResult::Closed { bound, proved: others >= pair.attack.margin.upper() });
    }
    let (_, exceeds) = search.pairs.decided(search.at, margin, &one, search.workspace);
    exceeds.then_some(BranchResult::Closed { bound, proved: true })
}

/// The exact bound of a branch with given multipliers of representation 2, or with lines that are exact at the anchor
/// (docs/math.md (12.1) where a single flip is left).
fn exact_bound(
    search: &mut PairSearch,
    branch: &Branch,
    weights: Option<&[f64]>,
    single: bool,
) -> Option<(Dyadic, Vec<Flip>)> {
    let Workspace { slice, hidden, local_bounds, multipliers, selection, exact, watch, .. } = &mut *search.workspace;
    let hint: Vec<Flip> = selection.flips().iter().map(|loss| loss.flip).collect();
    let deep = search.prepared.network().depth() > 3;
    let lines = BranchLines {
        decided: &branch.decided,
        bounds: Located::Slice(local_bounds),
        first: match weights {
            _ if single => First::Itself(hidden),
            Some(weights) => First::Mixed(hidden, weights),
            None => First::Anchor(hidden),
        },
        omega: if deep { &multipliers.last_omega } else { &[] },
        signs: if deep { &multipliers.signs } else { &[] },
        hint: &hint,
    };
    let objective = search.pairs.objective(search.at);
    search.prepared.exact(slice, exact).until(watch).lower_bound(search.prepared.budget(), &objective, &lines)
}

/// For the proof: the branch was closed exactly, and without envelopes.
fn record_exact_leaf(search: &mut PairSearch, branch: &Branch, class: usize, weights: Option<&[f64]>) {
    if search.trace.is_none() {
        return;
    }
    let weights = match weights {
        Some(weights) => weights.to_vec(),
        None => {
            search.workspace.multipliers.anchored(&search.workspace.hidden, &search.workspace.backward);
            search.workspace.multipliers.weights.clone()
        }
    };
    let envelope = search.workspace.hidden.envelope.take();
    let chords = std::mem::take(&mut search.workspace.multipliers.chords);
    search.record_leaf(branch, class, &weights);
    search.workspace.multipliers.chords = chords;
    search.workspace.hidden.envelope = envelope;
}
