//! The gradient of a loss with respect to every weight and bias.

use gcnproof::internals::problem::network::Network;

/// One number per parameter, layer by layer, in the layout of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// Like `W(l)`, row-major inputs × outputs.
    pub weight: Vec<Vec<f64>>,
    /// Like `b(l)`.
    pub bias: Vec<Vec<f64>>,
}

impl Gradient {
    /// Zeros in the shape of the network's weights and biases.
    pub fn zeros(network: &Network) -> Gradient {
        Gradient {
            weight: network.layers().iter().map(|layer| vec![0.0; layer.weight.values().len()]).collect(),
            bias: network.layers().iter().map(|layer| vec![0.0; layer.bias.values().len()]).collect(),
        }
    }

    /// Multiplies each number by that of another one.
    pub(crate) fn scale(&mut self, factors: &Gradient) {
        let tensors = self.weight.iter_mut().zip(&factors.weight).chain(self.bias.iter_mut().zip(&factors.bias));
        for (numbers, factors) in tensors {
            numbers.iter_mut().zip(factors).for_each(|(number, factor)| *number *= factor);
        }
    }
}

/// The part of a bias' gradient that belongs to a node: its own row where each node has one, else the only one.
#[inline]
pub(crate) fn bias_row(bias: &mut [f64], width: usize, node: usize) -> &mut [f64] {
    if bias.len() == width { bias } else { &mut bias[node * width..][..width] }
}

/// `into += factor · from`.
#[inline]
pub(crate) fn add_scaled(into: &mut [f64], factor: f64, from: &[f64]) {
    for (slot, x) in into.iter_mut().zip(from) {
        *slot += factor * x;
    }
}

/// The inner product.
#[inline]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
