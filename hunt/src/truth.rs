//! The truth by brute force: the exact smallest margin of every node over all admissible sets of flips.
//!
//! Nothing here is shared with the player or the checker. Integers of 64 or 128 bits are used where the largest
//! intermediate number provably fits; elsewhere floats with a proven error choose the sets that can be the worst, and
//! big integers decide among those.

use std::cmp::Ordering;
use std::ops::Range;

use num_bigint::BigInt;

use crate::case::Case;
use crate::exact::{Exact, Number, least_exponent, parts};
use crate::network::{Flips, Network};
use crate::operator::{Rows, rows};

/// What is true of one node.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The predicted class: the largest logit without flips, the smallest number among equals.
    pub predicted: usize,
    /// The class that is to be kept; `None` where the label is the reference and the node has none that exists.
    pub reference: Option<usize>,
    /// For each class the smallest margin over it, `None` for the reference itself.
    pub margins: Vec<Option<Exact>>,
}

impl Truth {
    /// Is every margin positive? (`None`: there is no reference class.)
    pub fn robust(&self) -> Option<bool> {
        self.reference?;
        Some(self.margins.iter().flatten().all(|margin| margin.sign() == Ordering::Greater))
    }
}

/// A case made ready for brute force.
pub struct Oracle<'a> {
    case: &'a Case,
    plan: Plan,
}

/// Is shown a set of flips, the predicted classes and which nodes the set breaks.
type SeeSet<'a> = dyn FnMut(&[(usize, usize)], &[usize], &[bool]) + 'a;

/// Which numbers are used, prepared once for all components.
enum Plan {
    Small(Network<i64>),
    Medium(Network<i128>),
    /// Floats first, and a bound of their relative error; then integers.
    Filtered(Network<f64>, Network<BigInt>),
    Big(Network<BigInt>),
}

impl<'a> Oracle<'a> {
    /// Prepares a case.
    pub fn new(case: &'a Case) -> Oracle<'a> {
        let operators: Vec<Rows> = case.rules.iter().map(|rule| rows(case, rule)).collect();
        let scale = Scale::new(case, &operators);
        let plan = if scale.bits < 61.0 {
            Plan::Small(Network::new(case, &operators, &scale.exponents))
        } else if scale.bits < 125.0 {
            Plan::Medium(Network::new(case, &operators, &scale.exponents))
        } else {
            let exact = Network::new(case, &operators, &scale.exponents);
            if scale.moderate {
                Plan::Filtered(Network::new(case, &operators, &scale.exponents), exact)
            } else {
                Plan::Big(exact)
            }
        };
        Oracle { case, plan }
    }

    /// What kind of numbers is used.
    pub fn numbers(&self) -> &'static str {
        match &self.plan {
            Plan::Small(_) => "i64",
            Plan::Medium(_) => "i128",
            Plan::Filtered(..) => "filtered",
            Plan::Big(_) => "big",
        }
    }

    /// The truth of all nodes of a component.
    pub fn component(&self, range: Range<usize>) -> Vec<Truth> {
        match &self.plan {
            Plan::Small(network) => self.search(network, range, |x| BigInt::from(*x)),
            Plan::Medium(network) => self.search(network, range, |x| BigInt::from(*x)),
            Plan::Big(network) => self.search(network, range, BigInt::clone),
            Plan::Filtered(floats, network) => self.filtered(floats, network, range),
        }
    }
}

/// Exact margins after given flips: what witnesses are replayed with.
pub trait Margins {
    /// The exact margin of a node over a class after some flips.
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[(usize, usize)]) -> Exact;
}

impl Margins for Oracle<'_> {
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[(usize, usize)]) -> Exact {
        let range = self.case.component_of(node);
        let at = (node - range.start) * self.case.classes();
        match &self.plan {
            Plan::Small(network) => {
                let logits = network.logits_after(self.case, range, flips);
                Exact { integer: BigInt::from(logits[at + reference] - logits[at + class]), exponent: network.exponent }
            }
            Plan::Medium(network) => {
                let logits = network.logits_after(self.case, range, flips);
                Exact { integer: BigInt::from(logits[at + reference] - logits[at + class]), exponent: network.exponent }
            }
            Plan::Filtered(_, network) | Plan::Big(network) => {
                let logits = network.logits_after(self.case, range, flips);
                Exact { integer: &logits[at + reference] - &logits[at + class], exponent: network.exponent }
            }
        }
    }
}

impl Oracle<'_> {
    /// The classes of reference, from the logits without flips.
    fn references<N: Number>(&self, logits: &[N], range: &Range<usize>) -> Vec<(usize, Option<usize>)> {
        let classes = self.case.classes();
        let one = |node: usize| {
            let row = &logits[(node - range.start) * classes..][..classes];
            let predicted =
                (1..classes).fold(0, |best, class| if row[best].is_less(&row[class]) { class } else { best });
            let label = self.case.graph.labels.as_ref().and_then(|labels| labels[node]).map(|label| label as usize);
            (predicted, if self.case.labels { label.filter(|&label| label < classes) } else { Some(predicted) })
        };
        range.clone().map(one).collect()
    }

    fn search<N: Number>(&self, network: &Network<N>, range: Range<usize>, big: impl Fn(&N) -> BigInt) -> Vec<Truth> {
        let classes = self.case.classes();
        let flips = Flips::new(self.case, range.clone());
        let mut references = Vec::new();
        let mut least: Vec<N> = Vec::new();
        network.each_set(self.case, &flips, |_, logits| {
            if references.is_empty() {
                // The empty set comes first.
                references = self.references(logits, &range);
            }
            take_least(logits, &references, classes, &mut least);
        });
        self.truths(&references, |at| Exact { integer: big(&least[at]), exponent: network.exponent })
    }

    /// Floats first, exactly where they leave a choice.
    fn filtered(&self, floats: &Network<f64>, network: &Network<BigInt>, range: Range<usize>) -> Vec<Truth> {
        let classes = self.case.classes();
        let flips = Flips::new(self.case, range.clone());
        let logits = network.logits_after(self.case, range.clone(), &[]);
        let references = self.references(&logits, &range);
        let error = floats.magnitude(range.clone()) * 2f64.powi(-40);
        let mut least: Vec<f64> = Vec::new();
        floats.each_set(self.case, &flips, |_, logits| take_least(logits, &references, classes, &mut least));
        let mut chosen: Vec<Vec<(usize, usize)>> = Vec::new();
        floats.each_set(self.case, &flips, |set, logits| {
            let near = references.iter().enumerate().any(|(row, reference)| {
                let Some(reference) = reference.1 else { return false };
                let row = row * classes;
                (0..classes).any(|class| {
                    class != reference
                        && logits[row + reference] - logits[row + class] <= least[row + class] + 2.0 * error
                })
            });
            if near {
                chosen.push(set.iter().map(|&at| flips.list[at]).collect());
            }
        });
        let mut exact: Vec<BigInt> = Vec::new();
        for set in &chosen {
            let logits = network.logits_after(self.case, range.clone(), set);
            take_least(&logits, &references, classes, &mut exact);
        }
        self.truths(&references, |at| Exact { integer: exact[at].clone(), exponent: network.exponent })
    }

    fn truths(&self, references: &[(usize, Option<usize>)], margin: impl Fn(usize) -> Exact) -> Vec<Truth> {
        let classes = self.case.classes();
        let one = |(row, &(predicted, reference)): (usize, &(usize, Option<usize>))| Truth {
            predicted,
            reference,
            margins: (0..classes)
                .map(|class| (reference.is_some() && Some(class) != reference).then(|| margin(row * classes + class)))
                .collect(),
        };
        references.iter().enumerate().map(one).collect()
    }
}

impl Oracle<'_> {
    /// Shows every admissible set of flips of a component with the predicted classes and whether each prediction is broken (a tie is), the empty
    /// set first.
    pub fn each_broken(&self, range: Range<usize>, mut see: impl FnMut(&[(usize, usize)], &[usize], &[bool])) {
        match &self.plan {
            Plan::Small(network) => self.broken_of(network, None, range, &mut see),
            Plan::Medium(network) => self.broken_of(network, None, range, &mut see),
            Plan::Big(network) => self.broken_of(network, None, range, &mut see),
            Plan::Filtered(floats, network) => self.broken_of(floats, Some(network), range, &mut see),
        }
    }

    /// With `exactly`, numbers are floats, and what lies inside their error is asked there.
    fn broken_of<N: Number>(
        &self,
        network: &Network<N>,
        exactly: Option<&Network<BigInt>>,
        range: Range<usize>,
        see: &mut SeeSet<'_>,
    ) where
        Network<N>: Doubt<N>,
    {
        let classes = self.case.classes();
        let flips = Flips::new(self.case, range.clone());
        let doubt = network.doubt(range.clone());
        let mut predicted: Vec<usize> = Vec::new();
        if let Some(exactly) = exactly {
            let logits = exactly.logits_after(self.case, range.clone(), &[]);
            predicted = self.references(&logits, &range).into_iter().map(|pair| pair.0).collect();
        }
        let mut margin = N::zero();
        let zero = N::zero();
        network.each_set(self.case, &flips, |set, logits| {
            if predicted.is_empty() {
                predicted = self.references(logits, &range).into_iter().map(|pair| pair.0).collect();
            }
            let set: Vec<(usize, usize)> = set.iter().map(|&at| flips.list[at]).collect();
            let mut exact: Option<Vec<BigInt>> = None;
            let mut broken = vec![false; range.len()];
            for (row, &y) in predicted.iter().enumerate() {
                for class in (0..classes).filter(|&class| class != y) {
                    margin.assign(&logits[row * classes + y]);
                    margin.subtract(&logits[row * classes + class]);
                    let mut breaks = !zero.is_less(&margin);
                    if let (Some(exactly), Some(doubt)) = (exactly, &doubt)
                        && !doubt.is_less(&margin)
                        && !{
                            let mut below = N::zero();
                            below.subtract(doubt);
                            margin.is_less(&below)
                        }
                    {
                        let exact = exact.get_or_insert_with(|| exactly.logits_after(self.case, range.clone(), &set));
                        breaks = exact[row * classes + y] <= exact[row * classes + class];
                    }
                    broken[row] |= breaks;
                }
            }
            see(&set, &predicted, &broken);
        });
    }
}

/// How far numbers of a network may be from the truth.
trait Doubt<N> {
    /// None where they are exact.
    fn doubt(&self, range: Range<usize>) -> Option<N>;
}

impl Doubt<f64> for Network<f64> {
    fn doubt(&self, range: Range<usize>) -> Option<f64> {
        Some(self.magnitude(range) * 2f64.powi(-40))
    }
}

macro_rules! exact {
    ($($kind:ty),*) => {
        $(impl Doubt<$kind> for Network<$kind> {
            fn doubt(&self, _: Range<usize>) -> Option<$kind> {
                None
            }
        })*
    };
}

exact!(i64, i128, BigInt);

/// Keeps the smallest margin of every node over every class; the first set fills the list.
pub fn take_least<N: Number>(logits: &[N], references: &[(usize, Option<usize>)], classes: usize, least: &mut Vec<N>) {
    let first = least.is_empty();
    if first {
        least.resize(logits.len(), N::zero());
    }
    let mut margin = N::zero();
    for (row, reference) in references.iter().enumerate() {
        let Some(reference) = reference.1 else { continue };
        let row = row * classes;
        for class in (0..classes).filter(|&class| class != reference) {
            margin.assign(&logits[row + reference]);
            margin.subtract(&logits[row + class]);
            if first || margin.is_less(&least[row + class]) {
                least[row + class].assign(&margin);
            }
        }
    }
}

/// At which exponents all numbers are integers, and how many bits the largest has.
struct Scale {
    /// For every weight layer: of the entries, of the weights, of the result (and so of the bias).
    exponents: Vec<[i32; 3]>,
    /// A bound of the bits of every intermediate integer.
    bits: f64,
    /// Are all numbers so ordinary that floats neither overflow nor underflow?
    moderate: bool,
}

impl Scale {
    fn new(case: &Case, operators: &[Rows]) -> Scale {
        let mut scale = Scale { exponents: Vec::new(), bits: 0.0, moderate: true };
        let mut below = 0;
        // log2 of a bound of the integers of the representation.
        let mut size = 0f64;
        for (layer, rows) in case.layers().iter().zip(operators) {
            let entries = || rows.iter().flatten().map(|entry| entry.1);
            let entry = least_exponent(entries()).unwrap_or(0);
            let mut weight = least_exponent(layer.weight.values.iter().copied()).unwrap_or(0);
            if let Some(bias) = least_exponent(layer.bias.iter().copied()) {
                weight = weight.min(bias - entry - below);
            }
            let result = entry + weight + below;
            let bits = |x: f64, exponent: i32| {
                let (mantissa, own) = parts(x);
                if mantissa == 0 {
                    0.0
                } else {
                    (mantissa.unsigned_abs() as f64).log2() + f64::from(own - exponent) + 0.01
                }
            };
            let largest =
                |values: &mut dyn Iterator<Item = f64>, exponent| values.map(|x| bits(x, exponent)).fold(0.0, f64::max);
            let inputs = (layer.weight.rows.max(1) as f64).log2();
            let reach = (rows.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64).log2();
            let sent = size + inputs + largest(&mut layer.weight.values.iter().copied(), weight);
            let received = sent + reach + largest(&mut entries(), entry);
            let bias = largest(&mut layer.bias.iter().copied(), result);
            size = received.max(bias) + 1.0;
            scale.bits = scale.bits.max(size + 1.0);
            scale.exponents.push([entry, weight, result]);
            below = result;
            let usual = |x: f64| x == 0.0 || (2f64.powi(-60)..2f64.powi(60)).contains(&x.abs());
            scale.moderate &= entries().chain(layer.weight.values.iter().copied()).all(usual);
            scale.moderate &= layer.bias.iter().copied().all(usual);
        }
        scale
    }
}
