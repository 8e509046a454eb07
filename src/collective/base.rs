//! What is known of every node by itself: how many flips it takes to break it, and flips that do.

use std::collections::BTreeMap;

use crate::certify::certifier::Certifier;
use crate::certify::contradiction::Contradiction;
use crate::certify::radius::{Radius, radii};
use crate::problem::ProblemError;
use crate::problem::flip::Flip;

/// One node by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Its id in the graph.
    pub node: usize,
    /// The smallest number of flips that is not shown to leave its prediction as it is; 0 if not even the unperturbed
    /// graph is.
    pub needed: usize,
    /// Flips that break it, where some are known.
    pub witness: Option<Vec<Flip>>,
    /// Was the search for it cut short by a limit?
    pub limit_hit: bool,
    /// Two steps that contradict each other about it, if some did.
    pub contradiction: Option<Contradiction>,
}

impl Base {
    /// From a radius.
    pub fn of_radius(node: usize, certified: Option<usize>, attacked: Option<usize>, witness: Vec<Flip>) -> Base {
        let needed = certified.map_or(0, |certified| certified.saturating_add(1));
        Base { node, needed, witness: attacked.map(|_| witness), limit_hit: false, contradiction: None }
    }
}

/// Finds what is known of every node by itself, up to `limit` flips; `progress` is called with each node that is done.
/// `None` if `stopped` says so before all are.
///
/// # Errors
/// If the graph has no such node.
pub fn bases(
    certifier: &Certifier,
    nodes: &[usize],
    limit: usize,
    stopped: impl Fn() -> bool + Sync,
    progress: impl Fn(usize) + Sync,
) -> Result<Option<Vec<Base>>, ProblemError> {
    let found: BTreeMap<usize, Radius> = radii(certifier, nodes, limit, &stopped, |node, _| progress(node))?;
    if stopped() {
        return Ok(None);
    }
    let base = |(node, Radius { certified, attacked, witness, limit_hit, contradiction, .. }): (usize, Radius)| Base {
        limit_hit,
        contradiction,
        ..Base::of_radius(node, certified, attacked, witness)
    };
    Ok(Some(found.into_iter().map(base).collect()))
}
