//! Envelopes of units: any prices for the branches, and that what prices cost is never rounded down.

use gcnproof_verify::random::Stream;

use super::case::Case;
use super::certifier::{Budget, Decided, Enclosure, Envelope, EnvelopePrices, Flip, Hidden, ListedBudgets, Slice};
use super::common;
use super::nasty::{STYLES, number};
use super::number::{Exact, at_least};

/// Prices of any size and sign, some of them what a flip changes, so that many lines touch; each unit with any share.
pub fn any_prices(case: &Case, slice: &Slice, hidden: &Hidden, listed: &[Flip], stream: &mut Stream) -> Envelope {
    let mut envelope = Envelope::new(hidden.count());
    listed.iter().for_each(|&flip| envelope.list(flip));
    for at in 0..hidden.count() {
        let size = hidden.value[at].abs().max(hidden.upper[at].abs().min(hidden.lower[at].abs()));
        let price = |stream: &mut Stream| match stream.below(40) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 | 3 => 1e-17 * size * stream.real(),
            4..=9 => size * stream.real(),
            10..=16 => 0.2 * size * stream.real(),
            _ => 0.0,
        };
        let every = price(stream);
        let node = envelope.nodes.iter().map(|_| price(stream)).collect();
        let (row, unit) = (at / hidden.width, at % hidden.width);
        let change = |flip: &Flip| {
            let sender = slice.position(flip.node)?;
            let entry = slice.reaching(sender).find(|entry| entry.1 == row)?;
            let sign = if case.has(flip.node as usize, flip.attribute as usize) { -1.0 } else { 1.0 };
            Some(sign * entry.2[0] * case.network.layers()[0].weight.get(flip.attribute as usize, unit))
        };
        let mut single = Vec::new();
        for flip in &envelope.flips {
            let true_change = change(flip).filter(|_| stream.chance(50));
            single.push(true_change.unwrap_or_else(|| price(stream)));
        }
        let share = [0.0, 1.0, stream.real().abs(), 2.0, 1e-9, f64::NAN][stream.below(6)];
        envelope.units[at] = EnvelopePrices { share, every, node, single };
    }
    envelope
}

/// Any flips made and spared that the budget allows.
fn any_restriction(stream: &mut Stream, budget: &Budget, flips: &[Flip]) -> Decided {
    let mut decided = Decided::default();
    for &flip in flips {
        if stream.chance(15) {
            decided.flipped.push(flip);
            if !decided.admissible(budget) {
                decided.flipped.pop();
            }
        } else if stream.chance(15) {
            decided.kept.push(flip);
        }
    }
    decided
}

/// `A` of an envelope by its formula: the pre-activation's upper end with all positive prices paid, or all negative
/// ones.
fn exact_base(
    envelope: &Envelope,
    prices: &EnvelopePrices,
    around: &Enclosure,
    budget: &Budget,
    fixed: &Decided,
) -> Exact {
    let mut active = Exact::of(around.value).plus(&Exact::of(around.error));
    let mut inactive = Exact::zero();
    let mut pay = |count: usize, price: f64| {
        let paid = Exact::whole(count).times(&Exact::of(price.abs()));
        let side = if price > 0.0 { &mut active } else { &mut inactive };
        *side = side.plus(&paid);
    };
    let left = fixed.global(budget).unwrap();
    pay(left, prices.every);
    for (&node, &price) in envelope.nodes.iter().zip(&prices.node) {
        pay(fixed.local(budget, node).unwrap().min(left), price);
    }
    for (&flip, &price) in envelope.flips.iter().zip(&prices.single) {
        pay(usize::from(!fixed.fixes(budget, flip)), price);
    }
    if active.minus(&inactive).is_positive() { active } else { inactive }
}

/// `A` of an envelope, rounded, is not below what the formula gives in exact numbers, whatever the branch has fixed.
#[test]
fn what_prices_cost_is_rounded_up() {
    for seed in 0..30_000 {
        let stream = &mut Stream::new(seed);
        let graph = common::graph(vec![vec![]; 3], vec![vec![]; 3], 3);
        let local: Vec<i64> = (0..3).map(|_| stream.below(4) as i64).collect();
        let global = [0, 1, 2, 5, (1 << 53) + 1, usize::MAX][stream.below(6)];
        let budget = Budget::per_node(&graph, global, &local).unwrap();
        let flips: Vec<Flip> = (0..9).map(|at| Flip { node: at / 3, attribute: at % 3 }).collect();
        let decided = any_restriction(stream, &budget, &flips);
        let mut envelope = Envelope::new(1);
        flips.iter().filter(|_| stream.chance(50)).for_each(|&flip| envelope.list(flip));
        let style = stream.below(STYLES);
        let every = number(stream, style);
        let node = envelope.nodes.iter().map(|_| number(stream, style)).collect();
        let single = envelope.flips.iter().map(|_| number(stream, style)).collect();
        let prices = EnvelopePrices { share: 1.0, every, node, single };
        let value = number(stream, style);
        let around = Enclosure { value, error: [0.0, number(stream, style).abs()][stream.below(2)] };
        let exact = exact_base(&envelope, &prices, &around, &budget, &decided);
        let size = around.error + exact.rough().abs() + around.value.abs();
        let base = ListedBudgets::new(&envelope, &budget, &decided).base(&prices, around);
        assert!(at_least(base, &exact), "seed {seed}: {base:e} below {:e}", exact.rough());
        // Ordinary numbers, styles 0 and 1, lose nothing but rounding.
        let tight = base <= exact.rough() + 1e-9 * (1.0 + size);
        assert!(style > 1 || tight, "seed {seed}: {base:e}, not {:e}", exact.rough());
    }
}
