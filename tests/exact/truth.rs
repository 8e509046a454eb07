//! Brute force: every admissible perturbation, and the exact network on the whole graph at each of them.

use std::cmp::Ordering;

use super::case::Case;
use super::certifier::{Direction, Flip};
use super::number::{Exact, smallest};

/// Flipped entries (node, attribute), ascending.
pub type Flips = Vec<(usize, usize)>;

/// Exact pre-activations of representations 2 … L: by representation, node and unit.
pub type Representations = Vec<Vec<Vec<Exact>>>;

/// The exact network at every admissible perturbation, of which the first is none at all.
pub struct Truth {
    pub perturbations: Vec<Flips>,
    pub representations: Vec<Representations>,
    classes: usize,
}

impl Truth {
    /// Nothing if there are more perturbations than `most`.
    pub fn new(case: &Case, most: usize) -> Option<Truth> {
        let perturbations = admissible(case);
        if perturbations.len() > most {
            return None;
        }
        let representations = perturbations.iter().map(|flips| evaluate(case, flips)).collect();
        Some(Truth { perturbations, representations, classes: case.network.class_count() })
    }

    /// The logits of a node at the perturbation with this place in the list.
    pub fn logits(&self, perturbation: usize, node: usize) -> &[Exact] {
        let output = self.representations[perturbation].last().expect("a network has a layer");
        &output[node]
    }

    /// The logits of a node at all perturbations.
    pub fn all_logits(&self, node: usize) -> impl Iterator<Item = &[Exact]> {
        (0..self.perturbations.len()).map(move |perturbation| self.logits(perturbation, node))
    }

    /// The smallest margin of the reference class over another one.
    pub fn worst_margin(&self, node: usize, reference: usize, class: usize) -> Exact {
        smallest(self.all_logits(node).map(|logits| logits[reference].minus(&logits[class])))
    }

    /// The class with the largest logit without a perturbation, the first of them in a tie.
    pub fn predicted(&self, node: usize) -> usize {
        largest(self.logits(0, node))
    }

    /// The place of a perturbation in the list, whatever the order of its flips; nothing if it is not admissible.
    pub fn place<'a>(&self, flips: impl IntoIterator<Item = &'a Flip>) -> Option<usize> {
        let mut wanted = pairs(flips);
        wanted.sort_unstable();
        self.perturbations.iter().position(|known| *known == wanted)
    }

    /// All classes but one.
    pub fn other_classes(&self, reference: usize) -> impl Iterator<Item = usize> {
        (0..self.classes).filter(move |&class| class != reference)
    }
}

/// The certifier's flips as pairs, in their order.
pub fn pairs<'a>(flips: impl IntoIterator<Item = &'a Flip>) -> Flips {
    flips.into_iter().map(|flip| (flip.node as usize, flip.attribute as usize)).collect()
}

/// The place of the largest number, the first of them in a tie.
pub fn largest(numbers: &[Exact]) -> usize {
    let better = |best: usize, at: usize| numbers[at].compare(&numbers[best]) == Ordering::Greater;
    (1..numbers.len()).fold(0, |best, at| if better(best, at) { at } else { best })
}

/// All sets of flips that the budget allows.
pub fn admissible(case: &Case) -> Vec<Flips> {
    let mut sets: Vec<Flips> = vec![vec![]];
    for node in 0..case.graph.node_count() {
        let local = case.budget.locals()[node] as usize;
        for attribute in 0..case.graph.attribute_count() {
            let forbidden = if case.has(node, attribute) { Direction::Add } else { Direction::Remove };
            if case.budget.is_frozen(attribute) || case.budget.direction() == forbidden {
                continue;
            }
            let in_row = |set: &Flips| set.iter().filter(|flip| flip.0 == node).count();
            let extensible = sets.iter().filter(|set| set.len() < case.budget.global() && in_row(set) < local);
            let larger: Vec<Flips> = extensible.map(|set| [&set[..], &[(node, attribute)]].concat()).collect();
            sets.extend(larger);
        }
    }
    sets
}

/// `Ĥ(l+1) = A H W + b`, `H = max(Ĥ, 0)`, by the definition and for all nodes.
pub fn evaluate(case: &Case, flips: &Flips) -> Representations {
    let (nodes, attributes) = (case.graph.node_count(), case.graph.attribute_count());
    let entry = |node, attribute| case.has(node, attribute) != flips.contains(&(node, attribute));
    let input = |node| (0..attributes).map(|at| Exact::whole(usize::from(entry(node, at)))).collect();
    let mut hidden: Vec<Vec<Exact>> = (0..nodes).map(input).collect();
    let mut representations = Vec::new();
    for layer in case.network.layers() {
        let width = layer.weight.columns();
        let sent = |row: &Vec<Exact>, unit: usize| {
            let weight = |from: usize| Exact::of(layer.weight.values()[from * width + unit]);
            row.iter().enumerate().fold(Exact::zero(), |sum, (from, value)| sum.plus(&value.times(&weight(from))))
        };
        let sent: Vec<Vec<Exact>> = hidden.iter().map(|row| (0..width).map(|unit| sent(row, unit)).collect()).collect();
        let received = |node: usize, unit: usize| {
            let (columns, values) = layer.passing.single_row(node);
            columns.iter().zip(values).fold(Exact::of(layer.bias.values()[unit]), |sum, (&from, &weight)| {
                sum.plus(&sent[from as usize][unit].times(&Exact::of(weight)))
            })
        };
        let next: Vec<Vec<Exact>> =
            (0..nodes).map(|node| (0..width).map(|unit| received(node, unit)).collect()).collect();
        hidden = next.iter().map(|row| row.iter().map(Exact::relu).collect()).collect();
        representations.push(next);
    }
    representations
}
