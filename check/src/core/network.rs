//! The network: weights and biases as exact numbers, message passing, and the attributes of the graph.

use std::sync::Arc;

use dashu_int::IBig;
use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use super::dyadic::Dyadic;
use crate::directed::Stored;
use crate::format::Header;
use crate::operator::message_passing;
use crate::reason::Reason;

/// One weight layer: `Ĥ(l+1) = A(l) H(l) W(l) + b(l)`.
pub struct Layer {
    /// `A(l)`.
    pub passing: Arc<SparseMatrix>,
    /// `W(l)`: for each input the weights to all outputs.
    pub weight: Vec<Vec<Dyadic>>,
    /// `b(l)`.
    pub bias: Vec<Dyadic>,
}

/// The network of stored floats on a graph, in exact real arithmetic.
pub struct Network<'a> {
    /// The graph.
    pub graph: &'a GraphFile,
    /// The model that the weights are from.
    pub model: &'a ModelFile,
    /// Weight layers; layer `l` of the formulas is `layers[l − 1]`.
    pub layers: Vec<Layer>,
    /// Units of each representation, by its number; 0 for 0 and 1.
    pub widths: Vec<usize>,
    /// For every unit of representation 2, the attributes by falling weight.
    pub falling: Vec<Vec<u32>>,
    /// The rows of `W(1)` as integers.
    pub rows: Vec<Integers>,
}

/// Numbers as integers over one power of two.
pub struct Integers {
    /// Each number is its integer times `2^exponent`.
    pub exponent: i64,
    /// The integers, where all of them have at most 100 bits.
    pub small: Option<Vec<i128>>,
    /// Bits of the largest.
    pub bits: usize,
}

impl Integers {
    /// At the largest exponent at which all are integers.
    pub fn new(numbers: &[Dyadic]) -> Integers {
        let exponents = numbers.iter().filter(|x| !x.is_zero()).map(|x| x.parts().1);
        let exponent = exponents.min().unwrap_or(0);
        let integers: Vec<IBig> =
            numbers.iter().map(|x| if x.is_zero() { IBig::ZERO } else { x.at(exponent) }).collect();
        let bits = integers.iter().map(|x| Dyadic::new(x.clone(), 0).bits()).max().unwrap_or(0);
        let small = (bits <= 100).then(|| integers.iter().filter_map(|x| i128::try_from(x).ok()).collect());
        Integers { exponent, small, bits }
    }
}

impl<'a> Network<'a> {
    /// The network that a header speaks of. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If header, graph and model do not fit together.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<Network<'a>, Reason> {
        let rules = &header.message_passing;
        if rules.len() != model.layers.len() || rules.is_empty() {
            return Err(Reason::Header(format!(
                "{} message-passing rules, {} layers",
                rules.len(),
                model.layers.len()
            )));
        }
        let first = &model.layers[0].weight;
        if first.rows != graph.attributes.columns {
            let found = graph.attributes.columns;
            return Err(Reason::Files(format!("the model takes {} attributes, the graph has {found}", first.rows)));
        }
        if model.layers[model.layers.len() - 1].weight.columns < 2 {
            return Err(Reason::Files("the model has fewer than two classes".into()));
        }
        let exact = |values: &[Stored]| values.iter().map(|x| x.exact()).collect();
        let mut layers: Vec<Layer> = Vec::new();
        for (at, (layer, rule)) in model.layers.iter().zip(rules).enumerate() {
            let passing = match rules[..at].iter().position(|earlier| earlier == rule) {
                Some(earlier) => layers[earlier].passing.clone(),
                None => message_passing(rule, graph, matrices)?,
            };
            if ![&passing.values, &layer.weight.values, &layer.bias].into_iter().all(|list| Stored::are_finite(list)) {
                return Err(Reason::Files("a weight, a bias or an entry is not a finite number".into()));
            }
            let weight = Stored::all(&layer.weight.values);
            let weight = weight.chunks(layer.weight.columns.max(1)).map(exact).collect();
            layers.push(Layer { passing, weight, bias: exact(&Stored::all(&layer.bias)) });
        }
        let weight = &layers[0].weight;
        let falling = (0..first.columns).map(|unit| {
            let mut order: Vec<u32> = (0..first.rows as u32).collect();
            order.sort_by(|&a, &b| weight[b as usize][unit].cmp(&weight[a as usize][unit]));
            order
        });
        let falling = falling.collect();
        let rows = weight.iter().map(|row| Integers::new(row)).collect();
        let widths = [0, 0].into_iter().chain(layers.iter().map(|layer| layer.bias.len())).collect();
        Ok(Network { graph, model, layers, widths, falling, rows })
    }

    /// `L`: the number of representations, one more than weight layers.
    pub fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    /// `K`.
    pub fn classes(&self) -> usize {
        self.widths[self.depth()]
    }

    /// Is the attribute present at the node?
    pub fn has(&self, node: u32, attribute: u32) -> bool {
        self.graph.attributes.contains(node as usize, attribute)
    }
}
