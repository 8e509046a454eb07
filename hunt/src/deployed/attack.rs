//! Proofs about the network as it runs: own ones must be accepted, and nothing that an execution contradicts.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{DeployedVerdict, Execution};
use gcnproof_check::format::{Header, Line};
use gcnproof_check::{Checker, Statement};
use serde_json::{Value, json};

use crate::area::Area;
use crate::compare::admissible;
use crate::deployed::execution::{Aim, Deployment};
use crate::deployed::program::{Program, options};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::network::Flips;
use crate::player::{How, guard, stopped};
use crate::random::Random;
use crate::record::Record;
use crate::terms::attack::{Ring, forge, tamper};
use crate::terms::case::TermCase;
use crate::terms::keep;
use crate::terms::truth::TermOracle;
use crate::truth::{Margins, Truth};

/// Tampered proofs, forged proofs, and headers with another budget.
const ROUNDS: [usize; 3] = [16, 24, 3];

/// What contradicts claims about one component: exact margins, and executions that were drawn.
struct Evidence<'a> {
    case: &'a TermCase,
    oracle: TermOracle<'a>,
    deployment: Deployment<'a>,
    truths: Vec<Truth>,
    /// By node: has an execution on an admissible input let another class reach the reference?
    broken: Vec<bool>,
}

impl<'a> Evidence<'a> {
    fn new(case: &'a TermCase, execution: Execution, random: &mut Random, counts: &AreaCounts) -> Evidence<'a> {
        let oracle = TermOracle::new(case);
        let truths = oracle.all();
        let deployment = Deployment::new(case, execution);
        let range = 0..case.base.nodes();
        let classes = case.base.classes();
        let sets = Flips::new(&case.base, range.clone()).sets();
        let mut broken = vec![false; truths.len()];
        for _ in 0..8 {
            let set = &sets[random.below(sets.len())];
            let attributes = case.attributes(&range, set);
            for node in range.clone() {
                let Some(reference) = truths[node].reference else { continue };
                let class = (reference + 1 + random.below(classes - 1)) % classes;
                let aim = Aim { node, reference, class, side: -1.0 };
                let computed = deployment.run(&range, &attributes, Some(aim), random);
                Counts::add(&counts.executions, 1);
                broken[node] |= computed[node * classes + reference] <= computed[node * classes + class];
            }
        }
        Evidence { case, oracle, deployment, truths, broken }
    }

    /// Is nothing known that contradicts the claim of a line?
    fn stands(&self, line: &Value, random: &mut Random) -> Option<bool> {
        let node = line.get("node")?;
        let id = node.get("id")?.as_u64()? as usize;
        let truth = self.truths.get(id)?;
        let reference = truth.reference?;
        if reference as u64 != node.get("class")?.as_u64()? {
            return Some(false);
        }
        let claim = node.get("claim")?;
        if claim.get("robust").is_some() {
            return Some(truth.robust()? && !self.broken[id]);
        }
        let witness = claim.get("non_robust")?;
        let classes = self.case.base.classes();
        let class = witness.get("class")?.as_u64()? as usize;
        if class >= classes || class == reference {
            return Some(false);
        }
        let flip = |flip: &Value| Some((flip.get(0)?.as_u64()? as usize, flip.get(1)?.as_u64()? as usize));
        let mut flips = witness.get("flips")?.as_array()?.iter().map(flip).collect::<Option<Vec<_>>>()?;
        if admissible(&self.case.base, &mut flips).is_err() {
            return Some(false);
        }
        if self.oracle.margin(id, reference, class, &flips).sign().is_ge() {
            return Some(false);
        }
        let range = 0..self.case.base.nodes();
        let attributes = self.case.attributes(&range, &flips);
        let aim = Some(Aim { node: id, reference, class, side: 1.0 });
        let fooled = |computed: &[f32]| computed[id * classes + reference] < computed[id * classes + class];
        Some((0..3).all(|_| fooled(&self.deployment.run(&range, &attributes, aim, random))))
    }
}

/// Attacks the checker with proofs about one component.
pub fn attack(
    case: &TermCase,
    execution: Execution,
    truths: &[Truth],
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let how = random.pick(&[How::Complete, How::Complete, How::Best]);
    let Ok(program) = Program::new(case, execution, how) else { return };
    let model = &case.base.model;
    let header = json!({ "header": program.header });
    let keep = |kind: Kind, node: usize, message: String, line: &str| {
        let options = options(execution, how);
        keep::record(Area::Deployed, case, (kind, node, message), &options, Some((&header, line)))
    };
    let statement = guard(|| Statement::new(&case.base.graph, model, &program.header, &model.matrices));
    let statement = match statement {
        Ok(Ok(statement)) => statement,
        Ok(Err(reason)) => {
            found.push(keep(Kind::Rejected, 0, format!("the checker refuses the statement: {reason}"), ""));
            return;
        }
        Err(problem) => {
            found.push(keep(Kind::Crash, 0, problem, ""));
            return;
        }
    };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let evidence = Evidence::new(case, execution, random, counts);
    let mut lines = Vec::new();
    let mut workspace = Workspace::default();
    for (node, truth) in truths.iter().enumerate() {
        let Some(reference) = truth.reference else { continue };
        let answer = guard(|| {
            let result = program.certifier.certify_class(node, reference, truth.predicted, &mut workspace);
            let line = result.proof_line(&checkers[0]).into_line();
            (result, line)
        });
        let Ok((result, line)) = answer else {
            workspace = Workspace::default();
            continue;
        };
        let verdict = result.deployed.as_ref().map(|deployed| deployed.verdict);
        match line {
            Line::Node(proof) => {
                Counts::add(&counts.own, 1);
                let line = json!({ "node": proof });
                let text = line.to_string();
                let exactly = guard(|| checkers[1].check(&proof));
                if !matches!(exactly, Ok(Ok(_))) {
                    found.push(keep(Kind::Rejected, node, format!("own proof, exactly: {exactly:?}"), &text));
                } else if evidence.stands(&line, random) != Some(true) {
                    found.push(keep(Kind::Accepted, node, "own proof: an execution contradicts it".into(), &text));
                }
                lines.push(line);
            }
            Line::Unproved(unproved)
                if matches!(verdict, Some(DeployedVerdict::Robust | DeployedVerdict::NonRobust)) && !stopped() =>
            {
                found.push(keep(Kind::Unproved, node, format!("{verdict:?}: {}", unproved.reason), ""));
            }
            _ => {}
        }
    }
    show(case, &evidence, &checkers, &keep, &lines, (ROUNDS[0], ROUNDS[1]), random, counts, found);
    for _ in 0..ROUNDS[2] {
        // The same lines under another budget.
        let mut other = case.clone();
        other.base.budget.global = random.below(4) as u64;
        let uniform = random.below(4) as u64;
        other.base.budget.local = vec![uniform; case.base.nodes()];
        if Flips::new(&other.base, 0..case.base.nodes()).count(600) >= 600 {
            continue;
        }
        let mut changed = header.clone();
        changed["header"]["budget"]["global"] = json!(other.base.budget.global);
        changed["header"]["budget"]["local"] = json!(uniform);
        let Ok(header) = serde_json::from_value::<Header>(changed["header"].clone()) else { continue };
        let statement = guard(|| Statement::new(&case.base.graph, model, &header, &model.matrices));
        let Ok(Ok(statement)) = statement else { continue };
        let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
        let evidence = Evidence::new(&other, execution, random, counts);
        let keep = |kind: Kind, node: usize, message: String, line: &str| {
            let options = options(execution, how);
            keep::record(Area::Deployed, &other, (kind, node, message), &options, Some((&changed, line)))
        };
        show(&other, &evidence, &checkers, &keep, &lines, (4, 4), random, counts, found);
    }
}

/// Shows own lines, tampered and forged ones.
#[allow(clippy::too_many_arguments)]
fn show(
    case: &TermCase,
    evidence: &Evidence,
    checkers: &[Checker; 2],
    keep: &dyn Fn(Kind, usize, String, &str) -> Record,
    lines: &[Value],
    (tampered, forged): (usize, usize),
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let own = std::cell::RefCell::new(random.clone());
    let is_true = |line: &Value| evidence.stands(line, &mut own.borrow_mut()).unwrap_or(false);
    let robust: Vec<(Option<usize>, bool)> = evidence
        .truths
        .iter()
        .zip(&evidence.broken)
        .map(|(truth, broken)| (truth.reference, truth.robust() == Some(true) && !broken))
        .collect();
    let ring = Ring { case: &case.base, checkers, is_true: &is_true, robust: &robust, keep, counts };
    for line in lines {
        ring.show(line, found);
    }
    tamper(&ring, lines, tampered, random, found);
    forge(&ring, lines, forged, random, found);
}
