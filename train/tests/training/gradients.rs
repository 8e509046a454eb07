//! Training's gradients against central finite differences, and its bounds against the certifier's.

use gcnproof::internals::bound::activation as bounds;
use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::backward::Backward;
use gcnproof::internals::bound::relaxed::{Relaxation, Relaxed};
use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
use gcnproof::internals::problem::budget::Decided;
use gcnproof::internals::problem::forward::forward;
use gcnproof::internals::problem::limits::Watch;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Budget, Graph, Network, Operator};
use gcnproof_files::DenseMatrix;
use gcnproof_train::activation::ActivationBounds;
use gcnproof_train::losses::Loss;
use gcnproof_train::objective::{Objective, Terms};
use gcnproof_train::pass::{Dropout, Pass};
use gcnproof_train::random::SeededRandom;
use gcnproof_train::receptive_field::ReceptiveField;
use gcnproof_train::relaxation::{Certificate, Workspace};
use gcnproof_verify::random::Stream;

use crate::common;

const NODES: usize = 7;
const DIMENSION: usize = 6;

/// Weights and biases, layer by layer.
type Parameters = Vec<(DenseMatrix, Vec<f64>)>;

/// A random problem larger than the enumerable ones: real weights, so that ties have probability zero.
struct Case {
    graph: Graph,
    rules: Vec<Operator>,
    parameters: Parameters,
    budget: Budget,
    labelled: Vec<u32>,
}

fn case(seed: u64, representations: usize) -> Case {
    let mut random = Stream::new(seed.wrapping_mul(977) + representations as u64);
    let mut adjacency = vec![Vec::new(); NODES];
    for i in 0..NODES {
        for j in 0..i {
            // Node 6 stays isolated.
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
    let graph = Graph::from_file(file);
    let mut widths = vec![DIMENSION];
    widths.extend((2..representations).map(|_| 3 + random.below(2)));
    widths.push(3);
    let parameters = widths
        .windows(2)
        .map(|pair| {
            let values = (0..pair[0] * pair[1]).map(|_| random.real()).collect();
            let bias = (0..pair[1]).map(|_| 0.5 * random.real()).collect();
            (DenseMatrix { rows: pair[0], columns: pair[1], values }, bias)
        })
        .collect();
    let rules = (1..representations)
        .map(|_| match random.below(3) {
            0 => Operator::Gcn,
            1 => Operator::MeanWithSelf,
            _ => Operator::from_plain(signed(&mut random)).unwrap(),
        })
        .collect();
    let local: Vec<i64> = (0..NODES).map(|_| random.below(DIMENSION + 2) as i64).collect();
    let mut budget = Budget::per_node(&graph, [0, 1, 2, 5, 100][random.below(5)], &local).unwrap();
    if random.chance(30) {
        budget = budget.freeze_attributes(&graph, &[random.below(DIMENSION) as i64]).unwrap();
    }
    Case { graph, rules, parameters, budget, labelled: vec![0, 1, 5] }
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

impl Case {
    fn gcn(&self, parameters: &Parameters) -> Network {
        Network::from_file(common::model(parameters.clone()), &self.rules, &self.graph).unwrap()
    }
}

fn terms(relaxation: Relaxation) -> Terms {
    // Margins large enough that every hinge is at work somewhere.
    Terms { relaxation, margin_labelled: 2.2, margin_unlabelled: 1.1, hinge_weight: 0.7, weight_decay: 0.01 }
}

/// The largest relative difference between reverse mode and central differences, per parameter tensor, and how many
/// parameters sat on a kink.
fn compare(case: &Case, stage: Loss, relaxation: Relaxation, dropout: Option<Dropout>) -> (Vec<f64>, usize, usize) {
    let batch: Vec<u32> = if stage == Loss::RhU { vec![0, 3, 5, 6, 2] } else { vec![0, 5] };
    let evaluate = |parameters: &Parameters| {
        let gcn = case.gcn(parameters);
        let objective = Objective::new(&case.graph, &gcn, &case.budget, &case.labelled, terms(relaxation));
        objective.evaluate(&gcn, stage, &batch, dropout, false)
    };
    let (_, gradient) = evaluate(&case.parameters);
    let (mut errors, mut kinks, mut count) = (Vec::new(), 0, 0);
    for (l, (weight, bias)) in case.parameters.iter().enumerate() {
        for (is_bias, length) in [(false, weight.values.len()), (true, bias.len())] {
            let mut worst: f64 = 0.0;
            for at in 0..length {
                let shifted = |step: f64| {
                    let mut parameters = case.parameters.clone();
                    let (weight, bias) = &mut parameters[l];
                    *if is_bias { &mut bias[at] } else { &mut weight.values[at] } += step;
                    evaluate(&parameters).0.loss
                };
                let reverse = if is_bias { gradient.bias[l][at] } else { gradient.weight[l][at] };
                let (fine, coarse) = (shifted(1e-6) - shifted(-1e-6), shifted(1e-5) - shifted(-1e-5));
                let (fine, coarse) = (fine / 2e-6, coarse / 2e-5);
                let one_sided = (shifted(1e-5) - evaluate(&case.parameters).0.loss) / 1e-5;
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

#[test]
fn gradients_are_those_of_finite_differences() {
    let dropout = Dropout { rate: 0.3, chance: SeededRandom::new(5) };
    let (mut kinks, mut count) = (0, 0);
    for representations in [2, 3, 4, 5] {
        for seed in 0..4 {
            let case = case(seed, representations);
            for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                for stage in Loss::ALL {
                    let dropout = (seed % 2 == 0).then_some(dropout);
                    let (errors, at_kinks, of) = compare(&case, stage, relaxation, dropout);
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
    let space = SearchSpace { graph, layer, budget, decided: &decided, attributes: &attributes };
    relaxed.base.close().value - Selection::default().select(&space, &slice, &slopes)
}

#[test]
fn the_bound_in_the_loss_is_the_certifiers() {
    let mut largest: f64 = 0.0;
    for representations in [2, 3, 4, 5] {
        for seed in 0..40 {
            let case = case(seed, representations);
            let gcn = case.gcn(&case.parameters);
            let targets: Vec<u32> = (0..NODES as u32).collect();
            let reach = ReceptiveField::of(&gcn, &targets);
            let pass = Pass::forward(&case.graph, &gcn, &reach, None);
            let bounds = ActivationBounds::new(&case.graph, &gcn, &case.budget, &reach, &pass, None);
            for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                let certificate = Certificate {
                    graph: &case.graph,
                    network: &gcn,
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
                        let theirs = certified(&case, &gcn, node, (1, k), relaxation);
                        largest = largest.max((found[k] - theirs).abs());
                    }
                }
            }
        }
    }
    println!("largest difference {largest:.1e}");
    assert!(largest < 1e-9, "{largest}");
}
