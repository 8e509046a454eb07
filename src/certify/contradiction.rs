//! Two steps that contradict each other. One of them is wrong, and with it perhaps every verdict of the run: nothing
//! more is written.

use std::fmt;

/// What two steps say different things about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A node.
    Node(usize),
    /// A class pair of a node: the class that is to be kept against another.
    Pair {
        /// The node.
        node: usize,
        /// The class that is to be kept.
        reference: usize,
        /// The other class.
        class: usize,
    },
    /// One attack of so many flips for the whole graph.
    Flips(usize),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Subject::Node(node) => write!(f, "node {node}"),
            Subject::Pair { node, reference, class } => write!(f, "node {node}, class {reference} against {class}"),
            Subject::Flips(global) => write!(f, "one attack of {global} flips"),
        }
    }
}

/// Two steps of one computation that cannot both be right. That is a bug of this program, never of its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {} contradicts {}", steps[0], steps[1])]
pub struct Contradiction {
    /// What they are about.
    pub subject: Subject,
    /// What each of them says, with its number.
    pub steps: [String; 2],
}

impl Contradiction {
    /// What two steps say.
    pub fn new(subject: Subject, first: impl Into<String>, second: impl Into<String>) -> Contradiction {
        Contradiction { subject, steps: [first.into(), second.into()] }
    }

    /// The same about a node that has another name elsewhere.
    pub fn of_node(mut self, name: usize) -> Contradiction {
        match &mut self.subject {
            Subject::Node(node) | Subject::Pair { node, .. } => *node = name,
            Subject::Flips(_) => {}
        }
        self
    }
}
