//! What is kept when two steps contradict each other: everything that reproduces it, in a folder of its own.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use gcnproof::proof::model_file;
use gcnproof::{Contradiction, Network};
use gcnproof_files::FileError;
use gcnproof_files::write::{write_graph_npz, write_model_safetensors};
use gcnproof_results::record::description::Description;
use miette::{Diagnostic, IntoDiagnostic, Report, Result};

use super::host::Host;
use super::told::words;

/// The exit code of a run that has contradicted itself.
pub const EXIT: u8 = 70;

/// A run that has contradicted itself: what two steps have said, and where the files to reproduce it are.
#[derive(Debug)]
struct Kept {
    contradiction: Contradiction,
    folder: Result<PathBuf, String>,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "two steps contradict each other: {}. ", self.contradiction)?;
        match &self.folder {
            Ok(folder) => write!(f, "The files to reproduce it are in {}", folder.display()),
            Err(why) => write!(f, "The files to reproduce it could not be written: {why}"),
        }
    }
}

impl std::error::Error for Kept {}

impl Diagnostic for Kept {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(
            "this is a bug of gcnproof: please report it with that folder, and rely on no verdict of this run. Rows written before \
             are kept",
        ))
    }
}

/// Is this what a run says that has contradicted itself?
pub fn is_contradiction(report: &Report) -> bool {
    report.downcast_ref::<Kept>().is_some()
}

/// Keeps what reproduces a contradiction, beside the file of results or in the folder for temporary files. Returns what
/// is to be said.
pub fn keep(
    contradiction: Contradiction,
    description: &Description,
    results: Option<&Path>,
    host: &dyn Host,
) -> Report {
    let folder = write(&contradiction, description, results, host).map_err(|report| words(&report).0);
    Report::new(Kept { contradiction, folder })
}

fn write(
    contradiction: &Contradiction,
    description: &Description,
    results: Option<&Path>,
    host: &dyn Host,
) -> Result<PathBuf> {
    let beside = results.and_then(|path| path.parent()).map(|parent| match parent.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => parent.to_owned(),
    });
    let folder = new_folder(&beside.unwrap_or_else(std::env::temp_dir))?;
    let name = |file: &str| folder.join(file);
    let run = serde_json::to_string_pretty(&description.fingerprint()).into_diagnostic()?;
    fs::write(name("run.json"), run).into_diagnostic()?;
    let mut told = format!("gcnproof {}\n\n{contradiction}\n\n", env!("CARGO_PKG_VERSION"));
    if let Some((graph, network)) = &host.remembered() {
        write_graph_npz(&name("graph.npz"), &graph.file())?;
        write_model(&name("model.safetensors"), network)?;
        told += "graph.npz and model.safetensors: the graph and the network as the run has seen them\n";
    }
    told += "run.json: budget and settings\n";
    told += &host.add_to_reproduction(&folder, results)?;
    fs::write(name("contradiction.txt"), told).into_diagnostic()?;
    Ok(folder)
}

/// A folder that was not there.
fn new_folder(beside: &Path) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let folder = beside.join(format!("gcnproof-contradiction-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| folder).into_diagnostic(),
        }
    }
}

/// Writes a network as a model file.
///
/// # Errors
/// If the file cannot be written.
pub fn write_model(path: &Path, network: &Network) -> Result<(), FileError> {
    let model = model_file(network, "");
    write_model_safetensors(path, &model.layers, model.precision, &model.metadata)
}
