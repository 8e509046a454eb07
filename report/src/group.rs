//! Groups: the results that belong to one model and one local budget.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gcnproof::edges::Joint;
use gcnproof::internals::certify::settings::Bound;
use gcnproof::internals::certify::verdict::Verdict;
use gcnproof::internals::problem::budget::Direction;
use gcnproof::{Attacker, Execution, Flips, Words};
use gcnproof_results::record::description::{
    BudgetRecord, Class, Description, FlipRun, Identity, Level, LocalRecord, RangeRecord,
};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRun};
use gcnproof_results::record::pair::PairRecord;

use super::chart::figure::Made;
use super::collective::Collective;
use super::edges::{self, EdgeAttack};
use super::error::ReportError;
use super::landscape::Landscape;
use super::origin;
use super::population::Population;
use super::row::{NodeRadius, NodeVerdict, Witness};
use super::source::{Rows, Run, Source, Sources};
use super::training::TrainingLog;

/// By what means nodes were decided, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// The paper's bound at its default Ω.
    Paper,
    /// The anchored bound alone.
    Anchored,
    /// Both bounds and their mixtures.
    Bounds,
    /// The optimum of the relaxation.
    Optimal,
    /// Branch and price: exact where no limit was hit.
    Exact,
}

impl Method {
    /// In legends.
    pub fn name(self) -> &'static str {
        match self {
            Method::Paper => "the paper's bound",
            Method::Anchored => "the anchored bound",
            Method::Bounds => "our bounds",
            Method::Optimal => "optimal relaxation",
            Method::Exact => "exact search",
        }
    }

    fn of(run: Option<&Description>) -> Method {
        let Some(run) = run else { return Method::Bounds };
        match (run.level(), run.bound()) {
            (Level::Complete | Level::Minimize, _) => Method::Exact,
            (Level::Optimal, _) => Method::Optimal,
            (Level::Bounds, Some(Bound::Paper)) => Method::Paper,
            (Level::Bounds, Some(Bound::Anchored)) => Method::Anchored,
            (Level::Bounds, _) => Method::Bounds,
        }
    }
}

/// Verdicts at one `Q`.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// By what means.
    pub method: Method,
    /// `Q`, if it is known.
    pub global: Option<u64>,
    /// The nodes.
    pub rows: Vec<NodeVerdict>,
}

/// Radii.
#[derive(Clone, Debug)]
pub struct Radii {
    /// By what means.
    pub method: Method,
    /// Nothing above this `Q` was tried.
    pub limit: u64,
    /// The nodes.
    pub rows: Vec<NodeRadius>,
}

/// The results of one model under one local budget.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// What the model is called; with its budget, if the report holds several budgets.
    pub name: String,
    /// Does a study call it so?
    pub(super) named: bool,
    /// Digests of graph and model, if they are known.
    pub identity: Option<Identity>,
    /// The budget in words, or that it is not known.
    pub budget: String,
    /// The nodes that all of its results are about.
    pub population: Population,
    /// What else is asked, if not the plain question: for labels, or for the network as it runs.
    pub question: String,
    /// How the network runs, where verdicts hold for that as well.
    pub deployed: Option<Execution>,
    /// The commands that make its results.
    pub commands: Vec<String>,
    /// What is attacked.
    pub attacked: Attacked,
    /// `q` of every node, if it is the same for all and both directions and all attributes are free.
    pub local: Option<u64>,
    /// Verdicts, by `Q` and method.
    pub verdicts: Vec<Verdicts>,
    /// Radii, by method.
    pub radii: Vec<Radii>,
    /// Class pairs, and the `Q` they were measured at.
    pub pairs: Vec<PairRecord>,
    /// That `Q`.
    pub pairs_global: Option<u64>,
}

/// Everything that was read, put in order.
#[derive(Debug, Default)]
pub struct Groups {
    /// In the order in which their first files were named.
    pub groups: Vec<Group>,
    /// How many predictions one attack breaks.
    pub collective: Vec<Collective>,
    /// Training logs.
    pub training: Vec<TrainingLog>,
    /// What a reader has to know: unfinished runs, unknown budgets.
    pub notices: Vec<String>,
    /// What is attacked in all of them.
    pub attacked: Attacked,
    /// The graph of all results, by its digest.
    pub graph: Option<String>,
    /// The files, each with its date and a command that makes the same.
    pub files: Vec<String>,
    /// The commands of studies.
    pub commands: Vec<String>,
}

impl Groups {
    /// Puts sources in order.
    pub fn new(sources: Sources) -> Result<Groups, ReportError> {
        let attacked = one_attack(&sources.files)?;
        let mut all = Groups {
            graph: one_graph(&sources.files)?,
            attacked,
            commands: sources.commands.clone(),
            ..Groups::default()
        };
        if !sources.missing.is_empty() {
            let files = sources.missing.join(", ");
            all.notices.push(format!("The study is not finished: {files} not there yet. Run it again to go on."));
        }
        let mut keys: Vec<(Key, Option<Question>)> = Vec::new();
        let mut collective: Vec<(Key, Collective)> = Vec::new();
        for Source { path, name: called, named, rows, run, written } in sources.files {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            all.notice(&file, &rows, run.as_ref());
            let known = run.as_ref().and_then(|run| run.description.as_ref().ok());
            let asked = Question::of(&rows, known);
            let known = known.map(|run| origin::command_of(run, asked.as_ref().map(|asked| &asked.nodes)));
            let when = written.map_or(String::new(), |time| format!(", {}", origin::date(time)));
            let by = known.as_ref().map_or(String::new(), |command| format!(": {command}"));
            all.files.push(format!("{file}{when}{by}"));
            let rows = match rows {
                Rows::Training(log) => {
                    all.training.push(log);
                    continue;
                }
                rows if rows.count() == 0 => continue,
                Rows::Collective(rows) => {
                    let run = run.and_then(|run| run.description.ok());
                    let key = Key::of(run.as_ref(), path.clone());
                    let known = match run {
                        Some(Description::Collective(run)) => Some(run),
                        _ => None,
                    };
                    let more = Collective::new(&path, called, known, rows)?;
                    let more = collective.iter_mut().try_fold(more, |more, (_, known)| known.take(more));
                    collective.extend(more.map(|more| (key, more)));
                    continue;
                }
                rows => rows,
            };
            let run = run.and_then(|run| run.description.ok());
            let key = Key::of(run.as_ref(), path);
            // Class pairs are a sample, and belong to any results of their model; results about other nodes never do.
            let fits = |(known, question): &(Key, Option<Question>)| {
                *known == key && (question.is_none() || asked.is_none() || *question == asked)
            };
            let at = keys.iter().position(fits).unwrap_or_else(|| {
                let budget = run.as_ref().and_then(Description::budget);
                let attacked = Attacked::of(run.as_ref());
                // A budget of both is none of flips alone.
                let flips_alone = budget.filter(|_| attacked.edges().is_none());
                all.groups.push(Group {
                    name: called.clone(),
                    budget: run.as_ref().and_then(told).unwrap_or_else(|| "budget not known".into()),
                    attacked,
                    local: flips_alone.and_then(plain),
                    identity: run.as_ref().and_then(|run| run.input().cloned()),
                    ..Group::default()
                });
                keys.push((key, None));
                keys.len() - 1
            });
            if let Some(asked) = asked {
                let group = &mut all.groups[at];
                (group.population, group.deployed) = (asked.nodes.clone(), asked.deployed);
                group.question = asked.words();
                keys[at].1 = Some(asked);
            }
            let group = &mut all.groups[at];
            group
                .commands
                .extend(known.into_iter().filter(|command| !group.commands.contains(command)).collect::<Vec<_>>());
            // A study knows the name of its model; names of files are only alike.
            if named {
                all.groups[at].name = called;
            } else if !all.groups[at].named {
                all.groups[at].name = common(&all.groups[at].name, &called);
            }
            all.groups[at].named |= named;
            all.groups[at].take(rows, run.as_ref());
        }
        for (key, mut curve) in collective {
            // As deployed, less is robust than exactly.
            let plain = |question: &Option<Question>| question.as_ref().is_none_or(|asked| asked.deployed.is_none());
            for (at, _) in keys.iter().enumerate().filter(|(_, (known, asked))| *known == key && plain(asked)) {
                if !curve.is_beside_radii() {
                    curve.beside(&all.groups[at]);
                }
            }
            all.collective.push(curve);
        }
        all.tell_apart();
        Ok(all)
    }

    /// What the attacker's changes and budgets are called.
    pub fn words(&self) -> &'static Words {
        self.attacked.words()
    }

    /// Graph and model of all results that say theirs.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        let groups = self.groups.iter().filter_map(|group| group.identity.as_ref());
        groups.chain(self.collective.iter().filter_map(Collective::identity))
    }

    /// Counts what a graph alone knows: how many nodes the rows about changed edges depend on.
    pub fn measure(&mut self, landscape: &Landscape) {
        for group in self.groups.iter_mut().filter(|group| group.attacked.edges().is_some()) {
            for row in group.verdicts.iter_mut().flat_map(|verdicts| &mut verdicts.rows) {
                row.neighbourhood = edges::measure(landscape, row.node);
            }
            for row in group.radii.iter_mut().flat_map(|radii| &mut radii.rows) {
                row.neighbourhood = edges::measure(landscape, row.node);
            }
        }
    }

    fn notice(&mut self, file: &str, rows: &Rows, run: Option<&Run>) {
        let count = rows.count();
        if count == 0 {
            self.notices.push(format!("{file} holds no rows: nothing is drawn from it."));
        } else if let Some(run) = run
            && count < run.total
        {
            self.notices.push(format!("{file} holds {count} of {} rows: its run is not finished.", run.total));
        }
        let by_itself = "its budget is not known, and it is drawn by itself.";
        match run.map(|run| &run.description) {
            _ if count == 0 => {}
            None if matches!(rows, Rows::Training(_)) => {}
            None => self.notices.push(format!("There is no {file}.run.json beside {file}: {by_itself}")),
            Some(Err(problem)) => {
                self.notices.push(format!("{file}.run.json is not understood ({problem}): {by_itself}"));
            }
            Some(Ok(_)) => {}
        }
    }

    /// Groups are told apart by what differs between them: budgets, nodes, questions. Readers are told that there are
    /// several.
    fn tell_apart(&mut self) {
        type Property = fn(&Group) -> String;
        let apart: [(&str, Property); 3] = [
            ("belong to different budgets", |group| group.budget.clone()),
            ("are about different nodes", |group| group.population.words()),
            ("answer different questions", |group| match group.question.as_str() {
                "" => "predicted classes, exactly".into(),
                question => question.into(),
            }),
        ];
        let mut names: Vec<Vec<String>> = vec![Vec::new(); self.groups.len()];
        for (what, of) in apart {
            let mut words: Vec<String> = self.groups.iter().map(of).collect();
            words.sort();
            words.dedup();
            if words.len() < 2 {
                continue;
            }
            let all = words.join("; ");
            self.notices.push(format!(
                "The results {what} ({all}). They are drawn side by side and never added up or compared."
            ));
            for (name, group) in names.iter_mut().zip(&self.groups) {
                name.push(of(group));
            }
        }
        for (group, words) in self.groups.iter_mut().zip(names).filter(|(_, words)| !words.is_empty()) {
            group.name = format!("{} ({})", group.name, words.join("; "));
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for group in &mut self.groups {
            let count = seen.entry(group.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                group.name = format!("{} #{count}", group.name);
            }
        }
    }
}

impl Group {
    fn take(&mut self, rows: Rows, run: Option<&Description>) {
        let method = Method::of(run);
        let global = run.and_then(|run| run.budget()?.global);
        let global = global.or(run.and_then(Description::edges).and_then(|run| run.edges.global));
        match rows {
            Rows::Nodes(rows) => {
                self.verdicts.push(Verdicts { method, global, rows });
                self.verdicts.sort_by_key(|verdicts| (verdicts.global, verdicts.method));
            }
            Rows::Radii(rows) => {
                let seen = rows.iter().flat_map(|row| [row.certified, row.attacked]);
                let limit = match run {
                    Some(Description::Radius(FlipRun { max_global: Some(limit), .. }))
                    | Some(Description::RadiusEdges(EdgeRun { max_global: Some(limit), .. })) => *limit,
                    _ => seen.flatten().max().unwrap_or(0),
                };
                self.radii.push(Radii { method, limit, rows });
                self.radii.sort_by_key(|radii| radii.method);
            }
            // Solvers' rows say more than those of a study's own sample.
            Rows::Pairs(rows) => {
                let solved = |rows: &[PairRecord]| rows.iter().filter(|row| row.lp().is_some()).count();
                if (solved(&rows), rows.len()) > (solved(&self.pairs), self.pairs.len()) {
                    self.pairs_global = global;
                    self.pairs = rows;
                }
            }
            Rows::Collective(_) | Rows::Training(_) => {}
        }
    }

    /// The verdicts that the table and the figures about single nodes are made from: the strongest method, at the
    /// largest `Q` that has it.
    pub fn headline(&self) -> Option<&Verdicts> {
        self.verdicts.iter().max_by_key(|verdicts| (verdicts.method, verdicts.global))
    }

    /// What its figures are made from.
    pub fn made(&self) -> Made {
        let nodes = match self.question.as_str() {
            "" => self.population.words(),
            question => format!("{}, {question}", self.population.words()),
        };
        Made { name: self.name.clone(), nodes, commands: self.commands.clone() }
    }

    /// What the attacker's changes and budgets are called.
    pub fn words(&self) -> &'static Words {
        self.attacked.words()
    }

    /// What its rows are about, one of them and several.
    pub fn targets(&self) -> [&'static str; 2] {
        if self.classifies_graphs() { ["graph", "graphs"] } else { ["node", "nodes"] }
    }

    /// Are its rows about graphs?
    pub fn classifies_graphs(&self) -> bool {
        self.identity.as_ref().is_some_and(Identity::classifies_graphs)
    }

    /// The smallest witness known against each node.
    pub fn witnesses(&self) -> BTreeMap<u64, &Witness> {
        let mut smallest: BTreeMap<u64, &Witness> = BTreeMap::new();
        let radii = self.radii.iter().flat_map(|radii| &radii.rows).filter(|row| row.attacked.is_some());
        let verdicts = self.verdicts.iter().flat_map(|verdicts| &verdicts.rows);
        let verdicts = verdicts.filter(|row| row.verdict == Verdict::NonRobust);
        let radii = radii.map(|row| (row.node, &row.witness));
        for (node, witness) in radii.chain(verdicts.map(|row| (row.node, &row.witness))) {
            let known = smallest.entry(node).or_insert(witness);
            // Rows of radii do not have values.
            let more = witness.len() == known.len() && witness.values().len() > known.values().len();
            if witness.len() < known.len() || more {
                *known = witness;
            }
        }
        smallest
    }

    /// The radii by the strongest method.
    pub fn best_radii(&self) -> Option<&Radii> {
        self.radii.iter().max_by_key(|radii| radii.method)
    }
}

/// What two names of one model have in common, if that is a name: `gcn` for `gcn-Q3` and `gcn-Q12`.
pub(super) fn common(one: &str, other: &str) -> String {
    if one == other {
        return one.to_string();
    }
    let same = one.chars().zip(other.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x);
    let prefix: String = same.collect();
    let prefix = prefix.trim_end_matches(|c: char| "-_. Q=".contains(c));
    if prefix.chars().count() >= 2 { prefix.to_string() } else { one.to_string() }
}

/// What results are about, beside their model and budget.
#[derive(Clone, Debug, PartialEq)]
struct Question {
    nodes: Population,
    /// Is the label to be kept, and not the predicted class?
    labels: bool,
    deployed: Option<Execution>,
}

impl Question {
    /// Nothing, if the rows are not about nodes.
    fn of(rows: &Rows, run: Option<&Description>) -> Option<Question> {
        let ids = match rows {
            Rows::Nodes(rows) => rows.iter().map(|row| row.node).collect(),
            Rows::Radii(rows) => rows.iter().map(|row| row.node).collect(),
            _ => return None,
        };
        let of = run.and_then(Description::nodes).map(|(count, set)| set.map_or(count, |set| set.of));
        let (labels, deployed) = match run {
            Some(Description::Certify(run)) => (run.class == Some(Class::Labels), run.deployed),
            Some(Description::Radius(run)) => (false, run.deployed),
            Some(Description::CertifyEdges(run) | Description::RadiusEdges(run)) => (run.class == Class::Labels, None),
            Some(Description::CertifyJoint(run)) => (run.class == Class::Labels, None),
            _ => (false, None),
        };
        let graphs = run.is_some_and(|run| run.targets() == "graphs");
        Some(Question { nodes: Population::new(ids, of).of_graphs(graphs), labels, deployed })
    }

    fn words(&self) -> String {
        let labels = self.labels.then(|| "labels are to be kept".to_string());
        let deployed = self.deployed.map(|execution| format!("as deployed in {}", origin::format_of(&execution)));
        [labels, deployed].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// What tells groups apart.
#[derive(PartialEq)]
enum Key {
    /// Input and local budget.
    Run(Identity, BudgetRecord),
    /// The same of changed edges.
    Edges(Identity, EdgeBudgetRecord),
    /// The local budget of flips, and the whole one of edges that are changed at the same time.
    Both(Identity, BudgetRecord, EdgeBudgetRecord),
    /// Without its run, a file is only like itself.
    File(PathBuf),
}

impl Key {
    fn of(run: Option<&Description>, path: PathBuf) -> Key {
        if let Some(run) = run.and_then(Description::edges) {
            return Key::Edges(run.input.clone(), EdgeBudgetRecord { global: None, ..run.edges.clone() });
        }
        if let Some((input, (flips, edges))) = run.and_then(|run| Some((run.input()?, both(run)?))) {
            return Key::Both(input.clone(), flips.without_global(), edges.clone());
        }
        let parts = run.and_then(|run| Some((run.input()?.clone(), run.budget()?.without_global())));
        parts.map_or(Key::File(path), |(input, budget)| Key::Run(input, budget))
    }
}

/// What is attacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attacked {
    /// Attributes are flipped, or categories changed.
    #[default]
    Flips,
    /// Attributes are moved within ranges.
    Moves,
    /// Edges are changed.
    Edges(EdgeAttack),
    /// Attributes are flipped and edges changed at the same time.
    Both(EdgeAttack),
}

/// Both budgets, if a run is about flips and changed edges at once.
fn both(run: &Description) -> Option<(&BudgetRecord, &EdgeBudgetRecord)> {
    if let Description::CertifyJoint(run) = run { Some((&run.budget, &run.edges)) } else { None }
}

impl Attacked {
    fn of(run: Option<&Description>) -> Attacked {
        let Some(run) = run else { return Attacked::Flips };
        match (run.edges(), both(run), run.budget()) {
            (Some(run), _, _) => Attacked::Edges(EdgeAttack::of(&run.edges)),
            (_, Some((_, edges)), _) => Attacked::Both(EdgeAttack::of(edges)),
            (_, _, Some(budget)) if budget.ranges.is_some() => Attacked::Moves,
            _ => Attacked::Flips,
        }
    }

    /// What is done to edges, if anything is.
    pub fn edges(self) -> Option<EdgeAttack> {
        if let Attacked::Edges(edges) | Attacked::Both(edges) = self { Some(edges) } else { None }
    }

    /// Are attributes left alone?
    pub fn spares_attributes(self) -> bool {
        matches!(self, Attacked::Edges(_))
    }

    fn words(self) -> &'static Words {
        const MOVES: Words = Words { change: "change", changes: "changes", things: "changes", ..Flips::WORDS };
        // `E` stays as it is, so that budgets and radii are those of flips.
        const BOTH: Words = Words { global: "Q", local: "q", ..Joint::WORDS };
        match self {
            Attacked::Flips => &Flips::WORDS,
            Attacked::Moves => &MOVES,
            Attacked::Edges(edges) => edges.words(),
            Attacked::Both(_) => &BOTH,
        }
    }
}

/// What is attacked in all sources that speak of an attack.
fn one_attack(files: &[Source]) -> Result<Attacked, ReportError> {
    let attacked = |source: &Source| Attacked::of(source.run.as_ref().and_then(|run| run.description.as_ref().ok()));
    let attacks: Vec<&Source> = files.iter().filter(|source| !matches!(source.rows, Rows::Training(_))).collect();
    let first = attacks.first().map_or(Attacked::Flips, |source| attacked(source));
    let (same, others): (Vec<&Source>, Vec<&Source>) =
        attacks.into_iter().partition(|source| attacked(source) == first);
    if !others.is_empty() {
        let list = |sources: &[&Source]| {
            sources.iter().map(|source| source.path.display().to_string()).collect::<Vec<_>>().join(" and ")
        };
        return Err(ReportError::Attacks { files: format!("{} against {}", list(&same), list(&others)) });
    }
    Ok(first)
}

/// What attackers may do but for what changes from run to run: `Q`, or `E` where edges alone are changed.
fn told(run: &Description) -> Option<String> {
    if let Some((flips, edges)) = both(run) {
        return Some(format!("{}; at the same time {}", words(flips), edges::budget(edges)));
    }
    let alone = |run: &EdgeRun| edges::budget(&EdgeBudgetRecord { global: None, ..run.edges.clone() });
    run.budget().map(words).or(run.edges().map(alone))
}

/// The local budget in a few words.
pub(super) fn words(budget: &BudgetRecord) -> String {
    let local = match &budget.local {
        LocalRecord::PerNode(_) => "q by node".to_string(),
        LocalRecord::Uniform(q) => format!("q = {q}"),
    };
    let direction = match budget.direction {
        Direction::Add => ", only additions",
        Direction::Remove => ", only removals",
        Direction::Both => "",
    };
    let frozen = budget.frozen_attributes.len();
    let frozen = if frozen > 0 { format!(", {frozen} attributes frozen") } else { String::new() };
    let moved = match &budget.ranges {
        None => String::new(),
        Some(RangeRecord::Epsilon(radius)) => format!("attributes moved by at most {radius}, "),
        Some(RangeRecord::Between { .. }) => "attributes moved within their ranges, ".to_string(),
    };
    format!("{moved}{local}{direction}{frozen}")
}

/// `q`, if the budget is as in the paper.
fn plain(budget: &BudgetRecord) -> Option<u64> {
    match budget.local {
        _ if budget.ranges.is_some() => None,
        LocalRecord::Uniform(q) if budget.frozen_attributes.is_empty() && budget.direction == Direction::Both => {
            Some(q)
        }
        _ => None,
    }
}

/// The one graph of all sources that say theirs.
fn one_graph(files: &[Source]) -> Result<Option<String>, ReportError> {
    let mut graphs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in files {
        let known = source.run.as_ref().and_then(|run| run.description.as_ref().ok()?.input());
        if let Some(input) = known {
            graphs.entry(input.graph.clone()).or_default().push(source.path.display().to_string());
        }
    }
    if graphs.len() > 1 {
        let files: Vec<String> = graphs.values().map(|files| files.join(" and ")).collect();
        return Err(ReportError::Graphs { files: files.join(" against ") });
    }
    Ok(graphs.into_keys().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_model_are_put_together() {
        assert_eq!(common("gcn-Q3", "gcn-Q12"), "gcn");
        assert_eq!(common("gcn", "gcn-exact-Q12"), "gcn");
        assert_eq!(common("gcn", "gcn"), "gcn");
        assert_eq!(common("rows", "more"), "rows");
    }
}
