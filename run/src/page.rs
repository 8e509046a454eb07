//! The page of a report: which files and networks it is made of, and what is refused.

use std::path::{Path, PathBuf};

use gcnproof::{Graph, Network, Operator};
use gcnproof_files::GraphOptions;
use gcnproof_report::error::ReportError;
use gcnproof_report::group::Groups;
use gcnproof_report::landscape::Landscape;
use gcnproof_report::models::Models;
use gcnproof_report::origin::Origin;
use gcnproof_report::source::Sources;
use gcnproof_report::{Report, Written};
use gcnproof_results::contents::contents_of;
use gcnproof_results::record::description::Identity;
use miette::{Result, miette};

use super::input::{as_certified, no_graph};
use super::outputs::{Kind, NamedFile, check_folder, untouched, untouched_figures};

/// The graph of the results.
pub enum PageGraph {
    /// A file, and how it is read.
    File(PathBuf, GraphOptions),
    /// In memory.
    Memory(Graph),
}

/// A page that is to be made.
pub struct Page {
    /// Results, training logs, folders of studies.
    pub results: Vec<PathBuf>,
    /// The page.
    pub out: PathBuf,
    /// Overwrite it?
    pub force: bool,
    /// Its heading.
    pub title: Option<String>,
    /// The graph; that of a study, if none is given.
    pub graph: Option<PageGraph>,
    /// Files of the models of the results.
    pub models: Vec<PathBuf>,
    /// Such models in memory.
    pub networks: Vec<(Identity, Network)>,
    /// The message passing of models where results only know a matrix.
    pub rules: Vec<Operator>,
    /// When and by what the page is made.
    pub origin: Origin,
}

impl Page {
    /// Makes the page.
    ///
    /// # Errors
    /// If something is no result, or does not belong together, or the page cannot be written.
    pub fn make(self) -> Result<Written> {
        let ends = |end: &str| self.out.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
        if !ends("html") && !ends("htm") {
            return Err(miette!(help = "end the name in .html", "--out {}: the page is HTML", self.out.display()));
        }
        if let Some(path) = self.results.iter().find(|path| !path.exists()) {
            let name = path.display();
            let help = match path.extension().is_some_and(|end| end.eq_ignore_ascii_case("html")) {
                true => format!("is it the page that is to be written? Then say --out {name}"),
                false => "give files that gcnproof wrote with --out, training logs, or the folder of a study".into(),
            };
            return Err(miette!(help = help, "{name}: there is no such file or folder"));
        }
        check_results(&self.results, "report")?;
        check_folder(&NamedFile { option: "--out".into(), path: self.out.clone() })?;
        untouched(&self.out, Kind::Page, self.force, None)?;
        untouched_figures(&self.out, self.force)?;
        let sources = Sources::read(&self.results)?;
        let kept = sources.models.clone();
        let (copy, copy_name) = (sources.graph.clone(), sources.graph_name.clone());
        let mut groups = Groups::new(sources)?;
        let landscape = match (self.graph, copy) {
            (Some(PageGraph::Memory(graph)), _) => Some(in_memory(graph, groups.graph.as_deref())?),
            (Some(PageGraph::File(path, options)), _) => {
                let read =
                    |options: &GraphOptions| Landscape::read(&path, &stem(&path), options, groups.graph.as_deref());
                let read = as_certified(&options, read, |error| match error {
                    ReportError::Graph(error) => Some(error),
                    _ => None,
                });
                Some(read.map_err(|error| match error {
                    ReportError::Graph(error) => no_graph(&path, error, "give a graph file"),
                    error => error.into(),
                })?)
            }
            // The copy in a study was written after all repairs.
            (None, Some(path)) => {
                let name = copy_name.unwrap_or_else(|| stem(&path));
                Some(Landscape::read(&path, &name, &GraphOptions::default(), groups.graph.as_deref())?)
            }
            (None, None) => None,
        };
        if let Some(landscape) = &landscape {
            groups.measure(landscape);
        }
        if landscape.is_none() && !(self.models.is_empty() && self.networks.is_empty()) {
            return Err(miette!(help = "give the graph as well: --graph FILE", "--model needs the graph"));
        }
        let mut models = Models::read(&self.models, &kept, &self.rules, &groups, landscape.as_ref())?;
        for (identity, network) in self.networks {
            let same =
                |known: &&Identity| known.model == identity.model && known.message_passing == identity.message_passing;
            let known: Vec<Identity> = groups.identities().filter(same).cloned().collect();
            if known.is_empty() {
                return Err(ReportError::OtherModel { model: "model".into() }.into());
            }
            known.into_iter().for_each(|known| models.add(known, network.clone()));
        }
        let title = self.title.unwrap_or_else(|| match &landscape {
            Some(landscape) => format!("Robustness of graph convolutional networks on {}", landscape.name),
            None => "Robustness of graph convolutional networks".to_string(),
        });
        Ok(Report { title, groups, landscape, models, origin: self.origin }.write(&self.out)?)
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// A graph that must be the one of the results.
fn in_memory(graph: Graph, digest: Option<&str>) -> Result<Landscape> {
    if digest.is_some_and(|digest| digest != graph.digest()) {
        return Err(miette!(
            help = "give the graph that was certified, or none at all",
            "the results were computed on another graph"
        ));
    }
    Ok(Landscape::new("graph", graph))
}

/// Looks for files that are no results before any is read: graphs and models stand behind options of their own.
///
/// # Errors
/// With what the first of them is.
pub fn check_results(paths: &[PathBuf], command: &str) -> Result<()> {
    paths.iter().filter(|path| path.is_file()).try_for_each(|path| check_one(path, command))
}

fn check_one(path: &Path, command: &str) -> Result<()> {
    let ends = |end: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
    if ends("npz") || ends("safetensors") {
        let is_graph = ends("npz") && gcnproof_files::read_model(path).is_err();
        let (what, option) = if is_graph { ("graph", "--graph") } else { ("model", "--graph GRAPH --model") };
        let option =
            if command == "report" || is_graph { format!(" {option} {}", path.display()) } else { String::new() };
        return Err(miette!(
            help = format!(
                "run `gcnproof certify GRAPH MODEL -Q 12 --out results.parquet` first, then `gcnproof {command} \
                 results.parquet{option}`"
            ),
            "{}: is a {what}, but a {command} is made of results",
            path.display()
        ));
    }
    let Some(what) = contents_of(path) else { return Ok(()) };
    let name = path.display();
    if what == "a file of proofs" {
        return Err(miette!(
            help = format!(
                "`gcnproof check GRAPH MODEL {name}` checks proofs; results are what certify writes with --out"
            ),
            "{name}: is {what}, but a {command} is made of results"
        ));
    }
    if what.starts_with("a page") || what.starts_with("an array") {
        let made = if command == "report" { "; --out names the page that is made" } else { "" };
        return Err(miette!(
            help = format!(
                "give files that certify, radius or collective wrote with --out, or the folder of a study{made}"
            ),
            "{name}: is {what}, but a {command} is made of results"
        ));
    }
    let end = match what {
        "a table of results (JSON lines)" | "a training log" => "jsonl",
        "a table of results (Parquet)" => "parquet",
        _ => "csv",
    };
    if ends(end) {
        return Ok(());
    }
    Err(miette!(
        help = format!(
            "rename it to {}, and its .run.json, if there is one, in the same way",
            path.with_extension(end).display()
        ),
        "{name}: is {what}, and its name says something else"
    ))
}
