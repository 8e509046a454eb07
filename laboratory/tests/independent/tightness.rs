//! A bound that is valid but loose breaks no verdict: here bounds are held against their formulas, from both sides.

use std::sync::Arc;

use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::backward::{Backward, Located};
use gcnproof::internals::bound::exact::{BranchLines, First};
use gcnproof::internals::bound::hidden::Hidden;
use gcnproof::internals::bound::line::chord::{line, line_at};
use gcnproof::internals::bound::line::envelope::{Envelope, EnvelopePrices, ListedBudgets};
use gcnproof::internals::bound::relaxed::{Relaxation, Relaxed};
use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::budget::Decided;
use gcnproof::internals::problem::exact::{ExactProblem, ExactUnits, Sums};
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Bound, Flip};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::dual::{Textbook, default_slopes};
use gcnproof_verify::random::Stream;

use crate::common::{self, certifier_of};

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

/// By hand: the chord of `−2·relu` from −1 to 3 has slope −1.5 and passes −1.5 at 0; below `2·relu` the line through 0
/// of slope 1.5.
#[test]
fn lines_are_where_they_belong() {
    let expect = |(slope, kappa): (f64, f64), (s, k): (f64, f64)| {
        assert!(near(slope, s) && near(kappa, k), "{slope} z + {kappa}, not {s} z + {k}");
        assert!(kappa <= k, "{kappa} is above {k}");
    };
    expect(line(-2.0, 0.0, -1.0, 3.0), (-1.5, -1.5));
    expect(line(2.0, 0.0, -1.0, 3.0), (1.5, 0.0));
    expect(line_at(0.25, 2.0, 0.0, -1.0, 3.0), (0.5, 0.0));
    expect(line_at(0.25, -2.0, 0.0, -1.0, 3.0), (-1.5, -1.5));
    expect(line(0.0, 0.0, -1.0, 3.0), (0.0, 0.0));
    // What the coefficient may be off by costs its error times S.
    expect(line(-2.0, 0.5, -1.0, 3.0), (-1.5, -3.0));
    expect(line(2.0, 1.0, -1.0, 3.0), (1.5, -1.5));
    // Active, inactive, and both borders.
    expect(line(-2.0, 0.5, 1.0, 3.0), (-2.0, -1.5));
    expect(line(-2.0, 0.0, 0.0, 3.0), (-2.0, 0.0));
    expect(line(-2.0, 0.5, -1.0, 0.0), (0.0, 0.0));
    expect(line(-2.0, 0.5, -1.0, -0.5), (0.0, 0.0));
}

/// Whatever is rounded in a line is rounded away from `a·relu`.
#[test]
fn lines_lie_below_in_exact_arithmetic() {
    use gcnproof::internals::number::dyadic::Dyadic;
    let exact = |x: f64| Dyadic::from_f64(x);
    let mut tight = 0;
    for at in 1..4_000u32 {
        let number = |k: u32| {
            f64::from(at.wrapping_mul(2_654_435_761).wrapping_add(k.wrapping_mul(40_503)) % 9_973) / 977.0 + 0.1
        };
        let (a, r, s) = (-number(1), -number(2), number(3));
        let (slope, kappa) = line(a, 0.0, r, s);
        for z in [r, 0.0, s] {
            let below = &(&exact(slope) * &exact(z)) + &exact(kappa);
            let above = if z > 0.0 { &exact(a) * &exact(z) } else { exact(0.0) };
            let gap = &above - &below;
            assert!(gap.sign() != std::cmp::Ordering::Less, "{a} on [{r}, {s}] at {z}");
            tight += usize::from(z != 0.0 && gap.ceil_f64() < 1e-12);
        }
    }
    assert!(tight > 7_000, "{tight}");
}

/// The paper's bound is the textbook's, which shares no code with it.
#[test]
fn the_dual_is_the_textbooks() {
    let mut workspace = Workspace::default();
    for seed in 0..1_500 {
        let problem = common::problem(seed, 2 + (seed % 4) as usize);
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        for node in 0..problem.graph.node_count().min(3) {
            let (instance, _) = instance_of(certifier.prepared(), node, 0, 1);
            let textbook = Textbook::new(&instance, &default_slopes(&instance)).value(&instance);
            let found = certifier.prepared().pair_bound(node, 0, 1, Relaxation::Paper, &mut workspace);
            assert!(near(found.value, textbook), "seed {seed}, node {node}: {found:?}, textbook {textbook}");
            assert!(found.error <= 1e-9 * (1.0 + textbook.abs()), "seed {seed}, node {node}: {found:?}");
        }
    }
}

/// Activation bounds are never looser than the naive ones, at any layer.
#[test]
fn bounds_are_as_tight_as_the_naive_ones() {
    for seed in 0..1_500 {
        let problem = common::problem(seed, 3 + (seed % 3) as usize);
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let (instance, _) = instance_of(certifier.prepared(), 0, 0, 1);
        let (lower, upper) = instance.naive_bounds().unwrap();
        for l in 0..lower.len() {
            for at in 0..lower[l].values.len() {
                let (r, s) = (instance.lower[l].values[at], instance.upper[l].values[at]);
                let (low, high) = (lower[l].values[at], upper[l].values[at]);
                assert!(r >= low - 1e-9 && s <= high + 1e-9, "layer {}: [{r}, {s}], naive [{low}, {high}]", l + 2);
            }
        }
    }
}

/// The f64 evaluation of a bound never lies above what exact arithmetic says it is. (It may lie well below: where
/// rounding hides the sign of a number, it takes the safe slope and exact arithmetic the best one.)
#[test]
fn no_bound_lies_above_its_exact_value() {
    let mut workspace = Workspace::default();
    for seed in 0..400 {
        let depth = 2 + (seed % 4) as usize;
        let problem = common::problem(seed, depth);
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let mut slice = Slice::default();
        for node in 0..problem.graph.node_count() {
            slice.cut(&problem.gcn, depth, node);
            let sums = Sums::new(problem.graph.node_count());
            let (free, units) = (Decided::default(), &mut ExactUnits::default());
            let mut exact = ExactProblem {
                graph: &problem.graph,
                network: &problem.gcn,
                slice: &slice,
                sums: &sums,
                units,
                watch: None,
            };
            for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                let (bounds, objective) = (certifier.activation_bounds(), [(0, 1.0), (1, -1.0)]);
                let lines = BranchLines {
                    decided: &free,
                    bounds: Located::Graph(bounds),
                    first: First::Default(relaxation),
                    omega: &[],
                    signs: &[],
                    hint: &[],
                };
                let value = exact.lower_bound(&problem.budget, &objective, &lines);
                let high = value.map_or(f64::INFINITY, |(value, _)| value.ceil_f64());
                let found = certifier.prepared().pair_bound(node, 0, 1, relaxation, &mut workspace);
                assert!(found.lower() <= high, "{relaxation:?}: {found:?} above the exact {high}");
            }
        }
    }
}

/// The changes towards zero of one unit, as many as the budget allows: the largest first.
fn towards(problem: &common::Problem, (m, unit, z): (usize, usize, f64)) -> Vec<f64> {
    let common::Problem { graph, gcn, budget, .. } = problem;
    let layer = &gcn.layers()[0];
    let mut changes: Vec<f64> = Vec::new();
    let (columns, entries) = layer.passing.single_row(m);
    for (n, &a) in columns.iter().map(|&n| n as usize).zip(entries) {
        let change = |d: usize| {
            let present = graph.attributes().contains(n, d as u32);
            let change = a * layer.weight.get(d, unit) * if present { -1.0 } else { 1.0 };
            budget.permits(n, d, present).then_some(if z < 0.0 { change } else { -change })
        };
        let mut of_node: Vec<f64> = (0..graph.attribute_count()).filter_map(change).filter(|x| *x > 0.0).collect();
        of_node.sort_by(|x, y| y.total_cmp(x));
        changes.extend(of_node.into_iter().take(budget.local(n)));
    }
    changes.sort_by(|x, y| y.total_cmp(x));
    changes.truncate(budget.global());
    changes
}

/// The level up to which changes fill the room.
fn level(room: f64, changes: &[f64]) -> f64 {
    let rest = |i: usize| changes[i..].iter().sum::<f64>();
    (1..=changes.len()).map(|i| (room - rest(i)) / i as f64).fold(0.0, f64::max)
}

/// The levels of all caps, by listing every flip.
#[test]
fn caps_are_the_naive_ones() {
    let (mut capped, mut stable) = (0, 0);
    for seed in 0..1_500 {
        let problem = common::problem(seed, 3 + (seed % 2) as usize);
        let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let bounds = &certifier.activation_bounds()[0];
        for m in 0..problem.graph.node_count() {
            for unit in 0..bounds.width {
                let (z, cap) = (certifier.unperturbed()[0].row(m)[unit], bounds.caps(m)[unit]);
                if bounds.lower(m)[unit] >= 0.0 || bounds.upper(m)[unit] <= 0.0 {
                    assert_eq!(cap, Default::default(), "seed {seed}: stable");
                    stable += 1;
                    continue;
                }
                let changes = towards(&problem, (m, unit, z));
                let level = level(z.abs(), &changes);
                assert!(near(cap.level, level) && cap.level <= level, "seed {seed}: {cap:?}, not {level}");
                let largest = changes.first().copied().unwrap_or(0.0);
                assert!(near(cap.largest, largest) && cap.largest >= largest, "seed {seed}: {cap:?}, not {largest}");
                capped += usize::from(level > 0.0);
            }
        }
    }
    assert!(capped > 1_000 && stable > 1_000, "{capped} {stable}");
}

/// The whole bound with envelopes, chords and capped bounds in any mixture, by listing every flip.
#[test]
fn envelopes_are_what_the_formula_says() {
    let (mut used, mut given_back) = (0, 0);
    let mut selection = Selection::default();
    let mut random = Stream::new(7);
    for seed in 0..4_000u64 {
        let problem = common::problem(seed, 3);
        let common::Problem { graph, gcn, budget, .. } = &problem;
        let certifier = certifier_of(graph, gcn, budget.clone(), Bound::Best);
        let attributes = Attributes::new(&gcn.layers()[0], budget);
        let mut slice = Slice::default();
        slice.cut(gcn, 3, seed as usize % graph.node_count());
        let mut hidden = Hidden::default();
        hidden.load(&slice, &certifier.unperturbed()[0], &certifier.activation_bounds()[0]);
        let flips: Vec<Flip> = slice
            .nodes(1)
            .iter()
            .flat_map(|&node| (0..graph.attribute_count() as u32).map(move |attribute| Flip { node, attribute }))
            .filter(|flip| {
                let present = graph.attributes().contains(flip.node as usize, flip.attribute);
                budget.permits(flip.node as usize, flip.attribute as usize, present)
            })
            .collect();
        let mut envelope = Envelope::new(hidden.count());
        flips.iter().filter(|_| random.chance(30)).for_each(|&flip| envelope.list(flip));
        for unit in 0..hidden.count() {
            let mut price = || if random.chance(50) { random.real() } else { 0.0 };
            let (every, node) = (price(), envelope.nodes.iter().map(|_| price()).collect());
            let single = envelope.flips.iter().map(|_| price()).collect();
            envelope.units[unit] = EnvelopePrices { share: [0.0, 0.25, 1.0][random.below(3)], every, node, single };
        }
        let weights: Vec<f64> = (0..hidden.count()).map(|_| [0.0, 0.5, 1.0][random.below(3)]).collect();
        let mut backward = Backward::default();
        backward.run(gcn, &slice, certifier.activation_bounds(), &[(0, 1.0), (1, -1.0)]);
        let coefficients = backward.coefficients().0.to_vec();
        let (global, weight) = (budget.global() as f64, &gcn.layers()[0].weight);
        // By hand, unit by unit and flip by flip.
        let mut naive = backward.constant().close().value;
        let mut loss = vec![0.0; flips.len()];
        for (unit, &a) in coefficients.iter().enumerate() {
            let (z, r, s) = (hidden.value[unit], hidden.lower[unit], hidden.upper[unit]);
            let change = |flip: &Flip| {
                let n = slice.position(flip.node).unwrap();
                let entry =
                    slice.reaching(n).find(|entry| entry.1 == unit / hidden.width).map_or(0.0, |entry| entry.2[0]);
                let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
                sign * entry * weight.get(flip.attribute as usize, unit % hidden.width)
            };
            let changes: Vec<f64> = flips.iter().map(change).collect();
            if a >= 0.0 || r >= 0.0 || s <= 0.0 {
                let slope = if s <= 0.0 {
                    0.0
                } else if r >= 0.0 {
                    a
                } else {
                    weights[unit] * a
                };
                naive += slope * z;
                loss.iter_mut().zip(&changes).for_each(|(loss, g)| *loss -= slope * g);
                continue;
            }
            let prices = &envelope.units[unit];
            let (share, w) = (prices.share, weights[unit]);
            let (mut on, mut off) = (z, 0.0);
            let mut pay = |count: f64, price: f64| if price > 0.0 { on += count * price } else { off -= count * price };
            pay(global, prices.every);
            for (&n, &price) in envelope.nodes.iter().zip(&prices.node) {
                pay((budget.local(n as usize) as f64).min(global), price);
            }
            prices.single.iter().for_each(|&price| pay(1.0, price));
            let chord = s / (s - r);
            let level = hidden.cap[unit].level;
            naive += a * (share * on.max(off) + (1.0 - share) * (w * chord * (z - r) + (1.0 - w) * z.max(0.0)));
            for ((loss, &g), flip) in loss.iter_mut().zip(&changes).zip(&flips) {
                let of = |list: &[f64], at: Option<usize>| at.map_or(0.0, |at| list[at]);
                let place = |node: &u32| *node == flip.node;
                let parts = [
                    prices.every,
                    of(&prices.node, envelope.nodes.iter().position(place)),
                    of(&prices.single, envelope.flips.iter().position(|known| known == flip)),
                ];
                let sum = |sign: f64| parts.iter().map(|price| (sign * price).max(0.0)).sum::<f64>();
                let arch = (g - sum(1.0)).max(-sum(-1.0));
                let capped = if z < 0.0 { (g - level).max(0.0) } else { g.max(-level) };
                *loss -= a * (share * arch + (1.0 - share) * (w * chord * g + (1.0 - w) * capped));
                given_back += usize::from(g == 0.0 && share > 0.0 && arch < 0.0);
            }
            used += usize::from(share > 0.0);
        }
        let mut worst: Vec<f64> = Vec::new();
        for &node in slice.nodes(1) {
            let of_node = flips.iter().zip(&loss).filter(|flip| flip.0.node == node).map(|flip| *flip.1);
            let mut of_node: Vec<f64> = of_node.filter(|loss| *loss > 0.0).collect();
            of_node.sort_by(|x, y| y.total_cmp(x));
            worst.extend(of_node.into_iter().take(budget.local(node as usize)));
        }
        worst.sort_by(|x, y| y.total_cmp(x));
        naive -= worst.iter().take(budget.global()).sum::<f64>();
        let left = ListedBudgets::new(&envelope, budget, &Decided::default());
        hidden.envelope = Some((Arc::new(envelope), left));
        let mut relaxed = Relaxed::default();
        relaxed.mixed(&backward, &hidden, &weights, None);
        let mut slopes = Slopes::default();
        let error = relaxed.spread(&slice, hidden.width, attributes.norm(0), &mut slopes);
        let decided = Decided::default();
        let layer = &gcn.layers()[0];
        let space = SearchSpace { graph, layer, budget, decided: &decided, attributes: &attributes, row_sums: None };
        selection.forget();
        let found = relaxed.base.close().lower() - selection.select(&space, &slice, &slopes);
        assert!(near(found, naive) && error < 1e-9, "seed {seed}: {found}, not {naive}");
    }
    assert!(used > 800 && given_back > 80, "{used} {given_back}");
}
