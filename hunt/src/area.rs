//! What is attacked: each area has a generator, a brute force and attacks of its own, and its own counts.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicU64;

use crate::finding::{Counts, Kind};

/// A part of the program that is attacked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Flipped attributes, on chains of layers with one term each.
    Flips,
    /// Flipped attributes, on networks that a model file describes: sums of terms, skips, linear units, polynomials.
    Terms,
    /// Removed edges.
    Edges,
    /// One attack for the whole graph.
    Collective,
    /// Executions in float32 of described networks.
    Deployed,
    /// Questions put to the checker about files that state something else.
    Questions,
}

/// All areas, in the order of the counts.
pub const AREAS: [Area; 6] = [Area::Flips, Area::Terms, Area::Edges, Area::Collective, Area::Deployed, Area::Questions];

impl Area {
    /// A short name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Area::Flips => "flips",
            Area::Terms => "terms",
            Area::Edges => "edges",
            Area::Collective => "collective",
            Area::Deployed => "deployed",
            Area::Questions => "questions",
        }
    }

    /// How many cases of a hundred are about it, where all areas are attacked: cases of some are larger or slower than of others.
    pub fn weight(self) -> usize {
        match self {
            Area::Flips => 30,
            Area::Terms => 14,
            Area::Edges => 20,
            Area::Collective => 16,
            Area::Deployed => 14,
            Area::Questions => 6,
        }
    }
}

impl FromStr for Area {
    type Err = String;

    fn from_str(name: &str) -> Result<Area, String> {
        let known = || AREAS.map(Area::name).join(", ");
        AREAS.into_iter().find(|area| area.name() == name).ok_or_else(|| format!("'{name}' is none of {}", known()))
    }
}

/// Counts of one area.
#[derive(Default)]
pub struct AreaCounts {
    /// Cases: graphs with one model.
    pub cases: AtomicU64,
    /// Components, or whole graphs where a case is not cut into components.
    pub problems: AtomicU64,
    /// Nodes decided and compared with the truth.
    pub nodes: AtomicU64,
    /// Executions drawn.
    pub executions: AtomicU64,
    /// Own proofs shown to the checker.
    pub own: AtomicU64,
    /// Tampered and forged proofs, headers and questions shown to the checker.
    pub shown: AtomicU64,
    /// Of those, with a false claim.
    pub false_claims: AtomicU64,
    /// Of those, accepted.
    pub accepted: AtomicU64,
    /// Nanoseconds of processor time.
    pub nanoseconds: AtomicU64,
    /// Findings; slow searches are not counted.
    pub found: AtomicU64,
}

impl AreaCounts {
    /// Counts a finding.
    pub fn find(&self, kind: Kind) {
        Counts::add(&self.found, usize::from(kind != Kind::Slow));
    }
}

impl fmt::Display for AreaCounts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let of = Counts::get;
        write!(f, "problems {} nodes {} own proofs {}", of(&self.problems), of(&self.nodes), of(&self.own))?;
        let (shown, wrong, accepted) = (of(&self.shown), of(&self.false_claims), of(&self.accepted));
        write!(f, " tampered or forged {shown} (false claims {wrong}, accepted {accepted})")?;
        if of(&self.executions) > 0 {
            write!(f, " executions {}", of(&self.executions))?;
        }
        write!(f, " findings {} ({:.1} s)", of(&self.found), of(&self.nanoseconds) as f64 * 1e-9)
    }
}
