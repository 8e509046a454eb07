//! Rule 5′ (`FORMAT.md` §4): bends of units of layer 3, over bounds that are affine in the flips.

use std::cell::OnceCell;

use super::select::{Free, kept_share};
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
    /// `p ≤ rise·g` for a rise, and `p ≤ fall·g` for a fall.
    rise: Dyadic,
    fall: Dyadic,
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
    /// Of every change towards zero at least this part is within the level.
    pub(super) kept: Dyadic,
}

impl Bend<'_> {
    /// A number not above the part of a change towards zero that is within the level, where no change is larger.
    pub(super) fn keep(&mut self, largest: &Dyadic) {
        self.kept = kept_share(&self.stated.level, largest);
    }
}

/// The bends of a leaf at layer 3, and the lines that they rest on.
pub struct Nested<'a> {
    pub(super) free: &'a Free<'a>,
    lines: Vec<Vec<SupportLines<'a>>>,
    pub(super) bends: Vec<Bend<'a>>,
}

/// A node of `V(2)` that a flip reaches.
struct Reached {
    /// Its place.
    place: usize,
    /// `p` and `ω g` of its units.
    lines: Vec<[Dyadic; 2]>,
    /// What it sends by a term to a unit of layer 3 along entries of one sign, where that was asked for.
    sent: Vec<OnceCell<Dyadic>>,
}

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
        let one = || Dyadic::from(1);
        for (m, (&node, z)) in free.slice.nodes(2).iter().zip(z).enumerate() {
            let units = z.iter().enumerate().map(|(unit, z)| {
                let linear = free.network.is_linear(2, unit);
                let stated = find(&hints.supports, &(node, unit as u32));
                let below = z.is_negative();
                let (upper, rise, fall) = match stated {
                    _ if linear => (z.clone(), one(), one()),
                    Some(Support { level, prices, .. }) => {
                        let bend = Level { weight: Dyadic::ZERO, level: level.clone(), prices: prices.clone() };
                        let (upper, largest) = free.level_base(m, unit, z, &bend)?;
                        let kept = kept_share(level, &largest);
                        if below { (upper, &one() - &kept, Dyadic::ZERO) } else { (upper, one(), kept) }
                    }
                    None => (z.positive_part(), one(), Dyadic::ZERO),
                };
                Ok(SupportLines { linear, stated, below, z: z.clone(), upper, rise, fall })
            });
            let units = units.collect::<Result<Vec<SupportLines>, Reason>>()?;
            free.meter
                .hold(Dyadic::bytes(units.iter().flat_map(|unit| [&unit.z, &unit.upper, &unit.rise, &unit.fall])))?;
            nested.lines.push(units);
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
        (Bend { place, unit, below: base.is_negative(), stated, kept: Dyadic::ZERO }, base)
    }

    /// The places in `V(1)` whose flips may change the bound of a bend, ascending.
    pub(super) fn rows(&self, bend: &Bend) -> Vec<usize> {
        let slice = self.free.slice;
        let below = pairs(&slice.passing(2)[bend.place]).map(|pair| pair[0].place());
        let mut rows: Vec<usize> = below.flat_map(|m| slice.passing(1)[m].iter().map(Link::place)).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// `rise` and `fall` of lines by which no flip changes the bound of a bend more towards zero: `p ≤ rise·g` for a
    /// rise, `p ≤ fall·g` for a fall, and `p ≥ 0` where `z' < 0`, `p ≥ g` where it is not. Nodes that the bend does not
    /// receive from have none.
    pub(super) fn towards_zero(&self, bend: &Bend) -> Vec<Vec<[Dyadic; 2]>> {
        let mut lines: Vec<Vec<[Dyadic; 2]>> = vec![Vec::new(); self.lines.len()];
        self.received(bend.place, bend.unit, |m, _, w| {
            let line = &self.lines[m][lines[m].len()];
            let towards = if bend.below { -&w } else { w.clone() };
            lines[m].push(match w.is_positive() {
                true if bend.below => [&towards * &line.rise, &towards * &line.fall],
                true if line.below && !line.linear => [Dyadic::ZERO, Dyadic::ZERO],
                true => [towards.clone(), towards],
                false => [line.lower(&towards), line.lower(&towards)],
            });
        });
        lines
    }

    /// By how much a flip of a row changes the bound of a bend towards zero; below zero where the bound moves away.
    pub(super) fn towards(&self, bend: &Bend, place: usize, (_, d): Flip, present: bool) -> Dyadic {
        let change = self.change(&self.reached(place, d, present), bend);
        if bend.below { change } else { -&change }
    }

    /// What a flip of a row changes at layer 2.
    fn reached(&self, place: usize, d: u32, present: bool) -> Vec<Reached> {
        let (network, width) = (self.free.network, self.free.network.widths[2]);
        let weights = &network.layers[0].weight[d as usize];
        let node = |pair: &[Link]| {
            let place = pair[0].place();
            let units = self.lines[place].iter().enumerate().map(|(unit, line)| {
                let along = |link: &Link| &link.entry.exact() * &weights[link.part(width).start + unit];
                let g = pair.iter().map(along).reduce(|sum, more| &sum + &more).unwrap_or(Dyadic::ZERO);
                line.changes(&if present { -&g } else { g })
            });
            let sent = vec![OnceCell::new(); 2 * network.terms[2] * network.widths[3]];
            Reached { place, lines: units.collect(), sent }
        };
        pairs(self.free.slice.reached(place)).map(node).collect()
    }

    /// `Σ W·p` and `Σ W·ω g`, each where it counts, of what a node sends by one term along entries of one sign.
    fn sent<'r>(&self, reached: &'r Reached, link: &Link, unit: usize) -> &'r Dyadic {
        let (layer, width) = (&self.free.network.layers[1], self.free.network.widths[3]);
        let (positive, column) = (link.entry.is_positive(), link.part(width).start + unit);
        reached.sent[2 * column + usize::from(positive)].get_or_init(|| {
            let mut total = Dyadic::ZERO;
            for (weights, [up, low]) in layer.weight.iter().zip(&reached.lines) {
                let w = &weights[column];
                // Through a negative entry positive weights count as negative ones.
                let line = if w.is_positive() == positive { up } else { low };
                if !line.is_zero() {
                    total += &(w * line);
                }
            }
            total
        })
    }

    /// `G` of a bend.
    fn change(&self, reached: &[Reached], bend: &Bend) -> Dyadic {
        let (layer, width) = (&self.free.network.layers[1], self.free.network.widths[3]);
        let mut total = Dyadic::ZERO;
        for pair in pairs(&self.free.slice.passing(2)[bend.place]) {
            let Ok(at) = reached.binary_search_by_key(&pair[0].place(), |one| one.place) else { continue };
            if let [link] = pair {
                total += &(&link.entry.exact() * self.sent(&reached[at], link, bend.unit));
                continue;
            }
            for (weights, [up, low]) in layer.weight.iter().zip(&reached[at].lines) {
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
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn loss(&self, place: usize, (_, d): Flip, present: bool) -> Result<Dyadic, Reason> {
        let reached = self.reached(place, d, present);
        let mut total = Dyadic::ZERO;
        for bend in &self.bends {
            let taken = bent(&self.change(&reached, bend), &bend.stated.level, bend.below);
            total += &(&bend.stated.weight * &taken);
            self.free.meter.look()?;
        }
        Ok(total)
    }

    /// Per unit of a node of `V(2)`, what a rise and what a fall lose at most by bends, for each unit of change.
    ///
    /// `max(G − T, 0) ≤ (1 − t)·[G]₊` and `max(G, −T) ≤ t·G + (1 − t)·[G]₊`, where of a change towards zero at least
    /// the part `t` is within the level; and `[G]₊` is at most the sum of its positive parts. A rise and a fall lose
    /// together at least 0, so that the loss of a sum is at most the sum of losses.
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn slopes(&self) -> Result<Vec<Vec<[Dyadic; 2]>>, Reason> {
        let flat = |units: &Vec<SupportLines>| vec![[Dyadic::ZERO, Dyadic::ZERO]; units.len()];
        let mut slopes: Vec<Vec<[Dyadic; 2]>> = self.lines.iter().map(flat).collect();
        for bend in &self.bends {
            self.free.meter.look()?;
            let c = &bend.stated.weight;
            let (most, least) = match bend.below {
                true => (c * &(&Dyadic::from(1) - &bend.kept), Dyadic::ZERO),
                false => (c.clone(), c * &bend.kept),
            };
            self.received(bend.place, bend.unit, |m, i, w| {
                let (line, [up, down]) = (&self.lines[m][i], &mut slopes[m][i]);
                if w.is_positive() {
                    *up += &(&(&most * &w) * &line.rise);
                    *down += &-&(&(&least * &w) * &line.fall);
                } else {
                    let w = line.lower(&w);
                    *up += &(&least * &w);
                    *down += &-&(&most * &w);
                }
            });
        }
        Ok(slopes)
    }
}
