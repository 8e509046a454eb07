//! Attributes within ranges: verdicts, bounds and smallest margins against HiGHS' MILP of the same problem.

use std::time::Duration;

use gcnproof::{Certifier, Effort, Limits, Problem, Verdict};
use gcnproof_laboratory::measurement::{Settings, pairs};
use gcnproof_laboratory::ranges::range_instance;
use gcnproof_verify::ranges::mixed_program;

use crate::common::ranges::{Case, case, seeds};

/// What solvers are granted.
const TOLERANCE: f64 = 1e-5;

fn settings() -> Settings {
    Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 20.0 }
}

#[test]
fn smallest_margins_are_those_of_the_mixed_program() {
    let (mut met, mut asked, mut broken, mut solved) = (0, 0, 0, 0);
    for seed in seeds(40) {
        let case = case(seed);
        let problem = Problem::new(case.graph.clone(), case.network.clone(), case.budget.clone()).unwrap();
        let limits = Limits { nodes: 3000, time: Duration::from_secs(1) };
        let certifier = Certifier::builder(problem).effort(Effort::Minimize { limits, gap: 0.0 }).build();
        for node in 0..case.graph.node_count() {
            let result = certifier.one(node).unwrap();
            let classes: Vec<usize> = result.margins.iter().map(|margin| margin.class).collect();
            let rows = pairs(&certifier, &settings(), node, &classes);
            let mut least = f64::INFINITY;
            for (row, margin) in rows.iter().zip(&result.margins) {
                let about = format!("seed {seed}, node {node}: {margin:?} {row:?}");
                assert_eq!(row.violation, None, "{about}");
                asked += 1;
                met += usize::from(row.exact.is_some());
                let Some(milp) = row.milp else { continue };
                solved += 1;
                least = least.min(milp);
                let room = TOLERANCE * (1.0 + milp.abs());
                assert!(margin.lower <= milp + room && milp <= margin.upper + room, "{about}");
                assert!(row.lp_highs.is_some_and(|lp| lp <= milp + room), "{about}");
            }
            match result.verdict {
                Verdict::Robust => assert!(least > -TOLERANCE, "seed {seed}, node {node}: {least}"),
                Verdict::NonRobust => {
                    broken += 1;
                    assert!(least < TOLERANCE || least.is_infinite(), "seed {seed}, node {node}: {least}");
                }
                Verdict::Undecided => {}
            }
        }
    }
    println!("{asked} pairs, {met} known up to the gap, {solved} solved by HiGHS, {broken} nodes broken");
    assert!(asked > 60 && met * 100 >= asked * 85 && solved * 100 >= asked * 90 && broken > 5);
}

/// No perturbation is below the smallest margin, and the program's instance is the network.
#[test]
fn the_instance_is_the_network() {
    for seed in seeds(60) {
        let case = case(seed);
        let problem = Problem::new(case.graph.clone(), case.network.clone(), case.budget.clone()).unwrap();
        let certifier = Certifier::builder(problem).build();
        let logits = case.logits(&case.values);
        for (node, logits) in logits.iter().enumerate() {
            let mut instance = range_instance(certifier.prepared(), node).unwrap();
            assert_eq!(mixed_program(&instance).mixed.program.validate(), Ok(()));
            (instance.objective[0], instance.objective[1]) = (1.0, -1.0);
            let margin = instance.forward(&instance.values);
            assert!((margin - (logits[0] - logits[1])).abs() < 1e-12 * (1.0 + margin.abs()), "seed {seed}");
            assert!(instance.admits(&instance.values));
        }
    }
    // Awkward problems are among them.
    let cases: Vec<_> = seeds(60).map(case).collect();
    let isolated = |case: &Case| (0..case.values.len()).any(|n| case.graph.degree(n) == 0);
    assert!(cases.iter().any(|case| case.budget.global() == 0) && cases.iter().any(isolated));
}
