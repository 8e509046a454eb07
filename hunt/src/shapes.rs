//! Shapes of components: who is linked to whom among a few nodes.

use crate::random::Random;

/// Edges among nodes 0, 1, …; each is listed once, a self-loop as `(n, n)`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of nodes.
    pub nodes: usize,
    pub edges: Vec<(usize, usize)>,
}

/// A random shape with at most so many nodes.
pub fn shape(most: usize, loops: bool, random: &mut Random) -> Shape {
    let most = most.max(1);
    let mut nodes = 1 + random.below(most.min(6));
    let mut edges = Vec::new();
    match random.below(8) {
        // No edges at all.
        0 => nodes = nodes.min(2),
        // A hub.
        1 | 2 => {
            nodes = 1 + random.below(most);
            edges.extend((1..nodes).map(|leaf| (0, leaf)));
        }
        // A path, or a ring.
        3 | 4 => {
            edges.extend((1..nodes).map(|n| (n - 1, n)));
            if nodes > 2 && random.percent(40) {
                edges.push((0, nodes - 1));
            }
        }
        // Everyone linked to everyone.
        5 => {
            nodes = nodes.min(4);
            edges.extend((0..nodes).flat_map(|m| (0..m).map(move |n| (n, m))));
        }
        // Anything.
        _ => {
            let share = 20 + random.next() % 60;
            for m in 0..nodes {
                for n in 0..m {
                    if random.percent(share) {
                        edges.push((n, m));
                    }
                }
            }
        }
    }
    if loops {
        edges.extend((0..nodes).filter(|_| random.percent(30)).map(|n| (n, n)).collect::<Vec<_>>());
    }
    Shape { nodes, edges }
}

impl Shape {
    /// The neighbours of every node, ascending, with ids that start at `first`.
    pub fn rows(&self, first: usize) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); self.nodes];
        for &(m, n) in &self.edges {
            rows[m].push((first + n) as u32);
            if m != n {
                rows[n].push((first + m) as u32);
            }
        }
        rows.iter_mut().for_each(|row| row.sort_unstable());
        rows
    }
}
