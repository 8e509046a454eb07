//! One plot: two axes, marks between them, a legend.

use super::axis::{Axis, Scale};
use super::palette::Ink;
use super::svg::{Anchor, Drawing};

/// A rectangle in the coordinates of the axes: a bar of whatever direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// From where to where along the x axis.
    pub x: (f64, f64),
    /// From where to where along the y axis.
    pub y: (f64, f64),
    /// What a pointer resting on it is told.
    pub told: String,
    /// Written at its end; may be empty.
    pub label: String,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Without a break.
    #[default]
    Solid,
    /// Dashes: published numbers.
    Dashed,
    /// Dots and dashes.
    Mixed,
    /// Dots.
    Dotted,
}

impl Dash {
    fn pattern(self) -> &'static str {
        match self {
            Dash::Solid => "",
            Dash::Dashed => "7 4",
            Dash::Mixed => "8 3 2 3",
            Dash::Dotted => "2 3",
        }
    }
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A polyline.
    Line(Vec<(f64, f64)>, Dash, f64),
    /// What holds at whole numbers: flat over each, upright between neighbours, broken where one is missing.
    Steps(Vec<(f64, f64)>, Dash, f64),
    /// The area between two such lines: x, lower, upper.
    StepBand(Vec<(f64, f64, f64)>),
    /// The area between two curves: x, lower, upper.
    Band(Vec<(f64, f64, f64)>),
    /// Dots of a size.
    Dots(Vec<(f64, f64)>, f64),
    /// Bars.
    Bars(Vec<Bar>),
    /// A line across the plot at this x; its name stands beside it, not in the legend.
    Across(f64),
    /// A line along the plot at this y.
    Along(f64),
}

/// A shape with its colour, and its name in the legend (none if empty).
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// In the legend.
    pub name: String,
    /// What is drawn.
    pub shape: Shape,
    /// In which colour.
    pub ink: Ink,
    /// How strongly: areas that lie over each other want less than 1.
    pub opacity: f64,
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above the plot; may be empty.
    pub title: String,
    /// Along the bottom.
    pub x: Axis,
    /// Along the left.
    pub y: Axis,
    /// First drawn, lowest.
    pub marks: Vec<Mark>,
}

const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 46.0;
const LINE: f64 = 17.0;

/// About how wide a text of 12 pixels is: fonts differ, and the legend must not overlap in any.
fn width_of(text: &str) -> f64 {
    6.4 * text.chars().count() as f64
}

/// The rectangle between the axes, in pixels.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    /// A plot without marks.
    pub fn new(title: &str, x: Axis, y: Axis) -> Plot {
        Plot { title: title.to_string(), x, y, marks: Vec::new() }
    }

    /// Adds a mark.
    pub fn mark(&mut self, name: &str, shape: Shape, ink: Ink, opacity: f64) {
        self.marks.push(Mark { name: name.to_string(), shape, ink, opacity });
    }

    /// Draws into a rectangle of the drawing.
    pub fn draw(&self, drawing: &mut Drawing, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let names = match &self.y.scale {
            Scale::Named(names) => names.iter().map(|name| width_of(name)).fold(0.0, f64::max) - 30.0,
            _ => 0.0,
        };
        let left = x + LEFT + names.clamp(0.0, 0.35 * width);
        let mut top = y + 6.0;
        if !self.title.is_empty() {
            drawing.text((x + 4.0, top + 12.0), Anchor::Start, 13.0, Ink::Text, &self.title);
            top += 22.0;
        }
        top += self.legend(drawing, (x + 4.0, top), width - 8.0);
        let frame = Frame { left, right: x + width - RIGHT, top: top + 8.0, bottom: y + height - BOTTOM };
        self.axes(drawing, frame, x);
        for mark in &self.marks {
            self.shape(drawing, frame, mark);
        }
        let Frame { left, right, bottom, .. } = frame;
        drawing.line((left, bottom), (right, bottom), "axis", Ink::Text.hex());
    }

    /// Where a point lies in pixels.
    fn at(&self, frame: Frame, (x, y): (f64, f64)) -> (f64, f64) {
        let across = frame.left + (frame.right - frame.left) * self.x.place(x);
        (across, frame.bottom - (frame.bottom - frame.top) * self.y.place(y))
    }

    /// Names and colours, as many lines as they need. Returns their height.
    fn legend(&self, drawing: &mut Drawing, (left, top): (f64, f64), width: f64) -> f64 {
        let (mut x, mut row) = (left, 0.0);
        let mut empty = true;
        let beside = |mark: &&Mark| matches!(mark.shape, Shape::Across(_));
        for mark in self.marks.iter().filter(|mark| !mark.name.is_empty() && !beside(mark)) {
            let wide = 34.0 + width_of(&mark.name);
            if !empty && x + wide > left + width {
                (x, row) = (left, row + LINE);
            }
            empty = false;
            let y = top + row + 9.0;
            match &mark.shape {
                Shape::Line(_, dash, thick) | Shape::Steps(_, dash, thick) => {
                    drawing.path(&[(x, y), (x + 22.0, y)], mark.ink, *thick, dash.pattern(), mark.opacity);
                }
                Shape::Across(_) | Shape::Along(_) => {
                    drawing.path(&[(x, y), (x + 22.0, y)], mark.ink, 1.0, Dash::Dotted.pattern(), 1.0);
                }
                Shape::Dots(..) => drawing.dots(&[(x + 11.0, y)], mark.ink, 6.0, 1.0),
                Shape::Band(_) | Shape::StepBand(_) | Shape::Bars(_) => {
                    drawing.rectangle((x + 3.0, y - 5.0, 16.0, 10.0), mark.ink, mark.opacity, "");
                }
            }
            drawing.text((x + 27.0, y + 4.0), Anchor::Start, 12.0, Ink::Text, &mark.name);
            x += wide + 12.0;
        }
        if empty { 0.0 } else { row + LINE + 3.0 }
    }

    fn axes(&self, drawing: &mut Drawing, frame: Frame, outer: f64) {
        let Frame { left, right, top, bottom } = frame;
        for (value, label) in self.y.ticks() {
            let (_, y) = self.at(frame, (0.0, value));
            if !matches!(self.y.scale, Scale::Named(_)) {
                drawing.line((left, y), (right, y), "grid", "#dddddd");
            }
            let room = ((left - outer - 22.0) / 6.4) as usize;
            drawing.text((left - 7.0, y + 4.0), Anchor::End, 12.0, Ink::Text, &shortened(&label, room));
        }
        let mut ticks = self.x.ticks();
        ticks.retain(|tick| !tick.1.is_empty());
        let slot = (right - left) / ticks.len().max(1) as f64;
        let widest = ticks.iter().map(|t| width_of(&t.1)).fold(0.0, f64::max);
        // Labels that would run into each other are left out evenly.
        let every = (((widest + 8.0) / slot).ceil() as usize).clamp(1, 1000);
        for (value, label) in ticks.iter().step_by(every) {
            let (x, _) = self.at(frame, (*value, 0.0));
            if matches!(self.x.scale, Scale::Linear | Scale::Whole | Scale::Logarithmic) {
                drawing.line((x, bottom), (x, bottom + 4.0), "axis", Ink::Text.hex());
            }
            // The last label would reach beyond the edge: it ends there.
            let middle = x.min(right + RIGHT - 0.6 * width_of(label));
            drawing.text((middle, bottom + 17.0), Anchor::Middle, 12.0, Ink::Text, label);
        }
        // A label that is wider than the plot is written smaller, and stays inside.
        let (wide, room) = (1.1 * width_of(&self.x.label), right + RIGHT - outer);
        let size = (12.0 * room / wide.max(1.0)).clamp(7.0, 12.0);
        let half = wide * size / 24.0;
        let middle = ((left + right) / 2.0).min(right + RIGHT - half).max(outer + half);
        drawing.text((middle, bottom + 36.0), Anchor::Middle, size, Ink::Text, &self.x.label);
        drawing.upward((outer + 13.0, (top + bottom) / 2.0), &self.y.label);
    }

    fn shape(&self, drawing: &mut Drawing, frame: Frame, mark: &Mark) {
        let places = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
            finite.map(|&p| self.at(frame, p)).collect()
        };
        match &mark.shape {
            Shape::Line(points, dash, width) => {
                drawing.path(&places(points), mark.ink, *width, dash.pattern(), mark.opacity);
            }
            Shape::Steps(points, dash, width) => {
                for run in runs(points, |p| p.0) {
                    let corners: Vec<_> = run.iter().flat_map(|p| [(p.0 - 0.5, p.1), (p.0 + 0.5, p.1)]).collect();
                    drawing.path(&places(&corners), mark.ink, *width, dash.pattern(), mark.opacity);
                }
            }
            Shape::StepBand(points) => {
                for run in runs(points, |p| p.0) {
                    let low = run.iter().flat_map(|p| [(p.0 - 0.5, p.1), (p.0 + 0.5, p.1)]);
                    let high = run.iter().rev().flat_map(|p| [(p.0 + 0.5, p.2), (p.0 - 0.5, p.2)]);
                    drawing.area(&places(&low.chain(high).collect::<Vec<_>>()), mark.ink, mark.opacity);
                }
            }
            Shape::Dots(points, size) => drawing.dots(&places(points), mark.ink, *size, mark.opacity),
            Shape::Band(points) => {
                let low: Vec<_> = points.iter().map(|p| (p.0, p.1)).collect();
                let high: Vec<_> = points.iter().rev().map(|p| (p.0, p.2)).collect();
                drawing.area(&places(&[low, high].concat()), mark.ink, mark.opacity);
            }
            Shape::Across(x) => {
                let (x, _) = self.at(frame, (*x, 0.0));
                drawing.path(&[(x, frame.top), (x, frame.bottom)], mark.ink, 1.0, Dash::Dotted.pattern(), 1.0);
                let (at, anchor) = match x + width_of(&mark.name) + 4.0 < frame.right {
                    true => (x + 4.0, Anchor::Start),
                    false => (x - 4.0, Anchor::End),
                };
                drawing.text((at, frame.bottom - 5.0), anchor, 11.0, mark.ink, &mark.name);
            }
            Shape::Along(y) => {
                let (_, y) = self.at(frame, (0.0, *y));
                drawing.path(&[(frame.left, y), (frame.right, y)], mark.ink, 1.0, Dash::Dotted.pattern(), 1.0);
            }
            Shape::Bars(bars) => bars.iter().for_each(|bar| self.bar(drawing, frame, mark, bar)),
        }
    }

    fn bar(&self, drawing: &mut Drawing, frame: Frame, mark: &Mark, bar: &Bar) {
        let (left, low) = self.at(frame, (bar.x.0, bar.y.0));
        let (right, high) = self.at(frame, (bar.x.1, bar.y.1));
        drawing.rectangle((left, high, right - left, low - high), mark.ink, mark.opacity, &bar.told);
        if bar.label.is_empty() {
            return;
        }
        if matches!(self.y.scale, Scale::Named(_)) {
            // A bar that reaches the edge has its number inside.
            let inside = right + width_of(&bar.label) + 4.0 > frame.right;
            let (x, anchor) = if inside { (right - 4.0, Anchor::End) } else { (right + 4.0, Anchor::Start) };
            drawing.text((x, (low + high) / 2.0 + 4.0), anchor, 11.0, Ink::Text, &bar.label);
        } else {
            drawing.text(((left + right) / 2.0, high - 3.0), Anchor::Middle, 11.0, Ink::Text, &bar.label);
        }
    }
}

/// Points cut where the next whole number is missing.
fn runs<T>(points: &[T], x: impl Fn(&T) -> f64) -> impl Iterator<Item = &[T]> {
    points.chunk_by(move |one, next| x(next) - x(one) <= 1.0)
}

/// A text cut to a number of characters.
pub fn shortened(text: &str, length: usize) -> String {
    match text.char_indices().nth(length.max(2)) {
        None => text.to_string(),
        Some(_) => text.chars().take(length.max(2) - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are none, empty shapes, names that are markup: the picture stays legal.
    #[test]
    fn whatever_is_drawn_is_legal() {
        let mut plot = Plot::new("a <b>", Axis::linear("x", 0.0, 1.0), Axis::percent("y & z"));
        plot.mark("line", Shape::Line(vec![(f64::NAN, 1.0), (0.5, f64::INFINITY)], Dash::Dashed, 2.0), Ink::Blue, 1.0);
        plot.mark("<band>", Shape::Band(vec![(0.0, f64::NAN, 2.0)]), Ink::Yellow, 0.5);
        plot.mark("dots", Shape::Dots(vec![], 3.0), Ink::Green, 1.0);
        let bar = Bar { x: (0.9, 0.1), y: (5.0, 1.0), told: "<told>".into(), label: "&".into() };
        plot.mark("bars", Shape::Bars(vec![bar]), Ink::Sky, 1.0);
        plot.mark("", Shape::Along(f64::NAN), Ink::Grey, 1.0);
        let mut drawing = Drawing::default();
        plot.draw(&mut drawing, (0.0, 0.0), (400.0, 300.0));
        let svg = drawing.document((400.0, 300.0), "x");
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<b>") && !svg.contains("<told>"));
        assert!(!svg.contains("width=\"-") && svg.contains("&lt;band&gt;"));
    }

    #[test]
    fn steps_are_flat_over_whole_numbers_and_broken_where_one_is_missing() {
        let mut plot = Plot::new("", Axis::whole("Q", 9), Axis::percent("share"));
        let points = vec![(0.0, 100.0), (1.0, 80.0), (5.0, 20.0)];
        plot.mark("s", Shape::Steps(points, Dash::Solid, 2.0), Ink::Blue, 1.0);
        let mut drawing = Drawing::default();
        plot.draw(&mut drawing, (0.0, 0.0), (400.0, 300.0));
        let svg = drawing.document((400.0, 300.0), "x");
        let paths: Vec<&str> = svg.split("<path d=\"").skip(2).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(paths.len(), 2, "{paths:?}");
        let numbers: Vec<f64> = paths[0].split(['M', 'L', ' ']).filter_map(|n| n.parse().ok()).collect();
        assert_eq!(numbers.len(), 8);
        // Two flat pieces and an upright one between them.
        assert_eq!((numbers[1], numbers[2], numbers[5]), (numbers[3], numbers[4], numbers[7]));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened("attribute", 20), "attribute");
        assert_eq!(shortened("attribute", 5), "attr…");
        assert_eq!(shortened("äöüäöü", 3), "äö…");
    }
}
