//! Closing useless entries changes no integer optimum, and the textbook's dual is the solver's.
use crate::common;

use common::close;
use gcnproof_verify::dual::{Textbook, default_slopes};
use gcnproof_verify::formulation::Unit;
use gcnproof_verify::reduction::Prices;
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Flip, Form, Instance, enumeration, network, random, relaxation};

/// Random networks of one term per layer, then half as many of several terms.
fn networks(count: u64, least: usize, depths: usize) -> impl Iterator<Item = (u64, Instance)> {
    let plain = (0..count).map(move |seed| (seed, random::instance(seed, least + seed as usize % depths)));
    let terms = move |seed| (seed, random::network_of_terms(seed, least + seed as usize % depths));
    plain.chain((0..count / 2).map(terms))
}

#[test]
fn closing_useless_entries_changes_no_integer_optimum() {
    let (mut closed, mut all) = (0, 0);
    for (seed, instance) in networks(300, 2, 4) {
        for form in [Form::Appendix, Form::Compact] {
            let model = relaxation::linear_program(&instance, form).unwrap();
            let lp = Highs.solve(&model.program, &Limits::default());
            let prices = Prices::new(&model, &instance, lp.row_duals.as_ref().unwrap());
            assert!((prices.bound - lp.review.safe_bound.unwrap()).abs() < 1e-12);
            let ilp = Highs.solve(&model.clone().integral(&instance).program, &Limits::default()).optimum().unwrap();
            let truth = enumeration::minimum(&instance, 10_000).unwrap();
            for (upper, mixed) in [(ilp, false), (truth.margin, true)] {
                let useful = prices.useful(upper + 1e-9);
                let open: Vec<Flip> = prices.flips[..useful].iter().map(|flip| flip.1).collect();
                let mut reduced = model.restricted(&instance, &open).integral(&instance);
                if mixed {
                    network::add_indicators(&mut reduced, &instance);
                    network::add_anchors(&mut reduced, &instance);
                }
                let answer = reduced.solve_small(&Highs, &Limits::default());
                let point = answer.values.as_ref().unwrap();
                close(reduced.program.objective_at(point), answer.optimum().unwrap(), 1e-9);
                close(answer.optimum().unwrap(), upper, 1e-6);
                (closed, all) = (closed + prices.flips.len() - useful, all + prices.flips.len());
            }
            // The best perturbation uses no entry whose price lies above it.
            for (price, flip) in &prices.flips {
                let useless = prices.bound + price > truth.margin + 1e-9;
                assert!(!useless || !truth.flips.contains(flip), "seed {seed}: {flip:?} costs {price}");
            }
        }
    }
    assert!(closed * 5 > all, "only {closed} of {all} entries were closed");
}

/// `B + price` bounds every perturbation that makes the flip, by trying all of them.
#[test]
fn a_price_is_paid_by_everyone_who_makes_the_flip() {
    for (seed, instance) in networks(300, 3, 2) {
        let model = relaxation::linear_program(&instance, Form::Compact).unwrap();
        let lp = Highs.solve(&model.program, &Limits::default());
        // Also at duals that are plainly wrong.
        for factor in [1.0, 0.5, -1.0] {
            let duals: Vec<f64> = lp.row_duals.as_ref().unwrap().iter().map(|dual| factor * dual).collect();
            let prices = Prices::new(&model, &instance, &duals);
            enumeration::visit(&instance, 10_000, |flips| {
                let margin = instance.forward(flips);
                for (price, flip) in &prices.flips {
                    if flips.contains(flip) {
                        assert!(prices.bound + price <= margin + 1e-9, "seed {seed}");
                    }
                }
            })
            .unwrap();
        }
    }
}

#[test]
fn the_closed_form_is_the_dual_at_its_multipliers() {
    for (seed, instance) in networks(600, 2, 4) {
        let textbook = Textbook::new(&instance, &default_slopes(&instance));
        let multipliers = textbook.multipliers(&instance);
        close(textbook.at(&instance, &multipliers), textbook.value(&instance), 1e-9);
        let model = relaxation::linear_program(&instance, Form::Compact).unwrap();
        let lp = Highs.solve(&model.program, &Limits::default());
        assert!(textbook.value(&instance) <= lp.optimum().unwrap() + 1e-6, "seed {seed}");
    }
}

/// The network obeys the anchored rows: every admissible perturbation, run through it, satisfies all of them.
#[test]
fn anchored_rows_cut_no_perturbation_off() {
    for (seed, instance) in networks(400, 3, 3) {
        let mut model = relaxation::linear_program(&instance, Form::Compact).unwrap();
        let first = model.program.rows.len();
        network::add_anchors(&mut model, &instance);
        enumeration::visit(&instance, 10_000, |flips| {
            let mut values = vec![0.0; model.program.variables.len()];
            for node in 0..instance.nodes() {
                for attribute in 0..instance.dimension as u32 {
                    let present = instance.has(node, attribute) != flips.contains(&(node, attribute));
                    values[model.attribute(node, attribute)] = f64::from(u8::from(present));
                }
            }
            let representations = instance.pre_activations(flips);
            for (l, node, unit, kind) in model.units() {
                if let Unit::Unstable { post, .. } = kind {
                    values[post] = representations[l - 2].at(node, unit).max(0.0);
                }
            }
            for row in &model.program.rows[first..] {
                let activity: f64 = row.coefficients.iter().map(|&(at, value)| value * values[at]).sum();
                assert!(activity <= row.upper + 1e-9, "seed {seed}: {} at {flips:?}", row.name);
            }
        })
        .unwrap();
    }
}
