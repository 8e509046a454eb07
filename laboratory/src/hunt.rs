//! Search for random small networks on which a statement of the paper fails, made small enough to check by hand.

use std::time::{Duration, Instant};

use gcnproof_verify::dual::{Textbook, default_slopes};
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Dense, Form, Instance, Layer, Term, enumeration, random, relaxation};

use super::shrink::shrink;

/// A statement of the paper that is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// "The LP has an integral optimum": `m̂ = m̃`.
    Integrality,
    /// "The printed bounds of layers ≥ 3 hold": then `g` of them would be a certificate.
    Bounds,
}

/// A network on which the statement fails.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The seed that it grew from.
    pub seed: u64,
    /// The network, with sound bounds.
    pub instance: Instance,
    /// Names and values of the numbers that contradict the statement.
    pub numbers: Vec<(&'static str, f64)>,
}

/// What a hunt saw.
#[derive(Clone, Debug, Default)]
pub struct Catch {
    /// Networks tried.
    pub tried: usize,
    /// Networks on which the statement fails.
    pub failed: usize,
    /// The first of them, shrunk, all different.
    pub shrunk: Vec<Counterexample>,
}

/// A difference below this may be a solver's rounding.
const CLEAR: f64 = 1e-3;

/// Perturbations that are tried one by one, at most.
const ENUMERATED: u128 = 20_000;

impl Statement {
    /// The numbers that contradict the statement on this instance, if it fails there.
    pub fn refuted(self, instance: &Instance) -> Option<Vec<(&'static str, f64)>> {
        match self {
            Statement::Integrality => {
                let solve = |integer: bool| {
                    let model = relaxation::linear_program(instance, Form::Compact).ok()?;
                    let model = if integer { model.integral(instance) } else { model };
                    Highs.solve(&model.program, &Limits { seconds: 5.0 }).optimum()
                };
                let (lp, ilp) = (solve(false)?, solve(true)?);
                let truth = enumeration::minimum(instance, ENUMERATED).ok()?.margin;
                (ilp > lp + CLEAR).then(|| vec![("LP", lp), ("ILP", ilp), ("truth", truth)])
            }
            Statement::Bounds => {
                let printed = printed_bounds(instance)?;
                let certificate = Textbook::new(&printed, &default_slopes(&printed)).value(&printed);
                let sound = Textbook::new(instance, &default_slopes(instance)).value(instance);
                let worst = enumeration::minimum(instance, ENUMERATED).ok()?.margin;
                let false_certificate = certificate > CLEAR && worst < -CLEAR && instance.forward(&[]) > CLEAR;
                let numbers = || {
                    vec![
                        ("margin without flips", instance.forward(&[])),
                        ("g with the printed bounds", certificate),
                        ("truth", worst),
                        ("g with sound bounds", sound),
                    ]
                };
                false_certificate.then(numbers)
            }
        }
    }

    /// The depth of the networks of a hunt: bounds of layer 3 need a second hidden layer.
    fn representations(self) -> usize {
        match self {
            Statement::Integrality => 3,
            Statement::Bounds => 4,
        }
    }
}

/// The instance with the bounds as the paper prints them: right at layer 2, and from layer 3 on
/// `R(l) = A(R(l-1)[W]₊ − S(l-1)[W]₋)`, without the bias and without clipping. `None` for what the paper does not
/// consider: negative entries of `A`, several terms in a layer, linear units.
pub fn printed_bounds(instance: &Instance) -> Option<Instance> {
    let considered = |layer: &Layer| match &layer.terms[..] {
        [term] => !layer.linear.contains(&true) && term.passing.entries.iter().all(|entry| entry.2 >= 0.0),
        _ => false,
    };
    if !instance.layers.iter().all(considered) {
        return None;
    }
    let (mut lower, mut upper) = instance.naive_bounds().ok()?;
    for l in 3..instance.representations() {
        let (r, s) = (lower[l - 3].clone(), upper[l - 3].clone());
        let Term { passing: a, weight: w } = &instance.layers[l - 2].terms[0];
        let (mut low, mut high) = (Dense::zeros(a.rows, w.columns), Dense::zeros(a.rows, w.columns));
        for &(row, node, value) in &a.entries {
            for unit in 0..w.columns {
                for input in 0..w.rows {
                    let (plus, minus) = (w.at(input, unit).max(0.0), (-w.at(input, unit)).max(0.0));
                    *low.at_mut(row, unit) += value * (r.at(node, input) * plus - s.at(node, input) * minus);
                    *high.at_mut(row, unit) += value * (s.at(node, input) * plus - r.at(node, input) * minus);
                }
            }
        }
        (lower[l - 2], upper[l - 2]) = (low, high);
    }
    Some(Instance { lower, upper, ..instance.clone() })
}

/// Tries random networks until the time is up, and shrinks the first `keep` different failures.
pub fn hunt(statement: Statement, seed: u64, time: Duration, keep: usize, stop: impl Fn() -> bool) -> Catch {
    let (mut catch, start) = (Catch::default(), Instant::now());
    for step in 0.. {
        if start.elapsed() >= time || stop() {
            break;
        }
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(step);
        let instance = random::instance(seed, statement.representations());
        catch.tried += 1;
        if statement.refuted(&instance).is_none() {
            continue;
        }
        catch.failed += 1;
        if catch.shrunk.len() < keep {
            let instance = shrink(instance, |smaller| statement.refuted(smaller).is_some());
            let numbers = statement.refuted(&instance).unwrap_or_default();
            if !catch.shrunk.iter().any(|known| known.instance == instance) {
                catch.shrunk.push(Counterexample { seed, instance, numbers });
            }
        }
    }
    catch
}
