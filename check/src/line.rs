//! Lines: what the replay puts below `a·relu(z)` for a hidden unit with coefficient `a` (math §4, §4b, §7).
//!
//! `FORMAT.md` proves each of them.

use std::cmp::Ordering;

use crate::budget::Decided;
use crate::cap::Cap;
use crate::envelope::{Arch, Envelope, Left};
use crate::layer2::Row;
use crate::number::Number;

/// `(layer, node, unit)`.
pub type Unit = (u32, u32, u32);

/// The way from the root of a tree to a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Split units, ascending; `true` is the side `z ≥ 0`, `false` the side `z ≤ 0`.
    pub units: Vec<(Unit, bool)>,
    /// Split flips.
    pub decided: Decided,
}

impl Path {
    fn side(&self, unit: Unit) -> Option<bool> {
        self.units.binary_search_by_key(&unit, |split| split.0).ok().map(|at| self.units[at].1)
    }
}

/// The admissible multipliers of a leaf: finite floats in their ranges, ascending by unit.
#[derive(Clone, Debug, Default)]
pub struct Multipliers {
    /// `ω` or `w`, in `[0, 1]`.
    pub weight: Vec<(Unit, f64)>,
    /// `s`, in `[0, 1]`.
    pub slope: Vec<(Unit, f64)>,
    /// `β ≥ 0`.
    pub beta: Vec<(Unit, f64)>,
    /// From this representation upward the defaults are those of the dual bound.
    pub dual: Option<u32>,
    /// The capped bound instead of the anchored one.
    pub cap: bool,
    /// Envelopes of units of representation 2.
    pub envelope: Option<Envelope>,
}

impl Multipliers {
    /// Are the defaults of this unit those of the dual bound?
    fn is_dual(&self, unit: Unit) -> bool {
        self.dual.is_some_and(|first| first <= unit.0)
    }
}

fn find(list: &[(Unit, f64)], unit: Unit) -> Option<f64> {
    list.binary_search_by_key(&unit, |entry| entry.0).ok().map(|at| list[at].1)
}

/// The sign of a number that must be known to go on.
pub(crate) struct Undecided;

pub(crate) fn sign<N: Number>(number: &N) -> Result<Ordering, Undecided> {
    number.sign().ok_or(Undecided)
}

/// What the slopes of a capped unit overstate of each flip's loss: `weight·(slope·x − max(x − T, 0))` for a change `x > 0`
/// towards zero. The slope is of no consequence for the loss, which is what remains; as it is chosen, nothing is negative.
pub(crate) struct Bend<N> {
    /// `(1 − w)|a|`, without the envelope's share.
    pub(crate) weight: N,
    /// Is rising towards zero?
    pub(crate) up: bool,
    /// The slope, and `T`.
    pub(crate) cap: Cap<N>,
}

/// A lower bound on `a·relu(z)`: `base + rise·u − fall·v`, where `u, v ≥ 0` are the rise and the fall of `z` from `z'`, plus
/// what the bend gives back, minus what the arch takes.
pub(crate) struct Line<N> {
    /// At `z'`.
    pub(crate) base: N,
    /// Slope of the rise.
    pub(crate) rise: N,
    /// Slope of the fall.
    pub(crate) fall: N,
    /// Of a capped unit.
    pub(crate) bend: Option<Bend<N>>,
    /// Of a unit with an envelope.
    pub(crate) arch: Option<Arch<N>>,
}

impl<N: Number> Line<N> {
    /// `slope·z + intercept`.
    pub(crate) fn through(slope: N, intercept: &N, z: &N) -> Line<N> {
        Line { base: slope.times(z).plus(intercept), rise: slope.clone(), fall: slope, bend: None, arch: None }
    }

    /// Does a flip make no difference?
    pub(crate) fn is_flat(&self) -> bool {
        sign_is_zero(&self.rise) && sign_is_zero(&self.fall) && self.bend.is_none() && self.arch.is_none()
    }

    /// The mixture with an envelope, `a < 0`: `share` of it, the rest of this line.
    fn under(self, arch: Arch<N>, a: &N, base: &N, share: f64) -> Line<N> {
        // Exact: the share is a float, and 1 − share is computed in the numbers of the replay.
        let rest = N::from_f64(1.0).minus(&N::from_f64(share));
        Line {
            base: a.scaled(share).times(base).plus(&self.base.times(&rest)),
            rise: self.rise.times(&rest),
            fall: self.fall.times(&rest),
            bend: self.bend.map(|bend| Bend { weight: bend.weight.times(&rest), ..bend }),
            arch: Some(arch),
        }
    }
}

pub(crate) fn sign_is_zero<N: Number>(number: &N) -> bool {
    number.sign() == Some(Ordering::Equal)
}

/// What is the same at every hidden representation: split and stable units. `Ok` is the slope of a line through 0,
/// `Err` says that the unit is free and unstable, with the sign of its coefficient.
fn settled<N: Number>(
    a: &N,
    lower: &N,
    upper: &N,
    id: Unit,
    path: &Path,
    multipliers: &Multipliers,
) -> Result<Result<N, Ordering>, Undecided> {
    let beta = || N::from_f64(find(&multipliers.beta, id).unwrap_or(0.0));
    Ok(match path.side(id) {
        // relu(z) = z, and −βz ≤ 0.
        Some(true) => Ok(a.minus(&beta())),
        // relu(z) = 0, and βz ≤ 0.
        Some(false) => Ok(beta()),
        None if sign_is_zero(a) => Ok(N::zero()),
        None if sign(lower)? != Ordering::Less => Ok(a.clone()),
        None if sign(upper)? != Ordering::Greater => Ok(N::zero()),
        None => Err(sign(a)?),
    })
}

/// `S/(S − R)`, rounded down to the grid.
fn secant<N: Number>(lower: &N, upper: &N) -> N {
    N::share_below(upper, &upper.minus(lower))
}

/// Slope and intercept of a line under `a·relu(z)` on `[R, S]`, `a < 0`: the chord, or nearly so.
fn chord<N: Number>(a: &N, lower: &N, upper: &N, slope: Option<f64>) -> (N, N) {
    let share = slope.map_or_else(|| secant(lower, upper), N::from_f64);
    let slope = a.times(&share);
    // The difference a·relu(z) − λz is least at R, 0 or S.
    let at_lower = slope.times(lower).negated();
    let at_upper = a.minus(&slope).times(upper);
    let intercept = at_lower.least(&at_upper).least(&N::zero());
    (slope, intercept)
}

/// A line under `a·relu(z)` for a unit above representation 2: slope and intercept.
pub(crate) fn deep_line<N: Number>(
    a: &N,
    lower: &N,
    upper: &N,
    id: Unit,
    path: &Path,
    multipliers: &Multipliers,
) -> Result<(N, N), Undecided> {
    Ok(match settled(a, lower, upper, id, path, multipliers)? {
        Ok(slope) => (slope, N::zero()),
        Err(Ordering::Less) => chord(a, lower, upper, find(&multipliers.slope, id)),
        Err(_) => {
            let weight = find(&multipliers.weight, id);
            let weight = weight.map_or_else(
                || if multipliers.is_dual(id) { secant(lower, upper) } else { lower.plus(upper).step() },
                N::from_f64,
            );
            (a.times(&weight), N::zero())
        }
    })
}

/// The anchored bound, `a < 0`.
fn anchored<N: Number>(a: &N, z: &N, (alpha, theta): &(N, N)) -> Line<N> {
    Line { base: a.times(&z.positive_part()), rise: a.times(alpha), fall: a.times(theta), bend: None, arch: None }
}

/// The capped bound, `a < 0`.
fn capped<N: Number>(a: &N, z: &N, cap: &Cap<N>) -> Line<N> {
    let base = a.times(&z.positive_part());
    let up = match z.sign() {
        Some(Ordering::Less) => true,
        Some(Ordering::Greater) => false,
        // At zero rising costs all of it and falling gains nothing. On either side the level would give back `|a z'|` at
        // most, and above zero the base has taken that: what is not known is `|a|·[−z']₊`.
        _ => {
            let open = a.times(&z.negated().positive_part());
            return Line { base: base.minus(&open), rise: a.clone(), fall: N::zero(), bend: None, arch: None };
        }
    };
    let (rise, fall) = if up {
        (a.scaled(cap.slope), N::zero())
    } else {
        // In the numbers of the replay: 1 − slope need not be a float.
        (a.clone(), a.times(&N::from_f64(1.0).minus(&N::from_f64(cap.slope))))
    };
    Line { base, rise, fall, bend: Some(Bend { weight: a.negated(), up, cap: cap.clone() }), arch: None }
}

/// What is below `a·relu(z)` for a unit of representation 2: a line, the anchored or the capped bound, an envelope, or a mixture.
pub(crate) fn line<N: Number>(
    a: &N,
    (row, caps): (&Row<N>, Option<&[Cap<N>]>),
    id: Unit,
    (path, left): (&Path, &Left<N>),
    multipliers: &Multipliers,
) -> Result<Line<N>, Undecided> {
    let unit = id.2 as usize;
    let (z, lower, upper) = (&row.value[unit], &row.lower[unit], &row.upper[unit]);
    let weight = find(&multipliers.weight, id);
    Ok(match settled(a, lower, upper, id, path, multipliers)? {
        Ok(slope) => Line::through(slope, &N::zero(), z),
        Err(Ordering::Less) => {
            let weight = weight.unwrap_or(if multipliers.is_dual(id) { 1.0 } else { 0.0 });
            let mut line = match caps {
                Some(caps) => capped(a, z, &caps[unit]),
                None => anchored(a, z, &row.anchors[unit]),
            };
            if weight > 0.0 {
                let (slope, intercept) = chord(a, lower, upper, find(&multipliers.slope, id));
                let chord = Line::through(slope, &intercept, z);
                // Exact: numerators have at most 53 bits, and 1 − w is computed in the numbers of the replay.
                let (share, rest) = (N::from_f64(weight), N::from_f64(1.0).minus(&N::from_f64(weight)));
                let mix = |chord: &N, anchored: &N| chord.times(&share).plus(&anchored.times(&rest));
                line = Line {
                    base: mix(&chord.base, &line.base),
                    rise: mix(&chord.rise, &line.rise),
                    fall: mix(&chord.fall, &line.fall),
                    bend: line.bend.map(|bend| Bend { weight: bend.weight.times(&rest), ..bend }),
                    arch: None,
                };
            }
            match multipliers.envelope.as_ref().and_then(|envelope| envelope.prices((id.1, id.2))) {
                Some(prices) => {
                    let arch = Arch { weight: a.scaled(-prices.share), prices: prices.clone() };
                    line.under(arch, a, &left.base(prices, z), prices.share)
                }
                None => line,
            }
        }
        Err(_) => {
            let weight = weight
                .map_or_else(|| if multipliers.is_dual(id) { secant(lower, upper) } else { z.step() }, N::from_f64);
            Line::through(a.times(&weight), &N::zero(), z)
        }
    })
}
