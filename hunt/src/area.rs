//! What is attacked: each area has a generator, a brute force and attacks of its own.

use std::str::FromStr;

/// A part of the program that is attacked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Flipped attributes, on chains of layers with one term each.
    Flips,
    /// Flipped attributes, on networks that a model file describes: sums of terms, skips, linear units, polynomials.
    Terms,
    /// Flipped attributes whose rows are divided by their sums, on described networks.
    Rows,
    /// Changed categories of one-hot attributes, on described networks.
    Categories,
    /// Flipped attributes, on networks that classify graphs.
    Graphs,
    /// Removed edges, with one hidden layer.
    Edges,
    /// Removed and inserted edges, directed or not, at any depth.
    Changes,
    /// Flipped attributes together with changed edges.
    Joint,
    /// Attributes moved within ranges.
    Ranges,
    /// One attack for the whole graph.
    Collective,
    /// Executions in float32 of described networks.
    Deployed,
    /// Executions on attributes that are moved within ranges.
    Moved,
    /// Questions put to the checker about files that state something else.
    Questions,
}

/// All areas, in the order of the counts.
pub const AREAS: [Area; 13] = [
    Area::Flips,
    Area::Terms,
    Area::Rows,
    Area::Categories,
    Area::Edges,
    Area::Changes,
    Area::Collective,
    Area::Deployed,
    Area::Questions,
    Area::Graphs,
    Area::Joint,
    Area::Ranges,
    Area::Moved,
];

impl Area {
    /// A short name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Area::Flips => "flips",
            Area::Terms => "terms",
            Area::Rows => "rows",
            Area::Categories => "categories",
            Area::Graphs => "graphs",
            Area::Edges => "edges",
            Area::Changes => "changes",
            Area::Joint => "joint",
            Area::Ranges => "ranges",
            Area::Collective => "collective",
            Area::Deployed => "deployed",
            Area::Moved => "moved",
            Area::Questions => "questions",
        }
    }

    /// How many cases of a hundred are about it, where all areas are attacked: cases of some are larger or slower than
    /// of others.
    pub fn weight(self) -> usize {
        match self {
            Area::Flips => 30,
            Area::Terms => 14,
            Area::Rows => 14,
            Area::Categories => 10,
            Area::Graphs => 14,
            Area::Edges => 20,
            Area::Changes => 16,
            Area::Joint => 8,
            Area::Ranges => 12,
            Area::Collective => 16,
            Area::Deployed => 14,
            Area::Moved => 12,
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
