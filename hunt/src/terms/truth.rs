//! The truth about a described network by brute force: all admissible sets of flips, from the description alone.

use std::ops::Range;

use num_bigint::BigInt;

use crate::exact::{Exact, Number};
use crate::network::Flips;
use crate::terms::case::TermCase;
use crate::terms::network::{Scale, TermNetwork};
use crate::truth::{Margins, Truth, take_least};

enum Plan {
    Medium(TermNetwork<i128>),
    Filtered(TermNetwork<f64>, TermNetwork<BigInt>),
    Big(TermNetwork<BigInt>),
}

/// A case made ready for brute force.
pub struct TermOracle<'a> {
    case: &'a TermCase,
    plan: Plan,
}

impl<'a> TermOracle<'a> {
    /// Prepares a case.
    pub fn new(case: &'a TermCase) -> TermOracle<'a> {
        let operators = case.operators();
        let scale = Scale::new(case, &operators);
        let plan = if scale.bits < 125.0 {
            Plan::Medium(TermNetwork::new(case, &operators, &scale))
        } else if scale.moderate {
            Plan::Filtered(TermNetwork::new(case, &operators, &scale), TermNetwork::new(case, &operators, &scale))
        } else {
            Plan::Big(TermNetwork::new(case, &operators, &scale))
        };
        TermOracle { case, plan }
    }

    /// The truth of every node.
    pub fn all(&self) -> Vec<Truth> {
        self.case.base.components.iter().flat_map(|range| self.component(range.clone())).collect()
    }

    /// The truth of all nodes of a component.
    pub fn component(&self, range: Range<usize>) -> Vec<Truth> {
        let flips = Flips::new(&self.case.base, range.clone());
        let sets = flips.sets();
        match &self.plan {
            Plan::Medium(network) => self.search(network, &range, &sets, |x| BigInt::from(*x)),
            Plan::Big(network) => self.search(network, &range, &sets, BigInt::clone),
            Plan::Filtered(floats, network) => {
                let chosen = self.choose(floats, network, &range, sets);
                self.search(network, &range, &chosen, BigInt::clone)
            }
        }
    }

    /// The exact logits of a component after some flips.
    pub fn logits(&self, range: &Range<usize>, flips: &[(usize, usize)]) -> Vec<Exact> {
        let attributes = self.case.attributes(range, flips);
        match &self.plan {
            Plan::Medium(network) => {
                let exact = |x: i128| Exact { integer: BigInt::from(x), exponent: network.exponent };
                network.logits(range, &attributes).into_iter().map(exact).collect()
            }
            Plan::Filtered(_, network) | Plan::Big(network) => {
                let exact = |integer: BigInt| Exact { integer, exponent: network.exponent };
                network.logits(range, &attributes).into_iter().map(exact).collect()
            }
        }
    }

    fn references<N: Number>(&self, logits: &[N], range: &Range<usize>) -> Vec<(usize, Option<usize>)> {
        let base = &self.case.base;
        let classes = base.classes();
        let one = |node: usize| {
            let row = &logits[(node - range.start) * classes..][..classes];
            let predicted =
                (1..classes).fold(0, |best, class| if row[best].is_less(&row[class]) { class } else { best });
            let label = base.graph.labels.as_ref().and_then(|labels| labels[node]).map(|label| label as usize);
            (predicted, if base.labels { label.filter(|&label| label < classes) } else { Some(predicted) })
        };
        range.clone().map(one).collect()
    }

    /// The first set must be the empty one.
    fn search<N: Number>(
        &self,
        network: &TermNetwork<N>,
        range: &Range<usize>,
        sets: &[Vec<(usize, usize)>],
        big: impl Fn(&N) -> BigInt,
    ) -> Vec<Truth> {
        let classes = self.case.base.classes();
        let mut references = Vec::new();
        let mut least: Vec<N> = Vec::new();
        for set in sets {
            let logits = network.logits(range, &self.case.attributes(range, set));
            if references.is_empty() {
                references = self.references(&logits, range);
            }
            take_least(&logits, &references, classes, &mut least);
        }
        let exact = |at: usize| Exact { integer: big(&least[at]), exponent: network.exponent };
        let one = |(row, &(predicted, reference)): (usize, &(usize, Option<usize>))| Truth {
            predicted,
            reference,
            margins: (0..classes)
                .map(|class| reference.filter(|&y| y != class).map(|_| exact(row * classes + class)))
                .collect(),
        };
        references.iter().enumerate().map(one).collect()
    }

    /// The empty set, and those that floats with a proven error do not rule out to be the worst of some pair.
    fn choose(
        &self,
        floats: &TermNetwork<f64>,
        network: &TermNetwork<BigInt>,
        range: &Range<usize>,
        sets: Vec<Vec<(usize, usize)>>,
    ) -> Vec<Vec<(usize, usize)>> {
        let classes = self.case.base.classes();
        let references = self.references(&network.logits(range, &self.case.attributes(range, &[])), range);
        let error = floats.magnitude(range) * 2f64.powi(-40);
        let all: Vec<Vec<f64>> =
            sets.iter().map(|set| floats.logits(range, &self.case.attributes(range, set))).collect();
        let mut least: Vec<f64> = Vec::new();
        all.iter().for_each(|logits| take_least(logits, &references, classes, &mut least));
        let near = |logits: &Vec<f64>| {
            references.iter().enumerate().any(|(row, reference)| {
                let Some(reference) = reference.1 else { return false };
                let row = row * classes;
                (0..classes)
                    .filter(|&class| class != reference)
                    .any(|class| logits[row + reference] - logits[row + class] <= least[row + class] + 2.0 * error)
            })
        };
        let keep = |(at, set): (usize, Vec<(usize, usize)>)| (at == 0 || near(&all[at])).then_some(set);
        sets.into_iter().enumerate().filter_map(keep).collect()
    }
}

impl Margins for TermOracle<'_> {
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[(usize, usize)]) -> Exact {
        let range = self.case.base.component_of(node);
        let logits = self.logits(&range, flips);
        let at = (node - range.start) * self.case.base.classes();
        logits[at + reference].plus(&logits[at + class].negated())
    }
}
