//! `gcnproof check`: checks a file of proofs against a graph and a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gcnproof::Graph;
use gcnproof_check::work::Limits;
use gcnproof_check::{
    Options, RULES, Rejection, Summary, Verdict, check, expand_file, open_proofs as open, read_rules, visible,
};
use gcnproof_files::{ModelFile, read_matrix};
use miette::{IntoDiagnostic, Result, miette};
use serde_json::{Value, json};

use super::input::{GraphArguments, ModelArguments};
use super::question::QuestionArguments;
use super::run::{Format, progress_bar, stopped};

/// Check proofs: replay every one in exact arithmetic, with code that shares no arithmetic with the certifier, and say
/// whether they answer your question.
#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 -q 1% --proofs proofs.jsonl.zst
  gcnproof check cora.npz gcn.safetensors proofs.jsonl.zst -Q 12 -q 1%
  gcnproof check cora.npz gcn.safetensors proofs.jsonl.zst -Q 12 --nodes 0-99 --deployed float32
  gcnproof check cora.npz gcn.safetensors edges.jsonl.zst --edges remove -E 5 -e 3
  gcnproof check cora.npz gcn.safetensors proofs/Q-20.jsonl -Q 20 -q 1% --bound 74
  gcnproof check graph.npz model.npz proofs.jsonl -Q 3 --message-passing mean,laplacian.npz

{RULES}"))]
pub struct Check {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    model: PathBuf,
    /// The proofs (.jsonl or .jsonl.zst; check/FORMAT.md, check/FORMAT-EDGES.md, check/FORMAT-RANGES.md,
    /// check/FORMAT-COLLECTIVE.md)
    proofs: PathBuf,
    #[command(flatten)]
    options: GraphArguments,
    /// The message passing, one rule or one per layer, the rules of a layer's terms with ' & ' between; a rule is a
    /// name as for certify, or a matrix file
    #[arg(long, value_name = "RULES", help_heading = "Model")]
    message_passing: Option<String>,
    /// A matrix that a rule of the model or of the proofs names by its digest; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    matrix: Vec<PathBuf>,
    #[command(flatten)]
    reading: ModelArguments,
    #[command(flatten)]
    question: QuestionArguments,
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

impl Check {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().into_diagnostic()?;
        }
        let reading = GraphArguments { directed: self.question.0.is_directed(), real: true, ..self.options.clone() };
        let (graph, part) = reading.read_or_part(&self.graph)?;
        let graph = graph.file();
        let model = self.reading.read(&self.model)?;
        let wrong = |problem: String| miette!(help = "gcnproof check --help says how to ask", "{problem}");
        let limits = Limits::factor(self.work_limit);
        let mut options = Options { exact_only: self.exact, limits, stop: Some(stopped), ..Options::default() };
        options.question = self.question.0.question(&graph, part.as_ref()).map_err(wrong)?;
        options.part = part;
        for path in &self.matrix {
            options.matrices.push(Arc::new(read_matrix(path)?));
        }
        if let Some(rules) = &self.message_passing {
            options.message_passing = read_rules(rules, &mut options.matrices).map_err(wrong)?;
        }
        if let Some(to) = &self.expand {
            let found = expand_file(&graph, &model, &options, &self.proofs, to).map_err(|problem| {
                miette!(help = "--expand needs readable proofs and the name of a file that does not exist", "{problem}")
            })?;
            note!("written out: {found}: {}", to.display());
        }
        let reader = open(&self.proofs, options.question.as_ref()).map_err(|problem| no_proofs(&problem))?;
        let bar = progress_bar(graph.targets(), 0);
        let start = std::time::Instant::now();
        let summary = check(&graph, &model, &options, reader, |nodes| bar.set_position(nodes));
        bar.finish_and_clear();
        if !self.question.0.has_local() && summary.unmet.iter().any(|unmet| unmet.contains("asked about q = ")) {
            note!("note: -q was left out, and is 1 % of the attributes then: give the -q of the run");
        }
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

/// Checks the proofs of a network that is in memory, the matrices of its operators among the options; the answer is
/// that of `--format json`.
///
/// # Errors
/// If the file of proofs cannot be read.
pub fn summary(graph: &Graph, model: &ModelFile, options: &Options, proofs: &Path) -> Result<Value> {
    let bar = progress_bar(graph.target_count(), 0);
    let reader = open(proofs, options.question.as_ref()).map_err(|problem| no_proofs(&problem))?;
    let summary = check(&graph.file(), model, options, reader, |nodes| bar.set_position(nodes));
    Ok(machine(&summary))
}

fn no_proofs(problem: &str) -> miette::Report {
    // What is wrong with the right file is said with its remedy.
    if !problem.contains("is expected here") && !problem.contains("cannot be read") {
        return miette!("{problem}");
    }
    miette!(
        help = "give GRAPH MODEL PROOFS, where PROOFS is the file that `gcnproof certify --proofs` wrote",
        "{problem}"
    )
}

const VERDICTS: [(Verdict, &str); 3] =
    [(Verdict::Robust, "robust"), (Verdict::NonRobust, "non_robust"), (Verdict::Tie, "tie")];

fn machine(summary: &Summary) -> Value {
    let name = |verdict: Verdict| VERDICTS.iter().find(|one| one.0 == verdict).map(|one| one.1);
    let nodes = |verdicts: &[Option<Verdict>]| {
        let nodes = verdicts.iter().enumerate();
        nodes.filter_map(|(node, verdict)| Some(json!([node, name((*verdict)?)]))).collect::<Vec<_>>()
    };
    json!({
        "statement": summary.header,
        "accepted": VERDICTS.map(|(verdict, name)| (name, summary.count(verdict)))
            .into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "nodes": summary.verdicts.len(),
        "asked": summary.question.is_some(),
        "proved": summary.answered(),
        "success": summary.success(),
        "exit_code": summary.exit_code(),
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
        "steps": { "all": summary.steps.all, "line": summary.steps.line, "wasted": summary.steps.wasted, "bounds": summary.steps.bounds },
        "rejections": summary.rejections.iter().map(shown).collect::<Vec<_>>(),
        "verdicts": nodes(&summary.verdicts),
        "answers": summary.question.as_ref().map(|_| nodes(&summary.answers)),
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
