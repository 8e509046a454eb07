//! The tables that `certify` and `radius` print at the end of a run.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::Write;

use gcnproof::{DeployedVerdict, Direction, Reason, Verdict};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::{BudgetRecord, EffortRecord, LocalRecord, RangeRecord};
use serde::Serialize;

use gcnproof_run::effort::{limit_words, limits};

use super::run;

/// Counts of one group of nodes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    /// Nodes in the group.
    pub nodes: usize,
    /// Certified robust.
    pub robust: usize,
    /// Broken by a witness.
    pub non_robust: usize,
    /// Neither.
    pub undecided: usize,
    /// Predicted class equals label, among those with a label.
    pub accuracy: Option<f64>,
    /// Mean over the nodes of the smallest lower bound.
    pub mean_margin: Option<f64>,
}

/// The summary of a `certify` run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What rows are about: nodes or graphs.
    #[serde(skip)]
    pub targets: &'static str,
    /// All of them.
    pub all: Group,
    /// The labelled ones.
    pub labelled: Group,
    /// The others.
    pub unlabelled: Group,
    /// Nodes that the paper's bound alone certifies, if it was evaluated.
    pub certified_by_paper: Option<usize>,
    /// Nodes that the anchored bound alone certifies, if it was evaluated.
    pub certified_by_anchored: Option<usize>,
    /// Non-robust nodes whose witness reaches exactly zero.
    pub ties: usize,
    /// Counts of the verdicts for the network as it runs, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed: Option<DeployedCounts>,
    /// What decided how many nodes, in the order of the cascade, and the time spent on them.
    pub steps: Vec<Step>,
    /// Wall-clock seconds of this run.
    pub seconds: f64,
    /// Nodes that this run has worked on; the others were there before.
    pub computed: usize,
}

/// Nodes by their verdict as deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeployedCounts {
    /// No execution loses the class.
    pub robust: usize,
    /// Every execution is fooled by the witness.
    pub non_robust: usize,
    /// Rounding may decide.
    pub rounding_dependent: usize,
    /// Nothing is known.
    pub undecided: usize,
    /// The class without any flip may depend on rounding.
    pub predictions_that_depend: usize,
    /// The median over the nodes of their largest error bound.
    pub median_error: Option<f64>,
}

impl DeployedCounts {
    /// Counts a row; its largest error is one of those whose median is told.
    fn add(&mut self, row: &NodeRecord, verdict: DeployedVerdict, errors: &mut Vec<f64>) {
        match verdict {
            DeployedVerdict::Robust => self.robust += 1,
            DeployedVerdict::NonRobust => self.non_robust += 1,
            DeployedVerdict::RoundingDependent => self.rounding_dependent += 1,
            _ => self.undecided += 1,
        }
        self.predictions_that_depend += usize::from(row.own.prediction_depends == Some(true));
        let largest = row.own.rounding.iter().flatten().map(|margin| margin.upper);
        errors.extend(largest.reduce(|x, y| Some(x?.max(y?))).flatten());
    }
}

/// One step of the cascade.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What decided.
    pub step: &'static str,
    /// Nodes decided by it.
    pub nodes: usize,
    /// Time spent on these nodes, over all threads.
    pub seconds: f64,
    /// Tree nodes examined for them.
    pub search_nodes: u64,
}

fn rows_of(steps: &[Step], name: &str) -> usize {
    steps.iter().filter(|step| step.step == name).map(|step| step.nodes).sum()
}

/// Says that nodes were given up at a limit, and at which; empty if none was.
pub fn limit_line(nodes: usize, targets: &str, effort: Option<EffortRecord>) -> String {
    match effort {
        // Without a limit of its own, a search ends only where there is more to list than memory should hold.
        Some(effort) if nodes > 0 && effort.time_limit.is_none() && effort.node_limit.is_none() => {
            format!(
                "the search for {nodes} {targets} was given up: there are too many sets of changes to list; ask for fewer, or limit \
                 insertions with --candidates-within 2\n"
            )
        }
        Some(effort) if nodes > 0 => {
            let limit = limit_words(&limits(effort.time_limit, effort.node_limit));
            format!(
                "the search for {nodes} {targets} was stopped at {limit}; --complete has none, --time-limit sets another\n"
            )
        }
        _ => String::new(),
    }
}

/// Has a step decided this row?
type Decides = fn(&NodeRecord) -> bool;

/// The steps of the cascade: which rows each has decided.
const STEPS: [(&str, Decides); 13] = [
    ("path bound", |row| row.reason == Reason::PathBound),
    ("paper's bound", |row| row.reason == Reason::PaperBound),
    ("anchored bound", |row| row.reason == Reason::AnchoredBound),
    ("mixtures", |row| row.reason == Reason::MixedBounds),
    ("all sets listed", |row| row.reason == Reason::Listed),
    ("witness", |row| matches!(row.reason, Reason::Witness | Reason::Tie) && row.search_nodes == 0),
    ("column generation", |row| row.reason == Reason::ColumnGeneration),
    ("branch and price", |row| row.reason == Reason::BranchAndPrice),
    ("linear bound", |row| row.reason == Reason::LinearBound),
    ("branch and bound", |row| row.reason == Reason::BranchAndBound),
    ("witness of the search", |row| matches!(row.reason, Reason::Witness | Reason::Tie) && row.search_nodes > 0),
    ("given up at a limit", |row| row.reason == Reason::Limit),
    ("left open", |row| row.reason == Reason::BoundNotPositive),
];

/// The steps as people read them.
const SHOWN: [(&str, &[&str]); 5] = [
    ("bounds", &["path bound", "paper's bound", "anchored bound", "mixtures", "linear bound"]),
    ("an attack", &["witness", "witness of the search"]),
    ("search", &["all sets listed", "column generation", "branch and price", "branch and bound"]),
    ("given up at a limit", &["given up at a limit"]),
    ("not searched", &["left open"]),
];

/// A mean in the making.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        self.sum += value.unwrap_or(0.0);
        self.count += usize::from(value.is_some());
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A group in the making.
#[derive(Clone, Debug, Default)]
struct Counts {
    group: Group,
    right: Mean,
    margin: Mean,
}

impl Counts {
    fn add(&mut self, row: &NodeRecord, worst_lower: Option<f64>) {
        self.group.nodes += 1;
        match row.verdict {
            Verdict::Robust => self.group.robust += 1,
            Verdict::NonRobust => self.group.non_robust += 1,
            Verdict::Undecided => self.group.undecided += 1,
        }
        self.right.add(row.label.map(|label| f64::from(u8::from(label == row.predicted))));
        self.margin.add(worst_lower);
    }

    fn group(self) -> Group {
        Group { accuracy: self.right.value(), mean_margin: self.margin.value(), ..self.group }
    }
}

impl Summary {
    /// Counts the rows, each of which is looked at once.
    pub fn new<R: Borrow<NodeRecord>>(
        rows: impl Iterator<Item = R>,
        labelled: &BTreeSet<u64>,
        seconds: f64,
        computed: usize,
    ) -> Summary {
        let [mut all, mut with_label, mut without] = <[Counts; 3]>::default();
        let (mut graphs, mut ties) = (false, 0);
        // Of a bound that was not evaluated for every node there is no count.
        let (mut paper, mut anchored) = (Some(0), Some(0));
        let (mut deployed, mut errors) = (None::<DeployedCounts>, Vec::new());
        let mut steps = STEPS.map(|(step, _)| Step { step, nodes: 0, seconds: 0.0, search_nodes: 0 });
        for row in rows {
            let row = row.borrow();
            graphs |= row.graphs;
            let worst = row.worst_lower();
            all.add(row, worst);
            if labelled.contains(&row.node) {
                with_label.add(row, worst)
            } else {
                without.add(row, worst)
            }
            for (count, certifies) in
                [(&mut paper, row.own.paper_certifies), (&mut anchored, row.own.anchored_certifies)]
            {
                *count = count.and_then(|count| Some(count + usize::from(certifies?)));
            }
            ties += usize::from(row.reason == Reason::Tie);
            if let Some(verdict) = row.own.deployed {
                deployed.get_or_insert_default().add(row, verdict, &mut errors);
            }
            for (step, (_, decides)) in steps.iter_mut().zip(STEPS) {
                if decides(row) {
                    step.nodes += 1;
                    step.seconds += row.seconds;
                    step.search_nodes += row.search_nodes;
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        if let Some(deployed) = &mut deployed {
            deployed.median_error = errors.get(errors.len() / 2).copied();
        }
        Summary {
            targets: if graphs { "graphs" } else { "nodes" },
            all: all.group(),
            labelled: with_label.group(),
            unlabelled: without.group(),
            certified_by_paper: paper,
            certified_by_anchored: anchored,
            ties,
            deployed,
            steps: steps.into_iter().filter(|step| step.nodes > 0).collect(),
            seconds,
            computed,
        }
    }

    /// As a table; `categories` are changed where attributes are one-hot.
    pub fn table(&self, budget: &BudgetRecord, categories: bool, effort: Option<EffortRecord>) -> String {
        let mut text = format!("budget: {}\n", budget_words(budget, categories));
        let _ = writeln!(
            text,
            "\n{:<12}{:>8}{:>18}{:>18}{:>18}{:>10}{:>13}",
            "", self.targets, "robust", "non-robust", "undecided", "accuracy", "mean margin"
        );
        // Where all nodes are labelled, or none is, the parts repeat the whole.
        let parts = self.labelled.nodes.min(self.unlabelled.nodes);
        for (name, group) in [("all", &self.all), ("labelled", &self.labelled), ("unlabelled", &self.unlabelled)] {
            if parts == 0 && name != "all" {
                continue;
            }
            let share = |count: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / group.nodes.max(1) as f64);
            let number = |x: Option<f64>, digits: usize| x.map_or("-".to_string(), |x| format!("{x:.digits$}"));
            let _ = writeln!(
                text,
                "{name:<12}{:>8}{:>18}{:>18}{:>18}{:>10}{:>13}",
                group.nodes,
                share(group.robust),
                share(group.non_robust),
                share(group.undecided),
                number(group.accuracy, 3),
                number(group.mean_margin, 4),
            );
        }
        let _ = writeln!(
            text,
            "\nmargin: how far (in logits) the class stays ahead of all others under the worst attack, at least; the mean is over {}",
            self.targets
        );
        for (name, count) in
            [("the paper's bound", self.certified_by_paper), ("our anchored bound", self.certified_by_anchored)]
        {
            if let Some(count) = count {
                let _ = writeln!(text, "certified by {name} alone: {count}");
            }
        }
        let _ = writeln!(text, "\n{:<24}{:>8}{:>12}{:>14}", "decided by", self.targets, "seconds", "tree nodes");
        for (name, steps) in SHOWN {
            let of: Vec<&Step> = self.steps.iter().filter(|step| steps.contains(&step.step)).collect();
            let (nodes, tree): (usize, u64) =
                (of.iter().map(|step| step.nodes).sum(), of.iter().map(|step| step.search_nodes).sum());
            let seconds: f64 = of.iter().map(|step| step.seconds).sum();
            if nodes > 0 {
                let _ = writeln!(text, "{name:<24}{nodes:>8}{seconds:>12.2}{tree:>14}");
            }
        }
        text.push('\n');
        let given_up = rows_of(&self.steps, "given up at a limit");
        text += &limit_line(given_up, self.targets, effort);
        if self.ties > 0 {
            let _ = writeln!(text, "ties (worst margin found is exactly 0): {}", self.ties);
        }
        if let Some(deployed) = &self.deployed {
            let _ = writeln!(
                text,
                "as deployed: {} robust, {} non-robust, {} rounding-dependent, {} undecided; {} predictions may depend on rounding",
                deployed.robust,
                deployed.non_robust,
                deployed.rounding_dependent,
                deployed.undecided,
                deployed.predictions_that_depend
            );
            if let Some(error) = deployed.median_error {
                let _ = writeln!(text, "rounding moves a margin by at most {error:.2e} (median over {})", self.targets);
            }
        }
        let (rate, targets) = (run::rate(self.computed as u64, self.seconds), self.targets);
        let _ = match (self.all.nodes.saturating_sub(self.computed), self.computed) {
            (0, computed) => writeln!(text, "{:.2} s, {computed} {targets}, {rate}", self.seconds),
            (before, 0) => writeln!(text, "{:.2} s; all {before} {targets} were there before", self.seconds),
            (before, computed) => writeln!(
                text,
                "{:.2} s, {computed} {targets}, {rate}; {before} {targets} were there before",
                self.seconds
            ),
        };
        text
    }
}

/// A budget of flips in words, or of changed `categories`.
pub fn budget_words(budget: &BudgetRecord, categories: bool) -> String {
    let local = match &budget.local {
        LocalRecord::PerNode(_) => "q given by node".to_string(),
        LocalRecord::Uniform(q) => format!("q = {q} per node"),
    };
    let flips = match budget.direction {
        Direction::Both => "attributes may be added and removed",
        Direction::Add => "attributes may only be added",
        Direction::Remove => "attributes may only be removed",
    };
    let global = budget.global.map_or_else(String::new, |global| global.to_string());
    let (changes, how) = match &budget.ranges {
        None if categories => ("changes", "each puts another category in the place of a row's own".into()),
        None => ("flips", flips.to_owned()),
        Some(RangeRecord::Epsilon(radius)) => ("entries", format!("each is moved by at most {radius}")),
        Some(RangeRecord::Between { .. }) => ("entries", "each is moved within the range of its attribute".into()),
    };
    format!("Q = {global} {changes} in all, {local}; {how}")
}
