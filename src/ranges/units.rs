//! Bounds of hidden units under all perturbations.

use crate::number::span::Span;
use crate::ranges::backward::Branch;
use crate::ranges::lines::Lines;
use crate::ranges::scene::Scene;

impl Scene<'_> {
    /// Bounds of the pre-activations of the target itself.
    pub(crate) fn ends(&self) -> Vec<Span> {
        let (width, branch) = (self.width(self.slice.top()), Branch::default());
        let lines = Lines::new(self);
        let least = |unit: usize, sign: f64| {
            let mut top = vec![Span::ZERO; width];
            top[unit] = Span::of(sign);
            self.bound(&lines, &branch, &top).lower
        };
        (0..width).map(|unit| Span { lo: least(unit, 1.0), hi: -least(unit, -1.0) }).collect()
    }
}
