//! The search against HiGHS' MILP on problems too large to enumerate: up to 40 flips and 30 hidden units.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Budget, Effort, Limits, Network, Operator, Verdict};
use gcnproof_files::DenseMatrix;
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::random::Stream;
use gcnproof_verify::solver::{Highs, Limits as SolverLimits, Solver, Status};
use gcnproof_verify::{Form, network};

use crate::common::{certifier_of, graph, model};

/// Nodes × attributes ≤ 40, nodes × hidden units ≤ 30.
fn problem(seed: u64, representations: usize) -> (gcnproof::Graph, Network, Budget) {
    let mut r = Stream::new(seed);
    let nodes = 3 + r.below(3);
    let dimension = 40 / nodes;
    let mut adjacency = vec![Vec::new(); nodes];
    for (i, row) in adjacency.iter_mut().enumerate() {
        // A path keeps the neighbourhood large, whatever else is drawn.
        let drawn = |j: &usize| i != *j && (i.abs_diff(*j) == 1 || (i + j + seed as usize).is_multiple_of(3));
        row.extend((0..nodes).filter(drawn).map(|j| j as u32));
    }
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(30)).collect()).collect();
    let graph = graph(adjacency, attributes, dimension);
    let hidden = representations - 2;
    let mut widths = vec![dimension];
    widths.extend((0..hidden).map(|_| 30 / nodes / hidden));
    widths.push(3);
    let layers = widths.windows(2).map(|pair| {
        let values = (0..pair[0] * pair[1]).map(|_| r.real()).collect();
        let bias = (0..pair[1]).map(|_| 0.3 * r.real()).collect();
        (DenseMatrix { rows: pair[0], columns: pair[1], values }, bias)
    });
    let layers = layers.collect();
    let passing = if r.chance(50) { Operator::Gcn } else { Operator::MeanWithSelf };
    let gcn = Network::from_file(model(layers), &[passing], &graph).unwrap();
    let budget = Budget::uniform(&graph, 2 + r.below(4), 1 + r.below(3));
    (graph, gcn, budget)
}

#[test]
fn exact_margins_are_those_of_the_milp() {
    let mut workspace = Workspace::default();
    let (mut agreed, mut unfinished, mut largest, mut nodes) = (0, 0, 0.0f64, 0);
    // All 300 take HiGHS several minutes: GCNPROOF_COUNT=300.
    let count = std::env::var("GCNPROOF_COUNT").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    for seed in 0..count {
        let (graph, gcn, budget) = problem(seed, 3 + (seed % 3) as usize);
        let effort = Effort::Minimize { limits: Limits::default(), gap: 1e-10 };
        let certifier = certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(effort);
        let result = certifier.certify_node(0, &mut workspace);
        assert_ne!(result.verdict, Verdict::Undecided, "seed {seed}: {result:?}");
        nodes += result.search_nodes;
        for margin in &result.margins {
            assert!(margin.upper - margin.lower <= 1e-9, "seed {seed}: {margin:?}");
            let (instance, _) = instance_of(certifier.prepared(), 0, result.reference, margin.class);
            let model = network::mixed_program(&instance, Form::Compact).unwrap();
            let answer = Highs.solve(&model.program, &SolverLimits { seconds: 5.0 });
            if answer.status != Status::Optimal {
                unfinished += 1;
                continue;
            }
            let found = network::incumbent(&model, &instance, &answer).unwrap();
            assert!(found.admissible);
            // Its perturbation is replayed through the network: it cannot be better than ours, only worse by a
            // tolerance.
            assert!(found.margin >= margin.lower - 1e-9, "seed {seed}: {margin:?}, HiGHS {}", found.margin);
            let gap = found.margin - margin.upper;
            assert!(gap <= 1e-6, "seed {seed}: {margin:?}, HiGHS {}", found.margin);
            largest = largest.max(gap);
            agreed += 1;
        }
    }
    println!(
        "{agreed} pairs agree, {unfinished} not finished by HiGHS; {nodes} tree nodes; largest difference {largest:.1e}"
    );
    assert!(agreed > count);
}
