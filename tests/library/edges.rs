//! Removed edges against brute force: all admissible sets of random small graphs, each evaluated exactly on the graph
//! that is left; hand-made cases; refusals; and, where `GCNPROOF_DATA` names the folder of graphs, whole graphs.

use std::collections::BTreeSet;

use gcnproof::edges::{
    Edge, EdgeBudget, EdgeCertifier, EdgeClaim, EdgeError, EdgeKind, EdgeProblem, EdgeReason, EdgeResult, Prices, Step,
    edge_header,
};
use gcnproof::internals::number::dyadic::Dyadic;
use gcnproof::internals::problem::exact::{ExactProblem, ExactUnits, Sums};
use gcnproof::internals::problem::network::{Layer, Term};
use gcnproof::internals::problem::slice::Slice;
use gcnproof::proof::{model_file, rule_name, rule_names};
use gcnproof::{Budget, Certifier, Effort, Graph, Limits, Network, Operator, Problem, Verdict, radii};
use gcnproof_check::edges::format::{Claim, Line, Step as Element};
use gcnproof_check::edges::{Checker, Statement};
use gcnproof_check::format::Convention;
use gcnproof_files::Normalisation;
use gcnproof_verify::random::Stream;
use nalgebra::DMatrix;

/// A problem as lists, so that it can be built again on what is left of the graph.
#[derive(Clone, Debug)]
struct Case {
    edges: Vec<(usize, usize)>,
    loops: Vec<usize>,
    attributes: Vec<Vec<usize>>,
    dimension: usize,
    layers: [Plain; 2],
    global: usize,
    local: Vec<i64>,
    keep_one: bool,
    frozen: Vec<(i64, i64)>,
}

#[derive(Clone, Debug)]
struct Plain {
    terms: Vec<(Operator, DMatrix<f64>)>,
    bias: Vec<f64>,
    linear: Vec<bool>,
}

const ALL: Effort = Effort::Complete(Limits { nodes: usize::MAX, time: std::time::Duration::MAX });
const EXACT: Effort =
    Effort::Minimize { limits: Limits { nodes: usize::MAX, time: std::time::Duration::MAX }, gap: 0.0 };

impl Case {
    fn graph(&self, without: &[(usize, usize)]) -> Graph {
        let left = self.edges.iter().filter(|edge| !without.contains(edge)).copied();
        let edges: Vec<(usize, usize)> = left.chain(self.loops.iter().map(|&v| (v, v))).collect();
        Graph::from_lists(&edges, &self.attributes, self.dimension).unwrap()
    }

    fn network(&self, graph: &Graph) -> Network {
        let layer = |plain: &Plain| {
            let term = |(operator, weight): &(Operator, DMatrix<f64>)| Term {
                operator: operator.clone(),
                weight: weight.clone(),
            };
            let terms: Vec<Term> = plain.terms.iter().map(term).collect();
            Layer::of_terms(graph, &terms, &plain.bias, plain.linear.clone()).unwrap()
        };
        Network::new(self.layers.iter().map(layer).collect()).unwrap()
    }

    fn budget(&self, graph: &Graph) -> EdgeBudget {
        let budget = EdgeBudget::per_node(graph, self.global, &self.local).unwrap();
        budget.keep_one(self.keep_one).freeze_edges(graph, &self.frozen).unwrap()
    }

    fn problem(&self) -> EdgeProblem {
        let graph = self.graph(&[]);
        let network = self.network(&graph);
        let budget = self.budget(&graph);
        EdgeProblem::new(graph, network, budget).unwrap()
    }

    /// May these edges go? Written from the definition, on its own.
    fn admits(&self, set: &[(usize, usize)]) -> bool {
        let at = |v: usize, edges: &[(usize, usize)]| edges.iter().filter(|e| e.0 == v || e.1 == v).count();
        let frozen = |e: &(usize, usize)| {
            let (a, b) = (e.0 as i64, e.1 as i64);
            self.frozen.contains(&(a, b)) || self.frozen.contains(&(b, a))
        };
        set.len() <= self.global
            && !set.iter().any(frozen)
            && (0..self.attributes.len()).all(|v| {
                let (had, lost) = (at(v, &self.edges), at(v, set));
                lost <= self.local[v] as usize && (!self.keep_one || had == 0 || lost < had)
            })
    }

    /// All admissible sets.
    fn sets(&self) -> Vec<Vec<(usize, usize)>> {
        let mut sets = vec![Vec::new()];
        for edge in &self.edges {
            for at in 0..sets.len() {
                let mut larger = sets[at].clone();
                larger.push(*edge);
                if self.admits(&larger) {
                    sets.push(larger);
                }
            }
        }
        sets
    }

    /// Exact logits of a node on what is left, as differences to the class `reference`.
    fn margins(&self, without: &[(usize, usize)], node: usize, reference: usize) -> Vec<Dyadic> {
        let graph = self.graph(without);
        let network = self.network(&graph);
        let mut slice = Slice::default();
        slice.cut(&network, network.depth(), node);
        let (sums, mut units) = (Sums::new(graph.node_count()), ExactUnits::default());
        let mut exact = ExactProblem {
            graph: &graph,
            network: &network,
            slice: &slice,
            sums: &sums,
            units: &mut units,
            watch: None,
        };
        let others = (0..network.class_count()).filter(|&class| class != reference);
        others.map(|class| exact.objective(&[(reference, 1.0), (class, -1.0)], &[])).collect()
    }
}

fn number(random: &mut Stream, dyadic: bool) -> f64 {
    match dyadic {
        true => random.below(9) as f64 / 4.0 - 1.0,
        false if random.chance(10) => 0.0,
        false => random.real(),
    }
}

fn rule(random: &mut Stream) -> Operator {
    match random.below(9) {
        0..=2 => Operator::Gcn,
        3 => Operator::GcnWithoutSelf,
        4 => Operator::Mean,
        5 => Operator::MeanWithSelf,
        6 => Operator::Sum,
        7 => Operator::SumWithSelf,
        _ => Operator::Identity,
    }
}

fn case(seed: u64) -> Case {
    let mut random = Stream::new(seed);
    let random = &mut random;
    let dyadic = random.chance(40);
    let (nodes, dimension) = (2 + random.below(7), 1 + random.below(4));
    let density = [25, 40, 60][random.below(3)];
    let mut edges = Vec::new();
    for i in 0..nodes {
        for j in i + 1..nodes {
            if random.chance(density) && edges.len() < 9 {
                edges.push((i, j));
            }
        }
    }
    let loops = (0..nodes).filter(|_| random.chance(8)).collect();
    let attributes = (0..nodes).map(|_| (0..dimension).filter(|_| random.chance(55)).collect()).collect();
    let (width, classes) = (1 + random.below(4), 2 + random.below(2));
    let matrix = |random: &mut Stream, rows, columns| DMatrix::from_fn(rows, columns, |_, _| number(random, dyadic));
    let plain = |random: &mut Stream, rows: usize, columns: usize, first: bool| {
        let mut terms = vec![(rule(random), matrix(random, rows, columns))];
        if random.chance(30) {
            let other = if first { Operator::Identity } else { rule(random) };
            terms.insert(random.below(2), (other, matrix(random, rows, columns)));
        }
        let by_node = random.chance(10);
        let biases = columns * if by_node { nodes } else { 1 };
        let bias = (0..biases).map(|_| if random.chance(40) { 0.0 } else { number(random, dyadic) }).collect();
        let linear =
            if first && random.chance(15) { (0..columns).map(|_| random.chance(50)).collect() } else { vec![] };
        Plain { terms, bias, linear }
    };
    let mut layers = [plain(random, dimension, width, true), plain(random, width, classes, false)];
    if random.chance(8) {
        // Two classes that are the same.
        for (_, weight) in &mut layers[1].terms {
            let column = weight.column(0).clone_owned();
            weight.set_column(1, &column);
        }
        let biases = layers[1].bias.clone();
        layers[1].bias.chunks_mut(classes).zip(biases.chunks(classes)).for_each(|(to, from)| to[1] = from[0]);
    }
    let uniform = random.below(4) as i64;
    let local = (0..nodes).map(|_| if random.chance(80) { uniform } else { random.below(4) as i64 }).collect();
    let frozen = edges.iter().filter(|_| random.chance(8)).map(|&(a, b)| (b as i64, a as i64)).collect();
    let global = [0, 1, 1, 2, 2, 3, 3, 4, 5, usize::MAX][random.below(10)];
    Case { edges, loops, attributes, dimension, layers, global, local, keep_one: random.chance(75), frozen }
}

/// Most margins are far from zero: moves the biases of the classes so that the worst one of a node comes near it, or is
/// it.
fn shift(seed: u64, case: &mut Case, node: usize, sets: &[Vec<(usize, usize)>]) {
    let mut random = Stream::new(seed ^ 0x5eed);
    if random.chance(25) {
        return;
    }
    let reference = EdgeCertifier::new(case.problem()).one(node).unwrap().reference;
    let margins = |set: &[(usize, usize)]| case.margins(set, node, reference).into_iter().reduce(Dyadic::min).unwrap();
    let base = margins(&[]).approximate();
    let worst = sets.iter().map(|set| margins(set)).reduce(Dyadic::min).unwrap().approximate();
    let part = [-0.3, -0.1, -0.03, -0.01, -0.001, 0.0, 0.0, 0.01, 0.1, 0.5][random.below(10)];
    let by = worst + part * (base - worst);
    let classes = case.layers[1].terms[0].1.ncols();
    case.layers[1].bias.iter_mut().skip(reference).step_by(classes).for_each(|bias| *bias -= by);
}

fn pairs(edges: &[Edge]) -> Vec<(usize, usize)> {
    edges.iter().map(|edge| (edge.0 as usize, edge.1 as usize)).collect()
}

/// Everything that a result says, against the truth.
fn compare(seed: u64, case: &Case, result: &EdgeResult, truth: &[Dyadic]) {
    let worst = truth.iter().cloned().reduce(Dyadic::min).unwrap();
    let robust = worst.sign().is_gt();
    for (margin, truth) in result.margins.iter().zip(truth) {
        assert!(margin.lower <= truth.floor_f64(), "seed {seed}: {margin:?} above the truth {truth}\n{result:?}");
        assert!(margin.upper >= truth.ceil_f64(), "seed {seed}: {margin:?} below the truth {truth}\n{result:?}");
    }
    match result.verdict {
        Verdict::Robust => assert!(robust, "seed {seed}: {worst}\n{result:?}\n{case:?}"),
        Verdict::NonRobust => {
            let witness = pairs(&result.witness);
            assert!(!robust && case.admits(&witness), "seed {seed}: {result:?}\n{case:?}");
            assert!(case.problem().budget().admits(&case.graph(&[]), &result.witness));
            let reached = case.margins(&witness, result.node, result.reference);
            let reached = reached.into_iter().reduce(Dyadic::min).unwrap();
            assert!(reached.sign().is_le(), "seed {seed}: the witness does nothing: {result:?}");
            if result.reason == EdgeReason::Witness {
                assert!(reached.sign().is_lt(), "seed {seed}: {result:?}");
            }
            // No edge can be left out.
            for at in 0..witness.len() {
                let mut rest = witness.clone();
                rest.remove(at);
                let left = case.margins(&rest, result.node, result.reference).into_iter().reduce(Dyadic::min).unwrap();
                let tie = result.reason == EdgeReason::Tie;
                let needed = if tie { !left.sign().is_eq() } else { left.sign().is_ge() };
                assert!(needed, "seed {seed}: {left} without edge {at}: {result:?}");
            }
        }
        Verdict::Undecided => {}
    }
}

/// How many random graphs; more by the environment.
fn count(default: u64) -> u64 {
    std::env::var("GCNPROOF_EDGE_GRAPHS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_verdict_contradicts_brute_force_and_exact_margins_are_equal() {
    let (mut robust, mut broken, mut ties, mut branched, mut bounded, mut open, mut sets_seen) = (0, 0, 0, 0, 0, 0, 0);
    for seed in 0..count(5000) {
        let mut case = case(seed);
        let node = (seed / 3) as usize % case.attributes.len();
        let sets = case.sets();
        shift(seed, &mut case, node, &sets);
        let problem = case.problem();
        sets_seen += sets.len();
        let complete = EdgeCertifier::new(problem.clone()).effort(ALL).proofs(true).one(node).unwrap();
        let mut truth = case.margins(&[], node, complete.reference);
        assert!(truth.iter().all(|margin| margin.sign().is_ge()), "seed {seed}: the prediction is wrong");
        for set in &sets[1..] {
            for (least, margin) in truth.iter_mut().zip(case.margins(set, node, complete.reference)) {
                *least = least.clone().min(margin);
            }
        }
        compare(seed, &case, &complete, &truth);
        assert_ne!(complete.verdict, Verdict::Undecided, "seed {seed}: {complete:?}");
        structure(seed, &complete);
        let cheap = EdgeCertifier::new(problem.clone()).one(node).unwrap();
        compare(seed, &case, &cheap, &truth);
        let exact = EdgeCertifier::new(problem).effort(EXACT).proofs(true).one(node).unwrap();
        compare(seed, &case, &exact, &truth);
        assert_eq!(exact.verdict, complete.verdict, "seed {seed}");
        for (minimum, truth) in exact.minima.iter().zip(&truth) {
            let minimum = minimum.as_ref().unwrap_or_else(|| panic!("seed {seed}: no minimum: {exact:?}"));
            assert_eq!(minimum.margin, *truth, "seed {seed}");
            let set = pairs(&minimum.changes);
            assert!(case.admits(&set));
            assert!(case.margins(&set, node, exact.reference).contains(truth));
        }
        match complete.verdict {
            Verdict::Robust => robust += 1,
            _ => broken += 1,
        }
        ties += usize::from(complete.reason == EdgeReason::Tie);
        branched += usize::from(complete.reason == EdgeReason::BranchAndBound);
        bounded += usize::from(complete.reason == EdgeReason::PricedBound);
        open += usize::from(cheap.verdict == Verdict::Undecided);
    }
    println!(
        "{robust} robust ({bounded} by the bound, {branched} by branching), {broken} non-robust ({ties} ties), {open} open before branching; {sets_seen} sets"
    );
    if count(5000) >= 1000 {
        assert!(bounded > 200 && branched > 10 && ties > 50 && broken > 200, "the problems have become too easy");
    }
}

/// Weights of few bits, so that many sets tie, and entries of operators that almost cancel: pre-activations and margins
/// of 0 and of some 10⁻¹⁷ beside each other. Some are so large or small that products overflow or underflow.
fn quantised(seed: u64) -> Case {
    let mut random = Stream::new(seed ^ 0x71e5);
    let mut case = case(seed);
    let random = &mut random;
    let scales = match random.below(12) {
        0 => [2f64.powi(600), 2f64.powi(600)],
        1 => [2f64.powi(-560), 2f64.powi(-560)],
        2 => [2f64.powi(-1030), 2f64.powi(900)],
        _ => [1.0, 1.0],
    };
    // Classes without biases of their own have margins as small as the units.
    let equal = random.chance(70);
    for (at, (plain, scale)) in case.layers.iter_mut().zip(scales).enumerate() {
        for (_, weight) in &mut plain.terms {
            weight.iter_mut().for_each(|w| *w = scale * [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0, 2.0][random.below(8)]);
        }
        let scale = if at == 0 { scales[0] } else { scales[0] * scales[1] };
        for bias in &mut plain.bias {
            let value = scale * [-2.0, -1.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0][random.below(8)];
            *bias = if at == 1 && equal || !value.is_finite() { 0.0 } else { value };
        }
    }
    let units = case.layers[0].terms[0].1.ncols();
    if case.layers[0].bias.len() != units {
        return case;
    }
    match random.below(4) {
        // A mean of equal messages less that message is 0, up to the rounding of 1/size.
        0 => {
            case.attributes.iter_mut().filter(|present| !present.contains(&0)).for_each(|present| present.insert(0, 0));
            for (unit, bias) in case.layers[0].bias.iter_mut().enumerate() {
                *bias = -case.layers[0].terms.iter().map(|(_, weight)| weight[(0, unit)]).sum::<f64>();
            }
        }
        // What a float leaves of a sum of entries times few bits.
        1 | 2 => {
            let node = random.below(case.attributes.len());
            for unit in 0..units {
                let z = case.units(node)[unit].approximate();
                if z.is_finite() && random.chance(80) {
                    case.layers[0].bias[unit] -= z;
                }
            }
        }
        _ => {}
    }
    case
}

impl Case {
    /// The exact pre-activations of the hidden units of a node on the graph as it is: margins of a network that hands
    /// each on, beside a class of zero.
    fn units(&self, node: usize) -> Vec<Dyadic> {
        let units = self.layers[0].terms[0].1.ncols();
        let first = Plain { linear: vec![true; units], ..self.layers[0].clone() };
        let hand_on = DMatrix::from_fn(units, units + 1, |i, j| f64::from(u8::from(i == j)));
        let second = Plain { terms: vec![(Operator::Identity, hand_on)], bias: vec![0.0; units + 1], linear: vec![] };
        let probe = Case { layers: [first, second], ..self.clone() };
        (0..units).filter_map(|unit| probe.margins(&[], node, unit).pop()).collect()
    }

    /// The same as [`Case::margins`] for all nodes.
    fn all_margins(&self, without: &[(usize, usize)], references: &[usize]) -> Vec<Vec<Dyadic>> {
        let graph = self.graph(without);
        let network = self.network(&graph);
        let (sums, mut slice) = (Sums::new(graph.node_count()), Slice::default());
        let margins = |(node, &reference): (usize, &usize)| -> Vec<Dyadic> {
            slice.cut(&network, network.depth(), node);
            let mut units = ExactUnits::default();
            let mut exact = ExactProblem {
                graph: &graph,
                network: &network,
                slice: &slice,
                sums: &sums,
                units: &mut units,
                watch: None,
            };
            let others = (0..network.class_count()).filter(|&class| class != reference);
            others.map(|class| exact.objective(&[(reference, 1.0), (class, -1.0)], &[])).collect()
        };
        references.iter().enumerate().map(margins).collect()
    }
}

/// A minimum is the smallest margin of all sets, in exact arithmetic, also where rounding errors are larger than it;
/// verdicts follow from it, whether they are asked for with it or alone, and have proofs.
#[test]
fn minima_are_exact_where_floats_cannot_tell() {
    let graphs: u64 = std::env::var("GCNPROOF_EDGE_TIES").ok().map_or(400, |text| text.parse().unwrap());
    let (mut nodes, mut pairs_seen, mut ties, mut tiny, mut largest) = (0, 0, 0, 0, 0);
    let small = |number: &Dyadic| number.sign().is_ne() && (1e-25..1e-14).contains(&number.approximate().abs());
    for seed in 0..graphs {
        let case = quantised(seed);
        let problem = case.problem();
        let certifier = EdgeCertifier::new(problem.clone());
        let labels = seed % 3 == 0;
        let classes = problem.network().class_count();
        let reference = |node: usize| match labels {
            true => (seed as usize + node) % classes,
            false => certifier.one(node).unwrap().predicted,
        };
        let references: Vec<usize> = (0..case.attributes.len()).map(reference).collect();
        let mut truth = case.all_margins(&[], &references);
        for set in &case.sets()[1..] {
            for (least, margins) in truth.iter_mut().flatten().zip(case.all_margins(set, &references).concat()) {
                *least = least.clone().min(margins);
            }
        }
        for (node, (&reference, truth)) in references.iter().zip(&truth).enumerate() {
            let decide = |effort: Effort| {
                let certifier = certifier.clone().effort(effort).proofs(true);
                (certifier.for_class(node, reference).unwrap(), certifier)
            };
            let ((exact, minimizer), (complete, _)) = (decide(EXACT), decide(ALL));
            compare(seed, &case, &exact, truth);
            compare(seed, &case, &complete, truth);
            assert_eq!(exact.verdict, complete.verdict, "seed {seed}, node {node}");
            assert_ne!(exact.verdict, Verdict::Undecided, "seed {seed}, node {node}");
            for (minimum, truth) in exact.minima.iter().zip(truth) {
                let minimum = minimum.as_ref().unwrap_or_else(|| panic!("seed {seed}: no minimum: {exact:?}"));
                assert_eq!(minimum.margin, *truth, "seed {seed}, node {node}");
                ties += usize::from(truth.sign().is_eq());
            }
            if !labels && seed % 4 == 1 {
                structure(seed, &exact);
                let line = case.checked(|checker| minimizer.proof_line(&exact, checker).into_line());
                assert!(matches!(line, Line::Node(_)), "seed {seed}, node {node}: {line:?}");
            }
            tiny += case.units(node).iter().filter(|unit| small(unit)).count();
            nodes += 1;
            pairs_seen += truth.len();
            largest = largest.max(exact.search_nodes);
        }
    }
    println!(
        "{nodes} nodes, {pairs_seen} minima: {ties} are 0; {tiny} hidden units of the size of rounding errors; the largest search has {largest} branches"
    );
    assert!(graphs < 400 || ties > 100 && tiny > 100, "the problems have become too easy");
}

/// Whatever is changed about a result is noticed.
#[test]
fn a_changed_result_contradicts_itself() {
    let graph = Graph::from_lists(&[(0, 1), (1, 2), (0, 2), (2, 3)], &vec![vec![0]; 4], 1).unwrap();
    let layer = |columns, weights: &[f64]| {
        let weights = DMatrix::from_row_slice(1, columns, weights);
        Layer::new(&Operator::Sum, &graph, &weights, &vec![0.0; columns])
    };
    let network = Network::new(vec![layer(1, &[1.0]), layer(2, &[1.0, 0.5])]).unwrap();
    let decide = |keep_one: bool| {
        let budget = EdgeBudget::uniform(&graph, 3, 3).keep_one(keep_one);
        let problem = EdgeProblem::new(graph.clone(), network.clone(), budget).unwrap();
        (EdgeCertifier::new(problem.clone()).effort(EXACT).one(0).unwrap(), problem)
    };
    let (robust, problem) = decide(true);
    assert_eq!((robust.verdict, robust.disagreement(&problem)), (Verdict::Robust, None));
    let (tie, open) = decide(false);
    assert_eq!((tie.verdict, tie.reason, tie.disagreement(&open)), (Verdict::NonRobust, EdgeReason::Tie, None));
    type Change = fn(&mut EdgeResult);
    let changes: [Change; 7] = [
        |result| result.margins[0].lower = 1e9,
        |result| result.margins[0].upper = f64::NAN,
        |result| result.margins[0].upper = 0.0,
        |result| result.minima[0].as_mut().unwrap().margin = Dyadic::from(0.125),
        |result| result.minima[0].as_mut().unwrap().changes = vec![Edge(0, 3)],
        |result| result.verdict = Verdict::NonRobust,
        |result| result.witness = vec![Edge(0, 1)],
    ];
    for (at, change) in changes.iter().enumerate() {
        let mut changed = robust.clone();
        change(&mut changed);
        assert!(changed.disagreement(&problem).is_some(), "change {at}");
    }
    let changes: [Change; 4] = [
        |result| result.verdict = Verdict::Robust,
        |result| result.verdict = Verdict::Undecided,
        |result| result.witness = vec![Edge(2, 3)],
        |result| result.witness = vec![Edge(0, 3)],
    ];
    for (at, change) in changes.iter().enumerate() {
        let mut changed = tie.clone();
        change(&mut changed);
        assert!(changed.disagreement(&open).is_some(), "change {at}");
    }
    let mut changed = tie;
    changed.reason = EdgeReason::Witness;
    assert!(changed.disagreement(&open).is_some());
}

/// A time limit and a request to stop end every step, however large: all pairs of 80 nodes are joined, and any 300
/// edges may go.
#[test]
fn time_limits_are_kept_on_dense_graphs() {
    use std::time::{Duration, Instant};
    let mut random = Stream::new(3);
    let nodes = 80;
    let case = Case {
        edges: (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j))).collect(),
        loops: vec![],
        attributes: (0..nodes).map(|_| (0..6).filter(|_| random.chance(50)).collect()).collect(),
        dimension: 6,
        layers: [
            Plain {
                terms: vec![(Operator::Gcn, DMatrix::from_fn(6, 8, |_, _| random.real()))],
                bias: vec![0.1; 8],
                linear: vec![],
            },
            Plain {
                terms: vec![(Operator::Gcn, DMatrix::from_fn(8, 3, |_, _| random.real()))],
                bias: vec![0.0; 3],
                linear: vec![],
            },
        ],
        global: 300,
        local: vec![1000; nodes],
        keep_one: true,
        frozen: vec![],
    };
    let certifier = EdgeCertifier::new(case.problem());
    let class = case.margins(&[], 0, 0);
    let limits = Limits { nodes: usize::MAX, time: Duration::from_millis(300) };
    let late = |what: &str, start: Instant| {
        // A busy machine may be slow; before, this took minutes.
        assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:.1} s", start.elapsed().as_secs_f64());
    };
    for effort in [Effort::Complete(limits), Effort::Minimize { limits, gap: 0.0 }] {
        let start = Instant::now();
        let result = certifier.clone().effort(effort).proofs(true).one(0).unwrap();
        late("a time limit", start);
        assert!(result.limit_hit && result.reason == EdgeReason::Limit, "{result:?}");
        assert_eq!(result.predicted == 0, class.iter().all(|margin| margin.sign().is_ge()));
        assert!(result.margins.iter().all(|margin| margin.lower <= margin.upper && margin.upper > 0.0));
    }
    let start = Instant::now();
    let radius = radii(&certifier.clone().effort(Effort::Complete(limits)), &[0], 300, || false, |_, _| ()).unwrap();
    late("the time limit of a radius", start);
    assert!(radius[&0].limit_hit);
    for effort in [Effort::Bounds, ALL, EXACT] {
        let start = Instant::now();
        let interrupted = certifier.clone().stop(move || start.elapsed() > Duration::from_millis(200));
        let result = interrupted.effort(effort).one(0).unwrap();
        late("a request to stop", start);
        assert!(result.limit_hit && result.verdict == Verdict::Undecided);
    }
}

impl Case {
    /// Lets the checker of this case's statement look at something.
    fn checked<T>(&self, look: impl FnOnce(&Checker) -> T) -> T {
        let graph = self.graph(&[]);
        let network = self.network(&graph);
        let mut model = model_file(&network, "model");
        for (layer, plain) in model.layers.iter_mut().zip(&self.layers) {
            layer.operators = plain.terms.iter().map(|term| rule_name(&term.0)).collect();
        }
        let digests = (graph.digest(), "model");
        let mut header = edge_header(digests, (&network, &[]), &self.budget(&graph), Convention::Predicted);
        header.message_passing = rule_names(&network);
        let file = graph.file();
        let statement = Statement::new(&file, &model, &header).unwrap();
        look(&Checker::new(&statement, false))
    }
}

/// The line of every node is a proof that the checker accepts. Where hints are lost, splits take their place, or the
/// line says that there is no proof.
#[test]
fn every_proof_is_shown_to_the_checker() {
    let (mut whole, mut mended, mut given_up, mut wrong) = (0, 0, 0, 0);
    for seed in 0..count(5000) / 4 {
        let mut case = case(seed);
        let node = (seed / 3) as usize % case.attributes.len();
        let sets = case.sets();
        shift(seed, &mut case, node, &sets);
        let certifier = EdgeCertifier::new(case.problem()).effort(ALL).proofs(true);
        let result = certifier.one(node).unwrap();
        case.checked(|checker| {
            let line = certifier.proof_line(&result, checker).into_line();
            assert!(matches!(line, Line::Node(_)), "seed {seed}: {line:?}");
            whole += 1;
            let mut lost = result.clone();
            match &mut lost.evidence {
                Some(EdgeClaim::Robust(trees)) => {
                    for step in trees.iter_mut().flat_map(|(_, tree)| tree) {
                        if matches!(step, Step::Prices(_)) {
                            *step = Step::Prices(Prices::default());
                        }
                    }
                }
                Some(EdgeClaim::NonRobust(_, edges)) => edges.clear(),
                None => {}
            }
            let line = certifier.proof_line(&lost, checker).into_line();
            match &line {
                Line::Node(proof) => {
                    assert!(checker.check(proof).is_ok(), "seed {seed}");
                    // Splits and lists have taken the place of hints.
                    if let (Claim::Robust(trees), Some(EdgeClaim::Robust(before))) = (&proof.claim, &lost.evidence) {
                        let now = trees.iter().flat_map(|tree| &tree.tree);
                        let now = now.filter(|step| !matches!(step, Element::Prices(_))).count();
                        let was = before.iter().flat_map(|(_, tree)| tree);
                        let was = was.filter(|step| !matches!(step, Step::Prices(_))).count();
                        mended += usize::from(now > was);
                    }
                }
                Line::Unproved(_) if lost.verdict == Verdict::NonRobust => wrong += 1,
                Line::Unproved(_) => given_up += 1,
                _ => panic!("seed {seed}: {line:?}"),
            }
        });
    }
    println!(
        "{whole} proofs; without hints: {mended} mended, {given_up} given up; {wrong} witnesses that do nothing refused"
    );
    assert!(count(5000) < 5000 || mended > 4 && wrong > 50 && given_up < 5, "the problems have become too easy");
}

/// A tree is one binary tree, with splits on different edges, and says something about every other class.
fn structure(seed: u64, result: &EdgeResult) {
    match result.evidence.as_ref().unwrap_or_else(|| panic!("seed {seed}: no claim: {result:?}")) {
        EdgeClaim::NonRobust(class, edges) => {
            assert_ne!(*class, result.reference);
            assert_eq!(*edges, result.witness);
            assert!(edges.is_sorted());
        }
        EdgeClaim::Robust(trees) => {
            assert_eq!(trees.len(), result.margins.len());
            for (_, tree) in trees {
                let mut open = 1;
                for (at, step) in tree.iter().enumerate() {
                    assert!(open > 0, "seed {seed}: something follows the tree");
                    match step {
                        Step::Edge(_) => open += 1,
                        Step::Prices(prices) => {
                            assert!(prices.mu.iter().all(|mu| mu.is_finite() && *mu >= 0.0), "seed {seed}, {at}");
                            let keys: BTreeSet<(u32, u32)> = prices.views.iter().map(|view| (view.0, view.1)).collect();
                            assert_eq!(keys.len(), prices.views.len());
                            open -= 1;
                        }
                        Step::Singles => open -= 1,
                        Step::Listed | Step::Carried(_) => panic!("seed {seed}: leaves about other changes"),
                    }
                }
                assert_eq!(open, 0, "seed {seed}: a subtree is missing");
            }
        }
    }
}

fn weights(rows: usize, columns: usize, values: &[f64]) -> DMatrix<f64> {
    DMatrix::from_row_slice(rows, columns, values)
}

/// One removed edge joins two neighbours of `m`, and raises both of their messages: a reach that counts it once is too
/// small, the line over a unit that this switches on too low, and the bound above the truth.
#[test]
fn one_removal_can_touch_two_neighbours() {
    // 0 is the target, 1 its only neighbour, 2 and 3 are neighbours of 1 and of each other.
    for bias in (1..400).map(|step| -0.005 * f64::from(step)) {
        let case = Case {
            edges: vec![(0, 1), (1, 2), (1, 3), (2, 3)],
            loops: vec![],
            attributes: vec![vec![], vec![], vec![0], vec![0]],
            dimension: 1,
            layers: [
                Plain { terms: vec![(Operator::Gcn, weights(1, 1, &[2.0]))], bias: vec![bias], linear: vec![] },
                Plain { terms: vec![(Operator::Gcn, weights(1, 2, &[-4.0, 4.0]))], bias: vec![0.0; 2], linear: vec![] },
            ],
            global: 1,
            local: vec![1; 4],
            keep_one: true,
            frozen: vec![(1, 2), (1, 3), (0, 1)],
        };
        for constant in [0.01, 0.05, 0.1, 0.2, 0.3] {
            let mut case = case.clone();
            case.layers[1].bias = vec![constant, 0.0];
            let result = EdgeCertifier::new(case.problem()).for_class(0, 0).unwrap();
            let truth = [case.margins(&[], 0, 0), case.margins(&[(2, 3)], 0, 0)].concat();
            let truth = truth.into_iter().reduce(Dyadic::min).unwrap();
            compare(0, &case, &result, &[truth]);
        }
    }
}

/// Edges that a file lists twice, or in both directions, are one edge and are removed as one; loops are none and stay.
#[test]
fn repeated_edges_are_one_edge_and_loops_stay() {
    for seed in 0..40 {
        let plain = Case { edges: vec![(0, 1), (0, 2), (1, 2), (1, 3)], frozen: vec![], loops: vec![], ..case(seed) };
        if plain.attributes.len() < 4 {
            continue;
        }
        let certify = |graph: Graph, node: usize| {
            let network = plain.network(&graph);
            let budget = EdgeBudget::uniform(&graph, 2, 2);
            let certifier = EdgeCertifier::new(EdgeProblem::new(graph, network, budget).unwrap());
            certifier.effort(EXACT).one(node).unwrap()
        };
        let graph = |edges: &[(usize, usize)]| Graph::from_lists(edges, &plain.attributes, plain.dimension).unwrap();
        let repeated: Vec<(usize, usize)> = plain.edges.iter().flat_map(|&(i, j)| [(i, j), (j, i), (i, j)]).collect();
        let looped: Vec<(usize, usize)> = plain.edges.iter().copied().chain([(0, 0), (2, 2)]).collect();
        for node in 0..4 {
            let (once, twice) = (certify(graph(&plain.edges), node), certify(graph(&repeated), node));
            assert_eq!((once.margins, once.relevant), (twice.margins, twice.relevant), "seed {seed}");
            let with_loops = certify(graph(&looped), node);
            let edges = with_loops.minima.iter().flatten().flat_map(|minimum| &minimum.changes);
            assert!(edges.chain(&with_loops.witness).all(|edge| edge.0 < edge.1), "seed {seed}: a loop was removed");
        }
    }
}

/// A node without edges has one verdict, whatever the budget: that of its class as it is. Where nothing may be changed,
/// all attackers see the same network: also where rows of attributes are divided by their sums.
#[test]
fn rows_that_are_divided_by_their_sums_are_read_as_such() {
    for seed in 0..60 {
        let case = case(seed);
        let graph = case.graph(&[]).normalised(Normalisation::Float32);
        let network = case.network(&graph);
        let budget = Budget::uniform(&graph, 0, 0);
        let problem = Problem::new(graph.clone(), network.clone(), budget).unwrap();
        let flips = Certifier::builder(problem).effort(ALL).build();
        for kind in [EdgeKind::Remove, EdgeKind::Insert] {
            let budget = EdgeBudget::uniform(&graph, 0, 0).kind(kind);
            let problem = EdgeProblem::new(graph.clone(), network.clone(), budget).unwrap();
            let certifier = EdgeCertifier::new(problem).effort(ALL);
            for node in 0..graph.node_count() {
                let (one, other) = (certifier.one(node).unwrap(), flips.one(node).unwrap());
                assert_eq!((one.predicted, one.verdict), (other.predicted, other.verdict), "seed {seed}, node {node}");
            }
        }
    }
}

/// Insertions of any pairs have the verdicts that lists of all sets have, whether bounds or splits show them.
#[test]
fn insertions_by_cases_agree_with_lists() {
    let mut robust = 0;
    for seed in 0..200 {
        let case = case(seed);
        let graph = case.graph(&[]);
        for (global, local) in [(2, 2), (3, 1), (3, 3)] {
            let budget = EdgeBudget::uniform(&graph, global, local).kind(EdgeKind::Insert);
            let certifier = |listed: usize| {
                let problem = EdgeProblem::new(graph.clone(), case.network(&graph), budget.clone()).unwrap();
                EdgeCertifier::new(problem).effort(ALL).listing(listed)
            };
            let (lists, bounds) = (certifier(1 << 20), certifier(0));
            for node in 0..graph.node_count() {
                let (truth, found) = (lists.one(node).unwrap(), bounds.one(node).unwrap());
                assert_eq!(
                    truth.verdict, found.verdict,
                    "seed {seed}, node {node}, {global} in all, {local} at a node"
                );
                robust += usize::from(truth.verdict == Verdict::Robust);
            }
        }
    }
    assert!(robust > 200, "{robust}");
}

#[test]
fn an_isolated_node_depends_on_no_edge() {
    for seed in 0..40 {
        let mut case = case(seed);
        let alone = case.attributes.len() - 1;
        case.edges.retain(|edge| edge.1 != alone);
        case.frozen.clear();
        case.loops.clear();
        (case.global, case.keep_one) = (usize::MAX, false);
        case.local.fill(1000);
        let result = EdgeCertifier::new(case.problem()).effort(ALL).proofs(true).one(alone).unwrap();
        let unchanged = case.margins(&[], alone, result.reference).into_iter().all(|margin| margin.sign().is_gt());
        assert_eq!((result.verdict == Verdict::Robust, result.relevant), (unchanged, 0), "seed {seed}");
        assert!(result.witness.is_empty() && result.verdict != Verdict::Undecided);
    }
}

#[test]
fn awkward_graphs_and_budgets() {
    let base = case(11);
    let mut seen = 0;
    for seed in 0..60 {
        for (global, local, keep_one) in
            [(0, 3, true), (4, 0, true), (usize::MAX, 1000, true), (usize::MAX, 1000, false)]
        {
            let mut case = Case { edges: Vec::new(), ..case(seed) };
            case.frozen.clear();
            // Node 0 is alone, 1 hangs on 2.
            case.edges = (1..case.attributes.len().min(4))
                .flat_map(|i| (i + 1..case.attributes.len().min(5)).map(move |j| (i, j)))
                .collect();
            (case.global, case.keep_one) = (global, keep_one);
            case.local.fill(local);
            for node in 0..case.attributes.len() {
                let result = EdgeCertifier::new(case.problem()).effort(ALL).one(node).unwrap();
                let mut truth = case.margins(&[], node, result.reference);
                for set in case.sets() {
                    let margins = case.margins(&set, node, result.reference);
                    truth = truth.into_iter().zip(margins).map(|(x, y)| x.min(y)).collect();
                }
                compare(seed, &case, &result, &truth);
                assert_ne!(result.verdict, Verdict::Undecided);
                seen += 1;
            }
        }
    }
    assert!(seen > 500 && base.dimension > 0);
}

#[test]
fn what_is_not_decided_is_refused_by_name() {
    let graph = Graph::from_lists(&[(0, 1), (1, 2)], &[vec![0], vec![], vec![0]], 1).unwrap();
    let layer = |operator: &Operator, rows: usize, columns: usize| {
        Layer::new(operator, &graph, &DMatrix::from_element(rows, columns, 1.0), &vec![0.0; columns])
    };
    let refused = |layers: Vec<Layer>| {
        let network = Network::new(layers).unwrap();
        EdgeProblem::new(graph.clone(), network, EdgeBudget::uniform(&graph, 1, 1)).unwrap_err()
    };
    let gcn = Operator::Gcn;
    let polynomial: Operator = "poly(gcn;0.1,0.9)".parse().unwrap();
    let error = refused(vec![layer(&polynomial, 1, 2), layer(&gcn, 2, 2)]).to_string();
    assert!(error.contains("layer 1") && error.contains("poly(gcn;0.1,0.9)"), "{error}");
    let matrix = Operator::custom(&sprs::CsMat::<f64>::eye(3)).unwrap();
    let error = refused(vec![layer(&gcn, 1, 2), layer(&matrix, 2, 2)]).to_string();
    assert!(error.contains("layer 2") && error.contains("a matrix from a file"), "{error}");
    let network = Network::new(vec![layer(&gcn, 1, 2), layer(&Operator::GcnWithoutSelf, 2, 2)]).unwrap();
    let directed = EdgeBudget::uniform(&graph, 1, 1).directed(true);
    let error = EdgeProblem::new(graph.clone(), network, directed).unwrap_err();
    assert!(matches!(error, EdgeError::Directed { layer: 2 }), "{error}");
    assert!(EdgeBudget::uniform(&graph, 1, 1).listed(&graph, &[(0, 1)]).unwrap_err().to_string().contains("0–1"));
    let budget = EdgeBudget::uniform(&graph, 1, 1);
    assert!(budget.clone().freeze_edges(&graph, &[(0, 2)]).unwrap_err().to_string().contains("0–2"));
    assert!(budget.clone().freeze_edges(&graph, &[(1, 1)]).is_err());
    assert!(budget.clone().freeze_edges(&graph, &[(-1, 1)]).is_err());
    assert!(budget.freeze_nodes(&[3]).is_err());
    assert!(EdgeBudget::per_node(&graph, 1, &[1, 2]).is_err());
    assert!(EdgeBudget::per_node(&graph, 1, &[1, 2, -1]).is_err());
}

/// A star of 2,000 leaves, seen from its centre and from a leaf.
#[test]
fn a_target_of_degree_two_thousand() {
    let mut random = Stream::new(7);
    let nodes = 2001;
    let case = Case {
        edges: (1..nodes).map(|v| (0, v)).collect(),
        loops: vec![],
        attributes: (0..nodes).map(|_| (0..8).filter(|_| random.chance(40)).collect()).collect(),
        dimension: 8,
        layers: [
            Plain {
                terms: vec![(Operator::Gcn, DMatrix::from_fn(8, 8, |_, _| random.real()))],
                bias: vec![0.1; 8],
                linear: vec![],
            },
            Plain {
                terms: vec![(Operator::Gcn, DMatrix::from_fn(8, 3, |_, _| random.real()))],
                bias: vec![0.0; 3],
                linear: vec![],
            },
        ],
        global: 5,
        local: vec![3; nodes],
        keep_one: false,
        frozen: vec![],
    };
    let problem = case.problem();
    for node in [0, 1] {
        let result = EdgeCertifier::new(problem.clone()).effort(ALL).proofs(true).one(node).unwrap();
        assert_ne!(result.verdict, Verdict::Undecided);
        let certifier = EdgeCertifier::new(problem.clone());
        let line = case.checked(|checker| certifier.proof_line(&result, checker).into_line());
        assert!(matches!(line, Line::Node(_)), "{line:?}");
    }
    // All that nobody limits, too: every leaf may go.
    let all = EdgeBudget::uniform(problem.graph(), usize::MAX, usize::MAX);
    let problem = EdgeProblem::new(problem.graph().clone(), problem.network().clone(), all).unwrap();
    let limits = Limits { nodes: 2, time: std::time::Duration::from_secs(20) };
    let start = std::time::Instant::now();
    let result = EdgeCertifier::new(problem).effort(Effort::Complete(limits)).one(1).unwrap();
    println!("no limits: {:?} by {:?} in {:.2} s", result.verdict, result.reason, start.elapsed().as_secs_f64());
}

/// Verdicts of all nodes, or of every `step`-th: robust, non-robust, undecided; open before branching, largest tree,
/// seconds a node.
fn whole(
    folder: &std::path::Path,
    (graph, model): (&str, &str),
    (global, local): (usize, usize),
    step: usize,
) -> [usize; 5] {
    use gcnproof_files::{GraphOptions, read_graph, read_model};
    use rayon::prelude::*;
    let options = GraphOptions { binarize: true, symmetrize: true, unweight: true, ..GraphOptions::default() };
    let graph_file = read_graph(&folder.join("data").join(format!("{graph}.npz")), &options).unwrap();
    let graph_read = Graph::from_file(graph_file);
    let model_file = read_model(&folder.join("models").join(model)).unwrap();
    let network = Network::from_file(model_file, &[Operator::Gcn], &graph_read).unwrap();
    let budget = EdgeBudget::uniform(&graph_read, global, local);
    let problem = EdgeProblem::new(graph_read, network, budget).unwrap();
    let certifier = EdgeCertifier::new(problem.clone()).effort(ALL);
    let nodes: Vec<usize> = (0..problem.graph().node_count()).step_by(step).collect();
    let rows: Vec<(EdgeResult, f64)> = nodes
        .par_iter()
        .with_max_len(1)
        .map(|&node| {
            let start = std::time::Instant::now();
            (certifier.one(node).unwrap(), start.elapsed().as_secs_f64())
        })
        .collect();
    let count = |verdict: Verdict| rows.iter().filter(|row| row.0.verdict == verdict).count();
    let open = rows.iter().filter(|row| row.0.search_nodes > 0).count();
    let tree = rows.iter().map(|row| row.0.search_nodes).max().unwrap_or(0);
    let mut seconds: Vec<f64> = rows.iter().map(|row| row.1).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let found = [count(Verdict::Robust), count(Verdict::NonRobust), count(Verdict::Undecided), open, tree];
    println!(
        "{graph} {model} E={global} e={local}: {} robust, {} non-robust, {} undecided; {open} open before branching, largest tree {tree}; seconds a node: \
         median {:.5}, mean {:.5}, max {:.3}",
        found[0],
        found[1],
        found[2],
        seconds[seconds.len() / 2],
        seconds.iter().sum::<f64>() / seconds.len() as f64,
        seconds[seconds.len() - 1]
    );
    found
}

/// Verdicts of all nodes of two graphs; `GCNPROOF_EDGE_RUNS` asks for others, as `graph,model,E,e,step` with semicolons
/// between.
#[test]
fn whole_graphs_are_decided() {
    let Some(folder) = std::env::var_os("GCNPROOF_DATA").map(std::path::PathBuf::from) else {
        println!("SKIPPED: GCNPROOF_DATA names no folder with the larger graphs (data/) and models (models/)");
        return;
    };
    if let Ok(runs) = std::env::var("GCNPROOF_EDGE_RUNS") {
        for run in runs.split(';') {
            let parts: Vec<&str> = run.split(',').collect();
            let number = |at: usize| parts[at].parse().unwrap();
            whole(&folder, (parts[0], parts[1]), (number(2), number(3)), number(4));
        }
        return;
    }
    for (graph, expected) in [
        ("citeseer", [(1, 3056, 256), (2, 2955, 357), (5, 2860, 452), (10, 2833, 479)]),
        ("cora_ml", [(1, 2713, 282), (2, 2549, 446), (5, 2377, 618), (10, 2295, 700)]),
    ] {
        for (global, robust, broken) in expected {
            let found = whole(&folder, (graph, &format!("{graph}_authors.npz")), (global, 3), 1);
            assert_eq!(found[..3], [robust, broken, 0], "{graph}, E = {global}");
        }
    }
}
