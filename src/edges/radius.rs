//! Radii: the largest number of removed edges that a node surely withstands, and the smallest with which it was attacked.

use crate::certify::verdict::Verdict;
use crate::edges::budget::Edge;
use crate::edges::certifier::EdgeCertifier;
use crate::edges::problem::EdgeError;

/// What is known of a node for all `E` up to a limit, the local budget being fixed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeRadius {
    /// The largest `E` that is certified; none if not even `E = 0` is (a tie).
    pub certified: Option<usize>,
    /// The smallest `E` with a witness, if one was found.
    pub attacked: Option<usize>,
    /// The witness for that `E`.
    pub witness: Vec<Edge>,
    /// The class predicted on the graph as it is.
    pub predicted: usize,
    /// Edges whose removal can change something.
    pub relevant_edges: usize,
    /// Was a search cut short?
    pub limit_hit: bool,
}

/// Finds the radius of a node up to `limit` removals, all within the certifier's time limit.
///
/// # Errors
/// If the graph has no such node, or an answer contradicts itself or another.
pub fn edge_radius(certifier: &EdgeCertifier, node: usize, limit: usize) -> Result<EdgeRadius, EdgeError> {
    let certifier = certifier.timed_together();
    let mut radius = EdgeRadius::default();
    let mut ask = 0;
    let mut undecided: Option<usize> = None;
    loop {
        let result = certifier.at_global(ask).one(node)?;
        (radius.predicted, radius.relevant_edges) = (result.predicted, result.relevant_edges);
        radius.limit_hit |= result.limit_hit;
        match result.verdict {
            // Whoever withstands the removal of everything that matters withstands all.
            Verdict::Robust => {
                radius.certified = Some(if ask >= result.relevant_edges { limit } else { ask });
            }
            Verdict::NonRobust => {
                radius.attacked = Some(result.witness.len());
                radius.witness = result.witness;
            }
            Verdict::Undecided => undecided = Some(undecided.map_or(ask, |first| first.min(ask))),
        }
        if radius.attacked.is_some_and(|attacked| radius.certified.is_some_and(|certified| certified >= attacked)) {
            let what = format!("{:?} removals are certified, and {:?} break it", radius.certified, radius.witness);
            return Err(EdgeError::Contradiction { node, what });
        }
        let low = match radius.certified {
            Some(low) if low < limit => low,
            _ => return Ok(radius),
        };
        // Above an undecided `E` only attacks are of interest, and those were looked for.
        let high = radius.attacked.into_iter().chain(undecided).min();
        ask = match high {
            Some(high) if high <= low + 1 => return Ok(radius),
            Some(high) => low + (high - low) / 2,
            None => (2 * low).max(1).min(limit),
        };
    }
}
