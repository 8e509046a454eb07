//! The parts of a graph file (adjacency, attributes, labels, names), each checked by itself.

use crate::archive::{Archive, listed};
use crate::array::{Array, spell};
use crate::graph::LAYOUT;
use crate::header::Element;
use crate::triplets::{self, Sorted};
use crate::{FileError, GraphOptions, Pattern, SparseMatrix};
use std::collections::BTreeSet;

/// The open file, which of its arrays were used, and what there is to tell.
pub(crate) struct Reader<'bytes> {
    archive: Archive<'bytes>,
    used: BTreeSet<String>,
    pub notes: Vec<String>,
}

impl<'bytes> Reader<'bytes> {
    pub fn open(name: &str, bytes: &'bytes [u8]) -> Result<Self, FileError> {
        Ok(Reader { archive: Archive::open(name, bytes)?, used: BTreeSet::new(), notes: vec![] })
    }

    fn take(&mut self, name: &str) -> Result<Array, FileError> {
        self.used.insert(name.to_owned());
        self.archive.required(name, LAYOUT)
    }

    /// A matrix from its CSR parts, or from one dense array; and which array holds its values.
    pub fn matrix(&mut self, prefix: &str) -> Result<(SparseMatrix, String), FileError> {
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
        let Sorted { matrix, merged, zeros } =
            triplets::sort(sides, &offsets, (0..entries).collect(), &indices, &data)?;
        let entry = part("data");
        if merged > 0 {
            self.notes.push(format!("`{entry}`: {merged} duplicate entries were added to their twins"));
        }
        if zeros > 0 {
            self.notes.push(format!("`{entry}`: {zeros} stored zeros were dropped"));
        }
        Ok((matrix, entry))
    }

    pub fn adjacency(
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
                problem: format!("is {} by {}, but an adjacency is square", matrix.rows, matrix.columns),
                remedy: "save one row and one column for each node".into(),
            });
        }
        let total = matrix.entries();
        if let Some((count, row, column, value)) = other_than_one(&matrix) {
            if !options.unweight {
                let (file, entry) = (file.into(), entry.into());
                return Err(FileError::Weighted { file, entry, count, total, row, column, value });
            }
            self.notes.push(format!("`{entry}`: {count} of {total} weights were read as 1 (--unweight)"));
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
                    return Err(FileError::NotSymmetric { file, entry, count, total, row, column });
                }
                self.notes
                    .push(format!("`{entry}`: {count} of {total} edges were given their mirror image (--symmetrize)"));
                union(&pattern, &mirror)
            }
        };
        let loops = (0u32..).take(pattern.rows).filter(|&i| pattern.contains(i as usize, i)).count();
        if loops > 0 {
            self.notes.push(format!("`{entry}`: {loops} nodes have a self-loop, which is kept"));
        }
        Ok(pattern)
    }

    pub fn attributes(
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
                return Err(FileError::NotBinary { file, entry, count, total, row, column, value });
            }
            self.notes.push(format!("`{entry}`: {count} of {total} attributes were read as 1 (--binarize)"));
        }
        Ok(matrix.pattern())
    }

    pub fn labels(&mut self, nodes: usize) -> Result<Option<Vec<Option<u32>>>, FileError> {
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
        let labels = array.integers()?.into_iter().enumerate().map(|(node, label)| match label {
            ..0 => Ok(None),
            _ => u32::try_from(label).map(Some).map_err(|_| {
                let text = format!("is {label}, too large for a class");
                array.element(node, text, "number the classes from 0".into())
            }),
        });
        labels.collect::<Result<_, _>>().map(Some)
    }

    pub fn names(&mut self, name: &str, of: Option<(usize, &str)>) -> Result<Option<Vec<String>>, FileError> {
        if !self.archive.has(name) || self.archive.is_object(name)? {
            return Ok(None); // A pickle is told about with the other unused arrays.
        }
        let array = self.take(name)?;
        let remedy = || format!("save `{name}` as one array of names, or leave it out");
        let &[length] = array.shape() else {
            let text = format!("has shape {}, but must have one dimension", spell(array.shape()));
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
    pub fn note_unused(&mut self) -> Result<(), FileError> {
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
            self.notes.push(format!("ignored, because pickled objects are never loaded: {names}"));
        }
        if !plain.is_empty() {
            let names = listed(plain.iter().map(String::as_str));
            self.notes.push(format!("ignored, because a graph needs no such array: {names}"));
        }
        Ok(())
    }
}

/// How many entries are not 1, and the first of them.
fn other_than_one(matrix: &SparseMatrix) -> Option<(usize, usize, u32, f64)> {
    let first = matrix.values.iter().position(|&value| value != 1.0)?;
    let count = matrix.values[first..].iter().filter(|&&value| value != 1.0).count();
    let row = matrix.offsets.partition_point(|&offset| offset <= first) - 1;
    Some((count, row, matrix.indices[first], matrix.values[first]))
}

/// The entries of either pattern; both have the same shape.
fn union(a: &Pattern, b: &Pattern) -> Pattern {
    let mut both = Pattern { rows: a.rows, columns: a.columns, offsets: vec![0], indices: vec![] };
    for row in 0..a.rows {
        let start = both.indices.len();
        both.indices.extend_from_slice(a.row(row));
        both.indices.extend(b.row(row).iter().filter(|&&column| !a.contains(row, column)));
        both.indices[start..].sort_unstable();
        both.offsets.push(both.indices.len());
    }
    both
}
