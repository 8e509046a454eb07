//! What rounding does in one row of a described layer: how many roundings a product passes, what underflow adds, and
//! what stays in range (`FORMAT.md` §9).

use gcnproof_files::{Described, DescribedLayer};

use crate::format::Deployed;
use crate::number::Dyadic;
use crate::statement::{DescribedWeights, Network, attributes};

/// Magnitudes must stay below this power of two: far from the end of binary32's range.
const RANGE: i64 = 120;

/// What is said of a layer whatever the node.
pub(super) struct Facts {
    precision: i64,
    flush_subnormals: bool,
    terms: Vec<TermFacts>,
    /// 1 where weights are rounded to the format, else 0.
    weight_rounding: usize,
    bias_roundings: usize,
    largest_weight: Dyadic,
}

/// What is said of one of its terms.
struct TermFacts {
    /// Units by which entries of its operator may differ, as stated.
    operator_error: u32,
    /// Roundings of products: of the described ones, and of those that were folded.
    products: usize,
}

/// What an entry of the layer is summed from.
pub(super) struct SummedRow {
    /// Inputs that may differ from zero, by term.
    pub(super) inputs: Vec<usize>,
    /// Entries of the operator's row that are not 0, by term.
    pub(super) entries: Vec<usize>,
    /// Has an entry more bits than the format, by term?
    rounded: Vec<bool>,
    largest_entry: Dyadic,
    /// Not below the size of any input.
    pub(super) size: Dyadic,
}

impl SummedRow {
    pub(super) fn new(terms: usize, size: Dyadic) -> SummedRow {
        let (inputs, entries, rounded) = (vec![0; terms], vec![0; terms], vec![false; terms]);
        SummedRow { inputs, entries, rounded, largest_entry: Dyadic::ZERO, size }
    }
}

/// `2^exponent`.
pub(super) fn power(exponent: i64) -> Dyadic {
    Dyadic::new(1.into(), exponent)
}

impl Facts {
    /// `errors` are those of the operators of the weight layer that the described one stands in.
    pub(super) fn new(
        network: &Network,
        described: &Described,
        layer: &DescribedLayer,
        deployed: &Deployed,
        errors: &[u32],
    ) -> Facts {
        let precision = i64::from(deployed.precision);
        let (mut weight_rounding, mut largest_weight) = (0, Dyadic::ZERO);
        for of in &layer.terms {
            let term = DescribedWeights::new(network, layer, of);
            let inputs = of.source.map_or(attributes(network), |source| described.layers[source].outputs);
            for (input, unit) in (0..inputs).flat_map(|input| (0..layer.outputs).map(move |unit| (input, unit))) {
                weight_rounding |= usize::from(rounds(term.weight(input, unit), precision));
                largest_weight = largest_weight.max(term.size(input, unit));
            }
        }
        let terms = layer.terms.iter().map(|of| TermFacts {
            operator_error: errors[of.operator],
            // `1·w` and `a·1` are exact.
            products: if of.source.is_none() { 1 } else { 2 } + of.roundings as usize,
        });
        let (terms, bias_roundings) = (terms.collect(), layer.bias_roundings as usize);
        let flush_subnormals = deployed.flush_subnormals;
        Facts { precision, flush_subnormals, terms, weight_rounding, bias_roundings, largest_weight }
    }

    /// Counts an entry of a term.
    pub(super) fn count(&self, row: &mut SummedRow, term: usize, entry: &Dyadic) {
        row.entries[term] += 1;
        row.rounded[term] |= rounds(entry, self.precision);
        row.largest_entry = row.largest_entry.clone().max(entry.size());
    }

    /// `γ`, from above: `x/(1 − x) ≤ x (1 + x + 2x²)` for `x ≤ 1/2`. None where nothing is known, or a number may leave
    /// the range. `biases` are those of the row, `sizes` what was folded into them.
    pub(super) fn relative(&self, row: &SummedRow, biases: &[Dyadic], sizes: &[Dyadic]) -> Option<Dyadic> {
        self.stays_in_range(row, sizes)?;
        let leaves: Vec<usize> = row.inputs.iter().zip(&row.entries).map(|(&d, &r)| d.max(r)).collect();
        let all: usize = leaves.iter().sum();
        let bias_rounding = usize::from(biases.iter().any(|bias| rounds(bias, self.precision)));
        let mut most = all + bias_rounding + self.bias_roundings;
        for (k, term) in self.terms.iter().enumerate() {
            if row.entries[k] > 0 {
                let sums = row.inputs[k] + row.entries[k] - 1 + (all - leaves[k]);
                // Entries that are no numbers of the format are rounded, whatever is stated.
                let entry = term.operator_error.max(u32::from(row.rounded[k])) as usize;
                most = most.max(sums + term.products + entry + self.weight_rounding);
            }
        }
        let x = &Dyadic::from(most) * &power(-self.precision);
        if x >= power(-1) {
            return None;
        }
        let square = &x * &x;
        Some(&x * &(&(&power(0) + &x) + &(&square + &square)))
    }

    /// What underflow adds to the error of an entry, at most.
    pub(super) fn underflow(&self, row: &SummedRow) -> Dyadic {
        let pairs = row.inputs.iter().zip(&row.entries);
        let operations = pairs.map(|(&d, &r)| (d + 1).saturating_mul(r + 1)).fold(1usize, usize::saturating_add);
        let precision = if self.flush_subnormals { 0 } else { self.precision };
        &(&Dyadic::from(operations) * &power(4 - 126 - precision)) * &self.factors(row)
    }

    fn factors(&self, row: &SummedRow) -> Dyadic {
        let one = power(0);
        &(&(&one + &row.size) * &(&one + &self.largest_weight)) * &(&one + &row.largest_entry)
    }

    /// None where a number may leave the range of binary32.
    fn stays_in_range(&self, row: &SummedRow, biases: &[Dyadic]) -> Option<()> {
        let inputs = row.inputs.iter().max().copied().unwrap_or(0);
        let entries = row.entries.iter().sum::<usize>();
        let summed = [inputs + 1, entries + 1, self.terms.len() + 1];
        let summed = summed.iter().fold(power(0), |product, &count| &product * &Dyadic::from(count));
        let largest_bias = biases.iter().max().cloned().unwrap_or_default();
        (&(&summed * &self.factors(row)) + &largest_bias < power(RANGE)).then_some(())
    }
}

/// Has a number more significant bits than the format?
fn rounds(x: &Dyadic, precision: i64) -> bool {
    x.reduced().bits() as i64 > precision
}
