//! What becomes of a file that is there already: of proofs, and of rows.

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Start from nothing; refuse to overwrite rows, of a run that is finished or not, and an
    /// unknown file that is not empty.
    Fresh,
    /// Go on with the rows that are there; refuse those of another run. Without rows, start from
    /// nothing.
    Resume,
    /// Start from nothing, whatever is there.
    Force,
}
