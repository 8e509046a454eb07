//! What judging a leaf costs, before it is done: operations on numbers, as an upper bound that takes one look at every
//! link.

use super::number::Scalar;
use super::scene::{Neighbour, NeighbourLink, Scene};
use super::share::Shares;

/// Steps of [`crate::work`] for every edge of a target's surroundings where a path is followed by one element of a
/// tree.
pub const EDGE: u64 = 16;

fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product, &factor| product.saturating_mul(factor as u64))
}

fn sum(terms: impl IntoIterator<Item = u64>) -> u64 {
    terms.into_iter().fold(0, u64::saturating_add)
}

/// Comparisons of a sort, for each of so many numbers.
fn sorted(count: usize) -> usize {
    (usize::BITS - count.leading_zeros()) as usize
}

/// The sizes that the cost of a leaf with prices is made of.
pub struct LeafCost {
    width: usize,
    terms: usize,
    /// `R_t`.
    most: usize,
    /// `B₀`.
    budget: usize,
    /// Neighbours of the target, and removals elsewhere at all of them together.
    degree: usize,
    elsewhere: usize,
    /// By neighbour: links, removals elsewhere at all of their ends together, and removals at it.
    around: Vec<[usize; 3]>,
}

impl LeafCost {
    /// Of a leaf.
    pub fn new(scene: &Scene) -> LeafCost {
        let reads = scene.network.rule.reads_sender();
        let gains =
            |link: &NeighbourLink| if reads { scene.cap(link.node).min(link.others).min(scene.budget) } else { 0 };
        let of = |neighbour: &Neighbour| {
            let elsewhere = neighbour.links.iter().map(gains).fold(0, usize::saturating_add);
            [neighbour.links.len(), elsewhere, scene.most_at(neighbour)]
        };
        let around: Vec<[usize; 3]> = scene.neighbours.iter().map(of).collect();
        LeafCost {
            width: scene.network.linear.len(),
            terms: scene.network.terms.len(),
            most: scene.most_at_target(),
            budget: scene.budget,
            degree: around.len(),
            elsewhere: if reads { around.iter().map(|of| of[2]).fold(0, usize::saturating_add) } else { 0 },
            around,
        }
    }

    /// How many cases there are with `r` removals at a neighbour.
    fn cases(&self, r: usize) -> usize {
        self.most.min(self.budget - r) + 1
    }

    /// `z⁰` and the reach of all units, with so many senders that can change so often, in some cases.
    fn position(&self, senders: usize, elsewhere: usize, cases: usize) -> u64 {
        let pushed = product(&[self.width, senders, 14 + 2 * sorted(senders)]);
        let found = product(&[self.width, cases, 24 + sorted(senders)]);
        sum([pushed, found, product(&[elsewhere, 4]), product(&[senders, 4])])
    }

    /// The target's own lines in one case.
    pub fn center(&self) -> u64 {
        sum([self.position(self.degree, self.elsewhere, 1), product(&[self.width, 2 * self.terms + 16])])
    }

    /// A neighbour, but for its states.
    pub fn neighbour(&self, place: usize) -> u64 {
        let [links, elsewhere, _] = self.around[place];
        sum([product(&[self.most + 1, self.width, 8]), product(&[links.saturating_add(elsewhere), 4])])
    }

    /// The anchors of a neighbour with `r` removals.
    pub fn anchored(&self, place: usize, r: usize) -> u64 {
        let [links, elsewhere, _] = self.around[place];
        self.position(links, elsewhere, self.cases(r))
    }

    /// How many numbers all anchors are.
    pub fn anchors(&self) -> u64 {
        let cases = product(&[self.most + 1, self.width, 3]);
        let around = |of: &[usize; 3]| cases.saturating_add(of[1] as u64).saturating_mul(of[2] as u64 + 1);
        sum(self.around.iter().map(around).chain([cases]))
    }

    /// A neighbour with `r` removals.
    pub fn state(&self, place: usize, r: usize) -> u64 {
        let ([links, elsewhere, _], cases) = (self.around[place], self.cases(r));
        let lines = product(&[self.width, 2 * self.terms + 16]);
        let values = product(&[links, 8 * self.width + 10 + 2 * sorted(links)]);
        let each = sum([lines, values, product(&[elsewhere, 8]), 16]);
        self.anchored(place, r).saturating_add(each.saturating_mul(cases as u64))
    }

    /// The whole leaf, in operations on numbers.
    pub fn operations(&self) -> u64 {
        let states = |place: usize| {
            let states = self.around[place][2] + 1;
            // No state costs more than that without removals.
            sum([self.neighbour(place), self.state(place, 0).saturating_mul(states as u64)])
        };
        let last = product(&[self.most + 1, self.degree, 8 + 2 * sorted(self.degree)]);
        let centers = self.center().saturating_mul(self.most as u64 + 1);
        sum((0..self.degree).map(states).chain([centers, last, product(&[self.terms, self.width, 4])]))
    }

    /// Bytes that the leaf takes beside the scene, with numbers of this kind.
    pub fn bytes<N: Scalar>(&self) -> u64 {
        let number = N::BYTES;
        let neighbour = |of: &[usize; 3]| {
            let [links, elsewhere, _] = *of;
            let anchors = product(&[self.most + 1, self.width, 3 * number + 1]);
            sum([anchors, product(&[links, 64]), product(&[elsewhere, 3 * number])])
        };
        let largest = self.around.iter().map(neighbour).max().unwrap_or(0);
        let links = sum(self.around.iter().map(|of| of[0] as u64));
        let sums = product(&[self.most + 1, self.degree.saturating_add(2 * self.width + 4), number]);
        sum([largest, sums, links.saturating_mul(Shares::BYTES)])
    }
}

/// By node whose units the second layer takes: operations on numbers that finding them takes.
fn units(scene: &Scene) -> Vec<u64> {
    let ground = scene.state.ground;
    let (width, terms) = (scene.network.linear.len(), scene.network.terms.len());
    let mut units = vec![0u64; ground.ids.len()];
    for node in scene.neighbours.iter().map(|neighbour| neighbour.node).chain([scene.target()]) {
        units[node] = product(&[width, 2 * ground.at[node].len() + 2 * terms + 6]);
    }
    units
}

/// What adding up a margin takes where all units are known.
fn taken(scene: &Scene) -> u64 {
    let (ground, terms) = (scene.state.ground, scene.network.terms.len());
    let around = &ground.at[scene.target()];
    // Every neighbour looks whether its units have changed.
    let looks = sum(around.iter().map(|of| ground.at[of.0].len() as u64));
    sum([looks, product(&[around.len() + 1, 4 * terms + 4]), product(&[terms, scene.network.linear.len(), 4])])
}

/// Operations on numbers that a margin takes.
pub fn margin(scene: &Scene) -> u64 {
    sum(units(scene).into_iter().chain([taken(scene)]))
}

/// Operations on numbers that listing single removals takes.
pub fn singles(scene: &Scene) -> u64 {
    let (ground, units) = (scene.state.ground, units(scene));
    // All whose units change with the size of a node.
    let reads = scene.network.rule.reads_sender();
    let near = |at: &Vec<(usize, usize)>| if reads { sum(at.iter().map(|of| units[of.0])) } else { 0 };
    let near: Vec<u64> = ground.at.iter().zip(&units).map(|(at, own)| near(at).saturating_add(*own)).collect();
    let listed = scene.listed();
    let changed = listed.iter().flat_map(|&edge| ground.edges[edge]).map(|end| near[end]);
    sum(changed.chain(units.iter().copied()).chain([taken(scene).saturating_mul(listed.len() as u64 + 1)]))
}

#[cfg(test)]
mod tests;
