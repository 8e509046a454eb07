//! The local search for a perturbation that closes one class pair.

use std::collections::BTreeSet;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::{Linearised, Workspace};
use crate::problem::budget::{Budget, Decided};
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;

/// How many perturbations a search may try on one class pair.
const TRIES: usize = 400;

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
        steepest_at(prepared, objective, workspace);
        let mut steepest: Vec<_> = workspace.linearised.selection.flips().to_vec();
        steepest.sort_by(|x, y| y.loss.total_cmp(&x.loss));
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

/// Selects the flips that are steepest at the last perturbation.
fn steepest_at(prepared: &Prepared, objective: Objective, workspace: &mut Workspace) {
    let Workspace { slice, evaluator, linearised, watch, .. } = workspace;
    let Linearised { relaxed, slopes, selection } = linearised;
    evaluator.gradient(prepared.network(), slice, objective, &mut relaxed.centre);
    relaxed.radius.clear();
    let attributes = prepared.attributes();
    relaxed.spread(slice, attributes.width() / slice.passing(1).terms, attributes.norm(0), slopes);
    selection.select_until(&prepared.search_space(&Decided::default()), slice, slopes, Some(watch));
}

/// All admissible sets of flips one move away: without one, with one more, or with one exchanged.
fn neighbours<'a>(
    budget: &'a Budget,
    flips: &'a [Flip],
    outsiders: &'a [Flip],
) -> impl Iterator<Item = Vec<Flip>> + 'a {
    let without =
        move |i: usize| -> Vec<Flip> { flips.iter().copied().enumerate().filter(|f| f.0 != i).map(|f| f.1).collect() };
    let fits = move |set: &[Flip], flip: &Flip| {
        set.len() < budget.global()
            && set.iter().filter(|f| f.node == flip.node).count() < budget.local(flip.node as usize)
    };
    let drops = (0..flips.len()).map(without);
    let adds = outsiders.iter().filter(move |f| fits(flips, f)).map(move |&f| {
        let mut set = flips.to_vec();
        set.push(f);
        set
    });
    let swaps = outsiders.iter().flat_map(move |&f| {
        (0..flips.len()).filter_map(move |i| {
            let mut set = without(i);
            fits(&set, &f).then(|| {
                set.push(f);
                set
            })
        })
    });
    adds.chain(drops).chain(swaps)
}
