//! A graph with numbers as attributes, a network and ranges, as plain data.

use gcnproof::Ranges;
use gcnproof_files::{GraphFile, SparseMatrix};

use crate::case::pattern;
use crate::changes::case::ChangeCase;
use crate::exact::Exact;
use crate::joint::case::Entry;

/// A case.
#[derive(Clone, Debug)]
pub struct RangeCase {
    /// Graph and network; which edges may be changed there is left aside.
    pub changes: ChangeCase,
    /// The attributes of each node.
    pub values: Vec<Vec<f64>>,
    pub ranges: Ranges,
    pub global: usize,
    pub local: Vec<usize>,
    /// Attributes that stay.
    pub frozen: Vec<u32>,
}

impl RangeCase {
    /// The graph file.
    ///
    /// # Errors
    /// If the file has no such numbers.
    pub fn graph(&self) -> Result<GraphFile, String> {
        let file = &self.changes.graph;
        let columns = file.attributes.columns;
        let nonzero = |row: &Vec<f64>| (0..columns as u32).filter(|&d| row[d as usize] != 0.0).collect();
        let places = pattern(columns, &self.values.iter().map(nonzero).collect::<Vec<Vec<u32>>>());
        let matrix = SparseMatrix {
            rows: self.values.len(),
            columns,
            offsets: places.offsets.clone(),
            indices: places.indices.clone(),
            values: self.values.iter().flatten().copied().filter(|&x| x != 0.0).collect(),
        };
        let plain = GraphFile { attributes: places, ..file.clone() };
        plain.valued(matrix).map_err(|place| format!("{place:?} is no attribute"))
    }

    /// The ends of an entry's range.
    pub fn range(&self, (node, attribute): Entry) -> [Exact; 2] {
        let x = Exact::from_f64(self.values[node as usize][attribute as usize]);
        match &self.ranges {
            Ranges::Ball(radius) => [-1.0, 1.0].map(|side| x.plus(&Exact::from_f64(side * radius))),
            Ranges::Between { low, high } => [low, high].map(|limits| Exact::from_f64(limits[attribute as usize])),
        }
    }

    /// May these different entries be moved together?
    pub fn admits(&self, entries: &[Entry]) -> bool {
        let at = |node: u32| entries.iter().filter(|entry| entry.0 == node).count();
        let may =
            |&(node, attribute): &Entry| at(node) <= self.local[node as usize] && !self.frozen.contains(&attribute);
        entries.len() <= self.global && entries.iter().all(may)
    }

    /// All admissible sets of entries to which none can be added.
    pub fn sets(&self) -> Vec<Vec<Entry>> {
        let columns = self.changes.graph.attributes.columns as u32;
        let entries = (0..self.changes.nodes() as u32).flat_map(|n| (0..columns).map(move |d| (n, d)));
        let movable = |&entry: &Entry| {
            let [low, high] = self.range(entry);
            low.compare(&high).is_lt()
        };
        let entries: Vec<Entry> = entries.filter(movable).collect();
        let mut all: Vec<Vec<Entry>> = vec![Vec::new()];
        for &entry in &entries {
            for at in 0..all.len() {
                let larger = [all[at].as_slice(), &[entry]].concat();
                if self.admits(&larger) {
                    all.push(larger);
                }
            }
        }
        let more = |set: &Vec<Entry>, entry: &Entry| {
            !set.contains(entry) && self.admits(&[set.as_slice(), &[*entry]].concat())
        };
        all.retain(|set| !entries.iter().any(|entry| more(set, entry)));
        all
    }
}
