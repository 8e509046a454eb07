//! Parts of a graph: certified apart and joined, they say what the whole graph says, proofs included.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::partition::Partition;
use gcnproof::{Budget, Certifier, Effort, Graph, Limits, Network, Operator, Problem};
use gcnproof_files::write::{write_graph_npz, write_model_safetensors};
use gcnproof_files::{
    DenseMatrix, GraphFile, GraphOptions, ModelFile, Normalisation, PartFile, Pattern, Precision, SparseMatrix,
    read_graph, read_graph_or_part,
};
use gcnproof_results::record::{NodeRecord, RadiusRecord};
use gcnproof_results::{Column, read};
use gcnproof_verify::random::Stream;

use crate::common::{graph, model};
use crate::gcnproof;

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_standard.safetensors";

#[track_caller]
fn done(arguments: &[&str]) -> String {
    let output = gcnproof(arguments);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let output = gcnproof(arguments);
    // Lines are broken where a terminal would.
    let told: Vec<String> = String::from_utf8_lossy(&output.stderr).split_whitespace().map(str::to_owned).collect();
    let told = told.join(" ").replace("│ ", "");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    for word in words {
        assert!(told.contains(word), "{arguments:?}: {word:?} is not in: {told}");
    }
}

/// Rows without what differs from run to run.
fn rows(path: &Path, columns: &'static [Column]) -> Vec<NodeRecord> {
    let mut rows: Vec<NodeRecord> = read(path, columns).unwrap();
    rows.iter_mut().for_each(|row| row.seconds = 0.0);
    rows
}

fn lines(path: &Path) -> Vec<String> {
    let mut lines: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A folder, and the paths in it as words.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn word(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// Certifies a graph whole and in parts, with proofs, and compares everything.
fn compare(graph: &str, model: &str, parts: usize, options: &[&str]) {
    let folder = Folder::new();
    let [out, proofs, cut] = ["whole.jsonl", "whole-proofs.jsonl", "parts"].map(|name| folder.word(name));
    let files = ["--out", &out, "--proofs", &proofs];
    done(&[&["certify", graph, model][..], &files, options].concat());
    done(&["partition", graph, model, "--parts", &parts.to_string(), "--out", &cut]);
    let moved = options.iter().any(|option| ["--epsilon", "--ranges"].contains(option));
    let (mut results, mut proved) = (Vec::new(), Vec::new());
    for number in 0..parts {
        let part = folder.word(&format!("parts/part-{number}.npz"));
        // The formats of the files need not be the same, but CSV has no empty text, which robust nodes have as values.
        let formats = ["jsonl", "parquet", if moved { "parquet" } else { "csv" }];
        let out = folder.word(&format!("part-{number}.{}", formats[number % 3]));
        let proofs = folder.word(&format!("proofs-{number}.jsonl{}", ["", ".zst"][number % 2]));
        done(&[&["certify", &part, model, "--out", &out, "--proofs", &proofs][..], options].concat());
        // Checked where nobody has the whole graph.
        let checked = gcnproof(&["check", &part, model, &proofs]);
        let told = String::from_utf8_lossy(&checked.stdout);
        assert!(
            !told.contains("not everything in the file") && told.contains(&format!("part {} of {parts}", number + 1))
        );
        if moved {
            let question = options.iter().copied().filter(|option| *option != "--complete");
            let asked: Vec<&str> =
                ["check", &part, model, &proofs, "--format", "json"].into_iter().chain(question).collect();
            let asked = gcnproof(&asked);
            let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{asked:?}"));
            assert_eq!(told["rejected"], 0, "{options:?}: {told}");
        }
        results.push(out);
        proved.push(proofs);
    }
    let [joined, joined_proofs] = ["joined.jsonl", "joined-proofs.jsonl"].map(|name| folder.word(name));
    let words: Vec<&str> = results.iter().map(String::as_str).collect();
    done(&[&["join"][..], &words, &["--out", &joined]].concat());
    let words: Vec<&str> = proved.iter().map(String::as_str).collect();
    done(&[&["join"][..], &words, &["--out", &joined_proofs, "--parts", &cut]].concat());
    let columns = if moved { NodeRecord::ranged_schema(false) } else { NodeRecord::SCHEMA };
    let [joined_rows, whole] = [&joined, &out].map(|path| rows(path.as_ref(), columns));
    assert_eq!(joined_rows.len(), whole.len());
    joined_rows.iter().zip(&whole).for_each(|(joined, whole)| assert_eq!(joined, whole, "{options:?}"));
    let description = |path: &str| {
        let text = std::fs::read_to_string(format!("{path}.run.json")).unwrap();
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The run on the whole graph has written its proofs itself.
        run.as_object_mut().unwrap().remove("proofs");
        run
    };
    assert_eq!(description(&joined), description(&out));
    assert_eq!(lines(joined_proofs.as_ref()), lines(proofs.as_ref()), "{model}");
    // The whole graph's checker accepts as much of the joined proofs as of its own.
    let accepted = |proofs: &str| {
        let told = gcnproof(&["check", graph, model, proofs, "--format", "json"]);
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["rejected"], 0, "{model}");
        told["verdicts"].clone()
    };
    assert_eq!(accepted(&joined_proofs), accepted(&proofs));
    // The joined file is the whole run: it can be gone on with, and there is nothing left to do.
    let again = [&["certify", graph, model, "--out", &joined, "--resume"][..], options].concat();
    assert_eq!(gcnproof(&again).status.code(), Some(0));
}

#[test]
fn four_parts_of_cora_are_the_whole() {
    compare(GRAPH, MODEL, 4, &["-Q", "12", "-q", "1%"]);
}

#[test]
fn budgets_by_node_frozen_nodes_and_lists_name_nodes_of_the_whole_graph() {
    let folder = Folder::new();
    let local: String = (0..2708).map(|node| format!("{}\n", 1 + node % 9)).collect();
    std::fs::write(folder.path("local.txt"), local).unwrap();
    let file = folder.word("local.txt");
    let options = ["-Q", "6", "--local-file", &file, "--freeze-nodes", "5,100-400", "--nodes", "0-699,2000-2099"];
    compare(GRAPH, MODEL, 4, &[&options[..], &["--complete", "--class", "labels"]].concat());
    compare(GRAPH, MODEL, 3, &["-Q", "4", "-q", "2", "--freeze-attributes", "7,30-200", "--flips", "add"]);
}

#[test]
fn three_layers_need_three_hops() {
    compare(GRAPH, "../fixtures/cora_pyg_3layer.safetensors", 4, &["-Q", "2", "-q", "2", "--nodes", "0-79"]);
}

#[test]
fn every_network_of_rules_can_be_split_and_the_others_are_refused_by_name() {
    let mut split = 0;
    for entry in std::fs::read_dir("../fixtures/pyg").unwrap() {
        let folder = entry.unwrap().path();
        let [graph, model] = ["graph.npz", "model.safetensors"].map(|name| folder.join(name).display().to_string());
        let file = gcnproof_files::read_model(model.as_ref()).unwrap();
        let whole = file.layers.iter().all(|layer| layer.bias.len() == layer.weight.columns);
        if !file.matrices.is_empty() || !whole {
            let words = if file.matrices.is_empty() { "biases by node" } else { "a matrix of its own" };
            let out = Folder::new();
            refused(
                &["partition", &graph, &model, "--parts", "2", "--out", &out.word("p")],
                &[words, "the whole graph"],
            );
            done(&["partition", &graph, "--hops", "3", "--parts", "2", "--out", &out.word("p")]);
            refused(&["certify", &out.word("p/part-0.npz"), &model, "-Q", "1"], &[words, "the whole graph"]);
            continue;
        }
        compare(&graph, &model, 3, &["-Q", "2", "-q", "1", "--complete"]);
        split += 1;
    }
    assert!(split >= 15, "only {split} networks were split");
}

#[test]
fn radii_of_parts_are_those_of_the_whole() {
    let folder = Folder::new();
    done(&["partition", GRAPH, "--hops", "2", "--parts", "2", "--out", &folder.word("parts")]);
    let options = ["-q", "2", "--max-Q", "4", "--nodes", "0-99"];
    let read = |name: &str| -> Vec<RadiusRecord> {
        let mut rows: Vec<RadiusRecord> = read(&folder.path(name), RadiusRecord::SCHEMA).unwrap();
        rows.iter_mut().for_each(|row| row.seconds = 0.0);
        rows
    };
    done(&[&["radius", GRAPH, MODEL, "--out", &folder.word("whole.csv")][..], &options].concat());
    for number in 0..2 {
        let (part, out) = (folder.word(&format!("parts/part-{number}.npz")), folder.word(&format!("{number}.csv")));
        done(&[&["radius", &part, MODEL, "--out", &out][..], &options].concat());
    }
    done(&["join", &folder.word("0.csv"), &folder.word("1.csv"), "--out", &folder.word("joined.csv")]);
    assert_eq!(read("joined.csv"), read("whole.csv"));
}

/// A path with chords, so that the parts of a graph of 40 nodes are much smaller than it.
fn sparse(random: &mut Stream, nodes: usize, attributes: usize) -> Graph {
    let mut adjacency = vec![Vec::new(); nodes];
    let mut link = |a: usize, b: usize| {
        adjacency[a].push(b as u32);
        if a != b {
            adjacency[b].push(a as u32);
        }
    };
    for node in 1..nodes {
        if random.chance(90) {
            link(node - 1, node);
        }
        if node > 3 && random.chance(30) {
            link(node - 3, node);
        }
        if random.chance(10) {
            link(node, node);
        }
    }
    // Ids that say nothing of where a node is.
    let step = 17;
    let place = |node: usize| node * step % nodes;
    let mut rows = vec![Vec::new(); nodes];
    for (node, row) in adjacency.iter().enumerate() {
        rows[place(node)] = row.iter().map(|&to| place(to as usize) as u32).collect();
    }
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
    }
    let owned = (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.chance(40)).collect()).collect();
    graph(rows, owned, attributes)
}

/// A model with these rules, one list for each layer.
fn network(random: &mut Stream, attributes: usize, rules: &[&[&str]]) -> ModelFile {
    let mut widths = vec![attributes];
    widths.extend(std::iter::repeat_n(4, rules.len() - 1));
    widths.push(3);
    let mut layers = Vec::new();
    for (pair, terms) in widths.windows(2).zip(rules) {
        let rows = pair[0] * terms.len();
        let values = (0..rows * pair[1]).map(|_| random.real()).collect();
        layers.push((DenseMatrix { rows, columns: pair[1], values }, (0..pair[1]).map(|_| random.real()).collect()));
    }
    let mut model = model(layers);
    for (layer, terms) in model.layers.iter_mut().zip(rules) {
        layer.operators = terms.iter().map(|&rule| rule.to_owned()).collect();
    }
    model
}

fn certified(graph: &Graph, model: &ModelFile, local: &[i64], nodes: &[usize]) -> (usize, Vec<NodeRecord>) {
    let network = Network::from_file(model.clone(), &[Operator::Gcn], graph).unwrap();
    let hops = network.hops();
    let budget = Budget::per_node(graph, 3, local).unwrap();
    let problem = Problem::new(graph.clone(), network, budget).unwrap();
    let certifier = Certifier::builder(problem).effort(Effort::Complete(Limits::default())).build();
    let found = certifier.certify(nodes.iter().copied()).unwrap();
    (hops, found.map(|result| NodeRecord::new(graph, result, 0.0)).collect())
}

#[test]
fn rows_of_random_graphs_are_the_same_bit_by_bit() {
    let gcn: &[&str] = &["gcn"];
    let networks: [&[&[&str]]; 7] = [
        &[gcn, gcn],
        &[gcn, gcn, gcn],
        &[&["mean", "identity"], &["mean", "identity"]],
        &[&["identity", "gcn-self", "poly(gcn-self;0,0,1)"], gcn],
        &[&["identity"], &["poly(gcn;0.1,0.09,0.081,0.729)"]],
        &[&["sum+self"], &["mean+self"]],
        &[&["poly(gcn;0,0,1)"]],
    ];
    let mut smaller = 0;
    for (seed, rules) in (0..3).flat_map(|seed| networks.iter().map(move |rules| (seed, rules))) {
        let mut random = Stream::new(1000 + seed);
        let (nodes, attributes) = (40, 6);
        let graph = sparse(&mut random, nodes, attributes);
        let model = network(&mut random, attributes, rules);
        let local: Vec<i64> = (0..nodes).map(|_| random.below(4) as i64).collect();
        let all: Vec<usize> = (0..nodes).collect();
        let (hops, whole) = certified(&graph, &model, &local, &all);
        let mut joined = BTreeMap::new();
        let partition = Partition::new(&graph, 4, hops);
        for number in 0..4 {
            let (file, part) = partition.part(number);
            smaller += usize::from(part.nodes.len() < nodes);
            let local: Vec<i64> = part.nodes.iter().map(|&node| local[node as usize]).collect();
            let own: Vec<usize> = part.own.iter().map(|&row| row as usize).collect();
            for mut row in certified(&Graph::from_file(file), &model, &local, &own).1 {
                row.node = u64::from(part.node(row.node as usize));
                row.witness.iter_mut().for_each(|flip| flip.node = part.node(flip.node as usize));
                assert!(joined.insert(row.node, row).is_none());
            }
        }
        assert_eq!(joined.into_values().collect::<Vec<_>>(), whole, "seed {seed}, {rules:?}");
    }
    assert!(smaller > 40, "only {smaller} parts are smaller than the whole");
}

/// What rows of a graph may be besides zeros and ones that are flipped.
#[derive(Clone, Copy, Debug)]
enum Rows {
    Divided,
    /// One row alone has none of a group: what holds of the whole graph need not be seen in a part.
    Categories,
    /// Numbers of which many are 0, and numbers that are above 0 in every row.
    Sparse,
    Dense,
}

/// A path of 40 nodes with such rows.
fn special(random: &mut Stream, rows: Rows) -> GraphFile {
    let plain = sparse(random, 40, 6).file();
    let pattern = |of: &mut dyn FnMut(usize) -> Vec<u32>| {
        let mut pattern = Pattern { rows: 40, columns: 6, offsets: vec![0], indices: Vec::new() };
        for node in 0..40 {
            pattern.indices.extend(of(node));
            pattern.offsets.push(pattern.indices.len());
        }
        pattern
    };
    match rows {
        Rows::Divided => plain.normalised(Normalisation::Float32),
        Rows::Categories => {
            let attributes = pattern(&mut |node| {
                let mut row = vec![random.below(3) as u32];
                row.extend((node != 11).then(|| 3 + random.below(2) as u32));
                row.extend(random.chance(50).then_some(5));
                row
            });
            GraphFile::new(plain.adjacency, attributes, plain.labels).grouped(&[4, 4, 4, 7, 7, -1]).unwrap()
        }
        Rows::Sparse | Rows::Dense => {
            let shares = if matches!(rows, Rows::Dense) { 100 } else { 40 };
            let Pattern { offsets, indices, .. } = pattern(&mut |_| (0..6).filter(|_| random.chance(shares)).collect());
            let values = indices.iter().map(|_| 0.25 + f64::from(random.below(64) as u32) / 64.0).collect();
            plain.valued(SparseMatrix { rows: 40, columns: 6, offsets, indices, values }).unwrap()
        }
    }
}

#[test]
fn rows_of_every_kind_can_be_split() {
    let folder = Folder::new();
    let [graph, model] = ["graph.npz", "model.safetensors"].map(|name| folder.word(name));
    let means: [(Rows, &[&str]); 5] = [
        (Rows::Divided, &["-q", "2"]),
        (Rows::Categories, &["-q", "2"]),
        (Rows::Sparse, &["-q", "2", "--epsilon", "0.25"]),
        (Rows::Sparse, &["-q", "1", "--ranges", "observed"]),
        (Rows::Dense, &["-q", "2", "--ranges", "observed"]),
    ];
    for (seed, (rows, means)) in (0..).zip(means) {
        let mut random = Stream::new(2000 + seed);
        write_graph_npz(graph.as_ref(), &special(&mut random, rows)).unwrap();
        let file = network(&mut random, 6, &[&["gcn"], &["mean", "identity"]]);
        write_model_safetensors(model.as_ref(), &file.layers, Precision::F64, &BTreeMap::new()).unwrap();
        compare(&graph, &model, 3, &[&["-Q", "3", "--complete"], means].concat());
    }
}

#[test]
fn parts_state_what_their_rows_do_not_show() {
    let folder = Folder::new();
    let [graph, model, cut] = ["graph.npz", "model.safetensors", "parts"].map(|name| folder.word(name));
    let mut random = Stream::new(3000);
    let file = network(&mut random, 6, &[&["gcn"], &["gcn"]]);
    write_model_safetensors(model.as_ref(), &file.layers, Precision::F64, &BTreeMap::new()).unwrap();
    write_graph_npz(graph.as_ref(), &special(&mut random, Rows::Categories)).unwrap();
    done(&["partition", &graph, &model, "--parts", "4", "--out", &cut]);
    let parts: Vec<_> = (0..4).map(|number| folder.path(&format!("parts/part-{number}.npz"))).collect();
    let read = |path: &Path| read_graph_or_part(path, &GraphOptions::default()).unwrap().0;
    let complete = parts.iter().map(|path| read(path)).filter(|part| {
        let categories = part.categories.as_ref().unwrap();
        let second = |row: usize| part.attributes.row(row).iter().any(|&d| d == 3 || d == 4);
        assert_eq!(categories.lacked(), [false, true]);
        (0..part.attributes.rows).all(second)
    });
    assert!(complete.count() >= 1, "every part has the row that has none of a group");
    // Numbers are not taken for zeros and ones where a part has no others, and observed values are those of the whole
    // graph.
    let mut values = vec![1.0; 40];
    (values[39], values[38]) = (0.375, 3.0);
    let values = SparseMatrix { rows: 40, columns: 6, offsets: (0..=40).collect(), indices: vec![0; 40], values };
    let plain = sparse(&mut random, 40, 6).file();
    write_graph_npz(graph.as_ref(), &plain.valued(values).unwrap()).unwrap();
    done(&["partition", &graph, &model, "--parts", "8", "--out", &cut, "--force"]);
    let mut plain = 0;
    for number in 0..8 {
        let output = gcnproof(&["certify", &folder.word(&format!("parts/part-{number}.npz")), &model, "-Q", "1"]);
        assert_eq!(output.status.code(), Some(2));
        plain += usize::from(String::from_utf8_lossy(&output.stderr).contains("`attr_real`"));
    }
    assert!(plain >= 1, "no part has ones alone");
    let options = GraphOptions { real: true, ..GraphOptions::default() };
    let (_, found) = read_graph_or_part(&folder.path("parts/part-0.npz"), &options).unwrap();
    let observed = found.unwrap().observed.unwrap();
    assert_eq!((observed.low[0], observed.high[0], observed.low[1], observed.high[1]), (0.375, 3.0, 0.0, 0.0));
}

#[test]
fn a_smaller_halo_would_be_noticed() {
    // With one hop less, some own node has another margin: the test above would fail.
    let mut random = Stream::new(5);
    let graph = sparse(&mut random, 40, 6);
    let model = network(&mut random, 6, &[&["gcn"], &["gcn"]]);
    let local = vec![2; 40];
    let (hops, whole) = certified(&graph, &model, &local, &(0..40).collect::<Vec<_>>());
    let partition = Partition::new(&graph, 4, hops - 1);
    let differs = (0..4).any(|number| {
        let (file, part) = partition.part(number);
        let own: Vec<usize> = part.own.iter().map(|&row| row as usize).collect();
        let rows = certified(&Graph::from_file(file), &model, &local[..part.nodes.len()], &own).1;
        rows.iter().any(|row| row.margins != whole[part.node(row.node as usize) as usize].margins)
    });
    assert!(differs);
}

#[test]
fn parts_are_balanced_and_written_as_they_are_read() {
    let folder = Folder::new();
    let told = done(&["partition", GRAPH, MODEL, "--parts", "4", "--out", &folder.word("parts"), "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["hops"], &told["nodes"]), (&2.into(), &2708.into()));
    let whole = read_graph(GRAPH.as_ref(), &GraphOptions::default()).unwrap();
    let cora = Graph::from_file(whole.clone());
    let size = |node: u32| cora.rings(node).take(3).map(|ring| ring.len()).sum::<usize>();
    let mut weights = Vec::new();
    let mut owners = vec![0; 2708];
    for number in 0..4 {
        let (graph, part) =
            read_graph_or_part(&folder.path(&format!("parts/part-{number}.npz")), &GraphOptions::default()).unwrap();
        let part: PartFile = part.unwrap();
        assert_eq!((part.number, part.parts, part.of, part.hops, &part.whole), (number, 4, 2708, 2, &whole.digest));
        assert!(graph.notes.is_empty(), "{:?}", graph.notes);
        let own = part.own.iter().map(|&row| part.node(row as usize));
        own.clone().for_each(|node| owners[node as usize] += 1);
        weights.push(own.clone().map(size).sum::<usize>() as f64);
        for node in own {
            let row = part.row(node.into()).unwrap();
            let links: Vec<u32> = graph.adjacency.row(row).iter().map(|&to| part.node(to as usize)).collect();
            assert_eq!(links, cora.adjacency().row(node as usize));
            assert_eq!(graph.attributes.row(row), cora.attributes().row(node as usize));
        }
    }
    assert!(owners.iter().all(|&count| count == 1));
    let mean = weights.iter().sum::<f64>() / 4.0;
    assert!(weights.iter().all(|weight| (0.4..=1.8).contains(&(weight / mean))), "{weights:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_its_remedy() {
    let folder = Folder::new();
    let parts = folder.word("parts");
    refused(&["partition", GRAPH, "--parts", "2", "--out", &parts], &["the model", "--hops 2"]);
    refused(&["partition", GRAPH, MODEL, "--parts", "0", "--out", &parts], &["--parts"]);
    refused(&["partition", GRAPH, MODEL, "--parts", "2709", "--out", &parts], &["2709 parts", "2708 nodes"]);
    done(&["partition", GRAPH, "--hops", "1", "--parts", "2", "--out", &parts]);
    refused(&["partition", GRAPH, MODEL, "--parts", "2", "--out", &parts], &["is there already", "--force"]);
    let part = folder.word("parts/part-0.npz");
    refused(&["certify", &part, MODEL, "-Q", "1"], &["1 edges from its own nodes", "--hops 2"]);
    done(&["partition", GRAPH, MODEL, "--parts", "3", "--out", &parts, "--force"]);
    done(&["partition", GRAPH, MODEL, "--parts", "2", "--out", &parts, "--force"]);
    // Parts of the earlier cut are gone.
    assert!(!folder.path("parts/part-2.npz").exists());
    for command in [
        vec!["explain", &part, MODEL, "--node", "3"],
        vec!["inspect", &part],
        vec!["partition", &part, MODEL, "--parts", "2", "--out", &parts],
    ] {
        refused(&command, &["part 1 of 2", "whole graph"]);
    }
    refused(
        &["certify", &part, MODEL, "-Q", "1", "--logits", "../fixtures/cora_standard_logits.npz"],
        &["--logits", "inspect"],
    );
    refused(&["certify", &part, MODEL, "-Q", "1", "--nodes", "2708"], &["no node 2708"]);
    refused(&["certify", &part, MODEL, "-Q", "1", "--freeze-nodes", "2708"], &["2708"]);
    // Joining.
    let [first, second, other] = ["0.jsonl", "1.jsonl", "other.jsonl"].map(|name| folder.word(name));
    let [proofs, more, out] = ["0p.jsonl", "1p.jsonl", "out.jsonl"].map(|name| folder.word(name));
    let second_part = folder.word("parts/part-1.npz");
    let nodes = ["--nodes", "0-299"];
    let told = gcnproof(&[&["certify", &part, MODEL, "-Q", "1"][..], &nodes].concat());
    assert!(String::from_utf8_lossy(&told.stderr).contains("note: other parts answer for"), "{told:?}");
    done(&[&["certify", &part, MODEL, "-Q", "1", "--out", &first, "--proofs", &proofs][..], &nodes].concat());
    done(&[&["certify", &second_part, MODEL, "-Q", "1", "--out", &second, "--proofs", &more][..], &nodes].concat());
    done(&[&["certify", &second_part, MODEL, "-Q", "2", "--out", &other][..], &nodes].concat());
    refused(&["join", &first, &other, "--out", &out], &["different runs"]);
    refused(&["join", &first, "--out", &out], &["part 2 of 2 is missing", "--some"]);
    refused(&["join", &first, &first, "--out", &out], &["named twice"]);
    refused(&["join", &first, GRAPH, "--out", &out], &["is a graph or a model"]);
    refused(&["join", &proofs, &more, "--out", &out], &["--parts DIR"]);
    refused(&["join", &proofs, &first, "--out", &out, "--parts", &parts], &["no file of proofs"]);
    refused(&["join", &proofs, &more, "--out", &folder.word("out.txt"), "--parts", &parts], &[".jsonl"]);
    done(&["join", &first, "--out", &out, "--some"]);
    refused(&["join", &first, &second, "--out", &out], &["force"]);
    done(&["join", &first, &second, "--out", &out, "--force"]);
    assert_eq!(rows(out.as_ref(), NodeRecord::SCHEMA).len(), 300);
    // An unfinished file of proofs, one with a line of another part, and the parts of another cut.
    let text = std::fs::read_to_string(&proofs).unwrap();
    let cut = folder.word("cut.jsonl");
    std::fs::write(&cut, text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    refused(&["join", &cut, &more, "--out", &folder.word("p.jsonl"), "--parts", &parts], &["not finished"]);
    let (_, found) = read_graph_or_part(part.as_ref(), &GraphOptions::default()).unwrap();
    let found = found.unwrap();
    let stranger = (0..found.nodes.len()).find(|&row| !found.owns(row)).unwrap();
    let forged = text.lines().map(|line| match line.starts_with("{\"node\"") {
        true => format!("{{\"unproved\":{{\"id\":{stranger},\"reason\":\"none\"}}}}\n"),
        false => format!("{line}\n"),
    });
    std::fs::write(&cut, forged.collect::<String>()).unwrap();
    refused(&["join", &cut, &more, "--out", &folder.word("p.jsonl"), "--parts", &parts], &["answers for"]);
    assert!(!folder.path("p.jsonl").exists());
    done(&["partition", GRAPH, MODEL, "--parts", "5", "--out", &folder.word("others")]);
    refused(
        &["join", &proofs, &more, "--out", &folder.word("p.jsonl"), "--parts", &folder.word("others")],
        &["none of the parts"],
    );
}
