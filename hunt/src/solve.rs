//! Brute force over a whole case, which the end of a hunt cuts short.

use crate::case::Case;
use crate::finding::Counts;
use crate::tested::stopped;
use crate::truth::{Oracle, Truth};

/// The truth of every node; of the first ones, if everything is to stop.
pub fn solve(case: &Case, counts: &Counts) -> Vec<Truth> {
    Counts::time(&counts.solving, || {
        let oracle = Oracle::new(case);
        let until = case.components.iter().take_while(|range| range.start == 0 || !stopped());
        until.flat_map(|range| oracle.component(range.clone())).collect()
    })
}
