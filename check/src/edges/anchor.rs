//! Anchors: pre-activations when nothing is removed but what a state says, and how far they can be pushed from there. They are the same for all classes.

use super::number::Number;
use super::reach::{Sender, reach};
use super::scene::{Link, Neighbour, Scene};
use crate::directed::Stored;

/// The units of a node in one state.
pub struct Anchor<N> {
    /// `z⁰`.
    pub z: Vec<N>,
    /// `P` and `M`.
    pub reach: Vec<[N; 2]>,
}

/// A neighbour that is kept with some number of removals.
pub struct Kept<'n, N> {
    /// Link by link.
    pub senders: Vec<Sender<'n, N>>,
    /// For 0, 1, … removals at the target, as far as there is room for them.
    pub cases: Vec<Anchor<N>>,
}

/// All of a scene.
pub struct Anchors<'n, N> {
    /// The target's own, by removals at it; `None` where the second layer does not take them.
    pub centers: Vec<Option<Anchor<N>>>,
    /// By neighbour and removals at it.
    pub around: Vec<Vec<Kept<'n, N>>>,
}

/// Numbers of anchors that are kept for all classes, at most.
const MOST: usize = 1 << 21;

impl<'n, N: Number> Anchors<'n, N> {
    /// `None` where they are too many to be kept.
    pub fn new(scene: &Scene<'n, '_>) -> Option<Anchors<'n, N>> {
        let (width, cases) = (scene.network.linear.len(), scene.most_at_target() + 1);
        let count = |neighbour: &Neighbour| {
            let gains = |link: &Link| scene.cap(link.node).min(link.others).min(scene.budget);
            let gains = neighbour.links.iter().map(gains).fold(0, usize::saturating_add);
            (most(scene, neighbour) + 1).saturating_mul(cases.saturating_mul(width).saturating_add(gains))
        };
        let count = scene.neighbours.iter().map(count).fold(0, usize::saturating_add);
        let around = |neighbour: &Neighbour| (0..=most(scene, neighbour)).map(|r| kept(scene, neighbour, r)).collect();
        (count <= MOST).then(|| Anchors {
            centers: (0..=scene.most_at_target()).map(|removed| center(scene, removed)).collect(),
            around: scene.neighbours.iter().map(around).collect(),
        })
    }
}

/// How many removals there can be at a neighbour that is kept.
pub fn most(scene: &Scene, neighbour: &Neighbour) -> usize {
    scene.cap(neighbour.node).min(neighbour.others).min(scene.budget)
}

/// A sender with the entry along its edge, and those after 1, 2, … removals elsewhere at it.
fn sender<'n, N: Number>(
    scene: &Scene<'n, '_>,
    (node, free): (usize, bool),
    most: usize,
    entry: impl Fn(usize) -> Stored,
) -> Sender<'n, N> {
    let before = entry(0);
    let gain = |k: usize| N::stored(entry(k)).minus(&N::stored(before));
    Sender {
        sent: scene.network.sent(scene.id(node)),
        cut: free.then_some(before),
        gains: if scene.network.rule.reads_sender() { (1..=most).map(gain).collect() } else { Vec::new() },
    }
}

/// The target's own units after some removals at it.
pub fn center<N: Number>(scene: &Scene, removed: usize) -> Option<Anchor<N>> {
    let (network, here) = (scene.network, scene.with(scene.target(), removed));
    if !network.terms.iter().any(|term| network.own(term.rule, here.0)) {
        return None;
    }
    let mut z = network.fixed::<N>(here.0).to_vec();
    scene.add(scene.own_entry(network.rule, here), here.0, &mut z);
    let budget = scene.budget - removed;
    let mut senders = Vec::new();
    for neighbour in &scene.neighbours {
        let entry = |k: usize| scene.center_entry(neighbour, removed, k);
        scene.add(entry(0), scene.id(neighbour.node), &mut z);
        let most = scene.cap(neighbour.node).min(neighbour.others).min(budget);
        senders.push(sender(scene, (neighbour.node, neighbour.free), most, entry));
    }
    let touches = [scene.touched * budget];
    let reach = (0..z.len()).flat_map(|unit| reach(&senders, unit, removed, &touches)).collect();
    Some(Anchor { z, reach })
}

/// A neighbour kept with `r` removals.
pub fn kept<'n, N: Number>(scene: &Scene<'n, '_>, neighbour: &Neighbour, r: usize) -> Kept<'n, N> {
    let (network, rule) = (scene.network, scene.network.rule);
    let here = scene.with(neighbour.node, r);
    let mut base = network.fixed::<N>(here.0).to_vec();
    scene.add(scene.own_entry(rule, here), here.0, &mut base);
    let mut senders = Vec::new();
    for link in &neighbour.links {
        let entry = |k: usize| scene.entry(rule, here, scene.with(link.node, k));
        scene.add(entry(0), scene.id(link.node), &mut base);
        let most = scene.cap(link.node).min(link.others).min(scene.budget - r);
        senders.push(sender(scene, (link.node, link.free), most, entry));
    }
    let to_target = neighbour.links.iter().filter(|link| link.to_target).count();
    let touches = |removed: usize| neighbour.touched * (scene.budget - removed - r) + removed.min(to_target);
    // At most so many removals at the target leave room for these.
    let cases = (scene.most_at_target() + 1).min(scene.budget - r + 1);
    let touches: Vec<usize> = (0..cases).map(touches).collect();
    let reach: Vec<Vec<[N; 2]>> = (0..base.len()).map(|unit| reach(&senders, unit, r, &touches)).collect();
    let case = |removed: usize| {
        let target = scene.with(scene.target(), removed);
        let mut z = base.clone();
        scene.add(scene.entry(rule, here, target), target.0, &mut z);
        Anchor { z, reach: reach.iter().map(|unit| unit[removed].clone()).collect() }
    };
    Kept { cases: (0..cases).map(case).collect(), senders }
}
