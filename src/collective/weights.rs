//! What every flip can do to one node: shares of its margin, from the bound that is linear in the flips and exact where nothing is flipped
//! (docs/math.md (5.5), (20.2)).

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::collective::row::{ONE, Row, reciprocal, share_above};
use crate::number::rounding::norm_above;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;

/// Attributes scored between two looks at their norm.
const BLOCK: usize = 64;

/// The shares of all flips of one node under a budget: a perturbation of at most so many flips breaks the node only if its shares sum to one.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// By source node, in rising order: what a flip that is not named below has at most.
    pub defaults: Vec<(u32, u32)>,
    /// Named flips in their order.
    pub entries: Vec<(Flip, u32)>,
}

impl Weights {
    /// The weights of the workspace's target against all other classes, at the budget of `prepared`. Flips below `threshold` are not named. `None` if the
    /// bound says nothing, because it is not positive where nothing is flipped.
    pub fn new(
        prepared: &Prepared,
        (node, reference): (usize, usize),
        threshold: u32,
        workspace: &mut Workspace,
    ) -> Option<Weights> {
        let (network, graph, budget) = (prepared.network(), prepared.graph(), prepared.budget());
        workspace.slice.cut(network, network.depth(), node);
        let attributes = prepared.attributes();
        let width = attributes.width();
        let limit = f64::from(threshold.max(1)) / f64::from(ONE);
        let mut sources: Vec<(u32, u32)> = workspace.slice.nodes(1).iter().map(|&source| (source, 0)).collect();
        let mut entries: Vec<(Flip, u32)> = Vec::new();
        let mut scores = vec![0.0; BLOCK];
        for class in (0..network.class_count()).filter(|&class| class != reference) {
            let Workspace { slice, backward, relaxed, slopes, .. } = &mut *workspace;
            let bounds = prepared.activation_bounds();
            backward.run(network, slice, bounds, &[(reference, 1.0), (class, -1.0)]);
            match bounds.first() {
                Some(bounds) => relaxed.anchored(backward, slice, &prepared.unperturbed()[0], bounds),
                None => relaxed.paper(backward, slice, &prepared.unperturbed()[0], None),
            }
            let error = relaxed.spread(slice, prepared.unperturbed()[0].width, attributes.norm(0), slopes);
            let base = relaxed.base.close().lower();
            // A comparison with NaN is false: then nothing is known.
            let known = base > 0.0 && error.is_finite();
            if !known {
                return None;
            }
            let share = |loss: f64| share_above(((loss + error).next_up() / base).next_up());
            // Whoever loses less than this has a share below the threshold.
            let least = limit * base - error;
            for (row, (source, default)) in sources.iter_mut().enumerate() {
                let at = *source as usize;
                if budget.local(at) == 0 {
                    continue;
                }
                let centre = &slopes.centre[row * width..][..width];
                let radius = slopes.radius.get(row * width..(row + 1) * width);
                let norm = match radius {
                    None => norm_above(centre.iter().copied()),
                    Some(radius) => norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r)),
                };
                *default = (*default).max(share((norm * attributes.norm(0)).next_up()).min(threshold));
                let present = graph.attributes().row(at);
                if budget.direction().removes() {
                    for &attribute in present {
                        let Some(slot) = attributes.slot(attribute) else { continue };
                        let loss = attributes.loss(slot, -1.0, centre, radius);
                        let share = share(loss);
                        if share > threshold {
                            entries.push((Flip { node: *source, attribute }, share));
                        }
                    }
                }
                if budget.direction().adds() {
                    let mut first = 0;
                    while first < attributes.count() && norm * attributes.norm(first) >= least {
                        let length = BLOCK.min(attributes.padded_count() - first);
                        scores.resize(length, 0.0);
                        attributes.losses(first, centre, radius, &mut scores);
                        for (i, &loss) in scores.iter().enumerate().take(attributes.count() - first) {
                            let small = loss < least;
                            if small {
                                continue;
                            }
                            let (share, attribute) = (share(loss), attributes.attribute(first + i));
                            if share > threshold && present.binary_search(&attribute).is_err() {
                                entries.push((Flip { node: *source, attribute }, share));
                            }
                        }
                        first += length;
                    }
                }
            }
        }
        sources.retain(|source| budget.local(source.0 as usize) > 0);
        sources.sort_unstable();
        // The largest share over the classes.
        entries.sort_unstable_by(|x, y| x.0.cmp(&y.0).then(y.1.cmp(&x.1)));
        entries.dedup_by_key(|entry| entry.0);
        Some(Weights { defaults: sources, entries })
    }

    /// The row of weights: shares of a breaking set sum to one (docs/math.md (20.2)).
    pub fn row(&self) -> Row {
        let mut row = Row { defaults: self.defaults.clone(), entries: Vec::new() };
        row.entries = self.entries.iter().copied().filter(|&(flip, share)| share > row.default_of(flip.node)).collect();
        row
    }

    /// The row of sizes: `1/k` for a flip that is in no breaking set of fewer than `k` flips, and nothing for one that is in none (docs/math.md (20.5)).
    /// No set of fewer than `needed` flips breaks the node, and no perturbation has more than `most`.
    pub fn size_row(&self, local: impl Fn(u32) -> usize, needed: usize, most: usize) -> Row {
        let sums = self.largest_sums(local, most);
        let first = (needed.max(1)..=most).find(|&k| sums[k] >= u64::from(ONE)).unwrap_or(most + 1);
        // The share that it takes to be in a breaking set of k flips, falling in k.
        let cut: Vec<u64> = (first..=most).map(|k| u64::from(ONE).saturating_sub(sums[k - 1])).collect();
        let share = |weight: u32| {
            let at = cut.partition_point(|&cut| u64::from(weight) < cut);
            if at < cut.len() { reciprocal(first + at) } else { 0 }
        };
        let defaults: Vec<(u32, u32)> = self.defaults.iter().map(|&(source, weight)| (source, share(weight))).collect();
        let mut row = Row { defaults, entries: Vec::new() };
        let entries = self.entries.iter().map(|&(flip, weight)| (flip, share(weight)));
        row.entries = entries.filter(|&(flip, share)| share > row.default_of(flip.node)).collect();
        row
    }

    /// The largest sums of shares of `0 … most` flips, within the local budgets.
    fn largest_sums(&self, local: impl Fn(u32) -> usize, most: usize) -> Vec<u64> {
        let mut kept: Vec<u32> = Vec::new();
        let mut at = 0;
        for &(source, default) in &self.defaults {
            let first = self.entries[at..].partition_point(|entry| entry.0.node < source) + at;
            let end = self.entries[first..].partition_point(|entry| entry.0.node == source) + first;
            let mut own: Vec<u32> = self.entries[first..end].iter().map(|entry| entry.1).collect();
            own.sort_unstable_by(|x, y| y.cmp(x));
            let room = local(source).min(most);
            own.resize(own.len().max(room), default);
            own.truncate(room);
            kept.extend(own);
            at = end;
        }
        kept.sort_unstable_by(|x, y| y.cmp(x));
        let mut sums = vec![0u64];
        for k in 0..most {
            sums.push(sums[k] + u64::from(kept.get(k).copied().unwrap_or(0)));
        }
        sums
    }
}
