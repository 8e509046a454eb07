//! `gcnproof inspect`: prints what was read from a graph and a model.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::internals::problem::forward::forward;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Graph, Network};
use gcnproof_files::{FileError, ModelFile, read_model};
use miette::{IntoDiagnostic, Result, WrapErr};
use serde_json::{Value, json};

use super::input::{GraphArguments, PassingArguments};
use super::run::Format;

/// Say what graph and model files contain; with one of each, how well the model does on the labels.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof inspect cora.npz
  gcnproof inspect cora.npz gcn.safetensors
  gcnproof inspect model.npz --format json

Exit codes: 0 done, 2 wrong usage or input.")]
pub struct Inspect {
    /// Graphs and models
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    options: GraphArguments,
    #[command(flatten)]
    passing: PassingArguments,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Inspect {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let mut graphs: Vec<(PathBuf, Graph)> = Vec::new();
        let mut models: Vec<(PathBuf, ModelFile)> = Vec::new();
        let mut report = Vec::new();
        for path in &self.files {
            // A model is what reads as one; anything else is taken for a graph and judged as such.
            match read_model(path) {
                Ok(model) => {
                    report.push(describe_model(path, &model));
                    models.push((path.clone(), model));
                }
                Err(not_a_model) => match (looks_like_graph(path), not_a_model) {
                    (true, _) => {
                        let graph = self.options.read(path)?;
                        report.push(describe_graph(path, &graph));
                        graphs.push((path.clone(), graph));
                    }
                    (false, error) => return Err(error.into()),
                },
            }
        }
        for (graph_path, graph) in &graphs {
            for (model_path, model) in &models {
                let network = Network::from_file(model.clone(), &self.passing.rules()?, graph)
                    .into_diagnostic()
                    .wrap_err_with(|| format!("{} does not fit {}", model_path.display(), graph_path.display()))?;
                report.push(describe_pair(graph_path, model_path, graph, &network));
            }
        }
        match self.format {
            Format::Json => println!("{}", json!(report)),
            Format::Table => report.iter().for_each(print_entry),
        }
        Ok(0)
    }
}

/// Does the archive have the parts of a graph? Decides which error a broken file gets.
fn looks_like_graph(path: &Path) -> bool {
    match gcnproof_files::read_graph(path, &Default::default()) {
        Ok(_) => true,
        Err(FileError::MissingArray { .. } | FileError::UnknownFormat { .. } | FileError::Unreadable { .. }) => false,
        Err(_) => path.extension().is_none_or(|e| e != "safetensors"),
    }
}

fn describe_graph(path: &Path, graph: &Graph) -> Value {
    let n = graph.node_count();
    let degrees: Vec<usize> = (0..n).map(|i| graph.degree(i)).collect();
    let two_hops: Vec<usize> = (0..n).map(|i| two_hop_size(graph, i)).collect();
    let attributes: Vec<usize> = (0..n).map(|i| graph.attributes().row(i).len()).collect();
    let labels: Vec<u32> = (0..n).filter_map(|i| graph.label(i)).collect();
    json!({
        "file": path.display().to_string(),
        "kind": "graph",
        "nodes": n,
        "edges": degrees.iter().sum::<usize>() / 2,
        "self_loops": (0..n).filter(|&i| graph.adjacency().contains(i, i as u32)).count(),
        "isolated_nodes": degrees.iter().filter(|d| **d == 0).count(),
        "attributes": graph.attribute_count(),
        "attributes_per_node": spread(attributes),
        "degree": spread(degrees),
        "two_hop_size": spread(two_hops),
        "labelled_nodes": labels.len(),
        "classes": labels.iter().max().map_or(0, |k| k + 1),
        "digest": graph.digest(),
    })
}

fn describe_model(path: &Path, model: &ModelFile) -> Value {
    let layers: Vec<Value> = model
        .layers
        .iter()
        .map(|layer| {
            json!({ "weight": layer.weight_name, "bias": layer.bias_name, "inputs": layer.weight.rows, "outputs": layer.weight.columns })
        })
        .collect();
    json!({
        "file": path.display().to_string(),
        "kind": "model",
        "weight_layers": model.layers.len(),
        "layers": layers,
        "precision": format!("{:?}", model.precision).to_lowercase(),
        "metadata": model.metadata,
        "digest": model.digest,
    })
}

fn describe_pair(graph_path: &Path, model_path: &Path, graph: &Graph, network: &Network) -> Value {
    let representations = forward(graph, network);
    let logits = &representations[representations.len() - 1];
    let mut slice = Slice::default();
    let mut right = 0;
    let mut labelled = 0;
    let mut sizes = Vec::new();
    for node in 0..graph.node_count() {
        slice.cut(network, network.depth(), node);
        sizes.push(slice.nodes(1).len());
        if let Some(label) = graph.label(node) {
            labelled += 1;
            let best = (0..logits.width).fold(0, |b, k| if logits.row(node)[k] > logits.row(node)[b] { k } else { b });
            right += usize::from(best == label as usize);
        }
    }
    json!({
        "graph": graph_path.display().to_string(),
        "model": model_path.display().to_string(),
        "kind": "model on graph",
        "accuracy_on_labels": (labelled > 0).then(|| right as f64 / labelled as f64),
        "neighbourhood": spread(sizes),
        "largest_rounding_error_of_a_logit": logits.error.iter().copied().fold(0.0, f64::max),
    })
}

/// Nodes within two hops, the node itself included.
fn two_hop_size(graph: &Graph, node: usize) -> usize {
    let mut seen = vec![node as u32];
    for &m in graph.adjacency().row(node) {
        seen.push(m);
        seen.extend_from_slice(graph.adjacency().row(m as usize));
    }
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

fn spread(mut values: Vec<usize>) -> Value {
    values.sort_unstable();
    json!({
        "mean": (values.iter().sum::<usize>() as f64 / values.len().max(1) as f64 * 100.0).round() / 100.0,
        "median": values.get(values.len() / 2),
        "max": values.last(),
    })
}

/// One entry as indented lines.
fn print_entry(entry: &Value) {
    let Some(fields) = entry.as_object() else { return };
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(inline).collect::<Vec<_>>().join("; "),
            other => inline(other),
        };
        println!("{:<36}{text}", name.replace('_', " "));
    }
    println!();
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(k, v)| format!("{k} {}", inline(v))).collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        Value::Null => "-".to_string(),
        other => other.to_string(),
    }
}
