//! The robustness radius: the largest `Q` that is certified and the smallest `Q` with a witness, per node.
//!
//! A certificate for `Q` holds for every smaller one, and a witness of `k` flips for every `Q ≥ k`. Each node is searched by
//! bisection with its own interval; nodes that ask for the same `Q` share one set of activation bounds. Complete searches come
//! later, small trees first, for what bounds and witnesses leave between: far above a radius a proof is impossible and a
//! witness easy, so asking there for the truth would be a waste.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::contradiction::Contradiction;
use crate::certify::deployment::DeployedVerdict;
use crate::certify::settings::Effort;
use crate::certify::verdict::Verdict;
use crate::problem::ProblemError;
use crate::problem::flip::Flip;
use crate::search::limits::Limits;

/// What is known of a node's radius.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radius {
    /// The largest `Q` that is certified; `None` before `Q = 0` is.
    pub certified: Option<usize>,
    /// The smallest and largest `Q` found undecided so far.
    undecided: Option<(usize, usize)>,
    /// The smallest `Q` with a witness.
    pub attacked: Option<usize>,
    /// That witness.
    pub witness: Vec<Flip>,
    /// Nothing above this is asked.
    limit: usize,
    /// Every question is expensive: take small steps where no witness is known.
    careful: bool,
    /// Time spent.
    pub seconds: f64,
    /// Two steps that contradict each other, if some did.
    pub contradiction: Option<Contradiction>,
}

impl Radius {
    /// A node of which nothing is known.
    pub fn new(limit: usize) -> Radius {
        Radius { limit, ..Radius::default() }
    }

    /// The next `Q` to try; `None` when the search is over.
    pub fn next(&self) -> Option<usize> {
        if self.contradiction.is_some() {
            return None;
        }
        let Some(low) = self.certified else {
            // Q = 0 first: it is certified, or broken by a tie.
            return (self.attacked.is_none() && self.undecided.is_none()).then_some(0);
        };
        let middle = |low: usize, high: usize| (low.saturating_add(1) < high).then(|| low + (high - low) / 2);
        let high = self.attacked.unwrap_or(self.limit.saturating_add(1));
        match self.undecided {
            Some((first, last)) => middle(low, first).or_else(|| middle(last, high)),
            // Without a witness yet, double: radii are small compared with the limit.
            None if self.attacked.is_none() => {
                let step = if self.careful { low / 8 } else { low };
                (low < self.limit).then(|| low.saturating_add(step.max(1)).min(self.limit))
            }
            None => middle(low, high),
        }
    }

    /// Opens what was found undecided to a better search.
    fn reopen(&mut self) {
        self.undecided = None;
        self.careful = true;
    }

    /// Takes in what was found at `q` (docs/math.md (13.1)).
    pub fn learn(&mut self, q: usize, verdict: Verdict, witness: Vec<Flip>) {
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
        // What is settled from outside is no longer undecided.
        let (low, high) = (self.certified, self.attacked.unwrap_or(usize::MAX));
        self.undecided = self.undecided.and_then(|(first, last)| {
            let first = low.map_or(first, |low| first.max(low.saturating_add(1)));
            let last = last.min(high.saturating_sub(1));
            (first <= last).then_some((first, last))
        });
    }
}

/// Finds the radii of `nodes` up to `limit` flips, calling `progress` when a node is done.
/// Once `stopped` says so, nothing new is begun.
///
/// # Errors
/// If the graph has no such node.
pub fn radii(
    certifier: &Certifier,
    nodes: &[usize],
    limit: usize,
    stopped: impl Fn() -> bool + Sync,
    progress: impl Fn(usize, &Radius) + Sync,
) -> Result<BTreeMap<usize, Radius>, ProblemError> {
    certifier.prepared.problem().check_nodes(nodes)?;
    let effort = certifier.settings.effort;
    let mut radii: BTreeMap<usize, Radius> = nodes.iter().map(|&n| (n, Radius::new(limit))).collect();
    for cheaper in before(effort) {
        search(&certifier.clone().with_effort(cheaper), &mut radii, &stopped, |node, radius| {
            // What is known exactly is done.
            if radius.undecided.is_none() || radius.contradiction.is_some() {
                progress(node, radius);
            }
        });
        radii.values_mut().for_each(Radius::reopen);
    }
    search(certifier, &mut radii, &stopped, &progress);
    Ok(radii)
}

/// Tree nodes of the searches that come before those without limit.
const SMALL_TREE: usize = 300;

/// What is tried first: the cheaper the questions, the more of them are asked.
fn before(effort: Effort) -> Vec<Effort> {
    match effort {
        Effort::Bounds => Vec::new(),
        Effort::Complete(limits) if limits.nodes > SMALL_TREE => {
            vec![Effort::Bounds, Effort::Complete(Limits { nodes: SMALL_TREE, ..limits })]
        }
        _ => vec![Effort::Bounds],
    }
}

/// Budgets whose activation bounds are kept at the same time.
const BUDGETS: usize = 8;

/// So few nodes go on one by one: none waits for the hardest question of the others.
const FEW: usize = 32;

/// Asks until no node has a question left.
fn search(
    certifier: &Certifier,
    radii: &mut BTreeMap<usize, Radius>,
    stopped: impl Fn() -> bool + Sync,
    progress: impl Fn(usize, &Radius) + Sync,
) {
    let ask = |certifier: &Certifier, node: usize, radius: &mut Radius, workspace: &mut Workspace| {
        if stopped() {
            return;
        }
        let start = std::time::Instant::now();
        let result = certifier.certify_node(node, workspace);
        // Cut short, not undecided.
        if stopped() {
            return;
        }
        radius.contradiction = result.contradiction;
        // As deployed, what depends on rounding is neither.
        let verdict = match result.deployed.as_ref().map(|deployed| deployed.verdict) {
            None => result.verdict,
            Some(DeployedVerdict::Robust) => Verdict::Robust,
            Some(DeployedVerdict::NonRobust) => Verdict::NonRobust,
            Some(_) => Verdict::Undecided,
        };
        radius.learn(certifier.budget().global(), verdict, result.witness);
        radius.seconds += start.elapsed().as_secs_f64();
        if radius.next().is_none() {
            progress(node, radius);
        }
    };
    loop {
        let mut asked: BTreeMap<usize, Vec<(usize, &mut Radius)>> = BTreeMap::new();
        for (&node, radius) in &mut *radii {
            if let Some(q) = radius.next() {
                asked.entry(q).or_default().push((node, radius));
            }
        }
        if asked.is_empty() || stopped() {
            return;
        }
        if asked.values().map(Vec::len).sum::<usize>() <= FEW {
            let nodes: Vec<(usize, &mut Radius)> = asked.into_values().flatten().collect();
            nodes.into_par_iter().with_max_len(1).for_each_init(Workspace::default, |workspace, (node, radius)| {
                while let (Some(q), false) = (radius.next(), stopped()) {
                    ask(&certifier.at_global(q).for_targets(&[node]), node, radius, workspace);
                }
            });
            return;
        }
        let mut asked = asked.into_iter().peekable();
        while asked.peek().is_some() {
            let together: Vec<_> = asked.by_ref().take(BUDGETS).collect();
            // Activation bounds of a large graph take their time.
            let prepare = |(q, nodes): &(usize, Vec<_>)| {
                let Certifier { prepared, settings, errors } = certifier.at_global(*q);
                let prepared = Prepared::clone(&prepared).by(certifier.clock(nodes.len()));
                (!stopped()).then(|| Certifier { prepared: prepared.into(), settings, errors })
            };
            let budgets: Vec<Certifier> = together.iter().map_while(prepare).collect();
            if budgets.len() < together.len() {
                return;
            }
            let questions: Vec<(&Certifier, usize, &mut Radius)> = together
                .into_iter()
                .zip(&budgets)
                .flat_map(|((_, nodes), certifier)| {
                    nodes.into_iter().map(move |(node, radius)| (certifier, node, radius))
                })
                .collect();
            questions.into_par_iter().with_max_len(1).for_each_init(Workspace::default, |workspace, question| {
                let (certifier, node, radius) = question;
                ask(certifier, node, radius, workspace);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut radius = Radius::new(10);
        assert_eq!(radius.next(), Some(0));
        radius.learn(0, Verdict::NonRobust, Vec::new());
        assert_eq!((radius.next(), radius.certified, radius.attacked), (None, None, Some(0)));
    }
}
