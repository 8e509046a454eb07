//! What single changes can do to a number, carried through sums and activations (`FORMAT-EDGES.md` §8.4). An interval
//! here holds two claims about a change: it does at least its lower end and at most its upper end, in the sense that
//! for every set of changes the sum of lower ends is not above what they do together, nor the sum of upper ends below.

use super::{Down, Interval, Up};

/// Sums of the `count` and of the `count − 1` largest positive numbers, not below the exact ones.
fn largest(numbers: impl Iterator<Item = f64>, count: usize) -> [f64; 2] {
    let mut positive: Vec<f64> = numbers.filter(|&x| x > 0.0).collect();
    positive.sort_unstable_by(|a, b| b.total_cmp(a));
    let sum = |count: usize| positive.iter().take(count).fold(Up(0.0), |sum, &x| sum.plus(Up(x))).0;
    [sum(count), sum(count.saturating_sub(1))]
}

/// How far at most `budget` changes can move a number together, and how far all but one of them can.
pub(crate) fn together(changes: &[Interval], budget: usize) -> [Interval; 2] {
    let rise = largest(changes.iter().map(|x| x.upper.0), budget);
    let fall = largest(changes.iter().map(|x| -x.lower.0), budget);
    [0, 1].map(|at| Interval { lower: Down(-fall[at]), upper: Up(rise[at]) })
}

/// What changes of a pre-activation do behind `max(·, 0)`, and how far all can move that together.
pub(crate) fn activate(z: Interval, changes: &[Interval], budget: usize) -> (Vec<Interval>, Interval) {
    let [rise, _] = largest(changes.iter().map(|x| x.upper.0), budget);
    let [drop, _] = largest(changes.iter().map(|x| -x.upper.0), budget);
    let [fall, fall_of_others] = largest(changes.iter().map(|x| -x.lower.0), budget);
    let [_, rise_of_others] = largest(changes.iter().map(|x| x.lower.0), budget);
    let number = |x: f64| Interval { lower: Down(x), upper: Up(x) };
    let reach = Interval { lower: z.lower.plus(Down(-fall)), upper: z.upper.plus(Up(rise)) };
    let within = Interval {
        lower: reach.positive_part().lower.minus(z.positive_part().upper),
        upper: reach.positive_part().upper.minus(z.positive_part().lower),
    };
    // `max(·, 0)` stretches nothing: where `z` is hardly known, that says more.
    let all = within.meet(Interval { lower: Down(-fall), upper: Up(rise) });
    // Slopes of a line above the unit: any gain that is not below, any loss that is not above.
    let [gain, loss] = Interval::relu_slopes(z, number(rise), number(drop), -40);
    // Where it is not said whether `z` is positive, both rules are applied.
    let (may_be_active, may_be_inactive) = (z.upper.0 > 0.0, z.lower.0 <= 0.0);
    let least = |x: f64| {
        let active = x.max((-z).lower.plus(Down(-rise_of_others)).0);
        let inactive = z.lower.plus(Down(x)).plus(Down(-fall_of_others)).0.max(0.0);
        match (may_be_active, may_be_inactive) {
            (true, false) => active,
            (false, true) => inactive,
            _ => active.min(inactive),
        }
    };
    let most = |x: f64| {
        if x > 0.0 { Up(x).times_up(gain.upper).0 } else { -Down(-x).product(loss.lower.0).0 }
    };
    let moved = |x: &Interval| Interval { lower: Down(least(x.lower.0)), upper: Up(most(x.upper.0)) };
    (changes.iter().map(moved).collect(), all)
}

impl Down {
    /// `self · factor`, both not negative.
    fn product(self, factor: f64) -> Down {
        Down(super::product_below(self.0.max(0.0), factor.max(0.0)))
    }
}

impl Interval {
    /// The quotient by an integer that is not 0.
    pub(crate) fn over(self, count: i64) -> Interval {
        let of = if count < 0 { -self } else { self };
        let count = count.unsigned_abs() as f64;
        let (lower, upper) = (of.lower.0 / count, of.upper.0 / count);
        Interval {
            lower: Down(if lower.is_nan() { f64::NEG_INFINITY } else { lower.next_down() }),
            upper: Up(if upper.is_nan() { f64::INFINITY } else { upper.next_up() }),
        }
    }

    /// What two intervals around the same number have in common.
    pub(crate) fn meet(self, other: Interval) -> Interval {
        Interval {
            lower: if other.lower.0 > self.lower.0 { other.lower } else { self.lower },
            upper: self.upper.least(other.upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On small integers: whatever sets are made, sums of ends enclose what they do.
    #[test]
    fn what_is_carried_behind_an_activation_encloses_all_sets() {
        let mut seed = 1u64;
        let mut next = |range: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % range
        };
        for _ in 0..3000 {
            let budget = 1 + next(3) as usize;
            let z = next(9) as f64 - 4.0;
            let ends: Vec<[f64; 2]> = (0..4)
                .map(|_| {
                    let low = next(7) as f64 - 4.0;
                    [low, low + next(3) as f64]
                })
                .collect();
            let changes: Vec<Interval> = ends.iter().map(|e| Interval { lower: Down(e[0]), upper: Up(e[1]) }).collect();
            let (moved, all) = activate(Interval { lower: Down(z), upper: Up(z) }, &changes, budget);
            for set in 0u32..16 {
                if set.count_ones() as usize > budget {
                    continue;
                }
                let members: Vec<usize> = (0..4).filter(|&at| set >> at & 1 == 1).collect();
                let sum = |side: usize| members.iter().map(|&at| ends[at][side]).sum::<f64>();
                for delta in [sum(0), sum(1)] {
                    let does = (z + delta).max(0.0) - z.max(0.0);
                    let low: f64 = members.iter().map(|&at| moved[at].lower.0).sum();
                    let high: f64 = members.iter().map(|&at| moved[at].upper.0).sum();
                    assert!(low <= does + 1e-9 && does <= high + 1e-9, "{z} {ends:?} {members:?}");
                    assert!(all.lower.0 <= does && does <= all.upper.0);
                }
            }
        }
    }
}
