//! The network as its file describes it, beside the chain that it is brought into. Its exact values are those of the
//! chain; what rounding does to it depends on the sums that are described.

/// Where the weights of a term stand in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The layer of the chain, from 0.
    pub layer: usize,
    /// The first row among all rows of that layer's weights, the terms of the chain one below the other.
    pub row: usize,
    /// The first column.
    pub column: usize,
}

/// One term of a described layer.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedTerm {
    /// The described layer that it reads, which stands before its own; none: the attributes.
    pub source: Option<usize>,
    /// Its operator: which of those that the chain's layer has.
    pub operator: usize,
    /// Its weights: as many rows as what it reads has units, as many columns as its layer has.
    pub weight: Place,
    /// For each weight, row after row, at least the sum of the absolute values of all products that were folded into
    /// it; none: nothing was.
    pub magnitude: Option<Vec<f64>>,
    /// How many roundings more than described a product of this term may pass.
    pub roundings: u32,
}

/// A layer as described.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedLayer {
    /// The layer of the chain that gives its values, from 0.
    pub layer: usize,
    /// Its first unit there.
    pub first: usize,
    /// How many units it has.
    pub outputs: usize,
    /// Its terms, at least one.
    pub terms: Vec<DescribedTerm>,
    /// As [`DescribedTerm::magnitude`], of the bias: one number for each unit, or one for each node and unit.
    pub bias_magnitude: Option<Vec<f64>>,
    /// As [`DescribedTerm::roundings`], of the bias.
    pub bias_roundings: u32,
}

/// All layers, each after those that it reads; the last has the logits.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The layers.
    pub layers: Vec<DescribedLayer>,
}

impl Described {
    /// What a chain describes that stands for nothing else. `sizes` are inputs, outputs and terms of each layer.
    #[must_use]
    pub fn chain(sizes: &[(usize, usize, usize)]) -> Described {
        let layer = |(layer, &(inputs, outputs, terms)): (usize, &(usize, usize, usize))| {
            let term = |k: usize| DescribedTerm {
                source: layer.checked_sub(1),
                operator: k,
                weight: Place { layer, row: k * inputs, column: 0 },
                magnitude: None,
                roundings: 0,
            };
            let terms = (0..terms).map(term).collect();
            DescribedLayer { layer, first: 0, outputs, terms, bias_magnitude: None, bias_roundings: 0 }
        };
        Described { layers: sizes.iter().enumerate().map(layer).collect() }
    }

    /// Does some layer have a magnitude of its bias for each node?
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        let by_node = |layer: &DescribedLayer| layer.bias_magnitude.as_ref().is_some_and(|m| m.len() > layer.outputs);
        self.layers.iter().any(by_node)
    }

    /// Was something folded into a weight or a bias?
    #[must_use]
    pub fn is_folded(&self) -> bool {
        let term = |term: &DescribedTerm| term.magnitude.is_some() || term.roundings > 0;
        let layer = |layer: &DescribedLayer| {
            layer.bias_magnitude.is_some() || layer.bias_roundings > 0 || layer.terms.iter().any(term)
        };
        self.layers.iter().any(layer)
    }
}
