//! Every name of the certifier that these tests use: what is judged, never what judges.

pub use gcnproof::internals::bound::activation::{first_hidden_in_branch, propagate_in_slice};
pub use gcnproof::internals::bound::attributes::Attributes;
pub use gcnproof::internals::bound::backward::{Backward, Located};
pub use gcnproof::internals::bound::hidden::{Assumption, Hidden};
pub use gcnproof::internals::bound::layer_bounds::LayerBounds;
pub use gcnproof::internals::bound::line::envelope::{Envelope, EnvelopePrices, ListedBudgets};
pub use gcnproof::internals::bound::relaxed::Relaxed;
pub use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
pub use gcnproof::internals::bound::workspace::Workspace;
pub use gcnproof::internals::number::rounding::{Enclosure, error_of};
pub use gcnproof::internals::problem::budget::Decided;
pub use gcnproof::internals::problem::evaluator::Evaluator;
pub use gcnproof::internals::problem::matrix::PatternRows;
pub use gcnproof::internals::problem::places::Places;
pub use gcnproof::internals::problem::slice::Slice;
pub use gcnproof::{
    Bound, Budget, Certifier, Direction, Effort, Flip, Graph, Limits, Margin, Network, NodeResult, Operator, Problem,
    Reason, Verdict, proof, radii,
};

/// A certifier of parts that fit.
pub fn certifier_of(graph: &Graph, network: &Network, budget: Budget, bound: Bound) -> Certifier {
    let problem = Problem::new(graph.clone(), network.clone(), budget).expect("the parts of a test fit");
    Certifier::builder(problem).bound(bound).build()
}
