//! Options that all commands share: files, message passing, budget, lists of nodes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gcnproof::internals::record::description::{BudgetRecord, Identity};
use gcnproof::{Budget, Direction, Graph, LocalBudget, Network, Operator};
use gcnproof_files::{GraphOptions, read_array, read_graph, read_integers, read_matrix, read_model};
use miette::{IntoDiagnostic, Result, WrapErr, miette};

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
        let file = read_graph(path, &self.options())?;
        for note in &file.notes {
            eprintln!("note: {}: {note}", path.display());
        }
        Ok(Graph::from_file(file))
    }
}

/// A graph and a model on it.
#[derive(Args, Clone, Debug)]
pub struct Input {
    /// The graph (.npz with adj_*, attr_* and labels)
    pub graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    pub model: PathBuf,
    #[command(flatten)]
    pub options: GraphArguments,
    #[command(flatten)]
    pub passing: PassingArguments,
}

/// How messages are passed.
#[derive(Args, Clone, Debug)]
pub struct PassingArguments {
    /// One rule for all layers, or one per layer separated by commas: gcn, mean, mean+self, sum, sum+self, identity, or
    /// the path of a matrix (.npz as written by scipy.sparse.save_npz, or .npy)
    #[arg(long, value_name = "RULE", default_value = "gcn", value_delimiter = ',', help_heading = "Model")]
    pub message_passing: Vec<String>,
}

impl PassingArguments {
    /// The rules, with matrices read.
    pub fn rules(&self) -> Result<Vec<Operator>> {
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
        self.message_passing.iter().map(rule).collect()
    }
}

impl Input {
    /// Reads both files.
    pub fn read(&self) -> Result<(Graph, Network, Identity)> {
        let graph = self.options.read(&self.graph)?;
        let model = read_model(&self.model)?;
        for note in &model.notes {
            eprintln!("note: {}: {note}", self.model.display());
        }
        let rules = self.passing.rules()?;
        let identity =
            Identity { graph: graph.digest().to_string(), model: model.digest.clone(), message_passing: names(&rules) };
        let network = Network::from_file(model, &rules, &graph)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} does not fit {}", self.model.display(), self.graph.display()))?;
        Ok((graph, network, identity))
    }
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
    /// Flips per node: a number, or a percentage of the attributes (rounded down, at least 1)
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
    /// Nodes whose attributes cannot be touched: ids and ranges (3,17,20-25), or a file
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget")]
    pub freeze_nodes: Option<String>,
    /// Attributes that cannot be touched: ids and ranges, or a file
    #[arg(long, value_name = "IDS|FILE", help_heading = "Budget")]
    pub freeze_attributes: Option<String>,
}

impl LocalArguments {
    /// The budget with a given `Q`, and its record without.
    pub fn budget(&self, graph: &Graph, global: usize) -> Result<(Budget, BudgetRecord)> {
        let budget = match &self.local_file {
            None => Budget::uniform(graph, global, self.local.flips(graph.attribute_count())),
            Some(path) => Budget::per_node(graph, global, &read_integers(path)?)
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
                .freeze_nodes(&identifiers(list, graph.node_count())?)
                .into_diagnostic()
                .wrap_err("--freeze-nodes")?;
        }
        if let Some(list) = &self.freeze_attributes {
            let attributes = identifiers(list, graph.attribute_count())?;
            budget = budget.freeze_attributes(graph, &attributes).into_diagnostic().wrap_err("--freeze-attributes")?;
        }
        let record = BudgetRecord::new(&budget);
        Ok((budget, record))
    }
}

/// A list of ids: `3,17,20-25`, or the path of a file with one per line. There are `count` of them; a range ends with the first
/// that does not exist, so that a slip of the keyboard does not fill the memory before it is refused.
pub fn identifiers(list: &str, count: usize) -> Result<Vec<i64>> {
    let parsed: Option<Vec<Vec<i64>>> = list
        .split(',')
        .map(|part| match part.trim().split_once('-') {
            Some((first, last)) => {
                let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                (first <= last)
                    .then(|| (first..=last.min(first.max(i64::try_from(count).unwrap_or(i64::MAX)))).collect())
            }
            None => Some(vec![part.trim().parse().ok()?]),
        })
        .collect();
    match parsed {
        Some(parts) => Ok(parts.concat()),
        None if Path::new(list).exists() => Ok(read_integers(Path::new(list))?),
        None if list.rsplit_once(':').is_some_and(|(file, _)| Path::new(file).exists()) => named_array(list),
        None => Err(miette!(
            help = "write ids and ranges like 3,17,20-25 (ids start at 0), the path of a file with one id per line, \
                    or an array of an .npz file as FILE.npz:NAME",
            "'{list}' is neither a list of ids nor a file"
        )),
    }
}

/// `FILE.npz:NAME`: one array of several, such as the training nodes beside the logits.
fn named_array(list: &str) -> Result<Vec<i64>> {
    let (file, entry) = list.rsplit_once(':').unwrap_or((list, ""));
    let array = read_array(Path::new(file), entry)?;
    array
        .values
        .iter()
        .map(
            |&x| {
                if x.fract() == 0.0 && x.abs() < 1e15 { Ok(x as i64) } else { Err(miette!("{list}: {x} is not an id")) }
            },
        )
        .collect()
}

/// The nodes that a command is about: all, or a list, in rising order.
pub fn nodes(list: Option<&str>, graph: &Graph) -> Result<Vec<usize>> {
    let Some(list) = list else { return Ok((0..graph.node_count()).collect()) };
    let mut nodes = Vec::new();
    for id in identifiers(list, graph.node_count())? {
        match usize::try_from(id) {
            Ok(node) if node < graph.node_count() => nodes.push(node),
            _ => {
                let last = graph.node_count() - 1;
                return Err(miette!(help = "ids run from 0", "there is no node {id}: the last one is {last}"));
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}
