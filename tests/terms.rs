//! Networks as sums of terms against brute force: several operators per layer that may meet, skips as units without activation,
//! biases by node. All numbers are small multiples of 1/4, so that plain f64 is exact and ties are ties.
#![allow(missing_docs)]

mod common;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::network::{Layer, Term};
use gcnproof::proof::{header, model_file};
use gcnproof::{
    Bound, Budget, Certifier, Direction, Effort, Graph, Limits, Margins, Network, Operator, Problem, Reason, Verdict,
};
use gcnproof_check::format::{Convention, Line};
use gcnproof_check::{Checker, Statement, Verdict as Judgement};
use gcnproof_verify::random::Stream;
use nalgebra::DMatrix;
use sprs::TriMat;

/// A network as dense matrices, and what it computes.
struct Dense {
    layers: Vec<DenseLayer>,
}

struct DenseLayer {
    terms: Vec<(DMatrix<f64>, DMatrix<f64>)>,
    /// Nodes × outputs.
    bias: DMatrix<f64>,
    linear: Vec<bool>,
}

impl Dense {
    /// All pre-activations, layer after layer.
    fn forward(&self, attributes: &DMatrix<f64>) -> Vec<DMatrix<f64>> {
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

struct Case {
    problem: Problem,
    dense: Dense,
    attributes: DMatrix<f64>,
}

fn quarter(random: &mut Stream, largest: i64) -> f64 {
    (random.below(2 * largest as usize + 1) as i64 - largest) as f64 / 4.0
}

fn matrix(random: &mut Stream, rows: usize, columns: usize, density: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| if random.below(100) < density { quarter(random, 6) } else { 0.0 })
}

/// Which networks are drawn.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// One to three terms for each layer.
    Any,
    /// Only the last layer passes messages, in one term.
    PerNode,
    /// One term for each layer, and margins that are often large.
    Single,
}

fn case(seed: u64, shape: Shape) -> Case {
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
    fn visit(&self, each: &mut impl FnMut(&DMatrix<f64>)) {
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

#[test]
fn verdicts_margins_and_bounds_are_those_of_brute_force() {
    let count = std::env::var("GCNPROOF_TERMS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000u64);
    compare(0..count, Shape::Any);
}

/// Only the last layer passes messages, as in APPNP.
#[test]
fn nodes_by_themselves_before_one_step_of_message_passing() {
    let count = std::env::var("GCNPROOF_TERMS").ok().and_then(|count| count.parse().ok()).unwrap_or(4_000u64);
    compare(700_000..700_000 + count, Shape::PerNode);
}

/// Path bounds decide first what is robust by far.
#[test]
fn nodes_that_are_robust_by_far() {
    compare(900_000..904_000, Shape::Single);
}

fn compare(seeds: std::ops::Range<u64>, shape: Shape) {
    let mut workspace = Workspace::default();
    let (mut robust, mut broken, mut pairs, mut tree_nodes, mut attained, mut units, mut proved, mut by_paths) =
        (0, 0, 0, 0, 0, 0, 0, 0);
    let count = seeds.clone().count();
    for seed in seeds {
        let case = case(seed, shape);
        let limits = Limits { nodes: 20_000, ..Limits::default() };
        let certifier = Certifier::builder(case.problem.clone()).bound(Bound::Best).build();
        // Every pre-activation lies within its bounds, and at the first layer the bounds are attained.
        let bounds = certifier.prepared().activation_bounds();
        let mut reached = vec![Vec::new(); bounds.len()];
        for (of, bounds) in reached.iter_mut().zip(bounds) {
            *of = vec![(f64::INFINITY, f64::NEG_INFINITY); bounds.lower.len()];
        }
        let logits = case.dense.forward(&case.attributes).pop().unwrap();
        let classes = logits.ncols();
        let mut least = vec![vec![f64::INFINITY; classes * classes]; logits.nrows()];
        case.visit(&mut |attributes| {
            let mut all = case.dense.forward(attributes);
            let logits = all.pop().unwrap();
            for (n, least) in least.iter_mut().enumerate() {
                for (c, k) in (0..classes).flat_map(|c| (0..classes).map(move |k| (c, k))) {
                    least[c * classes + k] = least[c * classes + k].min(logits[(n, c)] - logits[(n, k)]);
                }
            }
            for (of, z) in reached.iter_mut().zip(&all) {
                for (n, j) in (0..z.nrows()).flat_map(|n| (0..z.ncols()).map(move |j| (n, j))) {
                    let slot = &mut of[n * z.ncols() + j];
                    *slot = (slot.0.min(z[(n, j)]), slot.1.max(z[(n, j)]));
                }
            }
        });
        for (l, (of, bounds)) in reached.iter().zip(bounds).enumerate() {
            for (at, &(low, high)) in of.iter().enumerate() {
                let (r, s) = match bounds.interval.get(at) {
                    Some(&interval) if bounds.is_linear(at % bounds.width) => interval,
                    _ => (bounds.lower[at], bounds.upper[at]),
                };
                assert!(r <= low && high <= s, "seed {seed}: layer {l}, unit {at}: [{low}, {high}] outside [{r}, {s}]");
                units += 1;
                if l == 0 {
                    let tight = |x: f64, y: f64| (x - y).abs() <= 1e-9;
                    assert!(tight(r, low) && tight(s, high), "seed {seed}: unit {at}: [{low}, {high}] in [{r}, {s}]");
                    attained += 1;
                }
            }
        }
        let network = case.problem.network();
        // The rules count only where the network is a plain one.
        let rules: Vec<Operator> = network.layers().iter().map(|layer| layer.operators[0].clone()).collect();
        let digests = (case.problem.graph().digest(), "");
        let header = header(digests, (network, &rules), case.problem.budget(), Convention::Predicted);
        let (graph, model) = (case.problem.graph().file(), model_file(network, ""));
        let statement = Statement::new(&graph, &model, &header, &network.own_matrices()).unwrap();
        let checker = Checker::new(&statement, seed % 2 == 0);
        for effort in [Effort::Complete(limits), Effort::Minimize { limits, gap: 1e-10 }] {
            let exact = matches!(effort, Effort::Minimize { .. });
            // Without proofs the table of the nodes comes before the search.
            let proofs = shape == Shape::Any || seed % 3 == 0;
            let margins = if shape == Shape::Single { Margins::Fast } else { Margins::Tight };
            let builder = Certifier::builder(case.problem.clone()).bound(Bound::Best);
            let certifier = builder.margins(margins).effort(effort).build();
            let certifier = if proofs { certifier.with_proofs() } else { certifier };
            for (node, least) in least.iter().enumerate() {
                let result = certifier.certify_node(node, &mut workspace);
                tree_nodes += result.search_nodes;
                by_paths += usize::from(result.reason == Reason::PathBound);
                let mut all = f64::INFINITY;
                for margin in &result.margins {
                    let truth = least[result.reference * classes + margin.class];
                    all = all.min(truth);
                    pairs += 1;
                    assert!(
                        margin.lower <= truth && truth <= margin.upper,
                        "seed {seed}, node {node}: {truth} {margin:?}"
                    );
                    let gap = margin.upper - margin.lower;
                    assert!(
                        !exact || gap <= 1e-8 * (1.0 + truth.abs()),
                        "seed {seed}, node {node}: {truth} {margin:?}"
                    );
                }
                match result.proof_line(&checker) {
                    _ if !proofs => {}
                    Line::Node(proof) => {
                        let judged = checker.check(&proof).unwrap();
                        let robust = result.verdict == Verdict::Robust;
                        assert_eq!(judged == Judgement::Robust, robust, "seed {seed}, node {node}: {result:?}");
                        proved += 1;
                    }
                    other => panic!("seed {seed}, node {node}: no proof: {other:?} {result:?}"),
                }
                match result.verdict {
                    Verdict::Robust => {
                        robust += 1;
                        assert!(all > 0.0, "seed {seed}, node {node}: {all} {result:?}");
                    }
                    Verdict::NonRobust => {
                        broken += 1;
                        assert!(all <= 0.0, "seed {seed}, node {node}: {all} {result:?}");
                        let mut attributes = case.attributes.clone();
                        for flip in &result.witness {
                            let slot = &mut attributes[(flip.node as usize, flip.attribute as usize)];
                            *slot = 1.0 - *slot;
                        }
                        let logits = case.dense.forward(&attributes).pop().unwrap();
                        let reference = logits[(node, result.reference)];
                        let others = (0..classes).filter(|&k| k != result.reference);
                        let margin = others.map(|k| reference - logits[(node, k)]).fold(f64::INFINITY, f64::min);
                        assert!(margin <= 0.0, "seed {seed}, node {node}: the witness leaves {margin}");
                    }
                    Verdict::Undecided => panic!("seed {seed}, node {node}: {result:?}"),
                }
            }
        }
    }
    println!(
        "{count} networks, {robust} robust, {broken} non-robust, {pairs} pairs, {tree_nodes} tree nodes, {proved} proofs; {units} units, {attained} attained; \
         {by_paths} by path bounds"
    );
    assert!(shape != Shape::Single || by_paths > robust / 8, "path bounds decide next to nothing");
}

/// The LP, the ILP and the MILP of the same problems, by solvers that share nothing with the certifier.
#[cfg(feature = "laboratory")]
#[test]
fn programs_of_independent_solvers_agree() {
    use gcnproof::laboratory::measurement::{Settings, pairs};
    let settings =
        Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 10.0 };
    let count = std::env::var("GCNPROOF_TERMS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300u64);
    let (mut rows, mut exact) = (0, 0);
    for seed in 0..count {
        let case = case(500_000 + seed, if seed % 4 == 0 { Shape::PerNode } else { Shape::Any });
        let effort = Effort::Minimize { limits: Limits::default(), gap: 0.0 };
        let certifier = Certifier::builder(case.problem.clone()).effort(effort).build();
        let node = seed as usize % case.attributes.nrows();
        let reference = certifier.predicted(node);
        let others: Vec<usize> = (0..case.problem.network().class_count()).filter(|&k| k != reference).collect();
        let mut least = vec![f64::INFINITY; case.problem.network().class_count()];
        case.visit(&mut |attributes| {
            let logits = case.dense.forward(attributes).pop().unwrap();
            others.iter().for_each(|&k| least[k] = least[k].min(logits[(node, reference)] - logits[(node, k)]));
        });
        for row in pairs(&certifier, &settings, node, &others) {
            assert_eq!(row.violation, None, "seed {seed}: {row:?}");
            let truth = least[row.class as usize];
            let near =
                |value: Option<f64>| value.is_some_and(|value| (value - truth).abs() <= 1e-6 * (1.0 + truth.abs()));
            assert!(near(row.milp) && near(row.exact), "seed {seed}: {truth} {row:?}");
            for below in [row.dual_default, row.dual_optimal, row.lp_highs, row.ilp] {
                assert!(below.is_some_and(|below| below <= truth + 1e-6), "seed {seed}: {truth} {row:?}");
            }
            rows += 1;
            exact += usize::from(row.ilp.is_some_and(|ilp| ilp >= truth - 1e-6));
        }
    }
    println!("{count} networks, {rows} pairs, the ILP is exact at {exact}");
}
