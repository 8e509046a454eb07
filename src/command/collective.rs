//! `gcnproof collective`: how many predictions a single perturbation can break.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use gcnproof::internals::collective::base::{Base, bases};
use gcnproof::internals::collective::curve::{Collective as Work, Settings};
use gcnproof::internals::collective::families::Rows;
use gcnproof::internals::record::RadiusRecord;
use gcnproof::internals::record::collective::CollectiveRecord;
use gcnproof::internals::record::description::{BudgetRecord, Class, CollectiveRun, Description, Identity, NodeSet};
use gcnproof::results::{self, Mode, Sidecar};
use gcnproof::{Certifier, Effort, Flip, Graph, Network};
use gcnproof_check::format::Convention;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::collective_proofs::{Proofs, file_of};
use super::collective_summary;
use super::effort::SearchArguments;
use super::input::{self, Input, LocalArguments};
use super::lists;
use super::run::{Format, RunArguments, certifier, make_folder, progress_bar, stopped};

/// How many predictions one perturbation of the whole graph can break: an upper bound, and a perturbation that breaks many.
///
/// A verdict for a node lets the attacker choose anew for every node. Here one perturbation is chosen for all of them.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("written").multiple(true))]
#[command(after_help = "Examples:
  gcnproof collective cora.npz gcn.safetensors --budgets 0-1000:50 -q 1%
  gcnproof collective cora.npz gcn.safetensors --budgets 20,50,100 -q 100% --out curve.parquet   (no local limit)
  gcnproof radius cora.npz gcn.safetensors -q 1% --complete --out radii.jsonl
  gcnproof collective cora.npz gcn.safetensors --budgets 0-200:20 -q 1% --radii radii.jsonl --rows count
  gcnproof collective cora.npz gcn.safetensors --budgets 100 --class labels --nodes graph.npz:test_mask
  gcnproof collective cora.npz gcn.safetensors --budgets 100 --attacked-nodes 10 --flips add --format json
  gcnproof collective cora.npz gcn.safetensors --budgets 20,50,100 --proofs proofs

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Collective {
    #[command(flatten)]
    input: Input,
    /// Flips in all: numbers and ranges with a step (0-1000:50), separated by commas
    #[arg(short = 'Q', long, value_name = "LIST", value_parser = budgets, help_heading = "Budget")]
    budgets: Budgets,
    #[command(flatten)]
    local: LocalArguments,
    /// The attacker changes the attributes of at most so many nodes [default: no limit]
    #[arg(long, value_name = "N", value_parser = input::flips, help_heading = "Budget")]
    attacked_nodes: Option<usize>,
    /// Only predictions of these nodes count: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE")]
    nodes: Option<String>,
    /// Which predictions count
    #[arg(long, value_enum, default_value = "predicted")]
    class: Counted,
    /// What is known of single nodes: the file of a complete run of `gcnproof radius` on the same graph, model and -q [default: they are searched for, up to a few flips, or to the largest budget with --complete]
    #[arg(long, value_name = "FILE")]
    radii: Option<PathBuf>,
    /// What the bound rests on
    #[arg(long, value_enum, default_value = "all", help_heading = "Effort")]
    rows: RowChoice,
    #[command(flatten)]
    search: SearchArguments,
    /// Swaps that the search for an attack tries [default: more for larger budgets]
    #[arg(long, value_name = "N", help_heading = "Effort")]
    swaps: Option<usize>,
    /// Write a proof of every bound into this folder, one file Q-N.jsonl for each budget (check/FORMAT-COLLECTIVE.md)
    #[arg(long, value_name = "FOLDER", help_heading = "Output", group = "written", conflicts_with = "rows")]
    proofs: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counted {
    /// All predictions
    Predicted,
    /// Those that agree with the label
    Labels,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RowChoice {
    /// How many flips each node withstands by itself
    Count,
    /// And what every single flip can do to each node
    All,
}

/// Flips up to which nodes are looked at by themselves where that is not all that is known of them.
const ALONE: usize = 8;

/// Budgets in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets(Vec<usize>);

/// Budgets that are asked for at most.
const MOST: usize = 100_000;

/// A list of budgets: `20`, `0-1000:50`, `0-100:20,200`.
fn budgets(list: &str) -> std::result::Result<Budgets, String> {
    let wrong = |part: &str, why: &str| {
        format!("'{part}' is no list of budgets: {why}; write numbers and ranges with a step, as 0,20,50 or 0-1000:50")
    };
    let number = |part: &str, text: &str| -> std::result::Result<usize, String> {
        text.trim().parse().map_err(|_| wrong(part, &format!("'{}' is no whole number, 0 or more", text.trim())))
    };
    let mut found = Vec::new();
    for part in list.split(',') {
        let Some((first, rest)) = part.split_once('-') else {
            if part.contains(':') {
                return Err(wrong(part, "a step needs a range before it"));
            }
            found.push(number(part, part)?);
            continue;
        };
        let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
        let (first, last) = (number(part, first)?, number(part, last)?);
        let step = step.map_or(Ok(1), |step| number(part, step))?;
        if step == 0 {
            return Err(wrong(part, "a step of 0 leads nowhere"));
        }
        if first > last {
            return Err(wrong(part, &format!("{first} is more than {last}")));
        }
        if (last - first) / step >= MOST {
            return Err(wrong(part, "these are too many budgets"));
        }
        found.extend((first..=last).step_by(step));
    }
    found.sort_unstable();
    found.dedup();
    if found.last().is_some_and(|&last| i64::try_from(last).is_err()) {
        return Err(wrong(list, "a budget is too large"));
    }
    Ok(Budgets(found))
}

impl Collective {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        self.search.check(false, "add --complete, or leave the limit out")?;
        let (graph, network, identity) = self.input.read()?;
        let (budget, budget_record) = self.local.budget(&graph, 0)?;
        let Budgets(asked) = &self.budgets;
        let most = asked.last().copied().unwrap_or(0);
        let certifier = certifier(&graph, &network, budget).effort(self.search.effort()).build();
        let nodes = self.counted(&graph, &certifier)?;
        let class = if self.class == Counted::Labels { Class::Labels } else { Class::Predicted };
        let known =
            self.radii.as_deref().map(|path| read_radii(path, &identity, &budget_record, &nodes)).transpose()?;
        let rows = match (self.rows, &self.proofs) {
            (_, Some(_)) => Rows::Provable,
            (RowChoice::Count, _) => Rows::Count,
            (RowChoice::All, _) => Rows::All,
        };
        let proofs =
            self.proofs.as_deref().map(|folder| self.open_proofs(folder, &graph, &network, &identity)).transpose()?;
        let failed = Mutex::new(None);
        let keys: Vec<u64> = asked.iter().map(|&q| q as u64).collect();
        let description = Description::Collective(CollectiveRun {
            input: identity.clone(),
            budget: budget_record,
            budgets: keys.clone(),
            attacked_nodes: self.attacked_nodes.map(|count| count as u64),
            rows,
            class,
            effort: known.is_none().then(|| self.search.record()),
            swaps: self.swaps,
            nodes: nodes.len(),
            node_set: NodeSet::new(&nodes, graph.node_count()),
        });
        let (rows, interrupted) = self.run.rows(
            CollectiveRecord::SCHEMA,
            &description,
            &keys,
            |row: &CollectiveRecord| row.q_global,
            |open, done| {
                if open.is_empty() {
                    return;
                }
                let Some(found) = known.or_else(|| by_themselves(&certifier, &nodes, self.most_alone(most))) else {
                    return;
                };
                let with_class: Vec<(Base, usize)> =
                    found.into_iter().map(|base| (base.clone(), certifier.predicted(base.node))).collect();
                let settings =
                    Settings { rows, attacked_nodes: self.attacked_nodes, swaps: self.swaps, ..Settings::default() };
                let work = Work::new(&certifier, &with_class, settings);
                let mut before: Vec<Flip> = Vec::new();
                for &q in open {
                    let outcome = match &proofs {
                        None => Ok(work.at(q as usize, &before)),
                        Some(proofs) => proofs.prove(&work, &certifier, q as usize, &before),
                    };
                    match outcome {
                        Ok(Some(outcome)) => {
                            before.clone_from(&outcome.flips);
                            done(CollectiveRecord::new(&outcome));
                        }
                        Ok(None) => return,
                        Err(error) => {
                            *failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
                            return;
                        }
                    }
                }
            },
        )?;
        if let Some(error) = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            return Err(error);
        }
        self.tell(&description, &rows, interrupted, &graph)?;
        Ok(if interrupted { 130 } else { 0 })
    }

    /// Gets a folder of proofs ready.
    fn open_proofs<'a>(
        &self,
        folder: &Path,
        graph: &'a Graph,
        network: &'a Network,
        identity: &Identity,
    ) -> Result<Proofs<'a>> {
        make_folder(folder)?;
        let asked = self.nodes.as_deref().map(|list| lists::nodes(Some(list), graph)).transpose()?;
        if let Some(there) = self.budgets.0.iter().map(|&q| file_of(folder, q)).find(|path| path.exists())
            && self.run.mode() == Mode::Fresh
        {
            return Err(miette!(
                help = "choose another folder, or overwrite it with --force",
                "{}: there is a proof already",
                there.display()
            ));
        }
        Ok(Proofs {
            folder: folder.to_owned(),
            graph,
            network,
            file: graph.file(),
            model: identity.model.clone(),
            rules: self.input.passing.rules()?,
            classes: if self.class == Counted::Labels { Convention::Labels } else { Convention::Predicted },
            attacked_nodes: self.attacked_nodes,
            nodes: asked,
        })
    }

    /// Up to how many flips nodes are looked at by themselves. Without a complete search, few: what takes more is bounded as well by the rows of weights.
    fn most_alone(&self, most: usize) -> usize {
        if self.search.effort() == Effort::Bounds && self.rows == RowChoice::All { most.min(ALONE) } else { most }
    }

    /// The nodes whose predictions count.
    fn counted(&self, graph: &Graph, certifier: &Certifier) -> Result<Vec<usize>> {
        let mut nodes = lists::nodes(self.nodes.as_deref(), graph)?;
        if self.class == Counted::Labels {
            nodes.retain(|&node| graph.label(node) == u32::try_from(certifier.predicted(node)).ok());
            if nodes.is_empty() {
                return Err(miette!(
                    help = "leave --class labels out, or give a graph with labels",
                    "{}: no prediction agrees with a label, so none can be broken",
                    self.input.graph.display()
                ));
            }
        }
        Ok(nodes)
    }

    fn tell(
        &self,
        description: &Description,
        rows: &[CollectiveRecord],
        interrupted: bool,
        graph: &Graph,
    ) -> Result<()> {
        let area = area(rows);
        if self.run.format == Format::Json {
            let summary = match interrupted {
                true => Value::Null,
                false => {
                    json!({ "area": area, "nodes": graph.node_count(), "attacks": collective_summary::attacks(rows, graph) })
                }
            };
            return say!(
                "{}",
                json!({ "run": description, "interrupted": interrupted, "summary": summary, "rows": rows })
            );
        }
        say!(
            "{:>8}{:>11}{:>10}{:>10}{:>10}{:>11}{:>10}",
            "Q",
            "certified",
            "share",
            "unknown",
            "broken",
            "flips",
            "seconds"
        )?;
        for row in rows {
            let certified = row.counted.saturating_sub(row.bound);
            say!(
                "{:>8}{:>11}{:>10.4}{:>10}{:>10}{:>11}{:>10.1}",
                row.q_global,
                certified,
                certified as f64 / row.counted.max(1) as f64,
                row.bound.saturating_sub(row.broken),
                row.broken,
                row.flips.len(),
                row.bound_seconds.max(row.attack_seconds)
            )?;
        }
        let counted = rows.first().map_or(0, |row| row.counted);
        say!(
            "\nof {counted} predictions, no perturbation of Q flips breaks more than unknown + broken; the flips of the row break those under broken"
        )?;
        if let (Some(area), [first, .., last]) = (area, rows) {
            say!("area under the share certified from Q = {} to {}: {area:.1}", first.q_global, last.q_global)?;
        }
        if let Some(row) = rows.last().filter(|row| !row.flips.is_empty()) {
            put!("\n{}", collective_summary::words(row, graph))?;
        }
        if interrupted {
            say!("interrupted after {} budgets", rows.len())?;
        }
        Ok(())
    }
}

/// What is known of each node by itself; nothing if the run is stopped.
fn by_themselves(certifier: &Certifier, nodes: &[usize], most: usize) -> Option<Vec<Base>> {
    let bar = progress_bar(nodes.len(), 0);
    bar.set_message("single nodes");
    let found = bases(certifier, nodes, most, stopped, |_| bar.inc(1));
    bar.finish_and_clear();
    found.ok().flatten()
}

/// The area under the curve of the share certified, by trapezoids; none for less than two budgets.
fn area(rows: &[CollectiveRecord]) -> Option<f64> {
    let share = |row: &CollectiveRecord| (row.counted - row.bound) as f64 / row.counted.max(1) as f64;
    let trapezoid = |pair: &[CollectiveRecord]| {
        (pair[1].q_global - pair[0].q_global) as f64 * 0.5 * (share(&pair[0]) + share(&pair[1]))
    };
    (rows.len() > 1).then(|| rows.windows(2).map(trapezoid).sum())
}

/// Reads the radii of nodes, and refuses those of another run.
fn read_radii(path: &Path, identity: &Identity, budget: &BudgetRecord, nodes: &[usize]) -> Result<Vec<Base>> {
    let other = |what: &str| {
        miette!(
            help = "run `gcnproof radius` on this graph and model with the same -q and --flips, or leave --radii out",
            "{}: the radii are of another {what}",
            path.display()
        )
    };
    let description = Sidecar::load(path)?.and_then(|sidecar| Description::read(&sidecar.fingerprint).ok());
    let Some(Description::Radius(run)) = description else {
        return Err(miette!(
            help = "give a file that `gcnproof radius --out FILE` wrote, with its FILE.run.json beside it",
            "{}: is not known to be the result of `gcnproof radius`",
            path.display()
        ));
    };
    if run.input.graph != identity.graph {
        return Err(other("graph"));
    }
    if run.input.model != identity.model {
        return Err(other("model"));
    }
    if run.input.message_passing != identity.message_passing {
        return Err(other("message passing"));
    }
    if run.budget != *budget {
        return Err(other("local budget"));
    }
    let rows: Vec<RadiusRecord> = results::read(path, RadiusRecord::SCHEMA)?;
    let mut by_node: BTreeMap<u64, RadiusRecord> = rows.into_iter().map(|row| (row.node, row)).collect();
    let count = |q: Option<u64>| q.map(|q| usize::try_from(q).unwrap_or(usize::MAX));
    nodes
        .iter()
        .map(|&node| match by_node.remove(&(node as u64)) {
            Some(row) => {
                Ok(Base::of_radius(node, count(row.certified_q_global), count(row.attacked_q_global), row.witness))
            }
            None => Err(miette!(
                help = "let the run of `gcnproof radius` finish (--resume), or ask for the same --nodes",
                "{}: there is no radius of node {node}",
                path.display()
            )),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_lists_and_ranges() {
        let list = |text: &str| budgets(text).map(|Budgets(list)| list);
        assert_eq!(list("20").unwrap(), [20]);
        assert_eq!(list("0-100:50,20, 50").unwrap(), [0, 20, 50, 100]);
        assert_eq!(list("3-5").unwrap(), [3, 4, 5]);
        assert_eq!(list("0-10:4").unwrap(), [0, 4, 8]);
        for wrong in [
            "",
            "x",
            "-1",
            "1-",
            "5-3",
            "0-10:0",
            "0-10:",
            "7:2",
            "0-10:x",
            "1.5",
            "0-99999999",
            "99999999999999999999",
        ] {
            let problem = list(wrong).unwrap_err();
            assert!(problem.contains("0-1000:50"), "{wrong}: {problem}");
        }
    }
}
