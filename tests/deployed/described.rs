//! Executions are drawn from the program that a model file describes, not from the chain that we compute with: neither
//! the certifier's error bound nor the checker's own is exceeded, and no verdict is contradicted.
//!
//! `GCNPROOF_DESCRIBED=2000x100` draws so many programs, and so many executions of each.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::model_file;
use gcnproof::{Budget, DeployedVerdict, Direction, Execution, Graph, NodeResult, Problem};
use gcnproof_check::format::{Claim, ClassProof, Convention, Header, NodeProof, Step};
use gcnproof_check::{Checker, Reason, Statement};
use gcnproof_verify::random::Stream;
use rayon::prelude::*;

use crate::program::{Layer, Program, Term, Weights};
use crate::proofs::stated;
use crate::{attributes, certifier, perturbation};

const UNIT: f64 = 1.0 / 16_777_216.0;

/// How numbers are rounded: as binary32 does, or each by a whole unit roundoff in the direction that is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Nearest,
    Worst,
}

/// A summand: a number, or a product that is not rounded yet.
#[derive(Clone, Copy)]
enum Leaf {
    Value(f64),
    Product(f64, f64),
}

/// One execution of a program.
struct Run<'a> {
    program: &'a Program,
    random: &'a mut Stream,
    rounding: Rounding,
    /// By described layer and term.
    errors: &'a [Vec<u32>],
}

impl Run<'_> {
    fn round(&self, x: f64, toward: f64) -> f64 {
        match self.rounding {
            Rounding::Nearest => f64::from(x as f32),
            Rounding::Worst => x + x.abs() * UNIT * toward,
        }
    }

    fn value(&self, leaf: Leaf, toward: f64) -> f64 {
        match leaf {
            Leaf::Value(x) => x,
            // Exact in any format.
            Leaf::Product(a, b) if a == 1.0 || b == 1.0 || a == 0.0 || b == 0.0 => a * b,
            Leaf::Product(a, b) => self.round(a * b, toward),
        }
    }

    /// Largest first, or in a random order, or in a random tree; products fused or not.
    fn sum(&mut self, mut leaves: Vec<Leaf>, toward: f64) -> f64 {
        let plain = |leaf: &Leaf| match leaf {
            Leaf::Value(x) => *x,
            Leaf::Product(a, b) => a * b,
        };
        leaves.retain(|leaf| plain(leaf) != 0.0);
        let shape = self.random.below(3);
        if shape == 0 {
            leaves.sort_by(|x, y| plain(x).abs().total_cmp(&plain(y).abs()));
        } else {
            (1..leaves.len()).rev().for_each(|at| leaves.swap(at, self.random.below(at + 1)));
        }
        while leaves.len() > 1 {
            let first = leaves.pop().unwrap();
            let at = if shape == 2 { self.random.below(leaves.len()) } else { leaves.len() - 1 };
            let second = leaves.remove(at);
            let sum = match (first, second) {
                (Leaf::Product(a, b), other) | (other, Leaf::Product(a, b)) if self.random.chance(30) => {
                    a * b + self.value(other, toward)
                }
                (x, y) => self.value(x, toward) + self.value(y, toward),
            };
            leaves.push(Leaf::Value(self.round(sum, toward)));
        }
        leaves.pop().map_or(0.0, |leaf| self.value(leaf, toward))
    }

    /// An operator entry as this execution has it.
    fn entry(&mut self, a: f64, error: u32, toward: f64) -> f64 {
        let units = match (error, a == f64::from(a as f32)) {
            (0, true) => return a,
            (0, false) => 1.0,
            (error, _) => f64::from(error),
        };
        match self.rounding {
            Rounding::Worst => a + a.abs() * units * UNIT * toward,
            Rounding::Nearest => {
                let moved = a * (1.0 + self.random.real() * 0.99 * (units - 1.0) * UNIT);
                f64::from(moved as f32)
            }
        }
    }

    /// What one node sends to a unit, weights first; all terms of `terms` have one operator, and their products are
    /// summed together.
    fn sent(&mut self, terms: &[&Term], read: &[&[Vec<f64>]], (n, j): (usize, usize), toward: f64) -> f64 {
        let mut leaves = Vec::new();
        for (term, read) in terms.iter().zip(read) {
            match &term.weights {
                Weights::Nothing => leaves.push(Leaf::Value(read[n][j])),
                Weights::Plain(weights) => {
                    leaves.extend(read[n].iter().zip(weights).map(|(&h, row)| Leaf::Product(h, row[j])));
                }
                Weights::Composed(..) => {
                    let value = self.composed(term, &read[n], j, toward);
                    leaves.push(Leaf::Value(value));
                }
            }
        }
        self.sum(leaves, toward)
    }

    /// `(row W_1 + b_1) W_2`.
    fn composed(&mut self, term: &Term, row: &[f64], j: usize, toward: f64) -> f64 {
        let Weights::Composed(first, inner, second) = &term.weights else { return 0.0 };
        let mut leaves = Vec::new();
        for (k, out) in second.iter().enumerate() {
            let here = toward * sign(out[j]);
            let mut inside: Vec<Leaf> = row.iter().zip(first).map(|(&h, w)| Leaf::Product(h, w[k])).collect();
            inside.extend(inner.as_ref().map(|bias| Leaf::Value(bias[k])));
            let between = self.sum(inside, here);
            leaves.push(Leaf::Product(between, out[j]));
        }
        self.sum(leaves, toward)
    }

    /// A term as summands of a unit of node `m`.
    fn term(&mut self, term: &Term, error: u32, read: &[Vec<f64>], (m, j): (usize, usize), toward: f64) -> Vec<Leaf> {
        let senders: Vec<usize> = (0..read.len()).filter(|&n| term.entries[m][n] != 0.0).collect();
        let width = read.first().map_or(0, Vec::len);
        match self.random.below(3) {
            // Weights first.
            0 => {
                let mut leaves = Vec::new();
                for n in senders {
                    let a = term.entries[m][n];
                    let sent = self.sent(&[term], &[read], (n, j), toward * sign(a));
                    leaves.push(Leaf::Product(self.entry(a, error, toward * sign(sent)), sent));
                }
                leaves
            }
            // Messages between two linear layers.
            1 if matches!(term.weights, Weights::Composed(_, None, _)) => {
                let Weights::Composed(first, _, second) = &term.weights else { return Vec::new() };
                let mut leaves = Vec::new();
                for (k, out) in second.iter().enumerate() {
                    let here = toward * sign(out[j]);
                    let mut inside = Vec::new();
                    for &n in &senders {
                        let a = term.entries[m][n];
                        let products = read[n].iter().zip(first).map(|(&h, w)| Leaf::Product(h, w[k])).collect();
                        let sent = self.sum(products, here * sign(a));
                        inside.push(Leaf::Product(self.entry(a, error, here * sign(sent)), sent));
                    }
                    let between = self.sum(inside, here);
                    leaves.push(Leaf::Product(between, out[j]));
                }
                vec![Leaf::Value(self.sum(leaves, toward))]
            }
            // Messages first.
            _ => {
                let mut received = Vec::new();
                for i in 0..width {
                    let here = match &term.weights {
                        Weights::Plain(weights) => toward * sign(weights[i][j]),
                        _ => toward,
                    };
                    let mut inside = Vec::new();
                    for &n in &senders {
                        let a = self.entry(term.entries[m][n], error, here * sign(read[n][i]));
                        inside.push(Leaf::Product(a, read[n][i]));
                    }
                    received.push(self.sum(inside, here));
                }
                match &term.weights {
                    Weights::Nothing => vec![Leaf::Value(received[j])],
                    Weights::Plain(weights) => {
                        received.iter().zip(weights).map(|(&got, row)| Leaf::Product(got, row[j])).collect()
                    }
                    Weights::Composed(..) => vec![Leaf::Value(self.composed(term, &received, j, toward))],
                }
            }
        }
    }

    /// A unit before its activation.
    fn unit(&mut self, layer: &Layer, at: usize, values: &[Vec<Vec<f64>>], (m, j): (usize, usize), toward: f64) -> f64 {
        let x = &values[0];
        let read = |term: &Term| -> &[Vec<f64>] { term.source.map_or(x, |of| &values[of + 1]) };
        let scale = layer.norm.as_ref().map_or(1.0, |norm| norm.scale[j]);
        let here = toward * sign(scale);
        let mut leaves = vec![Leaf::Value(layer.bias[j])];
        let first = &layer.terms[0];
        let same: Vec<&Term> = layer.terms.iter().filter(|term| term.rule == first.rule).collect();
        // Terms with one operator, concatenated.
        let merged = same.len() > 1 && self.random.chance(25);
        if merged {
            let reads: Vec<&[Vec<f64>]> = same.iter().map(|term| read(term)).collect();
            for n in (0..x.len()).filter(|&n| first.entries[m][n] != 0.0) {
                let a = first.entries[m][n];
                let sent = self.sent(&same, &reads, (n, j), here * sign(a));
                leaves.push(Leaf::Product(self.entry(a, self.errors[at][0], here * sign(sent)), sent));
            }
        }
        for (k, term) in layer.terms.iter().enumerate().filter(|(_, term)| !merged || term.rule != first.rule) {
            leaves.extend(self.term(term, self.errors[at][k], read(term), (m, j), here));
        }
        let z = self.sum(leaves, here);
        let Some(norm) = &layer.norm else { return z };
        let (mean, shift) = (norm.mean[j], norm.shift[j]);
        let scaled = |run: &Self, toward: f64| run.round(scale * (1.0 + 3.0 * UNIT * toward * sign(scale)), 0.0);
        if self.random.chance(50) {
            let centred = self.sum(vec![Leaf::Value(z), Leaf::Value(-mean)], here);
            let scale = scaled(self, toward * sign(centred));
            self.sum(vec![Leaf::Product(centred, scale), Leaf::Value(shift)], toward)
        } else {
            let scale = scaled(self, toward * sign(z));
            let moved = self.sum(vec![Leaf::Value(shift), Leaf::Product(-mean, scale)], toward);
            self.sum(vec![Leaf::Product(z, scale), Leaf::Value(moved)], toward)
        }
    }

    /// The logits of all nodes, each pulled in a direction of its own.
    fn logits(&mut self, attributes: &[Vec<bool>], pull: [f64; 2]) -> Vec<Vec<f64>> {
        let x: Vec<Vec<f64>> =
            attributes.iter().map(|row| row.iter().map(|&x| f64::from(u8::from(x))).collect()).collect();
        let mut values = vec![x];
        for (at, layer) in self.program.layers.iter().enumerate() {
            let last = at + 1 == self.program.layers.len();
            let toward: Vec<f64> =
                (0..layer.outputs()).map(|j| if last { pull[j] } else { [1.0, -1.0][self.random.below(2)] }).collect();
            let mut next = Vec::new();
            for m in 0..attributes.len() {
                let mut row = Vec::new();
                for (j, &toward) in toward.iter().enumerate() {
                    let z = self.unit(layer, at, &values, (m, j), toward);
                    row.push(if layer.linear[j] { z } else { z.max(0.0) });
                }
                next.push(row);
            }
            values.push(next);
        }
        values.pop().unwrap()
    }
}

fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

/// By how much the checker lets a margin be wrong: what a bound that is not enough falls short by, more than without
/// rounding.
fn allowed(problem: &Problem, header: &Header, node: usize, class: [u32; 2]) -> Option<f64> {
    let labelled = problem.graph().with_labels(vec![Some(class[0]); problem.graph().node_count()]).unwrap();
    let (graph, model) = (labelled.file(), model_file(problem.network(), ""));
    let lower = |header: &Header| {
        let header = Header { classes: Convention::Labels, graph: graph.digest.clone(), ..header.clone() };
        let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
        let tree = vec![Step::Hints(Box::default())];
        let claim = Claim::Robust(vec![ClassProof { class: class[1], tree }]);
        match Checker::new(&statement, true).check(&NodeProof { id: node as u32, class: class[0], claim }) {
            Err(fault) => match fault.reason {
                Reason::Bound(bound) => Some(bound.lower.to_f64()),
                _ => None,
            },
            Ok(_) => None,
        }
    };
    Some(lower(&Header { deployed: None, ..header.clone() })? - lower(header)?)
}

/// What was seen of one program.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The largest share of the certifier's bound and of the checker's that an error has reached.
    most: f64,
    checked: f64,
    /// Nodes that are robust as deployed.
    robust: usize,
    /// Errors beyond the bound that the chain would have by itself, of programs into which nothing was folded.
    beyond: usize,
}

fn hold(seed: u64, executions: usize) -> Seen {
    let mut stream = Stream::new(seed);
    let random = &mut stream;
    let (nodes, dimension) = (1 + random.below(6), 1 + random.below(6));
    let edges: Vec<(usize, usize)> =
        (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|_| random.chance(60)).collect();
    let rows: Vec<Vec<usize>> = (0..nodes).map(|_| (0..dimension).filter(|_| random.chance(60)).collect()).collect();
    let graph = Graph::from_lists(&edges, &rows, dimension).unwrap();
    let program = Program::draw(random, &graph);
    let [network, chain] = program.described(&graph);
    let local: Vec<i64> = (0..nodes).map(|_| random.below(dimension + 1) as i64).collect();
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let budget = Budget::per_node(&graph, [0, 1, 2, 3][random.below(4)], &local).unwrap().with_direction(direction);
    let of_chain = Problem::new(graph.clone(), chain, budget.clone()).unwrap();
    let problem = Problem::new(graph, network, budget).unwrap();
    let execution = Execution::FLOAT32;
    let chained = certifier(&of_chain, execution);
    let certifier = certifier(&problem, execution);
    let results: Vec<NodeResult> =
        (0..nodes).map(|node| certifier.certify_node(node, &mut Workspace::default())).collect();
    let robust = |result: &NodeResult| result.deployed.as_ref().unwrap().verdict == DeployedVerdict::Robust;
    // The class that loses is asked about, so that bounds are not enough, and told.
    let node = random.below(nodes);
    let plain = program.exact(&attributes(problem.graph(), &[]));
    let losing = if plain[node][0] <= plain[node][1] { [0, 1] } else { [1, 0] };
    let own = certifier.errors().unwrap().margin_error(node, losing[0] as usize, losing[1] as usize);
    let checked = allowed(&problem, &stated(&problem, Some(execution)), node, losing);
    if let Some(checked) = checked {
        let open = 1e-9 * own + 1e-13 * plain[node].iter().map(|z| z.abs()).sum::<f64>();
        assert!(checked <= own + open, "seed {seed}: the checker allows {checked:e}, the certifier {own:e}");
        assert!(
            own <= checked * (1.0 + 1e-4) + open,
            "seed {seed}: the checker allows {checked:e}, the certifier {own:e}"
        );
    }
    let stated_errors = execution.operator_errors(problem.graph(), problem.network());
    let described = &problem.network().described().layers;
    let errors: Vec<Vec<u32>> = described
        .iter()
        .map(|layer| layer.terms.iter().map(|of| stated_errors[layer.layer][of.operator]).collect())
        .collect();
    // Layers are described in the order in which they are written, here that of the program.
    assert_eq!(described.len(), program.layers.len());
    let order = order(&program);
    let errors: Vec<Vec<u32>> = (0..errors.len()).map(|at| errors[order[at]].clone()).collect();
    let mut seen = Seen { robust: results.iter().filter(|result| robust(result)).count(), ..Seen::default() };
    for count in 0..executions {
        let flips = if count % 3 == 0 { Vec::new() } else { perturbation(&problem, random) };
        let input = attributes(problem.graph(), &flips);
        let exact = program.exact(&input);
        let pull = [[1.0, -1.0], [-1.0, 1.0]][random.below(2)];
        let rounding = [Rounding::Nearest, Rounding::Worst][count % 2];
        let computed = Run { program: &program, random, rounding, errors: &errors }.logits(&input, pull);
        let error = |node: usize, [y, class]: [usize; 2]| {
            ((computed[node][y] - computed[node][class]) - (exact[node][y] - exact[node][class])).abs()
        };
        for result in &results {
            let (node, pair) = (result.node, [result.reference, 1 - result.reference]);
            let bound = result.deployed.as_ref().unwrap().errors[0];
            // What f64 leaves open of sums whose sizes the bound is proportional to.
            assert!(
                error(node, pair) <= bound * (1.0 + 1e-6),
                "seed {seed}, node {node}: {} > {bound}",
                error(node, pair)
            );
            seen.most = seen.most.max(error(node, pair) / bound);
            let chain = chained.errors().unwrap().margin_error(node, pair[0], pair[1]);
            seen.beyond += usize::from(program.is_plain() && error(node, pair) > chain * (1.0 + 1e-6));
            if rounding == Rounding::Nearest && robust(result) {
                assert!(
                    computed[node][pair[0]] > computed[node][pair[1]],
                    "seed {seed}, node {node}: robust, but broken by {flips:?}"
                );
            }
        }
        if let Some(checked) = checked {
            let error = error(node, losing.map(|class| class as usize));
            assert!(error <= checked * (1.0 + 1e-6) + 1e-18, "seed {seed}, node {node}: {error} > {checked} (checker)");
            seen.checked = seen.checked.max(error / checked);
        }
    }
    seen
}

/// Where each layer of a program comes in the description: depth first from the logits, as the reader sorts them.
fn order(program: &Program) -> Vec<usize> {
    fn visit(program: &Program, at: usize, places: &mut Vec<Option<usize>>, next: &mut usize) {
        if places[at].is_some() {
            return;
        }
        for of in program.layers[at].terms.iter().filter_map(|term| term.source) {
            visit(program, of, places, next);
        }
        places[at] = Some(*next);
        *next += 1;
    }
    let mut places = vec![None; program.layers.len()];
    visit(program, program.layers.len() - 1, &mut places, &mut 0);
    places.into_iter().flatten().collect()
}

#[test]
fn no_execution_of_a_description_exceeds_its_bound() {
    let asked = std::env::var("GCNPROOF_DESCRIBED").unwrap_or("300x40".into());
    let (programs, executions) = asked.split_once('x').expect("PROGRAMSxEXECUTIONS");
    let (programs, executions): (u64, usize) = (programs.parse().unwrap(), executions.parse().unwrap());
    let all: Vec<Seen> = (0..programs).into_par_iter().map(|seed| hold(seed, executions)).collect();
    let told = all.iter().filter(|seen| seen.checked > 0.0).count();
    let seen = all.into_iter().fold(Seen::default(), |sum, seen| Seen {
        most: sum.most.max(seen.most),
        checked: sum.checked.max(seen.checked),
        robust: sum.robust + seen.robust,
        beyond: sum.beyond + seen.beyond,
    });
    println!("{programs} programs, {executions} executions each, {told} with a bound of the checker: {seen:?}");
    assert!(seen.most > 0.5 && seen.checked > 0.5 && told > programs as usize / 4, "{told} {seen:?}");
    // A bound of the chain would not do, as some programs of a thousand show.
    assert!(seen.robust > programs as usize / 4 && (programs < 3000 || seen.beyond > 0), "{seen:?}");
}
