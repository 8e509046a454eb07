//! The file `<results>.run.json`: what run the rows belong to, and how far the run came.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::disk;
use super::error::{ResultError, name};
use super::record::description::Description;

/// The version of the sidecar's own layout.
const VERSION: u32 = 1;

/// How many differences a complaint lists.
const SHOWN: usize = 8;

/// What stands in `<results>.run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sidecar {
    /// The version of this layout.
    pub format_version: u32,
    /// Everything that determines the rows: settings, and digests of the inputs.
    pub fingerprint: Value,
    /// The rows of the whole run.
    pub total: usize,
    /// The rows that the results held when the sidecar was written; they may hold more by now.
    pub done: usize,
    /// Whether the results hold all rows.
    pub complete: bool,
    /// The file of proofs that the run writes beside the rows, if it does; older versions did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proofs: Option<PathBuf>,
}

/// `path` with something behind its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut file = OsString::from(path);
    file.push(ending);
    PathBuf::from(file)
}

/// The sidecar of a results file.
pub(super) fn sidecar_path(path: &Path) -> PathBuf {
    beside(path, ".run.json")
}

/// Is a run writing to a results file at this moment?
pub fn is_being_written(path: &Path) -> bool {
    let lock = File::open(beside(path, ".run.lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Sidecar {
    /// The state of a run.
    pub(super) fn new(fingerprint: Value, total: usize, done: usize, proofs: Option<PathBuf>) -> Sidecar {
        Sidecar { format_version: VERSION, fingerprint, total, done, complete: done >= total, proofs }
    }

    /// The sidecar of `results`, if there is one.
    pub fn load(results: &Path) -> Result<Option<Sidecar>, ResultError> {
        let path = sidecar_path(results);
        let wrong = |place: String, problem: String| ResultError::DamagedSidecar {
            file: name(&path),
            place,
            problem,
            remedy: "restore it from a copy, or move it away: `summary` and `report` then read the rows alone; `join` and `collective --radii` need it",
        };
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ResultError::Unreadable { file: name(&path), source });
            }
            Ok(bytes) => bytes,
        };
        let sidecar: Sidecar = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("line {}, column {}", error.line(), error.column()), error.to_string()))?;
        if sidecar.format_version != VERSION {
            let problem = format!("the version is {}, this gcnproof knows {VERSION}", sidecar.format_version);
            return Err(wrong("`format_version`".to_owned(), problem));
        }
        Ok(Some(sidecar))
    }

    /// Writes the sidecar of `results`.
    pub(super) fn save(&self, results: &Path) -> Result<(), ResultError> {
        let path = sidecar_path(results);
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| ResultError::Unencodable { file: name(&path), problem: error.to_string() })?;
        bytes.push(b'\n');
        disk::replace(&path, &bytes)
    }

    /// What tells the run of this sidecar from another one, empty if nothing does.
    pub(super) fn differences(&self, fingerprint: &Value, total: usize) -> Vec<String> {
        let mut found = Vec::new();
        compare(String::new(), Some(&self.fingerprint), Some(fingerprint), &mut found);
        if self.total != total {
            found.push(difference("total", self.total, total));
        }
        found
    }

    /// The same in the words of the command line, where there are any.
    pub(super) fn told(&self, fingerprint: &Value, total: usize) -> String {
        let runs = Description::read(&self.fingerprint).ok().zip(Description::read(fingerprint).ok());
        let words = runs.and_then(|(before, now)| before.difference(&now));
        words.unwrap_or_else(|| summary(self.differences(fingerprint, total)))
    }
}

/// The differences in one line.
fn summary(mut differences: Vec<String>) -> String {
    let more = differences.len().saturating_sub(SHOWN);
    differences.truncate(SHOWN);
    let mut text = differences.join("; ");
    if more > 0 {
        text += &format!("; and {more} more");
    }
    text
}

fn difference(key: &str, file: impl Display, now: impl Display) -> String {
    format!("{key}: {file} in the file, {now} now")
}

/// Descends into objects, so that a difference has a name like `budget.global`.
fn compare(key: String, file: Option<&Value>, now: Option<&Value>, found: &mut Vec<String>) {
    match (file, now) {
        (Some(Value::Object(file)), Some(Value::Object(now))) => {
            let new = now.keys().filter(|name| !file.contains_key(*name));
            for name in file.keys().chain(new) {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                compare(key, file.get(name), now.get(name), found);
            }
        }
        _ if file == now => {}
        _ => {
            let key = if key.is_empty() { "fingerprint" } else { &key };
            found.push(difference(key, shown(file), shown(now)));
        }
    }
}

/// A value in a complaint: short, since a list of nodes can be long.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "absent".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
