//! Bounds of hidden units under all perturbations.

use crate::number::span::Span;
use crate::ranges::backward::RangeBranch;
use crate::ranges::lines::UnitLines;
use crate::ranges::scene::RangeScene;

impl RangeScene<'_> {
    /// Bounds of the pre-activations of the target itself.
    pub(crate) fn ends(&self) -> Vec<Span> {
        let (width, branch) = (self.width(self.slice.top()), RangeBranch::default());
        let lines = UnitLines::new(self);
        let least = |unit: usize, sign: f64| {
            let mut top = vec![Span::ZERO; width];
            top[unit] = Span::of(sign);
            self.bound(&lines, &branch, &top).lower
        };
        (0..width).map(|unit| Span { lo: least(unit, 1.0), hi: -least(unit, -1.0) }).collect()
    }
}
