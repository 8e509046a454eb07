//! Proofs of false things about removed edges: own proofs tampered with, trees made up and improved on the bound that
//! the checker reports, own proofs under other headers and on other graphs and models. Each is shown to both kinds of
//! arithmetic, which must agree, and what is accepted must be true.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::path::Path;

use gcnproof_check::EdgeJudge;
use gcnproof_check::edges::format::{Header, Line};
use gcnproof_check::edges::{Checker, Statement};
use serde_json::{Value, json};

use crate::claim::{Claimed, locals, pairs};
use crate::edges::case::{Edge, EdgeCase, Removable};
use crate::edges::keep;
use crate::edges::network::EdgeRule;
use crate::edges::program::EdgeProgram;
use crate::edges::truth::{EdgeOracle, EdgeTruth, count};
use crate::finding::{AreaCounts, Kind};
use crate::mutate::change;
use crate::numbers::step;
use crate::present::{Asked, Forger, Presenter, Told, Trees, answers, both};
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::tested::{How, guard};
use crate::truth::Robust;
use crate::variant::{toggle_attribute, toggle_edge};

/// Tampered proofs, forged proofs, headers and variants tried for one component.
const ROUNDS: [usize; 4] = [16, 20, 3, 2];

/// Sets that the verified checker lists for a proof, at most.
const MOST_SETS: u64 = 500;

/// Is the claim of a line true? Anything that is not understood is not.
fn is_true(oracle: &EdgeOracle, truths: &[EdgeTruth], case: &EdgeCase, line: &Value) -> Option<bool> {
    let Claimed { id, reference, witness } =
        Claimed::read(line, "edges", case.classes(), |id| truths.get(id)?.of.reference)?;
    let Some((class, edges)) = witness else { return truths[id].robust() };
    let edges: Vec<Edge> = pairs(edges)?;
    let admitted = case.admits(&edges).is_ok();
    Some(admitted && oracle.margin(id, reference, class, &edges).sign() != Ordering::Greater)
}

/// Runs `act` with the checkers of a case under a header and who shows them lines, if the checker takes it.
fn with_checkers(
    case: &EdgeCase,
    truths: &[EdgeTruth],
    header: &Header,
    verified: Option<&Path>,
    counts: &AreaCounts,
    act: impl FnOnce(&[Checker; 2], &Presenter),
) {
    let Ok(Ok(statement)) = guard(|| Statement::new(&case.graph, &case.model, header)) else { return };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let oracle = EdgeOracle::new(case);
    let judge = verified.map(|program| EdgeJudge::start(program, &case.graph, &case.model, header).map(RefCell::new));
    let header = json!({ "header": header });
    let read = |text: &str| match Line::read(text.as_bytes(), usize::MAX) {
        Ok(Line::Node(proof)) => Some(proof),
        _ => None,
    };
    let asked = judge.as_ref().map(|judge| {
        move |text: &str| match (judge, read(text)) {
            (Ok(judge), Some(proof)) => judge.borrow_mut().ask(&proof, MOST_SETS).map(Told::from),
            (Ok(_), None) => Ok(Told::Rejected),
            (Err(problem), _) => Err(problem.clone()),
        }
    });
    let presenter = Presenter {
        check: &|text| answers(|| read(text), |proof| both(&checkers, proof, |checker, proof| checker.check(proof))),
        verified: asked.as_ref().map(|ask| ask as &Asked),
        is_true: &|line| is_true(&oracle, truths, case, line).unwrap_or(false),
        robust: &truths.iter().map(|truth| truth.of.known()).collect::<Vec<Robust>>(),
        keep: &|kind, node, message, line| {
            keep::record(case, How::Complete, Wrong::new(kind, node, message), Some((&header, line)))
        },
        counts,
    };
    act(&checkers, &presenter);
}

/// Attacks the checker with proofs about one component.
pub fn attack(
    case: &EdgeCase,
    truths: &[EdgeTruth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let how = random.pick(&[How::Complete, How::Complete, How::Best]);
    let Ok(program) = EdgeProgram::new(case, how) else { return };
    let mut lines = Vec::new();
    with_checkers(case, truths, &program.header, verified, counts, |checkers, presenter| {
        for (node, truth) in truths.iter().enumerate() {
            let Some(reference) = truth.of.reference else { continue };
            let result = guard(|| program.certifier.for_class(node, reference));
            let Ok(Ok(result)) = result else { continue };
            if let Ok(Line::Node(proof)) = guard(|| program.certifier.proof_line(&result, &checkers[0]).into_line()) {
                lines.push(json!({ "node": proof }));
            }
        }
        for line in &lines {
            presenter.show(line, found);
        }
        let forger = Forger { lines: &lines, robust: presenter.robust, classes: case.classes(), trees: case };
        forger.tamper(ROUNDS[0], random, &mut |line, _| presenter.show(line, found));
        for _ in 0..2 {
            forger.forge(ROUNDS[1], random, &mut |line, _| presenter.show(line, found));
        }
    });
    if lines.is_empty() {
        return;
    }
    for _ in 0..ROUNDS[2] {
        let mut other = case.clone();
        let header = other_header(&mut other, &program.header, random);
        transplant(&other, &header, &lines, verified, counts, found);
    }
    for _ in 0..ROUNDS[3] {
        let other = varied(case, random);
        transplant(&other, &program.header, &lines, verified, counts, found);
    }
}

impl Trees for EdgeCase {
    fn split(&self, tree: &mut Vec<Value>, random: &mut Random) {
        split(tree, self, random);
    }

    fn leaf(&self, node: usize, random: &mut Random) -> Value {
        if random.percent(30) { json!({ "singles": {} }) } else { leaf(self, node, random) }
    }

    fn is_leaf(&self, step: &Value) -> bool {
        step.get("edge").is_none()
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
        header.message_passing.iter().map(|name| EdgeRule::named(name)).collect::<Option<Vec<EdgeRule>>>()?;
        other.rules = header.message_passing.clone();
    }
    let edges = value.get("edges")?;
    let frozen = edges.get("frozen").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    other.budget = Removable {
        global: edges.get("global")?.as_u64()?,
        local: locals(edges.get("local")?, case.nodes())?,
        keep_one: edges.get("keep_one")?.as_bool()?,
        frozen: pairs(frozen)?.into_iter().collect(),
    };
    other.labels = value.get("classes")?.as_str()? == "labels";
    Some(other)
}

/// Own lines under another header or on another case.
fn transplant(
    case: &EdgeCase,
    header: &Header,
    lines: &[Value],
    verified: Option<&Path>,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let Ok(Ok(_)) = guard(|| Statement::new(&case.graph, &case.model, header).map(|_| ())) else { return };
    let Some(case) = under(case, header) else {
        let message = "the checker takes a header that does not fit the files".into();
        let line = lines[0].to_string();
        let proof = (&json!({ "header": header }), line.as_str());
        found.push(keep::record(case, How::Complete, Wrong::new(Kind::Accepted, 0, message), Some(proof)));
        return;
    };
    if count(&case, 0..case.nodes(), 1500) >= 1500 {
        return;
    }
    let truths = EdgeOracle::new(&case).all();
    with_checkers(&case, &truths, header, verified, counts, |_, presenter| {
        for line in lines {
            presenter.show(line, found);
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
        1 => toggle_attribute(&mut other.graph, random),
        _ => toggle_edge(&mut other.graph, random),
    }
    other
}
