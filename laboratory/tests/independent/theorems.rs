//! The theorems as properties: what the paper proves and we rely on, on random networks of depth 2 to 5 with awkward
//! features (ties, zeros, negative message passing, frozen entries, budgets of nothing and of everything).
//!
//! proptest draws the seeds and keeps those that fail in `theorems.proptest-regressions`; a failing network is made
//! small by the laboratory's own press and printed as matrices, because a smaller seed is not a smaller network.
#![allow(missing_docs, clippy::needless_range_loop)]

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::{Bound, Budget, Certifier, Network, Operator, Verdict};
use gcnproof_files::{DenseMatrix, SparseMatrix};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_laboratory::measurement::Settings;
use gcnproof_laboratory::{measurement, shrink};
use gcnproof_results::record::chain;
use gcnproof_verify::dual::{Multipliers, Textbook, default_slopes};
use gcnproof_verify::random::{self, Stream};
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Dense, Flip, Form, Instance, Layer, Program, enumeration, relaxation};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::common::{self, Problem, certifier_of};

const TOLERANCE: f64 = 1e-6;
const LIMIT: u128 = 5_000;

fn config() -> ProptestConfig {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent/theorems.proptest-regressions");
    let failure_persistence = Some(Box::new(FileFailurePersistence::Direct(kept)) as _);
    ProptestConfig { cases: 200, max_shrink_iters: 0, failure_persistence, ..ProptestConfig::default() }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= TOLERANCE * (1.0 + left.abs().max(right.abs()))
}

fn below(left: f64, right: f64) -> bool {
    left <= right + TOLERANCE * (1.0 + left.abs().max(right.abs()))
}

fn lp(instance: &Instance) -> f64 {
    let model = relaxation::linear_program(instance, Form::Compact).unwrap();
    Highs.solve(&model.program, &Limits::default()).optimum().expect("a tiny LP is solved")
}

fn ilp(instance: &Instance) -> f64 {
    let model = relaxation::integer_program(instance, Form::Compact).unwrap();
    Highs.solve(&model.program, &Limits::default()).optimum().expect("a tiny ILP is solved")
}

fn truth(instance: &Instance) -> f64 {
    enumeration::minimum(instance, LIMIT).expect("the generator's instances are small").margin
}

/// A random Ω in `[0, 1]`, with many entries at the ends.
fn slopes(instance: &Instance, seed: u64) -> Vec<Dense> {
    let mut stream = Stream::new(seed);
    let mut slopes = instance.upper.clone();
    for slope in slopes.iter_mut().flat_map(|slopes| &mut slopes.values) {
        *slope = [0.0, 1.0, stream.real().abs(), stream.real().abs()][stream.below(4)];
    }
    slopes
}

/// Asserts a property of a random graph convolutional network and of a random network of terms; where it fails, the
/// network is shrunk before it is shown.
fn hold(seed: u64, depth: usize, property: impl Fn(&Instance) -> Result<(), String>) -> Result<(), TestCaseError> {
    for instance in [random::instance(seed, depth), random::network_of_terms(seed, depth)] {
        if let Err(reason) = property(&instance) {
            let small = shrink::shrink(instance, |smaller| property(smaller).is_err());
            let again = property(&small).err().unwrap_or(reason);
            return Err(TestCaseError::fail(format!("{again}\n{}", shrink::describe(&small))));
        }
    }
    Ok(())
}

/// What is shown of a network of terms is what matters: here a margin that is negative only because a unit has no
/// activation.
#[test]
fn a_network_of_terms_is_shrunk_to_what_matters() {
    let clipped = |instance: &Instance| {
        let mut instance = instance.clone();
        instance.layers.iter_mut().for_each(|layer| layer.linear.clear());
        instance.forward(&[])
    };
    let matters = |instance: &Instance| instance.forward(&[]) < -0.25 && clipped(instance) >= 0.0;
    let mut shrunk = 0;
    for seed in 0..200 {
        let instance = random::network_of_terms(seed, 4);
        if !matters(&instance) {
            continue;
        }
        let small = shrink::shrink(instance, matters);
        assert!(matters(&small) && small.validate().is_ok(), "seed {seed}");
        let text = shrink::describe(&small);
        let plain = |layer: &Layer| layer.terms.len() == 1 && layer.bias.rows <= 1 && layer.rows() <= 1;
        assert!(small.layers.iter().all(plain) && text.contains("no activation at units"), "seed {seed}\n{text}");
        shrunk += 1;
    }
    assert!(shrunk >= 5, "{shrunk}");
}

fn expect(condition: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what()) }
}

proptest! {
    #![proptest_config(config())]

    /// `g(Ω, η, ρ) ≤ m̂ ≤ m̃ ≤ m` for *any* Ω in [0, 1] and any η, ρ ≥ 0.
    #[test]
    fn weak_duality(seed: u64, other: u64, depth in 2usize..=5) {
        hold(seed, depth, |instance| {
            let textbook = Textbook::new(instance, &slopes(instance, other));
            let mut stream = Stream::new(other ^ 1);
            let optimum = lp(instance);
            for size in [0.0, 0.1, 1.0, 10.0] {
                let mut any = || if stream.chance(30) { 0.0 } else { size * stream.real().abs() };
                let multipliers = Multipliers { eta: (0..instance.nodes()).map(|_| any()).collect(), rho: any() };
                let g = textbook.at(instance, &multipliers);
                expect(below(g, textbook.value(instance)), || format!("η, ρ better than the best: {g}"))?;
                expect(below(g, optimum), || format!("g = {g} above the LP's {optimum}"))?;
            }
            let g = textbook.value(instance);
            expect(below(g, optimum), || format!("g = {g} above the LP's {optimum}"))?;
            let (m_tilde, m) = (ilp(instance), truth(instance));
            expect(below(optimum, m_tilde) && below(m_tilde, m), || format!("LP {optimum}, ILP {m_tilde}, m {m}"))
        })?;
    }

    /// The best Ω attains the LP.
    #[test]
    fn strong_duality(seed: u64, depth in 2usize..=5) {
        hold(seed, depth, |instance| {
            let model = relaxation::linear_program(instance, Form::Appendix).unwrap();
            let answer = Highs.solve(&model.program, &Limits::default());
            let best = relaxation::optimal_slopes(&model, instance, &answer).ok_or("no duals")?;
            let (g, optimum) = (Textbook::new(instance, &best).value(instance), answer.optimum().ok_or("unsolved")?);
            expect(close(g, optimum), || format!("max g = {g}, LP = {optimum}"))
        })?;
    }

    /// Theorem 4: the closed form of η and ρ solves the LP in η, ρ (and U), at any Ω.
    #[test]
    fn closed_form_of_the_multipliers(seed: u64, other: u64, depth in 2usize..=5) {
        hold(seed, depth, |instance| {
            let textbook = Textbook::new(instance, &slopes(instance, other));
            let losses = textbook.losses(instance);
            let most = losses.iter().flatten().map(|loss| loss.1).fold(1.0, f64::max);
            let mut program = Program { offset: -textbook.constant, ..Program::default() };
            let rho = program.add_variable("rho", 0.0, most);
            let entries = instance.nodes() * instance.dimension;
            program.variables[rho].objective = instance.global_budget.min(entries) as f64;
            for (node, row) in losses.iter().enumerate() {
                let eta = program.add_variable(format!("eta_{node}"), 0.0, most);
                program.variables[eta].objective = instance.local_budget[node].min(instance.dimension) as f64;
                for (attribute, loss) in row {
                    let u = program.add_variable(format!("u_{node}_{attribute}"), 0.0, most);
                    program.variables[u].objective = 1.0;
                    let terms = [(u, 1.0), (eta, 1.0), (rho, 1.0)];
                    program.add_row(format!("row_{node}_{attribute}"), *loss, f64::INFINITY, terms);
                }
            }
            let best = -Highs.solve(&program, &Limits::default()).optimum().ok_or("unsolved")?;
            let closed = textbook.value(instance);
            expect(close(best, closed), || format!("closed form {closed}, LP in η and ρ {best}"))?;
            let at = textbook.at(instance, &textbook.multipliers(instance));
            expect(close(at, closed), || format!("closed form {closed}, g at its multipliers {at}"))
        })?;
    }

    /// For a *fixed* Ω the inner minimum over the relaxed attributes is attained at a binary point.
    #[test]
    fn integrality_at_a_fixed_slope(seed: u64, other: u64, depth in 2usize..=5) {
        hold(seed, depth, |instance| {
            let textbook = Textbook::new(instance, &slopes(instance, other));
            let mut program = Program { offset: textbook.constant, ..Program::default() };
            let mut all = Vec::new();
            for node in 0..instance.nodes() {
                let mut row = Vec::new();
                for attribute in instance.flippable(node) {
                    // One step of flipping changes the relaxed margin by this much, possibly upwards.
                    let hat = textbook.hat.at(node, attribute as usize);
                    let at = program.add_variable(format!("flip_{node}_{attribute}"), 0.0, 1.0);
                    program.variables[at].objective = if instance.has(node, attribute) { hat } else { -hat };
                    row.push((at, 1.0));
                }
                all.extend(row.iter().copied());
                program.add_row(format!("row_{node}"), 0.0, instance.local_budget[node].min(99) as f64, row);
            }
            program.add_row("all", 0.0, instance.global_budget.min(99) as f64, all);
            let relaxed = Highs.solve(&program, &Limits::default()).optimum().ok_or("unsolved")?;
            let mut integral = f64::INFINITY;
            enumeration::visit(instance, LIMIT, |flips| {
                let change = |&(node, attribute): &Flip| {
                    let hat = textbook.hat.at(node, attribute as usize);
                    if instance.has(node, attribute) { hat } else { -hat }
                };
                integral = integral.min(textbook.constant + flips.iter().map(change).sum::<f64>());
            }).map_err(|error| error.to_string())?;
            expect(close(relaxed, integral), || format!("relaxed {relaxed}, best binary point {integral}"))?;
            let closed = textbook.value(instance);
            expect(close(closed, integral), || format!("closed form {closed}, best binary point {integral}"))
        })?;
    }

    /// `m̃ = m̂` where no unstable unit has a positive coefficient: then g does not depend on Ω either.
    #[test]
    fn integrality_without_positive_coefficients(seed: u64, other: u64, depth in 3usize..=5) {
        let mut instance = random::instance(seed, depth);
        // Message passing and the middle layers not negative, the last layer pulling the margin down.
        let terms = instance.layers.iter_mut().skip(1).flat_map(|layer| &mut layer.terms);
        terms.flat_map(|term| &mut term.passing.entries).for_each(|e| e.2 = e.2.abs());
        for l in 1..depth - 2 {
            instance.layers[l].terms[0].weight.values.iter_mut().for_each(|w| *w = w.abs());
        }
        let objective = instance.objective.clone();
        let last = &mut instance.layers[depth - 2].terms[0].weight;
        for row in 0..last.rows {
            for (class, c) in objective.iter().enumerate() {
                let w = last.at_mut(row, class);
                *w = if *c > 0.0 { -w.abs() } else { w.abs() };
            }
        }
        instance.fill_bounds().unwrap();
        let textbook = Textbook::new(&instance, &slopes(&instance, other));
        // Minus Φ̂ is the coefficient.
        prop_assert!(textbook.hidden.iter().flat_map(|hat| &hat.values).all(|&hat| hat >= 0.0));
        let (optimum, m_tilde, g) = (lp(&instance), ilp(&instance), textbook.value(&instance));
        prop_assert!(close(optimum, m_tilde) && close(optimum, g), "LP {optimum}, ILP {m_tilde}, g {g}\n{}",
            shrink::describe(&instance));
    }

    /// The certifier's layer-2 bounds are attained by an admissible perturbation, and all its bounds hold.
    #[test]
    fn layer_two_bounds_are_attained(seed: u64, depth in 3usize..=5) {
        let problem = common::problem(seed, depth);
        let certifier = certifier(&problem);
        let (instance, _) = instance_of(certifier.prepared(), 0, 0, 1);
        if let Ok((least, most)) = enumeration::extremes(&instance, LIMIT) {
            for l in 0..instance.lower.len() {
                for at in 0..instance.lower[l].values.len() {
                    let (r, s) = (instance.lower[l].values[at], instance.upper[l].values[at]);
                    let (low, high) = (least[l].values[at], most[l].values[at]);
                    prop_assert!(r <= low + 1e-9 && high - 1e-9 <= s, "layer {}: [{r}, {s}], [{low}, {high}]", l + 2);
                    prop_assert!(l > 0 || (low - r <= 1e-9 && s - high <= 1e-9), "[{r}, {s}] against [{low}, {high}]");
                }
            }
        }
    }

    /// A larger budget never raises m̂ or m, nor the anchored bound of a network with one hidden layer, whose slopes
    /// move one way only. (`g` at the default Ω may rise: Ω moves with R and S.)
    #[test]
    fn monotone_in_both_budgets(seed: u64, depth in 2usize..=5) {
        let problem = common::problem(seed, depth);
        let larger_local: Vec<i64> = problem.budget.locals().iter().map(|&q| i64::from(q) + 1).collect();
        let direction = problem.budget.direction();
        let base = problem.budget.with_global(problem.budget.global().min(2));
        let more = base.with_global(base.global() + 1);
        let frozen: Vec<i64> =
            (0..problem.graph.attribute_count()).filter(|&d| base.is_frozen(d)).map(|d| d as i64).collect();
        let wider = Budget::per_node(&problem.graph, base.global(), &larger_local).unwrap().with_direction(direction);
        let wider = if frozen.is_empty() { wider } else { wider.freeze_attributes(&problem.graph, &frozen).unwrap() };
        let number = |budget: &Budget| {
            let certifier = certifier_of(&problem.graph, &problem.gcn, budget.clone(), Bound::Best);
            let (mut instance, _) = instance_of(certifier.prepared(), 0, 0, 1);
            // The LP of the naive bounds: the certifier's tightened ones need not be monotone at depth 4.
            instance.fill_bounds().unwrap();
            let mut workspace = Workspace::default();
            let anchored = certifier.prepared().pair_bound(0, 0, 1, Relaxation::Anchored, &mut workspace).lower();
            let verdict = certifier.certify_node(0, &mut workspace).verdict;
            (lp(&instance), enumeration::minimum(&instance, LIMIT).ok().map(|m| m.margin), anchored, verdict)
        };
        let (optimum, m, anchored, verdict) = number(&base);
        for budget in [more, wider] {
            let (less, m_less, anchored_less, verdict_less) = number(&budget);
            prop_assert!(below(less, optimum), "LP rises from {optimum} to {less}");
            prop_assert!(depth > 3 || below(anchored_less, anchored), "anchored from {anchored} to {anchored_less}");
            if let (Some(m), Some(m_less)) = (m, m_less) {
                prop_assert!(below(m_less, m), "m rises from {m} to {m_less}");
            }
            prop_assert!(!(verdict == Verdict::NonRobust && verdict_less == Verdict::Robust));
        }
    }

    /// Names do not matter: relabelled nodes, permuted attributes and classes give the same numbers.
    #[test]
    fn invariant_under_relabelling(seed: u64, other: u64, depth in 2usize..=5) {
        let problem = common::problem(seed, depth);
        let mut stream = Stream::new(other);
        let nodes = permutation(&mut stream, problem.graph.node_count());
        let attributes = permutation(&mut stream, problem.graph.attribute_count());
        let classes = permutation(&mut stream, problem.gcn.class_count());
        let renamed = relabelled(&problem, &nodes, &attributes, &classes);
        let (left, right) = (certifier(&problem), certifier(&renamed));
        let mut workspace = Workspace::default();
        for node in 0..problem.graph.node_count() {
            for (y, k) in [(0, 1), (1, 0)] {
                for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                    let x = left.prepared().pair_bound(node, y, k, relaxation, &mut workspace).value;
                    let pair = (classes[y], classes[k]);
                    let z = right.prepared().pair_bound(nodes[node], pair.0, pair.1, relaxation, &mut workspace).value;
                    prop_assert!((x - z).abs() <= 1e-9 * (1.0 + x.abs()), "{relaxation:?} of node {node}: {x} and {z}");
                }
            }
            // Ties go to the smaller class number, so ask about one class rather than the predicted one.
            let x = left.certify_class(node, 0, 0, &mut workspace).verdict;
            let z = right.certify_class(nodes[node], classes[0], classes[0], &mut workspace).verdict;
            let opposite = [(Verdict::Robust, Verdict::NonRobust), (Verdict::NonRobust, Verdict::Robust)];
            prop_assert!(!opposite.contains(&(x, z)), "node {node}: {x:?} and {z:?}");
        }
    }

    /// The sliced network is the network: logits after flips, from the slice and from the whole graph.
    #[test]
    fn slices_change_nothing(seed: u64, other: u64, depth in 2usize..=5) {
        let problem = common::problem(seed, depth);
        let certifier = certifier(&problem);
        let mut stream = Stream::new(other);
        let (count, dimension) = (problem.graph.node_count(), problem.graph.attribute_count());
        let mut rows: Vec<Vec<u32>> = (0..count).map(|n| problem.graph.attributes().row(n).to_vec()).collect();
        let mut flipped = Vec::new();
        for node in 0..count {
            for attribute in (0..dimension as u32).filter(|_| stream.chance(40)) {
                flipped.push((node as u32, attribute));
                match rows[node].binary_search(&attribute) {
                    Ok(at) => drop(rows[node].remove(at)),
                    Err(at) => rows[node].insert(at, attribute),
                }
            }
        }
        let adjacency = (0..count).map(|n| problem.graph.adjacency().row(n).to_vec()).collect();
        let attacked = common::graph(adjacency, rows, dimension);
        let whole = certifier_of(&attacked, &problem.gcn, problem.budget.clone(), Bound::Best);
        let logits = whole.unperturbed().last().unwrap();
        for target in 0..count {
            let (instance, nodes) = instance_of(certifier.prepared(), target, 0, 1);
            let place = |node: u32| nodes.iter().position(|&n| n == node);
            let flips: Vec<Flip> = flipped.iter().filter_map(|&(node, d)| Some((place(node)?, d))).collect();
            let (sliced, full) = (instance.forward(&flips), logits.row(target)[0] - logits.row(target)[1]);
            prop_assert!((sliced - full).abs() <= 1e-9 * (1.0 + full.abs()), "target {target}: {sliced} and {full}");
        }
    }

    /// The certifier's numbers stand in the order `g ≤ m̂ ≤ m̃ ≤ m ≤ witness`, its default dual is the textbook's,
    /// anchored ≤ m with equality without a budget, and the laboratory's `m` is brute force's.
    #[test]
    fn every_number_is_in_order(seed: u64, depth in 2usize..=5) {
        let problem = common::problem(seed, depth);
        let certifier = certifier(&problem);
        let settings =
            Settings { max_cells: 1 << 20, full_cells: 0, max_integers: 10_000, seconds: 20.0, milp_seconds: 20.0 };
        let reference = certifier.predicted(0);
        let classes: Vec<usize> = (0..problem.gcn.class_count()).filter(|&class| class != reference).collect();
        for row in measurement::pairs(&certifier, &settings, 0, &classes) {
            prop_assert_eq!(chain::violations(&row), vec![]);
            prop_assert_eq!(&row.violation, &None);
            let (instance, _) = instance_of(certifier.prepared(), 0, reference, row.class as usize);
            let textbook = Textbook::new(&instance, &default_slopes(&instance)).value(&instance);
            let ours = row.dual_default.expect("always computed");
            prop_assert!((ours - textbook).abs() <= 1e-9 * (1.0 + ours.abs()), "{ours} and the textbook's {textbook}");
            let lps = [row.lp_highs, row.lp_good_lp, row.lp_minilp, row.lp_clarabel];
            prop_assert!(lps.iter().all(Option::is_some), "{row:?}");
            let (anchored, milp) = (row.anchored.expect("always"), row.milp.expect("small enough"));
            if let Ok(m) = enumeration::minimum(&instance, LIMIT) {
                prop_assert!(close(milp, m.margin), "milp {milp}, brute force {}", m.margin);
                prop_assert!(below(anchored, m.margin) && below(m.margin, row.witness.expect("always")));
                prop_assert!(problem.budget.global() > 0 || (anchored - m.margin).abs() <= 1e-9, "{anchored}, {m:?}");
            }
        }
    }

    /// A robust verdict rests on bounds that are positive, not merely not negative (ties are many here).
    #[test]
    fn robust_means_positive_bounds(seed: u64, depth in 2usize..=5, choice in 0usize..3) {
        // A hundred problems a case: exact zeros are rare.
        for step in 0..100 {
            let problem = common::problem(seed.wrapping_add(step), depth);
            let bound = [Bound::Best, Bound::Paper, Bound::Anchored][choice];
            let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), bound);
            for node in 0..problem.graph.node_count() {
                let result = certifier.certify_node(node, &mut Workspace::default());
                let positive = result.margins.iter().all(|margin| margin.lower > 0.0);
                prop_assert!(result.verdict != Verdict::Robust || positive, "{result:?}");
            }
        }
    }
}

fn certifier(problem: &Problem) -> Certifier {
    certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best)
}

/// `permutation[old] = new`.
fn permutation(stream: &mut Stream, length: usize) -> Vec<usize> {
    let mut list: Vec<usize> = (0..length).collect();
    for at in 1..length {
        list.swap(at, stream.below(at + 1));
    }
    list
}

fn relabelled(problem: &Problem, nodes: &[usize], attributes: &[usize], classes: &[usize]) -> Problem {
    let (graph, gcn) = (&problem.graph, &problem.gcn);
    let rows = |pattern: &gcnproof::internals::problem::matrix::Pattern, columns: &[usize]| {
        let mut rows = vec![Vec::new(); nodes.len()];
        for node in 0..nodes.len() {
            rows[nodes[node]] = pattern.row(node).iter().map(|&c| columns[c as usize] as u32).collect::<Vec<u32>>();
            rows[nodes[node]].sort_unstable();
        }
        rows
    };
    let renamed = common::graph(rows(graph.adjacency(), nodes), rows(graph.attributes(), attributes), attributes.len());
    let (mut layers, mut rules) = (Vec::new(), Vec::new());
    let last = gcn.layers().len() - 1;
    for (l, layer) in gcn.layers().iter().enumerate() {
        let (w, mut bias) = (&layer.weight, layer.bias.values().to_vec());
        let mut values = vec![0.0; w.rows() * w.columns()];
        for row in 0..w.rows() {
            for column in 0..w.columns() {
                let to = (if l == 0 { attributes[row] } else { row }, if l == last { classes[column] } else { column });
                values[to.0 * w.columns() + to.1] = w.get(row, column);
                bias[to.1] = layer.bias.values()[column];
            }
        }
        layers.push((DenseMatrix { rows: w.rows(), columns: w.columns(), values }, bias));
        let mut entries: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes.len()];
        for node in 0..nodes.len() {
            let (indices, values) = layer.passing.single_row(node);
            entries[nodes[node]] = indices.iter().zip(values).map(|(&c, &a)| (nodes[c as usize] as u32, a)).collect();
            entries[nodes[node]].sort_by_key(|entry| entry.0);
        }
        let mut matrix = SparseMatrix {
            rows: nodes.len(),
            columns: nodes.len(),
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        };
        for row in entries {
            matrix.indices.extend(row.iter().map(|entry| entry.0));
            matrix.values.extend(row.iter().map(|entry| entry.1));
            matrix.offsets.push(matrix.indices.len());
        }
        rules.push(Operator::from_plain(matrix).unwrap());
    }
    let mut local = vec![0; nodes.len()];
    for node in 0..nodes.len() {
        local[nodes[node]] = problem.budget.local(node) as i64;
    }
    let budget = Budget::per_node(&renamed, problem.budget.global(), &local).unwrap();
    let mut budget = budget.with_direction(problem.budget.direction());
    let frozen: Vec<i64> =
        (0..attributes.len()).filter(|&d| problem.budget.is_frozen(d)).map(|d| attributes[d] as i64).collect();
    if !frozen.is_empty() {
        budget = budget.freeze_attributes(&renamed, &frozen).unwrap();
    }
    let gcn = Network::from_file(common::model(layers), &rules, &renamed).unwrap();
    Problem { graph: renamed, gcn, budget, dyadic: problem.dyadic }
}
