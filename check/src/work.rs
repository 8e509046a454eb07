//! How much a check may cost: limits, and meters that compare with them what is about to be done.
//!
//! Costs are counted in elementary steps, a word of an integer or a float operation each, so that an outcome depends on the files and the limits
//! and not on the machine. Who does something that may be long says how many steps it takes *before* doing it ([`Meter::spend`]); exact numbers
//! count for themselves (`step`), and who computes with many of them looks at the meter from time to time ([`Meter::look`]). What exceeds a limit
//! ends as [`Reason::TooExpensive`]: neither accepted nor rejected.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lines::Raw;
use crate::reason::Reason;

/// Steps that take about a second, for people only.
const PER_SECOND: u64 = 1_000_000_000;

/// Steps for a byte of a line that is taken apart.
const BYTE: u64 = 8;

/// So many times as much may a check in exact numbers cost.
const EXACT: u64 = 256;

/// Lines of bounds, all together, may cost so many times as much for every node as what is not accepted.
const BOUNDS: u64 = 256;

/// A meter tells what it has counted to all others after so many steps, and looks whether the check is to stop.
const TELL: u64 = 1 << 22;

/// What a check may cost, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps for one leaf, besides [`Limits::flip`]; and for all bends of a leaf.
    pub leaf: u64,
    /// Steps for a leaf for each flip, each entry of an operator along which it is sent, and each unit that it changes: what a leaf costs on a large
    /// neighbourhood, where no price rules a flip out.
    pub flip: u64,
    /// Steps for one line, besides those that the neighbourhood allows for one leaf of every class; the header is a line.
    pub line: u64,
    /// Steps for all lines that turn out not to be accepted, whatever the graph, and for what all lines share.
    pub file: u64,
    /// The same, besides, for every node of the graph.
    pub node: u64,
    /// Bytes of what is kept beside graph, model and one line at a time.
    pub memory: u64,
}

/// No honest file comes near: `FORMAT.md` §2.
impl Default for Limits {
    fn default() -> Limits {
        Limits { leaf: 1 << 30, flip: 1 << 8, line: 1 << 32, file: 1 << 32, node: 1 << 20, memory: 1 << 29 }
    }
}

impl Limits {
    /// Nothing is too expensive.
    pub const NONE: Limits =
        Limits { leaf: u64::MAX, flip: u64::MAX, line: u64::MAX, file: u64::MAX, node: u64::MAX, memory: u64::MAX };

    /// So many times the default; no limits for 0.
    pub fn factor(factor: u64) -> Limits {
        if factor == 0 { Limits::NONE } else { Limits::default().times(factor, factor) }
    }

    /// For a check in exact numbers alone: trees have as many leaves, and all of them are expensive.
    #[must_use]
    pub(crate) fn exact(self) -> Limits {
        self.times(1, EXACT)
    }

    /// Some times as much for a leaf and for memory, and for more than a leaf.
    fn times(self, leaf: u64, more: u64) -> Limits {
        let Limits { leaf: of_leaf, flip, line, file, node, memory } = self;
        Limits {
            leaf: of_leaf.saturating_mul(leaf),
            flip: flip.saturating_mul(leaf),
            line: line.saturating_mul(more),
            file: file.saturating_mul(more),
            node: node.saturating_mul(more),
            memory: memory.saturating_mul(leaf),
        }
    }
}

/// What something would cost, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Of one line.
    Line {
        /// Steps that it takes at least.
        steps: u64,
        /// Steps that it may take.
        allowed: u64,
    },
    /// Of all lines that are not accepted, and of what lines share.
    File {
        /// Steps that they take at least.
        steps: u64,
        /// Steps that they may take.
        allowed: u64,
    },
    /// Of what has to be kept.
    Memory {
        /// Bytes that it takes at least.
        bytes: u64,
        /// Bytes that it may take.
        allowed: u64,
    },
}

impl Cost {
    /// The cost of a whole of which so much is done.
    pub(crate) fn of_whole(self, done: usize, whole: usize) -> Cost {
        match self {
            Cost::Line { steps, allowed } => {
                let steps = u128::from(steps) * (whole as u128) / (done as u128 + 1);
                Cost::Line { steps: u64::try_from(steps).unwrap_or(u64::MAX), allowed }
            }
            other => other,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (what, needed, allowed) = match *self {
            Cost::Line { steps, allowed } => ("", time(steps), time(allowed)),
            Cost::File { steps, allowed } => ("what is not accepted takes ", time(steps), time(allowed)),
            Cost::Memory { bytes, allowed } => ("", memory(bytes), memory(allowed)),
        };
        let would = if what.is_empty() { "would take " } else { what };
        write!(f, "too expensive: {would}about {needed} or more, allowed are {allowed} (--work-limit raises that)")
    }
}

/// Steps as people measure them.
fn time(steps: u64) -> String {
    let seconds = steps / PER_SECOND;
    match seconds {
        0 => "1 s".into(),
        1..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} minutes", seconds / 60),
        7_200..=172_799 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn memory(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MB", (bytes >> 20).max(1)),
        gigabytes => format!("{gigabytes} GB of memory"),
    }
}

thread_local! {
    /// What this thread has done so far.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps of this thread: whichever meter looks next has them.
pub(crate) fn step(steps: u64) {
    STEPS.with(|count| count.set(count.get().wrapping_add(steps)));
}

/// What this thread has done so far.
pub(crate) fn steps() -> u64 {
    STEPS.with(Cell::get)
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// For all lines.
    pub all: u64,
    /// For the most expensive line.
    pub line: u64,
    /// For lines that are not accepted, for reading, and for what lines share.
    pub wasted: u64,
}

/// The work of a whole check. Shared by all threads.
#[derive(Debug)]
pub struct Work {
    limits: Limits,
    /// Steps for all lines.
    file: u64,
    /// Steps of all lines.
    spent: AtomicU64,
    /// Steps of those that are not accepted, and of what lines share.
    wasted: AtomicU64,
    /// Bytes that are kept until the check is done.
    kept: AtomicU64,
    /// The most that a line has cost.
    largest: AtomicU64,
    /// Steps for lines of bounds, and how many they may become.
    bounds: AtomicU64,
    all_bounds: u64,
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
            all_bounds: limits.file.saturating_add(limits.node.saturating_mul(BOUNDS).saturating_mul(nodes as u64)),
            stop,
        }
    }

    /// Work on any number of lines, each of which has the default limits.
    pub fn lines() -> Arc<Work> {
        Arc::new(Work::new(Limits { file: u64::MAX, memory: u64::MAX, ..Limits::default() }.exact(), 0, None))
    }

    /// Work without limits that is stopped with this one.
    pub(crate) fn unlimited(&self) -> Work {
        Work::new(Limits::NONE, 0, self.stop)
    }

    /// What is asked whether the check is to stop.
    pub(crate) fn stop(&self) -> Option<fn() -> bool> {
        self.stop
    }

    /// Is the check to stop?
    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop())
    }

    /// Some lines are about to be taken apart.
    pub(crate) fn read(&self, lines: &[Raw]) -> Result<(), Reason> {
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

    /// Judges a line of bounds, which all lines share: a short file may state very many of them, so that they have a limit together.
    ///
    /// # Errors
    /// What is wrong with the line, or that it is too expensive.
    pub(crate) fn bounds<T>(&self, judge: impl FnOnce(&Meter) -> Result<T, Reason>) -> Result<T, Reason> {
        let meter = self.line();
        meter.most.set(self.all_bounds.saturating_sub(self.bounds.load(Ordering::Relaxed)));
        let before = steps();
        let judged = judge(&meter);
        self.bounds.fetch_add(steps().wrapping_sub(before), Ordering::Relaxed);
        judged
    }

    /// A meter for a line, for the thread that judges it.
    pub fn line(&self) -> Meter<'_> {
        let zero = || Cell::new(0);
        let cap = Cell::new(self.limits.line);
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
        let [all, line, wasted] = [&self.spent, &self.largest, &self.wasted].map(|count| count.load(Ordering::Relaxed));
        Steps { all, line, wasted }
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
    /// Bytes that are held.
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
        STEPS.with(|count| count.set(before));
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
        Work::new(Limits { leaf: 100, flip: 10, line, file, node: 0, memory: 100 }, 0, None)
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
        assert_eq!(work.spent(), Steps { all: 1001, line: 1001, wasted: 0 });
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
    fn what_is_shared_counts_for_the_file() {
        let work = small(10, 3 * TELL);
        let meter = work.line();
        assert_eq!(meter.shared(|| step(3 * TELL)), Ok(()));
        assert_eq!(meter.spend(10), Ok(()));
        assert!(meter.shared(|| step(1)).is_err());
        drop(meter);
        assert_eq!(work.spent(), Steps { all: 3 * TELL + 11, line: 10, wasted: 3 * TELL + 1 });
    }

    #[test]
    fn the_cost_of_a_whole_is_told_by_what_is_done() {
        let line = |steps: u64| Cost::Line { steps, allowed: 7 };
        assert_eq!(line(30).of_whole(2, 100), line(1000));
        assert_eq!(line(u64::MAX).of_whole(0, 2), line(u64::MAX));
    }

    #[test]
    fn limits_are_multiples_of_the_default() {
        let default = Limits::default();
        assert_eq!(Limits::factor(1), default);
        let twice = Limits::factor(2);
        assert_eq!((twice.leaf, twice.flip, twice.line), (2 * default.leaf, 2 * default.flip, 2 * default.line));
        assert_eq!((twice.file, twice.node, twice.memory), (2 * default.file, 2 * default.node, 2 * default.memory));
        let exact = default.exact();
        assert_eq!((exact.leaf, exact.flip, exact.memory), (default.leaf, default.flip, default.memory));
        assert_eq!(
            (exact.line, exact.file, exact.node),
            (EXACT * default.line, EXACT * default.file, EXACT * default.node)
        );
        assert_eq!(Limits::factor(0), Limits::NONE);
        assert_eq!(Limits::factor(u64::MAX), Limits::NONE);
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
        let unlimited = Work::new(Limits::NONE, 1, Some(|| false));
        assert_eq!(unlimited.line().spend(u64::MAX), Ok(()));
    }

    #[test]
    fn costs_are_told_as_people_measure() {
        let line = |steps: u64| Cost::Line { steps, allowed: 17 * PER_SECOND }.to_string();
        let told = line(40 * PER_SECOND);
        assert_eq!(told, "too expensive: would take about 40 s or more, allowed are 17 s (--work-limit raises that)");
        for (seconds, words) in [(120, "2 minutes"), (7200, "2 hours"), (172_800, "2 days")] {
            assert!(line(seconds * PER_SECOND).contains(words), "{words}");
        }
        let memory = Cost::Memory { bytes: 11 << 30, allowed: 1 << 29 }.to_string();
        assert!(memory.contains("about 11 GB of memory or more, allowed are 512 MB"), "{memory}");
    }
}
