//! Axes: numbers to positions, and round numbers for the ticks.

/// How numbers are laid out along an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By their logarithm; what is not positive stands at the lower end.
    Logarithmic,
    /// Whole numbers, in proportion; the first and the last are always marked.
    Whole,
    /// Slots with names, at 0, 1, 2 …
    Named(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// The layout.
    pub scale: Scale,
    /// The least and the largest number shown.
    pub range: (f64, f64),
    /// Written behind every number.
    pub unit: &'static str,
}

impl Axis {
    /// A linear axis over a range; a range without extent is widened, one that is not finite becomes 0 … 1.
    pub fn linear(label: &str, least: f64, most: f64) -> Axis {
        let range = match (least, most) {
            (low, high) if !(low.is_finite() && high.is_finite()) => (0.0, 1.0),
            (low, high) if low < high => (low, high),
            (low, _) => (low - 0.5, low + 0.5),
        };
        Axis { label: label.to_string(), scale: Scale::Linear, range, unit: "" }
    }

    /// A share in percent, 0 … 100.
    pub fn percent(label: &str) -> Axis {
        Axis { unit: " %", ..Axis::linear(label, 0.0, 100.0) }
    }

    /// Whole numbers from 0 to `last`, with room for half a step on either side: what holds at a whole number is drawn
    /// as wide as that number.
    pub fn whole(label: &str, last: u64) -> Axis {
        let range = (-0.5, last as f64 + 0.5);
        Axis { label: label.to_string(), scale: Scale::Whole, range, unit: "" }
    }

    /// A logarithmic axis over the positive ones of some numbers, with a little room on either side.
    pub fn logarithmic(label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let positive = values.filter(|x| *x > 0.0 && x.is_finite());
        let (least, most) = positive.fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), x| (l.min(x), m.max(x)));
        let (least, most) = if least.is_finite() { (least, most) } else { (1.0, 10.0) };
        let room = 10f64.powf(0.03 * (most.log10() - least.log10()));
        let range = if most > least { (least / room, most * room) } else { (least / 2.0, 2.0 * least) };
        Axis { label: label.to_string(), scale: Scale::Logarithmic, range, unit: "" }
    }

    /// One slot per name.
    pub fn named(label: &str, names: Vec<String>) -> Axis {
        let range = (-0.5, names.len().max(1) as f64 - 0.5);
        Axis { label: label.to_string(), scale: Scale::Named(names), range, unit: "" }
    }

    /// Where a number lies between the ends of the axis, 0 … 1. What lies outside stands at the end.
    pub fn place(&self, x: f64) -> f64 {
        let (low, high) = self.range;
        let share = match self.scale {
            Scale::Logarithmic => (x.max(low).log10() - low.log10()) / (high.log10() - low.log10()),
            _ => (x - low) / (high - low),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The numbers to mark, with what is written there.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = self.range;
        match &self.scale {
            Scale::Named(names) => names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
            Scale::Logarithmic => {
                let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
                if last - first < 1 {
                    // Less than two powers of ten: twice and five times them as well.
                    let steps = (first - 1..=last).flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(p)));
                    return steps.filter(|x| (low..=high).contains(x)).map(|x| (x, brief(x))).collect();
                }
                let every = ((last - first) / 6 + 1).max(1) as usize;
                (first..=last).step_by(every).map(|p| (10f64.powi(p), power(p))).collect()
            }
            Scale::Whole => {
                let (first, last) = (low.ceil() as i64, high.floor() as i64);
                let step = (round_step((last - first) as f64 / 12.0).ceil() as i64).max(1);
                // A mark that would crowd the last one gives way to it.
                let multiples = (first.div_euclid(step) * step..last).step_by(step as usize);
                let inner = multiples.filter(|n| *n >= first && last - n > step / 2);
                inner.chain([last]).map(|n| (n as f64, n.to_string())).collect()
            }
            Scale::Linear => {
                let step = round_step((high - low) / 5.0);
                let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
                (first..=last).map(|n| (n as f64 * step, format!("{}{}", tidy(n as f64 * step), self.unit))).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, not below the width asked for.
pub fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|w| *w >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A number without the dust of binary fractions.
pub fn tidy(value: f64) -> f64 {
    let text = format!("{value:.10e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    if rounded.abs() < 1e-12 { 0.0 } else { (rounded * 1e9).round() / 1e9 }
}

/// A number of an axis with one digit.
fn brief(x: f64) -> String {
    if (1e-3..1e4).contains(&x) { format!("{}", tidy(x)) } else { format!("{x:.0e}") }
}

/// A power of ten as people write it.
fn power(exponent: i32) -> String {
    match exponent {
        0..=3 => format!("{}", 10i64.pow(exponent as u32)),
        -3..=-1 => format!("{}", tidy(10f64.powi(exponent))),
        _ => {
            let raised = |c: char| match c {
                '-' => '⁻',
                '1' => '¹',
                '2' => '²',
                '3' => '³',
                c => char::from_u32(u32::from('⁰') + (u32::from(c) - u32::from('0'))).unwrap_or(c),
            };
            format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let labels = |axis: &Axis| axis.ticks().into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels(&Axis::percent("share")), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        assert_eq!(labels(&Axis::linear("Q", 0.0, 12.0)), ["0", "5", "10"]);
        assert_eq!(labels(&Axis::linear("m", -0.3, 0.3)), ["-0.2", "0", "0.2"]);
        let log = Axis::logarithmic("s", [0.0, 3e-5, 2.0].into_iter());
        assert_eq!(labels(&log), ["10⁻⁴", "0.001", "0.01", "0.1", "1"]);
        // The axis fits its numbers, and has marks even between two powers of ten.
        assert!(log.range.0 > 1e-5 && log.range.1 < 10.0);
        assert_eq!(labels(&Axis::logarithmic("s", [1.5, 7.0].into_iter())), ["2", "5"]);
        for last in 0..200 {
            let marks: Vec<f64> = Axis::whole("Q", last).ticks().iter().map(|tick| tick.0).collect();
            assert_eq!((marks[0], marks[marks.len() - 1]), (0.0, last as f64));
            assert!(marks.len() < 20 && marks.iter().all(|mark| mark.fract() == 0.0), "{last}: {marks:?}");
        }
        // As many marks as fit, however far the axis goes and wherever it begins.
        assert!(Axis::whole("Q", 1 << 60).ticks().len() < 20);
        let late = Axis { range: (999.5, 1500.5), ..Axis::whole("Q", 1500) };
        assert_eq!(labels(&late)[..2], ["1000", "1050"]);
        for axis in [Axis::linear("none", f64::INFINITY, f64::NEG_INFINITY), Axis::linear("one", 3.0, 3.0)] {
            assert!(axis.range.0 < axis.range.1 && !axis.ticks().is_empty());
        }
    }

    #[test]
    fn every_number_has_a_place() {
        let log = Axis::logarithmic("s", [1.0, 100.0].into_iter());
        assert!((log.place(10.0) - 0.5).abs() < 1e-9 && log.place(1.0) > 0.0 && log.place(100.0) < 1.0);
        for strange in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                (0.0..=1.0).contains(&log.place(strange)) && (0.0..=1.0).contains(&Axis::percent("x").place(strange))
            );
        }
    }
}
