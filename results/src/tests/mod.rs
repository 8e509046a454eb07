//! Tests of results files: a row with everything that a row may hold, and shared helpers.

mod damage;
mod journal;
mod kill;
mod round_trip;
mod versions;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Column, Format, Kind};

/// The three formats.
pub(super) const FORMATS: [Format; 3] = [Format::Parquet, Format::JsonLines, Format::Csv];

/// A verdict, to see that enums become text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Robust,
    NotRobust,
}

/// A margin as the certifier might write it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Margin {
    pub class: u32,
    pub lower: f64,
    pub upper: f64,
}

/// A row with a column of every kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Everything {
    pub node: u32,
    pub count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maybe_count: Option<i64>,
    pub bound: f64,
    pub maybe_bound: Option<f64>,
    pub label: String,
    pub maybe_label: Option<String>,
    pub sound: bool,
    pub maybe_sound: Option<bool>,
    pub verdict: Verdict,
    pub margins: Vec<Margin>,
    pub maybe_margins: Option<Vec<Margin>>,
    pub witness: Vec<(u32, u32)>,
    pub maybe_witness: Option<Vec<(u32, u32)>>,
}

/// The columns of [`Everything`].
pub(super) const EVERYTHING: &[Column] = &[
    Column { name: "node", kind: Kind::Integer },
    Column { name: "count", kind: Kind::Integer },
    Column { name: "maybe_count", kind: Kind::OptionalInteger },
    Column { name: "bound", kind: Kind::Float },
    Column { name: "maybe_bound", kind: Kind::OptionalFloat },
    Column { name: "label", kind: Kind::Text },
    Column { name: "maybe_label", kind: Kind::OptionalText },
    Column { name: "sound", kind: Kind::Boolean },
    Column { name: "maybe_sound", kind: Kind::OptionalBoolean },
    Column { name: "verdict", kind: Kind::Text },
    Column { name: "margins", kind: Kind::Margins },
    Column { name: "maybe_margins", kind: Kind::Margins },
    Column { name: "witness", kind: Kind::Flips },
    Column { name: "maybe_witness", kind: Kind::Flips },
];

/// The key of [`Everything`].
pub(super) fn node(row: &Everything) -> u64 {
    u64::from(row.node)
}

/// A row that depends on `node` in every column and can be told from those of another `salt`.
pub(super) fn sample(node: u32, salt: u32) -> Everything {
    let number = f64::from(node) / 7.0 + f64::from(salt);
    let margin = |class| Margin { class, lower: -number / f64::from(class + 3), upper: number.sqrt() };
    let odd = |node: u32| node % 2 == 1;
    let flips: Vec<(u32, u32)> = (0..node % 4).map(|index| (node.saturating_sub(index), u32::MAX - index)).collect();
    Everything {
        node,
        count: -i64::from(node),
        maybe_count: odd(node).then_some(i64::from(salt)),
        bound: number,
        maybe_bound: odd(node / 2).then_some(-number),
        label: format!("node \"{node}\", größer,\n{salt}"),
        maybe_label: odd(node).then(|| "ω".to_owned()),
        sound: odd(node),
        maybe_sound: odd(node / 2).then_some(odd(node / 4)),
        verdict: if odd(node) { Verdict::Robust } else { Verdict::NotRobust },
        margins: (0..node % 3).map(margin).collect(),
        maybe_margins: odd(node / 2).then(|| (0..node % 5).map(margin).collect()),
        witness: flips.clone(),
        maybe_witness: odd(node / 4).then_some(flips),
    }
}

/// `results` with the extension of a format, in a folder of its own.
pub(super) fn place(format: Format) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let extension = match format {
        Format::Parquet => "parquet",
        Format::JsonLines => "jsonl",
        Format::Csv => "csv",
    };
    let path = folder.path().join("results").with_extension(extension);
    assert_eq!(Format::from_path(&path).expect("a known extension"), format);
    (folder, path)
}
