//! Places for the nodes of a graph on a map: linked nodes near each other, all of them apart, the same at every run.
//!
//! Every connected part is laid out by itself – first a coarse picture of it, then finer ones (`coarse`, `forces`) –
//! and the parts are put side by side (`pack`).

mod coarse;
mod forces;
mod pack;
mod tree;

use coarse::Level;

/// Where the nodes are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// A place for each node, between (0, 0) and the size.
    pub points: Vec<(f64, f64)>,
    /// Width and height.
    pub size: (f64, f64),
}

/// Lays out a graph, given the neighbours of every node. Links are taken in both directions, and those of a node with
/// itself are passed over.
pub fn layout(neighbours: &[Vec<u32>]) -> Layout {
    let parts = components(neighbours);
    let mut local = vec![0; neighbours.len()];
    let mut boxes = Vec::with_capacity(parts.len());
    for part in &parts {
        for (at, &node) in part.iter().enumerate() {
            local[node as usize] = at as u32;
        }
        let mut links = vec![Vec::new(); part.len()];
        for (at, &node) in part.iter().enumerate() {
            for &other in neighbours[node as usize].iter().filter(|other| **other != node) {
                let other = local[other as usize];
                links[at].push((other, 1.0));
                links[other as usize].push((at as u32, 1.0));
            }
        }
        for list in &mut links {
            list.sort_unstable_by_key(|link| link.0);
            list.dedup_by_key(|link| link.0);
        }
        boxes.push(pack::upright(spread(Level { links, mass: vec![1.0; part.len()] })));
    }
    let (places, size) = pack::shelves(&boxes.iter().map(|b| b.1).collect::<Vec<_>>());
    let mut points = vec![(0.0, 0.0); neighbours.len()];
    for ((part, (inside, _)), corner) in parts.iter().zip(&boxes).zip(&places) {
        for (&node, point) in part.iter().zip(inside) {
            points[node as usize] = (corner.0 + point.0, corner.1 + point.1);
        }
    }
    Layout { points, size }
}

/// Coarse first: what the coarse picture has found out, the finer one only refines.
fn spread(finest: Level) -> Vec<(f64, f64)> {
    let mut levels = vec![finest];
    let mut parents = Vec::new();
    while let Some((coarser, parent)) = levels.last().and_then(Level::coarser) {
        levels.push(coarser);
        parents.push(parent);
    }
    let top = levels.last().map_or(0, |level| level.mass.len());
    let mut points: Vec<(f64, f64)> = (0..top).map(|at| jitter(at, 2.0 * (top as f64).sqrt())).collect();
    for (at, level) in levels.iter().enumerate().rev() {
        forces::relax(level, &mut points, at + 1 == levels.len());
        if at > 0 {
            // A node begins beside the one that stood for it.
            let parent: &Vec<u32> = &parents[at - 1];
            let beside = |(node, &parent): (usize, &u32)| {
                let (place, aside) = (points[parent as usize], jitter(node, 0.5));
                (place.0 + aside.0, place.1 + aside.1)
            };
            points = parent.iter().enumerate().map(beside).collect();
        }
    }
    points
}

/// A place in a square of this width that depends on the number alone and looks like chance.
fn jitter(number: usize, width: f64) -> (f64, f64) {
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let seed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (width * mix(seed), width * mix(seed ^ 0x5555_5555_5555_5555))
}

/// The connected parts, the largest first, nodes in rising order.
fn components(neighbours: &[Vec<u32>]) -> Vec<Vec<u32>> {
    // Links may be given in one direction only.
    let mut root: Vec<u32> = (0..neighbours.len() as u32).collect();
    fn find(root: &mut [u32], mut node: u32) -> u32 {
        while root[node as usize] != node {
            root[node as usize] = root[root[node as usize] as usize];
            node = root[node as usize];
        }
        node
    }
    for (node, list) in neighbours.iter().enumerate() {
        for &other in list {
            let (one, two) = (find(&mut root, node as u32), find(&mut root, other));
            root[one.max(two) as usize] = one.min(two);
        }
    }
    let mut parts: std::collections::BTreeMap<u32, Vec<u32>> = std::collections::BTreeMap::new();
    for node in 0..neighbours.len() as u32 {
        parts.entry(find(&mut root, node)).or_default().push(node);
    }
    let mut parts: Vec<Vec<u32>> = parts.into_values().collect();
    parts.sort_by_key(|part| usize::MAX - part.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of 20 × 20, a star of 60, a path of 5, and three nodes alone.
    fn graph() -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); 468];
        for at in 0..400u32 {
            if at % 20 != 19 {
                lists[at as usize].push(at + 1);
            }
            if at < 380 {
                lists[at as usize].push(at + 20);
            }
        }
        lists[400] = (401..460).collect();
        for (at, list) in (460..464u32).zip(&mut lists[460..]) {
            list.push(at + 1);
        }
        lists
    }

    #[test]
    fn the_map_is_the_same_at_every_run_and_inside_its_size() {
        let one = layout(&graph());
        assert_eq!(one, layout(&graph()));
        let inside = |p: &(f64, f64)| (0.0..=one.size.0).contains(&p.0) && (0.0..=one.size.1).contains(&p.1);
        assert!(one.points.len() == 468 && one.points.iter().all(inside), "{:?}", one.size);
        assert_eq!(layout(&[]).points.len(), 0);
        assert_eq!(layout(&[vec![0]]).points.len(), 1);
    }

    #[test]
    fn linked_nodes_are_near_and_parts_are_apart() {
        let (lists, map) = (graph(), layout(&graph()));
        let distance = |a: usize, b: usize| {
            let (p, q) = (map.points[a], map.points[b]);
            ((p.0 - q.0).powi(2) + (p.1 - q.1).powi(2)).sqrt()
        };
        let links: Vec<f64> = (0..400)
            .flat_map(|a| lists[a].iter().map(move |&b| (a, b as usize)))
            .map(|(a, b)| distance(a, b))
            .collect();
        let mean = links.iter().sum::<f64>() / links.len() as f64;
        // Corners of the grid are 38 links apart: the picture must not be folded.
        assert!(distance(0, 399) > 12.0 * mean && distance(19, 380) > 12.0 * mean, "{mean} {}", distance(0, 399));
        let bounds = |nodes: std::ops::Range<usize>| {
            nodes.fold((f64::MAX, f64::MAX, f64::MIN, f64::MIN), |b, n| {
                let p = map.points[n];
                (b.0.min(p.0), b.1.min(p.1), b.2.max(p.0), b.3.max(p.1))
            })
        };
        let (grid, star) = (bounds(0..400), bounds(400..460));
        assert!(grid.2 < star.0 || star.2 < grid.0 || grid.3 < star.1 || star.3 < grid.1, "{grid:?} {star:?}");
    }
}
