//! The set of nodes that a run is about, written so that two sets can be told apart.

use serde::{Deserialize, Serialize};

/// Some of the nodes of a graph. Older versions wrote down only how many there were: what they wrote about all nodes
/// can be gone on with, what they wrote about some cannot, since nobody knows which these were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSet {
    /// Ids and ranges, cut short where they are many.
    pub ids: String,
    /// SHA-256 of all ids, which tells two sets apart.
    pub digest: String,
    /// The nodes of the graph.
    pub of: usize,
}

/// Ranges of a [`NodeSet`] that are written down.
const RANGES: usize = 12;

/// Rising ids as commands take them: single ones, and ranges.
pub fn ranges(ids: &[u64]) -> Vec<String> {
    let words = |run: &[u64]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    ids.chunk_by(|a, b| a + 1 == *b).map(words).collect()
}

impl NodeSet {
    /// The set of these nodes, in rising order, if they are not all `of` of a graph.
    pub fn new(nodes: &[usize], of: usize) -> Option<NodeSet> {
        if nodes.len() == of {
            return None;
        }
        let all: Vec<u64> = nodes.iter().map(|&node| node as u64).collect();
        let ranges = ranges(&all);
        let mut ids = ranges.iter().take(RANGES).cloned().collect::<Vec<_>>().join(",");
        if ranges.len() > RANGES {
            ids.push_str(",…");
        }
        let digest = gcnproof_files::digest_ids(&all);
        Some(NodeSet { ids, digest, of })
    }
}
