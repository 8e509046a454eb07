//! The checksum of a Parquet file.
//!
//! The library that reads Parquet trusts what it finds in a file: one flipped bit can make it
//! panic, or read other numbers. Hence each file carries a checksum of all its other bytes, and
//! nothing of a file is parsed before the checksum agrees.

/// What precedes the checksum in the file's key-value metadata.
pub(crate) const MARK: &str = "gcnproof-fnv1a-";

/// Hexadecimal digits of the checksum.
const DIGITS: usize = 16;

/// The checksum's place in a file that is not finished.
pub(super) fn blank() -> String {
    format!("{MARK}{:0DIGITS$x}", 0)
}

/// Whether the checksum agrees; nothing if there is none.
pub(super) fn holds(bytes: &[u8]) -> Option<bool> {
    let digits = digits(bytes)?;
    let sum = format!("{:0DIGITS$x}", checksum(bytes, digits));
    Some(bytes[digits..digits + DIGITS] == *sum.as_bytes())
}

/// Writes the checksum into its place, if the file has one.
pub(crate) fn seal(bytes: &mut [u8]) -> Option<()> {
    let digits = digits(bytes)?;
    let sum = format!("{:0DIGITS$x}", checksum(bytes, digits));
    bytes[digits..digits + DIGITS].copy_from_slice(sum.as_bytes());
    Some(())
}

/// Where the digits of the checksum stand: behind the last mark, since the metadata comes last in a
/// file.
fn digits(bytes: &[u8]) -> Option<usize> {
    let mark = bytes.windows(MARK.len()).rposition(|window| window == MARK.as_bytes())?;
    let digits = mark + MARK.len();
    (bytes.len() - digits >= DIGITS).then_some(digits)
}

/// FNV-1a (64 bits) of the length and of all bytes but the checksum's own digits. Each step is a
/// bijection, so that no change of a single byte goes unnoticed; it guards against accidents, not
/// against forgers.
fn checksum(bytes: &[u8], digits: usize) -> u64 {
    let length = (bytes.len() as u64).to_le_bytes();
    let parts = length.iter().chain(&bytes[..digits]).chain(&bytes[digits + DIGITS..]);
    parts.fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
