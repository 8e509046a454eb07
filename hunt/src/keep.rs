//! Keeps a finding in a folder: the files, the commands that show it, and what is true.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gcnproof_files::write::{graph_npz, model_safetensors};
use gcnproof_files::{Precision, SparseMatrix};
use serde_json::{Value, json};

use crate::case::{Case, Rule, Way};
use crate::finding::{Counts, Finding};
use crate::record::{RecordFile, nodes, proof_file, told};
use crate::solve::solve;

/// The files of a case, and what commands are told about them.
pub struct Files {
    /// `g.npz`, `m.safetensors`, and what options name.
    pub list: Vec<RecordFile>,
    /// The options of `gcnproof certify` about the budget.
    pub budget: String,
    /// The value of `--message-passing`.
    pub passing: String,
}

impl Files {
    /// Of a case whose network is a chain.
    pub fn new(case: &Case) -> Files {
        let model = model_safetensors("m.safetensors", case.layers(), Precision::F64, &Default::default());
        let mut files = Files::with(case, model.unwrap_or_default());
        let mut names = Vec::new();
        for (number, rule) in case.rules.iter().enumerate() {
            names.push(match rule {
                Rule::Named(name) => name.to_string(),
                Rule::Matrix(matrix) => {
                    let name = format!("mp{}.npy", number + 1);
                    files.list.push((name.clone(), npy(matrix)));
                    name
                }
            });
        }
        files.passing = names.join(",");
        files
    }

    /// Of a case with this model file.
    pub fn with(case: &Case, model: Vec<u8>) -> Files {
        let graph = graph_npz("g.npz", &case.graph).unwrap_or_default();
        let mut list = vec![("g.npz".to_string(), graph), ("m.safetensors".to_string(), model)];
        let budget = &case.budget;
        let mut options = format!("-Q {}", budget.global);
        if budget.local.windows(2).all(|pair| pair[0] == pair[1]) {
            let _ = write!(options, " -q {}", budget.local.first().copied().unwrap_or(0));
        } else {
            let text: String = budget.local.iter().map(|q| format!("{q}\n")).collect();
            list.push(("q.txt".to_string(), text.into_bytes()));
            options += " --local-file q.txt";
        }
        match budget.way {
            Way::Both => {}
            Way::Add => options += " --flips add",
            Way::Remove => options += " --flips remove",
        }
        let frozen: Vec<String> =
            (0..budget.frozen.len()).filter(|&d| budget.frozen[d]).map(|d| d.to_string()).collect();
        if !frozen.is_empty() {
            let _ = write!(options, " --freeze-attributes {}", frozen.join(","));
        }
        if case.labels {
            options += " --class labels";
        }
        Files { list, budget: options, passing: String::new() }
    }

    /// The options of `gcnproof certify` about message passing and budget.
    pub fn options(&self) -> String {
        format!("{} --message-passing {}", self.budget, self.passing)
    }

    /// Writes them into a folder.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.list.iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
    }
}

/// A matrix as a dense array of numpy.
fn npy(matrix: &SparseMatrix) -> Vec<u8> {
    let shape = format!("({}, {})", matrix.rows, matrix.columns);
    let mut head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    while !(10 + head.len() + 1).is_multiple_of(64) {
        head.push(' ');
    }
    head.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(head.len() as u16).to_le_bytes());
    bytes.extend_from_slice(head.as_bytes());
    for i in 0..matrix.rows {
        let (columns, values) = matrix.row(i);
        let entry = |j: usize| columns.binary_search(&(j as u32)).map_or(0.0, |place| values[place]);
        bytes.extend((0..matrix.columns).flat_map(|j| entry(j).to_le_bytes()));
    }
    bytes
}

/// Keeps a finding in a folder of its own inside `out`; returns the folder.
///
/// # Errors
/// If it cannot be written.
pub fn keep(finding: &Finding, original: &Finding, out: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = out.join(name);
    let mut files = Files::new(&finding.case);
    let base = format!("g.npz m.safetensors {}", files.options());
    let checking =
        if files.passing.contains(".npy") { format!(" --message-passing {}", files.passing) } else { String::new() };
    let mut text = format!(
        "# {}: {}\n\nNode {}. Made from {}.\n\n",
        finding.kind.name(),
        finding.message,
        finding.node,
        finding.case.origin
    );
    text += "In this folder:\n\n";
    match &finding.proof {
        None => {
            text += &format!("    gcnproof certify {base} {} --proofs p.jsonl --format json\n", finding.how.options());
            text += &format!("    gcnproof check {base} p.jsonl\n");
        }
        Some((header, line)) => {
            let mut header: Value = serde_json::from_str(header)?;
            for (number, rule) in finding.case.rules.iter().enumerate() {
                if let Rule::Matrix(matrix) = rule {
                    let digest = gcnproof_check::matrix_digest(matrix);
                    header["header"]["message_passing"][number] = json!(format!("matrix:{digest}"));
                }
            }
            files.list.push(proof_file(&header, line, &files.list));
            text +=
                &format!("    gcnproof check g.npz m.safetensors false.jsonl{checking}           (and with --exact)\n");
            text += &format!("    gcnproof certify {base} --complete --proofs p.jsonl --format json\n");
        }
    }
    text += "\n## What is true (brute force)\n\n";
    for (node, truth) in solve(&finding.case, &Counts::default()).iter().enumerate() {
        text += &told(node, truth, "");
    }
    text += "\n## The problem\n\n";
    text += &describe(&finding.case);
    files.list.push(("README.md".into(), text.into_bytes()));
    files.write(&folder)?;
    if original.case.nodes() != finding.case.nodes() {
        Files::new(&original.case).write(&folder.join("before"))?;
    }
    Ok(folder)
}

/// All numbers of a case.
pub fn describe(case: &Case) -> String {
    let mut text =
        format!("budget {:?}, classes by {}\n", case.budget, if case.labels { "labels" } else { "prediction" });
    text += &nodes(&case.graph, usize::MAX);
    for (number, (layer, rule)) in case.layers().iter().zip(&case.rules).enumerate() {
        text += &format!("layer {}: weights {:?}, bias {:?}\n", number + 1, layer.weight, layer.bias);
        match rule {
            Rule::Named(name) => text += &format!("  message passing {name}\n"),
            Rule::Matrix(matrix) => {
                for i in 0..matrix.rows {
                    text += &format!("  row {i}: {:?}\n", matrix.row(i));
                }
            }
        }
    }
    text
}
