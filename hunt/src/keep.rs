//! Keeps a finding in a folder: the files, the commands that show it, and what is true.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gcnproof_files::write::{graph_npz, model_safetensors};
use gcnproof_files::{GraphOptions, Precision, SparseMatrix, read_graph, read_matrix, read_model};
use serde_json::{Value, json};

use crate::case::{Case, Rule, Way};
use crate::finding::{Counts, Finding};
use crate::solve::solve;

/// The files of a case in a folder.
pub struct Files {
    /// The graph.
    pub graph: PathBuf,
    /// The model.
    pub model: PathBuf,
    /// The options of `gcnproof certify` about message passing and budget.
    pub options: Vec<String>,
    /// The value of `--message-passing`.
    pub passing: String,
}

/// Writes the files of a case.
///
/// # Errors
/// If they cannot be written.
pub fn write(case: &Case, folder: &Path) -> io::Result<Files> {
    fs::create_dir_all(folder)?;
    let (graph, model) = (folder.join("g.npz"), folder.join("m.safetensors"));
    fs::write(&graph, graph_npz("g.npz", &case.graph).map_err(io::Error::other)?)?;
    let bytes = model_safetensors("m.safetensors", case.layers(), Precision::F64, &Default::default());
    fs::write(&model, bytes.map_err(io::Error::other)?)?;
    let mut names = Vec::new();
    for (number, rule) in case.rules.iter().enumerate() {
        names.push(match rule {
            Rule::Named(name) => name.to_string(),
            Rule::Matrix(matrix) => {
                let path = folder.join(format!("mp{}.npy", number + 1));
                fs::write(&path, npy(matrix))?;
                path.display().to_string()
            }
        });
    }
    let passing = names.join(",");
    let budget = &case.budget;
    let mut options = vec!["-Q".to_string(), budget.global.to_string()];
    if budget.local.windows(2).all(|pair| pair[0] == pair[1]) {
        options.extend(["-q".into(), budget.local.first().copied().unwrap_or(0).to_string()]);
    } else {
        let path = folder.join("q.txt");
        fs::write(&path, budget.local.iter().map(|q| format!("{q}\n")).collect::<String>())?;
        options.extend(["--local-file".into(), path.display().to_string()]);
    }
    match budget.way {
        Way::Both => {}
        Way::Add => options.extend(["--flips".into(), "add".into()]),
        Way::Remove => options.extend(["--flips".into(), "remove".into()]),
    }
    let frozen: Vec<String> = (0..budget.frozen.len()).filter(|&d| budget.frozen[d]).map(|d| d.to_string()).collect();
    if !frozen.is_empty() {
        options.extend(["--freeze-attributes".into(), frozen.join(",")]);
    }
    if case.labels {
        options.extend(["--class".into(), "labels".into()]);
    }
    options.extend(["--message-passing".into(), passing.clone()]);
    Ok(Files { graph, model, options, passing })
}

/// A matrix as a dense array of numpy.
pub fn npy(matrix: &SparseMatrix) -> Vec<u8> {
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
    let files = write(&finding.case, &folder)?;
    let base =
        format!("g.npz m.safetensors {}", files.options.join(" ")).replace(&format!("{}/", folder.display()), "");
    let checking = if files.passing.contains(".npy") {
        format!(" --message-passing {}", files.passing.replace(&format!("{}/", folder.display()), ""))
    } else {
        String::new()
    };
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
            fs::write(folder.join("false.jsonl"), whole(header, line, &files, &finding.case)?)?;
            text +=
                &format!("    gcnproof check g.npz m.safetensors false.jsonl{checking}           (and with --exact)\n");
            text += &format!("    gcnproof certify {base} --complete --proofs p.jsonl --format json\n");
        }
    }
    text += "\n## What is true (brute force)\n\n";
    for (node, truth) in solve(&finding.case, &Counts::default()).iter().enumerate() {
        let margins: Vec<String> =
            truth.margins.iter().map(|m| m.as_ref().map_or("-".into(), |m| format!("{:e}", m.approximate()))).collect();
        text += &format!(
            "node {node}: predicted {}, reference {:?}, robust {:?}, smallest margins {}\n",
            truth.predicted,
            truth.reference,
            truth.robust(),
            margins.join(" ")
        );
    }
    text += "\n## The problem\n\n";
    text += &describe(&finding.case);
    fs::write(folder.join("README.md"), text)?;
    if original.case.nodes() != finding.case.nodes() {
        write(&original.case, &folder.join("before"))?;
    }
    Ok(folder)
}

/// A file of proofs with the digests of the files as they were written.
fn whole(header: &str, line: &str, files: &Files, case: &Case) -> io::Result<String> {
    let graph = read_graph(&files.graph, &GraphOptions::default()).map_err(io::Error::other)?;
    let model = read_model(&files.model).map_err(io::Error::other)?;
    let mut header: Value = serde_json::from_str(header)?;
    header["header"]["graph"] = json!(graph.digest);
    header["header"]["model"] = json!(model.digest);
    for (number, rule) in case.rules.iter().enumerate() {
        if matches!(rule, Rule::Matrix(_)) {
            let path = files.passing.split(',').nth(number).unwrap_or_default();
            let matrix = read_matrix(Path::new(path)).map_err(io::Error::other)?;
            header["header"]["message_passing"][number] =
                json!(format!("matrix:{}", gcnproof_check::matrix_digest(&matrix)));
        }
    }
    let count = line.lines().count();
    Ok(format!("{header}\n{line}\n{{\"end\":{count}}}\n"))
}

/// All numbers of a case.
pub fn describe(case: &Case) -> String {
    let mut text =
        format!("budget {:?}, classes by {}\n", case.budget, if case.labels { "labels" } else { "prediction" });
    for node in 0..case.nodes() {
        let label = case.graph.labels.as_ref().map(|labels| labels[node]);
        text += &format!(
            "node {node}: neighbours {:?}, attributes {:?}, label {label:?}\n",
            case.graph.adjacency.row(node),
            case.graph.attributes.row(node)
        );
    }
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
