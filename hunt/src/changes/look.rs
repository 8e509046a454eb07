//! One case of changed edges: verdicts and margins against the truth, and proofs: the program's own, tampered and
//! forged ones.

use std::cmp::Ordering;
use std::path::Path;

use gcnproof::edges::{Edge, EdgeBudget, EdgeCertifier, EdgeKind, EdgeProblem, EdgeResult, edge_header};
use gcnproof::{Graph, Network, Verdict};
use gcnproof_check::EdgeJudge;
use gcnproof_check::edges::format::{Header, Line, NodeProof};
use gcnproof_check::edges::{Checker, Statement};
use gcnproof_check::format::Convention;
use serde_json::{Value, json};

use crate::area::Area;
use crate::changes::case::{Allowed, ChangeCase, Done, Ends, Means};
use crate::changes::keep::files;
use crate::changes::truth::{ChangeTruth, admissible, logits, permitted, truths};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::present::{Told, both};
use crate::random::Random;
use crate::record::Record;
use crate::tested::{How, guard, stopped};

/// A budget as the program takes it.
///
/// # Errors
/// If the program does not take it.
pub fn budget(means: &Means, graph: &Graph) -> Result<EdgeBudget, String> {
    let local: Vec<i64> = means.local.iter().map(|&e| e as i64).collect();
    let pairs = |list: &[Ends]| list.iter().map(|&(i, j)| (i.into(), j.into())).collect::<Vec<(i64, i64)>>();
    let kind = match means.done {
        Done::Remove => EdgeKind::Remove,
        Done::Insert => EdgeKind::Insert,
        Done::Change => EdgeKind::Change,
    };
    let budget = EdgeBudget::per_node(graph, means.global, &local).map_err(|error| error.to_string())?;
    let budget = budget.kind(kind).directed(means.directed).keep_one(means.keep_one);
    let budget = budget.freeze_edges(graph, &pairs(&means.frozen)).map_err(|error| error.to_string())?;
    match &means.allowed {
        Allowed::All => Ok(budget),
        Allowed::Within(hops) => Ok(budget.within(*hops)),
        Allowed::Listed(list) => budget.listed(graph, &pairs(list)).map_err(|error| error.to_string()),
    }
}

/// What one look needs.
struct ChangeLook<'a> {
    case: &'a ChangeCase,
    /// The verified checker, where it is asked as well.
    verified: Option<&'a Path>,
    /// The header that proofs are under, `{"header":…}`.
    header: Value,
    counts: &'a AreaCounts,
    found: Vec<Record>,
}

/// Sets that the verified checker lists for a proof, at most.
const MOST_SETS: u64 = 500;

/// Looks at a case; all proofs are shown to the verified checker as well.
pub fn look(case: &ChangeCase, verified: Option<&Path>, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, 1);
    let mut look = ChangeLook { case, verified, header: Value::Null, counts, found: Vec::new() };
    match guard(|| look.certify(random)) {
        Ok(Ok(())) => {}
        Ok(Err(problem)) | Err(problem) => look.report(Kind::Crash, 0, problem, Value::Null),
    }
    look.found
}

impl ChangeLook<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String, proof: Value) {
        let text = format!("node {node}\n{proof}\n{:#?}\n", self.case);
        let (graph, layers, line) = (&self.case.graph, &self.case.model.layers, proof.to_string());
        let files = files(graph, layers, &self.header, Some(line.as_str()).filter(|_| !proof.is_null()));
        self.found.push(Record { area: Area::Changes, kind, message, files, text });
    }

    fn judge(&self, header: &Header) -> Result<Option<EdgeJudge>, String> {
        self.verified.map(|program| EdgeJudge::start(program, &self.case.graph, &self.case.model, header)).transpose()
    }

    /// Shows a proof that the other checker accepts or not to the verified one.
    fn ask(
        &mut self,
        judge: &mut Option<EdgeJudge>,
        proof: &NodeProof,
        line: &Value,
        accepted: bool,
        truth: bool,
    ) -> Result<(), String> {
        let Some(judge) = judge else { return Ok(()) };
        let told = Told::from(judge.ask(proof, MOST_SETS)?);
        Counts::add(&self.counts.verified, 1);
        Counts::add(&self.counts.confirmed, usize::from(matches!(told, Told::Shown(_))));
        if let Some((kind, message)) = told.wrong(accepted, truth) {
            self.report(kind, proof.id as usize, message, line.clone());
        }
        Ok(())
    }

    fn certify(&mut self, random: &mut Random) -> Result<(), String> {
        let case = self.case;
        let graph = Graph::from_file(case.graph.clone());
        let network = Network::from_file(case.model.clone(), &[], &graph).map_err(|error| error.to_string())?;
        let means = budget(&case.means, &graph)?;
        let header = edge_header(("graph", "model"), (&network, &[]), &means, Convention::Predicted);
        let problem = EdgeProblem::new(graph, network, means).map_err(|error| error.to_string())?;
        let how = random.pick(&[How::Complete, How::Complete, How::Minimize, How::Best]);
        // Lists end most searches of small problems; without them bounds have to.
        let most = random.pick(&[0, 2, 10, 1500]);
        let certifier = EdgeCertifier::new(problem).effort(how.effort()).proofs(true).listing(most).stop(stopped);
        self.header = json!({ "header": header });
        let statement = Statement::new(&case.graph, &case.model, &header).map_err(|reason| reason.to_string())?;
        let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
        let mut judge = self.judge(&header)?;
        let truths = truths(case, &case.means);
        let mut lines: Vec<Value> = Vec::new();
        for (node, truth) in truths.iter().enumerate() {
            let result = match certifier.one(node) {
                Ok(result) => result,
                Err(error) => {
                    self.report(Kind::Crash, node, error.to_string(), Value::Null);
                    continue;
                }
            };
            if stopped() {
                return Ok(());
            }
            Counts::add(&self.counts.nodes, 1);
            if let Some(message) = self.wrong(&result, truth, how) {
                let kind = match result.verdict {
                    Verdict::Undecided if result.limit_hit => Kind::Slow,
                    Verdict::Undecided => Kind::Undecided,
                    _ => Kind::Verdict,
                };
                self.report(kind, node, message, Value::Null);
            }
            let line = certifier.proof_line(&result, &checkers[0]);
            let text = serde_json::to_value(&*line).map_err(|error| error.to_string())?;
            Counts::add(&self.counts.own, 1);
            match &*line {
                Line::Node(proof) => match both(&checkers, proof, |checker, proof| checker.check(proof))? {
                    [Ok(one), Ok(other)] if one == other => {
                        let robust = one == gcnproof_check::Verdict::Robust;
                        self.ask(&mut judge, proof, &text, true, robust == truth.robust())?;
                    }
                    answers => self.report(Kind::Rejected, node, format!("own proof: {answers:?}"), text.clone()),
                },
                _ if result.verdict != Verdict::Undecided => {
                    self.report(Kind::Unproved, node, "a verdict without a proof".into(), text.clone());
                }
                _ => {}
            }
            if text.get("node").is_some() {
                lines.push(text);
            }
        }
        for _ in 0..3 {
            self.tamper(&header, &lines, &truths, random)?;
        }
        Ok(())
    }

    /// What is wrong with a result.
    fn wrong(&self, result: &EdgeResult, truth: &ChangeTruth, how: How) -> Option<String> {
        if result.predicted != truth.predicted {
            return Some(format!("predicted {}, true is {}", result.predicted, truth.predicted));
        }
        let robust = truth.robust();
        match result.verdict {
            Verdict::Robust if !robust => return Some("said to be robust, which is false".into()),
            Verdict::NonRobust if robust => return Some("said to be non-robust, which is false".into()),
            Verdict::Undecided if how.decides() => return Some(format!("undecided, but robust is {robust}")),
            Verdict::NonRobust => {
                let witness: Vec<Ends> = result.witness.iter().map(|&Edge(i, j)| (i, j)).collect();
                if let Some(problem) = self.replay(result.node, truth.predicted, &witness) {
                    return Some(format!("witness {witness:?}: {problem}"));
                }
            }
            _ => {}
        }
        for (margin, minimum) in result.margins.iter().zip(&result.minima) {
            let found = (minimum.as_ref(), truth.margins[margin.class].as_ref());
            if let (Some(minimum), Some(least)) = found
                && least.compare_f64(minimum.margin.floor_f64()) == Ordering::Less
            {
                return Some(format!("the minimum over {} is not attained", margin.class));
            }
            if how == How::Minimize && minimum.is_none() && result.verdict != Verdict::Undecided && !result.limit_hit {
                return Some(format!("no minimum over {}", margin.class));
            }
            let least = truth.margins[margin.class].as_ref()?;
            if least.compare_f64(margin.lower) == Ordering::Less || least.compare_f64(margin.upper) == Ordering::Greater
            {
                let (lower, upper, least) = (margin.lower, margin.upper, least.approximate());
                return Some(format!("the margin over {} is {least:e}, not in [{lower:e}, {upper:e}]", margin.class));
            }
        }
        None
    }

    fn replay(&self, node: usize, reference: usize, witness: &[Ends]) -> Option<String> {
        let (case, may) = (self.case, permitted(self.case, &self.case.means));
        if !witness.iter().all(|edge| may.contains(edge)) || !admissible(case, &case.means, witness) {
            return Some("is not admissible".into());
        }
        let logits = &logits(case, witness)[node];
        let beaten = (0..logits.len()).any(|k| k != reference && logits[reference].compare(&logits[k]).is_le());
        (!beaten).then(|| "keeps the class".into())
    }

    /// Shows a false or damaged proof under its own header or another one: what is accepted must be true.
    fn tamper(
        &mut self,
        header: &Header,
        lines: &[Value],
        own: &[ChangeTruth],
        random: &mut Random,
    ) -> Result<(), String> {
        let case = self.case;
        let mut means = case.means.clone();
        let mut stated = serde_json::to_value(header).map_err(|error| error.to_string())?;
        let other = random.percent(40);
        if other {
            match random.below(4) {
                0 => means.global = (means.global + 1).min(4),
                1 => means.keep_one = !means.keep_one,
                2 => means.frozen.clear(),
                _ => means.local.iter_mut().for_each(|e| *e = (*e).saturating_add(1).min(5)),
            }
            stated["edges"]["global"] = json!(means.global);
            stated["edges"]["keep_one"] = json!(means.keep_one);
            stated["edges"]["local"] = json!(means.local);
            stated["edges"]["frozen"] = json!(means.frozen);
            if means.frozen.is_empty() {
                stated["edges"].as_object_mut().map(|edges| edges.remove("frozen"));
            }
        }
        let stated: Header = serde_json::from_value(stated).map_err(|error| error.to_string())?;
        self.header = json!({ "header": stated });
        let statement = Statement::new(&case.graph, &case.model, &stated).map_err(|reason| reason.to_string())?;
        let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
        let mut judge = self.judge(&stated)?;
        // A larger budget has more sets than are worth listing.
        let truths = if other { &truths(case, &means) } else { own };
        for _ in 0..4 {
            let line = self.forged(lines, truths, random);
            let Ok(Line::Node(proof)) = Line::read(line.to_string().as_bytes(), usize::MAX) else { continue };
            Counts::add(&self.counts.shown, 1);
            let node = proof.id as usize;
            let truth = truths.get(node);
            let claims_robust = line["node"]["claim"].get("robust").is_some();
            let right = |truth: &ChangeTruth| {
                let predicted = truth.predicted == proof.class as usize;
                if claims_robust { predicted && truth.robust() } else { predicted && !truth.robust() }
            };
            let is_true = truth.is_some_and(right);
            Counts::add(&self.counts.false_claims, usize::from(!is_true));
            let answers = both(&checkers, &proof, |checker, proof| checker.check(proof))?;
            self.ask(&mut judge, &proof, &line, answers[0].is_ok(), is_true)?;
            if answers.iter().any(Result::is_ok) {
                Counts::add(&self.counts.accepted, 1);
                if !is_true {
                    self.report(Kind::Accepted, node, format!("accepted, and false: {answers:?} {means:?}"), line);
                    continue;
                }
            }
            if answers[0].is_ok() != answers[1].is_ok() {
                self.report(Kind::Disagreement, node, format!("two kinds of numbers differ: {answers:?}"), line);
            }
        }
        Ok(())
    }

    /// A damaged line of the program's own, or one that is made up.
    fn forged(&self, lines: &[Value], truths: &[ChangeTruth], random: &mut Random) -> Value {
        if !lines.is_empty() && random.percent(60) {
            let mut line = lines[random.below(lines.len())].clone();
            match random.below(5) {
                0 => line["node"]["id"] = json!(random.below(self.case.nodes())),
                1 => line["node"]["class"] = json!(random.below(2)),
                _ => {
                    if let Some(trees) =
                        line["node"]["claim"]["robust"].as_array_mut().filter(|trees| !trees.is_empty())
                    {
                        let at = random.below(trees.len());
                        let tree = random_tree(self.case, random);
                        trees[at]["tree"] = tree;
                    } else if let Some(edges) = line["node"]["claim"]["non_robust"]["edges"].as_array_mut() {
                        edges.pop();
                    }
                }
            }
            return line;
        }
        let node = random.below(truths.len());
        let truth = &truths[node];
        let trees: Vec<Value> = (0..truth.margins.len())
            .filter(|&class| class != truth.predicted)
            .map(|class| json!({ "class": class, "tree": random_tree(self.case, random) }))
            .collect();
        json!({ "node": { "id": node, "class": truth.predicted, "claim": { "robust": trees } } })
    }
}

/// A tree with leaves of both kinds.
fn random_tree(case: &ChangeCase, random: &mut Random) -> Value {
    fn grow(case: &ChangeCase, depth: usize, random: &mut Random, tree: &mut Vec<Value>) {
        let pairs = case.pairs();
        if depth > 0 && !pairs.is_empty() && random.percent(45) {
            let (i, j) = pairs[random.below(pairs.len())];
            tree.push(json!({ "edge": [i, j] }));
            grow(case, depth - 1, random, tree);
            grow(case, depth - 1, random, tree);
            return;
        }
        if random.percent(35) {
            return tree.push(json!({ "listed": {} }));
        }
        let nodes = (0..case.nodes()).filter(|_| random.percent(30)).collect::<Vec<_>>();
        let nu: Vec<Value> = nodes.into_iter().map(|node| json!([node, random.below(3)])).collect();
        let mut prices = json!({ "mu": random.below(4) });
        if !nu.is_empty() {
            prices["nu"] = json!(nu);
        }
        if random.percent(30) {
            prices["lists"] = json!(true);
        }
        if random.percent(30) {
            prices["back"] = json!(true);
        }
        tree.push(json!({ "carried": prices }));
    }
    let mut tree = Vec::new();
    grow(case, 3, random, &mut tree);
    Value::Array(tree)
}
