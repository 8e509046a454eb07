//! `gcnproof join`: puts the results or the proofs of the parts of a graph together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::proof::{Member, join_proofs, read_header};
use gcnproof_files::{GraphOptions, PartFile, read_graph_or_part};
use gcnproof_results::contents::contents_of;
use gcnproof_results::record::description::{Description, NodeSet, PartRecord};
use gcnproof_results::record::{NodeRecord, RadiusRecord};
use gcnproof_results::{Column, Journal, Mode, Sidecar};
use gcnproof_run::outputs::Kind;
use gcnproof_run::question::check_json_lines;
use miette::{Result, miette};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::partition::part_files;
use super::run::{Format, untouched};

/// Join the results, or the proofs, of the parts of a graph: the whole graph's own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof join results-*.parquet --out results.parquet
  gcnproof join proofs-*.jsonl.zst --parts parts --out proofs.jsonl.zst
  gcnproof check graph.npz gcn.safetensors proofs.jsonl.zst -Q 12

Rows already name nodes by their ids in the whole graph. Proofs name them by the rows of their part, so that `gcnproof check`
can check them against it: joining translates them, and the whole graph's file is what checks the joined ones.

Exit codes: 0 done, 2 files that do not belong together, or that are not finished.")]
pub struct Join {
    /// Results of `certify` or `radius`, or files of proofs, one for each part
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where all of them go: .parquet, .jsonl or .csv for results, .jsonl or .jsonl.zst for proofs
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: PathBuf,
    /// The folder that `gcnproof partition` wrote; needed for proofs
    #[arg(long, value_name = "DIR")]
    parts: Option<PathBuf>,
    /// Some parts may be missing
    #[arg(long)]
    some: bool,
    /// Overwrite what is there
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
}

/// A results file and what its run was.
struct Results {
    path: PathBuf,
    description: Description,
    part: PartRecord,
}

impl Join {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.files.iter().find(|path| !seen.insert(path.as_path())) {
            return Err(miette!(help = "name each file once", "{}: is named twice", twice.display()));
        }
        for path in &self.files {
            check_there(path)?;
        }
        untouched(&self.out, Kind::Answers, self.force, None)?;
        // What stands in its first line tells a file of proofs.
        let (what, nodes) = match read_header(&self.files[0])? {
            Some(_) => ("proofs", self.proofs()?),
            None => ("rows", self.rows()?),
        };
        match self.format {
            Format::Json => say!("{}", json!({ "file": self.out, what: nodes, "parts": self.files.len() }))?,
            Format::Table => say!("{nodes} {what} of {} parts: {}", self.files.len(), self.out.display())?,
        }
        Ok(0)
    }

    fn mode(&self) -> Mode {
        if self.force { Mode::Force } else { Mode::Fresh }
    }

    fn rows(&self) -> Result<usize> {
        let all = self.files.iter().map(|path| read_results(path)).collect::<Result<Vec<Results>>>()?;
        let [first, others @ ..] = all.as_slice() else { return Ok(0) };
        for other in others {
            let runs = [first, other].map(|one| whole(&one.description, 0, None));
            let of = [first, other].map(|one| one.part.of);
            if runs[0] == runs[1] && of[0] == of[1] {
                continue;
            }
            let names = [first, other].map(|one| one.path.display().to_string());
            let [one, two] = names.each_ref().map(String::as_str);
            let words = match runs[0].contrast(&runs[1], [one, two]) {
                Some(words) => words,
                None if of[0] != of[1] => format!("one is of a graph in {} parts, the other in {}", of[0], of[1]),
                None => "their settings differ".to_string(),
            };
            return Err(miette!(
                help = "join what was asked of the parts of one graph with the same model, budget and options",
                "{one} and {two} are of different runs: {words}"
            ));
        }
        let numbers = all.iter().map(|one| (one.part.number, one.path.as_path()));
        self.check_parts(numbers.collect(), first.part.of)?;
        match &first.description {
            Description::Radius(_) => self.write(&all, RadiusRecord::SCHEMA, |row: &RadiusRecord| row.node),
            Description::Certify(run) => {
                let exact_margins = run.effort.is_some_and(|effort| effort.exact_margins);
                let schema = match run.budget.ranges {
                    Some(_) => NodeRecord::ranged_schema(run.deployed.is_some()),
                    None => NodeRecord::schema(exact_margins, run.deployed.is_some()),
                };
                self.write(&all, schema, |row: &NodeRecord| row.node)
            }
            _ => self.write(&all, NodeRecord::SCHEMA, |row: &NodeRecord| row.node),
        }
    }

    fn write<T: Serialize + DeserializeOwned>(
        &self,
        all: &[Results],
        schema: &'static [Column],
        key: fn(&T) -> u64,
    ) -> Result<usize> {
        let mut rows: BTreeMap<u64, T> = BTreeMap::new();
        for one in all {
            for row in gcnproof_results::read::<T>(&one.path, schema)? {
                let node = key(&row);
                if rows.insert(node, row).is_some() {
                    return Err(miette!(
                        help = "join the parts of one partition",
                        "{}: another file has a row of node {node}, too",
                        one.path.display()
                    ));
                }
            }
        }
        let nodes: Vec<usize> = rows.keys().map(|&node| node as usize).collect();
        let of = all.iter().find_map(|one| one.description.nodes()?.1.map(|set| set.of)).unwrap_or(nodes.len());
        let description = whole(&all[0].description, nodes.len(), NodeSet::new(&nodes, of));
        let total = rows.len();
        let mut journal = Journal::open(&self.out, schema, key, description.fingerprint(), total, self.mode())?;
        rows.into_values().try_for_each(|row| journal.push(row))?;
        journal.finish()?;
        Ok(total)
    }

    fn proofs(&self) -> Result<usize> {
        check_json_lines("--out", &self.out)?;
        let Some(folder) = &self.parts else {
            return Err(miette!(
                help = "name the folder that `gcnproof partition` wrote: --parts DIR",
                "proofs name nodes by the rows of their part: the parts are needed to join them"
            ));
        };
        if !folder.is_dir() {
            let problem = if folder.exists() { "is a file, and a folder is meant" } else { "there is no such folder" };
            return Err(miette!(
                help = "give the folder that `gcnproof partition --out` wrote",
                "--parts {}: {problem}",
                folder.display()
            ));
        }
        // Parts that are alike have the same digest: then the rows that a file is about tell which one it is of.
        let mut left: Vec<(String, PartFile)> = Vec::new();
        for path in part_files(folder)? {
            if let (graph, Some(part)) =
                read_graph_or_part(&path, &GraphOptions { real: true, ..GraphOptions::default() })?
            {
                left.push((graph.digest, part));
            }
        }
        if left.is_empty() {
            return Err(miette!(
                help = "give the folder that `gcnproof partition --out` wrote: it holds part-0.npz and its like",
                "--parts {}: there are no parts of a graph in it",
                folder.display()
            ));
        }
        let mut members: Vec<Member> = Vec::new();
        for path in &self.files {
            let Some(header) = read_header(path)? else {
                return Err(miette!(
                    help = "join proofs with proofs, and results with results",
                    "{}: is no file of proofs",
                    path.display()
                ));
            };
            let mut found = Err(miette!(
                help = "give the proofs of each part once, and with --parts the folder whose parts were certified",
                "{}: is about none of the parts in {} that no other file is about",
                path.display(),
                folder.display()
            ));
            for at in (0..left.len()).filter(|&at| left[at].0 == header.graph) {
                found = Member::new(path, header.clone(), left[at].1.clone()).map_err(Into::into);
                if found.is_ok() {
                    left.remove(at);
                    break;
                }
            }
            members.push(found?);
        }
        let numbers = members.iter().map(|one| (one.part().number, one.path())).collect();
        self.check_parts(numbers, members[0].part().parts)?;
        Ok(join_proofs(&members, &self.out, self.mode())?)
    }

    /// Is each part there, and once?
    fn check_parts(&self, numbers: Vec<(usize, &Path)>, of: usize) -> Result<()> {
        let mut there: BTreeMap<usize, &Path> = BTreeMap::new();
        for (number, path) in numbers {
            if let Some(other) = there.insert(number, path) {
                let (other, path) = (other.display(), path.display());
                return Err(miette!(
                    help = "name one file for each part",
                    "{other} and {path} are both of part {} of {of}",
                    number + 1
                ));
            }
        }
        match (0..of).find(|number| !there.contains_key(number)).filter(|_| !self.some) {
            Some(missing) => Err(miette!(
                help = "certify it, too, or say --some to join the others",
                "part {} of {of} is missing (part-{missing}.npz)",
                missing + 1
            )),
            None => Ok(()),
        }
    }
}

/// Refuses what cannot be the results or the proofs of a part, whatever else is there.
fn check_there(path: &Path) -> Result<()> {
    let name = path.display();
    let problem = match std::fs::metadata(path) {
        Err(_) if name.to_string().contains('*') => "no file has such a name",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "there is no such file",
        Ok(data) if data.is_dir() => {
            let help = match part_files(path).is_ok_and(|parts| !parts.is_empty()) {
                true => "it holds the parts themselves: certify each of them, and join what that wrote".into(),
                false => format!("name the files in it: {}", path.join("*.parquet").display()),
            };
            return Err(miette!(help = help, "{name}: is a folder, and the results or proofs of parts are meant"));
        }
        Ok(data) if data.len() == 0 => {
            let help = "run the command that was to write it again, then join";
            return Err(miette!(help = help, "{name}: is empty: there are neither results nor proofs in it"));
        }
        _ if is_input(path) => "is a graph or a model, and the results or proofs of parts are meant",
        _ => return Ok(()),
    };
    let help = "give files that `gcnproof certify` or `radius` wrote with --out on the parts of a graph, or \
                `certify` with --proofs";
    Err(miette!(help = help, "{name}: {problem}"))
}

/// Does the name say that it is a graph or a model?
fn is_input(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz") || end.eq_ignore_ascii_case("safetensors"))
}

/// What a results file is about: a finished run on a part.
fn read_results(path: &Path) -> Result<Results> {
    let unknown = |problem: &str| {
        miette!(
            help = "join files that `gcnproof certify` or `radius` wrote with --out on the parts of a graph, with their .run.json beside them",
            "{}: {problem}",
            path.display()
        )
    };
    if let Some(what) = contents_of(path).filter(|what| what.contains("proofs")) {
        let help = "join proofs with proofs, and results with results";
        return Err(miette!(help = help, "{}: is {what}, and the first file holds results", path.display()));
    }
    let sidecar = Sidecar::load(path)?.ok_or_else(|| unknown("nothing says what run its rows are of"))?;
    let description = Description::read(&sidecar.fingerprint).map_err(|problem| unknown(&problem))?;
    if description.nodes().is_none() {
        return Err(unknown("its rows are not about nodes"));
    }
    let Some(part) = description.input().and_then(|input| input.part.clone()) else {
        return Err(unknown("it is about a whole graph, and there is nothing to join"));
    };
    if !sidecar.complete {
        return Err(miette!(
            help = "go on with it first: the same command with --resume",
            "{}: holds {} of {} rows: its run is not finished",
            path.display(),
            sidecar.done,
            sidecar.total
        ));
    }
    Ok(Results { path: path.to_owned(), description, part })
}

/// The run on the whole graph that a run on a part is a part of, for these nodes.
fn whole(description: &Description, nodes: usize, node_set: Option<NodeSet>) -> Description {
    let mut whole = description.clone();
    match &mut whole {
        Description::Certify(run) | Description::Radius(run) => {
            (run.input.part, run.nodes, run.node_set) = (None, nodes, node_set);
        }
        // Runs against removed edges take whole graphs only.
        Description::CertifyEdges(_) | Description::RadiusEdges(_) | Description::CertifyJoint(_) => {}
        Description::Collective(_) | Description::Validate(_) | Description::Table1(_) => {}
    }
    whole
}
