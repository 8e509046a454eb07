//! `gcnproof partition`: cuts a graph into parts that can be certified apart.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::internals::problem::partition::Partition as Cut;
use gcnproof::{Graph, Operator};
use gcnproof_files::is_part;
use gcnproof_files::write::write_part_npz;
use gcnproof_run::parts;
use gcnproof_run::run::{check_no_file, make_folder};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use serde_json::json;

use super::input::{FileArguments, GraphArguments, Paths, fit};
use super::run::Format;

/// Cut a graph into parts: each a graph file with the nodes that it answers for and all that these depend on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof partition graph.npz gcn.safetensors --parts 4 --out parts
  gcnproof certify parts/part-0.npz gcn.safetensors -Q 12 --out results-0.parquet --proofs proofs-0.jsonl.zst   (and so on)
  gcnproof join results-*.parquet --out results.parquet
  gcnproof join proofs-*.jsonl.zst --parts parts --out proofs.jsonl.zst
  gcnproof partition graph.npz --hops 2 --parts 4 --out parts        (for any network that reads two edges far)

Every verdict, margin, witness and proof of a part is that of the whole graph (docs/distributed.md). Options and results of
certify and radius name nodes by their ids in the whole graph.")]
pub struct Partition {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    graph: PathBuf,
    /// A model: says how far its logits read
    #[arg(required_unless_present = "hops")]
    model: Option<PathBuf>,
    /// So many parts
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    parts: u32,
    /// The folder for part-0.npz, part-1.npz, …
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: PathBuf,
    /// For networks whose logits depend on nodes at most N edges away, instead of a model
    #[arg(long, value_name = "N", conflicts_with = "model", value_parser = clap::value_parser!(u16).range(0..=64))]
    hops: Option<u16>,
    #[command(flatten)]
    files: FileArguments,
    /// Overwrite parts that are there
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
}

impl Partition {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        // Parts have the numbers that the graph has; whether these may be moved is asked of each part.
        let graph = GraphArguments { real: true, ..self.files.options.clone() }.read(&self.graph)?;
        if graph.batch().is_some() {
            return Err(miette!(
                help = "certify the file as it is, or save some of its graphs as a file of their own",
                "{}: has a `batch` of graphs, which are not cut into parts",
                self.graph.display()
            ));
        }
        let hops = match (&self.model, self.hops) {
            (Some(model), _) => self.hops_of(model, &graph)?,
            (None, hops) => hops.unwrap_or_default().into(),
        };
        let (count, nodes) = (self.parts as usize, graph.node_count());
        if count > nodes {
            return Err(miette!(
                help = "give each part at least one node",
                "{}: {count} parts of a graph with {nodes} nodes",
                self.graph.display()
            ));
        }
        check_no_file(&self.out)?;
        let old = if self.out.exists() { part_files(&self.out)? } else { Vec::new() };
        // Beside parts it would be taken for one of them.
        if let Some(path) = old.iter().find(|path| !is_part(path)) {
            return Err(miette!(
                help = "choose another folder, or move the file away",
                "{}: is not a part of a graph that gcnproof wrote, and is not overwritten",
                path.display()
            ));
        }
        if let Some(path) = old.first().filter(|_| !self.force) {
            return Err(miette!(help = "say --force to overwrite them", "{}: is there already", path.display()));
        }
        make_folder(&self.out)?;
        // Parts of another cut beside the new ones would be taken for theirs.
        old.iter().try_for_each(std::fs::remove_file).into_diagnostic().wrap_err("an old part cannot be removed")?;
        let cut = Cut::new(&graph, count, hops);
        let mut rows = Vec::new();
        for number in 0..count {
            let (file, part) = cut.part(number);
            let path = self.out.join(format!("part-{number}.npz"));
            write_part_npz(&path, &file, &part)?;
            rows.push((path, part.own.len(), part.nodes.len(), file.adjacency.entries()));
        }
        match self.format {
            Format::Json => {
                let parts: Vec<_> = rows
                    .iter()
                    .map(
                        |(path, own, nodes, links)| json!({ "file": path, "own": own, "nodes": nodes, "links": links }),
                    )
                    .collect();
                say!("{}", json!({ "graph": graph.digest(), "nodes": nodes, "hops": hops, "parts": parts }))?;
            }
            Format::Table => {
                say!("{:<40}{:>12}{:>14}{:>14}", "part", "own nodes", "with halo", "links")?;
                for (path, own, nodes, links) in &rows {
                    say!("{:<40}{own:>12}{nodes:>14}{links:>14}", path.display().to_string())?;
                }
                say!("\n{nodes} nodes, for networks that read {hops} edges far")?;
            }
        }
        Ok(0)
    }

    /// How far the logits of a model read.
    fn hops_of(&self, path: &Path, graph: &Graph) -> Result<usize> {
        let model = self.files.reading.read(path)?;
        self.files.passing.check(&model, path)?;
        let rules: Vec<Operator> = self.files.passing.rules()?;
        parts::check_model(&model, &rules, path)?;
        Ok(fit(model, &rules, graph, Paths { graph: &self.graph, model: path })?.hops())
    }
}

/// The parts in a folder, by their names, in the order of their numbers.
pub fn part_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("{}: the folder cannot be read", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.into_diagnostic()?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let number = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".npz"));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}
