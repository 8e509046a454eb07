//! Who pays for a removal: the shares of an edge's cost that its views pay.

use std::collections::HashMap;

use super::line::EdgePrices;
use super::scene::{Neighbour, NeighbourLink, Scene};
use crate::number::Dyadic;
use crate::verdict::Reason;

/// Shares are multiples of `2^GRID`.
const GRID: i64 = -30;

/// Weights are below this.
const HEAVIEST: u32 = 1 << 20;

/// The weights of the views of pairs, and `ω` of every free edge.
pub struct Shares {
    /// `(m, n)` to `(c, s)`; `(1, 1)` for what is missing.
    weights: HashMap<(usize, usize), (u32, u32)>,
    /// By edge, as multiples of `2^GRID`.
    omega: Vec<u64>,
    /// The free edges at a node but that to the target, by rising `ω`.
    cheapest: Vec<Vec<(u64, usize)>>,
}

impl Shares {
    /// Bytes in memory for every pair, about.
    pub const BYTES: u64 = 64;

    /// From the hints of a leaf.
    ///
    /// # Errors
    /// If the views are out of order, out of range, or not of the scene.
    pub fn new(scene: &Scene, hints: &EdgePrices) -> Result<Shares, Reason> {
        let ground = scene.state.ground;
        if !hints.views.windows(2).all(|pair| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1)) {
            return Err(Reason::HintOrder("views"));
        }
        let mut stated = HashMap::new();
        for &(m, n, c, s) in &hints.views {
            if c >= HEAVIEST || s >= HEAVIEST {
                return Err(Reason::HintOrder("views"));
            }
            let (Some(m_at), Some(n_at)) = (ground.place(m), ground.place(n)) else { return Err(Reason::View((m, n))) };
            stated.insert((m_at, n_at), ((m, n), (c, s)));
        }
        let mut weights = HashMap::new();
        let mut is_neighbour = vec![false; ground.ids.len()];
        // Of `s(m, n)` over all `m`, by `n`.
        let mut elsewhere = vec![0u64; ground.ids.len()];
        let reads = scene.network.rule.reads_sender();
        for neighbour in &scene.neighbours {
            is_neighbour[neighbour.node] = true;
            for link in &neighbour.links {
                let pair = (neighbour.node, link.node);
                let weight = stated.remove(&pair).map_or((1, 1), |(_, weight)| weight);
                elsewhere[link.node] += u64::from(weight.1);
                weights.insert(pair, weight);
            }
        }
        if let Some(pair) = stated.into_values().map(|(pair, _)| pair).min() {
            return Err(Reason::View(pair));
        }
        let mut omega = vec![0; ground.edges.len()];
        let target = scene.target();
        let priced = (0..ground.edges.len()).filter(|&edge| scene.free[edge] && !ground.edges[edge].contains(&target));
        for edge in priced {
            let [a, b] = ground.edges[edge];
            let mut total = 0;
            for (m, n) in [(a, b), (b, a)] {
                let of_pair = weights.get(&(m, n)).filter(|_| is_neighbour[m]);
                let &(c, s) = of_pair.unwrap_or(&(0, 0));
                total += u64::from(c);
                // At `n`, from all but `m`.
                total += if reads { elsewhere[n] - u64::from(s) } else { 0 };
            }
            omega[edge] = (1u64 << -GRID).checked_div(total).unwrap_or(0);
        }
        let cheapest = ground.at.iter().map(|at| {
            let others = at.iter().filter(|&&(other, edge)| other != target && scene.free[edge]);
            let mut list: Vec<(u64, usize)> = others.map(|&(_, edge)| (omega[edge], edge)).collect();
            list.sort_unstable();
            list
        });
        let cheapest = cheapest.collect();
        Ok(Shares { weights, omega, cheapest })
    }

    fn weight(&self, neighbour: &Neighbour, link: &NeighbourLink) -> (u32, u32) {
        self.weights.get(&(neighbour.node, link.node)).copied().unwrap_or((1, 1))
    }

    /// What cutting a link costs.
    pub fn cut(&self, neighbour: &Neighbour, link: &NeighbourLink) -> Dyadic {
        let weight = u64::from(self.weight(neighbour, link).0);
        Dyadic::new((weight * self.omega[link.edge]).into(), GRID)
    }

    /// What 1, 2, … removals elsewhere at the sender of a link cost at least, up to `most`; none of them is that of the
    /// edge to the target.
    pub fn elsewhere(&self, neighbour: &Neighbour, link: &NeighbourLink, most: usize) -> Vec<Dyadic> {
        let weight = u128::from(self.weight(neighbour, link).1);
        let others = self.cheapest[link.node].iter().filter(|of| of.1 != link.edge);
        let mut sum = 0u128;
        let costs = others.take(most).map(|(omega, _)| {
            sum += u128::from(*omega);
            Dyadic::new((weight * sum).into(), GRID)
        });
        costs.collect()
    }
}
