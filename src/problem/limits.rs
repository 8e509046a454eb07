//! Limits of a search, its deadline, and the question whether it is to stop: long work looks at its clock, and a bound
//! that was cut short is no bound.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether work is to be interrupted; by default never. All threads call it, and often.
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Stops once `asked` says so.
    pub fn when(asked: impl Fn() -> bool + Send + Sync + 'static) -> Stop {
        Stop(Arc::new(asked))
    }

    /// Is work to be interrupted?
    pub fn is_set(&self) -> bool {
        (self.0)()
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::when(|| false)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Stop({})", self.is_set())
    }
}

/// When a search gives up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Tree nodes per class pair.
    pub nodes: usize,
    /// Time per target.
    pub time: Duration,
}

/// No limits.
impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: usize::MAX, time: Duration::MAX }
    }
}

/// When a search must end, however far it is.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// None if time is not limited.
    pub deadline: Option<Instant>,
    /// Whether the user has interrupted the work.
    pub stop: Stop,
}

impl Clock {
    /// Has the deadline passed, or was the work interrupted?
    pub fn is_late(&self) -> bool {
        self.stop.is_set() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// A clock that any thread may look at in the middle of its work. Once it was late it stays late, so that all who
/// discard what was computed after the deadline agree.
#[derive(Debug, Default)]
pub struct Watch {
    clock: Clock,
    late: AtomicBool,
}

impl Watch {
    /// Begins to watch a clock.
    pub fn new(clock: Clock) -> Watch {
        Watch { clock, late: AtomicBool::new(false) }
    }

    /// The clock that is watched; it may be late before the watch has noticed.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Has the deadline passed, or was the work interrupted?
    pub fn is_late(&self) -> bool {
        if !self.was_late() && self.clock.is_late() {
            self.late.store(true, Ordering::Relaxed);
        }
        self.was_late()
    }

    /// Had it passed when [`Watch::is_late`] was last called? Does not look at the clock.
    pub fn was_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }
}
