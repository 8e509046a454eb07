//! The lines that replace hidden units: slopes under those that may be on either side of 0, and multipliers of those
//! whose side a branch has chosen.

use crate::number::span::{Span, up};
use crate::ranges::scene::RangeScene;

/// A hidden unit: representation, place, unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HiddenUnit {
    pub(crate) l: usize,
    pub(crate) place: usize,
    pub(crate) unit: usize,
}

/// Bounds of the units of a scene, and the lines that replace them. By representation from 2 on, then by place and
/// unit.
#[derive(Clone, Debug)]
pub(crate) struct UnitLines {
    pub(crate) bounds: Vec<Vec<Span>>,
    /// Between 0 and 1: the line `slope · z` is under a unit.
    pub(crate) slopes: Vec<Vec<f64>>,
    /// Not negative: prices of the signs that a branch has chosen.
    pub(crate) prices: Vec<Vec<f64>>,
}

impl UnitLines {
    /// Bounds under all perturbations, and the slopes with the smaller triangles.
    pub(crate) fn new(scene: &RangeScene) -> UnitLines {
        let bounds: Vec<Vec<Span>> = (2..scene.slice.top()).map(|l| scene.units(l)).collect();
        let slopes = bounds.iter().map(|units| units.iter().map(UnitLines::usual_slope).collect()).collect();
        let prices = bounds.iter().map(|units| vec![0.0; units.len()]).collect();
        UnitLines { bounds, slopes, prices }
    }

    /// The slope with the smaller triangle; 0 where both are alike but for roundings, so that the checker, which rounds
    /// in another way, takes the same one.
    pub(crate) fn usual_slope(z: &Span) -> f64 {
        const CLEARLY: f64 = 1.0 - 1.0 / 1_048_576.0;
        if CLEARLY * z.hi > -z.lo { 1.0 } else { 0.0 }
    }

    /// Is an interval on one side of 0 but for roundings? Another checker, which may see it on one side, then takes the
    /// usual slope.
    pub(crate) fn is_one_sided(z: &Span) -> bool {
        const HARDLY: f64 = 1.0 / 1_048_576.0;
        z.lo >= -HARDLY * z.hi || z.hi <= -HARDLY * z.lo
    }

    /// The slope of a unit of representation `l`.
    pub(crate) fn slope(&self, l: usize, at: usize) -> f64 {
        let z = &self.bounds[l - 2][at];
        if UnitLines::is_one_sided(z) { UnitLines::usual_slope(z) } else { self.slopes[l - 2][at].clamp(0.0, 1.0) }
    }

    /// The same with slopes that are multiples of a power of two, and prices of so many bits.
    pub(crate) fn rounded(&self, bits: i32) -> UnitLines {
        let scale = 2f64.powi(bits);
        let each = |numbers: &[Vec<f64>], round: &dyn Fn(f64) -> f64| {
            numbers.iter().map(|list| list.iter().map(|&x| round(x)).collect()).collect()
        };
        let slope = |x: f64| (x * scale).round() / scale;
        let price = |x: f64| f64::from_bits(x.to_bits() & !((1 << (52 - bits)) - 1));
        UnitLines {
            bounds: self.bounds.clone(),
            slopes: each(&self.slopes, &slope),
            prices: each(&self.prices, &price),
        }
    }
}

/// A line over a unit whose pre-activation lies between two numbers on both sides of 0: slope and intercept.
pub(crate) fn chord(z: Span) -> [f64; 2] {
    let slope = (z.hi / (z.hi - z.lo)).clamp(0.0, 1.0);
    let slope = if slope.is_nan() { 1.0 } else { slope };
    // Any slope will do if the line is not below 0 at the one end, nor below the unit at the other.
    let at_low = up(-(slope * z.lo).next_down());
    let at_high = up(z.hi - (slope * z.hi).next_down());
    [slope, at_low.max(at_high).max(0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_above_the_unit() {
        for [lo, hi] in [[-1.0, 1.0], [-0.3, 2.7], [-1e-9, 1e9], [-1e9, 1e-9], [-5e-324, 1.0], [-1.0, 5e-324]] {
            let [slope, intercept] = chord(Span { lo, hi });
            let above = |z: f64| {
                let line = Span::of(slope).scaled(z).plus(Span::of(intercept));
                line.hi >= z.max(0.0)
            };
            assert!(above(lo) && above(hi) && above(0.0), "{lo} {hi}");
        }
    }
}
