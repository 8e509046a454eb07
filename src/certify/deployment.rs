//! Verdicts for the network as it runs: margins are compared with the error of every execution, and what lies inside it is searched
//! once more, with the margin moved by the error.

use serde::{Deserialize, Serialize};

use crate::bound::aside::{alone, aside};
use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::settings::Effort;
use crate::certify::shifted::{Part, Shifted};
use crate::certify::verdict::{NodeResult, Verdict};
use crate::deployed::error_table::ErrorTable;
use crate::problem::flip::Flip;
use crate::problem::forward::forward;
use crate::problem::slice::Slice;
use crate::proof::{Evidence, Missing};
use crate::search::limits::Limits;
use crate::search::pair::difference;
use gcnproof_check::format::{Claim, ClassProof, Witness};

/// What is known of a node as it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeployedVerdict {
    /// No execution, on no admissible input, lets another class reach the first: every worst-case margin exceeds its error bound.
    Robust,
    /// Every execution is fooled by the witness: its exact margin is below minus its error bound.
    NonRobust,
    /// Neither: the exact worst-case margin lies within the error bound around zero, so that rounding may decide.
    RoundingDependent,
    /// None of these could be shown.
    Undecided,
}

impl DeployedVerdict {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            DeployedVerdict::Robust => "robust",
            DeployedVerdict::NonRobust => "non_robust",
            DeployedVerdict::RoundingDependent => "rounding_dependent",
            DeployedVerdict::Undecided => "undecided",
        }
    }
}

/// What is said of a node as it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployed {
    /// The verdict.
    pub verdict: DeployedVerdict,
    /// For each class pair of the result: by how much a computed margin may differ from the exact one. Not finite where numbers may
    /// leave the range of the format, or sums are too long for it.
    pub errors: Vec<f64>,
    /// May the class computed without any flip depend on rounding?
    pub prediction_depends: bool,
}

/// Tree nodes of a search that nobody has asked for: so much is tried before a node is given up.
const TRIES: usize = 300;

/// How a pair stands once its margin was moved.
struct Moved {
    verdict: Verdict,
    flips: Vec<Flip>,
    lower: f64,
    evidence: Option<Evidence>,
}

impl Certifier {
    /// Error bounds of this problem as it is deployed, if it is.
    pub fn errors(&self) -> Option<&ErrorTable> {
        let execution = self.settings.deployed?;
        let table = || ErrorTable::new(self.prepared.problem(), self.unperturbed(), &execution);
        Some(self.errors.get_or_init(|| aside(table)))
    }

    /// Those of the pairs of a result.
    fn margin_errors(&self, result: &NodeResult) -> Option<Vec<f64>> {
        let classes: Vec<usize> = result.margins.iter().map(|margin| margin.class).collect();
        Some(self.errors()?.margin_errors(result.node, result.reference, &classes))
    }

    /// Adds what holds as deployed of a node that is robust by bounds that are not the tightest. Nothing if these do not exceed the
    /// error: others may.
    pub(super) fn deploy_by_far(&self, mut result: NodeResult, workspace: &Workspace) -> Option<NodeResult> {
        let Some(errors) = self.margin_errors(&result) else { return Some(result) };
        if !result.margins.iter().zip(&errors).all(|(margin, &error)| margin.lower > error) {
            return None;
        }
        let prediction_depends = self.prediction_depends(&result, &errors, &workspace.slice);
        result.deployed = Some(Deployed { verdict: DeployedVerdict::Robust, errors, prediction_depends });
        Some(result)
    }

    /// Adds what holds of the result as deployed. `broken` is the class whose margin the witness was found for. The workspace still has
    /// the target's slice.
    pub(super) fn deploy(
        &self,
        mut result: NodeResult,
        broken: Option<usize>,
        workspace: &mut Workspace,
    ) -> NodeResult {
        let Some(errors) = self.margin_errors(&result) else { return result };
        let prediction_depends = self.prediction_depends(&result, &errors, &workspace.slice);
        let verdict = match result.verdict {
            _ if !errors.iter().all(|error| error.is_finite()) => DeployedVerdict::Undecided,
            Verdict::Robust => self.deploy_robust(&mut result, &errors, workspace),
            Verdict::NonRobust => self.deploy_witness(&mut result, broken, &errors, workspace),
            Verdict::Undecided => DeployedVerdict::Undecided,
        };
        if self.settings.proofs && matches!(verdict, DeployedVerdict::RoundingDependent | DeployedVerdict::Undecided) {
            result.evidence = Some(Evidence { claim: Err(Missing::Rounding), missing: None });
        }
        // Cut short, not undecided.
        result.limit_hit |= verdict == DeployedVerdict::Undecided && self.settings.stop.is_set();
        result.deployed = Some(Deployed { verdict, errors, prediction_depends });
        result
    }

    /// Is every margin without flips above its error? First by what is known anyhow, which is not smaller than the error without flips.
    fn prediction_depends(&self, result: &NodeResult, errors: &[f64], slice: &Slice) -> bool {
        let logits = &self.unperturbed()[self.network().depth() - 2];
        let (node, y) = (result.node, result.predicted);
        let margin = |class: usize| difference(logits.entry(node, y), logits.entry(node, class)).lower();
        let known = |class: usize| {
            let place = result.margins.iter().position(|margin| margin.class == class && result.reference == y);
            place.is_some_and(|place| margin(class) > errors[place])
        };
        let open: Vec<usize> = (0..self.network().class_count()).filter(|&class| class != y && !known(class)).collect();
        if open.is_empty() {
            return false;
        }
        let own = self.own_errors(slice, &[], y, &open);
        !open.iter().zip(own).all(|(&class, error)| margin(class) > error)
    }

    /// Error bounds of the slice's target after these flips and without any others.
    fn own_errors(&self, slice: &Slice, flips: &[Flip], reference: usize, classes: &[usize]) -> Vec<f64> {
        let (Some(execution), Some(table)) = (self.settings.deployed, self.errors()) else {
            return vec![f64::INFINITY; classes.len()];
        };
        alone(|| {
            let part = Part::new(self, slice, flips, None);
            let problem = part.problem.at_global(0);
            let unperturbed = forward(problem.graph(), problem.network());
            let own = ErrorTable::with_operators(&problem, &unperturbed, &execution, table.operator_errors());
            own.margin_errors(part.target, reference, classes)
        })
    }

    /// Every pair's lower bound must exceed its error; where it does not, tighter bounds are asked for.
    fn deploy_robust(&self, result: &mut NodeResult, errors: &[f64], workspace: &Workspace) -> DeployedVerdict {
        let mut verdict = DeployedVerdict::Robust;
        for (at, &error) in errors.iter().enumerate() {
            if result.margins[at].lower > error {
                continue;
            }
            let margin = result.margins[at];
            // A perturbation inside the error is known: no bound can exceed it.
            let inside = margin.upper <= error;
            let moved = if inside { None } else { Some(self.moved(result, margin.class, -error, workspace)) };
            match moved {
                Some(Moved { verdict: Verdict::Robust, lower, evidence, .. }) => {
                    let lower = (lower + error).next_down();
                    result.margins[at].lower = margin.lower.max(lower);
                    exchange(&mut result.evidence, margin.class, evidence);
                }
                Some(Moved { verdict: Verdict::Undecided, .. }) => verdict = DeployedVerdict::Undecided,
                None | Some(Moved { verdict: Verdict::NonRobust, .. }) => return DeployedVerdict::RoundingDependent,
            }
        }
        verdict
    }

    /// A witness must take some margin below minus its error; where it does not, a stronger one is searched for.
    fn deploy_witness(
        &self,
        result: &mut NodeResult,
        broken: Option<usize>,
        errors: &[f64],
        workspace: &mut Workspace,
    ) -> DeployedVerdict {
        // The margin over the class that it was found for is known, and mostly enough.
        let mut pairs = result.margins.iter().zip(errors);
        let known = pairs.find(|(margin, error)| Some(margin.class) == broken && margin.upper < -**error);
        let fooled = known.map(|(margin, _)| margin.class);
        if let Some(class) = fooled.or_else(|| self.fools(result, &result.witness, errors, workspace)) {
            result.evidence = result.evidence.take().map(|_| witness(class, &result.witness));
            return DeployedVerdict::NonRobust;
        }
        let mut order: Vec<usize> = (0..errors.len()).collect();
        order.sort_by(|&x, &y| (result.margins[x].upper - errors[x]).total_cmp(&(result.margins[y].upper - errors[y])));
        let mut verdict = DeployedVerdict::RoundingDependent;
        for at in order {
            if result.margins[at].lower > -errors[at] {
                continue;
            }
            let moved = self.moved(result, result.margins[at].class, errors[at], workspace);
            // Where no margin is below minus the error of all perturbations, that of the worst may still be below minus its own.
            if let Some(class) = self.fools(result, &moved.flips, errors, workspace) {
                result.evidence = result.evidence.take().map(|_| witness(class, &moved.flips));
                result.witness = moved.flips;
                return DeployedVerdict::NonRobust;
            }
            if moved.verdict == Verdict::Undecided {
                verdict = DeployedVerdict::Undecided;
            }
        }
        verdict
    }

    /// The class for which these flips fool every execution, if there is one: by the error of all perturbations, or by their own.
    fn fools(&self, result: &NodeResult, flips: &[Flip], errors: &[f64], workspace: &mut Workspace) -> Option<usize> {
        let logits: Vec<_> = self.prepared.logits(flips, workspace).collect();
        let pairs: Vec<(usize, f64)> = result
            .margins
            .iter()
            .map(|pair| (pair.class, difference(logits[result.reference], logits[pair.class]).upper()))
            .collect();
        if let Some(at) = (0..pairs.len()).find(|&at| pairs[at].1 < -errors[at]) {
            return Some(pairs[at].0);
        }
        let negative: Vec<(usize, f64)> = pairs.into_iter().filter(|pair| pair.1 < 0.0).collect();
        if negative.is_empty() {
            return None;
        }
        let classes: Vec<usize> = negative.iter().map(|pair| pair.0).collect();
        let own = self.own_errors(&workspace.slice, flips, result.reference, &classes);
        negative.iter().zip(own).find(|&(&(_, margin), error)| margin < -error).map(|(pair, _)| pair.0)
    }

    /// The pair with `shift` added to its margin, as the effort allows, and a little further.
    fn moved(&self, result: &NodeResult, class: usize, shift: f64, workspace: &Workspace) -> Moved {
        let slice = &workspace.slice;
        let mut moved = alone(|| self.moved_alone(result, class, shift, slice));
        if shift > 0.0 && moved.verdict == Verdict::Robust && moved.flips.is_empty() {
            // Nothing is below minus the error of all perturbations; something may be below minus that of the present witness alone.
            let own = self.own_errors(slice, &result.witness, result.reference, &[class])[0];
            if own < shift {
                moved.flips = alone(|| {
                    let shifted = Shifted::new(self, slice, result.reference, own);
                    shifted.flips(&shifted.decide(Effort::Bounds, class).witness)
                });
            }
        }
        moved
    }

    /// The same in a thread of its own.
    fn moved_alone(&self, result: &NodeResult, class: usize, shift: f64, slice: &Slice) -> Moved {
        let shifted = Shifted::new(self, slice, result.reference, shift);
        let limits = match self.settings.effort {
            Effort::Complete(limits) | Effort::Minimize { limits, .. } => Some(limits),
            _ => None,
        };
        let mut found = shifted.decide(Effort::Bounds, class);
        if found.verdict == Verdict::Undecided {
            let few = Limits { nodes: TRIES, ..Limits::default() };
            found = shifted.decide(Effort::Complete(limits.unwrap_or(few)), class);
        }
        // Of a margin that is not below minus the error of all perturbations, the least may still be below minus its own.
        if let Some(limits) = limits.filter(|_| shift > 0.0 && found.verdict == Verdict::Robust) {
            found = shifted.decide(Effort::Minimize { limits, gap: 0.0 }, class);
        }
        let lower = found.margins.first().map_or(f64::NEG_INFINITY, |margin| margin.lower);
        let least = found.minima.iter().flatten().next().map(|minimum| &minimum.flips);
        let flips = shifted.flips(least.unwrap_or(&found.witness));
        Moved {
            verdict: found.verdict,
            flips,
            lower,
            evidence: found.evidence.map(|evidence| shifted.evidence(evidence)),
        }
    }
}

/// The proof of one class is taken from another evidence.
fn exchange(evidence: &mut Option<Evidence>, class: usize, other: Option<Evidence>) {
    let (Some(Evidence { claim: Ok(Claim::Robust(trees)), .. }), Some(other)) = (evidence, other) else { return };
    let Ok(Claim::Robust(found)) = other.claim else { return };
    let tree = |proof: ClassProof| proof.tree;
    if let (Some(own), Some(tree)) =
        (trees.iter_mut().find(|own| own.class as usize == class), found.into_iter().next().map(tree))
    {
        own.tree = tree;
    }
}

fn witness(class: usize, flips: &[Flip]) -> Evidence {
    let flips = flips.iter().map(|&flip| flip.into()).collect();
    Evidence { claim: Ok(Claim::NonRobust(Witness { class: class as u32, flips })), missing: None }
}
