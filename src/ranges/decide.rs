//! The steps of a verdict about ranges: class pair by class pair, the closest first.

use gcnproof_check::format::{RangeClaim, RangeClassProof, RangeWitness};

use crate::number::span::Span;
use crate::problem::flip::Flip;
use crate::problem::minimal::minimal;
use crate::problem::pace::Pace;
use crate::ranges::attack::{Attack, Pair};
use crate::ranges::backward::Branch;
use crate::ranges::forward::Move;
use crate::ranges::lines::Lines;
use crate::ranges::problem::RangeProblem;
use crate::ranges::proof::number;
use crate::ranges::scene::Scene;
use crate::ranges::search::{Halt, Search};

/// Witnesses of more changes are not made minimal.
const MOST_SHORTENED: usize = 64;

/// What is asked about a target.
pub(crate) struct Asked<'a> {
    pub(crate) problem: &'a RangeProblem,
    pub(crate) target: usize,
    pub(crate) reference: usize,
    pub(crate) others: &'a [usize],
    /// Branches of a search, at most.
    pub(crate) nodes: usize,
    pub(crate) pace: &'a Pace,
    /// Is what the verdict rests on to be kept?
    pub(crate) proofs: bool,
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
pub(crate) struct Decided {
    /// By other class: a lower bound of the worst margin, and the margin of the best perturbation found.
    pub(crate) margins: Vec<[f64; 2]>,
    pub(crate) broken: Option<Broken>,
    /// Has some class no positive bound?
    pub(crate) open: bool,
    /// Was more than one branch visited?
    pub(crate) branched: bool,
    pub(crate) visited: usize,
    /// What the verdict rests on, if it was asked for and there is one.
    pub(crate) claim: Option<RangeClaim>,
}

impl Asked<'_> {
    /// Decides it.
    pub(crate) fn decide(&self) -> Decided {
        let Asked { problem, target, reference, others, proofs, .. } = *self;
        let mut trees = Vec::new();
        let scene = Scene::new(problem, problem.network().depth(), target);
        let lines = Lines::new(&scene);
        let clean = scene.forward::<Span>(&[], |node| problem.enclosed(node).to_vec());
        let logits = &clean[clean.len() - 1];
        let margin = |&class: &usize| [f64::NEG_INFINITY, logits[reference].minus(logits[class]).hi];
        let mut margins: Vec<[f64; 2]> = others.iter().map(margin).collect();
        let (mut attack, mut open, mut branched, mut visited) = (None, false, false, 0);
        let mut order: Vec<usize> = (0..others.len()).collect();
        order.sort_by(|&x, &y| margins[x][1].total_cmp(&margins[y][1]));
        let fixed = scene.is_fixed();
        for at in order {
            let pair = Pair { scene: &scene, reference, other: others[at] };
            let mut search = Search {
                pair: &pair,
                pace: self.pace,
                nodes: self.nodes.max(1),
                visited: 0,
                lower: f64::INFINITY,
                upper: margins[at][1],
                proofs,
            };
            let outcome = match pair.attack(&[]) {
                Some(found) => Err(Halt::Attack(found)),
                // The margin is above 0, and nothing can be changed.
                None if fixed => {
                    search.lower = logits[reference].minus(logits[others[at]]).lo;
                    Ok(search.leaf(&lines, &Branch::default()))
                }
                None => search.explore(lines.clone(), &Branch::default(), 0),
            };
            (visited, branched) = (visited + search.visited, branched | (search.visited > 1));
            match outcome {
                Ok(tree) => {
                    margins[at][0] = search.lower.max(0.0);
                    trees.push(RangeClassProof { class: others[at] as u32, tree });
                }
                Err(Halt::Attack(found)) => {
                    margins[at][1] = margins[at][1].min(found.upper);
                    attack = Some(found);
                    break;
                }
                Err(Halt::Limit) => {
                    open = true;
                    if search.visited == 1 && search.lower.is_finite() {
                        margins[at][0] = search.lower;
                    }
                }
            }
        }
        if let Some(found) = attack.as_mut().filter(|found| found.moves.len() <= MOST_SHORTENED) {
            shorten(&scene, reference, others, found);
        }
        let nodes = scene.slice.nodes(1);
        let class = attack.as_ref().map(|attack| attack.class);
        let broken = attack.map(|Attack { moves, tie, .. }| {
            let change =
                |of: &Move| NewValue { entry: Flip { node: nodes[of.place], attribute: of.attribute }, value: of.new };
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
            _ if open => None,
            _ => Some(RangeClaim::Robust(trees)),
        };
        Decided { margins, broken, open, branched, visited, claim }
    }
}

/// Leaves out of an attack what it does not need. A negative margin stays negative.
fn shorten(scene: &Scene, reference: usize, others: &[usize], attack: &mut Attack) {
    let tie = attack.tie;
    let breaks = |moves: &[Move]| {
        let attacks = others.iter().filter_map(|&other| Pair { scene, reference, other }.attack(moves));
        attacks.min_by_key(|attack| attack.tie).filter(|found| found.tie == tie)
    };
    let pair = Pair { scene, reference, other: attack.class };
    let harm = |of: &Move| pair.margin(&pair.forward(&[*of]));
    let mut moves: Vec<(f64, Move)> = attack.moves.iter().map(|of| (harm(of), *of)).collect();
    moves.sort_by(|x, y| x.0.total_cmp(&y.0));
    let moves: Vec<Move> = moves.into_iter().map(|entry| entry.1).collect();
    if let Some((_, found)) = minimal(&moves, breaks) {
        *attack = found;
    }
}
