//! One run: rows on their way to a file that is valid at every moment, or only to memory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gcnproof::{Budget, Certifier, CertifierBuilder, Graph, Network, Problem};
use gcnproof_check::open_proofs;
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::description::Description;
use gcnproof_results::{Column, Journal, Mode};
use miette::{Result, miette};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::host::Host;
use super::outputs::{NamedFile, check_folder};
use super::reproduction::keep;

/// Does a file of proofs have its last line? Rows that are lost are computed again then, and their proofs are there.
fn is_finished(path: &Path) -> bool {
    let Ok(source) = open_proofs(path, None) else { return false };
    let mut last = Vec::new();
    let lines = BufReader::new(source).split(b'\n').map_while(std::io::Result::ok);
    lines.filter(|line| !line.is_empty()).for_each(|line| last = line);
    last.starts_with(br#"{"end":"#)
}

/// Where rows go, and who runs it.
#[derive(Clone)]
pub struct Run {
    /// The file of rows, if there is one.
    pub out: Option<PathBuf>,
    /// The file of proofs beside it, if there is one.
    pub proofs: Option<PathBuf>,
    /// Continue an interrupted run?
    pub resume: bool,
    /// Overwrite what is there?
    pub force: bool,
    /// The program around the run.
    pub host: Arc<dyn Host>,
}

/// What a run has found.
pub struct Finished<R> {
    /// All rows, in order.
    pub rows: Vec<R>,
    /// Was the run interrupted?
    pub interrupted: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// What the run was.
    pub description: Description,
}

/// Rows on their way to a file, or only to memory, where each has its key.
struct Rows<T: Row + Serialize> {
    journal: Option<Journal<T>>,
    memory: Vec<(u64, T::Kept)>,
    key: fn(&T) -> u64,
}

impl<T: Row + Serialize + DeserializeOwned + Clone> Rows<T> {
    fn push(&mut self, row: T) -> Result<()> {
        match &mut self.journal {
            Some(journal) => journal.push(row)?,
            None => self.memory.push(((self.key)(&row), row.into())),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<T::Kept>> {
        match self.journal {
            Some(journal) => Ok(journal.finish()?.into_iter().map(T::Kept::from).collect()),
            None => {
                self.memory.sort_by_key(|(key, _)| *key);
                Ok(self.memory.into_iter().map(|(_, row)| row).collect())
            }
        }
    }
}

impl Run {
    /// Has somebody asked to stop?
    pub fn is_stopped(&self) -> bool {
        self.host.is_stopped()
    }

    /// The same question, to be handed on.
    pub fn stopped(&self) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
        let host = self.host.clone();
        move || host.is_stopped()
    }

    /// A certifier of parts that have been read together, so that they fit; it stops with the run.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn certifier(&self, graph: &Graph, network: &Network, budget: Budget) -> CertifierBuilder {
        self.host.remember(graph, network);
        let problem = Problem::new(graph.clone(), network.clone(), budget).expect("the readers have checked the sizes");
        Certifier::builder(problem).stop(self.stopped())
    }

    /// What is to happen to files that are there.
    pub fn mode(&self) -> Mode {
        match (self.resume, self.force) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::Force,
            _ => Mode::Fresh,
        }
    }

    /// Opens the output and runs `work` on the keys that it does not hold yet. `work` hands each row to its second
    /// argument as soon as it is done. Returns all rows in order, and whether the run was interrupted.
    pub fn rows<T>(
        &self,
        schema: &'static [Column],
        description: &Description,
        keys: &[u64],
        key: fn(&T) -> u64,
        work: impl FnOnce(&[u64], &(dyn Fn(T) + Sync)),
    ) -> Result<(Vec<T::Kept>, bool)>
    where
        T: Row + Serialize + DeserializeOwned + Clone + Send,
    {
        self.rows_again(schema, description, keys, key, |_| false, work)
    }

    /// The same, and `again` says which keys are to be worked on although their row is there.
    pub fn rows_again<T>(
        &self,
        schema: &'static [Column],
        description: &Description,
        keys: &[u64],
        key: fn(&T) -> u64,
        again: impl Fn(u64) -> bool,
        work: impl FnOnce(&[u64], &(dyn Fn(T) + Sync)),
    ) -> Result<(Vec<T::Kept>, bool)>
    where
        T: Row + Serialize + DeserializeOwned + Clone + Send,
    {
        if let Some(path) = &self.out {
            check_folder(&NamedFile { option: "--out".into(), path: path.clone() })?;
        }
        let mut journal = match &self.out {
            None => None,
            Some(path) => Some(Journal::open(path, schema, key, description.fingerprint(), keys.len(), self.mode())?),
        };
        let mut left = None;
        if let Some(journal) = &mut journal {
            match &self.proofs {
                Some(path) => journal.name_proofs(path),
                None => left = journal.proofs().map(Path::to_owned),
            }
        }
        let done: BTreeSet<u64> = journal.iter().flat_map(|journal| journal.done().keys().copied()).collect();
        let open: Vec<u64> = keys.iter().copied().filter(|key| !done.contains(key) || again(*key)).collect();
        let there = keys.iter().filter(|key| done.contains(key)).count();
        if self.resume && there > 0 {
            self.host.note(&format!("resuming: {there} of {} rows are there already", keys.len()));
        }
        let left = left.filter(|path| !open.is_empty() && !is_finished(path));
        if let Some(path) = left.map(|path| path.display().to_string()) {
            self.host.note(&format!(
                "note: {path}, which that run wrote, stays unfinished: to go on with it, add --proofs {path}"
            ));
        }
        let bar = self.host.begin(keys.len(), keys.len() - open.len());
        let rows = Mutex::new((Rows { journal, memory: Vec::new(), key }, Ok(())));
        let push = |row: T| {
            bar.advance();
            let mut rows = rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if rows.1.is_ok() {
                let checked = row
                    .check()
                    .map_err(|contradiction| keep(contradiction, description, self.out.as_deref(), &*self.host));
                rows.1 = checked.and_then(|()| rows.0.push(row));
                // A disk that is full does not get better, nor a program that contradicts itself: stop, and say so
                // below.
                if rows.1.is_err() {
                    self.host.stop();
                }
            }
        };
        self.host.guard(
            Box::new(|| work(&open, &push)),
            Box::new(|| {
                bar.finish();
                let mut rows = rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let Some(journal) = &mut rows.0.journal else {
                    self.host.note(&format!(
                        "interrupted: {} of {} rows were done and are lost; --out keeps them",
                        rows.0.memory.len(),
                        keys.len()
                    ));
                    return;
                };
                let saved = journal.checkpoint();
                if let (Ok(()), Some(path)) = (saved, &self.out) {
                    self.interrupted_after(path, journal.done().len(), keys.len());
                }
            }),
        );
        bar.finish();
        let (rows, outcome) = rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome?;
        let interrupted = self.is_stopped();
        // A journal with rows missing knows that it is not complete, and can be resumed.
        let rows = rows.finish()?;
        if interrupted && let Some(path) = &self.out {
            self.interrupted_after(path, rows.len(), keys.len());
        }
        Ok((rows, interrupted))
    }

    fn interrupted_after(&self, path: &Path, done: usize, of: usize) {
        let line = format!("interrupted: {} holds {done} of {of} rows; --resume goes on", path.display());
        self.host.note(&line);
    }
}

/// Refuses a file where a folder for output is meant.
///
/// # Errors
/// If it is one.
pub fn check_no_file(folder: &Path) -> Result<()> {
    if folder.is_file() {
        return Err(miette!(
            help = "give the name of a folder: it is made if it is not there",
            "{}: is a file, and a folder is meant",
            folder.display()
        ));
    }
    Ok(())
}

/// Makes a folder for output.
pub fn make_folder(folder: &Path) -> Result<()> {
    check_no_file(folder)?;
    std::fs::create_dir_all(folder).map_err(|error| {
        miette!(help = "choose a place where you may write", "{}: the folder cannot be made: {error}", folder.display())
    })
}
