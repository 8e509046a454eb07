//! Words of the command line that are spelled otherwise than they are meant: dashes of a word processor, lists with
//! spaces, names that other programs have for our options.

use std::path::Path;

use clap::{Arg, Command};
use miette::{Report, miette};

/// Dashes that word processors and web pages make of hyphens.
const DASHES: [char; 5] = ['‐', '‒', '–', '—', '−'];

/// An option that begins with a dash which is no hyphen.
pub fn dashed(command: &Command, said: &[&str]) -> Option<Report> {
    let options = said.first().and_then(|name| command.find_subcommand(name)).unwrap_or(command);
    said.iter().filter(|word| word.starts_with(DASHES) && !Path::new(word).exists()).find_map(|word| {
        let rest = word.trim_start_matches(DASHES).trim_start_matches('-');
        let name = rest.split('=').next().unwrap_or_default();
        let is_long = |arg: &Arg| is_called(arg, &format!("--{name}"));
        let is_short = |arg: &Arg| {
            let value = arg.get_short().and_then(|letter| rest.strip_prefix(letter));
            value.is_some_and(|value| !value.starts_with(char::is_alphabetic))
        };
        let hyphens = match () {
            () if options.get_arguments().any(is_long) => "--",
            () if options.get_arguments().any(is_short) => "-",
            () => return None,
        };
        let help = format!("type {hyphens}{rest}");
        Some(miette!(help = help, "{word}: the dash before {rest} is no hyphen; word processors put it in its place"))
    })
}

/// Options whose value is a list.
pub const LISTS: [&str; 8] = [
    "--nodes",
    "--node",
    "--freeze-nodes",
    "--freeze-attributes",
    "--labelled",
    "--budgets",
    "--layers",
    "--message-passing",
];

/// A list with spaces between its ids, of which all but the first are no part of it.
fn spaced_list(said: &[&str]) -> Option<Report> {
    let is_id = |word: &&&str| {
        word.starts_with(|letter: char| letter.is_ascii_digit() || letter == ',')
            && word.chars().all(|letter| letter.is_ascii_digit() || "-,:".contains(letter))
    };
    said.iter().enumerate().filter(|(_, word)| LISTS.contains(word)).find_map(|(at, option)| {
        let ids: Vec<&str> = said[at + 1..].iter().take_while(is_id).copied().collect();
        if ids.len() < 2 {
            return None;
        }
        let list =
            ids.iter().map(|ids| ids.trim_matches(',')).filter(|ids| !ids.is_empty()).collect::<Vec<_>>().join(",");
        let given = ids.join(" ");
        Some(match *option {
            "--node" => miette!(
                help = "give the id of one node, from 0; `gcnproof certify --nodes` takes lists",
                "--node {given}: one node is meant"
            ),
            _ => miette!(help = format!("write {option} {list}"), "{option} {given}: a list is written without spaces"),
        })
    })
}

/// A word that is neither an option nor the value of one, behind all files that the command takes.
pub fn left_over(word: &str, command: &Command, said: &[&str]) -> Report {
    if let Some(report) = spaced_list(said) {
        return report;
    }
    let name = command.get_name();
    let taken: Vec<String> = command.get_positionals().map(|arg| arg.get_id().as_str().to_uppercase()).collect();
    let taken = if taken.is_empty() { "no files".into() } else { taken.join(" and ") };
    let option = [format!("--{word}"), format!("-{word}")].into_iter().find(|option| has(command, option));
    let number = |pair: &[&str]| ["remove", "insert", "change"].contains(&pair[0]) && pair[1] == word;
    let help = match option {
        _ if word.parse::<u64>().is_ok() && said.windows(2).any(number) => {
            format!("the number of edges is said by -E {word}")
        }
        Some(option) => format!("is {option} meant?"),
        None => format!("everything else is said by options: `gcnproof {name} --help` lists them"),
    };
    miette!(help = help, "'{word}' is one word too many: {name} takes {taken}")
}

/// What other programs call our options.
const SYNONYMS: [(&str, &str); 21] = [
    ("--bfloat16", "--deployed float32 --unit-roundoff 2^-8"),
    ("--eps", "--epsilon"),
    ("--float32", "--deployed float32"),
    ("--graphs", "--nodes (by the numbers of graphs, where these are classified)"),
    ("--within", "--candidates-within"),
    ("--overwrite", "--force"),
    ("--timeout", "--time-limit"),
    ("--undirected", "--symmetrize"),
    ("--unweighted", "--unweight"),
    ("--mask", "--nodes"),
    ("--test", "--nodes"),
    ("--train", "--labelled"),
    ("--train-mask", "--labelled"),
    ("--train-nodes", "--labelled"),
    ("--budget", "-Q"),
    ("--expect", "-Q"),
    ("--json", "--format json"),
    ("--output", "--out"),
    ("-o", "--out"),
    ("--jobs", "--threads"),
    ("-j", "--threads"),
];

/// The option of the same command that stands for another spelling: `--node` for `--nodes`, `--Q` or `--budget` for
/// `-Q`, `--max-q` for `--max-Q`, `--json` for `--format json`.
pub fn meant(command: &Command, option: &str) -> Option<String> {
    let synonym = SYNONYMS.into_iter().find(|(other, _)| *other == option).map(|(_, own)| own.to_string());
    let is_there = |own: &String| has(command, own.split(' ').next().unwrap_or_default());
    let synonym = synonym.filter(is_there);
    let Some(long) = option.strip_prefix("--") else { return synonym };
    let singular = format!("--{}", long.trim_end_matches('s'));
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let mut longs = visible.flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default());
    let capital = longs.find(|name| name.eq_ignore_ascii_case(long)).map(|name| format!("--{name}"));
    let spellings = [capital.unwrap_or_default(), format!("-{long}"), format!("--{long}s"), singular];
    spellings.into_iter().find(|one| has(command, one)).or(synonym)
}

/// What is said by something else than an option of a similar name: the option of the same command by which it is said,
/// and the words.
const OTHERWISE: [(&[&str], &str, &str); 6] = [
    (
        &["--remove", "--remove-edges", "--removals", "--edge-removals"],
        "--edges",
        "edges are removed by --edges remove -E N: at most N in all",
    ),
    (
        &["--insert", "--insert-edges", "--add-edges"],
        "--edges",
        "edges are inserted by --edges insert -E N: at most N in all",
    ),
    (
        &["--change", "--change-edges"],
        "--edges",
        "edges are removed or inserted by --edges change -E N: at most N in all",
    ),
    (
        &["--categories", "--groups", "--one-hot"],
        "--global",
        "groups of one-hot attributes are an array of the graph's file, `attr_groups`, with the number of its group for each attribute, \
         -1 where it is in none: then -Q and -q count changes of categories",
    ),
    (
        &["--labels", "--label"],
        "--class",
        "`--class labels` says that a node is to keep its label; labels themselves are an array of the graph's file (`y`)",
    ),
    (
        &["--labels"],
        "--labelled",
        "--labelled names the nodes whose labels are used; labels themselves are an array of the graph's file (`y`)",
    ),
];

/// The same of the graph, which is a file and no option.
const GRAPH: &str =
    "the graph is the first file, before the model; where graphs are classified, --nodes takes their numbers";

/// How something is said that is no option.
pub fn said_otherwise(command: &Command, option: &str) -> Option<&'static str> {
    let takes_graph = command.get_positionals().next().is_some_and(|arg| arg.get_id() == "graph");
    if option == "--graph" && takes_graph && has(command, "--nodes") {
        return Some(GRAPH);
    }
    let found = OTHERWISE.into_iter().find(|(others, own, _)| others.contains(&option) && has(command, own));
    found.map(|(_, _, said)| said)
}

/// Is one option mistyped for another? Letters are missing, doubled, swapped or others, one of four at most.
pub fn is_slip(option: &str, known: &str) -> bool {
    let [one, other] = [option, known].map(|word| word.trim_start_matches('-').chars().collect::<Vec<char>>());
    // Distances between a beginning of one word and those of the other.
    let mut before: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (place, own) in other.iter().enumerate() {
            let kept = before[place] + usize::from(letter != own);
            row.push(kept.min(before[place + 1] + 1).min(row[place] + 1));
        }
        before = row;
    }
    let distance = before.last().copied().unwrap_or_default();
    // Who leaves the end of a long name out means it.
    known.starts_with(option) && one.len() > 3 || distance <= (one.len() / 4).max(1)
}

/// Has a command this option, and shows it?
fn has(command: &Command, option: &str) -> bool {
    command.get_arguments().any(|arg| !arg.is_hide_set() && is_called(arg, option))
}

/// Is this the option of an argument?
pub fn is_called(arg: &Arg, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => arg.get_short().is_some_and(|short| option.strip_prefix('-') == Some(&short.to_string())),
    }
}
