//! Elementary steps of a thread: a word of an integer, or a float operation, each.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps of this thread: whichever meter looks next has them.
pub(crate) fn step(steps: u64) {
    STEPS.with(|count| count.set(count.get().wrapping_add(steps)));
}

/// Steps of this thread so far, modulo 2⁶⁴: only differences mean something.
pub(crate) fn steps() -> u64 {
    STEPS.with(Cell::get)
}

/// Takes back what was counted after `before`, a number from [`steps`].
pub(crate) fn set_steps(before: u64) {
    STEPS.with(|count| count.set(before));
}
