//! `A` of bends of layer 3 (`FORMAT.md` §4, rule 5′).

use super::loss::Losses;
use super::nested::{Bend, Nested};
use crate::format::exact::{ExactHints, Level};
use crate::number::Dyadic;
use crate::verdict::Reason;

impl<'a> Nested<'a> {
    /// Adds the bend of a unit of the node at a place of `V(3)`, and returns its `A`.
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn add(&mut self, place: usize, unit: usize, stated: &'a Level) -> Result<Dyadic, Reason> {
        let (mut bend, base) = self.bend(place, unit, stated);
        let (paid, largest) = self.paid(&bend)?;
        bend.keep(&largest);
        let above = if bend.below { (&base + &paid).positive_part() } else { base.max(paid) };
        self.bends.push(bend);
        Ok(above)
    }

    /// Rule 1 for what flips pay towards a bend, at most the level each; and a number not below any change to zero.
    fn paid(&self, bend: &Bend) -> Result<(Dyadic, Dyadic), Reason> {
        let (free, prices, hints) = (self.free, &bend.stated.prices, ExactHints::default());
        let lines = self.towards_zero(bend);
        let losses = Losses { free, lines: &lines, bends: &[], nested: None, hints: &hints };
        let (mut total, mut largest) = (free.paid(prices), prices.largest());
        losses.survivors(&self.rows(bend), prices, |place, flip, present| {
            let change = self.towards(bend, place, flip, present);
            total += &(&change.clone().min(bend.stated.level.clone()) - &prices.of(flip.0)).positive_part();
            if change > largest {
                largest = change;
            }
        })?;
        Ok((total, largest))
    }
}
