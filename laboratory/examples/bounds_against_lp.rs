//! Compares the bounds of some class pairs with the linear program that the paper's bound relaxes to, solved by
//! Clarabel.
//!
//! `cargo run --release -p gcnproof-laboratory --example bounds_against_lp`

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Budget, Certifier, Problem, embedded};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::solver::{Clarabel, Limits, Solver};
use gcnproof_verify::{Form, relaxation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (graph, network) = embedded::cora();
    let budget = Budget::uniform(&graph, 3, 2);
    let certifier = Certifier::builder(Problem::new(graph, network, budget)?).build();
    let mut workspace = Workspace::default();
    println!("{:>5} {:>6} {:>12} {:>12} {:>12}", "node", "class", "paper", "anchored", "LP");
    for node in [0, 5, 17, 306] {
        let reference = certifier.predicted(node);
        let class = (reference + 1) % 7;
        let mut bound =
            |relaxation| certifier.prepared().pair_bound(node, reference, class, relaxation, &mut workspace).lower();
        let (paper, anchored) = (bound(Relaxation::Paper), bound(Relaxation::Anchored));
        let (instance, _) = instance_of(certifier.prepared(), node, reference, class);
        let model = relaxation::linear_program(&instance, Form::Compact)?;
        let answer = Clarabel::default().solve(&model.program, &Limits::default());
        let optimum = answer.optimum().map_or("-".to_string(), |value| format!("{value:.6}"));
        println!("{node:>5} {class:>6} {paper:>12.6} {anchored:>12.6} {optimum:>12}");
        // The paper's bound never exceeds its own relaxation; the anchored bound may.
        assert!(answer.optimum().is_none_or(|value| paper <= value + 1e-7));
    }
    Ok(())
}
