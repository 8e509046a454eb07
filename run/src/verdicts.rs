//! The work of `certify`: a verdict for every node of a list, with files or without. Whoever asks says what is printed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gcnproof::{Bound, Budget, Effort, Execution, Graph, Minimum, Network, Operator};
use gcnproof_check::Checker;
use gcnproof_check::format::{Convention, Deployed, Header};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::{
    BudgetRecord, CertifyRun, Class, Description, EffortRecord, Identity, NodeSet,
};
use miette::{Result, miette};

use super::deployed::rounding_note;
use super::ids::Ids;
use super::proofs::{Proofs, Written};
use super::run::Run;

/// What is asked.
pub struct Verdicts<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network on it.
    pub network: &'a Network,
    /// Digests of both, for the record.
    pub identity: &'a Identity,
    /// The rules of message passing as they were given, for the header of proofs.
    pub rules: Vec<Operator>,
    /// What an attacker may do.
    pub budget: Budget,
    /// The same for the record.
    pub budget_record: BudgetRecord,
    /// The rows of the nodes, in rising order.
    pub nodes: &'a [usize],
    /// What the rows are called.
    pub ids: Ids<'a>,
    /// Which bounds certify.
    pub bound: Bound,
    /// The class that is to be kept.
    pub class: Class,
    /// How far to go.
    pub effort: Effort,
    /// The same for the record.
    pub effort_record: EffortRecord,
    /// How the network runs, if verdicts are to hold for that too.
    pub deployed: Option<Execution>,
    /// Where proofs go.
    pub proofs: Option<&'a Path>,
    /// Where rows go.
    pub run: &'a Run,
}

/// What was found.
pub struct Found {
    /// A row for every node.
    pub rows: Vec<NodeRecord>,
    /// The exact minima of the class pairs of a node, where they were asked for.
    pub minima: BTreeMap<u64, Vec<Option<Minimum>>>,
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

impl Verdicts<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// If labels are missing, or a file cannot be written.
    pub fn execute(self) -> Result<Found> {
        let Verdicts { graph, network, class, .. } = self;
        self.check()?;
        let description = self.description();
        let start = Instant::now();
        let ids = self.ids;
        let keys: Vec<u64> = self.nodes.iter().map(|&row| ids.id(row)).collect();
        let proofs = self.proofs.map(|path| self.open_proofs(path)).transpose()?;
        let file = proofs.as_ref().map(|_| graph.file());
        let statement = proofs.as_ref().zip(file.as_ref()).map(|(proofs, file)| proofs.statement(file)).transpose()?;
        let checker = statement.as_ref().map(|statement| Checker::new(statement, false));
        let exact_margins = self.effort_record.exact_margins;
        let minimizes = matches!(self.effort, Effort::Minimize { .. });
        let schema = NodeRecord::schema(exact_margins, self.deployed.is_some());
        if let Some(note) = rounding_note(self.deployed, network) {
            self.run.host.note(&note);
        }
        let found = Mutex::new(BTreeMap::new());
        let computed = AtomicUsize::new(0);
        let (rows, interrupted) = self.run.rows_again(
            schema,
            &description,
            &keys,
            |row: &NodeRecord| row.node,
            |id| proofs.as_ref().is_some_and(|proofs| !proofs.has(ids.row(id) as u64)),
            |open, done| {
                if open.is_empty() {
                    return;
                }
                let certifier = self
                    .run
                    .certifier(graph, network, self.budget)
                    .bound(self.bound)
                    .effort(self.effort)
                    .margins(self.effort_record.margins);
                let certifier = match self.deployed {
                    Some(execution) => certifier.deployed(execution),
                    None => certifier,
                };
                let certifier = certifier.proofs(proofs.is_some()).build();
                let open: Vec<usize> = open.iter().map(|&id| ids.row(id)).collect();
                let label = |node| graph.label(node).map(|label| label as usize).filter(|_| class == Class::Labels);
                certifier.each(&open, label, |result, seconds| {
                    // First the proof, then the row: a row without its proof would be done again, but may not come back.
                    if let (Some(proofs), Some(checker), None) = (&proofs, &checker, &result.contradiction) {
                        proofs.push(&result, checker);
                    }
                    let minima = result.minima.clone();
                    let mut row = ids.name(NodeRecord::new(certifier.graph(), result, seconds));
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
        )?;
        let proofs = proofs.map(|proofs| proofs.finish(!interrupted, &rows)).transpose()?;
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

    /// What the run is.
    pub fn description(&self) -> Description {
        let ids: Vec<usize> = self.nodes.iter().map(|&row| self.ids.id(row) as usize).collect();
        Description::Certify(CertifyRun {
            input: self.identity.clone(),
            budget: self.budget_record.clone().with_global(self.budget.global()),
            bound: Some(self.bound),
            effort: Some(self.effort_record),
            class: Some(self.class),
            deployed: self.deployed,
            nodes: self.nodes.len(),
            node_set: NodeSet::new(&ids, self.ids.count()),
        })
    }

    /// Opens a file of proofs for this run.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn open_proofs(&self, path: &Path) -> Result<Proofs> {
        Proofs::open(path, self.header(), self.network, self.run)
    }

    /// What the proofs of this run state.
    pub fn header(&self) -> Header {
        let classes = match self.class {
            Class::Predicted => Convention::Predicted,
            Class::Labels => Convention::Labels,
        };
        let digests = (self.graph.digest(), self.identity.model.as_str());
        let mut header = gcnproof::proof::header(digests, (self.network, &self.rules), &self.budget, classes);
        header.deployed = self.deployed.map(|execution| Deployed {
            precision: execution.precision,
            operator_error: execution.operator_errors(self.graph, self.network),
            flush_subnormals: execution.flush_subnormals,
        });
        header
    }
}

/// The name of a file says what is in it, here as elsewhere.
///
/// # Errors
/// If it does not.
pub fn check_proofs_name(path: &Path) -> Result<()> {
    let name = path.to_string_lossy().to_lowercase();
    if name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") {
        return Ok(());
    }
    Err(miette!(
        help = "end the name in .jsonl (JSON lines) or .jsonl.zst (compressed)",
        "--proofs {}: the name does not say that it holds JSON lines",
        path.display()
    ))
}

/// `--class labels` needs a usable label for every node asked for.
///
/// # Errors
/// With the first node that has none.
pub fn check_labels(graph: &Graph, nodes: &[usize], ids: Ids, classes: usize) -> Result<()> {
    for &row in nodes {
        let node = ids.id(row);
        match graph.label(row) {
            Some(label) if (label as usize) < classes => {}
            Some(label) => {
                return Err(miette!(
                    help = "use --class predicted, or name other nodes with --nodes",
                    "--class labels: node {node} has label {label}, but the model has {classes} classes"
                ));
            }
            None => {
                return Err(miette!(
                    help = "use --class predicted, or name only labelled nodes with --nodes",
                    "--class labels: node {node} has no label"
                ));
            }
        }
    }
    Ok(())
}
