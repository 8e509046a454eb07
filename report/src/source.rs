//! Reads result files, training logs and studies, and tells which of these a file is.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gcnproof::Flips;
use gcnproof::edges::{Edges, Joint};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::Description;
use gcnproof_results::record::edges::EdgeRecord;
use gcnproof_results::record::joint::JointRecord;
use gcnproof_results::record::node::Record;
use gcnproof_results::record::pair::PairRecord;
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_results::record::study;
use gcnproof_results::record::study::Manifest;
use gcnproof_results::{Column, ResultError, Sidecar};

use super::error::ReportError;
use super::row::{NodeRadius, NodeVerdict, Pictured};
use super::training::{self, TrainingLog};

/// The rows of a file.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Of `certify`.
    Nodes(Vec<NodeVerdict>),
    /// Of `radius`.
    Radii(Vec<NodeRadius>),
    /// Of `collective`.
    Collective(Vec<CollectiveRecord>),
    /// Of `validate`, or of a study's sample.
    Pairs(Vec<PairRecord>),
    /// Of a training run.
    Training(TrainingLog),
}

impl Rows {
    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Rows::Nodes(rows) => rows.len(),
            Rows::Radii(rows) => rows.len(),
            Rows::Collective(rows) => rows.len(),
            Rows::Pairs(rows) => rows.len(),
            Rows::Training(log) => log.iterations.len(),
        }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What its model is called: what a study says, else the name of the file.
    pub name: String,
    /// Does a study say so?
    pub named: bool,
    /// What is in it.
    pub rows: Rows,
    /// What run it belongs to, if that is known.
    pub run: Option<Run>,
    /// When it was written, if the disk says so.
    pub written: Option<SystemTime>,
}

/// The run that a file belongs to.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its rows, when it is finished.
    pub total: usize,
    /// What it is, or why that is not understood.
    pub description: Result<Description, String>,
}

/// Everything a report is made from.
#[derive(Debug, Default)]
pub struct Sources {
    /// The files.
    pub files: Vec<Source>,
    /// Files that a study has planned and not begun.
    pub missing: Vec<String>,
    /// The copy of the graph in the first study's folder.
    pub graph: Option<PathBuf>,
    /// What the first study calls its graph.
    pub graph_name: Option<String>,
    /// The models that studies keep.
    pub models: Vec<PathBuf>,
    /// The commands of studies.
    pub commands: Vec<String>,
}

impl Sources {
    /// Reads files and the folders of studies.
    pub fn read(paths: &[PathBuf]) -> Result<Sources, ReportError> {
        let mut sources = Sources::default();
        for path in paths {
            if path.is_dir() {
                sources.study(path)?;
            } else {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                sources.files.push(read(path, stem)?);
            }
        }
        if sources.files.iter().all(|source| source.rows.count() == 0) {
            let names: Vec<String> = sources.files.iter().map(|source| source.path.display().to_string()).collect();
            let files = match &names[..] {
                [] => "the study holds".to_string(),
                [one] => format!("{one} holds"),
                names => format!("{} hold", names.join(" and ")),
            };
            let busy = sources.files.iter().any(|source| gcnproof_results::is_being_written(&source.path));
            let (yet, remedy) = match busy {
                true => (" yet: a run is writing to it at this moment", "wait for its first rows"),
                false => ("", "the run may have been stopped before its first row: run it again with --resume"),
            };
            return Err(ReportError::NoRows { files, yet, remedy });
        }
        Ok(sources)
    }

    /// Is this the graph of all results that name theirs?
    ///
    /// # Errors
    /// With the first file of another graph.
    pub fn check_graph(&self, graph: &Path, digest: &str) -> Result<(), ReportError> {
        let is_other = |source: &&Source| {
            let known = source.run.as_ref().and_then(|run| run.description.as_ref().ok()?.input());
            known.is_some_and(|input| input.graph != digest)
        };
        match self.files.iter().find(is_other) {
            Some(source) => Err(ReportError::OtherGraph {
                graph: graph.display().to_string(),
                file: source.path.display().to_string(),
            }),
            None => Ok(()),
        }
    }

    fn study(&mut self, folder: &Path) -> Result<(), ReportError> {
        let manifest = Manifest::load(folder)?;
        for model in &manifest.models {
            for file in &model.files {
                let path = folder.join(file);
                if path.exists() {
                    self.files.push(Source { named: true, ..read(&path, model.name.clone())? });
                } else {
                    self.missing.push(file.clone());
                }
            }
        }
        self.models.extend(manifest.models.iter().filter_map(|model| Some(folder.join(model.model.as_ref()?))));
        self.models.retain(|path| path.exists());
        self.commands.extend(manifest.commands);
        if self.graph.is_none() && study::graph_path(folder).exists() {
            self.graph = Some(study::graph_path(folder));
            self.graph_name = Some(manifest.graph);
        }
        Ok(())
    }
}

/// Reads one file: the run says what it is, else its columns do.
fn read(path: &Path, name: String) -> Result<Source, ReportError> {
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        let bytes = std::fs::read(path)
            .map_err(|source| ResultError::Unreadable { file: path.display().to_string(), source })?;
        if training::is_log(&bytes) {
            let rows = Rows::Training(TrainingLog::parse(path, &name, &bytes)?);
            return Ok(Source {
                path: path.to_path_buf(),
                name,
                named: false,
                rows,
                run: None,
                written: written(path),
            });
        }
    }
    let run = Sidecar::load(path)?
        .map(|sidecar| Run { total: sidecar.total, description: Description::read(&sidecar.fingerprint) });
    let rows = match run.as_ref().map(|run| &run.description) {
        Some(Ok(Description::Certify(run))) => {
            let exact = run.effort.as_ref().is_some_and(|effort| effort.exact_margins);
            let deployed = run.deployed.is_some();
            nodes::<Flips>(
                path,
                match run.budget.ranges {
                    Some(_) => NodeRecord::ranged_schema(deployed),
                    None => NodeRecord::schema(exact, deployed),
                },
            )?
        }
        Some(Ok(Description::Radius(_))) => radii::<Flips>(path)?,
        Some(Ok(Description::Validate(_))) => Rows::Pairs(gcnproof_results::read(path, PairRecord::SCHEMA)?),
        Some(Ok(Description::CertifyEdges(run))) => {
            nodes::<Edges>(path, EdgeRecord::schema(run.effort.exact_margins, false))?
        }
        Some(Ok(Description::RadiusEdges(_))) => radii::<Edges>(path)?,
        Some(Ok(Description::CertifyJoint(_))) => nodes::<Joint>(path, JointRecord::SCHEMA)?,
        Some(Ok(Description::Collective(_))) => {
            Rows::Collective(gcnproof_results::read(path, CollectiveRecord::SCHEMA)?)
        }
        Some(Ok(Description::Table1(_)) | Err(_)) | None => guess(path)?,
    };
    check_once(path, &rows)?;
    Ok(Source { path: path.to_path_buf(), name, named: false, rows, run, written: written(path) })
}

/// A node that had two rows would be counted twice.
fn check_once(path: &Path, rows: &Rows) -> Result<(), ReportError> {
    let mut nodes: Vec<u64> = match rows {
        Rows::Nodes(rows) => rows.iter().map(|row| row.node).collect(),
        Rows::Radii(rows) => rows.iter().map(|row| row.node).collect(),
        _ => return Ok(()),
    };
    nodes.sort_unstable();
    match nodes.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ReportError::Repeated { file: path.display().to_string(), node: pair[0] }),
        None => Ok(()),
    }
}

/// Verdicts against an attacker.
fn nodes<A: Pictured>(path: &Path, schema: &[Column]) -> Result<Rows, ResultError> {
    let rows: Vec<Record<A>> = gcnproof_results::read(path, schema)?;
    Ok(Rows::Nodes(rows.into_iter().map(NodeVerdict::from).collect()))
}

/// Radii against an attacker.
fn radii<A: Pictured>(path: &Path) -> Result<Rows, ResultError> {
    let rows: Vec<RadiusRow<A>> = gcnproof_results::read(path, RadiusRow::<A>::SCHEMA)?;
    Ok(Rows::Radii(rows.into_iter().map(NodeRadius::from).collect()))
}

fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// How a file is read as one kind of table.
type Table = fn(&Path) -> Result<Rows, ResultError>;

/// Tries one table after the other.
fn guess(path: &Path) -> Result<Rows, ReportError> {
    let tables: [Table; 7] = [
        |path| nodes::<Flips>(path, NodeRecord::schema(false, false)),
        |path| nodes::<Flips>(path, NodeRecord::schema(true, false)),
        |path| nodes::<Flips>(path, NodeRecord::schema(false, true)),
        |path| nodes::<Flips>(path, NodeRecord::schema(true, true)),
        |path| radii::<Flips>(path),
        |path| gcnproof_results::read(path, PairRecord::SCHEMA).map(Rows::Pairs),
        |path| gcnproof_results::read(path, CollectiveRecord::SCHEMA).map(Rows::Collective),
    ];
    let mut problems = Vec::new();
    for table in tables {
        match table(path) {
            Ok(rows) => return Ok(rows),
            Err(problem @ (ResultError::OtherColumns { .. } | ResultError::Damaged { .. })) => problems.push(problem),
            Err(other) => return Err(other.into()),
        }
    }
    // Damage further down than the first line means that the columns were right: it is worth telling in full.
    let late = |problem: &ResultError| matches!(problem, ResultError::Damaged { place, .. } if place != "line 1");
    match problems.iter().position(late) {
        Some(at) => Err(problems.swap_remove(at).into()),
        None => {
            let problem = problems.first().map(ToString::to_string).unwrap_or_default();
            Err(ReportError::Unknown { file: path.display().to_string(), problem })
        }
    }
}
