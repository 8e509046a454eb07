//! The bound of a class pair on a path: the best price for every number of edges removed at the target (docs/math.md
//! (18.11)).

use crate::edges::anchors::Anchors;
use crate::edges::case::Case;
use crate::edges::estimate::Priced;
use crate::edges::pair::Pair;
use crate::edges::scene::Scene;
use crate::edges::share::{EVEN, Shares, Weight, weights};
use crate::number::dyadic::Dyadic;

/// What all class pairs share at each number of edges removed at the target, from 0; `None` if it is late.
pub(crate) fn anchors(scene: &Scene) -> Option<Vec<Anchors>> {
    (0..=scene.most).map(|removed| Anchors::new(scene, removed)).collect()
}

/// A lower bound with everything that it was made from.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// By number of edges removed at the target: at least one.
    cases: Vec<Priced>,
    /// By neighbour and link.
    pub(crate) weights: Vec<Vec<Weight>>,
    /// Edges that a minimiser of the smallest case removes.
    pub(crate) used: Vec<u32>,
}

impl Bounded {
    fn worst(&self) -> &Priced {
        self.cases.iter().reduce(|worst, next| if next.lower < worst.lower { next } else { worst }).unwrap_or(&NOTHING)
    }

    /// Not above the margin of any set of the path.
    pub(crate) fn lower(&self) -> f64 {
        self.worst().lower
    }

    /// Is it enough, clearly?
    pub(crate) fn clears(&self, enough: f64) -> bool {
        self.worst().clears(enough)
    }

    /// The prices, by number of edges removed at the target.
    pub(crate) fn prices(&self) -> Vec<f64> {
        self.cases.iter().map(|case| case.price).collect()
    }
}

/// No bound at all: infinitely far away, but nobody knows how far.
const NOTHING: Priced =
    Priced { price: 0.0, lower: f64::NEG_INFINITY, cost: 0.0, size: f64::INFINITY, doubt: f64::INFINITY };

/// What a branch is closed by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal<'a> {
    /// A margin above 0.
    Positive,
    /// A margin that is at least one that was attained.
    AtLeast(&'a Dyadic),
}

impl Goal<'_> {
    fn is_met(self, lower: &Dyadic) -> bool {
        match self {
            Goal::Positive => lower.sign().is_gt(),
            Goal::AtLeast(margin) => lower >= margin,
        }
    }

    /// The same of a float: `false` where it is not sure.
    fn is_met_by(self, lower: f64) -> bool {
        match self {
            Goal::Positive => lower > 0.0,
            Goal::AtLeast(margin) => lower >= margin.ceil_f64(),
        }
    }

    /// Do perhaps only rounding errors keep a bound from it?
    fn is_near(self, case: &Priced) -> bool {
        let goal = match self {
            Goal::Positive => 0.0,
            Goal::AtLeast(margin) => margin.floor_f64(),
        };
        case.doubt == f64::INFINITY || case.lower + 8.0 * case.doubt >= goal
    }
}

/// Prices tried for one case at most.
const PRICES: usize = 24;

/// The bound with weights made from what removals do, improved until it is `enough`; `None` if it is late.
pub(crate) fn bound(scene: &Scene, pair: &Pair, anchors: &[Anchors], enough: f64) -> Option<Bounded> {
    if !scene.problem.messages().safe {
        let used = scene.ground.free_edges().collect();
        return Some(Bounded { cases: vec![NOTHING; anchors.len()], weights: even(scene), used });
    }
    let mut case = Case::estimate(scene, pair, &anchors[0])?;
    let decreases = case.decreases(scene);
    let start = decreases.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let weights = weights(&decreases);
    let shares = Shares::new(scene, &weights)?;
    let mut bounded = Bounded { cases: Vec::with_capacity(anchors.len()), weights, used: Vec::new() };
    for (removed, anchors) in anchors.iter().enumerate() {
        if removed > 0 {
            case = Case::estimate(scene, pair, anchors)?;
        }
        let (best, left) = best_price(&case, scene, &shares, start, enough)?;
        if bounded.cases.is_empty() || best.lower < bounded.lower() {
            bounded.used.clear();
            if !best.clears(enough) {
                // At the best price; where that removes nothing, at one that is too low.
                case.priced(scene, &shares, best.price, Some(&mut bounded.used))?;
                if bounded.used.is_empty() {
                    case.priced(scene, &shares, left, Some(&mut bounded.used))?;
                }
            }
        }
        bounded.cases.push(best);
    }
    bounded.used.sort_unstable();
    bounded.used.dedup();
    Some(bounded)
}

/// Does the bound meet a goal, if need be in exact arithmetic? That is asked where only rounding errors may be in the
/// way, at no price and at the best one; the prices are then those that did. `None` if it is late.
pub(crate) fn meets(
    scene: &Scene,
    pair: &Pair,
    anchors: &[Anchors],
    bounded: &mut Bounded,
    goal: Goal,
) -> Option<bool> {
    if !bounded.cases.iter().all(|case| goal.is_met_by(case.lower) || goal.is_near(case)) {
        return Some(false);
    }
    let shares = Shares::new(scene, &bounded.weights)?;
    for (case, anchors) in bounded.cases.iter_mut().zip(anchors) {
        if goal.is_met_by(case.lower) {
            continue;
        }
        let exact = Case::exact(scene, pair, anchors)?;
        let mut met = false;
        let prices = [0.0, case.price];
        for &price in &prices[..if case.price > 0.0 { 2 } else { 1 }] {
            let lower = exact.at(scene, &shares, price, None)?.value;
            if goal.is_met(&lower) {
                (case.price, case.lower, met) = (price, case.lower.max(lower.floor_f64()), true);
                break;
            }
        }
        if !met {
            return Some(false);
        }
    }
    Some(true)
}

/// The weights that need not be written down.
fn even(scene: &Scene) -> Vec<Vec<Weight>> {
    scene.around.iter().map(|of| vec![EVEN; of.links.len()]).collect()
}

/// Are all cases positive, clearly, with even shares at these prices? Then these are taken. `None` if it is late.
pub(crate) fn even_suffices(scene: &Scene, pair: &Pair, anchors: &[Anchors], bounded: &mut Bounded) -> Option<bool> {
    let even = even(scene);
    let shares = Shares::new(scene, &even)?;
    let mut cases = Vec::with_capacity(anchors.len());
    for (anchors, case) in anchors.iter().zip(&bounded.cases) {
        let (best, _) = best_price(&Case::estimate(scene, pair, anchors)?, scene, &shares, case.price, 0.0)?;
        if !best.clears(0.0) {
            return Some(false);
        }
        cases.push(best);
    }
    (bounded.cases, bounded.weights) = (cases, even);
    Some(true)
}

/// A price with few bits, so that a proof is short.
fn short(price: f64) -> f64 {
    if price < f64::MIN_POSITIVE {
        return 0.0;
    }
    f64::from_bits(price.to_bits() & !((1 << 38) - 1))
}

/// The price with the largest bound, or the first that is enough, and one at which the minimiser pays more than it has:
/// the bound is concave in the price, and what the minimiser pays beyond its means is a slope of it. `None` if it is
/// late.
fn best_price(case: &Case<f64>, scene: &Scene, shares: &Shares, start: f64, enough: f64) -> Option<(Priced, f64)> {
    let budget = (scene.ground.budget as f64) - case.removed_at_target() as f64;
    let mut low = case.priced(scene, shares, 0.0, None)?;
    let mut best = low;
    if low.cost <= budget || low.clears(enough) {
        return Some((low, 0.0));
    }
    let mut tried = 1;
    let mut price = short(start.max(f64::MIN_POSITIVE) * 0.5);
    let mut high: Option<Priced> = None;
    while tried < PRICES {
        tried += 1;
        let here = case.priced(scene, shares, price, None)?;
        if here.lower > best.lower {
            best = here;
        }
        if here.clears(enough) {
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
    Some((best, low.price))
}
