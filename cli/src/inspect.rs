//! `gcnproof inspect`: prints what was read from a graph and a model.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::internals::problem::forward::forward;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Graph, Network};
use gcnproof_files::{FileError, ModelFile, read_model_with};
use gcnproof_results::contents::contents_of;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::input::{FileArguments, GraphArguments, Paths, fit, unpredictable_labels};
use super::logits::{Comparison, LogitsArguments};
use super::run::Format;

/// Say what graph and model files contain; with one of each, how well the model does on the labels.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof inspect cora.npz
  gcnproof inspect cora.npz gcn.safetensors
  gcnproof inspect cora.npz gcn.safetensors --logits logits.npy     (is this the network that I have trained?)
  gcnproof inspect cora.npz own.safetensors --layers encoder,classifier
  gcnproof inspect model.npz --format json

A model file holds weights and neither the activation nor the options of the layers. --logits compares the network read
here with your framework's; where they differ it says which of normalize=False, add_self_loops=False, another activation
and the like explains it.

Exit codes: 0 done, 1 the logits are not those of the network, 2 wrong usage or input.")]
pub struct Inspect {
    /// Graphs and models
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: FileArguments,
    #[command(flatten)]
    logits: LogitsArguments,
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
        let mut agree = true;
        for path in &self.files {
            // A model is what reads as one; anything else is taken for a graph and judged as such.
            match read_model_with(path, &self.reading.reading.options()) {
                Ok(model) => {
                    report.push(describe_model(path, &model));
                    models.push((path.clone(), model));
                }
                Err(not_a_model) => match (looks_like_graph(path), not_a_model) {
                    (true, _) => {
                        // What can be looked at need not be something that can be flipped.
                        let reading = GraphArguments { real: true, ..self.reading.options.clone() };
                        let graph = reading.read(path)?;
                        report.push(describe_graph(path, &graph));
                        graphs.push((path.clone(), graph));
                    }
                    (false, error) => {
                        return Err(contents_of(path).map_or_else(
                            || error.into(),
                            |what| {
                                miette!(
                                    help = "give graphs and models; `gcnproof summary` shows results, `gcnproof check` checks proofs",
                                    "{}: is {what}, but a graph or a model is expected here",
                                    path.display()
                                )
                            },
                        ));
                    }
                },
            }
        }
        for (graph_path, graph) in &graphs {
            for (model_path, model) in &models {
                let paths = Paths { graph: graph_path, model: model_path };
                self.reading.passing.check(model, model_path)?;
                let network = fit(model.clone(), &self.reading.passing.rules()?, graph, paths)?;
                if let Some(words) = unpredictable_labels(graph, &network) {
                    note!("note: {}: {words}", graph_path.display());
                }
                let compared = self.logits.compare(graph, &network)?;
                if compared.is_none() && !ours(model) && !describes_itself(model) {
                    let passing = self.reading.passing.words();
                    note!(
                        "warning: {}: a model file holds neither activation nor options; read as ReLU between layers and message \
                         passing {passing}{}: --logits FILE makes sure that this is your network",
                        model_path.display(),
                        if passing == "gcn" { " (normalize=True, add_self_loops=True)" } else { "" }
                    );
                }
                agree &= compared.as_ref().is_none_or(Comparison::agrees);
                report.push(describe_pair(paths, graph, &network, compared.as_ref()));
            }
        }
        if self.logits.logits.is_some() && (graphs.is_empty() || models.is_empty()) {
            return Err(miette!(help = "name both", "--logits needs a graph and a model to compare with"));
        }
        match self.format {
            Format::Json => say!("{}", json!(report))?,
            Format::Table => {
                for entry in &report {
                    print_entry(entry)?;
                }
            }
        }
        Ok(if agree { 0 } else { 1 })
    }
}

/// Has `gcnproof train` written this model? Then nothing about it is assumed.
fn ours(model: &ModelFile) -> bool {
    model.metadata.get("framework").is_some_and(|framework| framework.starts_with("gcnproof"))
}

/// Arrays of a graph that no model has.
const ATTRIBUTES: [&str; 5] = ["attr_data", "attr_matrix", "x", "features", "node_features"];

/// Does the archive have the parts of a graph? Decides which error a broken file gets.
fn looks_like_graph(path: &Path) -> bool {
    match gcnproof_files::read_graph(path, &Default::default()) {
        Ok(_) => true,
        // The adjacency is looked for first: what lacks something else has one.
        Err(FileError::MissingArray { .. }) => true,
        Err(FileError::NoEdges { found, .. }) => found.split(", ").any(|name| ATTRIBUTES.contains(&name)),
        Err(FileError::UnknownFormat { .. } | FileError::Unreadable { .. }) => false,
        Err(_) => path.extension().is_none_or(|e| e != "safetensors"),
    }
}

fn describe_graph(path: &Path, graph: &Graph) -> Value {
    let n = graph.node_count();
    let degrees: Vec<usize> = (0..n).map(|i| graph.degree(i)).collect();
    let two_hops: Vec<usize> = (0..n).map(|i| two_hop_size(graph, i)).collect();
    let present = |i: usize| graph.values().map_or(graph.attributes().row(i).len(), |values| values.row(i).0.len());
    let attributes: Vec<usize> = (0..n).map(present).collect();
    let labels: Vec<u32> = (0..n).filter_map(|i| graph.label(i)).collect();
    let mut told = json!({
        "file": path.display().to_string(),
        "kind": "graph",
        "nodes": n,
        "edges": degrees.iter().sum::<usize>() / 2,
        "self_loops": (0..n).filter(|&i| graph.adjacency().contains(i, i as u32)).count(),
        "isolated_nodes": degrees.iter().filter(|d| **d == 0).count(),
        "attributes": graph.own_attribute_count(),
        "attributes_per_node": spread(attributes),
        "degree": spread(degrees),
        "two_hop_size": spread(two_hops),
        "labelled_nodes": labels.len(),
        "classes": labels.iter().max().map_or(0, |k| k + 1),
        "digest": graph.digest(),
    });
    if graph.values().is_some() {
        told["values_of_attributes"] =
            "numbers other than 0 and 1: moved by --epsilon and --ranges, left as they are by --edges".into();
    }
    if graph.batch().is_some() {
        let graphs = graph.target_count();
        told["graphs"] = graphs.into();
        told["nodes_per_graph"] = spread((0..graphs).map(|g| graph.nodes_of(g).len()).collect());
        if let Some(labelled) = told.as_object_mut().and_then(|fields| fields.remove("labelled_nodes")) {
            told["labelled_graphs"] = labelled;
        }
    }
    told
}

/// Does the file say what its network is?
fn describes_itself(model: &ModelFile) -> bool {
    model.layers.iter().any(|layer| !layer.operators.is_empty())
}

fn describe_model(path: &Path, model: &ModelFile) -> Value {
    let layers: Vec<Value> = model
        .layers
        .iter()
        .map(|layer| {
            let (terms, outputs) = (layer.operators.len().max(1), layer.weight.columns);
            let mut described = json!({
                "weight": layer.weight_name, "bias": layer.bias_name, "inputs": layer.weight.rows / terms, "outputs": outputs
            });
            if !layer.operators.is_empty() {
                described["operators"] = layer.operators.join(" & ").into();
            }
            if layer.bias.len() > outputs {
                described["biases"] = "one for each node and unit".into();
            }
            if layer.linear.contains(&true) {
                let linear = layer.linear.iter().filter(|&&linear| linear).count();
                described["units_without_activation"] = linear.into();
            }
            described
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

fn describe_pair(paths: Paths, graph: &Graph, network: &Network, logits: Option<&Comparison>) -> Value {
    let representations = forward(graph, network);
    let representation = &representations[representations.len() - 1];
    let mut slice = Slice::default();
    let mut right = 0;
    let mut labelled = 0;
    let mut sizes = Vec::new();
    for node in 0..graph.target_count() {
        slice.cut(network, network.depth(), node);
        sizes.push(slice.nodes(1).len());
        if let Some(label) = graph.label(node) {
            labelled += 1;
            let row = representation.row(node);
            let best = (0..row.len()).fold(0, |b, k| if row[k] > row[b] { k } else { b });
            right += usize::from(best == label as usize);
        }
    }
    let mut told = json!({
        "graph": paths.graph.display().to_string(),
        "model": paths.model.display().to_string(),
        "kind": "model on graph",
        "accuracy_on_labels": (labelled > 0).then(|| right as f64 / labelled as f64),
        "neighbourhood": spread(sizes),
        "largest_rounding_error_of_a_logit": representation.error.iter().copied().fold(0.0, f64::max),
    });
    if let Some(compared) = logits {
        told["logits"] = compared.value();
        told["logits"]["words"] = json!(compared.words());
    }
    told
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
fn print_entry(entry: &Value) -> Result<()> {
    let Some(fields) = entry.as_object() else { return Ok(()) };
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(inline).collect::<Vec<_>>().join("; "),
            // Machines get the parts, people the sentences.
            Value::Object(parts) if parts.contains_key("words") => {
                let sentence = |key: &str| parts[key].as_str().map(str::to_string);
                [sentence("words"), sentence("remedy").map(|remedy| format!("remedy: {remedy}"))]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            other => inline(other),
        };
        say!("{:<36}{text}", name.replace('_', " "))?;
    }
    say!("")
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
