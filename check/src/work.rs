//! How much a check may cost: limits, and meters that compare with them what is about to be done.
//!
//! Costs are counted in elementary steps, a word of an integer or a float operation each, so that an outcome depends on the files and the limits
//! and not on the machine. Who does something that may be long says how many steps it takes *before* doing it ([`Meter::spend`]); exact numbers
//! count for themselves ([`step`]), and who computes with many of them looks at the meter from time to time ([`Meter::look`]). What exceeds a limit
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

/// A meter tells what it has counted to all others after so many steps, and looks whether the check is to stop.
const TELL: u64 = 1 << 22;

/// What a check may cost, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps for one line; the header is one.
    pub line: u64,
    /// Steps for all lines of a file, whatever the graph.
    pub file: u64,
    /// The same, besides, for every node of the graph.
    pub node: u64,
    /// Bytes of what is kept beside graph, model and one line at a time.
    pub memory: u64,
}

/// No honest file comes near: `FORMAT.md` §2.
impl Default for Limits {
    fn default() -> Limits {
        Limits { line: 1 << 34, file: 1 << 34, node: 1 << 27, memory: 1 << 29 }
    }
}

impl Limits {
    /// Nothing is too expensive.
    pub const NONE: Limits = Limits { line: u64::MAX, file: u64::MAX, node: u64::MAX, memory: u64::MAX };

    /// So many times as much.
    #[must_use]
    pub fn times(self, factor: u64) -> Limits {
        let times = |limit: u64| limit.saturating_mul(factor);
        let Limits { line, file, node, memory } = self;
        Limits { line: times(line), file: times(file), node: times(node), memory: times(memory) }
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
    /// Of all lines so far.
    File {
        /// Steps that they take at least.
        steps: u64,
        /// Steps that all may take.
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

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (what, needed, allowed) = match *self {
            Cost::Line { steps, allowed } => ("", time(steps), time(allowed)),
            Cost::File { steps, allowed } => ("the lines up to here take ", time(steps), time(allowed)),
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

fn steps() -> u64 {
    STEPS.with(Cell::get)
}

/// The work of a whole check. Shared by all threads.
#[derive(Debug)]
pub struct Work {
    limits: Limits,
    /// Steps for all lines.
    file: u64,
    spent: AtomicU64,
    /// Bytes that are kept until the check is done.
    kept: AtomicU64,
    /// The most that a line has cost.
    largest: AtomicU64,
    stop: Option<fn() -> bool>,
}

impl Work {
    /// Work on a graph of so many nodes, which `stop` may end.
    pub fn new(limits: Limits, nodes: usize, stop: Option<fn() -> bool>) -> Work {
        let file = limits.file.saturating_add(limits.node.saturating_mul(nodes as u64));
        Work { limits, file, spent: AtomicU64::new(0), kept: AtomicU64::new(0), largest: AtomicU64::new(0), stop }
    }

    /// Work on any number of lines, each of which has the default limits.
    pub fn lines() -> Arc<Work> {
        Arc::new(Work::new(Limits { file: u64::MAX, ..Limits::default() }, 0, None))
    }

    /// Work without limits that is stopped with this one.
    pub(crate) fn unlimited(&self) -> Work {
        Work::new(Limits::NONE, 0, self.stop)
    }

    /// Is the check to stop?
    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop())
    }

    /// Some lines are about to be taken apart.
    pub(crate) fn read(&self, lines: &[Raw]) -> Result<(), Reason> {
        let bytes = lines.iter().flatten().map(|line| line.len() as u64).sum::<u64>();
        self.spent.fetch_add(bytes.saturating_mul(BYTE), Ordering::Relaxed);
        self.go_on()
    }

    /// Refuses to go on where all lines so far cost too much, or the check is to stop.
    fn go_on(&self) -> Result<(), Reason> {
        let (spent, allowed) = (self.spent(), self.file);
        match spent > allowed {
            _ if self.stopped() => Err(Reason::Interrupted),
            true => Err(Reason::TooExpensive(Cost::File { steps: spent, allowed })),
            false => Ok(()),
        }
    }

    /// A meter for a line, for the thread that judges it.
    pub fn line(&self) -> Meter<'_> {
        Meter { work: self, line: Cell::new(0), told: Cell::new(0), seen: Cell::new(steps()), held: Cell::new(0) }
    }

    /// Steps so far, of all lines that are done.
    pub fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// Steps of the most expensive line so far.
    pub fn largest(&self) -> u64 {
        self.largest.load(Ordering::Relaxed)
    }
}

/// Counts what a line costs, in the thread that judges it.
#[derive(Debug)]
pub struct Meter<'w> {
    work: &'w Work,
    /// Steps of the line so far.
    line: Cell<u64>,
    /// Those that count for the file already.
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
    pub fn spend(&self, steps_to_come: u64) -> Result<(), Reason> {
        let now = steps();
        let done = now.wrapping_sub(self.seen.replace(now));
        let line = self.line.get().saturating_add(done).saturating_add(steps_to_come);
        self.line.set(line);
        if line > self.work.limits.line {
            return Err(Reason::TooExpensive(Cost::Line { steps: line, allowed: self.work.limits.line }));
        }
        if line.saturating_sub(self.told.get()) < TELL { Ok(()) } else { self.tell() }
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
        let allowed = self.work.limits.line;
        if line > allowed { Err(Reason::TooExpensive(Cost::Line { steps: line, allowed })) } else { Ok(()) }
    }

    /// Does something, and what was held for it is held no longer.
    pub(crate) fn while_held<T>(&self, compute: impl FnOnce() -> T) -> T {
        let before = self.held.get();
        let result = compute();
        self.held.set(before);
        result
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

    /// Does something that all lines share: it counts for the file, and not for this line.
    pub(crate) fn shared<T>(&self, compute: impl FnOnce() -> T) -> T {
        let before = steps();
        let result = compute();
        let done = steps().wrapping_sub(before);
        self.seen.set(self.seen.get().wrapping_add(done));
        self.work.spent.fetch_add(done, Ordering::Relaxed);
        result
    }

    /// The line is done, another begins.
    pub(crate) fn restart(&self) {
        let now = steps();
        let line = self.line.replace(0).saturating_add(now.wrapping_sub(self.seen.replace(now)));
        self.work.spent.fetch_add(line.saturating_sub(self.told.replace(0)), Ordering::Relaxed);
        self.work.largest.fetch_max(line, Ordering::Relaxed);
        self.held.set(0);
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
        Work::new(Limits { line, file, node: 0, memory: 100 }, 0, None)
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
        assert_eq!((work.spent(), work.largest()), (1001, 1001));
        // What the thread has done before is not the next line's.
        assert_eq!(work.line().spend(1000), Ok(()));
        assert_eq!(work.spent(), 2001);
    }

    #[test]
    fn all_lines_together_may_cost_the_limit_of_the_file() {
        let work = Work::new(Limits { line: u64::MAX, file: TELL, node: TELL, memory: 0 }, 2, None);
        assert_eq!(work.line().spend(2 * TELL), Ok(()));
        assert_eq!(work.line().spend(TELL), Ok(()));
        let too_much = Err(Reason::TooExpensive(Cost::File { steps: 4 * TELL, allowed: 3 * TELL }));
        assert_eq!(work.line().spend(TELL), too_much);
    }

    #[test]
    fn what_is_shared_counts_for_the_file() {
        let work = small(10, 3 * TELL);
        let meter = work.line();
        meter.shared(|| step(TELL));
        assert_eq!(meter.spend(10), Ok(()));
        drop(meter);
        assert_eq!((work.spent(), work.largest()), (TELL + 10, 10));
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
