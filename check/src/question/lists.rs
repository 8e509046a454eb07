//! What options say in lists and files: nodes, attributes, edges, local budgets, rules of message passing.

use std::path::Path;
use std::sync::Arc;

use gcnproof_files::{GraphFile, PartFile, SparseMatrix, matrix_digest, read_ends, read_matrix, read_selection};

use crate::format::Local;
use crate::ids::Edge;
use crate::statement::Rule;

/// Nodes by the ids that people say: rows of the graph, or of a part the ids of the whole graph.
pub(super) struct Ids<'a> {
    pub(super) graph: &'a GraphFile,
    pub(super) part: Option<&'a PartFile>,
}

impl Ids<'_> {
    pub(super) fn count(&self) -> usize {
        self.part.map_or(self.graph.attributes.rows, |part| part.of)
    }

    /// What is asked about: how many there are, and what they are called.
    fn targets(&self) -> (usize, &'static str) {
        self.graph.graphs().map_or((self.count(), "nodes"), |graphs| (graphs, "graphs"))
    }

    /// Sets the budgets of frozen nodes to 0.
    pub(super) fn freeze(&self, list: Option<&str>, locals: &mut Option<Vec<u64>>, uniform: u64) -> Result<(), String> {
        let Some(list) = list else { return Ok(()) };
        let budgets = locals.get_or_insert_with(|| vec![uniform; self.count()]);
        identifiers("--freeze-nodes", list, self.count(), "nodes")?.iter().for_each(|&node| budgets[node as usize] = 0);
        Ok(())
    }

    /// Budgets by row.
    pub(super) fn local(&self, locals: Option<Vec<u64>>, uniform: u64) -> Local {
        match (locals, self.part) {
            (None, _) => Local::Uniform(uniform),
            (Some(all), None) => Local::PerNode(all),
            (Some(all), Some(part)) => Local::PerNode(part.nodes.iter().map(|&node| all[node as usize]).collect()),
        }
    }

    /// The rows that are asked about, all if none are named, and the ids for which another part answers.
    pub(super) fn asked(&self, list: Option<&str>) -> Result<(Option<Vec<u32>>, Vec<u32>), String> {
        let (count, what) = self.targets();
        let named = match list {
            None => None,
            Some("all") => self.part.map(|part| (0..part.of as u32).collect()),
            Some(list) => Some(identifiers("--nodes", list, count, what)?),
        };
        match (named, self.part) {
            (Some(ids), _) if ids.is_empty() => Err("--nodes selects no node".into()),
            (Some(ids), Some(part)) => {
                let own = |&id: &u32| part.row(id.into()).filter(|&row| part.owns(row)).ok_or(id);
                let (rows, others): (Vec<_>, Vec<_>) = ids.iter().map(own).partition(Result::is_ok);
                let rows = rows.into_iter().filter_map(Result::ok).map(|row| row as u32).collect();
                Ok((Some(rows), others.into_iter().filter_map(Result::err).collect()))
            }
            (named, _) => Ok((named, Vec::new())),
        }
    }
}

/// `12`, `1%`, or the same share as `0.01`: so many flips at a node of so many attributes. A share is rounded down, but
/// to 1 at least if it is more than 0.
pub(super) fn local(text: &str, attributes: usize) -> Result<u64, String> {
    let wrong =
        || format!("-q: '{text}' is neither a number of flips (12) nor a share of the attributes (1%, or 0.01)");
    let percent = text.strip_suffix('%');
    let share = percent.unwrap_or(text).trim();
    if percent.is_none() && !share.contains('.') {
        return share.parse().map_err(|_| wrong());
    }
    let (whole, part) = share.split_once('.').unwrap_or((share, ""));
    let digits = format!("{whole}{part}");
    let fits = digits.len() <= 15 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u128 = digits.parse().ok().filter(|_| fits).ok_or_else(wrong)?;
    // The share is number / all. What is 10⁻⁹ below a whole number is a rounded share of it, such as 33.3333333333 %.
    let all = if percent.is_some() { 100 } else { 1 } * 10u128.pow(part.len() as u32);
    if number > all || percent.is_none() && number == all {
        return Err(wrong());
    }
    const NEAR: u128 = 1_000_000_000;
    let (flips, rest) = (attributes as u128 * number / all, attributes as u128 * number % all);
    let flips = flips as u64 + u64::from((all - rest) * NEAR <= all);
    Ok(flips.max(u64::from(number > 0)))
}

/// `2^-24`, or the number: bits of the significand.
pub(super) fn precision(text: &str) -> Result<u32, String> {
    let bits = match text.strip_prefix("2^-") {
        Some(power) => power.parse().ok(),
        None => text.parse::<f64>().ok().and_then(|u| (2..=53).find(|&bits| 0.5f64.powi(bits as i32) == u)),
    };
    let wrong = || format!("--unit-roundoff: '{text}' is no power of two such as 2^-24 (float32) or 2^-8 (bfloat16)");
    bits.filter(|bits| (2..=53).contains(bits)).ok_or_else(wrong)
}

/// Ids and ranges (3,17,20-25), or a file with ids or a mask; rising, each once. There are `count` of them.
pub(super) fn identifiers(option: &str, list: &str, count: usize, what: &str) -> Result<Vec<u32>, String> {
    let range = |part: &str| -> Option<(u64, u64)> {
        let (first, last) = part.trim().split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some((first, last))
    };
    let from_file = |file: &str, entry: Option<&str>| -> Result<Vec<(u64, u64)>, String> {
        let ids = read_selection(Path::new(file), entry, count, what).map_err(|error| error.to_string())?;
        Ok(ids.into_iter().map(|id| (id as u64, id as u64)).collect())
    };
    let parts: Option<Vec<(u64, u64)>> = list.split(',').map(range).collect();
    let parts = match parts {
        // A mask on the command line would be read as the ids 0 and 1.
        Some(parts) if parts.len() > 2 && parts.iter().all(|part| matches!(part, (0, 0) | (1, 1))) => {
            return Err(format!("{option}: '{list}' holds only 0 and 1, more than once: a mask is given as a file"));
        }
        Some(parts) => parts,
        None if Path::new(list).exists() => from_file(list, None)?,
        None => match list.rsplit_once(':').filter(|(file, _)| Path::new(file).exists()) {
            Some((file, entry)) => from_file(file, Some(entry))?,
            None => {
                return Err(format!(
                    "{option}: '{list}' is neither a list of {what} (expected ids and ranges such as 0-99,204) nor a file"
                ));
            }
        },
    };
    if let Some((_, last)) = parts.iter().find(|(_, last)| *last >= count as u64) {
        let one = what.trim_end_matches('s');
        return Err(format!("{option}: there is no {one} {last}: there are {count}, counted from 0"));
    }
    let mut ids: Vec<u32> = Vec::new();
    let mut ranges = parts;
    ranges.sort_unstable();
    for (first, last) in ranges {
        let next = ids.last().map_or(0, |&id| u64::from(id) + 1);
        ids.extend((first.max(next)..=last).map(|id| id as u32));
    }
    Ok(ids)
}

/// Edges of a graph, or pairs without one, from a file that an option names: the ids of both ends in a line, or one
/// after the other in an array.
pub(super) fn edges(
    option: &str,
    file: &str,
    graph: &GraphFile,
    directed: bool,
    there: bool,
) -> Result<Vec<Edge>, String> {
    let ids = read_ends(Path::new(file)).map_err(|error| error.to_string())?;
    if ids.len() % 2 == 1 {
        return Err(format!("{option} {file}: {} ids are no list of pairs", ids.len()));
    }
    let id = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < graph.adjacency.rows);
    let edge = |pair: &[i64]| {
        let fits = |&(i, j): &(u32, u32)| i != j && graph.adjacency.contains(j as usize, i) == there;
        let (i, j) = id(pair[0]).zip(id(pair[1])).filter(fits).ok_or_else(|| match there {
            true => format!("{option} {file}: the graph has no edge {}-{}", pair[0], pair[1]),
            false => format!("{option} {file}: {}-{} is no pair of nodes without an edge", pair[0], pair[1]),
        })?;
        Ok(if directed { (i, j) } else { (i.min(j), i.max(j)) })
    };
    let mut edges = ids.chunks_exact(2).map(edge).collect::<Result<Vec<Edge>, String>>()?;
    edges.sort_unstable();
    edges.dedup();
    Ok(edges)
}

/// The rules of all layers as a header names them, from a text with commas between layers and ` & ` between the terms
/// of one. A file in the place of a rule is read, and its matrix is put to the others.
///
/// # Errors
/// If a rule is none, and no file either.
pub fn read_rules(text: &str, matrices: &mut Vec<Arc<SparseMatrix>>) -> Result<Vec<String>, String> {
    let mut depth = 0usize;
    let between = |letter: char| {
        // Commas within parentheses belong to a rule.
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let mut named = |rule: &str| {
        if Rule::read(rule).is_some() {
            return Ok(rule.to_string());
        }
        if rule.trim().is_empty() {
            return Err(format!("--message-passing {text}: a rule is missing before or behind a comma"));
        }
        if !Path::new(rule).exists() {
            return Err(format!(
                "--message-passing {rule}: '{rule}' is none of gcn, gcn-self, mean, mean+self, sum, sum+self, identity, poly(RULE;c0,c1,…), and no such \
                 file exists"
            ));
        }
        let matrix = read_matrix(rule.as_ref()).map_err(|error| error.to_string())?;
        let name = format!("matrix:{}", matrix_digest(&matrix));
        matrices.push(Arc::new(matrix));
        Ok(name)
    };
    let mut layer = |rules: &str| Ok(rules.split(" & ").map(&mut named).collect::<Result<Vec<_>, _>>()?.join(" & "));
    text.split(between).map(&mut layer).collect()
}

#[cfg(test)]
mod tests {
    use super::{local, precision};

    #[test]
    fn unit_roundoffs_are_powers_of_two() {
        for (text, bits) in [("2^-24", 24), ("2^-2", 2), ("2^-53", 53), ("0.25", 2), ("0.00390625", 8)] {
            assert_eq!(precision(text), Ok(bits), "{text}");
        }
        for text in ["2^-1", "2^-54", "2^24", "0.5", "0.3", "-0.25", "x", ""] {
            assert!(precision(text).is_err(), "{text}");
        }
    }

    #[test]
    fn percentages_are_those_of_certify() {
        let cases = [
            ("1%", 1433, 14),
            ("1%", 2879, 28),
            ("0%", 50, 0),
            ("0.01%", 50, 1),
            ("100%", 7, 7),
            ("2.5 %", 40, 1),
            (".5%", 400, 2),
            ("0.01", 1433, 14),
            ("0.29", 100, 29),
            ("0.0", 50, 0),
            (".0001", 50, 1),
        ];
        let rounded = [("33.3333333333%", 30, 10), ("33.33%", 30, 9), ("100.0%", usize::MAX, u64::MAX), ("12", 3, 12)];
        // 10⁻⁹ below a whole number, just so; and as many digits as may be.
        let close =
            [("99.9999999%", 1_000_000_001, 1_000_000_000), ("33.3333333333333%", 30, 10), ("10.000000001%", 15, 1)];
        for (text, attributes, flips) in cases.into_iter().chain(rounded).chain(close) {
            assert_eq!(local(text, attributes), Ok(flips), "{text} of {attributes}");
        }
        for text in [
            "101%",
            "-1%",
            "%",
            "1e1%",
            "nan%",
            "",
            "1.5",
            "1.0",
            ".",
            "0.01.1",
            "-0.5",
            "99999999999999999999%",
            "33.33333333333333%",
        ] {
            assert!(local(text, 10).is_err(), "{text}");
        }
    }
}
