//! Proofs about one attack for the whole graph (`FORMAT-COLLECTIVE.md`): reading, and the rules that define what is
//! accepted.
//!
//! | module | what |
//! |---|---|
//! | `line` | the lines of a file; [`mod@format`] has their short names |
//! | `statement` | what header, graph and model mean, and which predictions count |
//! | `weights` | the weights of flips by a share line: exactly, or not below that from floats rounded outward |
//! | `limit` | which flips need a closer look: those that may be worth more than their price |
//! | `size` | the sizes of flips, from the largest weights |
//! | `component` | what follows where predictions are rounded down in each component of the graph by itself |
//! | `worth` | what the share lines add up to for every flip, and the bound that follows |
//! | `order` | which lines may follow each other |
//! | `checker` | one line, and the claim |

use std::sync::{Mutex, MutexGuard, PoisonError};

mod checker;
mod component;
mod limit;
mod line;
mod order;
mod size;
mod statement;
mod weights;
mod worth;
mod written;

pub(crate) use checker::CollectiveChecker;
pub use checker::accept;
pub(crate) use line::{CollectiveClaim, CollectiveHeader, CollectiveLine, Cover, Share, ShareLeaf};
pub(crate) use order::{Order, Placed};
pub(crate) use statement::CollectiveStatement;
pub use statement::CollectiveStatement as Statement;
pub(crate) use written::WrittenShare;

/// What a mutex holds, whatever became of those who held it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shares are integers in units of 2⁻²⁴; this is 1.
pub const ONE: u32 = 1 << 24;

/// The lines of a file by their short names, for those who have no other kind of proofs at hand.
pub mod format {
    pub use super::line::{
        CollectiveClaim as Claim, CollectiveHeader as Header, CollectiveLine as Line, CollectiveProof as Proof, Cover,
        MOST_SHARES, Share, ShareLeaf as Leaf, VERSION,
    };
}
