//! What goes wrong, as exceptions of the Python package.

use gcnproof_run::reproduction::is_contradiction;
use gcnproof_run::told::words;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Options of the command line that are switches in Python.
const SWITCHES: [&str; 6] = ["resume", "force", "complete", "minimize", "exact-margins", "symmetrize"];

/// Words about the command line as words about Python: `--freeze-nodes` is `freeze_nodes`, `--force` is `force=True`.
pub fn pythonic(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, after) = rest.split_at(at);
        let after = &after[2..];
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(after.len());
        told += before;
        match &after[..end] {
            "" => told += "--",
            "class" => {
                told += "class_";
            }
            "bounds-only" => {
                told += "complete=False";
            }
            name if SWITCHES.contains(&name) => {
                told += &name.replace('-', "_");
                told += "=True";
            }
            name => told += &name.replace('-', "_"),
        }
        rest = &after[end..];
    }
    told + rest
}

/// An exception of the package with a message and a remedy.
pub fn raise(py: Python, kind: &str, message: &str, help: Option<&str>) -> PyErr {
    let made = py.import("gcnproof.errors").and_then(|errors| {
        let error = errors.getattr(kind)?.call1((pythonic(message), help.map(pythonic)))?;
        Ok(PyErr::from_value(error))
    });
    made.unwrap_or_else(|error| error)
}

/// What a command could not do.
pub fn from_report(py: Python, report: &miette::Report) -> PyErr {
    let (message, help) = words(report);
    if is_contradiction(report) {
        return bug(&message);
    }
    raise(py, "InputError", &message, help.as_deref())
}

/// An error of the library in its own words.
pub fn from_error(py: Python, error: impl miette::Diagnostic) -> PyErr {
    let help = error.help().map(|help| help.to_string());
    raise(py, "InputError", &error.to_string(), help.as_deref())
}

/// A wrong argument.
pub fn wrong(py: Python, message: &str, help: &str) -> PyErr {
    raise(py, "InputError", message, Some(help))
}

/// A bug.
pub fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("{what}: this is a bug of gcnproof, please report it"))
}
