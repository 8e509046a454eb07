//! What a newcomer runs into: wrong files and slips of the keyboard, as `docs/errors.md` has them, and what goes on, is
//! kept or is refused. `GCNPROOF_WRITE_DOCS=1 cargo test -p gcnproof-cli --test command errors` writes the document
//! anew.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use gcnproof_files::GraphFile;
use gcnproof_files::write::write_graph_npz;
use gcnproof_results::read;
use gcnproof_results::record::NodeRecord;
use serde_json::{Value, json};

use crate::{graphs, text};

/// A folder with Cora, a model for it and its logits, in which commands are run.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        for (from, to) in [
            ("cora.npz", "cora.npz"),
            ("cora_pyg.safetensors", "gcn.safetensors"),
            ("cora_pyg_logits.npz", "logits.npz"),
            ("cora_standard_logits.npz", "other_logits.npz"),
        ] {
            std::fs::copy(Path::new("../fixtures").join(from), bench.path(to)).unwrap();
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnproof"));
        command.args(line.split_whitespace()).current_dir(self.0.path());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs what must work, and gives its standard output.
    fn done(&self, line: &str) -> String {
        let done = self.run(line);
        assert!(done.status.success(), "{line}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    /// Runs what must be refused with this exit code, and gives its message on one line.
    fn refused(&self, line: &str, code: i32) -> String {
        let done = self.run(line);
        let message = joined(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{line}: {message}");
        assert!(!message.contains("panicked"), "{line}: {message}");
        message
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(line)).unwrap()
    }

    fn nodes(&self, line: &str) -> Vec<u64> {
        let rows = self.json(&format!("{line} --format json"));
        rows["rows"].as_array().unwrap().iter().map(|row| row["node"].as_u64().unwrap()).collect()
    }
}

/// A message as one line: without the frame that fits it to the width of a terminal.
fn joined(bytes: &[u8]) -> String {
    let text = text(bytes).replace(['×', '│'], " ").replace("╰─▶", " because ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn npy(descr: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side},")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sides}), }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn doubles(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

fn singles(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f4", shape, &values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect::<Vec<_>>())
}

fn integers(values: &[i64]) -> Vec<u8> {
    npy("<i8", &[values.len()], &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

fn booleans(flags: &[bool]) -> Vec<u8> {
    npy("|b1", &[flags.len()], &flags.iter().map(|&flag| u8::from(flag)).collect::<Vec<_>>())
}

/// A zip archive without compression, written by hand.
fn zip(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let sum = |data: &[u8]| {
        !data.iter().fold(!0u32, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
        })
    };
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let size = (data.len() as u32).to_le_bytes();
        let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x4e][..], &sum(data).to_le_bytes(), &size, &size].concat();
        let name_size = (name.len() as u16).to_le_bytes();
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &common, &name_size, &[0; 12]].concat());
        directory.extend([&(bytes.len() as u32).to_le_bytes()[..], name.as_bytes()].concat());
        bytes.extend([&b"PK\x03\x04"[..], &common, &name_size, &[0, 0], name.as_bytes(), data].concat());
    }
    let (count, start) = ((entries.len() as u16).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes(), &start, &[0, 0]];
    [bytes, directory, end.concat()].concat()
}

fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let named: Vec<(String, Vec<u8>)> = arrays.iter().map(|(name, npy)| (format!("{name}.npy"), npy.clone())).collect();
    zip(&named.iter().map(|(name, npy)| (name.as_str(), npy.clone())).collect::<Vec<_>>())
}

/// Tensors of 64 bits: name, shape, values.
fn safetensors(tensors: &[(&str, &[usize], &[f64])]) -> Vec<u8> {
    let (mut header, mut data) = (json!({}), Vec::new());
    for (name, shape, values) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header[*name] = json!({ "dtype": "F64", "shape": shape, "data_offsets": [start, data.len()] });
    }
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// The model with other names of its tensors.
fn renamed(to: [&str; 2]) -> Vec<u8> {
    let bytes = std::fs::read("../fixtures/cora_pyg.safetensors").unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = text(&bytes[8..8 + length]).trim_end().replace("convs.0", to[0]).replace("convs.1", to[1]);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + length..]].concat()
}

/// A small graph as dense arrays: a path 0 - 1 - 2 - 3 with five attributes, and one node, 4, that hangs on 1.
mod small {
    pub const NODES: usize = 5;
    pub const ATTRIBUTES: usize = 4;
    pub const EDGES: [(usize, usize); 4] = [(0, 1), (1, 2), (2, 3), (1, 4)];
    pub const X: [[f64; ATTRIBUTES]; NODES] =
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    pub const W1: [[f64; 3]; ATTRIBUTES] = [[0.7, -1.1, 0.3], [-0.4, 0.9, -0.8], [1.3, -0.2, -0.6], [-0.9, 0.5, 0.4]];
    pub const B1: [f64; 3] = [0.1, -0.3, 0.2];
    pub const W2: [[f64; 2]; 3] = [[0.8, -0.5], [-0.7, 1.2], [0.4, 0.6]];
    pub const B2: [f64; 2] = [0.05, -0.1];
}

/// The logits of the small network, by the definition and nothing else.
fn small_logits(
    passing: impl Fn(usize, usize, &[[f64; small::NODES]; small::NODES]) -> f64,
    act: fn(f64) -> f64,
    loops: bool,
    rows: bool,
) -> Vec<f64> {
    use small::*;
    let mut adjacency = [[0.0; NODES]; NODES];
    for (i, j) in EDGES {
        (adjacency[i][j], adjacency[j][i]) = (1.0, 1.0);
    }
    if loops {
        (0..NODES).for_each(|i| adjacency[i][i] = 1.0);
    }
    let a = |i: usize, j: usize| adjacency[i][j] * passing(i, j, &adjacency);
    let x = |i: usize, d: usize| if rows { X[i][d] / X[i].iter().sum::<f64>() } else { X[i][d] };
    let first = |i: usize, j: usize| (0..ATTRIBUTES).map(|d| x(i, d) * W1[d][j]).sum::<f64>();
    let hidden = |i: usize, j: usize| act((0..NODES).map(|n| a(i, n) * first(n, j)).sum::<f64>() + B1[j]);
    let second = |i: usize, k: usize| (0..3).map(|j| hidden(i, j) * W2[j][k]).sum::<f64>();
    let logit = |i: usize, k: usize| (0..NODES).map(|n| a(i, n) * second(n, k)).sum::<f64>() + B2[k];
    (0..NODES).flat_map(|i| [logit(i, 0), logit(i, 1)]).collect()
}

/// Entries of a message-passing matrix by node, node and adjacency.
type Passing = fn(usize, usize, &[[f64; small::NODES]; small::NODES]) -> f64;

fn gcn(i: usize, j: usize, adjacency: &[[f64; small::NODES]; small::NODES]) -> f64 {
    let degree = |i: usize| adjacency[i].iter().sum::<f64>();
    1.0 / (degree(i) * degree(j)).sqrt()
}

fn relu(x: f64) -> f64 {
    x.max(0.0)
}

/// Writes the small graph as PyTorch Geometric has it, and the model under names of its own.
fn small_problem(bench: &Bench) {
    use small::*;
    let both: Vec<(usize, usize)> = EDGES.iter().flat_map(|&(i, j)| [(i, j), (j, i)]).collect();
    let ends: Vec<u8> =
        both.iter().map(|e| e.0).chain(both.iter().map(|e| e.1)).flat_map(|n| (n as i64).to_le_bytes()).collect();
    let graph = [
        ("edge_index", npy("<i8", &[2, both.len()], &ends)),
        ("x", singles(&[NODES, ATTRIBUTES], X.as_flattened())),
        ("y", integers(&[0, 1, 1, 0, 1])),
    ];
    bench.write("small.npz", &npz(&graph));
    let turn =
        |rows: &[&[f64]]| -> Vec<f64> { (0..rows[0].len()).flat_map(|j| rows.iter().map(move |row| row[j])).collect() };
    let [first, second] = [turn(&W1.each_ref().map(|row| &row[..])), turn(&W2.each_ref().map(|row| &row[..]))];
    bench.write(
        "small.safetensors",
        &safetensors(&[
            ("encoder.lin.weight", &[3, 4], &first),
            ("encoder.bias", &[3], &B1),
            ("classifier.lin.weight", &[2, 3], &second),
            ("classifier.bias", &[2], &B2),
        ]),
    );
}

const MASKED: [u64; 4] = [3, 17, 1000, 2707];

/// The files of a bench that holds every wrong file of the table.
fn wrong_files() -> Bench {
    let bench = Bench::new();
    bench.done("partition cora.npz --hops 1 --parts 2 --out parts");
    let cora = std::fs::read(bench.path("cora.npz")).unwrap();
    let model = std::fs::read(bench.path("gcn.safetensors")).unwrap();
    bench.write("empty.npz", b"");
    bench.write("half.npz", &cora[..cora.len() / 2]);
    bench.write("half.safetensors", &model[..model.len() / 2]);
    let mut nan = model.clone();
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    bench.write("nan.safetensors", &nan);
    bench.write("gcn.pt", &zip(&[("gcn/data.pkl", b"\x80\x02}q\x00.".to_vec()), ("gcn/data/0", vec![0; 8])]));
    bench.write("old.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.");
    bench.write("ind.cora.x", b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n");
    let object = npy("|O", &[], b"\x80\x04\x95pickled scipy matrix.");
    bench.write("scipy.npz", &npz(&[("adj", object.clone()), ("features", object), ("labels", integers(&[0; 5]))]));
    small_problem(&bench);
    let x = singles(&[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let edges =
        |ends: &[i64]| npy("<i8", &[2, ends.len() / 2], &ends.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>());
    let both = edges(&[0, 1, 1, 0]);
    bench.write(
        "floats.npz",
        &npz(&[("edge_index", both.clone()), ("x", x.clone()), ("y", doubles(&[2], &[0.0, 1.0]))]),
    );
    bench.write("weighted.npz", &npz(&[("edge_index", both), ("x", singles(&[2, 2], &[0.5, 0.0, 0.0, 0.5]))]));
    bench.write("directed.npz", &npz(&[("edge_index", edges(&[0, 1])), ("x", x.clone())]));
    bench.write("one_based.npz", &npz(&[("edge_index", edges(&[1, 2, 2, 1])), ("x", x.clone())]));
    bench.write("repeated.npz", &npz(&[("edge_index", edges(&[0, 0, 1, 1, 1, 0])), ("x", x)]));
    let texts = || npy("<U1", &[2, 2], &['a', 'b', 'b', 'a'].map(|c| u32::from(c).to_le_bytes()).concat());
    let parts = [
        ("no_edges.npz", "train_mask", booleans(&[true, false])),
        ("fractions.npz", "edge_index", doubles(&[2, 2], &[0.0, 1.0, 1.0, 0.5])),
        ("whole_floats.npz", "edge_index", doubles(&[2, 2], &[0.0, 1.0, 1.0, 0.0])),
        ("text_ids.npz", "edge_index", texts()),
    ];
    for (name, entry, array) in parts {
        bench.write(
            name,
            &npz(&[(entry, array), ("x", singles(&[2, 2], &[1.0, 0.0, 0.0, 1.0])), ("y", integers(&[0, 1]))]),
        );
    }
    let groups = |array: Vec<u8>| {
        npz(&[
            ("edge_index", edges(&[0, 1, 1, 0])),
            ("x", singles(&[2, 4], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])),
            ("attr_groups", array),
        ])
    };
    bench.write("categories.npz", &groups(integers(&[0, 0, 1, 1])));
    bench.write("group_lists.npz", &groups(npy("<i8", &[2, 2], &[0i64, 1, 2, 3].map(i64::to_le_bytes).concat())));
    bench.write(
        "group_names.npz",
        &groups(npy("<U1", &[4], &['a', 'a', 'b', 'b'].map(|c| u32::from(c).to_le_bytes()).concat())),
    );
    bench.write(
        "negative_ids.npz",
        &npz(&[("edge_index", edges(&[0, -1, 1, 0])), ("x", singles(&[2, 2], &[1.0, 0.0, 0.0, 1.0]))]),
    );
    let turned = npy("<i8", &[3, 2], &[0i64, 1, 1, 0, 1, 1].map(i64::to_le_bytes).concat());
    bench.write("turned_edges.npz", &npz(&[("edge_index", turned), ("x", singles(&[2, 2], &[1.0, 0.0, 0.0, 1.0]))]));
    bench.write("candidates.npy", &npy("<i8", &[2, 3], &[0i64, 0, 1, 2, 3, 4].map(i64::to_le_bytes).concat()));
    bench.write("no_pairs.txt", b"");
    bench.write("text_attributes.npz", &npz(&[("edge_index", edges(&[0, 1, 1, 0])), ("x", texts())]));
    bench.write("no_attributes.npz", &npz(&[("edge_index", edges(&[0, 1, 1, 0])), ("y", integers(&[0, 1]))]));
    bench.write("table.csv", b"0,3\n1,4\n2,3\n");
    bench.write("mistyped.txt", b"l7\n18\n");
    bench.write("utf16.txt", b"\xff\xfe3\0\n\0");
    bench.write(
        "sage.safetensors",
        &safetensors(&[("convs.0.lin_l.weight", &[1, 1], &[1.0]), ("convs.0.lin_r.weight", &[1, 1], &[1.0])]),
    );
    bench.write(
        "graphconv.safetensors",
        &safetensors(&[("conv1.lin_rel.weight", &[1, 1], &[1.0]), ("conv1.lin_root.weight", &[1, 1], &[1.0])]),
    );
    let plain =
        [("W1", doubles(&[4, 3], &[0.5; 12])), ("b1", doubles(&[3], &[0.0; 3])), ("W2", doubles(&[3, 2], &[0.5; 6]))];
    bench.write("plain.npz", &npz(&plain));
    bench.write("short_mask.npy", &booleans(&[true, false, true]));
    bench.write("short_ints.npy", &integers(&[1, 0, 1]));
    bench.write("splits.npy", &npy("|b1", &[5, 2], &[1; 10]));
    bench.write("unnormalised.npy", &doubles(&[5, 2], &small_logits(|_, _, _| 1.0, relu, false, false)));
    bench.write("notes.txt", b"not a proof\n");
    std::fs::copy("../fixtures/cora_pyg_3layer.safetensors", bench.path("deep.safetensors")).unwrap();
    bench.write("three_ids.txt", b"0\n1\n2\n");
    bench.write("no_edge.txt", b"0,3\n");
    bench.write("loop.txt", b"0,0\n");
    bench.write("triples.txt", b"0,2,3\n4,0,1\n");
    let to = gcnproof::embedded::cora().0.adjacency().outer_view(0).unwrap().indices()[0];
    bench.write("edge.txt", format!("0,{to}\n").as_bytes());
    bench.write("three_budgets.txt", b"1\n1\n1\n");
    bench.write("operator.npy", &doubles(&[5, 5], &[0.5; 25]));
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --proofs done.jsonl");
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --bounds-only --out quick.csv");
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out rows.jsonl");
    let rows = std::fs::read(bench.path("rows.jsonl")).unwrap();
    bench.write("renamed.csv", &rows);
    bench.write("two_rows.jsonl", &rows.repeat(2));
    bench.write("page.html", b"<!DOCTYPE html>\n<title>Results</title>\n");
    bench.write("twice.txt", b"0\n0\n");
    bench.write("mine.csv", b"0\n1\n5\n");
    own_files(&bench);
    bench.write("masks.npz", &npz(&[("mask", booleans(&[true; 2708]))]));
    bench.write(
        "other_sage.safetensors",
        &safetensors(&[("0.sage.edgeweights", &[1, 1], &[1.0]), ("0.sage.nodeweights", &[1, 1], &[1.0])]),
    );
    for (name, sides, value) in
        [("nan.npz", [2, 2], f64::NAN), ("wide.npz", [2, 1], 1.0), ("huge.npz", [2, 1 << 62], 1.0)]
    {
        bench.write(
            name,
            &npz(&[
                ("adj_data", doubles(&[2], &[1.0, value])),
                ("adj_indices", integers(&[1, 0])),
                ("adj_indptr", integers(&[0, 1, 2])),
                ("adj_shape", integers(&sides)),
            ]),
        );
    }
    bench.done("radius cora.npz gcn.safetensors -q 1 --max-Q 1 --nodes 0-9 --out radii.csv");
    bench.done("radius cora.npz gcn.safetensors --edges remove --max-E 1 --nodes 0-9 --out edge_radii.csv");
    bench.write("low.npy", &doubles(&[2], &[0.0, 0.0]));
    bench.write("only_high.npz", &npz(&[("high", doubles(&[2], &[1.0, 1.0]))]));
    bench.write("one_range.npz", &npz(&[("low", doubles(&[], &[0.0])), ("high", doubles(&[], &[1.0]))]));
    bench.write(
        "no_attributes_of_graphs.npz",
        &npz(&[("edge_index", edges(&[0, 1, 1, 0])), ("y", integers(&[0])), ("batch", integers(&[0, 0]))]),
    );
    let nodes = |more: (&'static str, Vec<u8>)| {
        npz(&[("edge_index", edges(&[0, 1, 1, 0])), ("x", singles(&[2, 4], &[1.0; 8])), more])
    };
    bench.write("no_batch.npz", &nodes(("y", integers(&[0]))));
    bench.write("unlabelled.npz", &nodes(("y", integers(&[-1, -1]))));
    bench.write("split.npz", &npz(&[("train_mask", booleans(&[true; 2708])), ("val_mask", booleans(&[true; 2708]))]));
    bench.write("no_numbers.npy", &doubles(&[5, 2], &[f64::NAN; 10]));
    std::fs::create_dir(bench.path("proved")).unwrap();
    bench.write("proved/Q-5.jsonl", b"{\"header\":{}}\n");
    bench.write("proved/Q-2.jsonl", b"{\"header\":{}}\n");
    more_wrong_files(&bench);
    bench
}

/// Files of the user's own, where gcnproof would write.
const OWN: [(&str, &[u8]); 8] = [
    ("own.csv", b"node,city\n0,Rome\n"),
    ("own.jsonl", b"{\"city\": \"Rome\"}\n"),
    ("beside.csv.run.json", b"{\"city\": \"Rome\"}\n"),
    ("own.safetensors", b"not yet\n"),
    ("own.txt", b"to be done\n"),
    ("own.html", b"<html><body>Rome</body></html>\n"),
    ("own/graph.npz", b"PK a graph of my own"),
    ("own/part-7.npz", b"PK the seventh part of my novel"),
];

fn own_files(bench: &Bench) {
    std::fs::create_dir(bench.path("own")).unwrap();
    OWN.iter().for_each(|(name, bytes)| bench.write(name, bytes));
}

/// Files in each other's places, and what other programs make of files.
fn more_wrong_files(bench: &Bench) {
    use small::*;
    let both: Vec<(usize, usize)> = EDGES.iter().flat_map(|&(i, j)| [(i, j), (j, i)]).collect();
    let ends: Vec<u8> =
        both.iter().map(|e| e.0).chain(both.iter().map(|e| e.1)).flat_map(|n| (n as i64).to_le_bytes()).collect();
    let named = [
        ("edge_index", npy("<i8", &[2, both.len()], &ends)),
        ("x", singles(&[NODES, ATTRIBUTES], X.as_flattened())),
        ("labels", integers(&[1, 2, 2, 1, 2])),
        ("class_names", npy("<U1", &[2], &['a', 'b'].map(|c| u32::from(c).to_le_bytes()).concat())),
    ];
    bench.write("from_one.npz", &npz(&named));
    bench.write("stopped.checkpoint", br#"{"format":"gcnproof training checkpoint 1","run":{},"steps":3}"#);
    let weights = |last: usize| {
        safetensors(&[
            ("convs.0.lin.weight", &[3, 4], &[0.5; 12]),
            ("convs.1.lin.weight", &[last, 3], &vec![0.5; 3 * last]),
        ])
    };
    bench.write("no_tensors.safetensors", &safetensors(&[]));
    bench.write("one_output.safetensors", &weights(1));
    let replaced = |bytes: Vec<u8>, from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
    };
    bench.write("integers.safetensors", &replaced(weights(2), "F64", "I64"));
    let described = |operator: &str, shape: [usize; 2], bias: &str| {
        let description = format!(
            r#"{{"version":1,"output":"z","layers":[{{"name":"z","activation":"none","terms":[{{"from":"x","operator":"{operator}","weight":"w"}}]{bias}}}]}}"#
        );
        let mut header = json!({ "__metadata__": { "gcnproof.network": description }, "w": { "dtype": "F64", "shape": shape, "data_offsets": [0, 64] } });
        if !bias.is_empty() {
            header["b"] = json!({ "dtype": "F64", "shape": [2], "data_offsets": [64, 80] });
        }
        let header = header.to_string();
        let data = vec![0; if bias.is_empty() { 64 } else { 80 }];
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
    };
    bench.write("attention.safetensors", &described("gat", [4, 2], ""));
    bench.write("readout_wide.safetensors", &described("pool-sum", [4, 2], ""));
    graphs::write(&bench.path("readout.safetensors"), &graphs::network("pool-sum"));
    graphs::write(&bench.path("on_nodes.safetensors"), &graphs::network("sum"));
    let batch = graphs::batch();
    let unordered = GraphFile { batch: Some(vec![0, 0, 0, 2, 1, 1]), ..batch.clone() };
    let linked = GraphFile { batch: Some(vec![0, 0, 1, 2, 3, 3]), labels: None, ..batch.clone() };
    for (name, graph) in [("graphs.npz", batch), ("unordered.npz", unordered), ("linked.npz", linked)] {
        write_graph_npz(&bench.path(name), &graph).unwrap();
    }
    bench.write("turned.safetensors", &described("gcn", [2, 4], r#","bias":"b""#));
    bench.write("turned_alone.safetensors", &described("gcn", [2, 4], ""));
    std::fs::copy(bench.path("gcn.safetensors"), bench.path("trained.safetensors")).unwrap();
    std::fs::create_dir(bench.path("folder.csv")).unwrap();
    let rows = text(&std::fs::read(bench.path("done.csv")).unwrap());
    bench.write("damaged.csv", rows.as_bytes());
    bench.write("damaged.csv.run.json", b"{ half");
    bench.write("no_rows.csv", b"");
    bench.write("semicolons.csv", rows.replace(',', ";").as_bytes());
    bench.write("no_names.csv", rows.split_once('\n').unwrap().1.as_bytes());
    let proofs = std::fs::read(bench.path("done.jsonl")).unwrap();
    bench.write("marked.jsonl", &[b"\xef\xbb\xbf", &proofs[..]].concat());
    bench.write("zipped.jsonl", b"\x1f\x8b\x08\x00");
    bench.done("partition cora.npz --hops 2 --parts 2 --out halves");
    bench.done("certify halves/part-0.npz gcn.safetensors -Q 1 --nodes 0-5 --out half.csv --proofs half.jsonl");
    bench.done("certify halves/part-1.npz gcn.safetensors -Q 2 --nodes 2700-2707 --out other_half.csv");
    bench.write("commas.jsonl", rows.as_bytes());
    std::fs::create_dir(bench.path("folder.html")).unwrap();
    bench.done("report done.csv --out drawn.html");
    std::fs::remove_file(bench.path("drawn.html")).unwrap();
    let mut figures: Vec<String> = std::fs::read_dir(bench.path("drawn-figures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".svg"))
        .collect();
    figures.sort();
    std::fs::create_dir(bench.path("painted-figures")).unwrap();
    bench.write(&format!("painted-figures/{}", figures[0]), b"<svg><!-- my own --></svg>\n");
    std::fs::copy(bench.path("done.csv.run.json"), bench.path("commas.jsonl.run.json")).unwrap();
    bench.done(
        "collective small.npz small.safetensors --layers encoder,classifier -q 1 --budgets 1 --rows count --out curve.jsonl",
    );
}

/// Every kind of wrong file and slip: what it is, and the command.
const TABLE: &[(&str, &str)] = &[
    ("**Graphs**", ""),
    ("no such file", "inspect nosuch.npz"),
    ("an empty file", "certify empty.npz gcn.safetensors -Q 1"),
    ("half a file", "certify half.npz gcn.safetensors -Q 1"),
    ("a model in its place", "certify gcn.safetensors cora.npz -Q 1"),
    ("a pickle of Planetoid", "certify ind.cora.x gcn.safetensors -Q 1"),
    ("a file of `torch.save`", "certify gcn.pt gcn.safetensors -Q 1"),
    ("pickled scipy matrices", "certify scipy.npz gcn.safetensors -Q 1"),
    ("labels that are floats", "certify floats.npz gcn.safetensors -Q 1"),
    ("attributes that are not 0 or 1", "certify weighted.npz gcn.safetensors -Q 1"),
    ("a directed graph", "certify directed.npz gcn.safetensors -Q 1"),
    ("ids that start at 1", "certify one_based.npz gcn.safetensors -Q 1"),
    ("edges that are listed twice", "certify repeated.npz gcn.safetensors -Q 1"),
    ("no attributes", "certify no_attributes.npz gcn.safetensors -Q 1"),
    ("the same, looked at", "inspect no_attributes.npz"),
    ("no attributes of graphs", "certify no_attributes_of_graphs.npz readout.safetensors -Q 1"),
    ("a part where the whole is needed", "inspect parts/part-0.npz"),
    ("edges of a part", "certify parts/part-0.npz gcn.safetensors --edges remove -E 1"),
    ("the folder of parts", "certify parts gcn.safetensors -Q 1"),
    ("a folder", "certify folder.csv gcn.safetensors -Q 1"),
    ("a part with too small a halo", "certify parts/part-1.npz gcn.safetensors -Q 1"),
    ("numbers that are none", "certify nan.npz gcn.safetensors -Q 1"),
    ("an adjacency that is not square", "certify wide.npz gcn.safetensors -Q 1"),
    ("a shape that is none", "certify huge.npz gcn.safetensors -Q 1"),
    ("a model in training", "train gcn.safetensors --loss ce --out new.safetensors"),
    ("proofs in its place", "check done.jsonl cora.npz gcn.safetensors -Q 1"),
    ("labels that start at 1", "certify from_one.npz small.safetensors --layers encoder,classifier -Q 1"),
    ("a model as the graph of a report", "report done.csv --graph gcn.safetensors --out new.html"),
    ("a model as the graph of a summary", "summary done.csv --graph gcn.safetensors"),
    ("graphs out of order", "certify unordered.npz readout.safetensors -Q 1"),
    ("edges between graphs", "certify linked.npz readout.safetensors -Q 1"),
    ("graphs for a model of nodes", "certify graphs.npz on_nodes.safetensors -Q 1"),
    ("ids below 0", "certify negative_ids.npz gcn.safetensors -Q 1"),
    ("edges the other way", "certify turned_edges.npz gcn.safetensors -Q 1"),
    ("groups as lists", "certify group_lists.npz gcn.safetensors -Q 1"),
    ("groups of names", "certify group_names.npz gcn.safetensors -Q 1"),
    ("labels of graphs without a batch", "certify no_batch.npz readout.safetensors -Q 1"),
    ("attributes that are numbers, in training", "train weighted.npz --loss ce --out new.safetensors"),
    ("the same for one attack", "collective weighted.npz plain.npz -q 1 --budgets 1"),
    ("additions of categories", "certify categories.npz plain.npz -Q 1 --flips add"),
    ("edges beside categories", "certify categories.npz plain.npz --edges remove -E 1"),
    ("edges and categories at once", "certify categories.npz plain.npz -Q 1 --edges remove -E 1"),
    ("ranges of categories", "certify categories.npz plain.npz -Q 1 --epsilon 0.1"),
    ("one attack on categories", "collective categories.npz plain.npz -q 1 --budgets 1"),
    ("the graph of a model of nodes", "explain small.npz plain.npz --graph 1"),
    ("a node of a model of graphs", "explain graphs.npz readout.safetensors --node 7"),
    ("labels that nobody has", "certify unlabelled.npz plain.npz -Q 1 --class labels"),
    ("the same for one attack", "collective unlabelled.npz plain.npz -q 1 --budgets 1 --class labels"),
    ("no graph", "certify gcn.safetensors -Q 1"),
    ("no edges", "certify no_edges.npz gcn.safetensors -Q 1"),
    ("the same, looked at", "inspect no_edges.npz"),
    ("ids that are fractions", "certify fractions.npz gcn.safetensors -Q 1"),
    ("ids that are floats", "certify whole_floats.npz gcn.safetensors -Q 1"),
    ("ids that are texts", "certify text_ids.npz gcn.safetensors -Q 1"),
    ("attributes that are texts", "certify text_attributes.npz gcn.safetensors -Q 1"),
    ("**Models**", ""),
    ("a readout on one graph", "certify small.npz readout_wide.safetensors -Q 1"),
    ("one attack on all graphs", "collective graphs.npz readout.safetensors -q 1 --budgets 1"),
    ("a readout as an option", "certify cora.npz gcn.safetensors -Q 1 --message-passing pool-sum"),
    ("results in its place", "certify cora.npz rows.jsonl -Q 1"),
    ("the same, looked at", "inspect rows.jsonl"),
    ("SAGE layers under other names", "certify cora.npz other_sage.safetensors -Q 1"),
    ("the same by `--layers`", "certify cora.npz other_sage.safetensors --layers 0.sage -Q 1"),
    ("layers in the opposite order", "certify cora.npz gcn.safetensors --layers convs.1,convs.0 -Q 1"),
    ("a matrix of another graph", "certify cora.npz gcn.safetensors -Q 1 --message-passing operator.npy"),
    ("half a file", "certify cora.npz half.safetensors -Q 1"),
    ("a graph in its place", "certify cora.npz cora.npz -Q 1"),
    ("logits in its place", "certify cora.npz logits.npz -Q 1"),
    ("a checkpoint in its place", "certify cora.npz stopped.checkpoint -Q 1"),
    ("a graph for a matrix", "certify cora.npz gcn.safetensors -Q 1 --message-passing cora.npz"),
    ("weights that are integers", "certify small.npz integers.safetensors -Q 1"),
    ("one output", "certify small.npz one_output.safetensors -Q 1"),
    ("no tensors", "certify small.npz no_tensors.safetensors -Q 1"),
    ("an operator that is none", "certify small.npz attention.safetensors -Q 1"),
    ("weights the other way", "certify small.npz turned.safetensors -Q 1"),
    ("the same without a bias", "certify small.npz turned_alone.safetensors -Q 1"),
    ("a file of `torch.save`", "certify cora.npz gcn.pt -Q 1"),
    ("an older file of `torch.save`", "certify cora.npz old.pt -Q 1"),
    ("SAGEConv", "certify cora.npz sage.safetensors -Q 1"),
    ("GraphConv", "certify cora.npz graphconv.safetensors -Q 1"),
    ("names of one's own", "certify small.npz small.safetensors -Q 1"),
    ("`--layers` that are not there", "certify small.npz small.safetensors --layers encoder,decoder -Q 1"),
    ("`--layers` of names that are known", "certify small.npz plain.npz --layers W1,W2 -Q 1"),
    (
        "`--layers` that are whole names",
        "certify small.npz small.safetensors --layers encoder.lin.weight,classifier -Q 1",
    ),
    ("weights that are no numbers", "certify cora.npz nan.safetensors -Q 1"),
    ("a model for other attributes", "certify small.npz gcn.safetensors -Q 1"),
    ("a rule that is none", "certify cora.npz gcn.safetensors -Q 1 --message-passing average"),
    ("a comma too many", "certify cora.npz gcn.safetensors -Q 1 --message-passing mean,"),
    ("a folder", "certify cora.npz folder.csv -Q 1"),
    ("another network's logits", "certify cora.npz gcn.safetensors -Q 1 --logits other_logits.npz"),
    ("`normalize=False`", "radius small.npz small.safetensors --layers encoder,classifier --logits unnormalised.npy"),
    ("logits that are no numbers", "inspect small.npz plain.npz --logits no_numbers.npy"),
    ("logits of another graph", "certify cora.npz gcn.safetensors -Q 1 --logits unnormalised.npy"),
    ("**Lists and budgets**", ""),
    ("a mask of another length", "certify cora.npz gcn.safetensors -Q 1 --nodes short_mask.npy"),
    ("0 and 1 of another length", "certify cora.npz gcn.safetensors -Q 1 --freeze-nodes short_ints.npy"),
    (
        "masks of several splits",
        "certify small.npz small.safetensors --layers encoder,classifier -Q 1 --nodes splits.npy",
    ),
    ("an array that is not named", "certify cora.npz gcn.safetensors -Q 1 --nodes split.npz"),
    ("arrays that are neither ids nor masks", "certify cora.npz gcn.safetensors -Q 1 --nodes small.npz"),
    ("no node to be explained", "explain cora.npz gcn.safetensors"),
    ("a node that is not there", "certify cora.npz gcn.safetensors -Q 1 --nodes 2708"),
    ("labels in the place of ids", "certify cora.npz gcn.safetensors -Q 1 --nodes cora.npz:labels"),
    ("no ids", "certify cora.npz gcn.safetensors -Q 1 --nodes="),
    ("labelled nodes that are not there", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --labelled 5000"),
    ("a frozen node that is not there", "certify cora.npz gcn.safetensors -Q 1 --freeze-nodes 2708"),
    ("attributes that are none", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --freeze-attributes abc"),
    ("neither ids nor a file", "certify cora.npz gcn.safetensors -Q 1 --nodes train_mask"),
    ("a table of several columns", "certify cora.npz gcn.safetensors -Q 1 --nodes table.csv"),
    ("a mistyped id", "certify cora.npz gcn.safetensors -Q 1 --nodes mistyped.txt"),
    ("text in UTF-16", "certify cora.npz gcn.safetensors -Q 1 --nodes utf16.txt"),
    ("a node below 0", "certify cora.npz gcn.safetensors -Q 1 --nodes -1"),
    ("an id twice", "certify cora.npz gcn.safetensors -Q 1 --nodes twice.txt"),
    ("a slice of Python", "certify cora.npz gcn.safetensors -Q 1 --nodes 0:10"),
    ("a list of Python", "certify cora.npz gcn.safetensors -Q 1 --nodes [0,1]"),
    ("a range from the end", "certify cora.npz gcn.safetensors -Q 1 --nodes 5-2"),
    ("a mask of a file that is not there", "certify cora.npz gcn.safetensors -Q 1 --nodes nosuch.npz:test_mask"),
    ("several nodes for one", "explain cora.npz gcn.safetensors --node 0,1"),
    ("a node below 0 for one", "explain cora.npz gcn.safetensors --node -1"),
    ("too few local budgets", "certify cora.npz gcn.safetensors -Q 1 --local-file three_budgets.txt"),
    ("local budgets in one of many arrays", "certify cora.npz gcn.safetensors -Q 1 --local-file cora.npz"),
    (
        "local budgets in an array that is not there",
        "certify cora.npz gcn.safetensors -Q 1 --local-file cora.npz:budgets",
    ),
    ("local budgets twice", "certify cora.npz gcn.safetensors -Q 1 -q 2 --local-file three_budgets.txt"),
    ("a budget that is too large", "certify cora.npz gcn.safetensors -Q 99999999999999999999999"),
    ("no budget", "certify cora.npz gcn.safetensors"),
    ("ranges as one array", "certify small.npz plain.npz -Q 1 --ranges low.npy"),
    ("ranges without a lower limit", "certify small.npz plain.npz -Q 1 --ranges only_high.npz"),
    ("one range for all attributes", "certify small.npz plain.npz -Q 1 --ranges one_range.npz"),
    ("ranges in a word", "certify small.npz plain.npz -Q 1 --ranges minmax"),
    ("a range in a number", "certify small.npz plain.npz -Q 1 --ranges 0.1"),
    ("a range in two numbers", "certify small.npz plain.npz -Q 1 --ranges 0,1"),
    ("ranges without a number", "certify small.npz plain.npz --ranges observed"),
    ("ranges and edges", "certify small.npz plain.npz -Q 1 --epsilon 0.1 --edges remove -E 1"),
    ("ranges and flips", "certify small.npz plain.npz -Q 1 --ranges observed --flips add"),
    ("a gap of ranges", "certify small.npz plain.npz -Q 1 --epsilon 0.1 --gap 0.1"),
    ("exact margins of flips and edges", "certify cora.npz gcn.safetensors -Q 1 --edges remove -E 1 --exact-margins"),
    ("a budget below 0", "certify cora.npz gcn.safetensors -Q -1"),
    ("a local budget below 0", "certify cora.npz gcn.safetensors -Q 1 -q -1%"),
    ("a share of more than 1", "certify cora.npz gcn.safetensors -Q 1 -q 1.5"),
    ("`-Q` of `radius`", "radius cora.npz gcn.safetensors -Q 5"),
    ("more than all attributes", "certify cora.npz gcn.safetensors -Q 1 -q 200%"),
    ("half a flip", "certify cora.npz gcn.safetensors -Q 2.5"),
    ("a limit without a search", "certify cora.npz gcn.safetensors -Q 1 --bounds-only --time-limit 5"),
    ("a limit for one bound", "certify cora.npz gcn.safetensors -Q 1 --bound paper --time-limit 5"),
    ("a search and none", "certify cora.npz gcn.safetensors -Q 1 --bounds-only --complete"),
    ("a limit that is none", "certify cora.npz gcn.safetensors -Q 1 --time-limit soon"),
    ("a limit for bounds", "certify cora.npz gcn.safetensors -Q 1 --omega optimal --time-limit 5"),
    ("bounds and a search", "certify cora.npz gcn.safetensors -Q 1 --omega optimal --complete"),
    ("a gap without `--minimize`", "certify cora.npz gcn.safetensors -Q 1 --gap 0.1"),
    ("a gap below 0", "certify cora.npz gcn.safetensors -Q 1 --minimize --gap -1"),
    ("fractions without `--minimize`", "certify cora.npz gcn.safetensors -Q 1 --exact-margins"),
    ("a roundoff without `--deployed`", "certify cora.npz gcn.safetensors -Q 1 --unit-roundoff 2^-8"),
    ("another format", "certify cora.npz gcn.safetensors -Q 1 --deployed bfloat16"),
    ("a roundoff that is none", "certify cora.npz gcn.safetensors -Q 1 --deployed float32 --unit-roundoff 1"),
    ("an error below 0", "certify cora.npz gcn.safetensors -Q 1 --deployed float32 --operator-error -1"),
    ("a work limit below 0", "check cora.npz gcn.safetensors done.jsonl -Q 1 --work-limit -1"),
    ("proofs of `radius`", "radius cora.npz gcn.safetensors --proofs proofs.jsonl"),
    ("`--minimize` of `radius`", "radius cora.npz gcn.safetensors --minimize"),
    ("`--out` of `explain`", "explain cora.npz gcn.safetensors --node 0 --out told.json"),
    ("an option that is none", "certify cora.npz gcn.safetensors -Q 1 --zzzzzzzz"),
    ("`--node` of `certify`", "certify cora.npz gcn.safetensors -Q 1 --node 3"),
    ("`--Q` for `-Q`", "certify cora.npz gcn.safetensors --Q 1"),
    ("`--budget` for `-Q`", "certify cora.npz gcn.safetensors --budget 1"),
    ("`--max-q` for `--max-Q`", "radius cora.npz gcn.safetensors --max-q 5"),
    ("`--json` for `--format json`", "certify cora.npz gcn.safetensors -Q 1 --json"),
    ("`--eps` for `--epsilon`", "certify small.npz plain.npz -Q 1 --eps 0.1"),
    ("`--graphs` for `--nodes`", "certify graphs.npz readout.safetensors -Q 1 --graphs 1"),
    ("the graph as an option", "certify --graph cora.npz gcn.safetensors -Q 1"),
    ("categories as an option", "certify categories.npz plain.npz -Q 1 --categories"),
    ("`--remove-edges` for `--edges remove`", "certify cora.npz gcn.safetensors --remove-edges 1"),
    ("`--remove` for the same", "certify cora.npz gcn.safetensors --remove 1"),
    ("`--float32` for `--deployed float32`", "certify cora.npz gcn.safetensors -Q 1 --float32"),
    ("`--labels` for `--class labels`", "certify cora.npz gcn.safetensors -Q 1 --labels"),
    ("a slip of the keyboard", "certify cora.npz gcn.safetensors -Q 1 --node-limt 5"),
    ("spaces in a list", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 1 2"),
    ("the same before the files", "certify --nodes 0, 1, 2 cora.npz gcn.safetensors -Q 1"),
    ("the same where one node is meant", "explain cora.npz gcn.safetensors --node 0 1"),
    ("a dash of a word processor", "certify cora.npz gcn.safetensors –Q 1"),
    ("the same before a long name", "report done.csv —out new.html"),
    ("no hyphen", "certify cora.npz gcn.safetensors Q 1"),
    ("three files", "certify cora.npz gcn.safetensors done.csv -Q 1"),
    ("a budget twice", "certify cora.npz gcn.safetensors -Q 1 -Q 2"),
    ("minima and bounds", "certify cora.npz gcn.safetensors -Q 1 --minimize --bounds-only"),
    ("parts for no model", "partition cora.npz --parts 2 --out new"),
    ("**Training**", ""),
    ("a seed below 0", "train cora.npz --loss ce --out new.safetensors --seed -1"),
    ("a step below 0", "train cora.npz --loss ce --out new.safetensors --learning-rate -0.1"),
    ("more than all labels", "train cora.npz --loss ce --out new.safetensors --split 150%"),
    ("a folder that is not there", "train cora.npz --loss ce --out nosuch/new.safetensors"),
    ("model and checkpoint in one file", "train cora.npz --loss ce --out new.safetensors --checkpoint new.safetensors"),
    ("model and log in one file", "train cora.npz --loss ce --out new.safetensors --log new.safetensors"),
    ("a damaged checkpoint", "train cora.npz --loss ce --out new.safetensors --checkpoint stopped.checkpoint --resume"),
    ("`--train` for `--labelled`", "train cora.npz --loss ce --out new.safetensors --train 0-300"),
    ("labels in two ways", "train cora.npz --loss ce --out new.safetensors --labelled 0-300 --split 20"),
    ("a training that is finished", "train cora.npz --loss ce --epochs 1 --out trained.safetensors"),
    ("the same with `--resume`", "train cora.npz --loss ce --epochs 1 --out trained.safetensors --resume"),
    ("**Changed edges**", ""),
    ("candidates without `--edges`", "certify cora.npz gcn.safetensors -E 5 --candidates-within 2"),
    ("a list of them without `--edges`", "explain cora.npz gcn.safetensors --node 0 --candidates no_edge.txt"),
    ("a candidate that is an edge", "certify cora.npz gcn.safetensors --edges insert -E 1 --candidates edge.txt"),
    ("candidates in columns", "certify small.npz plain.npz --edges insert -E 1 --candidates candidates.npy"),
    ("no candidates", "certify small.npz plain.npz --edges insert -E 1 --candidates no_pairs.txt"),
    ("candidates by a number", "certify small.npz plain.npz --edges insert -E 1 --candidates 2"),
    ("candidates without a file", "certify small.npz plain.npz --edges insert -E 1 --candidates 0,2"),
    ("frozen edges where none is removed", "certify small.npz plain.npz --edges insert -E 1 --freeze-edges edge.txt"),
    ("a frozen node that is not there", "certify small.npz plain.npz --edges remove -E 1 --freeze-nodes 9"),
    ("`-E` of `radius` for insertions", "radius cora.npz gcn.safetensors --edges insert -E 5"),
    ("candidates of one attack for all", "collective cora.npz gcn.safetensors --budgets 2 --candidates-within 2"),
    ("candidates without insertions", "certify cora.npz gcn.safetensors --edges remove -E 5 --candidates-within 2"),
    ("two attacks on edges", "certify cora.npz gcn.safetensors --edges remove,insert -E 5"),
    ("a number of edges without `-E`", "certify cora.npz gcn.safetensors --edges remove 5"),
    ("a number for what is done to edges", "certify cora.npz gcn.safetensors --edges 5"),
    ("another attack on edges", "certify cora.npz gcn.safetensors --edges swap -E 5"),
    ("minima for edges and attributes at once", "certify cora.npz gcn.safetensors --edges remove -E 5 -Q 3 --minimize"),
    ("edges and a local budget of flips", "certify cora.npz gcn.safetensors --edges remove -E 2 -q 1"),
    ("the same of `radius`", "radius cora.npz gcn.safetensors --edges remove -q 1"),
    ("edges and a largest Q", "radius cora.npz gcn.safetensors --edges remove --max-Q 3"),
    ("edges and `-Q` of `explain`", "explain cora.npz gcn.safetensors --node 0 --edges remove -Q 3"),
    ("no number of edges", "certify cora.npz gcn.safetensors --edges remove -e 3"),
    ("`-E` without `--edges`", "certify cora.npz gcn.safetensors -E 2"),
    ("`-e` without `--edges`", "certify cora.npz gcn.safetensors -Q 1 -e 2"),
    ("neither true nor false", "certify cora.npz gcn.safetensors --edges remove -E 1 --keep-one-edge maybe"),
    ("`-E` of `radius`", "radius cora.npz gcn.safetensors --edges remove -E 5"),
    ("a largest E without `--edges`", "radius cora.npz gcn.safetensors --max-Q 5 --max-E 5"),
    ("`-E` of `explain` without `--edges`", "explain cora.npz gcn.safetensors --node 0 -Q 3 -E 5"),
    ("half an edge", "certify cora.npz gcn.safetensors --edges remove -E 2.5"),
    (
        "a matrix from a file",
        "certify small.npz small.safetensors --layers encoder,classifier --message-passing operator.npy --edges remove -E 1",
    ),
    ("an id in each line", "certify cora.npz gcn.safetensors --edges remove -E 1 --freeze-edges three_ids.txt"),
    ("three ids in a line", "certify cora.npz gcn.safetensors --edges insert -E 1 --candidates triples.txt"),
    ("an edge from a node to itself", "certify cora.npz gcn.safetensors --edges remove -E 1 --freeze-edges loop.txt"),
    ("an edge that is not there", "certify cora.npz gcn.safetensors --edges remove -E 1 --freeze-edges no_edge.txt"),
    (
        "budgets of another graph",
        "certify cora.npz gcn.safetensors --edges remove -E 1 --edges-local-file three_budgets.txt",
    ),
    ("verdicts for a deployed network", "certify cora.npz gcn.safetensors --edges remove -E 1 --deployed float32"),
    ("**One attack for the whole graph**", ""),
    ("budgets that are no range", "collective cora.npz gcn.safetensors -q 1 --budgets 100-20"),
    ("a step without a range", "collective cora.npz gcn.safetensors -q 1 --budgets 100:20"),
    ("a budget below 0", "collective cora.npz gcn.safetensors -q 1 --budgets -1"),
    ("removed edges", "collective cora.npz gcn.safetensors --budgets 2 -E 3"),
    ("logits", "collective cora.npz gcn.safetensors --budgets 2 --logits logits.npz"),
    ("swaps below 0", "collective cora.npz gcn.safetensors --budgets 2 --swaps -1"),
    ("a file for a folder", "collective cora.npz gcn.safetensors --budgets 2 --nodes 0-5 --proofs notes.txt"),
    (
        "radii and a search for them",
        "collective cora.npz gcn.safetensors -q 1 --budgets 5 --nodes 0-9 --radii radii.csv --complete",
    ),
    (
        "radii of another graph",
        "collective small.npz small.safetensors --layers encoder,classifier -q 1 --budgets 5 --radii radii.csv",
    ),
    ("radii of another model", "collective cora.npz deep.safetensors -q 1 --budgets 5 --nodes 0-9 --radii radii.csv"),
    (
        "radii of other message passing",
        "collective cora.npz gcn.safetensors --message-passing mean -q 1 --budgets 5 --nodes 0-9 --radii radii.csv",
    ),
    (
        "radii of another local budget",
        "collective cora.npz gcn.safetensors -q 2 --budgets 5 --nodes 0-9 --radii radii.csv",
    ),
    ("a node without a radius", "collective cora.npz gcn.safetensors -q 1 --budgets 5 --nodes 0-10 --radii radii.csv"),
    ("radii in edges", "collective cora.npz gcn.safetensors -q 1 --budgets 5 --nodes 0-9 --radii edge_radii.csv"),
    (
        "verdicts in the place of radii",
        "collective cora.npz gcn.safetensors -q 1 --budgets 5 --nodes 0-9 --radii done.csv",
    ),
    (
        "a proof that is there already",
        "collective cora.npz gcn.safetensors -q 1 --budgets 5 --nodes 0-9 --proofs proved",
    ),
    ("**Output**", ""),
    ("a finished run", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv"),
    ("proofs of a finished run", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --proofs done.jsonl"),
    ("a run about other nodes", "certify cora.npz gcn.safetensors -Q 1 --nodes 10-19 --out done.csv --resume"),
    ("a run of bounds only", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out quick.csv --resume"),
    ("a run under another budget", "certify cora.npz gcn.safetensors -Q 2 --nodes 0-9 --out done.csv --resume"),
    (
        "a run without frozen nodes",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --resume --freeze-nodes 5",
    ),
    (
        "a run with other margins",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --resume --margins tight",
    ),
    (
        "a run that minimizes nothing",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --resume --minimize",
    ),
    ("a run with a time limit", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --resume --complete"),
    (
        "a run about the exact network",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out done.csv --resume --deployed float32",
    ),
    ("a run of another model", "certify cora.npz deep.safetensors -Q 1 --nodes 0-9 --out done.csv --resume"),
    (
        "a run about attributes",
        "certify cora.npz gcn.safetensors --edges remove -E 1 --nodes 0-9 --out done.csv --resume",
    ),
    ("a run of another command", "radius cora.npz gcn.safetensors --max-Q 1 --nodes 0-9 --out done.csv --resume"),
    ("a curve", "certify small.npz small.safetensors --layers encoder,classifier -Q 1 --out curve.jsonl --resume"),
    (
        "proofs under another budget",
        "certify cora.npz gcn.safetensors -Q 2 --nodes 0-9 --out new.csv --proofs done.jsonl --resume",
    ),
    (
        "proofs about the exact network",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out new.csv --proofs done.jsonl --resume --deployed float32",
    ),
    ("nothing to be overwritten", "certify cora.npz gcn.safetensors -Q 1 --force"),
    ("the same of `radius`", "radius cora.npz gcn.safetensors --force"),
    ("going on and overwriting", "certify cora.npz gcn.safetensors -Q 1 --out new.csv --resume --force"),
    ("CSV under another name", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out commas.jsonl --resume"),
    ("a format that is none", "certify cora.npz gcn.safetensors -Q 1 --out rows.txt"),
    ("proofs under another ending", "certify cora.npz gcn.safetensors -Q 1 --proofs proofs.json"),
    ("a model under another ending", "train cora.npz --loss ce --out model.npz"),
    ("rows and proofs in one file", "certify cora.npz gcn.safetensors -Q 1 --out one.jsonl --proofs ./one.jsonl"),
    ("a folder for a file", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out folder.csv"),
    ("a file for a folder", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out notes.txt/rows.csv"),
    ("a folder that is not there", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out nosuch/rows.csv"),
    (
        "a folder of proofs that is not there",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --proofs nosuch/proofs.jsonl",
    ),
    (
        "a folder to expand into that is not there",
        "check cora.npz gcn.safetensors done.jsonl --expand nosuch/long.jsonl",
    ),
    ("a table of one's own", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out own.csv --force"),
    ("a file of one's own beside rows", "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out beside.csv --force"),
    (
        "a file of one's own for proofs",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0 --out new.csv --proofs own.jsonl --force",
    ),
    ("the same for a model", "train cora.npz --loss ce --epochs 1 --out own.safetensors --force"),
    ("the same for a checkpoint", "train cora.npz --loss ce --out new.safetensors --checkpoint own.txt --force"),
    ("the same for a log", "train cora.npz --loss ce --out new.safetensors --log own.txt --force"),
    ("the same in the folder of a study", "study cora.npz gcn.safetensors --out own --force"),
    ("the same in the folder of parts", "partition cora.npz gcn.safetensors --parts 2 --out own --force"),
    ("the same for a page", "report done.csv --out own.html --force"),
    ("the same for joined rows", "join half.csv --some --out own.csv --force"),
    ("a folder of pages that is not there", "report done.csv --out nosuch/page.html"),
    ("a folder for a page", "report done.csv --out folder.html"),
    ("figures of a page that is not there", "report done.csv --out drawn.html"),
    ("figures of one's own", "report done.csv --out painted.html --force"),
    ("joined rows over a file", "join half.csv --some --out done.csv"),
    ("rows that are not there to be joined", "join nosuch.csv --out new.csv"),
    ("a folder to be joined", "join halves --out new.csv"),
    ("a graph to be joined", "join small.npz --out new.csv"),
    ("an empty file to be joined", "join no_rows.csv --out new.csv"),
    ("proofs whose parts are not there", "join half.jsonl --parts nosuch --some --out new.jsonl"),
    ("proofs whose parts are elsewhere", "join half.jsonl --parts proved --some --out new.jsonl"),
    ("joined proofs under another ending", "join half.jsonl --parts halves --some --out new.csv"),
    ("rows and proofs to be joined", "join half.csv half.jsonl --some --out new.csv"),
    ("rows of different runs", "join half.csv other_half.csv --out new.csv"),
    ("rows over a list", "certify cora.npz gcn.safetensors -Q 1 --nodes mine.csv --out mine.csv --force"),
    ("rows over an array", "certify cora.npz gcn.safetensors -Q 1 --nodes masks.npz:mask --out masks.npz --force"),
    ("a file for the folder of a study", "study cora.npz gcn.safetensors --out notes.txt"),
    ("a file for the folder of parts", "partition cora.npz gcn.safetensors --parts 2 --out notes.txt"),
    ("results that are not there", "report nosuch"),
    ("the page behind the results", "report done.csv new.html"),
    ("proofs in the place of results", "report done.jsonl"),
    ("an array in the place of results", "report operator.npy"),
    ("a page in the place of results", "report page.html"),
    ("a graph to be summed up", "summary cora.npz"),
    ("JSON lines under another name", "summary renamed.csv"),
    ("results of another graph", "summary rows.jsonl --graph small.npz"),
    ("a node with two rows", "summary two_rows.jsonl"),
    ("a damaged description of a run", "summary damaged.csv"),
    ("the same of a run", "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out damaged.csv"),
    ("a table without anything", "summary no_rows.csv"),
    ("a table with semicolons", "summary semicolons.csv"),
    ("a table without names", "summary no_names.csv"),
    ("a split without nodes", "summary done.csv --split train"),
    ("a split twice", "summary done.csv --split train=0-4 --split train=5-9"),
    ("a split of a curve", "summary curve.jsonl --split some=0-2"),
    ("a graph in the place of results", "report cora.npz"),
    ("a model in the place of results", "report gcn.safetensors"),
    ("proofs with other message passing", "check cora.npz gcn.safetensors done.jsonl --message-passing mean"),
    ("proofs with a comma too many", "check cora.npz gcn.safetensors done.jsonl --message-passing mean,"),
    ("proofs under a smaller budget", "check cora.npz gcn.safetensors done.jsonl -Q 2 --nodes 0-9"),
    ("a question without a budget", "check cora.npz gcn.safetensors done.jsonl --nodes 0-9"),
    ("results in the place of proofs", "check cora.npz gcn.safetensors done.csv -Q 1"),
    ("results as JSON lines", "check cora.npz gcn.safetensors rows.jsonl -Q 1"),
    ("`--expect` of `check`", "check cora.npz gcn.safetensors done.jsonl --expect 1"),
    ("proofs in the place of the model", "check cora.npz done.jsonl -Q 1"),
    ("a graph in the place of proofs", "check cora.npz gcn.safetensors cora.npz -Q 1"),
    ("the folder of `collective`", "check cora.npz gcn.safetensors proved -Q 5 --bound 4"),
    ("proofs with a byte order mark", "check cora.npz gcn.safetensors marked.jsonl -Q 1"),
    ("proofs in gzip", "check cora.npz gcn.safetensors zipped.jsonl -Q 1"),
];

const HEAD: &str = "# Wrong files, and what is said about them

Every message names the file, the entry in it and the remedy. Exit codes: 0 done, 1 a negative answer (a proof rejected, logits of another
network in `inspect`), 2 wrong usage or input, 3 proofs that are too expensive to be judged, 4 proofs that are accepted without a question,
70 two steps of the program contradict each other, 130 interrupted, 141 standard output was closed by its reader (`| head`). A full disk
at standard output is an error (2).

This table is written and compared by `cli/tests/command/errors.rs`, which has the files.

| what is wrong | command (`gcnproof …`) | message | exit code |
|---|---|---|---|
";

#[test]
fn the_table_of_wrong_files() {
    let bench = wrong_files();
    let mut table = HEAD.to_string();
    for &(what, line) in TABLE {
        if line.is_empty() {
            table += &format!("| {what} | | | |\n");
            continue;
        }
        let done = bench.run(line);
        let code = done.status.code().unwrap();
        let mut message = joined(&done.stderr).replace(" For more information, try '--help'.", "");
        if message.is_empty() {
            // Negative answers are answers, and stand where answers stand.
            message = text(&done.stdout)
                .lines()
                .filter(|line| line.starts_with("not proved") || line.starts_with("result"))
                .collect::<Vec<_>>()
                .join(" ");
            message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        assert!(
            matches!(code, 1 | 2) && !message.is_empty() && !message.contains("panicked"),
            "{line}: {code} {message}"
        );
        let (message, help) = message.split_once(" help: ").unwrap_or((&message, ""));
        let escape = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
        let help = if help.is_empty() { String::new() } else { format!("<br>*help:* {}", escape(help)) };
        table += &format!("| {what} | `{line}` | {}{help} | {code} |\n", escape(message));
    }
    let path = Path::new("../docs/errors.md");
    if std::env::var_os("GCNPROOF_WRITE_DOCS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    for (now, before) in table.lines().zip(written.lines()) {
        assert_eq!(
            now, before,
            "write docs/errors.md anew: GCNPROOF_WRITE_DOCS=1 cargo test -p gcnproof-cli --test command errors"
        );
    }
    assert_eq!(
        table, written,
        "write docs/errors.md anew: GCNPROOF_WRITE_DOCS=1 cargo test -p gcnproof-cli --test command errors"
    );
}

/// A refused run leaves nothing behind, and the remedies for files of other programs work.
#[test]
fn what_is_refused_leaves_no_file_behind() {
    let bench = Bench::new();
    let line = "certify cora.npz gcn.safetensors -Q 1 --nodes 0-4 --out rows.csv";
    bench.done(line);
    let listed = || {
        let names = std::fs::read_dir(bench.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = listed();
    bench.refused(&format!("{line} --proofs new.jsonl"), 2);
    assert_eq!(listed(), before);
    // An empty file that was there stays.
    bench.write("mine.jsonl", b"");
    bench.refused(&format!("{line} --proofs mine.jsonl"), 2);
    assert!(bench.path("mine.jsonl").exists());
    bench.done(&format!("{line} --proofs new.jsonl --force"));
    // As `gzip < new.jsonl > packed.jsonl` leaves it.
    let pack =
        |line: &str| Command::new("sh").args(["-c", line]).current_dir(bench.0.path()).status().unwrap().success();
    assert!(pack("gzip < new.jsonl > packed.jsonl"));
    let message = bench.refused("check cora.npz gcn.safetensors packed.jsonl -Q 1 --nodes 0-4", 2);
    let remedy = message.split('`').nth(1).unwrap();
    assert!(pack(remedy), "{remedy}");
    bench.done(&format!("check cora.npz gcn.safetensors {} -Q 1 --nodes 0-4", remedy.rsplit(' ').next().unwrap()));
    // Nodes without rows are counted as none, and that is said.
    for (split, said) in [("test=30-40", true), ("test=4-40", false)] {
        let done = bench.run(&format!("summary rows.csv --split {split}"));
        assert!(
            done.status.success() && joined(&done.stderr).contains("no row of any of its 11 nodes") == said,
            "{split}"
        );
    }
}

/// What is refused before it is written leaves every file as it was, and what has no effect is told.
#[test]
fn nothing_is_lost_in_silence() {
    let bench = Bench::new();
    bench.write("mine.csv", b"0\n1\n5\n");
    bench.refused("certify cora.npz gcn.safetensors -Q 1 --nodes mine.csv --out mine.csv --force", 2);
    assert_eq!(std::fs::read(bench.path("mine.csv")).unwrap(), b"0\n1\n5\n");
    bench.refused("train cora.npz --loss ce --epochs 1 --out gcn.safetensors --log ./gcn.safetensors --force", 2);
    for (options, told) in [
        ("--epochs 1 --hinge-weight 3", "--hinge-weight has no effect with --loss ce"),
        ("--epochs 1 --split 99999", "every node is labelled"),
        ("--epochs 0", "untrained"),
        ("--epochs 5 --learning-rate 1e30", "always answering the largest class is right about"),
    ] {
        let done = bench.run(&format!("train cora.npz --loss ce --out new.safetensors --force {options}"));
        let notes = joined(&done.stderr);
        assert!(done.status.success() && notes.contains(told), "{options}: {notes}");
    }
    // A mask beside the graph is used if one says so.
    let x = singles(&[4, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    let ends = [0i64, 1, 1, 2, 2, 3, 1, 0, 2, 1, 3, 2].iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<_>>();
    let masked = [
        ("edge_index", npy("<i8", &[2, 6], &ends)),
        ("x", x),
        ("y", integers(&[0, 1, 0, 1])),
        ("train_mask", booleans(&[true, true, false, false])),
    ];
    bench.write("masked.npz", &npz(&masked));
    for (mask, told) in [("", true), (" --labelled masked.npz:train_mask", false)] {
        let line = format!("train masked.npz --loss ce --epochs 1 --out new.safetensors --force{mask}");
        let done = bench.run(&line);
        let notes = joined(&done.stderr);
        let said = notes.contains("to train on the mask: --labelled masked.npz:train_mask");
        assert!(done.status.success() && said == told, "{line}: {notes}");
    }
    let done = bench.run("train cora.npz --loss ce --out new.safetensors --force --epochs 20");
    assert!(done.status.success() && done.stderr.is_empty(), "{}", text(&done.stderr));
}

/// What gcnproof did not write stays, with `--force` or without it, whatever command would write there.
#[test]
fn what_is_not_ours_stays() {
    let bench = Bench::new();
    own_files(&bench);
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-4 --out rows.csv --proofs rows.jsonl");
    let certify = "certify cora.npz gcn.safetensors -Q 1 --nodes 0";
    let train = "train small.npz --loss ce --epochs 1 --split 1";
    small_problem(&bench);
    let study = "study cora.npz gcn.safetensors --nodes 0-2 -Q 1 --max-Q 1 --sample 0";
    for line in [
        format!("{certify} --out own.csv"),
        format!("{certify} --out own.jsonl"),
        format!("{certify} --out beside.csv"),
        format!("{certify} --proofs own.jsonl"),
        format!("{certify} --out new.csv --proofs own.jsonl"),
        "radius cora.npz gcn.safetensors --max-Q 1 --nodes 0 --out own.csv".into(),
        "collective cora.npz gcn.safetensors --budgets 1 --nodes 0-5 --out own.csv --proofs proofs".into(),
        format!("{train} --out own.safetensors"),
        format!("{train} --out new.safetensors --checkpoint own.txt"),
        format!("{train} --out new.safetensors --log own.txt"),
        format!("{study} --out own"),
        "partition cora.npz --hops 2 --parts 2 --out own".into(),
        "report rows.csv --out own.html".into(),
        "demo --out own".into(),
    ] {
        for force in ["", " --force"] {
            let message = bench.refused(&format!("{line}{force}"), 2);
            assert!(!message.contains("--force"), "{line}{force}: {message}");
            for (name, bytes) in OWN {
                assert_eq!(text(&std::fs::read(bench.path(name)).unwrap()), text(bytes), "{line}{force}");
            }
        }
    }
    // A command that is refused makes no folder, nor files in one.
    assert_eq!(std::fs::read_dir(bench.path("own")).unwrap().count(), 2);
    assert!(!bench.path("proofs").exists() && !bench.path("new.safetensors").exists());
    // What a run has written is its own.
    for (line, again) in [
        (format!("{certify} --out new.csv --proofs new.jsonl.zst"), " --force"),
        (
            "collective cora.npz gcn.safetensors --budgets 1 --nodes 0-5 --out curve.csv --proofs proofs".into(),
            " --force",
        ),
        (format!("{train} --out new.safetensors --log log.jsonl"), " --force"),
        (format!("{study} --out study"), " --force"),
        (format!("{study} --out study --resume"), ""),
        ("partition cora.npz --hops 2 --parts 3 --out parts".into(), " --force"),
        ("report rows.csv --out page.html".into(), " --force"),
    ] {
        bench.done(&line);
        bench.done(&format!("{line}{again}"));
    }
    // A model of one's own in the folder of a study is none of the study's.
    bench.write("study/other.model.safetensors", b"not yet\n");
    std::fs::copy(bench.path("gcn.safetensors"), bench.path("other.safetensors")).unwrap();
    let line = "study cora.npz other.safetensors --nodes 0-2 -Q 1 --max-Q 1 --sample 0 --out study";
    for way in ["--resume", "--force"] {
        assert!(bench.refused(&format!("{line} {way}"), 2).contains("other.model.safetensors"));
    }
    assert_eq!(std::fs::read(bench.path("study/other.model.safetensors")).unwrap(), b"not yet\n");
}

/// Pages, their figures and pictures of gaps: nothing is overwritten unasked, and nothing that is not ours at all.
#[test]
fn figures_are_not_overwritten_in_silence() {
    let bench = Bench::new();
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-4 --out rows.csv");
    bench.refused("report rows.csv --out nosuch/page.html", 2);
    assert!(!bench.path("nosuch").exists());
    bench.done("report rows.csv --out page.html");
    std::fs::remove_file(bench.path("page.html")).unwrap();
    assert!(bench.refused("report rows.csv --out page.html", 2).contains("--force"));
    bench.done("report rows.csv --out page.html --force");
    bench.write("page-figures/notes.txt", b"mine");
    bench.done("report rows.csv --out page.html --force");
    let figure = std::fs::read_dir(bench.path("page-figures")).unwrap().map(|entry| entry.unwrap().path());
    let figure = figure.filter(|path| path.extension().is_some_and(|end| end == "svg")).min().unwrap();
    for own in [figure.clone(), figure.with_extension("csv")] {
        let before = std::fs::read(&own).unwrap();
        std::fs::write(&own, "mine").unwrap();
        // Numbers are known by the figure beside them.
        if own.extension().is_some_and(|end| end == "csv") {
            std::fs::remove_file(&figure).unwrap();
        }
        let message = bench.refused("report rows.csv --out page.html --force", 2);
        assert!(!message.contains("--force") && std::fs::read(&own).unwrap() == b"mine", "{message}");
        std::fs::write(&own, before).unwrap();
    }
}

#[cfg(feature = "laboratory")]
#[test]
fn pictures_of_gaps_are_not_overwritten_in_silence() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "validate small.npz small.safetensors --layers encoder,classifier -Q 1 -q 1 --sample 1 --plots plots";
    bench.done(line);
    assert!(bench.refused(line, 2).contains("overwrite it by --force"));
    bench.done(&format!("{line} --force"));
    bench.done(&format!("{line} --force --out pairs.jsonl"));
    let picture = std::fs::read_dir(bench.path("plots")).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    std::fs::write(&picture, "mine").unwrap();
    for way in ["", " --force"] {
        assert!(!bench.refused(&format!("{line}{way}"), 2).contains("--force"));
    }
    assert_eq!(std::fs::read(&picture).unwrap(), b"mine");
    assert!(bench.refused("validate small.npz small.safetensors --force -Q 1", 2).contains("--out or --plots"));
}

/// What is read of edges is what was saved, and what is not used is told by its reason.
#[test]
fn pairs_are_read_as_they_stand() {
    let bench = Bench::new();
    small_problem(&bench);
    let pairs: [i64; 6] = [0, 2, 0, 3, 2, 4];
    let bytes = |ids: &[i64]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    bench.write("rows.npy", &npy("<i8", &[3, 2], &bytes(&pairs)));
    bench.write("flat.npy", &npy("<i8", &[6], &bytes(&pairs)));
    bench.write("named.npz", &npz(&[("pairs", npy("<i8", &[3, 2], &bytes(&pairs))), ("other", integers(&[1]))]));
    bench.write("pairs.txt", b"0,2\n0,3\n2,4\n");
    bench.write("columns.npy", &npy("<i8", &[2, 3], &bytes(&[0, 0, 2, 2, 3, 4])));
    let line = "certify small.npz small.safetensors --layers encoder,classifier --edges insert -E 1 --candidates";
    for file in ["rows.npy", "flat.npy", "named.npz:pairs", "pairs.txt"] {
        let told = bench.json(&format!("{line} {file} --format json"));
        assert_eq!(
            told["run"]["edges"]["candidates"],
            json!([[0, 2], [0, 3], [2, 4]]),
            "{file}: {}",
            told["run"]["edges"]
        );
    }
    assert!(bench.refused(&format!("{line} columns.npy"), 2).contains(".T"));
    // Two arrays for one thing.
    use small::*;
    let dense = singles(&[NODES, NODES], &[0.0; NODES * NODES]);
    let x = || singles(&[NODES, ATTRIBUTES], X.as_flattened());
    bench.write(
        "both.npz",
        &npz(&[("adj_matrix", dense), ("edge_index", npy("<i8", &[2, 1], &bytes(&[0, 1]))), ("x", x())]),
    );
    let noted = joined(&bench.run("inspect both.npz").stderr);
    assert!(noted.contains("`edge_index` is ignored: `adj_matrix` is read in its place"), "{noted}");
    let zeros = [
        ("edge_index", npy("<i8", &[2, 2], &bytes(&[0, 1, 1, 0]))),
        ("x", x()),
        ("edge_weight", doubles(&[2], &[0.0; 2])),
    ];
    bench.write("zeros.npz", &npz(&zeros));
    let noted = joined(&bench.run("inspect zeros.npz").stderr);
    assert!(noted.contains("2 edges of weight 0 were dropped"), "{noted}");
}

/// Where no edge can be inserted, that is said; and the remedies of candidates work.
#[test]
fn candidates_are_edges_that_can_be_inserted() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "certify small.npz small.safetensors --layers encoder,classifier -E 1";
    for hops in [0, 1] {
        for (attack, said) in [("insert", "nothing can be attacked"), ("change", "only removals are decided")] {
            let done = bench.run(&format!("{line} --edges {attack} --candidates-within {hops}"));
            assert!(done.status.success() && joined(&done.stderr).contains(said), "{}", text(&done.stderr));
        }
    }
    let message = bench.refused(&format!("{line} --candidates-within 2"), 2);
    for attack in ["insert", "change"] {
        assert!(message.contains(&format!("--edges {attack}")) && !message.contains("--edges remove"), "{message}");
        let done = bench.run(&format!("{line} --candidates-within 2 --edges {attack}"));
        assert!(done.status.success() && done.stderr.is_empty(), "{}", text(&done.stderr));
    }
}

/// The remedies for graphs with directions or weights keep them.
#[test]
fn directions_and_weights_are_kept_by_a_matrix() {
    let bench = Bench::new();
    small_problem(&bench);
    use small::*;
    let ends = |pairs: &[(usize, usize)]| {
        let ids = pairs.iter().map(|e| e.0).chain(pairs.iter().map(|e| e.1));
        npy("<i8", &[2, pairs.len()], &ids.flat_map(|n| (n as i64).to_le_bytes()).collect::<Vec<_>>())
    };
    let x = || singles(&[NODES, ATTRIBUTES], X.as_flattened());
    bench.write("directed.npz", &npz(&[("edge_index", ends(&EDGES)), ("x", x())]));
    let both: Vec<(usize, usize)> = EDGES.iter().flat_map(|&(i, j)| [(i, j), (j, i)]).collect();
    bench.write(
        "weighted.npz",
        &npz(&[("edge_index", ends(&both)), ("x", x()), ("edge_weight", doubles(&[8], &[0.5; 8]))]),
    );
    // Receivers in rows.
    let mut matrix = [[0.0; NODES]; NODES];
    EDGES.iter().for_each(|&(from, to)| matrix[to][from] = 0.5);
    bench.write("matrix.npy", &doubles(&[NODES, NODES], matrix.as_flattened()));
    for (graph, option) in [("directed.npz", "--symmetrize"), ("weighted.npz", "--unweight")] {
        let line = format!("certify {graph} small.safetensors --layers encoder,classifier -Q 1 -q 1");
        let message = bench.refused(&line, 2);
        assert!(message.contains(&format!("{option} --message-passing matrix.npz")), "{message}");
        let kept = bench.json(&format!("{line} {option} --message-passing matrix.npy --format json"));
        // A directed path's first node hears from nobody: its logits are the biases of the last layer.
        assert_eq!(kept["rows"][0]["verdict"], "robust", "{kept}");
        assert_eq!(kept["rows"][0]["predicted"], 0);
        bench.done(&format!("{line} {option} --message-passing matrix.npy --proofs {graph}.jsonl"));
        let matrix = format!("{option} --message-passing matrix.npy");
        bench.done(&format!(
            "check {graph} small.safetensors {graph}.jsonl --layers encoder,classifier -Q 1 -q 1 {matrix}"
        ));
    }
}

#[test]
fn masks_are_masks() {
    let bench = Bench::new();
    let flags: Vec<bool> = (0..2708).map(|node| MASKED.contains(&node)).collect();
    let numbers: Vec<i64> = flags.iter().map(|&flag| i64::from(flag)).collect();
    bench.write("mask.npy", &booleans(&flags));
    bench.write("masks.npz", &npz(&[("train_mask", booleans(&flags)), ("other", integers(&[5]))]));
    bench.write("ints.npy", &integers(&numbers));
    bench.write("mask.txt", numbers.iter().map(|number| format!("{number}\n")).collect::<String>().as_bytes());
    bench.write("ids.txt", b"3\n17\n1000\n2707\n");
    bench.write("few.npy", &integers(&[0, 1]));
    for mask in ["mask.npy", "masks.npz:train_mask", "ints.npy", "mask.txt", "ids.txt", "3,17,1000,2707"] {
        assert_eq!(bench.nodes(&format!("certify cora.npz gcn.safetensors -Q 1 --nodes {mask}")), MASKED, "{mask}");
        assert_eq!(bench.nodes(&format!("radius cora.npz gcn.safetensors --max-Q 1 --nodes {mask}")), MASKED, "{mask}");
        let summary =
            bench.json(&format!("certify cora.npz gcn.safetensors -Q 1 --nodes 0-99 --labelled {mask} --format json"));
        assert_eq!(summary["summary"]["labelled"]["nodes"], 2, "{mask}");
        let frozen =
            bench.json(&format!("certify cora.npz gcn.safetensors -Q 1 --nodes 0 --freeze-nodes {mask} --format json"));
        let local = frozen["run"]["budget"]["local"].as_array().unwrap();
        assert!((0..2708).all(|node| (local[node] == 0) == MASKED.contains(&(node as u64))), "{mask}");
    }
    assert_eq!(bench.nodes("certify cora.npz gcn.safetensors -Q 1 --nodes few.npy"), [0, 1]);
    let attributes: Vec<bool> = (0..1433).map(|attribute| attribute == 7 || attribute == 9).collect();
    bench.write("attributes.npy", &booleans(&attributes));
    let frozen =
        bench.json("certify cora.npz gcn.safetensors -Q 1 --nodes 0 --freeze-attributes attributes.npy --format json");
    assert_eq!(frozen["run"]["budget"]["frozen_attributes"], json!([7, 9]));
    bench.refused("certify cora.npz gcn.safetensors -Q 1 --nodes 0 --freeze-attributes mask.npy", 2);
    bench.refused("certify cora.npz gcn.safetensors -Q 1 --nodes 0,1,1,0", 2);
    bench.write("none.npy", &booleans(&[false; 2708]));
    assert!(bench.refused("certify cora.npz gcn.safetensors -Q 1 --nodes none.npy", 2).contains("selects no node"));
}

/// Lists as spreadsheets and pandas write them, and shares as Python has them.
#[test]
fn what_programs_write_is_read() {
    let bench = Bench::new();
    for (name, list) in [
        ("mark.txt", &b"\xef\xbb\xbf3\r\n17\r\n1000\r\n2707\r\n"[..]),
        ("column.csv", b"node_id\n3\n17\n1000\n2707\n"),
        ("row.csv", b"3,17,1000,2707\n"),
        ("commas.csv", b"\xef\xbb\xbf\"node\",\r\n3,\r\n17,\r\n1000,\r\n2707,\r\n"),
        ("savetxt.txt", b"3.000e+00\n1.700e+01\n1.000e+03\n2.707e+03\n"),
    ] {
        bench.write(name, list);
        assert_eq!(bench.nodes(&format!("certify cora.npz gcn.safetensors -Q 1 --nodes {name}")), MASKED, "{name}");
    }
    let rows = |share: &str| {
        let told = bench.json(&format!("certify cora.npz gcn.safetensors -Q 3 --nodes 0-9 {share} --format json"));
        told["run"]["budget"].clone()
    };
    assert_eq!(rows("-q 0.01"), rows("-q 1%"));
    assert_eq!(rows("-q 0.01")["local"], 14);
    assert_eq!(rows("-q 0.0")["local"], 0);
    bench.done("certify cora.npz gcn.safetensors -Q 3 --nodes 0-9 --proofs shares.jsonl");
    bench.done("check cora.npz gcn.safetensors shares.jsonl -Q 3 -q 0.01 --nodes 0-9");
    // Both ends of an edge in a line.
    bench.write("ends.csv", b"from,to\n");
    bench.refused("certify cora.npz gcn.safetensors --edges remove -E 1 --nodes 0 --freeze-edges ends.csv", 2);
    let graph = gcnproof::embedded::cora().0;
    let to = graph.adjacency().outer_view(0).unwrap().indices()[0];
    bench.write("ends.csv", format!("from,to\n0,{to}\n").as_bytes());
    let told = bench.json(
        "certify cora.npz gcn.safetensors --edges remove -E 1 --nodes 0 --freeze-edges ends.csv --keep-one-edge false --format json",
    );
    assert_eq!(
        (told["run"]["edges"]["frozen"].as_array().unwrap().len(), &told["run"]["edges"]["keep_one"]),
        (1, &json!(false))
    );
}

/// What bounds leave open is searched unless one says otherwise, and a limit that was hit is named.
#[test]
fn the_search_is_the_default() {
    let bench = Bench::new();
    let undecided = |options: &str| {
        let told = bench.json(&format!("certify cora.npz gcn.safetensors -Q 12 {options} --format json"));
        (told["summary"]["all"]["undecided"].as_u64().unwrap(), told["run"]["effort"].clone())
    };
    let (open, quick) = undecided("--bounds-only");
    assert!(open > 0);
    assert_eq!((&quick["level"], &quick["time_limit"]), (&json!("bounds"), &Value::Null));
    let (none, usual) = undecided("");
    assert_eq!((none, &usual["level"], &usual["time_limit"]), (0, &json!("complete"), &json!(5.0)));
    let (none, complete) = undecided("--complete");
    assert_eq!((none, &complete["level"], &complete["time_limit"]), (0, &json!("complete"), &Value::Null));
    assert_eq!(undecided("--bound paper").1["level"], "bounds");
    assert_eq!(undecided("--omega optimal --nodes 0-99").1["level"], "optimal");
    let told = bench.done("certify cora.npz gcn.safetensors -Q 12 --time-limit 0");
    assert!(told.contains(" nodes was stopped at its limit of 0 s"), "{told}");
    assert!(!bench.done("certify cora.npz gcn.safetensors -Q 12").contains("was stopped"));
    // The same of radii, and of one attack.
    let told = bench.done("radius cora.npz gcn.safetensors --max-Q 8 --nodes 0-99 --time-limit 0");
    assert!(told.contains("the search was stopped at its limit of 0 s"), "{told}");
    let noted =
        bench.run("collective cora.npz gcn.safetensors -Q 8 --rows count --swaps 1 --nodes 0-99 --time-limit 0");
    assert!(joined(&noted.stderr).contains("was stopped at its limit of 0 s for"), "{}", joined(&noted.stderr));
    // A run of an older version goes on if one says what it was.
    let line = "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out rows.csv";
    bench.done(&format!("{line} --bounds-only"));
    assert!(bench.refused(&format!("{line} --resume"), 2).contains("--bounds-only"));
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --bounds-only --out rows.csv --resume");
}

#[test]
fn help_is_short_and_help_is_long() {
    let bench = Bench::new();
    let short = bench.done("certify -h");
    // Continued lines are indented further.
    let is_option = |line: &&str| line.trim_start().starts_with('-') && line.len() - line.trim_start().len() <= 6;
    let options = short.lines().filter(is_option).count();
    assert!(options <= 11 && short.lines().count() <= 45, "{options} options in {} lines", short.lines().count());
    for word in ["anchored", "Ω", "column generation", "envelope"] {
        assert!(!short.contains(word), "{short}");
    }
    let long = bench.done("certify --help");
    for option in ["--freeze-nodes", "--message-passing", "--deployed", "--complete", "--margins", "--unit-roundoff"] {
        let listed = |help: &str| help.lines().any(|line| line.trim_start().starts_with(option));
        assert!(listed(&long) && !listed(&short), "{option}");
    }
}

#[test]
fn a_run_goes_on_with_its_own_nodes_only() {
    let bench = Bench::new();
    for command in ["certify cora.npz gcn.safetensors -Q 1", "radius cora.npz gcn.safetensors --max-Q 1"] {
        let out = format!("{}.jsonl", &command[..6]);
        bench.done(&format!("{command} --nodes 0-9 --out {out}"));
        let before = std::fs::read(bench.path(&out)).unwrap();
        let message = bench.refused(&format!("{command} --nodes 10-19 --out {out} --resume"), 2);
        assert!(message.contains("nodes 0-9 (10 nodes)") && message.contains("nodes 10-19 (10 nodes)"), "{message}");
        assert_eq!(std::fs::read(bench.path(&out)).unwrap(), before);
        bench.done(&format!("{command} --nodes 0-9 --out {out} --resume"));
        // Runs of versions that wrote down only how many nodes there were.
        let sidecar = bench.path(&format!("{out}.run.json"));
        let mut run: Value = serde_json::from_slice(&std::fs::read(&sidecar).unwrap()).unwrap();
        run["fingerprint"].as_object_mut().unwrap().remove("node_set").unwrap();
        std::fs::write(&sidecar, run.to_string()).unwrap();
        let message = bench.refused(&format!("{command} --nodes 0-9 --out {out} --resume"), 2);
        assert!(message.contains("older version"), "{message}");
    }
}

#[test]
fn what_is_finished_is_kept() {
    let bench = Bench::new();
    let line = "certify cora.npz gcn.safetensors -Q 1 --nodes 0-4 --out rows.csv --proofs proofs.jsonl.zst";
    bench.done(line);
    let files = ["rows.csv", "proofs.jsonl.zst"].map(|name| bench.path(name));
    let before = files.clone().map(|path| std::fs::read(path).unwrap());
    for other in [
        line,
        "certify cora.npz gcn.safetensors -Q 2 --nodes 0-4 --out rows.csv",
        "certify cora.npz gcn.safetensors -Q 2 --nodes 0-4 --proofs proofs.jsonl.zst",
    ] {
        let message = bench.refused(other, 2);
        assert!(message.contains("finished run") && message.contains("--force"), "{message}");
        assert_eq!(files.clone().map(|path| std::fs::read(path).unwrap()), before);
    }
    assert!(bench.done(&format!("{line} --resume")).contains("all 5 nodes were there before"));
    bench.done(&format!("{line} --force"));
    // The rate is that of what was computed now.
    let mut rows: Vec<NodeRecord> = read(&files[0], NodeRecord::SCHEMA).unwrap();
    rows.truncate(3);
    gcnproof_results::write(&files[0], NodeRecord::SCHEMA, &rows).unwrap();
    let resumed = bench.done(&format!("{line} --resume"));
    assert!(resumed.contains("2 nodes, ") && resumed.contains("3 nodes were there before"), "{resumed}");
}

#[cfg(feature = "laboratory")]
#[test]
fn an_exported_program_says_what_it_is_about() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "export small.npz small.safetensors --layers encoder,classifier -Q 1 -q 1 --node 3 --class";
    for (name, mark) in [("pair.lp", "\\ "), ("pair.mps", "* ")] {
        let class = if bench.run(&format!("{line} 0")).status.success() { 0 } else { 1 };
        bench.done(&format!("{line} {class} --out {name}"));
        let written = std::fs::read_to_string(bench.path(name)).unwrap();
        let comments: Vec<&str> = written.lines().take_while(|line| line.starts_with(mark)).collect();
        let comments = comments.join("\n");
        // Node 3 and those within two hops of it, as in the names of the file.
        assert!(comments.contains("x_i_d") && comments.contains("representation 1"), "{comments}");
        for node in [1, 2, 3] {
            assert!(comments.contains(&format!("={node}")), "{comments}");
        }
        let message = bench.refused(&format!("{line} {class} --out {name}"), 2);
        assert!(message.contains(name) && message.contains("--force"), "{message}");
        bench.done(&format!("{line} {class} --out {name} --force"));
    }
    assert!(include_str!("../../../docs/laboratory.md").contains("`x_i_d`"));
}

#[test]
fn logits_tell_whose_network_it_is() {
    let bench = Bench::new();
    small_problem(&bench);
    let own = small_logits(gcn, relu, true, false);
    bench.write("own.npy", &doubles(&[5, 2], &own));
    bench.write("single.npz", &npz(&[("logits", singles(&[5, 2], &own)), ("train", integers(&[1]))]));
    let csv: String = own.chunks(2).map(|row| format!("{:.6},{:.6}\n", row[0], row[1])).collect();
    bench.write("own.csv", csv.as_bytes());
    let normal: Vec<f64> = own
        .chunks(2)
        .flat_map(|row| {
            let sum = (row[0].exp() + row[1].exp()).ln();
            [row[0] - sum, row[1] - sum]
        })
        .collect();
    bench.write("log_softmax.npy", &doubles(&[5, 2], &normal));
    let files = "small.npz small.safetensors --layers encoder,classifier";
    for good in ["own.npy", "single.npz", "single.npz:logits", "own.csv", "log_softmax.npy"] {
        let told = bench.json(&format!("inspect {files} --logits {good} --format json"));
        assert_eq!(told[2]["logits"]["agree"], true, "{good}: {told}");
        assert_eq!(told[2]["logits"]["after_log_softmax"], good == "log_softmax.npy", "{good}");
        bench.done(&format!("certify {files} -Q 1 --logits {good}"));
        bench.done(&format!("radius {files} --max-Q 1 --logits {good}"));
    }
    let elu: fn(f64) -> f64 = |x| if x > 0.0 { x } else { x.exp() - 1.0 };
    let one: Passing = |_, _, _| 1.0;
    let cases: [(&str, Vec<f64>, &str, &str); 6] = [
        ("normalize.npy", small_logits(one, relu, false, false), "normalize=False", "--message-passing sum"),
        ("loops.npy", small_logits(gcn, relu, false, false), "add_self_loops=False", "--message-passing FILE.npz"),
        ("elu.npy", small_logits(gcn, elu, true, false), "elu", "only ReLU"),
        ("tanh.npy", small_logits(gcn, f64::tanh, true, false), "tanh", "only ReLU"),
        ("rows.npy", small_logits(gcn, relu, true, true), "NormalizeFeatures", "divided by the sums of their rows"),
        ("strange.npy", own.iter().map(|x| x + 0.01 * x * x).collect(), "None of the usual causes", "model.eval()"),
    ];
    for (name, logits, cause, remedy) in cases {
        bench.write(name, &doubles(&[5, 2], &logits));
        for command in ["certify", "radius"] {
            let budget = if command == "certify" { "-Q 1" } else { "--max-Q 1" };
            let message = bench.refused(&format!("{command} {files} {budget} --logits {name}"), 2);
            assert!(message.contains(cause) && message.contains(remedy) && message.contains("node 0"), "{message}");
        }
        let inspected = bench.run(&format!("inspect {files} --logits {name}"));
        assert_eq!(inspected.status.code(), Some(1), "{name}");
        assert!(
            text(&inspected.stdout).contains(cause) && text(&inspected.stdout).contains(remedy),
            "{}",
            text(&inspected.stdout)
        );
    }
    // Differences below the tolerance of the stored precision, and above it.
    let shifted = |by: f64| -> Vec<f64> { own.iter().map(|x| x + by * (1.0 + x)).collect() };
    bench.write("near.npz", &npz(&[("logits", singles(&[5, 2], &shifted(1e-6)))]));
    bench.write("far.npy", &doubles(&[5, 2], &shifted(1e-6)));
    bench.done(&format!("certify {files} -Q 1 --logits near.npz"));
    bench.refused(&format!("certify {files} -Q 1 --logits far.npy"), 2);
    // Logits that overflow in 64 bits agree with nothing, whatever the file holds.
    let vast: [&[f64]; 2] = [&[1e300; 12], &[1e300; 6]];
    let tensors = safetensors(&[("convs.0.lin.weight", &[3, 4], vast[0]), ("convs.1.lin.weight", &[2, 3], vast[1])]);
    bench.write("vast.safetensors", &tensors);
    let message = bench.refused("certify small.npz vast.safetensors -Q 1 --logits own.npy", 2);
    assert!(message.contains("too large"), "{message}");
    // Without logits `inspect` says what it assumes; of a model of our own it assumes nothing.
    let warned = joined(&bench.run(&format!("inspect {files}")).stderr);
    assert!(warned.contains("neither activation nor options") && warned.contains("add_self_loops=True"), "{warned}");
    bench.done("train small.npz --loss ce --epochs 2 --split 1 --out ours.safetensors");
    assert!(!joined(&bench.run("inspect small.npz ours.safetensors").stderr).contains("activation"));
    assert!(include_str!("../../../README.md").contains("--logits"));
}

/// A share is one of what the file has: columns that were made of numbers or of categories do not count.
#[test]
fn shares_are_of_groups_and_of_attributes_of_the_file() {
    let bench = Bench::new();
    let weights = [0.5, -0.25, 1.0, 0.75, -0.5, 0.25, 0.5, -1.0];
    bench.write("m.npz", &npz(&[("W1", doubles(&[4, 2], &weights)), ("W2", doubles(&[2, 2], &weights[..4]))]));
    let edges = npy("<i8", &[2, 2], &[0i64, 1, 1, 0].map(i64::to_le_bytes).concat());
    let attributes = |second: f64| doubles(&[2, 4], &[1.0, 0.0, 1.0, 0.0, 0.0, second, 0.0, 1.0]);
    let groups = ("attr_groups", integers(&[0, 0, 1, 1]));
    bench.write("groups.npz", &npz(&[("edge_index", edges.clone()), ("x", attributes(1.0)), groups]));
    bench.write("numbers.npz", &npz(&[("edge_index", edges), ("x", attributes(0.3))]));
    let told = bench.done("certify groups.npz m.npz -Q 1 -q 50% --proofs p.jsonl");
    assert!(
        told.contains("Q = 1 changes in all, q = 1 per node; each puts another category in the place of"),
        "{told}"
    );
    assert!(
        bench
            .done("check groups.npz m.npz p.jsonl -Q 1 -q 50%")
            .contains("question    Q = 1 changes of categories in all, q = 1 per")
    );
    assert!(bench.done("explain groups.npz m.npz --node 0 -Q 1").contains("budget: 1 changes of categories in all"));
    let asked = bench.run("check numbers.npz m.npz p.jsonl -Q 1 -q 50%");
    assert!(text(&asked.stdout).contains("question    Q = 1 flips in all, q = 2 per node"), "{}", text(&asked.stdout));
}

#[test]
fn another_message_passing_is_told_at_the_header() {
    let bench = Bench::new();
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --proofs proofs.jsonl");
    let written = std::fs::read_to_string(bench.path("proofs.jsonl")).unwrap();
    // Whoever looks behind the header stumbles.
    let header = written.lines().next().unwrap();
    bench.write("proofs.jsonl", format!("{header}\nnot a proof\n").as_bytes());
    for expand in ["", " --expand new.jsonl"] {
        let done = bench.run(&format!("check cora.npz gcn.safetensors proofs.jsonl --message-passing mean{expand}"));
        let said = format!("{} {}", text(&done.stdout), joined(&done.stderr));
        assert!(matches!(done.status.code(), Some(1 | 2)), "{said}");
        assert!(said.contains("asked about message passing mean,mean, stated about message passing gcn,gcn"), "{said}");
        assert!(!said.contains("line 2") && !bench.path("new.jsonl").exists(), "{said}");
    }
}

#[test]
fn closed_and_full_outputs_end_without_a_panic() {
    let bench = Bench::new();
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --proofs proofs.jsonl");
    for line in [
        "--help",
        "certify --help",
        "inspect cora.npz gcn.safetensors",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 0-99 --format json",
        "radius cora.npz gcn.safetensors --max-Q 1 --nodes 0-9",
        "explain cora.npz gcn.safetensors --node 3",
        "check cora.npz gcn.safetensors proofs.jsonl",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        if let Ok(full) = full {
            let done = bench.command(line).stdout(full).output().unwrap();
            let message = joined(&done.stderr);
            assert_eq!(done.status.code(), Some(2), "{line}: {message}");
            assert!(
                message.contains("standard output cannot be written") && !message.contains("panicked"),
                "{line}: {message}"
            );
        }
        // A reader that goes away before the first byte.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = bench.command(line).stdout(writer).output().unwrap();
        let message = joined(&done.stderr);
        assert_eq!(done.status.code(), Some(141), "{line}: {message}");
        assert!(!message.contains("panicked") && !message.contains("closed"), "{line}: {message}");
    }
    // Nobody hears a complaint; that is no reason to panic.
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let code = bench.command("certify nosuch.npz gcn.safetensors -Q 1").stderr(full).status().unwrap().code();
        assert_eq!(code, Some(2));
    }
}

#[test]
fn words_that_once_misled() {
    let bench = Bench::new();
    // The budget line, and budgets of nothing.
    let told = bench.done("certify cora.npz gcn.safetensors -Q 1 -q 0% --nodes 0-2");
    assert!(told.contains("q = 0 per node; attributes may be added and removed\n"), "{told}");
    bench.write("q.txt", "1\n2\n".repeat(1354).as_bytes());
    let told = bench.done("certify cora.npz gcn.safetensors -Q 1 --local-file q.txt --flips add --nodes 0-2");
    assert!(told.contains("flips in all, q given by node; attributes may only be added\n"), "{told}");
    // Where nothing can be attacked, that is said.
    for frozen in ["-q 0", "--freeze-nodes 0-2707", "--freeze-attributes 0-1432"] {
        for command in ["certify cora.npz gcn.safetensors -Q 1", "radius cora.npz gcn.safetensors --max-Q 1"] {
            let noted = joined(&bench.run(&format!("{command} --nodes 0-2 {frozen}")).stderr);
            assert!(noted.contains("nothing can be attacked"), "{command} {frozen}: {noted}");
        }
    }
    let noted = joined(&bench.run("certify cora.npz gcn.safetensors --edges remove -E 1 -e 0 --nodes 0-2").stderr);
    assert!(noted.contains("nothing can be attacked"), "{noted}");
    // A node that no attack was found for has no smallest attack.
    let told = bench.done("radius cora.npz gcn.safetensors --max-Q 0 --nodes 0-9");
    assert!(told.contains("> 0") && told.contains("≥ 1.00"), "{told}");
    // All nodes of Cora are labelled: no row of the table repeats another.
    let told = bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9");
    assert!(!told.contains("\nlabelled") && told.contains("margin: how far"), "{told}");
    let told = bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --labelled 0-4");
    assert!(told.contains("\nlabelled") && told.contains("\nunlabelled"), "{told}");
    // What the operating system says is said once.
    for line in [
        "certify nosuch.npz gcn.safetensors -Q 1",
        "check cora.npz gcn.safetensors nosuch.jsonl",
        "certify cora.npz gcn.safetensors -Q 1 --nodes 1 --out no/such/rows.csv",
        "report nosuch.csv",
    ] {
        let message = bench.refused(line, 2);
        assert!(message.matches("os error").count() <= 1, "{message}");
    }
    // One name for the largest Q; the other is still understood.
    let help = bench.done("study --help");
    assert!(help.contains("--max-Q") && !help.contains("--Q-max"), "{help}");
    bench.done("study cora.npz gcn.safetensors --nodes 0-2 -Q 1 --Q-max 1 --sample 0 --out study");
    // Labels that no class has.
    let cora = gcnproof::embedded::cora().0.file();
    let mut tens = cora.clone();
    tens.labels = cora.labels.map(|labels| labels.into_iter().map(|label| label.map(|label| 10 * label)).collect());
    tens.class_names = None;
    gcnproof_files::write::write_graph_npz(&bench.path("tens.npz"), &tens).unwrap();
    for line in ["inspect tens.npz gcn.safetensors", "certify tens.npz gcn.safetensors -Q 1 --nodes 0-2"] {
        let noted = joined(&bench.run(line).stderr);
        assert!(noted.contains("labels go up to 60") && noted.contains("from 0 to 6"), "{line}: {noted}");
    }
}

/// What attackers of categories, numbers, edges and graphs do is told in their own words, and a remedy leads to no
/// other refusal.
#[test]
fn newer_attackers_are_told_in_their_words() {
    let bench = wrong_files();
    // Changes of categories are no flips.
    bench.done("certify categories.npz plain.npz -Q 1 --proofs categories.jsonl");
    for question in ["", " -Q 1", " -Q 2"] {
        let told = text(&bench.run(&format!("check categories.npz plain.npz categories.jsonl{question}")).stdout);
        assert!(
            told.contains("Q = 1 changes of categories in all, q = 1 per node\n") && !told.contains("flip"),
            "{told}"
        );
    }
    // Where no execution is decided, nothing is certified, and nothing has no mean.
    let told = bench.done("radius categories.npz plain.npz --max-Q 1 --deployed float32 --unit-roundoff 2^-2");
    assert!(told.contains("largest certified Q            -       -") && !told.contains("0.00"), "{told}");
    let told =
        bench.json("radius categories.npz plain.npz --max-Q 1 --deployed float32 --unit-roundoff 2^-2 --format json");
    assert_eq!(told["summary"]["certified"]["mean"], Value::Null, "{}", told["summary"]);
    // Graphs are explained by their numbers, and --node says what it means there.
    bench.done("explain graphs.npz readout.safetensors --graph 0");
    let noted = joined(&bench.run("explain graphs.npz readout.safetensors --node 0").stderr);
    assert!(noted.contains("about graph 0, as --graph 0 says it"), "{noted}");
    assert!(bench.done("explain --help").contains("--graph"));
    let message = bench.refused("certify graphs.npz readout.safetensors -Q 1 --labelled 9", 2);
    assert!(message.contains("there is no graph 9"), "{message}");
    // Half an attacker, and none.
    for (options, said) in [
        ("-q 0 -e 1", "no attribute can be flipped"),
        ("-q 1 -e 0", "no edge can be changed"),
        ("-q 0 -e 0", "nothing can be attacked"),
    ] {
        let done = bench.run(&format!("certify small.npz plain.npz -Q 1 --edges remove -E 1 {options}"));
        assert!(done.status.success() && joined(&done.stderr).contains(said), "{options}: {}", joined(&done.stderr));
    }
    // Nothing can be moved by nothing.
    let noted = joined(&bench.run("certify small.npz plain.npz -Q 1 --epsilon 0").stderr);
    assert!(noted.contains("nothing can be attacked: attributes are moved by at most 0"), "{noted}");
    // Numbers: what is proposed is decided.
    bench.write(
        "two.npz",
        &npz(&[("W1", doubles(&[2, 2], &[0.5, -0.5, 0.25, 1.0])), ("b1", doubles(&[2], &[0.1, 0.0]))]),
    );
    for command in
        ["collective weighted.npz two.npz -q 1 --budgets 1", "train weighted.npz --loss ce --out t.safetensors"]
    {
        let message = bench.refused(command, 2);
        assert!(message.contains("`gcnproof certify` decides") && message.contains("--epsilon"), "{message}");
    }
    let told = bench.json("inspect weighted.npz two.npz --format json");
    assert_eq!((&told[0]["attributes"], &told[0]["attributes_per_node"]["max"]), (&json!(2), &json!(1)), "{told}");
    assert!(told[0]["values_of_attributes"].as_str().unwrap().contains("--epsilon"), "{told}");
    for remedy in ["-Q 1 --epsilon 0.1", "-Q 1 --ranges observed", "--edges remove -E 1"] {
        bench.done(&format!("certify weighted.npz two.npz {remedy}"));
    }
    // Results about numbers and directed edges are shown beside their graphs.
    for (graph, option, name) in [("weighted.npz", "", "numbers"), ("directed.npz", "--directed-edges", "one_way")] {
        bench.done(&format!("certify {graph} two.npz --edges remove -E 1 {option} --out {name}.csv"));
        bench.done(&format!("summary {name}.csv --graph {graph}"));
        bench.done(&format!("report {name}.csv --graph {graph} --out {name}.html"));
    }
    // Options that belong to others which this attacker does not have are left out, and not added to.
    for (attack, option) in [
        ("-Q 1 --epsilon 0.1", "--exact-margins"),
        ("-Q 1 --ranges observed", "--exact-margins"),
        ("-Q 1 --edges remove -E 1", "--gap 0.1"),
        ("-Q 1 --edges change -E 1", "--exact-margins"),
    ] {
        let message = bench.refused(&format!("certify small.npz plain.npz {attack} {option}"), 2);
        assert!(message.contains("leave") && !message.contains("add --minimize"), "{message}");
        bench.done(&format!("certify small.npz plain.npz {attack}"));
    }
    // Of categories, neither edges alone nor both at once are proposed.
    for attack in ["-Q 1 --edges remove -E 1", "--edges remove -E 1", "-Q 1 --epsilon 0.1"] {
        let message = bench.refused(&format!("certify categories.npz plain.npz {attack}"), 2);
        assert!(message.contains("categories alone (-Q and -q)") && !message.contains("edges alone"), "{message}");
    }
}

/// Compressed proofs that were cut off before their header are no run's to go on with, and nobody says so.
#[test]
fn proofs_without_a_header_are_not_gone_on_with() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "certify small.npz small.safetensors --layers encoder,classifier -Q 1 --out rows.csv";
    bench.done(&format!("{line} --proofs proofs.jsonl.zst"));
    let packed = std::fs::read(bench.path("proofs.jsonl.zst")).unwrap();
    bench.write("cut.jsonl.zst", &packed[..40]);
    let told = bench.run("check small.npz small.safetensors --layers encoder,classifier cut.jsonl.zst -Q 1");
    let told = joined(&told.stdout);
    assert!(
        told.contains("the compressed data end early: copy the file again") && !told.contains("--resume"),
        "{told}"
    );
    let message = bench.refused(&format!("{line} --proofs cut.jsonl.zst --resume"), 2);
    assert!(message.contains("or is cut off in its first line"), "{message}");
}

#[cfg(not(feature = "laboratory"))]
#[test]
fn a_build_without_the_laboratory_says_so() {
    let highs = "collective cora.npz gcn.safetensors -Q 1 --rows count --solver highs";
    for line in ["validate cora.npz gcn.safetensors -Q 1", "export --help", highs] {
        let message = Bench::new().refused(line, 2);
        assert!(message.contains("laboratory") && message.contains("make build"), "{message}");
    }
}

/// Nodes that are done first are the easy ones: their mean is nobody's.
#[test]
fn an_interrupted_radius_has_no_mean() {
    let bench = Bench::new();
    std::fs::copy("../fixtures/cora_pyg_3layer.safetensors", bench.path("deep.safetensors")).unwrap();
    let mut command = bench.command("radius cora.npz deep.safetensors --complete");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    assert!(said.contains("of 2708 nodes: no mean") && !said.contains("largest certified Q"), "{said}");
}

/// Ctrl-C before the first budget is done: one line says so.
#[test]
fn an_interrupted_attack_is_one_line() {
    let bench = Bench::new();
    std::fs::copy("../fixtures/cora_pyg_3layer.safetensors", bench.path("deep.safetensors")).unwrap();
    for out in ["", " --out curve.csv"] {
        let mut command =
            bench.command(&format!("collective cora.npz deep.safetensors --budgets 500,1000 --complete{out}"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let done = child.wait_with_output().unwrap();
        let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert_eq!(done.status.code(), Some(130), "{said}");
        assert!(said.lines().count() == 1 && said.contains("interrupted"), "{said}");
    }
}

#[test]
fn layers_have_names_of_their_own() {
    let bench = Bench::new();
    let rows = |line: &str| {
        let told = bench.json(&format!("{line} --format json"));
        let mut rows: Vec<NodeRecord> = serde_json::from_value(told["rows"].clone()).unwrap();
        rows.iter_mut().for_each(|row| row.seconds = 0.0);
        (rows, told["run"]["input"]["model"].clone())
    };
    let expected = rows("certify cora.npz gcn.safetensors -Q 5 --nodes 0-19");
    for names in [["gc1", "gc2"], ["0", "2"], ["encoder", "classifier"]] {
        bench.write("own.safetensors", &renamed(names));
        let layers = names.join(",");
        let message = bench.refused("certify cora.npz own.safetensors -Q 5", 2);
        assert!(message.contains(&format!("--layers {layers}")), "{message}");
        assert_eq!(rows(&format!("certify cora.npz own.safetensors --layers {layers} -Q 5 --nodes 0-19")), expected);
        let proofs = format!("--layers {layers} --proofs own.jsonl --force");
        bench.done(&format!("certify cora.npz own.safetensors -Q 1 --nodes 0-4 --complete {proofs}"));
        bench.done(&format!("check cora.npz own.safetensors own.jsonl -Q 1 --nodes 0-4 --layers {layers}"));
        bench.done(&format!("inspect cora.npz own.safetensors --layers {layers}"));
        bench.done(&format!("explain cora.npz own.safetensors --layers {layers} --node 3"));
    }
    bench.done(&format!(
        "study cora.npz own.safetensors --layers {} --nodes 0-2 -Q 1 --max-Q 1 --sample 0 --out study",
        "encoder,classifier"
    ));
    // The arrays of PyTorch Geometric, and a model whose layers have names of their own.
    small_problem(&bench);
    assert_eq!(bench.nodes("certify small.npz small.safetensors --layers encoder,classifier -Q 1"), [0, 1, 2, 3, 4]);
}

#[test]
fn an_explanation_says_how_many_flips_suffice() {
    let bench = Bench::new();
    let told = bench.done("explain cora.npz gcn.safetensors --node 194 -Q 12");
    assert!(told.contains("suffice") && told.contains("in exact arithmetic"), "{told}");
    assert!(told.contains("cost: what the relaxation") && told.contains("at least, at most:"), "{told}");
    let machine = bench.json("explain cora.npz gcn.safetensors --node 194 -Q 12 --format json");
    let attack = &machine["explanation"]["attack"];
    let needed = attack["sufficient"].as_u64().unwrap() as usize;
    let steps = attack["steps"].as_array().unwrap();
    // Only flips that are needed are listed, and the text says so before it lists them.
    assert!(needed >= 1 && needed == steps.len(), "{attack}");
    assert!(told.find("suffice").unwrap() < told.find("margin  ").unwrap_or(usize::MAX), "{told}");
    assert!(steps[needed - 1]["margin"].as_f64().unwrap() <= 0.0, "{attack}");
    // So many flips are a budget that breaks the node.
    let broken =
        bench.json(&format!("certify cora.npz gcn.safetensors -Q {needed} --nodes 194 --complete --format json"));
    assert_eq!(broken["rows"][0]["verdict"], "non_robust");
}

/// Weights that decay to nothing leave one answer for all nodes: robust, and useless.
#[test]
fn a_collapsed_model_gets_a_warning() {
    let bench = Bench::new();
    let base = "train cora.npz --loss ce --epochs 40 --learning-rate 0.05";
    let done = bench.run(&format!("{base} --weight-decay 100 --out flat.safetensors"));
    let warned = joined(&done.stderr);
    assert!(done.status.success() && warned.contains("collapsed") && warned.contains("largest class"), "{warned}");
    // Where nothing may be flipped, every model is certified.
    for void in ["-Q 0", "-q 0"] {
        let done = bench.run(&format!("{base} --weight-decay 100 --out void.safetensors --force {void}"));
        let warned = joined(&done.stderr);
        assert!(done.status.success() && !warned.contains("collapsed"), "{void}: {warned}");
    }
    let done = bench.run(&format!("{base} --out good.safetensors"));
    assert!(done.status.success() && !joined(&done.stderr).contains("collapsed"), "{}", joined(&done.stderr));
}

/// Proofs that were cut short or rewritten: what happened to them is said, not what a decoder stumbled over.
#[test]
fn proofs_that_break_off_say_so() {
    let bench = Bench::new();
    let line = "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out rows.csv --proofs proofs.jsonl";
    bench.done(line);
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --proofs proofs.jsonl.zst");
    let plain = text(&std::fs::read(bench.path("proofs.jsonl")).unwrap());
    let packed = std::fs::read(bench.path("proofs.jsonl.zst")).unwrap();
    let whole: Vec<&str> = plain.lines().collect();
    bench.write("stopped.jsonl", (whole[..6].join("\n") + "\n").as_bytes());
    bench.write("windows.jsonl", plain.replace('\n', "\r\n").as_bytes());
    bench.write("half.jsonl.zst", &packed[..packed.len() / 2]);
    for (file, said) in [
        (
            "stopped.jsonl",
            "its run was interrupted, and goes on by the same command with --resume (and --out, where it had none)",
        ),
        ("windows.jsonl", "the line ends in CR LF"),
        ("half.jsonl.zst", "the compressed data end early"),
    ] {
        let done = bench.run(&format!("check cora.npz gcn.safetensors {file} -Q 1 --nodes 0-9"));
        assert_eq!(done.status.code(), Some(1), "{file}");
        assert!(joined(&done.stdout).contains(said), "{file}: {}", text(&done.stdout));
    }
    // The remedy works: rows that are done do not keep proofs from being finished.
    std::fs::copy(bench.path("stopped.jsonl"), bench.path("proofs.jsonl")).unwrap();
    bench.done(&format!("{line} --resume"));
    bench.done("check cora.npz gcn.safetensors proofs.jsonl -Q 1 --nodes 0-9");
}

/// What single nodes withstand is examined up to a few flips, and the table says that there may be more.
#[test]
fn nodes_that_are_robust_alone_are_at_least_so_many() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "collective small.npz small.safetensors --layers encoder,classifier -q 3 --budgets 12 --out all.jsonl";
    bench.done(line);
    let done = bench.run("summary all.jsonl");
    let table = joined(&done.stdout);
    assert!(table.contains("robust alone") && table.contains("single nodes were examined up to 8 flips"), "{table}");
    let row: Value = serde_json::from_slice(&std::fs::read(bench.path("all.jsonl")).unwrap()).unwrap();
    let (robust, counted) = (row["robust"].as_u64().unwrap(), row["counted"].as_u64().unwrap());
    assert_eq!(table.contains(&format!("≥ {robust}")), robust < counted, "{table}");
}

#[test]
fn a_split_of_no_node_is_named() {
    let bench = Bench::new();
    for none in ["0", "0%"] {
        let told = joined(&bench.run(&format!("train cora.npz --loss ce --out new.safetensors --split {none}")).stderr);
        assert!(told.contains("labels no node: give at least 1 node per class"), "{told}");
    }
}

/// Where -q is left out, the question is about another share than that of the run: both numbers and the reason are
/// told.
#[test]
fn a_local_budget_that_is_left_out_is_named() {
    let bench = Bench::new();
    bench.done("certify cora.npz gcn.safetensors -Q 3 -q 1 --nodes 0-2 --proofs local.jsonl");
    let done = bench.run("check cora.npz gcn.safetensors local.jsonl -Q 3 --nodes 0-2");
    let (told, noted) = (joined(&done.stdout), joined(&done.stderr));
    assert!(told.contains("q = 14 per node") && told.contains("asked about q = 14 at node"), "{told}");
    assert!(told.contains("of which 3 can be used, stated q = 1"), "{told}");
    assert!(noted.contains("-q was left out, and is 1 % of the attributes then"), "{noted}");
    let done = bench.run("check cora.npz gcn.safetensors local.jsonl -Q 3 -q 1 --nodes 0-2");
    assert!(done.status.success() && !joined(&done.stderr).contains("left out"), "{}", joined(&done.stderr));
}

/// Whoever goes on with the rows alone hears of the proofs that stay behind.
#[test]
fn unfinished_proofs_are_not_forgotten() {
    let bench = Bench::new();
    let line = "certify cora.npz gcn.safetensors -Q 1 --nodes 0-9 --out rows.csv";
    bench.done(&format!("{line} --proofs proofs.jsonl"));
    let mut rows: Vec<NodeRecord> = read(&bench.path("rows.csv"), NodeRecord::SCHEMA).unwrap();
    rows.truncate(3);
    gcnproof_results::write(&bench.path("rows.csv"), NodeRecord::SCHEMA, &rows).unwrap();
    let before = std::fs::read(bench.path("rows.csv")).unwrap();
    // The proofs have their end: what is lost are rows alone.
    let noted = joined(&bench.run(&format!("{line} --resume")).stderr);
    assert!(noted.contains("resuming: 3 of 10") && !noted.contains("unfinished"), "{noted}");
    bench.write("rows.csv", &before);
    let proofs = std::fs::read_to_string(bench.path("proofs.jsonl")).unwrap();
    let cut = proofs.trim_end().rsplit_once('\n').unwrap().0;
    bench.write("proofs.jsonl", format!("{cut}\n").as_bytes());
    let noted = joined(&bench.run(&format!("{line} --resume")).stderr);
    assert!(noted.contains("stays unfinished") && noted.contains("add --proofs proofs.jsonl"), "{noted}");
    bench.write("rows.csv", &before);
    let noted = joined(&bench.run(&format!("{line} --resume --proofs proofs.jsonl")).stderr);
    assert!(!noted.contains("unfinished"), "{noted}");
    // Older versions did not write down where proofs are.
    let sidecar = bench.path("rows.csv.run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&sidecar).unwrap()).unwrap();
    assert_eq!(run.as_object_mut().unwrap().remove("proofs"), Some(json!("proofs.jsonl")));
    std::fs::write(&sidecar, run.to_string()).unwrap();
    bench.write("rows.csv", &before);
    let noted = joined(&bench.run(&format!("{line} --resume")).stderr);
    assert!(noted.contains("resuming: 3 of 10") && !noted.contains("unfinished"), "{noted}");
}

#[test]
fn a_refused_command_is_no_part_of_a_study() {
    let bench = Bench::new();
    let study = "study cora.npz gcn.safetensors -Q 1 --max-Q 1 --sample 0 --out study";
    bench.done(&format!("{study} --nodes 0-4"));
    let before = std::fs::read(bench.path("study/study.json")).unwrap();
    bench.refused(&format!("{study} --nodes 0-3 --resume"), 2);
    assert_eq!(text(&std::fs::read(bench.path("study/study.json")).unwrap()), text(&before));
    bench.done(&format!("{study} --nodes 0-4 --resume"));
}

#[test]
fn rows_that_are_on_their_way_are_waited_for() {
    let bench = Bench::new();
    bench.done("certify cora.npz gcn.safetensors -Q 1 --nodes 0-4 --out rows.csv");
    let rows = text(&std::fs::read(bench.path("rows.csv")).unwrap());
    bench.write("rows.csv", format!("{}\n", rows.lines().next().unwrap()).as_bytes());
    assert!(bench.refused("summary rows.csv", 2).contains("run it again with --resume"));
    let lock = std::fs::File::create(bench.path("rows.csv.run.lock")).unwrap();
    lock.lock().unwrap();
    for command in ["summary rows.csv", "report rows.csv --out page.html"] {
        let message = bench.refused(command, 2);
        assert!(message.contains("a run is writing to it at this moment"), "{message}");
    }
}

/// All nodes by name, and one array of several as local budgets.
#[test]
fn what_help_offers_is_taken() {
    let bench = Bench::new();
    small_problem(&bench);
    let line = "certify small.npz small.safetensors --layers encoder,classifier -Q 1";
    assert_eq!(bench.nodes(&format!("{line} --nodes all")), [0, 1, 2, 3, 4]);
    bench.write("budgets.npz", &npz(&[("budgets", integers(&[1, 0, 2, 1, 1])), ("other", integers(&[5]))]));
    let told = bench.json(&format!("{line} --local-file budgets.npz:budgets --format json"));
    assert_eq!(told["run"]["budget"]["local"], json!([1, 0, 2, 1, 1]));
    // The next step after a refusal is not refused.
    for (wrong, remedy) in
        [("--message-passing small.npz", "--message-passing sum"), ("--nodes nosuch", "--nodes 3,1-2")]
    {
        bench.refused(&format!("{line} {wrong}"), 2);
        bench.done(&format!("{line} {remedy}"));
    }
    std::fs::copy(bench.path("gcn.safetensors"), bench.path("trained.safetensors")).unwrap();
    bench.refused("train small.npz --loss ce --epochs 1 --split 1 --out trained.safetensors --resume", 2);
    bench.done("train small.npz --loss ce --epochs 1 --split 1 --out trained.safetensors --force");
}

#[cfg(feature = "laboratory")]
#[test]
fn a_hunt_takes_no_budget() {
    for option in ["-Q 3", "-q 1", "--nodes 0-3", "--sample 5"] {
        Bench::new().refused(&format!("validate --hunt integrality {option}"), 2);
    }
}
