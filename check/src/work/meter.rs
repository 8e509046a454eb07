//! Counters of what a check costs: one for the whole check, and one for the line that a thread judges.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::limits::Limits;
use crate::number::{set_steps, step, steps};
use crate::verdict::{Cost, Reason};

/// Steps for a byte of a line that is taken apart.
const BYTE: u64 = 8;

/// A meter tells what it has counted to all others after so many steps, and looks whether the check is to stop.
const TELL: u64 = 1 << 22;

/// Steps that a check has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Of all lines, and of what they share.
    pub all: u64,
    /// For the most expensive line.
    pub line: u64,
    /// For lines that are not accepted, for reading, and for what lines share.
    pub wasted: u64,
    /// For bounds of hidden units, stated or by default.
    pub bounds: u64,
}

/// The work of a whole check. Shared by all threads.
#[derive(Debug)]
pub struct Work {
    limits: Limits,
    /// Steps that may be in vain.
    file: u64,
    /// Steps of all lines, and of what they share.
    spent: AtomicU64,
    /// Steps of those that are not accepted, and of what lines share.
    wasted: AtomicU64,
    /// Bytes that are kept until the check is done.
    kept: AtomicU64,
    /// The most that a line has cost.
    largest: AtomicU64,
    /// Steps for bounds of hidden units, of how many layers and nodes, and how many steps each of them allows.
    bounds: AtomicU64,
    begun: AtomicU64,
    each: AtomicU64,
    stop: Option<fn() -> bool>,
}

impl Work {
    /// Work on a graph of so many nodes, which `stop` may end.
    pub fn new(limits: Limits, nodes: usize, stop: Option<fn() -> bool>) -> Work {
        let file = limits.file.saturating_add(limits.node.saturating_mul(nodes as u64));
        Work {
            limits,
            file,
            spent: AtomicU64::new(0),
            wasted: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            largest: AtomicU64::new(0),
            bounds: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            each: AtomicU64::new(limits.bounds),
            stop,
        }
    }

    /// Work on any number of lines, each of which has the default limits.
    pub fn lines() -> Arc<Work> {
        Arc::new(Work::new(Limits { file: u64::MAX, memory: u64::MAX, ..Limits::default() }.exact(), 0, None))
    }

    /// Work within what is left for what lines share, stopped with this one.
    pub(crate) fn rest(&self) -> Work {
        let line = self.file.saturating_sub(self.wasted.load(Ordering::Relaxed));
        Work::new(Limits { line, ..Limits::NONE }, 0, self.stop)
    }

    /// Is the check to stop?
    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop())
    }

    /// Some lines are about to be taken apart.
    pub(crate) fn read(&self, lines: &[Result<Vec<u8>, Reason>]) -> Result<(), Reason> {
        let bytes = lines.iter().flatten().map(|line| line.len() as u64).sum::<u64>();
        self.waste(bytes.saturating_mul(BYTE) / 4);
        self.go_on()
    }

    /// So many steps were spent on what is not accepted, or on what all lines share.
    pub(crate) fn waste(&self, steps: u64) {
        self.wasted.fetch_add(steps, Ordering::Relaxed);
    }

    /// Refuses to go on where too much was in vain, or the check is to stop.
    pub(crate) fn go_on(&self) -> Result<(), Reason> {
        let (wasted, allowed) = (self.wasted.load(Ordering::Relaxed), self.file);
        match wasted > allowed {
            _ if self.stopped() => Err(Reason::Interrupted),
            true => Err(Reason::TooExpensive(Cost::File { steps: wasted, allowed })),
            false => Ok(()),
        }
    }

    /// The network has so many weights between hidden layers.
    pub(crate) fn set_weights(&self, weights: usize) {
        self.each.store(self.limits.bounds_of(weights), Ordering::Relaxed);
    }

    /// Bounds of the units of a layer and node are begun: a short file reaches few nodes, so that it allows few steps.
    pub(crate) fn begin_bounds(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn allowed_bounds(&self) -> u64 {
        let [begun, each] = [&self.begun, &self.each].map(|count| count.load(Ordering::Relaxed));
        self.limits.file.saturating_add(begun.saturating_mul(each))
    }

    /// Judges a line of bounds, which all lines share: a short file may state very many of them, so that they have a
    /// limit together.
    ///
    /// # Errors
    /// What is wrong with the line, or that it is too expensive.
    pub(crate) fn bounds<T>(&self, judge: impl FnOnce(&Meter) -> Result<T, Reason>) -> Result<T, Reason> {
        self.begin_bounds();
        let meter = self.line();
        meter.most.set(self.allowed_bounds().saturating_sub(self.bounds.load(Ordering::Relaxed)));
        let before = steps();
        let judged = judge(&meter);
        self.bounds.fetch_add(steps().wrapping_sub(before), Ordering::Relaxed);
        judged
    }

    /// May so many steps more be spent on default bounds, which all lines share? They count as those of lines of bounds
    /// do.
    pub(crate) fn affords(&self, steps: u64) -> bool {
        let before = self.bounds.fetch_add(steps, Ordering::Relaxed);
        before.saturating_add(steps) <= self.allowed_bounds() && !self.stopped()
    }

    /// Refuses what rests on default bounds that were too expensive.
    pub(crate) fn afforded(&self) -> Result<(), Reason> {
        let (steps, allowed) = (self.bounds.load(Ordering::Relaxed), self.allowed_bounds());
        if steps > allowed { Err(Reason::TooExpensive(Cost::Bounds { steps, allowed })) } else { Ok(()) }
    }

    /// A meter for the header.
    pub fn header(&self) -> Meter<'_> {
        self.meter(self.limits.header)
    }

    /// A meter for a line, for the thread that judges it.
    pub fn line(&self) -> Meter<'_> {
        self.meter(self.limits.line)
    }

    fn meter(&self, cap: u64) -> Meter<'_> {
        let (zero, cap) = (|| Cell::new(0), Cell::new(cap));
        Meter {
            work: self,
            line: zero(),
            cap,
            most: Cell::new(u64::MAX),
            told: zero(),
            seen: Cell::new(steps()),
            held: zero(),
        }
    }

    /// What was done so far.
    pub fn spent(&self) -> Steps {
        let counts = [&self.spent, &self.largest, &self.wasted, &self.bounds];
        let [all, line, wasted, bounds] = counts.map(|count| count.load(Ordering::Relaxed));
        Steps { all, line, wasted, bounds }
    }
}

/// Counts what a line costs, in the thread that judges it.
#[derive(Debug)]
pub struct Meter<'w> {
    work: &'w Work,
    /// Steps of the line so far.
    line: Cell<u64>,
    /// How many they may become.
    cap: Cell<u64>,
    /// How many they may become whatever is allowed for the neighbourhood.
    most: Cell<u64>,
    /// Those that are known to all already.
    told: Cell<u64>,
    /// What the thread had done when the meter was last looked at.
    seen: Cell<u64>,
    /// Bytes that are held until the line is done.
    held: Cell<u64>,
}

impl Meter<'_> {
    /// So many steps are about to be done.
    ///
    /// # Errors
    /// If they are too many, or if the check is to stop.
    pub fn spend(&self, to_come: u64) -> Result<(), Reason> {
        step(to_come);
        let now = steps();
        let line = self.line.get().saturating_add(now.wrapping_sub(self.seen.replace(now)));
        self.line.set(line);
        let allowed = self.cap.get().min(self.most.get());
        if line > allowed {
            return Err(Reason::TooExpensive(Cost::Line { steps: line, allowed }));
        }
        if line.saturating_sub(self.told.get()) < TELL { Ok(()) } else { self.tell() }
    }

    /// The line is about so many classes, each with leaves on a neighbourhood with so many flips times units.
    pub(crate) fn allow(&self, classes: usize, flips: u64) {
        let more = self.work.limits.flip.saturating_mul(flips).saturating_mul(classes as u64);
        self.cap.set(self.cap.get().saturating_add(more));
    }

    /// Judges a leaf on a neighbourhood with so many flips times units, within the limits of one.
    pub(crate) fn leaf<T>(&self, flips: u64, judge: impl FnOnce() -> Result<T, Reason>) -> Result<T, Reason> {
        self.look()?;
        let limits = &self.work.limits;
        let allowed = limits.leaf.saturating_add(limits.flip.saturating_mul(flips));
        let cap = self.cap.get();
        self.cap.set(cap.min(self.line.get().saturating_add(allowed)));
        let judged = judge();
        self.cap.set(cap);
        judged
    }

    /// What was counted since counts.
    ///
    /// # Errors
    /// As for [`Meter::spend`].
    pub fn look(&self) -> Result<(), Reason> {
        self.spend(0)
    }

    /// Refuses what is known to take more steps than are left, before any of them is done; nothing is counted.
    ///
    /// # Errors
    /// As for [`Meter::spend`].
    pub fn ahead(&self, steps: u64) -> Result<(), Reason> {
        self.look()?;
        let line = self.line.get().saturating_add(steps);
        let allowed = self.cap.get().min(self.most.get());
        if line > allowed { Err(Reason::TooExpensive(Cost::Line { steps: line, allowed })) } else { Ok(()) }
    }

    /// Does something, and what was held for it is held no longer.
    pub(crate) fn while_held<T>(&self, compute: impl FnOnce() -> T) -> T {
        let before = self.held.get();
        let result = compute();
        self.held.set(before);
        result
    }

    /// Refuses more steps than a leaf may take on any neighbourhood.
    ///
    /// # Errors
    /// If there are more.
    pub(crate) fn within_leaf(&self, steps: u64) -> Result<(), Reason> {
        let allowed = self.work.limits.leaf;
        if steps > allowed { Err(Reason::TooExpensive(Cost::Line { steps, allowed })) } else { Ok(()) }
    }

    /// So many bytes more are kept until the check is done.
    ///
    /// # Errors
    /// If they are too many.
    pub(crate) fn keep(&self, bytes: u64) -> Result<(), Reason> {
        let kept = self.work.kept.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let allowed = self.work.limits.memory;
        if kept > allowed { Err(Reason::TooExpensive(Cost::Memory { bytes: kept, allowed })) } else { Ok(()) }
    }

    /// So many bytes more are held until the line is done.
    ///
    /// # Errors
    /// If they are too many.
    pub fn hold(&self, bytes: u64) -> Result<(), Reason> {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        let allowed = self.work.limits.memory;
        if held > allowed { Err(Reason::TooExpensive(Cost::Memory { bytes: held, allowed })) } else { Ok(()) }
    }

    /// Does something that all lines share, and does not count for this one.
    ///
    /// # Errors
    /// If too much was in vain already.
    pub(crate) fn shared<T>(&self, compute: impl FnOnce() -> T) -> Result<T, Reason> {
        self.work.go_on()?;
        let before = steps();
        let result = compute();
        let done = steps().wrapping_sub(before);
        set_steps(before);
        self.work.spent.fetch_add(done, Ordering::Relaxed);
        self.work.waste(done);
        self.work.go_on().map(|()| result)
    }

    /// The line is done, another begins.
    pub(crate) fn restart(&self) {
        let now = steps();
        let line = self.line.replace(0).saturating_add(now.wrapping_sub(self.seen.replace(now)));
        self.work.spent.fetch_add(line.saturating_sub(self.told.replace(0)), Ordering::Relaxed);
        self.work.largest.fetch_max(line, Ordering::Relaxed);
        self.held.set(0);
        self.cap.set(self.work.limits.line);
    }

    /// Lets the file know, and looks whether to go on.
    fn tell(&self) -> Result<(), Reason> {
        let new = self.line.get().saturating_sub(self.told.replace(self.line.get()));
        self.work.spent.fetch_add(new, Ordering::Relaxed);
        self.work.go_on()
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(line: u64, file: u64) -> Work {
        Work::new(Limits { leaf: 100, flip: 10, line, file, node: 0, bounds: 0, memory: 100, ..Limits::NONE }, 0, None)
    }

    #[test]
    fn a_line_may_cost_its_limit_and_no_more() {
        let work = small(1000, u64::MAX);
        let meter = work.line();
        assert_eq!(meter.spend(600), Ok(()));
        step(399);
        assert_eq!(meter.ahead(1), Ok(()));
        let too_much = Err(Reason::TooExpensive(Cost::Line { steps: 1001, allowed: 1000 }));
        assert_eq!(meter.ahead(2), too_much);
        step(1);
        assert_eq!(meter.look(), Ok(()));
        step(1);
        assert_eq!(meter.look(), too_much);
        drop(meter);
        assert_eq!(work.spent(), Steps { all: 1001, line: 1001, wasted: 0, bounds: 0 });
        // What the thread has done before is not the next line's.
        assert_eq!(work.line().spend(1000), Ok(()));
        assert_eq!(work.spent().all, 2001);
    }

    #[test]
    fn a_leaf_has_its_own_limit_within_the_line() {
        let work = small(1000, u64::MAX);
        let meter = work.line();
        meter.allow(2, 5);
        assert_eq!(meter.spend(500), Ok(()));
        let too_much = |steps: u64| Err(Reason::TooExpensive(Cost::Line { steps, allowed: steps - 1 }));
        assert_eq!(meter.leaf(5, || meter.spend(150)), Ok(()));
        assert_eq!(meter.leaf(4, || meter.spend(141)), too_much(791));
        assert_eq!(meter.within_leaf(100), Ok(()));
        assert_eq!(meter.within_leaf(101), too_much(101));
        // The line goes on, up to its own limit and what its neighbourhood allows.
        assert_eq!(meter.spend(309), Ok(()));
        assert_eq!(meter.leaf(5, || meter.spend(1)), too_much(1101));
        assert_eq!(meter.look(), too_much(1101));
        // Nothing is begun beyond it.
        assert_eq!(meter.leaf(5, || Ok(())), too_much(1101));
        meter.restart();
        assert_eq!(meter.spend(1000), Ok(()));
        assert!(meter.spend(1).is_err());
    }

    #[test]
    fn what_is_in_vain_is_limited_for_all_lines_together() {
        let work = Work::new(Limits { line: u64::MAX, file: 10, node: 10, ..Limits::NONE }, 2, None);
        // What is accepted costs what it costs.
        assert_eq!(work.line().spend(100 * TELL), Ok(()));
        work.waste(30);
        assert_eq!(work.line().spend(TELL), Ok(()));
        work.waste(1);
        let too_much = Err(Reason::TooExpensive(Cost::File { steps: 31, allowed: 30 }));
        assert_eq!(work.go_on(), too_much);
        assert_eq!(work.line().spend(TELL), too_much);
        assert_eq!(work.read(&[Ok(vec![0; 5])]), Err(Reason::TooExpensive(Cost::File { steps: 41, allowed: 30 })));
    }

    #[test]
    fn every_step_is_told_once() {
        let work = Work::new(Limits::NONE, 0, None);
        let meter = work.line();
        assert_eq!((meter.spend(TELL), meter.spend(TELL + 1)), (Ok(()), Ok(())));
        assert_eq!(work.spent().all, 2 * TELL + 1);
        assert_eq!(meter.spend(2), Ok(()));
        // What was done since the meter was last looked at counts as well.
        step(3);
        drop(meter);
        assert_eq!(work.spent(), Steps { all: 2 * TELL + 6, line: 2 * TELL + 6, wasted: 0, bounds: 0 });
    }

    #[test]
    fn lines_of_bounds_have_a_limit_together() {
        let work = Work::new(Limits { line: 1000, file: 10, bounds: 0, ..Limits::NONE }, 2, None);
        assert_eq!(work.bounds(|meter| meter.spend(6)), Ok(()));
        assert_eq!(work.bounds(|meter| meter.spend(4)), Ok(()));
        let too_much = Err(Reason::TooExpensive(Cost::Line { steps: 1, allowed: 0 }));
        assert_eq!(work.bounds(|meter| meter.spend(1)), too_much);
        assert_eq!(work.spent().bounds, 11);
    }

    #[test]
    fn what_is_shared_counts_for_the_file() {
        let work = small(10, 3 * TELL);
        let meter = work.line();
        assert_eq!(meter.shared(|| step(3 * TELL)), Ok(()));
        assert_eq!(meter.spend(10), Ok(()));
        assert!(meter.shared(|| step(1)).is_err());
        // Nothing more is begun.
        assert!(meter.shared(|| step(1)).is_err());
        drop(meter);
        assert_eq!(work.spent(), Steps { all: 3 * TELL + 11, line: 10, wasted: 3 * TELL + 1, bounds: 0 });
    }

    #[test]
    fn default_bounds_have_a_limit_of_their_own() {
        let work = Work::new(Limits { line: u64::MAX, file: 10, bounds: 256, ..Limits::NONE }, 2, None);
        let allowed = 10 + 2 * 256;
        (0..2).for_each(|_| work.begin_bounds());
        assert!(work.affords(allowed - 1) && work.affords(1));
        assert_eq!(work.afforded(), Ok(()));
        assert!(!work.affords(1));
        assert_eq!(work.afforded(), Err(Reason::TooExpensive(Cost::Bounds { steps: allowed + 1, allowed })));
        // What is accepted besides costs what it costs.
        assert_eq!(work.line().spend(100 * TELL), Ok(()));
        assert!(!Work::new(Limits::NONE, 2, Some(|| true)).affords(0));
    }

    #[test]
    fn what_lines_share_has_what_is_left() {
        let work = small(1000, 100);
        work.waste(40);
        assert_eq!(work.rest().line().spend(60), Ok(()));
        assert!(work.rest().line().spend(61).is_err());
        work.waste(100);
        assert!(work.rest().line().spend(1).is_err());
    }

    #[test]
    fn the_cost_of_a_whole_is_told_by_what_is_done() {
        let line = |steps: u64| Cost::Line { steps, allowed: 7 };
        assert_eq!(line(30).of_whole(2, 100), line(1000));
        assert_eq!(line(u64::MAX).of_whole(0, 2), line(u64::MAX));
    }

    #[test]
    fn memory_is_given_back() {
        let work = small(10, 10);
        let meter = work.line();
        let too_much = Err(Reason::TooExpensive(Cost::Memory { bytes: 101, allowed: 100 }));
        assert_eq!(meter.hold(60), Ok(()));
        assert_eq!(meter.while_held(|| meter.hold(40)), Ok(()));
        assert_eq!(meter.while_held(|| meter.hold(41)), too_much);
        assert_eq!(meter.hold(40), Ok(()));
        assert_eq!(meter.hold(1), too_much);
        meter.restart();
        assert_eq!(meter.hold(100), Ok(()));
        // What is kept is so for all lines.
        assert_eq!(meter.keep(100), Ok(()));
        assert_eq!(work.line().keep(1), too_much);
    }

    #[test]
    fn a_check_can_be_stopped() {
        let work = Work::new(Limits::NONE, 0, Some(|| true));
        let meter = work.line();
        assert_eq!(meter.spend(TELL - 1), Ok(()));
        assert_eq!(meter.spend(1), Err(Reason::Interrupted));
        let ahead = work.line();
        step(TELL);
        assert_eq!(ahead.ahead(0), Err(Reason::Interrupted));
        let unlimited = Work::new(Limits::NONE, 1, Some(|| false));
        assert_eq!(unlimited.line().spend(u64::MAX), Ok(()));
    }
}
