//! Standard output that may be closed or full, and messages that say a thing once.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use miette::{Diagnostic, Report, Result, miette};

/// The exit code after the reader of standard output has gone away: what a shell reports of `ls | head -1`.
pub const CLOSED: u8 = 141;

/// A line on standard output.
macro_rules! say {
    ($($parts:tt)*) => { $crate::command::output::write(format_args!("{}\n", format_args!($($parts)*))) };
}

/// Text on standard output.
macro_rules! put {
    ($($parts:tt)*) => { $crate::command::output::write(format_args!($($parts)*)) };
}

/// A line on standard error. If that is closed too, there is nobody left to tell.
macro_rules! note {
    ($($parts:tt)*) => { $crate::command::output::tell(format_args!($($parts)*)) };
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

/// Writes to standard output, now and not at some time later, so that a failure is seen.
pub fn write(text: fmt::Arguments) -> Result<()> {
    let mut output = io::stdout().lock();
    output.write_fmt(text).and_then(|()| output.flush()).map_err(unwritten)
}

/// Writes a line to standard error.
pub fn tell(line: fmt::Arguments) {
    let _ = writeln!(io::stderr(), "{line}");
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
    note!("{:?}", Report::new(Told::new(report)));
    2
}

/// A message, its remedy, and those of its causes that say something new: most messages already end in what the operating
/// system said.
#[derive(Debug)]
struct Told {
    message: String,
    help: Option<String>,
    cause: Option<Box<Told>>,
}

impl Told {
    fn new(report: &Report) -> Told {
        let mut said: Vec<String> = Vec::new();
        for cause in report.chain().map(ToString::to_string) {
            if !said.iter().any(|before| before.contains(&cause)) {
                said.push(cause);
            }
        }
        let link = |cause, message| Some(Box::new(Told { message, help: None, cause }));
        let first = said.remove(0);
        let cause = said.into_iter().rev().fold(None, link);
        Told { message: first, help: report.help().map(|help| help.to_string()), cause }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl Diagnostic for Told {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }
}
