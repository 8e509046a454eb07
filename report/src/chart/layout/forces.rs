//! Forces: every two nodes push each other away, links pull together, and steps get shorter until nothing moves.

use rayon::prelude::*;

use super::coarse::Level;
use super::tree::Tree;

/// Steps at the coarsest level, where everything is still to be found, and at the others.
const STEPS: (usize, usize) = (200, 50);

/// How strongly everything is drawn to the middle, in proportion to the distance. Without it a few leaves fly far out,
/// and the map is mostly empty.
const HOMEWARD: f64 = 0.6;

/// Moves the points of a level until they are about at rest.
pub fn relax(level: &Level, points: &mut Vec<(f64, f64)>, coarsest: bool) {
    let steps = if coarsest { STEPS.0 } else { STEPS.1 };
    // The finer the level, the less is left to do.
    let longest = if coarsest { 0.3 * level.mass.iter().sum::<f64>().sqrt() + 1.0 } else { 2.0 };
    let total: f64 = level.mass.iter().sum();
    for step in 0..steps {
        let middle = points.iter().zip(&level.mass).fold((0.0, 0.0), |m, (p, own)| (m.0 + own * p.0, m.1 + own * p.1));
        let middle = (middle.0 / total, middle.1 / total);
        let tree = Tree::new(points, &level.mass);
        let reach = longest * (1.0 - step as f64 / steps as f64) + 0.02;
        let next = points.par_iter().enumerate().map_init(Vec::new, |todo, (node, &point)| {
            let own = level.mass[node];
            let push = tree.push(point.into(), todo);
            let (x, y) = (middle.0 - point.0, middle.1 - point.1);
            let mut force = (own * (push.0 + HOMEWARD * x), own * (push.1 + HOMEWARD * y));
            for &(other, weight) in &level.links[node] {
                let (x, y) = (points[other as usize].0 - point.0, points[other as usize].1 - point.1);
                // The pull grows with the square of the length, the push falls with it: two lone nodes rest at length
                // 1.
                let pull = weight * (x * x + y * y).sqrt();
                force.0 += pull * x;
                force.1 += pull * y;
            }
            let size = (force.0 * force.0 + force.1 * force.1).sqrt();
            let step = if size > 0.0 { (size / own).min(reach) / size } else { 0.0 };
            (point.0 + step * force.0, point.1 + step * force.1)
        });
        *points = next.collect();
    }
}
