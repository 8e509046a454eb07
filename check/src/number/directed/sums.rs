//! Sums of stored numbers and norms, with bounds of their errors.

use super::interval::Interval;
use super::{Down, Stored, Up};

/// Sums of stored numbers, unit by unit, each with a bound of its error.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub(super) value: Vec<f64>,
    pub(super) error: Vec<f64>,
}

impl Sums {
    /// Of some rows of weights. A sum of `k` floats is off by at most `γ_k` times the sum of their sizes; underflow
    /// does not happen in sums. `2ku` is twice that, which leaves room for the rounding of the bound.
    pub(crate) fn of_rows<'r>(width: usize, rows: impl Iterator<Item = &'r [Stored]>) -> Sums {
        let (mut value, mut error, mut count) = (vec![0.0; width], vec![0.0; width], 0.0);
        for row in rows {
            for ((value, error), w) in value.iter_mut().zip(&mut error).zip(row) {
                *value += w.0;
                *error += w.0.abs();
            }
            count += 1.0;
        }
        error.iter_mut().for_each(|error| *error *= count * f64::EPSILON);
        Sums { value, error }
    }

    /// Each times a factor that is not negative: a product is off by at most `u` times its size, or by `2⁻¹⁰⁷⁵` where
    /// it is subnormal. Twice that, and a little more of the error before, leave room for the rounding of the bound.
    pub(crate) fn scaled(mut self, factor: Stored) -> Sums {
        for (value, error) in self.value.iter_mut().zip(&mut self.error) {
            *value *= factor.0;
            let before = *error * factor.0;
            *error = before + 8.0 * f64::EPSILON * before + f64::EPSILON * value.abs() + 8.0 * f64::from_bits(1);
        }
        self
    }

    /// Each enclosed.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let enclosed = self.value.iter().zip(&self.error).map(|(value, error)| match error.is_finite() {
            true => Interval { lower: Down((value - error).next_down()), upper: Up((value + error).next_up()) },
            false => Interval::ANY,
        });
        enclosed.collect()
    }

    /// `start + Σ entry·sum`, enclosed; of each sum the units from a place on. With `k` terms the products and sums are
    /// off by at most `γ_{k+2}` times the sum of the sizes of the terms, and by `2⁻¹⁰⁷⁵` for each product by underflow;
    /// to that come the errors of the sums, times the sizes of the entries.
    pub(crate) fn combined<'s>(
        start: Vec<Stored>,
        terms: impl Iterator<Item = (Stored, &'s Sums, usize)>,
    ) -> Vec<Interval> {
        let mut value: Vec<f64> = start.iter().map(|x| x.0).collect();
        let mut size: Vec<f64> = start.iter().map(|x| x.0.abs()).collect();
        let (mut open, mut count) = (vec![0.0; value.len()], 4.0);
        for (entry, sums, from) in terms {
            let (a, each) = (entry.0, sums.value[from..].iter().zip(&sums.error[from..]));
            for (((value, size), open), (x, error)) in value.iter_mut().zip(&mut size).zip(&mut open).zip(each) {
                *value += a * x;
                *size += a.abs() * x.abs();
                *open += a.abs() * error;
            }
            count += 1.0;
        }
        let enclosed = value.into_iter().zip(size).zip(open).map(|((value, size), open)| {
            let error = 2.0 * (count * (f64::EPSILON * size + f64::from_bits(1)) + open);
            if !error.is_finite() {
                return Interval::ANY;
            }
            Interval { lower: Down((value - error).next_down()), upper: Up((value + error).next_up()) }
        });
        enclosed.collect()
    }
}

/// A float not below the Euclidean norm; 0 for zeros only, infinite where squares overflow.
pub(crate) fn norm(sizes: impl Iterator<Item = Up> + Clone) -> Up {
    let count = sizes.clone().count() as f64;
    if sizes.clone().all(|size| size.0 == 0.0) {
        return Up(0.0);
    }
    // Each square and each sum has a relative error of at most u, or a square loses at most 2⁻¹⁰⁷⁴ by underflow, which
    // the addend covers many times over. The factor covers `count` sums, the squares, the root and the rounding of this
    // line.
    let squares = sizes.map(|size| size.0 * size.0).sum::<f64>() + count * f64::MIN_POSITIVE;
    let norm = (squares.sqrt() * (1.0 + (count + 8.0) * f64::EPSILON)).next_up();
    Up(if norm.is_nan() { f64::INFINITY } else { norm })
}
