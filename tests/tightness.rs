//! A bound that is valid but loose breaks no verdict: here bounds are held against their formulas, from both sides.
#![allow(missing_docs)]

mod common;

use gcnproof::bounds::first_hidden_in_branch;
use gcnproof::budget::Restriction;
use gcnproof::certifier::{Bound, Certifier, Workspace};
use gcnproof::dual::{line, line_at};
use gcnproof::exact::{ExactProblem, Relaxation};
use gcnproof::slice::Slice;
use gcnproof_verify::dual::{Textbook, default_slopes};

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

/// By hand: the chord of `−2·relu` from −1 to 3 has slope −1.5 and passes −1.5 at 0; below `2·relu` the line through 0 of slope 1.5.
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
    use gcnproof::dyadic::Dyadic;
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
        let certifier = Certifier::new(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        for node in 0..problem.graph.node_count().min(3) {
            let (instance, _) = certifier.instance(node, 0, 1);
            let textbook = Textbook::new(&instance, &default_slopes(&instance)).value(&instance);
            let found = certifier.bound_alone(node, (0, 1), Relaxation::Paper, &mut workspace);
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
        let certifier = Certifier::new(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let (instance, _) = certifier.instance(0, 0, 1);
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

/// The f64 evaluation of a bound never lies above what exact arithmetic says it is. (It may lie well below: where rounding
/// hides the sign of a number, it takes the safe slope and exact arithmetic the best one.)
#[test]
fn no_bound_lies_above_its_exact_value() {
    let mut workspace = Workspace::default();
    for seed in 0..400 {
        let depth = 2 + (seed % 4) as usize;
        let problem = common::problem(seed, depth);
        let certifier = Certifier::new(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let mut slice = Slice::default();
        for node in 0..problem.graph.node_count() {
            slice.cut(&problem.gcn, depth, node);
            let exact = ExactProblem { graph: &problem.graph, gcn: &problem.gcn, slice: &slice };
            for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                let (bounds, objective) = (certifier.activation_bounds(), [(0, 1.0), (1, -1.0)]);
                let value = exact.lower_bound(&problem.budget, bounds, &objective, relaxation);
                let high = value.map_or(f64::INFINITY, |value| value.ceil_f64());
                let found = certifier.bound_alone(node, (0, 1), relaxation, &mut workspace);
                assert!(found.lower() <= high, "{relaxation:?}: {found:?} above the exact {high}");
            }
        }
    }
}

/// The changes towards zero of one unit by flips of some nodes, as many as the budget allows: the largest first.
fn towards(problem: &common::Problem, (m, unit, z): (usize, usize, f64), of: impl Fn(usize) -> bool) -> Vec<f64> {
    let common::Problem { graph, gcn, budget, .. } = problem;
    let layer = &gcn.layers()[0];
    let mut changes: Vec<f64> = Vec::new();
    let (columns, entries) = layer.passing.row(m);
    for (n, &a) in columns.iter().map(|&n| n as usize).zip(entries).filter(|entry| of(entry.0)) {
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
        let certifier = Certifier::new(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best);
        let bounds = &certifier.activation_bounds()[0];
        for m in 0..problem.graph.node_count() {
            for unit in 0..bounds.width {
                let (z, cap) = (certifier.unperturbed()[0].row(m)[unit], bounds.caps(m)[unit]);
                if bounds.lower(m)[unit] >= 0.0 || bounds.upper(m)[unit] <= 0.0 {
                    assert_eq!(cap, Default::default(), "seed {seed}: stable");
                    stable += 1;
                    continue;
                }
                let changes = towards(&problem, (m, unit, z), |_| true);
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

/// The levels by node, for any payers, by the same list.
#[test]
fn payers_pay_what_the_formula_says() {
    let (mut paid, mut shared) = (0, 0);
    let mut slice = Slice::default();
    for seed in 0..1_500u64 {
        let problem = common::problem(seed, 3);
        let common::Problem { graph, gcn, budget, .. } = &problem;
        let certifier = Certifier::new(graph, gcn, budget.clone(), Bound::Best);
        slice.cut(gcn, 3, seed as usize % graph.node_count());
        let values = &certifier.unperturbed()[0];
        let rows = |of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
            slice.nodes(2).iter().flat_map(|&m| of(m as usize)).collect()
        };
        let (value, error) = (rows(&|m| values.row(m).to_vec()), rows(&|m| values.errors(m).to_vec()));
        // Every second or third node, in falling order.
        let step = 2 + (seed % 2) as u32;
        let payers: Vec<u32> = (0..slice.nodes(1).len() as u32).rev().filter(|n| n % step == 0).collect();
        let means = (budget, &Restriction::default());
        let (bounds, levels) =
            first_hidden_in_branch(graph, certifier.columns(), means, &slice, (&value, &error), &payers);
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            for unit in 0..bounds.width {
                let at = m * bounds.width + unit;
                let z = value[at];
                if bounds.lower[at] >= 0.0 || bounds.upper[at] <= 0.0 || bounds.caps[at].level == 0.0 {
                    continue;
                }
                let mut room = z.abs();
                let mut expected = Vec::new();
                let row: Vec<(usize, usize, f64)> = slice.receiving(m).collect();
                for &payer in &payers {
                    let Some(&(entry, n, _)) = row.iter().find(|entry| entry.1 == payer as usize) else { continue };
                    let changes =
                        towards(&problem, (node as usize, unit, z), |n| n == slice.nodes(1)[payer as usize] as usize);
                    expected.push((entry, n, level(room, &changes)));
                    room = (room - changes.iter().sum::<f64>()).max(0.0);
                    paid += 1;
                }
                let pays = |node: usize| payers.iter().any(|&n| slice.nodes(1)[n as usize] as usize == node);
                let rest = level(room, &towards(&problem, (node as usize, unit, z), |n| !pays(n)));
                for &(entry, n, _) in row.iter().filter(|entry| !payers.contains(&(entry.1 as u32))) {
                    expected.push((entry, n, rest));
                    shared += 1;
                }
                for (entry, n, expected) in expected {
                    let found = levels.level(entry, unit, f64::NAN);
                    assert!(
                        (found - expected).abs() <= 1e-9 * (1.0 + z.abs()),
                        "seed {seed}, node {n}: {found}, not {expected}"
                    );
                    assert!(found <= expected + 1e-15 * z.abs(), "seed {seed}, node {n}: {found} above {expected}");
                }
            }
        }
    }
    assert!(paid > 500 && shared > 300, "{paid} {shared}");
}
