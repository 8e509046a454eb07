//! One execution of a described network in floating point: for every number of every layer, each term weights first or
//! messages first, all additions of all terms and the bias in any order, operator entries within their error
//! (`docs/guarantee.md`, "What an execution may do").

use std::ops::Range;

use gcnproof::Execution;

use crate::deployed::format::Format;
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
    format: Format,
    /// Layer by layer, term by term.
    terms: Vec<Vec<DeployedTerm>>,
    floats: Network<f64>,
}

struct DeployedTerm {
    /// Entries of the whole operator.
    entries: Rows,
    /// Base and coefficients of a polynomial that may be applied hop by hop.
    hops: Option<(Rows, Vec<f64>, u32)>,
    /// By how many unit roundoffs entries may differ.
    error: u32,
    /// Inputs × outputs.
    weight: Vec<f64>,
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
fn usual(passing: &Passing, format: Format) -> Option<u32> {
    match passing {
        Passing::Named("gcn" | "gcn-self" | "mean" | "mean+self") => Some(8),
        Passing::Named(_) => Some(0),
        Passing::Matrix(matrix) => Some(if matrix.values.iter().all(|&a| format.read(a) == a) { 0 } else { 8 }),
        Passing::Polynomial(..) => None,
    }
}

impl<'a> Deployment<'a> {
    /// Prepares a case.
    pub fn new(case: &'a TermCase, execution: Execution) -> Deployment<'a> {
        let (floats, format) = (case.floats(), Format::new(&execution));
        let term = |number: &NumericTerm<f64>, passing: &Passing| {
            let positive = |base: &Rows, c: &[f64]| {
                base.iter().flatten().all(|entry| entry.1 >= 0.0) && c.iter().all(|c| *c >= 0.0)
            };
            let hops = match passing {
                Passing::Polynomial(base, coefficients) if execution.operator_error.is_none() => {
                    let error = usual(base, format).unwrap_or(0);
                    let coefficients: Vec<f64> = coefficients.iter().map(|c| format.read(c.0)).collect();
                    let base = rows(&case.base, base);
                    positive(&base, &coefficients).then_some((base, coefficients, error))
                }
                _ => None,
            };
            DeployedTerm {
                entries: number.entries.clone(),
                hops,
                error: execution.operator_error.or(usual(passing, format)).unwrap_or(0),
                weight: number.weight.iter().map(|&w| format.read(w)).collect(),
                inputs: number.inputs,
            }
        };
        let layers = floats.layers.iter().zip(&case.network.layers);
        let terms = layers.map(|(numbers, layer)| {
            numbers.terms.iter().zip(&layer.terms).map(|(number, described)| term(number, &described.passing)).collect()
        });
        Deployment { case, format, terms: terms.collect(), floats }
    }

    /// The logits of a component with these attributes (nodes × attributes), as some execution computes them. It reads
    /// the attributes rounded to the format.
    pub fn run(&self, range: &Range<usize>, attributes: &[f64], aim: Option<Aim>, random: &mut Random) -> Vec<f64> {
        let (format, adder) = (self.format, Adder { format: self.format });
        let slopes = aim.map(|aim| self.slopes(range, attributes, aim));
        let attributes: Vec<f64> = attributes.iter().map(|&x| format.read(x)).collect();
        let mut values: Vec<Vec<f64>> = Vec::new();
        for (at, layer) in self.case.network.layers.iter().enumerate() {
            let passed: Vec<Passed> = self.terms[at].iter().map(|term| term.drawn(range, format, random)).collect();
            let mut next = Vec::with_capacity(range.len() * layer.outputs);
            for node in 0..range.len() {
                for unit in 0..layer.outputs {
                    let wanted = slopes.as_ref().map_or(0.0, |slopes| slopes[at][node * layer.outputs + unit].signum());
                    let tries = if wanted == 0.0 { 1 } else { 3 };
                    let place = Place { at, node, unit, outputs: layer.outputs };
                    let mut best = f64::NAN;
                    for _ in 0..tries {
                        let mut products = Vec::new();
                        for (k, passed) in passed.iter().enumerate() {
                            let h = |n: usize, i: usize| self.input(at, k, &values, &attributes, n, i);
                            self.products(place, k, passed, &h, wanted, &adder, random, &mut products);
                        }
                        if let Some(bias) = &layer.bias {
                            let own = bias.len() > layer.outputs;
                            let row = if own { (range.start + node) * layer.outputs } else { 0 };
                            products.push((format.read(bias[row + unit]), 1.0));
                        }
                        let sum = adder.sum(&products, wanted, random);
                        if best.is_nan() || (sum - best) * wanted > 0.0 {
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
    fn input(&self, at: usize, k: usize, values: &[Vec<f64>], attributes: &[f64], node: usize, i: usize) -> f64 {
        let inputs = self.terms[at][k].inputs;
        match self.case.network.layers[at].terms[k].source {
            Source::Attributes => attributes[node * inputs + i],
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
        h: &dyn Fn(usize, usize) -> f64,
        wanted: f64,
        adder: &Adder,
        random: &mut Random,
        products: &mut Vec<(f64, f64)>,
    ) {
        let term = &self.terms[at][k];
        let weight = |i: usize| term.weight[i * outputs + unit];
        let messages_first = random.percent(50);
        match passed {
            Passed::Rows(rows) if messages_first => {
                for i in 0..term.inputs {
                    let list: Vec<(f64, f64)> = rows[node].iter().map(|&(n, a)| (a, h(n, i))).collect();
                    products.push((adder.sum(&list, wanted * weight(i).signum(), random), weight(i)));
                }
            }
            Passed::Rows(rows) => {
                for &(n, a) in &rows[node] {
                    let list: Vec<(f64, f64)> = (0..term.inputs).map(|i| (h(n, i), weight(i))).collect();
                    products.push((a, adder.sum(&list, wanted * a.signum(), random)));
                }
            }
            Passed::Hops(rows, coefficients) => {
                let apply = |vector: Vec<f64>, wanted: f64, random: &mut Random| {
                    let mut power = vector;
                    let mut list = vec![(coefficients[0], power[node])];
                    for &c in &coefficients[1..] {
                        let row = |row: &Vec<(usize, f64)>, random: &mut Random| {
                            let list: Vec<(f64, f64)> = row.iter().map(|&(n, a)| (a, power[n])).collect();
                            adder.sum(&list, wanted, random)
                        };
                        let next: Vec<f64> = rows.iter().map(|one| row(one, random)).collect();
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
                        let list: Vec<(f64, f64)> = (0..term.inputs).map(|i| (h(n, i), weight(i))).collect();
                        adder.sum(&list, wanted, random)
                    };
                    let vector: Vec<f64> = (0..rows.len()).map(|n| sent(n, random)).collect();
                    products.push((apply(vector, wanted, random), 1.0));
                }
            }
        }
    }

    /// By how much the margin changes with each number of each layer: for the choice of directions alone.
    fn slopes(&self, range: &Range<usize>, attributes: &[f64], aim: Aim) -> Vec<Vec<f64>> {
        let layers = &self.case.network.layers;
        let values = self.floats.values_on(range, attributes);
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
                            let sum: f64 = (0..outputs).map(|j| slopes[at][node * outputs + j] * row[j]).sum();
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
    Rows(Vec<Vec<(usize, f64)>>),
    Hops(Vec<Vec<(usize, f64)>>, Vec<f64>),
}

impl DeployedTerm {
    /// Draws entries within their error.
    fn drawn(&self, range: &Range<usize>, format: Format, random: &mut Random) -> Passed {
        let side = random.pick(&[0.0, 0.0, 1.0, -1.0, 2.0]);
        let rows = |rows: &Rows, error: u32, random: &mut Random| {
            let row = |row: &Vec<(usize, f64)>, random: &mut Random| {
                row.iter().map(|&(n, a)| (n - range.start, near(a, error, side, format, random))).collect()
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

/// A number of the format within so many unit roundoffs of an entry, or the nearest: in the middle, at one end, or
/// anywhere.
fn near(a: f64, error: u32, side: f64, format: Format, random: &mut Random) -> f64 {
    let side = if side == 2.0 { random.unit() * 2.0 - 1.0 } else { side };
    let most = f64::from(error) * format.roundoff();
    let moved = format.read(a * (1.0 + side * most));
    // Not further away than allowed, and of the same sign.
    let inside = (moved - a).abs() <= most * a.abs();
    if inside { moved } else { format.read(a) }
}
