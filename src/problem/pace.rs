//! The clock of a node, looked at in the midst of its work.

use std::cell::Cell;
use std::time::Instant;

use crate::problem::limits::{Clock, Stop};

/// Multiplications between two looks at the clock: some ten microseconds.
const BETWEEN: usize = 1 << 15;

/// Asks the clock every so often, so that no step of the work is longer than its limit and none pays for asking. Once
/// late, always late.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Clock,
    start: Instant,
    work: Cell<usize>,
    late: Cell<bool>,
}

impl Pace {
    pub(crate) fn new(clock: Clock) -> Pace {
        Pace { clock, start: Instant::now(), work: Cell::new(0), late: Cell::new(false) }
    }

    /// Never late.
    pub(crate) fn endless() -> Pace {
        Pace::new(Clock { deadline: None, stop: Stop::default() })
    }

    /// The share of the time that is over; 0 if there is no limit.
    pub(crate) fn share(&self) -> f64 {
        let whole = self.clock.deadline.map(|deadline| deadline.saturating_duration_since(self.start));
        whole.map_or(0.0, |whole| self.start.elapsed().as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE))
    }

    /// Is it time to stop?
    pub(crate) fn is_late(&self) -> bool {
        if !self.late.get() {
            self.late.set(self.clock.is_late());
        }
        self.late.get()
    }

    /// The same before work of about so many multiplications: what is cut short here has no result.
    #[inline]
    pub(crate) fn is_late_for(&self, work: usize) -> bool {
        let sum = self.work.get().saturating_add(work);
        self.work.set(if sum < BETWEEN { sum } else { 0 });
        if sum < BETWEEN { self.late.get() } else { self.is_late() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_asked_once_in_a_while_and_at_once_before_much_work() {
        let pace = Pace::new(Clock { deadline: Some(std::time::Instant::now()), stop: Stop::default() });
        assert!(!pace.is_late_for(1));
        assert!(pace.is_late_for(BETWEEN));
        assert!(pace.is_late_for(1) && pace.is_late());
        let endless = Pace::endless();
        assert!(!endless.is_late_for(usize::MAX) && !endless.is_late_for(usize::MAX) && !endless.is_late());
    }
}
