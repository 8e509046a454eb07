//! The restricted master: the best multipliers against a few flips (math §6), as a linear program in the multipliers.
//!
//! For fixed coefficients of representation 2 the relaxed margin is affine in the multipliers `x`, and so is the loss
//! `Δ_k(x)` of every flip. Against the flips `k ∈ C` the best bound is
//!
//! ```text
//! max  base(x) − Q ρ − Σ q_n η_n − Σ s_k     s.t.   s_k ≥ Δ_k(x) − ρ − η_n(k),   s, ρ, η ≥ 0,   x in its box
//! ```
//!
//! One row per flip, one column per unit: a new flip is a new row, which is feasible at once because `s_k` may be anything.
//! The dual of row `k` is how much of flip `k` the relaxed attacker makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::capped;
use crate::hidden::{Assumption, Hidden};
use crate::mixture::reached;
use crate::payers::Levels;
use crate::selection::{Field, Flip};
use crate::slice::Slice;

use super::simplex::Simplex;

/// A unit's line as a function of its multiplier: `(b₀ + b₁x) + Σ (s₀ + s₁x)·g_i + (c₀ + c₁x)·capped(g_i)`.
#[derive(Clone, Copy, Debug, Default)]
struct Affine {
    base: [f64; 2],
    slope: [f64; 2],
    capped: [f64; 2],
    anchor: f64,
    level: f64,
}

impl Affine {
    /// How a flip that changes the unit by `g` and pays up to `level` moves the line: the part that is there for `x = 0`, and
    /// the part times `x`.
    #[inline]
    fn change(&self, g: f64, level: f64) -> [f64; 2] {
        let capped = if self.capped == [0.0; 2] { 0.0 } else { capped::change(level, self.anchor, g) };
        [self.slope[0] * g + self.capped[0] * capped, self.slope[1] * g + self.capped[1] * capped]
    }
}

/// Multipliers of assumptions are kept in a box; any non-negative one is valid.
const LARGEST_BETA: f64 = 1e4;

/// Which lines a unit with a negative coefficient may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// The chord alone, as in the paper's relaxation: the optimum is `m̂`.
    Chord,
    /// Every mixture of the chord and the anchored bound: the optimum is at least `m̂`.
    Both,
}

/// What a master suggests.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// One multiplier per unit of the slice.
    pub weights: Vec<f64>,
    /// The optimum against the flips known to the master: not below the optimum against all flips.
    pub value: f64,
    /// How much of each flip the relaxed attacker makes, in `[0, 1]`.
    pub flips: Vec<(Flip, f64)>,
}

/// A solver of restricted masters. Its answers are suggestions: a bound is what the pricing pass says of them.
pub trait Master {
    /// Makes a flip known.
    fn add(&mut self, field: &Field, slice: &Slice, flip: Flip);
    /// Is this flip known?
    fn knows(&self, flip: Flip) -> bool;
    /// The best multipliers against the flips known.
    fn solve(&mut self) -> Suggestion;
}

/// The master on our own simplex method.
///
/// Most multipliers rest at 0 or 1 and stay there: only those that the relaxed attacker's point wants to move enter the
/// tableau, so its size is that of the flips known, not that of the slice.
pub struct SimplexMaster<'a> {
    weight: &'a gcnproof_files::DenseMatrix,
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
    rows: Vec<Row>,
    global: usize,
    levels: Arc<Levels>,
}

/// A flip that is known: its own variable, and the rows of `A(1)` it reaches, as [`Slice::reaching`] with signed values.
struct Row {
    flip: Flip,
    plus: usize,
    reach: Vec<(usize, usize, f64)>,
}

impl<'a> SimplexMaster<'a> {
    /// A master that knows no flip. `constant` is what the layers above contribute, `coefficients` are those of the units;
    /// `start` says which multipliers were nearer to 1 than to 0 in a similar master, if there was one.
    pub fn new(
        weight: &'a gcnproof_files::DenseMatrix,
        hidden: &Hidden,
        (coefficients, constant): (&[f64], f64),
        global: usize,
        start: Option<&[bool]>,
        lines: Lines,
    ) -> SimplexMaster<'a> {
        let mut simplex = Simplex::default();
        let rho = simplex.add_variable(-(global.min(1 << 50) as f64), f64::INFINITY);
        let scale = coefficients.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        let count = hidden.count();
        let mut master = SimplexMaster {
            weight,
            width: hidden.width,
            simplex,
            affine: (0..count).map(|at| unit(hidden, at, coefficients[at])).collect(),
            upper: vec![0.0; count],
            resting: vec![0.0; count],
            variable: vec![None; count],
            constant,
            rho,
            eta: BTreeMap::new(),
            rows: Vec::new(),
            global,
            levels: Arc::clone(&hidden.levels),
        };
        for at in 0..count {
            let Affine { base, slope, capped, .. } = master.affine[at];
            let free = hidden.assumption[at] == Assumption::Free;
            if lines == Lines::Chord && free && coefficients[at] < 0.0 {
                master.pin(at);
            } else if base[1] != 0.0 || slope[1] != 0.0 || capped[1] != 0.0 {
                master.upper[at] = if free { 1.0 } else { LARGEST_BETA * scale };
                let near = start.map_or(coefficients[at] > 0.0 && base[1] > 0.0, |start| start[at]);
                master.resting[at] = if free && near { 1.0 } else { 0.0 };
            }
            master.constant += base[0] + base[1] * master.resting[at];
        }
        master
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
        let column: Vec<f64> = self
            .rows
            .iter()
            .map(|row| {
                let reached = row.reach.iter().find(|reach| reach.1 == m);
                reached.map_or(0.0, |&(entry, _, a)| {
                    let level = self.levels.level(entry, j, line.level);
                    line.change(a * self.weight.get(row.flip.attribute as usize, j), level)[1]
                })
            })
            .collect();
        let plus: Vec<usize> = self.rows.iter().map(|row| row.plus).collect();
        let at_upper = self.resting[at] > 0.0;
        self.constant -= line.base[1] * self.resting[at];
        self.variable[at] = Some(self.simplex.add_column(line.base[1], self.upper[at], at_upper, &column, &plus));
    }

    /// The resting multipliers that would raise the bound at the relaxed attacker's point.
    fn restless(&self) -> Vec<usize> {
        // The slope of the bound in each multiplier.
        let mut slope: Vec<f64> = self.affine.iter().map(|line| line.base[1]).collect();
        for row in &self.rows {
            let share = self.share(row);
            if share <= 0.0 {
                continue;
            }
            for &(entry, m, a) in &row.reach {
                for (j, &w) in self.weight.row(row.flip.attribute as usize).iter().enumerate() {
                    let at = m * self.width + j;
                    if self.upper[at] > 0.0 {
                        let level = self.levels.level(entry, j, self.affine[at].level);
                        slope[at] += share * self.affine[at].change(a * w, level)[1];
                    }
                }
            }
        }
        (0..self.affine.len())
            .filter(|&at| self.upper[at] > 0.0 && self.variable[at].is_none())
            .filter(|&at| if self.resting[at] > 0.0 { slope[at] < -1e-9 } else { slope[at] > 1e-9 })
            .collect()
    }

    /// How much of a flip the relaxed attacker makes: the dual of its row.
    fn share(&self, row: &Row) -> f64 {
        (1.0 + self.simplex.reduced(row.plus)).clamp(0.0, 1.0)
    }
}

/// The lines of a unit; exact at the anchor for `x = 0` where the coefficient is negative.
fn unit(hidden: &Hidden, at: usize, a: f64) -> Affine {
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
            Affine {
                base: [base, chord * (z - r) - base],
                slope: [0.0, chord],
                capped: [a, -a],
                anchor: z,
                level: hidden.cap[at].level,
            }
        }
    }
}

impl Master for SimplexMaster<'_> {
    fn add(&mut self, field: &Field, slice: &Slice, flip: Flip) {
        let present = field.graph.attributes().contains(flip.node as usize, flip.attribute);
        let sign = if present { -1.0 } else { 1.0 };
        let reach: Vec<(usize, usize, f64)> = reached(slice, flip).map(|(entry, m, a)| (entry, m, sign * a)).collect();
        let mut fixed = 0.0;
        let mut coefficients = vec![(self.rho, 1.0)];
        for &(entry, m, a) in &reach {
            for (j, &w) in self.weight.row(flip.attribute as usize).iter().enumerate() {
                let at = m * self.width + j;
                let level = self.levels.level(entry, j, self.affine[at].level);
                let [still, moving] = self.affine[at].change(a * w, level);
                fixed -= still;
                match self.variable[at] {
                    Some(variable) => coefficients.push((variable, moving)),
                    None => fixed -= self.resting[at] * moving,
                }
            }
        }
        // The local budget needs a multiplier only where it binds before the global one does.
        let local = field.restriction.local(field.budget, flip.node).unwrap_or(0);
        if local < self.global {
            let simplex = &mut self.simplex;
            let eta =
                *self.eta.entry(flip.node).or_insert_with(|| simplex.add_variable(-(local as f64), f64::INFINITY));
            coefficients.push((eta, 1.0));
        }
        let plus = self.simplex.add_variable(-1.0, f64::INFINITY);
        let minus = self.simplex.add_variable(0.0, f64::INFINITY);
        self.simplex.add_row(&coefficients, fixed, plus, minus);
        self.rows.push(Row { flip, plus, reach });
    }

    fn knows(&self, flip: Flip) -> bool {
        self.rows.iter().any(|row| row.flip == flip)
    }

    fn solve(&mut self) -> Suggestion {
        loop {
            let optimal = self.simplex.maximise(50 * (self.rows.len() + 10));
            let restless = self.restless();
            if restless.is_empty() || !optimal {
                break;
            }
            restless.into_iter().for_each(|at| self.activate(at));
        }
        let weights = (0..self.affine.len()).map(|at| match self.variable[at] {
            Some(variable) => self.simplex.value(variable),
            None => self.resting[at],
        });
        Suggestion {
            weights: weights.collect(),
            value: self.constant + self.simplex.objective(),
            flips: self.rows.iter().map(|row| (row.flip, self.share(row))).collect(),
        }
    }
}
