//! `gcnproof radius`: how many flips each node withstands.

use clap::Args;
use gcnproof::edges::EdgeCertifier;
use gcnproof::{Graph, Network};
use gcnproof_results::record::RadiusRecord;
use gcnproof_results::record::description::{Class, Description, Identity, NodeSet, RadiusRun};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRadiusRecord, EdgeRun};
use gcnproof_run::edges::{Contradictions, problem};
use gcnproof_run::ids::Ids;
use gcnproof_run::radius::{search, search_edges};
use miette::Result;
use serde_json::{Value, json};

use super::deployed::{DeployedArguments, note_rounding};
use super::edges::{self, EdgeArguments};
use super::effort::SearchArguments;
use super::input::{self, Input, LocalArguments};
use super::logits::{LogitsArguments, refuse_logits};
use super::run::{Format, RunArguments, certifier, stopped};

/// For each node the largest Q that is certified and the smallest Q with a witness (q fixed).
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof radius cora.npz gcn.safetensors -q 1%
  gcnproof radius cora.npz gcn.safetensors -q 1% --complete            (the exact radius)
  gcnproof radius cora.npz gcn.safetensors --edges remove -e 3 --complete   (in removed edges)
  gcnproof radius cora.npz gcn.safetensors -q 14 --max-Q 50 --nodes 0-499 --out radius.csv

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Radius {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    local: LocalArguments,
    /// Nothing above this Q is tried
    #[arg(long = "max-Q", value_name = "N", default_value_t = 1000, value_parser = input::flips, help_heading = "Budget", conflicts_with = "edges")]
    max_global: usize,
    #[command(flatten)]
    edges: EdgeArguments,
    /// With --edges: nothing above this E is tried
    #[arg(long = "max-E", value_name = "N", default_value_t = 1000, requires = "edges", value_parser = edges::removals, help_heading = "Edges")]
    max_edges: usize,
    /// Only these nodes: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE")]
    nodes: Option<String>,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    deployed: DeployedArguments,
    #[command(flatten)]
    logits: LogitsArguments,
    #[command(flatten)]
    run: RunArguments,
}

impl Radius {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        self.search.check(false, "add --complete, or leave the limit out")?;
        if self.edges.wanted()? {
            let (graph, network, identity) = self.input.read()?;
            self.logits.insist(&graph, &network)?;
            return self.execute_edges(&graph, &network, identity);
        }
        let (graph, network, identity, part) = self.input.read_or_part()?;
        let ids = Ids::new(&graph, part.as_ref());
        refuse_logits(part.as_ref(), &self.logits)?;
        self.logits.insist(&graph, &network)?;
        let (budget, budget_record) = self.local.budget_of(&graph, part.as_ref(), 0)?;
        let rows = ids.asked(self.nodes.as_deref(), &graph)?;
        let nodes: Vec<usize> = rows.iter().map(|&row| ids.id(row) as usize).collect();
        let description = Description::Radius(RadiusRun {
            input: identity,
            budget: budget_record,
            bound: None,
            max_global: self.max_global as u64,
            effort: Some(self.search.record()),
            deployed: self.deployed.execution(),
            nodes: nodes.len(),
            node_set: NodeSet::new(&nodes, ids.count()),
        });
        note_rounding(self.deployed.execution(), &network);
        let keys: Vec<u64> = nodes.iter().map(|&n| n as u64).collect();
        let (rows, interrupted) = self.run.rows(
            RadiusRecord::SCHEMA,
            &description,
            &keys,
            |row: &RadiusRecord| row.node,
            |open, done| {
                let effort = self.search.effort();
                let certifier = certifier(&graph, &network, budget).effort(effort);
                let certifier = match self.deployed.execution() {
                    Some(execution) => certifier.deployed(execution),
                    None => certifier,
                };
                let certifier = certifier.build();
                // Files hold signed integers; nobody has so many attributes.
                let open: Vec<u64> = open.iter().map(|&id| ids.row(id) as u64).collect();
                search(&certifier, &open, self.max_global.min(i64::MAX as usize), &|row| done(ids.name_radius(row)));
            },
        )?;
        let radii: Vec<(Option<u64>, Option<u64>)> =
            rows.iter().map(|row| (row.certified_q_global, row.attacked_q_global)).collect();
        let summary = summarise(&radii, self.max_global, "q_global");
        match self.run.format {
            // The nodes that are done first are the easy ones: their mean is that of no set of nodes that anyone asked for.
            Format::Json => {
                let summary = if interrupted { Value::Null } else { summary };
                say!(
                    "{}",
                    json!({ "run": description, "interrupted": interrupted, "summary": summary, "rows": rows })
                )?;
            }
            Format::Table if interrupted => say!(
                "interrupted after {} of {} nodes: no mean and no percentiles, since easy nodes are done first",
                rows.len(),
                nodes.len()
            )?,
            Format::Table => print_table(&summary, ["Q", "flips"])?,
        }
        Ok(if interrupted { 130 } else { 0 })
    }
}

impl Radius {
    /// The same for removed edges.
    fn execute_edges(&self, graph: &Graph, network: &Network, identity: Identity) -> Result<u8> {
        let budget = self.edges.budget(graph, 0, self.local.freeze_nodes.as_deref())?;
        let nodes = input::nodes(self.nodes.as_deref(), graph)?;
        let limit = self.max_edges.min(i64::MAX as usize);
        let description = Description::RadiusEdges(EdgeRun {
            input: identity,
            edges: EdgeBudgetRecord::new(&budget, false),
            max_global: Some(limit as u64),
            effort: self.search.record(),
            class: Class::Predicted,
            nodes: nodes.len(),
            node_set: NodeSet::new(&nodes, graph.node_count()),
        });
        let run = self.run.run();
        let problem = problem(&run, graph, network, budget)?;
        let certifier = EdgeCertifier::new(problem).effort(self.search.effort()).stop(stopped);
        let contradictions = Contradictions::new(&run);
        let keys: Vec<u64> = nodes.iter().map(|&n| n as u64).collect();
        let (rows, interrupted) = run.rows(
            EdgeRadiusRecord::SCHEMA,
            &description,
            &keys,
            |row: &EdgeRadiusRecord| row.node,
            |open, done| search_edges(&certifier, open, limit, &contradictions, done),
        )?;
        contradictions.finish()?;
        let radii: Vec<(Option<u64>, Option<u64>)> =
            rows.iter().map(|row| (row.certified_edges, row.attacked_edges)).collect();
        let summary = if interrupted { Value::Null } else { summarise(&radii, limit, "edges") };
        match self.run.format {
            Format::Json => {
                say!(
                    "{}",
                    json!({ "run": description, "interrupted": interrupted, "summary": summary, "rows": rows })
                )?;
            }
            Format::Table if interrupted => {
                say!("interrupted after {} of {} nodes: no mean and no percentiles", rows.len(), nodes.len())?;
            }
            Format::Table => print_table(&summary, ["E", "edges"])?,
        }
        Ok(if interrupted { 130 } else { 0 })
    }
}

/// Mean and percentiles of both radii. A node without a witness counts with the limit of the search.
fn summarise(radii: &[(Option<u64>, Option<u64>)], limit: usize, what: &str) -> Value {
    let statistics = |mut values: Vec<u64>| {
        values.sort_unstable();
        let at = |share: f64| values.get((share * (values.len().saturating_sub(1)) as f64).round() as usize).copied();
        json!({
            "mean": values.iter().map(|&q| q as f64).sum::<f64>() / values.len().max(1) as f64,
            "p10": at(0.1), "p25": at(0.25), "median": at(0.5), "p75": at(0.75), "p90": at(0.9), "max": at(1.0),
        })
    };
    let exact = |radius: &&(Option<u64>, Option<u64>)| radius.1 == Some(radius.0.map_or(0, |q| q.saturating_add(1)));
    let beyond = (limit as u64).saturating_add(1);
    let mut summary = json!({
        "nodes": radii.len(),
        "exact": radii.iter().filter(exact).count(),
        "not_attacked": radii.iter().filter(|radius| radius.1.is_none()).count(),
        "limit": limit,
    });
    summary[format!("certified_{what}")] = statistics(radii.iter().filter_map(|radius| radius.0).collect());
    summary[format!("attacked_{what}")] = statistics(radii.iter().map(|radius| radius.1.unwrap_or(beyond)).collect());
    summary
}

fn print_table(summary: &Value, [letter, things]: [&str; 2]) -> Result<()> {
    say!("{:<22}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}", "", "mean", "p10", "p25", "median", "p75", "p90", "max")?;
    let what = if letter == "Q" { "q_global" } else { things };
    for (name, key) in [("largest certified", "certified"), ("smallest attacked", "attacked")] {
        let s = &summary[format!("{key}_{what}")];
        let name = format!("{name} {letter}");
        put!("{name:<22}{:>8.2}", s["mean"].as_f64().unwrap_or(f64::NAN))?;
        for column in ["p10", "p25", "median", "p75", "p90", "max"] {
            put!("{:>8}", s[column].to_string())?;
        }
        say!("")?;
    }
    say!(
        "\n{} nodes; the radius is known exactly for {}; no attack with up to {} {things} was found for {}",
        summary["nodes"],
        summary["exact"],
        summary["limit"],
        summary["not_attacked"]
    )
}
