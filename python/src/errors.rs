//! What goes wrong, as exceptions of the Python package.

use gcnproof_run::reproduction::is_contradiction;
use gcnproof_run::told::words;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// An exception of the package with a message and a remedy, in the words of Python.
pub fn raise(py: Python, kind: &str, message: &str, help: Option<&str>) -> PyErr {
    let made = py.import("gcnproof.errors").and_then(|errors| {
        let pythonic = errors.getattr("pythonic")?;
        let help = help.map(|help| pythonic.call1((help,))).transpose()?;
        let error = errors.getattr(kind)?.call1((pythonic.call1((message,))?, help))?;
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
