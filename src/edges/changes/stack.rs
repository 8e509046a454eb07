//! A network of any depth on a graph whose edges change: what its nodes send, and the logits of a target, in floats
//! rounded outward and exactly.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::edges::budget::Edge;
use crate::edges::changes::balls::Balls;
use crate::edges::changes::sorted::Sorted;
use crate::edges::changes::span::{Caches, Span, SpanValue};
use crate::edges::changes::world::World;
use crate::edges::rule::Rule;
use crate::number::dyadic::Dyadic;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;

/// The layers, with the rules of their terms. Representation 0 are the attributes, representation `l` is what layer `l`
/// gives, counted from 1.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) graph: Arc<Graph>,
    pub(crate) network: Arc<Network>,
    /// By layer and term.
    pub(crate) rules: Vec<Vec<Rule>>,
    pub(crate) directed: bool,
    /// How many edges away rows are read: those of nodes nearer than this.
    pub(crate) hops: usize,
    /// Do entries depend on the size of their sender?
    pub(crate) reads_sender: bool,
    /// Who receives from a node, where that is not its row.
    receivers: Option<Vec<Vec<u32>>>,
    caches: Caches,
    /// What nodes send in floats, by layer and node, computed when it is first asked for.
    pub(crate) quick: Vec<Vec<OnceLock<Balls>>>,
    /// Who sends most to a unit of the first hidden layer; sorted when it is first asked for.
    pub(crate) sorted: OnceLock<Sorted>,
}

impl Stack {
    pub(crate) fn new(graph: Arc<Graph>, network: Arc<Network>, rules: Vec<Vec<Rule>>, directed: bool) -> Stack {
        let nodes = graph.node_count();
        let receivers = directed.then(|| {
            let mut lists = vec![Vec::new(); nodes];
            for v in 0..nodes {
                graph.adjacency().row(v).iter().for_each(|&u| lists[u as usize].push(v as u32));
            }
            lists
        });
        let hops = rules.iter().filter(|terms| terms.iter().any(|rule| rule.has_edges())).count();
        let reads_sender = rules.iter().flatten().any(|rule| rule.reads_sender());
        let layers = rules.len();
        let caches = Caches { spans: empty(layers, nodes), exact: empty(layers, nodes) };
        let quick = empty(layers, nodes);
        Stack { graph, network, rules, directed, hops, reads_sender, receivers, caches, quick, sorted: OnceLock::new() }
    }

    pub(crate) fn looped(&self, node: u32) -> bool {
        self.graph.adjacency().contains(node as usize, node)
    }

    /// The size of a node with so many edges.
    pub(crate) fn size(&self, rule: Rule, node: u32, degree: usize) -> usize {
        degree + rule.own(self.looped(node))
    }

    /// The nodes that a row of a readout sums up, with their entry; none of other rules (docs/math.md (22.1)).
    pub(crate) fn pooled(&self, rule: Rule, row: u32) -> (Range<u32>, f64) {
        let nodes = if rule.is_readout() { self.graph.nodes_of(row as usize) } else { 0..0 };
        (nodes.start as u32..nodes.end as u32, rule.entry(nodes.len(), 1))
    }

    /// So far from the target an end of a change can be that matters: rows are read there, or sizes.
    pub(crate) fn farthest(&self) -> Option<usize> {
        if self.reads_sender { Some(self.hops) } else { self.hops.checked_sub(1) }
    }

    /// What a node sends in a layer, term after term, on the graph as it is.
    pub(crate) fn sent<V: SpanValue>(&self, layer: usize, node: u32) -> &[V] {
        V::kept(&self.caches)[layer][node as usize].get_or_init(|| {
            let world = World::new(&self.graph, self.directed, &[]);
            self.message(layer, node, &world, || {
                let below = |n: u32| self.sent::<V>(layer - 1, n);
                self.unit_sums(layer - 1, node, &world, below)
            })
        })
    }

    /// What a node sends whose pre-activations `below` gives, where it is not the first layer.
    fn message<V: SpanValue>(&self, layer: usize, node: u32, world: &World, below: impl FnOnce() -> Vec<V>) -> Vec<V> {
        let of = &self.network.layers()[layer];
        let (inputs, outputs) = (of.inputs(), of.outputs());
        let mut sent = vec![V::of(0.0); self.rules[layer].len() * outputs];
        let mut add = |input: usize, x: &V| {
            for k in 0..self.rules[layer].len() {
                let row = of.weight.row(k * inputs + input);
                for (sum, &w) in sent[k * outputs..][..outputs].iter_mut().zip(row).filter(|entry| *entry.1 != 0.0) {
                    sum.add(x, w);
                }
            }
        };
        if layer == 0 {
            let present = world.attributes(node);
            let entry = V::of(self.graph.normalisation().entry(present.len()));
            present.iter().for_each(|&d| add(d as usize, &entry));
        } else {
            let before = &self.network.layers()[layer - 1];
            for (i, mut h) in below().into_iter().enumerate() {
                if !before.is_linear(i) {
                    h.relu();
                }
                if !h.vanishes() {
                    add(i, &h);
                }
            }
        }
        sent
    }

    /// The pre-activations of a node in a layer, from what nodes send there.
    pub(crate) fn unit_sums<'v, V: SpanValue>(
        &self,
        layer: usize,
        node: u32,
        world: &World,
        sent: impl Fn(u32) -> &'v [V],
    ) -> Vec<V> {
        let outputs = self.network.layers()[layer].outputs();
        let mut z: Vec<V> = self.network.layers()[layer].bias.row(node as usize).iter().map(|&b| V::of(b)).collect();
        self.each_entry(layer, node, world, |k, a, n| {
            z.iter_mut().zip(&sent(n)[k * outputs..][..outputs]).for_each(|(z, m)| z.add(m, a));
        });
        z
    }

    /// What a row of a layer consists of on a changed graph: term, entry and sender, for all entries that are not 0.
    pub(crate) fn each_entry(&self, layer: usize, node: u32, world: &World, mut take: impl FnMut(usize, f64, u32)) {
        let degree = world.degree(node);
        for (k, rule) in self.rules[layer].iter().enumerate() {
            let mut add = |a: f64, n: u32| {
                if a != 0.0 {
                    take(k, a, n);
                }
            };
            add(rule.own_entry(degree, self.looped(node)), node);
            if rule.has_edges() {
                let size = self.size(*rule, node, degree);
                for n in world.row(node) {
                    let there = if rule.reads_sender() { self.size(*rule, n, world.degree(n)) } else { 1 };
                    add(rule.entry(size, there), n);
                }
            }
            let (nodes, entry) = self.pooled(*rule, node);
            nodes.for_each(|n| add(entry, n));
        }
    }

    /// Floats around the logits of a target after some changes.
    pub(crate) fn spans(&self, target: u32, changes: &[Edge]) -> Vec<Span> {
        self.quick_logits(target, &World::new(&self.graph, self.directed, changes))
    }

    /// The logits of a node after some changes.
    pub(crate) fn logits<V: SpanValue>(&self, node: u32, changes: &[Edge]) -> Vec<V> {
        let world = World::new(&self.graph, self.directed, changes);
        self.values(node, &world, self.rules.len() - 1)
    }

    /// The pre-activations of a node in a layer, on a changed graph.
    pub(crate) fn values<V: SpanValue>(&self, node: u32, world: &World, layer: usize) -> Vec<V> {
        let mut evaluation = Evaluation { stack: self, world, dirty: self.dirty(world, layer), sent: HashMap::new() };
        evaluation.unit_sums(layer, node)
    }

    /// By representation up to this one: nodes at which it may be another than on the graph as it is, ascending.
    pub(crate) fn dirty(&self, world: &World, last: usize) -> Vec<Vec<u32>> {
        let mut touched: Vec<u32> = world.changed().collect();
        if self.reads_sender {
            touched.extend(world.changed().flat_map(|u| self.receivers(u, world)));
        }
        sort(&mut touched);
        let mut dirty: Vec<Vec<u32>> = vec![world.flipped_nodes()];
        for l in 0..last {
            let mut next = touched.clone();
            if !touched.is_empty() || !dirty[l].is_empty() {
                next.extend(dirty[l].iter().copied());
                next.extend(dirty[l].iter().flat_map(|&u| self.receivers(u, world)));
                if let Some(batch) = self.graph.batch().filter(|_| self.rules[l].iter().any(|rule| rule.is_readout())) {
                    next.extend(dirty[l].iter().map(|&u| batch[u as usize]));
                }
                sort(&mut next);
            }
            dirty.push(next);
        }
        dirty
    }

    /// Who may receive from a node, on a changed graph.
    fn receivers(&self, node: u32, world: &World) -> Vec<u32> {
        match &self.receivers {
            None => world.row(node).collect(),
            Some(lists) => {
                let new = world.changed().filter(|&v| world.row(v).any(|u| u == node));
                lists[node as usize].iter().copied().chain(new).collect()
            }
        }
    }

    /// The exact margin of a class over another after some changes.
    pub(crate) fn exact_margin(&self, node: u32, reference: usize, other: usize, changes: &[Edge]) -> Dyadic {
        let logits: Vec<Dyadic> = self.logits(node, changes);
        &logits[reference] - &logits[other]
    }
}

fn empty<V>(layers: usize, nodes: usize) -> Vec<Vec<OnceLock<V>>> {
    (0..layers).map(|_| (0..nodes).map(|_| OnceLock::new()).collect()).collect()
}

fn sort(nodes: &mut Vec<u32>) {
    nodes.sort_unstable();
    nodes.dedup();
}

/// One changed graph. What is as before is taken from the graph as it is.
struct Evaluation<'a, V> {
    stack: &'a Stack,
    world: &'a World<'a>,
    dirty: Vec<Vec<u32>>,
    sent: HashMap<(usize, u32), Vec<V>>,
}

impl<V: SpanValue> Evaluation<'_, V> {
    fn unit_sums(&mut self, layer: usize, node: u32) -> Vec<V> {
        let (stack, world) = (self.stack, self.world);
        stack.each_entry(layer, node, world, |_, _, n| self.require(layer, n));
        let sent = |n: u32| match self.sent.get(&(layer, n)) {
            Some(sent) => sent.as_slice(),
            None => self.stack.sent::<V>(layer, n),
        };
        self.stack.unit_sums(layer, node, self.world, sent)
    }

    /// Computes what a node sends if that may be something else than before.
    fn require(&mut self, layer: usize, node: u32) {
        if self.dirty[layer].binary_search(&node).is_err() || self.sent.contains_key(&(layer, node)) {
            return;
        }
        let below = if layer == 0 { Vec::new() } else { self.unit_sums(layer - 1, node) };
        let sent = self.stack.message(layer, node, self.world, || below);
        self.sent.insert((layer, node), sent);
    }
}
