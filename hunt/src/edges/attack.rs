//! Proofs of false things about removed edges: own proofs tampered with, trees made up and improved on the bound that the checker
//! reports, own proofs under other headers and on other graphs and models. Each is shown to both kinds of arithmetic, which must
//! agree, and what is accepted must be true.

use std::cmp::Ordering;

use gcnproof_check::Reason;
use gcnproof_check::edges::format::{Header, Line};
use gcnproof_check::edges::{Checker, Statement};
use serde_json::{Value, json};

use crate::case::pattern;
use crate::edges::case::{Edge, EdgeCase, Removable};
use crate::edges::keep;
use crate::edges::network::Rule;
use crate::edges::program::Program;
use crate::edges::truth::{EdgeOracle, EdgeTruth, count};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::change;
use crate::numbers::step;
use crate::player::{How, guard};
use crate::random::Random;
use crate::record::Record;

/// Tampered proofs, forged proofs, headers and variants tried for one component.
const ROUNDS: [usize; 4] = [16, 20, 3, 2];

/// A statement with its two checkers and the truth about it.
struct Ring<'a> {
    case: &'a EdgeCase,
    oracle: EdgeOracle<'a>,
    truths: &'a [EdgeTruth],
    header: &'a Value,
    checkers: [Checker<'a>; 2],
    counts: &'a AreaCounts,
}

impl Ring<'_> {
    /// Shows a line; returns the bound that it was rejected for where there is one, `None` if it was accepted.
    fn show(&self, line: &Value, found: &mut Vec<Record>) -> Option<f64> {
        let text = line.to_string();
        let mut report = |kind: Kind, message: String| {
            let node = line["node"]["id"].as_u64().unwrap_or(0).min(self.case.nodes() as u64 - 1) as usize;
            found.push(keep::record(self.case, How::Complete, (kind, node, message), Some((self.header, &text))));
        };
        Counts::add(&self.counts.shown, 1);
        let proof = match guard(|| Line::read(text.as_bytes(), usize::MAX)) {
            Ok(Ok(Line::Node(proof))) => proof,
            Ok(_) => return Some(f64::NEG_INFINITY),
            Err(problem) => {
                report(Kind::Crash, format!("reader: {problem}"));
                return Some(f64::NEG_INFINITY);
            }
        };
        let truth = self.is_true(line).unwrap_or(false);
        Counts::add(&self.counts.false_claims, usize::from(!truth));
        let answers = self.checkers.each_ref().map(|checker| guard(|| checker.check(&proof)));
        let [rounded, exactly] = match answers {
            [Ok(rounded), Ok(exactly)] => [rounded, exactly],
            [Err(problem), _] | [_, Err(problem)] => {
                report(Kind::Crash, format!("checker: {problem}"));
                return Some(f64::NEG_INFINITY);
            }
        };
        if rounded.is_ok() != exactly.is_ok() {
            report(Kind::Disagreement, format!("rounded {rounded:?}, exactly {exactly:?}"));
        }
        if (rounded.is_ok() || exactly.is_ok()) && !truth {
            report(Kind::Accepted, format!("accepted (rounded {rounded:?}, exactly {exactly:?}), which is false"));
        }
        match exactly {
            Ok(_) => {
                Counts::add(&self.counts.accepted, 1);
                None
            }
            Err(fault) => Some(match fault.reason {
                Reason::Bound(bound) => bound.upper.to_f64(),
                _ => f64::NEG_INFINITY,
            }),
        }
    }

    /// Is the claim of a line true? Anything that is not understood is not.
    fn is_true(&self, line: &Value) -> Option<bool> {
        let node = line.get("node")?;
        let id = node.get("id")?.as_u64()? as usize;
        let truth = self.truths.get(id)?;
        let reference = truth.of.reference?;
        if reference as u64 != node.get("class")?.as_u64()? {
            return Some(false);
        }
        let claim = node.get("claim")?;
        if claim.get("robust").is_some() {
            return truth.robust();
        }
        let witness = claim.get("non_robust")?;
        let class = witness.get("class")?.as_u64()? as usize;
        if class >= self.case.classes() || class == reference {
            return Some(false);
        }
        let edge = |edge: &Value| {
            Some((u32::try_from(edge.get(0)?.as_u64()?).ok()?, u32::try_from(edge.get(1)?.as_u64()?).ok()?))
        };
        let edges: Vec<Edge> = witness.get("edges")?.as_array()?.iter().map(edge).collect::<Option<_>>()?;
        if self.case.admits(&edges).is_err() {
            return Some(false);
        }
        Some(self.oracle.margin(id, reference, class, &edges).sign() != Ordering::Greater)
    }
}

/// Runs `act` with the checkers of a case under a header, if the checker takes it.
fn with_ring((case, truths): (&EdgeCase, &[EdgeTruth]), header: &Header, counts: &AreaCounts, act: impl FnOnce(&Ring)) {
    let Ok(Ok(statement)) = guard(|| Statement::new(&case.graph, &case.model, header)) else { return };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let header = json!({ "header": header });
    act(&Ring { case, oracle: EdgeOracle::new(case), truths, header: &header, checkers, counts });
}

/// Attacks the checker with proofs about one component.
pub fn attack(
    case: &EdgeCase,
    truths: &[EdgeTruth],
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let how = random.pick(&[How::Complete, How::Complete, How::Best]);
    let Ok(program) = Program::new(case, how) else { return };
    let mut lines = Vec::new();
    with_ring((case, truths), &program.header, counts, |ring| {
        for (node, truth) in truths.iter().enumerate() {
            let Some(reference) = truth.of.reference else { continue };
            let result = guard(|| program.certifier.for_class(node, reference));
            let Ok(Ok(result)) = result else { continue };
            if let Ok(Line::Node(proof)) =
                guard(|| program.certifier.proof_line(&result, &ring.checkers[0]).into_line())
            {
                lines.push(json!({ "node": proof }));
            }
        }
        tamper(ring, &lines, random, found);
        for _ in 0..2 {
            forge(ring, &lines, random, found);
        }
    });
    if lines.is_empty() {
        return;
    }
    for _ in 0..ROUNDS[2] {
        let mut other = case.clone();
        let header = other_header(&mut other, &program.header, random);
        transplant(&other, &header, &lines, counts, found);
    }
    for _ in 0..ROUNDS[3] {
        let other = varied(case, random);
        transplant(&other, &program.header, &lines, counts, found);
    }
}

/// Own proofs with random changes.
fn tamper(ring: &Ring, lines: &[Value], random: &mut Random, found: &mut Vec<Record>) {
    if lines.is_empty() {
        return;
    }
    for _ in 0..ROUNDS[0] {
        let mut line = lines[random.below(lines.len())].clone();
        match random.below(8) {
            0 => line["node"]["claim"] = lines[random.below(lines.len())]["node"]["claim"].clone(),
            1 => line["node"]["id"] = json!(random.below(ring.case.nodes())),
            2 => {
                if let Some(tree) = one_tree(&mut line, random) {
                    split(tree, ring.case, random);
                }
            }
            3 => {
                // A subtree is lost, or taken from another place.
                if let Some(tree) = one_tree(&mut line, random) {
                    let at = random.below(tree.len());
                    tree.remove(at);
                }
            }
            _ => {}
        }
        if random.percent(80) {
            (0..1 + random.below(3)).for_each(|_| change(&mut line["node"], random));
        }
        ring.show(&line, found);
    }
}

/// Proofs that a node is robust, made up and improved step by step; mostly of nodes that are not.
fn forge(ring: &Ring, lines: &[Value], random: &mut Random, found: &mut Vec<Record>) {
    let fragile: Vec<usize> =
        (0..ring.truths.len()).filter(|&node| ring.truths[node].robust() == Some(false)).collect();
    let node = match fragile.as_slice() {
        [] => random.below(ring.truths.len()),
        some => some[random.below(some.len())],
    };
    let Some(reference) = ring.truths[node].of.reference else { return };
    let own = |random: &mut Random| -> Option<Vec<Value>> {
        let line = lines.get(random.below(lines.len().max(1)))?;
        line["node"]["claim"]["robust"][0]["tree"].as_array().cloned()
    };
    let tree = |random: &mut Random| match own(random) {
        Some(tree) if random.percent(40) => tree,
        _ if random.percent(30) => vec![json!({ "singles": {} })],
        _ => vec![leaf(ring.case, node, random)],
    };
    let claims: Vec<Value> = (0..ring.case.classes())
        .filter(|&class| class != reference)
        .map(|class| json!({ "class": class, "tree": tree(random) }))
        .collect();
    let mut best = json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } });
    let mut bound = f64::NEG_INFINITY;
    for _ in 0..ROUNDS[1] {
        let mut line = best.clone();
        if let Some(tree) = one_tree(&mut line, random) {
            match random.below(10) {
                0..=2 => split(tree, ring.case, random),
                3..=6 => {
                    let leaves: Vec<usize> = (0..tree.len()).filter(|&at| tree[at].get("edge").is_none()).collect();
                    if let Some(&at) = leaves.get(random.below(leaves.len().max(1))) {
                        let singles = random.percent(30);
                        tree[at] = if singles { json!({ "singles": {} }) } else { leaf(ring.case, node, random) };
                    }
                }
                _ => {
                    let at = random.below(tree.len());
                    change(&mut tree[at], random);
                }
            }
        }
        match ring.show(&line, found) {
            None => return,
            Some(reached) if reached >= bound => (best, bound) = (line, reached),
            Some(_) => {}
        }
    }
}

/// A leaf with random prices of a node's surroundings.
fn leaf(case: &EdgeCase, node: usize, random: &mut Random) -> Value {
    let mut prices = json!({});
    if random.percent(80) {
        let number = |random: &mut Random| match random.below(3) {
            0 => json!(random.between(0, 4)),
            _ => json!(format!("{}p{}", random.between(1, 63), random.between(-8, 0))),
        };
        prices["mu"] = (0..1 + random.below(3)).map(|_| number(random)).collect();
    }
    if random.percent(50) {
        let around = |n: usize| case.graph.adjacency.row(n).iter().map(|&m| m as usize).filter(move |&m| m != n);
        let pairs = around(node).flat_map(|m| around(m).filter(|&n| n != node).map(move |n| (m, n)));
        let mut views = Vec::new();
        for (m, n) in pairs {
            if random.percent(60) {
                views.push(json!([m, n, random.between(0, 3), random.between(0, 2)]));
            }
        }
        prices["views"] = json!(views);
    }
    json!({ "prices": prices })
}

/// Puts a split above a tree, with the tree on both sides; or in place of a leaf.
fn split(tree: &mut Vec<Value>, case: &EdgeCase, random: &mut Random) {
    let edges = case.edges(0..case.nodes());
    if edges.is_empty() || tree.len() > 40 {
        return;
    }
    let edge = edges[random.below(edges.len())];
    let split = json!({ "edge": [edge.0, edge.1] });
    let leaves: Vec<usize> = (0..tree.len()).filter(|&at| tree[at].get("edge").is_none()).collect();
    match leaves.get(random.below(leaves.len().max(1))) {
        Some(&at) if random.percent(60) => {
            let leaf = tree[at].clone();
            let second = if random.percent(50) { json!({ "singles": {} }) } else { leaf.clone() };
            tree.splice(at..=at, [split, leaf, second]);
        }
        _ => {
            let copy = tree.clone();
            tree.insert(0, split);
            tree.extend(copy);
        }
    }
}

fn one_tree<'a>(line: &'a mut Value, random: &mut Random) -> Option<&'a mut Vec<Value>> {
    let trees = line["node"]["claim"].get_mut("robust")?.as_array_mut()?;
    let at = random.below(trees.len().max(1));
    trees.get_mut(at)?.get_mut("tree")?.as_array_mut().filter(|tree| !tree.is_empty())
}

/// A header that says something else, and the case that it speaks of.
fn other_header(case: &mut EdgeCase, header: &Header, random: &mut Random) -> Header {
    let mut value = json!(header);
    let edges = case.edges(0..case.nodes());
    match random.below(6) {
        0 => value["edges"]["global"] = json!(random.below(5)),
        1 => value["edges"]["local"] = json!(random.below(4)),
        2 => value["edges"]["keep_one"] = json!(!case.budget.keep_one),
        3 => {
            let some: Vec<Value> = edges.iter().filter(|_| random.percent(40)).map(|(i, j)| json!([i, j])).collect();
            value["edges"]["frozen"] = json!(some);
        }
        4 => value["classes"] = json!(if case.labels { "predicted" } else { "labels" }),
        _ => change(&mut value, random),
    }
    serde_json::from_value(value).unwrap_or_else(|_| header.clone())
}

/// The case that a header speaks of, if it fits the graph and the model.
fn under(case: &EdgeCase, header: &Header) -> Option<EdgeCase> {
    let value = json!(header);
    let mut other = case.clone();
    let named = case.model.layers.iter().any(|layer| !layer.operators.is_empty());
    let operators = |layer: usize| case.operators(layer).join(" & ");
    if header.message_passing.len() != 2
        || named && (0..2).any(|layer| header.message_passing[layer] != operators(layer))
    {
        return None;
    }
    if !named {
        header.message_passing.iter().map(|name| Rule::named(name)).collect::<Option<Vec<Rule>>>()?;
        other.rules = header.message_passing.clone();
    }
    let edges = value.get("edges")?;
    let local = match edges.get("local")? {
        Value::Array(list) => list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?,
        one => vec![one.as_u64()?; case.nodes()],
    };
    let pair = |edge: &Value| Some((edge.get(0)?.as_u64()? as u32, edge.get(1)?.as_u64()? as u32));
    let frozen = edges.get("frozen").and_then(Value::as_array).cloned().unwrap_or_default();
    other.budget = Removable {
        global: edges.get("global")?.as_u64()?,
        local,
        keep_one: edges.get("keep_one")?.as_bool()?,
        frozen: frozen.iter().map(pair).collect::<Option<_>>()?,
    };
    other.labels = value.get("classes")?.as_str()? == "labels";
    (other.budget.local.len() == case.nodes()).then_some(other)
}

/// Own lines under another header or on another case.
fn transplant(case: &EdgeCase, header: &Header, lines: &[Value], counts: &AreaCounts, found: &mut Vec<Record>) {
    let Ok(Ok(_)) = guard(|| Statement::new(&case.graph, &case.model, header).map(|_| ())) else { return };
    let Some(case) = under(case, header) else {
        let message = "the checker takes a header that does not fit the files".into();
        let line = lines[0].to_string();
        let proof = (&json!({ "header": header }), line.as_str());
        found.push(keep::record(case, How::Complete, (Kind::Accepted, 0, message), Some(proof)));
        return;
    };
    if count(&case, 0..case.nodes(), 1500) >= 1500 {
        return;
    }
    let truths = EdgeOracle::new(&case).all();
    with_ring((&case, &truths), header, counts, |ring| {
        for line in lines {
            ring.show(line, found);
        }
    });
}

/// The case with another number, attribute or edge.
fn varied(case: &EdgeCase, random: &mut Random) -> EdgeCase {
    let mut other = case.clone();
    match random.below(3) {
        0 => {
            let layer = &mut other.model.layers[random.below(2)];
            let values = if random.percent(50) { &mut layer.weight.values } else { &mut layer.bias };
            let at = random.below(values.len());
            values[at] = match random.below(4) {
                0 => step(values[at], 1),
                1 => step(values[at], -1),
                2 => -values[at],
                _ => values[at] + random.between(-1, 1) as f64 * 0.5,
            };
        }
        1 => {
            let (node, attribute) = (random.below(case.nodes()), random.below(case.graph.attributes.columns) as u32);
            let mut rows: Vec<Vec<u32>> = (0..case.nodes()).map(|n| case.graph.attributes.row(n).to_vec()).collect();
            match rows[node].binary_search(&attribute) {
                Ok(place) => drop(rows[node].remove(place)),
                Err(place) => rows[node].insert(place, attribute),
            }
            other.graph.attributes = pattern(case.graph.attributes.columns, &rows);
        }
        _ => {
            let (a, b) = (random.below(case.nodes()), random.below(case.nodes()));
            let mut rows: Vec<Vec<u32>> = (0..case.nodes()).map(|n| case.graph.adjacency.row(n).to_vec()).collect();
            let mut turn = |m: usize, n: u32| match rows[m].binary_search(&n) {
                Ok(place) => drop(rows[m].remove(place)),
                Err(place) => rows[m].insert(place, n),
            };
            turn(a, b as u32);
            if a != b {
                turn(b, a as u32);
            }
            other.graph.adjacency = pattern(case.nodes(), &rows);
        }
    }
    other
}
