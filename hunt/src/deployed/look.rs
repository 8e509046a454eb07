//! One case as it runs: error bounds and verdicts of the program, compared with executions.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Execution, NodeResult};

use crate::area::Area;
use crate::deployed::attack;
use crate::deployed::compare::{Seen, contradictions};
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
            let attributes = self.case.numbers(&self.case.base.attributes_after(range, &set));
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
        computed: &[f64],
    ) {
        let classes = self.case.base.classes();
        for (row, result) in results.iter().enumerate() {
            let Some(result) = result else { continue };
            let mut flips: Vec<(usize, usize)> =
                result.witness.iter().map(|flip| (flip.node as usize, flip.attribute as usize)).collect();
            flips.retain(|flip| range.contains(&flip.0));
            let seen = Seen {
                input: &set,
                is_unchanged: set.is_empty(),
                is_witness: same(&flips, set),
                exact: &exact[row * classes..][..classes],
                computed: &computed[row * classes..][..classes],
            };
            for (kind, message) in contradictions(result, &seen, self.counts) {
                self.report(kind, range.start + row, message);
            }
        }
    }
}

/// Are these the same flips, in any order?
fn same(one: &[(usize, usize)], other: &[(usize, usize)]) -> bool {
    one.len() == other.len() && one.iter().all(|flip| other.contains(flip))
}
