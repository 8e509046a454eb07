//! The sets that the first-order method projects onto: fractional attacks within the budget, and the multipliers of a node.

/// Fractional attacks: `0 ≤ x ≤ upper`, limited sums of groups, and a limited sum of all.
#[derive(Debug, Default)]
pub(crate) struct Polytope {
    pub(crate) upper: Vec<f64>,
    pub(crate) global: f64,
    /// Columns in the order of their groups.
    pub(crate) order: Vec<u32>,
    /// Where each group ends in the order, and its limit.
    pub(crate) groups: Vec<(usize, f64)>,
}

/// Halvings of an interval.
const HALVINGS: usize = 48;

impl Polytope {
    /// Says which group each column belongs to, and the limit of a group.
    pub(crate) fn group(&mut self, of: &[u32], limit: impl Fn(u32) -> f64) {
        self.order = (0..of.len() as u32).collect();
        self.order.sort_by_key(|&column| of[column as usize]);
        let groups = self.order.chunk_by(|&a, &b| of[a as usize] == of[b as usize]);
        let mut end = 0;
        self.groups = groups
            .map(|group| {
                end += group.len();
                (end, limit(of[group[0] as usize]))
            })
            .collect();
    }

    fn groups(&self) -> impl Iterator<Item = (&[u32], f64)> {
        let mut first = 0;
        self.groups.iter().map(move |&(end, limit)| {
            let columns = &self.order[first..end];
            first = end;
            (columns, limit)
        })
    }

    /// The nearest attack, distances weighted by `1/step`: `x = clip(z − step·(θ + η_group))`.
    pub(crate) fn project(&self, z: &mut [f64], step: &[f64]) {
        let sum = |z: &[f64], columns: &[u32], price: f64| -> f64 {
            let clipped = |&c: &u32| (z[c as usize] - step[c as usize] * price).clamp(0.0, self.upper[c as usize]);
            columns.iter().map(clipped).sum()
        };
        let total =
            |z: &[f64], price: f64| -> f64 { self.groups().map(|(columns, limit)| sum(z, columns, price).min(limit)).sum() };
        let highest = z.iter().zip(step).filter(|(_, s)| **s > 0.0).map(|(z, s)| z / s).fold(0.0, f64::max);
        let price = if total(z, 0.0) <= self.global { 0.0 } else { halve(0.0, highest, |p| total(z, p) > self.global) };
        let mut prices = Vec::with_capacity(self.groups.len());
        for (columns, limit) in self.groups() {
            let own = if sum(z, columns, price) <= limit {
                price
            } else {
                halve(price, highest, |p| sum(z, columns, p) > limit)
            };
            prices.push(own);
        }
        let mut group = 0;
        for (place, &column) in self.order.iter().enumerate() {
            if place == self.groups[group].0 {
                group += 1;
            }
            let c = column as usize;
            z[c] = (z[c] - step[c] * prices[group]).clamp(0.0, self.upper[c]);
        }
    }

    /// The largest sum of worths within the budget.
    pub(crate) fn largest(&self, worths: &[f64]) -> f64 {
        let mut kept: Vec<(f64, f64)> = Vec::new();
        let mut of: Vec<(f64, f64)> = Vec::new();
        for (columns, limit) in self.groups() {
            of.clear();
            of.extend(columns.iter().map(|&c| (worths[c as usize], self.upper[c as usize])).filter(|v| v.0 > 0.0));
            take(&mut of, limit);
            kept.extend_from_slice(&of);
        }
        take(&mut kept, self.global);
        kept.iter().map(|(value, amount)| value * amount).sum()
    }
}

/// Keeps the most valuable amounts up to a limit.
fn take(values: &mut Vec<(f64, f64)>, limit: f64) {
    if values.iter().map(|v| v.1).sum::<f64>() <= limit {
        return;
    }
    values.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut left = limit;
    for value in values.iter_mut() {
        value.1 = value.1.min(left);
        left -= value.1;
    }
    values.retain(|v| v.1 > 0.0);
}

/// The end of the interval's part in which a falling condition holds, from above.
fn halve(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-13 * high {
            break;
        }
    }
    high
}

/// The nearest `y ≥ 0` with `Σ y ≤ 1`, distances weighted by `1/step`.
pub(crate) fn simplex(y: &mut [f64], step: &[f64]) {
    for (y, s) in y.iter_mut().zip(step) {
        // A row that no column has costs nothing.
        *y = if *s > 0.0 { y.max(0.0) } else { 1.0 };
    }
    loop {
        let excess: f64 = y.iter().sum::<f64>() - 1.0;
        if excess <= 1e-15 {
            return;
        }
        let weight: f64 = y.iter().zip(step).filter(|(y, _)| **y > 0.0).map(|(_, s)| s).sum();
        if weight <= 0.0 {
            // Only rows without columns are left: the first takes all.
            let mut left = 1.0;
            for y in y.iter_mut() {
                *y = y.min(left);
                left -= *y;
            }
            return;
        }
        let price = excess / weight;
        let mut clipped = false;
        for (y, s) in y.iter_mut().zip(step) {
            if *y > 0.0 {
                *y -= s * price;
                if *y <= 0.0 {
                    *y = 0.0;
                    clipped = true;
                }
            }
        }
        if !clipped {
            return;
        }
    }
}
