//! Admissible moves by chance: entries at the ends of their ranges, or between them.

use gcnproof::NodeResult;

use crate::exact::Exact;
use crate::joint::case::Entry;
use crate::random::Random;
use crate::ranges::case::RangeCase;

/// Entries and the numbers that they become.
pub type Moves = Vec<(Entry, f64)>;

/// One admissible move: of so many entries that no other can be moved as well, or of fewer.
pub fn draw(case: &RangeCase, random: &mut Random) -> Moves {
    let columns = case.changes.graph.attributes.columns as u32;
    let mut left: Vec<Entry> = (0..case.values.len() as u32).flat_map(|n| (0..columns).map(move |d| (n, d))).collect();
    let most = if random.percent(80) { usize::MAX } else { 1 };
    let inside = random.percent(30);
    let mut entries: Vec<Entry> = Vec::new();
    while !left.is_empty() && entries.len() < most.min(case.global) {
        let entry = left.swap_remove(random.below(left.len()));
        let more = [entries.as_slice(), &[entry]].concat();
        if case.admits(&more) {
            entries = more;
        }
    }
    entries.into_iter().map(|entry| (entry, value(case, entry, inside, random))).collect()
}

/// A number inside the range of an entry: near an end, or anywhere.
fn value(case: &RangeCase, entry: Entry, inside: bool, random: &mut Random) -> f64 {
    let [low, high] = case.range(entry);
    let ends = [low.approximate(), high.approximate()];
    let share = if inside { random.unit() } else { random.below(2) as f64 };
    let mut x = ends[0] + share * (ends[1] - ends[0]);
    // Ends need not be floats.
    for _ in 0..4 {
        if Exact::from_f64(x).compare(&low).is_lt() {
            x = x.next_up();
        } else if Exact::from_f64(x).compare(&high).is_gt() {
            x = x.next_down();
        }
    }
    if contains(case, entry, &Exact::from_f64(x)) { x } else { case.values[entry.0 as usize][entry.1 as usize] }
}

/// Is a number in the range of an entry?
pub fn contains(case: &RangeCase, entry: Entry, value: &Exact) -> bool {
    let [low, high] = case.range(entry);
    value.compare(&low).is_ge() && value.compare(&high).is_le()
}

/// What the witness of a result moves.
pub fn changed(result: &NodeResult) -> Moves {
    let values = result.details.values.iter().flatten();
    result.witness.iter().zip(values).map(|(flip, &value)| ((flip.node, flip.attribute), value)).collect()
}
