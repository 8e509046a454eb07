//! Figure 6 where edges are removed: which edges attackers cut, and how many of them.

use std::collections::BTreeMap;

use gcnproof::internals::problem::matrix::PatternRows;

use super::group::Group;
use super::landscape::Landscape;
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Plot, Shape};

/// Where a removed edge is, seen from the target; the nearer end counts.
const PLACES: [&str; 5] = ["at the target", "between two neighbours", "at a neighbour", "two hops away", "elsewhere"];

/// What the smallest attacks of a group consist of.
#[derive(Default)]
struct Tally {
    places: [usize; 5],
    sizes: BTreeMap<usize, usize>,
    edges: usize,
    attacks: usize,
}

/// Figure 6 of each group.
pub fn cut(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    groups.iter().map(|group| cut_of(group, landscape, tally(group, landscape))).collect()
}

/// Which of [`PLACES`] an edge has.
fn place(landscape: Option<&Landscape>, target: u64, ends: [u32; 2]) -> usize {
    if ends.map(u64::from).contains(&target) {
        return 0;
    }
    let graph = landscape.map(Landscape::graph);
    let near = |node: u32| {
        let known =
            graph.filter(|graph| (node as usize) < graph.node_count() && (target as usize) < graph.node_count());
        known.is_some_and(|graph| graph.adjacency().contains(target as usize, node))
    };
    match (landscape, ends.map(near)) {
        (None, _) => 4,
        (_, [true, true]) => 1,
        (_, [true, false] | [false, true]) => 2,
        (_, [false, false]) => 3,
    }
}

fn tally(group: &Group, landscape: Option<&Landscape>) -> Tally {
    let mut tally = Tally::default();
    for (target, witness) in group.witnesses().into_iter().filter(|(_, witness)| !witness.is_empty()) {
        tally.attacks += 1;
        *tally.sizes.entry(witness.len()).or_default() += 1;
        for edge in witness.edges() {
            tally.places[place(landscape, target, [edge.0, edge.1])] += 1;
            tally.edges += 1;
        }
    }
    tally
}

fn cut_of(group: &Group, landscape: Option<&Landscape>, tally: Tally) -> Sheet {
    let title = format!("Which edges attackers cut: {}", group.name);
    if tally.edges == 0 {
        return Sheet::missing(6, &title, "No node has a witness: there is no attack to look at.");
    }
    let mut numbers = Numbers::new(&["model", "what", "name", "count"]);
    let mut record = |what: &str, name: &str, count: usize| {
        numbers.push([group.name.clone(), what.to_string(), name.to_string(), count.to_string()]);
    };
    PLACES.iter().zip(tally.places).for_each(|(name, count)| record("edges", name, count));
    tally.sizes.iter().for_each(|(size, count)| record("attacks by size", &size.to_string(), *count));
    let met: Vec<(String, usize)> = PLACES
        .iter()
        .zip(tally.places)
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_string(), count))
        .collect();
    let sizes: Vec<(String, usize)> = tally.sizes.iter().map(|(size, count)| (size.to_string(), *count)).collect();
    let plots = vec![
        lying("Where they are", "share of all edges cut", &met, tally.edges),
        standing(
            "How many it takes",
            ["edges of the smallest attack known", "share of all attacks"],
            &sizes,
            tally.attacks,
        ),
    ];
    let unsure = match landscape {
        None => " Without the graph (--graph) it is not known where the other edges are.",
        Some(_) => " An edge two hops away changes how strongly a neighbour hears one of its other neighbours.",
    };
    let caption = format!(
        "The {} edges of the smallest attack known against each of {} nodes. Each attack was replayed through the exact network, with operators \
         made anew from the edges that are left; others may exist.{unsure}",
        tally.edges, tally.attacks
    );
    let name = format!("fig6_cuts_{}", slug(&group.name));
    Figure { number: 6, name, title, caption, plots, columns: 2, height: 330.0, numbers, made: Vec::new() }.into()
}

/// Bars from left to right: their names are long. The first stands at the top.
fn lying(title: &str, x: &str, counts: &[(String, usize)], whole: usize) -> Plot {
    let most = counts.iter().map(|(_, count)| percent(*count, whole)).fold(1.0, f64::max);
    let names = counts.iter().rev().map(|(name, _)| name.clone()).collect();
    let x = Axis { unit: " %", ..Axis::linear(x, 0.0, 1.2 * most) };
    let mut plot = Plot::new(title, x, Axis::named("", names));
    let bar = |(at, (name, count)): (usize, &(String, usize))| {
        let share = percent(*count, whole);
        let (at, told) = (at as f64, format!("{name}: {count}"));
        Bar { x: (0.0, share), y: (at - 0.38, at + 0.38), told, label: format!("{share:.1} %") }
    };
    plot.mark("", Shape::Bars(counts.iter().rev().enumerate().map(bar).collect()), Ink::Vermillion, 0.9);
    plot
}

/// Bars that stand side by side.
fn standing(title: &str, [x, y]: [&str; 2], counts: &[(String, usize)], whole: usize) -> Plot {
    let most = counts.iter().map(|(_, count)| percent(*count, whole)).fold(1.0, f64::max);
    let x = Axis::named(x, counts.iter().map(|(name, _)| name.clone()).collect());
    let mut plot = Plot::new(title, x, Axis { unit: " %", ..Axis::linear(y, 0.0, 1.15 * most) });
    let bar = |(at, (name, count)): (usize, &(String, usize))| {
        let share = percent(*count, whole);
        let (at, told) = (at as f64, format!("{name} edges: {count} nodes"));
        Bar { x: (at - 0.38, at + 0.38), y: (0.0, share), told, label: format!("{share:.1} %") }
    };
    plot.mark("", Shape::Bars(counts.iter().enumerate().map(bar).collect()), Ink::Blue, 0.9);
    plot
}
