//! Reads training logs: one record per iteration.

use std::path::Path;

use gcnproof_results::record::description::LocalRecord;
use serde::Deserialize;
use serde_json::Value;

use super::error::ReportError;

/// The first line of a log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Heading {
    /// The version of the format.
    pub gcnproof_training_log: u64,
    /// Which graph.
    pub graph: Option<String>,
    /// Which loss: ce, rce, rh or rh-u.
    pub loss: Option<String>,
    /// Which bound the robust part of the loss uses.
    pub bound: Option<String>,
    /// `q` that was trained for.
    pub local: Option<LocalRecord>,
    /// `Q` that was trained for.
    pub global: Option<u64>,
}

/// One iteration; what was not computed is null.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iteration {
    /// Its number.
    pub iteration: f64,
    /// Seconds since the start.
    pub seconds: Option<f64>,
    /// ce, rce, rh or rh-u.
    pub stage: Option<String>,
    /// The whole loss.
    pub loss: Option<f64>,
    /// Mean worst-case margin of the labelled nodes of the batch.
    pub margin_labelled: Option<f64>,
    /// The same for the unlabelled ones.
    pub margin_unlabelled: Option<f64>,
    /// Share of nodes certified, 0 … 1.
    pub certified: Option<f64>,
    /// Accuracy on labelled nodes, 0 … 1.
    pub accuracy_labelled: Option<f64>,
    /// Accuracy on unlabelled nodes, 0 … 1.
    pub accuracy_unlabelled: Option<f64>,
}

/// A training log.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingLog {
    /// The name of the file, without its ending.
    pub name: String,
    /// The first line.
    pub heading: Heading,
    /// The other lines.
    pub iterations: Vec<Iteration>,
}

/// Is this the text of a training log?
pub fn is_log(text: &[u8]) -> bool {
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<Value>(first).is_ok_and(|value| value.get("gcnproof_training_log").is_some())
}

impl TrainingLog {
    /// Reads a log from the bytes of its file. A last line that breaks off is left out: training may still be running.
    pub fn parse(path: &Path, name: &str, bytes: &[u8]) -> Result<TrainingLog, ReportError> {
        let mut heading = None;
        let mut iterations = Vec::new();
        let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let wrong = |problem: String| ReportError::TrainingLog {
                file: path.display().to_string(),
                line: number + 1,
                problem,
            };
            if heading.is_none() {
                let first: Heading = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
                if first.gcnproof_training_log != 1 {
                    let version = first.gcnproof_training_log;
                    return Err(wrong(format!("the version of the log is {version}, this gcnproof knows 1")));
                }
                heading = Some(first);
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(iteration) => iterations.push(iteration),
                // Only the last line has no end.
                Err(_) if number + 1 == lines.len() => {}
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        Ok(TrainingLog { name: name.to_string(), heading: heading.unwrap_or_default(), iterations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "{\"gcnproof_training_log\":1,\"graph\":\"x\",\"loss\":\"rh\",\"local\":14,\"global\":12}\n\
        {\"iteration\":1,\"stage\":\"rh\",\"loss\":2.5,\"margin_labelled\":null}\n{\"iteration\":2,\"loss\":1.5}\n{\"itera";

    #[test]
    fn a_log_that_is_still_being_written_is_read() {
        assert!(is_log(LOG.as_bytes()) && !is_log(b"{\"node\":1}\n") && !is_log(b""));
        let log = TrainingLog::parse(Path::new("a.jsonl"), "a", LOG.as_bytes()).unwrap();
        assert_eq!((log.iterations.len(), log.heading.global), (2, Some(12)));
        assert_eq!((log.iterations[0].loss, log.iterations[0].margin_labelled), (Some(2.5), None));
    }

    #[test]
    fn damage_is_named() {
        let broken = LOG.replace("{\"iteration\":2", "{\"iteration\":two");
        let error = TrainingLog::parse(Path::new("a.jsonl"), "a", broken.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("a.jsonl") && error.contains("line 3"), "{error}");
        assert!(TrainingLog::parse(Path::new("a"), "a", b"{\"gcnproof_training_log\":2}\n").is_err());
    }
}
