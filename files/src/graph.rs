//! The graph room: adjacency, 0/1 attributes, labels and names from an npz file.

use crate::archive::{Archive, listed};
use crate::array::{Array, spell};
use crate::header::Element;
use crate::source::{self, Kind};
use crate::triplets::{self, Sorted};
use crate::{FileError, Pattern, SparseMatrix, digest};
use std::collections::BTreeSet;
use std::path::Path;

/// What may be changed while reading; by default nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphOptions {
    /// Read every nonzero attribute as 1.
    pub binarize: bool,
    /// Add the missing direction of every edge.
    pub symmetrize: bool,
    /// Read every nonzero weight as 1.
    pub unweight: bool,
}

/// An attributed graph as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFile {
    /// Who is linked to whom: square, symmetric, self-loops kept as the file has them.
    pub adjacency: Pattern,
    /// Which node (row) has which attribute (column).
    pub attributes: Pattern,
    /// The class of each node, if the file has `labels`; a negative label is `None`.
    pub labels: Option<Vec<Option<u32>>>,
    /// One name for each node.
    pub node_names: Option<Vec<String>>,
    /// One name for each attribute.
    pub attribute_names: Option<Vec<String>>,
    /// One name for each class.
    pub class_names: Option<Vec<String>>,
    /// SHA-256 (lowercase hex) over the content after [`GraphOptions`], names excluded. Integers
    /// are little-endian. The bytes are: `gcnproof-graph-v1\n`; N and D as u64; the adjacency's
    /// N + 1 row offsets as u64, then its column ids as u32; the same for the attributes; then 0
    /// as u64 without labels, or 1 as u64 and each node's label as u64 (2^64 - 1 if unlabelled).
    pub digest: String,
    /// What a user should be told: what was left out, and what was changed on request.
    pub notes: Vec<String>,
}

/// How to get a file of the right form, for complaints about a missing part.
const LAYOUT: &str = "save a graph as CSR parts: `np.savez(path, adj_data=A.data, adj_indices=A.indices, \
     adj_indptr=A.indptr, adj_shape=A.shape, attr_data=X.data, attr_indices=X.indices, \
     attr_indptr=X.indptr, attr_shape=X.shape, labels=labels)` with scipy CSR matrices A and X";

/// Reads a graph from an npz file.
///
/// # Errors
/// If the file cannot be read or is not a graph as described in [`GraphFile`].
pub fn read_graph(path: &Path, options: &GraphOptions) -> Result<GraphFile, FileError> {
    parse_graph(&path.display().to_string(), &source::read(path)?, options)
}

/// Reads a graph from the bytes of an npz file; `name` is what errors call it.
///
/// # Errors
/// If the bytes are not a graph as described in [`GraphFile`].
pub fn parse_graph(
    name: &str,
    bytes: &[u8],
    options: &GraphOptions,
) -> Result<GraphFile, FileError> {
    if source::kind(bytes) != Kind::Zip {
        return Err(FileError::UnknownFormat {
            file: name.into(),
            wanted: "an npz file",
            start: source::start(bytes),
            remedy: LAYOUT,
        });
    }
    let mut reader = Reader {
        archive: Archive::open(name, bytes)?,
        used: BTreeSet::new(),
        notes: vec![],
    };
    let (adjacency, entry) = reader.matrix("adj")?;
    let adjacency = reader.adjacency(name, &entry, adjacency, options)?;
    let (attributes, entry) = reader.matrix("attr")?;
    if attributes.rows != adjacency.rows {
        return Err(FileError::Shape {
            file: name.into(),
            entry,
            problem: format!(
                "has {} rows, but the adjacency has {} nodes",
                attributes.rows, adjacency.rows
            ),
            remedy: "save attributes and adjacency of the same nodes, one row for each".into(),
        });
    }
    let attributes = reader.attributes(name, &entry, attributes, options)?;
    let labels = reader.labels(adjacency.rows)?;
    let node_names = reader.names("node_names", Some((adjacency.rows, "nodes")))?;
    let attribute_names = reader.names("attr_names", Some((attributes.columns, "attributes")))?;
    let class_names = reader.names("class_names", None)?;
    if let (Some(labels), Some(names)) = (&labels, &class_names)
        && let Some(node) = labels
            .iter()
            .position(|label| label.is_some_and(|label| label as usize >= names.len()))
    {
        return Err(FileError::Element {
            file: name.into(),
            entry: "labels".into(),
            position: node.to_string(),
            problem: format!(
                "has no name: `class_names` names only {} classes",
                names.len()
            ),
            remedy: "name every class, or leave `class_names` out".into(),
        });
    }
    reader.note_unused()?;
    Ok(GraphFile {
        digest: digest::graph(&adjacency, &attributes, labels.as_deref()),
        adjacency,
        attributes,
        labels,
        node_names,
        attribute_names,
        class_names,
        notes: reader.notes,
    })
}

/// The open file, which of its arrays were used, and what there is to tell.
struct Reader<'bytes> {
    archive: Archive<'bytes>,
    used: BTreeSet<String>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn take(&mut self, name: &str) -> Result<Array, FileError> {
        self.used.insert(name.to_owned());
        self.archive.required(name, LAYOUT)
    }

    /// A matrix from its CSR parts, or from one dense array; and which array holds its values.
    fn matrix(&mut self, prefix: &str) -> Result<(SparseMatrix, String), FileError> {
        let part = |what: &str| format!("{prefix}_{what}");
        let whole = part("matrix");
        if !self.archive.has(&part("data")) && self.archive.has(&whole) {
            return Ok((triplets::dense(&self.take(&whole)?)?, whole));
        }
        let data = self.take(&part("data"))?;
        let entries = data.flat()?;
        let sides = triplets::sides(&self.take(&part("shape"))?, entries)?;
        let offsets = triplets::offsets(&self.take(&part("indptr"))?, sides.0, entries)?;
        let indices = triplets::indices(&self.take(&part("indices"))?, sides.1, entries)?;
        let Sorted {
            matrix,
            merged,
            zeros,
        } = triplets::sort(sides, &offsets, (0..entries).collect(), &indices, &data)?;
        let entry = part("data");
        if merged > 0 {
            self.notes.push(format!(
                "`{entry}`: {merged} duplicate entries were added to their twins"
            ));
        }
        if zeros > 0 {
            self.notes
                .push(format!("`{entry}`: {zeros} stored zeros were dropped"));
        }
        Ok((matrix, entry))
    }

    fn adjacency(
        &mut self,
        file: &str,
        entry: &str,
        matrix: SparseMatrix,
        options: &GraphOptions,
    ) -> Result<Pattern, FileError> {
        if matrix.rows != matrix.columns {
            return Err(FileError::Shape {
                file: file.into(),
                entry: entry.into(),
                problem: format!(
                    "is {} by {}, but an adjacency is square",
                    matrix.rows, matrix.columns
                ),
                remedy: "save one row and one column for each node".into(),
            });
        }
        let total = matrix.entries();
        if let Some((count, row, column, value)) = other_than_one(&matrix) {
            if !options.unweight {
                let (file, entry) = (file.into(), entry.into());
                return Err(FileError::Weighted {
                    file,
                    entry,
                    count,
                    total,
                    row,
                    column,
                    value,
                });
            }
            self.notes.push(format!(
                "`{entry}`: {count} of {total} weights were read as 1 (--unweight)"
            ));
        }
        let pattern = matrix.pattern();
        let mirror = pattern.transpose();
        let mut lonely = (0..pattern.rows)
            .flat_map(|row| pattern.row(row).iter().map(move |&column| (row, column)))
            .filter(|&(row, column)| !mirror.contains(row, column));
        let pattern = match lonely.next() {
            None => pattern,
            Some((row, column)) => {
                let count = 1 + lonely.count();
                if !options.symmetrize {
                    let (file, entry) = (file.into(), entry.into());
                    return Err(FileError::NotSymmetric {
                        file,
                        entry,
                        count,
                        total,
                        row,
                        column,
                    });
                }
                self.notes.push(format!(
                    "`{entry}`: {count} of {total} edges were given their mirror image (--symmetrize)"
                ));
                union(&pattern, &mirror)
            }
        };
        let loops = (0u32..)
            .take(pattern.rows)
            .filter(|&i| pattern.contains(i as usize, i))
            .count();
        if loops > 0 {
            self.notes.push(format!(
                "`{entry}`: {loops} nodes have a self-loop, which is kept"
            ));
        }
        Ok(pattern)
    }

    fn attributes(
        &mut self,
        file: &str,
        entry: &str,
        matrix: SparseMatrix,
        options: &GraphOptions,
    ) -> Result<Pattern, FileError> {
        let total = matrix.entries();
        if let Some((count, row, column, value)) = other_than_one(&matrix) {
            if !options.binarize {
                let (file, entry) = (file.into(), entry.into());
                return Err(FileError::NotBinary {
                    file,
                    entry,
                    count,
                    total,
                    row,
                    column,
                    value,
                });
            }
            self.notes.push(format!(
                "`{entry}`: {count} of {total} attributes were read as 1 (--binarize)"
            ));
        }
        Ok(matrix.pattern())
    }

    fn labels(&mut self, nodes: usize) -> Result<Option<Vec<Option<u32>>>, FileError> {
        if !self.archive.has("labels") {
            return Ok(None);
        }
        let array = self.take("labels")?;
        if let &[rows, columns] = array.shape() {
            return Err(array.misshapen(
                format!("has shape [{rows}, {columns}], but one class for each node is needed"),
                "save `labels.argmax(axis=1)` if it is one-hot, `labels.ravel()` if it is one column".into(),
            ));
        }
        let length = array.flat()?;
        if length != nodes {
            return Err(array.misshapen(
                format!("has {length} numbers, but the graph has {nodes} nodes"),
                "save one label for each node, negative where it is unknown".into(),
            ));
        }
        let labels = array
            .integers()?
            .into_iter()
            .enumerate()
            .map(|(node, label)| match label {
                ..0 => Ok(None),
                _ => u32::try_from(label).map(Some).map_err(|_| {
                    let text = format!("is {label}, too large for a class");
                    array.element(node, text, "number the classes from 0".into())
                }),
            });
        labels.collect::<Result<_, _>>().map(Some)
    }

    fn names(
        &mut self,
        name: &str,
        of: Option<(usize, &str)>,
    ) -> Result<Option<Vec<String>>, FileError> {
        if !self.archive.has(name) || self.archive.is_object(name)? {
            return Ok(None); // A pickle is told about with the other unused arrays.
        }
        let array = self.take(name)?;
        let remedy = || format!("save `{name}` as one array of names, or leave it out");
        let &[length] = array.shape() else {
            let text = format!(
                "has shape {}, but must have one dimension",
                spell(array.shape())
            );
            return Err(array.misshapen(text, remedy()));
        };
        if let Some((count, what)) = of
            && count != length
        {
            let text = format!("has {length} names, but the graph has {count} {what}");
            return Err(array.misshapen(text, remedy()));
        }
        array.strings().map(Some)
    }

    /// Tells which arrays were not looked at, pickles apart from plain ones.
    fn note_unused(&mut self) -> Result<(), FileError> {
        let names: Vec<String> = self.archive.names().map(str::to_owned).collect();
        let (mut pickled, mut plain) = (vec![], self.archive.strangers.clone());
        for name in names {
            if self.used.contains(&name) {
                continue;
            }
            match self.archive.header(&name)?.element {
                Element::Object => pickled.push(name),
                _ => plain.push(name),
            }
        }
        if !pickled.is_empty() {
            let names = listed(pickled.iter().map(String::as_str));
            self.notes.push(format!(
                "ignored, because pickled objects are never loaded: {names}"
            ));
        }
        if !plain.is_empty() {
            let names = listed(plain.iter().map(String::as_str));
            self.notes.push(format!(
                "ignored, because a graph needs no such array: {names}"
            ));
        }
        Ok(())
    }
}

/// How many entries are not 1, and the first of them.
fn other_than_one(matrix: &SparseMatrix) -> Option<(usize, usize, u32, f64)> {
    let first = matrix.values.iter().position(|&value| value != 1.0)?;
    let count = matrix.values[first..]
        .iter()
        .filter(|&&value| value != 1.0)
        .count();
    let row = matrix.offsets.partition_point(|&offset| offset <= first) - 1;
    Some((count, row, matrix.indices[first], matrix.values[first]))
}

/// The entries of either pattern; both have the same shape.
fn union(a: &Pattern, b: &Pattern) -> Pattern {
    let mut both = Pattern {
        rows: a.rows,
        columns: a.columns,
        offsets: vec![0],
        indices: vec![],
    };
    for row in 0..a.rows {
        let start = both.indices.len();
        both.indices.extend_from_slice(a.row(row));
        both.indices.extend(
            b.row(row)
                .iter()
                .filter(|&&column| !a.contains(row, column)),
        );
        both.indices[start..].sort_unstable();
        both.offsets.push(both.indices.len());
    }
    both
}
