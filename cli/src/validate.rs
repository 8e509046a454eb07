//! `gcnproof validate`: the numbers of sampled class pairs by independent solvers, and whether they are in order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof_laboratory::hunt::{Statement, hunt};
use gcnproof_laboratory::measurement::Settings;
use gcnproof_laboratory::shrink;
use gcnproof_laboratory::validation::{Validated, Validation};
use miette::{Result, miette};
use serde_json::json;

use super::input::{self, FileArguments, Input, LocalArguments};
use super::ranges::RangeArguments;
use super::run::{Format, RunArguments, stopped};

/// Validate the bounds: compare the certifier with LP, ILP and MILP solvers on sampled nodes, and check the order
/// dual ≤ LP ≤ ILP ≤ MILP ≤ witness.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("written").multiple(true))]
#[command(after_help = "Examples:
  gcnproof validate cora.npz gcn.safetensors -Q 12 -q 1% --sample 200 --seed 1 --out pairs.jsonl --plots plots
  gcnproof validate cora.npz gcn.safetensors -Q 12 --nodes 5,17 --time-limit 60
  gcnproof validate --hunt integrality --seconds 20

Exit codes: 0 all in order, 1 an inequality is violated or solvers disagree, 2 wrong usage or input, 130 interrupted.")]
pub struct Validate {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    #[arg(required_unless_present = "hunt")]
    graph: Option<PathBuf>,
    /// The trained model (.safetensors or .npz)
    #[arg(required_unless_present = "hunt")]
    model: Option<PathBuf>,
    #[command(flatten)]
    files: FileArguments,
    /// Flips in all
    #[arg(short = 'Q', long = "global", value_name = "N", value_parser = input::flips, required_unless_present = "hunt", help_heading = "Budget")]
    global: Option<usize>,
    #[command(flatten)]
    local: LocalArguments,
    #[command(flatten)]
    ranges: RangeArguments,
    /// How many nodes are drawn
    #[arg(long, value_name = "N", default_value = "200")]
    sample: usize,
    /// The seed of the draw
    #[arg(long, value_name = "S", default_value = "1")]
    seed: u64,
    /// Draw from these nodes only: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE")]
    nodes: Option<String>,
    /// Build no LP with more coefficients than this
    #[arg(long, value_name = "N", default_value = "5000000", help_heading = "Solvers")]
    max_cells: usize,
    /// Give good_lp, minilp and Clarabel all columns up to this many coefficients; above, the columns that are not
    /// priced out
    #[arg(long, value_name = "N", default_value = "250000", help_heading = "Solvers")]
    full_cells: usize,
    /// Try no integer program with more integer variables than this
    #[arg(long, value_name = "N", default_value = "1200", help_heading = "Solvers")]
    max_integers: usize,
    /// Seconds for each LP and ILP
    #[arg(long, value_name = "SECONDS", default_value = "10", help_heading = "Solvers")]
    time_limit: f64,
    /// Seconds for each MILP; many are out of reach, so most of a run's time goes here
    #[arg(long, value_name = "SECONDS", default_value = "2", help_heading = "Solvers")]
    milp_limit: f64,
    /// Seconds for the exact margins of a target by branch and price
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    exact_limit: f64,
    /// Write histograms of the gaps (SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output", group = "written")]
    plots: Option<PathBuf>,
    /// Hunt for small networks on which a statement of the paper fails, instead of validating a model
    #[arg(long, value_enum, value_name = "STATEMENT", conflicts_with_all = [
        "graph", "model", "out", "plots", "global", "local", "local_file", "flips", "freeze_nodes", "freeze_attributes", "nodes",
        "epsilon", "ranges",
        "sample", "max_cells", "full_cells", "max_integers", "time_limit", "milp_limit", "exact_limit",
    ])]
    hunt: Option<Hunted>,
    /// How long to hunt
    #[arg(long, value_name = "SECONDS", default_value = "20", requires = "hunt")]
    seconds: f64,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Hunted {
    /// "The LP has an integral optimum" (LP = ILP)
    Integrality,
    /// "The bounds printed for layers ≥ 3 hold": finds false certificates
    Bounds,
}

impl Validate {
    /// Runs the command. Returns the exit code.
    pub fn execute(mut self) -> Result<u8> {
        self.run.prepare()?;
        match (self.hunt, self.graph.take(), self.model.take(), self.global) {
            (Some(hunted), ..) => self.go_hunting(hunted),
            (None, Some(graph), Some(model), Some(global)) => self.validate(graph, model, global),
            // clap has asked for them.
            _ => Err(miette!("a graph, a model and -Q are needed")),
        }
    }

    fn validate(self, graph: PathBuf, model: PathBuf, global: usize) -> Result<u8> {
        let input = Input { graph, model, files: self.files.clone() };
        let (graph, network, identity) = if self.ranges.wanted() { input.read_real()? } else { input.read()? };
        let (budget, _) = self.local.budget(&graph, global)?;
        let budget = self.ranges.of(&graph, None, budget)?;
        let validation = Validation {
            graph: &graph,
            network: &network,
            identity,
            budget,
            nodes: input::nodes(self.nodes.as_deref(), &graph)?,
            sample: self.sample,
            seed: self.seed,
            settings: Settings {
                max_cells: self.max_cells,
                full_cells: self.full_cells,
                max_integers: self.max_integers,
                seconds: self.time_limit,
                milp_seconds: self.milp_limit,
            },
            exact_limit: self.exact_limit,
            plots: self.plots.clone(),
            run: &self.run.run(),
        };
        let Validated { description, rows, report, interrupted } = validation.execute()?;
        match self.run.format {
            Format::Table => put!("{}", report.text(&rows))?,
            Format::Json => say!("{}", json!({ "run": description, "summary": report, "rows": rows }))?,
        }
        Ok(match (interrupted, report.clean()) {
            (true, _) => 130,
            (_, true) => 0,
            (_, false) => 1,
        })
    }

    fn go_hunting(self, hunted: Hunted) -> Result<u8> {
        let statement = match hunted {
            Hunted::Integrality => Statement::Integrality,
            Hunted::Bounds => Statement::Bounds,
        };
        let time = Duration::try_from_secs_f64(self.seconds).map_err(|_| {
            miette!(help = "give a number of seconds, 0 or more", "--seconds {}: is not a length of time", self.seconds)
        })?;
        let catch = hunt(statement, self.seed, time, 5, stopped);
        if self.run.format == Format::Json {
            let shrunk: Vec<_> = catch
                .shrunk
                .iter()
                .map(|found| {
                    let numbers: BTreeMap<&str, f64> = found.numbers.iter().copied().collect();
                    json!({ "seed": found.seed, "numbers": numbers, "network": shrink::describe(&found.instance) })
                })
                .collect();
            say!("{}", json!({ "tried": catch.tried, "failed": catch.failed, "counterexamples": shrunk }))?;
            return Ok(0);
        }
        let name = match hunted {
            Hunted::Integrality => "\"the LP has an integral optimum\" (integrality theorem)",
            Hunted::Bounds => "\"the bounds printed for layers ≥ 3 hold\" (certificates from them)",
        };
        say!("{name} fails on {} of {} random small networks", catch.failed, catch.tried)?;
        for (at, found) in catch.shrunk.iter().enumerate() {
            say!("\ncounterexample {} (seed {}), shrunk:\n{}", at + 1, found.seed, shrink::describe(&found.instance))?;
            for (name, value) in &found.numbers {
                say!("    {name}: {value}")?;
            }
        }
        Ok(0)
    }
}
