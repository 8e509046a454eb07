//! Makes a finding smaller while it stays one: fewer nodes, attributes, units, classes, layers, and simpler numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gcnproof_check::Checker;
use gcnproof_check::format::NodeProof;
use gcnproof_files::DenseMatrix;
use serde_json::{Value, json};

use crate::case::{Case, Rule, Way, pattern};
use crate::claim::is_true;
use crate::finding::{Counts, Finding, Kind};
use crate::network::Flips;
use crate::solve::solve;
use crate::stage::certify;
use crate::tested::{Tested, guard};
use crate::variant::without_entry;

/// The finding again, on this case; `None` if there is nothing wrong of this kind.
pub fn again(finding: &Finding, case: Case) -> Option<Finding> {
    if case.nodes() == 0 || Flips::new(&case, 0..case.nodes()).count(5000) >= 5000 {
        return None;
    }
    let counts = Counts::default();
    let truths = solve(&case, &counts);
    let Some((_, line)) = &finding.proof else {
        let found = certify(&case, finding.how, &truths, &counts);
        return found.into_iter().find(|one| one.kind == finding.kind);
    };
    let tested = Tested::new(&case).ok()?;
    let statement = tested.statement(&tested.header).ok()?;
    let fast = guard(|| Checker::new(&statement, false)).ok()?;
    let exact = guard(|| Checker::new(&statement, true)).ok()?;
    let proof = guard(|| line.parse::<NodeProof>()).ok()?.ok()?;
    let rounded = guard(|| fast.check(&proof));
    let persists = match (finding.kind, &rounded) {
        (Kind::Crash, rounded) => rounded.is_err() || guard(|| exact.check(&proof)).is_err(),
        (Kind::Accepted, Ok(Ok(_))) => {
            let value: Value = serde_json::from_str(line).ok()?;
            !is_true(&case, &truths, &value)
        }
        (Kind::Disagreement, Ok(rounded)) => {
            guard(|| exact.check(&proof)).is_ok_and(|exactly| exactly.is_ok() != rounded.is_ok())
        }
        _ => false,
    };
    let header = json!({ "header": tested.header }).to_string();
    persists.then(|| Finding { proof: Some((header, line.clone())), case: case.clone(), ..finding.clone() })
}

/// The smallest form of a finding that is reached in this time.
pub fn shrink(finding: Finding, time: Duration) -> Finding {
    let end = Instant::now() + time;
    let Some(mut best) = again(&finding, finding.case.clone()) else { return finding };
    loop {
        let mut improved = false;
        let mut step = 0;
        while let Some(candidate) = candidate(&best, step) {
            if Instant::now() >= end {
                return best;
            }
            match candidate.and_then(|case| again(&best, case)) {
                Some(smaller) => {
                    best = smaller;
                    improved = true;
                }
                None => step += 1,
            }
        }
        if !improved {
            return best;
        }
    }
}

/// The candidate of a number; `None` after the last, `Some(None)` where a number does not apply.
fn candidate(finding: &Finding, step: usize) -> Option<Option<Case>> {
    let case = &finding.case;
    let own = finding.proof.is_none();
    let mut step = step;
    let mut take = |count: usize| {
        if step < count {
            Some(step)
        } else {
            step -= count;
            None
        }
    };
    // A proof names nodes, attributes and units by number: there only the numbers of the model are changed.
    let structural = usize::from(own);
    if let Some(node) = take(case.nodes() * structural) {
        let keep: Vec<usize> = (0..case.nodes()).filter(|&n| n != node).collect();
        return Some(Some(case.only(&keep)));
    }
    if let Some(attribute) = take(case.attributes() * structural) {
        return Some((case.attributes() > 1).then(|| without_attribute(case, attribute)));
    }
    if let Some(layer) = take(case.layers().len() * structural) {
        return Some(without_layer(case, layer));
    }
    for layer in 0..case.layers().len() {
        let width = case.layers()[layer].bias.len();
        if let Some(unit) = take(width * structural) {
            let least = if layer + 1 == case.layers().len() { 2 } else { 1 };
            return Some((width > least).then(|| without_unit(case, layer, unit)));
        }
    }
    if let Some(place) = take(case.graph.attributes.indices.len() + case.nodes() * 2 + 4) {
        return Some(simpler_statement(case, place));
    }
    if let Some(place) = take(case.graph.adjacency.indices.len()) {
        return Some(without_edge(case, place));
    }
    for number in 0..case.rules.len() {
        if let Rule::Matrix(matrix) = &case.rules[number] {
            if let Some(place) = take(matrix.values.len() * 4) {
                return Some(simpler_matrix(case, number, place));
            }
        } else if take(1).is_some() {
            let mut other = case.clone();
            other.rules[number] = Rule::Named("identity");
            return Some((!matches!(case.rules[number], Rule::Named("identity"))).then_some(other));
        }
    }
    for number in 0..case.layers().len() {
        let weights = case.layers()[number].weight.values.len();
        let all = weights + case.layers()[number].bias.len();
        if let Some(place) = take(all * 4) {
            let mut other = case.clone();
            let layer = &mut other.model.layers[number];
            let (at, way) = (place / 4, place % 4);
            let value = if at < weights { &mut layer.weight.values[at] } else { &mut layer.bias[at - weights] };
            let simple = simpler(*value, way);
            let same = simple == *value;
            *value = simple;
            return Some((!same).then_some(other));
        }
    }
    None
}

/// A simpler number: 0, ±1, few digits, or the power of two below.
fn simpler(x: f64, way: usize) -> f64 {
    match way {
        _ if x == 0.0 => x,
        0 => 0.0,
        1 if x.abs() != 1.0 => x.signum(),
        2 if x.fract() != 0.0 => x.round(),
        3 => f64::from_bits(x.to_bits() & !((1 << 40) - 1)),
        _ => x,
    }
}

fn without_attribute(case: &Case, attribute: usize) -> Case {
    let mut other = case.clone();
    let gone = attribute as u32;
    let rows: Vec<Vec<u32>> = (0..case.nodes())
        .map(|n| {
            let kept = case.graph.attributes.row(n).iter().filter(|&&d| d != gone);
            kept.map(|&d| if d > gone { d - 1 } else { d }).collect()
        })
        .collect();
    other.graph.attributes = pattern(case.attributes() - 1, &rows);
    other.budget.frozen.remove(attribute);
    let weight = &mut other.model.layers[0].weight;
    *weight = rows_of(weight, |i| i != attribute);
    other
}

fn rows_of(weight: &DenseMatrix, keep: impl Fn(usize) -> bool) -> DenseMatrix {
    let kept: Vec<usize> = (0..weight.rows).filter(|&i| keep(i)).collect();
    let values = kept.iter().flat_map(|&i| weight.row(i).iter().copied()).collect();
    DenseMatrix { rows: kept.len(), columns: weight.columns, values }
}

fn without_unit(case: &Case, layer: usize, unit: usize) -> Case {
    let mut other = case.clone();
    let this = &mut other.model.layers[layer];
    this.weight = rows_of(&this.weight.transpose(), |j| j != unit).transpose();
    this.bias.remove(unit);
    if let Some(next) = other.model.layers.get_mut(layer + 1) {
        next.weight = rows_of(&next.weight, |i| i != unit);
    }
    let classes = other.classes() as u32;
    if let Some(labels) = &mut other.graph.labels {
        labels.iter_mut().for_each(|label| *label = label.filter(|&label| label < classes));
    }
    other
}

fn without_layer(case: &Case, layer: usize) -> Option<Case> {
    let weight = &case.layers()[layer].weight;
    if case.layers().len() < 2 || weight.rows != weight.columns {
        return None;
    }
    let mut other = case.clone();
    other.model.layers.remove(layer);
    other.rules.remove(layer);
    Some(other)
}

/// Fewer attributes present, smaller budgets, no special statement.
fn simpler_statement(case: &Case, place: usize) -> Option<Case> {
    let mut other = case.clone();
    let nodes = case.nodes();
    match place {
        0 => {
            other.budget.global = case.budget.global.min(4).checked_sub(1)?;
        }
        1 => {
            other.budget.way = Way::Both;
            return (case.budget.way != Way::Both).then_some(other);
        }
        2 => {
            other.budget.frozen.fill(false);
            return case.budget.frozen.contains(&true).then_some(other);
        }
        3 => {
            (other.labels, other.graph.labels) = (false, None);
            return (case.labels || case.graph.labels.is_some()).then_some(other);
        }
        at if at < 4 + 2 * nodes => {
            let local = &mut other.budget.local[(at - 4) / 2];
            let smaller = if at % 2 == 0 { 0 } else { 1 };
            if *local <= smaller {
                return None;
            }
            *local = smaller;
        }
        at => {
            let at = at - 4 - 2 * nodes;
            let mut count = 0;
            let rows: Vec<Vec<u32>> = (0..nodes)
                .map(|n| {
                    let kept = case.graph.attributes.row(n).iter().copied().filter(|_| {
                        count += 1;
                        count - 1 != at
                    });
                    kept.collect()
                })
                .collect();
            other.graph.attributes = pattern(case.attributes(), &rows);
        }
    }
    Some(other)
}

fn without_edge(case: &Case, place: usize) -> Option<Case> {
    let m = case.graph.adjacency.offsets.partition_point(|&offset| offset <= place) - 1;
    let n = case.graph.adjacency.indices[place] as usize;
    let row = |i: usize| -> Vec<u32> {
        let dropped = |j: u32| (i == m && j as usize == n) || (i == n && j as usize == m);
        case.graph.adjacency.row(i).iter().copied().filter(|&j| !dropped(j)).collect()
    };
    let mut other = case.clone();
    other.graph.adjacency = pattern(case.nodes(), &(0..case.nodes()).map(row).collect::<Vec<_>>());
    Some(other)
}

fn simpler_matrix(case: &Case, number: usize, place: usize) -> Option<Case> {
    let Rule::Matrix(matrix) = &case.rules[number] else { return None };
    let (at, way) = (place / 4, place % 4);
    let mut other = case.clone();
    let mut simple = if way == 0 { without_entry(matrix, at) } else { (**matrix).clone() };
    if way > 0 {
        let value = simpler(simple.values[at], way);
        if value == simple.values[at] || value == 0.0 {
            return None;
        }
        simple.values[at] = value;
    }
    other.rules[number] = Rule::Matrix(Arc::new(simple));
    Some(other)
}
