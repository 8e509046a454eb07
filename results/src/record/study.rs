//! The manifest of a study: which runs it has, and in which files their results are.
//!
//! For one graph and several models a study holds, per model, the verdicts at one `Q`, the radii by the paper's bound,
//! by ours and (if asked for) exactly, and the numbers of a sample of class pairs. One radius per node and method gives
//! the whole curve of certified shares against `Q`: a certificate for `Q` holds for every smaller one, and a witness of
//! `k` flips for every `Q ≥ k`.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ResultError;

/// The version of the manifest.
const VERSION: u32 = 1;

/// What can be wrong with the manifest of a study.
///
/// In every variant `file` is the file and `problem` what is wrong.
#[allow(missing_docs)]
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum StudyError {
    /// The manifest cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Results(#[from] ResultError),
    /// The folder is not a study.
    #[error("{folder}: there is no study.json in it")]
    #[diagnostic(help(
        "give the folder that `gcnproof study … --out FOLDER` wrote, or name the result files one by one"
    ))]
    NotAStudy {
        /// The folder.
        folder: String,
    },
    /// The manifest of a study cannot be understood.
    #[error("{file}: damaged: {problem}")]
    #[diagnostic(help(
        "run the study again with --resume: it goes on with the results that are there and writes this file anew"
    ))]
    Manifest { file: String, problem: String },
}

/// What a study consists of: the content of `study.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this layout.
    pub gcnproof_study: u32,
    /// What the graph is called.
    pub graph: String,
    /// The models and their results.
    pub models: Vec<Model>,
    /// The commands that made it, each with its date and version. Older studies do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// The results of one model, as names of files in the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What the model is called.
    pub name: String,
    /// Its files.
    pub files: Vec<String>,
    /// The file of the model itself. Older studies do not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Manifest {
    /// A study of no model yet.
    pub fn new(graph: &str) -> Manifest {
        Manifest { gcnproof_study: VERSION, graph: graph.to_string(), models: Vec::new(), commands: Vec::new() }
    }

    /// The manifest of a folder.
    pub fn load(folder: &Path) -> Result<Manifest, StudyError> {
        let path = manifest_path(folder);
        let wrong = |problem: String| StudyError::Manifest { file: path.display().to_string(), problem };
        let bytes = std::fs::read(&path).map_err(|_| StudyError::NotAStudy { folder: folder.display().to_string() })?;
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if manifest.gcnproof_study != VERSION {
            return Err(wrong(format!("its version is {}, this gcnproof knows {VERSION}", manifest.gcnproof_study)));
        }
        // A manifest names files beside it: anything else was not written by a study.
        let stranger = |file: &&String| Path::new(file.as_str()).components().count() != 1 || file.as_str() == "..";
        match manifest.models.iter().flat_map(|model| model.files.iter().chain(&model.model)).find(stranger) {
            Some(file) => Err(wrong(format!("'{file}' is not a file of this folder"))),
            None => Ok(manifest),
        }
    }

    /// Adds the files of a model to those that are known of it.
    pub fn add(&mut self, name: &str, files: Vec<String>) {
        let at = self.models.iter().position(|model| model.name == name).unwrap_or_else(|| {
            self.models.push(Model { name: name.to_string(), files: Vec::new(), model: None });
            self.models.len() - 1
        });
        let known = &mut self.models[at].files;
        for file in files {
            if !known.contains(&file) {
                known.push(file);
            }
        }
    }

    /// Notes that a model itself is kept, and says in which file of the folder.
    pub fn keep(&mut self, name: &str) -> String {
        let file = model_name(name);
        if let Some(model) = self.models.iter_mut().find(|model| model.name == name) {
            model.model = Some(file.clone());
        }
        file
    }

    /// Notes a command that worked on the study, and when; of the same one only the last time is kept.
    pub fn note(&mut self, command: &str, when: &str) {
        self.commands.retain(|known| !known.starts_with(&format!("{command} (")));
        self.commands.push(format!("{command} ({when})"));
    }

    /// Writes the manifest; the file is replaced as a whole.
    pub fn save(&self, folder: &Path) -> Result<(), StudyError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        crate::replace(&manifest_path(folder), text.as_bytes())?;
        Ok(())
    }
}

/// What a study's folder holds, by which it is known.
pub fn manifest_path(folder: &Path) -> PathBuf {
    folder.join("study.json")
}

/// The copy of the graph in a study's folder.
pub fn graph_path(folder: &Path) -> PathBuf {
    folder.join("graph.npz")
}

/// The copy of a model in a study's folder.
pub fn model_name(name: &str) -> String {
    format!("{name}.model.safetensors")
}

/// Names for models that can stand in file names and differ from each other: the stems of their files.
pub fn names(models: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in models {
        let stem = path.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy().into_owned());
        let legal = |c: char| if c.is_alphanumeric() || "-_+.".contains(c) { c } else { '_' };
        let stem: String = stem.chars().map(legal).collect();
        let mut name = stem.clone();
        let mut count = 1;
        while names.contains(&name) {
            count += 1;
            name = format!("{stem}-{count}");
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_legal() {
        let paths = ["a/gcn.npz", "b/gcn.safetensors", "c d/rh:u.npz"].map(PathBuf::from);
        assert_eq!(names(&paths), ["gcn", "gcn-2", "rh_u"]);
    }

    #[test]
    fn a_manifest_comes_back_and_names_no_strangers() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Manifest::load(folder.path()).is_err());
        let mut manifest = Manifest::new("cora");
        manifest.add("gcn", vec!["gcn.certify.parquet".into(), "gcn.certify.parquet".into()]);
        manifest.add("gcn", vec!["gcn.exact.parquet".into()]);
        assert_eq!((manifest.models.len(), manifest.models[0].files.len()), (1, 2));
        ["Monday", "Tuesday"].into_iter().for_each(|day| manifest.note("gcnproof study x", day));
        assert_eq!(manifest.commands, ["gcnproof study x (Tuesday)"]);
        manifest.save(folder.path()).unwrap();
        assert_eq!(Manifest::load(folder.path()).unwrap(), manifest);
        for stranger in ["../x.csv", "..", "/etc/x.csv"] {
            manifest.models[0].files[0] = stranger.into();
            manifest.save(folder.path()).unwrap();
            assert!(Manifest::load(folder.path()).is_err(), "{stranger}");
            manifest.models[0].files[0] = "gcn.certify.parquet".into();
            manifest.models[0].model = Some(stranger.into());
            manifest.save(folder.path()).unwrap();
            assert!(Manifest::load(folder.path()).is_err(), "{stranger}");
            manifest.keep("gcn");
            manifest.save(folder.path()).unwrap();
            assert!(Manifest::load(folder.path()).is_ok());
        }
        std::fs::write(folder.path().join("study.json"), "{").unwrap();
        assert!(matches!(Manifest::load(folder.path()), Err(StudyError::Manifest { .. })));
    }
}
