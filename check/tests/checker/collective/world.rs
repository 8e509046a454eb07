//! Tiny problems about one attack for the whole graph, and the truth about them: every admissible set of flips, in
//! exact numbers.

use std::cmp::Ordering;

use gcnproof_check::collective::format::{Claim, Cover, Header, Leaf, Line, Share, VERSION};
use gcnproof_check::format::{Claim as NodeClaim, ClassProof, Convention, Direction, Local, NodeProof, Step};
use gcnproof_check::{Checker, Options, Statement, Summary, check};
use gcnproof_files::LayerFile;

use crate::common::{Big, Random, World, layer, pattern, world};

/// 1, in the units of shares.
pub const ONE: u32 = 1 << 24;

/// A problem small enough for listing.
#[derive(Clone)]
pub struct Case {
    pub world: World,
    pub attacked_nodes: Option<u64>,
    pub nodes: Option<Vec<u32>>,
}

/// What is true of a case.
pub struct Truth {
    /// The predicted class of every node.
    pub predicted: Vec<u32>,
    /// Whose predictions count.
    pub counts: Vec<bool>,
    /// The largest number of them that an admissible set breaks.
    pub broken: u64,
}

/// The margin over a class, and what each single flip takes from it.
pub type Losses = (Big, Vec<((u32, u32), Big)>);

/// Entries of an operator: receiver, sender, entry.
type Operator = Vec<(usize, usize, Big)>;

impl Case {
    pub fn random(random: &mut Random) -> Case {
        let world = match random.below(10) {
            0..3 => World::random(random),
            3..5 => World::random_terms(random),
            _ => larger(random),
        };
        Case::of(world, random)
    }

    fn of(world: World, random: &mut Random) -> Case {
        let count = world.graph.attributes.rows as u32;
        let attacked_nodes = random.chance(35).then(|| random.below(4) as u64);
        let nodes = random.chance(25).then(|| (0..count).filter(|_| random.chance(70)).collect());
        Case { world, attacked_nodes, nodes }
    }

    /// One layer of small halves, without any rounding: every margin is a sum over flips.
    pub fn plain(random: &mut Random) -> Case {
        let mut world = larger(random);
        let (columns, classes) = (world.graph.attributes.columns, 2 + random.below(2));
        let weight = |random: &mut Random| random.below(9) as f64 / 2.0 - 2.0;
        let rows: Vec<Vec<f64>> = (0..columns).map(|_| (0..classes).map(|_| weight(random)).collect()).collect();
        let bias: Vec<f64> = (0..classes).map(|_| 2.0 * weight(random)).collect();
        world.model.layers = vec![layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias)];
        world.header.message_passing = vec![["sum+self", "identity", "sum"][random.below(3)].into()];
        world.matrices = Vec::new();
        Case::of(world, random)
    }

    pub fn size(&self) -> usize {
        self.world.graph.attributes.rows
    }

    pub fn header(&self) -> Header {
        let header = &self.world.header;
        Header {
            version: VERSION,
            graph: header.graph.clone(),
            model: header.model.clone(),
            message_passing: header.message_passing.clone(),
            budget: header.budget.clone(),
            attacked_nodes: self.attacked_nodes,
            classes: header.classes,
            nodes: self.nodes.clone(),
        }
    }

    /// The same with what a header states instead.
    pub fn with(&self, header: &Header) -> Case {
        let mut case = self.clone();
        case.world.header.budget = header.budget.clone();
        case.world.header.message_passing = header.message_passing.clone();
        case.world.header.classes = header.classes;
        (case.attacked_nodes, case.nodes) = (header.attacked_nodes, header.nodes.clone());
        case
    }

    /// The operators of all layers and terms.
    fn operators(&self) -> Vec<Vec<Operator>> {
        let of_rule = |rule: &str| {
            let dense = self.world.dense(rule);
            let places = (0..dense.len()).flat_map(|m| (0..dense.len()).map(move |n| (m, n)));
            places.filter(|&(m, n)| dense[m][n] != 0.0).map(|(m, n)| (m, n, Big::from(dense[m][n]))).collect()
        };
        (0..self.world.depth()).map(|at| self.world.rules(at).into_iter().map(of_rule).collect()).collect()
    }

    /// The exact logits of all nodes after some flips.
    fn logits(&self, operators: &[Vec<Operator>], flips: &[(u32, u32)]) -> Vec<Vec<Big>> {
        let (count, columns) = (self.size(), self.world.graph.attributes.columns as u32);
        let value = |n: usize, d: u32| self.world.graph.attributes.contains(n, d) != flips.contains(&(n as u32, d));
        let entry = |n: usize, d: u32| Big::from(f64::from(u8::from(value(n, d))));
        let mut h: Vec<Vec<Big>> = (0..count).map(|n| (0..columns).map(|d| entry(n, d)).collect()).collect();
        for (at, layer) in self.world.model.layers.iter().enumerate() {
            let last = at + 1 == self.world.model.layers.len();
            let (inputs, outputs) = (layer.weight.rows / operators[at].len(), layer.weight.columns);
            let bias = |m: usize, j: usize| layer.bias[if layer.bias.len() == outputs { j } else { m * outputs + j }];
            let mut z: Vec<Vec<Big>> =
                (0..count).map(|m| (0..outputs).map(|j| Big::from(bias(m, j))).collect()).collect();
            for (k, operator) in operators[at].iter().enumerate() {
                let sent = |h: &Vec<Big>, j: usize| {
                    let there = h.iter().enumerate().filter(|(_, x)| x.sign() != Ordering::Equal);
                    there.fold(Big::from(0.0), |sum, (i, x)| {
                        sum.plus(&x.times(&Big::from(layer.weight.get(k * inputs + i, j))))
                    })
                };
                let sent: Vec<Vec<Big>> = h.iter().map(|h| (0..outputs).map(|j| sent(h, j)).collect()).collect();
                for (m, n, a) in operator {
                    z[*m].iter_mut().zip(&sent[*n]).for_each(|(z, x)| *z = z.plus(&a.times(x)));
                }
            }
            let linear = |j: usize| last || layer.linear.get(j).copied().unwrap_or(false);
            let active = |z: Vec<Big>| {
                z.into_iter().enumerate().map(|(j, z)| if linear(j) { z } else { z.positive_part() }).collect()
            };
            h = z.into_iter().map(active).collect();
        }
        h
    }

    pub fn admissible(&self) -> Vec<Vec<(u32, u32)>> {
        let within = |set: &Vec<(u32, u32)>| {
            let mut rows: Vec<u32> = set.iter().map(|flip| flip.0).collect();
            rows.dedup();
            self.attacked_nodes.is_none_or(|most| rows.len() as u64 <= most)
        };
        self.world.admissible().into_iter().filter(within).collect()
    }

    pub fn truth(&self) -> Truth {
        let operators = self.operators();
        let start = self.logits(&operators, &[]);
        let ahead = |logits: &[Big], a: usize, b: usize| logits[a].minus(&logits[b]).sign() == Ordering::Greater;
        let best = |logits: &Vec<Big>| {
            (1..logits.len()).fold(0, |best, class| if ahead(logits, class, best) { class } else { best }) as u32
        };
        let predicted: Vec<u32> = start.iter().map(best).collect();
        let labels = self.world.graph.labels.as_ref();
        let counts = |n: usize| {
            let right = labels.is_some_and(|labels| labels[n] == Some(predicted[n]));
            self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&(n as u32)))
                && (self.world.header.classes == Convention::Predicted || right)
        };
        let counts: Vec<bool> = (0..self.size()).map(counts).collect();
        let broken = |flips: Vec<(u32, u32)>| {
            let logits = self.logits(&operators, &flips);
            let kept = |n: usize| {
                let own = predicted[n] as usize;
                (0..logits[n].len()).all(|class| class == own || ahead(&logits[n], own, class))
            };
            (0..self.size()).filter(|&n| counts[n] && !kept(n)).count() as u64
        };
        let broken = self.admissible().into_iter().map(broken).max().unwrap_or(0);
        Truth { predicted, counts, broken }
    }

    /// Margins of the predicted class over the others without flips, and what each single permitted flip takes from
    /// them, by node and other class.
    pub fn losses(&self, predicted: &[u32]) -> Vec<Vec<Losses>> {
        let operators = self.operators();
        let start = self.logits(&operators, &[]);
        let after: Vec<_> =
            self.world.permitted().into_iter().map(|flip| (flip, self.logits(&operators, &[flip]))).collect();
        let of = |n: usize| {
            let own = predicted[n] as usize;
            let margin = |logits: &Vec<Vec<Big>>, y: usize| logits[n][own].minus(&logits[n][y]);
            let others = (0..start[n].len()).filter(|&y| y != own);
            let class = |y: usize| {
                let base = margin(&start, y);
                let losses = after.iter().map(|(flip, logits)| (*flip, base.minus(&margin(logits, y)))).collect();
                (base, losses)
            };
            others.map(class).collect()
        };
        (0..self.size()).map(of).collect()
    }

    /// Lines for some nodes: those that the ordinary checker accepts as robust, and shares.
    pub fn lines(&self, random: &mut Random, truth: &Truth) -> Vec<Line> {
        let header = &self.world.header;
        let statement = Statement::new(&self.world.graph, &self.world.model, header, &self.world.matrices).unwrap();
        let checker = Checker::new(&statement, false);
        let (classes, deep) = (self.world.classes() as u32, self.world.depth() > 1);
        let style = random.below(4);
        let mut lines = Vec::new();
        if self.world.depth() > 2 && random.chance(50) {
            // Bounds of units above layer 2 that some leaves need, as the expansion makes them.
            let of = checker.expanded_bounds(random.below(self.size()) as u32);
            lines.extend(of.into_iter().map(Line::Bounds));
        }
        for n in 0..self.size() as u32 {
            let class = truth.predicted[n as usize];
            let others = (0..classes).filter(|&y| y != class);
            let proof = NodeProof {
                id: n,
                class,
                claim: NodeClaim::Robust(others.clone().map(ClassProof::anchored).collect()),
            };
            if random.chance(60) && checker.check(&proof).is_ok() {
                lines.push(Line::Node(proof));
                continue;
            }
            if random.chance(10) {
                continue;
            }
            let (weight, size) = match style {
                0 => (ONE, 0),
                1 => (0, ONE),
                2 => {
                    let weight = random.below(ONE as usize + 1) as u32;
                    (weight, ONE - weight)
                }
                _ => {
                    let weight = random.below(ONE as usize + 1) as u32;
                    (weight, random.below((ONE - weight) as usize + 1) as u32)
                }
            };
            let mut leaves = Vec::new();
            for class in others {
                let leaf = match random.below(10) {
                    0..5 => continue,
                    5 => Leaf::Leaf(Box::new(gcnproof_check::format::Leaf { cap: deep, ..Default::default() })),
                    6..9 => Leaf::Leaf(Box::new(self.world.random_leaf_of(random, n))),
                    _ => match self.hints(n, truth.predicted[n as usize], class) {
                        Some(leaf) => leaf,
                        None => continue,
                    },
                };
                leaves.push((class, leaf));
            }
            lines.push(Line::Share(Share { id: n, class, weight, size, leaves, covers: Vec::new() }));
        }
        lines
    }

    /// Takes part of the shares for covers of a few flips, some of which leave nothing.
    pub fn cover(&self, random: &mut Random, lines: &mut [Line]) -> usize {
        let mut covered = 0;
        let permitted = self.world.permitted();
        for line in lines {
            let Line::Share(share) = line else { continue };
            for _ in 0..random.below(3) {
                let taken = random.below(share.weight as usize + 1) as u32;
                let chance = [10, 30, 60][random.below(3)];
                let made: Vec<(u32, u32)> =
                    permitted.iter().copied().filter(|_| random.chance(chance)).take(3).collect();
                share.weight -= taken;
                share.covers.push(Cover { weight: taken, made });
                covered += 1;
            }
        }
        covered
    }

    /// Hints that prove a class without any flip: admissible, and of some use, under every budget.
    fn hints(&self, node: u32, reference: u32, class: u32) -> Option<Leaf> {
        let mut header = self.world.header.clone();
        header.classes = Convention::Predicted;
        header.budget.global = 1;
        let statement = Statement::new(&self.world.graph, &self.world.model, &header, &self.world.matrices).ok()?;
        let others = (0..self.world.classes() as u32).filter(|&y| y != reference);
        let claim = NodeClaim::Robust(others.map(ClassProof::anchored).collect());
        let expanded = Checker::new(&statement, false).expand(&NodeProof { id: node, class: reference, claim }).ok()?;
        let NodeClaim::Robust(trees) = expanded.claim else { return None };
        match trees.into_iter().find(|tree| tree.class == class)?.tree.swap_remove(0) {
            Step::Hints(hints) => Some(Leaf::Hints(hints)),
            _ => None,
        }
    }

    /// Prices that may be good: of the worth of flips by shares of a whole, or anything.
    pub fn claim(&self, random: &mut Random, lines: &[Line], bound: u64) -> Claim {
        let one = u64::from(ONE) * u64::from(ONE);
        let price = match random.below(6) {
            0 => 0,
            1 => one,
            2 => one / 2,
            3 => one / 3 + 1,
            _ => random.next() % (2 * one),
        };
        let priced = (0..self.size() as u32).filter(|_| random.chance(40)).collect::<Vec<_>>();
        let prices = if random.chance(60) { priced } else { Vec::new() };
        let prices =
            prices.into_iter().map(|n| (n, [one / 2, one / 4, random.next() % one][random.below(3)])).collect();
        Claim { lines: lines.len() as u64, bound, price, prices, components: false }
    }

    pub fn file(&self, lines: &[Line], claim: &Claim) -> Vec<u8> {
        let mut bytes = Vec::new();
        Line::Collective(self.header()).write(&mut bytes).unwrap();
        lines.iter().for_each(|line| line.write(&mut bytes).unwrap());
        Line::Claim(claim.clone()).write(&mut bytes).unwrap();
        bytes
    }

    pub fn check(&self, bytes: &[u8], exact_only: bool) -> Summary {
        let options = Options { exact_only, ..self.world.options() };
        check(&self.world.graph, &self.world.model, &options, bytes, |_| {})
    }
}

/// Two to six nodes, few attributes, any graph, one to three weight layers.
fn larger(random: &mut Random) -> World {
    let nodes = 2 + random.below(5);
    let columns = 1 + random.below((12 / nodes).min(3));
    let attributes: Vec<Vec<u8>> = (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
    let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
    let depth = [1, 1, 2, 2, 2, 3][random.below(6)];
    let (mut layers, mut inputs): (Vec<LayerFile>, usize) = (Vec::new(), columns);
    let kind = [0, 0, 1, 2][random.below(4)];
    for at in 0..depth {
        let outputs = if at + 1 == depth { 2 + random.below(2) } else { 1 + random.below(3) };
        let rows: Vec<Vec<f64>> = (0..inputs).map(|_| (0..outputs).map(|_| random.weight(kind)).collect()).collect();
        let bias: Vec<f64> = (0..outputs).map(|_| random.weight(kind)).collect();
        layers.push(layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias));
        inputs = outputs;
    }
    let budget = [random.below(4) as u64, random.below(4) as u64];
    let mut world = world(&attributes, columns, layers, budget[0].max(1), budget[1].max(1));
    let density = [20, 40, 70][random.below(3)];
    let edges: Vec<bool> = (0..nodes * nodes).map(|_| random.chance(density)).collect();
    world.graph.adjacency = pattern(nodes, nodes, |i, j| i != j && edges[i.min(j) * nodes + i.max(j)]);
    for rule in &mut world.header.message_passing {
        *rule = ["gcn", "gcn", "sum+self", "mean+self", "identity", "mean"][random.below(6)].into();
    }
    if random.chance(25) {
        world.header.budget.local = Local::PerNode((0..nodes).map(|_| random.below(3) as u64).collect());
    }
    world.header.budget.direction =
        [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    if random.chance(15) {
        world.header.budget.frozen_attributes = vec![random.below(columns) as u32];
    }
    if random.chance(30) {
        let classes = world.classes();
        world.header.classes = Convention::Labels;
        let label = |random: &mut Random| (!random.chance(10)).then(|| random.below(classes) as u32);
        world.graph.labels = Some((0..nodes).map(|_| label(random)).collect());
    }
    world
}
