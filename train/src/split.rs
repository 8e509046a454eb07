//! The split: which nodes' labels training may use.

use std::str::FromStr;

use gcnproof::internals::problem::graph::Graph;

use super::error::TrainError;
use super::random::SeededRandom;

/// How many nodes of each class are labelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// A percentage, rounded to the nearest number, at least one node.
    Percent(f64),
    /// So many nodes, or all of a smaller class.
    Nodes(usize),
}

impl Share {
    fn of(self, nodes: usize) -> usize {
        match self {
            Share::Percent(p) => ((nodes as f64 * p / 100.0).round() as usize).max(1),
            Share::Nodes(count) => count,
        }
    }
}

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let wrong = || format!("'{text}' is neither a percentage (`10%`) nor a number of nodes per class (`20`)");
        if let Some(percent) = text.strip_suffix('%') {
            let p: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return match p {
                _ if p > 0.0 && p <= 100.0 => Ok(Share::Percent(p)),
                _ if p > 100.0 => Err(format!("'{text}' is more than all nodes of a class: give at most 100%")),
                _ => Err(wrong()),
            };
        }
        match text.trim().parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(count) => Ok(Share::Nodes(count)),
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Share::Percent(p) => write!(formatter, "{p}%"),
            Share::Nodes(count) => write!(formatter, "{count}"),
        }
    }
}

/// Labelled and unlabelled nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Rising.
    pub labelled: Vec<u32>,
    /// All others, with or without a label in the file; rising.
    pub unlabelled: Vec<u32>,
    /// `K`: one more than the largest label in the graph.
    pub classes: usize,
    /// What a user should be told.
    pub notes: Vec<String>,
}

impl Split {
    /// Draws the same share of every class.
    pub fn draw(graph: &Graph, share: Share, seed: u64) -> Result<Split, TrainError> {
        let mut by_class: Vec<Vec<u32>> = vec![Vec::new(); class_count(graph)?];
        for node in 0..graph.node_count() as u32 {
            if let Some(label) = graph.label(node as usize) {
                by_class[label as usize].push(node);
            }
        }
        let chance = SeededRandom::new(seed).of(SPLIT);
        let chosen: Vec<Vec<u32>> = by_class
            .iter()
            .enumerate()
            .map(|(class, nodes)| chance.of(class as u64).sample(nodes, share.of(nodes.len())))
            .collect();
        Split::new(graph, chosen.concat())
    }

    /// Takes these nodes as labelled.
    pub fn new(graph: &Graph, mut labelled: Vec<u32>) -> Result<Split, TrainError> {
        let classes = class_count(graph)?;
        labelled.sort_unstable();
        labelled.dedup();
        let mut counts = vec![0; classes];
        for &node in &labelled {
            let label = graph.label(node as usize).ok_or(TrainError::WithoutLabel { node })?;
            counts[label as usize] += 1;
        }
        if labelled.is_empty() {
            let candidates = (0..graph.node_count()).filter(|&n| graph.label(n).is_some()).count();
            return Err(TrainError::NoneLabelled { candidates });
        }
        let unlabelled = (0..graph.node_count() as u32).filter(|n| labelled.binary_search(n).is_err()).collect();
        let listed = |wanted: usize| {
            let which: Vec<String> = (0..classes).filter(|&k| counts[k] == wanted).map(|k| k.to_string()).collect();
            (!which.is_empty()).then(|| which.join(", "))
        };
        let mut notes = Vec::new();
        if let Some(which) = listed(0) {
            notes.push(format!("no node of class {which} is labelled: the model cannot learn to predict it"));
        }
        if let Some(which) = listed(1) {
            notes.push(format!("class {which} has a single labelled node each"));
        }
        if labelled.len() == graph.node_count() {
            notes.push("every node is labelled: no node is left whose class the model has not been told".into());
        }
        Ok(Split { labelled, unlabelled, classes, notes })
    }
}

/// What random numbers are drawn for: each purpose has its own stream.
const SPLIT: u64 = 1;

fn class_count(graph: &Graph) -> Result<usize, TrainError> {
    let largest = (0..graph.node_count()).filter_map(|n| graph.label(n)).max().ok_or(TrainError::NoLabels)?;
    match largest as usize + 1 {
        1 => Err(TrainError::OneClass { classes: 1 }),
        // Every class costs a certificate per target: a label such as 4294967295 is not one of so many classes.
        classes if classes > graph.node_count().max(1000) => {
            Err(TrainError::TooManyClasses { label: largest, nodes: graph.node_count() })
        }
        classes => Ok(classes),
    }
}
