//! The leaf of a proof: the multipliers of one bound, rounded to a grid on which the bound stays large enough.

use std::sync::Arc;

use gcnproof_check::format::{self, Leaf, Multiplier, UnitPrices, numerator};

use crate::bound::backward::{AboveSecond, Located, Sign, UnitPlace};
use crate::bound::hidden::Assumption;
use crate::bound::line::envelope::EnvelopePrices;
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::problem::budget::Decided;
use crate::problem::objective::Objective;

use super::is_doubtful;

/// Grids to try, the coarsest first: fewer digits, and more multipliers that are what they are by default. The last is
/// the grid of the mixture itself.
const EXPONENTS: [i32; 4] = [-6, -12, -20, -30];

/// The finest grid of shares of envelopes: that of the mixture.
const SHARES: i32 = -20;

/// The leaf of a bound with these multipliers, at the hidden units of the workspace. The bound exceeds `enough`, and is
/// to go on doing so. Nothing that a search goes on with is changed.
pub(crate) fn leaf(
    prepared: &Prepared,
    objective: Objective,
    enough: f64,
    decided: Option<&Decided>,
    weights: &[f64],
    omega: &[Vec<f64>],
    workspace: &mut Workspace,
) -> Leaf {
    let selection = std::mem::take(&mut workspace.selection);
    let envelope = workspace.hidden.envelope.clone();
    let free = Decided::default();
    if prepared.network().depth() <= 3 {
        // Nothing is assumed above the first hidden layer; the buffers may have served a deeper network.
        workspace.multipliers.signs.clear();
    }
    let signs = workspace.multipliers.signs.clone();
    let chords = workspace.multipliers.chords.clone();
    let mut found = Leaf::default();
    for exponent in EXPONENTS {
        let whole = |x: &f64| on_grid(x.clamp(0.0, 1.0), exponent);
        let omega: Vec<Vec<f64>> = omega.iter().map(|layer| layer.iter().map(whole).collect()).collect();
        let weights: Vec<f64> = weights
            .iter()
            .zip(&workspace.hidden.assumption)
            .map(|(w, assumption)| if *assumption == Assumption::Free { whole(w) } else { on_grid(*w, exponent) })
            .collect();
        let prices = envelope.as_ref().map(|(prices, left)| {
            let rounded = prices.rounded(exponent.max(SHARES), exponent);
            workspace.hidden.envelope = Some((Arc::new(rounded.0), left.clone()));
            rounded.1
        });
        let grid = |sign: &Sign| Sign { beta: on_grid(sign.beta.max(0.0), exponent), ..*sign };
        let above = Above { signs: signs.iter().map(grid).collect(), chords: chords.iter().map(whole).collect() };
        pass(prepared, objective, decided.is_some(), &omega, above, workspace);
        prepared.mix(&weights, workspace);
        let bound = prepared.worst(workspace, decided.unwrap_or(&free));
        let doubtful = is_doubtful(bound, enough);
        if !doubtful || exponent == EXPONENTS[EXPONENTS.len() - 1] {
            let mut leaf = write(prepared, exponent, &weights, decided.is_some(), &omega, workspace);
            leaf.envelope = prices.and_then(|prices| write_envelope(exponent, prices, workspace));
            found = leaf;
            break;
        }
    }
    workspace.hidden.envelope = envelope;
    pass(prepared, objective, decided.is_some(), omega, Above { signs, chords }, workspace);
    workspace.selection = selection;
    found
}

/// The leaf of a relaxation at its default multipliers, for the bound in the workspace. Where rounding hides on which
/// side of zero a unit is, the line that was taken is stated, because the checker might take the other.
pub(crate) fn default_leaf(prepared: &Prepared, dual: Option<u32>, workspace: &Workspace) -> Leaf {
    let mut leaf = Leaf { dual, ..Leaf::default() };
    if dual == Some(2) || prepared.network().depth() < 3 {
        return leaf;
    }
    let (coefficients, errors) = workspace.backward.coefficients();
    let width = prepared.network().width(2);
    for (m, &node) in workspace.slice.nodes(2).iter().enumerate() {
        for unit in 0..width {
            let (a, error) = (coefficients[m * width + unit], errors[m * width + unit]);
            let z = prepared.unperturbed()[0].entry(node as usize, unit);
            let linear = prepared.network().layers()[0].is_linear(unit);
            if !linear && a + error > 0.0 && z.value.abs() <= z.error {
                let weight = if z.value > 0.0 { 1.0 } else { 0.0 };
                leaf.weight.push((2, node, unit as u32, numerator(weight, leaf.exponent)));
            }
        }
    }
    leaf.weight.sort_unstable();
    leaf
}

/// What branches assume of units above representation 2, and shares of chords.
struct Above {
    signs: Vec<Sign>,
    chords: Vec<f64>,
}

/// The backward pass of a deep network at `Ω`; with one hidden layer there is nothing to choose.
fn pass(
    prepared: &Prepared,
    objective: Objective,
    in_branch: bool,
    omega: &[Vec<f64>],
    Above { signs, chords }: Above,
    workspace: &mut Workspace,
) {
    if prepared.network().depth() > 3 {
        workspace.multipliers.signs = signs;
        workspace.multipliers.chords = chords;
        let Workspace { slice, backward, local_bounds, multipliers, .. } = workspace;
        let bounds =
            if in_branch { Located::Slice(local_bounds) } else { Located::Graph(prepared.activation_bounds()) };
        let above = AboveSecond { omega, signs: &multipliers.signs, chords: &multipliers.chords };
        backward.run_signed(prepared.network(), slice, bounds, objective, above);
    }
}

/// What differs from the format's defaults.
fn write(
    prepared: &Prepared,
    exponent: i32,
    weights: &[f64],
    in_branch: bool,
    omega: &[Vec<f64>],
    workspace: &Workspace,
) -> Leaf {
    let Workspace { slice, hidden, backward, local_bounds, .. } = workspace;
    let (coefficients, errors) = backward.coefficients();
    let chords = &workspace.multipliers.chords;
    // Levels are those of single flips, which a normalised row has not.
    let cap = !prepared.graph().normalisation().is_some();
    let mut leaf = Leaf { exponent, cap, nested: !chords.is_empty(), ..Leaf::default() };
    for (at, &w) in weights.iter().enumerate() {
        let node = slice.nodes(2)[at / hidden.width];
        let multiplier: Multiplier = (2, node, (at % hidden.width) as u32, numerator(w, exponent));
        if hidden.assumption[at] != Assumption::Free {
            if w > 0.0 {
                leaf.beta.push(multiplier);
            }
            continue;
        }
        if hidden.lower[at] >= 0.0 || hidden.upper[at] <= 0.0 {
            continue;
        }
        let (a, z) = (coefficients[at], hidden.value[at]);
        // Where rounding hides a sign the checker may see another default.
        let clear = a.abs() > errors[at] && z.abs() > hidden.error[at];
        let default = if a > 0.0 && z > 0.0 { 1.0 } else { 0.0 };
        if !clear || w != default {
            leaf.weight.push(multiplier);
        }
    }
    let bounds = if in_branch { Located::Slice(local_bounds) } else { Located::Graph(prepared.activation_bounds()) };
    for (above, omega) in omega.iter().enumerate() {
        let l = above + 3;
        for (n, &node) in slice.nodes(l).iter().enumerate() {
            let (lower, upper) = bounds.rows(slice, l, n);
            for (j, (&r, &s)) in lower.iter().zip(upper).enumerate().filter(|(_, (r, s))| **r < 0.0 && **s > 0.0) {
                let at = n * lower.len() + j;
                if l == 3 && leaf.nested && backward.third()[at] < 0.0 {
                    // By default the capped bound alone.
                    if chords[at] > 0.0 {
                        leaf.weight.push((l as u32, node, j as u32, numerator(chords[at], exponent)));
                    }
                    continue;
                }
                let w = omega[at];
                let clear = (r + s).abs() > 1e-6 * (s - r);
                if !clear || w != f64::from(u8::from(r + s > 0.0)) {
                    leaf.weight.push((l as u32, node, j as u32, numerator(w, exponent)));
                }
            }
        }
    }
    for sign in workspace.multipliers.signs.iter().filter(|sign| sign.beta > 0.0) {
        let UnitPlace { l, at } = sign.place;
        let width = prepared.network().width(l);
        let node = slice.nodes(l)[at / width];
        leaf.beta.push((l as u32, node, (at % width) as u32, numerator(sign.beta, exponent)));
    }
    leaf.weight.sort_unstable();
    leaf.beta.sort_unstable();
    leaf
}

/// The envelopes that the last bound used, with `share` and `prices` the exponents of their grids.
fn write_envelope(share: i32, exponent: i32, workspace: &Workspace) -> Option<Box<format::Envelope>> {
    let (known, envelope_slopes) = workspace.relaxed.envelope.as_ref()?;
    let (width, nodes) = (workspace.hidden.width, workspace.slice.nodes(2));
    let used = || (0..envelope_slopes.len()).filter(|&at| envelope_slopes[at].weight > 0.0);
    // Only what has a price is listed, in ascending order.
    let priced = |list: fn(&EnvelopePrices) -> &[f64], count: usize| -> Vec<usize> {
        (0..count)
            .filter(|&k| used().any(|at| list(&known.units[at]).get(k).is_some_and(|price| *price != 0.0)))
            .collect()
    };
    let mut by_node = priced(|prices| &prices.node, known.nodes.len());
    by_node.sort_by_key(|&k| known.nodes[k]);
    let mut by_flip = priced(|prices| &prices.single, known.flips.len());
    by_flip.sort_by_key(|&k| known.flips[k]);
    let whole = |price: f64| (price * 2f64.powi(-exponent)) as i64;
    let row = |prices: &[f64], order: &[usize]| {
        let mut row: Vec<i64> = order.iter().map(|&k| prices.get(k).map_or(0, |price| whole(*price))).collect();
        row.truncate(row.iter().rposition(|price| *price != 0).map_or(0, |last| last + 1));
        row
    };
    let mut units: Vec<UnitPrices> = used()
        .map(|at| {
            let prices = &known.units[at];
            let (nodes_priced, flips_priced) = (row(&prices.node, &by_node), row(&prices.single, &by_flip));
            let id = (nodes[at / width], (at % width) as u32);
            UnitPrices(id.0, id.1, numerator(prices.share, share), whole(prices.every), nodes_priced, flips_priced)
        })
        .collect();
    units.sort_unstable_by_key(|unit| (unit.0, unit.1));
    let flips = by_flip.iter().map(|&k| known.flips[k].into()).collect();
    Some(Box::new(format::Envelope {
        exponent,
        nodes: by_node.iter().map(|&k| known.nodes[k]).collect(),
        flips,
        units,
    }))
}

/// The nearest multiple of `2^exponent` that the format can state; 0 for what is not a number.
fn on_grid(x: f64, exponent: i32) -> f64 {
    numerator(x, exponent) as f64 * 2f64.powi(exponent)
}
