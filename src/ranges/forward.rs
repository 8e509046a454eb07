//! The network on changed attributes, in floats, between floats, and exactly.

use crate::ranges::lines::HiddenUnit;
use crate::ranges::number::Arithmetic;
use crate::ranges::scene::RangeScene;

/// An entry of the attributes gets another value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    /// The node's place in the scene.
    pub(crate) place: usize,
    pub(crate) attribute: u32,
    /// Its value.
    pub(crate) old: f64,
    pub(crate) new: f64,
}

impl RangeScene<'_> {
    /// The pre-activations of all representations from 2 to the top, after some changes: by place, then by unit.
    pub(crate) fn forward<N: Arithmetic>(&self, moves: &[Shift], base: impl Fn(usize) -> Vec<N>) -> Vec<Vec<N>> {
        let first = self.problem.layer(1);
        let (inputs, outputs, terms) = (first.inputs(), first.outputs(), first.passing.terms());
        let nodes = self.slice.nodes(1);
        let mut sums: Vec<Vec<N>> = nodes.iter().map(|&node| base(node as usize)).collect();
        for change in moves {
            let (new, old) = (N::of(change.new), N::of(-change.old));
            for term in 0..terms {
                let weights = first.weight.row(term * inputs + change.attribute as usize);
                for (sum, &w) in sums[change.place][term * outputs..][..outputs].iter_mut().zip(weights) {
                    sum.add(&new, w);
                    sum.add(&old, w);
                }
            }
        }
        self.raise(sums, |_, mut z| {
            z.relu();
            z
        })
    }

    /// The same from what nodes send in the first layer on, where `unit` says what a hidden unit with an activation
    /// gives.
    pub(crate) fn raise<N: Arithmetic>(
        &self,
        mut sums: Vec<Vec<N>>,
        mut unit: impl FnMut(HiddenUnit, N) -> N,
    ) -> Vec<Vec<N>> {
        let mut all: Vec<Vec<N>> = Vec::with_capacity(self.slice.top() - 1);
        for l in 1..self.slice.top() {
            let layer = self.problem.layer(l);
            let outputs = layer.outputs();
            if l > 1 {
                sums = self.messages(l, &all[l - 2], &mut unit);
            }
            let mut next = Vec::with_capacity(self.slice.nodes(l + 1).len() * outputs);
            for (m, &node) in self.slice.nodes(l + 1).iter().enumerate() {
                let mut z: Vec<N> = layer.bias.row(node as usize).iter().map(|&b| N::of(b)).collect();
                for (n, entries) in self.slice.passing(l).row(m) {
                    for (term, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                        let part = &sums[n][term * outputs..][..outputs];
                        z.iter_mut().zip(part).for_each(|(z, x)| z.add(x, a));
                    }
                }
                next.extend(z);
            }
            all.push(next);
        }
        all
    }

    /// What the nodes of representation `l` send.
    fn messages<N: Arithmetic>(&self, l: usize, z: &[N], through: &mut impl FnMut(HiddenUnit, N) -> N) -> Vec<Vec<N>> {
        let (layer, below) = (self.problem.layer(l), self.problem.layer(l - 1));
        let (inputs, outputs, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
        let message = |(place, z): (usize, &[N])| {
            let mut sums = vec![N::of(0.0); terms * outputs];
            for (unit, z) in z.iter().enumerate() {
                let mut h = z.clone();
                if !below.is_linear(unit) {
                    h = through(HiddenUnit { l, place, unit }, h);
                }
                for term in 0..terms {
                    let weights = layer.weight.row(term * inputs + unit);
                    sums[term * outputs..][..outputs].iter_mut().zip(weights).for_each(|(sum, &w)| sum.add(&h, w));
                }
            }
            sums
        };
        z.chunks(inputs.max(1)).enumerate().map(message).collect()
    }
}
