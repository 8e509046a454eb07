//! The restricted master: the best multipliers against a few flips (docs/math.md §6), as a linear program in the
//! multipliers.
//!
//! For fixed coefficients of representation 2 the relaxed margin is affine in the multipliers `x`, and so is the loss
//! `Δ_k(x)` of every flip. Against the flips `k ∈ C` the best bound is
//!
//! ```text
//! max  base(x) − Q ρ − Σ q_n η_n − Σ s_k     s.t.   s_k ≥ Δ_k(x) − ρ − η_n(k),   s, ρ, η ≥ 0,   x in its box
//! ```
//!
//! One row per flip, one column per unit: a new flip is a new row, which is feasible at once because `s_k` may be
//! anything. The dual of row `k` is how much of flip `k` the relaxed attacker makes.

use std::collections::BTreeMap;

use crate::bound::hidden::{Assumption, Hidden, Kink};
use crate::bound::line::capped;
use crate::bound::line::envelope::{Envelope, ListedBudgets, ListedFlip};
use crate::bound::selection::SearchSpace;
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
use crate::problem::network::Layer;
use crate::problem::rows::{Move, UnitChange};
use crate::problem::slice::Slice;

use super::column_generation::Master;
use super::limits::Clock;
use crate::problem::simplex::Simplex;

/// A unit's line as a function of its multiplier: `(b₀ + b₁x) + Σ (s₀ + s₁x)·g_i + (c₀ + c₁x)·capped(g_i)`, and the
/// same of two envelopes.
#[derive(Clone, Copy, Debug, Default)]
struct Affine {
    base: [f64; 2],
    slope: [f64; 2],
    capped: [f64; 2],
    known: [f64; 2],
    new: [f64; 2],
    anchor: f64,
    level: f64,
    /// In place of a level, where there is none.
    kink: Option<Kink>,
}

impl Affine {
    /// How a flip with this change of the unit moves the line, without its envelopes: the part that is there for
    /// `x = 0`, and the part times `x`.
    #[inline]
    fn change(&self, change: UnitChange) -> [f64; 2] {
        let g = change.total();
        let capped = match self.kink {
            _ if self.capped == [0.0; 2] => 0.0,
            Some(Kink { rise, fall }) => rise * change.rise - fall * change.fall,
            None => capped::change(self.level, self.anchor, g),
        };
        [self.slope[0] * g + self.capped[0] * capped, self.slope[1] * g + self.capped[1] * capped]
    }

    /// The line with what a unit has of an envelope, and the one that it may take instead.
    fn under(mut self, envelopes: &Envelopes, at: usize, a: f64) -> Affine {
        let z = Enclosure { value: self.anchor, error: 0.0 };
        if let Some((known, left)) = envelopes.known {
            let prices = &known.units[at];
            if prices.share > 0.0 {
                for part in [&mut self.base, &mut self.slope, &mut self.capped] {
                    *part = part.map(|x| (1.0 - prices.share) * x);
                }
                self.base[0] += a * prices.share * left.base(prices, z);
                self.known[0] = a * prices.share;
            }
            if let Some(new) = envelopes.new {
                // From the line as it is, at the chord's weight that it has, to the new one.
                let w = envelopes.chords[at];
                for part in [&mut self.base, &mut self.slope, &mut self.capped, &mut self.known] {
                    part[0] += w * part[1];
                    part[1] = -part[0];
                }
                if new.units[at].share > 0.0 {
                    self.base[1] += a * left.base(&new.units[at], z);
                    self.new = [0.0, a];
                } else {
                    for part in [&mut self.base, &mut self.slope, &mut self.capped, &mut self.known] {
                        part[1] = 0.0;
                    }
                }
            }
        }
        self
    }

    fn has_envelope(&self) -> bool {
        self.known != [0.0; 2] || self.new != [0.0; 2]
    }

    fn moves(&self) -> bool {
        [self.base, self.slope, self.capped, self.known, self.new].iter().any(|part| part[1] != 0.0)
    }
}

/// The envelopes in a master: those that units have, and those that they may take instead.
#[derive(Clone, Copy, Default)]
pub struct Envelopes<'a> {
    /// The envelopes in the units' present lines.
    pub known: Option<(&'a Envelope, &'a ListedBudgets)>,
    /// With multiplier 1 they take the place of everything else.
    pub new: Option<&'a Envelope>,
    /// Then the weights of chords, which are not multipliers.
    pub chords: &'a [f64],
}

/// Multipliers of assumptions are kept in a box; any non-negative one is valid.
const LARGEST_BETA: f64 = 1e4;

/// Which lines a unit with a negative coefficient may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedLines {
    /// The chord alone, as in the paper's relaxation: the optimum is `m̂`.
    Chord,
    /// Every mixture of the chord, the capped bound and the envelopes that are known: the optimum is at least `m̂`.
    All,
}

/// An optimal solution of a restricted master, up to rounding. A suggestion: pricing turns it into a bound.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// One multiplier per unit of the slice.
    pub weights: Vec<f64>,
    /// The optimum against the flips known to the master: not below the optimum against all flips.
    pub value: f64,
    /// How much of each flip the relaxed attacker makes, in `[0, 1]`.
    pub flips: Vec<(Flip, f64)>,
    /// The same of moves; empty where each is a single flip.
    pub moves: Vec<(Move, f64)>,
}

/// Shares of flips from shares of moves: where rows are normalised, a flip may stand in several.
pub(super) fn flip_shares(moves: &[(Move, f64)]) -> Vec<(Flip, f64)> {
    let mut shares: BTreeMap<Flip, f64> = BTreeMap::new();
    for (column, share) in moves {
        column.flips().for_each(|flip| *shares.entry(flip).or_default() += share);
    }
    shares.into_iter().map(|(flip, share)| (flip, share.min(1.0))).collect()
}

/// A relaxed margin as a linear function of the activations of representation 2, as the backward pass leaves it.
#[derive(Clone, Copy, Debug)]
pub struct LinearObjective<'a> {
    /// By unit of the slice.
    pub coefficients: &'a [f64],
    /// What the layers above contribute.
    pub constant: f64,
}

/// The master on our own simplex method.
///
/// Most multipliers rest at 0 or 1 and stay there: only those that the relaxed attacker's point wants to move enter the
/// tableau, so its size is that of the flips known, not that of the slice.
pub struct SimplexMaster<'a> {
    layer: &'a Layer,
    width: usize,
    simplex: Simplex,
    affine: Vec<Affine>,
    /// Largest value of each multiplier; 0 where it changes nothing.
    upper: Vec<f64>,
    /// Where a multiplier rests as long as it has no variable.
    resting: Vec<f64>,
    variable: Vec<Option<usize>>,
    constant: f64,
    rho: usize,
    eta: BTreeMap<u32, usize>,
    rows: Vec<FlipRow>,
    global: usize,
    envelopes: Envelopes<'a>,
    /// Units with an envelope.
    with_envelope: Vec<usize>,
}

/// A move that is known: its own variable, and what it changes in the units of the nodes that it reaches.
struct FlipRow {
    column: Move,
    plus: usize,
    reach: Vec<(usize, Vec<UnitChange>)>,
    /// What the flip changes in the envelopes of units: the part that is there for `x = 0`, and the part times `x`.
    envelope_slopes: Vec<[f64; 2]>,
}

impl<'a> SimplexMaster<'a> {
    /// A master that knows no flip (docs/math.md (6.1)). `start` says which multipliers were nearer to 1 than to 0 in a
    /// similar master, if there was one.
    pub fn new(
        layer: &'a Layer,
        hidden: &Hidden,
        objective: LinearObjective,
        global: usize,
        start: Option<&[bool]>,
        lines: AllowedLines,
        envelopes: Envelopes<'a>,
    ) -> SimplexMaster<'a> {
        let LinearObjective { coefficients, constant } = objective;
        let mut simplex = Simplex::default();
        // The price of the global budget enters the objective of (6.1) as −Qρ; ρ has no upper bound.
        let rho = simplex.add_variable(-(global.min(1 << 50) as f64), f64::INFINITY);
        // The box of an assumption's multiplier is relative to the largest coefficient.
        let scale = coefficients.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        let count = hidden.count();
        let mut master = SimplexMaster {
            layer,
            width: hidden.width,
            simplex,
            affine: (0..count).map(|at| unit(hidden, at, coefficients[at], &envelopes)).collect(),
            upper: vec![0.0; count],
            resting: vec![0.0; count],
            variable: vec![None; count],
            constant,
            rho,
            eta: BTreeMap::new(),
            rows: Vec::new(),
            global,
            envelopes,
            with_envelope: Vec::new(),
        };
        master.with_envelope = (0..count).filter(|&at| master.affine[at].has_envelope()).collect();
        for at in 0..count {
            let line = master.affine[at];
            let free = hidden.assumption[at] == Assumption::Free;
            if lines == AllowedLines::Chord && free && coefficients[at] < 0.0 {
                master.pin(at);
            } else if line.moves() {
                master.upper[at] = if free { 1.0 } else { LARGEST_BETA * scale };
                let near = start.map_or(coefficients[at] > 0.0 && line.base[1] > 0.0, |start| start[at]);
                master.resting[at] = if free && near { 1.0 } else { 0.0 };
            }
            master.constant += line.base[0] + line.base[1] * master.resting[at];
        }
        master
    }

    /// Stops improving once the deadline has passed: its answers are suggestions at any time.
    pub fn until(&mut self, clock: Clock) {
        self.simplex.until(clock);
    }

    /// Fixes a multiplier at 1.
    fn pin(&mut self, at: usize) {
        self.resting[at] = 1.0;
        let line = self.affine[at];
        let sum = |x: [f64; 2]| [x[0] + x[1], 0.0];
        self.affine[at] = Affine { base: sum(line.base), slope: sum(line.slope), capped: sum(line.capped), ..line };
    }

    /// Gives a multiplier a variable of its own, at the bound where it rests.
    fn activate(&mut self, at: usize) {
        let line = self.affine[at];
        let (m, j) = (at / self.width, at % self.width);
        let by_envelope = self.with_envelope.binary_search(&at).ok();
        let column: Vec<f64> = self
            .rows
            .iter()
            .map(|row| {
                let reached = row.reach.iter().find(|reach| reach.0 == m);
                let change = reached.map_or(0.0, |(_, changes)| line.change(changes[j])[1]);
                change + by_envelope.map_or(0.0, |by_envelope| row.envelope_slopes[by_envelope][1])
            })
            .collect();
        let plus: Vec<usize> = self.rows.iter().map(|row| row.plus).collect();
        let at_upper = self.resting[at] > 0.0;
        self.constant -= line.base[1] * self.resting[at];
        self.variable[at] = Some(self.simplex.add_column(line.base[1], self.upper[at], at_upper, &column, &plus));
    }

    /// Multipliers without a variable whose reduced cost at the relaxed attacker's point says that moving them raises
    /// the bound.
    fn improving(&self) -> Vec<usize> {
        // The slope of the bound in each multiplier.
        let mut slope: Vec<f64> = self.affine.iter().map(|line| line.base[1]).collect();
        for row in &self.rows {
            let share = self.share(row);
            if share <= 0.0 {
                continue;
            }
            for (m, changes) in &row.reach {
                for (j, &g) in changes.iter().enumerate() {
                    let at = m * self.width + j;
                    if self.upper[at] > 0.0 {
                        slope[at] += share * self.affine[at].change(g)[1];
                    }
                }
            }
            for (&at, by_envelope) in self.with_envelope.iter().zip(&row.envelope_slopes) {
                slope[at] += share * by_envelope[1];
            }
        }
        (0..self.affine.len())
            .filter(|&at| self.upper[at] > 0.0 && self.variable[at].is_none())
            .filter(|&at| if self.resting[at] > 0.0 { slope[at] < -1e-9 } else { slope[at] > 1e-9 })
            .collect()
    }

    /// What a flip changes in the envelopes of units.
    fn envelope_slopes(&self, flip: Flip, reach: &[(usize, Vec<UnitChange>)]) -> Vec<[f64; 2]> {
        if self.with_envelope.is_empty() {
            return Vec::new();
        }
        let mut through: Vec<Option<&[UnitChange]>> = vec![None; self.affine.len() / self.width];
        reach.iter().for_each(|(m, changes)| through[*m] = Some(changes));
        let known = self.envelopes.known.map(|(known, _)| (known, known.place(flip)));
        let new = self.envelopes.new.map(|new| (new, new.place(flip)));
        let change = |envelope: &Option<(&Envelope, ListedFlip)>, at: usize, g: f64| {
            envelope.as_ref().map_or(0.0, |(envelope, place)| envelope.units[at].change(*place, g))
        };
        let one = |&at: &usize| {
            let g = through[at / self.width].map_or(0.0, |changes| changes[at % self.width].total());
            let Affine { known: k, new: n, .. } = self.affine[at];
            let before = if k == [0.0; 2] { 0.0 } else { change(&known, at, g) };
            let after = if n == [0.0; 2] { 0.0 } else { change(&new, at, g) };
            [k[0] * before + n[0] * after, k[1] * before + n[1] * after]
        };
        self.with_envelope.iter().map(one).collect()
    }

    /// How much of a flip the relaxed attacker makes: the dual of its row.
    fn share(&self, row: &FlipRow) -> f64 {
        (1.0 + self.simplex.reduced(row.plus)).clamp(0.0, 1.0)
    }
}

/// The lines of a unit; exact at the anchor for `x = 0` where the coefficient is negative (docs/math.md (5.12)).
fn unit(hidden: &Hidden, at: usize, a: f64, envelopes: &Envelopes) -> Affine {
    let (z, r, s) = (hidden.value[at], hidden.lower[at], hidden.upper[at]);
    let same = |base: [f64; 2], slope: [f64; 2]| Affine { base, slope, ..Affine::default() };
    match hidden.assumption[at] {
        Assumption::Active => same([a * z, -z], [a, -1.0]),
        Assumption::Inactive => same([0.0, z], [0.0, 1.0]),
        Assumption::Free if s <= 0.0 => Affine::default(),
        Assumption::Free if r >= 0.0 => same([a * z, 0.0], [a, 0.0]),
        Assumption::Free if a > 0.0 => same([0.0, a * z], [0.0, a]),
        Assumption::Free => {
            let chord = a * s / (s - r);
            let base = a * z.max(0.0);
            let line = Affine {
                base: [base, chord * (z - r) - base],
                slope: [0.0, chord],
                capped: [a, -a],
                anchor: z,
                level: hidden.cap[at].level,
                kink: hidden.kink(at),
                ..Affine::default()
            };
            line.under(envelopes, at, a)
        }
    }
}

impl Master for SimplexMaster<'_> {
    type Suggestion = Suggestion;

    /// One more row `s_i ≥ loss_i(x) − ρ − η_n` (docs/math.md (6.1)).
    fn add(&mut self, space: &SearchSpace, slice: &Slice, column: Move) {
        let flip = column.first();
        let reach = column.reached(space.graph, self.layer, slice, &space.decided.flipped);
        let mut fixed = 0.0;
        let mut coefficients = vec![(self.rho, column.cost() as f64)];
        for (m, changes) in &reach {
            for (j, &g) in changes.iter().enumerate() {
                let at = m * self.width + j;
                let [still, moving] = self.affine[at].change(g);
                fixed -= still;
                match self.variable[at] {
                    Some(variable) => coefficients.push((variable, moving)),
                    None => fixed -= self.resting[at] * moving,
                }
            }
        }
        let envelope_slopes = self.envelope_slopes(flip, &reach);
        for (&at, &[still, moving]) in self.with_envelope.iter().zip(&envelope_slopes) {
            fixed -= still;
            match self.variable[at] {
                Some(variable) => coefficients.push((variable, moving)),
                None => fixed -= self.resting[at] * moving,
            }
        }
        // The local budget needs a multiplier only where it binds before the global one does.
        let local = local_columns(space, flip.node);
        if local < self.global {
            let simplex = &mut self.simplex;
            let eta =
                *self.eta.entry(flip.node).or_insert_with(|| simplex.add_variable(-(local as f64), f64::INFINITY));
            coefficients.push((eta, 1.0));
        }
        let plus = self.simplex.add_variable(-1.0, f64::INFINITY);
        let minus = self.simplex.add_opposite(plus, 0.0);
        self.simplex.add_row(&coefficients, fixed, plus, minus);
        self.rows.push(FlipRow { column, plus, reach, envelope_slopes });
    }

    fn knows(&self, column: &Move) -> bool {
        self.rows.iter().any(|row| row.column == *column)
    }

    fn solve(&mut self, space: &SearchSpace, _: &Slice) -> Suggestion {
        loop {
            let optimal = self.simplex.maximise(50 * (self.rows.len() + 10));
            let improving = self.improving();
            if improving.is_empty() || !optimal {
                break;
            }
            improving.into_iter().for_each(|at| self.activate(at));
        }
        let weights = (0..self.affine.len()).map(|at| match self.variable[at] {
            Some(variable) => self.simplex.value(variable),
            None => self.resting[at],
        });
        let (weights, value) = (weights.collect(), self.constant + self.simplex.objective());
        if space.graph.normalisation().is_some() {
            let moves: Vec<(Move, f64)> = self.rows.iter().map(|row| (row.column.clone(), self.share(row))).collect();
            return Suggestion { weights, value, flips: flip_shares(&moves), moves };
        }
        let flips = self.rows.iter().map(|row| (row.column.first(), self.share(row))).collect();
        Suggestion { weights, value, flips, moves: Vec::new() }
    }
}

/// How many columns of a node may be taken together: the flips that are left there, or one move of a normalised row.
pub(super) fn local_columns(space: &SearchSpace, node: u32) -> usize {
    if space.graph.normalisation().is_some() {
        return 1;
    }
    space.decided.local(space.budget, node).unwrap_or(0)
}
