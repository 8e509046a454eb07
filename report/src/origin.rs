//! Where a report comes from: when it was made, by which commands and versions, from which graph and models.

use std::time::{SystemTime, UNIX_EPOCH};

use gcnproof::Execution;
use gcnproof::internals::certify::settings::Bound;
use gcnproof::internals::collective::families::Rows;
use gcnproof::internals::problem::budget::Direction;
use gcnproof_results::record::description::{
    BudgetRecord, Class, Description, EffortRecord, Level, LocalRecord, USUAL_SECONDS,
};
use gcnproof_results::record::edges::EdgeBudgetRecord;

use super::population::Population;

/// How a report was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// When, in words.
    pub date: String,
    /// The command that made it.
    pub command: String,
}

impl Origin {
    /// Now, by the command line of this process.
    pub fn here() -> Origin {
        Origin { date: date(SystemTime::now()), command: command_line() }
    }
}

/// The command line of this process, as it could be typed again.
pub fn command_line() -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./%=,:+…".contains(c));
    let quoted = |word: String| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) };
    let arguments = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("gcnproof".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// A time as `2026-01-31 17:05 UTC`.
pub fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days as i64);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

/// The date of a day, counted from 1970-01-01. Years are taken to begin in March, so that leap days come last.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + 400 * era + i64::from(month <= 2), month, day)
}

/// A run as the command that does the same; what only files say is told in words. `nodes` are those of its rows.
pub fn command_of(run: &Description, nodes: Option<&Population>) -> String {
    let mut parts = vec!["gcnproof".to_string()];
    match run {
        Description::Certify(run) => {
            parts.push("certify GRAPH MODEL".into());
            budget(&mut parts, &run.budget);
            parts.extend(match run.bound {
                Some(Bound::Paper) => Some("--bound paper".to_string()),
                Some(Bound::Anchored) => Some("--bound anchored".to_string()),
                _ => None,
            });
            parts.extend((run.class == Some(Class::Labels)).then(|| "--class labels".to_string()));
            effort(&mut parts, run.effort.as_ref());
            deployed(&mut parts, run.deployed.as_ref());
        }
        Description::Radius(run) => {
            parts.push("radius GRAPH MODEL".into());
            parts.extend(run.max_global.map(|most| format!("--max-Q {most}")));
            budget(&mut parts, &run.budget);
            effort(&mut parts, run.effort.as_ref());
            deployed(&mut parts, run.deployed.as_ref());
        }
        Description::Collective(run) => {
            parts.push(format!("collective GRAPH MODEL --budgets {}", budgets(&run.budgets)));
            budget(&mut parts, &run.budget);
            parts.extend(run.attacked_nodes.map(|count| format!("--attacked-nodes {count}")));
            parts.extend((run.class == Class::Labels).then(|| "--class labels".to_string()));
            parts.extend((run.rows == Rows::Count).then(|| "--rows count".to_string()));
            parts.extend((run.rows == Rows::Provable).then(|| "--proofs FOLDER".to_string()));
            parts.extend(run.effort.is_none().then(|| "--radii FILE".to_string()));
            let exhaustive =
                run.effort.is_some_and(|effort| effort.level == Level::Complete && effort.time_limit.is_some());
            parts.extend((exhaustive && !run.shallow).then(|| "--complete".to_string()));
            effort(&mut parts, run.effort.as_ref());
        }
        Description::Validate(run) => {
            parts.push("validate GRAPH MODEL".into());
            budget(&mut parts, &run.budget);
            if run.solvers.as_deref() == Some("none") {
                parts.push("(a study's sample, without solvers)".into());
            }
        }
        Description::Table1(_) => parts.push("reproduce table1".into()),
        Description::CertifyEdges(run) => {
            parts.push("certify GRAPH MODEL --edges remove".into());
            edges(&mut parts, &run.edges);
            parts.extend((run.class == Class::Labels).then(|| "--class labels".to_string()));
            effort(&mut parts, Some(&run.effort));
        }
        Description::RadiusEdges(run) => {
            parts.push("radius GRAPH MODEL --edges remove".into());
            parts.extend(run.max_global.map(|most| format!("--max-E {most}")));
            edges(&mut parts, &run.edges);
            effort(&mut parts, Some(&run.effort));
        }
    }
    // The rows know all of them; without rows, what the run wrote down, which may be cut short.
    parts.extend(match (nodes, run.nodes()) {
        (Some(nodes), Some((count, _))) if nodes.ids.len() == count => nodes.option(),
        (_, Some((_, Some(set)))) => Some(format!("--nodes {}", set.ids)),
        _ => None,
    });
    parts.join(" ")
}

/// The format that a network runs in.
pub fn format_of(execution: &Execution) -> String {
    match execution.precision {
        precision if precision == Execution::FLOAT32.precision => "float32".into(),
        precision => format!("a format with unit roundoff 2^-{precision}"),
    }
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

/// Budgets of a list without an even step that are shown.
const SHOWN: usize = 12;

fn comma(list: &[u64]) -> String {
    list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn budget(parts: &mut Vec<String>, budget: &BudgetRecord) {
    parts.extend(budget.global.map(|q| format!("-Q {q}")));
    parts.push(match &budget.local {
        LocalRecord::Uniform(q) => format!("-q {q}"),
        LocalRecord::PerNode(_) => "--local-file FILE".into(),
    });
    parts.extend(match budget.direction {
        Direction::Add => Some("--flips add".to_string()),
        Direction::Remove => Some("--flips remove".to_string()),
        Direction::Both => None,
    });
    let frozen = budget.frozen_attributes.len();
    parts.extend((frozen > 0).then(|| format!("--freeze-attributes … ({frozen} of them)")));
}

fn edges(parts: &mut Vec<String>, budget: &EdgeBudgetRecord) {
    parts.extend(budget.global.map(|e| format!("-E {e}")));
    parts.extend(match &budget.local {
        LocalRecord::Uniform(e) if *e >= u64::from(u32::MAX) => None,
        LocalRecord::Uniform(e) => Some(format!("-e {e}")),
        LocalRecord::PerNode(_) => Some("--edges-local-file FILE".into()),
    });
    parts.extend((!budget.keep_one).then(|| "--keep-one-edge=false".to_string()));
    let frozen = budget.frozen.len();
    parts.extend((frozen > 0).then(|| format!("--freeze-edges … ({frozen} of them)")));
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
    use std::time::Duration;

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

    /// Whoever types the command again gets the same rows.
    #[test]
    fn commands_name_nodes_and_deployment() {
        let run = Description::read(&serde_json::json!({
            "command": "certify", "input": { "graph": "g", "model": "m", "message_passing": ["gcn"] },
            "budget": { "local": 14, "direction": "both", "frozen_attributes": [], "global": 5 }, "class": "labels",
            "nodes": 4, "node_set": { "ids": "0-2,7", "digest": "d", "of": 9 }, "deployed": { "precision": 8, "flush_subnormals": true },
        }))
        .unwrap();
        let options =
            "-Q 5 -q 14 --class labels --deployed float32 --unit-roundoff 2^-8 --flush-subnormals --nodes 0-2,7";
        let expected = format!("gcnproof certify GRAPH MODEL {options}");
        assert_eq!(command_of(&run, Some(&Population::new(vec![0, 1, 2, 7], Some(9)))), expected);
        assert_eq!(command_of(&run, None), expected);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds: u64| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_826_500), "2000-02-29 12:15 UTC");
        assert_eq!(at(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(at(4_102_444_800), "2100-01-01 00:00 UTC");
    }
}
