//! `gcnproof summary`: tables of results by class, split and correctness. Nothing is computed but counts and means.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::{Attacker, Flips, Graph, Verdict};
use gcnproof_files::GraphOptions;
use gcnproof_report::landscape::class_name;
use gcnproof_report::origin::command_of;
use gcnproof_report::population::Population;
use gcnproof_report::row::{NodeRadius, NodeVerdict};
use gcnproof_report::source::{Rows, Run, Source, Sources};
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::Description;
use gcnproof_run::input::read_certified;
use gcnproof_run::lists::nodes_of;
use gcnproof_run::page::check_results;
use miette::{Result, miette};
use serde::Serialize;
use serde_json::{Value, json};

use super::run::Format;

/// Tables of results by class, split and correctness; nothing is computed anew.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof summary results.parquet
  gcnproof summary results.parquet radii.parquet --graph cora.npz       (with the names of classes)
  gcnproof summary results.parquet --split train=data.npz:train_mask --split test=data.npz:test_mask --format json

Exit codes: 0 done, 2 wrong usage or input.")]
pub struct Tally {
    /// Results of certify, radius and collective (.parquet, .jsonl, .csv), or folders of studies
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// The graph of the results, for the names of its classes
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    /// A part of the nodes by a name: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as
    /// FILE.npz:NAME
    #[arg(long = "split", value_name = "NAME=IDS|FILE")]
    splits: Vec<String>,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
}

/// A part of the nodes of a run.
struct Part {
    name: String,
    nodes: BTreeSet<u64>,
}

/// Verdicts of a part of the nodes.
#[derive(Clone, Debug, Serialize)]
struct VerdictLine {
    part: String,
    nodes: usize,
    robust: usize,
    non_robust: usize,
    undecided: usize,
    /// Share of the nodes with a label that are predicted right; null if none has one.
    accuracy: Option<f64>,
    /// Share of these that are right and proved to stay so.
    robust_and_correct: Option<f64>,
    /// Mean of `worst_lower`.
    mean_worst_lower: Option<f64>,
    /// Mean size of the witnesses.
    mean_witness_size: Option<f64>,
    /// Verdicts as deployed, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    deployed: Option<DeployedLine>,
}

#[derive(Clone, Debug, Serialize)]
struct DeployedLine {
    robust: usize,
    non_robust: usize,
    rounding_dependent: usize,
    undecided: usize,
}

/// Radii of a part of the nodes.
#[derive(Clone, Debug, Serialize)]
struct RadiusLine {
    part: String,
    nodes: usize,
    accuracy: Option<f64>,
    /// Mean of the largest certified budget; nodes at the limit count with it.
    mean_certified: Option<f64>,
    median_certified: Option<u64>,
    /// Nodes that are certified up to the limit of the search.
    at_limit: usize,
    /// Mean of the smallest attacked budget of the nodes that have one.
    mean_attacked: Option<f64>,
    attacked: usize,
}

impl Tally {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        if let Some(path) = self.results.iter().find(|path| !path.exists()) {
            return Err(miette!(
                help = "give files that gcnproof wrote with --out, or the folder of a study",
                "{}: there is no such file or folder",
                path.display()
            ));
        }
        check_results(&self.results, "summary")?;
        self.named_splits()?;
        let sources = Sources::read(&self.results)?;
        let is_by_node = |source: &Source| matches!(source.rows, Rows::Nodes(_) | Rows::Radii(_));
        if let Some(source) = sources.files.iter().find(|source| !self.splits.is_empty() && !is_by_node(source)) {
            return Err(miette!(
                help = "leave --split out, or give results of certify or radius",
                "{}: its rows are not about single nodes, and --split selects nodes",
                source.path.display()
            ));
        }
        let read = |path: &PathBuf| read_certified(path, &GraphOptions::default());
        let graph = self.graph.as_ref().map(read).transpose()?;
        if let (Some(path), Some(graph)) = (&self.graph, &graph) {
            sources.check_graph(path, graph.digest())?;
        }
        let mut told = Vec::new();
        for source in &sources.files {
            told.push(self.summary(source, graph.as_ref())?);
        }
        match self.format {
            Format::Json => {
                say!("{}", json!(told.iter().map(|(value, _)| value).collect::<Vec<_>>()))?;
            }
            Format::Table => {
                let texts: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
                put!("{}", texts.join("\n"))?;
            }
        }
        Ok(0)
    }

    /// One file, for machines and for people.
    fn summary(&self, source: &Source, graph: Option<&Graph>) -> Result<(Value, String)> {
        let run = source.run.as_ref().and_then(|run| run.description.as_ref().ok());
        let ids: Vec<u64> = match &source.rows {
            Rows::Nodes(rows) => rows.iter().map(|row| row.node).collect(),
            Rows::Radii(rows) => rows.iter().map(|row| row.node).collect(),
            _ => Vec::new(),
        };
        let of = run.and_then(Description::nodes).map(|(count, set)| set.map_or(count, |set| set.of));
        let of = graph.map(Graph::target_count).or(of);
        let targets = run.map_or("nodes", Description::targets);
        let population = Population::new(ids, of).of_graphs(targets == "graphs");
        let command = run.map(|run| command_of(run, Some(&population)));
        let mut text = format!("{}\n", source.path.display());
        if let Some(command) = &command {
            let _ = writeln!(text, "made by {command}");
        }
        if let Some(Run { total, .. }) = &source.run
            && *total > source.rows.count()
        {
            let _ = writeln!(text, "not finished: {} of {total} rows", source.rows.count());
        }
        let mut told =
            json!({ "file": source.path, "run": run.map(Description::fingerprint), "rows": source.rows.count() });
        match &source.rows {
            Rows::Nodes(rows) => {
                let _ = writeln!(text, "{}\n", population.words());
                let parts = self.parts(rows.iter().map(Facts::of_verdict), &population, graph)?;
                let lines: Vec<VerdictLine> = parts.iter().map(|part| VerdictLine::new(part, rows)).collect();
                text.push_str(&verdict_table(&lines, targets));
                told["verdicts"] = json!(lines);
            }
            Rows::Radii(rows) => {
                let _ = writeln!(text, "{}\n", population.words());
                let limit = limit(rows, run);
                let parts = self.parts(rows.iter().map(Facts::of_radius), &population, graph)?;
                let lines: Vec<RadiusLine> = parts.iter().map(|part| RadiusLine::new(part, rows, limit)).collect();
                let letter = run.and_then(Description::edges).map_or(Flips::WORDS.global, |_| "E");
                text.push_str(&radius_table(&lines, letter, limit, targets));
                (told["limit"], told["radii"]) = (json!(limit), json!(lines));
            }
            Rows::Collective(rows) => {
                text.push_str(&collective_table(rows));
                told["budgets"] = json!(rows);
            }
            Rows::Pairs(rows) => {
                let _ = writeln!(text, "{} class pairs: `gcnproof report` draws them", rows.len());
            }
            Rows::Training(log) => {
                let _ = writeln!(text, "{} iterations of training: `gcnproof report` draws them", log.iterations.len());
            }
        }
        Ok((told, text))
    }

    /// The splits by their names, which differ.
    fn named_splits(&self) -> Result<Vec<(&str, &str)>> {
        let mut splits: Vec<(&str, &str)> = Vec::new();
        for split in &self.splits {
            let (name, list) = split.split_once('=').unwrap_or((split, ""));
            if name.is_empty() || list.is_empty() {
                return Err(miette!(
                    help = "write a name, =, and nodes, as in train=0-139 or test=data.npz:test_mask",
                    "--split {split}: {}",
                    if name.is_empty() { "there is no name" } else { "there are no nodes" }
                ));
            }
            if splits.iter().any(|(other, _)| *other == name) {
                return Err(miette!(help = "give each split a name of its own", "--split {name} is given twice"));
            }
            splits.push((name, list));
        }
        Ok(splits)
    }

    /// All nodes, then by correctness, class and split.
    fn parts(
        &self,
        rows: impl Iterator<Item = Facts>,
        population: &Population,
        graph: Option<&Graph>,
    ) -> Result<Vec<Part>> {
        let rows: Vec<Facts> = rows.collect();
        let part = |name: String, fits: &dyn Fn(&Facts) -> bool| Part {
            name,
            nodes: rows.iter().filter(|row| fits(row)).map(|row| row.node).collect(),
        };
        let labelled = rows.iter().any(|row| row.label.is_some());
        let mut parts = vec![part("all".into(), &|_| true)];
        if labelled {
            parts.push(part("predicted correctly".into(), &|row| row.label == Some(row.predicted)));
            parts.push(part("predicted wrongly".into(), &|row| row.label.is_some_and(|label| label != row.predicted)));
            parts.push(part("without a label".into(), &|row| row.label.is_none()));
        }
        let class = |row: &Facts| if labelled { row.label } else { Some(row.predicted) };
        let classes: BTreeSet<u64> = rows.iter().filter_map(class).collect();
        let kind = if labelled { "label" } else { "predicted" };
        for of in classes {
            parts.push(part(format!("{kind} {}", class_name(graph, of)), &|row| class(row) == Some(of)));
        }
        let last = population.ids.last().map_or(0, |last| *last as usize + 1);
        for (name, list) in self.named_splits()? {
            let nodes = nodes_of(&format!("--split {name}"), list, population.of.unwrap_or(last))?;
            let nodes: BTreeSet<u64> = nodes.into_iter().map(|node| node as u64).collect();
            let split = part(format!("split {name}"), &|row| nodes.contains(&row.node));
            if split.nodes.is_empty() {
                note!("note: --split {name}: the results have no row of any of its {} nodes", nodes.len());
            }
            parts.push(split);
        }
        parts.retain(|part| part.name == "all" || part.name.starts_with("split ") || !part.nodes.is_empty());
        Ok(parts)
    }
}

/// What a part is chosen by.
#[derive(Clone, Copy)]
struct Facts {
    node: u64,
    label: Option<u64>,
    predicted: u64,
}

impl Facts {
    fn of_verdict(row: &NodeVerdict) -> Facts {
        Facts { node: row.node, label: row.label, predicted: row.predicted }
    }

    fn of_radius(row: &NodeRadius) -> Facts {
        Facts { node: row.node, label: row.label, predicted: row.predicted }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The share of rows with a label that fulfil something.
fn share<T>(rows: &[&T], label: fn(&T) -> Option<u64>, fits: impl Fn(&T) -> bool) -> Option<f64> {
    let labelled: Vec<&&T> = rows.iter().filter(|row| label(row).is_some()).collect();
    let fitting = labelled.iter().filter(|row| fits(row)).count();
    (!labelled.is_empty()).then(|| fitting as f64 / labelled.len() as f64)
}

impl VerdictLine {
    fn new(part: &Part, rows: &[NodeVerdict]) -> VerdictLine {
        let rows: Vec<&NodeVerdict> = rows.iter().filter(|row| part.nodes.contains(&row.node)).collect();
        let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let right = |row: &NodeVerdict| row.label == Some(row.predicted);
        let deployed = |verdict| rows.iter().filter(|row| row.deployed == Some(verdict)).count();
        let broken = rows.iter().filter(|row| row.verdict == Verdict::NonRobust);
        VerdictLine {
            part: part.name.clone(),
            nodes: rows.len(),
            robust: count(Verdict::Robust),
            non_robust: count(Verdict::NonRobust),
            undecided: count(Verdict::Undecided),
            accuracy: share(&rows, |row| row.label, right),
            robust_and_correct: share(
                &rows,
                |row| row.label,
                |row| right(row) && row.verdict == Verdict::Robust && row.label == Some(row.reference),
            ),
            mean_worst_lower: mean(rows.iter().filter_map(|row| row.worst_lower())),
            mean_witness_size: mean(broken.map(|row| row.witness.len() as f64)),
            deployed: rows.iter().any(|row| row.deployed.is_some()).then(|| DeployedLine {
                robust: deployed(DeployedVerdict::Robust),
                non_robust: deployed(DeployedVerdict::NonRobust),
                rounding_dependent: deployed(DeployedVerdict::RoundingDependent),
                undecided: deployed(DeployedVerdict::Undecided),
            }),
        }
    }
}

impl RadiusLine {
    fn new(part: &Part, rows: &[NodeRadius], limit: u64) -> RadiusLine {
        let rows: Vec<&NodeRadius> = rows.iter().filter(|row| part.nodes.contains(&row.node)).collect();
        let mut certified: Vec<u64> = rows.iter().map(|row| row.certified.unwrap_or(0)).collect();
        certified.sort_unstable();
        RadiusLine {
            part: part.name.clone(),
            nodes: rows.len(),
            accuracy: share(&rows, |row| row.label, |row| row.label == Some(row.predicted)),
            mean_certified: mean(certified.iter().map(|&q| q as f64)),
            median_certified: certified.get(certified.len() / 2).copied(),
            at_limit: certified.iter().filter(|&&q| q >= limit).count(),
            mean_attacked: mean(rows.iter().filter_map(|row| row.attacked).map(|q| q as f64)),
            attacked: rows.iter().filter(|row| row.attacked.is_some()).count(),
        }
    }
}

/// The largest budget that was tried.
fn limit(rows: &[NodeRadius], run: Option<&Description>) -> u64 {
    let known = match run {
        Some(Description::Radius(run)) => run.max_global,
        Some(Description::RadiusEdges(run)) => run.max_global,
        _ => None,
    };
    known.unwrap_or_else(|| rows.iter().flat_map(|row| [row.certified, row.attacked]).flatten().max().unwrap_or(0))
}

fn number(x: Option<f64>, digits: usize) -> String {
    x.map_or("-".to_string(), |x| format!("{x:.digits$}"))
}

fn verdict_table(lines: &[VerdictLine], targets: &str) -> String {
    let mut text = String::new();
    let width = lines.iter().map(|line| line.part.chars().count()).max().unwrap_or(0) + 2;
    let _ = writeln!(
        text,
        "{:<width$}{:>7}{:>16}{:>16}{:>16}{:>10}{:>20}{:>13}{:>9}",
        "", targets, "robust", "non-robust", "undecided", "accuracy", "robust and correct", "mean margin", "witness"
    );
    for line in lines {
        let share = |count: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / line.nodes.max(1) as f64);
        let _ = writeln!(
            text,
            "{:<width$}{:>7}{:>16}{:>16}{:>16}{:>10}{:>20}{:>13}{:>9}",
            line.part,
            line.nodes,
            share(line.robust),
            share(line.non_robust),
            share(line.undecided),
            number(line.accuracy, 3),
            number(line.robust_and_correct, 3),
            number(line.mean_worst_lower, 4),
            number(line.mean_witness_size, 2)
        );
    }
    if lines.iter().any(|line| line.deployed.is_some()) {
        let _ = writeln!(
            text,
            "\n{:<width$}{:>9}{:>12}{:>21}{:>11}",
            "as deployed", "robust", "non-robust", "depends on rounding", "undecided"
        );
        for (line, deployed) in lines.iter().filter_map(|line| Some((line, line.deployed.as_ref()?))) {
            let DeployedLine { robust, non_robust, rounding_dependent, undecided } = deployed;
            let _ = writeln!(
                text,
                "{:<width$}{robust:>9}{non_robust:>12}{rounding_dependent:>21}{undecided:>11}",
                line.part
            );
        }
    }
    let _ = writeln!(
        text,
        "\naccuracy, robust and correct: shares of the {targets} with a label; mean margin: of the proved lower bounds of the worst-case \
         margin;\nwitness: mean number of changes of the attacks"
    );
    text
}

fn radius_table(lines: &[RadiusLine], letter: &str, limit: u64, targets: &str) -> String {
    let mut text = String::new();
    let width = lines.iter().map(|line| line.part.chars().count()).max().unwrap_or(0) + 2;
    let _ = writeln!(
        text,
        "{:<width$}{:>7}{:>10}{:>18}{:>8}{:>16}{:>17}{:>14}",
        "",
        targets,
        "accuracy",
        format!("mean certified {letter}"),
        "median",
        format!("at {letter} = {limit}"),
        format!("mean attacked {letter}"),
        "with attack"
    );
    for line in lines {
        let least = if line.at_limit > 0 { "≥ " } else { "" };
        let _ = writeln!(
            text,
            "{:<width$}{:>7}{:>10}{:>18}{:>8}{:>16}{:>17}{:>14}",
            line.part,
            line.nodes,
            number(line.accuracy, 3),
            format!("{least}{}", number(line.mean_certified, 2)),
            line.median_certified.map_or("-".into(), |q| q.to_string()),
            line.at_limit,
            number(line.mean_attacked, 2),
            line.attacked
        );
    }
    let _ = writeln!(
        text,
        "\nno {letter} above {limit} was tried: {targets} that are certified up to it count with it, and the mean is then a lower bound"
    );
    text
}

fn collective_table(rows: &[CollectiveRecord]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\n{:>8}{:>9}{:>11}{:>9}{:>8}{:>16}{:>7}",
        "Q", "counted", "certified", "unknown", "broken", "robust alone", "flips"
    );
    for row in rows {
        let certified = row.counted.saturating_sub(row.bound);
        let unknown = row.bound.saturating_sub(row.broken);
        let least = if row.robust < row.counted { "≥ " } else { "" };
        let _ = writeln!(
            text,
            "{:>8}{:>9}{certified:>11}{unknown:>9}{:>8}{:>16}{:>7}",
            row.q_global,
            row.counted,
            row.broken,
            format!("{least}{}", row.robust),
            row.flips.len()
        );
    }
    text.push_str(
        "\nrobust alone are those that were found robust one at a time, of which there may be more: unless --complete or --radii was \
         given, single nodes were examined up to 8 flips\n",
    );
    text
}
