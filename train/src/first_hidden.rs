//! Bounds of the units of representation 2, each by the flips that change it most (docs/math.md (3.1)).
//!
//! Where one term reaches a unit, a node's flips are ordered by that term's weights alone; where several do, every flip
//! of the node is evaluated, unless the terms together cannot reach what other nodes surely gain.

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::network::Network;

use super::pass::Pass;
use super::receptive_field::ReceptiveField;
use super::top_flips::{Entry, Look, Pick, Side, Unit, keep_best};

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
    pub(crate) fn end_row(&mut self) {
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

impl UnitBounds {
    /// Nothing yet, with room for so many rows.
    pub(crate) fn with_capacity(rows: usize) -> UnitBounds {
        let (lower, upper) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        UnitBounds { lower, upper, rise: Picks::new(), fall: Picks::new() }
    }
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
}

impl Rows {
    pub(crate) fn new(network: &Network, budget: &Budget, reach: &ReceptiveField) -> Rows {
        let mut place = vec![0u32; network.node_count()];
        reach.nodes(1).iter().enumerate().for_each(|(at, &n)| place[n as usize] = at as u32);
        let capacity = reach.nodes(1).iter().map(|&n| budget.local(n as usize).min(budget.global())).collect();
        let passing = &network.layers()[0].passing;
        let (terms, needed) = (passing.terms(), Vec::new());
        let mut rows = Rows { offsets: vec![0], nodes: Vec::new(), values: Vec::new(), terms, needed, capacity };
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

/// What the flips of a node surely gain, each of as many as it may make, and what none of them gains more than.
#[derive(Clone, Copy, Default)]
struct Gains {
    surely: f64,
    at_most: f64,
}

/// One term of a unit: its weights, and what every node's flips gain through it on both sides.
struct UnitTerm<'a> {
    weights: Unit<'a>,
    looks: Vec<Look>,
    gains: [Vec<Gains>; 2],
}

impl<'a> UnitTerm<'a> {
    fn new(weights: Unit<'a>, reach: &ReceptiveField, rows: &Rows) -> UnitTerm<'a> {
        let looks: Vec<Look> = reach.nodes(1).iter().map(|&n| weights.look(n as usize)).collect();
        let gains = [Side::Rise, Side::Fall].map(|side| {
            let gain = |(&look, &capacity)| Gains {
                surely: weights.surely(side, look, capacity),
                at_most: weights.at_most(side, look),
            };
            looks.iter().zip(&rows.capacity).map(gain).collect()
        });
        UnitTerm { weights, looks, gains }
    }

    /// The side on which flips move the unit up, or down, through an entry: a negative one swaps the two roles.
    #[inline]
    fn side(value: f64, rising: bool) -> Side {
        if (value > 0.0) == rising { Side::Rise } else { Side::Fall }
    }

    /// The gains of a node's flips through an entry.
    #[inline]
    fn gains(&self, node: u32, value: f64, rising: bool) -> Gains {
        let Gains { surely, at_most } = self.gains[Self::side(value, rising) as usize][node as usize];
        Gains { surely: value.abs() * surely, at_most: value.abs() * at_most }
    }
}

/// The terms of a unit through which a node reaches it.
enum Reached {
    None,
    One(usize),
    Several,
}

/// One unit: its terms; none where all weights of a term are zero.
struct UnitTerms<'a> {
    terms: Vec<Option<UnitTerm<'a>>>,
    graph: &'a Graph,
    budget: &'a Budget,
}

impl UnitTerms<'_> {
    #[inline]
    fn reached(&self, entries: &[f64]) -> Reached {
        if entries.len() == 1 {
            return Reached::One(0);
        }
        let terms = entries.iter().zip(&self.terms).enumerate();
        let mut used = terms.filter(|(_, (a, term))| **a != 0.0 && term.is_some()).map(|(k, _)| k);
        match (used.next(), used.next()) {
            (None, _) => Reached::None,
            (Some(k), None) => Reached::One(k),
            _ => Reached::Several,
        }
    }

    /// The gains of a node's flips through the entries of all terms.
    #[inline]
    fn gains(&self, node: u32, entries: &[f64], rising: bool) -> Gains {
        let of = |k: usize| self.terms[k].as_ref().map_or(Gains::default(), |t| t.gains(node, entries[k], rising));
        match self.reached(entries) {
            Reached::None => Gains::default(),
            Reached::One(k) => of(k),
            Reached::Several => {
                Gains { surely: 0.0, at_most: (0..entries.len()).map(|k| of(k).at_most).sum::<f64>() * (1.0 + 1e-9) }
            }
        }
    }

    /// Appends the flips of a node that reach the floor: the `capacity` best of them.
    fn list(&self, rows: &Rows, entry: u32, rising: bool, floor: f64, list: &mut Vec<(f64, Pick)>) {
        let (node, entries) = (rows.nodes[entry as usize], rows.entries(entry));
        let capacity = rows.capacity[node as usize];
        match self.reached(entries) {
            Reached::None => {}
            Reached::One(k) => {
                if let Some(UnitTerm { weights, looks, .. }) = &self.terms[k] {
                    let at = Entry { place: entry, value: entries[k] };
                    weights.list(UnitTerm::side(at.value, rising), looks[node as usize], at, floor, capacity, list);
                }
            }
            Reached::Several => {
                let look = self.terms.iter().flatten().map(|term| term.looks[node as usize]).next();
                let present = look.map_or(&[][..], |look| self.graph.attributes().row(look.node));
                let start = list.len();
                for d in (0..self.graph.attribute_count()).filter(|&d| !self.budget.is_frozen(d)) {
                    let change = self.change(entries, d);
                    let rise = if rising { change } else { -change };
                    let (sign, permitted) = match rise > 0.0 {
                        true => (1.0, self.budget.direction().adds()),
                        false => (-1.0, self.budget.direction().removes()),
                    };
                    let gain = rise.abs();
                    let there = || present.binary_search(&(d as u32)).is_ok();
                    if permitted && gain > 0.0 && gain >= floor && there() == (sign < 0.0) {
                        list.push((gain, Pick { attribute: d as u32, entry, factor: sign }));
                    }
                }
                keep_best(list, start, capacity);
            }
        }
    }

    /// What an attribute adds to the unit through these entries.
    #[inline]
    fn change(&self, entries: &[f64], attribute: usize) -> f64 {
        let terms = entries.iter().zip(&self.terms);
        terms.filter_map(|(a, term)| Some(a * term.as_ref()?.weights.column()[attribute])).sum()
    }
}

/// A unit that needs no bounds: the line under one without activation is the unit itself, and no layer above needs its bounds.
pub(crate) fn without_bounds(
    network: &Network,
    reach: &ReceptiveField,
    pass: &Pass,
    unit: usize,
) -> Option<UnitBounds> {
    if !network.layers()[0].is_linear(unit) || network.depth() != 3 {
        return None;
    }
    let values: Vec<f64> = reach.nodes(2).iter().map(|&m| pass.row(2, m as usize)[unit]).collect();
    let mut found = UnitBounds::with_capacity(0);
    found.rise.offsets = vec![0; values.len() + 1];
    found.fall.offsets = vec![0; values.len() + 1];
    Some(UnitBounds { lower: values.clone(), upper: values, ..found })
}

/// One unit of representation 2 (docs/math.md (3.1)). Cost: a look at each node's attributes, and per row a walk along
/// its neighbours; where terms meet, all attributes of a neighbour that may still be among the best.
pub(crate) fn first_hidden(
    graph: &Graph,
    network: &Network,
    budget: &Budget,
    reach: &ReceptiveField,
    rows: &Rows,
    pass: &Pass,
    unit: usize,
) -> UnitBounds {
    if let Some(found) = without_bounds(network, reach, pass, unit) {
        return found;
    }
    let layer = &network.layers()[0];
    let mut found = UnitBounds::with_capacity(reach.nodes(2).len());
    let term = |k: usize| {
        let column: Vec<f64> = (0..layer.inputs()).map(|d| layer.weight.get(k * layer.inputs() + d, unit)).collect();
        let live = layer.passing.terms() == 1 || column.iter().any(|&w| w != 0.0);
        live.then(|| UnitTerm::new(Unit::new(column, budget, graph.attributes()), reach, rows))
    };
    let unit_terms = UnitTerms { terms: (0..layer.passing.terms()).map(term).collect(), graph, budget };
    let (mut best, mut gains, mut sure): (Vec<(f64, Pick)>, Vec<Gains>, Vec<f64>) = Default::default();
    for (row, &m) in reach.nodes(2).iter().enumerate() {
        let z = pass.row(2, m as usize)[unit];
        for (rising, kept) in [(true, &mut found.rise), (false, &mut found.fall)] {
            let gains_of = |entry: u32| unit_terms.gains(rows.nodes[entry as usize], rows.entries(entry), rising);
            gains.clear();
            gains.extend(rows.row(row).map(gains_of));
            sure.clear();
            sure.extend(gains.iter().map(|gains| gains.surely));
            // So many neighbours surely fill the global budget with gains of at least this: smaller ones are not
            // selected.
            let floor = largest(&mut sure, rows.needed[row]);
            best.clear();
            for (entry, _) in rows.row(row).zip(&gains).filter(|(_, gains)| gains.at_most >= floor) {
                unit_terms.list(rows, entry, rising, floor, &mut best);
            }
            keep_best(&mut best, 0, budget.global());
            kept.picks.extend(best.iter().map(|b| b.1));
            kept.end_row();
            let change =
                |pick: &Pick| pick.factor * unit_terms.change(rows.entries(pick.entry), pick.attribute as usize);
            let moved: f64 = best.iter().map(|(_, pick)| change(pick)).sum();
            if rising { found.upper.push(z + moved) } else { found.lower.push(z + moved) }
        }
    }
    found
}

/// The `rank`-th largest value; 0 if there are fewer.
fn largest(values: &mut [f64], rank: usize) -> f64 {
    match rank {
        0 => 0.0,
        1 => values.iter().copied().fold(0.0, f64::max),
        rank if rank > values.len() => 0.0,
        rank => *values.select_nth_unstable_by(rank - 1, |x, y| y.total_cmp(x)).1,
    }
}
