//! What is asked of nodes: a verdict for each, or a radius, with files or without, whatever the attacker. Whoever asks
//! says what is printed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gcnproof::proof::FileHeader;
use gcnproof::{Decide, Effort, Graph, Minimum, Network, NodeResult, Operator};
use gcnproof_check::Accepted;
use gcnproof_check::format::Convention;
use gcnproof_results::record::description::{Class, Description, EffortRecord, Identity};
use gcnproof_results::record::kept::KeptRows;
use gcnproof_results::record::node::{Record, Tabled};
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_results::{Column, of_graphs};
use miette::{Report, Result, miette};

use super::ids::Ids;
use super::outputs::{NamedFile, check_distinct};
use super::proofs::{Proofs, Written};
use super::radius;
use super::run::{Finished, Run};

/// What is asked of some nodes of a graph.
pub struct NodeQuestion<'a, A: Answered> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network on it.
    pub network: &'a Network,
    /// Digests of both, for the record.
    pub identity: &'a Identity,
    /// The rules of message passing as they were given, for the header of proofs.
    pub rules: Vec<Operator>,
    /// What an attacker may do.
    pub budget: A::Budget,
    /// The rows of the nodes, in rising order.
    pub nodes: &'a [usize],
    /// What the rows are called.
    pub ids: Ids<'a>,
    /// The class that is to be kept.
    pub class: Class,
    /// How far to go.
    pub effort: Effort,
    /// The same for the record.
    pub effort_record: EffortRecord,
    /// What only questions about this attacker say.
    pub options: A::Options,
    /// Where rows go.
    pub run: &'a Run,
}

/// Shows a result to the checker: the line of a file of proofs.
pub type Prove<'a, A> = dyn Fn(&<A as Answered>::Decider, &NodeResult<A>) -> Accepted<<<A as Answered>::Header as FileHeader>::Line>
    + Sync
    + 'a;

/// An attacker that runs are about: what the certifier and the checker need to know to answer questions.
pub trait Answered: Tabled {
    /// The header of a file of proofs.
    type Header: FileHeader + Send + Sync;
    /// What decides nodes.
    type Decider: Decide<Self>;
    /// What only questions about this attacker say.
    type Options: Clone + Send + Sync;
    /// What is made, and can be refused, before any file is opened.
    type Prepared;

    /// Puts graph, network and budget together.
    ///
    /// # Errors
    /// If such a network is not decided.
    fn prepare(question: &NodeQuestion<Self>) -> Result<Self::Prepared>;

    /// What decides the verdicts, with what they rest on or without.
    fn decider(question: &NodeQuestion<Self>, prepared: Self::Prepared, proofs: bool) -> Self::Decider;

    /// What decides radii.
    fn radius_decider(question: &NodeQuestion<Self>, prepared: Self::Prepared) -> Self::Decider {
        Self::decider(question, prepared, false)
    }

    /// What a run about verdicts is.
    fn description(question: &NodeQuestion<Self>) -> Description;

    /// What a run about radii up to a limit is.
    fn radius_description(question: &NodeQuestion<Self>, limit: usize) -> Description;

    /// The columns of a file of rows.
    fn columns(question: &NodeQuestion<Self>) -> &'static [Column] {
        Self::schema(question.effort_record.exact_margins, Self::is_deployed(question))
    }

    /// Are verdicts for the network as it runs asked for?
    fn is_deployed(_: &NodeQuestion<Self>) -> bool {
        false
    }

    /// What a user should know before any node is worked on.
    fn note(_: &NodeQuestion<Self>) -> Option<String> {
        None
    }

    /// What proofs state.
    fn header(question: &NodeQuestion<Self>, classes: Convention) -> Self::Header;

    /// Makes the checker of a header, and hands on what shows results to it.
    ///
    /// # Errors
    /// If the checker does not understand our own header.
    fn proving<R>(
        question: &NodeQuestion<Self>,
        header: &Self::Header,
        work: impl FnOnce(&Prove<Self>) -> R,
    ) -> Result<R>;

    /// A change whose nodes have other names elsewhere.
    fn renamed(change: Self::Change, name: impl Fn(u32) -> u32) -> Self::Change;
}

/// What was found.
pub struct Found<A: Answered> {
    /// A row for every node.
    pub rows: KeptRows<A>,
    /// The exact minima of the class pairs of a node, where they were asked for.
    pub minima: BTreeMap<u64, Vec<Option<Minimum<A>>>>,
    /// What was written of proofs.
    pub proofs: Option<Written>,
    /// Was the run interrupted?
    pub interrupted: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Nodes that this run has worked on.
    pub computed: usize,
    /// What the run was.
    pub description: Description,
}

impl<A: Answered> NodeQuestion<'_, A> {
    /// Decides the nodes; proofs go to a file, if there is one.
    ///
    /// # Errors
    /// If the network is not decided, labels are missing, or a file cannot be written.
    pub fn verdicts(self, proofs: Option<&Path>) -> Result<Found<A>> {
        self.check()?;
        self.check_files(proofs)?;
        let prepared = A::prepare(&self)?;
        let description = A::description(&self);
        let start = Instant::now();
        let (graph, ids, class) = (self.graph, self.ids, self.class);
        let keys = self.keys();
        let run = Run { proofs: proofs.map(Path::to_owned), ..self.run.clone() };
        let proofs = proofs.map(|path| self.open_proofs(path)).transpose()?;
        let exact_margins = self.effort_record.exact_margins;
        let minimizes = matches!(self.effort, Effort::Minimize { .. });
        let schema = self.columns(A::columns(&self));
        self.tell_note();
        let found = Mutex::new(BTreeMap::new());
        let computed = AtomicUsize::new(0);
        let work = |prove: Option<&Prove<A>>| {
            run.rows_again(
                schema,
                &description,
                &keys,
                |row: &Record<A>| row.node,
                |id| proofs.as_ref().is_some_and(|proofs| !proofs.has(ids.row(id) as u64)),
                |open, done| {
                    if open.is_empty() {
                        return;
                    }
                    let decider = A::decider(&self, prepared, proofs.is_some());
                    let open: Vec<usize> = open.iter().map(|&id| ids.row(id)).collect();
                    let label = |node| graph.label(node).map(|label| label as usize).filter(|_| class == Class::Labels);
                    decider.each(&open, label, |result, seconds| {
                        // First the proof, then the row: a row without its proof would be done again, but may not come
                        // back.
                        if let (Some(proofs), Some(prove), None) = (&proofs, prove, &result.contradiction) {
                            proofs.add(&prove(&decider, &result));
                        }
                        let minima = result.minima.clone();
                        let mut row = self.named(Record::new(graph, result, seconds));
                        if exact_margins {
                            row = row.with_exact_margins(&minima);
                        }
                        if minimizes {
                            let mut found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                            found.insert(row.node, minima);
                        }
                        computed.fetch_add(1, Ordering::Relaxed);
                        done(row);
                    });
                },
            )
        };
        let (rows, interrupted) = match &proofs {
            Some(proofs) => A::proving(&self, proofs.header(), |prove| work(Some(prove)))??,
            None => work(None)?,
        };
        let rows = KeptRows::from(rows);
        let proofs =
            proofs.map(|proofs| proofs.finish(!interrupted, rows.iter().map(|row| row.verdict))).transpose()?;
        Ok(Found {
            rows,
            minima: found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()),
            proofs,
            interrupted,
            seconds: start.elapsed().as_secs_f64(),
            computed: computed.into_inner(),
            description,
        })
    }

    /// Finds the radii of the nodes up to a limit.
    ///
    /// # Errors
    /// If the network is not decided, or the file of rows cannot be written.
    pub fn radii(self, limit: usize) -> Result<Finished<RadiusRow<A>>> {
        let prepared = A::prepare(&self)?;
        let description = A::radius_description(&self, limit);
        let start = Instant::now();
        let ids = self.ids;
        self.tell_note();
        let (rows, interrupted) = self.run.rows(
            self.columns(RadiusRow::<A>::SCHEMA),
            &description,
            &self.keys(),
            |row: &RadiusRow<A>| row.node,
            |open, done| {
                let decider = A::radius_decider(&self, prepared);
                let open: Vec<u64> = open.iter().map(|&id| ids.row(id) as u64).collect();
                // Files hold signed integers; nobody has so many attributes or edges.
                radius::search(&decider, &open, limit.min(i64::MAX as usize), &|row| done(self.named_radius(row)));
            },
        )?;
        Ok(Finished { rows, interrupted, seconds: start.elapsed().as_secs_f64(), description })
    }

    /// The columns of a file of rows, if those about nodes are these.
    pub fn columns(&self, of_nodes: &'static [Column]) -> &'static [Column] {
        if self.graph.batch().is_some() { of_graphs(of_nodes) } else { of_nodes }
    }

    /// Looks at what can be wrong before any work.
    ///
    /// # Errors
    /// If labels are missing.
    pub fn check(&self) -> Result<()> {
        match self.class {
            Class::Labels => check_labels(self.graph, self.nodes, self.ids, self.network.class_count()),
            Class::Predicted => Ok(()),
        }
    }

    /// Rows and proofs go to two files.
    fn check_files(&self, proofs: Option<&Path>) -> Result<()> {
        let named = |option: &str, path: Option<&Path>| {
            path.map(|path| NamedFile { option: option.into(), path: path.to_owned() })
        };
        let written = [named("--out", self.run.out.as_deref()), named("--proofs", proofs)];
        check_distinct(&written.into_iter().flatten().collect::<Vec<_>>(), &[])
    }

    /// The ids of the nodes.
    pub fn named_nodes(&self) -> Vec<usize> {
        self.nodes.iter().map(|&row| self.ids.id(row) as usize).collect()
    }

    /// Opens a file of proofs for this run.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn open_proofs(&self, path: &Path) -> Result<Proofs<A::Header>> {
        Proofs::open(path, self.header(), self.run)
    }

    /// What the proofs of this run state.
    pub fn header(&self) -> A::Header {
        let classes = match self.class {
            Class::Predicted => Convention::Predicted,
            Class::Labels => Convention::Labels,
        };
        A::header(self, classes)
    }

    /// A row of results with ids.
    fn named(&self, mut row: Record<A>) -> Record<A> {
        row.node = self.ids.id(row.node as usize);
        row.contradiction = row.contradiction.map(|of_row| of_row.of_node(row.node as usize));
        self.rename(&mut row.witness);
        row
    }

    /// A row of radii with ids.
    fn named_radius(&self, mut row: RadiusRow<A>) -> RadiusRow<A> {
        row.node = self.ids.id(row.node as usize);
        row.contradiction = row.contradiction.map(|of_row| of_row.of_node(row.node as usize));
        self.rename(&mut row.witness);
        row
    }

    fn rename(&self, changes: &mut [A::Change]) {
        for change in changes {
            *change = A::renamed(*change, |node| self.ids.id(node as usize) as u32);
        }
    }

    fn keys(&self) -> Vec<u64> {
        self.nodes.iter().map(|&row| self.ids.id(row)).collect()
    }

    fn tell_note(&self) {
        if let Some(note) = A::note(self) {
            self.run.host.note(&note);
        }
    }
}

/// The name of a file says what is in it, here as elsewhere.
///
/// # Errors
/// If it does not.
pub fn check_proofs_name(path: &Path) -> Result<()> {
    check_json_lines("--proofs", path)
}

/// The same where another option names the file of proofs.
///
/// # Errors
/// If its name does not say what is in it.
pub fn check_json_lines(option: &str, path: &Path) -> Result<()> {
    let name = path.to_string_lossy().to_lowercase();
    if name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") {
        return Ok(());
    }
    Err(miette!(
        help = "end the name in .jsonl (JSON lines) or .jsonl.zst (compressed)",
        "{option} {}: the name does not say that it holds JSON lines",
        path.display()
    ))
}

/// Why labels cannot be kept where there are none, at all or of `some` nodes that are asked about.
pub fn no_labels(graph: &Graph, some: bool) -> Report {
    let target = if graph.batch().is_some() { "graph" } else { "node" };
    let anywhere = (0..graph.target_count()).any(|row| graph.label(row).is_some());
    match some && anywhere {
        true => miette!(
            help = format!("leave --class labels out, or name labelled {target}s with --nodes"),
            "--class labels: none of the {target}s asked about has a label"
        ),
        false => miette!(
            help = format!(
                "leave --class labels out: the predicted class is the one to be kept; or save labels with the graph, one for each {target} (`y`)"
            ),
            "--class labels: the graph has no labels"
        ),
    }
}

/// `--class labels` needs a usable label for every node asked for.
///
/// # Errors
/// With the first node that has none.
pub fn check_labels(graph: &Graph, nodes: &[usize], ids: Ids, classes: usize) -> Result<()> {
    let target = if graph.batch().is_some() { "graph" } else { "node" };
    if nodes.iter().all(|&row| graph.label(row).is_none()) {
        return Err(no_labels(graph, nodes.len() < graph.target_count()));
    }
    for &row in nodes {
        let node = ids.id(row);
        match graph.label(row) {
            Some(label) if (label as usize) < classes => {}
            Some(label) => {
                return Err(miette!(
                    help = format!("use --class predicted, or name other {target}s with --nodes"),
                    "--class labels: {target} {node} has label {label}, but the model has {classes} classes"
                ));
            }
            None => {
                return Err(miette!(
                    help = format!("use --class predicted, or name only labelled {target}s with --nodes"),
                    "--class labels: {target} {node} has no label"
                ));
            }
        }
    }
    Ok(())
}
