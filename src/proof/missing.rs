//! Why a node has no proof.

use std::fmt;

use serde::{Serialize, Serializer};

/// Why a node has no proof. A line of a file says it in words, and may add details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Missing {
    /// The certifier was not told to keep evidence.
    NotAskedFor,
    /// There is no verdict.
    Undecided,
    /// No bound that was evaluated settled some class.
    NoBound,
    /// The tree of a search has more nodes or bytes, or longer paths, than the format allows.
    TreeTooLarge,
    /// The search ended before every branch was closed by a bound.
    SearchNotOver,
    /// The checker finds no leaf positive, however it is split.
    NoLeaf,
    /// The checker does not accept the witness.
    Witness,
    /// The line would be longer than the format allows.
    LineTooLong,
    /// No execution is shown to keep the class, and none to lose it.
    Rounding,
    /// A line that another version has written.
    Other,
}

impl Missing {
    /// All that this version writes.
    const WRITTEN: [Missing; 9] = [
        Missing::NotAskedFor,
        Missing::Undecided,
        Missing::NoBound,
        Missing::TreeTooLarge,
        Missing::SearchNotOver,
        Missing::NoLeaf,
        Missing::Witness,
        Missing::LineTooLong,
        Missing::Rounding,
    ];

    /// In words. No text is the beginning of another.
    pub fn text(self) -> &'static str {
        match self {
            Missing::NotAskedFor => "proofs were not asked for",
            Missing::Undecided => "the node is undecided",
            Missing::NoBound => "no bound was kept",
            Missing::TreeTooLarge => "the tree of the search is too large to be written down",
            Missing::SearchNotOver => "the search was not over",
            Missing::NoLeaf => "robust by a bound that no leaf of the format shows",
            Missing::Witness => "the checker does not accept the witness",
            Missing::LineTooLong => "the proof is longer than 8388608 bytes",
            Missing::Rounding => "as deployed the node is rounding-dependent or undecided",
            Missing::Other => "another reason",
        }
    }

    /// What the reason of a line begins with: files that are gone on with hold words alone.
    pub fn of(reason: &str) -> Missing {
        Missing::WRITTEN.into_iter().find(|missing| reason.starts_with(missing.text())).unwrap_or(Missing::Other)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Missing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use gcnproof_check::LONGEST_LINE;

    use super::*;

    #[test]
    fn every_reason_is_known_by_its_words() {
        for missing in Missing::WRITTEN {
            for details in ["", ": the bound is not positive: 2", " (limit)"] {
                assert_eq!(Missing::of(&format!("{missing}{details}")), missing);
            }
            let alike = |other: &Missing| other.text().starts_with(missing.text());
            assert_eq!(Missing::WRITTEN.iter().filter(|other| alike(other)).count(), 1);
        }
        assert_eq!(Missing::of("the disk was full"), Missing::Other);
        assert!(Missing::LineTooLong.text().contains(&LONGEST_LINE.to_string()));
    }
}
