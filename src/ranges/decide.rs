//! The steps of a verdict about ranges: class pair by class pair, the closest first.

use gcnproof_check::format::{RangeClaim, RangeClassProof, RangeWitness};

use crate::number::span::Span;
use crate::problem::flip::Flip;
use crate::problem::minimal::minimal;
use crate::problem::pace::Pace;
use crate::ranges::attack::{RangeAttack, RangePair};
use crate::ranges::backward::RangeBranch;
use crate::ranges::forward::Shift;
use crate::ranges::lines::UnitLines;
use crate::ranges::problem::RangeProblem;
use crate::ranges::proof::number;
use crate::ranges::scene::RangeScene;
use crate::ranges::search::{RangeGoal, RangeHalt, RangeSearch};

/// Witnesses of more changes are not made minimal.
const MOST_SHORTENED: usize = 64;

/// Relative widths below this are not asked for: smallest margins of real attributes need not be floats.
const NARROWEST: f64 = 1e-6;

/// What is asked about a target.
pub(crate) struct RangeQuestion<'a> {
    pub(crate) problem: &'a RangeProblem,
    pub(crate) target: usize,
    pub(crate) reference: usize,
    pub(crate) others: &'a [usize],
    /// Branches of a search, at most.
    pub(crate) nodes: usize,
    pub(crate) pace: &'a Pace,
    /// Is what the verdict rests on to be kept?
    pub(crate) proofs: bool,
    /// The width up to which smallest margins are asked for, relative to the larger of them and those without changes.
    pub(crate) gap: Option<f64>,
}

/// An entry of a witness, and the value that it gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewValue {
    pub(crate) entry: Flip,
    pub(crate) value: f64,
}

/// Changes that break a class.
pub(crate) struct Broken {
    pub(crate) changes: Vec<NewValue>,
    pub(crate) tie: bool,
}

/// What became of it.
pub(crate) struct RangeDecision {
    /// By other class: a lower bound of the worst margin, and the margin of the best perturbation found.
    pub(crate) margins: Vec<[f64; 2]>,
    pub(crate) broken: Option<Broken>,
    /// Has some class no positive bound?
    pub(crate) open: bool,
    /// Is some smallest margin that was asked for not known up to the width?
    pub(crate) wide: bool,
    /// Was more than one branch visited?
    pub(crate) branched: bool,
    pub(crate) visited: usize,
    /// What the verdict rests on, if it was asked for and there is one.
    pub(crate) claim: Option<RangeClaim>,
}

impl RangeQuestion<'_> {
    /// Decides it.
    pub(crate) fn decide(&self) -> RangeDecision {
        let RangeQuestion { problem, target, reference, others, proofs, .. } = *self;
        let mut trees = Vec::new();
        let scene = RangeScene::new(problem, problem.network().depth(), target);
        let lines = UnitLines::new(&scene);
        let clean = scene.forward::<Span>(&[], |node| problem.enclosed(node).to_vec());
        let logits = &clean[clean.len() - 1];
        let margin = |&class: &usize| [f64::NEG_INFINITY, logits[reference].minus(logits[class]).hi];
        let mut margins: Vec<[f64; 2]> = others.iter().map(margin).collect();
        let (mut attack, mut open, mut branched, mut visited) = (None, false, false, 0);
        let mut order: Vec<usize> = (0..others.len()).collect();
        order.sort_by(|&x, &y| margins[x][1].total_cmp(&margins[y][1]));
        let fixed = scene.is_fixed();
        for at in order {
            let pair = RangePair { scene: &scene, reference, other: others[at] };
            let mut search = self.search(&pair, margins[at][1], RangeGoal::Sign);
            let outcome = match pair.attack(&[]) {
                Some(found) => Err(RangeHalt::Attack(found)),
                // The margin is above 0, and nothing can be changed.
                None if fixed => {
                    search.lower = logits[reference].minus(logits[others[at]]).lo;
                    Ok(search.leaf(&lines, &RangeBranch::default()))
                }
                None => search.explore(lines.clone(), &RangeBranch::default(), 0),
            };
            (visited, branched) = (visited + search.visited, branched | (search.visited > 1));
            match outcome {
                Ok(tree) => {
                    margins[at][0] = search.lower.max(0.0);
                    trees.push(RangeClassProof { class: others[at] as u32, tree });
                }
                Err(RangeHalt::Attack(found)) => {
                    margins[at][1] = margins[at][1].min(found.upper);
                    attack = Some(found);
                    break;
                }
                Err(RangeHalt::Limit) => {
                    open = true;
                    if search.visited == 1 && search.lower.is_finite() {
                        margins[at][0] = search.lower;
                    }
                }
            }
        }
        let mut wide = false;
        if let Some(gap) = self.gap {
            let gap = gap.max(NARROWEST);
            let size: f64 = logits.iter().map(|logit| logit.hi.abs()).sum();
            for (at, &other) in others.iter().enumerate() {
                // Where nothing can be changed, the margin is what it is.
                if fixed {
                    continue;
                }
                let pair = RangePair { scene: &scene, reference, other };
                let clean = logits[reference].minus(logits[other]).hi.abs();
                let goal = RangeGoal::Minimum { gap, clean, size, attack: None };
                let mut search = self.search(&pair, margins[at][1], goal);
                wide |= !search.minimize(lines.clone());
                visited += search.visited;
                margins[at] = [margins[at][0].max(search.lower), search.upper];
                if let RangeGoal::Minimum { attack: Some(found), .. } = search.goal {
                    // Against a positive bound of the search for the sign, this is a contradiction that is reported.
                    margins[at][1] = margins[at][1].min(found.upper);
                    attack.get_or_insert(found);
                }
            }
            // Minima may close what the search for the sign has left open, and open nothing.
            open &= attack.is_none() && margins.iter().any(|margin| margin[0] <= 0.0);
        }
        if let Some(found) = attack.as_mut().filter(|found| found.moves.len() <= MOST_SHORTENED) {
            shorten(&scene, reference, others, found);
        }
        let nodes = scene.slice.nodes(1);
        let class = attack.as_ref().map(|attack| attack.class);
        let broken = attack.map(|RangeAttack { moves, tie, .. }| {
            let change =
                |of: &Shift| NewValue { entry: Flip { node: nodes[of.place], attribute: of.attribute }, value: of.new };
            let mut changes: Vec<NewValue> = moves.iter().map(change).collect();
            changes.sort_by_key(|change| change.entry);
            Broken { changes, tie }
        });
        trees.sort_by_key(|tree| tree.class);
        let claim = match (&broken, class) {
            _ if !proofs => None,
            (Some(broken), Some(class)) => {
                let entry = |of: &NewValue| (of.entry.node, of.entry.attribute, number(of.value));
                let entries = broken.changes.iter().map(entry).collect();
                Some(RangeClaim::NonRobust(RangeWitness { class: class as u32, entries }))
            }
            _ if open || trees.len() < others.len() => None,
            _ => Some(RangeClaim::Robust(trees)),
        };
        RangeDecision { margins, broken, open, wide, branched, visited, claim }
    }
}

impl<'a> RangeQuestion<'a> {
    /// A search that has not begun; `upper` is the margin of the best changes known.
    fn search<'p>(&self, pair: &'p RangePair<'p>, upper: f64, goal: RangeGoal) -> RangeSearch<'p>
    where
        'a: 'p,
    {
        let (nodes, proofs) = (self.nodes.max(1), self.proofs && matches!(goal, RangeGoal::Sign));
        RangeSearch { pair, pace: self.pace, nodes, visited: 0, lower: f64::INFINITY, upper, proofs, goal }
    }
}

/// Leaves out of an attack what it does not need. A negative margin stays negative.
fn shorten(scene: &RangeScene, reference: usize, others: &[usize], attack: &mut RangeAttack) {
    let tie = attack.tie;
    let breaks = |moves: &[Shift]| {
        let attacks = others.iter().filter_map(|&other| RangePair { scene, reference, other }.attack(moves));
        attacks.min_by_key(|attack| attack.tie).filter(|found| found.tie == tie)
    };
    let pair = RangePair { scene, reference, other: attack.class };
    let harm = |of: &Shift| pair.margin(&pair.forward(&[*of]));
    let mut moves: Vec<(f64, Shift)> = attack.moves.iter().map(|of| (harm(of), *of)).collect();
    moves.sort_by(|x, y| x.0.total_cmp(&y.0));
    let moves: Vec<Shift> = moves.into_iter().map(|entry| entry.1).collect();
    if let Some((_, found)) = minimal(&moves, breaks) {
        *attack = found;
    }
}
