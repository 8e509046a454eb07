//! Matrix files and integer lists.

use crate::common;

use common::*;
use gcnproof_files::{FileError, SparseMatrix, parse_integers, parse_matrix, parse_selection};

fn expected() -> SparseMatrix {
    // [[0, -2, 0], [0.5, 0, 3]]
    SparseMatrix { rows: 2, columns: 3, offsets: vec![0, 1, 3], indices: vec![1, 0, 2], values: vec![-2.0, 0.5, 3.0] }
}

fn format(name: &str) -> Vec<u8> {
    npy("'|S3'", false, &[], name.as_bytes())
}

fn csr() -> Npz {
    Npz::new()
        .with("indices", i32s(&[1, 2, 0]))
        .with("indptr", i32s(&[0, 1, 3]))
        .with("format", format("csr"))
        .with("shape", i64s(&[2, 3]))
        .with("data", f64s(&[-2.0, 3.0, 0.5]))
}

fn coo() -> Npz {
    Npz::new()
        .with("row", i32s(&[1, 0, 1, 1, 0]))
        .with("col", i32s(&[2, 1, 0, 2, 2]))
        .with("format", format("coo"))
        .with("shape", i64s(&[2, 3]))
        .with("data", f64s(&[1.0, -2.0, 0.5, 2.0, 0.0]))
}

#[track_caller]
fn refused(npz: Npz, mentions: &[&str]) -> FileError {
    let error = parse_matrix("test.npz", &npz.bytes()).expect_err("must be refused");
    complete(&error, "test.npz", mentions);
    error
}

#[test]
fn every_form_reads_the_same() {
    let csc = Npz::new()
        .with("indices", i32s(&[1, 0, 1]))
        .with("indptr", i32s(&[0, 1, 2, 3]))
        .with("format", unicode_scalar("csc"))
        .with("shape", i64s(&[2, 3]))
        .with("data", f64s(&[0.5, -2.0, 3.0]))
        .with("_is_array", npy("'|b1'", false, &[], &[1]));
    let parts = Npz::new()
        .with("adj_indices", i32s(&[1, 2, 0]))
        .with("adj_indptr", i32s(&[0, 1, 3]))
        .with("adj_shape", i64s(&[2, 3]))
        .with("adj_data", f64s(&[-2.0, 3.0, 0.5]));
    let dense = dense32(2, 3, &[0.0, -2.0, 0.0, 0.5, 0.0, 3.0]);
    let alone = Npz::new().with("anything", dense.clone());
    for npz in [csr(), csr().stored(), csc, coo(), coo().without("format"), parts, alone] {
        assert_eq!(parse_matrix("test.npz", &npz.bytes()).unwrap(), expected());
    }
    assert_eq!(parse_matrix("test.npy", &dense).unwrap(), expected());
    let columns: Vec<u8> = [0f64, 0.5, -2., 0., 0., 3.].iter().flat_map(|v| v.to_be_bytes()).collect();
    let fortran = npy("'>f8'", true, &[2, 3], &columns);
    assert_eq!(parse_matrix("test.npy", &fortran).unwrap(), expected());
    let turned = expected().transpose();
    assert_eq!((turned.rows, turned.columns), (3, 2));
    assert_eq!(turned.row(0), (&[1u32][..], &[0.5][..]));
    assert_eq!(turned.transpose(), expected());
}

fn unicode_scalar(name: &str) -> Vec<u8> {
    let data: Vec<u8> = name.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    npy(&format!("'<U{}'", name.len()), false, &[], &data)
}

#[test]
fn matrices_that_are_refused() {
    refused(csr().with("format", format("dia")), &["format", "dia", "tocsr"]);
    refused(csr().without("format"), &["format", "missing", "save_npz"]);
    refused(csr().without("data"), &["data", "missing"]);
    refused(coo().without("row"), &["row", "missing"]);
    refused(Npz::new().with("a", f64s(&[1.0])).with("b", f64s(&[1.0])), &["a, b", "save_npz"]);
    refused(Npz::new().with("a", f64s(&[1.0])), &["a", "[1]", "two sides"]);
    refused(Npz::new(), &["nothing"]);
    refused(csr().with("data", f64s(&[1.0, f64::INFINITY, 1.0])), &["data[1]", "inf"]);
    refused(coo().with("row", i32s(&[1, 0, 1, 2, 0])), &["row[3]", "is 2", "0 to 1"]);
    refused(coo().with("col", i32s(&[1, 0, 1, 2, -1])), &["col[4]", "is -1"]);
    refused(csr().with("shape", i64s(&[0, 3])), &["shape[0]"]);
    refused(Npz::new().with("a", dense32(0, 3, &[])), &["a", "empty"]);
    // 0.1 + 0.2 is no double: who saved which matrix?
    let inexact = coo().with("data", f64s(&[0.1, -2.0, 0.5, 0.2, 0.0]));
    refused(inexact, &["data[3]", "sum is not exact", "sum_duplicates"]);
    let overflow = coo().with("data", f64s(&[f64::MAX, -2.0, 0.5, f64::MAX, 0.0]));
    refused(overflow, &["data[3]"]);
    let wide = npy("'<i8'", false, &[1, 1], &((1i64 << 53) + 1).to_le_bytes());
    complete(&parse_matrix("test.npy", &wide).unwrap_err(), "test.npy", &["9007199254740993", "[0, 0]"]);
    for bytes in [&b"1 2 3"[..], b"", b"PK"] {
        complete(&parse_matrix("test.txt", bytes).unwrap_err(), "test.txt", &["npz", "save_npz"]);
    }
}

#[test]
fn sides_need_entries() {
    // Two numbers may not cost gigabytes.
    for shape in [[1i64 << 31, 3], [3, 1 << 31], [i64::MAX, i64::MAX]] {
        let error = refused(coo().with("shape", i64s(&shape)), &["shape", "stored entries"]);
        assert!(matches!(error, FileError::TooLarge { .. }));
    }
}

#[test]
fn integers_from_text_and_arrays() {
    let text = b"# nodes\n 3\n-1  # unlabelled\r\n\n9223372036854775807";
    assert_eq!(parse_integers("list.txt", text).unwrap(), [3, -1, i64::MAX]);
    assert_eq!(parse_integers("list.npy", &i32s(&[])).unwrap(), Vec::<i64>::new());
    assert_eq!(parse_integers("list.npy", &i32s(&[5, -6])).unwrap(), [5, -6]);
    let npz = Npz::new().with("anything", i64s(&[7]));
    assert_eq!(parse_integers("list.npz", &npz.bytes()).unwrap(), [7]);
    for (line, mentions) in [
        (&b"1\n2.5\n"[..], ["line 2", "`2.5`"]),
        (b"# none\n", ["line 1", "without any integer"]),
        (b"9223372036854775808", ["line 1", "64 bits"]),
        (b"1\n\xff", ["line 2", "not text"]),
        (b"1\n\nx # y", ["line 3", "`x`"]),
    ] {
        complete(&parse_integers("list.txt", line).unwrap_err(), "list.txt", &mentions);
    }
    // Whole numbers as numpy has them after a division.
    assert_eq!(parse_integers("list.npy", &f64s(&[1.0, -2.0])).unwrap(), [1, -2]);
    for wrong in [0.5, f64::NAN, f64::INFINITY, 1e300] {
        complete(&parse_integers("list.npy", &f64s(&[1.0, wrong])).unwrap_err(), "list.npy", &["[1]", "whole numbers"]);
    }
    complete(&parse_integers("list.npy", &pickled()).unwrap_err(), "list.npy", &["pickled"]);
    let square = npy("'|i1'", false, &[1, 1], &[1]);
    complete(&parse_integers("list.npy", &square).unwrap_err(), "list.npy", &["one dimension"]);
    let huge = npy("'<u8'", false, &[1], &u64::MAX.to_le_bytes());
    complete(&parse_integers("list.npy", &huge).unwrap_err(), "list.npy", &["[0]", "too large"]);
    complete(
        &parse_integers("list.npz", &npz.with("more", i64s(&[1])).bytes()).unwrap_err(),
        "list.npz",
        &["anything, more", "exactly one"],
    );
}

/// Masks are masks where their length fits, ids are ids, and what may be either is neither.
#[test]
fn masks_and_ids() {
    let read = |bytes: &[u8], count| parse_selection("s", bytes, None, count, "nodes");
    let booleans = |flags: &[u8]| npy("'|b1'", false, &[flags.len()], flags);
    let bytes = |flags: &[u8]| npy("'|u1'", false, &[flags.len()], flags);
    assert_eq!(read(&booleans(&[0, 1, 1, 0]), 4).unwrap(), [1, 2]);
    assert_eq!(read(&bytes(&[0, 1, 1, 0]), 4).unwrap(), [1, 2]);
    assert_eq!(read(&i64s(&[0, 1, 1, 0]), 4).unwrap(), [1, 2]);
    assert_eq!(read(&f64s(&[0.0, 1.0, 1.0, 0.0]), 4).unwrap(), [1, 2]);
    assert_eq!(read(b"0\n1\n1\n0\n", 4).unwrap(), [1, 2]);
    assert_eq!(read(&booleans(&[0, 1]), 2).unwrap(), [1]);
    assert_eq!(read(&i64s(&[0, 1]), 9).unwrap(), [0, 1]);
    assert_eq!(read(b"0\n1\n", 9).unwrap(), [0, 1]);
    assert_eq!(read(b"5\n3\n3\n", 9).unwrap(), [5, 3, 3]);
    assert_eq!(read(&i64s(&[1]), 9).unwrap(), [1]);
    let refused = |bytes: &[u8], count, parts: &[&str]| {
        let error = read(bytes, count).unwrap_err();
        let text = format!("{error} {}", miette::Diagnostic::help(&error).unwrap());
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(&booleans(&[0, 1, 1]), 4, &["mask of 3 entries", "4 nodes", "flatnonzero"]);
    refused(&booleans(&[0, 1]), 4, &["mask of 2 entries", "4 nodes"]);
    refused(&i64s(&[0, 1, 1]), 4, &["only 0 and 1", "3 entries for 4 nodes", "flatnonzero"]);
    refused(b"1\n0\n1\n", 4, &["only 0 and 1", "flatnonzero"]);
    refused(&i64s(&[0, 1]), 2, &["ids or a mask", "astype(bool)"]);
    refused(&f64s(&[0.5]), 2, &["0.5", "no id"]);
    refused(&npy("'|b1'", false, &[4, 1], &[0, 1, 1, 0]), 4, &["[4, 1]", "[:, 0]"]);
    refused(&npy("'|b1'", false, &[1, 4], &[0, 1, 1, 0]), 4, &["[1, 4]", "masks[0]"]);
    let npz = Npz::new().with("train_mask", booleans(&[1, 0, 0, 1])).with("other", i64s(&[2]));
    let named = |entry: Option<&str>| parse_selection("g.npz", &npz.bytes(), entry, 4, "nodes");
    assert_eq!(named(Some("train_mask")).unwrap(), [0, 3]);
    assert_eq!(named(Some("other")).unwrap(), [2]);
    assert!(named(None).unwrap_err().to_string().contains("2 arrays"));
    assert!(named(Some("nosuch")).unwrap_err().to_string().contains("nosuch"));
}
