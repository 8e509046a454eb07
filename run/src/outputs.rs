//! The files that a command writes: each has a name of its own, and none is a file that the command reads.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use gcnproof::proof::is_proofs;
use gcnproof_results::contents::{contents_of, is_results};
use miette::{Result, miette};

/// A file, and the option or argument that names it.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// As the user has it: `--out`, `GRAPH`.
    pub option: String,
    /// Where it is, or will be.
    pub path: PathBuf,
}

/// Refuses to write two things to one file, or over what is read: the last one written would be all that is left.
///
/// # Errors
/// With the first two options that name the same file.
pub fn check_distinct(written: &[NamedFile], read: &[NamedFile]) -> Result<()> {
    for (at, one) in written.iter().enumerate() {
        if let Some(other) = written[..at].iter().find(|other| same_file(&one.path, &other.path)) {
            return Err(miette!(
                help = "give each of them a file of its own",
                "{} and {} name the same file, {}: only one of them would be left",
                other.option,
                one.option,
                one.path.display()
            ));
        }
        if let Some(input) = read.iter().find(|input| same_file(&one.path, &input.path)) {
            return Err(miette!(
                help = format!("choose another name for {}", one.option),
                "{} {}: is also the file of {}, which would be overwritten",
                one.option,
                one.path.display(),
                input.option
            ));
        }
    }
    Ok(())
}

/// A file can be written only into a folder that is there: said before hours of work, not after.
///
/// # Errors
/// If there is no such folder, or a folder has the name of the file.
pub fn check_folder(file: &NamedFile) -> Result<()> {
    let (option, path) = (&file.option, &file.path);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent.filter(|parent| !parent.is_dir()) {
        Some(parent) if parent.exists() => Err(miette!(
            help = "choose another place",
            "{option} {}: {} is a file, and not a folder",
            path.display(),
            parent.display()
        )),
        Some(parent) => Err(miette!(
            help = format!("make the folder first (`mkdir -p {}`), or choose another place", parent.display()),
            "{option} {}: the folder {} does not exist",
            path.display(),
            parent.display()
        )),
        None if path.is_dir() => Err(miette!(
            help = "give the name of a file inside it",
            "{option} {}: is a folder, and a file is meant",
            path.display()
        )),
        None => Ok(()),
    }
}

/// What a command writes, and all that it overwrites: whatever else is there stays, with `--force` or without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The state of a training that is not finished.
    Checkpoint,
    /// The log of a training.
    Log,
    /// A model as safetensors.
    Model,
    /// The page of a report.
    Page,
    /// A figure as SVG.
    Figure,
    /// The manifest of a study.
    Study,
    /// Results, or proofs.
    Answers,
}

impl Kind {
    /// With its article.
    fn words(self) -> &'static str {
        match self {
            Kind::Checkpoint => "a checkpoint",
            Kind::Log => "a training log",
            Kind::Model => "a model (safetensors)",
            Kind::Page => "a page that gcnproof made",
            Kind::Figure => "a figure that gcnproof drew",
            Kind::Study => "the manifest of a study",
            Kind::Answers => "a file of results or proofs that gcnproof wrote",
        }
    }

    /// Is a file of this kind, or empty? Only its beginning is looked at.
    pub fn is(self, path: &Path) -> bool {
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut start));
        if read.is_err() || start.is_empty() {
            return read.is_ok();
        }
        let says = |text: &str| String::from_utf8_lossy(&start).contains(text);
        match self {
            Kind::Checkpoint => contents_of(path).is_some_and(|what| what.starts_with("the checkpoint")),
            Kind::Log => contents_of(path) == Some("a training log"),
            // The length of a header, and the header.
            Kind::Model => start.get(8) == Some(&b'{') && start.get(4..8) == Some(&[0; 4][..]),
            Kind::Page => says("<meta name=\"generator\" content=\"gcnproof"),
            Kind::Figure => says("<svg ") && says("<rect class=\"paper\""),
            Kind::Study => says("\"gcnproof_study\""),
            Kind::Answers => is_results(path) || is_proofs(path).unwrap_or(false),
        }
    }

    /// Refuses a file that is there and something else.
    ///
    /// # Errors
    /// If it is.
    pub fn check(self, path: &Path) -> Result<()> {
        if !path.exists() || self.is(path) {
            return Ok(());
        }
        Err(miette!(
            help = "choose another name, or move the file away",
            "{}: is not {}, and is not overwritten",
            path.display(),
            self.words()
        ))
    }
}

/// Refuses to touch a file that is there, unless that was asked for and it is of the kind that is written. Commands
/// that can go on with an interrupted run pass whether they were told to.
///
/// # Errors
/// If it is there.
pub fn untouched(path: &Path, kind: Kind, force: bool, resume: Option<bool>) -> Result<()> {
    kind.check(path)?;
    if force || resume == Some(true) || !path.exists() {
        return Ok(());
    }
    let help = match resume {
        Some(_) => "go on with an interrupted run by --resume, start over by --force, or choose another name",
        None => "overwrite it by --force, or choose another name",
    };
    Err(miette!(help = help, "{} exists already", path.display()))
}

/// The same of the figures of a page, which stand in a folder beside it: SVG, and their numbers as CSV.
///
/// # Errors
/// If one is there.
pub fn untouched_figures(page: &Path, force: bool) -> Result<()> {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let folder = page.with_file_name(format!("{stem}-figures"));
    if folder.is_file() {
        return Err(miette!(
            help = "choose another name for the page, or move the file away",
            "{}: is a file, and the figures of the page go into a folder of this name",
            folder.display()
        ));
    }
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(()) };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is_named = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fig"));
    let ends = |path: &Path, end: &str| path.extension().is_some_and(|found| found == end);
    let mut drawn = Vec::new();
    for path in files.iter().filter(is_named) {
        // Numbers are those of the figure beside them.
        let figure = path.with_extension("svg");
        if ends(path, "svg") {
            Kind::Figure.check(path)?;
        } else if ends(path, "csv") && !Kind::Figure.is(&figure) {
            return Err(miette!(
                help = "choose another name for the page, or move the file away",
                "{}: is not a file that gcnproof wrote, and is not overwritten",
                path.display()
            ));
        } else if !ends(path, "csv") {
            continue;
        }
        drawn.push(figure);
    }
    // What is not ours is told first: there --force does not help.
    drawn.iter().try_for_each(|figure| untouched(figure, Kind::Figure, force, None))
}

/// Do both paths lead to one file, whether it is there or not?
pub fn same_file(one: &Path, other: &Path) -> bool {
    place(one) == place(other)
}

/// The path without links and dots, as far as it exists.
fn place(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}
