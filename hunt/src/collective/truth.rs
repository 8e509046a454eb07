//! How many predictions the worst single perturbation breaks, by listing all of them exactly.

use crate::case::Case;
use crate::truth::Oracle;

/// Which predictions count, and what the attacker may do besides the budget of the case.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Only predictions of these nodes count.
    pub nodes: Option<Vec<usize>>,
    /// Flips are in the rows of at most so many nodes.
    pub attacked_nodes: Option<usize>,
}

/// What is true of a whole graph.
#[derive(Clone, Debug)]
pub struct Worst {
    /// The predicted class of every node.
    pub predicted: Vec<usize>,
    /// The predictions that count.
    pub counted: Vec<usize>,
    /// The most that a perturbation breaks.
    pub broken: usize,
    /// One that does.
    pub flips: Vec<(usize, usize)>,
}

/// The nodes whose predictions count.
pub fn counted(case: &Case, scope: &Scope, predicted: &[usize]) -> Vec<usize> {
    let named = scope.nodes.clone().unwrap_or_else(|| (0..case.nodes()).collect());
    let right = |node: &usize| {
        let label = case.graph.labels.as_ref().and_then(|labels| labels[*node]);
        !case.labels || label.map(|label| label as usize) == Some(predicted[*node])
    };
    named.into_iter().filter(right).collect()
}

/// The nodes that some flips break; the case must be one component.
pub fn broken(case: &Case, counted: &[usize], predicted: &[usize], flips: &[(usize, usize)]) -> Vec<usize> {
    use crate::truth::Margins;
    let oracle = Oracle::new(case);
    let breaks = |node: &usize| {
        let others = (0..case.classes()).filter(|&class| class != predicted[*node]);
        others.into_iter().any(|class| oracle.margin(*node, predicted[*node], class, flips).sign().is_le())
    };
    counted.iter().copied().filter(breaks).collect()
}

/// The worst perturbation; the case must be one component.
pub fn worst(case: &Case, scope: &Scope) -> Worst {
    let oracle = Oracle::new(case);
    let mut worst = Worst { predicted: Vec::new(), counted: Vec::new(), broken: 0, flips: Vec::new() };
    oracle.each_broken(0..case.nodes(), |flips, predicted, broken| {
        if worst.predicted.is_empty() {
            worst.predicted = predicted.to_vec();
            worst.counted = counted(case, scope, predicted);
        }
        let mut rows: Vec<usize> = flips.iter().map(|flip| flip.0).collect();
        rows.sort_unstable();
        rows.dedup();
        if rows.len() > scope.attacked_nodes.unwrap_or(usize::MAX) {
            return;
        }
        let count = worst.counted.iter().filter(|&&node| broken[node]).count();
        if count > worst.broken {
            worst.broken = count;
            worst.flips = flips.to_vec();
        }
    });
    worst
}
