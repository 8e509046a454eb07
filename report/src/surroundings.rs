//! Figure 4: robustness against the purity of the neighbourhood and against the degree.

use std::collections::BTreeMap;

use gcnproof::Words;
use gcnproof::internals::certify::verdict::Verdict;

use super::group::Group;
use super::landscape::Landscape;
use super::sheet::{Sheet, percent, quantile, slug, thinned};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape, Stack};

/// Dots in a cloud.
const DOTS: usize = 1500;

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
struct Surrounding {
    node: u64,
    degree: u64,
    purity: Option<f64>,
    certified: Option<u64>,
    verdict: Option<Verdict>,
}

/// Class predicted for each node, from whatever rows there are.
pub fn predictions(group: &Group) -> BTreeMap<u64, u64> {
    let radii = group.radii.iter().flat_map(|radii| radii.rows.iter().map(|row| (row.node, row.predicted)));
    let verdicts = group.verdicts.iter().flat_map(|run| run.rows.iter().map(|row| (row.node, row.predicted)));
    radii.chain(verdicts).collect()
}

fn places(group: &Group, landscape: Option<&Landscape>, predicted: &BTreeMap<u64, u64>) -> Vec<Surrounding> {
    let purity = |node, neighbourhood| landscape?.purity(node, neighbourhood, predicted);
    let mut places: BTreeMap<u64, Surrounding> = BTreeMap::new();
    for row in group.headline().map_or(&[][..], |verdicts| &verdicts.rows) {
        let purity = purity(row.node, row.neighbourhood);
        let verdict = Some(row.verdict);
        places.insert(row.node, Surrounding { node: row.node, degree: row.degree, purity, certified: None, verdict });
    }
    for row in group.best_radii().map_or(&[][..], |radii| &radii.rows) {
        let place = places.entry(row.node).or_insert_with(|| Surrounding {
            node: row.node,
            degree: row.degree,
            purity: purity(row.node, row.neighbourhood),
            certified: None,
            verdict: None,
        });
        place.certified = Some(row.certified.unwrap_or(0));
    }
    places.into_values().collect()
}

/// What the axes of all groups have in common, so that figures can be compared.
struct SurroundingSpan {
    /// The largest degree.
    degree: u64,
    /// The largest `Q` that is certified anywhere.
    certified: u64,
}

/// Figure 4 of each group, with the same axes for all of them. `predicted` has the classes of all nodes that are known,
/// group by group.
pub fn robustness(groups: &[Group], landscape: Option<&Landscape>, predicted: &[BTreeMap<u64, u64>]) -> Vec<Sheet> {
    let all: Vec<Vec<Surrounding>> =
        groups.iter().zip(predicted).map(|(group, predicted)| places(group, landscape, predicted)).collect();
    let span = SurroundingSpan {
        degree: all.iter().flatten().map(|place| place.degree).max().unwrap_or(1),
        certified: all.iter().flatten().filter_map(|place| place.certified).max().unwrap_or(1),
    };
    groups.iter().zip(&all).map(|(group, places)| robustness_of(group, landscape, places, &span)).collect()
}

fn robustness_of(
    group: &Group,
    landscape: Option<&Landscape>,
    places: &[Surrounding],
    span: &SurroundingSpan,
) -> Sheet {
    let title = format!("Robustness against purity and degree: {}", group.name);
    if group.classifies_graphs() {
        return Sheet::missing(4, &title, "Graphs are classified, and these have neither neighbours nor a degree.");
    }
    if places.is_empty() {
        return Sheet::missing(4, &title, "No verdicts and no radii: results of `certify` or `radius` are needed.");
    }
    let letter = group.words().global;
    let mut numbers = Numbers::new(&["model", "node", "degree", "purity", &format!("certified_{letter}"), "verdict"]);
    for place in places {
        numbers.push([
            group.name.clone(),
            place.node.to_string(),
            place.degree.to_string(),
            number(place.purity),
            place.certified.map_or(String::new(), |q| q.to_string()),
            place.verdict.map_or(String::new(), |verdict| verdict.name().to_string()),
        ]);
    }
    let with_purity = places.iter().filter(|place| place.purity.is_some()).count();
    let radii = places.iter().any(|place| place.certified.is_some());
    let mut plots = Vec::new();
    let purity_label = "neighbours predicted like the node";
    // Of a few nodes alone it would mislead.
    let enough = 2 * with_purity >= places.len();
    if enough {
        let bin = |place: &Surrounding| place.purity.map(|p| ((p * 10.0) as usize).min(9));
        if radii {
            let x = |place: &Surrounding| place.purity.map(|p| 100.0 * p);
            let axis = Axis::percent(purity_label);
            plots.push(cloud(axis, group.words(), span.certified, places, x, bin, &|at| 10.0 * at as f64 + 5.0));
        } else {
            let names = (0..10).map(|at| format!("{}–{} %", 10 * at, 10 * at + 10)).collect();
            plots.push(stack(Axis::named(purity_label, names), places, bin));
        }
    }
    let powers = |place: &Surrounding| (place.degree.max(1) as f64).log2().floor() as usize;
    if radii {
        let x = |place: &Surrounding| Some(place.degree.max(1) as f64);
        let middle = |at: usize| 2f64.powf(at as f64 + if at == 0 { 0.0 } else { 0.5 });
        let axis = Axis::logarithmic("degree: number of neighbours", [1.0, span.degree.max(2) as f64].into_iter());
        plots.push(cloud(axis, group.words(), span.certified, places, x, |place| Some(powers(place)), &middle));
    } else {
        let last = places.iter().map(powers).max().unwrap_or(0);
        let name = |at: usize| match (1u64 << at, (2u64 << at) - 1) {
            (1, _) => "0–1".to_string(),
            (from, to) => format!("{from}–{to}"),
        };
        let axis = Axis::named("degree: number of neighbours", (0..=last).map(name).collect());
        plots.push(stack(axis, places, |place| Some(powers(place))));
    }
    let what = if radii {
        format!(
            "Dots: nodes, by the largest {letter} for which no attack can change their class. Line: the median, shaded: from the \
             10th to the 90th percentile, in bins."
        )
    } else {
        "The share of robust, undecided and non-robust nodes in each bin (a bin without nodes is empty).".to_string()
    };
    let mut caption = what;
    if enough {
        caption.push_str(
            " Purity: the share of the other nodes that a node's logits depend on and that are predicted like it.",
        );
    }
    if let Some(limit) = group.best_radii().map(|radii| radii.limit).filter(|_| radii) {
        let capped = places.iter().filter(|place| place.certified >= Some(limit)).count();
        if capped > 0 {
            let share = percent(capped, places.len());
            caption.push_str(&format!(
                " No {letter} above {limit} was tried: the {share:.1} % of the nodes at {limit} withstand at least that many {}.",
                group.words().changes
            ));
        }
    }
    if landscape.is_none() {
        caption.push_str(" Without the graph (--graph) purity is not known.");
    } else if !enough {
        caption.push_str(
            " Purity is not drawn: the classes of most neighbours are not known without the model (--model).",
        );
    } else if with_purity < places.len() {
        let without = places.len() - with_purity;
        caption.push_str(&format!(" {without} nodes have no purity: no neighbours, or neighbours without results."));
    }
    let name = format!("fig4_surroundings_{}", slug(&group.name));
    Figure { number: 4, name, title, caption, columns: plots.len(), plots, height: 330.0, numbers, made: Vec::new() }
        .into()
}

/// Dots, median and percentiles of the certified `Q`.
fn cloud(
    x: Axis,
    words: &Words,
    most: u64,
    places: &[Surrounding],
    at: impl Fn(&Surrounding) -> Option<f64>,
    bin: impl Fn(&Surrounding) -> Option<usize>,
    middle: &dyn Fn(usize) -> f64,
) -> Plot {
    let points: Vec<(f64, f64)> =
        places.iter().filter_map(|place| Some((at(place)?, place.certified? as f64))).collect();
    let mut bins: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for place in places {
        if let (Some(bin), Some(q)) = (bin(place), place.certified) {
            bins.entry(bin).or_default().push(q as f64);
        }
    }
    let mut median = Vec::new();
    let mut band = Vec::new();
    for (bin, values) in &mut bins {
        values.sort_by(f64::total_cmp);
        if let (Some(low), Some(half), Some(high)) =
            (quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9))
        {
            median.push((middle(*bin), half));
            band.push((middle(*bin), low, high));
        }
    }
    let label = format!("largest certified {} ({})", words.global, words.changes);
    let mut plot = Plot::new("", x, Axis::whole(&label, most.max(1)));
    plot.mark("10 % – 90 %", Shape::Band(band), Ink::Sky, 0.3);
    // Budgets and degrees are whole numbers: many nodes share a place, and a larger dot says so.
    for (at, (size, dots)) in by_multiplicity(points).into_iter().enumerate() {
        let name = if at == 0 { "nodes (a larger dot: several)" } else { "" };
        plot.mark(name, Shape::Dots(thinned(dots, DOTS), size), Ink::Blue, 0.55);
    }
    plot.mark("median", Shape::Line(median, Dash::Solid, 2.4), Ink::Vermillion, 1.0);
    plot
}

/// Points by how many there are in the same place, with the size of the dot: its area grows with their number.
fn by_multiplicity(points: Vec<(f64, f64)>) -> Vec<(f64, Vec<(f64, f64)>)> {
    let mut places: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for (x, y) in points {
        *places.entry((x.to_bits(), y.to_bits())).or_default() += 1;
    }
    let mut sizes: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for ((x, y), count) in places {
        sizes.entry(count.ilog2().min(8)).or_default().push((f64::from_bits(x), f64::from_bits(y)));
    }
    sizes.into_iter().map(|(power, dots)| (3.0 * 2f64.powf(f64::from(power) / 2.0).min(6.0), dots)).collect()
}

/// Shares of verdicts in bins.
fn stack(x: Axis, places: &[Surrounding], bin: impl Fn(&Surrounding) -> Option<usize>) -> Plot {
    let mut plot = Plot::new("", x, Axis::percent("share of nodes"));
    let mut bins: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
    for place in places {
        if let (Some(bin), Some(verdict)) = (bin(place), place.verdict) {
            let slot = [Verdict::Robust, Verdict::Undecided, Verdict::NonRobust].iter().position(|v| *v == verdict);
            bins.entry(bin).or_default()[slot.unwrap_or(1)] += 1;
        }
    }
    let parts = [("robust", Ink::Blue), ("undecided", Ink::Yellow), ("non-robust", Ink::Vermillion)];
    let counts = |at: usize| bins.get(&at).copied().unwrap_or_default();
    let whole = |at: usize| counts(at).iter().sum();
    let last = bins.keys().max().map_or(0, |last| last + 1);
    let sizes = (0..last).map(|at| counts(at).map(|count| percent(count, whole(at))).to_vec()).collect();
    let told = |at: usize, part: usize| format!("{} of {} nodes {}", counts(at)[part], whole(at), parts[part].0);
    plot.stack(Stack { lying: false, half: 0.42, parts: &parts, sizes, opacity: 1.0 }, told, |_| String::new());
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No node is lost, and a place with more nodes has a larger dot.
    #[test]
    fn dots_grow_with_the_nodes_in_their_place() {
        let points = [vec![(1.0, 2.0); 9], vec![(1.0, 3.0); 2], vec![(2.0, 3.0)]].concat();
        let dots = by_multiplicity(points);
        assert_eq!(dots.len(), 3);
        assert!(dots.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(dots[2].1, [(1.0, 2.0)]);
    }
}
