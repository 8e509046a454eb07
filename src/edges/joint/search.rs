//! One class pair to the end: is its margin positive after every admissible set of changes, whatever is flipped? Splits
//! on edges; below a path, flips of the graph that it leaves, less what open changes can do (docs/math.md (26.1)).

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use gcnproof_check::edges::format::{FlippedAfter, FlippedLeaf, Step};

use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::settings::Effort;
use crate::certify::verdict::{Margin, Verdict};
use crate::edges::budget::Edge;
use crate::edges::changes::carried::{Carried, PairBound};
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip};
use crate::edges::changes::prices::{ChangePrices, PricedChanges, priced};
use crate::edges::changes::search::DEPTH;
use crate::edges::changes::span::Span;
use crate::edges::changes::world::World;
use crate::edges::element::carried;
use crate::edges::joint::attack::{JointAttack, Replay};
use crate::edges::joint::part::{ChangedPart, FlipsAsked};
use crate::edges::joint::problem::JointProblem;
use crate::problem::limits::{Clock, Limits};
use crate::problem::pace::Pace;

/// What is asked about a target.
#[derive(Clone, Copy)]
pub(super) struct PairQuestion<'a> {
    pub(super) problem: &'a JointProblem,
    pub(super) replay: Replay<'a>,
    pub(super) clock: &'a Clock,
    pub(super) pace: &'a Pace,
    /// Branches of a tree over edges, and of one over flips.
    pub(super) nodes: usize,
    /// Is what a verdict rests on to be kept?
    pub(super) proofs: bool,
}

/// Why a search ended without closing every branch.
pub(super) enum JointHalt {
    Attack(JointAttack),
    Contradiction(Contradiction),
    Limit,
}

/// Flips of a changed graph.
pub(super) struct Flipped {
    part: ChangedPart,
    edges: Vec<Edge>,
    /// By class that was asked about.
    pub(super) margins: Vec<FlippedMargin>,
}

/// What flips can make of a margin.
#[derive(Clone, Copy)]
pub(super) struct FlippedMargin {
    /// Not above that of any flips, and not below that of some.
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// Is it positive, whatever floats say?
    pub(super) positive: bool,
}

impl PairQuestion<'_> {
    /// Decides flips after some changes of edges, against these classes: by bounds, attacks and the root of the search.
    pub(super) fn flipped(&self, edges: Vec<Edge>, others: &[usize]) -> Result<Flipped, JointHalt> {
        let stack = self.replay.stack;
        let world = World::new(&stack.graph, stack.directed, &edges);
        let part = ChangedPart::new(stack, &world, self.replay.node, &self.problem.budget().flips);
        let mut found = Flipped { part, edges, margins: Vec::new() };
        found.margins = self.ask(&found, others, 0.0, Effort::Optimal)?;
        Ok(found)
    }

    /// The same effort within the time that is left.
    fn limited(&self, effort: Effort) -> Effort {
        let left = |limits: Limits| match self.clock.deadline {
            Some(deadline) => Limits { time: deadline.saturating_duration_since(Instant::now()), ..limits },
            None => limits,
        };
        match effort {
            Effort::Complete(limits) => Effort::Complete(left(limits)),
            Effort::Minimize { limits, gap } => Effort::Minimize { limits: left(limits), gap },
            Effort::Optimal if self.clock.deadline.is_some() => {
                Effort::Complete(left(Limits { nodes: 1, ..Limits::default() }))
            }
            effort => effort,
        }
    }

    /// Margins over some classes, with the aim to show that all of them exceed a number; an attack ends the search.
    fn ask(&self, on: &Flipped, others: &[usize], above: f64, effort: Effort) -> Result<Vec<FlippedMargin>, JointHalt> {
        let (reference, stop) = (self.replay.reference, self.clock.stop.clone());
        let result = on.part.ask(&FlipsAsked { reference, others, above, effort: self.limited(effort), stop }, false);
        if let Some(contradiction) = result.contradiction {
            return Err(JointHalt::Contradiction(contradiction.of_node(self.replay.node as usize)));
        }
        if result.verdict == Verdict::NonRobust {
            match self.replay.attack(&on.edges, &result.witness) {
                Some(attack) => return Err(JointHalt::Attack(attack)),
                None if above == 0.0 => {
                    let node = Subject::Node(self.replay.node as usize);
                    let flips = format!("flips {:?} that break it after {:?}", result.witness, on.edges);
                    return Err(JointHalt::Contradiction(Contradiction::new(node, flips, "their exact margins")));
                }
                None => {}
            }
        }
        let shown = result.verdict == Verdict::Robust;
        let margin = |margin: &Margin| {
            let lower = if shown { margin.lower.max(0.0) } else { margin.lower };
            let raised = if above == 0.0 { lower } else { (lower + above).next_down() };
            FlippedMargin {
                lower: if shown { raised.max(above) } else { raised },
                upper: if above == 0.0 { margin.upper } else { (margin.upper + above).next_up().next_up() },
                positive: shown || raised > 0.0,
            }
        };
        Ok(result.margins.iter().map(margin).collect())
    }
}

/// What is known below a path, and still holds where fewer changes are open.
#[derive(Clone)]
struct JointInherited {
    flipped: Rc<Flipped>,
    margin: FlippedMargin,
    /// Searches of flips that may still be tried.
    tries: usize,
    effects: Option<Rc<HashMap<Edge, f64>>>,
    back: bool,
}

impl JointInherited {
    fn new(flipped: Rc<Flipped>, at: usize) -> JointInherited {
        JointInherited { margin: flipped.margins[at], flipped, tries: TRIES, effects: None, back: true }
    }
}

/// Searches of flips on one graph that only sharpen a bound, and branches of each.
const TRIES: usize = 4;
const BRANCHES: usize = 200;

/// Changes that are looked at before flips are searched for a better bound.
const FEW: usize = 3;

/// Of a bound, so much is left to the rounding of others.
const SLACK: f64 = 1e-9;

/// The search of one class pair.
pub(super) struct JointSearch<'a> {
    pub(super) asked: PairQuestion<'a>,
    pub(super) other: usize,
    pub(super) visited: usize,
    pub(super) branched: bool,
    /// Not above the margin of any changes that were looked at.
    pub(super) lower: f64,
    /// What is the same for all classes where nothing is decided.
    pub(super) root: &'a Carried<'a>,
}

/// What became of a path.
enum JointLooked {
    Closed(Option<FlippedLeaf>),
    Split(Edge, JointInherited),
}

/// What closes all paths of a tree over edges, as the proof format has it; nothing where it is not kept, or the format
/// cannot say it.
type Tree = Option<Vec<Step>>;

impl JointSearch<'_> {
    /// Shows that margins are positive everywhere; flips of the graph as it is are known.
    pub(super) fn explore(&mut self, root: &Rc<Flipped>, at: usize) -> Result<Tree, JointHalt> {
        self.below(&ChangePath::default(), Some(JointInherited::new(root.clone(), at)))
    }

    fn below(&mut self, path: &ChangePath, inherited: Option<JointInherited>) -> Result<Tree, JointHalt> {
        let (mut path, mut inherited) = (path.clone(), inherited);
        // What keeps one edge after the other is one path.
        let (mut splits, mut second) = (Vec::new(), Vec::new());
        let leaf = loop {
            let (edge, known) = match self.look(&path, inherited)? {
                JointLooked::Closed(leaf) => break leaf,
                JointLooked::Split(edge, known) => (edge, known),
            };
            path.splits += 1;
            let mut changed = path.clone();
            changed.changed.push(edge);
            second.push(self.below(&changed, None)?);
            path.locked.insert(edge);
            splits.push(Step::Edge(edge.0, edge.1));
            inherited = Some(known);
        };
        // In preorder: what keeps the edge of a split comes first.
        Ok(leaf.and_then(|leaf| {
            let mut tree = splits;
            tree.push(Step::Flips(Box::new(leaf)));
            second.into_iter().rev().try_for_each(|steps: Tree| steps.map(|steps| tree.extend(steps)))?;
            Some(tree)
        }))
    }

    /// The leaf of a path that is closed: flips leave more than the open changes take at these prices.
    fn leaf(&self, known: &JointInherited, loss: f64, prices: Option<&ChangePrices>) -> Option<FlippedLeaf> {
        if !self.asked.proofs {
            return None;
        }
        // The checker rounds what changes take in its own way.
        let above = if loss == 0.0 { 0.0 } else { loss + SLACK * loss };
        let limits = Limits { nodes: self.asked.nodes.max(BRANCHES), ..Limits::default() };
        let effort = self.asked.limited(Effort::Complete(limits));
        let (reference, stop) = (self.asked.replay.reference, self.asked.clock.stop.clone());
        let tree = known.flipped.part.tree(&FlipsAsked { reference, others: &[self.other], above, effort, stop })?;
        Some(FlippedLeaf { tree, carried: prices.map(carried), after: Vec::new() })
    }

    /// Closes a path, or says where to split it.
    fn look(&mut self, path: &ChangePath, inherited: Option<JointInherited>) -> Result<JointLooked, JointHalt> {
        let PairQuestion { problem, replay, pace, nodes, .. } = self.asked;
        if path.changed.len() > DEPTH || pace.is_late() || self.visited > nodes {
            return Err(JointHalt::Limit);
        }
        self.visited += 1;
        let setting = problem.setting();
        let menu = ChangeMenu::new(setting, replay.node, path, pace).ok_or(JointHalt::Limit)?;
        let mut known = match inherited {
            Some(known) => known,
            None => {
                let flipped = Rc::new(self.asked.flipped(menu.with(&[]), &[self.other])?);
                JointInherited::new(flipped, 0)
            }
        };
        let priced = if menu.flips.is_empty() { None } else { Some(self.loss(&menu, &mut known)?) };
        let (loss, prices) = priced.map_or((0.0, None), |priced| (-priced.lower, Some(priced.prices)));
        if loss == 0.0 {
            if !known.margin.positive && nodes > 0 {
                let limits = Limits { nodes, ..Limits::default() };
                self.sharpen(&mut known, 0.0, Effort::Complete(limits))?;
            }
            if !known.margin.positive {
                return Err(JointHalt::Limit);
            }
            let leaf = self.leaf(&known, loss, prices.as_ref());
            return self.closed(known.margin.lower, leaf);
        }
        if menu.budget == 1 && nodes > 0 {
            return self.last(path, known);
        }
        let least = loss + SLACK * (loss + known.margin.upper.abs());
        if known.margin.lower < least && least < known.margin.upper && known.tries > 0 && nodes > 0 {
            // Perhaps flips can do less than their bound says.
            let limits = Limits { nodes: BRANCHES.min(nodes), ..Limits::default() };
            self.sharpen(&mut known, least, Effort::Complete(limits))?;
        }
        if known.margin.lower >= least && known.margin.lower > loss {
            let leaf = self.leaf(&known, loss, prices.as_ref());
            return self.closed((known.margin.lower - loss).next_down(), leaf);
        }
        if self.visited > nodes {
            self.lower = self.lower.min((known.margin.lower - loss).next_down());
            return Err(JointHalt::Limit);
        }
        self.branched = true;
        let effects = known.effects.clone().unwrap_or_default();
        let effect = |edge: &Edge| effects.get(edge).copied().unwrap_or(f64::NEG_INFINITY);
        let worst = menu.flips.iter().map(|flip| flip.edge).min_by(|x, y| effect(x).total_cmp(&effect(y)));
        worst.map(|edge| JointLooked::Split(edge, known)).ok_or(JointHalt::Limit)
    }

    /// One more change: flips after each that is not known to take too little. Of those that are alike one stands for
    /// all, so there are no splits.
    fn last(&mut self, path: &ChangePath, mut known: JointInherited) -> Result<JointLooked, JointHalt> {
        let effects = known.effects.clone().unwrap_or_default();
        let mut order: Vec<(Edge, f64)> = effects.iter().map(|(&edge, &effect)| (edge, effect)).collect();
        order.sort_by(|x, y| x.1.total_cmp(&y.1).then(x.0.cmp(&y.0)));
        let enough = |effect: f64, upper: f64| -effect + SLACK * (upper.abs() - effect);
        // Where flips can do less than their bound says, fewer changes are left.
        if let Some(&(_, effect)) = order.get(FEW) {
            let least = enough(effect.min(0.0), known.margin.upper);
            if known.margin.lower < least && least < known.margin.upper {
                let limits = Limits { nodes: BRANCHES.min(self.asked.nodes), ..Limits::default() };
                self.sharpen(&mut known, least, Effort::Complete(limits))?;
            }
        }
        if !known.margin.positive {
            let limits = Limits { nodes: self.asked.nodes, ..Limits::default() };
            self.sharpen(&mut known, 0.0, Effort::Complete(limits))?;
        }
        if !known.margin.positive {
            return Err(JointHalt::Limit);
        }
        let FlippedMargin { lower, upper, .. } = known.margin;
        let (mut after, mut rest) = (Some(Vec::new()), 0.0);
        for (edge, effect) in order {
            if lower >= enough(effect.min(0.0), upper) && lower > -effect {
                rest = -effect.min(0.0);
                break;
            }
            self.branched = true;
            let mut changed = path.clone();
            changed.changed.push(edge);
            // Nothing is left to change there: one leaf.
            let tree = self.below(&changed, None)?.and_then(|mut steps| match steps.pop() {
                Some(Step::Flips(leaf)) if steps.is_empty() => Some(leaf.tree),
                _ => None,
            });
            after = after.zip(tree).map(|(mut after, tree)| {
                after.push(FlippedAfter { edge: (edge.0, edge.1), tree });
                after
            });
        }
        let prices = ChangePrices { mu: rest, nu: Vec::new(), back: known.back, lists: false };
        let leaf = after.and_then(|mut after| {
            after.sort_by_key(|after| after.edge);
            self.leaf(&known, rest, Some(&prices)).map(|leaf| FlippedLeaf { after, ..leaf })
        });
        self.closed(if rest == 0.0 { lower } else { (lower - rest).next_down() }, leaf)
    }

    fn closed(&mut self, lower: f64, leaf: Option<FlippedLeaf>) -> Result<JointLooked, JointHalt> {
        self.lower = self.lower.min(lower.max(0.0));
        Ok(JointLooked::Closed(leaf))
    }

    /// Searches flips of the path's graph for margins that do not exceed a number.
    fn sharpen(&self, known: &mut JointInherited, above: f64, effort: Effort) -> Result<(), JointHalt> {
        let found = self.asked.ask(&known.flipped, &[self.other], above, effort)?[0];
        let margin = &mut known.margin;
        margin.lower = margin.lower.max(found.lower);
        margin.upper = margin.upper.min(found.upper);
        margin.positive |= found.positive;
        known.tries = known.tries.saturating_sub(1);
        Ok(())
    }

    /// Prices of open changes, and minus what these take at most, whatever is flipped.
    fn loss(&self, menu: &ChangeMenu, known: &mut JointInherited) -> Result<PricedChanges, JointHalt> {
        let PairQuestion { replay, pace, .. } = self.asked;
        let price = |effect: Vec<f64>, back: bool| priced(menu, &PairBound { base: Span::ZERO, effect }, back);
        if let Some(effects) = &known.effects {
            let effect = |flip: &EdgeFlip| effects.get(&flip.edge).copied().unwrap_or(f64::NEG_INFINITY);
            return Ok(price(menu.flips.iter().map(effect).collect(), known.back));
        }
        let fresh;
        let carried = if menu.path.changed.is_empty() && menu.path.locked.is_empty() {
            self.root
        } else {
            fresh = Carried::new(menu, pace).ok_or(JointHalt::Limit)?;
            &fresh
        };
        let mut best: Option<(PricedChanges, Vec<f64>)> = None;
        // Without two hidden layers both ways are the same.
        for &back in if replay.stack.rules.len() > 2 { &[true, false][..] } else { &[true] } {
            let pair = carried.pair(replay.reference, self.other, back, pace).ok_or(JointHalt::Limit)?;
            let found = price(pair.effect.clone(), back);
            if best.as_ref().is_none_or(|(before, _)| found.lower > before.lower) {
                (best, known.back) = (Some((found, pair.effect)), back);
            }
        }
        let (found, effects) = best.ok_or(JointHalt::Limit)?;
        known.effects = Some(Rc::new(menu.flips.iter().map(|flip| flip.edge).zip(effects).collect()));
        Ok(found)
    }
}
