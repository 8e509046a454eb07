//! Operators by rule, against dense matrices that are computed from the definitions in another way.

use super::*;
use crate::verdict::Cost;
use crate::work::{Limits, Work};
use gcnproof_files::Pattern;

/// A graph of some nodes with these (undirected) edges; each node has one attribute.
fn graph(nodes: usize, edges: &[(u32, u32)]) -> GraphFile {
    let pattern = |entry: &dyn Fn(u32, u32) -> bool, columns: u32| {
        let mut pattern = Pattern { rows: nodes, columns: columns as usize, offsets: vec![0], indices: Vec::new() };
        for i in 0..nodes as u32 {
            pattern.indices.extend((0..columns).filter(|&j| entry(i, j)));
            pattern.offsets.push(pattern.indices.len());
        }
        pattern
    };
    let linked = |i: u32, j: u32| edges.contains(&(i, j)) || edges.contains(&(j, i));
    GraphFile::new(pattern(&linked, nodes as u32), pattern(&|_, _| true, 1), None)
}

type Dense = Vec<Vec<f64>>;

fn dense(matrix: &SparseMatrix) -> Dense {
    let row = |i: usize| {
        let mut row = vec![0.0; matrix.columns];
        let (columns, values) = matrix.row(i);
        columns.iter().zip(values).for_each(|(&j, &x)| row[j as usize] = x);
        row
    };
    (0..matrix.rows).map(row).collect()
}

/// The rules of one word by their definitions.
fn expected(graph: &GraphFile, rule: &str) -> Dense {
    let nodes = graph.adjacency.rows;
    let linked = |i: usize, j: usize| graph.adjacency.contains(i, j as u32);
    let plus = |i: usize, j: usize| i == j || linked(i, j);
    let count = |of: &dyn Fn(usize, usize) -> bool, i: usize| (0..nodes).filter(|&j| of(i, j)).count() as f64;
    let entry = |i: usize, j: usize| match rule {
        "gcn" if plus(i, j) => 1.0 / (count(&plus, i) * count(&plus, j)).sqrt(),
        "gcn-self" if linked(i, j) => 1.0 / (count(&linked, i) * count(&linked, j)).sqrt(),
        "mean" if linked(i, j) => 1.0 / count(&linked, i),
        "mean+self" if plus(i, j) => 1.0 / count(&plus, i),
        "sum" if linked(i, j) => 1.0,
        "sum+self" if plus(i, j) => 1.0,
        "identity" if i == j => 1.0,
        _ => 0.0,
    };
    (0..nodes).map(|i| (0..nodes).map(|j| entry(i, j)).collect()).collect()
}

/// `Σ c_k A^k`, every entry as a dot product over all nodes.
fn polynomial(base: &Dense, coefficients: &[f64]) -> Dense {
    let nodes = base.len();
    let mut power: Dense = (0..nodes).map(|i| (0..nodes).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut total: Dense = vec![vec![0.0; nodes]; nodes];
    for (k, c) in coefficients.iter().enumerate() {
        if k > 0 {
            let dot = |i: usize, j: usize| (0..nodes).fold(0.0, |sum, n| sum + base[i][n] * power[n][j]);
            power = (0..nodes).map(|i| (0..nodes).map(|j| dot(i, j)).collect()).collect();
        }
        for (total, power) in total.iter_mut().flatten().zip(power.iter().flatten()) {
            *total += c * power;
        }
    }
    total
}

fn edges(seed: u64, nodes: u32) -> Vec<(u32, u32)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 100
    };
    let mut edges = Vec::new();
    for i in 0..nodes {
        for j in i..nodes {
            // Few self-loops, and now and then a node without neighbours.
            if next() < if i == j { 10 } else { 30 } {
                edges.push((i, j));
            }
        }
    }
    edges
}

const WORDS: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];

#[test]
fn every_rule_is_what_its_definition_says_to_the_last_bit() {
    for seed in 0..60 {
        let graph = graph(7, &edges(seed, 7));
        let mut operators = Operators::new(&graph, &[]);
        for rule in WORDS {
            let base = expected(&graph, rule);
            assert_eq!(dense(&operators.operator(rule, &Work::lines().line()).unwrap()), base, "{rule} {seed}");
            for list in
                ["1", "0,1", "0.1,0.2,0.3", "0,0,1", "-1,0.5,0,1e-3", "1,-2,1.0,", "3,0,0", "0", ".5,+2,-1.25e0"]
            {
                let rule = format!("poly({rule};{})", list.trim_end_matches(','));
                let coefficients: Vec<f64> =
                    list.trim_end_matches(',').split(',').map(|text| text.parse().unwrap()).collect();
                let found = operators.operator(&rule, &Work::lines().line()).unwrap();
                assert!(found.values.iter().all(|&x| x != 0.0));
                assert_eq!(dense(&found), polynomial(&base, &coefficients), "{rule} {seed}");
            }
        }
    }
}

/// Coefficients that cancel leave no entry behind.
#[test]
fn what_comes_out_as_zero_is_dropped() {
    let graph = graph(2, &[(0, 1)]);
    let mut operators = Operators::new(&graph, &[]);
    // The square of a swap is the identity.
    let found = operators.operator("poly(sum;1,0,-1)", &Work::lines().line()).unwrap();
    assert!(found.indices.is_empty() && found.offsets == [0, 0, 0]);
    let alone = super::tests::graph(2, &[]);
    let found = Operators::new(&alone, &[]).operator("gcn-self", &Work::lines().line()).unwrap();
    assert!(found.indices.is_empty());
}

#[test]
fn what_is_no_rule_is_refused_by_name() {
    let graph = graph(3, &[(0, 1), (1, 2)]);
    let refused =
        |rule: &str| Operators::new(&graph, &[]).operator(rule, &Work::lines().line()).unwrap_err().to_string();
    for rule in ["", "gsn", "gcn & sum", "poly", "poly()", "poly(gcn)", "poly(gcn;1", "Poly(gcn;1)", "gcn;1", " gcn"] {
        assert_eq!(refused(rule), format!("header: unknown message passing '{rule}'"));
    }
    assert_eq!(refused("poly(gsn;1,1)"), "header: unknown message passing 'gsn'");
    assert_eq!(refused("poly(poly(gcn;1);1)"), "header: message passing 'poly(poly(gcn;1);1)': a poly of a poly");
    for text in ["", "x", "inf", "nan", "1e999", "-1e999", " 1", "0x1", "1_0", "1 "] {
        let rule = format!("poly(gcn;1,{text})");
        assert_eq!(refused(&rule), format!("header: message passing '{rule}': '{text}' is no finite number"));
    }
    assert_eq!(
        refused("poly(sum;0,1e308,1e308,1e308)"),
        "files: an entry of message passing 'poly(sum;0,1e308,1e308,1e308)' is not a finite number"
    );
    assert!(refused(&format!("poly(gcn;1,{}", "1,".repeat(1_000_000))).len() < 400);
    let missing = "matrix:0000";
    assert_eq!(refused(missing), "header: no matrix with digest 0000 was given");
    assert_eq!(refused("poly(matrix:0000;1)"), "header: no matrix with digest 0000 was given");
}

/// A power that overflows is refused, whatever is made of it.
#[test]
fn powers_that_overflow_are_refused() {
    let graph = graph(1, &[]);
    let large = SparseMatrix { rows: 1, columns: 1, offsets: vec![0, 1], indices: vec![0], values: vec![1e200] };
    let name = format!("matrix:{}", matrix_digest(&large));
    let matrices = [Arc::new(large)];
    let mut operators = Operators::new(&graph, &matrices);
    for list in ["0,0,1", "0,0,0,1e-300", "1,0,1e-320"] {
        let found = operators.operator(&format!("poly({name};{list})"), &Work::lines().line()).unwrap_err().to_string();
        assert!(found.ends_with("power 2 has an entry that is not finite"), "{found}");
    }
    assert!(operators.operator(&format!("poly({name};1,1,0)"), &Work::lines().line()).is_ok());
}

/// A star: its square has an entry for every pair of nodes.
fn star(nodes: u32) -> GraphFile {
    let mut adjacency =
        Pattern { rows: nodes as usize, columns: nodes as usize, offsets: vec![0], indices: Vec::new() };
    for i in 0..nodes {
        adjacency.indices.extend(if i == 0 { 1..nodes } else { 0..1 });
        adjacency.offsets.push(adjacency.indices.len());
    }
    let attributes =
        Pattern { rows: nodes as usize, columns: 1, offsets: vec![0; nodes as usize + 1], indices: Vec::new() };
    GraphFile::new(adjacency, attributes, None)
}

#[test]
fn powers_are_refused_before_they_take_too_much() {
    let graph = star(2_000);
    let limits = Limits { memory: 2_000 * 2_000 * KEPT, ..Limits::NONE };
    let found = |limits: Limits, rule: &str, named: bool| {
        let work = Work::new(limits, 0, None);
        let mut operators = Operators::new(&graph, &[]);
        operators.named_by_model = named;
        operators.operator(rule, &work.line()).map(|matrix| matrix.indices.len())
    };
    // All that is kept fits, to the byte; the same with one byte less does not, unless the model names the rule.
    assert_eq!(found(limits, "poly(gcn;0,0,1)", false), Ok(4_000_000));
    let less = Limits { memory: limits.memory - 1, ..limits };
    let too_large = |rule: &str| matches!(found(less, rule, false), Err(Reason::TooExpensive(Cost::Memory { .. })));
    assert!(too_large("poly(gcn;0,0,1)"));
    assert_eq!(found(less, "poly(gcn;0,0,1)", true), Ok(4_000_000));
    // Here two powers and a sum are in memory at the same time.
    assert!(too_large("poly(gcn;0,0,1,1)"));
    // A square costs a product for every path of two steps, and so does each further power that is as large.
    let steps = |rule: &str| match found(Limits { line: 1_000_000, ..limits }, rule, false) {
        Err(Reason::TooExpensive(Cost::Line { steps, .. })) => steps,
        other => panic!("{other:?}"),
    };
    assert!(steps("poly(gcn;0,0,1)") > STEP * 4_000_000);
    // Thirty thousand powers are known to be too many before the first is computed.
    let many = format!("poly(gcn;{}1)", "0,".repeat(30_000));
    assert!(steps(&many) >= 30_000 * STEP * (3 * 2_000 - 2));
    assert_eq!(found(Limits { line: 1_000_000, ..limits }, "poly(gcn;0,1)", false), Ok(3 * 2_000 - 2));
}

#[test]
fn a_readout_has_a_row_for_each_graph() {
    let plain = graph(5, &[(0, 1), (3, 4)]);
    let batched = plain.clone().batched(vec![0, 0, 1, 2, 2]).unwrap();
    let mut operators = Operators::new(&batched, &[]);
    for (rule, entries) in [("pool-sum", [1.0, 1.0, 1.0]), ("pool-mean", [0.5, 1.0, 0.5])] {
        let [a, b, c] = entries;
        let expected = [[a, a, 0.0, 0.0, 0.0], [0.0, 0.0, b, 0.0, 0.0], [0.0, 0.0, 0.0, c, c], [0.0; 5], [0.0; 5]];
        assert_eq!(
            dense(&operators.operator(rule, &Work::lines().line()).unwrap()),
            expected.map(|row| row.to_vec()),
            "{rule}"
        );
    }
    assert!(operators.operator("poly(pool-sum;0,1)", &Work::lines().line()).is_err());
    assert!(Operators::new(&plain, &[]).operator("pool-sum", &Work::lines().line()).is_err());
    // Thirds are the floats that a framework computes.
    let thirds = graph(3, &[]).batched(vec![0, 0, 0]).unwrap();
    let mean = Operators::new(&thirds, &[]).operator("pool-mean", &Work::lines().line()).unwrap();
    assert_eq!(mean.values, [1.0 / 3.0; 3]);
}
