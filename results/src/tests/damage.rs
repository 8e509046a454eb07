//! Tests of damaged files: the reader never panics, and each error names the place.

use std::fs;
use std::path::Path;

use miette::Diagnostic;
use serde_json::json;

use super::{EVERYTHING, Everything, FORMATS, node, place, sample};
use crate::{Format, Journal, Mode, ResultError, parquet, read, write};

/// The complaint about a file, with its remedy.
fn complaint(path: &Path) -> String {
    let error = read::<Everything>(path, EVERYTHING).expect_err("a broken file");
    let help = error.help().expect("a remedy").to_string();
    assert!(!help.is_empty());
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    format!("{error}\n{help}")
}

/// Changes a file. Some file systems flush a file that is cut and written, but not a new one: much
/// faster.
fn rewrite(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::remove_file(path).expect("the old file");
    fs::write(path, bytes).expect("the new file");
}

#[test]
fn every_cut_and_every_flipped_byte_is_survived() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        write(&path, EVERYTHING, &[sample(6, 0), sample(7, 0), sample(9, 0)]).expect("rows that fit");
        let whole = fs::read(&path).expect("the file");
        for place in 0..whole.len() {
            rewrite(&path, &whole[..place]);
            let cut = read::<Everything>(&path, EVERYTHING);
            let line_ends = place == 0 || whole[place - 1] == b'\n' || whole[place] == b'\n';
            assert!(cut.is_err() || (format != Format::Parquet && line_ends), "{format:?} cut at {place}");
            for flip in [0x01, 0x20, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] ^= flip;
                rewrite(&path, &bytes);
                let changed = read::<Everything>(&path, EVERYTHING);
                assert!(changed.is_err() || format != Format::Parquet, "{place} changed by {flip}");
            }
        }
        let mut longer = whole.clone();
        longer.extend(b"{\"");
        rewrite(&path, &longer);
        assert!(read::<Everything>(&path, EVERYTHING).is_err());
    }
}

#[test]
fn forged_checksums_are_survived() {
    let (_folder, path) = place(Format::Parquet);
    write(&path, EVERYTHING, &[sample(6, 0), sample(7, 0), sample(11, 0)]).expect("rows that fit");
    let whole = fs::read(&path).expect("the file");
    let mut refused = 0;
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= [0x01, 0x10, 0x80, 0xff][place % 4];
        if parquet::seal(&mut bytes).is_some() {
            rewrite(&path, &bytes);
            refused += usize::from(read::<Everything>(&path, EVERYTHING).is_err());
        }
    }
    assert!(refused > whole.len() / 10, "{refused} of {}", whole.len());
}

#[test]
fn every_broken_sidecar_is_survived() {
    let (_folder, path) = place(Format::JsonLines);
    let sidecar = path.with_extension("jsonl.run.json");
    let fingerprint = json!({"budget": {"global": 12}, "model": "a1b2"});
    let open = |mode| Journal::open(&path, EVERYTHING, node, fingerprint.clone(), 3, mode);
    let mut journal = open(Mode::Fresh).expect("a new run");
    journal.push(sample(1, 0)).expect("a row that fits");
    drop(journal);
    let (rows, whole) = (fs::read(&path).expect("the rows"), fs::read(&sidecar).expect("the sidecar"));
    for place in 0..whole.len() {
        for flip in [0x00, 0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[place] ^= flip;
            if flip == 0 {
                bytes.truncate(place);
            }
            for mode in [Mode::Fresh, Mode::Resume] {
                rewrite(&path, &rows);
                rewrite(&sidecar, &bytes);
                let opened = open(mode);
                // A cut within the last line break or a change of a count does no harm.
                if let Ok(journal) = &opened {
                    assert!(mode == Mode::Fresh || journal.done().len() == 1, "{place} changed by {flip}");
                }
                if opened.is_err() {
                    assert_eq!(fs::read(&path).expect("the rows"), rows, "a refusal changed the rows");
                }
            }
        }
    }
    rewrite(&path, &rows);
    rewrite(&sidecar, b"{}");
    for mode in [Mode::Fresh, Mode::Resume] {
        let error = open(mode).expect_err("a broken sidecar");
        assert!(matches!(error, ResultError::DamagedSidecar { .. }), "{error}");
        assert!(error.help().expect("a remedy").to_string().contains("--force"));
    }
    assert_eq!(open(Mode::Force).expect("force").done().len(), 0);
}

#[test]
fn complaints_name_the_place() {
    let (_folder, path) = place(Format::JsonLines);
    write(&path, EVERYTHING, &[sample(6, 0), sample(7, 0), sample(9, 0)]).expect("rows that fit");
    let text = fs::read_to_string(&path).expect("text");
    let with = |from: &str, to: &str| rewrite(&path, text.replacen(from, to, 1));
    rewrite(&path, &text[..text.len() - 9]);
    assert!(complaint(&path).contains("line 3: damaged: EOF while parsing"), "{}", complaint(&path));
    with(r#""node":7"#, r#""node":"7""#);
    assert!(complaint(&path).contains("line 2: damaged: column `node`: an integer was expected, not \"7\""));
    with(r#""node":7"#, r#""node":-7"#);
    assert!(complaint(&path).contains("row 2: damaged: `node`: invalid value"), "{}", complaint(&path));
    with("not_robust", "sturdy");
    assert!(complaint(&path).contains("row 1: damaged: `verdict`: unknown variant `sturdy`"), "{}", complaint(&path));

    let (_folder, path) = place(Format::Csv);
    write(&path, EVERYTHING, &[sample(6, 0), sample(7, 0)]).expect("rows that fit");
    let text = fs::read_to_string(&path).expect("text");
    rewrite(&path, text.replacen("\n7,-7,", "\n7,-7.5,", 1));
    let said = complaint(&path);
    assert!(said.contains("line 4: damaged: column `count`: an integer was expected, not \"-7.5\""), "{said}");
    rewrite(&path, text.replacen("node,", "nude,", 1));
    assert!(complaint(&path).contains("the columns are nude, count, "), "{}", complaint(&path));
    rewrite(&path, "");
    complaint(&path);

    let (_folder, path) = place(Format::Parquet);
    write(&path, &EVERYTHING[..1], &[serde_json::Map::from_iter([("node".to_owned(), 1.into())])]).expect("a row");
    assert!(complaint(&path).contains("the columns are node, not node, count, "), "{}", complaint(&path));
    rewrite(&path, b"PAR1");
    assert!(complaint(&path).contains("cut off"), "{}", complaint(&path));
}

#[test]
fn paths_that_lead_nowhere_are_named() {
    let (folder, path) = place(Format::Parquet);
    assert!(matches!(read::<Everything>(&path, EVERYTHING), Err(ResultError::Unreadable { .. })));
    let nowhere = folder.path().join("no").join("results.csv");
    assert!(matches!(write(&nowhere, EVERYTHING, &[sample(1, 0)]), Err(ResultError::Unwritable { .. })));
    for mode in [Mode::Fresh, Mode::Resume, Mode::Force] {
        let opened = Journal::open(&nowhere, EVERYTHING, node, json!({}), 1, mode);
        assert!(matches!(opened, Err(ResultError::Unwritable { .. })));
        fs::create_dir_all(folder.path().join("folder.jsonl").join("full")).expect("a folder");
        let opened = Journal::open(&folder.path().join("folder.jsonl"), EVERYTHING, node, json!({}), 1, mode);
        assert!(opened.is_err());
    }
    for path in ["results", "results.parquet.gz", ".csv", "", ".."] {
        let error = Format::from_path(Path::new(path)).expect_err("no extension");
        let help = error.help().expect("a remedy").to_string();
        assert!(["parquet", "jsonl", "csv"].iter().all(|name| help.contains(name)));
    }
    assert_eq!(Format::from_path(Path::new("A.CSV")).expect("upper case"), Format::Csv);
}
