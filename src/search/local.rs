//! The local search for a perturbation that closes one class pair.

use std::collections::BTreeSet;

use crate::bound::prepared::Prepared;
use crate::bound::selection::Loss;
use crate::bound::workspace::{Linearised, Workspace};
use crate::problem::budget::{Budget, Decided};
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;

/// How many perturbations a search may try on one class pair.
const TRIES: usize = 400;

/// How often [`restart`] begins again.
const RESTARTS: usize = 12;

/// Improves `flips` by re-linearising at the attacked point and by adding, dropping and swapping single flips, until
/// the margin does not exceed `enough`, nothing improves, or the tries are used up (docs/math.md §10). Returns the
/// margin reached.
pub(crate) fn improve(
    prepared: &Prepared,
    objective: Objective,
    enough: f64,
    flips: &mut Vec<Flip>,
    workspace: &mut Workspace,
) -> f64 {
    let mut tries = 0;
    let mut margin_of = |workspace: &mut Workspace, flips: &[Flip]| {
        // A deadline that has passed counts as if all tries were used up.
        tries += if workspace.watch.is_late() { TRIES } else { 1 };
        let logits: Vec<f64> = prepared.logits(flips, workspace).map(|logit| logit.value).collect();
        (objective.iter().map(|&(unit, c)| c * logits[unit]).sum::<f64>(), tries)
    };
    workspace.linearised.selection.forget();
    let (mut best, _) = margin_of(workspace, flips);
    loop {
        // The steepest flips at the attacked point, counted from the unperturbed attributes.
        margin_of(workspace, flips);
        let steepest = steepest_at(prepared, objective, &Decided::default(), workspace);
        let proposal: Vec<Flip> = steepest.iter().map(|s| s.flip).collect();
        let (margin, tries) = margin_of(workspace, &proposal);
        if margin < best {
            (best, *flips) = (margin, proposal);
            if best <= enough || tries >= TRIES {
                return best;
            }
            continue;
        }
        // The linearisation no longer helps: single moves, the best of them all.
        let mut better: Option<(f64, Vec<Flip>)> = None;
        let inside: BTreeSet<Flip> = flips.iter().copied().collect();
        let outsiders: Vec<Flip> = proposal.iter().copied().filter(|f| !inside.contains(f)).take(8).collect();
        for neighbour in neighbours(prepared.budget(), flips, &outsiders) {
            let (margin, tries) = margin_of(workspace, &neighbour);
            if margin < better.as_ref().map_or(best, |b| b.0) {
                better = Some((margin, neighbour));
            }
            if tries >= TRIES || better.as_ref().is_some_and(|b| b.0 <= enough) {
                break;
            }
        }
        match better {
            Some((margin, neighbour)) => (best, *flips) = (margin, neighbour),
            None => return best,
        }
        let (_, tries) = margin_of(workspace, flips);
        if best <= enough || tries >= TRIES {
            return best;
        }
    }
}

/// Begins [`improve`] again from sets in which about half of the best flips known are exchanged for those that are
/// steepest of the others, until the margin does not exceed `enough` or the restarts are used up. Returns the best set.
pub(crate) fn restart(
    prepared: &Prepared,
    objective: Objective,
    enough: f64,
    flips: &[Flip],
    workspace: &mut Workspace,
) -> Vec<Flip> {
    let mut best = flips.to_vec();
    let mut least = improve(prepared, objective, enough, &mut best, workspace);
    for round in 0..RESTARTS {
        if least <= enough || workspace.watch.is_late() {
            break;
        }
        // The evaluator is left at the best set, where slopes are taken.
        prepared.logits(&best, workspace).for_each(drop);
        workspace.linearised.selection.forget();
        let others = steepest_at(prepared, objective, &Decided { kept: best.clone(), ..Decided::default() }, workspace);
        // Another half each time, and the same in every run.
        let stays = |at: usize| {
            let mixed = ((round * best.len() + at + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 1
        };
        let mut set: Vec<Flip> =
            best.iter().copied().enumerate().filter(|(at, _)| stays(*at)).map(|one| one.1).collect();
        for other in others {
            if fits(prepared.budget(), &set, other.flip) {
                set.push(other.flip);
            }
        }
        let margin = improve(prepared, objective, enough, &mut set, workspace);
        if margin < least {
            (least, best) = (margin, set);
        }
    }
    best
}

/// The flips that are steepest at a perturbation, with what each takes from the objective there: as many as the budget
/// allows, the steepest first.
pub(crate) fn steepest(
    prepared: &Prepared,
    objective: Objective,
    flips: &[Flip],
    workspace: &mut Workspace,
) -> Vec<Loss> {
    prepared.logits(flips, workspace).for_each(drop);
    steepest_at(prepared, objective, &Decided::default(), workspace)
}

/// The same at the last perturbation, of those that are not decided.
fn steepest_at(prepared: &Prepared, objective: Objective, decided: &Decided, workspace: &mut Workspace) -> Vec<Loss> {
    let Workspace { slice, evaluator, linearised, watch, .. } = workspace;
    let Linearised { relaxed, slopes, selection } = linearised;
    evaluator.gradient(prepared.network(), slice, objective, &mut relaxed.centre);
    relaxed.radius.clear();
    let attributes = prepared.attributes();
    relaxed.spread(slice, attributes.width() / slice.passing(1).terms, attributes.norm(0), slopes);
    selection.select_until(&prepared.search_space(decided), slice, slopes, Some(watch));
    let mut steepest = selection.flips().to_vec();
    steepest.sort_by(|x, y| y.loss.total_cmp(&x.loss));
    steepest
}

/// Is a set that has one more flip within the budgets?
fn fits(budget: &Budget, set: &[Flip], flip: Flip) -> bool {
    set.len() < budget.global() && set.iter().filter(|f| f.node == flip.node).count() < budget.local(flip.node as usize)
}

/// All admissible sets of flips one move away: without one, with one more, or with one exchanged.
fn neighbours<'a>(
    budget: &'a Budget,
    flips: &'a [Flip],
    outsiders: &'a [Flip],
) -> impl Iterator<Item = Vec<Flip>> + 'a {
    let without =
        move |i: usize| -> Vec<Flip> { flips.iter().copied().enumerate().filter(|f| f.0 != i).map(|f| f.1).collect() };
    let drops = (0..flips.len()).map(without);
    let adds = outsiders.iter().filter(move |&&f| fits(budget, flips, f)).map(move |&f| {
        let mut set = flips.to_vec();
        set.push(f);
        set
    });
    let swaps = outsiders.iter().flat_map(move |&f| {
        (0..flips.len()).filter_map(move |i| {
            let mut set = without(i);
            fits(budget, &set, f).then(|| {
                set.push(f);
                set
            })
        })
    });
    adds.chain(drops).chain(swaps)
}
