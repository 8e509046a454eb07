//! Questions about one attack for the whole graph.

use gcnproof_check::{Attack, Options, Question};
use serde_json::json;

use crate::case::Way;
use crate::collective::attack::proof;
use crate::collective::keep;
use crate::collective::look::graph;
use crate::collective::program::CollectiveProgram;
use crate::collective::truth::worst;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::network::Flips;
use crate::questions::flips::{name, statement};
use crate::questions::{ask, near, near_locals, some_nodes, tampered};
use crate::random::Random;
use crate::record::{Record, text};
use crate::tested::{How, convention, guard};

/// Questions about one file.
const QUESTIONS: usize = 10;

/// Looks at one graph.
pub fn look(seed: u64, number: u64, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    let mut found = Vec::new();
    let Some((case, scope)) = graph(seed ^ 0x9e57, number, random) else { return found };
    Counts::add(&counts.problems, 1);
    let truth = worst(&case, &scope);
    if truth.counted.is_empty() {
        return found;
    }
    let Ok(program) = CollectiveProgram::new(&case, &truth.counted, How::Best.effort()) else { return found };
    let Ok(Ok(Some(own))) = guard(|| proof(&case, &scope, &program)) else { return found };
    let stated = own.last().and_then(|line| line["claim"]["bound"].as_u64()).unwrap_or(0);
    for _ in 0..QUESTIONS {
        let (mut asked, mut limits) = (case.clone(), scope.clone());
        let same = random.percent(25);
        if !same {
            asked.budget.global = near(case.budget.global, random);
            asked.budget.local = near_locals(&case.budget.local, random);
            if random.percent(15) {
                asked.budget.way = random.pick(&[Way::Both, Way::Add, Way::Remove]);
            }
            if random.percent(30) {
                limits.attacked_nodes = random.percent(60).then(|| 1 + random.below(3));
            }
            if random.percent(40) {
                let nodes = some_nodes(case.nodes(), random);
                limits.nodes = nodes.map(|nodes| nodes.into_iter().map(|node| node as usize).collect());
            }
            if random.percent(10) {
                asked.labels = !case.labels;
            }
        }
        if Flips::new(&asked, 0..asked.nodes()).count(2500) >= 2500 {
            continue;
        }
        let truth = worst(&asked, &limits);
        let bound = match random.below(4) {
            _ if same => stated,
            0 | 1 => stated,
            2 => truth.broken.saturating_sub(1) as u64,
            _ => near(stated, random),
        };
        let question = Question {
            classes: convention(asked.labels),
            nodes: limits.nodes.as_ref().map(|nodes: &Vec<usize>| nodes.iter().map(|&node| node as u32).collect()),
            ..Question::new(Attack::Collective {
                budget: statement(&asked),
                attacked_nodes: limits.attacked_nodes.map(|most| most as u64),
                bound,
            })
        };
        let mut file = own.clone();
        let changed = tampered(&mut file, random);
        if changed && let Some(claim) = file.last_mut().filter(|line| line["claim"]["lines"].is_u64()) {
            claim["claim"]["lines"] = json!(own.len() - 2);
        }
        let options = Options {
            matrices: program.certifier.network().own_matrices(),
            message_passing: case.rules.iter().map(name).collect(),
            question: Some(question.clone()),
            exact_only: random.percent(20),
            ..Options::default()
        };
        Counts::add(&counts.shown, 1);
        Counts::add(&counts.false_claims, usize::from(bound < truth.broken as u64));
        let text = text(&file);
        let mut report = |kind: Kind, message: String| {
            let message = format!("{message}; question {question:?}");
            found.push(keep::record(&asked, &limits, &truth, kind, message, Some(&text)));
        };
        let summary = match ask(&case.graph, &case.model, &options, &text) {
            Ok(summary) => summary,
            Err(problem) => {
                report(Kind::Crash, problem);
                continue;
            }
        };
        let proved = summary.answered() == Some(true);
        Counts::add(&counts.accepted, usize::from(proved));
        if proved && bound < truth.broken as u64 {
            report(Kind::Accepted, format!("proved that at most {bound} are broken, but {} can be", truth.broken));
        }
        let counted = !truth.counted.is_empty() || limits.nodes.is_some();
        if same && !changed && !proved && counted && limits == scope && summary.accepted() {
            report(Kind::Rejected, format!("the file's own question is not proved: {:?}", summary.unmet));
        }
    }
    found
}
