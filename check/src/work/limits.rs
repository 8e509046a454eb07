//! The limits of a check.

/// A check in exact numbers may cost so many times as much.
const EXACT: u64 = 256;

/// Bounds of hidden units, stated or by default, may cost so many times as much for every node as what is not accepted.
const BOUNDS: u64 = 256;

/// What a check may cost, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps for one leaf, besides [`Limits::flip`]; and for all bends of a leaf.
    pub leaf: u64,
    /// Steps for a leaf for each flip, each entry of an operator along which it is sent, and each unit that it changes:
    /// what a leaf costs on a large neighbourhood, where no price rules a flip out.
    pub flip: u64,
    /// Steps for one line, besides those that the neighbourhood allows for one leaf of every class; the header is a
    /// line.
    pub line: u64,
    /// Steps for all lines that turn out not to be accepted, whatever the graph, and for what all lines share.
    pub file: u64,
    /// The same, besides, for every node of the graph.
    pub node: u64,
    /// Bytes of what is kept beside graph, model and one line at a time.
    pub memory: u64,
}

/// No honest file comes near: `FORMAT.md` §2.
impl Default for Limits {
    fn default() -> Limits {
        Limits { leaf: 1 << 30, flip: 1 << 8, line: 1 << 32, file: 1 << 32, node: 1 << 20, memory: 1 << 29 }
    }
}

impl Limits {
    /// Nothing is too expensive.
    pub const NONE: Limits =
        Limits { leaf: u64::MAX, flip: u64::MAX, line: u64::MAX, file: u64::MAX, node: u64::MAX, memory: u64::MAX };

    /// So many times the default; no limits for 0.
    pub fn factor(factor: u64) -> Limits {
        if factor == 0 { Limits::NONE } else { Limits::default().times(factor, factor) }
    }

    /// Steps for bounds of hidden units on a graph of so many nodes.
    pub fn bounds(&self, nodes: usize) -> u64 {
        self.file.saturating_add(self.node.saturating_mul(BOUNDS).saturating_mul(nodes as u64))
    }

    /// For a check in exact numbers alone: trees have as many leaves, and all of them are expensive.
    #[must_use]
    pub(crate) fn exact(self) -> Limits {
        self.times(1, EXACT)
    }

    /// Some times as much for a leaf and for memory, and for more than a leaf.
    fn times(self, leaf: u64, more: u64) -> Limits {
        let Limits { leaf: of_leaf, flip, line, file, node, memory } = self;
        Limits {
            leaf: of_leaf.saturating_mul(leaf),
            flip: flip.saturating_mul(leaf),
            line: line.saturating_mul(more),
            file: file.saturating_mul(more),
            node: node.saturating_mul(more),
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
        let exact = default.exact();
        assert_eq!((exact.leaf, exact.flip, exact.memory), (default.leaf, default.flip, default.memory));
        assert_eq!(
            (exact.line, exact.file, exact.node),
            (EXACT * default.line, EXACT * default.file, EXACT * default.node)
        );
        assert_eq!(Limits::factor(0), Limits::NONE);
        assert_eq!(Limits::factor(u64::MAX), Limits::NONE);
    }
}
