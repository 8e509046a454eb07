//! Writes, for every node of a graph, the proof without splits and with default multipliers: many will be rejected.
//!
//! `cargo run --release -p gcnproof-check --example anchored -- GRAPH MODEL Q q > proofs.jsonl`

use std::error::Error;
use std::io::{BufWriter, Write, stdout};

use gcnproof_check::format::{
    BudgetStatement, Claim, ClassProof, Convention, Direction, Header, Line, Local, NodeProof, VERSION,
};
use gcnproof_files::{GraphFile, GraphOptions, ModelFile, read_graph, read_model};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [graph, model, global, local] = arguments.as_slice() else { return Err("GRAPH MODEL Q q".into()) };
    let graph = read_graph(
        graph.as_ref(),
        &GraphOptions { binarize: true, symmetrize: true, unweight: true, ..GraphOptions::default() },
    )?;
    let model = read_model(model.as_ref())?;
    let mut to = BufWriter::new(stdout().lock());
    let budget = BudgetStatement {
        global: global.parse()?,
        local: Local::Uniform(local.parse()?),
        direction: Direction::Both,
        frozen_attributes: Vec::new(),
    };
    let header = Header {
        version: VERSION,
        graph: graph.digest.clone(),
        model: model.digest.clone(),
        message_passing: vec!["gcn".into(); model.layers.len()],
        budget,
        classes: Convention::Predicted,
        deployed: None,
        ranges: None,
    };
    Line::Header(header).write(&mut to)?;
    for (node, logits) in logits(&graph, &model).iter().enumerate() {
        let best = (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0);
        let trees = (0..logits.len()).filter(|&class| class != best).map(|class| ClassProof::anchored(class as u32));
        let claim = Claim::Robust(trees.collect());
        Line::Node(NodeProof { id: node as u32, class: best as u32, claim }).write(&mut to)?;
    }
    Line::End(graph.attributes.rows as u64).write(&mut to)?;
    Ok(to.flush()?)
}

/// The network in floats: good enough to guess the predicted class.
fn logits(graph: &GraphFile, model: &ModelFile) -> Vec<Vec<f64>> {
    let nodes = graph.attributes.rows;
    let neighbours = |n: usize| {
        let others = graph.adjacency.row(n).iter().map(|&m| m as usize).filter(move |&m| m != n);
        others.chain([n])
    };
    let degrees: Vec<f64> = (0..nodes).map(|n| neighbours(n).count() as f64).collect();
    let mut h: Vec<Vec<f64>> = Vec::new();
    for (at, layer) in model.layers.iter().enumerate() {
        let sent: Vec<Vec<f64>> = (0..nodes)
            .map(|n| {
                let mut sums = vec![0.0; layer.weight.columns];
                let mut add = |i: usize, x: f64| {
                    sums.iter_mut().zip(layer.weight.row(i)).for_each(|(sum, w)| *sum += x * w);
                };
                if at == 0 {
                    graph.attributes.row(n).iter().for_each(|&d| add(d as usize, 1.0));
                } else {
                    h[n].iter().enumerate().for_each(|(i, x)| add(i, x.max(0.0)));
                }
                sums
            })
            .collect();
        h = (0..nodes)
            .map(|n| {
                let mut sums = layer.bias.clone();
                for m in neighbours(n) {
                    let entry = 1.0 / (degrees[n] * degrees[m]).sqrt();
                    sums.iter_mut().zip(&sent[m]).for_each(|(sum, s)| *sum += entry * s);
                }
                sums
            })
            .collect();
    }
    h
}
