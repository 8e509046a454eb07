//! The parts of a graph file (adjacency, attributes, labels, names), each checked by itself.

use crate::archive::{Archive, listed};
use crate::array::{Array, spell};
use crate::header::Element;
use crate::triplets::{self, Sorted};
use crate::{FileError, GraphOptions, Normalisation, Pattern, SparseMatrix, Values};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How to get a file of the right form, for complaints about a missing part.
pub(crate) const LAYOUT: &str = "from PyTorch Geometric: `np.savez(path, edge_index=data.edge_index, x=data.x, y=data.y)`; or \
     save a graph as CSR parts: `np.savez(path, adj_data=A.data, adj_indices=A.indices, \
     adj_indptr=A.indptr, adj_shape=A.shape, attr_data=X.data, attr_indices=X.indices, \
     attr_indptr=X.indptr, attr_shape=X.shape, labels=labels)` with scipy CSR matrices A and X";

/// Lists of edges, by the name they have in PyTorch Geometric and in the `.npz` files of its datasets.
const EDGES: [&str; 2] = ["edge_index", "edges"];
/// Dense attributes there.
const ATTRIBUTES: [&str; 3] = ["x", "features", "node_features"];
/// Classes here and there.
const LABELS: [&str; 4] = ["labels", "y", "target", "node_labels"];

/// What was read of attributes.
pub(crate) struct Read {
    pub attributes: Pattern,
    pub normalisation: Normalisation,
    /// The numbers that they are, if they are not 0 and 1.
    pub values: Option<Arc<Values>>,
}

impl Read {
    /// Attributes as the numbers that they are.
    fn real(file: &str, entry: &str, matrix: SparseMatrix) -> Result<Read, FileError> {
        match Values::new(matrix) {
            Ok((values, attributes)) => {
                Ok(Read { attributes, normalisation: Normalisation::None, values: Some(Arc::new(values)) })
            }
            Err(None) => Err(FileError::Shape {
                file: file.into(),
                entry: entry.into(),
                problem: "has more numbers than can be taken exactly".into(),
                remedy: "round the attributes to fewer digits (float16, for instance), and train on these".into(),
            }),
            Err(Some((row, column))) => Err(FileError::Element {
                file: file.into(),
                entry: entry.into(),
                position: format!("node {row}, attribute {column}"),
                problem: "is out of range: numbers between 2^-300 and 2^300 are taken, as sums of powers of two".into(),
                remedy: "scale the attributes, and train on these".into(),
            }),
        }
    }
}

/// The open file, which of its arrays were used, and what there is to tell.
pub(crate) struct Reader<'bytes> {
    archive: Archive<'bytes>,
    used: BTreeSet<String>,
    /// Which of them hold floats of 64 bits.
    doubles: BTreeSet<String>,
    pub notes: Vec<String>,
}

impl<'bytes> Reader<'bytes> {
    pub fn new(archive: Archive<'bytes>) -> Self {
        Reader { archive, used: BTreeSet::new(), doubles: BTreeSet::new(), notes: vec![] }
    }

    fn take(&mut self, name: &str) -> Result<Array, FileError> {
        self.used.insert(name.to_owned());
        let array = self.archive.required(name, LAYOUT)?;
        if array.holds_doubles() {
            self.doubles.insert(name.to_owned());
        }
        Ok(array)
    }

    /// A matrix from its CSR parts, or from one dense array; and which array holds its values.
    pub fn matrix(&mut self, prefix: &str) -> Result<(SparseMatrix, String), FileError> {
        let part = |what: &str| format!("{prefix}_{what}");
        let whole = part("matrix");
        if !self.archive.has(&part("data")) && self.archive.has(&whole) {
            return Ok((triplets::dense(&self.take(&whole)?)?, whole));
        }
        if !self.archive.has(&part("data")) {
            // A pickled matrix under another name is what people have; its remedy is another than that of a missing
            // array.
            let names =
                if prefix == "adj" { ["adj", "adjacency", "A", "graph"] } else { ["attr", "features", "x", "feat"] };
            for name in names {
                if self.archive.has(name) && self.archive.is_object(name)? {
                    // Never given out: a pickle is refused by its header.
                    self.archive.array(name)?;
                }
            }
            if prefix == "adj"
                && !["data", "shape", "indptr", "indices"].iter().any(|what| self.archive.has(&part(what)))
            {
                return Err(self.archive.no_edges(LAYOUT));
            }
        }
        let data = self.take(&part("data"))?;
        let entries = data.flat()?;
        let sides = triplets::sides(&self.take(&part("shape"))?, entries)?;
        if prefix == "adj" {
            square(&data.file, &part("shape"), sides.0, sides.1)?;
        }
        let offsets = triplets::offsets(&self.take(&part("indptr"))?, sides.0, entries)?;
        let indices = triplets::indices(&self.take(&part("indices"))?, sides.1, entries)?;
        let Sorted { matrix, merged, zeros } = triplets::by_rows(sides.into(), offsets, indices, &data)?;
        let entry = part("data");
        if merged > 0 {
            self.notes.push(format!("`{entry}`: {merged} duplicate entries were added to their twins"));
        }
        if zeros > 0 {
            self.notes.push(format!("`{entry}`: {zeros} stored zeros were dropped"));
        }
        Ok((matrix, entry))
    }

    /// The attributes: `attr_*`, or one dense array under a name that PyTorch Geometric and its datasets use.
    pub fn attribute_matrix(&mut self) -> Result<(SparseMatrix, String), FileError> {
        let own = self.archive.has("attr_data") || self.archive.has("attr_matrix");
        match ATTRIBUTES.into_iter().find(|name| !own && self.archive.has(name)) {
            Some(name) => Ok((triplets::dense(&self.take(name)?)?, name.into())),
            // Beside a list of edges, attributes are one dense array.
            None if !own && self.edge_list().is_some() => {
                let batch = if self.archive.has("batch") { ", batch=data.batch" } else { "" };
                let remedy = format!(
                    "save the attributes of all nodes with the edges: `np.savez(path, edge_index=data.edge_index, x=data.x, \
                     y=data.y{batch})`"
                );
                Ok((triplets::dense(&self.archive.required("x", &remedy)?)?, "x".into()))
            }
            None => self.matrix("attr"),
        }
    }

    /// The list of edges that stands for the adjacency, if the file has one and no `adj_*`.
    pub fn edge_list(&self) -> Option<&'static str> {
        let own = ["adj_data", "adj_matrix"].into_iter().any(|name| self.archive.has(name));
        EDGES.into_iter().find(|name| !own && self.archive.has(name))
    }

    /// The adjacency from a list of edges: `edge_index` is [2, edges], `edges` is [edges, 2]. Edges that are listed
    /// more than once count so often, as in PyTorch Geometric, and `edge_weight` is what each counts.
    pub fn edges(&mut self, name: &str, nodes: usize, options: &GraphOptions) -> Result<SparseMatrix, FileError> {
        let array = self.take(name)?;
        let by_side = name == "edge_index";
        let count = match (array.shape(), by_side) {
            (&[2, count], true) | (&[count, 2], false) => count,
            (shape, _) => {
                let wanted = if by_side { "[2, edges]" } else { "[edges, 2]" };
                let problem = format!("has shape {}, but a list of edges under this name is {wanted}", spell(shape));
                let remedy = match (shape, by_side) {
                    (&[_, 2], true) | (&[2, _], false) => format!("save `{name}` transposed: `{name}.T`"),
                    (_, true) => format!("save `{name}` with two rows, senders and receivers"),
                    (_, false) => format!("save `{name}` with two columns, the ids of both ends"),
                };
                return Err(array.misshapen(problem, remedy));
            }
        };
        let ends = array.integers()?;
        let place = |edge: usize, end: usize| if by_side { end * count + edge } else { 2 * edge + end };
        let is_weighted = self.archive.has("edge_weight");
        let weights = match is_weighted {
            false => vec![1.0; count],
            true => {
                let weights = self.take("edge_weight")?;
                if weights.flat()? != count {
                    let problem = format!("has {} numbers, but there are {count} edges", weights.shape()[0]);
                    return Err(weights.misshapen(problem, "save one weight for each edge".into()));
                }
                triplets::finite(&weights)?
            }
        };
        let mut cells = Vec::with_capacity(count);
        for (edge, weight) in weights.into_iter().enumerate() {
            let end = |which: usize| match u32::try_from(ends[place(edge, which)]) {
                Ok(node) if (node as usize) < nodes => Ok(node),
                _ => {
                    let at = place(edge, which);
                    let problem = format!("is {}, but the graph has nodes 0 to {}", ends[at], nodes - 1);
                    // Counted from 1, all ids are there but for 0, and one more than there are nodes.
                    let from_one = ends.iter().all(|&end| end >= 1 && end <= nodes as i64);
                    let remedy = match from_one {
                        true => format!("ids start at 0, and these seem to start at 1: save `{name} - 1`"),
                        false if ends[at] < 0 => "ids start at 0; save the edges without those that are padding".into(),
                        false => "save edges and attributes of the same nodes".into(),
                    };
                    Err(array.element(at, problem, remedy))
                }
            };
            let (from, to) = (end(0)?, end(1)?);
            // Rows are receivers; where every edge has both directions that is the same.
            cells.push(if options.directed { (to, from, weight) } else { (from, to, weight) });
        }
        cells.sort_by_key(|&(row, column, _)| (row, column));
        let repeated = || cells.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|cell| cell.len() > 1);
        if let Some(first) = repeated().next().filter(|_| !is_weighted && !options.unweight) {
            let (file, entry, count) = (array.file.clone(), name.into(), repeated().count());
            let (row, column, _) = first[0];
            return Err(FileError::Repeated { file, entry, count, row, column, times: first.len() });
        }
        let mut matrix =
            SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0; nodes + 1], indices: vec![], values: vec![] };
        for cell in cells.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let weight: f64 = cell.iter().map(|cell| cell.2).sum();
            if weight != 0.0 {
                matrix.offsets[cell[0].0 as usize + 1] += 1;
                matrix.indices.push(cell[0].1);
                matrix.values.push(weight);
            }
        }
        for row in 0..nodes {
            matrix.offsets[row + 1] += matrix.offsets[row];
        }
        let dropped = cells.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).count() - matrix.indices.len();
        if dropped > 0 {
            self.notes.push(format!("`edge_weight`: {dropped} edges of weight 0 were dropped"));
        }
        Ok(matrix)
    }

    pub fn adjacency(
        &mut self,
        file: &str,
        entry: &str,
        matrix: SparseMatrix,
        options: &GraphOptions,
    ) -> Result<Pattern, FileError> {
        square(file, entry, matrix.rows, matrix.columns)?;
        let total = matrix.entries();
        if let Some((count, row, column, value)) = other_than_one(&matrix) {
            if !options.unweight {
                let (file, entry) = (file.into(), entry.into());
                return Err(FileError::Weighted { file, entry, count, total, row, column, value });
            }
            self.notes.push(format!("`{entry}`: {count} of {total} weights were read as 1 (--unweight)"));
        }
        let pattern = matrix.into_pattern();
        let mut lonely = (0u32..)
            .take(pattern.rows)
            .flat_map(|row| pattern.row(row as usize).iter().map(move |&column| (row, column)))
            .filter(|&(row, column)| !pattern.contains(column as usize, row))
            .map(|(row, column)| (row as usize, column));
        let first = if is_symmetric(&pattern) { None } else { lonely.next() };
        let pattern = match first {
            None => pattern,
            Some(_) if options.directed && !options.symmetrize => {
                let count = 1 + lonely.count();
                self.notes.push(format!("`{entry}`: {count} of {total} edges have one direction only"));
                pattern
            }
            Some((row, column)) => {
                let count = 1 + lonely.count();
                if !options.symmetrize {
                    let (file, entry) = (file.into(), entry.into());
                    return Err(FileError::NotSymmetric { file, entry, count, total, row, column });
                }
                self.notes
                    .push(format!("`{entry}`: {count} of {total} edges were given their mirror image (--symmetrize)"));
                union(&pattern, &pattern.transpose())
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
    ) -> Result<Read, FileError> {
        let total = matrix.entries();
        let plain = |attributes, normalisation| Read { attributes, normalisation, values: None };
        // Where no row has two entries, only the file can say that rows are divided.
        let stated = self.optional_integers("attr_normalised")?;
        if let Some(stated) = stated.filter(|_| !options.binarize) {
            let ways = [Normalisation::Float32, Normalisation::Float64];
            let stated = ways.into_iter().find(|way| stated == [i64::from(way.bits())]);
            return match stated.filter(|way| way.divides(&matrix)) {
                Some(normalisation) => Ok(plain(matrix.into_pattern(), normalisation)),
                None => Err(FileError::Shape {
                    file: file.into(),
                    entry: "attr_normalised".into(),
                    problem: format!("does not fit `{entry}`, whose rows are not 0/1 divided by their sums so"),
                    remedy: "give 32 or 64, the bits of the entries, or leave it out".into(),
                }),
            };
        }
        // Of a part of a graph some rows may look like zeros and ones, or like rows divided by their sums, by chance.
        let are_numbers = self.optional_integers("attr_real")?.is_some();
        if are_numbers && !options.binarize {
            return match other_than_one(&matrix) {
                _ if options.real => Read::real(file, entry, matrix),
                Some((count, row, column, value)) => {
                    let (file, entry) = (file.into(), entry.into());
                    Err(FileError::NotBinary { file, entry, count, total, row, column, value })
                }
                None => Err(FileError::Shape {
                    file: file.into(),
                    entry: "attr_real".into(),
                    problem: "says that attributes are numbers, which are not flipped".into(),
                    remedy: "say how they are moved (--epsilon or --ranges), or leave it out".into(),
                }),
            };
        }
        if let Some((count, row, column, value)) = other_than_one(&matrix) {
            if !options.binarize {
                if let Some(normalisation) = Normalisation::recognise(&matrix, self.doubles.contains(entry)) {
                    self.notes.push(format!(
                        "`{entry}`: rows of 0/1 divided by their sums ({} bits): what flips is 0/1, and the row is divided again; \
                         within ranges the quotients are moved, and changed edges leave them as they are",
                        normalisation.bits()
                    ));
                    return Ok(plain(matrix.into_pattern(), normalisation));
                }
                if options.real {
                    return Read::real(file, entry, matrix);
                }
                let (file, entry) = (file.into(), entry.into());
                return Err(FileError::NotBinary { file, entry, count, total, row, column, value });
            }
            self.notes.push(format!("`{entry}`: {count} of {total} attributes were read as 1 (--binarize)"));
        }
        Ok(plain(matrix.into_pattern(), Normalisation::None))
    }

    /// The labels of the nodes; of the graphs, if there are so many.
    pub fn labels(&mut self, nodes: usize, graphs: Option<usize>) -> Result<Option<Vec<Option<u32>>>, FileError> {
        let Some(name) = LABELS.into_iter().find(|name| self.archive.has(name)) else { return Ok(None) };
        let array = self.take(name)?;
        if let &[rows, columns] = array.shape() {
            return Err(array.misshapen(
                format!("has shape [{rows}, {columns}], but one class for each node is needed"),
                format!("save `{name}.argmax(axis=1)` if it is one-hot, `{name}.ravel()` if it is one column"),
            ));
        }
        let length = array.flat()?;
        if let Some(graphs) = graphs.filter(|&graphs| graphs != length) {
            return Err(array.misshapen(
                format!("has {length} numbers, but `batch` says that there are {graphs} graphs"),
                "save one label for each graph, negative where it is unknown; without `batch`, one for each node"
                    .into(),
            ));
        }
        if graphs.is_none() && length != nodes {
            return Err(array.misshapen(
                format!("has {length} numbers, but the graph has {nodes} nodes"),
                match length < nodes {
                    true => "save one label for each node, negative where it is unknown; where these are labels of graphs, save \
                             `batch`, the graph of each node, as well"
                        .into(),
                    false => "save one label for each node, negative where it is unknown".into(),
                },
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

    /// An array, if the file has it.
    pub fn optional(&mut self, name: &str) -> Result<Option<Array>, FileError> {
        if self.archive.has(name) { self.take(name).map(Some) } else { Ok(None) }
    }

    /// The group of each attribute, if the file has groups.
    pub fn groups(&mut self) -> Result<Option<Vec<i64>>, FileError> {
        let Some(array) = self.optional("attr_groups")? else { return Ok(None) };
        match array.shape() {
            [_] => array.integers().map(Some),
            // Lists of attributes, which must not be flattened.
            shape => Err(array.misshapen(
                format!("has shape {}, but one number for each attribute is needed, that of its group", spell(shape)),
                "save for each attribute the number of its group, -1 where it is in none: `[0, 0, 0, 1, 1, -1]`".into(),
            )),
        }
    }

    /// A list of integers, if the file has it.
    pub fn optional_integers(&mut self, name: &str) -> Result<Option<Vec<i64>>, FileError> {
        let Some(array) = self.optional(name)? else { return Ok(None) };
        array.flat()?;
        array.integers().map(Some)
    }

    /// A list of numbers, if the file has it.
    pub fn optional_floats(&mut self, name: &str) -> Result<Option<Vec<f64>>, FileError> {
        let Some(array) = self.optional(name)? else { return Ok(None) };
        array.flat()?;
        array.reals().map(Some)
    }

    pub fn names(&mut self, name: &str, of: Option<(usize, &str)>) -> Result<Option<Vec<String>>, FileError> {
        if !self.archive.has(name) || self.archive.is_object(name)? {
            return Ok(None); // A pickle is told about with the other unused arrays.
        }
        let array = self.take(name)?;
        let count = of.map_or(String::new(), |(count, what)| format!(", one for each of the {count} {what}"));
        let remedy = || format!("save `{name}` as one array of names{count}, or leave it out");
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

    /// The array that was read in the place of another one.
    fn used_instead(&self, name: &str) -> Option<&'static str> {
        let families: [&[&'static str]; 3] = [
            &["adj_data", "adj_matrix", "edge_index", "edges"],
            &["attr_data", "attr_matrix", "x", "features", "node_features"],
            &LABELS,
        ];
        let family = families.into_iter().find(|family| family.contains(&name))?;
        family.iter().copied().find(|other| self.used.contains(*other))
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
                _ => match self.used_instead(&name) {
                    Some(other) => self.notes.push(format!("`{name}` is ignored: `{other}` is read in its place")),
                    None => plain.push(name),
                },
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

/// Has every entry its mirror image? Rows are gone through in order, so that those of a column are met in the order in
/// which its row has them: large graphs are not searched for each entry.
fn is_symmetric(pattern: &Pattern) -> bool {
    let Pattern { rows, offsets, indices, .. } = pattern;
    let mut next = offsets.clone();
    for (row, id) in (0..*rows).zip(0u32..) {
        for &column in pattern.row(row).iter().filter(|&&column| column > id) {
            let place = &mut next[column as usize];
            if indices.get(*place) != Some(&id) {
                return false;
            }
            *place += 1;
        }
    }
    // What was met must be all that a row has before its diagonal, and of that row alone.
    (0..*rows).zip(0u32..).all(|(row, id)| {
        let (place, end) = (next[row], offsets[row + 1]);
        place == end || place < end && indices[place] >= id
    })
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

/// An adjacency has a row and a column for each node.
fn square(file: &str, entry: &str, rows: usize, columns: usize) -> Result<(), FileError> {
    if rows == columns {
        return Ok(());
    }
    Err(FileError::Shape {
        file: file.into(),
        entry: entry.into(),
        problem: format!("is {rows} by {columns}, but an adjacency is square"),
        remedy: "save one row and one column for each node".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::is_symmetric;
    use crate::Pattern;

    #[test]
    fn symmetric_is_what_equals_its_transpose() {
        let mut state = 1u64;
        let mut bit = |share: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 8 < share
        };
        let (mut symmetric, mut others) = (0, 0);
        for round in 0..4000 {
            let rows = 1 + round % 6;
            let mut entries = vec![vec![false; rows]; rows];
            for (i, j) in (0..rows).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                entries[i][j] = bit(4);
                entries[j][i] = entries[i][j];
            }
            if bit(4) {
                let (i, j) = (round % rows, round / 7 % rows);
                entries[i][j] = !entries[i][j];
            }
            let mut pattern = Pattern { rows, columns: rows, offsets: vec![0], indices: vec![] };
            for row in &entries {
                pattern.indices.extend((0u32..).zip(row).filter(|entry| *entry.1).map(|entry| entry.0));
                pattern.offsets.push(pattern.indices.len());
            }
            let expected = pattern.transpose() == pattern;
            assert_eq!(is_symmetric(&pattern), expected, "{entries:?}");
            *(if expected { &mut symmetric } else { &mut others }) += 1;
        }
        assert!(symmetric > 1000 && others > 1000);
    }
}
