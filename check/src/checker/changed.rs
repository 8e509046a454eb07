//! Flips on a graph whose edges are changed: trees that show margins above a number, and margins after some flips.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use super::{Checker, Session};
use crate::core::rows::Reaches;
use crate::fast::FastTarget;
use crate::format::Step;
use crate::ids::Flip;
use crate::number::{Dyadic, Interval};
use crate::statement::{Slice, Statement};
use crate::verdict::Reason;
use crate::work::Meter;

impl Checker<'_> {
    /// The same checker for the statement about a graph with other edges.
    pub(crate) fn on<'b>(&self, statement: &'b Statement<'b>) -> Checker<'b> {
        let Statement { network, budget, .. } = statement;
        let layer = |_| (0..network.graph.attributes.rows).map(|_| OnceLock::new()).collect();
        Checker {
            statement,
            fast: self.fast.on(network, budget),
            exact_only: self.exact_only,
            work: self.work.clone(),
            rounding: None,
            stated: RwLock::new(HashMap::new()),
            expanded: (3..network.depth()).map(layer).collect(),
        }
    }

    /// Asks about one node, which must exist. Margins are to exceed a number, instead of 0.
    pub(crate) fn about<T>(
        &self,
        node: u32,
        above: Dyadic,
        meter: &Meter,
        ask: impl FnOnce(&mut Session) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let network = &self.statement.network;
        let slice = Slice::new(network, network.depth(), node);
        meter.spend(slice.steps())?;
        meter.while_held(|| {
            meter.hold(slice.bytes(network))?;
            let (target, reaches) = (FastTarget::new(&self.fast, &slice), Reaches::default());
            let error = above.clone();
            ask(&mut Session { checker: self, slice: &slice, target, reaches, above, error, node, meter })
        })
    }

    /// Accepts a tree which shows that the margin of a class over another exceeds a number, whatever is flipped.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn exceeds(
        &self,
        node: u32,
        classes: [u32; 2],
        tree: &[Step],
        above: Dyadic,
        meter: &Meter,
    ) -> Result<(), Reason> {
        self.about(node, above, meter, |session| session.tree(classes, tree, &mut None).map_err(|fault| fault.reason))
    }

    /// The sign of the margin of a class over another after some flips, if they are admissible, and floats around it.
    ///
    /// # Errors
    /// If they are not, or it takes too long.
    pub(crate) fn margin_after(
        &self,
        node: u32,
        [reference, class]: [u32; 2],
        flips: &[Flip],
        meter: &Meter,
    ) -> Result<(Ordering, Interval), Reason> {
        self.about(node, Dyadic::ZERO, meter, |session| {
            meter.spend(flips.len() as u64 * 64)?;
            let made = session.scope().witness(flips)?;
            Ok(session.margin(reference, class, &made, &Dyadic::ZERO))
        })
    }

    /// Is a class the predicted one of a node, which must exist?
    ///
    /// # Errors
    /// If it takes too long.
    pub(crate) fn predicts(&self, node: u32, class: u32, meter: &Meter) -> Result<bool, Reason> {
        self.about(node, Dyadic::ZERO, meter, |session| Ok(session.is_predicted(class)))
    }
}
