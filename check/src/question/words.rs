//! Questions as people ask them on the command line: the options of `certify`, and of `collective`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gcnproof_files::{GraphFile, PartFile, SparseMatrix, matrix_digest, read_integers, read_matrix, read_selection};

use super::{Attack, Execution, Question};
use crate::edges::{Edge, format::Removals};
use crate::format::{BudgetStatement, Convention, Direction, Local};
use crate::statement::Rule;

/// An option.
#[derive(Debug)]
pub struct Word {
    /// Its name, without dashes.
    pub long: &'static str,
    /// One letter.
    pub short: Option<char>,
    /// Other names, without dashes.
    pub others: &'static [&'static str],
    /// What follows it.
    pub value: Value,
    /// What it means.
    pub help: &'static str,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// A value, called so.
    Needed(&'static str),
    /// A value after `=`, or nothing, which means this.
    Optional(&'static str, &'static str),
}

const fn word(
    short: Option<char>,
    long: &'static str,
    others: &'static [&'static str],
    value: Value,
    help: &'static str,
) -> Word {
    Word { long, short, others, value, help }
}

/// All options that ask.
pub static WORDS: [Word; 21] = {
    use Value::{Needed, None as Nothing, Optional};
    [
        word(Some('Q'), "global", &["expect-Q"], Needed("N"), "Flips of attributes in all"),
        word(
            Some('q'),
            "local",
            &["expect-q"],
            Needed("N|P%"),
            "Flips at a node: a number, or a percentage of the attributes [1%]",
        ),
        word(None, "local-file", &[], Needed("FILE"), "A file with one local budget per node, in place of -q"),
        word(
            None,
            "flips",
            &["direction", "expect-direction"],
            Needed("WHICH"),
            "Which flips: both, add or remove [both]",
        ),
        word(None, "freeze-nodes", &[], Needed("IDS|FILE"), "Nodes that cannot be touched, as for --nodes"),
        word(None, "freeze-attributes", &[], Needed("IDS|FILE"), "Attributes that cannot be touched: the same"),
        word(None, "edges", &[], Needed("remove"), "Ask about removed edges instead of flips; -E says so, too"),
        word(Some('E'), "edges-global", &["expect-E"], Needed("N"), "Removed edges in all"),
        word(
            Some('e'),
            "edges-local",
            &["expect-e"],
            Needed("N"),
            "Removed edges at a node, at both ends of each [no limit of its own]",
        ),
        word(None, "edges-local-file", &[], Needed("FILE"), "A file with one such number per node, in place of -e"),
        word(
            None,
            "keep-one-edge",
            &[],
            Optional("true|false", "true"),
            "Does every node that has edges keep one? [true]",
        ),
        word(None, "expect-last-edges", &[], Nothing, "The same as --keep-one-edge=false"),
        word(
            None,
            "freeze-edges",
            &[],
            Needed("FILE"),
            "Edges that cannot be removed: ids of both ends one after the other",
        ),
        word(
            None,
            "class",
            &["expect-classes"],
            Needed("WHICH"),
            "The class that a node is to keep: predicted or labels [predicted]",
        ),
        word(
            None,
            "deployed",
            &["expect-deployed"],
            Needed("float32|exact"),
            "Every execution in float32, or exact arithmetic [exact]",
        ),
        word(
            None,
            "operator-error",
            &[],
            Needed("ULPS"),
            "With --deployed: how far operator entries may be from ours [what is usual for the rule]",
        ),
        word(
            None,
            "unit-roundoff",
            &[],
            Needed("U"),
            "With --deployed: that of another format with float32's range [2^-24]",
        ),
        word(None, "flush-subnormals", &[], Nothing, "With --deployed: subnormal numbers may be taken for zero"),
        word(
            None,
            "nodes",
            &["expect-nodes"],
            Needed("IDS|FILE"),
            "The nodes: all, ids and ranges such as 0-99,204, a file with ids or a mask, FILE.npz:NAME [all]",
        ),
        word(
            None,
            "bound",
            &["expect-bound"],
            Needed("B"),
            "One attack for the whole graph: does it break at most B predictions?",
        ),
        word(
            None,
            "attacked-nodes",
            &["expect-attacked-nodes"],
            Needed("N"),
            "With --bound: flips in the attributes of at most N nodes [any number]",
        ),
    ]
};

/// Options as they were given.
#[derive(Clone, Debug, Default)]
pub struct Words(BTreeMap<&'static str, String>);

impl Words {
    /// The option of this name, with its dashes.
    pub fn find(name: &str) -> Option<&'static Word> {
        let fits = |word: &&Word| match (name.strip_prefix("--"), name.strip_prefix('-')) {
            (Some(long), _) => word.long == long || word.others.contains(&long),
            (None, Some(short)) => word.short.is_some_and(|letter| short.chars().eq([letter])),
            _ => false,
        };
        WORDS.iter().find(fits)
    }

    /// Takes an option, with its value where it has one.
    ///
    /// # Errors
    /// If it was given before.
    pub fn say(&mut self, word: &'static Word, value: impl Into<String>) -> Result<(), String> {
        match self.0.insert(word.long, value.into()) {
            None => Ok(()),
            Some(_) => Err(format!("--{} is given twice", word.long)),
        }
    }

    /// All options for a help text, one below the other.
    pub fn help() -> String {
        let mut text = String::new();
        for word in &WORDS {
            let short = word.short.map_or("    ".into(), |letter| format!("-{letter}, "));
            let value = match word.value {
                Value::None => String::new(),
                Value::Needed(value) => format!(" {value}"),
                Value::Optional(value, _) => format!("[={value}]"),
            };
            text += &format!("  {:<32} {}\n", format!("{short}--{}{value}", word.long), word.help);
        }
        text
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn count(&self, name: &str) -> Result<Option<u64>, String> {
        let number = |text: &str| {
            text.trim().parse().map_err(|_| format!("--{name} needs a whole number, 0 or more, not '{text}'"))
        };
        self.get(name).map(number).transpose()
    }

    fn word<T: std::str::FromStr<Err = String>>(&self, name: &str, usual: T) -> Result<T, String> {
        let read = |text: &str| text.parse().map_err(|problem| format!("--{name}: {problem}"));
        self.get(name).map_or(Ok(usual), read)
    }

    /// What is asked about a graph or a part of one; nothing where no option says anything.
    ///
    /// # Errors
    /// If something is missing, is said in vain, or does not fit.
    pub fn question(&self, graph: &GraphFile, part: Option<&PartFile>) -> Result<Option<Question>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let ids = Ids { graph, part };
        let edges = ["edges", "edges-global", "edges-local", "edges-local-file", "keep-one-edge", "expect-last-edges"];
        let on_edges = edges.into_iter().chain(["freeze-edges"]).find(|name| self.0.contains_key(name));
        let attack = match (self.count("global")?, on_edges) {
            (Some(_), Some(name)) => {
                return Err(format!("-Q together with --{name}: ask about flips (-Q) or about removed edges (-E)"));
            }
            (Some(global), None) => self.flips(global, &ids)?,
            (None, Some(_)) => self.removals(&ids)?,
            (None, None) => {
                let name = self.0.keys().next().copied().unwrap_or_default();
                return Err(format!(
                    "--{name}: a question needs a budget: give -Q and the number of flips, or -E and the number of removed edges"
                ));
            }
        };
        let (nodes, elsewhere) = ids.asked(self.get("nodes"))?;
        if let (Some(part), Attack::Removals(_) | Attack::Collective { .. }) = (part, &attack) {
            let words = part.words();
            return Err(format!(
                "the graph is {words}: of a part only flips of attributes can be asked about, node by node"
            ));
        }
        let classes = self.word("class", Convention::Predicted)?;
        let question = Question { attack, classes, nodes, elsewhere };
        question.require(graph).map_err(|reason| format!("the question does not fit the graph: {reason}"))?;
        Ok(Some(question))
    }

    /// Refuses options that mean nothing beside others.
    fn refuse(&self, names: &[&'static str], beside: &str) -> Result<(), String> {
        match names.iter().find(|name| self.0.contains_key(*name)) {
            Some(name) => Err(format!("--{name} means nothing {beside}: leave it out")),
            None => Ok(()),
        }
    }

    fn flips(&self, global: u64, ids: &Ids) -> Result<Attack, String> {
        let attributes = ids.graph.attributes.columns;
        let mut locals = self.locals("local-file", ids.count())?;
        let mut uniform = 0;
        match (&locals, self.get("local")) {
            (Some(_), Some(_)) => return Err("-q and --local-file contradict each other: give one of them".into()),
            (Some(_), None) => {}
            (None, text) => uniform = local(text.unwrap_or("1%"), attributes)?,
        }
        ids.freeze(self.get("freeze-nodes"), &mut locals, uniform)?;
        let frozen =
            self.get("freeze-attributes").map(|list| identifiers(list, attributes, "attributes")).transpose()?;
        let budget = BudgetStatement {
            global,
            local: ids.local(locals, uniform),
            direction: self.word("flips", Direction::Both)?,
            frozen_attributes: frozen.unwrap_or_default(),
        };
        let execution = ["operator-error", "unit-roundoff", "flush-subnormals"];
        if let Some(bound) = self.count("bound")? {
            self.refuse(&execution, "beside --bound")?;
            if self.get("deployed").is_some_and(|format| format != "exact") {
                return Err("--deployed beside --bound: one attack is bounded in exact arithmetic only".into());
            }
            return Ok(Attack::Collective { budget, attacked_nodes: self.count("attacked-nodes")?, bound });
        }
        self.refuse(&["attacked-nodes"], "without --bound")?;
        let execution = match self.get("deployed") {
            None | Some("exact") => {
                self.refuse(&execution, "without --deployed float32")?;
                None
            }
            Some("float32") => Some(Execution {
                precision: self.get("unit-roundoff").map_or(Ok(24), precision)?,
                operator_error: match self.count("operator-error")? {
                    None => None,
                    Some(error) => Some(u32::try_from(error).map_err(|_| "--operator-error is too large")?),
                },
                flush_subnormals: self.get("flush-subnormals").is_some(),
            }),
            Some(_) => return Err("--deployed: expected float32 or exact".into()),
        };
        Ok(Attack::Flips(budget, execution))
    }

    fn removals(&self, ids: &Ids) -> Result<Attack, String> {
        if self.get("edges").is_some_and(|attack| attack != "remove") {
            return Err("--edges: expected remove; attacks that add edges are not decided".into());
        }
        let flips = ["local", "local-file", "flips", "freeze-attributes", "bound", "attacked-nodes"];
        self.refuse(&flips, "where removed edges are asked about")?;
        if self.get("deployed").is_some_and(|format| format != "exact") {
            return Err("--deployed: removed edges are decided in exact arithmetic only".into());
        }
        self.refuse(&["operator-error", "unit-roundoff", "flush-subnormals"], "without --deployed float32")?;
        let global = self.count("edges-global")?.ok_or("how many edges may be removed in all? Give -E and a number")?;
        let mut locals = self.locals("edges-local-file", ids.count())?;
        let uniform = match (&locals, self.count("edges-local")?) {
            (Some(_), Some(_)) => {
                return Err("-e and --edges-local-file contradict each other: give one of them".into());
            }
            (_, most) => most.unwrap_or(u64::MAX),
        };
        ids.freeze(self.get("freeze-nodes"), &mut locals, uniform)?;
        let keep_one = match (self.get("keep-one-edge"), self.get("expect-last-edges")) {
            (Some(_), Some(_)) => return Err("--keep-one-edge and --expect-last-edges: give one of them".into()),
            (Some("true"), None) | (None, None) => true,
            (Some("false"), None) | (None, Some(_)) => false,
            (Some(_), None) => return Err("--keep-one-edge: expected true or false".into()),
        };
        let frozen = self.get("freeze-edges").map(|file| edges(file, ids.graph)).transpose()?.unwrap_or_default();
        Ok(Attack::Removals(Removals { global, local: ids.local(locals, uniform), keep_one, frozen }))
    }

    /// Local budgets by node from the file that an option names.
    fn locals(&self, name: &str, nodes: usize) -> Result<Option<Vec<u64>>, String> {
        let Some(file) = self.get(name) else { return Ok(None) };
        let numbers = read_integers(Path::new(file)).map_err(|error| error.to_string())?;
        if numbers.len() != nodes {
            return Err(format!("{file}: {} local budgets for {nodes} nodes", numbers.len()));
        }
        let number =
            |&x: &i64| u64::try_from(x).map_err(|_| format!("{file}: a local budget of {x}: it must not be negative"));
        numbers.iter().map(number).collect::<Result<Vec<u64>, _>>().map(Some)
    }
}

/// Nodes by the ids that people say: rows of the graph, or of a part the ids of the whole graph.
struct Ids<'a> {
    graph: &'a GraphFile,
    part: Option<&'a PartFile>,
}

impl Ids<'_> {
    fn count(&self) -> usize {
        self.part.map_or(self.graph.attributes.rows, |part| part.of)
    }

    /// Sets the budgets of frozen nodes to 0.
    fn freeze(&self, list: Option<&str>, locals: &mut Option<Vec<u64>>, uniform: u64) -> Result<(), String> {
        let Some(list) = list else { return Ok(()) };
        let budgets = locals.get_or_insert_with(|| vec![uniform; self.count()]);
        identifiers(list, self.count(), "nodes")?.iter().for_each(|&node| budgets[node as usize] = 0);
        Ok(())
    }

    /// Budgets by row.
    fn local(&self, locals: Option<Vec<u64>>, uniform: u64) -> Local {
        match (locals, self.part) {
            (None, _) => Local::Uniform(uniform),
            (Some(all), None) => Local::PerNode(all),
            (Some(all), Some(part)) => Local::PerNode(part.nodes.iter().map(|&node| all[node as usize]).collect()),
        }
    }

    /// The rows that are asked about, all if none are named, and the ids for which another part answers.
    fn asked(&self, list: Option<&str>) -> Result<(Option<Vec<u32>>, Vec<u32>), String> {
        let named = match list {
            None => None,
            Some("all") => self.part.map(|part| (0..part.of as u32).collect()),
            Some(list) => Some(identifiers(list, self.count(), "nodes")?),
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

/// `12` or `1%`: so many flips at a node of so many attributes. A percentage is rounded down, but to 1 at least if it is more than 0.
fn local(text: &str, attributes: usize) -> Result<u64, String> {
    let wrong = || format!("-q: '{text}' is neither a number of flips (12) nor a percentage of the attributes (1%)");
    let Some(percent) = text.strip_suffix('%') else { return text.trim().parse().map_err(|_| wrong()) };
    let percent = percent.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).ok_or_else(wrong)?;
    if percent == 0.0 {
        return Ok(0);
    }
    Ok(((attributes as f64 * percent / 100.0 + 1e-9).floor() as u64).max(1))
}

/// `2^-24`, or the number: bits of the significand.
fn precision(text: &str) -> Result<u32, String> {
    let bits = match text.strip_prefix("2^-") {
        Some(power) => power.parse().ok(),
        None => text.parse::<f64>().ok().and_then(|u| (2..=53).find(|&bits| 0.5f64.powi(bits as i32) == u)),
    };
    let wrong = || format!("--unit-roundoff: '{text}' is no power of two such as 2^-24 (float32) or 2^-8 (bfloat16)");
    bits.filter(|bits| (2..=53).contains(bits)).ok_or_else(wrong)
}

/// Ids and ranges (3,17,20-25), or a file with ids or a mask; rising, each once. There are `count` of them.
fn identifiers(list: &str, count: usize, what: &str) -> Result<Vec<u32>, String> {
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
            return Err(format!("'{list}' holds only 0 and 1, more than once: a mask is given as a file"));
        }
        Some(parts) => parts,
        None if Path::new(list).exists() => from_file(list, None)?,
        None => match list.rsplit_once(':').filter(|(file, _)| Path::new(file).exists()) {
            Some((file, entry)) => from_file(file, Some(entry))?,
            None => {
                return Err(format!(
                    "'{list}' is neither a list of {what} (expected ids and ranges such as 0-99,204) nor a file"
                ));
            }
        },
    };
    if let Some((_, last)) = parts.iter().find(|(_, last)| *last >= count as u64) {
        return Err(format!("there is no {} {last}: there are {count}, counted from 0", what.trim_end_matches('s')));
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

/// Edges of a graph from a file: the ids of both ends one after the other.
fn edges(file: &str, graph: &GraphFile) -> Result<Vec<Edge>, String> {
    let ids = read_integers(Path::new(file)).map_err(|error| error.to_string())?;
    if ids.len() % 2 == 1 {
        return Err(format!("--freeze-edges {file}: {} ids are no list of pairs", ids.len()));
    }
    let id = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < graph.adjacency.rows);
    let edge = |pair: &[i64]| {
        let found = id(pair[0]).zip(id(pair[1])).filter(|&(i, j)| i != j && graph.adjacency.contains(i as usize, j));
        let (i, j) =
            found.ok_or_else(|| format!("--freeze-edges {file}: the graph has no edge {}-{}", pair[0], pair[1]))?;
        Ok((i.min(j), i.max(j)))
    };
    let mut edges = ids.chunks_exact(2).map(edge).collect::<Result<Vec<Edge>, String>>()?;
    edges.sort_unstable();
    edges.dedup();
    Ok(edges)
}

/// The rules of all layers as a header names them, from a text with commas between layers and ` & ` between the terms of one. A file in the place of a
/// rule is read, and its matrix is put to the others.
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
        if !Path::new(rule).exists() {
            return Err(format!(
                "'{rule}' is none of gcn, gcn-self, mean, mean+self, sum, sum+self, identity, poly(RULE;c0,c1,…), and no such \
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
