//! Least margins over all admissible perturbations, exactly.
//!
//! The box of the entries that are moved is cut into simplices, and each of these on and on until no unit changes its
//! sign inside: there the network is affine, and margins are least at vertices. A vertex is kept in homogeneous
//! coordinates, all its numbers times a positive weight, so that no quotient is needed.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};

use crate::changes::truth::{Passing, passing, product};
use crate::exact::Exact;
use crate::joint::case::Entry;
use crate::ranges::case::RangeCase;

/// A quotient with a positive denominator.
#[derive(Clone, Debug)]
pub struct Quotient {
    over: Exact,
    under: Exact,
}

impl From<Exact> for Quotient {
    fn from(over: Exact) -> Quotient {
        Quotient { over, under: Exact::from_f64(1.0) }
    }
}

impl Quotient {
    pub fn sign(&self) -> Ordering {
        self.over.sign()
    }

    fn is_below(&self, other: &Quotient) -> bool {
        self.over.times(&other.under).compare(&other.over.times(&self.under)).is_lt()
    }

    /// The comparison with a float.
    pub fn compare_f64(&self, x: f64) -> Ordering {
        if x.is_infinite() {
            return self.over.compare_f64(x);
        }
        self.over.compare(&self.under.times(&Exact::from_f64(x)))
    }

    pub fn approximate(&self) -> f64 {
        self.over.approximate() / self.under.approximate()
    }
}

/// What is true of a node or of a graph.
#[derive(Clone, Debug)]
pub struct RangeTruth {
    /// The class with the largest logit, the smallest number among equals.
    pub predicted: usize,
    /// The least margin over each class.
    pub margins: Vec<Option<Quotient>>,
}

impl RangeTruth {
    /// The smallest of all margins compared with 0.
    pub fn least(&self) -> Ordering {
        self.margins.iter().flatten().map(Quotient::sign).min().unwrap_or(Ordering::Greater)
    }

    pub fn robust(&self) -> bool {
        self.least() == Ordering::Greater
    }
}

/// A point in homogeneous coordinates: the numbers of all nodes, times the weight.
#[derive(Clone)]
struct Vertex {
    weight: Exact,
    rows: Vec<Vec<Exact>>,
}

impl Vertex {
    fn new(case: &RangeCase, moved: &[(Entry, Exact)]) -> Vertex {
        let mut rows: Vec<Vec<Exact>> =
            case.values.iter().map(|row| row.iter().map(|&x| Exact::from_f64(x)).collect()).collect();
        for ((node, attribute), value) in moved {
            rows[*node as usize][*attribute as usize] = value.clone();
        }
        Vertex { weight: Exact::from_f64(1.0), rows }
    }

    /// The point of the segment to another one at which a number is 0 that has different signs at both ends.
    fn cut(&self, other: &Vertex, node: usize, unit: usize) -> Vertex {
        let (here, there) = (&self.rows[node][unit], &other.rows[node][unit]);
        let [own, its] =
            if here.sign().is_gt() { [there.negated(), here.clone()] } else { [there.clone(), here.negated()] };
        let mix = |a: &Exact, b: &Exact| own.times(a).plus(&its.times(b));
        let rows = self.rows.iter().zip(&other.rows).map(|(a, b)| a.iter().zip(b).map(|(a, b)| mix(a, b)).collect());
        let mut vertex = Vertex { weight: mix(&self.weight, &other.weight), rows: rows.collect() };
        vertex.rows[node][unit] = Exact::zero();
        vertex.reduce();
        vertex
    }

    /// Divides all numbers by a common divisor.
    fn reduce(&mut self) {
        let mut divisor = self.weight.integer.clone();
        for number in self.rows.iter().flatten() {
            if divisor.is_one() {
                return;
            }
            divisor = divisor.gcd(&number.integer);
        }
        let divide = |number: &mut Exact| {
            if !Zero::is_zero(&number.integer) {
                number.integer = &number.integer / &divisor;
            }
        };
        if divisor > BigInt::one() {
            divide(&mut self.weight);
            self.rows.iter_mut().flatten().for_each(divide);
        }
    }
}

/// Simplices that are looked at, at most.
const MOST: usize = 3_000;

struct Cutter<'a> {
    case: &'a RangeCase,
    passing: Vec<Vec<Passing>>,
    truths: Vec<RangeTruth>,
    looked: usize,
}

impl Cutter<'_> {
    /// The numbers of a layer before its activation.
    fn layer(&self, at: usize, vertex: &Vertex) -> Vertex {
        let case = &self.case.changes;
        let layer = &case.model.layers[at];
        let (columns, inputs) = (layer.weight.columns, layer.weight.rows / case.rules[at].len());
        let bias: Vec<Exact> = layer.bias.iter().map(|&b| Exact::from_f64(b).times(&vertex.weight)).collect();
        let mut rows = vec![bias; case.nodes()];
        for (term, passing) in self.passing[at].iter().enumerate() {
            let weights = &layer.weight.values[term * inputs * columns..][..inputs * columns];
            let sent: Vec<Vec<Exact>> =
                vertex.rows.iter().map(|h| (0..columns).map(|j| product(weights, h, columns, j)).collect()).collect();
            for (row, senders) in rows.iter_mut().zip(passing) {
                for (sender, a) in senders {
                    row.iter_mut().zip(&sent[*sender]).for_each(|(sum, x)| *sum = sum.plus(&x.times(a)));
                }
            }
        }
        Vertex { weight: vertex.weight.clone(), rows }
    }

    /// Least margins of a simplex whose vertices have the numbers of some layer; `None` where there are too many
    /// simplices.
    fn walk(&mut self, at: usize, simplex: &[Vertex]) -> Option<()> {
        let next: Vec<Vertex> = simplex.iter().map(|vertex| self.layer(at, vertex)).collect();
        self.activate(at, next)
    }

    fn activate(&mut self, at: usize, mut simplex: Vec<Vertex>) -> Option<()> {
        self.looked += 1;
        if self.looked > MOST {
            return None;
        }
        let case = &self.case.changes;
        if at + 1 == case.model.layers.len() {
            simplex.iter().for_each(|vertex| self.margins(vertex));
            return Some(());
        }
        let linear = &case.model.layers[at].linear;
        for node in 0..case.nodes() {
            for unit in (0..simplex[0].rows[node].len()).filter(|&j| !linear.get(j).copied().unwrap_or(false)) {
                let with = |sign: Ordering| simplex.iter().position(|vertex| vertex.rows[node][unit].sign() == sign);
                if let (Some(above), Some(below)) = (with(Ordering::Greater), with(Ordering::Less)) {
                    let cut = simplex[above].cut(&simplex[below], node, unit);
                    for end in [above, below] {
                        let mut part = simplex.clone();
                        part[end] = cut.clone();
                        self.activate(at, part)?;
                    }
                    return Some(());
                }
                if with(Ordering::Less).is_some() {
                    simplex.iter_mut().for_each(|vertex| vertex.rows[node][unit] = Exact::zero());
                }
            }
        }
        self.walk(at + 1, &simplex)
    }

    fn margins(&mut self, vertex: &Vertex) {
        for (logits, truth) in vertex.rows.iter().zip(&mut self.truths) {
            for class in (0..logits.len()).filter(|&class| class != truth.predicted) {
                let over = logits[truth.predicted].plus(&logits[class].negated());
                let margin = Quotient { over, under: vertex.weight.clone() };
                let slot = &mut truth.margins[class];
                if slot.as_ref().is_none_or(|least| margin.is_below(least)) {
                    *slot = Some(margin);
                }
            }
        }
    }
}

/// What is true of all nodes, or graphs; `None` where that takes too long.
pub fn truths(case: &RangeCase) -> Option<Vec<RangeTruth>> {
    let best = |logits: &Vec<Exact>| {
        (1..logits.len()).fold(0, |best, k| if logits[k].compare(&logits[best]).is_gt() { k } else { best })
    };
    let start = logits(case, &[]);
    let truths = start.iter().map(|logits| RangeTruth { predicted: best(logits), margins: vec![None; logits.len()] });
    let passing = passing(&case.changes, &[]);
    let mut cutter = Cutter { case, passing, truths: truths.collect(), looked: 0 };
    for set in case.sets() {
        for order in orders(set.len()) {
            // Kuhn's simplex of an order: one entry after the other goes from the lower end to the upper one.
            let mut point: Vec<(Entry, Exact)> =
                set.iter().map(|&entry| (entry, case.range(entry)[0].clone())).collect();
            let mut simplex = vec![Vertex::new(case, &point)];
            for at in order {
                point[at].1 = case.range(set[at])[1].clone();
                simplex.push(Vertex::new(case, &point));
            }
            cutter.walk(0, &simplex)?;
        }
    }
    Some(cutter.truths)
}

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..=order.len()).map(|at| [&order[..at], &[next], &order[at..]].concat()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The logits of all nodes, or graphs, with some entries moved.
pub fn logits(case: &RangeCase, moved: &[(Entry, Exact)]) -> Vec<Vec<Exact>> {
    let passing = passing(&case.changes, &[]);
    let cutter = Cutter { case, passing, truths: Vec::new(), looked: 0 };
    let mut vertex = Vertex::new(case, moved);
    let depth = case.changes.model.layers.len();
    for at in 0..depth {
        vertex = cutter.layer(at, &vertex);
        let linear = &case.changes.model.layers[at].linear;
        for row in vertex.rows.iter_mut().filter(|_| at + 1 < depth) {
            for (j, z) in row.iter_mut().enumerate() {
                if !linear.get(j).copied().unwrap_or(false) && z.sign().is_lt() {
                    *z = Exact::zero();
                }
            }
        }
    }
    vertex.rows.truncate(case.changes.graph.targets());
    vertex.rows
}
