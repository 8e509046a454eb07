//! What a row of a representation depends on, with the values of its attributes.

use crate::number::span::Span;
use crate::problem::ranges::Ranges;
use crate::problem::slice::Slice;
use crate::ranges::problem::RangeProblem;

/// A target: the logits of a node or of a graph, or a node of a hidden representation.
pub(crate) struct RangeScene<'a> {
    pub(crate) problem: &'a RangeProblem,
    pub(crate) slice: Slice,
    /// The values of the rows that are not 0, by place.
    pub(crate) rows: Vec<Vec<(u32, f64)>>,
}

impl<'a> RangeScene<'a> {
    pub(crate) fn new(problem: &'a RangeProblem, top: usize, node: usize) -> RangeScene<'a> {
        let mut slice = Slice::default();
        slice.cut(problem.network(), top, node);
        let rows = slice.nodes(1).iter().map(|&node| problem.graph().row_values(node as usize)).collect();
        RangeScene { problem, slice, rows }
    }

    /// The value of an entry.
    pub(crate) fn value(&self, place: usize, attribute: u32) -> f64 {
        let row = &self.rows[place];
        row.binary_search_by_key(&attribute, |entry| entry.0).map_or(0.0, |at| row[at].1)
    }

    /// Is no change permitted here?
    pub(crate) fn is_fixed(&self) -> bool {
        let budget = self.problem.budget();
        budget.global() == 0
            || matches!(self.problem.ranges(), Ranges::Ball(0.0))
            || self.slice.nodes(1).iter().all(|&node| budget.local(node as usize) == 0)
    }

    /// Units of representation `l`.
    pub(crate) fn width(&self, l: usize) -> usize {
        self.problem.layer(l - 1).outputs()
    }

    /// Bounds of the units of a hidden representation under all perturbations, by place and unit.
    pub(crate) fn units(&self, l: usize) -> Vec<Span> {
        let of_node = |&node: &u32| {
            let kept = self.problem.kept_units(l, node as usize);
            kept.get_or_init(|| RangeScene::new(self.problem, l, node as usize).ends())
        };
        self.slice.nodes(l).iter().flat_map(of_node).copied().collect()
    }
}
