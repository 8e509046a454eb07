//! Column generation (docs/math.md §6): a master suggests multipliers against the flips that it knows, one pass over
//! all flips says what they are worth, and the flips of the attacker's answer become known. Where rows are normalised,
//! a column is a move of a whole row.

use crate::bound::selection::SearchSpace;
use crate::problem::rows::Move;
use crate::problem::slice::Slice;

/// A solver of restricted masters. Its answers are suggestions: a bound is what the pricing pass says of them.
pub trait Master {
    /// The multipliers that it suggests. They need not be optimal, or even right.
    type Suggestion;
    /// Adds the column of a move to the restricted master.
    fn add(&mut self, space: &SearchSpace, slice: &Slice, column: Move);
    /// Has this move a column?
    fn knows(&self, column: &Move) -> bool;
    /// The best multipliers against the flips known.
    fn solve(&mut self, space: &SearchSpace, slice: &Slice) -> Self::Suggestion;
}

/// The pricing step: it evaluates suggested multipliers over all flips.
pub(super) trait Pricing<M: Master> {
    /// The slice of the target.
    fn slice(&self) -> &Slice;
    /// Evaluates a suggestion. Returns the moves whose columns are to be added, of which the master knows none; none if
    /// column generation is over.
    fn price(&mut self, master: &mut M, suggestion: M::Suggestion) -> Vec<Move>;
}

/// The moves that a master does not know.
pub(super) fn unknown(master: &impl Master, moves: impl IntoIterator<Item = Move>) -> Vec<Move> {
    moves.into_iter().filter(|column| !master.knows(column)).collect()
}

/// Column generation: master and pricing in turn, starting with the columns of some flips, until pricing returns none
/// (docs/math.md (6.2)).
pub(super) fn generate<M: Master>(
    master: &mut M,
    space: &SearchSpace,
    start: Vec<Move>,
    pricing: &mut impl Pricing<M>,
) {
    let mut new = start;
    loop {
        for column in new {
            master.add(space, pricing.slice(), column);
        }
        let suggestion = master.solve(space, pricing.slice());
        new = pricing.price(master, suggestion);
        if new.is_empty() {
            return;
        }
    }
}
