//! A case that differs a little from another one.

use crate::case::{Case, matrix, pattern};
use crate::numbers::step;
use crate::random::Random;

/// Changes one or two things: an attribute, a weight, a bias, an entry of a matrix, an edge.
pub fn vary(case: &Case, random: &mut Random) -> Case {
    let mut other = case.clone();
    for _ in 0..1 + random.below(2) {
        match random.below(5) {
            0 => attribute(&mut other, random),
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
            _ => edge(&mut other, random),
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

fn attribute(case: &mut Case, random: &mut Random) {
    let (node, attribute) = (random.below(case.nodes()), random.below(case.attributes()) as u32);
    let mut rows: Vec<Vec<u32>> = (0..case.nodes()).map(|n| case.graph.attributes.row(n).to_vec()).collect();
    match rows[node].binary_search(&attribute) {
        Ok(place) => drop(rows[node].remove(place)),
        Err(place) => rows[node].insert(place, attribute),
    }
    case.graph.attributes = pattern(case.attributes(), &rows);
}

fn edge(case: &mut Case, random: &mut Random) {
    let (m, n) = (random.below(case.nodes()), random.below(case.nodes()));
    let mut rows: Vec<Vec<u32>> = (0..case.nodes()).map(|n| case.graph.adjacency.row(n).to_vec()).collect();
    let mut turn = |m: usize, n: u32| match rows[m].binary_search(&n) {
        Ok(place) => drop(rows[m].remove(place)),
        Err(place) => rows[m].insert(place, n),
    };
    turn(m, n as u32);
    if m != n {
        turn(n, m as u32);
    }
    case.graph.adjacency = pattern(case.nodes(), &rows);
}

/// The case without the entries of its matrices that are listed by place in row order; for shrinking.
pub fn without_entry(one: &gcnproof_files::SparseMatrix, place: usize) -> gcnproof_files::SparseMatrix {
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
