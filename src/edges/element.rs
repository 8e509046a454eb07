//! Steps of the search as the proof format has them.

use gcnproof_check::Dyadic;
use gcnproof_check::edges::format::{CarriedPrices, Nothing, Prices as Hints, Step as Element};
use gcnproof_check::format::Number;

use crate::edges::changes::prices::ChangePrices;
use crate::edges::search::{Prices, Step};

/// A price, which is finite and not negative.
fn number(price: &f64) -> Number {
    Number(Dyadic::from_bits(price.to_bits()).unwrap_or_default().reduced())
}

fn hints(prices: &Prices) -> Hints {
    Hints { mu: prices.mu.iter().map(number).collect(), views: prices.views.clone() }
}

/// Prices of changes.
pub(super) fn carried(prices: &ChangePrices) -> CarriedPrices {
    let nu = prices.nu.iter().map(|(node, price)| (*node, number(price))).collect();
    CarriedPrices { mu: number(&prices.mu), nu, back: prices.back, lists: prices.lists }
}

/// An element of a tree.
pub(super) fn element(step: &Step) -> Element {
    match step {
        Step::Edge(edge) => Element::Edge(edge.0, edge.1),
        Step::Singles => Element::Singles(Nothing {}),
        Step::Prices(prices) => Element::Prices(Box::new(hints(prices))),
        Step::Listed => Element::Listed(Nothing {}),
        Step::Carried(prices) => Element::Carried(Box::new(carried(prices))),
    }
}
