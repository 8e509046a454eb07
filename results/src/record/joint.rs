//! Rows and descriptions of runs about flips and changed edges at once.

use gcnproof::NodeResult;
use gcnproof::edges::{Edge, Joint};
use gcnproof::internals::certify::contradiction::{Contradiction, Subject};
use gcnproof::internals::certify::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::edges::EdgeBudgetRecord;
use super::flips::joined;
use super::node::{Record, Tabled};
use super::node_set::NodeSet;
use super::settings::{BudgetRecord, Class, EffortRecord, Identity};
use crate::{Column, Kind};

/// What `certify -Q … --edges` says of a node.
pub type JointRecord = Record<Joint>;

/// Columns that only rows about both have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointColumns {
    /// The edges that are changed beside the flips of the witness.
    pub witness_edges: Vec<Edge>,
}

impl JointRecord {
    /// The columns of a file of such rows; exact margins are not found.
    pub const SCHEMA: &'static [Column] = &joined::<18>(
        JointRecord::PLAIN.split_at(JointRecord::PLAIN.len() - 1).0,
        &[Column { name: "witness_edges", kind: Kind::Flips }],
    );
}

impl Tabled for Joint {
    type Own = JointColumns;

    fn schema(_: bool, _: bool) -> &'static [Column] {
        JointRecord::SCHEMA
    }

    fn own(result: &NodeResult<Joint>) -> JointColumns {
        JointColumns { witness_edges: result.details.edges.clone() }
    }

    fn more_changes(own: &JointColumns) -> usize {
        own.witness_edges.len()
    }

    fn check(row: &JointRecord) -> Result<(), Contradiction> {
        let edges = row.own.witness_edges.len();
        if edges > 0 && row.verdict != Verdict::NonRobust {
            let verdict = format!("the verdict {}", row.verdict.name());
            let witness = format!("a witness of {edges} changed edges");
            return Err(Contradiction::new(Subject::Node(row.node as usize), verdict, witness));
        }
        Ok(())
    }
}

/// A run of `certify -Q … --edges`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointRun {
    /// Graph and model.
    pub input: Identity,
    /// What may be flipped.
    pub budget: BudgetRecord,
    /// What may be done to edges at the same time.
    pub edges: EdgeBudgetRecord,
    /// How far the run goes.
    pub effort: EffortRecord,
    /// The class that is to be kept.
    pub class: Class,
    /// How many nodes.
    pub nodes: usize,
    /// Which nodes, if not all of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_set: Option<NodeSet>,
}
