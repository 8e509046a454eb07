//! The losses of flips in single precision, from above: inner products with the weights of all attributes, for the sums
//! over the whole graph (docs/math.md (20.8)).

use pulp::{Arch, Simd, WithSimd};

use crate::bound::attributes::Attributes;
use crate::collective::row::ONE;
use crate::number::rounding::norm_above;

/// Attributes scored together.
const LANES: usize = 16;

/// The size of vectors whose inner products are far from the end of single precision.
const FITS: f64 = 1e18;

/// The weights of the attributes in their order, rounded to single precision.
pub(crate) struct Kernel {
    width: usize,
    padded: usize,
    /// Groups of [`LANES`] rows, each unit by unit; the last one padded with zeros.
    groups: Vec<f32>,
    /// Not below the norm of any row.
    norm: f64,
    arch: Arch,
    /// Does this machine multiply and add in one step?
    fused: bool,
}

/// From losses to shares: multiples of `1/ONE`, rounded up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareScale {
    error: f64,
    factor: f64,
}

impl ShareScale {
    /// For losses that are at most `error` too small; `None` if nothing is known because the bound is not positive
    /// where nothing is flipped.
    pub(crate) fn new(base: f64, error: f64) -> Option<ShareScale> {
        // More than the roundings of a sum, a quotient and two products.
        let factor = f64::from(ONE) / base * (1.0 + 1e-12);
        (base > 0.0 && error.is_finite() && factor.is_finite()).then_some(ShareScale { error, factor })
    }

    /// For losses that may be too small by more.
    fn with(self, error: f64) -> ShareScale {
        ShareScale { error: (self.error + error).next_up(), ..self }
    }

    /// A share that is not below what a flip loses of the base.
    #[inline(always)]
    pub(crate) fn share(self, loss: f64) -> u32 {
        // To the nearest whole number, in the last bits of a float, which compilers make of several numbers at a time;
        // one more is not below.
        const LAST_BITS: f64 = (1u64 << 52) as f64;
        let share = (loss + self.error) * self.factor;
        let nearest = (share.min(f64::from(ONE - 1)) + LAST_BITS).to_bits() as u32;
        // A comparison with NaN is false: then nothing is known, and the flip may do everything.
        if share <= 0.0 { 0 } else { nearest.wrapping_add(1) }
    }
}

/// The slopes of one source node, rounded to single precision.
#[derive(Clone, Debug, Default)]
pub(crate) struct SingleSlopes {
    centre: Vec<f32>,
    radius: Vec<f32>,
}

impl Kernel {
    /// Rounds the weights.
    pub(crate) fn new(attributes: &Attributes) -> Kernel {
        let width = attributes.width();
        let padded = attributes.count().next_multiple_of(LANES);
        let mut groups = vec![0.0; padded * width];
        for slot in 0..attributes.count() {
            let group = &mut groups[slot / LANES * LANES * width..][..LANES * width];
            for (unit, w) in attributes.row(slot).iter().enumerate() {
                group[unit * LANES + slot % LANES] = *w as f32;
            }
        }
        let arch = Arch::new();
        Kernel { width, padded, groups, norm: attributes.norm(0), arch, fused: !matches!(arch, Arch::Scalar) }
    }

    /// Places of attributes, the padding of the last group included.
    pub(crate) fn padded(&self) -> usize {
        self.padded
    }

    /// Rounds the slopes of a source node, and counts what single precision may lose to a scale (docs/math.md (20.9)).
    pub(crate) fn round(
        &self,
        centre: &[f64],
        radius: Option<&[f64]>,
        scale: ShareScale,
        into: &mut SingleSlopes,
    ) -> ShareScale {
        into.centre.clear();
        into.centre.extend(centre.iter().map(|&c| c as f32));
        into.radius.clear();
        let norm = match radius {
            None => {
                into.radius.resize(centre.len(), 0.0);
                norm_above(centre.iter().copied())
            }
            Some(radius) => {
                into.radius.extend(radius.iter().map(|&r| r as f32));
                norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r))
            }
        };
        // Both factors and their product are rounded, then the sums; the last difference; and what is too small for
        // single precision.
        let roundings = self.width as f64 + 8.0;
        // Numbers beyond this might not fit; then every flip may do everything.
        let fits = roundings < 1e5 && norm < FITS && self.norm < FITS;
        let relative = if fits { 1.02 * roundings / f64::from(1u32 << 24) } else { f64::INFINITY };
        let tiny = roundings * 2f64.powi(-120) * (1.0 + norm) * (1.0 + self.norm);
        // Infinity times zero is no number: weights of zero lose nothing, whatever the slopes are, but that is not
        // worth a case.
        let error = 1.01 * (relative * norm * self.norm + tiny);
        scale.with(if error.is_nan() { f64::INFINITY } else { error })
    }

    /// The shares of adding the attributes from place `first` (a multiple of [`LANES`]) on, where they are larger than
    /// those that are there, and the losses of removing them. Returns the largest share.
    pub(crate) fn score(
        &self,
        first: usize,
        slopes: &SingleSlopes,
        scale: ShareScale,
        shares: &mut [u32],
        losses: &mut [f32],
    ) -> u32 {
        let groups = &self.groups[first * self.width..][..shares.len() * self.width];
        let scored = Scored { groups, width: self.width, slopes, scale, shares, losses };
        if self.fused { self.arch.dispatch(Fused(scored)) } else { scored.run(|a, b, c| a * b + c) }
    }
}

struct Scored<'a> {
    groups: &'a [f32],
    width: usize,
    slopes: &'a SingleSlopes,
    scale: ShareScale,
    shares: &'a mut [u32],
    losses: &'a mut [f32],
}

struct Fused<'a>(Scored<'a>);

impl WithSimd for Fused<'_> {
    type Output = u32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u32 {
        self.0.run(f32::mul_add)
    }
}

impl Scored<'_> {
    #[inline(always)]
    fn run(self, multiply_add: impl Fn(f32, f32, f32) -> f32) -> u32 {
        let mut largest = [0; LANES];
        let into = self.shares.chunks_exact_mut(LANES).zip(self.losses.chunks_exact_mut(LANES));
        for (group, (shares, losses)) in self.groups.chunks_exact(LANES * self.width).zip(into) {
            let (mut middle, mut half) = ([0.0f32; LANES], [0.0f32; LANES]);
            let slopes = self.slopes.centre.iter().zip(&self.slopes.radius);
            for (w, (&c, &r)) in group.chunks_exact(LANES).zip(slopes) {
                for lane in 0..LANES {
                    middle[lane] = multiply_add(c, w[lane], middle[lane]);
                    half[lane] = multiply_add(r, w[lane].abs(), half[lane]);
                }
            }
            for lane in 0..LANES {
                shares[lane] = shares[lane].max(self.scale.share(f64::from(half[lane] - middle[lane])));
                largest[lane] = largest[lane].max(shares[lane]);
                losses[lane] = half[lane] + middle[lane];
            }
        }
        largest.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_not_below_what_they_stand_for() {
        let scale = ShareScale::new(2.0, 0.0).unwrap();
        assert_eq!([0.0, -1.0, 2.0, 7.0, f64::NAN].map(|loss| scale.share(loss)), [0, 0, ONE, ONE, ONE]);
        for loss in [1e-30, 0.1, 0.5, 1.0, 1.999_999_999, 2.0 - 1e-15] {
            let share = f64::from(scale.share(loss)) / f64::from(ONE);
            assert!(share >= loss / 2.0 && share <= loss / 2.0 + 2.0 / f64::from(ONE), "{loss}: {share}");
        }
        assert!(ShareScale::new(0.0, 0.0).is_none() && ShareScale::new(f64::NAN, 0.0).is_none());
        assert!(ShareScale::new(1.0, f64::INFINITY).is_none() && ShareScale::new(5e-324, 0.0).is_none());
    }

    /// With slopes and weights of all sizes, losses in single precision with their error are not below those in double
    /// precision.
    #[test]
    fn single_precision_is_counted() {
        let (graph, network) = crate::embedded::cora();
        let budget = crate::problem::budget::Budget::uniform(&graph, 5, 5);
        let attributes = Attributes::new(&network.layers()[0], &budget);
        let kernel = Kernel::new(&attributes);
        let width = attributes.width();
        for seed in 0..40u32 {
            let number = |i: usize| {
                let x = (seed as usize * 7919 + i * 104_729) % 2003;
                (x as f64 / 1001.0 - 1.0) * 10f64.powi((seed % 9) as i32 * 9 - 48)
            };
            let centre: Vec<f64> = (0..width).map(number).collect();
            let radius: Vec<f64> = (0..width).map(|i| number(i + width).abs()).collect();
            let radius = (seed % 3 > 0).then_some(radius.as_slice());
            let size = norm_above(centre.iter().copied()) * attributes.norm(0);
            let exact = ShareScale::new(size, 0.0).unwrap();
            let mut single = SingleSlopes::default();
            let scale = kernel.round(&centre, radius, exact, &mut single);
            let (mut shares, mut losses) = (vec![0; kernel.padded()], vec![0.0; kernel.padded()]);
            kernel.score(0, &single, scale, &mut shares, &mut losses);
            for slot in 0..attributes.count() {
                let add = attributes.loss(slot, 1.0, &centre, radius);
                let removal = attributes.loss(slot, -1.0, &centre, radius);
                // Double precision is itself wrong by a little, far less than a unit of shares.
                assert!(shares[slot] + 1 >= exact.share(add), "{seed} {slot}");
                assert!(scale.share(f64::from(losses[slot])) + 1 >= exact.share(removal), "{seed} {slot}");
                // Where numbers are near an end of single precision, little is known.
                if !(1e-25..FITS).contains(&size) {
                    continue;
                }
                let much = f64::from(ONE) * add / size + f64::from(ONE) * 1e-4 + 2.0;
                assert!(
                    f64::from(shares[slot]) <= much.max(2.0 + f64::from(ONE) * 1e-4),
                    "{seed} {slot}: {}",
                    shares[slot]
                );
            }
        }
    }
}
