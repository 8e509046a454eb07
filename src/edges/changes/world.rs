//! A graph after some changes of its edges, and of its attributes.

use crate::edges::budget::Edge;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;

/// The rows of a graph, each the nodes that one receives from, after some changes.
pub(crate) struct World<'a> {
    graph: &'a Graph,
    /// Rows that are others than those of the graph, without the node itself.
    rows: Vec<(u32, Vec<u32>)>,
    /// Attributes that are others than those of the graph, ascending by node.
    attributes: Vec<(u32, Vec<u32>)>,
}

/// An arc: who receives, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) to: u32,
    pub(crate) from: u32,
}

/// The arcs of an edge: one from the first end to the second if it is directed, else both ways.
pub(crate) fn arcs(edge: Edge, directed: bool) -> impl Iterator<Item = Arc> {
    let back = (!directed).then_some(Arc { to: edge.0, from: edge.1 });
    std::iter::once(Arc { to: edge.1, from: edge.0 }).chain(back)
}

impl<'a> World<'a> {
    /// Each of the edges is removed where the graph has it, and inserted where not.
    pub(crate) fn new(graph: &'a Graph, directed: bool, changes: &[Edge]) -> World<'a> {
        let mut world = World { graph, rows: Vec::new(), attributes: Vec::new() };
        for arc in changes.iter().flat_map(|&edge| arcs(edge, directed)) {
            let row = match world.rows.iter().position(|row| row.0 == arc.to) {
                Some(place) => &mut world.rows[place].1,
                None => {
                    let row = graph.adjacency().row(arc.to as usize).iter().copied().filter(|&n| n != arc.to);
                    world.rows.push((arc.to, row.collect()));
                    let last = world.rows.len() - 1;
                    &mut world.rows[last].1
                }
            };
            match row.binary_search(&arc.from) {
                Ok(place) => drop(row.remove(place)),
                Err(place) => row.insert(place, arc.from),
            }
        }
        world
    }

    /// The same graph, of whose attributes these are flipped.
    pub(crate) fn flipped(mut self, flips: &[Flip]) -> World<'a> {
        for flip in flips {
            let place = match self.attributes.binary_search_by_key(&flip.node, |row| row.0) {
                Ok(place) => place,
                Err(place) => {
                    let row = self.graph.attributes().row(flip.node as usize).to_vec();
                    self.attributes.insert(place, (flip.node, row));
                    place
                }
            };
            let row = &mut self.attributes[place].1;
            match row.binary_search(&flip.attribute) {
                Ok(place) => drop(row.remove(place)),
                Err(place) => row.insert(place, flip.attribute),
            }
        }
        self
    }

    /// The attributes of a node.
    pub(crate) fn attributes(&self, node: u32) -> &[u32] {
        match self.attributes.binary_search_by_key(&node, |row| row.0) {
            Ok(place) => &self.attributes[place].1,
            Err(_) => self.graph.attributes().row(node as usize),
        }
    }

    /// The nodes with other attributes, ascending.
    pub(crate) fn flipped_nodes(&self) -> Vec<u32> {
        self.attributes.iter().map(|row| row.0).collect()
    }

    /// Who a node receives from, itself left out.
    pub(crate) fn row(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let changed = self.rows.iter().find(|row| row.0 == node);
        let row = changed.map_or_else(|| self.graph.adjacency().row(node as usize), |row| row.1.as_slice());
        row.iter().copied().filter(move |&other| other != node)
    }

    /// How many those are.
    pub(crate) fn degree(&self, node: u32) -> usize {
        let changed = self.rows.iter().find(|row| row.0 == node);
        changed.map_or_else(|| self.graph.degree(node as usize), |row| row.1.len())
    }

    /// The nodes whose rows are changed.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().map(|row| row.0)
    }
}
