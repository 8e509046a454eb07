//! The worst flips where rows are normalised: the menus of all rows, and the budget shared out among their steps
//! (docs/math.md (21.5)).

use crate::bound::losses::{Loss, SearchSpace, Slopes};
use crate::bound::menu::{Menu, RowLosses, Scale, Scales};
use crate::bound::row_sums::add_up;
use crate::number::rounding::{FLOOR, error_of, norm_above};
use crate::problem::flip::Flip;
use crate::problem::limits::Watch;
use crate::problem::matrix::PatternRows;
use crate::problem::rows::attributes_after;
use crate::problem::slice::Slice;

/// Attributes scored between two comparisons with the threshold.
const BLOCK: usize = 64;

/// A flip of a row with what it loses where the entry is 1.
#[derive(Clone, Copy, Debug)]
struct RowFlip {
    loss: f64,
    attribute: u32,
}

/// A step of a row's menu.
#[derive(Clone, Copy, Debug)]
struct MenuStep {
    loss: f64,
    /// Which of the rows that were looked at.
    row: u32,
}

/// A row that was looked at: the flips that its menu is made of.
#[derive(Debug, Default)]
struct PricedRow {
    node: u32,
    additions: Vec<RowFlip>,
    removals: Vec<RowFlip>,
    /// How many of the best `k` flips are additions.
    share: Vec<usize>,
    /// How many flips must be made.
    least: usize,
    /// The numbers of flips at which the menu's hull has its corners.
    corners: Vec<usize>,
}

impl PricedRow {
    /// The best so many flips; attributes that were not scored are left out.
    fn flips(&self, made: usize) -> impl Iterator<Item = Flip> + '_ {
        let additions = self.share.get(made).copied().unwrap_or(0);
        let removals = self.removals.get(..made - additions).unwrap_or_default();
        let chosen = self.additions.iter().take(additions).chain(removals);
        chosen.map(|candidate| Flip { node: self.node, attribute: candidate.attribute })
    }
}

/// The buffers of a selection among normalised rows.
#[derive(Debug, Default)]
pub struct RowSelection {
    rows: Vec<PricedRow>,
    steps: Vec<MenuStep>,
    menu: Menu,
    scores: Vec<f64>,
    losses: [Vec<f64>; 2],
    present: Vec<u32>,
    waiting: Vec<Waiting>,
    sums: Vec<f64>,
    scales: Scales,
    /// The moves that the last selection consists of, one after the other, and where each ends.
    moves: Vec<Flip>,
    ends: Vec<usize>,
    /// How much of each of them is made.
    shares: Vec<f64>,
}

/// A row that waits to be looked at.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// No step of its menu is larger.
    most: f64,
    /// Its number in the slice.
    n: u32,
    node: u32,
    /// How many flips may be made, and must be.
    capacity: usize,
    least: usize,
    /// Number of ones.
    count: usize,
    /// Of its slopes.
    norm: f64,
    /// The functional of all ones together, and its radius.
    whole: f64,
    spread: f64,
    shift: f64,
    largest: f64,
}

impl RowSelection {
    /// The moves of rows that shares of make up the last selection.
    pub fn moves(&self) -> impl Iterator<Item = &[Flip]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.moves[start..end])
    }

    /// The same with their shares.
    pub fn shared_moves(&self) -> impl Iterator<Item = (f64, &[Flip])> {
        self.shares.iter().copied().zip(self.moves())
    }

    /// The sum of the `global` largest steps of all menus, rounded up: not below the loss of any admissible set; −∞ if
    /// there is none, because the flips that must be made cannot be. `kept` gets the flips that attain it, up to the
    /// gaps between losses and their hulls.
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
        self.moves.clear();
        self.ends.clear();
        self.shares.clear();
        self.order_rows(space, global, slice, slopes);
        let Some(global) = global.checked_sub(space.decided.least_in_all()) else { return f64::NEG_INFINITY };
        // What the `global` largest steps surely reach: smaller ones do not matter.
        let mut threshold = if global == 0 { f64::INFINITY } else { 0.0 };
        // What must be lost may be negative, and cancel: its size says how far the sum may be off.
        let (mut base, mut size, mut seen) = (0.0, FLOOR, 0);
        for looked in 0..self.waiting.len() {
            let row = self.waiting[looked];
            // Rows in which flips must be made come first.
            if row.least == 0 && row.most <= threshold {
                break;
            }
            if watch.is_some_and(Watch::is_late) {
                return f64::INFINITY;
            }
            if self.rows.len() == looked {
                self.rows.push(PricedRow::default());
            }
            self.look(space, row, slopes, if row.least > 0 { 0.0 } else { threshold }, looked);
            base += self.menu.base;
            size += self.menu.base.abs();
            self.rows[looked].least = row.least;
            seen = looked + 1;
            let steps = self.menu.steps.iter().take_while(|&&loss| loss > threshold);
            self.steps.extend(steps.map(|&loss| MenuStep { loss, row: looked as u32 }));
            if self.steps.len() >= global && global > 0 {
                let falling = |x: &MenuStep, y: &MenuStep| y.loss.total_cmp(&x.loss).then(x.row.cmp(&y.row));
                let (_, least, _) = self.steps.select_nth_unstable_by(global - 1, falling);
                threshold = least.loss;
                self.steps.truncate(global);
            }
        }
        self.steps.sort_by(|x, y| x.row.cmp(&y.row).then(y.loss.total_cmp(&x.loss)));
        let mut steps = self.steps.as_slice();
        for (at, row) in self.rows.iter().enumerate().take(seen) {
            let own = steps.iter().take_while(|step| step.row as usize == at).count();
            let (of_row, rest) = steps.split_at(own);
            steps = rest;
            let made = row.least + own;
            if made == 0 {
                continue;
            }
            let losses = std::iter::repeat_n(0.0, row.least).chain(of_row.iter().map(|step| step.loss));
            kept.extend(row.flips(made).zip(losses).map(|(flip, loss)| Loss { loss, flip }));
            // Between two corners of the hull the relaxed attacker makes shares of the moves at both.
            let after = row.corners.partition_point(|&corner| row.least + corner < made);
            let corners = row.corners[after.saturating_sub(1)..].iter().take(2).map(|corner| row.least + corner);
            let below = row.least + row.corners[after.saturating_sub(1)];
            let span = row.corners.get(after).map_or(0, |corner| row.least + corner - below);
            for corner in corners.filter(|&corner| corner > 0) {
                let flips: Vec<Flip> = row.flips(corner).collect();
                if flips.len() == corner {
                    self.moves.extend(flips);
                    self.ends.push(self.moves.len());
                    let share = if span == 0 { 1.0 } else { (made - below) as f64 / span as f64 };
                    self.shares.push(if span == 0 || corner > below { share } else { 1.0 - share });
                }
            }
        }
        if base == f64::NEG_INFINITY {
            return base;
        }
        let steps: f64 = self.steps.iter().map(|step| step.loss).sum();
        (base + steps + error_of(self.steps.len() + seen + 2, size + steps)).next_up()
    }

    /// All rows that may be touched, those with the largest bound on their steps first (docs/math.md (21.8)).
    fn order_rows(&mut self, space: &SearchSpace, global: usize, slice: &Slice, slopes: &Slopes) {
        let SearchSpace { graph, layer, budget, decided, attributes, row_sums } = space;
        let (width, normalisation) = (attributes.width(), graph.normalisation());
        self.waiting.clear();
        for (n, &node) in slice.nodes(1).iter().enumerate() {
            let capacity = decided.local(budget, node).unwrap_or(0).min(global);
            let least = decided.least(node);
            if capacity == 0 {
                continue;
            }
            let centre = &slopes.centre[n * width..][..width];
            let radius = slopes.radius.get(n * width..(n + 1) * width);
            let norm = match radius {
                None => norm_above(centre.iter().copied()),
                Some(radius) => norm_above(centre.iter().zip(radius).map(|(c, r)| c.abs() + r)),
            };
            let unchanged = row_sums.filter(|_| !decided.flipped.iter().any(|flip| flip.node == node));
            let (count, sums) = match unchanged {
                Some(row_sums) => (graph.attributes().row(node as usize).len(), row_sums.of(node)),
                None => {
                    self.sums.clear();
                    self.sums.resize(2 * width, 0.0);
                    let count = add_up(layer, attributes_after(graph, node, &decided.flipped), &mut self.sums);
                    (count, &*self.sums)
                }
            };
            let (sent, sizes) = sums.split_at(width);
            // The functional of the whole row, with what rounding may hide in its sums.
            let (mut whole, mut spread, mut size) = (0.0, 0.0, FLOOR);
            for j in 0..width {
                let r = radius.map_or(0.0, |radius| radius[j]);
                whole += centre[j] * sent[j];
                spread += r * sent[j].abs();
                size += (centre[j].abs() + r + FLOOR) * sizes[j];
            }
            let spread = spread + error_of(count + 2 * width + 4, size);
            let Scale { shift, largest } = self.scales.of(normalisation, count, capacity);
            let most = shift * (whole.abs() + spread) + largest * norm * attributes.norm(0);
            let most = known((most * (1.0 + 1e-9)).next_up());
            self.waiting.push(Waiting {
                most,
                n: n as u32,
                node,
                capacity,
                least,
                count,
                norm,
                whole,
                spread,
                shift,
                largest,
            });
        }
        self.waiting
            .sort_by(|x, y| (y.least > 0).cmp(&(x.least > 0)).then(y.most.total_cmp(&x.most)).then(x.n.cmp(&y.n)));
    }

    /// Fills the menu of a row (docs/math.md (21.4)). Attributes with which no step exceeds the threshold need not be
    /// scored: they lose no more than the place where the search for them ends.
    fn look(&mut self, space: &SearchSpace, row: Waiting, slopes: &Slopes, threshold: f64, at: usize) {
        let SearchSpace { graph, budget, decided, attributes, .. } = space;
        let Waiting { n, node, capacity, least: must, count, norm, whole, spread, shift, largest, .. } = row;
        let (n, width) = (n as usize, attributes.width());
        let centre = &slopes.centre[n * width..][..width];
        let radius = slopes.radius.get(n * width..(n + 1) * width);
        let RowSelection { rows, menu, scores, losses, present, .. } = self;
        let PricedRow { node: of, additions, removals, share, corners, .. } = &mut rows[at];
        *of = node;
        present.clear();
        present.extend(attributes_after(graph, node, &decided.flipped));
        present.sort_unstable();
        let fixed = |attribute: u32| decided.fixes(budget, Flip { node, attribute });
        removals.clear();
        if budget.direction().removes() {
            for &attribute in present.iter() {
                if let Some(slot) = attributes.slot(attribute).filter(|_| !fixed(attribute)) {
                    removals.push(RowFlip { loss: known(attributes.loss(slot, -1.0, centre, radius)), attribute });
                }
            }
        }
        keep_largest(removals, capacity);
        additions.clear();
        let mut unseen = None;
        if budget.direction().adds() {
            // With less than this a flip adds no more than the threshold.
            let enough = ((threshold - shift * (whole.abs() + spread)) / largest * (1.0 - 1e-9)).next_down();
            let mut least = if enough > 0.0 { enough } else { f64::NEG_INFINITY };
            let mut first = 0;
            // Cauchy–Schwarz (4.8): no later attribute loses more than the least that matters.
            while first < attributes.count() {
                let most = norm * attributes.norm(first);
                if most <= least {
                    unseen = Some(least);
                    break;
                }
                let length = BLOCK.min(attributes.padded_count() - first);
                scores.resize(length, 0.0);
                attributes.losses(first, centre, radius, scores);
                for (i, &loss) in scores.iter().enumerate().take(attributes.count() - first) {
                    let loss = known(loss);
                    if loss <= least {
                        unseen = Some(least);
                        continue;
                    }
                    let attribute = attributes.attribute(first + i);
                    if present.binary_search(&attribute).is_err() && !fixed(attribute) {
                        additions.push(RowFlip { loss, attribute });
                    }
                }
                if additions.len() > 2 * capacity {
                    keep_largest(additions, capacity);
                    least = additions.last().map_or(least, |last| last.loss.max(least));
                }
                first += length;
            }
        }
        keep_largest(additions, capacity);
        let [added, removed] = losses;
        for (list, of) in [(&mut *added, &*additions), (&mut *removed, &*removals)] {
            list.clear();
            list.extend(of.iter().map(|candidate| candidate.loss));
        }
        // Attributes that were not scored, as many as there may be.
        added.extend(unseen.iter().cycle().take(capacity - added.len()));
        let row = RowLosses {
            normalisation: graph.normalisation(),
            count,
            additions: added,
            removals: removed,
            whole,
            radius: spread,
            limits: decided.row_limits(node),
        };
        menu.fill_from(row, must, capacity);
        share.clone_from(&menu.additions);
        corners.clone_from(&menu.hull);
    }
}

/// What is not a number may be anything.
fn known(loss: f64) -> f64 {
    if loss.is_nan() { f64::INFINITY } else { loss }
}

/// The `count` largest, in falling order.
fn keep_largest(candidates: &mut Vec<RowFlip>, count: usize) {
    let falling = |x: &RowFlip, y: &RowFlip| y.loss.total_cmp(&x.loss).then(x.attribute.cmp(&y.attribute));
    if candidates.len() > count && count > 0 {
        candidates.select_nth_unstable_by(count - 1, falling);
    }
    candidates.truncate(count);
    candidates.sort_unstable_by(falling);
}
