//! `EdgeInstance`: the problem as plain data, and the naive forward pass on it.

use crate::matrix::{Dense, Sparse};

/// How entries depend on the sizes of nodes: the numbers of their neighbours, themselves included where the rule says
/// so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// `1 / sqrt(size · size)`.
    Root,
    /// `1 / size` of the receiver.
    Mean,
    /// 1.
    Sum,
}

impl Passing {
    /// The entry by the sizes of receiver and sender, in plain f64.
    pub fn entry(self, receiver: usize, sender: usize) -> f64 {
        match self {
            Passing::Root => 1.0 / (receiver as f64 * sender as f64).sqrt(),
            Passing::Mean => 1.0 / receiver as f64,
            Passing::Sum => 1.0,
        }
    }
}

/// Messages along edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// How entries depend on sizes.
    pub passing: Passing,
    /// Does every node pass to itself, or only those with a self-loop?
    pub with_self: bool,
}

impl Along {
    /// The size of a node with so many edges.
    pub(super) fn size(self, degree: usize, looped: bool) -> usize {
        degree + usize::from(self.with_self || looped)
    }

    /// The entry between two sizes; 0 where it reads one that is 0.
    pub(super) fn entry(self, receiver: usize, sender: usize) -> f64 {
        let none = match self.passing {
            Passing::Root => receiver == 0 || sender == 0,
            Passing::Mean => receiver == 0,
            Passing::Sum => false,
        };
        if none { 0.0 } else { self.passing.entry(receiver, sender) }
    }
}

/// One term of a layer: `(A + F) H W`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeTerm {
    /// `A`, if messages run along edges.
    pub along: Option<Along>,
    /// `F`, which no change of an edge touches; a readout, for example, or the identity.
    pub fixed: Sparse,
    /// `W`, `[in, out]`.
    pub weight: Dense,
}

/// The sum of some terms and a bias; then every unit that is not linear is clipped at 0, unless the layer is the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeLayer {
    /// At least one, all of the same shape.
    pub terms: Vec<EdgeTerm>,
    /// One row for all nodes, or one row for each.
    pub bias: Dense,
    /// By unit.
    pub linear: Vec<bool>,
}

impl EdgeLayer {
    /// The biases of a node.
    pub(super) fn bias_of(&self, node: usize) -> &[f64] {
        self.bias.row(if self.bias.rows == 1 { 0 } else { node })
    }
}

/// Who receives, and from whom: two different nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The receiver.
    pub to: usize,
    /// The sender.
    pub from: usize,
    /// The change that removes or inserts it, if one can.
    pub change: Option<usize>,
}

/// An edge that may be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Is it inserted?
    pub inserts: bool,
    /// The nodes at which it counts.
    pub counted: Vec<usize>,
}

/// One target and one pair of classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeInstance {
    /// The row of the last layer whose margin is minimised.
    pub target: usize,
    /// The attributes, a row for each node.
    pub attributes: Dense,
    /// Which nodes have a self-loop.
    pub looped: Vec<bool>,
    /// All arcs that are there or may be.
    pub arcs: Vec<Arc>,
    /// What may be done.
    pub changes: Vec<Change>,
    /// How many changes in all.
    pub global: usize,
    /// How many at a node.
    pub local: Vec<usize>,
    /// How many removals at a node.
    pub losable: Vec<usize>,
    /// The layers.
    pub layers: Vec<EdgeLayer>,
    /// The coefficients of the logits in the margin.
    pub objective: Vec<f64>,
}

impl EdgeInstance {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.attributes.rows
    }

    /// Is an arc there without a change?
    pub(super) fn is_there(&self, arc: &Arc) -> bool {
        arc.change.is_none_or(|change| !self.changes[change].inserts)
    }

    /// May these changes be made together?
    pub fn admits(&self, made: &[bool]) -> bool {
        let at = |node: usize, removals: bool| {
            let changes = self.changes.iter().zip(made).filter(|(_, made)| **made).map(|(change, _)| change);
            changes.filter(|change| change.counted.contains(&node) && !(removals && change.inserts)).count()
        };
        made.iter().filter(|&&made| made).count() <= self.global
            && (0..self.nodes()).all(|node| at(node, false) <= self.local[node] && at(node, true) <= self.losable[node])
    }

    /// The margin after some changes, in plain f64.
    pub fn forward(&self, made: &[bool]) -> f64 {
        let is_left = |arc: &&Arc| self.is_there(arc) != arc.change.is_some_and(|change| made[change]);
        let arcs: Vec<&Arc> = self.arcs.iter().filter(is_left).collect();
        let mut degrees = vec![0; self.nodes()];
        arcs.iter().for_each(|arc| degrees[arc.to] += 1);
        let mut hidden = self.attributes.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            let units = layer.bias.columns;
            let values = (0..self.nodes()).flat_map(|node| layer.bias_of(node)).copied().collect();
            let mut next = Dense { rows: self.nodes(), columns: units, values };
            for term in &layer.terms {
                let mut add = |to: usize, from: usize, entry: f64| {
                    for (input, x) in hidden.row(from).iter().enumerate() {
                        for unit in 0..units {
                            *next.at_mut(to, unit) += entry * x * term.weight.at(input, unit);
                        }
                    }
                };
                term.fixed.entries.iter().for_each(|&(to, from, entry)| add(to, from, entry));
                let Some(along) = term.along else { continue };
                let size = |node: usize| along.size(degrees[node], self.looped[node]);
                arcs.iter().for_each(|arc| add(arc.to, arc.from, along.entry(size(arc.to), size(arc.from))));
                for node in (0..self.nodes()).filter(|&node| along.with_self || self.looped[node]) {
                    add(node, node, along.entry(size(node), size(node)));
                }
            }
            if index + 1 < self.layers.len() {
                for (at, value) in next.values.iter_mut().enumerate() {
                    *value = if layer.linear[at % units] { *value } else { value.max(0.0) };
                }
            }
            hidden = next;
        }
        self.objective.iter().zip(hidden.row(self.target)).map(|(c, logit)| c * logit).sum()
    }
}
