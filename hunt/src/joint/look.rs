//! One case of flips and changed edges at once: verdicts, margins and witnesses against the truth, and proofs.

use std::cmp::Ordering;
use std::path::Path;

use gcnproof::edges::{
    Edge, EdgeCertifier, EdgeProblem, JointBudget, JointCertifier, JointProblem, JointResult, joint_header,
};
use gcnproof::{Budget, Certifier, Direction, Graph, Network, Problem, Verdict};
use gcnproof_check::edges::format::Line;
use gcnproof_check::format::Convention;
use gcnproof_check::joint::{Checker, Statement};
use serde_json::{Value, json};

use crate::area::Area;
use crate::case::Way;
use crate::changes::case::Ends;
use crate::changes::keep::files;
use crate::changes::look::budget;
use crate::changes::truth::{ChangeTruth, admissible, permitted};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::joint::case::{Entry, JointCase};
use crate::joint::proof::{JointFound, JointSecond, JointShown, tamper};
use crate::present::both;
use crate::random::Random;
use crate::record::Record;
use crate::tested::{How, guard, stopped};

/// What one look needs.
struct JointLook<'a> {
    case: &'a JointCase,
    /// The verified checker, where it is asked as well.
    verified: Option<&'a Path>,
    counts: &'a AreaCounts,
    found: Vec<Record>,
}

/// Looks at a case; all proofs are shown to the verified checker as well.
pub fn look(case: &JointCase, verified: Option<&Path>, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, 1);
    let mut look = JointLook { case, verified, counts, found: Vec::new() };
    match guard(|| look.certify(random)) {
        Ok(Ok(())) => {}
        Ok(Err(problem)) | Err(problem) => look.report(Kind::Crash, 0, problem),
    }
    look.found
}

fn flips(case: &JointCase, graph: &Graph) -> Result<Budget, String> {
    let local: Vec<i64> = case.flips.local.iter().map(|&q| q as i64).collect();
    let budget = Budget::per_node(graph, case.flips.global, &local).map_err(|error| error.to_string())?;
    let budget = budget.with_direction(match case.flips.way {
        Way::Both => Direction::Both,
        Way::Add => Direction::Add,
        Way::Remove => Direction::Remove,
    });
    let frozen: Vec<i64> = case.flips.frozen.iter().map(|&d| d.into()).collect();
    budget.freeze_attributes(graph, &frozen).map_err(|error| error.to_string())
}

impl JointLook<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String) {
        self.report_line(kind, node, message, &Value::Null, &Value::Null);
    }

    /// The same of a line under a header, `{"header":…}`.
    fn report_line(&mut self, kind: Kind, node: usize, message: String, header: &Value, line: &Value) {
        let text = format!("node {node}\n{:#?}\n", self.case);
        let changes = &self.case.changes;
        let files = files(&changes.graph, &changes.model.layers, header, Some(&line.to_string()));
        self.found.push(Record { area: Area::Joint, kind, message, files, text });
    }

    fn certify(&mut self, random: &mut Random) -> Result<(), String> {
        let case = self.case;
        let graph = Graph::from_file(case.changes.graph.clone());
        let network = Network::from_file(case.changes.model.clone(), &[], &graph).map_err(|error| error.to_string())?;
        let means = JointBudget { flips: flips(case, &graph)?, edges: budget(&case.changes.means, &graph)? };
        let problem =
            JointProblem::new(graph.clone(), network.clone(), means.clone()).map_err(|error| error.to_string())?;
        let how = random.pick(&[How::Complete, How::Complete, How::Complete, How::Best]);
        let certifier = JointCertifier::new(problem).effort(how.effort()).proofs(true).stop(stopped);
        let header = joint_header(("graph", "model"), (&network, &[]), &means, Convention::Predicted);
        let under = json!({ "header": header });
        let statement = Statement::new(&case.changes.graph, &case.changes.model, &header);
        let statement = statement.map_err(|reason| reason.to_string())?;
        let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
        let mut second = JointSecond::start(self.verified, case, &header, self.counts)?;
        let truths = case.truths();
        let mut lines: Vec<Value> = Vec::new();
        for (node, truth) in truths.iter().enumerate() {
            let result = certifier.one(node).map_err(|error| error.to_string())?;
            if stopped() {
                return Ok(());
            }
            Counts::add(&self.counts.nodes, 1);
            if let Some(message) = self.wrong(&result, truth, how) {
                let kind = match result.verdict {
                    Verdict::Undecided if result.limit_hit => Kind::Slow,
                    Verdict::Undecided => Kind::Undecided,
                    _ => Kind::Verdict,
                };
                self.report(kind, node, message);
            }
            let line = certifier.proof_line(&result, &checkers[0]);
            let text = serde_json::to_value(&*line).map_err(|error| error.to_string())?;
            Counts::add(&self.counts.own, 1);
            match &*line {
                Line::Node(proof) => match both(&checkers, proof, |checker, proof| checker.check(proof))? {
                    [Ok(one), Ok(other)] if one == other => {
                        let is_true = (one == gcnproof_check::Verdict::Robust) == truth.robust();
                        if let Some((kind, message)) = second.wrong(&checkers[0], proof, true, is_true)? {
                            self.report_line(kind, node, format!("own proof: {message} {text}"), &under, &text);
                        }
                        lines.push(text);
                    }
                    answers => {
                        let message = format!("own proof: {answers:?} {text}");
                        self.report_line(Kind::Rejected, node, message, &under, &text);
                    }
                },
                _ if result.verdict != Verdict::Undecided => {
                    self.report(Kind::Unproved, node, format!("a verdict without a proof: {text}"));
                }
                _ => {}
            }
            // Without one of both attackers, the other alone says the same.
            if how == How::Complete && means.flips.global() == 0 {
                let problem = EdgeProblem::new(graph.clone(), network.clone(), means.edges.clone());
                let alone = EdgeCertifier::new(problem.map_err(|error| error.to_string())?).effort(how.effort());
                let alone = alone.one(node).map_err(|error| error.to_string())?;
                if (alone.verdict, alone.predicted) != (result.verdict, result.predicted) {
                    self.report(Kind::Verdict, node, format!("edges alone: {:?}", alone.verdict));
                }
            }
            if how == How::Complete && means.edges.global() == 0 {
                let problem = Problem::new(graph.clone(), network.clone(), means.flips.clone());
                let alone = Certifier::builder(problem.map_err(|error| error.to_string())?).effort(how.effort());
                let alone = alone.build().one(node).map_err(|error| error.to_string())?;
                if (alone.verdict, alone.predicted) != (result.verdict, result.predicted) {
                    self.report(Kind::Verdict, node, format!("flips alone: {:?}", alone.verdict));
                }
            }
        }
        for _ in 0..3 {
            let shown = JointShown { case, header: &header, lines: &lines, own: &truths, verified: self.verified };
            for JointFound { kind, node, message, header, line } in tamper(&shown, random, self.counts)? {
                self.report_line(kind, node, format!("{message} {line}"), &header, &line);
            }
        }
        Ok(())
    }

    /// What is wrong with a result.
    fn wrong(&self, result: &JointResult, truth: &ChangeTruth, how: How) -> Option<String> {
        if result.predicted != truth.predicted {
            return Some(format!("predicted {}, true is {}", result.predicted, truth.predicted));
        }
        let robust = truth.robust();
        match result.verdict {
            Verdict::Robust if !robust => return Some("said to be robust, which is false".into()),
            Verdict::NonRobust if robust => return Some("said to be non-robust, which is false".into()),
            Verdict::Undecided if how.decides() => return Some(format!("undecided, but robust is {robust}")),
            Verdict::NonRobust => {
                if let Some(problem) = self.replay(result) {
                    return Some(format!("witness {:?} {:?}: {problem}", result.details.edges, result.witness));
                }
            }
            _ => {}
        }
        for margin in &result.margins {
            let least = truth.margins[margin.class].as_ref()?;
            if least.compare_f64(margin.lower) == Ordering::Less || least.compare_f64(margin.upper) == Ordering::Greater
            {
                let (lower, upper, least) = (margin.lower, margin.upper, least.approximate());
                return Some(format!("the margin over {} is {least:e}, not in [{lower:e}, {upper:e}]", margin.class));
            }
        }
        None
    }

    /// A witness breaks the class, and nothing can be left out of it.
    fn replay(&self, result: &JointResult) -> Option<String> {
        let case = self.case;
        let edges: Vec<Ends> = result.details.edges.iter().map(|&Edge(i, j)| (i, j)).collect();
        let flips: Vec<Entry> = result.witness.iter().map(|flip| (flip.node, flip.attribute)).collect();
        let may = permitted(&case.changes, &case.changes.means);
        if !edges.iter().all(|edge| may.contains(edge)) || !admissible(&case.changes, &case.changes.means, &edges) {
            return Some("its edges are not admissible".into());
        }
        if !case.admits(&flips) {
            return Some("its flips are not admissible".into());
        }
        let keeps = |edges: &[Ends], flips: &[Entry]| case.keeps(result.node, result.reference, edges, flips);
        if keeps(&edges, &flips) {
            return Some("keeps the class".into());
        }
        if result.reason == gcnproof::edges::EdgeReason::Witness {
            // A tie may be left, which says less than a class that is larger.
            return None;
        }
        let without = |at: usize| [&edges[..at], &edges[at + 1..]].concat();
        let fewer = |at: usize| [&flips[..at], &flips[at + 1..]].concat();
        let needless = (0..edges.len()).any(|at| !keeps(&without(at), &flips))
            || (0..flips.len()).any(|at| !keeps(&edges, &fewer(at)));
        needless.then(|| "a change could be left out".into())
    }
}
