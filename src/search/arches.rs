//! Arches: rounds of separation and mastering, until every unit stands under its envelope at the relaxed attacker's point.
//!
//! Each round takes the point where the attacker has been on average, asks [`super::separation`] for the lowest line of every unit
//! there, and lets a master say how much of it each unit takes instead of the line it has. What comes out is one line per
//! unit again, because prices may be averaged (see [`crate::envelope`]); the bound never falls from round to round.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cascade::Pair;
use crate::certifier::Workspace;
use crate::envelope::{Envelope, Left, Prices};
use crate::hidden::{Assumption, Hidden};
use crate::selection::Flip;

use super::master::{Envelopes, Lines, Master, SimplexMaster, Suggestion};
use super::prover::Prover;
use super::separation::{Buffers, Point};
use super::tree::{Branch, Goal};

/// Rounds at the root, and below it.
const ROUNDS: [usize; 2] = [40, 4];

/// Branches with envelopes of their own.
const KEPT: usize = 200;

/// Masters per round.
const MASTERS: usize = 6;

/// The average moves so far towards the last point.
const STEP: f64 = 0.5;

/// Shares of the average below this are forgotten.
const LEAST: f64 = 1e-3;

impl Prover<'_, '_> {
    /// Raises the bound of a branch by envelopes. The suggestion becomes that of the last master, in terms of the lines that the
    /// workspace's hidden units have then.
    pub(super) fn arch(
        &mut self,
        branch: &Branch,
        at: usize,
        (global, coefficients): (usize, &[f64]),
        suggestion: &mut Suggestion,
        mut best: f64,
        (pairs, workspace): (&mut [Pair], &mut Workspace),
    ) -> Option<f64> {
        let certifier = self.certifier;
        let field = certifier.problem().field(&branch.restriction);
        let weight = &certifier.gcn().layers()[0].weight;
        let constant = workspace.backward.constant().close().value;
        let root = branch.origin.is_none();
        let budget = certifier.budget();
        let mut average: BTreeMap<Flip, f64> = BTreeMap::new();
        let mut before = best;
        let er=|k:&str,d:f64| std::env::var(k).ok().and_then(|v|v.parse().ok()).unwrap_or(d);
        let rounds = if root { er("RROOT",40.0) } else { er("RSUB",4.0) } as usize;
        let step_e = er("STEP",0.5);
        for round in 0..rounds {
            let step = if round == 0 { 1.0 } else { step_e };
            average.values_mut().for_each(|share| *share *= 1.0 - step);
            for &(flip, share) in &suggestion.flips {
                *average.entry(flip).or_default() += step * share;
            }
            average.retain(|_, share| *share > LEAST);
            let count = workspace.hidden.count();
            let mut known = match &workspace.hidden.envelope {
                Some((known, _)) => (**known).clone(),
                None => Envelope::new(count),
            };
            average.keys().for_each(|&flip| known.list(flip));
            let left = Left::new(&known, budget, &branch.restriction);
            let shares: Vec<(Flip, f64)> = average.iter().map(|(&flip, &share)| (flip, share)).collect();
            let local = |n: u32| branch.restriction.local(budget, n).unwrap_or(0);
            let point = Point::new(&known, &shares, global, local);
            let new = self.separate(&known, &point, coefficients, workspace);
            let chords = suggestion.weights.clone();
            let start: Vec<bool> =
                (0..count).map(|unit| new.units[unit].share == 0.0 && chords[unit] > 0.5).collect();
            let envelopes = Envelopes { known: Some((&known, &left)), new: Some(&new), chords: &chords };
            let mut master = SimplexMaster::new(
                weight,
                &workspace.hidden,
                (coefficients, constant),
                global,
                Some(&start),
                Lines::Both,
                envelopes,
            );
            let pool: Vec<Flip> = self.pool.iter().rev().take(2 * global + 12).copied().collect();
            for flip in pool.into_iter().filter(|flip| !branch.restriction.fixes(*flip)) {
                master.add(&field, &workspace.slice, flip);
            }
            for _ in 0..MASTERS {
                let mut found = master.solve();
                self.masters += 1;
                let mut merged = known.clone();
                for unit in (0..count).filter(|&unit| new.units[unit].share > 0.0) {
                    merged.units[unit].mix(&new.units[unit], found.weights[unit].clamp(0.0, 1.0));
                    found.weights[unit] = chords[unit];
                }
                workspace.hidden.envelope = Some((Arc::new(merged), left.clone()));
                let Workspace { backward, relaxed, hidden, .. } = workspace;
                relaxed.mixed(backward, hidden, &found.weights);
                let bound = certifier.worst(workspace, &branch.restriction).lower();
                best = best.max(bound);
                let selected: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
                let attack: Vec<Flip> = branch.restriction.made.iter().chain(&selected).copied().collect();
                certifier.try_flips(self.reference, at, pairs, attack, workspace);
                self.round_to_attack(branch, at, &found, pairs, workspace);
                if bound > 0.0 {
                    self.write_down(branch, pairs[at].class, &found.weights, workspace);
                }
                let value = found.value;
                *suggestion = found;
                if best > self.cutoff(&pairs[at]) || pairs[at].attack.succeeds() && self.goal == Goal::Decide {
                    return Some(best);
                }
                let fresh: Vec<Flip> = selected.into_iter().filter(|flip| !master.knows(*flip)).collect();
                if std::env::var("SHOW").is_ok() {
                    eprintln!("round {round} value {value:.5} bound {bound:.5} best {best:.5} attack {:.5} flips {} listed {}", pairs[at].attack.margin.value, suggestion.flips.len(), known.flips.len());
                }
                if fresh.is_empty() || value - bound <= 1e-6 * (1.0 + bound.abs()) {
                    break;
                }
                for flip in fresh {
                    self.remember(flip);
                    master.add(&field, &workspace.slice, flip);
                }
            }
            // Progress towards the cutoff must be worth a round.
            let gap = self.cutoff(&pairs[at]) - before;
            if best - before < 0.02 * gap && round > 2 {
                break;
            }
            before = best;
        }
        Some(best)
    }

    /// The envelopes that the children of a branch start with: its own as long as there are few branches, to save memory.
    pub(super) fn inherited(&self, branch: &Branch, workspace: &Workspace) -> Option<Arc<Envelope>> {
        if branch.serial > KEPT {
            return branch.envelope.clone();
        }
        workspace.hidden.envelope.as_ref().map(|known| Arc::clone(&known.0))
    }

    /// The lowest line at a point for every unit whose activation the attacker wants large and can switch.
    fn separate(&self, known: &Envelope, point: &Point, coefficients: &[f64], workspace: &Workspace) -> Envelope {
        let Workspace { hidden, slice, .. } = workspace;
        let mut new = known.clone();
        new.units = vec![Prices::default(); hidden.count()];
        let (graph, weight) = (self.certifier.graph(), &self.certifier.gcn().layers()[0].weight);
        let mut change = vec![0.0; known.flips.len()];
        let mut buffers = Buffers::default();
        let mut reach: Vec<Vec<(usize, f64)>> = vec![Vec::new(); slice.nodes(2).len()];
        for (place, &flip) in known.flips.iter().enumerate() {
            let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
            for (_, m, a) in crate::mixture::reached(slice, flip) {
                reach[m].push((place, sign * a));
            }
        }
        for (m, reach) in reach.iter().enumerate() {
            for j in 0..hidden.width {
                let unit = m * hidden.width + j;
                if !wanted(hidden, coefficients, unit) {
                    continue;
                }
                change.fill(0.0);
                for &(place, a) in reach {
                    change[place] = a * weight.get(known.flips[place].attribute as usize, j);
                }
                new.units[unit] = point.separate(hidden.value[unit], &change, &mut buffers);
            }
        }
        new
    }

    /// Shares of envelopes, and their values at a point.
    pub(super) fn arched(&self, flips: &[(Flip, f64)], workspace: &Workspace) -> Vec<(f64, f64)> {
        let Workspace { hidden, slice, .. } = workspace;
        let Some((envelope, left)) = &hidden.envelope else { return Vec::new() };
        let z = |unit: usize| crate::rounding::Enclosure { value: hidden.value[unit], error: 0.0 };
        let mut values: Vec<(f64, f64)> = (0..hidden.count())
            .map(|unit| (envelope.units[unit].share, left.base(&envelope.units[unit], z(unit))))
            .collect();
        let (graph, weight) = (self.certifier.graph(), &self.certifier.gcn().layers()[0].weight);
        for &(flip, share) in flips.iter().filter(|flip| flip.1 > 0.0) {
            let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
            let mut through = vec![0.0; slice.nodes(2).len()];
            for (_, m, a) in crate::mixture::reached(slice, flip) {
                through[m] = sign * a;
            }
            let place = envelope.place(flip);
            for (unit, value) in values.iter_mut().enumerate().filter(|unit| unit.1.0 > 0.0) {
                let g = through[unit / hidden.width] * weight.get(flip.attribute as usize, unit % hidden.width);
                value.1 += share * envelope.units[unit].change(place, g);
            }
        }
        values
    }
}

/// Is this unit free, undecided and wanted active by the attacker?
fn wanted(hidden: &Hidden, coefficients: &[f64], unit: usize) -> bool {
    let undecided = hidden.lower[unit] < 0.0 && hidden.upper[unit] > 0.0;
    hidden.assumption[unit] == Assumption::Free && undecided && coefficients[unit] < 0.0
}
