//! Proofs about ranges: the program's own under headers that permit more, tampered with, and forged. What is accepted
//! must be true.

use std::path::Path;

use gcnproof::Ranges;
use gcnproof_check::format::{Header, Line, Number, RangeClaim, RangeLimits, RangeNodeProof, RangesStatement};
use gcnproof_check::ranges::{Checker, Statement};
use gcnproof_check::{Dyadic, RangeJudge};
use gcnproof_files::{GraphFile, ModelFile};
use serde_json::{Value, json};

use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::change;
use crate::present::Told;
use crate::random::Random;
use crate::ranges::case::RangeCase;
use crate::ranges::truth::{RangeTruth, truths};
use crate::tested::guard;

/// What proofs are about.
pub struct Shown<'a> {
    pub case: &'a RangeCase,
    pub file: &'a GraphFile,
    pub header: &'a Header,
    /// The program's own proofs.
    pub lines: &'a [Value],
    pub truths: &'a [RangeTruth],
    /// The verified checker, where it is asked as well.
    pub verified: Option<&'a Path>,
}

/// What was found of a proof.
pub struct RangeFound {
    pub kind: Kind,
    pub node: usize,
    pub message: String,
    /// The header that the line was under, `{"header":…}`.
    pub header: Value,
    pub line: Value,
}

/// The verified checker, told about a statement, where it is asked.
pub struct Second<'a> {
    judge: Option<RangeJudge>,
    counts: &'a AreaCounts,
}

impl<'a> Second<'a> {
    /// Tells it what the proofs under a header are about.
    ///
    /// # Errors
    /// If it does not take the statement.
    pub fn start(
        verified: Option<&Path>,
        file: &GraphFile,
        model: &ModelFile,
        header: &Header,
        counts: &'a AreaCounts,
    ) -> Result<Second<'a>, String> {
        let judge = verified.map(|program| RangeJudge::start(program, file, model, header, &[])).transpose()?;
        Ok(Second { judge, counts })
    }

    /// What is wrong with what it says of a proof that the other checker accepts or not, and that is true or not.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn ask(
        &mut self,
        proof: &RangeNodeProof,
        accepted: bool,
        truth: bool,
    ) -> Result<Option<(Kind, String)>, String> {
        let Some(judge) = &mut self.judge else { return Ok(None) };
        let told = Told::from(judge.ask(proof)?);
        Counts::add(&self.counts.verified, 1);
        Counts::add(&self.counts.confirmed, usize::from(matches!(told, Told::Shown(_))));
        Ok(told.wrong(accepted, truth))
    }
}

/// Shows false and damaged proofs under the own header or another one; what is found of which node.
///
/// # Errors
/// If the checker panics or does not take a header.
pub fn tamper(shown: &Shown, random: &mut Random, counts: &AreaCounts) -> Result<Vec<RangeFound>, String> {
    let mut found = Vec::new();
    let other = random.percent(50).then(|| enlarged(shown.case, shown.header, random)).flatten();
    // Budgets and ranges whose truth takes too long are left out.
    let other = other.and_then(|(case, header)| Some((truths(&case)?, case, header)));
    let (case, header, truths) = match &other {
        Some((truths, case, header)) => (case, header, truths.as_slice()),
        None => (shown.case, shown.header, shown.truths),
    };
    let model = &case.changes.model;
    let statement = Statement::new(shown.file, model, header, &[]).map_err(|reason| reason.to_string())?;
    let checker = Checker::new(&statement, false);
    let mut second = Second::start(shown.verified, shown.file, model, header, counts)?;
    for _ in 0..5 {
        let line = forged(case, shown.lines, truths, random);
        let Ok(Line::Ranged(proof)) = Line::read(line.to_string().as_bytes(), usize::MAX) else { continue };
        Counts::add(&counts.shown, 1);
        let is_true = is_true(&proof, truths);
        Counts::add(&counts.false_claims, usize::from(!is_true));
        let accepted = guard(|| checker.check(&proof))?.is_ok();
        let about = format!("{line} {:?} {} {:?}", case.ranges, case.global, case.local);
        let mut report = |kind: Kind, message: String| {
            let (header, line) = (json!({ "header": header }), line.clone());
            found.push(RangeFound { kind, node: proof.id as usize, message, header, line });
        };
        if let Some((kind, message)) = second.ask(&proof, accepted, is_true)? {
            report(kind, format!("{message}: {about}"));
        }
        if accepted {
            Counts::add(&counts.accepted, 1);
            if !is_true {
                report(Kind::Accepted, format!("accepted, and false: {about}"));
            }
        }
    }
    Ok(found)
}

/// Is the claim of a proof true?
pub fn is_true(proof: &RangeNodeProof, truths: &[RangeTruth]) -> bool {
    truths.get(proof.id as usize).is_some_and(|truth| {
        let robust = matches!(proof.claim, RangeClaim::Robust(_));
        truth.predicted == proof.class as usize && truth.robust() == robust
    })
}

/// Budgets and ranges that permit more, and the header that states them.
pub fn enlarged(case: &RangeCase, header: &Header, random: &mut Random) -> Option<(RangeCase, Header)> {
    let mut case = case.clone();
    let mut stated = serde_json::to_value(header).ok()?;
    let mut more = || random.pick(&[0.0, 0.0625, 0.25, 1.0]);
    let number = |x: f64| Dyadic::from_bits(x.to_bits()).map(Number);
    let numbers = |list: &[f64]| list.iter().map(|&x| number(x)).collect::<Option<Vec<Number>>>();
    let ranges = match &mut case.ranges {
        Ranges::Ball(radius) => {
            *radius += more();
            RangesStatement::Epsilon(number(*radius)?)
        }
        Ranges::Between { low, high } => {
            low.iter_mut().for_each(|x| *x -= more());
            high.iter_mut().for_each(|x| *x += more());
            RangesStatement::Between(RangeLimits { low: numbers(low)?, high: numbers(high)? })
        }
    };
    match random.below(4) {
        0 => case.global += 1,
        1 => case.local.iter_mut().for_each(|q| *q = q.saturating_add(1)),
        2 => case.frozen.clear(),
        _ => {}
    }
    stated["ranges"] = serde_json::to_value(ranges).ok()?;
    stated["budget"]["global"] = json!(case.global);
    stated["budget"]["local"] = json!(case.local);
    stated["budget"]["frozen_attributes"] = json!(case.frozen);
    Some((case, serde_json::from_value(stated).ok()?))
}

/// A line of the program's own, damaged or not, or one that is made up.
pub fn forged(case: &RangeCase, lines: &[Value], truths: &[RangeTruth], random: &mut Random) -> Value {
    if !lines.is_empty() && random.percent(65) {
        let mut line = lines[random.below(lines.len())].clone();
        match random.below(8) {
            0 => {}
            1 => line["ranged"]["id"] = json!(random.below(case.changes.nodes())),
            2 => line["ranged"]["class"] = json!(random.below(2)),
            _ => (0..1 + random.below(2)).for_each(|_| change(&mut line["ranged"]["claim"], random)),
        }
        return line;
    }
    let node = random.below(truths.len());
    let truth = &truths[node];
    let trees = (0..truth.margins.len()).filter(|&class| class != truth.predicted).map(|class| {
        let mut tree = Vec::new();
        grow(case, 3, random, &mut tree);
        json!({ "class": class, "tree": tree })
    });
    let trees: Vec<Value> = trees.collect();
    json!({ "ranged": { "id": node, "class": truth.predicted, "claim": { "robust": trees } } })
}

/// A hidden unit: representation, node, unit.
fn unit(case: &RangeCase, random: &mut Random) -> [usize; 3] {
    let layers = &case.changes.model.layers;
    let l = 2 + random.below(layers.len().saturating_sub(1).max(1));
    [l, random.below(case.changes.nodes()), random.below(layers[l - 2].weight.columns)]
}

/// A tree by chance: splits of all kinds, and lines.
fn grow(case: &RangeCase, depth: usize, random: &mut Random, tree: &mut Vec<Value>) {
    if depth == 0 || random.percent(45) {
        let mut named: Vec<[usize; 3]> = (0..random.below(4)).map(|_| unit(case, random)).collect();
        named.sort_unstable();
        named.dedup();
        let (mut slopes, mut prices) = (Vec::new(), Vec::new());
        for [l, node, unit] in named {
            let list = if random.percent(60) { &mut slopes } else { &mut prices };
            list.push(json!([l, node, unit, random.pick(&["0p0", "1p-2", "1p0", "15p-1"])]));
        }
        tree.push(json!({ "lines": { "slopes": slopes, "prices": prices } }));
        return;
    }
    let (node, attribute) = (random.below(case.values.len()), random.below(case.values[0].len().max(1)));
    tree.push(match random.below(3) {
        0 => json!({ "unit": unit(case, random) }),
        1 => json!({ "entry": [node, attribute] }),
        _ => json!({ "value": [node, attribute, format!("{}p-3", random.between(-16, 16))] }),
    });
    grow(case, depth - 1, random, tree);
    grow(case, depth - 1, random, tree);
}
