//! The operators by which layers pass messages: rules on a graph, polynomials of them, matrices of one's own.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use sprs::{CsMatI, SpIndex};

use crate::problem::graph::Graph;
use crate::problem::matrix::{MatrixError, MatrixRows, PatternRows, SparseMatrix, by_rows, check_finite, sparse};
use crate::problem::polynomial;

/// How a layer passes messages along the edges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Operator {
    /// `1/√(d_i d_j)` over neighbours and the node itself, `d` counting the node itself once.
    Gcn,
    /// `1/√(d_i d_j)` over the neighbours in the file, `d` being their number; nothing is added.
    GcnWithoutSelf,
    /// The average over the neighbours in the file (`1/degree`).
    Mean,
    /// The average over the neighbours and the node itself.
    MeanWithSelf,
    /// The sum over the neighbours in the file.
    Sum,
    /// The sum over the neighbours and the node itself.
    SumWithSelf,
    /// No messages: every node for itself.
    Identity,
    /// A readout: row `g` is the sum over the nodes of graph `g`; rows behind the last graph are empty.
    PoolSum,
    /// The same for the average over the nodes of a graph (`1/n`).
    PoolMean,
    /// `Σ c_k A^k` of another rule, in the floats that [`crate::problem::polynomial`] defines.
    Polynomial(Box<Operator>, Vec<f64>),
    /// A matrix of one's own, entries of either sign.
    Matrix(Arc<SparseMatrix>),
}

impl FromStr for Operator {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "gcn" => Operator::Gcn,
            "gcn-self" => Operator::GcnWithoutSelf,
            "mean" => Operator::Mean,
            "mean+self" => Operator::MeanWithSelf,
            "sum" => Operator::Sum,
            "sum+self" => Operator::SumWithSelf,
            "identity" => Operator::Identity,
            "pool-sum" => Operator::PoolSum,
            "pool-mean" => Operator::PoolMean,
            _ => match name.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) {
                Some(inner) => Operator::polynomial(inner, str::parse)?,
                None => {
                    let known = "gcn, gcn-self, mean, mean+self, sum, sum+self, identity, poly(RULE;c0,c1,…)";
                    return Err(format!("'{name}' is none of {known}"));
                }
            },
        })
    }
}

impl Operator {
    /// The operator of `RULE;c0,c1,…`, where `read` reads the rule.
    ///
    /// # Errors
    /// If the rule is none, is a polynomial itself, or a coefficient is no finite number.
    pub fn polynomial(text: &str, read: impl Fn(&str) -> Result<Operator, String>) -> Result<Operator, String> {
        let (rule, coefficients) = polynomial::parse(text, read)?;
        if rule.is_readout() {
            return Err(format!("{} is a readout, which has no powers", rule.name()));
        }
        Ok(Operator::Polynomial(Box::new(rule), coefficients))
    }

    /// The matrix `A` of this rule on this graph.
    pub fn matrix(&self, graph: &Graph) -> Arc<SparseMatrix> {
        let adjacency = graph.adjacency();
        let with_self = matches!(self, Self::Gcn | Self::MeanWithSelf | Self::SumWithSelf);
        let neighbours = |n: usize| -> Vec<u32> {
            let own = n as u32;
            let mut row = adjacency.row(n).to_vec();
            if with_self && let Err(place) = row.binary_search(&own) {
                row.insert(place, own);
            }
            row
        };
        let n = graph.node_count();
        let sizes: Vec<f64> = match self {
            Self::Matrix(matrix) => return matrix.clone(),
            Self::Polynomial(rule, coefficients) => {
                return Arc::new(polynomial::evaluate(&rule.matrix(graph), coefficients));
            }
            Self::Identity => return Arc::new(build(n, |i| vec![i as u32], |_, _| 1.0)),
            Self::PoolSum | Self::PoolMean => {
                let nodes = |g: usize| graph.nodes_of(g).map(|node| node as u32).collect();
                let mean = matches!(self, Self::PoolMean);
                return Arc::new(build(n, nodes, |g, _| if mean { 1.0 / graph.nodes_of(g).len() as f64 } else { 1.0 }));
            }
            _ => (0..n).map(|i| neighbours(i).len() as f64).collect(),
        };
        Arc::new(match self {
            // This very expression, so that anyone can reproduce the bits.
            Self::Gcn | Self::GcnWithoutSelf => build(n, neighbours, |i, j| 1.0 / (sizes[i] * sizes[j]).sqrt()),
            Self::Mean | Self::MeanWithSelf => build(n, neighbours, |i, _| 1.0 / sizes[i]),
            _ => build(n, neighbours, |_, _| 1.0),
        })
    }

    /// A matrix of one's own, nodes × nodes, by rows or by columns.
    ///
    /// # Errors
    /// If an entry is not finite, or the matrix is too large.
    pub fn custom<I: SpIndex, P: SpIndex>(matrix: &CsMatI<f64, I, P>) -> Result<Operator, MatrixError> {
        let matrix = by_rows("the operator", matrix)?;
        check_finite("the operator", &matrix)?;
        Ok(Operator::Matrix(Arc::new(matrix)))
    }

    /// A matrix of one's own, as it was read.
    ///
    /// # Errors
    /// If it is none, or an entry is not finite.
    pub fn from_plain(matrix: gcnproof_files::SparseMatrix) -> Result<Operator, MatrixError> {
        let matrix = sparse(matrix)?;
        check_finite("the operator", &matrix)?;
        Ok(Operator::Matrix(Arc::new(matrix)))
    }

    /// Can entries be below 0? By the rule, whatever the graph: parts of a graph are to be treated as the whole.
    pub(crate) fn is_signed(&self) -> bool {
        match self {
            Operator::Polynomial(of, coefficients) => coefficients.iter().any(|&c| c < 0.0) || of.is_signed(),
            Operator::Matrix(matrix) => matrix.data().iter().any(|&entry| entry < 0.0),
            _ => false,
        }
    }

    /// Entries of the longest row, on the whole graph even where this is a part of it.
    pub(crate) fn longest_row(&self, graph: &Graph) -> usize {
        match self {
            Self::Identity => 1,
            Self::Gcn | Self::MeanWithSelf | Self::SumWithSelf => graph.longest_rows().with_self,
            Self::GcnWithoutSelf | Self::Mean | Self::Sum => graph.longest_rows().neighbours,
            Self::PoolSum | Self::PoolMean => {
                (0..graph.target_count()).map(|g| graph.nodes_of(g).len()).max().unwrap_or(0)
            }
            Self::Matrix(_) | Self::Polynomial(..) => {
                let matrix = self.matrix(graph);
                (0..matrix.rows()).map(|i| matrix.row(i).0.len()).max().unwrap_or(0)
            }
        }
    }

    /// Is it a readout, whose rows are graphs?
    pub fn is_readout(&self) -> bool {
        matches!(self, Self::PoolSum | Self::PoolMean)
    }

    /// Steps along edges that it takes at once; a readout counts as one.
    pub(crate) fn hops(&self) -> usize {
        match self {
            Self::Identity => 0,
            Self::Polynomial(rule, c) => rule.hops() * c.iter().rposition(|&c| c != 0.0).unwrap_or(0),
            _ => 1,
        }
    }

    /// A short name for reports.
    pub fn name(&self) -> String {
        match self {
            Self::Gcn => "gcn".into(),
            Self::GcnWithoutSelf => "gcn-self".into(),
            Self::Mean => "mean".into(),
            Self::MeanWithSelf => "mean+self".into(),
            Self::Sum => "sum".into(),
            Self::SumWithSelf => "sum+self".into(),
            Self::Identity => "identity".into(),
            Self::PoolSum => "pool-sum".into(),
            Self::PoolMean => "pool-mean".into(),
            Self::Polynomial(rule, coefficients) => {
                let coefficients: Vec<String> = coefficients.iter().map(f64::to_string).collect();
                format!("poly({};{})", rule.name(), coefficients.join(","))
            }
            Self::Matrix(_) => "matrix".into(),
        }
    }
}

fn build(n: usize, row: impl Fn(usize) -> Vec<u32>, entry: impl Fn(usize, usize) -> f64) -> SparseMatrix {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in row(i) {
            indices.push(j);
            values.push(entry(i, j as usize));
        }
        offsets.push(indices.len());
    }
    SparseMatrix::new((n, n), offsets, indices, values)
}

/// An operator by its rule; one of `matrices` by its digest, alone or in a polynomial.
pub(super) fn operator_of(rule: &str, matrices: &BTreeMap<String, Operator>) -> Result<Operator, String> {
    if let Some(matrix) = matrices.get(rule) {
        return Ok(matrix.clone());
    }
    match rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => Operator::polynomial(inner, |base| operator_of(base, matrices)),
        None => rule.parse().map_err(|problem: String| match problem.contains("is none of") {
            true => format!("{problem}, matrix:NAME, or a readout, pool-sum or pool-mean"),
            false => problem,
        }),
    }
}

/// The matrix of an operator that is no rule.
pub(super) fn own(operator: &Operator) -> Option<Arc<SparseMatrix>> {
    match operator {
        Operator::Matrix(matrix) => Some(matrix.clone()),
        _ => None,
    }
}

/// What tells an operator from others on the same graph.
pub(super) fn key(operator: &Operator) -> String {
    match operator {
        Operator::Matrix(matrix) => format!("matrix at {:p}", Arc::as_ptr(matrix)),
        Operator::Polynomial(rule, coefficients) => format!("poly({};{coefficients:?})", key(rule)),
        rule => rule.name(),
    }
}
