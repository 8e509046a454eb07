//! The composition of a bound: what its relaxed hidden units take away from the true margin.
//!
//! Each bound is taken apart at its own worst flips `δ*`: the true network has some margin there, and every hidden unit
//! whose relaxed value lies below its true one takes its share away. What is left is the bound (docs/math.md (14.4)):
//!
//! ```text
//! bound = margin(δ*) − Σ units (a·relu(z) − relaxed value) − what the layers above the second lose
//! ```

use serde::Serialize;

use crate::bound::line::chord::line;
use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::problem::flip::Flip;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

/// Units named one by one.
const COSTLIEST: usize = 10;

/// A hidden unit and what its relaxation costs the bound.
#[derive(Clone, Debug, Serialize)]
pub struct UnitCost {
    /// The node that it belongs to.
    pub node: u32,
    /// Which unit of representation 2.
    pub unit: usize,
    /// Its coefficient in the margin.
    pub coefficient: f64,
    /// Its value without an attack.
    pub unperturbed: f64,
    /// `R`.
    pub lower: f64,
    /// `S`.
    pub upper: f64,
    /// By how much the bound is lower because of it; 0 where the relaxation is exact.
    pub cost: f64,
}

/// What a bound is made of.
#[derive(Clone, Debug, Serialize)]
pub struct Composition {
    /// The name of the bound, as it is shown.
    pub bound: &'static str,
    /// A lower bound on the margin, rounding included.
    pub value: f64,
    /// The number of flips that attain it.
    pub flips: usize,
    /// The margin of the true network under these flips.
    pub true_margin: f64,
    /// Units of representation 2 that may be active or not.
    pub unstable: usize,
    /// All units of representation 2.
    pub units: usize,
    /// What all of them cost together.
    pub units_cost: f64,
    /// What is lost in the layers above.
    pub above_cost: f64,
    /// The most expensive ones.
    pub costliest: Vec<UnitCost>,
}

/// Takes one bound apart.
pub(super) fn compose(
    certifier: &Certifier,
    node: usize,
    reference: usize,
    class: usize,
    name: &'static str,
    relaxation: Relaxation,
) -> Option<Composition> {
    let bounds = certifier.activation_bounds().first()?;
    let unperturbed = &certifier.unperturbed()[0];
    let width = unperturbed.width;
    let mut workspace = Workspace::default();
    let value = certifier.prepared().pair_bound(node, reference, class, relaxation, &mut workspace).lower();
    let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
    let logits: Vec<f64> = certifier.prepared().logits(&flips, &mut workspace).map(|logit| logit.value).collect();
    let Workspace { slice, evaluator, backward, relaxed, .. } = &mut workspace;
    let true_margin = logits[reference] - logits[class];
    let (rise, fall) = changes(certifier, slice, &flips);
    let (coefficients, _) = backward.coefficients();
    let mut units: Vec<UnitCost> = Vec::new();
    for (m, &owner) in slice.nodes(2).iter().enumerate() {
        let (z0, r, s) = (unperturbed.row(owner as usize), bounds.lower(owner as usize), bounds.upper(owner as usize));
        for j in 0..width {
            let at = m * width + j;
            let (a, z) = (coefficients[at], evaluator.preactivations(2)[at]);
            let below = match relaxation {
                Relaxation::Paper => {
                    let (slope, kappa) = line(a, 0.0, r[j], s[j]);
                    slope * z + kappa
                }
                Relaxation::Anchored if s[j] <= 0.0 => 0.0,
                Relaxation::Anchored => {
                    let (centre, radius) = (relaxed.centre[at], relaxed.radius[at]);
                    a * z0[j].max(0.0) + (centre - radius) * rise[at] - (centre + radius) * fall[at]
                }
            };
            units.push(UnitCost {
                node: owner,
                unit: j,
                coefficient: a,
                unperturbed: z0[j],
                lower: r[j],
                upper: s[j],
                cost: a * z.max(0.0) - below,
            });
        }
    }
    let units_cost: f64 = units.iter().map(|unit| unit.cost).sum();
    let unstable = units.iter().filter(|unit| unit.lower < 0.0 && unit.upper > 0.0).count();
    let count = units.len();
    units.sort_by(|x, y| y.cost.total_cmp(&x.cost));
    units.retain(|unit| unit.cost > 0.0);
    units.truncate(COSTLIEST);
    let above_cost = true_margin - value - units_cost;
    Some(Composition {
        bound: name,
        value,
        flips: flips.len(),
        true_margin,
        unstable,
        units: count,
        units_cost,
        above_cost,
        costliest: units,
    })
}

/// Rise and fall of every unit of representation 2 under the flips.
fn changes(certifier: &Certifier, slice: &Slice, flips: &[Flip]) -> (Vec<f64>, Vec<f64>) {
    let layer = &certifier.network().layers()[0];
    let width = layer.outputs();
    let mut rise = vec![0.0; slice.nodes(2).len() * width];
    let mut fall = rise.clone();
    for column in Move::all(certifier.graph(), flips) {
        for (m, gains) in column.reached(certifier.graph(), layer, slice, &[]) {
            for (j, &change) in gains.iter().enumerate() {
                rise[m * width + j] += change.total().max(0.0);
                fall[m * width + j] -= change.total().min(0.0);
            }
        }
    }
    (rise, fall)
}
