//! Rows of results: one per node, the same fields in every output format.

pub mod attackers;
pub mod chain;
pub mod collective;
pub mod consistent;
pub mod description;
pub mod edges;
mod fields;
mod flips;
pub mod joint;
pub mod kept;
pub mod node;
pub mod node_set;
mod options;
pub mod pair;
pub mod radius;
mod settings;
pub mod study;

use serde::{Deserialize, Serialize};

use crate::{Column, Kind};
pub use flips::{FlipColumns, NodeRecord, RadiusRecord};
pub use gcnproof::internals::certify::verdict::MarginRecord;

/// One trained model of a published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Number of the cell, from 0: split by split, graph by graph, loss by loss.
    pub cell: u64,
    /// Name of the graph.
    pub graph: String,
    /// Name of the loss.
    pub loss: String,
    /// Seed of the split and of everything else.
    pub seed: u64,
    /// Largest `Q` that the paper's bound certifies, averaged over all nodes.
    pub mean_largest_global: f64,
    /// Share of nodes that it certifies at the budget trained for.
    pub certified: f64,
    /// Accuracy on labelled nodes.
    pub accuracy_labelled: f64,
    /// Accuracy on unlabelled nodes.
    pub accuracy_unlabelled: Option<f64>,
    /// As `mean_largest_global`, by the better of the paper's and the anchored bound.
    pub our_mean_largest_global: f64,
    /// As `certified`, by the better of both.
    pub our_certified: f64,
    /// Iterations of training.
    pub iterations: u64,
    /// Time of training.
    pub seconds: f64,
}

impl TableRecord {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "cell", kind: Kind::Integer },
        Column { name: "graph", kind: Kind::Text },
        Column { name: "loss", kind: Kind::Text },
        Column { name: "seed", kind: Kind::Integer },
        Column { name: "mean_largest_global", kind: Kind::Float },
        Column { name: "certified", kind: Kind::Float },
        Column { name: "accuracy_labelled", kind: Kind::Float },
        Column { name: "accuracy_unlabelled", kind: Kind::OptionalFloat },
        Column { name: "our_mean_largest_global", kind: Kind::Float },
        Column { name: "our_certified", kind: Kind::Float },
        Column { name: "iterations", kind: Kind::Integer },
        Column { name: "seconds", kind: Kind::Float },
    ];
}
