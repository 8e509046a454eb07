//! Numbers of a node that open changes move: through weights and activations (`FORMAT-EDGES.md` §8.4, 1 and 3).

use std::collections::BTreeMap;

use super::network::ChangeLayer;
use crate::number::{Interval, activate, together};
use crate::verdict::Reason;
use crate::work::Meter;

/// Numbers of a node that open changes move. `base` is on the path, `all` what all changes can do together, `others`
/// all but one.
pub struct Moved {
    pub base: Vec<Interval>,
    pub all: Vec<Interval>,
    pub others: Vec<Interval>,
    /// By open change that does something: what it does to each number.
    pub by: BTreeMap<usize, Vec<Interval>>,
    /// Of units: how they pass changes of their pre-activations on.
    pub bends: Vec<UnitBend>,
}

/// What is known of a unit's bend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UnitBend {
    /// There is none, or no set of changes reaches it.
    Straight,
    /// The unit is active on the path.
    Active,
    Unknown,
}

impl Moved {
    pub fn fixed(base: Vec<Interval>) -> Moved {
        let zeros = vec![Interval::ZERO; base.len()];
        Moved { base, all: zeros.clone(), others: zeros, by: BTreeMap::new(), bends: Vec::new() }
    }

    /// What is only known to lie between these numbers, whatever is changed.
    pub fn within(all: Vec<Interval>) -> Moved {
        let mut moved = Moved::fixed(vec![Interval::ZERO; all.len()]);
        moved.others = vec![Interval::ANY; all.len()];
        Moved { all, ..moved }
    }

    /// A number after any set.
    pub fn after_any(&self, at: usize) -> Interval {
        self.base[at].plus(self.all[at])
    }

    /// A number after a set that holds a change.
    pub fn after(&self, place: usize, at: usize) -> Interval {
        let own = self.by.get(&place).map_or(Interval::ZERO, |by| by[at]);
        self.base[at].plus(own.plus(self.others[at]).meet(self.all[at]))
    }

    fn column(&self, at: usize) -> Vec<Interval> {
        self.by.values().map(|by| by[at]).collect()
    }
}

/// What weights turn numbers into: by term, input and output.
pub struct Image {
    pub terms: usize,
    pub outputs: usize,
    pub weights: Vec<Interval>,
}

impl Image {
    pub fn of_layer(layer: &ChangeLayer) -> Image {
        let (terms, outputs) = (layer.rules.len(), layer.outputs);
        let weight = |at: usize| {
            let (row, output) = (at / outputs, at % outputs);
            layer.weight(row / layer.inputs, row % layer.inputs, output).into()
        };
        Image { terms, outputs, weights: (0..terms * layer.inputs * outputs).map(weight).collect() }
    }

    /// Of the difference of two classes.
    pub fn of_pair(layer: &ChangeLayer, reference: u32, class: u32) -> Image {
        let weight = |row: usize| {
            let of = |class: u32| layer.weight(row / layer.inputs, row % layer.inputs, class as usize);
            Interval::around(&(&of(reference).exact() - &of(class).exact()))
        };
        let terms = layer.rules.len();
        Image { terms, outputs: 1, weights: (0..terms * layer.inputs).map(weight).collect() }
    }

    pub fn width(&self) -> usize {
        self.terms * self.outputs
    }

    pub fn apply(&self, numbers: &[Interval]) -> Vec<Interval> {
        let mut sums = vec![Interval::ZERO; self.width()];
        let is_zero = |x: &Interval| x.lower.is_zero() && x.upper.is_zero();
        for (input, x) in numbers.iter().enumerate().filter(|(_, x)| !is_zero(x)) {
            for term in 0..self.terms {
                for output in 0..self.outputs {
                    let slot = &mut sums[term * self.outputs + output];
                    *slot = slot.plus(x.times(self.weights[(term * numbers.len() + input) * self.outputs + output]));
                }
            }
        }
        sums
    }

    /// What a node sends whose units are these.
    pub fn sent(&self, units: &Moved, budget: usize) -> Moved {
        let mut sent = Moved::fixed(self.apply(&units.base));
        sent.all = self.apply(&units.all);
        sent.by = units.by.iter().map(|(&place, by)| (place, self.apply(by))).collect();
        for at in 0..self.width() {
            let [all, others] = together(&sent.column(at), budget);
            sent.all[at] = sent.all[at].meet(all);
            sent.others[at] = others;
        }
        sent
    }
}

/// Units behind their activations.
pub fn behind(layer: &ChangeLayer, node: u32, mut z: Moved, budget: usize, meter: &Meter) -> Result<Moved, Reason> {
    meter.spend(64 * (1 + z.by.len() * z.base.len()) as u64)?;
    for output in 0..layer.outputs {
        let base = z.base[output].plus(layer.bias(node, output).into());
        let column = z.column(output);
        let [reach, _] = together(&column, budget);
        let lowest = base.plus(reach).lower;
        if layer.is_linear(output) {
            (z.base[output], z.all[output]) = (base, reach);
            z.bends.push(UnitBend::Straight);
            continue;
        }
        z.bends.push(if lowest.is_positive() {
            UnitBend::Straight
        } else if base.lower.is_positive() {
            UnitBend::Active
        } else {
            UnitBend::Unknown
        });
        let (moved, all) = activate(base, &column, budget);
        (z.base[output], z.all[output]) = (base.positive_part(), all);
        z.by.values_mut().zip(moved).for_each(|(by, moved)| by[output] = moved);
    }
    Ok(z)
}
