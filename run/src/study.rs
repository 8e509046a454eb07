//! A study: the runs behind a report for one graph and several models, in one folder with a manifest.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gcnproof::{Budget, Graph, Network};
use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{GraphFile, GraphOptions, read_graph};
use gcnproof_report::origin::date;
use gcnproof_results::record::RadiusRecord;
use gcnproof_results::record::description::{BudgetRecord, Identity};
use gcnproof_results::record::study::{Manifest, graph_path, manifest_path, model_name};
use miette::{Result, miette};
use serde_json::{Value, json};

use super::outputs::{Kind, untouched};
use super::reproduction::write_model;
use super::run::{check_no_file, make_folder};
use super::study_run::{Plan, Results, Subject};

/// A study of one graph.
pub struct Study<'a> {
    /// What is done with each model; its folder is that of the study.
    pub plan: Plan,
    /// The folder.
    pub folder: PathBuf,
    /// Continue the study in the folder?
    pub resume: bool,
    /// What has asked for it, for the manifest.
    pub command: String,
    /// What the graph is called.
    pub graph_name: String,
    /// The graph.
    pub graph: &'a Graph,
    /// The attacker's means.
    pub budget: Budget,
}

/// A model of a study.
pub struct StudyModel {
    /// What it is called, also in the names of its files.
    pub name: String,
    /// The network.
    pub network: Network,
    /// Which graph and model, for the record.
    pub identity: Identity,
}

/// What a study has found, in short.
pub struct Studied {
    /// One object for each model.
    pub models: Vec<Value>,
    /// Was it interrupted?
    pub interrupted: bool,
}

/// Refuses a folder that holds a study, unless it is to be continued or overwritten, and one with files that no study
/// wrote where this one would write its own.
///
/// # Errors
/// If it does, or is a file.
pub fn check_folder(folder: &Path, models: &[String], force: bool, resume: bool) -> Result<()> {
    let manifest = manifest_path(folder);
    untouched(&manifest, Kind::Study, force, Some(resume))?;
    // Of a manifest that is damaged nobody knows what files it named.
    let known = if manifest.exists() { Manifest::load(folder).ok() } else { Some(Manifest::new("")) };
    if let Some(known) = known {
        let is_known = |file: &String| known.models.iter().any(|model| model.model.as_ref() == Some(file));
        let kept =
            models.iter().map(|name| model_name(name)).filter(|file| !is_known(file)).map(|file| folder.join(file));
        let graph = (!manifest.exists()).then(|| graph_path(folder));
        if let Some(path) = graph.into_iter().chain(kept).find(|path| path.exists()) {
            return Err(miette!(
                help = "choose another --out, such as a folder that is not there yet",
                "{}: is there, but no study wrote it: the study's own file of this name would overwrite it",
                path.display()
            ));
        }
    }
    check_no_file(folder)
}

impl Study<'_> {
    /// Runs everything for all models.
    ///
    /// # Errors
    /// If the folder holds something else, or a file cannot be written.
    pub fn execute(&self, models: Vec<StudyModel>) -> Result<Studied> {
        let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
        check_folder(&self.folder, &names, self.plan.force, self.resume)?;
        make_folder(&self.folder)?;
        // A study that goes on keeps what it has; a manifest that cannot be read is written anew.
        let known = if self.plan.force { None } else { Manifest::load(&self.folder).ok() };
        let mut manifest = known.unwrap_or_else(|| Manifest::new(&self.graph_name));
        let version = env!("CARGO_PKG_VERSION");
        manifest.note(&self.command, &format!("{}, gcnproof {version}", date(SystemTime::now())));
        // First of all: by its manifest a study knows its files again.
        if !manifest_path(&self.folder).exists() {
            manifest.save(&self.folder)?;
        }
        self.copy_graph()?;
        let mut studied = Studied { models: Vec::new(), interrupted: false };
        for StudyModel { name, network, identity } in models {
            let budget_record = BudgetRecord::new(&self.budget);
            let budget = self.budget.clone();
            let subject =
                Subject { name: &name, graph: self.graph, network: &network, identity, budget, budget_record };
            let before = std::fs::read(manifest_path(&self.folder)).ok();
            // Before the work, so that a study can be looked at while it runs and after it was stopped.
            manifest.add(&name, self.plan.files(&name));
            keep_model(&mut manifest, &self.folder, &name, &network)?;
            manifest.save(&self.folder)?;
            // What was refused is no part of the study.
            let results = self.plan.execute(&subject).inspect_err(|_| {
                let _ = before.as_ref().map(|bytes| std::fs::write(manifest_path(&self.folder), bytes));
            })?;
            studied.models.push(tell(&name, &results, self.plan.max_global));
            studied.interrupted = results.interrupted;
            if studied.interrupted {
                break;
            }
        }
        Ok(studied)
    }

    /// Puts a copy of the graph into the folder, unless that is the folder of another graph.
    fn copy_graph(&self) -> Result<()> {
        let path = graph_path(&self.folder);
        let other = |file: &GraphFile| file.digest != self.graph.digest();
        if !self.plan.force && read_graph(&path, &GraphOptions::default()).is_ok_and(|file| other(&file)) {
            return Err(miette!(
                help = "choose another --out, or overwrite it by --force",
                "{}: holds a study of another graph",
                self.folder.display()
            ));
        }
        Ok(write_graph_npz(&path, &self.graph.file())?)
    }
}

/// Keeps a model beside its results: a report weighs flips with it.
///
/// # Errors
/// If it cannot be written.
pub fn keep_model(manifest: &mut Manifest, folder: &Path, name: &str, network: &Network) -> Result<()> {
    let path = folder.join(manifest.keep(name));
    Ok(write_model(&path, network)?)
}

/// The numbers of one model, for people and machines.
fn tell(name: &str, results: &Results, limit: usize) -> Value {
    // Nodes that are certified up to the largest Q tried count with it: the mean is then a lower bound.
    let capped = |rows: &[RadiusRecord]| {
        let at_limit = rows.iter().filter(|row| row.certified >= Some(limit as u64)).count();
        at_limit as f64 / rows.len().max(1) as f64
    };
    let mean = |rows: &[RadiusRecord]| {
        rows.iter().filter_map(|row| row.certified).sum::<u64>() as f64 / rows.len().max(1) as f64
    };
    let radii: Vec<Value> = results
        .radii
        .iter()
        .map(|(step, rows)| {
            let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
            json!({ "by": step, "mean_certified_q": mean(rows), "share_at_limit": capped(rows), "limit": limit, "seconds": seconds })
        })
        .collect();
    let count = |name: &str| results.verdicts.iter().filter(|row| row.verdict.name() == name).count();
    json!({
        "model": name, "nodes": results.verdicts.len(), "robust": count("robust"), "non_robust": count("non_robust"),
        "undecided": count("undecided"), "radii": radii,
    })
}
