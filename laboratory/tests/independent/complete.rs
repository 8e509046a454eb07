//! The search against brute force: exact worst-case margins of random tiny problems.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Effort, Limits, Verdict};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::enumeration;

use crate::common::{self, certifier_of};

const LIMIT: u128 = 5_000;

#[test]
fn the_exact_margin_is_that_of_brute_force() {
    let mut workspace = Workspace::default();
    let (mut pairs, mut largest, mut nodes) = (0, 0.0f64, 0);
    for seed in 0..3_000u64 {
        let problem = common::problem(1_000_000 + seed, 3 + (seed % 2) as usize);
        let effort = Effort::Minimize { limits: Limits { nodes: 20_000, ..Limits::default() }, gap: 1e-10 };
        let certifier =
            certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best).with_effort(effort);
        let node = (seed / 7) as usize % problem.graph.node_count();
        if enumeration::count(&instance_of(certifier.prepared(), node, 0, 1).0) > LIMIT {
            continue;
        }
        let result = certifier.certify_node(node, &mut workspace);
        nodes += result.search_nodes;
        let mut worst = f64::INFINITY;
        for margin in &result.margins {
            let (instance, _) = instance_of(certifier.prepared(), node, result.reference, margin.class);
            let truth = enumeration::minimum(&instance, LIMIT).expect("counted before").margin;
            let gap = (truth - margin.lower).abs().max((margin.upper - truth).abs());
            assert!(gap <= 1e-9, "seed {seed}: {margin:?}, truth {truth}, {result:?}");
            largest = largest.max(gap);
            worst = worst.min(truth);
            pairs += 1;
        }
        match result.verdict {
            Verdict::Robust => assert!(worst > 0.0, "seed {seed}: {worst} {result:?}"),
            Verdict::NonRobust => assert!(worst <= 1e-9, "seed {seed}: {worst} {result:?}"),
            Verdict::Undecided => assert!(worst.abs() < 1e-9, "seed {seed}: {worst} {result:?}"),
        }
    }
    println!("{pairs} pairs, {nodes} tree nodes, largest difference {largest:.1e}");
    assert!(pairs > 3_000);
}

#[test]
fn the_complete_search_decides_everything() {
    let mut workspace = Workspace::default();
    for seed in 0..3_000u64 {
        let problem = common::problem(2_000_000 + seed, 2 + (seed % 4) as usize);
        let effort = Effort::Complete(Limits { nodes: 20_000, ..Limits::default() });
        let certifier =
            certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best).with_effort(effort);
        let node = (seed / 7) as usize % problem.graph.node_count();
        let (instance, _) = instance_of(certifier.prepared(), node, 0, 1);
        if enumeration::count(&instance) > LIMIT {
            continue;
        }
        let result = certifier.certify_node(node, &mut workspace);
        let worst = result.margins.iter().map(|m| {
            let (instance, _) = instance_of(certifier.prepared(), node, result.reference, m.class);
            enumeration::minimum(&instance, LIMIT).expect("counted before").margin
        });
        let worst = worst.fold(f64::INFINITY, f64::min);
        let tolerance = if problem.dyadic { 0.0 } else { 1e-9 };
        match result.verdict {
            Verdict::Robust => assert!(worst > -tolerance, "seed {seed}: {worst} {result:?}"),
            Verdict::NonRobust => assert!(worst <= tolerance, "seed {seed}: {worst} {result:?}"),
            Verdict::Undecided => assert!(worst.abs() < 1e-9, "seed {seed}: {worst} {result:?}"),
        }
    }
}
