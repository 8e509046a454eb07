//! What a perturbation of a graph uses: which nodes, which attributes, and how often each is added or removed.

use std::collections::BTreeMap;

use gcnproof::internals::problem::flip::Flip;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;

/// How many nodes and attributes are told by name.
pub const SHOWN: usize = 10;

/// How often attributes are flipped, by what the flip does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The attribute is given to a node that does not have it.
    pub added: usize,
    /// It is taken from a node that has it.
    pub removed: usize,
    /// One of these: the graph is not known, or has no such entry.
    pub unknown: usize,
}

impl Uses {
    /// All flips.
    pub fn flips(self) -> usize {
        self.added + self.removed + self.unknown
    }

    fn count(&mut self, added: Option<bool>) {
        *match added {
            Some(true) => &mut self.added,
            Some(false) => &mut self.removed,
            None => &mut self.unknown,
        } += 1;
    }
}

/// What a perturbation uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attackers {
    /// The flips of all nodes.
    pub all: Uses,
    /// The nodes whose attributes change, those with most flips first; of two with as many, the smaller id.
    pub nodes: Vec<(u32, Uses)>,
    /// The attributes that change somewhere, in the same order.
    pub attributes: Vec<(u32, Uses)>,
}

impl Attackers {
    /// Counts flips; the graph tells additions and removals apart.
    pub fn new(flips: &[Flip], graph: Option<&Graph>) -> Attackers {
        let mut all = Uses::default();
        let (mut nodes, mut attributes) = (BTreeMap::new(), BTreeMap::new());
        for flip in flips {
            let added = graph.and_then(|graph| is_added(graph, *flip));
            all.count(added);
            let uses: &mut Uses = nodes.entry(flip.node).or_default();
            uses.count(added);
            let uses: &mut Uses = attributes.entry(flip.attribute).or_default();
            uses.count(added);
        }
        Attackers { all, nodes: by_flips(nodes), attributes: by_flips(attributes) }
    }
}

/// Does this flip add its attribute? Nothing for an entry that the graph does not have.
fn is_added(graph: &Graph, flip: Flip) -> Option<bool> {
    let (node, attribute) = (flip.node as usize, flip.attribute as usize);
    let fits = node < graph.node_count() && attribute < graph.attribute_count();
    fits.then(|| !graph.attributes().contains(node, flip.attribute))
}

fn by_flips(uses: BTreeMap<u32, Uses>) -> Vec<(u32, Uses)> {
    let mut order: Vec<(u32, Uses)> = uses.into_iter().collect();
    // Ids rise already, and the order of equals is kept.
    order.sort_by_key(|(_, uses)| std::cmp::Reverse(uses.flips()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcnproof_files::{GraphFile, Pattern};

    /// Three nodes without edges and three attributes; node 1 has attributes 0 and 2.
    fn graph() -> Graph {
        let adjacency = Pattern { rows: 3, columns: 3, offsets: vec![0; 4], indices: Vec::new() };
        let attributes = Pattern { rows: 3, columns: 3, offsets: vec![0, 0, 2, 2], indices: vec![0, 2] };
        Graph::from_file(GraphFile { adjacency, attributes, ..GraphFile::default() })
    }

    fn uses(added: usize, removed: usize, unknown: usize) -> Uses {
        Uses { added, removed, unknown }
    }

    #[test]
    fn flips_are_counted_by_node_and_by_attribute() {
        let flips = [(2, 0), (1, 0), (1, 2), (1, 1), (0, 1)].map(Flip::from);
        let found = Attackers::new(&flips, Some(&graph()));
        assert_eq!((found.all, found.all.flips()), (uses(3, 2, 0), 5));
        assert_eq!(found.nodes, [(1, uses(1, 2, 0)), (0, uses(1, 0, 0)), (2, uses(1, 0, 0))]);
        assert_eq!(found.attributes, [(0, uses(1, 1, 0)), (1, uses(2, 0, 0)), (2, uses(0, 1, 0))]);
    }

    #[test]
    fn without_the_graph_no_flip_is_an_addition() {
        let flips = [(2, 0), (1, 0)].map(Flip::from);
        assert_eq!(Attackers::new(&flips, None).attributes, [(0, uses(0, 0, 2))]);
        // Nor is one of an entry that the graph does not have.
        let found = Attackers::new(&[(3, 0), (0, 3), (0, 0)].map(Flip::from), Some(&graph()));
        assert_eq!(found.all, uses(1, 0, 2));
        assert_eq!(Attackers::new(&[], None), Attackers::default());
    }
}
