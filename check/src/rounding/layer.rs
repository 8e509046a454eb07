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
    /// `attribute_products` are the roundings of products that read attributes.
    pub(super) fn new(
        network: &Network,
        described: &Described,
        layer: &DescribedLayer,
        deployed: &Deployed,
        attribute_products: usize,
    ) -> Facts {
        let errors = &deployed.operator_error[layer.layer];
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
            products: if of.source.is_none() { attribute_products } else { 2 } + of.roundings as usize,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(precision: i64, largest_weight: Dyadic) -> Facts {
        facts_of(1, precision, largest_weight)
    }

    fn facts_of(terms: usize, precision: i64, largest_weight: Dyadic) -> Facts {
        let terms = (0..terms).map(|_| TermFacts { operator_error: 0, products: 1 }).collect();
        Facts { precision, flush_subnormals: false, terms, weight_rounding: 0, bias_roundings: 0, largest_weight }
    }

    /// Some inputs, and entries of size 2 and 1.
    fn row(facts: &Facts, inputs: usize, entries: usize) -> SummedRow {
        let mut row = SummedRow::new(1, power(0));
        row.inputs[0] = inputs;
        (0..entries).for_each(|at| facts.count(&mut row, 0, &power(i64::from(at == 0))));
        row
    }

    #[test]
    fn what_reaches_the_end_of_the_range_is_refused() {
        let one_less = |exponent: i64| &power(exponent) - &power(0);
        for (weight, bias, fits) in [
            (one_less(RANGE - 9), Dyadic::ZERO, true),
            (one_less(RANGE - 8), Dyadic::ZERO, false),
            (one_less(RANGE - 9), one_less(RANGE - 1), true),
            (one_less(RANGE - 9), power(RANGE - 1), false),
        ] {
            let facts = facts_of(3, 24, weight);
            // Four by eight by four sums, of numbers up to (1 + 1)·(1 + w)·(1 + 0).
            let mut row = SummedRow::new(3, power(0));
            (row.inputs, row.entries) = (vec![0, 3, 1], vec![5, 0, 2]);
            assert_eq!(facts.stays_in_range(&row, &[power(0), bias.clone()]).is_some(), fits, "{bias:?}");
        }
    }

    #[test]
    fn roundings_are_counted_up_to_half() {
        let facts = facts(4, Dyadic::ZERO);
        let x = |numerator: i64| Dyadic::new(numerator.into(), -4);
        let gamma = |x: &Dyadic| &(x + &(x * x)) + &(&Dyadic::from(2) * &(&(x * x) * x));
        // Sums of one input and three entries, and a product; a bias of five bits is rounded as well.
        let plain = facts.relative(&row(&facts, 1, 3), &[power(0)], &[power(0)]);
        assert_eq!(plain, Some(gamma(&x(4))));
        let long = [power(0), Dyadic::from(17), Dyadic::from(15)];
        assert_eq!(facts.relative(&row(&facts, 3, 0), &long, &long), Some(gamma(&x(4))));
        let seven = facts.relative(&row(&facts, 4, 3), &[power(0)], &[power(0)]);
        assert_eq!(seven, Some(gamma(&x(7))));
        assert_eq!(facts.relative(&row(&facts, 5, 3), &[power(0)], &[power(0)]), None);
    }

    #[test]
    fn the_largest_entry_counts() {
        let facts = facts(24, power(1));
        let mut row = row(&facts, 2, 3);
        assert_eq!((row.entries[0], &row.largest_entry, row.rounded[0]), (3, &power(1), false));
        // Three by four operations and one; (1 + 1)·(1 + 2)·(1 + 2).
        let underflow = |precision: i64| &Dyadic::from(13 * 18) * &power(4 - 126 - precision);
        assert_eq!(facts.underflow(&row), underflow(24));
        assert_eq!(Facts { flush_subnormals: true, ..self::facts(24, power(1)) }.underflow(&row), underflow(0));
        facts.count(&mut row, 0, &(&power(0) + &power(-24)));
        assert_eq!((row.entries[0], row.rounded[0]), (4, true));
    }
}
