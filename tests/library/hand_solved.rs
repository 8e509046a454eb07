//! Problems solved by hand, their solutions written out. `X` is one node without attributes unless said otherwise.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::{Bound, Budget, Effort, Flip, Graph, Limits, Network, NodeResult, Operator, Reason, Verdict};
use gcnproof_files::DenseMatrix;

use crate::common::{self, certifier_of};

fn dense(rows: &[&[f64]]) -> DenseMatrix {
    DenseMatrix { rows: rows.len(), columns: rows[0].len(), values: rows.concat() }
}

type Layers = Vec<(DenseMatrix, Vec<f64>)>;

fn solve(graph: &Graph, layers: Layers, (global, local): (usize, usize), bound: Bound, effort: Effort) -> NodeResult {
    let gcn = Network::from_file(common::model(layers), &[Operator::Identity], graph).unwrap();
    let budget = Budget::uniform(graph, global, local);
    certifier_of(graph, &gcn, budget, bound).with_effort(effort).certify_node(0, &mut Workspace::default())
}

fn complete() -> Effort {
    Effort::Complete(Limits::default())
}

/// The linear model. `X = (1, 0, 0)`, logits `x₀` and `x₁ + 2x₂`: margin 1. Flipping `x₀` or `x₁` alone leaves 0, `x₂`
/// leaves −1; any two reach −2 (`x₀`, `x₂` or `x₁`, `x₂`), all three −3.
#[test]
fn the_linear_model() {
    let graph = common::graph(vec![vec![]], vec![vec![0]], 3);
    let layers = || vec![(dense(&[&[1.0, 0.0], &[0.0, 1.0], &[0.0, 2.0]]), vec![0.0, 0.0])];
    for (global, worst) in [(1, -1.0), (2, -2.0), (3, -3.0), (4, -3.0)] {
        let result = solve(&graph, layers(), (global, 3), Bound::Best, Effort::Bounds);
        assert_eq!((result.verdict, result.margins[0].upper.round()), (Verdict::NonRobust, worst));
        assert!((result.margins[0].lower - worst).abs() < 1e-12);
    }
    assert_eq!(
        solve(&graph, layers(), (1, 1), Bound::Best, Effort::Bounds).witness,
        vec![Flip { node: 0, attribute: 2 }]
    );
    for (global, local) in [(0, 3), (3, 0)] {
        assert_eq!(solve(&graph, layers(), (global, local), Bound::Best, Effort::Bounds).verdict, Verdict::Robust);
    }
}

/// A unit whose lower bound is exactly 0 is active, not off. `z = x ∈ {0, 1}`, margin `½ − relu(z)`: the flip leaves
/// −½. Whoever takes `R = 0` for "switched off" certifies ½.
#[test]
fn a_lower_bound_of_exactly_zero() {
    let graph = common::graph(vec![vec![]], vec![vec![]], 1);
    for bound in [Bound::Paper, Bound::Anchored, Bound::Best] {
        let layers = vec![(dense(&[&[1.0]]), vec![0.0]), (dense(&[&[0.0, 1.0]]), vec![0.5, 0.0])];
        let result = solve(&graph, layers, (1, 1), bound, Effort::Bounds);
        assert_eq!((result.verdict, result.reason), (Verdict::NonRobust, Reason::Witness));
        assert!((result.margins[0].lower + 0.5).abs() < 1e-12 && (result.margins[0].upper + 0.5).abs() < 1e-12);
    }
}

/// The smallest counterexample to the integrality theorem. `z = (x − ½, ½ − x)`, margin `relu(z₁) + relu(z₂) − ¼`: both
/// `x = 0` and `x = 1` give ¼, so the node is robust, but at `x = ½` the relaxation gives −¼. No bound that lets `x` be
/// a fraction can tell; the search splits on the flip.
#[test]
fn the_integrality_counterexample() {
    let graph = common::graph(vec![vec![]], vec![vec![]], 1);
    let layers =
        || vec![(dense(&[&[1.0, -1.0]]), vec![-0.5, 0.5]), (dense(&[&[1.0, 0.0], &[1.0, 0.0]]), vec![-0.25, 0.0])];
    for effort in [Effort::Bounds, Effort::Optimal] {
        let result = solve(&graph, layers(), (1, 1), Bound::Best, effort);
        assert_eq!(result.verdict, Verdict::Undecided);
        assert!(result.margins[0].lower <= -0.25 + 1e-9);
    }
    let result = solve(&graph, layers(), (1, 1), Bound::Best, complete());
    assert_eq!((result.verdict, result.reason), (Verdict::Robust, Reason::BranchAndPrice));
    assert!(result.margins[0].lower > 0.25 - 1e-9 && result.margins[0].lower <= 0.25);
}

/// Margin `relu(1 − x) − 0`: the flip takes it to exactly 0, a tie, which is not robust.
#[test]
fn a_tie() {
    let graph = common::graph(vec![vec![]], vec![vec![]], 1);
    let layers = vec![(dense(&[&[-1.0]]), vec![1.0]), (dense(&[&[1.0, 0.0]]), vec![0.0, 0.0])];
    let result = solve(&graph, layers, (1, 1), Bound::Best, Effort::Bounds);
    assert_eq!((result.verdict, result.reason, result.margins[0].upper), (Verdict::NonRobust, Reason::Tie, 0.0));
}

/// Two classes with the same weights tie for every perturbation, none needed: the witness is empty.
#[test]
fn equal_classes() {
    let graph = common::graph(vec![vec![]], vec![vec![]], 1);
    let layers = vec![(dense(&[&[0.3]]), vec![0.1]), (dense(&[&[0.7, 0.7]]), vec![0.2, 0.2])];
    let result = solve(&graph, layers, (1, 1), Bound::Best, complete());
    assert_eq!((result.verdict, result.reason, result.witness.len()), (Verdict::NonRobust, Reason::Tie, 0));
}

/// Two nodes, the messages of the second count double and negatively: `z = x₀ − 2x₁`, margin `1 + relu(z)·0 − relu(−z)`
/// with the second unit `−z`. Flipping `x₁` at node 1 makes `−z = 2`: margin −1. Only node 1 can break node 0.
#[test]
fn negative_messages() {
    let graph = common::graph(vec![vec![1], vec![0]], vec![vec![], vec![]], 1);
    let matrix = gcnproof_files::SparseMatrix {
        rows: 2,
        columns: 2,
        offsets: vec![0, 2, 3],
        indices: vec![0, 1, 1],
        values: vec![1.0, -2.0, 1.0],
    };
    let layers = vec![(dense(&[&[1.0, -1.0]]), vec![0.0, 0.0]), (dense(&[&[0.0, 0.0], &[0.0, 1.0]]), vec![1.0, 0.0])];
    let rules = [Operator::from_plain(matrix).unwrap(), Operator::Identity];
    let gcn = Network::from_file(common::model(layers), &rules, &graph).unwrap();
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), Bound::Best);
    let result = certifier.certify_node(0, &mut Workspace::default());
    assert_eq!((result.verdict, result.witness), (Verdict::NonRobust, vec![Flip { node: 1, attribute: 0 }]));
    assert!((result.margins[0].upper + 1.0).abs() < 1e-12);
    let budget = Budget::uniform(&graph, 1, 1).freeze_nodes(&[1]).unwrap();
    let certifier = certifier_of(&graph, &gcn, budget, Bound::Best);
    assert_eq!(certifier.certify_node(0, &mut Workspace::default()).verdict, Verdict::Robust);
}
