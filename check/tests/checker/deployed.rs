//! The network as it runs: executions whose every rounding goes the worst way stay within the error that the checker
//! allows for, and statements that cover no execution in float32 are not what is expected.
use crate::common;

use common::{Random, World, layer};
use gcnproof_check::format::*;
use gcnproof_check::{Checker, Reason, Statement, Verdict};
use rayon::prelude::*;

/// Has a number at most so many significant bits?
fn holds(x: f64, precision: u32) -> bool {
    let mut x = x.abs();
    while x != 0.0 && x.fract() != 0.0 {
        x *= 2.0;
    }
    while x != 0.0 && (x / 2.0).fract() == 0.0 {
        x /= 2.0;
    }
    x < 2f64.powi(precision as i32)
}

/// An execution in which every rounding moves its result by a whole unit roundoff, in the direction that is asked for.
struct Worst<'a> {
    world: &'a World,
    precision: u32,
    errors: &'a [Vec<u32>],
}

impl Worst<'_> {
    fn unit(&self) -> f64 {
        2f64.powi(-(self.precision as i32))
    }

    /// Rounds towards `sign`.
    fn round(&self, x: f64, sign: f64) -> f64 {
        x + x.abs() * self.unit() * sign
    }

    /// One after the other in a random order, or the largest first, or in a random tree.
    fn sum(&self, random: &mut Random, mut numbers: Vec<f64>, sign: f64) -> f64 {
        numbers.retain(|&x| x != 0.0);
        let shape = random.below(3);
        if shape == 0 {
            numbers.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
        } else {
            for at in (1..numbers.len()).rev() {
                numbers.swap(at, random.below(at + 1));
            }
        }
        while numbers.len() > 1 {
            let last = numbers.pop().unwrap();
            let other = if shape == 2 { random.below(numbers.len()) } else { numbers.len() - 1 };
            let sum = self.round(last + numbers.remove(other), sign);
            numbers.push(sum);
        }
        numbers.first().copied().unwrap_or(0.0)
    }

    fn stored(&self, x: f64, sign: f64) -> f64 {
        if holds(x, self.precision) { x } else { self.round(x, sign) }
    }

    fn entry(&self, a: f64, error: u32, sign: f64) -> f64 {
        let units = if error == 0 && !holds(a, self.precision) { 1.0 } else { f64::from(error) };
        a + a.abs() * units * self.unit() * sign
    }

    /// A product, which is exact if the input is 1.
    fn product(&self, x: f64, y: f64, sign: f64) -> f64 {
        if x == 1.0 || y == 1.0 { x * y } else { self.round(x * y, sign) }
    }

    /// The logits of node 0 from these attributes. `signs` say where the rounding of each class goes.
    fn logits(&self, random: &mut Random, mut h: Vec<Vec<f64>>, signs: &[f64]) -> Vec<f64> {
        let world = self.world;
        for (at, layer) in world.model.layers.iter().enumerate() {
            let last = at + 1 == world.model.layers.len();
            let terms: Vec<_> = world.rules(at).into_iter().map(|rule| world.dense(rule)).collect();
            let (inputs, outputs) = (layer.weight.rows / terms.len(), layer.weight.columns);
            let toward: Vec<f64> =
                (0..outputs).map(|j| if last { signs[j] } else { [1.0, -1.0][random.below(2)] }).collect();
            let mut next = Vec::new();
            for m in 0..h.len() {
                let mut row = Vec::new();
                for (j, &sign) in toward.iter().enumerate() {
                    let bias = layer.bias[if layer.bias.len() == outputs { j } else { m * outputs + j }];
                    let mut summands = vec![self.stored(bias, sign)];
                    for (k, dense) in terms.iter().enumerate() {
                        let error = self.errors[at][k];
                        let senders: Vec<usize> = (0..h.len()).filter(|&n| dense[m][n] != 0.0).collect();
                        let weight = |i: usize, sign: f64| self.stored(layer.weight.get(k * inputs + i, j), sign);
                        if random.chance(50) {
                            for &n in &senders {
                                let a = dense[m][n];
                                let here = sign * a.signum();
                                let products = (0..inputs).map(|i| {
                                    let x = h[n][i];
                                    self.product(x, weight(i, here * x.signum()), here)
                                });
                                let sent = self.sum(random, products.collect(), here);
                                let a = self.entry(a, error, sign * sent.signum());
                                summands.push(if sent == 0.0 { 0.0 } else { self.product(a, sent, sign) });
                            }
                        } else {
                            #[allow(clippy::needless_range_loop)] // An input of all senders.
                            for i in 0..inputs {
                                let here = sign * layer.weight.get(k * inputs + i, j).signum();
                                let products = senders.iter().map(|&n| {
                                    let x = h[n][i];
                                    self.product(self.entry(dense[m][n], error, here * x.signum()), x, here)
                                });
                                let got = self.sum(random, products.collect(), here);
                                let w = weight(i, sign * got.signum());
                                summands.push(if got == 0.0 { 0.0 } else { self.round(got * w, sign) });
                            }
                        }
                    }
                    let z = self.sum(random, summands, sign);
                    let linear = last || world.is_linear(at as u32 + 2, j as u32);
                    row.push(if linear { z } else { z.max(0.0) });
                }
                next.push(row);
            }
            h = next;
        }
        h[0].clone()
    }
}

fn attributes(world: &World, flips: &[(u32, u32)]) -> Vec<Vec<f64>> {
    let present = |n: usize, d: u32| world.graph.attributes.contains(n, d) != flips.contains(&(n as u32, d));
    let row =
        |n: usize| (0..world.graph.attributes.columns as u32).map(|d| f64::from(u8::from(present(n, d)))).collect();
    (0..world.graph.attributes.rows).map(row).collect()
}

/// The largest share of the allowed error that was seen, of all flips and of one witness.
fn simulate(seed: u64) -> [f64; 2] {
    let mut random = Random::new(seed);
    let mut world = if random.chance(50) { World::random(&mut random) } else { World::random_terms(&mut random) };
    let precision = [6, 7, 8, 10, 12, 24][random.below(6)];
    // The brute force tells floats of its numbers that are not near the end of their range.
    let tiny = |x: &f64| *x != 0.0 && x.abs() < 1e-100;
    if world.model.layers.iter().any(|layer| layer.weight.values.iter().chain(&layer.bias).any(tiny)) {
        return [0.0; 2];
    }
    let errors: Vec<Vec<u32>> =
        (0..world.depth()).map(|at| world.rules(at).iter().map(|_| [0, 0, 1, 2][random.below(4)]).collect()).collect();
    // The reference is the class that loses, so that bounds are not positive and are told.
    let plain: Vec<f64> = world.logits(0, &[]).iter().map(|x| x.approximate()).collect();
    let (reference, class) = if plain[0] <= plain[1] { (0, 1) } else { (1, 0) };
    world.header.classes = Convention::Labels;
    world.graph.labels = Some(vec![Some(reference); world.graph.attributes.rows]);
    let exact = world.header.clone();
    let running = Deployed { precision, operator_error: errors.clone(), flush_subnormals: false };
    let deployed = Header { deployed: Some(running), version: VERSION, ..exact.clone() };
    let told = |header: &Header, claim: Claim| {
        let statement = Statement::new(&world.graph, &world.model, header, &world.matrices).unwrap();
        let checker = Checker::new(&statement, true);
        checker.check(&NodeProof { id: 0, class: reference, claim }).map_err(|fault| fault.reason)
    };
    let others = (0..world.classes() as u32).filter(|&other| other != reference);
    let hints = || vec![Step::Hints(Box::default())];
    // Trees of smaller classes come first, and are judged first: ask for two classes only.
    if world.classes() > 2 {
        return [0.0; 2];
    }
    let robust = || Claim::Robust(others.clone().map(|class| ClassProof { class, tree: hints() }).collect());
    let lower = |header: &Header| match told(header, robust()) {
        Err(Reason::Bound(bound)) => Some(bound.lower.to_f64()),
        _ => None,
    };
    let (Some(without), Some(with)) = (lower(&exact), lower(&deployed)) else { return [0.0; 2] };
    let allowed = without - with;
    let worst = Worst { world: &world, precision, errors: &errors };
    let mut seen = [0.0f64; 2];
    for flips in world.admissible() {
        let logits: Vec<f64> = world.logits(0, &flips).iter().map(|x| x.approximate()).collect();
        let margin = logits[reference as usize] - logits[class as usize];
        let claim = Claim::NonRobust(Witness { class, flips: flips.clone() });
        let own = told(&deployed, claim);
        for _ in 0..6 {
            let sign = [1.0, -1.0][random.below(2)];
            let mut signs = vec![0.0; logits.len()];
            (signs[reference as usize], signs[class as usize]) = (sign, -sign);
            let computed = worst.logits(&mut random, attributes(&world, &flips), &signs);
            let computed = computed[reference as usize] - computed[class as usize];
            let wrong = (computed - margin).abs();
            // What floats leave open of both.
            let open = 1e-12 * (without.abs() + with.abs() + margin.abs());
            assert!(wrong <= allowed * (1.0 + 1e-6) + open, "seed {seed}: {wrong:e} of {allowed:e}, {flips:?}");
            if wrong > 1e3 * open {
                seen[0] = seen[0].max(wrong / allowed);
            }
            match &own {
                Ok(verdict) => {
                    assert_eq!(*verdict, Verdict::NonRobust);
                    assert!(
                        computed < open,
                        "seed {seed}: the witness {flips:?} does not fool an execution: {computed:e}"
                    );
                }
                Err(Reason::Margin(sum)) => {
                    let allowed = sum.upper.to_f64() - margin;
                    assert!(wrong <= allowed * (1.0 + 1e-6) + open, "seed {seed}: {wrong:e} of {allowed:e}, {flips:?}");
                    if wrong > 1e3 * open {
                        seen[1] = seen[1].max(wrong / allowed);
                    }
                }
                Err(Reason::Rounding) => {}
                Err(reason) => panic!("seed {seed}: {reason:?}"),
            }
        }
    }
    seen
}

#[test]
fn the_worst_roundings_stay_within_the_error() {
    let count = |name: &str, default: u64| std::env::var(name).ok().and_then(|x| x.parse().ok()).unwrap_or(default);
    let (cases, first) = (count("DEPLOYED_CASES", 1_500), count("DEPLOYED_FIRST", 0));
    let seen: Vec<[f64; 2]> = (first..first + cases).into_par_iter().map(simulate).collect();
    for side in [0, 1] {
        let used = seen.iter().filter(|seen| seen[side] > 0.0).count();
        let most = seen.iter().map(|seen| seen[side]).fold(0.0, f64::max);
        println!("{used} cases, at most {most} of the error");
        assert!(used > cases as usize / 10 && most > 0.9, "{used} {most}");
    }
}

/// Entries that are no numbers of the format are rounded, whatever is stated.
#[test]
fn entries_are_rounded_even_where_no_error_is_stated() {
    let bound = |error: u32| {
        // Two nodes: entries 1/2, which every format has; three: 1/3, which none has.
        [2usize, 3].map(|nodes| {
            let first = layer(&[&[0.0, 1.0]], &[0.0, 1.0]);
            let rows: Vec<&[u8]> = vec![&[1]; nodes];
            let mut world = common::world(&rows, 1, vec![first], 0, 0);
            world.header.message_passing = vec!["mean+self".into()];
            let errors = vec![vec![error]];
            world.header.deployed = Some(Deployed { precision: 24, operator_error: errors, flush_subnormals: false });
            let proof = NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof::anchored(1)]) };
            match world.judge(&proof).unwrap_err().reason {
                Reason::Bound(bound) => bound.lower.to_f64(),
                other => panic!("{other:?}"),
            }
        })
    };
    let ([halves, thirds], [halves_one, thirds_one]) = (bound(0), bound(1));
    assert!(halves > halves_one && thirds == thirds_one, "{halves} {halves_one} {thirds} {thirds_one}");
}
