//! Calls of the program under test: the certifier, its proof writer and the checker.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{
    Bound, Budget, Certifier, Direction, Effort, Graph, Limits, Network, NodeResult, Operator, Problem, proof,
};
use gcnproof_check::format::{Convention, Header, Line};
use gcnproof_check::{Checker, Statement};
use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use crate::case::{Case, Rule, Way};

/// A search that has not ended by then is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// After so many searches that did not end, the other nodes of a case are left out.
const GIVEN_UP: usize = 2;

/// After this time, and that for each node, the other nodes of a case are left out as well: hard cases are not the
/// hunt's business.
const CASE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(2));

/// Set to stop everything soon: searches end, and what they were about is not compared.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Is everything to stop?
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The gap of `--minimize`: the exact minimum.
const GAP: f64 = 0.0;

/// How far the certifier goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `--bound paper`.
    Paper,
    /// `--bound anchored`.
    Anchored,
    /// No option.
    Best,
    /// `--omega optimal`.
    Optimal,
    /// `--complete`.
    Complete,
    /// `--minimize`.
    Minimize,
}

impl How {
    /// The options on a command line.
    pub fn options(self) -> &'static str {
        match self {
            How::Paper => "--bound paper",
            How::Anchored => "--bound anchored",
            How::Best => "--bounds-only",
            How::Optimal => "--omega optimal",
            How::Complete => "--complete",
            How::Minimize => "--minimize",
        }
    }

    /// May all perturbations be tried where there are few? There are in every case, and bounds and searches are to be
    /// seen as well.
    fn lists(self, case: &Case) -> bool {
        self == How::Best || self == How::Complete && case.nodes().is_multiple_of(2)
    }

    /// Must every node be decided?
    pub fn decides(self) -> bool {
        matches!(self, How::Complete | How::Minimize)
    }

    fn bound(self) -> Bound {
        match self {
            How::Paper => Bound::Paper,
            How::Anchored => Bound::Anchored,
            _ => Bound::Best,
        }
    }

    /// The effort that the options stand for.
    pub fn effort(self) -> Effort {
        let limits = Limits { time: PATIENCE, ..Limits::default() };
        match self {
            How::Paper | How::Anchored | How::Best => Effort::Bounds,
            How::Optimal => Effort::Optimal,
            How::Complete => Effort::Complete(limits),
            How::Minimize => Effort::Minimize { limits, gap: GAP },
        }
    }
}

/// A case as the program sees it.
pub struct Tested {
    graph: Graph,
    /// The same, as the checker takes it.
    file: GraphFile,
    gcn: Network,
    budget: Budget,
    model: ModelFile,
    matrices: Vec<Arc<SparseMatrix>>,
    /// The header of its proofs.
    pub header: Header,
}

impl Tested {
    /// Hands a case to the program.
    ///
    /// # Errors
    /// If the program refuses it, or panics.
    pub fn new(case: &Case) -> Result<Tested, String> {
        guard(|| {
            let graph = Graph::from_file(case.graph.clone());
            let rules = operators(case);
            let gcn = Network::from_file(case.model.clone(), &rules, &graph).map_err(|error| error.to_string())?;
            let budget = budget(case, &graph)?;
            let digests = (case.graph.digest.as_str(), case.model.digest.as_str());
            let header = proof::header(digests, (&gcn, &rules), &budget, convention(case.labels));
            let model = proof::model_file(&gcn, &header.model);
            let matrices = gcn.own_matrices();
            Ok(Tested { file: graph.file(), graph, gcn, budget, model, matrices, header })
        })?
    }

    /// What the proofs state under a header (its own, or another).
    ///
    /// # Errors
    /// If the checker refuses it, or panics.
    pub fn statement(&self, header: &Header) -> Result<Statement<'_>, String> {
        guard(|| Statement::new(&self.file, &self.model, header, &self.matrices).map_err(|reason| reason.to_string()))?
    }

    /// Certifies all nodes; shows each result with its line of a proofs file, if proofs are wanted. A node without a
    /// usable reference class is not asked for.
    ///
    /// # Errors
    /// If the preparation panics. A panic at one node is the error of that node.
    pub fn certify(
        &self,
        case: &Case,
        how: How,
        checker: Option<&Checker>,
        mut see: impl FnMut(usize, Result<(NodeResult, Option<Line>), String>),
    ) -> Result<(), String> {
        let certifier = guard(|| {
            let problem = Problem::new(self.graph.clone(), self.gcn.clone(), self.budget.clone());
            let certifier = Certifier::builder(problem.map_err(|error| error.to_string())?).bound(how.bound());
            let certifier = if how.lists(case) { certifier } else { certifier.listing(0) };
            Ok::<Certifier, String>(certifier.effort(how.effort()).stop(stopped).proofs(checker.is_some()).build())
        })??;
        let mut workspace = Workspace::default();
        let mut given_up = 0;
        let end = Instant::now() + CASE.0 + CASE.1 * case.nodes() as u32;
        for node in 0..case.targets() {
            let label = self.graph.label(node).map(|label| label as usize);
            if case.labels && label.is_none_or(|label| label >= case.classes()) {
                continue;
            }
            let answer = guard(|| {
                let result = match label.filter(|_| case.labels) {
                    Some(label) => certifier.certify_class(node, label, certifier.predicted(node), &mut workspace),
                    None => certifier.certify_node(node, &mut workspace),
                };
                let line = checker.map(|checker| result.proof_line(checker).into_line());
                (result, line)
            });
            if stopped() {
                break;
            }
            if answer.is_err() {
                workspace = Workspace::default();
            }
            given_up += usize::from(answer.as_ref().is_ok_and(|answer| answer.0.limit_hit));
            see(node, answer);
            if given_up >= GIVEN_UP || Instant::now() >= end {
                break;
            }
        }
        Ok(())
    }
}

/// Which class is to be kept, as headers and questions say it.
pub fn convention(labels: bool) -> Convention {
    if labels { Convention::Labels } else { Convention::Predicted }
}

/// The rules of a case as the program has them.
pub fn operators(case: &Case) -> Vec<Operator> {
    case.rules.iter().map(rule).collect()
}

fn rule(rule: &Rule) -> Operator {
    match rule {
        Rule::Matrix(matrix) => Operator::from_plain((**matrix).clone()).expect("a case has finite operators"),
        Rule::Named("gcn") => Operator::Gcn,
        Rule::Named("mean") => Operator::Mean,
        Rule::Named("mean+self") => Operator::MeanWithSelf,
        Rule::Named("sum") => Operator::Sum,
        Rule::Named("sum+self") => Operator::SumWithSelf,
        Rule::Named(_) => Operator::Identity,
    }
}

/// The budget of a case as the program has it.
///
/// # Errors
/// If the program refuses it.
pub fn budget(case: &Case, graph: &Graph) -> Result<Budget, String> {
    let local: Vec<i64> = case.budget.local.iter().map(|&q| q as i64).collect();
    let frozen: Vec<i64> = (0..).zip(&case.budget.frozen).filter(|(_, frozen)| **frozen).map(|(d, _)| d).collect();
    let direction = match case.budget.way {
        Way::Both => Direction::Both,
        Way::Add => Direction::Add,
        Way::Remove => Direction::Remove,
    };
    let budget = Budget::per_node(graph, case.budget.global as usize, &local).map_err(|error| error.to_string())?;
    let budget = budget.with_direction(direction);
    if frozen.is_empty() {
        return Ok(budget);
    }
    budget.freeze_attributes(graph, &frozen).map_err(|error| error.to_string())
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Runs something that may panic; a panic is an error that starts with `panic:`.
///
/// # Errors
/// What the panic said.
pub fn guard<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let guarded = PANIC.with_borrow_mut(|slot| {
                if let Some(text) = slot {
                    *text = info.to_string();
                }
                slot.is_some()
            });
            if !guarded {
                usual(info);
            }
        }));
    });
    PANIC.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(act));
    let text = PANIC.take().unwrap_or_default();
    result.map_err(|_| format!("panic: {text}"))
}
