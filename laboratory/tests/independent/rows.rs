//! Rows divided by their sums and categories: verdicts, bounds and smallest margins against HiGHS' programs of the same
//! problem, and both against all changes.

use std::time::Duration;

use gcnproof::{Budget, Certifier, Effort, Graph, Limits, Network, Problem, Verdict};
use gcnproof_files::{GraphFile, Normalisation, Pattern};
use gcnproof_laboratory::measurement::{Settings, pairs};
use gcnproof_laboratory::rows::row_instance;
use gcnproof_verify::rows::RowInstance;

use crate::common;

/// What solvers are granted.
const TOLERANCE: f64 = 1e-6;

/// Sets of changes that are tried one by one.
const MOST: usize = 1 << 12;

fn settings() -> Settings {
    Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 20.0 }
}

fn normalised(seed: u64) -> (Graph, Network, Budget) {
    let common::Problem { graph, gcn, budget, .. } = common::problem(91_000_000 + seed, 2 + (seed % 3) as usize);
    let normalisation = [Normalisation::Float32, Normalisation::Float64][(seed % 2) as usize];
    (Graph::from_file(graph.file().normalised(normalisation)), gcn, budget)
}

/// All attributes but the last of larger rows are one group, of which rows have one at most.
fn categories(seed: u64) -> (Graph, Network, Budget) {
    let common::Problem { graph, gcn, budget, .. } = common::problem(92_000_000 + seed, 2 + (seed % 3) as usize);
    let GraphFile { adjacency, attributes, .. } = graph.file();
    let columns = attributes.columns;
    let grouped = if columns > 2 { columns - 1 } else { columns };
    let row = |n: usize| {
        let (inside, outside): (Vec<u32>, Vec<u32>) = attributes.row(n).iter().partition(|d| (**d as usize) < grouped);
        inside.into_iter().take(1).chain(outside).collect::<Vec<u32>>()
    };
    let rows: Vec<Vec<u32>> = (0..attributes.rows).map(row).collect();
    let offsets = std::iter::once(0).chain(rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    }));
    let attributes = Pattern { rows: rows.len(), columns, offsets: offsets.collect(), indices: rows.concat() };
    let groups: Vec<i64> = (0..columns).map(|d| if d < grouped { 0 } else { -1 }).collect();
    let file = GraphFile::new(adjacency, attributes, None).grouped(&groups).unwrap();
    let graph = Graph::from_file(file);
    let gcn = gcn.widened(&graph).unwrap();
    let local: Vec<i64> = budget.locals().iter().map(|&q| i64::from(q)).collect();
    let budget = Budget::per_node(&graph, budget.global(), &local).unwrap();
    (graph, gcn, budget)
}

/// The smallest margin by trying all sets of changes; none if there are too many.
fn least(instance: &RowInstance) -> Option<f64> {
    let count = instance.changes.len();
    let sets = 1usize.checked_shl(count as u32).filter(|sets| count < 20 && *sets <= MOST)?;
    let made = |set: usize| (0..count).filter(|at| set >> at & 1 == 1).collect::<Vec<usize>>();
    let admitted = (0..sets).map(made).filter(|made| instance.admits(made));
    Some(admitted.map(|made| instance.forward(&made)).fold(f64::INFINITY, f64::min))
}

fn compare(name: &str, make: fn(u64) -> (Graph, Network, Budget)) {
    let (mut exact, mut tried, mut asked, mut broken, mut changed, mut solved) = (0, 0, 0, 0, 0, 0);
    for seed in 0..70 {
        let (graph, network, budget) = make(seed);
        let problem = Problem::new(graph.clone(), network, budget).unwrap();
        let limits = Limits { nodes: 3000, time: Duration::from_secs(2) };
        let certifier = Certifier::builder(problem).effort(Effort::Minimize { limits, gap: 0.0 }).build();
        for node in 0..graph.node_count() {
            let result = certifier.one(node).unwrap();
            let classes: Vec<usize> = result.margins.iter().map(|margin| margin.class).collect();
            let rows = pairs(&certifier, &settings(), node, &classes);
            let mut instance = row_instance(certifier.prepared(), node).unwrap();
            let mut smallest = f64::INFINITY;
            for (row, margin) in rows.iter().zip(&result.margins) {
                let about = format!("{name}, seed {seed}, node {node}: {margin:?} {row:?}");
                assert_eq!(row.violation, None, "{about}");
                asked += 1;
                exact += usize::from(row.exact.is_some());
                let milp = row.milp.unwrap_or_else(|| panic!("{about}"));
                let (lp, ilp) = (row.lp_highs.unwrap_or(milp), row.ilp.unwrap_or(milp));
                changed += usize::from(lp < milp - 1e-3 && ilp > lp + 1e-3);
                solved += usize::from(row.lp_highs.is_some() && row.ilp.is_some());
                smallest = smallest.min(milp);
                instance.objective.fill(0.0);
                instance.objective[row.reference as usize] += 1.0;
                instance.objective[row.class as usize] -= 1.0;
                if let Some(least) = least(&instance) {
                    tried += 1;
                    assert!((least - milp).abs() <= TOLERANCE * (1.0 + milp.abs()), "{about}: {least}");
                }
            }
            match result.verdict {
                Verdict::Robust => assert!(smallest > -TOLERANCE, "{name}, seed {seed}, node {node}: {smallest}"),
                Verdict::NonRobust => broken += 1,
                Verdict::Undecided => {}
            }
        }
    }
    println!(
        "{name}: {asked} pairs, {solved} solved, {exact} exact, {tried} by all changes, {broken} nodes broken, {changed} with three numbers"
    );
    assert!(
        asked > 150
            && solved * 100 >= asked * 98
            && exact * 100 >= asked * 95
            && tried * 2 > asked
            && broken > 20
            && changed > 5
    );
}

#[test]
fn normalised_rows_are_those_of_the_mixed_program() {
    compare("normalised rows", normalised);
}

#[test]
fn categories_are_those_of_the_mixed_program() {
    compare("categories", categories);
}
