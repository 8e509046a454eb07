//! Graphs and networks, from Python's arrays or from files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gcnproof::internals::problem::forward::forward;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::{Graph as PlainGraph, Network as PlainNetwork, Operator};
use gcnproof_check::matrix_digest;
use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{
    GraphFile, GraphOptions, LayerFile, ModelFile, ModelOptions, Normalisation, Pattern, Precision, SparseMatrix,
    TensorSource, describe_model,
};
use gcnproof_results::record::description::Identity;
use gcnproof_run::input;
use miette::Result;
use numpy::{
    AllowTypeChange, Element, IntoPyArray, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods, ToPyArray,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{from_error, from_report, wrong};

/// Offsets and column ids of a CSR matrix.
type Csr<'py> = (PyArrayLike1<'py, i64, AllowTypeChange>, Bound<'py, PyAny>, usize);

/// Names, where there are some.
type Names = Option<Vec<String>>;

/// A graph, shared with the work that goes on without Python's lock.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Graph(pub Arc<PlainGraph>);

/// Column ids as they are kept, copied once from whatever type Python holds.
fn ids(array: &Bound<PyAny>) -> PyResult<Vec<u32>> {
    if let Ok(array) = array.cast::<PyArray1<i32>>() {
        return Ok(array.try_readonly()?.as_array().iter().map(|&id| id as u32).collect());
    }
    let array: PyArrayLike1<i64, AllowTypeChange> = array.extract()?;
    Ok(array.as_array().iter().map(|&id| id as u32).collect())
}

/// A pattern. Python has sorted and checked it; what is not a pattern all the same is refused, since inner loops rely
/// on it.
fn pattern(py: Python, what: &str, rows: usize, csr: Csr) -> PyResult<Pattern> {
    let (offsets, indices, columns) = csr;
    let offsets: Vec<usize> = offsets.as_array().iter().map(|&at| at as usize).collect();
    let indices = ids(&indices)?;
    let found = Pattern { rows, columns, offsets, indices };
    let ends = found.offsets.len() == rows + 1
        && found.offsets.first() == Some(&0)
        && found.offsets.last() == Some(&found.indices.len())
        && found.offsets.is_sorted();
    let sorted = |i| {
        let row = found.row(i);
        row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| (last as usize) < columns)
    };
    if columns >= u32::MAX as usize || !ends || !(0..rows).all(sorted) {
        return Err(wrong(py, &format!("the {what} are not a sparse matrix by rows"), "give a scipy CSR matrix"));
    }
    Ok(found)
}

#[pymethods]
impl Graph {
    /// A graph from the parts of CSR matrices. Labels below 0 are none. Names are those of nodes, attributes and
    /// classes. Where rows are divided by their sums, `normalised` is 32 or 64: the bits of the quotients.
    #[allow(clippy::too_many_arguments)]
    #[new]
    /// Where whole graphs are classified, `batch` has the graph of each node, and labels are those of the graphs. Where
    /// attributes are numbers, `values` has those of the entries.
    #[pyo3(signature = (adjacency, attributes, labels=None, names=(None, None, None), normalised=None, batch=None, directed=false, values=None))]
    fn new(
        py: Python,
        adjacency: Csr,
        attributes: Csr,
        labels: Option<PyArrayLike1<i64, AllowTypeChange>>,
        names: (Names, Names, Names),
        normalised: Option<u32>,
        batch: Option<Bound<PyAny>>,
        directed: bool,
        values: Option<PyArrayLike1<f64>>,
    ) -> PyResult<Graph> {
        let normalisation = match normalised {
            None => Normalisation::None,
            Some(32) => Normalisation::Float32,
            Some(64) => Normalisation::Float64,
            Some(bits) => {
                return Err(wrong(py, &format!("rows are divided by their sums in {bits} bits"), "give 32 or 64"));
            }
        };
        let nodes = adjacency.2;
        let adjacency = pattern(py, "adjacency", nodes, adjacency)?;
        let attributes = pattern(py, "attributes", nodes, attributes)?;
        for from in (0..nodes).filter(|_| !directed) {
            if let Some(&to) = adjacency.row(from).iter().find(|&&to| !adjacency.contains(to as usize, from as u32)) {
                let message = format!("adjacency: node {from} is linked to node {to}, but not the other way round");
                return Err(wrong(
                    py,
                    &message,
                    "a network that was trained on both directions of every edge: say symmetrize=True, as in \
                     Graph.from_data(data, symmetrize=True); one that was trained on these edges: flips of attributes take \
                     a module and its Data object as they are, certify(model, data, …); else say it, too, and give a network \
                     whose operators are matrices, receivers in rows: Term('x', A, W) with a scipy.sparse matrix A; for \
                     attacks on directed edges, directed=True",
                ));
            }
        }
        let label = |&label: &i64| u32::try_from(label).ok();
        let labels = labels.map(|labels| labels.as_array().iter().map(label).collect());
        let (node_names, attribute_names, class_names) = names;
        let file =
            GraphFile { node_names, attribute_names, class_names, ..GraphFile::new(adjacency, attributes, labels) };
        let mut file = file.normalised(normalisation);
        if let Some(values) = values {
            let Pattern { rows, columns, offsets, indices } = file.attributes.clone();
            let values: Vec<f64> = values.as_array().iter().copied().collect();
            if values.len() != indices.len() {
                return Err(wrong(py, "the attributes are not a sparse matrix by rows", "give a scipy CSR matrix"));
            }
            file = file.valued(SparseMatrix { rows, columns, offsets, indices, values }).map_err(|at| match at {
                Some((node, attribute)) => wrong(
                    py,
                    &format!("attribute {attribute} of node {node} is out of range: numbers between 2^-300 and 2^300 are taken, as sums of powers of two"),
                    "scale the attributes, and train on these",
                ),
                None => wrong(
                    py,
                    "the attributes have more numbers than can be taken exactly",
                    "round them to fewer digits (float16, for instance), and train on these",
                ),
            })?;
        }
        if let Some(batch) = batch {
            let remedy = "give the graph of each node, ascending from 0, without edges between graphs";
            file = file.batched(ids(&batch)?).map_err(|problem| wrong(py, &problem, remedy))?;
        }
        Ok(Graph(Arc::new(PlainGraph::from_file(file))))
    }

    /// The same graph with one-hot attributes: the group of each, negative for one that is in none.
    fn grouped(&self, py: Python, groups: Vec<i64>) -> PyResult<Graph> {
        let grouped = self.0.file().ungrouped().grouped(&groups);
        let file = grouped.map_err(|(problem, remedy)| wrong(py, &format!("groups {problem}"), &remedy))?;
        Ok(Graph(Arc::new(PlainGraph::from_file(file))))
    }

    /// Reads a graph file, and what is worth knowing of it.
    #[staticmethod]
    #[pyo3(signature = (path, binarize=false, symmetrize=false, unweight=false, directed=false, real=false))]
    fn read(
        py: Python,
        path: PathBuf,
        binarize: bool,
        symmetrize: bool,
        unweight: bool,
        directed: bool,
        real: bool,
    ) -> PyResult<(Graph, Vec<String>)> {
        let graph = py
            .detach(|| input::read_graph(&path, &GraphOptions { binarize, symmetrize, unweight, directed, real }))
            .map_err(|report| from_report(py, &report))?;
        let notes = graph.notes().iter().map(|note| format!("{}: {note}", path.display())).collect();
        Ok((Graph(Arc::new(graph)), notes))
    }

    /// Writes an .npz file.
    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        py.detach(|| write_graph_npz(&path, &self.0.file())).map_err(|error| from_error(py, error))
    }

    /// Nodes and attributes.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.node_count(), self.0.own_attribute_count())
    }

    /// What names it in results and proofs.
    #[getter]
    fn digest(&self) -> &str {
        self.0.digest()
    }

    /// Bits of the quotients where the network reads rows divided by their sums: 32 or 64.
    #[getter]
    fn normalised(&self) -> Option<u32> {
        let normalisation = self.0.normalisation();
        normalisation.is_some().then(|| normalisation.bits())
    }

    /// The group of each attribute where they are one-hot, -1 for one that is in none.
    #[getter]
    fn groups(&self) -> Option<Vec<i64>> {
        let categories = self.0.categories()?;
        Some(categories.groups.iter().map(|group| group.map_or(-1, i64::from)).collect())
    }

    /// The attributes that changes of categories take and give, in the order of their numbers; -1 stands for none.
    #[getter]
    fn category_changes(&self) -> Vec<(i64, i64)> {
        let plain = |of: Option<u32>| of.map_or(-1, i64::from);
        let changes = self.0.categories().map_or(&[][..], |categories| categories.changes());
        changes.iter().map(|change| (plain(change.old), plain(change.new))).collect()
    }

    /// Offsets and column ids of the adjacency.
    fn adjacency<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>) {
        csr(py, self.0.adjacency())
    }

    /// Offsets and column ids of the attributes, as the file has them.
    fn attributes<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>) {
        let Some(values) = self.0.values() else { return csr(py, self.0.attributes()) };
        let (offsets, indices, _) = parts(py, values.matrix());
        (offsets, indices)
    }

    /// Where attributes are numbers, those of the entries.
    fn values<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.values().map(|values| values.matrix().values.to_pyarray(py))
    }

    /// The labels, −1 where there is none.
    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let labels = self.0.labels()?.iter().take(self.0.target_count());
        let labels: Vec<i64> = labels.map(|label| label.map_or(-1, i64::from)).collect();
        Some(labels.into_pyarray(py))
    }

    /// The graph of each node, where whole graphs are classified.
    fn batch<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let batch: Vec<i64> = self.0.batch()?.iter().map(|&of| i64::from(of)).collect();
        Some(batch.into_pyarray(py))
    }

    /// The names of nodes, attributes and classes, where they have some.
    fn names(&self) -> (Names, Names, Names) {
        let owned = |names: Option<&[String]>| names.map(<[String]>::to_vec);
        let own = |names: &[String]| names[..self.0.own_attribute_count()].to_vec();
        (owned(self.0.node_names()), self.0.attribute_names().map(own), owned(self.0.class_names()))
    }
}

fn csr<'py>(
    py: Python<'py>,
    matrix: &gcnproof::internals::problem::matrix::Pattern,
) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>) {
    let mut offsets = vec![0i64];
    offsets.extend((0..matrix.rows()).scan(0, |at, row| {
        *at += PatternRows::row(matrix, row).len() as i64;
        Some(*at)
    }));
    let indices: Vec<i32> = matrix.indices().iter().map(|&id| id as i32).collect();
    (offsets.into_pyarray(py), indices.into_pyarray(py))
}

/// A real matrix in CSR form.
fn parts<'py>(py: Python<'py>, matrix: &SparseMatrix) -> MatrixParts<'py> {
    let offsets: Vec<i64> = matrix.offsets.iter().map(|&at| at as i64).collect();
    let indices: Vec<i32> = matrix.indices.iter().map(|&id| id as i32).collect();
    (offsets.into_pyarray(py), indices.into_pyarray(py), matrix.values.to_pyarray(py))
}

/// A network on a graph.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Network {
    /// The network, shared with the work that goes on without Python's lock.
    pub network: Arc<PlainNetwork>,
    /// Which graph and model.
    pub identity: Identity,
    /// The rules of message passing as they were given.
    pub rules: Vec<Operator>,
    #[pyo3(get)]
    notes: Vec<String>,
}

/// Arrays of numpy by name.
struct Arrays<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Arrays<'_, 'py> {
    fn get(&self, name: &str) -> Option<Bound<'py, PyAny>> {
        self.0.get_item(name).ok().flatten()
    }
}

/// Any array in C order, each number converted by itself.
fn numbers<T: Element + Copy>(array: &Bound<PyAny>, turned: bool, to: impl Fn(T) -> f64) -> Option<Vec<f64>> {
    let array: PyReadonlyArrayDyn<T> = array.extract().ok()?;
    let view = if turned { array.as_array().reversed_axes() } else { array.as_array() };
    // ndarray's iteration is in the logical order, whatever the strides.
    Some(view.iter().map(|&value| to(value)).collect())
}

impl TensorSource for Arrays<'_, '_> {
    fn names(&self) -> Vec<String> {
        self.0.keys().iter().filter_map(|name| name.extract().ok()).collect()
    }

    fn shape(&self, name: &str) -> Vec<usize> {
        let array = self.get(name);
        array.and_then(|array| Some(array.cast::<PyUntypedArray>().ok()?.shape().to_vec())).unwrap_or_default()
    }

    fn values(&self, name: &str, turned: bool) -> std::result::Result<(Vec<f64>, Precision), String> {
        let array = self.get(name).ok_or("nothing")?;
        if let Some(values) = numbers::<f64>(&array, turned, |value| value) {
            return Ok((values, Precision::F64));
        }
        if let Some(values) = numbers::<f32>(&array, turned, f64::from) {
            return Ok((values, Precision::F32));
        }
        Err(kind(&array))
    }

    fn integers(&self, name: &str) -> std::result::Result<Vec<u64>, String> {
        let array = self.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
        if !["int32", "int64"].contains(&kind(&array).as_str()) {
            return Err(format!("`{name}` is an array of {}: indices are int32 or int64", kind(&array)));
        }
        let array: PyArrayLike1<i64, AllowTypeChange> =
            array.extract().map_err(|_| format!("`{name}` has not one side"))?;
        let natural = |&number: &i64| u64::try_from(number).map_err(|_| format!("`{name}` has the number {number}"));
        array.as_array().iter().map(natural).collect()
    }
}

/// The type of an array's numbers.
fn kind(array: &Bound<PyAny>) -> String {
    let kind = array.getattr("dtype").and_then(|dtype| Ok(dtype.str()?.to_string()));
    kind.unwrap_or_else(|_| "something that is no array".into())
}

impl Network {
    fn of(graph: &PlainGraph, model: ModelFile, rules: Vec<Operator>, at: &str, of: &str) -> Result<Network> {
        let (digest, mut notes) = (model.digest.clone(), model.notes.clone());
        let network = input::fit(model, &rules, graph, input::Paths { graph: at.as_ref(), model: of.as_ref() })?;
        let message_passing =
            if network.is_named() { gcnproof::proof::rule_names(&network) } else { input::names(&rules) };
        notes.extend(input::unpredictable_labels(graph, &network));
        let identity = Identity { graph: graph.digest().to_string(), model: digest, message_passing, part: None };
        Ok(Network { network: Arc::new(network), identity, rules, notes })
    }
}

#[pymethods]
impl Network {
    /// A network from its description and its tensors (docs/model-format.md).
    #[new]
    fn new(py: Python, graph: &Graph, description: &str, tensors: &Bound<PyDict>) -> PyResult<Network> {
        let model = describe_model("the network", description, &Arrays(tensors)).map_err(|e| from_error(py, e))?;
        Network::of(&graph.0, model, vec![Operator::Gcn], "the graph", "the network").map_err(|e| from_report(py, &e))
    }

    /// Reads a model file.
    #[staticmethod]
    #[pyo3(signature = (graph, path, layers=Vec::new(), message_passing=Vec::new()))]
    fn read(
        py: Python,
        graph: &Graph,
        path: PathBuf,
        layers: Vec<String>,
        message_passing: Vec<String>,
    ) -> PyResult<Network> {
        let graph = graph.0.clone();
        let read = move || {
            let model = input::read_model(&path, &ModelOptions { layers })?;
            input::check_passing(&message_passing, &model, &path)?;
            let rules = input::rules(&message_passing)?;
            Network::of(&graph, model, rules, "the graph", &path.display().to_string())
        };
        py.detach(read).map_err(|report| from_report(py, &report))
    }

    /// What names the model in results and proofs.
    #[getter]
    fn digest(&self) -> &str {
        &self.identity.model
    }

    /// How many classes there are.
    #[getter]
    fn classes(&self) -> usize {
        self.network.class_count()
    }

    /// How many edges away a node may be whose attributes the logits depend on.
    #[getter]
    fn hops(&self) -> usize {
        self.network.hops()
    }

    /// The same network on the same graph with groups of categories.
    fn on(&self, py: Python, graph: &Graph) -> PyResult<Network> {
        let network = (*self.network).clone().widened(&graph.0);
        let network = network.map_err(|error| wrong(py, &error.to_string(), "use weights that are not as large"))?;
        let identity = Identity { graph: graph.0.digest().into(), ..self.identity.clone() };
        Ok(Network { network: Arc::new(network), identity, rules: self.rules.clone(), notes: self.notes.clone() })
    }

    /// The logits of all nodes, or of all graphs, in float64, with some attributes flipped.
    #[pyo3(signature = (graph, flips=Vec::new()))]
    fn logits<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph,
        flips: Vec<(usize, usize)>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (graph, network) = (graph.0.clone(), self.network.clone());
        let (nodes, attributes) = (graph.node_count(), graph.attribute_count());
        if network.node_count() != nodes || network.width(1) != attributes {
            return Err(wrong(py, "the network is one for another graph", "give the graph that it was made with"));
        }
        if graph.values().is_some() && !flips.is_empty() {
            return Err(wrong(
                py,
                "the attributes are numbers, and are not flipped",
                "give the changed attributes as a graph",
            ));
        }
        if let Some((node, attribute)) = flips.iter().find(|flip| flip.0 >= nodes || flip.1 >= attributes) {
            let message = format!("there is no entry ({node}, {attribute}) in {nodes} × {attributes} attributes");
            return Err(wrong(py, &message, "flips are pairs of node and attribute, both from 0"));
        }
        let representations = py.detach(|| match flips.is_empty() {
            true => forward(&graph, &network),
            false => forward(&flipped(&graph, &flips), &network),
        });
        let classes = network.class_count();
        let last = representations.last().map(|last| last.value.as_slice()).unwrap_or_default();
        let targets = graph.target_count();
        last[..targets * classes].to_pyarray(py).reshape([targets, classes])
    }
}

/// The graph with some attributes flipped.
fn flipped(graph: &PlainGraph, flips: &[(usize, usize)]) -> PlainGraph {
    let mut file = graph.file();
    let mut rows: Vec<Vec<u32>> = (0..file.attributes.rows).map(|row| file.attributes.row(row).to_vec()).collect();
    for &(node, attribute) in flips {
        let row = &mut rows[node];
        match row.binary_search(&(attribute as u32)) {
            Ok(at) => {
                row.remove(at);
            }
            Err(at) => row.insert(at, attribute as u32),
        }
    }
    let mut at = 0;
    file.attributes.offsets = std::iter::once(0)
        .chain(rows.iter().map(|row| {
            at += row.len();
            at
        }))
        .collect();
    file.attributes.indices = rows.concat();
    PlainGraph::from_file(file)
}

/// A layer of a model file: the weights of each term, the bias, the rules, and which outputs have no activation.
type LayerParts<'py> = (Vec<Bound<'py, PyArray2<f64>>>, Bound<'py, PyAny>, Vec<String>, Vec<bool>);

/// A matrix in CSR form: offsets, column ids, values.
type MatrixParts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);

/// A model file: its layers, the matrices that rules name, and what is worth knowing of it.
type ModelParts<'py> = (Vec<LayerParts<'py>>, BTreeMap<String, MatrixParts<'py>>, Vec<String>);

/// Reads a model file.
#[pyfunction]
pub fn read_model(py: Python<'_>, path: PathBuf, layers: Vec<String>) -> PyResult<ModelParts<'_>> {
    let model =
        py.detach(|| input::read_model(&path, &ModelOptions { layers })).map_err(|report| from_report(py, &report))?;
    let parts = |layer: &LayerFile| {
        let (terms, outputs) = (layer.operators.len().max(1), layer.weight.columns);
        let inputs = layer.weight.rows / terms;
        let weights = layer.weight.values.chunks(inputs * outputs);
        let weights =
            weights.map(|values| values.to_pyarray(py).reshape([inputs, outputs])).collect::<PyResult<_>>()?;
        let bias = layer.bias.to_pyarray(py);
        let bias = match layer.bias.len() / outputs {
            1 => bias.into_any(),
            nodes => bias.reshape([nodes, outputs])?.into_any(),
        };
        Ok((weights, bias, layer.operators.clone(), layer.linear.clone()))
    };
    let matrix = |matrix: &Arc<SparseMatrix>| (format!("matrix:{}", matrix_digest(matrix)), self::parts(py, matrix));
    let matrices = model.matrices.iter().map(matrix).collect();
    Ok((model.layers.iter().map(parts).collect::<PyResult<_>>()?, matrices, model.notes))
}
