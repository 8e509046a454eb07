//! Kinds of numbers that weights, biases and matrix entries are drawn from.

use crate::random::Random;

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// −1, 0 and 1.
    Signs,
    /// Whole numbers from −4 to 4.
    Integers,
    /// Multiples of a half.
    Halves,
    /// Multiples of a tenth, as decimal text would be read.
    Tenths,
    /// Powers of two of either sign.
    Powers,
    /// Random numbers of 32 bits.
    Single,
    /// Random numbers of 64 bits.
    Double,
    /// Numbers within a few units in the last place of ±1.
    Ulps,
    /// Numbers below 1e-290, many of them subnormal.
    Tiny,
    /// Numbers above 1e100.
    Huge,
    /// Any magnitude that a float has.
    Mixed,
    /// Multiples of 2⁻³⁰, small against 1.
    Fine,
}

/// All kinds, the ordinary ones more than once.
pub const STYLES: [Style; 18] = [
    Style::Signs,
    Style::Integers,
    Style::Integers,
    Style::Integers,
    Style::Halves,
    Style::Halves,
    Style::Tenths,
    Style::Tenths,
    Style::Powers,
    Style::Single,
    Style::Single,
    Style::Single,
    Style::Double,
    Style::Ulps,
    Style::Tiny,
    Style::Huge,
    Style::Mixed,
    Style::Fine,
];

impl Style {
    /// Draws a number; never NaN or infinite.
    pub fn draw(self, random: &mut Random) -> f64 {
        match self {
            Style::Signs => random.between(-1, 1) as f64,
            Style::Integers => random.between(-4, 4) as f64,
            Style::Halves => random.between(-6, 6) as f64 / 2.0,
            Style::Tenths => random.between(-12, 12) as f64 / 10.0,
            Style::Powers => sign(random) * 2f64.powi(random.between(-4, 4) as i32),
            Style::Single => f64::from((random.unit() * 2.0 - 1.0) as f32),
            Style::Double => random.unit() * 2.0 - 1.0,
            Style::Ulps => sign(random) * f64::from_bits((1.0f64.to_bits() as i64 + random.between(-2, 2)) as u64),
            Style::Tiny => match random.below(4) {
                0 => sign(random) * f64::from_bits(random.next() >> 62),
                1 => sign(random) * f64::from_bits(random.next() >> (12 + random.below(40))),
                _ => sign(random) * (1.0 + random.unit()) * 2f64.powi(random.between(-1022, -960) as i32),
            },
            Style::Huge => sign(random) * (1.0 + random.unit()) * 2f64.powi(random.between(332, 996) as i32),
            Style::Mixed => sign(random) * (1.0 + random.unit()) * 2f64.powi(random.between(-1022, 996) as i32),
            Style::Fine => random.between(-1000, 1000) as f64 * 2f64.powi(-30),
        }
    }
}

/// 1 or −1.
pub fn sign(random: &mut Random) -> f64 {
    if random.percent(50) { 1.0 } else { -1.0 }
}

/// The float that lies so many units in the last place further from zero (or nearer, if negative).
pub fn step(x: f64, units: i64) -> f64 {
    if x == 0.0 {
        return f64::from_bits(units.unsigned_abs());
    }
    let moved = f64::from_bits(x.to_bits().wrapping_add_signed(units));
    if moved.is_finite() && (moved < 0.0) == (x < 0.0) { moved } else { x }
}
