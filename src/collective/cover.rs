//! Rows that a fractional attack violates: once some flips are taken as made, the others must do the rest (docs/math.md
//! (20.7)).

use std::collections::BTreeMap;

use crate::collective::families::NodeRows;
use crate::collective::row::{ONE, ShareRow};
use crate::problem::flip::Flip;

/// By how much a row must cut an attack down to be worth its place.
const WORTH: f64 = 0.02;

/// What a cover leaves to the other flips at least: with less, flips that are worth little become worth much.
const LEAST_REST: u32 = ONE / 2;

/// For each node whose rows leave more of it to a fractional attack than need be, flips that are best taken as made.
/// `flips` says how much of each flip is made, in their order.
pub(crate) fn covers(nodes: &[NodeRows], flips: &[(Flip, f64)]) -> Vec<(usize, Vec<Flip>)> {
    let made: BTreeMap<Flip, f64> = flips.iter().copied().collect();
    let mut found = Vec::new();
    for (at, of) in nodes.iter().enumerate() {
        let Some(weights) = of.weights() else { continue };
        let near: Vec<(Flip, f64)> =
            weights.entries.iter().filter_map(|entry| made.get(&entry.0).map(|&made| (entry.0, made))).collect();
        let reached = |row: &ShareRow| near.iter().map(|&(flip, made)| fraction(row.share(flip)) * made).sum::<f64>();
        let now = of.rows.iter().map(reached).fold(1.0, f64::min);
        if now > WORTH
            && let Some((cover, value)) = best_cover(weights, near)
            && value < now - WORTH
        {
            found.push((at, cover));
        }
    }
    found
}

fn fraction(share: u32) -> f64 {
    f64::from(share) / f64::from(ONE)
}

/// The set of flips that leaves least to the others, and what the attack then reaches: first those that are made most.
fn best_cover(weights: &ShareRow, mut near: Vec<(Flip, f64)>) -> Option<(Vec<Flip>, f64)> {
    near.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
    let shares: Vec<u32> = near.iter().map(|&(flip, _)| weights.share(flip)).collect();
    let (mut taken, mut sum) = (vec![false; near.len()], 0u32);
    let mut best: Option<(Vec<bool>, f64)> = None;
    for place in 0..near.len() {
        if shares[place] == 0 || shares[place] > ONE - LEAST_REST - sum {
            continue;
        }
        taken[place] = true;
        sum += shares[place];
        let rest = f64::from(ONE - sum);
        let others = near.iter().zip(&shares).zip(&taken).filter(|(_, taken)| !**taken);
        let value = others.map(|((flip, &share), _)| (f64::from(share) / rest).min(1.0) * flip.1).sum::<f64>();
        if best.as_ref().is_none_or(|best| value < best.1) {
            best = Some((taken.clone(), value));
        }
    }
    let (taken, value) = best?;
    Some((near.iter().zip(taken).filter(|(_, taken)| *taken).map(|(flip, _)| flip.0).collect(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::families::RowKind;

    /// Half of a flip of share 0.5 and half of one of 0.7: the second must do the rest of the first.
    #[test]
    fn a_cover_cuts_a_fractional_attack_down() {
        let flip = |attribute| Flip { node: 3, attribute };
        let row = ShareRow { defaults: vec![(3, 0)], entries: vec![(flip(0), ONE / 2), (flip(1), ONE / 10 * 7)] };
        let mut nodes = [NodeRows { kinds: vec![RowKind::Weight], rows: vec![row], covers: Vec::new() }];
        let found = covers(&nodes, &[(flip(0), 0.5), (flip(1), 0.5)]);
        assert_eq!(found, [(0, vec![flip(0)])]);
        assert!(covers(&nodes, &[(flip(0), 1.0), (flip(1), 1.0)]).is_empty());
        nodes[0].cover(vec![flip(0)]);
        assert_eq!((nodes[0].rows[1].share(flip(0)), nodes[0].rows[1].share(flip(1))), (0, ONE));
    }
}
