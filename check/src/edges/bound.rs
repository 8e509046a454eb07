//! The bound of a leaf with prices (`FORMAT-EDGES.md` §4): the least that the margin can be, for any prices and
//! weights.

use super::anchor;
use super::anchor::{Anchor, Anchors, Kept};
use super::cost::LeafCost;
use super::line::EdgePrices;
use super::network::Pair;
use super::number::{Scalar, UnitLine};
use super::scene::{Neighbour, NeighbourLink, Scene};
use super::share::Shares;
use crate::number::Stored;
use crate::verdict::Reason;
use crate::work::Meter;

/// The prices of a leaf for every number of removals at the target.
///
/// # Errors
/// If one is negative, or if there are more than such numbers.
pub fn prices<N: Scalar>(scene: &Scene, hints: &EdgePrices) -> Result<Vec<N>, Reason> {
    let numbers = scene.most_at_target() + 1;
    if hints.mu.len() > numbers {
        return Err(Reason::HintOrder("mu"));
    }
    if hints.mu.iter().any(|mu| mu.0.is_negative()) {
        return Err(Reason::HintSign("mu"));
    }
    let of = |at: usize| hints.mu.get(at).or(hints.mu.last()).map_or(N::zero(), |mu| N::of(&mu.0));
    Ok((0..numbers).map(of).collect())
}

/// The lines of a node's units in one state.
struct UnitLines<N> {
    constant: N,
    slopes: Vec<[N; 2]>,
}

impl<N: Scalar> UnitLines<N> {
    fn new(coefficients: &[N], anchor: &Anchor<N>) -> UnitLines<N> {
        let mut lines = UnitLines { constant: N::zero(), slopes: Vec::with_capacity(coefficients.len()) };
        for (unit, g) in coefficients.iter().enumerate() {
            let [rise, fall] = &anchor.reach[unit];
            let UnitLine { constant, up, down } = N::line(g, &anchor.z[unit], [rise, fall], anchor.kinds[unit]);
            lines.constant = lines.constant.plus(&constant);
            lines.slopes.push([up, down]);
        }
        lines
    }

    /// The values of `+1` and `−1` times what a node sends.
    fn values(&self, sent: &[N]) -> [N; 2] {
        let mut values = [N::zero(), N::zero()];
        for (y, [up, down]) in sent.iter().zip(&self.slopes) {
            let (rise, fall) = (y.positive_part(), y.negated().positive_part());
            if !rise.is_zero() {
                values[0] = values[0].plus(&up.times(&rise));
                values[1] = values[1].minus(&down.times(&rise));
            }
            if !fall.is_zero() {
                values[0] = values[0].minus(&down.times(&fall));
                values[1] = values[1].plus(&up.times(&fall));
            }
        }
        values
    }
}

/// The value of `factor` times a message, from those of `+1` and `−1` times it.
fn times<N: Scalar>(factor: &N, values: &[N; 2]) -> N {
    let plus = factor.positive_part().times(&values[0]);
    let less = factor.negated().positive_part();
    if less.is_zero() { plus } else { plus.plus(&less.times(&values[1])) }
}

/// A leaf for one class pair.
struct PricedLeaf<'a, N> {
    scene: &'a Scene<'a, 'a>,
    cost: &'a LeafCost,
    meter: &'a Meter<'a>,
    cached: Option<&'a Anchors<N>>,
    pair: &'a Pair<N>,
    shares: &'a Shares,
    prices: &'a [N],
}

/// What a link of a neighbour costs, before the price: cutting it, and 1, 2, … removals elsewhere at its other end, of
/// which none is that of the edge to the target.
struct Costs<N> {
    cut: N,
    elsewhere: Vec<N>,
}

/// A lower bound of the margin of a class pair over all sets of the path. `cached` are the anchors of the scene, if
/// they are at hand.
///
/// # Errors
/// If the hints are not admissible, or if it takes too long.
pub fn bound<N: Scalar>(
    scene: &Scene,
    pair: &Pair<N>,
    hints: &EdgePrices,
    cached: Option<&Anchors<N>>,
    cost: &LeafCost,
    meter: &Meter,
) -> Result<N, Reason> {
    let prices = prices(scene, hints)?;
    meter.ahead(cost.operations().saturating_mul(N::STEPS))?;
    let shares = Shares::new(scene, hints)?;
    let leaf = PricedLeaf { scene, cost, meter, cached, pair, shares: &shares, prices: &prices };
    let centers: Result<Vec<Option<UnitLines<N>>>, Reason> =
        (0..prices.len()).map(|removed| leaf.center(removed)).collect();
    let centers = centers?;
    // For every number of removals at the target: the sum so far, and by how much cuts change it.
    let start = |center: &Option<UnitLines<N>>| match center {
        Some(lines) => pair.bias.plus(&lines.constant),
        None => pair.bias.clone(),
    };
    let mut sums: Vec<(N, Vec<N>)> = centers.iter().map(|center| (start(center), Vec::new())).collect();
    for (place, neighbour) in scene.neighbours.iter().enumerate() {
        meter.spend(N::steps(cost.neighbour(place)))?;
        let sent = leaf.sent(neighbour.node);
        let values: Vec<Option<[N; 2]>> = centers.iter().map(|lines| Some(lines.as_ref()?.values(sent))).collect();
        for (removed, kept) in leaf.kept(place, &values)?.into_iter().enumerate() {
            let (sum, swaps) = &mut sums[removed];
            if neighbour.free {
                let entry = scene.center_entry(neighbour, removed, 0);
                let cut = values[removed].as_ref().map_or(N::zero(), |values| values[1].scaled(entry));
                swaps.push(cut.minus(&kept));
            }
            *sum = sum.plus(&kept);
        }
    }
    let totals = sums.into_iter().enumerate().map(|(removed, (sum, swaps))| {
        let paid = prices[removed].times(&N::count(scene.budget - removed));
        sum.plus(&N::sum_of_smallest(swaps, removed)).minus(&paid)
    });
    // There is at least the case without removals at the target.
    Ok(totals.reduce(|least, next| least.least(&next)).unwrap_or(N::zero()))
}

impl<N: Scalar> PricedLeaf<'_, N> {
    fn sent(&self, node: usize) -> &[N] {
        self.scene.network.sent(self.scene.id(node))
    }

    /// `u` along edges or from the node to itself, by the entries of the terms.
    fn coefficients(&self, entry: impl Fn(usize) -> Stored) -> Vec<N> {
        let mut sums = vec![N::zero(); self.scene.network.linear.len()];
        for (term, weights) in self.pair.weights.iter().enumerate() {
            let entry = entry(term);
            if !entry.is_zero() {
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum = sum.plus(&w.scaled(entry)));
            }
        }
        sums
    }

    /// The lines of the target's own units; `None` where the second layer does not take them.
    fn center(&self, removed: usize) -> Result<Option<UnitLines<N>>, Reason> {
        self.meter.spend(N::steps(self.cost.center()))?;
        let (scene, network) = (self.scene, self.scene.network);
        let fresh;
        let anchor = match self.cached {
            Some(anchors) => anchors.centers[removed].as_ref(),
            None => {
                fresh = anchor::center(scene, removed);
                fresh.as_ref()
            }
        };
        let Some(anchor) = anchor else { return Ok(None) };
        let here = scene.with(scene.target(), removed);
        let coefficients = self.coefficients(|term| scene.own_entry(network.terms[term].rule, here));
        Ok(Some(UnitLines::new(&coefficients, anchor)))
    }

    /// The least that a kept neighbour adds, with prices, for every number of removals at the target.
    /// `values` are those at the target of what it sends.
    fn kept(&self, place: usize, values: &[Option<[N; 2]>]) -> Result<Vec<N>, Reason> {
        let (scene, neighbour) = (self.scene, &self.scene.neighbours[place]);
        let mut least: Vec<Option<N>> = vec![None; self.prices.len()];
        let costs: Vec<Costs<N>> = neighbour.links.iter().map(|link| self.costs(neighbour, link)).collect();
        // One number of removals at a time: what all of them need together grows with the cube of a degree.
        for r in 0..=scene.most_at(neighbour) {
            self.meter.spend(N::steps(self.cost.state(place, r)))?;
            let fresh;
            let kept = match self.cached {
                Some(anchors) => &anchors.around[place][r],
                None => {
                    fresh = anchor::kept(scene, neighbour, r);
                    &fresh
                }
            };
            for (removed, mut value) in self.states(neighbour, r, kept, &costs).into_iter().enumerate() {
                if let Some(values) = &values[removed] {
                    let before = N::stored(scene.center_entry(neighbour, removed, 0));
                    let gain = N::stored(scene.center_entry(neighbour, removed, r)).minus(&before);
                    value = value.plus(&times(&gain, values));
                }
                least[removed] = Some(match &least[removed] {
                    Some(least) => least.least(&value),
                    None => value,
                });
            }
        }
        // Without removals at the neighbour there is always a state.
        Ok(least.into_iter().map(|least| least.unwrap_or(N::zero())).collect())
    }

    fn costs(&self, neighbour: &Neighbour, link: &NeighbourLink) -> Costs<N> {
        let scene = self.scene;
        let most = scene.cap(link.node).min(link.others).min(scene.budget);
        // Without a price, or where entries do not depend on the sender, nobody asks.
        let most = if self.prices.iter().all(N::is_zero) || !scene.network.rule.reads_sender() { 0 } else { most };
        let elsewhere = self.shares.elsewhere(neighbour, link, most);
        Costs { cut: N::of(&self.shares.cut(neighbour, link)), elsewhere: elsewhere.iter().map(N::of).collect() }
    }

    /// What a neighbour kept with `r` removals adds at least by its own units, for 0, 1, … removals at the target.
    fn states(&self, neighbour: &Neighbour, r: usize, kept: &Kept<N>, costs: &[Costs<N>]) -> Vec<N> {
        let (scene, network) = (self.scene, self.scene.network);
        let here = scene.with(neighbour.node, r);
        let case = |(removed, anchor): (usize, &Anchor<N>)| {
            let target = scene.with(scene.target(), removed);
            let coefficients = self.coefficients(|term| scene.entry(network.terms[term].rule, target, here));
            let lines = UnitLines::new(&coefficients, anchor);
            self.least(neighbour, costs, kept, &lines, removed, r)
        };
        kept.cases.iter().enumerate().map(case).collect()
    }

    /// The least over the states of all links, exactly `r` of them cut.
    fn least(
        &self,
        neighbour: &Neighbour,
        costs: &[Costs<N>],
        kept: &Kept<N>,
        lines: &UnitLines<N>,
        removed: usize,
        r: usize,
    ) -> N {
        let (scene, price) = (self.scene, &self.prices[removed]);
        let room = scene.budget - removed - r;
        let mut sum = lines.constant.clone();
        let mut swaps = Vec::new();
        let senders = kept.senders.iter().zip(&kept.gains);
        for ((link, costs), (sender, gains)) in neighbour.links.iter().zip(costs).zip(senders) {
            let cut = sender.cut.filter(|_| r > 0);
            if cut.is_none() && gains.is_empty() {
                continue;
            }
            let values = lines.values(self.sent(link.node));
            let best = self.best(link, gains, &values, &costs.elsewhere, removed, room);
            if let Some(entry) = cut {
                swaps.push(values[1].scaled(entry).plus(&price.times(&costs.cut)).minus(&best));
            }
            sum = sum.plus(&best);
        }
        sum.plus(&N::sum_of_smallest(swaps, r))
    }

    /// The least over the numbers of removals elsewhere at the sender of a link that is kept.
    fn best(&self, link: &NeighbourLink, gains: &[N], values: &[N; 2], costs: &[N], removed: usize, room: usize) -> N {
        // Entries grow and prices are not negative, so that without a loss in one more message nothing is below 0.
        if values[0].negated().positive_part().is_zero() {
            return N::zero();
        }
        // The edge to the target is paid by the removals there: without any it stays.
        let paid = usize::from(removed > 0 && link.to_target);
        let others = link.others - usize::from(link.to_target) + paid;
        let most = self.scene.cap(link.node).min(others).min(room + paid).min(gains.len());
        let price = &self.prices[removed];
        if price.is_zero() {
            // The more are removed the larger is the entry.
            let last = most.checked_sub(1).map(|last| times(&gains[last], values));
            return last.map_or(N::zero(), |last| N::zero().least(&last));
        }
        let mut best = N::zero();
        for (k, gain) in gains[..most].iter().enumerate() {
            let value = times(gain, values);
            // So many of them are paid for.
            best = best.least(&match (k + 1 - paid).checked_sub(1) {
                Some(last) => value.plus(&price.times(&costs[last])),
                None => value,
            });
        }
        best
    }
}
