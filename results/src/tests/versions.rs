//! Files of earlier versions are read: former names of columns, columns that were not there, lists that were texts. And
//! every column is documented.

use serde_json::{Map, Value, json};

use super::{FORMATS, place};
use crate::record::collective::CollectiveRecord;
use crate::record::edges::{EdgeRadiusRecord, EdgeRecord};
use crate::record::pair::PairRecord;
use crate::record::{NodeRecord, RadiusRecord, TableRecord};
use crate::{Column, Kind, Mode, read, write};

/// The columns of version 0.2: today's under former names, without those that were added since.
fn before(schema: &[Column], formerly: &[(&'static str, &'static str)]) -> Vec<Column> {
    let added = ["worst_lower", "worst_upper", "worst_class", "witness_size"];
    let old = |column: &Column| Column {
        name: formerly.iter().find(|(new, _)| *new == column.name).map_or(column.name, |(_, old)| old),
        kind: if column.kind == Kind::Integers { Kind::Text } else { column.kind },
    };
    schema.iter().filter(|column| !added.contains(&column.name)).map(old).collect()
}

/// A row of these columns with the given values.
fn row(values: Value) -> Map<String, Value> {
    let Value::Object(row) = values else { unreachable!() };
    row
}

#[test]
fn radii_of_earlier_versions_are_read() {
    let flips = before(RadiusRecord::SCHEMA, &[("certified", "certified_q_global"), ("attacked", "attacked_q_global")]);
    let edges = before(
        EdgeRadiusRecord::SCHEMA,
        &[("certified", "certified_edges"), ("attacked", "attacked_edges"), ("witness", "witness_edges")],
    );
    let base = json!({ "node": 3, "label": 1, "predicted": 1, "degree": 2, "seconds": 0.5 });
    for format in FORMATS {
        let (_folder, path) = place(format);
        let mut old = row(base.clone());
        old.extend(row(
            json!({ "neighbourhood": 9, "certified_q_global": 4, "attacked_q_global": null, "witness": [] }),
        ));
        write(&path, &flips, [&old]).unwrap();
        let rows: Vec<RadiusRecord> = read(&path, RadiusRecord::SCHEMA).unwrap();
        assert_eq!((rows[0].node, rows[0].relevant, rows[0].certified, rows[0].attacked), (3, 9, Some(4), None));
        let mut old = row(base.clone());
        let edge = json!({ "relevant_edges": 9, "certified_edges": 0, "attacked_edges": 1, "witness_edges": [[0, 3]] });
        old.extend(row(edge));
        write(&path, &edges, [&old]).unwrap();
        let rows: Vec<EdgeRadiusRecord> = read(&path, EdgeRadiusRecord::SCHEMA).unwrap();
        assert_eq!((rows[0].certified, rows[0].attacked, rows[0].witness.len()), (Some(0), Some(1), 1));
    }
}

#[test]
fn verdicts_of_earlier_versions_are_read() {
    let old = before(NodeRecord::SCHEMA, &[]);
    let values = json!({
        "node": 3, "label": null, "predicted": 1, "reference": 1, "degree": 2, "neighbourhood": 9, "verdict": "non_robust",
        "reason": "witness", "paper_certifies": false, "anchored_certifies": null, "search_nodes": 0, "masters": 0,
        "limit_hit": false, "margins": [{ "class": 0, "lower": -2.0, "upper": 1.0 }, { "class": 2, "lower": -1.0, "upper": -0.5 }],
        "witness": [[3, 7], [4, 1]], "seconds": 0.5,
    });
    for format in FORMATS {
        let (_folder, path) = place(format);
        write(&path, &old, [&row(values.clone())]).unwrap();
        let rows: Vec<NodeRecord> = read(&path, NodeRecord::SCHEMA).unwrap();
        // What was not there follows from the rest, and is written from now on.
        write(&path, NodeRecord::SCHEMA, &rows).unwrap();
        let again: Vec<NodeRecord> = read(&path, NodeRecord::SCHEMA).unwrap();
        assert_eq!(rows, again);
        let told = serde_json::to_value(&rows[0]).unwrap();
        let derived = ["worst_lower", "worst_upper", "worst_class", "witness_size"].map(|name| told[name].clone());
        assert_eq!(derived, [json!(-2.0), json!(-0.5), json!(2), json!(2)]);
        // Columns that were always there are needed all the same.
        let less: Vec<Column> = old.iter().filter(|column| column.name != "verdict").copied().collect();
        let mut values = row(values.clone());
        values.remove("verdict");
        write(&path, &less, [&values]).unwrap();
        assert!(read::<NodeRecord>(&path, NodeRecord::SCHEMA).is_err(), "{format:?}");
    }
}

#[test]
fn broken_nodes_were_a_text() {
    let old = before(CollectiveRecord::SCHEMA, &[]);
    let values = |nodes: &str| {
        row(json!({
            "q_global": 3, "counted": 9, "bound": 2, "fractional_bound": 2.5, "robust": 1, "broken": 2, "listed": false,
            "flips": [[0, 1]], "broken_nodes": nodes, "bound_seconds": 0.1, "attack_seconds": 0.1,
        }))
    };
    for format in FORMATS {
        let (_folder, path) = place(format);
        write(&path, &old, [&values("4 17")]).unwrap();
        let rows: Vec<CollectiveRecord> = read(&path, CollectiveRecord::SCHEMA).unwrap();
        assert_eq!(rows[0].broken_nodes, [4, 17]);
        write(&path, CollectiveRecord::SCHEMA, &rows).unwrap();
        assert_eq!(read::<CollectiveRecord>(&path, CollectiveRecord::SCHEMA).unwrap(), rows);
        write(&path, &old, [&values("4, 17")]).unwrap();
        assert!(read::<CollectiveRecord>(&path, CollectiveRecord::SCHEMA).is_err(), "{format:?}");
    }
}

/// The budget stands in the metadata of a Parquet file, before its checksum.
#[test]
fn the_run_is_in_the_metadata() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let (_folder, path) = place(FORMATS[0]);
    let run = json!({ "command": "radius", "budget": { "local": 14 }, "about": "gcnproof-fnv1a-0123456789abcdef" });
    let journal: crate::Journal<RadiusRecord> =
        crate::Journal::open(&path, RadiusRecord::SCHEMA, |row: &RadiusRecord| row.node, run.clone(), 1, Mode::Fresh)
            .unwrap();
    drop(journal);
    assert!(read::<RadiusRecord>(&path, RadiusRecord::SCHEMA).unwrap().is_empty());
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let found = pairs.iter().find(|pair| pair.key == "gcnproof-run").and_then(|pair| pair.value.clone()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), run);
}

/// docs/results.md names every column of every file.
#[test]
fn every_column_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results.md")).unwrap();
    let tables = [
        NodeRecord::schema(true, true),
        EdgeRecord::schema(true, false),
        RadiusRecord::SCHEMA,
        EdgeRadiusRecord::SCHEMA,
        CollectiveRecord::SCHEMA,
        PairRecord::SCHEMA,
        TableRecord::SCHEMA,
    ];
    for column in tables.into_iter().flatten() {
        // Status and seconds of the numbers of a class pair are described together.
        let name = column.name.trim_end_matches("_status").trim_end_matches("_seconds");
        let named = |name: &str| page.contains(&format!("`{name}`"));
        assert!(named(column.name) || named(name), "docs/results.md does not say what `{}` is", column.name);
    }
}
