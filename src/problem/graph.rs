//! The graph: nodes with binary attributes, who is linked to whom, labels and names.

use std::collections::BTreeSet;
use std::sync::Arc;

use gcnproof_files::{Categories, GraphFile, LongestRows, Normalisation, Observed, PartFile, Values};
use sprs::{CsMatI, SpIndex, TriMatI};
use thiserror::Error;

use crate::problem::matrix::{MatrixError, Pattern, PatternRows, binary, pattern, plain_pattern};

/// A graph with binary node attributes. A clone shares its data.
#[derive(Clone, Debug)]
pub struct Graph {
    parts: Arc<GraphParts>,
    longest: LongestRows,
    /// Of a part of a graph: the values that attributes have in the whole.
    observed: Option<Arc<Observed>>,
}

#[derive(Debug)]
struct GraphParts {
    adjacency: Pattern,
    attributes: Pattern,
    normalisation: Normalisation,
    categories: Option<Arc<Categories>>,
    values: Option<Arc<Values>>,
    /// Where whole graphs are classified: the graph of each node, and the first node of each graph.
    batch: Option<(Vec<u32>, Vec<u32>)>,
    degrees: Vec<u32>,
    labels: Option<Vec<Option<u32>>>,
    node_names: Option<Vec<String>>,
    attribute_names: Option<Vec<String>>,
    class_names: Option<Vec<String>>,
    digest: String,
    notes: Vec<String>,
}

/// Matrices that are no graph.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// One of them cannot be taken.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The adjacency is not square.
    #[error("the adjacency is {rows}×{columns}: it must be square")]
    NotSquare {
        /// Rows of the matrix given.
        rows: usize,
        /// Columns of the matrix given.
        columns: usize,
    },
    /// An edge has no way back.
    #[error("node {from} is linked to node {to}, but not the other way round: give both entries of an edge")]
    OneWay {
        /// Where the entry is.
        from: usize,
        /// Where it is missing.
        to: usize,
    },
    /// The attributes have another number of rows.
    #[error("the attributes have {rows} rows, but the graph has {nodes} nodes")]
    AttributeRows {
        /// Rows of the attributes.
        rows: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// Another number of labels than of nodes.
    #[error("{labels} labels were given for {nodes} nodes")]
    Labels {
        /// Labels given.
        labels: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// The nodes are not those of a batch of graphs.
    #[error("{0}")]
    Batch(String),
    /// A node or an attribute does not exist.
    #[error("{what} {id} does not exist: there are {count} (ids start at 0)")]
    OutOfRange {
        /// `node` or `attribute`.
        what: &'static str,
        /// The id given.
        id: usize,
        /// How many there are.
        count: usize,
    },
}

impl Graph {
    /// A graph from matrices of zeros and ones: `adjacency` (nodes × nodes, symmetric; self-loops are kept) and
    /// `attributes` (nodes × attributes), by rows or by columns, with any type of numbers.
    ///
    /// # Errors
    /// If their sizes do not fit, an entry is neither 0 nor 1, or an edge has no way back.
    pub fn new<A, B, I, J, P, R>(adjacency: &CsMatI<A, I, P>, attributes: &CsMatI<B, J, R>) -> Result<Graph, GraphError>
    where
        A: Clone + Default + PartialEq + num_traits::One,
        B: Clone + Default + PartialEq + num_traits::One,
        I: SpIndex,
        J: SpIndex,
        P: SpIndex,
        R: SpIndex,
    {
        let (nodes, columns) = adjacency.shape();
        if nodes != columns {
            return Err(GraphError::NotSquare { rows: nodes, columns });
        }
        if attributes.rows() != nodes {
            return Err(GraphError::AttributeRows { rows: attributes.rows(), nodes });
        }
        let adjacency = binary("the adjacency", adjacency)?;
        let attributes = binary("the attributes", attributes)?;
        for from in 0..nodes {
            if let Some(&to) = adjacency.row(from).iter().find(|&&to| !adjacency.contains(to as usize, from as u32)) {
                return Err(GraphError::OneWay { from, to: to as usize });
            }
        }
        Ok(Graph::from_file(GraphFile::new(plain_pattern(&adjacency), plain_pattern(&attributes), None)))
    }

    /// A graph from plain lists: edges (each once or in both directions), and for every node the attributes that it
    /// has.
    ///
    /// # Errors
    /// If an id is out of range.
    pub fn from_lists(
        edges: &[(usize, usize)],
        attributes: &[Vec<usize>],
        attribute_count: usize,
    ) -> Result<Graph, GraphError> {
        let nodes = attributes.len();
        let within = |what, id: usize, count| {
            if id < count { Ok(id) } else { Err(GraphError::OutOfRange { what, id, count }) }
        };
        let mut linked = TriMatI::<u8, usize>::new((nodes, nodes));
        let ends: BTreeSet<(usize, usize)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        for (from, to) in ends {
            linked.add_triplet(within("node", from, nodes)?, within("node", to, nodes)?, 1);
        }
        let mut owned = TriMatI::<u8, usize>::new((nodes, attribute_count));
        for (node, list) in attributes.iter().enumerate() {
            for attribute in list.iter().copied().collect::<BTreeSet<usize>>() {
                owned.add_triplet(node, within("attribute", attribute, attribute_count)?, 1);
            }
        }
        let (linked, owned): (CsMatI<u8, usize>, CsMatI<u8, usize>) = (linked.to_csr(), owned.to_csr());
        Graph::new(&linked, &owned)
    }

    /// A graph as it was read.
    pub fn from_file(file: GraphFile) -> Graph {
        let GraphFile {
            adjacency,
            attributes,
            normalisation,
            categories,
            values,
            batch,
            labels,
            node_names,
            attribute_names,
            class_names,
            digest,
            notes,
        } = file;
        let longest = LongestRows::new(&adjacency);
        let (adjacency, attributes) = (pattern(adjacency), pattern(attributes));
        // A self-loop is not a neighbour.
        let degree = |n: usize| (adjacency.row(n).len() - usize::from(adjacency.contains(n, n as u32))) as u32;
        let degrees = (0..adjacency.rows()).map(degree).collect();
        let batch = batch.map(|batch| {
            let starts = (0..batch.len()).filter(|&node| node == 0 || batch[node] != batch[node - 1]);
            let starts = starts.map(|node| node as u32).collect();
            (batch, starts)
        });
        let parts = GraphParts {
            adjacency,
            attributes,
            normalisation,
            categories,
            values,
            batch,
            degrees,
            labels,
            node_names,
            attribute_names,
            class_names,
            digest,
            notes,
        };
        Graph { parts: Arc::new(parts), longest, observed: None }
    }

    /// The same graph, known to be a part of another.
    pub fn part_of(self, part: &PartFile) -> Graph {
        let longest = part.longest.unwrap_or(self.longest);
        Graph { longest, observed: part.observed.clone().map(Arc::new), ..self }
    }

    /// The longest rows of the adjacency; of a part, those of the whole graph.
    pub fn longest_rows(&self) -> LongestRows {
        self.longest
    }

    /// The smallest and the largest value of each attribute; of a part, in the whole graph.
    pub fn observed(&self) -> Arc<Observed> {
        let rows = (0..self.node_count()).map(|node| self.row_values(node));
        self.observed.clone().unwrap_or_else(|| Arc::new(Observed::new(self.own_attribute_count(), rows)))
    }

    /// The same graph with labels; a node without one has `None`.
    ///
    /// # Errors
    /// If there are more or fewer than nodes.
    pub fn with_labels(&self, labels: Vec<Option<u32>>) -> Result<Graph, GraphError> {
        if labels.len() != self.target_count() {
            return Err(GraphError::Labels { labels: labels.len(), nodes: self.target_count() });
        }
        let mut labels = labels;
        labels.resize(self.node_count(), None);
        let labelled = GraphFile { labels: Some(labels), notes: Vec::new(), ..self.file() };
        Ok(Graph::from_file(labelled.normalised(self.normalisation())))
    }

    /// The same as a batch of graphs: for each node the graph that it belongs to, ascending from 0 without gaps. Labels
    /// are then those of the graphs.
    ///
    /// # Errors
    /// If it is none, or an edge leads from one graph to another.
    pub fn with_batch(&self, batch: Vec<u32>) -> Result<Graph, GraphError> {
        self.file().batched(batch).map(Graph::from_file).map_err(GraphError::Batch)
    }

    /// The graph of each node, where whole graphs are classified.
    pub fn batch(&self) -> Option<&[u32]> {
        self.parts.batch.as_ref().map(|batch| batch.0.as_slice())
    }

    /// How many rows logits have: as many as graphs where whole graphs are classified, else as many as nodes.
    pub fn target_count(&self) -> usize {
        self.parts.batch.as_ref().map_or(self.node_count(), |batch| batch.1.len())
    }

    /// The nodes of a graph of the batch, if there are so many; all nodes where there is no batch.
    pub fn nodes_of(&self, graph: usize) -> std::ops::Range<usize> {
        let Some((_, starts)) = &self.parts.batch else { return 0..self.node_count() };
        let end = |at: usize| starts.get(at).map_or(self.node_count(), |&start| start as usize);
        if graph < starts.len() { end(graph)..end(graph + 1) } else { 0..0 }
    }

    /// The nodes that a node can be linked to, itself among them: those of its graph.
    pub(crate) fn companions(&self, node: u32) -> std::ops::Range<u32> {
        let graph = self.batch().map_or(0, |batch| batch[node as usize] as usize);
        let nodes = self.nodes_of(graph);
        nodes.start as u32..nodes.end as u32
    }

    /// Links that a target has: the neighbours of a node, itself not counted, or the edges of a graph.
    pub fn links(&self, target: usize) -> usize {
        match self.parts.batch {
            None => self.degree(target),
            Some(_) => self.nodes_of(target).map(|node| self.degree(node)).sum::<usize>() / 2,
        }
    }

    /// `N`.
    pub fn node_count(&self) -> usize {
        self.parts.adjacency.rows()
    }

    /// `D`; where attributes are one-hot, those of the file and all changes of categories.
    pub fn attribute_count(&self) -> usize {
        self.parts.attributes.cols()
    }

    /// Attributes that the file has, and the network takes.
    pub fn own_attribute_count(&self) -> usize {
        match (self.categories(), self.values()) {
            (Some(categories), _) => categories.attributes(),
            (None, Some(values)) => values.attributes(),
            (None, None) => self.attribute_count(),
        }
    }

    /// Columns that a budget may speak of: attributes of the file, and what they were made into.
    #[doc(hidden)]
    pub fn budget_columns(&self) -> usize {
        self.attribute_count().max(self.own_attribute_count())
    }

    /// Of how many entries of a row a share may be changed: its attributes, or the groups of its categories.
    pub fn entry_count(&self) -> usize {
        self.categories().map_or(self.own_attribute_count(), |categories| categories.group_count())
    }

    /// Who is linked to whom.
    pub fn adjacency(&self) -> &Pattern {
        &self.parts.adjacency
    }

    /// `X`: the attributes present at each node.
    pub fn attributes(&self) -> &Pattern {
        &self.parts.attributes
    }

    /// What the network reads of the attributes: 0/1, or rows divided by their sums.
    pub fn normalisation(&self) -> Normalisation {
        self.parts.normalisation
    }

    /// What an attribute that a node has counts in its row, as the network reads it: 1, or 1 divided by their number.
    pub fn entry(&self, node: usize) -> f64 {
        self.normalisation().entry(self.attributes().row(node).len())
    }

    /// The attributes of a node that are not 0, ascending.
    pub(crate) fn row_attributes(&self, node: usize) -> &[u32] {
        self.values().map_or_else(|| self.attributes().row(node), |values| values.row(node).0)
    }

    /// The attributes of a node that are not 0, ascending, and what the network reads of them.
    pub fn row_values(&self, node: usize) -> Vec<(u32, f64)> {
        match self.values() {
            Some(values) => {
                let (columns, values) = values.row(node);
                columns.iter().copied().zip(values.iter().copied()).collect()
            }
            None => {
                let entry = self.entry(node);
                self.attributes().row(node).iter().map(|&attribute| (attribute, entry)).collect()
            }
        }
    }

    /// The groups of one-hot attributes, if they are: the attacker then changes categories instead of flipping
    /// attributes.
    pub fn categories(&self) -> Option<&Arc<Categories>> {
        self.parts.categories.as_ref()
    }

    /// The numbers that the attributes are, if they are not 0 and 1; [`attributes`](Graph::attributes) then has the
    /// powers of two that they are made of.
    pub fn values(&self) -> Option<&Arc<Values>> {
        self.parts.values.as_ref()
    }

    /// The same graph, of whose attributes the network reads something else.
    #[must_use]
    pub fn normalised(&self, normalisation: Normalisation) -> Graph {
        Graph { parts: Graph::from_file(self.file().normalised(normalisation)).parts, ..self.clone() }
    }

    /// Neighbours of a node, itself not counted.
    pub fn degree(&self, node: usize) -> usize {
        self.parts.degrees[node] as usize
    }

    /// The label of a node or of a graph, if it has one.
    pub fn label(&self, node: usize) -> Option<u32> {
        self.labels().and_then(|labels| labels[node])
    }

    /// The labels of all nodes, if there are any; of a batch those of the graphs come first, and no others follow.
    pub fn labels(&self) -> Option<&[Option<u32>]> {
        self.parts.labels.as_deref()
    }

    /// The names of the nodes, if they have any.
    pub fn node_names(&self) -> Option<&[String]> {
        self.parts.node_names.as_deref()
    }

    /// The names of the attributes, if they have any.
    pub fn attribute_names(&self) -> Option<&[String]> {
        self.parts.attribute_names.as_deref()
    }

    /// The names of the classes, if they have any.
    pub fn class_names(&self) -> Option<&[String]> {
        self.parts.class_names.as_deref()
    }

    /// What a proof calls this graph: a digest of its edges, attributes and labels.
    pub fn digest(&self) -> &str {
        &self.parts.digest
    }

    /// What a user should be told of the file.
    pub fn notes(&self) -> &[String] {
        &self.parts.notes
    }

    /// Rings around a node, one after the other: the nodes at distance 0, 1, 2 …, until there are no more.
    pub fn rings(&self, node: u32) -> impl Iterator<Item = Vec<u32>> + '_ {
        let mut seen = BTreeSet::from([node]);
        let mut ring = vec![node];
        std::iter::from_fn(move || {
            let current = std::mem::take(&mut ring);
            for &from in &current {
                for &to in self.adjacency().row(from as usize) {
                    if seen.insert(to) {
                        ring.push(to);
                    }
                }
            }
            (!current.is_empty()).then_some(current)
        })
    }

    /// The same as plain data, as checkers and writers take it.
    pub fn file(&self) -> GraphFile {
        let GraphParts { labels, node_names, attribute_names, class_names, digest, notes, .. } = &*self.parts;
        GraphFile {
            adjacency: plain_pattern(&self.parts.adjacency),
            attributes: plain_pattern(&self.parts.attributes),
            normalisation: self.parts.normalisation,
            categories: self.parts.categories.clone(),
            values: self.parts.values.clone(),
            batch: self.batch().map(<[u32]>::to_vec),
            labels: labels.clone(),
            node_names: node_names.clone(),
            attribute_names: attribute_names.clone(),
            class_names: class_names.clone(),
            digest: digest.clone(),
            notes: notes.clone(),
        }
    }
}
