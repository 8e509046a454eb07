//! Brute force: the margin after every admissible set of removals.

use super::instance::EdgeInstance;

/// The smallest margin.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// The margin, in plain f64.
    pub margin: f64,
    /// A set of removals that attains it.
    pub removed: Vec<bool>,
    /// How many sets were tried: all admissible ones.
    pub count: usize,
}

/// Tries every admissible set; `None` where there are more than 20 edges.
pub fn worst(instance: &EdgeInstance) -> Option<Worst> {
    let edges = instance.edges.len();
    if edges > 20 {
        return None;
    }
    let none = vec![false; edges];
    let mut worst = Worst { margin: instance.forward(&none), removed: none, count: 0 };
    for mask in 0u32..1 << edges {
        let removed: Vec<bool> = (0..edges).map(|edge| mask >> edge & 1 == 1).collect();
        if !instance.admits(&removed) {
            continue;
        }
        worst.count += 1;
        let margin = instance.forward(&removed);
        if margin < worst.margin {
            (worst.margin, worst.removed) = (margin, removed);
        }
    }
    Some(worst)
}
