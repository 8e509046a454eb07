//! Caps: up to which level the change of a single flip pays for a unit's way to zero.
//!
//! `FORMAT.md` defines the levels and proves that no admissible set of flips pays more than the way is long.

use std::cmp::Ordering;

use crate::number::{Number, sum};
use crate::reach::Reach;

/// The levels of the capped bound of one unit.
#[derive(Clone)]
pub(crate) struct Cap<N> {
    /// `T_p` of the payers that reach the unit, ascending by node.
    payers: Box<[(u32, N)]>,
    /// `T` of all other nodes.
    shared: N,
    /// Not below `(x − T_n)/x` for any change `x > 0` towards zero by a free flip of any node `n`.
    pub(crate) slope: f64,
}

impl<N: Number> Cap<N> {
    /// No levels: for a unit that is stable, or at zero, or not known to be on one side of it.
    pub(crate) fn none() -> Cap<N> {
        Cap { payers: Box::default(), shared: N::zero(), slope: 1.0 }
    }

    /// The levels of a unit at `z`: the payers pay one after the other, and all other columns share the rest.
    pub(crate) fn new(reach: &Reach, unit: usize, z: &N) -> Cap<N> {
        let upward = match z.sign() {
            Some(Ordering::Less) => true,
            Some(Ordering::Greater) => false,
            _ => return Cap::none(),
        };
        let mut room = if upward { z.negated() } else { z.clone() };
        let (mut pool, mut slope) = (Vec::new(), 0.0f64);
        let mut levels: Vec<(u32, N)> = Vec::with_capacity(reach.payers);
        for payer in 0..reach.payers {
            reach.largest(payer..payer + 1, (unit, upward), &mut pool);
            let level = level(&room, &mut pool, &mut slope);
            levels.push((reach.columns[payer].node, level));
            room = room.minus(&sum(&pool)).positive_part();
        }
        reach.largest(reach.payers..reach.columns.len(), (unit, upward), &mut pool);
        let shared = level(&room, &mut pool, &mut slope);
        levels.sort_unstable_by_key(|level| level.0);
        Cap { payers: levels.into(), shared, slope }
    }

    /// `T_n`.
    pub(crate) fn level(&self, node: u32) -> &N {
        self.payers.binary_search_by_key(&node, |level| level.0).map_or(&self.shared, |at| &self.payers[at].1)
    }
}

/// `T = ρ·⌊2⁴⁰·t⌋/2⁴⁰`, `t` the largest of `(ρ − rest)/(i·ρ)`, where `rest` is the sum of all but the `i` largest changes.
/// Sorts the changes, and raises `slope` to what they ask of [`Cap::slope`].
fn level<N: Number>(room: &N, changes: &mut [N], slope: &mut f64) -> N {
    changes.sort_by(|a, b| b.rank(a));
    let (mut rest, mut share) = (N::zero(), N::zero());
    // A room that may be zero, but is not known to be, gets a share between 0 and 1.
    if room.sign() != Some(Ordering::Equal) {
        for (i, change) in changes.iter().enumerate().rev() {
            let left = room.minus(&rest).positive_part();
            share = share.most(&N::share_below(&left, &room.scaled((i + 1) as f64)));
            rest.add(change);
        }
    }
    let level = room.times(&share);
    let (least, largest) = (level.enclosure().lower, changes.first().map_or(0.0, |change| change.enclosure().upper));
    if least < largest {
        // `min` takes the 1 where an overflow left no number.
        *slope = slope.max(((largest - least).next_up() / largest).next_up().min(1.0));
    }
    level
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::dyadic::Dyadic;
    use crate::interval::Interval;
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

    /// One unit, up to four neighbours with up to three flips in either direction, any number of them payers.
    fn random_reach(random: &mut Random) -> Reach<'static> {
        let columns: Vec<Column> = (0..1 + random.below(4) as u32)
            .map(|at| {
                let mut gains = Gains::default();
                for _ in 0..2 {
                    let mut sizes: Vec<f64> = (0..random.below(4)).map(|_| random.size()).collect();
                    sizes.sort_by(|a, b| b.total_cmp(a));
                    gains.values.extend(sizes);
                    gains.ends.push(gains.values.len() as u32);
                }
                let entry = [1.0, 1.0, 0.5, -1.0, -0.7, 1.0 / 3.0][random.below(6)];
                // Descending, so that the order of the payers is not that of the nodes.
                Column { node: 9 - at, gains: Cow::Owned(gains), left: random.below(4), entry }
            })
            .collect();
        Reach { payers: random.below(columns.len() + 1), columns, total: random.below(5) }
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
        let (mut with_payers, mut all_spent) = (0, 0);
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
            for column in &reach.columns {
                let (exact, open) = (cap.level(column.node), rounded.level(column.node));
                assert!(exact.sign() != Some(Ordering::Less));
                for (end, wrong) in [(open.lower, Ordering::Less), (open.upper, Ordering::Greater)] {
                    assert_ne!(exact.rank(&Dyadic::from_f64(end)), wrong, "round {round}: {open:?}");
                }
            }
            for mask in 0u32..1 << changes.len() {
                let made: Vec<&(usize, Dyadic)> =
                    (0..changes.len()).filter(|at| mask >> at & 1 == 1).map(|at| &changes[at]).collect();
                let spent = |at: usize| made.iter().filter(|change| change.0 == at).count();
                if made.len() > reach.total || (0..reach.columns.len()).any(|at| spent(at) > reach.columns[at].left) {
                    continue;
                }
                let paid: Vec<Dyadic> =
                    made.iter().map(|(at, x)| x.least(cap.level(reach.columns[*at].node))).collect();
                let left = Dyadic::from_f64(size).minus(&sum(&paid));
                assert_ne!(left.sign(), Some(Ordering::Less), "round {round}, {made:?}");
                with_payers += usize::from(reach.payers > 0 && !made.is_empty());
                all_spent += usize::from(left.sign() == Some(Ordering::Equal) && reach.payers > 1);
                for (at, x) in made {
                    for slope in [cap.slope, rounded.slope] {
                        let kink = x.minus(cap.level(reach.columns[*at].node)).positive_part();
                        assert_ne!(x.scaled(slope).rank(&kink), Ordering::Less, "round {round}");
                    }
                }
            }
        }
        assert!(with_payers > 10_000 && all_spent > 500, "{with_payers} {all_spent}");
    }

    #[test]
    fn payers_pay_in_their_order_and_the_others_share_the_rest() {
        let column = |node: u32, rises: &[f64], left: usize| {
            let gains = Gains { values: rises.to_vec(), ends: vec![0, rises.len() as u32] };
            Column { node, gains: Cow::Owned(gains), left, entry: 1.0 }
        };
        let levels = |payers: usize| {
            let columns =
                vec![column(7, &[3.0, 2.0, 1.0], 2), column(2, &[4.0], 1), column(5, &[1.0], 1), column(6, &[8.0], 1)];
            let cap = Cap::new(&Reach { columns, payers, total: 3 }, 0, &Dyadic::from_f64(-8.0));
            [7, 2, 5, 6].map(|node| cap.level(node).enclosure().upper)
        };
        let near = |found: [f64; 4], expected: [f64; 4]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10), "{found:?} {expected:?}");
        };
        // Of 8, 4, 3: 2.5 + 2.5 + 3 would be more than 8, 8/3 of each is not.
        near(levels(0), [8.0 / 3.0; 4]);
        // Node 7 pays all of its 5, at a level of 8 − 2; the others have 3: 8, 4 and 1 share it.
        near(levels(1), [6.0, 1.0, 1.0, 1.0]);
        // Then node 2 pays 3 of its 4, and nothing is left.
        near(levels(2), [6.0, 3.0, 0.0, 0.0]);
    }
}
