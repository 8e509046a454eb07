//! Training as a run: which files are written and when, how it is continued, and what there is to say of the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gcnproof::{Budget, Graph, Operator};
use gcnproof_results::record::description::BudgetRecord;
use gcnproof_train::checkpoint::TrainingRun;
use gcnproof_train::evaluation::{Evaluation, evaluate};
use gcnproof_train::log::{Header, Line, Log};
use gcnproof_train::settings::Settings;
use gcnproof_train::split::Split;
use gcnproof_train::trainer::Trainer;
use miette::{Result, miette};
use serde_json::json;

use super::host::Host;
use super::input;
use super::outputs::{Kind, NamedFile, check_folder, untouched};

/// What a training writes.
#[derive(Clone, Debug)]
pub struct TrainingFiles {
    /// The model, ending in `.safetensors`.
    pub out: PathBuf,
    /// One line for each iteration.
    pub log: Option<PathBuf>,
    /// The state of the run until it is done; by default beside the model.
    pub checkpoint: Option<PathBuf>,
    /// Iterations between two checkpoints.
    pub checkpoint_every: usize,
    /// Continue an interrupted training?
    pub resume: bool,
    /// Overwrite what is there?
    pub force: bool,
}

impl TrainingFiles {
    fn checkpoint(&self) -> PathBuf {
        self.checkpoint.clone().unwrap_or_else(|| suffixed(&self.out, ".checkpoint"))
    }

    /// Refuses files that cannot be written, or that are there.
    ///
    /// # Errors
    /// With the first of them.
    pub fn check(&self) -> Result<()> {
        if self.out.extension().is_none_or(|end| !end.eq_ignore_ascii_case("safetensors")) {
            return Err(miette!(
                help = "end the name in .safetensors",
                "--out {}: the model is written as safetensors, and the name says something else",
                self.out.display()
            ));
        }
        let checkpoint = self.checkpoint();
        let files = [("--out", Some(&self.out)), ("--checkpoint", Some(&checkpoint)), ("--log", self.log.as_ref())];
        for (option, path) in files {
            if let Some(path) = path {
                check_folder(&NamedFile { option: option.into(), path: path.clone() })?;
            }
        }
        Kind::Model.check(&self.out)?;
        // Where a run was interrupted, its checkpoint is there and its model is not.
        if self.resume && self.out.exists() && !checkpoint.exists() {
            return Err(miette!(
                help = "train again with --force in the place of --resume, or choose another name",
                "{}: the training is finished: there is no {} to go on from",
                self.out.display(),
                checkpoint.display()
            ));
        }
        let resume = checkpoint.exists().then_some(self.resume);
        let files = [(&self.out, Kind::Model), (&checkpoint, Kind::Checkpoint)];
        for (path, kind) in files.into_iter().chain(self.log.iter().map(|log| (log, Kind::Log))) {
            untouched(path, kind, self.force || self.resume, resume)?;
        }
        Ok(())
    }
}

/// One training.
pub struct Training<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What the model shall withstand.
    pub budget: Budget,
    /// Whose labels are used.
    pub split: Split,
    /// How these were chosen, for the model's file.
    pub split_words: String,
    /// Everything else that decides what model comes out.
    pub settings: Settings,
    /// How messages are passed.
    pub rules: Vec<Operator>,
    /// The same as it was given, for the model's file.
    pub passing: String,
    /// What is written.
    pub files: TrainingFiles,
}

/// What a training made.
pub struct Trained {
    /// How many iterations were run.
    pub iterations: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Accuracies and certified shares.
    pub evaluation: Evaluation,
    /// What the training was.
    pub identity: TrainingRun,
}

impl Training<'_> {
    /// Trains; nothing is returned if that was interrupted, and a checkpoint is left.
    ///
    /// # Errors
    /// If the settings make no sense, or a file cannot be written or continued.
    pub fn execute(&self, host: &dyn Host) -> Result<Option<Trained>> {
        self.settings.check()?;
        let checkpoint = self.files.checkpoint();
        let identity = TrainingRun {
            graph: self.graph.digest().to_string(),
            global: self.budget.global(),
            budget: BudgetRecord::new(&self.budget),
            labelled: self.split.labelled.clone(),
            message_passing: input::names(&self.rules),
            settings: self.settings.clone(),
        };
        let budget = self.budget.clone().of_categories(self.graph);
        let mut trainer = Trainer::new(self.graph, &budget, &self.split, self.settings.clone(), &self.rules)?;
        for note in &self.split.notes {
            host.note(&format!("note: {note}"));
        }
        if self.files.resume {
            trainer.load(&checkpoint, &identity)?;
            host.note(&format!("resuming after iteration {}", trainer.iteration()));
        }
        let start = Instant::now();
        if self.iterate(&mut trainer, &checkpoint, &identity, host)? {
            host.note(&format!("interrupted after iteration {}; --resume goes on", trainer.iteration()));
            return Ok(None);
        }
        let seconds = start.elapsed().as_secs_f64();
        trainer.write(&self.files.out, &self.metadata(&trainer, &identity))?;
        // The run is done: what it could be resumed from is of no use any more.
        let _ = std::fs::remove_file(&checkpoint);
        let evaluation = evaluate(self.graph, &trainer.model(), &self.budget, &self.split);
        let void = self.budget.global() == 0 || self.budget.locals().iter().all(|&most| most == 0);
        warn(trainer.iteration(), void, &evaluation, host);
        Ok(Some(Trained { iterations: trainer.iteration(), seconds, evaluation, identity }))
    }

    /// Trains until the end or an interruption, and says which.
    fn iterate(
        &self,
        trainer: &mut Trainer,
        checkpoint: &Path,
        identity: &TrainingRun,
        host: &dyn Host,
    ) -> Result<bool> {
        let header = Header {
            gcnproof_training_log: 1,
            graph: identity.graph.clone(),
            loss: self.settings.loss,
            bound: self.settings.bound.name().into(),
            local: identity.budget.local.clone(),
            global: identity.global,
            seed: self.settings.seed,
        };
        let mut log = match &self.files.log {
            Some(path) => Some(Log::open(path, &header, trainer.iteration())?),
            None => None,
        };
        let bar = host.begin(trainer.iterations_at_most(), trainer.iteration());
        let start = Instant::now();
        loop {
            if host.is_stopped() {
                trainer.save(checkpoint, identity)?;
                bar.finish();
                return Ok(true);
            }
            let Some((iteration, stage, report)) = trainer.step(log.is_some())? else { break };
            let line = Line { iteration, seconds: start.elapsed().as_secs_f64(), stage, report };
            if let Some(log) = &mut log {
                log.push(&line)?;
            }
            bar.advance();
            bar.tell(describe(&line));
            if (iteration + 1).is_multiple_of(self.files.checkpoint_every.max(1)) {
                trainer.save(checkpoint, identity)?;
            }
        }
        bar.finish();
        Ok(false)
    }

    /// What the file says about itself.
    fn metadata(&self, trainer: &Trainer, identity: &TrainingRun) -> BTreeMap<String, String> {
        // A description says itself how messages are passed.
        let network = match self.settings.is_plain() {
            true => ("message_passing", self.passing.clone()),
            false => ("layers", self.settings.kind.to_string()),
        };
        let entries = [
            network,
            ("framework", format!("gcnproof {}", env!("CARGO_PKG_VERSION"))),
            ("graph", identity.graph.clone()),
            ("loss", self.settings.loss.to_string()),
            ("bound", self.settings.bound.name().into()),
            ("budget", json!({ "global": identity.global, "budget": identity.budget }).to_string()),
            ("seed", self.settings.seed.to_string()),
            ("split", self.split_words.clone()),
            ("labelled", json!(self.split.labelled).to_string()),
            ("settings", json!(self.settings).to_string()),
            ("iterations", trainer.iteration().to_string()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}

/// Tells of a model that is of little use. Where nothing may be flipped (`void`), all nodes are certified, whatever the
/// model is.
fn warn(iterations: usize, void: bool, evaluation: &Evaluation, host: &dyn Host) {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let (certified, accuracy, largest) =
        (percent(evaluation.certified_by_best), percent(evaluation.accuracy), percent(evaluation.largest_class));
    if iterations == 0 {
        host.note("note: no iteration was run: the weights of the model are those of the start, and it is untrained");
    }
    if evaluation.collapsed() && !void {
        host.note(&format!(
            "warning: the model has collapsed: {certified} of the nodes are certified, but it is right about {accuracy} of \
             them, and always answering the largest class is right about {largest}. Train for a smaller -Q or -q, with more \
             labelled nodes (--split), or with a longer --warm-up"
        ));
    } else if iterations > 0 && evaluation.accuracy < evaluation.largest_class {
        host.note(&format!(
            "warning: the model is right about {accuracy} of the nodes, and always answering the largest class is right about \
             {largest}. Train with more iterations (--epochs) or a smaller --learning-rate"
        ));
    }
}

fn describe(line: &Line) -> String {
    let share = |name: &str, x: Option<f64>| x.map(|x| format!(", {name} {:.0} %", 100.0 * x)).unwrap_or_default();
    format!(
        "{}: loss {:.4}{}{}",
        line.stage,
        line.report.loss,
        share("accuracy", line.report.accuracy_labelled),
        share("certified", line.report.certified)
    )
}

/// The same path with something after its name.
fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
