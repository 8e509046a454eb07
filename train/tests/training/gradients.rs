//! Training's gradients against central finite differences, and its bounds against the certifier's.

use gcnproof::internals::bound::activation as bounds;
use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::backward::Backward;
use gcnproof::internals::bound::relaxed::{Relaxation, Relaxed};
use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
use gcnproof::internals::problem::budget::Decided;
use gcnproof::internals::problem::forward::forward;
use gcnproof::internals::problem::layer::{Layer, Term};
use gcnproof::internals::problem::limits::Watch;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Budget, Graph, Network, Operator};
use gcnproof_files::{DenseMatrix, Normalisation};
use gcnproof_train::activation::ActivationBounds;
use gcnproof_train::kind::LayerKind;
use gcnproof_train::losses::Loss;
use gcnproof_train::objective::{Objective, Terms};
use gcnproof_train::pass::{Dropout, Pass};
use gcnproof_train::random::SeededRandom;
use gcnproof_train::receptive_field::ReceptiveField;
use gcnproof_train::relaxation::{Certificate, Workspace};
use gcnproof_train::settings::Settings;
use gcnproof_train::split::Split;
use gcnproof_train::trainer::Trainer;
use gcnproof_verify::random::Stream;
use nalgebra::DMatrix;

use crate::common;

const NODES: usize = 7;
const DIMENSION: usize = 6;

/// A random problem larger than the enumerable ones: real weights, so that ties have probability zero.
struct Case {
    graph: Graph,
    network: Network,
    budget: Budget,
    labelled: Vec<u32>,
}

/// A random graph with labels; node 6 is isolated.
fn random_graph(random: &mut Stream) -> Graph {
    let mut adjacency = vec![Vec::new(); NODES];
    for i in 0..NODES {
        for j in 0..i {
            if i < 6 && random.chance(45) {
                adjacency[i].push(j as u32);
                adjacency[j].push(i as u32);
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let attributes = (0..NODES).map(|_| (0..DIMENSION as u32).filter(|_| random.chance(40)).collect()).collect();
    let mut file = common::graph(adjacency, attributes, DIMENSION).file().clone();
    file.labels = Some((0..NODES).map(|n| Some(n as u32 % 3)).collect());
    Graph::from_file(file)
}

/// A random budget, sometimes with a frozen attribute.
fn random_budget(random: &mut Stream, graph: &Graph) -> Budget {
    let local: Vec<i64> = (0..NODES).map(|_| random.below(DIMENSION + 2) as i64).collect();
    let budget = Budget::per_node(graph, [0, 1, 2, 5, 100][random.below(5)], &local).unwrap();
    if random.chance(30) {
        return budget.freeze_attributes(graph, &[random.below(DIMENSION) as i64]).unwrap();
    }
    budget
}

/// Units of every representation, attributes and classes included.
fn random_widths(random: &mut Stream, representations: usize) -> Vec<usize> {
    let mut widths = vec![DIMENSION];
    widths.extend((2..representations).map(|_| 3 + random.below(2)));
    widths.push(3);
    widths
}

fn random_rule(random: &mut Stream) -> Operator {
    match random.below(3) {
        0 => Operator::Gcn,
        1 => Operator::MeanWithSelf,
        _ => Operator::from_plain(signed(random)).unwrap(),
    }
}

/// A chain of layers of one term.
fn chain(seed: u64, representations: usize) -> Case {
    let mut random = Stream::new(seed.wrapping_mul(977) + representations as u64);
    let graph = random_graph(&mut random);
    let widths = random_widths(&mut random, representations);
    let parameters = widths
        .windows(2)
        .map(|pair| {
            let values = (0..pair[0] * pair[1]).map(|_| random.real()).collect();
            let bias = (0..pair[1]).map(|_| 0.5 * random.real()).collect();
            (DenseMatrix { rows: pair[0], columns: pair[1], values }, bias)
        })
        .collect();
    let rules: Vec<Operator> = (1..representations).map(|_| random_rule(&mut random)).collect();
    let budget = random_budget(&mut random, &graph);
    let network = Network::from_file(common::model(parameters), &rules, &graph).unwrap();
    Case { graph, network, budget, labelled: vec![0, 1, 5] }
}

/// Layers of several terms, which meet at some entries, with units without activation and biases by node.
fn sums_of_terms(seed: u64, representations: usize) -> Case {
    let mut random = Stream::new(seed.wrapping_mul(1409) + 31 * representations as u64);
    let graph = random_graph(&mut random);
    let widths = random_widths(&mut random, representations);
    let mut layers = Vec::new();
    for pair in widths.windows(2) {
        let terms = 1 + random.below(3);
        let term = |k: usize, random: &mut Stream| Term {
            operator: match (k, random.below(3)) {
                (1, 0) => Operator::Identity,
                (1, 1) => Operator::Sum,
                _ => random_rule(random),
            },
            weight: DMatrix::from_fn(pair[0], pair[1], |_, _| random.real() / terms as f64),
        };
        let terms: Vec<Term> = (0..terms).map(|k| term(k, &mut random)).collect();
        let rows = if random.chance(40) { NODES } else { 1 };
        let bias: Vec<f64> = (0..rows * pair[1]).map(|_| 0.5 * random.real()).collect();
        let linear = (0..pair[1]).map(|_| random.chance(25)).collect();
        layers.push(Layer::of_terms(&graph, &terms, &bias, linear).unwrap());
    }
    let budget = random_budget(&mut random, &graph);
    Case { graph, network: Network::new(layers).unwrap(), budget, labelled: vec![0, 1, 5] }
}

/// A network of a kind that is trained, with skip connections where the depth has room for them.
fn of_kind(kind: LayerKind, skip: bool, seed: u64, depth: usize) -> Case {
    let mut random = Stream::new(seed.wrapping_mul(2203) + 7 * depth as u64);
    let graph = random_graph(&mut random);
    let (budget, labelled) = (random_budget(&mut random, &graph), vec![0, 1, 5]);
    let split = Split::new(&graph, labelled.clone()).unwrap();
    let known = Settings::new(Loss::Rh, seed).with_layers(kind, depth, skip && depth > 2);
    let settings = Settings { hidden: 3, bias_spread: 0.5, ..known };
    let passing: &[Operator] = if kind.is_gcn() { &[Operator::Gcn] } else { &[] };
    let network = Trainer::new(&graph, &budget, &split, settings, passing).unwrap().model();
    Case { graph, network, budget, labelled }
}

/// Message passing with entries of either sign.
fn signed(random: &mut Stream) -> gcnproof_files::SparseMatrix {
    let mut matrix =
        gcnproof_files::SparseMatrix { rows: NODES, columns: NODES, offsets: vec![0], indices: vec![], values: vec![] };
    for _ in 0..NODES {
        for j in 0..NODES as u32 {
            if random.chance(45) {
                matrix.indices.push(j);
                matrix.values.push(random.real());
            }
        }
        matrix.offsets.push(matrix.indices.len());
    }
    matrix
}

fn terms(relaxation: Relaxation) -> Terms {
    // Margins large enough that every hinge is at work somewhere.
    Terms { relaxation, margin_labelled: 2.2, margin_unlabelled: 1.1, hinge_weight: 0.7, weight_decay: 0.01 }
}

/// Which entries of a tensor are compared.
#[derive(Clone, Copy)]
struct Entries {
    first: usize,
    step: usize,
}

/// The largest relative difference between reverse mode and central differences, per parameter tensor, and how many
/// parameters sat on a kink.
fn compare(
    case: &Case,
    stage: Loss,
    relaxation: Relaxation,
    dropout: Option<Dropout>,
    entries: Entries,
) -> (Vec<f64>, usize, usize) {
    let batch: Vec<u32> = if stage == Loss::RhU { vec![0, 3, 5, 6, 2] } else { vec![0, 5] };
    let objective = Objective::new(&case.graph, &case.network, &case.budget, &case.labelled, terms(relaxation));
    let evaluate = |network: &Network| objective.evaluate(network, stage, &batch, dropout, false);
    let (here, gradient) = evaluate(&case.network);
    let (mut errors, mut kinks, mut count) = (Vec::new(), 0, 0);
    for (l, layer) in case.network.layers().iter().enumerate() {
        for (is_bias, length) in [(false, layer.weight.values().len()), (true, layer.bias.values().len())] {
            let mut worst: f64 = 0.0;
            for at in (entries.first..length).step_by(entries.step) {
                // What skip connections need is no parameter, and zeros of it stand at a kink.
                if !is_bias && [0.0, 1.0].contains(&layer.weight.values()[at]) {
                    continue;
                }
                let shifted = |step: f64| {
                    let mut network = case.network.clone();
                    let layer = &mut network.layers_mut()[l];
                    (if is_bias { layer.bias.values_mut() } else { layer.weight.values_mut() })[at] += step;
                    evaluate(&network).0.loss
                };
                let reverse = if is_bias { gradient.bias[l][at] } else { gradient.weight[l][at] };
                let above = shifted(1e-5);
                let (fine, coarse) = ((shifted(1e-6) - shifted(-1e-6)) / 2e-6, (above - shifted(-1e-5)) / 2e-5);
                let one_sided = (above - here.loss) / 1e-5;
                count += 1;
                // Between kinks all differences agree to the curvature; at one they do not.
                if (fine - coarse).abs() > 1e-6 * (1.0 + fine.abs()) || (one_sided - coarse).abs() > 1e-2 {
                    kinks += 1;
                    continue;
                }
                worst = worst.max((fine - reverse).abs() / (1e-3 + fine.abs()));
            }
            errors.push(worst);
        }
    }
    (errors, kinks, count)
}

/// Compares cases of all depths, for all losses and both bounds; with dropout where a case allows it.
fn check_gradients(make: impl Fn(u64, usize) -> Case, dropout: Option<Dropout>) {
    check_gradients_of(4, 1, make, dropout);
}

/// The same with so many cases of each depth, every so many entries of each tensor: others with each loss and bound.
fn check_gradients_of(seeds: u64, step: usize, make: impl Fn(u64, usize) -> Case, dropout: Option<Dropout>) {
    let (mut kinks, mut count) = (0, 0);
    for representations in [2, 3, 4, 5] {
        for seed in 0..seeds {
            let case = make(seed, representations);
            for (r, relaxation) in [Relaxation::Paper, Relaxation::Anchored].into_iter().enumerate() {
                for (s, stage) in Loss::ALL.into_iter().enumerate() {
                    let dropout = dropout.filter(|_| seed % 2 == 0);
                    let entries = Entries { first: (2 * s + r) % step, step };
                    let (errors, at_kinks, of) = compare(&case, stage, relaxation, dropout, entries);
                    kinks += at_kinks;
                    count += of;
                    for (tensor, error) in errors.iter().enumerate() {
                        let name = format!("layer {}, {}", tensor / 2 + 1, ["weight", "bias"][tensor % 2]);
                        assert!(
                            *error < 1e-5,
                            "{representations} representations, seed {seed}, {stage}, {relaxation:?}, {name}: {error:.1e}"
                        );
                    }
                }
            }
        }
    }
    println!("{count} parameters compared, {kinks} left out at kinks");
    assert!(kinks * 50 < count, "{kinks} of {count} at kinks");
}

#[test]
fn gradients_are_those_of_finite_differences() {
    check_gradients(chain, Some(Dropout { rate: 0.3, chance: SeededRandom::new(5) }));
}

#[test]
fn gradients_of_sums_of_terms_are_those_of_finite_differences() {
    check_gradients(sums_of_terms, Some(Dropout { rate: 0.3, chance: SeededRandom::new(5) }));
}

#[test]
fn gradients_of_every_kind_of_layers_are_those_of_finite_differences() {
    let dropout = Some(Dropout { rate: 0.3, chance: SeededRandom::new(5) });
    for kind in LayerKind::ALL {
        for skip in [false, true] {
            println!("{kind}{}", if skip { " with skip connections" } else { "" });
            check_gradients_of(1, 3, |seed, depth| of_kind(kind, skip, seed, depth), dropout);
        }
    }
}

#[test]
fn the_bound_of_every_kind_of_layers_is_the_certifiers() {
    for kind in LayerKind::ALL {
        check_bounds(|seed, depth| of_kind(kind, seed % 2 == 0, seed, depth));
    }
}

/// The same with groups of which every row has one attribute, or none.
fn categorical(case: Case) -> Case {
    let mut random = Stream::new(case.budget.global() as u64 + 17);
    let groups = [vec![0u32, 1, 2], vec![3, 4]];
    let mut file = case.graph.file().clone();
    let row = |_: usize| {
        let mut row: Vec<u32> = groups.iter().map(|group| group[random.below(group.len())]).collect();
        row.truncate(1 + random.below(2));
        row
    };
    let rows: Vec<Vec<u32>> = (0..NODES).map(row).collect();
    file.attributes = common::graph(vec![Vec::new(); NODES], rows, DIMENSION).file().attributes.clone();
    let graph = Graph::from_file(file.grouped(&[0, 0, 0, 1, 1, -1]).unwrap());
    let budget = case.budget.of_categories(&graph);
    Case { graph, budget, ..case }
}

#[test]
fn gradients_of_changes_of_categories_are_those_of_finite_differences() {
    let dropout = Some(Dropout { rate: 0.3, chance: SeededRandom::new(5) });
    check_gradients(|seed, representations| categorical(chain(seed, representations)), dropout);
    check_gradients(|seed, representations| categorical(sums_of_terms(seed, representations)), dropout);
}

#[test]
fn the_bound_of_changes_of_categories_is_the_certifiers() {
    check_bounds(|seed, representations| {
        let case = categorical(chain(seed, representations));
        Case { network: case.network.widened(&case.graph).unwrap(), ..case }
    });
}

/// The same with rows that are divided by their sums.
fn normalised(case: Case) -> Case {
    Case { graph: case.graph.normalised(Normalisation::Float32), ..case }
}

#[test]
fn gradients_of_normalised_rows_are_those_of_finite_differences() {
    check_gradients(|seed, representations| normalised(chain(seed, representations)), None);
    check_gradients(|seed, representations| normalised(sums_of_terms(seed, representations)), None);
}

#[test]
fn a_gradient_does_not_depend_on_the_threads() {
    let case = sums_of_terms(3, 4);
    let evaluate = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let terms = terms(Relaxation::Paper);
            let objective = Objective::new(&case.graph, &case.network, &case.budget, &case.labelled, terms);
            objective.evaluate(&case.network, Loss::RhU, &[0, 3, 5, 6, 2], None, false)
        })
    };
    assert_eq!(evaluate(1), evaluate(3));
}

/// The certifier's bound of a class pair with propagated intervals, not tightened.
fn certified(case: &Case, gcn: &Network, node: usize, pair: (usize, usize), relaxation: Relaxation) -> f64 {
    let unperturbed = forward(&case.graph, gcn);
    let all: Vec<u32> = (0..case.graph.node_count() as u32).collect();
    let mut intervals = Vec::new();
    for l in 2..gcn.depth() {
        intervals.push(match l {
            2 => bounds::first_hidden(
                &case.graph,
                gcn,
                &case.budget,
                &bounds::Columns::new(gcn, &case.budget),
                &Watch::default(),
                &unperturbed[0],
                &all,
            ),
            _ => bounds::propagate(&gcn.layers()[l - 2], &all, &intervals[l - 3]),
        });
    }
    let mut slice = Slice::default();
    slice.cut(gcn, gcn.depth(), node);
    let (mut backward, mut relaxed, mut slopes) = (Backward::default(), Relaxed::default(), Slopes::default());
    backward.run(gcn, &slice, &intervals, &[(pair.0, 1.0), (pair.1, -1.0)]);
    match (relaxation, intervals.first()) {
        (Relaxation::Anchored, Some(first)) => relaxed.anchored(&backward, &slice, &unperturbed[0], first),
        (_, first) => relaxed.paper(&backward, &slice, &unperturbed[0], first),
    }
    let attributes = Attributes::new(&gcn.layers()[0], &case.budget);
    relaxed.spread(&slice, unperturbed[0].width, attributes.norm(0), &mut slopes);
    let decided = Decided::default();
    let (graph, layer, budget) = (&case.graph, &gcn.layers()[0], &case.budget);
    let space = SearchSpace { graph, layer, budget, decided: &decided, attributes: &attributes, row_sums: None };
    relaxed.base.close().value - Selection::default().select(&space, &slice, &slopes)
}

/// Compares the bounds in the loss with the certifier's.
fn check_bounds(make: impl Fn(u64, usize) -> Case) {
    let mut largest: f64 = 0.0;
    for representations in [2, 3, 4, 5] {
        for seed in 0..40 {
            let case = make(seed, representations);
            let gcn = &case.network;
            let targets: Vec<u32> = (0..NODES as u32).collect();
            let reach = ReceptiveField::of(gcn, &targets);
            let pass = Pass::forward(&case.graph, gcn, &reach, None);
            let bounds = ActivationBounds::new(&case.graph, gcn, &case.budget, &reach, &pass, None);
            for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                let certificate = Certificate {
                    graph: &case.graph,
                    network: gcn,
                    budget: &case.budget,
                    attributes: &Attributes::new(&gcn.layers()[0], &case.budget),
                    pass: &pass,
                    intervals: &bounds.intervals,
                    relaxation,
                    dropout: None,
                };
                for node in 0..NODES {
                    let (found, _) = certificate.target(node, 1, &mut Workspace::default(), |_| None);
                    for k in [0, 2] {
                        let theirs = certified(&case, gcn, node, (1, k), relaxation);
                        largest = largest.max((found[k] - theirs).abs());
                    }
                }
            }
        }
    }
    println!("largest difference {largest:.1e}");
    assert!(largest < 1e-9, "{largest}");
}

#[test]
fn the_bound_in_the_loss_is_the_certifiers() {
    check_bounds(chain);
}

#[test]
fn the_bound_of_sums_of_terms_is_the_certifiers() {
    check_bounds(sums_of_terms);
}

#[test]
fn the_bound_of_normalised_rows_is_the_certifiers() {
    check_bounds(|seed, representations| normalised(chain(seed, representations)));
    check_bounds(|seed, representations| normalised(sums_of_terms(seed, representations)));
}
