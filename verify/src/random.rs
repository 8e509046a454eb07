//! Tiny random instances from a seed, with the awkward features that break careless code.

use crate::instance::Instance;
use crate::layer::{Layer, Term};
use crate::matrix::{Dense, Sparse};

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

/// A valid instance with `representations` representations (2 … 5 is sensible) and its bounds filled in: one term per
/// layer, one bias per unit, an activation everywhere.
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
    let Sizes { nodes, widths } = sizes(stream, representations);

    let passing: Vec<_> = (1..representations).map(|l| adjacency(stream, nodes[l], nodes[l - 1], negative)).collect();
    let weights: Vec<_> = (1..representations).map(|l| weights(stream, widths[l - 1], widths[l], dyadic)).collect();
    let biases = (1..representations).map(|l| biases(stream, 1, widths[l], dyadic).values).collect::<Vec<_>>();
    let parts = passing.into_iter().zip(weights).zip(biases);
    let layers = parts.map(|((passing, weight), bias)| Layer::convolution(passing, weight, bias)).collect();
    attacked(stream, layers, &Sizes { nodes, widths })
}

/// A valid instance of layers of one to three terms, with its bounds filled in; everything of [`instance`], and
/// moreover: operators with and without common entries, the identity, an operator that takes another back exactly,
/// signed entries and stored zeros, linear units, units that carry an input on, layers without any activation, and
/// biases per node.
pub fn network_of_terms(seed: u64, representations: usize) -> Instance {
    assert!(representations >= 2, "a network has at least two representations");
    // Other numbers than those of `instance` with the same seed.
    let mut stream = Stream::new(!seed ^ ((representations as u64) << 56));
    let stream = &mut stream;
    let dyadic = stream.chance(50);
    let negative = stream.chance(50);
    let sizes = sizes(stream, representations);
    let mut layers = Vec::new();
    for l in 1..representations {
        let (rows, columns) = (sizes.nodes[l], sizes.nodes[l - 1]);
        let (inputs, units) = (sizes.widths[l - 1], sizes.widths[l]);
        let mut terms: Vec<Term> = Vec::new();
        for _ in 0..1 + stream.below(3) {
            let passing = operator(stream, rows, columns, negative, terms.last());
            terms.push(Term { passing, weight: weights(stream, inputs, units, dyadic) });
        }
        if terms.len() > 1 && stream.chance(15) {
            take_back(stream, &mut terms);
        }
        let bias_rows = if stream.chance(50) { rows } else { 1 };
        let bias = biases(stream, bias_rows, units, dyadic);
        let linear = match stream.below(5) {
            0 => vec![true; units],
            1 | 2 => (0..units).map(|_| stream.chance(40)).collect(),
            _ => Vec::new(),
        };
        let mut layer = Layer { terms, bias, linear };
        if l + 1 < representations && stream.chance(30) {
            carry(stream, &mut layer);
        }
        layers.push(layer);
    }
    attacked(stream, layers, &sizes)
}

/// Nodes and units of each representation.
struct Sizes {
    nodes: Vec<usize>,
    widths: Vec<usize>,
}

fn sizes(stream: &mut Stream, representations: usize) -> Sizes {
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
    Sizes { nodes, widths }
}

/// The instance of a network, with random attributes, budgets and classes.
fn attacked(stream: &mut Stream, layers: Vec<Layer>, sizes: &Sizes) -> Instance {
    let (nodes, dimension, classes) = (sizes.nodes[0], sizes.widths[0], sizes.widths[sizes.widths.len() - 1]);
    let density = [10, 40, 80][stream.below(3)];
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| stream.chance(density)).collect()).collect();

    let local_budget = (0..nodes)
        .map(|_| match stream.below(10) {
            0 => 0,
            1 => dimension + 2,
            _ => 1 + stream.below(3),
        })
        .collect();
    let global_budget = match stream.below(20) {
        0 => 0,
        1 if nodes * dimension <= 8 => usize::MAX,
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
        layers,
        dimension,
        attributes,
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

/// The operator of a term: the identity, one of its own, or one with exactly the places of the term before it, or with
/// none of them.
fn operator(stream: &mut Stream, rows: usize, columns: usize, negative: bool, before: Option<&Term>) -> Sparse {
    match (stream.below(5), before) {
        (0, _) => identity(rows, columns),
        (1, Some(before)) => {
            let mut same = before.passing.clone();
            for entry in &mut same.entries {
                entry.2 = if stream.chance(10) { 0.0 } else { (stream.below(9) as f64 - 4.0) / 4.0 };
            }
            same
        }
        (2, Some(before)) => {
            let mut other = adjacency(stream, rows, columns, negative);
            let taken =
                |entry: &(usize, usize, f64)| before.passing.entries.iter().any(|e| (e.0, e.1) == (entry.0, entry.1));
            other.entries.retain(|entry| !taken(entry));
            other
        }
        _ => adjacency(stream, rows, columns, negative),
    }
}

/// Row `i` reads node `i`, as far as there are nodes.
fn identity(rows: usize, columns: usize) -> Sparse {
    Sparse { rows, columns, entries: (0..rows.min(columns)).map(|node| (node, node, 1.0)).collect() }
}

/// Makes the last term the opposite of the first in some rows of its weights: there the two add up to nothing.
fn take_back(stream: &mut Stream, terms: &mut [Term]) {
    let (first, rest) = terms.split_at_mut(1);
    let last = &mut rest[rest.len() - 1];
    last.passing = first[0].passing.clone();
    for input in 0..last.weight.rows {
        if stream.chance(70) {
            for unit in 0..last.weight.columns {
                *last.weight.at_mut(input, unit) = -first[0].weight.at(input, unit);
            }
        }
    }
}

/// Makes one unit linear, fed by one input of the node itself and by nothing else: a skip past the layer.
fn carry(stream: &mut Stream, layer: &mut Layer) {
    let (unit, input) = (stream.below(layer.units()), stream.below(layer.inputs()));
    let mut selection = Dense::zeros(layer.inputs(), layer.units());
    for term in &mut layer.terms {
        (0..term.weight.rows).for_each(|row| *term.weight.at_mut(row, unit) = 0.0);
    }
    (0..layer.bias.rows).for_each(|row| *layer.bias.at_mut(row, unit) = 0.0);
    if layer.inputs() > 0 {
        *selection.at_mut(input, unit) = 1.0;
    }
    layer.linear.resize(layer.units(), false);
    layer.linear[unit] = true;
    let own = identity(layer.rows(), layer.columns());
    // Three terms at most: where there are three, the last makes room.
    layer.terms.truncate(2);
    layer.terms.push(Term { passing: own, weight: selection });
}

fn weights(stream: &mut Stream, inputs: usize, units: usize, dyadic: bool) -> Dense {
    Dense { rows: inputs, columns: units, values: (0..inputs * units).map(|_| weight(stream, dyadic)).collect() }
}

fn biases(stream: &mut Stream, rows: usize, units: usize, dyadic: bool) -> Dense {
    let values = (0..rows * units).map(|_| if stream.chance(20) { 0.0 } else { weight(stream, dyadic) / 4.0 });
    Dense { rows, columns: units, values: values.collect() }
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
