//! The network: what every node sends, and what the second layer makes of it. Entries of operators are recomputed by
//! whoever asks.

use std::sync::OnceLock;

use gcnproof_files::{GraphFile, ModelFile};

use super::number::{NumberRow, Scalar};
use super::rule::EdgeRule;
use crate::number::{Dyadic, Stored};
use crate::statement::{first_weights, require_fit};
use crate::verdict::Reason;

/// A term of the second layer.
pub struct EdgeTerm {
    /// How its messages are weighted.
    pub rule: EdgeRule,
    /// The weights of all hidden units, class by class.
    weights: Vec<Vec<Dyadic>>,
}

/// One hidden layer between two layers of weights.
pub struct EdgeNetwork<'a> {
    graph: &'a GraphFile,
    /// The rule of the first layer along which something passes; `identity` if nothing does.
    pub rule: EdgeRule,
    /// The terms of the second layer.
    pub terms: Vec<EdgeTerm>,
    /// The hidden units that have no activation.
    pub linear: Vec<bool>,
    /// Outputs of the second layer.
    pub classes: usize,
    /// Terms of the first layer.
    first: usize,
    weights: Vec<Stored>,
    bias: Vec<Stored>,
    /// Which term of the first layer passes along edges.
    passing: Option<usize>,
    second_bias: Vec<Dyadic>,
    sent: Vec<OnceLock<NumberRow>>,
    fixed: Vec<OnceLock<NumberRow>>,
}

impl<'a> EdgeNetwork<'a> {
    /// The network of two layers with these rules, as a header states them.
    ///
    /// # Errors
    /// If graph, model and rules do not fit together, or have no edges that can be removed.
    pub fn new(graph: &'a GraphFile, model: &'a ModelFile, stated: &[String]) -> Result<EdgeNetwork<'a>, Reason> {
        let names = require_fit(graph, model, stated)?;
        let [first, second] = model.layers.as_slice() else {
            let found = model.layers.len();
            return Err(Reason::Header(format!("{found} layers, but removed edges are proved for two")));
        };
        let mut rules = Vec::new();
        for name in names.iter().flatten() {
            let unknown = || {
                let name: String = name.chars().take(100).collect();
                Reason::Header(format!("message passing '{name}' cannot be recomputed when edges are removed"))
            };
            rules.push(EdgeRule::named(name).ok_or_else(unknown)?);
        }
        let (of_first, of_second) = rules.split_at(names[0].len());
        let mut with_edges = (0..of_first.len()).filter(|&term| of_first[term].has_edges());
        let passing = with_edges.next();
        if with_edges.next().is_some() {
            return Err(Reason::Header("more than one term of the first layer passes along edges".into()));
        }
        let (width, classes) = (first.weight.columns, second.weight.columns);
        let of_classes = Stored::all(&second.weight.values);
        let column = |term: usize, class: usize| -> Vec<Dyadic> {
            (0..width).map(|unit| of_classes[(term * width + unit) * classes + class].exact()).collect()
        };
        let terms = of_second.iter().enumerate().map(|(term, &rule)| {
            let weights = (0..classes).map(|class| column(term, class)).collect();
            EdgeTerm { rule, weights }
        });
        let nodes = graph.attributes.rows;
        let empty = || (0..nodes).map(|_| OnceLock::new()).collect();
        Ok(EdgeNetwork {
            graph,
            rule: passing.map_or(EdgeRule::IDENTITY, |term| of_first[term]),
            terms: terms.collect(),
            linear: if first.linear.is_empty() { vec![false; width] } else { first.linear.clone() },
            classes,
            first: of_first.len(),
            weights: Stored::all(&first_weights(graph, model, of_first.len())?.values),
            bias: Stored::all(&first.bias),
            passing,
            second_bias: Stored::all(&second.bias).into_iter().map(Stored::exact).collect(),
            sent: empty(),
            fixed: empty(),
        })
    }

    /// Has a rule an entry from this node to itself?
    pub fn own(&self, rule: EdgeRule, node: u32) -> bool {
        rule.adds_self || self.graph.adjacency.contains(node as usize, node)
    }

    /// The size of a node with so many edges left.
    pub fn size(&self, rule: EdgeRule, node: u32, left: usize) -> usize {
        left + usize::from(self.own(rule, node))
    }

    /// `X_n W` of one term, added up.
    fn add(&self, node: u32, term: usize, sums: &mut [Dyadic]) {
        let (attributes, width) = (self.graph.attributes.columns, self.linear.len());
        let present = self.graph.attributes.row(node as usize);
        let entry = Stored::new(self.graph.normalisation.entry(present.len())).exact();
        for &d in present {
            let weights = &self.weights[(term * attributes + d as usize) * width..][..width];
            sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += &(&w.exact() * &entry));
        }
    }

    /// `Y_n`: what the node sends along edges.
    pub fn sent<N: Scalar>(&self, node: u32) -> &[N] {
        N::of_row(self.sent[node as usize].get_or_init(|| {
            let mut sums = vec![Dyadic::ZERO; self.linear.len()];
            if let Some(term) = self.passing {
                self.add(node, term, &mut sums);
            }
            NumberRow::new(sums)
        }))
    }

    /// `b_n + Z_n`: what the node has whatever is removed.
    pub fn fixed<N: Scalar>(&self, node: u32) -> &[N] {
        N::of_row(self.fixed[node as usize].get_or_init(|| {
            let (bias, width) = (&self.bias, self.linear.len());
            let start = if bias.len() == width { 0 } else { node as usize * width };
            let mut sums: Vec<Dyadic> = bias[start..][..width].iter().map(|x| x.exact()).collect();
            (0..self.first).filter(|&term| Some(term) != self.passing).for_each(|term| self.add(node, term, &mut sums));
            NumberRow::new(sums)
        }))
    }
}

/// One class against another, at one target.
pub struct Pair<N> {
    /// `b'_t[y*] − b'_t[y]`.
    pub bias: N,
    /// `w_k`, term by term.
    pub weights: Vec<Vec<N>>,
}

impl<N: Scalar> Pair<N> {
    /// Reference and other class at a node.
    pub fn new(network: &EdgeNetwork, node: u32, reference: u32, class: u32) -> Pair<N> {
        let (y, other) = (reference as usize, class as usize);
        let bias = &network.second_bias;
        let start = if bias.len() == network.classes { 0 } else { node as usize * network.classes };
        let difference = |a: &Dyadic, b: &Dyadic| N::of(&(a - b));
        let weights = network.terms.iter().map(|term| {
            let both = term.weights[y].iter().zip(&term.weights[other]);
            both.map(|(a, b)| difference(a, b)).collect()
        });
        Pair { bias: difference(&bias[start + y], &bias[start + other]), weights: weights.collect() }
    }
}
