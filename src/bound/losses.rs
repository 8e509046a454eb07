//! What a selection of flips chooses among: the flips that a branch leaves open, and what a relaxed margin loses by
//! them.

use std::sync::Arc;

use crate::bound::attributes::Attributes;
use crate::bound::line::capped::CapCorrection;
use crate::bound::line::envelope::EnvelopeCorrection;
use crate::bound::nested::NestedLoss;
use crate::bound::row_sums::RowSums;
use crate::number::rounding::{FLOOR, error_of};
use crate::problem::budget::{Budget, Decided};
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::layer::Layer;
use crate::problem::slice::Slice;

/// A flip and what it costs the margin.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// By how much the (relaxed) margin falls.
    pub loss: f64,
    /// Which attribute of which node.
    pub flip: Flip,
}

/// The flips that may still be made: those that the budget permits and that no branch has fixed.
#[derive(Clone, Copy)]
pub struct SearchSpace<'a> {
    /// The unperturbed graph: it says whether a flip adds or removes.
    pub graph: &'a Graph,
    /// The first layer of the network.
    pub layer: &'a Layer,
    /// The budget before any flip is fixed.
    pub budget: &'a Budget,
    /// Flips that a branch has made or ruled out; the first use up budget.
    pub decided: &'a Decided,
    /// The rows of `W(1)` in falling order of their norm; frozen attributes are not among them.
    pub attributes: &'a Attributes,
    /// What normalised rows send without any flip, where that is known.
    pub row_sums: Option<&'a RowSums>,
}

/// The linear change of a relaxed margin with each attribute of each node of the slice, row by row: adding an attribute
/// with weights `w` loses `radius·|w| − centre·w`, removing it `radius·|w| + centre·w`.
#[derive(Debug, Default)]
pub struct Slopes {
    /// Middle of the slopes for rising and falling units.
    pub centre: Vec<f64>,
    /// Half their difference; empty if they are the same (the plain dual).
    pub radius: Vec<f64>,
    /// Half the difference of each unit's slopes, where several terms may reach it; else empty.
    pub unit_radius: Vec<f64>,
    /// What the slopes overstate, by unit of representation 2; empty if nothing.
    pub cap_corrections: Vec<CapCorrection>,
    /// What the slopes overstate of envelopes, if there are any.
    pub envelope_correction: Option<EnvelopeCorrection>,
    /// What flips lose by bends of representation 3, which the slopes overstate.
    pub nested: Option<Arc<NestedLoss>>,
}

impl Slopes {
    /// The loss of a flip of the slice's node `n` by weights `row`, corrected by what the slopes overstate; rounded up
    /// (docs/math.md (5.9)).
    pub fn corrected(&self, loss: f64, slice: &Slice, n: usize, flip: Flip, sign: f64, row: &[f64]) -> f64 {
        let plain = self.cap_corrections.is_empty() && self.envelope_correction.is_none() && self.nested.is_none();
        if plain && self.unit_radius.is_empty() {
            return loss;
        }
        let (mut excess, mut size, mut terms) = (0.0, 0.0, 0);
        if let Some(envelope_correction) = &self.envelope_correction {
            (excess, size) = envelope_correction.of(slice, n, flip, sign, row);
            terms = envelope_correction.terms();
        }
        if !self.unit_radius.is_empty() {
            let (more, magnitude, count) = self.corrected_terms(slice, n, sign, row);
            (excess, size, terms) = (excess + more, size + magnitude, terms + count);
        } else if !self.cap_corrections.is_empty() {
            for (_, m, a) in slice.reaching(n) {
                let a = sign * a[0];
                for (cap_correction, w) in self.cap_corrections[m * row.len()..][..row.len()].iter().zip(row) {
                    let (more, magnitude) = cap_correction.excess(a * w);
                    excess += more;
                    size += magnitude;
                }
                terms += row.len();
            }
        }
        if let Some(nested) = &self.nested {
            let (more, magnitude, count) = nested.excess(slice, n, flip, sign, row);
            (excess, size, terms) = (excess + more, size + magnitude, terms + count);
        }
        let surely = excess - error_of(terms + 8, size);
        // A comparison with NaN is false: nothing is corrected.
        if surely > 0.0 { (loss - surely).next_up() } else { loss }
    }
}

impl Slopes {
    /// What the slopes overstate of a flip that reaches units through several terms: at caps, and where terms meet and
    /// partly cancel, because each was counted for itself. Excess, the size of what was summed, and the number of
    /// terms.
    fn corrected_terms(&self, slice: &Slice, n: usize, sign: f64, row: &[f64]) -> (f64, f64, usize) {
        let (mut excess, mut size, mut terms) = (0.0, 0.0, 0);
        for (_, m, entries) in slice.reaching(n) {
            let width = row.len() / entries.len();
            for j in 0..width {
                let at = m * width + j;
                let changes = entries.iter().zip(row[j..].iter().step_by(width)).map(|(a, w)| sign * a * w);
                let (change, magnitude) = changes.fold((0.0, 0.0), |(sum, size), g| (sum + g, size + g.abs()));
                let radius = self.unit_radius[at];
                excess += radius * (magnitude - change.abs());
                // Change and magnitude were both rounded; the floor stands for what underflows.
                size += 2.0 * radius * (magnitude + FLOOR);
                if let Some(cap_correction) = self.cap_corrections.get(at) {
                    excess += cap_correction.excess(change).0;
                    size += 2.0 * cap_correction.weight.abs() * (magnitude + FLOOR);
                }
            }
            terms += width * (entries.len() + 1);
        }
        (excess, size, terms + 8)
    }
}
