//! Separation: the prices (see [`crate::bound::line::envelope`]) whose line is lowest over a unit at a given fractional
//! attack.
//!
//! Split the attack `x` into a part `λ` that turns the unit on and a part `1 − λ` that leaves it off: `x = y + (x − y)`
//! with `y/λ` and `(x − y)/(1 − λ)` within the budget. The largest activation of such a split is the value of the
//! envelope at `x`,
//!
//! ```text
//! max over λ, y   λ z⁰ + Σ g_i y_i    s.t.   [x_i − (1 − λ)]₊ ≤ y_i ≤ min(x_i, λ),
//!                                             Y_n − q_n (1 − λ) ≤ Σ y_i ≤ q_n λ (node n),   the same in all with Q
//! ```
//!
//! and its multipliers are the prices. For a given `λ` the constraints are nested, and greedy solves them: flips in
//! falling order of `g`, each node stopping at its bounds, all of them at theirs. Its slope in `λ` is the difference of
//! the two terms of `B`, so `λ` is found by bisection, and of the prices on both sides of the kink the average has
//! equal terms.

use std::collections::BTreeMap;

use crate::bound::line::envelope::{Envelope, EnvelopePrices};
use crate::problem::flip::Flip;

/// Halvings of `λ`.
const HALVINGS: usize = 26;

/// A fractional attack over the lists of an envelope, and the budgets there.
pub(super) struct Point {
    /// Share of each listed flip.
    share: Vec<f64>,
    /// The listed node of each listed flip.
    node: Vec<usize>,
    /// `q_n` of the listed nodes.
    local: Vec<f64>,
    /// `Q`.
    global: f64,
}

/// Buffers by listed node.
#[derive(Default)]
pub(super) struct Buffers {
    order: Vec<usize>,
    /// Least and largest `Σ y_i`, what is taken so far, and the prices at which it passes either.
    node: Vec<Track>,
    /// `τ`.
    every: f64,
}

#[derive(Clone, Copy, Default)]
struct Track {
    sum: f64,
    least: f64,
    most: f64,
    taken: f64,
    price_least: Option<f64>,
    price_most: Option<f64>,
    /// `τ + ν`.
    price: f64,
}

impl Point {
    /// `shares` must be within the budgets; `local` gives those of nodes.
    pub(super) fn new(
        envelope: &Envelope,
        shares: &BTreeMap<Flip, f64>,
        global: usize,
        local: impl Fn(u32) -> usize,
    ) -> Point {
        let mut share = vec![0.0; envelope.flips.len()];
        for (&flip, x) in shares {
            if let Some(at) = envelope.place(flip).single {
                share[at] = x.clamp(0.0, 1.0);
            }
        }
        Point {
            share,
            node: envelope.flips.iter().filter_map(|&flip| envelope.place(flip).node).collect(),
            local: envelope.nodes.iter().map(|&n| local(n).min(global) as f64).collect(),
            global: global as f64,
        }
    }

    /// The lowest prices of a unit at `z⁰` that flip `i` of the list changes by `change[i]` (docs/math.md (5.11)).
    pub(super) fn separate(&self, z: f64, change: &[f64], buffers: &mut Buffers) -> EnvelopePrices {
        buffers.order.clear();
        buffers.order.extend((0..change.len()).filter(|&i| self.share[i] > 0.0));
        buffers.order.sort_unstable_by(|&i, &k| change[k].total_cmp(&change[i]).then(i.cmp(&k)));
        let (mut low, mut high) = (0.0, 1.0);
        let (mut rise, mut fall) = (None, None);
        for _ in 0..HALVINGS {
            let lambda = 0.5 * (low + high);
            let slope = self.slope(lambda, z, change, buffers);
            if slope > 0.0 {
                (low, rise) = (lambda, Some(slope));
            } else {
                (high, fall) = (lambda, Some(slope));
            }
        }
        match (rise, fall) {
            (Some(rise), Some(fall)) => {
                let mut prices = self.prices(low, z, change, buffers);
                prices.mix(&self.prices(high, z, change, buffers), rise / (rise - fall));
                prices
            }
            (Some(_), None) => self.prices(low, z, change, buffers),
            _ => self.prices(high, z, change, buffers),
        }
    }

    /// The prices at `λ`.
    fn prices(&self, lambda: f64, z: f64, change: &[f64], buffers: &mut Buffers) -> EnvelopePrices {
        self.slope(lambda, z, change, buffers);
        let every = buffers.every;
        let mut prices = EnvelopePrices { share: 1.0, every, node: Vec::new(), single: vec![0.0; change.len()] };
        prices.node.extend(buffers.node.iter().map(|track| track.price - every));
        for &i in &buffers.order {
            prices.single[i] = self.single(i, lambda, change[i] - buffers.node[self.node[i]].price);
        }
        prices
    }

    /// `ρ` of a flip whose change exceeds its node's price by `over`: where its share is bounded by `λ`, or by `1 − λ`.
    fn single(&self, i: usize, lambda: f64, over: f64) -> f64 {
        let bound = over > 0.0 && self.share[i] >= lambda || over < 0.0 && self.share[i] >= 1.0 - lambda;
        if bound { over } else { 0.0 }
    }

    /// The slope of the value at `λ`; leaves `τ` and the nodes' `τ + ν` in the buffers (docs/math.md (6.5), (6.6)).
    fn slope(&self, lambda: f64, z: f64, change: &[f64], buffers: &mut Buffers) -> f64 {
        let Buffers { order, node: tracks, every: tau } = buffers;
        let rest = 1.0 - lambda;
        let bounds = |i: usize| ((self.share[i] - rest).max(0.0), self.share[i].min(lambda));
        tracks.clear();
        tracks.resize(self.local.len(), Track::default());
        for &i in order.iter() {
            let track = &mut tracks[self.node[i]];
            track.sum += self.share[i];
            track.taken += bounds(i).0;
        }
        let (mut total, mut base) = (0.0, 0.0);
        for (track, q) in tracks.iter_mut().zip(&self.local) {
            track.least = (track.sum - q * rest).max(track.taken);
            track.most = (q * lambda).max(track.least);
            total += track.sum;
            base += track.least;
        }
        // τ: by walking over all flips in falling order, as far as their nodes allow.
        let (least, most) = ((total - self.global * rest).max(0.0), self.global * lambda);
        let (mut taken, mut every) = (base, None);
        const SLACK: f64 = 1e-12;
        for &i in order.iter() {
            let track = &mut tracks[self.node[i]];
            let (from, to) = bounds(i);
            let before = track.taken;
            track.taken += to - from;
            let within = |x: f64| x.clamp(track.least, track.most);
            let step = within(track.taken) - within(before);
            if before < track.least - SLACK && track.taken >= track.least - SLACK {
                track.price_least = Some(change[i]);
            }
            if track.taken > track.most + SLACK && track.price_most.is_none() {
                track.price_most = Some(change[i]);
            }
            taken += step;
            let (enough, too_much) = (taken >= least - SLACK, taken > most + SLACK);
            if every.is_none()
                && (change[i] > 0.0 && too_much
                    || change[i] < 0.0 && step > 0.0 && enough && taken - step < least - SLACK)
            {
                every = Some(change[i]);
            }
        }
        *tau = every.unwrap_or(0.0);
        // τ + ν of a node lies between the prices at which it passes its bounds.
        let mut slope = z + self.global * *tau;
        for (track, q) in tracks.iter_mut().zip(&self.local) {
            track.price = tau.max(track.price_most.unwrap_or(*tau)).min(track.price_least.unwrap_or(f64::INFINITY));
            slope += q * (track.price - *tau);
        }
        for &i in order.iter() {
            slope += self.single(i, lambda, change[i] - tracks[self.node[i]].price);
        }
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::line::envelope::ListedBudgets;
    use crate::number::rounding::Enclosure;
    use gcnproof_verify::random::Stream;

    /// A unit with its changes, three nodes with two or three flips each, and all admissible sets.
    struct World {
        envelope: Envelope,
        z: f64,
        change: Vec<f64>,
        global: usize,
        local: [usize; 3],
        sets: Vec<u32>,
    }

    impl World {
        fn new(random: &mut Stream) -> World {
            let mut envelope = Envelope::new(1);
            for node in 0..3 {
                (0..2 + random.below(2) as u32).for_each(|attribute| envelope.list(Flip { node, attribute }));
            }
            let whole = random.chance(50);
            let mut number = || if whole { random.below(7) as f64 - 3.0 } else { 3.0 * random.real() };
            let (z, change) = (number(), envelope.flips.iter().map(|_| number()).collect());
            let (global, local) = (random.below(5), [0; 3].map(|_| random.below(3)));
            let mut world = World { envelope, z, change, global, local, sets: Vec::new() };
            world.sets = (0..1 << world.change.len()).filter(|&set| world.is_admissible(set)).collect();
            world
        }

        fn is_admissible(&self, set: u32) -> bool {
            let made = |node: u32| {
                let flips = self.envelope.flips.iter().enumerate();
                flips.filter(|(i, flip)| set >> i & 1 == 1 && flip.node == node).count()
            };
            set.count_ones() as usize <= self.global && (0..3).all(|node| made(node) <= self.local[node as usize])
        }

        fn activation(&self, set: u32) -> f64 {
            let changes = self.change.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            (self.z + changes.map(|change| change.1).sum::<f64>()).max(0.0)
        }

        fn line(&self, prices: &EnvelopePrices, shares: impl Fn(usize) -> f64) -> f64 {
            // The budgets are what a restriction would leave.
            let locals = self.local.map(|q| q.min(self.global) as f64);
            let left = ListedBudgets::of(
                self.global as f64,
                self.envelope.nodes.iter().map(|&n| locals[n as usize]).collect(),
                vec![true; self.change.len()],
            );
            let base = left.base(prices, Enclosure { value: self.z, error: 0.0 });
            let flips = self.envelope.flips.iter().enumerate();
            base + flips.map(|(i, &f)| shares(i) * prices.change(self.envelope.place(f), self.change[i])).sum::<f64>()
        }

        fn separate(&self, shares: &[f64]) -> EnvelopePrices {
            let shares = self.envelope.flips.iter().copied().zip(shares.iter().copied()).collect();
            let point = Point::new(&self.envelope, &shares, self.global, |n| self.local[n as usize]);
            point.separate(self.z, &self.change, &mut Buffers::default())
        }
    }

    fn bit(set: u32) -> impl Fn(usize) -> f64 {
        move |i| f64::from(set >> i & 1)
    }

    #[test]
    fn a_line_lies_over_every_attack_and_touches_the_one_it_was_made_for() {
        let mut random = Stream::new(1);
        let mut fractional = 0;
        for round in 0..3_000 {
            let world = World::new(&mut random);
            let pick = |random: &mut Stream| world.sets[random.below(world.sets.len())];
            let (one, two, share) = (pick(&mut random), pick(&mut random), random.real().abs());
            let mixed = |i: usize| share * bit(one)(i) + (1.0 - share) * bit(two)(i);
            let points: [Vec<f64>; 2] =
                [(0..world.change.len()).map(bit(one)).collect(), (0..world.change.len()).map(mixed).collect()];
            for (point, expected) in points
                .iter()
                .zip([world.activation(one), share * world.activation(one) + (1.0 - share) * world.activation(two)])
            {
                let prices = world.separate(point);
                for &set in &world.sets {
                    let line = world.line(&prices, bit(set));
                    assert!(line >= world.activation(set) - 1e-9, "round {round}: {line} under {set:b}");
                }
                let here = world.line(&prices, |i| point[i]);
                assert!(here >= expected - 1e-9, "round {round}");
                let whole = point.iter().all(|x| *x == 0.0 || *x == 1.0);
                assert!(!whole || here <= expected + 1e-6, "round {round}: {here}, not {expected}");
                fractional += usize::from(!whole);
            }
        }
        assert!(fractional > 1_000);
    }

    #[test]
    fn no_line_is_lower_at_a_fractional_attack() {
        // Two flips of one node, of which one may be made: at half of each the unit is on in one case of two.
        let mut envelope = Envelope::new(1);
        (0..2).for_each(|attribute| envelope.list(Flip { node: 0, attribute }));
        let world = World { envelope, z: -1.0, change: vec![3.0, 0.5], global: 1, local: [1, 0, 0], sets: Vec::new() };
        let prices = world.separate(&[0.5, 0.5]);
        assert!((world.line(&prices, |_| 0.5) - 1.0).abs() < 1e-6);
    }
}
