//! A network of layers that read any earlier ones, as a chain in which each reads only the one before it.
//!
//! Layers of the same depth stand side by side in one link of the chain. What is needed further up is carried: units
//! without activation, which the identity feeds with what they carry. A term that reads the attributes further up
//! becomes units that hold `X W` and are carried. Both are exact: carried units are weighted with 1.

use crate::{DenseMatrix, Described, DescribedLayer, DescribedTerm, LayerFile, Place};

/// What a term reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermSource {
    /// The attributes.
    Attributes,
    /// A layer, by its place.
    Layer(usize),
}

/// A term as described.
#[derive(Debug)]
pub(crate) struct Term {
    pub source: TermSource,
    pub operator: String,
    pub weight: DenseMatrix,
    pub weight_name: String,
    /// What was folded into it ([`DescribedTerm`]).
    pub magnitude: Option<Vec<f64>>,
    pub roundings: u32,
}

/// A layer as described; it reads only layers that stand before it.
#[derive(Debug)]
pub(crate) struct Layer {
    pub terms: Vec<Term>,
    pub bias: Vec<f64>,
    pub bias_name: Option<String>,
    /// Which units have no activation.
    pub linear: Vec<bool>,
    pub outputs: usize,
    /// What was folded into its bias ([`DescribedLayer`]).
    pub bias_magnitude: Option<Vec<f64>>,
    pub bias_roundings: u32,
}

impl Layer {
    /// The layer as described: where it stands in the chain, and its terms.
    fn described(&mut self, layer: usize, first: usize, terms: Vec<DescribedTerm>) -> DescribedLayer {
        let (bias_magnitude, bias_roundings) = (self.bias_magnitude.take(), self.bias_roundings);
        DescribedLayer { layer, first, outputs: self.outputs, terms, bias_magnitude, bias_roundings }
    }
}

impl Term {
    /// The term as described: its operator among those of the chain's layer, and where its weights stand.
    fn described(&mut self, operator: usize, weight: Place) -> DescribedTerm {
        let source = match self.source {
            TermSource::Attributes => None,
            TermSource::Layer(at) => Some(at),
        };
        DescribedTerm { source, operator, weight, magnitude: self.magnitude.take(), roundings: self.roundings }
    }
}

/// Units of a link that stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// The units of a layer.
    Layer(usize),
    /// What term `.1` of layer `.0` makes of the attributes, to be passed on further up.
    Sent(usize, usize),
}

/// A matrix that passes everything on.
pub(crate) fn identity(size: usize) -> DenseMatrix {
    let mut matrix = DenseMatrix { rows: size, columns: size, values: vec![0.0; size * size] };
    (0..size).for_each(|i| matrix.values[i * size + i] = 1.0);
    matrix
}

/// Numbers of all weights of a chain together, at most, or eight times those in the file: what is carried grows with
/// the square of what is skipped.
const LARGEST_CHAIN: usize = 1 << 26;

/// Does every layer read the one before it and nothing else?
fn is_chain(layers: &[Layer]) -> bool {
    layers.iter().enumerate().all(|(at, layer)| {
        let before = at.checked_sub(1).map_or(TermSource::Attributes, TermSource::Layer);
        layer.terms.iter().all(|term| term.source == before)
    })
}

/// The chain of layers that are one already: nothing is copied that need not be put one below the other.
fn straight(mut layers: Vec<Layer>) -> Chained {
    let last = layers.len() - 1;
    let mut described = Vec::new();
    for (at, layer) in layers.iter_mut().enumerate() {
        let mut terms = Vec::new();
        for (k, term) in layer.terms.iter_mut().enumerate() {
            let row = k * term.weight.rows;
            terms.push(term.described(k, Place { layer: at, row, column: 0 }));
        }
        described.push(layer.described(at, 0, terms));
    }
    let described = Some(Described { layers: described }).filter(Described::is_folded);
    let link = |(at, layer): (usize, Layer)| {
        let names: Vec<&str> = layer.terms.iter().map(|term| term.weight_name.as_str()).collect();
        let weight_name = names.join(", ");
        let (mut operators, mut weight) =
            (Vec::new(), DenseMatrix { rows: 0, columns: layer.outputs, values: Vec::new() });
        for mut term in layer.terms {
            operators.push(term.operator);
            weight.rows += term.weight.rows;
            match weight.values.is_empty() {
                true => weight.values = term.weight.values,
                false => weight.values.append(&mut term.weight.values),
            }
        }
        let linear = if at == last || !layer.linear.contains(&true) { Vec::new() } else { layer.linear };
        LayerFile { weight, bias: layer.bias, operators, linear, weight_name, bias_name: layer.bias_name }
    };
    (layers.into_iter().enumerate().map(link).collect(), described)
}

/// The layers of a chain, and what they were described as, if that is another network of the same values.
pub(crate) type Chained = (Vec<LayerFile>, Option<Described>);

/// One term of a link while it is put together.
struct Part {
    operator: String,
    weight: DenseMatrix,
    /// Which blocks of inputs and outputs have been filled.
    filled: Vec<(usize, usize)>,
}

/// The chain of some layers, the last of which is the output.
///
/// # Errors
/// If biases are given for different numbers of nodes.
pub(crate) fn chain(mut layers: Vec<Layer>) -> Result<Chained, String> {
    if is_chain(&layers) {
        return Ok(straight(layers));
    }
    // Where the operator and the weights of each term have come to stand.
    let mut places: Vec<Vec<(usize, Place)>> =
        layers.iter().map(|layer| vec![(0, Place { layer: 0, row: 0, column: 0 }); layer.terms.len()]).collect();
    let mut firsts = vec![0; layers.len()];
    let described = layers.as_mut_slice();
    let layers = &*described;
    // The depth of a layer: one more than that of what it reads.
    let mut depth = vec![1usize; layers.len()];
    for (at, layer) in layers.iter().enumerate() {
        for term in &layer.terms {
            if let TermSource::Layer(source) = term.source {
                depth[at] = depth[at].max(depth[source] + 1);
            }
        }
    }
    let attributes = layers.iter().flat_map(|layer| &layer.terms).find(|term| term.source == TermSource::Attributes);
    let Some(attributes) = attributes.map(|term| term.weight.rows) else { return Err("no layer reads x".into()) };
    let last = depth[layers.len() - 1];
    // The blocks of each link: its own layers, and what is needed further up.
    let size = |block: Block| match block {
        Block::Layer(at) => layers[at].outputs,
        Block::Sent(at, term) => layers[at].terms[term].weight.columns,
    };
    let needed = |link: usize| -> Vec<Block> {
        let own = (0..layers.len()).filter(|&at| depth[at] == link).map(Block::Layer);
        // Does a layer further up read it?
        let read = |block: Block| {
            layers.iter().enumerate().filter(|&(at, _)| depth[at] > link).any(|(at, layer)| match block {
                Block::Layer(of) => layer.terms.iter().any(|term| term.source == TermSource::Layer(of)),
                Block::Sent(of, _) => at == of,
            })
        };
        let carried = (0..layers.len()).filter(|&at| depth[at] < link).map(Block::Layer).filter(|&block| read(block));
        let sent = layers.iter().enumerate().flat_map(|(at, layer)| {
            let terms = layer.terms.iter().enumerate().filter(|term| term.1.source == TermSource::Attributes);
            terms.map(move |(term, _)| Block::Sent(at, term))
        });
        own.chain(carried).chain(sent.filter(|&block| read(block))).collect()
    };
    // How many numbers the weights will have, before room is taken for them.
    let stored: usize = layers.iter().flat_map(|layer| &layer.terms).map(|term| term.weight.values.len()).sum();
    let limit = LARGEST_CHAIN.max(stored.saturating_mul(8));
    let (mut numbers, mut width) = (0usize, attributes);
    for link in 1..=last {
        let outputs = needed(link).into_iter().map(size).sum();
        let own = layers.iter().zip(&depth).filter(|of| *of.1 == link).map(|of| of.0.terms.len()).sum::<usize>();
        numbers = numbers.saturating_add(width.saturating_mul(outputs).saturating_mul(own + 1));
        width = outputs;
        if numbers > limit {
            return Err(format!("it has too many skips: as a chain the network has more than {limit} weights"));
        }
    }
    let mut below: Vec<(Block, usize)> = Vec::new();
    let mut inputs = attributes;
    let mut files = Vec::new();
    for link in 1..=last {
        let mut above = Vec::new();
        let mut outputs = 0;
        for block in needed(link) {
            above.push((block, outputs));
            outputs += size(block);
        }
        let mut parts: Vec<Part> = Vec::new();
        // Which of the link's terms has taken the weights, and where they begin.
        let mut put = |operator: &str, from: usize, to: usize, weight: &DenseMatrix| {
            // Two terms with the same operator, source and target stay two: their weights are not added up here.
            let free = |part: &Part| part.operator == operator && !part.filled.contains(&(from, to));
            let at = match parts.iter().position(free) {
                Some(at) => at,
                None => {
                    let zeros = DenseMatrix { rows: inputs, columns: outputs, values: vec![0.0; inputs * outputs] };
                    parts.push(Part { operator: operator.into(), weight: zeros, filled: Vec::new() });
                    parts.len() - 1
                }
            };
            let part = &mut parts[at];
            part.filled.push((from, to));
            for i in 0..weight.rows {
                let into = (from + i) * outputs + to;
                part.weight.values[into..into + weight.columns]
                    .copy_from_slice(&weight.values[i * weight.columns..][..weight.columns]);
            }
            (at, Place { layer: link - 1, row: at * inputs + from, column: to })
        };
        let place = |wanted: Block| below.iter().find(|block| block.0 == wanted).map_or(0, |block| block.1);
        let (mut names, mut bias_names, mut linear) = (Vec::new(), Vec::new(), vec![false; outputs]);
        let mut biases: Vec<(usize, &[f64], usize)> = Vec::new();
        for &(block, to) in &above {
            match block {
                Block::Layer(at) if depth[at] == link => {
                    let layer = &layers[at];
                    firsts[at] = to;
                    for (term, of) in layer.terms.iter().enumerate() {
                        let stands = &mut places[at][term];
                        match of.source {
                            TermSource::Attributes if link == 1 => *stands = put(&of.operator, 0, to, &of.weight),
                            // The weights stand in the first link already.
                            TermSource::Attributes => {
                                let sent = place(Block::Sent(at, term));
                                stands.0 = put(&of.operator, sent, to, &identity(of.weight.columns)).0;
                            }
                            TermSource::Layer(source) => {
                                *stands = put(&of.operator, place(Block::Layer(source)), to, &of.weight);
                            }
                        }
                        names.push(of.weight_name.as_str());
                    }
                    bias_names.extend(layer.bias_name.as_deref());
                    biases.push((to, &layer.bias, layer.outputs));
                    linear[to..to + layer.outputs].copy_from_slice(&layer.linear);
                }
                Block::Sent(at, term) if link == 1 => {
                    places[at][term] = put("identity", 0, to, &layers[at].terms[term].weight);
                    linear[to..to + size(block)].fill(true);
                }
                carried => {
                    put("identity", place(carried), to, &identity(size(carried)));
                    linear[to..to + size(carried)].fill(true);
                }
            }
        }
        let bias = join(outputs, &biases)?;
        let mut weight = DenseMatrix { rows: inputs * parts.len(), columns: outputs, values: Vec::new() };
        parts.iter_mut().for_each(|part| weight.values.append(&mut part.weight.values));
        files.push(LayerFile {
            weight,
            bias,
            operators: parts.into_iter().map(|part| part.operator).collect(),
            linear: if link == last || !linear.contains(&true) { Vec::new() } else { linear },
            weight_name: names.join(", "),
            bias_name: (!bias_names.is_empty()).then(|| bias_names.join(", ")),
        });
        (below, inputs) = (above, outputs);
    }
    let mut as_described = Vec::new();
    for (at, layer) in described.iter_mut().enumerate() {
        let terms = layer.terms.iter_mut().zip(&places[at]);
        let terms = terms.map(|(term, &(operator, weight))| term.described(operator, weight)).collect();
        as_described.push(layer.described(depth[at] - 1, firsts[at], terms));
    }
    Ok((files, Some(Described { layers: as_described })))
}

/// The biases of the blocks of a link, one row for all nodes or one for each.
fn join(outputs: usize, biases: &[(usize, &[f64], usize)]) -> Result<Vec<f64>, String> {
    let rows = biases.iter().map(|(_, values, width)| values.len() / width).max().unwrap_or(1);
    let mut joined = vec![0.0; rows * outputs];
    for &(to, values, width) in biases {
        let own = values.len() / width;
        if own != 1 && own != rows {
            return Err(format!("biases are given for {own} and for {rows} nodes"));
        }
        for row in 0..rows {
            let from = if own == 1 { 0 } else { row };
            joined[row * outputs + to..][..width].copy_from_slice(&values[from * width..][..width]);
        }
    }
    Ok(joined)
}
