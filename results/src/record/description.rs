//! The description of a run: everything that determines its rows, as it stands beside them in `….run.json`.
//!
//! Two runs are the same run if their descriptions are written alike: `--resume` asks for that. Fields that older
//! versions did not write are optional, and fields that this one does not know are passed over.

use gcnproof::internals::certify::settings::Bound;
use gcnproof::internals::collective::families::Rows;
use gcnproof::internals::deployed::execution::Execution;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::edges::EdgeRun;
pub use super::joint::JointRun;
pub use super::node_set::NodeSet;
pub use super::settings::{
    BudgetRecord, Class, EffortRecord, Identity, Level, LocalRecord, PartRecord, RangeRecord, USUAL_SECONDS,
};

/// What a run is, by its command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Description {
    /// Verdicts.
    Certify(FlipRun),
    /// Radii.
    Radius(FlipRun),
    /// One attack for all nodes.
    Collective(CollectiveRun),
    /// Class pairs, with solvers or without.
    Validate(ValidateRun),
    /// A published table.
    #[serde(rename = "reproduce table1")]
    Table1(TableRun),
    /// Verdicts about removed edges.
    #[serde(rename = "certify edges")]
    CertifyEdges(EdgeRun),
    /// Radii in removed edges.
    #[serde(rename = "radius edges")]
    RadiusEdges(EdgeRun),
    /// Verdicts about flips and changed edges at once.
    #[serde(rename = "certify joint")]
    CertifyJoint(JointRun),
}

/// A run of `certify` or of `radius`, or a step of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlipRun {
    /// Graph and model.
    pub input: Identity,
    /// The attacker's means; without `Q`, where the run is about radii.
    pub budget: BudgetRecord,
    /// Which bounds certify; `radius` takes the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Nothing above this `Q` is tried, where the run is about radii.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_global: Option<u64>,
    /// How far the run goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortRecord>,
    /// The class that is to be kept; of radii, the predicted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// How many nodes.
    pub nodes: usize,
    /// Which nodes, if not all of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_set: Option<NodeSet>,
    /// How the network runs, where verdicts hold for that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Execution>,
}

/// A run of `collective`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveRun {
    /// Graph and model.
    pub input: Identity,
    /// The attacker's means, without `Q`.
    pub budget: BudgetRecord,
    /// All `Q`.
    pub budgets: Vec<u64>,
    /// Nodes whose attributes one attacker may change, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacked_nodes: Option<u64>,
    /// What the bound rests on.
    pub rows: Rows,
    /// Who proposes multipliers, if not we.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// Which predictions count.
    pub class: Class,
    /// How far single nodes were searched; nothing where a file says what is known of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortRecord>,
    /// Were single nodes searched up to a few flips, and not up to the largest budget? Runs of bounds always are,
    /// without saying so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
    /// Swaps of the search for an attack, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swaps: Option<usize>,
    /// How many predictions count.
    pub nodes: usize,
    /// Which, if not all of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_set: Option<NodeSet>,
}

/// A run of `validate`, or the class pairs of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidateRun {
    /// Graph and model.
    pub input: Identity,
    /// The attacker's means.
    pub budget: BudgetRecord,
    /// The nodes that were drawn.
    pub nodes: Vec<usize>,
    /// `none` where no solver is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solvers: Option<String>,
    /// Limits of the solvers, where they are asked.
    #[serde(flatten)]
    pub limits: Option<SolverLimits>,
    /// Seconds for the exact margins of a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_limit: Option<f64>,
}

/// What solvers are given; no number of seconds is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolverLimits {
    /// Coefficients of an LP at most.
    pub max_cells: usize,
    /// Coefficients up to which every solver gets all columns.
    pub full_cells: usize,
    /// Integer variables at most.
    pub max_integers: usize,
    /// Seconds for each LP and ILP.
    pub time_limit: Option<f64>,
    /// Seconds for each MILP.
    pub milp_limit: Option<f64>,
}

/// A run of `reproduce table1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRun {
    /// Names of the graphs.
    pub graphs: Vec<String>,
    /// Settings of training, by loss. Their type stands in a room above this one, and nobody reads them.
    pub settings: Vec<Value>,
}

impl Description {
    /// The description in a [`Sidecar`](crate::Sidecar).
    ///
    /// # Errors
    /// What is not understood.
    pub fn read(fingerprint: &Value) -> Result<Description, String> {
        Description::deserialize(fingerprint).map_err(|error| error.to_string())
    }

    /// As it is written.
    pub fn fingerprint(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// How many nodes, and which if not all, where a run is about nodes.
    pub fn nodes(&self) -> Option<(usize, Option<&NodeSet>)> {
        match self {
            Description::Certify(run) | Description::Radius(run) => Some((run.nodes, run.node_set.as_ref())),
            Description::CertifyEdges(run) | Description::RadiusEdges(run) => Some((run.nodes, run.node_set.as_ref())),
            Description::CertifyJoint(run) => Some((run.nodes, run.node_set.as_ref())),
            Description::Collective(run) => Some((run.nodes, run.node_set.as_ref())),
            Description::Validate(_) | Description::Table1(_) => None,
        }
    }

    /// In words, how the nodes of this run differ from those of one that is to go on with it; `None` if they do not.
    pub fn other_nodes(&self, now: &Description) -> Option<String> {
        let ((before, old), (count, new)) = (self.nodes()?, now.nodes()?);
        let (total, targets) = (old.or(new)?.of, now.targets());
        let words = |count: usize, set: Option<&NodeSet>| match set {
            Some(set) => format!("{targets} {} ({count} {targets})", set.ids),
            None if count == total => format!("all {count} {targets}"),
            None => format!("{count} {targets} that an older version of gcnproof did not name"),
        };
        (old.map(|set| &set.digest) != new.map(|set| &set.digest))
            .then(|| format!("it is about {}, and now {} are asked for", words(before, old), words(count, new)))
    }

    /// What rows are about, in a word: `nodes` or `graphs`.
    pub fn targets(&self) -> &'static str {
        if self.input().is_some_and(Identity::classifies_graphs) { "graphs" } else { "nodes" }
    }

    /// Graph and model, where there is one of each.
    pub fn input(&self) -> Option<&Identity> {
        match self {
            Description::Certify(run) | Description::Radius(run) => Some(&run.input),
            Description::Collective(run) => Some(&run.input),
            Description::Validate(run) => Some(&run.input),
            Description::CertifyEdges(run) | Description::RadiusEdges(run) => Some(&run.input),
            Description::CertifyJoint(run) => Some(&run.input),
            Description::Table1(_) => None,
        }
    }

    /// The attacker's means, where they are not fixed.
    pub fn budget(&self) -> Option<&BudgetRecord> {
        match self {
            Description::Certify(run) | Description::Radius(run) => Some(&run.budget),
            Description::Collective(run) => Some(&run.budget),
            Description::Validate(run) => Some(&run.budget),
            Description::CertifyJoint(run) => Some(&run.budget),
            Description::Table1(_) | Description::CertifyEdges(_) | Description::RadiusEdges(_) => None,
        }
    }

    /// The run, if it is about removed edges.
    pub fn edges(&self) -> Option<&EdgeRun> {
        match self {
            Description::CertifyEdges(run) | Description::RadiusEdges(run) => Some(run),
            _ => None,
        }
    }

    /// Which bounds certify, if that was written.
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Description::Certify(run) | Description::Radius(run) => run.bound,
            _ => None,
        }
    }

    /// How far the run goes, if that was written.
    pub fn effort(&self) -> Option<EffortRecord> {
        match self {
            Description::Certify(run) | Description::Radius(run) => run.effort,
            Description::CertifyEdges(run) | Description::RadiusEdges(run) => Some(run.effort),
            Description::CertifyJoint(run) => Some(run.effort),
            Description::Collective(run) => run.effort,
            Description::Validate(_) | Description::Table1(_) => None,
        }
    }

    /// Which searches the run makes: bounds alone, if nothing else was written.
    pub fn level(&self) -> Level {
        self.effort().map_or(Level::Bounds, |effort| effort.level)
    }
}

#[cfg(test)]
mod tests {
    use gcnproof::internals::problem::budget::Direction;
    use serde_json::json;

    use super::*;

    /// Descriptions as versions before wrote them are read, and written again to the letter, so that their runs can be
    /// resumed.
    #[test]
    fn what_was_written_before_is_read_and_written_alike() {
        let input = json!({ "graph": "g", "model": "m", "message_passing": ["gcn"] });
        let local = json!({ "local": 14, "direction": "both", "frozen_attributes": [] });
        let by_node = json!({ "local": [0, 3], "direction": "add", "frozen_attributes": [1, 2], "global": 12 });
        let effort = json!({ "level": "complete", "time_limit": 2.0, "node_limit": null });
        let minimize =
            json!({ "level": "minimize", "time_limit": null, "node_limit": 7, "gap": 0.1, "exact_margins": true });
        for run in [
            json!({ "command": "certify", "input": input, "budget": by_node, "bound": "best", "effort": effort, "class": "predicted", "nodes": 2708 }),
            json!({ "command": "certify", "input": input, "budget": by_node, "bound": "paper", "class": "labels", "nodes": 1 }),
            json!({ "command": "certify", "input": input, "budget": by_node, "bound": "best", "effort": minimize, "class": "predicted", "nodes": 1 }),
            json!({ "command": "radius", "input": input, "budget": local, "max_global": 40, "effort": effort, "nodes": 3 }),
            json!({ "command": "radius", "input": input, "budget": local, "max_global": u64::MAX, "nodes": 3 }),
            json!({ "command": "radius", "input": input, "budget": local, "bound": "paper", "max_global": 40, "effort": effort, "nodes": 3 }),
            json!({ "command": "validate", "input": input, "budget": by_node, "nodes": [1, 5], "solvers": "none", "exact_limit": 2.0 }),
            json!({ "command": "validate", "input": input, "budget": by_node, "nodes": [1, 5], "max_cells": 5, "full_cells": 2,
                    "max_integers": 3, "time_limit": 10.0, "milp_limit": 2.0, "exact_limit": 2.0 }),
            json!({ "command": "reproduce table1", "graphs": ["citeseer"], "settings": [{ "loss": "ce" }] }),
        ] {
            let description = Description::read(&run).unwrap_or_else(|problem| panic!("{run}: {problem}"));
            assert_eq!(description.fingerprint(), run);
        }
    }

    #[test]
    fn sets_of_nodes_are_told_apart() {
        let run = |nodes: &[usize]| {
            Description::Radius(FlipRun {
                input: Identity {
                    graph: "g".into(),
                    model: "m".into(),
                    message_passing: vec!["gcn".into()],
                    part: None,
                },
                budget: BudgetRecord {
                    global: None,
                    local: LocalRecord::Uniform(1),
                    direction: Direction::Both,
                    frozen_attributes: vec![],
                    ranges: None,
                },
                bound: None,
                max_global: Some(3),
                effort: None,
                class: None,
                deployed: None,
                nodes: nodes.len(),
                node_set: NodeSet::new(nodes, 10),
            })
        };
        let all: Vec<usize> = (0..10).collect();
        let (low, high, some) = (run(&[0, 1, 2]), run(&[7, 8, 9]), run(&[1, 4, 5]));
        assert_eq!(low.other_nodes(&low), None);
        assert_eq!(run(&all).other_nodes(&run(&all)), None);
        let text = low.other_nodes(&high).unwrap();
        assert!(text.contains("0-2 (3 nodes)") && text.contains("7-9 (3 nodes)"), "{text}");
        assert!(low.other_nodes(&some).unwrap().contains("1,4-5"));
        assert!(run(&all).other_nodes(&low).unwrap().contains("all 10 nodes"));
        // Written before sets were: all nodes are known, some are not.
        let mut old = low.fingerprint();
        old.as_object_mut().unwrap().remove("node_set");
        let old = Description::read(&old).unwrap();
        assert!(old.other_nodes(&low).unwrap().contains("older version"));
        let many: Vec<usize> = (0..100).map(|at| 2 * at).collect();
        assert!(NodeSet::new(&many, 500).unwrap().ids.ends_with(",…"));
    }

    #[test]
    fn unknown_fields_are_passed_over_and_unknown_words_are_not() {
        let mut run = json!({ "command": "certify", "nodes": 3, "later": { "a": 1 },
            "input": { "graph": "g", "model": "m", "message_passing": ["gcn"], "later": 1 },
            "budget": { "local": 1, "direction": "both", "frozen_attributes": [], "later": null } });
        let description = Description::read(&run).unwrap();
        assert_eq!((description.level(), description.bound()), (Level::Bounds, None));
        assert_eq!(description.budget().unwrap().local, LocalRecord::Uniform(1));
        for (key, wrong) in [("command", json!("divine")), ("bound", json!("worst")), ("budget", json!({}))] {
            let before = run[key].take();
            run[key] = wrong;
            assert!(Description::read(&run).is_err(), "{run}");
            run[key] = before;
        }
    }
}
