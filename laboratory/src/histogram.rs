//! Histograms of gaps, on a linear and on a logarithmic axis, and as text for the terminal.

use std::fmt::Write;

use gcnproof_report::chart::axis::{round_step, tidy};
use gcnproof_results::record::pair::ZERO;

/// One bar: how many gaps lie in `from ≤ gap < to` (the last bar includes its end).
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What the bar covers, for a person.
    pub label: String,
    /// How many gaps.
    pub count: usize,
}

/// Bars of equal width, in gap or in its logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The bars from left to right.
    pub bars: Vec<Bar>,
    /// Is the axis logarithmic?
    pub logarithmic: bool,
}

impl Histogram {
    /// About a dozen bars of a round width over all gaps. Values that are not finite are left out.
    pub fn linear(gaps: &[f64]) -> Histogram {
        let gaps: Vec<f64> = gaps.iter().copied().filter(|gap| gap.is_finite()).collect();
        let (least, most) = gaps.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &g| (l.min(g), m.max(g)));
        if gaps.is_empty() {
            return Histogram { bars: Vec::new(), logarithmic: false };
        }
        let width = round_step((most - least).max(ZERO) / 12.0);
        let first = ((least + ZERO * 1e-3) / width).floor();
        // A gap at the end of the last bar belongs to it, so that 12 round values do not need 13 bars.
        let count = (((most / width) - first).ceil() as usize).clamp(1, 40);
        let mut bars: Vec<Bar> =
            (0..count).map(|at| Bar { label: format!("{}", tidy((first + at as f64) * width)), count: 0 }).collect();
        for gap in gaps {
            let at = ((gap / width - first).max(0.0) as usize).min(count - 1);
            bars[at].count += 1;
        }
        // The right end of the axis is a label without a bar.
        bars.push(Bar { label: format!("{}", tidy((first + count as f64) * width)), count: 0 });
        Histogram { bars, logarithmic: false }
    }

    /// Half-decades of the gaps' sizes; first one bar for everything below zero and one for everything that is zero.
    pub fn logarithmic(gaps: &[f64]) -> Histogram {
        let gaps: Vec<f64> = gaps.iter().copied().filter(|gap| gap.is_finite()).collect();
        let negative = gaps.iter().filter(|&&gap| gap < -ZERO).count();
        let zero = gaps.iter().filter(|&&gap| gap.abs() <= ZERO).count();
        let halves: Vec<i32> =
            gaps.iter().filter(|&&gap| gap > ZERO).map(|gap| (gap.log10() * 2.0).floor() as i32).collect();
        let mut bars = vec![Bar { label: "< 0".into(), count: negative }, Bar { label: "0".into(), count: zero }];
        if let (Some(&least), Some(&most)) = (halves.iter().min(), halves.iter().max()) {
            for half in least..=most {
                let from = 10f64.powf(f64::from(half) / 2.0);
                let count = halves.iter().filter(|&&h| h == half).count();
                bars.push(Bar { label: short(from), count });
            }
            bars.push(Bar { label: short(10f64.powf(f64::from(most + 1) / 2.0)), count: 0 });
        }
        if negative == 0 {
            bars.remove(0);
        }
        Histogram { bars, logarithmic: true }
    }

    /// All gaps counted.
    pub fn total(&self) -> usize {
        self.bars.iter().map(|bar| bar.count).sum()
    }

    /// As lines of text, one bar each; every line begins with where its bar begins.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let most = self.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
        let named = |bar: &Bar| bar.label == "0" || bar.label == "< 0";
        for (at, bar) in self.bars.iter().enumerate() {
            // The last entry is only the end of the axis.
            if at + 1 == self.bars.len() && bar.count == 0 && !(self.logarithmic && named(bar)) {
                continue;
            }
            let from = if self.logarithmic && named(bar) { bar.label.clone() } else { format!("≥ {}", bar.label) };
            let blocks = (bar.count * 40).div_ceil(most);
            let _ = writeln!(text, "  {from:>10} {:<40} {}", "█".repeat(blocks), bar.count);
        }
        text
    }
}

fn short(value: f64) -> String {
    if (0.01..10_000.0).contains(&value) {
        format!("{}", (value * 1000.0).round() / 1000.0)
    } else {
        format!("{value:.0e}")
    }
}
