//! The truth by brute force: the exact smallest margin of every node over all admissible removals.

use std::ops::Range;

use num_bigint::BigInt;

use crate::edges::case::{Edge, EdgeCase};
use crate::edges::network::{EdgeNetwork, EdgeScale, Remaining};
use crate::exact::{Exact, Number};
use crate::truth::{Classes, Truth, references, truths};

/// What is true of one node: its margins, and how many removals it takes to break it.
#[derive(Clone, Debug)]
pub struct EdgeTruth {
    /// Classes and smallest margins.
    pub of: Truth,
    /// The size of the smallest admissible set after which some margin is not positive.
    pub needed: Option<usize>,
}

enum EdgePlan {
    Medium(EdgeNetwork<i128>),
    Filtered(Box<EdgeNetwork<f64>>, Box<EdgeNetwork<BigInt>>),
    Big(Box<EdgeNetwork<BigInt>>),
}

/// A case made ready for brute force.
pub struct EdgeOracle<'a> {
    case: &'a EdgeCase,
    plan: EdgePlan,
}

impl<'a> EdgeOracle<'a> {
    /// Prepares a case.
    pub fn new(case: &'a EdgeCase) -> EdgeOracle<'a> {
        let scale = EdgeScale::new(case);
        let plan = if scale.bits < 125.0 {
            EdgePlan::Medium(EdgeNetwork::new(case, &scale))
        } else if scale.moderate {
            EdgePlan::Filtered(Box::new(EdgeNetwork::new(case, &scale)), Box::new(EdgeNetwork::new(case, &scale)))
        } else {
            EdgePlan::Big(Box::new(EdgeNetwork::new(case, &scale)))
        };
        EdgeOracle { case, plan }
    }

    /// The truth of all nodes of a component.
    pub fn component(&self, range: Range<usize>) -> Vec<EdgeTruth> {
        match &self.plan {
            EdgePlan::Medium(network) => self.search(network, range),
            EdgePlan::Big(network) => self.search(network, range),
            EdgePlan::Filtered(floats, network) => self.filtered(floats, network, range),
        }
    }

    /// The truth of every node.
    pub fn all(&self) -> Vec<EdgeTruth> {
        self.case.components.iter().flat_map(|range| self.component(range.clone())).collect()
    }

    /// The exact margin of a node over a class after some removals.
    pub fn margin(&self, node: usize, reference: usize, class: usize, removed: &[Edge]) -> Exact {
        let at = (node - self.case.component_of(node).start) * self.case.classes();
        let [y, other] = match &self.plan {
            EdgePlan::Medium(network) => self.after(network, node, [at + reference, at + class], removed),
            EdgePlan::Filtered(_, network) | EdgePlan::Big(network) => {
                self.after(network, node, [at + reference, at + class], removed)
            }
        };
        y.plus(&other.negated())
    }

    /// Some logits of the component of a node after some removals.
    fn after<N: Number + Into<BigInt>>(
        &self,
        network: &EdgeNetwork<N>,
        node: usize,
        places: [usize; 2],
        removed: &[Edge],
    ) -> [Exact; 2] {
        let range = self.case.component_of(node);
        let left = Remaining::new(self.case, &range, removed);
        let logits = network.logits(&left, range.start, &network.messages(self.case, &range));
        places.map(|at| Exact { integer: logits[at].clone().into(), exponent: network.exponent })
    }

    /// Predicted and reference classes, from the logits without removals.
    fn references<N: Number>(&self, logits: &[N], range: &Range<usize>) -> Vec<Classes> {
        references(logits, self.case.classes(), &self.case.graph, self.case.labels, range)
    }

    fn search<N: Number + Into<BigInt>>(&self, network: &EdgeNetwork<N>, range: Range<usize>) -> Vec<EdgeTruth> {
        let mut least = Least::default();
        self.each_set(network, &range, |removed, logits| {
            if least.references.is_empty() {
                least.references = self.references(logits, &range);
            }
            least.take(logits, removed.len(), self.case.classes());
        });
        least.truths(self.case.classes(), network.exponent)
    }

    /// Floats with a proven error choose the sets that can matter; integers decide among those.
    fn filtered(
        &self,
        floats: &EdgeNetwork<f64>,
        network: &EdgeNetwork<BigInt>,
        range: Range<usize>,
    ) -> Vec<EdgeTruth> {
        let classes = self.case.classes();
        let messages = network.messages(self.case, &range);
        let exact =
            |removed: &[Edge]| network.logits(&Remaining::new(self.case, &range, removed), range.start, &messages);
        let references = self.references(&exact(&[]), &range);
        // Fewer than 2¹⁰ roundings on the way of each term into a logit.
        let error = floats.magnitude() * 2f64.powi(-41);
        let mut rough = Least { references: references.clone(), ..Least::default() };
        // Set sizes at which floats are sure that a node is broken.
        let mut surely: Vec<Option<usize>> = vec![None; references.len()];
        self.each_set(floats, &range, |removed, logits| {
            rough.take(logits, removed.len(), classes);
            for (row, reference) in references.iter().enumerate() {
                let Some(reference) = reference.1 else { continue };
                let row_of = &logits[row * classes..][..classes];
                let broken = (0..classes).any(|y| y != reference && row_of[reference] - row_of[y] < -error);
                if broken && surely[row].is_none_or(|size| removed.len() < size) {
                    surely[row] = Some(removed.len());
                }
            }
        });
        let mut least = Least { references, ..Least::default() };
        let mut chosen: Vec<Vec<Edge>> = Vec::new();
        self.each_set(floats, &range, |removed, logits| {
            let matters = least.references.iter().enumerate().any(|(row, (_, reference))| {
                let Some(reference) = *reference else { return false };
                (0..classes).filter(|&class| class != reference).any(|class| {
                    let margin = logits[row * classes + reference] - logits[row * classes + class];
                    let smallest = &rough.margins[row * classes + class];
                    // It may be the smallest, or as small a set as any that breaks the node.
                    margin <= smallest + 2.0 * error
                        || margin <= error && surely[row].is_none_or(|size| removed.len() <= size)
                })
            });
            if matters || removed.is_empty() {
                chosen.push(removed.to_vec());
            }
        });
        for removed in &chosen {
            least.take(&exact(removed), removed.len(), classes);
        }
        least.truths(classes, network.exponent)
    }

    /// Shows every admissible set with the logits after it, the empty set first.
    fn each_set<N: Number>(&self, network: &EdgeNetwork<N>, range: &Range<usize>, mut see: impl FnMut(&[Edge], &[N])) {
        let messages = network.messages(self.case, range);
        let mut left = Remaining::new(self.case, range, &[]);
        let mut visit =
            |removed: &[Edge], left: &Remaining| see(removed, &network.logits(left, range.start, &messages));
        let caps: Vec<u64> = range.clone().map(|node| self.case.cap(node)).collect();
        let edges = self.case.edges(range.clone()).into_iter().filter(|edge| !self.case.budget.frozen.contains(edge));
        let edges: Vec<Edge> = edges.collect();
        let mut listing = Listing { edges, caps, first: range.start, left: &mut left, removed: Vec::new() };
        listing.visit(0, self.case.budget.global, &mut visit);
    }
}

/// All admissible sets of a component, one after the other.
struct Listing<'a> {
    edges: Vec<Edge>,
    caps: Vec<u64>,
    first: usize,
    left: &'a mut Remaining,
    removed: Vec<Edge>,
}

impl Listing<'_> {
    fn visit(&mut self, from: usize, more: u64, see: &mut impl FnMut(&[Edge], &Remaining)) {
        see(&self.removed, self.left);
        if more == 0 {
            return;
        }
        for at in from..self.edges.len() {
            let (a, b) = (self.edges[at].0 as usize - self.first, self.edges[at].1 as usize - self.first);
            if self.caps[a] == 0 || self.caps[b] == 0 {
                continue;
            }
            [a, b].into_iter().for_each(|end| self.caps[end] -= 1);
            self.left.cut(a, b);
            self.removed.push(self.edges[at]);
            self.visit(at + 1, more - 1, see);
            self.removed.pop();
            self.left.join(a, b);
            [a, b].into_iter().for_each(|end| self.caps[end] += 1);
        }
    }
}

/// How many admissible sets a component has, or `limit` if there are more.
pub fn count(case: &EdgeCase, range: Range<usize>, limit: usize) -> usize {
    let mut left = Remaining::new(case, &range, &[]);
    let caps = range.clone().map(|node| case.cap(node)).collect();
    let edges = case.edges(range.clone()).into_iter().filter(|edge| !case.budget.frozen.contains(edge)).collect();
    let mut listing = Listing { edges, caps, first: range.start, left: &mut left, removed: Vec::new() };
    // Deeper sets are not counted once there are enough: a level at a time.
    let mut seen = 0;
    for depth in 0..=case.budget.global.min(listing.edges.len() as u64) {
        seen = 0;
        listing.visit(0, depth, &mut |_, _| seen += 1);
        if seen >= limit {
            return limit;
        }
    }
    seen
}

/// The smallest margins so far, and the sizes of the smallest sets that break nodes.
struct Least<N> {
    references: Vec<Classes>,
    margins: Vec<N>,
    needed: Vec<Option<usize>>,
}

impl<N> Default for Least<N> {
    fn default() -> Self {
        Least { references: Vec::new(), margins: Vec::new(), needed: Vec::new() }
    }
}

impl<N: Number> Least<N> {
    fn take(&mut self, logits: &[N], size: usize, classes: usize) {
        let first = self.margins.is_empty();
        if first {
            self.margins.resize(logits.len(), N::zero());
            self.needed.resize(self.references.len(), None);
        }
        let zero = N::zero();
        let mut margin = N::zero();
        for (row, (_, reference)) in self.references.iter().enumerate() {
            let Some(reference) = *reference else { continue };
            for class in (0..classes).filter(|&class| class != reference) {
                margin.assign(&logits[row * classes + reference]);
                margin.subtract(&logits[row * classes + class]);
                let least = &mut self.margins[row * classes + class];
                if first || margin.is_less(least) {
                    least.assign(&margin);
                }
                if !zero.is_less(&margin) && self.needed[row].is_none_or(|needed| size < needed) {
                    self.needed[row] = Some(size);
                }
            }
        }
    }
}

impl<N: Number + Into<BigInt>> Least<N> {
    fn truths(self, classes: usize, exponent: i32) -> Vec<EdgeTruth> {
        let all = truths(&self.references, classes, self.margins, exponent);
        all.into_iter().zip(self.needed).map(|(of, needed)| EdgeTruth { of, needed }).collect()
    }
}

impl EdgeTruth {
    /// Is every margin positive?
    pub fn robust(&self) -> Option<bool> {
        self.of.robust()
    }
}
