//! The certifier against brute force: every admissible perturbation of random tiny problems of depth 2 to 5.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Verdict};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::enumeration;

use crate::common::{self, certifier_of};

const PROBLEMS: u64 = 10_500;
const LIMIT: u128 = 5_000;
/// Rounding of the naive evaluation; on dyadic problems it makes none.
const TOLERANCE: f64 = 1e-9;

#[test]
fn no_verdict_contradicts_brute_force() {
    let mut workspace = Workspace::default();
    let (mut robust, mut broken, mut open, mut ties, mut pairs, mut skipped) = (0, 0, 0, 0, 0, 0);
    for seed in 0..PROBLEMS {
        let problem = common::problem(seed, 2 + (seed % 4) as usize);
        let bound = [Bound::Best, Bound::Paper, Bound::Anchored][(seed / 4 % 3) as usize];
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), bound);
        let tolerance = if problem.dyadic { 0.0 } else { TOLERANCE };
        let node = (seed / 7) as usize % problem.graph.node_count();
        let result = certifier.certify_node(node, &mut workspace);
        if enumeration::count(&instance_of(certifier.prepared(), node, 0, 1).0) > LIMIT {
            skipped += 1;
            continue;
        }
        let mut worst = f64::INFINITY;
        for margin in &result.margins {
            let (instance, nodes) = instance_of(certifier.prepared(), node, result.reference, margin.class);
            let truth = enumeration::minimum(&instance, LIMIT).expect("counted before");
            pairs += 1;
            worst = worst.min(truth.margin);
            assert!(margin.lower <= truth.margin + tolerance, "seed {seed}: {margin:?} above the truth {truth:?}");
            assert!(margin.upper >= truth.margin - tolerance, "seed {seed}: {margin:?} below the truth {truth:?}");
            if problem.budget.global() == 0 {
                assert!(truth.margin - margin.lower <= 1e-9, "seed {seed}: Q = 0 is exact, {margin:?} {truth:?}");
            }
            // The flips of a witness are admissible and do what is said.
            if result.verdict == Verdict::NonRobust {
                let flips: Vec<(usize, u32)> = result
                    .witness
                    .iter()
                    .map(|f| (nodes.iter().position(|&n| n == f.node).expect("in the slice"), f.attribute))
                    .collect();
                assert!(instance.admits(&flips), "seed {seed}: {flips:?}");
            }
        }
        match result.verdict {
            Verdict::Robust => {
                robust += 1;
                assert!(
                    worst > -tolerance && (worst > 0.0 || !problem.dyadic),
                    "seed {seed}: worst {worst} {result:?}"
                );
            }
            Verdict::NonRobust => {
                broken += 1;
                ties += usize::from(result.reason == gcnproof::Reason::Tie);
                let reached = result.margins.iter().map(|m| m.upper).fold(f64::INFINITY, f64::min);
                assert!(reached <= 0.0, "seed {seed}: {result:?}");
                assert!(worst <= tolerance, "seed {seed}: worst {worst} {result:?}");
            }
            Verdict::Undecided => open += 1,
        }
    }
    println!(
        "{pairs} pairs; {robust} robust, {broken} non-robust ({ties} ties), {open} undecided; {skipped} too large to enumerate"
    );
    assert!(pairs > 10_000 && skipped < 500);
    assert!(robust > 1_000 && broken > 1_000 && ties > 100, "the problems have become too easy");
}

#[test]
fn activation_bounds_hold_at_every_layer_and_are_attained_at_the_second() {
    let mut checked = 0;
    for seed in 0..PROBLEMS / 4 {
        let problem = common::problem(seed, 3 + (seed % 3) as usize);
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let (instance, _) = instance_of(certifier.prepared(), 0, 0, 1);
        let Ok((least, most)) = enumeration::extremes(&instance, LIMIT) else { continue };
        for (l, (lower, upper)) in instance.lower.iter().zip(&instance.upper).enumerate() {
            for i in 0..lower.values.len() {
                let (r, s) = (lower.values[i], upper.values[i]);
                assert!(r <= least[l].values[i] + TOLERANCE, "seed {seed}, layer {}: R = {r}", l + 2);
                assert!(s >= most[l].values[i] - TOLERANCE, "seed {seed}, layer {}: S = {s}", l + 2);
                if l == 0 {
                    assert!(least[l].values[i] - r <= TOLERANCE, "seed {seed}: R = {r} is not attained");
                    assert!(s - most[l].values[i] <= TOLERANCE, "seed {seed}: S = {s} is not attained");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000);
}
