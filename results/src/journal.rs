//! The results file of a long run: valid at every moment, and an interrupted run can be resumed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof::proof::Mode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::column::Column;
use super::contents::is_results;
use super::disk::{self, Lock};
use super::error::{ResultError, name, unreadable};
use super::format::{Format, damaged};
use super::sidecar::{Sidecar, beside, sidecar_path};
use super::table;

/// The shortest time between two checkpoints of [`Journal::push`].
const PAUSE: Duration = Duration::from_secs(1);

/// How many times longer than the last checkpoint the time before the next one is: they cost less
/// than 5 %.
const PATIENCE: u32 = 20;

/// The rows of a run, in memory and on disk.
///
/// The whole file is written anew at each checkpoint and renamed over the old one, so that it is a
/// valid file of its format at every moment. Beside it, `<path>.run.json` says what run the rows
/// belong to.
///
/// # Why a kill between the two writes is harmless
///
/// The rows are always written first, the sidecar second, and the folder is synced in between.
///
/// * *At the opening of a new run* the rows that are written are none. Killed in between, the file
///   has no rows but the sidecar of the run that was overwritten, or no sidecar. No rows cannot be
///   mistaken for another run's, and every mode then starts from nothing. (The other order could
///   leave the old rows under the new fingerprint: a resumed run would take them for its own.) No
///   row of this run is written before its sidecar stands.
/// * *At later checkpoints* the fingerprint does not change: the sidecar of the checkpoint before
///   is right about the run and merely counts too few rows. Resuming trusts the rows and ignores
///   the count.
/// * *At the end* the sidecar says `complete` only after the last row is on disk. Killed in
///   between, the run counts as interrupted, and resuming finds nothing left to do.
///
/// Two runs at once could mix the rows of one with the sidecar of the other; a lock on
/// `<path>.run.lock` keeps the second out.
///
/// Dropping a journal saves what has been pushed, as far as that is possible.
#[derive(Debug)]
pub struct Journal<T: Serialize> {
    path: PathBuf,
    schema: &'static [Column],
    key: fn(&T) -> u64,
    fingerprint: Value,
    total: usize,
    proofs: Option<PathBuf>,
    rows: BTreeMap<u64, T>,
    /// Whether there are rows that are not on disk.
    unsaved: bool,
    /// When the last checkpoint ended.
    last: Instant,
    /// How long after `last` the next one is due.
    pub(super) due: Duration,
    /// The least value of `due`; tests are less patient.
    pub(super) pause: Duration,
    _lock: Lock,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens the journal of a run of `total` rows and writes its first checkpoint.
    ///
    /// `key` orders the rows and tells them apart. `fingerprint` is everything that determines the
    /// rows: an object of settings and of digests of the inputs.
    pub fn open(
        path: &Path,
        schema: &'static [Column],
        key: fn(&T) -> u64,
        fingerprint: Value,
        total: usize,
        mode: Mode,
    ) -> Result<Journal<T>, ResultError> {
        Format::from_path(path)?;
        let lock = Lock::take(path, beside(path, ".run.lock"))?;
        disk::sweep(path);
        disk::sweep(&sidecar_path(path));
        let rows = Self::inherit(path, schema, key, &fingerprint, total, mode)?;
        let before = Sidecar::load(path).ok().flatten().filter(|_| mode == Mode::Resume);
        let mut journal = Journal {
            path: path.to_owned(),
            schema,
            key,
            fingerprint,
            total,
            proofs: before.and_then(|sidecar| sidecar.proofs),
            rows,
            unsaved: false,
            last: Instant::now(),
            due: PAUSE,
            pause: PAUSE,
            _lock: lock,
        };
        journal.checkpoint()?;
        Ok(journal)
    }

    /// The rows to start from, or the reason not to touch the file.
    fn inherit(
        path: &Path,
        schema: &[Column],
        key: fn(&T) -> u64,
        fingerprint: &Value,
        total: usize,
        mode: Mode,
    ) -> Result<BTreeMap<u64, T>, ResultError> {
        let size = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            other => other.map_err(unreadable(path))?.len(),
        };
        let nothing = Ok(BTreeMap::new());
        let sidecar = Sidecar::load(path);
        if size == 0 {
            // Beside rows it would be damaged; alone it is somebody else's.
            return match sidecar {
                Err(ResultError::DamagedSidecar { file, .. }) => Err(ResultError::ForeignSidecar { file }),
                _ => nothing,
            };
        }
        let known = matches!(sidecar, Ok(Some(_))) || is_results(path);
        if !known && table::read_rows(path, schema).is_err() {
            return Err(ResultError::Foreign { file: name(path) });
        }
        if mode == Mode::Force {
            return nothing;
        }
        match (&sidecar, mode) {
            (Ok(Some(sidecar)), Mode::Resume) if sidecar.differences(fingerprint, total).is_empty() => {
                return index(path, table::read(path, schema)?, key);
            }
            _ => {}
        }
        // Whosever it is: where there are no rows, nothing can be lost, nor taken for another
        // run's.
        if table::read_rows(path, schema).is_ok_and(|rows| rows.is_empty()) {
            return nothing;
        }
        let file = name(path);
        Err(match sidecar.map_err(ResultError::of_output)? {
            None => ResultError::Unknown { file, sidecar: name(&sidecar_path(path)) },
            Some(sidecar) if mode == Mode::Resume => {
                ResultError::OtherRun { file, differences: sidecar.told(fingerprint, total) }
            }
            Some(Sidecar { total, complete: true, .. }) => ResultError::Finished { file, total },
            Some(Sidecar { done, total, .. }) => ResultError::Unfinished { file, done, total },
        })
    }

    /// The rows so far, by key: those of the interrupted run, and those that were pushed.
    pub fn done(&self) -> &BTreeMap<u64, T> {
        &self.rows
    }

    /// The file of proofs that the run has written so far, if it has.
    pub fn proofs(&self) -> Option<&Path> {
        self.proofs.as_deref()
    }

    /// From the next checkpoint on, the sidecar names this file of proofs.
    pub fn name_proofs(&mut self, path: &Path) {
        self.proofs = Some(path.to_owned());
    }

    /// Adds a row, or replaces the one with the same key. Now and then this is a checkpoint.
    ///
    /// After an error the journal remains usable. A row that does not fit the table has not been
    /// added; any other row has been, and a later checkpoint tries again to save it.
    pub fn push(&mut self, row: T) -> Result<(), ResultError> {
        // Checked here, one misfit cannot keep all other rows from being saved.
        table::to_row(&self.path, self.schema, self.rows.len(), &row)?;
        self.rows.insert((self.key)(&row), row);
        self.unsaved = true;
        if self.last.elapsed() >= self.due { self.checkpoint() } else { Ok(()) }
    }

    /// Writes the last checkpoint and gives the rows back in the order of their keys. The run is
    /// complete if there are as many rows as it was opened for; otherwise it can be resumed.
    pub fn finish(mut self) -> Result<Vec<T>, ResultError> {
        self.checkpoint()?;
        Ok(std::mem::take(&mut self.rows).into_values().collect())
    }
}

impl<T: Serialize> Journal<T> {
    /// Writes all rows now, whether or not it is time.
    pub fn checkpoint(&mut self) -> Result<(), ResultError> {
        let start = Instant::now();
        let saved = self.save();
        // A full disk is not asked again at once either.
        self.last = Instant::now();
        self.due = self.pause.max(start.elapsed() * PATIENCE);
        self.unsaved &= saved.is_err();
        saved
    }

    /// First the rows, then the sidecar: see [`Journal`].
    fn save(&self) -> Result<(), ResultError> {
        table::write_of(&self.path, self.schema, self.rows.values(), Some(&self.fingerprint))?;
        Sidecar::new(self.fingerprint.clone(), self.total, self.rows.len(), self.proofs.clone()).save(&self.path)
    }
}

impl<T: Serialize> Drop for Journal<T> {
    fn drop(&mut self) {
        if self.unsaved {
            let _ = self.checkpoint();
        }
    }
}

/// The rows by key.
fn index<T>(path: &Path, rows: Vec<T>, key: fn(&T) -> u64) -> Result<BTreeMap<u64, T>, ResultError> {
    let format = Format::from_path(path)?;
    let mut indexed = BTreeMap::new();
    for (number, row) in rows.into_iter().enumerate() {
        if indexed.insert(key(&row), row).is_some() {
            let problem = "a row before it has the same key".to_owned();
            return Err(damaged(path, format, format!("row {}", number + 1), problem));
        }
    }
    Ok(indexed)
}
