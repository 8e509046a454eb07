//! Every name of the certifier that these tests use: what is judged, never what judges.

pub use gcnproof::attribute::Attributes;
pub use gcnproof::bounds::{LayerBounds, first_hidden_in_branch, propagate_in_slice};
pub use gcnproof::budget::{Budget, Direction, Restriction};
pub use gcnproof::certifier::{Bound, Certifier, Effort, Workspace};
pub use gcnproof::dual::{Backward, Located, Relaxed};
pub use gcnproof::envelope::{Envelope, Left, Prices};
pub use gcnproof::graph::Graph;
pub use gcnproof::hidden::{Assumption, Hidden};
pub use gcnproof::model::{Gcn, MessagePassing};
pub use gcnproof::proof;
pub use gcnproof::radius::radii;
pub use gcnproof::rounding::{Enclosure, error_of};
pub use gcnproof::search::tree::Limits;
pub use gcnproof::selection::{Flip, Selection, Slopes};
pub use gcnproof::slice::Slice;
pub use gcnproof::verdict::{Margin, NodeResult, Reason, Verdict};
pub use gcnproof::witness::{Evaluator, Problem};
