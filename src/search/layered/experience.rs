//! What splits of units have gained so far in a search, compared with what they promised.
//!
//! The two gains of (7.2) say what a split would gain if the relaxed attacker stayed where he is. How much of that is
//! left after he has answered depends on the unit, and is much the same in all branches: the promises of a unit are
//! scaled by what its splits have gained before (*pseudo-costs*).

use std::collections::BTreeMap;

use crate::bound::backward::UnitPlace;

/// A layer's average counts as this many splits of a unit.
const PRIOR: f64 = 2.0;

/// Gains of the sides `z ≤ 0` and `z ≥ 0` of a split.
pub type Gains = [f64; 2];

/// A sum of shares, and their number.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    sum: f64,
    count: f64,
}

impl Average {
    fn add(&mut self, share: f64) {
        self.sum += share;
        self.count += 1.0;
    }
}

/// A branch that was split on a unit.
#[derive(Clone, Copy, Debug)]
struct Promise {
    place: UnitPlace,
    gains: Gains,
    /// The value of its master.
    value: f64,
    /// Sides that are still to be looked at.
    open: usize,
}

/// Which part of their promises splits have kept.
#[derive(Debug, Default)]
pub struct Experience {
    units: BTreeMap<(UnitPlace, bool), Average>,
    layers: BTreeMap<(usize, bool), Average>,
    /// By the number of the branch.
    promises: BTreeMap<usize, Promise>,
}

impl Experience {
    /// Remembers what a split promises.
    pub fn promise(&mut self, branch: usize, place: UnitPlace, gains: Gains, value: f64) {
        self.promises.insert(branch, Promise { place, gains, value, open: 2 });
    }

    /// Learns from the value of the master of one side of a split.
    pub fn learn(&mut self, (branch, side): (usize, bool), value: f64) {
        let Some(promise) = self.promises.get_mut(&branch) else { return };
        let Promise { place, gains, .. } = *promise;
        let share = (value - promise.value).max(0.0) / gains[usize::from(side)];
        promise.open -= 1;
        if promise.open == 0 {
            self.promises.remove(&branch);
        }
        // A side without perturbations has no value.
        if share.is_finite() {
            self.units.entry((place, side)).or_default().add(share);
            self.layers.entry((place.l, side)).or_default().add(share);
        }
    }

    /// How much a split is worth: the root of the sum of its gains times the smaller one, each scaled by experience.
    pub fn score(&self, place: UnitPlace, gains: Gains) -> f64 {
        let scaled = [false, true].map(|side| {
            let layer = self.layers.get(&(place.l, side)).copied().unwrap_or_default();
            let unit = self.units.get(&(place, side)).copied().unwrap_or_default();
            let usual = if layer.count > 0.0 { layer.sum / layer.count } else { 1.0 };
            gains[usize::from(side)] * (unit.sum + PRIOR * usual) / (unit.count + PRIOR)
        });
        ((scaled[0] + scaled[1]) * scaled[0].min(scaled[1])).sqrt()
    }
}
