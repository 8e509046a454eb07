//! Verdicts for the network as it runs: margins are compared with the error of every execution. The steps before have
//! aimed at margins beyond it; where a witness lies inside, a stronger one is searched for.

use crate::bound::threads::{in_own_pool, in_own_thread};
use crate::bound::workspace::Workspace;
use crate::certify::cascade::margin;
use crate::certify::certifier::{Certifier, Target};
pub use crate::certify::deployed_verdict::{Deployed, DeployedVerdict};
use crate::certify::shifted::SliceGraph;
use crate::certify::verdict::{NodeResult, Reason, Verdict};
use crate::deployed::error_table::ErrorTable;
use crate::problem::flip::Flip;
use crate::problem::forward::forward;
use crate::problem::slice::Slice;
use crate::proof::{Evidence, Missing};
use crate::search::branch_and_price::search_pair;
use crate::search::limits::Clock;
use crate::search::local;
use crate::search::pair::{ClassPair, Pairs, difference, sorted};
use crate::search::pair_search::SearchTask;
use crate::search::tree::SearchGoal;
use gcnproof_check::format::{Claim, Witness};

/// A margin that is above minus this share of the error of one perturbation is not below minus the error of another:
/// that of perturbations of one node differs little. Where it does, a witness is missed, and nothing false is said.
const FAR: f64 = 0.5;

impl Certifier {
    /// Error bounds of this problem as it is deployed, if it is.
    pub fn errors(&self) -> Option<&ErrorTable> {
        let execution = self.settings.deployed?;
        let table = || ErrorTable::new(self.prepared.problem(), self.unperturbed(), &execution);
        Some(self.errors.get_or_init(|| in_own_pool(table)))
    }

    /// Those of the margins of a target over some classes.
    pub(super) fn margin_errors(&self, target: Target, classes: &[usize]) -> Option<Vec<f64>> {
        self.errors().map(|table| table.margin_errors(target.node, target.reference, classes))
    }

    /// Adds what holds as deployed of a node that is robust by bounds that are not the tightest. Nothing if these do
    /// not exceed the error: others may.
    pub(super) fn deploy_by_far(
        &self,
        mut result: NodeResult,
        errors: Option<Vec<f64>>,
        workspace: &Workspace,
    ) -> Option<NodeResult> {
        let Some(errors) = errors else { return Some(result) };
        if !result.margins.iter().zip(&errors).all(|(margin, &error)| margin.lower > error) {
            return None;
        }
        let own = |open: &[usize]| self.own_errors(&workspace.slice, &[], result.predicted, open);
        let prediction_depends = self.prediction_depends(&result, &errors, own);
        result.deployed = Some(Deployed { verdict: DeployedVerdict::Robust, errors, prediction_depends });
        Some(result)
    }

    /// Adds what holds of the result as deployed. `broken` is the class whose margin the witness was found for. The
    /// workspace still has the target's slice.
    pub(super) fn deploy(
        &self,
        result: &mut NodeResult,
        broken: Option<usize>,
        errors: Vec<f64>,
        clock: &Clock,
        pairs: &mut Pairs,
        workspace: &mut Workspace,
    ) {
        let own = |open: &[usize]| self.own_errors(&workspace.slice, &[], result.predicted, open);
        let prediction_depends = self.prediction_depends(result, &errors, own);
        let verdict = match result.verdict {
            _ if !errors.iter().all(|error| error.is_finite()) => DeployedVerdict::Undecided,
            Verdict::Robust => deploy_robust(pairs),
            Verdict::NonRobust => self.deploy_witness(result, broken, clock, pairs, workspace),
            Verdict::Undecided => DeployedVerdict::Undecided,
        };
        if self.settings.proofs && matches!(verdict, DeployedVerdict::RoundingDependent | DeployedVerdict::Undecided) {
            result.evidence = Some(Evidence { claim: Err(Missing::Rounding), missing: None });
        }
        // Cut short, not undecided.
        result.limit_hit |= verdict == DeployedVerdict::Undecided && self.settings.stop.is_set();
        result.deployed = Some(Deployed { verdict, errors, prediction_depends });
    }

    /// Is every margin without changes above its error? First by what is known anyhow, which is not smaller than the
    /// error without changes; `own` has the latter of some classes.
    pub(super) fn prediction_depends(
        &self,
        result: &NodeResult,
        errors: &[f64],
        own: impl Fn(&[usize]) -> Vec<f64>,
    ) -> bool {
        let logits = self.prepared.unperturbed_logits();
        let (node, y) = (result.node, result.predicted);
        let margin = |class: usize| difference(logits.entry(node, y), logits.entry(node, class)).lower();
        let known = |class: usize| {
            let place = result.margins.iter().position(|margin| margin.class == class && result.reference == y);
            place.is_some_and(|place| margin(class) > errors[place])
        };
        let open: Vec<usize> = (0..self.network().class_count()).filter(|&class| class != y && !known(class)).collect();
        if open.is_empty() {
            return false;
        }
        !open.iter().zip(own(&open)).all(|(&class, error)| margin(class) > error)
    }

    /// Error bounds of a target where no attribute is moved.
    pub(super) fn still_errors(&self, node: usize, reference: usize, classes: &[usize]) -> Vec<f64> {
        let (Some(execution), Some(table)) = (self.settings.deployed, self.errors()) else {
            return vec![f64::INFINITY; classes.len()];
        };
        let (problem, errors) = (self.prepared.problem().at_global(0), table.operator_errors());
        let still = || ErrorTable::with_operators(&problem, self.unperturbed(), &execution, errors);
        self.still.get_or_init(|| in_own_pool(still)).margin_errors(node, reference, classes)
    }

    /// Error bounds of the slice's target after these flips and without any others.
    fn own_errors(&self, slice: &Slice, flips: &[Flip], reference: usize, classes: &[usize]) -> Vec<f64> {
        let (Some(execution), Some(table)) = (self.settings.deployed, self.errors()) else {
            return vec![f64::INFINITY; classes.len()];
        };
        in_own_thread(|| {
            let part = SliceGraph::new(self, slice, flips);
            let unperturbed = forward(part.problem.graph(), part.problem.network());
            let own = ErrorTable::with_operators(&part.problem, &unperturbed, &execution, table.operator_errors());
            own.margin_errors(part.target, reference, classes)
        })
    }

    /// A witness must take some margin below minus its error; where it does not, a stronger one is searched for.
    fn deploy_witness(
        &self,
        result: &mut NodeResult,
        broken: Option<usize>,
        clock: &Clock,
        pairs: &mut Pairs,
        workspace: &mut Workspace,
    ) -> DeployedVerdict {
        // The margin over the class that it was found for is known, and mostly enough.
        let known = pairs.iter().find(|pair| Some(pair.class) == broken && pair.attack.margin.upper() < -pair.error);
        let fooled = known.map(|pair| pair.class).or_else(|| self.fools(&result.witness, pairs, workspace));
        if let Some(class) = fooled {
            result.evidence = result.evidence.take().map(|_| witness(class, &result.witness));
            return DeployedVerdict::NonRobust;
        }
        pairs.aim(|pair| -pair.error, workspace);
        let above = |pair: &ClassPair| pair.attack.margin.upper() - pair.error;
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&x, &y| above(&pairs[x]).total_cmp(&above(&pairs[y])));
        let mut verdict = DeployedVerdict::RoundingDependent;
        for at in order {
            if pairs[at].is_done() {
                continue;
            }
            self.undercut_locally(at, pairs, workspace);
            if self.take_witness(at, result, pairs, workspace) {
                return DeployedVerdict::NonRobust;
            }
            self.undercut(at, clock, pairs, workspace);
            if self.take_witness(at, result, pairs, workspace) {
                return DeployedVerdict::NonRobust;
            }
            let pair = &pairs[at];
            if !(pair.minimized || pair.exceeds(-pair.error) || pair.attack.margin.upper() <= -pair.error) {
                verdict = DeployedVerdict::Undecided;
            }
        }
        result.margins = pairs.iter().map(margin).collect();
        self.replace_tie(result, pairs);
        verdict
    }

    /// The search below 0 may have found a perturbation that takes a margin below it where a tie was known: it says
    /// more.
    fn replace_tie(&self, result: &mut NodeResult, pairs: &Pairs) {
        let below = pairs.iter().filter(|pair| pair.attack.sign.is_lt());
        let lowest = below.min_by(|x, y| x.attack.margin.upper().total_cmp(&y.attack.margin.upper()));
        let Some(pair) = lowest.filter(|_| result.reason == Reason::Tie) else { return };
        result.reason = Reason::Witness;
        result.witness = sorted(pair.attack.flips.clone());
        result.evidence = result.evidence.take().map(|_| witness(pair.class, &result.witness));
    }

    /// Makes the best perturbation of a pair the witness, if it fools every execution. Where no margin is below minus
    /// the error of all perturbations, that of the worst may still be below minus its own.
    fn take_witness(&self, at: usize, result: &mut NodeResult, pairs: &Pairs, workspace: &mut Workspace) -> bool {
        let (pair, flips) = (&pairs[at], sorted(pairs[at].attack.flips.clone()));
        // What is nearer to minus the error than rounding is known exactly.
        let known = (pair.attack.margin.upper() < -pair.error).then_some(pair.class);
        let Some(class) = known.or_else(|| self.fools(&flips, pairs, workspace)) else { return false };
        result.evidence = result.evidence.take().map(|_| witness(class, &flips));
        result.reason = Reason::Witness;
        result.witness = flips;
        result.margins = pairs.iter().map(margin).collect();
        true
    }

    /// Local search for a perturbation whose margin is below minus the error.
    fn undercut_locally(&self, at: usize, pairs: &mut Pairs, workspace: &mut Workspace) {
        let objective = pairs.objective(at);
        let mut flips = pairs[at].attack.flips.clone();
        local::improve(&self.prepared, &objective, pairs[at].goal(), &mut flips, workspace);
        pairs.attack(flips, workspace);
    }

    /// Searches for such a perturbation, or shows that there is none. A search that was asked for goes on to the least
    /// margin, unless that is far from minus the error of the best perturbation alone.
    fn undercut(&self, at: usize, clock: &Clock, pairs: &mut Pairs, workspace: &mut Workspace) {
        let (additive, complete) = (self.is_additive(), self.settings.effort.limits().is_some());
        pairs.minimizing = additive || complete;
        if additive {
            return self.minimize_linear(pairs, workspace);
        }
        if complete {
            let class = pairs[at].class;
            let own = self.own_errors(&workspace.slice, &pairs[at].attack.flips, pairs.reference, &[class])[0];
            let far = |pair: &ClassPair| if pair.class == class { pair.error.min(FAR * own) } else { pair.error };
            pairs.aim(|pair| -far(pair), workspace);
        }
        let goal = if complete { SearchGoal::Minimize { gap: 0.0 } } else { SearchGoal::Decide };
        let task = SearchTask { goal, limits: self.further(), clock: clock.clone(), proofs: false };
        search_pair(&self.prepared, at, task, pairs, workspace);
    }

    /// The class for which these flips fool every execution, if there is one: by the error of all perturbations, or by
    /// their own.
    pub(super) fn fools(&self, flips: &[Flip], pairs: &Pairs, workspace: &mut Workspace) -> Option<usize> {
        let logits: Vec<_> = self.prepared.logits(flips, workspace).collect();
        let margin = |class: usize| difference(logits[pairs.reference], logits[class]).upper();
        if let Some(pair) = pairs.iter().find(|pair| margin(pair.class) < -pair.error) {
            return Some(pair.class);
        }
        let negative: Vec<usize> = pairs.iter().map(|pair| pair.class).filter(|&class| margin(class) < 0.0).collect();
        if negative.is_empty() {
            return None;
        }
        let own = self.own_errors(&workspace.slice, flips, pairs.reference, &negative);
        negative.into_iter().zip(own).find(|&(class, error)| margin(class) < -error).map(|(class, _)| class)
    }
}

/// What the pairs of a robust node show: every margin must exceed its error.
fn deploy_robust(pairs: &[ClassPair]) -> DeployedVerdict {
    let inside = |pair: &ClassPair| pair.attack.margin.upper() <= pair.error;
    if pairs.iter().all(|pair| pair.exceeds(pair.error)) {
        DeployedVerdict::Robust
    } else if pairs.iter().any(inside) {
        DeployedVerdict::RoundingDependent
    } else {
        DeployedVerdict::Undecided
    }
}

/// The claim that a witness breaks a node.
pub(super) fn witness(class: usize, flips: &[Flip]) -> Evidence {
    let flips = flips.iter().map(|&flip| flip.into()).collect();
    Evidence { claim: Ok(Claim::NonRobust(Witness { class: class as u32, flips })), missing: None }
}
