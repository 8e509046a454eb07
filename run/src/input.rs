//! Reads graphs and models, and puts them together. What went wrong is said with its remedy.

use std::path::Path;

use gcnproof::{Graph, Network, NetworkError, Operator};
use gcnproof_files::{FileError, GraphOptions, ModelFile, ModelOptions, PartFile, read_matrix};
use gcnproof_results::contents::contents_of;
use gcnproof_results::record::description::{Identity, PartRecord};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use super::parts;
pub use super::parts::Paths;

/// Reads a graph.
///
/// # Errors
/// If the file is none.
pub fn read_graph(path: &Path, options: &GraphOptions) -> Result<Graph> {
    let file = gcnproof_files::read_graph(path, options).map_err(|error| no_graph(path, error, ORDER))?;
    Ok(Graph::from_file(file))
}

/// The same where no model is asked for.
///
/// # Errors
/// If the file is none.
pub fn read_graph_only(path: &Path, options: &GraphOptions) -> Result<Graph> {
    let file = gcnproof_files::read_graph(path, options).map_err(|error| no_graph(path, error, "give a graph file"))?;
    Ok(Graph::from_file(file))
}

/// The same of a graph that results are about: its attributes may be numbers, and its edges may have one direction,
/// where these were attacked.
///
/// # Errors
/// If the file is none.
pub fn read_certified(path: &Path, options: &GraphOptions) -> Result<Graph> {
    let read = as_certified(options, |options| gcnproof_files::read_graph(path, options), |error| Some(error));
    Ok(Graph::from_file(read.map_err(|error| no_graph(path, error, "give a graph file"))?))
}

/// Reads a graph of results in one way or the other; `of_file` finds what is wrong with the file in an error.
///
/// # Errors
/// If it cannot be read either way.
pub fn as_certified<T, E>(
    options: &GraphOptions,
    read: impl Fn(&GraphOptions) -> std::result::Result<T, E>,
    of_file: impl Fn(&E) -> Option<&FileError>,
) -> std::result::Result<T, E> {
    let options = GraphOptions { real: true, ..*options };
    read(&options).or_else(|error| match of_file(&error) {
        Some(FileError::NotSymmetric { .. }) => read(&GraphOptions { directed: true, ..options }),
        _ => Err(error),
    })
}

/// The same of a graph or of a part of one.
///
/// # Errors
/// If the file is neither.
pub fn read_graph_or_part(path: &Path, options: &GraphOptions) -> Result<(Graph, Option<PartFile>)> {
    let (file, part) =
        gcnproof_files::read_graph_or_part(path, options).map_err(|error| no_graph(path, error, ORDER))?;
    let graph = Graph::from_file(file);
    Ok(match part {
        Some(part) => (graph.part_of(&part), Some(part)),
        None => (graph, None),
    })
}

/// What helps where files stand in each other's places.
const ORDER: &str = "the graph comes first, then the model, and of `check` the proofs behind them";

/// Why a folder is no file; that of `partition` has several.
fn folder(path: &Path, what: &str) -> miette::Report {
    let part = path.join("part-0.npz");
    if what == "graph" && part.is_file() {
        return miette!(
            help = format!(
                "certify each of them, as {}, and put the results together with `gcnproof join` (docs/distributed.md)",
                part.display()
            ),
            "{}: is a folder with the parts of a graph, which are files of their own",
            path.display()
        );
    }
    miette!(help = format!("give the file of a {what}"), "{}: is a folder, and a file is meant", path.display())
}

/// Why a file is no graph; what was found in its place is told.
pub fn no_graph(path: &Path, error: FileError, help: &'static str) -> miette::Report {
    let told = |what: &str| miette!(help = help, "{}: is {what}, but a graph is expected here", path.display());
    match contents_of(path) {
        _ if path.is_dir() => folder(path, "graph"),
        _ if matches!(error, FileError::Unreadable { .. }) => error.into(),
        Some(what) => told(what),
        None if is_model(path, &error) => told("a model"),
        None => error.into(),
    }
}

fn is_model(path: &Path, error: &FileError) -> bool {
    let safetensors = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("safetensors"));
    !matches!(error, FileError::Unreadable { .. }) && (safetensors || gcnproof_files::read_model(path).is_ok())
}

/// Reads a model.
///
/// # Errors
/// If the file is none.
pub fn read_model(path: &Path, options: &ModelOptions) -> Result<ModelFile> {
    gcnproof_files::read_model_with(path, options).map_err(|error| no_model(path, error))
}

/// Why a file is no model; what was found in its place is told.
fn no_model(path: &Path, error: FileError) -> miette::Report {
    let anything = GraphOptions { binarize: true, symmetrize: true, unweight: true, directed: false, real: false };
    let told = |what: &str| {
        let unfinished = "go on with the training: its `gcnproof train` command with --resume writes the model";
        let help = if what.contains("checkpoint") { unfinished } else { ORDER };
        miette!(help = help, "{}: is {what}, but a model is expected here", path.display())
    };
    match contents_of(path) {
        _ if path.is_dir() => folder(path, "model"),
        _ if matches!(error, FileError::Unreadable { .. }) => error.into(),
        Some(what) => told(what),
        None if gcnproof_files::read_graph(path, &anything).is_ok() => told("a graph"),
        None => error.into(),
    }
}

/// Labels that the model cannot predict, in words.
pub fn unpredictable_labels(graph: &Graph, network: &Network) -> Option<String> {
    let classes = network.class_count();
    let labels = (0..graph.target_count()).filter_map(|node| graph.label(node));
    let targets = if graph.batch().is_some() { "graphs" } else { "nodes" };
    let beyond: Vec<u32> = labels.filter(|&label| label as usize >= classes).collect();
    let largest = beyond.iter().max()?;
    Some(format!(
        "{} {targets} have a label that the model cannot predict: labels go up to {largest}, but its classes from 0 to {}; \
         accuracies count them as wrong. Are the labels numbered 0, 1, 2, … as in training?",
        beyond.len(),
        classes - 1
    ))
}

/// What was split at every comma, split only at those between rules: a polynomial has commas of its own.
fn by_layer(pieces: &[String]) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    let is_open = |rule: &String| rule.matches('(').count() > rule.matches(')').count();
    for piece in pieces {
        match rules.last_mut().filter(|rule| is_open(rule)) {
            Some(rule) => *rule = format!("{rule},{piece}"),
            None => rules.push(piece.clone()),
        }
    }
    rules
}

/// A model whose file says how messages are passed is not told otherwise, and one that was trained here with another
/// message passing than the usual one is not read with the usual one.
///
/// # Errors
/// If it is.
pub fn check_passing(message_passing: &[String], model: &ModelFile, path: &Path) -> Result<()> {
    let ours = model.metadata.get("framework").is_some_and(|framework| framework.starts_with("gcnproof "));
    let trained = model.metadata.get("message_passing").filter(|_| ours && message_passing.is_empty());
    if let Some(rules) = trained.filter(|rules| rules.split(',').any(|rule| rule != "gcn")) {
        return Err(miette!(
            help = format!("add --message-passing {rules}"),
            "{}: was trained with message passing {rules}, and none is given",
            path.display()
        ));
    }
    if message_passing.is_empty() || model.layers.iter().all(|layer| layer.operators.is_empty()) {
        return Ok(());
    }
    Err(miette!(
        help = "leave --message-passing out, or change the file's description (docs/model-format.md)",
        "{}: the file itself says how messages are passed",
        path.display()
    ))
}

/// The rules of message passing, split at every comma; a matrix is read from its file. Without any, the usual one.
///
/// # Errors
/// If a rule is unknown, or a matrix cannot be read.
pub fn rules(message_passing: &[String]) -> Result<Vec<Operator>> {
    if message_passing.is_empty() {
        return Ok(vec![Operator::Gcn]);
    }
    let rule = |name: &String| {
        if name.parse().is_ok_and(|operator: Operator| operator.is_readout()) {
            return Err(miette!(
                help =
                    "describe the network in its file (docs/model-format.md), or pass the module to gcnproof in Python",
                "--message-passing {name}: a readout belongs to the network, and only its file can say so"
            ));
        }
        name.parse().or_else(|unknown: String| {
            if Path::new(name).exists() {
                Operator::from_plain(read_matrix(Path::new(name))?)
                    .into_diagnostic()
                    .wrap_err_with(|| format!("--message-passing {name}"))
            } else if name.trim().is_empty() {
                Err(miette!(
                    help = "give one rule, or one for each layer with commas between",
                    "--message-passing {}: a rule is missing before or behind a comma",
                    message_passing.join(",")
                ))
            } else {
                Err(miette!(
                    help = "give one of the rules, or the path of a matrix file",
                    "--message-passing {name}: {unknown}, and no such file exists"
                ))
            }
        })
    };
    by_layer(message_passing).iter().map(rule).collect()
}

/// Puts a model on a graph or on a part of one, and names both for the record.
///
/// # Errors
/// If they do not fit, or such a model cannot be split into parts.
pub fn network(
    model: ModelFile,
    message_passing: &[String],
    graph: &Graph,
    part: Option<&PartFile>,
    paths: Paths,
) -> Result<(Network, Identity)> {
    let of = paths.model;
    check_passing(message_passing, &model, of)?;
    let rules = rules(message_passing)?;
    if part.is_some() {
        parts::check_model(&model, &rules, of)?;
    }
    let of_model = model.digest.clone();
    let network = placed(model, &rules, graph, &by_layer(message_passing), paths)?;
    let message_passing = if network.is_named() { gcnproof::proof::rule_names(&network) } else { names(&rules) };
    if let Some(part) = part {
        parts::check_hops(part, &network, paths)?;
    }
    let identity = Identity {
        // Rows of a part are about the whole graph.
        graph: part.map_or(graph.digest(), |part| &part.whole).to_string(),
        model: of_model,
        message_passing,
        part: part.map(|part| PartRecord { number: part.number, of: part.parts, graph: graph.digest().to_string() }),
    };
    Ok((network, identity))
}

/// Puts a model on a graph.
///
/// # Errors
/// If it does not fit.
pub fn fit(model: ModelFile, rules: &[Operator], graph: &Graph, paths: Paths) -> Result<Network> {
    placed(model, rules, graph, &[], paths)
}

/// A network on a graph; `given` are the rules of message passing as they were given.
fn placed(model: ModelFile, rules: &[Operator], graph: &Graph, given: &[String], paths: Paths) -> Result<Network> {
    let first = model.layers.first().map(|layer| layer.weight.columns);
    Network::from_file(model, rules, graph).map_err(|error| match error {
        NetworkError::Attributes { .. } if first == Some(graph.attribute_count()) => miette!(
            help = "are the weights stored as [out, in], as PyTorch does? Then save them transposed (`.T`), or say \
                    \"transposed\": true in the term of a description",
            "{} does not fit {}: {error}",
            paths.model.display(),
            paths.graph.display()
        ),
        error => misfit(&error, given, paths),
    })
}

/// Why a model does not fit a graph; the rules of message passing as they were given name the files of matrices.
fn misfit(error: &NetworkError, given: &[String], paths: Paths) -> miette::Report {
    if let NetworkError::MatrixShape { layer, rows, columns, nodes } = error
        && let Some(file) = given.get(layer - 1).or(given.last())
    {
        return miette!(
            help = format!("give a matrix with a row and a column for each of the {nodes} nodes"),
            "--message-passing {file}: the matrix is {rows}×{columns}, but {} has {nodes} nodes",
            paths.graph.display()
        );
    }
    let help = match error {
        NetworkError::Attributes { .. } => "give the graph that the model was trained on, with all of its attributes",
        NetworkError::PassingCount { .. } => {
            "give --message-passing one rule, or one for each layer with commas between"
        }
        NetworkError::Rule { .. } => {
            let help = "give each layer a rule that docs/model-format.md names";
            return miette!(help = help, "{}: {error}", paths.model.display());
        }
        NetworkError::NoBatch { .. } => {
            "save `batch`, the graph of each node, with the graphs: np.savez(path, edge_index=…, x=…, y=…, batch=…)"
        }
        NetworkError::NoReadout { .. } => "leave `batch` out of the file if nodes are to be classified",
        NetworkError::Classes { .. } => {
            let help = "of one output z that decides by its sign, save a model with the two logits 0 and z";
            return miette!(help = help, "{}: {error}", paths.model.display());
        }
        _ => "give a graph, a model and matrices that belong together",
    };
    miette!(help = help, "{} does not fit {}: {error}", paths.model.display(), paths.graph.display())
}

/// Rules by name; a matrix by its content, so that another file under the same name is another run.
pub fn names(rules: &[Operator]) -> Vec<String> {
    rules.iter().map(gcnproof::proof::rule_name).collect()
}
