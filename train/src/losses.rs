//! The losses (docs/math.md §9), each with its derivatives.
//!
//! With `g_k` the certified margin of the class `y` over `k`, `p_k = −g_k` and `p_y = 0`:
//!
//! ```text
//! cross entropy         CE(x, y)    = ln Σ_k exp(x_k) − x_y
//! robust cross entropy  CE(p, y)
//! robust hinge          hinge_M     = Σ_{k≠y} max(0, p_k + M)          (derivative 0 at the kink)
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Cross entropy of the labelled nodes.
    Ce,
    /// Robust cross entropy of the labelled nodes.
    Rce,
    /// Cross entropy and robust hinge of the labelled nodes.
    Rh,
    /// That, and the robust hinge of the unlabelled nodes for the class they are predicted to have.
    RhU,
}

impl Loss {
    /// All of them, in the order of the published table.
    pub const ALL: [Loss; 4] = [Loss::Ce, Loss::Rce, Loss::Rh, Loss::RhU];

    /// As it is written on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Ce => "ce",
            Loss::Rce => "rce",
            Loss::Rh => "rh",
            Loss::RhU => "rh-u",
        }
    }

    /// Does it contain the cross entropy of the true network?
    pub fn is_exact(self) -> bool {
        self != Loss::Rce
    }

    /// Does it contain a certificate?
    pub fn is_robust(self) -> bool {
        self != Loss::Ce
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Loss {
    type Err = String;
    fn from_str(text: &str) -> Result<Loss, String> {
        let found = Loss::ALL.into_iter().find(|loss| loss.name() == text);
        found.ok_or_else(|| format!("'{text}' is none of ce, rce, rh, rh-u"))
    }
}

/// `CE(x, y)` and `∂/∂x` (docs/math.md (9.1)).
pub fn cross_entropy(logits: &[f64], class: usize) -> (f64, Vec<f64>) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|x| (x - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let mut derivative: Vec<f64> = powers.iter().map(|power| power / sum).collect();
    derivative[class] -= 1.0;
    (sum.ln() + largest - logits[class], derivative)
}

/// `CE(p, y)` and `∂/∂g`, from the bounds `g`; the entry at `y` is not read (docs/math.md (9.2)).
pub fn robust_cross_entropy(bounds: &[f64], class: usize) -> (f64, Vec<f64>) {
    let logits: Vec<f64> = bounds.iter().enumerate().map(|(k, g)| if k == class { 0.0 } else { -g }).collect();
    let (loss, mut derivative) = cross_entropy(&logits, class);
    derivative.iter_mut().for_each(|d| *d = -*d);
    derivative[class] = 0.0;
    (loss, derivative)
}

/// `hinge_M` and `∂/∂g` (docs/math.md (9.3)).
pub fn hinge(bounds: &[f64], class: usize, margin: f64) -> (f64, Vec<f64>) {
    let mut loss = 0.0;
    let derivative = bounds
        .iter()
        .enumerate()
        .map(|(k, g)| {
            let short = margin - g;
            if k == class || short <= 0.0 {
                return 0.0;
            }
            loss += short;
            -1.0
        })
        .collect();
    (loss, derivative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_values() {
        let (loss, derivative) = cross_entropy(&[0.0, 0.0], 1);
        assert!((loss - 2f64.ln()).abs() < 1e-15);
        assert_eq!(derivative, [0.5, -0.5]);
        let (loss, derivative) = hinge(&[1.0, f64::INFINITY, 2.0, -1.0], 1, 2.0);
        assert_eq!((loss, derivative), (4.0, vec![-1.0, 0.0, 0.0, -1.0]));
        let (loss, derivative) = robust_cross_entropy(&[f64::INFINITY, 0.0], 0);
        assert!((loss - 2f64.ln()).abs() < 1e-15);
        assert_eq!(derivative, [0.0, -0.5]);
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let (loss, derivative) = cross_entropy(&[1e4, 0.0, -1e4], 1);
        assert!((loss - 1e4).abs() < 1e-9 && derivative.iter().all(|d| d.is_finite()));
        assert!(robust_cross_entropy(&[f64::INFINITY, -1e5], 0).0.is_finite());
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for loss in Loss::ALL {
            assert_eq!(loss.name().parse(), Ok(loss));
        }
        assert!("hinge".parse::<Loss>().is_err());
    }
}
