//! Random numbers without state: each is a function of the seed and of what it is for.
//!
//! A run that is resumed, or split over other threads, draws the same numbers.

/// A source of numbers for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeededRandom(u64);

/// Spreads every bit of the input over every bit of the output.
fn mix(mut x: u64) -> u64 {
    for factor in [0xFF51_AFD7_ED55_8CCD_u64, 0xC4CE_B9FE_1A85_EC53] {
        x = (x ^ (x >> 33)).wrapping_mul(factor);
    }
    x ^ (x >> 33)
}

impl SeededRandom {
    /// Starts from a seed.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom(mix(seed.wrapping_add(0x5851_F42D_4C95_7F2D)))
    }

    /// A source of its own for a purpose, an iteration, a layer, ….
    #[inline]
    pub fn of(self, purpose: u64) -> SeededRandom {
        SeededRandom(mix(self.0 ^ purpose.wrapping_add(1).wrapping_mul(0x9E6C_63D0_876A_3F6B)))
    }

    /// A number in `[0, 1)`.
    #[inline]
    pub fn unit(self) -> f64 {
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from the standard normal distribution (Box and Muller's transform).
    pub fn normal(self) -> f64 {
        let radius = (-2.0 * (1.0 - self.of(0).unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.of(1).unit()).cos()
    }

    /// The first `count` items of a random order (all, if there are fewer).
    pub fn sample<T: Clone>(self, items: &[T], count: usize) -> Vec<T> {
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        let count = count.min(items.len());
        for at in 0..count {
            let left = items.len() - at;
            let chosen = at + ((self.of(at as u64).unit() * left as f64) as usize).min(left - 1);
            order.swap(at, chosen);
        }
        order[..count].iter().map(|&at| items[at as usize].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_uniform_and_without_repetition() {
        let items: Vec<usize> = (0..10).collect();
        let mut counts = [0; 10];
        for seed in 0..10_000 {
            let mut sample = SeededRandom::new(seed).of(3).sample(&items, 4);
            assert_eq!(sample.len(), 4);
            sample.iter().for_each(|&i| counts[i] += 1);
            sample.sort_unstable();
            sample.dedup();
            assert_eq!(sample.len(), 4);
        }
        assert!(counts.iter().all(|&c| (3_700..4_300).contains(&c)), "{counts:?}");
        assert!(SeededRandom::new(1).sample::<u32>(&[], 5).is_empty());
    }

    #[test]
    fn normal_numbers_have_their_moments() {
        let numbers: Vec<f64> = (0..20_000).map(|i| SeededRandom::new(5).of(i).normal()).collect();
        let moment = |power| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64;
        let moments = [moment(1), moment(2), moment(3), moment(4)];
        let wanted = [0.0, 1.0, 0.0, 3.0];
        assert!(moments.iter().zip(wanted).all(|(m, w)| (m - w).abs() < 0.15), "{moments:?}");
    }

    #[test]
    fn purposes_are_independent() {
        let chance = SeededRandom::new(7);
        let mean: f64 = (0..10_000).map(|i| chance.of(i).unit()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert_ne!(chance.of(1).of(2), chance.of(2).of(1));
    }
}
