//! Small networks as sums of terms, whose worst cases brute force finds. All numbers are small multiples of 1/4.

use gcnproof::internals::problem::network::{Layer, Term};
use gcnproof::nalgebra::DMatrix;
use gcnproof::sprs::TriMat;
use gcnproof::{Budget, Direction, Graph, Network, Operator, Problem};
use gcnproof_verify::random::Stream;

/// A network as dense matrices, and what it computes.
pub struct Dense {
    pub layers: Vec<DenseLayer>,
}

pub struct DenseLayer {
    pub terms: Vec<(DMatrix<f64>, DMatrix<f64>)>,
    /// Nodes × outputs.
    pub bias: DMatrix<f64>,
    pub linear: Vec<bool>,
}

impl Dense {
    /// All pre-activations, layer after layer.
    pub fn forward(&self, attributes: &DMatrix<f64>) -> Vec<DMatrix<f64>> {
        let mut h = attributes.clone();
        let mut all = Vec::new();
        for layer in &self.layers {
            let sum = layer.terms.iter().map(|(a, w)| a * &h * w).fold(layer.bias.clone(), |sum, term| sum + term);
            h = DMatrix::from_fn(sum.nrows(), sum.ncols(), |i, j| {
                if layer.linear.get(j) == Some(&true) { sum[(i, j)] } else { sum[(i, j)].max(0.0) }
            });
            all.push(sum);
        }
        all
    }
}

pub struct Case {
    pub problem: Problem,
    pub dense: Dense,
    pub attributes: DMatrix<f64>,
}

pub fn quarter(random: &mut Stream, largest: i64) -> f64 {
    (random.below(2 * largest as usize + 1) as i64 - largest) as f64 / 4.0
}

pub fn matrix(random: &mut Stream, rows: usize, columns: usize, density: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| if random.below(100) < density { quarter(random, 6) } else { 0.0 })
}

/// Which networks are drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// One to three terms for each layer.
    Any,
    /// Only the last layer passes messages, in one term.
    PerNode,
    /// One term for each layer, and margins that are often large.
    Single,
}

pub fn case(seed: u64, shape: Shape) -> Case {
    let per_node = shape == Shape::PerNode;
    let mut random = Stream::new(seed);
    let random = &mut random;
    let (nodes, dimension) = (2 + random.below(3), 2 + random.below(3));
    let attributes = DMatrix::from_fn(nodes, dimension, |_, _| f64::from(u8::from(random.below(2) == 0)));
    let mut pattern = TriMat::new((nodes, dimension));
    for (i, d) in (0..nodes).flat_map(|i| (0..dimension).map(move |d| (i, d))) {
        if attributes[(i, d)] == 1.0 {
            pattern.add_triplet(i, d, 1u8);
        }
    }
    let adjacency = TriMat::<u8>::new((nodes, nodes));
    let graph = Graph::new(&adjacency.to_csr::<usize>(), &pattern.to_csr::<usize>()).unwrap();
    let (mut layers, mut dense) = (Vec::new(), Vec::new());
    let depth = if per_node { 2 + random.below(2) } else { 1 + random.below(4) };
    let mut width = dimension;
    for l in 0..depth {
        let outputs = if l + 1 == depth { 2 + random.below(2) } else { 1 + random.below(3) };
        let mut terms = Vec::new();
        let mut plain = Vec::new();
        let last = l + 1 == depth;
        let single = shape == Shape::Single || per_node && last;
        for _ in 0..if single { 1 } else { 1 + random.below(3) } {
            let identity = if per_node { !last } else { random.below(4) == 0 };
            let a = if identity { DMatrix::identity(nodes, nodes) } else { matrix(random, nodes, nodes, 60) };
            let w = matrix(random, width, outputs, 80);
            let mut sparse = TriMat::new((nodes, nodes));
            for (i, j) in (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))) {
                if a[(i, j)] != 0.0 {
                    sparse.add_triplet(i, j, a[(i, j)]);
                }
            }
            let operator =
                if identity { Operator::Identity } else { Operator::custom(&sparse.to_csr::<usize>()).unwrap() };
            terms.push(Term { operator, weight: w.clone() });
            plain.push((a, w));
        }
        let by_node = random.below(2) == 0;
        let size = if shape == Shape::Single && last { 32.0 } else { 1.0 };
        let bias = matrix(random, if by_node { nodes } else { 1 }, outputs, 70) * size;
        let linear: Vec<bool> = match random.below(4) {
            0 => vec![true; outputs],
            1 => Vec::new(),
            _ => (0..outputs).map(|_| random.below(3) == 0).collect(),
        };
        let values: Vec<f64> = bias.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
        layers.push(Layer::of_terms(&graph, &terms, &values, linear.clone()).unwrap());
        let bias = DMatrix::from_fn(nodes, outputs, |i, j| bias[(if by_node { i } else { 0 }, j)]);
        dense.push(DenseLayer { terms: plain, bias, linear });
        width = outputs;
    }
    let locals: Vec<i64> = (0..nodes).map(|_| random.below(4) as i64).collect();
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let budget = Budget::per_node(&graph, random.below(4), &locals).unwrap().with_direction(direction);
    let problem = Problem::new(graph, Network::new(layers).unwrap(), budget).unwrap();
    Case { problem, dense: Dense { layers: dense }, attributes }
}

impl Case {
    /// Calls `each` with the attributes after every admissible set of flips.
    pub fn visit(&self, each: &mut impl FnMut(&DMatrix<f64>)) {
        let budget = self.problem.budget();
        let locals: Vec<usize> = (0..self.attributes.nrows()).map(|n| budget.local(n)).collect();
        self.descend(0, budget.global(), &mut locals.clone(), &mut self.attributes.clone(), each);
    }

    fn descend(
        &self,
        from: usize,
        global: usize,
        locals: &mut Vec<usize>,
        attributes: &mut DMatrix<f64>,
        each: &mut impl FnMut(&DMatrix<f64>),
    ) {
        each(attributes);
        let columns = attributes.ncols();
        for at in from..attributes.len() {
            let (n, d) = (at / columns, at % columns);
            let present = self.attributes[(n, d)] == 1.0;
            let direction = self.problem.budget().direction();
            let permitted = if present { direction.removes() } else { direction.adds() };
            if global > 0 && locals[n] > 0 && permitted {
                locals[n] -= 1;
                attributes[(n, d)] = 1.0 - attributes[(n, d)];
                self.descend(at + 1, global - 1, locals, attributes, each);
                attributes[(n, d)] = 1.0 - attributes[(n, d)];
                locals[n] += 1;
            }
        }
    }
}
