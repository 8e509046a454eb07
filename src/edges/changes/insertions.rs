//! Insertions of any pairs on a large graph, class pair by class pair: by the number of insertions at the target, and by
//! whether a node that they link to it has another one, sets fall into cases that are bounded by themselves
//! (docs/math.md §24.9).

use std::collections::HashMap;

use crate::edges::budget::Edge;
use crate::edges::changes::carried::Carried;
use crate::edges::changes::entries::Case;
use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
use crate::edges::changes::search::ChangeJudge;
use crate::edges::changes::span::down;
use crate::edges::search::Halt;
use crate::problem::pace::Pace;

/// Does an insertion link a node to the target, and which?
fn linked(menu: &ChangeMenu, flip: &EdgeFlip) -> Option<u32> {
    let Edge(one, other) = flip.edge;
    match menu.target {
        target if one == target => Some(other),
        target if other == target => Some(one),
        _ => None,
    }
}

/// The sum of the least numbers, so many of them, which are not positive; rounded down.
fn least(mut numbers: Vec<f64>, count: usize) -> f64 {
    numbers.retain(|&x| x < 0.0);
    if count < numbers.len() {
        numbers.select_nth_unstable_by(count, f64::total_cmp);
        numbers.truncate(count);
    }
    numbers.into_iter().fold(0.0, |sum, x| down(sum + x))
}

/// Is a bound above 0, clearly? What is not would leave nothing to the rounding of a checker that looks for a proof.
fn clears(lower: f64, base: f64) -> bool {
    lower > 1e-9 * (base - lower + base.abs())
}

/// What insertions can take from a margin in the sets of a case.
struct Effects {
    case: Case,
    /// Not above the margin on the path.
    base: f64,
    /// By open change.
    effect: Vec<f64>,
}

/// Not above the margin in the sets of a case, and the change whose sets should be looked at by themselves if that is
/// not positive.
struct Bound {
    lower: f64,
    clears: bool,
    worst: Option<usize>,
}

impl Effects {
    fn bound(&self, menu: &ChangeMenu) -> Bound {
        let others = menu.budget - self.case.at_target;
        if self.case.chained { self.chained(menu, others - 1) } else { self.apart(menu, others) }
    }

    fn at_least(&self, lower: f64, worst: Option<usize>) -> Bound {
        Bound { lower, clears: clears(lower, self.base), worst }
    }

    /// The sum of the least effects of changes at the target, or of the others.
    fn sum(&self, menu: &ChangeMenu, at_target: bool, count: usize) -> f64 {
        let of = menu.flips.iter().zip(&self.effect).filter(|(flip, _)| linked(menu, flip).is_some() == at_target);
        least(of.map(|(_, &effect)| effect).collect(), count)
    }

    /// Nodes that are linked to the target have no other insertion (24.13).
    fn apart(&self, menu: &ChangeMenu, others: usize) -> Bound {
        let takes = down(self.sum(menu, true, self.case.at_target) + self.sum(menu, false, others));
        let at_target = self.case.at_target > 0;
        // What stands for others cannot be made for all of them.
        let may_be = |flip: &EdgeFlip| linked(menu, flip).is_some() == at_target && !menu.standing.contains(&flip.edge);
        let alone = (0..menu.flips.len()).filter(|&at| may_be(&menu.flips[at]));
        let worst = alone.min_by(|&x, &y| self.effect[x].total_cmp(&self.effect[y]));
        self.at_least(down(self.base + takes), worst.filter(|&at| self.effect[at] < 0.0))
    }

    /// A node that is linked to the target has another insertion, and so many are made besides and not at the target
    /// (24.14).
    fn chained(&self, menu: &ChangeMenu, others: usize) -> Bound {
        let mut at_end: HashMap<u32, f64> = HashMap::new();
        // An insertion that stands for others may have any other end.
        let mut anywhere = 0.0_f64;
        for (flip, &effect) in menu.flips.iter().zip(&self.effect).filter(|(flip, _)| linked(menu, flip).is_none()) {
            if menu.standing.contains(&flip.edge) {
                anywhere = anywhere.min(effect);
            }
            for end in [flip.edge.0, flip.edge.1] {
                let least = at_end.entry(end).or_default();
                *least = least.min(effect);
            }
        }
        let rest = down(self.sum(menu, true, self.case.at_target - 1) + self.sum(menu, false, others));
        let mut bound = Bound { lower: f64::INFINITY, clears: true, worst: None };
        let open = menu.flips.iter().enumerate().filter(|&(at, _)| self.effect[at] < f64::INFINITY);
        for (at, flip) in open {
            let Some(node) = linked(menu, flip).filter(|&node| menu.cap(node) >= 2) else { continue };
            let second = at_end.get(&node).copied().unwrap_or(0.0).min(anywhere);
            let lower = down(down(self.base + self.effect[at]) + down(second + rest));
            if lower < bound.lower {
                bound = self.at_least(lower, Some(at));
            }
        }
        bound
    }
}

/// The sets of a path, bounded for all class pairs: as a whole, and by cases where that does not show a class.
struct Cases<'a> {
    menu: &'a ChangeMenu<'a>,
    whole: Carried<'a>,
    cases: Vec<(Case, Carried<'a>)>,
}

impl<'a> Cases<'a> {
    /// `None` if it is late.
    fn new(menu: &'a ChangeMenu<'a>, pace: &Pace) -> Option<Cases<'a>> {
        Some(Cases { menu, whole: Carried::new(menu, pace)?, cases: Vec::new() })
    }

    /// Not above the margin after any set.
    fn least(&self, judge: &ChangeJudge, pace: &Pace) -> Option<Bound> {
        let pair = self.whole.pair(judge.reference, judge.other, true, pace)?;
        let lower = down(pair.base.lo + least(pair.effect, self.menu.budget));
        Some(Bound { lower, clears: clears(lower, pair.base.lo), worst: None })
    }

    /// The same by cases.
    fn effects(&mut self, judge: &ChangeJudge, pace: &Pace) -> Option<Vec<Effects>> {
        let menu = self.menu;
        if self.cases.is_empty() {
            let linking = 0..=menu.cap(menu.target);
            let cases = linking.flat_map(|at_target| [false, true].map(|chained| Case { at_target, chained }));
            for case in cases.filter(|case| !case.chained || (1..menu.budget).contains(&case.at_target)) {
                self.cases.push((case, Carried::within(menu, Some(case), pace)?));
            }
        }
        let of = |(case, carried): &(Case, Carried)| {
            // With one hidden layer both ways to bound a margin are the same.
            let pair = carried.pair(judge.reference, judge.other, true, pace)?;
            pair.base.lo.is_finite().then_some(Effects { case: *case, base: pair.base.lo, effect: pair.effect })
        };
        self.cases.iter().map(of).collect()
    }
}

/// The insertions of a target, for one class pair after the other.
pub(crate) struct Insertions<'a> {
    setting: Setting<'a>,
    target: u32,
    pace: &'a Pace,
    /// Changes whose sets were looked at by themselves.
    pub(crate) visited: usize,
}

impl<'a> Insertions<'a> {
    /// `None` where insertions are not bounded by lists.
    pub(crate) fn new(setting: Setting<'a>, target: u32, pace: &'a Pace) -> Option<Insertions<'a>> {
        (setting.by_lists && setting.budget.global() > 1).then_some(Insertions { setting, target, pace, visited: 0 })
    }

    /// For each class, in this order until one is not shown: not above its margin after any set of insertions.
    pub(crate) fn least(&mut self, reference: usize, others: &[usize]) -> Vec<Result<f64, Halt>> {
        let path = ChangePath::default();
        let mut found = Vec::new();
        let Some(menu) = ChangeMenu::standing(self.setting, self.target, &path, self.pace) else { return found };
        let Some(mut cases) = Cases::new(&menu, self.pace) else { return found };
        for &other in others {
            let judge = ChangeJudge { setting: self.setting, target: self.target, reference, other };
            found.push(self.by(&judge, &mut cases));
            if found.last().is_some_and(Result::is_err) {
                break;
            }
        }
        found
    }

    /// The sets of a path.
    fn below(&mut self, judge: &ChangeJudge, path: &ChangePath) -> Result<f64, Halt> {
        let menu = ChangeMenu::standing(self.setting, self.target, path, self.pace).ok_or(Halt::Limit)?;
        if menu.budget <= 1 {
            return judge.list(&menu, self.pace);
        }
        let base = menu.with(&[]);
        if let Some(attack) = judge.attack(&base, judge.margin(&base)) {
            return Err(Halt::Attack(attack));
        }
        self.by(judge, &mut Cases::new(&menu, self.pace).ok_or(Halt::Limit)?)
    }

    /// Bounds of all sets but those with the changes that take most: these are made, one after the other.
    fn by(&mut self, judge: &ChangeJudge, cases: &mut Cases) -> Result<f64, Halt> {
        let menu = cases.menu;
        let whole = cases.least(judge, self.pace).ok_or(Halt::Limit)?;
        if whole.clears {
            return Ok(whole.lower);
        }
        let mut effects = cases.effects(judge, self.pace).ok_or(Halt::Limit)?;
        let mut shown = ChangePath { splits: menu.path.splits + 1, ..menu.path.clone() };
        let mut lower = f64::INFINITY;
        loop {
            let bounds = effects.iter().map(|effects| effects.bound(menu));
            let least = bounds.min_by(|x, y| x.lower.total_cmp(&y.lower)).ok_or(Halt::Limit)?;
            if least.clears {
                return Ok(lower.min(least.lower));
            }
            if self.pace.is_late() {
                return Err(Halt::Limit);
            }
            let at = least.worst.ok_or(Halt::Limit)?;
            let edge = menu.flips[at].edge;
            let mut changed = shown.clone();
            changed.changed.push(edge);
            self.visited += 1;
            lower = lower.min(self.below(judge, &changed)?);
            shown.locked.insert(edge);
            // No set with it is left.
            effects.iter_mut().for_each(|effects| effects.effect[at] = f64::INFINITY);
        }
    }
}
