//! Adam (Kingma & Ba, 2015): steps scaled by running means of the gradient and of its square.

use gcnproof::internals::problem::network::Network;
use rayon::prelude::*;

use super::gradient::Gradient;

const MEAN_DECAY: f64 = 0.9;
const SQUARE_DECAY: f64 = 0.999;
const FLOOR: f64 = 1e-8;

/// Parameters per parallel piece.
const PIECE: usize = 4096;

/// The running means.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Running mean of the gradient.
    pub mean: Gradient,
    /// Running mean of the squares of its entries.
    pub square: Gradient,
    /// Steps made.
    pub steps: u64,
}

impl Adam {
    /// Nothing seen yet.
    pub fn new(network: &Network) -> Adam {
        Adam { mean: Gradient::zeros(network), square: Gradient::zeros(network), steps: 0 }
    }

    /// Moves the parameters against the gradient.
    pub fn step(&mut self, network: &mut Network, gradient: &Gradient, rate: f64) {
        self.steps += 1;
        let power = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let rate = rate / (1.0 - MEAN_DECAY.powi(power));
        let correction = 1.0 / (1.0 - SQUARE_DECAY.powi(power));
        let update = |parameters: &mut [f64], gradient: &[f64], mean: &mut [f64], square: &mut [f64]| {
            let pieces = parameters.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE));
            let pieces = pieces.zip(mean.par_chunks_mut(PIECE).zip(square.par_chunks_mut(PIECE)));
            pieces.for_each(|((parameters, gradient), (mean, square))| {
                for ((p, &g), (m, s)) in parameters.iter_mut().zip(gradient).zip(mean.iter_mut().zip(square)) {
                    *m += (1.0 - MEAN_DECAY) * (g - *m);
                    *s += (1.0 - SQUARE_DECAY) * (g * g - *s);
                    *p -= rate * *m / ((*s * correction).sqrt() + FLOOR);
                }
            });
        };
        for (l, layer) in network.layers_mut().iter_mut().enumerate() {
            update(
                layer.weight.values_mut(),
                &gradient.weight[l],
                &mut self.mean.weight[l],
                &mut self.square.weight[l],
            );
            update(layer.bias.values_mut(), &gradient.bias[l], &mut self.mean.bias[l], &mut self.square.bias[l]);
        }
    }
}
