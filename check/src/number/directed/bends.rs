//! What bends by levels take from a flip (`FORMAT.md` §4, rules 5 and 5′), with a bound of the error.

use super::{Stored, Up};

/// A bend by a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectedBend {
    /// `c`.
    pub(super) weight: f64,
    /// `T`.
    pub(super) level: f64,
    /// Is the pre-activation without the flips below 0?
    pub(super) below: bool,
}

impl DirectedBend {
    /// Of a weight and a level that are not negative.
    pub(crate) fn new(weight: Stored, level: Stored, below: bool) -> DirectedBend {
        DirectedBend { weight: weight.0.max(0.0), level: level.0.max(0.0), below }
    }
}

/// `Σ c·f(g)` over some bends, `f(g) = max(g − T, 0)` or `max(g, −T)`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BendSum {
    value: f64,
    /// Computed `Σ c·|g|`.
    size: f64,
    /// Computed `Σ c`.
    weights: f64,
    count: usize,
}

impl BendSum {
    /// Adds a bend with its change.
    #[inline]
    pub(super) fn add(&mut self, bend: &DirectedBend, g: f64) {
        let taken = if bend.below { (g - bend.level).max(0.0) } else { g.max(-bend.level) };
        self.value += bend.weight * taken;
        self.size += bend.weight * g.abs();
        self.weights += bend.weight;
        self.count += 1;
    }

    /// Adds the bends of a node's units whose weights are given, along an entry: changes `±entry·weight`.
    #[inline]
    pub(crate) fn add_node(
        &mut self,
        bends: &[(usize, DirectedBend)],
        weights: &[Stored],
        entry: Stored,
        present: bool,
    ) {
        let entry = if present { -entry.0 } else { entry.0 };
        bends.iter().for_each(|(unit, bend)| self.add(bend, entry * weights[*unit].0));
    }

    /// Not below the sum of what [`add_node`](Self::add_node) took.
    pub(crate) fn upper(&self) -> Up {
        self.upper_within(0.0)
    }

    /// Not below the sum, if each change was off by at most `error`, by one rounding and by `2⁻¹⁰⁷⁵`.
    ///
    /// `f` moves by at most as much as `g`, and `|f(g)| ≤ |g|`, because `T ≥ 0`. So with `n` bends and `u = 2⁻⁵³` the
    /// computed value is off by at most `Σ c·(error + 2u|g|)` for changes and differences, `u Σ c|g|` for products and
    /// `γ_n Σ c|g|` for sums, besides `(n + Σ c)·2⁻¹⁰⁷³` by underflow. The size and the sum of weights were rounded,
    /// too: `(n + 8)·2u` is twice what is needed, as long as `n < 2²⁰`.
    pub(super) fn upper_within(&self, error: f64) -> Up {
        if self.count == 0 {
            return Up::ZERO;
        }
        if self.count >= 1 << 20 {
            return Up(f64::INFINITY);
        }
        let count = self.count as f64 + 8.0;
        let open = self.weights * (1.0 + 1e-9) * error + count * f64::EPSILON * self.size;
        let upper = self.value + (open * (1.0 + 1e-9) + count * (1.0 + self.weights) * f64::MIN_POSITIVE);
        Up(if upper.is_nan() { f64::INFINITY } else { upper.next_up() })
    }
}
