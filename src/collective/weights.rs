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
    /// What a flip of each source node in the node's slice has at most, in the order of the slice: by norms alone. `None` if the bound says nothing, because it
    /// is not positive where nothing is flipped.
    pub fn largest(
        prepared: &Prepared,
        (node, reference): (usize, usize),
        workspace: &mut Workspace,
    ) -> Option<Vec<(u32, u32)>> {
        // A threshold that no share exceeds: nothing is named, and defaults are what norms leave.
        let all = Weights::new(prepared, (node, reference), |_| ONE, workspace)?;
        Some(all.defaults)
    }

    /// The weights of a node against all other classes, at the budget of `prepared`. Flips of a source node with a share of at most its `threshold` are not
    /// named. `None` if the bound says nothing, because it is not positive where nothing is flipped.
    pub fn new(
        prepared: &Prepared,
        target: (usize, usize),
        threshold: impl Fn(u32) -> u32,
        workspace: &mut Workspace,
    ) -> Option<Weights> {
        Weights::of(prepared, target, threshold, None, workspace)
    }

    /// The same, and only these attributes of each source node are named: others have the defaults, which need not be what they are worth.
    pub fn listed(
        prepared: &Prepared,
        target: (usize, usize),
        threshold: impl Fn(u32) -> u32,
        listed: &dyn Fn(u32) -> Vec<u32>,
        workspace: &mut Workspace,
    ) -> Option<Weights> {
        Weights::of(prepared, target, threshold, Some(listed), workspace)
    }

    fn of(
        prepared: &Prepared,
        (node, reference): (usize, usize),
        threshold: impl Fn(u32) -> u32,
        listed: Option<&dyn Fn(u32) -> Vec<u32>>,
        workspace: &mut Workspace,
    ) -> Option<Weights> {
        let (network, graph, budget) = (prepared.network(), prepared.graph(), prepared.budget());
        workspace.slice.cut(network, network.depth(), node);
        let attributes = prepared.attributes();
        let width = attributes.width();
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
            for (row, (source, default)) in sources.iter_mut().enumerate() {
                let at = *source as usize;
                if budget.local(at) == 0 {
                    continue;
                }
                let threshold = threshold(*source).max(1);
                // Whoever loses less than this has a share below the threshold.
                let least = f64::from(threshold) / f64::from(ONE) * base - error;
                let centre = &slopes.centre[row * width..][..width];
                let radius = slopes.radius.get(row * width..(row + 1) * width);
                let norm = match radius {
                    None => norm_above(centre.iter().copied()),
                    Some(radius) => norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r)),
                };
                *default = (*default).max(share((norm * attributes.norm(0)).next_up()).min(threshold));
                // No share is larger.
                if threshold >= ONE {
                    continue;
                }
                let present = graph.attributes().row(at);
                if let Some(listed) = listed {
                    for attribute in listed(*source) {
                        let Some(slot) = attributes.slot(attribute) else { continue };
                        let sign = if present.binary_search(&attribute).is_ok() { -1.0 } else { 1.0 };
                        let share = share(attributes.loss(slot, sign, centre, radius));
                        if share > threshold {
                            entries.push((Flip { node: *source, attribute }, share));
                        }
                    }
                    continue;
                }
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

    /// Do the weights of some perturbation of at most `most` flips sum to one?
    pub fn suffice(&self, local: impl Fn(u32) -> usize, most: usize) -> bool {
        self.largest_sums(local, most, u32::MAX).last().is_some_and(|&sum| sum >= u64::from(ONE))
    }

    /// The row of sizes: `1/k` for a flip that is in no breaking set of fewer than `k` flips, and nothing for one that is in none (docs/math.md (20.5)).
    /// No set of fewer than `needed` flips breaks the node, and no perturbation has more than `most`. With `apart`, flips whose weight is one keep it, and sizes
    /// are those of sets without them.
    pub fn size_row(&self, local: impl Fn(u32) -> usize, needed: usize, most: usize, apart: bool) -> Row {
        let sums = self.largest_sums(local, most, if apart { ONE } else { u32::MAX });
        // What the largest sums of k flips are; they do not rise once they have come to one, or the flips are used up.
        let sum = |k: usize| sums[k.min(sums.len() - 1)];
        let enough = sums.len() - 1;
        let first = if sum(enough) < u64::from(ONE) { most.saturating_add(1) } else { enough.max(needed).max(1) };
        // The share that it takes to be in a breaking set of k flips, falling in k to none at all.
        let last = most.min(first.max(enough + 1));
        let cut: Vec<u64> = (first..=last).map(|k| u64::from(ONE).saturating_sub(sum(k - 1))).collect();
        let share = |weight: u32| {
            if apart && weight >= ONE {
                return ONE;
            }
            let at = cut.partition_point(|&cut| u64::from(weight) < cut);
            if at < cut.len() { reciprocal(first + at) } else { 0 }
        };
        let defaults: Vec<(u32, u32)> = self.defaults.iter().map(|&(source, weight)| (source, share(weight))).collect();
        let mut row = Row { defaults, entries: Vec::new() };
        let entries = self.entries.iter().map(|&(flip, weight)| (flip, share(weight)));
        row.entries = entries.filter(|&(flip, share)| share > row.default_of(flip.node)).collect();
        row
    }

    /// The largest sums of shares below `limit` of `0, 1, …` flips within the local budgets, up to `most` or to the first that comes to one.
    fn largest_sums(&self, local: impl Fn(u32) -> usize, most: usize, limit: u32) -> Vec<u64> {
        let mut kept: Vec<(u32, usize)> = Vec::new();
        let mut at = 0;
        for &(source, default) in &self.defaults {
            let first = self.entries[at..].partition_point(|entry| entry.0.node < source) + at;
            let end = self.entries[first..].partition_point(|entry| entry.0.node == source) + first;
            let shares = self.entries[first..end].iter().map(|entry| entry.1);
            let mut own: Vec<u32> = shares.filter(|&share| share < limit).collect();
            own.sort_unstable_by(|x, y| y.cmp(x));
            own.truncate(local(source).min(most));
            kept.push((default, local(source).min(most) - own.len()));
            kept.extend(own.into_iter().map(|share| (share, 1)));
            at = end;
        }
        kept.sort_unstable_by(|x, y| y.cmp(x));
        let mut sums = vec![0u64];
        let mut total = 0;
        for share in kept.into_iter().flat_map(|(share, count)| std::iter::repeat_n(share, count)).take(most) {
            if total >= u64::from(ONE) || share == 0 {
                break;
            }
            total += u64::from(share);
            sums.push(total);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flip(attribute: u32) -> Flip {
        Flip { node: 0, attribute }
    }

    /// Two flips of 0.6, one of 0.3, the others 0.1: pairs of the large ones break, or three flips, or more.
    #[test]
    fn sizes_are_those_of_the_smallest_sets() {
        let tenth = ONE / 10 + 1;
        let entries = vec![(flip(0), 6 * tenth), (flip(1), 6 * tenth), (flip(2), 3 * tenth)];
        let weights = Weights { defaults: vec![(0, tenth)], entries };
        let row = weights.size_row(|_| 9, 1, 9, true);
        assert_eq!([0, 1, 2].map(|d| row.share(flip(d))), [2, 2, 3].map(reciprocal));
        assert_eq!(row.share(flip(7)), reciprocal(3));
        // No set of fewer than four flips is known to break it.
        assert_eq!(weights.size_row(|_| 9, 4, 9, true).share(flip(0)), reciprocal(4));
        // A single flip within the local budget never does.
        assert_eq!(weights.size_row(|_| 1, 1, 9, true).share(flip(0)), 0);
    }

    #[test]
    fn flips_that_break_alone_stand_apart() {
        let weights = Weights { defaults: vec![(0, 0)], entries: vec![(flip(0), ONE), (flip(1), ONE / 2)] };
        let apart = weights.size_row(|_| 9, 1, 9, true);
        assert_eq!([0, 1].map(|d| apart.share(flip(d))), [ONE, 0]);
        let together = weights.size_row(|_| 9, 1, 9, false);
        assert_eq!([0, 1].map(|d| together.share(flip(d))), [ONE, ONE / 2]);
    }
}
