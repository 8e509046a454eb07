//! What rounding does in one layer: how many roundings a product passes, what underflow adds, and what stays in range (`FORMAT.md` §9).

use crate::core::dyadic::Dyadic;
use crate::format::Deployed;
use crate::statement::Layer;

/// Magnitudes must stay below this power of two: far from the end of binary32's range.
const RANGE: i64 = 120;

/// What is said of a layer whatever the node.
pub(super) struct Facts {
    precision: i64,
    flush_subnormals: bool,
    /// Units by which entries of each term's operator may differ: as stated, and 1 at least where an execution rounds an entry.
    operator_error: Vec<u32>,
    weight_rounding: usize,
    bias_rounding: usize,
    largest_weight: Dyadic,
    largest_bias: Dyadic,
    largest_entry: Dyadic,
    longest_row: usize,
}

/// Inputs that may differ from zero, and entries of the row, by term.
pub(super) struct Counts {
    pub(super) inputs: Vec<usize>,
    pub(super) entries: Vec<usize>,
}

/// A power of two.
pub(super) fn power(exponent: i64) -> Dyadic {
    Dyadic::new(1.into(), exponent)
}

fn largest<'d>(numbers: impl Iterator<Item = &'d Dyadic>) -> Dyadic {
    numbers.map(Dyadic::size).max().unwrap_or_default()
}

impl Facts {
    pub(super) fn new(layer: &Layer, nodes: u32, deployed: &Deployed, operator_error: &[u32]) -> Facts {
        let rounds = |x: &Dyadic| x.reduced().bits() > deployed.precision as usize;
        let biases = layer.biases();
        let mut operator_error = operator_error.to_vec();
        let mut largest_entry = Dyadic::ZERO;
        for link in (0..nodes).flat_map(|m| layer.links.row(m)) {
            let (entry, error) = (link.entry.exact(), &mut operator_error[link.term as usize]);
            *error = (*error).max(u32::from(rounds(&entry)));
            largest_entry = largest_entry.max(entry.size());
        }
        Facts {
            precision: i64::from(deployed.precision),
            flush_subnormals: deployed.flush_subnormals,
            operator_error,
            weight_rounding: usize::from(layer.weight.iter().flatten().any(rounds)),
            bias_rounding: usize::from(biases.clone().any(rounds)),
            largest_weight: largest(layer.weight.iter().flatten()),
            largest_bias: largest(biases),
            largest_entry,
            longest_row: (0..nodes).map(|m| layer.links.row(m).len()).max().unwrap_or(0),
        }
    }

    /// `γ`, from above: `x/(1 − x) ≤ x (1 + x + 2x²)` for `x ≤ 1/2`. `products` are the roundings of products on a path.
    pub(super) fn relative(&self, counts: &Counts, products: usize) -> Option<Dyadic> {
        let leaves: Vec<usize> = counts.inputs.iter().zip(&counts.entries).map(|(&d, &r)| d.max(r)).collect();
        let all: usize = leaves.iter().sum();
        let mut most = all + self.bias_rounding;
        for (k, &error) in self.operator_error.iter().enumerate() {
            if counts.entries[k] > 0 {
                let sums = counts.inputs[k] + counts.entries[k] - 1 + (all - leaves[k]);
                most = most.max(sums + products + error as usize + self.weight_rounding);
            }
        }
        let x = &Dyadic::from(most) * &power(-self.precision);
        if x >= power(-1) {
            return None;
        }
        let square = &x * &x;
        Some(&x * &(&(&power(0) + &x) + &(&square + &square)))
    }

    /// What underflow adds.
    pub(super) fn underflow(&self, counts: &Counts, size: &Dyadic) -> Dyadic {
        let pairs = counts.inputs.iter().zip(&counts.entries);
        let operations = pairs.map(|(&d, &r)| (d + 1).saturating_mul(r + 1)).fold(1usize, usize::saturating_add);
        let precision = if self.flush_subnormals { 0 } else { self.precision };
        &(&Dyadic::from(operations) * &power(4 - 126 - precision)) * &self.factors(size)
    }

    fn factors(&self, size: &Dyadic) -> Dyadic {
        let one = power(0);
        &(&(&one + size) * &(&one + &self.largest_weight)) * &(&one + &self.largest_entry)
    }

    /// None where a number may leave the range of binary32.
    pub(super) fn stays_in_range(&self, counts: &Counts, size: &Dyadic) -> Option<()> {
        let inputs = counts.inputs.iter().max().copied().unwrap_or(0);
        let summed = [inputs + 1, self.longest_row + 1, counts.inputs.len() + 1];
        let summed = summed.iter().fold(power(0), |product, &count| &product * &Dyadic::from(count));
        (&(&summed * &self.factors(size)) + &self.largest_bias < power(RANGE)).then_some(())
    }
}
