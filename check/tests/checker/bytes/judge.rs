//! Any bytes as a proofs file: no panic, and nothing accepted that is false. The tests mutate the fuzzer's seeds; `make
//! fuzz` lets libFuzzer choose the bytes.
//!
//! Two problems whose truth is known: one node, one attribute, margin `relu(x − ½) + relu(½ − x) − ¼`, which is robust,
//! and the same with the margin lowered by ½, which is not; each with one hidden layer, and with a second one that
//! changes nothing, so that lines of bounds are read as well. The first byte chooses the problem and whether a right
//! header is put before the rest, so that mutations get past it. The core must accept what the fast path accepts, and
//! the other way round.

use gcnproof_check::format::*;
use gcnproof_check::{Options, Stated, Verdict, check};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, Pattern, Precision};

fn layer(values: &[f64], bias: &[f64]) -> LayerFile {
    let weight = DenseMatrix { rows: values.len() / bias.len(), columns: bias.len(), values: values.to_vec() };
    let (operators, linear) = (Vec::new(), Vec::new());
    LayerFile { weight, bias: bias.to_vec(), operators, linear, weight_name: "W".into(), bias_name: None }
}

/// Shows the bytes to both ways of checking.
pub fn judge(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let robust = choice & 1 == 0;
    let adjacency = Pattern { rows: 1, columns: 1, offsets: vec![0, 0], indices: Vec::new() };
    let graph = GraphFile {
        attributes: adjacency.clone(),
        adjacency,
        labels: Some(vec![Some(0)]),
        digest: "g".into(),
        ..GraphFile::default()
    };
    let constant = if robust { -0.25 } else { -0.75 };
    let deep = choice & 4 != 0;
    let mut layers = vec![layer(&[1.0, -1.0], &[-0.5, 0.5]), layer(&[1.0, 0.0, 1.0, 0.0], &[constant, 0.0])];
    if deep {
        layers.insert(1, layer(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0]));
    }
    let (metadata, notes) = (Default::default(), Vec::new());
    let model = ModelFile {
        layers,
        described: None,
        fixed_edges: false,
        matrices: Vec::new(),
        digest: "m".into(),
        precision: Precision::F64,
        metadata,
        notes,
    };
    let mut file = Vec::new();
    if choice & 2 == 0 {
        let local = Local::Uniform(1);
        let budget = BudgetStatement { global: 1, local, direction: Direction::Both, frozen_attributes: Vec::new() };
        let header = Header {
            version: VERSION,
            graph: "g".into(),
            model: "m".into(),
            message_passing: vec!["gcn".into(); if deep { 3 } else { 2 }],
            budget,
            classes: Convention::Labels,
            deployed: None,
            ranges: None,
        };
        Line::Header(header).write(&mut file).expect("a vector takes all bytes");
    }
    file.extend_from_slice(rest);
    let summary = check(&graph, &model, &Options::default(), &file[..], |_| {});
    let exact = check(&graph, &model, &Options { exact_only: true, ..Options::default() }, &file[..], |_| {});
    assert_eq!((&summary.verdicts, summary.rejected), (&exact.verdicts, exact.rejected));
    // What removed edges do to it is another question.
    let Some(Stated::Flips(header)) = &summary.header else { return };
    match summary.verdicts[0] {
        // Without flips, too, the second problem gives ½ − ¾ < 0; no budget makes it robust.
        Some(Verdict::Robust) => assert!(robust || header.message_passing.iter().any(|rule| rule != "gcn")),
        Some(_) => assert!(!robust || header.message_passing.iter().any(|rule| rule != "gcn")),
        None => {}
    }
}
