//! What a report needs from the graph: distances of flips, additions and removals, purity of neighbourhoods.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gcnproof::Words;
use gcnproof::internals::problem::flip::Flip;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof_files::{GraphOptions, read_graph};

use super::error::ReportError;

/// No neighbourhood of a network is wider than this many hops.
const FARTHEST: usize = 8;

/// A flip as seen from its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deed {
    /// What is flipped.
    pub flip: Flip,
    /// Is the attribute added (or removed)?
    pub added: bool,
    /// What the network reads of it before.
    pub old: f64,
    /// Hops from the target along the edges; `None` if no path of a few hops leads there.
    pub distance: Option<usize>,
}

/// A graph with its name.
#[derive(Debug)]
pub struct Landscape {
    /// What it is called.
    pub name: String,
    graph: Graph,
}

impl Landscape {
    /// A graph in memory.
    pub fn new(name: &str, graph: Graph) -> Landscape {
        Landscape { name: name.to_string(), graph }
    }

    /// Reads a graph and makes sure that it is the one of the results.
    pub fn read(
        path: &Path,
        name: &str,
        options: &GraphOptions,
        digest: Option<&str>,
    ) -> Result<Landscape, ReportError> {
        let file = read_graph(path, options)?;
        if digest.is_some_and(|digest| digest != file.digest) {
            return Err(ReportError::OtherGraph {
                graph: path.display().to_string(),
                file: "their .run.json says which".into(),
            });
        }
        Ok(Landscape::new(name, Graph::from_file(file)))
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The share of the other nodes that a node's logits depend on and that are predicted like it; `None` if it depends
    /// on no other, if some of them are not known, or if the network sees other nodes than those some hops away.
    pub fn purity(&self, node: u64, neighbourhood: u64, predicted: &BTreeMap<u64, u64>) -> Option<f64> {
        let own = predicted.get(&node)?;
        // A graph has no surroundings.
        let count = if self.graph.batch().is_some() { 0 } else { self.graph.node_count() };
        let node = u32::try_from(node).ok().filter(|n| (*n as usize) < count)?;
        let mut size = 0;
        let mut alike = 0;
        for ring in self.graph.rings(node).take(FARTHEST + 1) {
            for other in &ring {
                alike += u64::from(predicted.get(&u64::from(*other))? == own);
            }
            size += ring.len() as u64;
            if size >= neighbourhood {
                break;
            }
        }
        (size == neighbourhood && size > 1).then(|| (alike - 1) as f64 / (size - 1) as f64)
    }

    /// What the network reads of an entry.
    pub fn value(&self, entry: &Flip) -> f64 {
        let row = self.graph.row_values(entry.node as usize);
        row.binary_search_by_key(&entry.attribute, |of| of.0).map_or(0.0, |at| row[at].1)
    }

    /// What the flips against a target do. Flips that do not fit the graph are left out.
    pub fn deeds(&self, target: u64, flips: &[Flip]) -> Vec<Deed> {
        let (nodes, attributes) = (self.graph.node_count(), self.graph.budget_columns());
        let fits = |flip: &&Flip| (flip.node as usize) < nodes && (flip.attribute as usize) < attributes;
        let Some(target) = u32::try_from(target).ok().filter(|t| (*t as usize) < nodes) else { return Vec::new() };
        if flips.is_empty() {
            return Vec::new();
        }
        // Most flips are close: only as many rings as are needed.
        let mut lost: BTreeSet<u32> = flips.iter().filter(fits).map(|flip| flip.node).collect();
        let mut found: BTreeMap<u32, usize> = BTreeMap::new();
        let farthest = if self.graph.batch().is_some() { 0 } else { FARTHEST + 1 };
        for (distance, ring) in self.graph.rings(target).take(farthest).enumerate() {
            for node in ring {
                if lost.remove(&node) {
                    found.insert(node, distance);
                }
            }
            if lost.is_empty() {
                break;
            }
        }
        let deed = |flip: &Flip| Deed {
            flip: *flip,
            added: !self.graph.attributes().contains(flip.node as usize, flip.attribute),
            old: self.value(flip),
            distance: found.get(&flip.node).copied(),
        };
        flips.iter().filter(fits).map(deed).collect()
    }
}

/// The name of a class.
pub fn class_name(graph: Option<&Graph>, class: u64) -> String {
    let names = graph.and_then(|graph| graph.class_names());
    names.and_then(|names| names.get(class as usize).cloned()).unwrap_or_else(|| format!("class {class}"))
}

/// What an attacker's changes are called: of categories they are no flips.
pub fn words_on(words: &Words, landscape: Option<&Landscape>) -> Words {
    match landscape.is_some_and(|landscape| landscape.graph().categories().is_some()) {
        true => Words { change: "change", changes: "changes", things: "changes", ..*words },
        false => *words,
    }
}

/// The name of an attribute.
pub fn attribute_name(graph: Option<&Graph>, attribute: u32) -> String {
    let names = graph.and_then(|graph| graph.attribute_names());
    let thing = if graph.is_some_and(|graph| graph.batch().is_some()) { "attribute" } else { "word" };
    names
        .and_then(|names| names.get(attribute as usize))
        .map_or_else(|| format!("{thing} {attribute}"), |name| format!("“{name}”"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcnproof_files::{GraphFile, Pattern};

    /// 0 – 1 – 2 – 3, and 4 alone; node 1 has attribute 0.
    fn path() -> Landscape {
        let adjacency =
            Pattern { rows: 5, columns: 5, offsets: vec![0, 1, 3, 5, 6, 6], indices: vec![1, 0, 2, 1, 3, 2] };
        let attributes = Pattern { rows: 5, columns: 2, offsets: vec![0, 0, 1, 1, 1, 1], indices: vec![0] };
        let attribute_names = Some(vec!["apple".into(), "pear".into()]);
        let file = GraphFile { adjacency, attributes, attribute_names, ..GraphFile::default() };
        Landscape::new("path", Graph::from_file(file))
    }

    #[test]
    fn deeds_know_direction_and_distance() {
        let flips = [(0, 0), (1, 0), (2, 1), (4, 1), (9, 9)].map(Flip::from);
        let deeds = path().deeds(0, &flips);
        let seen: Vec<_> = deeds.iter().map(|deed| (deed.added, deed.distance)).collect();
        assert_eq!(seen, [(true, Some(0)), (false, Some(1)), (true, Some(2)), (true, None)]);
        assert!(path().deeds(99, &flips).is_empty());
        assert_eq!(attribute_name(Some(path().graph()), 1), "“pear”");
        assert_eq!(attribute_name(None, 1), "word 1");
    }

    #[test]
    fn purity_needs_the_whole_neighbourhood() {
        let land = path();
        let mut predicted: BTreeMap<u64, u64> = (0..5).map(|n| (n, u64::from(n == 2))).collect();
        assert_eq!(land.purity(0, 3, &predicted), Some(0.5));
        assert_eq!(land.purity(0, 2, &predicted), Some(1.0));
        assert_eq!(land.purity(4, 1, &predicted), None);
        // No number of hops has four nodes around node 1 but three.
        assert_eq!(land.purity(1, 2, &predicted), None);
        predicted.remove(&2);
        assert_eq!(land.purity(0, 3, &predicted), None);
    }
}
