//! Steps of the search as the proof format has them.

use gcnproof_check::Dyadic;
use gcnproof_check::edges::format::{Nothing, Prices as Hints, Step as Element};
use gcnproof_check::format::Number;

use crate::edges::search::{Prices, Step};

/// Hints. Prices are finite and not negative, so each is a number.
fn hints(prices: &Prices) -> Hints {
    let number = |&mu: &f64| Number(Dyadic::from_bits(mu.to_bits()).unwrap_or_default().reduced());
    Hints { mu: prices.mu.iter().map(number).collect(), views: prices.views.clone() }
}

/// An element of a tree.
pub(super) fn element(step: &Step) -> Element {
    match step {
        Step::Edge(edge) => Element::Edge(edge.0, edge.1),
        Step::Singles => Element::Singles(Nothing {}),
        Step::Prices(prices) => Element::Prices(Box::new(hints(prices))),
    }
}
