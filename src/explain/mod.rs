//! Explanation of one node: its bounds, its worst flips one by one, and what its bounds are made of.

mod composition;

pub use composition::{Composition, UnitCost};

use serde::Serialize;

use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::{Certifier, sound};
use crate::certify::deployment::{Deployed, DeployedVerdict};
use crate::certify::settings::Margins;
use crate::certify::verdict::MarginRecord;
use crate::certify::verdict::{Margin, NodeResult, Verdict};
use crate::number::rounding::Enclosure;
use crate::problem::ProblemError;
use crate::problem::exact::ExactUnits;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::search::local;

/// Up to this many flips are put into the order in which they hurt most, one after the other.
const ORDERED: usize = 48;

/// Nodes at one distance from the target.
#[derive(Clone, Debug, Serialize)]
pub struct Ring {
    /// Hops.
    pub distance: usize,
    /// How many nodes.
    pub nodes: usize,
    /// Those of them that are predicted like the target.
    pub predicted_alike: usize,
}

/// The numbers of one class pair.
#[derive(Clone, Debug, Serialize)]
pub struct ClassLine {
    /// The other class.
    pub class: u64,
    /// The margin without an attack.
    pub unperturbed: f64,
    /// The paper's bound.
    pub paper_bound: f64,
    /// The bound that is exact where nothing is flipped.
    pub anchored_bound: f64,
    /// What the verdict knows.
    pub margin: MarginRecord,
}

/// One flip of the attack, in the order in which they hurt most.
#[derive(Clone, Debug, Serialize)]
pub struct AttackStep {
    /// Whose attribute.
    pub node: u32,
    /// From 0, below the number of attributes.
    pub attribute: u32,
    /// Added or removed?
    pub added: bool,
    /// Hops from the target; null if no path of a few hops leads there.
    pub distance: Option<usize>,
    /// By how much this flip moves the margin, after those before it.
    pub change: f64,
    /// The margin then.
    pub margin: f64,
}

/// The witness of a non-robust node, none of whose flips can be left out; of another node, the strongest perturbation
/// found.
#[derive(Clone, Debug, Serialize)]
pub struct StrongestAttack {
    /// Against which class.
    pub class: u64,
    /// Does it break the node?
    pub breaks: bool,
    /// How many of the flips, from the first on, break it in exact arithmetic; null if all of them do not.
    pub sufficient: Option<usize>,
    /// The flips.
    pub steps: Vec<AttackStep>,
}

/// A node as it runs.
#[derive(Clone, Debug, Serialize)]
pub struct DeployedLine {
    /// `robust`, `non_robust`, `rounding_dependent` or `undecided`, for every execution of the network.
    pub verdict: &'static str,
    /// Between which numbers the difference of computed and exact margin lies, class pair by class pair.
    pub rounding: Vec<MarginRecord>,
    /// May the class computed without any flip depend on rounding?
    pub prediction_depends: bool,
}

/// The explanation of a node: its verdict, the numbers behind it, and the strongest attack found.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Its id, from 0.
    pub node: u64,
    /// The class that the graph file gives it, if any.
    pub label: Option<u64>,
    /// The class predicted without an attack.
    pub predicted: u64,
    /// Neighbours; of a graph its edges.
    pub degree: u64,
    /// Nodes its logits depend on.
    pub neighbourhood: u64,
    /// The nodes around it.
    pub rings: Vec<Ring>,
    /// `robust`, `non_robust` or `undecided`.
    pub verdict: &'static str,
    /// What it rests on.
    pub reason: &'static str,
    /// Tree nodes that a search has examined.
    pub search_nodes: u64,
    /// Masters that a search has solved.
    pub masters: u64,
    /// Was a limit hit?
    pub limit_hit: bool,
    /// Time for the verdict.
    pub seconds: f64,
    /// What holds for the network as it runs, if the certifier was told how it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed: Option<DeployedLine>,
    /// The class pairs.
    pub classes: Vec<ClassLine>,
    /// The strongest perturbation found.
    pub attack: StrongestAttack,
    /// The bounds against that class, taken apart. Empty without a hidden layer: then the bounds are exact.
    pub composition: Vec<Composition>,
}

/// Explains a node.
///
/// # Errors
/// If the graph has no such node.
///
/// # Panics
/// If two steps contradict each other, which is a bug.
pub fn explain(certifier: &Certifier, node: usize) -> Result<Explanation, ProblemError> {
    certifier.prepared().problem().check_nodes(&[node])?;
    if certifier.budget().ranges().is_some() {
        return Err(ProblemError::Ranged { what: "explanations of bounds are" });
    }
    let mut workspace = Workspace::default();
    let start = std::time::Instant::now();
    // The bounds are what is explained.
    let certifier = &certifier.for_targets(&[node]).with_margins(Margins::Tight);
    let result = sound(certifier.certify_node(node, &mut workspace));
    let seconds = start.elapsed().as_secs_f64();
    let reference = result.reference;
    let logits = certifier.prepared().unperturbed_logits().row(node);
    let mut bound =
        |class, relaxation| certifier.prepared().pair_bound(node, reference, class, relaxation, &mut workspace).lower();
    let classes = result
        .margins
        .iter()
        .map(|margin| ClassLine {
            class: margin.class as u64,
            unperturbed: logits[reference] - logits[margin.class],
            paper_bound: bound(margin.class, Relaxation::Paper),
            anchored_bound: bound(margin.class, Relaxation::Anchored),
            margin: MarginRecord::from(*margin),
        })
        .collect();
    let (class, flips) = strongest(certifier, &result, &mut workspace);
    let mut steps = steps(certifier, node, reference, class, flips, &mut workspace);
    let breaks = result.verdict == Verdict::NonRobust;
    let sufficient = breaks.then(|| sufficient(certifier, reference, &steps, &mut workspace)).flatten();
    // No single flip of a witness can be left out, but several can be at once. In every execution more may be needed
    // than exactly.
    if result.deployed.as_ref().is_none_or(|deployed| deployed.verdict != DeployedVerdict::NonRobust) {
        steps.truncate(sufficient.unwrap_or(usize::MAX));
    }
    let attack = StrongestAttack { class: class as u64, breaks, sufficient, steps };
    let bounds = [("the paper's bound", Relaxation::Paper), ("the anchored bound", Relaxation::Anchored)];
    let composition = bounds
        .into_iter()
        .filter_map(|(name, relaxation)| composition::compose(certifier, node, reference, class, name, relaxation));
    Ok(Explanation {
        node: node as u64,
        label: certifier.graph().label(node).map(u64::from),
        predicted: result.predicted as u64,
        degree: certifier.graph().links(node) as u64,
        neighbourhood: result.relevant as u64,
        rings: around(certifier, node),
        verdict: result.verdict.name(),
        reason: result.reason.name(),
        search_nodes: result.search_nodes as u64,
        masters: result.details.masters as u64,
        limit_hit: result.limit_hit,
        seconds,
        deployed: result.deployed.as_ref().map(|deployed| deployed_line(&result, deployed)),
        classes,
        attack,
        composition: composition.collect(),
    })
}

fn deployed_line(result: &NodeResult, deployed: &Deployed) -> DeployedLine {
    let around = |(margin, &error): (&Margin, &f64)| Margin { lower: -error, upper: error, ..*margin };
    DeployedLine {
        verdict: deployed.verdict.name(),
        rounding: result.margins.iter().zip(&deployed.errors).map(around).map(MarginRecord::from).collect(),
        prediction_depends: deployed.prediction_depends,
    }
}

/// What lies around a node; a graph has no surroundings.
fn around(certifier: &Certifier, node: usize) -> Vec<Ring> {
    if certifier.graph().batch().is_some() {
        return Vec::new();
    }
    let own = certifier.predicted(node);
    let hops = certifier.network().hops();
    let ring = |(distance, nodes): (usize, Vec<u32>)| Ring {
        distance,
        nodes: nodes.len(),
        predicted_alike: nodes.iter().filter(|&&n| certifier.predicted(n as usize) == own).count(),
    };
    certifier.graph().rings(node as u32).take(hops + 1).enumerate().map(ring).collect()
}

/// The class that an attack gets closest to, and the flips: the witness, or the best that a local search finds.
fn strongest(certifier: &Certifier, result: &NodeResult, workspace: &mut Workspace) -> (usize, Vec<Flip>) {
    let closest = result.margins.iter().min_by(|x, y| x.upper.total_cmp(&y.upper));
    let class = closest.map_or(0, |margin| margin.class);
    let reference = result.reference;
    if result.verdict == Verdict::NonRobust {
        // The class that the witness leads to: with the whole budget another may come closer.
        workspace.slice.cut(certifier.network(), certifier.network().depth(), result.node);
        let logits: Vec<f64> =
            certifier.prepared().logits(&result.witness, workspace).map(|logit| logit.value).collect();
        let others = (0..logits.len()).filter(|&class| class != reference);
        let reached = others.max_by(|&x, &y| logits[x].total_cmp(&logits[y]).then(y.cmp(&x)));
        return (reached.unwrap_or(class), result.witness.clone());
    }
    let mut best: Option<(f64, Vec<Flip>)> = None;
    for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
        certifier.prepared().pair_bound(result.node, reference, class, relaxation, workspace);
        let mut flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
        let objective = [(reference, 1.0), (class, -1.0)];
        let margin = local::improve(certifier.prepared(), &objective, 0.0, &mut flips, workspace);
        if best.as_ref().is_none_or(|known| margin < known.0) {
            best = Some((margin, flips));
        }
    }
    (class, best.map_or_else(Vec::new, |best| best.1))
}

/// The flips one after the other, each the one that hurts most after those before it.
fn steps(
    certifier: &Certifier,
    node: usize,
    reference: usize,
    class: usize,
    mut open: Vec<Flip>,
    workspace: &mut Workspace,
) -> Vec<AttackStep> {
    workspace.slice.cut(certifier.network(), certifier.network().depth(), node);
    let mut margin_of = |flips: &[Flip]| {
        let logits: Vec<f64> = certifier.prepared().logits(flips, workspace).map(|logit| logit.value).collect();
        logits[reference] - logits[class]
    };
    let hops = certifier.network().hops();
    let rings = if certifier.graph().batch().is_some() { 0 } else { hops + 1 };
    let near: Vec<Vec<u32>> = certifier.graph().rings(node as u32).take(rings).collect();
    let mut made: Vec<Flip> = Vec::new();
    let mut before = margin_of(&[]);
    let mut steps = Vec::new();
    if open.len() > ORDERED {
        let mut by_itself: Vec<(f64, Flip)> = open.iter().map(|flip| (margin_of(&[*flip]), *flip)).collect();
        by_itself.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        open = by_itself.into_iter().map(|(_, flip)| flip).collect();
    }
    while !open.is_empty() {
        let candidates = if open.len() + made.len() > ORDERED { 1 } else { open.len() };
        let tried = (0..candidates).map(|at| {
            made.push(open[at]);
            let margin = margin_of(&made);
            made.pop();
            (at, margin)
        });
        let Some((at, margin)) = tried.min_by(|x, y| x.1.total_cmp(&y.1)) else { break };
        let flip = open.remove(at);
        made.push(flip);
        steps.push(AttackStep {
            node: flip.node,
            attribute: flip.attribute,
            added: !certifier.graph().attributes().contains(flip.node as usize, flip.attribute),
            distance: near.iter().position(|ring| ring.contains(&flip.node)),
            change: margin - before,
            margin,
        });
        before = margin;
    }
    steps
}

/// How many of the flips, from the first on, take the reference class down to some other one. Margins inside their
/// rounding error are computed exactly. The workspace stands at the target.
fn sufficient(
    certifier: &Certifier,
    reference: usize,
    steps: &[AttackStep],
    workspace: &mut Workspace,
) -> Option<usize> {
    let flips: Vec<Flip> = steps.iter().map(|step| Flip { node: step.node, attribute: step.attribute }).collect();
    let mut units = ExactUnits::default();
    (0..=flips.len()).find(|&count| {
        let flips = &flips[..count];
        let logits: Vec<Enclosure> = certifier.prepared().logits(flips, workspace).collect();
        (0..logits.len()).filter(|&class| class != reference).any(|class| {
            let (own, other) = (logits[reference], logits[class]);
            if own.lower() > other.upper() {
                return false;
            }
            let objective = [(reference, 1.0), (class, -1.0)];
            let margin = certifier.prepared().exact(&workspace.slice, &mut units).objective(&objective, flips);
            margin.sign() != std::cmp::Ordering::Greater
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use crate::problem::budget::Budget;

    /// With one hidden layer the parts of a bound add up to it, and no unit's relaxation lies above the unit.
    #[test]
    fn the_parts_add_up() {
        let (graph, network) = crate::problem::embedded::cora();
        for (global, node) in [(12, 0), (12, 163), (5, 306), (0, 7), (40, 1000)] {
            let budget = Budget::uniform(&graph, global, 14);
            let certifier = Certifier::builder(Problem::new(graph.clone(), network.clone(), budget).unwrap()).build();
            let told = explain(&certifier, node).unwrap();
            for part in &told.composition {
                assert!(part.above_cost.abs() < 1e-6, "{node}: {part:?}");
                assert!(part.costliest.iter().all(|unit| unit.cost > 0.0) && part.units_cost > -1e-9, "{part:?}");
                assert!(part.value <= part.true_margin + 1e-9);
            }
            let last = told.attack.steps.last().map(|step| step.margin);
            let line = told.classes.iter().find(|line| line.class == told.attack.class).unwrap();
            let sum: f64 = told.attack.steps.iter().map(|step| step.change).sum();
            assert!((line.unperturbed + sum - last.unwrap_or(line.unperturbed)).abs() < 1e-9);
            assert!(told.attack.steps.len() <= global);
            // The flips that suffice are the fewest from the first on.
            if let Some(needed) = told.attack.sufficient {
                assert!(told.attack.breaks && needed <= told.attack.steps.len(), "{node}");
                let kept = told.attack.steps[..needed.saturating_sub(1)].iter().all(|step| step.margin > -1e-9);
                assert!(kept && told.attack.steps[needed - 1].margin < 1e-9, "{node}: {:?}", told.attack);
            }
            assert_eq!(told.attack.breaks, told.attack.sufficient.is_some(), "{node}");
            assert_eq!(told.attack.breaks, last.is_some_and(|margin| margin <= 0.0), "{node}");
        }
    }
}
