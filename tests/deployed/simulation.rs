//! Executions in true binary32: every choice that an execution has is drawn at random.

use gcnproof::Network;
use gcnproof_verify::random::Stream;

/// A number on its way into a sum.
#[derive(Clone, Copy)]
enum Leaf {
    Value(f32),
    /// Not multiplied yet: an addition may fuse it.
    Product(f32, f32),
}

impl Leaf {
    fn value(self, flush: bool) -> f32 {
        match self {
            Leaf::Value(x) => x,
            Leaf::Product(a, b) => flushed(a * b, flush),
        }
    }
}

fn flushed(x: f32, flush: bool) -> f32 {
    if flush && x.is_subnormal() { 0.0 } else { x }
}

/// One execution.
pub struct Simulation<'a> {
    pub random: &'a mut Stream,
    /// By how many units operator entries are moved at most, by layer and term.
    pub operator_errors: &'a [Vec<u32>],
    pub flush: bool,
}

impl Simulation<'_> {
    /// A sum along a random binary tree.
    fn sum(&mut self, mut leaves: Vec<Leaf>) -> f32 {
        let chain = self.random.chance(40);
        while leaves.len() > 1 {
            let first = leaves.swap_remove(self.random.below(leaves.len()));
            let at = if chain { leaves.len() - 1 } else { self.random.below(leaves.len()) };
            let second = leaves.swap_remove(at);
            let sum = match (first, second) {
                (Leaf::Product(a, b), other) | (other, Leaf::Product(a, b)) if self.random.chance(50) => {
                    a.mul_add(b, other.value(self.flush))
                }
                (x, y) => x.value(self.flush) + y.value(self.flush),
            };
            // A chain goes on with what it has.
            leaves.push(Leaf::Value(flushed(sum, self.flush)));
        }
        leaves.pop().map_or(0.0, |leaf| leaf.value(self.flush))
    }

    /// An operator entry as this execution has it.
    fn entry(&mut self, a: f64, error: u32) -> f32 {
        // One unit is left for the rounding to binary32.
        let units = 0.999 * f64::from(error.saturating_sub(1));
        let moved = a * (1.0 + self.random.real() * units * 0.5f64.powi(24));
        if error == 0 { a as f32 } else { moved as f32 }
    }

    /// The logits of all nodes.
    pub fn logits(&mut self, network: &Network, attributes: &[Vec<f64>]) -> Vec<Vec<f32>> {
        let mut h: Vec<Vec<f32>> =
            attributes.iter().map(|row| row.iter().map(|&x| flushed(x as f32, self.flush)).collect()).collect();
        let last = network.layers().len() - 1;
        for (l, layer) in network.own_layers().enumerate() {
            let terms = layer.passing.terms();
            let weight = |k: usize, i: usize, j: usize| layer.weight.get(k * layer.inputs() + i, j) as f32;
            let mut next = Vec::new();
            for m in 0..network.node_count() {
                let row: Vec<(usize, Vec<f32>)> = layer
                    .passing
                    .row(m)
                    .map(|(n, a)| (n, (0..terms).map(|k| self.entry(a[k], self.operator_errors[l][k])).collect()))
                    .collect();
                let mut outputs = Vec::new();
                for (j, &bias) in layer.bias.row(m).iter().enumerate() {
                    let mut leaves = vec![Leaf::Value(bias as f32)];
                    for k in 0..terms {
                        let senders = || row.iter().filter(|(_, a)| a[k] != 0.0);
                        if self.random.chance(50) {
                            for (n, a) in senders() {
                                let products = (0..layer.inputs()).map(|i| Leaf::Product(h[*n][i], weight(k, i, j)));
                                let sent = self.sum(products.collect());
                                leaves.push(Leaf::Product(a[k], sent));
                            }
                        } else {
                            let inputs = 0..layer.inputs();
                            leaves.extend(inputs.map(|i| {
                                let received = senders().map(|(n, a)| Leaf::Product(a[k], h[*n][i])).collect();
                                Leaf::Product(self.sum(received), weight(k, i, j))
                            }));
                        }
                    }
                    let z = self.sum(leaves);
                    outputs.push(if l < last && !layer.is_linear(j) { z.max(0.0) } else { z });
                }
                next.push(outputs);
            }
            h = next;
        }
        h
    }
}
