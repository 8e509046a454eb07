//! The path bound: how far flips can move a margin at most, from sums of weights along paths, without slopes
//! (docs/math.md §17).

use std::sync::{Arc, OnceLock};

use crate::bound::menu::{Menu, RowLosses, Scale, Scales};
use crate::bound::row_sums::RowSums;
use crate::number::rounding::{Enclosure, FLOOR, error_of, gamma};
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::forward::Representation;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network, Operator};
use crate::problem::slice::Slice;

/// Numbers in all lists together; a network with more of them has no path bound.
const MOST_NUMBERS: usize = 1 << 25;

/// What an attribute can lose a class pair at most, for every node that reaches the target with weight 1.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// When it is added: in falling order.
    added: Vec<f64>,
    /// When it is removed: by attribute.
    removed: Vec<f64>,
    /// The largest entry of `removed`: rows where even this is too little are passed over.
    most_removed: f64,
    /// What rises and falls of the units of representation 2 lose, by one row's flips.
    units: Effects,
}

/// The losses of all class pairs.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    classes: usize,
    /// By layer: has its operator negative entries?
    signed: Vec<bool>,
    /// Where rows are normalised: what they send.
    row_sums: Arc<RowSums>,
    /// By reference and other class, made when they are first asked for; none where a sum overflows.
    pairs: Vec<OnceLock<Option<Losses>>>,
}

/// By how much a rise and a fall of each unit lowers the objective, at most.
#[derive(Clone, Debug, Default)]
struct Effects {
    rise: Vec<f64>,
    fall: Vec<f64>,
}

/// A layer, and whether its operator has negative entries.
struct Signed<'a> {
    layer: &'a Layer,
    signed: bool,
}

/// Buffers of one thread: how strongly each node of a slice reaches the target.
#[derive(Debug, Default)]
pub(crate) struct PathBuffers {
    /// The weight with which each node of the slice reaches the target, from above.
    weights: Vec<f64>,
    above: Vec<f64>,
    /// The largest of them, among nodes that may be flipped.
    largest: Vec<(f64, usize)>,
    losses: Vec<f64>,
    /// Where rows are normalised: the nodes of the slice, those that reach the target with the largest weights first.
    order: Vec<usize>,
    removals: Vec<f64>,
    menu: Menu,
    scales: Scales,
}

/// A sum of non-negative numbers that is surely not below the exact one.
fn sum_above(terms: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = terms.fold((FLOOR, 0), |(sum, count), term| (sum + term, count + 1));
    sum + error_of(count + 3, sum)
}

impl Effects {
    /// Of the outputs of the last layer, seen from its inputs.
    fn of_pair(last: &Signed, reference: usize, class: usize) -> Option<Effects> {
        let (signed, last) = (last.signed, last.layer);
        let difference = |i: usize| {
            let row = last.weight.row(i);
            row[reference] - row[class]
        };
        let positive = |x: f64| if x > 0.0 { x.next_up() } else { 0.0 };
        let fall = (0..last.inputs()).map(|i| positive(difference(i))).collect();
        let rise = (0..last.inputs()).map(|i| positive(-difference(i))).collect();
        Effects { rise, fall }.through(signed)
    }

    /// Only finite numbers are compared: the larger of a number and of what is none would be the number.
    fn checked(self) -> Option<Effects> {
        self.rise.iter().chain(&self.fall).all(|effect| effect.is_finite()).then_some(self)
    }

    /// Where an operator has entries of both signs, a unit may rise or fall: both cost the larger of the two.
    fn through(self, signed: bool) -> Option<Effects> {
        let mut effects = self.checked()?;
        if signed {
            for (rise, fall) in effects.rise.iter_mut().zip(&mut effects.fall) {
                *rise = rise.max(*fall);
                *fall = *rise;
            }
        }
        Some(effects)
    }

    /// What a rise of input `i` of a layer loses: through weights of one sign its outputs rise, through the others they
    /// fall.
    fn of_rise(&self, weights: &[f64]) -> f64 {
        let effect = |(j, &w): (usize, &f64)| if w > 0.0 { w * self.rise[j] } else { -w * self.fall[j] };
        sum_above(weights.iter().enumerate().map(effect))
    }

    /// The same of a fall.
    fn of_fall(&self, weights: &[f64]) -> f64 {
        let effect = |(j, &w): (usize, &f64)| if w > 0.0 { w * self.fall[j] } else { -w * self.rise[j] };
        sum_above(weights.iter().enumerate().map(effect))
    }

    /// What a rise of all units by these sums loses, and a fall by them, where the sums have so many terms of these
    /// sizes.
    fn of_sums(&self, sums: &[f64], sizes: &[f64], terms: usize) -> [f64; 2] {
        [1.0, -1.0].map(|sign| {
            sum_above(sums.iter().zip(sizes).enumerate().map(|(j, (&sum, &size))| {
                let (sum, error) = (sign * sum, error_of(terms + 1, size));
                (sum.max(0.0) + error) * self.rise[j] + ((-sum).max(0.0) + error) * self.fall[j]
            }))
        })
    }

    /// One layer further down (docs/math.md (17.2)).
    fn below(&self, Signed { layer, signed }: &Signed) -> Option<Effects> {
        let rows = || (0..layer.inputs()).map(|i| layer.weight.row(i));
        let rise = rows().map(|weights| self.of_rise(weights)).collect();
        let fall = rows().map(|weights| self.of_fall(weights)).collect();
        Effects { rise, fall }.through(*signed)
    }
}

impl Paths {
    /// Of a network; none if its layers have several terms, or if there are too many numbers.
    pub(crate) fn new(network: &Network, row_sums: Arc<RowSums>) -> Option<Paths> {
        let layers = network.layers();
        let (classes, attributes) = (network.class_count(), layers[0].inputs());
        let numbers = (2 * attributes).checked_mul(classes)?.checked_mul(classes)?;
        if layers.len() < 2 || numbers > MOST_NUMBERS || layers.iter().any(|layer| layer.passing.terms() != 1) {
            return None;
        }
        // By the entries, which are what counts; and by the rule, so that parts of a graph are treated as the whole.
        let is_signed = |layer: &Layer| layer.passing.has_negative() || layer.operators.iter().any(Operator::is_signed);
        let pairs = vec![OnceLock::new(); classes * classes];
        Some(Paths { classes, signed: layers.iter().map(is_signed).collect(), row_sums, pairs })
    }

    /// The losses of a pair, for the network and a budget that freezes the same attributes.
    fn losses(&self, network: &Network, budget: &Budget, reference: usize, class: usize) -> Option<&Losses> {
        let found = self.pairs[reference * self.classes + class].get_or_init(|| {
            let layers = network.layers().iter().zip(&self.signed);
            let signed: Vec<Signed> = layers.map(|(layer, &signed)| Signed { layer, signed }).collect();
            let (first, above) = signed.split_first()?;
            let (last, between) = above.split_last()?;
            let last = Effects::of_pair(last, reference, class)?;
            let units = between.iter().rev().try_fold(last, |effects, layer| effects.below(layer))?;
            let effects = units.below(first)?;
            // Where entries have both signs, what arrives may rise or fall.
            let units = units.through(first.signed)?;
            let kept = |losses: Vec<f64>, allowed: bool| -> Vec<f64> {
                let of = |(d, loss): (usize, f64)| if allowed && !budget.is_frozen(d) { loss } else { 0.0 };
                losses.into_iter().enumerate().map(of).collect()
            };
            // Adding an attribute raises its input from 0 to 1, removing it lowers it: rises and falls of size 1.
            let mut added = kept(effects.rise, budget.direction().adds());
            let removed = kept(effects.fall, budget.direction().removes());
            added.sort_unstable_by(|x, y| y.total_cmp(x));
            let most_removed = removed.iter().copied().fold(0.0, f64::max);
            Some(Losses { added, removed, most_removed, units })
        });
        found.as_ref()
    }

    /// A lower bound of the margin over a class under all admissible flips of the slice's target, for which `reached`
    /// was filled (docs/math.md (17.1)); −∞ if there is none.
    pub(crate) fn lower(
        &self,
        problem: &Problem,
        slice: &Slice,
        logits: &Representation,
        reference: usize,
        class: usize,
        reached: &mut PathBuffers,
    ) -> f64 {
        if problem.graph().normalisation().is_some() {
            return self.lower_of_rows(problem, slice, logits, reference, class, reached);
        }
        let budget = problem.budget();
        let losses = self.losses(problem.network(), budget, reference, class);
        let Some(Losses { added, removed, most_removed, .. }) = losses else {
            return f64::NEG_INFINITY;
        };
        let target = slice.nodes(slice.top())[0] as usize;
        let global = budget.global();
        let PathBuffers { weights, largest, losses, .. } = reached;
        losses.clear();
        for &(weight, n) in largest.iter() {
            // A node uses its local budget at most, and its largest losses come first.
            let most = budget.local(slice.nodes(1)[n] as usize).min(global).min(added.len());
            losses.extend(added[..most].iter().map(|loss| weight * loss));
        }
        let mut threshold = keep_largest(losses, global);
        if *most_removed > 0.0 {
            for (&node, &weight) in slice.nodes(1).iter().zip(weights.iter()) {
                if weight * most_removed <= threshold || budget.local(node as usize) == 0 {
                    continue;
                }
                let present =
                    problem.graph().attributes().row(node as usize).iter().map(|&d| weight * removed[d as usize]);
                losses.extend(present.filter(|&loss| loss > threshold));
                if losses.len() / 4 > global {
                    threshold = keep_largest(losses, global);
                }
            }
            keep_largest(losses, global);
        }
        less(logits, target, reference, class, losses)
    }

    /// The same where rows are normalised: rows lose the steps of their menus (docs/math.md (21.11)). Once it is known
    /// not to be positive, the rest is not evaluated.
    fn lower_of_rows(
        &self,
        problem: &Problem,
        slice: &Slice,
        logits: &Representation,
        reference: usize,
        class: usize,
        reached: &mut PathBuffers,
    ) -> f64 {
        let (graph, budget) = (problem.graph(), problem.budget());
        let Some(Losses { added, removed, most_removed, units }) =
            self.losses(problem.network(), budget, reference, class)
        else {
            return f64::NEG_INFINITY;
        };
        let target = slice.nodes(slice.top())[0] as usize;
        let (global, normalisation) = (budget.global(), graph.normalisation());
        let PathBuffers { weights, order, losses, removals, menu, scales, .. } = reached;
        let most_flip = added.first().copied().unwrap_or(0.0).max(*most_removed);
        losses.clear();
        let mut threshold = 0.0;
        for &n in order.iter() {
            let (node, weight) = (slice.nodes(1)[n], weights[n]);
            let capacity = budget.local(node as usize).min(global);
            if capacity == 0 {
                continue;
            }
            let present = graph.attributes().row(node as usize);
            // What the row loses where its entries become larger, and where they become smaller, by 1.
            let (sent, sizes) = self.row_sums.of(node).split_at(units.rise.len());
            let [larger, smaller] = units.of_sums(sent, sizes, present.len());
            let Scale { shift, largest } = scales.of(normalisation, present.len(), capacity);
            let most = shift * larger.max(smaller) + largest * most_flip;
            if weight * most * (1.0 + 1e-9) <= threshold {
                continue;
            }
            removals.clear();
            if budget.direction().removes() {
                removals.extend(present.iter().map(|&d| removed[d as usize]));
                removals.sort_unstable_by(|x, y| y.total_cmp(x));
                removals.truncate(capacity);
            }
            let additions = if budget.direction().adds() { capacity.min(added.len()) } else { 0 };
            let whole = 0.5 * (smaller - larger);
            let row = RowLosses {
                normalisation,
                count: present.len(),
                additions: &added[..additions],
                removals,
                whole,
                radius: (smaller - whole).max(larger + whole).next_up().next_up(),
                limits: [[0, usize::MAX]; 2],
            };
            menu.fill(row, capacity);
            losses.extend(menu.steps.iter().map(|step| weight * step).filter(|&loss| loss > threshold));
            threshold = keep_largest(losses, global);
            // A comparison with NaN is false: then nothing is positive either.
            let positive = less(logits, target, reference, class, losses) > 0.0;
            if !positive {
                return f64::NEG_INFINITY;
            }
        }
        less(logits, target, reference, class, losses)
    }
}

/// The unperturbed margin less some losses, rounded down.
fn less(logits: &Representation, target: usize, reference: usize, class: usize, losses: &[f64]) -> f64 {
    let (x, y) = (logits.entry(target, reference), logits.entry(target, class));
    let margin = x.value - y.value;
    let error = (x.error + y.error) * (1.0 + 1e-9) + error_of(1, margin.abs());
    let worst = sum_above(losses.iter().copied());
    // Two roundings: of the product of weight and loss, and of the difference.
    let error = error + gamma(8) * worst + error_of(2, margin.abs());
    Enclosure { value: margin - worst, error }.lower()
}

/// Drops all but the `count` largest; what the last of them is, or 0 if there are fewer.
fn keep_largest(losses: &mut Vec<f64>, count: usize) -> f64 {
    if count == 0 {
        losses.clear();
        return f64::INFINITY;
    }
    if losses.len() < count {
        return 0.0;
    }
    let (_, &mut last, _) = losses.select_nth_unstable_by(count - 1, |x, y| y.total_cmp(x));
    losses.truncate(count);
    last
}

impl PathBuffers {
    /// Cuts the slice of a node, and finds the weights with which its nodes reach the target: sums over all paths of
    /// the sizes of the entries. Are they all finite? Else there is no bound. Where rows are normalised, they are put
    /// in order as well.
    pub(crate) fn fill(&mut self, slice: &mut Slice, problem: &Problem, node: usize) -> bool {
        let (budget, rows) = (problem.budget(), problem.graph().normalisation().is_some());
        let PathBuffers { weights, above, largest, order, .. } = self;
        slice.cut_paths(problem.network(), node, weights, above);
        // Every row of an operator adds to a sum at most once.
        let roundings = slice.top() + (1..slice.top()).map(|l| slice.nodes(l + 1).len() + 1).sum::<usize>();
        for weight in weights.iter_mut() {
            *weight += error_of(roundings, *weight);
        }
        largest.clear();
        let flippable = |&(n, _): &(usize, &f64)| budget.local(slice.nodes(1)[n] as usize) > 0;
        largest.extend(weights.iter().enumerate().filter(flippable).map(|(n, &weight)| (weight, n)));
        let count = budget.global();
        if largest.len() > count {
            if count > 0 {
                largest.select_nth_unstable_by(count - 1, |x, y| y.0.total_cmp(&x.0));
            }
            largest.truncate(count);
        }
        order.clear();
        if rows {
            order.extend(0..weights.len());
            order.sort_unstable_by(|&x, &y| weights[y].total_cmp(&weights[x]).then(x.cmp(&y)));
        }
        weights.iter().all(|weight| weight.is_finite())
    }
}
