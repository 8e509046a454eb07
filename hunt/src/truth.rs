//! The truth by brute force: the exact smallest margin of every node over all admissible sets of flips.
//!
//! Nothing here is shared with the program under test or its checker. Integers of 64 or 128 bits are used where the largest
//! intermediate number provably fits; elsewhere floats with a proven error choose the sets that can be the worst, and
//! big integers decide among those.

use std::cmp::Ordering;
use std::ops::Range;

use gcnproof_files::GraphFile;
use num_bigint::BigInt;

use crate::case::{Case, Flip};
use crate::exact::{Exact, Number};
use crate::network::{Flips, Network};
use crate::scale::Scale;

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

/// The reference class of a node, and whether it is robust.
pub type Robust = (Option<usize>, bool);

impl Truth {
    /// Is every margin positive? (`None`: there is no reference class.)
    pub fn robust(&self) -> Option<bool> {
        self.reference?;
        Some(self.margins.iter().flatten().all(|margin| margin.sign() == Ordering::Greater))
    }

    /// What a forger knows of it.
    pub fn known(&self) -> Robust {
        (self.reference, self.robust() == Some(true))
    }
}

/// A case made ready for brute force.
pub struct Oracle<'a> {
    case: &'a Case,
    plan: Plan,
}

/// Is shown a set of flips, the predicted classes and which nodes the set breaks.
type SeeSet<'a> = dyn FnMut(&[Flip], &[usize], &[bool]) + 'a;

/// Which numbers are used, prepared once for all components.
enum Plan {
    Small(Network<i64>),
    Medium(Network<i128>),
    /// Floats first, and a bound of their relative error; then integers.
    Filtered(Network<f64>, Network<BigInt>),
    Big(Network<BigInt>),
}

/// Does something with the network in integers, of whatever size.
macro_rules! in_integers {
    ($plan:expr, $network:ident => $act:expr) => {
        match $plan {
            Plan::Small($network) => $act,
            Plan::Medium($network) => $act,
            Plan::Filtered(_, $network) | Plan::Big($network) => $act,
        }
    };
}

/// Exact margins after given flips: what witnesses are replayed with.
pub trait Margins {
    /// The exact margin of a node over a class after some flips.
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[Flip]) -> Exact;
}

impl Margins for Oracle<'_> {
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[Flip]) -> Exact {
        let range = self.case.component_of(node);
        let logits = self.logits(&range, flips);
        let at = (node - range.start) * self.case.classes();
        logits[at + reference].plus(&logits[at + class].negated())
    }
}

impl<'a> Oracle<'a> {
    /// Prepares a case whose network is a chain.
    pub fn new(case: &'a Case) -> Oracle<'a> {
        Oracle::with(case, Network::of_chain(case))
    }

    /// Prepares a case with this network.
    pub fn with(case: &'a Case, network: Network<f64>) -> Oracle<'a> {
        let scale = Scale::new(&network);
        let plan = if scale.bits < 61.0 {
            Plan::Small(network.scaled(&scale))
        } else if scale.bits < 125.0 {
            Plan::Medium(network.scaled(&scale))
        } else if scale.moderate {
            let exact = network.scaled(&scale);
            Plan::Filtered(network, exact)
        } else {
            Plan::Big(network.scaled(&scale))
        };
        Oracle { case, plan }
    }

    /// The truth of every node.
    pub fn all(&self) -> Vec<Truth> {
        let rows = self.case.components.iter().flat_map(|range| self.component(range.clone()));
        rows.take(self.case.targets()).collect()
    }

    /// The truth of all nodes of a component.
    pub fn component(&self, range: Range<usize>) -> Vec<Truth> {
        match &self.plan {
            Plan::Small(network) => self.search(network, range),
            Plan::Medium(network) => self.search(network, range),
            Plan::Big(network) => self.search(network, range),
            Plan::Filtered(floats, network) => self.filtered(floats, network, range),
        }
    }

    /// The exact logits of a component after some flips.
    pub fn logits(&self, range: &Range<usize>, flips: &[Flip]) -> Vec<Exact> {
        in_integers!(&self.plan, network => {
            let logits = network.logits(range, &self.case.attributes_after(range, flips));
            logits.into_iter().map(|x| exact(x, network.exponent)).collect()
        })
    }

    /// The classes of reference, from the logits without flips.
    fn references<N: Number>(&self, logits: &[N], range: &Range<usize>) -> Vec<Classes> {
        references(logits, self.case.classes(), &self.case.graph, self.case.labels, range)
    }

    fn search<N: Number + Into<BigInt>>(&self, network: &Network<N>, range: Range<usize>) -> Vec<Truth> {
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
        truths(&references, classes, least, network.exponent)
    }

    /// Floats first, exactly where they leave a choice.
    fn filtered(&self, floats: &Network<f64>, network: &Network<BigInt>, range: Range<usize>) -> Vec<Truth> {
        let classes = self.case.classes();
        let flips = Flips::new(self.case, range.clone());
        let exactly = |set: &[Flip]| network.logits(&range, &self.case.attributes_after(&range, set));
        let references = self.references(&exactly(&[]), &range);
        let error = floats.magnitude(&range) * 2f64.powi(-40);
        let mut least: Vec<f64> = Vec::new();
        floats.each_set(self.case, &flips, |_, logits| take_least(logits, &references, classes, &mut least));
        let mut chosen: Vec<Vec<Flip>> = Vec::new();
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
        chosen.iter().for_each(|set| take_least(&exactly(set), &references, classes, &mut exact));
        truths(&references, classes, exact, network.exponent)
    }

    /// Shows every admissible set of flips of a component with the predicted classes and whether each prediction is
    /// broken (a tie is), the empty set first.
    pub fn each_broken(&self, range: Range<usize>, mut see: impl FnMut(&[Flip], &[usize], &[bool])) {
        match &self.plan {
            Plan::Small(network) => self.broken_of(network, None, range, &mut see),
            Plan::Medium(network) => self.broken_of(network, None, range, &mut see),
            Plan::Big(network) => self.broken_of(network, None, range, &mut see),
            Plan::Filtered(floats, network) => {
                let error = floats.magnitude(&range) * 2f64.powi(-40);
                self.broken_of(floats, Some((network, error)), range, &mut see);
            }
        }
    }

    /// With `exactly`, numbers are floats, and what lies inside their error (which comes with it) is asked there.
    fn broken_of<N: Number>(
        &self,
        network: &Network<N>,
        exactly: Option<(&Network<BigInt>, f64)>,
        range: Range<usize>,
        see: &mut SeeSet<'_>,
    ) {
        let classes = self.case.classes();
        let flips = Flips::new(self.case, range.clone());
        let after =
            |network: &Network<BigInt>, set: &[Flip]| network.logits(&range, &self.case.attributes_after(&range, set));
        let mut predicted: Vec<usize> = Vec::new();
        if let Some((exactly, _)) = exactly {
            predicted = self.references(&after(exactly, &[]), &range).into_iter().map(|pair| pair.0).collect();
        }
        let mut margin = N::zero();
        let zero = N::zero();
        network.each_set(self.case, &flips, |set, logits| {
            if predicted.is_empty() {
                predicted = self.references(logits, &range).into_iter().map(|pair| pair.0).collect();
            }
            let set: Vec<Flip> = set.iter().map(|&at| flips.list[at]).collect();
            let mut exact: Option<Vec<BigInt>> = None;
            let mut broken = vec![false; range.len()];
            for (row, &y) in predicted.iter().enumerate() {
                for class in (0..classes).filter(|&class| class != y) {
                    margin.assign(&logits[row * classes + y]);
                    margin.subtract(&logits[row * classes + class]);
                    let mut breaks = !zero.is_less(&margin);
                    if let Some((exactly, error)) = exactly
                        && !N::scaled(error, 0).is_less(&margin)
                        && !margin.is_less(&N::scaled(-error, 0))
                    {
                        let exact = exact.get_or_insert_with(|| after(exactly, &set));
                        breaks = exact[row * classes + y] <= exact[row * classes + class];
                    }
                    broken[row] |= breaks;
                }
            }
            see(&set, &predicted, &broken);
        });
    }
}

/// The predicted class, and the class that is to be kept.
pub type Classes = (usize, Option<usize>);

/// The classes of the nodes of a range, from the logits without perturbation; `labels`: the label is to be kept.
pub fn references<N: Number>(
    logits: &[N],
    classes: usize,
    graph: &GraphFile,
    labels: bool,
    range: &Range<usize>,
) -> Vec<Classes> {
    let one = |(row, node): (&[N], usize)| {
        let predicted = (1..classes).fold(0, |best, class| if row[best].is_less(&row[class]) { class } else { best });
        let label = graph.labels.as_ref().and_then(|labels| labels[node]).map(|label| label as usize);
        (predicted, if labels { label.filter(|&label| label < classes) } else { Some(predicted) })
    };
    logits.chunks_exact(classes).zip(range.clone()).map(one).collect()
}

fn exact(integer: impl Into<BigInt>, exponent: i32) -> Exact {
    Exact { integer: integer.into(), exponent }
}

/// What is true of nodes with these classes and smallest margins.
pub fn truths<N: Into<BigInt>>(references: &[Classes], classes: usize, least: Vec<N>, exponent: i32) -> Vec<Truth> {
    let mut least = least.into_iter();
    let one = |&(predicted, reference): &Classes| {
        let margin = |(class, margin): (usize, N)| reference.filter(|&y| y != class).map(|_| exact(margin, exponent));
        Truth { predicted, reference, margins: least.by_ref().take(classes).enumerate().map(margin).collect() }
    };
    references.iter().map(one).collect()
}

/// Keeps the smallest margin of every node over every class; the first set fills the list.
pub fn take_least<N: Number>(logits: &[N], references: &[Classes], classes: usize, least: &mut Vec<N>) {
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
