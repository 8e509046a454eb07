//! Figure 8: one attack for the whole graph – how many predictions it breaks against `Q`, and beside it what nodes
//! withstand each by itself. [`used`] has its second part, what the attack uses.

use gcnproof_results::record::attackers::Attackers;
use gcnproof_results::record::collective::CollectiveRecord;

use super::collective::{AloneFrom, Collective, certified, unknown};
use super::landscape::Landscape;
use super::sheet::{Sheet, percent, slug};
use super::used;
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Dash, Plot, Shape};

/// The number of the figure.
pub const NUMBER: usize = 8;

/// Up to so many budgets are bars, more are a curve.
const FEW: usize = 3;

/// A curve of more budgets than this has no dots.
const DOTTED: usize = 60;

const TITLE: &str = "One attack for the whole graph";
const ALONE: &str = "robust, each node by itself";
const ALONE_OPEN: &str = "no attack known, each by itself";

/// The axes that all results share, so that their figures can be compared.
struct Span {
    /// The largest `Q`.
    global: u64,
    /// The largest bound.
    bound: u64,
}

/// Figure 8: two sheets for each of the results, in their order – the curve, and what the attack uses.
pub fn sheets(all: &[Collective], landscape: Option<&Landscape>) -> Vec<Sheet> {
    if all.is_empty() {
        return vec![Sheet::missing(NUMBER, TITLE, "No results of `gcnproof collective` were given.")];
    }
    let rows = || all.iter().flat_map(|curve| &curve.rows);
    let span = Span {
        global: rows().map(|row| row.q_global).max().unwrap_or(0),
        bound: rows().map(|row| row.bound).max().unwrap_or(0),
    };
    let used = used::sheets(all, landscape);
    let both = |(curve, used): (&Collective, Sheet)| {
        [broken(curve, &span), used].map(|sheet| sheet.made_from(vec![curve.made()]))
    };
    all.iter().zip(used).flat_map(both).collect()
}

/// The curve, or bars where there are few budgets.
fn broken(curve: &Collective, span: &Span) -> Sheet {
    let title = format!("{TITLE}: {}", curve.name);
    let name = format!("fig8_whole_{}", slug(&curve.name));
    let from_radii = matches!(curve.origin, AloneFrom::Radii(_));
    let plots = match curve.rows.len() {
        0..=FEW if from_radii => vec![bars(curve), alone_alone(curve)],
        0..=FEW => vec![bars(curve)],
        _ => vec![shares(curve, span), counts(curve, span)],
    };
    let numbers = numbers(curve);
    let caption = caption(curve);
    Figure { number: NUMBER, name, title, caption, plots, columns: 2, height: 380.0, numbers, made: Vec::new() }.into()
}

fn share(part: u64, whole: u64) -> f64 {
    percent(part as usize, whole as usize)
}

/// `1 prediction`, `2 predictions`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn caption(curve: &Collective) -> String {
    let Some(row) = curve.rows.last() else { return String::new() };
    let (q, counted) = (row.q_global, row.counted);
    let mut text = format!(
        "At Q = {q}, of {}, one attack breaks at most {}: {:.1} % stay, whatever it is. The attack found breaks {}.",
        plural(counted, "prediction"),
        row.bound,
        share(certified(row), counted),
        row.broken
    );
    text += &anew(curve);
    text += &format!(
        " Budget: {}. Certified: predictions above a bound that is evaluated in integers. Broken: replayed through the exact network. \
         Unknown: neither was shown.",
        curve.conditions()
    );
    if curve.rows.len() > FEW && !is_dense(&curve.rows) {
        text += " Between the budgets that were asked for, lines only connect them.";
    }
    text += &match curve.origin {
        AloneFrom::Radii(limit) => {
            format!(" Single nodes: from radii of the same graph, model and local budget, which go up to Q = {limit}.")
        }
        AloneFrom::OtherNodes => {
            " The radii given are not those of all nodes that count here: single nodes are as the run itself saw them."
                .into()
        }
        AloneFrom::Rows => String::new(),
    };
    if curve.is_shallow() {
        text += " The run looked at single nodes up to a few flips, and above by fast bounds alone: more of them may be robust. Results of \
                 `gcnproof radius` with the same -q give their curve in full.";
    }
    text
}

/// What an attacker loses by having to choose once: told where radii show it, at the largest budget that they reach.
fn anew(curve: &Collective) -> String {
    let both = curve.rows.iter().rev().find_map(|row| {
        let alone = curve.alone.iter().find(|alone| alone.global == row.q_global)?;
        Some((row, row.counted.saturating_sub(alone.unbroken?)))
    });
    match both.filter(|(row, anew)| *anew > row.bound) {
        Some((row, anew)) => format!(
            " At Q = {}, an attacker who chooses anew for every node breaks at least {anew} of them; one who chooses once, at most {}.",
            row.q_global, row.bound
        ),
        None => String::new(),
    }
}

fn numbers(curve: &Collective) -> Numbers {
    let header = [
        "model",
        "Q",
        "counted",
        "certified",
        "unknown",
        "broken",
        "robust_alone",
        "no_attack_known_alone",
        "flips",
        "nodes",
        "attributes",
    ];
    let mut numbers = Numbers::new(&header);
    let mut rows = curve.rows.iter().peekable();
    let mut alone = curve.alone.iter().peekable();
    // Every Q that one of the two knows.
    while let Some(q) =
        [rows.peek().map(|row| row.q_global), alone.peek().map(|alone| alone.global)].into_iter().flatten().min()
    {
        let row = rows.next_if(|row| row.q_global == q);
        let alone = alone.next_if(|alone| alone.global == q);
        let used = row.map(|row| Attackers::new(&row.flips, None));
        let of = |of: fn(&CollectiveRecord) -> u64| row.map_or(String::new(), |row| of(row).to_string());
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        numbers.push([
            curve.name.clone(),
            q.to_string(),
            curve.counted().to_string(),
            of(certified),
            of(unknown),
            of(|row| row.broken),
            number(alone.map(|alone| alone.robust).or(row.map(|row| row.robust))),
            number(alone.and_then(|alone| alone.unbroken)),
            of(|row| row.flips.len() as u64),
            number(used.as_ref().map(|used| used.nodes.len() as u64)),
            number(used.as_ref().map(|used| used.attributes.len() as u64)),
        ]);
    }
    numbers
}

/// Is every whole number between the first and the last there?
fn is_dense(rows: &[CollectiveRecord]) -> bool {
    rows.windows(2).all(|pair| pair[1].q_global - pair[0].q_global == 1)
}

/// The axis of `Q`. One that begins far from 0 leaves out what is empty.
fn budgets(curve: &Collective, last: u64) -> Axis {
    let mut axis = Axis::whole("Q: flips in all", last);
    let first = [curve.rows.first().map(|row| row.q_global), curve.alone.first().map(|alone| alone.global)];
    if let Some(first) = first.into_iter().flatten().min().filter(|first| first.saturating_mul(2) > last) {
        axis.range.0 = first as f64 - 0.5;
    }
    axis
}

/// An area over `Q`: steps where every whole number is there, else straight from one to the next.
fn area(rows: &[CollectiveRecord], of: impl Fn(&CollectiveRecord) -> (f64, f64)) -> Shape {
    let point = |row: &CollectiveRecord| (row.q_global as f64, of(row).0, of(row).1);
    let points: Vec<(f64, f64, f64)> = rows.iter().map(point).collect();
    if is_dense(rows) { Shape::StepBand(points) } else { Shape::Band(points) }
}

fn line(points: Vec<(f64, f64)>, dash: Dash, width: f64) -> Shape {
    let dense = points.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 1.0);
    if dense { Shape::Steps(points, dash, width) } else { Shape::Line(points, dash, width) }
}

/// Shares of the predictions against `Q`, one above the other, and the line of single nodes over them.
fn shares(curve: &Collective, span: &Span) -> Plot {
    let mut plot =
        Plot::new("What one attack leaves", budgets(curve, span.global), Axis::percent("share of predictions"));
    let stays = |row: &CollectiveRecord| share(certified(row), row.counted);
    let open = |row: &CollectiveRecord| share(row.counted - row.broken, row.counted);
    plot.mark("certified", area(&curve.rows, |row| (0.0, stays(row))), Ink::Blue, 0.3);
    plot.mark("unknown", area(&curve.rows, |row| (stays(row), open(row))), Ink::Orange, 0.75);
    plot.mark("broken", area(&curve.rows, |row| (open(row), 100.0)), Ink::Vermillion, 0.55);
    let points = curve.rows.iter().map(|row| (row.q_global as f64, stays(row))).collect();
    plot.mark("", line(points, Dash::Solid, 1.6), Ink::Blue, 1.0);
    single(&mut plot, curve, span.global);
    plot
}

/// The lines of single nodes.
fn single(plot: &mut Plot, curve: &Collective, last: u64) {
    let counted = curve.counted();
    let shown = || curve.alone.iter().filter(|alone| alone.global <= last);
    let robust: Vec<(f64, f64)> = shown().map(|alone| (alone.global as f64, share(alone.robust, counted))).collect();
    let unbroken: Vec<(f64, f64)> =
        shown().filter_map(|alone| Some((alone.global as f64, share(alone.unbroken?, counted)))).collect();
    let dotted = robust.len() <= DOTTED && !matches!(curve.origin, AloneFrom::Radii(_));
    plot.mark(ALONE, line(robust.clone(), Dash::Solid, 2.2), Ink::Green, 1.0);
    if dotted {
        plot.mark("", Shape::Dots(robust, 5.0), Ink::Green, 1.0);
    }
    // Where every node is decided, one line says both.
    if shown().any(|alone| alone.unbroken.is_some_and(|unbroken| unbroken > alone.robust)) {
        plot.mark(ALONE_OPEN, line(unbroken, Dash::Dotted, 1.8), Ink::Green, 1.0);
    }
}

/// Numbers of predictions against `Q`, as large as they are: what the shares show only if many are broken.
fn counts(curve: &Collective, span: &Span) -> Plot {
    let y = Axis::linear("predictions", 0.0, 1.08 * span.bound.max(1) as f64);
    let mut plot = Plot::new("What one attack breaks", budgets(curve, span.global), y);
    let rows = &curve.rows;
    plot.mark("unknown", area(rows, |row| (row.broken as f64, row.bound as f64)), Ink::Orange, 0.6);
    for (name, ink, of) in [
        ("at most", Ink::Blue, (|row| row.bound as f64) as fn(&CollectiveRecord) -> f64),
        ("by the attack found", Ink::Vermillion, |row| row.broken as f64),
    ] {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.q_global as f64, of(row))).collect();
        plot.mark(name, line(points.clone(), Dash::Solid, 2.0), ink, 1.0);
        if rows.len() <= DOTTED && !is_dense(rows) {
            plot.mark("", Shape::Dots(points, 5.0), ink, 1.0);
        }
    }
    plot
}

/// A part of a bar: its name, its colour and how strong, from where to where.
type Part = (&'static str, Ink, f64, fn(&CollectiveRecord) -> (u64, u64));

/// Few budgets: for each a bar of one attack for all and a bar of single nodes.
fn bars(curve: &Collective) -> Plot {
    let rows = &curve.rows;
    let names = rows.iter().map(|row| format!("Q = {}", row.q_global)).collect();
    let label = "left: one attack for all nodes; right: each node attacked by itself";
    let mut plot = Plot::new("", Axis::named(label, names), Axis::percent("share of predictions"));
    // A single bar is not as wide as the page.
    let wide = 0.38 * (rows.len() as f64 / FEW as f64).clamp(0.0, 1.0);
    let parts: [Part; 3] = [
        ("certified", Ink::Blue, 0.85, |row| (0, certified(row))),
        ("unknown", Ink::Orange, 0.85, |row| (certified(row), row.counted - row.broken)),
        ("broken", Ink::Vermillion, 0.85, |row| (row.counted - row.broken, row.counted)),
    ];
    for (name, ink, opacity, part) in parts {
        let bar = |(at, row): (usize, &CollectiveRecord)| {
            let (low, high) = part(row);
            let told = format!("Q = {}: {} {name}", row.q_global, plural(high - low, "prediction"));
            let y = (share(low, row.counted), share(high, row.counted));
            Bar { x: (at as f64 - wide, at as f64 - 0.05 * wide), y, told, label: String::new() }
        };
        plot.mark(name, Shape::Bars(rows.iter().enumerate().map(bar).collect()), ink, opacity);
    }
    let bar = |(at, row): (usize, &CollectiveRecord)| {
        let robust = curve.robust_alone(row);
        let told = format!("Q = {}: {} robust, each node by itself", row.q_global, plural(robust, "prediction"));
        let y = (0.0, share(robust, row.counted));
        Bar { x: (at as f64 + 0.05 * wide, at as f64 + wide), y, told, label: format!("{:.1} %", y.1) }
    };
    plot.mark(ALONE, Shape::Bars(rows.iter().enumerate().map(bar).collect()), Ink::Green, 0.85);
    plot
}

/// The whole curve of single nodes, with dots where one attack for all was asked for.
fn alone_alone(curve: &Collective) -> Plot {
    let last = curve.rows.iter().map(|row| row.q_global).chain(curve.alone.iter().map(|alone| alone.global)).max();
    let last = last.unwrap_or(0);
    let mut plot = Plot::new("", budgets(curve, last), Axis::percent("share of predictions"));
    single(&mut plot, curve, last);
    let points = curve.rows.iter().map(|row| (row.q_global as f64, share(certified(row), row.counted))).collect();
    plot.mark("certified against one attack", Shape::Dots(points, 9.0), Ink::Blue, 1.0);
    plot
}
