//! Flips and changed edges on the true network: margins in floats, decided exactly where rounding hides their sign.

use crate::edges::budget::Edge;
use crate::edges::changes::search::margin;
use crate::edges::changes::span::Span;
use crate::edges::changes::stack::Stack;
use crate::edges::changes::world::World;
use crate::number::dyadic::Dyadic;
use crate::problem::flip::Flip;
use crate::problem::minimal::minimal;

/// Changes that break a class, or tie with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JointAttack {
    pub(super) class: usize,
    pub(super) edges: Vec<Edge>,
    pub(super) flips: Vec<Flip>,
    /// Is the margin exactly zero?
    pub(super) tie: bool,
    /// The margin, rounded up.
    pub(super) upper: f64,
}

/// The margins of a target after changes of both kinds.
#[derive(Clone, Copy)]
pub(super) struct Replay<'a> {
    pub(super) stack: &'a Stack,
    pub(super) node: u32,
    pub(super) reference: usize,
}

/// One change of either kind.
#[derive(Clone, Copy)]
enum EdgeOrFlip {
    Edge(Edge),
    Flip(Flip),
}

impl Replay<'_> {
    /// What these changes break: of several classes one whose margin is negative.
    pub(super) fn attack(&self, edges: &[Edge], flips: &[Flip]) -> Option<JointAttack> {
        let Replay { stack, node, reference } = *self;
        let world = World::new(&stack.graph, stack.directed, edges).flipped(flips);
        let logits: Vec<Span> = stack.quick_logits(node, &world);
        let mut exact: Option<Vec<Dyadic>> = None;
        let mut found: Option<JointAttack> = None;
        for class in (0..logits.len()).filter(|&class| class != reference) {
            let margin = margin(&logits, reference, class);
            let (tie, upper) = if margin.lo > 0.0 {
                continue;
            } else if margin.hi < 0.0 {
                (false, margin.hi)
            } else {
                let last = stack.rules.len() - 1;
                let exact = exact.get_or_insert_with(|| stack.values(node, &world, last));
                let margin = &exact[reference] - &exact[class];
                if margin.sign().is_gt() {
                    continue;
                }
                (margin.sign().is_eq(), margin.ceil_f64())
            };
            if found.as_ref().is_none_or(|before| (tie, upper) < (before.tie, before.upper)) {
                found = Some(JointAttack { class, edges: edges.to_vec(), flips: flips.to_vec(), tie, upper });
            }
        }
        found
    }

    /// An attack from which no change can be left out: a negative margin stays negative, a tie may become one.
    pub(super) fn shortened(&self, attack: &JointAttack) -> Option<JointAttack> {
        let edges = attack.edges.iter().map(|&edge| EdgeOrFlip::Edge(edge));
        let changes: Vec<EdgeOrFlip> = edges.chain(attack.flips.iter().map(|&flip| EdgeOrFlip::Flip(flip))).collect();
        let breaks = |some: &[EdgeOrFlip]| {
            let (mut edges, mut flips) = (Vec::new(), Vec::new());
            for change in some {
                match *change {
                    EdgeOrFlip::Edge(edge) => edges.push(edge),
                    EdgeOrFlip::Flip(flip) => flips.push(flip),
                }
            }
            edges.sort_unstable();
            flips.sort_unstable();
            self.attack(&edges, &flips).filter(|found| attack.tie || !found.tie)
        };
        minimal(&changes, breaks).map(|(_, broken)| broken)
    }
}
