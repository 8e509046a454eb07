//! Figure 5: what a training run did to margins, certificates and accuracy.

use super::sheet::{Sheet, slug};
use super::training::{Iteration, TrainingLog};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape};
use crate::record::description::LocalRecord;

type Series = (&'static str, Ink, Dash, fn(&Iteration) -> Option<f64>);

const MARGINS: [Series; 2] = [
    ("labelled nodes", Ink::Blue, Dash::Solid, |i| i.margin_labelled),
    ("unlabelled nodes", Ink::Vermillion, Dash::Mixed, |i| i.margin_unlabelled),
];

const SHARES: [Series; 3] = [
    ("certified robust", Ink::Green, Dash::Solid, |i| i.certified.map(|x| 100.0 * x)),
    ("accuracy, labelled", Ink::Blue, Dash::Mixed, |i| i.accuracy_labelled.map(|x| 100.0 * x)),
    ("accuracy, unlabelled", Ink::Vermillion, Dash::Dotted, |i| i.accuracy_unlabelled.map(|x| 100.0 * x)),
];

/// Points of a line: more cannot be told apart.
const POINTS: usize = 1000;

/// Figure 5 of one training log.
pub fn training(log: &TrainingLog) -> Sheet {
    let title = format!("Training dynamics: {}", log.name);
    if log.iterations.is_empty() {
        return Sheet::missing(5, &title, "The training log holds no iterations.");
    }
    let last = log.iterations.iter().map(|i| i.iteration).fold(0.0, f64::max);
    let x = Axis::linear("iteration", 0.0, last.max(1.0));
    let mut plots = Vec::new();
    let margins = log.iterations.iter().flat_map(|i| [i.margin_labelled, i.margin_unlabelled]).flatten();
    let (low, high) = margins.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x: f64| (l.min(x), h.max(x)));
    if low <= high {
        // The hinges of the robust losses: ln(0.9/0.1) and ln(0.6/0.4).
        let (first, second) = (9f64.ln(), 1.5f64.ln());
        let y = Axis::linear("worst-case margin (logits)", low.min(0.0), high.max(first) * 1.05);
        let mut plot = lines("Margins proved for the batch", x.clone(), y, &MARGINS, &log.iterations);
        plot.mark("", Shape::Along(0.0), Ink::Text, 1.0);
        if log.heading.loss.as_deref().is_some_and(|loss| loss.starts_with("rh")) {
            plot.mark("M₁, asked of labelled nodes", Shape::Along(first), Ink::Blue, 1.0);
            plot.mark("M₂, of unlabelled ones", Shape::Along(second), Ink::Vermillion, 1.0);
        }
        plots.push(plot);
    }
    let y = Axis::percent("share of nodes");
    plots.push(lines("Certificates and accuracy", x.clone(), y, &SHARES, &log.iterations));
    let losses = || log.iterations.iter().filter_map(|i| i.loss).filter(|x| x.is_finite());
    if losses().next().is_some() {
        let loss: Series = ("loss", Ink::Text, Dash::Solid, |i| i.loss);
        let y = Axis::linear("loss", losses().fold(0.0, f64::min), losses().fold(0.0, f64::max));
        plots.push(lines("Loss", x, y, &[loss], &log.iterations));
    }
    for plot in &mut plots {
        for (at, stage) in stages(&log.iterations) {
            plot.mark(&format!("{} begins", stage.to_uppercase()), Shape::Across(at), Ink::Grey, 1.0);
        }
    }
    let mut numbers = Numbers::new(&[
        "log",
        "iteration",
        "seconds",
        "stage",
        "loss",
        "margin_labelled",
        "margin_unlabelled",
        "certified",
        "accuracy_labelled",
        "accuracy_unlabelled",
    ]);
    for i in &log.iterations {
        numbers.push([
            log.name.clone(),
            number(i.iteration),
            number(i.seconds),
            i.stage.clone().unwrap_or_default(),
            number(i.loss),
            number(i.margin_labelled),
            number(i.margin_unlabelled),
            number(i.certified),
            number(i.accuracy_labelled),
            number(i.accuracy_unlabelled),
        ]);
    }
    let heading = &log.heading;
    let word = |text: &Option<String>, missing: &str| text.clone().unwrap_or_else(|| missing.to_string());
    let budget = match (heading.global, &heading.local) {
        (Some(global), Some(LocalRecord::Uniform(local))) => format!(" for Q = {global}, q = {local}"),
        (Some(global), Some(LocalRecord::PerNode(_))) => format!(" for Q = {global}, q by node"),
        (Some(global), None) => format!(" for Q = {global}"),
        _ => String::new(),
    };
    let caption = format!(
        "Loss {} on {}{budget}. Worst-case margins are lower bounds by {}, averaged over the batch: what training pushes up \
         is proved, not estimated, up to the rounding of the training arithmetic.",
        word(&heading.loss, "not named"),
        word(&heading.graph, "a graph not named"),
        heading.bound.as_ref().map_or("the bound of the loss".to_string(), |bound| format!("the bound “{bound}”")),
    );
    let name = format!("fig5_training_{}", slug(&log.name));
    Figure { number: 5, name, title, caption, columns: plots.len().min(2), plots, height: 300.0, numbers }.into()
}

fn lines(title: &str, x: Axis, y: Axis, series: &[Series], iterations: &[Iteration]) -> Plot {
    let mut plot = Plot::new(title, x, y);
    for (name, ink, dash, of) in series {
        let points: Vec<(f64, f64)> =
            iterations.iter().filter_map(|i| Some((i.iteration, of(i).filter(|x| x.is_finite())?))).collect();
        if !points.is_empty() {
            plot.mark(name, Shape::Line(averaged(&points), *dash, 1.8), *ink, 1.0);
        }
    }
    plot
}

/// Means of neighbours, so that a long run is at most [`POINTS`] long.
fn averaged(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[(f64, f64)]| {
        let count = chunk.len() as f64;
        (chunk.iter().map(|p| p.0).sum::<f64>() / count, chunk.iter().map(|p| p.1).sum::<f64>() / count)
    };
    points.chunks(every).map(mean).collect()
}

/// Where another stage begins.
fn stages(iterations: &[Iteration]) -> Vec<(f64, String)> {
    let mut stages = Vec::new();
    for pair in iterations.windows(2) {
        if let Some(stage) = &pair[1].stage
            && pair[0].stage.as_ref() != Some(stage)
        {
            stages.push((pair[1].iteration, stage.clone()));
        }
    }
    stages.truncate(4);
    stages
}
