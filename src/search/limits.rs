//! Limits of a search, its deadline, and the question whether it is to stop.

use std::fmt;
use std::sync::Arc;
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
#[derive(Clone, Debug)]
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
