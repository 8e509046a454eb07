//! Work of other threads that is waited for inside that of a target: no other target is begun meanwhile.

use std::cell::OnceCell;
use std::sync::Arc;

/// Works with threads of its own while the present one waits. A thread of rayon that waits for others takes up other work, and that
/// might ask for the very thing that is being made.
pub(crate) fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    with_threads(rayon::current_num_threads(), work)
}

thread_local! {
    /// The single thread that works for this one: kept, because a new one begins with memory of its own to be cleared.
    static HELPER: OnceCell<Option<Arc<rayon::ThreadPool>>> = const { OnceCell::new() };
}

/// The same with a single thread: for work inside that of a target, whose buffers other targets must not ask for meanwhile.
pub(crate) fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let helper = HELPER.with(|helper| helper.get_or_init(|| pool(1)).clone());
    waiting(|| match helper {
        Some(pool) => pool.install(work),
        None => work(),
    })
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    waiting(|| match pool(threads) {
        Some(pool) => pool.install(work),
        // Without threads the work is done all the same.
        None => work(),
    })
}

fn pool(threads: usize) -> Option<Arc<rayon::ThreadPool>> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new)
}

/// Works in another thread, and does nothing else meanwhile.
fn waiting<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
