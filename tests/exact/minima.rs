//! Without limits everything is decided, truly, and the minima are those of brute force, exactly.

use std::cmp::Ordering;

use super::case::Case;
use super::certifier::{Bound, Effort, Limits, NodeResult, Verdict, Workspace, certifier_of};
use super::knife_edge::{knife_edge, on_the_edge};
use super::nasty::nasty;
use super::number::{Exact, at_least, at_most};
use super::plain::lossy;
use super::quantised::quantised;
use super::scaled::scaled;
use super::tally::{Tally, seeds};
use super::truth::Truth;

fn judge(seed: u64, case: &Case, workspace: &mut Workspace, tally: &mut Tally) {
    let Some(truth) = Truth::new(case, 300) else { return };
    let bound = [Bound::Best, Bound::Paper, Bound::Anchored][(seed % 3) as usize];
    let limits = Limits::default();
    let certifier = |effort| certifier_of(&case.graph, &case.network, case.budget.clone(), bound).with_effort(effort);
    let complete = certifier(Effort::Complete(limits));
    let minimise = certifier(Effort::Minimize { limits, gap: 0.0 });
    let rough = certifier(Effort::Minimize { limits, gap: 0.1 });
    for target in 0..case.graph.node_count() {
        let predicted = complete.predicted(target);
        // Any class as the reference now and then.
        let any = (seed / 4) as usize % case.network.class_count();
        let reference = if seed % 4 == 1 { any } else { predicted };
        let worst: Vec<Exact> =
            truth.other_classes(reference).map(|class| truth.worst_margin(target, reference, class)).collect();
        let robust = worst.iter().all(Exact::is_positive);
        let wanted = if robust { Verdict::Robust } else { Verdict::NonRobust };
        let depth = case.network.depth();
        for (effort, certifier) in [("complete", &complete), ("minimise", &minimise), ("rough", &rough)] {
            let name = format!("seed {seed} style {} depth {depth} {bound:?} node {target} {effort}", case.style);
            let result = certifier.certify_class(target, reference, predicted, workspace);
            tally.count(case.style, effort);
            if result.verdict != wanted {
                tally.fail(format!("{name}: {:?} is {wanted:?} {result:?}", result.verdict));
            }
            let perturbations = truth.perturbations.len();
            if result.search_nodes > 20 * perturbations + 50 {
                let nodes = result.search_nodes;
                tally.notes.push(format!("{name}: {nodes} tree nodes for {perturbations} perturbations"));
            }
            for (margin, worst) in result.margins.iter().zip(&worst) {
                if !at_most(margin.lower, worst) || !at_least(margin.upper, worst) {
                    tally.fail(format!("{name}: {margin:?}, truth {:e}", worst.rough()));
                }
            }
            if effort == "minimise" {
                minima(&name, target, (&result, &worst), &truth, tally);
            }
        }
    }
}

/// Each minimum is the worst case itself, its flips attain it, and its bounds are equal or neighbouring floats.
fn minima(name: &str, target: usize, (result, worst): (&NodeResult, &[Exact]), truth: &Truth, tally: &mut Tally) {
    for ((minimum, worst), margin) in result.minima.iter().zip(worst).zip(&result.margins) {
        let Some(minimum) = minimum else {
            tally.fail(format!("{name}: no minimum {result:?}"));
            continue;
        };
        let claimed = Exact::fraction(&minimum.margin.to_string());
        let attained = truth.place(&minimum.changes).is_some_and(|at| {
            let logits = truth.logits(at, target);
            logits[result.reference].minus(&logits[margin.class]).compare(&claimed) == Ordering::Equal
        });
        if claimed.compare(worst) != Ordering::Equal || !attained {
            tally.fail(format!("{name}: {minimum:?} attained {attained}, truth {:e}", worst.rough()));
        }
        if margin.lower != margin.upper && margin.lower.next_up() != margin.upper {
            tally.fail(format!("{name}: {margin:?} are not neighbours"));
        }
    }
}

#[test]
fn nothing_is_left_undecided_and_minima_are_exact() {
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    let seeds = seeds(3_000);
    for seed in seeds.clone() {
        let case = match seed % 8 {
            0..=2 => quantised(seed),
            3 => nasty(seed),
            4 => scaled(seed),
            5 => knife_edge(seed),
            6 => lossy(seed),
            _ => on_the_edge(seed, quantised(seed)),
        };
        judge(seed, &case, &mut workspace, &mut tally);
    }
    tally.conclude();
    assert!(tally.sum("minimise") > seeds.count() / 2, "too few of them to mean anything");
}
