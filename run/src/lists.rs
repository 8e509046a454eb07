//! Lists on the command line: ids and ranges, files with ids or masks; and numbers of flips.

use std::num::IntErrorKind;
use std::path::Path;

use gcnproof::Graph;
use gcnproof_files::read_selection;
use miette::{Result, miette};

/// A number of flips.
pub fn flips(text: &str) -> std::result::Result<usize, String> {
    number_of(text, "flips")
}

/// A number of nodes.
pub fn count(text: &str) -> std::result::Result<usize, String> {
    number_of(text, "nodes")
}

/// A number of things.
///
/// # Errors
/// If it is none, in words.
pub fn number_of(text: &str, things: &str) -> std::result::Result<usize, String> {
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("'{text}' is too large a number of {things}: give at most {}", usize::MAX),
        _ => format!("'{text}' is not a number of {things}: give a whole number, 0 or more"),
    })
}

/// The list of an option: ids (`3,17,20-25`), the path of a file with ids or a mask, or `all`. There are `count` of
/// them; a range ends with the first that does not exist, so that a slip of the keyboard does not fill the memory
/// before it is refused.
pub fn identifiers(option: &str, list: &str, count: usize, what: &str) -> Result<Vec<i64>> {
    let parsed: Option<Vec<Vec<i64>>> = list
        .split(',')
        .map(|part| match part.trim().split_once('-') {
            Some((first, last)) => {
                let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                (first <= last)
                    .then(|| (first..=last.min(first.max(i64::try_from(count).unwrap_or(i64::MAX)))).collect())
            }
            None => Some(vec![part.trim().parse().ok()?]),
        })
        .collect();
    match parsed {
        // Ids are said once; a mask on the command line would be read as the ids 0 and 1.
        Some(parts) if parts.len() > 2 && parts.iter().all(|part| matches!(part[..], [0 | 1])) => Err(miette!(
            help = "write each id once; a mask is given as a file",
            "{option}: '{list}' holds only 0 and 1, more than once: it is no list of ids"
        )),
        Some(parts) => Ok(parts.concat()),
        None if list.parse::<i64>().is_ok() => {
            Err(miette!(help = "ids run from 0", "{option}: '{list}' is less than 0: there are no such {what}"))
        }
        None if Path::new(list).exists() => Ok(read_selection(Path::new(list), None, count, what)?),
        None if list == "all" => Ok((0..i64::try_from(count).unwrap_or(i64::MAX)).collect()),
        None => match list.rsplit_once(':').filter(|(file, _)| Path::new(file).exists()) {
            // One array of several, such as the mask of the training nodes beside a graph.
            Some((file, entry)) => Ok(read_selection(Path::new(file), Some(entry), count, what)?),
            None if falling(list).is_some() => Err(miette!(
                help = "write the smaller id of a range first, as in 20-25",
                "{option}: '{list}' is no list of ids: {}",
                falling(list).unwrap_or_default()
            )),
            None if meant(list).is_some() => Err(miette!(
                help = match meant(list).unwrap_or_default() {
                    list if list.contains('-') => format!("write {option} {list}: both ends of a range belong to it"),
                    list => format!("write {option} {list}"),
                },
                "{option}: '{list}' is no list of ids"
            )),
            None if missing_file(list).is_some() => Err(miette!(
                help = "check the path before the colon; the name of an array stands after it",
                "{option}: there is no file {}",
                missing_file(list).unwrap_or_default()
            )),
            None => Err(miette!(
                help = "write ids and ranges like 3,17,20-25 (ids start at 0), the path of a file with one id per line or a \
                        mask, or an array of an .npz file as FILE.npz:NAME",
                "{option}: '{list}' is neither a list of ids nor a file"
            )),
        },
    }
}

/// The first range of a list that ends before it starts, in words.
fn falling(list: &str) -> Option<String> {
    list.split(',').find_map(|part| {
        let (first, last) = part.trim().split_once('-')?;
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first > last).then(|| format!("{first} is more than {last}"))
    })
}

/// A list in the spelling of Python or of a table, as it is written here: `[0, 1]`, `0;1`, `0:10`.
fn meant(list: &str) -> Option<String> {
    let plain = list.trim_matches(['[', ']', '(', ')', '{', '}', ' ', '"', '\'']);
    let ids = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((first, end)) = plain.split_once(':') {
        let first = if first.is_empty() { "0" } else { first };
        let last = end.parse::<u64>().ok().and_then(|end| end.checked_sub(1))?;
        return (ids(first) && ids(end)).then(|| format!("{first}-{last}"));
    }
    let parts: Vec<&str> = plain.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty()).collect();
    let known = parts.iter().all(|part| part.split('-').all(ids) && part.matches('-').count() < 2);
    (known && !parts.is_empty()).then(|| parts.join(","))
}

/// The file of `FILE.npz:NAME` that is not there.
fn missing_file(list: &str) -> Option<&str> {
    let (file, _) = list.rsplit_once(':')?;
    (Path::new(file).extension().is_some() && !Path::new(file).exists()).then_some(file)
}

/// The nodes that a command is about: all, or a list, in rising order.
pub fn nodes(list: Option<&str>, graph: &Graph) -> Result<Vec<usize>> {
    match list {
        None => Ok((0..graph.target_count()).collect()),
        Some(list) if graph.batch().is_some() => targets_of("--nodes", list, graph.target_count(), "graph"),
        Some(list) => nodes_of("--nodes", list, graph.node_count()),
    }
}

/// The nodes of an option's list, in rising order, of a graph that has so many.
pub fn nodes_of(option: &str, list: &str, count: usize) -> Result<Vec<usize>> {
    targets_of(option, list, count, "node")
}

/// The same of nodes or of graphs, as they are called in singular.
pub(crate) fn targets_of(option: &str, list: &str, count: usize, what: &str) -> Result<Vec<usize>> {
    let mut nodes = Vec::new();
    for id in identifiers(option, list, count, if what == "graph" { "graphs" } else { "nodes" })? {
        match usize::try_from(id) {
            Ok(node) if node < count => nodes.push(node),
            _ => {
                let last = count.saturating_sub(1);
                return Err(miette!(
                    help = "ids run from 0",
                    "{option}: there is no {what} {id}: the last one is {last}"
                ));
            }
        }
    }
    if nodes.is_empty() {
        return Err(miette!(help = "a mask needs at least one true entry", "{option}: '{list}' selects no {what}"));
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}
