//! Histograms as SVG, with a count on every bar.

use gcnproof_report::chart::axis::Axis;
use gcnproof_report::chart::palette::Ink;
use gcnproof_report::chart::plot::{Bar, Plot, Shape};
use gcnproof_report::chart::svg::Drawing;

use super::histogram::Histogram;

const SIZE: [f64; 2] = [760.0, 380.0];

/// Draws the histogram. `title` and `axis` are plain text.
pub fn draw(histogram: &Histogram, title: &str, axis: &str) -> String {
    let scale = if histogram.logarithmic { " (logarithmic axis)" } else { "" };
    let mut x = Axis::named(&format!("{axis}{scale}"), histogram.bars.iter().map(|bar| bar.label.clone()).collect());
    // The last label is the end of the axis.
    x.range = (-0.6, histogram.bars.len().max(2) as f64 - 0.7);
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1) as f64;
    let title = format!("{title} ({} class pairs)", histogram.total());
    let mut plot = Plot::new(&title, x, Axis::linear("class pairs", 0.0, 1.08 * most));
    for (at, bar) in histogram.bars.iter().enumerate().filter(|(_, bar)| bar.count > 0) {
        // A bar's label stands where it begins; those of zero and less, which are not on a logarithmic axis, in the
        // middle.
        let special = histogram.logarithmic && (bar.label == "0" || bar.label == "< 0");
        let (from, to, ink) = if special { (-0.4, 0.4, Ink::Sky) } else { (0.02, 0.98, Ink::Blue) };
        let bar = Bar {
            x: (at as f64 + from, at as f64 + to),
            y: (0.0, bar.count as f64),
            told: format!("{}: {} class pairs", bar.label, bar.count),
            label: bar.count.to_string(),
        };
        plot.mark("", Shape::Bars(vec![bar]), ink, 1.0);
    }
    let mut drawing = Drawing::default();
    plot.draw(&mut drawing, [0.0, 0.0], SIZE);
    drawing.document(SIZE, &title)
}
