//! A validation: the numbers of sampled class pairs by independent solvers, in a file, and whether they are in order.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof::{Budget, Effort, Graph, Limits, Network, Problem};
use gcnproof_results::record::description::{BudgetRecord, Description, Identity, SolverLimits, ValidateRun};
use gcnproof_results::record::pair::PairRecord;
use gcnproof_run::outputs::{Kind, untouched};
use gcnproof_run::run::{Run, make_folder};
use gcnproof_run::sample::{by_target, draw, pair_keys};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use rayon::prelude::*;

use super::histogram::Histogram;
use super::measurement::{self, Settings};
use super::report::{GAPS, Report};
use super::svg;

/// What is to be validated.
pub struct Validation<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network.
    pub network: &'a Network,
    /// Which these are, for the record.
    pub identity: Identity,
    /// The attacker's means.
    pub budget: Budget,
    /// The nodes that are drawn from.
    pub nodes: Vec<usize>,
    /// How many are drawn.
    pub sample: usize,
    /// The seed of the draw.
    pub seed: u64,
    /// What is left to solvers.
    pub settings: Settings,
    /// Seconds for the exact margins of a target.
    pub exact_limit: f64,
    /// Where histograms go.
    pub plots: Option<PathBuf>,
    /// Where rows go.
    pub run: &'a Run,
}

/// What was found.
pub struct Validated {
    /// What the run was.
    pub description: Description,
    /// The numbers of each class pair.
    pub rows: Vec<PairRecord>,
    /// The same in short.
    pub report: Report,
    /// Was it interrupted?
    pub interrupted: bool,
}

impl Validation<'_> {
    /// Measures.
    ///
    /// # Errors
    /// If a limit is none, nothing is drawn, or a file cannot be written.
    pub fn execute(&self) -> Result<Validated> {
        let settings = &self.settings;
        if let Err(error) = Problem::new(self.graph.clone(), self.network.clone(), self.budget.clone()) {
            return Err(miette!(
                help = "solvers are compared on what `certify` decides about flips and moved attributes",
                "{error}"
            ));
        }
        let limits = [("time", settings.seconds), ("milp", settings.milp_seconds), ("exact", self.exact_limit)];
        for (name, limit) in limits {
            if limit.is_nan() || limit < 0.0 {
                return Err(miette!("--{name}-limit {limit}: give a number of seconds that is not negative"));
            }
        }
        let nodes = draw(self.nodes.clone(), self.sample, self.seed);
        if nodes.is_empty() {
            return Err(miette!(
                help = "draw at least one node",
                "--sample 0: no node is drawn, and nothing is compared"
            ));
        }
        let description = Description::Validate(ValidateRun {
            input: self.identity.clone(),
            budget: BudgetRecord::new(&self.budget).with_global(self.budget.global()),
            nodes: nodes.clone(),
            solvers: None,
            limits: Some(SolverLimits {
                max_cells: settings.max_cells,
                full_cells: settings.full_cells,
                max_integers: settings.max_integers,
                time_limit: Some(settings.seconds),
                milp_limit: Some(settings.milp_seconds),
            }),
            exact_limit: Some(self.exact_limit),
        });
        if let Some(folder) = &self.plots {
            // Before hours of work, not after.
            make_folder(folder)?;
            let (force, resume) = (self.run.force, self.run.out.as_ref().map(|_| self.run.resume));
            pictures(folder).iter().try_for_each(|path| Kind::Figure.check(path))?;
            pictures(folder).iter().try_for_each(|path| untouched(path, Kind::Figure, force, resume))?;
        }
        let start = Instant::now();
        let time = Duration::try_from_secs_f64(self.exact_limit).unwrap_or_default();
        let effort = Effort::Minimize { limits: Limits { time, ..Limits::default() }, gap: 1e-9 };
        let run = self.run;
        let certifier = run.certifier(self.graph, self.network, self.budget.clone()).effort(effort).build();
        let keys: Vec<u64> = nodes.iter().flat_map(|&node| pair_keys(&certifier, node)).collect();
        let (rows, interrupted) =
            run.rows(PairRecord::SCHEMA, &description, &keys, PairRecord::key, |open, done| {
                // One target at a time per thread, in the order of the list, so that large ones do not meet at the end.
                by_target(open).par_iter().with_max_len(1).for_each(|(node, classes)| {
                    if !run.is_stopped() {
                        let rows = measurement::pairs(&certifier, settings, *node, classes);
                        // Cut short, no result.
                        if !run.is_stopped() {
                            rows.into_iter().for_each(done);
                        }
                    }
                });
            })?;
        let report = Report::new(&rows, start.elapsed().as_secs_f64());
        if let Some(folder) = &self.plots {
            draw_gaps(folder, &rows)?;
        }
        Ok(Validated { description, rows, report, interrupted })
    }
}

/// The pictures of all gaps, a linear and a logarithmic one of each.
fn pictures(folder: &Path) -> Vec<PathBuf> {
    GAPS.iter().flat_map(|gap| ["", "_log"].map(|end| folder.join(format!("{}{end}.svg", gap.name)))).collect()
}

/// Two pictures of every gap that some row has.
fn draw_gaps(folder: &Path, rows: &[PairRecord]) -> Result<()> {
    for gap in &GAPS {
        let values: Vec<f64> = rows.iter().filter_map(gap.of).collect();
        for (end, histogram) in [("", Histogram::linear(&values)), ("_log", Histogram::logarithmic(&values))] {
            let path = folder.join(format!("{}{end}.svg", gap.name));
            std::fs::write(&path, svg::draw(&histogram, gap.title, gap.axis))
                .into_diagnostic()
                .wrap_err_with(|| path.display().to_string())?;
        }
    }
    Ok(())
}
