//! `gcnproof check`: checks a file of proofs against a graph and a model.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gcnproof::{Graph, Operator};
use gcnproof_check::format::{Convention, Direction};
use gcnproof_check::work::Limits;
use gcnproof_check::{
    Expectations, Nodes, Options, Rejection, Summary, Verdict, check, expand_file, matrix_digest, visible,
};
use gcnproof_files::{ModelFile, read_matrix};
use miette::{IntoDiagnostic, Result, miette};
use serde_json::{Value, json};

use super::input::{GraphArguments, ModelArguments, by_layer};
use super::run::{Format, progress_bar, stopped};

/// Check proofs: replay every one in exact arithmetic, with code that shares no arithmetic with the certifier.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 --complete --proofs proofs.jsonl.zst
  gcnproof check cora.npz gcn.safetensors proofs.jsonl.zst
  gcnproof check cora.npz gcn.safetensors proofs.jsonl.zst --expect-Q 12 --expect-q 14 --expect-nodes all
  gcnproof check graph.npz model.npz proofs.jsonl --message-passing mean,laplacian.npz --format json

A file states its own budget: --expect-Q and the like insist on what it must state and prove. What it states is compared
right after its first line, and nothing is checked if it is not as expected. A larger budget than asked for is fine: it
proves more of robust nodes.

Exit codes: 0 everything in the file is accepted, at least one node is proved and everything is as expected; 1 not so;
2 wrong usage, or a file that cannot be read; 3 nothing is wrong, but something is too expensive to be judged within
--work-limit.")]
pub struct Check {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    model: PathBuf,
    /// The proofs (.jsonl or .jsonl.zst; check/FORMAT.md, check/FORMAT-EDGES.md, check/FORMAT-COLLECTIVE.md)
    proofs: PathBuf,
    #[command(flatten)]
    options: GraphArguments,
    /// Insist on this message passing, one rule or one per layer, the rules of a layer's terms with ' & ' between:
    /// needed only where a matrix file takes part
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Model")]
    message_passing: Vec<String>,
    /// A matrix that a rule of the model or of the proofs names by its digest; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    matrix: Vec<PathBuf>,
    #[command(flatten)]
    reading: ModelArguments,
    #[command(flatten)]
    expect: Expected,
    /// N times the work and memory that a check may cost by default, 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 1)]
    work_limit: u64,
    /// The core alone judges, in exact integers: slow
    #[arg(long)]
    exact: bool,
    /// Also write the proofs to a new file, every short leaf written out as hints (check/FORMAT.md)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    expand: Option<PathBuf>,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// What the file must state and prove.
#[derive(Args, Debug)]
#[command(next_help_heading = "Expectations")]
struct Expected {
    /// The file must state at least N flips in all, and local budgets that leave room for them
    #[arg(long = "expect-Q", value_name = "N")]
    global: Option<u64>,
    /// The file must state at least N flips in every node, and a Q that leaves room for them
    #[arg(long = "expect-q", value_name = "N")]
    local: Option<u64>,
    /// Flips in this direction must be permitted: both, add or remove [with --expect-Q or --expect-q: both]
    #[arg(long = "expect-direction", value_name = "WHICH")]
    direction: Option<Direction>,
    /// The proofs must be against removed edges: at least N in all, and local budgets that leave room for them
    #[arg(long = "expect-E", value_name = "N")]
    removals: Option<u64>,
    /// The proofs must be against removed edges: at least N at every node, and an E that leaves room for them
    #[arg(long = "expect-e", value_name = "N")]
    removals_at_node: Option<u64>,
    /// The proofs must be against removed edges, and nodes may lose their last edge
    #[arg(long)]
    expect_last_edges: bool,
    /// Frozen attributes or edges are fine; without this none may be where a budget or direction is expected
    #[arg(long)]
    allow_frozen: bool,
    /// The class that a node keeps must be this one: predicted or labels
    #[arg(long = "expect-classes", value_name = "WHICH")]
    classes: Option<Convention>,
    /// The proofs must be about every execution in float32, or about the network in exact arithmetic
    #[arg(long = "expect-deployed", value_name = "WHICH", value_parser = ["float32", "exact"])]
    deployed: Option<String>,
    /// Each of these nodes must have an accepted proof: all, or ids and ranges such as 0-99,204; with --expect-bound, its
    /// prediction must count
    #[arg(long = "expect-nodes", value_name = "NODES")]
    nodes: Option<Nodes>,
    /// The proof must be about one attack for the whole graph, and show that it breaks at most B predictions
    #[arg(long = "expect-bound", value_name = "B")]
    bound: Option<u64>,
    /// The proof must be about one attack, in the attributes of N nodes or more [where a budget is expected: of all]
    #[arg(long = "expect-attacked-nodes", value_name = "N")]
    attacked_nodes: Option<u64>,
}

impl Check {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().into_diagnostic()?;
        }
        // Proofs of a part are about the part, as its digest says, and name nodes by its rows.
        let (graph, part) = self.options.read_or_part(&self.graph)?;
        let model = self.reading.read(&self.model)?;
        let expect = Expectations {
            message_passing: Vec::new(),
            global: self.expect.global,
            local: self.expect.local,
            direction: self.expect.direction,
            removals: self.expect.removals,
            removals_at_node: self.expect.removals_at_node,
            last_edges: self.expect.expect_last_edges,
            allow_frozen: self.expect.allow_frozen,
            classes: self.expect.classes,
            deployed: self.expect.deployed.map(|which| which == "float32"),
            nodes: match (self.expect.nodes, &part) {
                // It answers for no others.
                (Some(Nodes::All), Some(part)) => Some(Nodes::Ranges(part.own.iter().map(|&row| (row, row)).collect())),
                (nodes, _) => nodes,
            },
            bound: self.expect.bound,
            attacked_nodes: self.expect.attacked_nodes,
        };
        let nodes = graph.node_count();
        if let Some(id) = expect.nodes.as_ref().and_then(|expected| expected.beyond(nodes)) {
            return Err(miette!(
                help = "ids run from 0",
                "--expect-nodes: there is no node {id}, the graph has {nodes}"
            ));
        }
        let limits = Limits::factor(self.work_limit);
        let mut options = Options { exact_only: self.exact, expect, limits, stop: Some(stopped), ..Options::default() };
        for path in &self.matrix {
            options.matrices.push(Arc::new(read_matrix(path)?));
        }
        let layer = |rules: String| {
            let terms = rules.split(" & ").map(|rule| named(rule, &mut options)).collect::<Result<Vec<_>>>();
            Ok(terms?.join(" & "))
        };
        let rules = by_layer(&self.message_passing).into_iter().map(layer).collect::<Result<Vec<_>>>()?;
        options.expect.message_passing = rules;
        if let Some(to) = &self.expand {
            let found = expand_file(&graph.file(), &model, &options, &self.proofs, to).map_err(|problem| {
                miette!(help = "--expand needs readable proofs and the name of a file that does not exist", "{problem}")
            })?;
            note!("written out: {found}: {}", to.display());
        }
        let reader = open(&self.proofs)?;
        let bar = progress_bar(graph.node_count(), 0);
        let start = std::time::Instant::now();
        let summary = check(&graph.file(), &model, &options, reader, |nodes| bar.set_position(nodes));
        bar.finish_and_clear();
        match self.format {
            Format::Json => say!("{}", ascii(&machine(&summary)))?,
            Format::Table => {
                put!("{summary}")?;
                say!("{:.2} s", start.elapsed().as_secs_f64())?;
            }
        }
        Ok(summary.exit_code())
    }
}

/// Checks the proofs of a network that is in memory, the matrices of its operators among the options; the answer is that of `--format json`.
///
/// # Errors
/// If the file of proofs cannot be read.
pub fn summary(graph: &Graph, model: &ModelFile, options: &Options, proofs: &Path) -> Result<Value> {
    let bar = progress_bar(graph.node_count(), 0);
    let summary = check(&graph.file(), model, options, open(proofs)?, |nodes| bar.set_position(nodes));
    Ok(machine(&summary))
}

fn open(proofs: &Path) -> Result<File> {
    File::open(proofs).map_err(|error| {
        miette!(
            help = "check that the path is right and that you may read it",
            "{}: cannot be read: {error}",
            proofs.display()
        )
    })
}

/// A rule as a header names it; a matrix file is read and named by its digest.
fn named(rule: &str, options: &mut Options) -> Result<String> {
    match rule.parse::<Operator>() {
        Ok(rule) => Ok(rule.name().to_string()),
        Err(unknown) if !Path::new(rule).exists() => Err(miette!(
            help = "give one of the rules, or the path of a matrix file",
            "{unknown}, and no such file exists"
        )),
        Err(_) => {
            let matrix = read_matrix(rule.as_ref())?;
            let name = format!("matrix:{}", matrix_digest(&matrix));
            options.matrices.push(Arc::new(matrix));
            Ok(name)
        }
    }
}

const VERDICTS: [(Verdict, &str); 3] =
    [(Verdict::Robust, "robust"), (Verdict::NonRobust, "non_robust"), (Verdict::Tie, "tie")];

fn machine(summary: &Summary) -> Value {
    let name = |verdict: Verdict| VERDICTS.iter().find(|one| one.0 == verdict).map(|one| one.1);
    let nodes = summary.verdicts.iter().enumerate();
    json!({
        "statement": summary.header,
        "accepted": VERDICTS.map(|(verdict, name)| (name, summary.count(verdict)))
            .into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "nodes": summary.verdicts.len(),
        "success": summary.success(),
        "checked": summary.checked,
        "unmet": summary.unmet,
        "collective": summary.collective,
        "without_proof": summary.verdicts.len() - summary.proved(),
        "without_proof_with_reason": summary.unproved,
        "without_proof_rejected": summary.refused,
        "without_proof_not_mentioned": summary.unmentioned(),
        "reasons_without_proof": summary.unproved_reasons,
        "rejected": summary.rejected,
        "too_expensive": summary.too_expensive.iter().map(shown).collect::<Vec<_>>(),
        "interrupted": summary.interrupted,
        "steps": { "all": summary.steps.all, "line": summary.steps.line, "wasted": summary.steps.wasted },
        "rejections": summary.rejections.iter().map(shown).collect::<Vec<_>>(),
        "verdicts": nodes.filter_map(|(node, verdict)| Some(json!([node, name((*verdict)?)])))
            .collect::<Vec<_>>(),
    })
}

fn shown(one: &Rejection) -> Value {
    json!({
        "line": one.line, "node": one.node, "class": one.fault.class, "tree_node": one.fault.step,
        "reason": visible(&one.fault.reason.to_string()),
    })
}

/// JSON in which everything that is not ASCII is escaped: a terminal may be reading.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        if letter.is_ascii() && letter != '\u{7f}' {
            text.push(letter);
            continue;
        }
        // Outside texts there is only ASCII, and inside an escape means the same.
        for half in letter.encode_utf16(&mut [0; 2]) {
            text.push_str(&format!("\\u{half:04x}"));
        }
    }
    text
}
