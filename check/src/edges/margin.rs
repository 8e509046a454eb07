//! The true network after some removals: margins of a class pair at the target.

use super::network::{EdgeNetwork, Pair};
use super::number::Scalar;
use super::scene::{NodeState, Scene};
use super::state::State;
use crate::number::Stored;

/// The pre-activations of the target and of its neighbours on a path, and what the second layer takes of each.
pub struct Margins<'a, N> {
    scene: &'a Scene<'a, 'a>,
    pair: &'a Pair<N>,
    /// By node: `act(z) · w_k` of every term. Empty for nodes that are not asked for.
    taken: Vec<Vec<N>>,
}

impl<'a, N: Scalar> Margins<'a, N> {
    /// On a path, without further removals.
    pub fn new(scene: &'a Scene<'a, 'a>, pair: &'a Pair<N>) -> Margins<'a, N> {
        let mut margins = Margins { scene, pair, taken: vec![Vec::new(); scene.state.ground.ids.len()] };
        let around = scene.neighbours.iter().map(|neighbour| neighbour.node).chain([scene.target()]);
        for node in around.collect::<Vec<_>>() {
            margins.taken[node] = margins.of(node, None);
        }
        margins
    }

    /// A node when one more edge is removed.
    fn left(&self, node: usize, extra: Option<usize>) -> NodeState {
        let ends = extra.map(|edge| self.scene.state.ground.edges[edge]);
        self.scene.with(node, usize::from(ends.is_some_and(|ends| ends.contains(&node))))
    }

    /// `act(z) · w_k` of a node, when one more edge is removed.
    fn of(&self, node: usize, extra: Option<usize>) -> Vec<N> {
        let (scene, network) = (self.scene, self.scene.network);
        let here = self.left(node, extra);
        let mut z = network.fixed::<N>(here.id).to_vec();
        let units = 0..z.len();
        scene.add(scene.own_entry(network.rule, here), here.id, units.clone(), &mut z);
        for &(other, edge) in &scene.state.ground.at[node] {
            if !scene.state.removed[edge] && extra != Some(edge) {
                let there = self.left(other, extra);
                scene.add(scene.entry(network.rule, here, there), there.id, units.clone(), &mut z);
            }
        }
        for (z, _) in z.iter_mut().zip(&network.linear).filter(|(_, linear)| !**linear) {
            *z = z.positive_part();
        }
        let product = |weights: &Vec<N>| z.iter().zip(weights).fold(N::zero(), |sum, (h, w)| sum.plus(&h.times(w)));
        self.pair.weights.iter().map(product).collect()
    }

    /// The margin, when one more edge is removed.
    pub fn margin(&self, extra: Option<usize>) -> N {
        let (scene, network, ground) = (self.scene, self.scene.network, self.scene.state.ground);
        let ends = extra.map(|edge| ground.edges[edge]);
        // Whose pre-activations may be others than before?
        let changes = |node: usize| {
            ends.is_some_and(|ends| {
                let near = |&(other, _): &(usize, usize)| ends.contains(&other);
                ends.contains(&node) || (network.rule.reads_sender() && ground.at[node].iter().any(near))
            })
        };
        let mut sum = self.pair.bias.clone();
        let mut add = |node: usize, entries: Vec<Stored>| {
            let fresh;
            let taken = if changes(node) {
                fresh = self.of(node, extra);
                &fresh
            } else {
                &self.taken[node]
            };
            for (entry, taken) in entries.iter().zip(taken) {
                sum = sum.plus(&taken.scaled(*entry));
            }
        };
        let target = self.left(scene.target(), extra);
        add(scene.target(), network.terms.iter().map(|term| scene.own_entry(term.rule, target)).collect());
        for &(m, edge) in &ground.at[scene.target()] {
            if !scene.state.removed[edge] && extra != Some(edge) {
                let there = self.left(m, extra);
                add(m, network.terms.iter().map(|term| scene.entry(term.rule, target, there)).collect());
            }
        }
        sum
    }
}

/// The margin of a pair on a path, without further removals.
pub fn margin<N: Scalar>(network: &EdgeNetwork, state: &State, pair: &Pair<N>) -> N {
    Margins::new(&Scene::new(network, state), pair).margin(None)
}
