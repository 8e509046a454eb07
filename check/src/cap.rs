//! Caps: up to which level the change of a single flip pays for a unit's way to zero.
//!
//! `FORMAT.md` defines the level and proves that no admissible set of flips pays more than the way is long.

use std::cmp::Ordering;

use crate::number::Number;
use crate::reach::Reach;

/// The level of the capped bound of one unit.
#[derive(Clone)]
pub(crate) struct Cap<N> {
    /// `T`.
    pub(crate) level: N,
    /// Not below `(x − T)/x` for any change `x > 0` towards zero by a free flip.
    pub(crate) slope: f64,
}

impl<N: Number> Cap<N> {
    /// No level: for a unit that is stable, or at zero, or not known to be on one side of it.
    pub(crate) fn none() -> Cap<N> {
        Cap { level: N::zero(), slope: 1.0 }
    }

    /// `T = |z'|·⌊2⁴⁰·t⌋/2⁴⁰` of a unit at `z`, `t` the largest of `(|z'| − rest)/(i·|z'|)`, where `rest` is the sum of all but the `i`
    /// largest changes towards zero.
    pub(crate) fn new(reach: &Reach, unit: usize, z: &N) -> Cap<N> {
        let (upward, way) = match z.sign() {
            Some(Ordering::Less) => (true, z.negated()),
            Some(Ordering::Greater) => (false, z.clone()),
            _ => return Cap::none(),
        };
        let mut changes: Vec<N> = Vec::new();
        reach.largest(unit, upward, &mut changes);
        changes.sort_by(|a, b| b.rank(a));
        let (mut rest, mut share) = (N::zero(), N::zero());
        for (i, change) in changes.iter().enumerate().rev() {
            let left = way.minus(&rest).positive_part();
            share = share.most(&N::share_below(&left, &way.scaled((i + 1) as f64)));
            rest.add(change);
        }
        let level = way.times(&share);
        let (least, largest) =
            (level.enclosure().lower, changes.first().map_or(0.0, |change| change.enclosure().upper));
        // `min` takes the 1 where an overflow left no number.
        let slope = if least < largest { ((largest - least).next_up() / largest).next_up().min(1.0) } else { 0.0 };
        Cap { level, slope }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::dyadic::Dyadic;
    use crate::interval::Interval;
    use crate::number::sum;
    use crate::reach::{Column, Gains};

    /// A linear congruential generator: small, and the same everywhere.
    struct Random(u64);

    impl Random {
        fn below(&mut self, count: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % count as u64) as usize
        }

        fn size(&mut self) -> f64 {
            const NASTY: [f64; 6] = [1e16, 1e-17, 0.1, 3e-300, 1.0 / 3.0, 4503599627370497.5];
            match self.below(4) {
                0 => NASTY[self.below(6)],
                1 => (1 + self.below(1 << 20)) as f64 / 262_144.0,
                _ => (1 + self.below(6)) as f64 / 2.0,
            }
        }
    }

    /// One unit, up to four neighbours with up to three flips in either direction.
    fn random_reach(random: &mut Random) -> Reach<'static> {
        let columns: Vec<Column> = (0..1 + random.below(4))
            .map(|_| {
                let mut gains = Gains::default();
                for _ in 0..2 {
                    let mut sizes: Vec<f64> = (0..random.below(4)).map(|_| random.size()).collect();
                    sizes.sort_by(|a, b| b.total_cmp(a));
                    gains.values.extend(sizes);
                    gains.ends.push(gains.values.len() as u32);
                }
                let entry = [1.0, 1.0, 0.5, -1.0, -0.7, 1.0 / 3.0][random.below(6)];
                Column { gains: Cow::Owned(gains), left: random.below(4), entry }
            })
            .collect();
        Reach { columns, total: random.below(5) }
    }

    /// Every change towards zero, with its column.
    fn changes(reach: &Reach, upward: bool) -> Vec<(usize, Dyadic)> {
        let one = |(at, column): (usize, &Column)| {
            let rises = if upward == (column.entry > 0.0) { 1 } else { 0 };
            let ends = &column.gains.ends;
            let range = if rises == 0 { 0..ends[0] as usize } else { ends[0] as usize..ends[1] as usize };
            let gains = column.gains.values[range].to_vec();
            gains.into_iter().map(move |gain| (at, gain)).collect::<Vec<_>>()
        };
        let all = reach.columns.iter().enumerate().flat_map(one);
        all.map(|(at, gain)| (at, Dyadic::from_f64(gain).scaled(reach.columns[at].entry.abs()))).collect()
    }

    #[test]
    fn no_admissible_set_pays_more_than_the_way_to_zero() {
        let mut random = Random(1);
        let (mut made_any, mut all_spent) = (0, 0);
        for round in 0..6_000 {
            let reach = random_reach(&mut random);
            let upward = random.below(2) == 0;
            let changes = changes(&reach, upward);
            // A way of any length, or exactly as long as some of the changes.
            let size = if random.below(3) == 0 {
                sum(changes.iter().map(|change| &change.1).filter(|_| random.below(2) == 0)).enclosure().lower
            } else {
                random.size()
            };
            let z = if upward { -size } else { size };
            let cap = Cap::new(&reach, 0, &Dyadic::from_f64(z));
            let rounded = Cap::new(&reach, 0, &Interval::from_f64(z));
            let open = rounded.level;
            assert!(cap.level.sign() != Some(Ordering::Less));
            for (end, wrong) in [(open.lower, Ordering::Less), (open.upper, Ordering::Greater)] {
                assert_ne!(cap.level.rank(&Dyadic::from_f64(end)), wrong, "round {round}: {open:?}");
            }
            for mask in 0u32..1 << changes.len() {
                let made: Vec<&(usize, Dyadic)> =
                    (0..changes.len()).filter(|at| mask >> at & 1 == 1).map(|at| &changes[at]).collect();
                let spent = |at: usize| made.iter().filter(|change| change.0 == at).count();
                if made.len() > reach.total || (0..reach.columns.len()).any(|at| spent(at) > reach.columns[at].left) {
                    continue;
                }
                let paid: Vec<Dyadic> = made.iter().map(|change| change.1.least(&cap.level)).collect();
                let left = Dyadic::from_f64(size).minus(&sum(&paid));
                assert_ne!(left.sign(), Some(Ordering::Less), "round {round}, {made:?}");
                made_any += usize::from(!made.is_empty());
                all_spent += usize::from(left.sign() == Some(Ordering::Equal));
                for (_, x) in made {
                    for slope in [cap.slope, rounded.slope] {
                        let kink = x.minus(&cap.level).positive_part();
                        assert_ne!(x.scaled(slope).rank(&kink), Ordering::Less, "round {round}");
                    }
                }
            }
        }
        assert!(made_any > 10_000 && all_spent > 500, "{made_any} {all_spent}");
    }

    #[test]
    fn changes_share_the_way_to_zero() {
        let column = |rises: &[f64], left: usize| {
            let gains = Gains { values: rises.to_vec(), ends: vec![0, rises.len() as u32] };
            Column { gains: Cow::Owned(gains), left, entry: 1.0 }
        };
        let level = |z: f64| {
            let columns = vec![column(&[3.0, 2.0, 1.0], 2), column(&[4.0], 1), column(&[1.0], 1), column(&[8.0], 1)];
            Cap::new(&Reach { columns, total: 3 }, 0, &Dyadic::from_f64(z)).level.enclosure().upper
        };
        // Of 8, 4 and 3: a third of the way each, as long as the smallest has that much to pay.
        for (z, expected) in [(-8.0, 8.0 / 3.0), (-10.0, 3.5), (-13.0, 6.0)] {
            assert!((level(z) - expected).abs() < 1e-10, "{z}: {} instead of {expected}", level(z));
        }
    }
}
