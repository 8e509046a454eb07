//! A class pair: coefficients of hidden units in its margin, and the margin when some free edges of a scene are
//! removed.

use crate::edges::problem::EdgeProblem;
use crate::edges::scene::{NodeLeft, Scene};
use crate::number::rounding::{Enclosure, FLOOR};

/// The margin of class `reference` over class `other`: differences of the weights of the second layer.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) reference: usize,
    pub(crate) other: usize,
    /// By term and unit, with sizes.
    weight: Vec<f64>,
    size: Vec<f64>,
    /// Difference of the biases, with its size.
    pub(crate) bias: f64,
    pub(crate) bias_size: f64,
    width: usize,
}

/// Coefficients of the units of one node, and sizes: errors are at most `eps` times these.
#[derive(Debug, Default)]
pub(crate) struct Coefficients {
    pub(crate) value: Vec<f64>,
    pub(crate) size: Vec<f64>,
}

impl Pair {
    pub(crate) fn new(problem: &EdgeProblem, node: u32, reference: usize, other: usize) -> Pair {
        let layer = &problem.network().layers()[1];
        let rows = 0..layer.weight.rows();
        let ends = |i: usize| (layer.weight.get(i, reference), layer.weight.get(i, other));
        let bias = layer.bias.row(node as usize);
        Pair {
            reference,
            other,
            weight: rows.clone().map(|i| ends(i).0 - ends(i).1).collect(),
            // Equal weights cancel without error; others may lose bits to underflow when they are multiplied on.
            size: rows
                .map(|i| if ends(i).0 == ends(i).1 { 0.0 } else { ends(i).0.abs() + ends(i).1.abs() + FLOOR })
                .collect(),
            bias: bias[reference] - bias[other],
            bias_size: bias[reference].abs() + bias[other].abs(),
            width: layer.inputs(),
        }
    }

    /// The coefficients of a node that the target receives with these entries, term by term (docs/math.md (18.5)).
    fn coefficients(&self, entries: impl Iterator<Item = f64>, into: &mut Coefficients) {
        for list in [&mut into.value, &mut into.size] {
            list.clear();
            list.resize(self.width, 0.0);
        }
        for (k, a) in entries.enumerate().filter(|entry| entry.1 != 0.0) {
            let range = k * self.width..(k + 1) * self.width;
            let weights = self.weight[range.clone()].iter().zip(&self.size[range]);
            for ((value, size), (w, s)) in into.value.iter_mut().zip(&mut into.size).zip(weights) {
                *value += a * w;
                *size += a.abs() * s;
            }
        }
    }

    /// Of a neighbour of the target, so many edges being left at both.
    pub(crate) fn of_neighbour(&self, scene: &Scene, at_target: usize, node: NodeLeft, into: &mut Coefficients) {
        let rules = scene.problem.second().iter();
        self.coefficients(rules.map(|rule| scene.received(rule, at_target, node)), into);
    }

    /// Of the target itself.
    pub(crate) fn of_target(&self, scene: &Scene, at_target: usize, into: &mut Coefficients) {
        let looped = scene.ground.target.looped[0];
        self.coefficients(scene.problem.second().iter().map(|rule| rule.own_entry(at_target, looped)), into);
    }
}

/// Sums margins of one scene.
#[derive(Debug, Default)]
pub(crate) struct PairEvaluator {
    z: Vec<f64>,
    size: Vec<f64>,
    coefficients: Coefficients,
    /// What each neighbour of the target adds without removals, and its error.
    base: Vec<(f64, f64)>,
}

/// Changes at a node: edges removed there.
struct Changes<'a> {
    edges: &'a [u32],
    scene: &'a Scene<'a>,
}

impl Changes<'_> {
    fn at(&self, node: u32) -> usize {
        let ends = &self.scene.ground.target.edges;
        self.edges.iter().filter(|&&edge| ends[edge as usize].contains(&node)).count()
    }
}

impl PairEvaluator {
    /// Gets ready for a scene and a pair.
    pub(crate) fn aim(&mut self, scene: &Scene, pair: &Pair) {
        self.base.clear();
        for place in 0..scene.around.len() {
            let term = self.neighbour(scene, pair, place, &Changes { edges: &[], scene }, &[]);
            self.base.push(term);
        }
    }

    /// The margin when these free edges are removed (docs/math.md (18.4)); [`aim`](Self::aim) comes first.
    pub(crate) fn margin(&mut self, scene: &Scene, pair: &Pair, edges: &[u32]) -> Enclosure {
        let messages = scene.problem.messages();
        if !messages.safe {
            return Enclosure { value: 0.0, error: f64::INFINITY };
        }
        let target = scene.ground.target;
        let changes = Changes { edges, scene };
        let mut ends: Vec<u32> = edges.iter().flat_map(|&edge| target.edges[edge as usize]).collect();
        ends.sort_unstable();
        ends.dedup();
        let (mut value, mut size) = (pair.bias, pair.bias_size);
        let mut counted = |term: (f64, f64)| {
            value += term.0;
            size += term.1;
        };
        if !scene.centers.is_empty() {
            counted(self.center(scene, pair, &changes));
        }
        // Which neighbours of the target see something new, and by which of their links.
        let all = ends.first() == Some(&0);
        let mut touched: Vec<(u32, u32)> = Vec::new();
        for &end in ends.iter().filter(|&&end| (end as usize) < target.middle) {
            touched.extend(&scene.seen[end as usize]);
            if (end as usize) < target.near && scene.place[end as usize] != u32::MAX && end != 0 {
                touched.push((scene.place[end as usize], u32::MAX));
            }
        }
        touched.sort_unstable();
        let mut from = 0;
        for place in 0..scene.around.len() {
            let until = from + touched[from..].iter().take_while(|of| of.0 as usize == place).count();
            let links = &touched[from..until];
            from = until;
            if edges.contains(&scene.around[place].edge) {
                continue;
            }
            let term = if all || !links.is_empty() {
                self.neighbour(scene, pair, place, &changes, links)
            } else {
                self.base[place]
            };
            counted(term);
        }
        Enclosure { value, error: 8.0 * messages.eps * size + f64::MIN_POSITIVE }
    }

    /// What a neighbour adds that is kept, with the size of it.
    fn neighbour(
        &mut self,
        scene: &Scene,
        pair: &Pair,
        place: usize,
        changes: &Changes,
        links: &[(u32, u32)],
    ) -> (f64, f64) {
        let of = &scene.around[place];
        let removed = changes.at(of.node);
        let (left, at_target) = (scene.left(of.node) - removed, scene.left(0) - changes.at(0));
        let state = &of.states[removed];
        self.z.clone_from(&state.z);
        self.size.clone_from(&state.size);
        let a = scene.entry(NodeLeft(of.node, left), NodeLeft(0, at_target));
        scene.add(a, 0, &mut self.z, &mut self.size);
        for &(_, link) in links.iter().filter(|of| of.1 != u32::MAX) {
            let to = &of.links[link as usize];
            let change = if changes.edges.contains(&to.edge) {
                -state.entry[link as usize]
            } else {
                let there = scene.left(to.node) - changes.at(to.node);
                scene.entry(NodeLeft(of.node, left), NodeLeft(to.node, there)) - state.entry[link as usize]
            };
            scene.add(change, to.node, &mut self.z, &mut self.size);
        }
        pair.of_neighbour(scene, at_target, NodeLeft(of.node, left), &mut self.coefficients);
        self.sum(scene)
    }

    /// What the target itself adds.
    fn center(&mut self, scene: &Scene, pair: &Pair, changes: &Changes) -> (f64, f64) {
        let removed = changes.at(0);
        let center = &scene.centers[removed];
        let at_target = scene.left(0) - removed;
        self.z.clone_from(&center.z);
        self.size.clone_from(&center.size);
        for (place, of) in scene.around.iter().enumerate() {
            let here = if changes.edges.is_empty() { 0 } else { changes.at(of.node) };
            if here == 0 {
                continue;
            }
            let change = if changes.edges.contains(&of.edge) {
                -center.entry[place]
            } else {
                scene.entry(NodeLeft(0, at_target), NodeLeft(of.node, scene.left(of.node) - here)) - center.entry[place]
            };
            scene.add(change, of.node, &mut self.z, &mut self.size);
        }
        pair.of_target(scene, at_target, &mut self.coefficients);
        self.sum(scene)
    }

    /// The units of one node, weighted.
    fn sum(&self, scene: &Scene) -> (f64, f64) {
        let layer = &scene.problem.network().layers()[0];
        let (mut value, mut size) = (0.0, 0.0);
        let Coefficients { value: g, size: of } = &self.coefficients;
        for i in 0..self.z.len() {
            let active = if layer.is_linear(i) { self.z[i] } else { self.z[i].max(0.0) };
            value += g[i] * active;
            size += of[i] * self.size[i];
        }
        (value, size)
    }
}
