//! The paper's duality, checked against the solver: the backward pass at the Ω that the LP's duals stand for is the LP.
use crate::common;

use common::close;
use gcnproof_verify::dual::Textbook;
use gcnproof_verify::formulation::Unit;
use gcnproof_verify::random::Stream;
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Dense, Form, Instance, random, relaxation};

/// `g(Ω)` of the paper's Theorems 3 and 4, by the definition: Φ(L) = -c, Φ̂(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ.
fn backward(instance: &Instance, slopes: &[Dense]) -> f64 {
    let top = instance.representations();
    let mut phi =
        Dense { rows: 1, columns: instance.objective.len(), values: instance.objective.iter().map(|c| -c).collect() };
    let mut bound = 0.0;
    for l in (1..top).rev() {
        let layer = &instance.layers[l - 1];
        for row in 0..phi.rows {
            bound -= phi.row(row).iter().zip(layer.bias_of(row)).map(|(phi, b)| phi * b).sum::<f64>();
        }
        let mut hat = Dense::zeros(layer.columns(), layer.inputs());
        for term in &layer.terms {
            for &(row, column, value) in &term.passing.entries {
                for input in 0..hat.columns {
                    let product: f64 = phi.row(row).iter().zip(term.weight.row(input)).map(|(phi, w)| phi * w).sum();
                    *hat.at_mut(column, input) += value * product;
                }
            }
        }
        if l == 1 {
            return bound - attributes(instance, &hat);
        }
        let (r, s, slope) = (&instance.lower[l - 2], &instance.upper[l - 2], &slopes[l - 2]);
        for at in 0..hat.values.len() {
            let linear = instance.layers[l - 2].is_linear(at % hat.columns);
            let (r, s, hat) = (r.values[at], s.values[at], &mut hat.values[at]);
            if linear {
                // Φ = Φ̂, whatever the signs of R and S.
            } else if s <= 0.0 {
                *hat = 0.0;
            } else if r < 0.0 {
                bound += s * r / (s - r) * hat.max(0.0);
                *hat = s / (s - r) * hat.max(0.0) + slope.values[at] * hat.min(0.0);
            }
        }
        phi = hat;
    }
    unreachable!("the loop ends with layer 1")
}

/// `⟨X, Φ̂(1)⟩` and the largest sum of Δ that the budgets allow (the closed form of η and ρ).
fn attributes(instance: &Instance, hat: &Dense) -> f64 {
    let (mut base, mut kept) = (0.0, Vec::new());
    for node in 0..instance.nodes() {
        let mut row = Vec::new();
        for attribute in 0..instance.dimension as u32 {
            let value = hat.at(node, attribute as usize);
            let present = instance.has(node, attribute);
            base += if present { value } else { 0.0 };
            if instance.may_flip(node, attribute) {
                row.push(if present { -value } else { value }.max(0.0));
            }
        }
        row.sort_by(|left, right| right.total_cmp(left));
        kept.extend(row.into_iter().take(instance.local_budget[node]));
    }
    kept.sort_by(|left, right| right.total_cmp(left));
    base + kept.into_iter().take(instance.global_budget).sum::<f64>()
}

/// Random networks of one term per layer, then half as many of several terms.
fn networks(count: u64, least: usize, depths: usize) -> impl Iterator<Item = (u64, Instance)> {
    let plain = (0..count).map(move |seed| (seed, random::instance(seed, least + seed as usize % depths)));
    let terms = move |seed| (seed, random::network_of_terms(seed, least + seed as usize % depths));
    plain.chain((0..count / 2).map(terms))
}

#[test]
fn strong_duality_at_the_slopes_that_the_solver_found() {
    for (seed, instance) in networks(600, 2, 4) {
        let model = relaxation::linear_program(&instance, Form::Appendix).unwrap();
        let answer = Highs.solve(&model.program, &Limits::default());
        let slopes = relaxation::optimal_slopes(&model, &instance, &answer).unwrap();
        assert!(slopes.iter().flat_map(|slopes| &slopes.values).all(|slope| (0.0..=1.0).contains(slope)));
        let (bound, optimum) = (backward(&instance, &slopes), answer.optimum().unwrap());
        assert!((bound - optimum).abs() <= 1e-6, "seed {seed}: {bound} of {optimum}");
        close(Textbook::new(&instance, &slopes).value(&instance), bound, 1e-9);
    }
}

#[test]
fn weak_duality_at_any_slopes() {
    let mut stream = Stream::new(9);
    for (seed, instance) in networks(300, 3, 2) {
        let model = relaxation::linear_program(&instance, Form::Appendix).unwrap();
        let optimum = Highs.solve(&model.program, &Limits::default()).optimum().unwrap();
        for _ in 0..20 {
            let mut slopes = instance.upper.clone();
            slopes.iter_mut().flat_map(|slopes| &mut slopes.values).for_each(|slope| *slope = stream.real().abs());
            assert!(backward(&instance, &slopes) <= optimum + 1e-6, "seed {seed}");
        }
    }
}

/// The duals of the named rows satisfy the equations of the appendix: Φ(L) = -c, `τ + μ = λ(S-R) - Φ̂` and
/// `Φ = λS - μ` on I, `ρ + η_n ≥ γ⁺ + γ⁻`, and all but Φ are not negative.
#[test]
fn the_rows_carry_the_duals_of_the_appendix() {
    for (seed, instance) in networks(300, 3, 2) {
        let model = relaxation::linear_program(&instance, Form::Appendix).unwrap();
        let answer = Highs.solve(&model.program, &Limits::default());
        let (duals, costs) = (answer.row_duals.unwrap(), answer.reduced_costs.unwrap());
        // In a minimisation our dual of a `≤` row is not positive and the paper's multiplier is its size; the paper's Φ
        // multiplies `A H W + b - Ĥ`, ours `Ĥ - A H W - b`.
        let dual = |name: &str| {
            let found = model.program.rows.iter().position(|row| row.name == name);
            found.map_or(0.0, |at| {
                if name.starts_with("Phi") || model.program.rows[at].upper.is_finite() { -duals[at] } else { duals[at] }
            })
        };
        let top = instance.representations();
        for (class, c) in instance.objective.iter().enumerate() {
            close(dual(&format!("Phi_{top}_0_{class}")), -c, 1e-6);
        }
        for (l, node, unit, kind) in model.units() {
            let Unit::Unstable { post, .. } = kind else {
                continue;
            };
            let name = format!("{l}_{node}_{unit}");
            let (r, s) = (instance.lower[l - 2].at(node, unit), instance.upper[l - 2].at(node, unit));
            let (mu, tau, lambda) =
                (dual(&format!("mu_{name}")), costs[post], dual(&format!("lambda_{name}")) / (s - r));
            assert!(mu >= -1e-7 && tau >= -1e-7 && lambda >= -1e-7, "seed {seed}");
            close(dual(&format!("Phi_{name}")), lambda * s - mu, 1e-6);
            let mut hat = 0.0;
            for term in &instance.layers[l - 1].terms {
                for &(row, _, value) in term.passing.entries.iter().filter(|entry| entry.1 == node) {
                    for (next, w) in term.weight.row(unit).iter().enumerate() {
                        hat += value * w * phi(&model, &dual, l + 1, row, next);
                    }
                }
            }
            close(hat, lambda * (s - r) - tau - mu, 1e-6);
        }
        for node in 0..instance.nodes() {
            for attribute in instance.flippable(node) {
                let gamma =
                    dual(&format!("gamma_plus_{node}_{attribute}")) + dual(&format!("gamma_minus_{node}_{attribute}"));
                assert!(dual("global_rho") + dual(&format!("local_eta_{node}")) >= gamma - 1e-6, "seed {seed}");
            }
        }
    }
}

/// Φ of a unit; one that is off has a free Φ row in our program and Φ = 0 in the paper's.
fn phi(model: &gcnproof_verify::Model, dual: &impl Fn(&str) -> f64, l: usize, node: usize, unit: usize) -> f64 {
    let top = model.units().map(|unit| unit.0).max().unwrap_or(1) + 1;
    if l < top && model.unit(l, node, unit) == Unit::Off { 0.0 } else { dual(&format!("Phi_{l}_{node}_{unit}")) }
}
