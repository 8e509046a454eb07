//! Questions as people ask them on the command line: the options of `certify`, and of `collective`.

use std::collections::BTreeMap;
use std::path::Path;

use gcnproof_files::{GraphFile, Observed, PartFile, read_array, read_integers};

use super::lists::{Ids, edges, identifiers, local, precision};
use super::{Attack, Execution, Question};
use crate::edges::format::{Candidates, ChangeKind, Changes, Removals};
use crate::format::{BudgetStatement, Convention, Direction, Number, RangeLimits, RangesStatement};
use crate::number::Dyadic;
use crate::ranges::observed;

/// An option.
#[derive(Debug)]
pub struct Word {
    /// Its name, without dashes.
    pub long: &'static str,
    /// The same after a single dash.
    pub short: Option<char>,
    /// Other names, without dashes.
    pub others: &'static [&'static str],
    /// Whether a value follows it.
    pub value: Value,
    /// Its line in the help text.
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

/// For parts that a version before 0.3 wrote.
const NOT_OBSERVED: &str = "--ranges observed: this part does not say which values attributes have in the whole graph: write the parts again \
     with `gcnproof partition`";

/// Options about executions, which mean nothing without these.
const EXECUTION: [&str; 3] = ["operator-error", "unit-roundoff", "flush-subnormals"];

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
pub static WORDS: [Word; 26] = {
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
        word(None, "epsilon", &["expect-epsilon"], Needed("X"), "Attributes are moved by at most X instead of flipped"),
        word(
            None,
            "ranges",
            &["expect-ranges"],
            Needed("observed|FILE"),
            "Attributes are moved within ranges instead of flipped: those of their values, or the arrays low and high of a file",
        ),
        word(None, "freeze-nodes", &[], Needed("IDS|FILE"), "Nodes that cannot be touched, as for --nodes"),
        word(None, "freeze-attributes", &[], Needed("IDS|FILE"), "Attributes that cannot be touched: the same"),
        word(
            None,
            "edges",
            &[],
            Needed("remove|insert|change"),
            "Ask about removed or inserted edges, with -Q at the same time as flips; -E says so, too [remove]",
        ),
        word(Some('E'), "edges-global", &["expect-E"], Needed("N"), "Changed edges in all"),
        word(
            Some('e'),
            "edges-local",
            &["expect-e"],
            Needed("N"),
            "Changed edges at a node, at both ends of each [no limit of its own]",
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
            "directed-edges",
            &[],
            Nothing,
            "Each direction of an edge is an edge of its own, from the first end to the second",
        ),
        word(None, "candidates", &[], Needed("FILE"), "Edges that may be inserted, as for --freeze-edges [all]"),
        word(
            None,
            "candidates-within",
            &[],
            Needed("N"),
            "Only edges between nodes at most N edges apart may be inserted",
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

    /// Is it said that edges have directions? A graph may then have one direction of an edge only.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.get("directed-edges").is_some()
    }

    /// Is it said how many flips there may be at a node?
    #[must_use]
    pub fn has_local(&self) -> bool {
        self.get("local").is_some() || self.get("local-file").is_some()
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
        let more = ["freeze-edges", "directed-edges", "candidates", "candidates-within"];
        let on_edges = edges.into_iter().chain(more).find(|name| self.0.contains_key(name));
        let attack = match (self.count("global")?, on_edges) {
            (Some(global), Some(_)) => self.both(global, &ids)?,
            (Some(global), None) => self.flips(global, &ids)?,
            (None, Some(_)) => {
                let flips = ["local", "local-file", "flips", "epsilon", "ranges", "freeze-attributes"];
                self.refuse(&flips, "where changed edges are asked about")?;
                Attack::Removals(self.removals(&ids)?)
            }
            (None, None) => {
                let name = self.0.keys().next().copied().unwrap_or_default();
                return Err(format!(
                    "--{name}: a question needs a budget: give -Q and the number of flips, or -E and the number of changed edges"
                ));
            }
        };
        let (nodes, elsewhere) = ids.asked(self.get("nodes"))?;
        if let (Some(part), false) = (part, matches!(attack, Attack::Flips(..) | Attack::Ranges(..))) {
            let words = part.words();
            return Err(format!(
                "the graph is {words}: of a part only changes of attributes can be asked about, node by node"
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
        let ranges = self.ranges(ids)?;
        let attributes = ids.graph.own_attributes();
        // Where categories are changed, a share is one of their groups.
        let entries = ids.graph.categories.as_ref().map_or(attributes, |categories| categories.group_count());
        let mut locals = self.locals("local-file", ids.count())?;
        let mut uniform = 0;
        match (&locals, self.get("local")) {
            (Some(_), Some(_)) => return Err("-q and --local-file contradict each other: give one of them".into()),
            (Some(_), None) => {}
            (None, text) => uniform = local(text.unwrap_or("1%"), entries)?,
        }
        ids.freeze(self.get("freeze-nodes"), &mut locals, uniform)?;
        let frozen = self
            .get("freeze-attributes")
            .map(|list| identifiers("--freeze-attributes", list, attributes, "attributes"))
            .transpose()?;
        let budget = BudgetStatement {
            global,
            local: ids.local(locals, uniform),
            direction: self.word("flips", Direction::Both)?,
            frozen_attributes: frozen.unwrap_or_default(),
        };
        if let Some(ranges) = ranges {
            self.refuse(&["bound", "attacked-nodes", "flips"], "where attributes are moved within ranges")?;
            return Ok(Attack::Ranges(budget, ranges, self.execution()?));
        }
        if let Some(bound) = self.count("bound")? {
            self.refuse(&EXECUTION, "beside --bound")?;
            if self.get("deployed").is_some_and(|format| format != "exact") {
                return Err("--deployed beside --bound: one attack is bounded in exact arithmetic only".into());
            }
            return Ok(Attack::Collective { budget, attacked_nodes: self.count("attacked-nodes")?, bound });
        }
        self.refuse(&["attacked-nodes"], "without --bound")?;
        Ok(Attack::Flips(budget, self.execution()?))
    }

    /// The executions that are asked about; none: exact arithmetic.
    fn execution(&self) -> Result<Option<Execution>, String> {
        Ok(match self.get("deployed") {
            None | Some("exact") => {
                self.refuse(&EXECUTION, "without --deployed float32")?;
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
        })
    }

    /// The values that attributes may get, if they are not flipped.
    fn ranges(&self, ids: &Ids) -> Result<Option<RangesStatement>, String> {
        let number = |x: f64| {
            let exact = Dyadic::from_bits(x.to_bits()).ok_or_else(|| format!("{x} is not a finite number"));
            exact.map(|exact| Number(exact.reduced()))
        };
        match (self.get("epsilon"), self.get("ranges")) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err("--epsilon and --ranges contradict each other: give one of them".into()),
            (Some(text), None) => {
                let radius = text.trim().parse::<f64>().ok().filter(|radius| radius.is_finite() && *radius >= 0.0);
                let radius = radius.ok_or_else(|| format!("--epsilon needs a number, 0 or more, not '{text}'"))?;
                Ok(Some(RangesStatement::Epsilon(number(radius)?)))
            }
            (None, Some("observed")) => {
                let stated = ids.part.map(|part| part.observed.as_ref().ok_or(NOT_OBSERVED)).transpose()?;
                let Some(Observed { low, high }) = stated else { return Ok(Some(observed(ids.graph))) };
                let list = |limits: &[f64]| limits.iter().copied().map(number).collect::<Result<Vec<_>, _>>();
                Ok(Some(RangesStatement::Between(RangeLimits { low: list(low)?, high: list(high)? })))
            }
            (None, Some(file)) => {
                let list = |name: &str| {
                    let array = read_array(Path::new(file), name).map_err(|error| error.to_string())?;
                    array.values.into_iter().map(number).collect::<Result<Vec<_>, _>>()
                };
                Ok(Some(RangesStatement::Between(RangeLimits { low: list("low")?, high: list("high")? })))
            }
        }
    }

    /// Flips and changed edges at once.
    fn both(&self, global: u64, ids: &Ids) -> Result<Attack, String> {
        self.refuse(&["epsilon", "ranges"], "where changed edges are asked about as well")?;
        let removals = self.removals(ids)?;
        match self.flips(global, ids)? {
            Attack::Flips(budget, None) => Ok(Attack::Joint(budget, removals)),
            _ => {
                Err("-Q together with -E: flips and changed edges are decided node by node, in exact arithmetic".into())
            }
        }
    }

    fn removals(&self, ids: &Ids) -> Result<Removals, String> {
        let kind = match self.get("edges") {
            None | Some("remove") => ChangeKind::Remove,
            Some("insert") => ChangeKind::Insert,
            Some("change") => ChangeKind::Change,
            Some(_) => return Err("--edges: expected remove, insert or change".into()),
        };
        self.refuse(&["bound", "attacked-nodes"], "where changed edges are asked about")?;
        if self.get("deployed").is_some_and(|format| format != "exact") {
            return Err("--deployed: changed edges are decided in exact arithmetic only".into());
        }
        self.refuse(&EXECUTION, "without --deployed float32")?;
        let global = self.count("edges-global")?.ok_or("how many edges may be changed in all? Give -E and a number")?;
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
        let directed = self.get("directed-edges").is_some();
        let frozen = self.get("freeze-edges").map(|file| edges("--freeze-edges", file, ids.graph, directed, true));
        let frozen = frozen.transpose()?.unwrap_or_default();
        let candidates = match (self.get("candidates"), self.count("candidates-within")?) {
            (Some(_), Some(_)) => return Err("--candidates and --candidates-within: give one of them".into()),
            (Some(file), None) => Some(Candidates::Listed(edges("--candidates", file, ids.graph, directed, false)?)),
            (None, Some(hops)) => Some(Candidates::Within(hops)),
            (None, None) => None,
        };
        let plain = kind == ChangeKind::Remove && !directed;
        if kind == ChangeKind::Remove && candidates.is_some() {
            return Err(
                "--candidates: edges that are only removed have none; give --edges insert or --edges change".into()
            );
        }
        let changes = (!plain).then_some(Changes { kind, directed, candidates });
        Ok(Removals { global, local: ids.local(locals, uniform), keep_one, frozen, changes })
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
