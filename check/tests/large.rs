//! Leaves with many listed flips at a node with many neighbours: the exact mode takes seconds, not minutes.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof_check::format::*;
use gcnproof_check::{Checker, Reason, Statement, Verdict};
use gcnproof_files::{GraphOptions, read_graph, read_model};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// On Cora at node 163, which has 168 neighbours and class 1: envelopes of 40 units, each with a price for 20,000 flips, in every
/// leaf. The file's line is near the longest that is allowed.
#[test]
fn twenty_thousand_listed_flips_take_seconds() {
    let graph = read_graph(&fixture("cora.npz"), &GraphOptions::default()).unwrap();
    let model = read_model(&fixture("cora_pyg.safetensors")).unwrap();
    let local = Local::Uniform(14);
    let budget = BudgetStatement { global: 2, local, direction: Direction::Both, frozen_attributes: Vec::new() };
    let header = Header {
        version: VERSION,
        graph: graph.digest.clone(),
        model: model.digest.clone(),
        message_passing: vec!["gcn".into(); 2],
        budget,
        classes: Convention::Predicted,
    };
    let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
    let (hub, class) = (163, 1);
    let near = graph.adjacency.row(hub);
    assert_eq!(near.len(), 168);
    let all = near.iter().flat_map(|&n| (0..1433).map(move |d| (n, d)));
    let flips: Vec<(u32, u32)> = all.step_by(12).take(20_000).collect();
    assert_eq!(flips.len(), 20_000);
    let mut envelope = Envelope { exponent: -20, nodes: Vec::new(), flips, units: Vec::new() };
    for at in 0..40 {
        let prices = (0..20_000).map(|k| (k * 7919) % 1000 - 500).collect();
        envelope.units.push(UnitPrices(near[at as usize / 8], at % 8, 1 << 18, 0, Vec::new(), prices));
    }
    let leaf = Step::Leaf(Box::new(Leaf { cap: true, envelope: Some(Box::new(envelope)), ..Leaf::default() }));
    let proof = |class: u32| {
        let others = (0..7).filter(|&other| other != class);
        let trees = others.map(|other| ClassProof { class: other, tree: vec![leaf.clone()] });
        NodeProof { id: hub as u32, class, claim: Claim::Robust(trees.collect()) }
    };
    for exact in [false, true] {
        let checker = Checker::new(&statement, exact);
        let start = Instant::now();
        assert_eq!(checker.check(&proof(class)), Ok(Verdict::Robust));
        let accepted = start.elapsed();
        // A false claim costs more: hints are looked for in exact numbers before it is rejected.
        let start = Instant::now();
        assert!(matches!(checker.check(&proof(2)).unwrap_err().reason, Reason::Bound(_)));
        println!("exact {exact}: six leaves accepted in {accepted:.2?}, one rejected in {:.2?}", start.elapsed());
        // A few times what they take here; 17 and 77 s before.
        assert!(accepted < Duration::from_secs(30) && start.elapsed() < Duration::from_secs(40));
    }
}
