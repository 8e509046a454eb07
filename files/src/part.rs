//! Part files: a graph file that holds some nodes of a larger graph, which of them it answers for, and what these are
//! there.
//!
//! Besides the arrays of a graph file there are `part_nodes` (the id of each row in the whole graph, rising),
//! `part_own` (the rows that the part answers for, rising), `part_facts` (number of the part from 0, number of parts,
//! nodes of the whole graph, hops, and the longest rows of its adjacency, without and with the node itself), `part_low`
//! and `part_high` (the smallest and the largest value that each attribute has in the whole graph) and `part_whole`
//! (the digest of the whole graph).

use crate::archive::Archive;
use crate::parts::Reader;
use crate::source;
use crate::{FileError, GraphFile, Pattern};
use std::path::Path;

/// How many entries the longest row of a graph's adjacency has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestRows {
    /// As it is.
    pub neighbours: usize,
    /// With the node itself, where it is not there.
    pub with_self: usize,
}

impl LongestRows {
    /// Of an adjacency.
    #[must_use]
    pub fn new(adjacency: &Pattern) -> LongestRows {
        let mut longest = LongestRows { neighbours: 0, with_self: 0 };
        for node in 0..adjacency.rows {
            let length = adjacency.row(node).len();
            let own = u32::try_from(node).is_ok_and(|id| adjacency.contains(node, id));
            longest.neighbours = longest.neighbours.max(length);
            longest.with_self = longest.with_self.max(length + usize::from(!own));
        }
        longest
    }
}

/// The smallest and the largest value that each attribute has somewhere in a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The smallest.
    pub low: Vec<f64>,
    /// The largest.
    pub high: Vec<f64>,
}

impl Observed {
    /// Of the stored values of each row; all others are 0.
    pub fn new<R: IntoIterator<Item = (u32, f64)>>(attributes: usize, rows: impl Iterator<Item = R>) -> Observed {
        let (mut low, mut high) = (vec![f64::INFINITY; attributes], vec![f64::NEG_INFINITY; attributes]);
        let (mut seen, mut count) = (vec![0; attributes], 0);
        for row in rows {
            count += 1;
            for (attribute, value) in row {
                let at = attribute as usize;
                (low[at], high[at], seen[at]) = (low[at].min(value), high[at].max(value), seen[at] + 1);
            }
        }
        for at in (0..attributes).filter(|&at| seen[at] < count || count == 0) {
            (low[at], high[at]) = (low[at].min(0.0), high[at].max(0.0));
        }
        Observed { low, high }
    }

    /// Is 0 between the two for every attribute?
    #[must_use]
    pub fn holds_zero(&self) -> bool {
        self.low.iter().zip(&self.high).all(|(&low, &high)| (low..=high).contains(&0.0))
    }
}

/// What a part says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct PartFile {
    /// The id of each row in the whole graph, rising.
    pub nodes: Vec<u32>,
    /// The rows that the part answers for, rising. All else is there because they depend on it.
    pub own: Vec<u32>,
    /// Which part it is, from 0.
    pub number: usize,
    /// How many parts there are.
    pub parts: usize,
    /// Nodes of the whole graph.
    pub of: usize,
    /// How many edges away from its own nodes everything is there.
    pub hops: usize,
    /// The longest rows of the whole graph; files of version 0.2 and before do not say.
    pub longest: Option<LongestRows>,
    /// The values of attributes in the whole graph; files before version 0.3 do not say.
    pub observed: Option<Observed>,
    /// Digest of the whole graph.
    pub whole: String,
}

impl PartFile {
    /// The row of a node of the whole graph.
    #[must_use]
    pub fn row(&self, node: u64) -> Option<usize> {
        u32::try_from(node).ok().and_then(|node| self.nodes.binary_search(&node).ok())
    }

    /// The node of the whole graph in a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn node(&self, row: usize) -> u32 {
        self.nodes[row]
    }

    /// Does the part answer for this row?
    #[must_use]
    pub fn owns(&self, row: usize) -> bool {
        u32::try_from(row).is_ok_and(|row| self.own.binary_search(&row).is_ok())
    }

    /// Which part of how many, in words, counted from 1.
    #[must_use]
    pub fn words(&self) -> String {
        format!("part {} of {}", self.number + 1, self.parts)
    }
}

/// Reads the arrays of a part, if the file has them.
pub(crate) fn read(
    name: &str,
    reader: &mut Reader,
    rows: usize,
    attributes: usize,
) -> Result<Option<PartFile>, FileError> {
    let arrays = ["part_nodes", "part_own", "part_facts"];
    let [nodes, own, facts] = arrays.map(|entry| reader.optional_integers(entry));
    let (nodes, own, facts) = (nodes?, own?, facts?);
    let wrong = |entry: &str, problem: String| FileError::Shape {
        file: name.into(),
        entry: entry.into(),
        problem,
        remedy: "write the parts again with `gcnproof partition`".into(),
    };
    let (nodes, own, facts) = match (nodes, own, facts) {
        (Some(nodes), Some(own), Some(facts)) => (nodes, own, facts),
        (None, None, None) => return Ok(None),
        // Half a part must not pass for a whole graph.
        _ => return Err(wrong("part_*", "has some of the arrays of a part, but not all of them".into())),
    };
    let ids = |entry: &str, values: Vec<i64>, below: usize| {
        let fine = values.windows(2).all(|pair| pair[0] < pair[1])
            && values.first().is_none_or(|&first| first >= 0)
            && values.last().is_none_or(|&last| usize::try_from(last).is_ok_and(|last| last < below));
        let ids = values.iter().map(|&id| u32::try_from(id)).collect::<Result<Vec<u32>, _>>();
        ids.ok().filter(|_| fine).ok_or_else(|| wrong(entry, format!("is no list of rising ids below {below}")))
    };
    let counts: Option<Vec<usize>> = facts.iter().map(|&fact| usize::try_from(fact).ok()).collect();
    let (number, parts, of, hops, longest) = match counts.as_deref() {
        Some(&[number, parts, of, hops]) => (number, parts, of, hops, None),
        Some(&[number, parts, of, hops, neighbours, with_self]) => {
            (number, parts, of, hops, Some(LongestRows { neighbours, with_self }))
        }
        _ => return Err(wrong("part_facts", "does not hold six numbers of 0 or more".into())),
    };
    if number >= parts {
        return Err(wrong("part_facts", format!("says that this is part {number} of {parts}, counted from 0")));
    }
    if nodes.len() != rows {
        return Err(wrong("part_nodes", format!("has {} ids for {rows} rows", nodes.len())));
    }
    let limits = [reader.optional_floats("part_low")?, reader.optional_floats("part_high")?];
    let observed = match limits {
        [Some(low), Some(high)] => {
            let fine = [&low, &high].iter().all(|limits| limits.len() == attributes)
                && low.iter().zip(&high).all(|(low, high)| low <= high && low.is_finite() && high.is_finite());
            if !fine {
                return Err(wrong("part_low", format!("and `part_high` are no limits of {attributes} attributes")));
            }
            Some(Observed { low, high })
        }
        [None, None] => None,
        _ => return Err(wrong("part_low", "and `part_high` are not both there".into())),
    };
    let whole = match reader.names("part_whole", Some((1, "graph")))?.as_deref() {
        Some([digest]) if digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) => digest.clone(),
        _ => return Err(wrong("part_whole", "is no digest of a graph".into())),
    };
    let (nodes, own) = (ids("part_nodes", nodes, of)?, ids("part_own", own, rows)?);
    if own.is_empty() {
        return Err(wrong("part_own", "has no nodes".into()));
    }
    Ok(Some(PartFile { nodes, own, number, parts, of, hops, longest, observed, whole }))
}

/// Is a file a part of a graph, as `gcnproof partition` writes them? Only its list of arrays is looked at.
#[must_use]
pub fn is_part(path: &Path) -> bool {
    let archive = source::archive(path).map(|from| Archive::over(&path.display().to_string(), Box::new(from)));
    archive.is_some_and(|archive| archive.is_ok_and(|archive| archive.has("part_facts")))
}

/// Why a part is not read where a whole graph is wanted.
pub(crate) fn refuse(name: &str, part: &PartFile) -> FileError {
    FileError::Part { file: name.into(), part: part.words(), own: part.own.len(), nodes: part.of }
}

/// A graph file, and what it says of itself if it is a part.
pub type GraphOrPart = (GraphFile, Option<PartFile>);
