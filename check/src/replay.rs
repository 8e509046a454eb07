//! The replay of a leaf: activation bounds on its path, one backward pass, and the largest loss (math §4, §4b, §7).
//!
//! Read it as lines under the network. With `a` the coefficient of a hidden unit in the objective, each `a·relu(z)` is
//! replaced by something below it that is linear in `z`, or at representation 2 linear in the rise and the fall of `z`
//! that the free flips cause. What remains is a constant minus losses of single flips. `FORMAT.md` proves each line.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::activation::{Activations, Bounds};
use crate::budget::Decided;
use crate::envelope::Left;
use crate::layer2::Row;
use crate::line::{Line, Multipliers, Path, Undecided, deep_line, line, sign, sign_is_zero};
use crate::loss::Losses;
use crate::network::Network;
use crate::number::Number;
use crate::slice::Slice;

/// What a leaf shows.
pub enum Shown<N> {
    /// No admissible perturbation takes this path.
    Nothing,
    /// The objective is positive on the path.
    Positive,
    /// The objective is at least this on the path.
    Bound(N),
    /// A case could not be decided in this kind of numbers.
    Undecided,
}

/// One target – the logits of a node, or in the service of [`Activations`] a hidden unit – in one kind of numbers.
pub struct Replay<'a, N> {
    activations: &'a Activations<'a, N>,
    network: &'a Network<'a>,
    slice: &'a Slice,
    memory: Option<(Path, Arc<Region<N>>)>,
}

/// What depends on the path only.
struct Region<N> {
    /// Representation 2, not clipped.
    rows: Vec<Arc<Row<N>>>,
    /// `bounds[l − 3]` for representations `3 … L − 1`, clipped.
    bounds: Vec<Vec<Arc<Bounds<N>>>>,
    /// A bound has `R > S`: no perturbation takes the path.
    empty: bool,
}

impl<'a, N: Number> Replay<'a, N> {
    /// Nothing is computed before it is asked for.
    pub fn new(activations: &'a Activations<'a, N>, slice: &'a Slice) -> Replay<'a, N> {
        Replay { activations, network: activations.network, slice, memory: None }
    }

    /// The logits of the target after some flips.
    pub fn logits(&self, flips: &Decided) -> Arc<Vec<N>> {
        let depth = self.network.depth();
        let mut z: Vec<Arc<Vec<N>>> =
            self.slice.nodes(2).iter().map(|&m| self.activations.layer2.value(m, flips)).collect();
        for l in 2..depth {
            let layer = &self.network.layers[l - 1];
            let mut next = Vec::new();
            for row in self.slice.passing(l) {
                let mut received = vec![N::zero(); layer.weight.rows];
                for &(n, a) in row {
                    for (sum, z) in received.iter_mut().zip(z[n].iter()) {
                        sum.add(&z.positive_part().scaled(a));
                    }
                }
                let mut sums: Vec<N> = layer.bias.iter().map(|&b| N::from_f64(b)).collect();
                for (i, received) in received.iter().enumerate() {
                    for (sum, &w) in sums.iter_mut().zip(layer.weight.row(i)) {
                        sum.add(&received.scaled(w));
                    }
                }
                next.push(Arc::new(sums));
            }
            z = next;
        }
        z.swap_remove(0)
    }

    /// A lower bound on `logit(reference) − logit(class)` over all admissible perturbations on the path.
    pub fn bound(&mut self, reference: u32, class: u32, path: &Path, multipliers: &Multipliers) -> Shown<N> {
        if path.decided.overspent(self.activations.budget) {
            return Shown::Nothing;
        }
        let region = match &self.memory {
            Some((known, region)) if known == path => region.clone(),
            _ => match self.region(path) {
                Ok(region) => Arc::new(region),
                Err(Undecided) => return Shown::Undecided,
            },
        };
        self.memory = Some((path.clone(), region.clone()));
        if region.empty {
            return Shown::Nothing;
        }
        let objective = [(reference as usize, 1.0), (class as usize, -1.0)];
        match self.backward(&objective, path, multipliers, &region, true) {
            Ok(Some(bound)) => Shown::Bound(bound),
            Ok(None) => Shown::Positive,
            Err(Undecided) => Shown::Undecided,
        }
    }

    /// A lower bound on an objective over all admissible perturbations.
    pub(crate) fn value(&self, objective: &[(usize, f64)], multipliers: &Multipliers) -> Result<N, Undecided> {
        let path = Path::default();
        let bound = self.backward(objective, &path, multipliers, &self.region(&path)?, false)?;
        bound.ok_or(Undecided)
    }

    /// Activation bounds on a path.
    fn region(&self, path: &Path) -> Result<Region<N>, Undecided> {
        let rows: Vec<Arc<Row<N>>> = match &self.memory {
            // A split unit changes nothing at representation 2.
            Some((known, region)) if known.decided == path.decided => region.rows.clone(),
            _ => self.slice.nodes(2).iter().map(|&m| self.activations.layer2.row(m, &path.decided)).collect(),
        };
        let mut region = Region { rows, bounds: Vec::new(), empty: false };
        let top = self.slice.top();
        let whole = |l: usize| -> Result<Vec<Arc<Bounds<N>>>, Undecided> {
            self.slice.nodes(l).iter().map(|&node| self.activations.row(l, node)).collect()
        };
        if *path == Path::default() {
            for l in 3..top {
                region.bounds.push(whole(l)?);
            }
            return Ok(region);
        }
        let mut clipped: Vec<Bounds<N>> = region.rows.iter().map(|row| row.bounds()).collect();
        region.empty |= self.clip(2, path, &mut clipped)?;
        for l in 3..top {
            clipped = self.propagate(l, &clipped);
            // What holds for the whole budget holds on the path.
            for (bounds, whole) in clipped.iter_mut().zip(whole(l)?) {
                for ((lower, upper), (least, most)) in bounds.iter_mut().zip(whole.iter()) {
                    (*lower, *upper) = (lower.most(least), upper.least(most));
                }
            }
            region.empty |= self.clip(l, path, &mut clipped)?;
            region.bounds.push(clipped.iter().cloned().map(Arc::new).collect());
        }
        Ok(region)
    }

    /// Clips the bounds of the units of representation `l` that the path splits. Is one of them empty?
    fn clip(&self, l: usize, path: &Path, bounds: &mut [Bounds<N>]) -> Result<bool, Undecided> {
        let mut empty = false;
        for &((_, node, unit), active) in path.units.iter().filter(|split| split.0.0 as usize == l) {
            let Some(place) = self.slice.place(l, node) else { continue };
            let (lower, upper) = &mut bounds[place][unit as usize];
            if active {
                *lower = lower.positive_part();
            } else {
                *upper = upper.least(&N::zero());
            }
            empty |= sign(&upper.minus(lower))? == Ordering::Less;
        }
        Ok(empty)
    }

    /// Bounds of representation `l ≥ 3` from those below: with the bias, and clipped at zero (math §3).
    pub(crate) fn propagate(&self, l: usize, below: &[Bounds<N>]) -> Vec<Bounds<N>> {
        let layer = &self.network.layers[l - 2];
        let zero = (N::zero(), N::zero());
        let sent = below.iter().map(|units| {
            let mut sums = vec![zero.clone(); layer.weight.columns];
            for (i, (lower, upper)) in units.iter().enumerate() {
                let (lower, upper) = (lower.positive_part(), upper.positive_part());
                for ((least, most), &w) in sums.iter_mut().zip(layer.weight.row(i)) {
                    let (low, high) = if w > 0.0 { (&lower, &upper) } else { (&upper, &lower) };
                    least.add(&low.scaled(w));
                    most.add(&high.scaled(w));
                }
            }
            sums
        });
        let sent: Vec<Bounds<N>> = sent.collect();
        let received = self.slice.passing(l - 1).iter().map(|row| {
            let mut sums: Bounds<N> = layer.bias.iter().map(|&b| (N::from_f64(b), N::from_f64(b))).collect();
            for &(n, a) in row {
                for ((least, most), (low, high)) in sums.iter_mut().zip(&sent[n]) {
                    let (low, high) = if a > 0.0 { (low, high) } else { (high, low) };
                    least.add(&low.scaled(a));
                    most.add(&high.scaled(a));
                }
            }
            sums
        });
        received.collect()
    }

    /// From the target down to the attributes; `None` if only the sign is asked for and the bound surely is positive.
    fn backward(
        &self,
        objective: &[(usize, f64)],
        path: &Path,
        multipliers: &Multipliers,
        region: &Region<N>,
        only_sign: bool,
    ) -> Result<Option<N>, Undecided> {
        let top = self.slice.top();
        let mut total = N::zero();
        // Coefficients of the pre-activations of representation l + 1.
        let mut phi = vec![vec![N::zero(); self.network.width(top)]];
        for &(unit, coefficient) in objective {
            phi[0][unit] = N::from_f64(coefficient);
        }
        for l in (3..top).rev() {
            phi = self.pull(l, &phi, &mut total);
            for (place, row) in phi.iter_mut().enumerate() {
                for (unit, coefficient) in row.iter_mut().enumerate() {
                    let id = (l as u32, self.slice.nodes(l)[place], unit as u32);
                    let (lower, upper) = &region.bounds[l - 3][place][unit];
                    let (slope, intercept) = deep_line(coefficient, lower, upper, id, path, multipliers)?;
                    *coefficient = slope;
                    total.add(&intercept);
                }
            }
        }
        if top > 2 {
            phi = self.pull(2, &phi, &mut total);
        }
        let Activations { network, budget, all, .. } = *self.activations;
        let (decided, envelope) = (&path.decided, multipliers.envelope.as_ref());
        let left = Left::new(envelope, budget, decided);
        let mut lines: Vec<Vec<(usize, Line<N>)>> = Vec::with_capacity(phi.len());
        for (place, coefficients) in phi.iter().enumerate() {
            let row = &region.rows[place];
            let node = self.slice.nodes(2)[place];
            let caps = (multipliers.cap && top > 2).then(|| self.activations.layer2.caps(node, &path.decided, row));
            let mut kept = Vec::with_capacity(coefficients.len());
            for (unit, a) in coefficients.iter().enumerate() {
                let z = &row.value[unit];
                let line = if top == 2 {
                    Line::through(a.clone(), &N::zero(), z)
                } else {
                    let caps = caps.as_ref().map(|caps| caps.as_slice());
                    line(a, (row, caps), (2, node, unit as u32), (path, &left), multipliers)?
                };
                total.add(&line.base);
                if !line.is_flat() {
                    kept.push((unit, line));
                }
            }
            lines.push(kept);
        }
        let losses = Losses { network, budget, slice: self.slice, decided, lines: &lines, envelope, all };
        let largest = losses.largest(only_sign.then_some(&total));
        Ok(largest.map(|largest| total.minus(&largest)))
    }

    /// Coefficients of `H(l)` from those of `Ĥ(l+1)`; the bias goes to the total.
    fn pull(&self, l: usize, phi: &[Vec<N>], total: &mut N) -> Vec<Vec<N>> {
        let layer = &self.network.layers[l - 1];
        let mut below = vec![vec![N::zero(); layer.weight.rows]; self.slice.nodes(l).len()];
        for (phi, row) in phi.iter().zip(self.slice.passing(l)) {
            let mut pulled = vec![N::zero(); layer.weight.rows];
            for (j, phi) in phi.iter().enumerate().filter(|(_, phi)| !sign_is_zero(*phi)) {
                total.add(&phi.scaled(layer.bias[j]));
                for (i, sum) in pulled.iter_mut().enumerate() {
                    sum.add(&phi.scaled(layer.weight.get(i, j)));
                }
            }
            for &(n, a) in row {
                for (sum, pulled) in below[n].iter_mut().zip(&pulled) {
                    sum.add(&pulled.scaled(a));
                }
            }
        }
        below
    }
}
