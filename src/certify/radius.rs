//! The robustness radius: the largest global budget that is certified and the smallest one with a witness, per node.
//!
//! A certificate for `Q` holds for every smaller one, and a witness of `k` changes for every `Q ≥ k`. A complete
//! decider is first asked about one change less than the smallest witness known, again and again until it proves that:
//! witnesses are often the smallest that there are, and then a single proof is all. What its limits leave open is
//! searched by bisection, each node with its own interval; where deciders share work, so do nodes that ask for the same
//! `Q`. Complete searches come later, small trees first, for what bounds and witnesses leave between: far above a
//! radius a proof is impossible and a witness easy, so asking there for the truth would be a waste.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use rayon::prelude::*;

use crate::certify::attacker::Attacker;
use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::decide::Decide;
use crate::certify::deployed_verdict::DeployedVerdict;
use crate::certify::verdict::{Flips, NodeResult, Verdict};
use crate::problem::ProblemError;

/// What is known of a node's radius.
#[derive(Clone, Debug, PartialEq)]
pub struct Radius<A: Attacker = Flips> {
    /// The largest global budget that is certified; `None` before 0 is.
    pub certified: Option<usize>,
    /// The smallest and largest global budget found undecided so far.
    undecided: Option<(usize, usize)>,
    /// What the decider itself has found undecided, and not a cheaper one.
    given_up: Option<usize>,
    /// The smallest global budget with a witness.
    pub attacked: Option<usize>,
    /// That witness.
    pub witness: Vec<A::Change>,
    /// Nothing above this is asked.
    limit: usize,
    /// Every question is expensive: take small steps where no witness is known.
    careful: bool,
    /// Are attacks above an undecided budget looked for?
    seeks_above: bool,
    /// The class predicted on the unperturbed graph.
    pub predicted: usize,
    /// How much of the graph matters ([`NodeResult::relevant`]).
    pub relevant: usize,
    /// Was a search cut short by a limit?
    pub limit_hit: bool,
    /// Time spent.
    pub seconds: f64,
    /// Two steps that contradict each other, if some did.
    pub contradiction: Option<Contradiction>,
}

impl<A: Attacker> Radius<A> {
    /// A node of which nothing is known.
    pub fn new(limit: usize) -> Radius<A> {
        Radius {
            certified: None,
            undecided: None,
            given_up: None,
            attacked: None,
            witness: Vec::new(),
            limit,
            careful: false,
            seeks_above: true,
            predicted: 0,
            relevant: 0,
            limit_hit: false,
            seconds: 0.0,
            contradiction: None,
        }
    }

    /// The next budget to try; `None` when the search is over.
    pub fn next(&self) -> Option<usize> {
        if self.contradiction.is_some() {
            return None;
        }
        let Some(low) = self.certified else {
            // 0 first: it is certified, or broken by a tie.
            let open = self.attacked != Some(0) && self.undecided.is_none_or(|(first, _)| first > 0);
            return open.then_some(0);
        };
        let middle = |low: usize, high: usize| (low.saturating_add(1) < high).then(|| low + (high - low) / 2);
        let high = self.attacked.unwrap_or(self.limit.saturating_add(1));
        match self.undecided {
            Some((first, last)) => {
                middle(low, first).or_else(|| self.seeks_above.then(|| middle(last, high)).flatten())
            }
            // Without a witness yet, double: radii are small compared with the limit.
            None if self.attacked.is_none() => {
                let step = if self.careful { low / 8 } else { low };
                (low < self.limit).then(|| low.saturating_add(step.max(1)).min(self.limit))
            }
            None => middle(low, high),
        }
    }

    /// The budget just below the smallest witness known; `None` once it is certified or was found undecided.
    fn below(&self) -> Option<usize> {
        let below = self.attacked.unwrap_or(self.limit.saturating_add(1)).checked_sub(1)?;
        let open = self.contradiction.is_none() && self.undecided.is_none() && self.certified.is_none_or(|q| q < below);
        open.then_some(below)
    }

    /// Opens what was found undecided to a better search.
    fn reopen(&mut self) {
        self.undecided = self.given_up.map(|q| (q, q));
        self.drop_settled();
        self.careful = true;
    }

    /// Takes in what was found at `q` (docs/math.md (13.1)).
    pub fn learn(&mut self, q: usize, verdict: Verdict, witness: Vec<A::Change>) {
        match verdict {
            Verdict::Robust => {
                self.certified = self.certified.max(Some(q));
            }
            Verdict::NonRobust => {
                self.attacked = Some(self.attacked.unwrap_or(usize::MAX).min(witness.len()));
                self.witness = witness;
            }
            Verdict::Undecided => {
                let (first, last) = self.undecided.unwrap_or((q, q));
                self.undecided = Some((first.min(q), last.max(q)));
            }
        }
        self.drop_settled();
    }

    /// What is settled from outside is no longer undecided.
    fn drop_settled(&mut self) {
        let (low, high) = (self.certified, self.attacked.unwrap_or(usize::MAX));
        self.undecided = self.undecided.and_then(|(first, last)| {
            let first = low.map_or(first, |low| first.max(low.saturating_add(1)));
            let last = last.min(high.saturating_sub(1));
            (first <= last).then_some((first, last))
        });
    }

    /// Takes in the answer of a decider.
    fn take(&mut self, decider: &impl Decide<A>, result: NodeResult<A>) {
        (self.predicted, self.relevant) = (result.predicted, result.relevant);
        self.limit_hit |= result.limit_hit;
        // As deployed, what depends on rounding is neither.
        let verdict = match result.deployed.as_ref().map(|deployed| deployed.verdict) {
            None => result.verdict,
            Some(DeployedVerdict::Robust) => Verdict::Robust,
            Some(DeployedVerdict::NonRobust) => Verdict::NonRobust,
            Some(_) => Verdict::Undecided,
        };
        let q = match verdict {
            Verdict::Robust => decider.holds_up_to(&result, self.limit),
            _ => decider.global(),
        };
        let node = result.node;
        self.learn(q, verdict, result.witness);
        self.contradiction = result.contradiction.or_else(|| self.crossed(node));
    }

    /// A certificate that holds beyond a witness.
    fn crossed(&self, node: usize) -> Option<Contradiction> {
        let (certified, attacked) = self.certified.zip(self.attacked).filter(|(low, high)| low >= high)?;
        let certificate = format!("a proof for {certified} {}", A::WORDS.changes);
        Some(Contradiction::new(Subject::Node(node), certificate, format!("a witness of {attacked}")))
    }
}

/// Finds the radii of `nodes` up to `limit` changes, calling `progress` when a node is done.
/// Once `stopped` says so, nothing new is begun.
///
/// # Errors
/// If the graph has no such node.
pub fn radii<A: Attacker, D: Decide<A>>(
    decider: &D,
    nodes: &[usize],
    limit: usize,
    stopped: impl Fn() -> bool + Sync,
    progress: impl Fn(usize, &Radius<A>) + Sync,
) -> Result<BTreeMap<usize, Radius<A>>, ProblemError> {
    decider.check_nodes(nodes)?;
    let unknown = Radius { seeks_above: D::SEEKS_ABOVE, ..Radius::new(limit) };
    let mut radii: BTreeMap<usize, Radius<A>> = nodes.iter().map(|&node| (node, unknown.clone())).collect();
    // What is known exactly is done.
    let exact = |node: usize, radius: &Radius<A>| {
        if radius.undecided.is_none() || radius.contradiction.is_some() {
            progress(node, radius);
        }
    };
    if decider.is_complete() {
        search_from_above(decider, &mut radii, &stopped, &exact);
    }
    for cheaper in decider.cheaper() {
        search(&cheaper, &mut radii, &stopped, exact);
        radii.values_mut().for_each(Radius::reopen);
    }
    // What the decider has given up is not asked again, and for some nodes nothing else is left.
    let given_up = |radius: &&Radius<A>| radius.undecided.is_some() && radius.next().is_none() && !stopped();
    radii.iter().filter(|(_, radius)| given_up(radius)).for_each(|(&node, radius)| progress(node, radius));
    search(decider, &mut radii, &stopped, &progress);
    Ok(radii)
}

/// Finds a small witness of each node, and asks about one change less until that is certified, or undecided at a limit.
/// The nodes that are likely to take longest come first.
fn search_from_above<A: Attacker, D: Decide<A>>(
    decider: &D,
    radii: &mut BTreeMap<usize, Radius<A>>,
    stopped: &(impl Fn() -> bool + Sync),
    progress: &(impl Fn(usize, &Radius<A>) + Sync),
) {
    let mut nodes: Vec<(usize, usize, &mut Radius<A>)> =
        radii.par_iter_mut().map(|(&node, radius)| (decider.size(node), node, radius)).collect();
    nodes.sort_by_key(|&(size, node, _)| (Reverse(size), node));
    let waiting = Mutex::new(nodes.into_iter());
    let next = || waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    // Every thread takes the next node itself: a pool would begin with those in the middle of the list as well.
    rayon::broadcast(|_| {
        let mut buffers = D::Buffers::default();
        while let (Some((_, node, radius)), false) = (next(), stopped()) {
            let start = Instant::now();
            if let Some(witness) = decider.attack(node, radius.limit, &mut buffers) {
                radius.learn(witness.len(), Verdict::NonRobust, witness);
            }
            radius.seconds += start.elapsed().as_secs_f64();
            let decider = decider.for_questions();
            while let (Some(q), false) = (radius.below(), stopped()) {
                ask(&decider.at_global(q, &[node]), node, radius, &mut buffers, stopped, progress);
            }
            radius.given_up = radius.undecided.map(|(first, _)| first);
        }
    });
}

/// Budgets whose shared work is kept at the same time.
const BUDGETS: usize = 8;

/// So few nodes go on one by one: none waits for the hardest question of the others.
const FEW: usize = 32;

/// Asks for the budget of a decider.
fn ask<A: Attacker, D: Decide<A>>(
    decider: &D,
    node: usize,
    radius: &mut Radius<A>,
    buffers: &mut D::Buffers,
    stopped: &(impl Fn() -> bool + Sync),
    progress: &(impl Fn(usize, &Radius<A>) + Sync),
) {
    if stopped() {
        return;
    }
    let start = Instant::now();
    let result = decider.decide(node, None, buffers);
    // Cut short, not undecided.
    if stopped() {
        return;
    }
    radius.take(decider, result);
    radius.seconds += start.elapsed().as_secs_f64();
    if radius.next().is_none() {
        progress(node, radius);
    }
}

/// Asks until no node has a question left.
fn search<A: Attacker, D: Decide<A>>(
    decider: &D,
    radii: &mut BTreeMap<usize, Radius<A>>,
    stopped: &(impl Fn() -> bool + Sync),
    progress: impl Fn(usize, &Radius<A>) + Sync,
) {
    loop {
        let mut asked: BTreeMap<usize, Vec<(usize, &mut Radius<A>)>> = BTreeMap::new();
        for (&node, radius) in &mut *radii {
            if let Some(q) = radius.next() {
                asked.entry(q).or_default().push((node, radius));
            }
        }
        if asked.is_empty() || stopped() {
            return;
        }
        if !D::SHARES || asked.values().map(Vec::len).sum::<usize>() <= FEW {
            let nodes: Vec<(usize, &mut Radius<A>)> = asked.into_values().flatten().collect();
            nodes.into_par_iter().with_max_len(1).for_each_init(D::Buffers::default, |buffers, (node, radius)| {
                let decider = decider.for_questions();
                while let (Some(q), false) = (radius.next(), stopped()) {
                    ask(&decider.at_global(q, &[node]), node, &mut *radius, buffers, stopped, &progress);
                }
            });
            return;
        }
        let mut asked = asked.into_iter().peekable();
        while asked.peek().is_some() {
            let together: Vec<_> = asked.by_ref().take(BUDGETS).collect();
            // Activation bounds of a large graph take their time.
            let prepare = |(q, nodes): &(usize, Vec<(usize, &mut Radius<A>)>)| {
                let nodes: Vec<usize> = nodes.iter().map(|(node, _)| *node).collect();
                let prepared = decider.at_global(*q, &nodes);
                (!stopped()).then_some(prepared)
            };
            let budgets: Vec<D> = together.iter().map_while(prepare).collect();
            if budgets.len() < together.len() {
                return;
            }
            let questions: Vec<(&D, (usize, &mut Radius<A>))> = together
                .into_iter()
                .zip(&budgets)
                .flat_map(|((_, nodes), decider)| nodes.into_iter().map(move |node| (decider, node)))
                .collect();
            questions.into_par_iter().with_max_len(1).for_each_init(D::Buffers::default, |buffers, question| {
                let (decider, (node, radius)) = question;
                ask(decider, node, radius, buffers, stopped, &progress);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::flip::Flip;

    /// Searches with a known truth: certified up to `low`, attacked from `high` on, undecided between.
    fn search(low: usize, high: usize, limit: usize) -> (Radius, usize) {
        let mut radius = Radius::new(limit);
        let mut steps = 0;
        while let Some(q) = radius.next() {
            steps += 1;
            assert!(steps < 100 && q <= limit);
            let flips = vec![Flip { node: 0, attribute: 0 }; high.min(q)];
            let (verdict, witness) = match q {
                q if q >= high => (Verdict::NonRobust, flips),
                q if q <= low => (Verdict::Robust, Vec::new()),
                _ => (Verdict::Undecided, Vec::new()),
            };
            radius.learn(q, verdict, witness);
        }
        (radius, steps)
    }

    #[test]
    fn the_search_ends_at_the_truth() {
        for limit in [0, 1, 5, 40] {
            for low in 0..=limit {
                for high in low + 1..=limit + 2 {
                    let (radius, _) = search(low, high, limit);
                    assert_eq!(radius.certified, Some(low), "{low} {high} {limit}");
                    assert_eq!(radius.attacked, (high <= limit).then_some(high), "{low} {high} {limit}");
                }
            }
        }
    }

    #[test]
    fn a_tie_has_no_radius() {
        let mut radius: Radius = Radius::new(10);
        assert_eq!(radius.next(), Some(0));
        radius.learn(0, Verdict::NonRobust, Vec::new());
        assert_eq!((radius.next(), radius.certified, radius.attacked), (None, None, Some(0)));
    }
}
