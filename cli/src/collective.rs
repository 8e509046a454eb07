//! `gcnproof collective`: how many predictions a single perturbation can break.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gcnproof::Graph;
use gcnproof::internals::collective::families::Rows;
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::{Class, Description};
use gcnproof_run::budgets::{Budgets, budgets};
use gcnproof_run::collective_run::Question;
use gcnproof_run::known_radii::KnownRadii;
use gcnproof_run::lists;
use gcnproof_run::scope::only_flips;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::collective_summary;
use super::effort::SearchArguments;
use super::input::{Input, LocalArguments};
use super::proposer::Solver;
use super::run::{Format, RunArguments};

/// How many predictions one perturbation of the whole graph can break: an upper bound, and a perturbation that breaks
/// many.
///
/// A verdict for a node lets the attacker choose anew for every node. Here one perturbation is chosen for all of them.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("written").multiple(true))]
#[command(after_help = "Examples:
  gcnproof collective cora.npz gcn.safetensors --budgets 0-1000:50 -q 1%
  gcnproof collective cora.npz gcn.safetensors --budgets 20,50,100 -q 100% --out curve.parquet   (no local limit)
  gcnproof radius cora.npz gcn.safetensors -q 1% --max-Q 200 --out radii.jsonl
  gcnproof collective cora.npz gcn.safetensors --budgets 0-200:20 -q 1% --radii radii.jsonl --rows count
  gcnproof collective cora.npz gcn.safetensors --budgets 100 --class labels --nodes graph.npz:test_mask
  gcnproof collective cora.npz gcn.safetensors --budgets 100 --attacked-nodes 10 --flips add --format json
  gcnproof collective cora.npz gcn.safetensors --budgets 20,50,100 --proofs proofs

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Collective {
    #[command(flatten)]
    input: Input,
    /// Flips in all: numbers and ranges with a step (0-1000:50), separated by commas
    #[arg(short = 'Q', long, value_name = "LIST", value_parser = budgets, help_heading = "Budget", allow_negative_numbers = true)]
    budgets: Budgets,
    #[command(flatten)]
    local: LocalArguments,
    /// The attacker changes the attributes of at most so many nodes [default: no limit]
    #[arg(long, value_name = "N", value_parser = lists::count, help_heading = "Budget", allow_negative_numbers = true)]
    attacked_nodes: Option<usize>,
    /// Only predictions of these nodes count: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as
    /// FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE", help_heading = "Nodes", allow_negative_numbers = true)]
    nodes: Option<String>,
    /// Which predictions count
    #[arg(long, value_enum, default_value = "predicted", help_heading = "Nodes")]
    class: Counted,
    /// What is known of single nodes: the file of a complete run of `gcnproof radius` on the same graph, model and -q
    /// [default: they are searched for, up to 8 flips, or to the largest budget with --complete]
    #[arg(long, value_name = "FILE", help_heading = "Effort", hide_short_help = true)]
    radii: Option<PathBuf>,
    /// What the bound rests on
    #[arg(long, value_enum, default_value = "all", help_heading = "Effort", hide_short_help = true)]
    rows: RowChoice,
    /// With --rows count: who proposes the multipliers of the bound, which we evaluate
    #[arg(long, value_enum, default_value = "own", help_heading = "Effort", hide_short_help = true)]
    #[cfg_attr(not(feature = "laboratory"), arg(hide = true))]
    solver: Solver,
    #[command(flatten)]
    search: SearchArguments,
    /// Swaps that the search for an attack tries [default: more for larger budgets]
    #[arg(long, value_name = "N", help_heading = "Effort", hide_short_help = true)]
    swaps: Option<usize>,
    /// Write a proof of every bound into this folder, one file Q-N.jsonl for each budget (check/FORMAT-COLLECTIVE.md);
    /// FOLDER/Q-N.jsonl.zst compresses them
    #[arg(long, value_name = "FOLDER", help_heading = "Output", group = "written")]
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
    /// What every single flip can do to each node, and nothing else
    Weights,
}

impl Collective {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        if let Some(option) = self.search.named().filter(|_| self.radii.is_some() && self.proofs.is_none()) {
            return Err(miette!(
                help =
                    "leave one of them out: radii say what single nodes withstand, and nothing is left to search for",
                "--radii and {option} contradict each other"
            ));
        }
        if self.rows == RowChoice::Count && self.proofs.is_some() {
            return Err(miette!(
                help = "leave --rows out, or give `--rows weights`",
                "--proofs and --rows count contradict each other: no proof states counts"
            ));
        }
        let (graph, network, identity) = self.input.read().map_err(|report| only_flips("collective", report))?;
        let (budget, _) = self.local.budget(&graph, 0)?;
        let run = self.run.run();
        let question = Question {
            graph: &graph,
            graph_name: self.input.graph.display().to_string(),
            network: &network,
            identity: &identity,
            rules: self.input.files.passing.rules()?,
            budgets: self.budgets.clone(),
            budget,
            attacked_nodes: self.attacked_nodes,
            nodes: self.nodes.as_deref().map(|list| lists::nodes(Some(list), &graph)).transpose()?,
            class: if self.class == Counted::Labels { Class::Labels } else { Class::Predicted },
            radii: self.radii.as_deref().map(KnownRadii::read).transpose()?,
            rows: match self.rows {
                RowChoice::Count => Rows::Count,
                RowChoice::All => Rows::All,
                RowChoice::Weights => Rows::Weights,
            },
            solver: self.solver.proposer()?,
            effort: self.search.effort(),
            effort_record: self.search.record(),
            exhaustive: self.search.is_complete(),
            swaps: self.swaps,
            proofs: self.proofs.as_deref(),
            run: &run,
        };
        let found = question.execute()?;
        self.tell(&found.description, &found.rows, found.interrupted, &graph)?;
        Ok(if found.interrupted { 130 } else { 0 })
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
        let asked = self.budgets.numbers().len();
        if interrupted && rows.is_empty() {
            // With a file, the run has said so.
            return match self.run.out {
                None => say!("interrupted after 0 of {asked} budgets"),
                Some(_) => Ok(()),
            };
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
            say!("interrupted after {} of {asked} budgets", rows.len())?;
        }
        Ok(())
    }
}

/// The area under the curve of the share certified, by trapezoids; none for less than two budgets.
fn area(rows: &[CollectiveRecord]) -> Option<f64> {
    let share = |row: &CollectiveRecord| (row.counted - row.bound) as f64 / row.counted.max(1) as f64;
    let trapezoid = |pair: &[CollectiveRecord]| {
        (pair[1].q_global - pair[0].q_global) as f64 * 0.5 * (share(&pair[0]) + share(&pair[1]))
    };
    (rows.len() > 1).then(|| rows.windows(2).map(trapezoid).sum())
}
