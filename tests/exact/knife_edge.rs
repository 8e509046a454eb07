//! Cases whose last bias is moved so that the exact worst case against one class is a tie or a rounding error away from
//! one.

use gcnproof_verify::random::Stream;

use super::case::Case;
use super::nasty::nasty;
use super::number::{Exact, smallest};
use super::scaled::scaled;
use super::truth::{admissible, evaluate, largest};

/// A nasty or a scaled network on the edge.
pub fn knife_edge(seed: u64) -> Case {
    on_the_edge(seed, if seed.is_multiple_of(3) { scaled(seed) } else { nasty(seed) })
}

/// Moves the last bias of one class; cases with more than 400 perturbations stay as they are.
pub fn on_the_edge(seed: u64, case: Case) -> Case {
    let perturbations = admissible(&case);
    if perturbations.len() > 400 {
        return case;
    }
    let mut stream = Stream::new(seed ^ 0x1357);
    let (target, last) = (stream.below(case.graph.node_count()), case.network.layers().len() - 1);
    let logits: Vec<Vec<Exact>> =
        perturbations.iter().map(|flips| evaluate(&case, flips)[last][target].clone()).collect();
    let classes = case.network.class_count();
    let reference = largest(&logits[0]);
    let class = (reference + 1 + stream.below(classes - 1)) % classes;
    let worst = smallest(logits.iter().map(|logits| logits[reference].minus(&logits[class])));
    let bias = case.output_bias(class);
    let moved = (0..stream.below(4)).fold(bias + worst.rough(), |value, _| value.next_down());
    let moved = (0..stream.below(3)).fold(moved, |value, _| value.next_up());
    case.with_output_bias(class, if moved.is_finite() { moved } else { bias })
}
