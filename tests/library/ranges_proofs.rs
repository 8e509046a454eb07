//! Proofs about ranges: all that the certifier writes are accepted, and nothing that is not true is, however it is
//! forged.

use std::time::Duration;

use gcnproof::proof::{header, model_file, rule_names};
use gcnproof::{Certifier, Effort, Limits, NodeResult, Problem, Ranges, Verdict};
use gcnproof_check::format::{
    Convention, Header, Line, Number, RangeClaim, RangeClassProof, RangeLines, RangeNodeProof, RangeStep, RangeWitness,
};
use gcnproof_check::ranges::{Checker, Statement};
use gcnproof_check::{Dyadic, Reason};
use gcnproof_files::{GraphFile, ModelFile};

use crate::common::ranges::{Case, Random, case, seeds};

/// What a checker reads of a case.
struct World {
    graph: GraphFile,
    model: ModelFile,
    header: Header,
}

impl World {
    fn new(case: &Case) -> World {
        let digests = (case.graph.digest(), "");
        let mut header = header(digests, (&case.network, &[]), &case.budget, Convention::Predicted);
        header.message_passing = rule_names(&case.network);
        World { graph: case.graph.file(), model: model_file(&case.network, ""), header }
    }

    fn judge(&self, proof: &RangeNodeProof) -> Result<gcnproof_check::Verdict, Reason> {
        let matrices = [];
        let statement = Statement::new(&self.graph, &self.model, &self.header, &matrices)?;
        Checker::new(&statement, false).check(proof).map_err(|fault| fault.reason)
    }
}

fn results(case: &Case) -> Vec<NodeResult> {
    let problem = Problem::new(case.graph.clone(), case.network.clone(), case.budget.clone()).unwrap();
    let limits = Limits { nodes: 3000, time: Duration::from_secs(5) };
    let certifier = Certifier::builder(problem).effort(Effort::Complete(limits)).proofs(true).build();
    certifier.certify(0..case.graph.node_count()).unwrap().collect()
}

fn proof(result: &NodeResult) -> Option<RangeNodeProof> {
    let claim = result.details.claim.clone()?;
    Some(RangeNodeProof { id: result.node as u32, class: result.reference as u32, claim })
}

fn number(x: f64) -> Number {
    Number(Dyadic::from_bits(x.to_bits()).unwrap())
}

#[test]
fn what_is_decided_is_proved() {
    let (mut decided, mut proved) = (0, 0);
    for seed in seeds(300) {
        let case = case(seed);
        let world = World::new(&case);
        for result in results(&case) {
            let expected = match (result.verdict, result.reason.name()) {
                (Verdict::Undecided, _) => continue,
                (Verdict::Robust, _) => gcnproof_check::Verdict::Robust,
                (Verdict::NonRobust, "tie") => gcnproof_check::Verdict::Tie,
                (Verdict::NonRobust, _) => gcnproof_check::Verdict::NonRobust,
            };
            decided += 1;
            let proof = proof(&result).unwrap();
            // As it is written and read again.
            let mut text = Vec::new();
            Line::Ranged(proof.clone()).write(&mut text).unwrap();
            assert_eq!(Line::read(&text[..text.len() - 1], usize::MAX), Ok(Line::Ranged(proof.clone())));
            match world.judge(&proof) {
                Ok(verdict) => {
                    assert_eq!(verdict, expected, "seed {seed}, node {}", result.node);
                    proved += 1;
                }
                Err(reason) => println!("seed {seed}, node {}: {reason}", result.node),
            }
        }
    }
    println!("{decided} decided, {proved} proved");
    assert!(decided > 0 && (decided - proved) * 200 <= decided, "{proved} of {decided}");
}

/// Another case near this one, which a proof of the first need not be true of.
fn near(seed: u64, random: &mut Random) -> Case {
    let mut other = case(seed);
    match random.up_to(2) {
        0 => {
            other.ranges = match &other.ranges {
                Ranges::Ball(radius) => Ranges::Ball(radius * 1.5 + 0.1),
                Ranges::Between { low, high } => Ranges::Between {
                    low: low.iter().map(|x| x - random.between(0.0, 0.5)).collect(),
                    high: high.iter().map(|x| x + random.between(0.0, 0.5)).collect(),
                },
            };
            other.budget = other.budget.with_ranges(other.ranges.clone());
        }
        1 => {
            let local: Vec<i64> = (0..other.values.len()).map(|n| other.budget.local(n) as i64 + 1).collect();
            let global = other.budget.global() + 1 + random.up_to(1);
            let budget = gcnproof::Budget::per_node(&other.graph, global, &local).unwrap();
            other.budget = budget.with_ranges(other.ranges.clone());
        }
        _ => {
            let mut layers: Vec<gcnproof::Layer> = other.network.own_layers().cloned().collect();
            let at = random.up_to(layers.len() - 1);
            let old = &layers[at];
            let weight = gcnproof::nalgebra::DMatrix::from_fn(old.inputs(), old.outputs(), |i, j| {
                old.weight.get(i, j) + random.between(-0.4, 0.4)
            });
            let bias: Vec<f64> = old.bias.row(0).iter().map(|b| b + random.between(-0.4, 0.4)).collect();
            layers[at] = gcnproof::Layer::new(&old.operators[0].clone(), &other.graph, &weight, &bias);
            other.network = gcnproof::Network::new(layers).unwrap().widened(&other.graph).unwrap();
        }
    }
    other
}

/// A tree by chance: splits of any kind that the format has, and lines.
fn forged_tree(case: &Case, depth: usize, random: &mut Random) -> Vec<RangeStep> {
    let layers = case.network.own_layers().count();
    let unit = |random: &mut Random| {
        let l = 2 + random.up_to(layers.saturating_sub(2));
        let width = case.network.own_layers().nth(l - 2).map_or(1, |layer| layer.outputs());
        (l as u32, random.up_to(case.values.len() - 1) as u32, random.up_to(width - 1) as u32)
    };
    if depth == 0 || random.chance(0.4) {
        let mut lines = RangeLines::default();
        let mut all: Vec<_> = (0..random.up_to(4)).map(|_| unit(random)).collect();
        all.sort_unstable();
        all.dedup();
        for (l, node, unit) in all {
            let list = if random.chance(0.7) { &mut lines.slopes } else { &mut lines.prices };
            list.push((l, node, unit, number([0.0, 0.25, 1.0, 7.5][random.up_to(3)])));
        }
        return vec![RangeStep::Lines(Box::new(lines))];
    }
    let (node, attribute) = (random.up_to(case.values.len() - 1), random.up_to(case.values[0].len() - 1));
    let [low, high] = case.range(node, attribute);
    let step = match random.up_to(2) {
        0 => {
            let (l, node, unit) = unit(random);
            RangeStep::Unit(l, node, unit)
        }
        1 => RangeStep::Entry(node as u32, attribute as u32),
        _ => RangeStep::Value(node as u32, attribute as u32, number(random.between(low, high))),
    };
    let (one, two) = (forged_tree(case, depth - 1, random), forged_tree(case, depth - 1, random));
    [vec![step], one, two].concat()
}

/// One thing of a proof is another.
fn tampered(proof: &RangeNodeProof, case: &Case, random: &mut Random) -> RangeNodeProof {
    let mut proof = proof.clone();
    match &mut proof.claim {
        RangeClaim::NonRobust(witness) => match random.up_to(3) {
            0 => drop(witness.entries.pop()),
            1 => witness.class = 1 - witness.class.min(1),
            2 => proof.class = 1 - proof.class.min(1),
            _ => {
                for entry in &mut witness.entries {
                    entry.2 = number(random.between(-3.0, 3.0));
                }
            }
        },
        RangeClaim::Robust(trees) => {
            let at = random.up_to(trees.len() - 1);
            let tree = &mut trees[at].tree;
            let place = random.up_to(tree.len() - 1);
            match (random.up_to(5), &mut tree[place]) {
                (0, _) => drop(tree.remove(place)),
                (1, _) => *tree = forged_tree(case, 3, random),
                (2, _) => tree.truncate(place + 1),
                (3, RangeStep::Lines(lines)) => lines.slopes.iter_mut().for_each(|slope| {
                    slope.3 = number([-0.5, 0.0, 0.5, 1.0, 1.5][random.up_to(4)]);
                }),
                (3, RangeStep::Value(_, _, value)) => *value = number(random.between(-3.0, 3.0)),
                (4, RangeStep::Lines(lines)) => lines.prices.iter_mut().for_each(|price| {
                    price.3 = number([-1.0, 0.0, 1.0, 100.0][random.up_to(3)]);
                }),
                (4, RangeStep::Unit(_, node, _) | RangeStep::Entry(node, _)) => *node = node.wrapping_add(1),
                _ => drop(trees.remove(at)),
            }
        }
    }
    proof
}

#[test]
fn nothing_false_is_accepted() {
    let (mut forged, mut accepted) = (0, 0);
    for seed in seeds(150) {
        let random = &mut Random(seed ^ 0x5eed);
        let own = case(seed);
        let proofs: Vec<RangeNodeProof> = results(&own).iter().filter_map(proof).collect();
        for round in 0..4 {
            let other = if round == 0 { case(seed) } else { near(seed, random) };
            let world = World::new(&other);
            let plain = other.logits(&other.values);
            let matrices = [];
            let statement = Statement::new(&world.graph, &world.model, &world.header, &matrices).unwrap();
            let checker = Checker::new(&statement, false);
            for proof in &proofs {
                let classes = plain[0].len() as u32;
                let robust = RangeClaim::Robust(
                    (0..classes)
                        .filter(|&class| class != proof.class)
                        .map(|class| RangeClassProof { class, tree: forged_tree(&other, 4, random) })
                        .collect(),
                );
                let invented = RangeNodeProof { claim: robust, ..proof.clone() };
                let mut given = vec![proof.clone(), invented];
                given.extend((0..6).map(|_| tampered(proof, &other, random)));
                for proof in given {
                    forged += 1;
                    let Ok(verdict) = checker.check(&proof) else { continue };
                    accepted += 1;
                    let about = format!("seed {seed}, round {round}: {proof:?}");
                    let node = proof.id as usize;
                    match (&proof.claim, verdict) {
                        (RangeClaim::Robust(_), gcnproof_check::Verdict::Robust) => {
                            let references = vec![proof.class as usize; plain.len()];
                            let least = other.least(&references, &mut Random(seed))[node];
                            assert!(least > -1e-9, "{about}: {least}");
                        }
                        (RangeClaim::NonRobust(witness), _) => {
                            let mut values = other.values.clone();
                            for (n, d, value) in &witness.entries {
                                let value = gcnproof_check::Interval::around(&value.0).lower.to_f64();
                                let [low, high] = other.range(*n as usize, *d as usize);
                                assert!((low - 1e-12..=high + 1e-12).contains(&value), "{about}");
                                values[*n as usize][*d as usize] = value;
                            }
                            let row = |n: u32| witness.entries.iter().filter(|entry| entry.0 == n).count();
                            assert!(witness.entries.len() <= other.budget.global(), "{about}");
                            assert!((0..values.len()).all(|n| row(n as u32) <= other.budget.local(n)), "{about}");
                            let logits = &other.logits(&values)[node];
                            let margin = logits[proof.class as usize] - logits[witness.class as usize];
                            assert!(margin < 1e-9, "{about}: {margin}");
                        }
                        _ => panic!("{about}: {verdict:?}"),
                    }
                }
            }
        }
    }
    println!("{forged} proofs of something else, or forged; {accepted} of them are true");
    assert!(forged > 0 && accepted > 0);
}

/// A node without neighbours: `z = x`, `h = max(z, 0)`, logits `h` and `0.5`; the value 1 moves by at most `radius`.
fn small(radius: f64) -> World {
    let graph = GraphFile::new(pattern(1, 1, &[]), pattern(1, 1, &[0]), None);
    let layer = |weight: Vec<f64>, bias: Vec<f64>, outputs: usize, linear: bool| gcnproof_files::LayerFile {
        weight: gcnproof_files::DenseMatrix { rows: weight.len() / outputs, columns: outputs, values: weight },
        bias,
        linear: vec![linear; outputs],
        operators: vec!["identity".into()],
        ..gcnproof_files::LayerFile::default()
    };
    let layers = vec![layer(vec![1.0], vec![0.0], 1, false), layer(vec![1.0, 0.0], vec![0.0, 0.5], 2, true)];
    let model = ModelFile { layers, ..ModelFile::default() };
    let budget = gcnproof_check::format::BudgetStatement {
        global: 1,
        local: gcnproof_check::format::Local::Uniform(1),
        direction: gcnproof_check::format::Direction::Both,
        frozen_attributes: Vec::new(),
    };
    let header = Header {
        version: gcnproof_check::format::VERSION,
        graph: graph.digest.clone(),
        model: String::new(),
        message_passing: vec!["identity".into(); 2],
        budget,
        classes: Convention::Predicted,
        deployed: None,
        ranges: Some(gcnproof_check::format::RangesStatement::Epsilon(number(radius))),
    };
    World { graph, model, header }
}

fn pattern(rows: usize, columns: usize, indices: &[u32]) -> gcnproof_files::Pattern {
    let offsets = vec![0, indices.len()];
    gcnproof_files::Pattern { rows, columns, offsets, indices: indices.to_vec() }
}

/// Is this the reason for which a tree is refused?
type Expected = fn(&Reason) -> bool;

#[test]
fn each_rule_is_enforced() {
    let world = small(0.25);
    let robust = |tree: Vec<RangeStep>| RangeNodeProof {
        id: 0,
        class: 0,
        claim: RangeClaim::Robust(vec![RangeClassProof { class: 1, tree }]),
    };
    let leaf = |slopes: Vec<f64>, prices: Vec<f64>| {
        let named = |list: Vec<f64>| list.into_iter().map(|x| (2, 0, 0, number(x))).collect();
        RangeStep::Lines(Box::new(RangeLines { slopes: named(slopes), prices: named(prices) }))
    };
    let plain = || leaf(vec![], vec![]);
    let judge = |tree: Vec<RangeStep>| world.judge(&robust(tree));
    let unit = RangeStep::Unit(2, 0, 0);
    let entry = RangeStep::Entry(0, 0);
    assert_eq!(judge(vec![plain()]), Ok(gcnproof_check::Verdict::Robust));
    // Where the unit is not positive the margin is not, and nothing but a price shows that this cannot be: z ≥ 0.75.
    assert!(matches!(judge(vec![unit.clone(), plain(), plain()]), Err(Reason::Bound(_))));
    assert!(judge(vec![unit.clone(), plain(), leaf(vec![], vec![1.0])]).is_ok());
    assert!(judge(vec![entry.clone(), plain(), plain()]).is_ok());
    let value = |x: f64| RangeStep::Value(0, 0, number(x));
    assert!(judge(vec![entry.clone(), plain(), value(1.0), plain(), plain()]).is_ok());
    let refused: Vec<(Vec<RangeStep>, Expected)> = vec![
        (vec![], |reason| *reason == Reason::Incomplete),
        (vec![unit.clone()], |reason| *reason == Reason::Incomplete),
        (vec![unit.clone(), plain()], |reason| *reason == Reason::Incomplete),
        (vec![plain(), plain()], |reason| *reason == Reason::Trailing),
        (vec![leaf(vec![1.5], vec![])], |reason| matches!(reason, Reason::MultiplierRange(..))),
        (vec![leaf(vec![-0.5], vec![])], |reason| matches!(reason, Reason::MultiplierRange(..))),
        (vec![leaf(vec![0.5, 0.5], vec![])], |reason| matches!(reason, Reason::MultiplierOrder(..))),
        (vec![leaf(vec![], vec![1.0])], |reason| matches!(reason, Reason::Unsplit(_))),
        (vec![unit.clone(), plain(), leaf(vec![], vec![-1.0])], |reason| matches!(reason, Reason::MultiplierRange(..))),
        (vec![unit.clone(), unit.clone(), plain(), plain(), plain()], |reason| *reason == Reason::SplitTwice),
        (vec![entry.clone(), entry.clone(), plain(), plain(), plain()], |reason| *reason == Reason::SplitTwice),
        (vec![RangeStep::Unit(3, 0, 0), plain(), plain()], |reason| matches!(reason, Reason::Unit(_))),
        (vec![RangeStep::Unit(2, 1, 0), plain(), plain()], |reason| matches!(reason, Reason::Unit(_))),
        (vec![RangeStep::Unit(2, 0, 1), plain(), plain()], |reason| matches!(reason, Reason::Unit(_))),
        (vec![RangeStep::Entry(0, 1), plain(), plain()], |reason| matches!(reason, Reason::Entry(_))),
        (vec![RangeStep::Entry(1, 0), plain(), plain()], |reason| matches!(reason, Reason::Entry(_))),
        (vec![value(1.0), plain(), plain()], |reason| matches!(reason, Reason::Entry(_))),
        (vec![entry.clone(), plain(), value(1.5), plain(), plain()], |reason| matches!(reason, Reason::Entry(_))),
    ];
    for (tree, expected) in refused {
        let found = judge(tree.clone());
        assert!(found.as_ref().is_err_and(expected), "{tree:?}: {found:?}");
    }
    // The same leaf about a larger ball: 1 − 0.625 < 0.5.
    assert!(matches!(small(0.625).judge(&robust(vec![plain()])), Err(Reason::Bound(_))));
    let witness = |world: &World, entries: Vec<(u32, u32, f64)>| {
        let entries = entries.into_iter().map(|(n, d, x)| (n, d, number(x))).collect();
        let claim = RangeClaim::NonRobust(RangeWitness { class: 1, entries });
        world.judge(&RangeNodeProof { id: 0, class: 0, claim })
    };
    let wide = small(0.625);
    assert_eq!(witness(&wide, vec![(0, 0, 0.375)]), Ok(gcnproof_check::Verdict::NonRobust));
    assert_eq!(witness(&wide, vec![(0, 0, 0.5)]), Ok(gcnproof_check::Verdict::Tie));
    assert!(matches!(witness(&wide, vec![(0, 0, 0.625)]), Err(Reason::Margin(_))));
    assert!(matches!(witness(&wide, vec![(0, 0, 0.25)]), Err(Reason::Entry(_))));
    assert!(matches!(witness(&wide, vec![(0, 1, 0.5)]), Err(Reason::Entry(_))));
    assert!(matches!(witness(&wide, vec![(0, 0, 0.5), (0, 0, 0.5)]), Err(Reason::FlipOrder(_))));
    assert!(matches!(witness(&wide, vec![]), Err(Reason::Margin(_))));
    let mut none = small(0.625);
    none.header.budget.global = 0;
    assert!(matches!(witness(&none, vec![(0, 0, 0.375)]), Err(Reason::Entries)));
    let mut none = small(0.625);
    none.header.budget.frozen_attributes = vec![0];
    assert!(matches!(witness(&none, vec![(0, 0, 0.375)]), Err(Reason::Entry(_))));
    assert!(none.judge(&robust(vec![plain()])).is_ok());
    let mut negative = small(0.25);
    negative.header.ranges = Some(gcnproof_check::format::RangesStatement::Epsilon(number(-0.25)));
    assert!(matches!(negative.judge(&robust(vec![plain()])), Err(Reason::Header(_))));
}
