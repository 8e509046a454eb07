//! Attacks on a whole graph by several changes: the change that slopes say takes most, one after the other, then swaps
//! as long as they help, from several starts (docs/math.md §24.7). What it finds is judged as every attack is.

use crate::edges::budget::Edge;
use crate::edges::changes::menu::{ChangeMenu, EdgeFlip};
use crate::edges::changes::search::EVALUATION;
use crate::edges::changes::sets::Sets;
use crate::edges::changes::slopes::Plain;
use crate::number::random::SplitMix64;
use crate::problem::pace::Pace;

/// Of the changes that slopes rank, so many are tried.
const TRIED: usize = 12;

/// Starts for a class: where all pairs are looked at anyway, where there are few changes, and where there are so many
/// that bounds seldom decide.
const FEW_STARTS: usize = 3;
const STARTS: usize = 12;
const MANY_STARTS: usize = 60;
const MANY: usize = 200;

/// No further start after this share of the time.
const SHARE: f64 = 0.6;

/// The same where bounds decide most of what is left (docs/math.md §24.8).
const SHARE_BEFORE_BOUNDS: f64 = 0.1;

/// Classes that are started again: those with the smallest margins.
const CLASSES: usize = 3;

/// Rounds of swaps from one start.
const SWEEPS: usize = 4;

/// A climb for the classes of a graph.
pub(crate) struct Climb<'a> {
    /// Of single changes, and of all that may be made.
    menu: &'a ChangeMenu<'a>,
    whole: &'a ChangeMenu<'a>,
    reference: usize,
    others: &'a [usize],
    pace: &'a Pace,
    plain: Plain<'a>,
    /// What sets do to the margins of these classes, from the rows that they reach alone, and the margins of the graph
    /// as it is.
    sets: Option<Sets<'a>>,
    before: Vec<f64>,
    /// By class: the smallest margin that was seen, and its changes.
    best: Vec<Summit>,
    random: SplitMix64,
}

/// The best that was found for a class.
#[derive(Clone)]
struct Summit {
    margin: f64,
    set: Vec<EdgeFlip>,
}

/// Why a climb ended: changes that break the class as floats say, or the time.
enum End {
    Broken(Vec<EdgeFlip>),
    Late,
}

impl<'a> Climb<'a> {
    /// `menu` is one of single changes; `sets` has the heads of the classes.
    pub(crate) fn new(
        menu: &'a ChangeMenu<'a>,
        whole: &'a ChangeMenu<'a>,
        reference: usize,
        others: &'a [usize],
        sets: Option<Sets<'a>>,
        pace: &'a Pace,
    ) -> Climb<'a> {
        let mut plain = Plain::new(menu.setting.stack, menu.target);
        let logits = plain.logits();
        let before = others.iter().map(|&other| logits[reference] - logits[other]).collect();
        let best = vec![Summit { margin: f64::INFINITY, set: Vec::new() }; others.len()];
        let random = SplitMix64::new(u64::from(menu.target));
        Climb { menu, whole, reference, others, pace, plain, sets, before, best, random }
    }

    /// Sets of changes that break the class, as far as floats can tell; otherwise the best for each class.
    pub(crate) fn sets(mut self) -> Vec<Vec<Edge>> {
        if self.menu.flips.is_empty() {
            return Vec::new();
        }
        let starts = match self.menu.flips.len() {
            // All pairs are looked at where two changes of a graph are made.
            _ if self.whole.budget == 2 => FEW_STARTS,
            0..MANY => STARTS,
            _ => MANY_STARTS,
        };
        let budget = self.whole.setting.budget;
        let mut nodes = self.whole.setting.stack.graph.nodes_of(self.whole.target as usize);
        let bounded = self.whole.budget > 2 && nodes.all(|node| budget.local(node) <= 1);
        let share = if bounded { SHARE_BEFORE_BOUNDS } else { SHARE };
        let mut climb = || -> Result<(), End> {
            for at in 0..self.others.len() {
                self.from(at, Vec::new())?;
            }
            for _ in 1..starts {
                if self.pace.share() > share {
                    break;
                }
                let mut order: Vec<usize> = (0..self.others.len()).collect();
                order.sort_by(|&x, &y| self.best[x].margin.total_cmp(&self.best[y].margin));
                for &at in order.iter().take(CLASSES) {
                    let mut set = self.best[at].set.clone();
                    for _ in 0..set.len().div_ceil(2) {
                        set.swap_remove(self.random.below(set.len()));
                    }
                    let any = self.menu.flips[self.random.below(self.menu.flips.len())];
                    if set.len() + 1 < self.whole.budget && !set.contains(&any) {
                        set.push(any);
                        if !self.whole.admits(&set) {
                            set.pop();
                        }
                    }
                    self.from(at, set)?;
                }
            }
            Ok(())
        };
        match climb() {
            Err(End::Broken(set)) => vec![self.whole.with(&set)],
            _ => self.best.iter().map(|best| self.whole.with(&best.set)).collect(),
        }
    }

    /// Climbs from a set.
    fn from(&mut self, at: usize, start: Vec<EdgeFlip>) -> Result<(), End> {
        let mut now = Summit { margin: self.margin(at, &start)?, set: start };
        while now.set.len() < self.whole.budget {
            match self.better(at, &now.set, f64::INFINITY)? {
                Some(next) => now = next,
                None => break,
            }
        }
        for _ in 0..SWEEPS {
            let before = now.margin;
            for place in 0..now.set.len() {
                let mut rest = now.set.clone();
                rest.remove(place);
                if let Some(next) = self.better(at, &rest, now.margin)? {
                    now = next;
                }
            }
            if now.margin >= before {
                break;
            }
        }
        if now.margin < self.best[at].margin {
            self.best[at] = now;
        }
        Ok(())
    }

    /// The set with one change more of those that are tried whose margin is smallest, if it is below a number.
    fn better(&mut self, at: usize, set: &[EdgeFlip], below: f64) -> Result<Option<Summit>, End> {
        let effects = self.effects(at, set)?;
        let changes = &self.menu.flips;
        let mut order: Vec<usize> = (0..effects.len()).collect();
        let few = (8 * TRIED).min(order.len());
        let by_effect = |x: &usize, y: &usize| effects[*x].total_cmp(&effects[*y]).then(x.cmp(y));
        if few < order.len() {
            order.select_nth_unstable_by(few, by_effect);
            order.truncate(few);
        }
        order.sort_by(by_effect);
        let mut best: Option<Summit> = None;
        let mut larger = set.to_vec();
        let mut tried = 0;
        for place in order {
            let flip = changes[place];
            larger.push(flip);
            if !set.contains(&flip) && self.whole.admits(&larger) {
                let margin = self.margin(at, &larger)?;
                if margin < best.as_ref().map_or(below, |best| best.margin) {
                    best = Some(Summit { margin, set: larger.clone() });
                }
                tried += 1;
            }
            larger.pop();
            if tried == TRIED {
                break;
            }
        }
        Ok(best)
    }

    /// What each further change adds, as far as slopes tell.
    fn effects(&mut self, at: usize, set: &[EdgeFlip]) -> Result<Vec<f64>, End> {
        self.of_all_rows(at, set)?;
        set.iter().for_each(|flip| self.plain.toggle(flip.edge));
        let effects = self.plain.effects(self.reference, self.others[at], &self.menu.flips);
        set.iter().for_each(|flip| self.plain.toggle(flip.edge));
        Ok(effects)
    }

    /// The margin over a class after a set of changes, from the rows that it reaches; `None` where that is not known, or
    /// a class may be broken.
    fn quick(&mut self, at: usize, set: &[EdgeFlip]) -> Result<Option<f64>, End> {
        let Some(changes) = self.sets.as_mut().and_then(|sets| sets.least(set)) else { return Ok(None) };
        if self.pace.is_late_for(EVALUATION / 8) {
            return Err(End::Late);
        }
        let positive = changes.iter().zip(&self.before).all(|(change, before)| before + change > 0.0);
        Ok(positive.then(|| self.before[at] + changes[at]))
    }

    /// The margin over a class after a set of changes.
    fn margin(&mut self, at: usize, set: &[EdgeFlip]) -> Result<f64, End> {
        match self.quick(at, set)? {
            Some(margin) => Ok(margin),
            None => self.of_all_rows(at, set),
        }
    }

    /// The same from all rows, as slopes need it.
    fn of_all_rows(&mut self, at: usize, set: &[EdgeFlip]) -> Result<f64, End> {
        if self.pace.is_late_for(self.plain.work()) {
            return Err(End::Late);
        }
        set.iter().for_each(|flip| self.plain.toggle(flip.edge));
        let (reference, others) = (self.reference, self.others);
        let logits = self.plain.logits();
        let margin = logits[reference] - logits[others[at]];
        let broken = others.iter().any(|&other| logits[reference] - logits[other] < 0.0);
        set.iter().for_each(|flip| self.plain.toggle(flip.edge));
        if broken { Err(End::Broken(set.to_vec())) } else { Ok(margin) }
    }
}
