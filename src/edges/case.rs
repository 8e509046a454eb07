//! One class pair with a fixed number of edges removed at the target: values of all states, and the bound at a price (docs/math.md (18.10)).

use crate::edges::anchors::Anchors;
use crate::edges::line::Lines;
use crate::edges::pair::{Coefficients, Pair};
use crate::edges::scene::{Around, Scene};
use crate::edges::share::Shares;
use crate::number::rounding::{UNIT, gamma};

/// A neighbour that is kept with so many edges removed at it.
#[derive(Debug)]
struct Kept {
    /// Not above what it adds at its anchor, and not below.
    constant: f64,
    upper: f64,
    /// Values of cutting its links; infinite where that is not possible.
    cut: Vec<f64>,
    /// Values of one more message of each link, if negative, else 0.
    more: Vec<f64>,
}

/// A neighbour.
#[derive(Debug)]
struct Row {
    /// The value at the target of cutting it; infinite where that is not possible.
    cut: f64,
    kept: Vec<Kept>,
}

/// The values of all states: none is above the exact one.
#[derive(Debug)]
pub(crate) struct Case {
    removed: usize,
    budget: usize,
    constant: f64,
    rows: Vec<Row>,
}

/// What a price gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Priced {
    pub(crate) price: f64,
    /// Not above the margin of any set.
    pub(crate) lower: f64,
    /// What the minimiser pays, in removals.
    pub(crate) cost: f64,
    /// Absolute values of all that was summed.
    pub(crate) size: f64,
}

/// The smallest state of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Choice {
    value: f64,
    cost: f64,
    removed: usize,
}

/// A sender that is cut rather than kept: by how much that changes value and cost.
#[derive(Clone, Copy, Debug)]
struct Swap {
    value: f64,
    cost: f64,
    at: usize,
}

/// The `count` smallest swaps come first.
fn smallest(swaps: &mut [Swap], count: usize) -> &[Swap] {
    if count > 0 && count < swaps.len() {
        swaps.select_nth_unstable_by(count - 1, |x, y| x.value.total_cmp(&y.value));
    }
    &swaps[..count.min(swaps.len())]
}

impl Case {
    pub(crate) fn new(scene: &Scene, pair: &Pair, anchors: &Anchors) -> Case {
        let messages = scene.problem.messages();
        let eps = messages.eps;
        let linear = &scene.problem.network().layers()[0].linear;
        let removed = anchors.removed;
        let at_target = scene.left(0) - removed;
        let reads = scene.problem.rule().reads_sender();
        let ids = &scene.ground.target.ids;
        let (mut lines, mut coefficients) = (Lines::default(), Coefficients::default());
        let mut constant = pair.bias - eps * pair.bias_size;
        let mut at_center = vec![[0.0; 2]; scene.around.len()];
        if !anchors.center.is_empty() {
            pair.of_target(scene, at_target, &mut coefficients);
            lines.set(&anchors.center, &coefficients, linear, eps);
            constant += lines.constant - lines.error;
            for (values, of) in at_center.iter_mut().zip(&scene.around) {
                let id = ids[of.node as usize];
                *values = lines.values(messages.sent(id), messages.total[id as usize], eps);
            }
        }
        // A difference of entries has one rounding, a product another.
        let times = |a: f64, value: f64| if a == 0.0 { 0.0 } else { a * value - 4.0 * UNIT * (a * value).abs() };
        let mut rows = Vec::with_capacity(scene.around.len());
        for (place, (of, states)) in scene.around.iter().zip(&anchors.units).enumerate() {
            let center = scene.centers.get(removed);
            let kept = states.iter().enumerate().map(|(r, units)| {
                pair.of_neighbour(scene, at_target, (of.node, scene.left(of.node) - r), &mut coefficients);
                lines.set(units, &coefficients, linear, eps);
                let gain = match (r, center) {
                    (0, _) | (_, None) => 0.0,
                    (r, Some(center)) => center.gains[place].get(r - 1).copied().unwrap_or(0.0),
                };
                let there = times(gain, at_center[place][0]);
                let (mut cut, mut more) = (Vec::new(), Vec::new());
                for (link, to) in of.links.iter().enumerate() {
                    let needed = r > 0 && to.free;
                    let grows = reads && !of.states[r].gains(link).is_empty();
                    let id = ids[to.node as usize];
                    let values = match needed || grows {
                        true => lines.values(messages.sent(id), messages.total[id as usize], eps),
                        false => [0.0; 2],
                    };
                    cut.push(if needed { times(of.states[r].entry[link], values[1]) } else { f64::INFINITY });
                    more.push(if grows { values[0].min(0.0) } else { 0.0 });
                }
                let constant = lines.constant + there;
                Kept { constant: constant - lines.error, upper: constant + lines.above, cut, more }
            });
            let kept = kept.collect();
            let cut = match (of.free && removed > 0, center) {
                (false, _) => f64::INFINITY,
                (true, None) => 0.0,
                (true, Some(center)) => times(center.entry[place], at_center[place][1]),
            };
            rows.push(Row { cut, kept });
        }
        Case { removed, budget: scene.ground.budget - removed, constant, rows }
    }

    /// Edges removed at the target.
    pub(crate) fn removed_at_target(&self) -> usize {
        self.removed
    }

    /// How many removals elsewhere at the sender of a link there can be, and whether that to the target is among them for nothing.
    fn elsewhere(&self, scene: &Scene, place: usize, link: usize, removed: usize) -> (usize, usize) {
        let to = &scene.around[place].links[link];
        let paid = usize::from(to.to_target && self.removed > 0);
        let unpaid = to.others - usize::from(to.to_target);
        let cap = scene.ground.cap[to.node as usize] as usize;
        ((unpaid + paid).min(cap).min(self.budget - removed + paid), paid)
    }

    /// The best number of removals elsewhere at the sender of a link: value with price, cost, number.
    #[inline]
    fn best(
        &self,
        scene: &Scene,
        shares: &Shares,
        price: f64,
        (place, link, removed): (usize, usize, usize),
    ) -> Choice {
        let more = self.rows[place].kept[removed].more[link];
        let mut best = Choice { value: 0.0, cost: 0.0, removed: 0 };
        if more >= 0.0 {
            return best;
        }
        let (most, paid) = self.elsewhere(scene, place, link, removed);
        let costs = shares.other(place, link);
        for (k, gain) in scene.around[place].states[removed].gains(link).iter().enumerate().take(most) {
            // The edge to the target comes first: it is paid already.
            let cost = (k + 1).checked_sub(1 + paid).map_or(0.0, |at| costs[at]);
            let value = gain * more - 4.0 * UNIT * (gain * more).abs() + price * cost;
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
        (place, removed): (usize, usize),
        swaps: &mut Vec<Swap>,
    ) -> (Choice, f64) {
        let kept = &self.rows[place].kept[removed];
        let (mut value, mut cost, mut size) = (kept.constant, 0.0, kept.constant.abs());
        swaps.clear();
        let mut largest = 0.0f64;
        for link in 0..kept.cut.len() {
            let best = self.best(scene, shares, price, (place, link, removed));
            value += best.value;
            cost += best.cost;
            // Choices that were not taken count too: their values are rounded as well.
            let gain = scene.around[place].states[removed].gains(link).last().copied().unwrap_or(0.0);
            let here = best.value.abs() + 2.0 * price * best.cost + 3.0 * (gain * kept.more[link]).abs();
            size += here;
            if removed > 0 && kept.cut[link].is_finite() {
                let pays = shares.cut[place][link];
                largest = largest.max(kept.cut[link].abs() + price * pays + here);
                swaps.push(Swap {
                    value: kept.cut[link] + price * pays - best.value,
                    cost: pays - best.cost,
                    at: link,
                });
            }
        }
        for swap in smallest(swaps, removed) {
            value += swap.value;
            cost += swap.cost;
        }
        size += 2.0 * largest * removed as f64;
        (Choice { value, cost, removed }, size)
    }

    /// The bound at a price; `used` gets the edges that the minimiser removes.
    pub(crate) fn at(&self, scene: &Scene, shares: &Shares, price: f64, mut used: Option<&mut Vec<u32>>) -> Priced {
        let (mut value, mut cost, mut size) = (self.constant, 0.0, self.constant.abs());
        let mut swaps = Vec::new();
        let mut cuts = Vec::new();
        let mut chosen = Vec::new();
        let (mut longest, mut highest) = (0, 0.0f64);
        for (place, row) in self.rows.iter().enumerate() {
            let mut least: Option<Choice> = None;
            let mut largest = 0.0f64;
            longest = longest.max(scene.around[place].links.len());
            for removed in 0..row.kept.len() {
                let (choice, size) = self.kept(scene, shares, price, (place, removed), &mut swaps);
                largest = largest.max(size);
                if least.is_none_or(|least| choice.value < least.value) {
                    least = Some(choice);
                }
            }
            let Some(least) = least else { continue };
            value += least.value;
            cost += least.cost;
            size += largest;
            if row.cut.is_finite() {
                highest = highest.max(row.cut.abs() + largest);
                cuts.push(Swap { value: row.cut - least.value, cost: -least.cost, at: place });
            }
            chosen.push((place, least));
        }
        size += 2.0 * highest * self.removed as f64;
        for swap in smallest(&mut cuts, self.removed) {
            value += swap.value;
            cost += swap.cost;
        }
        if let Some(used) = &mut used {
            let cut: Vec<usize> = smallest(&mut cuts, self.removed).iter().map(|swap| swap.at).collect();
            used.extend(cut.iter().map(|&place| scene.around[place].edge));
            for (place, choice) in chosen.into_iter().filter(|(place, _)| !cut.contains(place)) {
                self.name(scene, shares, price, (place, choice.removed), used);
            }
        }
        value -= price * self.budget as f64;
        size += price * self.budget as f64;
        let roundings = gamma(4 * (longest + self.rows.len() + scene.ground.budget.min(1 << 20)) + 128);
        let lower = if scene.problem.messages().safe { value - roundings * size * 2.0 } else { f64::NEG_INFINITY };
        Priced { price, lower, cost, size }
    }

    /// The edges that a kept neighbour's minimiser removes.
    fn name(&self, scene: &Scene, shares: &Shares, price: f64, (place, removed): (usize, usize), used: &mut Vec<u32>) {
        let mut swaps = Vec::new();
        self.kept(scene, shares, price, (place, removed), &mut swaps);
        let cut: Vec<usize> = smallest(&mut swaps, removed).iter().map(|swap| swap.at).collect();
        let links = &scene.around[place].links;
        used.extend(cut.iter().map(|&link| links[link].edge));
        for (link, to) in links.iter().enumerate().filter(|(link, _)| !cut.contains(link)) {
            let best = self.best(scene, shares, price, (place, link, removed));
            let order = shares.order.get(to.node as usize).map_or(&[][..], Vec::as_slice);
            let elsewhere = order.iter().map(|of| of.1).filter(|&edge| edge != to.edge);
            used.extend(elsewhere.take(best.removed));
        }
    }

    /// The largest decrease that one removal makes in each view, by neighbour and link: of a cut, and elsewhere.
    pub(crate) fn decreases(&self, scene: &Scene) -> Vec<Vec<[f64; 2]>> {
        let row = |(of, row): (&Around, &Row)| {
            let link = |link: usize| {
                let cut = match row.kept.get(1) {
                    Some(one) if one.cut[link].is_finite() => row.kept[0].constant - one.constant - one.cut[link],
                    _ => 0.0,
                };
                let other = of.states[0].gains(link).first().map_or(0.0, |gain| -gain * row.kept[0].more[link]);
                [cut.max(0.0), other.max(0.0)]
            };
            (0..of.links.len()).map(link).collect()
        };
        scene.around.iter().zip(&self.rows).map(row).collect()
    }

    /// Is no set of removals, none of them at the target, better than none at all? `false` if that is not sure.
    pub(crate) fn is_harmless(&self) -> bool {
        let least = |kept: &Kept, removed: usize| {
            let mut cut: Vec<f64> = kept.cut.iter().copied().filter(|cut| cut.is_finite()).collect();
            cut.sort_unstable_by(f64::total_cmp);
            let sum: f64 = cut[..removed].iter().sum();
            let size: f64 = cut[..removed].iter().map(|x| x.abs()).sum();
            kept.constant + sum - gamma(2 * removed + 16) * (size + kept.constant.abs())
        };
        self.removed == 0
            && self.rows.iter().all(|row| {
                row.kept.iter().all(|kept| kept.more.iter().all(|&more| more >= 0.0))
                    && row.kept.iter().enumerate().skip(1).all(|(r, kept)| least(kept, r) >= row.kept[0].upper)
            })
    }
}
