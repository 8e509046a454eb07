//! The picture of a histogram: a small SVG with axis labels and a count on every bar.

use std::fmt::Write;

use super::histogram::Histogram;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 62.0;
/// Blue of the Okabe–Ito palette, which people with any kind of colour vision tell from the rest.
const FILL: &str = "#0072B2";

/// Light blue of the same palette: the bars for zero and less, which are not on the logarithmic axis.
const FILL_SPECIAL: &str = "#56B4E9";

/// Draws the histogram. `title` and `axis` are plain text.
pub fn draw(histogram: &Histogram, title: &str, axis: &str) -> String {
    let (title, axis) = (escaped(title), escaped(axis));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n"
    );
    let total = histogram.total();
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"42\" fill=\"#555\">{total} class pairs</text>");
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1) as f64;
    let step = tick(most);
    let high = (most / step).ceil() * step;
    let y = |count: f64| bottom - (bottom - TOP - 14.0) * count / high;
    let mut level = 0.0;
    while level <= high {
        let at = y(level);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{level}</text>",
            LEFT - 8.0,
            at + 4.0
        );
        level += step;
    }
    let slot = (right - LEFT) / histogram.bars.len().max(1) as f64;
    for (at, bar) in histogram.bars.iter().enumerate() {
        let x = LEFT + at as f64 * slot;
        let top = y(bar.count as f64);
        let special = histogram.logarithmic && (bar.label == "0" || bar.label == "< 0");
        if bar.count > 0 {
            let (left, width) = if special { (x + 6.0, slot - 16.0) } else { (x + 1.0, slot - 2.0) };
            let fill = if special { FILL_SPECIAL } else { FILL };
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom - top,
                x + slot / 2.0,
                top - 4.0,
                bar.count
            );
        }
        // A bar's label stands under its left edge, where it begins; those of the special bars under their middle.
        let place = if special { x + slot / 2.0 } else { x };
        let every = histogram.bars.len().div_ceil(16);
        if at % every == 0 || special {
            let _ = writeln!(
                svg,
                "<text x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 17.0,
                escaped(&bar.label)
            );
        }
    }
    let scale = if histogram.logarithmic { " (logarithmic axis)" } else { "" };
    let _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#222\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{axis}{scale}</text>\n\
         <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">class pairs</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 18.0,
        (TOP + bottom) / 2.0,
    );
    svg.push_str("</svg>\n");
    svg
}

/// A round distance between two lines: about five of them, never less than one.
fn tick(most: f64) -> f64 {
    let power = 10f64.powf((most / 5.0).max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step * 5.0 >= most).unwrap_or(10.0 * power)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_every_count_and_legal_text() {
        let svg = draw(&Histogram::logarithmic(&[-1.0, 0.0, 0.0, 0.5]), "a < b & c", "gap");
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt; 0") && svg.contains(">2</text>"));
        assert_eq!(svg.matches("<rect").count(), 1 + 3);
        assert!(draw(&Histogram::linear(&[]), "none", "gap").ends_with("</svg>\n"));
    }
}
