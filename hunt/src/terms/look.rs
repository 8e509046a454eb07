//! One case with a described network: verdicts, margins, witnesses and own proofs, compared with the truth.

use std::path::Path;

use gcnproof_check::format::{Header, Line, NodeProof};
use gcnproof_check::{Checker, Statement};
use serde_json::json;

use crate::area::Area;
use crate::claim::is_true_by;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::Sizes;
use crate::present::{Answers, Asked, Presenter, answers, both};
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::ring::{ask, start};
use crate::stage::Examined;
use crate::terms::case::TermCase;
use crate::terms::keep;
use crate::tested::{How, Tested, guard, stopped};
use crate::truth::{Margins, Robust, Truth};

/// Looks at a whole case; `attacks` components are taken for tampering and forging, and these proofs are shown to the
/// verified checker.
pub fn look(
    area: Area,
    case: &TermCase,
    attacks: usize,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
) -> Vec<Record> {
    let floats = case.floats();
    let mut terms = floats.layers.iter().flat_map(|layer| &layer.terms);
    if !terms.all(|term| term.entries.iter().flatten().all(|entry| entry.1.is_finite())) {
        return Vec::new();
    }
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, case.base.graph.graphs().unwrap_or(case.base.components.len()));
    let how = random.pick(&[
        How::Complete,
        How::Complete,
        How::Complete,
        How::Minimize,
        How::Optimal,
        How::Best,
        How::Anchored,
    ]);
    let truths = case.oracle().all();
    let mut found = certify(area, case, how, &truths, counts);
    for _ in 0..attacks {
        if stopped() {
            break;
        }
        let range = case.base.components[random.below(case.base.components.len())].clone();
        match case.part(range.clone()) {
            // Whether a row may have no category of a group depends on all rows of its graph.
            Ok(part) if part.base.graph.categories.is_some() => {
                attack(area, &part, &part.oracle().all(), verified, random, counts, &mut found);
            }
            Ok(part) => {
                let truths = &truths[range.start..range.end.min(truths.len())];
                attack(area, &part, truths, verified, random, counts, &mut found);
            }
            Err(problem) => found.push(keep::record(area, case, Wrong::new(Kind::Crash, 0, problem), "", None)),
        }
    }
    found
}

/// What the checker makes of a header and the files of a case.
pub fn statement<'a>(case: &'a TermCase, header: &Header) -> Result<Statement<'a>, (Kind, String)> {
    let model = &case.base.model;
    match guard(|| Statement::new(&case.base.graph, model, header, &model.matrices)) {
        Ok(Ok(statement)) => Ok(statement),
        Ok(Err(reason)) => Err((Kind::Rejected, format!("the checker refuses the statement: {reason}"))),
        Err(problem) => Err((Kind::Crash, problem)),
    }
}

/// Certifies all nodes, compares, and checks the proofs.
fn certify(area: Area, case: &TermCase, how: How, truths: &[Truth], counts: &AreaCounts) -> Vec<Record> {
    let details = Counts::default();
    let mut found = Vec::new();
    let tested = match Tested::new(&case.base) {
        Ok(tested) => tested,
        Err(problem) => return vec![keep::record(area, case, Wrong::new(Kind::Crash, 0, problem), "", None)],
    };
    let header = json!({ "header": tested.header });
    let mut report = |kind: Kind, node: usize, message: String, line: Option<&str>| {
        let wrong = Wrong::new(kind, node, message);
        found.push(keep::record(area, case, wrong, how.options(), line.map(|line| (&header, line))));
    };
    match statement(case, &tested.header) {
        Err((kind, problem)) => report(kind, 0, problem, None),
        Ok(statement) => {
            let stage = Examined { case: &case.base, how, truths, oracle: &case.oracle(), counts: &details };
            stage.certify(&tested, &statement, &mut report);
        }
    }
    Counts::add(&counts.nodes, Counts::get(&details.nodes) as usize);
    Counts::add(&counts.own, Counts::get(&details.proofs) as usize);
    found
}

/// Attacks the checker with proofs about one component.
fn attack(
    area: Area,
    case: &TermCase,
    truths: &[Truth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let Ok(tested) = Tested::new(&case.base) else { return };
    let Ok(statement) = statement(case, &tested.header) else { return };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let mut lines = Vec::new();
    let how = random.pick(&[How::Complete, How::Complete, How::Optimal, How::Best]);
    let seen = tested.certify(&case.base, how, Some(&checkers[0]), |_, answer| {
        if let Ok((_, Some(Line::Node(proof)))) = answer {
            lines.push(json!({ "node": proof }));
        }
    });
    if seen.is_err() {
        return;
    }
    let oracle = case.oracle();
    let header = json!({ "header": tested.header });
    let keep = |kind: Kind, node: usize, message: String, line: &str| {
        let wrong = Wrong::new(kind, node, message);
        keep::record(area, case, wrong, "--complete", Some((&header, line)))
    };
    let judge = start(verified, &checkers[0]).unwrap_or_else(|problem| {
        found.push(keep(Kind::Crash, 0, problem, ""));
        None
    });
    let asked = judge.as_ref().map(|judge| |text: &str| ask(judge, &checkers[0], text));
    let presenter = Presenter {
        check: &|text| shown(&checkers, text),
        is_true: &|line| is_true_by(&case.base, truths, line, |id, y, class, flips| oracle.margin(id, y, class, flips)),
        robust: &truths.iter().map(Truth::known).collect::<Vec<Robust>>(),
        keep: &keep,
        verified: asked.as_ref().map(|ask| ask as &Asked),
        counts,
    };
    for line in &lines {
        presenter.show(line, found);
    }
    presenter.attack(&lines, &Sizes::new(&case.base), case.base.classes(), [12, 16], random, found);
}

/// What both checkers say of a line.
pub fn shown(checkers: &[Checker; 2], text: &str) -> Answers {
    let read = || text.parse::<NodeProof>().ok();
    answers(read, |proof| both(checkers, proof, |checker, proof| checker.check(proof)))
}
