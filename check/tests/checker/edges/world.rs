//! Small problems of removed edges, the truth about them by listing all sets, and proofs by splitting until they are
//! accepted.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use gcnproof_check::edges::format::*;
use gcnproof_check::edges::{Checker, Edge, Statement};
use gcnproof_check::format::{Convention, Local, Number};
use gcnproof_check::{Dyadic, Fault, Interval, Options, Reason, Summary, Verdict, check};
use gcnproof_files::{GraphFile, LayerFile};

use crate::common::{self, Big, Random, World, layer, pattern};

/// A graph, a network of two layers, and a statement.
#[derive(Clone)]
pub struct Case {
    pub world: World,
    pub header: Header,
    pub node: u32,
}

/// A set of removals, and the margins of the reference class over the others after it, by class.
pub struct Outcome {
    pub edges: Vec<Edge>,
    pub margins: Vec<(u32, Big)>,
}

const RULES: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];

/// A layer with these rules and random numbers.
fn random_layer(
    random: &mut Random,
    kind: usize,
    (inputs, outputs): (usize, usize),
    rules: Vec<String>,
    nodes: usize,
) -> LayerFile {
    let rows: Vec<Vec<f64>> =
        (0..rules.len() * inputs).map(|_| (0..outputs).map(|_| random.weight(kind)).collect()).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let bias: Vec<f64> = (0..outputs).map(|_| random.weight(kind)).collect();
    let mut made = layer(&rows, &bias);
    if random.chance(20) {
        made.bias = (0..nodes * outputs).map(|_| random.weight(kind)).collect();
    }
    made.operators = rules;
    made
}

impl Case {
    /// Of these edges; self-loops are pairs of equal ids.
    pub fn new(nodes: usize, links: &[Edge], attributes: &[&[u8]], layers: Vec<LayerFile>, removals: Removals) -> Case {
        let columns = attributes[0].len();
        let mut world = common::world(attributes, columns, layers, 0, 0);
        let links: std::collections::HashSet<Edge> = links.iter().copied().collect();
        let linked = |i: usize, j: usize| links.contains(&(i.min(j) as u32, i.max(j) as u32));
        world.graph.adjacency = pattern(nodes, nodes, linked);
        let header = Header {
            version: VERSION,
            attack: Attack::EdgeRemovals,
            graph: "graph".into(),
            model: "model".into(),
            message_passing: world.model.layers.iter().map(|layer| layer.operators.join(" & ")).collect(),
            edges: removals,
            flips: None,
            classes: Convention::Predicted,
        };
        let mut case = Case { world, header, node: 0 };
        case.follow();
        case
    }

    /// The brute force reads the rules where problems of attributes have them.
    fn follow(&mut self) {
        self.world.header.message_passing = self.header.message_passing.clone();
        self.world.header.classes = self.header.classes;
    }

    /// Everything about it is random.
    pub fn random(random: &mut Random) -> Case {
        let kind = [0, 0, 0, 1, 1, 2, 3][random.below(7)];
        let nodes = 1 + random.below(7);
        let density = [30, 45, 60, 80][random.below(4)];
        let mut links = Vec::new();
        for i in 0..nodes as u32 {
            for j in i..nodes as u32 {
                if links.len() < 9 && random.chance(if i == j { 8 } else { density }) {
                    links.push((i, j));
                }
            }
        }
        let (columns, width, classes) = (1 + random.below(3), 1 + random.below(3), 2 + random.below(2));
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        // `gcn` is what matters most.
        let rule = |random: &mut Random| RULES[if random.chance(55) { 0 } else { random.below(7) }].to_string();
        let mut first = vec![rule(random)];
        if random.chance(20) {
            first.insert(random.below(2), "identity".into());
        }
        let mut second = vec![rule(random)];
        if random.chance(20) {
            second.push(rule(random));
        }
        let mut layers = vec![
            random_layer(random, kind, (columns, width), first, nodes),
            random_layer(random, kind, (width, classes), second, nodes),
        ];
        if random.chance(20) {
            layers[0].linear = (0..width).map(|_| random.chance(50)).collect();
        }
        let local = match random.below(4) {
            0 => Local::PerNode((0..nodes).map(|_| random.below(4) as u64).collect()),
            1 => Local::Uniform(u64::MAX),
            _ => Local::Uniform(1 + random.below(3) as u64),
        };
        let global = [0, 1, 2, 2, 3, 3, 4, u64::MAX][random.below(8)];
        let removals = Removals { global, local, keep_one: random.chance(50), frozen: Vec::new(), changes: None };
        let mut case = Case::new(nodes, &links, &attributes, layers, removals);
        if random.chance(20) {
            case.header.edges.frozen = case.edges().into_iter().filter(|_| random.chance(25)).collect();
        }
        case.node = random.below(nodes) as u32;
        if random.chance(20) {
            case.header.classes = Convention::Labels;
            case.world.graph.labels = Some((0..nodes).map(|_| Some(random.below(classes) as u32)).collect());
        }
        case.follow();
        if random.chance(70) {
            case.balance([0.0, 0.01, 0.1, 0.3, -0.05][random.below(5)]);
        }
        case
    }

    /// Weights are small multiples of 1/8, so that sums of them with operators' entries are 0 but for roundings.
    pub fn quantised(random: &mut Random) -> Case {
        let nodes = 2 + random.below(9);
        let density = [25, 40, 60, 90][random.below(4)];
        let mut links = Vec::new();
        for i in 0..nodes as u32 {
            for j in i..nodes as u32 {
                if random.chance(if i == j { 8 } else { density }) {
                    links.push((i, j));
                }
            }
        }
        let (columns, width, classes) = (1 + random.below(3), 1 + random.below(4), 2 + random.below(2));
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| u8::from(random.chance(65))).collect()).collect();
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        let rule = |random: &mut Random| RULES[[0, 0, 1, 1, 2, 3, 4, 6][random.below(8)]].to_string();
        let mut first = vec![rule(random)];
        if random.chance(25) {
            first.insert(random.below(2), "identity".into());
        }
        let second = (0..1 + random.below(3)).map(|_| rule(random)).collect();
        let mut layers = vec![
            random_layer(random, 0, (columns, width), first, nodes),
            random_layer(random, 0, (width, classes), second, nodes),
        ];
        let range = [3, 9, 33][random.below(3)];
        for layer in &mut layers {
            let numbers = layer.weight.values.iter_mut().chain(&mut layer.bias);
            numbers.for_each(|x| *x = (random.below(range) as f64 - (range / 2) as f64) / 8.0);
        }
        let global = [1, 2, 3, 5, 7, u64::MAX][random.below(6)];
        let local = [Local::Uniform(1), Local::Uniform(2), Local::Uniform(u64::MAX)][random.below(3)].clone();
        let removals = Removals { global, local, keep_one: random.chance(50), frozen: Vec::new(), changes: None };
        let mut case = Case::new(nodes, &links, &attributes, layers, removals);
        if random.chance(20) {
            case.header.edges.frozen = case.edges().into_iter().filter(|_| random.chance(25)).collect();
        }
        case.node = random.below(nodes) as u32;
        case
    }

    /// Moves the bias of the reference class so that the smallest margin is this share of what it was, or about 0.
    fn balance(&mut self, share: f64) {
        let Some(reference) = self.reference() else { return };
        let outcomes = self.outcomes(reference);
        let margins = outcomes.iter().flat_map(|outcome| outcome.margins.iter().map(|margin| margin.1.approximate()));
        let worst = margins.fold(f64::INFINITY, f64::min);
        if !worst.is_finite() {
            return;
        }
        let (nodes, classes) = (self.world.graph.attributes.rows, self.world.classes());
        let bias = &mut self.world.model.layers[1].bias;
        let at = if bias.len() == nodes * classes && nodes > 1 { self.node as usize * classes } else { 0 };
        bias[at + reference as usize] -= worst * (1.0 - share);
    }

    /// The edges of the graph, ascending.
    pub fn edges(&self) -> Vec<Edge> {
        let adjacency = &self.world.graph.adjacency;
        let nodes = adjacency.rows as u32;
        let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
        pairs.filter(|&(i, j)| adjacency.contains(i as usize, j)).collect()
    }

    fn degree(&self, node: u32) -> u64 {
        self.edges().iter().filter(|&&(i, j)| i == node || j == node).count() as u64
    }

    /// How many edges may be removed at a node.
    pub fn cap(&self, node: u32) -> u64 {
        let local = match &self.header.edges.local {
            Local::Uniform(e) => *e,
            Local::PerNode(list) => list[node as usize],
        };
        if self.header.edges.keep_one { local.min(self.degree(node).saturating_sub(1)) } else { local }
    }

    fn caps(&self) -> Vec<u64> {
        (0..self.world.graph.adjacency.rows as u32).map(|node| self.cap(node)).collect()
    }

    pub fn is_admissible(&self, edges: &[Edge]) -> bool {
        self.is_within(&self.caps(), edges)
    }

    fn is_within(&self, caps: &[u64], edges: &[Edge]) -> bool {
        let at = |node: u32| edges.iter().filter(|&&(i, j)| i == node || j == node).count() as u64;
        let fits = |node: u32| at(node) <= caps[node as usize];
        edges.len() as u64 <= self.header.edges.global
            && edges.iter().all(|edge| !self.header.edges.frozen.contains(edge))
            && edges.iter().all(|&(i, j)| fits(i) && fits(j))
    }

    /// The sums of the weights of the attributes that nodes have, by term, node and unit.
    fn sent(&self) -> Vec<Vec<Vec<Big>>> {
        let (layer, attributes) = (&self.world.model.layers[0], &self.world.graph.attributes);
        let sum = |term: usize, node: usize, unit: usize| {
            let present = (0..attributes.columns).filter(|&d| attributes.contains(node, d as u32));
            let weights = present.map(|d| Big::from(layer.weight.get(term * attributes.columns + d, unit)));
            weights.fold(Big::from(0.0), |sum, w| sum.plus(&w))
        };
        let node = |term: usize, node: usize| (0..layer.weight.columns).map(|unit| sum(term, node, unit)).collect();
        let terms = 0..self.world.rules(0).len();
        terms.map(|term| (0..attributes.rows).map(|n| node(term, n)).collect()).collect()
    }

    /// Exact logits of the node after some removals, by the definition of the network on the graph that is left.
    pub fn logits(&self, removed: &[Edge]) -> Vec<Big> {
        self.logits_of(&self.sent(), removed)
    }

    fn logits_of(&self, sent: &[Vec<Vec<Big>>], removed: &[Edge]) -> Vec<Big> {
        let adjacency = &self.world.graph.adjacency;
        let gone = |i: usize, j: usize| removed.contains(&(i.min(j) as u32, i.max(j) as u32));
        let left = |i: usize, j: usize| adjacency.contains(i, j as u32) && !gone(i, j);
        let graph = GraphFile { adjacency: pattern(adjacency.rows, adjacency.rows, left), ..self.bare() };
        let world =
            World { graph, model: self.world.model.clone(), matrices: Vec::new(), header: self.world.header.clone() };
        let terms =
            |at: usize| -> Vec<Vec<Vec<f64>>> { world.rules(at).iter().map(|rule| world.dense(rule)).collect() };
        let bias = |at: usize, node: usize| -> Vec<Big> {
            let layer = &world.model.layers[at];
            let outputs = layer.weight.columns;
            let start = if layer.bias.len() == outputs { 0 } else { node * outputs };
            layer.bias[start..start + outputs].iter().map(|&x| Big::from(x)).collect()
        };
        let first = terms(0);
        let hidden = |m: usize| -> Vec<Big> {
            let mut z = bias(0, m);
            for (dense, sent) in first.iter().zip(sent) {
                for (n, &a) in dense[m].iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let a = Big::from(a);
                    z.iter_mut().zip(&sent[n]).for_each(|(z, y)| *z = z.plus(&a.times(y)));
                }
            }
            let linear = |unit: usize| world.is_linear(2, unit as u32);
            z.into_iter().enumerate().map(|(unit, z)| if linear(unit) { z } else { z.positive_part() }).collect()
        };
        let (node, last) = (self.node as usize, &world.model.layers[1]);
        let mut logits = bias(1, node);
        for (term, dense) in terms(1).iter().enumerate() {
            for (m, &a) in dense[node].iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                for (unit, h) in hidden(m).iter().enumerate() {
                    let h = h.times(&Big::from(a));
                    let row = term * first_width(&world) + unit;
                    let weights = (0..logits.len()).map(|class| Big::from(last.weight.get(row, class)));
                    logits = logits.iter().zip(weights).map(|(sum, w)| sum.plus(&h.times(&w))).collect();
                }
            }
        }
        logits
    }

    /// A graph without edges.
    fn bare(&self) -> GraphFile {
        GraphFile { adjacency: pattern(0, 0, |_, _| false), labels: None, ..self.world.graph.clone() }
    }

    /// The class that the node is to keep.
    pub fn reference(&self) -> Option<u32> {
        self.world.reference(self.node)
    }

    /// Every admissible set with the margins after it.
    pub fn outcomes(&self, reference: u32) -> Vec<Outcome> {
        let all = self.edges();
        let sets = (0u32..1 << all.len())
            .map(|mask| (0..all.len()).filter(|&at| mask >> at & 1 == 1).map(|at| all[at]).collect::<Vec<Edge>>());
        let sent = self.sent();
        let outcome = |edges: Vec<Edge>| {
            let logits = self.logits_of(&sent, &edges);
            let others = (0..logits.len()).filter(|&class| class != reference as usize);
            let margins = others.map(|class| (class as u32, logits[reference as usize].minus(&logits[class])));
            Outcome { edges, margins: margins.collect() }
        };
        let caps = self.caps();
        sets.filter(|edges| self.is_within(&caps, edges)).map(outcome).collect()
    }

    /// The sets that break a class, with the class.
    pub fn breaks(outcomes: &[Outcome]) -> Vec<(Witness, Ordering)> {
        let of = |outcome: &Outcome| {
            let broken = outcome.margins.iter().filter(|margin| margin.1.sign() != Ordering::Greater);
            let witness = |margin: &(u32, Big)| {
                (Witness { class: margin.0, edges: outcome.edges.clone(), flips: Vec::new() }, margin.1.sign())
            };
            broken.map(witness).collect::<Vec<_>>()
        };
        outcomes.iter().flat_map(of).collect()
    }

    /// Judges a proof, rounded and exactly: the first thing that is wrong, or the verdict, is the same.
    pub fn judge(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        let statement = Statement::new(&self.world.graph, &self.world.model, &self.header)?;
        let [rounded, exact] = [false, true].map(|exact_only| Checker::new(&statement, exact_only).check(proof));
        match (&rounded, &exact) {
            // Floats reject by an interval around the bound, or by the bound itself.
            (Err(Fault { reason: Reason::Bound(around), .. }), Err(Fault { reason: Reason::Bound(bound), .. })) => {
                let (one, other) = (rounded.as_ref().unwrap_err(), exact.as_ref().unwrap_err());
                assert_eq!((one.class, one.step), (other.class, other.step));
                assert!(encloses(around, bound), "{around:?} {bound:?}");
            }
            (Err(Fault { reason: Reason::Margin(_), .. }), Err(Fault { reason: Reason::Margin(_), .. })) => {}
            _ => assert_eq!(rounded, exact, "{proof:?}"),
        }
        rounded
    }

    /// The bound of a leaf behind some splits, rounded and exact.
    pub fn leaf_bound(&self, classes: (u32, u32), splits: &[(Edge, bool)], hints: &Prices) -> [Interval; 2] {
        let statement = Statement::new(&self.world.graph, &self.world.model, &self.header).unwrap();
        let judge = |exact_only: bool| {
            Checker::new(&statement, exact_only).bound(self.node, classes.0, classes.1, splits, hints)
        };
        let both = [false, true].map(|exact_only| judge(exact_only).unwrap());
        assert!(encloses(&both[0], &both[1]), "{both:?}");
        both
    }

    /// The same under another statement.
    pub fn stating(&self, header: Header) -> Case {
        let mut case = self.clone();
        case.header = header;
        case.follow();
        case
    }

    pub fn run(&self, file: &[u8]) -> Summary {
        check(&self.world.graph, &self.world.model, &Options::default(), file, |_| {})
    }

    pub fn file(&self, proofs: &[NodeProof]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Line::Header(self.header.clone()).write(&mut bytes).unwrap();
        for proof in proofs {
            Line::Node(proof.clone()).write(&mut bytes).unwrap();
        }
        Line::End(proofs.len() as u64).write(&mut bytes).unwrap();
        bytes
    }

    /// What a path leaves, by the words of the format.
    pub fn path(&self, splits: &[(Edge, bool)]) -> Path {
        let mut path = Path::default();
        for &(edge, second) in splits {
            let group = self.group(&path, edge);
            if second {
                path.removed.insert(edge)
            } else {
                path.kept.extend(group);
                true
            };
        }
        path
    }

    fn neighbours(&self, node: u32) -> BTreeSet<u32> {
        let of = |&(i, j): &Edge| {
            if i == node {
                Some(j)
            } else if j == node {
                Some(i)
            } else {
                None
            }
        };
        self.edges().iter().filter_map(of).collect()
    }

    fn rule_reads_sender(&self) -> bool {
        self.world.rules(0).iter().any(|rule| rule.starts_with("gcn"))
    }

    fn count(edges: &BTreeSet<Edge>, node: u32) -> u64 {
        edges.iter().filter(|&&(i, j)| i == node || j == node).count() as u64
    }

    /// The free edges of a path.
    pub fn free(&self, path: &Path) -> Vec<Edge> {
        let first = self.neighbours(self.node);
        let second: BTreeSet<u32> = first.iter().flat_map(|&m| self.neighbours(m)).collect();
        let reads = self.rule_reads_sender();
        let near = |node: u32| node == self.node || first.contains(&node) || (reads && second.contains(&node));
        let room = |node: u32| self.cap(node) > Self::count(&path.removed, node);
        let mut free = self.edges();
        free.retain(|&(i, j)| {
            let decided = path.removed.contains(&(i, j)) || path.kept.contains(&(i, j));
            let frozen = self.header.edges.frozen.contains(&(i, j));
            let budget = self.header.edges.global > path.removed.len() as u64;
            (near(i) || near(j)) && !decided && !frozen && budget && room(i) && room(j)
        });
        free
    }

    fn group(&self, path: &Path, edge: Edge) -> Vec<Edge> {
        let free = self.free(path);
        let first = self.neighbours(self.node);
        let second: BTreeSet<u32> = first.iter().flat_map(|&m| self.neighbours(m)).collect();
        let outer = |(n, x): (u32, u32)| {
            let at = free.iter().filter(|&&(i, j)| i == x || j == x).count() as u64;
            let inner = x == self.node || first.contains(&x) || second.contains(&x);
            assert!(inner || second.contains(&n));
            !inner && self.cap(x) - Self::count(&path.removed, x) >= at
        };
        let Some(n) = [edge, (edge.1, edge.0)].into_iter().find(|&ends| outer(ends)).map(|ends| ends.0) else {
            return vec![edge];
        };
        let other = |&(i, j): &Edge| {
            if i == n {
                Some(j)
            } else if j == n {
                Some(i)
            } else {
                None
            }
        };
        free.iter().copied().filter(|edge| other(edge).is_some_and(|x| outer((n, x)))).collect()
    }

    /// Is a set one of the path? Sets with removals that do not matter are those without them.
    pub fn takes(&self, path: &Path, edges: &[Edge]) -> bool {
        path.removed.iter().all(|edge| edges.contains(edge)) && edges.iter().all(|edge| !path.kept.contains(edge))
    }

    /// Random hints for a leaf on a path.
    pub fn hints(&self, random: &mut Random, path: &Path) -> Prices {
        let free = self.free(path);
        let budget = (free.len() as u64).min(self.header.edges.global - path.removed.len() as u64);
        let at_target = free.iter().filter(|&&(i, j)| i == self.node || j == self.node).count() as u64;
        let cap = self.cap(self.node) - Self::count(&path.removed, self.node);
        let most = budget.min(at_target).min(cap) as usize + 1;
        let mut prices = Prices::default();
        for _ in 0..random.below(most + 1) {
            let scale = [-20, -6, -4, -3, -2, -1, 0][random.below(7)];
            prices.mu.push(Number(Dyadic::new(random.below(5).into(), scale)));
        }
        if random.chance(60) {
            let left = |node: u32| -> BTreeSet<u32> {
                let here = |&other: &u32| !path.removed.contains(&(node.min(other), node.max(other)));
                self.neighbours(node).into_iter().filter(here).collect()
            };
            for m in left(self.node) {
                for n in left(m).into_iter().filter(|&n| n != self.node) {
                    if random.chance(80) {
                        let mut weight = || [0, 1, 2, 7, 1000, (1 << 20) - 1][random.below(6)];
                        let (c, s) = (weight(), weight());
                        prices.views.push((m, n, c, s));
                    }
                }
            }
        }
        prices
    }

    /// A tree with so many splits on free edges, and with any hints in its leaves.
    pub fn tree(&self, random: &mut Random, splits: usize) -> Vec<Step> {
        let mut tree = vec![Step::Prices(Box::new(self.hints(random, &Path::default())))];
        for _ in 0..splits {
            let leaves: Vec<usize> = (0..tree.len()).filter(|&at| !matches!(tree[at], Step::Edge(..))).collect();
            let at = leaves[random.below(leaves.len())];
            let above = splits_above(&tree, at);
            let free = self.free(&self.path(&above));
            if free.is_empty() {
                continue;
            }
            let edge = free[random.below(free.len())];
            let below = [false, true].map(|second| {
                let path = self.path(&[&above[..], &[(edge, second)]].concat());
                let few = self.free(&path).len() <= 1 || self.header.edges.global - path.removed.len() as u64 <= 1;
                match few && random.chance(40) {
                    true => Step::Singles(Nothing {}),
                    false => Step::Prices(Box::new(self.hints(random, &path))),
                }
            });
            let [first, second] = below;
            tree.splice(at..=at, [Step::Edge(edge.0, edge.1), first, second]);
        }
        tree
    }

    /// Splits rejected leaves until the proof is accepted, or until a leaf without free edges is not: then nothing is
    /// to be proved.
    pub fn grow(&self, random: &mut Random, reference: u32) -> Option<NodeProof> {
        let leaf = |random: &mut Random, path: &Path| {
            let free = self.free(path).len() as u64;
            let few = free.min(self.header.edges.global - path.removed.len() as u64) <= 1;
            if few && (free == 0 || random.chance(50)) {
                Step::Singles(Nothing {})
            } else {
                Step::Prices(Box::new(self.hints(random, path)))
            }
        };
        let others = (0..self.world.classes() as u32).filter(|&class| class != reference);
        let start = |class: u32, random: &mut Random| ClassProof { class, tree: vec![leaf(random, &Path::default())] };
        let trees = others.map(|class| start(class, random)).collect();
        let mut proof = NodeProof { id: self.node, class: reference, claim: Claim::Robust(trees) };
        loop {
            let fault = match self.judge(&proof) {
                Ok(verdict) => {
                    assert_eq!(verdict, Verdict::Robust);
                    return Some(proof);
                }
                Err(fault) => fault,
            };
            assert!(matches!(fault.reason, Reason::Bound(_)), "{fault:?} {proof:?}");
            let (Some(class), Some(at)) = (fault.class, fault.step) else { panic!("{fault:?}") };
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            let tree = &mut trees.iter_mut().find(|tree| tree.class == class).unwrap().tree;
            let splits = splits_above(tree, at);
            let path = self.path(&splits);
            let free = self.free(&path);
            if free.is_empty() {
                if matches!(tree[at], Step::Singles(_)) {
                    return None;
                }
                tree[at] = Step::Singles(Nothing {});
                continue;
            }
            if matches!(tree[at], Step::Singles(_)) {
                return None;
            }
            let edge = free[random.below(free.len())];
            let [first, second] = [false, true].map(|second| {
                let mut splits = splits.clone();
                splits.push((edge, second));
                leaf(random, &self.path(&splits))
            });
            tree.splice(at..=at, [Step::Edge(edge.0, edge.1), first, second]);
        }
    }
}

/// Do the floats around an exact number overlap with an interval that encloses it?
pub fn encloses(around: &Interval, number: &Interval) -> bool {
    around.lower.to_f64() <= number.upper.to_f64() && number.lower.to_f64() <= around.upper.to_f64()
}

fn first_width(world: &World) -> usize {
    world.model.layers[0].weight.columns
}

/// What a path has decided.
#[derive(Clone, Default)]
pub struct Path {
    pub removed: BTreeSet<Edge>,
    pub kept: BTreeSet<Edge>,
}

/// The splits above a place of a tree, and whether it is in their second subtrees.
pub fn splits_above(tree: &[Step], place: usize) -> Vec<(Edge, bool)> {
    let mut open: Vec<(Edge, bool)> = Vec::new();
    for step in &tree[..place] {
        match step {
            &Step::Edge(i, j) => open.push(((i, j), false)),
            _ => {
                while open.pop_if(|split| split.1).is_some() {}
                open.last_mut().unwrap().1 = true;
            }
        }
    }
    open
}
