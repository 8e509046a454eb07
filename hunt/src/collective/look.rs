//! One graph: the bound and the attack of the program, with all kinds of rows, few columns or many, and listing or not.

use std::path::Path;

use gcnproof::Effort;
use gcnproof::collective::{Outcome, Rows, Settings};

use crate::case::Case;
use crate::collective::program::CollectiveProgram;
use crate::collective::truth::{Scope, Worst, broken, worst};
use crate::collective::{attack, keep};
use crate::compare::admissible;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::generate::generate;
use crate::network::Flips;
use crate::random::Random;
use crate::record::Record;
use crate::tested::{How, stopped};

/// Perturbations of a graph, at most.
const SETS: usize = 2500;

/// A graph of a few small components, as one problem; none if it has too many perturbations.
pub fn graph(seed: u64, number: u64, random: &mut Random) -> Option<(Case, Scope)> {
    let components = random.pick(&[1, 1, 2, 2, 3, 4]);
    let mut case = generate(seed ^ 0xc011, number, components);
    loop {
        let nodes = case.nodes();
        if Flips::new(&case, 0..nodes).count(SETS) < SETS {
            break;
        }
        // Fewer components, or a smaller budget.
        if case.components.len() > 1 {
            let last = case.components.pop().map_or(0, |range| range.start);
            let kept = case.components.clone();
            case = case.part(0..last);
            case.components = kept;
        } else if case.budget.global > 2 {
            case.budget.global = 2;
        } else {
            return None;
        }
    }
    case.components = std::iter::once(0..case.nodes()).collect();
    let nodes = random.percent(25).then(|| (0..case.nodes()).filter(|_| random.percent(60)).collect::<Vec<_>>());
    let scope = Scope {
        nodes: nodes.filter(|nodes| !nodes.is_empty()),
        attacked_nodes: random.percent(25).then(|| 1 + random.below(3)),
    };
    Some((case, scope))
}

/// Looks at one graph; its files are shown to the verified checker as well.
pub fn look(
    case: &Case,
    scope: &Scope,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, 1);
    let truth = worst(case, scope);
    if truth.counted.is_empty() {
        return Vec::new();
    }
    Counts::add(&counts.nodes, truth.counted.len());
    let mut found = Vec::new();
    let effort = if random.percent(70) { How::Complete.effort() } else { Effort::Bounds };
    let program = match CollectiveProgram::new(case, &truth.counted, effort) {
        Ok(program) => program,
        Err(_) if stopped() => return found,
        Err(problem) => {
            found.push(keep::record(case, scope, &truth, Kind::Crash, problem, None));
            return found;
        }
    };
    let global = case.budget.global as usize;
    let usual = Settings { attacked_nodes: scope.attacked_nodes, swaps: Some(200), ..Settings::default() };
    let listed = random.pick(&[0, 0, 40, usual.listed]);
    let mut tried = vec![
        Settings { listed, ..usual.clone() },
        // Hardly any column: what flips without a name are worth is bounded from above.
        Settings { listed: 0, entries: random.pick(&[0, 1, 6, 40]), ..usual.clone() },
    ];
    if random.percent(40) {
        tried.push(Settings { rows: Rows::Count, listed: 0, ..usual.clone() });
    }
    if random.percent(40) {
        let covers = random.pick(&[0, 1, 8]);
        let accuracy = random.pick(&[1e-1, 1e-3, 1e-6]);
        tried.push(Settings { listed: 0, covers, accuracy, entries: random.pick(&[3, 20, 1_000]), ..usual.clone() });
    }
    for settings in tried {
        if stopped() {
            return found;
        }
        let words = format!("{:?}, listed {}, entries {}", settings.rows, settings.listed, settings.entries);
        match program.run(settings, global) {
            Ok(Some(outcome)) => {
                for (kind, message) in compare(case, scope, &truth, &outcome) {
                    found.push(keep::record(case, scope, &truth, kind, format!("{words}: {message}"), None));
                }
            }
            Ok(None) => {}
            Err(problem) => {
                found.push(keep::record(case, scope, &truth, Kind::Crash, format!("{words}: {problem}"), None));
            }
        }
    }
    attack::attack(case, scope, &truth, &program, verified, random, counts, &mut found);
    found
}

/// Everything that is wrong with an outcome.
pub fn compare(case: &Case, scope: &Scope, truth: &Worst, outcome: &Outcome) -> Vec<(Kind, String)> {
    let mut wrong = Vec::new();
    if outcome.bound < truth.broken {
        let text = format!("the bound {} is below {}, which {:?} break", outcome.bound, truth.broken, truth.flips);
        wrong.push((Kind::Margin, text));
    }
    if outcome.counted != truth.counted.len() {
        wrong.push((Kind::Verdict, format!("{} count, but {} do", outcome.counted, truth.counted.len())));
    }
    if outcome.broken.len() > outcome.bound || outcome.bound > outcome.counted {
        let text = format!("bound {} beside {} broken of {}", outcome.bound, outcome.broken.len(), outcome.counted);
        wrong.push((Kind::Verdict, text));
    }
    if outcome.listed && (outcome.bound != truth.broken || outcome.broken.len() != truth.broken) {
        let text = format!("listed: bound {}, attack {}, truth {}", outcome.bound, outcome.broken.len(), truth.broken);
        wrong.push((Kind::Verdict, text));
    }
    let mut flips: Vec<(usize, usize)> =
        outcome.flips.iter().map(|flip| (flip.node as usize, flip.attribute as usize)).collect();
    if let Err(problem) = admissible(case, &mut flips) {
        wrong.push((Kind::Verdict, format!("the attack {flips:?}: {problem}")));
    }
    let mut rows: Vec<usize> = flips.iter().map(|flip| flip.0).collect();
    rows.dedup();
    if rows.len() > scope.attacked_nodes.unwrap_or(usize::MAX) {
        wrong.push((Kind::Verdict, format!("the attack {flips:?} is in too many rows")));
    }
    let replayed = broken(case, &truth.counted, &truth.predicted, &flips);
    let mut said = outcome.broken.clone();
    said.sort_unstable();
    if said != replayed {
        wrong.push((Kind::Verdict, format!("the attack {flips:?} is said to break {said:?}, but breaks {replayed:?}")));
    }
    wrong
}
