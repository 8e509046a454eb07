//! Limits of a search, its deadline, and the question whether it is to stop: long work looks at its clock, and a bound that was cut short is no bound.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Asks whether work is to be interrupted; by default never. It is asked often, and by all threads.
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

/// None.
impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: usize::MAX, time: Duration::MAX }
    }
}

/// When a search must end, however far it is.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// If there is a time.
    pub deadline: Option<Instant>,
    /// Was it interrupted?
    pub stop: Stop,
}

impl Clock {
    /// Is it time to stop?
    pub fn is_late(&self) -> bool {
        self.stop.is_set() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// A clock that is looked at in the middle of work, by any thread, and that remembers: once it was late, it stays so. What is computed after
/// that may be thrown away, and whoever throws it away is never told otherwise.
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

    /// Is it time to stop?
    pub fn is_late(&self) -> bool {
        if !self.was_late() && self.clock.is_late() {
            self.late.store(true, Ordering::Relaxed);
        }
        self.was_late()
    }

    /// Was it, when somebody last looked?
    pub fn was_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }
}
