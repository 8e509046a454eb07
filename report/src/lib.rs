//! The report: one self-contained HTML page and its figures, made from result files.
//!
//! [`source`] reads files and tells what they are, [`group`] puts together what belongs to one model and budget,
//! [`landscape`] adds what only the graph knows, `chart` draws. Each figure has a file of its own: [`curve`] (1),
//! [`compared`] (2), [`tightness`] (3), [`surroundings`] (4), [`dynamics`] (5), [`flips`] or [`cuts`] (6), [`cost`]
//! (7), [`whole`] and [`used`] (8), whose results are in [`collective`], [`classes`] (9). [`population`] says which
//! nodes a number is about. [`row`] has the rows of all attackers in one form; the attacker's own words are data, too
//! ([`group::Group::words`]). [`table`] holds the nodes, [`explorer`] what the page's map and drawings need, [`models`]
//! the networks for it, [`origin`] date and commands, and [`page`] puts everything together. Nothing is computed here
//! that a verdict rests on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub mod chart;
pub mod classes;
pub mod collective;
pub mod compared;
pub mod cost;
pub mod curve;
pub mod cuts;
pub mod dynamics;
pub mod edges;
pub mod error;
pub mod explorer;
pub mod flips;
pub mod group;
pub mod landscape;
pub mod mean;
pub mod models;
pub mod origin;
pub mod page;
pub mod population;
pub mod published;
pub mod row;
pub mod sheet;
pub mod source;
pub mod surroundings;
pub mod table;
pub mod tightness;
pub mod training;
pub mod used;
pub mod whole;

use error::ReportError;
use explorer::attack::Weighing;
use group::{Group, Groups};
use landscape::Landscape;
use models::Models;
use origin::Origin;
use sheet::Sheet;

/// Everything that a page shows.
#[derive(Debug)]
pub struct Report {
    /// The heading of the page.
    pub title: String,
    /// The results.
    pub groups: Groups,
    /// The graph, if it is known.
    pub landscape: Option<Landscape>,
    /// The networks, as far as they are known.
    pub models: Models,
    /// When and by which command the report is made.
    pub origin: Origin,
}

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// The folder of the figures.
    pub figures: PathBuf,
    /// Figures that were drawn.
    pub drawn: usize,
    /// Figures that were not, and why.
    pub missing: Vec<(usize, String)>,
}

impl Report {
    /// The figures, and the words in place of those that cannot be drawn.
    pub fn sheets(&self) -> Vec<Sheet> {
        let mut sheets = self.draw();
        // Models may be called alike up to what a file name can hold.
        let mut names = BTreeSet::new();
        for sheet in &mut sheets {
            if let Sheet::Drawn(figure) = sheet {
                let mut count = 2;
                let name = figure.name.clone();
                while !names.insert(figure.name.clone()) {
                    figure.name = format!("{name}-{count}");
                    count += 1;
                }
            }
        }
        sheets
    }

    fn draw(&self) -> Vec<Sheet> {
        let (groups, landscape) = (&self.groups.groups, self.landscape.as_ref());
        let mut sheets = Vec::new();
        if groups.is_empty() {
            sheets.extend(self.groups.training.iter().map(dynamics::training));
            if !self.groups.collective.is_empty() {
                sheets.extend(whole::sheets(&self.groups.collective, landscape));
            }
            return sheets;
        }
        let each = |sheets: Vec<Sheet>| {
            sheets.into_iter().zip(groups).map(|(sheet, group)| sheet.made_from(vec![group.made()])).collect::<Vec<_>>()
        };
        sheets.extend(each(curve::shares(groups, landscape)));
        sheets.push(compared::models(groups, landscape));
        sheets.extend(each(tightness::gaps(groups)));
        let predicted: Vec<_> = groups.iter().map(|group| self.predicted(group)).collect();
        sheets.extend(each(surroundings::robustness(groups, landscape, &predicted)));
        sheets.extend(self.groups.training.iter().map(dynamics::training));
        if self.groups.training.is_empty() {
            let why = "No training log was given: `gcnproof train` writes one.";
            sheets.push(Sheet::missing(5, "Training dynamics", why));
        }
        let attacked = self.groups.attacked;
        if attacked.edges().is_some() {
            sheets.extend(each(cuts::changed(groups, landscape)));
        }
        if !attacked.spares_attributes() {
            sheets.extend(each(flips::flipped(groups, landscape)));
        }
        sheets.extend(each(cost::effort(groups)));
        if attacked.edges().is_none() {
            sheets.extend(whole::sheets(&self.groups.collective, landscape));
        }
        sheets.extend(each(classes::accuracy(groups, landscape)));
        sheets
    }

    /// The classes that the model of a group predicts: from all results of that model, and from the model itself where
    /// it is known.
    fn predicted(&self, group: &Group) -> BTreeMap<u64, u64> {
        let network = group.identity.as_ref().and_then(|identity| self.models.of(identity));
        let known = self.landscape.as_ref().zip(network);
        let weighing = known.and_then(|(landscape, network)| Weighing::new(landscape.graph(), network));
        let mut predicted = table::everywhere(group, weighing.as_ref());
        let same = |other: &&Group| other.identity.is_some() && other.identity == group.identity;
        for (node, class) in self.groups.groups.iter().filter(same).flat_map(surroundings::predictions) {
            predicted.entry(node).or_insert(class);
        }
        predicted
    }

    /// Writes the page, and each figure as SVG with its numbers as CSV into a folder beside it.
    pub fn write(&self, out: &Path) -> Result<Written, ReportError> {
        let stem = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = out.with_file_name(format!("{stem}-figures"));
        let unwritable =
            |path: &Path, problem: String| ReportError::Unwritable { file: path.display().to_string(), problem };
        std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, error.to_string()))?;
        let sheets = self.sheets();
        let mut missing = Vec::new();
        let mut drawn = 0;
        for sheet in &sheets {
            match sheet {
                Sheet::Missing { number, why, .. } => missing.push((*number, why.clone())),
                Sheet::Drawn(figure) => {
                    drawn += 1;
                    let path = folder.join(format!("{}.svg", figure.name));
                    gcnproof_results::replace(&path, figure.svg().as_bytes())?;
                    let path = folder.join(format!("{}.csv", figure.name));
                    let csv = figure.numbers.csv().map_err(|error| unwritable(&path, error.to_string()))?;
                    gcnproof_results::replace(&path, csv.as_bytes())?;
                }
            }
        }
        // Of several models some may have what a figure needs: it is missing where none has.
        let is_drawn =
            |number: usize| sheets.iter().any(|sheet| matches!(sheet, Sheet::Drawn(figure) if figure.number == number));
        missing.retain(|(number, _)| !is_drawn(*number));
        missing.dedup();
        let page = page::html(self, &sheets, &format!("{stem}-figures"));
        gcnproof_results::replace(out, page.as_bytes())?;
        Ok(Written { page: out.to_path_buf(), bytes: page.len(), figures: folder, drawn, missing })
    }
}
