//! Figure 7: cost – time against neighbourhood size, the steps that decided, and how many were solved in what time.

use std::collections::BTreeMap;

use gcnproof::internals::certify::verdict::Verdict;

use super::group::{Group, Verdicts};
use super::row::NodeVerdict;
use super::sheet::{Sheet, percent, quantile, slug, thinned};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Dash, Plot, Shape};

/// Dots in a cloud.
const DOTS: usize = 1500;

/// The steps of all attackers in the order of their cascades: by the names that files have, and as they are shown.
const STEPS: [(&str, &str, Ink); 14] = [
    ("path_bound", "path bound", Ink::Brown),
    ("paper_bound", "paper's bound", Ink::Purple),
    ("anchored_bound", "anchored bound", Ink::Sky),
    ("priced_bound", "bound by prices", Ink::Sky),
    ("linear_bound", "bound by lines", Ink::Sky),
    ("mixed_bounds", "mixtures", Ink::Blue),
    ("listed", "all sets listed", Ink::Blue),
    ("column_generation", "column generation", Ink::Green),
    ("branch_and_price", "branch and price", Ink::Text),
    ("branch_and_bound", "branch and bound", Ink::Text),
    ("witness", "witness", Ink::Vermillion),
    ("tie", "witness (tie)", Ink::Orange),
    ("bound_not_positive", "left open", Ink::Yellow),
    ("limit", "given up at a limit", Ink::Grey),
];

/// What a step is called.
pub fn step_name(reason: &'static str) -> &'static str {
    STEPS.iter().find(|(known, ..)| *known == reason).map_or(reason, |(_, shown, _)| shown)
}

/// What the axes of all groups have in common, so that figures and panels can be compared.
struct CostSpan {
    /// The least and the most seconds.
    seconds: (f64, f64),
    /// The least and the largest neighbourhood.
    size: (f64, f64),
    /// The largest share that one step has decided, in percent.
    share: f64,
}

/// Figure 7 of each group, with the same axes for all of them.
pub fn effort(groups: &[Group]) -> Vec<Sheet> {
    let mut span = CostSpan { seconds: (f64::INFINITY, 0.0), size: (f64::INFINITY, 0.0), share: 1.0 };
    let widen = |range: &mut (f64, f64), x: f64| {
        if x > 0.0 && x.is_finite() {
            *range = (range.0.min(x), range.1.max(x));
        }
    };
    for group in groups {
        for row in group.verdicts.iter().flat_map(|verdicts| &verdicts.rows) {
            widen(&mut span.seconds, row.seconds);
            widen(&mut span.size, row.neighbourhood.max(1) as f64);
        }
        let pairs = group.pairs.iter().filter(|_| has_milp(group));
        pairs.flat_map(|row| [row.exact_seconds, row.milp_seconds]).flatten().for_each(|s| widen(&mut span.seconds, s));
        if let Some(verdicts) = group.headline() {
            let count = |reason: &str| verdicts.rows.iter().filter(|row| row.reason == reason).count();
            let most = STEPS.iter().map(|(reason, ..)| count(reason)).max().unwrap_or(0);
            span.share = span.share.max(percent(most, verdicts.rows.len()));
        }
    }
    groups.iter().map(|group| effort_of(group, &span)).collect()
}

fn has_milp(group: &Group) -> bool {
    group.pairs.iter().any(|row| row.milp_seconds.is_some())
}

fn effort_of(group: &Group, span: &CostSpan) -> Sheet {
    let title = format!("What it cost: {}", group.name);
    let Some(Verdicts { rows, global, .. }) = group.headline() else {
        return Sheet::missing(7, &title, "No verdicts: results of `certify` are needed.");
    };
    let mut numbers = Numbers::new(&["model", "node", "neighbourhood", "seconds", "decided_by", "tree_nodes"]);
    for row in rows {
        numbers.push([
            group.name.clone(),
            row.node.to_string(),
            row.neighbourhood.to_string(),
            number(row.seconds),
            row.reason.to_string(),
            row.search_nodes.to_string(),
        ]);
    }
    let mut plots: Vec<Plot> = against_size(rows, span, group).into_iter().collect();
    plots.push(steps(rows, span, group));
    let (cactus, compared) = cactus(group, span);
    plots.extend(cactus);
    let total: f64 = rows.iter().map(|row| row.seconds).filter(|s| s.is_finite()).sum();
    let trees: u64 = rows.iter().map(|row| row.search_nodes).sum();
    let q = global.map_or(String::new(), |q| format!(" at {} = {q}", group.words().global));
    let [target, targets] = group.targets();
    let caption = format!(
        "{} {targets}{q} took {total:.2} s of one core in all and {trees} nodes of search trees. Each {target} is decided by the first step \
         that can; the verdict holds whichever it was. {compared}",
        rows.len()
    );
    let name = format!("fig7_cost_{}", slug(&group.name));
    Figure { number: 7, name, title, caption, plots, columns: 3, height: 330.0, numbers, made: Vec::new() }.into()
}

/// Time against size; nothing if no time was measured.
fn against_size(rows: &[NodeVerdict], span: &CostSpan, group: &Group) -> Option<Plot> {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.seconds > 0.0 && row.seconds.is_finite())
        .map(|row| (row.neighbourhood.max(1) as f64, row.seconds))
        .collect();
    if points.is_empty() {
        return None;
    }
    let mut bins: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (size, seconds) in &points {
        bins.entry(size.log2().floor() as usize).or_default().push(*seconds);
    }
    let mut median = Vec::new();
    for (bin, values) in &mut bins {
        values.sort_by(f64::total_cmp);
        median.extend(quantile(values, 0.5).map(|half| (2f64.powf(*bin as f64 + 0.5), half)));
    }
    let [target, targets] = group.targets();
    let size = if group.classifies_graphs() { "nodes of the graph" } else { "nodes in the neighbourhood" };
    let x = Axis::logarithmic(size, [span.size.0, span.size.1].into_iter());
    let y = Axis::logarithmic(&format!("seconds per {target}"), [span.seconds.0, span.seconds.1].into_iter());
    let mut plot = Plot::new("Time against size", x, y);
    plot.mark(targets, Shape::Dots(thinned(points, DOTS), 3.0), Ink::Blue, 0.5);
    plot.mark("median", Shape::Line(median, Dash::Solid, 2.2), Ink::Vermillion, 1.0);
    Some(plot)
}

fn steps(rows: &[NodeVerdict], span: &CostSpan, group: &Group) -> Plot {
    let [_, targets] = group.targets();
    let mut met: Vec<(&str, Ink, usize, f64)> = Vec::new();
    for (reason, shown, ink) in STEPS {
        let decided = || rows.iter().filter(|row| row.reason == reason);
        if decided().next().is_some() {
            met.push((shown, ink, decided().count(), decided().map(|row| row.seconds).sum()));
        }
    }
    met.reverse();
    let names = met.iter().map(|(shown, ..)| shown.to_string()).collect();
    let x = Axis { unit: " %", ..Axis::linear(&format!("share of {targets}"), 0.0, 1.25 * span.share) };
    let mut plot = Plot::new("What decided", x, Axis::named("", names));
    for (at, (shown, ink, count, seconds)) in met.into_iter().enumerate() {
        let bar = Bar {
            x: (0.0, percent(count, rows.len())),
            y: (at as f64 - 0.38, at as f64 + 0.38),
            told: format!("{shown}: {count} {targets}, {seconds:.2} s"),
            label: format!("{count}"),
        };
        plot.mark("", Shape::Bars(vec![bar]), ink, 0.9);
    }
    plot
}

/// How many are solved within what time each: class pairs against the MILP where one was run, else nodes.
fn cactus(group: &Group, span: &CostSpan) -> (Option<Plot>, String) {
    let mut series: Vec<(String, Vec<f64>, usize)> = Vec::new();
    let milp = has_milp(group);
    if milp {
        let exact = group.pairs.iter().filter(|row| row.exact.is_some()).filter_map(|row| row.exact_seconds);
        let solver = group.pairs.iter().filter(|row| row.milp.is_some()).filter_map(|row| row.milp_seconds);
        series.push(("branch and price".into(), exact.collect(), group.pairs.len()));
        series.push(("MILP (HiGHS)".into(), solver.collect(), group.pairs.len()));
    } else {
        for verdicts in &group.verdicts {
            let decided = verdicts.rows.iter().filter(|row| row.verdict != Verdict::Undecided).map(|row| row.seconds);
            let q = verdicts.global.map_or(String::new(), |q| format!(", {} = {q}", group.words().global));
            series.push((format!("{}{q}", verdicts.method.name()), decided.collect(), verdicts.rows.len()));
        }
    }
    for (_, seconds, _) in &mut series {
        seconds.sort_by(f64::total_cmp);
    }
    let whole = series.iter().map(|s| s.2).max().unwrap_or(1);
    let decided = format!("{} decided", group.targets()[1]);
    let what = if milp { "class pairs solved exactly" } else { decided.as_str() };
    let x = Axis::linear(what, 0.0, whole as f64);
    let y = Axis::logarithmic("seconds, at most", [span.seconds.0, span.seconds.1].into_iter());
    let mut plot = Plot::new("Solved in what time", x, y);
    for (at, (name, seconds, _)) in series.iter().enumerate() {
        let points = seconds.iter().enumerate().map(|(n, s)| ((n + 1) as f64, *s)).collect();
        let dash = [Dash::Solid, Dash::Dashed, Dash::Mixed][at % 3];
        plot.mark(name, Shape::Line(thinned(points, DOTS), dash, 2.0), Ink::series(at), 1.0);
    }
    let solved: Vec<String> =
        series.iter().map(|(name, seconds, of)| format!("{name} {} of {of}", seconds.len())).collect();
    let compared =
        format!("Right: how many were solved, each within the time on the left axis ({}).", solved.join(", "));
    // Nothing was solved: there is nothing to draw.
    if series.iter().all(|s| s.1.is_empty()) { (None, String::new()) } else { (Some(plot), compared) }
}
