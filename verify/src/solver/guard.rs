//! Runs of solvers that we cannot interrupt: each in a thread of its own, waited for until a deadline, and counted
//! after it.
//!
//! A run that has not answered by its deadline is *left behind*: it keeps its core and memory until it is done, for
//! Rust cannot stop a thread. To keep that harmless, while [`MAX_LEFT_BEHIND`] runs of a solver go on, a new one waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Limits, Status};

/// How many runs of a solver may be left behind at the same time.
const MAX_LEFT_BEHIND: usize = 2;

/// Counts the runs of one solver that have outlived their deadline.
pub(super) struct Guard {
    left_behind: AtomicUsize,
}

impl Guard {
    pub(super) const fn new() -> Self {
        Self { left_behind: AtomicUsize::new(0) }
    }

    /// The result of `work`, or why there is none: `Busy`, `TimeLimit`, or `Failed` when it has panicked.
    ///
    /// `prepare` builds what the thread needs; it is not called while the solver is busy.
    pub(super) fn run<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
        &'static self,
        name: &str,
        limits: &Limits,
        prepare: impl FnOnce() -> W,
    ) -> Result<T, Status> {
        let deadline =
            Duration::try_from_secs_f64(limits.seconds.max(0.0)).ok().and_then(|d| Instant::now().checked_add(d));
        while self.left_behind.load(Ordering::SeqCst) >= MAX_LEFT_BEHIND {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Status::Busy);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let work = prepare();
        let (sender, receiver) = mpsc::channel();
        let ticket = Arc::new(Ticket { guard: self, left: AtomicUsize::new(0) });
        let in_thread = ticket.clone();
        let spawned = thread::Builder::new().name(name.into()).spawn(move || {
            let _until_done = in_thread;
            // Nobody listens any more after the deadline.
            let _ = sender.send(work());
        });
        if spawned.is_err() {
            return Err(Status::Failed);
        }
        // A deadline too far to be written down is none.
        let patience = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Disconnected => Status::Failed,
            RecvTimeoutError::Timeout => {
                ticket.leave_behind();
                Status::TimeLimit
            }
        })
    }
}

/// Counts a run as left behind from the deadline until its thread is done, in whichever order the two come.
struct Ticket {
    guard: &'static Guard,
    left: AtomicUsize,
}

impl Ticket {
    fn leave_behind(&self) {
        self.left.store(1, Ordering::SeqCst);
        self.guard.left_behind.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Ticket {
    /// The last holder is gone: the thread has ended (also by a panic) and nobody waits.
    fn drop(&mut self) {
        self.guard.left_behind.fetch_sub(*self.left.get_mut(), Ordering::SeqCst);
    }
}
