//! The worst flips where rows are normalised: the menus of all rows, and the budget shared out among their steps
//! (docs/math.md (21.4)).

use crate::bound::menu::{Menu, RowLosses};
use crate::bound::selection::{Loss, SearchSpace, Slopes};
use crate::number::rounding::{FLOOR, error_of, norm_above};
use crate::problem::flip::Flip;
use crate::problem::limits::Watch;
use crate::problem::rows::attributes_after;
use crate::problem::slice::Slice;

/// Attributes scored between two comparisons with the threshold.
const BLOCK: usize = 64;

/// A flip of a row with what it loses where the entry is 1.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    loss: f64,
    attribute: u32,
}

/// A step of a row's menu.
#[derive(Clone, Copy, Debug)]
struct Step {
    loss: f64,
    /// Which of the rows that were looked at.
    row: u32,
}

/// A row that was looked at: the flips that its menu is made of.
#[derive(Debug, Default)]
struct Looked {
    node: u32,
    additions: Vec<Candidate>,
    removals: Vec<Candidate>,
    /// How many of the best `k` flips are additions.
    share: Vec<usize>,
}

/// The buffers of a selection among normalised rows.
#[derive(Debug, Default)]
pub struct RowSelection {
    rows: Vec<Looked>,
    steps: Vec<Step>,
    menu: Menu,
    scores: Vec<f64>,
    losses: [Vec<f64>; 2],
    sent: Vec<f64>,
    sent_size: Vec<f64>,
    present: Vec<u32>,
}

impl RowSelection {
    /// The sum of the `global` largest steps of all menus: not below the loss of any admissible set. `kept` gets the flips
    /// that attain it, up to the gaps between losses and their hulls.
    pub fn select(
        &mut self,
        space: &SearchSpace,
        global: usize,
        slice: &Slice,
        slopes: &Slopes,
        watch: Option<&Watch>,
        kept: &mut Vec<Loss>,
    ) -> f64 {
        kept.clear();
        self.steps.clear();
        let mut looked = 0;
        for (n, &node) in slice.nodes(1).iter().enumerate() {
            let capacity = space.decided.local(space.budget, node).unwrap_or(0).min(global);
            if capacity == 0 {
                continue;
            }
            if watch.is_some_and(Watch::is_late) {
                return f64::INFINITY;
            }
            if self.rows.len() == looked {
                self.rows.push(Looked::default());
            }
            self.look(space, n, node, capacity, slopes, looked);
            self.steps.extend(self.menu.steps.iter().map(|&loss| Step { loss, row: looked as u32 }));
            looked += 1;
        }
        if self.steps.len() > global {
            self.steps.select_nth_unstable_by(global - 1, |x, y| y.loss.total_cmp(&x.loss).then(x.row.cmp(&y.row)));
            self.steps.truncate(global);
        }
        self.steps.sort_by(|x, y| x.row.cmp(&y.row).then(y.loss.total_cmp(&x.loss)));
        for of_row in self.steps.chunk_by(|x, y| x.row == y.row) {
            let row = &self.rows[of_row[0].row as usize];
            let additions = row.share[of_row.len()];
            let flips = row.additions[..additions].iter().chain(&row.removals[..of_row.len() - additions]);
            kept.extend(of_row.iter().zip(flips).map(|(step, candidate)| Loss {
                loss: step.loss,
                flip: Flip { node: row.node, attribute: candidate.attribute },
            }));
        }
        self.steps.iter().map(|step| step.loss).sum()
    }

    /// Fills the menu of the slice's `n`-th row (docs/math.md (21.3)).
    fn look(&mut self, space: &SearchSpace, n: usize, node: u32, capacity: usize, slopes: &Slopes, at: usize) {
        let SearchSpace { graph, layer, budget, decided, attributes } = space;
        let width = attributes.width();
        let centre = &slopes.centre[n * width..][..width];
        let radius = slopes.radius.get(n * width..(n + 1) * width);
        let RowSelection { rows, menu, scores, losses, sent, sent_size, present, .. } = self;
        let Looked { node: of, additions, removals, share } = &mut rows[at];
        *of = node;
        present.clear();
        present.extend(attributes_after(graph, node, &decided.flipped));
        present.sort_unstable();
        let fixed = |attribute: u32| decided.fixes(Flip { node, attribute });
        removals.clear();
        for buffer in [&mut *sent, &mut *sent_size] {
            buffer.clear();
            buffer.resize(width, 0.0);
        }
        for &attribute in present.iter() {
            let weights = layer.weights_of(attribute as usize);
            for ((sum, size), w) in sent.iter_mut().zip(sent_size.iter_mut()).zip(weights) {
                *sum += w;
                *size += w.abs();
            }
            let slot = attributes.slot(attribute).filter(|_| budget.direction().removes() && !fixed(attribute));
            if let Some(slot) = slot {
                removals.push(Candidate { loss: known(attributes.loss(slot, -1.0, centre, radius)), attribute });
            }
        }
        keep_largest(removals, capacity);
        additions.clear();
        if budget.direction().adds() {
            let norm = match radius {
                None => norm_above(centre.iter().copied()),
                Some(radius) => norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r)),
            };
            let (mut first, mut threshold) = (0, f64::NEG_INFINITY);
            // Cauchy–Schwarz (4.8): once there are enough, no later attribute loses more than the least of them.
            while first < attributes.count() && (norm * attributes.norm(first) > threshold || threshold.is_infinite()) {
                let length = BLOCK.min(attributes.padded_count() - first);
                scores.resize(length, 0.0);
                attributes.losses(first, centre, radius, scores);
                for (i, &loss) in scores.iter().enumerate().take(attributes.count() - first) {
                    let loss = known(loss);
                    if loss <= threshold {
                        continue;
                    }
                    let attribute = attributes.attribute(first + i);
                    if present.binary_search(&attribute).is_err() && !fixed(attribute) {
                        additions.push(Candidate { loss, attribute });
                    }
                }
                if additions.len() >= capacity {
                    keep_largest(additions, capacity);
                    threshold = additions.last().map_or(threshold, |least| least.loss);
                }
                first += length;
            }
        }
        keep_largest(additions, capacity);
        // The functional of the whole row, with what rounding may hide in its sums.
        let (mut whole, mut spread, mut size) = (0.0, 0.0, FLOOR);
        for j in 0..width {
            let r = radius.map_or(0.0, |radius| radius[j]);
            whole += centre[j] * sent[j];
            spread += r * sent[j].abs();
            size += (centre[j].abs() + r + FLOOR) * sent_size[j];
        }
        let [added, removed] = losses;
        for (list, of) in [(&mut *added, &*additions), (&mut *removed, &*removals)] {
            list.clear();
            list.extend(of.iter().map(|candidate| candidate.loss));
        }
        let row = RowLosses {
            normalisation: graph.normalisation(),
            count: present.len(),
            additions: added,
            removals: removed,
            whole,
            radius: spread + error_of(present.len() + 2 * width + 4, size),
        };
        menu.fill(row, capacity);
        share.clone_from(&menu.additions);
    }
}

/// What is not a number may be anything.
fn known(loss: f64) -> f64 {
    if loss.is_nan() { f64::INFINITY } else { loss }
}

/// The `count` largest, in falling order.
fn keep_largest(candidates: &mut Vec<Candidate>, count: usize) {
    let falling = |x: &Candidate, y: &Candidate| y.loss.total_cmp(&x.loss).then(x.attribute.cmp(&y.attribute));
    if candidates.len() > count && count > 0 {
        candidates.select_nth_unstable_by(count - 1, falling);
    }
    candidates.truncate(count);
    candidates.sort_unstable_by(falling);
}
