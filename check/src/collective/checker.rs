//! Checks the lines between header and claim one by one, and then the claim.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::component::{ComponentPart, components};
use super::limit::{Deferred, Waiting};
use super::line::{CollectiveClaim, CollectiveHeader, CollectiveProof, MOST_SHARES, Share};
use super::size::FlipSizes;
use super::statement::CollectiveStatement;
use super::weights::{Look, WeightBounds, Weights};
use super::worth::Worth;
use super::{ONE, locked};
use crate::accepted::Accepted;
use crate::format::{BoundsLine, NodeProof};
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::Work;
use crate::{checker, format};

/// Judges the lines of a statement. Shared by all threads.
pub(crate) struct CollectiveChecker<'a> {
    statement: &'a CollectiveStatement<'a>,
    nodes: checker::Checker<'a>,
    exact_only: bool,
    work: Arc<Work>,
    /// From shares with exact weights, and from those with rounded ones.
    exact: Worth,
    rounded: Worth,
    /// Shares whose weights wait for the prices.
    waiting: Waiting,
    /// The shares with rounded weights, should the claim need better ones.
    again: Mutex<Vec<Share>>,
    /// By node: `α + β + Σ γ` of its accepted share.
    shares: Vec<Mutex<Option<u32>>>,
    /// Why the claim cannot be judged.
    ended: Mutex<Option<Reason>>,
}

/// What a claim rests on, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimOutcome {
    /// The predictions that count.
    pub(crate) counted: u64,
    /// Those of them that are never broken.
    pub(crate) safe: u64,
    /// Those of them that have a share.
    pub(crate) shared: u64,
    /// The smallest number that the lines show: no more predictions are broken.
    pub(crate) shown: u64,
}

impl<'a> CollectiveChecker<'a> {
    /// With `exact_only` no floats take part.
    pub(crate) fn new(
        statement: &'a CollectiveStatement<'a>,
        exact_only: bool,
        work: &Arc<Work>,
    ) -> CollectiveChecker<'a> {
        let count = statement.nodes.network.graph.attributes.rows;
        CollectiveChecker {
            statement,
            nodes: checker::Checker::new(&statement.nodes, exact_only).within(work.clone()),
            exact_only,
            work: work.clone(),
            exact: Worth::new(count),
            rounded: Worth::new(count),
            waiting: Waiting::new(count),
            again: Mutex::default(),
            shares: (0..count).map(|_| Mutex::default()).collect(),
            ended: Mutex::default(),
        }
    }

    /// What the lines of the file cost.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// Accepts or rejects a node that is never broken.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn node(&self, proof: &NodeProof) -> Result<Verdict, Fault> {
        match proof.claim {
            format::Claim::Robust(_) => self.nodes.check(proof),
            format::Claim::NonRobust(_) => {
                Err(Reason::Order("a claim about one attack rests on robust nodes only".into()).into())
            }
        }
    }

    /// Takes the whole bounds that a line states.
    ///
    /// # Errors
    /// If they are not admissible, or stated before.
    pub(crate) fn bounds(&self, line: &BoundsLine) -> Result<(), Reason> {
        self.nodes.bounds(line)
    }

    /// Accepts or rejects what it takes to break a node, which must exist and have no other line.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn share(&self, share: &Share) -> Result<(), Fault> {
        let network = &self.statement.nodes.network;
        if share.class as usize >= network.classes() {
            return Err(Reason::Class(share.class).into());
        }
        let sum = share.sum().ok_or(Reason::Share)?;
        share.require_leaves(network.classes())?;
        let attributes = &network.graph.attributes;
        share.require_covers(attributes.rows, attributes.columns)?;
        self.nodes.session(share.id, |session| {
            session.meter.hold(session.slice.bytes(network))?;
            if !session.is_predicted(share.class) {
                return Err(Reason::Reference("predicted class").into());
            }
            // Only flips above their price matter, and those that sizes depend on.
            let budget = &self.statement.nodes.budget;
            let bounds = if self.exact_only { None } else { session.weight_bounds(share) };
            let counts = self.statement.counts(share.id, share.class);
            if let Some(WeightBounds { rows, largest }) = bounds
                && let Ok(rests) = session.cover_rests(share)
            {
                if counts {
                    session.meter.keep(self.waiting.bytes(&rows, rests.len()))?;
                    let sizes = largest.map(|largest| FlipSizes::new(largest, budget));
                    self.waiting.push(Deferred::new(share.clone(), rests, sizes), rows);
                    *locked(&self.shares[share.id as usize]) = Some(sum);
                }
                return Ok(());
            }
            let mut weights = session.weights(share, if self.exact_only { Look::Exact } else { Look::Rounded })?;
            if !weights.exact && weights.rests(share).is_err() {
                // Floats may have been too coarse.
                weights = session.weights(share, Look::Exact)?;
            }
            let rests = weights.rests(share)?;
            if !counts {
                return Ok(());
            }
            let sizes = self.sizes(share, &weights);
            if weights.exact {
                self.exact.add(share, &weights, &rests, sizes.as_ref());
            } else {
                self.rounded.add(share, &weights, &rests, sizes.as_ref());
                locked(&self.again).push(share.clone());
            }
            *locked(&self.shares[share.id as usize]) = Some(sum);
            Ok(())
        })
    }

    /// Accepts or rejects the claim, after all other lines; `verdicts` are those of the nodes.
    ///
    /// # Errors
    /// If prices are out of order, or the lines do not show it.
    pub(crate) fn claim(
        &self,
        claim: &CollectiveClaim,
        verdicts: &[Option<Verdict>],
    ) -> (ClaimOutcome, Result<(), Reason>) {
        if let Err(reason) = claim.require_prices(self.shares.len()) {
            return (self.counted(verdicts).0, Err(reason));
        }
        self.weigh_deferred(claim);
        let mut outcome = self.counted(verdicts);
        let missing = outcome.1;
        let CollectiveStatement { nodes, attacked_nodes, .. } = self.statement;
        let shown = |rounded: &Worth, missing: u128| -> Result<u64, Reason> {
            let most = self.exact.most(rounded, claim, &nodes.budget, *attacked_nodes);
            let whole = u64::try_from(missing.saturating_add(most) >> 48).unwrap_or(u64::MAX);
            if !claim.components || attacked_nodes.is_some() {
                return Ok(whole);
            }
            let parts = self.parts(verdicts);
            Ok(self.exact.most_in_components(rounded, claim.price, &nodes.budget, parts)?.min(whole))
        };
        match shown(&self.rounded, missing) {
            Ok(shown) => outcome.0.shown = shown,
            Err(reason) => return (outcome.0, Err(reason)),
        }
        let again = std::mem::take(&mut *locked(&self.again));
        if outcome.0.shown > claim.bound && !again.is_empty() {
            // Floats may have been too coarse.
            again.par_iter().for_each(|share| {
                let weights = self.nodes.session(share.id, |session| {
                    let weights = session.weights(share, Look::Exact)?;
                    let rests = weights.rests(share)?;
                    Ok((weights, rests))
                });
                match weights {
                    Ok((weights, rests)) => {
                        self.exact.add(share, &weights, &rests, self.sizes(share, &weights).as_ref())
                    }
                    // What floats find above 0 is above 0: only its cost can be too high.
                    Err(fault) => self.without_share(share, fault),
                }
            });
            outcome = self.counted(verdicts);
            let none = Worth::new(verdicts.len());
            match shown(&none, outcome.1) {
                Ok(shown) => outcome.0.shown = shown,
                Err(reason) => return (outcome.0, Err(reason)),
            }
        }
        let outcome = outcome.0;
        if let Some(reason) = locked(&self.ended).take() {
            return (outcome, Err(reason));
        }
        // No more predictions are broken than count.
        let fine = outcome.shown.min(outcome.counted) <= claim.bound;
        (outcome, if fine { Ok(()) } else { Err(Reason::Claim { claimed: claim.bound, shown: outcome.shown }) })
    }

    /// Adds the shares that waited for the prices, as far as flips may be worth more.
    fn weigh_deferred(&self, claim: &CollectiveClaim) {
        let deferred = self.waiting.take();
        let CollectiveStatement { nodes, attacked_nodes, .. } = self.statement;
        let others = [&self.exact, &self.rounded];
        let with_prices_of_nodes = attacked_nodes.is_none() && !claim.components;
        let weights = (&nodes.network, self.nodes.weights());
        let listed = self.waiting.exceeding(&deferred, others, claim, with_prices_of_nodes, weights, &self.work);
        deferred.par_iter().for_each(|Deferred { share, rests, sizes, .. }| {
            let weights = self.nodes.session(share.id, |session| session.weights(share, Look::Within(&listed)));
            match weights {
                Ok(weights) => self.rounded.add(share, &weights, rests, sizes.as_ref()),
                Err(fault) => self.without_share(share, fault),
            }
        });
        locked(&self.again).extend(deferred.into_iter().map(|one| one.share));
    }

    /// The sizes of flips by a share line that has one, from all weights.
    fn sizes(&self, share: &Share, weights: &Weights) -> Option<FlipSizes> {
        let budget = &self.statement.nodes.budget;
        (share.size > 0).then(|| FlipSizes::new(weights.largest(budget), budget))
    }

    /// A node that had a share has none after all.
    fn without_share(&self, share: &Share, fault: Fault) {
        *locked(&self.shares[share.id as usize]) = None;
        if matches!(fault.reason, Reason::TooExpensive(_) | Reason::Interrupted) {
            *locked(&self.ended) = Some(fault.reason);
        }
    }

    /// The components of the graph, with what their nodes lack in shares.
    fn parts(&self, verdicts: &[Option<Verdict>]) -> Vec<ComponentPart> {
        let mut parts: BTreeMap<u32, ComponentPart> = BTreeMap::new();
        let of = components(&self.statement.nodes.network);
        for (node, &component) in (0u32..).zip(&of) {
            parts.entry(component).or_default().nodes.push(node);
        }
        for (node, required) in self.statement.candidates() {
            let [counted, safe, _, missing] = self.standing(node, required, verdicts);
            if counted > safe {
                let part = parts.entry(of[node as usize]).or_default();
                part.counted += 1;
                part.missing += u128::from(missing) * u128::from(ONE);
            }
        }
        parts.into_values().filter(|part| part.counted > 0).collect()
    }

    /// Of one node: does it count, is it safe, has it a share, and what does it lack, in units of 2⁻²⁴?
    fn standing(&self, node: u32, required: Option<u32>, verdicts: &[Option<Verdict>]) -> [u64; 4] {
        // What is accepted as robust for the label is predicted.
        if verdicts[node as usize] == Some(Verdict::Robust) {
            return [1, 1, 0, 0];
        }
        if let Some(share) = *locked(&self.shares[node as usize]) {
            return [1, 0, 1, u64::from(ONE - share)];
        }
        let counts = required.is_none_or(|label| self.nodes.session(node, |session| session.is_predicted(label)));
        if counts { [1, 0, 0, u64::from(ONE)] } else { [0; 4] }
    }

    /// The predictions that count, and what those that may be broken lack in shares, in units of 2⁻⁴⁸.
    fn counted(&self, verdicts: &[Option<Verdict>]) -> (ClaimOutcome, u128) {
        let candidates: Vec<(u32, Option<u32>)> = self.statement.candidates().collect();
        let of_nodes = candidates.into_par_iter().map(|(node, required)| self.standing(node, required, verdicts));
        let [counted, safe, shared, missing] =
            of_nodes.reduce(|| [0; 4], |a, b| std::array::from_fn(|at| a[at] + b[at]));
        (ClaimOutcome { counted, safe, shared, shown: u64::MAX }, u128::from(missing) * u128::from(ONE))
    }
}

/// The proof of a claim, if the checker accepts it. The lines of nodes are those that a checker of the same statement
/// has accepted; other than robust ones are left out. So are shares, each of another node, that are refused, and the
/// claim is as small as the rest shows with its prices. What floats do not show to be at most the bound of the claim is
/// computed exactly.
///
/// # Errors
/// If the claim cannot be judged.
pub fn accept(
    statement: &CollectiveStatement,
    header: CollectiveHeader,
    safe: Vec<Accepted<format::Line>>,
    mut shares: Vec<Share>,
    mut claim: CollectiveClaim,
) -> Result<Accepted<CollectiveProof>, Reason> {
    let checker = CollectiveChecker::new(statement, false, &Work::lines());
    let mut verdicts = vec![None; checker.shares.len()];
    let mut nodes = Vec::with_capacity(safe.len());
    for line in safe {
        if let format::Line::Node(proof @ NodeProof { claim: format::Claim::Robust(_), .. }) = line.into_line() {
            verdicts[proof.id as usize] = Some(Verdict::Robust);
            nodes.push(proof);
        }
    }
    nodes.sort_by_key(|proof| proof.id);
    shares.truncate(MOST_SHARES);
    let judge = |share: Share| checker.share(&share).is_ok().then_some(share);
    let mut shares: Vec<Share> = shares.into_par_iter().filter_map(judge).collect();
    let (outcome, judged) = checker.claim(&claim, &verdicts);
    match judged {
        // What is too expensive is a share that the outcome does without.
        Ok(()) | Err(Reason::Claim { .. } | Reason::TooExpensive(_)) => {}
        Err(reason) => return Err(reason),
    }
    shares.retain(|share| locked(&checker.shares[share.id as usize]).is_some());
    claim.bound = outcome.shown.min(outcome.counted);
    claim.lines = (nodes.len() + shares.len()) as u64;
    Ok(Accepted::new(CollectiveProof { header, nodes, shares, claim }))
}
