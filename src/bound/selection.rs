//! The selection: the flips with the largest sum of losses that the budget allows.
//!
//! This is the closed form of the dual's `η` and `ρ`: the `q_n` largest losses of each row, of those the `Q` largest.
//! Rows are visited in falling order of a bound on their losses and attributes in falling order of their norm; whatever
//! cannot beat the `Q`-th largest loss so far is never computed.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

pub use crate::bound::losses::{Loss, SearchSpace, Slopes};

use crate::bound::row_selection::RowSelection;
use crate::number::rounding::norm_above;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::limits::Watch;
use crate::problem::matrix::PatternRows;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

/// How many attributes are scored between two looks at the threshold.
const BLOCK: usize = 64;

/// Larger losses first; ties in the order of nodes and attributes, so that a selection is reproducible.
fn falling(x: &Loss, y: &Loss) -> Ordering {
    y.loss.total_cmp(&x.loss).then(x.flip.cmp(&y.flip))
}

/// A row waiting to be searched: the largest norm comes first.
#[derive(Debug)]
struct RowNorm {
    norm: f64,
    row: u32,
}

impl PartialEq for RowNorm {
    fn eq(&self, other: &RowNorm) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RowNorm {}

impl PartialOrd for RowNorm {
    fn partial_cmp(&self, other: &RowNorm) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowNorm {
    fn cmp(&self, other: &RowNorm) -> Ordering {
        self.norm.total_cmp(&other.norm).then(other.row.cmp(&self.row))
    }
}

/// Rows between two looks at the clock: a row takes microseconds, and milliseconds where there are many attributes and
/// units.
const LOOK: usize = 16;

/// The flips selected, and the buffers to find them.
#[derive(Debug, Default)]
pub struct Selection {
    kept: Vec<Loss>,
    row: Vec<Loss>,
    scores: Vec<f64>,
    waiting: Vec<RowNorm>,
    rows: RowSelection,
}

impl Selection {
    /// The selected flips with a positive loss, in no particular order.
    pub fn flips(&self) -> &[Loss] {
        &self.kept
    }

    /// What the last selection consists of: single flips, or where rows are normalised moves of rows.
    pub fn moves(&self, graph: &Graph) -> Vec<Move> {
        match graph.normalisation().is_some() {
            true => self.rows.moves().flat_map(|flips| Move::all(graph, flips)).collect(),
            false => self.kept.iter().map(|loss| loss.flip.into()).collect(),
        }
    }

    /// Where rows are normalised: the moves of rows of which shares make up the last selection.
    pub fn shared_moves(&self) -> impl Iterator<Item = (f64, &[Flip])> {
        self.rows.shared_moves()
    }

    /// Selects among all flips of the slice's nodes and returns the sum of losses (docs/math.md (1.6)).
    ///
    /// The last selection seeds the next one: if it still fits, the smallest of its losses under the new slopes is
    /// a threshold to start with. It only has to be an admissible selection of `Q` flips of this slice.
    pub fn select(&mut self, space: &SearchSpace, slice: &Slice, slopes: &Slopes) -> f64 {
        self.select_until(space, slice, slopes, None)
    }

    /// The same until the deadline: then the sum is infinite, since nothing is known of it.
    pub fn select_until(&mut self, space: &SearchSpace, slice: &Slice, slopes: &Slopes, watch: Option<&Watch>) -> f64 {
        let Some(global @ 1..) = space.decided.global(space.budget) else {
            self.kept.clear();
            return 0.0;
        };
        if space.graph.normalisation().is_some() {
            let loss = self.rows.select(space, global, slice, slopes, watch, &mut self.kept);
            return if watch.is_some_and(Watch::was_late) { f64::INFINITY } else { loss };
        }
        let seed = self.seed_threshold(space, global, slice, slopes);
        self.search(space, global, slice, slopes, seed, watch);
        // Under cancellation the search may compute a seed's loss smaller than it was above and miss it. Fewer than `Q`
        // flips above a threshold prove nothing, so without them there is no threshold.
        if seed > 0.0 && self.kept.len() < global {
            self.search(space, global, slice, slopes, 0.0, watch);
        }
        if watch.is_some_and(Watch::was_late) {
            self.kept.clear();
            return f64::INFINITY;
        }
        self.kept.iter().map(|k| k.loss).sum()
    }

    /// Keeps the largest admissible losses above the threshold (pruned by docs/math.md (4.8)).
    fn search(
        &mut self,
        space: &SearchSpace,
        global: usize,
        slice: &Slice,
        slopes: &Slopes,
        mut threshold: f64,
        watch: Option<&Watch>,
    ) {
        let nodes = slice.nodes(1);
        self.kept.clear();
        let attributes = space.attributes;
        let mut heap = self.order_rows(space, nodes, slopes);
        let mut looks = 0;
        while let Some(RowNorm { norm, row }) = heap.pop() {
            // Cauchy–Schwarz: no flip of this row, nor of any later one, reaches the threshold (4.8).
            if norm * attributes.norm(0) <= threshold {
                break;
            }
            looks += 1;
            if looks % LOOK == 0 && watch.is_some_and(Watch::is_late) {
                break;
            }
            self.search_row(space, global, slice, row as usize, slopes, norm, threshold);
            self.kept.append(&mut self.row);
            keep_largest(&mut self.kept, global);
            if self.kept.len() == global {
                threshold = self.kept.iter().map(|k| k.loss).fold(f64::INFINITY, f64::min);
            }
        }
        self.waiting = heap.into_vec();
    }

    /// What the `Q` largest losses surely reach: the smallest loss of the last selection, if it had `Q` flips; else 0.
    fn seed_threshold(&self, space: &SearchSpace, global: usize, slice: &Slice, slopes: &Slopes) -> f64 {
        let SearchSpace { graph, attributes, .. } = space;
        if self.kept.len() != global {
            return 0.0;
        }
        let width = attributes.width();
        let mut smallest = f64::INFINITY;
        for Loss { flip, .. } in &self.kept {
            // A branch may have fixed it, and a row may have less budget left than the last selection used there.
            if space.decided.fixes(space.budget, *flip) || !space.decided.flipped.is_empty() {
                return 0.0;
            }
            let (Some(row), Some(slot)) = (slice.position(flip.node), attributes.slot(flip.attribute)) else {
                return 0.0;
            };
            let centre = &slopes.centre[row * width..][..width];
            let radius = slopes.radius.get(row * width..(row + 1) * width);
            let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
            let loss = attributes.loss(slot, sign, centre, radius);
            let loss = slopes.corrected(loss, slice, row, *flip, sign, attributes.row(slot));
            if loss.is_nan() || loss <= 0.0 {
                return 0.0;
            }
            smallest = smallest.min(loss);
        }
        // Lowered, because the search sums in another order and should find these very flips again.
        smallest * (1.0 - 1e-9)
    }

    /// Forgets the last selection: to be called for each new target.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    /// All rows that may be touched, with the norm `‖|centre| + radius‖` that bounds their losses (docs/math.md (4.8)).
    fn order_rows(&mut self, space: &SearchSpace, nodes: &[u32], slopes: &Slopes) -> BinaryHeap<RowNorm> {
        let width = space.attributes.width();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.clear();
        for (row, &node) in nodes.iter().enumerate() {
            if space.decided.local(space.budget, node).unwrap_or(0) == 0 {
                continue;
            }
            let centre = &slopes.centre[row * width..][..width];
            let norm = if slopes.radius.is_empty() {
                norm_above(centre.iter().copied())
            } else {
                let radius = &slopes.radius[row * width..][..width];
                norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r))
            };
            waiting.push(RowNorm { norm, row: row as u32 });
        }
        BinaryHeap::from(waiting)
    }

    /// Collects the best flips of one row above the threshold, at most `min(q_n, Q)` (pruned by docs/math.md (4.8)).
    #[allow(clippy::too_many_arguments)]
    fn search_row(
        &mut self,
        space: &SearchSpace,
        global: usize,
        slice: &Slice,
        row: usize,
        slopes: &Slopes,
        norm: f64,
        mut threshold: f64,
    ) {
        let SearchSpace { graph, budget, decided, attributes, .. } = space;
        let width = attributes.width();
        let node = slice.nodes(1)[row];
        let capacity = decided.local(budget, node).unwrap_or(0).min(global);
        let centre = &slopes.centre[row * width..][..width];
        let radius = slopes.radius.get(row * width..(row + 1) * width);
        let present = graph.attributes().row(node as usize);
        self.row.clear();
        if budget.direction().removes() {
            for &attribute in present {
                let Some(slot) = attributes.slot(attribute) else { continue };
                if norm * attributes.norm(slot) <= threshold {
                    continue;
                }
                let loss = attributes.loss(slot, -1.0, centre, radius);
                let flip = Flip { node, attribute };
                if loss > threshold && !decided.fixes(budget, flip) {
                    let loss = slopes.corrected(loss, slice, row, flip, -1.0, attributes.row(slot));
                    if loss > threshold {
                        self.row.push(Loss { loss, flip });
                    }
                }
            }
        }
        if budget.direction().adds() {
            let mut first = 0;
            while first < attributes.count() && norm * attributes.norm(first) > threshold {
                let length = BLOCK.min(attributes.padded_count() - first);
                self.scores.resize(length, 0.0);
                attributes.losses(first, centre, radius, &mut self.scores);
                for (i, &loss) in self.scores.iter().enumerate() {
                    if loss > threshold {
                        let flip = Flip { node, attribute: attributes.attribute(first + i) };
                        if present.binary_search(&flip.attribute).is_err() && !decided.fixes(budget, flip) {
                            let loss = slopes.corrected(loss, slice, row, flip, 1.0, attributes.row(first + i));
                            if loss > threshold {
                                self.row.push(Loss { loss, flip });
                            }
                        }
                    }
                }
                // Once the row has enough, its own weakest loss is the threshold.
                if self.row.len() >= capacity.saturating_add(BLOCK / 2) {
                    keep_largest(&mut self.row, capacity);
                    threshold = self.row.iter().map(|k| k.loss).fold(f64::INFINITY, f64::min).max(threshold);
                }
                first += length;
            }
        }
        keep_largest(&mut self.row, capacity);
    }
}

/// Drops all but the `count` largest losses.
fn keep_largest(losses: &mut Vec<Loss>, count: usize) {
    if losses.len() > count {
        losses.select_nth_unstable_by(count - 1, falling);
        losses.truncate(count);
    }
}
