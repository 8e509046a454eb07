//! Whole proofs made up from the rules of the format: splits at random, hints by climbing, lines of bounds for deep
//! networks.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::climb::Climb;
use crate::evaluate::Whole;
use crate::exact::Exact;
use crate::random::Random;
use crate::rules::{Path, Rules};

/// A tree for one class, and whether every leaf has a positive bound by the rules.
pub fn tree(
    rules: &Rules,
    target: usize,
    reference: usize,
    class: usize,
    known: &Whole,
    random: &mut Random,
) -> (Vec<Value>, bool) {
    let mut steps = Vec::new();
    let mut proved = true;
    let splits = random.pick(&[0, 0, 1, 1, 2]);
    let objective = [(reference, 1), (class, -1)];
    grow(rules, target, &objective, known, Path::default(), splits, random, &mut steps, &mut proved);
    (steps, proved)
}

#[allow(clippy::too_many_arguments)]
fn grow(
    rules: &Rules,
    target: usize,
    objective: &[(usize, i64)],
    known: &Whole,
    path: Path,
    splits: usize,
    random: &mut Random,
    steps: &mut Vec<Value>,
    proved: &mut bool,
) {
    let split = (splits > 0).then(|| split(rules, target, &path, random)).flatten();
    if let Some((step, first, second)) = split {
        steps.push(step);
        for path in [first, second] {
            grow(rules, target, objective, known, path, splits - 1, random, steps, proved);
        }
        return;
    }
    let climb = Climb { rules, target: (rules.depth(), target), objective: objective.to_vec(), path, known };
    let (hints, bound) = climb.climb(8, random);
    *proved &= bound.is_none_or(|bound: Exact| bound.sign() == Ordering::Greater);
    steps.push(json!({ "hints": hints }));
}

/// A split that the path does not have, with the paths on its two sides.
fn split(rules: &Rules, target: usize, path: &Path, random: &mut Random) -> Option<(Value, Path, Path)> {
    let slice = rules.slice(rules.depth(), target);
    let (mut first, mut second) = (path.clone(), path.clone());
    for _ in 0..8 {
        if random.percent(50) && rules.depth() > 2 {
            let layer = 2 + random.below(rules.depth() - 2);
            let nodes: Vec<usize> = slice[layer].iter().copied().collect();
            if nodes.is_empty() {
                continue;
            }
            let unit = (layer, nodes[random.below(nodes.len())], random.below(rules.width(layer)));
            if !path.units.contains_key(&unit) {
                first.units.insert(unit, true);
                second.units.insert(unit, false);
                return Some((json!({ "unit": [unit.0, unit.1, unit.2] }), first, second));
            }
        } else {
            let nodes: Vec<usize> = slice[1].iter().copied().collect();
            if nodes.is_empty() {
                continue;
            }
            let flip = (nodes[random.below(nodes.len())], random.below(rules.case.attributes()));
            if rules.permits(flip.0, flip.1) && !path.made.contains(&flip) && !path.spared.contains(&flip) {
                first.spared.insert(flip);
                second.made.insert(flip);
                return Some((json!({ "flip": [flip.0, flip.1] }), first, second));
            }
        }
    }
    None
}

/// Lines of bounds for all nodes that matter to a target, lowest layer first; what they state is added to `known`.
///
/// # Errors
/// If the rules do not accept a line: then this module is wrong.
pub fn bounds(rules: &Rules, target: usize, known: &mut Whole, random: &mut Random) -> Result<Vec<Value>, String> {
    let mut lines = Vec::new();
    let slice = rules.slice(rules.depth(), target);
    for (layer, nodes) in slice.iter().enumerate().take(rules.depth()).skip(3) {
        for &node in nodes {
            let mut units = Vec::new();
            for unit in 0..rules.width(layer) {
                if random.percent(40) {
                    continue;
                }
                let side = |sign: i64, random: &mut Random| {
                    let climb = Climb {
                        rules,
                        target: (layer, node),
                        objective: vec![(unit, sign)],
                        path: Path::default(),
                        known,
                    };
                    vec![climb.climb(3, random).0]
                };
                units.push(json!([unit, side(1, random), side(-1, random)]));
            }
            let line = json!({ "bounds": { "layer": layer, "node": node, "reach": [], "units": units } });
            rules.bounds(&line, known)?;
            lines.push(line);
        }
    }
    Ok(lines)
}
