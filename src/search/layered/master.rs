//! The restricted master of a network of any depth: the best multipliers of all layers against a few flips
//! (docs/math.md §6).
//!
//! Its variables are the shares of the flips that are known, and how far units are from the rows that they rest on
//! ([`super::network`]); its rows are the budgets and the other rows of units, each brought in when a point violates
//! it. It is solved as its dual, whose tableau is feasible from the start and grows in both directions with the basis
//! kept: a new variable is a row, a new row is a column. The dual's values are the multipliers that the pricing pass
//! needs.

use std::collections::BTreeMap;

use crate::bound::backward::{Backward, Located, UnitPlace};
use crate::bound::hidden::Assumption;
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::selection::SearchSpace;
use crate::problem::flip::Flip;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

use crate::problem::simplex::Simplex;
use crate::search::column_generation::Master;
use crate::search::limits::Clock;
use crate::search::master::local_columns;

use super::network::{Constraint, Effect, Layers, RelaxedPoint, RelaxedUnit};

/// How often rows and variables are brought in before a solution is taken as it is.
const ROUNDS: usize = 100;

/// With more improving units than this all are put on better rows first, at most so many times.
const REST: (usize, usize) = (8, 4);

/// Units that get variables in a round, at least.
const FEW: usize = 12;

/// What is violated by less than this is not violated, in units of a row's size.
const TOLERANCE: f64 = 1e-10;

/// Multipliers are kept in a box of this many times the largest contribution of a unit; any non-negative ones are
/// valid.
const LARGEST: f64 = 1e4;

/// A variable of the master, in `[0, 1]`.
struct MasterVariable {
    column: Option<Move>,
    effect: Effect,
    plus: usize,
}

/// The restricted master; flips and rows are added while its basis is kept.
pub struct LayeredMaster<'a> {
    layers: Layers<'a>,
    bounds: Vec<LayerBounds>,
    global: usize,
    backward: Backward,
    simplex: Simplex,
    /// Where all variables are zero, and the objective there.
    origin: RelaxedPoint,
    base: f64,
    rho: usize,
    eta: BTreeMap<u32, usize>,
    variables: Vec<MasterVariable>,
    /// Units with a variable for their distance from the row that they rest on, and its number.
    left: BTreeMap<UnitPlace, usize>,
    /// Rows of units that are there, with their multipliers.
    rows: BTreeMap<(UnitPlace, Constraint), usize>,
    /// What the last solution pays for these rows, by representation and place.
    paid: Vec<Vec<Paid>>,
    /// Units that some variable changes, by representation and place.
    touched: Vec<Vec<bool>>,
    largest: f64,
    rested: usize,
    /// By representation and place: coefficients of the last solution.
    coefficients: Vec<Vec<f64>>,
    state: RelaxedPoint,
}

impl<'a> LayeredMaster<'a> {
    /// A master that knows no flip. `bounds` are those of the slice's units at representations `2 … L−1`, `resting` is
    /// where units rest at first, if a master of the same slice has said so ([`resting`](Self::resting)).
    pub fn new(
        layers: Layers<'a>,
        slice: &Slice,
        bounds: &[LayerBounds],
        global: usize,
        resting: Option<&[bool]>,
    ) -> LayeredMaster<'a> {
        let mut master = LayeredMaster {
            layers,
            bounds: bounds.to_vec(),
            global,
            backward: Backward::default(),
            simplex: Simplex::weighted(),
            origin: RelaxedPoint::default(),
            base: 0.0,
            rho: 0,
            eta: BTreeMap::new(),
            variables: Vec::new(),
            left: BTreeMap::new(),
            rows: BTreeMap::new(),
            paid: Vec::new(),
            touched: Vec::new(),
            largest: 0.0,
            rested: 0,
            coefficients: Vec::new(),
            state: RelaxedPoint::default(),
        };
        master.coefficients = master.layers.units.iter().map(|units| vec![0.0; units.len()]).collect();
        master.pass(slice);
        master.paid = master.layers.units.iter().map(|units| vec![Paid::default(); units.len()]).collect();
        master.touched = master.layers.units.iter().map(|units| vec![false; units.len()]).collect();
        // Twice: activations above depend on where the units below rest.
        let known = resting.is_some_and(|resting| master.layers.rest_as(resting));
        for _ in 0..if known { 0 } else { 2 } {
            master.state = master.layers.state(slice, std::iter::empty()).0;
            let coefficients = &master.coefficients;
            master.layers.rest(&master.state, |place| coefficients[place.l - 2][place.at]);
        }
        let sizes =
            master.layers.places().map(|place| master.coefficient(place).abs() * master.layers.unit(place).size());
        master.largest = LARGEST * sizes.fold(f64::MIN_POSITIVE, f64::max);
        master.begin(slice);
        master
    }

    /// The coefficient of a unit in the last solution.
    fn coefficient(&self, place: UnitPlace) -> f64 {
        self.coefficients[place.l - 2][place.at]
    }

    /// Starts an empty tableau with a single variable, the multiplier ρ of the global budget.
    fn begin(&mut self, slice: &Slice) {
        self.simplex = self.simplex.emptied();
        self.rho = self.simplex.add_variable(-(self.global.min(1 << 50) as f64), f64::INFINITY);
        self.eta.clear();
        self.variables.clear();
        self.left.clear();
        for (place, _) in std::mem::take(&mut self.rows).keys() {
            self.paid[place.l - 2][place.at] = Paid::default();
        }
        (self.origin, self.base) = self.layers.state(slice, std::iter::empty());
    }

    /// Puts all units on the rows that are tightest at the last solution, and starts over with the flips that are
    /// known.
    fn rest(&mut self, space: &SearchSpace, slice: &Slice) {
        let coefficients = &self.coefficients;
        self.layers.rest(&self.state, |place| coefficients[place.l - 2][place.at]);
        let columns: Vec<Move> = self.variables.iter_mut().filter_map(|variable| variable.column.take()).collect();
        self.begin(slice);
        columns.into_iter().for_each(|column| self.add(space, slice, column));
    }

    /// The rows that are tightest at the solution, for the masters of branches: units rest there at about the optimum.
    pub fn resting(&mut self) -> Vec<bool> {
        let coefficients = &self.coefficients;
        self.layers.rest(&self.state, |place| coefficients[place.l - 2][place.at]);
        self.layers.resting()
    }

    fn add_variable(&mut self, column: Option<Move>, effect: Effect, mut coefficients: Vec<(usize, f64)>) {
        for (&(place, row), &multiplier) in &self.rows {
            coefficients.push((multiplier, -self.layers.change(&effect, place, row)));
        }
        // The multiplier of the bound `x ≤ 1`, and the slack that takes what is missing in the other direction.
        let plus = self.simplex.add_variable(-1.0, f64::INFINITY);
        let minus = self.simplex.add_opposite(plus, 0.0);
        self.simplex.add_row(&coefficients, -effect.objective, plus, minus);
        effect.touch(&mut self.touched);
        self.variables.push(MasterVariable { column, effect, plus });
    }

    /// Gives a unit a variable for its distance from the row that it rests on.
    fn free(&mut self, slice: &Slice, place: UnitPlace) {
        let unit = self.layers.unit(place);
        if !unit.is_loose() || self.left.contains_key(&place) {
            return;
        }
        let upward = matches!(unit.rest, Constraint::Zero | Constraint::Input);
        let amount = if upward { unit.size() } else { -unit.size() };
        let effect = self.layers.leave(slice, place, amount);
        self.left.insert(place, self.variables.len());
        self.add_variable(None, effect, Vec::new());
    }

    /// Adds a violated row; in the dual tableau it is a column.
    fn add_row(&mut self, place: UnitPlace, row: Constraint) {
        let column: Vec<f64> =
            self.variables.iter().map(|variable| -self.layers.change(&variable.effect, place, row)).collect();
        let plus: Vec<usize> = self.variables.iter().map(|variable| variable.plus).collect();
        let room = self.layers.room(&self.origin, place, row);
        let multiplier = self.simplex.add_column(-room, self.largest, false, &column, &plus);
        self.rows.insert((place, row), multiplier);
    }

    /// How much of a variable is made: the dual of its row.
    fn share(&self, variable: &MasterVariable) -> f64 {
        (1.0 + self.simplex.reduced(variable.plus)).clamp(0.0, 1.0)
    }

    /// Stops improving once the deadline has passed: its answers are suggestions at any time.
    pub fn until(&mut self, clock: Clock) {
        self.simplex.until(clock);
    }

    /// The multipliers of the solution.
    pub fn slopes(&self) -> LayerMultipliers<'_> {
        LayerMultipliers { layers: &self.layers, paid: &self.paid }
    }

    /// Adds up what the solution pays for the rows of each unit.
    fn pay(&mut self) {
        for (place, _) in self.rows.keys() {
            self.paid[place.l - 2][place.at] = Paid::default();
        }
        for (&(place, row), &multiplier) in &self.rows {
            let (unit, paid) = (self.layers.unit(place), &mut self.paid[place.l - 2][place.at]);
            let y = self.simplex.value(multiplier).max(0.0) / unit.size();
            let (alpha, beta) = unit.row(row);
            paid.alpha += y * alpha;
            paid.beta += y * beta;
            match row {
                Constraint::Chord => paid.chord += y,
                Constraint::Capped => paid.capped += y,
                _ => {}
            }
        }
    }

    /// A backward pass with the slopes of the solution for undecided units; before there is one, with none. Keeps all
    /// coefficients.
    fn pass(&mut self, slice: &Slice) {
        let LayeredMaster { layers, paid, backward, bounds, coefficients, .. } = self;
        let slopes = (!paid.is_empty()).then_some(LayerMultipliers { layers, paid });
        let above = |l: usize, at: usize, (a, ..): (f64, f64, f64)| {
            coefficients[l - 2][at] = a;
            slopes.as_ref().and_then(|slopes| slopes.slope(UnitPlace { l, at }, a))
        };
        backward.run_with(layers.network, slice, Located::Slice(bounds), &layers.objective, above);
        coefficients[0].copy_from_slice(backward.coefficients().0);
    }

    /// Rows that the point violates, and the opposite rows of units that want to leave the one that they rest on.
    /// The most urgent come first: what is violated, and then those that gain most.
    fn improving(&self) -> Vec<(f64, UnitPlace, Constraint)> {
        let mut improving = Vec::new();
        for place in self.layers.places() {
            let tightest = |wanted: &dyn Fn(Constraint) -> bool| {
                let others = self.layers.other_rows(place).filter(|&row| wanted(row));
                let rooms = others.map(|row| (self.layers.room(&self.state, place, row), row));
                rooms.min_by(|x, y| x.0.total_cmp(&y.0))
            };
            let unit = self.layers.unit(place);
            if !unit.is_involved() || self.is_settled(place) {
                continue;
            }
            let violated = tightest(&|row| !self.rows.contains_key(&(place, row)));
            if let Some((_, row)) = violated.filter(|violated| violated.0 < -TOLERANCE) {
                improving.push((f64::INFINITY, place, row));
                continue;
            }
            if unit.is_loose() && !self.left.contains_key(&place) {
                let gain = self.coefficient(place) * unit.size();
                let upward = matches!(unit.rest, Constraint::Zero | Constraint::Input);
                let wanted = if upward { -gain } else { gain };
                let opposite = if upward {
                    [Constraint::Chord, Constraint::Capped]
                } else {
                    [Constraint::Zero, Constraint::Input]
                };
                let row = tightest(&|row| opposite.contains(&row));
                improving.extend(row.filter(|_| wanted > TOLERANCE).map(|(_, row)| (wanted, place, row)));
            }
        }
        improving.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        improving
    }

    /// Is a unit where it was without flips, which no variable changes, on a row that its coefficient is content with?
    fn is_settled(&self, place: UnitPlace) -> bool {
        let UnitPlace { l, at } = place;
        let (unit, h, z) = (self.layers.unit(place), self.state.active[l - 2][at], self.state.input[l - 2][at]);
        let fits = match unit.rest {
            Constraint::Zero | Constraint::Input => true,
            _ => self.coefficient(place) <= 0.0,
        };
        let still = unit.capped && unit.assumption == Assumption::Free && !self.touched[l - 2][at];
        still && fits && (h - z.max(0.0)).abs() <= TOLERANCE * unit.size()
    }

    /// How much of each flip the relaxed attacker makes, where every move is a single flip.
    pub fn flips(&self) -> Vec<(Flip, f64)> {
        let made = self.variables.iter().filter_map(|variable| Some((variable.column.as_ref()?.first(), variable)));
        made.map(|(flip, variable)| (flip, self.share(variable))).collect()
    }

    /// How much of each move the relaxed attacker makes.
    pub fn moves(&self) -> Vec<(Move, f64)> {
        let made = self.variables.iter().filter_map(|variable| Some((variable.column.clone()?, variable)));
        made.map(|(column, variable)| (column, self.share(variable))).collect()
    }

    /// The unit whose split gains most at the solution, as in `search/branching.rs` (docs/math.md (7.2)).
    pub fn loosest(&self, least: f64) -> Option<UnitPlace> {
        let loose = self.layers.places().filter(|&place| self.layers.unit(place).is_loose());
        let gain = |place: UnitPlace| {
            let UnitPlace { l, at } = place;
            let (h, z) = (self.state.active[l - 2][at], self.state.input[l - 2][at]);
            let a = self.coefficient(place).min(0.0);
            let gains = [-a * (h - z), -a * h];
            let smaller = gains[0].min(gains[1]);
            (if smaller > least { ((gains[0] + gains[1]) * smaller).sqrt() } else { 0.0 }, place)
        };
        loose.map(gain).max_by(|x, y| x.0.total_cmp(&y.0)).filter(|loosest| loosest.0 > 0.0).map(|loosest| loosest.1)
    }

    /// Have units of representation 3 the capped row?
    pub fn has_nested(&self) -> bool {
        self.layers.has_nested()
    }

    /// The activations of a representation at the solution.
    pub fn active(&self, l: usize) -> &[f64] {
        &self.state.active[l - 2]
    }
}

impl Master for LayeredMaster<'_> {
    /// The optimum against the flips known; the multipliers are asked for one by one.
    type Suggestion = f64;

    fn add(&mut self, space: &SearchSpace, slice: &Slice, column: Move) {
        let effect = self.layers.made(space, slice, &column);
        let mut budgets = vec![(self.rho, column.cost() as f64)];
        let local = local_columns(space, column.node());
        if local < self.global {
            let simplex = &mut self.simplex;
            let eta = self.eta.entry(column.node());
            budgets.push((*eta.or_insert_with(|| simplex.add_variable(-(local as f64), f64::INFINITY)), 1.0));
        }
        self.add_variable(Some(column), effect, budgets);
    }

    fn knows(&self, column: &Move) -> bool {
        self.variables.iter().any(|variable| variable.column.as_ref() == Some(column))
    }

    fn solve(&mut self, space: &SearchSpace, slice: &Slice) -> f64 {
        for round in 0.. {
            let optimal = self.simplex.maximise(50 * (self.variables.len() + 10));
            let shares: Vec<f64> = self.variables.iter().map(|variable| self.share(variable)).collect();
            let effects = self.variables.iter().map(|variable| &variable.effect);
            self.state = self.layers.state(slice, effects.zip(shares)).0;
            self.pay();
            self.pass(slice);
            let improving = self.improving();
            if improving.is_empty() || !optimal || round >= ROUNDS {
                break;
            }
            // Starting over with better resting rows is cheaper than moving many units one by one.
            if improving.len() > REST.0 && self.rested < REST.1 {
                self.rested += 1;
                self.rest(space, slice);
                continue;
            }
            // While some rows cannot hold yet, multipliers are huge and nearly all coefficients wrong: a few units at a
            // time.
            let few = FEW.max(self.variables.len() / 2);
            let urgent = improving.iter().filter(|unit| unit.0 == f64::INFINITY).count();
            for (_, place, row) in improving.into_iter().take(urgent.max(few)) {
                if self.simplex.is_late() {
                    break;
                }
                self.free(slice, place);
                if !self.rows.contains_key(&(place, row)) {
                    self.add_row(place, row);
                }
            }
        }
        self.base + self.simplex.objective()
    }
}

/// What a solution pays for the rows of a unit: sums of `y α` and of `y β`, and `y` of the rows from above.
#[derive(Clone, Copy, Debug, Default)]
struct Paid {
    alpha: f64,
    beta: f64,
    chord: f64,
    capped: f64,
}

/// The multipliers of all layers in one solution.
pub struct LayerMultipliers<'m> {
    layers: &'m Layers<'m>,
    paid: &'m [Vec<Paid>],
}

impl LayerMultipliers<'_> {
    /// A unit that has rows, and what is paid for them.
    fn of(&self, place: UnitPlace) -> Option<(&RelaxedUnit, Paid)> {
        let unit = self.layers.unit(place);
        unit.is_involved().then(|| (unit, self.paid[place.l - 2][place.at]))
    }

    /// The slope of the line that the rows of a unit with coefficient `a` add up to: what is not paid for the others is
    /// paid for the row that it rests on (docs/math.md (6.4)).
    pub fn slope(&self, place: UnitPlace, a: f64) -> Option<f64> {
        self.of(place).map(|(unit, paid)| match unit.assumption {
            Assumption::Free => {
                let (alpha, beta) = unit.row(unit.rest);
                -beta * alpha * (a - paid.alpha) - paid.beta
            }
            Assumption::Active => a - paid.beta,
            Assumption::Inactive => -paid.beta,
        })
    }

    /// The multiplier of an assumed sign.
    pub fn beta(&self, place: UnitPlace) -> f64 {
        self.of(place).map_or(0.0, |(_, paid)| paid.beta.abs())
    }

    /// The nearest `Ω`, where the coefficient is positive.
    pub fn omega(&self, place: UnitPlace, a: f64) -> Option<f64> {
        self.slope(place, a)
            .map(|slope| slope / a)
            .filter(|omega| a > 0.0 && omega.is_finite())
            .map(|w| w.clamp(0.0, 1.0))
    }

    /// The multiplier of a unit of representation 2 in a mixture ([`crate::bound::mixture`]).
    pub fn weight(&self, at: usize, a: f64) -> f64 {
        let place = UnitPlace { l: 2, at };
        match self.of(place) {
            None => 0.0,
            Some((unit, _)) if unit.assumption != Assumption::Free => self.beta(place),
            Some(_) if a > 0.0 => self.omega(place, a).unwrap_or(0.0),
            Some(_) => self.chord(place, a),
        }
    }

    /// The share of the chord in what bounds a unit from above, the rest being the capped bound.
    pub fn chord(&self, place: UnitPlace, a: f64) -> f64 {
        match self.of(place) {
            Some((unit, paid)) if a < 0.0 && unit.rest == Constraint::Chord => 1.0 - (paid.capped / -a).clamp(0.0, 1.0),
            Some((_, paid)) if a < 0.0 => (paid.chord / -a).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }
}
