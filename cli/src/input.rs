//! Options that all commands share: files, message passing, budget, lists of nodes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gcnproof::{Budget, Direction, Graph, LocalBudget, Network, NetworkError, Operator};
use gcnproof_files::{
    FileError, GraphFile, GraphOptions, ModelFile, ModelOptions, PartFile, read_graph, read_graph_or_part,
    read_integers, read_matrix, read_model, read_model_with,
};
use gcnproof_results::record::description::{BudgetRecord, Identity, PartRecord};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

use super::parts;

pub use gcnproof_run::lists::{flips, identifiers, nodes};

/// Options of a graph file.
#[derive(Args, Clone, Debug)]
pub struct GraphArguments {
    /// Take every non-zero attribute as present
    #[arg(long, help_heading = "Graph")]
    pub binarize: bool,
    /// Take every edge in both directions
    #[arg(long, help_heading = "Graph")]
    pub symmetrize: bool,
    /// Take every non-zero edge weight as 1
    #[arg(long, help_heading = "Graph")]
    pub unweight: bool,
}

impl GraphArguments {
    /// As the reader of files takes them.
    pub fn options(&self) -> GraphOptions {
        GraphOptions { binarize: self.binarize, symmetrize: self.symmetrize, unweight: self.unweight }
    }

    /// Reads a graph and tells what is worth knowing about it.
    pub fn read(&self, path: &Path) -> Result<Graph> {
        let file = read_graph(path, &self.options()).map_err(|error| no_graph(path, error))?;
        Ok(told(path, file))
    }

    /// The same of a graph or of a part of one.
    pub fn read_or_part(&self, path: &Path) -> Result<(Graph, Option<PartFile>)> {
        let (file, part) = read_graph_or_part(path, &self.options()).map_err(|error| no_graph(path, error))?;
        let graph = told(path, file);
        Ok(match part {
            Some(part) => (graph.part_of(&part), Some(part)),
            None => (graph, None),
        })
    }
}

/// A graph, after its notes.
fn told(path: &Path, file: GraphFile) -> Graph {
    for note in &file.notes {
        note!("note: {}: {note}", path.display());
    }
    Graph::from_file(file)
}

/// Why a file is no graph; a model in its place is told.
fn no_graph(path: &Path, error: FileError) -> miette::Report {
    let safetensors = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("safetensors"));
    if matches!(error, FileError::Unreadable { .. }) || !(safetensors || read_model(path).is_ok()) {
        return error.into();
    }
    miette!(
        help = "the graph comes first, then the model",
        "{}: is a model, but a graph is expected here",
        path.display()
    )
}

/// Options of a model file.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArguments {
    /// The layers by the beginnings of their tensors' names, first layer first (encoder,classifier for
    /// encoder.lin.weight and so on) [default: the names of PyTorch Geometric's GCN, or W1, b1, …]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Model")]
    pub layers: Vec<String>,
}

impl ModelArguments {
    /// As the reader of files takes them.
    pub fn options(&self) -> ModelOptions {
        ModelOptions { layers: self.layers.clone() }
    }

    /// Reads a model and tells what is worth knowing about it.
    pub fn read(&self, path: &Path) -> Result<ModelFile> {
        let model = read_model_with(path, &self.options()).map_err(|error| no_model(path, error))?;
        for note in &model.notes {
            note!("note: {}: {note}", path.display());
        }
        Ok(model)
    }
}

/// Why a file is no model; a graph in its place is told.
fn no_model(path: &Path, error: FileError) -> miette::Report {
    let anything = GraphOptions { binarize: true, symmetrize: true, unweight: true };
    if matches!(error, FileError::Unreadable { .. }) || read_graph(path, &anything).is_err() {
        return error.into();
    }
    miette!(
        help = "the graph comes first, then the model",
        "{}: is a graph, but a model is expected here",
        path.display()
    )
}

/// Labels that the model cannot predict, in words.
pub fn unpredictable_labels(graph: &Graph, network: &Network) -> Option<String> {
    let classes = network.class_count();
    let labels = (0..graph.node_count()).filter_map(|node| graph.label(node));
    let beyond: Vec<u32> = labels.filter(|&label| label as usize >= classes).collect();
    let largest = beyond.iter().max()?;
    Some(format!(
        "{} nodes have a label that the model cannot predict: labels go up to {largest}, but its classes from 0 to {}; \
         accuracies count them as wrong. Are the labels numbered 0, 1, 2, … as in training?",
        beyond.len(),
        classes - 1
    ))
}

/// A graph and a model on it.
#[derive(Args, Clone, Debug)]
pub struct Input {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    pub graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    pub model: PathBuf,
    /// How the graph is read.
    #[command(flatten)]
    pub options: GraphArguments,
    /// How messages are passed.
    #[command(flatten)]
    pub passing: PassingArguments,
    /// How the model is read.
    #[command(flatten)]
    pub reading: ModelArguments,
}

/// How messages are passed.
#[derive(Args, Clone, Debug)]
pub struct PassingArguments {
    /// One rule for all layers, or one per layer separated by commas: gcn, gcn-self, mean, mean+self, sum, sum+self,
    /// identity, poly(RULE;c0,c1,…), or the path of a matrix (.npz as written by scipy.sparse.save_npz, or .npy) [default: gcn, or what the
    /// model's file says]
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Model")]
    pub message_passing: Vec<String>,
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

impl PassingArguments {
    /// The rules as they were given.
    fn given(&self) -> Vec<String> {
        by_layer(&self.message_passing)
    }

    /// The rules as they were given, or the usual one.
    pub fn words(&self) -> String {
        if self.message_passing.is_empty() { "gcn".into() } else { self.message_passing.join(",") }
    }

    /// A model whose file says how messages are passed is not told otherwise.
    pub fn check(&self, model: &ModelFile, path: &Path) -> Result<()> {
        if self.message_passing.is_empty() || model.layers.iter().all(|layer| layer.operators.is_empty()) {
            return Ok(());
        }
        Err(miette!(
            help = "leave --message-passing out, or change the file's description (docs/model-format.md)",
            "{}: the file itself says how messages are passed",
            path.display()
        ))
    }

    /// The rules, with matrices read.
    pub fn rules(&self) -> Result<Vec<Operator>> {
        if self.message_passing.is_empty() {
            return Ok(vec![Operator::Gcn]);
        }
        let rule = |name: &String| {
            name.parse().or_else(|unknown: String| {
                if Path::new(name).exists() {
                    Operator::from_plain(read_matrix(Path::new(name))?).into_diagnostic()
                } else {
                    Err(miette!(
                        help = "give one of the rules, or the path of a matrix file",
                        "{unknown}, and no such file exists"
                    ))
                }
            })
        };
        self.given().iter().map(rule).collect()
    }
}

impl Input {
    /// Reads both files.
    pub fn read(&self) -> Result<(Graph, Network, Identity)> {
        let graph = self.options.read(&self.graph)?;
        let (network, identity) = self.network(&graph, None)?;
        Ok((graph, network, identity))
    }

    /// The same of a graph or of a part of one.
    pub fn read_or_part(&self) -> Result<(Graph, Network, Identity, Option<PartFile>)> {
        let (graph, part) = self.options.read_or_part(&self.graph)?;
        let (network, identity) = self.network(&graph, part.as_ref())?;
        Ok((graph, network, identity, part))
    }

    fn network(&self, graph: &Graph, part: Option<&PartFile>) -> Result<(Network, Identity)> {
        let model = self.reading.read(&self.model)?;
        self.passing.check(&model, &self.model)?;
        let rules = self.passing.rules()?;
        if part.is_some() {
            parts::check_model(&model, &rules, &self.model)?;
        }
        let of_model = model.digest.clone();
        let network = fit(model, &rules, graph, (&self.graph, &self.model))?;
        let message_passing = if network.is_named() { gcnproof::proof::rule_names(&network) } else { names(&rules) };
        if let Some(part) = part {
            parts::check_hops(part, &network, (&self.graph, &self.model))?;
        }
        let identity = Identity {
            // Rows of a part are about the whole graph.
            graph: part.map_or(graph.digest(), |part| &part.whole).to_string(),
            model: of_model,
            message_passing,
            part: part.map(|part| PartRecord {
                number: part.number,
                of: part.parts,
                graph: graph.digest().to_string(),
            }),
        };
        if let Some(words) = unpredictable_labels(graph, &network) {
            note!("note: {}: {words}", self.graph.display());
        }
        Ok((network, identity))
    }
}

/// Puts a model on a graph.
pub fn fit(model: ModelFile, rules: &[Operator], graph: &Graph, (at, of): (&Path, &Path)) -> Result<Network> {
    Network::from_file(model, rules, graph).map_err(|error| {
        let help = match &error {
            NetworkError::Attributes { .. } => {
                "give the graph that the model was trained on, with all of its attributes"
            }
            NetworkError::PassingCount { .. } => {
                "give --message-passing one rule, or one for each layer with commas between"
            }
            _ => "give a graph, a model and matrices that belong together",
        };
        miette!(help = help, "{} does not fit {}: {error}", of.display(), at.display())
    })
}

/// Rules by name; a matrix by its content, so that another file under the same name is another run.
pub fn names(rules: &[Operator]) -> Vec<String> {
    rules.iter().map(gcnproof::proof::rule_name).collect()
}

/// Which flips may be made.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Flips {
    /// Attributes may be added and removed
    Both,
    /// Attributes may only be added
    Add,
    /// Attributes may only be removed
    Remove,
}

/// The attacker's means, except for `Q`.
#[derive(Args, Clone, Debug)]
pub struct LocalArguments {
    /// Flips per node: a number, or a percentage of the attributes (rounded down, but at least 1 if it is more than 0%)
    #[arg(
        short = 'q',
        long = "local",
        alias = "q",
        value_name = "N|P%",
        default_value = "1%",
        help_heading = "Budget"
    )]
    pub local: LocalBudget,
    /// A file with one local budget per node (text, one per line, or .npy); replaces -q
    #[arg(long, value_name = "FILE", help_heading = "Budget")]
    pub local_file: Option<PathBuf>,
    /// Which flips are possible
    #[arg(long, value_enum, default_value = "both", help_heading = "Budget")]
    pub flips: Flips,
    /// Nodes whose attributes cannot be touched: ids and ranges (3,17,20-25), a file with ids or a mask, or FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget")]
    pub freeze_nodes: Option<String>,
    /// Attributes that cannot be touched: the same
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget")]
    pub freeze_attributes: Option<String>,
}

impl LocalArguments {
    /// The budget with a given `Q`, and its record without.
    pub fn budget(&self, graph: &Graph, global: usize) -> Result<(Budget, BudgetRecord)> {
        self.budget_of(graph, None, global)
    }

    /// The same of a graph or of a part of one. Files and lists are about all nodes of the whole graph, and so is the record.
    pub fn budget_of(&self, graph: &Graph, part: Option<&PartFile>, global: usize) -> Result<(Budget, BudgetRecord)> {
        let nodes = part.map_or(graph.node_count(), |part| part.of);
        let sizes = (nodes, graph.attribute_count());
        let budget = match &self.local_file {
            None => Budget::uniform_of(sizes, global, self.local.flips(graph.attribute_count())),
            Some(path) => Budget::per_node_of(sizes, global, &read_integers(path)?)
                .into_diagnostic()
                .wrap_err_with(|| format!("{} cannot be used as local budgets", path.display()))?,
        };
        let direction = match self.flips {
            Flips::Both => Direction::Both,
            Flips::Add => Direction::Add,
            Flips::Remove => Direction::Remove,
        };
        let mut budget = budget.with_direction(direction);
        if let Some(list) = &self.freeze_nodes {
            budget = budget
                .freeze_nodes(&identifiers(list, nodes, "nodes")?)
                .into_diagnostic()
                .wrap_err("--freeze-nodes")?;
        }
        if let Some(list) = &self.freeze_attributes {
            let attributes = identifiers(list, graph.attribute_count(), "attributes")?;
            budget = budget.freeze_attributes(graph, &attributes).into_diagnostic().wrap_err("--freeze-attributes")?;
        }
        let record = BudgetRecord::new(&budget);
        Ok((part.map_or_else(|| budget.clone(), |part| budget.restricted(&part.nodes)), record))
    }
}
