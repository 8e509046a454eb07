//! What open changes do to the units of a node and to what it sends: through weights and activations (docs/math.md
//! (24.3), (24.5)).

use crate::edges::changes::span::{Span, down, up};

/// What a node sends in a layer.
pub(crate) struct SentMessages {
    /// The changes that do something, ascending, and what each does: by change, term and output.
    pub(crate) flips: Vec<u32>,
    pub(crate) change: Vec<Span>,
    /// As it is on the path.
    pub(crate) base: Vec<Span>,
    /// How far all changes together move it.
    pub(crate) all: Vec<Span>,
    /// How far all changes but one do.
    pub(crate) others: Vec<Span>,
}

/// The units of a node.
pub(crate) struct Units {
    pub(crate) flips: Vec<u32>,
    /// By change and unit.
    pub(crate) change: Vec<Span>,
    pub(crate) base: Vec<Span>,
    pub(crate) all: Vec<Span>,
    /// What a unit is on the path before its activation, and whether changes leave it there.
    pub(crate) side: Vec<Side>,
}

/// On which side of its bend a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It is its pre-activation, whatever is changed.
    Passes,
    /// Its pre-activation is positive on the path.
    Active,
    /// Neither is known.
    Other,
}

/// The weights of a layer or of a margin: by term, input and output.
pub(crate) struct UnitWeights {
    pub(crate) terms: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) values: Vec<Span>,
}

impl UnitWeights {
    /// What units become: by term and output.
    pub(crate) fn image(&self, units: &[Span]) -> Vec<Span> {
        let UnitWeights { terms, inputs, outputs, values } = self;
        let mut sums = vec![Span::ZERO; terms * outputs];
        for (i, &x) in units.iter().enumerate().filter(|(_, x)| !x.is_zero()) {
            for k in 0..*terms {
                for j in 0..*outputs {
                    let sum = &mut sums[k * outputs + j];
                    *sum = sum.plus(x.times(values[(k * inputs + i) * outputs + j]));
                }
            }
        }
        sums
    }
}

/// Sums of the `count` largest positive numbers, rounded up.
fn largest(numbers: impl Iterator<Item = f64>, count: usize) -> [f64; 2] {
    let mut top: Vec<f64> = Vec::new();
    for x in numbers.filter(|&x| x > 0.0) {
        if top.len() == count && top.last().is_none_or(|&least| x <= least) {
            continue;
        }
        let place = top.partition_point(|&y| y >= x);
        top.insert(place, x);
        top.truncate(count);
    }
    let sum = |top: &[f64]| top.iter().fold(0.0, |sum, &x| if sum == 0.0 { x } else { up(sum + x) });
    [sum(&top), sum(&top[..top.len().min(count.saturating_sub(1))])]
}

impl SentMessages {
    /// What is only known to lie between these numbers, whatever is changed.
    pub(crate) fn within(all: Vec<Span>) -> SentMessages {
        let (base, anything) = (vec![Span::ZERO; all.len()], Span { lo: f64::NEG_INFINITY, hi: f64::INFINITY });
        SentMessages { flips: Vec::new(), change: Vec::new(), base, others: vec![anything; all.len()], all }
    }

    /// Whatever is changed.
    pub(crate) fn any(&self, at: usize) -> Span {
        self.base[at].plus(self.all[at])
    }

    /// Numbers from a place on, whatever is changed together with one change.
    pub(crate) fn after(&self, flip: u32, first: usize, count: usize) -> impl Iterator<Item = Span> + '_ {
        let own = self.flips.binary_search(&flip).ok().map(|place| &self.change[place * self.base.len()..]);
        (first..first + count).map(move |at| {
            let with = own.map_or(Span::ZERO, |own| own[at]).plus(self.others[at]);
            let all = self.all[at];
            self.base[at].plus(Span { lo: with.lo.max(all.lo), hi: with.hi.min(all.hi) })
        })
    }
}

/// What a node sends whose units are known.
pub(crate) fn sent(units: &Units, weights: &UnitWeights, budget: usize) -> SentMessages {
    let width = weights.terms * weights.outputs;
    let image = |of: &[Span]| weights.image(of);
    let change: Vec<Span> = units.change.chunks_exact(weights.inputs).flat_map(image).collect();
    let base = image(&units.base);
    let (mut all, mut others) = (image(&units.all), vec![Span::ZERO; width]);
    for at in 0..width {
        let column = || change.iter().skip(at).step_by(width);
        let [rise, other_rise] = largest(column().map(|x| x.hi), budget);
        let [fall, other_fall] = largest(column().map(|x| -x.lo), budget);
        all[at] = Span { lo: all[at].lo.max(-fall), hi: all[at].hi.min(rise) };
        others[at] = Span { lo: -other_fall, hi: other_rise };
    }
    SentMessages { flips: units.flips.clone(), change, base, all, others }
}

/// Units behind their activations (docs/math.md (24.5)).
pub(crate) fn activated(
    flips: Vec<u32>,
    mut change: Vec<Span>,
    mut base: Vec<Span>,
    budget: usize,
    linear: impl Fn(usize) -> bool,
) -> Units {
    let width = base.len();
    let (mut all, mut side) = (vec![Span::ZERO; width], vec![Side::Other; width]);
    for unit in 0..width {
        let column = || change.iter().skip(unit).step_by(width);
        let [rise, _] = largest(column().map(|x| x.hi), budget);
        let [drop, _] = largest(column().map(|x| -x.hi), budget);
        let [_, lift] = largest(column().map(|x| x.lo), budget);
        let [fall, other_fall] = largest(column().map(|x| -x.lo), budget);
        let z = base[unit];
        if linear(unit) {
            (all[unit], side[unit]) = (Span { lo: -fall, hi: rise }, Side::Passes);
            continue;
        }
        side[unit] = match z.lo > 0.0 {
            true if down(z.lo - fall) > 0.0 => Side::Passes,
            true => Side::Active,
            false => Side::Other,
        };
        let relu = |x: f64| x.max(0.0);
        let within =
            Span { lo: down(relu(down(z.lo - fall)) - relu(z.hi)), hi: up(relu(up(z.hi + rise)) - relu(z.lo)) };
        // Activations stretch nothing.
        all[unit] = Span { lo: within.lo.max(-fall), hi: within.hi.min(rise) };
        // What a line above the unit gains and loses.
        let gain = if z.hi > 0.0 {
            1.0
        } else if up(z.hi + rise) <= 0.0 {
            0.0
        } else {
            up(up(z.hi + rise) / rise).min(1.0)
        };
        let loss = if z.lo <= 0.0 {
            0.0
        } else if z.lo >= drop {
            1.0
        } else {
            down(z.lo / drop).max(0.0)
        };
        let floor = down(-z.hi - lift);
        for x in change.iter_mut().skip(unit).step_by(width) {
            let active = x.lo.max(floor);
            let inactive = relu(down(down(z.lo + x.lo) - other_fall));
            let lo = if z.lo > 0.0 {
                active
            } else if z.hi <= 0.0 {
                inactive
            } else {
                active.min(inactive)
            };
            let times = |slope: f64, x: f64| {
                if slope == 1.0 {
                    x
                } else if slope == 0.0 {
                    0.0
                } else {
                    up(slope * x)
                }
            };
            let hi = if x.hi > 0.0 { times(gain, x.hi) } else { times(loss, x.hi) };
            *x = Span { lo, hi: hi.max(lo) };
        }
        base[unit] = Span { lo: relu(z.lo), hi: relu(z.hi) };
    }
    Units { flips, change, base, all, side }
}
