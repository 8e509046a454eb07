//! Figure 6: what attackers flip – which attributes, added or removed, and how far from the target.

use std::collections::BTreeMap;

use super::group::Group;
use super::landscape::{Landscape, attribute_name};
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Plot, Shape};

/// Attributes shown.
const SHOWN: usize = 20;

/// How often: added, removed, and flipped without knowing which.
pub type Counts = [usize; 3];

/// These in words, and their colours.
pub const KINDS: [(&str, Ink); 3] = [("added", Ink::Orange), ("removed", Ink::Blue), ("flipped", Ink::Grey)];

/// What the smallest attacks of a group consist of.
#[derive(Default)]
struct Tally {
    attributes: BTreeMap<u32, Counts>,
    distances: BTreeMap<String, Counts>,
    flips: usize,
    attacks: usize,
}

/// The axes that all groups share, so that their figures can be compared.
struct Span {
    /// The most flips of one attribute.
    flips: usize,
    /// The largest share of flips at one distance, in percent.
    share: f64,
}

/// Figure 6 of each group, with the same axes for all that are about the same nodes.
pub fn flipped(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    let tallies: Vec<Tally> = groups.iter().map(|group| tally(group, landscape)).collect();
    let most = |of: fn(&Tally) -> Vec<&Counts>, tally: &Tally| {
        of(tally).into_iter().map(|counts| counts.iter().sum::<usize>()).max().unwrap_or(0)
    };
    let spans: Vec<Span> = groups
        .iter()
        .map(|group| {
            // Numbers of flips against different numbers of nodes are not compared.
            let alike = |other: &&(&Group, &Tally)| other.0.population == group.population;
            let all: Vec<(&Group, &Tally)> = groups.iter().zip(&tallies).collect();
            let alike = || all.iter().filter(alike).map(|(_, tally)| *tally);
            Span {
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

fn tally(group: &Group, landscape: Option<&Landscape>) -> Tally {
    let witnesses = group.witnesses();
    let mut tally = Tally { attacks: witnesses.values().filter(|flips| !flips.is_empty()).count(), ..Tally::default() };
    for (target, witness) in &witnesses {
        let mut count = |attribute: u32, kind: usize, place: String| {
            tally.attributes.entry(attribute).or_default()[kind] += 1;
            tally.distances.entry(place).or_default()[kind] += 1;
            tally.flips += 1;
        };
        match landscape {
            Some(landscape) => {
                for deed in landscape.deeds(*target, witness.flips()) {
                    let place = match deed.distance {
                        Some(0) => "0: the target".to_string(),
                        Some(1) => "1: its neighbours".to_string(),
                        Some(hops) => hops.to_string(),
                        None => "farther".to_string(),
                    };
                    count(deed.flip.attribute, usize::from(!deed.added), place);
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

fn flipped_of(group: &Group, landscape: Option<&Landscape>, tally: Tally, span: &Span) -> Sheet {
    let title = format!("What attackers flip: {}", group.name);
    let Tally { attributes, distances, flips, attacks } = tally;
    if flips == 0 {
        return Sheet::missing(6, &title, "No node has a witness: there is no attack to look at.");
    }
    let graph = landscape.map(Landscape::graph);
    let mut numbers = Numbers::new(&["model", "what", "name", "added", "removed", "flipped"]);
    let mut order: Vec<(u32, Counts)> = attributes.into_iter().collect();
    order.sort_by_key(|(attribute, counts)| (usize::MAX - counts.iter().sum::<usize>(), *attribute));
    let mut record = |what: &str, name: &str, counts: &Counts| {
        let [added, removed, unknown] = counts.map(|count| count.to_string());
        numbers.push([group.name.clone(), what.to_string(), name.to_string(), added, removed, unknown]);
    };
    order.iter().for_each(|(attribute, counts)| record("attribute", &attribute_name(graph, *attribute), counts));
    distances.iter().for_each(|(place, counts)| record("distance", place, counts));
    let different = order.len();
    order.truncate(SHOWN);
    let plots = vec![
        ranked(("The most flipped attributes", "flips in all attacks"), &order, span.flips, &|attribute| {
            attribute_name(graph, attribute)
        }),
        by_distance(&distances, flips, span.share),
    ];
    let unsure = if landscape.is_none() {
        " Without the graph (--graph) it is not known which flips add, which remove, and at what distance."
    } else {
        ""
    };
    let caption = format!(
        "The {flips} flips of the smallest attack known against each of {attacks} nodes, of {different} different attributes. \
         Each attack was replayed through the exact network; others may exist.{unsure}"
    );
    let name = format!("fig6_flips_{}", slug(&group.name));
    Figure { number: 6, name, title, caption, plots, columns: 2, height: 430.0, numbers, made: Vec::new() }.into()
}

/// Bars from the top down, in the order given: attributes or nodes by their flips. `most` is the longest bar of all that are compared.
pub fn ranked(
    (title, label): (&str, &str),
    order: &[(u32, Counts)],
    most: usize,
    name: &dyn Fn(u32) -> String,
) -> Plot {
    // The most flipped stands at the top.
    let names = order.iter().rev().map(|(attribute, _)| name(*attribute)).collect();
    let range = (0.0, 1.08 * most.max(1) as f64);
    // Halves of a flip have no mark.
    let x = if most < 5 { Axis { range, ..Axis::whole(label, 0) } } else { Axis::linear(label, range.0, range.1) };
    let mut plot = Plot::new(title, x, Axis::named("", names));
    for (kind, (kind_name, ink)) in KINDS.into_iter().enumerate() {
        let bars: Vec<Bar> = order
            .iter()
            .rev()
            .enumerate()
            .filter(|(_, (_, counts))| counts[kind] > 0)
            .map(|(at, (attribute, counts))| {
                let below: usize = counts[..kind].iter().sum();
                let told = format!("{}: {kind_name} {} times", name(*attribute), counts[kind]);
                let (from, to) = (below as f64, (below + counts[kind]) as f64);
                Bar { x: (from, to), y: (at as f64 - 0.4, at as f64 + 0.4), told, label: String::new() }
            })
            .collect();
        if !bars.is_empty() {
            plot.mark(kind_name, Shape::Bars(bars), ink, 1.0);
        }
    }
    plot
}

fn by_distance(distances: &BTreeMap<String, Counts>, flips: usize, most: f64) -> Plot {
    let x = Axis::named("distance from the target (hops)", distances.keys().cloned().collect());
    let y = Axis { unit: " %", ..Axis::linear("share of all flips", 0.0, 1.1 * most) };
    let mut plot = Plot::new("Where they are", x, y);
    for (kind, (kind_name, ink)) in KINDS.into_iter().enumerate() {
        let bars: Vec<Bar> = distances
            .values()
            .enumerate()
            .filter(|(_, counts)| counts[kind] > 0)
            .map(|(at, counts)| {
                let below: usize = counts[..kind].iter().sum();
                let y = (percent(below, flips), percent(below + counts[kind], flips));
                let last = counts[kind + 1..].iter().all(|count| *count == 0);
                let whole = percent(counts.iter().sum(), flips);
                let label = if last { format!("{whole:.1} %") } else { String::new() };
                let told = format!("{kind_name}: {} flips", counts[kind]);
                Bar { x: (at as f64 - 0.38, at as f64 + 0.38), y, told, label }
            })
            .collect();
        if !bars.is_empty() {
            plot.mark(kind_name, Shape::Bars(bars), ink, 1.0);
        }
    }
    plot
}
