//! How far a run goes where nobody says: it searches, and gives a node up after a few seconds.

use std::time::Duration;

use gcnproof::Limits;
use gcnproof_results::record::description::USUAL_SECONDS;

/// The time limit where none is given: none for who asks for a complete search by that name.
pub fn usual_seconds(complete: bool) -> Option<f64> {
    (!complete).then_some(USUAL_SECONDS)
}

/// Limits of a search: seconds for a node, tree nodes for a class pair.
pub fn limits(seconds: Option<f64>, nodes: Option<usize>) -> Limits {
    let default = Limits::default();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Limits { nodes: nodes.unwrap_or(default.nodes), time: time.unwrap_or(default.time) }
}

/// Limits in words.
pub fn limit_words(limits: &Limits) -> String {
    let default = Limits::default();
    let time = (limits.time < default.time).then(|| format!("its limit of {} s", limits.time.as_secs_f64()));
    let nodes = (limits.nodes < default.nodes).then(|| format!("its limit of {} tree nodes", limits.nodes));
    [time, nodes].into_iter().flatten().collect::<Vec<_>>().join(" or ")
}
