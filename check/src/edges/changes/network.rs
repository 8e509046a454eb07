//! A network of any depth: its rules and numbers, and what nodes send on the graph of the file.

use std::ops::Range;
use std::sync::OnceLock;

use gcnproof_files::{GraphFile, ModelFile};

use crate::edges::number::Scalar;
use crate::edges::rule::EdgeRule;
use crate::number::{Dyadic, Interval, Stored};
use crate::statement::{first_weights, require_fit};
use crate::verdict::Reason;

/// One layer of weights.
pub struct ChangeLayer {
    /// The rules of its terms.
    pub rules: Vec<EdgeRule>,
    pub inputs: usize,
    pub outputs: usize,
    /// By term, input and output.
    weights: Vec<Stored>,
    bias: Vec<Stored>,
    linear: Vec<bool>,
}

impl ChangeLayer {
    pub fn weight(&self, term: usize, input: usize, output: usize) -> Stored {
        self.weights[(term * self.inputs + input) * self.outputs + output]
    }

    pub fn bias(&self, node: u32, output: usize) -> Stored {
        let start = if self.bias.len() == self.outputs { 0 } else { node as usize * self.outputs };
        self.bias[start + output]
    }

    pub fn is_linear(&self, output: usize) -> bool {
        self.linear.get(output).copied().unwrap_or(false)
    }

    /// Does anything pass along edges?
    pub fn passes(&self) -> bool {
        self.rules.iter().any(|rule| rule.has_edges())
    }
}

/// What nodes send, by layer and node.
type Known<N> = Vec<Vec<OnceLock<Vec<N>>>>;

/// The layers, first to last.
pub struct ChangeNetwork<'a> {
    pub graph: &'a GraphFile,
    pub layers: Vec<ChangeLayer>,
    pub classes: usize,
    /// Layers in which something passes along edges.
    pub hops: usize,
    /// Do entries depend on the size of the sender?
    pub reads_sender: bool,
    pub directed: bool,
    /// Who receives from a node in the graph of the file, where edges are directed.
    pub receivers: Vec<Vec<u32>>,
    rounded: Known<Interval>,
    exact: Known<Dyadic>,
}

/// The two kinds of numbers, each with what is known of the graph of the file.
pub trait KeptScalar: Scalar {
    fn known<'n>(network: &'n ChangeNetwork, layer: usize, node: u32) -> &'n OnceLock<Vec<Self>>;
}

impl KeptScalar for Interval {
    fn known<'n>(network: &'n ChangeNetwork, layer: usize, node: u32) -> &'n OnceLock<Vec<Interval>> {
        &network.rounded[layer][node as usize]
    }
}

impl KeptScalar for Dyadic {
    fn known<'n>(network: &'n ChangeNetwork, layer: usize, node: u32) -> &'n OnceLock<Vec<Dyadic>> {
        &network.exact[layer][node as usize]
    }
}

impl<'a> ChangeNetwork<'a> {
    /// The network with these rules, as a header states them.
    ///
    /// # Errors
    /// If graph, model and rules do not fit together, or edges do not determine the entries.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        stated: &[String],
        directed: bool,
    ) -> Result<ChangeNetwork<'a>, Reason> {
        let names = require_fit(graph, model, stated)?;
        let mut layers = Vec::new();
        let first = first_weights(graph, model, names[0].len())?;
        for (at, (layer, names)) in model.layers.iter().zip(&names).enumerate() {
            let weight = if at == 0 { &*first } else { &layer.weight };
            let mut rules = Vec::new();
            for name in names {
                let unknown = || {
                    let name: String = name.chars().take(100).collect();
                    Reason::Header(format!("message passing '{name}' cannot be recomputed when edges change"))
                };
                let rule = EdgeRule::read(name).ok_or_else(unknown)?;
                // A sender without edges of its own would have size 0.
                if directed && rule.reads_sender() && !rule.adds_self {
                    return Err(Reason::Header("directed edges do not determine message passing gcn-self".into()));
                }
                rules.push(rule);
            }
            layers.push(ChangeLayer {
                inputs: weight.rows / rules.len().max(1),
                outputs: layer.weight.columns,
                rules,
                weights: Stored::all(&weight.values),
                bias: Stored::all(&layer.bias),
                linear: layer.linear.clone(),
            });
        }
        let nodes = graph.adjacency.rows;
        let mut receivers = Vec::new();
        if directed {
            receivers.resize(nodes, Vec::new());
            for node in 0..nodes {
                graph.adjacency.row(node).iter().for_each(|&from| receivers[from as usize].push(node as u32));
            }
        }
        Ok(ChangeNetwork {
            graph,
            classes: layers.last().map_or(0, |layer| layer.outputs),
            hops: layers.iter().filter(|layer| layer.passes()).count(),
            reads_sender: layers.iter().flat_map(|layer| &layer.rules).any(|rule| rule.reads_sender()),
            directed,
            receivers,
            rounded: empty(layers.len(), nodes),
            exact: empty(layers.len(), nodes),
            layers,
        })
    }

    /// Has a rule an entry from this node to itself?
    pub fn own(&self, rule: EdgeRule, node: u32) -> bool {
        !rule.pools() && (rule.adds_self || self.graph.adjacency.contains(node as usize, node))
    }

    /// The size of a node with so many edges.
    pub fn size(&self, rule: EdgeRule, node: u32, degree: usize) -> usize {
        degree + usize::from(self.own(rule, node))
    }

    /// The entry from a node with so many edges to itself.
    pub fn own_entry(&self, rule: EdgeRule, node: u32, degree: usize) -> Stored {
        if let Some(entry) = rule.weighted(self.graph.adjacency.contains(node as usize, node)) {
            return entry;
        }
        let size = self.size(rule, node, degree);
        if self.own(rule, node) { rule.entry(size, size) } else { Stored::ZERO }
    }

    /// The nodes that a row of a readout sums up, with their entry; none of other rules.
    pub fn pooled(&self, rule: EdgeRule, row: u32) -> (Range<u32>, Stored) {
        let nodes = if rule.pools() { self.members(row) } else { 0..0 };
        let entry = rule.entry(nodes.len(), 1);
        (nodes, entry)
    }

    /// The nodes of a graph, which are numbered one after the other; none where nodes are classified.
    pub fn members(&self, graph: u32) -> Range<u32> {
        let batch = self.graph.batch.as_deref().unwrap_or_default();
        let end = |of: u32| batch.partition_point(|&other| other < of) as u32;
        end(graph)..graph.checked_add(1).map_or(batch.len() as u32, end)
    }

    /// The nodes that a node may be linked to, itself among them: those of its graph.
    pub fn companions(&self, node: u32) -> Range<u32> {
        match &self.graph.batch {
            Some(batch) => self.members(batch[node as usize]),
            None => 0..self.graph.adjacency.rows as u32,
        }
    }

    /// So far from the target an end of a change can be that matters: rows are read there, or sizes.
    pub fn farthest(&self) -> Option<usize> {
        if self.reads_sender { Some(self.hops) } else { self.hops.checked_sub(1) }
    }
}

fn empty<N>(layers: usize, nodes: usize) -> Known<N> {
    (0..layers).map(|_| (0..nodes).map(|_| OnceLock::new()).collect()).collect()
}
