//! The limits of a check.

/// A check in exact numbers may cost so many times as much.
const EXACT: u64 = 256;

/// What a check may cost, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps for one leaf, besides [`Limits::flip`]; and for all bends of a leaf.
    pub leaf: u64,
    /// Steps for a leaf for each flip, each entry of an operator along which it is sent, and each unit that it changes:
    /// what a leaf costs on a large neighbourhood, where no price rules a flip out.
    pub flip: u64,
    /// Steps for the header.
    pub header: u64,
    /// Steps for one line, besides those that the neighbourhood allows for one leaf of every class.
    pub line: u64,
    /// Steps for all lines that turn out not to be accepted, whatever the graph, and for what all lines share.
    pub file: u64,
    /// The same, besides, for every node of the graph.
    pub node: u64,
    /// Steps for bounds of hidden units, stated or by default, for every layer and node that has any, besides
    /// [`Limits::file`].
    pub bounds: u64,
    /// The same for every weight between hidden layers, where that is less.
    pub weight: u64,
    /// Bytes of what is kept beside graph, model and one line at a time.
    pub memory: u64,
}

/// No honest file comes near: `FORMAT.md` §2.
impl Default for Limits {
    fn default() -> Limits {
        Limits {
            leaf: 1 << 30,
            flip: 1 << 8,
            header: 1 << 32,
            line: 1 << 32,
            file: 1 << 32,
            node: 1 << 20,
            bounds: 1 << 28,
            weight: 1 << 18,
            memory: 1 << 29,
        }
    }
}

impl Limits {
    /// Nothing is too expensive.
    pub const NONE: Limits = Limits {
        leaf: u64::MAX,
        flip: u64::MAX,
        header: u64::MAX,
        line: u64::MAX,
        file: u64::MAX,
        node: u64::MAX,
        bounds: u64::MAX,
        weight: u64::MAX,
        memory: u64::MAX,
    };

    /// So many times the default; no limits for 0.
    pub fn factor(factor: u64) -> Limits {
        if factor == 0 { Limits::NONE } else { Limits::default().times(factor, factor) }
    }

    /// Steps for bounds of the units of one layer and node, in a network with so many weights between hidden layers.
    pub(crate) fn bounds_of(&self, weights: usize) -> u64 {
        self.bounds.min(self.weight.saturating_mul(weights as u64).max(self.node))
    }

    /// For a check in exact numbers alone: trees have as many leaves, and all of them are expensive.
    #[must_use]
    pub(crate) fn exact(self) -> Limits {
        self.times(1, EXACT)
    }

    /// Some times as much for a leaf and for memory, and for more than a leaf.
    fn times(self, leaf: u64, more: u64) -> Limits {
        let Limits { leaf: of_leaf, flip, header, line, file, node, bounds, weight, memory } = self;
        Limits {
            leaf: of_leaf.saturating_mul(leaf),
            flip: flip.saturating_mul(leaf),
            header: header.saturating_mul(leaf),
            line: line.saturating_mul(more),
            file: file.saturating_mul(more),
            node: node.saturating_mul(more),
            bounds: bounds.saturating_mul(more),
            weight: weight.saturating_mul(more),
            memory: memory.saturating_mul(leaf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_multiples_of_the_default() {
        let default = Limits::default();
        assert_eq!(Limits::factor(1), default);
        let twice = Limits::factor(2);
        assert_eq!((twice.leaf, twice.flip, twice.line), (2 * default.leaf, 2 * default.flip, 2 * default.line));
        assert_eq!((twice.file, twice.node, twice.memory), (2 * default.file, 2 * default.node, 2 * default.memory));
        assert_eq!((twice.header, twice.bounds), (2 * default.header, 2 * default.bounds));
        let exact = default.exact();
        assert_eq!((exact.leaf, exact.flip, exact.header), (default.leaf, default.flip, default.header));
        assert_eq!((exact.bounds, exact.memory), (EXACT * default.bounds, default.memory));
        assert_eq!(
            (exact.line, exact.file, exact.node),
            (EXACT * default.line, EXACT * default.file, EXACT * default.node)
        );
        assert_eq!(Limits::factor(0), Limits::NONE);
        assert_eq!(Limits::factor(u64::MAX), Limits::NONE);
    }

    #[test]
    fn small_networks_need_few_steps_for_bounds() {
        let default = Limits::default();
        assert_eq!(default.bounds_of(0), default.node);
        assert_eq!(default.bounds_of(9), 9 * default.weight);
        assert_eq!(Limits::factor(3).bounds_of(9), 27 * default.weight);
        assert_eq!(default.bounds_of(1 << 20), default.bounds);
        assert_eq!(Limits::NONE.bounds_of(9), u64::MAX);
    }
}
