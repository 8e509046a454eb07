//! Bounds of the units of representation 2 where rows are divided by their sums (docs/math.md §21).
//!
//! A flip changes all entries of its row, so that gains are known for rows with 1, 2, … flips, and not for single
//! flips: the menu of a row. The budget is shared out among the steps of the menus' concave hulls. Between two corners
//! of a hull the gain is a mixture of those at both, and every gain is linear in the weights for as long as the same
//! flips are chosen.

use gcnproof::internals::bound::menu::{Menu, RowLosses};
use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;

use super::first_hidden::{Asked, FirstHidden, UnitBounds};
use super::top_flips::Pick;

/// What every attribute adds to a unit where its entry is 1, and the attributes that add most, falling.
struct Gains {
    of: Vec<f64>,
    leaders: Vec<u32>,
}

impl Gains {
    /// With so many leaders, if there are as many.
    fn new(of: Vec<f64>, budget: &Budget, count: usize) -> Gains {
        let mut leaders: Vec<u32> = (0..of.len() as u32).filter(|&d| !budget.is_frozen(d as usize)).collect();
        let falling = |x: &u32, y: &u32| of[*y as usize].total_cmp(&of[*x as usize]).then(x.cmp(y));
        if leaders.len() > count && count > 0 {
            leaders.select_nth_unstable_by(count - 1, falling);
        }
        leaders.truncate(count);
        leaders.sort_unstable_by(falling);
        Gains { of, leaders }
    }
}

/// The best flips of a row by their number.
#[derive(Default)]
struct RowMenu {
    /// What one more flip gains, falling.
    steps: Vec<f64>,
    /// How many of the best `k` flips are additions.
    additions: Vec<usize>,
    /// Numbers of flips at which the hull of the gains has its corners.
    corners: Vec<usize>,
    added: Vec<u32>,
    removed: Vec<u32>,
}

/// What all menus of a graph share.
#[derive(Clone, Copy)]
struct Menus<'a> {
    graph: &'a Graph,
    budget: &'a Budget,
    /// Leaders that serve every row.
    leaders: usize,
}

impl Menus<'_> {
    /// The menu of a node with up to `capacity` flips (docs/math.md (21.4)).
    fn of(&self, node: usize, capacity: usize, gains: &Gains, menu: &mut Menu) -> RowMenu {
        let present = self.graph.attributes().row(node);
        let (mut added, mut removed): (Vec<u32>, Vec<u32>) = Default::default();
        if self.budget.direction().adds() {
            let absent = gains.leaders.iter().filter(|d| present.binary_search(d).is_err());
            added.extend(absent.take(capacity));
        }
        if self.budget.direction().removes() {
            removed.extend(present.iter().filter(|&&d| !self.budget.is_frozen(d as usize)));
            removed.sort_unstable_by(|x, y| gains.of[*x as usize].total_cmp(&gains.of[*y as usize]).then(x.cmp(y)));
            removed.truncate(capacity);
        }
        let [additions, removals] = [(&added, 1.0), (&removed, -1.0)]
            .map(|(list, sign)| list.iter().map(|&d| sign * gains.of[d as usize]).collect::<Vec<f64>>());
        let row = RowLosses {
            normalisation: self.graph.normalisation(),
            count: present.len(),
            additions: &additions,
            removals: &removals,
            // A menu is of what is lost, and a gain is what the negative functional loses.
            whole: -present.iter().map(|&d| gains.of[d as usize]).sum::<f64>(),
            radius: 0.0,
            limits: [[0, usize::MAX]; 2],
        };
        menu.fill(row, capacity);
        let (steps, additions, corners) = (menu.steps.clone(), menu.additions.clone(), menu.hull.clone());
        RowMenu { steps, additions, corners, added, removed }
    }
}

/// By how much flips of a row change its entries, times a share: every attribute that the row has, and those that are
/// added.
pub(crate) fn changes(
    graph: &Graph,
    node: usize,
    added: &[u32],
    removed: &[u32],
    share: f64,
    mut take: impl FnMut(u32, f64),
) {
    let present = graph.attributes().row(node);
    let after = graph.normalisation().entry(present.len() + added.len() - removed.len());
    let fall = graph.entry(node) - after;
    for &d in present {
        take(d, if removed.contains(&d) { -share * (fall + after) } else { -share * fall });
    }
    added.iter().for_each(|&d| take(d, share * after));
}

impl RowMenu {
    /// What the best so many flips change, as shares of what those at the corners around their number do.
    fn changes(&self, graph: &Graph, node: usize, made: usize, mut take: impl FnMut(u32, f64)) {
        let above = self.corners.partition_point(|&corner| corner < made);
        let (below, above) = (self.corners[above - 1], self.corners[above]);
        let share = (made - below) as f64 / (above - below) as f64;
        for (corner, share) in [(below, 1.0 - share), (above, share)] {
            if corner > 0 && share > 0.0 {
                let additions = self.additions[corner];
                let (added, removed) = (&self.added[..additions], &self.removed[..corner - additions]);
                changes(graph, node, added, removed, share, &mut take);
            }
        }
    }
}

/// A step of a row's menu: what it gains, and which entry of the asked row it belongs to.
struct MenuStep {
    gain: f64,
    at: usize,
}

/// The bounds of one unit (docs/math.md (21.5)). Cost: the menus of all nodes, and per row a selection among the steps
/// of its neighbours; where terms meet, a menu for every entry.
pub(crate) fn unit_bounds(first: &FirstHidden, unit: usize) -> UnitBounds {
    let FirstHidden { graph, network, budget, reach, rows, .. } = *first;
    let layer = &network.layers()[0];
    let (inputs, terms) = (layer.inputs(), layer.passing.terms());
    let longest = reach.nodes(1).iter().map(|&n| graph.attributes().row(n as usize).len()).max().unwrap_or(0);
    let menus = Menus { graph, budget, leaders: longest + rows.largest_capacity() };
    let column = |k: usize, d: usize| layer.weight.get(k * inputs + d, unit);
    let node_of = |entry: u32| reach.nodes(1)[rows.node(entry) as usize] as usize;
    let mut menu = Menu::default();
    // For each term and side, where it alone reaches the unit: the menus of all nodes.
    let alone: Vec<[Vec<RowMenu>; 2]> = (0..terms)
        .map(|k| {
            [1.0, -1.0].map(|side| {
                let gains = Gains::new((0..inputs).map(|d| side * column(k, d)).collect(), budget, menus.leaders);
                let of = |(at, &n): (usize, &u32)| menus.of(n as usize, rows.capacity(at as u32), &gains, &mut menu);
                reach.nodes(1).iter().enumerate().map(of).collect()
            })
        })
        .collect();
    // The menu of the only term through which an entry's node reaches the unit.
    let single = |entry: u32, k: usize, rising: bool| {
        &alone[k][usize::from((rows.entries(entry)[k] > 0.0) != rising)][rows.node(entry) as usize]
    };
    let (mut steps, mut made): (Vec<MenuStep>, Vec<usize>) = Default::default();
    first.bounds(unit, |Asked { row, rising }, picks| {
        let direction = if rising { 1.0 } else { -1.0 };
        let mut met: Vec<Option<RowMenu>> = Vec::new();
        steps.clear();
        for (at, entry) in rows.row(row).enumerate() {
            let entries = rows.entries(entry);
            let mut used = (0..terms).filter(|&k| entries[k] != 0.0);
            let (first, more) = (used.next(), used.next().is_some());
            let mut push = |menu: &RowMenu, size: f64| {
                steps.extend(menu.steps.iter().take(budget.global()).map(|step| MenuStep { gain: size * step, at }));
            };
            match first {
                Some(_) if more => {
                    let gain = |d: usize| direction * (0..terms).map(|k| entries[k] * column(k, d)).sum::<f64>();
                    let gains = Gains::new((0..inputs).map(gain).collect(), budget, menus.leaders);
                    let own = menus.of(node_of(entry), rows.capacity(rows.node(entry)), &gains, &mut menu);
                    push(&own, 1.0);
                    met.push(Some(own));
                }
                Some(k) => {
                    push(single(entry, k, rising), entries[k].abs());
                    met.push(None);
                }
                None => met.push(None),
            }
        }
        // Steps of one row fall: of equal ones the first are made.
        steps.sort_by(|x, y| y.gain.total_cmp(&x.gain));
        steps.truncate(budget.global());
        made.clear();
        made.resize(met.len(), 0);
        steps.iter().for_each(|step| made[step.at] += 1);
        let mut moved = 0.0;
        for ((entry, own), &made) in rows.row(row).zip(&met).zip(&made).filter(|(_, made)| **made > 0) {
            let entries = rows.entries(entry);
            let only = || entries.iter().position(|&a| a != 0.0).map(|k| single(entry, k, rising));
            let Some(chosen) = own.as_ref().or_else(only) else { continue };
            chosen.changes(graph, node_of(entry), made, |attribute, factor| {
                let change: f64 = (0..terms).map(|k| entries[k] * column(k, attribute as usize)).sum();
                moved += factor * change;
                picks.push(Pick { attribute, entry, factor });
            });
        }
        moved
    })
}
