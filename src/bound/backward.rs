//! The backward pass of an objective through a relaxed network (docs/math.md §4): from the target down to
//! representation 2, every hidden unit above it replaced by a line ([`crate::bound::line::chord`]).

use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::chord::{line, sloped};
use crate::number::rounding::{Account, FLOOR, UNIT, error_of};
use crate::problem::network::Network;
use crate::problem::objective::Objective;
use crate::problem::slice::Slice;

/// Activation bounds of representations `2 … L−1`: of the whole graph, or of one slice's nodes by their local numbers.
#[derive(Clone, Copy, Debug)]
pub enum Located<'a> {
    /// Indexed by node of the graph.
    Graph(&'a [LayerBounds]),
    /// Indexed by the node's number in the slice.
    Slice(&'a [LayerBounds]),
}

impl Located<'_> {
    /// `R` and `S` of the slice's `n`-th node of representation `l`.
    #[inline]
    pub fn rows(&self, slice: &Slice, l: usize, n: usize) -> (&[f64], &[f64]) {
        let (bounds, row) = match self {
            Located::Graph(bounds) => (&bounds[l - 2], slice.nodes(l)[n] as usize),
            Located::Slice(bounds) => (&bounds[l - 2], n),
        };
        (bounds.lower(row), bounds.upper(row))
    }
}

/// Where a hidden unit stands in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitPlace {
    /// Its representation, from 2 on.
    pub l: usize,
    /// Its number among the units of that representation: the node's number in the slice times the width, plus the
    /// unit's.
    pub at: usize,
}

/// The sign of a unit above representation 2 that a branch of a search assumes, and its multiplier `β` (docs/math.md
/// §7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sign {
    /// The unit whose sign is assumed; its representation is 3 or more.
    pub place: UnitPlace,
    /// `z ≥ 0`, or `z ≤ 0`.
    pub active: bool,
    /// At least 0: the contribution is bounded by `(a − β)z`, respectively by `βz`.
    pub beta: f64,
}

impl Sign {
    /// The slope of the line under a unit with coefficient `a` (docs/math.md (7.1)).
    pub fn slope(&self, a: f64) -> f64 {
        let beta = self.beta.max(0.0);
        if self.active { a - beta } else { beta }
    }
}

/// Multipliers of the units above representation 2.
#[derive(Clone, Copy, Debug, Default)]
pub struct AboveSecond<'a> {
    /// `omega[l − 3]` has one entry per unit of representation `l`; where there is none, the default is taken.
    pub omega: &'a [Vec<f64>],
    /// Signs that are assumed.
    pub signs: &'a [Sign],
    /// Per unit of representation 3 the share of the chord, of which the capped bound is the rest; empty where no unit
    /// has the capped bound.
    pub chords: &'a [f64],
}

/// What the capped bound takes of the coefficient of a unit of representation 3, given the shares of the chord.
pub fn bent(chords: &[f64], at: usize, a: f64) -> f64 {
    match chords.get(at) {
        Some(&chord) if a < 0.0 => (1.0 - chord.clamp(0.0, 1.0)) * -a,
        _ => 0.0,
    }
}

/// The backward pass down to representation 2, with its buffers.
#[derive(Debug, Default)]
pub struct Backward {
    /// Coefficients of the units of representation 2 in the objective, nodes × units.
    coefficient: Vec<f64>,
    /// How far each may be from its exact value.
    error: Vec<f64>,
    /// Everything that does not depend on representation 2.
    constant: Account,
    /// Per unit of representation 3: which part of its coefficient the capped bound takes, not negative; empty if none
    /// does ([`crate::bound::nested`]).
    bends: Vec<f64>,
    third: Vec<f64>,
    phi: Vec<f64>,
    psi: Vec<f64>,
    psi_size: Vec<f64>,
}

impl Backward {
    /// Runs from the target's objective down to representation 2, at the default `Ω`.
    ///
    /// Cost: `O(|V_l|·h·h' + |A(l)|·h)` per layer above the second.
    pub fn run(&mut self, network: &Network, slice: &Slice, bounds: &[LayerBounds], objective: Objective) {
        self.run_at(network, slice, Located::Graph(bounds), objective, &[]);
    }

    /// The same at a given `Ω`: `omega[l − 3]` has one entry per unit of representation `l` of the slice. Where there
    /// is none, the default is taken.
    pub fn run_at(
        &mut self,
        network: &Network,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        omega: &[Vec<f64>],
    ) {
        self.run_signed(network, slice, bounds, objective, AboveSecond { omega, signs: &[], chords: &[] });
    }

    /// The same where the signs of some units are assumed, by which the bounds have been cut, and where the capped
    /// bound takes a part of units of representation 3.
    pub fn run_signed(
        &mut self,
        network: &Network,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        AboveSecond { omega, signs, chords }: AboveSecond,
    ) {
        let slope = |l: usize, at: usize, (a, r, s): (f64, f64, f64)| match signs
            .iter()
            .find(|sign| sign.place == UnitPlace { l, at })
        {
            Some(sign) => Some(sign.slope(a)),
            None => omega.get(l - 3).filter(|_| a > 0.0 && r < 0.0 && s > 0.0).map(|omega| a * omega[at]),
        };
        let signed = |at: usize| signs.iter().any(|sign| sign.place == UnitPlace { l: 3, at });
        let bend = |at: usize, a: f64| bent(chords, at, a) * f64::from(u8::from(!signed(at)));
        self.run_nested(network, slice, bounds, objective, slope, bend);
    }

    /// The same with any slopes: `slope` is called for every unit above representation 2, from the top down, with its
    /// representation, its place in the slice, its coefficient, `R` and `S`; `None` is the default
    /// (docs/math.md (4.4)).
    pub fn run_with(
        &mut self,
        network: &Network,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        slope: impl FnMut(usize, usize, (f64, f64, f64)) -> Option<f64>,
    ) {
        self.run_nested(network, slice, bounds, objective, slope, |_, _| 0.0);
    }

    /// The same where the capped bound takes a part of the coefficients of representation 3: `bend` is called for every
    /// undecided unit there, with its place and its coefficient, before `slope` is called for what remains. What the
    /// bends cost is not in the constant (docs/math.md (5.15)).
    pub fn run_nested(
        &mut self,
        network: &Network,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        mut slope: impl FnMut(usize, usize, (f64, f64, f64)) -> Option<f64>,
        mut bend: impl FnMut(usize, f64) -> f64,
    ) {
        let top = slice.top();
        self.bends.clear();
        self.third.clear();
        self.constant = Account::default();
        self.phi.clear();
        self.phi.resize(network.width(top), 0.0);
        for &(unit, coefficient) in objective {
            self.phi[unit] = coefficient;
        }
        if top == 2 {
            // The linear model: the objective already is one on representation 2.
            self.coefficient.clone_from(&self.phi);
            self.error.clear();
            self.error.resize(self.phi.len(), 0.0);
            return;
        }
        for l in (2..top).rev() {
            self.pull(network, slice, l);
            if l == 3 {
                self.bend(slice, bounds, &mut bend);
            }
            if l > 2 {
                self.relax(slice, l, bounds, |at, unit| slope(l, at, unit));
            }
        }
    }

    /// `Φ̂(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ`, and the bias of layer `l` (docs/math.md (4.3)).
    fn pull(&mut self, network: &Network, slice: &Slice, l: usize) {
        let layer = &network.layers()[l - 1];
        let (inputs, outputs, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
        let (rows, columns) = (slice.nodes(l + 1).len(), slice.nodes(l).len());
        let length = columns * inputs;
        self.coefficient.clear();
        self.coefficient.resize(length, 0.0);
        self.error.clear();
        self.error.resize(length, 0.0);
        for m in 0..rows {
            let phi = &self.phi[m * outputs..][..outputs];
            self.psi.clear();
            self.psi.resize(inputs * terms, 0.0);
            self.psi_size.clear();
            self.psi_size.resize(inputs * terms, FLOOR);
            let bias = layer.bias.row(slice.nodes(l + 1)[m] as usize);
            for (j, &p) in phi.iter().enumerate().filter(|(_, p)| **p != 0.0) {
                self.constant.add(p * bias[j]);
                for i in 0..inputs * terms {
                    let term = p * layer.weight.get(i, j);
                    self.psi[i] += term;
                    self.psi_size[i] += term.abs();
                }
            }
            for (n, entries) in slice.passing(l).row(m) {
                let at = n * inputs;
                for (k, &a) in entries.iter().enumerate() {
                    let from = k * inputs;
                    for i in 0..inputs {
                        self.coefficient[at + i] += a * self.psi[from + i];
                        self.error[at + i] += a.abs() * self.psi_size[from + i];
                    }
                }
            }
        }
        // So far `error` holds magnitudes.
        for e in &mut self.error {
            *e = error_of(outputs + terms * rows + 1, *e);
        }
    }

    /// Takes the bends out of the coefficients of representation 3.
    fn bend(&mut self, slice: &Slice, bounds: Located, mut bend: impl FnMut(usize, f64) -> f64) {
        self.third.extend_from_slice(&self.coefficient);
        for n in 0..slice.nodes(3).len() {
            let (lower, upper) = bounds.rows(slice, 3, n);
            let width = lower.len();
            for j in (0..width).filter(|&j| lower[j] < 0.0 && upper[j] > 0.0) {
                let at = n * width + j;
                let a = self.coefficient[at];
                let weight = bend(at, a);
                if weight > 0.0 && weight.is_finite() {
                    self.bends.resize(self.coefficient.len(), 0.0);
                    self.bends[at] = weight;
                    self.coefficient[at] = a + weight;
                    self.error[at] = (self.error[at] + UNIT * (a.abs() + weight)).next_up();
                }
            }
        }
    }

    /// The weights of the capped bounds of representation 3; empty if there are none.
    pub fn bends(&self) -> &[f64] {
        &self.bends
    }

    /// Replaces the units of a hidden layer above the second by lines: `Φ` becomes the slopes.
    fn relax(
        &mut self,
        slice: &Slice,
        l: usize,
        bounds: Located,
        mut slope: impl FnMut(usize, (f64, f64, f64)) -> Option<f64>,
    ) {
        self.phi.clear();
        for n in 0..slice.nodes(l).len() {
            let (lower, upper) = bounds.rows(slice, l, n);
            let width = lower.len();
            for j in 0..width {
                let at = n * width + j;
                let (a, error, r, s) = (self.coefficient[at], self.error[at], lower[j], upper[j]);
                let (slope, kappa) = match slope(at, (a, r, s)) {
                    Some(slope) => sloped(slope, a, error, r, s),
                    None => line(a, error, r, s),
                };
                self.constant.add(kappa);
                self.phi.push(slope);
            }
        }
    }

    /// Coefficient and error of each unit of representation 2, row by row.
    pub fn coefficients(&self) -> (&[f64], &[f64]) {
        (&self.coefficient, &self.error)
    }

    /// What the layers above have contributed. Nothing follows from it where bends have taken a part.
    pub fn constant(&self) -> Account {
        let mut constant = self.constant;
        if !self.bends.is_empty() {
            constant.allow(f64::INFINITY);
        }
        constant
    }

    /// The same for a relaxation that adds the bends itself.
    pub(super) fn constant_without_bends(&self) -> Account {
        self.constant
    }

    /// The coefficients of representation 3, before bends took a part; empty where there is no representation above.
    pub fn third(&self) -> &[f64] {
        &self.third
    }
}
