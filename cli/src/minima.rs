//! The table of `certify --minimize`: the worst-case margin of every class pair, and the flips that attain it.

use std::collections::BTreeMap;
use std::fmt::Write;

use gcnproof::Minimum;
use gcnproof_results::record::{MarginRecord, NodeRecord};

/// Lines shown; a file holds them all.
const LINES: usize = 60;

/// Flips shown of one attack.
const FLIPS: usize = 4;

/// Characters of a fraction that is still readable.
const FRACTION: usize = 24;

/// The table. `found` holds the exact minima of the nodes that this run has worked on.
pub fn table(rows: &[NodeRecord], found: &BTreeMap<u64, Vec<Option<Minimum>>>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:>8}  {:<9}{:<32}flips (node, attribute)", "node", "classes", "worst-case margin");
    let count: usize = rows.iter().map(|row| row.margins.len()).sum();
    let pairs = rows.iter().flat_map(|row| row.margins.iter().enumerate().map(move |(at, margin)| (row, at, margin)));
    for (row, at, margin) in pairs.take(LINES) {
        let minimum = found.get(&row.node).and_then(|minima| minima.get(at)?.as_ref());
        let classes = format!("{} – {}", row.reference, margin.class);
        let flips = minimum.map_or_else(String::new, |minimum| flips(&minimum.changes));
        let _ = writeln!(text, "{:>8}  {classes:<9}{:<32}{flips}", row.node, value(margin, minimum));
    }
    if count > LINES {
        let _ = writeln!(text, "… and {} more class pairs: --out FILE or --format json has them all", count - LINES);
    }
    text.push('\n');
    text
}

/// The exact margin where it is short, the float next to it (marked) where it is not, or the interval that is known.
fn value(margin: &MarginRecord, minimum: Option<&Minimum>) -> String {
    let float = |x: Option<f64>| x.map_or_else(|| "?".to_string(), |x| format!("{x:?}"));
    match (minimum.map(|minimum| minimum.margin.to_string()), margin.lower == margin.upper) {
        (Some(fraction), _) if fraction.len() <= FRACTION => fraction,
        (Some(_), exact) => format!("{}{}", float(margin.lower), if exact { "" } else { "…" }),
        (None, true) => float(margin.lower),
        (None, false) => format!("[{}, {}]", float(margin.lower), float(margin.upper)),
    }
}

fn flips(flips: &[gcnproof::Flip]) -> String {
    let shown: Vec<String> = flips.iter().take(FLIPS).map(|f| format!("({}, {})", f.node, f.attribute)).collect();
    let more = if flips.len() > FLIPS { " …" } else { "" };
    format!("{}: {}{more}", flips.len(), shown.join(" "))
}
