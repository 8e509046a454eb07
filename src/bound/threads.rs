//! Work on threads of its own, for which the calling thread waits idle.
//!
//! A thread of rayon's pool that waits for others takes up other work meanwhile. Inside the work on a target that work
//! might be another target, which needs the very value that is being made, or the same thread-local buffers: a
//! deadlock or a panic.

use std::cell::OnceCell;
use std::sync::Arc;

/// Works on a new pool of as many threads as the present one.
pub(crate) fn in_own_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let threads = rayon::current_num_threads();
    idle_while(|| match pool(threads) {
        Some(pool) => pool.install(work),
        // Without threads the work is done all the same.
        None => work(),
    })
}

thread_local! {
    /// The single thread that works for this one: kept, because a new one begins with memory of its own to be cleared.
    static HELPER: OnceCell<Option<Arc<rayon::ThreadPool>>> = const { OnceCell::new() };
}

/// Works on a single thread that belongs to the calling one: for work inside that of a target.
pub(crate) fn in_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let helper = HELPER.with(|helper| helper.get_or_init(|| pool(1)).clone());
    idle_while(|| match helper {
        Some(pool) => pool.install(work),
        None => work(),
    })
}

fn pool(threads: usize) -> Option<Arc<rayon::ThreadPool>> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new)
}

/// Works in a new thread outside every pool, so that the calling one does nothing else meanwhile.
fn idle_while<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
