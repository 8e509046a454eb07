//! Random tiny problems for the tests: whole graphs with networks and budgets, awkward ones on purpose.
#![allow(dead_code, missing_docs)]

pub mod ranges;
pub mod terms;

use gcnproof::{Bound, Budget, Certifier, Direction, Graph, Network, Operator};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, Pattern, Precision, SparseMatrix};
use gcnproof_verify::random::Stream;

pub struct Problem {
    pub graph: Graph,
    pub gcn: Network,
    pub budget: Budget,
    /// Small multiples of 1/4 everywhere: f64 is exact on it, ties included.
    pub dyadic: bool,
}

/// A pattern from sorted rows.
pub fn pattern(columns: usize, rows: Vec<Vec<u32>>) -> Pattern {
    let mut offsets = vec![0];
    for row in &rows {
        offsets.push(offsets[offsets.len() - 1] + row.len());
    }
    Pattern { rows: rows.len(), columns, offsets, indices: rows.concat() }
}

pub fn graph(adjacency: Vec<Vec<u32>>, attributes: Vec<Vec<u32>>, dimension: usize) -> Graph {
    let nodes = adjacency.len();
    Graph::from_file(GraphFile {
        adjacency: pattern(nodes, adjacency),
        attributes: pattern(dimension, attributes),
        ..GraphFile::default()
    })
}

pub fn model(layers: Vec<(DenseMatrix, Vec<f64>)>) -> ModelFile {
    ModelFile {
        layers: layers
            .into_iter()
            .map(|(weight, bias)| LayerFile {
                weight,
                bias,
                operators: Vec::new(),
                linear: Vec::new(),
                weight_name: "W".into(),
                bias_name: None,
            })
            .collect(),
        digest: String::new(),
        described: None,
        fixed_edges: false,
        matrices: Vec::new(),
        precision: Precision::F64,
        metadata: Default::default(),
        notes: Vec::new(),
    }
}

/// One node per layer's message passing, or a random matrix of either sign.
fn passing(random: &mut Stream, nodes: usize, dyadic: bool) -> Operator {
    match random.below(if dyadic { 3 } else { 5 }) {
        0 => Operator::Identity,
        1 => {
            let mut matrix =
                SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
            for _ in 0..nodes {
                for j in 0..nodes {
                    if random.chance(50) {
                        let value = number(random, dyadic);
                        if value != 0.0 {
                            matrix.indices.push(j as u32);
                            matrix.values.push(value);
                        }
                    }
                }
                matrix.offsets.push(matrix.indices.len());
            }
            Operator::from_plain(matrix).unwrap()
        }
        2 => Operator::SumWithSelf,
        3 => Operator::MeanWithSelf,
        _ => Operator::Gcn,
    }
}

fn number(random: &mut Stream, dyadic: bool) -> f64 {
    if dyadic {
        random.below(9) as f64 / 4.0 - 1.0
    } else if random.chance(10) {
        0.0
    } else {
        random.real()
    }
}

/// A problem small enough to enumerate, with `representations` in 2..=5.
pub fn problem(seed: u64, representations: usize) -> Problem {
    let mut random = Stream::new(seed);
    let dyadic = random.chance(50);
    let (nodes, dimension) = (1 + random.below(4), 1 + random.below(4));
    let mut adjacency = vec![Vec::new(); nodes];
    for i in 0..nodes {
        for j in i..nodes {
            // A self-loop now and then, and isolated nodes.
            if random.chance(if i == j { 10 } else { 50 }) {
                adjacency[i].push(j as u32);
                if i != j {
                    adjacency[j].push(i as u32);
                }
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| random.chance(45)).collect()).collect();
    let graph = graph(adjacency, attributes, dimension);
    let classes = 2 + random.below(2);
    let mut widths = vec![dimension];
    widths.extend((2..representations).map(|_| 1 + random.below(3)));
    widths.push(classes);
    let mut layers = Vec::new();
    for pair in widths.windows(2) {
        let values = (0..pair[0] * pair[1]).map(|_| number(&mut random, dyadic)).collect();
        let bias: Vec<f64> =
            (0..pair[1]).map(|_| if random.chance(30) { 0.0 } else { number(&mut random, dyadic) }).collect();
        layers.push((DenseMatrix { rows: pair[0], columns: pair[1], values }, bias));
    }
    if random.chance(10) {
        // Two classes that are the same.
        let (weight, bias) = layers.last_mut().unwrap();
        for i in 0..weight.rows {
            weight.values[i * classes + 1] = weight.values[i * classes];
        }
        bias[1] = bias[0];
    }
    let rules: Vec<_> = (1..representations).map(|_| passing(&mut random, nodes, dyadic)).collect();
    let gcn = Network::from_file(model(layers), &rules, &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| random.below(dimension + 2) as i64).collect();
    let global = [0, 1, 1, 2, 3, usize::MAX][random.below(6)];
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let mut budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
    if random.chance(20) {
        budget = budget.freeze_attributes(&graph, &[random.below(dimension) as i64]).unwrap();
    }
    Problem { graph, gcn, budget, dyadic }
}

/// A certifier of parts that fit.
#[allow(dead_code)]
pub fn certifier_of(graph: &Graph, network: &Network, budget: Budget, bound: Bound) -> Certifier {
    let problem = gcnproof::Problem::new(graph.clone(), network.clone(), budget).expect("the parts of a test fit");
    Certifier::builder(problem).bound(bound).build()
}

/// A ring with a chord, an isolated node at the end, and labels as given.
pub fn ring(labels: &[i64]) -> Graph {
    let n = labels.len() as u32 - 1;
    let mut adjacency: Vec<Vec<u32>> = (0..n).map(|i| vec![(i + n - 1) % n, (i + 1) % n]).collect();
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    adjacency.push(Vec::new());
    let attributes = (0..=n).map(|i| vec![i % 5, 5 + i % 3]).collect();
    let mut file = graph(adjacency, attributes, 8).file().clone();
    file.labels = Some(labels.iter().map(|&label| u32::try_from(label).ok()).collect());
    Graph::from_file(file)
}
