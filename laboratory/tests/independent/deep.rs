//! The optimum of the relaxation of networks with two and three hidden layers, against HiGHS on the explicit LP.

use std::path::Path;
use std::time::Instant;

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::search::optimum::relaxed_optimum;
use gcnproof::{Bound, Budget, Certifier, Network, Operator};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Form, relaxation};

use crate::common::{self, certifier_of};

/// The explicit LP's optimum.
fn explicit(certifier: &Certifier, node: usize, pair: (usize, usize)) -> Option<f64> {
    let (instance, _) = instance_of(certifier.prepared(), node, pair.0, pair.1);
    let model = relaxation::linear_program(&instance, Form::Compact).ok()?;
    Highs.solve(&model.program, &Limits { seconds: 120.0 }).optimum()
}

/// Has an undecided unit of the slice a bound that is zero up to rounding?
fn touches_zero(certifier: &Certifier, node: usize) -> bool {
    let (instance, _) = instance_of(certifier.prepared(), node, 0, 1);
    let units = instance.lower.iter().zip(&instance.upper).flat_map(|(r, s)| r.values.iter().zip(&s.values));
    units.into_iter().any(|(r, s)| *r < 0.0 && *s > 0.0 && r.abs().min(*s) < 1e-12)
}

#[test]
fn both_sides_meet_the_explicit_program() {
    let mut workspace = Workspace::default();
    let mut touching = 0;
    let (mut pairs, mut open, mut moved, mut masters, mut largest, mut widest) = (0, 0, 0, 0, 0.0f64, 0.0f64);
    for seed in 0..1_500u64 {
        let problem = common::problem(3_000_000 + seed, 4 + (seed % 2) as usize);
        // Nobody may flip anything now and then.
        let budget = match seed % 16 {
            0 => Budget::uniform(&problem.graph, 0, 2),
            1 => Budget::uniform(&problem.graph, 3, 0),
            _ => problem.budget.clone(),
        };
        let certifier = certifier_of(&problem.graph, &problem.gcn, budget, Bound::Best);
        let node = (seed / 7) as usize % problem.graph.node_count();
        let reference = certifier.predicted(node);
        for class in (0..problem.gcn.class_count()).filter(|&class| class != reference) {
            let optimum = relaxed_optimum(certifier.prepared(), node, reference, class, &mut workspace);
            assert!(optimum.lower <= optimum.upper, "seed {seed}: {optimum:?}");
            let Some(lp) = explicit(&certifier, node, (reference, class)) else {
                open += 1;
                continue;
            };
            let scale = 1.0 + lp.abs();
            assert!((lp - optimum.lower).abs() <= 1e-7 * scale, "seed {seed}, class {class}: LP {lp}, {optimum:?}");
            let difference = (optimum.upper - lp).abs() / scale;
            if difference > 1e-7 {
                // A row that is there by rounding alone: HiGHS does not see it, and no point is surely on its right
                // side.
                assert!(touches_zero(&certifier, node), "seed {seed}, class {class}: LP {lp}, {optimum:?}");
                touching += 1;
                continue;
            }
            let default = certifier.prepared().pair_bound(node, reference, class, Relaxation::Paper, &mut workspace);
            moved += usize::from(optimum.lower > default.upper() + 1e-6);
            largest = largest.max(difference);
            widest = widest.max((optimum.upper - optimum.lower) / scale);
            masters += optimum.masters;
            pairs += 1;
        }
    }
    println!(
        "{pairs} pairs, {open} not solved by HiGHS; Ω matters in {moved}; {:.2} masters each; largest difference \
         {largest:.1e}, widest gap {widest:.1e}; \
         {touching} with a unit that touches zero",
        masters as f64 / pairs as f64
    );
    assert!(touching < pairs / 100 && pairs > 1_500 && moved > 100 && open < 30);
}

#[test]
fn small_neighbourhoods_of_the_deep_cora_meet_the_explicit_program() {
    let (graph, _) = gcnproof::embedded::cora();
    let file = gcnproof_files::read_model(Path::new("../fixtures/cora_pyg_3layer.safetensors")).unwrap();
    let gcn = Network::from_file(file, &[Operator::Gcn], &graph).unwrap();
    let budget = Budget::uniform(&graph, 12, 14);
    let certifier = certifier_of(&graph, &gcn, budget, Bound::Best);
    let mut workspace = Workspace::default();
    let small = (0..graph.node_count()).filter(|&node| (3..=12).contains(&certifier.neighbourhood(node)));
    let (mut pairs, mut masters, mut largest, mut ours, mut theirs) = (0, 0, 0.0f64, 0.0, 0.0);
    for node in small.step_by(9).take(8) {
        let reference = certifier.predicted(node);
        for class in [(reference + 1) % 7, (reference + 4) % 7] {
            let start = Instant::now();
            let optimum = relaxed_optimum(certifier.prepared(), node, reference, class, &mut workspace);
            ours += start.elapsed().as_secs_f64();
            let start = Instant::now();
            let lp = explicit(&certifier, node, (reference, class)).expect("HiGHS solves it");
            theirs += start.elapsed().as_secs_f64();
            let difference = (lp - optimum.lower).abs().max((optimum.upper - lp).abs()) / (1.0 + lp.abs());
            assert!(difference <= 1e-7, "node {node}, class {class}: LP {lp}, {optimum:?}");
            (largest, masters, pairs) = (largest.max(difference), masters + optimum.masters, pairs + 1);
        }
    }
    println!(
        "{pairs} pairs, {:.2} masters each, largest difference {largest:.1e}; {ours:.3} s, HiGHS {theirs:.2} s",
        f64::from(masters as u32) / f64::from(pairs)
    );
}
