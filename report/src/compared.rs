//! Figure 2: the models side by side.

use super::curve::{Curve, Share, budgets, curves, frontier};
use super::group::Group;
use super::landscape::Landscape;
use super::mean::Mean;
use super::published;
use super::sheet::Sheet;
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape};

/// Figure 2: what is known of every group in one picture.
pub fn models(groups: &[Group], landscape: Option<&Landscape>) -> Sheet {
    let title = "The models side by side";
    // Shares of different nodes are not compared: the first set of nodes that several models have.
    let alike = |one: &Group, other: &Group| one.population == other.population && one.question == other.question;
    let first = groups.iter().find(|one| groups.iter().filter(|other| alike(one, other)).count() > 1);
    let groups: Vec<&Group> = groups.iter().filter(|group| first.is_some_and(|first| alike(first, group))).collect();
    let all: Vec<(&Group, Vec<Curve>)> = groups.iter().map(|group| (*group, curves(group))).collect();
    let drawn: Vec<(&Group, Vec<Share>, Option<Mean>)> =
        all.iter().filter_map(|(group, curves)| Some((*group, frontier(curves), curves.last()?.mean_radius))).collect();
    if drawn.len() < 2 {
        return Sheet::missing(
            2,
            title,
            "One model only, or none with the same nodes as another: give results of several models about the same nodes.",
        );
    }
    let words = drawn[0].0.words();
    let letter = words.global;
    if drawn.iter().all(|(_, shares, _)| shares.len() < 2) {
        let why =
            format!("One {letter} only: give radii of `radius`, or verdicts for several {letter}, to draw curves.");
        return Sheet::missing(2, title, &why);
    }
    let most = drawn.iter().flat_map(|(_, shares, _)| shares).map(|share| share.global).max().unwrap_or(1);
    let mut plot = Plot::new("", budgets(words, most), Axis::percent("share of nodes"));
    let mut numbers = Numbers::new(&["model", letter, "certified_percent", "not_attacked_percent"]);
    let mut means = Vec::new();
    let mut any_published = 0;
    for (at, (group, shares, mean_radius)) in drawn.iter().enumerate() {
        let ink = Ink::series(at);
        let points = |of: fn(&Share) -> f64| shares.iter().map(|s| (s.global as f64, of(s))).collect::<Vec<_>>();
        let band = shares.iter().map(|s| (s.global as f64, s.robust, s.unbroken.max(s.robust))).collect();
        plot.mark("", Shape::StepBand(band), ink, 0.25);
        let dash = [Dash::Solid, Dash::Mixed, Dash::Dotted][at / 6 % 3];
        plot.mark(&group.name, Shape::Steps(points(|s| s.robust), dash, 2.2), ink, 1.0);
        let training = published::training_of(&group.name);
        let theirs = published::find(landscape, group).and_then(|published| published.certified.get(training).cloned());
        if let Some(theirs) = theirs {
            let shown = theirs.iter().copied().filter(|p| p.0 <= most as f64).collect();
            // Theirs are grey, one pattern for each: a colour belongs to one entry of the legend.
            let dash = [Dash::Dashed, Dash::Dotted, Dash::Mixed, Dash::Solid][any_published % 4];
            any_published += 1;
            plot.mark(&format!("published {training}"), Shape::Steps(shown, dash, 1.3), Ink::Grey, 1.0);
        }
        for s in shares {
            numbers.push([group.name.clone(), s.global.to_string(), number(s.robust), number(s.unbroken)]);
        }
        if let Some(mean) = mean_radius {
            means.push(format!("{} {}", group.name, mean.words(letter)));
        }
    }
    let mut caption = String::from(
        "Lines: certified robust by the strongest method of each model. Shaded up to the share without a known attack: \
         undecided.",
    );
    if !means.is_empty() {
        caption.push_str(&format!(" Mean certified {letter}: {}.", means.join(", ")));
    }
    if any_published > 0 {
        caption.push_str(" Grey: published curves of models trained the same way, by the paper's bound.");
    }
    let made = drawn.iter().map(|(group, ..)| group.made()).collect();
    let name = "fig2_models".to_string();
    Figure {
        number: 2,
        name,
        title: title.into(),
        caption,
        plots: vec![plot],
        columns: 1,
        height: 400.0,
        numbers,
        made,
    }
    .into()
}
