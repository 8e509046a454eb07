//! Small problems about attributes that are moved within ranges.

use gcnproof::nalgebra::DMatrix;
use gcnproof::{Budget, Graph, Layer, Network, Operator, Ranges};
use gcnproof_files::{GraphFile, Pattern, SparseMatrix};

/// Numbers by chance (Steele, Lea and Flood's SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn up_to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }
}

/// A small problem.
pub struct Case {
    pub graph: Graph,
    pub network: Network,
    pub values: Vec<Vec<f64>>,
    pub budget: Budget,
    pub ranges: Ranges,
}

pub fn pattern(rows: &[Vec<u32>], columns: usize) -> Pattern {
    let mut offsets = vec![0];
    rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
    Pattern { rows: rows.len(), columns, offsets, indices: rows.concat() }
}

pub fn graph_of(adjacency: Pattern, values: &[Vec<f64>], columns: usize) -> Graph {
    let nonzero = |row: &Vec<f64>| -> Vec<u32> { (0..columns as u32).filter(|&d| row[d as usize] != 0.0).collect() };
    let places = pattern(&values.iter().map(nonzero).collect::<Vec<_>>(), columns);
    let numbers = values.iter().flatten().copied().filter(|&x| x != 0.0).collect();
    let matrix = SparseMatrix {
        rows: values.len(),
        columns,
        offsets: places.offsets.clone(),
        indices: places.indices.clone(),
        values: numbers,
    };
    Graph::from_file(GraphFile::new(adjacency, places, None).valued(matrix).unwrap())
}

pub fn case(seed: u64) -> Case {
    let random = &mut Random(seed);
    let (nodes, attributes) = (1 + random.up_to(3), 1 + random.up_to(2));
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for a in 0..nodes {
        for b in 0..a {
            if random.chance(0.5) {
                rows[a].push(b as u32);
                rows[b].push(a as u32);
            }
        }
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    let coarse = random.chance(0.4);
    let number = |random: &mut Random| {
        let x = random.between(-1.5, 1.5);
        if coarse { (x * 2.0).round() / 2.0 } else { x }
    };
    let values: Vec<Vec<f64>> = (0..nodes).map(|_| (0..attributes).map(|_| number(random)).collect()).collect();
    let graph = graph_of(pattern(&rows, nodes), &values, attributes);
    let depth = 2 + random.up_to(2);
    let classes = 2 + random.up_to(1);
    let (mut layers, mut inputs) = (Vec::new(), attributes);
    for l in 0..depth {
        let outputs = if l + 1 == depth { classes } else { 1 + random.up_to(2) };
        let weight = DMatrix::from_fn(inputs, outputs, |_, _| number(random));
        let bias: Vec<f64> = (0..outputs).map(|_| number(random) / 2.0).collect();
        let operator = if random.chance(0.7) { Operator::Gcn } else { Operator::Identity };
        layers.push(Layer::new(&operator, &graph, &weight, &bias));
        inputs = outputs;
    }
    let network = Network::new(layers).unwrap().widened(&graph).unwrap();
    let ranges = match random.chance(0.5) {
        true => Ranges::Ball([0.0, 0.125, 0.3, 1.0][random.up_to(3)]),
        false => {
            let column = |d: usize| values.iter().map(move |row| row[d]);
            let low = (0..attributes).map(|d| column(d).fold(f64::INFINITY, f64::min) - 0.25).collect();
            let high = (0..attributes).map(|d| column(d).fold(f64::NEG_INFINITY, f64::max)).collect();
            Ranges::Between { low, high }
        }
    };
    let local: Vec<i64> = (0..nodes).map(|_| random.up_to(2) as i64).collect();
    let budget = Budget::per_node(&graph, random.up_to(3), &local).unwrap().with_ranges(ranges.clone());
    Case { graph, network, values, budget, ranges }
}

impl Case {
    /// The logits with other values, in floats.
    pub fn logits(&self, values: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let layers: Vec<&Layer> = self.network.own_layers().collect();
        let mut h = values.to_vec();
        for (l, layer) in layers.iter().enumerate() {
            let sent: Vec<Vec<f64>> = h
                .iter()
                .map(|row| {
                    (0..layer.outputs())
                        .map(|j| row.iter().enumerate().map(|(i, x)| x * layer.weight.get(i, j)).sum())
                        .collect()
                })
                .collect();
            h = (0..h.len())
                .map(|m| {
                    let mut z = layer.bias.row(m).to_vec();
                    for (n, a) in layer.passing.row(m) {
                        z.iter_mut().zip(&sent[n]).for_each(|(z, x)| *z += a[0] * x);
                    }
                    if l + 1 < layers.len() { z.into_iter().map(|x: f64| x.max(0.0)).collect() } else { z }
                })
                .collect();
        }
        h
    }

    pub fn range(&self, node: usize, attribute: usize) -> [f64; 2] {
        match &self.ranges {
            Ranges::Ball(radius) => [self.values[node][attribute] - radius, self.values[node][attribute] + radius],
            Ranges::Between { low, high } => [low[attribute], high[attribute]],
        }
    }

    /// The smallest margin of each node over all other classes, of many perturbations: all that move entries to ends or
    /// halfway, and random ones.
    pub fn least(&self, references: &[usize], random: &mut Random) -> Vec<f64> {
        let (nodes, attributes) = (self.values.len(), self.values[0].len());
        let mut least = vec![f64::INFINITY; nodes];
        let mut look = |values: &[Vec<f64>]| {
            for (node, logits) in self.logits(values).iter().enumerate() {
                for class in (0..logits.len()).filter(|&class| class != references[node]) {
                    least[node] = least[node].min(logits[references[node]] - logits[class]);
                }
            }
        };
        let entries: Vec<(usize, usize)> = (0..nodes).flat_map(|n| (0..attributes).map(move |d| (n, d))).collect();
        for set in 0u32..1 << entries.len() {
            let chosen: Vec<(usize, usize)> =
                (0..entries.len()).filter(|at| set >> at & 1 == 1).map(|at| entries[at]).collect();
            let few = (0..nodes).all(|n| chosen.iter().filter(|of| of.0 == n).count() <= self.budget.local(n));
            if chosen.len() > self.budget.global() || !few {
                continue;
            }
            for code in 0..3usize.pow(chosen.len() as u32) + 20 {
                let mut values = self.values.clone();
                for (at, &(n, d)) in chosen.iter().enumerate() {
                    let [low, high] = self.range(n, d);
                    values[n][d] = match code / 3usize.pow(at as u32) % 3 {
                        _ if code >= 3usize.pow(chosen.len() as u32) => random.between(low, high),
                        0 => low,
                        1 => high,
                        _ => (low + high) / 2.0,
                    };
                }
                look(&values);
            }
        }
        least
    }
}

/// So many problems, or those that `GCNPROOF_RANGE_SEEDS=from..to` names.
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("GCNPROOF_RANGE_SEEDS") else { return 0..usual };
    let (from, to) = text.split_once("..").expect("GCNPROOF_RANGE_SEEDS=from..to");
    from.parse().unwrap()..to.parse().unwrap()
}
