//! Rows of results: as numpy columns, as records, as Arrow, and in files.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use gcnproof::Grounded;
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::description::{Description, NodeSet};
use gcnproof_results::record::edges::{EdgeRadiusRecord, EdgeRecord};
use gcnproof_results::record::joint::JointRecord;
use gcnproof_results::record::node::{Record, Tabled};
use gcnproof_results::record::pair::PairRecord;
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_results::record::{MarginRecord, NodeRecord, RadiusRecord};
use gcnproof_results::{Column, Journal, Mode, Sidecar, of_graphs};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arrow;
use crate::errors::{from_error, wrong};
use crate::objects::object;

/// The rows of a run, by kind.
pub enum Kind {
    /// Verdicts.
    Nodes(Vec<NodeRecord>),
    /// Radii.
    Radii(Vec<RadiusRecord>),
    /// Class pairs.
    Pairs(Vec<PairRecord>),
    /// Verdicts about removed edges.
    EdgeNodes(Vec<EdgeRecord>),
    /// Verdicts about flips and changed edges at once.
    JointNodes(Vec<JointRecord>),
    /// Radii in removed edges.
    EdgeRadii(Vec<EdgeRadiusRecord>),
    /// Budgets of one attack for the whole graph.
    Collective(Vec<CollectiveRecord>),
}

/// Kind, what the run was, its number of rows, and the rows that are there.
type Pickled = (String, String, usize, String);

/// The rows of a run and what the run was.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Rows {
    /// The rows.
    pub kind: Kind,
    /// What the run was; nothing, if its file does not say.
    pub fingerprint: Value,
    /// How many rows the whole run has.
    pub total: usize,
}

/// Calls the same code for each kind of rows.
macro_rules! each {
    ($kind:expr, $rows:ident => $body:expr) => {
        match $kind {
            Kind::Nodes($rows) => $body,
            Kind::Radii($rows) => $body,
            Kind::Pairs($rows) => $body,
            Kind::EdgeNodes($rows) => $body,
            Kind::JointNodes($rows) => $body,
            Kind::EdgeRadii($rows) => $body,
            Kind::Collective($rows) => $body,
        }
    };
}

impl Rows {
    /// The rows of a run.
    pub fn new(kind: Kind, description: &Description, total: usize) -> Rows {
        Rows { kind, fingerprint: description.fingerprint(), total }
    }

    fn schema(&self) -> &'static [Column] {
        match &self.kind {
            Kind::Nodes(rows) => {
                let exact = rows.iter().any(|row| row.exact_margins.is_some());
                let deployed = rows.iter().any(|row| row.own.deployed.is_some());
                let schema = match rows.iter().any(|row| row.own.witness_values.is_some()) {
                    true => NodeRecord::ranged_schema(deployed),
                    false => NodeRecord::schema(exact, deployed),
                };
                if rows.iter().any(|row| row.graphs) { of_graphs(schema) } else { schema }
            }
            Kind::Radii(rows) if rows.iter().any(|row| row.graphs) => of_graphs(RadiusRecord::SCHEMA),
            Kind::Radii(_) => RadiusRecord::SCHEMA,
            Kind::Pairs(_) => PairRecord::SCHEMA,
            Kind::EdgeNodes(rows) => EdgeRecord::schema(rows.iter().any(|row| row.exact_margins.is_some()), false),
            Kind::JointNodes(rows) if rows.iter().any(|row| row.graphs) => of_graphs(JointRecord::SCHEMA),
            Kind::JointNodes(_) => JointRecord::SCHEMA,
            Kind::EdgeRadii(_) => EdgeRadiusRecord::SCHEMA,
            Kind::Collective(_) => CollectiveRecord::SCHEMA,
        }
    }

    /// Rows as the formats see them, one after the other.
    fn values(&self) -> Box<dyn Iterator<Item = Value> + '_> {
        fn value(row: &impl Serialize) -> Value {
            serde_json::to_value(row).unwrap_or_default()
        }
        each!(&self.kind, rows => Box::new(rows.iter().map(value)))
    }

    /// After a selection, the run was about these nodes, or these budgets.
    fn describe(&mut self) {
        let keys: Vec<usize> =
            self.values().filter_map(|row| Some(row.get("node").or(row.get("graph"))?.as_u64()? as usize)).collect();
        let Ok(mut description) = Description::read(&self.fingerprint) else { return };
        let nodes = match &mut description {
            Description::Certify(run) => (&mut run.nodes, &mut run.node_set),
            Description::Radius(run) => (&mut run.nodes, &mut run.node_set),
            Description::CertifyEdges(run) | Description::RadiusEdges(run) => (&mut run.nodes, &mut run.node_set),
            Description::CertifyJoint(run) => (&mut run.nodes, &mut run.node_set),
            Description::Collective(run) => {
                if let Kind::Collective(rows) = &self.kind {
                    run.budgets = rows.iter().map(|row| row.q_global).collect();
                }
                self.fingerprint = description.fingerprint();
                return;
            }
            _ => return,
        };
        let of = nodes.1.as_ref().map_or(*nodes.0, |set| set.of);
        *nodes.1 = NodeSet::new(&keys, of);
        *nodes.0 = keys.len();
        self.fingerprint = description.fingerprint();
    }

    fn save_as<T: Serialize + DeserializeOwned + Clone>(
        &self,
        rows: &[T],
        path: &Path,
        key: fn(&T) -> u64,
        mode: Mode,
    ) -> Result<(), gcnproof_results::ResultError> {
        let mut journal = Journal::open(path, self.schema(), key, self.fingerprint.clone(), self.total, mode)?;
        rows.iter().try_for_each(|row| journal.push(row.clone()))?;
        journal.finish().map(drop)
    }
}

/// Some of the rows.
fn picked<T: Clone>(rows: &[T], places: &[usize]) -> Vec<T> {
    places.iter().filter_map(|&at| rows.get(at).cloned()).collect()
}

fn column<'py, T: numpy::Element, R>(py: Python<'py>, rows: &[R], of: impl Fn(&R) -> T) -> Bound<'py, PyAny> {
    let values: Vec<T> = rows.iter().map(of).collect();
    let array: Bound<PyArray1<T>> = values.into_pyarray(py);
    array.into_any()
}

/// A number of 64 bits with a sign, as numpy likes it; −1 where there is none.
fn signed(number: Option<u64>) -> i64 {
    number.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1)
}

/// The class pair with the smallest lower bound; one whose bound is not known counts as the smallest.
fn worst(margins: &[MarginRecord]) -> (f64, i64) {
    let lower = |margin: &MarginRecord| margin.lower.unwrap_or(f64::NEG_INFINITY);
    let worst = margins.iter().min_by(|a, b| lower(a).total_cmp(&lower(b)));
    worst.map_or((f64::NAN, -1), |margin| (margin.lower.unwrap_or(f64::NAN), signed(Some(margin.class))))
}

/// What the id of a row and its number of links are called.
fn names(graphs: bool) -> (&'static str, &'static str) {
    if graphs { ("graph", "edges") } else { ("node", "degree") }
}

/// Columns of verdicts; `changes` is what the number of changes of a witness is called.
fn node_columns<A: Tabled>(columns: &Bound<PyDict>, rows: &[Record<A>], changes: &str) -> PyResult<()> {
    let py = columns.py();
    let (target, links) = names(rows.iter().any(|row| row.graphs));
    columns.set_item(target, column(py, rows, |row| row.node as i64))?;
    columns.set_item("label", column(py, rows, |row| signed(row.label)))?;
    columns.set_item("predicted", column(py, rows, |row| row.predicted as i64))?;
    columns.set_item("reference", column(py, rows, |row| row.reference as i64))?;
    columns.set_item("verdict", rows.iter().map(|row| row.verdict.name()).collect::<Vec<_>>())?;
    columns.set_item("reason", rows.iter().map(|row| row.reason.name()).collect::<Vec<_>>())?;
    columns.set_item("margin", column(py, rows, |row| worst(&row.margins).0))?;
    columns.set_item("worst_class", column(py, rows, |row| worst(&row.margins).1))?;
    columns.set_item(changes, column(py, rows, |row| row.witness.len() as i64))?;
    columns.set_item(links, column(py, rows, |row| row.degree as i64))?;
    columns.set_item(A::WORDS.relevant, column(py, rows, |row| row.relevant as i64))?;
    columns.set_item("limit_hit", column(py, rows, |row| row.limit_hit))?;
    columns.set_item("seconds", column(py, rows, |row| row.seconds))
}

/// Columns of radii.
fn radius_columns<A: Tabled>(columns: &Bound<PyDict>, rows: &[RadiusRow<A>]) -> PyResult<()> {
    let py = columns.py();
    let (target, links) = names(rows.iter().any(|row| row.graphs));
    columns.set_item(target, column(py, rows, |row| row.node as i64))?;
    columns.set_item("label", column(py, rows, |row| signed(row.label)))?;
    columns.set_item("predicted", column(py, rows, |row| row.predicted as i64))?;
    columns.set_item("certified", column(py, rows, |row| signed(row.certified)))?;
    columns.set_item("attacked", column(py, rows, |row| signed(row.attacked)))?;
    columns.set_item(links, column(py, rows, |row| row.degree as i64))?;
    columns.set_item(A::WORDS.relevant, column(py, rows, |row| row.relevant as i64))?;
    columns.set_item("seconds", column(py, rows, |row| row.seconds))
}

#[pymethods]
impl Rows {
    /// Reads a results file of `certify`, `radius`, `collective` or `validate`.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> PyResult<Rows> {
        let sidecar = Sidecar::load(&path).map_err(|error| from_error(py, error))?;
        let (fingerprint, total) = sidecar.map_or((Value::Null, None), |found| (found.fingerprint, Some(found.total)));
        let ranged = !fingerprint["budget"]["ranges"].is_null();
        let graphs = Description::read(&fingerprint).is_ok_and(|run| run.targets() == "graphs");
        let columns = |of_nodes: &'static [Column]| if graphs { of_graphs(of_nodes) } else { of_nodes };
        let nodes = |exact, deployed| gcnproof_results::read(&path, columns(NodeRecord::schema(exact, deployed)));
        let others = || nodes(true, false).or_else(|_| nodes(false, true)).or_else(|_| nodes(true, true));
        let kind = match fingerprint["command"].as_str() {
            Some("radius") => gcnproof_results::read(&path, columns(RadiusRecord::SCHEMA)).map(Kind::Radii),
            Some("validate") => gcnproof_results::read(&path, PairRecord::SCHEMA).map(Kind::Pairs),
            Some("collective") => gcnproof_results::read(&path, CollectiveRecord::SCHEMA).map(Kind::Collective),
            Some("radius edges") => gcnproof_results::read(&path, EdgeRadiusRecord::SCHEMA).map(Kind::EdgeRadii),
            Some("certify joint") => gcnproof_results::read(&path, columns(JointRecord::SCHEMA)).map(Kind::JointNodes),
            Some("certify edges") => gcnproof_results::read(&path, EdgeRecord::schema(false, false))
                .or_else(|error| gcnproof_results::read(&path, EdgeRecord::schema(true, false)).map_err(|_| error))
                .map(Kind::EdgeNodes),
            _ if ranged => {
                let deployed = !fingerprint["deployed"].is_null();
                gcnproof_results::read(&path, columns(NodeRecord::ranged_schema(deployed))).map(Kind::Nodes)
            }
            _ => nodes(false, false).or_else(|error| others().map_err(|_| error)).map(Kind::Nodes),
        };
        let kind = kind.map_err(|error| from_error(py, error))?;
        let total = total.unwrap_or(each!(&kind, rows => rows.len()));
        Ok(Rows { kind, fingerprint, total })
    }

    /// Writes a results file, .parquet, .jsonl or .csv, as a run with `out` would.
    #[pyo3(signature = (path, force=false))]
    fn save(&self, py: Python, path: PathBuf, force: bool) -> PyResult<()> {
        let mode = if force { Mode::Force } else { Mode::Fresh };
        let saved = py.detach(|| match &self.kind {
            Kind::Nodes(rows) => self.save_as(rows, &path, |row| row.node, mode),
            Kind::Radii(rows) => self.save_as(rows, &path, |row| row.node, mode),
            Kind::Pairs(rows) => self.save_as(rows, &path, PairRecord::key, mode),
            Kind::EdgeNodes(rows) => self.save_as(rows, &path, |row| row.node, mode),
            Kind::JointNodes(rows) => self.save_as(rows, &path, |row| row.node, mode),
            Kind::EdgeRadii(rows) => self.save_as(rows, &path, |row| row.node, mode),
            Kind::Collective(rows) => self.save_as(rows, &path, |row| row.q_global, mode),
        });
        saved.map_err(|error| from_error(py, error))
    }

    /// Some of the rows, as a run that was about them alone.
    fn select(&self, places: Vec<usize>) -> Rows {
        let kind = match &self.kind {
            Kind::Nodes(rows) => Kind::Nodes(picked(rows, &places)),
            Kind::Radii(rows) => Kind::Radii(picked(rows, &places)),
            Kind::Pairs(rows) => Kind::Pairs(picked(rows, &places)),
            Kind::EdgeNodes(rows) => Kind::EdgeNodes(picked(rows, &places)),
            Kind::JointNodes(rows) => Kind::JointNodes(picked(rows, &places)),
            Kind::EdgeRadii(rows) => Kind::EdgeRadii(picked(rows, &places)),
            Kind::Collective(rows) => Kind::Collective(picked(rows, &places)),
        };
        let mut selected = Rows { kind, fingerprint: self.fingerprint.clone(), total: places.len() };
        selected.describe();
        selected
    }

    /// For pickle and copy: rows as the files of JSON lines have them.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let rows: Vec<Value> = self.values().collect();
        let parts = (self.kind().into(), self.fingerprint.to_string(), self.total, Value::from(rows).to_string());
        Ok((py.get_type::<Rows>().getattr("restore")?, parts))
    }

    /// What was pickled.
    #[staticmethod]
    fn restore(py: Python, kind: &str, fingerprint: &str, total: usize, rows: &str) -> PyResult<Rows> {
        fn read<T: DeserializeOwned>(rows: &str) -> serde_json::Result<Vec<T>> {
            serde_json::from_str(rows)
        }
        let read = || {
            let kind = match kind {
                "radius" => Kind::Radii(read(rows)?),
                "validate" => Kind::Pairs(read(rows)?),
                "certify edges" => Kind::EdgeNodes(read(rows)?),
                "certify joint" => Kind::JointNodes(read(rows)?),
                "radius edges" => Kind::EdgeRadii(read(rows)?),
                "collective" => Kind::Collective(read(rows)?),
                _ => Kind::Nodes(read(rows)?),
            };
            Ok(Rows { kind, fingerprint: serde_json::from_str(fingerprint)?, total })
        };
        read().map_err(|error: serde_json::Error| {
            wrong(py, &format!("these rows cannot be read: {error}"), "unpickle them with the version that wrote them")
        })
    }

    fn __len__(&self) -> usize {
        each!(&self.kind, rows => rows.len())
    }

    /// What the rows are about: `certify`, `radius` or `validate`; `certify edges`, `radius edges` or `certify joint`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Nodes(_) => "certify",
            Kind::Radii(_) => "radius",
            Kind::Pairs(_) => "validate",
            Kind::EdgeNodes(_) => "certify edges",
            Kind::JointNodes(_) => "certify joint",
            Kind::EdgeRadii(_) => "radius edges",
            Kind::Collective(_) => "collective",
        }
    }

    /// How many rows the whole run has.
    #[getter]
    fn total(&self) -> usize {
        self.total
    }

    /// What the run was.
    fn run<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.fingerprint)
    }

    /// Columns as numpy arrays, and as lists of text.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        match &self.kind {
            Kind::Nodes(rows) => {
                // What was asked for comes first.
                if rows.iter().any(|row| row.own.deployed.is_some()) {
                    let deployed = |row: &NodeRecord| row.own.deployed.map_or("undecided", |verdict| verdict.name());
                    columns.set_item("deployed", rows.iter().map(deployed).collect::<Vec<_>>())?;
                }
                node_columns(&columns, rows, "flips")?;
            }
            Kind::Radii(rows) => radius_columns(&columns, rows)?,
            Kind::EdgeNodes(rows) => node_columns(&columns, rows, "removed")?,
            Kind::JointNodes(rows) => {
                node_columns(&columns, rows, "flips")?;
                columns.set_item("changed_edges", column(py, rows, |row| row.own.witness_edges.len() as i64))?;
            }
            Kind::EdgeRadii(rows) => radius_columns(&columns, rows)?,
            Kind::Collective(rows) => {
                columns.set_item("Q", column(py, rows, |row| signed(Some(row.q_global))))?;
                columns.set_item("counted", column(py, rows, |row| row.counted as i64))?;
                columns.set_item("bound", column(py, rows, |row| row.bound as i64))?;
                columns.set_item("fractional_bound", column(py, rows, |row| row.fractional_bound))?;
                columns.set_item("robust", column(py, rows, |row| row.robust as i64))?;
                columns.set_item("broken", column(py, rows, |row| row.broken as i64))?;
                columns.set_item("listed", column(py, rows, |row| row.listed))?;
                columns.set_item("bound_seconds", column(py, rows, |row| row.bound_seconds))?;
                columns.set_item("attack_seconds", column(py, rows, |row| row.attack_seconds))?;
            }
            Kind::Pairs(_) => {
                for of in self.schema() {
                    let cells = self.values().map(|row| object(py, &row[of.name])).collect::<PyResult<Vec<_>>>()?;
                    columns.set_item(of.name, cells)?;
                }
            }
        }
        Ok(columns)
    }

    /// One row as a dictionary.
    fn row<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        let value = each!(&self.kind, rows => rows.get(at).map(serde_json::to_value));
        match value {
            Some(Ok(value)) => object(py, &value),
            _ => Err(wrong(py, &format!("there is no row {at}"), "rows are counted from 0")),
        }
    }

    /// The flips, or the edges, of every witness; the flips of every budget.
    fn witnesses(&self) -> Vec<Vec<(u32, u32)>> {
        let flips = |witness: &[gcnproof::Flip]| witness.iter().map(|&flip| flip.into()).collect();
        let edges = |witness: &[gcnproof::edges::Edge]| witness.iter().map(|edge| (edge.0, edge.1)).collect();
        match &self.kind {
            Kind::Nodes(rows) => rows.iter().map(|row| flips(&row.witness)).collect(),
            Kind::Radii(rows) => rows.iter().map(|row| flips(&row.witness)).collect(),
            Kind::Pairs(_) => Vec::new(),
            Kind::EdgeNodes(rows) => rows.iter().map(|row| edges(&row.witness)).collect(),
            Kind::JointNodes(rows) => rows.iter().map(|row| flips(&row.witness)).collect(),
            Kind::EdgeRadii(rows) => rows.iter().map(|row| edges(&row.witness)).collect(),
            Kind::Collective(rows) => rows.iter().map(|row| flips(&row.flips)).collect(),
        }
    }

    /// Where attributes are flipped and edges changed at once, the edges of every witness.
    fn witness_edges(&self) -> Vec<Vec<(u32, u32)>> {
        let Kind::JointNodes(rows) = &self.kind else { return Vec::new() };
        rows.iter().map(|row| row.own.witness_edges.iter().map(|edge| (edge.0, edge.1)).collect()).collect()
    }

    /// All columns as a stream of Arrow (the PyCapsule protocol), as the files have them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer ignore what is only asked for.
        let _ = requested_schema;
        let batch = arrow::batch(self.schema(), self.values())
            .map_err(|problem| crate::errors::bug(&format!("rows are no Arrow table ({problem})")))?;
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
