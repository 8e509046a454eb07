//! The values of a case in floats, lowered by their errors (docs/math.md §18.3): none is above the exact one.

use crate::edges::anchors::Anchors;
use crate::edges::case::{Case, Kept, Number, Row};
use crate::edges::line::RemovalLines;
use crate::edges::pair::{Coefficients, Pair};
use crate::edges::scene::{Around, NodeLeft, Scene};
use crate::edges::share::Shares;
use crate::number::rounding::gamma;

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
    /// About how far rounding errors, allowed for, have lowered the bound.
    pub(crate) doubt: f64,
}

impl Priced {
    /// Is the bound above what is enough, clearly? What is not leaves nothing to a checker's own rounding.
    pub(crate) fn clears(&self, enough: f64) -> bool {
        self.lower > enough + 1e-11 * self.size
    }
}

impl Case<f64> {
    /// `None` if it is late.
    pub(crate) fn estimate(scene: &Scene, pair: &Pair, anchors: &Anchors) -> Option<Case<f64>> {
        let messages = scene.problem.messages();
        let eps = messages.eps;
        let linear = &scene.problem.network().layers()[0].linear;
        let removed = anchors.removed;
        let at_target = scene.left(0) - removed;
        let reads = scene.problem.rule().reads_sender();
        let ids = &scene.ground.target.ids;
        let (mut lines, mut coefficients) = (RemovalLines::default(), Coefficients::default());
        let mut constant = pair.bias - eps * pair.bias_size;
        let mut doubt = eps * pair.bias_size;
        let mut at_center = vec![[0.0; 2]; scene.around.len()];
        if !anchors.center.is_empty() {
            pair.of_target(scene, at_target, &mut coefficients);
            lines.set(&anchors.center, &coefficients, linear, eps);
            constant += lines.constant - lines.error;
            doubt += lines.error;
            for (values, of) in at_center.iter_mut().zip(&scene.around) {
                let id = ids[of.node as usize];
                *values = lines.values(messages.sent(id), messages.total[id as usize], eps);
                doubt += lines.doubt(messages.total[id as usize], eps);
            }
        }
        let times = |a: f64, value: f64| if a == 0.0 { 0.0 } else { value.gained(a, || [a, 0.0]) };
        let mut rows = Vec::with_capacity(scene.around.len());
        for (place, (of, states)) in scene.around.iter().zip(&anchors.units).enumerate() {
            let center = scene.centers.get(removed);
            let mut kept = Vec::with_capacity(states.len());
            let mut largest = 0.0f64;
            for (r, units) in states.iter().enumerate() {
                if scene.pace.is_late_for((of.links.len() + 4) * messages.width) {
                    return None;
                }
                pair.of_neighbour(scene, at_target, NodeLeft(of.node, scene.left(of.node) - r), &mut coefficients);
                lines.set(units, &coefficients, linear, eps);
                let gain = match (r, center) {
                    (0, _) | (_, None) => 0.0,
                    (r, Some(center)) => center.gains[place].get(r - 1).copied().unwrap_or(0.0),
                };
                let there = times(gain, at_center[place][0]);
                let [mut cut, mut more] = [(); 2].map(|()| Vec::with_capacity(of.links.len()));
                let mut error = lines.error;
                for (link, to) in of.links.iter().enumerate() {
                    let grows = reads && !of.states[r].gains(link).is_empty();
                    let needed = r > 0 && to.free;
                    if needed || grows {
                        let id = ids[to.node as usize];
                        let [plus, minus] = lines.values(messages.sent(id), messages.total[id as usize], eps);
                        error += lines.doubt(messages.total[id as usize], eps);
                        cut.push(needed.then(|| times(of.states[r].entry[link], minus)));
                        more.push((grows && plus < 0.0).then_some(plus));
                    } else {
                        cut.push(None);
                        more.push(None);
                    }
                }
                largest = largest.max(error);
                kept.push(Kept { constant: lines.constant + there - lines.error, cut, more });
            }
            doubt += largest;
            let cut = match (of.free && removed > 0, center) {
                (false, _) => None,
                (true, None) => Some(0.0),
                (true, Some(center)) => Some(times(center.entry[place], at_center[place][1])),
            };
            rows.push(Row { cut, kept });
        }
        let longest = scene.around.iter().map(|of| of.links.len()).max().unwrap_or(0);
        let roundings = gamma(4 * (longest + rows.len() + scene.ground.budget.min(1 << 20)) + 128);
        Some(Case { removed, budget: scene.ground.budget - removed, constant, rows, doubt, roundings })
    }

    /// The bound at a price, not above the exact one; `used` gets the edges that the minimiser removes. `None` if it is
    /// late.
    pub(crate) fn priced(
        &self,
        scene: &Scene,
        shares: &Shares,
        price: f64,
        used: Option<&mut Vec<u32>>,
    ) -> Option<Priced> {
        let sum = self.at(scene, shares, price, used)?;
        let error = 2.0 * self.roundings * sum.size + f64::MIN_POSITIVE;
        let lower = sum.value - error;
        // NaN is no bound.
        let lower = if scene.problem.messages().safe && !lower.is_nan() { lower } else { f64::NEG_INFINITY };
        Some(Priced { price, lower, cost: sum.cost, size: sum.size, doubt: self.doubt + error })
    }

    /// The largest decrease that one removal makes in each view, by neighbour and link: of a cut, and elsewhere.
    pub(crate) fn decreases(&self, scene: &Scene) -> Vec<Vec<[f64; 2]>> {
        let row = |(of, row): (&Around, &Row<f64>)| {
            let link = |link: usize| {
                let cut = match row.kept.get(1) {
                    Some(one) => one.cut[link].map_or(0.0, |value| row.kept[0].constant - one.constant - value),
                    None => 0.0,
                };
                let gain = of.states[0].gains(link).first().copied().unwrap_or(0.0);
                let other = row.kept[0].more[link].map_or(0.0, |more| -gain * more);
                [cut.max(0.0), other.max(0.0)]
            };
            (0..of.links.len()).map(link).collect()
        };
        scene.around.iter().zip(&self.rows).map(row).collect()
    }
}
