//! Message-passing rules whose entries are recomputed from the edges that are left.

use crate::number::{Stored, reciprocal, reciprocal_root};
use crate::statement::Rule;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Root,
    Mean,
    Sum,
    Identity,
    PoolSum,
    PoolMean,
}

/// A rule of one word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeRule {
    kind: Kind,
    /// Does it add every node to its own neighbours?
    pub adds_self: bool,
    /// Of `poly(sum;a,1)`, the number `a`: a node has it as its own entry, plus 1 where it has a self-loop.
    weight: Option<Stored>,
}

impl EdgeRule {
    /// Every node sends to itself alone.
    pub const IDENTITY: EdgeRule = EdgeRule { kind: Kind::Identity, adds_self: true, weight: None };

    /// A rule by its name; `None` for what has no edges to remove.
    pub fn named(name: &str) -> Option<EdgeRule> {
        let (kind, adds_self) = match name {
            "gcn" => (Kind::Root, true),
            "gcn-self" => (Kind::Root, false),
            "mean" => (Kind::Mean, false),
            "mean+self" => (Kind::Mean, true),
            "sum" => (Kind::Sum, false),
            "sum+self" => (Kind::Sum, true),
            "identity" => (Kind::Identity, true),
            "pool-sum" => (Kind::PoolSum, false),
            "pool-mean" => (Kind::PoolMean, false),
            _ => return None,
        };
        Some(EdgeRule { kind, adds_self, weight: None })
    }

    /// The same, or a sum with a number of its own for the node itself.
    pub fn read(text: &str) -> Option<EdgeRule> {
        match Rule::read(text)? {
            Rule::Plain(name) => EdgeRule::named(name),
            Rule::Polynomial("sum", coefficients) => match *coefficients {
                [own, Stored::ONE] => Some(EdgeRule { kind: Kind::Sum, adds_self: false, weight: Some(own) }),
                _ => None,
            },
            Rule::Polynomial(..) => None,
        }
    }

    /// The own entry of a node, with a self-loop or without, where the rule has a number for it.
    pub fn weighted(self, looped: bool) -> Option<Stored> {
        self.weight.map(|own| if looped { own.plus_one() } else { own })
    }

    /// Does anything pass along edges?
    pub fn has_edges(self) -> bool {
        matches!(self.kind, Kind::Root | Kind::Mean | Kind::Sum)
    }

    /// Is it a readout, whose row `g` holds the nodes of graph `g`?
    pub fn pools(self) -> bool {
        matches!(self.kind, Kind::PoolSum | Kind::PoolMean)
    }

    /// Do entries depend on the size of the receiver?
    pub fn reads_size(self) -> bool {
        matches!(self.kind, Kind::Root | Kind::Mean)
    }

    /// Do entries depend on the size of the sender?
    pub fn reads_sender(self) -> bool {
        self.kind == Kind::Root
    }

    /// The entry from a node to itself or along an edge, by the sizes of receiver and sender; 0 where one of them is 0.
    pub fn entry(self, receiver: usize, sender: usize) -> Stored {
        match self.kind {
            Kind::Sum | Kind::Identity | Kind::PoolSum => Stored::ONE,
            Kind::Mean | Kind::PoolMean if receiver > 0 => Stored::new(reciprocal(receiver)),
            Kind::Root if receiver > 0 && sender > 0 => Stored::new(reciprocal_root(receiver, sender)),
            Kind::Mean | Kind::PoolMean | Kind::Root => Stored::ZERO,
        }
    }
}
