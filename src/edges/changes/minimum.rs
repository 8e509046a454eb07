//! The worst-case margin of a class pair over all admissible sets of changes, exactly or up to a gap.

use crate::edges::budget::Edge;
use crate::edges::changes::carried::Carried;
use crate::edges::changes::menu::{ChangeMenu, ChangePath};
use crate::edges::changes::prices::priced;
use crate::edges::changes::search::{ChangeJudge, DEPTH, EVALUATION, each_set};
use crate::edges::minimum::EdgeMinimum;
use crate::edges::search::Halt;
use crate::problem::pace::Pace;

/// The search for a minimum. A branch is closed by listing its sets, or by a bound that is not below a margin that was
/// attained.
pub(crate) struct ChangeMinimum<'a> {
    pub(crate) judge: ChangeJudge<'a>,
    pub(crate) pace: &'a Pace,
    pub(crate) nodes: usize,
    pub(crate) visited: usize,
    /// Relative width of the interval that is enough, and the margin without changes.
    pub(crate) gap: f64,
    pub(crate) scale: f64,
    /// The best set so far, with its exact margin.
    pub(crate) best: EdgeMinimum,
    /// Not above the margin of any set in a branch that is left although something below the best margin may be in it.
    pub(crate) lower: f64,
    /// Was a limit hit?
    pub(crate) halted: bool,
}

impl ChangeMinimum<'_> {
    fn offer(&mut self, changes: Vec<Edge>) {
        let margin = self.judge.margin(&changes);
        if margin.lo >= self.best.margin.ceil_f64() {
            return;
        }
        let ChangeJudge { setting, target, reference, other } = self.judge;
        let exact = setting.stack.exact_margin(target, reference, other, &changes);
        if exact < self.best.margin {
            self.best = EdgeMinimum { margin: exact, changes };
        }
    }

    /// Is a branch with this lower bound narrow enough to be left? Whatever the gap, the sign is decided.
    fn is_narrow(&self, lower: f64) -> bool {
        let best = self.best.margin.ceil_f64();
        let width = self.gap * self.scale.max(best.abs());
        self.gap > 0.0 && lower >= best - width && (lower > 0.0 || self.best.margin.sign().is_le())
    }

    /// Looks at everything below a path; `above` is not above the margin of any of its sets.
    pub(crate) fn explore(&mut self, path: &ChangePath, above: f64) {
        if self.visited >= self.nodes
            || path.splits > DEPTH
            || self.pace.is_late()
            || self.branch(path, above).is_none()
        {
            self.halted = true;
            self.lower = self.lower.min(above);
        }
    }

    /// One branch; `None` if it is late.
    fn branch(&mut self, path: &ChangePath, above: f64) -> Option<()> {
        self.visited += 1;
        let menu = ChangeMenu::new(self.judge.setting, self.judge.target, path, self.pace)?;
        self.offer(menu.with(&[]));
        if menu.flips.is_empty() {
            return Some(());
        }
        if menu.is_listed() {
            let pace = self.pace;
            let listed = each_set(&menu, |set| {
                self.offer(menu.with(set));
                if pace.is_late_for(EVALUATION) { Err(Halt::Limit) } else { Ok(()) }
            });
            return listed.ok();
        }
        let carried = Carried::new(&menu, self.pace)?;
        let (mut lower, mut worst) = (above, None);
        for back in [true, false] {
            let pair = carried.pair(self.judge.reference, self.judge.other, back, self.pace)?;
            lower = lower.max(priced(&menu, &pair, back).lower);
            if worst.is_none() {
                worst = pair.effect.iter().enumerate().min_by(|x, y| x.1.total_cmp(y.1)).map(|of| of.0);
            }
        }
        if lower >= self.best.margin.ceil_f64() {
            return Some(());
        }
        if self.is_narrow(lower) {
            self.lower = self.lower.min(lower);
            return Some(());
        }
        let edge = menu.flips[worst?].edge;
        drop(carried);
        drop(menu);
        for splits_on in [true, false] {
            let mut below = ChangePath { splits: path.splits + 1, ..path.clone() };
            if splits_on {
                below.changed.push(edge);
            } else {
                below.locked.insert(edge);
            }
            self.explore(&below, lower);
        }
        Some(())
    }
}
