//! Share lines written out for the verified checker.

use super::line::{Share, ShareLeaf};
use super::size::{LargestWeights, SizePrices};
use super::weights::{Look, Weights};
use crate::checker::Session;
use crate::core::path::Path;
use crate::format::{Hints, Leaf};
use crate::number::Interval;
use crate::statement::Statement;
use crate::verdict::{Fault, Reason};

/// A share line as the verified checker takes it.
pub(crate) struct WrittenShare {
    /// By class.
    pub(crate) leaves: Vec<(u32, Hints)>,
    pub(crate) sizes: SizePrices,
}

impl Session<'_> {
    /// The leaves of a share line written out as hints, and where it has a size prices that show the sizes of flips:
    /// with `exact_sizes` from exact weights, which take long, otherwise from floats where they are known.
    ///
    /// # Errors
    /// If a leaf is not admissible, or its constant is not above 0.
    pub(crate) fn written_share(&mut self, share: &Share, exact_sizes: bool) -> Result<WrittenShare, Fault> {
        let Statement { network, budget, .. } = self.checker.statement();
        let usual = ShareLeaf::usual(network.depth());
        let mut leaves = Vec::new();
        for class in (0..network.classes() as u32).filter(|&class| class != share.class) {
            let leaf = share.leaves.iter().find(|entry| entry.0 == class).map_or(&usual, |entry| &entry.1);
            let hints = match leaf {
                ShareLeaf::Hints(stated) => (**stated).clone(),
                ShareLeaf::Leaf(leaf) => self.leaf_hints(share.class, class, leaf)?,
            };
            leaves.push((class, hints));
        }
        let sizes = match share.size {
            0 => SizePrices { flips: 0, price: 0, prices: Vec::new() },
            _ => SizePrices::new(self.size_weights(share, exact_sizes)?, budget),
        };
        Ok(WrittenShare { leaves, sizes })
    }

    fn size_weights(&mut self, share: &Share, exact: bool) -> Result<LargestWeights, Fault> {
        let largest = if exact { None } else { self.weight_bounds(share).and_then(|bounds| bounds.largest) };
        let look = if exact { Look::Exact } else { Look::Rounded };
        let of_all =
            |session: &mut Self| Ok(session.weights(share, look)?.largest(&session.checker.statement().budget));
        largest.map_or_else(|| of_all(self), Ok)
    }

    fn leaf_hints(&mut self, reference: u32, class: u32, leaf: &Leaf) -> Result<Hints, Reason> {
        let (objective, path) = ([(reference, 1), (class, -1)], Path::default());
        let short = self.scope().short(&path, leaf)?;
        let Some((hints, constant, _)) = self.target.relaxed(&objective, &path, &short) else {
            return Err(Reason::Bound(Interval::ANY));
        };
        let (hints, mut weights) = (hints.exact(self.slice), Weights { rows: Vec::new(), exact: true });
        if constant.is_positive() && !self.checker.has_stated_bounds() {
            return Ok((&hints).into());
        }
        self.exact_leaf(&objective, &short, hints, &mut weights).map(|hints| (&hints).into())
    }
}
