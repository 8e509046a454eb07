//! One class pair with a fixed number of edges removed at the target: the bound at a price (docs/math.md (18.10)), in
//! floats none of which is above the exact number ([`estimate`](crate::edges::estimate)) or in exact numbers
//! ([`exact`](crate::edges::exact)).

use std::cmp::Ordering;

use crate::edges::scene::{NodeLeft, Scene};
use crate::edges::share::Shares;
use crate::number::dyadic::Dyadic;
use crate::number::rounding::UNIT;

/// Numbers that the bound is summed in.
pub(crate) trait Number: Clone + PartialOrd {
    /// What an operation costs, in multiplications of floats.
    const WORK: usize;
    fn zero() -> Self;
    fn add(&mut self, other: &Self);
    fn minus(&self, other: &Self) -> Self;
    fn order(&self, other: &Self) -> Ordering;
    /// A price times a cost.
    fn payment(price: f64, cost: f64) -> Self;
    /// This value of a message times what an entry gains: the difference of two `entries`, or a float near it; not
    /// above the exact product.
    fn gained(&self, gain: f64, entries: impl FnOnce() -> [f64; 2]) -> Self;
    /// The absolute value of what is rounded when it is summed; 0 where nothing is.
    fn size(&self) -> f64;
}

impl Number for f64 {
    const WORK: usize = 1;

    fn zero() -> f64 {
        0.0
    }

    #[inline]
    fn add(&mut self, other: &f64) {
        *self += other;
    }

    #[inline]
    fn minus(&self, other: &f64) -> f64 {
        self - other
    }

    #[inline]
    fn order(&self, other: &f64) -> Ordering {
        self.total_cmp(other)
    }

    #[inline]
    fn payment(price: f64, cost: f64) -> f64 {
        price * cost
    }

    #[inline]
    fn gained(&self, gain: f64, _: impl FnOnce() -> [f64; 2]) -> f64 {
        // The difference has one rounding, the product another.
        let value = gain * self;
        value - 4.0 * UNIT * value.abs()
    }

    #[inline]
    fn size(&self) -> f64 {
        self.abs()
    }
}

impl Number for Dyadic {
    const WORK: usize = 64;

    fn zero() -> Dyadic {
        Dyadic::ZERO
    }

    fn add(&mut self, other: &Dyadic) {
        *self += other;
    }

    fn minus(&self, other: &Dyadic) -> Dyadic {
        self - other
    }

    fn order(&self, other: &Dyadic) -> Ordering {
        self.cmp(other)
    }

    fn payment(price: f64, cost: f64) -> Dyadic {
        if price == 0.0 { Dyadic::ZERO } else { &Dyadic::from(price) * &Dyadic::from(cost) }
    }

    fn gained(&self, _: f64, entries: impl FnOnce() -> [f64; 2]) -> Dyadic {
        let [after, before] = entries();
        &(&Dyadic::from(after) - &Dyadic::from(before)) * self
    }

    fn size(&self) -> f64 {
        0.0
    }
}

/// A neighbour that is kept with so many edges removed at it.
#[derive(Debug)]
pub(super) struct Kept<N> {
    /// What it adds at its anchor, and its number of edges at the target.
    pub(super) constant: N,
    /// Values of cutting its links, where that is possible.
    pub(super) cut: Vec<Option<N>>,
    /// Values of one more message of each link, where that lowers the margin and removals elsewhere at the sender can
    /// do it.
    pub(super) more: Vec<Option<N>>,
}

/// A neighbour.
#[derive(Debug)]
pub(super) struct Row<N> {
    /// The value at the target of cutting it, where that is possible.
    pub(super) cut: Option<N>,
    pub(super) kept: Vec<Kept<N>>,
}

/// The values of all states: none is above the exact one.
#[derive(Debug)]
pub(crate) struct Case<N> {
    pub(super) removed: usize,
    pub(super) budget: usize,
    pub(super) constant: N,
    pub(super) rows: Vec<Row<N>>,
    /// About how far the values may be below the exact ones, in all.
    pub(super) doubt: f64,
    /// The relative error of a sum of them.
    pub(super) roundings: f64,
}

/// What a price gives: not above the margin of any set, up to the rounding of the sum.
#[derive(Clone, Debug)]
pub(crate) struct Sum<N> {
    pub(crate) value: N,
    /// What the minimiser pays, in removals.
    pub(crate) cost: f64,
    /// Absolute values of all that was summed.
    pub(crate) size: f64,
}

/// The smallest state of a neighbour, or the best number of removals elsewhere at a sender.
#[derive(Clone, Debug)]
struct Choice<N> {
    value: N,
    cost: f64,
    removed: usize,
}

/// A sender that is cut rather than kept: by how much that changes value and cost.
#[derive(Clone, Debug)]
struct Swap<N> {
    value: N,
    cost: f64,
    at: usize,
}

/// The `count` smallest swaps come first.
fn smallest<N: Number>(swaps: &mut [Swap<N>], count: usize) -> &[Swap<N>] {
    if count > 0 && count < swaps.len() {
        swaps.select_nth_unstable_by(count - 1, |x, y| x.value.order(&y.value));
    }
    &swaps[..count.min(swaps.len())]
}

impl<N: Number> Case<N> {
    /// Edges removed at the target.
    pub(crate) fn removed_at_target(&self) -> usize {
        self.removed
    }

    /// How many removals elsewhere at the sender of a link there can be, and whether that to the target is among them
    /// for nothing.
    fn elsewhere(&self, scene: &Scene, [place, link]: [usize; 2], removed: usize) -> (usize, usize) {
        let to = &scene.around[place].links[link];
        let paid = usize::from(to.to_target && self.removed > 0);
        let unpaid = to.others - usize::from(to.to_target);
        let cap = scene.ground.cap[to.node as usize] as usize;
        ((unpaid + paid).min(cap).min(self.budget - removed + paid), paid)
    }

    /// The best number of removals elsewhere at the sender of a link: value with price, cost, number.
    #[inline]
    fn best(&self, scene: &Scene, shares: &Shares, price: f64, [place, link, removed]: [usize; 3]) -> Choice<N> {
        let mut best = Choice { value: N::zero(), cost: 0.0, removed: 0 };
        let Some(more) = &self.rows[place].kept[removed].more[link] else { return best };
        let (most, paid) = self.elsewhere(scene, [place, link], removed);
        let costs = shares.other(place, link);
        let of = &scene.around[place];
        for (k, &gain) in of.states[removed].gains(link).iter().enumerate().take(most) {
            // The edge to the target comes first: it is paid already.
            let cost = k.checked_sub(paid).map_or(0.0, |at| costs[at]);
            let mut value = more.gained(gain, || {
                let (node, sender) = (NodeLeft(of.node, scene.left(of.node) - removed), of.links[link].node);
                [k + 1, 0].map(|gone| scene.entry(node, NodeLeft(sender, scene.left(sender) - gone)))
            });
            value.add(&N::payment(price, cost));
            if value < best.value {
                best = Choice { value, cost, removed: k + 1 };
            }
        }
        best
    }

    /// A neighbour kept with `removed` edges: value with price and cost, and the swaps that were made.
    fn kept(
        &self,
        scene: &Scene,
        shares: &Shares,
        price: f64,
        [place, removed]: [usize; 2],
        swaps: &mut Vec<Swap<N>>,
    ) -> (Choice<N>, f64) {
        let kept = &self.rows[place].kept[removed];
        let (mut value, mut cost, mut size) = (kept.constant.clone(), 0.0, kept.constant.size());
        swaps.clear();
        let mut largest = 0.0f64;
        for (link, cut) in kept.cut.iter().enumerate() {
            let best = self.best(scene, shares, price, [place, link, removed]);
            value.add(&best.value);
            cost += best.cost;
            // Choices that were not taken count too: their values are rounded as well.
            let gain = scene.around[place].states[removed].gains(link).last().copied().unwrap_or(0.0);
            let most = kept.more[link].as_ref().map_or(0.0, |more| gain * more.size());
            let here = best.value.size() + 2.0 * price * best.cost + 3.0 * most;
            size += here;
            if let Some(cut) = cut.as_ref().filter(|_| removed > 0) {
                let pays = shares.cut[place][link];
                largest = largest.max(cut.size() + price * pays + here);
                let mut value = cut.clone();
                value.add(&N::payment(price, pays));
                swaps.push(Swap { value: value.minus(&best.value), cost: pays - best.cost, at: link });
            }
        }
        for swap in smallest(swaps, removed) {
            value.add(&swap.value);
            cost += swap.cost;
        }
        size += 2.0 * largest * removed as f64;
        (Choice { value, cost, removed }, size)
    }

    /// The bound at a price; `used` gets the edges that the minimiser removes. `None` if it is late.
    pub(crate) fn at(
        &self,
        scene: &Scene,
        shares: &Shares,
        price: f64,
        mut used: Option<&mut Vec<u32>>,
    ) -> Option<Sum<N>> {
        let (mut value, mut cost, mut size) = (self.constant.clone(), 0.0, self.constant.size());
        let mut swaps = Vec::new();
        let mut cuts = Vec::new();
        let mut chosen = Vec::new();
        let mut highest = 0.0f64;
        for (place, row) in self.rows.iter().enumerate() {
            let mut least: Option<Choice<N>> = None;
            let mut largest = 0.0f64;
            for (removed, kept) in row.kept.iter().enumerate() {
                if scene.pace.is_late_for(N::WORK * (4 + self.budget.min(64)) * kept.cut.len()) {
                    return None;
                }
                let (choice, size) = self.kept(scene, shares, price, [place, removed], &mut swaps);
                largest = largest.max(size);
                if least.as_ref().is_none_or(|least| choice.value < least.value) {
                    least = Some(choice);
                }
            }
            let Some(least) = least else { continue };
            value.add(&least.value);
            cost += least.cost;
            size += largest;
            if let Some(cut) = &row.cut {
                highest = highest.max(cut.size() + largest);
                cuts.push(Swap { value: cut.minus(&least.value), cost: -least.cost, at: place });
            }
            chosen.push([place, least.removed]);
        }
        size += 2.0 * highest * self.removed as f64;
        for swap in smallest(&mut cuts, self.removed) {
            value.add(&swap.value);
            cost += swap.cost;
        }
        if let Some(used) = &mut used {
            let cut: Vec<usize> = smallest(&mut cuts, self.removed).iter().map(|swap| swap.at).collect();
            used.extend(cut.iter().map(|&place| scene.around[place].edge));
            for state in chosen.into_iter().filter(|[place, _]| !cut.contains(place)) {
                self.name(scene, shares, price, state, used);
            }
        }
        let budget = N::payment(price, self.budget as f64);
        size += budget.size();
        Some(Sum { value: value.minus(&budget), cost, size })
    }

    /// The edges that a kept neighbour's minimiser removes.
    fn name(&self, scene: &Scene, shares: &Shares, price: f64, [place, removed]: [usize; 2], used: &mut Vec<u32>) {
        let mut swaps = Vec::new();
        self.kept(scene, shares, price, [place, removed], &mut swaps);
        let cut: Vec<usize> = smallest(&mut swaps, removed).iter().map(|swap| swap.at).collect();
        let links = &scene.around[place].links;
        used.extend(cut.iter().map(|&link| links[link].edge));
        for (link, to) in links.iter().enumerate().filter(|(link, _)| !cut.contains(link)) {
            let best = self.best(scene, shares, price, [place, link, removed]);
            let order = shares.order.get(to.node as usize).map_or(&[][..], Vec::as_slice);
            let elsewhere = order.iter().map(|of| of.1).filter(|&edge| edge != to.edge);
            used.extend(elsewhere.take(best.removed));
        }
    }
}
