//! Branches of the search: any fixed flips, any assumed signs, any multipliers. Bounds of units and of margins against
//! the truth.

use std::cmp::Ordering;
use std::sync::Arc;

use gcnproof_verify::random::Stream;

use super::case::Case;
use super::certifier::{
    Assumption, Attributes, Backward, Bound, Certifier, Decided, Evaluator, Flip, Hidden, LayerBounds, ListedBudgets,
    Located, Places, Relaxed, SearchSpace, Selection, Slice, Slopes, certifier_of, error_of, first_hidden_in_branch,
    propagate_in_slice,
};
use super::knife_edge::knife_edge;
use super::nasty::nasty;
use super::number::{Exact, at_least, at_most, smallest};
use super::plain::{bushy, lossy};
use super::prices::any_prices;
use super::scaled::scaled;
use super::tally::{Tally, seeds};
use super::truth::{Truth, pairs};

/// What the branches of one case have in common.
struct Setting<'a> {
    seed: u64,
    case: &'a Case,
    truth: &'a Truth,
    certifier: &'a Certifier,
    attributes: Attributes,
}

/// Six branches for every node of a case that has hidden units.
fn judge(seed: u64, case: &Case, tally: &mut Tally) {
    if case.network.depth() < 3 {
        return;
    }
    let Some(truth) = Truth::new(case, 400).filter(|truth| truth.perturbations.len() >= 2) else { return };
    let stream = &mut Stream::new(seed ^ 0x2468_ace0);
    let (graph, gcn, budget) = (&case.graph, &case.network, &case.budget);
    let certifier = certifier_of(graph, gcn, budget.clone(), Bound::Best);
    let attributes = Attributes::new(&gcn.layers()[0], budget);
    let setting = Setting { seed, case, truth: &truth, certifier: &certifier, attributes };
    let mut selection = Selection::default();
    for target in 0..graph.node_count() {
        let mut slice = Slice::default();
        slice.cut(gcn, gcn.depth(), target);
        if slice.nodes(2).is_empty() || slice.nodes(1).is_empty() {
            continue;
        }
        let mut evaluator = Evaluator::default();
        selection.forget();
        for _ in 0..6 {
            setting.branch(target, &slice, &mut evaluator, &mut selection, stream, tally);
        }
    }
}

impl Setting<'_> {
    fn branch(
        &self,
        target: usize,
        slice: &Slice,
        evaluator: &mut Evaluator,
        selection: &mut Selection,
        stream: &mut Stream,
        tally: &mut Tally,
    ) {
        let decided = self.any_restriction(stream);
        let inside = self.inside(&decided);
        let prepared = self.certifier.prepared();
        let _ = evaluator.logits(prepared.problem(), prepared.unperturbed(), slice, &decided.flipped).count();
        let mut hidden = self.bounded(slice, evaluator, &decided);
        if stream.chance(70) {
            let flips = self.truth.perturbations.iter().flatten().map(flip);
            let listed: Vec<Flip> = flips.filter(|_| stream.chance(20)).collect();
            let envelope = any_prices(self.case, slice, &hidden, &listed, stream);
            let left = ListedBudgets::new(&envelope, &self.case.budget, &decided);
            hidden.envelope = Some((Arc::new(envelope), left));
        }
        let bounds = self.bounds_above(slice, &hidden);
        self.units_are_enclosed(target, slice, &bounds, &inside, tally);
        self.assume_signs(slice, &mut hidden, &inside, stream);
        let satisfied: Vec<usize> = inside.into_iter().filter(|&at| self.satisfies(slice, &hidden, at)).collect();
        let classes = self.case.network.class_count();
        let reference = stream.below(classes);
        let class = (reference + 1 + stream.below(classes - 1)) % classes;
        let slopes_above: Vec<Vec<f64>> = (3..self.case.network.depth())
            .map(|layer| {
                let units = slice.nodes(layer).len() * self.case.network.width(layer);
                (0..units).map(|_| stream.real().abs()).collect()
            })
            .collect();
        let mut backward = Backward::default();
        let objective = [(reference, 1.0), (class, -1.0)];
        backward.run_at(&self.case.network, slice, Located::Slice(&bounds), &objective, &slopes_above);
        let worst = smallest(satisfied.iter().map(|&at| {
            let logits = self.truth.logits(at, target);
            logits[reference].minus(&logits[class])
        }));
        for _ in 0..3 {
            let weights = any_weights(hidden.count(), stream);
            let mut relaxed = Relaxed::default();
            relaxed.mixed(&backward, &hidden, &weights, None);
            let bound = self.margin_bound(&relaxed, (slice, hidden.width), &decided, selection);
            self.bound_holds(target, bound, &worst, &decided, tally);
        }
    }

    /// A random admissible set is made, flips of another are spared.
    fn any_restriction(&self, stream: &mut Stream) -> Decided {
        let sets = &self.truth.perturbations;
        let any = |stream: &mut Stream| sets[stream.below(sets.len())].iter().map(flip);
        let made: Vec<Flip> = if stream.chance(30) { vec![] } else { any(stream).collect() };
        let spared = any(stream).filter(|flip| !made.contains(flip)).collect();
        Decided { flipped: made, kept: spared, ..Decided::default() }
    }

    /// The perturbations of the branch.
    fn inside(&self, decided: &Decided) -> Vec<usize> {
        let (made, spared) = (pairs(&decided.flipped), pairs(&decided.kept));
        let belongs = |&at: &usize| {
            let set = &self.truth.perturbations[at];
            made.iter().all(|flip| set.contains(flip)) && !spared.iter().any(|flip| set.contains(flip))
        };
        (0..self.truth.perturbations.len()).filter(belongs).collect()
    }

    /// Units of representation 2 with the bounds of the branch, around what the evaluator holds.
    fn bounded(&self, slice: &Slice, evaluator: &Evaluator, decided: &Decided) -> Hidden {
        let mut hidden = Hidden::default();
        hidden.load(slice, &self.certifier.unperturbed()[0], &self.certifier.activation_bounds()[0]);
        hidden.anchor_at(evaluator);
        let tighter = first_hidden_in_branch(
            self.certifier.prepared().problem(),
            self.certifier.prepared().columns(),
            decided,
            slice,
            &hidden,
            &mut gcnproof::internals::bound::activation::KnownSteps::default(),
            &gcnproof::internals::problem::limits::Watch::default(),
        )
        .unwrap();
        for at in 0..hidden.count() {
            hidden.lower[at] = hidden.lower[at].max(tighter.lower[at]);
            hidden.upper[at] = hidden.upper[at].min(tighter.upper[at]);
        }
        hidden.cap = tighter.caps;
        hidden
    }

    /// Bounds of all hidden representations, from those of representation 2.
    fn bounds_above(&self, slice: &Slice, hidden: &Hidden) -> Vec<LayerBounds> {
        let (lower, upper) = (hidden.lower.clone(), hidden.upper.clone());
        let mut bounds = vec![LayerBounds {
            width: hidden.width,
            lower,
            upper,
            caps: Vec::new(),
            linear: Vec::new(),
            interval: Vec::new(),
            rows: Places::Own,
        }];
        for layer in 2..self.case.network.depth() - 1 {
            let below = &bounds[layer - 2];
            bounds.push(propagate_in_slice(&self.case.network.layers()[layer - 1], slice, layer, below));
        }
        bounds
    }

    fn units_are_enclosed(
        &self,
        target: usize,
        slice: &Slice,
        bounds: &[LayerBounds],
        inside: &[usize],
        tally: &mut Tally,
    ) {
        for (layer, bounds) in bounds.iter().enumerate() {
            for (row, &node) in slice.nodes(layer + 2).iter().enumerate() {
                for unit in 0..bounds.width {
                    let enclosed = |&at: &usize| {
                        let exact = &self.truth.representations[at][layer][node as usize][unit];
                        at_most(bounds.lower(row)[unit], exact) && at_least(bounds.upper(row)[unit], exact)
                    };
                    if !inside.iter().all(enclosed) {
                        let seed = self.seed;
                        tally.fail(format!("seed {seed} node {target} layer {} BRANCH BOUND", layer + 2));
                    }
                }
            }
        }
    }

    /// Assumptions that at least one perturbation of the branch satisfies.
    fn assume_signs(&self, slice: &Slice, hidden: &mut Hidden, inside: &[usize], stream: &mut Stream) {
        let guide = inside[stream.below(inside.len())];
        for at in 0..hidden.count() {
            if stream.chance(60) {
                continue;
            }
            let active = match self.sign(slice, hidden, guide, at) {
                Ordering::Equal => stream.chance(50),
                sign => sign == Ordering::Greater,
            };
            hidden.assumption[at] = if active { Assumption::Active } else { Assumption::Inactive };
        }
    }

    /// The sign of a unit of representation 2 at a perturbation.
    fn sign(&self, slice: &Slice, hidden: &Hidden, perturbation: usize, unit: usize) -> Ordering {
        let node = slice.nodes(2)[unit / hidden.width] as usize;
        self.truth.representations[perturbation][0][node][unit % hidden.width].sign()
    }

    /// Does a perturbation satisfy all assumptions?
    fn satisfies(&self, slice: &Slice, hidden: &Hidden, perturbation: usize) -> bool {
        (0..hidden.count()).all(|unit| match hidden.assumption[unit] {
            Assumption::Free => true,
            Assumption::Active => self.sign(slice, hidden, perturbation, unit) != Ordering::Less,
            Assumption::Inactive => self.sign(slice, hidden, perturbation, unit) != Ordering::Greater,
        })
    }

    /// The margin's lower bound as the search puts it together from a relaxation and the worst selection of flips.
    fn margin_bound(
        &self,
        relaxed: &Relaxed,
        (slice, width): (&Slice, usize),
        decided: &Decided,
        selection: &mut Selection,
    ) -> f64 {
        let mut slopes = Slopes::default();
        let Case { graph, budget, .. } = self.case;
        let layer = &self.case.network.layers()[0];
        let space = SearchSpace { graph, layer, budget, decided, attributes: &self.attributes, row_sums: None };
        let loss_error = relaxed.spread(slice, width, self.attributes.norm(0), &mut slopes);
        let loss = selection.select(&space, slice, &slopes);
        let all: usize = slice.nodes(1).iter().map(|&node| budget.local(node as usize)).sum();
        let mut total = relaxed.base;
        total.add(-loss);
        total.allow(all.min(budget.global()) as f64 * loss_error + error_of(selection.flips().len(), loss));
        total.close().lower()
    }

    fn bound_holds(&self, target: usize, bound: f64, worst: &Exact, decided: &Decided, tally: &mut Tally) {
        let style = self.case.style;
        tally.count(style, "branches");
        if !bound.is_nan() && !at_most(bound, worst) {
            let (seed, depth) = (self.seed, self.case.network.depth());
            tally.fail(format!(
                "seed {seed} style {style} node {target} depth {depth}: BOUND {bound:e} truth {:e} {decided:?}",
                worst.rough(),
            ));
        }
        if bound.is_finite() {
            tally.count(style, "finite");
            if (worst.rough() - bound).abs() <= 1e-9 * (1.0 + bound.abs()) {
                tally.count(style, "tight");
            }
        }
    }
}

fn flip(pair: &(usize, usize)) -> Flip {
    Flip { node: pair.0 as u32, attribute: pair.1 as u32 }
}

/// Multipliers of the units, sensible ones and any others.
fn any_weights(count: usize, stream: &mut Stream) -> Vec<f64> {
    let weight = |stream: &mut Stream| match stream.below(8) {
        0 => 0.0,
        1 => 1.0,
        2 => stream.real() * 10.0,
        3 => -0.5,
        4 => stream.real().abs() * 1e-17,
        5 => f64::NAN,
        _ => stream.real().abs(),
    };
    (0..count).map(|_| weight(stream)).collect()
}

#[test]
fn any_branch_and_any_multipliers() {
    let mut tally = Tally::default();
    for seed in seeds(3_000) {
        let case = match seed % 5 {
            0 => bushy(seed),
            1 => nasty(seed),
            2 => scaled(seed),
            3 => knife_edge(seed),
            _ => lossy(seed),
        };
        judge(seed, &case, &mut tally);
    }
    tally.conclude();
}
