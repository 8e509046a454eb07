//! The command `gcnproof-check GRAPH MODEL PROOFS`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use gcnproof_check::work::Limits;
use gcnproof_check::{Expectations, Options, SideBySide, Summary, check, expand_file, matrix_digest, verify, visible};
use gcnproof_files::{GraphOptions, ModelOptions, read_graph_or_part, read_matrix, read_model_with};

const HELP: &str = "\
Checks proofs of the robustness of a graph convolutional network.

Usage: gcnproof-check [OPTIONS] GRAPH MODEL PROOFS

  GRAPH    npz file           MODEL    safetensors or npz file
  PROOFS   JSON lines, plain or zstd (see FORMAT.md, FORMAT-EDGES.md, FORMAT-COLLECTIVE.md)

  --message-passing RULES   insist on these rules, one or one per layer with commas between: gcn, gcn-self, mean,
                            mean+self, sum, sum+self, identity, poly(RULE;c0,c1,...), or a matrix file; those of the
                            terms of a layer with ' & ' between; needed only for matrix files
  --layers NAMES            the layers by the beginnings of their tensors' names, first layer first
  --matrix FILE             a matrix that a rule of the model or of the proofs names by its digest; may be repeated
  --binarize, --symmetrize, --unweight   read the graph as the certifier did
  --work-limit N            N times the work and memory that a check may cost by default; 0 for no limit [1]
  --exact                   the core alone judges, in exact integers (slow)
  --expand FILE             also write the proofs to a new file, every short leaf written out as hints
  --verified                what is accepted is also judged by the checker that is proved correct, results side by side
                            (gcnproof-verified, which `make verified` builds; or the program that GCNPROOF_VERIFIED names)
  --sample N                with --verified: N of the accepted proofs only

What the file must state and prove; what it states is compared right after its first line:
  --expect-Q N              at least N flips in all, with local budgets that leave room for them
  --expect-q N              at least N flips in every node, with a Q that leaves room for them
  --expect-direction WHICH  both, add or remove: such flips are permitted [with --expect-Q or --expect-q: both]
  --expect-E N              proofs against removed edges: at least N in all, with local budgets that leave room for them
  --expect-e N              the same, at least N at every node, with an E that leaves room for them
  --expect-last-edges       the same, nodes may lose their last edge
  --allow-frozen            frozen attributes or edges are fine; without this none may be where a budget is expected
  --expect-classes WHICH    predicted or labels
  --expect-deployed WHICH   float32: every execution of the network as it runs; exact: the network in exact arithmetic
  --expect-nodes NODES      all, or ids and ranges such as 0-99,204: each has an accepted proof
  --expect-bound B          a proof about one attack for the whole graph: at most B predictions are broken; with it,
                            --expect-nodes says whose predictions must count
  --expect-attacked-nodes N the same, the attack may reach at least N nodes [where a budget is expected: all]
A larger budget than asked for is fine: it proves more of robust nodes.

Exit code: 0 if everything in the file is accepted (and verified, where that is asked for), at least one node is
proved and everything is as expected; 1 if not; 2 for wrong usage, or if a file cannot be read; 3 if nothing is wrong,
but something is too expensive to be judged within the work limit.";

/// The exit code after the reader of standard output has gone away: what a shell reports of `ls | head -1`.
const CLOSED: u8 = 141;

fn main() -> ExitCode {
    let (text, code) = match run() {
        Ok(Outcome::Checked { before, summary, verified: None }) => (format!("{before}{summary}"), summary.exit_code()),
        Ok(Outcome::Checked { before, summary, verified: Some(verified) }) => {
            let code = summary.exit_code().max(u8::from(!verified.success()));
            (format!("{before}{summary}{verified}"), code)
        }
        Ok(Outcome::Help) => (format!("{HELP}\n"), 0),
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
    let (mut graph_options, mut options) = (GraphOptions::default(), Options::default());
    let mut arguments = std::env::args_os().skip(1);
    let mut expanded: Option<PathBuf> = None;
    let (mut verified, mut sample) = (false, None);
    let mut reading = ModelOptions::default();
    while let Some(argument) = arguments.next() {
        let Some(name) = argument.to_str().filter(|name| name.starts_with("-")) else {
            files.push(argument.into());
            continue;
        };
        match name {
            "--help" | "-h" => return Ok(Outcome::Help),
            "--binarize" => graph_options.binarize = true,
            "--symmetrize" => graph_options.symmetrize = true,
            "--unweight" => graph_options.unweight = true,
            "--exact" => options.exact_only = true,
            "--verified" => verified = true,
            "--expect-last-edges" => options.expect.last_edges = true,
            "--allow-frozen" => options.expect.allow_frozen = true,
            _ => {
                let mut value = || {
                    let value = arguments.next().and_then(|value| value.into_string().ok());
                    value.ok_or_else(|| format!("{name} needs a value (try --help)"))
                };
                if name == "--work-limit" {
                    let text = value()?;
                    let factor = text.parse().map_err(|_| format!("{name} needs a number, not '{text}'"))?;
                    options.limits = Limits::factor(factor);
                } else if name == "--sample" {
                    let text = value()?;
                    let count: usize = text.parse().map_err(|_| format!("--sample needs a number, not '{text}'"))?;
                    sample = Some(count);
                } else if name == "--expand" {
                    expanded = Some(PathBuf::from(value()?));
                } else if name == "--message-passing" {
                    let text = value()?;
                    let rules = layers(&text).into_iter().map(|rules| {
                        let terms = rules.split(" & ").map(|rule| named(rule, &mut options));
                        terms.collect::<Result<Vec<_>, _>>().map(|terms| terms.join(" & "))
                    });
                    let rules = rules.collect::<Result<_, _>>()?;
                    options.expect.message_passing = rules;
                } else if name == "--layers" {
                    reading.layers = value()?.split(',').map(str::to_owned).collect();
                } else if name == "--matrix" {
                    let file = value()?;
                    let matrix = read_matrix(file.as_ref()).map_err(|error| error.to_string())?;
                    options.matrices.push(Arc::new(matrix));
                } else {
                    expect(name, value, &mut options.expect)?;
                }
            }
        }
    }
    let [graph, model, proofs] = files.as_slice() else {
        return Err("GRAPH, MODEL and PROOFS are needed (try --help)".into());
    };
    if sample.is_some() && !verified {
        return Err("--sample goes with --verified (try --help)".into());
    }
    // Proofs of a part are about the part, as its digest says.
    let (graph, _) = read_graph_or_part(graph, &graph_options).map_err(|error| error.to_string())?;
    let nodes = graph.attributes.rows;
    if let Some(id) = options.expect.nodes.as_ref().and_then(|expected| expected.beyond(nodes)) {
        return Err(format!("--expect-nodes: there is no node {id}, the graph has {nodes}"));
    }
    let model = read_model_with(model, &reading).map_err(|error| error.to_string())?;
    let mut before = String::new();
    if let Some(to) = &expanded {
        let found = expand_file(&graph, &model, &options, proofs, to)?;
        before = format!("written out     {found}: {}\n", to.display());
    }
    let reader = std::fs::File::open(proofs).map_err(|error| format!("{}: {error}", proofs.display()))?;
    let summary = Box::new(check(&graph, &model, &options, reader, |_| {}));
    let verified = (verified && summary.checked)
        .then(|| verify(&graph, &model, &options, proofs, &summary, sample))
        .transpose()?;
    Ok(Outcome::Checked { before, summary, verified })
}

/// An option that says what must be stated or proved.
fn expect(name: &str, value: impl FnOnce() -> Result<String, String>, expect: &mut Expectations) -> Result<(), String> {
    let count = |value: String| value.parse::<u64>().map_err(|_| format!("{name} needs a number, not '{value}'"));
    let wrong = |problem: String| format!("{name}: {problem}");
    match name {
        "--expect-Q" => expect.global = Some(count(value()?)?),
        "--expect-q" => expect.local = Some(count(value()?)?),
        "--expect-bound" => expect.bound = Some(count(value()?)?),
        "--expect-attacked-nodes" => expect.attacked_nodes = Some(count(value()?)?),
        "--expect-E" => expect.removals = Some(count(value()?)?),
        "--expect-e" => expect.removals_at_node = Some(count(value()?)?),
        "--expect-direction" => expect.direction = Some(value()?.parse().map_err(wrong)?),
        "--expect-deployed" => {
            expect.deployed = Some(match value()?.as_str() {
                "float32" => true,
                "exact" => false,
                _ => return Err(format!("{name}: expected float32 or exact")),
            });
        }
        "--expect-classes" => expect.classes = Some(value()?.parse().map_err(wrong)?),
        "--expect-nodes" => expect.nodes = Some(value()?.parse().map_err(wrong)?),
        _ => return Err(format!("unknown option {name} (try --help)")),
    }
    Ok(())
}

/// The rules of the layers: commas within parentheses belong to a rule.
fn layers(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let between = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(between).collect()
}

/// A rule as a header names it; a matrix file is read and named by its digest.
fn named(rule: &str, options: &mut Options) -> Result<String, String> {
    let words = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];
    if words.contains(&rule) || rule.starts_with("poly(") {
        return Ok(rule.into());
    }
    let matrix = read_matrix(rule.as_ref()).map_err(|error| error.to_string())?;
    let name = format!("matrix:{}", matrix_digest(&matrix));
    options.matrices.push(Arc::new(matrix));
    Ok(name)
}
