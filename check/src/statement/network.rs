//! The network: weights and biases as exact numbers, message passing, and the attributes of the graph.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, SparseMatrix};

use super::integers::{Integers, ShortRows};
use super::links::Links;
use super::operator::{Operators, short};
use super::rule::{is_readout, same_rules};
use crate::format::Header;
use crate::number::{Dyadic, Stored};
use crate::verdict::Reason;
use crate::work::Meter;

/// One weight layer: `Ĥ(l+1) = Σ_k A_k(l) H(l) W_k(l) + b(l)`.
pub struct Layer {
    /// `A_k(l)` of all terms.
    pub links: Arc<Links>,
    numbers: Arc<LayerNumbers>,
}

/// What of a layer does not depend on edges.
pub struct LayerNumbers {
    /// `W_k(l)`: for each input the weights to all outputs, of one term after the other.
    pub weight: Vec<Vec<Dyadic>>,
    /// `b(l)`: one row for all nodes, or one for each.
    bias: Vec<Vec<Dyadic>>,
}

impl Deref for Layer {
    type Target = LayerNumbers;

    fn deref(&self) -> &LayerNumbers {
        &self.numbers
    }
}

impl LayerNumbers {
    /// The biases of all nodes, or those that all nodes share.
    pub fn biases(&self) -> impl Iterator<Item = &Dyadic> + Clone {
        self.bias.iter().flatten()
    }

    /// `b(l)` of a node.
    pub fn bias(&self, node: u32) -> &[Dyadic] {
        if self.bias.len() == 1 { &self.bias[0] } else { &self.bias[node as usize] }
    }
}

/// The network of stored floats on a graph, in exact real arithmetic.
pub struct Network<'a> {
    /// With the attributes before any flip.
    pub graph: &'a GraphFile,
    /// The model that the weights are from.
    pub model: &'a ModelFile,
    /// Weight layers; layer `l` of the formulas is `layers[l − 1]`.
    pub layers: Vec<Layer>,
    /// The weights of the first layer, those of changes of categories included.
    pub first: Cow<'a, DenseMatrix>,
    numbers: Arc<NetworkNumbers>,
}

/// What of a network does not depend on edges, beside the weights of its layers.
pub struct NetworkNumbers {
    /// Units of each representation, by its number; 0 for 0 and 1.
    pub widths: Vec<usize>,
    /// Terms of each weight layer, by its number; 0 for 0.
    pub terms: Vec<usize>,
    /// The rules of the terms of each weight layer.
    pub rules: Vec<Vec<String>>,
    /// The units of each representation that have no activation, by its number.
    linear: Vec<Vec<bool>>,
    /// For every unit of representation 2, of one term after the other, the attributes by falling weight.
    pub falling: Vec<Vec<u32>>,
    /// The rows of `W(1)`, all terms side by side, as integers.
    pub rows: Vec<Integers>,
    /// The attributes by falling length of their rows, with the squares of the lengths.
    pub lengths: Vec<(u32, Dyadic)>,
    /// The columns of `W(1)`, of one term after the other, as integers; none where there is one term.
    pub columns: Vec<Integers>,
    /// The rows of `W(1)` rounded, where the rows of attributes are normalised.
    pub short: Option<ShortRows>,
}

/// The rules of the terms of a layer: the model's own, which the header must repeat, or the one that the header states.
fn rules<'r>(number: usize, layer: &'r LayerFile, stated: &'r str) -> Result<Vec<&'r str>, Reason> {
    if layer.operators.is_empty() {
        if is_readout(stated) {
            return Err(Reason::Header(format!(
                "the readout {stated} of layer {number}, which the model does not name"
            )));
        }
        return Ok(vec![stated]);
    }
    let own = layer.operators.join(" & ");
    if !same_rules(&own, stated) {
        return Err(Reason::Header(format!(
            "message passing '{}' of layer {number}, but the model itself has '{}'",
            short(stated),
            short(&own)
        )));
    }
    Ok(layer.operators.iter().map(String::as_str).collect())
}

/// Refuses a layer whose lists do not fit its inputs, its outputs and the nodes.
fn require_shape(number: usize, last: bool, layer: &LayerFile, inputs: usize, nodes: usize) -> Result<(), Reason> {
    let LayerFile { weight, bias, operators, linear, .. } = layer;
    let (terms, outputs) = (operators.len().max(1), weight.columns);
    let wrong = |problem: String| Err(Reason::Files(format!("layer {number} of the model {problem}")));
    if Some(weight.rows) != terms.checked_mul(inputs) {
        return wrong(format!("has {} rows of weights, but {terms} terms of {inputs} inputs", weight.rows));
    }
    if Some(weight.values.len()) != weight.rows.checked_mul(outputs) {
        return wrong(format!("has {} weights, but {} rows of {outputs}", weight.values.len(), weight.rows));
    }
    if bias.len() != outputs && Some(bias.len()) != nodes.checked_mul(outputs) {
        let expected = format!("{outputs} outputs (or that many for each of {nodes} nodes)");
        return wrong(format!("has {} biases, but {expected}", bias.len()));
    }
    if !linear.is_empty() && linear.len() != outputs {
        return wrong(format!("says of {} outputs whether they are linear, but has {outputs}", linear.len()));
    }
    if last && linear.contains(&false) {
        return wrong("is the last and has no activation, but says that one of its outputs has".into());
    }
    Ok(())
}

/// Refuses a graph, a model and stated rules that do not fit together; otherwise the rules of the terms of every layer.
pub(crate) fn require_fit<'r>(
    graph: &GraphFile,
    model: &'r ModelFile,
    stated: &'r [String],
) -> Result<Vec<Vec<&'r str>>, Reason> {
    let count = model.layers.len();
    if stated.len() != count || stated.is_empty() {
        return Err(Reason::Header(format!("{} message-passing rules, {count} layers", stated.len())));
    }
    let nodes = graph.attributes.rows;
    let attributes = match (&graph.categories, &graph.values) {
        (Some(categories), _) => categories.attributes(),
        (None, Some(values)) => values.attributes(),
        (None, None) => graph.attributes.columns,
    };
    let first = &model.layers[0];
    let taken = first.weight.rows / first.operators.len().max(1);
    if taken != attributes {
        return Err(Reason::Files(format!("the model takes {taken} attributes, the graph has {attributes}")));
    }
    if graph.adjacency.rows != nodes {
        let found = graph.adjacency.rows;
        return Err(Reason::Files(format!("{found} nodes have neighbours, but {nodes} have attributes")));
    }
    if model.layers[count - 1].weight.columns < 2 {
        return Err(Reason::Files("the model has fewer than two classes".into()));
    }
    require_batch(graph, model)?;
    let (mut found, mut inputs) = (Vec::new(), attributes);
    for (at, (layer, stated)) in model.layers.iter().zip(stated).enumerate() {
        require_shape(at + 1, at + 1 == count, layer, inputs, nodes)?;
        found.push(rules(at + 1, layer, stated)?);
        if ![&layer.weight.values, &layer.bias].into_iter().all(|list| Stored::are_finite(list)) {
            return Err(Reason::Files("a weight or a bias is not a finite number".into()));
        }
        inputs = layer.weight.columns;
    }
    Ok(found)
}

/// Refuses a readout without a batch of graphs, a batch without a readout, and what is no batch.
fn require_batch(graph: &GraphFile, model: &ModelFile) -> Result<(), Reason> {
    let readout = model.layers.iter().flat_map(|layer| &layer.operators).any(|rule| is_readout(rule));
    let wrong = |problem: &str| Err(Reason::Files(problem.into()));
    match graph.batch.as_deref() {
        None if readout => wrong("the model classifies graphs, but the graph has no `batch`"),
        Some(_) if !readout => wrong("the graph has a `batch` of graphs, but the model has no readout"),
        Some(batch) => {
            let steps = batch.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0].saturating_add(1));
            let fits = steps && batch.len() == graph.attributes.rows && batch.first().is_none_or(|&first| first == 0);
            if fits { Ok(()) } else { wrong("the `batch` of the graph does not number graphs from 0 without gaps") }
        }
        None => Ok(()),
    }
}

/// The weights of the first layer for all attributes: those of changes of categories, or of the powers of two of
/// numbers, as well.
pub(crate) fn first_weights<'m>(
    graph: &GraphFile,
    model: &'m ModelFile,
    terms: usize,
) -> Result<Cow<'m, DenseMatrix>, Reason> {
    let own = &model.layers[0].weight;
    let (widened, wrong) = match (&graph.categories, &graph.values) {
        (None, None) => return Ok(Cow::Borrowed(own)),
        (Some(categories), _) => {
            let widened = categories.weights(own, terms).map(|widened| widened.0);
            (widened, "weights of two categories differ by more than a float can say")
        }
        (None, Some(values)) => (values.weights(own, terms), "a weight times a power of two is no float"),
    };
    widened.map(Cow::Owned).ok_or_else(|| Reason::Files(wrong.into()))
}

/// The operators of all layers, one for each term, where the network reads attributes in another way.
///
/// # Errors
/// If graph, model and stated rules do not fit together, or an operator takes too much.
pub(crate) fn operator_links(
    graph: &GraphFile,
    model: &ModelFile,
    stated: &[String],
    matrices: &[Arc<SparseMatrix>],
    meter: &Meter,
) -> Result<Vec<Arc<Links>>, Reason> {
    let mut operators = Operators::new(graph, matrices.iter().chain(&model.matrices));
    let mut known: HashMap<Vec<&str>, Arc<Links>> = HashMap::new();
    let mut all = Vec::new();
    for (layer, rules) in model.layers.iter().zip(require_fit(graph, model, stated)?) {
        if let Some(links) = known.get(&rules) {
            all.push(links.clone());
            continue;
        }
        operators.named_by_model = !layer.operators.is_empty();
        let of_terms = rules.iter().map(|rule| operators.operator(rule, meter)).collect::<Result<Vec<_>, _>>()?;
        let links = Arc::new(Links::new(&of_terms));
        known.insert(rules, links.clone());
        all.push(links);
    }
    Ok(all)
}

impl Deref for Network<'_> {
    type Target = NetworkNumbers;

    fn deref(&self) -> &NetworkNumbers {
        &self.numbers
    }
}

impl<'a> Network<'a> {
    /// The network that a header speaks of. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If header, graph and model do not fit together, or an operator takes too much.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<Network<'a>, Reason> {
        let terms = require_fit(graph, model, &header.message_passing)?[0].len();
        let (first, attributes) = (first_weights(graph, model, terms)?, graph.attributes.columns);
        Network::reading(first, attributes, graph, model, header, matrices, meter)
    }

    /// The same with the first layer as the model has it: numbers are read as they are, and not by their powers of two,
    /// and changes of categories are no attributes. For what rounding does.
    ///
    /// # Errors
    /// As before.
    pub(crate) fn on_own_attributes(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<Network<'a>, Reason> {
        let terms = require_fit(graph, model, &header.message_passing)?[0].len();
        let first = &model.layers[0].weight;
        Network::reading(Cow::Borrowed(first), first.rows / terms.max(1), graph, model, header, matrices, meter)
    }

    /// The network with these first weights, of so many attributes.
    fn reading(
        first: Cow<'a, DenseMatrix>,
        attributes: usize,
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<Network<'a>, Reason> {
        let stated = require_fit(graph, model, &header.message_passing)?;
        let mut operators = Operators::new(graph, matrices.iter().chain(&model.matrices));
        let mut known: HashMap<Vec<&str>, Arc<Links>> = HashMap::new();
        let (mut layers, mut inputs) = (Vec::new(), attributes);
        let (mut widths, mut terms, mut linear) = (vec![0, 0], vec![0], vec![Vec::new(), Vec::new()]);
        let mut all_rules = Vec::new();
        for (layer, mut rules) in model.layers.iter().zip(stated) {
            let weights = if layers.is_empty() { &first } else { &layer.weight };
            if layers.is_empty() {
                // Where weights of changes take two floats, terms come twice.
                let terms = first.rows / attributes.max(1);
                rules = rules.iter().copied().cycle().take(terms.max(rules.len())).collect();
            }
            let links = match known.get(&rules) {
                Some(links) => links.clone(),
                None => {
                    operators.named_by_model = !layer.operators.is_empty();
                    let of_terms = rules.iter().map(|rule| operators.operator(rule, meter));
                    let of_terms = of_terms.collect::<Result<Vec<_>, _>>()?;
                    Arc::new(Links::new(&of_terms))
                }
            };
            let outputs = layer.weight.columns;
            let exact = |values: &[_]| -> Vec<Dyadic> { Stored::all(values).into_iter().map(Stored::exact).collect() };
            let row = |input: usize| {
                let of_term = |term: usize| exact(&weights.values[(term * inputs + input) * outputs..][..outputs]);
                (0..rules.len()).flat_map(of_term).collect()
            };
            let weight = (0..inputs).map(row).collect();
            let bias = match layer.bias.len() == outputs {
                true => vec![exact(&layer.bias)],
                false => layer.bias.chunks(outputs).map(exact).collect(),
            };
            layers.push(Layer { links: links.clone(), numbers: Arc::new(LayerNumbers { weight, bias }) });
            widths.push(outputs);
            terms.push(rules.len());
            all_rules.push(rules.iter().map(|&rule| rule.to_owned()).collect());
            known.insert(rules, links);
            linear.push(if layer.linear.is_empty() { vec![false; outputs] } else { layer.linear.clone() });
            inputs = outputs;
        }
        let weight: &Vec<Vec<Dyadic>> = &layers[0].weight;
        let falling = (0..terms[1] * widths[2]).map(|column| {
            let mut order: Vec<u32> = (0..attributes as u32).collect();
            order.sort_by(|&a, &b| weight[b as usize][column].cmp(&weight[a as usize][column]));
            order
        });
        let falling = falling.collect();
        let rows = weight.iter().map(|row| Integers::new(row)).collect();
        let square = |row: &Vec<Dyadic>| row.iter().fold(Dyadic::ZERO, |sum, w| &sum + &(w * w));
        let mut lengths: Vec<(u32, Dyadic)> = (0..).zip(weight.iter().map(square)).collect();
        lengths.sort_by(|a, b| b.1.cmp(&a.1));
        let column = |column: usize| -> Vec<Dyadic> { weight.iter().map(|row| row[column].reduced()).collect() };
        let columns = if terms[1] > 1 { terms[1] * widths[2] } else { 0 };
        let columns = (0..columns).map(|at| Integers::new(&column(at))).collect();
        let short = graph.normalisation.is_some().then(|| ShortRows::new(weight));
        let rules = all_rules;
        let numbers = NetworkNumbers { widths, terms, rules, linear, falling, rows, lengths, columns, short };
        Ok(Network { graph, model, first, layers, numbers: Arc::new(numbers) })
    }

    /// The same network on a graph with other edges; no rule may name a matrix.
    ///
    /// # Errors
    /// If an operator takes too much.
    pub(crate) fn on<'b>(&'b self, graph: &'b GraphFile, meter: &Meter) -> Result<Network<'b>, Reason> {
        let mut operators = Operators::new(graph, []);
        // They were computed before, on the graph of the file.
        operators.named_by_model = true;
        let mut layers = Vec::new();
        for (layer, rules) in self.layers.iter().zip(&self.rules) {
            let of_terms = rules.iter().map(|rule| operators.operator(rule, meter));
            let links = Arc::new(Links::new(&of_terms.collect::<Result<Vec<_>, _>>()?));
            layers.push(Layer { links, numbers: layer.numbers.clone() });
        }
        let first = Cow::Borrowed(&*self.first);
        Ok(Network { graph, model: self.model, first, layers, numbers: self.numbers.clone() })
    }

    /// `L`: the number of representations, one more than weight layers.
    pub fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    /// `K`.
    pub fn classes(&self) -> usize {
        self.widths[self.depth()]
    }

    /// Are the rows of attributes divided by their sums?
    pub fn is_normalised(&self) -> bool {
        self.graph.normalisation.is_some()
    }

    /// `σ(c)`: the entries of a row with so many attributes, as the network reads it.
    pub fn entry(&self, count: usize) -> Stored {
        Stored::new(self.graph.normalisation.entry(count))
    }

    /// The same number.
    pub fn scale(&self, count: usize) -> Dyadic {
        self.entry(count).exact().reduced()
    }

    /// Has a unit of a representation no activation?
    pub fn is_linear(&self, l: usize, unit: usize) -> bool {
        self.linear[l][unit]
    }

    /// Is the attribute present at the node?
    pub fn has(&self, node: u32, attribute: u32) -> bool {
        self.graph.attributes.contains(node as usize, attribute)
    }
}
