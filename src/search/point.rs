//! A point of the relaxation, evaluated rigorously: whatever a master suggests, activations between their rows give a
//! margin that the relaxation's optimum does not exceed.

use crate::bound::layer_bounds::LayerBounds;
use crate::bound::mixture::add_changes;
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::{Account, FLOOR, error_of};
use crate::problem::budget::Decided;
use crate::problem::evaluator::Evaluator;
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;
use crate::problem::places::Places;
use crate::problem::slice::Slice;

use super::layered::master::LayeredMaster;
use super::master::Suggestion;

/// A point that leaves `[R, S]` somewhere, by a rounding or by a solver's tolerance, is moved by these shares towards
/// the middle of some points of the true network, which all lie inside.
const RETREATS: [f64; 5] = [0.0, 1e-13, 1e-11, 1e-9, 1e-7];

/// An activation that the master wants this close to that of the true unit is that of the true unit.
const SAME: f64 = 1e-13;

/// A number with its error, and whether it may differ from that of the unperturbed network.
#[derive(Clone, Copy)]
struct Moved {
    value: f64,
    error: f64,
    moved: bool,
}

/// What shares of flips do to every unit: to its input, and to its capped bound.
pub(super) fn point(prepared: &Prepared, flips: &[(Flip, f64)], workspace: &Workspace) -> (Vec<f64>, Vec<f64>) {
    let Workspace { hidden, slice, .. } = workspace;
    let (mut change, mut capped) = (vec![0.0; hidden.count()], vec![0.0; hidden.count()]);
    let shares = flips.iter().copied();
    add_changes(prepared.graph(), prepared.network(), slice, hidden, shares, &mut change, &mut capped);
    (change, capped)
}

/// The same for what a master suggests in a branch: shares of flips, or where rows are normalised of moves.
pub(super) fn suggested_point(
    prepared: &Prepared,
    suggestion: &Suggestion,
    decided: &Decided,
    workspace: &Workspace,
) -> (Vec<f64>, Vec<f64>) {
    if suggestion.moves.is_empty() {
        return point(prepared, &suggestion.flips, workspace);
    }
    let Workspace { hidden, slice, .. } = workspace;
    let (mut change, mut capped) = (vec![0.0; hidden.count()], vec![0.0; hidden.count()]);
    for (column, share) in suggestion.moves.iter().filter(|made| made.1 > 0.0) {
        let layer = &prepared.network().layers()[0];
        for (m, gains) in column.reached(prepared.graph(), layer, slice, &decided.flipped) {
            for (j, &g) in gains.iter().enumerate() {
                let at = m * gains.len() + j;
                change[at] += share * g.total();
                capped[at] += share * hidden.capped_change(at, g);
            }
        }
    }
    (change, capped)
}

/// Activation bounds of the nodes of a slice, by local number.
pub(super) fn bounds_in(prepared: &Prepared, slice: &Slice) -> Vec<LayerBounds> {
    let layers = prepared.activation_bounds().iter().enumerate().map(|(above, whole)| {
        let rows = |side: fn(&LayerBounds, usize) -> &[f64]| {
            slice.nodes(above + 2).iter().flat_map(|&node| side(whole, node as usize)).copied().collect()
        };
        let (lower, upper) = (rows(LayerBounds::lower), rows(LayerBounds::upper));
        // What a linear unit may be is not asked here: it passes on what it gets.
        let linear = whole.linear.clone();
        LayerBounds {
            width: whole.width,
            lower,
            upper,
            caps: Vec::new(),
            linear,
            interval: Vec::new(),
            rows: Places::Own,
        }
    });
    layers.collect()
}

/// The margin at a point of the paper's relaxation: shares of flips within the budgets, and activations as near to the
/// master's as their rows allow, layer by layer (docs/math.md §6.3). Rounded up; infinite if no such point is found.
pub(super) fn feasible_margin(
    prepared: &Prepared,
    objective: Objective,
    shares: &[(Flip, f64)],
    master: &LayeredMaster,
    bounds: &[LayerBounds],
    workspace: &Workspace,
) -> f64 {
    let mut centre = None;
    for retreat in RETREATS {
        let stay = 1.0 - retreat;
        let mut shares: Vec<(Flip, f64)> = shares.iter().filter(|share| share.1 > 0.0).copied().collect();
        if retreat > 0.0 {
            let part = 1.0 / (shares.len() + 1) as f64;
            shares.iter_mut().for_each(|(_, share)| *share = stay * *share + retreat * part);
            centre.get_or_insert_with(|| middle(prepared, &shares, workspace));
        }
        let wanted = |l: usize, at: usize| {
            stay * master.active(l)[at]
                + centre.as_ref().map_or(0.0, |centre: &Vec<Vec<f64>>| retreat * centre[l - 2][at])
        };
        let found = margin_between(prepared, objective, &shares, wanted, bounds, workspace);
        if let Some(margin) = found {
            return margin;
        }
    }
    // The unperturbed network is a point of the relaxation too.
    margin_between(prepared, objective, &[], |_, _| 0.0, bounds, workspace).unwrap_or(f64::INFINITY)
}

/// Activations halfway between the unperturbed network and those where each of the flips is made alone.
fn middle(prepared: &Prepared, flips: &[(Flip, f64)], workspace: &Workspace) -> Vec<Vec<f64>> {
    let slice = &workspace.slice;
    let mut evaluator = Evaluator::default();
    let mut middle: Vec<Vec<f64>> = Vec::new();
    let part = 1.0 / (flips.len() + 1) as f64;
    for flip in flips.iter().map(|flip| Some(flip.0)).chain([None]) {
        drop(evaluator.logits(prepared.problem(), prepared.unperturbed(), slice, flip.as_slice()));
        for l in 2..slice.top() {
            let inputs = evaluator.preactivations(l);
            if middle.len() < l - 1 {
                middle.push(vec![0.0; inputs.len()]);
            }
            middle[l - 2].iter_mut().zip(inputs).for_each(|(sum, z)| *sum += part * z.max(0.0));
        }
    }
    middle
}

/// The same for activations near `wanted`, a function of a unit's representation and place.
fn margin_between(
    prepared: &Prepared,
    objective: Objective,
    shares: &[(Flip, f64)],
    wanted: impl Fn(usize, usize) -> f64,
    bounds: &[LayerBounds],
    workspace: &Workspace,
) -> Option<f64> {
    let Workspace { slice, hidden, .. } = workspace;
    let (change, _) = point(prepared, shares, workspace);
    let mut size = vec![0.0; hidden.count()];
    let layer = &prepared.network().layers()[0];
    let mut sizes = Vec::new();
    for &(flip, share) in shares {
        for (_, m, entries) in slice.rows_of(flip) {
            layer.change_sizes(entries, flip.attribute as usize, &mut sizes);
            for (size, change) in size[m * hidden.width..].iter_mut().zip(&sizes) {
                *size += share * change;
            }
        }
    }
    let mut inputs: Vec<Moved> = (0..hidden.count())
        .map(|at| {
            let error = hidden.error[at]
                + error_of(layer.passing.terms() * shares.len() + 4, hidden.value[at].abs() + size[at]);
            Moved { value: hidden.value[at] + change[at], error, moved: size[at] > 0.0 }
        })
        .collect();
    for l in 2..slice.top() {
        let bounds = &bounds[l - 2];
        let mut active = Vec::with_capacity(inputs.len());
        for (at, &input) in inputs.iter().enumerate() {
            let Moved { value: z, error, moved } = input;
            let (r, s) = (bounds.lower[at], bounds.upper[at]);
            if s <= 0.0 {
                active.push(Moved { value: 0.0, error: 0.0, moved: false });
                continue;
            }
            if r >= 0.0 {
                active.push(input);
                continue;
            }
            // No admissible point leaves [R, S] at representation 2, and the unperturbed network nowhere.
            if l > 2 && moved && !(z - error >= r && z + error <= s) {
                return None;
            }
            let low = z.max(0.0);
            let high = (s * (z - r) / (s - r)).max(low);
            let wanted = wanted(l, at).clamp(low, high);
            active.push(if wanted - low <= SAME * (1.0 + low) {
                Moved { value: low, error, moved }
            } else {
                // Both sides move by at most as much as z does, and so does what lies between.
                Moved { value: wanted, error: error + error_of(8, z.abs() + s - r), moved: true }
            });
        }
        inputs = step_up(prepared, slice, l, &active);
    }
    let mut margin = Account::default();
    for &(class, c) in objective {
        margin.add(c * inputs[class].value);
        margin.allow(c.abs() * inputs[class].error);
    }
    Some(margin.close().upper()).filter(|margin| !margin.is_nan())
}

/// Inputs of representation `l + 1` with their errors, from activations of representation `l` with theirs.
fn step_up(prepared: &Prepared, slice: &Slice, l: usize, active: &[Moved]) -> Vec<Moved> {
    let layer = &prepared.network().layers()[l - 1];
    let (width, count) = (layer.inputs(), layer.passing.terms());
    let mut next = Vec::with_capacity(slice.nodes(l + 1).len() * layer.outputs());
    for (m, &node) in slice.nodes(l + 1).iter().enumerate() {
        for (j, &bias) in layer.bias.row(node as usize).iter().enumerate() {
            let (mut sum, mut magnitude, mut inherited, mut terms) = (bias, bias.abs(), 0.0, width + 2);
            let mut moved = false;
            for (n, entries) in slice.passing(l).row(m) {
                for (k, &a) in entries.iter().enumerate() {
                    let (mut sent, mut size, mut error) = (0.0, FLOOR, 0.0);
                    for (i, h) in active[n * width..][..width].iter().enumerate() {
                        let w = layer.weight.get(k * width + i, j);
                        sent += h.value * w;
                        size += (h.value * w).abs();
                        error += h.error * w.abs() + f64::MIN_POSITIVE;
                        moved |= h.moved && w != 0.0 && a != 0.0;
                    }
                    sum += a * sent;
                    magnitude += a.abs() * size;
                    inherited += a.abs() * error;
                }
                terms += count;
            }
            // The inherited part is a short sum of non-negative terms: a relative 1e-9 covers its own rounding.
            let error = inherited * (1.0 + 1e-9) + error_of(terms, magnitude);
            next.push(Moved { value: sum, error, moved });
        }
    }
    next
}
