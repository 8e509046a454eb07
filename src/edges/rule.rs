//! The entries of message-passing operators as functions of how many edges are left at both ends.

use crate::problem::network::Operator;

/// What an entry depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `1/√(size_i size_j)`.
    Root,
    /// `1/size_i`.
    Mean,
    /// 1.
    Sum,
    /// No edges; every node for itself.
    Identity,
    /// No edges; the nodes of a graph, each with 1.
    PoolSum,
    /// The same, each with `1/size` of the graph.
    PoolMean,
}

/// A rule of message passing that can be recomputed when edges are removed (docs/math.md (18.1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    kind: Kind,
    with_self: bool,
    /// Of `poly(sum;a,1)`, the bits of `a`: the entry of a node with itself, to which a self-loop adds 1.
    weight: Option<u64>,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule::IDENTITY
    }
}

impl Rule {
    /// No messages.
    pub(crate) const IDENTITY: Rule = Rule { kind: Kind::Identity, with_self: true, weight: None };

    /// The rule of an operator; none for matrices of one's own, and of polynomials none but `poly(sum;a,1)`.
    pub(crate) fn of(operator: &Operator) -> Option<Rule> {
        let (kind, with_self) = match operator {
            Operator::Gcn => (Kind::Root, true),
            Operator::GcnWithoutSelf => (Kind::Root, false),
            Operator::Mean => (Kind::Mean, false),
            Operator::MeanWithSelf => (Kind::Mean, true),
            Operator::Sum => (Kind::Sum, false),
            Operator::SumWithSelf => (Kind::Sum, true),
            Operator::Identity => return Some(Rule::IDENTITY),
            Operator::PoolSum => (Kind::PoolSum, false),
            Operator::PoolMean => (Kind::PoolMean, false),
            Operator::Polynomial(of, coefficients) => {
                let weight = match (&**of, coefficients.as_slice()) {
                    (Operator::Sum, [own, 1.0, rest @ ..]) if rest.iter().all(|&c| c == 0.0) => own.to_bits(),
                    _ => return None,
                };
                return Some(Rule { kind: Kind::Sum, with_self: false, weight: Some(weight) });
            }
            _ => return None,
        };
        Some(Rule { kind, with_self, weight: None })
    }

    /// Does every node keep what it has, and nothing else?
    pub(crate) fn is_identity(self) -> bool {
        self.kind == Kind::Identity
    }

    /// Do messages run along edges?
    pub(crate) fn has_edges(self) -> bool {
        matches!(self.kind, Kind::Root | Kind::Mean | Kind::Sum)
    }

    /// Is it a readout, whose rows are graphs?
    pub(crate) fn is_readout(self) -> bool {
        matches!(self.kind, Kind::PoolSum | Kind::PoolMean)
    }

    /// Does an entry depend on how many edges its receiver has?
    pub(crate) fn reads_size(self) -> bool {
        matches!(self.kind, Kind::Root | Kind::Mean)
    }

    /// Does an entry depend on how many edges the sender has?
    pub(crate) fn reads_sender(self) -> bool {
        self.kind == Kind::Root
    }

    /// 1 if a node counts itself, because the rule says so or the graph has a self-loop there.
    pub(crate) fn own(self, looped: bool) -> usize {
        usize::from(self.with_self || looped)
    }

    /// The entry between a receiver and a sender of these sizes; 0 where one of them has none, since then there is no
    /// entry.
    #[inline]
    pub(crate) fn entry(self, receiver: usize, sender: usize) -> f64 {
        if receiver == 0 || sender == 0 {
            return 0.0;
        }
        match self.kind {
            // The very expressions of `Operator::matrix`.
            Kind::Root => 1.0 / (receiver as f64 * sender as f64).sqrt(),
            Kind::Mean | Kind::PoolMean => 1.0 / receiver as f64,
            Kind::Sum | Kind::PoolSum => 1.0,
            Kind::Identity => 0.0,
        }
    }

    /// The entry of a node with itself, `left` edges being left at it; 0 if it does not count itself.
    #[inline]
    pub(crate) fn own_entry(self, left: usize, looped: bool) -> f64 {
        if let Some(weight) = self.weight.map(f64::from_bits) {
            // The very sum of `polynomial::evaluate`.
            return if looped { weight + 1.0 } else { weight };
        }
        match (self.kind, self.own(looped)) {
            (Kind::Identity, _) => 1.0,
            (Kind::PoolSum | Kind::PoolMean, _) | (_, 0) => 0.0,
            (_, own) => self.entry(left + own, left + own),
        }
    }
}
