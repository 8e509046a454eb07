//! Units at their anchors: where the lines of a bound start, for every number of edges removed at the target.

use crate::edges::line::Unit;
use crate::edges::scene::{Around, NodeLeft, Scene};

/// The units of every neighbour of the target in every state, and of the target, when `removed` edges are removed at
/// it: what all class pairs share.
#[derive(Debug)]
pub(crate) struct Anchors {
    pub(super) removed: usize,
    /// By neighbour and number of edges removed there.
    pub(super) units: Vec<Vec<Vec<Unit>>>,
    pub(super) center: Vec<Unit>,
}

impl Anchors {
    /// `None` if it is late.
    pub(crate) fn new(scene: &Scene, removed: usize) -> Option<Anchors> {
        let eps = scene.problem.messages().eps;
        let at_target = scene.left(0) - removed;
        let budget = scene.ground.budget - removed;
        let states = |of: &Around| -> Option<Vec<Vec<Unit>>> {
            let state = |r: usize| {
                if scene.pace.is_late_for(32 * scene.problem.messages().width) {
                    return None;
                }
                let state = &of.states[r];
                let (mut z, mut size) = (state.z.clone(), state.size.clone());
                scene.add(
                    scene.entry(NodeLeft(of.node, scene.left(of.node) - r), NodeLeft(0, at_target)),
                    0,
                    &mut z,
                    &mut size,
                );
                let touches = of.touched * (budget - r) + removed.min(of.to_target);
                let unit = |i: usize| Unit::new(z[i], eps * size[i], state.reach.of(i, touches));
                Some((0..z.len()).map(unit).collect())
            };
            (0..of.states.len().min(budget + 1)).map(state).collect()
        };
        let units = scene.around.iter().map(states).collect::<Option<_>>()?;
        let center = scene.centers.get(removed).map_or_else(Vec::new, |center| {
            let touches = scene.center_touched * budget;
            let unit = |i: usize| Unit::new(center.z[i], eps * center.size[i], center.reach.of(i, touches));
            (0..center.z.len()).map(unit).collect()
        });
        Some(Anchors { removed, units, center })
    }
}
