//! Figure 6 where edges are changed: which edges attackers remove or insert, and how many of them.

use std::collections::BTreeMap;

use gcnproof::internals::problem::matrix::PatternRows;

use super::edges::EdgeAttack;
use super::group::Group;
use super::landscape::Landscape;
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers};
use crate::chart::palette::Ink;
use crate::chart::plot::{Plot, Stack};

/// Where a changed edge is, seen from the target; the nearer end counts.
const PLACES: [&str; 5] = ["at the target", "between two neighbours", "at a neighbour", "two hops away", "elsewhere"];

/// What is done to an edge, in the order of [`EdgeChange`](super::edges::EdgeChange).
const CHANGES: [&str; 3] = ["removed", "inserted", "removed or inserted"];

/// What the smallest attacks of a group consist of.
#[derive(Default)]
struct CutTally {
    places: [usize; 5],
    /// Removed, inserted, and which of both is not known.
    changes: [usize; 3],
    sizes: BTreeMap<usize, usize>,
    edges: usize,
    attacks: usize,
}

/// Figure 6 of each group.
pub fn changed(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    groups.iter().map(|group| changed_of(group, landscape, tally(group, landscape))).collect()
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

fn tally(group: &Group, landscape: Option<&Landscape>) -> CutTally {
    let mut tally = CutTally::default();
    let Some(attack) = group.attacked.edges() else { return tally };
    // Attacks that flip attributes alone say nothing about edges.
    for (target, witness) in group.witnesses().into_iter().filter(|(_, witness)| !witness.edges().is_empty()) {
        tally.attacks += 1;
        *tally.sizes.entry(witness.edges().len()).or_default() += 1;
        for edge in witness.edges() {
            tally.changes[attack.change(*edge, landscape) as usize] += 1;
            tally.places[place(landscape, target, [edge.0, edge.1])] += 1;
            tally.edges += 1;
        }
    }
    tally
}

fn changed_of(group: &Group, landscape: Option<&Landscape>, tally: CutTally) -> Sheet {
    let verb = group.attacked.edges().map_or("change", EdgeAttack::verb);
    let title = format!("Which edges attackers {verb}: {}", group.name);
    let [target, targets] = group.targets();
    if tally.edges == 0 {
        let why = format!("No {target} has a witness with changed edges: there is no attack to look at.");
        return Sheet::missing(6, &title, &why);
    }
    let mut numbers = Numbers::new(&["model", "what", "name", "count"]);
    let mut record = |what: &str, name: &str, count: usize| {
        numbers.push([group.name.clone(), what.to_string(), name.to_string(), count.to_string()]);
    };
    if !group.classifies_graphs() {
        PLACES.iter().zip(tally.places).for_each(|(name, count)| record("edges", name, count));
    }
    CHANGES.iter().zip(tally.changes).for_each(|(name, count)| record("changes", name, count));
    tally.sizes.iter().for_each(|(size, count)| record("attacks by size", &size.to_string(), *count));
    let named = |names: &[&str], counts: &[usize]| -> Vec<(String, usize)> {
        let there = names.iter().zip(counts).filter(|(_, count)| **count > 0);
        there.map(|(name, count)| (name.to_string(), *count)).collect()
    };
    // Seen from a graph, every edge is within.
    let graphs = group.classifies_graphs();
    let (place, met) = match graphs {
        true => ("What is done", named(&CHANGES, &tally.changes)),
        false => ("Where they are", named(&PLACES, &tally.places)),
    };
    let sizes: Vec<(String, usize)> = tally.sizes.iter().map(|(size, count)| (size.to_string(), *count)).collect();
    let plots = vec![
        lying(place, "share of all of these edges", &met, tally.edges),
        standing(
            "How many it takes",
            ["edges of the smallest attack known", "share of all attacks"],
            &sizes,
            tally.attacks,
            targets,
        ),
    ];
    let unsure = match landscape {
        _ if graphs => "",
        None => " Without the graph (--graph) it is not known where the other edges are.",
        Some(_) => " An edge two hops away changes how strongly a neighbour hears one of its other neighbours.",
    };
    let done = named(&CHANGES, &tally.changes);
    let done: Vec<String> = done.into_iter().map(|(name, count)| format!("{count} {name}")).collect();
    let beside = match group.attacked.spares_attributes() {
        true => "",
        false => " Attributes are flipped at the same time; attacks that change no edge are left out here.",
    };
    let caption = format!(
        "The {} edges ({}) of the smallest attack known against each of {} {targets}. Each attack was replayed through the exact network, \
         with operators made anew from the changed edges; others may exist.{beside}{unsure}",
        tally.edges,
        done.join(", "),
        tally.attacks
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
    let order: Vec<&(String, usize)> = counts.iter().rev().collect();
    bars(&mut plot, &order, whole, true, Ink::Vermillion, |(name, count)| format!("{name}: {count}"));
    plot
}

/// Bars that stand side by side.
fn standing(title: &str, [x, y]: [&str; 2], counts: &[(String, usize)], whole: usize, targets: &str) -> Plot {
    let most = counts.iter().map(|(_, count)| percent(*count, whole)).fold(1.0, f64::max);
    let x = Axis::named(x, counts.iter().map(|(name, _)| name.clone()).collect());
    let mut plot = Plot::new(title, x, Axis { unit: " %", ..Axis::linear(y, 0.0, 1.15 * most) });
    let order: Vec<&(String, usize)> = counts.iter().collect();
    bars(&mut plot, &order, whole, false, Ink::Blue, |(name, count)| format!("{name} edges: {count} {targets}"));
    plot
}

fn bars(
    plot: &mut Plot,
    order: &[&(String, usize)],
    whole: usize,
    lying: bool,
    ink: Ink,
    told: impl Fn(&(String, usize)) -> String,
) {
    let share = |at: usize| percent(order[at].1, whole);
    let sizes = (0..order.len()).map(|at| vec![share(at)]).collect();
    let stack = Stack { lying, half: 0.38, parts: &[("", ink)], sizes, opacity: 0.9 };
    plot.stack(stack, |at, _| told(order[at]), |at| format!("{:.1} %", share(at)));
}
