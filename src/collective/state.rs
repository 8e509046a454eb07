//! The true network under a perturbation that changes flip by flip, for the whole graph at once and in f64: what a
//! search for attacks looks at. Nothing rests on it.

use crate::problem::Problem;
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::matrix::PatternRows;

/// The operators of a layer by columns: who receives from a node.
#[derive(Debug)]
struct Receivers {
    offsets: Vec<usize>,
    nodes: Vec<u32>,
    values: Vec<f64>,
    terms: usize,
}

/// Rows of a representation that the last change has touched.
#[derive(Debug, Default)]
struct Touched {
    nodes: Vec<u32>,
    /// Their activations before.
    before: Vec<f64>,
    stamp: Vec<u32>,
}

/// Every representation of the whole graph under a perturbation.
#[derive(Debug)]
pub(crate) struct PerturbedGraph<'a> {
    problem: &'a Problem,
    receivers: Vec<Receivers>,
    /// `Ĥ(2) … Ĥ(L)`.
    values: Vec<Vec<f64>>,
    widths: Vec<usize>,
    touched: Vec<Touched>,
    now: u32,
    /// How many numbers were changed so far.
    work: u64,
}

impl<'a> PerturbedGraph<'a> {
    /// Starts at the unperturbed graph.
    pub(crate) fn new(problem: &'a Problem, unperturbed: &[Representation]) -> PerturbedGraph<'a> {
        let nodes = problem.graph().node_count();
        let receivers = problem.network().layers().iter().map(|layer| {
            let matrix = &layer.passing;
            let terms = matrix.terms();
            let mut offsets = vec![0usize; nodes + 1];
            for m in 0..nodes {
                for (n, _) in matrix.row(m) {
                    offsets[n + 1] += 1;
                }
            }
            for n in 0..nodes {
                offsets[n + 1] += offsets[n];
            }
            let mut next = offsets.clone();
            let mut receivers = vec![0u32; offsets[nodes]];
            let mut values = vec![0.0; offsets[nodes] * terms];
            for m in 0..nodes {
                for (n, entries) in matrix.row(m) {
                    receivers[next[n]] = m as u32;
                    values[next[n] * terms..][..terms].copy_from_slice(entries);
                    next[n] += 1;
                }
            }
            Receivers { offsets, nodes: receivers, values, terms }
        });
        let rows = |representation: &Representation| -> Vec<f64> {
            (0..nodes).flat_map(|node| representation.row(node).iter().copied()).collect()
        };
        PerturbedGraph {
            problem,
            receivers: receivers.collect(),
            values: unperturbed.iter().map(rows).collect(),
            widths: unperturbed.iter().map(|representation| representation.width).collect(),
            touched: unperturbed.iter().map(|_| Touched { stamp: vec![0; nodes], ..Touched::default() }).collect(),
            now: 0,
            work: 0,
        }
    }

    /// The logits of a node under the present flips, in f64 and without an error bound.
    pub(crate) fn logits(&self, node: usize) -> &[f64] {
        let last = self.widths.len() - 1;
        &self.values[last][node * self.widths[last]..][..self.widths[last]]
    }

    /// How many numbers were changed so far: what the search has cost.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// The nodes whose logits the last change has touched.
    pub(crate) fn changed(&self) -> &[u32] {
        &self.touched[self.touched.len() - 1].nodes
    }

    /// The nodes that receive from a node in the first layer.
    pub(crate) fn neighbours(&self, node: u32) -> &[u32] {
        let of = &self.receivers[0];
        &of.nodes[of.offsets[node as usize]..of.offsets[node as usize + 1]]
    }

    /// Makes a flip, or takes it back.
    pub(crate) fn change(&mut self, flip: Flip, make: bool) {
        self.now += 1;
        if self.now == u32::MAX {
            self.touched.iter_mut().for_each(|touched| touched.stamp.fill(0));
            self.now = 1;
        }
        let network = self.problem.network();
        let present = self.problem.graph().attributes().contains(flip.node as usize, flip.attribute);
        let sign = if present == make { -1.0 } else { 1.0 };
        for touched in &mut self.touched {
            touched.nodes.clear();
            touched.before.clear();
        }
        let layer = &network.layers()[0];
        let (of, width) = (&self.receivers[0], self.widths[0]);
        for place in of.offsets[flip.node as usize]..of.offsets[flip.node as usize + 1] {
            let m = of.nodes[place] as usize;
            let values = &mut self.values[0][m * width..][..width];
            self.touched[0].touch(m, self.now, values);
            for (k, a) in of.values[place * of.terms..][..of.terms].iter().enumerate() {
                let weights = layer.weight.row(k * layer.inputs() + flip.attribute as usize);
                for (value, w) in values.iter_mut().zip(weights) {
                    *value += sign * a * w;
                }
            }
        }
        for l in 1..network.layers().len() {
            self.pass(l);
        }
        self.work += self.touched.iter().map(|touched| touched.before.len() as u64).sum::<u64>();
    }

    /// From the representation below layer `l` (from 0) to the one above.
    fn pass(&mut self, l: usize) {
        let (layer, activation) = (&self.problem.network().layers()[l], &self.problem.network().layers()[l - 1]);
        let (inputs, outputs) = (self.widths[l - 1], self.widths[l]);
        let of = &self.receivers[l];
        let (below, above) = self.touched.split_at_mut(l);
        let (from, to) = (&below[l - 1], &mut above[0]);
        let (lower, upper) = self.values.split_at_mut(l);
        let mut sent = vec![0.0; outputs * of.terms];
        for (&n, before) in from.nodes.iter().zip(from.before.chunks_exact(inputs)) {
            let now = &lower[l - 1][n as usize * inputs..][..inputs];
            sent.fill(0.0);
            let mut any = false;
            for (i, (&z, &z0)) in now.iter().zip(before).enumerate() {
                let rise = if activation.is_linear(i) { z - z0 } else { z.max(0.0) - z0.max(0.0) };
                if rise != 0.0 {
                    any = true;
                    for k in 0..of.terms {
                        let weights = layer.weight.row(k * inputs + i);
                        for (slot, w) in sent[k * outputs..][..outputs].iter_mut().zip(weights) {
                            *slot += rise * w;
                        }
                    }
                }
            }
            if !any {
                continue;
            }
            for place in of.offsets[n as usize]..of.offsets[n as usize + 1] {
                let m = of.nodes[place] as usize;
                let values = &mut upper[0][m * outputs..][..outputs];
                to.touch(m, self.now, values);
                for (k, a) in of.values[place * of.terms..][..of.terms].iter().enumerate() {
                    for (value, s) in values.iter_mut().zip(&sent[k * outputs..][..outputs]) {
                        *value += a * s;
                    }
                }
            }
        }
    }
}

impl Touched {
    /// Keeps a row as it was before the change.
    fn touch(&mut self, node: usize, now: u32, values: &[f64]) {
        if self.stamp[node] != now {
            self.stamp[node] = now;
            self.nodes.push(node as u32);
            self.before.extend_from_slice(values);
        }
    }
}
