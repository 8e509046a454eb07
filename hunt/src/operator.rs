//! The entries of a message-passing rule, from the table in section 1 of `check/FORMAT.md`.

use crate::case::{Case, Rule};

/// One row per node: columns, ascending, with their entries.
pub type Rows = Vec<Vec<(usize, f64)>>;

/// The entries of a rule on the graph of a case.
pub fn rows(case: &Case, rule: &Rule) -> Rows {
    let count = case.nodes();
    let file = |i: usize| -> Vec<usize> { case.graph.adjacency.row(i).iter().map(|&j| j as usize).collect() };
    let with_self = |i: usize| -> Vec<usize> {
        let mut all = file(i);
        if !all.contains(&i) {
            all.push(i);
            all.sort_unstable();
        }
        all
    };
    let each = |row: &dyn Fn(usize) -> Vec<usize>, entry: &dyn Fn(usize, usize) -> f64| -> Rows {
        (0..count).map(|i| row(i).into_iter().map(|j| (j, entry(i, j))).collect()).collect()
    };
    match rule {
        Rule::Matrix(matrix) => (0..count)
            .map(|i| {
                let (columns, values) = matrix.row(i);
                columns.iter().zip(values).map(|(&j, &a)| (j as usize, a)).collect()
            })
            .collect(),
        Rule::Named("gcn") => {
            let sizes: Vec<f64> = (0..count).map(|i| with_self(i).len() as f64).collect();
            each(&with_self, &|i, j| 1.0 / (sizes[i] * sizes[j]).sqrt())
        }
        Rule::Named("mean") => each(&file, &|i, _| 1.0 / file(i).len() as f64),
        Rule::Named("mean+self") => each(&with_self, &|i, _| 1.0 / with_self(i).len() as f64),
        Rule::Named("sum") => each(&file, &|_, _| 1.0),
        Rule::Named("sum+self") => each(&with_self, &|_, _| 1.0),
        Rule::Named(rule @ ("pool-sum" | "pool-mean")) => {
            let batch = case.graph.batch.clone().unwrap_or_default();
            let nodes = |g: usize| (0..count).filter(|&n| batch[n] as usize == g).collect::<Vec<usize>>();
            each(&nodes, &|g, _| if *rule == "pool-mean" { 1.0 / nodes(g).len() as f64 } else { 1.0 })
        }
        Rule::Named(_) => each(&|i| vec![i], &|_, _| 1.0),
    }
}
