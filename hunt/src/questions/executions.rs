//! Questions about every execution: a file whose header states smaller errors, or exact arithmetic, does not answer;
//! and no answer is contradicted by an execution.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof_check::format::Line;
use gcnproof_check::{Attack, Checker, Execution, Options, Question, Statement, Verdict};
use serde_json::{Value, json};

use gcnproof_files::Normalisation;

use crate::area::Area;
use crate::deployed::execution::{Aim, Deployment};
use crate::deployed::program::DeployedProgram;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::network::Flips;
use crate::questions::flips::statement;
use crate::questions::{OwnFile, ask, tampered};
use crate::random::Random;
use crate::record::{Record, Wrong, text};
use crate::terms::case::TermCase;
use crate::terms::generate::{Numbers, generate};
use crate::terms::keep;
use crate::tested::{How, convention, guard};

/// Questions about one file.
const QUESTIONS: usize = 8;

/// Looks at one case.
pub fn look(seed: u64, number: u64, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    let mut found = Vec::new();
    let plain = Normalisation::None;
    let Ok(case) = generate(seed ^ 0x9e57, number, 1 + random.below(2), Numbers::Float32, plain, false) else {
        return found;
    };
    Counts::add(&counts.problems, case.base.components.len());
    let stated = gcnproof::Execution {
        operator_error: random.percent(40).then(|| random.pick(&[0, 1, 7, 8, 100])),
        ..gcnproof::Execution::FLOAT32
    };
    let Some(own) = own_file(&case, stated) else { return found };
    for _ in 0..QUESTIONS {
        question(&case, &own, random, counts, &mut found);
    }
    found
}

/// The file that the program writes about a case.
fn own_file(case: &TermCase, stated: gcnproof::Execution) -> Option<OwnFile> {
    let program = DeployedProgram::new(case, stated, How::Complete).ok()?;
    let model = &case.base.model;
    let statement = guard(|| Statement::new(&case.base.graph, model, &program.header, &model.matrices)).ok()?.ok()?;
    let checker = Checker::new(&statement, false);
    let mut workspace = Workspace::default();
    let mut lines = Vec::new();
    for (node, truth) in case.oracle().all().iter().enumerate() {
        let Some(reference) = truth.reference else { continue };
        let line = guard(|| {
            let result = program.certifier.certify_class(node, reference, truth.predicted, &mut workspace);
            result.proof_line(&checker).into_line()
        });
        if let Ok(line @ Line::Node(_)) = line {
            lines.extend(serde_json::to_value(&line));
        }
    }
    Some(OwnFile { header: json!({ "header": program.header }), lines })
}

fn question(case: &TermCase, own_file: &OwnFile, random: &mut Random, counts: &AreaCounts, found: &mut Vec<Record>) {
    let asked = random.percent(80).then(|| Execution {
        operator_error: random.percent(30).then(|| random.pick(&[0, 1, 8, 9])),
        flush_subnormals: random.percent(10),
        ..Execution::default()
    });
    let mut file = own_file.whole();
    match random.below(5) {
        // Smaller errors than the program states, or none.
        0 => {
            if let Some(layers) = file[0]["header"]["deployed"]["operator_error"].as_array_mut()
                && let Some(terms) = layers.last_mut().and_then(Value::as_array_mut)
                && let Some(first) = terms.first_mut()
            {
                *first = json!(random.below(8));
            }
        }
        1 => {
            if let Some(stated) = file[0]["header"].as_object_mut() {
                stated.remove("deployed");
            }
        }
        2 => file[0]["header"]["deployed"]["precision"] = json!(random.pick(&[8, 23, 24, 25, 53])),
        _ => drop(tampered(&mut file, random)),
    }
    let question = Question {
        classes: convention(case.base.labels),
        ..Question::new(Attack::Flips(statement(&case.base), asked))
    };
    let options =
        Options { question: Some(question.clone()), matrices: case.base.model.matrices.clone(), ..Options::default() };
    let text = text(&file);
    Counts::add(&counts.shown, 1);
    let mut report = |kind: Kind, node: usize, message: String| {
        let line = file[1..].iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let message = format!("{message}; question {question:?}");
        let wrong = Wrong::new(kind, node, message);
        found.push(keep::record(Area::Questions, case, wrong, "--complete", Some((&file[0], &line))));
    };
    let summary = match ask(&case.base.graph, &case.base.model, &options, &text) {
        Ok(summary) => summary,
        Err(problem) => return report(Kind::Crash, 0, problem),
    };
    Counts::add(&counts.accepted, usize::from(summary.answered() == Some(true)));
    let stated = file[0]["header"].get("deployed");
    if asked.is_some() && stated.is_none_or(Value::is_null) && summary.answers.iter().any(Option::is_some) {
        report(Kind::Accepted, 0, "executions are asked about, and a file about exact arithmetic answers".into());
    }
    let truths = case.oracle().all();
    let execution = asked.map(|asked| gcnproof::Execution {
        precision: asked.precision,
        operator_error: asked.operator_error,
        flush_subnormals: asked.flush_subnormals,
    });
    let deployment = execution.map(|execution| Deployment::new(case, execution));
    let classes = case.base.classes();
    for (node, answer) in summary.answers.iter().enumerate() {
        let Some(answer) = answer else { continue };
        let (Some(reference), Some(robust)) = (truths[node].reference, truths[node].robust()) else {
            report(Kind::Accepted, node, "an answer about a node without class".into());
            continue;
        };
        if (*answer == Verdict::Robust) != robust {
            report(Kind::Accepted, node, format!("{answer:?} as asked, but robust is {robust}"));
        }
        let Some(deployment) = deployment.as_ref().filter(|_| *answer == Verdict::Robust) else { continue };
        let range = case.base.component_of(node);
        let sets = Flips::new(&case.base, range.clone()).sets();
        let attributes = case.numbers(&case.base.attributes_after(&range, &sets[random.below(sets.len())]));
        let class = (reference + 1 + random.below(classes - 1)) % classes;
        let aim = Aim { node, reference, class, side: -1.0 };
        let computed = deployment.run(&range, &attributes, Some(aim), random);
        Counts::add(&counts.executions, 1);
        let row = (node - range.start) * classes;
        if computed[row + reference] <= computed[row + class] {
            report(Kind::Accepted, node, "robust as asked, but an execution has another class".into());
        }
    }
}
