//! A whole graph in plain floats: margins after some changes, and what each further change does to a margin as far as
//! the slopes of the network tell. Guesses for attacks; nothing rests on them.

use std::collections::HashMap;

use crate::edges::budget::Edge;
use crate::edges::changes::menu::EdgeFlip;
use crate::edges::changes::span::Span;
use crate::edges::changes::stack::Stack;
use crate::edges::changes::world::{Arc, arcs};
use crate::edges::rule::Rule;
use crate::problem::matrix::PatternRows;

/// The rows of a graph that is classified. Nodes are counted by their places among those that its logits may read.
pub(crate) struct Plain<'a> {
    stack: &'a Stack,
    /// The nodes of the graph, and the row of its logits if that is none of them.
    nodes: Vec<u32>,
    places: HashMap<u32, usize>,
    target: usize,
    /// Who a node receives from, after the changes that are made.
    rows: Vec<Vec<usize>>,
    /// The rows of each layer that are needed after the changes that were made last.
    needed: Vec<Vec<usize>>,
    /// What nodes send in the first layer.
    first: Vec<f64>,
    /// What the last pass gave.
    pass: Pass,
}

/// Numbers of a pass forward, by layer, node and number.
#[derive(Default)]
struct Pass {
    sent: Vec<Vec<f64>>,
    sums: Vec<Vec<f64>>,
}

/// What pre-activations of a layer, and units behind them, are worth to a margin.
struct Worth {
    before: Vec<f64>,
    behind: Vec<f64>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(stack: &'a Stack, target: u32) -> Plain<'a> {
        let mut nodes: Vec<u32> = stack.graph.nodes_of(target as usize).map(|node| node as u32).collect();
        let place = nodes.iter().position(|&node| node == target).unwrap_or(nodes.len());
        let inside = nodes.len();
        if place == inside {
            nodes.push(target);
        }
        let places: HashMap<u32, usize> = nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        // Of the row of the logits, where it is no node of the graph, nothing is read along edges.
        let row = |(place, &node): (usize, &u32)| match place < inside {
            true => {
                let senders = stack.graph.adjacency().row(node as usize).iter();
                senders.filter(|&&n| n != node).filter_map(|n| places.get(n).copied()).collect()
            }
            false => Vec::new(),
        };
        let rows = nodes.iter().enumerate().map(row).collect();
        let first = nodes.iter().flat_map(|&node| stack.sent::<Span>(0, node)).map(|span| span.lo).collect();
        Plain { stack, nodes, places, target: place, rows, needed: Vec::new(), first, pass: Pass::default() }
    }

    /// Makes a change, or takes it back.
    pub(crate) fn toggle(&mut self, edge: Edge) {
        for Arc { to, from } in arcs(edge, self.stack.directed) {
            let (Some(&to), Some(&from)) = (self.places.get(&to), self.places.get(&from)) else { continue };
            let row = &mut self.rows[to];
            match row.iter().position(|&n| n == from) {
                Some(at) => drop(row.swap_remove(at)),
                None => row.push(from),
            }
        }
    }

    /// Multiplications of a pass, about.
    pub(crate) fn work(&self) -> usize {
        let of = |layer: usize| {
            let of = &self.stack.network.layers()[layer];
            self.stack.rules[layer].len() * of.outputs() * (if layer == 0 { 0 } else { of.inputs() } + 6)
        };
        let rows = self.needed.first().map_or(self.nodes.len(), Vec::len);
        rows * (0..self.stack.rules.len()).map(of).sum::<usize>() + self.nodes.len()
    }

    fn looped(&self, place: usize) -> bool {
        self.stack.looped(self.nodes[place])
    }

    fn size(&self, rule: Rule, place: usize, more: i64) -> usize {
        let degree = self.rows[place].len() as i64 + more;
        usize::try_from(degree).unwrap_or(0) + rule.own(self.looped(place))
    }

    /// The rows of each layer that the logits read.
    fn all_needed(&self) -> Vec<Vec<usize>> {
        let mut needed = vec![vec![self.target]];
        for rules in self.stack.rules[1..].iter().rev() {
            let mut below = needed[needed.len() - 1].clone();
            if rules.iter().any(|rule| rule.is_readout()) {
                below.extend(0..self.nodes.len());
            }
            if rules.iter().any(|rule| rule.has_edges()) {
                below.extend(needed[needed.len() - 1].iter().flat_map(|&place| &self.rows[place]));
            }
            below.sort_unstable();
            below.dedup();
            needed.push(below);
        }
        needed.reverse();
        needed
    }

    /// What a row of a layer consists of: term, entry and sender.
    fn each(&self, layer: usize, place: usize, mut take: impl FnMut(usize, f64, usize)) {
        let row = &self.rows[place];
        for (k, &rule) in self.stack.rules[layer].iter().enumerate() {
            let own = rule.own_entry(row.len(), self.looped(place));
            if own != 0.0 {
                take(k, own, place);
            }
            if rule.has_edges() {
                let size = self.size(rule, place, 0);
                for &n in row {
                    take(k, rule.entry(size, if rule.reads_sender() { self.size(rule, n, 0) } else { 1 }), n);
                }
            }
            if rule.is_readout() && place == self.target {
                let (nodes, entry) = self.stack.pooled(rule, self.nodes[place]);
                (0..nodes.len()).for_each(|n| take(k, entry, n));
            }
        }
    }

    /// The logits after the changes that are made.
    pub(crate) fn logits(&mut self) -> &[f64] {
        let mut pass = Pass::default();
        self.needed = self.all_needed();
        for layer in 0..self.needed.len() {
            let of = &self.stack.network.layers()[layer];
            let (terms, inputs, outputs) = (self.stack.rules[layer].len(), of.inputs(), of.outputs());
            let width = terms * outputs;
            let sent = match layer {
                0 => self.first.clone(),
                _ => {
                    let mut sent = vec![0.0; self.nodes.len() * width];
                    let before = &self.stack.network.layers()[layer - 1];
                    for &place in &self.needed[layer - 1] {
                        let sums = &pass.sums[layer - 1][place * inputs..][..inputs];
                        for (unit, &z) in sums.iter().enumerate() {
                            let h = if before.is_linear(unit) { z } else { z.max(0.0) };
                            for k in (0..terms).filter(|_| h != 0.0) {
                                let slots = &mut sent[place * width + k * outputs..][..outputs];
                                slots.iter_mut().zip(of.weight.row(k * inputs + unit)).for_each(|(m, w)| *m += h * w);
                            }
                        }
                    }
                    sent
                }
            };
            let mut sums = vec![0.0; self.nodes.len() * outputs];
            for &place in &self.needed[layer] {
                let slots = &mut sums[place * outputs..][..outputs];
                slots.copy_from_slice(of.bias.row(self.nodes[place] as usize));
                self.each(layer, place, |k, a, n| {
                    let part = &sent[n * width + k * outputs..][..outputs];
                    slots.iter_mut().zip(part).for_each(|(z, m)| *z += a * m);
                });
            }
            pass.sent.push(sent);
            pass.sums.push(sums);
        }
        self.pass = pass;
        let classes = self.stack.network.class_count();
        &self.pass.sums[self.needed.len() - 1][self.target * classes..][..classes]
    }

    /// What numbers of each layer are worth to the margin of a class over another, as the last pass has them.
    fn worth(&self, reference: usize, other: usize) -> Vec<Worth> {
        let last = self.needed.len() - 1;
        let classes = self.stack.network.class_count();
        let mut before = vec![0.0; self.nodes.len() * classes];
        before[self.target * classes + reference] += 1.0;
        before[self.target * classes + other] -= 1.0;
        let mut all = vec![Worth { behind: before.clone(), before }];
        for layer in (1..=last).rev() {
            let of = &self.stack.network.layers()[layer];
            let (terms, inputs, outputs) = (self.stack.rules[layer].len(), of.inputs(), of.outputs());
            let width = terms * outputs;
            let above = &all[all.len() - 1].before;
            let mut sent = vec![0.0; self.nodes.len() * width];
            for &place in &self.needed[layer] {
                let part = &above[place * outputs..][..outputs];
                self.each(layer, place, |k, a, n| {
                    let slots = &mut sent[n * width + k * outputs..][..outputs];
                    slots.iter_mut().zip(part).for_each(|(slot, g)| *slot += a * g);
                });
            }
            let mut behind = vec![0.0; self.nodes.len() * inputs];
            let below = &self.stack.network.layers()[layer - 1];
            let mut before = behind.clone();
            for &place in &self.needed[layer - 1] {
                for unit in 0..inputs {
                    let at = place * inputs + unit;
                    for k in 0..terms {
                        let part = &sent[place * width + k * outputs..][..outputs];
                        let row = of.weight.row(k * inputs + unit);
                        behind[at] += part.iter().zip(row).map(|(g, w)| g * w).sum::<f64>();
                    }
                    let active = below.is_linear(unit) || self.pass.sums[layer - 1][at] > 0.0;
                    before[at] = if active { behind[at] } else { 0.0 };
                }
            }
            all.push(Worth { before, behind });
        }
        all.reverse();
        all
    }

    /// What each change adds to the margin of a class over another, as far as slopes tell: activations of the first
    /// layer as they are, others as they lean.
    pub(crate) fn effects(&self, reference: usize, other: usize, flips: &[EdgeFlip]) -> Vec<f64> {
        let worth = self.worth(reference, other);
        let mut effects = vec![0.0; flips.len()];
        for (layer, worth) in worth.iter().enumerate() {
            let rules = &self.stack.rules[layer];
            if !rules.iter().any(|rule| rule.has_edges()) {
                continue;
            }
            let outputs = self.stack.network.layers()[layer].outputs();
            let mut sized: Vec<[Option<Sized>; 2]> = vec![[None, None]; self.nodes.len()];
            let mut moved = vec![0.0; outputs];
            for (flip, effect) in flips.iter().zip(&mut effects) {
                let more = if flip.inserts { 1 } else { -1 };
                for Arc { to, from } in arcs(flip.edge, self.stack.directed) {
                    let (Some(&to), Some(&from)) = (self.places.get(&to), self.places.get(&from)) else { continue };
                    let of =
                        sized[to][usize::from(flip.inserts)].get_or_insert_with(|| self.sized(layer, to, more, worth));
                    moved.copy_from_slice(&of.moved);
                    for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.has_edges()) {
                        let back = if self.stack.directed { 0 } else { more };
                        let there = if rule.reads_sender() { self.size(rule, from, back) } else { 1 };
                        // A sum takes away the last message of a row as any other.
                        let here = if rule.reads_size() { self.size(rule, to, more) } else { 1 };
                        let entry = more as f64 * rule.entry(here, there);
                        let part = &self.pass.sent[layer][(from * rules.len() + k) * outputs..][..outputs];
                        moved.iter_mut().zip(part).for_each(|(slot, m)| *slot += entry * m);
                    }
                    *effect += of.elsewhere + self.rise(layer, to, &moved, worth);
                }
            }
        }
        effects
    }

    /// What a change of pre-activations is worth.
    fn rise(&self, layer: usize, place: usize, moved: &[f64], worth: &Worth) -> f64 {
        let width = moved.len();
        if layer > 0 {
            let slopes = &worth.before[place * width..][..width];
            return slopes.iter().zip(moved).map(|(g, x)| g * x).sum();
        }
        let of = &self.stack.network.layers()[0];
        let (slopes, sums) = (&worth.behind[place * width..][..width], &self.pass.sums[0][place * width..][..width]);
        let unit = |unit: usize| match of.is_linear(unit) {
            true => slopes[unit] * moved[unit],
            false => slopes[unit] * ((sums[unit] + moved[unit]).max(0.0) - sums[unit].max(0.0)),
        };
        (0..width).map(unit).sum()
    }

    /// What another size of a node does to a layer, its edges left as they are.
    fn sized(&self, layer: usize, place: usize, more: i64, worth: &Worth) -> Sized {
        let rules = &self.stack.rules[layer];
        let outputs = self.stack.network.layers()[layer].outputs();
        let mut sized = Sized { moved: vec![0.0; outputs], elsewhere: 0.0 };
        let part = |n: usize, k: usize| &self.pass.sent[layer][(n * rules.len() + k) * outputs..][..outputs];
        for (k, &rule) in rules.iter().enumerate().filter(|(_, rule)| rule.reads_size()) {
            let (looped, degree) = (self.looped(place), self.rows[place].len() as i64);
            let own = |degree: i64| rule.own_entry(usize::try_from(degree).unwrap_or(0), looped);
            let mut add = |n: usize, a: f64| sized.moved.iter_mut().zip(part(n, k)).for_each(|(x, m)| *x += a * m);
            add(place, own(degree + more) - own(degree));
            for &n in &self.rows[place] {
                let there = if rule.reads_sender() { self.size(rule, n, 0) } else { 1 };
                add(n, rule.entry(self.size(rule, place, more), there) - rule.entry(self.size(rule, place, 0), there));
            }
            for &v in self.rows[place].iter().filter(|_| rule.reads_sender()) {
                let here = self.size(rule, v, 0);
                let a = rule.entry(here, self.size(rule, place, more)) - rule.entry(here, self.size(rule, place, 0));
                let slopes = &worth.before[v * outputs..][..outputs];
                sized.elsewhere += a * slopes.iter().zip(part(place, k)).map(|(g, m)| g * m).sum::<f64>();
            }
        }
        sized
    }
}

/// What another size of a node does: to its own pre-activations, and to the margin by those of others.
#[derive(Clone)]
struct Sized {
    moved: Vec<f64>,
    elsewhere: f64,
}

#[cfg(test)]
mod tests {
    use super::Plain;
    use crate::edges::budget::{EdgeBudget, EdgeKind};
    use crate::edges::changes::menu::{ChangeMenu, ChangePath, Setting};
    use crate::edges::problem::EdgeProblem;
    use crate::problem::graph::Graph;
    use crate::problem::layer::{Layer, Term};
    use crate::problem::network::{Network, Operator};
    use crate::problem::pace::Pace;
    use gcnproof_verify::random::Stream;
    use nalgebra::DMatrix;

    fn matrix(random: &mut Stream, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| (random.below(41) as f64 - 20.0) / 16.0)
    }

    /// Two graphs that are classified.
    fn problem(random: &mut Stream, linear: bool) -> EdgeProblem {
        let nodes = 8 + random.below(3);
        let mut edges = vec![(0, 1)];
        for (i, j) in (2..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j))) {
            if random.below(100) < 35 {
                edges.push((i, j));
            }
        }
        let attributes: Vec<Vec<usize>> =
            (0..nodes).map(|_| (0..3).filter(|_| random.below(2) == 0).collect()).collect();
        let batch = (0..nodes).map(|node| u32::from(node >= 2)).collect();
        let graph = Graph::from_lists(&edges, &attributes, 3).unwrap().with_batch(batch).unwrap();
        let along = [Operator::Sum, Operator::Mean, Operator::Gcn, Operator::MeanWithSelf, Operator::GcnWithoutSelf];
        let (mut layers, mut inputs) = (Vec::new(), 3);
        for _ in 0..1 + random.below(3) {
            let outputs = 1 + random.below(4);
            let term =
                |operator: Operator, random: &mut Stream| Term { operator, weight: matrix(random, inputs, outputs) };
            let mut terms = vec![term(along[random.below(5)].clone(), random)];
            if random.below(2) == 0 {
                terms.push(term(Operator::Identity, random));
            }
            let bias: Vec<f64> = matrix(random, 1, outputs).iter().copied().collect();
            layers.push(Layer::of_terms(&graph, &terms, &bias, vec![linear; outputs]).unwrap());
            inputs = outputs;
        }
        let readout = [Operator::PoolSum, Operator::PoolMean][random.below(2)].clone();
        let terms = [Term { operator: readout, weight: matrix(random, inputs, 3) }];
        layers.push(Layer::of_terms(&graph, &terms, &[0.5, 0.0, -0.25], Vec::new()).unwrap());
        let budget = EdgeBudget::uniform(&graph, 3, 3).kind(EdgeKind::Change).keep_one(false);
        EdgeProblem::new(graph, Network::new(layers).unwrap(), budget).unwrap()
    }

    #[test]
    fn plain_floats_are_near_intervals_and_slopes_of_linear_networks_near_changes() {
        let mut equal = 0;
        for seed in 0..300 {
            let random = &mut Stream::new(seed);
            let linear = random.below(2) == 0;
            let problem = problem(random, linear);
            let Some(stack) = problem.stack() else { continue };
            let target = 1;
            let (path, pace) = (ChangePath::default(), Pace::endless());
            let menu = ChangeMenu::new(Setting::new(stack, problem.budget(), 1), target, &path, &pace).unwrap();
            let mut plain = Plain::new(stack, target);
            let mut set = Vec::new();
            for _ in 0..3 {
                let effects = {
                    plain.logits();
                    plain.effects(0, 1, &menu.flips)
                };
                let margin = |plain: &mut Plain| {
                    let logits = plain.logits();
                    logits[0] - logits[1]
                };
                let before = margin(&mut plain);
                for (flip, effect) in menu.flips.iter().zip(effects).filter(|_| set.is_empty()) {
                    plain.toggle(flip.edge);
                    let after = margin(&mut plain);
                    plain.toggle(flip.edge);
                    // One layer along edges, all of it linear: slopes tell everything, but that both ends of a removal
                    // are smaller.
                    if linear && stack.hops == 1 && (flip.inserts || !stack.reads_sender) {
                        assert!(
                            (after - before - effect).abs() < 1e-9,
                            "seed {seed}: {after} {before} {effect} {flip:?} {:?}",
                            stack.rules
                        );
                        equal += 1;
                    }
                }
                let Some(flip) = (!menu.flips.is_empty()).then(|| menu.flips[random.below(menu.flips.len())]) else {
                    break;
                };
                if set.contains(&flip) {
                    continue;
                }
                set.push(flip);
                plain.toggle(flip.edge);
                let spans = stack.spans(target, &menu.with(&set));
                for (x, span) in plain.logits().iter().zip(spans) {
                    assert!(span.lo - 1e-9 <= *x && *x <= span.hi + 1e-9, "seed {seed}: {x} {span:?}");
                }
            }
        }
        assert!(equal > 300, "{equal}");
    }
}
