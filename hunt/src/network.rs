//! A network in one kind of number, and all admissible sets of flips of a component.

use std::ops::Range;

use gcnproof_files::Normalisation;

use crate::case::{Case, Flip};
use crate::exact::{Number, least_exponent};
use crate::operator::rows as operator_rows;

/// What a term reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The attributes.
    Attributes,
    /// An earlier layer.
    Layer(usize),
}

/// One term of a layer as numbers.
pub struct NumericTerm<N> {
    /// What it reads.
    pub source: Source,
    /// Entries of the message passing, row by row.
    pub entries: Vec<Vec<(usize, N)>>,
    /// Weights, inputs × outputs.
    pub weight: Vec<N>,
    /// How many numbers it reads.
    pub inputs: usize,
}

/// One layer as numbers: a sum of terms.
pub struct NumericLayer<N> {
    pub terms: Vec<NumericTerm<N>>,
    /// One number for each unit, or one for each node and unit.
    pub bias: Vec<N>,
    /// Units without activation.
    pub linear: Vec<bool>,
    /// Number of units.
    pub outputs: usize,
}

/// The network; integers stand for themselves times a power of two.
pub struct Network<N> {
    /// The layers; each reads only earlier ones, and the last gives the logits.
    pub layers: Vec<NumericLayer<N>>,
    /// The exponent of the logits.
    pub exponent: i32,
    /// What is read of the attributes.
    pub rows: RowScale,
}

/// What is read of rows of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowScale {
    pub normalisation: Normalisation,
    /// The exponent at which entries are integers.
    pub exponent: i32,
}

impl RowScale {
    /// In floats.
    pub fn of(case: &Case) -> RowScale {
        RowScale { normalisation: case.graph.normalisation, exponent: 0 }
    }

    /// The exponent at which all entries of rows with so many attributes are integers.
    pub fn least_exponent(self, attributes: usize) -> i32 {
        let entries = (1..=attributes.max(1)).map(|count| match self.normalisation {
            Normalisation::None => 1.0,
            Normalisation::Float32 => f64::from(1.0 / count as f32),
            Normalisation::Float64 => 1.0 / count as f64,
        });
        least_exponent(entries).unwrap_or(0)
    }

    /// The entry of a row with so many ones: a float is divided as a framework does it.
    fn entry<N: Number>(self, count: usize) -> N {
        let entry = match self.normalisation {
            Normalisation::None => 1.0,
            Normalisation::Float32 => f64::from(1.0 / count.max(1) as f32),
            Normalisation::Float64 => 1.0 / count.max(1) as f64,
        };
        N::scaled(entry, self.exponent)
    }
}

/// The permitted flips of a component and how many of them may be made.
pub struct Flips {
    range: Range<usize>,
    /// Node and attribute of each.
    pub list: Vec<Flip>,
    /// Is the attribute removed?
    removes: Vec<bool>,
    /// Of which group a category is changed.
    groups: Vec<Option<u32>>,
    global: usize,
    local: Vec<usize>,
}

impl Flips {
    /// The flips that the budget of a case permits in a range of nodes.
    pub fn new(case: &Case, range: Range<usize>) -> Flips {
        let (mut list, mut removes) = (Vec::new(), Vec::new());
        for node in range.clone() {
            for attribute in (0..case.entries()).filter(|&attribute| case.permits(node, attribute)) {
                list.push((node, attribute));
                removes.push(case.graph.attributes.contains(node, attribute as u32));
            }
        }
        let local = range.clone().map(|node| case.budget.local[node].min(1 << 20) as usize).collect();
        let groups = list.iter().map(|flip| case.replaced(flip.1).map(|change| change.2)).collect();
        Flips { range, list, removes, groups, global: case.budget.global.min(1 << 20) as usize, local }
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

    /// All admissible sets, the empty one first.
    pub fn sets(&self) -> Vec<Vec<Flip>> {
        let mut sets = vec![Vec::new()];
        // Each set with the place after its last flip.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((at, from)) = open.pop() {
            let set: Vec<Flip> = sets[at].clone();
            if set.len() >= self.global {
                continue;
            }
            for place in from..self.list.len() {
                let flip = self.list[place];
                let here = set.iter().filter(|made: &&Flip| made.0 == flip.0).count();
                let group =
                    |flip: &Flip| self.list.iter().position(|known| known == flip).and_then(|at| self.groups[at]);
                let excluded = |made: &Flip| made.0 == flip.0 && group(made).is_some() && group(made) == group(&flip);
                if here < self.local[flip.0 - self.range.start] && !set.iter().any(excluded) {
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
    /// For each flip, what it adds to which of the direct sums.
    changes: Vec<Vec<(usize, N)>>,
    /// What [`Network::direct`] gives after the flips of the set.
    direct: Vec<N>,
    /// What stood there before the flips of the set were made.
    saved: Vec<N>,
    set: Vec<usize>,
    local: Vec<usize>,
    scratch: Scratch<N>,
    see: F,
}

/// Buffers of a forward pass: the values of all layers, and what nodes send.
struct Scratch<N> {
    values: Vec<Vec<N>>,
    sent: Vec<N>,
}

impl<N: Number> NumericTerm<N> {
    /// Adds what the nodes of a component get from each other; `input` has the numbers that are not 0.
    fn pass<'n>(&self, range: &Range<usize>, input: impl Fn(usize) -> Option<&'n N>, sent: &mut Vec<N>, sums: &mut [N])
    where
        N: 'n,
    {
        let outputs = sums.len() / range.len();
        sent.clear();
        sent.resize(sums.len(), N::zero());
        for (at, row) in sent.chunks_exact_mut(outputs).enumerate() {
            for (i, weights) in self.weight.chunks_exact(outputs).enumerate() {
                if let Some(h) = input(at * self.inputs + i) {
                    row.iter_mut().zip(weights).for_each(|(sum, w)| sum.add_product(h, w));
                }
            }
        }
        for (row, node) in sums.chunks_exact_mut(outputs).zip(range.clone()) {
            for (n, a) in &self.entries[node] {
                let sent = &sent[(n - range.start) * outputs..][..outputs];
                row.iter_mut().zip(sent).for_each(|(sum, sent)| sum.add_product(a, sent));
            }
        }
    }
}

impl<N: Number> NumericLayer<N> {
    /// Where the bias of a node begins.
    fn bias_of(&self, node: usize) -> &[N] {
        let by_node = self.bias.len() > self.outputs;
        &self.bias[if by_node { node * self.outputs } else { 0 }..][..self.outputs]
    }

    /// Adds what comes from earlier layers.
    fn add_hidden(&self, range: &Range<usize>, values: &[Vec<N>], sent: &mut Vec<N>, sums: &mut [N]) {
        for term in &self.terms {
            if let Source::Layer(of) = term.source {
                term.pass(range, |at| Some(&values[of][at]).filter(|h| !h.is_zero()), sent, sums);
            }
        }
    }
}

impl<N: Number> Network<N> {
    /// What does not depend on hidden units: biases and terms that read attributes, layer after layer. A set of flips
    /// changes nothing else directly.
    fn direct(&self, range: &Range<usize>, attributes: &[bool]) -> Vec<N> {
        let width = attributes.len() / range.len().max(1);
        let entries: Vec<N> = attributes
            .chunks(width.max(1))
            .map(|row| self.rows.entry(row.iter().filter(|present| **present).count()))
            .collect();
        self.direct_on(range, |at| attributes[at].then(|| &entries[at / width]))
    }

    /// The same of any numbers in the place of attributes; `input` has those that are not 0.
    fn direct_on<'n>(&self, range: &Range<usize>, input: impl Fn(usize) -> Option<&'n N>) -> Vec<N>
    where
        N: 'n,
    {
        let (mut all, mut sent) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            let start = all.len();
            range.clone().for_each(|node| all.extend_from_slice(layer.bias_of(node)));
            for term in layer.terms.iter().filter(|term| term.source == Source::Attributes) {
                term.pass(range, &input, &mut sent, &mut all[start..]);
            }
        }
        all
    }

    /// What a flip adds to the direct sums.
    fn change(&self, range: &Range<usize>, flip: &Flip, removes: bool) -> Vec<(usize, N)> {
        let mut changes = Vec::new();
        let mut start = 0;
        for layer in &self.layers {
            let outputs = layer.outputs;
            for term in layer.terms.iter().filter(|term| term.source == Source::Attributes) {
                for (row, m) in range.clone().enumerate() {
                    for (_, a) in term.entries[m].iter().filter(|(n, _)| *n == flip.0) {
                        for j in 0..outputs {
                            let mut product = N::zero();
                            product.add_product(a, &term.weight[flip.1 * outputs + j]);
                            if !product.is_zero() {
                                let mut change = N::zero();
                                if removes {
                                    change.subtract(&product)
                                } else {
                                    change.add(&product)
                                }
                                changes.push((start + row * outputs + j, change));
                            }
                        }
                    }
                }
            }
            start += range.len() * outputs;
        }
        changes
    }

    /// The values of all layers, from the direct sums.
    fn forward(&self, direct: &[N], range: &Range<usize>, Scratch { values, sent }: &mut Scratch<N>) {
        values.resize(self.layers.len(), Vec::new());
        let mut start = 0;
        for (at, layer) in self.layers.iter().enumerate() {
            let (below, rest) = values.split_at_mut(at);
            let now = &mut rest[0];
            let end = start + range.len() * layer.outputs;
            direct[start..end].clone_into(now);
            start = end;
            layer.add_hidden(range, below, sent, now);
            for row in now.chunks_exact_mut(layer.outputs) {
                row.iter_mut().zip(&layer.linear).filter(|unit| !*unit.1).for_each(|unit| unit.0.rectify());
            }
        }
    }

    /// The values of all layers for all nodes of a component with these attributes (nodes × attributes).
    pub fn values(&self, range: &Range<usize>, attributes: &[bool]) -> Vec<Vec<N>> {
        let mut scratch = Scratch { values: Vec::new(), sent: Vec::new() };
        self.forward(&self.direct(range, attributes), range, &mut scratch);
        scratch.values
    }

    /// The values of all layers with these numbers as attributes (nodes × attributes).
    pub fn values_on(&self, range: &Range<usize>, rows: &[N]) -> Vec<Vec<N>> {
        let mut scratch = Scratch { values: Vec::new(), sent: Vec::new() };
        self.forward(&self.direct_on(range, |at| Some(&rows[at]).filter(|x| !x.is_zero())), range, &mut scratch);
        scratch.values
    }

    /// The logits of a component with these attributes.
    pub fn logits(&self, range: &Range<usize>, attributes: &[bool]) -> Vec<N> {
        self.values(range, attributes).pop().unwrap_or_default()
    }

    /// What a layer sums up, before its activation.
    pub fn sums(&self, range: &Range<usize>, attributes: &[bool], at: usize) -> Vec<N> {
        let before: usize = self.layers[..at].iter().map(|layer| range.len() * layer.outputs).sum();
        let layer = &self.layers[at];
        let mut sums = self.direct(range, attributes)[before..][..range.len() * layer.outputs].to_vec();
        layer.add_hidden(range, &self.values(range, attributes), &mut Vec::new(), &mut sums);
        sums
    }

    /// Shows every admissible set (places in the list of flips) with the logits after it, the empty set first.
    pub fn each_set(&self, case: &Case, flips: &Flips, see: impl FnMut(&[usize], &[N])) {
        let range = flips.range.clone();
        if self.rows.normalisation != Normalisation::None || case.graph.categories.is_some() {
            // A flip changes its whole row: nothing is added up.
            return self.each_whole_set(case, flips, see);
        }
        let changes = flips.list.iter().zip(&flips.removes).map(|(flip, &removes)| self.change(&range, flip, removes));
        let mut visit = Visit {
            flips,
            changes: changes.collect(),
            direct: self.direct(&range, &case.attributes_after(&range, &[])),
            saved: Vec::new(),
            set: Vec::new(),
            local: flips.local.clone(),
            scratch: Scratch { values: Vec::new(), sent: Vec::new() },
            see,
        };
        self.visit(&mut visit, 0, flips.global);
    }

    /// The same with every set by itself.
    fn each_whole_set(&self, case: &Case, flips: &Flips, mut see: impl FnMut(&[usize], &[N])) {
        for set in flips.sets() {
            let places = set.iter().filter_map(|flip| flips.list.iter().position(|known| known == flip));
            let logits = self.logits(&flips.range, &case.attributes_after(&flips.range, &set));
            see(&places.collect::<Vec<usize>>(), &logits);
        }
    }

    fn visit<F: FnMut(&[usize], &[N])>(&self, visit: &mut Visit<N, F>, from: usize, left: usize) {
        self.forward(&visit.direct, &visit.flips.range, &mut visit.scratch);
        (visit.see)(&visit.set, visit.scratch.values.last().map_or(&[], Vec::as_slice));
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
                visit.saved.push(visit.direct[*place].clone());
                visit.direct[*place].add(change);
            }
            self.visit(visit, at + 1, left - 1);
            // What was there before, not a subtraction: floats must not drift. Several terms may change one place.
            let start = visit.saved.len() - visit.changes[at].len();
            for ((place, _), old) in visit.changes[at].iter().zip(visit.saved.drain(start..)).rev() {
                visit.direct[*place] = old;
            }
            visit.set.pop();
            visit.local[row] += 1;
        }
    }
}

impl Network<f64> {
    /// The network of a chain of layers.
    pub fn of_chain(case: &Case) -> Network<f64> {
        let last = case.layers().len() - 1;
        let layers = case.layers().iter().zip(&case.rules).enumerate().map(|(at, (layer, rule))| NumericLayer {
            terms: vec![NumericTerm {
                source: if at == 0 { Source::Attributes } else { Source::Layer(at - 1) },
                entries: operator_rows(case, rule),
                weight: layer.weight.values.clone(),
                inputs: layer.weight.rows,
            }],
            bias: layer.bias.clone(),
            linear: vec![at == last; layer.weight.columns],
            outputs: layer.weight.columns,
        });
        Network { layers: layers.collect(), exponent: 0, rows: RowScale::of(case) }
    }

    /// A bound of every logit of a component if all numbers were taken without their signs: the scale of rounding
    /// errors. On the way of each term into a logit there are fewer than 2¹⁰ roundings, so the error of a logit is
    /// below 2⁻⁴² of three times this number (an attribute that is removed counts twice, once with and once without
    /// sign).
    pub fn magnitude(&self, range: &Range<usize>) -> f64 {
        let mut values: Vec<Vec<f64>> = Vec::new();
        for layer in &self.layers {
            let width = layer.outputs;
            let mut sums = Vec::with_capacity(range.len() * width);
            for node in range.clone() {
                let start = sums.len();
                sums.extend(layer.bias_of(node).iter().map(|b| b.abs()));
                for term in &layer.terms {
                    for (n, a) in &term.entries[node] {
                        for i in 0..term.inputs {
                            let h = match term.source {
                                Source::Attributes => 1.0,
                                Source::Layer(of) => values[of][(n - range.start) * term.inputs + i],
                            };
                            for j in 0..width {
                                sums[start + j] += a.abs() * h * term.weight[i * width + j].abs();
                            }
                        }
                    }
                }
            }
            values.push(sums);
        }
        values.last().into_iter().flatten().fold(0.0, |most: f64, x| most.max(*x))
    }
}
