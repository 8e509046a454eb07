//! The program of one budget: the rows of all nodes that may break, by flips (docs/math.md §20).

use std::collections::BTreeMap;

use crate::collective::row::ShareRow;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;

/// A source node: its flips, and those that no row names.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its id in the graph.
    pub(crate) node: u32,
    /// Flips that may be made there, at most.
    pub(crate) local: usize,
    /// Its named flips are columns `first .. end`.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// How many flips no row names.
    pub(crate) others: usize,
    /// What one of these is worth at most beside the defaults, in multiples of `1/ONE`.
    pub(crate) cap: u64,
}

/// Rows of some nodes under a budget, stored by columns. What a named flip has beyond the default of its source node is
/// stored flip by flip.
#[derive(Debug, Default)]
pub struct Program {
    /// Flips in all.
    pub(crate) global: usize,
    /// Source nodes that may be attacked, at most.
    pub(crate) attacked_nodes: usize,
    /// Rows of the program's `n`-th node: `first_row[n] .. first_row[n + 1]`.
    pub(crate) first_row: Vec<u32>,
    pub(crate) sources: Vec<Source>,
    /// Defaults by source: rows and shares.
    pub(crate) default_offsets: Vec<usize>,
    pub(crate) defaults: Vec<(u32, u32)>,
    /// Named flips, in their order, and the source of each.
    pub(crate) flips: Vec<Flip>,
    pub(crate) source_of: Vec<u32>,
    /// Entries by flip: rows, and shares beyond the default.
    pub(crate) offsets: Vec<usize>,
    pub(crate) entries: Vec<(u32, u32)>,
}

impl Program {
    /// Puts the rows of nodes together. Rows of flips that the budget does not permit are passed over. `sources` are
    /// nodes whose flips may be worth something though no row names them.
    pub fn new(
        graph: &Graph,
        budget: &Budget,
        attacked_nodes: Option<usize>,
        nodes: &[&[ShareRow]],
        sources: impl Iterator<Item = u32>,
    ) -> Program {
        let mut first_row = vec![0u32];
        let sources = sources.filter(|&source| budget.local(source as usize) > 0);
        let mut defaults: BTreeMap<u32, Vec<(u32, u32)>> = sources.map(|source| (source, Vec::new())).collect();
        let mut named: Vec<(Flip, u32, u32)> = Vec::new();
        let mut count = 0u32;
        for rows in nodes {
            for row in *rows {
                for &(source, share) in row.defaults.iter().filter(|default| budget.local(default.0 as usize) > 0) {
                    defaults.entry(source).or_default().push((count, share));
                }
                for &(flip, share) in &row.entries {
                    let beyond = share.saturating_sub(row.default_of(flip.node));
                    let present = graph.attributes().contains(flip.node as usize, flip.attribute);
                    if beyond > 0 && budget.permits(flip.node as usize, flip.attribute as usize, present) {
                        named.push((flip, count, beyond));
                        defaults.entry(flip.node).or_default();
                    }
                }
                count += 1;
            }
            first_row.push(count);
        }
        named.sort_unstable();
        let mut program = Program {
            global: budget.global(),
            attacked_nodes: attacked_nodes.unwrap_or(usize::MAX),
            first_row,
            default_offsets: vec![0],
            offsets: vec![0],
            ..Program::default()
        };
        let mut at = 0;
        for (node, rows) in defaults {
            let first = program.flips.len();
            while at < named.len() && named[at].0.node == node {
                let flip = named[at].0;
                while at < named.len() && named[at].0 == flip {
                    program.entries.push((named[at].1, named[at].2));
                    at += 1;
                }
                program.flips.push(flip);
                program.source_of.push(program.sources.len() as u32);
                program.offsets.push(program.entries.len());
            }
            let end = program.flips.len();
            program.defaults.extend(rows);
            program.default_offsets.push(program.defaults.len());
            let permitted = permitted(graph, budget, node as usize);
            let local = budget.local(node as usize).min(budget.global());
            program.sources.push(Source {
                node,
                local,
                first,
                end,
                others: permitted.saturating_sub(end - first),
                cap: 0,
            });
        }
        program
    }

    /// Says what flips that no row names are worth at most beside the defaults, by source node and in multiples of
    /// `1/ONE`; nothing for nodes that are left out.
    ///
    /// # Panics
    /// If the program does not know one of the nodes: its flips would be forgotten.
    pub(crate) fn set_caps(&mut self, caps: &BTreeMap<u32, u64>) {
        let mut found = 0;
        for source in &mut self.sources {
            let cap = caps.get(&source.node);
            found += usize::from(cap.is_some());
            source.cap = cap.copied().unwrap_or(0);
        }
        assert_eq!(found, caps.len(), "a program without some source nodes");
    }

    /// Nodes of the program.
    pub fn node_count(&self) -> usize {
        self.first_row.len() - 1
    }

    /// Rows of all nodes.
    pub fn row_count(&self) -> usize {
        self.first_row.last().map_or(0, |&count| count as usize)
    }

    /// The numbers of a node's rows; `node` counts the nodes of the program.
    pub(crate) fn rows_of(&self, node: usize) -> std::ops::Range<usize> {
        self.first_row[node] as usize..self.first_row[node + 1] as usize
    }

    /// Rows and shares of the flips of a source that no row names.
    pub(crate) fn defaults_of(&self, source: usize) -> &[(u32, u32)] {
        &self.defaults[self.default_offsets[source]..self.default_offsets[source + 1]]
    }

    /// Rows, and shares beyond the default, of a named flip.
    pub(crate) fn entries_of(&self, flip: usize) -> &[(u32, u32)] {
        &self.entries[self.offsets[flip]..self.offsets[flip + 1]]
    }
}

/// How many flips of a node's row are permitted.
fn permitted(graph: &Graph, budget: &Budget, node: usize) -> usize {
    if budget.local(node) == 0 {
        return 0;
    }
    let frozen = |d: usize| budget.is_frozen(d);
    let present = graph.attributes().row(node).iter().filter(|&&d| !frozen(d as usize)).count();
    let free = graph.attribute_count() - budget.frozen_attributes().iter().filter(|&&frozen| frozen).count();
    let mut count = 0;
    if budget.direction().removes() {
        count += present;
    }
    if budget.direction().adds() {
        count += free - present;
    }
    count
}
