//! The work of `collective`: a row for every budget, with files or without. Whoever asks says what is printed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use gcnproof::internals::collective::base::{Base, bases};
use gcnproof::internals::collective::curve::{Collective, Outcome, Settings};
use gcnproof::internals::collective::families::Rows;
use gcnproof::proof::{ProofError, is_proofs};
use gcnproof::{Budget, Certifier, Effort, Graph, Network, Operator, ProblemError};
use gcnproof_check::format::Convention;
use gcnproof_files::largest_input;
use gcnproof_results::Mode;
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::{
    BudgetRecord, Class, CollectiveRun, Description, EffortRecord, Identity, NodeSet,
};
use miette::{Result, miette};

use super::budgets::Budgets;
use super::collective_proofs::{CollectiveFiles, Folder};
use super::effort::limit_words;
use super::flips::nothing_to_attack;
use super::known_radii::KnownRadii;
use super::question::no_labels;
use super::run::{Finished, Run, check_no_file, make_folder};
use super::scope::instead;
use super::side_by_side::side_by_side;

/// Budgets that are worked on at a time.
const MOST_AT_ONCE: usize = 8;

/// Bytes of a budget's program, and of its sums for every entry of the attributes.
const COLUMNS: u64 = 600_000_000;
const SUMS: u64 = 12;

/// Flips up to which nodes are looked at by themselves where that is not all that is known of them.
const ALONE: usize = 8;

/// Who proposes multipliers; every bound is evaluated by us.
#[derive(Clone, Copy, Debug, Default)]
pub enum Proposer {
    /// Our own method.
    #[default]
    Own,
    /// HiGHS, for rows of counts: the laboratory has it.
    Highs(Propose),
}

/// Puts the bound that a solver's multipliers give in the place of the one that the outcome has; in words, why there
/// are none.
pub type Propose = fn(&Certifier, &[(Base, usize)], Option<usize>, &mut Outcome) -> Result<(), String>;

/// What is asked.
pub struct Question<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What messages call it.
    pub graph_name: String,
    /// The network on it.
    pub network: &'a Network,
    /// Digests of both, for the record.
    pub identity: &'a Identity,
    /// The rules of message passing as they were given, for the header of proofs.
    pub rules: Vec<Operator>,
    /// Flips in all.
    pub budgets: Budgets,
    /// What an attacker may do besides; its own number of flips in all is passed over.
    pub budget: Budget,
    /// Nodes whose attributes the attacker may change, if limited.
    pub attacked_nodes: Option<usize>,
    /// Only predictions of these nodes count, in rising order.
    pub nodes: Option<Vec<usize>>,
    /// All predictions, or those that agree with the label.
    pub class: Class,
    /// What is known of single nodes, if it need not be searched for.
    pub radii: Option<KnownRadii>,
    /// What the bound rests on; with proofs, on what these can state.
    pub rows: Rows,
    /// Who proposes multipliers.
    pub solver: Proposer,
    /// How far single nodes are searched.
    pub effort: Effort,
    /// The same for the record.
    pub effort_record: EffortRecord,
    /// Are single nodes searched up to the largest budget? Otherwise up to a few flips: what takes more is bounded as
    /// well by what every single flip can do.
    pub exhaustive: bool,
    /// Swaps that the search for an attack tries, if given.
    pub swaps: Option<usize>,
    /// The folder that proofs go to, or the name of its files with `N` for the budget.
    pub proofs: Option<&'a Path>,
    /// Where rows go.
    pub run: &'a Run,
}

impl Question<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// If no prediction counts, radii are of another run, or a file cannot be written.
    pub fn execute(mut self) -> Result<Finished<CollectiveRecord>> {
        let start = Instant::now();
        if self.proofs.is_some() && self.rows != Rows::Weights {
            self.rows = Rows::Provable;
        }
        self.check_solver()?;
        if self.network.has_readout() {
            let error = ProblemError::Graphs { what: "one attack on all of them is" };
            return Err(miette!(help = "`certify` decides graphs one by one", "{error}"));
        }
        let certifier = self.run.certifier(self.graph, self.network, self.budget.clone()).effort(self.effort).build();
        let nodes = self.counted(&certifier)?;
        let budget_record = BudgetRecord::new(&self.budget);
        let radii = self.radii.take();
        let known = radii.map(|radii| radii.bases(self.identity, &budget_record, &nodes)).transpose()?;
        let proofs = self.proofs.map(|folder| self.open_proofs(folder)).transpose()?;
        let keys: Vec<u64> = self.budgets.numbers().iter().map(|&q| q as u64).collect();
        let description = Description::Collective(CollectiveRun {
            input: self.identity.clone(),
            budget: budget_record,
            budgets: keys.clone(),
            attacked_nodes: self.attacked_nodes.map(|count| count as u64),
            rows: self.rows,
            solver: matches!(self.solver, Proposer::Highs(_)).then(|| "highs".into()),
            class: self.class,
            effort: known.is_none().then_some(self.effort_record),
            shallow: known.is_none() && self.effort != Effort::Bounds && !self.looks_far(),
            swaps: self.swaps,
            nodes: nodes.len(),
            node_set: NodeSet::new(&nodes, self.graph.node_count()),
        });
        if let Some(note) = nothing_to_attack(&self.budget) {
            self.run.host.note(&note);
        }
        let failed = Mutex::new(None);
        let key = |row: &CollectiveRecord| row.q_global;
        let (rows, interrupted) = self.run.rows(CollectiveRecord::SCHEMA, &description, &keys, key, |open, done| {
            if open.is_empty() {
                return;
            }
            let made = proofs.as_ref().map_or(Ok(()), |proofs| make_folder(&proofs.folder.path));
            if let Err(error) = made {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return;
            }
            let found = known.or_else(|| self.by_themselves(&certifier, &nodes));
            let Some(found) = found else { return };
            if let Err(error) = self.each(&certifier, found, proofs.as_ref(), open, done) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        })?;
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Finished { rows, interrupted, seconds: start.elapsed().as_secs_f64(), description }),
        }
    }

    /// Works on budgets until the run is stopped.
    fn each(
        &self,
        certifier: &Certifier,
        found: Vec<Base>,
        proofs: Option<&CollectiveFiles>,
        open: &[u64],
        done: &(dyn Fn(CollectiveRecord) + Sync),
    ) -> Result<()> {
        let class = |base: Base| {
            let class = certifier.predicted(base.node);
            (base, class)
        };
        let nodes: Vec<(Base, usize)> = found.into_iter().map(class).collect();
        let settings =
            Settings { rows: self.rows, attacked_nodes: self.attacked_nodes, swaps: self.swaps, ..Settings::default() };
        let work = Collective::new(certifier, &nodes, settings).map_err(|error| {
            let binarized = match error {
                ProblemError::Normalised { .. } => {
                    "; or give a model of 0/1 attributes and read the graph with --binarize"
                }
                _ => "",
            };
            let asked = instead(&error).map_or(String::new(), |asked| format!(": {asked}"));
            miette!(help = format!("`gcnproof certify` decides nodes one by one{asked}{binarized}"), "{error}")
        })?;
        let failed = Mutex::new(None);
        let at = |&q: &u64| -> Option<Outcome> {
            let mut outcome = match proofs {
                None => work.at(q as usize),
                Some(proofs) => proofs.prove(&work, certifier, q as usize).unwrap_or_else(|error| {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    None
                }),
            }?;
            if let Proposer::Highs(propose) = self.solver
                && let Err(status) = propose(certifier, &nodes, self.attacked_nodes, &mut outcome)
            {
                // Ours stays.
                let note = format!("note: Q = {}: HiGHS has no multipliers, ours bound: {status}", outcome.global);
                self.run.host.note(&note);
            }
            Some(outcome)
        };
        let mut before = None;
        side_by_side(open, self.at_once(), at, |mut outcome| {
            before.iter().for_each(|before| outcome.attacked_as_before(before));
            done(CollectiveRecord::new(&outcome));
            before = Some(outcome);
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// How many budgets are worked on at a time: not more than fit into half of what the input may take. Another solver
    /// has threads of its own.
    fn at_once(&self) -> usize {
        if matches!(self.solver, Proposer::Highs(_)) {
            return 1;
        }
        let sums = (self.graph.node_count() as u64).saturating_mul(self.graph.attribute_count() as u64);
        let each = COLUMNS.saturating_add(sums.saturating_mul(SUMS));
        let fit = usize::try_from(largest_input() / 2 / each).unwrap_or(usize::MAX);
        rayon::current_num_threads().min(MOST_AT_ONCE).min(fit)
    }

    /// Another solver is asked about rows of counts alone.
    fn check_solver(&self) -> Result<()> {
        if matches!(self.solver, Proposer::Highs(_)) && self.rows != Rows::Count {
            return Err(miette!(
                help = "add --rows count without --proofs, or leave --solver out",
                "--solver highs proposes multipliers of rows of counts alone"
            ));
        }
        Ok(())
    }

    /// The nodes whose predictions count.
    fn counted(&self, certifier: &Certifier) -> Result<Vec<usize>> {
        let graph = self.graph;
        let mut nodes = self.nodes.clone().unwrap_or_else(|| (0..graph.target_count()).collect());
        if self.class == Class::Labels {
            if nodes.iter().all(|&node| graph.label(node).is_none()) {
                return Err(no_labels(graph, self.nodes.is_some()));
            }
            nodes.retain(|&node| graph.label(node) == u32::try_from(certifier.predicted(node)).ok());
            if nodes.is_empty() {
                return Err(miette!(
                    help = "leave --class labels out, and all predictions count",
                    "{}: no prediction agrees with a label, so none can be broken",
                    self.graph_name
                ));
            }
        }
        Ok(nodes)
    }

    /// Are nodes looked at by themselves up to the largest budget? Rows of counts rest on nothing else.
    fn looks_far(&self) -> bool {
        self.exhaustive || self.rows == Rows::Count
    }

    /// Up to how many flips nodes are looked at by themselves.
    fn most_alone(&self) -> usize {
        let most = self.budgets.numbers().last().copied().unwrap_or(0);
        if self.looks_far() { most } else { most.min(ALONE) }
    }

    /// Sees whether proofs can go to a folder, which is made when all else is ready.
    fn open_proofs(&self, folder: &Path) -> Result<CollectiveFiles<'_>> {
        let folder = Folder::new(folder);
        check_no_file(&folder.path)?;
        let files: Vec<PathBuf> = self.budgets.numbers().iter().map(|&q| folder.file_of(q)).collect();
        for path in files.iter().filter(|path| path.exists()) {
            if !is_proofs(path)? {
                return Err(ProofError::Occupied { file: path.display().to_string() }.into());
            }
        }
        if let Some(there) = files.iter().find(|path| path.exists())
            && self.run.mode() == Mode::Fresh
        {
            return Err(miette!(
                help = "choose another folder, or overwrite it with --force",
                "{}: there is a proof already",
                there.display()
            ));
        }
        Ok(CollectiveFiles {
            folder,
            graph: self.graph,
            network: self.network,
            file: self.graph.file(),
            model: self.identity.model.clone(),
            rules: self.rules.clone(),
            classes: if self.class == Class::Labels { Convention::Labels } else { Convention::Predicted },
            attacked_nodes: self.attacked_nodes,
            nodes: self.nodes.clone(),
        })
    }

    /// What is known of each node by itself; nothing if the run is stopped.
    fn by_themselves(&self, certifier: &Certifier, nodes: &[usize]) -> Option<Vec<Base>> {
        let bar = self.run.host.stage(nodes.len(), "single nodes");
        let found = bases(certifier, nodes, self.most_alone(), self.run.stopped(), |_| bar.advance()).ok().flatten();
        bar.finish();
        let given_up = found.iter().flatten().filter(|base| base.limit_hit).count();
        if let (1.., Effort::Complete(limits)) = (given_up, self.effort) {
            self.run.host.note(&format!(
                "note: the search for what single nodes withstand was stopped at {} for {given_up} of {} nodes: the bounds hold, \
                 and a longer --time-limit may give better ones",
                limit_words(&limits),
                nodes.len()
            ));
        }
        found
    }
}
