//! The same network with another bias of one class, so that the margin of a node is near its error bound: there rounding
//! decides, and bounds that are too small by little show.

use gcnproof::NodeResult;

use crate::moved::case::MovedCase;
use crate::moved::known::Known;
use crate::random::Random;
use crate::terms::case::TermCase;

/// The least margin in error bounds. Between 1 and 2.5 claims are true that checkers with larger bounds reject, as
/// `docs/trust.md` says of the verified one: these would only be found again and again.
const TIMES: [f64; 10] = [-4.0, -2.5, -0.999, -0.5, 0.0, 0.5, 0.9, 0.999, 2.5, 4.0];

/// Moves the bias of a class of some result; nothing where its error bound is not finite.
pub fn near(known: &Known, results: &[NodeResult], random: &mut Random) -> Option<MovedCase> {
    let result = results.get(random.below(results.len().max(1)))?;
    let place = random.below(result.margins.len().max(1));
    let error = *result.deployed.as_ref()?.errors.get(place).filter(|error| error.is_finite())?;
    let margin = known.truths[result.node].margins[result.margins[place].class].as_ref()?.approximate();
    let shift = random.pick(&TIMES) * error - margin;
    let mut case = known.case.clone();
    let (outputs, nodes) = (case.classes(), case.network.base.nodes());
    let last = case.network.network.layers.last_mut()?;
    let bias = last.bias.get_or_insert_with(|| vec![0.0; outputs]);
    let own = bias.len() > outputs && nodes > 1;
    let bias = &mut bias[if own { result.node * outputs } else { 0 } + result.reference];
    *bias += shift;
    let moved = bias.is_finite().then_some(*bias)?;
    if case.is_chain() {
        case.ranges.changes.model.layers.last_mut()?.bias[result.reference] = moved;
    }
    case.network = TermCase::described(case.network.base, case.network.network).ok()?;
    Some(case)
}
