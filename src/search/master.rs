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

use crate::hidden::{Assumption, Hidden};
use crate::mixture::reached;
use crate::selection::{Field, Flip};
use crate::slice::Slice;

use super::simplex::Simplex;

/// A unit's line as a function of its multiplier: `(c₀ + c₁x) + (r₀ + r₁x)·rise − (f₀ + f₁x)·fall`.
#[derive(Clone, Copy, Debug, Default)]
struct Affine {
    base: [f64; 2],
    rise: [f64; 2],
    fall: [f64; 2],
}

/// Multipliers of assumptions are kept in a box; any non-negative one is valid.
const LARGEST_BETA: f64 = 1e4;

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
    fn add(&mut self, field: &Field, slice: &Slice, hidden: &Hidden, flip: Flip);
    /// Is this flip known?
    fn knows(&self, flip: Flip) -> bool;
    /// The best multipliers against the flips known.
    fn solve(&mut self) -> Suggestion;
}

/// The master on our own simplex method.
pub struct SimplexMaster<'a> {
    weight: &'a gcnproof_files::DenseMatrix,
    simplex: Simplex,
    affine: Vec<Affine>,
    /// Unit → its variable.
    multiplier: Vec<Option<usize>>,
    constant: f64,
    rho: usize,
    eta: BTreeMap<u32, usize>,
    rows: Vec<(Flip, usize)>,
    global: usize,
}

impl<'a> SimplexMaster<'a> {
    /// A master that knows no flip. `constant` is what the layers above contribute, `coefficients` are those of the units.
    pub fn new(
        weight: &'a gcnproof_files::DenseMatrix,
        hidden: &Hidden,
        coefficients: &[f64],
        constant: f64,
        global: usize,
    ) -> SimplexMaster<'a> {
        let mut simplex = Simplex::default();
        let mut constant = constant;
        let mut multiplier = vec![None; hidden.count()];
        let mut affine = vec![Affine::default(); hidden.count()];
        let scale = coefficients.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        for at in 0..hidden.count() {
            affine[at] = unit(hidden, at, coefficients[at]);
            constant += affine[at].base[0];
            let Affine { base, rise, fall } = affine[at];
            if base[1] != 0.0 || rise[1] != 0.0 || fall[1] != 0.0 {
                let free = hidden.assumption[at] == Assumption::Free;
                multiplier[at] = Some(simplex.add_variable(base[1], if free { 1.0 } else { LARGEST_BETA * scale }));
            }
        }
        let rho = simplex.add_variable(-(global.min(1 << 50) as f64), f64::INFINITY);
        SimplexMaster {
            weight,
            simplex,
            affine,
            multiplier,
            constant,
            rho,
            eta: BTreeMap::new(),
            rows: Vec::new(),
            global,
        }
    }
}

/// The lines of a unit; exact at the anchor for `x = 0` where the coefficient is negative.
fn unit(hidden: &Hidden, at: usize, a: f64) -> Affine {
    let (z, r, s) = (hidden.value[at], hidden.lower[at], hidden.upper[at]);
    let same = |base: [f64; 2], slope: [f64; 2]| Affine { base, rise: slope, fall: slope };
    match hidden.assumption[at] {
        Assumption::Active => same([a * z, -z], [a, -1.0]),
        Assumption::Inactive => same([0.0, z], [0.0, 1.0]),
        Assumption::Free if s <= 0.0 => Affine::default(),
        Assumption::Free if r >= 0.0 => same([a * z, 0.0], [a, 0.0]),
        Assumption::Free if a > 0.0 => same([0.0, a * z], [0.0, a]),
        Assumption::Free => {
            let chord = a * s / (s - r);
            let (rise, fall) = if z >= 0.0 { (a, a * z / (z - r)) } else { (a * s / (s - z), 0.0) };
            let base = a * z.max(0.0);
            Affine {
                base: [base, chord * (z - r) - base],
                rise: [rise, chord - rise],
                fall: [fall, chord - fall],
            }
        }
    }
}

impl Master for SimplexMaster<'_> {
    fn add(&mut self, field: &Field, slice: &Slice, hidden: &Hidden, flip: Flip) {
        let present = field.graph.attributes().contains(flip.node as usize, flip.attribute);
        let sign = if present { -1.0 } else { 1.0 };
        let mut fixed = 0.0;
        let mut coefficients = vec![(self.rho, 1.0)];
        for (m, a) in reached(slice, flip) {
            for (j, &w) in self.weight.row(flip.attribute as usize).iter().enumerate() {
                let at = m * hidden.width + j;
                let change = sign * a * w;
                let (up, down) = (change.max(0.0), -change.min(0.0));
                let Affine { rise, fall, .. } = self.affine[at];
                fixed -= rise[0] * up - fall[0] * down;
                if let Some(variable) = self.multiplier[at] {
                    coefficients.push((variable, rise[1] * up - fall[1] * down));
                }
            }
        }
        // The local budget needs a multiplier only where it binds before the global one does.
        let local = field.restriction.local(field.budget, flip.node).unwrap_or(0);
        if local < self.global {
            let eta = *self.eta.entry(flip.node).or_insert_with(|| {
                self.simplex.add_variable(-(local as f64), f64::INFINITY)
            });
            coefficients.push((eta, 1.0));
        }
        let plus = self.simplex.add_variable(-1.0, f64::INFINITY);
        let minus = self.simplex.add_variable(0.0, f64::INFINITY);
        self.simplex.add_row(&coefficients, fixed, plus, minus);
        self.rows.push((flip, plus));
    }

    fn knows(&self, flip: Flip) -> bool {
        self.rows.iter().any(|row| row.0 == flip)
    }

    fn solve(&mut self) -> Suggestion {
        self.simplex.maximise(20 * (self.rows.len() + 10) + 4 * self.affine.len());
        Suggestion {
            weights: self.multiplier.iter().map(|v| v.map_or(0.0, |v| self.simplex.value(v))).collect(),
            value: self.constant + self.simplex.objective(),
            flips: self
                .rows
                .iter()
                .map(|&(flip, plus)| (flip, (1.0 + self.simplex.reduced(plus)).clamp(0.0, 1.0)))
                .collect(),
        }
    }
}
