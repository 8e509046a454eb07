//! What went wrong, in words that say a thing once.

use std::error::Error;
use std::fmt;

use miette::{Diagnostic, Report};

/// What went wrong in one text, and the remedy.
pub fn words(report: &Report) -> (String, Option<String>) {
    let told = Told::new(report);
    let mut text = told.message.clone();
    let mut cause = told.cause.as_deref();
    while let Some(told) = cause {
        text += ": ";
        text += &told.message;
        cause = told.cause.as_deref();
    }
    (text, told.help)
}

/// A message, its remedy, and those of its causes that say something new: most messages already end in what the operating
/// system said.
#[derive(Debug)]
pub struct Told {
    message: String,
    help: Option<String>,
    cause: Option<Box<Told>>,
}

impl Told {
    /// Of a report.
    pub fn new(report: &Report) -> Told {
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
