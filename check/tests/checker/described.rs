//! The error bound of `FORMAT.md` §9, evaluated from the document alone in plain floats over the layers that a model
//! describes: what the checker allows for is that number, for all flips and for a witness.
use crate::common;

use std::collections::BTreeMap;

use common::{Big, Random, World};
use gcnproof_check::format::*;
use gcnproof_check::{Checker, Judge, Reason, Statement, find_program};
use gcnproof_files::{ModelFile, Normalisation, Precision, TensorSource, describe_model};
use rayon::prelude::*;
use serde_json::{Value, json};

type Matrix = Vec<Vec<f64>>;

struct Term {
    source: Option<usize>,
    rule: &'static str,
    weight: Matrix,
    magnitude: Option<Matrix>,
    roundings: u32,
}

struct Layer {
    terms: Vec<Term>,
    /// One row, or one for each node.
    bias: Matrix,
    bias_magnitude: Option<Matrix>,
    bias_roundings: u32,
    linear: Vec<bool>,
    /// The weight layer that it stands in, from 0.
    depth: usize,
}

/// A case: a world around the chain, and what it was described as.
pub struct Case {
    pub world: World,
    layers: Vec<Layer>,
    pub deployed: Deployed,
    /// By weight layer and rule.
    errors: BTreeMap<(usize, &'static str), u32>,
}

#[derive(Default)]
struct Tensors(BTreeMap<String, (Vec<usize>, Vec<f64>)>);

impl Tensors {
    fn put(&mut self, name: String, matrix: &Matrix, flat: bool) -> String {
        let shape = if flat && matrix.len() == 1 { vec![matrix[0].len()] } else { vec![matrix.len(), matrix[0].len()] };
        self.0.insert(name.clone(), (shape, matrix.concat()));
        name
    }
}

impl TensorSource for Tensors {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
    fn shape(&self, name: &str) -> Vec<usize> {
        self.0[name].0.clone()
    }
    fn values(&self, name: &str, _: bool) -> Result<(Vec<f64>, Precision), String> {
        Ok((self.0[name].1.clone(), Precision::F64))
    }
    fn integers(&self, name: &str) -> Result<Vec<u64>, String> {
        Err(format!("{name} has none"))
    }
}

fn model(layers: &[Layer]) -> ModelFile {
    let mut tensors = Tensors::default();
    let name = |at: usize| format!("l{at}");
    let mut texts: Vec<Value> = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let mut terms = Vec::new();
        for (k, term) in layer.terms.iter().enumerate() {
            let weight = tensors.put(format!("{at}.{k}"), &term.weight, false);
            let from = term.source.map_or("x".into(), name);
            let mut text =
                json!({ "from": from, "operator": term.rule, "weight": weight, "roundings": term.roundings });
            if let Some(magnitude) = &term.magnitude {
                text["magnitude"] = tensors.put(format!("{at}.{k}.m"), magnitude, false).into();
            }
            terms.push(text);
        }
        let activation: Vec<&str> = layer.linear.iter().map(|&linear| if linear { "none" } else { "relu" }).collect();
        let bias = tensors.put(format!("{at}.b"), &layer.bias, true);
        let mut text = json!({ "name": name(at), "terms": terms, "activation": activation, "bias": bias, "bias_roundings": layer.bias_roundings });
        if let Some(magnitude) = &layer.bias_magnitude {
            text["bias_magnitude"] = tensors.put(format!("{at}.bm"), magnitude, true).into();
        }
        texts.push(text);
    }
    let text = json!({ "version": 1, "output": name(layers.len() - 1), "layers": texts }).to_string();
    describe_model("model", &text, &tensors).unwrap()
}

/// A matrix with entries of so many bits, or of all; and one that is nowhere smaller.
fn matrix(random: &mut Random, rows: usize, columns: usize, scale: f64) -> Matrix {
    let kind = random.below(3);
    (0..rows).map(|_| (0..columns).map(|_| random.weight(kind) * scale).collect()).collect()
}

fn magnitude(random: &mut Random, of: &Matrix) -> Option<Matrix> {
    let more =
        |random: &mut Random, w: f64| w.abs() * (1.0 + random.below(3) as f64) + random.below(2) as f64 * w.abs();
    random.chance(30).then(|| of.iter().map(|row| row.iter().map(|&w| more(random, w)).collect()).collect())
}

fn case(seed: u64) -> Case {
    case_of(seed, true)
}

/// The same, or with nothing folded into its numbers.
pub fn case_of(seed: u64, folded: bool) -> Case {
    const RULES: [&str; 7] = ["identity", "gcn", "mean", "sum", "mean+self", "sum+self", "poly(mean;0.5,-0.25,1)"];
    let random = &mut Random::new(seed);
    let (nodes, columns) = (1 + random.below(4), 1 + random.below(3));
    let attributes: Vec<Vec<u8>> = (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
    let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
    let budget = [random.below(4) as u64, random.below(3) as u64];
    let mut world = common::world(&attributes, columns, Vec::new(), budget[0], budget[1]);
    let edges: Vec<bool> =
        (0..nodes * nodes).map(|at| random.chance(if at % (nodes + 1) == 0 { 15 } else { 70 })).collect();
    world.graph.adjacency = common::pattern(nodes, nodes, |i, j| edges[i.min(j) * nodes + i.max(j)]);
    if random.chance(30) {
        world.header.budget.local = Local::PerNode((0..nodes).map(|_| random.below(3) as u64).collect());
    }
    world.header.budget.direction = [Direction::Both, Direction::Add, Direction::Remove][random.below(3)];
    if random.chance(20) {
        world.header.budget.frozen_attributes = vec![random.below(columns) as u32];
    }
    // So small that underflow counts, so large that numbers leave the range, or neither.
    let tiny = random.chance(15);
    let scale = if tiny { 1e-19 } else { [1.0, 1.0, 1.0, 1e12][random.below(4)] };
    let count = 1 + random.below(4);
    let mut layers: Vec<Layer> = Vec::new();
    for at in 0..count {
        let last = at + 1 == count;
        let outputs = if last { 2 } else { 1 + random.below(3) };
        let mut sources: Vec<Option<usize>> =
            (0..1 + random.below(3)).map(|_| Some(random.below(at + 1)).filter(|&of| of < at)).collect();
        if last {
            let read = |of: &usize| layers.iter().flat_map(|layer| &layer.terms).any(|term| term.source == Some(*of));
            sources.extend((0..at).filter(|of| !read(of)).map(Some));
        }
        let (share, common) = (random.chance(50), RULES[random.below(RULES.len())]);
        let mut terms = Vec::new();
        for source in sources {
            let inputs = source.map_or(columns, |of| layers[of].linear.len());
            let weight = matrix(random, inputs, outputs, scale);
            let magnitude = magnitude(random, &weight);
            let rule = if share { common } else { RULES[random.below(RULES.len())] };
            terms.push(Term { source, rule, weight, magnitude, roundings: [0, 0, 5][random.below(3)] });
        }
        let rows = if random.chance(25) { nodes } else { 1 };
        let bias = matrix(random, rows, outputs, scale);
        let mut bias_magnitude = magnitude(random, &bias);
        if random.chance(20) && bias.len() == 1 {
            bias_magnitude = bias_magnitude.map(|rows| vec![rows[0].clone(); nodes]);
        }
        let depth = terms.iter().filter_map(|term| term.source).map(|of| layers[of].depth + 1).max().unwrap_or(0);
        let linear = (0..outputs).map(|_| last || random.chance(30)).collect();
        layers.push(Layer { terms, bias, bias_magnitude, bias_roundings: [0, 0, 40][random.below(3)], linear, depth });
    }
    if !folded {
        for layer in &mut layers {
            (layer.bias_magnitude, layer.bias_roundings) = (None, 0);
            layer.terms.iter_mut().for_each(|term| (term.magnitude, term.roundings) = (None, 0));
        }
    }
    world.model = model(&layers);
    world.header.model = world.model.digest.clone();
    let mut errors = BTreeMap::new();
    for (depth, rule) in layers.iter().flat_map(|layer| layer.terms.iter().map(|term| (layer.depth, term.rule))) {
        errors.entry((depth, rule)).or_insert_with(|| [0, 0, 1, 8][random.below(4)]);
    }
    world.header.message_passing = world.model.layers.iter().map(|layer| layer.operators.join(" & ")).collect();
    let of_layer = |(at, layer): (usize, &gcnproof_files::LayerFile)| {
        let of_rule =
            |rule: &String| errors.iter().find(|((of, name), _)| (*of, *name) == (at, rule)).map_or(0, |e| *e.1);
        layer.operators.iter().map(of_rule).collect()
    };
    let deployed = Deployed {
        precision: [5, 8, 12, 24][random.below(4)],
        operator_error: world.model.layers.iter().enumerate().map(of_layer).collect(),
        flush_subnormals: tiny || random.chance(20),
    };
    Case { world, layers, deployed, errors }
}

#[derive(Clone, Copy, Default)]
struct Unit {
    z: f64,
    reach: f64,
    size: f64,
    error: f64,
}

fn bits(x: f64) -> u32 {
    let mut mantissa = x.to_bits() & ((1 << 52) - 1) | u64::from(x.is_normal()) << 52;
    while mantissa != 0 && mantissa.is_multiple_of(2) {
        mantissa /= 2;
    }
    64 - mantissa.leading_zeros()
}

impl Case {
    /// `E` of two classes at a node, for all flips, or after some and without any others; none where it is not finite.
    fn error(&self, node: usize, pair: [usize; 2], made: Option<&[(u32, u32)]>) -> Option<f64> {
        let nodes = self.world.graph.attributes.rows;
        let mut known: Vec<Vec<Option<Vec<Unit>>>> = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            if at + 1 == self.layers.len() {
                return self.row(layer, node, made, &known, Some(pair)).map(|row| row[0].error);
            }
            let row = |m: usize| self.row(layer, m, made, &known, None);
            let rows = (0..nodes).map(row).collect();
            known.push(rows);
        }
        None
    }

    fn row(
        &self,
        layer: &Layer,
        m: usize,
        made: Option<&[(u32, u32)]>,
        known: &[Vec<Option<Vec<Unit>>>],
        pair: Option<[usize; 2]>,
    ) -> Option<Vec<Unit>> {
        let (world, columns) = (&self.world, self.world.graph.attributes.columns);
        let (nodes, precision) = (world.graph.attributes.rows, self.deployed.precision);
        let u = 2f64.powi(-(precision as i32));
        let has = |n: usize, d: usize| {
            world.graph.attributes.contains(n, d as u32)
                != made.is_some_and(|made| made.contains(&(n as u32, d as u32)))
        };
        let local = |n: usize| if made.is_some() { 0 } else { world.local(n).min(columns as u64) as usize };
        let adds = world.header.budget.direction != Direction::Remove;
        let row = |of: &Matrix| of[if of.len() == 1 { 0 } else { m }].clone();
        let (bias, bias_most) = (row(&layer.bias), row(layer.bias_magnitude.as_ref().unwrap_or(&layer.bias)));
        let most = |term: &Term, i: usize, j: usize| {
            term.magnitude.as_ref().map_or(term.weight[i][j].abs(), |most| most[i][j])
        };
        let entries: Vec<Vec<f64>> = layer.terms.iter().map(|term| world.dense(term.rule)[m].clone()).collect();
        let reads = |k: usize, n: usize| entries[k][n] != 0.0;
        let of_x: Vec<usize> = (0..layer.terms.len()).filter(|&k| layer.terms[k].source.is_none()).collect();
        // Flips at the nodes whose attributes are read.
        let open: Vec<usize> = (0..nodes).filter(|&n| of_x.iter().any(|&k| reads(k, n)) && local(n) > 0).collect();
        let c = open.iter().map(|&n| local(n)).sum::<usize>().min(world.header.budget.global as usize);
        let below = |k: usize, n: usize| layer.terms[k].source.map(|of| known[of][n].as_ref());
        let (mut d, mut r) = (Vec::new(), Vec::new());
        let (mut h, mut a_most) = (if of_x.is_empty() { 0.0 } else { 1.0 }, 0.0f64);
        for (k, term) in layer.terms.iter().enumerate() {
            let senders: Vec<usize> = (0..nodes).filter(|&n| reads(k, n)).collect();
            r.push(senders.len());
            senders.iter().for_each(|&n| a_most = a_most.max(entries[k][n].abs()));
            d.push(match term.source {
                None => {
                    let seen = (0..columns).filter(|&i| senders.iter().any(|&n| has(n, i))).count();
                    (seen + if adds { c } else { 0 }).min(columns)
                }
                Some(of) => {
                    let mut inputs = vec![false; self.layers[of].linear.len()];
                    for &n in &senders {
                        for (i, unit) in below(k, n).unwrap()?.iter().enumerate() {
                            inputs[i] |= unit.size > 0.0;
                            h = f64::max(h, unit.size);
                        }
                    }
                    inputs.iter().filter(|&&used| used).count()
                }
            });
        }
        let rounds = |x: f64| bits(x) > precision;
        let s =
            u32::from(layer.terms.iter().flat_map(|term| term.weight.iter().flatten()).any(|&w| rounds(w))) as usize;
        let s_b = usize::from(bias.iter().any(|&b| rounds(b)));
        let leaves: Vec<usize> = d.iter().zip(&r).map(|(&d, &r)| d.max(r)).collect();
        let mut n = leaves.iter().sum::<usize>() + s_b + layer.bias_roundings as usize;
        for (k, term) in layer.terms.iter().enumerate().filter(|of| r[of.0] > 0) {
            let rounded = (0..nodes).any(|n| rounds(entries[k][n]));
            let tau = self.errors[&(layer.depth, term.rule)].max(u32::from(rounded)) as usize;
            let others: usize = (0..leaves.len()).filter(|&other| other != k).map(|other| leaves[other]).sum();
            let p = if term.source.is_none() { 1 } else { 2 };
            n = n.max(d[k] + r[k] - 1 + others + p + tau + s + term.roundings as usize);
        }
        let x = n as f64 * u;
        let sizes = layer.terms.iter().flat_map(|term| (0..term.weight.len()).map(move |i| (term, i)));
        let w_most = sizes.flat_map(|(term, i)| (0..bias.len()).map(move |j| most(term, i, j))).fold(0.0, f64::max);
        let factors = (1.0 + h) * (1.0 + w_most) * (1.0 + a_most);
        let summed = (d.iter().max().unwrap() + 1) * (r.iter().sum::<usize>() + 1) * (layer.terms.len() + 1);
        let bias_most: Vec<f64> = bias_most.iter().map(|b| b.abs()).collect();
        if x >= 0.5 || summed as f64 * factors + bias_most.iter().copied().fold(0.0, f64::max) >= 2f64.powi(120) {
            return None;
        }
        let gamma = x * (1.0 + x + 2.0 * x * x);
        let digits = if self.deployed.flush_subnormals { 0 } else { precision as i32 };
        let operations = d.iter().zip(&r).map(|(d, r)| (d + 1) * (r + 1)).sum::<usize>() + 1;
        let underflow = 2f64.powi(4 - 126 - digits) * operations as f64 * factors;
        // Of one unit: its value, how far it is moved, its sum of sizes, and what it inherits with these weights.
        let unit = |j: usize| {
            let (mut z, mut moved, mut raised) = (bias[j], 0.0, 0.0);
            let (mut sum, mut inherited) = (bias_most[j], 0.0);
            for (k, term) in layer.terms.iter().enumerate() {
                let Some(of) = term.source else {
                    let mut free: Vec<f64> = (0..columns)
                        .filter(|d| !world.header.budget.frozen_attributes.contains(&(*d as u32)))
                        .map(|d| most(term, d, j))
                        .collect();
                    free.sort_by(|x, y| y.total_cmp(x));
                    let farthest = open.iter().map(|&n| entries[k][n].abs()).fold(0.0, f64::max);
                    // No weight more often than there are nodes.
                    let flips = free.iter().flat_map(|&w| vec![w; open.len()]).take(c).sum::<f64>();
                    moved += farthest * flips;
                    raised += if adds { farthest * flips } else { 0.0 };
                    for (n, d) in (0..nodes).flat_map(|n| (0..columns).map(move |d| (n, d))).filter(|&(n, d)| has(n, d))
                    {
                        z += entries[k][n] * term.weight[d][j];
                        sum += entries[k][n].abs() * most(term, d, j);
                    }
                    continue;
                };
                for n in (0..nodes).filter(|&n| reads(k, n)) {
                    for (i, unit) in known[of][n].as_ref().unwrap().iter().enumerate() {
                        let (a, w) = (entries[k][n], term.weight[i][j]);
                        let value = if self.layers[of].linear[i] { unit.z } else { unit.z.max(0.0) };
                        z += a * value * w;
                        moved += a.abs() * unit.reach * w.abs();
                        sum += a.abs() * unit.size * most(term, i, j);
                        let other = pair.map(|pair| term.weight[i][pair[0]] - term.weight[i][pair[1]]);
                        inherited += a.abs() * unit.error * other.unwrap_or(w).abs();
                    }
                }
            }
            (z, moved, sum + raised, inherited)
        };
        if let Some(pair) = pair {
            let [own, other] = pair.map(unit);
            return Some(vec![Unit { error: own.3 + gamma * (own.2 + other.2) + 2.0 * underflow, ..Unit::default() }]);
        }
        let activated = |j: usize| {
            let (z, reach, sum, inherited) = unit(j);
            let wrong = inherited + gamma * sum + underflow;
            match layer.linear[j] {
                false if z + reach + wrong < 0.0 => Unit { z, ..Unit::default() },
                false => {
                    let size = wrong + (z + reach).max(0.0);
                    Unit { z, reach: if z + reach < 0.0 { 0.0 } else { reach }, size, error: wrong }
                }
                true => Unit { z, reach, size: wrong + (z + reach).abs().max((z - reach).abs()), error: wrong },
            }
        };
        Some((0..bias.len()).map(activated).collect())
    }
}

/// How many bounds were compared: of all flips, and of witnesses. None stands for no finite bound.
fn compare(seed: u64) -> [usize; 3] {
    let mut case = case(seed);
    let plain: Vec<f64> = case.world.logits(0, &[]).iter().map(Big::approximate).collect();
    // The class that loses is asked about: its bounds are not enough, and are told.
    let (reference, class) = if plain[0] <= plain[1] { (0, 1) } else { (1, 0) };
    let pair = [reference as usize, class as usize];
    case.world.header.classes = Convention::Labels;
    case.world.graph.labels = Some(vec![Some(reference); case.world.graph.attributes.rows]);
    let (world, exact) = (&case.world, case.world.header.clone());
    let deployed = Header { deployed: Some(case.deployed.clone()), version: VERSION, ..exact.clone() };
    let told = |header: &Header, claim: Claim| {
        let statement = Statement::new(&world.graph, &world.model, header, &world.matrices).unwrap();
        let checker = Checker::new(&statement, true);
        checker.check(&NodeProof { id: 0, class: reference, claim }).map_err(|fault| fault.reason)
    };
    let close = |allowed: f64, expected: f64, size: f64| {
        let open = 1e-9 * expected.abs() + 1e-13 * size;
        assert!((allowed - expected).abs() <= open, "seed {seed}: {allowed:e} is allowed, {expected:e} expected");
    };
    let mut compared = [0; 3];
    let robust = || Claim::Robust(vec![ClassProof { class, tree: vec![Step::Hints(Box::default())] }]);
    match (told(&exact, robust()), told(&deployed, robust()), case.error(0, pair, None)) {
        (Err(Reason::Bound(without)), Err(Reason::Bound(with)), Some(expected)) => {
            let (without, with) = (without.lower.to_f64(), with.lower.to_f64());
            close(without - with, expected, without.abs());
            compared[0] += 1;
        }
        (_, Err(Reason::Rounding), None) => compared[2] += 1,
        (without, with, expected) => panic!("seed {seed}: {without:?} {with:?} {expected:?}"),
    }
    for flips in world.admissible().into_iter().take(6) {
        let logits: Vec<f64> = world.logits(0, &flips).iter().map(Big::approximate).collect();
        let (margin, size) = (logits[pair[0]] - logits[pair[1]], logits[0].abs() + logits[1].abs());
        let claim = Claim::NonRobust(Witness { class, flips: flips.clone() });
        match (told(&deployed, claim), case.error(0, pair, Some(&flips))) {
            (Err(Reason::Margin(sum)), Some(expected)) => {
                close(sum.upper.to_f64() - margin, expected, size);
                compared[1] += 1;
            }
            (Ok(_), Some(expected)) => assert!(margin + expected < 1e-9 * expected + 1e-13 * size, "seed {seed}"),
            (Err(Reason::Rounding), None) => {}
            (told, expected) => panic!("seed {seed}: {told:?} {expected:?}"),
        }
    }
    compared
}

#[test]
fn the_bound_is_that_of_the_document() {
    let cases = std::env::var("DESCRIBED_CASES").ok().and_then(|x| x.parse().ok()).unwrap_or(1_500u64);
    let compared: Vec<[usize; 3]> = (0..cases).into_par_iter().map(compare).collect();
    let sums = [0, 1, 2].map(|of| compared.iter().map(|found| found[of]).sum::<usize>());
    println!("{sums:?} bounds of all flips, of witnesses, and none");
    assert!(sums[0] > cases as usize / 3 && sums[1] > cases as usize / 3 && sums[2] > cases as usize / 50, "{sums:?}");
}

/// A model that is not what it describes is refused: nothing of it is taken on trust.
#[test]
fn a_description_of_other_layers_is_refused() {
    let changes: [fn(&mut gcnproof_files::Described); 12] = [
        |of| of.layers.clear(),
        |of| drop(of.layers.pop()),
        |of| of.layers[0].layer = 99,
        |of| of.layers[0].first = usize::MAX,
        |of| of.layers[0].outputs = 1000,
        |of| of.layers[0].terms.clear(),
        |of| of.layers[0].terms[0].operator = 99,
        |of| of.layers[0].terms[0].source = Some(0),
        |of| of.layers[0].terms[0].weight.row = usize::MAX,
        |of| of.layers[0].terms[0].weight.column = usize::MAX,
        |of| of.layers[0].terms[0].weight.layer = 7,
        |of| of.layers[0].bias_magnitude = Some(vec![f64::INFINITY; of.layers[0].outputs]),
    ];
    let mut refused = 0;
    for (seed, change) in (0..400).flat_map(|seed| changes.map(|change| (seed, change))) {
        let mut case = case(seed);
        let Some(described) = case.world.model.described.as_mut() else { continue };
        change(described);
        case.world.header.deployed = Some(case.deployed.clone());
        let statement = Statement::new(&case.world.graph, &case.world.model, &case.world.header, &[]);
        assert!(matches!(statement, Err(Reason::Files(_))), "seed {seed}");
        refused += 1;
    }
    assert!(refused > 1000, "{refused}");
    // Magnitudes below what they belong to, entry by entry.
    for seed in 0..200 {
        let mut case = case(seed);
        let Some(described) = case.world.model.described.as_mut() else { continue };
        let Some(magnitude) =
            described.layers.iter_mut().flat_map(|layer| &mut layer.terms).find_map(|term| term.magnitude.as_mut())
        else {
            continue;
        };
        let Some(place) = magnitude.iter().position(|&m| m > 0.0) else { continue };
        // Each is at least the size of its weight, and at most four times that.
        magnitude[place] /= 8.0;
        case.world.header.deployed = Some(case.deployed.clone());
        let statement = Statement::new(&case.world.graph, &case.world.model, &case.world.header, &[]);
        assert!(matches!(statement, Err(Reason::Files(_))), "seed {seed}");
    }
}

/// Executions of networks whose layers read any earlier ones, in the verified checker: with as many bits as floats have
/// it accepts what the other one accepts, and whatever it accepts is true of the exact network. Skipped aloud where it
/// is not built (`make verified`).
#[test]
fn executions_of_described_networks_are_judged_as_by_the_other_checker() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let cases = std::env::var("DESCRIBED_CASES").ok().and_then(|x| x.parse().ok()).unwrap_or(600u64);
    let compare = |seed: u64| {
        // Into the numbers of half of the networks others were folded.
        let mut case = case_of(seed + 170_000_000, seed.is_multiple_of(2));
        // Rows are divided in a third of the cases, in as many bits as there are, or in more.
        if seed.is_multiple_of(3) {
            case.world.graph.normalisation = [Normalisation::Float32, Normalisation::Float64][seed as usize / 3 % 2];
            case.world.header.graph = case.world.graph.digest.clone();
        }
        let world = &case.world;
        let deployed = Header { deployed: Some(case.deployed.clone()), version: VERSION, ..world.header.clone() };
        let statement = Statement::new(&world.graph, &world.model, &deployed, &world.matrices).unwrap();
        let checker = Checker::new(&statement, true);
        let leads = |id: u32, first: u32, second: u32, flips: &[(u32, u32)]| {
            let logits: Vec<f64> = world.logits(id, flips).iter().map(Big::approximate).collect();
            logits[first as usize] > logits[second as usize]
        };
        let all = world.admissible();
        let mut judge = Judge::start(&program, &checker).unwrap();
        // Proofs shown, accepted by the verified checker, by the other one alone and by the verified one alone; with 24
        // bits and with fewer; and networks that are no chains.
        let mut counts = [[0; 4]; 2];
        let mut ask = |proof: &NodeProof| {
            let (accepted, answer) = (checker.check(proof).ok(), judge.ask(&checker, proof).unwrap().0);
            let few = case.deployed.precision < 24;
            assert!(few || accepted.is_none() || answer == accepted, "seed {seed}: {accepted:?} {proof:?}");
            let (id, class) = (proof.id, proof.class);
            let is_true = || match &proof.claim {
                Claim::Robust(trees) => {
                    all.iter().all(|flips| trees.iter().all(|one| leads(id, class, one.class, flips)))
                }
                Claim::NonRobust(witness) => leads(id, witness.class, class, &witness.flips),
            };
            assert!(answer.is_none() || is_true(), "seed {seed}: {answer:?} {proof:?}");
            let found = [
                true,
                answer.is_some(),
                accepted.is_some() && answer.is_none(),
                accepted.is_none() && answer.is_some(),
            ];
            counts[usize::from(few)].iter_mut().zip(found).for_each(|(count, found)| *count += usize::from(found));
        };
        let flips: Vec<_> = all.iter().take(8).collect();
        for (id, class) in (0..world.graph.attributes.rows as u32).flat_map(|id| [(id, 0), (id, 1)]) {
            let other = 1 - class;
            for flips in &flips {
                ask(&NodeProof {
                    id,
                    class,
                    claim: Claim::NonRobust(Witness { class: other, flips: (*flips).clone() }),
                });
            }
            let leaf = || Step::Hints(Box::default());
            let split =
                flips.last().and_then(|flips| flips.first()).map(|&(node, attribute)| Step::Flip(node, attribute));
            let trees = [Some(vec![leaf()]), split.map(|split| vec![split, leaf(), leaf()])];
            for tree in trees.into_iter().flatten() {
                ask(&NodeProof { id, class, claim: Claim::Robust(vec![ClassProof { class: other, tree }]) });
            }
        }
        (counts, usize::from(world.model.described.is_some()))
    };
    let found: Vec<_> = (0..cases).into_par_iter().map(compare).collect();
    let sums = [0, 1].map(|few| [0, 1, 2, 3].map(|at| found.iter().map(|(counts, _)| counts[few][at]).sum::<usize>()));
    let others: usize = found.iter().map(|(_, other)| other).sum();
    println!("{sums:?}, {others} networks are no chains");
    assert!(sums.iter().all(|counts| counts[1] > 100) && others > cases as usize / 4, "{sums:?} {others}");
}
