//! Figure 3: how far each number of a class pair lies from its true worst-case margin.

use gcnproof_results::record::pair::{PairRecord, ZERO};

use super::group::Group;
use super::sheet::{Sheet, percent, quantile, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Plot, Shape};

/// A number of a class pair that is compared with the truth.
struct Column {
    name: &'static str,
    ink: Ink,
    of: fn(&PairRecord) -> Option<f64>,
}

const COLUMNS: [Column; 6] = [
    Column { name: "default dual (the paper's bound)", ink: Ink::Purple, of: |row| row.dual_default },
    Column { name: "anchored bound", ink: Ink::Sky, of: |row| row.anchored },
    Column { name: "optimal dual", ink: Ink::Green, of: |row| row.dual_optimal },
    Column { name: "LP optimum", ink: Ink::Orange, of: PairRecord::lp },
    Column { name: "ILP optimum", ink: Ink::Blue, of: |row| row.ilp },
    Column { name: "witness (best attack found)", ink: Ink::Vermillion, of: |row| row.witness },
];

/// No half-decade below this one: what is smaller but not zero stands with the first.
const FIRST: i32 = -8;

/// The distances of one number from the truth, sorted.
struct Strip {
    column: &'static Column,
    distances: Vec<f64>,
}

impl Strip {
    fn zeros(&self) -> usize {
        self.distances.iter().filter(|d| **d <= ZERO).count()
    }

    /// How many distances each half-decade holds, and the zeros.
    fn counts(&self, span: &GapSpan) -> (usize, Vec<usize>) {
        let mut counts = vec![0; (span.last - span.first + 1) as usize];
        for &distance in self.distances.iter().filter(|d| **d > ZERO) {
            counts[(half(distance).clamp(span.first, span.last) - span.first) as usize] += 1;
        }
        (self.zeros(), counts)
    }
}

/// The axes that all strips share, so that they can be compared.
struct GapSpan {
    first: i32,
    last: i32,
    zero: bool,
    /// The highest bar, in percent.
    most: f64,
    /// The range of the exact margins.
    truth: (f64, f64),
}

/// Figure 3 of each group, with the same axes for all of them.
pub fn gaps(groups: &[Group]) -> Vec<Sheet> {
    let known: Vec<Vec<(&PairRecord, f64)>> =
        groups.iter().map(|group| group.pairs.iter().filter_map(|row| Some((row, row.truth()?))).collect()).collect();
    let strips: Vec<Vec<Strip>> =
        known.iter().map(|known| COLUMNS.iter().map(|column| strip_of(column, known)).collect()).collect();
    let span = span(&strips, &known);
    groups
        .iter()
        .zip(&known)
        .zip(&strips)
        .map(|((group, known), strips)| gaps_of(group, known, strips, &span))
        .collect()
}

fn strip_of(column: &'static Column, known: &[(&PairRecord, f64)]) -> Strip {
    let distance = |(row, truth): &(&PairRecord, f64)| Some(column.distance((column.of)(row)?, *truth));
    let mut distances: Vec<f64> = known.iter().filter_map(distance).collect();
    distances.sort_by(f64::total_cmp);
    Strip { column, distances }
}

impl Column {
    /// A witness lies above the truth, a bound below.
    fn distance(&self, value: f64, truth: f64) -> f64 {
        if self.name.starts_with("witness") { value - truth } else { truth - value }
    }
}

fn span(strips: &[Vec<Strip>], known: &[Vec<(&PairRecord, f64)>]) -> GapSpan {
    let all = || strips.iter().flatten();
    let positive = || all().flat_map(|strip| &strip.distances).filter(|d| **d > ZERO).map(|d| half(*d));
    let first = positive().min().unwrap_or(FIRST).max(FIRST);
    let truths = || known.iter().flatten().map(|pair| pair.1);
    let mut span = GapSpan {
        first,
        last: positive().max().unwrap_or(first).max(first + 1),
        // A strip of nothing but zeros is not drawn.
        zero: all().any(|strip| (1..strip.distances.len()).contains(&strip.zeros())),
        most: 0.0,
        truth: (truths().fold(f64::INFINITY, f64::min), truths().fold(f64::NEG_INFINITY, f64::max)),
    };
    for strip in all().filter(|strip| strip.zeros() < strip.distances.len()) {
        let (zero, counts) = strip.counts(&span);
        let most = counts.iter().copied().max().unwrap_or(0).max(zero);
        span.most = span.most.max(percent(most, strip.distances.len()));
    }
    span
}

fn gaps_of(group: &Group, known: &[(&PairRecord, f64)], strips: &[Strip], span: &GapSpan) -> Sheet {
    let title = format!("How tight each bound is: {}", group.name);
    if known.is_empty() {
        if group.attacked.edges().is_some() {
            let why = "Bounds of class pairs are not compared where edges are changed.";
            return Sheet::missing(3, &title, why);
        }
        let why = match group.pairs.is_empty() {
            true => {
                "No class pairs were given: rows of `certify`, with --minimize as well, do not have the bounds of a pair \
                 beside its exact margin"
            }
            false => "No class pair has a known exact margin",
        };
        let why = format!(
            "{why}. `gcnproof study` samples some, and `gcnproof validate … --out pairs.parquet` adds those of LP, ILP and \
             MILP solvers."
        );
        return Sheet::missing(3, &title, &why);
    }
    let mut numbers = Numbers::new(&["model", "node", "class", "exact", "number", "value", "distance"]);
    for (row, truth) in known {
        for column in &COLUMNS {
            if let Some(value) = (column.of)(row) {
                numbers.push([
                    group.name.clone(),
                    row.node.to_string(),
                    row.class.to_string(),
                    number(*truth),
                    column.name.to_string(),
                    number(value),
                    number(column.distance(value, *truth)),
                ]);
            }
        }
    }
    let measured = || strips.iter().filter(|strip| !strip.distances.is_empty());
    // A strip that is nothing but zero is said, not drawn.
    let (attained, drawn): (Vec<&Strip>, Vec<&Strip>) =
        measured().partition(|strip| strip.zeros() == strip.distances.len());
    let mut plots: Vec<Plot> = drawn.iter().map(|strip| plot(strip, span)).collect();
    plots.push(truths(known, span.truth.0, span.truth.1));
    let global = group.pairs_global.map_or(String::new(), |q| format!(" at Q = {q}"));
    let zero = if span.zero { "; “0” is at most 10⁻⁶" } else { "" };
    let mut caption = format!(
        "{} class pairs of a sample{global} whose exact worst-case margin m is known (of {} measured). Each strip: the \
         distance of one number from m, on a logarithmic axis{zero}. Every bound is below m and every attack \
         above it; the narrower the strip, the fewer nodes stay undecided. Last: m itself, a pair is robust if it is \
         positive.",
        known.len(),
        group.pairs.len()
    );
    if !attained.is_empty() {
        let names: Vec<&str> = attained.iter().map(|strip| strip.column.name).collect();
        caption.push_str(&format!(" Not drawn, because equal to m for every pair: {}.", names.join(", ")));
    }
    let absent: Vec<&str> =
        strips.iter().filter(|strip| strip.distances.is_empty()).map(|strip| strip.column.name).collect();
    if !absent.is_empty() {
        caption.push_str(&format!(" Not computed in these results: {} (`gcnproof validate` does).", absent.join(", ")));
    }
    let name = format!("fig3_tightness_{}", slug(&group.name));
    Figure { number: 3, name, title, caption, plots, columns: 2, height: 200.0, numbers, made: Vec::new() }.into()
}

fn half(value: f64) -> i32 {
    (value.log10() * 2.0).floor() as i32
}

/// One histogram over half-decades.
fn plot(strip: &Strip, span: &GapSpan) -> Plot {
    let (zero, counts) = strip.counts(span);
    let all = strip.distances.len();
    let label = |at: i32| if at % 2 == 0 { power(at / 2) } else { String::new() };
    // Where nothing is zero the axis begins behind it.
    let zero_label = if span.zero { "0" } else { "" };
    let names = std::iter::once(zero_label.to_string()).chain((span.first..=span.last + 1).map(label)).collect();
    let mut x = Axis::named("distance from the exact margin (logits)", names);
    x.range = (if span.zero { -0.6 } else { 0.8 }, counts.len() as f64 + 1.2);
    let y = Axis { unit: " %", ..Axis::linear("class pairs", 0.0, 1.1 * span.most.max(1.0)) };
    let median = quantile(&strip.distances, 0.5).unwrap_or(0.0).max(0.0);
    let zeros = if zero > 0 { format!(", zero on {:.0} %", percent(zero, all)) } else { String::new() };
    let mut plot = Plot::new(&format!("{}: median {median:.3}{zeros}", strip.column.name), x, y);
    let bar = |from: f64, to: f64, count: usize| Bar {
        x: (from, to),
        y: (0.0, percent(count, all)),
        told: format!("{count} of {all} class pairs"),
        label: String::new(),
    };
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut bars: Vec<Bar> = bars.map(|(at, &count)| bar(at as f64 + 1.03, at as f64 + 1.97, count)).collect();
    if zero > 0 {
        bars.push(bar(-0.4, 0.4, zero));
    }
    plot.mark("", Shape::Bars(bars), strip.column.ink, 1.0);
    plot
}

fn power(exponent: i32) -> String {
    match exponent {
        -2..=2 => format!("{}", 10f64.powi(exponent)),
        _ => format!("1e{exponent}"),
    }
}

/// The exact margins themselves, on the axis of all groups.
fn truths(known: &[(&PairRecord, f64)], low: f64, high: f64) -> Plot {
    let values: Vec<f64> = known.iter().map(|pair| pair.1).collect();
    let width = ((high - low) / 18.0).max(1e-9);
    // Zero is an edge: no bar holds robust pairs and others.
    let bin = |value: f64| (value / width).ceil() as i64 - 1;
    let first = bin(low);
    let mut counts = vec![0; (bin(high) - first + 1).clamp(1, 40) as usize];
    let last = counts.len() as i64 - 1;
    for value in &values {
        counts[(bin(*value) - first).clamp(0, last) as usize] += 1;
    }
    let x = Axis::linear(
        "exact worst-case margin m (logits)",
        first as f64 * width,
        (first + counts.len() as i64) as f64 * width,
    );
    let most = percent(counts.iter().copied().max().unwrap_or(0), values.len());
    let y = Axis { unit: " %", ..Axis::linear("class pairs", 0.0, 1.15 * most.max(1.0)) };
    let robust = values.iter().filter(|value| **value > 0.0).count();
    let mut plot = Plot::new(&format!("exact margin m: {robust} of {} pairs robust", values.len()), x, y);
    for (name, ink, positive) in [("not robust", Ink::Vermillion, false), ("robust", Ink::Blue, true)] {
        let bars = counts.iter().enumerate().filter(|(at, count)| **count > 0 && (first + *at as i64 >= 0) == positive);
        let bars = bars.map(|(at, &count)| {
            let from = (first + at as i64) as f64 * width;
            let told = format!("{count} class pairs from {from:.2} to {:.2}", from + width);
            Bar { x: (from, from + width), y: (0.0, percent(count, values.len())), told, label: String::new() }
        });
        plot.mark(name, Shape::Bars(bars.collect()), ink, 0.9);
    }
    plot
}
