//! Nodes by the ids that people say and read. They are the rows of the graph's file, unless that is a part of a larger
//! graph: then they are those of the whole graph, in options and in results. Where graphs are classified they are the
//! numbers of the graphs.

use std::collections::BTreeSet;

use gcnproof::Graph;
use gcnproof_files::PartFile;
use miette::{Result, miette};

use super::lists;

/// The ids of a graph's rows.
#[derive(Clone, Copy, Debug)]
pub struct Ids<'a> {
    part: Option<&'a PartFile>,
    rows: usize,
}

impl<'a> Ids<'a> {
    /// Of a graph, or of a part of one.
    pub fn new(graph: &Graph, part: Option<&'a PartFile>) -> Ids<'a> {
        Ids { part, rows: graph.target_count() }
    }

    /// How many ids there are.
    pub fn count(&self) -> usize {
        self.part.map_or(self.rows, |part| part.of)
    }

    /// The id of a row.
    pub fn id(&self, row: usize) -> u64 {
        self.part.map_or(row as u64, |part| u64::from(part.node(row)))
    }

    /// The row of an id that has one.
    pub fn row(&self, id: u64) -> usize {
        self.part.map_or(Some(id as usize), |part| part.row(id)).unwrap_or_default()
    }

    /// The rows that a run is about: all, or those of a list of ids. A part answers for its own nodes only, and passes
    /// over others.
    pub fn asked(&self, list: Option<&str>, graph: &Graph) -> Result<Vec<usize>> {
        let Some(part) = self.part else { return lists::nodes(list, graph) };
        let own = || part.own.iter().map(|&row| row as usize);
        let Some(list) = list else { return Ok(own().collect()) };
        let wanted: BTreeSet<usize> = lists::nodes_of("--nodes", list, part.of)?.into_iter().collect();
        let rows: Vec<usize> = own().filter(|&row| wanted.contains(&(part.node(row) as usize))).collect();
        if rows.is_empty() {
            return Err(miette!(
                help = "other parts answer for them: leave this one out, and join the others with --some",
                "{} answers for none of the nodes '{list}'",
                part.words()
            ));
        }
        Ok(rows)
    }

    /// The ids that count as labelled: those of a list, or all that have a label.
    pub fn labelled(&self, list: Option<&str>, graph: &Graph) -> Result<BTreeSet<u64>> {
        Ok(match list {
            Some(list) => {
                let what = if graph.batch().is_some() { "graph" } else { "node" };
                let targets = lists::targets_of("--labelled", list, self.count(), what)?;
                targets.into_iter().map(|target| target as u64).collect()
            }
            None => (0..self.rows).filter(|&row| graph.label(row).is_some()).map(|row| self.id(row)).collect(),
        })
    }
}
