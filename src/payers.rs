//! Payers: levels of the capped bound that depend on the node of a flip.
//!
//! One level for all asks every flip for the same share of `|z⁰|`, as if all `Q` of them came to this unit. They do not: most
//! of a hub's hidden nodes are reached by the flips of the target and by few others, and what flips elsewhere would have
//! paid is lost. The proof of [`crate::capped`] holds for levels `T_n` by node as it stands, as long as
//! `Σ min([±g_i]₊, T_n(i)) δ_i ≤ |z⁰|` for every admissible `δ`. So let some nodes pay first: for payers `p₁, p₂, …`
//!
//! ```text
//! ρ₁ = |z⁰|,    T_p = level(ρ; the changes of p),    ρ ← max(ρ − M_p, 0)
//! ```
//!
//! with `M_p` the largest sum of changes towards zero that the flips of `p` can reach, and one level for all other nodes,
//! which pay what is left of `ρ`. *Proof.* The flips of a payer pay at most `ρ` (the choice of its level, [`Cap::new`](crate::capped::Cap::new)) and at most
//! `M_p`, so at most what `ρ` is lowered by; those of the others at most what is left. Together, at most `|z⁰|`. ∎
//!
//! Any list of payers is valid. Good ones are the nodes whose budget the relaxed attacker uses up: the search chooses them
//! at the root of its tree (`search/ground.rs`).

use crate::slice::Slice;

/// The level of each entry of `A(1)` and unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    width: usize,
    /// By entry, column by column; empty if every unit has one level for all of its entries.
    values: Vec<f64>,
}

impl Levels {
    /// Room for the levels of a slice.
    pub(crate) fn zero(width: usize, slice: &Slice) -> Levels {
        Levels { width, values: vec![0.0; width * slice.entry_count()] }
    }

    pub(crate) fn put(&mut self, entry: usize, unit: usize, level: f64) {
        self.values[entry * self.width + unit] = level;
    }

    /// The level for changes that come through an entry; `same` is the unit's own.
    #[inline]
    pub fn level(&self, entry: usize, unit: usize, same: f64) -> f64 {
        self.values.get(entry * self.width + unit).copied().unwrap_or(same)
    }
}

/// The entries of a row of `A(1)`, those of payers first and in their order: entry, node and value; and how many of them are
/// payers'. `rank` says when a node of the slice pays.
pub(crate) fn in_order(slice: &Slice, m: usize, rank: &[usize]) -> (Vec<(usize, usize, f64)>, usize) {
    let mut row: Vec<(usize, usize, f64)> = slice.receiving(m).collect();
    row.sort_by_key(|&(_, n, _)| rank[n]);
    let paying = row.iter().take_while(|&&(_, n, _)| rank[n] < usize::MAX).count();
    (row, paying)
}

/// When each node of the slice pays; never if it is none of the payers.
pub(crate) fn ranks(slice: &Slice, payers: &[u32]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; slice.nodes(1).len()];
    for (at, &n) in payers.iter().enumerate() {
        rank[n as usize] = at;
    }
    rank
}
