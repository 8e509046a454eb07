//! One attack for the whole graph against brute force: every admissible perturbation of random tiny graphs.

use gcnproof::internals::collective::base::{Base, bases};
use gcnproof::internals::collective::curve::{Collective, Outcome, Settings};
use gcnproof::internals::collective::families::Rows;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::{Budget, Certifier, Direction, Effort, Flip, Graph, Limits, Network, Operator, Problem};
use gcnproof_files::DenseMatrix;
use gcnproof_verify::random::Stream;

use crate::common;

/// Perturbations of a problem at most.
const LIMIT: usize = 3_000;
/// Rounding of the naive forward pass; on dyadic problems it makes none.
const TOLERANCE: f64 = 1e-9;

/// A problem of up to six nodes.
fn six(seed: u64) -> common::Problem {
    let mut random = Stream::new(seed.wrapping_mul(7919).wrapping_add(13));
    let dyadic = random.chance(50);
    let (nodes, dimension) = (2 + random.below(5), 1 + random.below(3));
    let number = |random: &mut Stream| if dyadic { random.below(9) as f64 / 4.0 - 1.0 } else { random.real() };
    let mut adjacency = vec![Vec::new(); nodes];
    for i in 0..nodes {
        for j in i + 1..nodes {
            // Isolated nodes and several components are common.
            if random.chance(35) {
                adjacency[i].push(j as u32);
                adjacency[j].push(i as u32);
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| random.chance(45)).collect()).collect();
    let graph = common::graph(adjacency, attributes, dimension);
    let (classes, depth) = (2 + random.below(2), 2 + random.below(3));
    let mut widths = vec![dimension];
    widths.extend((2..depth).map(|_| 1 + random.below(3)));
    widths.push(classes);
    let layers: Vec<(DenseMatrix, Vec<f64>)> = widths
        .windows(2)
        .map(|pair| {
            let values = (0..pair[0] * pair[1]).map(|_| number(&mut random)).collect();
            let bias = (0..pair[1]).map(|_| if random.chance(30) { 0.0 } else { number(&mut random) }).collect();
            (DenseMatrix { rows: pair[0], columns: pair[1], values }, bias)
        })
        .collect();
    let rule = if dyadic { Operator::SumWithSelf } else { Operator::Gcn };
    let gcn = Network::from_file(common::model(layers), &[rule], &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| random.below(dimension + 2) as i64).collect();
    let global = [0, 1, 1, 2, 2, 3, usize::MAX][random.below(7)];
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let mut budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
    if random.chance(20) {
        budget = budget.freeze_attributes(&graph, &[random.below(dimension) as i64]).unwrap();
    }
    common::Problem { graph, gcn, budget, dyadic }
}

/// The logits of all nodes with some entries flipped, in the plainest way.
fn logits(graph: &Graph, network: &Network, flips: &[Flip]) -> Vec<Vec<f64>> {
    let nodes = graph.node_count();
    let mut h: Vec<Vec<f64>> = (0..nodes)
        .map(|node| {
            (0..graph.attribute_count() as u32)
                .map(|attribute| {
                    let present = graph.attributes().contains(node, attribute);
                    let flipped = flips.contains(&Flip { node: node as u32, attribute });
                    f64::from(u8::from(present != flipped))
                })
                .collect()
        })
        .collect();
    let layers = network.layers();
    for (l, layer) in layers.iter().enumerate() {
        h = (0..nodes)
            .map(|m| {
                (0..layer.outputs())
                    .map(|j| {
                        let mut z = layer.bias.row(m)[j];
                        for (n, entries) in layer.passing.row(m) {
                            for (k, a) in entries.iter().enumerate() {
                                for (i, x) in h[n].iter().enumerate() {
                                    z += a * x * layer.weight.get(k * layer.inputs() + i, j);
                                }
                            }
                        }
                        if l + 1 < layers.len() { z.max(0.0) } else { z }
                    })
                    .collect()
            })
            .collect();
    }
    h
}

/// How many of these nodes are broken: surely, and perhaps.
fn count(logits: &[Vec<f64>], nodes: &[(usize, usize)], tolerance: f64) -> (usize, usize) {
    let margin = |&(node, reference): &(usize, usize)| {
        let row: &Vec<f64> = &logits[node];
        let others = (0..row.len()).filter(|&class| class != reference).map(|class| row[class]);
        row[reference] - others.fold(f64::NEG_INFINITY, f64::max)
    };
    let margins: Vec<f64> = nodes.iter().map(margin).collect();
    (margins.iter().filter(|&&m| m <= -tolerance).count(), margins.iter().filter(|&&m| m <= tolerance).count())
}

/// All admissible perturbations; none if they are too many.
fn perturbations(graph: &Graph, budget: &Budget, attacked_nodes: usize) -> Option<Vec<Vec<Flip>>> {
    let mut sets: Vec<Vec<Flip>> = vec![Vec::new()];
    for node in 0..graph.node_count() {
        for attribute in 0..graph.attribute_count() as u32 {
            if !budget.permits(node, attribute as usize, graph.attributes().contains(node, attribute)) {
                continue;
            }
            let flip = Flip { node: node as u32, attribute };
            for at in 0..sets.len() {
                let own = sets[at].iter().filter(|made| made.node == flip.node).count();
                let mut sources: Vec<u32> = sets[at].iter().map(|made| made.node).collect();
                sources.dedup();
                let room = own > 0 || sources.len() < attacked_nodes;
                if sets[at].len() < budget.global() && own < budget.local(node) && room {
                    let mut more = sets[at].clone();
                    more.push(flip);
                    sets.push(more);
                }
            }
            if sets.len() > LIMIT {
                return None;
            }
        }
    }
    Some(sets)
}

/// The nodes that count, with what is known of each by itself.
fn nodes_of(certifier: &Certifier, nodes: &[usize], limit: usize) -> Vec<(Base, usize)> {
    let found = bases(certifier, nodes, limit, || false, |_| ()).unwrap().unwrap();
    found.into_iter().map(|base| (base.clone(), certifier.predicted(base.node))).collect()
}

struct Case {
    seed: u64,
    problem: common::Problem,
    certifier: Certifier,
    nodes: Vec<(Base, usize)>,
    attacked_nodes: Option<usize>,
    /// The most that a perturbation breaks: surely, and perhaps.
    truth: (usize, usize),
}

/// A problem with its truth.
fn case(seed: u64) -> Option<Case> {
    let problem = if seed.is_multiple_of(3) { common::problem(seed, 2 + (seed % 4) as usize) } else { six(seed) };
    let attacked_nodes = (seed % 5 == 4).then_some(1 + (seed / 5 % 2) as usize);
    let sets = perturbations(&problem.graph, &problem.budget, attacked_nodes.unwrap_or(usize::MAX))?;
    let whole = Problem::new(problem.graph.clone(), problem.gcn.clone(), problem.budget.clone()).unwrap();
    let certifier = Certifier::builder(whole).effort(Effort::Complete(Limits::default())).build();
    // All nodes, or some of them.
    let counted: Vec<usize> =
        (0..problem.graph.node_count()).filter(|node| !seed.is_multiple_of(4) || node % 2 == 0).collect();
    let nodes = nodes_of(&certifier, &counted, problem.budget.global().min(1 << 20));
    let with_class: Vec<(usize, usize)> = nodes.iter().map(|(base, class)| (base.node, *class)).collect();
    let tolerance = if problem.dyadic { 0.0 } else { TOLERANCE };
    let counts = sets.iter().map(|flips| count(&logits(&problem.graph, &problem.gcn, flips), &with_class, tolerance));
    let truth = counts.fold((0, 0), |most, now| (most.0.max(now.0), most.1.max(now.1)));
    Some(Case { seed, problem, certifier, nodes, attacked_nodes, truth })
}

impl Case {
    fn run(&self, rows: Rows, listed: usize) -> Outcome {
        self.with(Settings { rows, listed, ..Settings::default() })
    }

    fn with(&self, settings: Settings) -> Outcome {
        let rows = settings.rows;
        let settings = Settings { attacked_nodes: self.attacked_nodes, swaps: Some(300), ..settings };
        let work = Collective::new(&self.certifier, &self.nodes, settings).unwrap();
        let outcome = work.at(self.problem.budget.global()).unwrap();
        let seed = self.seed;
        assert!(
            outcome.bound >= self.truth.0,
            "seed {seed}: {rows:?}: a bound below the truth {:?}: {outcome:?}",
            self.truth
        );
        assert!(
            outcome.broken.len() <= self.truth.1,
            "seed {seed}: an attack above the truth {:?}: {outcome:?}",
            self.truth
        );
        assert!(outcome.bound >= outcome.broken.len(), "seed {seed}: {outcome:?}");
        let budget = &self.problem.budget;
        assert!(outcome.flips.len() <= budget.global(), "seed {seed}");
        for flip in &outcome.flips {
            let own = outcome.flips.iter().filter(|other| other.node == flip.node).count();
            let present = self.problem.graph.attributes().contains(flip.node as usize, flip.attribute);
            assert!(own <= budget.local(flip.node as usize), "seed {seed}: {outcome:?}");
            assert!(budget.permits(flip.node as usize, flip.attribute as usize, present), "seed {seed}: {outcome:?}");
        }
        let mut sources: Vec<u32> = outcome.flips.iter().map(|flip| flip.node).collect();
        sources.dedup();
        assert!(sources.len() <= self.attacked_nodes.unwrap_or(usize::MAX), "seed {seed}: {outcome:?}");
        outcome
    }
}

/// The bound is never below the truth and the attack never above it; where all perturbations are few enough to be
/// listed, both are the truth.
#[test]
fn bound_and_attack_enclose_brute_force() {
    let (mut problems, mut equal, mut skipped, mut broken) = (0, 0, 0, 0);
    for seed in 0..5_600 {
        let Some(case) = case(seed) else {
            skipped += 1;
            continue;
        };
        let outcome = case.run(Rows::All, Settings::default().listed);
        problems += 1;
        equal += usize::from(outcome.bound == outcome.broken.len());
        broken += usize::from(outcome.bound > 0);
    }
    println!("{problems} problems: equal on {equal}, something breaks in {broken}; {skipped} too large to list");
    assert!(problems >= 5_000, "{problems}");
    assert!(equal * 100 >= problems * 95, "{equal} of {problems}");
    assert!(broken > 1_000, "the problems have become too easy");
}

/// The same without listing perturbations: rows and multipliers alone.
#[test]
fn programs_enclose_brute_force() {
    let (mut problems, mut gap, mut by_count, mut attacked, mut truth, mut by_few) = (0, 0, 0, 0, 0, 0);
    for case in (0..3_000).filter_map(case) {
        let all = case.run(Rows::All, 0);
        let count = case.run(Rows::Count, 0);
        // Hardly any column, one for some flips: what the others are worth is bounded from above.
        for entries in [0, 6, 40] {
            let few = case.with(Settings { listed: 0, entries, ..Settings::default() });
            by_few += few.bound - all.bound.min(few.bound);
        }
        problems += 1;
        gap += all.bound - all.broken.len();
        by_count += count.bound - case.truth.0;
        attacked += all.broken.len();
        truth += case.truth.0;
    }
    println!(
        "{problems} problems: {truth} broken, attacks {attacked}; gap {gap}, bound by counts alone {by_count} above, with few columns {by_few} more"
    );
    assert!(by_few > 0, "columns were not taken away");
    assert!(gap <= by_count, "rows of weights do not help");
    assert!(attacked * 100 >= truth * 95, "attacks break {attacked} of {truth}");
}

/// Without flips nothing changes: what is broken then is tied, and is both the bound and the attack.
#[test]
fn nothing_breaks_without_flips() {
    for case in (0..400).filter_map(case) {
        let settings = Settings { listed: 0, ..Settings::default() };
        let outcome = Collective::new(&case.certifier, &case.nodes, settings).unwrap().at(0).unwrap();
        let tied = case.nodes.iter().filter(|(base, _)| base.needed == 0).count();
        assert_eq!((outcome.bound, outcome.broken.len(), outcome.flips.len()), (tied, tied, 0), "seed {}", case.seed);
    }
}

/// An attack of a smaller budget that breaks what is safe, or more than the bound, stops the run.
#[test]
fn attacks_of_smaller_budgets_refute() {
    for case in (0..40).filter_map(case) {
        let settings = Settings { listed: 0, swaps: Some(300), ..Settings::default() };
        let work = Collective::new(&case.certifier, &case.nodes, settings).unwrap();
        let outcome = work.at(case.problem.budget.global()).unwrap();
        let refutes = |broken: Vec<usize>| {
            let (mut before, mut outcome) = (outcome.clone(), outcome.clone());
            before.broken = broken;
            outcome.attacked_as_before(&before);
            outcome.contradiction.is_some()
        };
        let (safe, _): (Vec<_>, Vec<_>) =
            case.nodes.iter().partition(|(base, _)| base.needed > case.problem.budget.global());
        assert!(!refutes(outcome.broken.clone()), "seed {}", case.seed);
        assert!(safe.iter().all(|(base, _)| refutes(vec![base.node])), "seed {}", case.seed);
        assert!(refutes((0..=outcome.bound).map(|node| node + case.nodes.len()).collect()), "seed {}", case.seed);
    }
}

/// A budget that is larger bounds and breaks no less.
#[test]
fn curves_rise() {
    for case in (0..120).filter_map(case) {
        let settings = Settings { swaps: Some(300), ..Settings::default() };
        let work = Collective::new(&case.certifier, &case.nodes, settings).unwrap();
        let mut before: Option<Outcome> = None;
        for q in 0..=case.problem.budget.global().min(3) {
            let mut outcome = work.at(q).unwrap();
            if let Some(before) = before {
                outcome.attacked_as_before(&before);
                assert!(
                    outcome.bound >= before.bound && outcome.broken.len() >= before.broken.len(),
                    "seed {}",
                    case.seed
                );
            }
            before = Some(outcome);
        }
    }
}
