//! Where a report comes from: when it was made, by which commands and versions, from which graph and models.

use std::time::{SystemTime, UNIX_EPOCH};

use gcnproof::Execution;
use gcnproof_results::record::description::Description;

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
    let mut parts = vec!["gcnproof".to_string(), run.command().into()];
    parts.extend(run.options());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
