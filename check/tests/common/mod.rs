//! Tiny problems, and the truth about them by brute force in exact numbers of its own.

#![allow(dead_code, missing_docs)]

mod number;

use std::cmp::Ordering;
use std::sync::Arc;

use gcnproof_check::format::*;
use gcnproof_check::{Checker, Fault, Options, Reason, Statement, Verdict, matrix_digest};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, Pattern, Precision, SparseMatrix};
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
    LayerFile { weight, bias: bias.to_vec(), weight_name: "W".into(), bias_name: None }
}

/// A graph on which every node is linked to node 0, with these attributes.
pub fn world(attributes: &[&[u8]], columns: usize, layers: Vec<LayerFile>, global: u64, local: u64) -> World {
    let nodes = attributes.len();
    let graph = GraphFile {
        adjacency: pattern(nodes, nodes, |i, j| i != j && (i == 0 || j == 0)),
        attributes: pattern(nodes, columns, |i, j| attributes[i][j] == 1),
        labels: None,
        node_names: None,
        attribute_names: None,
        class_names: None,
        digest: "graph".into(),
        notes: Vec::new(),
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
    };
    let (metadata, notes) = (Default::default(), Vec::new());
    let model = ModelFile { layers, digest: "model".into(), precision: Precision::F64, metadata, notes };
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
        self.model.layers.last().unwrap().bias.len()
    }

    /// Weight layers.
    pub fn depth(&self) -> usize {
        self.model.layers.len()
    }

    /// An entry of a message-passing matrix; layers count from 0.
    pub fn entry(&self, layer: usize, i: usize, j: usize) -> f64 {
        let rule = self.header.message_passing[layer].as_str();
        let linked = |i: usize, j: usize| i == j || self.graph.adjacency.contains(i, j as u32);
        let degree = |i: usize| (0..self.graph.adjacency.rows).filter(|&j| linked(i, j)).count() as f64;
        match rule {
            _ if rule.starts_with("matrix:") => {
                let matrix = self.matrices.iter().find(|m| rule.ends_with(&matrix_digest(m))).unwrap();
                matrix.values[i * matrix.columns + j]
            }
            _ if !linked(i, j) => 0.0,
            "gcn" => 1.0 / (degree(i) * degree(j)).sqrt(),
            "sum+self" => 1.0,
            "mean+self" => 1.0 / degree(i),
            "identity" => f64::from(u8::from(i == j)),
            // No self-loops in these graphs.
            "sum" | "mean" if i == j => 0.0,
            "sum" => 1.0,
            "mean" => 1.0 / (degree(i) - 1.0),
            other => panic!("{other}"),
        }
    }

    /// The exact logits of a node after some flips.
    pub fn logits(&self, node: u32, flips: &[(u32, u32)]) -> Vec<Big> {
        let nodes = self.graph.attributes.rows;
        let mut h: Vec<Vec<Big>> = (0..nodes)
            .map(|n| {
                let value = |d: u32| self.graph.attributes.contains(n, d) != flips.contains(&(n as u32, d));
                (0..self.graph.attributes.columns as u32).map(|d| Big::from(f64::from(u8::from(value(d))))).collect()
            })
            .collect();
        for (at, layer) in self.model.layers.iter().enumerate() {
            let last = at + 1 == self.model.layers.len();
            h = (0..nodes)
                .filter(|&m| !last || m == node as usize)
                .map(|m| {
                    (0..layer.bias.len())
                        .map(|j| {
                            let mut z = Big::from(layer.bias[j]);
                            for (n, h) in h.iter().enumerate() {
                                let a = Big::from(self.entry(at, m, n));
                                for (i, h) in h.iter().enumerate() {
                                    z = z.plus(&a.times(h).times(&Big::from(layer.weight.get(i, j))));
                                }
                            }
                            if !last && z.sign() == Ordering::Less { Big::from(0.0) } else { z }
                        })
                        .collect()
                })
                .collect();
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
        let permitted = self.permitted();
        let sets = (0u32..1 << permitted.len()).map(|mask| {
            (0..permitted.len()).filter(|&at| mask >> at & 1 == 1).map(|at| permitted[at]).collect::<Vec<_>>()
        });
        sets.filter(|set| {
            set.len() as u64 <= self.header.budget.global
                && set
                    .iter()
                    .all(|&(n, _)| set.iter().filter(|other| other.0 == n).count() as u64 <= self.local(n as usize))
        })
        .collect()
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
        let mut leaf = Leaf::default();
        if self.depth() > 1 && random.chance(40) {
            leaf.dual = Some(2 + random.below(self.depth() - 1) as u32);
        }
        leaf.cap = random.chance(50);
        if self.depth() > 1 && random.chance(50) {
            leaf.envelope = Some(Box::new(self.random_envelope(random)));
        }
        let nodes = self.graph.attributes.rows as u32;
        for layer in 2..=self.depth() as u32 {
            for node in 0..nodes {
                for unit in 0..self.model.layers[layer as usize - 2].bias.len() as u32 {
                    if random.chance(30) {
                        leaf.weight.push((layer, node, unit, random.below((1 << 20) + 1) as i64));
                    }
                    if random.chance(20) {
                        leaf.slope.push((layer, node, unit, random.below((1 << 20) + 1) as i64));
                    }
                }
            }
        }
        leaf
    }

    /// An envelope of some units, with prices of either sign for some nodes and flips.
    pub fn random_envelope(&self, random: &mut Random) -> Envelope {
        let exponent = [-1, -1, -2, -20, -20, -52, -1074, 900][random.below(8)];
        let nodes = (0..self.graph.attributes.rows as u32).filter(|_| random.chance(60)).collect();
        let flips = self.permitted().into_iter().filter(|_| random.chance(50)).collect();
        let mut envelope = Envelope { exponent, nodes, flips, units: Vec::new() };
        for node in 0..self.graph.attributes.rows as u32 {
            for unit in 0..self.model.layers[0].bias.len() as u32 {
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
    /// over. Splitting all flips proves whatever is true, so a true claim fails only for want of rounds: then `false` is
    /// returned with the last fault, and `true` if a leaf with all flips decided and default multipliers failed.
    pub fn grow(&self, random: &mut Random, reference: u32, rounds: usize) -> Result<NodeProof, (Fault, bool)> {
        let mut proof = self.start(reference);
        let permitted = self.permitted();
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
            let split = if hidden > 0 && random.chance(40) {
                let layer = 2 + random.below(hidden) as u32;
                let node = random.below(self.graph.attributes.rows) as u32;
                let unit = random.below(self.model.layers[layer as usize - 2].bias.len()) as u32;
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
