//! One case as it runs: error bounds and verdicts of the program, compared with executions.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{DeployedVerdict, Execution, NodeResult};

use crate::area::Area;
use crate::deployed::attack;
use crate::deployed::execution::{Aim, Deployment};
use crate::deployed::program::{DeployedProgram, options};
use crate::exact::Exact;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::network::Flips;
use crate::random::Random;
use crate::record::{Record, Wrong};
use crate::terms::case::TermCase;
use crate::terms::keep;
use crate::tested::{How, guard, stopped};
use crate::truth::{Oracle, Truth};

/// Sets of flips of a component on which executions are drawn.
const SETS: usize = 6;

/// Executions on one set: at random, and towards a side.
const EXECUTIONS: [usize; 2] = [2, 4];

/// After this time the other nodes of a case are left out.
const CASE: Duration = Duration::from_secs(4);

/// Looks at a whole case; `attacks` components are taken for tampering and forging. The verified checker is shown all
/// proofs about what it covers.
pub fn look(
    case: &TermCase,
    attacks: usize,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
) -> Vec<Record> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, case.base.components.len());
    let execution = Execution {
        operator_error: random.percent(25).then(|| random.pick(&[0, 1, 8, 16])),
        flush_subnormals: random.percent(15),
        ..Execution::FLOAT32
    };
    let how = random.pick(&[How::Complete, How::Complete, How::Best]);
    let truths = case.oracle().all();
    let mut watch = Watch {
        case,
        execution,
        how,
        deployment: Deployment::new(case, execution),
        oracle: case.oracle(),
        truths: &truths,
        counts,
        found: Vec::new(),
    };
    watch.certify(random);
    let mut found = watch.found;
    for _ in 0..attacks {
        if stopped() {
            break;
        }
        let range = case.base.components[random.below(case.base.components.len())].clone();
        if let Ok(part) = case.part(range.clone()) {
            attack::attack(&part, execution, &truths[range], verified, random, counts, &mut found);
        }
    }
    found
}

struct Watch<'a> {
    case: &'a TermCase,
    execution: Execution,
    how: How,
    deployment: Deployment<'a>,
    oracle: Oracle<'a>,
    truths: &'a [Truth],
    counts: &'a AreaCounts,
    found: Vec<Record>,
}

impl Watch<'_> {
    fn report(&mut self, kind: Kind, node: usize, message: String) {
        let options = options(self.execution, self.how);
        let wrong = Wrong::new(kind, node, message);
        self.found.push(keep::record(Area::Deployed, self.case, wrong, &options, None));
    }

    fn certify(&mut self, random: &mut Random) {
        let program = match DeployedProgram::new(self.case, self.execution, self.how) {
            Ok(program) => program,
            Err(problem) => return self.report(Kind::Crash, 0, problem),
        };
        let mut workspace = Workspace::default();
        let end = Instant::now() + CASE;
        for range in self.case.base.components.clone() {
            if stopped() || Instant::now() >= end {
                break;
            }
            let mut results: Vec<Option<NodeResult>> = Vec::new();
            for node in range.clone() {
                let Some(reference) = self.truths[node].reference else {
                    results.push(None);
                    continue;
                };
                let predicted = self.truths[node].predicted;
                let certifier = &program.certifier;
                let result = guard(|| certifier.certify_class(node, reference, predicted, &mut workspace));
                match result {
                    Ok(result) => {
                        Counts::add(&self.counts.nodes, 1);
                        results.push(Some(result));
                    }
                    Err(problem) => {
                        workspace = Workspace::default();
                        self.report(Kind::Crash, node, problem);
                        results.push(None);
                    }
                }
            }
            self.watch(&range, &results, random);
        }
    }

    /// Draws executions on some sets of flips of a component, and compares.
    fn watch(&mut self, range: &Range<usize>, results: &[Option<NodeResult>], random: &mut Random) {
        let sets = Flips::new(&self.case.base, range.clone()).sets();
        let mut chosen: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        for result in results.iter().flatten() {
            if !result.witness.is_empty() && chosen.len() < SETS {
                let inside = result.witness.iter().map(|flip| (flip.node as usize, flip.attribute as usize));
                chosen.push(inside.filter(|flip| range.contains(&flip.0)).collect());
            }
        }
        while chosen.len() < SETS.min(sets.len() + 1) {
            chosen.push(sets[random.below(sets.len())].clone());
        }
        for set in chosen {
            let attributes = self.case.base.attributes_after(range, &set);
            let exact = self.oracle.logits(range, &set);
            for round in 0..EXECUTIONS[0] + EXECUTIONS[1] {
                let aim = if round < EXECUTIONS[0] { None } else { self.aim(range, random) };
                let computed = self.deployment.run(range, &attributes, aim, random);
                Counts::add(&self.counts.executions, 1);
                self.compare(range, results, &set, &exact, &computed);
            }
        }
    }

    fn aim(&self, range: &Range<usize>, random: &mut Random) -> Option<Aim> {
        let node = range.start + random.below(range.len());
        let classes = self.case.base.classes();
        let reference = self.truths[node].reference?;
        let class = (reference + 1 + random.below(classes - 1)) % classes;
        Some(Aim { node, reference, class, side: if random.percent(60) { -1.0 } else { 1.0 } })
    }

    fn compare(
        &mut self,
        range: &Range<usize>,
        results: &[Option<NodeResult>],
        set: &[(usize, usize)],
        exact: &[Exact],
        computed: &[f32],
    ) {
        let classes = self.case.base.classes();
        for (row, result) in results.iter().enumerate() {
            let Some(NodeResult { deployed: Some(deployed), reference, margins, witness, .. }) = result else {
                continue;
            };
            let node = range.start + row;
            let exact = &exact[row * classes..][..classes];
            let computed = &computed[row * classes..][..classes];
            let margin = |class: usize| f64::from(computed[*reference]) - f64::from(computed[class]);
            for (place, of) in margins.iter().enumerate() {
                let error = deployed.errors[place];
                if !error.is_finite() {
                    continue;
                }
                if !margin(of.class).is_finite() {
                    let text = format!("class {}: an execution overflows, the error is said to be {error:e}", of.class);
                    self.report(Kind::Margin, node, text);
                    continue;
                }
                let true_margin = exact[*reference].plus(&exact[of.class].negated());
                let said = Exact::from_f64(f64::from(computed[*reference]))
                    .plus(&Exact::from_f64(f64::from(computed[of.class])).negated());
                let difference = said.plus(&true_margin.negated());
                let beyond = difference.compare_f64(error) == Ordering::Greater
                    || difference.compare_f64(-error) == Ordering::Less;
                if beyond {
                    let text = format!(
                        "flips {set:?}, class {}: an execution gives {:e} for a margin of {:e}, which differ by more than {error:e}",
                        of.class,
                        said.approximate(),
                        true_margin.approximate()
                    );
                    self.report(Kind::Margin, node, text);
                }
            }
            let least = margins.iter().map(|of| margin(of.class)).fold(f64::INFINITY, f64::min);
            if deployed.verdict == DeployedVerdict::Robust && least <= 0.0 {
                let text = format!("deployed: said to be robust, but an execution on {set:?} gives {least:e}");
                self.report(Kind::Verdict, node, text);
            }
            let mut flips: Vec<(usize, usize)> =
                witness.iter().map(|flip| (flip.node as usize, flip.attribute as usize)).collect();
            flips.retain(|flip| range.contains(&flip.0));
            if deployed.verdict == DeployedVerdict::NonRobust && same(&flips, set) && least >= 0.0 {
                let text = format!("deployed: the witness {set:?} does not fool an execution, which gives {least:e}");
                self.report(Kind::Verdict, node, text);
            }
            let predicted = self.truths[node].predicted;
            let largest =
                (0..classes).filter(|&y| y != predicted).map(|y| computed[y]).fold(f32::NEG_INFINITY, f32::max);
            if set.is_empty() && !deployed.prediction_depends && largest >= computed[predicted] {
                let text =
                    "deployed: the prediction is said not to depend on rounding, but an execution has another".into();
                self.report(Kind::Verdict, node, text);
            }
        }
    }
}

/// Are these the same flips, in any order?
fn same(one: &[(usize, usize)], other: &[(usize, usize)]) -> bool {
    one.len() == other.len() && one.iter().all(|flip| other.contains(flip))
}
