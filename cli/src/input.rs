//! Options that all commands share: files, message passing, budget, lists of nodes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gcnproof::{Budget, Direction, Graph, LocalBudget, Network, Operator};
use gcnproof_files::{GraphOptions, ModelFile, ModelOptions, PartFile, read_integers};
use gcnproof_results::record::description::{BudgetRecord, Identity};
use gcnproof_run::ids::Ids;
use gcnproof_run::input::{check_passing, network, read_graph, read_graph_only, read_graph_or_part, read_model, rules};
use miette::{Result, miette};

pub use gcnproof_run::input::{Paths, fit, names, unpredictable_labels};
pub use gcnproof_run::lists::{flips, identifiers, nodes, nodes_of};

/// Options of a graph file.
#[derive(Args, Clone, Debug)]
pub struct GraphArguments {
    /// Take every non-zero attribute as present
    #[arg(long, help_heading = "Graph", hide_short_help = true)]
    pub binarize: bool,
    /// Take every edge in both directions
    #[arg(long, help_heading = "Graph", hide_short_help = true)]
    pub symmetrize: bool,
    /// Take every non-zero edge weight as 1
    #[arg(long, help_heading = "Graph", hide_short_help = true)]
    pub unweight: bool,
    /// Are directions of edges kept? Where these are attacked, --directed-edges says so.
    #[arg(skip)]
    pub directed: bool,
    /// Are attributes taken as the numbers that they are? Where the attacker moves them, or leaves them alone.
    #[arg(skip)]
    pub real: bool,
}

impl GraphArguments {
    /// As the reader of files takes them.
    pub fn options(&self) -> GraphOptions {
        let GraphArguments { binarize, symmetrize, unweight, directed, real } = *self;
        GraphOptions { binarize, symmetrize, unweight, directed, real }
    }

    /// Reads a graph and tells what is worth knowing about it.
    pub fn read(&self, path: &Path) -> Result<Graph> {
        let graph = read_graph(path, &self.options())?;
        tell(path, graph.notes());
        Ok(graph)
    }

    /// The same for a command that takes a graph and no model.
    pub fn read_only(&self, path: &Path) -> Result<Graph> {
        let graph = read_graph_only(path, &self.options())?;
        tell(path, graph.notes());
        Ok(graph)
    }

    /// The same of a graph or of a part of one.
    pub fn read_or_part(&self, path: &Path) -> Result<(Graph, Option<PartFile>)> {
        let (graph, part) = read_graph_or_part(path, &self.options())?;
        tell(path, graph.notes());
        Ok((graph, part))
    }
}

/// Why something cannot be frozen, of which there are so many.
pub fn frozen(option: &str, error: &dyn std::fmt::Display, count: usize) -> miette::Report {
    miette!(help = format!("give ids from 0 to {}", count.saturating_sub(1)), "{option}: {error}")
}

/// The rows that are asked about; what other parts of the graph answer for is told.
pub fn asked(ids: &Ids, list: Option<&str>, graph: &Graph, part: Option<&PartFile>) -> Result<Vec<usize>> {
    let rows = ids.asked(list, graph)?;
    if let (Some(list), Some(part)) = (list, part) {
        let wanted = BTreeSet::from_iter(nodes_of("--nodes", list, part.of)?).len();
        if wanted > rows.len() {
            note!("note: other parts answer for {} of the {wanted} nodes of --nodes", wanted - rows.len());
        }
    }
    Ok(rows)
}

/// Tells the notes of a file.
fn tell(path: &Path, notes: &[String]) {
    for note in notes {
        note!("note: {}: {note}", path.display());
    }
}

/// Options of a model file.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArguments {
    /// The layers by the beginnings of their tensors' names, first layer first (encoder,classifier for
    /// encoder.lin.weight and so on) [default: the names of PyTorch Geometric's GCN, or W1, b1, …]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Model", hide_short_help = true)]
    pub layers: Vec<String>,
}

impl ModelArguments {
    /// As the reader of files takes them.
    pub fn options(&self) -> ModelOptions {
        ModelOptions { layers: self.layers.clone() }
    }

    /// Reads a model and tells what is worth knowing about it.
    pub fn read(&self, path: &Path) -> Result<ModelFile> {
        let model = read_model(path, &self.options())?;
        tell(path, &model.notes);
        Ok(model)
    }
}

/// A graph and a model on it.
#[derive(Args, Clone, Debug)]
pub struct Input {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    pub graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    pub model: PathBuf,
    /// How both are read.
    #[command(flatten)]
    pub files: FileArguments,
}

/// How a graph and a model are read.
#[derive(Args, Clone, Debug)]
pub struct FileArguments {
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
    /// identity, poly(RULE;c0,c1,…), or the path of a matrix (.npz as written by scipy.sparse.save_npz, or .npy)
    /// [default: gcn, or what the model's file says]
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Model", hide_short_help = true)]
    pub message_passing: Vec<String>,
}

impl PassingArguments {
    /// The rules as they were given, or the usual one.
    pub fn words(&self) -> String {
        if self.message_passing.is_empty() { "gcn".into() } else { self.message_passing.join(",") }
    }

    /// See [`check_passing`].
    ///
    /// # Errors
    /// If the file says how messages are passed.
    pub fn check(&self, model: &ModelFile, path: &Path) -> Result<()> {
        check_passing(&self.message_passing, model, path)
    }

    /// See [`rules`].
    ///
    /// # Errors
    /// If a rule is unknown, or a matrix cannot be read.
    pub fn rules(&self) -> Result<Vec<Operator>> {
        rules(&self.message_passing)
    }
}

impl Input {
    /// Reads both files.
    pub fn read(&self) -> Result<(Graph, Network, Identity)> {
        let (graph, model) = self.both(|| self.files.options.read(&self.graph));
        let graph = graph?;
        let (network, identity) = self.network(model?, &graph, None)?;
        Ok((graph, network, identity))
    }

    /// The same where edges are attacked, and attributes stay as they are; `directed` says whether edges keep their
    /// directions.
    pub fn read_edges(&self, directed: bool) -> Result<(Graph, Network, Identity)> {
        let mut input = self.clone();
        (input.files.options.directed, input.files.options.real) = (directed, true);
        input.read()
    }

    /// The same where attributes may be any numbers.
    pub fn read_real(&self) -> Result<(Graph, Network, Identity)> {
        let mut input = self.clone();
        input.files.options.real = true;
        input.read()
    }

    /// The same of a graph or of a part of one, whose attributes may be any numbers or not.
    pub fn read_or_part(&self, real: bool) -> Result<(Graph, Network, Identity, Option<PartFile>)> {
        let options = GraphArguments { real, ..self.files.options.clone() };
        let (read, model) = self.both(|| options.read_or_part(&self.graph));
        let (graph, part) = read?;
        let (network, identity) = self.network(model?, &graph, part.as_ref())?;
        Ok((graph, network, identity, part))
    }

    /// Reads the model while a graph is read; what is wrong with the graph is told first.
    fn both<G>(&self, graph: impl FnOnce() -> Result<G>) -> (Result<G>, Result<ModelFile>) {
        std::thread::scope(|scope| {
            let model = scope.spawn(|| read_model(&self.model, &self.files.reading.options()));
            let graph = graph();
            (graph, model.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn network(&self, model: ModelFile, graph: &Graph, part: Option<&PartFile>) -> Result<(Network, Identity)> {
        tell(&self.model, &model.notes);
        let paths = Paths { graph: &self.graph, model: &self.model };
        let found = network(model, &self.files.passing.message_passing, graph, part, paths)?;
        if let Some(words) = unpredictable_labels(graph, &found.0) {
            note!("note: {}: {words}", self.graph.display());
        }
        Ok(found)
    }
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
    /// Flips per node: a number, or a share of the attributes such as 1% or 0.01 (rounded down, but at least 1 if it is
    /// more than 0%)
    #[arg(
        short = 'q',
        long = "local",
        alias = "q",
        value_name = "N|P%",
        default_value = "1%",
        help_heading = "Budget",
        allow_hyphen_values = true
    )]
    pub local: LocalBudget,
    /// A file with one local budget per node (text, one per line, or .npy); replaces -q
    #[arg(long, value_name = "FILE", conflicts_with = "local", help_heading = "Budget", hide_short_help = true)]
    pub local_file: Option<PathBuf>,
    /// Which flips are possible
    #[arg(long, value_enum, default_value = "both", help_heading = "Budget", hide_short_help = true)]
    pub flips: Flips,
    /// Nodes that the attacker cannot change: ids and ranges (3,17,20-25), a file with ids or a mask, or FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget", hide_short_help = true)]
    pub freeze_nodes: Option<String>,
    /// Attributes that the attacker cannot change: the same
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget", hide_short_help = true)]
    pub freeze_attributes: Option<String>,
}

impl LocalArguments {
    /// The budget with a given `Q`, and its record without.
    pub fn budget(&self, graph: &Graph, global: usize) -> Result<(Budget, BudgetRecord)> {
        self.budget_of(graph, None, global)
    }

    /// The same of a graph or of a part of one. Files and lists are about all nodes of the whole graph, and so is the
    /// record.
    pub fn budget_of(&self, graph: &Graph, part: Option<&PartFile>, global: usize) -> Result<(Budget, BudgetRecord)> {
        let nodes = part.map_or(graph.node_count(), |part| part.of);
        let attributes = graph.budget_columns();
        let budget = match &self.local_file {
            None => Budget::uniform_of(nodes, attributes, global, self.local.flips(graph.entry_count())),
            Some(path) => Budget::per_node_of(nodes, attributes, global, &read_integers(path)?).map_err(|error| {
                miette!(
                    help = format!("write one whole number, 0 or more, for each of the {nodes} nodes, in their order"),
                    "--local-file {}: {error}",
                    path.display()
                )
            })?,
        };
        let direction = match self.flips {
            Flips::Both => Direction::Both,
            Flips::Add => Direction::Add,
            Flips::Remove => Direction::Remove,
        };
        if graph.categories().is_some() && direction != Direction::Both {
            return Err(miette!(
                help = "leave --flips out",
                "--flips: the attributes of the graph are categories (`attr_groups`), and a change takes one and gives another"
            ));
        }
        let mut budget = budget.with_direction(direction);
        if let Some(list) = &self.freeze_nodes {
            let ids = identifiers("--freeze-nodes", list, nodes, "nodes")?;
            budget = budget.freeze_nodes(&ids).map_err(|error| frozen("--freeze-nodes", &error, nodes))?;
        }
        if let Some(list) = &self.freeze_attributes {
            let attributes = identifiers("--freeze-attributes", list, graph.own_attribute_count(), "attributes")?;
            let count = graph.own_attribute_count();
            budget = budget
                .freeze_attributes(graph, &attributes)
                .map_err(|error| frozen("--freeze-attributes", &error, count))?;
        }
        let record = BudgetRecord::new(&budget);
        Ok((part.map_or_else(|| budget.clone(), |part| budget.restricted(&part.nodes)), record))
    }
}
