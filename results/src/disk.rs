//! Atomic file replacement, removal of leftovers, the lock of a run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::{ResultError, name, unwritable};

/// Between the name of a file and the random part of the name of its temporary file.
const INFIX: &str = ".gcnproof-";

/// The end of the name of a temporary file.
const SUFFIX: &str = ".part";

/// How many letters and digits the random part has.
const RANDOM: usize = 6;

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How the temporary files of `path` begin.
fn prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(INFIX);
    prefix
}

/// What takes the bytes of a file, one part after the other.
pub(super) type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), ResultError>;

/// Puts `bytes` in the place of the contents of `path`. At every moment, and after a crash at any
/// moment, the file holds either all of the old or all of the new bytes.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), ResultError> {
    replace_with(path, |put| put(bytes))
}

/// The same with the bytes that `write` hands over, part by part.
pub(super) fn replace_with(path: &Path, write: impl FnOnce(Put) -> Result<(), ResultError>) -> Result<(), ResultError> {
    let prefix = prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    // A temporary file is for its owner only; results are as open as the user's umask makes
    // other files.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder(path)).map_err(unwritable(path))?;
    let mut buffer = BufWriter::new(file.as_file());
    write(&mut |bytes| buffer.write_all(bytes).map_err(unwritable(path)))?;
    buffer.flush().map_err(unwritable(path))?;
    drop(buffer);
    file.as_file().sync_all().map_err(unwritable(path))?;
    file.persist(path).map_err(|error| unwritable(path)(error.error))?;
    // A power cut must not undo this rename and keep a later one. Not every system can sync a
    // folder.
    if let Ok(folder) = File::open(folder(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Deletes the temporary files that killed runs left behind `path`. What cannot be deleted does no
/// harm.
pub(super) fn sweep(path: &Path) {
    let prefix = prefix(path);
    let leftover = |file: &OsStr| {
        let middle = file.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        let random = middle.and_then(|middle| middle.strip_suffix(SUFFIX.as_bytes()));
        random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
    };
    let Ok(entries) = fs::read_dir(folder(path)) else {
        return;
    };
    for entry in entries.flatten() {
        if leftover(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The key to a results file, which only one run can have. The operating system takes it back from
/// a killed run.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Holds the lock until it is closed.
    _file: File,
}

impl Lock {
    /// Takes the key to `path` by locking the file `lock`. Where there are no locks, as on some
    /// network drives, the key is given to everybody.
    pub(super) fn take(path: &Path, lock: PathBuf) -> Result<Lock, ResultError> {
        let file = File::options().create(true).truncate(false).write(true).open(&lock).map_err(unwritable(path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(ResultError::Busy { file: name(path) }),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock { path: lock, _file: file }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
