//! A figure: plots in a grid, a caption, and the numbers behind them.

use super::plot::Plot;
use super::svg::Drawing;

/// A table of numbers, to be written as CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Numbers {
    /// An empty table.
    pub fn new(header: &[&str]) -> Numbers {
        Numbers { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, row: [String; N]) {
        self.rows.push(row.into());
    }

    /// As CSV.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.header)?;
        for row in &self.rows {
            writer.write_record(row)?;
        }
        let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What a figure, or a part of it, is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The model.
    pub name: String,
    /// Of which nodes.
    pub nodes: String,
    /// By which commands.
    pub commands: Vec<String>,
}

/// A figure of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number of the figure: 1 to 9.
    pub number: usize,
    /// The stem of its files.
    pub name: String,
    /// The title.
    pub title: String,
    /// What is seen, and what of it is guaranteed.
    pub caption: String,
    /// The plots, row by row.
    pub plots: Vec<Plot>,
    /// Plots in a row.
    pub columns: usize,
    /// Height of a plot.
    pub height: f64,
    /// What was drawn.
    pub numbers: Numbers,
    /// What it is made from.
    pub made: Vec<Made>,
}

/// The width of every figure.
pub const WIDTH: f64 = 860.0;

/// Its width on a phone: a letter is as large there as on a wide page.
const NARROW: f64 = 360.0;

impl Figure {
    /// The picture.
    pub fn svg(&self) -> String {
        self.drawn(self.columns.max(1), WIDTH)
    }

    /// The picture for a narrow page: plot below plot.
    pub fn narrow_svg(&self) -> String {
        self.drawn(1, NARROW)
    }

    fn drawn(&self, columns: usize, whole: f64) -> String {
        let rows = self.plots.len().div_ceil(columns);
        let mut drawing = Drawing::default();
        for (row, plots) in self.plots.chunks(columns).enumerate() {
            // A last row with fewer plots fills its width all the same.
            let width = whole / plots.len() as f64;
            for (at, plot) in plots.iter().enumerate() {
                plot.draw(&mut drawing, (at as f64 * width, row as f64 * self.height), (width, self.height));
            }
        }
        drawing.document((whole, rows as f64 * self.height), &self.title)
    }
}

/// A number in CSV: the shortest digits that read back as the same; nothing for what is not known.
pub fn number(x: impl Into<Option<f64>>) -> String {
    x.into().filter(|x| x.is_finite()).map_or(String::new(), |x| format!("{x}"))
}
