//! Branches of networks without hidden layers. Their margins are linear, and nothing is relaxed but what the attacker
//! may choose from: the numbers of flips of a normalised row, and changes of categories that exclude each other
//! (docs/math.md §7.5).

use crate::bound::backward::Located;
use crate::bound::exact::{BranchLines, First};
use crate::bound::relaxed::Relaxation;
use crate::bound::selection::Loss;
use crate::bound::workspace::Workspace;
use crate::number::dyadic::Dyadic;
use crate::number::rounding::Enclosure;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::problem::rows::Move;

use super::branching::{LEAST_SPREAD, any_flip, row_split};
use super::finish::closes;
use super::master::Suggestion;
use super::pair_search::PairSearch;
use super::tree::{Branch, BranchResult, SearchGoal, Split};

/// Bounds a branch whose flips leave the margin `made`; closes it, or says where to split it.
pub(super) fn price_linear(search: &mut PairSearch, branch: &Branch, made: Enclosure) -> BranchResult {
    let prepared = search.prepared;
    let Workspace { backward, relaxed, .. } = &mut *search.workspace;
    relaxed.linear(backward, made);
    search.last = prepared.worst(search.workspace, &branch.decided);
    let bound = search.last.lower();
    let selection = &search.workspace.selection;
    let mut selected = selection.flips().to_vec();
    selected.sort_by(|x, y| y.loss.total_cmp(&x.loss).then(x.flip.cmp(&y.flip)));
    let mut moves = Vec::new();
    if prepared.graph().normalisation().is_some() {
        for (share, flips) in selection.shared_moves() {
            moves.extend(Move::all(prepared.graph(), flips).into_iter().map(|column| (column, share)));
        }
    }
    let suggestion = Suggestion { weights: Vec::new(), value: bound, flips: Vec::new(), moves };
    let mut flips: Vec<Flip> = selected.iter().map(|loss| loss.flip).collect();
    try_together(search, branch, &flips);
    if bound > search.pair().goal() {
        search.record_default_leaf(branch);
    }
    if search.settled(bound) {
        return search.closed(bound);
    }
    if search.is_near(bound) && !search.clock.is_late() {
        if search.goal != SearchGoal::Decide {
            search.pairs.settle(search.at, search.workspace);
        }
        if let Some((exact, attaining)) = exact_bound(search, branch, &flips) {
            if closes(search, &exact) {
                if exact > Dyadic::from_f64(search.pair().goal()) {
                    search.record_default_leaf(branch);
                }
                return BranchResult::Closed { bound: exact.floor_f64(), proved: true };
            }
            try_together(search, branch, &attaining);
            if search.is_idle() {
                return search.closed(bound);
            }
            flips = attaining;
        }
    }
    let split = row_split(search, branch, &suggestion, LEAST_SPREAD).or_else(|| {
        let flip = excluding(search, &selected).or_else(|| search.next_of_attack(branch)).or(flips.first().copied());
        flip.or_else(|| any_flip(search, branch, search.workspace.slice.nodes(1))).map(Split::Flip)
    });
    match split {
        Some(split) => BranchResult::Open { bound, split, warm_start: Vec::new(), envelope: None },
        // Nothing is left that changes anything: the branch is the single perturbation that it has made.
        None => search.single(branch, made),
    }
}

/// Tries the flips of a branch together with others, as far as these do not exclude each other.
fn try_together(search: &mut PairSearch, branch: &Branch, flips: &[Flip]) {
    let attack = branch.decided.flipped.iter().chain(flips).copied().collect();
    search.pairs.try_flips(search.at, attack, search.workspace);
}

/// The flip that loses most of those selected that exclude another one of them.
fn excluding(search: &PairSearch, selected: &[Loss]) -> Option<Flip> {
    let budget = search.prepared.budget();
    selected.iter().map(|loss| loss.flip).find(|&flip| {
        let alone = Decided { flipped: vec![flip], ..Decided::default() };
        selected.iter().any(|other| other.flip != flip && alone.excludes(budget, other.flip))
    })
}

/// The exact bound of a branch, and the flips that attain it.
fn exact_bound(search: &mut PairSearch, branch: &Branch, hint: &[Flip]) -> Option<(Dyadic, Vec<Flip>)> {
    let objective = search.pairs.objective(search.at);
    let Workspace { slice, exact, watch, .. } = &mut *search.workspace;
    let lines = BranchLines {
        decided: &branch.decided,
        bounds: Located::Graph(&[]),
        first: First::Default(Relaxation::Paper),
        omega: &[],
        signs: &[],
        hint,
    };
    search.prepared.exact(slice, exact).until(watch).lower_bound(search.prepared.budget(), &objective, &lines)
}
