//! Proofs about executions on moved attributes: own ones must be accepted, and nothing that an execution contradicts.
//! What the program proves in exact arithmetic is shown as well: where rounding decides, it is false.

use std::cell::RefCell;
use std::path::Path;

use gcnproof::{DeployedVerdict, NodeResult};
use gcnproof_check::RangeJudge;
use gcnproof_check::format::{Header, Line, RangeNodeProof};
use gcnproof_check::ranges::{Checker, Statement};
use serde_json::{Value, json};

use crate::finding::{AreaCounts, Counts, Kind};
use crate::moved::case::MovedCase;
use crate::moved::claim::stands;
use crate::moved::generate::execution;
use crate::moved::keep;
use crate::moved::known::Known;
use crate::moved::moves::changed;
use crate::moved::program::MovedProgram;
use crate::present::{Answers, Asked, Presenter, Told, answers, both};
use crate::random::Random;
use crate::ranges::proof::{enlarged, forged};
use crate::record::{Record, Wrong};
use crate::tested::{How, guard, stopped};

/// Tampered and forged proofs under the own header, other headers, and proofs under each of them.
const ROUNDS: [usize; 3] = [16, 3, 8];

/// How near a margin may be to its error bound, relatively, that floats rounded outward need not show on which side it
/// is.
const NEAR: f64 = 1e-6;

/// The same with few bits: the checker has `x (1 + x + 2x²)` where the program has `x/(1 − x)`, by up to 3 % in a layer.
const NEAR_OF_FEW: f64 = 0.15;

/// The same with many bits, whatever the error bound: it is hardly larger than what floats are wrong by.
const NEAR_OF_MANY: f64 = 1e-9;

/// A header, to whom its proofs are shown, and what is known of it.
struct Stage<'a> {
    known: &'a Known<'a>,
    program: &'a MovedProgram,
    header: &'a Header,
    how: How,
    verified: Option<&'a Path>,
    counts: &'a AreaCounts,
}

/// Attacks the checkers with proofs about a case.
#[allow(clippy::too_many_arguments)]
pub fn attack(
    known: &Known,
    program: &MovedProgram,
    results: &[NodeResult],
    how: How,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let stage = Stage { known, program, header: &program.header, how, verified, counts };
    let own = stage.own(results, random, found);
    let plain = results.iter().filter_map(|result| plain(program, result)).collect::<Vec<Value>>();
    let lines = [own.as_slice(), &plain].concat();
    stage.show(&lines, ROUNDS[0], random, found);
    for _ in 0..ROUNDS[1] {
        if stopped() {
            return;
        }
        let Some((case, header)) = other(known.case, &program.header, random) else { continue };
        let witnesses = results.iter().map(changed).filter(|moves| !moves.is_empty()).collect();
        let Some(mut known) = Known::new(&case, witnesses, random) else { continue };
        known.attack(random, counts);
        let stage = Stage { known: &known, header: &header, ..stage };
        stage.show(&lines, ROUNDS[2], random, found);
    }
}

/// The proof of a result in exact arithmetic.
fn plain(program: &MovedProgram, result: &NodeResult) -> Option<Value> {
    let plain = guard(|| program.plain.one(result.node)).ok()?.ok()?;
    let claim = plain.details.claim?;
    let proof = RangeNodeProof { id: plain.node as u32, class: plain.reference as u32, claim };
    serde_json::to_value(Line::Ranged(proof)).ok()
}

/// The same network under another budget, or run in another way.
fn other(case: &MovedCase, header: &Header, random: &mut Random) -> Option<(MovedCase, Header)> {
    if random.percent(50) {
        let (ranges, header) = enlarged(&case.ranges, header, random)?;
        return Some((MovedCase { ranges, ..case.clone() }, header));
    }
    let case = MovedCase { execution: execution(random), ..case.clone() };
    let stated = guard(|| MovedProgram::stated(&case, case.execution)).ok()?.ok()?;
    let header = Header { deployed: Some(stated), ..header.clone() };
    Some((case, header))
}

impl Stage<'_> {
    fn keep(&self, kind: Kind, node: usize, message: String, line: &str) -> Record {
        let header = json!({ "header": self.header });
        keep::record(self.known.case, self.how, Wrong::new(kind, node, message), Some((&header, line)))
    }

    /// Does something with both checkers of the header.
    fn with_checkers<T>(
        &self,
        found: &mut Vec<Record>,
        act: impl FnOnce(&[Checker; 2], &mut Vec<Record>) -> T,
    ) -> Option<T> {
        let model = &self.known.case.network.base.model;
        match guard(|| Statement::new(&self.program.file, model, self.header, &model.matrices)) {
            Ok(Ok(stated)) => Some(act(&[Checker::new(&stated, false), Checker::new(&stated, true)], found)),
            Ok(Err(reason)) => {
                found.push(self.keep(Kind::Rejected, 0, format!("the checker refuses the statement: {reason}"), ""));
                None
            }
            Err(problem) => {
                found.push(self.keep(Kind::Crash, 0, problem, ""));
                None
            }
        }
    }

    /// The program's own proofs: both checkers accept them, and no execution contradicts them.
    fn own(&self, results: &[NodeResult], random: &mut Random, found: &mut Vec<Record>) -> Vec<Value> {
        let lines = self.with_checkers(found, |checkers, found| {
            let mut lines = Vec::new();
            for result in results {
                let verdict = result.deployed.as_ref().map(|deployed| deployed.verdict);
                let decided = matches!(verdict, Some(DeployedVerdict::Robust | DeployedVerdict::NonRobust));
                match guard(|| result.ranged_line(&checkers[0]).into_line()) {
                    Ok(Line::Ranged(proof)) => {
                        Counts::add(&self.counts.own, 1);
                        let line = json!({ "ranged": proof });
                        let exactly = guard(|| checkers[1].check(&proof));
                        let wrong = match exactly {
                            Ok(Ok(_)) if stands(self.known, &line, random, self.counts) => None,
                            Ok(Ok(_)) => Some((Kind::Accepted, "own proof: an execution contradicts it".to_string())),
                            _ => Some((Kind::Rejected, format!("own proof, exactly: {exactly:?}"))),
                        };
                        let text = line.to_string();
                        found.extend(wrong.map(|(kind, message)| self.keep(kind, result.node, message, &text)));
                        lines.push(line);
                    }
                    Ok(line) if decided && !is_near(result, self.known.case.execution.precision) && !stopped() => {
                        let message = format!("{verdict:?}: {}", serde_json::to_string(&line).unwrap_or_default());
                        found.push(self.keep(Kind::Unproved, result.node, message, ""));
                    }
                    Ok(_) => {}
                    Err(problem) => found.push(self.keep(Kind::Crash, result.node, problem, "")),
                }
            }
            lines
        });
        lines.unwrap_or_default()
    }

    /// Shows these lines, and so many made from them.
    fn show(&self, lines: &[Value], made: usize, random: &mut Random, found: &mut Vec<Record>) {
        let model = &self.known.case.network.base.model;
        let start = |program: &Path| {
            RangeJudge::start(program, &self.program.file, model, self.header, &model.matrices).map(RefCell::new)
        };
        let judge = self.verified.map(start).transpose().unwrap_or_else(|problem| {
            found.push(self.keep(Kind::Crash, 0, problem, ""));
            None
        });
        let asked = judge.as_ref().map(|judge| |text: &str| ask(judge, text));
        let own = RefCell::new(random.clone());
        self.with_checkers(found, |checkers, found| {
            let presenter = Presenter {
                check: &|text| shown(checkers, text),
                is_true: &|line| stands(self.known, line, &mut own.borrow_mut(), self.counts),
                robust: &[],
                keep: &|kind, node, message, line| self.keep(kind, node, message, line),
                verified: asked.as_ref().map(|ask| ask as &Asked),
                counts: self.counts,
            };
            for line in lines {
                presenter.show(line, found);
            }
            for _ in 0..made {
                let line = forged(&self.known.case.ranges, lines, &self.known.truths, random);
                presenter.show(&line, found);
            }
        });
    }
}

/// Is a margin so near its error bound, or minus that, that the proof may miss it?
fn is_near(result: &NodeResult, precision: u32) -> bool {
    let Some(deployed) = &result.deployed else { return false };
    let (relative, absolute) = match precision {
        ..20 => (NEAR_OF_FEW, 0.0),
        20..40 => (NEAR, 0.0),
        _ => (NEAR, NEAR_OF_MANY),
    };
    let near =
        |bound: f64, error: f64| (bound - error).abs() <= (relative * error.abs().max(bound.abs())).max(absolute);
    let mut pairs = result.margins.iter().zip(&deployed.errors);
    pairs.any(|(margin, &error)| near(margin.lower, error) || near(margin.upper, -error))
}

fn read(text: &str) -> Option<RangeNodeProof> {
    match Line::read(text.as_bytes(), usize::MAX) {
        Ok(Line::Ranged(proof)) => Some(proof),
        _ => None,
    }
}

/// What both checkers say of a line.
fn shown(checkers: &[Checker; 2], text: &str) -> Answers {
    answers(|| read(text), |proof| both(checkers, proof, |checker, proof| checker.check(proof)))
}

/// What the verified checker says of it.
fn ask(judge: &RefCell<RangeJudge>, text: &str) -> Result<Told, String> {
    let Some(proof) = read(text) else { return Ok(Told::Rejected) };
    guard(|| judge.borrow_mut().ask(&proof))?.map(Told::from)
}
