//! Verdicts, margins, witnesses and bounds of whole nodes against the truth, with five settings of the certifier.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::case::Case;
use super::certifier::{
    Bound, Certifier, Effort, Limits, Margin, NodeResult, Reason, Verdict, Workspace, certifier_of,
};
use super::knife_edge::{knife_edge, on_the_edge};
use super::nasty::nasty;
use super::number::{at_least, at_most, smallest};
use super::plain::{BUSHY_DYADIC, BUSHY_REAL, bushy, lossy};
use super::radius;
use super::scaled::scaled;
use super::tally::{Tally, seeds, variable};
use super::truth::Truth;

/// One run of the certifier on one case.
struct Trial<'a> {
    seed: u64,
    case: &'a Case,
    truth: &'a Truth,
    bound: Bound,
    effort: Effort,
    /// Tree nodes of the generous limit and of the tight one.
    nodes: usize,
    few: usize,
}

/// Five settings of the certifier on all nodes of a case, and now and then its radii.
fn judge(seed: u64, case: &Case, workspace: &mut Workspace, tally: &mut Tally) {
    let Some(truth) = Truth::new(case, 400) else { return };
    let nodes = variable("GCNPROOF_TREE").unwrap_or(1000) as usize;
    let few = (seed % 7) as usize;
    let gap = [0.0, 1e-10, 1e-12][(seed % 3) as usize];
    let limits = |nodes| Limits { nodes, ..Limits::default() };
    let settings = [
        (Bound::Best, Effort::Minimize { limits: limits(nodes), gap }),
        (Bound::Paper, Effort::Minimize { limits: limits(few), gap }),
        (Bound::Best, Effort::Complete(limits(nodes))),
        (Bound::Anchored, Effort::Complete(limits(few))),
        (Bound::Paper, Effort::Optimal),
    ];
    for (bound, effort) in settings {
        let trial = Trial { seed, case, truth: &truth, bound, effort, nodes, few };
        let certifier = certifier_of(&case.graph, &case.network, case.budget.clone(), bound).with_effort(effort);
        if bound == Bound::Best {
            trial.activation_bounds(&certifier, tally);
            trial.unperturbed(&certifier, tally);
        }
        for target in 0..case.graph.node_count() {
            trial.target(&certifier, target, workspace, tally);
        }
    }
    if seed.is_multiple_of(20) {
        radius::judge(seed, case, limits(few), tally);
        radius::judge(seed, case, Limits::default(), tally);
    }
}

impl Trial<'_> {
    fn name(&self) -> String {
        let (seed, style, depth) = (self.seed, self.case.style, self.case.network.depth());
        format!("seed {seed} style {style} {:?} depth {depth}", self.bound)
    }

    /// `R ≤ Ĥ ≤ S` at every perturbation.
    fn activation_bounds(&self, certifier: &Certifier, tally: &mut Tally) {
        for (layer, bounds) in certifier.activation_bounds().iter().enumerate() {
            for (node, unit) in places(self.case, bounds.width) {
                let (lower, upper) = (bounds.lower(node)[unit], bounds.upper(node)[unit]);
                let outside = self.truth.representations.iter().position(|representations| {
                    let exact = &representations[layer][node][unit];
                    lower.is_nan() || upper.is_nan() || !at_most(lower, exact) || !at_least(upper, exact)
                });
                if let Some(at) = outside {
                    tally.fail(format!(
                        "{}: layer {} node {node} unit {unit}: {} outside [{lower:e}, {upper:e}] for {:?}",
                        self.name(),
                        layer + 2,
                        self.truth.representations[at][layer][node][unit].rough(),
                        self.truth.perturbations[at]
                    ));
                }
            }
        }
    }

    /// The forward pass without a perturbation encloses the exact one.
    fn unperturbed(&self, certifier: &Certifier, tally: &mut Tally) {
        for (layer, representation) in certifier.unperturbed().iter().enumerate() {
            for (node, unit) in places(self.case, representation.width) {
                let entry = representation.entry(node, unit);
                let exact = &self.truth.representations[0][layer][node][unit];
                let (lower, upper) = (entry.lower(), entry.upper());
                if (!lower.is_nan() && !at_most(lower, exact)) || (!upper.is_nan() && !at_least(upper, exact)) {
                    let name = self.name();
                    tally.fail(format!("{name}: forward layer {} {entry:?} {}", layer + 2, exact.rough()));
                }
            }
        }
    }

    /// Everything that is said of one node.
    fn target(&self, certifier: &Certifier, target: usize, workspace: &mut Workspace, tally: &mut Tally) {
        let (seed, style) = (self.seed, self.case.style);
        let name = format!("{} node {target}", self.name());
        let started = Instant::now();
        // Any class as the reference now and then, as with --labels.
        let result = if seed % 4 == 1 {
            let reference = (seed / 4) as usize % self.case.network.class_count();
            certifier.certify_class(target, reference, certifier.predicted(target), workspace)
        } else {
            certifier.certify_node(target, workspace)
        };
        if started.elapsed().as_secs_f64() > 20.0 {
            tally.notes.push(format!("{name} {:?}: {:?} {result:?}", self.effort, started.elapsed()));
        }
        if seed.is_multiple_of(8) {
            let fresh = certifier.certify_node(target, &mut Workspace::default());
            if format!("{fresh:?}") != format!("{result:?}") {
                tally.fail(format!("{name}: NOT REPRODUCIBLE {result:?} {fresh:?}"));
            }
        }
        let predicted = self.truth.predicted(target);
        if predicted != result.predicted {
            tally.fail(format!("{name}: predicted {} is {predicted}", result.predicted));
        }
        let mut robust = true;
        for margin in &result.margins {
            robust &= self.margin(&name, target, &result, margin, tally);
        }
        for (bound, claim) in
            [("paper", result.details.paper_certifies), ("anchored", result.details.anchored_certifies)]
        {
            if claim == Some(true) && !robust {
                tally.fail(format!("{name}: {bound} certifies falsely"));
            }
        }
        if result.verdict == Verdict::Robust && !robust {
            tally.fail(format!("{name}: FALSE ROBUST {result:?}"));
        }
        if result.verdict == Verdict::NonRobust {
            self.witness(&name, target, &result, tally);
        }
        if result.reason == Reason::Tie {
            self.tie(&name, target, &result, tally);
        }
        let complete = matches!(self.effort, Effort::Complete(_)) && !self.limited(&result);
        if complete && result.verdict == Verdict::Undecided {
            tally.count(style, "UNDECIDED without a limit");
            tally.notes.push(format!("{name}: undecided, truth {robust} {result:?}"));
        }
        tally.count(style, if result.search_nodes > 1 { "trees" } else { "no tree" });
        tally.count(
            style,
            match (result.verdict, robust) {
                (Verdict::Robust, _) => "robust",
                (Verdict::NonRobust, _) => "non-robust",
                (Verdict::Undecided, true) => "open, truly robust",
                (Verdict::Undecided, false) => "open, truly broken",
            },
        );
    }

    /// Whether the search may have been stopped by its limit.
    fn limited(&self, result: &NodeResult) -> bool {
        let few = if matches!(self.effort, Effort::Optimal) { 1 } else { self.nodes.min(self.few) };
        result.search_nodes >= few && self.bound != Bound::Best || result.search_nodes >= self.nodes
    }

    /// The margin of one class encloses the worst case, tightly where nothing stood in the way. Is the worst case
    /// positive?
    fn margin(&self, name: &str, target: usize, result: &NodeResult, margin: &Margin, tally: &mut Tally) -> bool {
        let worst = self.truth.worst_margin(target, result.reference, margin.class);
        let style = self.case.style;
        let minimised = matches!(self.effort, Effort::Minimize { .. }) && self.case.network.depth() > 2;
        if minimised && !self.limited(result) && matches!(style, BUSHY_DYADIC | BUSHY_REAL) {
            tally.count(style, "minimised");
            let tight = margin.upper - margin.lower <= 1e-9 * (1.0 + worst.rough().abs());
            if !tight {
                tally.count(style, "NOT TIGHT");
                tally.notes.push(format!("{name} {:?}: {margin:?} truth {:e}", self.effort, worst.rough()));
            }
        }
        if margin.lower.is_nan() || !at_most(margin.lower, &worst) {
            tally.fail(format!("{name}: {margin:?} above the worst case {:e}", worst.rough()));
        }
        if margin.upper.is_nan() {
            tally.undefined_uppers += 1;
        } else if !at_least(margin.upper, &worst) {
            tally.fail(format!("{name}: {margin:?} below the worst case {:e}", worst.rough()));
        }
        worst.is_positive()
    }

    /// A witness is admissible and changes the class: a larger logit, or an equal one where a tie is claimed.
    fn witness(&self, name: &str, target: usize, result: &NodeResult, tally: &mut Tally) {
        let Some(at) = self.truth.place(&result.witness) else {
            return tally.fail(format!("{name}: INADMISSIBLE {result:?}"));
        };
        let logits = self.truth.logits(at, target);
        let others = self.truth.other_classes(result.reference);
        let least = smallest(others.map(|class| logits[result.reference].minus(&logits[class])));
        let broken = match least.sign() {
            Ordering::Less => true,
            Ordering::Equal => result.reason == Reason::Tie,
            Ordering::Greater => false,
        };
        if !broken {
            tally.fail(format!("{name}: FALSE WITNESS {result:?}"));
        }
    }

    /// Where a tie is the reason, some class should tie at the witness; if none does, it is noted.
    fn tie(&self, name: &str, target: usize, result: &NodeResult, tally: &mut Tally) {
        let Some(at) = self.truth.place(&result.witness) else { return };
        let logits = self.truth.logits(at, target);
        let ties = |class: usize| logits[result.reference].compare(&logits[class]) == Ordering::Equal;
        if !self.truth.other_classes(result.reference).any(ties) {
            tally.count(self.case.style, "TIE that is none");
            tally.notes.push(format!("{name} {:?}: tie that is none {result:?}", self.effort));
        }
    }
}

/// All nodes with all units of a representation.
fn places(case: &Case, width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..case.graph.node_count()).flat_map(move |node| (0..width).map(move |unit| (node, unit)))
}

fn run(generate: fn(u64) -> Case) {
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    for seed in seeds(1_000) {
        let attempt = || judge(seed, &generate(seed), &mut workspace, &mut tally);
        if catch_unwind(AssertUnwindSafe(attempt)).is_err() {
            tally.fail(format!("seed {seed}: PANIC"));
            workspace = Workspace::default();
        }
    }
    tally.conclude();
}

#[test]
fn exact_brute_force_on_nasty_numbers() {
    run(nasty);
}

#[test]
fn exact_brute_force_on_scaled_nets() {
    run(scaled);
}

#[test]
fn exact_brute_force_on_the_knife_edge() {
    run(knife_edge);
}

#[test]
fn lossy_sums() {
    run(lossy);
}

#[test]
fn bushy_trees() {
    run(bushy);
}

#[test]
fn bushy_knife_edge() {
    run(|seed| on_the_edge(seed, bushy(seed)));
}

/// Dyadic numbers, exact in f64: the search once found a negative margin after a tie, and the reason stayed "tie".
#[test]
fn a_tie_that_is_none() {
    let case = bushy(3159);
    let effort = Effort::Minimize { limits: Limits { nodes: 2_000, ..Limits::default() }, gap: 1e-9 };
    let certifier = certifier_of(&case.graph, &case.network, case.budget, Bound::Best).with_effort(effort);
    let result = certifier.certify_node(0, &mut Workspace::default());
    assert!(result.reason != Reason::Tie || result.margins.iter().all(|margin| margin.upper >= 0.0), "{result:?}");
}
