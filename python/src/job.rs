//! A run that several machines share: what it asks of every node. Each machine holds one, and works on the nodes that it is given.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use gcnproof::{
    Bound as Bounds, Budget, Certifier, Effort, Execution, Flips, Graph as PlainGraph, Network as PlainNetwork,
    NodeResult, Operator,
};
use gcnproof_cli::run::{certifier, run};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::description::{Class, EffortRecord, Identity};
use gcnproof_results::record::node::Tabled;
use gcnproof_run::deployed::rounding_note;
use gcnproof_run::flips::FlipOptions;
use gcnproof_run::ids::Ids;
use gcnproof_run::question::{Answered, NodeQuestion, Prove, check_proofs_name};
use gcnproof_run::radius as radii;
use gcnproof_run::run::Run;
use miette::{IntoDiagnostic, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::asked::{Attacker, Search, bound as bounds, files};
use crate::call::call;
use crate::calls::{as_deployed, selected};
use crate::errors::from_report;
use crate::gathering::Gathering;
use crate::inputs::{Graph, Network};
use crate::question::class;

/// What a run asks of every node.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Job(Arc<Asked>);

/// The same, shared with the thread that works.
struct Asked {
    graph: Arc<PlainGraph>,
    network: Arc<PlainNetwork>,
    identity: Identity,
    rules: Vec<Operator>,
    budget: Budget,
    effort: Effort,
    effort_record: EffortRecord,
    /// How the network runs, if that is asked about.
    deployed: Option<Execution>,
    task: Task,
    /// What all nodes share, computed when the first is worked on. A driver never needs it.
    certifier: OnceLock<Certifier>,
}

/// What is asked.
#[derive(Clone, Copy)]
enum Task {
    /// Verdicts, with proofs or without.
    Verdicts { bound: Bounds, class: Class, proofs: bool },
    /// Radii up to this `Q`.
    Radii(usize),
}

/// Rows as JSON lines, and the lines of a file of proofs.
type Lines = (Vec<u8>, Vec<u8>);

/// Arguments of a part of a run that writes nothing itself.
fn no_files() -> Run {
    run(None, false, false)
}

impl Asked {
    fn question<'a>(
        &'a self,
        nodes: &'a [usize],
        run: &'a Run,
        bound: Bounds,
        class: Class,
    ) -> NodeQuestion<'a, Flips> {
        NodeQuestion {
            graph: &self.graph,
            network: &self.network,
            identity: &self.identity,
            rules: self.rules.clone(),
            budget: self.budget.clone(),
            nodes,
            ids: Ids::new(&self.graph, None),
            class,
            effort: self.effort,
            effort_record: self.effort_record,
            options: FlipOptions { bound, deployed: self.deployed, ..FlipOptions::new(&self.budget) },
            run,
        }
    }

    fn certifier(&self) -> &Certifier {
        self.certifier.get_or_init(|| {
            let certifier = certifier(&self.graph, &self.network, self.budget.clone())
                .effort(self.effort)
                .margins(self.effort_record.margins);
            let certifier = as_deployed(certifier, self.deployed);
            match self.task {
                Task::Verdicts { bound, proofs, .. } => certifier.bound(bound).proofs(proofs).build(),
                Task::Radii(_) => certifier.build(),
            }
        })
    }

    fn work(&self, nodes: &[usize]) -> Result<Lines> {
        match self.task {
            Task::Verdicts { class, proofs: false, .. } => self.decide(nodes, class, None),
            Task::Verdicts { bound, class, proofs: true } => {
                let run = no_files();
                let question = self.question(nodes, &run, bound, class);
                Flips::proving(&question, &question.header(), |prove| self.decide(nodes, class, Some(prove)))?
            }
            Task::Radii(most) => {
                let keys: Vec<u64> = nodes.iter().map(|&node| node as u64).collect();
                let rows = Mutex::new(Vec::new());
                radii::search(self.certifier(), &keys, most.min(i64::MAX as usize), &|row| {
                    rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(row);
                });
                let rows = rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
                let mut lines = Vec::new();
                for row in rows {
                    row.check().into_diagnostic()?;
                    serde_json::to_writer(&mut lines, &row).into_diagnostic()?;
                    lines.push(b'\n');
                }
                Ok((lines, Vec::new()))
            }
        }
    }

    fn decide(&self, nodes: &[usize], class: Class, prove: Option<&Prove<Flips>>) -> Result<Lines> {
        let certifier = self.certifier();
        let lines = |result: NodeResult, seconds: f64| -> Result<Lines> {
            let (mut row, mut proof) = Lines::default();
            if let Some(prove) = prove {
                prove(certifier, &result).write(&mut proof).into_diagnostic()?;
            }
            let minima = result.minima.clone();
            let mut record = NodeRecord::new(certifier.graph(), result, seconds);
            if self.effort_record.exact_margins {
                record = record.with_exact_margins(&minima);
            }
            record.check().into_diagnostic()?;
            serde_json::to_writer(&mut row, &record).into_diagnostic()?;
            row.push(b'\n');
            Ok((row, proof))
        };
        let found = Mutex::new(Vec::with_capacity(nodes.len()));
        let reference = |node| self.graph.label(node).map(|label| label as usize).filter(|_| class == Class::Labels);
        certifier.each(nodes, reference, |result, seconds| {
            let node = result.node;
            let lines = lines(result, seconds);
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((node, lines));
        });
        let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        found.sort_unstable_by_key(|(node, _)| *node);
        let found: Vec<Lines> = found.into_iter().map(|(_, lines)| lines).collect::<Result<_>>()?;
        let (rows, proofs): (Vec<Vec<u8>>, Vec<Vec<u8>>) = found.into_iter().unzip();
        Ok((rows.concat(), proofs.concat()))
    }
}

#[pymethods]
impl Job {
    /// Verdicts.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn verdicts(
        py: Python,
        graph: &Graph,
        network: &Network,
        global_: usize,
        attacker: Attacker,
        search: Search,
        class_: &str,
        bound: &str,
        proofs: bool,
    ) -> PyResult<Job> {
        let class = class(py, class_)?;
        let task = Task::Verdicts { bound: bounds(py, bound)?, class, proofs };
        Job::new(py, graph, network, global_, attacker, search, task)
    }

    /// Radii.
    #[staticmethod]
    fn radii(
        py: Python,
        graph: &Graph,
        network: &Network,
        max_global: usize,
        attacker: Attacker,
        search: Search,
    ) -> PyResult<Job> {
        Job::new(py, graph, network, 0, attacker, search, Task::Radii(max_global))
    }

    /// What a user should know before any node is worked on.
    fn notes(&self) -> Vec<String> {
        rounding_note(self.0.deployed, &self.0.network).into_iter().collect()
    }

    /// Works on some nodes: their rows as JSON lines, and the lines of their proofs.
    #[pyo3(signature = (nodes, threads=None))]
    fn work<'py>(
        &self,
        py: Python<'py>,
        nodes: Vec<i64>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let nodes = selected(py, &Graph(self.0.graph.clone()), Some(nodes))?;
        let asked = self.0.clone();
        let done = call(py, threads, None, move || asked.work(&nodes))?;
        let (rows, proofs) = done.value;
        Ok((PyBytes::new(py, &rows), PyBytes::new(py, &proofs)))
    }

    /// Opens the files of the run, for the one who writes them.
    fn gather(
        &self,
        py: Python,
        nodes: Option<Vec<i64>>,
        proofs: Option<PathBuf>,
        out: Option<PathBuf>,
        resume: bool,
        force: bool,
    ) -> PyResult<Gathering> {
        let nodes = selected(py, &Graph(self.0.graph.clone()), nodes)?;
        // Proofs alone can be overwritten, but not gone on with: rows say what is done.
        let mut run = files(py, out, resume, force && proofs.is_none())?;
        run.force = force;
        self.open(&nodes, proofs.as_deref(), &run).map_err(|report| from_report(py, &report))
    }
}

impl Job {
    fn new(
        py: Python,
        graph: &Graph,
        network: &Network,
        global: usize,
        attacker: Attacker,
        search: Search,
        task: Task,
    ) -> PyResult<Job> {
        let (effort, effort_record) = search.effort(py)?;
        let deployed = search.execution(py)?;
        Ok(Job(Arc::new(Asked {
            budget: attacker.budget(py, &graph.0, global)?,
            graph: graph.0.clone(),
            network: network.network.clone(),
            identity: network.identity.clone(),
            rules: network.rules.clone(),
            effort,
            effort_record,
            deployed,
            task,
            certifier: OnceLock::new(),
        })))
    }

    fn open(&self, nodes: &[usize], proofs: Option<&Path>, run: &Run) -> Result<Gathering> {
        let asked = &*self.0;
        match asked.task {
            Task::Verdicts { bound, class, .. } => {
                proofs.map_or(Ok(()), check_proofs_name)?;
                let question = asked.question(nodes, run, bound, class);
                question.check()?;
                let schema = Flips::schema(asked.effort_record.exact_margins, asked.deployed.is_some());
                let proofs = proofs.map(|path| question.open_proofs(path)).transpose()?;
                Gathering::verdicts(schema, Flips::description(&question), nodes, proofs, run)
            }
            Task::Radii(most) => {
                let question = asked.question(nodes, run, Bounds::Best, Class::Predicted);
                Gathering::radii(Flips::radius_description(&question, most), nodes, run)
            }
        }
    }
}
