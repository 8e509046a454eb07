//! What an attacker may do, as Python says it; and what Python needs to know of each attacker.

use std::time::Instant;

use gcnproof::edges::{EdgeBudget, EdgeKind, Edges, Joint, JointBudget};
use gcnproof::{Budget, BudgetError, Certifier, Direction, Flips, Graph, LocalBudget, RangeError, Ranges};
use gcnproof_cli::{edge_tables, explain as explaining, range_tables};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::BudgetRecord;
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRecord};
use gcnproof_results::record::node::Record;
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_run::flips::FlipOptions;
use gcnproof_run::question::{Answered, NodeQuestion};
use miette::{IntoDiagnostic, Result, miette};
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::errors::{raise, wrong};
use crate::rows::Kind;

/// How much may be changed at a node.
#[derive(FromPyObject)]
enum Local<'py> {
    /// So many changes.
    Changes(usize),
    /// A share of the attributes.
    Share(f64),
    /// Node by node.
    PerNode(PyArrayLike1<'py, i64, AllowTypeChange>),
}

/// Flips of attributes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FlipMeans<'py> {
    #[pyo3(item("Q"))]
    global: usize,
    q: Local<'py>,
    direction: String,
    freeze_nodes: Vec<i64>,
    freeze_attributes: Vec<i64>,
    ranges: Option<RangeMeans>,
}

/// The values that attributes may get where they are moved instead of flipped; with neither, those between the smallest
/// and the largest of each.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RangeMeans {
    epsilon: Option<f64>,
    limits: Option<[Vec<f64>; 2]>,
}

impl RangeMeans {
    fn of(&self, py: Python, graph: &Graph) -> PyResult<Ranges> {
        let ranges = match (self.epsilon, &self.limits) {
            (Some(radius), _) => Ranges::Ball(radius),
            (None, Some([low, high])) => Ranges::Between { low: low.clone(), high: high.clone() },
            (None, None) => Ranges::observed(graph),
        };
        ranges.check(graph).map_err(|error| {
            let help = match error {
                RangeError::Radius(_) => "give a number such as epsilon=0.01",
                _ => "give low and high, a number each or one for each attribute, between which all its values lie",
            };
            raise(py, "InputError", &format!("Ranges: {error}"), Some(help))
        })?;
        Ok(ranges)
    }
}

/// Removed or inserted edges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EdgeMeans<'py> {
    #[pyo3(item("E"))]
    global: usize,
    e: Option<Local<'py>>,
    keep_one: bool,
    freeze_nodes: Vec<i64>,
    freeze_edges: Vec<(i64, i64)>,
    kind: String,
    directed: bool,
    within: Option<usize>,
    candidates: Option<Vec<(i64, i64)>>,
}

/// What an attacker may do.
#[derive(FromPyObject)]
pub enum Attack<'py> {
    /// Attributes are flipped.
    Flips(FlipMeans<'py>),
    /// Edges are removed or inserted.
    Edges(EdgeMeans<'py>),
    /// Both at once.
    Joint(JointMeans<'py>),
}

/// Flips of attributes and changed edges at once.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct JointMeans<'py> {
    flips: FlipMeans<'py>,
    edges: EdgeMeans<'py>,
}

/// The means of one attacker.
pub trait Means<A: Answered> {
    /// How much may be changed in all.
    fn global(&self) -> usize;

    /// As the library takes it, with so many changes in all.
    fn budget(&self, py: Python, graph: &Graph, global: usize) -> PyResult<A::Budget>;
}

fn numbers(local: &PyArrayLike1<i64, AllowTypeChange>) -> Vec<i64> {
    local.as_array().iter().copied().collect()
}

impl Means<Flips> for FlipMeans<'_> {
    fn global(&self) -> usize {
        self.global
    }

    fn budget(&self, py: Python, graph: &Graph, global: usize) -> PyResult<Budget> {
        let refused = |error: gcnproof::BudgetError| {
            let help = match &error {
                BudgetError::Length { nodes, .. } => {
                    format!("give one whole number of flips for each of the {nodes} nodes")
                }
                BudgetError::Negative { .. } => "give whole numbers of flips, 0 or more".into(),
                BudgetError::OutOfRange { what, count, .. } => format!("give ids of {what}s from 0 to {}", count - 1),
                _ => return raise(py, "InputError", &error.to_string(), None),
            };
            raise(py, "InputError", &error.to_string(), Some(&help))
        };
        let budget = match &self.q {
            Local::Changes(q) => Budget::uniform(graph, global, *q),
            Local::Share(share) => {
                let q = LocalBudget::Percent(100.0 * share).flips(graph.entry_count());
                Budget::uniform(graph, global, q)
            }
            Local::PerNode(local) => Budget::per_node(graph, global, &numbers(local)).map_err(refused)?,
        };
        let direction = match self.direction.as_str() {
            "add" => Direction::Add,
            "remove" => Direction::Remove,
            _ => Direction::Both,
        };
        let mut budget = budget.with_direction(direction).freeze_nodes(&self.freeze_nodes).map_err(refused)?;
        if !self.freeze_attributes.is_empty() {
            budget = budget.freeze_attributes(graph, &self.freeze_attributes).map_err(refused)?;
        }
        if let Some(ranges) = &self.ranges {
            budget = budget.with_ranges(ranges.of(py, graph)?);
        }
        Ok(budget)
    }
}

impl Means<Edges> for EdgeMeans<'_> {
    fn global(&self) -> usize {
        self.global
    }

    fn budget(&self, py: Python, graph: &Graph, global: usize) -> PyResult<EdgeBudget> {
        let last = graph.node_count().saturating_sub(1);
        let refused = |error: gcnproof::edges::EdgeBudgetError| {
            let help = format!("give one whole number of edges, 0 or more, for each of the {} nodes", last + 1);
            raise(py, "InputError", &format!("at_node (e): {error}"), Some(&help))
        };
        let budget = match &self.e {
            None => EdgeBudget::uniform(graph, global, u32::MAX as usize),
            Some(Local::Changes(e)) => EdgeBudget::uniform(graph, global, *e),
            Some(Local::PerNode(local)) => EdgeBudget::per_node(graph, global, &numbers(local)).map_err(refused)?,
            Some(Local::Share(share)) => return Err(wrong(py, &format!("{share} edges"), "give a whole number")),
        };
        let kind = match self.kind.as_str() {
            "insert" => EdgeKind::Insert,
            "change" => EdgeKind::Change,
            _ => EdgeKind::Remove,
        };
        let budget = budget.kind(kind).directed(self.directed).keep_one(self.keep_one);
        let budget = budget.freeze_nodes(&self.freeze_nodes).map_err(|error| {
            raise(py, "InputError", &format!("freeze_nodes: {error}"), Some(&format!("give ids from 0 to {last}")))
        })?;
        let mut budget = budget.freeze_edges(graph, &self.freeze_edges).map_err(|error| {
            let help = "freeze edges that the graph has, each as a pair of ids: freeze_edges=[(0, 1), (1, 2)]";
            raise(py, "InputError", &format!("freeze_edges: {error}"), Some(help))
        })?;
        if let Some(hops) = self.within {
            budget = budget.within(hops);
        }
        match &self.candidates {
            Some(edges) => budget.listed(graph, edges).map_err(|error| {
                let help = format!(
                    "give pairs of ids from 0 to {last} without an edge between them, as in candidates=[(0, 5), (1, 7)], or \
                     candidates=2 for all nodes at most two edges apart"
                );
                raise(py, "InputError", &format!("candidates: {error}"), Some(&help))
            }),
            None => Ok(budget),
        }
    }
}

impl Means<Joint> for JointMeans<'_> {
    fn global(&self) -> usize {
        self.flips.global
    }

    fn budget(&self, py: Python, graph: &Graph, global: usize) -> PyResult<JointBudget> {
        let edges = self.edges.budget(py, graph, self.edges.global)?;
        Ok(JointBudget { flips: self.flips.budget(py, graph, global)?, edges })
    }
}

/// An attacker that Python knows.
pub trait Shown: Answered<Decider: Send> {
    /// What only questions about it say.
    fn options(py: Python, asked: &Asked, budget: &Self::Budget) -> PyResult<Self::Options>;

    /// Rows of verdicts.
    fn nodes(rows: Vec<Record<Self>>) -> Kind;

    /// Rows of radii.
    fn radii(rows: Vec<RadiusRow<Self>>) -> Kind;

    /// What the verdict on a node rests on, for machines and for people.
    fn explain(question: &NodeQuestion<Self>, node: usize) -> Result<(Value, String)>;
}

impl Shown for Flips {
    fn options(py: Python, asked: &Asked, budget: &Budget) -> PyResult<FlipOptions> {
        Ok(FlipOptions { bound: asked.bound(py)?, deployed: asked.execution(py)?, ..FlipOptions::new(budget) })
    }

    fn nodes(rows: Vec<Record<Flips>>) -> Kind {
        Kind::Nodes(rows)
    }

    fn radii(rows: Vec<RadiusRow<Flips>>) -> Kind {
        Kind::Radii(rows)
    }

    fn explain(question: &NodeQuestion<Flips>, node: usize) -> Result<(Value, String)> {
        let certifier: Certifier = Flips::radius_decider(question, ());
        if question.budget.ranges().is_some() {
            Flips::prepare(question)?;
            let start = Instant::now();
            let result = certifier.one(node).into_diagnostic()?;
            let record = question.options.budget_record.with_global(question.budget.global());
            let text = range_tables::explained(question.graph, &result, &record);
            let row = NodeRecord::new(question.graph, result, start.elapsed().as_secs_f64());
            return Ok((json!(row), text));
        }
        let told = gcnproof::explain(&certifier, node).into_diagnostic()?;
        let budget = certifier.budget();
        let first = question.graph.batch().map_or(node, |_| question.graph.nodes_of(node).start);
        let text = explaining::text(question.graph, &told, budget.global(), budget.local(first));
        Ok((explaining::explained(question.graph, &told), text))
    }
}

impl Shown for Edges {
    fn options(_: Python, _: &Asked, _: &EdgeBudget) -> PyResult<()> {
        Ok(())
    }

    fn nodes(rows: Vec<Record<Edges>>) -> Kind {
        Kind::EdgeNodes(rows)
    }

    fn radii(rows: Vec<RadiusRow<Edges>>) -> Kind {
        Kind::EdgeRadii(rows)
    }

    fn explain(question: &NodeQuestion<Edges>, node: usize) -> Result<(Value, String)> {
        let record = EdgeBudgetRecord::new(&question.budget, true);
        let certifier = Edges::decider(question, Edges::prepare(question)?, false);
        let start = Instant::now();
        let result = certifier.one(node).into_diagnostic()?;
        let seconds = start.elapsed().as_secs_f64();
        let text = edge_tables::explained(question.graph, &result, &record);
        let minima = result.minima.clone();
        let worst: Vec<_> = minima.iter().map(|known| known.as_ref().map(|known| &known.changes)).collect();
        let mut told = json!({ "worst_edges": worst, "edges": record });
        let row = EdgeRecord::new(question.graph, result, seconds).with_exact_margins(&minima);
        if let (Some(told), Value::Object(row)) = (told.as_object_mut(), serde_json::to_value(&row).into_diagnostic()?)
        {
            told.extend(row);
        }
        Ok((told, text))
    }
}

impl Shown for Joint {
    fn options(_: Python, _: &Asked, budget: &JointBudget) -> PyResult<BudgetRecord> {
        Ok(BudgetRecord::new(&budget.flips))
    }

    fn nodes(rows: Vec<Record<Joint>>) -> Kind {
        Kind::JointNodes(rows)
    }

    /// Python does not ask for them.
    fn radii(_: Vec<RadiusRow<Joint>>) -> Kind {
        Kind::JointNodes(Vec::new())
    }

    fn explain(_: &NodeQuestion<Joint>, _: usize) -> Result<(Value, String)> {
        Err(miette!("two attackers at once are not explained: ask about each of them alone"))
    }
}
