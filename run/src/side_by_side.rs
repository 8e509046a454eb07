//! Pieces of work that take long, several at a time; what they give is handed over in their order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What was handed over, and what waits for pieces before it.
struct Handed<T, F> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    take: F,
}

/// Works on so many items at a time (no more than threads), begun in their order, and hands results over in that order.
/// An item without a result ends the work: no other is begun, and what was finished after it is still handed over.
pub(crate) fn side_by_side<I: Sync, T: Send>(
    items: &[I],
    at_once: usize,
    work: impl Fn(&I) -> Option<T> + Sync,
    take: impl FnMut(T) + Send,
) {
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let handed = Mutex::new(Handed { next: 0, waiting: BTreeMap::new(), take });
    let lane = || {
        while !ended.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let Some(result) = work(item) else { return ended.store(true, Ordering::Relaxed) };
            let mut handed = handed.lock().unwrap_or_else(PoisonError::into_inner);
            let Handed { next, waiting, take } = &mut *handed;
            waiting.insert(at, result);
            while let Some(result) = waiting.remove(next) {
                take(result);
                *next += 1;
            }
        }
    };
    // A thread that waits for a part of its own work takes up other work meanwhile: lanes that have begun are not among
    // it, and with no more lanes than threads all begin at once.
    match at_once.min(items.len()) {
        0 | 1 => lane(),
        lanes => rayon::scope(|scope| (0..lanes).for_each(|_| scope.spawn(|_| lane()))),
    }
    let Handed { waiting, mut take, .. } = handed.into_inner().unwrap_or_else(PoisonError::into_inner);
    waiting.into_values().for_each(&mut take);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_order() {
        for at_once in [0, 1, 2, 7] {
            let items: Vec<u64> = (0..20).collect();
            let mut taken = Vec::new();
            let work = |&item: &u64| {
                std::thread::sleep(Duration::from_millis(item * 7 % 5));
                Some(item)
            };
            side_by_side(&items, at_once, work, |item| taken.push(item));
            assert_eq!(taken, items);
        }
    }

    /// What was finished is not lost.
    #[test]
    fn an_end_ends_the_work() {
        for at_once in [1, 4] {
            let items: Vec<usize> = (0..1000).collect();
            let mut taken = Vec::new();
            side_by_side(&items, at_once, |&item| (item != 10).then_some(item), |item| taken.push(item));
            assert!(taken.starts_with(&(0..10).collect::<Vec<_>>()) && taken.len() < 1000, "{taken:?}");
            assert!(taken.is_sorted() && !taken.contains(&10));
        }
    }
}
