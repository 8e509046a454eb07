//! Leaves with many listed flips at a node with many neighbours, and networks whose terms overlap: the exact mode takes
//! seconds, not minutes.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof_check::format::*;
use gcnproof_check::{Checker, Reason, Statement, Verdict};
use gcnproof_files::{DenseMatrix, GraphOptions, LayerFile, read_graph, read_model};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// On Cora at node 163, which has 168 neighbours and class 1: envelopes of 16 units, each with a price for 2,000
/// flips, in every leaf.
#[test]
fn two_thousand_listed_flips_take_seconds() {
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
        deployed: None,
        ranges: None,
    };
    let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
    let (hub, class) = (163, 1);
    let near = graph.adjacency.row(hub);
    assert_eq!(near.len(), 168);
    let all = near.iter().flat_map(|&n| (0..1433).map(move |d| (n, d)));
    let flips: Vec<(u32, u32)> = all.step_by(120).take(2_000).collect();
    assert_eq!(flips.len(), 2_000);
    let mut envelope = Envelope { exponent: -20, nodes: Vec::new(), flips, units: Vec::new() };
    for at in 0..16 {
        let prices = (0..2_000).map(|k| (k * 7919) % 1000 - 500).collect();
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
        // Many times what they take here, for a machine that does other things.
        assert!(accepted < Duration::from_secs(120) && start.elapsed() < Duration::from_secs(120));
    }
}

/// On Cora a network of two layers with three terms each that reach two steps far and overlap nearly everywhere: short
/// leaves at some nodes.
#[test]
fn terms_that_overlap_take_seconds() {
    let graph = read_graph(&fixture("cora.npz"), &GraphOptions::default()).unwrap();
    let mut model = read_model(&fixture("cora_pyg.safetensors")).unwrap();
    let rules = ["identity", "gcn-self", "poly(gcn-self;0,0,1)"].map(String::from);
    for layer in &mut model.layers {
        let LayerFile { weight, operators, .. } = layer;
        // Each term has the weights in another order, and a share of their size.
        let shuffled = |term: usize| {
            let (values, size) = (&weight.values, [0.25, 0.5, 0.5][term]);
            (0..values.len()).map(move |at| size * values[(at * [1, 7919, 104_729][term] + term) % values.len()])
        };
        let values = (0..3).flat_map(shuffled).collect();
        *weight = DenseMatrix { rows: 3 * weight.rows, columns: weight.columns, values };
        *operators = rules.to_vec();
    }
    model.layers[0].linear = (0..model.layers[0].weight.columns).map(|unit| unit % 4 == 0).collect();
    let budget = BudgetStatement {
        global: 1,
        local: Local::Uniform(1),
        direction: Direction::Both,
        frozen_attributes: Vec::new(),
    };
    let header = Header {
        version: VERSION,
        graph: graph.digest.clone(),
        model: model.digest.clone(),
        message_passing: vec![rules.join(" & "); 2],
        budget,
        classes: Convention::Predicted,
        deployed: None,
        ranges: None,
    };
    let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
    let leaf = Step::Leaf(Box::new(Leaf { cap: true, ..Leaf::default() }));
    let (mut robust, mut exactly) = (Vec::new(), Duration::ZERO);
    let (fast, exact) = (Checker::new(&statement, false), Checker::new(&statement, true));
    let start = Instant::now();
    for id in (0..2708).step_by(1353) {
        for class in 0..7 {
            let trees = (0..7).filter(|&other| other != class);
            let trees = trees.map(|other| ClassProof { class: other, tree: vec![leaf.clone()] }).collect();
            let proof = NodeProof { id, class, claim: Claim::Robust(trees) };
            let flips = Witness { class: (class + 1) % 7, flips: Vec::new() };
            let is_predicted = !matches!(
                fast.check(&NodeProof { id, class, claim: Claim::NonRobust(flips) }),
                Err(gcnproof_check::Fault { reason: Reason::Reference(_), .. })
            );
            if is_predicted && fast.check(&proof).is_ok() {
                robust.push(proof);
            }
        }
    }
    let in_floats = start.elapsed();
    for proof in robust.iter().take(1) {
        let start = Instant::now();
        assert_eq!(exact.check(proof), Ok(Verdict::Robust));
        exactly = start.elapsed();
    }
    println!("{} of 3 nodes robust in {in_floats:.2?}; one of them exactly in {exactly:.2?}", robust.len());
    assert!(!robust.is_empty());
}
