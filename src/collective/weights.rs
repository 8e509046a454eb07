//! What every flip can do to one node: shares of its margin, from the bound that is linear in the flips and exact where
//! nothing is flipped (docs/math.md (5.5), (20.2)).

use crate::bound::prepared::Prepared;
use crate::bound::selection::Slopes;
use crate::bound::workspace::Workspace;
use crate::collective::kernel::{Kernel, ShareScale, SingleSlopes};
use crate::collective::named::Named;
use crate::collective::row::{ONE, ShareRow};
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;

/// Attributes that are scored for all source nodes before the next ones are: their weights stay near the processor.
const BLOCK: usize = 64;

/// The shares of all flips of one node under a budget: a perturbation breaks the node only if its shares sum to one. A
/// buffer that is used again for the next node.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlipShares {
    /// The nodes that it depends on, in the order of its slice.
    sources: Vec<u32>,
    /// Shares of the flips of a source, in the order of [`Attributes`](crate::bound::attributes::Attributes); 0 for
    /// those that are not permitted.
    shares: Vec<u32>,
    /// Places of a source.
    width: usize,
    /// What the flips of a source have at most.
    largest: Vec<u32>,
    /// Flips that remove: they stand at the places of those that add.
    removals: Vec<(usize, u32)>,
    losses: Vec<f32>,
    slopes: Vec<(SingleSlopes, ShareScale)>,
}

/// What is the same for all nodes: the weights of the attributes, and the places of those that each node has, rising.
pub(crate) struct Common {
    kernel: Kernel,
    present: Vec<Vec<u32>>,
}

impl Common {
    /// Of a problem.
    pub(crate) fn new(prepared: &Prepared) -> Common {
        let attributes = prepared.attributes();
        let of = |node: usize| {
            let row = prepared.graph().attributes().row(node).iter();
            let mut slots: Vec<u32> = row.filter_map(|&d| attributes.slot(d)).map(|slot| slot as u32).collect();
            slots.sort_unstable();
            slots
        };
        Common { kernel: Kernel::new(attributes), present: (0..prepared.graph().node_count()).map(of).collect() }
    }
}

impl FlipShares {
    /// Finds the shares of a node against all other classes, at the budget of `prepared`. False if the bound says
    /// nothing.
    pub(crate) fn find(
        &mut self,
        prepared: &Prepared,
        common: &Common,
        node: usize,
        reference: usize,
        workspace: &mut Workspace,
    ) -> bool {
        let (budget, attributes, kernel) = (prepared.budget(), prepared.attributes(), &common.kernel);
        let (adds, removes) = (budget.direction().adds(), budget.direction().removes());
        let FlipShares { sources, shares, width, largest, removals, losses, slopes: single } = self;
        *width = kernel.padded();
        sources.clear();
        shares.clear();
        removals.clear();
        largest.clear();
        let (mut first, mut next) = (true, Vec::new());
        let known = classes(prepared, node, reference, workspace, |of, slopes, scale| {
            let length = attributes.width();
            let free: Vec<usize> = (0..of.len()).filter(|&row| budget.local(of[row] as usize) > 0).collect();
            if first {
                sources.extend_from_slice(of);
                shares.resize(sources.len() * *width, 0);
                largest.resize(sources.len(), 0);
                for &row in &free {
                    let present = &common.present[of[row] as usize];
                    removals.extend(present.iter().map(|&slot| (row * *width + slot as usize, 0)));
                }
            }
            first = false;
            single.resize(of.len().max(single.len()), (SingleSlopes::default(), scale));
            for &row in &free {
                let centre = &slopes.centre[row * length..][..length];
                let radius = slopes.radius.get(row * length..(row + 1) * length);
                single[row].1 = kernel.round(centre, radius, scale, &mut single[row].0);
            }
            // The removals of a row follow each other; this is the next of each.
            next.clear();
            next.extend((0..of.len()).map(|row| removals.partition_point(|removal| removal.0 < row * *width)));
            for place in (0..*width).step_by(BLOCK) {
                let block = BLOCK.min(*width - place);
                losses.resize(block, 0.0);
                for &row in &free {
                    let into = row * *width + place;
                    let (slopes, scale) = &single[row];
                    let score = kernel.score(place, slopes, *scale, &mut shares[into..][..block], losses);
                    largest[row] = largest[row].max(score);
                    while let Some((at, share)) = removals.get_mut(next[row]).filter(|of| of.0 < into + block) {
                        *share = (*share).max(scale.share(f64::from(losses[*at - into])));
                        next[row] += 1;
                    }
                }
            }
        });
        if !adds {
            shares.fill(0);
            largest.fill(0);
        }
        for &(place, share) in &*removals {
            shares[place] = if removes { share } else { 0 };
            largest[place / *width] = largest[place / *width].max(shares[place]);
        }
        for of in shares.chunks_exact_mut((*width).max(1)) {
            of[attributes.count()..].fill(0);
        }
        known
    }

    /// Source nodes with the shares of their flips.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.sources.iter().copied().zip(self.shares.chunks_exact(self.width.max(1)))
    }

    /// Do the shares of some perturbation of at most `most` flips within the local budgets sum to one?
    pub(crate) fn suffice(&self, local: impl Fn(u32) -> usize, most: usize) -> bool {
        let enough = u64::from(ONE);
        if most == 0 {
            return false;
        }
        // The largest of each source alone suffice in most cases; that one of them may be a flip that is not permitted
        // does no harm.
        let mut largest = self.largest.clone();
        keep_largest(&mut largest, 0, most);
        if self.largest.len() > 1 && largest.into_iter().map(u64::from).sum::<u64>() >= enough {
            return true;
        }
        let mut kept: Vec<u32> = Vec::new();
        for (source, shares) in self.sources() {
            let before = kept.len();
            kept.extend(shares.iter().filter(|&&share| share > 0));
            keep_largest(&mut kept, before, local(source).min(most));
        }
        keep_largest(&mut kept, 0, most);
        kept.into_iter().map(u64::from).sum::<u64>() >= enough
    }
}

/// Keeps only the `count` largest of the numbers from place `from` on.
fn keep_largest(numbers: &mut Vec<u32>, from: usize, count: usize) {
    if numbers.len() - from > count {
        if count > 0 {
            numbers[from..].select_nth_unstable_by(count - 1, |x, y| y.cmp(x));
        }
        numbers.truncate(from + count);
    }
}

/// The row of weights of a node, at named flips (docs/math.md (20.2)). `None` if the bound says nothing.
pub(crate) fn named_row(
    prepared: &Prepared,
    node: usize,
    reference: usize,
    named: &Named,
    workspace: &mut Workspace,
) -> Option<ShareRow> {
    let (graph, attributes) = (prepared.graph(), prepared.attributes());
    let mut entries: Vec<(Flip, u32)> = Vec::new();
    let mut first = true;
    let known = classes(prepared, node, reference, workspace, |sources, slopes, scale| {
        let width = attributes.width();
        let mut at = 0;
        for (row, &source) in sources.iter().enumerate() {
            let slots = named.of(source);
            let present = if slots.is_empty() { &[] } else { graph.attributes().row(source as usize) };
            let centre = &slopes.centre[row * width..][..width];
            let radius = slopes.radius.get(row * width..(row + 1) * width);
            for &slot in slots {
                let attribute = attributes.attribute(slot as usize);
                let sign = if present.binary_search(&attribute).is_ok() { -1.0 } else { 1.0 };
                let share = scale.share(attributes.loss(slot as usize, sign, centre, radius));
                if first {
                    entries.push((Flip { node: source, attribute }, share));
                } else {
                    entries[at].1 = entries[at].1.max(share);
                }
                at += 1;
            }
        }
        first = false;
    });
    entries.retain(|entry| entry.1 > 0);
    entries.sort_unstable();
    known.then_some(ShareRow { defaults: Vec::new(), entries })
}

/// Goes through the other classes of a node: the nodes that it depends on, the slopes of the anchored bound, and how
/// losses become shares. False if the bound says nothing for one of them.
fn classes(
    prepared: &Prepared,
    node: usize,
    reference: usize,
    workspace: &mut Workspace,
    mut visit: impl FnMut(&[u32], &Slopes, ShareScale),
) -> bool {
    let network = prepared.network();
    workspace.slice.cut(network, network.depth(), node);
    // A node breaks when any class overtakes it, so a share is the largest over all classes (20.2).
    for class in (0..network.class_count()).filter(|&class| class != reference) {
        let Workspace { slice, backward, relaxed, slopes, .. } = &mut *workspace;
        let bounds = prepared.activation_bounds();
        backward.run(network, slice, bounds, &[(reference, 1.0), (class, -1.0)]);
        match bounds.first() {
            Some(bounds) => relaxed.anchored(backward, slice, &prepared.unperturbed()[0], bounds),
            None => relaxed.paper(backward, slice, &prepared.unperturbed()[0], None),
        }
        let error =
            relaxed.spread(slice, prepared.network().layers()[0].outputs(), prepared.attributes().norm(0), slopes);
        let Some(scale) = ShareScale::new(relaxed.base.close().lower(), error) else { return false };
        visit(slice.nodes(1), slopes, scale);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flips of 0.6 at one node, others of 0.1: two flips suffice, unless only one may be made there.
    #[test]
    fn sums_keep_to_the_budget() {
        let tenth = ONE / 10 + 1;
        let shares = vec![6 * tenth, 6 * tenth, tenth, tenth];
        let weights = FlipShares { sources: vec![0, 3], shares, width: 2, ..FlipShares::default() };
        assert!(weights.suffice(|_| 2, 2) && !weights.suffice(|_| 2, 1) && !weights.suffice(|_| 2, 0));
        assert!(!weights.suffice(|_| 1, 9));
    }
}
