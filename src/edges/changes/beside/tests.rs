use super::beside;
use crate::edges::budget::{Edge, EdgeBudget, EdgeKind};
use crate::edges::changes::menu::{ChangeMenu, ChangePath, Setting};
use crate::edges::problem::EdgeProblem;
use crate::problem::graph::Graph;
use crate::problem::layer::{Layer, Term};
use crate::problem::network::{Network, Operator};
use crate::problem::pace::Pace;
use gcnproof_verify::random::Stream;
use nalgebra::DMatrix;

fn matrix(random: &mut Stream, rows: usize, columns: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| (random.below(41) as f64 - 20.0) / 16.0)
}

/// Two graphs, the second with seven to nine nodes, and a network with so many hidden layers.
fn problem(random: &mut Stream) -> EdgeProblem {
    let nodes = 9 + random.below(3);
    let dense = 10 + random.below(50);
    let mut edges = vec![(0, 1)];
    for (i, j) in (2..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j))) {
        if random.below(100) < dense {
            edges.push((i, j));
        }
    }
    let attributes: Vec<Vec<usize>> = (0..nodes).map(|_| (0..3).filter(|_| random.below(2) == 0).collect()).collect();
    let batch = (0..nodes).map(|node| u32::from(node >= 2)).collect();
    let graph = Graph::from_lists(&edges, &attributes, 3).unwrap().with_batch(batch).unwrap();
    let (mut layers, mut inputs) = (Vec::new(), 3);
    let flows = [Operator::Sum, Operator::Mean, Operator::SumWithSelf];
    let flow = random.below(4);
    for _ in 0..1 + random.below(3) {
        let outputs = 1 + random.below(4);
        let along = flows[if flow == 3 { random.below(3) } else { flow }].clone();
        let mut terms = vec![Term { operator: along, weight: matrix(random, inputs, outputs) }];
        for _ in 0..random.below(3) {
            terms.insert(0, Term { operator: Operator::Identity, weight: matrix(random, inputs, outputs) });
        }
        let bias: Vec<f64> = matrix(random, 1, outputs).iter().copied().collect();
        let linear = (0..outputs).map(|_| random.below(6) == 0).collect();
        layers.push(Layer::of_terms(&graph, &terms, &bias, linear).unwrap());
        inputs = outputs;
    }
    let readout = [Operator::PoolSum, Operator::PoolMean][random.below(2)].clone();
    let terms = [Term { operator: readout, weight: matrix(random, inputs, 3) }];
    layers.push(Layer::of_terms(&graph, &terms, &[0.0; 3], Vec::new()).unwrap());
    let kind = [EdgeKind::Change, EdgeKind::Insert, EdgeKind::Remove][random.below(3)];
    let budget = EdgeBudget::uniform(&graph, 2, 1 + random.below(2)).kind(kind).keep_one(random.below(2) == 0);
    EdgeProblem::new(graph, Network::new(layers).unwrap(), budget).unwrap()
}

#[test]
fn no_change_does_more_beside_another_than_the_bound_says() {
    let (mut pairs, mut tight) = (0, 0);
    for seed in 0..400 {
        let problem = problem(&mut Stream::new(seed));
        let Some(stack) = problem.stack() else { continue };
        let (path, pace) = (ChangePath::default(), Pace::endless());
        let menu = ChangeMenu::new(Setting::new(stack, problem.budget(), 1), 1, &path, &pace).unwrap();
        let least = beside(&menu, 0, &[1, 2], &pace).expect("a network of this kind");
        let margins = |changes: &[Edge]| {
            let logits = stack.spans(1, changes);
            [1, 2].map(|class| logits[0].minus(logits[class]))
        };
        let singles: Vec<_> = menu.flips.iter().map(|flip| margins(&[flip.edge])).collect();
        for (x, one) in menu.flips.iter().enumerate() {
            for (y, other) in menu.flips.iter().enumerate() {
                let shared = [one.edge.0, one.edge.1].iter().any(|&end| end == other.edge.0 || end == other.edge.1);
                if shared || !menu.admits(&[*one, *other]) {
                    continue;
                }
                let both = margins(&menu.with(&[*one, *other]));
                for class in 0..2 {
                    let done = both[class].minus(singles[y][class]);
                    assert!(done.hi >= least[class][x], "seed {seed}: {done:?} below {}", least[class][x]);
                    tight += usize::from(done.lo - least[class][x] < 1e-6);
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 50_000 && tight > 5_000, "{tight} of {pairs} bounds are tight");
}
