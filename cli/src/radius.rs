//! `gcnproof radius`: how many flips each node withstands.

use clap::Args;
use gcnproof::edges::Edges;
use gcnproof::{Effort, Flips, Words};
use gcnproof_results::record::description::Class;
use gcnproof_run::effort::limit_words;
use gcnproof_run::flips::FlipOptions;
use gcnproof_run::ids::Ids;
use gcnproof_run::question::NodeQuestion;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::deployed::DeployedArguments;
use super::edges::{self, EdgeArguments, OF_FLIPS};
use super::effort::SearchArguments;
use super::input::{self, Input, LocalArguments};
use super::logits::{LogitsArguments, refuse_logits};
use super::ranges::RangeArguments;
use super::run::{Format, RunArguments};
use super::told::Told;

/// For each node the largest Q at which it is proved robust, and the smallest Q at which an attack is known (q fixed).
#[derive(Args, Debug)]
#[command(mut_arg("edges", |arg| arg.conflicts_with_all(OF_FLIPS)))]
#[command(mut_arg("epsilon", |arg| arg.conflicts_with("edges")))]
#[command(mut_arg("ranges", |arg| arg.conflicts_with("edges")))]
#[command(after_help = "Examples:
  gcnproof radius cora.npz gcn.safetensors -q 1%
  gcnproof radius cora.npz gcn.safetensors -q 1% --bounds-only         (the quick pass: an interval for some nodes)
  gcnproof radius cora.npz gcn.safetensors --edges remove -e 3         (in removed edges)
  gcnproof radius cora.npz gcn.safetensors -q 14 --max-Q 50 --nodes 0-499 --out radius.csv

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Radius {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    local: LocalArguments,
    #[command(flatten)]
    ranges: RangeArguments,
    /// Nothing above this Q is tried (in Python, nothing above 40 unless said)
    #[arg(long = "max-Q", value_name = "N", default_value_t = 1000, value_parser = input::flips, help_heading = "Budget", conflicts_with = "edges", allow_negative_numbers = true)]
    max_global: usize,
    /// What `certify` takes; here the number is looked for
    #[arg(short = 'Q', long = "global", value_name = "N", hide = true, allow_negative_numbers = true)]
    global: Option<String>,
    /// The same for removed edges
    #[arg(short = 'E', long = "edges-global", value_name = "N", hide = true, allow_negative_numbers = true)]
    edges_global: Option<String>,
    #[command(flatten)]
    edges: EdgeArguments,
    /// With --edges: nothing above this E is tried (in Python, nothing above 40 unless said) [default: 1000]
    #[arg(long = "max-E", value_name = "N", value_parser = edges::removals, help_heading = "Edges", hide_short_help = true, allow_negative_numbers = true)]
    max_edges: Option<usize>,
    /// Only these nodes, or graphs where these are classified: ids and ranges (3,17,20-25), a file with ids or a mask,
    /// or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE", help_heading = "Nodes", allow_negative_numbers = true)]
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
        let changes = format!("--edges {} -E", self.edges.name());
        let asked = [("-Q", "--max-Q", &self.global), (changes.as_str(), "--max-E", &self.edges_global)];
        if let Some((option, instead, Some(number))) = asked.into_iter().find(|(_, _, number)| number.is_some()) {
            return Err(miette!(
                help = format!(
                    "{instead} {number} says how far it looks; `gcnproof certify {option} {number}` decides one number"
                ),
                "{option} {number}: radius itself looks for the largest number that each node withstands"
            ));
        }
        if self.edges.wanted(self.max_edges.map(|_| "--max-E"))? { self.remove_edges() } else { self.flip() }
    }

    fn flip(self) -> Result<u8> {
        let (graph, network, identity, part) = self.input.read_or_part(self.ranges.wanted())?;
        let ids = Ids::new(&graph, part.as_ref());
        refuse_logits(part.as_ref(), &self.logits)?;
        self.logits.insist(&graph, &network)?;
        let (budget, budget_record) = self.local.budget_of(&graph, part.as_ref(), 0)?;
        let budget = self.ranges.of(&graph, part.as_ref(), budget)?;
        let budget_record = budget_record.with_ranges(&budget);
        let nodes = input::asked(&ids, self.nodes.as_deref(), &graph, part.as_ref())?;
        let run = self.run.run();
        let deployed = self.deployed.execution();
        let question: NodeQuestion<Flips> = NodeQuestion {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: Vec::new(),
            options: FlipOptions { budget_record, deployed, ..FlipOptions::new(&budget) },
            budget,
            nodes: &nodes,
            ids,
            class: Class::Predicted,
            effort: self.search.effort(),
            effort_record: self.search.record(),
            run: &run,
        };
        self.answer(question, self.max_global)
    }

    fn remove_edges(self) -> Result<u8> {
        let (graph, network, identity) = self.input.read_edges(self.edges.directed_edges)?;
        self.logits.insist(&graph, &network)?;
        let budget = self.edges.budget(&graph, 0, self.local.freeze_nodes.as_deref())?;
        let nodes = input::nodes(self.nodes.as_deref(), &graph)?;
        let run = self.run.run();
        let question: NodeQuestion<Edges> = NodeQuestion {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: Vec::new(),
            budget,
            nodes: &nodes,
            ids: Ids::new(&graph, None),
            class: Class::Predicted,
            effort: self.search.effort(),
            effort_record: self.search.record(),
            options: (),
            run: &run,
        };
        self.answer(question, self.max_edges.unwrap_or(1000).min(i64::MAX as usize))
    }

    /// Runs it and tells what was found.
    fn answer<A: Told>(&self, question: NodeQuestion<A>, limit: usize) -> Result<u8> {
        let (asked, effort, deployed) = (question.nodes.len(), question.effort, A::is_deployed(&question));
        let found = question.radii(limit)?;
        let radii: Vec<(Option<u64>, Option<u64>)> =
            found.rows.iter().map(|row| (row.certified, row.attacked)).collect();
        let summary = summarise(&radii, limit, &A::WORDS);
        match self.run.format {
            // The nodes that are done first are the easy ones: their mean is that of no set of nodes that anyone asked
            // for.
            Format::Json => {
                let summary = if found.interrupted { Value::Null } else { summary };
                say!(
                    "{}",
                    json!({
                        "run": found.description, "interrupted": found.interrupted, "summary": summary, "rows": found.rows
                    })
                )?;
            }
            Format::Table if found.interrupted => say!(
                "interrupted after {} of {asked} {}: no mean and no percentiles{}",
                found.rows.len(),
                found.description.targets(),
                A::EASY_FIRST
            )?,
            Format::Table => {
                print_table(&summary, &A::WORDS, found.description.targets())?;
                let open = found.rows.iter().filter(|row| is_open(row.certified, row.attacked, limit)).count();
                if let (1.., Effort::Complete(limits), false) = (open, effort, deployed) {
                    say!(
                        "{open} of them lie between both numbers: the search was stopped at {}",
                        limit_words(&limits)
                    )?;
                }
            }
        }
        Ok(if found.interrupted { 130 } else { 0 })
    }
}

/// Is something left to find out about a node up to the limit?
fn is_open(certified: Option<u64>, attacked: Option<u64>, limit: usize) -> bool {
    let first_open = certified.map_or(0, |q| q.saturating_add(1));
    first_open <= limit as u64 && attacked.is_none_or(|q| q > first_open)
}

/// By the nearest rank: the smallest of sorted values with at least so many percent of all of them at or below it.
pub fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    sorted.get((percent * sorted.len()).div_ceil(100).saturating_sub(1)).copied()
}

/// Mean and percentiles of both radii. A node without a witness counts with the limit of the search.
fn summarise(radii: &[(Option<u64>, Option<u64>)], limit: usize, words: &Words) -> Value {
    let statistics = |mut values: Vec<u64>| {
        values.sort_unstable();
        let at = |percent| percentile(&values, percent);
        // Of no numbers there is no mean.
        let mean = (!values.is_empty()).then(|| values.iter().map(|&q| q as f64).sum::<f64>() / values.len() as f64);
        json!({
            "mean": mean,
            "p10": at(10), "p25": at(25), "median": at(50), "p75": at(75), "p90": at(90), "max": at(100),
        })
    };
    let exact = |radius: &&(Option<u64>, Option<u64>)| radius.1 == Some(radius.0.map_or(0, |q| q.saturating_add(1)));
    let beyond = (limit as u64).saturating_add(1);
    let mut summary = json!({
        "nodes": radii.len(),
        "exact": radii.iter().filter(exact).count(),
        "not_attacked": radii.iter().filter(|radius| radius.1.is_none()).count(),
        "at_limit": radii.iter().filter(|radius| radius.0 >= Some(limit as u64)).count(),
        "limit": limit,
    });
    summary[words.certified] = statistics(radii.iter().filter_map(|radius| radius.0).collect());
    summary[words.attacked] = statistics(radii.iter().map(|radius| radius.1.unwrap_or(beyond)).collect());
    summary
}

fn print_table(summary: &Value, words: &Words, targets: &str) -> Result<()> {
    let limit = summary["limit"].as_u64().unwrap_or(u64::MAX);
    // Nodes that are certified up to the limit, or not attacked there, have larger numbers than were looked at.
    let beyond = |count: &Value| count.as_u64() > Some(0);
    let rows = [
        ("largest certified", words.certified, beyond(&summary["at_limit"])),
        ("smallest attacked", words.attacked, beyond(&summary["not_attacked"])),
    ];
    say!("{:<22}{:>10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}", "", "mean", "p10", "p25", "median", "p75", "p90", "max")?;
    for (name, column, beyond) in rows {
        let s = &summary[column];
        let mean = match s["mean"].as_f64() {
            None => "-".into(),
            Some(mean) if beyond => format!("≥ {mean:.2}"),
            Some(mean) => format!("{mean:.2}"),
        };
        put!("{:<22}{mean:>10}", format!("{name} {}", words.global))?;
        for column in ["p10", "p25", "median", "p75", "p90", "max"] {
            let shown = match s[column].as_u64() {
                None => "-".into(),
                Some(number) if number > limit => format!("> {limit}"),
                Some(number) => number.to_string(),
            };
            put!("{shown:>8}")?;
        }
        say!("")?;
    }
    say!(
        "\n{} {targets}; the radius is known exactly for {}; no attack with {} up to {limit} was found for {}",
        summary["nodes"],
        summary["exact"],
        words.global,
        summary["not_attacked"]
    )
}
