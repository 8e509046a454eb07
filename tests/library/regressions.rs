//! Soundness bugs that once were: each test is the smallest problem that showed one.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Budget, Network, Operator, Radius, Verdict};
use gcnproof_files::{DenseMatrix, SparseMatrix};

use crate::common::{certifier_of, graph, model};

fn dense(rows: usize, columns: usize, values: Vec<f64>) -> DenseMatrix {
    assert_eq!(values.len(), rows * columns);
    DenseMatrix { rows, columns, values }
}

/// One node, all attributes absent, two classes.
fn one_node(
    weight: Vec<Vec<f64>>,
    bias: Vec<f64>,
    out: Vec<[f64; 2]>,
    out_bias: [f64; 2],
) -> (gcnproof::Graph, Network) {
    let (d, h) = (weight.len(), bias.len());
    let graph = graph(vec![vec![]], vec![vec![]], d);
    let layers = vec![
        (dense(d, h, weight.concat()), bias),
        (dense(h, 2, out.iter().flatten().copied().collect()), out_bias.to_vec()),
    ];
    let gcn = Network::from_file(model(layers), &[Operator::Identity], &graph).unwrap();
    (graph, gcn)
}

/// B: `line_at` with R = −∞: 0·∞ is NaN, and `NaN.min(0.0)` is 0, so the line 0 is put under −relu(z).
///
/// margin = 5e7 − 1e8 relu(z), z = x₀ − 1.7e308 (x₁ + x₂). Flipping x₀ alone gives −5e7.
#[test]
fn overflowed_lower_bound() {
    let (graph, gcn) =
        one_node(vec![vec![1.0], vec![-1.7e308], vec![-1.7e308]], vec![0.0], vec![[-1e8, 0.0]], [5e7, 0.0]);
    for bound in [Bound::Paper, Bound::Anchored, Bound::Best] {
        let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 2, 3), bound);
        println!("{:?}", certifier.activation_bounds());
        let result = certifier.certify_node(0, &mut Workspace::default());
        println!("{bound:?}: {result:?}");
        assert_ne!(result.verdict, Verdict::Robust, "{bound:?}: flipping x0 gives -5e7");
    }
}

/// B′: the same with finite bounds whose difference overflows, S − R = ∞.
#[test]
fn overflowed_width() {
    let (graph, gcn) = one_node(vec![vec![1e308], vec![-1e308]], vec![0.0], vec![[-1.0, 0.0]], [1e300, 0.0]);
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), Bound::Paper);
    let result = certifier.certify_node(0, &mut Workspace::default());
    println!("{result:?}");
    assert_ne!(result.verdict, Verdict::Robust, "flipping x0 gives -1e308");
}

/// C: `Relaxed::spread` multiplies FLOOR by the row's largest entry of A, where it underflows: A = 1e-310, W = 1e308.
///
/// z = 1e-2, slope 1e-15: the product A·slope underflows to 0, no loss is seen, and no error is allowed for.
#[test]
fn underflow_in_the_slopes() {
    let graph = graph(vec![vec![]], vec![vec![]], 1);
    let tiny = SparseMatrix { rows: 1, columns: 1, offsets: vec![0, 1], indices: vec![0], values: vec![1e-310] };
    let layers = vec![(dense(1, 1, vec![1e308]), vec![0.0]), (dense(1, 2, vec![-1e-15, 0.0]), vec![5e-18, 0.0])];
    let rules = [Operator::from_plain(tiny).unwrap(), Operator::Identity];
    let gcn = Network::from_file(model(layers), &rules, &graph).unwrap();
    for bound in [Bound::Paper, Bound::Anchored, Bound::Best] {
        let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), bound);
        let result = certifier.certify_node(0, &mut Workspace::default());
        println!("{bound:?}: {result:?}");
        assert_ne!(result.verdict, Verdict::Robust, "flipping x0 gives 5e-18 - 1e-17");
    }
}

/// E: doubling overflows.
#[test]
fn radius_limit_at_the_end_of_the_range() {
    let mut radius: Radius = Radius::new(usize::MAX);
    let mut steps = 0;
    while let Some(q) = radius.next() {
        radius.learn(q, Verdict::Robust, Vec::new());
        steps += 1;
        assert!(steps < 200);
    }
}

/// A: the seed threshold of a selection is computed with another order of summation than the search uses, and lowered
/// by a relative 1e-9 only. With cancellation the two differ by more, the seeds are not found again, and every other
/// flip is pruned as well: the selection is empty, the loss 0.
///
/// Three attributes f, g, k, all absent; Q = 1. Class 0 against class 1: h₄ = 1 − x_f/10, robust, selects f.
/// Class 0 against class 2: ½ at the unperturbed graph, and −0.4 when g is set.
/// Units 2 and 3 cancel exactly (h₂ − h₃ = 0 always); f's loss there is +B − B.
#[test]
fn seeds_that_are_not_found_again() {
    let mut wrong = 0;
    let mut tried = 0;
    for bound in [Bound::Paper, Bound::Anchored, Bound::Best] {
        for step in 0..64 {
            let b = (1u64 << 26) as f64;
            let f = vec![0.0, 1.0 - step as f64 * 1e-9, -b, -b, -0.1];
            let g = vec![-0.9, 0.0, 0.0, 0.0, 0.0];
            let k = vec![10.0, 4.0, 0.0, 0.0, 0.0];
            let graph = graph(vec![vec![]], vec![vec![]], 3);
            let bias = vec![20.0, -1.0, 2.0 * b, 2.0 * b, 1.0];
            let c2 = [1.0, -4.0 / 3.0, 1.0, -1.0, 0.0];
            let c1 = [0.0, 0.0, 0.0, 0.0, 1.0];
            let out: Vec<f64> = (0..5).flat_map(|i| [0.0, -c1[i], -c2[i]]).collect();
            let layers = vec![(dense(3, 5, [f, g, k].concat()), bias), (dense(5, 3, out), vec![0.0, 0.0, 19.5])];
            let gcn = Network::from_file(model(layers), &[Operator::Identity], &graph).unwrap();
            let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), bound);
            let result = certifier.certify_node(0, &mut Workspace::default());
            tried += 1;
            if result.verdict == Verdict::Robust {
                if wrong == 0 {
                    println!("{bound:?} step {step}: {result:?}");
                }
                wrong += 1;
                if wrong == 1 || step == 63 {
                    println!("{bound:?} {step}: {:?}", result.margins);
                }
            }
        }
        println!("{bound:?}: {wrong} of {tried} so far");
    }
    assert_eq!(wrong, 0, "setting g gives a margin of -0.4 over class 2");
}

/// G: a margin below the smallest subnormal is positive in exact arithmetic, but `floor_f64` makes it 0 before it is
/// compared: at Q = 0 the node is neither certified nor broken. Not unsound.
#[test]
fn a_margin_below_every_float() {
    let (graph, gcn) = one_node(vec![vec![0.0]], vec![1e-300], vec![[1e-300, 0.0]], [0.0, 0.0]);
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 0, 0), Bound::Best);
    assert_eq!(certifier.certify_node(0, &mut Workspace::default()).verdict, Verdict::Robust);
}

/// F: where the unperturbed margin overflows to NaN, no attack is ever better (`x < NaN` is false), so a witness is
/// never kept. Not unsound: undecided although flipping attribute 0 breaks it.
#[test]
fn an_attack_on_an_overflowed_margin() {
    // h = (1e200, 1e200); logits 1e200·(h₁ − h₂) + 1 = 1 exactly, ∞ − ∞ in f64. x₀ switches h₁ off.
    let (graph, gcn) =
        one_node(vec![vec![-2e200, 0.0]], vec![1e200, 1e200], vec![[1e200, 0.0], [-1e200, 0.0]], [1.0, 0.0]);
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), Bound::Best);
    let result = certifier.certify_node(0, &mut Workspace::default());
    println!("{result:?}");
    assert_eq!(result.verdict, Verdict::NonRobust);
}
