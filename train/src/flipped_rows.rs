//! Flips one by one, and changes of categories: which of them move a unit of representation 2 most (docs/math.md (3.1),
//! §23).
//!
//! Where one term reaches a unit, a node's flips are ordered by that term's weights alone; where several do, every flip
//! of the node is evaluated, unless the terms together cannot reach what other nodes surely gain. So are changes of
//! categories, of which few are those of a row.

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;

use super::first_hidden::{FirstHidden, Rows, UnitBounds};
use super::receptive_field::ReceptiveField;
use super::top_flips::{Candidate, Entry, Look, Pick, Side, Unit, keep_best};

/// What the flips of a node surely gain, each of as many as it may make, and what none of them gains more than.
#[derive(Clone, Copy, Default)]
struct EntryGains {
    surely: f64,
    at_most: f64,
}

/// One term of a unit: its weights, and what every node's flips gain through it on both sides.
struct UnitTerm<'a> {
    weights: Unit<'a>,
    looks: Vec<Look>,
    gains: [Vec<EntryGains>; 2],
}

impl<'a> UnitTerm<'a> {
    fn new(weights: Unit<'a>, reach: &ReceptiveField, rows: &Rows) -> UnitTerm<'a> {
        let looks: Vec<Look> = reach.nodes(1).iter().map(|&n| weights.look(n as usize)).collect();
        let gains = [Side::Rise, Side::Fall].map(|side| {
            let gain = |(&look, &capacity)| EntryGains {
                surely: weights.surely(side, look, capacity),
                at_most: weights.at_most(side, look),
            };
            looks.iter().zip(rows.capacities()).map(gain).collect()
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
    fn gains(&self, node: u32, value: f64, rising: bool) -> EntryGains {
        let EntryGains { surely, at_most } = self.gains[Self::side(value, rising) as usize][node as usize];
        EntryGains { surely: value.abs() * surely, at_most: value.abs() * at_most }
    }
}

/// The terms of a unit through which a node reaches it; categories are changed as if there were several.
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
        if self.budget.has_categories() {
            return Reached::Several;
        }
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
    fn gains(&self, node: u32, entries: &[f64], rising: bool) -> EntryGains {
        let of = |k: usize| self.terms[k].as_ref().map_or(EntryGains::default(), |t| t.gains(node, entries[k], rising));
        match self.reached(entries) {
            Reached::None => EntryGains::default(),
            Reached::One(k) => of(k),
            Reached::Several => EntryGains {
                surely: 0.0,
                at_most: (0..entries.len()).map(|k| of(k).at_most).sum::<f64>() * (1.0 + 1e-9),
            },
        }
    }

    /// Appends the flips of a node that reach the floor: the `capacity` best of them.
    fn list(&self, rows: &Rows, entry: u32, rising: bool, floor: f64, list: &mut Vec<Candidate>) {
        let (node, entries) = (rows.node(entry), rows.entries(entry));
        let capacity = rows.capacity(node);
        match self.reached(entries) {
            Reached::None => {}
            Reached::One(k) => {
                if let Some(UnitTerm { weights, looks, .. }) = &self.terms[k] {
                    let at = Entry { place: entry, value: entries[k], side: UnitTerm::side(entries[k], rising) };
                    weights.list(looks[node as usize], at, floor, capacity, list);
                }
            }
            Reached::Several => {
                let start = list.len();
                match rows.changes(node) {
                    Some(changes) => {
                        for &attribute in changes {
                            let change = self.change(entries, attribute as usize);
                            let gain = if rising { change } else { -change };
                            if gain > 0.0 && gain >= floor {
                                list.push(Candidate { gain, pick: Pick { attribute, entry, factor: 1.0 } });
                            }
                        }
                    }
                    None => self.list_flips(rows, entry, rising, floor, list),
                }
                keep_best(list, start, capacity);
            }
        }
    }

    /// Appends all flips of a node that reach the floor.
    fn list_flips(&self, rows: &Rows, entry: u32, rising: bool, floor: f64, list: &mut Vec<Candidate>) {
        let (node, entries) = (rows.node(entry), rows.entries(entry));
        let look = self.terms.iter().flatten().map(|term| term.looks[node as usize]).next();
        let present = look.map_or(&[][..], |look| self.graph.attributes().row(look.node));
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
                list.push(Candidate { gain, pick: Pick { attribute: d as u32, entry, factor: sign } });
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

/// The bounds of one unit. Cost: a look at each node's attributes, and per row a walk along its neighbours; where terms
/// meet, all attributes of a neighbour that may still be among the best.
pub(crate) fn unit_bounds(first: &FirstHidden, unit: usize) -> UnitBounds {
    let FirstHidden { graph, network, budget, reach, rows, .. } = *first;
    let layer = &network.layers()[0];
    let term = |k: usize| {
        let column: Vec<f64> = (0..layer.inputs()).map(|d| layer.weight.get(k * layer.inputs() + d, unit)).collect();
        let live = layer.passing.terms() == 1 || column.iter().any(|&w| w != 0.0);
        live.then(|| UnitTerm::new(Unit::new(column, budget, graph.attributes()), reach, rows))
    };
    let unit_terms = UnitTerms { terms: (0..layer.passing.terms()).map(term).collect(), graph, budget };
    let (mut best, mut gains, mut sure): (Vec<Candidate>, Vec<EntryGains>, Vec<f64>) = Default::default();
    first.bounds(unit, |asked, picks| {
        let gains_of = |entry: u32| unit_terms.gains(rows.node(entry), rows.entries(entry), asked.rising);
        gains.clear();
        gains.extend(rows.row(asked.row).map(gains_of));
        sure.clear();
        sure.extend(gains.iter().map(|gains| gains.surely));
        // So many neighbours surely fill the global budget with gains of at least this: smaller ones are not
        // selected.
        let floor = largest(&mut sure, rows.needed(asked.row));
        best.clear();
        for (entry, _) in rows.row(asked.row).zip(&gains).filter(|(_, gains)| gains.at_most >= floor) {
            unit_terms.list(rows, entry, asked.rising, floor, &mut best);
        }
        keep_best(&mut best, 0, budget.global());
        best.iter().for_each(|candidate| picks.push(candidate.pick));
        let change = |pick: &Pick| pick.factor * unit_terms.change(rows.entries(pick.entry), pick.attribute as usize);
        best.iter().map(|candidate| change(&candidate.pick)).sum()
    })
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
