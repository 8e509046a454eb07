//! A run as its command and options, and in these words how it differs from another one.

use gcnproof::internals::certify::settings::{Bound, Margins};
use gcnproof::internals::collective::families::Rows;
use gcnproof::internals::deployed::execution::Execution;
use gcnproof::internals::problem::budget::Direction;

use super::description::{Description, FlipRun};
use super::edges::{EdgeBudgetRecord, EdgeRun};
use super::node_set::ranges;
use super::settings::{BudgetRecord, Class, EffortRecord, Identity, Level, LocalRecord, RangeRecord, USUAL_SECONDS};

impl Description {
    /// The command, with its arguments in capitals.
    pub fn command(&self) -> &'static str {
        let inserts = |run: &EdgeRun| match run.edges.attack.as_str() {
            "insert" => 1,
            "change" => 2,
            _ => 0,
        };
        match self {
            Description::Certify(_) => "certify GRAPH MODEL",
            Description::Radius(_) => "radius GRAPH MODEL",
            Description::Collective(_) => "collective GRAPH MODEL",
            Description::Validate(_) => "validate GRAPH MODEL",
            Description::Table1(_) => "reproduce table1",
            Description::CertifyEdges(run) => [
                "certify GRAPH MODEL --edges remove",
                "certify GRAPH MODEL --edges insert",
                "certify GRAPH MODEL --edges change",
            ][inserts(run)],
            Description::CertifyJoint(run) => match run.edges.attack.as_str() {
                "insert" => "certify GRAPH MODEL --edges insert",
                "change" => "certify GRAPH MODEL --edges change",
                _ => "certify GRAPH MODEL --edges remove",
            },
            Description::RadiusEdges(run) => [
                "radius GRAPH MODEL --edges remove",
                "radius GRAPH MODEL --edges insert",
                "radius GRAPH MODEL --edges change",
            ][inserts(run)],
        }
    }

    /// The options that differ from what is usual, except for the nodes; what only files say is told in words.
    pub fn options(&self) -> Vec<String> {
        let mut parts = Vec::new();
        match self {
            Description::Certify(run) => {
                budget(&mut parts, &run.budget);
                parts.extend(match run.bound {
                    Some(Bound::Paper) => Some("--bound paper".to_string()),
                    Some(Bound::Anchored) => Some("--bound anchored".to_string()),
                    _ => None,
                });
                parts.extend((run.class == Some(Class::Labels)).then(|| "--class labels".to_string()));
                effort(&mut parts, run.effort.as_ref());
                parts.extend(is_tight(run).then(|| "--margins tight".to_string()));
                deployed(&mut parts, run.deployed.as_ref());
            }
            Description::Radius(run) => {
                parts.extend(run.max_global.map(|most| format!("--max-Q {most}")));
                budget(&mut parts, &run.budget);
                effort(&mut parts, run.effort.as_ref());
                deployed(&mut parts, run.deployed.as_ref());
            }
            Description::Collective(run) => {
                parts.push(format!("--budgets {}", budgets(&run.budgets)));
                budget(&mut parts, &run.budget);
                parts.extend(run.attacked_nodes.map(|count| format!("--attacked-nodes {count}")));
                parts.extend((run.class == Class::Labels).then(|| "--class labels".to_string()));
                parts.extend((run.rows == Rows::Count).then(|| "--rows count".to_string()));
                parts.extend((run.rows == Rows::Provable).then(|| "--proofs FOLDER".to_string()));
                parts.extend(run.solver.as_ref().map(|solver| format!("--solver {solver}")));
                parts.extend(run.swaps.map(|swaps| format!("--swaps {swaps}")));
                parts.extend(run.effort.is_none().then(|| "--radii FILE".to_string()));
                let exhaustive =
                    run.effort.is_some_and(|effort| effort.level == Level::Complete && effort.time_limit.is_some());
                parts.extend((exhaustive && !run.shallow).then(|| "--complete".to_string()));
                effort(&mut parts, run.effort.as_ref());
            }
            Description::Validate(run) => {
                budget(&mut parts, &run.budget);
                if run.solvers.as_deref() == Some("none") {
                    parts.push("(a study's sample, without solvers)".into());
                }
            }
            Description::Table1(_) => {}
            Description::CertifyEdges(run) => {
                edges(&mut parts, &run.edges);
                parts.extend((run.class == Class::Labels).then(|| "--class labels".to_string()));
                effort(&mut parts, Some(&run.effort));
            }
            Description::CertifyJoint(run) => {
                budget(&mut parts, &run.budget);
                edges(&mut parts, &run.edges);
                parts.extend((run.class == Class::Labels).then(|| "--class labels".to_string()));
                effort(&mut parts, Some(&run.effort));
            }
            Description::RadiusEdges(run) => {
                parts.extend(run.max_global.map(|most| format!("--max-E {most}")));
                edges(&mut parts, &run.edges);
                effort(&mut parts, Some(&run.effort));
            }
        }
        parts
    }

    /// In words, how this run differs from one that is to go on with it; `None` if no words tell it.
    pub fn difference(&self, now: &Description) -> Option<String> {
        if std::mem::discriminant(self) != std::mem::discriminant(now) {
            return Some(format!("it holds {}, and now {} are asked for", self.rows_are(), now.rows_are()));
        }
        if let Some(words) = self.other_nodes(now) {
            return Some(words);
        }
        let other_inputs = self.input().zip(now.input()).map(|(before, now)| inputs(before, now)).unwrap_or_default();
        let (gone, new) = (self.options_without(now), now.options_without(self));
        let options = match (gone.is_empty(), new.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("it was run with {gone}, and now without")),
            (true, false) => Some(format!("it was run without {new}")),
            (false, false) => Some(format!("it was run with {gone}, and now with {new}")),
        };
        let all: Vec<String> = other_inputs.into_iter().chain(options).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The options that another run does not have.
    fn options_without(&self, other: &Description) -> String {
        let others = other.options();
        self.options().into_iter().filter(|one| !others.contains(one)).collect::<Vec<_>>().join(" ")
    }

    /// In words, what keeps this run and another one from being parts of one run; `None` if no words tell it. `names`
    /// are those of their files.
    pub fn contrast(&self, other: &Description, names: [&str; 2]) -> Option<String> {
        let [one, two] = names;
        if std::mem::discriminant(self) != std::mem::discriminant(other) {
            return Some(format!("{one} holds {}, {two} holds {}", self.rows_are(), other.rows_are()));
        }
        let mut found = Vec::new();
        if let (Some(own), Some(others)) = (self.input(), other.input()) {
            let passing = |identity: &Identity| identity.message_passing.join(",");
            let differ = [
                (own.graph != others.graph, "they are about different graphs".to_string()),
                (own.model != others.model, "they are about different models".to_string()),
                (
                    passing(own) != passing(others),
                    format!(
                        "messages are passed by {:.60} in one, by {:.60} in the other",
                        passing(own),
                        passing(others)
                    ),
                ),
            ];
            found.extend(differ.into_iter().filter(|(is_other, _)| *is_other).map(|(_, words)| words));
        }
        let options = [self.options_without(other), other.options_without(self)];
        match options.each_ref().map(String::as_str) {
            ["", ""] => {}
            ["", options] => found.push(format!("{two} was run with {options}, {one} without")),
            [options, ""] => found.push(format!("{one} was run with {options}, {two} without")),
            [own, others] => found.push(format!("{one} was run with {own}, {two} with {others}")),
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    fn rows_are(&self) -> &'static str {
        match self {
            Description::Certify(_) => "verdicts about flips of attributes (certify)",
            Description::Radius(_) => "radii in flips of attributes (radius)",
            Description::Collective(_) => "bounds on one attack for all nodes (collective)",
            Description::Validate(_) => "class pairs (validate)",
            Description::Table1(_) => "numbers of a published table (reproduce)",
            Description::CertifyEdges(run) if run.edges.attack == "remove" => {
                "verdicts about removed edges (certify --edges remove)"
            }
            Description::CertifyEdges(_) => "verdicts about inserted edges (certify --edges insert, change)",
            Description::CertifyJoint(_) => "verdicts about flips and changed edges at once (certify -Q … --edges)",
            Description::RadiusEdges(run) if run.edges.attack == "remove" => {
                "radii in removed edges (radius --edges remove)"
            }
            Description::RadiusEdges(_) => "radii in inserted edges (radius --edges insert, change)",
        }
    }
}

/// Which inputs have changed.
fn inputs(before: &Identity, now: &Identity) -> Vec<String> {
    let part = |identity: &Identity| identity.part.as_ref().map(|part| part.number);
    let passing = |identity: &Identity| match identity.message_passing.join(",") {
        rules if rules.contains("matrix:") => "another matrix".to_string(),
        rules => rules,
    };
    let changed = [
        (before.graph != now.graph, "the graph is another one".to_string()),
        (before.model != now.model, "the model is another one".to_string()),
        (before.part != now.part && part(before) != part(now), "it is about another part of the graph".to_string()),
        (
            before.message_passing != now.message_passing,
            format!(
                "messages were passed by {:.60}, and are now by {:.60} (--message-passing)",
                passing(before),
                passing(now)
            ),
        ),
    ];
    changed.into_iter().filter(|(is_other, _)| *is_other).map(|(_, words)| words).collect()
}

/// Were all bounds evaluated for every node, and not because minima leave nothing else?
fn is_tight(run: &FlipRun) -> bool {
    run.effort.is_some_and(|effort| effort.margins == Margins::Tight && effort.level != Level::Minimize)
}

fn deployed(parts: &mut Vec<String>, execution: Option<&Execution>) {
    let Some(execution) = execution else { return };
    parts.push("--deployed float32".into());
    if execution.precision != Execution::FLOAT32.precision {
        parts.push(format!("--unit-roundoff 2^-{}", execution.precision));
    }
    parts.extend(execution.operator_error.map(|ulps| format!("--operator-error {ulps}")));
    parts.extend(execution.flush_subnormals.then(|| "--flush-subnormals".to_string()));
}

/// Budgets as they are asked for: a range with its step, or a list, which is cut short where it is long.
fn budgets(list: &[u64]) -> String {
    let step = list.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).next().unwrap_or(0);
    let even = list.windows(2).all(|pair| pair[0].checked_add(step) == Some(pair[1]));
    match list {
        [first, _, .., last] if even && list.len() > 2 && step > 0 => format!("{first}-{last}:{step}"),
        list if list.len() > SHOWN => format!("{},… ({} of them)", comma(&list[..SHOWN]), list.len()),
        list => comma(list),
    }
}

/// Budgets of a list without an even step, and ranges of ids, that are shown.
const SHOWN: usize = 12;

fn comma(list: &[u64]) -> String {
    list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Ids and ranges, cut short where they are many.
fn ids(all: &[u64]) -> String {
    let ranges = ranges(all);
    match ranges.len() {
        ..=SHOWN => ranges.join(","),
        _ => format!("{},… ({} of them)", ranges[..SHOWN].join(","), all.len()),
    }
}

/// The local budget by its option; nodes without one are frozen where all others have the same.
fn local(parts: &mut Vec<String>, local: &LocalRecord, option: &str, file: &str) {
    let list = match local {
        LocalRecord::Uniform(most) if *most >= u64::from(u32::MAX) => return,
        LocalRecord::Uniform(most) => return parts.push(format!("{option} {most}")),
        LocalRecord::PerNode(list) => list,
    };
    let mut others = list.iter().filter(|most| **most > 0);
    match others.next().filter(|first| others.all(|most| most == *first)) {
        Some(&most) => {
            let frozen: Vec<u64> = (0..).zip(list).filter(|(_, most)| **most == 0).map(|(node, _)| node).collect();
            if most < u64::from(u32::MAX) {
                parts.push(format!("{option} {most}"));
            }
            parts.push(format!("--freeze-nodes {}", ids(&frozen)));
        }
        None => parts.push(format!("{file} FILE")),
    }
}

fn budget(parts: &mut Vec<String>, budget: &BudgetRecord) {
    parts.extend(budget.global.map(|q| format!("-Q {q}")));
    local(parts, &budget.local, "-q", "--local-file");
    parts.extend(match budget.direction {
        Direction::Add => Some("--flips add".to_string()),
        Direction::Remove => Some("--flips remove".to_string()),
        Direction::Both => None,
    });
    match &budget.ranges {
        None => {}
        Some(RangeRecord::Epsilon(radius)) => parts.push(format!("--epsilon {radius}")),
        Some(RangeRecord::Between { .. }) => parts.push("--ranges FILE".into()),
    }
    let frozen: Vec<u64> = budget.frozen_attributes.iter().map(|&attribute| attribute as u64).collect();
    parts.extend((!frozen.is_empty()).then(|| format!("--freeze-attributes {}", ids(&frozen))));
}

fn edges(parts: &mut Vec<String>, budget: &EdgeBudgetRecord) {
    parts.extend(budget.global.map(|e| format!("-E {e}")));
    local(parts, &budget.local, "-e", "--edges-local-file");
    parts.extend((!budget.keep_one).then(|| "--keep-one-edge=false".to_string()));
    let frozen = budget.frozen.len();
    parts.extend((frozen > 0).then(|| format!("--freeze-edges … ({frozen} of them)")));
    parts.extend(budget.directed.then(|| "--directed-edges".to_string()));
    parts.extend(budget.within.map(|hops| format!("--candidates-within {hops}")));
    parts.extend(budget.candidates.as_ref().map(|list| format!("--candidates … ({} of them)", list.len())));
}

fn effort(parts: &mut Vec<String>, effort: Option<&EffortRecord>) {
    let Some(effort) = effort else { return };
    parts.extend(match effort.level {
        Level::Bounds => Some("--bounds-only".to_string()),
        Level::Optimal => Some("--omega optimal".to_string()),
        // A search with a time limit is the default.
        Level::Complete => effort.time_limit.is_none().then(|| "--complete".to_string()),
        Level::Minimize => Some("--minimize".to_string()),
    });
    let usual = |seconds: &f64| effort.level == Level::Complete && *seconds == USUAL_SECONDS;
    let limit = effort.time_limit.filter(|seconds| !usual(seconds));
    parts.extend(limit.map(|seconds| format!("--time-limit {seconds}")));
    parts.extend(effort.node_limit.map(|nodes| format!("--node-limit {nodes}")));
    parts.extend(effort.gap.map(|gap| format!("--gap {gap}")));
    parts.extend(effort.exact_margins.then(|| "--exact-margins".to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn budgets_are_told_as_they_are_asked_for() {
        assert_eq!(budgets(&[20]), "20");
        assert_eq!(budgets(&[0, 20]), "0,20");
        assert_eq!(budgets(&[0, 20, 40, 60]), "0-60:20");
        assert_eq!(budgets(&[0, 20, 50]), "0,20,50");
        assert_eq!(budgets(&[]), "");
        let squares: Vec<u64> = (0..20).map(|n| n * n).collect();
        assert_eq!(budgets(&squares), "0,1,4,9,16,25,36,49,64,81,100,121,… (20 of them)");
    }

    #[test]
    fn runs_differ_by_their_options() {
        let run = |edit: &dyn Fn(&mut serde_json::Value)| {
            let mut run = json!({
                "command": "certify", "input": { "graph": "g", "model": "m", "message_passing": ["gcn"] },
                "budget": { "local": 14, "direction": "both", "frozen_attributes": [], "global": 3 }, "class": "predicted", "nodes": 3,
                "effort": { "level": "complete", "time_limit": 5.0, "node_limit": null, "margins": "fast" },
            });
            edit(&mut run);
            Description::read(&run).unwrap()
        };
        let before = run(&|_| {});
        assert_eq!(before.difference(&before), None);
        let effort = |key: &'static str, value: serde_json::Value| run(&move |run| run["effort"][key] = value.clone());
        for (now, said) in [
            (run(&|run| run["budget"]["local"] = json!([14, 0, 14])), "it was run without --freeze-nodes 1"),
            (
                run(&|run| run["budget"]["local"] = json!([14, 2, 14])),
                "it was run with -q 14, and now with --local-file FILE",
            ),
            (run(&|run| run["budget"]["global"] = json!(4)), "it was run with -Q 3, and now with -Q 4"),
            (run(&|run| run["deployed"] = json!({ "precision": 24 })), "it was run without --deployed float32"),
            (run(&|run| run["input"]["model"] = json!("other")), "the model is another one"),
            (effort("margins", json!("tight")), "it was run without --margins tight"),
            (effort("time_limit", json!(null)), "it was run without --complete"),
            (effort("time_limit", json!(7.0)), "it was run without --time-limit 7"),
            (
                run(&|run| run["command"] = json!("radius")),
                "it holds verdicts about flips of attributes (certify), and now radii in flips of attributes (radius) are asked for",
            ),
        ] {
            assert_eq!(before.difference(&now).as_deref(), Some(said));
        }
    }
}
