//! Proofs about the network as it runs: own ones must be accepted, and nothing that an execution contradicts.

use std::path::Path;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{DeployedVerdict, Execution};
use gcnproof_check::Checker;
use gcnproof_check::format::{Header, Line};
use serde_json::{Value, json};

use crate::area::Area;
use crate::claim::{Claimed, pairs};
use crate::compare::admissible;
use crate::deployed::execution::{Aim, Deployment};
use crate::deployed::program::{DeployedProgram, options};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::Sizes;
use crate::network::Flips;
use crate::present::{Asked, Presenter};
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::ring::{ask, start};
use crate::terms::case::TermCase;
use crate::terms::keep;
use crate::terms::look::{shown, statement};
use crate::tested::{How, guard, stopped};
use crate::truth::{Margins, Oracle, Robust, Truth};

/// Tampered proofs, forged proofs, and headers with another budget.
const ROUNDS: [usize; 3] = [16, 24, 3];

/// What contradicts claims about one component: exact margins, and executions that were drawn.
struct Evidence<'a> {
    case: &'a TermCase,
    oracle: Oracle<'a>,
    deployment: Deployment<'a>,
    truths: Vec<Truth>,
    /// By node: has an execution on an admissible input let another class reach the reference?
    broken: Vec<bool>,
}

impl<'a> Evidence<'a> {
    fn new(case: &'a TermCase, execution: Execution, random: &mut Random, counts: &AreaCounts) -> Evidence<'a> {
        let oracle = case.oracle();
        let truths = oracle.all();
        let deployment = Deployment::new(case, execution);
        let range = 0..case.base.nodes();
        let classes = case.base.classes();
        let sets = Flips::new(&case.base, range.clone()).sets();
        let mut broken = vec![false; truths.len()];
        for _ in 0..8 {
            let set = &sets[random.below(sets.len())];
            let attributes = case.numbers(&case.base.attributes_after(&range, set));
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
        let classes = self.case.base.classes();
        let Claimed { id, reference, witness } =
            Claimed::read(line, "flips", classes, |id| self.truths.get(id)?.reference)?;
        let Some((class, flips)) = witness else { return Some(self.truths[id].robust()? && !self.broken[id]) };
        let mut flips = pairs(flips)?;
        if admissible(&self.case.base, &mut flips).is_err() {
            return Some(false);
        }
        if self.oracle.margin(id, reference, class, &flips).sign().is_ge() {
            return Some(false);
        }
        let range = 0..self.case.base.nodes();
        let attributes = self.case.numbers(&self.case.base.attributes_after(&range, &flips));
        let aim = Some(Aim { node: id, reference, class, side: 1.0 });
        let fooled = |computed: &[f64]| computed[id * classes + reference] < computed[id * classes + class];
        Some((0..3).all(|_| fooled(&self.deployment.run(&range, &attributes, aim, random))))
    }

    /// Shows own lines, tampered and forged ones, so many of each.
    #[allow(clippy::too_many_arguments)]
    fn show(
        &self,
        checkers: &[Checker; 2],
        verified: Option<&Path>,
        keep: &dyn Fn(Kind, usize, String, &str) -> Record,
        lines: &[Value],
        rounds: [usize; 2],
        random: &mut Random,
        counts: &AreaCounts,
        found: &mut Vec<Record>,
    ) {
        let own = std::cell::RefCell::new(random.clone());
        let known = |(truth, broken): (&Truth, &bool)| (truth.reference, truth.robust() == Some(true) && !broken);
        let judge = start(verified, &checkers[0]).unwrap_or_else(|problem| {
            found.push(keep(Kind::Crash, 0, problem, ""));
            None
        });
        let asked = judge.as_ref().map(|judge| |text: &str| ask(judge, &checkers[0], text));
        let presenter = Presenter {
            check: &|text| shown(checkers, text),
            verified: asked.as_ref().map(|ask| ask as &Asked),
            is_true: &|line| self.stands(line, &mut own.borrow_mut()).unwrap_or(false),
            robust: &self.truths.iter().zip(&self.broken).map(known).collect::<Vec<Robust>>(),
            keep,
            counts,
        };
        for line in lines {
            presenter.show(line, found);
        }
        let base = &self.case.base;
        presenter.attack(lines, &Sizes::new(base), base.classes(), rounds, random, found);
    }
}

/// Attacks the checker with proofs about one component.
#[allow(clippy::too_many_arguments)]
pub fn attack(
    case: &TermCase,
    execution: Execution,
    truths: &[Truth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let how = random.pick(&[How::Complete, How::Complete, How::Best]);
    let Ok(program) = DeployedProgram::new(case, execution, how) else { return };
    let header = json!({ "header": program.header });
    let keep = |kind: Kind, node: usize, message: String, line: &str| {
        let options = options(execution, how);
        keep::record(Area::Deployed, case, Wrong::new(kind, node, message), &options, Some((&header, line)))
    };
    let stated = match statement(case, &program.header) {
        Ok(stated) => stated,
        Err((kind, problem)) => return found.push(keep(kind, 0, problem, "")),
    };
    let checkers = [Checker::new(&stated, false), Checker::new(&stated, true)];
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
    evidence.show(&checkers, verified, &keep, &lines, [ROUNDS[0], ROUNDS[1]], random, counts, found);
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
        let Ok(stated) = statement(case, &header) else { continue };
        let checkers = [Checker::new(&stated, false), Checker::new(&stated, true)];
        let evidence = Evidence::new(&other, execution, random, counts);
        let keep = |kind: Kind, node: usize, message: String, line: &str| {
            let options = options(execution, how);
            keep::record(Area::Deployed, &other, Wrong::new(kind, node, message), &options, Some((&changed, line)))
        };
        evidence.show(&checkers, verified, &keep, &lines, [4, 4], random, counts, found);
    }
}
