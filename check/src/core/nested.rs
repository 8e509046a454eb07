//! Rule 5′ (`FORMAT.md` §4): bends of units of layer 3, over bounds that are affine in the flips.

use super::select::Free;
use crate::format::exact::{ExactHints, Level, Support, find};
use crate::ids::Flip;
use crate::number::Dyadic;
use crate::statement::{Link, pairs};
use crate::verdict::Reason;

/// The lines of a unit of layer 2 that bends of layer 3 rest on.
struct SupportLines<'a> {
    /// Not stated, because the unit is linear.
    linear: bool,
    stated: Option<&'a Support>,
    /// Is `z' < 0`?
    below: bool,
    /// `z'`.
    z: Dyadic,
    /// `a`.
    upper: Dyadic,
}

impl SupportLines<'_> {
    /// `p` and `ω g` of a change `g`.
    fn changes(&self, g: &Dyadic) -> [Dyadic; 2] {
        if self.linear {
            return [g.clone(), g.clone()];
        }
        let upper = match self.stated {
            Some(stated) => bent(g, &stated.level, self.below),
            None => g.positive_part(),
        };
        [upper, self.lower(g)]
    }

    /// `ω x`.
    fn lower(&self, x: &Dyadic) -> Dyadic {
        match self.stated {
            _ if self.linear => x.clone(),
            Some(stated) => &stated.omega * x,
            None => Dyadic::ZERO,
        }
    }
}

/// `max(g − u, −v)` of a bend by a level.
fn bent(g: &Dyadic, level: &Dyadic, below: bool) -> Dyadic {
    if below { (g - level).positive_part() } else { g.clone().max(-level) }
}

/// A bend of a unit of layer 3.
pub(super) struct Bend<'a> {
    /// Place in `V(3)`.
    place: usize,
    unit: usize,
    /// Is `B < 0`?
    pub(super) below: bool,
    pub(super) stated: &'a Level,
}

/// The bends of a leaf at layer 3, and the lines that they rest on.
pub struct Nested<'a> {
    pub(super) free: &'a Free<'a>,
    lines: Vec<Vec<SupportLines<'a>>>,
    pub(super) bends: Vec<Bend<'a>>,
}

/// How far a row of `V(1)` reaches: a place in `V(2)`, with `p` and `ω g` of its units.
type Reached = (usize, Vec<[Dyadic; 2]>);

impl<'a> Nested<'a> {
    /// The lines that hints state; `z` are the pre-activations of layer 2.
    ///
    /// # Errors
    /// If that is too expensive, as for all that is computed here.
    pub fn new(free: &'a Free<'a>, hints: &'a ExactHints, z: &[Vec<Dyadic>]) -> Result<Nested<'a>, Reason> {
        let mut nested = Nested { free, lines: Vec::new(), bends: Vec::new() };
        if hints.nested.is_empty() {
            return Ok(nested);
        }
        for (m, (&node, z)) in free.slice.nodes(2).iter().zip(z).enumerate() {
            let units = z.iter().enumerate().map(|(unit, z)| {
                let linear = free.network.is_linear(2, unit);
                let stated = find(&hints.supports, &(node, unit as u32));
                let upper = match stated {
                    _ if linear => z.clone(),
                    Some(Support { level, prices, .. }) => {
                        let bend = Level { weight: Dyadic::ZERO, level: level.clone(), prices: prices.clone() };
                        free.level_base(m, unit, z, &bend)?
                    }
                    None => z.positive_part(),
                };
                Ok(SupportLines { linear, stated, below: z.is_negative(), z: z.clone(), upper })
            });
            nested.lines.push(units.collect::<Result<_, Reason>>()?);
        }
        Ok(nested)
    }

    /// Has the leaf no such bends?
    pub fn is_empty(&self) -> bool {
        self.bends.is_empty()
    }

    /// Every unit of layer 2 that a unit of layer 3 receives from, with its weight `w`.
    fn received(&self, place: usize, unit: usize, mut each: impl FnMut(usize, usize, Dyadic)) {
        let (layer, width) = (&self.free.network.layers[1], self.free.network.widths[3]);
        for pair in pairs(&self.free.slice.passing(2)[place]) {
            for (i, weights) in layer.weight.iter().enumerate() {
                let along = |link: &Link| &link.entry.exact() * &weights[link.part(width).start + unit];
                let w = pair.iter().map(along).reduce(|sum, more| &sum + &more).unwrap_or(Dyadic::ZERO);
                each(pair[0].place(), i, w);
            }
        }
    }

    /// `B`.
    fn base(&self, place: usize, unit: usize) -> Dyadic {
        let node = self.free.slice.nodes(3)[place];
        let mut base = self.free.network.layers[1].bias(node)[unit].clone();
        self.received(place, unit, |m, i, w| {
            let line = &self.lines[m][i];
            base += &(&w * &if w.is_positive() { line.upper.clone() } else { line.lower(&line.z) });
        });
        base
    }

    /// The bend of a unit of the node at a place of `V(3)`, and its `B`.
    pub(super) fn bend(&self, place: usize, unit: usize, stated: &'a Level) -> (Bend<'a>, Dyadic) {
        let base = self.base(place, unit);
        (Bend { place, unit, below: base.is_negative(), stated }, base)
    }

    /// `rise` and `fall` of lines by which no flip changes the bound of a bend more towards zero: `p ≤ [g]₊`, and
    /// `p ≥ 0` where `z' < 0`, `p ≥ g` where it is not.
    pub(super) fn towards_zero(&self, bend: &Bend) -> Vec<Vec<[Dyadic; 2]>> {
        let flat = |units: &Vec<SupportLines>| vec![[Dyadic::ZERO, Dyadic::ZERO]; units.len()];
        let mut lines: Vec<Vec<[Dyadic; 2]>> = self.lines.iter().map(flat).collect();
        self.received(bend.place, bend.unit, |m, i, w| {
            let line = &self.lines[m][i];
            let towards = if bend.below { -&w } else { w.clone() };
            lines[m][i] = match w.is_positive() {
                true if line.linear => [towards.clone(), towards],
                true if bend.below => [towards, Dyadic::ZERO],
                true if line.below => [Dyadic::ZERO, Dyadic::ZERO],
                true => [towards.clone(), towards],
                false => [line.lower(&towards), line.lower(&towards)],
            };
        });
        lines
    }

    /// What a flip of a row pays towards a bend: at most the level of a change of its bound towards zero. Below zero
    /// where the bound moves away.
    pub(super) fn amount(&self, bend: &Bend, place: usize, (_, d): Flip, present: bool) -> Dyadic {
        let change = self.change(&self.reached(place, d, present), bend);
        (if bend.below { change } else { -&change }).min(bend.stated.level.clone())
    }

    /// What a flip of a row changes at layer 2.
    fn reached(&self, place: usize, d: u32, present: bool) -> Vec<Reached> {
        let (network, width) = (self.free.network, self.free.network.widths[2]);
        let weights = &network.layers[0].weight[d as usize];
        let node = |pair: &[Link]| {
            let m = pair[0].place();
            let units = self.lines[m].iter().enumerate().map(|(unit, line)| {
                let along = |link: &Link| &link.entry.exact() * &weights[link.part(width).start + unit];
                let g = pair.iter().map(along).reduce(|sum, more| &sum + &more).unwrap_or(Dyadic::ZERO);
                line.changes(&if present { -&g } else { g })
            });
            (m, units.collect())
        };
        pairs(self.free.slice.reached(place)).map(node).collect()
    }

    /// `G` of a bend.
    fn change(&self, reached: &[Reached], bend: &Bend) -> Dyadic {
        let (layer, width) = (&self.free.network.layers[1], self.free.network.widths[3]);
        let mut total = Dyadic::ZERO;
        for pair in pairs(&self.free.slice.passing(2)[bend.place]) {
            let Ok(at) = reached.binary_search_by_key(&pair[0].place(), |one| one.0) else { continue };
            for (weights, [up, low]) in layer.weight.iter().zip(&reached[at].1) {
                if up.is_zero() && low.is_zero() {
                    continue;
                }
                let along = |link: &Link| &link.entry.exact() * &weights[link.part(width).start + bend.unit];
                let w = pair.iter().map(along).reduce(|sum, more| &sum + &more).unwrap_or(Dyadic::ZERO);
                total += &(&w * if w.is_positive() { up } else { low });
            }
        }
        total
    }

    /// `Σ c·max(G − u, −v)` over all bends, for a flip of a row.
    pub fn loss(&self, place: usize, (_, d): Flip, present: bool) -> Dyadic {
        let reached = self.reached(place, d, present);
        let mut total = Dyadic::ZERO;
        for bend in &self.bends {
            let taken = bent(&self.change(&reached, bend), &bend.stated.level, bend.below);
            total += &(&bend.stated.weight * &taken);
        }
        total
    }

    /// Per unit of a node of `V(2)`, slopes for a rise and for a fall that no flip exceeds in what it loses by bends:
    /// `max(G − u, −v) ≤ [G]₊`, which is at most the sum of its positive parts.
    pub fn slopes(&self) -> Vec<Vec<[Dyadic; 2]>> {
        let flat = |units: &Vec<SupportLines>| vec![[Dyadic::ZERO, Dyadic::ZERO]; units.len()];
        let mut slopes: Vec<Vec<[Dyadic; 2]>> = self.lines.iter().map(flat).collect();
        for bend in &self.bends {
            self.received(bend.place, bend.unit, |m, i, w| {
                let (line, [up, down]) = (&self.lines[m][i], &mut slopes[m][i]);
                let amount = &bend.stated.weight * &w;
                if w.is_positive() {
                    *up += &amount;
                } else {
                    *down += &-&line.lower(&amount);
                }
            });
        }
        slopes
    }
}
