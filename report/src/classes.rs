//! Figure 9: accuracy against robustness – predictions that are correct and stay so, by budget and by class.

use std::collections::BTreeMap;

use gcnproof::internals::certify::verdict::Verdict;

use super::curve::budgets;
use super::explorer::knowledge::Knowledge;
use super::group::Group;
use super::landscape::{Landscape, class_name, words_on};
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape, Stack};

/// Its number.
pub const NUMBER: usize = 9;

/// The budget of the literature, at which classes are compared where any is known.
const USUAL: u64 = 12;

/// What is known of a node: its label, its class without an attack, the class that is to be kept.
#[derive(Clone, Copy)]
struct Labelled {
    node: u64,
    label: Option<u64>,
    predicted: u64,
    kept: u64,
}

impl Labelled {
    fn is_right(&self) -> bool {
        self.label == Some(self.predicted)
    }

    /// Is the class that is kept the right one?
    fn stays_right(&self) -> bool {
        self.is_right() && self.label == Some(self.kept)
    }
}

/// Nodes of a class by what was found.
#[derive(Clone, Copy, Default)]
struct Count {
    nodes: usize,
    right: usize,
    /// Robust and right, robust, undecided, non-robust.
    found: [usize; 4],
}

/// The figure of each group.
pub fn accuracy(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    groups.iter().map(|group| accuracy_of(group, landscape)).collect()
}

fn places(group: &Group) -> Vec<Labelled> {
    let mut places: BTreeMap<u64, Labelled> = BTreeMap::new();
    for row in group.best_radii().map_or(&[][..], |radii| &radii.rows) {
        let (node, predicted) = (row.node, row.predicted);
        places.insert(node, Labelled { node, label: row.label, predicted, kept: predicted });
    }
    for row in group.headline().map_or(&[][..], |verdicts| &verdicts.rows) {
        let kept = row.reference;
        places.insert(row.node, Labelled { node: row.node, label: row.label, predicted: row.predicted, kept });
    }
    places.into_values().collect()
}

fn accuracy_of(group: &Group, landscape: Option<&Landscape>) -> Sheet {
    let title = format!("Accuracy against robustness: {}", group.name);
    let (places, knowledge) = (places(group), Knowledge::new(group));
    let Some(limit) = knowledge.limit.filter(|_| !places.is_empty()) else {
        return Sheet::missing(NUMBER, &title, "No verdicts and no radii with a known budget.");
    };
    let letter = group.words().global;
    let [_, targets] = group.targets();
    let labelled: Vec<Labelled> = places.iter().filter(|place| place.label.is_some()).copied().collect();
    let verdicts = group.headline().and_then(|verdicts| verdicts.global);
    let global = verdicts.unwrap_or(limit.min(USUAL));
    let graph = landscape.map(Landscape::graph);
    let mut numbers = Numbers::new(&[
        "model",
        "what",
        "class",
        letter,
        "nodes",
        "accuracy_percent",
        "robust_and_correct_percent",
        "robust_percent",
        "undecided_percent",
        "non_robust_percent",
    ]);
    let classes = count(&places, &labelled, &knowledge, global);
    for (class, of) in &classes {
        let share = |part: usize| number(percent(part, of.nodes));
        let known = !labelled.is_empty();
        numbers.push([
            group.name.clone(),
            "class".into(),
            class_name(graph, *class),
            global.to_string(),
            of.nodes.to_string(),
            if known { share(of.right) } else { String::new() },
            if known { share(of.found[0]) } else { String::new() },
            share(of.found[0] + of.found[1]),
            share(of.found[2]),
            share(of.found[3]),
        ]);
    }
    let mut plots = Vec::new();
    let asked: Vec<u64> = match group.radii.is_empty() {
        true => group.verdicts.iter().filter_map(|verdicts| verdicts.global).collect(),
        false => (0..=limit).collect(),
    };
    let mut caption = String::new();
    if !labelled.is_empty() {
        let right = labelled.iter().filter(|place| place.is_right()).count();
        let kept = |global: u64, other: Verdict, same: bool| {
            let fits = |place: &&Labelled| (knowledge.verdict(place.node, global) == other) == same;
            percent(labelled.iter().filter(|place| place.stays_right()).filter(fits).count(), labelled.len())
        };
        let lower: Vec<(f64, f64)> = asked.iter().map(|&q| (q as f64, kept(q, Verdict::Robust, true))).collect();
        let upper: Vec<(f64, f64)> = asked.iter().map(|&q| (q as f64, kept(q, Verdict::NonRobust, false))).collect();
        for ((q, low), (_, high)) in lower.iter().zip(&upper) {
            let (model, none) = (group.name.clone(), String::new);
            let (nodes, accuracy) = (labelled.len().to_string(), number(percent(right, labelled.len())));
            let open = number(high - low);
            numbers.push([
                model,
                "budget".into(),
                none(),
                q.to_string(),
                nodes,
                accuracy,
                number(*low),
                none(),
                open,
                none(),
            ]);
        }
        caption = format!(
            "{:.1} % of the {} {targets} with a label are predicted correctly; at {letter} = {global}, {:.1} % are correct and proved to stay so, \
             and {:.1} % are correct without a known attack. ",
            percent(right, labelled.len()),
            labelled.len(),
            kept(global, Verdict::Robust, true),
            kept(global, Verdict::NonRobust, false),
        );
        if asked.len() > 1 {
            let mut plot = Plot::new(
                "Correct under attack",
                budgets(&words_on(group.words(), landscape), limit),
                Axis::percent(&format!("share of labelled {targets}")),
            );
            if lower.iter().zip(&upper).any(|(low, high)| high.1 > low.1) {
                let open = lower.iter().zip(&upper).map(|(low, high)| (low.0, low.1, high.1)).collect();
                plot.mark("undecided", Shape::StepBand(open), Ink::Orange, 0.6);
            }
            plot.mark("correct, and no attack is known", Shape::Steps(upper, Dash::Solid, 3.4), Ink::Sky, 1.0);
            plot.mark("correct, and proved to stay so", Shape::Steps(lower, Dash::Solid, 1.6), Ink::Blue, 1.0);
            let accuracy = percent(right, labelled.len());
            plot.mark("correct without an attack", Shape::Along(accuracy), Ink::Text, 1.0);
            plots.push(plot);
        }
    }
    let of = if labelled.is_empty() { "predicted class" } else { "label" };
    let title_of = format!("By {of}, {letter} = {global}");
    plots.push(by_class(&classes, !labelled.is_empty(), &title_of, targets, &|class| class_name(graph, class)));
    caption.push_str(&format!("By class: the {targets} with each {of}; numbers of {targets} are in brackets."));
    let height = (110.0 + 30.0 * classes.len() as f64).clamp(260.0, 700.0);
    let name = format!("fig9_accuracy_{}", slug(&group.name));
    Figure { number: NUMBER, name, title, caption, columns: plots.len(), plots, height, numbers, made: Vec::new() }
        .into()
}

/// Nodes by label; by predicted class where no node has a label.
fn count(places: &[Labelled], labelled: &[Labelled], knowledge: &Knowledge, global: u64) -> BTreeMap<u64, Count> {
    let mut classes: BTreeMap<u64, Count> = BTreeMap::new();
    for place in if labelled.is_empty() { places } else { labelled } {
        let of = classes.entry(place.label.unwrap_or(place.predicted)).or_default();
        of.nodes += 1;
        of.right += usize::from(place.is_right());
        of.found[match knowledge.verdict(place.node, global) {
            Verdict::Robust if place.stays_right() => 0,
            Verdict::Robust => 1,
            Verdict::Undecided => 2,
            Verdict::NonRobust => 3,
        }] += 1;
    }
    classes
}

/// A bar for each class, the first at the top.
fn by_class(
    classes: &BTreeMap<u64, Count>,
    labelled: bool,
    title: &str,
    targets: &str,
    name: &dyn Fn(u64) -> String,
) -> Plot {
    let names = classes.iter().rev().map(|(class, of)| format!("{} ({})", name(*class), of.nodes)).collect();
    let mut plot = Plot::new(title, Axis::percent(&format!("share of {targets}")), Axis::named("", names));
    let robust = if labelled { "robust, but wrong" } else { "robust" };
    let parts = [
        ("robust and correct", Ink::Blue),
        (robust, Ink::Sky),
        ("undecided", Ink::Yellow),
        ("non-robust", Ink::Vermillion),
    ];
    let order: Vec<&Count> = classes.values().rev().collect();
    let sizes = order.iter().map(|of| of.found.iter().map(|&part| percent(part, of.nodes)).collect()).collect();
    let told = |at: usize, part: usize| {
        format!("{}: {} of {} {targets}", parts[part].0, order[at].found[part], order[at].nodes)
    };
    plot.stack(Stack { lying: true, half: 0.38, parts: &parts, sizes, opacity: 1.0 }, told, |_| String::new());
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Method, Radii};
    use crate::row::{NodeRadius, Witness};

    fn radius(node: u64, label: u64, predicted: u64, certified: u64) -> NodeRadius {
        NodeRadius {
            node,
            label: Some(label),
            predicted,
            degree: 1,
            neighbourhood: 2,
            certified: Some(certified),
            attacked: Some(certified + 1),
            witness: Witness::Flips(Vec::new()),
        }
    }

    /// What is robust but wrong does not count as accurate, and every class is counted by its label.
    #[test]
    fn wrong_predictions_are_not_robust_and_right() {
        let rows = vec![radius(0, 0, 0, 3), radius(1, 0, 0, 1), radius(2, 1, 0, 3), radius(3, 1, 1, 0)];
        let radii = Radii { method: Method::Bounds, limit: 3, rows };
        let group = Group { name: "m".into(), radii: vec![radii], ..Group::default() };
        let [Sheet::Drawn(figure)] = &accuracy(&[group], None)[..] else { panic!("drawn") };
        let row = |what: &str, key: &str| {
            let column = if what == "class" { 2 } else { 3 };
            figure.numbers.rows.iter().find(|row| row[1] == what && row[column] == key).unwrap().clone()
        };
        // Of two nodes of each class at Q = 3: one is robust and right; one is robust but wrong.
        assert_eq!(row("class", "class 0")[4..], ["2", "100", "50", "50", "0", "50"]);
        assert_eq!(row("class", "class 1")[4..], ["2", "50", "0", "50", "0", "50"]);
        assert_eq!(row("budget", "0")[4..7], ["4", "75", "75"]);
        assert_eq!(row("budget", "1")[4..7], ["4", "75", "50"]);
        assert_eq!(row("budget", "3")[4..7], ["4", "75", "25"]);
        assert_eq!(figure.plots.len(), 2);
    }
}
