//! One case as it runs: verdicts, witnesses and error bounds of the program, compared with executions.

use std::cmp::Ordering;
use std::path::Path;

use gcnproof::{DeployedVerdict, Execution, NodeResult, Verdict};

use crate::deployed::compare::{Seen, contradictions};
use crate::deployed::execution::Aim;
use crate::deployed::format::Format;
use crate::exact::Exact;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::joint::case::Entry;
use crate::moved::attack::attack;
use crate::moved::case::MovedCase;
use crate::moved::keep;
use crate::moved::known::Known;
use crate::moved::moves::{Moves, changed, contains};
use crate::moved::near::near;
use crate::moved::program::MovedProgram;
use crate::moved::runs::exactly;
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::tested::{How, guard, stopped};

/// Moves on which executions are drawn, besides witnesses.
const MOVES: usize = 4;

/// Executions on one move: at random, and towards a side.
const EXECUTIONS: [usize; 2] = [2, 3];

/// Networks that are made from one with a margin near its error bound.
const NEAR: usize = 2;

/// Looks at a case, and at networks like it; all proofs are shown to the verified checker as well.
pub fn look(case: MovedCase, verified: Option<&Path>, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    let (mut found, mut next) = (Vec::new(), Some(case));
    for left in (0..=NEAR).rev() {
        let Some(case) = next.take().filter(|_| !stopped()) else { break };
        let how = random.pick(&[How::Complete, How::Complete, How::Best, How::Minimize]);
        let mut look = MovedLook { case: &case, how, counts, found: Vec::new() };
        match guard(|| look.certify(verified, left > 0, random)) {
            Ok(Ok(like)) => next = like,
            Ok(Err(problem)) | Err(problem) => look.report(Kind::Crash, 0, problem),
        }
        found.append(&mut look.found);
    }
    found
}

struct MovedLook<'a> {
    case: &'a MovedCase,
    how: How,
    counts: &'a AreaCounts,
    found: Vec<Record>,
}

impl MovedLook<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String) {
        self.found.push(keep::record(self.case, self.how, Wrong::new(kind, node, message), None));
    }

    /// Looks at the case; another network like it, if that is wanted.
    fn certify(
        &mut self,
        verified: Option<&Path>,
        continued: bool,
        random: &mut Random,
    ) -> Result<Option<MovedCase>, String> {
        let case = self.case;
        let program = MovedProgram::new(case, self.how)?;
        let mut results = Vec::new();
        for node in 0..case.targets() {
            let result = program.certifier.one(node).map_err(|error| error.to_string())?;
            if stopped() {
                return Ok(None);
            }
            results.push(result);
        }
        let witnesses = results.iter().filter(|result| !result.witness.is_empty()).map(changed);
        let Some(mut known) = Known::new(case, witnesses.collect(), random) else { return Ok(None) };
        Counts::add(&self.counts.problems, 1);
        Counts::add(&self.counts.nodes, results.len());
        for result in &results {
            if let Some((kind, message)) = self.wrong(&known, result) {
                self.report(kind, result.node, message);
            }
        }
        self.watch(&known, &results, random);
        known.attack(random, self.counts);
        for result in &results {
            let robust = result.deployed.as_ref().is_some_and(|of| of.verdict == DeployedVerdict::Robust);
            if robust && known.broken[result.node] {
                self.report(Kind::Verdict, result.node, "said to be robust, but an execution breaks it".into());
            }
        }
        attack(&known, &program, &results, self.how, verified, random, self.counts, &mut self.found);
        Ok(near(&known, &results, random).filter(|_| continued))
    }

    /// What of a result is wrong by exact numbers: every execution may be exact.
    fn wrong(&self, known: &Known, result: &NodeResult) -> Option<(Kind, String)> {
        let (truth, wrong) = (&known.truths[result.node], |message: String| Some((Kind::Verdict, message)));
        if result.predicted != truth.predicted {
            return wrong(format!("predicted {}, true is {}", result.predicted, truth.predicted));
        }
        let deployed = result.deployed.as_ref()?;
        match (result.verdict, truth.least()) {
            (Verdict::Robust, Ordering::Less | Ordering::Equal) => return wrong("not robust".into()),
            (Verdict::NonRobust, Ordering::Greater) if known.is_all => return wrong("robust".into()),
            _ => {}
        }
        let agrees = match deployed.verdict {
            DeployedVerdict::Robust => result.verdict == Verdict::Robust,
            DeployedVerdict::NonRobust => result.verdict == Verdict::NonRobust,
            _ => true,
        };
        if !agrees {
            return wrong(format!("{:?} as it runs, but {:?} exactly", deployed.verdict, result.verdict));
        }
        if deployed.verdict == DeployedVerdict::NonRobust
            && let Some(problem) = self.replay(known, result)
        {
            return wrong(format!("witness {:?} {:?}: {problem}", result.witness, result.details.values));
        }
        for margin in &result.margins {
            let least = truth.margins[margin.class].as_ref()?;
            if least.compare_f64(margin.lower).is_lt() || known.is_all && least.compare_f64(margin.upper).is_gt() {
                let (lower, upper, least) = (margin.lower, margin.upper, least.approximate());
                let message = format!("the margin over {} is {least:e}, not in [{lower:e}, {upper:e}]", margin.class);
                return Some((Kind::Margin, message));
            }
        }
        None
    }

    /// A witness as deployed is admissible, has numbers of the format, and breaks the class exactly.
    fn replay(&self, known: &Known, result: &NodeResult) -> Option<String> {
        let (case, moves) = (&self.case.ranges, changed(result));
        let entries: Vec<Entry> = moves.iter().map(|of| of.0).collect();
        if !case.admits(&entries) || entries.len() != result.witness.len() {
            return Some("its entries are not admissible".into());
        }
        // A subnormal number is one of the format, also where it may be taken for zero.
        let format = Format::new(&Execution { flush_subnormals: false, ..self.case.execution });
        for (entry, value) in &moves {
            if !contains(case, *entry, &Exact::from_f64(*value)) {
                return Some(format!("{entry:?} leaves its range"));
            }
            if format.read(*value) != *value {
                return Some(format!("{value:e} is no number of the format"));
            }
        }
        let logits = &known.runs.exact(&exactly(&moves))[result.node];
        let ahead = |class: usize| logits[result.reference].compare(&logits[class]).is_ge();
        (0..logits.len()).filter(|&class| class != result.reference).all(ahead).then(|| "keeps the class".into())
    }

    /// Draws executions on some moves, witnesses among them, and compares.
    fn watch(&mut self, known: &Known, results: &[NodeResult], random: &mut Random) {
        let witnesses: Vec<Moves> = results.iter().map(changed).collect();
        let given = witnesses.iter().filter(|moves| !moves.is_empty()).count();
        for at in 0..(1 + given).min(MOVES + 2) + MOVES {
            // No move first, then witnesses, then any.
            let at = if at <= given { at } else { random.below(known.tried.len()) };
            let (moves, exact) = &known.tried[at];
            for round in 0..EXECUTIONS[0] + EXECUTIONS[1] {
                let aim = if round < EXECUTIONS[0] { None } else { self.aim(known, random) };
                let computed = known.runs.run(moves, aim, random);
                Counts::add(&self.counts.executions, 1);
                for result in results {
                    let node = result.node;
                    let seen = Seen {
                        input: moves,
                        is_unchanged: moves.is_empty(),
                        is_witness: *moves == witnesses[node],
                        exact: &exact[node],
                        computed: &computed[node],
                    };
                    for (kind, message) in contradictions(result, &seen, self.counts) {
                        self.report(kind, node, message);
                    }
                }
            }
        }
    }

    fn aim(&self, known: &Known, random: &mut Random) -> Option<Aim> {
        let (node, classes) = (random.below(known.truths.len()), self.case.classes());
        let reference = known.truths[node].predicted;
        let class = (reference + 1 + random.below(classes - 1)) % classes;
        Some(Aim { node, reference, class, side: if random.percent(60) { -1.0 } else { 1.0 } })
    }
}
