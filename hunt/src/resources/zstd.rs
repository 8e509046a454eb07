//! Frames of zstd (RFC 8878) written by hand: blocks that repeat one byte, and blocks of bytes as they are.

/// A part of what a frame stands for.
pub enum Block<'a> {
    /// These bytes.
    Raw(&'a [u8]),
    /// One byte so many times, at most 2¹⁷.
    Repeat(u8, u32),
}

/// A frame of some blocks, with a window of 2¹⁷ bytes and without checksum.
pub fn frame(blocks: &[Block]) -> Vec<u8> {
    // Magic number; no flags; window descriptor: exponent 7, so 2^(10 + 7) bytes.
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    for (at, block) in blocks.iter().enumerate() {
        let last = u32::from(at + 1 == blocks.len());
        let (kind, size) = match block {
            Block::Raw(raw) => (0, raw.len() as u32),
            Block::Repeat(_, count) => (1, *count),
        };
        bytes.extend(&(last | kind << 1 | size << 3).to_le_bytes()[..3]);
        match block {
            Block::Raw(raw) => bytes.extend(*raw),
            Block::Repeat(byte, _) => bytes.push(*byte),
        }
    }
    bytes
}
