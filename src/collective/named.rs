//! The flips that have a column of their own.

use std::collections::BTreeMap;

/// Named flips: source nodes, and places of attributes in the order of
/// [`Attributes`](crate::bound::attributes::Attributes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    by_source: BTreeMap<u32, Vec<u32>>,
}

impl Named {
    /// The places of a source node's flips, rising.
    pub(crate) fn of(&self, source: u32) -> &[u32] {
        self.by_source.get(&source).map_or(&[], Vec::as_slice)
    }

    /// Takes the names away of flips, source node and place, that are not to keep them.
    pub(crate) fn retain(&mut self, keep: impl Fn(u32, u32) -> bool) {
        for (&source, slots) in &mut self.by_source {
            slots.retain(|&slot| keep(source, slot));
        }
    }

    /// Names flips of a source node; those that are named stay. Returns how many are new.
    pub(crate) fn add(&mut self, source: u32, slots: Vec<u32>) -> usize {
        if slots.is_empty() {
            return 0;
        }
        let of = self.by_source.entry(source).or_default();
        let before = of.len();
        of.extend(slots);
        of.sort_unstable();
        of.dedup();
        of.len() - before
    }
}
