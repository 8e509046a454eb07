//! The pruned selection against a naive one, seeded and unseeded, with many attributes.

use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
use gcnproof::internals::problem::budget::Decided;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Budget, Direction, Network, Operator};
use gcnproof_files::DenseMatrix;
use gcnproof_verify::random::Stream;

use crate::common::{graph, model};

#[test]
fn the_pruned_selection_is_the_naive_one() {
    for seed in 0..3_000u64 {
        let mut r = Stream::new(seed ^ 0xabcdef);
        let r = &mut r;
        let nodes = 1 + r.below(4);
        let dimension = [1 + r.below(9), 60 + r.below(80), 200 + r.below(300)][r.below(3)];
        let width = 1 + r.below(9);
        let adjacency: Vec<Vec<u32>> =
            (0..nodes).map(|i| (0..nodes as u32).filter(|&j| j as usize != i).collect()).collect();
        let attributes: Vec<Vec<u32>> =
            (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(20)).collect()).collect();
        let graph = graph(adjacency, attributes, dimension);
        let coarse = r.chance(40);
        let number = |r: &mut Stream| if coarse { r.below(5) as f64 - 2.0 } else { r.real() };
        let weight: Vec<f64> = (0..dimension * width).map(|_| number(r)).collect();
        let layers = vec![
            (DenseMatrix { rows: dimension, columns: width, values: weight.clone() }, vec![0.0; width]),
            (DenseMatrix { rows: width, columns: 2, values: vec![1.0; width * 2] }, vec![0.0; 2]),
        ];
        let gcn = Network::from_file(model(layers), &[Operator::SumWithSelf], &graph).unwrap();
        let local: Vec<i64> = (0..nodes).map(|_| [0, 1, 2, 5, 70, 1000][r.below(6)]).collect();
        let global = [1, 2, 5, 40, 120, usize::MAX][r.below(6)];
        let direction = [Direction::Both, Direction::Add, Direction::Remove][r.below(3)];
        let mut budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
        if r.chance(30) {
            let frozen: Vec<i64> = (0..dimension as i64).filter(|_| r.chance(30)).collect();
            budget = budget.freeze_attributes(&graph, &frozen).unwrap();
        }
        let list = Attributes::new(&gcn.layers()[0], &budget);
        let mut slice = Slice::default();
        slice.cut(&gcn, 3, 0);
        let mut selection = Selection::default();
        for round in 0..4 {
            let two = r.chance(50);
            let slopes = Slopes {
                centre: (0..nodes * width).map(|_| number(r)).collect(),
                radius: if two { (0..nodes * width).map(|_| number(r).abs()).collect() } else { Vec::new() },
                ..Slopes::default()
            };
            let (layer, decided) = (&gcn.layers()[0], &Decided::default());
            let attributes = &list;
            let space = SearchSpace { graph: &graph, layer, budget: &budget, decided, attributes, row_sums: None };
            let got = selection.select(&space, &slice, &slopes);
            // Naive.
            let mut all: Vec<(f64, usize)> = Vec::new();
            for (row, &node) in slice.nodes(1).iter().enumerate() {
                for d in 0..dimension {
                    let present = graph.attributes().contains(node as usize, d as u32);
                    if !budget.permits(node as usize, d, present) {
                        continue;
                    }
                    let sign = if present { -1.0 } else { 1.0 };
                    let loss: f64 = (0..width)
                        .map(|j| {
                            let w = weight[d * width + j];
                            let radius = if two { slopes.radius[row * width + j] } else { 0.0 };
                            radius * w.abs() - sign * slopes.centre[row * width + j] * w
                        })
                        .sum();
                    all.push((loss, node as usize));
                }
            }
            all.sort_by(|x, y| y.0.total_cmp(&x.0));
            let mut left: Vec<usize> = (0..nodes).map(|n| budget.local(n)).collect();
            let (mut want, mut flips) = (0.0, global);
            for (loss, node) in all {
                if loss > 0.0 && flips > 0 && left[node] > 0 {
                    left[node] -= 1;
                    flips -= 1;
                    want += loss;
                }
            }
            assert!((got - want).abs() <= 1e-10 * (1.0 + want), "seed {seed} round {round}: {got} {want}");
            // Admissible.
            let mut counts = vec![0; nodes];
            let mut seen = std::collections::BTreeSet::new();
            for loss in selection.flips() {
                counts[loss.flip.node as usize] += 1;
                let present = graph.attributes().contains(loss.flip.node as usize, loss.flip.attribute);
                assert!(budget.permits(loss.flip.node as usize, loss.flip.attribute as usize, present));
                assert!(seen.insert(loss.flip));
            }
            assert!(selection.flips().len() <= global);
            assert!((0..nodes).all(|n| counts[n] <= budget.local(n)));
        }
    }
}
