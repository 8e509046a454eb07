//! The runs of a study for one model, and where their results go.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use gcnproof::{Bound, Budget, Effort, Flips, Graph, Limits, Margins, Network};
use gcnproof_results::record::description::{
    BudgetRecord, Class, Description, EffortRecord, FlipRun, Identity, Level, NodeSet, ValidateRun,
};
use gcnproof_results::record::pair::PairRecord;
use gcnproof_results::record::{NodeRecord, RadiusRecord};
use miette::Result;
use rayon::prelude::*;

use super::flips::FlipOptions;
use super::host::Host;
use super::ids::Ids;
use super::question::NodeQuestion;
use super::run::Run;
use super::sample::{by_target, draw, pair_keys};
use super::{ours, radius};

/// What is done with one model.
pub struct Plan {
    /// `Q` of the verdicts and of the sample.
    pub global: usize,
    /// The largest `Q` of the curves.
    pub max_global: usize,
    /// The nodes.
    pub nodes: Vec<usize>,
    /// Exactly, too?
    pub complete: bool,
    /// When a search is given up.
    pub limits: Limits,
    /// Nodes whose class pairs are measured, and the seed of their draw.
    pub sample: (usize, u64),
    /// Where results go; nowhere, if they are only looked at.
    pub folder: Option<PathBuf>,
    /// Overwrite what is there?
    pub force: bool,
    /// The program around the runs.
    pub host: Arc<dyn Host>,
}

/// A model on its graph under a budget.
pub struct Subject<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The graph.
    pub graph: &'a Graph,
    /// The network.
    pub network: &'a Network,
    /// Digests of both, for the record.
    pub identity: Identity,
    /// The budget; its `Q` is the plan's.
    pub budget: Budget,
    /// The budget for the record, without `Q`.
    pub budget_record: BudgetRecord,
}

/// The results of one model.
#[derive(Default)]
pub struct Results {
    /// Verdicts.
    pub verdicts: Vec<NodeRecord>,
    /// Radii: by the paper's bound, by ours, and exact if asked for.
    pub radii: Vec<(&'static str, Vec<RadiusRecord>)>,
    /// Was the run interrupted?
    pub interrupted: bool,
}

impl Plan {
    /// Runs everything for one model.
    pub fn execute(&self, subject: &Subject) -> Result<Results> {
        let mut results = Results::default();
        (results.verdicts, results.interrupted) = self.verdicts(subject)?;
        self.curves(subject, &mut results)?;
        Ok(results)
    }

    /// Everything but the verdicts.
    pub fn curves(&self, subject: &Subject, results: &mut Results) -> Result<()> {
        let paper = self.radii(subject, results, "paper", Bound::Paper, None)?;
        let bounded = if paper.is_some() { self.radii(subject, results, "bounds", Bound::Best, None)? } else { None };
        if let Some(bounded) = bounded.filter(|_| self.complete) {
            self.radii(subject, results, "exact", Bound::Best, Some(&bounded))?;
        }
        if !results.interrupted && self.sample.0 > 0 {
            self.pairs(subject, results)?;
        }
        Ok(())
    }

    /// The files of a model.
    pub fn files(&self, name: &str) -> Vec<String> {
        let mut steps = vec![self.verdicts_step(), "paper".into(), "bounds".into()];
        steps.extend(self.complete.then(|| "exact".into()));
        steps.extend((self.sample.0 > 0).then(|| "pairs".into()));
        steps.iter().map(|step| file(name, step)).collect()
    }

    /// Verdicts of another `Q` or effort are kept beside each other.
    fn verdicts_step(&self) -> String {
        format!("{}-Q{}", if self.complete { "complete" } else { "certify" }, self.global)
    }

    /// Where the results of a step go.
    fn output(&self, subject: &Subject, step: &str) -> Run {
        let out = self.folder.as_ref().map(|folder| folder.join(file(subject.name, step)));
        let resume = out.is_some() && !self.force;
        Run { out, proofs: None, resume, force: self.force, host: self.host.clone() }
    }

    fn effort_record(&self, effort: Effort) -> EffortRecord {
        // A limit that is never asked for does not make another run.
        let time_limit = (effort != Effort::Bounds).then_some(self.limits.time.as_secs_f64());
        EffortRecord {
            level: Level::from(effort),
            time_limit,
            node_limit: None,
            gap: None,
            margins: Margins::Tight,
            exact_margins: false,
        }
    }

    /// Verdicts at one `Q`, and whether the run was interrupted.
    pub fn verdicts(&self, subject: &Subject) -> Result<(Vec<NodeRecord>, bool)> {
        let effort = if self.complete { Effort::Complete(self.limits) } else { Effort::Bounds };
        let run = self.output(subject, &self.verdicts_step());
        let question: NodeQuestion<Flips> = NodeQuestion {
            graph: subject.graph,
            network: subject.network,
            identity: &subject.identity,
            rules: Vec::new(),
            budget: subject.budget.with_global(self.global),
            nodes: &self.nodes,
            ids: Ids::new(subject.graph, None),
            class: Class::Predicted,
            effort,
            effort_record: self.effort_record(effort),
            options: FlipOptions { budget_record: subject.budget_record.clone(), bound: Bound::Best, deployed: None },
            run: &run,
        };
        let found = question.verdicts(None)?;
        Ok((found.rows.into_vec(), found.interrupted))
    }

    /// One radius per node. Where `bounded` radii are given, only the nodes that they leave open are searched,
    /// completely. Returns the rows, or nothing if the run was interrupted.
    fn radii(
        &self,
        subject: &Subject,
        results: &mut Results,
        step: &'static str,
        bound: Bound,
        bounded: Option<&[RadiusRecord]>,
    ) -> Result<Option<Vec<RadiusRecord>>> {
        if results.interrupted {
            return Ok(None);
        }
        let effort = if bounded.is_some() { Effort::Complete(self.limits) } else { Effort::Bounds };
        let description = Description::Radius(FlipRun {
            input: subject.identity.clone(),
            budget: subject.budget_record.clone(),
            bound: Some(bound),
            max_global: Some(self.max_global as u64),
            effort: Some(self.effort_record(effort)),
            class: None,
            deployed: None,
            nodes: self.nodes.len(),
            node_set: NodeSet::new(&self.nodes, subject.graph.target_count()),
        });
        let keys: Vec<u64> = self.nodes.iter().map(|&n| n as u64).collect();
        let run = self.output(subject, step);
        let (rows, interrupted) = run.rows(
            RadiusRecord::SCHEMA,
            &description,
            &keys,
            |row: &RadiusRecord| row.node,
            |open, done| {
                let wanted: BTreeSet<u64> = open.iter().copied().collect();
                let closed = |row: &&RadiusRecord| is_exact(row, self.max_global);
                let known = bounded.unwrap_or(&[]).iter().filter(closed).filter(|row| wanted.contains(&row.node));
                let settled: BTreeSet<u64> = known.clone().map(|row| row.node).collect();
                known.for_each(|row| done(row.clone()));
                let open: Vec<u64> = open.iter().copied().filter(|node| !settled.contains(node)).collect();
                if !open.is_empty() {
                    let budget = subject.budget.with_global(0);
                    let certifier =
                        run.certifier(subject.graph, subject.network, budget).bound(bound).effort(effort).build();
                    radius::search(&certifier, &open, self.max_global, done);
                }
            },
        )?;
        results.radii.push((step, rows.clone()));
        results.interrupted |= interrupted;
        Ok((!interrupted).then_some(rows))
    }

    /// The numbers of a sample of class pairs, as far as they need no solver.
    fn pairs(&self, subject: &Subject, results: &mut Results) -> Result<()> {
        let (count, seed) = self.sample;
        let nodes = draw(self.nodes.clone(), count, seed);
        let budget = subject.budget.with_global(self.global);
        let effort = Effort::Minimize { limits: self.limits, gap: 1e-9 };
        let run = self.output(subject, "pairs");
        let certifier =
            run.certifier(subject.graph, subject.network, budget).effort(effort).margins(Margins::Tight).build();
        let keys: Vec<u64> = nodes.iter().flat_map(|&node| pair_keys(&certifier, node)).collect();
        let description = Description::Validate(ValidateRun {
            input: subject.identity.clone(),
            budget: subject.budget_record.with_global(self.global),
            nodes,
            solvers: Some("none".into()),
            limits: None,
            exact_limit: Some(self.limits.time.as_secs_f64()),
        });
        let (_, interrupted) = run.rows(PairRecord::SCHEMA, &description, &keys, PairRecord::key, |open, done| {
            by_target(open).par_iter().with_max_len(1).for_each(|(node, classes)| {
                if !run.is_stopped() {
                    let mut rows = ours::numbers(&certifier, *node, classes);
                    ours::conclude(&mut rows);
                    // Cut short, no result.
                    if !run.is_stopped() {
                        rows.into_iter().for_each(done);
                    }
                }
            });
        })?;
        results.interrupted |= interrupted;
        Ok(())
    }
}

/// The file of one step of a model.
fn file(name: &str, step: &str) -> String {
    format!("{name}.{step}.parquet")
}

/// Is nothing left to find out about a node up to this `Q`?
fn is_exact(row: &RadiusRecord, limit: usize) -> bool {
    match (row.certified, row.attacked) {
        (Some(certified), Some(attacked)) => attacked == certified + 1,
        (Some(certified), None) => certified >= limit as u64,
        (None, attacked) => attacked == Some(0),
    }
}
