//! A case: graph, network and budget; and the pieces that the generators of cases share.

use gcnproof_files::{DenseMatrix, SparseMatrix};
use gcnproof_verify::random::Stream;

use super::certifier::{Budget, Direction, Graph, Network, Operator, PatternRows};
use super::common;

/// A whole problem, all nodes of which are targets.
#[derive(Clone)]
pub struct Case {
    pub graph: Graph,
    pub network: Network,
    pub budget: Budget,
    /// Which kind of numbers it was drawn from; the tally counts by it.
    pub style: usize,
}

/// A weight matrix and a bias for each layer.
pub type Layers = Vec<(DenseMatrix, Vec<f64>)>;

impl Case {
    pub fn new(graph: Graph, layers: Layers, rules: &[Operator], budget: Budget, style: usize) -> Case {
        let network = Network::from_file(common::model(layers), rules, &graph).unwrap();
        Case { graph, network, budget, style }
    }

    /// Has the node the attribute, before any flip?
    pub fn has(&self, node: usize, attribute: usize) -> bool {
        self.graph.attributes().row(node).contains(&(attribute as u32))
    }

    /// The last bias of a class.
    pub fn output_bias(&self, class: usize) -> f64 {
        self.network.layers().last().expect("a network has a layer").bias.values()[class]
    }

    /// The same with the last bias of a class moved.
    pub fn with_output_bias(&self, class: usize, bias: f64) -> Case {
        let mut layers: Layers =
            self.network.layers().iter().map(|layer| (layer.weight.plain(), layer.bias.values().to_vec())).collect();
        layers.last_mut().expect("a network has a layer").1[class] = bias;
        Case::new(self.graph.clone(), layers, &self.matrices(), self.budget.clone(), self.style)
    }

    /// The message passing of all layers as explicit matrices.
    pub fn matrices(&self) -> Vec<Operator> {
        self.network.layers().iter().map(|layer| layer.operators[0].clone()).collect()
    }
}

/// Rows of a symmetric adjacency; chances in percent.
pub fn links(stream: &mut Stream, nodes: usize, to_itself: usize, to_others: usize) -> Vec<Vec<u32>> {
    let mut adjacency = vec![Vec::new(); nodes];
    for node in 0..nodes {
        for other in node..nodes {
            if stream.chance(if node == other { to_itself } else { to_others }) {
                adjacency[node].push(other as u32);
                if node != other {
                    adjacency[other].push(node as u32);
                }
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    adjacency
}

/// Rows of attributes, each entry present with a chance of 40 %.
pub fn attributes(stream: &mut Stream, nodes: usize, dimension: usize) -> Vec<Vec<u32>> {
    (0..nodes).map(|_| (0..dimension as u32).filter(|_| stream.chance(40)).collect()).collect()
}

/// Widths of the representations between attributes and logits: at most `first` units in the first, `later` in the
/// others.
pub fn hidden_widths(stream: &mut Stream, depth: usize, first: usize, later: usize) -> Vec<usize> {
    (2..depth).map(|layer| 1 + stream.below(if layer == 2 { first } else { later })).collect()
}

/// A dense matrix, row by row.
pub fn dense(rows: usize, columns: usize, entry: impl FnMut(usize) -> f64) -> DenseMatrix {
    DenseMatrix { rows, columns, values: (0..rows * columns).map(entry).collect() }
}

/// A message-passing matrix, entry by entry along its rows; zeros are left out.
pub fn matrix(nodes: usize, mut entry: impl FnMut() -> Option<f64>) -> Operator {
    let mut matrix = SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
    for _ in 0..nodes {
        for column in 0..nodes {
            if let Some(value) = entry().filter(|value| *value != 0.0) {
                matrix.indices.push(column as u32);
                matrix.values.push(value);
            }
        }
        matrix.offsets.push(matrix.indices.len());
    }
    Operator::from_plain(matrix).unwrap()
}

/// Local budgets below a limit.
pub fn local_budgets(stream: &mut Stream, nodes: usize, below: usize) -> Vec<i64> {
    (0..nodes).map(|_| stream.below(below) as i64).collect()
}

/// A direction, half of the time both, and now and then a frozen attribute.
pub fn restrained(stream: &mut Stream, graph: &Graph, budget: Budget) -> Budget {
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][stream.below(4)];
    let budget = budget.with_direction(direction);
    if stream.chance(15) {
        let frozen = stream.below(graph.attribute_count()) as i64;
        return budget.freeze_attributes(graph, &[frozen]).unwrap();
    }
    budget
}
