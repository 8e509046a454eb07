//! `minilp`, a simplex in pure Rust: the second, independent engine, for LPs only, and under guard.
//!
//! It has been seen to return `Ok` with NaN (on unbounded programs, which boxes exclude and the review would catch), it may
//! panic, and it cannot be interrupted. So it runs in a thread of its own and we wait for the answer until the deadline.
//! After that the thread is *left behind*: it keeps its core and memory until it is done, for Rust cannot stop a thread.
//! To keep that harmless, programs above a size are refused, and while [`MAX_LEFT_BEHIND`] are running a new one waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use ::minilp::{ComparisonOp, Error, OptimizationDirection, Problem};

use super::{Answer, Limits, Solver, Status};
use crate::program::Program;

/// How many runs may be left behind at the same time.
pub const MAX_LEFT_BEHIND: usize = 2;

static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);

/// `minilp` with the sizes that it is trusted with.
#[derive(Clone, Copy, Debug)]
pub struct Minilp {
    /// Most rows.
    pub max_rows: usize,
    /// Most coefficients.
    pub max_nonzeros: usize,
}

impl Default for Minilp {
    /// 20,000 rows and 10 million coefficients. (Measured: 568 rows and 4.6 million coefficients take 4 s.)
    fn default() -> Self {
        Self { max_rows: 20_000, max_nonzeros: 10_000_000 }
    }
}

impl Solver for Minilp {
    fn name(&self) -> &'static str {
        "minilp"
    }

    fn integers(&self) -> bool {
        false
    }

    fn attempt(&self, program: &Program, limits: &Limits) -> Answer {
        let large = program.rows.len() > self.max_rows || program.nonzeros() > self.max_nonzeros;
        if large {
            return Answer::empty(Status::TooLarge);
        }
        let deadline =
            Duration::try_from_secs_f64(limits.seconds.max(0.0)).ok().and_then(|d| Instant::now().checked_add(d));
        while LEFT_BEHIND.load(Ordering::SeqCst) >= MAX_LEFT_BEHIND {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Answer::empty(Status::Busy);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let problem = translated(program);
        let (sender, receiver) = mpsc::channel();
        let (ticket, offset) = (Ticket::default(), program.offset);
        let in_thread = ticket.clone();
        let spawned = thread::Builder::new().name("minilp".into()).spawn(move || {
            let _until_done = in_thread;
            let result = problem.solve().map(|solution| {
                let values: Vec<f64> = solution.iter().map(|(_, value)| *value).collect();
                (solution.objective() + offset, values)
            });
            // Nobody listens any more after the deadline.
            let _ = sender.send(result);
        });
        if spawned.is_err() {
            return Answer::empty(Status::Failed);
        }
        // A deadline too far to be written down is none.
        let patience = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        match receiver.recv_timeout(patience) {
            Ok(Ok((objective, values))) => {
                Answer { objective: Some(objective), values: Some(values), ..Answer::empty(Status::Optimal) }
            }
            Ok(Err(Error::Infeasible)) => Answer::empty(Status::Infeasible),
            Ok(Err(Error::Unbounded)) => Answer::empty(Status::Unbounded),
            Err(RecvTimeoutError::Disconnected) => Answer::empty(Status::Failed),
            Err(RecvTimeoutError::Timeout) => {
                ticket.leave_behind();
                Answer::empty(Status::TimeLimit)
            }
        }
    }
}

fn translated(program: &Program) -> Problem {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<_> = program.variables.iter().map(|v| problem.add_var(v.objective, (v.lower, v.upper))).collect();
    for row in &program.rows {
        let left = || row.coefficients.iter().map(|&(at, value)| (columns[at], value)).collect::<Vec<_>>();
        if row.lower == row.upper {
            problem.add_constraint(left(), ComparisonOp::Eq, row.lower);
            continue;
        }
        if row.lower.is_finite() {
            problem.add_constraint(left(), ComparisonOp::Ge, row.lower);
        }
        if row.upper.is_finite() {
            problem.add_constraint(left(), ComparisonOp::Le, row.upper);
        }
    }
    problem
}

/// Counts a run as left behind from the deadline until its thread is done, in whichever order the two come.
#[derive(Clone, Default)]
struct Ticket(std::sync::Arc<Running>);

#[derive(Default)]
struct Running {
    left: AtomicUsize,
}

impl Ticket {
    fn leave_behind(self) {
        self.0.left.store(1, Ordering::SeqCst);
        LEFT_BEHIND.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Running {
    /// The last holder is gone: the thread has ended (also by a panic) and nobody waits.
    fn drop(&mut self) {
        LEFT_BEHIND.fetch_sub(*self.left.get_mut(), Ordering::SeqCst);
    }
}
