//! What changes of which no two share an end can do together, from what each does: every change counts at one of its
//! ends, and no node has two.

use crate::edges::changes::ends::Ends;

/// By node that is moved, by end, and by unit: the most that a change which counts there raises and lowers a number.
pub(crate) struct Tops {
    nodes: usize,
    width: usize,
    rise: Vec<f64>,
    fall: Vec<f64>,
}

/// Adds a number to the largest, which are descending.
fn insert(top: &mut [f64], x: f64) {
    if let Some(mut place) = top.len().checked_sub(1).filter(|&last| x > top[last]) {
        while place > 0 && top[place - 1] < x {
            top[place] = top[place - 1];
            place -= 1;
        }
        top[place] = x;
    }
}

impl Tops {
    pub(crate) fn new(nodes: usize, width: usize) -> Tops {
        let size = nodes * nodes * width;
        Tops { nodes, width, rise: vec![0.0; size], fall: vec![0.0; size] }
    }

    pub(crate) fn clear(&mut self) {
        self.rise.fill(0.0);
        self.fall.fill(0.0);
    }

    /// A change with these ends does this to a node. Where neither end has as much yet, it counts at the end that is
    /// near.
    pub(crate) fn put(&mut self, node: usize, ends: [usize; 2], near: [bool; 2], by: &Ends) {
        let first = ends.map(|end| (node * self.nodes + end) * self.width);
        for unit in 0..self.width {
            for (slots, x) in [(&mut self.rise, by.hi[unit]), (&mut self.fall, -by.lo[unit])] {
                let [one, other] = first.map(|first| slots[first + unit]);
                if x > one && x > other {
                    let at = if near[0] == near[1] { usize::from(other > one) } else { usize::from(near[1]) };
                    slots[first[at] + unit] = x;
                }
            }
        }
    }

    /// How far at most so many changes move a node.
    pub(crate) fn sum(&self, node: usize, count: usize) -> Ends {
        let mut sum = Ends::zeros(self.width);
        let mut top = vec![0.0; 2 * self.width * count];
        if count == 0 {
            return sum;
        }
        for end in 0..self.nodes {
            let first = (node * self.nodes + end) * self.width;
            for unit in 0..self.width {
                insert(&mut top[2 * unit * count..][..count], self.rise[first + unit]);
                insert(&mut top[(2 * unit + 1) * count..][..count], self.fall[first + unit]);
            }
        }
        for unit in 0..self.width {
            sum.hi[unit] = top[2 * unit * count..][..count].iter().sum();
            sum.lo[unit] = -top[(2 * unit + 1) * count..][..count].iter().sum::<f64>();
        }
        sum
    }
}
