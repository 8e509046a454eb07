//! The capped bound of the units of representation 3 (docs/math.md §5.5): exact at the anchor, like that of
//! representation 2, from an affine bound of the unit in the flips.
//!
//! With the lines of representation 2 that are exact at the anchor, `relu(z) ≤ [z⁰]₊ + Σ p_i δ_i` (the capped bound)
//! and `relu(z) ≥ [z⁰]₊ + ω Σ g_i δ_i`, a unit of representation 3 satisfies `z ≤ z⁰ + Σ G_i δ_i`, where a flip changes
//! it by `G_i = Σ [w]₊ p_i − [−w]₊ ω g_i` (5.13). relu is monotone, so the capped bound holds with `G` for `g` (5.14).
//!
//! As at representation 2 the loss of a flip is not linear in its weights. Slopes that overstate it say which flips may
//! matter, and [`NestedLoss::excess`] what they overstate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bound::backward::Backward;
use crate::bound::hidden::Hidden;
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::capped::{Cap, change as capped_change};
use crate::number::rounding::{Enclosure, FLOOR, error_of};
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::network::Network;
use crate::problem::slice::{LocalMatrix, Slice};

/// The lines of a unit of representation 2 that are exact at the anchor.
#[derive(Clone, Copy, Debug)]
enum Lines {
    /// Never active.
    Zero,
    /// Always active, or without activation.
    Itself,
    /// The capped bound from above, `ω·z` from below.
    Capped { cap: Cap, value: f64 },
}

impl Lines {
    /// By how much the upper and the lower line change with a change `g` of the input.
    #[inline]
    fn changes(self, g: f64) -> (f64, f64) {
        match self {
            Lines::Zero => (0.0, 0.0),
            Lines::Itself => (g, g),
            Lines::Capped { cap, value } => (capped_change(cap.level, value, g), if value > 0.0 { g } else { 0.0 }),
        }
    }

    /// Slopes that the upper line does not exceed: for a rise, and for a fall.
    fn slopes(self) -> (f64, f64) {
        match self {
            Lines::Zero => (0.0, 0.0),
            Lines::Itself => (1.0, 1.0),
            Lines::Capped { cap, value } if value < 0.0 => (cap.slope(), 0.0),
            Lines::Capped { cap, .. } => (1.0, (1.0 - cap.slope()).next_down().max(0.0)),
        }
    }

    /// `ω`.
    fn omega(self) -> f64 {
        self.changes(1.0).1
    }
}

/// A unit of representation 3 at the anchor.
#[derive(Clone, Copy, Debug)]
pub struct NestedUnit {
    /// Its level, and the largest change towards zero.
    pub cap: Cap,
    /// Its unperturbed pre-activation, and how far the affine bound at the anchor may be above it.
    pub anchor: Enclosure,
}

impl NestedUnit {
    /// A unit whose affine bound at the anchor may exceed its unperturbed value by rounding errors alone.
    pub fn new(cap: Cap, unperturbed: Enclosure) -> NestedUnit {
        // Twice the error is enough (docs/math.md (5.16)).
        NestedUnit { cap, anchor: Enclosure { error: 4.0 * unperturbed.error, ..unperturbed } }
    }

    /// By how much the bound on the activation changes with a flip that changes the affine bound by `g`.
    #[inline]
    pub fn change(&self, g: f64) -> f64 {
        capped_change(self.cap.level, self.anchor.value, g)
    }
}

/// By place in representation 3, ascending: what a flip changes of the affine bound, where that is anything.
pub type FlipChanges = Arc<[(u32, f64)]>;

/// Changes that are kept: so many entries are a few dozen megabytes.
const KEPT: usize = 1 << 21;

/// The changes by flips that were asked for: they are the same in every bound and every branch of a target.
#[derive(Debug, Default)]
struct KnownChanges {
    flips: HashMap<Flip, FlipChanges>,
    entries: usize,
}

/// The lines of a slice at the unperturbed graph.
#[derive(Debug)]
pub struct Nested {
    known: Mutex<KnownChanges>,
    lines: Vec<Lines>,
    /// By place in representation 3.
    pub units: Vec<NestedUnit>,
    /// Units of a node of representation 2, and of representation 3.
    widths: (usize, usize),
    /// `A(2)` by columns.
    reaching: LocalMatrix,
    /// Weights of layer 2, term after term: positive and negative parts.
    weights: [Vec<f64>; 2],
}

impl Nested {
    /// The lines of a slice that reaches above representation 3, whose hidden units are loaded at the unperturbed
    /// graph.
    pub fn new(
        network: &Network,
        slice: &Slice,
        hidden: &Hidden,
        unperturbed: &Representation,
        bounds: &LayerBounds,
    ) -> Nested {
        let layer = &network.layers()[1];
        let lines = (0..hidden.count()).map(|at| match (hidden.lower[at], hidden.upper[at]) {
            _ if hidden.is_linear(at) => Lines::Itself,
            (lower, _) if lower >= 0.0 => Lines::Itself,
            (_, upper) if upper <= 0.0 => Lines::Zero,
            _ => Lines::Capped { cap: hidden.cap[at], value: hidden.value[at] },
        });
        let width = layer.outputs();
        let units = slice.nodes(3).iter().flat_map(|&node| {
            let node = node as usize;
            let caps = bounds.caps(node);
            (0..width).map(move |j| NestedUnit::new(caps[j], unperturbed.entry(node, j)))
        });
        let weight: Vec<f64> =
            (0..layer.inputs() * layer.passing.terms()).flat_map(|i| layer.weight.row(i).to_vec()).collect();
        let part = |sign: f64| weight.iter().map(|w| sign * (sign * w).max(0.0)).collect();
        let weights = [part(1.0), part(-1.0)];
        let mut reaching = LocalMatrix::default();
        reaching.transpose(slice.passing(2), slice.nodes(2).len());
        let (lines, units, widths) = (lines.collect(), units.collect(), (hidden.width, width));
        Nested { known: Mutex::default(), lines, units, widths, reaching, weights }
    }

    /// The weight with which a unit `i` of representation 2 enters a unit `j` of representation 3.
    fn weight(&self, entries: &[f64], i: usize, j: usize) -> f64 {
        let (inputs, outputs) = self.widths;
        let at = |k: usize| (k * inputs + i) * outputs + j;
        entries.iter().enumerate().map(|(k, a)| a * (self.weights[0][at(k)] + self.weights[1][at(k)])).sum()
    }

    /// What a flip changes of the affine bounds; `reached` are the nodes of representation 2 that it reaches, with the
    /// changes of their units.
    pub fn changes<'c>(&self, flip: Flip, reached: impl Iterator<Item = (usize, &'c [f64])>) -> FlipChanges {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changes) = known().flips.get(&flip) {
            return Arc::clone(changes);
        }
        let mut sums = vec![0.0; self.units.len()];
        reached.for_each(|(node, changes)| self.add_changes(node, changes, &mut sums));
        let changes = sums.iter().enumerate().filter(|change| *change.1 != 0.0).map(|(at, &g)| (at as u32, g));
        let changes: FlipChanges = changes.collect();
        let mut known = known();
        if known.entries + changes.len() > KEPT {
            *known = KnownChanges::default();
        }
        known.entries += changes.len();
        known.flips.insert(flip, Arc::clone(&changes));
        changes
    }

    /// Adds what changes `g` of the units of a node of representation 2 do to the affine bounds of representation 3.
    fn add_changes(&self, node: usize, changes: &[f64], sums: &mut [f64]) {
        let (inputs, outputs) = self.widths;
        let lines: Vec<(f64, f64)> =
            changes.iter().enumerate().map(|(i, &g)| self.lines[node * inputs + i].changes(g)).collect();
        // By term, along positive and along negative entries.
        let mut sent: Vec<Vec<f64>> = Vec::new();
        for (m, entries) in self.reaching.row(node) {
            let sums = &mut sums[m * outputs..][..outputs];
            let mut terms = entries.iter().enumerate().filter(|entry| *entry.1 != 0.0);
            if let (Some((k, &a)), None) = (terms.next(), terms.next()) {
                // Through a negative entry positive weights count as negative ones.
                let [positive, negative] = if a >= 0.0 { [0, 1] } else { [1, 0] };
                sent.resize(2 * entries.len(), Vec::new());
                let sent = &mut sent[2 * k + positive];
                if sent.is_empty() {
                    sent.resize(outputs, 0.0);
                    for (i, &(up, low)) in lines.iter().enumerate().filter(|(_, line)| **line != (0.0, 0.0)) {
                        let row = (k * inputs + i) * outputs..(k * inputs + i + 1) * outputs;
                        let parts = self.weights[positive][row.clone()].iter().zip(&self.weights[negative][row]);
                        sent.iter_mut().zip(parts).for_each(|(sum, (p, n))| *sum += p * up + n * low);
                    }
                }
                sums.iter_mut().zip(&*sent).for_each(|(sum, sent)| *sum += a * sent);
                continue;
            }
            for (i, &(up, low)) in lines.iter().enumerate().filter(|(_, line)| **line != (0.0, 0.0)) {
                for (j, sum) in sums.iter_mut().enumerate() {
                    let w = self.weight(entries, i, j);
                    *sum += w * if w > 0.0 { up } else { low };
                }
            }
        }
    }

    /// The loss by the bends of a backward pass, if it has any.
    pub fn loss(self: &Arc<Nested>, backward: &Backward) -> Option<NestedLoss> {
        let (inputs, outputs) = self.widths;
        if backward.bends().is_empty() {
            return None;
        }
        let mut loss = NestedLoss {
            nested: Arc::clone(self),
            bends: backward.bends().to_vec(),
            up: vec![0.0; self.lines.len()],
            down: vec![0.0; self.lines.len()],
            size: vec![0.0; self.lines.len()],
            terms: self.lines.len() + self.units.len() + 64,
        };
        let weights = backward.bends();
        for node in 0..self.reaching.rows() {
            for (m, entries) in self.reaching.row(node) {
                for (j, &c) in weights[m * outputs..][..outputs].iter().enumerate().filter(|bend| *bend.1 > 0.0) {
                    let unit = &self.units[m * outputs + j];
                    let slope = unit.cap.slope();
                    // The change of the bound is at most `linear·G + positive·[G]₊`.
                    let linear = if unit.anchor.value < 0.0 { 0.0 } else { c * (1.0 - slope) };
                    let positive = c * slope;
                    for i in 0..inputs {
                        let at = node * inputs + i;
                        let factors = || entries.iter().enumerate().map(|(k, &a)| (a, self.of_term(k, i, j)));
                        // What is 0 before any product loses nothing; a product that underflows to 0 has an error.
                        if matches!(self.lines[at], Lines::Zero) || factors().all(|(a, w)| a == 0.0 || w == 0.0) {
                            continue;
                        }
                        let w = self.weight(entries, i, j);
                        let (rise, fall) = self.lines[at].slopes();
                        if w > 0.0 {
                            loss.up[at] += (linear + positive) * w * rise;
                            loss.down[at] -= linear * w * fall;
                        } else {
                            let w = w * self.lines[at].omega();
                            loss.up[at] += linear * w;
                            loss.down[at] -= (linear + positive) * w;
                        }
                        let magnitude: f64 = factors().map(|(a, w)| (a * w).abs()).sum();
                        loss.size[at] += (c * (magnitude + FLOOR)).max(f64::MIN_POSITIVE);
                    }
                }
            }
        }
        Some(loss)
    }

    fn of_term(&self, k: usize, i: usize, j: usize) -> f64 {
        let at = (k * self.widths.0 + i) * self.widths.1 + j;
        self.weights[0][at] + self.weights[1][at]
    }
}

/// What flips lose by the capped bounds of representation 3.
#[derive(Debug)]
pub struct NestedLoss {
    nested: Arc<Nested>,
    /// Weights by place in representation 3, not negative.
    bends: Vec<f64>,
    /// By place in representation 2: slopes of the loss for a rise and for a fall that overstate it.
    up: Vec<f64>,
    down: Vec<f64>,
    /// The magnitude of what was summed for them.
    size: Vec<f64>,
    terms: usize,
}

impl NestedLoss {
    /// The overstated slopes of a unit of representation 2: rise, fall, and their error; none where no bend depends on
    /// it.
    pub fn slopes(&self, at: usize) -> Option<(f64, f64, f64)> {
        let error = || error_of(self.terms, self.size[at]);
        (self.size[at] > 0.0).then(|| (-self.up[at], self.down[at], error()))
    }

    /// The base of each bend: its weight, and the bound of the activation at the anchor.
    pub fn bases(&self) -> impl Iterator<Item = (f64, Enclosure)> + '_ {
        self.bends.iter().copied().enumerate().filter(|bend| bend.1 > 0.0).map(|(at, c)| {
            let Enclosure { value, error } = self.nested.units[at].anchor;
            // A level above zero leaves room for all rounding errors.
            let exact = value < 0.0 && self.nested.units[at].cap.level > 0.0;
            let base = Enclosure { value: value.max(0.0), error: if exact { 0.0 } else { error } };
            (c, base)
        })
    }

    /// What the slopes overstate of a flip of the slice's node `n` by weights `row`: the excess, the size of what was
    /// summed for it, and the number of terms.
    pub fn excess(&self, slice: &Slice, n: usize, flip: Flip, sign: f64, row: &[f64]) -> (f64, f64, usize) {
        let (inputs, _) = self.nested.widths;
        let mut changes = Vec::new();
        let (mut overstated, mut size) = (0.0, 0.0);
        for (_, m, entries) in slice.reaching(n) {
            for i in 0..inputs {
                let terms = entries.iter().zip(row[i..].iter().step_by(inputs));
                let (g, magnitude) =
                    terms.fold((0.0, 0.0), |(g, magnitude), (a, w)| (g + sign * a * w, magnitude + (a * w).abs()));
                let at = m * inputs + i;
                overstated += if g > 0.0 { self.up[at] * g } else { -self.down[at] * g };
                size += self.size[at] * (magnitude + FLOOR);
                changes.push(g);
            }
        }
        let reached = slice.reaching(n).map(|(_, m, _)| m).zip(changes.chunks(inputs.max(1)));
        // A change of nothing takes nothing.
        let taken = |&(at, g): &(u32, f64)| self.bends[at as usize] * self.nested.units[at as usize].change(g);
        let lost: f64 = self.nested.changes(flip, reached).iter().map(taken).sum();
        // Every product is counted in the slopes and in the loss.
        (overstated - lost, 4.0 * size, self.terms)
    }
}
