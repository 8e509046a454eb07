//! Representation 2: pre-activations and their exact, tightest bounds under what is left of the budget (math §3).
//!
//! Without decided flips they do not depend on the target: then each row is computed once for the whole graph.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use crate::budget::{Budget, Decided};
use crate::cap::Cap;
use crate::network::Network;
use crate::number::{Number, sum};
use crate::reach::{Column, Gains, Reach};

/// The units of one node.
pub struct Row<N> {
    /// `z'`: pre-activations after the flips that are made.
    pub value: Vec<N>,
    /// `R'`: the smallest pre-activations that the free flips allow.
    pub lower: Vec<N>,
    /// `S'`: the largest.
    pub upper: Vec<N>,
    /// `α` and `θ` of the anchored bound where `R' < 0 < S'`, else zeros: the same for all classes.
    pub anchors: Vec<(N, N)>,
}

impl<N: Number> Row<N> {
    /// `R'` and `S'`.
    pub(crate) fn bounds(&self) -> Vec<(N, N)> {
        self.lower.iter().cloned().zip(self.upper.iter().cloned()).collect()
    }
}

/// Representation 2 of the whole graph, in one kind of numbers. Shared by all threads.
pub struct Layer2<'a, N> {
    network: &'a Network<'a>,
    budget: &'a Budget<'a>,
    sent: Vec<OnceLock<Vec<N>>>,
    values: Vec<OnceLock<Arc<Vec<N>>>>,
    rows: Vec<OnceLock<Arc<Row<N>>>>,
    caps: Vec<OnceLock<Arc<Vec<Cap<N>>>>>,
    gains: Vec<OnceLock<Gains>>,
}

/// Gains are remembered while all of them together are no more than so many numbers.
const REMEMBERED: usize = 1 << 26;

impl<'a, N: Number> Layer2<'a, N> {
    /// Nothing is computed before it is asked for.
    pub fn new(network: &'a Network<'a>, budget: &'a Budget<'a>) -> Layer2<'a, N> {
        let nodes = network.graph.attributes.rows;
        let longest = (0..nodes).map(|n| budget.local(n as u32)).max().unwrap_or(0).min(budget.global);
        let all = nodes.saturating_mul(2 * network.width(2)).saturating_mul(longest);
        let remembered = if all <= REMEMBERED { nodes } else { 0 };
        Layer2 {
            network,
            budget,
            sent: (0..nodes).map(|_| OnceLock::new()).collect(),
            values: (0..nodes).map(|_| OnceLock::new()).collect(),
            rows: (0..nodes).map(|_| OnceLock::new()).collect(),
            caps: (0..nodes).map(|_| OnceLock::new()).collect(),
            gains: (0..remembered).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Everything about node `m`. The decided flips must not exceed the budget.
    pub fn row(&self, m: u32, decided: &Decided) -> Arc<Row<N>> {
        if self.is_untouched(m, decided) {
            self.rows[m as usize].get_or_init(|| Arc::new(self.compute(m, &Decided::default()))).clone()
        } else {
            Arc::new(self.compute(m, decided))
        }
    }

    fn is_untouched(&self, m: u32, decided: &Decided) -> bool {
        let (neighbours, _) = self.network.layers[0].passing.row(m as usize);
        decided.flipped.is_empty() && neighbours.iter().all(|&n| decided.fixed_in(n).next().is_none())
    }

    /// The caps of node `m`, whose row is given.
    pub(crate) fn caps(&self, m: u32, decided: &Decided, row: &Row<N>) -> Arc<Vec<Cap<N>>> {
        if self.is_untouched(m, decided) {
            self.caps[m as usize].get_or_init(|| Arc::new(self.compute_caps(m, &Decided::default(), row))).clone()
        } else {
            Arc::new(self.compute_caps(m, decided, row))
        }
    }

    fn compute_caps(&self, m: u32, decided: &Decided, row: &Row<N>) -> Vec<Cap<N>> {
        let reach = self.reach(m, decided);
        let units = row.value.iter().zip(row.lower.iter().zip(&row.upper)).enumerate();
        let caps = units.map(|(unit, (z, (lower, upper)))| {
            let unstable = lower.sign() == Some(Ordering::Less) && upper.sign() == Some(Ordering::Greater);
            if unstable { Cap::new(&reach, unit, z) } else { Cap::none() }
        });
        caps.collect()
    }

    /// How the free flips reach node `m`.
    fn reach(&self, m: u32, decided: &Decided) -> Reach<'_> {
        let (neighbours, entries) = self.network.layers[0].passing.row(m as usize);
        let columns = neighbours.iter().zip(entries).map(|(&n, &entry)| Column {
            gains: self.gains(n, decided),
            left: decided.left(self.budget, n).unwrap_or(0),
            entry,
        });
        Reach { columns: columns.collect(), total: decided.left_in_all(self.budget).unwrap_or(0) }
    }

    fn compute(&self, m: u32, decided: &Decided) -> Row<N> {
        let value = self.value(m, decided);
        let reach = self.reach(m, decided);
        let (mut lower, mut upper) = (Vec::with_capacity(value.len()), Vec::with_capacity(value.len()));
        let mut pool: Vec<N> = Vec::new();
        for (unit, z) in value.iter().enumerate() {
            let mut largest = |upward: bool| {
                reach.largest(unit, upward, &mut pool);
                sum(&pool)
            };
            lower.push(z.minus(&largest(false)));
            upper.push(z.plus(&largest(true)));
        }
        let anchors = (0..value.len()).map(|unit| anchor(&value[unit], &lower[unit], &upper[unit])).collect();
        Row { value: value.to_vec(), lower, upper, anchors }
    }

    /// The gains of the free flips of node `n`: at least as many as its budget allows.
    fn gains(&self, n: u32, decided: &Decided) -> Cow<'_, Gains> {
        match self.gains.get(n as usize) {
            Some(known) if decided.fixed_in(n).next().is_none() => {
                Cow::Borrowed(known.get_or_init(|| self.all_gains(n, &Decided::default())))
            }
            _ => Cow::Owned(self.all_gains(n, decided)),
        }
    }

    fn all_gains(&self, n: u32, decided: &Decided) -> Gains {
        let mut gains = Gains::default();
        for unit in 0..self.network.width(2) {
            for upward in [false, true] {
                self.unit_gains(n, unit, upward, decided, &mut gains.values);
                gains.ends.push(gains.values.len() as u32);
            }
        }
        gains
    }

    /// Appends the largest amounts by which free flips of node `n` raise (or lower) what it sends to a unit: at most as
    /// many as its budget allows. They are weights, so floats compare them exactly.
    fn unit_gains(&self, n: u32, unit: usize, upward: bool, decided: &Decided, gains: &mut Vec<f64>) {
        let (falling, column) = &self.network.columns[unit];
        let present = self.network.graph.attributes.row(n as usize);
        let count = decided.left(self.budget, n).unwrap_or(0);
        let fixed: Vec<u32> = decided.fixed_in(n).collect();
        let free = |d: u32, is_present: bool| self.budget.permits((n, d), is_present) && !fixed.contains(&d);
        let change = |d: u32| if upward { column[d as usize] } else { -column[d as usize] };
        let order = (0..falling.len()).map(|at| falling[if upward { at } else { falling.len() - 1 - at }]);
        let added = order
            .map(|d| (d, change(d)))
            .take_while(|&(_, gain)| gain > 0.0)
            .filter(|&(d, _)| present.binary_search(&d).is_err() && free(d, false))
            .take(count);
        let removed = present.iter().map(|&d| (d, -change(d))).filter(|&(d, gain)| gain > 0.0 && free(d, true));
        let start = gains.len();
        gains.extend(added.map(|(_, gain)| gain));
        let end = gains.len();
        // Where additions use the budget up, removals that gain less change nothing: nearly all of them.
        let floor = if end - start == count { gains.last().copied().unwrap_or(f64::INFINITY) } else { 0.0 };
        gains.extend(removed.map(|(_, gain)| gain).filter(|&gain| gain > floor));
        if gains.len() > end {
            gains[start..].sort_unstable_by(|a, b| b.total_cmp(a));
            gains.truncate(start + count);
        }
    }

    /// `z'` of node `m`.
    pub fn value(&self, m: u32, decided: &Decided) -> Arc<Vec<N>> {
        let (neighbours, _) = self.network.layers[0].passing.row(m as usize);
        if neighbours.iter().all(|&n| decided.flipped_in(n).next().is_none()) {
            let known = &self.values[m as usize];
            return known.get_or_init(|| Arc::new(self.received(m, &Decided::default()))).clone();
        }
        Arc::new(self.received(m, decided))
    }

    fn received(&self, m: u32, decided: &Decided) -> Vec<N> {
        let layer = &self.network.layers[0];
        let mut value: Vec<N> = layer.bias.iter().map(|&b| N::from_f64(b)).collect();
        let (neighbours, entries) = layer.passing.row(m as usize);
        for (&n, &a) in neighbours.iter().zip(entries) {
            for (z, sent) in value.iter_mut().zip(self.sent(n, decided).iter()) {
                z.add(&sent.scaled(a));
            }
        }
        value
    }

    /// `(X' W(1))_n`.
    fn sent(&self, n: u32, decided: &Decided) -> Cow<'_, [N]> {
        let mut flipped = decided.flipped_in(n).peekable();
        if flipped.peek().is_none() {
            return Cow::Borrowed(
                self.sent[n as usize].get_or_init(|| self.summed(self.network.graph.attributes.row(n as usize))),
            );
        }
        let mut present = self.network.graph.attributes.row(n as usize).to_vec();
        for d in flipped {
            match present.binary_search(&d) {
                Ok(at) => drop(present.remove(at)),
                Err(at) => present.insert(at, d),
            }
        }
        Cow::Owned(self.summed(&present))
    }

    /// The sum of some rows of `W(1)`.
    fn summed(&self, attributes: &[u32]) -> Vec<N> {
        let weight = self.network.layers[0].weight;
        let mut sums = vec![N::zero(); weight.columns];
        for &d in attributes {
            for (sum, &w) in sums.iter_mut().zip(weight.row(d as usize)) {
                sum.add(&N::from_f64(w));
            }
        }
        sums
    }
}

/// `α = ⌈S' / (S' − min(z', 0))⌉` and `θ = ⌊[z']₊ / ([z']₊ − R')⌋` on the grid, where `R' < 0 < S'`.
fn anchor<N: Number>(z: &N, lower: &N, upper: &N) -> (N, N) {
    if lower.sign() != Some(Ordering::Less) || upper.sign() != Some(Ordering::Greater) {
        return (N::zero(), N::zero());
    }
    let positive = z.positive_part();
    (N::share_above(upper, &upper.minus(&z.least(&N::zero()))), N::share_below(&positive, &positive.minus(lower)))
}
