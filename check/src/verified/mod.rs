//! Hands proofs to the verified checker, a program of its own whose acceptance is proved correct (`verified/`), and
//! compares what both say.

mod collective;
mod program;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gcnproof_files::{GraphFile, ModelFile};

use crate::checker::Checker;
use crate::file::{Collective, Options, Stated, Stop, Summary, read_header};
use crate::format::lines::Lines;
use crate::format::{BoundsLine, Line, NodeProof};
use crate::statement::Statement;
use crate::verdict::Verdict;
use collective::Asked;
pub use collective::{Told, verify_collective};
pub use program::{Judge, find_program};

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

/// Hands accepted proofs to the verified checker: all, or so many of them.
///
/// # Errors
/// If a file cannot be read, or the program cannot be run.
pub fn verify(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    proofs: &Path,
    summary: &Summary,
    sample: Option<usize>,
) -> Result<SideBySide, String> {
    let start = Instant::now();
    let program = find_program()?;
    let at = |error: std::io::Error| format!("{}: {error}", proofs.display());
    let mut lines = Lines::new(File::open(proofs).map_err(at)?).map_err(at)?;
    let header = read_header(&mut lines, graph, model).map_err(|stop| match stop {
        Stop::Wrong(line, reason) => format!("{}: line {line}: {reason}", proofs.display()),
        Stop::Unreadable(_, error) => at(error),
        Stop::Unmet => format!("{}: the header is not about what was asked", proofs.display()),
    })?;
    let header = match header {
        Stated::Flips(header) if header.ranges.is_some() => {
            return Err(format!(
                "{}: the verified checker knows flips of attributes, and these proofs are about attributes moved within \
                 ranges: check them without --verified",
                proofs.display()
            ));
        }
        Stated::Flips(header) => header,
        Stated::Removals(_) => {
            return Err(format!(
                "{}: the verified checker knows flips of attributes, and these proofs are about removed edges: \
                 check them without --verified",
                proofs.display()
            ));
        }
        Stated::Collective(header) => {
            if sample.is_some() {
                return Err(format!("{}: --sample is about proofs of single nodes", proofs.display()));
            }
            let Some(of) = summary.collective.filter(|claim| claim.proved) else { return Ok(SideBySide::default()) };
            let told = collective::ask(&program, Asked { graph, model, header: &header, options }, lines);
            let told = told.map_err(|problem| format!("{}: {problem}", proofs.display()))?;
            let claim = Some(ClaimSide { of, told });
            return Ok(SideBySide { claim, bounds: told.bounds, time: start.elapsed(), ..SideBySide::default() });
        }
    };
    let statement = Statement::new(graph, model, &header, &options.matrices);
    let statement = statement.map_err(|reason| format!("{}: line 1: {reason}", proofs.display()))?;
    let checker = Checker::new(&statement, options.exact_only);
    let mut chosen = choose(&summary.verdicts, sample);
    let (mut stated, mut claims): (Vec<BoundsLine>, Vec<NodeProof>) = (Vec::new(), Vec::new());
    loop {
        let (batch, failure) = lines.batch();
        if let Some(error) = failure {
            return Err(at(error));
        }
        if batch.is_empty() {
            break;
        }
        for line in batch {
            match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
                // Of several lines about a node the first counts.
                Ok(Line::Node(proof)) if chosen.remove(&proof.id) => claims.push(proof),
                Ok(Line::Bounds(line)) if checker.bounds(&line).is_ok() => stated.push(line),
                _ => {}
            }
        }
    }
    let found = Mutex::new(SideBySide { asked: claims.len(), bounds: stated.len(), ..SideBySide::default() });
    let waiting = Mutex::new(claims.iter());
    let work = || -> Result<(), String> {
        let mut judge = Judge::start(&program, &checker)?;
        for line in &stated {
            if !judge.bounds(line)? {
                return Err(format!("bounds of layer {}, node {} are rejected", line.layer, line.node));
            }
        }
        loop {
            let Some(proof) = lock(&waiting).next() else { return Ok(()) };
            let answer = judge.ask(&checker, proof);
            let mut found = lock(&found);
            match (answer, summary.verdicts[proof.id as usize]) {
                (Ok((verdict, bounds)), own) => {
                    found.bounds += bounds;
                    found.compare(proof.id, own, verdict);
                }
                (Err(problem), _) => return Err(format!("node {}: {problem}", proof.id)),
            }
        }
    };
    let programs =
        std::thread::available_parallelism().map_or(1, usize::from).min(claims.len() / NODES_PER_PROGRAM + 1);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..programs).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a thread has panicked".into())));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.differing.sort();
    found.time = start.elapsed();
    Ok(found)
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

    fn compare(&mut self, node: u32, own: Option<Verdict>, verified: Option<Verdict>) {
        let (place, name) = match own {
            Some(Verdict::Robust) => (0, "robust"),
            Some(Verdict::NonRobust) => (1, "non-robust"),
            Some(Verdict::Tie) => (2, "a tie"),
            None => return,
        };
        match verified {
            verified if verified == own => self.agreed[place] += 1,
            Some(other) => self.differing.push((node, format!("{name}, but verified as {other:?}"))),
            None => self.differing.push((node, format!("{name}, but not accepted by the verified checker"))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The nodes to hand over: those with a verdict, or so many of them, spread by a fixed rule.
fn choose(verdicts: &[Option<Verdict>], sample: Option<usize>) -> HashSet<u32> {
    let known = (0u32..).zip(verdicts).filter(|(_, verdict)| verdict.is_some());
    let mut nodes: Vec<u32> = known.map(|(node, _)| node).collect();
    if let Some(count) = sample {
        // The steps of splitmix64: neighbours in the file are not neighbours here.
        let mixed = |node: u32| {
            let x = (u64::from(node) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        nodes.sort_by_key(|&node| mixed(node));
        nodes.truncate(count);
    }
    nodes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_fixed_spread_and_of_what_is_proved() {
        let verdicts: Vec<_> = (0..1000).map(|node| (node % 3 > 0).then_some(Verdict::Robust)).collect();
        assert_eq!(choose(&verdicts, None).len(), 666);
        let sample = choose(&verdicts, Some(100));
        assert_eq!((sample.len(), &sample), (100, &choose(&verdicts, Some(100))));
        assert!(sample.iter().all(|node| node % 3 > 0));
        let low = sample.iter().filter(|&&node| node < 500).count();
        assert!((30..=70).contains(&low), "{low} of the first half");
        assert_eq!(choose(&verdicts, Some(5000)).len(), 666);
    }

    #[test]
    fn what_differs_is_named() {
        let mut found = SideBySide { asked: 3, ..SideBySide::default() };
        found.compare(4, Some(Verdict::Tie), Some(Verdict::Tie));
        found.compare(5, Some(Verdict::Robust), None);
        found.compare(6, Some(Verdict::Tie), Some(Verdict::NonRobust));
        assert_eq!(found.agreed, [0, 0, 1]);
        assert!(!found.success());
        let text = found.to_string();
        assert!(text.contains("verified    1 of 3: 0 robust, 0 non-robust, 1 ties"), "{text}");
        assert!(text.contains("node 5: robust, but not accepted by the verified checker"), "{text}");
        assert!(text.contains("node 6: a tie, but verified as NonRobust"), "{text}");
    }
}
