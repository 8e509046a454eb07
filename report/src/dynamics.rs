//! Figure 5: what a training run did to margins, certificates and accuracy.

use gcnproof_results::record::description::LocalRecord;

use super::sheet::{Sheet, is_digest, short_digest, slug};
use super::training::{Iteration, TrainingLog};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape};

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
            plot.mark("M₁, asked of labelled nodes", Shape::Along(first), Ink::Green, 1.0);
            plot.mark("M₂, of unlabelled ones", Shape::Along(second), Ink::Purple, 1.0);
        }
        plots.push(plot);
    }
    if log.iterations.iter().any(|i| SHARES.iter().any(|(.., of)| of(i).is_some())) {
        let y = Axis::percent("share of nodes");
        plots.push(lines("Certificates and accuracy", x.clone(), y, &SHARES, &log.iterations));
    }
    let losses = || log.iterations.iter().filter_map(|i| i.loss).filter(|x| x.is_finite());
    if losses().next().is_some() {
        let loss: Series = ("loss", Ink::Text, Dash::Solid, |i| i.loss);
        let (low, high) = (losses().fold(f64::INFINITY, f64::min), losses().fold(f64::NEG_INFINITY, f64::max));
        let room = 0.04 * (high - low);
        let y = Axis::linear("loss", low - room, high + room);
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
    let budget = match (heading.global, &heading.local) {
        (Some(global), Some(LocalRecord::Uniform(local))) => format!(" for Q = {global}, q = {local}"),
        (Some(global), Some(LocalRecord::PerNode(_))) => format!(" for Q = {global}, q by node"),
        (Some(global), None) => format!(" for Q = {global}"),
        _ => String::new(),
    };
    let caption = format!(
        "Loss {} on {}{budget}. Bold: the mean over a fiftieth of the run; faint: every iteration. Worst-case margins are lower bounds by {}, averaged over the batch: what training pushes up \
         is proved, not estimated, up to the rounding of the training arithmetic.",
        heading.loss.as_deref().unwrap_or("not named"),
        graph_words(heading.graph.as_deref()),
        heading.bound.as_ref().map_or("the bound of the loss".to_string(), |bound| format!("the bound “{bound}”")),
    );
    let name = format!("fig5_training_{}", slug(&log.name));
    Figure {
        number: 5,
        name,
        title,
        caption,
        columns: plots.len().min(2),
        plots,
        height: 300.0,
        numbers,
        made: Vec::new(),
    }
    .into()
}

fn lines(title: &str, x: Axis, y: Axis, series: &[Series], iterations: &[Iteration]) -> Plot {
    let mut plot = Plot::new(title, x, y);
    let points = |of: fn(&Iteration) -> Option<f64>| -> Vec<(f64, f64)> {
        iterations.iter().filter_map(|i| Some((i.iteration, of(i).filter(|x| x.is_finite())?))).collect()
    };
    // Behind all others and without a name: what the smooth lines smooth.
    for (_, ink, _, of) in series {
        if points(*of).len() > 2 * WINDOWS {
            plot.mark("", Shape::Line(averaged(&points(*of)), Dash::Solid, 0.8), *ink, 0.3);
        }
    }
    for (name, ink, dash, of) in series {
        if !points(*of).is_empty() {
            plot.mark(name, Shape::Line(averaged(&smoothed(&points(*of))), *dash, 2.0), *ink, 1.0);
        }
    }
    plot
}

/// A smooth line is the mean over a part of the run; there are so many parts.
const WINDOWS: usize = 50;

/// Means over a window around each point. A short run is left as it is.
fn smoothed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 * WINDOWS {
        return points.to_vec();
    }
    let reach = points.len() / WINDOWS / 2;
    let mean = |at: usize| {
        // As far to the left as to the right: at the ends of the run the window shrinks.
        let reach = reach.min(at).min(points.len() - 1 - at);
        let window = &points[at - reach..=at + reach];
        (points[at].0, window.iter().map(|p| p.1).sum::<f64>() / window.len() as f64)
    };
    (0..points.len()).map(mean).collect()
}

/// A graph by its name, or by a digest short enough to read.
fn graph_words(graph: Option<&str>) -> String {
    match graph {
        None => "a graph not named".to_string(),
        Some(digest) if is_digest(digest) => format!("the graph {}", short_digest(digest)),
        Some(name) => name.to_string(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_smoothed_and_kept_behind() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let smooth = smoothed(&points);
        assert_eq!(smooth.len(), 1000);
        assert!(smooth[100..900].iter().all(|p| (p.1 - 0.5).abs() < 0.05));
        assert_eq!(smoothed(&points[..20]), &points[..20]);
        let iterations: Vec<Iteration> =
            points.iter().map(|p| Iteration { iteration: p.0, loss: Some(p.1), ..Iteration::default() }).collect();
        let log = TrainingLog { name: "x".into(), heading: Default::default(), iterations };
        let Sheet::Drawn(figure) = training(&log) else { panic!("nothing drawn") };
        // The loss alone was logged: no panel without a line.
        assert_eq!(figure.plots.len(), 1);
        let marks = &figure.plots[0].marks;
        assert!(marks[0].name.is_empty() && marks[0].opacity < 0.5 && marks[1].name == "loss");
    }

    #[test]
    fn no_digest_is_spelled_out() {
        assert_eq!(graph_words(Some(&"0123456789abcdef".repeat(4))), "the graph 0123456789ab…");
        assert_eq!(graph_words(Some("cora")), "cora");
    }
}
