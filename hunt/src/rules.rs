//! Rules 1 to 3 of section 4 of `check/FORMAT.md` (version 2): budgets of a path, selection, reach, propagation.
//!
//! Written from the text of the format alone, in big integers; no code is shared with the checker.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use crate::case::Case;
use crate::exact::Exact;
use crate::hints::Prices;
use crate::operator::{Rows, rows};

/// What a path of a tree has decided.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Flips that are made.
    pub made: BTreeSet<(usize, usize)>,
    /// Flips that are not made.
    pub spared: BTreeSet<(usize, usize)>,
    /// Units by layer, node, unit: is the pre-activation `≥ 0` (and otherwise `≤ 0`)?
    pub units: BTreeMap<(usize, usize, usize), bool>,
}

/// Amounts of flips.
pub type Amounts = Vec<((usize, usize), Exact)>;

/// A case made ready for the rules.
pub struct Rules<'a> {
    /// The case.
    pub case: &'a Case,
    /// The entries of every layer.
    pub operators: Vec<Rows>,
    pub(crate) weights: Vec<Vec<Exact>>,
    pub(crate) biases: Vec<Vec<Exact>>,
}

/// What is left of the budget on a path.
pub(crate) struct Left {
    pub(crate) global: usize,
    pub(crate) local: Vec<usize>,
}

/// 0.
pub(crate) fn zero() -> Exact {
    Exact::zero()
}

/// The number, or 0 if it is negative.
pub(crate) fn positive(x: &Exact) -> Exact {
    if x.sign() == Ordering::Greater { x.clone() } else { zero() }
}

/// The larger one.
pub(crate) fn larger(x: Exact, y: Exact) -> Exact {
    if x.compare(&y) == Ordering::Less { y } else { x }
}

/// The smaller one.
pub(crate) fn smaller(x: Exact, y: Exact) -> Exact {
    if x.compare(&y) == Ordering::Greater { y } else { x }
}

/// A count as a number.
pub(crate) fn whole(count: usize) -> Exact {
    Exact { integer: BigInt::from(count), exponent: 0 }
}

impl<'a> Rules<'a> {
    /// Prepares a case.
    pub fn new(case: &'a Case) -> Rules<'a> {
        let exact = |values: &[f64]| values.iter().map(|&x| Exact::from_f64(x)).collect();
        Rules {
            case,
            operators: case.rules.iter().map(|rule| rows(case, rule)).collect(),
            weights: case.layers().iter().map(|layer| exact(&layer.weight.values)).collect(),
            biases: case.layers().iter().map(|layer| exact(&layer.bias)).collect(),
        }
    }

    /// `L`.
    pub fn depth(&self) -> usize {
        self.case.layers().len() + 1
    }

    /// Units of a representation.
    pub fn width(&self, layer: usize) -> usize {
        self.case.layers()[layer - 2].bias.len()
    }

    /// `V(1) … V(top)` (places 1 to `top`) for a target.
    pub fn slice(&self, top: usize, target: usize) -> Vec<BTreeSet<usize>> {
        let mut slice = vec![BTreeSet::new(); top + 1];
        slice[top].insert(target);
        for l in (1..top).rev() {
            slice[l] =
                slice[l + 1].iter().flat_map(|&m| self.operators[l - 1][m].iter().map(|entry| entry.0)).collect();
        }
        slice
    }

    /// `W(layer)` from a unit to a unit of the next layer.
    pub(crate) fn weight(&self, layer: usize, input: usize, output: usize) -> &Exact {
        &self.weights[layer - 1][input * self.width(layer + 1) + output]
    }

    fn present(&self, node: usize, attribute: usize) -> bool {
        self.case.graph.attributes.contains(node, attribute as u32)
    }

    /// May the entry be flipped?
    pub fn permits(&self, node: usize, attribute: usize) -> bool {
        node < self.case.nodes()
            && attribute < self.case.attributes()
            && self.case.budget.permits(node, attribute, self.present(node, attribute))
    }

    /// The budget on the path; `None` if it is overspent.
    pub(crate) fn left(&self, path: &Path) -> Option<Left> {
        let (nodes, attributes) = (self.case.nodes(), self.case.attributes());
        let budget = &self.case.budget;
        let all = budget.global.min((nodes * attributes) as u64) as usize;
        let global = all.checked_sub(path.made.len())?;
        let mut local = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let own = budget.local[node].min(attributes as u64) as usize;
            let used = path.made.iter().filter(|flip| flip.0 == node).count();
            local.push(own.checked_sub(used)?.min(global));
        }
        Some(Left { global, local })
    }

    /// The free flips of a node.
    pub(crate) fn free(&self, node: usize, left: &Left, path: &Path) -> Vec<(usize, usize)> {
        if left.local[node] == 0 {
            return Vec::new();
        }
        let flips = (0..self.case.attributes()).map(|attribute| (node, attribute));
        flips
            .filter(|flip| self.permits(flip.0, flip.1) && !path.made.contains(flip) && !path.spared.contains(flip))
            .collect()
    }

    /// `v_nd W(1)_dj`.
    pub(crate) fn sent(&self, node: usize, attribute: usize, unit: usize) -> Exact {
        let weight = self.weight(1, attribute, unit);
        if self.present(node, attribute) { weight.negated() } else { weight.clone() }
    }

    /// The pre-activation of layer 2 at `X'`.
    pub(crate) fn value(&self, node: usize, unit: usize, path: &Path) -> Exact {
        let mut sum = self.biases[0][unit].clone();
        for &(n, a) in &self.operators[0][node] {
            let a = Exact::from_f64(a);
            for attribute in 0..self.case.attributes() {
                if self.present(n, attribute) != path.made.contains(&(n, attribute)) {
                    sum = sum.plus(&a.times(self.weight(1, attribute, unit)));
                }
            }
        }
        sum
    }

    /// Rule 1.
    pub(crate) fn select(&self, amounts: &[((usize, usize), Exact)], prices: &Prices, left: &Left) -> Exact {
        let mut sum = prices.every.times(&whole(left.global));
        for (&node, price) in &prices.nodes {
            sum = sum.plus(&price.times(&whole(left.local[node])));
        }
        for ((node, _), amount) in amounts {
            let mut over = amount.plus(&prices.every.negated());
            if let Some(price) = prices.nodes.get(node) {
                over = over.plus(&price.negated());
            }
            sum = sum.plus(&positive(&over));
        }
        sum
    }

    /// The change of a unit of layer 2 by every free flip that reaches it.
    pub(crate) fn changes(&self, node: usize, unit: usize, left: &Left, path: &Path) -> Amounts {
        let mut changes = Vec::new();
        for &(n, a) in &self.operators[0][node] {
            let a = Exact::from_f64(a);
            changes.extend(
                self.free(n, left, path).into_iter().map(|flip| (flip, a.times(&self.sent(flip.0, flip.1, unit)))),
            );
        }
        changes
    }

    /// Propagation from the bounds of layer `l` to a unit of layer `l + 1`.
    pub fn propagate(
        &self,
        l: usize,
        node: usize,
        unit: usize,
        bounds: &dyn Fn(usize, usize) -> (Exact, Exact),
    ) -> (Exact, Exact) {
        let (mut least, mut most) = (self.biases[l - 1][unit].clone(), self.biases[l - 1][unit].clone());
        for &(n, a) in &self.operators[l - 1][node] {
            let (mut low, mut high) = (zero(), zero());
            for i in 0..self.width(l) {
                let weight = self.weight(l, i, unit);
                let (lower, upper) = bounds(n, i);
                let (lower, upper) = (positive(&lower), positive(&upper));
                let (first, second) = if weight.sign() == Ordering::Greater { (lower, upper) } else { (upper, lower) };
                low = low.plus(&weight.times(&first));
                high = high.plus(&weight.times(&second));
            }
            let (first, second) = if a > 0.0 { (low, high) } else { (high, low) };
            let a = Exact::from_f64(a);
            least = least.plus(&a.times(&first));
            most = most.plus(&a.times(&second));
        }
        (least, most)
    }

    /// `z' − V` and `z' + U` of a unit of layer 2.
    pub fn first_bounds(
        &self,
        node: usize,
        unit: usize,
        prices: Option<&(Prices, Prices)>,
        path: &Path,
    ) -> Option<(Exact, Exact)> {
        let left = self.left(path)?;
        let z = self.value(node, unit, path);
        let (rise, fall) = self.rectangle(&self.changes(node, unit, &left, path), prices, &left);
        Some((z.plus(&fall.negated()), z.plus(&rise)))
    }

    /// Rule 2: `U` and `V`.
    pub(crate) fn rectangle(
        &self,
        changes: &[((usize, usize), Exact)],
        prices: Option<&(Prices, Prices)>,
        left: &Left,
    ) -> (Exact, Exact) {
        let none = (Prices::default(), Prices::default());
        let prices = prices.unwrap_or(&none);
        let up: Vec<_> = changes.iter().map(|(flip, g)| (*flip, positive(g))).collect();
        let down: Vec<_> = changes.iter().map(|(flip, g)| (*flip, positive(&g.negated()))).collect();
        (self.select(&up, &prices.0, left), self.select(&down, &prices.1, left))
    }
}
