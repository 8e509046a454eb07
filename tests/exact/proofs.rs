//! Proofs and mutants of their envelopes, shown to the checker where they must hold and where they must not.

use gcnproof_check::format::{Claim, Convention, Envelope, Line, NodeProof, Step, UnitPrices};
use gcnproof_check::{Checker, Statement};
use gcnproof_verify::random::Stream;

use super::case::Case;
use super::certifier::{Bound, Effort, Limits, Workspace, certifier_of, proof};
use super::nasty::nasty;
use super::number::{Exact, smallest};
use super::plain::{bushy, lossy};
use super::scaled::scaled;
use super::tally::{Tally, seeds};
use super::truth::{admissible, evaluate};

/// Judges proofs about a case, in intervals or in exact numbers.
pub fn with_checker<T>(case: &Case, exact: bool, judge: impl FnOnce(&Checker) -> T) -> T {
    let (matrices, file) = (case.network.own_matrices(), case.graph.file());
    let network = (&case.network, &case.matrices()[..]);
    let header = proof::header(("", ""), network, &case.budget, Convention::Predicted);
    let model = proof::model_file(&case.network, "");
    let statement = Statement::new(&file, &model, &header, &matrices).unwrap();
    judge(&Checker::new(&statement, exact))
}

/// The leaves' envelopes, each with the exponent of its leaf.
fn envelopes(proof: &mut NodeProof) -> Vec<(i32, &mut Envelope)> {
    let Claim::Robust(trees) = &mut proof.claim else { return Vec::new() };
    let steps = trees.iter_mut().flat_map(|tree| &mut tree.tree);
    let envelope = |step| match step {
        &mut Step::Leaf(ref mut leaf) => Some((leaf.exponent, &mut **leaf.envelope.as_mut()?)),
        _ => None,
    };
    steps.filter_map(envelope).collect()
}

/// A price near another one, or far from it.
fn other_price(stream: &mut Stream, old: i64) -> i64 {
    match stream.below(8) {
        0 => 0,
        1 => -old,
        2 => old + 1,
        3 => old - 1,
        4 => (old as f64 * 2.0 * stream.real()) as i64,
        5 => old / 2,
        6 => stream.below(200) as i64 - 100,
        _ => [1 << 53, -(1 << 53), old.saturating_mul(2).clamp(-(1 << 53), 1 << 53)][stream.below(3)],
    }
}

/// Changes one of some prices, absent ones counting as 0; false if there is none.
fn change_price(prices: &mut Vec<i64>, count: usize, stream: &mut Stream) -> bool {
    prices.resize(count, 0);
    if prices.is_empty() {
        return false;
    }
    let at = stream.below(prices.len());
    prices[at] = other_price(stream, prices[at]);
    true
}

/// Changes something in one of the envelopes of a proof; false if that was not possible.
fn mutate(proof: &mut NodeProof, case: &Case, stream: &mut Stream) -> bool {
    let mut envelopes = envelopes(proof);
    if envelopes.is_empty() {
        return false;
    }
    let at = stream.below(envelopes.len());
    let (exponent, envelope) = (envelopes[at].0, &mut *envelopes[at].1);
    let unit = stream.below(envelope.units.len().max(1));
    match stream.below(9) {
        0 => envelope.exponent += [1, -1, 900 - envelope.exponent, -1074 - envelope.exponent][stream.below(4)],
        1 if !envelope.flips.is_empty() => {
            // The prices of later flips move to the flip before.
            envelope.flips.remove(stream.below(envelope.flips.len()));
            let count = envelope.flips.len();
            envelope.units.iter_mut().for_each(|UnitPrices(.., of_flips)| of_flips.truncate(count));
        }
        2 if !envelope.nodes.is_empty() => {
            envelope.nodes.remove(stream.below(envelope.nodes.len()));
            let count = envelope.nodes.len();
            envelope.units.iter_mut().for_each(|UnitPrices(.., of_nodes, _)| of_nodes.truncate(count));
        }
        3 => {
            let (nodes, attributes) = (case.graph.node_count(), case.graph.attribute_count());
            envelope.flips.push((stream.below(nodes) as u32, stream.below(attributes) as u32));
            envelope.flips.sort_unstable();
            envelope.flips.dedup();
        }
        _ if envelope.units.is_empty() => return false,
        4 => {
            let whole = (1i64 << -exponent.clamp(-50, 0)) as f64;
            let UnitPrices(_, _, share, ..) = &mut envelope.units[unit];
            *share = [0, 1, whole as i64, (whole * stream.real().abs()) as i64][stream.below(4)];
        }
        5 => {
            let UnitPrices(_, _, _, every, ..) = &mut envelope.units[unit];
            *every = other_price(stream, *every);
        }
        6 => {
            let UnitPrices(.., of_nodes, _) = &mut envelope.units[unit];
            return change_price(of_nodes, envelope.nodes.len(), stream);
        }
        7 => {
            let UnitPrices(.., of_flips) = &mut envelope.units[unit];
            return change_price(of_flips, envelope.flips.len(), stream);
        }
        _ => {
            let other = stream.below(envelope.units.len());
            let UnitPrices(_, _, _, every, of_nodes, of_flips) = envelope.units[other].clone();
            let changed = &mut envelope.units[unit];
            (changed.3, changed.4, changed.5) = (every, of_nodes, of_flips);
        }
    }
    true
}

/// The same case twice, with the last bias of class 0 such that the node's exact worst case is a little above zero, and
/// such that it is at most zero, often zero itself. Nothing where floats do not reach that far.
pub fn robust_and_broken(case: &Case, target: usize, stream: &mut Stream) -> Option<(Case, Case)> {
    let last = case.network.layers().len() - 1;
    let worst = smallest(admissible(case).iter().map(|flips| {
        let logits = &evaluate(case, flips)[last][target];
        logits[0].minus(&logits[1])
    }));
    let bias = case.output_bias(0);
    let size = worst.rough().abs() + bias.abs() + 1e-300;
    let goal = bias - worst.rough();
    let robust = |moved: f64| worst.plus(&Exact::of(moved).minus(&Exact::of(bias))).is_positive();
    let (mut high, mut low) = (goal + size * [1e-14, 1e-9, 1e-4, 0.02, 0.1][stream.below(5)], goal);
    if !high.is_finite() || !low.is_finite() {
        return None;
    }
    for _ in 0..20 {
        high = if robust(high) { high } else { high.next_up() };
        low = if robust(low) { low.next_down() } else { low };
    }
    let found = robust(high) && !robust(low) && high.is_finite() && low.is_finite();
    found.then(|| (case.with_output_bias(0, high), case.with_output_bias(0, low)))
}

/// A case whose exact worst case is a little above zero is proved robust. With the last bias a little lower the worst
/// case is at most zero: neither that proof nor any mutant of it may be accepted there.
fn judge(seed: u64, case: &Case, workspace: &mut Workspace, tally: &mut Tally) {
    let perturbations = admissible(case).len();
    if !(2..=300).contains(&perturbations) || case.network.depth() < 3 || case.network.class_count() != 2 {
        return;
    }
    let stream = &mut Stream::new(seed ^ 0x0bad_cafe);
    let target = stream.below(case.graph.node_count());
    let Some((robust, broken)) = robust_and_broken(case, target, stream) else { return };
    let name = format!("seed {seed} node {target}");
    let effort = Effort::Complete(Limits { nodes: 200, ..Limits::default() });
    let certifier = certifier_of(&robust.graph, &robust.network, robust.budget.clone(), Bound::Best)
        .with_effort(effort)
        .with_proofs();
    let result = certifier.certify_class(target, 0, 0, workspace);
    let fresh = certifier.certify_class(target, 0, 0, &mut Workspace::default());
    if format!("{result:?}") != format!("{fresh:?}") {
        tally.fail(format!("{name}: NOT REPRODUCIBLE {result:?} {fresh:?}"));
    }
    let line = with_checker(&robust, false, |checker| result.proof_line(checker).into_line());
    let Line::Node(mut proof) = line else { return tally.count(case.style, "unproved") };
    if !matches!(proof.claim, Claim::Robust(_)) {
        return tally.fail(format!("{name}: FALSE WITNESS {proof:?}"));
    }
    let with_envelopes = !envelopes(&mut proof).is_empty();
    tally.count(case.style, if with_envelopes { "proved with envelopes" } else { "proved" });
    let mut candidates = vec![proof.clone()];
    for _ in 0..if with_envelopes { 40 } else { 0 } {
        let mut mutant = candidates[stream.below(candidates.len().min(4))].clone();
        if mutate(&mut mutant, case, stream) {
            candidates.push(mutant);
        }
    }
    let accepted = |case: &Case, exact: bool| {
        with_checker(case, exact, |checker| {
            candidates.iter().map(|proof| checker.check(proof).is_ok()).collect::<Vec<bool>>()
        })
    };
    for exact in [false, true] {
        if let Some(at) = accepted(&broken, exact).iter().position(|yes| *yes) {
            tally.fail(format!("{name}: FALSE PROOF ACCEPTED (exact: {exact}) {:?}", candidates[at]));
        }
    }
    let in_intervals = accepted(&robust, false);
    if in_intervals != accepted(&robust, true) {
        tally.fail(format!("{name}: INTERVALS AND EXACT NUMBERS DISAGREE {proof:?}"));
    }
    if !in_intervals[0] && with_envelopes {
        let why = with_checker(&robust, true, |checker| format!("{:?}", checker.check(&proof)));
        tally.fail(format!("{name}: ITS OWN PROOF REJECTED {why} {result:?}"));
    }
    let mutants = &in_intervals[1..];
    tally.add(case.style, "mutants", mutants.len());
    tally.add(case.style, "mutants accepted where robust", mutants.iter().filter(|yes| **yes).count());
}

/// Proofs with envelopes and their mutants, judged where they must not hold.
#[test]
fn no_proof_and_no_mutant_of_it_holds_where_the_worst_case_is_not_positive() {
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    for seed in seeds(1_500) {
        let case = match seed % 6 {
            0..=2 => bushy(seed),
            3 => nasty(seed),
            4 => scaled(seed),
            _ => lossy(seed),
        };
        judge(seed, &case, &mut workspace, &mut tally);
    }
    tally.conclude();
    let (proved, mutants) = (tally.sum("proved with envelopes"), tally.sum("mutants"));
    assert!(proved > 5 && mutants > 100, "too few of them to mean anything");
}
