//! Ranges of units, and rule 4 (`FORMAT.md` §4): what a unit adds at least, whatever it is within its range.

use crate::number::Dyadic;

/// `R` and `S` of a unit: on its path it lies between them.
#[derive(Clone, Debug)]
pub struct Range {
    pub lower: Dyadic,
    pub upper: Dyadic,
}

impl Range {
    pub const ZERO: Range = Range { lower: Dyadic::ZERO, upper: Dyadic::ZERO };

    /// One number.
    pub fn of(x: &Dyadic) -> Range {
        Range { lower: x.clone(), upper: x.clone() }
    }

    /// Adds a factor times a number of which a range is known.
    pub fn add(&mut self, factor: &Dyadic, Range { lower, upper }: &Range) {
        let (least, most) = if factor.is_positive() { (lower, upper) } else { (upper, lower) };
        self.lower += &(factor * least);
        self.upper += &(factor * most);
    }

    /// Bytes that some ranges take in memory, about.
    pub fn bytes(ranges: &[Range]) -> u64 {
        Dyadic::bytes(ranges.iter().flat_map(|range| [&range.lower, &range.upper]))
    }
}

/// `U` and `V` of a unit of layer 2: free flips raise and lower it by at most so much.
#[derive(Clone, Debug)]
pub struct Reach {
    pub up: Dyadic,
    pub down: Dyadic,
}

/// Rule 4 above layer 2: `κ` with `k·relu(z) ≥ slope·z + κ` on `[R, S]`.
pub(super) fn intercept(k: &Dyadic, slope: &Dyadic, Range { lower, upper }: &Range) -> Dyadic {
    let at = |x: &Dyadic| &(k * &x.positive_part()) - &(slope * x);
    let ends = at(lower).min(at(upper));
    if lower.is_negative() && upper.is_positive() { ends.min(Dyadic::ZERO) } else { ends }
}

/// Rule 4 at layer 2: the least `f` over the points `P` that count; `None` if there is none.
pub(super) fn least(
    k: &Dyadic,
    z: &Dyadic,
    [rise, fall]: &[Dyadic; 2],
    Reach { up, down }: &Reach,
    side: Option<bool>,
) -> Option<Dyadic> {
    let zero = Dyadic::ZERO;
    let corners = [(&zero, &zero), (up, &zero), (&zero, down), (up, down)];
    let (to_zero, whole_up, whole_down) = (-z, z + up, down - z);
    // Where `z' + u − v = 0` meets the edges.
    let crossings = [(&zero, z), (&to_zero, &zero), (up, &whole_up), (&whole_down, down)];
    let inside = |(u, v): &(&Dyadic, &Dyadic)| !u.is_negative() && !v.is_negative() && *u <= up && *v <= down;
    let values = corners.into_iter().chain(crossings.into_iter().filter(inside)).filter_map(|(u, v)| {
        let at = &(z + u) - v;
        let counts = match side {
            None => true,
            Some(true) => !at.is_negative(),
            Some(false) => !at.is_positive(),
        };
        counts.then(|| &(&(k * &at.positive_part()) - &(rise * u)) + &(fall * v))
    });
    values.min()
}
