//! What the splits on a path have decided.

use std::collections::BTreeMap;

use crate::number::Dyadic;

/// A hidden unit: representation, place, unit.
pub(super) type UnitPlace = (usize, usize, usize);

/// An entry: place of its node, attribute.
pub(super) type EntryPlace = (usize, u32);

/// What a path has decided.
#[derive(Clone, Default)]
pub(super) struct RangePath {
    /// Is the pre-activation not negative? Otherwise it is not positive.
    pub(super) signs: BTreeMap<UnitPlace, bool>,
    /// Entries that are not changed, and those that are, with the values between which they lie then.
    pub(super) entries: BTreeMap<EntryPlace, Option<[Dyadic; 2]>>,
}

impl RangePath {
    /// The entries of a row that are changed.
    pub(super) fn changed(&self, place: usize) -> impl Iterator<Item = (u32, &[Dyadic; 2])> {
        let own = self.entries.range((place, 0)..=(place, u32::MAX));
        own.filter_map(|(entry, range)| Some((entry.1, range.as_ref()?)))
    }
}
