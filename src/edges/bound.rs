//! The bound of a class pair on a path: the best price for every number of edges removed at the target (docs/math.md (18.11)).

use crate::edges::anchors::Anchors;
use crate::edges::case::{Case, Priced};
use crate::edges::pair::Pair;
use crate::edges::scene::Scene;
use crate::edges::share::{EVEN, Shares, Weight, weights};

/// What all class pairs share at each number of edges removed at the target, from 0.
pub(crate) fn anchors(scene: &Scene) -> Vec<Anchors> {
    (0..=scene.most).map(|removed| Anchors::new(scene, removed)).collect()
}

/// A lower bound with everything that it was made from.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// Not above the margin of any set of the path.
    pub(crate) lower: f64,
    /// Of the smallest case: the size of all that was summed.
    pub(crate) size: f64,
    /// By number of edges removed at the target.
    pub(crate) prices: Vec<f64>,
    /// By neighbour and link.
    pub(crate) weights: Vec<Vec<Weight>>,
    /// Edges that a minimiser of the smallest case removes.
    pub(crate) used: Vec<u32>,
    /// Is no removal better than none? Only asked if that is wanted.
    pub(crate) harmless: bool,
}

/// How far a bound is to be improved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Enough.
    pub(crate) enough: f64,
    /// The margin without removals, not below: asked whether anything is better than that.
    pub(crate) base: Option<f64>,
}

/// Prices tried for one case at most.
const PRICES: usize = 24;

/// Is a bound enough, clearly? What is not leaves nothing to a checker's own rounding.
pub(crate) fn clear(of: &Priced, enough: f64) -> bool {
    of.lower > enough + 1e-11 * of.size
}

/// The bound with weights made from what removals do.
pub(crate) fn bound(scene: &Scene, pair: &Pair, anchors: &[Anchors], goal: Goal) -> Bounded {
    let cases: Vec<Case> = anchors.iter().map(|anchors| Case::new(scene, pair, anchors)).collect();
    let decreases = cases[0].decreases(scene);
    let start = decreases.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let weights = weights(&decreases);
    let shares = Shares::new(scene, &weights);
    let mut bounded = Bounded {
        lower: f64::INFINITY,
        size: 0.0,
        prices: Vec::new(),
        weights,
        used: Vec::new(),
        harmless: goal.base.is_some() && cases[0].is_harmless(),
    };
    for case in &cases {
        let (best, left) = best_price(case, scene, &shares, start, goal.enough);
        bounded.prices.push(best.price);
        // NaN is no bound.
        let lower = if best.lower.is_nan() { f64::NEG_INFINITY } else { best.lower };
        let clear = clear(&best, goal.enough);
        if lower < bounded.lower {
            (bounded.lower, bounded.size) = (lower, best.size);
            bounded.used.clear();
            if !clear {
                // At the best price; where that removes nothing, at one that is too low.
                case.at(scene, &shares, best.price, Some(&mut bounded.used));
                if bounded.used.is_empty() {
                    case.at(scene, &shares, left, Some(&mut bounded.used));
                }
            }
        }
    }
    if let Some(base) = goal.base {
        let rest = cases.iter().zip(&bounded.prices).skip(1);
        bounded.harmless &= rest.map(|(case, &price)| case.at(scene, &shares, price, None)).all(|of| of.lower >= base);
    }
    bounded.used.sort_unstable();
    bounded.used.dedup();
    bounded
}

/// Are all cases positive, clearly, with even shares at these prices? Then nobody needs to write weights down.
pub(crate) fn even_suffices(scene: &Scene, pair: &Pair, anchors: &[Anchors], bounded: &mut Bounded) -> bool {
    let even: Vec<Vec<Weight>> = scene.around.iter().map(|of| vec![EVEN; of.links.len()]).collect();
    let shares = Shares::new(scene, &even);
    let mut prices = Vec::new();
    for (anchors, &price) in anchors.iter().zip(&bounded.prices) {
        let case = Case::new(scene, pair, anchors);
        let (best, _) = best_price(&case, scene, &shares, price, 0.0);
        if !clear(&best, 0.0) {
            return false;
        }
        prices.push(best.price);
    }
    bounded.prices = prices;
    bounded.weights = even;
    true
}

/// A price with few bits, so that a proof is short.
fn short(price: f64) -> f64 {
    if price < f64::MIN_POSITIVE {
        return 0.0;
    }
    f64::from_bits(price.to_bits() & !((1 << 38) - 1))
}

/// The price with the largest bound, or the first that is enough, and one at which the minimiser pays more than it has: the bound is concave in the price, and
/// what the minimiser pays beyond its means is a slope of it.
fn best_price(case: &Case, scene: &Scene, shares: &Shares, start: f64, enough: f64) -> (Priced, f64) {
    let budget = (scene.ground.budget as f64) - case.removed_at_target() as f64;
    let mut low = case.at(scene, shares, 0.0, None);
    let mut best = low;
    if low.cost <= budget || clear(&low, enough) {
        return (low, 0.0);
    }
    let mut tried = 1;
    let mut price = short(start.max(f64::MIN_POSITIVE) * 0.5);
    let mut high: Option<Priced> = None;
    while tried < PRICES {
        tried += 1;
        let here = case.at(scene, shares, price, None);
        if here.lower > best.lower {
            best = here;
        }
        if clear(&here, enough) {
            break;
        }
        if here.cost > budget {
            low = here
        } else {
            high = Some(here)
        }
        price = match high {
            None => short(price * 4.0),
            Some(high) => {
                // Where the lines of both ends meet.
                let (rise, fall) = (low.cost - budget, budget - high.cost);
                let width = high.price - low.price;
                let meet = (high.lower - low.lower + fall * width) / (rise + fall);
                let inside = if meet.is_finite() { meet.clamp(0.02 * width, 0.98 * width) } else { 0.5 * width };
                short(low.price + inside)
            }
        };
        if price == low.price || high.is_some_and(|high| price >= high.price) {
            break;
        }
    }
    (best, low.price)
}

/// Is a bound enough, clearly?
pub(crate) fn clear_of(of: &Bounded, enough: f64) -> bool {
    of.lower > enough + 1e-11 * of.size
}
