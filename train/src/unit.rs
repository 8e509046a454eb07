//! One relaxed unit and its derivatives (docs/math.md §4, §5).
//!
//! Subgradients at kinks: where a unit is at a border (`R = 0`, `S = 0`, `a = 0`, `z = 0`), the formula of the side to
//! which the certifier counts the border is differentiated.

/// The line `slope·z + kappa` under `a·relu(z)` on `[R, S]` at the default `Ω = S/(S−R)` (docs/math.md (4.2)).
#[inline]
pub fn line(a: f64, r: f64, s: f64) -> (f64, f64) {
    if s <= 0.0 {
        (0.0, 0.0)
    } else if r >= 0.0 {
        (a, 0.0)
    } else {
        let omega = s / (s - r);
        (a * omega, -a.min(0.0) * r * omega)
    }
}

/// What a loss gains per unit of `a`, `R` and `S`, given what it gains per unit of slope and kappa
/// (docs/math.md (9.6)).
#[inline]
pub fn line_reverse(a: f64, r: f64, s: f64, slope: f64, kappa: f64) -> [f64; 3] {
    if s <= 0.0 {
        return [0.0; 3];
    }
    if r >= 0.0 {
        return [slope, 0.0, 0.0];
    }
    let span = s - r;
    let omega = s / span;
    let negative = a.min(0.0);
    let by_omega = a * slope - negative * r * kappa;
    let by_a = omega * slope - if a < 0.0 { r * omega * kappa } else { 0.0 };
    [by_a, by_omega * s / (span * span) - negative * omega * kappa, -by_omega * r / (span * span)]
}

/// A unit of representation 2 and its coefficient `a`: its value `z` without changes, and its bounds.
#[derive(Clone, Copy, Debug)]
pub struct AnchoredUnit {
    /// `a`.
    pub a: f64,
    /// `z⁰`.
    pub z: f64,
    /// `R`.
    pub r: f64,
    /// `S`.
    pub s: f64,
}

/// What a loss gains per unit of the slopes of rise and fall, and of the contribution `a·relu(z)`.
#[derive(Clone, Copy, Debug)]
pub struct ByAnchor {
    /// Of the rise.
    pub rise: f64,
    /// Of the fall.
    pub fall: f64,
    /// Of the contribution.
    pub base: f64,
}

/// The anchored bound: slopes of rise and fall (docs/math.md (5.2), (5.3)).
#[inline]
pub fn anchor(unit: AnchoredUnit) -> (f64, f64) {
    let AnchoredUnit { a, z, r, s } = unit;
    if s <= 0.0 {
        (0.0, 0.0)
    } else if r >= 0.0 {
        (a, a)
    } else if a >= 0.0 {
        if z > 0.0 { (a, a) } else { (0.0, 0.0) }
    } else if z > 0.0 {
        (a, a * z / (z - r))
    } else {
        (a * s / (s - z), 0.0)
    }
}

/// What a loss gains per unit of `a`, `z`, `R` and `S` (docs/math.md §9.2).
#[inline]
pub fn anchor_reverse(unit: AnchoredUnit, by: ByAnchor) -> [f64; 4] {
    let (AnchoredUnit { a, z, r, s }, ByAnchor { rise, fall, base }) = (unit, by);
    if s <= 0.0 {
        return [0.0; 4];
    }
    let mut by = [base * z.max(0.0), if z > 0.0 { base * a } else { 0.0 }, 0.0, 0.0];
    if r >= 0.0 || (a >= 0.0 && z > 0.0) {
        by[0] += rise + fall;
    } else if a >= 0.0 {
    } else if z > 0.0 {
        let span = z - r;
        by[0] += rise + fall * z / span;
        by[1] -= fall * a * r / (span * span);
        by[2] += fall * a * z / (span * span);
    } else {
        let span = s - z;
        by[0] += rise * s / span;
        by[1] += rise * a * s / (span * span);
        by[3] -= rise * a * z / (span * span);
    }
    by
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64, f64, f64); 7] = [
        (0.7, 0.4, -0.6, 1.1),
        (-0.7, 0.4, -0.6, 1.1),
        (0.7, -0.4, -0.6, 1.1),
        (-0.7, -0.4, -0.6, 1.1),
        (-0.7, 0.8, 0.6, 1.1),
        (0.7, 0.8, 0.6, 1.1),
        (0.7, -0.8, -0.9, -0.1),
    ];

    #[test]
    fn derivatives_are_those_of_the_formulas() {
        const STEP: f64 = 1e-6;
        let contribution = |[a, z, r, s]: [f64; 4]| {
            let (slope, kappa) = line(a, r, s);
            let (rise, fall) = anchor(AnchoredUnit { a, z, r, s });
            let base = if s > 0.0 { a * z.max(0.0) } else { 0.0 };
            2.0 * slope + 3.0 * kappa + 5.0 * rise + 7.0 * fall + 11.0 * base
        };
        for (a, z, r, s) in POINTS {
            let [a1, r1, s1] = line_reverse(a, r, s, 2.0, 3.0);
            let by = anchor_reverse(AnchoredUnit { a, z, r, s }, ByAnchor { rise: 5.0, fall: 7.0, base: 11.0 });
            let reverse = [a1 + by[0], by[1], r1 + by[2], s1 + by[3]];
            for (at, reverse) in reverse.into_iter().enumerate() {
                let shifted = |step: f64| {
                    let mut point = [a, z, r, s];
                    point[at] += step;
                    contribution(point)
                };
                let difference = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
                assert!((difference - reverse).abs() < 1e-7, "{a} {z} {r} {s}, {at}: {difference} {reverse}");
            }
        }
    }
}
