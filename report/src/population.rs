//! The nodes that results are about: every number of a report is about one set of nodes, and says which.

use gcnproof_results::record::node_set::ranges;

/// Ranges of ids that a heading names; a command has them all.
const SHOWN: usize = 6;

/// Some nodes of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Their ids, rising.
    pub ids: Vec<u64>,
    /// How many nodes the graph has, if that is known.
    pub of: Option<usize>,
    /// Are they graphs of a batch?
    pub graphs: bool,
}

impl Population {
    /// These nodes, in whatever order.
    pub fn new(mut ids: Vec<u64>, of: Option<usize>) -> Population {
        ids.sort_unstable();
        ids.dedup();
        Population { ids, of, graphs: false }
    }

    /// The same ids as those of graphs, or of nodes.
    pub fn of_graphs(self, graphs: bool) -> Population {
        Population { graphs, ..self }
    }

    /// Is it the whole graph?
    pub fn is_all(&self) -> bool {
        self.of == Some(self.ids.len())
    }

    /// How many, and which.
    pub fn words(&self) -> String {
        let (count, targets) = (self.ids.len(), if self.graphs { "graphs" } else { "nodes" });
        if self.is_all() {
            return format!("all {count} {targets}");
        }
        let of = self.of.map_or(String::new(), |of| format!(" of {of}"));
        let ranges = ranges(&self.ids);
        let shown = ranges.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        format!("{count}{of} {targets} ({shown}{})", if ranges.len() > SHOWN { ", …" } else { "" })
    }

    /// As an option of a command.
    pub fn option(&self) -> Option<String> {
        (!self.is_all()).then(|| format!("--nodes {}", ranges(&self.ids).join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_by_number_and_by_name() {
        let all = Population::new((0..5).rev().collect(), Some(5));
        assert_eq!((all.words().as_str(), all.option()), ("all 5 nodes", None));
        let some = Population::new(vec![7, 0, 1, 2], Some(9));
        assert_eq!(some.words(), "4 of 9 nodes (0-2, 7)");
        assert_eq!(some.option().as_deref(), Some("--nodes 0-2,7"));
        let many = Population::new((0..20).map(|n| 2 * n).collect(), None);
        assert_eq!(many.words(), "20 nodes (0, 2, 4, 6, 8, 10, …)");
        assert_eq!(many.option().unwrap().split(',').count(), 20);
    }
}
