//! Verdicts for the network as it runs against every admissible perturbation in exact arithmetic, in formats of so few
//! bits that many margins lie inside the error, and with margins moved next to it.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::number::dyadic::Dyadic;
use gcnproof::internals::problem::exact::{ExactProblem, ExactUnits, Sums};
use gcnproof::internals::problem::network::Bias;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{
    Certifier, DeployedVerdict, Effort, Execution, Flip, Limits, Network, NodeResult, Problem, Reason, Verdict,
};
use rayon::prelude::*;

use crate::cases;
use crate::proofs::{stated, with_checker};

/// All admissible sets of flips; none where there are too many.
fn perturbations(problem: &Problem, most: usize) -> Option<Vec<Vec<Flip>>> {
    let (graph, budget) = (problem.graph(), problem.budget());
    let flips: Vec<Flip> = (0..graph.node_count())
        .flat_map(|n| (0..graph.attribute_count()).map(move |d| (n, d)))
        .filter(|&(n, d)| budget.permits(n, d, graph.attributes().get(n, d).is_some()))
        .map(|(n, d)| Flip { node: n as u32, attribute: d as u32 })
        .collect();
    let mut sets = vec![Vec::new()];
    let mut next = 0;
    while next < sets.len() {
        let set: Vec<Flip> = sets[next].clone();
        next += 1;
        for &flip in flips.iter().filter(|flip| set.last().is_none_or(|last| last < flip)) {
            let larger: Vec<Flip> = set.iter().copied().chain([flip]).collect();
            if budget.admits(graph, &larger) {
                sets.push(larger);
            }
        }
        if sets.len() > most {
            return None;
        }
    }
    Some(sets)
}

/// The least exact margin of a node over each other class.
fn minima(problem: &Problem, sets: &[Vec<Flip>], node: usize, reference: usize) -> Vec<Dyadic> {
    let (graph, network) = (problem.graph(), problem.network());
    let mut slice = Slice::default();
    slice.cut(network, network.depth(), node);
    let sums = Sums::new(graph.node_count());
    let mut units = ExactUnits::default();
    let mut exact = ExactProblem { graph, network, slice: &slice, sums: &sums, units: &mut units, watch: None };
    let others: Vec<usize> = (0..network.class_count()).filter(|&class| class != reference).collect();
    let least = |class: usize| {
        let margins = sets.iter().map(|flips| exact.objective(&[(reference, 1.0), (class, -1.0)], flips));
        margins.min().expect("no flips are a perturbation")
    };
    others.into_iter().map(least).collect()
}

/// The same problem with a number added to the bias of a class.
fn moved(problem: &Problem, class: usize, by: f64) -> Problem {
    let mut layers = problem.network().clone().unwidened().layers().to_vec();
    let last = layers.last_mut().expect("a network has layers");
    let (width, mut bias) = (last.outputs(), last.bias.values().to_vec());
    bias.iter_mut().skip(class).step_by(width).for_each(|bias| *bias += by);
    last.bias = Bias::new(width, bias);
    let network = Network::new(layers).unwrap().widened(problem.graph()).unwrap();
    Problem::new(problem.graph().clone(), network, problem.budget().clone()).unwrap()
}

fn certified(
    problem: &Problem,
    deployed: Option<Execution>,
    effort: Effort,
    (node, class): (usize, usize),
) -> NodeResult {
    let builder = Certifier::builder(problem.clone()).effort(effort).proofs(true);
    let builder = if let Some(execution) = deployed { builder.deployed(execution) } else { builder };
    builder.build().certify_class(node, class, class, &mut Workspace::default())
}

/// Holds the verdicts about one node against the least margins. Returns what a complete search says.
fn hold(problem: &Problem, execution: Execution, sets: &[Vec<Flip>], at: (usize, usize), seed: u64) -> DeployedVerdict {
    let minima = minima(problem, sets, at.0, at.1);
    let few = Limits { nodes: 3, ..Limits::default() };
    let efforts = [
        Effort::Bounds,
        Effort::Optimal,
        Effort::Complete(few),
        Effort::Minimize { limits: Limits::default(), gap: 0.0 },
        Effort::Minimize { limits: Limits::default(), gap: 0.1 },
        Effort::Complete(Limits::default()),
    ];
    let mut last = DeployedVerdict::Undecided;
    for effort in efforts {
        let context = format!("seed {seed}, {at:?}, {effort:?}");
        let (plain, result) = (certified(problem, None, effort, at), certified(problem, Some(execution), effort, at));
        // Perturbations that are tried for the error may happen to break what bounds leave open.
        let found = plain.verdict == Verdict::Undecided && result.verdict == Verdict::NonRobust;
        assert!(plain.verdict == result.verdict || found, "{context}: {:?} {:?}", plain.verdict, result.verdict);
        for (margin, least) in result.margins.iter().zip(&minima) {
            let (lower, upper) = (Dyadic::from_f64(margin.lower), Dyadic::from_f64(margin.upper));
            assert!(margin.lower == f64::NEG_INFINITY || lower <= *least, "{context}: {margin:?} {least:?}");
            assert!(*least <= upper, "{context}: {margin:?} {least:?}");
        }
        // What is found below a tie while margins below minus the error are looked for takes the place of the tie.
        let tie = result.reason == Reason::Tie;
        assert!(!tie || result.margins.iter().all(|margin| margin.upper >= 0.0), "{context}: {result:?}");
        let deployed = result.deployed.as_ref().unwrap();
        if !deployed.errors.iter().all(|error| error.is_finite()) {
            assert_eq!(deployed.verdict, DeployedVerdict::Undecided, "{context}");
            continue;
        }
        let pairs = || minima.iter().zip(&deployed.errors);
        let robust = pairs().all(|(least, &error)| *least > Dyadic::from_f64(error));
        let inside = pairs().any(|(least, &error)| *least <= Dyadic::from_f64(error));
        let broken = pairs().any(|(least, &error)| *least < Dyadic::from_f64(-error));
        let complete = effort == Effort::Complete(Limits::default()) || matches!(effort, Effort::Minimize { .. });
        match deployed.verdict {
            DeployedVerdict::Robust => assert!(robust && result.verdict == Verdict::Robust, "{context}: {result:?}"),
            DeployedVerdict::NonRobust => assert!(result.reason != Reason::Tie && result.verdict == Verdict::NonRobust),
            DeployedVerdict::RoundingDependent => assert!(inside && !broken, "{context}: {result:?}"),
            _ => assert!(!complete, "{context}: {result:?} {minima:?}"),
        }
        assert!(!complete || !robust || deployed.verdict == DeployedVerdict::Robust, "{context}: {result:?}");
        assert!(!complete || !broken || deployed.verdict == DeployedVerdict::NonRobust, "{context}: {result:?}");
        let proved = with_checker(problem, &stated(problem, Some(execution)), true, |checker| {
            matches!(*result.proof_line(checker), gcnproof_check::format::Line::Node(_))
        });
        let shown = matches!(deployed.verdict, DeployedVerdict::Robust | DeployedVerdict::NonRobust);
        assert!(!proved || shown, "{context}: a proof of {:?}", deployed.verdict);
        last = deployed.verdict;
    }
    last
}

#[test]
fn verdicts_are_those_of_every_perturbation() {
    hold_all(cases::case);
}

#[test]
fn verdicts_about_categories_are_those_of_every_change() {
    hold_all(cases::categories);
}

fn hold_all(case: fn(u64) -> (Problem, Execution)) {
    let counts = (0..240u64).into_par_iter().map(|seed| {
        let (problem, execution) = case(seed);
        let execution = Execution { precision: [6, 9, 12, 24][(seed % 4) as usize], ..execution };
        let Some(sets) = perturbations(&problem, 400) else { return [0; 3] };
        let node = seed as usize % problem.graph().node_count();
        let predicted = Certifier::builder(problem.clone()).build().predicted(node);
        let mut counts = [0; 3];
        let mut count = |problem: &Problem| match hold(problem, execution, &sets, (node, predicted), seed) {
            DeployedVerdict::Robust => counts[0] += 1,
            DeployedVerdict::NonRobust => counts[1] += 1,
            DeployedVerdict::RoundingDependent => counts[2] += 1,
            _ => {}
        };
        count(&problem);
        // The least margin is moved next to the error, and next to minus the error: what is nearer than rounding is
        // decided exactly.
        for sign in [1.0, -1.0] {
            let mut near = problem.clone();
            let class = usize::from(predicted == 0);
            for _ in 0..4 {
                let least = minima(&near, &sets, node, predicted)[0].approximate();
                let plain = certified(&near, Some(execution), Effort::Bounds, (node, predicted));
                let by = least - sign * plain.deployed.unwrap().errors[0];
                if !by.is_finite() {
                    return counts;
                }
                near = moved(&near, class, by);
            }
            for ulps in [0.0, 4.0, -4.0] {
                count(&moved(&near, class, ulps * f64::EPSILON));
            }
        }
        counts
    });
    let counts = counts.reduce(|| [0; 3], |x, y| [x[0] + y[0], x[1] + y[1], x[2] + y[2]]);
    println!("{counts:?}: robust, non-robust, rounding-dependent");
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}
