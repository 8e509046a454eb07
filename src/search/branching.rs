//! The choice of what a branch is split on: the sign of a unit, or a flip.

use std::collections::BTreeMap;

use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::workspace::Workspace;
use crate::problem::budget::RowSide;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::problem::rows::attributes_after;

use super::cuts::envelope_values;
use super::listing::are_few;
use super::master::Suggestion;
use super::pair_search::PairSearch;
use super::point::suggested_point;
use super::tree::{Branch, Split};

/// Perturbations of a branch up to which they are tried one by one.
const FEW: usize = 2048;

/// By so much what moves do to a row differs that the branch is split on it before units.
pub(super) const SPREAD: f64 = 0.01;

/// The same before flips.
pub(super) const LEAST_SPREAD: f64 = 1e-6;

/// Branches of a tree before that is considered.
const PATIENCE: usize = 64;

/// On the unit whose relaxation is loosest at the relaxed attacker's point; where none is, on a flip made in part;
/// and at last on any flip that is left.
pub(super) fn choose_split(
    search: &PairSearch,
    branch: &Branch,
    coefficients: &[f64],
    suggestion: &Suggestion,
) -> Option<Split> {
    if let Some(split) = row_split(search, branch, suggestion, SPREAD) {
        return Some(split);
    }
    let hidden = &search.workspace.hidden;
    let (change, capped) = suggested_point(search.prepared, suggestion, &branch.decided, search.workspace);
    let envelopes = envelope_values(search.prepared, &suggestion.flips, search.workspace);
    let least = 1e-9 * search.size.min(1.0);
    let loosest = loosest(hidden, coefficients, &change, &capped, &envelopes, least);
    let deep = search.prepared.network().depth() > 3;
    match loosest {
        Some((looseness, unit)) if looseness > least && !deep && !few_left(search, branch) => {
            return Some(Split::Unit(unit));
        }
        _ => {}
    }
    if let Some(split) = row_split(search, branch, suggestion, LEAST_SPREAD) {
        return Some(split);
    }
    let Workspace { slice, selection, .. } = &*search.workspace;
    // Of an earlier branch, if this one was given up before its flips were priced.
    let mut selected = selection.flips().iter().map(|loss| loss.flip);
    let made = suggestion.flips.iter().max_by(|x, y| x.1.total_cmp(&y.1).then(y.0.cmp(&x.0)));
    most_fractional(suggestion)
        .or(made.filter(|m| m.1 > 0.0).map(|m| m.0))
        .or_else(|| selected.find(|flip| !branch.decided.fixes(search.prepared.budget(), *flip)))
        .or_else(|| any_flip(search, branch, slice.nodes(1)))
        .map(Split::Flip)
}

/// Where rows are normalised: on how many attributes are added to a row, or removed from it, where the relaxed
/// attacker's moves differ most in that, by a variance of at least `spread` relative to the square of the number of
/// ones. Few and many ones give a row very different entries, and what lies between them is far from both.
pub(super) fn row_split(search: &PairSearch, branch: &Branch, suggestion: &Suggestion, spread: f64) -> Option<Split> {
    let (graph, decided) = (search.prepared.graph(), &branch.decided);
    // How many attributes moves add and remove, and the squares of these numbers, by their shares.
    let mut rows: BTreeMap<u32, [[f64; 2]; 2]> = BTreeMap::new();
    for (column, share) in &suggestion.moves {
        let sums = rows.entry(column.node()).or_default();
        for ([mean, square], count) in sums.iter_mut().zip(column.counts(graph)) {
            *mean += share * count as f64;
            *square += share * (count * count) as f64;
        }
    }
    let sides = |(node, sums): (u32, [[f64; 2]; 2])| {
        let ones = attributes_after(graph, node, &decided.flipped).count();
        let size = (ones as f64 + sums[0][0] - sums[1][0]).max(1.0);
        let variance = |[mean, square]: [f64; 2]| (square - mean * mean) / (size * size);
        [RowSide::Added, RowSide::Removed].map(|side| {
            let sums = sums[side as usize];
            (variance(sums), node, side, sums[0])
        })
    };
    let widest = rows.into_iter().flat_map(sides).max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
    let (_, node, side, mean) = widest.filter(|row| row.0 >= spread)?;
    if few_left(search, branch) {
        return None;
    }
    let left = decided.local(search.prepared.budget(), node)?.min(decided.global(search.prepared.budget())?);
    let [least, most] = decided.row_limits(node)[side as usize];
    let most = most.min(left);
    let made = decided.row_counts(graph, node)[side as usize];
    (least < most).then(|| Split::Row(node, side, made + (mean as usize).clamp(least, most - 1)))
}

/// Are so few perturbations left in a branch that trying them one by one is shorter than splitting units?
pub(super) fn few_left(search: &PairSearch, branch: &Branch) -> bool {
    let nodes = search.workspace.slice.nodes(1);
    // A tree that stays small is best split where its bound is loosest.
    let graph = search.prepared.graph();
    let entries = nodes.len().saturating_mul(graph.attribute_count());
    // Of all changes of categories few are those of a row.
    let many = if graph.categories().is_some() { 1 << 15 } else { 1 << 10 };
    if branch.serial < PATIENCE || entries > many {
        return false;
    }
    let budget = search.prepared.budget();
    let global = branch.decided.global(budget).unwrap_or(0);
    let flips = nodes.iter().flat_map(|&node| {
        let attributes = 0..search.prepared.graph().attribute_count() as u32;
        attributes.map(move |attribute| Flip { node, attribute })
    });
    let free = flips.filter(|flip| is_free(search, branch, *flip)).count();
    are_few(free, global, FEW)
}

/// May this flip still be made in the branch?
fn is_free(search: &PairSearch, branch: &Branch, flip: Flip) -> bool {
    let (graph, budget) = (search.prepared.graph(), search.prepared.budget());
    let present = graph.attributes().contains(flip.node as usize, flip.attribute);
    branch.decided.local(budget, flip.node).is_some_and(|left| left > 0)
        && budget.permits(flip.node as usize, flip.attribute as usize, present)
        && !branch.decided.fixes(budget, flip)
}

/// The flip that is still possible and can change most; none if the rest changes nothing.
pub(super) fn any_flip(search: &PairSearch, branch: &Branch, nodes: &[u32]) -> Option<Flip> {
    let attributes = search.prepared.attributes();
    // An attribute without weights changes all entries of a normalised row.
    let rows = search.prepared.graph().normalisation().is_some();
    let heaviest = (0..attributes.count()).take_while(|&slot| rows || attributes.norm(slot) > 0.0);
    heaviest.map(|slot| attributes.attribute(slot)).find_map(|attribute| {
        let mut flips = nodes.iter().map(|&node| Flip { node, attribute });
        flips.find(|flip| is_free(search, branch, *flip))
    })
}

/// The free unit with a negative coefficient whose split gains most at the master's point, and the gain (docs/math.md
/// (7.2)). The two branches gain the relaxed activation beyond `z` and beyond 0; a unit of which one is nothing is not
/// loose. (Measured: choosing by the sum of the two takes half as many tree nodes as choosing by the smaller.) Gains up
/// to `least` are none.
fn loosest(
    hidden: &Hidden,
    coefficients: &[f64],
    change: &[f64],
    capped: &[f64],
    envelopes: &[(f64, f64)],
    least: f64,
) -> Option<(f64, usize)> {
    (0..hidden.count())
        .filter(|&at| hidden.assumption[at] == Assumption::Free && coefficients[at] < 0.0)
        .filter(|&at| hidden.lower[at] < 0.0 && hidden.upper[at] > 0.0)
        .map(|at| {
            let (z, r, s) = (hidden.value[at], hidden.lower[at], hidden.upper[at]);
            let here = z + change[at];
            let others = (s * (here - r) / (s - r)).min(z.max(0.0) + capped[at]);
            let (share, envelope) = envelopes.get(at).copied().unwrap_or((0.0, 0.0));
            let relaxed = share * envelope + (1.0 - share) * others;
            let gains = [-coefficients[at] * (relaxed - here), -coefficients[at] * relaxed];
            (if gains[0].min(gains[1]) > least { gains[0] + gains[1] } else { 0.0 }, at)
        })
        .max_by(|x, y| x.0.total_cmp(&y.0))
}

/// The flip that is most nearly made by half.
fn most_fractional(suggestion: &Suggestion) -> Option<Flip> {
    suggestion
        .flips
        .iter()
        .filter(|(_, share)| *share > 1e-6 && *share < 1.0 - 1e-6)
        .min_by(|x, y| (x.1 - 0.5).abs().total_cmp(&(y.1 - 0.5).abs()))
        .map(|f| f.0)
}
