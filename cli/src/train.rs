//! `gcnproof train`: a network that can be proved robust.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use gcnproof::{Graph, Operator};
use gcnproof_run::scope::only_flips;
use gcnproof_run::training::{Trained, Training, TrainingFiles};
use gcnproof_train::kind::LayerKind;
use gcnproof_train::losses::Loss;
use gcnproof_train::settings::{MOST_LAYERS, Settings, TrainingBound};
use gcnproof_train::split::{Share, Split};
use miette::{Result, miette};
use serde_json::json;

use super::input::{self, GraphArguments, LocalArguments, PassingArguments};
use super::run::{self, Format};

/// Train a network on a graph, with or without certificates in the loss.
///
/// ce is standard training; rce, rh and rh-u train for certificates at the given budget. Defaults are the settings that
/// reach the published results for each loss.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof train cora.npz --loss rh-u -Q 12 -q 1% --out robust.safetensors
  gcnproof train cora.npz --loss ce --split 20 --seed 7 --out standard.safetensors --log standard.jsonl
  gcnproof train cora.npz --loss rh-u -Q 12 --bound anchored --depth 3 --out deep.safetensors
  gcnproof train cora.npz --loss rh-u -Q 12 --layers sage --depth 3 --skip --out sage.safetensors
  gcnproof train cora.npz --loss rh-u -Q 12 --out robust.safetensors --resume      (after an interruption)

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Train {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    graph: PathBuf,
    /// What to minimise: ce, rce, rh or rh-u
    #[arg(long)]
    loss: Loss,
    #[command(flatten)]
    options: GraphArguments,
    /// Flips in all that the model shall withstand
    #[arg(short = 'Q', long = "global", value_name = "N", default_value_t = 12, value_parser = input::flips, help_heading = "Budget")]
    global: usize,
    #[command(flatten)]
    local: LocalArguments,
    #[command(flatten)]
    network: NetworkArguments,
    #[command(flatten)]
    split: SplitArguments,
    #[command(flatten)]
    tuning: TuningArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The network.
#[derive(Args, Debug)]
struct NetworkArguments {
    /// Units of each hidden layer
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Model")]
    hidden: usize,
    /// What the layers are: gcn, sage (GraphSAGE, means over neighbours), sage-sum or gin; a number is taken as --depth
    #[arg(long, value_name = "KIND", default_value = "gcn", help_heading = "Model")]
    layers: LayersArgument,
    /// Weight layers (2: one hidden layer); each of gin is a network of two layers [default: 2]
    #[arg(long, value_name = "N", help_heading = "Model")]
    depth: Option<usize>,
    /// Add each hidden layer to the next: relu(conv(h) + h)
    #[arg(long, help_heading = "Model")]
    skip: bool,
    #[command(flatten)]
    passing: PassingArguments,
}

/// What `--layers` says: what the layers are, or how many.
#[derive(Clone, Copy, Debug)]
enum LayersArgument {
    Kind(LayerKind),
    Depth(usize),
}

impl FromStr for LayersArgument {
    type Err = String;
    fn from_str(text: &str) -> Result<LayersArgument, String> {
        if !text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') {
            return text.parse().map(LayersArgument::Kind);
        }
        let depth = text.parse::<usize>().ok().filter(|depth| (1..=MOST_LAYERS).contains(depth));
        depth.map(LayersArgument::Depth).ok_or_else(|| format!("a number of layers lies between 1 and {MOST_LAYERS}"))
    }
}

impl NetworkArguments {
    fn kind(&self) -> LayerKind {
        match self.layers {
            LayersArgument::Kind(kind) => kind,
            LayersArgument::Depth(_) => LayerKind::Gcn,
        }
    }

    fn depth(&self) -> Result<usize> {
        match (self.layers, self.depth) {
            (LayersArgument::Kind(_), depth) => Ok(depth.unwrap_or(2)),
            (LayersArgument::Depth(layers), None) => Ok(layers),
            (LayersArgument::Depth(layers), Some(depth)) => Err(miette!(
                help = format!("give --layers gcn --depth {depth}"),
                "--layers {layers} beside --depth {depth}: both say how many layers there are"
            )),
        }
    }

    /// The rules of message passing, and the words for them. Kinds other than GCN have their own, and then nothing is
    /// said.
    fn rules(&self) -> Result<(Vec<Operator>, String)> {
        match self.kind().is_gcn() || !self.passing.message_passing.is_empty() {
            true => Ok((self.passing.rules()?, self.passing.words())),
            false => Ok((Vec::new(), String::new())),
        }
    }
}

/// Whose labels may be used.
/// A share of the nodes of each class; one of nothing labels no node.
fn share(text: &str) -> Result<Share, String> {
    if text.trim().trim_end_matches('%').trim_end().parse::<f64>().is_ok_and(|share| share <= 0.0) {
        return Err(format!("'{text}' labels no node: give at least 1 node per class, or a percentage above 0"));
    }
    text.parse()
}

#[derive(Args, Debug)]
struct SplitArguments {
    /// Labelled nodes of each class: a percentage (at least one node), or a number
    #[arg(long, value_name = "P%|N", default_value = "10%", help_heading = "Training", value_parser = share)]
    split: Share,
    /// The labelled nodes themselves: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as
    /// FILE.npz:NAME; in the place of --split
    #[arg(long, value_name = "IDS|FILE", conflicts_with = "split", help_heading = "Training")]
    labelled: Option<String>,
    /// Decides the split, the weights at the start, batches and dropout
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Training")]
    seed: u64,
}

/// Which certificate is trained for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BoundArgument {
    /// The published dual bound
    Paper,
    /// The bound anchored at the unperturbed graph
    Anchored,
}

/// How it is minimised. What is not given is what is known to work for the loss.
#[derive(Args, Debug)]
struct TuningArguments {
    /// The certificate in the loss
    #[arg(long, value_enum, default_value = "paper", help_heading = "Training")]
    bound: BoundArgument,
    /// Iterations of each stage at most
    #[arg(long, visible_alias = "iterations", value_name = "N", help_heading = "Training")]
    epochs: Option<usize>,
    /// Iterations of cross entropy before a robust loss
    #[arg(long, value_name = "N", help_heading = "Training")]
    warm_up: Option<usize>,
    /// Iterations without progress after which a stage ends (0: never)
    #[arg(long, value_name = "N", help_heading = "Training")]
    patience: Option<usize>,
    /// Targets per iteration
    #[arg(long, value_name = "N", help_heading = "Training")]
    batch: Option<usize>,
    /// Step of Adam at the start of a stage
    #[arg(long, value_name = "X", help_heading = "Training")]
    learning_rate: Option<f64>,
    /// Share of the step that is left at the end of a stage
    #[arg(long, value_name = "X", help_heading = "Training")]
    decay: Option<f64>,
    /// Weight of half the squared weights
    #[arg(long, visible_alias = "l2", value_name = "X", help_heading = "Training")]
    weight_decay: Option<f64>,
    /// Share of inputs that each layer of the cross entropy drops
    #[arg(long, value_name = "X", help_heading = "Training")]
    dropout: Option<f64>,
    /// Weight of the robust hinge against the cross entropy
    #[arg(long, value_name = "X", help_heading = "Training")]
    hinge_weight: Option<f64>,
    /// Standard deviation of the hidden units' biases at the start
    #[arg(long, value_name = "X", help_heading = "Training")]
    bias_spread: Option<f64>,
    /// Worst-case margin wanted of labelled nodes [default: ln 9]
    #[arg(long, value_name = "X", help_heading = "Training")]
    margin_labelled: Option<f64>,
    /// Worst-case margin wanted of unlabelled nodes [default: ln 1.5]
    #[arg(long, value_name = "X", help_heading = "Training")]
    margin_unlabelled: Option<f64>,
}

/// What is written.
#[derive(Args, Debug)]
struct OutputArguments {
    /// The model, ending in .safetensors: with the names of PyTorch Geometric
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: PathBuf,
    /// One JSON object per iteration: losses, worst-case margins, accuracies
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    log: Option<PathBuf>,
    /// Where the state of the run is kept until it is done [default: OUT.checkpoint]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    checkpoint: Option<PathBuf>,
    /// Iterations between two checkpoints
    #[arg(long, value_name = "N", default_value_t = 50, help_heading = "Output")]
    checkpoint_every: usize,
    /// Go on with an interrupted run of the same command
    #[arg(long, help_heading = "Output")]
    resume: bool,
    /// Overwrite what is there
    #[arg(long, conflicts_with = "resume", help_heading = "Output")]
    force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
    /// Threads [default: all cores]; the model does not depend on it
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Train {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        run::prepare(self.output.threads)?;
        let files = self.files();
        files.check()?;
        let settings = self.settings()?;
        settings.check()?;
        let graph = self.options.read_only(&self.graph).map_err(|report| only_flips("train", report))?;
        if self.split.labelled.is_none() && graph.notes().iter().any(|note| note.contains("train_mask")) {
            let (path, share) = (self.graph.display(), self.split.split);
            note!("note: {share} of each class are labelled; to train on the mask: --labelled {path}:train_mask");
        }
        let (budget, _) = self.local.budget(&graph, self.global)?;
        let split = self.split.split(&graph)?;
        for option in self.without_effect() {
            note!("note: {option} has no effect with --loss ce: it belongs to the losses with certificates");
        }
        let split_words = match &self.split.labelled {
            Some(list) => format!("labelled {list}"),
            None => self.split.split.to_string(),
        };
        let (rules, passing) = self.network.rules()?;
        let training = Training { graph: &graph, budget, split, split_words, settings, rules, passing, files };
        let Some(trained) = training.execute(&*run::host())? else { return Ok(130) };
        match self.output.format {
            Format::Json => say!(
                "{}",
                json!({
                    "run": trained.identity, "iterations": trained.iterations, "seconds": trained.seconds,
                    "evaluation": trained.evaluation,
                })
            )?,
            Format::Table => print_table(&trained, self.global, &self.output.out)?,
        }
        Ok(0)
    }

    fn files(&self) -> TrainingFiles {
        let output = &self.output;
        TrainingFiles {
            out: output.out.clone(),
            log: output.log.clone(),
            checkpoint: output.checkpoint.clone(),
            checkpoint_every: output.checkpoint_every,
            resume: output.resume,
            force: output.force,
        }
    }

    /// Options that were given and that cross entropy alone does not look at.
    fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let tuning = &self.tuning;
        let given = [
            ("--hinge-weight", tuning.hinge_weight.is_some()),
            ("--warm-up", tuning.warm_up.is_some()),
            ("--margin-labelled", tuning.margin_labelled.is_some()),
            ("--margin-unlabelled", tuning.margin_unlabelled.is_some()),
        ];
        let alone = self.loss == Loss::Ce;
        given.into_iter().filter(move |(_, given)| alone && *given).map(|(option, _)| option)
    }

    fn settings(&self) -> Result<Settings> {
        let (tuning, network) = (&self.tuning, &self.network);
        let known = Settings::new(self.loss, self.split.seed);
        let known = known.with_layers(network.kind(), network.depth()?, network.skip);
        Ok(Settings {
            bound: match tuning.bound {
                BoundArgument::Paper => TrainingBound::Paper,
                BoundArgument::Anchored => TrainingBound::Anchored,
            },
            hidden: network.hidden,
            batch: tuning.batch.unwrap_or(known.batch),
            warm_up: tuning.warm_up.unwrap_or(known.warm_up),
            epochs: tuning.epochs.unwrap_or(known.epochs),
            patience: tuning.patience.unwrap_or(known.patience),
            learning_rate: tuning.learning_rate.unwrap_or(known.learning_rate),
            decay: tuning.decay.unwrap_or(known.decay),
            weight_decay: tuning.weight_decay.unwrap_or(known.weight_decay),
            dropout: tuning.dropout.unwrap_or(known.dropout),
            margin_labelled: tuning.margin_labelled.unwrap_or(known.margin_labelled),
            margin_unlabelled: tuning.margin_unlabelled.unwrap_or(known.margin_unlabelled),
            hinge_weight: tuning.hinge_weight.unwrap_or(known.hinge_weight),
            bias_spread: tuning.bias_spread.unwrap_or(known.bias_spread),
            ..known
        })
    }
}

impl SplitArguments {
    fn split(&self, graph: &Graph) -> Result<Split> {
        match &self.labelled {
            None => Ok(Split::draw(graph, self.split, self.seed)?),
            Some(list) => {
                let nodes = input::nodes_of("--labelled", list, graph.node_count())?;
                Ok(Split::new(graph, nodes.into_iter().map(|n| n as u32).collect())?)
            }
        }
    }
}

fn print_table(trained: &Trained, global: usize, out: &Path) -> Result<()> {
    let (evaluation, percent) = (&trained.evaluation, |x: f64| format!("{:.1} %", 100.0 * x));
    say!("accuracy, labelled            {:>8}", percent(evaluation.accuracy_labelled))?;
    if let Some(accuracy) = evaluation.accuracy_unlabelled {
        say!("accuracy, unlabelled          {:>8}", percent(accuracy))?;
    }
    say!("certified at Q = {global} (paper)   {:>8}", percent(evaluation.certified_by_paper))?;
    say!("certified at Q = {global} (ours)    {:>8}", percent(evaluation.certified_by_best))?;
    say!("\n{} iterations in {:.1} s; {} written", trained.iterations, trained.seconds, out.display())
}
