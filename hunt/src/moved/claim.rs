//! Whether what a line about moved attributes claims of every execution may be true, as far as it is known.

use num_bigint::BigInt;
use serde_json::Value;

use crate::exact::Exact;
use crate::finding::AreaCounts;
use crate::joint::case::Entry;
use crate::moved::known::Known;
use crate::moved::moves::{Moves, contains};
use crate::random::Random;

/// Is nothing known that contradicts the claim of a line? Of what is not understood, something is.
pub fn stands(known: &Known, line: &Value, random: &mut Random, counts: &AreaCounts) -> bool {
    may_stand(known, line, random, counts).unwrap_or(false)
}

fn may_stand(known: &Known, line: &Value, random: &mut Random, counts: &AreaCounts) -> Option<bool> {
    let stated = line.get("ranged")?;
    let node = stated.get("id")?.as_u64()? as usize;
    let reference = known.truths.get(node)?.predicted;
    if stated.get("class")?.as_u64()? as usize != reference {
        return Some(false);
    }
    let claim = stated.get("claim")?;
    if claim.get("robust").is_some() {
        return Some(known.may_be_robust(node));
    }
    let witness = claim.get("non_robust")?;
    let class = witness.get("class")?.as_u64()? as usize;
    if class >= known.case.classes() || class == reference {
        return Some(false);
    }
    let moved = witness.get("entries")?.as_array()?.iter().map(entry).collect::<Option<Vec<(Entry, Exact)>>>()?;
    let case = &known.case.ranges;
    let (nodes, columns) = (case.values.len(), case.changes.graph.attributes.columns);
    let entries: Vec<Entry> = moved.iter().map(|of| of.0).collect();
    let differ = (1..entries.len()).all(|at| !entries[..at].contains(&entries[at]));
    let exist = entries.iter().all(|of| (of.0 as usize) < nodes && (of.1 as usize) < columns);
    if !differ || !exist || !case.admits(&entries) || !moved.iter().all(|(of, value)| contains(case, *of, value)) {
        return Some(false);
    }
    let logits = &known.runs.exact(&moved)[node];
    if logits[reference].compare(&logits[class]).is_ge() {
        return Some(false);
    }
    let moves: Moves = moved.iter().map(|(of, value)| (*of, value.approximate())).collect();
    let is_read = moved.iter().zip(&moves).all(|((_, exact), (_, x))| Exact::from_f64(*x) == *exact);
    // What an execution reads is rounded once: numbers that are no floats would be rounded twice here.
    Some(!is_read || known.fools(node, class, &moves, random, counts))
}

/// `[node, attribute, number]`; numbers are integers or `<integer>p<exponent>`.
fn entry(stated: &Value) -> Option<(Entry, Exact)> {
    let index = |at: usize| u32::try_from(stated.get(at)?.as_u64()?).ok();
    let number = match stated.get(2)? {
        Value::String(text) => {
            let (integer, exponent) = text.split_once('p')?;
            let exponent: i32 = exponent.parse().ok()?;
            // Whatever is larger or smaller is in no range.
            (exponent.abs() < 5_000).then_some(())?;
            Exact { integer: integer.parse().ok()?, exponent }
        }
        integer => Exact { integer: BigInt::from(integer.as_i64()?), exponent: 0 },
    };
    Some(((index(0)?, index(1)?), number))
}
