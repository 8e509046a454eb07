//! Branch and price of one class pair: the steps that bound a branch, in their order, with column generation in every
//! branch.

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::matrix::PatternRows;
use crate::problem::rows::Move;

use super::branch_bounds::anchor;
use super::finish::{follow_attack, split_on};
use super::linear::price_linear;
use super::local;
use super::pair::Pairs;
use super::pair_search::{Cost, GIVEN_UP, PairSearch, SearchTask};
use super::price::price;
use super::trace::Trace;
use super::tree::{self, Branch, BranchEvaluator, BranchResult, SearchGoal, TreeOutcome};

/// After so many branches of a deep network an attack is searched for once more: many are left to close if there is
/// none.
const MANY: usize = 200;

/// What is found about a branch without perturbations.
const EMPTY: BranchResult = BranchResult::Closed { bound: f64::INFINITY, proved: true };

/// Searches pair `at` of the workspace's target until its worst-case margin is decided (or found), raising its lower
/// bound and improving its attack, and those of the other pairs where a perturbation happens to.
pub(crate) fn search_pair(
    prepared: &Prepared,
    at: usize,
    task: SearchTask,
    pairs: &mut Pairs,
    workspace: &mut Workspace,
) -> Cost {
    let SearchTask { goal, limits, clock, proofs } = task;
    if goal != SearchGoal::Decide {
        pairs.settle(at, workspace);
    }
    let objective = pairs.objective(at);
    workspace.backward.run(prepared.network(), &workspace.slice, prepared.activation_bounds(), &objective);
    let (size, pool) = (pairs[at].size(), Move::all(prepared.graph(), &pairs[at].attack.flips));
    let trace = (proofs && pairs[at].proof.is_err()).then(|| Trace::new(pairs[at].goal()));
    let mut search = PairSearch {
        prepared,
        goal,
        clock: clock.clone(),
        at,
        pairs,
        workspace,
        size,
        last: Enclosure { value: f64::NEG_INFINITY, error: 0.0 },
        kept: 0,
        pool,
        masters: 0,
        branches: 0,
        bounds: None,
        trace,
    };
    let TreeOutcome { lower, open, nodes, gave_up } = tree::search(&limits, &clock, &mut search);
    let PairSearch { pairs, workspace, trace, masters, .. } = search;
    if let Some(trace) = trace {
        pairs[at].proof = trace.proof(|l, unit| {
            let width = prepared.network().width(l).max(1);
            (workspace.slice.nodes(l)[unit / width], (unit % width) as u32)
        });
    }
    if goal != SearchGoal::Decide {
        pairs.settle(at, workspace);
    }
    let pair = &mut pairs[at];
    // The best perturbation lies in some branch, so that no bound of all of them exceeds its margin. Where the minimum
    // is searched for, what was closed with a proof is only known not to be below that margin.
    let lower = match goal {
        SearchGoal::Decide => lower,
        SearchGoal::Minimize { .. } => open.min(pair.attack.lower()),
    };
    if lower > pair.searched {
        pair.searched = lower;
    }
    let number = pair.goal();
    if open > number && !pair.is_broken() {
        pair.exceeded = pair.exceeded.max(number);
    }
    pair.minimized |= goal != SearchGoal::Decide && open >= pair.attack.margin.upper();
    Cost { nodes, masters, split: nodes > 1, gave_up }
}

impl BranchEvaluator for PairSearch<'_, '_> {
    fn row(&self, node: u32) -> &[u32] {
        self.prepared.graph().attributes().row(node as usize)
    }

    /// Bounds a branch, tries what it finds on the true network, and says where to split.
    fn evaluate(&mut self, branch: &Branch) -> BranchResult {
        let prepared = self.prepared;
        let budget = prepared.budget();
        self.branches += 1;
        if self.branches == MANY && self.goal == SearchGoal::Decide && prepared.network().depth() > 3 {
            let (objective, known) = (self.pairs.objective(self.at), self.pair().attack.flips.clone());
            let flips = local::restart(prepared, &objective, self.pair().goal(), &known, self.workspace);
            self.pairs.try_flips(self.at, flips, self.workspace);
        }
        if !branch.decided.admissible(budget) {
            self.record_default_leaf(branch);
            return EMPTY;
        }
        let made = self.pairs.try_flips(self.at, branch.decided.flipped.clone(), self.workspace);
        let global = branch.decided.global(budget).unwrap_or(0);
        let local = |n: &u32| branch.decided.local(budget, *n).unwrap_or(0);
        if global == 0 || self.workspace.slice.nodes(1).iter().all(|n| local(n) == 0) {
            // A single perturbation is left, and it has just been evaluated.
            return self.single(branch, made);
        }
        let found = if let Some(flip) = follow_attack(self, branch) {
            split_on(branch, branch.bound, flip)
        } else if prepared.network().depth() == 2 {
            price_linear(self, branch, made)
        } else {
            match anchor(self, branch) {
                Some(true) => price(self, branch, made, global),
                Some(false) => {
                    self.record_default_leaf(branch);
                    return EMPTY;
                }
                None => return GIVEN_UP,
            }
        };
        if let (BranchResult::Open { split, .. }, Some(trace)) = (&found, &mut self.trace) {
            trace.split(branch, *split);
        }
        found
    }

    fn is_enough(&self, lower: f64) -> bool {
        self.settled(lower)
    }
}
