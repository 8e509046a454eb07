//! What a proof states of the lines of a leaf (`check/FORMAT-RANGES.md`).

use gcnproof_check::Dyadic;
use gcnproof_check::format::{Number, RangeLines, UnitNumber};

use crate::ranges::backward::RangeBranch;
use crate::ranges::lines::{HiddenUnit, UnitLines};
use crate::ranges::scene::RangeScene;

/// A float as proofs have it; 0 for what is no number.
pub(crate) fn number(x: f64) -> Number {
    Number(Dyadic::from_bits(x.to_bits()).unwrap_or(Dyadic::ZERO).reduced())
}

/// The lines of a leaf that are not the default, where a unit has a positive coefficient or its sign a price.
pub(crate) fn stated(
    scene: &RangeScene,
    branch: &RangeBranch,
    lines: &UnitLines,
    coefficients: &[Vec<f64>],
) -> RangeLines {
    let mut found = RangeLines::default();
    for l in 2..scene.slice.top() {
        let width = scene.width(l);
        for (at, z) in lines.bounds[l - 2].iter().enumerate() {
            let id = HiddenUnit { l, place: at / width, unit: at % width };
            if scene.problem.layer(l - 1).is_linear(id.unit) {
                continue;
            }
            let named =
                |x: f64| -> UnitNumber { (l as u32, scene.slice.nodes(l)[id.place], id.unit as u32, number(x)) };
            let (slope, price) = (lines.slope(l, at), lines.prices[l - 2][at]);
            let split = branch.signs.contains_key(&id);
            if split && price > 0.0 {
                found.prices.push(named(price));
            }
            let open = !split && z.lo < 0.0 && z.hi > 0.0;
            if open && coefficients[l - 2][at] > 0.0 && slope != UnitLines::usual_slope(z) {
                found.slopes.push(named(slope));
            }
        }
    }
    // Places need not ascend with nodes.
    for list in [&mut found.slopes, &mut found.prices] {
        list.sort_by_key(|of| (of.0, of.1, of.2));
    }
    found
}
