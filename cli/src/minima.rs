//! The table of `certify --minimize`: the worst-case margin of every class pair, and the changes that attain it.

use std::collections::BTreeMap;
use std::fmt::Write;

use gcnproof::Minimum;
use gcnproof_results::record::MarginRecord;
use gcnproof_results::record::node::{Record, Tabled};

/// Lines shown; a file holds them all.
const LINES: usize = 60;

/// Flips shown of one attack.
const FLIPS: usize = 4;

/// Characters of a fraction that is still readable.
const FRACTION: usize = 24;

/// How the table speaks of an attacker.
pub struct Wording<A: Tabled> {
    /// What changes are called, with their parts.
    pub changes: &'static str,
    /// Room for a margin.
    pub width: usize,
    /// A margin, exact or as an interval.
    pub value: fn(&MarginRecord, Option<&Minimum<A>>) -> String,
    /// The changes of an attack.
    pub list: fn(&[A::Change]) -> String,
}

/// The table. `found` holds the exact minima of the nodes that this run has worked on.
pub fn table<A: Tabled>(
    rows: &[Record<A>],
    found: &BTreeMap<u64, Vec<Option<Minimum<A>>>>,
    shown: Wording<A>,
) -> String {
    let Wording { changes, width, value, list } = shown;
    let mut text = String::new();
    let target = if rows.first().is_some_and(|row| row.graphs) { "graph" } else { "node" };
    let _ = writeln!(text, "{target:>8}  {:<9}{:<width$}{changes}", "classes", "worst-case margin");
    let count: usize = rows.iter().map(|row| row.margins.len()).sum();
    let pairs = rows.iter().flat_map(|row| row.margins.iter().enumerate().map(move |(at, margin)| (row, at, margin)));
    for (row, at, margin) in pairs.take(LINES) {
        let minimum = found.get(&row.node).and_then(|minima| minima.get(at)?.as_ref());
        let classes = format!("{} – {}", row.reference, margin.class);
        let changes = minimum.map_or_else(String::new, |minimum| list(&minimum.changes));
        let _ = writeln!(text, "{:>8}  {classes:<9}{:<width$}{changes}", row.node, value(margin, minimum));
    }
    if count > LINES {
        let _ = writeln!(text, "… and {} more class pairs: --out FILE or --format json has them all", count - LINES);
    }
    text.push('\n');
    text
}

/// A number as it is read back, and a question mark for none.
fn float(x: Option<f64>) -> String {
    x.map_or_else(|| "?".to_string(), |x| format!("{x:?}"))
}

/// The number, or the interval that is known.
pub fn interval<A: Tabled>(margin: &MarginRecord, minimum: Option<&Minimum<A>>) -> String {
    match margin.lower == margin.upper || minimum.is_some() {
        true => float(margin.lower),
        false => format!("[{}, {}]", float(margin.lower), float(margin.upper)),
    }
}

/// The exact margin where it is short, the float next to it (marked) where it is not, or the interval that is known.
pub fn fraction<A: Tabled>(margin: &MarginRecord, minimum: Option<&Minimum<A>>) -> String {
    match minimum.map(|minimum| minimum.margin.to_string()) {
        Some(fraction) if fraction.len() <= FRACTION => fraction,
        Some(_) if margin.lower != margin.upper => format!("{}…", float(margin.lower)),
        _ => interval(margin, minimum),
    }
}

/// The first of some flips.
pub fn flips(flips: &[gcnproof::Flip]) -> String {
    let shown: Vec<String> = flips.iter().take(FLIPS).map(|f| format!("({}, {})", f.node, f.attribute)).collect();
    let more = if flips.len() > FLIPS { " …" } else { "" };
    format!("{}: {}{more}", flips.len(), shown.join(" "))
}
