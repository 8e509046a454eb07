//! Rounds of separation and mastering that put every unit under its envelope at the relaxed attacker's point.
//!
//! Each round takes the point where the attacker has been on average, asks [`super::separation`] for the lowest line of
//! every unit there, and lets a master say how much of it each unit takes instead of the line it has. What comes out is
//! one line per unit again, because prices may be averaged ([`crate::bound::line::envelope`]). The master can keep
//! every line as it is, so its optimum never falls. (Measured: the average of the points, not the last one, is what
//! makes a handful of rounds enough.)

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::line::envelope::{Envelope, EnvelopePrices, ListedBudgets};
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

use super::column_generation::{Pricing, generate, unknown};
use super::limits::Clock;
use super::master::{AllowedLines, Envelopes, LinearObjective, SimplexMaster, Suggestion};
use super::pair_search::PairSearch;
use super::separation::{Buffers, Point};
use super::tree::Branch;

/// Rounds at the root of a tree, and below it.
const ROUNDS: [usize; 2] = [40, 4];

/// Masters solved in a round, at most.
const MASTERS: usize = 6;

/// The average moves by this share towards the last point.
const STEP: f64 = 0.5;

/// Shares of the average that are forgotten.
const LEAST: f64 = 1e-3;

/// A round is worth its cost if it closes this share of what is missing.
const WORTH: f64 = 0.02;

/// EnvelopePrices of an envelope, at most: beyond that a round costs more than branching, and memory.
const LARGEST: usize = 4 << 20;

/// EnvelopePrices that waiting branches hold together, at most; later branches pass on what they were given.
const KEPT: usize = 16 << 20;

/// Where the relaxed attacker has been on average.
#[derive(Default)]
struct Average(BTreeMap<Flip, f64>);

impl Average {
    fn move_towards(&mut self, point: &[(Flip, f64)]) {
        let step = if self.0.is_empty() { 1.0 } else { STEP };
        self.0.values_mut().for_each(|share| *share *= 1.0 - step);
        for &(flip, share) in point {
            *self.0.entry(flip).or_default() += step * share;
        }
        self.0.retain(|_, share| *share > LEAST);
    }
}

/// Envelopes that units have, and those that they may take instead.
struct EnvelopeCuts {
    known: Envelope,
    new: Envelope,
    left: ListedBudgets,
}

impl EnvelopeCuts {
    /// Is there a new line for this unit?
    fn renews(&self, unit: usize) -> bool {
        self.new.units[unit].share > 0.0
    }
}

/// Evaluates multipliers that mix new envelopes into the lines of the units.
struct EnvelopePricing<'s, 'a, 'p> {
    search: &'s mut PairSearch<'a, 'p>,
    branch: &'s Branch,
    cuts: &'s EnvelopeCuts,
    /// Weights of chords, which are not multipliers here.
    chords: &'s [f64],
    /// The suggestion of the last master.
    suggestion: &'s mut Suggestion,
    /// The best bound so far.
    best: f64,
    rounds: usize,
}

impl Pricing<SimplexMaster<'_>> for EnvelopePricing<'_, '_, '_> {
    fn slice(&self) -> &Slice {
        &self.search.workspace.slice
    }

    fn price(&mut self, master: &mut SimplexMaster, mut found: Suggestion) -> Vec<Move> {
        let EnvelopePricing { search, cuts, chords, .. } = self;
        self.rounds += 1;
        let mut merged = cuts.known.clone();
        for unit in (0..chords.len()).filter(|&unit| cuts.renews(unit)) {
            merged.units[unit].mix(&cuts.new.units[unit], found.weights[unit].clamp(0.0, 1.0));
            found.weights[unit] = chords[unit];
        }
        search.workspace.hidden.envelope = Some((Arc::new(merged), cuts.left.clone()));
        *self.suggestion = found;
        let (bound, selected) = search.try_multipliers(self.branch, self.suggestion);
        self.best = self.best.max(bound);
        let close = self.suggestion.value - bound <= search.close_to(bound);
        if search.settled(self.best) || search.clock.is_late() || close {
            return Vec::new();
        }
        let new = unknown(master, selected);
        new.iter().for_each(|column| search.remember(column));
        if self.rounds < MASTERS { new } else { Vec::new() }
    }
}

/// Raises a branch's bound by envelopes, as far as that goes or is needed. The suggestion becomes that of the last
/// master, for the lines that the hidden units have then (docs/math.md §6.4).
pub(super) fn tighten_by_envelopes(
    search: &mut PairSearch,
    branch: &Branch,
    global: usize,
    coefficients: &[f64],
    mut best: f64,
    suggestion: &mut Suggestion,
) -> f64 {
    let (prepared, decided) = (search.prepared, &branch.decided);
    let mut average = Average::default();
    let hidden = &search.workspace.hidden;
    let priced = (0..coefficients.len()).filter(|&unit| coefficients[unit] < 0.0 && is_free(hidden, unit)).count();
    for round in 0..ROUNDS[usize::from(branch.origin.is_some())] {
        average.move_towards(&suggestion.flips);
        let mut known = match &search.workspace.hidden.envelope {
            Some((known, _)) => (**known).clone(),
            None => Envelope::new(search.workspace.hidden.count()),
        };
        average.0.keys().for_each(|&flip| known.list(flip));
        if priced.saturating_mul(known.flips.len() + known.nodes.len()) > LARGEST {
            break;
        }
        let left = ListedBudgets::new(&known, prepared.budget(), decided);
        let local = |n: u32| decided.local(prepared.budget(), n).unwrap_or(0);
        let point = Point::new(&known, &average.0, global, local);
        let new = separate(prepared, &known, &point, &search.clock, coefficients, search.workspace);
        let before = best;
        let cuts = EnvelopeCuts { known, new, left };
        best = best.max(generate_columns(search, branch, global, coefficients, cuts, suggestion));
        let missing = search.cutoff() - before;
        let enough = search.settled(best) || search.meets_attack(branch, best);
        if enough || search.clock.is_late() || round > 2 && best - before < WORTH * missing {
            break;
        }
    }
    best
}

/// Column generation where every unit may take the new line instead of its own: the best bound found
/// (docs/math.md §6.4).
fn generate_columns(
    search: &mut PairSearch,
    branch: &Branch,
    global: usize,
    coefficients: &[f64],
    cuts: EnvelopeCuts,
    suggestion: &mut Suggestion,
) -> f64 {
    let prepared = search.prepared;
    let Workspace { backward, hidden, .. } = &*search.workspace;
    let chords = suggestion.weights.clone();
    let start: Vec<bool> = (0..chords.len()).map(|unit| !cuts.renews(unit) && chords[unit] > 0.5).collect();
    let mut master = SimplexMaster::new(
        &prepared.network().layers()[0],
        hidden,
        LinearObjective { coefficients, constant: backward.constant().close().value },
        global,
        Some(&start),
        AllowedLines::All,
        Envelopes { known: Some((&cuts.known, &cuts.left)), new: Some(&cuts.new), chords: &chords },
    );
    master.until(search.clock.clone());
    let known = search.latest(global.saturating_mul(2), &branch.decided);
    let (best, chords, rounds) = (f64::NEG_INFINITY, &chords, 0);
    let mut pricing = EnvelopePricing { search: &mut *search, branch, cuts: &cuts, chords, suggestion, best, rounds };
    generate(&mut master, &prepared.search_space(&branch.decided), known, &mut pricing);
    pricing.best
}

/// The envelopes that the children of a branch start with.
pub(super) fn inherited_envelope(search: &mut PairSearch, branch: &Branch) -> Option<Arc<Envelope>> {
    let own = search.workspace.hidden.envelope.as_ref().map(|known| &known.0)?;
    search.kept += own.units.iter().map(|prices| prices.node.len() + prices.single.len()).sum::<usize>();
    if search.kept > KEPT { branch.envelope.clone() } else { Some(Arc::clone(own)) }
}

/// What each listed flip changes in the units of the nodes of representation 2 that it reaches: by node, then place and
/// changes.
fn changes(prepared: &Prepared, flips: &[Flip], workspace: &Workspace) -> Vec<Vec<(usize, Vec<f64>)>> {
    let mut changes = vec![Vec::new(); workspace.slice.nodes(2).len()];
    for (place, &flip) in flips.iter().enumerate() {
        let present = prepared.graph().attributes().contains(flip.node as usize, flip.attribute);
        let sign = if present { -1.0 } else { 1.0 };
        for (_, m, entries) in workspace.slice.rows_of(flip) {
            let mut of_units = Vec::new();
            prepared.network().layers()[0].changes(sign, entries, flip.attribute as usize, &mut of_units);
            changes[m].push((place, of_units));
        }
    }
    changes
}

/// The lowest line at a point for every unit that is not settled and that the attacker wants active.
fn separate(
    prepared: &Prepared,
    known: &Envelope,
    point: &Point,
    clock: &Clock,
    coefficients: &[f64],
    workspace: &Workspace,
) -> Envelope {
    let hidden = &workspace.hidden;
    let mut new = known.renewed();
    let mut change = vec![0.0; known.flips.len()];
    let mut buffers = Buffers::default();
    for (m, changes) in changes(prepared, &known.flips, workspace).iter().enumerate() {
        // What is not separated keeps its line.
        if clock.is_late() {
            break;
        }
        for j in 0..hidden.width {
            let unit = m * hidden.width + j;
            if coefficients[unit] < 0.0 && is_free(hidden, unit) {
                change.fill(0.0);
                for (place, changes) in changes {
                    change[*place] = changes[j];
                }
                new.units[unit] = point.separate(hidden.value[unit], &change, &mut buffers);
            }
        }
    }
    new
}

/// Is nothing assumed of this unit, and can it be switched?
fn is_free(hidden: &Hidden, unit: usize) -> bool {
    hidden.assumption[unit] == Assumption::Free && hidden.lower[unit] < 0.0 && hidden.upper[unit] > 0.0
}

/// The share and the value of each unit's envelope at a point; empty if there are none.
pub(super) fn envelope_values(prepared: &Prepared, point: &[(Flip, f64)], workspace: &Workspace) -> Vec<(f64, f64)> {
    let hidden = &workspace.hidden;
    let Some((envelope, left)) = &hidden.envelope else { return Vec::new() };
    let made: Vec<(Flip, f64)> = point.iter().copied().filter(|flip| flip.1 > 0.0).collect();
    let flips: Vec<Flip> = made.iter().map(|flip| flip.0).collect();
    let places: Vec<_> = flips.iter().map(|&flip| envelope.place(flip)).collect();
    let mut values = vec![(0.0, 0.0); hidden.count()];
    let mut change = vec![0.0; made.len()];
    for (m, changes) in changes(prepared, &flips, workspace).iter().enumerate() {
        for (j, value) in values[m * hidden.width..][..hidden.width].iter_mut().enumerate() {
            let unit = m * hidden.width + j;
            let prices: &EnvelopePrices = &envelope.units[unit];
            if prices.share > 0.0 {
                change.fill(0.0);
                for (k, changes) in changes {
                    change[*k] = changes[j];
                }
                let base = left.base(prices, Enclosure { value: hidden.value[unit], error: 0.0 });
                let moved =
                    made.iter().zip(&places).zip(&change).map(|((flip, &at), &g)| flip.1 * prices.change(at, g));
                *value = (prices.share, base + moved.sum::<f64>());
            }
        }
    }
    values
}
