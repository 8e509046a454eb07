//! Graph files: adjacency, attributes (0/1, or these divided by the sums of their rows), labels and names from an npz
//! file.

use crate::archive::Archive;
use crate::part::{self, GraphOrPart};
use crate::parts::{LAYOUT, Read, Reader};
use crate::source::{self, Kind};
use crate::{
    Categories, FileError, GraphFile, GraphOptions, Normalisation, Pattern, SparseMatrix, Values, batch, digest,
};
use std::path::Path;
use std::sync::Arc;

impl GraphFile {
    /// A graph that was not read from a file: without names, with its digest.
    #[must_use]
    pub fn new(adjacency: Pattern, attributes: Pattern, labels: Option<Vec<Option<u32>>>) -> GraphFile {
        GraphFile { adjacency, attributes, labels, ..GraphFile::default() }.normalised(Normalisation::None)
    }

    /// Attributes that the file has; columns of [`attributes`](Self::attributes) may be what they were made into.
    #[must_use]
    pub fn own_attributes(&self) -> usize {
        match (&self.categories, &self.values) {
            (Some(categories), _) => categories.attributes(),
            (None, Some(values)) => values.attributes(),
            (None, None) => self.attributes.columns,
        }
    }

    /// The same graph, of whose attributes the network reads something else.
    #[must_use]
    pub fn normalised(self, normalisation: Normalisation) -> GraphFile {
        GraphFile { normalisation, ..self }.sealed()
    }

    /// The same graph, whose attributes are one-hot: each has the number of its group, negative if it is in none.
    ///
    /// # Errors
    /// What is wrong with the groups, and the remedy.
    pub fn grouped(self, groups: &[i64]) -> Result<GraphFile, (String, String)> {
        self.grouped_part(groups, None)
    }

    /// The same of a part of a graph; `lacked` says for each group whether some row of the whole graph has none of it.
    ///
    /// # Errors
    /// As [`grouped`](Self::grouped).
    pub fn grouped_part(self, groups: &[i64], lacked: Option<Vec<bool>>) -> Result<GraphFile, (String, String)> {
        if self.normalisation.is_some() {
            return Err((
                "is given for attributes that are divided by the sums of their rows".into(),
                "save them as zeros and ones, or leave it out".into(),
            ));
        }
        let categories = Categories::of_part(&self.attributes, groups, lacked)?;
        let attribute_names = Some(categories.names(self.attribute_names));
        let columns = categories.attributes() + categories.changes().len();
        let attributes = Pattern { columns, ..self.attributes };
        Ok(GraphFile { attributes, attribute_names, categories: Some(Arc::new(categories)), ..self }.sealed())
    }

    /// The same graph without groups: its attributes are those of the file.
    #[must_use]
    pub fn ungrouped(self) -> GraphFile {
        let Some(categories) = self.categories else { return self };
        let columns = categories.attributes();
        let attribute_names = self.attribute_names.map(|mut names| {
            names.truncate(columns);
            names
        });
        let attributes = Pattern { columns, ..self.attributes };
        GraphFile { attributes, attribute_names, categories: None, ..self }.sealed()
    }

    /// The same graph, whose attributes are these numbers.
    ///
    /// # Errors
    /// With the row and the column of a number that is not finite, too large or too small, or with neither if there are
    /// too many.
    pub fn valued(self, matrix: SparseMatrix) -> Result<GraphFile, Option<(usize, u32)>> {
        let (values, attributes) = Values::new(matrix)?;
        let plain = GraphFile { normalisation: Normalisation::None, categories: None, ..self };
        Ok(GraphFile { values: Some(Arc::new(values)), attributes, ..plain }.sealed())
    }

    /// The same with its digest.
    fn sealed(self) -> GraphFile {
        GraphFile { digest: digest::graph(&self), ..self }
    }

    /// The same as a batch of graphs: for each node the graph that it belongs to. Labels are those of the graphs; what
    /// stands behind them is left out.
    ///
    /// # Errors
    /// In words, if that is no batch of this graph.
    pub fn batched(self, batch: Vec<u32>) -> Result<GraphFile, String> {
        let wrong = batch::check(&batch, &self.adjacency);
        wrong.map_err(|(node, problem, _)| format!("the batch at node {node} {problem}"))?;
        let labels = self.labels.map(|labels| batch::padded(labels, batch::count(&batch), batch.len()));
        Ok(GraphFile { batch: Some(batch), labels, ..self }.sealed())
    }

    /// How many graphs there are, where whole graphs are classified.
    #[must_use]
    pub fn graphs(&self) -> Option<usize> {
        self.batch.as_deref().map(batch::count)
    }

    /// The rows of the logits that mean something: as many as graphs where whole graphs are classified, else as many as
    /// nodes.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.graphs().unwrap_or(self.adjacency.rows)
    }
}

/// Reads a graph from an npz file.
///
/// # Errors
/// If the file cannot be read or is not a graph as described in [`GraphFile`].
pub fn read_graph(path: &Path, options: &GraphOptions) -> Result<GraphFile, FileError> {
    whole(&path.display().to_string(), read_graph_or_part(path, options)?)
}

/// Reads a graph, whole or a part of one as `gcnproof partition` writes it.
///
/// # Errors
/// If the file cannot be read or is neither.
pub fn read_graph_or_part(path: &Path, options: &GraphOptions) -> Result<GraphOrPart, FileError> {
    let name = path.display().to_string();
    match source::archive(path) {
        Some(archive) => from_archive(&name, Archive::over(&name, Box::new(archive))?, options),
        None => parse_graph_or_part(&name, &source::read(path)?, options),
    }
}

/// Reads a graph from the bytes of an npz file; `name` is what errors call it. A part of a graph is refused: what it
/// holds of the nodes at its rim is not what the whole graph has.
///
/// # Errors
/// If the bytes are not a graph as described in [`GraphFile`].
pub fn parse_graph(name: &str, bytes: &[u8], options: &GraphOptions) -> Result<GraphFile, FileError> {
    whole(name, parse_graph_or_part(name, bytes, options)?)
}

fn whole(name: &str, read: GraphOrPart) -> Result<GraphFile, FileError> {
    match read {
        (graph, None) => Ok(graph),
        (_, Some(found)) => Err(part::refuse(name, &found)),
    }
}

/// Reads a graph, whole or a part, from the bytes of an npz file.
///
/// # Errors
/// If the bytes are neither.
pub fn parse_graph_or_part(name: &str, bytes: &[u8], options: &GraphOptions) -> Result<GraphOrPart, FileError> {
    if source::kind(bytes) == Kind::Pickle {
        return Err(FileError::UnknownFormat {
            file: name.into(),
            wanted: "an npz file but a pickle, as Planetoid's `ind.cora.x` and its like are",
            start: source::start(bytes),
            remedy: "pickles are programs and are never loaded; in Python: `data = \
                     torch_geometric.datasets.Planetoid(root, \"Cora\")[0]`, then \
                     `np.savez(\"graph.npz\", edge_index=data.edge_index, x=data.x, y=data.y)`",
        });
    }
    if source::kind(bytes) != Kind::Zip {
        return Err(FileError::UnknownFormat {
            file: name.into(),
            wanted: "an npz file",
            start: source::start(bytes),
            remedy: LAYOUT,
        });
    }
    from_archive(name, Archive::open(name, bytes)?, options)
}

fn from_archive(name: &str, archive: Archive, options: &GraphOptions) -> Result<GraphOrPart, FileError> {
    let mut reader = Reader::new(archive);
    let edges = reader.edge_list();
    let (adjacency, attributes, entry) = match edges {
        None => {
            let (adjacency, entry) = reader.matrix("adj")?;
            let adjacency = reader.adjacency(name, &entry, adjacency, options)?;
            let (attributes, entry) = reader.attribute_matrix()?;
            (adjacency, attributes, entry)
        }
        // A list of edges does not say how many nodes there are; the rows of the attributes do.
        Some(edges) => {
            let (attributes, entry) = reader.attribute_matrix()?;
            let adjacency = reader.edges(edges, attributes.rows, options)?;
            (reader.adjacency(name, edges, adjacency, options)?, attributes, entry)
        }
    };
    if attributes.rows != adjacency.rows {
        return Err(FileError::Shape {
            file: name.into(),
            entry,
            problem: format!("has {} rows, but the adjacency has {} nodes", attributes.rows, adjacency.rows),
            remedy: "save attributes and adjacency of the same nodes, one row for each".into(),
        });
    }
    let columns = attributes.columns;
    let Read { attributes, normalisation, values } = reader.attributes(name, &entry, attributes, options)?;
    let batch = batch::read(&mut reader, &adjacency)?;
    let graphs = batch.as_deref().map(batch::count);
    let labels = reader.labels(adjacency.rows, graphs)?;
    let labels = labels.map(|labels| batch::padded(labels, graphs.unwrap_or(adjacency.rows), adjacency.rows));
    let node_names = reader.names("node_names", Some((adjacency.rows, "nodes")))?;
    let attribute_names = reader.names("attr_names", Some((columns, "attributes")))?;
    let class_names = reader.names("class_names", None)?;
    if let (Some(labels), Some(names)) = (&labels, &class_names)
        && let Some(node) = labels.iter().position(|label| label.is_some_and(|label| label as usize >= names.len()))
    {
        let from_one =
            labels.iter().flatten().min() == Some(&1) && labels.iter().flatten().max() == Some(&(names.len() as u32));
        return Err(FileError::Element {
            file: name.into(),
            entry: "labels".into(),
            position: node.to_string(),
            problem: format!("has no name: `class_names` names only {} classes", names.len()),
            remedy: match from_one {
                true => "classes are numbered from 0, and these labels seem to start at 1: save `labels - 1`".into(),
                false => "name every class, or leave `class_names` out".into(),
            },
        });
    }
    let found = part::read(name, &mut reader, adjacency.rows, columns)?;
    let groups = reader.groups()?;
    let lacked = reader.optional_integers("attr_lacked")?;
    reader.note_unused()?;
    let graph = GraphFile {
        digest: String::new(),
        categories: None,
        values,
        adjacency,
        attributes,
        normalisation,
        batch,
        labels,
        node_names,
        attribute_names,
        class_names,
        notes: reader.notes,
    };
    let Some(groups) = groups else { return Ok((graph.sealed(), found)) };
    let wrong = |(problem, remedy): (String, String)| FileError::Shape {
        file: name.into(),
        entry: "attr_groups".into(),
        problem,
        remedy,
    };
    if graph.values.is_some() {
        return Err(wrong((
            "is given for attributes that are numbers".into(),
            "save them as zeros and ones, or leave it out".into(),
        )));
    }
    // Whether a row of a part may lose its category depends on the rows of the whole graph.
    if found.is_some() != lacked.is_some() {
        return Err(wrong((
            "and `attr_lacked` belong together in a part of a graph, and there alone".into(),
            "write the parts again with `gcnproof partition`".into(),
        )));
    }
    let lacked = lacked.map(|lacked| lacked.iter().map(|&lacked| lacked != 0).collect());
    let mut graph = graph.grouped_part(&groups, lacked).map_err(wrong)?;
    let count = graph.categories.as_ref().map_or(0, |categories| categories.group_count());
    let kinds = if count == 1 {
        "one group of one-hot attributes".into()
    } else {
        format!("{count} groups of one-hot attributes")
    };
    let mut note = format!("`attr_groups`: {kinds}: a change puts another category in the place of a row's own");
    let incomplete = graph.categories.as_ref().map(|categories| categories.incomplete()).unwrap_or_default();
    if let Some(first) = incomplete.first() {
        note += &match incomplete.len() {
            1 => format!("; row {first} has none of a group"),
            rows => format!("; {rows} rows have none of a group (the first is row {first})"),
        };
        note += ", so that none is a category as well";
    }
    graph.notes.push(note);
    Ok((graph, found))
}
