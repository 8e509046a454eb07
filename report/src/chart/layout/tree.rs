//! A tree of squares: what is far away pushes as one.

/// A square with everything in it seen as one body.
#[derive(Clone, Copy)]
struct Square {
    centre: [f64; 2],
    half: f64,
    /// The sum of mass times place, and the mass.
    moment: [f64; 2],
    mass: f64,
    /// The first of its four parts; 0 if it has none.
    parts: u32,
}

/// A tree over some bodies.
pub struct Tree {
    squares: Vec<Square>,
}

/// Bodies that are still together this deep are taken as one.
const DEEPEST: usize = 40;

/// A square that looks smaller than this pushes as one body.
const ANGLE: f64 = 0.9;

impl Tree {
    /// The tree of these bodies.
    pub fn new(points: &[(f64, f64)], mass: &[f64]) -> Tree {
        let fold = |of: fn(&(f64, f64)) -> f64| {
            points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |r, x| (r.0.min(x), r.1.max(x)))
        };
        let (x, y) = (fold(|p| p.0), fold(|p| p.1));
        let half = 0.5 * (x.1 - x.0).max(y.1 - y.0).max(1e-9) * 1.001;
        let root = empty([0.5 * (x.0 + x.1), 0.5 * (y.0 + y.1)], half);
        let mut tree = Tree { squares: vec![root] };
        for (&point, &mass) in points.iter().zip(mass) {
            tree.insert(point.into(), mass);
        }
        tree
    }

    fn insert(&mut self, point: [f64; 2], mass: f64) {
        let mut at = 0;
        for depth in 0.. {
            let square = self.squares[at];
            self.squares[at].add(point, mass);
            if square.parts == 0 {
                if square.mass == 0.0 || depth >= DEEPEST {
                    return;
                }
                // Whoever was alone here goes down with the new one.
                let resident = square.moment.map(|moment| moment / square.mass);
                self.squares[at].parts = self.squares.len() as u32;
                let half = 0.5 * square.half;
                for part in 0..4 {
                    let side = |bit: usize| if part & bit > 0 { half } else { -half };
                    self.squares.push(empty([square.centre[0] + side(1), square.centre[1] + side(2)], half));
                }
                let part = self.squares[at].part(resident);
                self.squares[part].add(resident, square.mass);
            }
            at = self.squares[at].part(point);
        }
    }

    /// The push on a body of mass 1: mass divided by distance, away from each body. `todo` is room to work in.
    pub fn push(&self, point: [f64; 2], todo: &mut Vec<u32>) -> (f64, f64) {
        let mut push = (0.0, 0.0);
        todo.clear();
        todo.push(0);
        while let Some(at) = todo.pop() {
            let square = &self.squares[at as usize];
            if square.mass == 0.0 {
                continue;
            }
            let [x, y] = [0, 1].map(|at| point[at] - square.moment[at] / square.mass);
            let distance = x * x + y * y;
            let width = 2.0 * square.half;
            if square.parts == 0 || width * width < ANGLE * ANGLE * distance {
                // A body does not push itself, nor whoever is at its very place.
                if distance > 1e-18 {
                    push.0 += square.mass * x / distance;
                    push.1 += square.mass * y / distance;
                }
            } else {
                todo.extend(square.parts..square.parts + 4);
            }
        }
        push
    }
}

impl Square {
    fn add(&mut self, point: [f64; 2], mass: f64) {
        (0..2).for_each(|at| self.moment[at] += mass * point[at]);
        self.mass += mass;
    }

    fn part(&self, point: [f64; 2]) -> usize {
        self.parts as usize + usize::from(point[0] > self.centre[0]) + 2 * usize::from(point[1] > self.centre[1])
    }
}

fn empty(centre: [f64; 2], half: f64) -> Square {
    Square { centre, half, moment: [0.0, 0.0], mass: 0.0, parts: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Close to the sum over all bodies; bodies at one place do no harm.
    #[test]
    fn the_push_is_nearly_the_sum() {
        let mut points: Vec<(f64, f64)> = (0..500).map(|n| super::super::jitter(n, 30.0)).collect();
        points.extend([(1.0, 1.0); 5]);
        let mass = vec![1.0; points.len()];
        let tree = Tree::new(&points, &mass);
        for &p in points.iter().step_by(37) {
            let near = tree.push(p.into(), &mut Vec::new());
            let mut sum = (0.0, 0.0);
            for q in &points {
                let (x, y) = (p.0 - q.0, p.1 - q.1);
                let d = x * x + y * y;
                if d > 1e-18 {
                    sum = (sum.0 + x / d, sum.1 + y / d);
                }
            }
            let (size, off) = (sum.0.hypot(sum.1), (sum.0 - near.0).hypot(sum.1 - near.1));
            assert!(off < 0.1 * size + 1.0, "{sum:?} {near:?}");
        }
    }
}
