//! Tiny random instances from a seed, with the awkward features that break careless code.

use crate::instance::{Dense, Instance, Sparse};

/// A small, fast, reproducible stream of numbers (SplitMix64), so that a seed means the same instance for ever.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound - 1`; 0 when the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % (bound.max(1) as u64)) as usize
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number in `[-1, 1)`.
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A valid instance with `representations` representations (2 … 5 is sensible) and its bounds filled in.
///
/// At most 4 nodes and 4 attributes, so brute force has at most 2,517 perturbations. Among the instances: small
/// dyadic numbers with many ties and exact zeros, negative message-passing entries, nodes without neighbours, a target
/// without any, no attributes at all, `q_n = 0`, `Q = 0`, `q_n > D`, budgets above everything, one direction only,
/// frozen attributes, and a class paired with itself.
pub fn instance(seed: u64, representations: usize) -> Instance {
    assert!(representations >= 2, "a network has at least two representations");
    let mut stream = Stream::new(seed ^ ((representations as u64) << 56));
    let stream = &mut stream;
    let dyadic = stream.chance(50);
    let negative = stream.chance(20);

    // Nodes per representation, from the target backwards.
    let mut nodes = vec![1];
    for _ in 1..representations {
        let last = nodes[nodes.len() - 1];
        nodes.push((last + stream.below(3)).min(4));
    }
    nodes.reverse();
    if stream.chance(2) {
        nodes[0] = 0;
    }
    let dimension = if stream.chance(2) { 0 } else { 1 + stream.below(4) };
    let classes = 2 + stream.below(2);
    let mut widths = vec![dimension];
    widths.extend((2..representations).map(|_| 1 + stream.below(4)));
    widths.push(classes);

    let message_passing = (1..representations).map(|l| adjacency(stream, nodes[l], nodes[l - 1], negative)).collect();
    let weights = (1..representations)
        .map(|l| Dense {
            rows: widths[l - 1],
            columns: widths[l],
            values: (0..widths[l - 1] * widths[l]).map(|_| weight(stream, dyadic)).collect(),
        })
        .collect();
    let biases = (1..representations)
        .map(|l| (0..widths[l]).map(|_| if stream.chance(20) { 0.0 } else { weight(stream, dyadic) / 4.0 }).collect())
        .collect();
    let density = [10, 40, 80][stream.below(3)];
    let attributes =
        (0..nodes[0]).map(|_| (0..dimension as u32).filter(|_| stream.chance(density)).collect()).collect();

    let local_budget = (0..nodes[0])
        .map(|_| match stream.below(10) {
            0 => 0,
            1 => dimension + 2,
            _ => 1 + stream.below(3),
        })
        .collect();
    let global_budget = match stream.below(20) {
        0 => 0,
        1 if nodes[0] * dimension <= 8 => usize::MAX,
        _ => 1 + stream.below(4),
    };
    let (may_add, may_remove) = (!stream.chance(8), !stream.chance(8));
    let frozen_attributes =
        if stream.chance(15) { (0..dimension).map(|_| stream.chance(30)).collect() } else { Vec::new() };

    let mut objective = vec![0.0; classes];
    let first = stream.below(classes);
    let second = if stream.chance(3) { first } else { (first + 1 + stream.below(classes - 1)) % classes };
    objective[first] += 1.0;
    objective[second] -= 1.0;

    let (lower, upper) = (Vec::new(), Vec::new());
    let mut instance = Instance {
        message_passing,
        dimension,
        attributes,
        weights,
        biases,
        lower,
        upper,
        local_budget,
        global_budget,
        may_add,
        may_remove,
        frozen_attributes,
        objective,
    };
    instance.fill_bounds().expect("the generator makes valid instances");
    instance
}

fn adjacency(stream: &mut Stream, rows: usize, columns: usize, negative: bool) -> Sparse {
    let mut entries = Vec::new();
    for row in 0..rows {
        let isolated = stream.chance(5);
        for column in 0..columns {
            if isolated || !stream.chance(75) {
                continue;
            }
            let size = match stream.below(4) {
                0 => 1.0,
                1 => 0.5,
                2 => 0.25,
                _ => 0.05 + stream.real().abs(),
            };
            entries.push((row, column, if negative && stream.chance(40) { -size } else { size }));
        }
    }
    Sparse { rows, columns, entries }
}

fn weight(stream: &mut Stream, dyadic: bool) -> f64 {
    if stream.chance(10) {
        0.0
    } else if dyadic {
        (stream.below(17) as f64 - 8.0) / 4.0
    } else {
        2.0 * stream.real()
    }
}
