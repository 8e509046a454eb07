//! Tests of round trips: rows come back as they were, except for what the formats are documented to lose.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{EVERYTHING, Everything, FORMATS, Margin, Verdict, place, sample};
use crate::{Column, Format, Kind, ResultError, read, write};

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        (1u64..1 << 52).prop_map(f64::from_bits), // subnormals
        prop::sample::select(vec![
            0.0,
            -0.0,
            5e-324,
            -5e-324,
            0.1,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            9_007_199_254_740_993.0,
        ]),
    ]
}

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), Just(0), Just(u32::MAX)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::sample::select(vec!["", "null", "NaN", "\"", ",", "\r\n", "\n", " 1", "\u{feff}", "gcnproof-fnv1a-"])
            .prop_map(str::to_owned),
    ]
}

fn margins() -> impl Strategy<Value = Vec<Margin>> {
    vec((id(), float(), float()).prop_map(|(class, lower, upper)| Margin { class, lower, upper }), 0..4)
}

fn flips() -> impl Strategy<Value = Vec<(u32, u32)>> {
    vec((id(), id()), 0..4)
}

fn row() -> impl Strategy<Value = Everything> {
    let numbers = (id(), any::<i64>(), option::of(any::<i64>()), float(), option::of(float()));
    let texts = (text(), option::of(text()), any::<bool>(), option::of(any::<bool>()), any::<bool>());
    let lists = (margins(), option::of(margins()), flips(), option::of(flips()));
    (numbers, texts, lists).prop_map(|(numbers, texts, lists)| Everything {
        node: numbers.0,
        count: numbers.1,
        maybe_count: numbers.2,
        bound: numbers.3,
        maybe_bound: numbers.4,
        label: texts.0,
        maybe_label: texts.1,
        sound: texts.2,
        maybe_sound: texts.3,
        verdict: if texts.4 { Verdict::Robust } else { Verdict::NotRobust },
        margins: lists.0,
        maybe_margins: lists.1,
        witness: lists.2,
        maybe_witness: lists.3,
    })
}

/// What the documentation says that the format makes of a row.
fn documented(mut row: Everything, format: Format) -> Everything {
    let json = |value: f64| if value.is_finite() { value } else { f64::NAN };
    if format == Format::JsonLines {
        row.bound = json(row.bound);
        row.maybe_bound = row.maybe_bound.filter(|value| value.is_finite());
    }
    if format == Format::Csv && row.maybe_label.as_deref() == Some("") {
        row.maybe_label = None;
    }
    if format != Format::Parquet {
        for margin in row.margins.iter_mut().chain(row.maybe_margins.iter_mut().flatten()) {
            margin.lower = json(margin.lower);
            margin.upper = json(margin.upper);
        }
    }
    row
}

/// All of a row, with the bits of its doubles. Only Parquet keeps the bits of a NaN.
fn exact(row: &Everything, format: Format) -> String {
    let bits = |value: f64| match format {
        Format::JsonLines | Format::Csv if value.is_nan() => "NaN".to_owned(),
        _ => format!("{:016x}", value.to_bits()),
    };
    let list = |margins: &Vec<Margin>| -> Vec<(u32, String, String)> {
        margins.iter().map(|margin| (margin.class, bits(margin.lower), bits(margin.upper))).collect()
    };
    let doubles =
        (bits(row.bound), row.maybe_bound.map(bits), list(&row.margins), row.maybe_margins.as_ref().map(list));
    let integers = (row.node, row.count, row.maybe_count, &row.witness, &row.maybe_witness);
    let others = (&row.label, &row.maybe_label, row.sound, row.maybe_sound, row.verdict);
    format!("{doubles:?} {integers:?} {others:?}")
}

fn check(rows: &[Everything]) {
    for format in FORMATS {
        let (_folder, path) = place(format);
        write(&path, EVERYTHING, rows).expect("rows that fit");
        let back: Vec<Everything> = read(&path, EVERYTHING).expect("what was written");
        let back: Vec<String> = back.iter().map(|row| exact(row, format)).collect();
        let wanted = rows.iter().map(|row| exact(&documented(row.clone(), format), format));
        assert_eq!(back, wanted.collect::<Vec<_>>(), "{format:?}");
        // What is read and written again is the same file: a resumed run ends as an uninterrupted
        // one.
        let first = std::fs::read(&path).expect("the file");
        write(&path, EVERYTHING, &read::<Everything>(&path, EVERYTHING).expect("what was written")).expect("again");
        assert!(first == std::fs::read(&path).expect("the file"), "{format:?}: written again, the file differs");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rows_come_back(rows in vec(row(), 0..12)) {
        check(&rows);
    }
}

#[test]
fn many_rows_come_back() {
    // More than a page, a dictionary and a batch of the reader hold; both zeros are in each column
    // of doubles.
    let mut rows: Vec<Everything> = (0..5000).map(|node| sample(node, 3)).collect();
    for (index, row) in rows.iter_mut().enumerate() {
        match index % 11 {
            0 => row.bound = 0.0,
            1 => row.bound = -0.0,
            2 => row.bound = f64::NEG_INFINITY,
            3 => row.margins.push(Margin { class: 9, lower: -0.0, upper: 0.0 }),
            _ => {}
        }
    }
    check(&rows);
    check(&[]);
}

#[test]
fn row_groups_are_joined() {
    const NODES: &[Column] = &[Column { name: "node", kind: Kind::Integer }];
    let rows: Vec<Map<String, Value>> = (0..300_000).map(|node| object(json!({ "node": node }))).collect();
    let (_folder, path) = place(Format::Parquet);
    write(&path, NODES, &rows).expect("rows that fit");
    assert_eq!(read::<Map<String, Value>>(&path, NODES).expect("what was written"), rows);
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn plain_maps_are_rows() {
    let full = serde_json::to_value(sample(7, 1)).expect("JSON");
    for format in FORMATS {
        let (_folder, path) = place(format);
        let mut wanted = object(full.clone());
        write(&path, EVERYTHING, &[wanted.clone()]).expect("rows that fit");
        wanted.entry("maybe_count").or_insert(Value::Null);
        assert_eq!(read::<Map<String, Value>>(&path, EVERYTHING).expect("what was written"), [wanted]);
    }
}

#[test]
fn the_texts_are_as_documented() {
    const COLUMNS: &[Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "bound", kind: Kind::Float },
        Column { name: "note", kind: Kind::OptionalText },
        Column { name: "margins", kind: Kind::Margins },
        Column { name: "witness", kind: Kind::Flips },
    ];
    #[derive(serde::Serialize)]
    struct Line {
        node: u32,
        bound: f64,
        note: Option<&'static str>,
        margins: Vec<Margin>,
        witness: Vec<(u32, u32)>,
    }
    let margins = vec![Margin { class: 2, lower: f64::NEG_INFINITY, upper: 0.1 }];
    let line = Line { node: 4, bound: f64::NEG_INFINITY, note: None, margins, witness: vec![(4, 9), (5, 0)] };
    let (_folder, path) = place(Format::JsonLines);
    write(&path, COLUMNS, &[line]).expect("rows that fit");
    let lines = std::fs::read_to_string(&path).expect("text");
    let wanted = concat!(
        r#"{"node":4,"bound":null,"note":null,"#,
        r#""margins":[{"class":2,"lower":null,"upper":0.1}],"witness":[[4,9],[5,0]]}"#,
        "\n"
    );
    assert_eq!(lines, wanted);
    let rows: Vec<Map<String, Value>> = read(&path, COLUMNS).expect("what was written");
    assert!(rows[0]["bound"].is_null());

    let (_folder, path) = place(Format::Csv);
    let margins = vec![Margin { class: 2, lower: f64::NEG_INFINITY, upper: 0.1 }];
    let line = Line { node: 4, bound: f64::NEG_INFINITY, note: None, margins, witness: vec![(4, 9)] };
    write(&path, COLUMNS, &[line]).expect("rows that fit");
    let wanted = concat!(
        "node,bound,note,margins,witness\n",
        r#"4,-inf,,"[{""class"":2,""lower"":null,""upper"":0.1}]","[[4,9]]""#,
        "\n"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("text"), wanted);
}

#[test]
fn misfits_are_named() {
    let cases = [
        (json!({}), "column `node`: an integer was expected, not null"),
        (json!({"node": 1.5}), "column `node`: an integer was expected, not 1.5"),
        (json!({"node": u64::MAX}), "does not fit in 63 bits"),
        (json!({"node": 1, "nodes": 1}), "there is no column `nodes`"),
        (json!({"node": 1, "witness": [[1, 2, 3]]}), "column `witness`: a flip [node, attribute] was expected"),
        (json!({"node": 1, "margins": [{"class": 1, "lower": 0}]}), "column `margins`: a margin {class, lower, upper}"),
    ];
    const COLUMNS: &[Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "margins", kind: Kind::Margins },
        Column { name: "witness", kind: Kind::Flips },
    ];
    for (row, problem) in cases {
        for format in FORMATS {
            let (_folder, path) = place(format);
            let rows = [object(json!({"node": 0})), object(row.clone())];
            let error = write(&path, COLUMNS, &rows).expect_err("a misfit");
            assert!(matches!(error, ResultError::Misfit { .. }));
            let error = error.to_string();
            assert!(error.contains("row 2") && error.contains(problem), "{error}");
        }
    }
}
