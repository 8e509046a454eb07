//! The real programs on real files: `gcnproof certify` and `gcnproof check`, compared with the truth.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::case::Case;
use crate::finding::{Counts, Finding, Kind};
use crate::keep::Files;
use crate::tested::How;
use crate::truth::Truth;

/// A program beside the one that is running, if it is there.
pub fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.join(name);
    path.exists().then_some(path)
}

/// Runs both commands on the files of a case in a folder, which is removed afterwards.
pub fn run(program: &Path, case: &Case, how: How, truths: &[Truth], folder: &Path, counts: &Counts) -> Vec<Finding> {
    let found = attempt(program, case, how, truths, folder).unwrap_or_else(|problem| vec![(Kind::Crash, 0, problem)]);
    Counts::add(&counts.runs, 1);
    let _ = std::fs::remove_dir_all(folder);
    let finding = |(kind, node, message): (Kind, usize, String)| {
        let range = case.component_of(node);
        let message = format!("program: {message}");
        Finding { kind, message, case: case.part(range), how, node, proof: None }
    };
    found.into_iter().map(finding).collect()
}

type Found = Vec<(Kind, usize, String)>;

fn attempt(program: &Path, case: &Case, how: How, truths: &[Truth], folder: &Path) -> Result<Found, String> {
    let files = Files::new(case);
    files.write(folder).map_err(|error| format!("files: {error}"))?;
    let program = std::path::absolute(program).map_err(|error| error.to_string())?;
    let options = files.options();
    // Files are named as they are in the folder.
    let start = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(folder).args(words).args(options.split_whitespace());
        command
    };
    let usable: Vec<String> =
        (0..case.nodes()).filter(|&node| truths[node].reference.is_some()).map(|node| node.to_string()).collect();
    if usable.is_empty() {
        return Ok(Vec::new());
    }
    // A file with 0 and 1 alone may be a mask, so that short lists stand on the command line.
    let list = if usable.len() <= 100 {
        PathBuf::from(usable.join(","))
    } else {
        std::fs::write(folder.join("nodes.txt"), usable.join("\n")).map_err(|error| error.to_string())?;
        PathBuf::from("nodes.txt")
    };
    let mut command = start(&["certify", "g.npz", "m.safetensors"]);
    command.args(how.options().split_whitespace());
    if how.decides() {
        command.args(["--time-limit", "5"]);
    }
    command.args(["--format", "json", "--threads", "1", "--nodes"]).arg(&list);
    command.args(["--proofs", "p.jsonl.zst"]);
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.code() != Some(0) {
        return Err(told("certify", &output));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("certify: {error}"))?;
    let rows = answer["rows"].as_array().ok_or("certify: no rows")?;
    let mut found = Vec::new();
    if rows.len() != usable.len() {
        found.push((Kind::Crash, 0, format!("{} rows for {} nodes", rows.len(), usable.len())));
    }
    for row in rows {
        let node = row["node"].as_u64().ok_or("certify: a row without node")? as usize;
        let truth = &truths[node];
        let said = row["verdict"].as_str().unwrap_or_default();
        let robust = truth.robust() == Some(true);
        if (said == "robust" && !robust) || (said == "non_robust" && robust) {
            found.push((Kind::Verdict, node, format!("said to be {said}, but robust is {robust}")));
        }
        if said == "undecided" && how.decides() {
            found.push((Kind::Undecided, node, format!("undecided, but robust is {robust}")));
        }
        for margin in row["margins"].as_array().into_iter().flatten() {
            let class = margin["class"].as_u64().ok_or("certify: a margin without class")? as usize;
            let Some(Some(exact)) = truth.margins.get(class) else { continue };
            let lower = margin["lower"].as_f64().unwrap_or(f64::NEG_INFINITY);
            let upper = margin["upper"].as_f64().unwrap_or(f64::INFINITY);
            if exact.compare_f64(lower).is_lt() || exact.compare_f64(upper).is_gt() {
                found.push((
                    Kind::Margin,
                    node,
                    format!("class {class}: [{lower:e}, {upper:e}], true {:e}", exact.approximate()),
                ));
            }
        }
    }
    // The same question, in the same words.
    let mut command = start(&["check", "g.npz", "m.safetensors", "p.jsonl.zst"]);
    command.args(["--format", "json", "--nodes"]).arg(&list);
    let output = command.output().map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| told("check", &output))?;
    match output.status.code() {
        Some(0) => {}
        // What is undecided has no proof, and `check` says so.
        Some(1) if answer["rejected"] == 0 && rows.iter().any(|row| row["verdict"] == "undecided") => {}
        Some(1) => found.push((Kind::Rejected, 0, told("check", &output))),
        _ => return Err(told("check", &output)),
    }
    Ok(found)
}

fn told(command: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    let tail: String = text.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{command} ends with {:?}: {}", output.status.code(), tail.replace('\n', " "))
}
