//! Cases by chance.

use gcnproof::Ranges;

use crate::changes::case::generate as changes;
use crate::random::Random;
use crate::ranges::case::RangeCase;
use crate::ranges::truth::{RangeTruth, truths};

/// The case of a seed and a number, with what is true of it.
pub fn generate(seed: u64, number: u64) -> (RangeCase, Vec<RangeTruth>) {
    let random = &mut Random::new(seed ^ 0x4a96, number);
    let changes = changes(seed, number);
    let (nodes, columns) = (changes.nodes(), changes.graph.attributes.columns);
    let uniform = random.percent(50).then(|| random.pick(&[0, 1, 1, 2, 1_000]));
    let local = (0..nodes).map(|_| uniform.unwrap_or_else(|| random.pick(&[0, 1, 1, 2]))).collect();
    let frozen = (0..columns as u32).filter(|_| random.percent(8)).collect();
    let grid = random.pick(&[0.5, 0.25, 0.1, 0.0]);
    let mut number = || match random.below(4) {
        0 => 0.0,
        _ if grid == 0.0 => 3.0 * random.unit() - 1.5,
        _ => random.between(-6, 6) as f64 * grid,
    };
    let has = |n: usize, d: usize| f64::from(u8::from(changes.graph.attributes.contains(n, d as u32)));
    let mut values: Vec<Vec<f64>> = (0..nodes).map(|_| (0..columns).map(|_| number()).collect()).collect();
    if random.percent(20) {
        values = (0..nodes).map(|n| (0..columns).map(|d| has(n, d)).collect()).collect();
    }
    let ranges = match random.below(5) {
        0 | 1 => Ranges::Ball(random.pick(&[0.0, 0.125, 0.1, 0.3, 1.0])),
        _ => {
            let column = |d: usize| values.iter().map(move |row| row[d]);
            let mut beyond = || random.pick(&[0.0, 0.0, 0.25, 0.1, 1.0]);
            let low = (0..columns).map(|d| column(d).fold(f64::INFINITY, f64::min) - beyond()).collect();
            let high = (0..columns).map(|d| column(d).fold(f64::NEG_INFINITY, f64::max) + beyond()).collect();
            Ranges::Between { low, high }
        }
    };
    let mut case = RangeCase { changes, values, ranges, global: random.pick(&[0, 1, 1, 2, 2, 3]), local, frozen };
    loop {
        match truths(&case) {
            Some(truths) => return (case, truths),
            None => case.global = case.global.saturating_sub(1),
        }
    }
}
