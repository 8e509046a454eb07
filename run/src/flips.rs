//! Questions about flips.

use std::sync::Arc;

use gcnproof::proof::{header, model_file};
use gcnproof::{
    Bound, Budget, Certifier, CertifierBuilder, Effort, Execution, Flip, Flips, NodeResult, Problem, Ranges,
};
use gcnproof_check::format::{Convention, Deployed, Header};
use gcnproof_check::ranges::{Checker as RangeChecker, Statement as RangeStatement};
use gcnproof_check::{Checker, Statement};
use gcnproof_files::SparseMatrix;
use gcnproof_results::Column;
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::{BudgetRecord, Description, FlipRun, NodeSet};
use gcnproof_results::record::node::Tabled;
use miette::{Result, miette};

use super::deployed::rounding_note;
use super::proofs::not_understood;
use super::question::{Answered, NodeQuestion, Prove};
use super::scope::instead;

/// What only questions about flips say.
#[derive(Clone, Debug)]
pub struct FlipOptions {
    /// The attacker's means for the record, without `Q`.
    pub budget_record: BudgetRecord,
    /// Which bounds certify.
    pub bound: Bound,
    /// How the network runs, if verdicts are to hold for that too.
    pub deployed: Option<Execution>,
}

impl FlipOptions {
    /// The best bound for a budget, in exact arithmetic alone.
    pub fn new(budget: &Budget) -> FlipOptions {
        FlipOptions { budget_record: BudgetRecord::new(budget), bound: Bound::Best, deployed: None }
    }
}

/// In words, that a budget permits no flip, if it does not.
pub fn nothing_to_attack(budget: &Budget) -> Option<String> {
    let frozen = budget.frozen_attributes();
    let why = if budget.locals().iter().all(|&q| q == 0) {
        "no node may be changed (q = 0, or all nodes are frozen)"
    } else if !frozen.is_empty() && frozen.iter().all(|&frozen| frozen) {
        "all attributes are frozen"
    } else if matches!(budget.ranges(), Some(Ranges::Ball(radius)) if *radius == 0.0) {
        "attributes are moved by at most 0"
    } else {
        return None;
    };
    Some(format!("note: nothing can be attacked: {why}, so every node keeps its class unless two classes tie"))
}

impl NodeQuestion<'_, Flips> {
    fn builder(&self) -> CertifierBuilder {
        let certifier = self.run.certifier(self.graph, self.network, self.budget.clone()).effort(self.effort);
        match self.options.deployed {
            Some(execution) => certifier.deployed(execution),
            None => certifier,
        }
    }

    fn described(&self, limit: Option<usize>) -> FlipRun {
        FlipRun {
            input: self.identity.clone(),
            budget: self.options.budget_record.clone(),
            bound: None,
            max_global: limit.map(|limit| limit as u64),
            effort: Some(self.effort_record),
            class: None,
            nodes: self.nodes.len(),
            node_set: NodeSet::new(&self.named_nodes(), self.ids.count()),
            deployed: self.options.deployed,
        }
    }
}

impl Answered for Flips {
    type Header = Header;
    type Decider = Certifier;
    type Options = FlipOptions;
    /// A certifier of a large graph is made when it is needed.
    type Prepared = ();

    fn prepare(question: &NodeQuestion<Flips>) -> Result<()> {
        if question.budget.ranges().is_none() {
            return Ok(());
        }
        if question.options.bound != Bound::Best || question.effort == Effort::Optimal {
            return Err(miette!(
                help = "leave --bound and --omega out",
                "--bound and --omega are about flips: attributes that are moved within ranges have a bound of their own"
            ));
        }
        if question.effort_record.exact_margins {
            return Err(miette!(
                help = "leave --exact-margins out: the columns of margins have lower and upper bounds",
                "--exact-margins: attributes are moved within ranges, and smallest margins are found up to a gap then"
            ));
        }
        Problem::new(question.graph.clone(), question.network.clone(), question.budget.clone()).map_err(|error| {
            let ranges = "give ranges that contain the values of the graph, one for each attribute";
            miette!(help = instead(&error).unwrap_or(ranges), "{error}")
        })?;
        Ok(())
    }

    fn columns(question: &NodeQuestion<Flips>) -> &'static [Column] {
        match question.budget.ranges() {
            Some(_) => NodeRecord::ranged_schema(Flips::is_deployed(question)),
            None => Flips::schema(question.effort_record.exact_margins, Flips::is_deployed(question)),
        }
    }

    fn decider(question: &NodeQuestion<Flips>, (): (), proofs: bool) -> Certifier {
        let certifier = question.builder().bound(question.options.bound).margins(question.effort_record.margins);
        certifier.proofs(proofs).build()
    }

    fn radius_decider(question: &NodeQuestion<Flips>, (): ()) -> Certifier {
        question.builder().build()
    }

    fn description(question: &NodeQuestion<Flips>) -> Description {
        let options = &question.options;
        Description::Certify(FlipRun {
            budget: options.budget_record.with_global(question.budget.global()),
            bound: Some(options.bound),
            class: Some(question.class),
            ..question.described(None)
        })
    }

    fn radius_description(question: &NodeQuestion<Flips>, limit: usize) -> Description {
        Description::Radius(question.described(Some(limit)))
    }

    fn is_deployed(question: &NodeQuestion<Flips>) -> bool {
        question.options.deployed.is_some()
    }

    fn note(question: &NodeQuestion<Flips>) -> Option<String> {
        nothing_to_attack(&question.budget).or_else(|| rounding_note(question.options.deployed, question.network))
    }

    fn header(question: &NodeQuestion<Flips>, classes: Convention) -> Header {
        let digests = (question.graph.digest(), question.identity.model.as_str());
        let mut header = header(digests, (question.network, &question.rules), &question.budget, classes);
        header.deployed = question.options.deployed.map(|execution| Deployed {
            precision: execution.precision,
            operator_error: execution.operator_errors(question.graph, question.network),
            flush_subnormals: execution.flush_subnormals,
        });
        header
    }

    fn proving<R>(question: &NodeQuestion<Flips>, header: &Header, work: impl FnOnce(&Prove<Flips>) -> R) -> Result<R> {
        let (file, model) = (question.graph.file(), model_file(question.network, &header.model));
        let matrices: Vec<Arc<SparseMatrix>> = question.network.own_matrices();
        if header.ranges.is_some() {
            let statement = RangeStatement::new(&file, &model, header, &matrices).map_err(not_understood)?;
            let checker = RangeChecker::new(&statement, false);
            return Ok(work(&|_: &Certifier, result: &NodeResult| result.ranged_line(&checker)));
        }
        let statement = Statement::new(&file, &model, header, &matrices).map_err(not_understood)?;
        let checker = Checker::new(&statement, false);
        Ok(work(&|_: &Certifier, result: &NodeResult| result.proof_line(&checker)))
    }

    fn renamed(flip: Flip, name: impl Fn(u32) -> u32) -> Flip {
        Flip { node: name(flip.node), ..flip }
    }
}
