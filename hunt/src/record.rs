//! A finding that is kept as it was found: files, commands, and what is true, ready to be written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::finding::Kind;

/// Something found, with everything that is needed to see it again.
#[derive(Clone, Debug)]
pub struct Record {
    /// The area.
    pub area: Area,
    /// What is wrong.
    pub kind: Kind,
    /// In words.
    pub message: String,
    /// Files by name: graph, model, budgets, proofs.
    pub files: Vec<(String, Vec<u8>)>,
    /// Commands, what is true, and all numbers.
    pub text: String,
}

impl Record {
    /// Writes the record into a folder of its own inside `out`; returns the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, out: &Path, name: &str) -> io::Result<PathBuf> {
        let folder = out.join(name);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes)?;
        }
        let title = format!("# {} ({}): {}\n\n", self.kind.name(), self.area.name(), self.message);
        fs::write(folder.join("README.md"), title + &self.text)?;
        Ok(folder)
    }
}
