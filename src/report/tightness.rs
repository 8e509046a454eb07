//! Figure 3: how far each number of a class pair lies from its true worst-case margin.

use super::group::Group;
use super::sheet::{Sheet, percent, quantile, slug};
use crate::chart::axis::Axis;
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Bar, Plot, Shape};
use crate::laboratory::histogram::ZERO;
use crate::laboratory::pair::PairRecord;

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

/// Half-decades from here on; what is smaller but not zero stands with the first.
const FIRST: i32 = -8;

/// Figure 3 of one group.
pub fn gaps(group: &Group) -> Sheet {
    let title = format!("How tight each bound is: {}", group.name);
    let known: Vec<(&PairRecord, f64)> = group.pairs.iter().filter_map(|row| Some((row, row.truth()?))).collect();
    if known.is_empty() {
        let why = "No class pair with a known exact margin: `gcnproof study` samples some, and `gcnproof validate … --out \
                   pairs.parquet` adds those of LP, ILP and MILP solvers.";
        return Sheet::missing(3, &title, why);
    }
    let mut numbers = Numbers::new(&["model", "node", "class", "exact", "number", "value", "distance"]);
    let mut plots = Vec::new();
    let mut absent = Vec::new();
    let all: Vec<Vec<f64>> = COLUMNS
        .iter()
        .map(|column| {
            let mut distances: Vec<f64> = Vec::new();
            for (row, truth) in &known {
                if let Some(value) = (column.of)(row) {
                    // A witness lies above the truth, a bound below.
                    let distance = if column.name.starts_with("witness") { value - truth } else { truth - value };
                    distances.push(distance);
                    numbers.push([
                        group.name.clone(),
                        row.node.to_string(),
                        row.class.to_string(),
                        number(*truth),
                        column.name.to_string(),
                        number(value),
                        number(distance),
                    ]);
                }
            }
            distances.sort_by(f64::total_cmp);
            distances
        })
        .collect();
    let most = all.iter().flatten().copied().fold(ZERO, f64::max);
    let last = half(most).max(FIRST + 2);
    for (column, distances) in COLUMNS.iter().zip(&all) {
        if distances.is_empty() {
            absent.push(column.name);
        } else {
            plots.push(strip(column, distances, last));
        }
    }
    plots.push(truths(&known));
    let global = group.pairs_global.map_or(String::new(), |q| format!(" at Q = {q}"));
    let mut caption = format!(
        "{} class pairs of a sample{global} whose exact worst-case margin m is known (of {} measured). Each strip: the \
         distance of one number from m, on a logarithmic axis; “0” is at most 10⁻⁶. Every bound is below m and every attack \
         above it; the narrower the strip, the fewer nodes stay undecided. Last: m itself, a pair is robust if it is \
         positive.",
        known.len(),
        group.pairs.len()
    );
    if !absent.is_empty() {
        caption.push_str(&format!(" Not computed in these results: {} (`gcnproof validate` does).", absent.join(", ")));
    }
    let name = format!("fig3_tightness_{}", slug(&group.name));
    Figure { number: 3, name, title, caption, plots, columns: 2, height: 200.0, numbers }.into()
}

fn half(value: f64) -> i32 {
    (value.log10() * 2.0).floor() as i32
}

/// One histogram over half-decades up to `last`.
fn strip(column: &Column, sorted: &[f64], last: i32) -> Plot {
    let mut counts = vec![0; (last - FIRST + 1) as usize];
    let mut zero = 0;
    for &distance in sorted {
        match distance {
            d if d <= ZERO => zero += 1,
            d => counts[(half(d).clamp(FIRST, last) - FIRST) as usize] += 1,
        }
    }
    let label = |at: i32| if at % 2 == 0 { power(at / 2) } else { String::new() };
    let names = std::iter::once("0".to_string()).chain((FIRST..=last + 1).map(label)).collect();
    let mut x = Axis::named("distance from the exact margin (logits)", names);
    x.range = (-0.6, counts.len() as f64 + 1.2);
    let most = counts.iter().copied().max().unwrap_or(0).max(zero);
    let y = Axis { unit: " %", ..Axis::linear("class pairs", 0.0, percent(most, sorted.len()) * 1.15) };
    let median = quantile(sorted, 0.5).unwrap_or(0.0).max(0.0);
    let title = format!("{}: median {median:.3}, zero on {:.0} %", column.name, percent(zero, sorted.len()));
    let mut plot = Plot::new(&title, x, y);
    let bar = |from: f64, to: f64, count: usize| Bar {
        x: (from, to),
        y: (0.0, percent(count, sorted.len())),
        told: format!("{count} of {} class pairs", sorted.len()),
        label: String::new(),
    };
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut bars: Vec<Bar> = bars.map(|(at, &count)| bar(at as f64 + 1.03, at as f64 + 1.97, count)).collect();
    if zero > 0 {
        bars.push(bar(-0.4, 0.4, zero));
    }
    plot.mark("", Shape::Bars(bars), column.ink, 1.0);
    plot
}

fn power(exponent: i32) -> String {
    match exponent {
        -2..=2 => format!("{}", 10f64.powi(exponent)),
        _ => format!("1e{exponent}"),
    }
}

/// The exact margins themselves.
fn truths(known: &[(&PairRecord, f64)]) -> Plot {
    let mut values: Vec<f64> = known.iter().map(|pair| pair.1).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&values, 0.0).unwrap_or(0.0), quantile(&values, 1.0).unwrap_or(1.0));
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
