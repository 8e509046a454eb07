//! Tests of the journal: what it does with the files that it finds, and when it writes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use miette::Diagnostic;
use serde_json::{Value, json};

use super::{EVERYTHING, Everything, FORMATS, node, place, sample};
use crate::{Format, Journal, Mode, ResultError, read, write};

fn fingerprint(budget: u32) -> Value {
    json!({"command": "certify", "budget": {"local": 3, "global": budget}, "nodes": [1, 2]})
}

fn open(path: &Path, budget: u32, mode: Mode) -> Result<Journal<Everything>, ResultError> {
    Journal::open(path, EVERYTHING, node, fingerprint(budget), 4, mode)
}

/// A run that ended after the given nodes.
fn run(path: &Path, budget: u32, nodes: &[u32]) {
    let mut journal = open(path, budget, Mode::Force).expect("a new run");
    for &node in nodes {
        journal.push(sample(node, budget)).expect("a row that fits");
    }
    let rows = journal.finish().expect("the end");
    assert!(rows.is_sorted_by_key(node_of));
}

fn node_of(row: &Everything) -> u32 {
    row.node
}

fn nodes(path: &Path) -> Vec<u32> {
    read::<Everything>(path, EVERYTHING).expect("a whole file").iter().map(node_of).collect()
}

fn sidecar(path: &Path) -> Value {
    let text = fs::read(format!("{}.run.json", path.display())).expect("a sidecar");
    serde_json::from_slice(&text).expect("JSON")
}

/// The names in the folder of the results.
fn files(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().expect("a folder")).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_run_is_written_whole() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        let mut journal = open(&path, 12, Mode::Fresh).expect("a new run");
        assert!(nodes(&path).is_empty());
        assert_eq!(sidecar(&path)["complete"], json!(false));
        for node in [9, 2, u32::MAX, 5] {
            journal.push(sample(node, 0)).expect("a row that fits");
            assert!(nodes(&path).is_empty(), "no checkpoint is due within the first second");
        }
        assert_eq!(journal.done().keys().copied().collect::<Vec<_>>(), [2, 5, 9, u64::from(u32::MAX)]);
        assert_eq!(journal.finish().expect("the end").len(), 4);
        assert_eq!(nodes(&path), [2, 5, 9, u32::MAX]);
        let label = json!({
            "format_version": 1, "fingerprint": fingerprint(12),
            "total": 4, "done": 4, "complete": true,
        });
        assert_eq!(sidecar(&path), label);
        assert_eq!(files(&path).len(), 2, "{:?}", files(&path));
    }
}

#[test]
fn checkpoints_come_when_they_are_due() {
    let (_folder, path) = place(Format::JsonLines);
    let mut journal = open(&path, 12, Mode::Fresh).expect("a new run");
    assert!(journal.due >= Duration::from_secs(1));
    journal.due = Duration::ZERO;
    journal.push(sample(1, 0)).expect("a row that fits");
    assert_eq!(nodes(&path), [1]);
    assert_eq!(sidecar(&path)["done"], json!(1));
    assert!(journal.due >= Duration::from_secs(1), "the next one is a second away again");
    journal.pause = Duration::ZERO;
    journal.checkpoint().expect("a checkpoint");
    assert!(journal.due > Duration::ZERO, "the next one is twenty times the last one away");
    journal.due = Duration::from_secs(60);
    journal.push(sample(2, 0)).expect("a row that fits");
    assert_eq!(nodes(&path), [1]);
    drop(journal);
    assert_eq!(nodes(&path), [1, 2], "a dropped journal saves its rows");
}

#[test]
fn an_interrupted_run_goes_on() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        run(&path, 12, &[3, 1]);
        assert_eq!(sidecar(&path)["complete"], json!(false));
        let mut journal = open(&path, 12, Mode::Resume).expect("the same run");
        assert_eq!(journal.done().keys().copied().collect::<Vec<_>>(), [1, 3]);
        journal.push(sample(2, 12)).expect("a row that fits");
        journal.push(sample(0, 12)).expect("a row that fits");
        assert_eq!(journal.finish().expect("the end").len(), 4);
        let resumed = fs::read(&path).expect("the rows");
        assert_eq!(sidecar(&path)["complete"], json!(true));
        run(&path, 12, &[0, 1, 2, 3]);
        assert!(resumed == fs::read(&path).expect("the rows"), "{format:?}");
        let complete = open(&path, 12, Mode::Resume).expect("a complete run");
        assert_eq!(complete.done().len(), 4);
    }
}

#[test]
fn nothing_is_overwritten_by_accident() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        let refused = |mode, text: &str, remedy: &str| {
            let before = fs::read(&path).expect("the rows");
            let error = open(&path, 25, mode).expect_err("a refusal");
            assert!(error.to_string().contains(text), "{error}");
            assert!(error.help().expect("a remedy").to_string().contains(remedy));
            assert!(before == fs::read(&path).expect("the rows"), "a refusal changed the rows");
        };
        // Unfinished.
        run(&path, 12, &[1, 2]);
        refused(Mode::Fresh, "2 of the 4 rows", "--resume");
        refused(Mode::Resume, "budget.global: 12 in the file, 25 now", "--force");
        // Unknown.
        fs::remove_file(format!("{}.run.json", path.display())).expect("no sidecar");
        refused(Mode::Fresh, "run.json", "--force");
        refused(Mode::Resume, "run.json", "--force");
        assert!(open(&path, 25, Mode::Force).expect("force").done().is_empty());
        // Complete.
        run(&path, 12, &[1, 2, 3, 4]);
        refused(Mode::Resume, "budget.global: 12 in the file, 25 now", "--out");
        refused(Mode::Fresh, "4 rows of a finished run", "--force");
        assert!(open(&path, 25, Mode::Force).expect("over a complete run").done().is_empty());
        assert!(nodes(&path).is_empty());
        // Gone.
        run(&path, 12, &[1, 2]);
        fs::remove_file(&path).expect("no rows");
        for mode in [Mode::Fresh, Mode::Resume] {
            assert!(open(&path, 25, mode).expect("nothing to lose").done().is_empty());
        }
        // Empty: no bytes, or no rows.
        fs::write(&path, b"").expect("an empty file");
        assert!(open(&path, 25, Mode::Fresh).expect("nothing to lose").done().is_empty());
        write::<Everything>(&path, EVERYTHING, []).expect("no rows");
        fs::remove_file(format!("{}.run.json", path.display())).expect("no sidecar");
        assert!(open(&path, 25, Mode::Resume).expect("nothing to lose").done().is_empty());
        // Something else altogether stays, whatever is asked for.
        let sidecar = format!("{}.run.json", path.display());
        fs::remove_file(&sidecar).expect("no sidecar");
        fs::write(&path, b"the only copy of my thesis").expect("a file");
        for mode in [Mode::Fresh, Mode::Resume, Mode::Force] {
            refused(mode, "is not a table of results", "--out");
        }
        fs::write(&path, b"").expect("an empty file");
        fs::write(&sidecar, b"the only copy of its index").expect("a file");
        for mode in [Mode::Fresh, Mode::Resume, Mode::Force] {
            refused(mode, "is not a description of a run", "--out");
            assert_eq!(fs::read(&sidecar).expect("the file"), b"the only copy of its index");
        }
    }
}

#[test]
fn every_difference_is_named() {
    let (_folder, path) = place(Format::Csv);
    run(&path, 12, &[1]);
    let budget = json!({"local": 3, "global": 12, "extra": true});
    let now = json!({"budget": budget, "nodes": [1, 3], "model": "x".repeat(500)});
    let error = Journal::open(&path, EVERYTHING, node, now, 5, Mode::Resume).expect_err("another run").to_string();
    for part in [
        "command: \"certify\" in the file, absent now",
        "budget.extra: absent in the file, true now",
        "nodes: [1,2] in the file, [1,3] now",
        "total: 4 in the file, 5 now",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("budget.local") && error.len() < 600, "{error}");
}

#[test]
fn a_kill_between_the_two_writes_is_harmless() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        // At the opening: no rows yet, but the sidecar of the run before.
        for old in [&[1, 2][..], &[1, 2, 3, 4]] {
            for (mode, budget) in [(Mode::Fresh, 25), (Mode::Resume, 25), (Mode::Resume, 12)] {
                run(&path, 12, old);
                write::<Everything>(&path, EVERYTHING, []).expect("no rows");
                assert!(open(&path, budget, mode).expect("nothing to lose").done().is_empty());
                assert_eq!(sidecar(&path)["fingerprint"], fingerprint(budget));
            }
        }
        // Later: more rows than the sidecar counts, up to all of them.
        run(&path, 12, &[1]);
        for last in 2..=4 {
            let rows: Vec<Everything> = (1..=last).map(|node| sample(node, 12)).collect();
            write(&path, EVERYTHING, &rows).expect("rows that fit");
            let journal = open(&path, 12, Mode::Resume).expect("the same run");
            assert_eq!(journal.done().len(), last as usize);
            assert_eq!(journal.finish().expect("the end").len(), last as usize);
            assert_eq!(sidecar(&path)["complete"], json!(last == 4));
        }
    }
}

#[test]
fn leftovers_of_this_file_are_swept() {
    let (folder, path) = place(Format::Csv);
    let leftovers = [".results.csv.gcnproof-aZ09bb.part", ".results.csv.run.json.gcnproof-000000.part"];
    let others = [
        ".results.csv.gcnproof-aZ09b.part",
        ".results.csv.gcnproof-aZ0.bb.part",
        ".results.csv2.gcnproof-aZ09bb.part",
        "results.csv.gcnproof-aZ09bb.part",
        ".results.csv.gcnproof-aZ09bb.part2",
    ];
    for name in leftovers.iter().chain(&others) {
        fs::write(folder.path().join(name), b"x").expect("a leftover");
    }
    run(&path, 12, &[1]);
    let left = files(&path);
    assert!(leftovers.iter().all(|name| !left.contains(&name.to_string())), "{left:?}");
    assert!(others.iter().all(|name| left.contains(&name.to_string())), "{left:?}");
}

#[test]
fn two_runs_do_not_share_a_file() {
    let (_folder, path) = place(Format::Parquet);
    let journal = open(&path, 12, Mode::Fresh).expect("a new run");
    for mode in [Mode::Fresh, Mode::Resume, Mode::Force] {
        assert!(matches!(open(&path, 25, mode), Err(ResultError::Busy { .. })));
    }
    drop(journal);
    open(&path, 25, Mode::Resume).expect("nobody else is there");
    assert_eq!(files(&path).len(), 2);
}

#[test]
fn rows_that_occur_twice_are_refused() {
    let (_folder, path) = place(Format::JsonLines);
    run(&path, 12, &[1, 2]);
    write(&path, EVERYTHING, &[sample(1, 12), sample(2, 12), sample(1, 12)]).expect("rows that fit");
    let error = open(&path, 12, Mode::Resume).expect_err("a row twice").to_string();
    assert!(error.contains("row 3: damaged: a row before it has the same key"), "{error}");
}

#[test]
fn a_failed_checkpoint_loses_nothing() {
    let (folder, path) = place(Format::JsonLines);
    let away = folder.path().with_extension("away");
    let mut journal = open(&path, 12, Mode::Fresh).expect("a new run");
    fs::rename(folder.path(), &away).expect("the folder goes away");
    journal.due = Duration::ZERO;
    assert!(matches!(journal.push(sample(1, 0)), Err(ResultError::Unwritable { .. })));
    journal.push(sample(2, 0)).expect("it is not tried again at once");
    fs::rename(&away, folder.path()).expect("the folder comes back");
    assert_eq!(journal.finish().expect("the end").len(), 2);
    assert_eq!(nodes(&path), [1, 2]);
}

#[test]
fn a_misfit_does_not_block_the_others() {
    const COLUMNS: &[crate::Column] = EVERYTHING.split_at(1).0;
    type Row = serde_json::Map<String, Value>;
    let row = |name: &str, number: u64| Row::from_iter([(name.to_owned(), number.into())]);
    let key = |row: &Row| row.get("node").and_then(Value::as_u64).unwrap_or(0);
    let (_folder, path) = place(Format::Parquet);
    let mut journal = Journal::open(&path, COLUMNS, key, json!({}), 2, Mode::Fresh).expect("a new run");
    journal.push(row("node", 7)).expect("a row that fits");
    assert!(matches!(journal.push(row("knot", 8)), Err(ResultError::Misfit { .. })));
    assert_eq!(journal.finish().expect("the end"), [row("node", 7)]);
}
