//! A case: a graph of many small components, a model, message passing and a budget, as plain data.

use std::ops::Range;
use std::sync::Arc;

use gcnproof_files::{GraphFile, LayerFile, ModelFile, Pattern, SparseMatrix};

/// Node and attribute.
pub type Flip = (usize, usize);

/// The message passing of one weight layer.
#[derive(Clone, Debug)]
pub enum Rule {
    /// `gcn`, `mean`, `mean+self`, `sum`, `sum+self` or `identity`.
    Named(&'static str),
    /// The entries themselves.
    Matrix(Arc<SparseMatrix>),
}

/// Which way attributes may be flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both ways.
    Both,
    /// Only 0 to 1.
    Add,
    /// Only 1 to 0.
    Remove,
}

/// Which flips an attacker may make.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// Flips in all.
    pub global: u64,
    /// Flips in the row of each node.
    pub local: Vec<u64>,
    /// Which way.
    pub way: Way,
    /// Attributes that cannot be flipped.
    pub frozen: Vec<bool>,
}

impl Allowance {
    /// May this entry be flipped, given whether it is 1?
    pub fn permits(&self, node: usize, attribute: usize, present: bool) -> bool {
        self.local[node] > 0
            && !self.frozen[attribute]
            && match self.way {
                Way::Both => true,
                Way::Add => !present,
                Way::Remove => present,
            }
    }
}

/// Problems that share a model: one component of the graph is one problem.
#[derive(Clone, Debug)]
pub struct Case {
    /// How it was made, in a few words.
    pub origin: String,
    /// All components together.
    pub graph: GraphFile,
    pub model: ModelFile,
    /// One rule per weight layer.
    pub rules: Vec<Rule>,
    pub budget: Allowance,
    /// Is the reference class the label (and otherwise the predicted class)?
    pub labels: bool,
    /// The nodes of each component.
    pub components: Vec<Range<usize>>,
}

/// A pattern from its rows, which must be ascending.
pub fn pattern(columns: usize, rows: &[Vec<u32>]) -> Pattern {
    let mut offsets = vec![0];
    let mut indices = Vec::new();
    for row in rows {
        indices.extend_from_slice(row);
        offsets.push(indices.len());
    }
    Pattern { rows: rows.len(), columns, offsets, indices }
}

/// A square matrix from its rows, which must be ascending and without zeros.
pub fn matrix(rows: &[Vec<(u32, f64)>]) -> SparseMatrix {
    let mut matrix = SparseMatrix {
        rows: rows.len(),
        columns: rows.len(),
        offsets: vec![0],
        indices: Vec::new(),
        values: Vec::new(),
    };
    for row in rows {
        for &(column, value) in row {
            matrix.indices.push(column);
            matrix.values.push(value);
        }
        matrix.offsets.push(matrix.indices.len());
    }
    matrix
}

impl Case {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.attributes.rows
    }

    /// Number of rows of logits: nodes, or graphs where these are classified.
    pub fn targets(&self) -> usize {
        self.graph.batch.as_ref().and_then(|batch| batch.last()).map_or(self.nodes(), |&last| last as usize + 1)
    }

    /// Number of attributes that the network reads.
    pub fn attributes(&self) -> usize {
        self.graph.categories.as_ref().map_or(self.graph.attributes.columns, |categories| categories.attributes())
    }

    /// Number of attributes and of changes of categories.
    pub fn entries(&self) -> usize {
        self.graph.attributes.columns
    }

    /// What a change of categories takes and gives, and the number of its group.
    pub fn replaced(&self, attribute: usize) -> Option<(Option<usize>, Option<usize>, u32)> {
        let change = self.graph.categories.as_ref()?.change(attribute as u32)?;
        Some((change.old.map(|old| old as usize), change.new.map(|new| new as usize), change.group))
    }

    /// May this entry be flipped, or this category be changed?
    pub fn permits(&self, node: usize, attribute: usize) -> bool {
        let Some(categories) = &self.graph.categories else {
            return self.budget.permits(node, attribute, self.graph.attributes.contains(node, attribute as u32));
        };
        let Some((old, new, group)) = self.replaced(attribute) else { return false };
        let member = |d: &&u32| categories.groups[**d as usize] == Some(group);
        let own = self.graph.attributes.row(node).iter().find(member).map(|&d| d as usize);
        let frozen = |of: Option<usize>| of.is_some_and(|of| self.budget.frozen[of]);
        self.budget.local[node] > 0 && own == old && !frozen(old) && !frozen(new)
    }

    /// Are these changes of the same group in the same row?
    pub fn exclude_each_other(&self, one: Flip, other: Flip) -> bool {
        let group = |flip: Flip| self.replaced(flip.1).map(|change| change.2);
        one.0 == other.0 && one != other && group(one).is_some() && group(one) == group(other)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.model.layers.last().map_or(0, |layer| layer.weight.columns)
    }

    /// The layers of the model.
    pub fn layers(&self) -> &[LayerFile] {
        &self.model.layers
    }

    /// The attributes of the nodes of a range after some flips (nodes × attributes); those elsewhere change nothing.
    pub fn attributes_after(&self, range: &Range<usize>, flips: &[Flip]) -> Vec<bool> {
        let count = self.attributes();
        let mut present = vec![false; range.len() * count];
        for (at, node) in range.clone().enumerate() {
            self.graph.attributes.row(node).iter().for_each(|&d| present[at * count + d as usize] = true);
        }
        for &(node, attribute) in flips.iter().filter(|flip| range.contains(&flip.0)) {
            let first = (node - range.start) * count;
            match self.replaced(attribute) {
                None => present[first + attribute] ^= true,
                Some((old, new, _)) => {
                    old.into_iter().for_each(|old| present[first + old] = false);
                    new.into_iter().for_each(|new| present[first + new] = true);
                }
            }
        }
        present
    }

    /// The component of a node.
    pub fn component_of(&self, node: usize) -> Range<usize> {
        self.components[self.components.partition_point(|range| range.end <= node)].clone()
    }

    /// The case that has only this range of nodes, which must hold whole components.
    pub fn part(&self, range: Range<usize>) -> Case {
        let keep: Vec<usize> = range.collect();
        self.only(&keep)
    }

    /// The case that has only these nodes (ascending), without the edges and entries to others, as one component.
    pub fn only(&self, keep: &[usize]) -> Case {
        let place = |n: u32| keep.binary_search(&(n as usize)).ok().map(|place| place as u32);
        let rows = |pattern: &Pattern| -> Vec<Vec<u32>> {
            keep.iter().map(|&n| pattern.row(n).iter().filter_map(|&m| place(m)).collect()).collect()
        };
        let attributes: Vec<Vec<u32>> = keep.iter().map(|&n| self.graph.attributes.row(n).to_vec()).collect();
        let labels = self.graph.labels.as_ref().map(|labels| keep.iter().map(|&n| labels[n]).collect());
        let rules = self.rules.iter().map(|rule| match rule {
            Rule::Named(name) => Rule::Named(name),
            Rule::Matrix(one) => {
                let row = |&n: &usize| {
                    let (columns, values) = one.row(n);
                    columns.iter().zip(values).filter_map(|(&m, &a)| Some((place(m)?, a))).collect()
                };
                Rule::Matrix(Arc::new(matrix(&keep.iter().map(row).collect::<Vec<Vec<(u32, f64)>>>())))
            }
        });
        let graph = GraphFile {
            adjacency: pattern(keep.len(), &rows(&self.graph.adjacency)),
            attributes: pattern(self.attributes(), &attributes),
            normalisation: self.graph.normalisation,
            // A batch is never cut.
            batch: self.graph.batch.clone().filter(|batch| batch.len() == keep.len()),
            labels,
            ..bare()
        };
        let groups = self.graph.categories.as_ref().map(|categories| categories.groups.as_slice());
        Case {
            origin: self.origin.clone(),
            graph: groups.map_or_else(|| graph.clone(), |groups| grouped(&graph, groups)),
            model: self.model.clone(),
            rules: rules.collect(),
            budget: Allowance { local: keep.iter().map(|&n| self.budget.local[n]).collect(), ..self.budget.clone() },
            labels: self.labels,
            components: std::iter::once(0..keep.len()).collect(),
        }
    }
}

/// A graph with groups of categories.
pub fn grouped(graph: &GraphFile, groups: &[Option<u32>]) -> GraphFile {
    let groups: Vec<i64> = groups.iter().map(|group| group.map_or(-1, i64::from)).collect();
    match graph.clone().grouped(&groups) {
        Ok(grouped) => GraphFile { digest: graph.digest.clone(), attribute_names: None, ..grouped },
        // Of a group that no row obeys nothing can be said.
        Err(_) => graph.clone(),
    }
}

/// A graph of nothing, to be filled. In memory a digest may be any text: only files have real ones.
pub fn bare() -> GraphFile {
    GraphFile { digest: "graph".into(), ..GraphFile::default() }
}
