//! The sets that the first-order method projects onto: fractional attacks within the budget, and the multipliers of a
//! node.

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

/// Steps to a root at most.
const STEPS: usize = 60;

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

    /// The nearest attack, distances weighted by `1/step`: `x = clip(z − step·(θ + η_group))`. `price` is a guess of
    /// `θ`, and is put right.
    pub(crate) fn project(&self, z: &mut [f64], step: &[f64], price: &mut f64) {
        // What columns sum to at a price, and how fast that falls.
        let sum = |z: &[f64], columns: &[u32], price: f64| -> (f64, f64) {
            columns.iter().fold((0.0, 0.0), |(sum, slope), &c| {
                let c = c as usize;
                let x = z[c] - step[c] * price;
                match x {
                    x if x <= 0.0 => (sum, slope),
                    x if x >= self.upper[c] => (sum + self.upper[c], slope),
                    x => (sum + x, slope + step[c]),
                }
            })
        };
        let total = |z: &[f64], price: f64| -> (f64, f64) {
            self.groups().fold((0.0, 0.0), |(all, fall), (columns, limit)| {
                let (sum, slope) = sum(z, columns, price);
                if sum >= limit { (all + limit, fall) } else { (all + sum, fall + slope) }
            })
        };
        // At this price every column is clipped to zero, so that the root lies below it.
        let highest = z.iter().zip(step).filter(|(_, s)| **s > 0.0).map(|(z, s)| z / s).fold(0.0, f64::max);
        *price = if total(z, 0.0).0 <= self.global {
            0.0
        } else {
            root(highest, *price, self.global, |price| total(z, price))
        };
        // A group beyond its limit at the common price pays more: its own price lies above the common one.
        let mut prices = Vec::with_capacity(self.groups.len());
        for (columns, limit) in self.groups() {
            let own = if sum(z, columns, *price).0 <= limit {
                *price
            } else {
                root(highest, *price, limit, |price| sum(z, columns, price))
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

/// Where a falling function, given with how fast it falls, comes down to `target`, between 0 and `high`.
fn root(mut high: f64, guess: f64, target: f64, of: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut low = 0.0;
    let mut at = if guess > 0.0 && guess < high { guess } else { 0.5 * high };
    for _ in 0..STEPS {
        let (value, slope) = of(at);
        if (value - target).abs() <= 1e-11 * target {
            return at;
        }
        if value > target {
            low = at;
        } else {
            high = at;
        }
        let next = at + (value - target) / slope;
        // Where the function is flat there is no next, and comparisons with NaN are false.
        at = if next > low && next < high { next } else { 0.5 * (low + high) };
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
