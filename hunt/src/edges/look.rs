//! One case of removed edges: what the program says of every node, compared with the truth, and its own proofs.

use std::cmp::Ordering;
use std::path::Path;
use std::time::{Duration, Instant};

use gcnproof::edges::{EdgeReason, EdgeResult};
use gcnproof::{Verdict, radii};
use gcnproof_check::edges::format::Line;
use gcnproof_check::edges::{Checker, Statement};
use serde_json::{Value, json};

use crate::edges::case::{Edge, EdgeCase};
use crate::edges::program::EdgeProgram;
use crate::edges::truth::{EdgeOracle, EdgeTruth};
use crate::edges::{attack, keep};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::present::both;
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::tested::{How, guard, stopped};

/// After this time the other nodes of a case are left out.
const CASE: Duration = Duration::from_secs(4);

/// Everything that one look at a case needs.
pub struct Look<'a> {
    pub case: &'a EdgeCase,
    /// What the program was asked for.
    pub how: How,
    /// Brute force.
    pub oracle: EdgeOracle<'a>,
    /// What is true.
    pub truths: Vec<EdgeTruth>,
    /// Counts of this area.
    pub counts: &'a AreaCounts,
    /// What was found.
    pub found: Vec<Record>,
}

/// Looks at a whole case; `attacks` components are taken for tampering and forging, and these proofs are shown to the
/// verified checker.
pub fn look(
    case: &EdgeCase,
    attacks: usize,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, case.components.len());
    let how = random.pick(&[How::Complete, How::Complete, How::Minimize, How::Minimize, How::Best]);
    let oracle = EdgeOracle::new(case);
    let truths = oracle.all();
    let mut look = Look { case, how, oracle, truths, counts, found: Vec::new() };
    look.certify(random);
    for _ in 0..attacks {
        if stopped() {
            break;
        }
        let range = case.components[random.below(case.components.len())].clone();
        let part = case.part(range.clone());
        let truths = look.truths[range].to_vec();
        attack::attack(&part, &truths, verified, random, counts, &mut look.found);
    }
    look.found
}

impl Look<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String, proof: Option<(&Value, &str)>) {
        self.found.push(keep::record(self.case, self.how, Wrong::new(kind, node, message), proof));
    }

    fn certify(&mut self, random: &mut Random) {
        let case = self.case;
        let program = match EdgeProgram::new(case, self.how) {
            Ok(program) => program,
            Err(problem) => return self.report(Kind::Crash, 0, problem, None),
        };
        let header = json!({ "header": program.header });
        let statement = guard(|| Statement::new(&case.graph, &case.model, &program.header));
        let statement = match statement {
            Ok(Ok(statement)) => statement,
            Ok(Err(reason)) => return self.report(Kind::Crash, 0, format!("the statement: {reason}"), None),
            Err(problem) => return self.report(Kind::Crash, 0, problem, None),
        };
        let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
        let end = Instant::now() + CASE;
        for node in 0..case.nodes() {
            if stopped() || Instant::now() >= end {
                break;
            }
            let Some(reference) = self.truths[node].of.reference else { continue };
            let result = match program.decide(node, case.labels.then_some(reference)) {
                Ok(result) => result,
                Err(problem) => {
                    self.report(Kind::Crash, node, problem, None);
                    continue;
                }
            };
            Counts::add(&self.counts.nodes, 1);
            for (kind, message) in self.compare(&result) {
                self.report(kind, node, message, None);
            }
            self.own_proof(&program, &result, &checkers, &header);
            if !case.labels && self.how == How::Complete && random.percent(10) {
                self.radius(&program, node);
            }
        }
    }

    /// Everything that is wrong with a result.
    fn compare(&self, result: &EdgeResult) -> Vec<(Kind, String)> {
        let mut wrong = Vec::new();
        let truth = &self.truths[result.node];
        let (Some(reference), Some(robust)) = (truth.of.reference, truth.robust()) else { return wrong };
        if result.predicted != truth.of.predicted || result.reference != reference {
            let (p, r) = (result.predicted, result.reference);
            let text = format!("predicted {p}, reference {r}; true are {} and {reference}", truth.of.predicted);
            return vec![(Kind::Verdict, text)];
        }
        match result.verdict {
            Verdict::Robust if !robust => wrong.push((Kind::Verdict, "said to be robust, which is false".into())),
            Verdict::NonRobust if robust => wrong.push((Kind::Verdict, "said to be non-robust, which is false".into())),
            Verdict::Undecided if self.how.decides() => {
                let kind = if result.limit_hit { Kind::Slow } else { Kind::Undecided };
                wrong.push((kind, format!("undecided ({}), but robust is {robust}", result.reason.name())));
            }
            _ => {}
        }
        if result.verdict == Verdict::NonRobust {
            let witness: Vec<Edge> = result.witness.iter().map(|edge| (edge.0, edge.1)).collect();
            if let Err(problem) = self.replay(result, reference, &witness) {
                wrong.push((Kind::Verdict, format!("witness {witness:?}: {problem}")));
            }
        }
        for (place, margin) in result.margins.iter().enumerate() {
            let Some(Some(exact)) = truth.of.margins.get(margin.class) else {
                wrong.push((Kind::Margin, format!("a margin of class {}", margin.class)));
                continue;
            };
            let (class, lower, upper, near) = (margin.class, margin.lower, margin.upper, exact.approximate());
            if lower.is_nan() || exact.compare_f64(lower) == Ordering::Less {
                wrong.push((Kind::Margin, format!("class {class}: {near:e} is below the lower bound {lower:e}")));
            }
            if upper.is_nan() || exact.compare_f64(upper) == Ordering::Greater {
                wrong.push((Kind::Margin, format!("class {class}: {near:e} is above the upper bound {upper:e}")));
            }
            let minimum = result.minima.get(place).and_then(Option::as_ref);
            if let Some(minimum) = minimum {
                let edges: Vec<Edge> = minimum.changes.iter().map(|edge| (edge.0, edge.1)).collect();
                let (floor, ceil) = (minimum.margin.floor_f64(), minimum.margin.ceil_f64());
                let attained = self.oracle.margin(result.node, reference, class, &edges);
                let inside = exact.compare_f64(floor).is_ge() && exact.compare_f64(ceil).is_le();
                if let Err(problem) = self.case.admits(&edges) {
                    wrong.push((Kind::Margin, format!("class {class}: the minimum {edges:?}: {problem}")));
                } else if attained.compare(exact) != Ordering::Equal || !inside {
                    let text = format!("class {class}: the \"exact\" minimum {floor:e} at {edges:?} is {near:e}");
                    wrong.push((Kind::Margin, text));
                }
            } else if self.how == How::Minimize && !result.limit_hit {
                wrong.push((Kind::Wide, format!("class {class}: no exact minimum")));
            }
        }
        wrong
    }

    /// Is the witness admissible, and is some margin not positive after it?
    fn replay(&self, result: &EdgeResult, reference: usize, witness: &[Edge]) -> Result<(), String> {
        self.case.admits(witness)?;
        let classes = (0..self.case.classes()).filter(|&class| class != reference);
        let signs: Vec<Ordering> =
            classes.map(|class| self.oracle.margin(result.node, reference, class, witness).sign()).collect();
        // A tie with one class is one, whatever the others are.
        let tie = result.reason == EdgeReason::Tie;
        if signs.iter().all(|sign| *sign == Ordering::Greater) {
            Err("every margin is positive after it".into())
        } else if !signs.contains(if tie { &Ordering::Equal } else { &Ordering::Less }) {
            Err(if tie { "no tie, but said to be one" } else { "a tie that is not said to be one" }.into())
        } else {
            Ok(())
        }
    }

    /// The program's own proof, shown to both kinds of arithmetic.
    fn own_proof(&mut self, program: &EdgeProgram, result: &EdgeResult, checkers: &[Checker; 2], header: &Value) {
        let node = result.node;
        let line = match guard(|| program.certifier.proof_line(result, &checkers[0]).into_line()) {
            Ok(line) => line,
            Err(problem) => return self.report(Kind::Crash, node, problem, None),
        };
        let text = serde_json::to_string(&line).unwrap_or_default();
        let proof = match line {
            Line::Node(proof) => proof,
            Line::Unproved(unproved) if result.verdict != Verdict::Undecided && !stopped() => {
                return self.report(Kind::Unproved, node, unproved.reason, None);
            }
            _ => return,
        };
        Counts::add(&self.counts.own, 1);
        let shown = Some((header, text.as_str()));
        let [rounded, exactly] = match both(checkers, &proof, |checker, proof| checker.check(proof)) {
            Ok(answers) => answers,
            Err(problem) => return self.report(Kind::Crash, node, problem, shown),
        };
        if rounded.is_ok() != exactly.is_ok() {
            let text = format!("own proof: rounded {rounded:?}, exactly {exactly:?}");
            self.report(Kind::Disagreement, node, text, shown);
        }
        match exactly {
            Err(fault) if rounded.is_err() => self.report(Kind::Rejected, node, format!("{fault:?}"), shown),
            Err(_) => {}
            Ok(verdict) => {
                let robust = verdict == gcnproof_check::Verdict::Robust;
                if self.truths[node].robust() != Some(robust) {
                    self.report(Kind::Accepted, node, "the program's own proof is accepted and false".into(), shown);
                }
            }
        }
    }

    /// The radius of a node, with the budget of the case as its limit.
    fn radius(&mut self, program: &EdgeProgram, node: usize) {
        let limit = self.case.budget.global.min(64) as usize;
        let found = match guard(|| radii(&program.certifier, &[node], limit, || false, |_, _| ())) {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return self.report(Kind::Crash, node, error.to_string(), None),
            Err(problem) => return self.report(Kind::Crash, node, problem, None),
        };
        let radius = &found[&node];
        if let Some(contradiction) = &radius.contradiction {
            return self.report(Kind::Crash, node, contradiction.to_string(), None);
        }
        if radius.limit_hit {
            return;
        }
        let needed = self.truths[node].needed;
        let certified = needed.map_or(Some(limit), |needed| needed.checked_sub(1));
        if (radius.certified, radius.attacked) != (certified, needed) {
            let text = format!(
                "radius: certified {:?}, attacked {:?}; true are {certified:?} and {needed:?}",
                radius.certified, radius.attacked
            );
            self.report(Kind::Verdict, node, text, None);
        }
    }
}
