//! Options for attacks on edges.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gcnproof::Graph;
use gcnproof::edges::{EdgeBudget, EdgeKind};
use gcnproof_files::{FileError, read_ends, read_integers};
use gcnproof_run::lists::number_of;
use miette::{Result, miette};

use super::input::{frozen, identifiers};

/// Options about flips of attributes, by their names in clap: they exclude --edges where both attackers at once are not
/// decided.
pub const OF_FLIPS: [&str; 4] = ["local", "local_file", "flips", "freeze_attributes"];

/// What may be done to edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EdgeAttack {
    /// Edges are removed
    Remove,
    /// Edges are inserted
    Insert,
    /// Edges are removed or inserted
    Change,
}

impl EdgeAttack {
    fn kind(self) -> EdgeKind {
        match self {
            EdgeAttack::Remove => EdgeKind::Remove,
            EdgeAttack::Insert => EdgeKind::Insert,
            EdgeAttack::Change => EdgeKind::Change,
        }
    }
}

/// The attacker's means where edges are attacked, except for `E`.
#[derive(Args, Clone, Debug)]
pub struct EdgeArguments {
    /// The attacker removes or inserts edges: --edges remove|insert|change -E N (message passing is recomputed)
    #[arg(
        long,
        value_enum,
        value_name = "ATTACK",
        help_heading = "Edges",
        hide_possible_values = true,
        conflicts_with = "deployed"
    )]
    pub edges: Option<EdgeAttack>,
    /// Changed edges per node, at both ends of each [default: no limit of its own]
    #[arg(
        short = 'e',
        long = "edges-local",
        value_name = "N",
        value_parser = removals,
        help_heading = "Edges",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub edges_local: Option<usize>,
    /// A file with one local budget of changed edges per node (text, one per line, or .npy); replaces -e
    #[arg(long, value_name = "FILE", conflicts_with = "edges_local", help_heading = "Edges", hide_short_help = true)]
    pub edges_local_file: Option<PathBuf>,
    /// Does every node that has edges keep one? [default: true]
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "Edges",
        hide_short_help = true
    )]
    pub keep_one_edge: Option<bool>,
    /// A file with edges that cannot be removed: text with the ids of both ends in a line, or .npy with one end after
    /// the other
    #[arg(long, value_name = "FILE", help_heading = "Edges", hide_short_help = true)]
    pub freeze_edges: Option<PathBuf>,
    /// Each direction of an edge is an edge of its own, from the first end to the second; a change counts at the second
    #[arg(long, help_heading = "Edges", hide_short_help = true)]
    pub directed_edges: bool,
    /// A file with the edges that may be inserted, as for --freeze-edges [default: all that the graph does not have]
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "candidates_within",
        help_heading = "Edges",
        hide_short_help = true
    )]
    pub candidates: Option<PathBuf>,
    /// Only edges between nodes at most N edges apart may be inserted (directed: from nodes whose messages already
    /// arrive by at most N edges)
    #[arg(long, value_name = "N", value_parser = removals, help_heading = "Edges", hide_short_help = true)]
    pub candidates_within: Option<usize>,
}

/// A number of removals.
pub fn removals(text: &str) -> std::result::Result<usize, String> {
    number_of(text, "edges")
}

impl EdgeArguments {
    /// Are edges attacked? `global` is the option for their number, if it was given.
    ///
    /// # Errors
    /// If in a way that is not decided, or options about edges are given without saying that edges are attacked.
    pub fn wanted(&self, global: Option<&str>) -> Result<bool> {
        let others = [
            ("-e", self.edges_local.is_some()),
            ("--edges-local-file", self.edges_local_file.is_some()),
            ("--keep-one-edge", self.keep_one_edge.is_some()),
            ("--freeze-edges", self.freeze_edges.is_some()),
            ("--directed-edges", self.directed_edges),
            ("--candidates", self.candidates.is_some()),
            ("--candidates-within", self.candidates_within.is_some()),
        ];
        let given = global.or_else(|| others.into_iter().find(|(_, given)| *given).map(|(name, _)| name));
        match (self.edges, given) {
            (None, None) => Ok(false),
            (None, Some(option)) => {
                let add = match self.has_candidates() {
                    true => {
                        "candidates are edges that may be inserted: add --edges insert, or --edges change to let \
                         edges be removed as well"
                    }
                    false => {
                        "to let the attacker remove edges, add --edges remove (insert to let edges be inserted, \
                         change for both)"
                    }
                };
                Err(miette!(
                    help = format!("{add}; where attributes are attacked, leave {option} out"),
                    "{option} is about edges, and without --edges the attacker changes attributes"
                ))
            }
            (Some(EdgeAttack::Remove), _) if self.has_candidates() => Err(miette!(
                help = "give --edges insert or --edges change, or leave the candidates out",
                "--edges remove: candidates are edges that may be inserted"
            )),
            (Some(EdgeAttack::Insert), _) if self.freeze_edges.is_some() || self.keep_one_edge == Some(false) => {
                let option = if self.freeze_edges.is_some() { "--freeze-edges" } else { "--keep-one-edge" };
                Err(miette!(
                    help = format!("give --edges remove or --edges change, or leave {option} out"),
                    "--edges insert together with {option}: no edge is removed"
                ))
            }
            (Some(_), _) => Ok(true),
        }
    }

    /// Is there a choice of edges that may be inserted?
    fn has_candidates(&self) -> bool {
        self.candidates.is_some() || self.candidates_within.is_some()
    }

    /// The attack as options name it.
    pub fn name(&self) -> &'static str {
        self.edges.map_or(EdgeKind::Remove, EdgeAttack::kind).name()
    }

    /// The same as a participle.
    pub fn done(&self) -> &'static str {
        match self.edges {
            None | Some(EdgeAttack::Remove) => "removed",
            Some(EdgeAttack::Insert) => "inserted",
            Some(EdgeAttack::Change) => "removed or inserted",
        }
    }

    /// The budget with a given `E`; `freeze_nodes` is the option of that name.
    ///
    /// # Errors
    /// If a file or a list does not fit the graph.
    pub fn budget(&self, graph: &Graph, global: usize, freeze_nodes: Option<&str>) -> Result<EdgeBudget> {
        let mut budget = match &self.edges_local_file {
            Some(path) => EdgeBudget::per_node(graph, global, &read_integers(path)?).map_err(|error| {
                let nodes = graph.node_count();
                miette!(
                    help = format!("write one whole number, 0 or more, for each of the {nodes} nodes, in their order"),
                    "--edges-local-file {}: {error}",
                    path.display()
                )
            })?,
            None => EdgeBudget::uniform(graph, global, self.edges_local.unwrap_or(u32::MAX as usize)),
        };
        budget = budget.keep_one(self.keep_one_edge.unwrap_or(true)).directed(self.directed_edges);
        budget = budget.kind(self.edges.map_or(EdgeKind::Remove, EdgeAttack::kind));
        if let Some(list) = freeze_nodes {
            let nodes = identifiers("--freeze-nodes", list, graph.node_count(), "nodes")?;
            let count = graph.node_count();
            budget = budget.freeze_nodes(&nodes).map_err(|error| frozen("--freeze-nodes", &error, count))?;
        }
        if let Some(path) = &self.freeze_edges {
            let edges = pairs("--freeze-edges", path)?;
            budget = budget.freeze_edges(graph, &edges).map_err(|error| {
                miette!(
                    help = "write the ids of both ends of edges that the graph has, one edge in a line; ids start at 0",
                    "--freeze-edges {}: {error}",
                    path.display()
                )
            })?;
        }
        if let Some(path) = &self.candidates {
            let edges = pairs("--candidates", path)?;
            budget = budget.listed(graph, &edges).map_err(|error| {
                miette!(
                    help =
                        "write the ids of two nodes without an edge between them, one edge in a line; ids start at 0",
                    "--candidates {}: {error}",
                    path.display()
                )
            })?;
        }
        if let Some(hops) = self.candidates_within {
            budget = budget.within(hops);
        }
        Ok(budget)
    }
}

/// Pairs of ids from a file that an option names.
fn pairs(option: &str, path: &Path) -> Result<Vec<(i64, i64)>> {
    let within = path.to_str().and_then(|text| text.parse::<u32>().ok());
    if let ("--candidates", Some(hops), false) = (option, within, path.exists()) {
        return Err(miette!(
            help = format!(
                "--candidates-within {hops} is for edges between nodes at most {hops} edges apart; --candidates takes a file with the ids \
                 of both ends of an edge in each line"
            ),
            "--candidates {hops}: there is no such file"
        ));
    }
    let ids = read_ends(path).map_err(|error| match error {
        FileError::Line { .. } | FileError::Unreadable { .. } => miette!(
            help = "give a file with the ids of both ends of an edge in each line, as in 0,5; ids start at 0",
            "{option} {error}"
        ),
        error => error.into(),
    })?;
    if ids.len() % 2 == 1 {
        return Err(miette!(
            help = "write the ids of both ends of each edge in a line",
            "{option} {}: {} ids are no list of pairs",
            path.display(),
            ids.len()
        ));
    }
    Ok(ids.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}
