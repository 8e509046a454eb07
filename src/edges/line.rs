//! RemovalLines under the units of one node, for one class pair: what the node adds to the margin at least
//! (docs/math.md (18.8)).

use crate::edges::pair::Coefficients;
use crate::number::rounding::UNIT;

/// A unit of a node in some state: its anchor with error, and how far it can rise and fall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) z: f64,
    pub(crate) error: f64,
    pub(crate) rise: f64,
    pub(crate) fall: f64,
    /// `relu(z + p − q) ≤ top + up p − down q` for all rises and falls within reach.
    top: f64,
    up: f64,
    down: f64,
    /// Is `z` itself the line below, and not 0?
    active: bool,
}

/// Where the anchor is 0 but for roundings its sign says nothing: a unit that can fall farther than this share of how
/// far it can rise counts as inactive then. The checker decides the same exactly; no sum of few entries has this ratio
/// to another, so that both see it alike.
const FALL: f64 = 59.0 / 128.0;

/// How near 0 that is, as a share of the reach.
const NEAR: f64 = 1.0 / (1u64 << 30) as f64;

impl Unit {
    /// The tightest such line through the anchor, up to roundings.
    pub(crate) fn new(z: f64, error: f64, [rise, fall]: [f64; 2]) -> Unit {
        let relu = |z: f64| z.max(0.0);
        let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
        let up = share(relu(z + rise) - relu(z), rise);
        let down = share(relu(z) - relu(z - fall), fall);
        // Any slopes are valid above the largest of the four corners, because the difference is convex.
        let corners = [
            relu(z),
            relu(z + rise) - up * rise,
            relu(z - fall) + down * fall,
            relu(z + rise - fall) - up * rise + down * fall,
        ];
        let top = corners.into_iter().fold(0.0, f64::max) + error + 16.0 * UNIT * (z.abs() + error + rise + fall);
        let active = z > NEAR * (fall - FALL * rise);
        Unit { z, error, rise, fall, top, up, down, active }
    }
}

/// The lines of a node's units together.
#[derive(Debug, Default)]
pub(crate) struct RemovalLines {
    /// Slopes for rises and for falls.
    pub(crate) up: Vec<f64>,
    pub(crate) down: Vec<f64>,
    /// The largest slope.
    pub(crate) steepest: f64,
    /// What all units add at the anchor, and its error.
    pub(crate) constant: f64,
    pub(crate) error: f64,
}

impl RemovalLines {
    /// For units with these coefficients.
    pub(crate) fn set(&mut self, units: &[Unit], of: &Coefficients, linear: &[bool], eps: f64) {
        self.up.clear();
        self.down.clear();
        (self.steepest, self.constant, self.error) = (0.0, 0.0, 0.0);
        let mut size = 0.0;
        for (i, (unit, (&g, &g_size))) in units.iter().zip(of.value.iter().zip(&of.size)).enumerate() {
            // What the error of the coefficient can do.
            let reach = unit.z.abs() + unit.error + unit.rise + unit.fall;
            let mut error = eps * g_size * reach;
            let (constant, up, down) = if linear.get(i).copied().unwrap_or(false) {
                error += g.abs() * unit.error;
                (g * unit.z, g, g)
            } else if g >= 0.0 {
                let slope = if unit.active { g } else { 0.0 };
                error += slope * unit.error;
                (slope * unit.z, slope, slope)
            } else {
                // Two products are rounded, and apply to at most what is in reach.
                error += 4.0 * UNIT * g.abs() * (unit.rise + unit.fall);
                (g * unit.top, g * unit.up, g * unit.down)
            };
            self.constant += constant;
            size += constant.abs();
            self.error += error;
            self.steepest = self.steepest.max(up.abs()).max(down.abs());
            self.up.push(up);
            self.down.push(down);
        }
        self.error = self.error * (1.0 + 1e-9) + eps * size;
    }

    /// Not above the value of `+1` and of `−1` times a message; `total` is the sum of its sizes.
    #[inline]
    pub(crate) fn values(&self, message: &[f64], total: f64, eps: f64) -> [f64; 2] {
        let (mut plus, mut minus) = (0.0, 0.0);
        for ((&y, &up), &down) in message.iter().zip(&self.up).zip(&self.down) {
            let (rise, fall) = (y.max(0.0), (-y).max(0.0));
            plus += up * rise - down * fall;
            minus += up * fall - down * rise;
        }
        let error = self.doubt(total, eps);
        [plus - error, minus - error]
    }

    /// What is subtracted from these values: none where a message or all slopes are zero throughout.
    #[inline]
    pub(crate) fn doubt(&self, total: f64, eps: f64) -> f64 {
        let underflow = if self.steepest > 0.0 && total > 0.0 { f64::MIN_POSITIVE } else { 0.0 };
        4.0 * eps * self.steepest * total + underflow
    }
}
