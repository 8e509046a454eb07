//! Options that need one another, exclude one another or are given twice: what clap finds wrong with them, in our words.

use clap::Command;
use miette::{Report, miette};

use super::certify::how_many_flips;
use super::spelling::LISTS;

/// Options that mean something only together with another one, and what is to be added.
const COMPANIONS: [(&str, &str, &str); 7] = [
    ("--gap", "--minimize", "--minimize"),
    ("--exact-margins", "--minimize", "--minimize"),
    ("--operator-error", "--deployed", "--deployed float32"),
    ("--flush-subnormals", "--deployed", "--deployed float32"),
    ("--unit-roundoff", "--deployed", "--deployed float32"),
    ("--resume", "--out", "--out FILE"),
    ("--seconds", "--hunt", "--hunt integrality"),
];

/// An option without the one that it needs: both are named.
pub fn missing_companion(missing: &str, name: &str, said: &[&str]) -> Option<Report> {
    let is_said = |option: &str| said.iter().any(|word| word.split('=').next() == Some(option));
    // The files that can be overwritten are a group, or the only one of it.
    if is_said("--force") && missing.contains("--out") {
        let others = ["--proofs", "--plots"].into_iter().filter(|option| missing.contains(option));
        let others: String = others.map(|option| format!(" or {option}")).collect();
        return Some(miette!(
            help = format!("name the file with --out{others}, or leave --force out"),
            "--force overwrites a file that is there, and none is named"
        ));
    }
    let missing = missing.split_whitespace().next()?;
    if (name, missing) == ("certify", "--global") {
        let of_flips = ["-q", "--local", "--q", "--local-file", "--flips", "--freeze-attributes"];
        let option =
            of_flips.into_iter().find(|option| is_said(option) || said.iter().any(|word| is_short(word, option)));
        return Some(match option.filter(|_| is_said("--edges")) {
            Some(option) => miette!(
                help = format!(
                    "leave {option} out, and limit the edges changed at a node by -e; or add -Q and a number, and attributes are flipped as well"
                ),
                "--edges together with {option}: with --edges alone the attacker changes edges, and flips no attributes"
            ),
            None => how_many_flips(),
        });
    }
    if (name, missing) == ("partition", "<MODEL>") {
        return Some(miette!(
            help = "give the model after the graph, or without one how many edges far its logits depend on: --hops 2",
            "how large the parts must be depends on the model, and none is given"
        ));
    }
    let (option, needed, added) =
        COMPANIONS.into_iter().find(|(option, needed, _)| *needed == missing && is_said(option))?;
    Some(miette!(help = format!("add {added}, or leave {option} out"), "{option} needs {needed}"))
}

/// A short option with its value in one word.
fn is_short(word: &str, option: &str) -> bool {
    option.len() == 2 && word.starts_with(option) && !word.starts_with("--")
}

/// Options that exclude each other, why, and what is to be done.
struct Exclusion {
    options: [&'static str; 2],
    why: &'static str,
    help: &'static str,
}

const fn exclusion(one: &'static str, other: &'static str, why: &'static str, help: &'static str) -> Exclusion {
    Exclusion { options: [one, other], why, help }
}

const REMOVED: &str = "with --edges the attacker changes edges, and flips no attributes";
const EXACT: &str = "verdicts about changed edges are those of the exact network";

const EXCLUSIONS: [Exclusion; 21] = [
    exclusion("--edges", "--local", REMOVED, "limit the edges changed at a node by -e, or leave --edges out"),
    exclusion("--edges", "--local-file", REMOVED, "give --edges-local-file, or leave --edges out"),
    exclusion("--edges", "--global", REMOVED, "give -E, the number of changed edges in all, or leave --edges out"),
    exclusion("--edges", "--max-Q", REMOVED, "give --max-E, or leave --edges out"),
    exclusion("--edges", "--flips", REMOVED, "leave one of them out"),
    exclusion("--edges", "--freeze-attributes", REMOVED, "give --freeze-edges or --freeze-nodes, or leave --edges out"),
    exclusion("--edges", "--deployed", EXACT, "leave --deployed out"),
    exclusion("--edges-global", "--bound", "only flips of attributes have several bounds", "leave --bound out"),
    exclusion("--edges-global", "--omega", "only flips of attributes have such bounds", "leave --omega out"),
    exclusion("--edges-global", "--labelled", "the summary of changed edges has no such rows", "leave --labelled out"),
    exclusion(
        "--resume",
        "--force",
        "one goes on with what is there, the other overwrites it",
        "say what is meant: one of them",
    ),
    exclusion("--local", "--local-file", "both say how many flips a node may have", "give one of them"),
    exclusion(
        "--edges-local",
        "--edges-local-file",
        "both say how many edges of a node may be changed",
        "give one of them",
    ),
    exclusion("--bounds-only", "--time-limit", "a limit is one of the search, and there is none", "give one of them"),
    exclusion("--bounds-only", "--node-limit", "a limit is one of the search, and there is none", "give one of them"),
    exclusion(
        "--bounds-only",
        "--complete",
        "one does not search, the other searches without a limit",
        "give one of them",
    ),
    exclusion("--minimize", "--bounds-only", "exact minima need a search", "give one of them"),
    exclusion("--minimize", "--complete", "exact minima decide every node anyway", "leave --complete out"),
    exclusion("--minimize", "--margins", "minima leave no margin to be chosen", "leave --margins out"),
    exclusion("--labelled", "--split", "both say whose labels are used", "give one of them"),
    exclusion("--proofs", "--rows", "what a proof rests on is fixed", "leave --rows out"),
];

/// Options that exclude each other, or one that is given twice.
pub fn conflict(one: &str, other: Option<&str>, command: &Command, said: &[&str]) -> Report {
    let shown = |option: &str| typed(option, command, said);
    let Some(other) = other.filter(|other| *other != one) else {
        let is_list = LISTS.contains(&one.split_whitespace().next().unwrap_or_default());
        let help = if is_list { "give it once, with commas between the entries of its list" } else { "give it once" };
        return miette!(help = help, "{} is given more than once", shown(one));
    };
    let [first, second] = [one, other].map(|option| option.split_whitespace().next().unwrap_or_default());
    let known = EXCLUSIONS.iter().find(|known| known.options.contains(&first) && known.options.contains(&second));
    let (one, other) = (shown(one), shown(other));
    match known {
        Some(known) => miette!(help = known.help, "{one} together with {other}: {}", known.why),
        None => miette!(help = "leave one of them out", "{one} and {other} exclude each other"),
    }
}

/// An option as the user has typed it: `-q` or `--local`; arguments by their names.
fn typed(option: &str, command: &Command, said: &[&str]) -> String {
    let first = option.split_whitespace().next().unwrap_or_default();
    let Some(long) = first.strip_prefix("--") else { return first.trim_matches(['<', '>', '[', ']']).to_string() };
    let short = command.get_arguments().find(|arg| arg.get_long() == Some(long)).and_then(clap::Arg::get_short);
    let short = short.map(|letter| format!("-{letter}"));
    short.filter(|short| said.iter().any(|word| word.starts_with(short.as_str()))).unwrap_or_else(|| first.to_string())
}
