//! Proofs about attributes moved within ranges in the verified checker: it says of witnesses what the exact core says,
//! and accepts what the other checker accepts, and nothing that a witness refutes. Skipped aloud where it is not built
//! (`make verified`).

use crate::common::{Random, World};
use crate::described::case_of;

use gcnproof_check::format::*;
use gcnproof_check::ranges::{Checker, Statement};
use gcnproof_check::{Dyadic, RangeJudge, Verdict, find_program};
use gcnproof_files::{GraphFile, Normalisation, SparseMatrix};

fn number(x: f64) -> Number {
    Number(Dyadic::from_bits(x.to_bits()).unwrap())
}

/// Numbers of which many are alike, so that there are ties.
fn any(random: &mut Random) -> f64 {
    match random.below(4) {
        0 => 0.0,
        1 => random.below(7) as f64 / 10.0 - 0.3,
        _ => random.below(9) as f64 / 4.0 - 1.0,
    }
}

/// A world whose attributes are moved: numbers, or 0/1 entries, divided or not.
struct RangeWorld {
    of: World,
    graph: GraphFile,
    header: Header,
    /// The attributes of each node.
    values: Vec<Vec<f64>>,
}

impl RangeWorld {
    fn random(random: &mut Random) -> RangeWorld {
        let of = World::random(random);
        RangeWorld::around(of, random)
    }

    /// The same of a network.
    fn around(of: World, random: &mut Random) -> RangeWorld {
        let (nodes, columns) = (of.graph.attributes.rows, of.graph.attributes.columns);
        let mut graph = of.graph.clone();
        let values: Vec<Vec<f64>> = if random.chance(60) {
            let values: Vec<Vec<f64>> = (0..nodes).map(|_| (0..columns).map(|_| any(random)).collect()).collect();
            let matrix = SparseMatrix {
                rows: nodes,
                columns,
                offsets: (0..=nodes).map(|node| node * columns).collect(),
                indices: (0..nodes).flat_map(|_| 0..columns as u32).collect(),
                values: values.concat(),
            };
            graph = graph.valued(matrix).unwrap();
            values
        } else {
            if random.chance(50) {
                graph.normalisation = [Normalisation::Float32, Normalisation::Float64][random.below(2)];
            }
            let row = |node: usize| {
                let row = graph.attributes.row(node);
                let entry = graph.normalisation.entry(row.len());
                (0..columns as u32).map(|d| if row.contains(&d) { entry } else { 0.0 }).collect()
            };
            (0..nodes).map(row).collect()
        };
        let ranges = match random.chance(50) {
            true => RangesStatement::Epsilon(number([0.0, 0.1, 0.125, 1.0][random.below(4)])),
            false => {
                let mut beyond = || [0.0, 0.25, 0.1, 1.0][random.below(4)];
                let column = |d: usize| values.iter().map(move |row| row[d]);
                let low = (0..columns).map(|d| number(column(d).fold(f64::INFINITY, f64::min) - beyond())).collect();
                let high = (0..columns).map(|d| number(column(d).fold(-f64::INFINITY, f64::max) + beyond())).collect();
                RangesStatement::Between(RangeLimits { low, high })
            }
        };
        let mut header = Header { graph: graph.digest.clone(), ranges: Some(ranges), ..of.header.clone() };
        header.budget.direction = Direction::Both;
        RangeWorld { of, graph, header, values }
    }

    /// A value of an entry: mostly an end of its range.
    fn value(&self, node: usize, attribute: usize, random: &mut Random) -> Number {
        let x = self.values[node][attribute];
        if random.chance(20) {
            return number(x + any(random));
        }
        match self.header.ranges.as_ref().unwrap() {
            RangesStatement::Epsilon(radius) => {
                let x = number(x).0;
                Number(if random.chance(50) { &x + &radius.0 } else { &x - &radius.0 })
            }
            RangesStatement::Between(RangeLimits { low, high }) => [low, high][random.below(2)][attribute].clone(),
        }
    }

    fn witness(&self, id: u32, class: u32, other: u32, random: &mut Random) -> RangeNodeProof {
        let (nodes, columns) = (self.values.len(), self.values[0].len());
        let all = (0..nodes).flat_map(|node| (0..columns).map(move |attribute| (node, attribute)));
        let chosen: Vec<(usize, usize)> = all.filter(|_| random.chance(50)).collect();
        let entry = |(node, attribute)| (node as u32, attribute as u32, self.value(node, attribute, random));
        let entries = chosen.into_iter().map(entry).collect();
        RangeNodeProof { id, class, claim: RangeClaim::NonRobust(RangeWitness { class: other, entries }) }
    }

    fn unit(&self, random: &mut Random) -> Option<(u32, u32, u32)> {
        let layers = &self.of.model.layers;
        let l = 2 + random.below(layers.len().max(2) - 1);
        let unit = random.below(layers.get(l - 2)?.weight.columns);
        (l <= layers.len()).then(|| (l as u32, random.below(self.values.len()) as u32, unit as u32))
    }

    fn grow(&self, path: &mut Path, depth: usize, random: &mut Random, tree: &mut Vec<RangeStep>) {
        let (node, attribute) = (random.below(self.values.len()), random.below(self.values[0].len()));
        let step = match random.below(4) {
            _ if depth == 0 => None,
            0 => self.unit(random).map(|(l, node, unit)| RangeStep::Unit(l, node, unit)),
            1 | 2 => Some(RangeStep::Entry(node as u32, attribute as u32)),
            _ => path.moved.first().map(|&(node, attribute)| {
                let value = self.value(node as usize, attribute as usize, random);
                RangeStep::Value(node, attribute, value)
            }),
        };
        let Some(step) = step else {
            let mut slopes: Vec<UnitNumber> = Vec::new();
            for _ in 0..random.below(3) {
                let slope = number([0.0, 0.25, 0.3, 1.0][random.below(4)]);
                slopes.extend(self.unit(random).map(|(l, node, unit)| (l, node, unit, slope)));
            }
            slopes.sort_by_key(|(l, node, unit, _)| (*l, *node, *unit));
            slopes.dedup_by_key(|(l, node, unit, _)| (*l, *node, *unit));
            let price = |&(l, node, unit): &(u32, u32, u32)| (l, node, unit, number([0.0, 0.3, 2.0][random.below(3)]));
            let mut prices: Vec<UnitNumber> = path.units.iter().map(price).collect();
            prices.sort_by_key(|(l, node, unit, _)| (*l, *node, *unit));
            return tree.push(RangeStep::Lines(Box::new(RangeLines { slopes, prices })));
        };
        tree.push(step.clone());
        for second in [false, true] {
            let mut below = path.clone();
            match &step {
                RangeStep::Unit(l, node, unit) => below.units.push((*l, *node, *unit)),
                RangeStep::Entry(node, attribute) if second => below.moved.push((*node, *attribute)),
                _ => {}
            }
            self.grow(&mut below, depth - 1, random, tree);
        }
    }
}

/// What a path has split.
#[derive(Clone, Default)]
struct Path {
    units: Vec<(u32, u32, u32)>,
    moved: Vec<(u32, u32)>,
}

#[test]
fn ranges_are_judged_as_by_the_other_checker() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let mut counts = [0; 6];
    for seed in 0..250 {
        let random = &mut Random::new(seed + 150_000_000);
        let world = RangeWorld::random(random);
        let (graph, model, matrices) = (&world.graph, &world.of.model, &world.of.matrices);
        let judge = RangeJudge::start(&program, graph, model, &world.header, matrices);
        let Ok(statement) = Statement::new(graph, model, &world.header, matrices) else {
            counts[0] += 1;
            assert!(judge.is_err(), "seed {seed}");
            continue;
        };
        let (checker, mut judge) = (Checker::new(&statement, true), judge.unwrap());
        let classes = model.layers.last().unwrap().weight.columns as u32;
        for id in 0..graph.targets() as u32 {
            for class in 0..classes {
                let mut broken = false;
                for _ in 0..4 {
                    let proof = world.witness(id, class, random.below(classes as usize) as u32, random);
                    let expected = checker.check(&proof).ok();
                    assert_eq!(judge.ask(&proof).unwrap(), expected, "seed {seed}: {proof:?}");
                    broken |= expected.is_some();
                    counts[1 + usize::from(expected.is_some())] += 1;
                }
                for depth in [0, 0, 3] {
                    let others = (0..classes).filter(|&other| other != class);
                    let trees = others.map(|class| {
                        let mut tree = Vec::new();
                        world.grow(&mut Path::default(), depth, random, &mut tree);
                        RangeClassProof { class, tree }
                    });
                    let proof = RangeNodeProof { id, class, claim: RangeClaim::Robust(trees.collect()) };
                    let (accepted, answer) = (checker.check(&proof).is_ok(), judge.ask(&proof).unwrap());
                    assert!(!accepted || answer == Some(Verdict::Robust), "seed {seed}: {proof:?}");
                    assert!(!broken || answer.is_none(), "seed {seed}: {proof:?}");
                    let splits = depth > 0 && accepted;
                    counts[3 + if splits { 2 } else { usize::from(accepted) }] += 1;
                }
                let less = RangeNodeProof { id, class, claim: RangeClaim::Robust(Vec::new()) };
                assert_eq!(judge.ask(&less).unwrap(), None);
            }
        }
    }
    println!("{counts:?}");
    assert!(counts[1..].iter().all(|&count| count > 50), "{counts:?}");
}

/// As the network runs: what is accepted is true of the exact network, and with as many bits as floats have what the other
/// checker accepts is accepted. Attributes of witnesses need not be numbers of the format.
#[test]
fn ranges_as_they_run_are_judged_as_by_the_other_checker() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let mut counts = [0; 4];
    // Chains, and networks whose layers read any earlier ones.
    for seed in 0..650 {
        let random = &mut Random::new(seed + 160_000_000);
        let world = match seed {
            0..350 => RangeWorld::random(random),
            _ => RangeWorld::around(case_of(seed + 180_000_000, false).world, random),
        };
        let (graph, model, matrices) = (&world.graph, &world.of.model, &world.of.matrices);
        let precision = [6, 10, 24, 24, 53][random.below(5)];
        let error = [0, 1, 8][random.below(3)];
        let operator_error = (0..world.of.depth()).map(|at| vec![error; world.of.rules(at).len()]).collect();
        let flush_subnormals = precision == 24;
        let deployed = Some(Deployed { precision, operator_error, flush_subnormals });
        let header = Header { deployed, version: VERSION, ..world.header.clone() };
        let Ok(statement) = Statement::new(graph, model, &header, matrices) else { continue };
        let checker = Checker::new(&statement, true);
        let start = |header: &Header| RangeJudge::start(&program, graph, model, header, matrices).unwrap();
        let (mut judge, mut exact) = (start(&header), start(&world.header));
        let classes = model.layers.last().unwrap().weight.columns as u32;
        let mut ask = |proof: &RangeNodeProof, place: usize| {
            let (accepted, answer) = (checker.check(proof).ok(), judge.ask(proof).unwrap());
            assert!(precision < 24 || accepted.is_none() || answer == accepted, "seed {seed}: {accepted:?} {proof:?}");
            assert!(answer.is_none() || exact.ask(proof).unwrap() == answer, "seed {seed}: {answer:?} {proof:?}");
            counts[place + usize::from(answer.is_some())] += 1;
        };
        for id in 0..graph.targets() as u32 {
            for class in 0..classes {
                for _ in 0..4 {
                    ask(&world.witness(id, class, random.below(classes as usize) as u32, random), 0);
                }
                for depth in [0, 0, 3] {
                    let others = (0..classes).filter(|&other| other != class);
                    let trees = others.map(|class| {
                        let mut tree = Vec::new();
                        world.grow(&mut Path::default(), depth, random, &mut tree);
                        RangeClassProof { class, tree }
                    });
                    ask(&RangeNodeProof { id, class, claim: RangeClaim::Robust(trees.collect()) }, 2);
                }
            }
        }
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}
