//! Bounds of the units of representation 2, each by the changes of attributes that move it most (docs/math.md (3.1)):
//! what is the same however these are selected.

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;

use super::pass::Pass;
use super::receptive_field::ReceptiveField;
use super::top_flips::Pick;

/// Lists of picks, one per row of the reach in representation 2.
#[derive(Debug)]
pub(crate) struct Picks {
    offsets: Vec<u32>,
    picks: Vec<Pick>,
}

impl Picks {
    fn new() -> Picks {
        Picks { offsets: vec![0], picks: Vec::new() }
    }

    /// Appends to the row that is not ended yet.
    pub(crate) fn push(&mut self, pick: Pick) {
        self.picks.push(pick);
    }

    /// Ends a row.
    fn end_row(&mut self) {
        self.offsets.push(self.picks.len() as u32);
    }

    pub(crate) fn row(&self, row: usize) -> &[Pick] {
        &self.picks[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// What was selected for one unit of representation 2, by rows of the reach.
#[derive(Debug)]
pub(crate) struct UnitBounds {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) rise: Picks,
    pub(crate) fall: Picks,
}

/// The rows of the `A_k(1)` that a reach needs, over the places of its nodes; nodes without a budget are left out.
#[derive(Debug)]
pub(crate) struct Rows {
    offsets: Vec<u32>,
    /// The place of the node of each entry.
    nodes: Vec<u32>,
    /// The values of the terms, entry after entry.
    values: Vec<f64>,
    terms: usize,
    /// How many neighbours fill the global budget, if each uses what it has.
    needed: Vec<usize>,
    /// Flips that a node may contribute to a row.
    capacity: Vec<usize>,
    /// Where categories are changed: the changes that are permitted in the row of each node.
    changes: Option<Vec<Vec<u32>>>,
}

impl Rows {
    pub(crate) fn new(graph: &Graph, network: &Network, budget: &Budget, reach: &ReceptiveField) -> Rows {
        let changes = budget.has_categories().then(|| {
            let own = graph.own_attribute_count()..graph.attribute_count();
            let permitted =
                |&n: &u32| own.clone().filter(move |&d| budget.permits(n as usize, d, false)).map(|d| d as u32);
            reach.nodes(1).iter().map(|n| permitted(n).collect()).collect()
        });
        let mut place = vec![0u32; network.node_count()];
        reach.nodes(1).iter().enumerate().for_each(|(at, &n)| place[n as usize] = at as u32);
        let capacity = reach.nodes(1).iter().map(|&n| budget.local(n as usize).min(budget.global())).collect();
        let passing = &network.layers()[0].passing;
        let (terms, needed) = (passing.terms(), Vec::new());
        let (offsets, nodes, values) = (vec![0], Vec::new(), Vec::new());
        let mut rows = Rows { offsets, nodes, values, terms, needed, capacity, changes };
        for &m in reach.nodes(2) {
            let start = rows.nodes.len();
            for (n, entries) in passing.row(m as usize) {
                if rows.capacity[place[n] as usize] > 0 {
                    rows.nodes.push(place[n]);
                    rows.values.extend_from_slice(entries);
                }
            }
            let least = rows.nodes[start..].iter().map(|&n| rows.capacity[n as usize]).min().unwrap_or(1);
            rows.needed.push(budget.global().div_ceil(least));
            rows.offsets.push(rows.nodes.len() as u32);
        }
        rows
    }

    /// The values of the terms at an entry.
    #[inline]
    pub(crate) fn entries(&self, entry: u32) -> &[f64] {
        &self.values[entry as usize * self.terms..][..self.terms]
    }

    /// The place of an entry's node among those of the reach.
    #[inline]
    pub(crate) fn node(&self, entry: u32) -> u32 {
        self.nodes[entry as usize]
    }

    /// Flips that a node may contribute to a row, by its place in the reach.
    #[inline]
    pub(crate) fn capacity(&self, node: u32) -> usize {
        self.capacity[node as usize]
    }

    /// How many neighbours of a row fill the global budget, if each uses what it has.
    #[inline]
    pub(crate) fn needed(&self, row: usize) -> usize {
        self.needed[row]
    }

    /// The changes of categories that are permitted in a node's row, by its place in the reach; nothing where
    /// attributes are flipped.
    #[inline]
    pub(crate) fn changes(&self, node: u32) -> Option<&[u32]> {
        self.changes.as_ref().map(|changes| changes[node as usize].as_slice())
    }

    /// All capacities, by places in the reach.
    pub(crate) fn capacities(&self) -> &[usize] {
        &self.capacity
    }

    /// The most flips that any node may contribute.
    pub(crate) fn largest_capacity(&self) -> usize {
        self.capacity.iter().copied().max().unwrap_or(0)
    }

    /// The entries of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> std::ops::Range<u32> {
        self.offsets[row]..self.offsets[row + 1]
    }
}

/// What the bounds of all units are computed from.
#[derive(Clone, Copy)]
pub(crate) struct FirstHidden<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) network: &'a Network,
    pub(crate) budget: &'a Budget,
    pub(crate) reach: &'a ReceptiveField,
    pub(crate) rows: &'a Rows,
    pub(crate) pass: &'a Pass,
}

/// A row whose unit is to be moved as far as possible up or down.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// Which row of the reach in representation 2.
    pub(crate) row: usize,
    pub(crate) rising: bool,
}

impl FirstHidden<'_> {
    /// Does this unit need no bounds? The line under one without activation is the unit itself, and with one hidden
    /// layer nothing else asks for them.
    pub(crate) fn is_free(&self, unit: usize) -> bool {
        self.network.layers()[0].is_linear(unit) && self.network.depth() == 3
    }

    /// Bounds a unit: `select` lists the changes that move it most, and says by how much they do.
    pub(crate) fn bounds(&self, unit: usize, mut select: impl FnMut(Asked, &mut Picks) -> f64) -> UnitBounds {
        let (lower, upper) = (Vec::new(), Vec::new());
        let mut found = UnitBounds { lower, upper, rise: Picks::new(), fall: Picks::new() };
        for (row, &m) in self.reach.nodes(2).iter().enumerate() {
            let z = self.pass.row(2, m as usize)[unit];
            found.upper.push(z + select(Asked { row, rising: true }, &mut found.rise));
            found.rise.end_row();
            found.lower.push(z + select(Asked { row, rising: false }, &mut found.fall));
            found.fall.end_row();
        }
        found
    }
}
