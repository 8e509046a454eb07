//! Who pays for a removal: weights of the views of an edge, and the shares made of them (docs/math.md (18.9)).

use crate::edges::scene::Scene;

/// The weights of a pair `(m, n)`: when its edge is cut, and when other edges are removed at `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) cut: u32,
    pub(crate) other: u32,
}

/// What is not said.
pub(crate) const EVEN: Weight = Weight { cut: 1, other: 1 };

/// Shares are multiples of this.
const GRID: f64 = (1u64 << 30) as f64;

/// Shares of all views of a scene, neighbour by neighbour, link by link.
#[derive(Debug)]
pub(crate) struct Shares {
    /// What the cut of a link costs.
    pub(crate) cut: Vec<Vec<f64>>,
    /// What 1, 2, … removals elsewhere at the sender cost, that to the target left out.
    other: Vec<Vec<f64>>,
    starts: Vec<Vec<usize>>,
    /// Free edges of every node but those of the target, cheapest first.
    pub(crate) order: Vec<Vec<(f64, u32)>>,
}

impl Shares {
    /// From weights by neighbour and link; `None` if it is late.
    pub(crate) fn new(scene: &Scene, weights: &[Vec<Weight>]) -> Option<Shares> {
        let (ground, target) = (&scene.ground, scene.ground.target);
        let reads = scene.problem.rule().reads_sender();
        let mut at_node = vec![0i64; target.ids.len()];
        let mut total = vec![0i64; target.edges.len()];
        for (of, weights) in scene.around.iter().zip(weights) {
            for (link, weight) in of.links.iter().zip(weights) {
                let other = if reads { i64::from(weight.other) } else { 0 };
                at_node[link.node as usize] += other;
                // This edge is not one elsewhere at n.
                total[link.edge as usize] += i64::from(weight.cut) - other;
            }
        }
        let share = |edge: u32| {
            let [a, b] = target.edges[edge as usize];
            let total = total[edge as usize] + at_node[a as usize] + at_node[b as usize];
            if total > 0 { (GRID / total as f64).floor() / GRID } else { 0.0 }
        };
        let order = |v: usize| -> Vec<(f64, u32)> {
            let others =
                target.at[v].iter().filter(|&&edge| ground.free[edge as usize] && target.across(edge, v as u32) != 0);
            let mut order: Vec<(f64, u32)> = others.map(|&edge| (share(edge), edge)).collect();
            order.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
            order
        };
        let order: Vec<Vec<(f64, u32)>> =
            (0..target.middle).map(|v| if v > 0 && reads { order(v) } else { Vec::new() }).collect();
        let mut shares = Shares { cut: Vec::new(), other: Vec::new(), starts: Vec::new(), order };
        for (of, weights) in scene.around.iter().zip(weights) {
            let cut = |(link, weight): (&crate::edges::scene::Link, &Weight)| f64::from(weight.cut) * share(link.edge);
            shares.cut.push(of.links.iter().zip(weights).map(cut).collect());
            let (mut other, mut starts) = (Vec::new(), vec![0]);
            for (at, (link, weight)) in of.links.iter().zip(weights).enumerate() {
                if scene.pace.is_late_for(shares.order[link.node as usize].len()) {
                    return None;
                }
                let most = of.states[0].gains(at).len();
                let mut sum = 0.0;
                let elsewhere = shares.order[link.node as usize].iter().filter(|edge| edge.1 != link.edge);
                for (share, _) in elsewhere.take(most) {
                    sum += share;
                    other.push(f64::from(weight.other) * sum);
                }
                starts.push(other.len());
            }
            shares.other.push(other);
            shares.starts.push(starts);
        }
        Some(shares)
    }

    /// What 1, 2, … removals elsewhere cost, that to the target left out.
    pub(crate) fn other(&self, place: usize, link: usize) -> &[f64] {
        &self.other[place][self.starts[place][link]..self.starts[place][link + 1]]
    }
}

/// Weights in proportion to what one removal does in each view, and a little for every view.
pub(crate) fn weights(decreases: &[Vec<[f64; 2]>]) -> Vec<Vec<Weight>> {
    let largest = decreases.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let weight = |decrease: f64| match decrease / largest {
        share if share.is_finite() => 1 + (1000.0 * share).round() as u32,
        _ => 1,
    };
    let link = |&[cut, other]: &[f64; 2]| Weight { cut: weight(cut), other: weight(other) };
    decreases.iter().map(|row| row.iter().map(link).collect()).collect()
}
