//! Options that need one another, exclude one another or are given twice: what clap finds wrong with them, in our
//! words.

use std::path::Path;

use clap::Command;
use gcnproof_results::contents::contents_of;
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

/// Who attacks, as the options say it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attacker {
    Flips,
    Ranges,
    Edges,
    Both,
}

impl Attacker {
    fn new(said: &[&str]) -> Attacker {
        let flips = is_said(said, "--global") || said.iter().any(|word| is_short(word, "-Q"));
        match (is_said(said, "--edges"), flips) {
            (true, true) => Attacker::Both,
            (true, false) => Attacker::Edges,
            (false, _) if is_said(said, "--epsilon") || is_said(said, "--ranges") => Attacker::Ranges,
            (false, _) => Attacker::Flips,
        }
    }

    /// Why an option says nothing about this attacker, if it does not. Who has given one that needs it is not told to
    /// add it.
    fn refusal(self, option: &str) -> Option<&'static str> {
        match (self, option) {
            (Attacker::Ranges, "--exact-margins") => {
                Some("smallest margins are found up to a gap where attributes are moved within ranges")
            }
            (Attacker::Both, "--minimize") => {
                Some("exact minima are not found for attacks on attributes and edges at once")
            }
            (Attacker::Edges | Attacker::Both, "--deployed") => Some(EXACT),
            _ => None,
        }
    }
}

/// Is an option among the words?
fn is_said(said: &[&str], option: &str) -> bool {
    said.iter().any(|word| word.split('=').next() == Some(option))
}

/// An option without the one that it needs: both are named.
pub fn missing_companion(missing: &str, name: &str, said: &[&str]) -> Option<Report> {
    let is_said = |option: &str| is_said(said, option);
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
            None => how_many_flips(Attacker::new(said) == Attacker::Ranges),
        });
    }
    if (name, missing) == ("partition", "<MODEL>") {
        return Some(miette!(
            help = "give the model after the graph, or without one how many edges far its logits depend on: --hops 2",
            "how large the parts must be depends on the model, and none is given"
        ));
    }
    if (name, missing) == ("explain", "--node") {
        return Some(miette!(
            help =
                "add --node and its id, from 0; of a network that classifies graphs, --graph and the number of a graph",
            "explain is about one node, and none is given"
        ));
    }
    if let Some(report) = missing_file(missing, name, said) {
        return Some(report);
    }
    let (option, needed, added) =
        COMPANIONS.into_iter().find(|(option, needed, _)| *needed == missing && is_said(option))?;
    let attacker = Attacker::new(said);
    Some(match attacker.refusal(option).or(attacker.refusal(needed)) {
        Some(why) => miette!(help = format!("leave {option} out"), "{option} belongs to {needed}: {why}"),
        None => miette!(help = format!("add {added}, or leave {option} out"), "{option} needs {needed}"),
    })
}

/// Files that commands take, in their order.
const FILES: [&str; 3] = ["graph", "model", "proofs"];

/// A file that is not given, where those that are show which of them it is.
fn missing_file(missing: &str, name: &str, said: &[&str]) -> Option<Report> {
    let place = FILES.iter().position(|file| missing == format!("<{}>", file.to_uppercase()))?;
    let given: Vec<&Path> = said[1..].iter().map(Path::new).filter(|word| word.is_file()).collect();
    let found: Vec<&str> = given.iter().filter_map(|path| kind(path)).collect();
    let wanted = if name == "check" { &FILES[..] } else { &FILES[..2] };
    let absent = wanted.iter().find(|file| !found.contains(*file))?;
    // Of as many files as there are places before it, the missing one is another.
    if given.len() != place || found.len() != place || wanted.get(place) == Some(absent) {
        return None;
    }
    let order = wanted.iter().map(|file| file.to_uppercase()).collect::<Vec<_>>().join(" ");
    let shown: Vec<String> =
        given.iter().zip(&found).map(|(path, kind)| format!("{} is {}", path.display(), article(kind))).collect();
    Some(miette!(help = format!("give {order}, in this order"), "the {absent} is missing: {}", shown.join(", and ")))
}

/// What a file is, of those that commands take.
fn kind(path: &Path) -> Option<&'static str> {
    match contents_of(path) {
        Some("a file of proofs") => Some("proofs"),
        Some(_) => None,
        None if gcnproof_files::read_model(path).is_ok() => Some("model"),
        None => path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz")).then_some("graph"),
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "proofs" => "a file of proofs",
        "model" => "a model",
        _ => "a graph",
    }
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

const ALONE: &str =
    "this command asks about edges alone or about attributes alone, and only certify about both at once";
const EXACT: &str = "verdicts about changed edges are those of the exact network";
const MOVED: &str = "attributes are moved within ranges, or edges are changed: both at once are not decided";
const FLIPPED: &str = "attributes that are moved are not flipped";

const EXCLUSIONS: [Exclusion; 27] = [
    exclusion("--edges", "--local", ALONE, "limit the edges changed at a node by -e, or leave --edges out"),
    exclusion("--edges", "--local-file", ALONE, "give --edges-local-file, or leave --edges out"),
    exclusion("--edges", "--global", ALONE, "give -E, the number of changed edges in all, or leave --edges out"),
    exclusion("--edges", "--max-Q", ALONE, "give --max-E, or leave --edges out"),
    exclusion("--edges", "--flips", ALONE, "leave one of them out"),
    exclusion("--edges", "--freeze-attributes", ALONE, "give --freeze-edges or --freeze-nodes, or leave --edges out"),
    exclusion("--edges", DEPLOYED, EXACT, ""),
    exclusion("--edges", "--epsilon", MOVED, "leave one of them out"),
    exclusion("--edges", "--ranges", MOVED, "leave one of them out"),
    exclusion("--epsilon", "--ranges", "both say to which values attributes are moved", "give one of them"),
    exclusion(
        "--epsilon",
        "--flips",
        FLIPPED,
        "leave --flips out; --ranges FILE limits each attribute by `low` and `high`",
    ),
    exclusion(
        "--ranges",
        "--flips",
        FLIPPED,
        "leave --flips out; --ranges FILE limits each attribute by `low` and `high`",
    ),
    exclusion(
        "--node",
        "--graph",
        "both say what is explained",
        "give --graph where the network classifies graphs, else --node",
    ),
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

const DEPLOYED: &str = "--deployed";

/// Options that say more of an execution.
const EXECUTION: [&str; 3] = ["--operator-error", "--flush-subnormals", "--unit-roundoff"];

/// Options that exclude each other, or one that is given twice.
pub fn conflict(one: &str, other: Option<&str>, command: &Command, said: &[&str]) -> Report {
    let shown = |option: &str| typed(option, command, said);
    let Some(other) = other.filter(|other| *other != one) else {
        let is_list = LISTS.contains(&one.split_whitespace().next().unwrap_or_default());
        let help = if is_list { "give it once, with commas between the entries of its list" } else { "give it once" };
        return miette!(help = help, "{} is given more than once", shown(one));
    };
    let [first, second] = [one, other].map(|option| option.split_whitespace().next().unwrap_or_default());
    // What is said of an execution is said of one that is asked about.
    let [of_first, of_second] =
        [first, second].map(|option| if EXECUTION.contains(&option) { DEPLOYED } else { option });
    let known = EXCLUSIONS.iter().find(|known| known.options.contains(&of_first) && known.options.contains(&of_second));
    let (one, other) = (shown(one), shown(other));
    match known {
        Some(known) if known.options.contains(&DEPLOYED) => {
            let option = if of_first == DEPLOYED { &one } else { &other };
            miette!(help = format!("leave {option} out"), "{one} together with {other}: {}", known.why)
        }
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
