//! What `radius` says of a node, whatever the attacker.

use gcnproof::Radius;
use gcnproof::internals::certify::contradiction::Contradiction;
use gcnproof::internals::problem::graph::Graph;

use super::fields::{of_graph, of_node, row};
use super::node::Tabled;
use crate::{Column, Kind};

/// What `radius` says of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct RadiusRow<A: Tabled> {
    /// The node, from 0; or the graph, where graphs are classified.
    pub node: u64,
    /// Is it about a graph? Then `node` and `degree` are called otherwise.
    pub graphs: bool,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// Neighbours, itself not counted; of a graph its edges.
    pub degree: u64,
    /// How much of the graph matters to it: nodes whose attributes its logits depend on, edges whose removal can change
    /// something.
    pub relevant: u64,
    /// The largest global budget that is certified; null if not even 0 is (a tie).
    pub certified: Option<u64>,
    /// The smallest global budget with a witness; null if none was found up to the limit of the search.
    pub attacked: Option<u64>,
    /// The witness for that budget.
    pub witness: Vec<A::Change>,
    /// Time spent on it.
    pub seconds: f64,
    /// Two steps that contradict each other, if some did: such a row is not written.
    pub contradiction: Option<Contradiction>,
}

row! {
    RadiusRow, Self::SCHEMA,
    needed {
        node: "node", predicted: "predicted", degree: "degree", relevant: A::WORDS.relevant, witness: A::WORDS.witness,
        seconds: "seconds",
    },
    optional { label: "label", certified: A::WORDS.certified, attacked: A::WORDS.attacked },
    derived {}
}

impl<A: Tabled> RadiusRow<A> {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: A::WORDS.relevant, kind: Kind::Integer },
        Column { name: A::WORDS.certified, kind: Kind::OptionalInteger },
        Column { name: A::WORDS.attacked, kind: Kind::OptionalInteger },
        Column { name: A::WORDS.witness, kind: Kind::Flips },
        Column { name: "seconds", kind: Kind::Float },
    ];

    /// The row of a node.
    pub fn new(graph: &Graph, node: usize, radius: &Radius<A>) -> RadiusRow<A> {
        RadiusRow {
            node: node as u64,
            graphs: graph.batch().is_some(),
            label: graph.label(node).map(u64::from),
            predicted: radius.predicted as u64,
            degree: graph.links(node) as u64,
            relevant: radius.relevant as u64,
            certified: radius.certified.map(|budget| budget as u64),
            attacked: radius.attacked.map(|budget| budget as u64),
            witness: radius.witness.clone(),
            seconds: radius.seconds,
            contradiction: radius.contradiction.clone(),
        }
    }
}
