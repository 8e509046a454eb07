//! Cuts a graph into parts that can be certified apart: each has the nodes that it answers for, and all that these
//! depend on.
//!
//! A network of `h` hops reads of a node what lies within `h` edges of it. The entries of its operators between these
//! nodes depend on their degrees, and so on the neighbours of those that are `h` edges away. So a part has
//!
//! * its own nodes and all nodes within `h` edges of one, with their attributes, labels and all of their edges;
//! * the nodes `h + 1` edges away, its *rim*, without edges among themselves: they are there to be counted. They have
//!   no attributes either, unless a row without any is one that the whole graph might not have.
//!
//! Rows keep the order of the whole graph. All sums are over rows in that order, and ties are broken by it: so what is
//! computed of an own node is the same number, bit by bit.

use std::collections::VecDeque;
use std::sync::Arc;

use gcnproof_files::{GraphFile, PartFile, Pattern};

use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;

/// Which nodes belong to which part.
#[derive(Clone, Debug)]
pub struct Partition<'a> {
    graph: &'a Graph,
    hops: usize,
    /// The own nodes of each part, rising.
    own: Vec<Vec<u32>>,
}

/// What each node costs in proportion: walks of at most so many steps from it, an upper bound of what it depends on.
fn weights(graph: &Graph, hops: usize) -> Vec<f64> {
    let most = graph.node_count() as f64;
    let mut weights = vec![1.0; graph.node_count()];
    for _ in 0..hops {
        let step = |node: usize| {
            let reached: f64 = graph.adjacency().row(node).iter().map(|&to| weights[to as usize]).sum();
            (weights[node] + reached).min(most)
        };
        weights = (0..weights.len()).map(step).collect();
    }
    weights
}

impl<'a> Partition<'a> {
    /// Cuts a graph into `parts` of about the same weight, for networks of at most so many hops. The same graph is
    /// always cut in the same way.
    ///
    /// Part after part grows from the first node that is left along the edges until it has its share, so that its nodes
    /// have neighbourhoods in common.
    ///
    /// # Panics
    /// If there are more parts than nodes, or none.
    pub fn new(graph: &'a Graph, parts: usize, hops: usize) -> Partition<'a> {
        let nodes = graph.node_count();
        assert!((1..=nodes).contains(&parts), "{parts} parts of {nodes} nodes");
        let weights = weights(graph, hops);
        let (mut left, mut remaining): (f64, usize) = (weights.iter().sum(), nodes);
        let mut taken = vec![false; nodes];
        let mut own = Vec::with_capacity(parts);
        let mut first = 0;
        for number in 0..parts {
            let behind = parts - 1 - number;
            let share = left / (behind + 1) as f64;
            let (mut queue, mut queued) = (VecDeque::new(), Vec::new());
            let (mut part, mut weight) = (Vec::new(), 0.0);
            // Each of the parts behind needs a node; the last takes what is left.
            while remaining > behind && (behind == 0 || weight < share) {
                let Some(node) = queue.pop_front() else {
                    while first < nodes && taken[first] {
                        first += 1;
                    }
                    taken[first] = true;
                    queue.push_back(first as u32);
                    continue;
                };
                part.push(node);
                weight += weights[node as usize];
                remaining -= 1;
                for &to in graph.adjacency().row(node as usize) {
                    if !std::mem::replace(&mut taken[to as usize], true) {
                        queue.push_back(to);
                    }
                }
            }
            // What was reached but not taken is left to the others.
            queued.extend(queue);
            queued.iter().for_each(|&node: &u32| taken[node as usize] = false);
            first = queued.iter().map(|&node| node as usize).min().map_or(first, |node| node.min(first));
            left -= weight;
            part.sort_unstable();
            own.push(part);
        }
        Partition { graph, hops, own }
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.own.len()
    }

    /// The own nodes of a part, rising.
    pub fn own(&self, number: usize) -> &[u32] {
        &self.own[number]
    }

    /// A part as a graph of its own, and what it is.
    pub fn part(&self, number: usize) -> (GraphFile, PartFile) {
        let (graph, nodes) = (self.graph, self.graph.node_count());
        let mut distance = vec![usize::MAX; nodes];
        let mut ring: Vec<u32> = self.own[number].clone();
        let mut rows = ring.clone();
        ring.iter().for_each(|&node| distance[node as usize] = 0);
        for step in 1..=self.hops + 1 {
            let mut next = Vec::new();
            for &from in &ring {
                for &to in graph.adjacency().row(from as usize) {
                    if distance[to as usize] == usize::MAX {
                        distance[to as usize] = step;
                        next.push(to);
                    }
                }
            }
            rows.extend_from_slice(&next);
            ring = next;
        }
        rows.sort_unstable();
        let mut place = vec![u32::MAX; nodes];
        for (row, &node) in rows.iter().enumerate() {
            place[node as usize] = row as u32;
        }
        let is_rim = |node: u32| distance[node as usize] > self.hops;
        let observed = graph.observed();
        // A row without attributes is one that the whole graph might not have: with none of a group, or below all
        // ranges.
        let is_bare = |node: u32| is_rim(node) && graph.categories().is_none() && observed.holds_zero();
        let edges = |&node: &u32| {
            let row = graph.adjacency().row(node as usize);
            // A self-loop of a rim node is nobody's degree either.
            let kept = row.iter().filter(|&&to| place[to as usize] != u32::MAX && !(is_rim(node) && is_rim(to)));
            kept.map(|&to| place[to as usize]).collect::<Vec<u32>>()
        };
        let owned =
            |&node: &u32| if is_bare(node) { Vec::new() } else { graph.attributes().row(node as usize).to_vec() };
        let adjacency = pattern(rows.len(), rows.iter().map(edges));
        let attributes = pattern(graph.attribute_count(), rows.iter().map(owned));
        let labels = graph.labels().map(|labels| rows.iter().map(|&node| labels[node as usize]).collect());
        let names = graph.node_names().map(|names| rows.iter().map(|&node| names[node as usize].clone()).collect());
        let kept = rows.iter().map(|&node| (!is_bare(node)).then_some(node));
        let file = GraphFile {
            adjacency,
            attributes,
            labels,
            categories: graph.categories().map(|categories| Arc::new(categories.selected(&rows))),
            values: graph.values().map(|values| Arc::new(values.selected(kept))),
            node_names: names,
            attribute_names: graph.attribute_names().map(<[String]>::to_vec),
            class_names: graph.class_names().map(<[String]>::to_vec),
            ..GraphFile::default()
        };
        let own = self.own[number].iter().map(|&node| place[node as usize]).collect();
        let part = PartFile {
            nodes: rows,
            own,
            number,
            parts: self.own.len(),
            of: nodes,
            hops: self.hops,
            longest: Some(graph.longest_rows()),
            observed: Some((*observed).clone()),
            whole: graph.digest().to_string(),
        };
        (file.normalised(graph.normalisation()), part)
    }
}

fn pattern(columns: usize, rows: impl Iterator<Item = Vec<u32>>) -> Pattern {
    let mut pattern = Pattern { rows: 0, columns, offsets: vec![0], indices: Vec::new() };
    for row in rows {
        pattern.indices.extend_from_slice(&row);
        pattern.offsets.push(pattern.indices.len());
        pattern.rows += 1;
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(nodes: usize) -> Graph {
        let edges: Vec<(usize, usize)> = (1..nodes).map(|node| (node - 1, node)).collect();
        let attributes: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node % 3]).collect();
        Graph::from_lists(&edges, &attributes, 3).unwrap()
    }

    #[test]
    fn every_node_has_one_part() {
        for (nodes, parts) in [(12, 4), (7, 7), (9, 1), (100, 6)] {
            // Two components, the second of nodes without edges.
            let mut edges: Vec<(usize, usize)> = (1..nodes / 2).map(|node| (node - 1, node)).collect();
            edges.push((0, nodes / 2));
            let graph = Graph::from_lists(&edges, &vec![vec![0]; nodes], 1).unwrap();
            let partition = Partition::new(&graph, parts, 2);
            let mut all: Vec<u32> = (0..parts).flat_map(|number| partition.own(number).to_vec()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..nodes as u32).collect::<Vec<_>>());
            assert!((0..parts).all(|number| !partition.own(number).is_empty()), "{nodes} nodes, {parts} parts");
        }
    }

    #[test]
    fn a_path_is_cut_into_pieces_with_their_halo() {
        let graph = path(40);
        let partition = Partition::new(&graph, 4, 2);
        for number in 0..4 {
            let own = partition.own(number);
            assert!((8..=12).contains(&own.len()), "{own:?}");
            assert!(own.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{own:?}");
        }
        let (file, part) = partition.part(1);
        let own: Vec<u32> = part.own.iter().map(|&row| part.nodes[row as usize]).collect();
        assert_eq!(own, partition.own(1));
        // Two hops on each side, and the rim: it has no attributes.
        assert_eq!(part.nodes.len(), own.len() + 6);
        assert_eq!((part.nodes[0] + 3, part.of, part.hops), (own[0], 40, 2));
        assert!(file.attributes.row(0).is_empty() && !file.attributes.row(1).is_empty());
        assert_eq!((file.adjacency.row(1).len(), file.adjacency.row(0).len()), (2, 1));
        assert_eq!(part.whole, graph.digest());
        // Rims alone: nothing links them.
        let star = Graph::from_lists(&[(0, 1), (0, 2), (1, 2)], &[vec![0], vec![0], vec![0]], 1).unwrap();
        let (file, part) = Partition::new(&star, 3, 0).part(0);
        assert_eq!((part.own, file.adjacency.row(1), file.adjacency.row(2)), (vec![0], &[0][..], &[0][..]));
    }
}
