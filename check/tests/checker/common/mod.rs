//! Tiny problems, and the truth about them by brute force in exact numbers of its own.

#![allow(dead_code, missing_docs)]

mod number;

use std::cmp::Ordering;
use std::sync::Arc;

use gcnproof_check::format::*;
use gcnproof_check::{Checker, Fault, Options, Reason, Statement, Verdict, matrix_digest};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, Normalisation, Pattern, Precision, SparseMatrix};
pub use number::{Big, Random};

/// A problem small enough for brute force; the target is node 0.
#[derive(Clone)]
pub struct World {
    pub graph: GraphFile,
    pub model: ModelFile,
    pub matrices: Vec<Arc<SparseMatrix>>,
    pub header: Header,
}

pub fn pattern(rows: usize, columns: usize, entries: impl Fn(usize, usize) -> bool) -> Pattern {
    let mut pattern = Pattern { rows, columns, offsets: vec![0], indices: Vec::new() };
    for i in 0..rows {
        pattern.indices.extend((0..columns as u32).filter(|&j| entries(i, j as usize)));
        pattern.offsets.push(pattern.indices.len());
    }
    pattern
}

pub fn layer(rows: &[&[f64]], bias: &[f64]) -> LayerFile {
    let weight = DenseMatrix { rows: rows.len(), columns: bias.len(), values: rows.concat() };
    let (operators, linear) = (Vec::new(), Vec::new());
    LayerFile { weight, bias: bias.to_vec(), operators, linear, weight_name: "W".into(), bias_name: None }
}

/// A graph on which every node is linked to node 0, with these attributes.
pub fn world(attributes: &[&[u8]], columns: usize, layers: Vec<LayerFile>, global: u64, local: u64) -> World {
    let nodes = attributes.len();
    let graph = GraphFile {
        adjacency: pattern(nodes, nodes, |i, j| i != j && (i == 0 || j == 0)),
        attributes: pattern(nodes, columns, |i, j| attributes[i][j] == 1),
        digest: "graph".into(),
        ..GraphFile::default()
    };
    let header = Header {
        version: VERSION,
        graph: "graph".into(),
        model: "model".into(),
        message_passing: vec!["gcn".into(); layers.len()],
        budget: BudgetStatement {
            global,
            local: Local::Uniform(local),
            direction: Direction::Both,
            frozen_attributes: Vec::new(),
        },
        classes: Convention::Predicted,
        deployed: None,
        ranges: None,
    };
    let (metadata, notes) = (Default::default(), Vec::new());
    let model = ModelFile {
        layers,
        described: None,
        fixed_edges: false,
        matrices: Vec::new(),
        digest: "model".into(),
        precision: Precision::F64,
        metadata,
        notes,
    };
    World { graph, model, matrices: Vec::new(), header }
}

impl World {
    /// Everything about it is random: depth, widths, rules, budget, direction, numbers.
    pub fn random(random: &mut Random) -> World {
        let kind = [0, 0, 1, 1, 2, 3, 4][random.below(7)];
        let (nodes, columns) = (1 + random.below(3), 1 + random.below(3));
        let hard = random.chance(80);
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let mut layers = Vec::new();
        let mut inputs = columns;
        let depth = [1, 2, 2, 2, 3][random.below(5)];
        for at in 0..depth {
            let outputs = if at + 1 == depth { 2 + random.below(2) } else { 1 + random.below(3) };
            let kind = if kind == 4 { random.below(4) } else { kind };
            let rows: Vec<Vec<f64>> =
                (0..inputs).map(|_| (0..outputs).map(|_| random.weight(kind)).collect()).collect();
            let bias: Vec<f64> = (0..outputs).map(|_| random.weight(kind)).collect();
            layers.push(layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias));
            inputs = outputs;
        }
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        let local = random.below(3) as u64 + u64::from(hard);
        let mut world = world(&attributes, columns, layers, random.below(3) as u64 + u64::from(hard), local);
        if random.chance(25) {
            world.header.budget.local = Local::PerNode((0..nodes).map(|_| random.below(3) as u64).collect());
        }
        world.header.budget.direction =
            [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
        if random.chance(15) {
            world.header.budget.frozen_attributes = vec![random.below(columns) as u32];
        }
        for at in 0..depth {
            world.header.message_passing[at] = match random.below(5) {
                0 => "sum+self".into(),
                1 => "mean+self".into(),
                2 => {
                    let values: Vec<f64> = (0..nodes * nodes)
                        .map(|_| [0.5, -0.5, 1.0, -1.0, 0.25, 1.0 / 3.0, -0.7][random.below(7)])
                        .collect();
                    let matrix = SparseMatrix {
                        rows: nodes,
                        columns: nodes,
                        offsets: (0..=nodes).map(|i| i * nodes).collect(),
                        indices: (0..nodes).flat_map(|_| 0..nodes as u32).collect(),
                        values,
                    };
                    let rule = format!("matrix:{}", matrix_digest(&matrix));
                    world.matrices.push(Arc::new(matrix));
                    rule
                }
                _ => "gcn".into(),
            };
        }
        if random.chance(20) {
            let classes = world.classes();
            world.header.classes = Convention::Labels;
            world.graph.labels = Some((0..nodes).map(|_| Some(random.below(classes) as u32)).collect());
        }
        if random.chance(70) {
            world.balance([0.0, 0.01, 0.1, 0.3, -0.05][random.below(5)]);
        }
        world
    }

    /// A network of terms, random in everything: graph, depth, operators of either sign that overlap, linear units,
    /// biases by node.
    pub fn random_terms(random: &mut Random) -> World {
        let kind = [0, 0, 0, 1, 1, 2, 3, 4][random.below(8)];
        let (nodes, columns) = (1 + random.below(3), 1 + random.below(3));
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        let budget = [1 + random.below(3) as u64, 1 + random.below(2) as u64];
        let mut world = world(&attributes, columns, Vec::new(), budget[0], budget[1]);
        let edges: Vec<bool> =
            (0..nodes * nodes).map(|at| random.chance(if at % (nodes + 1) == 0 { 15 } else { 60 })).collect();
        world.graph.adjacency = pattern(nodes, nodes, |i, j| edges[i.min(j) * nodes + i.max(j)]);
        let depth = [1, 2, 2, 2, 2, 2, 3, 3, 3, 4][random.below(10)];
        let mut inputs = columns;
        for at in 0..depth {
            let last = at + 1 == depth;
            let outputs = if last { 2 + random.below(2) } else { 1 + random.below(3) };
            let terms = 1 + random.below(3);
            let kind = if kind == 4 { random.below(4) } else { kind };
            let rows = if at > 0 && random.chance(20) {
                selection(random, terms * inputs, outputs)
            } else {
                (0..terms * inputs)
                    .map(|_| (0..outputs).map(|_| random.weight(kind)).collect())
                    .collect::<Vec<Vec<f64>>>()
            };
            let bias: Vec<f64> = (0..outputs).map(|_| random.weight(kind)).collect();
            let mut layer = layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias);
            if random.chance(40) {
                layer.bias = (0..nodes * outputs).map(|_| random.weight(kind)).collect();
            }
            if !last && random.chance(60) {
                layer.linear = (0..outputs).map(|_| random.chance(40)).collect();
            }
            let rules: Vec<String> = (0..terms).map(|_| world.random_rule(random)).collect();
            world.header.message_passing.push(rules.join(" & "));
            if terms > 1 || random.chance(70) {
                layer.operators = rules;
            }
            world.model.layers.push(layer);
            inputs = outputs;
        }
        if random.chance(25) {
            world.header.budget.local = Local::PerNode((0..nodes).map(|_| random.below(3) as u64).collect());
        }
        world.header.budget.direction =
            [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
        if random.chance(10) {
            world.header.budget.frozen_attributes = vec![random.below(columns) as u32];
        }
        if random.chance(20) {
            let classes = world.classes();
            world.header.classes = Convention::Labels;
            world.graph.labels = Some((0..nodes).map(|_| Some(random.below(classes) as u32)).collect());
        }
        if random.chance(75) {
            world.balance([0.0, 0.01, 0.1, 0.3, -0.05][random.below(5)]);
        }
        world
    }

    /// Rows of attributes that are divided by their sums: more nodes, attributes and flips of a row than elsewhere,
    /// rows without attributes, budgets of nothing and of everything.
    pub fn random_normalised(random: &mut Random) -> World {
        let mut world = if random.chance(50) { World::random(random) } else { World::random_terms(random) };
        world.graph.normalisation = [Normalisation::Float32, Normalisation::Float64][random.below(2)];
        if world.model.layers[0].operators.len() < 3 && random.chance(60) {
            let columns = 2 + random.below(4);
            world.widen(random, columns);
        }
        let entries = world.graph.attributes.rows * world.graph.attributes.columns;
        let budget = &mut world.header.budget;
        match random.below(8) {
            0 if entries <= 9 => (budget.global, budget.local) = (u64::MAX, Local::Uniform(u64::MAX)),
            1 => budget.global = 0,
            2 if entries <= 9 => (budget.global, budget.local) = (4, Local::Uniform(9)),
            3 => (budget.global, budget.local) = (3, Local::Uniform(3)),
            _ => {}
        }
        if random.chance(75) {
            world.balance([0.0, 0.01, 0.1, 0.3, -0.05][random.below(5)]);
        }
        world
    }

    /// So many attributes instead of those that it has.
    fn widen(&mut self, random: &mut Random, columns: usize) {
        let (rows, share) = (self.graph.attributes.rows, [20, 50, 80][random.below(3)]);
        let entries: Vec<bool> = (0..rows * columns).map(|_| random.chance(share)).collect();
        self.graph.attributes = pattern(rows, columns, |n, d| entries[n * columns + d]);
        let (layer, kind) = (&mut self.model.layers[0], random.below(3));
        let terms = layer.operators.len().max(1);
        layer.weight.rows = terms * columns;
        layer.weight.values = (0..terms * columns * layer.weight.columns).map(|_| random.weight(kind)).collect();
        self.header.budget.frozen_attributes.clear();
        if random.chance(20) {
            self.header.budget.frozen_attributes.push(random.below(columns) as u32);
        }
    }

    /// A rule for a term; a matrix is kept.
    pub fn random_rule(&mut self, random: &mut Random) -> String {
        const WORDS: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];
        let base = if random.chance(75) {
            WORDS[random.below(7)].to_string()
        } else {
            let nodes = self.graph.adjacency.rows;
            let mut matrix =
                SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
            for _ in 0..nodes {
                for j in 0..nodes as u32 {
                    if random.chance(80) {
                        matrix.indices.push(j);
                        matrix.values.push([0.5, -0.5, 1.0, -1.0, 0.25, 1.0 / 3.0, -0.7][random.below(7)]);
                    }
                }
                matrix.offsets.push(matrix.indices.len());
            }
            let rule = format!("matrix:{}", matrix_digest(&matrix));
            self.matrices.push(Arc::new(matrix));
            rule
        };
        if random.chance(75) {
            return base;
        }
        let coefficients = ["0", "1", "-1", "0.5", "-.25", "1e-1", "2.0", "-0.7"];
        let list: Vec<&str> = (0..1 + random.below(4)).map(|_| coefficients[random.below(8)]).collect();
        format!("poly({base};{})", list.join(","))
    }

    /// Moves a bias of the logits so that the worst margin of the best class is about this share of what it was.
    fn balance(&mut self, share: f64) {
        let reference = self.reference(0).unwrap_or(0) as usize;
        let mut worst = f64::INFINITY;
        for flips in self.admissible() {
            let logits: Vec<f64> = self.logits(0, &flips).iter().map(Big::approximate).collect();
            for class in (0..logits.len()).filter(|&class| class != reference) {
                worst = worst.min(logits[reference] - logits[class]);
            }
        }
        if worst.is_finite() {
            let at = self.model.layers.len() - 1;
            self.model.layers[at].bias[reference] -= worst * (1.0 - share);
        }
    }

    pub fn classes(&self) -> usize {
        self.model.layers.last().unwrap().weight.columns
    }

    /// Weight layers.
    pub fn depth(&self) -> usize {
        self.model.layers.len()
    }

    /// An entry of a message-passing matrix; layers count from 0.
    pub fn entry(&self, layer: usize, i: usize, j: usize) -> f64 {
        self.dense(&self.header.message_passing[layer])[i][j]
    }

    /// The rules of the terms of a layer, counted from 0.
    pub fn rules(&self, layer: usize) -> Vec<&str> {
        match self.model.layers[layer].operators.as_slice() {
            [] => vec![&self.header.message_passing[layer]],
            own => own.iter().map(String::as_str).collect(),
        }
    }

    /// An operator by its definition, every entry on its own.
    pub fn dense(&self, rule: &str) -> Vec<Vec<f64>> {
        let nodes = self.graph.adjacency.rows;
        if let Some((base, list)) = rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')?.split_once(';'))
        {
            return powers(&self.dense(base), list);
        }
        if let Some(digest) = rule.strip_prefix("matrix:") {
            let matrix = self.matrices.iter().find(|m| digest == matrix_digest(m)).unwrap();
            let entry = |i: usize, j: u32| {
                let (columns, values) = matrix.row(i);
                columns.iter().position(|&column| column == j).map_or(0.0, |at| values[at])
            };
            return (0..nodes).map(|i| (0..nodes as u32).map(|j| entry(i, j)).collect()).collect();
        }
        let linked = |i: usize, j: usize| self.graph.adjacency.contains(i, j as u32);
        let closed = |i: usize, j: usize| i == j || linked(i, j);
        let neighbours = |i: usize| (0..nodes).filter(|&j| linked(i, j)).count() as f64;
        let degree = |i: usize| (0..nodes).filter(|&j| closed(i, j)).count() as f64;
        let entry = |i: usize, j: usize| match rule {
            "identity" => f64::from(u8::from(i == j)),
            "gcn" if closed(i, j) => 1.0 / (degree(i) * degree(j)).sqrt(),
            "sum+self" if closed(i, j) => 1.0,
            "mean+self" if closed(i, j) => 1.0 / degree(i),
            "sum" if linked(i, j) => 1.0,
            "mean" if linked(i, j) => 1.0 / neighbours(i),
            "gcn-self" if linked(i, j) => 1.0 / (neighbours(i) * neighbours(j)).sqrt(),
            "gcn" | "sum+self" | "mean+self" | "sum" | "mean" | "gcn-self" => 0.0,
            other => panic!("{other}"),
        };
        (0..nodes).map(|i| (0..nodes).map(|j| entry(i, j)).collect()).collect()
    }

    /// Does the target depend on this node at this representation (counted from 1)?
    pub fn reaches(&self) -> Vec<Vec<bool>> {
        self.reaches_of(0)
    }

    /// The same of another target.
    pub fn reaches_of(&self, target: u32) -> Vec<Vec<bool>> {
        let nodes = self.graph.attributes.rows;
        let mut reached = vec![vec![false; nodes]; self.depth() + 2];
        reached[self.depth() + 1][target as usize] = true;
        for at in (0..self.depth()).rev() {
            for dense in self.rules(at).into_iter().map(|rule| self.dense(rule)) {
                for (m, n) in (0..nodes).flat_map(|m| (0..nodes).map(move |n| (m, n))) {
                    reached[at + 1][n] |= reached[at + 2][m] && dense[m][n] != 0.0;
                }
            }
        }
        reached
    }

    /// Has a unit of a hidden representation no activation?
    pub fn is_linear(&self, layer: u32, unit: u32) -> bool {
        self.model.layers[layer as usize - 2].linear.get(unit as usize).copied().unwrap_or(false)
    }

    /// The exact logits of a node after some flips.
    pub fn logits(&self, node: u32, flips: &[(u32, u32)]) -> Vec<Big> {
        let nodes = self.graph.attributes.rows;
        let mut h: Vec<Vec<Big>> = (0..nodes)
            .map(|n| {
                let value = |d: u32| self.graph.attributes.contains(n, d) != flips.contains(&(n as u32, d));
                let all = 0..self.graph.attributes.columns as u32;
                let entry = entry_of(self.graph.normalisation, all.clone().filter(|&d| value(d)).count());
                all.map(|d| Big::from(if value(d) { entry } else { 0.0 })).collect()
            })
            .collect();
        for (at, layer) in self.model.layers.iter().enumerate() {
            let last = at + 1 == self.model.layers.len();
            let terms: Vec<_> = self.rules(at).into_iter().map(|rule| self.dense(rule)).collect();
            let (inputs, outputs) = (layer.weight.rows / terms.len(), layer.weight.columns);
            let unit = |m: usize, j: usize| {
                let bias = if layer.bias.len() == outputs { layer.bias[j] } else { layer.bias[m * outputs + j] };
                let mut z = Big::from(bias);
                for (k, dense) in terms.iter().enumerate() {
                    for (n, h) in h.iter().enumerate() {
                        let a = Big::from(dense[m][n]);
                        for (i, h) in h.iter().enumerate() {
                            z = z.plus(&a.times(h).times(&Big::from(layer.weight.get(k * inputs + i, j))));
                        }
                    }
                }
                let linear = last || layer.linear.get(j).copied().unwrap_or(false);
                if linear { z } else { z.positive_part() }
            };
            let kept = (0..nodes).filter(|&m| !last || m == node as usize);
            h = kept.map(|m| (0..outputs).map(|j| unit(m, j)).collect()).collect();
        }
        h.remove(0)
    }

    /// `q_n`.
    pub fn local(&self, node: usize) -> u64 {
        match &self.header.budget.local {
            Local::Uniform(q) => *q,
            Local::PerNode(q) => q[node],
        }
    }

    /// The entries that may be flipped at all.
    pub fn permitted(&self) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for n in 0..self.graph.attributes.rows {
            for d in 0..self.graph.attributes.columns as u32 {
                let present = self.graph.attributes.contains(n, d);
                let budget = &self.header.budget;
                let direction =
                    budget.direction == Direction::Both || (budget.direction == Direction::Remove) == present;
                if self.local(n) > 0 && direction && !budget.frozen_attributes.contains(&d) {
                    all.push((n as u32, d));
                }
            }
        }
        all
    }

    /// Every admissible set of flips, ascending within a set.
    pub fn admissible(&self) -> Vec<Vec<(u32, u32)>> {
        let mut sets: Vec<Vec<(u32, u32)>> = vec![Vec::new()];
        for flip in self.permitted() {
            let fits = |set: &&Vec<(u32, u32)>| {
                let row = set.iter().filter(|other| other.0 == flip.0).count() as u64;
                (set.len() as u64) < self.header.budget.global && row < self.local(flip.0 as usize)
            };
            let more: Vec<_> = sets.iter().filter(fits).map(|set| [&set[..], &[flip]].concat()).collect();
            sets.extend(more);
        }
        sets
    }

    /// The class that a node is to keep; `None` if it has none.
    pub fn reference(&self, node: u32) -> Option<u32> {
        if self.header.classes == Convention::Labels {
            return self.graph.labels.as_ref().and_then(|labels| labels[node as usize]);
        }
        let logits = self.logits(node, &[]);
        let ahead = |a: usize, b: usize| logits[a].plus(&logits[b].times(&Big::from(-1.0))).sign() == Ordering::Greater;
        Some((1..logits.len()).fold(0, |best, class| if ahead(class, best) { class } else { best }) as u32)
    }

    /// The truth about a node: its verdict for the reference class, and flips for each other class that break it.
    pub fn truth(&self, node: u32, reference: u32) -> (Verdict, Vec<(Witness, Ordering)>) {
        let mut breaks = Vec::new();
        for flips in self.admissible() {
            let logits = self.logits(node, &flips);
            for class in (0..logits.len() as u32).filter(|&class| class != reference) {
                let margin = logits[reference as usize].plus(&logits[class as usize].times(&Big::from(-1.0))).sign();
                if margin != Ordering::Greater {
                    breaks.push((Witness { class, flips: flips.clone() }, margin));
                }
            }
        }
        let verdict = match breaks.iter().map(|broken| broken.1).min() {
            None => Verdict::Robust,
            Some(Ordering::Less) => Verdict::NonRobust,
            Some(_) => Verdict::Tie,
        };
        (verdict, breaks)
    }

    /// Judges a proof, rounded and exactly, and insists that both agree.
    pub fn judge(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        let statement = Statement::new(&self.graph, &self.model, &self.header, &self.matrices)?;
        let [rounded, exact] = [false, true].map(|exact_only| Checker::new(&statement, exact_only).check(proof));
        match (&rounded, &exact) {
            (Err(one), Err(other)) => {
                assert_eq!((one.class, one.step), (other.class, other.step), "{one:?} {other:?}");
                if let (Reason::Bound(wide) | Reason::Margin(wide), Reason::Bound(narrow) | Reason::Margin(narrow)) =
                    (&one.reason, &other.reason)
                {
                    assert!(
                        wide.lower.to_f64() <= narrow.upper.to_f64() && narrow.lower.to_f64() <= wide.upper.to_f64(),
                        "{wide:?} {narrow:?}"
                    );
                } else {
                    assert_eq!(one.reason, other.reason);
                }
            }
            _ => assert_eq!(rounded, exact),
        }
        rounded
    }

    /// A file with these proofs.
    pub fn file(&self, proofs: &[NodeProof]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Line::Header(self.header.clone()).write(&mut bytes).unwrap();
        for proof in proofs {
            Line::Node(proof.clone()).write(&mut bytes).unwrap();
        }
        Line::End(proofs.len() as u64).write(&mut bytes).unwrap();
        bytes
    }

    pub fn options(&self) -> Options {
        Options { matrices: self.matrices.clone(), ..Options::default() }
    }

    /// Random admissible multipliers for some units.
    pub fn random_leaf(&self, random: &mut Random) -> Leaf {
        self.random_leaf_of(random, 0)
    }

    /// The same of another target.
    pub fn random_leaf_of(&self, random: &mut Random, target: u32) -> Leaf {
        let mut leaf = Leaf::default();
        if self.depth() > 1 && random.chance(40) {
            leaf.dual = Some(2 + random.below(self.depth() - 1) as u32);
        }
        leaf.cap = random.chance(50);
        if self.depth() > 1 && random.chance(50) {
            leaf.envelope = Some(Box::new(self.random_envelope_of(random, target)));
        }
        let (nodes, reached) = (self.graph.attributes.rows as u32, self.reaches_of(target));
        for layer in 2..=self.depth() as u32 {
            for node in (0..nodes).filter(|&node| reached[layer as usize][node as usize]) {
                let units = 0..self.model.layers[layer as usize - 2].weight.columns as u32;
                for unit in units.filter(|&unit| !self.is_linear(layer, unit)) {
                    if random.chance(30) {
                        leaf.weight.push((layer, node, unit, random.below((1 << 20) + 1) as i64));
                    }
                    if random.chance(20) {
                        leaf.slope.push((layer, node, unit, random.below((1 << 20) + 1) as i64));
                    }
                }
            }
        }
        leaf.nested = self.depth() > 2 && random.chance(60);
        if self.graph.normalisation.is_some() {
            leaf = Leaf { cap: false, envelope: None, nested: false, ..leaf };
        }
        leaf
    }

    /// An envelope of some units, with prices of either sign for some nodes and flips.
    pub fn random_envelope(&self, random: &mut Random) -> Envelope {
        self.random_envelope_of(random, 0)
    }

    /// The same of another target.
    pub fn random_envelope_of(&self, random: &mut Random, target: u32) -> Envelope {
        let exponent = [-1, -1, -2, -20, -20, -52, -1074, 900][random.below(8)];
        let reached = self.reaches_of(target);
        let nodes = (0..self.graph.attributes.rows as u32).filter(|&node| reached[1][node as usize]);
        let nodes = nodes.filter(|_| random.chance(60)).collect();
        let flips = self.permitted().into_iter().filter(|flip| reached[1][flip.0 as usize]);
        let flips = flips.filter(|_| random.chance(50)).collect();
        let mut envelope = Envelope { exponent, nodes, flips, units: Vec::new() };
        for node in (0..self.graph.attributes.rows as u32).filter(|&node| reached[2][node as usize]) {
            let units = 0..self.model.layers[0].weight.columns as u32;
            for unit in units.filter(|&unit| !self.is_linear(2, unit)) {
                if random.chance(70) {
                    let share = if random.chance(50) { 1 << 20 } else { random.below((1 << 20) + 1) as i64 };
                    let every = random_price(random, exponent);
                    let [of_nodes, of_flips] = [envelope.nodes.len(), envelope.flips.len()].map(|listed| {
                        let count = if random.chance(70) { listed } else { random.below(listed + 1) };
                        (0..count).map(|_| random_price(random, exponent)).collect()
                    });
                    envelope.units.push(UnitPrices(node, unit, share, every, of_nodes, of_flips));
                }
            }
        }
        envelope
    }

    /// The class proofs to start from: one leaf each.
    pub fn start(&self, reference: u32) -> NodeProof {
        let others = (0..self.classes() as u32).filter(|&class| class != reference);
        NodeProof { id: 0, class: reference, claim: Claim::Robust(others.map(ClassProof::anchored).collect()) }
    }

    /// Splits rejected leaves, on units at first and on flips in the end, until the proof is accepted or `rounds` are
    /// over. Splitting all flips proves whatever is true, so a true claim fails only for want of rounds: then `false`
    /// is returned with the last fault, and `true` if a leaf with all flips decided and default multipliers failed.
    pub fn grow(&self, random: &mut Random, reference: u32, rounds: usize) -> Result<NodeProof, (Fault, bool)> {
        let mut proof = self.start(reference);
        let reached = self.reaches();
        let permitted: Vec<_> = self.permitted().into_iter().filter(|flip| reached[1][flip.0 as usize]).collect();
        let mut last = None;
        for _ in 0..rounds {
            let fault = match self.judge(&proof) {
                Ok(verdict) => {
                    assert_eq!(verdict, Verdict::Robust);
                    return Ok(proof);
                }
                Err(fault) => fault,
            };
            let (Some(class), Some(at)) = (fault.class, fault.step) else { panic!("{fault:?}") };
            assert!(matches!(fault.reason, Reason::Bound(_)), "{fault:?}");
            last = Some(fault);
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            let tree = &mut trees.iter_mut().find(|tree| tree.class == class).unwrap().tree;
            let path = path_to(tree, at);
            let mut leaf = self.random_leaf(random);
            let hidden = self.depth() - 1;
            let split = if self.graph.normalisation.is_some() && random.chance(30) {
                let node = random.below(self.graph.attributes.rows) as u32;
                if !reached[1][node as usize] {
                    continue;
                }
                Step::Row(
                    node,
                    random.below(3) as u32,
                    if random.chance(50) { RowSide::Added } else { RowSide::Removed },
                )
            } else if hidden > 0 && random.chance(40) {
                let layer = 2 + random.below(hidden) as u32;
                let node = random.below(self.graph.attributes.rows) as u32;
                let unit = random.below(self.model.layers[layer as usize - 2].weight.columns) as u32;
                if self.is_linear(layer, unit) || !reached[layer as usize][node as usize] {
                    continue;
                }
                Step::Unit(layer, node, unit)
            } else {
                let open: Vec<_> =
                    permitted.iter().filter(|flip| !path.contains(&Step::Flip(flip.0, flip.1))).collect();
                match open.len() {
                    0 if tree[at] == Step::Leaf(Box::default()) => return Err((last.unwrap(), true)),
                    0 => {
                        tree[at] = Step::Leaf(Box::default());
                        continue;
                    }
                    count => {
                        let flip = open[random.below(count)];
                        Step::Flip(flip.0, flip.1)
                    }
                }
            };
            if path.contains(&split) {
                continue;
            }
            let mut units: Vec<(u32, u32, u32)> = path.iter().chain([&split]).filter_map(unit_of).collect();
            units.sort_unstable();
            for unit in units {
                if random.chance(60) {
                    leaf.beta.push((unit.0, unit.1, unit.2, random.below(1 << 22) as i64));
                }
            }
            let leaf = if random.chance(50) { Step::Leaf(Box::default()) } else { Step::Leaf(Box::new(leaf)) };
            tree.splice(at..=at, [split, leaf.clone(), leaf]);
        }
        Err((last.unwrap(), false))
    }
}

/// The entries of a row with so many attributes.
fn entry_of(normalisation: Normalisation, count: usize) -> f64 {
    match normalisation {
        _ if count == 0 => 0.0,
        Normalisation::None => 1.0,
        Normalisation::Float32 => f64::from(1f32 / count as f32),
        Normalisation::Float64 => 1.0 / count as f64,
    }
}

/// `Σ c_k A^k` of a dense matrix.
fn powers(base: &[Vec<f64>], list: &str) -> Vec<Vec<f64>> {
    let nodes = base.len();
    let mut power: Vec<Vec<f64>> =
        (0..nodes).map(|i| (0..nodes).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut total = vec![vec![0.0; nodes]; nodes];
    for (k, c) in list.split(',').map(|text| text.parse::<f64>().unwrap()).enumerate() {
        if k > 0 {
            let dot = |i: usize, j: usize| (0..nodes).fold(0.0, |sum, n| sum + base[i][n] * power[n][j]);
            power = (0..nodes).map(|i| (0..nodes).map(|j| dot(i, j)).collect()).collect();
        }
        total.iter_mut().flatten().zip(power.iter().flatten()).for_each(|(total, x)| *total += c * x);
    }
    total
}

/// Rows of zeros and ones, as units that are carried on have them.
fn selection(random: &mut Random, rows: usize, columns: usize) -> Vec<Vec<f64>> {
    (0..rows).map(|_| (0..columns).map(|_| f64::from(u8::from(random.chance(40)))).collect()).collect()
}

/// A numerator: mostly of a price between −2 and 2, where the exponent has such prices.
pub fn random_price(random: &mut Random, exponent: i32) -> i64 {
    match random.below(10) {
        0..3 => 0,
        3 => [1, -1, 1 << 53, -(1 << 53)][random.below(4)],
        _ if (-52..0).contains(&exponent) => {
            let steps = [1, 20][random.below(2)];
            let price = random.below((4 << steps) + 1) as f64 / (1 << steps) as f64 - 2.0;
            (price * 2f64.powi(-exponent)) as i64
        }
        _ => (random.next() as i64 >> random.below(50)) * [1, -1][random.below(2)],
    }
}

fn unit_of(step: &Step) -> Option<(u32, u32, u32)> {
    match step {
        &Step::Unit(layer, node, unit) => Some((layer, node, unit)),
        _ => None,
    }
}

/// The splits above a place of a tree.
pub fn path_to(tree: &[Step], place: usize) -> Vec<Step> {
    let mut open: Vec<(Step, bool)> = Vec::new();
    for step in &tree[..place] {
        if matches!(step, Step::Leaf(_)) {
            while open.pop_if(|split| split.1).is_some() {}
            open.last_mut().unwrap().1 = true;
        } else {
            open.push((step.clone(), false));
        }
    }
    open.into_iter().map(|split| split.0).collect()
}
