//! The verified checker as a running program: one line is a question, one line is the answer.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The name of the program.
pub(super) const NAME: &str = "gcnproof-verified";

/// The program: what `GCNPROOF_VERIFIED` names, or one beside this program or where `make verified` puts it, or one on
/// the search path.
///
/// # Errors
/// If there is none, with the remedy.
pub fn find_program() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("GCNPROOF_VERIFIED") {
        let path = PathBuf::from(named);
        let missing = || format!("GCNPROOF_VERIFIED names {}, which is not there", path.display());
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    let own = std::env::current_exe().unwrap_or_default();
    // Programs are in target/release, tests in target/release/deps.
    let above = own.ancestors().skip(1).take(3);
    let mut folders: Vec<PathBuf> = above.flat_map(|folder| [folder.to_path_buf(), folder.join("verified")]).collect();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let found = folders.into_iter().map(|folder| folder.join(NAME)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{NAME} is not installed: `make verified` builds it, GCNPROOF_VERIFIED=FILE names it"))
}

/// The program, running.
pub(super) struct Process {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the program and tells it what proofs are about.
    ///
    /// # Errors
    /// If it cannot be run, or does not understand the statement.
    pub(super) fn start(
        program: &Path,
        statement: impl FnOnce(&mut BufWriter<ChildStdin>) -> io::Result<()>,
    ) -> Result<Process, String> {
        let failed = |error: io::Error| format!("{} cannot be run: {error}", program.display());
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{} has no input or output", program.display()));
        };
        let (to, from) = (BufWriter::with_capacity(1 << 16, input), BufReader::new(output));
        let mut process = Process { child, to, from };
        let told = statement(&mut process.to).and_then(|()| process.to.flush());
        let answer = told.map_err(|error| process.gone(&error)).and_then(|()| process.answer())?;
        if answer == "ready" { Ok(process) } else { Err(format!("{NAME} answers '{answer}' to a statement")) }
    }

    /// What it answers to a line.
    ///
    /// # Errors
    /// If it does not answer.
    pub(super) fn question(&mut self, line: &str) -> Result<String, String> {
        let sent = writeln!(self.to, "{line}").and_then(|()| self.to.flush());
        sent.map_err(|error| self.gone(&error)).and_then(|()| self.answer())
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().into()),
            Ok(_) => Err(self.gone(&io::Error::from(io::ErrorKind::UnexpectedEof))),
            Err(error) => Err(self.gone(&error)),
        }
    }

    fn gone(&mut self, error: &io::Error) -> String {
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{NAME} has ended ({status}; {error})")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be in the middle of something.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
