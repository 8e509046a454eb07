//! SVG elements, with their text escaped.

use std::fmt::Write;

use super::palette::Ink;

/// Where a text is anchored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing in progress.
#[derive(Debug, Default)]
pub struct Drawing {
    text: String,
}

impl Drawing {
    /// The whole document of a given size; `label` is what a screen reader says.
    pub fn document(self, [width, height]: [f64; 2], label: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"{}\">\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            escaped(label),
            Ink::Text.hex(),
            self.text
        )
    }

    /// Anything, as it is: the caller has escaped its text.
    pub fn raw(&mut self, element: &str) {
        self.text.push_str(element);
        self.text.push('\n');
    }

    /// A text of a given size.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, size: f64, ink: Ink, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{}\" font-size=\"{size}\" {}>{}</text>",
            anchor.name(),
            ink.fill(),
            escaped(text)
        );
    }

    /// A text that runs upwards.
    pub fn upward(&mut self, [x, y]: [f64; 2], text: &str) {
        let _ = writeln!(
            self.text,
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\" {}>{}</text>",
            Ink::Text.fill(),
            escaped(text)
        );
    }

    /// A straight line.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], class: &str, colour: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\" stroke=\"{colour}\"/>",
            from[0], from[1], to[0], to[1]
        );
    }

    /// A filled rectangle, with what a pointer resting on it is told.
    pub fn rectangle(&mut self, [x, y, width, height]: [f64; 4], ink: Ink, opacity: f64, told: &str) {
        let _ = write!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" {}{}",
            width.max(0.0),
            height.max(0.0),
            ink.fill(),
            opaque(opacity)
        );
        let _ = match told {
            "" => writeln!(self.text, "/>"),
            told => writeln!(self.text, "><title>{}</title></rect>", escaped(told)),
        };
    }

    /// A polyline.
    pub fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dash: &str, opacity: f64) {
        if points.is_empty() {
            return;
        }
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let faint = if opacity < 1.0 { format!(" stroke-opacity=\"{opacity}\"") } else { String::new() };
        let _ = writeln!(
            self.text,
            "<path d=\"{}\" {} stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}{faint}/>",
            outline(points),
            ink.stroke()
        );
    }

    /// A filled polygon.
    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink, opacity: f64) {
        if !points.is_empty() {
            let _ = writeln!(self.text, "<path d=\"{}Z\" {}{}/>", outline(points), ink.fill(), opaque(opacity));
        }
    }

    /// Many dots of one colour as one element: thousands of them stay light.
    pub fn dots(&mut self, points: &[(f64, f64)], ink: Ink, size: f64, opacity: f64) {
        if points.is_empty() {
            return;
        }
        // A line of no length with round ends is a dot.
        let mut d = String::new();
        for (x, y) in points {
            let _ = write!(d, "M{x:.1} {y:.1}h0");
        }
        let _ = writeln!(
            self.text,
            "<path d=\"{d}\" class=\"dots s-{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{size}\" stroke-linecap=\"round\" \
             stroke-opacity=\"{opacity}\"/>",
            ink.name(),
            ink.hex()
        );
    }
}

fn opaque(opacity: f64) -> String {
    if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() }
}

fn outline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    d
}

/// Text as it may stand in SVG and HTML, in an attribute too. Characters that XML forbids are left out.
pub fn escaped(text: &str) -> String {
    let mut legal = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => legal.push_str("&amp;"),
            '<' => legal.push_str("&lt;"),
            '>' => legal.push_str("&gt;"),
            '"' => legal.push_str("&quot;"),
            '\t' | '\n' | '\r' => legal.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => legal.push(c),
        }
    }
    legal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_legal() {
        assert_eq!(escaped("a<b>&\"c\"\u{0}\u{8}"), "a&lt;b&gt;&amp;&quot;c&quot;");
    }

    #[test]
    fn nothing_draws_nothing() {
        let mut drawing = Drawing::default();
        drawing.path(&[], Ink::Blue, 1.0, "", 1.0);
        drawing.area(&[], Ink::Blue, 1.0);
        drawing.dots(&[], Ink::Blue, 1.0, 1.0);
        assert_eq!(drawing.text, "");
    }
}
