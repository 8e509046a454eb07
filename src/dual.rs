//! The dual bound: one backward pass through a relaxed network (math §4), read as bounds on the network.
//!
//! Let `a` be the coefficient of a hidden unit in the objective. For every admissible perturbation its pre-activation
//! `z` lies in `[R, S]`, and any slope `λ` gives a valid line under the unit's contribution:
//!
//! ```text
//! a·relu(z) ≥ λ·z + κ,     κ = min over z ∈ {R, 0, S} of a·relu(z) − λ·z
//! ```
//!
//! because the difference is piecewise linear with those breakpoints. The dual at `Ω` is `λ = a·Ω` for `a > 0` and
//! `λ = a·S/(S−R)` for `a < 0`. The slope is *defined* to be the float that was computed: what rounding does to it costs
//! tightness, never validity, and only `κ` and the sums need an error bound.

use std::sync::Arc;

use crate::bounds::LayerBounds;
use crate::capped::Bend;
use crate::envelope::{Arch, Envelope, Relief};
use crate::forward::Representation;
use crate::hidden::Hidden;
use crate::model::Gcn;
use crate::rounding::{Account, FLOOR, UNIT, error_of};
use crate::selection::Slopes;
use crate::slice::Slice;

/// A linear objective over the units of the target: pairs of unit and coefficient.
pub type Objective<'a> = &'a [(usize, f64)];

/// Activation bounds of representations `2 … L−1`: of the whole graph, or of one slice's nodes by their local numbers.
#[derive(Clone, Copy, Debug)]
pub enum Located<'a> {
    /// By node.
    Graph(&'a [LayerBounds]),
    /// By local number.
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

/// The sign of a unit above representation 2 that a branch of a search assumes, and its multiplier `β` (math §7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sign {
    /// Representation, and place in the slice.
    pub place: (usize, usize),
    /// `z ≥ 0`, or `z ≤ 0`.
    pub active: bool,
    /// At least 0: the contribution is bounded by `(a − β)z`, respectively by `βz`.
    pub beta: f64,
}

impl Sign {
    /// The slope of the line under a unit with coefficient `a`.
    pub fn slope(&self, a: f64) -> f64 {
        let beta = self.beta.max(0.0);
        if self.active { a - beta } else { beta }
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
    phi: Vec<f64>,
    psi: Vec<f64>,
    psi_size: Vec<f64>,
}

/// A line `λ z + κ` under `a·relu(z)` on `[R, S]`, for every `a` within `error` of the given one, at the default `Ω`.
#[inline]
pub fn line(a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    line_at(s / (s - r), a, error, r, s)
}

/// The same at a given `Ω`, which only matters where `a > 0`.
#[inline]
pub fn line_at(omega: f64, a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    if s <= 0.0 {
        return (0.0, 0.0);
    }
    if r >= 0.0 {
        return (a, -error * s);
    }
    sloped(a * if a > 0.0 { omega } else { s / (s - r) }, a, error, r, s)
}

/// A line of a given slope under `a·relu(z)` on `[R, S]`, and at zero: the highest where `R ≤ 0 ≤ S`.
#[inline]
pub fn sloped(slope: f64, a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    let most = s.max(0.0);
    let rounding = 8.0 * UNIT * (a.abs() * most + slope.abs() * (s.abs() + r.abs())) + error * most;
    let at_r = if r > 0.0 { (a - slope) * r } else { -slope * r } - rounding;
    let at_s = if s < 0.0 { -slope * s } else { (a - slope) * s } - rounding;
    // `min` would swallow what an overflow leaves behind, and with it the doubt.
    if at_r.is_nan() || at_s.is_nan() {
        return (slope, f64::NEG_INFINITY);
    }
    (slope, at_r.min(at_s).min(0.0))
}

impl Backward {
    /// Runs from the target's objective down to representation 2, at the default `Ω`.
    ///
    /// Cost: `O(|V_l|·h·h' + |A(l)|·h)` per layer above the second.
    pub fn run(&mut self, gcn: &Gcn, slice: &Slice, bounds: &[LayerBounds], objective: Objective) {
        self.run_at(gcn, slice, Located::Graph(bounds), objective, &[]);
    }

    /// The same at a given `Ω`: `omega[l − 3]` has one entry per unit of representation `l` of the slice. Where there is
    /// none, the default is taken.
    pub fn run_at(&mut self, gcn: &Gcn, slice: &Slice, bounds: Located, objective: Objective, omega: &[Vec<f64>]) {
        self.run_signed(gcn, slice, bounds, objective, (omega, &[]));
    }

    /// The same where the signs of some units are assumed, by which the bounds have been cut.
    pub fn run_signed(
        &mut self,
        gcn: &Gcn,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        (omega, signs): (&[Vec<f64>], &[Sign]),
    ) {
        self.run_with(gcn, slice, bounds, objective, |l, at, (a, r, s)| {
            match signs.iter().find(|sign| sign.place == (l, at)) {
                Some(sign) => Some(sign.slope(a)),
                None => omega.get(l - 3).filter(|_| a > 0.0 && r < 0.0 && s > 0.0).map(|omega| a * omega[at]),
            }
        });
    }

    /// The same with any slopes: `slope` is asked for every unit above representation 2, from the top down, by its
    /// representation, its place in the slice, its coefficient, `R` and `S`; `None` is the default.
    pub fn run_with(
        &mut self,
        gcn: &Gcn,
        slice: &Slice,
        bounds: Located,
        objective: Objective,
        mut slope: impl FnMut(usize, usize, (f64, f64, f64)) -> Option<f64>,
    ) {
        let top = slice.top();
        self.constant = Account::default();
        self.phi.clear();
        self.phi.resize(gcn.width(top), 0.0);
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
            self.pull(gcn, slice, l);
            if l > 2 {
                self.relax(slice, l, bounds, |at, unit| slope(l, at, unit));
            }
        }
    }

    /// `Φ̂(l) = A(l)ᵀ Φ(l+1) W(l)ᵀ`, and the bias of layer `l`.
    fn pull(&mut self, gcn: &Gcn, slice: &Slice, l: usize) {
        let layer = &gcn.layers()[l - 1];
        let (inputs, outputs) = (layer.weight.rows, layer.weight.columns);
        let (rows, columns) = (slice.nodes(l + 1).len(), slice.nodes(l).len());
        let length = columns * inputs;
        self.coefficient.clear();
        self.coefficient.resize(length, 0.0);
        self.error.clear();
        self.error.resize(length, 0.0);
        for m in 0..rows {
            let phi = &self.phi[m * outputs..][..outputs];
            self.psi.clear();
            self.psi.resize(inputs, 0.0);
            self.psi_size.clear();
            self.psi_size.resize(inputs, FLOOR);
            for (j, &p) in phi.iter().enumerate().filter(|(_, p)| **p != 0.0) {
                self.constant.add(p * layer.bias[j]);
                for i in 0..inputs {
                    let term = p * layer.weight.get(i, j);
                    self.psi[i] += term;
                    self.psi_size[i] += term.abs();
                }
            }
            for (n, a) in slice.passing(l).row(m) {
                let at = n * inputs;
                for i in 0..inputs {
                    self.coefficient[at + i] += a * self.psi[i];
                    self.error[at + i] += a.abs() * self.psi_size[i];
                }
            }
        }
        // So far `error` holds magnitudes.
        for e in &mut self.error {
            *e = error_of(outputs + rows + 1, *e);
        }
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

    /// What the layers above have contributed.
    pub fn constant(&self) -> Account {
        self.constant
    }
}

/// A relaxed objective: linear in the pre-activations of representation 2, with one slope for each unit's rise and one
/// for its fall.
#[derive(Debug, Default)]
pub struct Relaxed {
    /// The value at the unperturbed graph.
    pub base: Account,
    /// Per node and unit of representation 2: middle of the two slopes.
    pub centre: Vec<f64>,
    /// Half their difference; empty for the paper's dual, which has one slope.
    pub radius: Vec<f64>,
    /// What the slopes overstate where a unit is capped; empty if none is.
    pub bends: Vec<Bend>,
    /// Envelopes, and how they enter the slopes.
    pub envelope: Option<(Arc<Envelope>, Vec<Arch>)>,
}

impl Relaxed {
    /// The paper's relaxation at the default `Ω = S/(S−R)`.
    pub fn paper(
        &mut self,
        backward: &Backward,
        slice: &Slice,
        unperturbed: &Representation,
        bounds: Option<&LayerBounds>,
    ) {
        let width = unperturbed.width;
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for (n, &node) in slice.nodes(2).iter().enumerate() {
            let node = node as usize;
            let (z, ez) = (unperturbed.row(node), unperturbed.errors(node));
            for j in 0..width {
                let at = n * width + j;
                let (slope, kappa) = match bounds {
                    Some(b) => line(coefficients[at], errors[at], b.lower(node)[j], b.upper(node)[j]),
                    // The target's own pre-activations have no ReLU, and their coefficients are exact.
                    None => (coefficients[at], 0.0),
                };
                self.base.add(kappa);
                self.base.add(slope * z[j]);
                self.base.allow(slope.abs() * ez[j]);
                self.centre.push(slope);
            }
        }
    }

    /// The relaxation with any slopes: `slope` is asked for every undecided unit, by its place in the slice and its
    /// coefficient.
    pub fn sloped(&mut self, backward: &Backward, hidden: &Hidden, slope: impl Fn(usize, f64) -> f64) {
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for at in 0..hidden.count() {
            let (a, error, r, s) = (coefficients[at], errors[at], hidden.lower[at], hidden.upper[at]);
            let (slope, kappa) =
                if r < 0.0 && s > 0.0 { sloped(slope(at, a), a, error, r, s) } else { line(a, error, r, s) };
            self.base.add(kappa);
            self.base.add(slope * hidden.value[at]);
            self.base.allow(slope.abs() * hidden.error[at]);
            self.centre.push(slope);
        }
    }

    /// Forgets all slopes.
    pub(crate) fn clear(&mut self) {
        self.centre.clear();
        self.radius.clear();
        self.bends.clear();
        self.envelope = None;
    }

    /// Passes the slopes on to the nodes of representation 1 and bounds the error of any flip's loss.
    pub fn spread(&self, slice: &Slice, width: usize, largest_norm: f64, slopes: &mut Slopes) -> f64 {
        let nodes = slice.nodes(1).len();
        slopes.bends.clone_from(&self.bends);
        slopes.relief = self.envelope.as_ref().map(|(envelope, arches)| Relief::new(envelope, arches, slice));
        let two = !self.radius.is_empty();
        slopes.centre.clear();
        slopes.centre.resize(nodes * width, 0.0);
        slopes.radius.clear();
        slopes.radius.resize(if two { nodes * width } else { 0 }, 0.0);
        let passing = slice.passing(1);
        // Σ_m |A_mn| ‖slopes of m‖ bounds the size of everything summed for node n; rows are few, so sum over all n.
        let mut largest: f64 = 0.0;
        let mut sizes = 0.0;
        for m in 0..passing.rows() {
            let centre = &self.centre[m * width..][..width];
            let mut square: f64 = centre.iter().map(|c| c.abs()).sum();
            if two {
                square += self.radius[m * width..][..width].iter().sum::<f64>();
            }
            let mut row_max: f64 = 0.0;
            for (n, a) in passing.row(m) {
                row_max = row_max.max(a.abs());
                let into = &mut slopes.centre[n * width..][..width];
                for (slot, c) in into.iter_mut().zip(centre) {
                    *slot += a * c;
                }
                if two {
                    let into = &mut slopes.radius[n * width..][..width];
                    for (slot, r) in into.iter_mut().zip(&self.radius[m * width..][..width]) {
                        *slot += a.abs() * r;
                    }
                }
            }
            // The floor stands for products a·c that underflow, which a small a must not take away again.
            sizes += row_max * square + FLOOR;
            largest = largest.max(row_max);
        }
        // A loss is a sum over units of (at most) two products with sums over the rows.
        error_of(2 * width + passing.rows() + 6, 2.0 * sizes * largest_norm)
    }
}
