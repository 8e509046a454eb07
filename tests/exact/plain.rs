//! Networks of ordinary numbers: wide and deep ones on which trees grow, and one-node networks whose sums lose a unit
//! in f64.

use gcnproof_verify::random::Stream;

use super::case::{Case, Layers, attributes, dense, hidden_widths, local_budgets, matrix, restrained};
use super::certifier::{Budget, Operator};
use super::common;

/// The style of bushy networks of multiples of ¼, on which f64 is exact.
pub const BUSHY_DYADIC: usize = 200;
/// The style of bushy networks of any real numbers.
pub const BUSHY_REAL: usize = 201;
/// The style of networks with lossy sums.
const LOSSY: usize = 300;

/// Deeper and wider, at least two flips: trees grow.
pub fn bushy(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0xabcd_1234_9abc_def1) ^ 0x99);
    let depth = 3 + stream.below(3);
    let nodes = 1 + stream.below(4);
    let dimension = 2 + stream.below(7);
    let graph = common::graph(vec![vec![]; nodes], attributes(stream, nodes, dimension), dimension);
    let classes = 2 + stream.below(3);
    let widths = [vec![dimension], hidden_widths(stream, depth, 9, 5), vec![classes]].concat();
    let dyadic = stream.chance(50);
    let number = |stream: &mut Stream| if dyadic { stream.below(9) as f64 / 4.0 - 1.0 } else { stream.real() };
    let (mut layers, mut rules): (Layers, Vec<Operator>) = (Vec::new(), Vec::new());
    for pair in widths.windows(2) {
        let weight = dense(pair[0], pair[1], |_| number(stream));
        layers.push((weight, (0..pair[1]).map(|_| number(stream)).collect()));
        rules.push(matrix(nodes, || {
            let value = number(stream);
            stream.chance(70).then_some(value)
        }));
    }
    let local = local_budgets(stream, nodes, dimension + 1);
    let global = 2 + stream.below(4);
    let budget = restrained(stream, &graph, Budget::per_node(&graph, global, &local).unwrap());
    Case::new(graph, layers, &rules, budget, if dyadic { BUSHY_DYADIC } else { BUSHY_REAL })
}

/// One hidden layer of integers whose sums lose a unit or two in f64: what looks worse may be better.
pub fn lossy(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0x1111_1234_9abc_def1) ^ 0x99);
    let dimension = 2 + stream.below(3);
    let attributes = vec![(0..dimension as u32).filter(|_| stream.chance(20)).collect()];
    let graph = common::graph(vec![vec![]], attributes, dimension);
    let width = 3 + stream.below(5);
    let big = (1u64 << 53) as f64;
    let first = dense(dimension, width, |_| [0.0, 1.0, 2.0, big, 0.5, -1.0, 3.0][stream.below(7)]);
    let bias = (0..width).map(|_| [0.0, 0.0, 1.0, -1.0, big][stream.below(5)]).collect();
    let rows: Vec<[f64; 2]> =
        (0..width).map(|_| [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]][stream.below(4)]).collect();
    let second = dense(width, 2, |at| rows[at / 2][at % 2]);
    let output_bias = (0..2).map(|_| [0.0, 0.0, 1.0, 0.5, 2.0][stream.below(5)]).collect();
    let rules = [Operator::Identity, Operator::Identity];
    let budget = Budget::uniform(&graph, 1 + stream.below(2), dimension);
    Case::new(graph, vec![(first, bias), (second, output_bias)], &rules, budget, LOSSY)
}
