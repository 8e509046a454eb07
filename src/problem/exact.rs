//! The network evaluated in dyadic integers, for margins that lie inside their rounding error ([`crate::bound::exact`] has the bounds).
//!
//! Slopes may be rounded (any slope gives a valid line), everything else is exact: pre-activations, intercepts, losses and
//! their selection. What a node sends in the first layer is summed once per run ([`Sums`]), what the units of a target
//! receive once per target ([`ExactUnits`]); a perturbation then costs what its flips change.

use std::cmp::Ordering;
use std::sync::OnceLock;

use crate::number::dyadic::Dyadic;
use crate::number::rounding::norm_above;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;
use crate::problem::objective::Objective;
use crate::problem::slice::Slice;

/// A matrix of exact numbers, row-major.
pub(crate) struct Exact {
    pub(crate) width: usize,
    pub(crate) values: Vec<Dyadic>,
}

impl Exact {
    pub(crate) fn zeros(rows: usize, width: usize) -> Exact {
        Exact { width, values: vec![Dyadic::ZERO; rows * width] }
    }

    pub(crate) fn row(&self, i: usize) -> &[Dyadic] {
        &self.values[i * self.width..][..self.width]
    }

    pub(crate) fn add(&mut self, i: usize, j: usize, term: &Dyadic) {
        self.values[i * self.width + j] += term;
    }
}

/// `X W(1)` of the unperturbed graph, exactly: a node's row is summed when it is first asked for, and kept for all targets.
#[derive(Debug)]
pub struct Sums {
    nodes: Vec<OnceLock<Vec<Dyadic>>>,
    norms: OnceLock<Vec<(f64, usize)>>,
}

impl Sums {
    /// Of a graph with so many nodes; nothing is summed yet.
    pub fn new(nodes: usize) -> Sums {
        Sums { nodes: (0..nodes).map(|_| OnceLock::new()).collect(), norms: OnceLock::new() }
    }

    /// The attributes with the norms of their weights, rounded up, in falling order; those without weights are left out.
    pub(crate) fn norms(&self, network: &Network) -> &[(f64, usize)] {
        self.norms.get_or_init(|| {
            let weight = &network.layers()[0].weight;
            let norm = |d: usize| (norm_above(weight.row(d).iter().copied()), d);
            let mut norms: Vec<(f64, usize)> = (0..weight.rows()).map(norm).filter(|of| of.0 != 0.0).collect();
            norms.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            norms
        })
    }

    fn of(&self, graph: &Graph, network: &Network, node: usize) -> &[Dyadic] {
        self.nodes[node].get_or_init(|| {
            let weight = &network.layers()[0].weight;
            let present = graph.attributes().row(node);
            (0..weight.columns()).map(|j| Dyadic::sum_of(present.iter().map(|&d| weight.get(d as usize, j)))).collect()
        })
    }
}

/// The exact unperturbed pre-activations of one target's slice, by unit of representation 2, as far as they were needed.
#[derive(Debug, Default)]
pub struct ExactUnits(Vec<Option<Vec<Dyadic>>>);

impl ExactUnits {
    /// To be called for each new target.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// The problem of one target, as everything here needs it.
pub struct ExactProblem<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network.
    pub network: &'a Network,
    /// The target's slice.
    pub slice: &'a Slice,
    /// First-layer sums of this graph and network.
    pub sums: &'a Sums,
    /// What is known of this slice.
    pub units: &'a mut ExactUnits,
}

impl ExactProblem<'_> {
    /// The exact objective `cᵀĤ(top)` of the target when these flips are made.
    pub fn objective(&mut self, objective: Objective, flips: &[Flip]) -> Dyadic {
        let top = self.slice.top();
        let layer = &self.network.layers()[top - 2];
        if top == 2 {
            let units: Vec<usize> = objective.iter().map(|o| o.0).collect();
            let z = self.preactivations(&units, flips);
            return sum(objective.iter().map(|&(unit, c)| &z.row(0)[unit] * &c.into()));
        }
        // Units whose exact weight in the objective is zero are never evaluated: equal classes cost nothing.
        let weights: Vec<Dyadic> = (0..layer.weight.rows())
            .map(|i| sum(objective.iter().map(|&(unit, c)| &Dyadic::from(layer.weight.get(i, unit)) * &c.into())))
            .collect();
        let mut total = sum(objective.iter().map(|&(unit, c)| &Dyadic::from(layer.bias[unit]) * &c.into()));
        let counting: Vec<usize> = (0..weights.len()).filter(|&i| weights[i].sign() != Ordering::Equal).collect();
        if counting.is_empty() {
            return total;
        }
        let z = if top == 3 {
            self.preactivations(&counting, flips)
        } else {
            let all: Vec<usize> = (0..self.network.width(2)).collect();
            (2..top - 1).fold(self.preactivations(&all, flips), |z, l| self.step(&z, l))
        };
        for (n, a) in self.slice.passing(top - 1).row(0) {
            let sent = counting.iter().map(|&i| (&z.row(n)[i], &weights[i]));
            let sent = sum(sent.filter(|(z, _)| z.sign() == Ordering::Greater).map(|(z, w)| z * w));
            total += &(&sent * &a.into());
        }
        total
    }

    /// `Ĥ(l+1) = A(l) relu(Ĥ(l)) W(l) + b(l)` on the slice.
    pub(crate) fn step(&self, z: &Exact, l: usize) -> Exact {
        let layer = &self.network.layers()[l - 1];
        let rows = self.slice.nodes(l + 1).len();
        let mut next = Exact::zeros(rows, layer.weight.columns());
        for m in 0..rows {
            let mut received = vec![Dyadic::ZERO; z.width];
            for (n, a) in self.slice.passing(l).row(m) {
                let a = Dyadic::from(a);
                for (sum, z) in received.iter_mut().zip(z.row(n)).filter(|(_, z)| z.sign() == Ordering::Greater) {
                    *sum += &(z * &a);
                }
            }
            for j in 0..layer.weight.columns() {
                next.add(m, j, &layer.bias[j].into());
                for (i, received) in received.iter().enumerate().filter(|(_, x)| x.sign() != Ordering::Equal) {
                    next.add(m, j, &(received * &layer.weight.get(i, j).into()));
                }
            }
        }
        next
    }

    /// `Ĥ(2) = A(1) X̃ W(1) + b(1)` on the slice for some units; zero for the others.
    pub(crate) fn preactivations(&mut self, units: &[usize], flips: &[Flip]) -> Exact {
        let layer = &self.network.layers()[0];
        let width = layer.weight.columns();
        let mut z = Exact::zeros(self.slice.nodes(2).len(), width);
        for &j in units {
            for (m, value) in self.unperturbed(j).iter().enumerate() {
                z.values[m * width + j] = value.clone();
            }
        }
        for &flip in flips {
            let present = self.graph.attributes().contains(flip.node as usize, flip.attribute);
            let sign = if present { -1.0 } else { 1.0 };
            for (_, m, a) in self.slice.rows_of(flip) {
                let a = Dyadic::from(sign * a);
                for &j in units {
                    let w = layer.weight.get(flip.attribute as usize, j);
                    if w != 0.0 {
                        z.add(m, j, &(&a * &w.into()));
                    }
                }
            }
        }
        z
    }

    /// The unperturbed pre-activations of unit `j` at all nodes of representation 2.
    pub(crate) fn unperturbed(&mut self, j: usize) -> &[Dyadic] {
        let ExactProblem { graph, network, slice, sums, units } = self;
        let layer = &network.layers()[0];
        units.0.resize(layer.weight.columns(), None);
        units.0[j].get_or_insert_with(|| {
            let sent = |n: usize| &sums.of(graph, network, slice.nodes(1)[n] as usize)[j];
            (0..slice.nodes(2).len())
                .map(|m| {
                    let received = slice.passing(1).row(m).map(|(n, a)| sent(n) * &a.into());
                    received.fold(Dyadic::from(layer.bias[j]), |total, term| &total + &term)
                })
                .collect()
        })
    }
}

pub(crate) fn sum(terms: impl Iterator<Item = Dyadic>) -> Dyadic {
    terms.fold(Dyadic::ZERO, |total, term| &total + &term)
}
