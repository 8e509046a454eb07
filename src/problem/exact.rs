//! The network evaluated in dyadic integers, for margins that lie inside their rounding error ([`crate::bound::exact`]
//! has the bounds).
//!
//! Slopes may be rounded (any slope gives a valid line), everything else is exact: pre-activations, intercepts, losses
//! and their selection. What a node sends in the first layer is summed once per run ([`Sums`]), what the units of a
//! target receive once per target ([`ExactUnits`]); a perturbation then costs what its flips change.

use std::cmp::Ordering;
use std::sync::OnceLock;

use gcnproof_files::Normalisation;

use crate::number::dyadic::Dyadic;
use crate::number::rounding::norm_above;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::limits::Watch;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network};
use crate::problem::objective::Objective;
use crate::problem::rows::{Move, attributes_after};
use crate::problem::slice::Slice;

/// A matrix of exact numbers, row-major.
pub(crate) struct ExactMatrix {
    pub(crate) width: usize,
    pub(crate) values: Vec<Dyadic>,
}

impl ExactMatrix {
    pub(crate) fn zeros(rows: usize, width: usize) -> ExactMatrix {
        ExactMatrix { width, values: vec![Dyadic::ZERO; rows * width] }
    }

    pub(crate) fn row(&self, i: usize) -> &[Dyadic] {
        &self.values[i * self.width..][..self.width]
    }

    pub(crate) fn add(&mut self, i: usize, j: usize, term: &Dyadic) {
        self.values[i * self.width + j] += term;
    }
}

/// `X W_k(1)` of the unperturbed graph, exactly, term after term: a node's row is summed when it is first asked for,
/// and kept for all targets.
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

    /// The attributes with the norms of their weights, rounded up, in falling order; those without weights are left
    /// out.
    pub(crate) fn norms(&self, network: &Network) -> &[(f64, usize)] {
        self.norms.get_or_init(|| {
            let layer = &network.layers()[0];
            let norm = |d: usize| (norm_above(layer.weights_of(d)), d);
            let mut norms: Vec<(f64, usize)> = (0..layer.inputs()).map(norm).filter(|of| of.0 != 0.0).collect();
            norms.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            norms
        })
    }

    fn of(&self, graph: &Graph, network: &Network, node: usize) -> &[Dyadic] {
        self.nodes[node].get_or_init(|| {
            let layer = &network.layers()[0];
            let present = graph.attributes().row(node);
            let terms = (0..layer.passing.terms()).map(|k| k * layer.inputs());
            let units = terms.flat_map(|first| (0..layer.outputs()).map(move |j| (first, j)));
            let weight = &layer.weight;
            let sum = |(first, j)| Dyadic::sum_of(present.iter().map(|&d| weight.get(first + d as usize, j)));
            match graph.normalisation() {
                Normalisation::None => units.map(sum).collect(),
                normalised => {
                    let entry = Dyadic::from(normalised.entry(present.len()));
                    units.map(|unit| &sum(unit) * &entry).collect()
                }
            }
        })
    }
}

/// The exact unperturbed pre-activations of one target's slice, by unit of representation 2, as far as they were
/// needed.
#[derive(Debug, Default)]
pub struct ExactUnits(Vec<Option<Vec<Dyadic>>>);

impl ExactUnits {
    /// To be called for each new target.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// Nodes between two looks at the clock.
const LOOK: usize = 16;

/// The problem of one target, as everything here needs it.
pub struct ExactProblem<'a> {
    /// The unperturbed graph.
    pub graph: &'a Graph,
    /// The network, whose floats are taken as the exact numbers that they are.
    pub network: &'a Network,
    /// The target's slice.
    pub slice: &'a Slice,
    /// First-layer sums of this graph and network.
    pub sums: &'a Sums,
    /// What is known of this slice.
    pub units: &'a mut ExactUnits,
    /// When the work must end; none if it may take its time.
    pub watch: Option<&'a Watch>,
}

impl<'a> ExactProblem<'a> {
    /// The same, watching a deadline.
    pub(crate) fn until(self, watch: &'a Watch) -> ExactProblem<'a> {
        ExactProblem { watch: Some(watch), ..self }
    }

    /// None once the deadline has passed: for `?` inside long loops.
    pub(crate) fn look(&self) -> Option<()> {
        (!self.watch.is_some_and(Watch::is_late)).then_some(())
    }
}

impl ExactProblem<'_> {
    /// The exact objective `cᵀĤ(top)` of the target when these flips are made.
    ///
    /// # Panics
    /// If a deadline is watched and has passed; [`ExactProblem::try_objective`] does not panic.
    pub fn objective(&mut self, objective: Objective, flips: &[Flip]) -> Dyadic {
        self.try_objective(objective, flips).expect("nobody watches a clock")
    }

    /// The same; none once the deadline has passed.
    pub(crate) fn try_objective(&mut self, objective: Objective, flips: &[Flip]) -> Option<Dyadic> {
        let top = self.slice.top();
        let layer = &self.network.layers()[top - 2];
        if top == 2 {
            let units: Vec<usize> = objective.iter().map(|o| o.0).collect();
            let z = self.preactivations(&units, flips)?;
            return Some(sum(objective.iter().map(|&(unit, c)| &z.row(0)[unit] * &c.into())));
        }
        // Units whose exact weight in the objective is zero are never evaluated: equal classes cost nothing.
        let weights: Vec<Dyadic> = (0..layer.weight.rows())
            .map(|i| sum(objective.iter().map(|&(unit, c)| &Dyadic::from(layer.weight.get(i, unit)) * &c.into())))
            .collect();
        let bias = layer.bias.row(self.slice.nodes(top)[0] as usize);
        let mut total = sum(objective.iter().map(|&(unit, c)| &Dyadic::from(bias[unit]) * &c.into()));
        let inputs = layer.inputs();
        let counts = |i: &usize| weights.iter().skip(*i).step_by(inputs).any(|w| w.sign() != Ordering::Equal);
        let counting: Vec<usize> = (0..inputs).filter(counts).collect();
        if counting.is_empty() {
            return Some(total);
        }
        let z = if top == 3 {
            self.preactivations(&counting, flips)?
        } else {
            let all: Vec<usize> = (0..self.network.width(2)).collect();
            let first = self.preactivations(&all, flips)?;
            (2..top - 1).try_fold(first, |z, l| self.step(&z, l))?
        };
        let below = &self.network.layers()[top - 3];
        for (n, entries) in self.slice.passing(top - 1).row(0) {
            for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                let sent = counting.iter().map(|&i| (i, &z.row(n)[i], &weights[k * inputs + i]));
                let sent = sum(sent.filter(|&(i, z, _)| passes(below, i, z)).map(|(_, z, w)| z * w));
                total += &(&sent * &a.into());
            }
        }
        Some(total)
    }

    /// `Ĥ(l+1) = Σ_k A_k(l) H(l) W_k(l) + b(l)` on the slice; none once the deadline has passed.
    pub(crate) fn step(&self, z: &ExactMatrix, l: usize) -> Option<ExactMatrix> {
        let layer = &self.network.layers()[l - 1];
        let below = &self.network.layers()[l - 2];
        let nodes = self.slice.nodes(l + 1);
        let mut next = ExactMatrix::zeros(nodes.len(), layer.outputs());
        for (m, &node) in nodes.iter().enumerate() {
            self.look()?;
            let mut received = vec![Dyadic::ZERO; z.width * layer.passing.terms()];
            for (n, entries) in self.slice.passing(l).row(m) {
                for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let a = Dyadic::from(a);
                    let sums = received[k * z.width..][..z.width].iter_mut().zip(z.row(n)).enumerate();
                    for (_, (sum, z)) in sums.filter(|(i, (_, z))| passes(below, *i, z)) {
                        *sum += &(z * &a);
                    }
                }
            }
            for (j, &bias) in layer.bias.row(node as usize).iter().enumerate() {
                next.add(m, j, &bias.into());
                for (i, received) in received.iter().enumerate().filter(|(_, x)| x.sign() != Ordering::Equal) {
                    next.add(m, j, &(received * &layer.weight.get(i, j).into()));
                }
            }
        }
        Some(next)
    }

    /// `Ĥ(2) = Σ_k A_k(1) X̃ W_k(1) + b(1)` on the slice for some units; zero for the others. None once the deadline
    /// has passed.
    pub(crate) fn preactivations(&mut self, units: &[usize], flips: &[Flip]) -> Option<ExactMatrix> {
        let layer = &self.network.layers()[0];
        let width = layer.weight.columns();
        let mut z = ExactMatrix::zeros(self.slice.nodes(2).len(), width);
        for &j in units {
            for (m, value) in self.unperturbed(j)?.iter().enumerate() {
                z.values[m * width + j] = value.clone();
            }
        }
        if self.graph.normalisation().is_some() {
            self.move_rows(units, flips, &mut z)?;
            return Some(z);
        }
        for &flip in flips {
            self.look()?;
            let present = self.graph.attributes().contains(flip.node as usize, flip.attribute);
            let sign = if present { -1.0 } else { 1.0 };
            for (_, m, entries) in self.slice.rows_of(flip) {
                for (k, a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let a = Dyadic::from(sign * a);
                    for &j in units {
                        let w = layer.weight.get(k * layer.inputs() + flip.attribute as usize, j);
                        if w != 0.0 {
                            z.add(m, j, &(&a * &w.into()));
                        }
                    }
                }
            }
        }
        Some(z)
    }

    /// Adds what flips change where rows are normalised: what a row sends after them, less what it sent before
    /// (docs/math.md (21.2)). None once the deadline has passed.
    fn move_rows(&self, units: &[usize], flips: &[Flip], z: &mut ExactMatrix) -> Option<()> {
        let layer = &self.network.layers()[0];
        let width = layer.outputs();
        for row in Move::all(self.graph, flips) {
            self.look()?;
            let Some(n) = self.slice.position(row.node()) else { continue };
            let after = attributes_after(self.graph, row.node(), flips);
            let entry = Dyadic::from(self.graph.normalisation().entry(after.clone().count()));
            let before = self.sums.of(self.graph, self.network, row.node() as usize);
            for k in 0..layer.passing.terms() {
                let first = k * layer.inputs();
                for &j in units {
                    let sent = Dyadic::sum_of(after.clone().map(|d| layer.weight.get(first + d as usize, j)));
                    let change = &(&sent * &entry) - &before[k * width + j];
                    for (_, m, entries) in self.slice.reaching(n).filter(|reached| reached.2[k] != 0.0) {
                        z.add(m, j, &(&change * &Dyadic::from(entries[k])));
                    }
                }
            }
        }
        Some(())
    }

    /// The unperturbed pre-activations of unit `j` at all nodes of representation 2; none once the deadline has passed.
    pub(crate) fn unperturbed(&mut self, j: usize) -> Option<&[Dyadic]> {
        let ExactProblem { graph, network, slice, sums, units, watch } = self;
        let layer = &network.layers()[0];
        let width = layer.outputs();
        units.0.resize(width, None);
        if units.0[j].is_none() {
            let sent = |n: usize, k: usize| &sums.of(graph, network, slice.nodes(1)[n] as usize)[k * width + j];
            let nodes = slice.nodes(2).iter().enumerate();
            let found: Option<Vec<Dyadic>> = nodes
                .map(|(m, &node)| {
                    if m % LOOK == 0 && watch.is_some_and(Watch::is_late) {
                        return None;
                    }
                    let mut total = Dyadic::from(layer.bias.row(node as usize)[j]);
                    for (n, entries) in slice.passing(1).row(m) {
                        for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                            total += &(sent(n, k) * &a.into());
                        }
                    }
                    Some(total)
                })
                .collect();
            // What was cut short is not kept.
            units.0[j] = found;
        }
        units.0[j].as_deref()
    }
}

/// Is this exact value of unit `i` of a layer's outputs passed on, rather than cut to zero?
fn passes(layer: &Layer, i: usize, z: &Dyadic) -> bool {
    z.sign() == Ordering::Greater || layer.is_linear(i)
}

pub(crate) fn sum(terms: impl Iterator<Item = Dyadic>) -> Dyadic {
    terms.fold(Dyadic::ZERO, |total, term| &total + &term)
}
