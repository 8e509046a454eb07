//! Random small networks: one to three terms a layer, rules and matrices, weights of float32 or float64, of very
//! different sizes.

use gcnproof::internals::problem::network::{Layer, Term};
use gcnproof::nalgebra::DMatrix;
use gcnproof::sprs::TriMat;
use gcnproof::{Budget, Direction, Execution, Graph, Network, Operator, Problem};
use gcnproof_files::Normalisation;
use gcnproof_verify::random::Stream;

fn operator(random: &mut Stream, nodes: usize) -> Operator {
    match random.below(7) {
        0 => Operator::Identity,
        1 => Operator::Gcn,
        2 => Operator::MeanWithSelf,
        3 => Operator::SumWithSelf,
        4 => Operator::Polynomial(Box::new(Operator::Gcn), vec![0.25, 0.0, 0.75]),
        _ => {
            let mut matrix = TriMat::new((nodes, nodes));
            for (i, j) in (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))) {
                if random.chance(50) {
                    let value = random.real();
                    matrix.add_triplet(i, j, if random.chance(50) { f64::from(value as f32) } else { value });
                }
            }
            Operator::custom(&matrix.to_csr::<usize>()).unwrap()
        }
    }
}

/// The same with rows that are divided by their sums, in float32 or in float64.
pub fn divided_rows(seed: u64) -> (Problem, Execution) {
    let (problem, execution) = case(seed);
    let way = [Normalisation::Float32, Normalisation::Float64][(seed / 3 % 2) as usize];
    let (graph, network, budget) =
        (problem.graph().normalised(way), problem.network().clone(), problem.budget().clone());
    (Problem::new(graph, network, budget).unwrap(), execution)
}

/// The same with categories in the place of the attributes: one to three groups, of which rows may have none.
pub fn categories(seed: u64) -> (Problem, Execution) {
    let (plain, execution) = case(seed);
    let random = &mut Stream::new(seed ^ 0xca7e);
    let (nodes, columns) = (plain.graph().node_count(), plain.graph().attribute_count());
    let kinds = 1 + random.below(3);
    let mut groups: Vec<i64> =
        (0..columns).map(|_| if random.chance(10) { -1 } else { random.below(kinds) as i64 }).collect();
    groups[0] = groups[0].max(0);
    let empty = [0, 0, 30][random.below(3)];
    let own = plain.graph().file();
    let mut row = |node: usize| {
        let of_kind = |kind: i64, random: &mut Stream| {
            let members: Vec<usize> = (0..columns).filter(|&d| groups[d] == kind).collect();
            (!members.is_empty() && !random.chance(empty)).then(|| members[random.below(members.len())])
        };
        let mut list: Vec<usize> = (0..kinds as i64).filter_map(|kind| of_kind(kind, random)).collect();
        list.extend(own.attributes.row(node).iter().map(|&d| d as usize).filter(|&d| groups[d] < 0));
        list
    };
    let rows: Vec<Vec<usize>> = (0..nodes).map(&mut row).collect();
    let edges: Vec<(usize, usize)> =
        (0..nodes).flat_map(|i| own.adjacency.row(i).iter().map(move |&j| (i, j as usize))).collect();
    let graph = Graph::from_lists(&edges, &rows, columns).unwrap();
    let graph = Graph::from_file(graph.file().grouped(&groups).unwrap());
    let network = plain.network().clone().widened(&graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|n| plain.budget().local(n) as i64).collect();
    let budget = Budget::per_node(&graph, plain.budget().global(), &local).unwrap();
    let frozen: Vec<i64> = (0..columns as i64).filter(|_| random.chance(10)).collect();
    let budget = if frozen.is_empty() { budget } else { budget.freeze_attributes(&graph, &frozen).unwrap() };
    (Problem::new(graph, network, budget).unwrap(), execution)
}

/// A problem, and the executions that are drawn of it.
pub fn case(seed: u64) -> (Problem, Execution) {
    let mut stream = Stream::new(seed);
    let random = &mut stream;
    let (nodes, dimension) = (1 + random.below(5), 1 + random.below(7));
    let edges: Vec<(usize, usize)> =
        (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|_| random.chance(50)).collect();
    let attributes: Vec<Vec<usize>> =
        (0..nodes).map(|_| (0..dimension).filter(|_| random.chance(50)).collect()).collect();
    let graph = Graph::from_lists(&edges, &attributes, dimension).unwrap();
    let depth = 1 + random.below(3);
    // Small margins are where rounding matters.
    let small = if random.chance(40) { 1e-6 } else { 1.0 };
    let (single, tiny) = (random.chance(60), random.chance(5));
    let mut width = dimension;
    let mut layers = Vec::new();
    for l in 0..depth {
        let outputs = if l + 1 == depth { 2 + random.below(2) } else { 1 + random.below(5) };
        let number = |random: &mut Stream| {
            let x = random.real() * 10f64.powi(random.below(3) as i32 - 1) * if tiny { 1e-22 } else { 1.0 };
            if single { f64::from(x as f32) } else { x }
        };
        let count = if random.chance(70) { 1 } else { 2 + random.below(2) };
        let mut terms: Vec<Term> = (0..count)
            .map(|_| Term {
                operator: operator(random, nodes),
                weight: DMatrix::from_fn(width, outputs, |_, _| number(random)),
            })
            .collect();
        let mut bias: Vec<f64> = (0..outputs).map(|_| number(random)).collect();
        if l + 1 == depth && small < 1.0 {
            // Classes that nearly agree.
            for j in 1..outputs {
                for term in &mut terms {
                    for i in 0..width {
                        let w = term.weight[(i, 0)] * (1.0 + small * random.real());
                        term.weight[(i, j)] = if single { f64::from(w as f32) } else { w };
                    }
                }
                bias[j] = bias[0];
            }
        }
        let linear = if random.chance(20) { (0..outputs).map(|_| random.chance(50)).collect() } else { Vec::new() };
        layers.push(Layer::of_terms(&graph, &terms, &bias, linear).unwrap());
        width = outputs;
    }
    let network = Network::new(layers).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| random.below(dimension + 1) as i64).collect();
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let global = [0, 1, 1, 2, 3][random.below(5)];
    let budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
    let execution = Execution { flush_subnormals: random.chance(30), ..Execution::FLOAT32 };
    (Problem::new(graph, network, budget).unwrap(), execution)
}
