//! Many numbers in few characters: bytes in base 64, and numbers of 32 bits that stay on their side.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base 64, as a browser's `atob` reads them.
pub fn base64(bytes: impl Iterator<Item = u8>) -> String {
    let bytes: Vec<u8> = bytes.collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

/// The largest number of 32 bits that is not above this one: a bound that is shown still holds.
pub fn below(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}

/// The smallest number of 32 bits that is not below this one.
pub fn above(x: f64) -> f32 {
    -below(-x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_browsers_read_them() {
        let cases: [(&[u8], &str); 5] =
            [(b"", ""), (b"M", "TQ=="), (b"Ma", "TWE="), (b"Man", "TWFu"), (&[255, 254, 253, 0], "//79AA==")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.iter().copied()), text);
        }
    }

    #[test]
    fn numbers_stay_on_their_side() {
        for x in [0.1, -0.1, 1e-60, -1e-60, 1e60, -1e60, 7.0, 0.0, 16_777_217.0] {
            assert!(f64::from(below(x)) <= x && x <= f64::from(above(x)), "{x}");
        }
    }
}
