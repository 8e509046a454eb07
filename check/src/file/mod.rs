//! Whole files of proofs.
//!
//! | module | what |
//! |---|---|
//! | `options` | what is said to a check besides the files |
//! | `header` | the first line |
//! | `stream` | a file about single nodes, line by line |
//! | `collective` | a file about one attack |
//! | `summary` | what became of a file |
//! | `answer` | which of its claims answer the question |
//! | `source` | files that are none of proofs |
//! | `rewrite` | a file written out as hints |

mod answer;
mod collective;
mod header;
mod options;
mod rewrite;
mod source;
mod stream;
mod summary;

pub(crate) use header::{Stop, read_header};
pub use options::Options;
pub use rewrite::{Expanded, expand, expand_file};
pub use source::open_proofs;
pub use stream::check;
pub use summary::{Collective, Rejection, Stated, Summary};
