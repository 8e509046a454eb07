//! Anchors: pre-activations when nothing is removed but what a state says, and how far they can be pushed from there.
//! They are the same for all classes.

use std::cell::OnceCell;
use std::ops::Range;

use super::cost::LeafCost;
use super::number::{Scalar, UnitKind};
use super::reach::{Sender, reach};
use super::scene::{Neighbour, NeighbourLink, NodeState, Scene};
use crate::number::{Dyadic, Stored, rate};
use crate::verdict::Reason;
use crate::work::Meter;

/// The units of a node in one state.
pub struct Anchor<N> {
    /// `z⁰`.
    pub z: Vec<N>,
    /// `P` and `M`.
    pub reach: Vec<[N; 2]>,
    /// Which line each has where its coefficient is positive.
    pub kinds: Vec<UnitKind>,
}

/// A neighbour that is kept with some number of removals.
pub struct Kept<N> {
    /// Link by link: the sender, and how much more the entry along the link is after 1, 2, … removals elsewhere at it.
    pub senders: Vec<Sender>,
    pub gains: Vec<Vec<N>>,
    /// For 0, 1, … removals at the target, as far as there is room for them.
    pub cases: Vec<Anchor<N>>,
}

/// All of a scene.
pub struct Anchors<N> {
    /// The target's own, by removals at it; `None` where the second layer does not take them.
    pub centers: Vec<Option<Anchor<N>>>,
    /// By neighbour and removals at it.
    pub around: Vec<Vec<Kept<N>>>,
}

/// Numbers of anchors that are kept for all classes, at most.
const MOST: usize = 1 << 20;

impl<N: Scalar> Anchors<N> {
    /// `None` where they are too many to be kept.
    ///
    /// # Errors
    /// If finding them is too expensive.
    pub fn new(scene: &Scene, cost: &LeafCost, meter: &Meter) -> Result<Option<Anchors<N>>, Reason> {
        if cost.anchors() > MOST as u64 {
            return Ok(None);
        }
        let mut anchors = Anchors { centers: Vec::new(), around: Vec::new() };
        for removed in 0..=scene.most_at_target() {
            meter.spend(N::steps(cost.center()))?;
            anchors.centers.push(center(scene, removed));
        }
        for (place, neighbour) in scene.neighbours.iter().enumerate() {
            let mut states = Vec::new();
            for r in 0..=scene.most_at(neighbour) {
                meter.spend(N::steps(cost.anchored(place, r)))?;
                states.push(kept(scene, neighbour, r));
            }
            anchors.around.push(states);
        }
        Ok(Some(anchors))
    }
}

/// A sender with the entry along its edge, and the entries after 1, 2, … removals elsewhere at it.
fn sender(
    scene: &Scene,
    node: usize,
    free: bool,
    most: usize,
    entry: impl Fn(usize) -> Stored,
) -> (Sender, Vec<Stored>) {
    let (before, most) = (entry(0), if scene.network.rule.reads_sender() { most } else { 0 });
    let after: Vec<Stored> = (1..=most).map(entry).collect();
    let rates = after.iter().enumerate().map(|(at, &x)| rate(x, before, at + 1));
    let rate = rates.fold(Stored::ZERO, |most, next| if next.order(most).is_gt() { next } else { most });
    (Sender { node: scene.id(node), cut: free.then_some(before), rate, most }, after)
}

/// `z⁰`, `P` and `M` of some units of a node in one state.
struct Position<N> {
    z: Vec<N>,
    reach: Vec<[N; 2]>,
}

/// A node whose units are pushed: the target, or a neighbour that is kept with some number of removals.
struct Place<'a> {
    scene: &'a Scene<'a, 'a>,
    here: NodeState,
    /// Who sends to it, but the target to a neighbour, and the entries.
    senders: Vec<Sender>,
    entries: Vec<Stored>,
    /// How many of these edges are cut.
    cuts: usize,
    /// For every case: the entry from the target, and how many touches by other removals there are.
    cases: Vec<(Stored, usize)>,
}

impl Place<'_> {
    /// Some of its units, case by case.
    fn positions<N: Scalar>(&self, units: Range<usize>) -> Vec<Position<N>> {
        let (scene, network) = (self.scene, self.scene.network);
        let mut base = network.fixed::<N>(self.here.id)[units.clone()].to_vec();
        scene.add(scene.own_entry(network.rule, self.here), self.here.id, units.clone(), &mut base);
        for (sender, &entry) in self.senders.iter().zip(&self.entries) {
            scene.add(entry, sender.node, units.clone(), &mut base);
        }
        let touches: Vec<usize> = self.cases.iter().map(|case| case.1).collect();
        let reach = units.clone().map(|unit| reach(network, &self.senders, unit, self.cuts, &touches));
        let mut reach: Vec<_> = reach.map(Vec::into_iter).collect();
        let position = |&(entry, _): &(Stored, usize)| {
            let mut z = base.clone();
            scene.add(entry, scene.id(scene.target()), units.clone(), &mut z);
            // One for every case.
            Position { z, reach: reach.iter_mut().filter_map(Iterator::next).collect() }
        };
        self.cases.iter().map(position).collect()
    }

    /// Which line each unit has is decided by these numbers, or exactly where they leave it open.
    fn anchors<N: Scalar>(&self) -> Vec<Anchor<N>> {
        let linear = &self.scene.network.linear;
        let anchor = |Position { z, reach }| Anchor { z, reach, kinds: Vec::with_capacity(linear.len()) };
        let mut anchors: Vec<Anchor<N>> = self.positions(0..linear.len()).into_iter().map(anchor).collect();
        for (unit, &linear) in linear.iter().enumerate() {
            let exact: OnceCell<Vec<Position<Dyadic>>> = OnceCell::new();
            for (case, anchor) in anchors.iter_mut().enumerate() {
                let is_active = || {
                    let [rise, fall] = &anchor.reach[unit];
                    N::is_active(&anchor.z[unit], [rise, fall]).unwrap_or_else(|| {
                        let position = &exact.get_or_init(|| self.positions(unit..unit + 1))[case];
                        let [rise, fall] = &position.reach[0];
                        Dyadic::is_active(&position.z[0], [rise, fall]).unwrap_or(false)
                    })
                };
                let kind = if linear {
                    UnitKind::Linear
                } else if is_active() {
                    UnitKind::Active
                } else {
                    UnitKind::Inactive
                };
                anchor.kinds.push(kind);
            }
        }
        anchors
    }
}

/// The target's own units after some removals at it; `None` where the second layer does not take them.
pub fn center<N: Scalar>(scene: &Scene, removed: usize) -> Option<Anchor<N>> {
    let (network, here) = (scene.network, scene.with(scene.target(), removed));
    if !network.terms.iter().any(|term| network.own(term.rule, here.id)) {
        return None;
    }
    let budget = scene.budget - removed;
    let senders = scene.neighbours.iter().map(|neighbour| {
        let most = scene.cap(neighbour.node).min(neighbour.others).min(budget);
        sender(scene, neighbour.node, neighbour.free, most, |k| scene.center_entry(neighbour, removed, k)).0
    });
    let entries = scene.neighbours.iter().map(|neighbour| scene.center_entry(neighbour, removed, 0));
    let cases = vec![(Stored::ZERO, scene.touched * budget)];
    let place = Place { scene, here, senders: senders.collect(), entries: entries.collect(), cuts: removed, cases };
    place.anchors().pop()
}

/// A neighbour kept with `r` removals.
pub fn kept<N: Scalar>(scene: &Scene, neighbour: &Neighbour, r: usize) -> Kept<N> {
    let (rule, here) = (scene.network.rule, scene.with(neighbour.node, r));
    let entry = |link: &NeighbourLink, k: usize| scene.entry(rule, here, scene.with(link.node, k));
    let senders = neighbour.links.iter().map(|link| {
        let most = scene.cap(link.node).min(link.others).min(scene.budget - r);
        sender(scene, link.node, link.free, most, |k| entry(link, k))
    });
    let (senders, after): (Vec<Sender>, Vec<Vec<Stored>>) = senders.unzip();
    let entries: Vec<Stored> = neighbour.links.iter().map(|link| entry(link, 0)).collect();
    let gains = entries.iter().zip(after).map(|(&before, after)| {
        let gain = |after: Stored| N::stored(after).minus(&N::stored(before));
        after.into_iter().map(gain).collect()
    });
    let gains = gains.collect();
    let to_target = neighbour.links.iter().filter(|link| link.to_target).count();
    // At most so many removals at the target leave room for these.
    let cases = (0..=scene.most_at_target().min(scene.budget - r)).map(|removed| {
        let touches = neighbour.touched * (scene.budget - removed - r) + removed.min(to_target);
        (scene.entry(rule, here, scene.with(scene.target(), removed)), touches)
    });
    let place = Place { scene, here, senders, entries, cuts: r, cases: cases.collect() };
    Kept { cases: place.anchors(), gains, senders: place.senders }
}
