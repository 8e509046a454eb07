//! One case of attributes moved within ranges: verdicts, margins and witnesses against the truth, and proofs.

use std::cmp::Ordering;
use std::path::Path;

use gcnproof::{Budget, Certifier, Effort, Graph, Network, NodeResult, Problem, Verdict, proof};
use gcnproof_check::format::{Convention, Line, RangeNodeProof};
use gcnproof_check::ranges::{Checker, Statement};
use serde_json::{Value, json};

use crate::area::Area;
use crate::changes::keep::files;
use crate::exact::Exact;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::joint::case::Entry;
use crate::random::Random;
use crate::ranges::case::RangeCase;
use crate::ranges::proof::{RangeFound, Second, Shown, is_true, tamper};
use crate::ranges::truth::{Quotient, RangeTruth, logits};
use crate::record::Record;
use crate::tested::{How, guard, stopped};

/// A margin so near 0 that floats rounded outward need not decide its sign.
const NEAR: f64 = 1e-9;

/// The gap of minima, relative to the larger of them and the margin without changes.
pub const GAP: f64 = 1e-3;

/// What one look needs.
struct RangeLook<'a> {
    case: &'a RangeCase,
    truths: &'a [RangeTruth],
    /// The verified checker, where it is asked as well.
    verified: Option<&'a Path>,
    counts: &'a AreaCounts,
    found: Vec<Record>,
}

/// Looks at a case; all proofs are shown to the verified checker as well.
pub fn look(
    case: &RangeCase,
    truths: &[RangeTruth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, 1);
    let mut look = RangeLook { case, truths, verified, counts, found: Vec::new() };
    match guard(|| look.certify(random)) {
        Ok(Ok(())) => {}
        Ok(Err(problem)) | Err(problem) => look.report(Kind::Crash, 0, problem),
    }
    look.found
}

/// The budget of a case as the program has it.
///
/// # Errors
/// If the program refuses it.
pub fn budget(case: &RangeCase, graph: &Graph) -> Result<Budget, String> {
    let local: Vec<i64> = case.local.iter().map(|&q| q as i64).collect();
    let budget = Budget::per_node(graph, case.global, &local).map_err(|error| error.to_string())?;
    let frozen: Vec<i64> = case.frozen.iter().map(|&d| d.into()).collect();
    let budget = budget.freeze_attributes(graph, &frozen).map_err(|error| error.to_string())?;
    Ok(budget.with_ranges(case.ranges.clone()))
}

impl RangeLook<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String) {
        self.report_line(kind, node, message, &Value::Null, &Value::Null);
    }

    /// The same of a line under a header, `{"header":…}`.
    fn report_line(&mut self, kind: Kind, node: usize, message: String, header: &Value, line: &Value) {
        let text = format!("node {node}\n{:#?}\n", self.case);
        let layers = &self.case.changes.model.layers;
        let graph = self.case.graph().unwrap_or_default();
        let files = files(&graph, layers, header, Some(&line.to_string()));
        self.found.push(Record { area: Area::Ranges, kind, message, files, text });
    }

    fn certify(&mut self, random: &mut Random) -> Result<(), String> {
        let case = self.case;
        let file = case.graph()?;
        let graph = Graph::from_file(file.clone());
        let model = case.changes.model.clone();
        let network = Network::from_file(model.clone(), &[], &graph).map_err(|error| error.to_string())?;
        let budget = budget(case, &graph)?;
        let problem =
            Problem::new(graph.clone(), network.clone(), budget.clone()).map_err(|error| error.to_string())?;
        let how = random.pick(&[How::Complete, How::Complete, How::Minimize, How::Best]);
        let effort = match how.effort() {
            Effort::Minimize { limits, .. } => Effort::Minimize { limits, gap: GAP },
            effort => effort,
        };
        let builder = Certifier::builder(problem).effort(effort).proofs(true);
        let certifier = builder.stop(stopped).build();
        let header = proof::header((&file.digest, "model"), (&network, &[]), &budget, Convention::Predicted);
        let statement = Statement::new(&file, &model, &header, &[]).map_err(|reason| reason.to_string())?;
        let (checker, under) = (Checker::new(&statement, false), json!({ "header": header }));
        let mut second = Second::start(self.verified, &file, &model, &header, self.counts)?;
        let mut lines: Vec<Value> = Vec::new();
        for (node, truth) in self.truths.iter().enumerate() {
            let result = certifier.one(node).map_err(|error| error.to_string())?;
            if stopped() {
                return Ok(());
            }
            Counts::add(&self.counts.nodes, 1);
            if let Some((kind, message)) = self.wrong(&result, truth, how) {
                self.report(kind, node, message);
            }
            if result.verdict == Verdict::Undecided {
                continue;
            }
            Counts::add(&self.counts.own, 1);
            let Some(claim) = result.details.claim.clone() else {
                self.report(Kind::Unproved, node, format!("{:?} without a proof", result.verdict));
                continue;
            };
            let proof = RangeNodeProof { id: node as u32, class: result.reference as u32, claim };
            match guard(|| checker.check(&proof))? {
                Ok(verdict) if (verdict == gcnproof_check::Verdict::Robust) == (result.verdict == Verdict::Robust) => {
                    let wrong = second.ask(&proof, true, is_true(&proof, self.truths))?;
                    let line = serde_json::to_value(Line::Ranged(proof)).map_err(|error| error.to_string())?;
                    if let Some((kind, message)) = wrong {
                        self.report_line(kind, node, format!("own proof: {message}: {line}"), &under, &line);
                    }
                    lines.push(line);
                }
                Err(_) if near_zero(truth) => {}
                answer => self.report(Kind::Rejected, node, format!("own proof: {answer:?} {proof:?}")),
            }
        }
        for _ in 0..3 {
            let shown = Shown {
                case,
                file: &file,
                header: &header,
                lines: &lines,
                truths: self.truths,
                verified: self.verified,
            };
            for RangeFound { kind, node, message, header, line } in tamper(&shown, random, self.counts)? {
                self.report_line(kind, node, message, &header, &line);
            }
        }
        Ok(())
    }

    /// What is wrong with a result.
    fn wrong(&self, result: &NodeResult, truth: &RangeTruth, how: How) -> Option<(Kind, String)> {
        let wrong = |message: String| Some((Kind::Verdict, message));
        if result.predicted != truth.predicted {
            return wrong(format!("predicted {}, true is {}", result.predicted, truth.predicted));
        }
        match (result.verdict, truth.least()) {
            (Verdict::Robust, Ordering::Less | Ordering::Equal) => return wrong("not robust".into()),
            (Verdict::NonRobust, Ordering::Greater) => return wrong("robust".into()),
            (Verdict::Undecided, _) if how.decides() && !near_zero(truth) => {
                let kind = if result.limit_hit { Kind::Slow } else { Kind::Undecided };
                return Some((kind, format!("undecided, but robust is {}", truth.robust())));
            }
            (Verdict::NonRobust, _) => {
                if let Some(problem) = self.replay(result) {
                    return wrong(format!("witness {:?} {:?}: {problem}", result.witness, result.details.values));
                }
            }
            _ => {}
        }
        for margin in &result.margins {
            let least = truth.margins[margin.class].as_ref()?;
            if least.compare_f64(margin.lower).is_lt() || least.compare_f64(margin.upper).is_gt() {
                let (lower, upper, least) = (margin.lower, margin.upper, least.approximate());
                let message = format!("the margin over {} is {least:e}, not in [{lower:e}, {upper:e}]", margin.class);
                return Some((Kind::Margin, message));
            }
        }
        // Of a margin within rounding of 0, over any class, the sign stays open, however narrow the interval is.
        let tie = truth.margins.iter().flatten().any(|margin| margin.approximate().abs() < NEAR);
        let open = how == How::Minimize && result.limit_hit && !tie;
        open.then(|| (Kind::Slow, "the minima are not found".into()))
    }

    /// A witness is admissible and breaks the class.
    fn replay(&self, result: &NodeResult) -> Option<String> {
        let case = self.case;
        let entries: Vec<Entry> = result.witness.iter().map(|flip| (flip.node, flip.attribute)).collect();
        let values = result.details.values.as_deref().unwrap_or_default();
        if entries.len() != values.len() || !case.admits(&entries) {
            return Some("its entries are not admissible".into());
        }
        let moved: Vec<(Entry, Exact)> = entries.into_iter().zip(values.iter().map(|&x| Exact::from_f64(x))).collect();
        broken(case, result.node, result.reference, &moved)
    }
}

/// Why these entries do not break a class; `None` if they do.
pub fn broken(case: &RangeCase, node: usize, reference: usize, moved: &[(Entry, Exact)]) -> Option<String> {
    for (entry, value) in moved {
        let [low, high] = case.range(*entry);
        if value.compare(&low).is_lt() || value.compare(&high).is_gt() {
            return Some(format!("{entry:?} leaves its range"));
        }
    }
    let logits = &logits(case, moved)[node];
    let keeps = (0..logits.len()).all(|class| class == reference || logits[reference].compare(&logits[class]).is_gt());
    keeps.then(|| "keeps the class".into())
}

/// Is the least margin hardly above or below 0?
fn near_zero(truth: &RangeTruth) -> bool {
    let sizes = truth.margins.iter().flatten().map(Quotient::approximate);
    sizes.fold(f64::INFINITY, f64::min).abs() < NEAR
}
