//! Networks with three and four hidden layers: bounds of representations 4 and 5, which rest on capped bounds of
//! representation 3, against all perturbations; and proofs with forged bends, which must not hold where they are false.

use gcnproof_check::format::{BoundsLine, Claim, Hints, Line, NodeProof, Number, Prices, Step};
use gcnproof_check::{Checker, Dyadic};
use gcnproof_verify::random::Stream;

use super::case::{Case, Layers, attributes, dense, local_budgets, matrix, restrained};
use super::certifier::{Bound, Budget, Effort, Limits, Operator, Workspace, certifier_of};
use super::common;
use super::number::{at_least, at_most};
use super::proofs::{robust_and_broken, with_checker};
use super::tally::{Tally, seeds};
use super::truth::{Truth, admissible};

/// Styles of networks with four and with five weight layers.
const TALL: usize = 400;

/// Four or five weight layers, few nodes, two classes, positive message passing: units of all layers are unstable.
fn tall(seed: u64) -> Case {
    let stream = &mut Stream::new(seed.wrapping_mul(0x7a11_1234_9abc_def1) ^ 0x77);
    let depth = 5 + stream.below(2);
    let nodes = 1 + stream.below(3);
    let dimension = 3 + stream.below(4);
    let graph = common::graph(vec![vec![]; nodes], attributes(stream, nodes, dimension), dimension);
    let hidden: Vec<usize> = (2..depth).map(|_| 2 + stream.below(3)).collect();
    let widths = [vec![dimension], hidden, vec![2]].concat();
    let dyadic = stream.chance(30);
    let number = |stream: &mut Stream| if dyadic { stream.below(9) as f64 / 4.0 - 1.0 } else { stream.real() };
    let (mut layers, mut rules): (Layers, Vec<Operator>) = (Vec::new(), Vec::new());
    for pair in widths.windows(2) {
        let weight = dense(pair[0], pair[1], |_| number(stream));
        layers.push((weight, (0..pair[1]).map(|_| number(stream) / 2.0).collect()));
        rules.push(matrix(nodes, || {
            let value = number(stream);
            stream.chance(80).then_some(if stream.chance(80) { value.abs() } else { value })
        }));
    }
    let local = local_budgets(stream, nodes, 3).iter().map(|local| local + 1).collect::<Vec<i64>>();
    let global = 1 + stream.below(3);
    let budget = restrained(stream, &graph, Budget::per_node(&graph, global, &local).unwrap());
    Case::new(graph, layers, &rules, budget, TALL + depth)
}

/// All hints of a proof and of the bounds that it rests on.
fn all_hints<'h>(proof: &'h mut NodeProof, lines: &'h mut [BoundsLine]) -> Vec<&'h mut Hints> {
    let Claim::Robust(trees) = &mut proof.claim else { return Vec::new() };
    let steps = trees.iter_mut().flat_map(|tree| &mut tree.tree);
    let leaves = steps.filter_map(|step| match step {
        Step::Hints(hints) => Some(&mut **hints),
        _ => None,
    });
    let units = lines.iter_mut().flat_map(|line| &mut line.units);
    let bounds = units.flat_map(|(_, lower, upper)| lower.0.iter_mut().chain(&mut upper.0));
    leaves.chain(bounds).collect()
}

/// A number near another one, or far from it.
fn other_number(stream: &mut Stream, old: &Dyadic) -> Dyadic {
    let of = |x: f64| Dyadic::from_bits(x.to_bits()).unwrap_or(Dyadic::from(0));
    match stream.below(7) {
        0 => Dyadic::from(0),
        1 => old * &of(2.0),
        2 => old * &of(0.5),
        3 => old * &of(stream.real().abs()),
        4 => old + &of(stream.real().abs()),
        5 => of(stream.real().abs()),
        _ => old * &of(1.0 - 1e-9),
    }
}

fn forge_prices(prices: &mut Prices, stream: &mut Stream) {
    let at = stream.below(prices.1.len() + 1);
    let price = prices.1.get_mut(at).map_or(&mut prices.0, |node| &mut node.1);
    *price = Number(other_number(stream, &price.0));
}

/// Changes a bend of layer 3 or a line that it rests on; false if there is none.
fn forge(proof: &mut NodeProof, lines: &mut [BoundsLine], stream: &mut Stream) -> bool {
    let mut bent: Vec<&mut Hints> = all_hints(proof, lines);
    bent.retain(|hints| !hints.nested.is_empty());
    if bent.is_empty() {
        return false;
    }
    let at = stream.below(bent.len());
    let hints = &mut *bent[at];
    let (nested, supports) = (stream.below(hints.nested.len()), stream.below(hints.supports.len().max(1)));
    match stream.below(8) {
        0 | 1 => {
            let bend = &mut hints.nested[nested];
            bend.2 = Number(other_number(stream, &bend.2.0));
        }
        2 | 3 => {
            let bend = &mut hints.nested[nested];
            bend.3 = Number(other_number(stream, &bend.3.0));
        }
        4 => forge_prices(&mut hints.nested[nested].4, stream),
        _ if hints.supports.is_empty() => return false,
        5 => {
            let line = &mut hints.supports[supports];
            line.2 = Number(&Dyadic::from(1) - &line.2.0);
        }
        6 => {
            let line = &mut hints.supports[supports];
            line.3 = Number(other_number(stream, &line.3.0));
        }
        _ => forge_prices(&mut hints.supports[supports].4, stream),
    }
    true
}

/// Is a proof by hints accepted, with the bounds of units that it rests on?
fn holds(case: &Case, (proof, lines): &(NodeProof, Vec<BoundsLine>)) -> bool {
    with_checker(case, false, |checker: &Checker| {
        lines.iter().all(|line| checker.bounds(line).is_ok()) && checker.check(proof).is_ok()
    })
}

/// `R ≤ Ĥ ≤ S` at every perturbation, for representations 4 and up.
fn units_are_enclosed(name: &str, case: &Case, truth: &Truth, tally: &mut Tally) {
    let certifier = certifier_of(&case.graph, &case.network, case.budget.clone(), Bound::Best);
    for (layer, bounds) in certifier.activation_bounds().iter().enumerate().skip(2) {
        for (node, unit) in (0..case.graph.node_count()).flat_map(|node| (0..bounds.width).map(move |j| (node, j))) {
            let (lower, upper) = (bounds.lower(node)[unit], bounds.upper(node)[unit]);
            let exact = |at: usize| &truth.representations[at][layer][node][unit];
            let enclosed =
                (0..truth.perturbations.len()).all(|at| at_most(lower, exact(at)) && at_least(upper, exact(at)));
            if !enclosed {
                tally.fail(format!(
                    "{name}: layer {} node {node} unit {unit} outside [{lower:e}, {upper:e}]",
                    layer + 2
                ));
            }
            tally.count(case.style, if lower < 0.0 && upper > 0.0 { "unstable units" } else { "stable units" });
        }
    }
}

/// Proofs of a node that is only just robust, with bends of layer 3 and bounds of layers 4 and 5 by such bends, changed
/// in every way: none may be accepted where the node is not robust.
fn judge(seed: u64, workspace: &mut Workspace, tally: &mut Tally) {
    let case = tall(seed);
    if !(2..=150).contains(&admissible(&case).len()) {
        return;
    }
    let name = format!("seed {seed}");
    let Some(truth) = Truth::new(&case, 150) else { return };
    units_are_enclosed(&name, &case, &truth, tally);
    let stream = &mut Stream::new(seed ^ 0x0fa1_5ebe);
    let target = stream.below(case.graph.node_count());
    let Some((robust, broken)) = robust_and_broken(&case, target, stream) else { return };
    let certifier = certifier_of(&robust.graph, &robust.network, robust.budget.clone(), Bound::Best)
        .with_effort(Effort::Complete(Limits { nodes: 200, ..Limits::default() }))
        .with_proofs();
    let result = certifier.certify_class(target, 0, 0, workspace);
    let written = with_checker(&robust, false, |checker| {
        let Line::Node(proof) = result.proof_line(checker).into_line() else { return None };
        Some((checker.expand(&proof).ok()?, checker.expanded_bounds(target as u32), proof))
    });
    let Some((expanded, lines, short)) = written else { return tally.count(case.style, "unproved") };
    if !matches!(short.claim, Claim::Robust(_)) {
        return tally.fail(format!("{name}: FALSE WITNESS {short:?}"));
    }
    tally.count(case.style, "proved");
    let bent = |line: &BoundsLine| {
        line.layer > 3 && line.units.iter().any(|unit| unit.1.0.iter().chain(&unit.2.0).any(|h| !h.nested.is_empty()))
    };
    tally.add(case.style, "bounds above layer 3 by bends", lines.iter().filter(|line| bent(line)).count());
    let honest = (expanded, lines);
    if !holds(&robust, &honest) {
        tally.fail(format!("{name}: ITS OWN PROOF REJECTED {:?}", honest.0));
    }
    let mut candidates = vec![honest];
    for _ in 0..12 {
        let (mut proof, mut lines) = candidates[stream.below(candidates.len().min(4))].clone();
        if forge(&mut proof, &mut lines, stream) {
            candidates.push((proof, lines));
        }
    }
    for candidate in &candidates {
        if holds(&broken, candidate) {
            tally.fail(format!("{name}: FALSE PROOF ACCEPTED {:?}", candidate.0));
        }
    }
    if [false, true].into_iter().any(|exact| with_checker(&broken, exact, |checker| checker.check(&short).is_ok())) {
        tally.fail(format!("{name}: FALSE SHORT PROOF ACCEPTED {short:?}"));
    }
    let still = candidates[1..].iter().filter(|candidate| holds(&robust, candidate)).count();
    tally.add(case.style, "forged", candidates.len() - 1);
    tally.add(case.style, "forged and still right where robust", still);
}

#[test]
fn bounds_above_representation_3_hold_and_forged_bends_do_not() {
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    for seed in seeds(200) {
        judge(seed, &mut workspace, &mut tally);
    }
    tally.conclude();
    let (bent, forged) = (tally.sum("bounds above layer 3 by bends"), tally.sum("forged"));
    let still = tally.sum("forged and still right where robust");
    assert!(bent > 30 && forged > 300 && still > 20 && still < forged, "too few of them to mean anything");
}
