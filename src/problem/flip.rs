//! A flip: one entry of the attribute matrix that changes.

/// One entry of `X` that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Flip {
    /// The node whose attribute changes.
    pub node: u32,
    /// From 0, below the number of attributes.
    pub attribute: u32,
}

impl From<(u32, u32)> for Flip {
    fn from((node, attribute): (u32, u32)) -> Flip {
        Flip { node, attribute }
    }
}

impl From<Flip> for (u32, u32) {
    fn from(flip: Flip) -> (u32, u32) {
        (flip.node, flip.attribute)
    }
}
