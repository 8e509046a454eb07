//! The command `gcnproof-check GRAPH MODEL PROOFS`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use gcnproof_check::work::Limits;
use gcnproof_check::{
    Options, RULES, SideBySide, Summary, Value, Words, check, expand_file, open_proofs, read_rules, verify, visible,
};
use gcnproof_files::{GraphOptions, ModelOptions, read_graph_or_part, read_matrix, read_model_with};

const HELP: &str = "\
Checks proofs of the robustness of a graph convolutional network.

Usage: gcnproof-check [OPTIONS] GRAPH MODEL PROOFS

  GRAPH    npz file           MODEL    safetensors or npz file
  PROOFS   JSON lines, plain or zstd (see FORMAT.md, FORMAT-EDGES.md, FORMAT-COLLECTIVE.md)

  --message-passing RULES   one rule, or one per layer with commas between: gcn, gcn-self, mean, mean+self, sum,
                            sum+self, identity, poly(RULE;c0,c1,...), or a matrix file; those of the terms of a layer
                            with ' & ' between
  --layers NAMES            the layers by the beginnings of their tensors' names, first layer first
  --matrix FILE             a matrix that a rule of the model or of the proofs names by its digest; may be repeated
  --binarize, --symmetrize, --unweight   read the graph as the certifier did
  --work-limit N            N times the work and memory that a check may cost by default; 0 for no limit [1]
  --exact                   the core alone judges, in exact integers (slow)
  --expand FILE             also write the proofs to a new file, every short leaf written out as hints
  --verified                what is accepted is also judged by the checker that is proved correct, results side by side
                            (gcnproof-verified, which `make verified` builds; or the program that GCNPROOF_VERIFIED names)
  --sample N                with --verified: N of the accepted proofs only

The question:
";

/// The exit code after the reader of standard output has gone away: what a shell reports of `ls | head -1`.
const CLOSED: u8 = 141;

fn main() -> ExitCode {
    let (text, code) = match run() {
        Ok(Outcome::Checked { before, summary, verified: None }) => (format!("{before}{summary}"), summary.exit_code()),
        Ok(Outcome::Checked { before, summary, verified: Some(verified) }) => {
            let code = match summary.exit_code() {
                // Two checkers that differ are worse than a question that is open or was not asked.
                0 | 3 | 4 if !verified.success() => 1,
                code => code,
            };
            (format!("{before}{summary}{verified}"), code)
        }
        Ok(Outcome::Help) => (format!("{HELP}{}\n{RULES}\n", Words::help()), 0),
        Err(problem) => return ExitCode::from(fail(&problem)),
    };
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::from(code),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(CLOSED),
        Err(error) => ExitCode::from(fail(&format!("standard output cannot be written: {error}"))),
    }
}

/// Says what went wrong, if anybody listens.
fn fail(problem: &str) -> u8 {
    let _ = writeln!(io::stderr(), "gcnproof-check: {}", visible(problem));
    2
}

/// What the command ends with.
enum Outcome {
    Help,
    Checked { before: String, summary: Box<Summary>, verified: Option<SideBySide> },
}

fn run() -> Result<Outcome, String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let (mut graph_options, mut options) = (GraphOptions { real: true, ..GraphOptions::default() }, Options::default());
    let mut arguments = std::env::args_os().skip(1);
    let mut expanded: Option<PathBuf> = None;
    let (mut verified, mut sample) = (false, None);
    let (mut reading, mut words, mut rules) = (ModelOptions::default(), Words::default(), None);
    while let Some(argument) = arguments.next() {
        let Some(given) = argument.to_str().filter(|name| name.starts_with("-") && name.len() > 1) else {
            files.push(argument.into());
            continue;
        };
        let (name, inline) = match given.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
            _ => (given, None),
        };
        let without = |what: &mut bool| match &inline {
            Some(_) => Err(format!("{name} takes no value (try --help)")),
            None => {
                *what = true;
                Ok(())
            }
        };
        let mut value = || {
            let value = inline.clone().or_else(|| arguments.next().and_then(|value| value.into_string().ok()));
            value.ok_or_else(|| format!("{name} needs a value (try --help)"))
        };
        match name {
            "--help" | "-h" => return Ok(Outcome::Help),
            "--binarize" => without(&mut graph_options.binarize)?,
            "--symmetrize" => without(&mut graph_options.symmetrize)?,
            "--unweight" => without(&mut graph_options.unweight)?,
            "--exact" => without(&mut options.exact_only)?,
            "--verified" => without(&mut verified)?,
            "--sample" => {
                let text = value()?;
                let count: usize = text.parse().map_err(|_| format!("--sample needs a number, not '{text}'"))?;
                sample = Some(count);
            }
            "--work-limit" => {
                let text = value()?;
                let factor = text.parse().map_err(|_| format!("--work-limit needs a number, not '{text}'"))?;
                options.limits = Limits::factor(factor);
            }
            "--expand" => expanded = Some(PathBuf::from(value()?)),
            "--message-passing" => rules = Some(value()?),
            "--layers" => reading.layers = value()?.split(',').map(str::to_owned).collect(),
            "--matrix" => {
                let matrix = read_matrix(value()?.as_ref()).map_err(|error| error.to_string())?;
                options.matrices.push(Arc::new(matrix));
            }
            _ => {
                let word = Words::find(name).ok_or_else(|| format!("unknown option {name} (try --help)"))?;
                let text = match word.value {
                    Value::None => {
                        without(&mut false)?;
                        String::new()
                    }
                    Value::Needed(_) => value()?,
                    Value::Optional(_, usual) => inline.clone().unwrap_or_else(|| usual.to_string()),
                };
                words.say(word, text)?;
            }
        }
    }
    let [graph, model, proofs] = files.as_slice() else {
        return Err("GRAPH, MODEL and PROOFS are needed (try --help)".into());
    };
    if sample.is_some() && !verified {
        return Err("--sample goes with --verified (try --help)".into());
    }
    graph_options.directed = words.is_directed();
    let (graph, part) = read_graph_or_part(graph, &graph_options).map_err(|error| error.to_string())?;
    options.question = words.question(&graph, part.as_ref())?;
    options.part = part;
    if let Some(rules) = rules {
        options.message_passing = read_rules(&rules, &mut options.matrices)?;
    }
    let model = read_model_with(model, &reading).map_err(|error| error.to_string())?;
    let mut before = String::new();
    if let Some(to) = &expanded {
        let found = expand_file(&graph, &model, &options, proofs, to)?;
        before = format!("written out     {found}: {}\n", to.display());
    }
    let reader = open_proofs(proofs, options.question.as_ref())?;
    let summary = Box::new(check(&graph, &model, &options, reader, |_| {}));
    let verified = (verified && summary.checked)
        .then(|| verify(&graph, &model, &options, proofs, &summary, sample))
        .transpose()?;
    Ok(Outcome::Checked { before, summary, verified })
}
