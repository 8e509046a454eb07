//! The network in one kind of number, and all admissible sets of flips of a component.

use std::ops::Range;

use crate::case::Case;
use crate::exact::Number;
use crate::operator::Rows;

/// One weight layer as numbers.
struct Layer<N> {
    /// Entries of the message passing, row by row.
    entries: Vec<Vec<(usize, N)>>,
    /// Weights, inputs × outputs.
    weight: Vec<N>,
    /// One per output.
    bias: Vec<N>,
    inputs: usize,
    outputs: usize,
}

/// The network; integers stand for themselves times a power of two.
pub struct Network<N> {
    layers: Vec<Layer<N>>,
    /// The exponent of the logits.
    pub exponent: i32,
}

/// The permitted flips of a component and how many of them may be made.
pub struct Flips {
    range: Range<usize>,
    /// Node and attribute of each.
    pub list: Vec<(usize, usize)>,
    /// Is the attribute removed?
    removes: Vec<bool>,
    global: usize,
    local: Vec<usize>,
}

impl Flips {
    /// The flips that the budget of a case permits in a range of nodes.
    pub fn new(case: &Case, range: Range<usize>) -> Flips {
        let (mut list, mut removes) = (Vec::new(), Vec::new());
        for node in range.clone() {
            for attribute in 0..case.attributes() {
                let present = case.graph.attributes.contains(node, attribute as u32);
                if case.budget.permits(node, attribute, present) {
                    list.push((node, attribute));
                    removes.push(present);
                }
            }
        }
        let local = range.clone().map(|node| case.budget.local[node].min(1 << 20) as usize).collect();
        Flips { range, list, removes, global: case.budget.global.min(1 << 20) as usize, local }
    }

    /// How many admissible sets there are, or `limit` if there are more.
    pub fn count(&self, limit: usize) -> usize {
        fn go(flips: &Flips, from: usize, left: usize, local: &mut [usize], count: &mut usize, limit: usize) {
            *count += 1;
            if left == 0 {
                return;
            }
            for at in from..flips.list.len() {
                let row = flips.list[at].0 - flips.range.start;
                if local[row] > 0 && *count < limit {
                    local[row] -= 1;
                    go(flips, at + 1, left - 1, local, count, limit);
                    local[row] += 1;
                }
            }
        }
        let mut count = 0;
        go(self, 0, self.global, &mut self.local.clone(), &mut count, limit);
        count.min(limit)
    }
}

impl Flips {
    /// All admissible sets, the empty one first.
    pub fn sets(&self) -> Vec<Vec<(usize, usize)>> {
        let mut sets = vec![Vec::new()];
        // Each set with the place after its last flip.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((at, from)) = open.pop() {
            let set: Vec<(usize, usize)> = sets[at].clone();
            if set.len() >= self.global {
                continue;
            }
            for place in from..self.list.len() {
                let flip = self.list[place];
                let here = set.iter().filter(|made: &&(usize, usize)| made.0 == flip.0).count();
                if here < self.local[flip.0 - self.range.start] {
                    let mut more = set.clone();
                    more.push(flip);
                    open.push((sets.len(), place + 1));
                    sets.push(more);
                }
            }
        }
        sets
    }
}

/// What one visit of all sets works with.
struct Visit<'a, N, F> {
    flips: &'a Flips,
    /// For each flip, what it adds to which pre-activation of representation 2.
    changes: Vec<Vec<(usize, N)>>,
    /// Pre-activations of representation 2.
    first: Vec<N>,
    /// What stood there before the flips of the set were made.
    saved: Vec<N>,
    set: Vec<usize>,
    local: Vec<usize>,
    scratch: Scratch<N>,
    see: F,
}

/// Buffers of a forward pass.
struct Scratch<N> {
    now: Vec<N>,
    sent: Vec<N>,
}

impl<N: Number> Network<N> {
    /// The network of a case at these exponents (entries, weights, results of each layer).
    pub fn new(case: &Case, operators: &[Rows], exponents: &[[i32; 3]]) -> Network<N> {
        let layers =
            case.layers().iter().zip(operators).zip(exponents).map(|((layer, rows), &[entry, weight, result])| {
                let row = |row: &Vec<(usize, f64)>| row.iter().map(|&(n, a)| (n, N::scaled(a, entry))).collect();
                Layer {
                    entries: rows.iter().map(row).collect(),
                    weight: layer.weight.values.iter().map(|&w| N::scaled(w, weight)).collect(),
                    bias: layer.bias.iter().map(|&b| N::scaled(b, result)).collect(),
                    inputs: layer.weight.rows,
                    outputs: layer.weight.columns,
                }
            });
        Network { layers: layers.collect(), exponent: exponents.last().map_or(0, |last| last[2]) }
    }

    /// Pre-activations of representation 2 without flips.
    fn first(&self, case: &Case, range: &Range<usize>) -> Vec<N> {
        let layer = &self.layers[0];
        let mut z = Vec::with_capacity(range.len() * layer.outputs);
        for node in range.clone() {
            let start = z.len();
            z.extend(layer.bias.iter().cloned());
            for (n, a) in &layer.entries[node] {
                for &d in case.graph.attributes.row(*n) {
                    for j in 0..layer.outputs {
                        z[start + j].add_product(a, &layer.weight[d as usize * layer.outputs + j]);
                    }
                }
            }
        }
        z
    }

    /// What a flip adds to pre-activations of representation 2.
    fn change(&self, range: &Range<usize>, (node, attribute): (usize, usize), removes: bool) -> Vec<(usize, N)> {
        let layer = &self.layers[0];
        let mut changes = Vec::new();
        for m in range.clone() {
            for (_, a) in layer.entries[m].iter().filter(|(n, _)| *n == node) {
                for j in 0..layer.outputs {
                    let mut product = N::zero();
                    product.add_product(a, &layer.weight[attribute * layer.outputs + j]);
                    if !product.is_zero() {
                        let mut change = N::zero();
                        if removes {
                            change.subtract(&product)
                        } else {
                            change.add(&product)
                        }
                        changes.push(((m - range.start) * layer.outputs + j, change));
                    }
                }
            }
        }
        changes
    }

    /// Logits from the pre-activations of representation 2, into `scratch.now`.
    fn forward(&self, first: &[N], range: &Range<usize>, scratch: &mut Scratch<N>) {
        let Scratch { now, sent } = scratch;
        now.resize(first.len(), N::zero());
        for (to, from) in now.iter_mut().zip(first) {
            to.assign(from);
        }
        for layer in &self.layers[1..] {
            sent.clear();
            for row in now.chunks_exact_mut(layer.inputs) {
                let start = sent.len();
                sent.resize(start + layer.outputs, N::zero());
                for (i, h) in row.iter_mut().enumerate() {
                    h.rectify();
                    if !h.is_zero() {
                        for j in 0..layer.outputs {
                            sent[start + j].add_product(h, &layer.weight[i * layer.outputs + j]);
                        }
                    }
                }
            }
            now.clear();
            for node in range.clone() {
                let start = now.len();
                now.extend(layer.bias.iter().cloned());
                for (n, a) in &layer.entries[node] {
                    for j in 0..layer.outputs {
                        now[start + j].add_product(a, &sent[(n - range.start) * layer.outputs + j]);
                    }
                }
            }
        }
    }

    /// The logits of all nodes of a component after some flips.
    pub fn logits_after(&self, case: &Case, range: Range<usize>, flips: &[(usize, usize)]) -> Vec<N> {
        let mut first = self.first(case, &range);
        for &(node, attribute) in flips {
            let removes = case.graph.attributes.contains(node, attribute as u32);
            for (at, change) in self.change(&range, (node, attribute), removes) {
                first[at].add(&change);
            }
        }
        let mut scratch = Scratch { now: Vec::new(), sent: Vec::new() };
        self.forward(&first, &range, &mut scratch);
        scratch.now
    }

    /// Shows every admissible set (places in the list of flips) with the logits after it, the empty set first.
    pub fn each_set(&self, case: &Case, flips: &Flips, see: impl FnMut(&[usize], &[N])) {
        let range = flips.range.clone();
        let changes = flips.list.iter().zip(&flips.removes).map(|(&flip, &removes)| self.change(&range, flip, removes));
        let mut visit = Visit {
            flips,
            changes: changes.collect(),
            first: self.first(case, &range),
            saved: Vec::new(),
            set: Vec::new(),
            local: flips.local.clone(),
            scratch: Scratch { now: Vec::new(), sent: Vec::new() },
            see,
        };
        self.visit(&mut visit, 0, flips.global);
    }

    fn visit<F: FnMut(&[usize], &[N])>(&self, visit: &mut Visit<N, F>, from: usize, left: usize) {
        self.forward(&visit.first, &visit.flips.range, &mut visit.scratch);
        (visit.see)(&visit.set, &visit.scratch.now);
        if left == 0 {
            return;
        }
        for at in from..visit.flips.list.len() {
            let row = visit.flips.list[at].0 - visit.flips.range.start;
            if visit.local[row] == 0 {
                continue;
            }
            visit.local[row] -= 1;
            visit.set.push(at);
            for (place, change) in &visit.changes[at] {
                visit.saved.push(visit.first[*place].clone());
                visit.first[*place].add(change);
            }
            self.visit(visit, at + 1, left - 1);
            // What was there before, not a subtraction: floats must not drift.
            let start = visit.saved.len() - visit.changes[at].len();
            for ((place, _), old) in visit.changes[at].iter().zip(visit.saved.drain(start..)) {
                visit.first[*place] = old;
            }
            visit.set.pop();
            visit.local[row] += 1;
        }
    }
}

impl Network<f64> {
    /// A bound of every logit if all numbers were taken without their signs: the scale of rounding errors. On the way of each
    /// term into a logit there are fewer than 2¹⁰ roundings, so the error of a logit is below 2⁻⁴² of three times this number
    /// (an attribute that is removed counts twice, once with and once without sign).
    pub fn magnitude(&self, range: Range<usize>) -> f64 {
        let mut now = vec![1.0; range.len() * self.layers[0].inputs];
        for layer in &self.layers {
            let mut next = Vec::new();
            for node in range.clone() {
                for j in 0..layer.outputs {
                    let mut sum = layer.bias[j].abs();
                    for (n, a) in &layer.entries[node] {
                        for i in 0..layer.inputs {
                            let h: f64 = now[(n - range.start) * layer.inputs + i];
                            sum += a.abs() * h * layer.weight[i * layer.outputs + j].abs();
                        }
                    }
                    next.push(sum);
                }
            }
            now = next;
        }
        now.into_iter().fold(0.0, f64::max)
    }
}
