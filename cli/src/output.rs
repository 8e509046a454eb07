//! Standard output that may be closed or full, and messages that say a thing once.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard};

use gcnproof_run::reproduction;
use gcnproof_run::told::Told;
use miette::{Diagnostic, Report, Result, miette};

pub use gcnproof_run::told::words;

/// The exit code after the reader of standard output has gone away: what a shell reports of `ls | head -1`.
pub const CLOSED: u8 = 141;

/// A line on standard output.
macro_rules! say {
    ($($parts:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($parts)*))) };
}

/// Text on standard output.
macro_rules! put {
    ($($parts:tt)*) => { $crate::output::write(format_args!($($parts)*)) };
}

/// A line on standard error. If that is closed too, there is nobody left to tell.
macro_rules! note {
    ($($parts:tt)*) => { $crate::output::tell(format_args!($($parts)*)) };
}

/// The reader of standard output has gone away. No error for anybody, and no reason to go on.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl Error for Closed {}
impl Diagnostic for Closed {}

/// What commands have said inside another program.
#[derive(Debug, Default)]
pub struct Said {
    /// Standard output.
    pub output: String,
    /// Lines of standard error.
    pub notes: Vec<String>,
}

/// Nothing, where commands write to the terminal.
static SAID: Mutex<Option<Said>> = Mutex::new(None);

fn said() -> MutexGuard<'static, Option<Said>> {
    SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// From now on what commands say is kept, and not written: they run inside another program. Returns what has been kept.
pub fn capture() -> Said {
    said().replace(Said::default()).unwrap_or_default()
}

/// Do commands run inside another program?
pub fn is_captured() -> bool {
    said().is_some()
}

/// Writes to standard output, now and not at some time later, so that a failure is seen.
pub fn write(text: fmt::Arguments) -> Result<()> {
    if let Some(said) = &mut *said() {
        said.output += &text.to_string();
        return Ok(());
    }
    let mut output = io::stdout().lock();
    output.write_fmt(text).and_then(|()| output.flush()).map_err(unwritten)
}

/// Writes a line to standard error.
pub fn tell(line: fmt::Arguments) {
    match &mut *said() {
        Some(said) => said.notes.push(line.to_string()),
        None => {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// What a refusal of standard output means.
pub fn unwritten(error: io::Error) -> Report {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Closed.into();
    }
    miette!(
        help = "is the disk full? Files named by --out and --proofs are written before standard output",
        "standard output cannot be written: {error}"
    )
}

/// Says what went wrong, and returns the exit code.
pub fn fail(report: &Report) -> u8 {
    if report.downcast_ref::<Closed>().is_some() {
        return CLOSED;
    }
    note!("{}", Told::new(report));
    if reproduction::is_contradiction(report) { reproduction::EXIT } else { 2 }
}
