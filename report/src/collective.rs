//! Results of `collective`: how many predictions one attack breaks, and beside it what nodes withstand each by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gcnproof::internals::collective::families::Rows;
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::{Class, CollectiveRun, Description, Identity, Level, NodeSet};

use super::chart::figure::Made;
use super::error::ReportError;
use super::group::{Group, common, words};
use super::origin;

/// The results of one run, or of several that differ in their budgets alone.
#[derive(Clone, Debug, Default)]
pub struct Collective {
    /// What it is called: the name of its file.
    pub name: String,
    /// The run, if it is known.
    pub run: Option<CollectiveRun>,
    /// One row for each `Q`, rising.
    pub rows: Vec<CollectiveRecord>,
    /// What nodes withstand each by itself, by rising `Q`.
    pub alone: Vec<Alone>,
    /// Where that is known from.
    pub origin: AloneFrom,
}

/// How many of the predictions that count are safe at one `Q` if each is attacked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// `Q`.
    pub global: u64,
    /// Certified.
    pub robust: u64,
    /// Without a known attack of at most `Q` flips, where radii say that.
    pub unbroken: Option<u64>,
}

/// Where it is known from what nodes withstand each by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AloneFrom {
    /// The rows of the run: only at its budgets.
    #[default]
    Rows,
    /// Radii up to this `Q`.
    Radii(u64),
    /// The rows: the radii that were given are not of the nodes that count.
    OtherNodes,
}

impl Collective {
    /// A file of rows.
    ///
    /// # Errors
    /// Rows that cannot be true.
    pub fn new(
        path: &Path,
        name: String,
        run: Option<CollectiveRun>,
        mut rows: Vec<CollectiveRecord>,
    ) -> Result<Collective, ReportError> {
        if let Some((row, problem)) = rows.iter().find_map(|row| Some((row, wrong(row)?))) {
            let file = path.display().to_string();
            return Err(ReportError::Contradiction { file, budget: row.q_global, problem });
        }
        rows.sort_by_key(|row| row.q_global);
        let mut result = Collective { name, run, rows, ..Collective::default() };
        result.alone = result.rows.iter().map(alone).collect();
        Ok(result)
    }

    /// Takes the rows of the same run with other budgets; gives them back if they are of another.
    pub fn take(&mut self, other: Collective) -> Option<Collective> {
        let but_budgets = |run: &CollectiveRun| CollectiveRun { budgets: Vec::new(), ..run.clone() };
        let same = self.run.as_ref().zip(other.run.as_ref()).is_some_and(|(a, b)| but_budgets(a) == but_budgets(b));
        if !same {
            return Some(other);
        }
        self.name = common(&self.name, &other.name);
        self.rows.extend(other.rows);
        // Of two rows about one Q the one that says more.
        self.rows.sort_by_key(|row| (row.q_global, row.bound, std::cmp::Reverse(row.broken)));
        self.rows.dedup_by_key(|row| row.q_global);
        self.alone = self.rows.iter().map(alone).collect();
        None
    }

    /// Takes what single nodes withstand from the radii of the same graph, model and local budget.
    pub fn beside(&mut self, group: &Group) {
        let (Some(run), false) = (&self.run, group.radii.is_empty()) else { return };
        let mut nodes: BTreeMap<u64, Known> = BTreeMap::new();
        for row in group.radii.iter().flat_map(|radii| &radii.rows) {
            let known = nodes.entry(row.node).or_default();
            known.right = row.label == Some(row.predicted);
            known.certified = known.certified.max(row.certified);
            known.attacked = [known.attacked, row.attacked].into_iter().flatten().min();
        }
        let Some(counted) = counted(run, &nodes) else {
            self.origin = AloneFrom::OtherNodes;
            return;
        };
        let limit = group.radii.iter().map(|radii| radii.limit).max().unwrap_or(0);
        let sorted = |of: fn(&Known) -> Option<u64>| {
            let mut list: Vec<u64> = counted.iter().filter_map(|node| of(nodes.get(node)?)).collect();
            list.sort_unstable();
            list
        };
        // An attack on a single node may change more nodes than this attacker can: it says nothing then.
        let unlimited = run.attacked_nodes.is_none();
        let (certified, attacked) = (sorted(|known| known.certified), sorted(|known| known.attacked));
        let at = |global: u64| {
            let robust = certified.len() - certified.partition_point(|q| *q < global);
            let unbroken = counted.len() - attacked.partition_point(|q| *q <= global);
            Alone { global, robust: robust as u64, unbroken: unlimited.then_some(unbroken as u64) }
        };
        self.alone = (0..=limit).map(at).collect();
        self.origin = AloneFrom::Radii(limit);
    }

    /// Are the radii of its nodes known?
    pub fn is_beside_radii(&self) -> bool {
        matches!(self.origin, AloneFrom::Radii(_))
    }

    /// What its figures are made from.
    pub fn made(&self) -> Made {
        let run = self.run.as_ref();
        let of = run.map_or(String::new(), |run| match &run.node_set {
            Some(set) => format!(" of {} nodes ({})", set.of, set.ids.replace(',', ", ")),
            None => " nodes".into(),
        });
        let command = run.map(|run| origin::command_of(&Description::Collective(run.clone()), None));
        let nodes = format!("{} predictions{}", self.counted(), of);
        Made { name: self.name.clone(), nodes, commands: command.into_iter().collect() }
    }

    /// The predictions that are robust each by itself, at the `Q` of a row.
    pub fn robust_alone(&self, row: &CollectiveRecord) -> u64 {
        let alone = self.alone.iter().find(|alone| alone.global == row.q_global);
        // What lies above all radii, the row itself knows best.
        alone.map_or(row.robust, |alone| alone.robust)
    }

    /// Predictions that count.
    pub fn counted(&self) -> u64 {
        self.rows.iter().map(|row| row.counted).max().unwrap_or(0)
    }

    /// Graph and model, if they are known.
    pub fn identity(&self) -> Option<&Identity> {
        self.run.as_ref().map(|run| &run.input)
    }

    /// What the attacker may do but for `Q`, and which predictions count.
    pub fn conditions(&self) -> String {
        let Some(run) = &self.run else { return "budget not known".to_string() };
        let mut parts = vec![words(&run.budget)];
        parts.extend(run.attacked_nodes.map(|count| format!("attributes of at most {count} nodes change")));
        if run.rows == Rows::Count {
            parts.push("the bound rests on radii of single nodes alone".to_string());
        }
        if let Some(set) = &run.node_set {
            parts.push(format!("the predictions of {} of {} nodes count", run.nodes, set.of));
        }
        if run.class == Class::Labels {
            parts.push("only predictions that agree with the label count".to_string());
        }
        parts.join(", ")
    }

    /// Were single nodes looked at up to a few flips alone? Then their number falls faster than the truth.
    pub fn is_shallow(&self) -> bool {
        let by_bounds = |run: &CollectiveRun| run.effort.is_some_and(|effort| effort.level == Level::Bounds);
        let shallow = |run: &CollectiveRun| (by_bounds(run) || run.shallow) && run.rows != Rows::Count;
        !matches!(self.origin, AloneFrom::Radii(_)) && self.run.as_ref().is_some_and(shallow)
    }
}

/// The predictions of a row that are certified.
pub fn certified(row: &CollectiveRecord) -> u64 {
    row.counted.saturating_sub(row.bound)
}

/// The predictions of a row of which nothing is known.
pub fn unknown(row: &CollectiveRecord) -> u64 {
    row.bound.saturating_sub(row.broken)
}

fn alone(row: &CollectiveRecord) -> Alone {
    Alone { global: row.q_global, robust: row.robust, unbroken: None }
}

/// What cannot be true of a row.
fn wrong(row: &CollectiveRecord) -> Option<String> {
    let CollectiveRecord { counted, bound, broken, robust, .. } = row;
    if bound > counted {
        return Some(format!("{bound} predictions can be broken, but only {counted} count"));
    }
    if broken > bound {
        return Some(format!("{broken} predictions are broken, but no more than {bound} can be"));
    }
    (robust > counted).then(|| format!("{robust} predictions are robust, but only {counted} count"))
}

/// What is known of a node by itself.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Does its prediction agree with its label?
    right: bool,
    certified: Option<u64>,
    attacked: Option<u64>,
}

/// The nodes whose predictions count, if all of them have radii.
fn counted(run: &CollectiveRun, nodes: &BTreeMap<u64, Known>) -> Option<Vec<u64>> {
    let all = || nodes.keys().copied().collect::<Vec<u64>>();
    let Some(set) = &run.node_set else { return Some(all()).filter(|ids| ids.len() == run.nodes) };
    // A set is known by its digest. These are the ones that can be guessed.
    let right = || nodes.iter().filter(|(_, known)| known.right).map(|(id, _)| *id).collect();
    let written = || ids(&set.ids, nodes.len()).unwrap_or_default();
    let is_it = |ids: &Vec<u64>| {
        let plain: Vec<usize> = ids.iter().filter_map(|id| usize::try_from(*id).ok()).collect();
        NodeSet::new(&plain, set.of).is_some_and(|found| found.digest == set.digest)
            && ids.iter().all(|id| nodes.contains_key(id))
    };
    [all(), right(), written()].into_iter().find(is_it)
}

/// The ids of a list of ids and ranges, if it is not cut short and has no more than `most`.
fn ids(list: &str, most: usize) -> Option<Vec<u64>> {
    let mut found = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last.saturating_sub(first) >= most as u64 {
            return None;
        }
        found.extend(first..=last);
    }
    Some(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Method, Radii};
    use crate::row::{NodeRadius, Witness};
    use serde_json::json;

    fn row(q_global: u64, bound: u64, broken: u64) -> CollectiveRecord {
        CollectiveRecord {
            q_global,
            counted: 4,
            bound,
            fractional_bound: bound as f64,
            robust: 4 - bound,
            broken,
            listed: false,
            flips: Vec::new(),
            broken_nodes: Vec::new(),
            bound_seconds: 0.0,
            attack_seconds: 0.0,
            contradiction: None,
        }
    }

    fn run(budgets: &[u64], nodes: &[usize], class: &str) -> CollectiveRun {
        serde_json::from_value(json!({
            "input": { "graph": "g", "model": "m", "message_passing": ["gcn"] },
            "budget": { "local": 2, "direction": "both", "frozen_attributes": [] },
            "budgets": budgets, "rows": "all", "class": class, "nodes": nodes.len(),
            "node_set": NodeSet::new(nodes, 6),
        }))
        .unwrap()
    }

    /// Radii of six nodes: node `n` is certified up to `n` and attacked at `n + 1`; even ones agree with their labels.
    fn group() -> Group {
        let radius = |node: u64| NodeRadius {
            node,
            label: Some(node % 2),
            predicted: 0,
            degree: 0,
            neighbourhood: 1,
            certified: Some(node),
            attacked: (node < 3).then_some(node + 1),
            witness: Witness::Flips(Vec::new()),
        };
        let mut group = Group::default();
        group.radii.push(Radii { method: Method::Exact, limit: 3, rows: (0..6).map(radius).collect() });
        group
    }

    fn made(run: Option<CollectiveRun>, rows: Vec<CollectiveRecord>) -> Collective {
        Collective::new(Path::new("a.csv"), "a".into(), run, rows).unwrap()
    }

    #[test]
    fn radii_are_counted_over_the_nodes_that_count() {
        for (nodes, class, robust) in [
            (vec![1, 2, 3, 4], "predicted", [4, 4, 3, 2]),
            (vec![0, 2, 4], "labels", [3, 2, 2, 1]),
            ((0..6).collect(), "predicted", [6, 5, 4, 3]),
        ] {
            let mut found = made(Some(run(&[2, 9], &nodes, class)), vec![row(2, 2, 1), row(9, 3, 2)]);
            found.beside(&group());
            assert_eq!(found.origin, AloneFrom::Radii(3));
            let counts: Vec<u64> = found.alone.iter().map(|alone| alone.robust).collect();
            assert_eq!(counts, robust, "{nodes:?}");
            // Above the radii, the row knows: of four, three can be broken.
            assert_eq!(found.rows.iter().map(|row| found.robust_alone(row)).collect::<Vec<_>>(), [robust[2], 1]);
        }
        // Without the attack against node 0, one of the four would be unbroken more.
        let mut found = made(Some(run(&[2], &[0, 1, 2, 3], "predicted")), vec![row(2, 2, 1)]);
        found.beside(&group());
        assert_eq!(found.alone[1], Alone { global: 1, robust: 3, unbroken: Some(3) });
        let mut found = made(Some(run(&[2], &[0, 1, 2, 3], "predicted")), vec![row(2, 2, 1)]);
        found.run.as_mut().unwrap().attacked_nodes = Some(1);
        found.beside(&group());
        assert_eq!(found.alone[1], Alone { global: 1, robust: 3, unbroken: None });
        // Radii of some other nodes say nothing about these.
        let mut found = made(Some(run(&[2], &[1, 3, 5], "labels")), vec![row(2, 2, 1)]);
        found.run.as_mut().unwrap().node_set.as_mut().unwrap().ids.push_str(",…");
        found.beside(&group());
        assert_eq!((found.origin, found.alone.len()), (AloneFrom::OtherNodes, 1));
    }

    #[test]
    fn runs_that_differ_in_their_budgets_are_one_curve() {
        let nodes = [1, 2, 3, 4];
        let mut first = made(Some(run(&[5, 2], &nodes, "predicted")), vec![row(5, 3, 2), row(2, 2, 1)]);
        let second = made(Some(run(&[3, 5], &nodes, "predicted")), vec![row(3, 2, 2), row(5, 2, 2)]);
        assert!(first.take(second).is_none());
        let seen: Vec<(u64, u64)> = first.rows.iter().map(|row| (row.q_global, row.bound)).collect();
        assert_eq!(seen, [(2, 2), (3, 2), (5, 2)]);
        assert!(first.take(made(Some(run(&[3], &nodes, "labels")), vec![row(3, 2, 2)])).is_some());
        assert!(made(None, Vec::new()).take(made(None, Vec::new())).is_some());
    }

    #[test]
    fn rows_that_contradict_themselves_are_refused() {
        for (bound, broken, what) in [(5, 1, "only 4 count"), (2, 3, "no more than 2")] {
            let wrong = CollectiveRecord { robust: 0, ..row(7, bound.min(4), broken) };
            let wrong = CollectiveRecord { bound, ..wrong };
            let error = Collective::new(Path::new("a.csv"), "a".into(), None, vec![wrong]).unwrap_err().to_string();
            assert!(error.contains("a.csv") && error.contains("Q = 7") && error.contains(what), "{error}");
        }
    }
}
