//! Expansion of short leaves where rows of attributes are normalised: slopes and lines in exact numbers. Prices are
//! left out: the core chooses them.

use super::exact::{Length, SLOPE_BITS, fill};
use super::{Short, ShortLeaf};
use crate::core::forward::Sent;
use crate::core::leaf::Target;
use crate::core::path::Path;
use crate::core::select::Free;
use crate::format::exact::{ExactHints, UnitBoundHints, WholeHints};
use crate::ids::Cell;
use crate::number::Dyadic;
use crate::verdict::Reason;

/// A power of two below which nothing that a row of attributes is followed with matters much.
fn grid(target: &Target, lines: &[(Cell, [Dyadic; 2])]) -> Option<i64> {
    let lead = |x: &Dyadic| (!x.is_zero()).then(|| x.parts().1 + x.bits() as i64);
    let of_row = |(m, &node): (usize, &u32)| {
        let start = lines.partition_point(|line| line.0 < (node, 0));
        let row = lines[start..].iter().take_while(|line| line.0.0 == node).flat_map(|line| &line.1);
        let entries = target.slice.passing(1)[m].iter().map(|link| link.entry.exact());
        Some(row.filter_map(lead).max()? + entries.filter_map(|entry| lead(&entry)).max()?)
    };
    let largest = target.slice.nodes(2).iter().enumerate().filter_map(of_row).max();
    largest.map(|largest| largest - SLOPE_BITS)
}

/// The hints of a short leaf where rows of attributes are normalised: without prices, which the core chooses.
///
/// # Errors
/// If that is too expensive.
pub(crate) fn row_hints(
    target: &Target,
    objective: &[(u32, i8)],
    path: &Path,
    short: &Short,
    length: Length,
) -> Result<ExactHints, Reason> {
    let Target { network, budget, slice, meter, .. } = *target;
    let mut hints = ExactHints::default();
    if slice.top() == 2 {
        return Ok(hints);
    }
    let sent = Sent::all(network, slice, &path.decided);
    let free = Free { network, budget, slice, decided: &path.decided, sent: &sent, meter };
    fill(target, objective, ShortLeaf { path, short }, &free, length, &mut hints)?;
    if length == Length::Rounded {
        hints.grid = grid(target, &hints.lines);
    }
    Ok(hints)
}

/// Hints for the whole bounds of the target, a node of layer `l ≥ 3`: for every unit that propagation leaves unstable,
/// the paper's dual bound and the anchored one, both with the dual's defaults above layer 2.
///
/// # Errors
/// If that is too expensive.
pub(crate) fn whole_row_hints(target: &Target) -> Result<WholeHints, Reason> {
    let (network, l) = (target.network, target.slice.top());
    let mut whole = WholeHints::default();
    for (unit, range) in target.propagated(&whole.reach)?.iter().enumerate() {
        // Bounds of a linear unit serve only the propagation to the next hidden layer.
        let settled = match network.is_linear(l, unit) {
            true => l + 1 == network.depth(),
            false => !range.lower.is_negative() || !range.upper.is_positive(),
        };
        if settled {
            continue;
        }
        let hints = |sign: i8| -> Result<Vec<ExactHints>, Reason> {
            let leaves = [2, 3].map(|dual| Short { dual: Some(dual), ..Short::default() });
            let objective = [(unit as u32, sign)];
            leaves.iter().map(|short| row_hints(target, &objective, &Path::default(), short, Length::Rounded)).collect()
        };
        whole.units.push(UnitBoundHints { unit: unit as u32, lower: hints(1)?, upper: hints(-1)? });
    }
    Ok(whole)
}
