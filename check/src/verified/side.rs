//! What the verified checker says beside the other one, and how it is shown.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::collective::Told;
use crate::file::Collective;
use crate::verdict::Verdict;

/// Nodes that are shown one by one, at most.
const SHOWN: usize = 20;

/// Another program is started for every so many nodes, up to the number of processors.
const NODES_PER_PROGRAM: usize = 50;

/// What the verified checker said, beside the other one.
#[derive(Clone, Debug, Default)]
pub struct SideBySide {
    /// Nodes that were handed over: accepted by the other checker, and in the sample.
    pub asked: usize,
    /// Nodes that both accept, with the same verdict: robust, non-robust, ties.
    pub agreed: [usize; 3],
    /// Nodes that the verified checker does not accept, or with another verdict, and what it says.
    pub differing: Vec<(u32, String)>,
    /// Lines of bounds that it was given.
    pub bounds: usize,
    /// Of a proof about one attack, if the other checker accepts its claim.
    pub claim: Option<ClaimSide>,
    /// How long it took in all.
    pub time: Duration,
}

/// A claim about one attack, as both checkers judge it.
#[derive(Clone, Copy, Debug)]
pub struct ClaimSide {
    /// What the other checker says.
    pub of: Collective,
    /// What the verified one says.
    pub told: Told,
}

impl SideBySide {
    /// Did the verified checker accept all that it was asked about?
    pub fn success(&self) -> bool {
        self.differing.is_empty() && self.claim.is_none_or(|claim| claim.told.holds)
    }
}

impl fmt::Display for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(ClaimSide { of, told }) = &self.claim {
            return self.display_claim(of, told, f);
        }
        let [robust, broken, ties] = self.agreed;
        let (all, asked): (usize, _) = (self.agreed.iter().sum(), self.asked);
        let (seconds, tenths) = (self.time.as_secs(), self.time.subsec_millis() / 100);
        writeln!(
            f,
            "verified    {all} of {asked}: {robust} robust, {broken} non-robust, {ties} ties ({seconds}.{tenths} s)"
        )?;
        if self.bounds > 0 {
            writeln!(f, "            with {} lines of bounds", self.bounds)?;
        }
        if !self.differing.is_empty() {
            writeln!(f, "differing   {}", self.differing.len())?;
        }
        for (node, reason) in self.differing.iter().take(SHOWN) {
            writeln!(f, "            node {node}: {reason}")?;
        }
        Ok(())
    }
}

impl SideBySide {
    fn display_claim(&self, of: &Collective, told: &Told, f: &mut fmt::Formatter) -> fmt::Result {
        let (seconds, tenths) = (self.time.as_secs(), self.time.subsec_millis() / 100);
        let Told { safe, shared, holds, .. } = told;
        let (bound, counted) = (of.claimed, of.counted);
        let lines = format!("{safe} nodes never, {shared} with shares");
        match holds {
            true => writeln!(f, "verified    at most {bound} of {counted} broken: {lines} ({seconds}.{tenths} s)")?,
            false => {
                writeln!(f, "verified    nothing: {lines} ({seconds}.{tenths} s)")?;
                writeln!(
                    f,
                    "differing   at most {bound} of {counted} broken, but not accepted by the verified checker"
                )?;
            }
        }
        if self.bounds > 0 {
            writeln!(f, "            with {} lines of bounds", self.bounds)?;
        }
        Ok(())
    }

    fn count(&mut self, answer: Answer) {
        let Answer { node, own, verified, bounds } = answer;
        self.bounds += bounds;
        let (place, name) = match own {
            Some(Verdict::Robust) => (0, "robust"),
            Some(Verdict::NonRobust) => (1, "non-robust"),
            Some(Verdict::Tie) => (2, "a tie"),
            None => return,
        };
        match verified {
            Ok(verdict) if Some(verdict) == own => self.agreed[place] += 1,
            Ok(other) => self.differing.push((node, format!("{name}, but verified as {other:?}"))),
            Err(why) => self.differing.push((node, format!("{name}, but {why}"))),
        }
    }
}

/// Why there is no verdict, where nothing else is known.
pub(super) const NOT_ACCEPTED: &str = "not accepted by the verified checker";

/// What is said of one proof.
pub(super) struct Answer {
    pub(super) node: u32,
    /// By the other checker.
    pub(super) own: Option<Verdict>,
    /// By the verified one, or why nothing is said.
    pub(super) verified: Result<Verdict, String>,
    /// Lines of bounds that it needed.
    pub(super) bounds: usize,
}

/// Shows proofs to as many programs as are worth it.
pub(super) fn side_by_side<J, P: Sync>(
    claims: &[P],
    bounds: usize,
    start: impl Fn() -> Result<J, String> + Sync,
    judge: impl Fn(&mut J, &P) -> Result<Answer, String> + Sync,
) -> Result<SideBySide, String> {
    let found = Mutex::new(SideBySide { asked: claims.len(), bounds, ..SideBySide::default() });
    let waiting = Mutex::new(claims.iter());
    let work = || -> Result<(), String> {
        let mut program = start()?;
        loop {
            let Some(proof) = lock(&waiting).next() else { return Ok(()) };
            let answer = judge(&mut program, proof)?;
            lock(&found).count(answer);
        }
    };
    let programs =
        std::thread::available_parallelism().map_or(1, usize::from).min(claims.len() / NODES_PER_PROGRAM + 1);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..programs).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a thread has panicked".into())));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.differing.sort();
    Ok(found)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let mut found = SideBySide { asked: 3, ..SideBySide::default() };
        let mut count = |node: u32, own: Verdict, verified: Result<Verdict, String>| {
            found.count(Answer { node, own: Some(own), verified, bounds: 0 });
        };
        count(4, Verdict::Tie, Ok(Verdict::Tie));
        count(5, Verdict::Robust, Err(NOT_ACCEPTED.into()));
        count(6, Verdict::Tie, Ok(Verdict::NonRobust));
        assert_eq!(found.agreed, [0, 0, 1]);
        assert!(!found.success());
        let text = found.to_string();
        assert!(text.contains("verified    1 of 3: 0 robust, 0 non-robust, 1 ties"), "{text}");
        assert!(text.contains("node 5: robust, but not accepted by the verified checker"), "{text}");
        assert!(text.contains("node 6: a tie, but verified as NonRobust"), "{text}");
    }
}
