//! One execution of a described network in float32: for every number of every layer, each term weights first or
//! messages first, all additions of all terms and the bias in any order, operator entries within their error
//! (`docs/guarantee.md`, "What an execution may do").

use std::ops::Range;

use gcnproof::Execution;

use crate::deployed::sum::Adder;
use crate::network::{Network, NumericTerm, Source};
use crate::operator::Rows;
use crate::random::Random;
use crate::terms::case::TermCase;
use crate::terms::description::Passing;
use crate::terms::operator::rows;

/// A network as it is deployed: everything that all of its executions share.
pub struct Deployment<'a> {
    case: &'a TermCase,
    execution: Execution,
    /// Layer by layer, term by term.
    terms: Vec<Vec<DeployedTerm>>,
    floats: Network<f64>,
}

struct DeployedTerm {
    /// Entries of the whole operator.
    entries: Rows,
    /// Base and coefficients of a polynomial that may be applied hop by hop.
    hops: Option<(Rows, Vec<f32>, u32)>,
    /// By how many unit roundoffs entries may differ.
    error: u32,
    /// Inputs × outputs.
    weight: Vec<f32>,
    inputs: usize,
}

/// Towards which side the margin of a node is to be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    pub node: usize,
    /// Its reference class.
    pub reference: usize,
    /// Another class.
    pub class: usize,
    /// 1: the margin is to be too large; −1: too small.
    pub side: f64,
}

/// By how many unit roundoffs a framework's entries differ, by the table of `docs/guarantee.md`; none for polynomials.
fn usual(passing: &Passing) -> Option<u32> {
    match passing {
        Passing::Named("gcn" | "gcn-self" | "mean" | "mean+self") => Some(8),
        Passing::Named(_) => Some(0),
        Passing::Matrix(matrix) => Some(if matrix.values.iter().all(|&a| f64::from(a as f32) == a) { 0 } else { 8 }),
        Passing::Polynomial(..) => None,
    }
}

impl<'a> Deployment<'a> {
    /// Prepares a case.
    pub fn new(case: &'a TermCase, execution: Execution) -> Deployment<'a> {
        let floats = case.floats();
        let term = |number: &NumericTerm<f64>, passing: &Passing| {
            let positive = |base: &Rows, c: &[f32]| {
                base.iter().flatten().all(|entry| entry.1 >= 0.0) && c.iter().all(|c| *c >= 0.0)
            };
            let hops = match passing {
                Passing::Polynomial(base, coefficients) if execution.operator_error.is_none() => {
                    let error = usual(base).unwrap_or(0);
                    let coefficients: Vec<f32> = coefficients.iter().map(|c| c.0 as f32).collect();
                    let base = rows(&case.base, base);
                    positive(&base, &coefficients).then_some((base, coefficients, error))
                }
                _ => None,
            };
            DeployedTerm {
                entries: number.entries.clone(),
                hops,
                error: execution.operator_error.or(usual(passing)).unwrap_or(0),
                weight: number.weight.iter().map(|&w| w as f32).collect(),
                inputs: number.inputs,
            }
        };
        let layers = floats.layers.iter().zip(&case.network.layers);
        let terms = layers.map(|(numbers, layer)| {
            numbers.terms.iter().zip(&layer.terms).map(|(number, described)| term(number, &described.passing)).collect()
        });
        Deployment { case, execution, terms: terms.collect(), floats }
    }

    /// The logits of a component with these attributes, as some execution computes them.
    pub fn run(&self, range: &Range<usize>, attributes: &[bool], aim: Option<Aim>, random: &mut Random) -> Vec<f32> {
        let adder = Adder { flush: self.execution.flush_subnormals };
        let slopes = aim.map(|aim| self.slopes(range, attributes, aim));
        let mut values: Vec<Vec<f32>> = Vec::new();
        for (at, layer) in self.case.network.layers.iter().enumerate() {
            let passed: Vec<Passed> = self.terms[at].iter().map(|term| term.drawn(range, random)).collect();
            let mut next = Vec::with_capacity(range.len() * layer.outputs);
            for node in 0..range.len() {
                for unit in 0..layer.outputs {
                    let wanted = slopes.as_ref().map_or(0.0, |slopes| slopes[at][node * layer.outputs + unit].signum());
                    let tries = if wanted == 0.0 { 1 } else { 3 };
                    let place = Place { at, node, unit, outputs: layer.outputs };
                    let mut best = f32::NAN;
                    for _ in 0..tries {
                        let mut products = Vec::new();
                        for (k, passed) in passed.iter().enumerate() {
                            let h = |n: usize, i: usize| self.input(at, k, &values, attributes, n, i);
                            self.products(place, k, passed, &h, wanted as f32, &adder, random, &mut products);
                        }
                        if let Some(bias) = &layer.bias {
                            let own = bias.len() > layer.outputs;
                            let row = if own { (range.start + node) * layer.outputs } else { 0 };
                            products.push((bias[row + unit] as f32, 1.0));
                        }
                        let sum = adder.sum(&products, wanted as f32, random);
                        if best.is_nan() || (f64::from(sum) - f64::from(best)) * wanted > 0.0 {
                            best = sum;
                        }
                    }
                    next.push(if layer.linear[unit] { best } else { best.max(0.0) });
                }
            }
            values.push(next);
        }
        values.pop().unwrap_or_default()
    }

    /// A number that a term reads.
    fn input(&self, at: usize, k: usize, values: &[Vec<f32>], attributes: &[bool], node: usize, i: usize) -> f32 {
        let inputs = self.terms[at][k].inputs;
        match self.case.network.layers[at].terms[k].source {
            Source::Attributes => {
                let row = &attributes[node * inputs..][..inputs];
                // Of a row that is divided the quotients are rounded to the format.
                let entry = || self.case.base.graph.normalisation.entry(row.iter().filter(|x| **x).count()) as f32;
                if row[i] { entry() } else { 0.0 }
            }
            Source::Layer(of) => values[of][node * inputs + i],
        }
    }

    /// The products that a term adds to the sum of one number.
    #[allow(clippy::too_many_arguments)]
    fn products(
        &self,
        Place { at, node, unit, outputs }: Place,
        k: usize,
        passed: &Passed,
        h: &dyn Fn(usize, usize) -> f32,
        wanted: f32,
        adder: &Adder,
        random: &mut Random,
        products: &mut Vec<(f32, f32)>,
    ) {
        let term = &self.terms[at][k];
        let weight = |i: usize| term.weight[i * outputs + unit];
        let messages_first = random.percent(50);
        match passed {
            Passed::Rows(rows) if messages_first => {
                for i in 0..term.inputs {
                    let list: Vec<(f32, f32)> = rows[node].iter().map(|&(n, a)| (a, h(n, i))).collect();
                    products.push((adder.sum(&list, wanted * weight(i).signum(), random), weight(i)));
                }
            }
            Passed::Rows(rows) => {
                for &(n, a) in &rows[node] {
                    let list: Vec<(f32, f32)> = (0..term.inputs).map(|i| (h(n, i), weight(i))).collect();
                    products.push((a, adder.sum(&list, wanted * a.signum(), random)));
                }
            }
            Passed::Hops(rows, coefficients) => {
                let apply = |vector: Vec<f32>, wanted: f32, random: &mut Random| {
                    let mut power = vector;
                    let mut list = vec![(coefficients[0], power[node])];
                    for &c in &coefficients[1..] {
                        let row = |row: &Vec<(usize, f32)>, random: &mut Random| {
                            let list: Vec<(f32, f32)> = row.iter().map(|&(n, a)| (a, power[n])).collect();
                            adder.sum(&list, wanted, random)
                        };
                        let next: Vec<f32> = rows.iter().map(|one| row(one, random)).collect();
                        power = next;
                        list.push((c, power[node]));
                    }
                    adder.sum(&list, wanted, random)
                };
                if messages_first {
                    for i in 0..term.inputs {
                        let vector = (0..rows.len()).map(|n| h(n, i)).collect();
                        products.push((apply(vector, wanted * weight(i).signum(), random), weight(i)));
                    }
                } else {
                    let sent = |n: usize, random: &mut Random| {
                        let list: Vec<(f32, f32)> = (0..term.inputs).map(|i| (h(n, i), weight(i))).collect();
                        adder.sum(&list, wanted, random)
                    };
                    let vector: Vec<f32> = (0..rows.len()).map(|n| sent(n, random)).collect();
                    products.push((apply(vector, wanted, random), 1.0));
                }
            }
        }
    }

    /// By how much the margin changes with each number of each layer: for the choice of directions alone.
    fn slopes(&self, range: &Range<usize>, attributes: &[bool], aim: Aim) -> Vec<Vec<f64>> {
        let layers = &self.case.network.layers;
        let values = self.floats.values(range, attributes);
        let mut slopes: Vec<Vec<f64>> = values.iter().map(|values| vec![0.0; values.len()]).collect();
        let last = layers.len() - 1;
        let node = (aim.node - range.start) * layers[last].outputs;
        slopes[last][node + aim.reference] = aim.side;
        slopes[last][node + aim.class] = -aim.side;
        for at in (0..layers.len()).rev() {
            let outputs = layers[at].outputs;
            // What is off stays off, but for rounding.
            for (place, slope) in slopes[at].iter_mut().enumerate() {
                if !layers[at].linear[place % outputs] && values[at][place] <= 0.0 {
                    *slope = 0.0;
                }
            }
            for (k, term) in self.terms[at].iter().enumerate() {
                let Source::Layer(of) = layers[at].terms[k].source else { continue };
                for node in 0..range.len() {
                    for &(n, a) in &term.entries[range.start + node] {
                        for i in 0..term.inputs {
                            let row = &term.weight[i * outputs..][..outputs];
                            let sum: f64 =
                                (0..outputs).map(|j| slopes[at][node * outputs + j] * f64::from(row[j])).sum();
                            slopes[of][(n - range.start) * term.inputs + i] += a * sum;
                        }
                    }
                }
            }
        }
        slopes
    }
}

#[derive(Clone, Copy)]
struct Place {
    at: usize,
    node: usize,
    unit: usize,
    outputs: usize,
}

/// An operator as one execution has it: rows of a component, with ids that start at 0.
enum Passed {
    Rows(Vec<Vec<(usize, f32)>>),
    Hops(Vec<Vec<(usize, f32)>>, Vec<f32>),
}

impl DeployedTerm {
    /// Draws entries within their error.
    fn drawn(&self, range: &Range<usize>, random: &mut Random) -> Passed {
        let side = random.pick(&[0.0, 0.0, 1.0, -1.0, 2.0]);
        let rows = |rows: &Rows, error: u32, random: &mut Random| {
            let row = |row: &Vec<(usize, f64)>, random: &mut Random| {
                row.iter().map(|&(n, a)| (n - range.start, near(a, error, side, random))).collect()
            };
            rows[range.clone()].iter().map(|one| row(one, random)).collect()
        };
        match &self.hops {
            Some((base, coefficients, error)) if random.percent(50) => {
                Passed::Hops(rows(base, *error, random), coefficients.clone())
            }
            _ => Passed::Rows(rows(&self.entries, self.error, random)),
        }
    }
}

/// A number of float32 within so many unit roundoffs of an entry, or the nearest: in the middle, at one end, or
/// anywhere.
fn near(a: f64, error: u32, side: f64, random: &mut Random) -> f32 {
    let side = if side == 2.0 { random.unit() * 2.0 - 1.0 } else { side };
    let moved = (a * (1.0 + side * f64::from(error) * 2f64.powi(-24))) as f32;
    // Not further away than allowed, and of the same sign.
    let inside = (f64::from(moved) - a).abs() <= f64::from(error) * 2f64.powi(-24) * a.abs();
    if inside { moved } else { a as f32 }
}
