//! A case of removed edges: a graph of many small components, a network of two layers, a budget, as plain data.

use std::collections::BTreeSet;
use std::ops::Range;

use gcnproof_files::{GraphFile, LayerFile, ModelFile};

use crate::case::{bare, pattern};

/// `[i, j]` with `i < j`.
pub type Edge = (u32, u32);

/// Which edges an attacker may remove.
#[derive(Clone, Debug, PartialEq)]
pub struct Removable {
    /// Removals in all.
    pub global: u64,
    /// Removals at each node.
    pub local: Vec<u64>,
    /// Does every node that has edges keep one?
    pub keep_one: bool,
    /// Edges that stay.
    pub frozen: BTreeSet<Edge>,
}

/// Problems that share a network: one component of the graph is one problem.
#[derive(Clone, Debug)]
pub struct EdgeCase {
    /// How it was made, in a few words.
    pub origin: String,
    /// All components together.
    pub graph: GraphFile,
    /// Two layers, whose terms have operators by name, or none are named.
    pub model: ModelFile,
    /// One rule per layer, where the model names none.
    pub rules: Vec<String>,
    pub budget: Removable,
    /// Is the reference class the label?
    pub labels: bool,
    /// The nodes of each component.
    pub components: Vec<Range<usize>>,
}

impl EdgeCase {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.attributes.rows
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.model.layers[1].weight.columns
    }

    /// The operators of the terms of a layer.
    pub fn operators(&self, layer: usize) -> Vec<&str> {
        match self.model.layers[layer].operators.as_slice() {
            [] => vec![self.rules[layer].as_str()],
            named => named.iter().map(String::as_str).collect(),
        }
    }

    /// The nodes of the component of a node.
    pub fn component_of(&self, node: usize) -> Range<usize> {
        self.components[self.components.partition_point(|range| range.end <= node)].clone()
    }

    /// The edges between different nodes of a range, ascending.
    pub fn edges(&self, range: Range<usize>) -> Vec<Edge> {
        let row = |i: usize| self.graph.adjacency.row(i).iter().filter(move |&&j| j as usize > i);
        range.flat_map(|i| row(i).map(move |&j| (i as u32, j))).collect()
    }

    /// How many edges a node may lose.
    pub fn cap(&self, node: usize) -> u64 {
        let degree = self.graph.adjacency.row(node).iter().filter(|&&j| j as usize != node).count() as u64;
        self.budget.local[node].min(if self.budget.keep_one { degree.saturating_sub(1) } else { degree })
    }

    /// May these edges be removed together?
    ///
    /// # Errors
    /// What forbids it.
    pub fn admits(&self, edges: &[Edge]) -> Result<(), String> {
        let different: BTreeSet<&Edge> = edges.iter().collect();
        if different.len() != edges.len() {
            return Err("an edge is removed twice".into());
        }
        if edges.len() as u64 > self.budget.global {
            return Err("more edges than E".into());
        }
        for &(i, j) in edges {
            if i >= j || j as usize >= self.nodes() || !self.graph.adjacency.contains(i as usize, j) {
                return Err(format!("no edge {i}-{j}"));
            }
            if self.budget.frozen.contains(&(i, j)) {
                return Err(format!("the edge {i}-{j} is frozen"));
            }
            for end in [i, j] {
                let here = edges.iter().filter(|edge| edge.0 == end || edge.1 == end).count() as u64;
                if here > self.cap(end as usize) {
                    return Err(format!("more edges at {end} than it may lose"));
                }
            }
        }
        Ok(())
    }

    /// The case that has only one component.
    pub fn part(&self, range: Range<usize>) -> EdgeCase {
        let shift = |row: &[u32]| -> Vec<u32> { row.iter().map(|&j| j - range.start as u32).collect() };
        let rows: Vec<Vec<u32>> = range.clone().map(|i| shift(self.graph.adjacency.row(i))).collect();
        let attributes: Vec<Vec<u32>> = range.clone().map(|i| self.graph.attributes.row(i).to_vec()).collect();
        let inside = |edge: &&Edge| range.contains(&(edge.0 as usize));
        let first = range.start as u32;
        let layer = |layer: &LayerFile| {
            let width = layer.weight.columns;
            let own = layer.bias.len() > width || layer.bias.len() == self.nodes() * width && self.nodes() > 1;
            let bias =
                if own { layer.bias[range.start * width..range.end * width].to_vec() } else { layer.bias.clone() };
            LayerFile { bias, ..layer.clone() }
        };
        EdgeCase {
            origin: self.origin.clone(),
            graph: GraphFile {
                adjacency: pattern(range.len(), &rows),
                attributes: pattern(self.graph.attributes.columns, &attributes),
                labels: self.graph.labels.as_ref().map(|labels| labels[range.clone()].to_vec()),
                ..bare()
            },
            model: ModelFile { layers: self.model.layers.iter().map(layer).collect(), ..self.model.clone() },
            rules: self.rules.clone(),
            budget: Removable {
                local: self.budget.local[range.clone()].to_vec(),
                frozen: self.budget.frozen.iter().filter(inside).map(|&(i, j)| (i - first, j - first)).collect(),
                ..self.budget
            },
            labels: self.labels,
            components: std::iter::once(0..range.len()).collect(),
        }
    }
}
