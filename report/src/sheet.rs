//! A sheet: a figure, or the reason why there is none; and helpers that figures share.

use crate::chart::figure::{Figure, Made};

/// What stands in the place of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Sheet {
    /// The figure.
    Drawn(Box<Figure>),
    /// Why there is none, and what would give it.
    Missing {
        /// The number of the figure.
        number: usize,
        /// Its title.
        title: String,
        /// Why it is missing.
        why: String,
    },
}

impl Sheet {
    /// The words in the place of a figure.
    pub fn missing(number: usize, title: &str, why: &str) -> Sheet {
        Sheet::Missing { number, title: title.to_string(), why: why.to_string() }
    }

    /// The same with what it is made from.
    pub fn made_from(mut self, made: Vec<Made>) -> Sheet {
        if let Sheet::Drawn(figure) = &mut self {
            figure.made = made;
        }
        self
    }

    /// The figure's number.
    pub fn number(&self) -> usize {
        match self {
            Sheet::Drawn(figure) => figure.number,
            Sheet::Missing { number, .. } => *number,
        }
    }
}

impl From<Figure> for Sheet {
    fn from(figure: Figure) -> Sheet {
        Sheet::Drawn(Box::new(figure))
    }
}

/// A part of a file name: what a model's name becomes in it.
pub fn slug(name: &str) -> String {
    let legal = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let slug: String = name.chars().map(legal).collect();
    slug.trim_matches('_').chars().take(60).collect()
}

/// At most `count` of the points, spread evenly over their order: enough to see the cloud.
pub fn thinned(points: Vec<(f64, f64)>, count: usize) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(count.max(1)).max(1);
    points.into_iter().step_by(every).collect()
}

/// The value below which a share of sorted values lies.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    sorted.get((share * sorted.len().saturating_sub(1) as f64).round() as usize).copied()
}

/// A share in percent.
pub fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Is this the digest of a file: many hexadecimal digits and nothing else?
pub fn is_digest(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As much of a digest as people compare.
pub fn short_digest(digest: &str) -> String {
    if is_digest(digest) { format!("{}…", &digest[..12]) } else { digest.to_string() }
}
