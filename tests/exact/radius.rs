//! Certified and attacked radii of all nodes against the smallest perturbation that changes a class.

use super::case::Case;
use super::certifier::{Bound, Effort, Limits, certifier_of, radii};
use super::tally::Tally;
use super::truth::Truth;

/// The largest budget that is asked for.
const LIMIT: usize = 3;

/// Whatever the limits, radii are right; without any they are exact.
pub fn judge(seed: u64, case: &Case, limits: Limits, tally: &mut Tally) {
    let nodes: Vec<usize> = (0..case.graph.node_count()).collect();
    let certifier = certifier_of(&case.graph, &case.network, case.budget.with_global(0), Bound::Best)
        .with_effort(Effort::Complete(limits));
    let widened = Case { budget: case.budget.with_global(LIMIT), ..case.clone() };
    let Some(truth) = Truth::new(&widened, 400) else { return };
    let radii = radii(&certifier, &nodes, LIMIT, || false, |_, _| ()).unwrap();
    for target in nodes {
        let reference = truth.predicted(target);
        let broken = |place: &usize| {
            let logits = truth.logits(*place, target);
            truth.other_classes(reference).any(|class| !logits[reference].minus(&logits[class]).is_positive())
        };
        let smallest = (0..truth.perturbations.len()).filter(broken).map(|at| truth.perturbations[at].len()).min();
        let radius = &radii[&target];
        let too_far = radius.certified.is_some_and(|flips| smallest.is_some_and(|least| flips >= least));
        let too_near = radius.attacked.is_some_and(|flips| smallest.is_none_or(|least| flips < least));
        let whole = match smallest {
            Some(least) => (least.checked_sub(1), Some(least)),
            None => (Some(LIMIT), None),
        };
        let open = limits == Limits::default() && (radius.certified, radius.attacked) != whole;
        if too_far || too_near || open {
            tally.fail(format!("seed {seed} node {target}: radius {radius:?}, truth {smallest:?}"));
        }
    }
}
