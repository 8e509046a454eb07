//! Rule 6 for normalised rows (`FORMAT.md` §4): what whole rows lose at most.

use std::rc::Rc;

use super::loss::{Losses, Slopes};
use super::rows::{Flips, Part, largest};
use super::select::Free;
use crate::number::Dyadic;
use crate::statement::Integers;
use crate::verdict::Reason;

impl Losses<'_> {
    /// `T` where rows are normalised; none where the flips that must be made in a row cannot be.
    ///
    /// # Errors
    /// If that is too expensive, as for all that is computed here.
    pub(super) fn of_rows(&self) -> Result<Option<Dyadic>, Reason> {
        let slice = self.free.slice;
        let mut parts = Vec::new();
        for (place, &node) in slice.nodes(1).iter().enumerate() {
            let told = |reason: Reason| reason.of_whole(place, slice.nodes(1).len());
            if self.free.left(node) == 0 {
                continue;
            }
            let least = self.free.decided.least(node);
            if let Some(flips) = self.row_flips(place, least > 0).map_err(told)? {
                let Some(menu) = self.free.menu(place, &flips, least).map_err(told)? else { return Ok(None) };
                parts.push(Part { node, factor: Dyadic::from(1), menu: Rc::new(menu) });
            }
        }
        self.free.meter.look()?;
        Ok(Some(self.free.rows_lose(&parts, &self.hints.price, false)))
    }

    /// What single flips of a row lose, and the row as a whole; `None` where nothing that it sends is followed and no
    /// flip must be made.
    fn row_flips(&self, place: usize, must: bool) -> Result<Option<Flips>, Reason> {
        let Free { network, slice, sent, meter, .. } = *self.free;
        let [plus, minus] = self.slopes(place, None);
        // A fall that is at least the rise makes the loss convex, and no smaller.
        let minus = plus.iter().zip(minus).map(|(plus, minus)| minus.max(plus.clone())).collect();
        let slopes = Slopes::new([plus, minus]);
        let kinked = self.kinks(place).next().is_some();
        if !kinked && !must && slopes.both.iter().flatten().all(Dyadic::is_zero) {
            return Ok(None);
        }
        let node = slice.nodes(1)[place];
        let left = self.free.left(node);
        let loss = |weights: &[Dyadic], integers: &Integers, present: bool| {
            let loss = slopes.loss(weights, integers, present);
            if kinked { &loss + &self.kinked(place, weights, present) } else { loss }
        };
        let of =
            |d: u32, present: bool| loss(&network.layers[0].weight[d as usize], &network.rows[d as usize], present);
        let width = (network.terms[1] * network.widths[2]) as u64;
        let attributes = network.graph.attributes.row(node as usize);
        meter.spend(attributes.len() as u64 * width)?;
        let present = attributes.iter().filter(|&&d| self.free.is_free(node, d, true));
        let removals = largest(present.map(|&d| of(d, true)).collect(), left);
        let mut absent = Vec::new();
        if self.free.budget.adds() {
            let all = 0..network.rows.len() as u32;
            absent.extend(all.filter(|&d| !network.has(node, d) && self.free.is_free(node, d, false)));
            meter.spend(absent.len() as u64 * width)?;
        }
        if !kinked {
            self.keep_largest(&mut absent, &slopes, left);
        }
        meter.spend(absent.len() as u64 * width)?;
        let additions = largest(absent.into_iter().map(|d| of(d, false)).collect(), left);
        let sums = &sent[place].sums;
        let integers = Integers::new(sums);
        Ok(Some(Flips { additions, removals, whole: [false, true].map(|present| loss(sums, &integers, present)) }))
    }

    /// Leaves out absent attributes that are surely not among the ones whose additions lose most, by products of
    /// rounded numbers: so many others surely lose more.
    fn keep_largest(&self, absent: &mut Vec<u32>, slopes: &Slopes, count: usize) {
        let Some(short) = self.free.network.short.as_ref().filter(|_| absent.len() > count && count > 0) else {
            return;
        };
        let [plus, minus] = &slopes.both;
        let slopes = short.slopes(plus, minus);
        let mut losses: Vec<(i64, u32)> = absent.iter().map(|&d| (short.loss(d as usize, &slopes), d)).collect();
        let (_, least, _) = losses.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        // Those that lose at least this much as rounded lose more than all that lose less by twice the error.
        let least = least.0 - 2 * slopes.error;
        losses.retain(|(loss, _)| *loss >= least);
        *absent = losses.into_iter().map(|(_, d)| d).collect();
    }

    /// What adding some weights to (or, where they are present, taking them from) what a row sends loses by kinks.
    fn kinked(&self, place: usize, weights: &[Dyadic], present: bool) -> Dyadic {
        let width = self.free.network.widths[2];
        let mut total = Dyadic::ZERO;
        for (pair, unit, [rise, fall]) in self.kinks(place) {
            let along = pair.iter().map(|link| &link.entry.exact() * &weights[link.part(width).start + unit]);
            let g = along.fold(Dyadic::ZERO, |sum, more| &sum + &more);
            let g = if present { -&g } else { g };
            total += &-&(&g * if g.is_positive() { rise } else { fall.max(rise) });
        }
        total
    }
}
