//! A finding that is kept as it was found: files, commands, and what is true, ready to be written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gcnproof_files::GraphFile;
use serde_json::{Value, json};

use crate::area::Area;
use crate::exact::Exact;
use crate::finding::Kind;
use crate::truth::Truth;

/// What is wrong with a node.
pub struct Wrong {
    /// What kind of thing.
    pub kind: Kind,
    pub node: usize,
    /// In words.
    pub message: String,
}

impl Wrong {
    /// Something that is wrong with a node.
    pub fn new(kind: Kind, node: usize, message: String) -> Wrong {
        Wrong { kind, node, message }
    }
}

/// Something found, with everything that is needed to see it again.
#[derive(Clone, Debug)]
pub struct Record {
    pub area: Area,
    /// What is wrong.
    pub kind: Kind,
    /// In words.
    pub message: String,
    /// Files by name: graph, model, budgets, proofs.
    pub files: Vec<RecordFile>,
    /// Commands, what is true, and all numbers.
    pub text: String,
}

impl Record {
    /// Writes the record into a folder of its own inside `out`; returns the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, out: &Path, name: &str) -> io::Result<PathBuf> {
        let folder = out.join(name);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes)?;
        }
        let title = format!("# {} ({}): {}\n\n", self.kind.name(), self.area.name(), self.message);
        fs::write(folder.join("README.md"), title + &self.text)?;
        Ok(folder)
    }
}

/// A file of a record: its name and its bytes.
pub type RecordFile = (String, Vec<u8>);

/// Puts the digests of graph and model, as they are written, into a header.
pub fn with_digests(header: &mut Value, files: &[RecordFile]) {
    let bytes = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1.as_slice()).unwrap_or_default();
    if let Ok(graph) = gcnproof_files::parse_graph("g.npz", bytes("g.npz"), &Default::default()) {
        header["graph"] = json!(graph.digest);
    }
    if let Ok(model) = gcnproof_files::parse_model("m.safetensors", bytes("m.safetensors")) {
        header["model"] = json!(model.digest);
    }
}

/// A file of proofs with a header (`{"header":…}`) and some lines, about files of a record.
pub fn proof_file(header: &Value, lines: &str, files: &[RecordFile]) -> RecordFile {
    let mut header = header.clone();
    with_digests(&mut header["header"], files);
    let count = lines.lines().count();
    ("false.jsonl".into(), format!("{header}\n{lines}\n{{\"end\":{count}}}\n").into_bytes())
}

/// The commands that show a finding about a node.
pub fn commands(node: usize, origin: &str, certify: &str, proof: bool) -> String {
    let checked = if proof { "false.jsonl" } else { "p.jsonl" };
    format!(
        "Node {node}. Made from {origin}.\n\nIn this folder:\n\n    \
         gcnproof certify g.npz m.safetensors {certify} --proofs p.jsonl --format json\n    \
         gcnproof check g.npz m.safetensors {checked}           (and with --exact)\n"
    )
}

/// What is true of a node, in a line.
pub fn told(node: usize, truth: &Truth, more: &str) -> String {
    let margin = |margin: &Option<Exact>| margin.as_ref().map_or("-".into(), |m| format!("{:e}", m.approximate()));
    let margins: Vec<String> = truth.margins.iter().map(margin).collect();
    let (predicted, reference, robust) = (truth.predicted, truth.reference, truth.robust());
    let margins = margins.join(" ");
    format!(
        "node {node}: predicted {predicted}, reference {reference:?}, robust {robust:?}{more}, smallest margins {margins}\n"
    )
}

/// The first nodes of a graph, a line for each.
pub fn nodes(graph: &GraphFile, most: usize) -> String {
    let line = |node: usize| {
        let label = graph.labels.as_ref().map(|labels| labels[node]);
        let (neighbours, attributes) = (graph.adjacency.row(node), graph.attributes.row(node));
        format!("node {node}: neighbours {neighbours:?}, attributes {attributes:?}, label {label:?}\n")
    };
    (0..graph.attributes.rows.min(most)).map(line).collect()
}

/// The text of some lines.
pub fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
