//! A case that differs a little from another one.

use gcnproof_files::{GraphFile, Pattern, SparseMatrix};

use crate::case::{Case, matrix, pattern};
use crate::numbers::step;
use crate::random::Random;

/// Changes one or two things: an attribute, a weight, a bias, an entry of a matrix, an edge.
pub fn vary(case: &Case, random: &mut Random) -> Case {
    let mut other = case.clone();
    for _ in 0..1 + random.below(2) {
        match random.below(5) {
            0 => toggle_attribute(&mut other.graph, random),
            1 | 2 => {
                let at = random.below(other.model.layers.len());
                let layer = &mut other.model.layers[at];
                let place = random.below(layer.weight.values.len());
                layer.weight.values[place] = near(layer.weight.values[place], random);
            }
            3 => {
                let at = random.below(other.model.layers.len());
                let layer = &mut other.model.layers[at];
                let place = random.below(layer.bias.len());
                layer.bias[place] = near(layer.bias[place], random);
            }
            _ => toggle_edge(&mut other.graph, random),
        }
    }
    other
}

fn near(x: f64, random: &mut Random) -> f64 {
    let moved = match random.below(6) {
        0 => step(x, 1),
        1 => step(x, -1),
        2 => 0.0,
        3 => -x,
        4 => x * 1.5,
        _ => x + random.between(-1, 1) as f64 * 0.5,
    };
    if moved.is_finite() { moved } else { x }
}

/// Puts something into a sorted row, or takes it out.
fn toggle(row: &mut Vec<u32>, one: u32) {
    match row.binary_search(&one) {
        Ok(place) => drop(row.remove(place)),
        Err(place) => row.insert(place, one),
    }
}

fn rows(pattern: &Pattern) -> Vec<Vec<u32>> {
    (0..pattern.rows).map(|n| pattern.row(n).to_vec()).collect()
}

/// Gives a random attribute to a random node, or takes it away.
pub fn toggle_attribute(graph: &mut GraphFile, random: &mut Random) {
    let columns = graph.attributes.columns;
    let (node, attribute) = (random.below(graph.attributes.rows), random.below(columns) as u32);
    let mut rows = rows(&graph.attributes);
    toggle(&mut rows[node], attribute);
    graph.attributes = pattern(columns, &rows);
}

/// Adds a random edge, or removes it.
pub fn toggle_edge(graph: &mut GraphFile, random: &mut Random) {
    let nodes = graph.adjacency.rows;
    let (m, n) = (random.below(nodes), random.below(nodes));
    let mut rows = rows(&graph.adjacency);
    toggle(&mut rows[m], n as u32);
    if m != n {
        toggle(&mut rows[n], m as u32);
    }
    graph.adjacency = pattern(nodes, &rows);
}

/// The case without the entries of its matrices that are listed by place in row order; for shrinking.
pub fn without_entry(one: &SparseMatrix, place: usize) -> SparseMatrix {
    let mut count = 0;
    let rows: Vec<Vec<(u32, f64)>> = (0..one.rows)
        .map(|i| {
            let (columns, values) = one.row(i);
            let kept = columns.iter().zip(values).filter_map(|(&j, &a)| {
                count += 1;
                (count - 1 != place).then_some((j, a))
            });
            kept.collect()
        })
        .collect();
    matrix(&rows)
}
