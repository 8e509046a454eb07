//! A relaxed network of any depth as a linear one: every undecided unit rests on one of its rows, and may leave it.
//!
//! The paper's relaxation bounds the activation `h` of an undecided unit by the rows `h ≥ 0`, `h ≥ z`, `h ≤
//! S(z−R)/(S−R)`; at representations 2 and 3 the capped bound is one more from above. At an optimum nearly every unit
//! lies on one row, which depends on the sign of its coefficient and on which row is tightest there. If it is taken to
//! be on it, `h` is a linear function of what comes below and needs no variable. The few others have one: how far they
//! are from the row that they rest on.

use std::sync::Arc;

use crate::bound::backward::{Sign, UnitPlace};
use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::nested::Nested;
use crate::bound::selection::SearchSpace;
use crate::problem::network::Network;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;
use crate::search::master::AllowedLines;

/// A row of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constraint {
    /// `h ≥ 0`.
    Zero,
    /// `h ≥ z`.
    Input,
    /// `h ≤ S(z−R)/(S−R)`.
    Chord,
    /// `h ≤` the capped bound, at representations 2 and 3.
    Capped,
    /// `z ≥ 0` or `z ≤ 0`, which a branch assumes.
    Sign,
}

/// The rows that bound an activation.
const CONSTRAINTS: [Constraint; 4] = [Constraint::Zero, Constraint::Input, Constraint::Chord, Constraint::Capped];

/// A hidden unit of the relaxed network.
#[derive(Clone, Copy, Debug)]
pub struct RelaxedUnit {
    /// `R`.
    pub lower: f64,
    /// `S`.
    pub upper: f64,
    /// What a branch assumes of it.
    pub assumption: Assumption,
    /// Where it rests.
    pub rest: Constraint,
    /// Has it the capped row?
    pub capped: bool,
}

impl RelaxedUnit {
    /// Is its activation a variable of the relaxation?
    pub fn is_loose(&self) -> bool {
        self.assumption == Assumption::Free && self.lower < 0.0 && self.upper > 0.0
    }

    /// Has it rows: those that bound its activation, or that of its assumed sign?
    pub fn is_involved(&self) -> bool {
        self.is_loose() || self.assumption != Assumption::Free
    }

    /// The largest distance between its rows, by which they are scaled.
    pub fn size(&self) -> f64 {
        (self.upper - self.lower).max(f64::MIN_POSITIVE)
    }

    /// The row as a line: slope and intercept. That of the capped row is the unperturbed activation.
    fn line(&self, row: Constraint, value: f64) -> (f64, f64) {
        match row {
            Constraint::Zero | Constraint::Sign => (0.0, 0.0),
            Constraint::Input => (1.0, 0.0),
            Constraint::Chord => {
                let slope = self.upper / self.size();
                (slope, -slope * self.lower)
            }
            Constraint::Capped => (0.0, value.max(0.0)),
        }
    }

    /// The row as `α h + β z + … ≥ 0`.
    pub fn row(&self, row: Constraint) -> (f64, f64) {
        match row {
            Constraint::Zero => (1.0, 0.0),
            Constraint::Input => (1.0, -1.0),
            Constraint::Chord => (-1.0, self.upper / self.size()),
            Constraint::Capped => (-1.0, 0.0),
            Constraint::Sign if self.assumption == Assumption::Active => (0.0, 1.0),
            Constraint::Sign => (0.0, -1.0),
        }
    }
}

/// What one variable changes in the network: its effect on the inputs of all units, and on the objective.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// At representation 2: place, change of the input, change of the capped bound.
    first: Vec<(usize, f64, f64)>,
    /// At representations 3 and up.
    above: Vec<Vec<f64>>,
    /// At representation 3: change of the capped bounds; empty if there is none.
    nested: Vec<f64>,
    /// On the activation of one unit itself.
    own: Option<(UnitPlace, f64)>,
    /// On the objective.
    pub objective: f64,
}

impl Effect {
    /// Marks the units that it changes, by representation and place.
    pub fn touch(&self, touched: &mut [Vec<bool>]) {
        for change in self.first.iter().filter(|change| change.1 != 0.0) {
            touched[0][change.0] = true;
        }
        for (above, touched) in self.above.iter().zip(&mut touched[1..]) {
            above.iter().zip(touched).filter(|(z, _)| **z != 0.0).for_each(|(_, touched)| *touched = true);
        }
        if let Some((UnitPlace { l, at }, _)) = self.own {
            touched[l - 2][at] = true;
        }
    }
}

/// Inputs and activations of all units at a point of the relaxation.
#[derive(Clone, Debug, Default)]
pub struct RelaxedPoint {
    /// By representation and place.
    pub input: Vec<Vec<f64>>,
    /// By representation and place.
    pub active: Vec<Vec<f64>>,
    /// The capped bounds of the units of representations 2 and 3.
    capped: [Vec<f64>; 2],
}

/// The relaxed network of a slice.
pub struct Layers<'a> {
    pub(super) network: &'a Network,
    pub(super) objective: Vec<(usize, f64)>,
    /// By representation, from 2 on, and place.
    pub units: Vec<Vec<RelaxedUnit>>,
    /// Inputs of representation 2 at the anchor.
    value: Vec<f64>,
    hidden: Hidden,
    /// The affine bounds of representation 3, where its units have the capped row.
    nested: Option<Arc<Nested>>,
}

impl<'a> Layers<'a> {
    /// The network with bounds for every hidden representation; all units rest on zero.
    pub fn new(
        network: &'a Network,
        hidden: &Hidden,
        bounds: &[LayerBounds],
        objective: &[(usize, f64)],
        signs: &[Sign],
        lines: AllowedLines,
        nested: Option<Arc<Nested>>,
    ) -> Layers<'a> {
        let highest = if nested.is_some() { 1 } else { 0 };
        let units = bounds.iter().enumerate().map(|(above, bounds)| {
            let unit = |(at, (&lower, &upper)): (usize, (&f64, &f64))| {
                let assumption = match signs.iter().find(|sign| sign.place == UnitPlace { l: above + 2, at }) {
                    Some(sign) if sign.active => Assumption::Active,
                    Some(_) => Assumption::Inactive,
                    None if above == 0 => hidden.assumption[at],
                    None => Assumption::Free,
                };
                RelaxedUnit {
                    lower,
                    upper,
                    assumption,
                    rest: Constraint::Zero,
                    capped: lines == AllowedLines::All && above <= highest,
                }
            };
            bounds.lower.iter().zip(&bounds.upper).enumerate().map(unit).collect()
        });
        let units = units.collect();
        let (value, hidden) = (hidden.value.clone(), hidden.clone());
        Layers { network, objective: objective.to_vec(), units, value, hidden, nested }
    }

    /// Have units of representation 3 the capped row?
    pub fn has_nested(&self) -> bool {
        self.nested.is_some()
    }

    /// The unit at a place.
    pub fn unit(&self, place: UnitPlace) -> &RelaxedUnit {
        &self.units[place.l - 2][place.at]
    }

    /// The places of all hidden units, from representation 2 upward.
    pub fn places(&self) -> impl Iterator<Item = UnitPlace> + '_ {
        let layers = self.units.iter().enumerate();
        layers.flat_map(|(above, units)| (0..units.len()).map(move |at| UnitPlace { l: above + 2, at }))
    }

    /// The slope that a unit's activation has in its input where it rests.
    fn slope(&self, unit: &RelaxedUnit) -> f64 {
        match unit.assumption {
            Assumption::Active => 1.0,
            Assumption::Inactive => 0.0,
            Assumption::Free if unit.upper <= 0.0 => 0.0,
            Assumption::Free if unit.lower >= 0.0 => 1.0,
            Assumption::Free => unit.line(unit.rest, 0.0).0,
        }
    }

    /// From changes of the activations of representation `l` to what they change in the inputs above and in the
    /// objective.
    fn pass_on(&self, slice: &Slice, mut l: usize, mut active: Vec<f64>, effect: &mut Effect) {
        effect.above = (3..slice.top()).map(|m| vec![0.0; if m <= l { 0 } else { self.units[m - 2].len() }]).collect();
        while l + 1 < slice.top() {
            let input = step(self.network, slice, l, &active);
            l += 1;
            active = self.units[l - 2].iter().zip(&input).map(|(unit, z)| self.slope(unit) * z).collect();
            if l == 3 && !effect.nested.is_empty() {
                let capped = |unit: &RelaxedUnit| unit.is_loose() && unit.rest == Constraint::Capped;
                let units = self.units[1].iter().zip(&effect.nested).zip(&mut active);
                units.filter(|((unit, _), _)| capped(unit)).for_each(|((_, change), active)| *active = *change);
            }
            effect.above[l - 3] = input;
        }
        effect.objective = self.objective_of(&step(self.network, slice, l, &active));
    }

    fn objective_of(&self, logits: &[f64]) -> f64 {
        self.objective.iter().map(|&(class, c)| c * logits[class]).sum()
    }

    /// What a move changes.
    pub fn made(&self, space: &SearchSpace, slice: &Slice, column: &Move) -> Effect {
        let mut effect = Effect::default();
        let layer = &self.network.layers()[0];
        let mut active = vec![0.0; self.value.len()];
        let (mut nodes, mut changes) = (Vec::new(), Vec::new());
        for (m, gains) in column.reached(space.graph, layer, slice, &space.decided.flipped) {
            for (j, &g) in gains.iter().enumerate() {
                let at = m * gains.len() + j;
                let capped = self.hidden.capped_change(at, g);
                let unit = &self.units[0][at];
                let g = g.total();
                active[at] =
                    if unit.is_loose() && unit.rest == Constraint::Capped { capped } else { self.slope(unit) * g };
                effect.first.push((at, g, capped));
            }
            nodes.push(m);
            changes.extend(gains.iter().map(|g| g.total()));
        }
        if let Some(nested) = &self.nested {
            effect.nested.resize(nested.units.len(), 0.0);
            // Bends are those of single flips: where rows are normalised there are none.
            let reached = nodes.into_iter().zip(changes.chunks(layer.outputs().max(1)));
            for &(at, g) in nested.changes(column.first(), reached).iter() {
                effect.nested[at as usize] = nested.units[at as usize].change(g);
            }
        }
        effect.first.sort_unstable_by_key(|change| change.0);
        self.pass_on(slice, 2, active, &mut effect);
        effect
    }

    /// What leaving its row by `amount` changes for a unit.
    pub fn leave(&self, slice: &Slice, place: UnitPlace, amount: f64) -> Effect {
        let UnitPlace { l, at } = place;
        let mut effect = Effect { own: Some((place, amount)), ..Effect::default() };
        let mut active = vec![0.0; self.units[l - 2].len()];
        active[at] = amount;
        self.pass_on(slice, l, active, &mut effect);
        effect
    }

    /// The point where some of each effect is made, and its objective.
    pub fn state<'b>(&self, slice: &Slice, effects: impl Iterator<Item = (&'b Effect, f64)>) -> (RelaxedPoint, f64) {
        let first = self.value.iter().map(|z| z.max(0.0)).collect();
        let third = self.nested.iter().flat_map(|nested| nested.units.iter().map(|unit| unit.anchor.value.max(0.0)));
        let mut state = RelaxedPoint { capped: [first, third.collect()], ..RelaxedPoint::default() };
        let mut left: Vec<Vec<f64>> = self.units.iter().map(|units| vec![0.0; units.len()]).collect();
        let mut input = self.value.clone();
        for (effect, share) in effects.filter(|effect| effect.1 != 0.0) {
            for &(at, g, capped) in &effect.first {
                input[at] += share * g;
                state.capped[0][at] += share * capped;
            }
            for (sum, change) in state.capped[1].iter_mut().zip(&effect.nested) {
                *sum += share * change;
            }
            if let Some((UnitPlace { l, at }, amount)) = effect.own {
                left[l - 2][at] += share * amount;
            }
        }
        for l in 2..slice.top() {
            let units = self.units[l - 2].iter().enumerate();
            let active: Vec<f64> = units
                .map(|(at, unit)| match unit.is_loose() {
                    true if unit.rest == Constraint::Capped => state.capped[l - 2][at] + left[l - 2][at],
                    true => {
                        let (slope, intercept) = unit.line(unit.rest, 0.0);
                        slope * input[at] + intercept + left[l - 2][at]
                    }
                    false => self.slope(unit) * input[at],
                })
                .collect();
            let mut next = step(self.network, slice, l, &active);
            let layer = &self.network.layers()[l - 1];
            for (row, &node) in next.chunks_mut(layer.outputs().max(1)).zip(slice.nodes(l + 1)) {
                row.iter_mut().zip(layer.bias.row(node as usize)).for_each(|(z, b)| *z += b);
            }
            state.input.push(std::mem::replace(&mut input, next));
            state.active.push(active);
        }
        let objective = self.objective_of(&input);
        (state, objective)
    }

    /// How much room a row has at a point, in units of its size.
    pub fn room(&self, state: &RelaxedPoint, place: UnitPlace, row: Constraint) -> f64 {
        let UnitPlace { l, at } = place;
        let unit = self.unit(place);
        let (h, z) = (state.active[l - 2][at], state.input[l - 2][at]);
        let room = match row {
            Constraint::Zero => h,
            Constraint::Input => h - z,
            Constraint::Chord => {
                let (slope, intercept) = unit.line(row, 0.0);
                slope * z + intercept - h
            }
            Constraint::Capped => state.capped[l - 2][at] - h,
            Constraint::Sign if unit.assumption == Assumption::Active => z,
            Constraint::Sign => -z,
        };
        room / unit.size()
    }

    /// The rows of a unit beside the one that it rests on.
    pub fn other_rows(&self, place: UnitPlace) -> impl Iterator<Item = Constraint> {
        let unit = *self.unit(place);
        let bounding =
            CONSTRAINTS.into_iter().filter(move |&row| row != unit.rest && (row != Constraint::Capped || unit.capped));
        let loose = unit.is_loose();
        let sign = (unit.assumption != Assumption::Free).then_some(Constraint::Sign);
        bounding.filter(move |_| loose).chain(sign)
    }

    /// What an effect changes in a row, in units of its size.
    pub fn change(&self, effect: &Effect, place: UnitPlace, row: Constraint) -> f64 {
        let UnitPlace { l, at } = place;
        let unit = self.unit(place);
        let (z, capped) = if l == 2 {
            let found = effect.first.binary_search_by_key(&at, |change| change.0);
            found.map_or((0.0, 0.0), |found| (effect.first[found].1, effect.first[found].2))
        } else {
            let nested = if l == 3 { effect.nested.get(at).copied() } else { None };
            (effect.above[l - 3].get(at).copied().unwrap_or(0.0), nested.unwrap_or(0.0))
        };
        let own = effect.own.filter(|own| own.0 == place).map_or(0.0, |own| own.1);
        let rests_on_cap = unit.is_loose() && unit.rest == Constraint::Capped;
        let h = own + if rests_on_cap { capped } else { self.slope(unit) * z };
        let (alpha, beta) = unit.row(row);
        (alpha * h + beta * z + if row == Constraint::Capped { capped } else { 0.0 }) / unit.size()
    }

    /// Puts every unit on the row that is tightest at a point, from below where its coefficient is positive, else from
    /// above.
    pub fn rest(&mut self, state: &RelaxedPoint, coefficient: impl Fn(UnitPlace) -> f64) {
        for place in self.places().collect::<Vec<_>>() {
            let UnitPlace { l, at } = place;
            let (unit, z) = (*self.unit(place), state.input[l - 2][at]);
            let (slope, intercept) = unit.line(Constraint::Chord, 0.0);
            let rest = match coefficient(place) > 0.0 {
                true if z > 0.0 => Constraint::Input,
                true => Constraint::Zero,
                false if unit.capped && state.capped[l - 2][at] < slope * z + intercept => Constraint::Capped,
                false => Constraint::Chord,
            };
            self.units[l - 2][at].rest = rest;
        }
    }

    /// Where all units rest, two bits a unit.
    pub fn resting(&self) -> Vec<bool> {
        let bits = |unit: &RelaxedUnit| match unit.rest {
            Constraint::Zero | Constraint::Sign => [false, false],
            Constraint::Input => [false, true],
            Constraint::Chord => [true, false],
            Constraint::Capped => [true, true],
        };
        self.units.iter().flatten().flat_map(bits).collect()
    }

    /// Puts all units where those of a network of the same size rest; says whether it is one.
    pub fn rest_as(&mut self, resting: &[bool]) -> bool {
        if resting.len() != 2 * self.units.iter().map(Vec::len).sum::<usize>() {
            return false;
        }
        for (unit, bits) in self.units.iter_mut().flatten().zip(resting.chunks(2)) {
            unit.rest = match bits {
                [false, false] => Constraint::Zero,
                [false, _] => Constraint::Input,
                [true, true] if unit.capped => Constraint::Capped,
                _ => Constraint::Chord,
            };
        }
        true
    }
}

/// `Σ_k A_k(l) H W_k(l)`, without the bias.
fn step(network: &Network, slice: &Slice, l: usize, active: &[f64]) -> Vec<f64> {
    let layer = &network.layers()[l - 1];
    let (inputs, outputs, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
    // What each node sends, term by term; nodes that send nothing are left out.
    let mut sent = vec![0.0; slice.nodes(l).len() * outputs * terms];
    let mut sends = vec![false; slice.nodes(l).len()];
    for (n, row) in active.chunks(inputs.max(1)).enumerate() {
        for (i, &h) in row.iter().enumerate().filter(|h| *h.1 != 0.0) {
            sends[n] = true;
            for k in 0..terms {
                let sums = &mut sent[(n * terms + k) * outputs..][..outputs];
                sums.iter_mut().zip(layer.weight.row(k * inputs + i)).for_each(|(sum, w)| *sum += h * w);
            }
        }
    }
    let mut next = vec![0.0; slice.nodes(l + 1).len() * outputs];
    for (m, into) in next.chunks_mut(outputs.max(1)).enumerate() {
        for (n, entries) in slice.passing(l).row(m).filter(|(n, _)| sends[*n]) {
            let sent = &sent[n * terms * outputs..][..terms * outputs];
            for (a, sent) in entries.iter().zip(sent.chunks(outputs.max(1))) {
                into.iter_mut().zip(sent).for_each(|(z, s)| *z += a * s);
            }
        }
    }
    next
}
