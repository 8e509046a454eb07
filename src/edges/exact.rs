//! The values of a case in exact numbers: what floats cannot tell apart is decided by these (docs/math.md §18.3).

use crate::edges::anchors::Anchors;
use crate::edges::case::{Case, Kept, Number, Row};
use crate::edges::line::Unit;
use crate::edges::pair::Pair;
use crate::edges::rule::Rule;
use crate::edges::scene::{NodeLeft, Scene};
use crate::number::dyadic::Dyadic;

/// Slopes of lines over a unit are multiples of one over this, as in proofs.
const GRID: f64 = (1u64 << 40) as f64;

/// ExactLines through the anchors of a node's units (docs/math.md (18.8)): slopes for rises and falls, and what the
/// units add at their anchors.
#[derive(Debug)]
struct ExactLines {
    slopes: Vec<[Dyadic; 2]>,
    constant: Dyadic,
}

/// `λᵘ` and `λᵈ` of a unit with a negative coefficient, for a reach that is not below the exact one.
fn slopes(z: &Dyadic, [rise, fall]: [f64; 2]) -> [f64; 2] {
    // A slope is valid whenever the line is not below the unit at the end of the reach: this is asked exactly.
    let up = match rise {
        rise if z.sign().is_ge() => f64::from(u8::from(rise != 0.0)),
        rise if !rise.is_finite() => 1.0,
        rise => {
            let end = z + &Dyadic::from(rise);
            let slope = ((end.ceil_f64() / rise * GRID).ceil() / GRID).min(1.0);
            match end.sign().is_le() {
                true => 0.0,
                false if &Dyadic::from(slope) * &Dyadic::from(rise) >= end => slope,
                false => 1.0,
            }
        }
    };
    let down = match fall {
        _ if z.sign().is_le() => 0.0,
        fall if !fall.is_finite() => 0.0,
        fall if (z - &Dyadic::from(fall)).sign().is_ge() => 1.0,
        fall => {
            let slope = (z.floor_f64() / fall * GRID).floor().max(0.0) / GRID;
            if &Dyadic::from(slope) * &Dyadic::from(fall) <= *z { slope } else { 0.0 }
        }
    };
    [up, down]
}

impl ExactLines {
    /// For units with their anchors, reaches and coefficients.
    fn new(units: impl Iterator<Item = (Dyadic, [f64; 2])>, of: &[Dyadic], linear: &[bool]) -> ExactLines {
        let mut lines = ExactLines { slopes: Vec::with_capacity(of.len()), constant: Dyadic::ZERO };
        for (i, ((z, reach), g)) in units.zip(of).enumerate() {
            if g.sign().is_eq() {
                lines.slopes.push([Dyadic::ZERO, Dyadic::ZERO]);
                continue;
            }
            let slope = if linear.get(i).copied().unwrap_or(false) {
                lines.constant += &(g * &z);
                [g.clone(), g.clone()]
            } else {
                let active = z.sign().is_gt();
                let slope = match g.sign().is_gt() {
                    true if active => [g.clone(), g.clone()],
                    true => [Dyadic::ZERO, Dyadic::ZERO],
                    false => slopes(&z, reach).map(|slope| g * &Dyadic::from(slope)),
                };
                if active {
                    lines.constant += &(g * &z);
                }
                slope
            };
            lines.slopes.push(slope);
        }
        lines
    }

    /// The value of `+1` and of `−1` times a message.
    fn values(&self, message: &[Dyadic]) -> [Dyadic; 2] {
        let (mut plus, mut minus) = (Dyadic::ZERO, Dyadic::ZERO);
        for (y, [up, down]) in message.iter().zip(&self.slopes) {
            let (with, against) = match y.sign() {
                std::cmp::Ordering::Greater => (up, down),
                std::cmp::Ordering::Less => (down, up),
                std::cmp::Ordering::Equal => continue,
            };
            plus += &(with * y);
            minus += &(against * y);
        }
        [plus, -minus]
    }
}

/// What is the same for all nodes of a case.
struct Exact<'a> {
    scene: &'a Scene<'a>,
    /// By term of the second layer and unit.
    weights: Vec<Vec<Dyadic>>,
    linear: &'a [bool],
    width: usize,
}

impl Exact<'_> {
    /// The coefficients of a node that the target receives with these entries.
    fn coefficients(&self, entry: impl Fn(&Rule) -> f64) -> Vec<Dyadic> {
        let entries: Vec<Dyadic> = self.scene.problem.second().iter().map(|rule| entry(rule).into()).collect();
        let sum = |i: usize| {
            let terms = entries.iter().zip(&self.weights).filter(|(a, _)| a.sign().is_ne());
            terms.fold(Dyadic::ZERO, |total, (a, w)| &total + &(&w[i] * a))
        };
        (0..self.width).map(sum).collect()
    }

    fn lines(&self, node: u32, left: usize, senders: &[(u32, Dyadic)], units: &[Unit], of: &[Dyadic]) -> ExactLines {
        let (problem, target) = (self.scene.problem, self.scene.ground.target);
        let (rule, id) = (problem.rule(), target.ids[node as usize]);
        let own = if rule.is_identity() { 0.0 } else { rule.own_entry(left, target.looped[node as usize]) };
        let own = Dyadic::from(own);
        // Where floats may have overflowed their reaches mean nothing.
        let reach = |unit: &Unit| match problem.messages().safe {
            true => [unit.rise, unit.fall],
            false => [f64::INFINITY; 2],
        };
        let unit = |i: usize| match of[i].sign().is_eq() {
            true => (Dyadic::ZERO, [0.0; 2]),
            false => (problem.exact_unit(id, i, &own, senders), reach(&units[i])),
        };
        ExactLines::new((0..self.width).map(unit), of, self.linear)
    }

    /// A message as its node sends it.
    fn message(&self, node: u32) -> &[Dyadic] {
        self.scene.problem.exact_message(self.scene.ground.target.ids[node as usize])
    }

    fn sender(&self, node: u32, entry: f64) -> (u32, Dyadic) {
        (self.scene.ground.target.ids[node as usize], entry.into())
    }
}

impl Case<Dyadic> {
    /// `None` if it is late.
    pub(crate) fn exact(scene: &Scene, pair: &Pair, anchors: &Anchors) -> Option<Case<Dyadic>> {
        let (problem, ground) = (scene.problem, &scene.ground);
        let looped = &ground.target.looped;
        let (weights, mut constant) = problem.exact_weights(ground.target.ids[0], pair.reference, pair.other);
        let layer = &problem.network().layers()[0];
        let exact = Exact { scene, weights, linear: &layer.linear, width: layer.outputs() };
        let removed = anchors.removed;
        let at_target = scene.left(0) - removed;
        let center = scene.centers.get(removed).map(|center| {
            let of = exact.coefficients(|rule| rule.own_entry(at_target, looped[0]));
            let senders: Vec<(u32, Dyadic)> =
                scene.around.iter().zip(&center.entry).map(|(of, &a)| exact.sender(of.node, a)).collect();
            exact.lines(0, at_target, &senders, &anchors.center, &of)
        });
        if let Some(lines) = &center {
            constant += &lines.constant;
        }
        let reads = problem.rule().reads_sender();
        let mut rows = Vec::with_capacity(scene.around.len());
        for (of, states) in scene.around.iter().zip(&anchors.units) {
            let at_center = center.as_ref().map(|lines| lines.values(exact.message(of.node)));
            let left = scene.left(of.node);
            // The entry of the first layer from this neighbour to the target, so many edges being removed at it.
            let to_target = |r: usize| Dyadic::from(scene.entry(NodeLeft(0, at_target), NodeLeft(of.node, left - r)));
            let mut kept = Vec::with_capacity(states.len());
            for (r, units) in states.iter().enumerate() {
                if scene.pace.is_late_for(<Dyadic as Number>::WORK * 4 * (of.links.len() + 4) * exact.width) {
                    return None;
                }
                let state = &of.states[r];
                let coefficients =
                    exact.coefficients(|rule| scene.received(rule, at_target, NodeLeft(of.node, left - r)));
                let links = of.links.iter().zip(&state.entry).map(|(link, &a)| exact.sender(link.node, a));
                let target = exact.sender(0, scene.entry(NodeLeft(of.node, left - r), NodeLeft(0, at_target)));
                let senders: Vec<(u32, Dyadic)> = links.chain([target]).collect();
                let lines = exact.lines(of.node, left - r, &senders, units, &coefficients);
                let mut constant = lines.constant.clone();
                if let (Some([plus, _]), 1..) = (&at_center, r) {
                    constant += &(&(&to_target(r) - &to_target(0)) * plus);
                }
                let [mut cut, mut more] = [(); 2].map(|()| Vec::with_capacity(of.links.len()));
                for (link, (to, (_, entry))) in of.links.iter().zip(&senders).enumerate() {
                    let grows = reads && !state.gains(link).is_empty();
                    let needed = r > 0 && to.free;
                    if needed || grows {
                        let [plus, minus] = lines.values(exact.message(to.node));
                        cut.push(needed.then(|| entry * &minus));
                        more.push((grows && plus.sign().is_lt()).then_some(plus));
                    } else {
                        cut.push(None);
                        more.push(None);
                    }
                }
                kept.push(Kept { constant, cut, more });
            }
            let cut = (of.free && removed > 0).then(|| match &at_center {
                Some([_, minus]) => &to_target(0) * minus,
                None => Dyadic::ZERO,
            });
            rows.push(Row { cut, kept });
        }
        Some(Case { removed, budget: ground.budget - removed, constant, rows, doubt: 0.0, roundings: 0.0 })
    }
}
