//! The largest loss of normalised rows, exactly (docs/math.md §21): menus in dyadic numbers, and the price that shares
//! out the budget, which may be rounded.

use std::cmp::Ordering;

use crate::bound::menu::Menu;
use crate::number::dyadic::Dyadic;
use crate::problem::budget::{Budget, Remaining};
use crate::problem::exact::{ExactMatrix, ExactProblem};
use crate::problem::flip::Flip;
use crate::problem::rows::attributes_after;

use super::line::Line;
use super::{BranchLines, Permitted};

/// Attributes between two looks at the clock.
const LOOK: usize = 64;

/// What the row of a node sends to the units that count: slopes of its rise and of its fall, term after term.
struct RowSlopes {
    rise: Vec<Dyadic>,
    fall: Vec<Dyadic>,
}

impl RowSlopes {
    /// What a change of what the row sends loses. With `rise ≤ fall` the loss of a sum is at most the sum of the
    /// losses.
    fn loss<'a>(&self, sent: impl Iterator<Item = &'a Dyadic>, sign: Ordering) -> Dyadic {
        let mut total = Dyadic::ZERO;
        for (at, x) in sent.enumerate() {
            let rises = x.sign() == sign;
            let slope = if rises { &self.rise[at] } else { &self.fall[at] };
            if slope.sign() != Ordering::Equal && x.sign() != Ordering::Equal {
                total += &(slope * x);
            }
        }
        if sign == Ordering::Greater { -total } else { total }
    }
}

/// A flip of a row and what it loses where the entry is 1.
struct ExactLoss {
    loss: Dyadic,
    attribute: u32,
}

/// The largest losses of a row by the number of its flips, from 0 on; none where the limits of a branch forbid that
/// number.
struct ExactMenu {
    losses: Vec<Option<Dyadic>>,
    /// How many of the best flips are additions.
    additions: Vec<usize>,
    added: Vec<ExactLoss>,
    removed: Vec<ExactLoss>,
}

impl ExactMenu {
    /// The best number of flips from `least` on, and what they lose, where every flip has a price; none if so many
    /// cannot be made.
    fn best(&self, price: &Dyadic, least: usize) -> Option<(Dyadic, usize)> {
        let mut best: Option<(Dyadic, usize)> = None;
        let possible = self.losses.iter().enumerate().skip(least);
        for (k, loss) in possible.filter_map(|(k, loss)| Some((k, loss.as_ref()?))) {
            let less = loss - &(price * &Dyadic::from(k as f64));
            if best.as_ref().is_none_or(|best| less > best.0) {
                best = Some((less, k));
            }
        }
        best
    }

    fn flips(&self, node: u32, count: usize) -> impl Iterator<Item = Flip> + '_ {
        let additions = self.additions[count];
        let chosen = self.added[..additions].iter().chain(&self.removed[..count - additions]);
        chosen.map(move |candidate| Flip { node, attribute: candidate.attribute })
    }
}

impl ExactProblem<'_> {
    /// `Q ρ + Σ_n max_k (L_n(k) − ρ k)` at a price near the best (docs/math.md (21.5)), and the flips of the best `k`.
    /// None once the deadline has passed.
    pub(super) fn largest_row_loss(
        &self,
        budget: &Budget,
        lines: &BranchLines,
        units: &[Option<Line>],
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let remaining = Remaining { budget, decided: lines.decided };
        let mut menus = Vec::new();
        for (n, &node) in self.slice.nodes(1).iter().enumerate() {
            self.look()?;
            let must = lines.decided.least(node) > 0;
            if remaining.local(node) > 0
                && let Some(slopes) = self.row_slopes(n, units, must)
            {
                menus.push((node, self.menu(remaining, n, &slopes)?));
            }
        }
        let global = remaining.global();
        let price = Dyadic::from(price(menus.iter().map(|menu| &menu.1), global));
        let mut total = &price * &Dyadic::from(global as f64);
        let mut flips = Vec::new();
        for (node, menu) in &menus {
            let (loss, count) = menu.best(&price, lines.decided.least(*node))?;
            total += &loss;
            flips.extend(menu.flips(*node, count));
        }
        // At the price some rows may together want more than there is.
        flips.truncate(global);
        Some((total, flips))
    }

    /// Slopes of what the slice's `n`-th row sends; none if nothing counts there. Where terms meet, a change is the sum
    /// of theirs and loses no more than they do one by one.
    fn row_slopes(&self, n: usize, units: &[Option<Line>], must: bool) -> Option<RowSlopes> {
        let layer = &self.network.layers()[0];
        let (width, all) = (layer.outputs(), layer.outputs() * layer.passing.terms());
        let (mut rise, mut fall) = (ExactMatrix::zeros(1, all), ExactMatrix::zeros(1, all));
        for (_, m, entries) in self.slice.reaching(n) {
            for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                let exact = Dyadic::from(a);
                for (j, line) in units[m * width..][..width].iter().enumerate() {
                    let Some(line) = line else { continue };
                    let (up, down) = line.slopes();
                    // The loss must be convex.
                    let down = down.max(up.clone());
                    let (up, down) = if a > 0.0 { (up, down) } else { (down, up) };
                    rise.add(0, k * width + j, &(&up * &exact));
                    fall.add(0, k * width + j, &(&down * &exact));
                }
            }
        }
        let counts = rise.values.iter().chain(&fall.values).any(|slope| slope.sign() != Ordering::Equal);
        (counts || must).then_some(RowSlopes { rise: rise.values, fall: fall.values })
    }

    /// The menu of a row (docs/math.md (21.4)); none once the deadline has passed.
    fn menu(&self, remaining: Remaining, n: usize, slopes: &RowSlopes) -> Option<ExactMenu> {
        let node = self.slice.nodes(1)[n];
        let layer = &self.network.layers()[0];
        let capacity = remaining.local(node);
        let permitted = Permitted::new(self, remaining.budget, remaining.decided, n);
        let present: Vec<u32> = attributes_after(self.graph, node, &remaining.decided.flipped).collect();
        let weights = |d: usize| layer.weights_of(d).map(Dyadic::from).collect::<Vec<Dyadic>>();
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for d in 0..layer.inputs() {
            if d % LOOK == 0 {
                self.look()?;
            }
            let attribute = d as u32;
            match permitted.sign(d) {
                Some(1.0) => {
                    added.push(ExactLoss { loss: slopes.loss(weights(d).iter(), Ordering::Greater), attribute });
                }
                Some(_) => removed.push(ExactLoss { loss: slopes.loss(weights(d).iter(), Ordering::Less), attribute }),
                None => {}
            }
        }
        for list in [&mut added, &mut removed] {
            list.sort_by(|x, y| y.loss.cmp(&x.loss));
            list.truncate(capacity);
        }
        let mut whole = vec![Dyadic::ZERO; slopes.rise.len()];
        for &d in &present {
            whole.iter_mut().zip(weights(d as usize)).for_each(|(sum, w)| *sum += &w);
        }
        let scaled = [Ordering::Greater, Ordering::Less].map(|sign| slopes.loss(whole.iter(), sign));
        let entry = |count: usize| Dyadic::from(self.graph.normalisation().entry(count));
        let before = entry(present.len());
        let mut menu = ExactMenu { losses: vec![Some(Dyadic::ZERO)], additions: vec![0], added, removed };
        let limits = remaining.decided.row_limits(node);
        for k in 1..=capacity.min(menu.added.len() + menu.removed.len()) {
            let mut best: Option<(Dyadic, usize)> = None;
            for a in k.saturating_sub(menu.removed.len())..=k.min(menu.added.len()) {
                let r = k - a;
                if !(limits[0][0]..=limits[0][1]).contains(&a) || !(limits[1][0]..=limits[1][1]).contains(&r) {
                    continue;
                }
                let after = entry(present.len() + a - r);
                let singles = menu.added[..a].iter().chain(&menu.removed[..r]);
                let singles = singles.fold(Dyadic::ZERO, |sum, candidate| &sum + &candidate.loss);
                let rise = &after - &before;
                // A row whose entries rise changes by a multiple of its sum, one whose entries fall by a multiple of
                // minus it.
                let of_whole = if rise.sign() == Ordering::Less { &scaled[1] } else { &scaled[0] };
                let size = if rise.sign() == Ordering::Less { -rise } else { rise };
                let loss = &(&after * &singles) + &(&size * of_whole);
                if best.as_ref().is_none_or(|best| loss > best.0) {
                    best = Some((loss, a));
                }
            }
            let (loss, a) = best.unzip();
            menu.losses.push(loss);
            menu.additions.push(a.unwrap_or(0));
        }
        Some(menu)
    }

    /// `R` and `S` of a unit, finite where the floats are not: every row may use all of its budget.
    pub(super) fn row_bounds(
        &self,
        remaining: Remaining,
        m: usize,
        j: usize,
        z: &Dyadic,
        [lower, upper]: [f64; 2],
    ) -> (Dyadic, Dyadic) {
        if lower.is_finite() && upper.is_finite() {
            return (lower.into(), upper.into());
        }
        let layer = &self.network.layers()[0];
        let width = layer.outputs();
        let change = |sign: f64| {
            let mut total = Dyadic::ZERO;
            for (n, entries) in self.slice.passing(1).row(m) {
                let mut slopes = vec![Dyadic::ZERO; width * layer.passing.terms()];
                for (k, &a) in entries.iter().enumerate() {
                    slopes[k * width + j] = Dyadic::from(-sign * a);
                }
                let slopes = RowSlopes { rise: slopes.clone(), fall: slopes };
                if remaining.local(self.slice.nodes(1)[n]) > 0
                    && let Some(menu) = self.menu(remaining, n, &slopes)
                {
                    total += &menu.best(&Dyadic::ZERO, 0).map_or(Dyadic::ZERO, |best| best.0);
                }
            }
            total
        };
        (z - &change(-1.0), z + &change(1.0))
    }
}

/// The price at which all rows together want as many flips as there are; any price is valid.
fn price<'a>(menus: impl Iterator<Item = &'a ExactMenu>, global: usize) -> f64 {
    let mut steps = Vec::new();
    let mut hull = Menu::default();
    for menu in menus {
        let losses = menu.losses.iter().map(|loss| loss.as_ref().map_or(f64::NEG_INFINITY, Dyadic::approximate));
        steps.extend_from_slice(hull.steps_of(losses));
    }
    if steps.len() <= global || global == 0 {
        return 0.0;
    }
    let (_, price, _) = steps.select_nth_unstable_by(global - 1, |x, y| y.total_cmp(x));
    if price.is_finite() { price.max(0.0) } else { 0.0 }
}
