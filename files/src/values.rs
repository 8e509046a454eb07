//! Real-valued attributes as attributes that a row has or has not: each number is a sum of signed powers of two, and
//! each power of two that an attribute needs is an attribute of its own, whose weights are those of the attribute times
//! the power.
//!
//! Multiplication by a power of two is exact, so that the network with these weights computes exactly what the network
//! computes on the numbers.

use crate::{DenseMatrix, Pattern, SparseMatrix};

/// Powers of two that numbers may be made of lie between 2 to the minus this and 2 to this.
const LARGEST_EXPONENT: i32 = 300;

/// Powers of two that all numbers of a graph may need together.
const MOST_ENTRIES: usize = 1 << 28;

/// A signed power of two of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Digit {
    attribute: u32,
    exponent: i16,
    negative: bool,
}

/// The numbers of the attributes of a graph, and what they are made of.
#[derive(Debug, Clone)]
pub struct Values {
    matrix: SparseMatrix,
    digits: Vec<Digit>,
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        let bits = |of: &Values| of.matrix.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let shape = |of: &Values| (of.matrix.rows, of.matrix.columns);
        shape(self) == shape(other)
            && self.matrix.offsets == other.matrix.offsets
            && self.matrix.indices == other.matrix.indices
            && bits(self) == bits(other)
    }
}

impl Eq for Values {}

impl Values {
    /// The numbers of a matrix, whose column ids ascend within a row, and which row has which power of two.
    ///
    /// # Errors
    /// With the row and the column of a number that is not finite, too large or too small, or with neither if there are
    /// too many.
    pub fn new(matrix: SparseMatrix) -> Result<(Values, Pattern), Option<(usize, u32)>> {
        let mut found: Vec<Digit> = Vec::new();
        let (mut rows, mut entries) = (Vec::with_capacity(matrix.rows), 0);
        for row in 0..matrix.rows {
            let (columns, values) = matrix.row(row);
            let mut own = Vec::new();
            for (&attribute, &value) in columns.iter().zip(values) {
                digits(attribute, value, &mut own).ok_or(Some((row, attribute)))?;
            }
            own.sort_unstable();
            entries += own.len();
            if entries > MOST_ENTRIES {
                return Err(None);
            }
            found.extend_from_slice(&own);
            rows.push(own);
            // Rows mostly need the same powers.
            if found.len() > 1 << 22 {
                found.sort_unstable();
                found.dedup();
            }
        }
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            // A network needs an input.
            found.push(Digit { attribute: 0, exponent: 0, negative: false });
        }
        let place = |digit: &Digit| found.partition_point(|other| other < digit) as u32;
        let mut pattern = Pattern { rows: matrix.rows, columns: found.len(), offsets: vec![0], indices: Vec::new() };
        pattern.indices.reserve(entries);
        for own in rows {
            pattern.indices.extend(own.iter().map(place));
            pattern.offsets.push(pattern.indices.len());
        }
        Ok((Values { matrix, digits: found }, pattern))
    }

    /// Attributes of the file.
    #[must_use]
    pub fn attributes(&self) -> usize {
        self.matrix.columns
    }

    /// The numbers of a row that are not 0: attributes, ascending, and what they are.
    #[must_use]
    pub fn row(&self, node: usize) -> (&[u32], &[f64]) {
        self.matrix.row(node)
    }

    /// The number of an attribute in a row.
    #[must_use]
    pub fn value(&self, node: usize, attribute: u32) -> f64 {
        let (columns, values) = self.row(node);
        columns.binary_search(&attribute).map_or(0.0, |at| values[at])
    }

    /// All numbers.
    #[must_use]
    pub fn matrix(&self) -> &SparseMatrix {
        &self.matrix
    }

    /// The same of these rows; one that is `None` has no number but 0.
    #[must_use]
    pub fn selected(&self, rows: impl Iterator<Item = Option<u32>>) -> Values {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            if let Some(row) = row {
                let (columns, numbers) = self.row(row as usize);
                indices.extend_from_slice(columns);
                values.extend_from_slice(numbers);
            }
            offsets.push(indices.len());
        }
        let matrix = SparseMatrix { rows: offsets.len() - 1, columns: self.attributes(), offsets, indices, values };
        Values { matrix, digits: self.digits.clone() }
    }

    /// First weights of the powers of two, term after term. None if a product is no float.
    #[must_use]
    pub fn weights(&self, weight: &DenseMatrix, terms: usize) -> Option<DenseMatrix> {
        let (inputs, outputs) = (self.attributes(), weight.columns);
        let mut values = Vec::with_capacity(terms * self.digits.len() * outputs);
        for term in 0..terms {
            for digit in &self.digits {
                let power = 2f64.powi(i32::from(digit.exponent));
                let power = if digit.negative { -power } else { power };
                for &w in &weight.values[(term * inputs + digit.attribute as usize) * outputs..][..outputs] {
                    let product = w * power;
                    // Dividing by a power of two is exact as well unless something underflows or overflows.
                    if !product.is_finite() || product / power != w {
                        return None;
                    }
                    values.push(product);
                }
            }
        }
        Some(DenseMatrix { rows: terms * self.digits.len(), columns: outputs, values })
    }
}

/// The non-adjacent form of a number, which has the fewest signed powers of two. None if they are out of range.
fn digits(attribute: u32, value: f64, into: &mut Vec<Digit>) -> Option<()> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.abs().to_bits();
    let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mut mantissa, mut exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    while mantissa > 0 {
        if mantissa & 1 == 1 {
            // ..01 ends in +1, ..11 in −1.
            let minus = mantissa & 3 == 3;
            mantissa = if minus { mantissa + 1 } else { mantissa - 1 };
            if !(-LARGEST_EXPONENT..=LARGEST_EXPONENT).contains(&exponent) {
                return None;
            }
            into.push(Digit { attribute, exponent: exponent as i16, negative: minus != (value < 0.0) });
        }
        mantissa >>= 1;
        exponent += 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_add_up_to_the_number() {
        for value in [0.0, 1.0, -1.0, 0.1, -0.3, f64::from(0.1f32), 3.0, 1e-20, 123_456.789, -7.0] {
            let mut found = Vec::new();
            digits(0, value, &mut found).unwrap();
            let sum: f64 = found
                .iter()
                .rev()
                .map(|digit| {
                    let power = 2f64.powi(i32::from(digit.exponent));
                    if digit.negative { -power } else { power }
                })
                .sum();
            // The sum from the largest power on is exact at every step.
            assert_eq!(sum, value);
            assert!(found.len() <= 28);
        }
        let mut found = Vec::new();
        for wrong in [f64::NAN, f64::INFINITY, 1e200, 1e-200, 5e-324] {
            assert!(digits(0, wrong, &mut found).is_none(), "{wrong}");
        }
    }

    #[test]
    fn weights_are_those_of_the_numbers() {
        let matrix = SparseMatrix {
            rows: 2,
            columns: 2,
            offsets: vec![0, 2, 3],
            indices: vec![0, 1, 1],
            values: vec![0.75, -2.5, 0.1],
        };
        let (values, pattern) = Values::new(matrix).unwrap();
        let weight = DenseMatrix { rows: 2, columns: 1, values: vec![0.3, -0.7] };
        let widened = values.weights(&weight, 1).unwrap();
        let sum = |row: usize| pattern.row(row).iter().map(|&d| widened.values[d as usize]).sum::<f64>();
        assert!((sum(0) - (0.75 * 0.3 + 2.5 * 0.7)).abs() < 1e-12);
        assert!((sum(1) + 0.07).abs() < 1e-12);
        assert_eq!(values.value(1, 1), 0.1);
        assert_eq!(values.value(1, 0), 0.0);
        // A weight that a power of two takes below the smallest float.
        let tiny = DenseMatrix { rows: 2, columns: 1, values: vec![5e-324, 1.0] };
        assert!(values.weights(&tiny, 1).is_none());
    }
}
