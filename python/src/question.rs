//! Questions about nodes, whatever the attacker. They own what they need: another thread answers them, or another
//! machine.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use gcnproof::edges::{Edges, Joint};
use gcnproof::proof::FileHeader;
use gcnproof::{Decide, Effort, Flips, Graph as PlainGraph, Network as PlainNetwork, NodeResult, Operator};
use gcnproof_cli::run::run;
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::description::{Class, EffortRecord, Identity};
use gcnproof_results::record::node::Record;
use gcnproof_run::ids::Ids;
use gcnproof_run::question::{Answered, NodeQuestion, Prove, check_proofs_name};
use gcnproof_run::radius;
use gcnproof_run::run::Run;
use miette::{IntoDiagnostic, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::asked::{Asked, Files, selected};
use crate::attack::{Attack, Means, Shown};
use crate::call::{Answer, answer, call};
use crate::errors::from_report;
use crate::gathering::{Gathered, Gathering};
use crate::inputs::{Graph, Network};
use crate::objects::object;
use crate::rows::Rows;

/// A question about nodes of a graph.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Question(Arc<dyn Ask>);

/// What can be asked, whatever the attacker.
trait Ask: Send + Sync {
    /// Rows for all nodes, which go to the run's file.
    fn answer(&self, proofs: Option<&Path>, run: &Run) -> Result<Answer>;

    /// What the verdict on the first node rests on.
    fn explain(&self) -> Result<(Value, String)>;

    /// What a user should know before any node is worked on.
    fn note(&self) -> Option<String>;

    /// Rows of some nodes as JSON lines, and the lines of their proofs.
    fn work(&self, nodes: &[usize], proofs: bool) -> Result<Lines>;

    /// Where rows from several machines come together.
    fn gather(&self, proofs: Option<&Path>, run: &Run) -> Result<Gathering>;
}

/// Rows as JSON lines, and the lines of a file of proofs.
type Lines = (Vec<u8>, Vec<u8>);

/// What is asked about one attacker.
struct Owned<A: Answered> {
    graph: Arc<PlainGraph>,
    network: Arc<PlainNetwork>,
    identity: Identity,
    rules: Vec<Operator>,
    budget: A::Budget,
    /// For radii, the largest global budget that is looked at.
    limit: Option<usize>,
    nodes: Vec<usize>,
    class: Class,
    effort: Effort,
    effort_record: EffortRecord,
    options: A::Options,
    /// What decides nodes for other machines; made with the first of them.
    decider: OnceLock<A::Decider>,
}

impl<A: Shown> Owned<A> {
    fn new(py: Python, graph: &Graph, network: &Network, means: &impl Means<A>, asked: &Asked) -> PyResult<Owned<A>> {
        let limit = asked.radii.then(|| means.global());
        let budget = means.budget(py, &graph.0, if asked.radii { 0 } else { means.global() })?;
        let (effort, effort_record) = asked.effort(py)?;
        Ok(Owned {
            nodes: asked.nodes(py, graph)?,
            graph: graph.0.clone(),
            network: network.network.clone(),
            identity: network.identity.clone(),
            rules: network.rules.clone(),
            options: A::options(py, asked, &budget)?,
            budget,
            limit,
            class: asked.class(py)?,
            effort,
            effort_record,
            decider: OnceLock::new(),
        })
    }

    fn question<'a>(&'a self, run: &'a Run) -> NodeQuestion<'a, A> {
        NodeQuestion {
            graph: &self.graph,
            network: &self.network,
            identity: &self.identity,
            rules: self.rules.clone(),
            budget: self.budget.clone(),
            nodes: &self.nodes,
            ids: Ids::new(&self.graph, None),
            class: self.class,
            effort: self.effort,
            effort_record: self.effort_record,
            options: self.options.clone(),
            run,
        }
    }

    fn decider(&self, question: &NodeQuestion<A>, proofs: bool) -> Result<&A::Decider> {
        if let Some(decider) = self.decider.get() {
            return Ok(decider);
        }
        let prepared = A::prepare(question)?;
        Ok(self.decider.get_or_init(|| match self.limit {
            Some(_) => A::radius_decider(question, prepared),
            None => A::decider(question, prepared, proofs),
        }))
    }

    fn decide(&self, decider: &A::Decider, nodes: &[usize], prove: Option<&Prove<A>>) -> Result<Lines> {
        let lines = |result: NodeResult<A>, seconds: f64| -> Result<Lines> {
            let (mut row, mut proof) = Lines::default();
            if let Some(prove) = prove {
                A::Header::write(&prove(decider, &result), &mut proof).into_diagnostic()?;
            }
            let minima = result.minima.clone();
            let mut record = Record::<A>::new(&self.graph, result, seconds);
            if self.effort_record.exact_margins {
                record = record.with_exact_margins(&minima);
            }
            push(&mut row, &record)?;
            Ok((row, proof))
        };
        let found = Mutex::new(Vec::with_capacity(nodes.len()));
        let labels = self.class == Class::Labels;
        let reference = |node| self.graph.label(node).map(|label| label as usize).filter(|_| labels);
        decider.each(nodes, reference, |result, seconds| {
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

/// A row that does not contradict itself, as a line.
fn push(lines: &mut Vec<u8>, row: &(impl Row + Serialize)) -> Result<()> {
    row.check().into_diagnostic()?;
    serde_json::to_writer(&mut *lines, row).into_diagnostic()?;
    lines.push(b'\n');
    Ok(())
}

impl<A: Shown> Ask for Owned<A> {
    fn answer(&self, proofs: Option<&Path>, run: &Run) -> Result<Answer> {
        let (question, total) = (self.question(run), self.nodes.len());
        match self.limit {
            Some(limit) => {
                let found = question.radii(limit)?;
                let facts = json!({ "seconds": found.seconds, "interrupted": found.interrupted });
                Ok(Answer { rows: Rows::new(A::radii(found.rows), &found.description, total), facts })
            }
            None => {
                proofs.map_or(Ok(()), check_proofs_name)?;
                let found = question.verdicts(proofs)?;
                let facts = json!({
                    "seconds": found.seconds, "computed": found.computed, "interrupted": found.interrupted, "proofs": found.proofs,
                });
                Ok(Answer { rows: Rows::new(A::nodes(found.rows.into_vec()), &found.description, total), facts })
            }
        }
    }

    fn explain(&self) -> Result<(Value, String)> {
        A::explain(&self.question(&no_files()), self.nodes[0])
    }

    fn note(&self) -> Option<String> {
        A::note(&self.question(&no_files()))
    }

    fn work(&self, nodes: &[usize], proofs: bool) -> Result<Lines> {
        let run = no_files();
        let question = self.question(&run);
        let decider = self.decider(&question, proofs)?;
        if let Some(limit) = self.limit {
            let keys: Vec<u64> = nodes.iter().map(|&node| node as u64).collect();
            let rows = Mutex::new(Vec::new());
            radius::search(decider, &keys, limit.min(i64::MAX as usize), &|row| {
                rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(row);
            });
            let rows = rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
            let mut lines = Vec::new();
            rows.iter().try_for_each(|row| push(&mut lines, row))?;
            return Ok((lines, Vec::new()));
        }
        match proofs {
            false => self.decide(decider, nodes, None),
            true => A::proving(&question, &question.header(), |prove| self.decide(decider, nodes, Some(prove)))?,
        }
    }

    fn gather(&self, proofs: Option<&Path>, run: &Run) -> Result<Gathering> {
        let question = self.question(run);
        A::prepare(&question)?;
        let rows: Box<dyn Gathered> = match self.limit {
            Some(limit) => Gathering::radii(&question, A::radius_description(&question, limit))?,
            None => {
                proofs.map_or(Ok(()), check_proofs_name)?;
                question.check()?;
                let proofs = proofs.map(|path| question.open_proofs(path)).transpose()?;
                Gathering::verdicts(&question, A::description(&question), proofs)?
            }
        };
        Ok(Gathering::new(rows, &self.nodes))
    }
}

/// A part of a run that writes nothing itself.
fn no_files() -> Run {
    run(None, false, false)
}

#[pymethods]
impl Question {
    /// What is asked of some nodes about an attacker.
    #[new]
    fn new(py: Python, graph: &Graph, network: &Network, attack: Attack, asked: Asked) -> PyResult<Question> {
        Ok(Question(match attack {
            Attack::Flips(means) => Arc::new(Owned::<Flips>::new(py, graph, network, &means, &asked)?),
            Attack::Edges(means) => Arc::new(Owned::<Edges>::new(py, graph, network, &means, &asked)?),
            Attack::Joint(means) => Arc::new(Owned::<Joint>::new(py, graph, network, &means, &asked)?),
        }))
    }

    /// The rows, and what else there is to say of the run.
    #[pyo3(signature = (files, threads=None, progress=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        files: Files,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Rows, Bound<'py, PyAny>)> {
        let (question, run) = (self.0.clone(), files.run());
        answer(py, threads, progress, move || question.answer(files.proofs.as_deref(), &run))
    }

    /// What the verdict on a node rests on: as a dictionary, and as text.
    #[pyo3(signature = (threads=None))]
    fn explain<'py>(&self, py: Python<'py>, threads: Option<usize>) -> PyResult<(Bound<'py, PyAny>, String)> {
        let question = self.0.clone();
        let done = call(py, threads, None, move || question.explain())?.whole()?;
        Ok((object(py, &done.value.0)?, done.value.1))
    }

    /// What a user should know before any node is worked on.
    fn notes(&self) -> Vec<String> {
        self.0.note().into_iter().collect()
    }

    /// Works on some nodes for another machine: their rows as JSON lines, and the lines of their proofs.
    #[pyo3(signature = (graph, nodes, proofs, threads=None))]
    fn work<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        nodes: Vec<i64>,
        proofs: bool,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (question, nodes) = (self.0.clone(), selected(py, &graph.0, &nodes)?);
        let (rows, proofs) = call(py, threads, None, move || question.work(&nodes, proofs))?.whole()?.value;
        Ok((PyBytes::new(py, &rows), PyBytes::new(py, &proofs)))
    }

    /// Opens the files of a run that several machines share, for the one who writes them.
    fn gather(&self, py: Python, files: Files) -> PyResult<Gathering> {
        let run = files.run();
        self.0.gather(files.proofs.as_deref(), &run).map_err(|report| from_report(py, &report))
    }
}
