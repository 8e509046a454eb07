//! Networks as sums of terms: the certifier against the programs of independent solvers.

use gcnproof::{Certifier, Effort, Limits};
use gcnproof_laboratory::measurement::{Settings, pairs};

use crate::common::terms::{Shape, case};

/// The LP, the ILP and the MILP of the same problems, by solvers that share nothing with the certifier.
#[test]
fn programs_of_independent_solvers_agree() {
    let settings =
        Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 10.0 };
    let count = std::env::var("GCNPROOF_TERMS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300u64);
    let (mut rows, mut exact) = (0, 0);
    for seed in 0..count {
        let case = case(500_000 + seed, if seed % 4 == 0 { Shape::PerNode } else { Shape::Any });
        let effort = Effort::Minimize { limits: Limits::default(), gap: 0.0 };
        let certifier = Certifier::builder(case.problem.clone()).effort(effort).build();
        let node = seed as usize % case.attributes.nrows();
        let reference = certifier.predicted(node);
        let others: Vec<usize> = (0..case.problem.network().class_count()).filter(|&k| k != reference).collect();
        let mut least = vec![f64::INFINITY; case.problem.network().class_count()];
        case.visit(&mut |attributes| {
            let logits = case.dense.forward(attributes).pop().unwrap();
            others.iter().for_each(|&k| least[k] = least[k].min(logits[(node, reference)] - logits[(node, k)]));
        });
        for row in pairs(&certifier, &settings, node, &others) {
            assert_eq!(row.violation, None, "seed {seed}: {row:?}");
            let truth = least[row.class as usize];
            let near =
                |value: Option<f64>| value.is_some_and(|value| (value - truth).abs() <= 1e-6 * (1.0 + truth.abs()));
            assert!(near(row.milp) && near(row.exact), "seed {seed}: {truth} {row:?}");
            for below in [row.dual_default, row.dual_optimal, row.lp_highs, row.ilp] {
                assert!(below.is_some_and(|below| below <= truth + 1e-6), "seed {seed}: {truth} {row:?}");
            }
            rows += 1;
            exact += usize::from(row.ilp.is_some_and(|ilp| ilp >= truth - 1e-6));
        }
    }
    println!("{count} networks, {rows} pairs, the ILP is exact at {exact}");
}
