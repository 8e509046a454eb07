//! A graph, a network and a budget of changes, as plain data.

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile};

use crate::case::{bare, pattern};
use crate::generate::model;
use crate::random::Random;

/// The ends of an edge: ascending, or sender and receiver.
pub type Ends = (u32, u32);

/// What is done to edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Remove,
    Insert,
    Change,
}

/// Which edges may be inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    All,
    Within(usize),
    Listed(Vec<Ends>),
}

/// What may be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    pub done: Done,
    pub directed: bool,
    pub allowed: Allowed,
    pub global: usize,
    pub local: Vec<usize>,
    pub keep_one: bool,
    pub frozen: Vec<Ends>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct ChangeCase {
    pub origin: String,
    pub graph: GraphFile,
    pub model: ModelFile,
    /// By layer and term.
    pub rules: Vec<Vec<&'static str>>,
    pub means: Means,
}

const NAMES: [&str; 9] =
    ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity", "poly(sum;1.25,1)", "poly(sum;-0.5,1.0,0)"];

impl ChangeCase {
    pub fn nodes(&self) -> usize {
        self.graph.adjacency.rows
    }

    /// Pairs of nodes as ends of an edge, whether there is one or not.
    pub fn pairs(&self) -> Vec<Ends> {
        let nodes = self.nodes() as u32;
        let all = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
        all.filter(|&(i, j)| if self.means.directed { i != j } else { i < j }).collect()
    }

    /// The graph of a node, where graphs are classified.
    pub fn graph_of(&self, node: usize) -> u32 {
        self.graph.batch.as_ref().map_or(0, |batch| batch[node])
    }

    /// Has the graph this edge? Rows hold senders.
    pub fn is_there(&self, (from, to): Ends) -> bool {
        self.graph.adjacency.contains(to as usize, from)
    }
}

const READOUTS: [&str; 2] = ["pool-sum", "pool-mean"];

/// What the rows of a unit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsOf {
    Nodes,
    Graphs,
}

/// What a rule makes of rows; nothing where they do not belong together.
fn gives(rule: &str, read: RowsOf) -> Option<RowsOf> {
    match (rule, read) {
        ("identity", read) => Some(read),
        ("pool-sum" | "pool-mean", RowsOf::Nodes) => Some(RowsOf::Graphs),
        (_, RowsOf::Nodes) => (!READOUTS.contains(&rule)).then_some(RowsOf::Nodes),
        _ => None,
    }
}

/// The graph of each node: one to three graphs.
fn batch(nodes: usize, random: &mut Random) -> Vec<u32> {
    let mut graph = 0;
    let mut next = |node: usize| {
        graph += u32::from(node > 0 && random.percent(30));
        graph
    };
    (0..nodes).map(&mut next).collect()
}

/// A number on a coarse grid; some are 0.
fn number(random: &mut Random, grid: f64) -> f64 {
    random.between(-4, 4) as f64 * grid
}

/// The case of a seed and a number.
pub fn generate(seed: u64, number_of: u64) -> ChangeCase {
    let random = &mut Random::new(seed ^ 0xc4a6, number_of);
    let directed = random.percent(35);
    let done = random.pick(&[Done::Remove, Done::Insert, Done::Change, Done::Change]);
    let global = random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
    let nodes = match (global, directed) {
        (0..=1, _) => 2 + random.below(6),
        (2, false) => 2 + random.below(5),
        (2, true) => 2 + random.below(4),
        (_, false) => 2 + random.below(3),
        _ => 2 + random.below(2),
    };
    let batch = random.percent(40).then(|| batch(nodes, random));
    let together = |i: usize, j: usize| batch.as_ref().is_none_or(|batch| batch[i] == batch[j]);
    let density = random.pick(&[0, 20, 40, 60, 100]);
    let mut rows = vec![Vec::new(); nodes];
    for i in 0..nodes {
        for j in 0..nodes {
            let both = !directed || random.percent(50);
            if i != j && (!both || i < j) && random.percent(density) && together(i, j) {
                rows[i].push(j as u32);
                if both {
                    rows[j].push(i as u32);
                }
            }
        }
        if random.percent(8) {
            rows[i].push(i as u32);
        }
    }
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
    }
    let attributes = 1 + random.below(3);
    let present: Vec<Vec<u32>> =
        (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.percent(60)).collect()).collect();
    let (adjacency, attributes_of) = (pattern(nodes, &rows), pattern(attributes, &present));
    let graph = GraphFile { adjacency, attributes: attributes_of, batch, ..bare() };
    let depth = random.pick(&[1, 2, 2, 2, 3, 3, 4, 5]);
    let grid = random.pick(&[1.0, 0.5, 0.5, 0.1]);
    let (mut layers, mut rules, mut inputs) = (Vec::new(), Vec::new(), attributes);
    // Directed edges do not determine gcn-self: who sends may receive from nobody.
    let known: Vec<&'static str> = NAMES.into_iter().filter(|&name| !directed || name != "gcn-self").collect();
    let favourite = random.pick(&known);
    let (mut below, mut readout) = (vec![RowsOf::Nodes; attributes], false);
    for layer in 0..depth {
        let outputs = if layer + 1 == depth { 2 + random.below(2) } else { 1 + random.below(3) };
        let terms = random.pick(&[1, 1, 2]);
        let mut names: Vec<&'static str> =
            (0..terms).map(|_| if random.percent(60) { favourite } else { random.pick(&known) }).collect();
        let last = layer + 1 == depth;
        let mut given = vec![RowsOf::Nodes; outputs];
        if graph.batch.is_some() {
            let pooled = below.contains(&RowsOf::Graphs);
            if last && !readout || random.percent(40) {
                names[0] = random.pick(&READOUTS);
                readout = true;
            }
            if pooled && !names.contains(&"identity") {
                names.push("identity");
            }
            given.fill_with(|| {
                if last || pooled && random.percent(70) {
                    RowsOf::Graphs
                } else {
                    random.pick(&[RowsOf::Nodes, RowsOf::Graphs])
                }
            });
        }
        let rows = inputs * names.len();
        let mut values: Vec<f64> = (0..rows * outputs).map(|_| number(random, grid)).collect();
        for (at, value) in values.iter_mut().enumerate() {
            let (row, output) = (at / outputs, at % outputs);
            if gives(names[row / inputs], below[row % inputs]) != Some(given[output]) {
                *value = 0.0;
            }
        }
        below = given;
        layers.push(LayerFile {
            weight: DenseMatrix { rows, columns: outputs, values },
            bias: (0..outputs).map(|_| number(random, grid)).collect(),
            linear: if layer + 1 < depth && random.percent(15) {
                (0..outputs).map(|_| random.percent(50)).collect()
            } else {
                Vec::new()
            },
            operators: names.iter().map(|name| name.to_string()).collect(),
            ..LayerFile::default()
        });
        rules.push(names);
        inputs = outputs;
    }
    let uniform = random.percent(50).then(|| random.pick(&[0, 1, 2, 2, 1_000_000]));
    let local = (0..nodes).map(|_| uniform.unwrap_or_else(|| random.pick(&[0, 1, 1, 2, 3]))).collect();
    let means = Means {
        done,
        directed,
        allowed: Allowed::All,
        global,
        local,
        keep_one: random.percent(50),
        frozen: Vec::new(),
    };
    let origin = format!("seed {seed}, case {number_of} of changes");
    let mut case = ChangeCase { origin, graph, model: model(layers), rules, means };
    case.means.frozen = case.pairs().into_iter().filter(|&e| case.is_there(e) && random.percent(10)).collect();
    let linkable = |case: &ChangeCase, e: &Ends| case.graph_of(e.0 as usize) == case.graph_of(e.1 as usize);
    case.means.allowed = match random.below(6) {
        0 => Allowed::Within(random.below(4)),
        1 => {
            let missing = case.pairs().into_iter().filter(|e| !case.is_there(*e) && linkable(&case, e));
            Allowed::Listed(missing.filter(|_| random.percent(50)).collect())
        }
        _ => Allowed::All,
    };
    // Networks with one hidden layer and one term have an area of their own for removals, but are looked at here as
    // well.
    case
}
