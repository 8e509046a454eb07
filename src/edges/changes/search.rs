//! One class pair to the end: is its margin positive after every admissible set of changes? Lists, carried bounds, and
//! splits on edges (docs/math.md §24).

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::edges::budget::Edge;
use crate::edges::changes::carried::{Carried, PairBound};
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
use crate::edges::changes::prices::{PricedChanges, priced};
use crate::edges::changes::span::Span;
use crate::edges::judge::Attack;
use crate::edges::search::{Halt, Step};
use crate::number::dyadic::Dyadic;
use crate::problem::pace::Pace;

/// Splits on a path, at most.
pub(crate) const DEPTH: usize = 900;

/// Sets that a beam search goes on with, and changes that it adds.
const WIDTH: usize = 12;
const CANDIDATES: usize = 64;

/// Multiplications of one evaluation, about.
pub(crate) const EVALUATION: usize = 1 << 12;

/// The margin of a set of changes for one class pair.
pub(crate) struct ChangeJudge<'a> {
    pub(crate) setting: Setting<'a>,
    pub(crate) target: u32,
    pub(crate) reference: usize,
    pub(crate) other: usize,
}

/// The margin of a class pair as logits say it.
pub(crate) fn margin(logits: &[Span], reference: usize, other: usize) -> Span {
    logits[reference].minus(logits[other])
}

impl ChangeJudge<'_> {
    pub(crate) fn margin(&self, changes: &[Edge]) -> Span {
        margin(&self.setting.stack.spans(self.target, changes), self.reference, self.other)
    }

    /// The attack that these changes are, if they are one.
    pub(crate) fn attack(&self, changes: &[Edge], margin: Span) -> Option<Attack> {
        if margin.lo > 0.0 {
            return None;
        }
        let edges = changes.to_vec();
        if margin.hi < 0.0 {
            return Some(Attack { edges, tie: false, upper: margin.hi });
        }
        let exact: Dyadic = self.setting.stack.exact_margin(self.target, self.reference, self.other, changes);
        let (sign, upper) = (exact.sign(), exact.ceil_f64());
        sign.is_le().then_some(Attack { edges, tie: sign.is_eq(), upper })
    }

    /// Not above the margin after any set of open changes, which are looked at one after the other.
    pub(crate) fn list(&self, menu: &ChangeMenu, pace: &Pace) -> Result<f64, Halt> {
        let mut lower = f64::INFINITY;
        each_set(menu, |set| {
            if pace.is_late_for(EVALUATION) {
                return Err(Halt::Limit);
            }
            let edges = menu.with(set);
            let margin = self.margin(&edges);
            lower = lower.min(margin.lo.max(0.0));
            self.attack(&edges, margin).map_or(Ok(()), |attack| Err(Halt::Attack(attack)))
        })?;
        Ok(lower)
    }

    /// The best sets that a beam search finds from single changes, smallest margins first; it ends with the first
    /// attack, and when it is late.
    pub(crate) fn beam(&self, menu: &ChangeMenu, singles: &[(EdgeFlip, f64)], pace: &Pace) -> Beam {
        let candidates: Vec<EdgeFlip> = singles.iter().take(CANDIDATES).map(|single| single.0).collect();
        let mut beam: Vec<Vec<EdgeFlip>> = singles.iter().take(WIDTH).map(|single| vec![single.0]).collect();
        let mut found = Beam { attack: None, best: f64::INFINITY, sets: Vec::new() };
        for _ in 1..menu.budget {
            let mut sets: BTreeMap<Vec<Edge>, Vec<EdgeFlip>> = BTreeMap::new();
            for set in &beam {
                for &flip in candidates.iter().filter(|flip| !set.contains(flip)) {
                    let larger: Vec<EdgeFlip> = set.iter().copied().chain([flip]).collect();
                    if menu.admits(&larger) {
                        sets.insert(menu.with(&larger), larger);
                    }
                }
            }
            let mut next: Vec<(f64, Vec<EdgeFlip>)> = Vec::new();
            for (edges, set) in sets {
                if pace.is_late_for(EVALUATION) {
                    return found;
                }
                let margin = self.margin(&edges);
                found.best = found.best.min(margin.hi);
                found.attack = self.attack(&edges, margin);
                if found.attack.is_some() {
                    return found;
                }
                next.push((margin.hi, set));
            }
            if next.is_empty() {
                break;
            }
            next.sort_by(|x, y| x.0.total_cmp(&y.0));
            beam = next.into_iter().take(WIDTH).map(|of| of.1).collect();
            found.sets = beam.iter().map(|set| menu.with(set)).collect();
        }
        found
    }
}

/// What a beam search finds.
pub(crate) struct Beam {
    pub(crate) attack: Option<Attack>,
    /// The smallest margin, rounded up.
    pub(crate) best: f64,
    /// The best of the largest sets that were looked at, smallest margins first.
    pub(crate) sets: Vec<Vec<Edge>>,
}

/// The sets of a path, one after the other, each as places of open changes; `look` says whether to go on.
pub(crate) fn each_set(menu: &ChangeMenu, mut look: impl FnMut(&[EdgeFlip]) -> Result<(), Halt>) -> Result<(), Halt> {
    let mut set: Vec<EdgeFlip> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    look(&set)?;
    let mut next = 0;
    loop {
        if set.len() < menu.budget && next < menu.flips.len() {
            set.push(menu.flips[next]);
            places.push(next);
            next += 1;
            if menu.admits(&set) {
                look(&set)?;
            } else {
                set.pop();
                places.pop();
            }
        } else {
            let Some(last) = places.pop() else { return Ok(()) };
            set.pop();
            next = last + 1;
        }
    }
}

/// What became of a path.
enum Looked {
    Closed(Step),
    Split(Edge, Inherited),
}

/// What each open change does at most, as it was found on a path above. Where fewer changes are open that still holds.
#[derive(Clone)]
struct Inherited {
    effects: Rc<HashMap<Edge, f64>>,
    base: Span,
    back: bool,
    /// So many splits above.
    age: usize,
}

/// Splits without a new bound: listing what one change more does is cheaper.
const OLDEST: usize = 16;

impl Inherited {
    fn new(menu: &ChangeMenu, pair: &PairBound, back: bool) -> Inherited {
        let effects = menu.flips.iter().zip(&pair.effect).map(|(flip, &effect)| (flip.edge, effect));
        Inherited { effects: Rc::new(effects.collect()), base: pair.base, back, age: 0 }
    }

    /// The same for the changes that are left.
    fn pair(&self, menu: &ChangeMenu) -> PairBound {
        let effect = |flip: &EdgeFlip| self.effects.get(&flip.edge).copied().unwrap_or(f64::NEG_INFINITY);
        PairBound { base: self.base, effect: menu.flips.iter().map(effect).collect() }
    }
}

/// The open change that takes most.
fn worst(menu: &ChangeMenu, pair: &PairBound) -> Option<Edge> {
    let least = pair.effect.iter().enumerate().min_by(|x, y| x.1.total_cmp(y.1));
    least.map(|(at, _)| menu.flips[at].edge)
}

/// The search of one class pair.
pub(crate) struct ChangeSearch<'a> {
    pub(crate) judge: ChangeJudge<'a>,
    pub(crate) pace: &'a Pace,
    pub(crate) nodes: usize,
    pub(crate) visited: usize,
    pub(crate) branched: bool,
    /// Not above the margin of any set that was looked at.
    pub(crate) lower: f64,
    /// What is the same for all classes where nothing is decided.
    pub(crate) root: Option<&'a Carried<'a>>,
}

impl ChangeSearch<'_> {
    /// A tree in preorder that proves everything below a path. With no nodes left to visit, the path alone is looked
    /// at.
    pub(crate) fn explore(&mut self, path: &ChangePath) -> Result<Vec<Step>, Halt> {
        self.below(path, None)
    }

    fn below(&mut self, path: &ChangePath, inherited: Option<Inherited>) -> Result<Vec<Step>, Halt> {
        let (edge, inherited, kept, changed) = match self.look(path, inherited)? {
            Looked::Closed(step) => return Ok(vec![step]),
            Looked::Split(edge, inherited) => {
                let mut kept = ChangePath { splits: path.splits + 1, ..path.clone() };
                let mut changed = kept.clone();
                kept.locked.insert(edge);
                changed.changed.push(edge);
                (edge, inherited, kept, changed)
            }
        };
        // An attack is more likely where the edge is changed.
        let second = self.below(&changed, None)?;
        let mut tree = vec![Step::Edge(edge)];
        tree.extend(self.below(&kept, Some(inherited))?);
        tree.extend(second);
        Ok(tree)
    }

    /// Closes a path, or says where to split it.
    fn look(&mut self, path: &ChangePath, inherited: Option<Inherited>) -> Result<Looked, Halt> {
        if path.splits > DEPTH || self.pace.is_late() || self.visited > self.nodes {
            return Err(Halt::Limit);
        }
        self.visited += 1;
        let menu = ChangeMenu::new(self.judge.setting, self.judge.target, path, self.pace).ok_or(Halt::Limit)?;
        if menu.is_listed() {
            self.list(&menu)?;
            return Ok(Looked::Closed(Step::Listed));
        }
        let base = menu.with(&[]);
        let margin = self.judge.margin(&base);
        if let Some(attack) = self.judge.attack(&base, margin) {
            return Err(Halt::Attack(attack));
        }
        if let Some(inherited) = inherited.filter(|of| of.age < OLDEST && self.visited <= self.nodes) {
            let pair = inherited.pair(&menu);
            let edge = worst(&menu, &pair).filter(|_| !priced(&menu, &pair, inherited.back).clears);
            if let Some(edge) = edge {
                return Ok(Looked::Split(edge, Inherited { age: inherited.age + 1, ..inherited }));
            }
        }
        let fresh;
        let carried = match self.root.filter(|_| path.splits == 0) {
            Some(root) => root,
            None => {
                fresh = Carried::new(&menu, self.pace).ok_or(Halt::Limit)?;
                &fresh
            }
        };
        let way = |back: bool| {
            let pair = carried.pair(self.judge.reference, self.judge.other, back, self.pace)?;
            Some((priced(&menu, &pair, back), pair))
        };
        let (mut found, mut pair) = way(true).ok_or(Halt::Limit)?;
        // Without two hidden layers both ways are the same.
        if !found.clears && self.judge.setting.stack.rules.len() > 2 {
            let (other, other_pair) = way(false).ok_or(Halt::Limit)?;
            if other.clears || other.lower > found.lower {
                (found, pair) = (other, other_pair);
            }
        }
        let PricedChanges { prices, lower, clears } = found;
        let back = prices.back;
        if clears {
            self.lower = self.lower.min(lower);
            return Ok(Looked::Closed(Step::Carried(prices)));
        }
        if self.visited > self.nodes {
            self.lower = self.lower.min(lower);
            return Err(Halt::Limit);
        }
        self.branched = true;
        let Some(edge) = worst(&menu, &pair) else { return Err(Halt::Limit) };
        Ok(Looked::Split(edge, Inherited::new(&menu, &pair, back)))
    }

    fn list(&mut self, menu: &ChangeMenu) -> Result<(), Halt> {
        self.lower = self.lower.min(self.judge.list(menu, self.pace)?);
        Ok(())
    }
}
