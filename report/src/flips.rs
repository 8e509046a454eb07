//! Figure 6: what attackers flip – which attributes, added or removed, and how far from the target.

use std::collections::BTreeMap;

use super::group::{Attacked, Group};
use super::landscape::{Landscape, attribute_name};
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers};
use crate::chart::palette::Ink;
use crate::chart::plot::{Plot, Stack};

/// Attributes shown.
const SHOWN: usize = 20;

/// How often: added, removed, and flipped without knowing which.
pub type Counts = [usize; 3];

/// These in words, and their colours.
pub const KINDS: [(&str, Ink); 3] = [("added", Ink::Orange), ("removed", Ink::Blue), ("flipped", Ink::Grey)];

/// The same where categories are changed: nothing is added or removed.
const CHANGED: [(&str, Ink); 3] = [("changed", Ink::Orange), ("removed", Ink::Blue), ("flipped", Ink::Grey)];

/// The same where attributes are moved.
const MOVED: [(&str, Ink); 3] = [("raised", Ink::Orange), ("lowered", Ink::Blue), ("moved", Ink::Grey)];

/// What the smallest attacks of a group consist of.
#[derive(Default)]
struct FlipTally {
    attributes: BTreeMap<u32, Counts>,
    distances: BTreeMap<String, Counts>,
    flips: usize,
    attacks: usize,
}

/// The axes that all groups share, so that their figures can be compared.
struct FlipSpan {
    /// The most flips of one attribute.
    flips: usize,
    /// The largest share of flips at one distance, in percent.
    share: f64,
}

/// Figure 6 of each group, with the same axes for all that are about the same nodes.
pub fn flipped(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    let tallies: Vec<FlipTally> = groups.iter().map(|group| tally(group, landscape)).collect();
    let most = |of: fn(&FlipTally) -> Vec<&Counts>, tally: &FlipTally| {
        of(tally).into_iter().map(|counts| counts.iter().sum::<usize>()).max().unwrap_or(0)
    };
    let spans: Vec<FlipSpan> = groups
        .iter()
        .map(|group| {
            // Numbers of flips against different numbers of nodes are not compared.
            let alike = |other: &&(&Group, &FlipTally)| other.0.population == group.population;
            let all: Vec<(&Group, &FlipTally)> = groups.iter().zip(&tallies).collect();
            let alike = || all.iter().filter(alike).map(|(_, tally)| *tally);
            FlipSpan {
                flips: alike().map(|t| most(|t| t.attributes.values().collect(), t)).max().unwrap_or(1),
                share: alike()
                    .map(|t| percent(most(|t| t.distances.values().collect(), t), t.flips))
                    .fold(1.0, f64::max),
            }
        })
        .collect();
    let drawn = groups.iter().zip(tallies).zip(spans);
    drawn.map(|((group, tally), span)| flipped_of(group, landscape, tally, &span)).collect()
}

fn tally(group: &Group, landscape: Option<&Landscape>) -> FlipTally {
    let witnesses = group.witnesses();
    let mut tally =
        FlipTally { attacks: witnesses.values().filter(|flips| !flips.is_empty()).count(), ..FlipTally::default() };
    for (target, witness) in &witnesses {
        let mut count = |attribute: u32, kind: usize, place: String| {
            tally.attributes.entry(attribute).or_default()[kind] += 1;
            tally.distances.entry(place).or_default()[kind] += 1;
            tally.flips += 1;
        };
        match landscape {
            Some(landscape) => {
                for (at, deed) in landscape.deeds(*target, witness.flips()).into_iter().enumerate() {
                    let kind = match (group.attacked, witness.values().get(at)) {
                        (Attacked::Moves, Some(new)) => usize::from(*new < deed.old),
                        (Attacked::Moves, None) => 2,
                        _ => usize::from(!deed.added),
                    };
                    let place = match deed.distance {
                        Some(0) => "0: the target".to_string(),
                        Some(1) => "1: its neighbours".to_string(),
                        Some(hops) => hops.to_string(),
                        None => "farther".to_string(),
                    };
                    count(deed.flip.attribute, kind, place);
                }
            }
            None => {
                for flip in witness.flips() {
                    let at_target = u64::from(flip.node) == *target;
                    let place = if at_target { "0: the target" } else { "elsewhere" };
                    count(flip.attribute, 2, place.to_string());
                }
            }
        }
    }
    tally
}

fn flipped_of(group: &Group, landscape: Option<&Landscape>, tally: FlipTally, span: &FlipSpan) -> Sheet {
    let graph = landscape.map(Landscape::graph);
    let categories = graph.is_some_and(|graph| graph.categories().is_some());
    let moved = group.attacked == Attacked::Moves;
    let (flip, things, kinds) = match (moved, categories) {
        (true, _) => ("move", "attributes", &MOVED),
        (false, true) => ("change", "kinds", &CHANGED),
        (false, false) => ("flip", "attributes", &KINDS),
    };
    let title = format!("What attackers {flip}: {}", group.name);
    let FlipTally { attributes, mut distances, flips, attacks } = tally;
    let graphs = group.classifies_graphs();
    let [target, targets] = group.targets();
    if flips == 0 {
        return Sheet::missing(6, &title, &format!("No {target} has a witness: there is no attack to look at."));
    }
    if graphs {
        // Distances are those from a node.
        distances.clear();
    }
    let names = |attribute: u32| match moved && graph.is_none_or(|graph| graph.attribute_names().is_none()) {
        true => format!("attribute {attribute}"),
        false => attribute_name(graph, attribute),
    };
    let [added, removed, unknown] = if moved { MOVED.map(|kind| kind.0) } else { KINDS.map(|kind| kind.0) };
    let mut numbers = Numbers::new(&["model", "what", "name", added, removed, unknown]);
    let mut order: Vec<(u32, Counts)> = attributes.into_iter().collect();
    order.sort_by_key(|(attribute, counts)| (usize::MAX - counts.iter().sum::<usize>(), *attribute));
    let mut record = |what: &str, name: &str, counts: &Counts| {
        let [added, removed, unknown] = counts.map(|count| count.to_string());
        numbers.push([group.name.clone(), what.to_string(), name.to_string(), added, removed, unknown]);
    };
    order.iter().for_each(|(attribute, counts)| record("attribute", &names(*attribute), counts));
    distances.iter().for_each(|(place, counts)| record("distance", place, counts));
    let different = order.len();
    order.truncate(SHOWN);
    let most = match (moved, categories) {
        (true, _) => "The most moved attributes",
        (false, true) => "The most frequent changes",
        (false, false) => "The most flipped attributes",
    };
    let mut plots = vec![ranked(most, &format!("{flip}s in all attacks"), &order, span.flips, &names, kinds)];
    if !graphs {
        plots.push(by_distance(&distances, flip, flips, span.share, kinds));
    }
    let unsure = match (landscape, graphs) {
        (Some(_), _) => "",
        (None, _) if moved => " Without the graph (--graph) it is not known which are raised and which are lowered.",
        (None, true) => " Without the graphs (--graph) it is not known which flips add and which remove.",
        (None, false) => {
            " Without the graph (--graph) it is not known which flips add, which remove, and at what distance."
        }
    };
    let caption = format!(
        "The {flips} {flip}s of the smallest attack known against each of {attacks} {targets}, of {different} different {things}. \
         Each attack was replayed through the exact network; others may exist.{unsure}"
    );
    let name = format!("fig6_{}_{}", if moved { "moves" } else { "flips" }, slug(&group.name));
    let columns = plots.len();
    Figure { number: 6, name, title, caption, plots, columns, height: 430.0, numbers, made: Vec::new() }.into()
}

/// Bars from the top down, in the order given: attributes or nodes by their flips. `most` is the longest bar of all
/// that are compared.
pub fn ranked(
    title: &str,
    label: &str,
    order: &[(u32, Counts)],
    most: usize,
    name: &dyn Fn(u32) -> String,
    kinds: &[(&'static str, Ink); 3],
) -> Plot {
    // The most flipped stands at the top.
    let names = order.iter().rev().map(|(attribute, _)| name(*attribute)).collect();
    let range = (0.0, 1.08 * most.max(1) as f64);
    // Halves of a flip have no mark.
    let x = if most < 5 { Axis { range, ..Axis::whole(label, 0) } } else { Axis::linear(label, range.0, range.1) };
    let mut plot = Plot::new(title, x, Axis::named("", names));
    let order: Vec<&(u32, Counts)> = order.iter().rev().collect();
    let sizes = order.iter().map(|(_, counts)| counts.map(|count| count as f64).to_vec()).collect();
    let told = |at: usize, kind: usize| format!("{}: {} {} times", name(order[at].0), kinds[kind].0, order[at].1[kind]);
    plot.stack(Stack { lying: true, half: 0.4, parts: kinds, sizes, opacity: 1.0 }, told, |_| String::new());
    plot
}

fn by_distance(
    distances: &BTreeMap<String, Counts>,
    flip: &str,
    flips: usize,
    most: f64,
    kinds: &[(&'static str, Ink); 3],
) -> Plot {
    let x = Axis::named("distance from the target (hops)", distances.keys().cloned().collect());
    let y = Axis { unit: " %", ..Axis::linear(&format!("share of all {flip}s"), 0.0, 1.1 * most) };
    let mut plot = Plot::new("Where they are", x, y);
    let all: Vec<&Counts> = distances.values().collect();
    let sizes = all.iter().map(|counts| counts.map(|count| percent(count, flips)).to_vec()).collect();
    let stack = Stack { lying: false, half: 0.38, parts: kinds, sizes, opacity: 1.0 };
    let told = |at: usize, kind: usize| format!("{}: {} {flip}s", kinds[kind].0, all[at][kind]);
    plot.stack(stack, told, |at| format!("{:.1} %", percent(all[at].iter().sum(), flips)));
    plot
}
