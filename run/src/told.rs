//! What went wrong, in words that say a thing once.

use std::fmt;

use miette::Report;

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

/// A message, its remedy, and those of its causes that say something new: most messages already end in what the
/// operating system said.
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

/// A cross before the message, an arrow before each cause, the remedy last; lines of at most 80 characters where words
/// allow it.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        folded(f, "  × ", "  │ ", &self.message)?;
        let mut cause = self.cause.as_deref();
        while let Some(told) = cause {
            folded(f, "  ╰─▶ ", "      ", &told.message)?;
            cause = told.cause.as_deref();
        }
        self.help.as_ref().map_or(Ok(()), |help| folded(f, "  help: ", "        ", help))
    }
}

/// A text whose first line starts with `first` and whose other lines start with `next`.
fn folded(f: &mut fmt::Formatter, first: &str, next: &str, text: &str) -> fmt::Result {
    let room = 80 - first.chars().count();
    let mut start = first;
    for line in text.lines() {
        let mut used = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > room {
                writeln!(f)?;
                used = 0;
            }
            f.write_str(if used == 0 { start } else { " " })?;
            f.write_str(word)?;
            used += length + 1;
            start = next;
        }
        writeln!(f)?;
    }
    Ok(())
}
