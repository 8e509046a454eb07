//! Attributes that are moved within ranges, as the network runs: no execution contradicts a verdict, and no error its
//! bound.
//!
//! `GCNPROOF_MOVED=2000x200` draws so many networks, and so many executions of each.

use std::time::Duration;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::model_file;
use gcnproof::{
    Budget, Certifier, DeployedVerdict, Effort, Execution, Flip, Graph, Limits, NodeResult, Problem, Ranges, Verdict,
};
use gcnproof_check::format::{Header, Line, Number, RangeClaim, RangeNodeProof};
use gcnproof_check::ranges::{Checker, Statement};
use gcnproof_files::SparseMatrix;
use gcnproof_verify::random::Stream;
use rayon::prelude::*;

use crate::proofs::stated;
use crate::simulation::Simulation;
use crate::{Tally, cases, exact};

/// A problem with numbers in the place of the attributes of another one.
pub struct Moved {
    pub problem: Problem,
    pub execution: Execution,
    values: Vec<Vec<f64>>,
    ranges: Ranges,
}

pub fn case(seed: u64) -> Moved {
    let (plain, execution) = cases::case(seed);
    let random = &mut Stream::new(seed ^ 0x4a4a);
    let (nodes, columns) = (plain.graph().node_count(), plain.graph().attribute_count());
    let (single, scale) = (random.chance(60), [1.0, 1.0, 1e-3, 100.0, 1e-39][random.below(5)]);
    let number = |random: &mut Stream| {
        let x = if random.chance(30) { 0.0 } else { scale * random.real() };
        if single { f64::from(x as f32) } else { x }
    };
    let values: Vec<Vec<f64>> = (0..nodes).map(|_| (0..columns).map(|_| number(random)).collect()).collect();
    let kept = |row: &Vec<f64>| -> Vec<u32> { (0..columns as u32).filter(|&d| row[d as usize] != 0.0).collect() };
    let rows: Vec<Vec<u32>> = values.iter().map(kept).collect();
    let mut offsets = vec![0];
    rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
    let numbers = values.iter().flatten().copied().filter(|&x| x != 0.0).collect();
    let matrix = SparseMatrix { rows: nodes, columns, offsets, indices: rows.concat(), values: numbers };
    let graph = Graph::from_file(plain.graph().file().valued(matrix).unwrap());
    let network = plain.network().clone().widened(&graph).unwrap();
    let ranges = if random.chance(50) {
        Ranges::Ball(scale * [0.0, 1e-7, 0.01, 0.3][random.below(4)])
    } else {
        let column = |d: usize| values.iter().map(move |row| row[d]);
        let extra = scale * [0.0, 1e-6, 0.1][random.below(3)];
        Ranges::Between {
            low: (0..columns).map(|d| column(d).fold(f64::INFINITY, f64::min) - extra).collect(),
            high: (0..columns).map(|d| column(d).fold(f64::NEG_INFINITY, f64::max)).collect(),
        }
    };
    let local: Vec<i64> = (0..nodes).map(|n| plain.budget().local(n) as i64).collect();
    let budget = Budget::per_node(&graph, plain.budget().global(), &local).unwrap();
    let frozen: Vec<i64> = (0..columns as i64).filter(|_| random.chance(10)).collect();
    let budget = if frozen.is_empty() { budget } else { budget.freeze_attributes(&graph, &frozen).unwrap() };
    let budget = budget.with_ranges(ranges.clone());
    Moved { problem: Problem::new(graph, network, budget).unwrap(), execution, values, ranges }
}

impl Moved {
    fn ends(&self, node: usize, attribute: usize) -> [f64; 2] {
        let x = self.values[node][attribute];
        match &self.ranges {
            Ranges::Ball(radius) => [x - radius, x + radius],
            Ranges::Between { low, high } => [low[attribute], high[attribute]],
        }
    }

    /// Admissible values: entries at the ends of their ranges, or between them.
    fn perturbed(&self, random: &mut Stream) -> Vec<Vec<f64>> {
        let (budget, mut values) = (self.problem.budget(), self.values.clone());
        let inside = random.chance(40);
        let mut changed: Vec<[usize; 2]> = Vec::new();
        for _ in 0..budget.global().min(8) {
            let (n, d) = (random.below(values.len()), random.below(values[0].len()));
            let used = changed.iter().filter(|of| of[0] == n).count();
            if budget.is_frozen(d) || used >= budget.local(n) || changed.contains(&[n, d]) {
                continue;
            }
            let [low, high] = self.ends(n, d);
            let share = if inside { 0.5 + 0.5 * random.real() } else { random.below(2) as f64 };
            values[n][d] = low + share * (high - low);
            changed.push([n, d]);
        }
        values
    }

    fn changed(&self, result: &NodeResult) -> Vec<Vec<f64>> {
        let mut values = self.values.clone();
        for (Flip { node, attribute }, &value) in result.witness.iter().zip(result.details.values.iter().flatten()) {
            values[*node as usize][*attribute as usize] = value;
        }
        values
    }

    pub fn certifier(&self, proofs: bool) -> Certifier {
        let limits = Limits { nodes: 2000, time: Duration::from_secs(5) };
        let builder = Certifier::builder(self.problem.clone()).effort(Effort::Complete(limits));
        builder.deployed(self.execution).proofs(proofs).build()
    }

    fn hold(&self, executions: usize, seed: u64) -> Tally {
        let certifier = self.certifier(false);
        let nodes = 0..self.problem.graph().node_count();
        let results: Vec<NodeResult> =
            nodes.map(|node| certifier.certify_node(node, &mut Workspace::default())).collect();
        let mut tally = Tally::default();
        for result in &results {
            assert!(result.contradiction.is_none(), "seed {seed}: {result:?}");
            let deployed = result.deployed.as_ref().unwrap();
            match deployed.verdict {
                DeployedVerdict::Robust => {
                    tally.robust += 1;
                    assert_eq!(result.verdict, Verdict::Robust);
                }
                DeployedVerdict::NonRobust => {
                    tally.non_robust += 1;
                    assert_eq!(result.verdict, Verdict::NonRobust);
                    let values = result.details.values.as_ref().unwrap();
                    assert!(values.iter().all(|&x| f64::from(x as f32) == x), "seed {seed}: {values:?}");
                }
                DeployedVerdict::RoundingDependent => tally.rounding_dependent += 1,
                _ => tally.undecided += 1,
            }
        }
        let errors = self.execution.operator_errors(self.problem.graph(), self.problem.network());
        let mut random = Stream::new(seed ^ 0x5eed);
        let broken: Vec<&NodeResult> = results.iter().filter(|result| !result.witness.is_empty()).collect();
        for count in 0..executions {
            let input = match count % 3 {
                0 => self.values.clone(),
                1 if !broken.is_empty() => self.changed(broken[random.below(broken.len())]),
                _ => self.perturbed(&mut random),
            };
            let exact = exact(self.problem.network(), &input);
            let flush = self.execution.flush_subnormals;
            let logits = Simulation { random: &mut random, operator_errors: &errors, flush }
                .logits(self.problem.network(), &input);
            for result in &results {
                let (node, y) = (result.node, result.reference);
                let deployed = result.deployed.as_ref().unwrap();
                let about = format!("seed {seed}, node {node}: {input:?}");
                let mut reached = false;
                for (margin, &bound) in result.margins.iter().zip(&deployed.errors) {
                    let computed = f64::from(logits[node][y]) - f64::from(logits[node][margin.class]);
                    let error = (computed - (exact[node][y] - exact[node][margin.class])).abs();
                    let size = exact[node].iter().fold(0.0f64, |most, z| most.max(z.abs()));
                    assert!(error <= bound + 1e-13 * (1.0 + size) * bound.min(1.0), "{about}: {error} > {bound}");
                    tally.tightest = tally.tightest.max(error / bound);
                    reached |= logits[node][margin.class] >= logits[node][y];
                }
                match deployed.verdict {
                    DeployedVerdict::Robust => assert!(!reached, "{about}: robust, but broken"),
                    DeployedVerdict::NonRobust if input == self.changed(result) => {
                        assert!(reached, "{about}: the witness fails");
                    }
                    _ => {}
                }
                if input == self.values && !deployed.prediction_depends {
                    let predicted = logits[node][result.predicted];
                    let ahead = (0..logits[node].len()).all(|k| k == result.predicted || logits[node][k] < predicted);
                    assert!(ahead, "{about}: the prediction depends on rounding");
                }
            }
        }
        tally
    }
}

#[test]
fn no_execution_on_moved_attributes_contradicts_a_verdict() {
    let asked = std::env::var("GCNPROOF_MOVED").unwrap_or("300x60".into());
    let (networks, executions) = asked.split_once('x').expect("NETWORKSxEXECUTIONS");
    let (networks, executions): (u64, usize) = (networks.parse().unwrap(), executions.parse().unwrap());
    let held = (0..networks).into_par_iter().map(|seed| case(seed).hold(executions, seed));
    let tally = held.reduce(Tally::default, Tally::add);
    println!("{networks} networks, {executions} executions each: {tally:?}");
    assert!(tally.robust > 0 && tally.non_robust > 0 && tally.rounding_dependent > 0, "{tally:?}");
    assert!(tally.undecided * 20 < tally.robust + tally.non_robust + tally.rounding_dependent, "{tally:?}");
    assert!(tally.tightest > 0.02, "{tally:?}");
}

/// Asks the checker of a header.
fn with_checker<T>(problem: &Problem, header: &Header, ask: impl FnOnce(&Checker) -> T) -> T {
    let (graph, model) = (problem.graph().file(), model_file(problem.network(), ""));
    let statement = Statement::new(&graph, &model, header, &problem.network().own_matrices()).unwrap();
    ask(&Checker::new(&statement, false))
}

#[test]
fn proofs_about_moved_attributes_show_what_holds_as_deployed() {
    let (mut proved, mut unproved, mut coarse, mut forged) = (0, 0, 0, 0);
    for seed in 0..150 {
        let moved = case(seed);
        let (problem, execution) = (&moved.problem, moved.execution);
        let header = stated(problem, Some(execution));
        let certifier = moved.certifier(true);
        let nodes = 0..problem.graph().node_count();
        let results: Vec<NodeResult> =
            nodes.map(|node| certifier.certify_node(node, &mut Workspace::default())).collect();
        let exact = stated(problem, None);
        let fewer = stated(problem, Some(Execution { precision: 7, ..execution }));
        for result in &results {
            let verdict = result.deployed.as_ref().unwrap().verdict;
            let line = with_checker(problem, &header, |checker| result.ranged_line(checker).into_line());
            let Line::Ranged(proof) = line else {
                if matches!(verdict, DeployedVerdict::Robust | DeployedVerdict::NonRobust) {
                    println!("seed {seed}, node {}: {line:?}", result.node);
                    unproved += 1;
                }
                continue;
            };
            proved += 1;
            let expected = match verdict {
                DeployedVerdict::Robust => gcnproof_check::Verdict::Robust,
                DeployedVerdict::NonRobust => gcnproof_check::Verdict::NonRobust,
                other => panic!("seed {seed}: a proof of {other:?}"),
            };
            assert_eq!(with_checker(problem, &header, |checker| checker.check(&proof)).unwrap(), expected);
            assert_eq!(with_checker(problem, &exact, |checker| checker.check(&proof)).unwrap(), expected);
            coarse += usize::from(with_checker(problem, &fewer, |checker| checker.check(&proof)).is_err());
            // A value that is no number of the format is none that an execution reads.
            let RangeClaim::NonRobust(mut witness) = proof.claim.clone() else { continue };
            let Some(entry) = witness.entries.first_mut() else { continue };
            let [low, high] = moved.ends(entry.0 as usize, entry.1 as usize);
            let between = low + (high - low) * 0.512_345_678_901;
            if f64::from(between as f32) != between && low < between && between < high {
                entry.2 = Number(gcnproof_check::Dyadic::from_bits(between.to_bits()).unwrap());
                let proof = RangeNodeProof { claim: RangeClaim::NonRobust(witness), ..proof };
                assert!(with_checker(problem, &header, |checker| checker.check(&proof)).is_err(), "seed {seed}");
                forged += 1;
            }
        }
        // What is robust in exact arithmetic alone is not taken for robust as deployed.
        let limits = Limits { nodes: 2000, time: Duration::from_secs(5) };
        let plain = Certifier::builder(problem.clone()).effort(Effort::Complete(limits)).proofs(true).build();
        for result in &results {
            let deployed = result.deployed.as_ref().unwrap();
            let inside = |(margin, error): (&gcnproof::Margin, &f64)| margin.upper <= 0.99 * error;
            if !result.margins.iter().zip(&deployed.errors).any(inside) {
                continue;
            }
            let exact = plain.certify_node(result.node, &mut Workspace::default());
            let Some(claim @ RangeClaim::Robust(_)) = exact.details.claim else { continue };
            let proof = RangeNodeProof { id: result.node as u32, class: result.reference as u32, claim };
            assert!(with_checker(problem, &header, |checker| checker.check(&proof)).is_err(), "seed {seed}");
            forged += 1;
        }
    }
    println!("{proved} proofs, {unproved} verdicts without; {coarse} do not hold with 7 bits; {forged} forged");
    assert!(
        proved > 150 && unproved * 20 <= proved && coarse > 20 && forged > 20,
        "{proved} {unproved} {coarse} {forged}"
    );
}
